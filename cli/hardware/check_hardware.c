/* `systole check hardware` sets measurements of real TPUs beside what we simulate. */
#include "cli/validate/check.h"

#include "base/outfile.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/common/fail.h"
#include "cli/hardware/hardware.h"
#include "cli/hardware/hardware_record.h"
#include "cli/common/options.h"
#include "isa/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct arguments {
    const char *folder, *csv, *file, *row, *record, *against, *reason, *tables;
    struct cli_list set;
    bool with_best, has_rows, has_kernels, is_part, is_all, has_unscored, no_models;
    int64_t limit;
};

#define AT(member) CLI_AT(struct arguments, member)

static const struct cli_option options[] = {
    {"file", 0, "TEXT", "only files with this in their name, e.g. v6e_ops", 1, CLI_TEXT, AT(file)},
    {"row", 0, "TEXT", "only rows with this in their workload or group, e.g. gemm", 1, CLI_TEXT,
     AT(row)},
    {"limit", 0, "N", "the first N such rows of a file (default: all)", 1, CLI_WHOLE, AT(limit),
     .lo = 1, .hi = INT32_MAX},
    {"all", 0, NULL, "every row of the files, also of those that take minutes, of which else some are "
     "looked at", 1, CLI_FLAG, AT(is_all)},
    {"no-models", 0, NULL, "no steps of whole models, which take minutes each", 1, CLI_FLAG,
     AT(no_models)},
    {"part", 0, NULL, "only the rows that make check runs, spread over all files", 1, CLI_FLAG,
     AT(is_part)},
    {"record", 0, "FILE.csv", "record each group's errors there, the best of what it holds kept, and "
     "each row's in FILE_rows.csv", 4, CLI_TEXT, AT(record)},
    {"reason", 0, "TEXT", "why a recorded group may become worse", 4, CLI_TEXT, AT(reason)},
    {"against", 0, "FILE.csv", "fail where a group's mean or median is more than 0.5 points above "
     "the best recorded there, or fewer of its rows are scored", 4, CLI_TEXT, AT(against)},
    {"tables", 0, "FILE.csv", "print the tables of such a record in Markdown, and measure nothing",
     4, CLI_TEXT, AT(tables)},
    {"best", 0, NULL, "also with --codegen best, beside each row", 2, CLI_FLAG, AT(with_best)},
    CLI_ROW_SET(struct arguments, set, 2),
    {"rows", 0, NULL, "print every row, not only the sums", 3, CLI_FLAG, AT(has_rows)},
    {"kernels", 0, NULL, "print the kernels of every row, and where its cycles went", 3, CLI_FLAG,
     AT(has_kernels)},
    {"unscored", 0, NULL, "list the rows that are not scored, and why", 3, CLI_FLAG,
     AT(has_unscored)},
    CLI_ROW_CSV(struct arguments, csv, 3),
    {0}};

static const struct cli_syntax syntax = {
    .own.row = options, .noun = "folder", .noun_at = offsetof(struct arguments, folder),
    .args_doc = "[DIR]",
    .doc =
    "Hold simulated times against public measurements of real TPUs, which lie in DIR (default: "
    "reference/hardware below $SYSTOLE_SHARED, then ../shared/reference/hardware) as CSV files.\v"
    "Each row becomes a graph, which is compiled as XLA would (--codegen xla) and run in timing "
    "mode on one core. The baseline is a closed form: the larger of FLOPs at 85 % of the peak and "
    "bytes at 85.5 % of the memory's, plus 2.5 us. Peers are the errors that other simulators' "
    "authors publish. docs/accuracy.md tells what each file is and what is known of misses.\n\n"
    "Examples:\n"
    "  systole check hardware\n"
    "  systole check hardware --file v6e_ops --row gemm --rows\n"
    "  systole check hardware --against tests/hardware/record.csv\n"
    "  systole check hardware --best --csv rows.csv"};

static const char *default_folder(struct arena *a)
{
    const char *shared = getenv("SYSTOLE_SHARED");

    return arena_printf(a, "%s/reference/hardware", shared && *shared ? shared : "../shared");
}

/* ----- reading */

static int read_file(struct hardware_file *f, const char *path, struct arena *a, struct err *e)
{
    struct csv table;
    uint8_t *bytes;
    size_t size;

    if (isa_file_read(path, a, &bytes, &size, e) ||
        csv_parse(&table, path, (char *)bytes, f->heading, a, e))
        return -1;
    return hardware_read(f, &table, a, e);
}

static bool is_wanted(const struct hardware_row *r, const struct arguments *args)
{
    if ((args->is_part && !r->is_in_part) || (args->no_models && r->work == WORK_STEP))
        return false;
    return !args->row || strstr(r->workload, args->row) ||
           (r->group && strstr(r->group, args->row));
}

static void keep_wanted(struct hardware_file *f, const struct arguments *args)
{
    int kept = 0;

    for (int i = 0; i < f->row_count; i++)
        if (is_wanted(&f->row[i], args) && (!args->limit || kept < args->limit))
            f->row[kept++] = f->row[i];
    f->row_count = kept;
}

/* the files that are there; those that are not have no rows */
static int read_files(struct hardware_file *files, int count, const struct arguments *args,
                      struct arena *a, struct err *e)
{
    int found = 0;

    for (int i = 0; i < count; i++) {
        const char *name = files[i].name;               /* of a file of several chips FILE:CHIP */
        const char *path = arena_printf(a, "%s/%.*s", args->folder, (int)strcspn(name, ":"), name);

        if ((args->file && !strstr(files[i].name, args->file)) || access(path, R_OK) != 0)
            continue;
        files[i].is_all = args->is_all;
        if (args->is_all)
            files[i].every = 1;
        if (read_file(&files[i], path, a, e))
            return -1;
        keep_wanted(&files[i], args);
        found++;
    }
    if (found)
        return 0;
    return err_at(e, args->folder, 0, 0, "no measurements here%s%s; known files are %s, %s ...",
                  args->file ? " with a name like " : "", args->file ? args->file : "",
                  files[0].name, files[1].name);
}

/* ----- simulating: equal programs once */

static char *signature(const struct hardware_row *r)
{
    char *text;
    size_t size;
    FILE *to;

    if (r->work != WORK_STEP && (r->work != WORK_GRAPH || !r->graph))
        return NULL;
    to = text_memory(&text, &size);
    if (r->work == WORK_STEP)
        fprintf(to, "%s on %s", r->model, r->slice);
    else
        graph_dump(r->graph, to);
    text_memory_end(to, &text);
    return text;
}

static const struct hardware_row *equal_row(const struct hardware_file *f, char *const *text,
                                            int row)
{
    for (int i = 0; i < row; i++)
        if (text[i] && text[row] && strcmp(text[i], text[row]) == 0)
            return &f->row[i];
    return NULL;
}

static void take_result(struct hardware_row *r, const struct hardware_row *same,
                        const struct chip *chip)
{
    memcpy(r->simulated_us, same->simulated_us, sizeof(r->simulated_us));
    r->simulated_memory_bytes = same->simulated_memory_bytes;
    r->error = same->error;
    r->kernel_count = same->kernel_count;
    r->baseline_us = hardware_baseline_us(r, chip);
}

static int simulate_file(struct hardware_file *f, const struct arguments *args, struct arena *a,
                         struct err *e)
{
    size_t count = (size_t)f->row_count + 1;
    const struct hardware_row **same = arena_array(a, count, sizeof(*same));
    char **text = arena_array(a, count, sizeof(*text));
    bool *wanted = arena_array(a, count, sizeof(*wanted));
    struct slice slice;
    struct chip chip;
    struct hardware_target t = {&slice, &chip, CODEGEN_XLA, args->has_kernels, args->set};

    if (cli_load_slice(&(struct cli_target){f->chip, args->set}, &slice, &chip, NULL, a, e))
        return -1;
    for (int i = 0; i < f->row_count; i++) {
        text[i] = signature(&f->row[i]);
        same[i] = equal_row(f, text, i);
        wanted[i] = !same[i];
    }
    for (int i = 0; i < f->row_count; i++)
        free(text[i]);
    if (hardware_simulate_all(f, wanted, &t, args->with_best, a, e))
        return -1;
    for (int i = 0; i < f->row_count; i++)
        if (same[i])
            take_result(&f->row[i], same[i], &chip);
    return 0;
}

static int write_csv(const struct hardware_file *files, int count, const char *path,
                     struct err *e)
{
    struct outfile f;

    if (!path)
        return 0;
    if (outfile_begin(&f, path, e))
        return -1;
    hardware_print_csv(files, count, f.to);
    return outfile_commit(&f, e);
}

/* ----- records */

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static int write_record(const struct hardware_file *files, int count, const struct arguments *args,
                        struct arena *a, struct err *e)
{
    struct hardware_record now, old = {.group = NULL};
    int status = 0;

    if (exists(args->record) && hardware_record_read(&old, args->record, a, e))
        return -1;
    hardware_record_make(&now, files, count, a);
    if (hardware_record_join(&now, &old, args->reason, e) ||
        hardware_record_write(&now, args->record, e))
        status = -1;
    hardware_record_free(&now);
    hardware_record_free(&old);
    return status;
}

static int hold_against(const struct hardware_file *files, int count, const struct arguments *args,
                        struct arena *a, struct err *e)
{
    struct hardware_record now, old;
    int worse;

    if (hardware_record_read(&old, args->against, a, e))
        return -1;
    hardware_record_make(&now, files, count, a);
    worse = hardware_record_compare(&now, &old, args->is_part ? "part" : "all", stdout);
    hardware_record_free(&now);
    hardware_record_free(&old);
    return worse ? err_set(e, "%d group%s worse than recorded in %s", worse,
                           worse == 1 ? " is" : "s are", args->against) : 0;
}

static int print_tables(const char *path, struct arena *a, struct err *e)
{
    struct hardware_record r;

    if (hardware_record_read(&r, path, a, e))
        return -1;
    hardware_print_tables(&r, stdout);
    hardware_record_free(&r);
    return 0;
}

static int check_arguments(const struct arguments *args, struct err *e)
{
    if ((args->record || args->against) && args->is_all)
        return err_set(e, "a record has the rows that are looked at without --all");
    if (args->record && (args->row || args->limit || args->is_part))
        return err_set(e, "a record has all rows of a file: --record goes without --row, --limit "
                       "and --part");
    if (args->against && (args->row || args->limit))
        return err_set(e, "a record has all rows of a file: --against goes without --row and "
                       "--limit");
    if (args->reason && !args->record)
        return err_set(e, "--reason goes with --record");
    if ((args->csv && outfile_check(args->csv, e)) ||
        (args->record && outfile_check(args->record, e)))
        return -1;
    return 0;
}

static int measure(struct hardware_file *files, int count, const struct arguments *args,
                   struct arena *a, struct err *e)
{
    for (int i = 0; i < count; i++) {
        if (files[i].row_count == 0)
            continue;
        if (simulate_file(&files[i], args, a, e))
            return -1;
        if (args->has_rows)
            hardware_print_rows(&files[i], args->with_best, stdout);
        fflush(stdout);
    }
    hardware_print_summary(files, count, args->with_best, stdout);
    if (args->has_unscored)
        hardware_print_unscored(files, count, stdout);
    if (write_csv(files, count, args->csv, e) ||
        (args->record && write_record(files, count, args, a, e)))
        return -1;
    return args->against ? hold_against(files, count, args, a, e) : 0;
}

static int check_hardware(struct arguments *args, struct arena *a, struct err *e)
{
    struct hardware_file *files;
    int count = hardware_files(&files, a), status;

    if (args->tables)
        return print_tables(args->tables, a, e);
    if (!args->folder)
        args->folder = default_folder(a);
    if (check_arguments(args, e) || read_files(files, count, args, a, e))
        return -1;
    status = measure(files, count, args, a, e);
    for (int i = 0; i < count; i++)
        mem_free(files[i].row);
    return status;
}

int check_run_hardware(int argc, char **argv)
{
    struct arguments args = {.folder = NULL};
    struct arena a;
    struct err e;
    int status;

    cli_parse(&syntax, argc, argv, &args);
    arena_init(&a);
    status = check_hardware(&args, &a, &e) ? cli_fail(&e) : 0;
    arena_fini(&a);
    return status;
}
