/*
 * The plane of a roofline: logarithmic axes, roofs as lines with their numbers,
 * points as marks with names beside them where there is room.
 */
#include "viz/panels/roofline_draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

static const rgba_t see_through = 0x30;         /* of minor lines */

const struct roofline_point *roofline_point(const struct roofline_model *m, size_t point)
{
    return point < m->op_count ? &m->op[point] : &m->step;
}

rgba_t roofline_color(enum theme t, const struct roofline_point *p)
{
    static const enum color_role roles[ROOF_RESOURCE_COUNT] = {
        [ROOF_HBM] = COLOR_HBM_READ, [ROOF_VMEM_READ] = COLOR_LOAD,
        [ROOF_VMEM_WRITE] = COLOR_STORE, [ROOF_ICI] = COLOR_LINK, [ROOF_COMPUTE] = COLOR_MXU,
    };
    const bool is_latency = strcmp(roofline_model_bound(p), roofline_roof_name(p->bound)) != 0;

    return theme_color(t, is_latency ? COLOR_MISC : roles[p->bound]);
}

/* ---- places ---- */

static double x_of(const struct roofline_plot *p, double log_x)
{
    return p->plane.x + (log_x - p->frame.x0) / (p->frame.x1 - p->frame.x0) * p->plane.w;
}

static double y_of(const struct roofline_plot *p, double log_y)
{
    return p->plane.y + p->plane.h
           - (log_y - p->frame.y0) / (p->frame.y1 - p->frame.y0) * p->plane.h;
}

static bool is_free(const struct roofline_plot *p, struct rect r)
{
    if (!rect_covers(p->plane, r) || p->taken_count == ROOF_LABEL_MOST)
        return false;
    for (int i = 0; i < p->taken_count; i++)
        if (rect_is_seen(rect_meet(p->taken[i], r)))
            return false;
    return true;
}

/* one of the slanted lines goes from the lower left to the upper right of the box */
static bool meets_slope(const struct roofline_plot *p, struct rect r)
{
    for (int m = 0; m < ROOF_MEMORY_COUNT; m++) {
        const double slope = log10(p->roofs.bytes[m] > 0 ? p->roofs.bytes[m] : 1);
        const double left = (r.x - p->plane.x) * (p->frame.x1 - p->frame.x0) / p->plane.w;
        const double right = left + r.w * (p->frame.x1 - p->frame.x0) / p->plane.w;

        if (y_of(p, p->frame.x0 + left + slope) > r.y
            && y_of(p, p->frame.x0 + right + slope) < r.y + r.h)
            return true;
    }
    return false;
}

static bool meets_mark(const struct roofline_plot *p, struct rect r)
{
    for (int i = 0; i < p->mark_count; i++) {
        const struct roof_mark *m = &p->mark[i];

        if (rect_is_seen(rect_meet((struct rect){m->x - m->size, m->y - m->size, 2 * m->size,
                                                 2 * m->size}, r)))
            return true;
    }
    return false;
}

static void put_text(struct roofline_plot *p, const struct view *v, struct draw_list *d,
                     struct rect r, rgba_t color, const char *text)
{
    const rgba_t behind = (theme_color(v->theme, COLOR_PANEL) & ~0xffu) | 0xc0;

    draw_rect(d, r, behind);
    draw_text(d, r.x, r.y, TEXT_SMALL, color, text);
    p->taken[p->taken_count++] = r;
}

/* ---- axes ---- */

static struct short_text power_text(double exponent, const char *unit)
{
    const double value = pow(10, exponent);
    struct short_text to;

    if (exponent >= 3 || *unit)
        return roofline_rate(value * 1.0000001, unit);
    snprintf(to.text, sizeof(to.text), "%g", value);
    return to;
}

static void draw_minor(const struct roofline_plot *p, const struct view *v, struct draw_list *d,
                       double decade, bool is_x)
{
    const rgba_t color = (theme_color(v->theme, COLOR_GRID) & ~0xffu) | see_through;

    for (int n = 2; n < 10; n++) {
        const double at = decade + log10(n);

        draw_rect(d, is_x ? (struct rect){(int)x_of(p, at), p->plane.y, 1, p->plane.h}
                          : (struct rect){p->plane.x, (int)y_of(p, at), p->plane.w, 1}, color);
    }
}

static void draw_x_axis(const struct roofline_plot *p, const struct view *v, struct draw_list *d)
{
    const int line = draw_line_height(d, TEXT_SMALL);
    int last = -1;
    double x;

    for (x = p->frame.x0; x <= p->frame.x1 + 0.5; x++) {
        const int at = (int)x_of(p, x);
        const struct short_text text = power_text(x, "");
        const int w = draw_text_width(d, TEXT_SMALL, text.text);
        int left;

        left = at - w / 2 < p->plane.x ? p->plane.x : at - w / 2;
        left = left + w > p->plane.x + p->plane.w ? p->plane.x + p->plane.w - w : left;
        if (x < p->frame.x1 - 0.5)
            draw_minor(p, v, d, x, true);
        draw_rect(d, (struct rect){at, p->plane.y, 1, p->plane.h},
                  theme_color(v->theme, COLOR_GRID));
        if (left <= last)
            continue;
        draw_text(d, left, p->plane.y + p->plane.h + draw_scaled(d, 2), TEXT_SMALL,
                  theme_color(v->theme, COLOR_DIM_TEXT), text.text);
        last = left + w + draw_char_width(d, TEXT_SMALL);
    }
    draw_text_fit(d, (struct rect){p->plane.x, p->plane.y + p->plane.h + line + draw_scaled(d, 3),
                                   p->plane.w, line},
                  TEXT_SMALL, theme_color(v->theme, COLOR_TEXT),
                  "intensity: FLOP issued per byte of the memory that is used most (FLOP/B)");
}

static void draw_y_axis(const struct roofline_plot *p, const struct view *v, struct draw_list *d,
                        struct rect area)
{
    const int line = draw_line_height(d, TEXT_SMALL);
    int last = area.y + area.h + line;
    double y;

    for (y = p->frame.y0; y <= p->frame.y1 + 0.5; y++) {
        const int at = (int)y_of(p, y);

        if (y < p->frame.y1 - 0.5)
            draw_minor(p, v, d, y, false);
        draw_rect(d, (struct rect){p->plane.x, at, p->plane.w, 1},
                  theme_color(v->theme, COLOR_GRID));
        if (at - line / 2 + line > last || at - line / 2 < area.y + line)
            continue;
        draw_text_fit(d, (struct rect){area.x, at - line / 2, p->plane.x - area.x
                                       - draw_scaled(d, 4), line},
                      TEXT_SMALL, theme_color(v->theme, COLOR_DIM_TEXT),
                      power_text(y, "FLOP/s").text);
        last = at - line / 2;
    }
    draw_text_fit(d, (struct rect){area.x, area.y, area.w, line}, TEXT_SMALL,
                  theme_color(v->theme, COLOR_TEXT), "FLOP issued per second by a core (FLOP/s)");
}

/* ---- roofs ---- */

static double highest(const double *value, int count)
{
    double most = 0;

    for (int i = 0; i < count; i++)
        most = value[i] > most ? value[i] : most;
    return most;
}

/* beside a slanted line, from its lower end up, where nothing stands yet and no line goes */
static void label_slope(struct roofline_plot *p, const struct view *v, struct draw_list *d,
                        double x0, double x1, double slope, const char *text)
{
    const int w = draw_text_width(d, TEXT_SMALL, text), h = draw_line_height(d, TEXT_SMALL);
    const int away = draw_scaled(d, 7);
    int i;

    for (i = 0; i < 80; i++) {          /* twice on both sides; the second time lines may go */
        const double at = x0 + (x1 - x0) * (0.1 + 0.04 * (i / 2 % 20));
        const int x = (int)x_of(p, at), y = (int)y_of(p, at + slope);
        const struct rect r = i % 2 ? (struct rect){x + away, y + 2, w, h}
                                    : (struct rect){x - away - w, y - h - 2, w, h};

        if (is_free(p, r) && (i >= 40 || !meets_slope(p, r)) && !meets_mark(p, r)) {
            put_text(p, v, d, r, theme_color(v->theme, COLOR_TEXT), text);
            return;
        }
    }
}

/* memories of one rate share a line */
static void draw_memory(struct roofline_plot *p, const struct roofline_roofs *roofs,
                        const struct view *v, struct draw_list *d, int memory)
{
    const double slope = log10(roofs->bytes[memory]);
    const double top = log10(highest(roofs->flops, ROOF_TYPE_COUNT));
    const double x0 = fmax(p->frame.x0, p->frame.y0 - slope), x1 = fmin(p->frame.x1, top - slope);
    char text[160];
    size_t used;

    for (int m = 0; m < memory; m++)
        if (roofs->bytes[m] == roofs->bytes[memory])
            return;
    if (x1 <= x0)
        return;
    draw_line(d, (int)x_of(p, x0), (int)y_of(p, x0 + slope), (int)x_of(p, x1),
              (int)y_of(p, x1 + slope), draw_scaled(d, memory == ROOF_HBM ? 3 : 1),
              theme_color(v->theme, COLOR_TEXT));
    used = (size_t)snprintf(text, sizeof(text), "%s",
                            roofline_roof_name((enum roofline_resource)memory));
    for (int m = memory + 1; m < ROOF_MEMORY_COUNT; m++)
        if (roofs->bytes[m] == roofs->bytes[memory])
            used += (size_t)snprintf(text + used, sizeof(text) - used, ", %s",
                                     memory == ROOF_VMEM_READ && m == ROOF_VMEM_WRITE ? "store"
                                     : roofline_roof_name((enum roofline_resource)m));
    snprintf(text + used, sizeof(text) - used, " %s",
             roofline_rate(roofs->bytes[memory], "B/s").text);
    label_slope(p, v, d, x0, x1, slope, text);
}

/* peaks that coincide share a line; it begins where the fastest memory reaches it */
static void draw_peak(struct roofline_plot *p, const struct roofline_roofs *roofs,
                      const struct view *v, struct draw_list *d, int type)
{
    const double y = log10(roofs->flops[type]);
    const double x0 = y - log10(highest(roofs->bytes, ROOF_MEMORY_COUNT));
    const int left = (int)x_of(p, fmax(p->frame.x0, x0)), h = draw_line_height(d, TEXT_SMALL);
    char text[200] = "";
    size_t used = 0;
    struct rect r;

    for (int t = 0; t < type; t++)
        if (roofs->flops[t] == roofs->flops[type])
            return;
    draw_line(d, left, (int)y_of(p, y), p->plane.x + p->plane.w, (int)y_of(p, y),
              draw_scaled(d, 3), theme_color(v->theme, COLOR_TEXT));
    for (int t = type; t < ROOF_TYPE_COUNT; t++)
        if (roofs->flops[t] == roofs->flops[type])
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
                                     roofline_type_name(t));
    used += (size_t)snprintf(text + used, sizeof(text) - used, " %s",
                             roofline_rate(roofs->flops[type], "FLOP/s").text);
    if (roofs->bytes[ROOF_HBM] > 0)
        snprintf(text + used, sizeof(text) - used, ", from %.4g FLOP/B of HBM on",
                 roofs->flops[type] / roofs->bytes[ROOF_HBM]);
    for (int t = 0; t < 2; t++) {           /* the long text, else the short one */
        r = (struct rect){p->plane.x + p->plane.w - draw_text_width(d, TEXT_SMALL, text)
                          - draw_scaled(d, 4), (int)y_of(p, y) - h - draw_scaled(d, 2),
                          draw_text_width(d, TEXT_SMALL, text), h};
        if (is_free(p, r)) {
            put_text(p, v, d, r, theme_color(v->theme, COLOR_TEXT), text);
            return;
        }
        text[used] = '\0';
    }
}

/* ---- points ---- */

/* of the row at y of -size..size - 1 */
static int half_width(enum roofline_resource memory, int size, int y)
{
    switch (memory) {
    case ROOF_VMEM_WRITE: return size - (y < 0 ? -y : y);
    case ROOF_ICI: return (y + size) / 2;
    default: return size;
    }
}

void roofline_draw_mark(struct draw_list *d, enum roofline_resource memory, int x, int y, int size,
                        rgba_t color)
{
    if (memory == ROOF_HBM) {
        draw_disc(d, x, y, size, color);
        return;
    }
    if (memory == ROOF_VMEM_READ)
        size = size * 7 / 8;            /* of the area of a disc */
    for (int row = -size; row < size; row++) {
        const int w = half_width(memory, size, row);
        int more = 1;

        while (memory == ROOF_VMEM_READ && row + more < size)
            more++;
        if (w > 0)
            draw_rect(d, (struct rect){x - w, y + row, 2 * w, more}, color);
        row += more - 1;
    }
}

static void add_mark(struct roofline_plot *p, const struct roofline_model *m,
                     const struct draw_list *d, size_t point)
{
    const struct roofline_point *at = roofline_point(m, point);
    const bool is_step = point >= m->op_count;

    if (at->rate <= 0 || p->mark_count == ROOF_MARK_MOST)
        return;
    p->mark[p->mark_count++] = (struct roof_mark){
        .x = (int)x_of(p, log10(at->intensity)), .y = (int)y_of(p, log10(at->rate)),
        .size = is_step ? draw_scaled(d, 8) : draw_scaled(d, 4 + (int)(15 * sqrt(at->share))),
        .point = point};
}

/* the largest first, so that small ones lie on top; a dark rim tells neighbours apart */
static void draw_marks(const struct roofline_plot *p, const struct roofline_model *m,
                       const struct view *v, struct draw_list *d, size_t chosen)
{
    for (int i = 0; i < p->mark_count; i++) {
        const struct roof_mark *k = &p->mark[i];
        const struct roofline_point *at = roofline_point(m, k->point);
        const int out = k->size + draw_scaled(d, 4);

        roofline_draw_mark(d, at->memory, k->x, k->y, k->size + draw_scaled(d, 1) + 1,
                           theme_color(v->theme, COLOR_BACKGROUND));
        roofline_draw_mark(d, at->memory, k->x, k->y, k->size, roofline_color(v->theme, at));
        if (k->point >= m->op_count || k->point == chosen)
            draw_frame(d, (struct rect){k->x - out, k->y - out, 2 * out, 2 * out},
                       theme_color(v->theme, k->point == chosen ? COLOR_ACCENT : COLOR_TEXT));
    }
}

/* at the right, the left, below, above, and at the four corners */
static bool name_mark(struct roofline_plot *p, const struct view *v, struct draw_list *d,
                      const struct roof_mark *k, const char *name)
{
    const int w = draw_text_width(d, TEXT_SMALL, name), h = draw_line_height(d, TEXT_SMALL);
    const int away = k->size + draw_scaled(d, 6);
    const struct rect place[] = {
        {k->x + away, k->y - h / 2, w, h}, {k->x - away - w, k->y - h / 2, w, h},
        {k->x - w / 2, k->y + away, w, h}, {k->x - w / 2, k->y - away - h, w, h},
        {k->x + away, k->y + away / 2, w, h}, {k->x + away, k->y - away / 2 - h, w, h},
        {k->x - away - w, k->y + away / 2, w, h}, {k->x - away - w, k->y - away / 2 - h, w, h},
    };
    size_t i;

    for (i = 0; i < 2 * COUNT_OF(place); i++) {         /* at last across a line */
        const struct rect r = place[i % COUNT_OF(place)];

        if (is_free(p, r) && !meets_mark(p, r) && (i >= COUNT_OF(place) || !meets_slope(p, r))) {
            put_text(p, v, d, r, theme_color(v->theme, COLOR_TEXT), name);
            return true;
        }
    }
    return false;
}

static void name_marks(struct roofline_plot *p, const struct roofline_model *m,
                       const struct view *v, struct draw_list *d)
{
    for (int i = 0; i < p->mark_count; i++)
        p->named_count += name_mark(p, v, d, &p->mark[i],
                                    roofline_point(m, p->mark[i].point)->name);
}

/* ---- all ---- */

static void find_plane(struct roofline_plot *plot, const struct roofline_model *m,
                       struct draw_list *d, struct rect area)
{
    const struct roofline all = {.roofs = m->roofs, .step = m->step, .op = m->op,
                                 .op_count = m->op_count};
    const int line = draw_line_height(d, TEXT_SMALL);

    roofline_frame_find(&all, 1, &plot->frame);
    plot->plane = area;
    rect_cut_top(&plot->plane, line + draw_scaled(d, 6));
    rect_cut_left(&plot->plane, draw_text_width(d, TEXT_SMALL, "100 TFLOP/s") + draw_scaled(d, 6));
    rect_cut_bottom(&plot->plane, 2 * line + draw_scaled(d, 4));
    rect_cut_right(&plot->plane, draw_scaled(d, 4));
}

void roofline_draw_plot(struct roofline_plot *plot, const struct roofline_model *m,
                        const struct view *v, struct draw_list *d, struct rect area,
                        size_t chosen)
{
    memset(plot, 0, sizeof(*plot));
    plot->roofs = m->roofs;
    find_plane(plot, m, d, area);
    if (plot->plane.w < draw_scaled(d, 60) || plot->plane.h < draw_scaled(d, 40))
        return;
    draw_rect(d, plot->plane, theme_color(v->theme, COLOR_PANEL));
    draw_x_axis(plot, v, d);
    draw_y_axis(plot, v, d, area);
    for (size_t i = 0; i < m->op_count; i++)
        add_mark(plot, m, d, i);
    if (m->has_step)
        add_mark(plot, m, d, SIZE_MAX);
    draw_clip(d, plot->plane);
    for (int k = ROOF_TYPE_COUNT - 1; k >= 0; k--)
        if (m->roofs.flops[k] > 0)
            draw_peak(plot, &m->roofs, v, d, k);
    for (int k = 0; k < ROOF_MEMORY_COUNT; k++)
        if (m->roofs.bytes[k] > 0)
            draw_memory(plot, &m->roofs, v, d, k);
    draw_marks(plot, m, v, d, chosen);
    name_marks(plot, m, v, d);
    draw_clip_end(d);
}
