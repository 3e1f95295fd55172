/* Prints the tables of `systole check hardware`. */
#include "cli/validate/hardware.h"

#include "base/table.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS_MAX = 32, NAME_WIDTH = 34 };

struct errors {                         /* absolute, in % of the measured value */
    double *value;
    int count;
    size_t capacity;
};

static void add_error(struct errors *x, double percent)
{
    if (isnan(percent))
        return;
    MEM_ADD(x->value, x->count, x->capacity) = fabs(percent);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double mean(const struct errors *x)
{
    double sum = 0;

    for (int i = 0; i < x->count; i++)
        sum += x->value[i];
    return x->count ? sum / x->count : NAN;
}

static double median(struct errors *x)
{
    if (x->count == 0)
        return NAN;
    qsort(x->value, (size_t)x->count, sizeof(*x->value), compare);
    return (x->value[(x->count - 1) / 2] + x->value[x->count / 2]) / 2;
}

static double error_percent(double simulated_us, double measured_us)
{
    return 100 * (simulated_us / measured_us - 1);
}

static bool is_scored(const struct hardware_row *r)
{
    return r->work != WORK_NONE && !r->why_not && !r->error && !isnan(r->simulated_us[CODEGEN_XLA]);
}

/* "fusion.9167" of an HLO operation's text, other names as they are */
static const char *short_name(const char *workload, char *buf, size_t buf_bytes)
{
    const char *from = workload + (workload[0] == '%');
    size_t length = workload[0] == '%' ? strcspn(from, " ") : strlen(from);

    snprintf(buf, buf_bytes, "%.*s", (int)(length < buf_bytes ? length : buf_bytes - 1), from);
    return buf;
}

static double if_simulated(const struct hardware_row *r, double value)
{
    return isnan(r->simulated_us[CODEGEN_XLA]) ? NAN : value;
}

static const char *left_out(const struct hardware_row *r)
{
    return r->error ? r->error : r->why_not ? r->why_not : "";
}

#define TIME(name, heading) {TABLE_SHOWN(REAL, name, heading), .decimals = 2, .width = 11}
#define OFF(name, heading) \
    {TABLE_SHOWN(REAL, name, heading), .decimals = 1, .suffix = "%", .is_signed = true}

static const struct table_field row_fields[] = {
    {TABLE_HIDDEN(TEXT, "file")}, {TABLE_HIDDEN(INT, "line")}, {TABLE_HIDDEN(TEXT, "chip")},
    {TABLE_HIDDEN(TEXT, "group")}, {TABLE_HIDDEN(TEXT, "workload")},
    {TABLE_SHOWN(TEXT, NULL, "workload"), .width = NAME_WIDTH}, {TABLE_HIDDEN(TEXT, "dtype")},
    TIME("measured_us", "measured us"), TIME("simulated_us", "simulated"),
    OFF("error_percent", "error"), {TABLE_HIDDEN(REAL, "baseline_us")}, OFF(NULL, "baseline"),
    {TABLE_HIDDEN(REAL, "peer_error_percent")}, TIME("best_us", "best codegen"),
    {TABLE_HIDDEN(INT, "kernels")}, {TABLE_HIDDEN(TEXT, "left_out")}, {TABLE_SHOWN(TEXT, NULL, "")},
    {0}};

static void add_rows(struct table *t, const struct hardware_file *f)
{
    for (int i = 0; i < f->row_count; i++) {
        const struct hardware_row *r = &f->row[i];
        double us = r->simulated_us[CODEGEN_XLA];
        char name[NAME_WIDTH + 1];
        const char *remark = r->why_not ? arena_printf(t->arena, "not scored: %s", r->why_not) : "";

        if (isnan(us))
            remark = *left_out(r) ? left_out(r) : "not simulated";
        TABLE_ROW(t, cell_text(f->name), cell_int(r->line), cell_text(f->chip),
                  cell_text(r->group), cell_text(r->workload),
                  cell_text(arena_strdup(t->arena, short_name(r->workload, name, sizeof(name)))),
                  cell_text(r->dtype), cell_real(r->measured_us), cell_real(us),
                  cell_real(if_simulated(r, error_percent(us, r->measured_us))),
                  cell_real(r->baseline_us),
                  cell_real(if_simulated(r, error_percent(r->baseline_us, r->measured_us))),
                  cell_real(r->peer_error_percent), cell_real(r->simulated_us[CODEGEN_BEST]),
                  cell_int(r->kernel_count), cell_text(left_out(r)), cell_text(remark));
    }
}

void hardware_print_rows(const struct hardware_file *f, bool with_best, FILE *to)
{
    struct table_field fields[COUNT_OF(row_fields)];
    struct table t;

    memcpy(fields, row_fields, sizeof(fields));
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (fields[i].name && strcmp(fields[i].name, "best_us") == 0)
            fields[i].is_shown = with_best;
    table_begin(&t, fields, NULL);
    add_rows(&t, f);
    fprintf(to, "%s: TPU %s, %s\n", f->name, f->chip, f->about);
    table_print_text(&t, to);
    fputc('\n', to);
    table_end(&t);
}

void hardware_print_csv(const struct hardware_file *files, int count, FILE *to)
{
    struct table t;

    table_begin(&t, row_fields, NULL);
    for (int i = 0; i < count; i++)
        add_rows(&t, &files[i]);
    table_print_csv(&t, to);
    table_end(&t);
}

/* ----- sums */

struct group {
    const char *name;
    int row_count;
    struct errors ours, baseline, peer, best;   /* best: time in % of that with xla */
};

static struct group *group_of(struct group *groups, int *count, const char *name)
{
    for (int i = 0; i < *count; i++)
        if (strcmp(groups[i].name, name) == 0)
            return &groups[i];
    if (*count == GROUPS_MAX)
        return &groups[GROUPS_MAX - 1];
    groups[*count] = (struct group){.name = name};
    return &groups[(*count)++];
}

static void add_row(struct group *g, const struct hardware_row *r)
{
    g->row_count++;
    if (!is_scored(r))
        return;
    add_error(&g->ours, error_percent(r->simulated_us[CODEGEN_XLA], r->measured_us));
    add_error(&g->baseline, error_percent(r->baseline_us, r->measured_us));
    add_error(&g->peer, r->peer_error_percent);
    add_error(&g->best, 100 * r->simulated_us[CODEGEN_BEST] / r->simulated_us[CODEGEN_XLA]);
}

#define FIGURE(above_, heading) \
    {TABLE_SHOWN(REAL, NULL, heading), .above = above_, .decimals = 1, .suffix = "%", .width = 8}

static const struct table_field sum_fields[] = {
    {TABLE_SHOWN(TEXT, NULL, "file"), .width = 40}, {TABLE_SHOWN(INT, NULL, "rows")},
    {TABLE_SHOWN(INT, NULL, "scored")}, FIGURE("simulated", "mean"), FIGURE("simulated", "median"),
    FIGURE("baseline", "mean"), FIGURE("baseline", "median"), FIGURE("peer", "mean"),
    FIGURE("best, %", "of xla")};

static void add_group(struct table *t, struct group *g, const char *indent)
{
    struct table_cell cell[] = {
        cell_text(arena_printf(t->arena, "%s%s", indent, g->name)), cell_int(g->row_count),
        cell_int(g->ours.count), cell_real(mean(&g->ours)), cell_real(median(&g->ours)),
        cell_real(mean(&g->baseline)), cell_real(median(&g->baseline)), cell_real(mean(&g->peer)),
        cell_real(mean(&g->best))};

    table_add_cells(t, cell, t->column_count);
}

static void free_group(struct group *g)
{
    mem_free(g->ours.value);
    mem_free(g->baseline.value);
    mem_free(g->peer.value);
    mem_free(g->best.value);
}

static void add_file(struct table *t, const struct hardware_file *f)
{
    struct group all = {.name = f->name}, groups[GROUPS_MAX];
    int count = 0;

    for (int i = 0; i < f->row_count; i++) {
        add_row(&all, &f->row[i]);
        add_row(group_of(groups, &count, f->row[i].group ? f->row[i].group : ""), &f->row[i]);
    }
    add_group(t, &all, "");
    for (int i = 0; i < count; i++) {
        if (count > 1 && groups[i].ours.count)
            add_group(t, &groups[i], "  ");
        free_group(&groups[i]);
    }
    free_group(&all);
}

void hardware_print_summary(const struct hardware_file *files, int count, bool with_best,
                            FILE *to)
{
    struct table t;

    table_begin_count(&t, sum_fields, (int)COUNT_OF(sum_fields) - !with_best, NULL);
    t.title = "absolute error in % of the measured time";
    t.indent = "";
    t.empty = "-";
    for (int i = 0; i < count; i++)
        if (files[i].row_count)
            add_file(&t, &files[i]);
    table_print_text(&t, to);
    table_end(&t);
}
