/* Prints the tables of `systole check hardware`. */
#include "cli/hardware/hardware_sums.h"

#include "base/table.h"
#include "base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_WIDTH = 34 };

/* "fusion.9167" of an HLO operation's text, other names as they are */
const char *hardware_short_name(const char *workload, char *buf, size_t buf_bytes)
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
                  cell_text(arena_strdup(t->arena, hardware_short_name(r->workload, name, sizeof(name)))),
                  cell_text(r->dtype), cell_real(r->measured_us), cell_real(us),
                  cell_real(if_simulated(r, hardware_error_percent(us, r->measured_us))),
                  cell_real(r->baseline_us),
                  cell_real(if_simulated(r, hardware_error_percent(r->baseline_us, r->measured_us))),
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

#define FIGURE(above_, heading) \
    {TABLE_SHOWN(REAL, NULL, heading), .above = above_, .decimals = 1, .suffix = "%", .width = 8}

static const struct table_field sum_fields[] = {
    {TABLE_SHOWN(TEXT, NULL, "file"), .width = 40}, {TABLE_SHOWN(INT, NULL, "rows")},
    {TABLE_SHOWN(INT, NULL, "scored")}, FIGURE("simulated", "mean"), FIGURE("simulated", "median"),
    FIGURE("simulated", "2nd mean"), FIGURE("simulated", "by time"),
    {TABLE_SHOWN(REAL, NULL, "ratio"), .above = "simulated", .decimals = 2},
    FIGURE("simulated", "covered"), FIGURE("simulated", "memory"), FIGURE("baseline", "mean"),
    FIGURE("baseline", "median"), FIGURE("peer", "mean"), FIGURE("best, %", "of xla")};

static void add_group(struct table *t, struct hardware_group *g, const char *name)
{
    struct table_cell cell[] = {
        cell_text(name), cell_int(g->row_count), cell_int(g->ours.count),
        cell_real(hardware_mean(&g->ours)), cell_real(hardware_median(&g->ours)),
        cell_real(hardware_second_mean(g)), cell_real(hardware_weighted(g)),
        cell_real(hardware_ratio(g)), cell_real(hardware_covered(g)),
        cell_real(hardware_median(&g->memory)), cell_real(hardware_mean(&g->baseline)),
        cell_real(hardware_median(&g->baseline)), cell_real(hardware_mean(&g->peer)),
        cell_real(hardware_mean(&g->best))};

    table_add_cells(t, cell, t->column_count);
}

static void add_file(struct table *t, const struct hardware_file *f)
{
    struct hardware_groups groups;

    hardware_groups_sum(&groups, f, false);
    add_group(t, &groups.item[0], f->name);
    for (int i = 1; i < groups.count && groups.count > 2; i++)
        if (groups.item[i].ours.count || groups.item[i].failed)
            add_group(t, &groups.item[i], arena_printf(t->arena, "  %s", groups.item[i].name));
    hardware_groups_free(&groups);
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

/* ----- rows that are not scored */

static void print_reason(const struct hardware_file *f, int first, FILE *to)
{
    const char *why = left_out(&f->row[first]);
    char name[NAME_WIDTH + 1];
    int count = 0;

    for (int i = 0; i < first; i++)
        if (!hardware_is_scored(&f->row[i]) && strcmp(left_out(&f->row[i]), why) == 0)
            return;                     /* told with the first of them */
    for (int i = first; i < f->row_count; i++) {
        const struct hardware_row *r = &f->row[i];

        if (hardware_is_scored(r) || strcmp(left_out(r), why) != 0)
            continue;
        if (count++ == 0)
            fprintf(to, "  %s:", *why ? why : "not simulated");
        fprintf(to, "%s %s", count > 1 ? "," : "",
                hardware_short_name(r->workload, name, sizeof(name)));
    }
    fprintf(to, " (%d)\n", count);
}

void hardware_print_unscored(const struct hardware_file *files, int count, FILE *to)
{
    for (int k = 0; k < count; k++) {
        bool is_begun = false;

        for (int i = 0; i < files[k].row_count; i++) {
            if (hardware_is_scored(&files[k].row[i]))
                continue;
            if (!is_begun)
                fprintf(to, "\n%s, not scored\n", files[k].name);
            is_begun = true;
            print_reason(&files[k], i, to);
        }
    }
}
