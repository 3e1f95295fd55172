/*
 * A roofline plot as SVG: log-log, roofs as lines, points as marks whose area
 * is their share of the step, numbered; the numbers stand beside the plot with
 * both values.
 *
 * Colours are of the palette by Okabe and Ito, told apart by people with any
 * colour vision; runs differ in colour, memories in the shape of the mark and
 * the dashes of the line, so that no colour is needed to tell them apart.
 */
#include "report/roofline/roofline.h"

#include "base/units.h"

#include <math.h>
#include <string.h>

#define WIDTH 1300
#define HEIGHT 760
#define LEFT 112.0
#define TOP 64.0
#define RIGHT 760.0                     /* of the plot */
#define BOTTOM 650.0
#define LIST_X 800.0
#define LIST_MAX 30                     /* points with a number, all runs together */
#define ROW_PX 17.0

static const char *const run_colours[ROOF_RUN_MAX] = {
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F",
};
static const char *const dashes[ROOF_MEMORY_COUNT] = {"none", "9 4", "3 3", "12 3 2 3"};

struct drawing {
    const struct roofline *r;
    size_t count;
    struct roofline_frame frame;
    FILE *to;
    int listed;
    double list_y;
};

static double x_of(const struct drawing *d, double log_x)
{
    return LEFT + (log_x - d->frame.x0) / (d->frame.x1 - d->frame.x0) * (RIGHT - LEFT);
}

static double y_of(const struct drawing *d, double log_y)
{
    return BOTTOM - (log_y - d->frame.y0) / (d->frame.y1 - d->frame.y0) * (BOTTOM - TOP);
}

static void print_escaped(const char *text, size_t most, FILE *to)
{
    for (size_t i = 0; text[i] && i < most; i++) {
        switch (text[i]) {
        case '&': fputs("&amp;", to); break;
        case '<': fputs("&lt;", to); break;
        case '>': fputs("&gt;", to); break;
        default: fputc((unsigned char)text[i] < ' ' ? ' ' : text[i], to);
        }
    }
    if (strlen(text) > most)
        fputs("…", to);
}

static void line(const struct drawing *d, double x0, double y0, double x1, double y1,
                 const char *style)
{
    fprintf(d->to, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x0, y0, x1, y1,
            style);
}

/* ---- axes ---- */

static struct short_text print_power(double exponent, const char *unit)
{
    static const char *const prefix[] = {"", "k", "M", "G", "T", "P"};
    int thousands = exponent > 0 ? (int)(exponent / 3) : 0;
    struct short_text to;

    thousands = thousands < (int)COUNT_OF(prefix) ? thousands : (int)COUNT_OF(prefix) - 1;
    snprintf(to.text, sizeof(to.text), "%g%s%s%s", pow(10.0, exponent - 3 * thousands),
             *unit ? " " : "", prefix[thousands], unit);
    return to;
}

static void draw_x_grid(const struct drawing *d)
{
    for (double x = d->frame.x0; x <= d->frame.x1; x++) {
        for (int n = 2; n < 10 && x < d->frame.x1; n++)
            line(d, x_of(d, x + log10(n)), TOP, x_of(d, x + log10(n)), BOTTOM,
                 "class=\"minor\"");
        line(d, x_of(d, x), TOP, x_of(d, x), BOTTOM, "class=\"major\"");
        fprintf(d->to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
                x_of(d, x), BOTTOM + 20, print_power(x, "").text);
    }
}

static void draw_y_grid(const struct drawing *d)
{
    for (double y = d->frame.y0; y <= d->frame.y1; y++) {
        for (int n = 2; n < 10 && y < d->frame.y1; n++)
            line(d, LEFT, y_of(d, y + log10(n)), RIGHT, y_of(d, y + log10(n)),
                 "class=\"minor\"");
        line(d, LEFT, y_of(d, y), RIGHT, y_of(d, y), "class=\"major\"");
        fprintf(d->to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT - 8,
                y_of(d, y) + 4, print_power(y, "FLOP/s").text);
    }
}

static void draw_axes(const struct drawing *d)
{
    draw_x_grid(d);
    draw_y_grid(d);
    fprintf(d->to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" class=\"name\">intensity: "
            "FLOP issued per byte of the memory used most</text>\n", (LEFT + RIGHT) / 2,
            BOTTOM + 44);
    fprintf(d->to, "<text transform=\"translate(20,%.1f) rotate(-90)\" text-anchor=\"middle\" "
            "class=\"name\">FLOP issued per second and core</text>\n", (TOP + BOTTOM) / 2);
}

/* ---- roofs ---- */

static double highest_peak(const struct roofline_roofs *roofs)
{
    double most = 0.0;

    for (int t = 0; t < ROOF_TYPE_COUNT; t++)
        most = fmax(most, roofs->flops[t]);
    return most;
}

/* along the line; memories of one rate share the label of the first */
static void label_memory_roof(const struct drawing *d, const struct roofline_roofs *roofs,
                              int memory, double log_x, const char *colour)
{
    const struct roofline_frame *f = &d->frame;
    double rise = (BOTTOM - TOP) / (f->y1 - f->y0), run = (RIGHT - LEFT) / (f->x1 - f->x0);
    double x = x_of(d, log_x), y = y_of(d, log_x + log10(roofs->bytes[memory]));

    for (int m = 0; m < memory; m++)
        if (roofs->bytes[m] == roofs->bytes[memory])
            return;
    fprintf(d->to, "<text class=\"halo\" transform=\"translate(%.1f,%.1f) rotate(%.1f)\" "
            "fill=\"%s\">%s", x - 4, y - 6, -atan2(rise, run) * 180.0 / 3.14159265358979, colour,
            roofline_roof_name((enum roofline_resource)memory));
    for (int m = memory + 1; m < ROOF_MEMORY_COUNT; m++)
        if (roofs->bytes[m] == roofs->bytes[memory])
            fprintf(d->to, ", %s", roofline_roof_name((enum roofline_resource)m));
    fprintf(d->to, " %.0f GB/s</text>\n", roofs->bytes[memory] / 1e9);
}

static void draw_memory_roof(const struct drawing *d, const struct roofline_roofs *roofs,
                             int memory, const char *colour)
{
    double slope = log10(roofs->bytes[memory]), top = log10(highest_peak(roofs));
    double x0 = fmax(d->frame.x0, d->frame.y0 - slope), x1 = fmin(d->frame.x1, top - slope);
    static const double place[ROOF_MEMORY_COUNT] = {0.3, 0.1, 0.5, 0.15};    /* of the label */
    char style[120];

    if (x1 <= x0)
        return;
    snprintf(style, sizeof(style),
             "stroke=\"%s\" stroke-width=\"%s\" stroke-dasharray=\"%s\"", colour,
             memory == ROOF_HBM ? "2.5" : "1.5", dashes[memory]);
    line(d, x_of(d, x0), y_of(d, x0 + slope), x_of(d, x1), y_of(d, x1 + slope), style);
    label_memory_roof(d, roofs, memory, x0 + place[memory] * (x1 - x0), colour);
}

/* peaks that coincide share a label */
static void draw_peak(const struct drawing *d, const struct roofline_roofs *roofs, int type,
                      const char *colour)
{
    double y = log10(roofs->flops[type]), most = 0.0, x0;
    char style[120];

    for (int t = 0; t < type; t++)
        if (roofs->flops[t] == roofs->flops[type])
            return;
    for (int m = 0; m < ROOF_MEMORY_COUNT; m++)
        most = fmax(most, roofs->bytes[m]);
    x0 = fmax(d->frame.x0, y - log10(most));
    snprintf(style, sizeof(style), "stroke=\"%s\" stroke-width=\"2.5\"", colour);
    line(d, x_of(d, x0), y_of(d, y), RIGHT, y_of(d, y), style);
    fprintf(d->to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\" class=\"halo\" "
            "fill=\"%s\">", RIGHT - 6, y_of(d, y) - 5, colour);
    for (int t = type; t < ROOF_TYPE_COUNT; t++)
        if (roofs->flops[t] == roofs->flops[type])
            fprintf(d->to, "%s%s", t == type ? "" : ", ", roofline_type_name(t));
    fprintf(d->to, " %.4g T</text>\n", roofs->flops[type] / 1e12);
}

static void draw_roofs(const struct drawing *d)
{
    for (size_t i = 0; i < d->count; i++) {
        const struct roofline_roofs *roofs = &d->r[i].roofs;
        bool is_drawn = false;

        for (size_t before = 0; before < i; before++)
            is_drawn |= memcmp(&d->r[before].roofs, roofs, sizeof(*roofs)) == 0;
        for (int m = 0; m < ROOF_MEMORY_COUNT && !is_drawn; m++)
            if (roofs->bytes[m] > 0.0)
                draw_memory_roof(d, roofs, m, run_colours[i]);
        for (int t = 0; t < ROOF_TYPE_COUNT && !is_drawn; t++)
            if (roofs->flops[t] > 0.0)
                draw_peak(d, roofs, t, run_colours[i]);
    }
}

/* ---- points and their list ---- */

/* circle, square, diamond, triangle by memory; `size` is half the width */
static void draw_mark(const struct drawing *d, int memory, double x, double y, double size,
                      const char *colour, bool is_filled)
{
    const char *fill = is_filled ? colour : "white";
    double s = size;

    if (memory == ROOF_HBM) {
        fprintf(d->to, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"", x, y, s);
    } else if (memory == ROOF_VMEM_READ) {
        fprintf(d->to, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"", x - s, y - s,
                2 * s, 2 * s);
    } else {
        fprintf(d->to, "<polygon points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f", x, y - s, x + s,
                memory == ROOF_ICI ? y + s : y, memory == ROOF_ICI ? x - s : x, y + s);
        if (memory == ROOF_VMEM_WRITE)
            fprintf(d->to, " %.1f,%.1f", x - s, y);
        fputc('"', d->to);
    }
    fprintf(d->to, " fill=\"%s\" fill-opacity=\"%s\" stroke=\"%s\" stroke-width=\"1.5\"/>\n", fill,
            is_filled ? "1" : "0.75", colour);
}

static void list_point(struct drawing *d, const struct roofline_point *p, const char *colour)
{
    double y = d->list_y += ROW_PX;

    fprintf(d->to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\" fill=\"%s\" "
            "class=\"number\">%d</text>\n<text x=\"%.1f\" y=\"%.1f\">", LIST_X + 16, y, colour,
            d->listed, LIST_X + 24, y);
    print_escaped(p->name, 26, d->to);
    fprintf(d->to, "</text>\n<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%.1f %%</text>\n",
            LIST_X + 262, y, 100.0 * p->share);
    fprintf(d->to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%.3g</text>\n", LIST_X + 320,
            y, p->intensity);
    fprintf(d->to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>\n", LIST_X + 382,
            y, p->rate / 1e12);
    fprintf(d->to, "<text x=\"%.1f\" y=\"%.1f\">%s %.0f %%</text>\n", LIST_X + 392, y,
            roofline_roof_name(p->bound), 100.0 * p->use[p->bound]);
}

static void draw_point(struct drawing *d, const struct roofline_point *p, size_t run, bool is_step)
{
    double x, y, size = 4.0 + 14.0 * sqrt(p->share);

    if (p->rate <= 0.0 || d->listed == LIST_MAX)
        return;
    x = x_of(d, log10(p->intensity));
    y = y_of(d, log10(p->rate));
    d->listed++;
    draw_mark(d, (int)p->memory, x, y, is_step ? 7.0 : size, run_colours[run], is_step);
    fprintf(d->to, "<text x=\"%.1f\" y=\"%.1f\" fill=\"%s\" class=\"number halo\">%d</text>\n",
            x + (is_step ? 9.0 : size + 2.0), y + 4, run_colours[run], d->listed);
    list_point(d, p, run_colours[run]);
}

static void draw_list_heading(struct drawing *d)
{
    static const struct { double x; const char *text; } cells[] = {
        {262, "of step"}, {320, "FLOP/B"}, {382, "TFLOP/s"},
    };

    d->list_y = TOP + 6;
    for (size_t i = 0; i < COUNT_OF(cells); i++)
        fprintf(d->to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\" class=\"name\">%s"
                "</text>\n", LIST_X + cells[i].x, d->list_y, cells[i].text);
    fprintf(d->to, "<text x=\"%.1f\" y=\"%.1f\" class=\"name\">highest use</text>\n", LIST_X + 392,
            d->list_y);
}

static void draw_points(struct drawing *d)
{
    draw_list_heading(d);
    for (size_t i = 0; i < d->count; i++) {
        char text[300];

        d->list_y += ROW_PX;
        fprintf(d->to, "<text x=\"%.1f\" y=\"%.1f\" fill=\"%s\" class=\"number\">", LIST_X,
                d->list_y, run_colours[i]);
        print_escaped(run_folder_describe(d->r[i].run, text, sizeof(text)), 58, d->to);
        fprintf(d->to, "</text>\n");
        draw_point(d, &d->r[i].step, i, true);
        for (size_t p = 0; p < d->r[i].op_count; p++)
            draw_point(d, &d->r[i].op[p], i, false);
    }
}

/* shapes and dashes by memory */
static void draw_legend(const struct drawing *d)
{
    for (int m = 0; m < ROOF_MEMORY_COUNT; m++) {
        double x = LEFT + 168.0 * m, y = HEIGHT - 34.0;
        char style[80];

        snprintf(style, sizeof(style), "stroke=\"#333\" stroke-width=\"%s\" "
                 "stroke-dasharray=\"%s\"", m == ROOF_HBM ? "2.5" : "1.5", dashes[m]);
        line(d, x, y, x + 40, y, style);
        draw_mark(d, m, x + 54, y, 5.5, "#333", false);
        fprintf(d->to, "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", x + 66, y + 4,
                roofline_roof_name((enum roofline_resource)m));
    }
    fprintf(d->to, "<text x=\"%.1f\" y=\"%.1f\">line: roof; mark: an operation that uses this "
            "memory most, its area the share of the step; filled: the whole step</text>\n", LEFT,
            HEIGHT - 12.0);
}

void roofline_print_svg(const struct roofline *r, size_t count, FILE *to)
{
    struct drawing d = {.r = r, .count = count, .to = to};

    roofline_frame_find(r, count, &d.frame);
    fprintf(to, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"DejaVu Sans, sans-serif\" font-size=\"12\">\n"
            "<style>.minor{stroke:#eee}.major{stroke:#ccc}.name{fill:#444}"
            ".halo{paint-order:stroke;stroke:white;stroke-width:3px}.number{font-weight:bold}"
            ".title{font-size:18px;font-weight:bold}</style>\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", WIDTH, HEIGHT, WIDTH, HEIGHT,
            WIDTH, HEIGHT);
    fprintf(to, "<text x=\"%.1f\" y=\"34\" class=\"title\">Roofline of one core</text>\n", LEFT);
    draw_axes(&d);
    draw_roofs(&d);
    draw_points(&d);
    draw_legend(&d);
    fprintf(to, "</svg>\n");
}
