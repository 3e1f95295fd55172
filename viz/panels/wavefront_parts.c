/*
 * Draws what is around the array: staging registers, the FIFO of results, the strip of time, the
 * legend.
 */
#include "viz/panels/wavefront_draw.h"

#include <stdio.h>

/* ---- staging registers ---- */

static rgba_t staged_color(const struct wave_picture *p, const struct wave_register *r, int i)
{
    const struct wave_op *o = r->push[i];

    if (!o)
        return p->color[WAVE_COLOR_EMPTY];
    if (i >= r->fresh && o->mode < 2)
        return p->color[WAVE_COLOR_HELD];
    if (r->filling && o == r->filling)
        return p->color[WAVE_COLOR_NEWEST];
    return p->color[o->rows_before / o->rows % 2 ? WAVE_COLOR_STAGED_2 : WAVE_COLOR_STAGED];
}

void wave_draw_staging(const struct wave_picture *p, struct draw_list *d, struct rect box,
                       int staging)
{
    const struct wave_register *r = &p->frame->staging[staging];
    const int size = p->wave->size;
    int first = 0, last;

    for (; first < size; first = last + 1) {
        const rgba_t color = staged_color(p, r, first);
        const int extent = r->is_columns ? box.w : box.h;
        int from, end;

        for (last = first; last + 1 < size && staged_color(p, r, last + 1) == color; last++)
            ;
        from = first * extent / size;
        end = (last + 1) * extent / size;
        if (r->is_columns)
            draw_rect(d, (struct rect){box.x + from, box.y, end - from, box.h}, color);
        else
            draw_rect(d, (struct rect){box.x, box.y + from, box.w, end - from}, color);
    }
    draw_frame(d, (struct rect){box.x - 1, box.y - 1, box.w + 2, box.h + 2},
               theme_color(p->theme, r->filling ? COLOR_ACCENT : COLOR_GRID));
}

/* ---- results ---- */

/* Ready ones first, then those under way, the nearest to the exit first; then free places. */
void wave_draw_fifo(const struct wave_picture *p, struct draw_list *d, struct rect box)
{
    const int depth = p->wave->fifo_depth, gap = box.w / depth >= 4 ? 1 : 0;

    for (int i = 0; i < depth; i++) {
        const int x = box.x + i * box.w / depth, end = box.x + (i + 1) * box.w / depth;
        const enum wave_color c = i < p->frame->ready ? WAVE_COLOR_READY
                                  : i < p->frame->ready + p->frame->under_way
                                    ? WAVE_COLOR_UNDER_WAY : WAVE_COLOR_EMPTY;

        draw_rect(d, (struct rect){x, box.y, end - x - gap, box.h}, p->color[c]);
    }
    draw_frame(d, (struct rect){box.x - 1, box.y - 1, box.w + 2, box.h + 2},
               theme_color(p->theme, COLOR_GRID));
}

/* ---- the strip ---- */

enum { LANE_PORT, LANE_ROWS, LANE_SUMS, LANE_POPS, LANE_COUNT };
static const char *const lane_name[LANE_COUNT] = {
    "weights in", "rows in", "sums out", "pops",
};

static int lane_height(const struct draw_list *d)
{
    return draw_line_height(d, TEXT_SMALL) + draw_scaled(d, 2);
}

int wave_strip_height(const struct draw_list *d)
{
    return LANE_COUNT * lane_height(d) + draw_line_height(d, TEXT_SMALL) + draw_scaled(d, 8);
}

struct strip {
    const struct wave_picture *p;
    struct draw_list *d;
    struct rect box;                    /* of the lanes, without their names */
    cycle_t from, end;
};

static void draw_span(const struct strip *s, int lane, cycle_t start, cycle_t end, rgba_t color)
{
    const int height = lane_height(s->d);
    const int x = layout_time_x(s->box, (double)s->from, (double)s->end, (double)start);
    int width = layout_time_x(s->box, (double)s->from, (double)s->end, (double)end) - x;

    if (end <= s->from || start >= s->end)
        return;
    if (width > 3)
        width--;
    draw_rect(s->d, (struct rect){x, s->box.y + lane * height + 1, width > 0 ? width : 1,
                                  height - 2}, color);
}

static void draw_op(const struct strip *s, const struct wave_op *o)
{
    const struct wave_picture *p = s->p;
    const int tiles = wavefront_result_tiles(p->wave, o);

    switch (o->kind) {
    case WAVE_PUSH:
        draw_span(s, LANE_PORT, o->start, o->end,
                  p->color[o->rows_before / o->rows % 2 ? WAVE_COLOR_STAGED_2
                                                        : WAVE_COLOR_STAGED]);
        break;
    case WAVE_MULTIPLY:
        draw_span(s, LANE_ROWS, o->start, o->enters, theme_color(p->theme, COLOR_ACCENT));
        draw_span(s, LANE_ROWS, o->enters, o->end,
                  p->color[wave_row_color(o)]);
        for (int i = 0; i < tiles; i++) {
            const cycle_t ready = wavefront_result_ready(p->wave, o, i);

            draw_span(s, LANE_SUMS, ready, ready + 1, p->color[WAVE_COLOR_READY]);
        }
        break;
    default:
        draw_span(s, LANE_POPS, o->start, o->start + 1,
                  theme_color(p->theme, COLOR_TEXT));
        break;
    }
}

void wave_draw_strip(const struct wave_picture *p, struct draw_list *d, struct rect box,
                     cycle_t from, cycle_t end)
{
    const int height = lane_height(d), names = draw_text_width(d, TEXT_SMALL, "weights in ");
    const cycle_t reach = p->wave->latency_cycles + WAVE_OP_CYCLES_MAX;
    struct strip s = {.p = p, .d = d, .from = from, .end = end};
    struct rect lanes = box, axis;
    int x;

    axis = rect_cut_bottom(&lanes, draw_line_height(d, TEXT_SMALL) + draw_scaled(d, 4));
    for (int lane = 0; lane < LANE_COUNT; lane++)
        draw_text_fit(d, (struct rect){box.x, box.y + lane * height, names, height}, TEXT_SMALL,
                      theme_color(p->theme, COLOR_DIM_TEXT), lane_name[lane]);
    rect_cut_left(&lanes, names);
    rect_cut_left(&axis, names);
    lanes.h = LANE_COUNT * height;
    axis.y = lanes.y + lanes.h + draw_scaled(d, 2);
    s.box = lanes;
    draw_rect(d, lanes, theme_color(p->theme, COLOR_PANEL));
    layout_time_axis(d, axis, p->theme, (double)from, (double)end, lanes);
    draw_clip(d, lanes);
    for (size_t i = wavefront_after(p->wave, from - reach); i < p->wave->count &&
         p->wave->op[i].start < end; i++)
        draw_op(&s, &p->wave->op[i]);
    x = layout_time_x(lanes, (double)from, (double)end, (double)p->frame->at + 0.5);
    draw_rect(d, (struct rect){x, lanes.y, draw_scaled(d, 2), lanes.h},
              theme_color(p->theme, COLOR_CURSOR));
    draw_clip_end(d);
}

/* ---- the legend ---- */

#define LEGEND_COUNT 10

static size_t legend(const struct wave_picture *p, struct legend_entry entry[LEGEND_COUNT])
{
    const struct legend_entry all[LEGEND_COUNT] = {
        {p->color[WAVE_COLOR_FIRST], "PE multiplies: first row of a vmatmul"},
        {p->color[WAVE_COLOR_ROW], "its other rows"},
        {p->color[WAVE_COLOR_ROW_2], "those of every second vmatmul"},
        {p->color[WAVE_COLOR_NEXT], "with the weights of every second vlgmr"},
        {p->color[WAVE_COLOR_EDGE], "waits at the edge for its turn"},
        {p->color[WAVE_COLOR_HELD], "idle PE that holds weights; staged ones that were taken"},
        {p->color[WAVE_COLOR_STAGED], "staged weights, shades by vmatpush"},
        {p->color[WAVE_COLOR_NEWEST], "weights coming in now"},
        {p->color[WAVE_COLOR_READY], "result ready to pop"},
        {p->color[WAVE_COLOR_UNDER_WAY], "result under way"},
    };

    for (size_t i = 0; i < LEGEND_COUNT; i++)
        entry[i] = all[i];
    return LEGEND_COUNT;
}

int wave_legend(const struct wave_picture *p, struct draw_list *d, struct rect box)
{
    struct legend_entry entry[LEGEND_COUNT];
    size_t count = legend(p, entry);

    return layout_legend(d, box, p->theme, entry, count);
}

int wave_legend_height(const struct wave_picture *p, const struct draw_list *d, int width)
{
    struct legend_entry entry[LEGEND_COUNT];
    size_t count = legend(p, entry);

    return layout_legend_height(d, width, entry, count);
}
