/* Writes the results of a sweep as sweep.csv and as an aligned table. */
#include "cli/sweep/sweep.h"

#include "base/outfile.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "report/view/run_folder.h"

#include <math.h>
#include <string.h>

enum column {
    COLUMN_CYCLES, COLUMN_US, COLUMN_SAMPLES, COLUMN_ISSUED, COLUMN_MODEL, COLUMN_MXU,
    COLUMN_HBM, COLUMN_ICI, COLUMN_ENERGY, COLUMN_POWER, COLUMN_ACCURACY,
    COLUMN_COUNT
};

static const struct column_text {
    const char *name;                   /* in the CSV, with its unit */
    const char *heading, *unit;         /* in the table */
    int decimals;
    int better;                         /* 1 more, -1 less, 0 neither: cannot rank */
    bool is_optional;                   /* left out of the table where no point has it */
} columns[COLUMN_COUNT] = {
    [COLUMN_CYCLES]   = {"step_cycles", "step", "cycles", 0, -1, false},
    [COLUMN_US]       = {"step_us", "step", "us", 3, -1, false},
    [COLUMN_SAMPLES]  = {"samples_per_second", "samples", "1/s", 0, 1, true},
    [COLUMN_ISSUED]   = {"issued_tflops", "issued", "TFLOP/s", 3, 1, true},
    [COLUMN_MODEL]    = {"model_tflops", "of the model", "TFLOP/s", 3, 1, true},
    [COLUMN_MXU]      = {"mxu_busy_pct", "MXU busy", "%", 1, 0, false},
    [COLUMN_HBM]      = {"hbm_busy_pct", "HBM busy", "%", 1, 0, false},
    [COLUMN_ICI]      = {"ici_busy_pct", "ICI busy", "%", 1, 0, false},
    [COLUMN_ENERGY]   = {"energy_uj", "energy", "uJ", 2, -1, true},
    [COLUMN_POWER]    = {"average_w_per_chip", "per chip", "W", 2, -1, true},
    [COLUMN_ACCURACY] = {"test_accuracy_pct", "accuracy", "%", 2, 1, true},
};

struct result {
    double value[COLUMN_COUNT];         /* NAN = none */
    const char *bound;
};

struct results {
    struct result *row;
    enum column merit;                  /* what speed-up and best go by */
    size_t best;                        /* point; SIZE_MAX = none */
};

static double use_of(const json_t *stats, const char *resource)
{
    const json_t *use = json_object_get(json_object_get(stats, "bound"), "use");
    const json_t *share = json_object_get(use, resource);

    return json_is_number(share) ? 100.0 * json_number_value(share) : NAN;
}

static double positive(double x)
{
    return x > 0.0 ? x : NAN;
}

static void read_flops(const json_t *stats, struct result *r)
{
    double issued = 0.0, us = run_real(stats, "step_us");
    int active = 0;
    json_t *core;
    size_t i;

    json_array_foreach(json_object_get(stats, "cores"), i, core) {
        issued += run_real(core, "matmul_flops");
        active += run_int(core, "issue") > 0;
    }
    r->value[COLUMN_ISSUED] = us > 0.0 ? positive(issued / us / 1e6) : NAN;
    r->value[COLUMN_MODEL] =
        us > 0.0 ? positive(run_real(stats, "model_flops_per_core") * active / us / 1e6) : NAN;
}

static void read_energy(const json_t *stats, struct result *r)
{
    const json_t *energy = json_object_get(stats, "energy");

    r->value[COLUMN_ENERGY] = positive(run_real(energy, "total_uj"));
    r->value[COLUMN_POWER] = positive(run_real(energy, "average_w"));
}

static void read_epoch(const json_t *stats, struct result *r)
{
    const json_t *epochs = json_object_get(stats, "epochs");
    const json_t *last = json_array_get(epochs, json_array_size(epochs) - 1);
    const json_t *accuracy = json_object_get(last, "test_accuracy");

    r->value[COLUMN_SAMPLES] = positive(run_real(last, "samples_per_second"));
    r->value[COLUMN_ACCURACY] =
        json_is_number(accuracy) ? 100.0 * json_number_value(accuracy) : NAN;
}

static int read_result(struct sweep *s, const struct sweep_point *p, struct result *r,
                       struct err *e)
{
    struct run_folder f;

    for (int c = 0; c < COLUMN_COUNT; c++)
        r->value[c] = NAN;
    r->bound = "";
    if (p->state != SWEEP_DONE)
        return 0;
    if (run_folder_open(&f, p->folder, &s->arena, e))
        return -1;
    r->value[COLUMN_CYCLES] = positive(run_real(f.stats, "step_cycles"));
    r->value[COLUMN_US] = positive(run_real(f.stats, "step_us"));
    r->value[COLUMN_MXU] = use_of(f.stats, "MXU");
    r->value[COLUMN_HBM] = use_of(f.stats, "HBM");
    r->value[COLUMN_ICI] = use_of(f.stats, "ICI");
    read_flops(f.stats, r);
    read_energy(f.stats, r);
    read_epoch(f.stats, r);
    r->bound = arena_strdup(&s->arena, run_text(json_object_get(f.stats, "bound"), "by"));
    run_folder_close(&f);
    return 0;
}

/* ---- the best ---- */

static bool any_has(const struct sweep *s, const struct results *r, enum column c)
{
    for (size_t i = 0; i < s->point_count; i++)
        if (!isnan(r->row[i].value[c]))
            return true;
    return false;
}

static int column_named(const char *name)
{
    for (int c = 0; c < COLUMN_COUNT; c++)
        if (columns[c].better && strcmp(columns[c].name, name) == 0)
            return c;
    return -1;
}

int sweep_check_best(const struct sweep *s, struct err *e)
{
    const char *names[COLUMN_COUNT];
    char list[300] = "";
    size_t count = 0, length = 0;

    if (!s->best || column_named(s->best) >= 0)
        return 0;
    for (int c = 0; c < COLUMN_COUNT; c++)
        if (columns[c].better) {
            length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%s",
                                       count ? ", " : "", columns[c].name);
            names[count++] = columns[c].name;
        }
    return err_set(e, "--best is \"%s\"%s; allowed are %s", s->best,
                   text_did_you_mean(s->best, names, count).text, list);
}

/* Work per time where the work may differ from point to point, else time. */
static enum column choose_merit(const struct sweep *s, const struct results *r)
{
    if (s->best)
        return (enum column)column_named(s->best);
    if (any_has(s, r, COLUMN_SAMPLES))
        return COLUMN_SAMPLES;
    return any_has(s, r, COLUMN_MODEL) ? COLUMN_MODEL : COLUMN_US;
}

/* how many times as good as the first point; NAN where one of them has no value */
static double speed_up(const struct results *r, size_t point)
{
    double first = r->row[0].value[r->merit], here = r->row[point].value[r->merit];

    return columns[r->merit].better > 0 ? here / first : first / here;
}

static void find_best(const struct sweep *s, struct results *r)
{
    r->merit = choose_merit(s, r);
    r->best = SIZE_MAX;
    for (size_t i = 0; i < s->point_count; i++) {
        double here = columns[r->merit].better * r->row[i].value[r->merit];

        if (!isnan(here) && (r->best == SIZE_MAX ||
                             here > columns[r->merit].better * r->row[r->best].value[r->merit]))
            r->best = i;
    }
}

static int gather(struct sweep *s, struct results *r, struct err *e)
{
    r->row = arena_array(&s->arena, s->point_count, sizeof(*r->row));
    for (size_t i = 0; i < s->point_count; i++)
        if (read_result(s, &s->point[i], &r->row[i], e))
            return -1;
    find_best(s, r);
    return 0;
}

/* ---- sweep.csv and the table, from the same columns ---- */

static const char *state_name(const struct sweep_point *p)
{
    return p->state == SWEEP_DONE ? "done" : p->state == SWEEP_FAILED ? "failed" : "not run";
}

#define FIELDS_MAX (SWEEP_AXIS_MAX + COLUMN_COUNT + 8)

struct sheet {
    struct table table;
    struct table_field field[FIELDS_MAX];
};

/* a star for the best, the values of the point, its state, the figures, and more for the file */
static void make_fields(struct sweep *s, const struct results *r, struct table_field *f)
{
    *f++ = (struct table_field){TABLE_SHOWN(TEXT, NULL, "")};
    for (int a = 0; a < s->axis_count; a++)
        *f++ = (struct table_field){TABLE_SHOWN(TEXT, s->axis[a].key, NULL), .is_right = true};
    *f++ = (struct table_field){TABLE_HIDDEN(TEXT, "state")};
    for (int c = 0; c < COLUMN_COUNT; c++)
        *f++ = (struct table_field){
            .name = columns[c].name, .kind = CELL_REAL,
            .is_shown = !columns[c].is_optional || any_has(s, r, (enum column)c),
            .above = columns[c].heading, .heading = columns[c].unit,
            .decimals = columns[c].decimals ? columns[c].decimals : TABLE_WHOLE};
    *f++ = (struct table_field){TABLE_HIDDEN(TEXT, "bound_by")};
    *f++ = (struct table_field){
        TABLE_SHOWN(REAL, arena_printf(&s->arena, "speedup_by_%s", columns[r->merit].name), "x"),
        .above = "speed-up", .decimals = 2};
    *f++ = (struct table_field){TABLE_HIDDEN(BOOL, "is_best")};
    *f++ = (struct table_field){TABLE_HIDDEN(TEXT, "folder")};
    *f++ = (struct table_field){TABLE_HIDDEN(TEXT, "message")};
    *f++ = (struct table_field){TABLE_SHOWN(TEXT, NULL, "bound by")};
}

static const char *verdict_of(struct sweep *s, const struct sweep_point *p, const char *bound)
{
    if (p->state == SWEEP_DONE)
        return bound;
    return arena_printf(&s->arena, "%s%s%s", state_name(p), p->message ? ": " : "",
                        p->message ? p->message : "");
}

static void add_point(struct sweep *s, const struct results *r, size_t i, struct table *t)
{
    const struct sweep_point *p = &s->point[i];
    struct table_cell cell[FIELDS_MAX];
    int n = 0;

    cell[n++] = cell_text(i == r->best ? "*" : NULL);
    for (int a = 0; a < s->axis_count; a++)
        cell[n++] = cell_text(p->value[a]);
    cell[n++] = cell_text(state_name(p));
    for (int c = 0; c < COLUMN_COUNT; c++)
        cell[n++] = cell_real(r->row[i].value[c]);
    cell[n++] = cell_text(r->row[i].bound);
    cell[n++] = cell_real(speed_up(r, i));
    cell[n++] = cell_bool(i == r->best);
    cell[n++] = cell_text(strrchr(p->folder, '/') + 1);
    cell[n++] = cell_text(p->message);
    cell[n++] = cell_text(verdict_of(s, p, r->row[i].bound));
    table_add_cells(t, cell, n);
}

static struct sheet *make_sheet(struct sweep *s, const struct results *r)
{
    struct sheet *sheet = arena_alloc(&s->arena, sizeof(*sheet));

    make_fields(s, r, sheet->field);
    table_begin(&sheet->table, sheet->field, &s->arena);
    sheet->table.indent = "";
    sheet->table.digits = 15;
    for (size_t i = 0; i < s->point_count; i++)
        add_point(s, r, i, &sheet->table);
    return sheet;
}

static int write_csv(struct sweep *s, const struct sheet *sheet, struct err *e)
{
    struct outfile f;

    if (outfile_begin(&f, arena_printf(&s->arena, "%s/sweep.csv", s->out), e))
        return -1;
    table_print_csv(&sheet->table, f.to);
    return outfile_commit(&f, e);
}

int sweep_print_results(struct sweep *s, FILE *to, struct err *e)
{
    struct results r;
    struct sheet *sheet;
    size_t failed = 0, waiting = 0;
    char text[200];

    if (gather(s, &r, e))
        return -1;
    sheet = make_sheet(s, &r);
    if (write_csv(s, sheet, e))
        return -1;
    table_print_text(&sheet->table, to);
    for (size_t i = 0; i < s->point_count; i++) {
        failed += s->point[i].state == SWEEP_FAILED;
        waiting += s->point[i].state == SWEEP_WAITING;
    }
    fprintf(to, "\nspeed-up: %s against the first point\n", columns[r.merit].name);
    if (r.best != SIZE_MAX)
        fprintf(to, "* best:   %s\n", sweep_print_point(s, &s->point[r.best], text,
                                                       sizeof(text)));
    if (failed || waiting)
        fprintf(to, "%zu failed, %zu not run\n", failed, waiting);
    return 0;
}
