/* Prints rooflines as tables, CSV, and a plot of characters. */
#include "report/roofline/roofline.h"

#include "base/text.h"
#include "base/units.h"
#include "report/view/bound.h"

#include <math.h>
#include <string.h>

#define LINES 20                        /* source operations of a table */
#define PLOT_ROWS 20
#define PLOT_COLUMNS_MAX 200
#define LABELS "abcdefghijklmnopqrstuvwxyz"

struct short_text roofline_rate(double x, const char *unit)
{
    static const char *const prefix[] = {"", "k", "M", "G", "T", "P"};
    struct short_text to;
    size_t i = 0;

    for (; x >= 1000.0 && i + 1 < COUNT_OF(prefix); i++)
        x /= 1000.0;
    snprintf(to.text, sizeof(to.text), "%.4g %s%.12s", x, prefix[i], unit);
    return to;
}

static void print_roofs(const struct roofline *r, FILE *to)
{
    double hbm = r->roofs.bytes[ROOF_HBM];

    fprintf(to, "roofs of one core\n");
    for (int t = 0; t < ROOF_TYPE_COUNT; t++) {
        if (r->roofs.flops[t] <= 0.0)
            continue;
        fprintf(to, "  %-12s %-14s", roofline_type_name(t),
                roofline_rate(r->roofs.flops[t], t == 1 || t == 2 ? "OP/s" : "FLOP/s").text);
        if (hbm > 0.0)
            fprintf(to, " reached from %.4g FLOP per byte of HBM on", r->roofs.flops[t] / hbm);
        fputc('\n', to);
    }
    for (int m = 0; m < ROOF_MEMORY_COUNT; m++)
        if (r->roofs.bytes[m] > 0.0)
            fprintf(to, "  %-12s %s\n", roofline_roof_name((enum roofline_resource)m),
                    roofline_rate(r->roofs.bytes[m], "B/s").text);
}

static void print_point(const struct roofline_point *p, char label, FILE *to)
{
    char intensity[40] = "-", bound[60];

    if (p->rate > 0.0)
        snprintf(intensity, sizeof(intensity), "%.3g", p->intensity);
    snprintf(bound, sizeof(bound), "%s %.1f %%%s", roofline_roof_name(p->bound),
             100.0 * p->use[p->bound],
             p->use[p->bound] < BOUND_LATENCY_BELOW ? ", so latency" : "");
    fprintf(to, "%c %-36.36s %10.3f %7.1f %% %16s %10s %-10s  %s\n", label, p->name,
            p->seconds * 1e6, 100.0 * p->share,
            p->rate > 0.0 ? roofline_rate(p->rate, "FLOP/s").text : "-", intensity,
            p->rate > 0.0 ? roofline_roof_name(p->memory) : "",
            p->use[p->bound] > 0.0 ? bound : "latency");
}

/* Points of several runs share the letters. */
static char next_label(const struct roofline_point *p, size_t *used)
{
    return p->rate > 0.0 && *used < sizeof(LABELS) - 1 ? LABELS[(*used)++] : ' ';
}

static void print_rest(const struct roofline *r, size_t from, FILE *to)
{
    double seconds = 0.0;

    for (size_t i = from; i < r->op_count; i++)
        seconds += r->op[i].seconds;
    if (from < r->op_count)
        fprintf(to, "  %-36s %10.3f %7.1f %%\n", "(all others)", seconds * 1e6,
                100.0 * seconds / r->step.seconds);
}

static void print_run(const struct roofline *r, size_t number, size_t *used, FILE *to)
{
    char text[300];

    fprintf(to, "%s: %s\n", r->run->path, run_folder_describe(r->run, text, sizeof(text)));
    print_roofs(r, to);
    fprintf(to, "\n  %-36s %10s %9s %16s %10s %-10s  %s\n", "what a core did", "us", "of step",
            "issued", "FLOP/B", "of", "bound by, use of it");
    print_point(&r->step, (char)('1' + number), to);
    for (size_t i = 0; i < r->op_count && i < LINES; i++)
        print_point(&r->op[i], next_label(&r->op[i], used), to);
    print_rest(r, LINES, to);
    if (!r->has_ops)
        fprintf(to, "  (the run tells nothing of source operations)\n");
    fputc('\n', to);
}

void roofline_print_text(const struct roofline *r, size_t count, FILE *to)
{
    size_t used = 0;

    for (size_t i = 0; i < count; i++)
        print_run(&r[i], i, &used, to);
}

/* ---- a plot of characters ---- */

struct plot {
    struct roofline_frame frame;
    int columns;
    char cell[PLOT_ROWS][PLOT_COLUMNS_MAX];
};

static void put(struct plot *p, double x, double y, char mark)
{
    const struct roofline_frame *f = &p->frame;
    int column = (int)((x - f->x0) / (f->x1 - f->x0) * (p->columns - 1) + 0.5);
    int row = (int)((f->y1 - y) / (f->y1 - f->y0) * (PLOT_ROWS - 1) + 0.5);

    if (x >= f->x0 && y >= f->y0 && column < p->columns && row >= 0 && row < PLOT_ROWS)
        p->cell[row][column] = mark;
}

static void put_roofs(struct plot *p, const struct roofline_roofs *roofs)
{
    static const char marks[ROOF_MEMORY_COUNT] = {'/', '.', ':', '\''};
    double most = 0.0;

    for (int t = 0; t < ROOF_TYPE_COUNT; t++)
        most = fmax(most, roofs->flops[t]);
    for (int c = 0; c < p->columns; c++) {
        double x = p->frame.x0 + (p->frame.x1 - p->frame.x0) * c / (p->columns - 1);

        for (int m = ROOF_MEMORY_COUNT - 1; m >= 0; m--)
            if (roofs->bytes[m] > 0.0 && roofs->bytes[m] * pow(10.0, x) <= most)
                put(p, x, x + log10(roofs->bytes[m]), marks[m]);
        for (int t = 0; t < ROOF_TYPE_COUNT; t++)
            if (roofs->flops[t] > 0.0 &&
                roofs->bytes[ROOF_HBM] * pow(10.0, x) >= roofs->flops[t])
                put(p, x, log10(roofs->flops[t]), '-');
    }
}

static void put_points(struct plot *p, const struct roofline *r, size_t number, size_t *used)
{
    for (size_t i = 0; i < r->op_count && i < LINES; i++) {
        char label = next_label(&r->op[i], used);

        if (r->op[i].rate > 0.0)
            put(p, log10(r->op[i].intensity), log10(r->op[i].rate), label == ' ' ? '*' : label);
    }
    if (r->step.rate > 0.0)
        put(p, log10(r->step.intensity), log10(r->step.rate), (char)('1' + number));
}

static void print_x_axis(const struct plot *p, FILE *to)
{
    char line[PLOT_COLUMNS_MAX + 16], label[16];

    memset(line, '-', sizeof(line));
    fprintf(to, "            +%.*s\n", p->columns, line);
    memset(line, ' ', sizeof(line));
    for (int x = (int)p->frame.x0; x <= (int)p->frame.x1; x++) {
        int at = (int)((x - p->frame.x0) / (p->frame.x1 - p->frame.x0) * (p->columns - 1) + 0.5);
        int length = snprintf(label, sizeof(label), "%g", pow(10.0, x));

        memcpy(line + at, label, (size_t)length);
    }
    fprintf(to, "             %.*s  FLOP/B\n", p->columns + 6, line);
}

void roofline_print_plot(const struct roofline *r, size_t count, int columns, FILE *to)
{
    struct plot p = {.columns = columns > PLOT_COLUMNS_MAX ? PLOT_COLUMNS_MAX : columns};
    size_t used = 0;

    memset(p.cell, ' ', sizeof(p.cell));
    roofline_frame_find(r, count, &p.frame);
    for (size_t i = 0; i < count; i++)
        put_roofs(&p, &r[i].roofs);
    for (size_t i = 0; i < count; i++)
        put_points(&p, &r[i], i, &used);
    for (int row = 0; row < PLOT_ROWS; row++) {
        double y = p.frame.y1 - (p.frame.y1 - p.frame.y0) * row / (PLOT_ROWS - 1);
        double nearest = (p.frame.y1 - round(y)) / (p.frame.y1 - p.frame.y0) * (PLOT_ROWS - 1);

        fprintf(to, "%11s |%.*s\n",
                (int)(nearest + 0.5) == row
                    ? roofline_rate(pow(10.0, round(y)), "FLOP/s").text : "",
                p.columns, p.cell[row]);
    }
    print_x_axis(&p, to);
    fprintf(to, "             / HBM   . VMEM load   : VMEM store   ' ICI   - peak of a type   "
            "digits: whole steps\n");
}

/* ---- CSV ---- */

static void print_csv_row(const struct roofline *r, const struct roofline_point *p, FILE *to)
{
    text_print_csv(r->run->path, to);
    fputc(',', to);
    text_print_csv(p->name, to);
    fprintf(to, ",%.15g,%.15g,%.15g", p->seconds * 1e6, 100.0 * p->share,
            p->flops);
    for (int m = 0; m < ROOF_MEMORY_COUNT; m++)
        fprintf(to, ",%.15g", p->bytes[m]);
    for (int u = 0; u < ROOF_RESOURCE_COUNT; u++)
        fprintf(to, ",%.15g", 100.0 * p->use[u]);
    fprintf(to, ",%s,", roofline_roof_name(p->bound));
    if (p->rate > 0.0)
        fprintf(to, "%s,%.15g,%.15g", roofline_roof_name(p->memory), p->intensity, p->rate / 1e9);
    else
        fprintf(to, ",,");
    fputc('\n', to);
}

void roofline_print_csv(const struct roofline *r, size_t count, FILE *to)
{
    fprintf(to, "run,operation,time_us,of_step_pct,issued_flop,hbm_bytes,vmem_load_bytes,"
            "vmem_store_bytes,ici_bytes,hbm_use_pct,vmem_load_use_pct,vmem_store_use_pct,"
            "ici_use_pct,mxu_use_pct,bound_by,memory,intensity_flop_per_byte,rate_gflops\n");
    for (size_t i = 0; i < count; i++) {
        print_csv_row(&r[i], &r[i].step, to);
        for (size_t p = 0; p < r[i].op_count; p++)
            print_csv_row(&r[i], &r[i].op[p], to);
    }
}
