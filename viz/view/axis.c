/* Converts between pixels and cycles, and draws the ruler with its marks in cycles and time. */
#include "viz/view/axis.h"

#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "viz/view/quantity.h"

struct axis axis_of_view(const struct view *v, struct rect area)
{
    return (struct axis){v->from, view_cycles_per_pixel(v, area.w), area.x, area.w};
}

struct axis axis_of_run(const struct view *v, struct rect area)
{
    double cycles = (double)ntrace_info(v->run)->cycles;

    return (struct axis){0, (cycles > 1 ? cycles : 1) / (area.w > 0 ? area.w : 1), area.x,
                         area.w};
}

double axis_cycle(const struct axis *a, double x)
{
    return a->from + (x - a->x) * a->cycles_per_pixel;
}

double axis_x(const struct axis *a, double cycle)
{
    return a->x + (cycle - a->from) / a->cycles_per_pixel;
}

struct rect axis_rect(const struct axis *a, double from, double end, int y, int h)
{
    double left = axis_x(a, from), right = axis_x(a, end);
    int x1, x2;

    if (right <= a->x || left >= a->x + a->width)
        return (struct rect){a->x, y, 0, h};
    x1 = left <= a->x ? a->x : (int)floor(left);
    x2 = right >= a->x + a->width ? a->x + a->width : (int)floor(right);
    return (struct rect){x1, y, x2 > x1 ? x2 - x1 : 1, h};
}

int axis_ruler_height(const struct draw_list *d)
{
    return 2 * draw_line_height(d, TEXT_SMALL) + draw_scaled(d, 6);
}

/* one row of marks: every `step` of a unit of `unit_cycles` cycles */
static void draw_marks(const struct view *v, struct draw_list *d, const struct axis *a, int y,
                       double unit_cycles, const char *unit, struct rect through)
{
    int most = a->width / (draw_char_width(d, TEXT_SMALL) * 18), shown;
    double end = axis_cycle(a, a->x + a->width), first, step, at, last_right = a->x;
    bool has_lines = through.h > 0;

    step = quantity_ticks(a->from / unit_cycles, end / unit_cycles, most < 2 ? 2 : most, &first);
    shown = (int)fmax(0, -floor(log10(step) + 1e-9));
    for (at = first; at * unit_cycles < end; at += step) {
        double shown_at = fabs(at) < step / 2 ? 0 : at, x = axis_x(a, at * unit_cycles);
        char text[64];
        int width;

        if (unit)
            snprintf(text, sizeof(text), "%.*f %s", shown, shown_at, unit);
        else
            snprintf(text, sizeof(text), "%s", text_thousands(llround(at)).text);
        width = draw_text_width(d, TEXT_SMALL, text);
        draw_rect(d, (struct rect){(int)x, y, 1, draw_line_height(d, TEXT_SMALL)},
                  theme_color(v->theme, COLOR_DIM_TEXT));
        if (has_lines)
            draw_rect(d, (struct rect){(int)x, through.y, 1, through.h},
                      theme_color(v->theme, COLOR_GRID));
        if (x + 4 > last_right && x + 4 + width <= a->x + a->width) {
            draw_text(d, (int)x + 4, y, TEXT_SMALL, theme_color(v->theme, COLOR_DIM_TEXT), text);
            last_right = x + 4 + width + draw_char_width(d, TEXT_SMALL);
        }
    }
}

void axis_draw_ruler(const struct view *v, struct draw_list *d, struct rect area,
                     struct rect through)
{
    static const char *const units[] = {"ps", "ns", "µs", "ms", "s"};
    struct axis a = axis_of_view(v, area);
    double cycle_ps = 1e12 * chip_cycle_seconds(ntrace_info(v->run)->chip);
    double unit_ps = 1, span_ps = (v->end - v->from) * cycle_ps;
    int i = 0, line = draw_line_height(d, TEXT_SMALL);

    while (i < (int)COUNT_OF(units) - 1 && span_ps / unit_ps > 2000) {
        unit_ps *= 1000;
        i++;
    }
    draw_clip(d, area.y < through.y ? (struct rect){area.x, area.y, area.w,
                                                    through.y + through.h - area.y} : area);
    draw_marks(v, d, &a, area.y + draw_scaled(d, 2), 1, NULL, through);
    draw_marks(v, d, &a, area.y + draw_scaled(d, 3) + line, unit_ps / cycle_ps, units[i],
               (struct rect){0, 0, 0, 0});
    draw_clip_end(d);
}

void axis_draw_cursor(const struct view *v, struct draw_list *d, struct rect through)
{
    const struct axis a = axis_of_view(v, through);

    if (v->cursor >= v->from && v->cursor < v->end)
        draw_rect(d, (struct rect){(int)axis_x(&a, v->cursor), through.y, 1, through.h},
                  theme_color(v->theme, COLOR_CURSOR));
}
