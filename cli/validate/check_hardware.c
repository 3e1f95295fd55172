/* `systole check hardware` sets measurements of real TPUs beside what we simulate. */
#include "cli/validate/check.h"

#include "base/outfile.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/common/fail.h"
#include "cli/validate/hardware.h"
#include "cli/common/options.h"
#include "base/progress.h"
#include "isa/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct arguments {
    const char *folder, *csv, *file, *row;
    struct cli_list set;
    bool with_best, has_rows, has_kernels;
    int64_t limit;
};

#define AT(member) CLI_AT(struct arguments, member)

static const struct cli_option options[] = {
    {"file", 0, "TEXT", "only files with this in their name, e.g. v6e_ops", 1, CLI_TEXT, AT(file)},
    {"row", 0, "TEXT", "only rows with this in their workload or group, e.g. gemm", 1, CLI_TEXT,
     AT(row)},
    {"limit", 0, "N", "the first N such rows of a file (default: all)", 1, CLI_WHOLE, AT(limit),
     .lo = 1, .hi = INT32_MAX},
    {"best", 0, NULL, "also with --codegen best, beside each row", 2, CLI_FLAG, AT(with_best)},
    CLI_ROW_SET(struct arguments, set, 2),
    {"rows", 0, NULL, "print every row, not only the sums", 3, CLI_FLAG, AT(has_rows)},
    {"kernels", 0, NULL, "print the kernels of every row, and where its cycles went", 3, CLI_FLAG,
     AT(has_kernels)},
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
        const char *path = arena_printf(a, "%s/%s", args->folder, files[i].name);

        if ((args->file && !strstr(files[i].name, args->file)) || access(path, R_OK) != 0)
            continue;
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

    if (r->work != WORK_GRAPH || !r->graph)
        return NULL;
    to = text_memory(&text, &size);
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
    r->error = same->error;
    r->kernel_count = same->kernel_count;
    r->baseline_us = hardware_baseline_us(r, chip);
}

static int simulate_file(struct hardware_file *f, const struct arguments *args,
                         struct progress *p, struct arena *a, struct err *e)
{
    char **text = arena_array(a, (size_t)f->row_count + 1, sizeof(*text));
    struct slice slice;
    struct chip chip;
    struct hardware_target xla = {&slice, &chip, CODEGEN_XLA, args->has_kernels};
    struct hardware_target best = {&slice, &chip, CODEGEN_BEST, args->has_kernels};

    if (cli_load_slice(&(struct cli_target){f->chip, args->set}, &slice, &chip, NULL, a, e))
        return -1;
    for (int i = 0; i < f->row_count; i++) {
        const struct hardware_row *same;

        text[i] = signature(&f->row[i]);
        same = equal_row(f, text, i);
        if (same) {
            take_result(&f->row[i], same, &chip);
        } else {
            hardware_simulate(&f->row[i], &xla, a);
            if (args->with_best && !f->row[i].error)
                hardware_simulate(&f->row[i], &best, a);
        }
        progress_fraction(p, f->name, (double)(i + 1) / f->row_count);
    }
    for (int i = 0; i < f->row_count; i++)
        free(text[i]);
    progress_wipe(p);
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

static int check_hardware(struct arguments *args, struct arena *a, struct err *e)
{
    struct hardware_file *files;
    int count = hardware_files(&files, a), status;

    if (!args->folder)
        args->folder = default_folder(a);
    if ((args->csv && outfile_check(args->csv, e)) || read_files(files, count, args, a, e))
        return -1;
    status = 0;
    for (int i = 0; i < count && status == 0; i++) {
        struct progress p;

        if (files[i].row_count == 0)
            continue;
        progress_begin(&p, files[i].row_count);
        status = simulate_file(&files[i], args, &p, a, e);
        if (status == 0 && args->has_rows)
            hardware_print_rows(&files[i], args->with_best, stdout);
        fflush(stdout);
    }
    if (status == 0) {
        hardware_print_summary(files, count, args->with_best, stdout);
        status = write_csv(files, count, args->csv, e);
    }
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
