/*
 * systole check pallas: kernels of Pallas, as JAX lowers them, against what they took on real TPUs.
 *
 * A folder holds modules and an index.csv that says of each its file, TPU, operation and the row of
 * the table of measurements; group_sizes.csv there or above it holds the input of rows whose sizes
 * of groups are drawn. All of `main` was timed, and so it is here.
 */
#include "cli/validate/check.h"

#include "base/csv.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/common/fail.h"
#include "cli/common/options.h"
#include "cli/compile/compile.h"
#include "cli/validate/apart.h"
#include "cli/validate/pallas_record.h"
#include "exec/program_graph.h"
#include "isa/file.h"
#include "stack/module/module.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_MAX 1200                /* of one module */

struct arguments {
    const char *folder, *measured, *file, *record, *against;
    int64_t limit, every;
};

#define AT(member) CLI_AT(struct arguments, member)

static const struct cli_option options[] = {
    {"measured", 0, "FILE.csv", "the table of measurements (default: "
     "../../../../reference/hardware/tokamax_ops.csv from the folder)", 1, CLI_TEXT, AT(measured)},
    {"file", 0, "TEXT", "only modules with this in their name, e.g. v6e_", 1, CLI_TEXT, AT(file)},
    {"limit", 0, "N", "the first N such modules (default: all)", 1, CLI_WHOLE, AT(limit), .lo = 1,
     .hi = INT32_MAX},
    {"every", 0, "N", "of these each Nth", 1, CLI_WHOLE, AT(every), .lo = 1, .hi = INT32_MAX},
    {"record", 0, "FILE.csv", "write what became of each module there, as it goes", 2, CLI_TEXT, AT(record)},
    {"against", 0, "FILE.csv", "such a file from before: status 1 where a module is farther from "
     "what was measured than it says, or refused now", 2, CLI_TEXT, AT(against)},
    {0}};

static const struct cli_syntax syntax = {
    .own.row = options, .noun = "folder", .noun_at = offsetof(struct arguments, folder),
    .args_doc = "DIR",
    .doc = "Hold simulated times of kernels written in Pallas against those measured on real "
    "TPUs: each module of DIR is compiled for the TPU that its row names and runs in timing mode on "
    "one core.\v"
    "Inputs that say which blocks a kernel reads (sizes of groups) are those that were measured; "
    "tables that the program computes of them are worked out before the launch and stand in HBM, "
    "so that what computes them on the TPU is not timed.\n\nExample:\n"
    "  systole check pallas ../shared/samples/pallas/modules/as_recorded --file v6e"};

struct check {
    const struct arguments *args;
    struct arena *a;
    struct csv index, measured, sizes;
    bool has_sizes;
    struct pallas_row *row;
    int count;
    size_t capacity;
};

static int read_table(struct check *c, const char *path, struct csv *to, struct err *e)
{
    uint8_t *text;
    size_t size;

    return isa_file_read(path, c->a, &text, &size, e) ||
           csv_parse(to, path, (char *)text, NULL, c->a, e) ? -1 : 0;
}

/* ----- the sizes of groups that a row was measured with */

/* the number behind "key": in JSON; -1: none is there */
static int64_t number_of(const char *json, const char *key)
{
    const char *at = strstr(json, key);

    at = at ? strchr(at + strlen(key), ':') : NULL;
    return at ? strtoll(at + 1, NULL, 10) : -1;
}

static int64_t list_of(const char *text, int32_t *to, int64_t most)
{
    int64_t count = 0;
    char *end;

    for (; count < most; count++) {
        long n = strtol(text, &end, 10);

        if (end == text)
            return count;
        to[count] = (int32_t)n;
        text = end + strspn(end, ", ");
    }
    return count;
}

/* elements of group_sizes into the arena, NULL: the row has none, or they are not told */
static const int32_t *group_sizes(struct check *c, const char *arguments, int64_t *count)
{
    const char *at = strstr(arguments, "\"group_sizes\":");
    int64_t groups, total;
    int32_t *to;

    if (!at)
        return NULL;
    to = arena_array(c->a, 4096, sizeof(*to));
    at += strlen("\"group_sizes\":");
    if (*at == '[') {
        *count = list_of(at + 1, to, 4096);
        return to;
    }
    groups = number_of(at, "num_groups");
    total = number_of(at, "total_size");
    for (int i = 0; c->has_sizes && i < c->sizes.row_count; i++) {
        if (strtoll(csv_text(&c->sizes, i, 0), NULL, 10) != groups ||
            strtoll(csv_text(&c->sizes, i, 1), NULL, 10) != total)
            continue;
        *count = list_of(csv_text(&c->sizes, i, 2), to, 4096);
        return to;
    }
    return NULL;
}

/* ----- one module */

struct work { struct check *c; struct pallas_row *row; };

static int launch(const struct graph *g, const struct slice *slice, const struct chip *chip,
                  struct arena *a, struct pallas_result *out, struct err *e)
{
    struct module_settings s = {.chip = chip, .codegen = CODEGEN_XLA, .replica_count = 1,
                                .megacore = chip->chip_megacore != 0};
    struct compile_launch run = {.slice = slice, .chip = chip, .graph = g, .cores = 1};
    struct compile_times times;
    struct module module;

    if (module_compile(g, &s, a, &module, e) || compile_run(&module, &run, a, &times, e))
        return -1;
    out->us = (double)times.total_cycles / (double)chip->chip_clock_mhz;
    out->memory_mb = (double)module.hbm_bytes * 1e-6;
    return 0;
}

/* the leaf whose elements are the sizes of groups: the only one of one dimension of s32 */
static int leaf_of_groups(const struct program_graph *p)
{
    const struct hlo_computation *c = &p->module->computation[p->module->entry];

    for (int i = 0; i < c->parameter_count; i++) {
        const struct hlo_type *t = c->instruction[c->parameter[i]].type;

        if (t->element == ELEMENT_S32 && t->rank == 1)
            return i;
    }
    return -1;
}

static int run(struct work *w, struct arena *a, struct pallas_result *out, struct err *e)
{
    struct check *c = w->c;
    const char *path = arena_printf(a, "%s/%s", c->args->folder, w->row->file);
    struct program_graph p = {.module = NULL};
    struct lower_known known = {.parameter = -1, .dtype = DTYPE_S32};
    struct slice slice;
    struct chip chip;
    int64_t count;
    int status;

    if (slice_parse(&slice, w->row->tpu, e) ||
        chip_load_builtin(&chip, slice.chip_name, NULL, a, e))
        return -1;
    status = program_graph_read(&p, path, false, a, e) || program_graph_cut(&p, a, e) ? -1 : 0;
    known.element = status ? NULL : group_sizes(c, w->row->arguments, &count);
    if (known.element) {
        known.parameter = leaf_of_groups(&p);
        p.known = &known;
    }
    if (!status)
        status = program_graph_lower(&p, a, e) ||
                 launch(&p.lowered.graph, &slice, &chip, a, out, e) ? -1 : 0;
    program_graph_fini(&p);
    return status;
}

static void run_apart(void *user, void *shared)
{
    struct pallas_result *out = shared;
    struct err e = {.msg = ""};
    struct arena a;

    arena_init(&a);
    out->is_done = run(user, &a, out, &e) == 0;
    err_format(&e, out->message, sizeof(out->message));
    arena_fini(&a);
}

static int try_one(struct check *c, struct pallas_row *r, struct err *e)
{
    struct work w = {c, r};
    struct apart_end end;

    if (apart_run(run_apart, &w, &r->got, sizeof(r->got), SECONDS_MAX, &end, e))
        return -1;
    if (end.kind != APART_DONE) {
        r->got.is_done = false;
        text_print(r->got.message, sizeof(r->got.message), "%s",
                   end.kind == APART_SLOW ? "it takes too long" : end.message);
    }
    if (r->got.is_done)
        printf("%-64.64s %10.1f %10.1f us %+7.1f %%\n", r->file, r->measured_us, r->got.us,
               100 * (r->got.us / r->measured_us - 1));
    else
        printf("%-64.64s %10.1f us: %s\n", r->file, r->measured_us, r->got.message);
    fflush(stdout);
    return 0;
}

/* ----- all of them */

static int add_rows(struct check *c, struct err *e)
{
    static const char *const names[] = {"file", "tpu", "op", "row", "arguments"};
    int column[5], seen = 0, time = csv_column(&c->measured, "median_ms", e);
    int memory = csv_column(&c->measured, "peak_memory_mb", e);

    for (int i = 0; i < 5; i++)
        if ((column[i] = csv_column(&c->index, names[i], e)) < 0)
            return -1;
    if (time < 0 || memory < 0)
        return -1;
    for (int i = 0; i < c->index.row_count; i++) {
        const char *file = csv_text(&c->index, i, column[0]);
        long data = strtol(csv_text(&c->index, i, column[3]), NULL, 10);
        struct pallas_row r = {.file = file, .tpu = csv_text(&c->index, i, column[1]),
                        .op = csv_text(&c->index, i, column[2]),
                        .arguments = csv_text(&c->index, i, column[4])};
        double ms;

        if ((c->args->file && !strstr(file, c->args->file)) ||
            (c->args->every && seen++ % c->args->every))
            continue;
        if (data < 1 || data > c->measured.row_count)
            return err_at(e, c->index.path, c->index.row[i].line, 0, "row %ld is none of %d", data,
                          c->measured.row_count);
        if (csv_number(&c->measured, (int)data - 1, time, 0, 1e9, &ms, e) ||
            csv_number(&c->measured, (int)data - 1, memory, 0, 1e12, &r.measured_mb, e))
            return -1;
        r.measured_us = ms * 1e3;
        if (!c->args->limit || c->count < c->args->limit)
            MEM_ADD(c->row, c->count, c->capacity) = r;
    }
    return 0;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void print_group(const struct check *c, const char *tpu, const char *op)
{
    double *error = mem_alloc(((size_t)c->count + 1) * sizeof(*error)), sum = 0, memory = 0;
    int all = 0, done = 0, near = 0;

    for (int i = 0; i < c->count; i++) {
        const struct pallas_row *r = &c->row[i];

        if (strcmp(r->tpu, tpu) || (op && strcmp(r->op, op)))
            continue;
        all++;
        if (!r->got.is_done)
            continue;
        error[done] = 100 * fabs(r->got.us / r->measured_us - 1);
        sum += error[done++];
        memory = fabs(r->got.memory_mb / r->measured_mb - 1);
        near += memory <= 0.1;
    }
    qsort(error, (size_t)done, sizeof(*error), compare_doubles);
    if (all && done)
        printf("%-5s %-56s %4d of %4d  %7.1f  %7.1f  %4d\n", tpu, op ? op : "all", done, all,
               done % 2 ? error[done / 2] : (error[done / 2] + error[done / 2 - 1]) / 2,
               sum / done, near);
    else if (all)
        printf("%-5s %-56s %4d of %4d\n", tpu, op ? op : "all", done, all);
    mem_free(error);
}

static bool is_first(const struct check *c, int row, bool with_op)
{
    for (int i = 0; i < row; i++)
        if (!strcmp(c->row[i].tpu, c->row[row].tpu) &&
            (!with_op || !strcmp(c->row[i].op, c->row[row].op)))
            return false;
    return true;
}

static void print_sums(const struct check *c)
{
    printf("\n%-5s %-56s %12s  %7s  %7s  %s\n", "tpu", "operation", "run", "median", "mean",
           "memory within 10 %");
    for (int i = 0; i < c->count; i++)
        if (is_first(c, i, true))
            print_group(c, c->row[i].tpu, c->row[i].op);
    for (int i = 0; i < c->count; i++)
        if (is_first(c, i, false))
            print_group(c, c->row[i].tpu, NULL);
}

/* -1 also where some are worse than the file of --against says */
static int compare(const struct check *c, struct err *e)
{
    int worse = pallas_record_worse(c->args->against, c->row, c->count, c->a, e);

    if (worse > 0)
        return err_set(e, "%d modules are farther from what was measured than %s says", worse,
                       c->args->against);
    return worse;
}

static int check(struct check *c, struct err *e)
{
    const char *folder = c->args->folder;
    const char *measured = c->args->measured
        ? c->args->measured
        : arena_printf(c->a, "%s/../../../../reference/hardware/tokamax_ops.csv", folder);
    struct err none;

    if (!folder)
        return err_set(e, "which folder of modules?");
    if (read_table(c, arena_printf(c->a, "%s/index.csv", folder), &c->index, e) ||
        read_table(c, measured, &c->measured, e))
        return -1;
    c->has_sizes =
        read_table(c, arena_printf(c->a, "%s/group_sizes.csv", folder), &c->sizes, &none) == 0 ||
        read_table(c, arena_printf(c->a, "%s/../group_sizes.csv", folder), &c->sizes, &none) == 0;
    if (add_rows(c, e))
        return -1;
    for (int i = 0; i < c->count; i++)      /* a run of hours that is ended has said what it found */
        if (try_one(c, &c->row[i], e) ||
            (c->args->record && pallas_record_write(c->args->record, c->row, i + 1, e)))
            return -1;
    print_sums(c);
    return c->args->against ? compare(c, e) : 0;
}

int check_run_pallas(int argc, char **argv)
{
    struct arguments args = {.limit = 0};
    struct arena a;
    struct check c = {.args = &args, .a = &a};
    struct err e;
    int status;

    cli_parse(&syntax, argc, argv, &args);
    arena_init(&a);
    status = check(&c, &e) ? cli_fail(&e) : 0;
    mem_free(c.row);
    arena_fini(&a);
    return status;
}
