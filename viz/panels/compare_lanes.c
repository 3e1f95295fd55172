/*
 * The lanes of the two runs: both begin at the left border, at one scale of time.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "viz/panels/compare_draw.h"
#include "viz/draw/layout.h"
#include "viz/view/quantity.h"
#include "viz/timeline/timeline.h"

#define OP_PIXELS 4                     /* width of a column of source operations, at least */
#define LINKS_MOST 8                    /* of a chip */

/* ---- the ruler ---- */

static void mark_text(const struct compare_panel *p, double at, double step, char *buf,
                      size_t bytes)
{
    const int digits = (int)fmax(0, -floor(log10(step) + 1e-9));

    if (p->model.has_two_clocks)
        snprintf(buf, bytes, "%.*f µs", digits, at);
    else
        snprintf(buf, bytes, "%s", text_thousands(llround(at)).text);
}

void compare_draw_ruler(const struct compare_panel *p, const struct view *v, struct draw_list *d)
{
    const struct compare_places *at = &p->at;
    const double unit = p->model.has_two_clocks ? 1 : p->model.side[0].mhz;     /* per µs */
    const int one = draw_char_width(d, TEXT_SMALL);
    double mark[LAYOUT_AXIS_MARKS];
    const int most = at->ruler.w / (14 * one);
    const int count = layout_marks(at->from_us * unit, (at->from_us + at->span_us) * unit,
                                   most > 2 ? most : 2, mark);
    int last = at->ruler.x - 1;

    if (at->ruler.h > 0)
        draw_text_fit(d, (struct rect){at->lanes[0].names.x, at->ruler.y, at->lanes[0].names.w,
                                       at->ruler.h},
                      TEXT_SMALL, theme_color(v->theme, COLOR_DIM_TEXT),
                      p->model.has_two_clocks ? "time" : "cycles");
    for (int i = 0; i < count; i++) {
        const int x = at->ruler.x + (int)((mark[i] / unit - at->from_us) / at->span_us
                                          * at->ruler.w);
        char text[40];

        mark_text(p, mark[i], count > 1 ? mark[1] - mark[0] : 1, text, sizeof(text));
        for (int side = 0; side < 2; side++)
            draw_rect(d, (struct rect){x, at->lanes[side].box.y, 1, at->lanes[side].box.h},
                      theme_color(v->theme, COLOR_GRID));
        if (at->ruler.h == 0 || x <= last
            || x + draw_text_width(d, TEXT_SMALL, text) > at->ruler.x + at->ruler.w)
            continue;
        last = x + draw_text(d, x, at->ruler.y, TEXT_SMALL, theme_color(v->theme, COLOR_DIM_TEXT),
                             text) + one;
    }
}

/* ---- shares of pixels ---- */

static float *fill(struct compare_panel *p, int side, enum ntrace_series series, int index,
                   int *members)
{
    const struct compare_lanes *l = &p->at.lanes[side];

    *members = columns_member_count(p->cache[side].columns, series);
    p->mean = mem_grow(p->mean, &p->mean_capacity, (size_t)(l->width * *members + 1),
                       sizeof(*p->mean));
    columns_fill(p->cache[side].columns, series, index, l->from, l->cycles_per_pixel, l->width,
                 p->mean);
    return p->mean;
}

static struct rect lane_rect(const struct compare_lanes *l, struct rect lane)
{
    return (struct rect){lane.x, lane.y, l->width, lane.h};
}

static void draw_cores(struct compare_panel *p, const struct view *v, struct draw_list *d,
                       int side)
{
    const struct compare_lanes *l = &p->at.lanes[side];
    int members;

    for (int i = 0; i < l->core_count; i++) {
        const float *mean = fill(p, side, NTRACE_CORE, i, &members);
        struct rect r = lane_rect(l, l->cores);

        r.y += i * l->core_height;
        r.h = l->core_height > 3 ? l->core_height - 1 : l->core_height;
        timeline_draw_stack(d, v, r, mean, members, true);
    }
}

static int chip_of(const struct ntrace_info *i, int core)
{
    return core / (int)i->chip->chip_cores;
}

static void draw_hbm(struct compare_panel *p, const struct view *v, struct draw_list *d, int side)
{
    const struct ntrace_info *info = ntrace_info(p->cache[side].run);
    const struct compare_lanes *l = &p->at.lanes[side];
    const double peak = chip_hbm_peak_bytes_per_second(info->chip)
                        * chip_cycle_seconds(info->chip);
    int members;
    float *mean = fill(p, side, NTRACE_HBM, chip_of(info, v->core), &members);

    for (int i = 0; i < l->width; i++) {
        float *m = mean + i * members;

        m[NTRACE_HBM_READ_BYTES] /= (float)peak;
        m[NTRACE_HBM_WRITE_BYTES] /= (float)peak;
        m[NTRACE_HBM_WRITE_BYTES] += m[NTRACE_HBM_READ_BYTES];
    }
    timeline_draw_shares(d, lane_rect(l, l->hbm), mean + NTRACE_HBM_WRITE_BYTES, members,
                         theme_color(v->theme, COLOR_HBM_WRITE));
    timeline_draw_shares(d, lane_rect(l, l->hbm), mean + NTRACE_HBM_READ_BYTES, members,
                         theme_color(v->theme, COLOR_HBM_READ));
}

/* the busiest of the links that leave the chip, pixel by pixel */
static void draw_links(struct compare_panel *p, const struct view *v, struct draw_list *d,
                       int side, struct arena *a)
{
    const struct ntrace_info *info = ntrace_info(p->cache[side].run);
    const struct compare_lanes *l = &p->at.lanes[side];
    float *most = arena_array(a, (size_t)l->width + 1, sizeof(*most));
    const double cycle_ps = 1e12 * chip_cycle_seconds(info->chip);
    int members, from, to, count = 0;

    for (int link = 0; link < info->link_count && count < LINKS_MOST; link++) {
        const float *mean;

        ntrace_link_ends(p->cache[side].run, link, &from, &to);
        if (from != chip_of(info, v->core))
            continue;
        count++;
        mean = fill(p, side, NTRACE_LINK, link, &members);
        for (int i = 0; i < l->width; i++)
            most[i] = fmaxf(most[i], mean[i * members + NTRACE_LINK_BUSY_PS] / (float)cycle_ps);
    }
    timeline_draw_shares(d, lane_rect(l, l->links), most, 1, theme_color(v->theme, COLOR_LINK));
}

/* ---- source operations ---- */

static int note_level(const struct compare_lanes *l)
{
    int level = 0;

    while (level < 40 && ldexp(1, level) < OP_PIXELS * l->cycles_per_pixel)
        level++;
    return level;
}

/* the operation with most cycles of a column; UINT32_MAX: not known yet */
static uint32_t note_at(struct compare_panel *p, int side, int core, int level, int64_t column)
{
    const struct note_column *tile =
        note_columns_tile(p->cache[side].notes, core, level, column / NOTE_TILE_COLUMNS);
    const struct note_column *c = tile ? &tile[column % NOTE_TILE_COLUMNS] : NULL;

    return !c || c->share[0] <= 0 ? UINT32_MAX : c->note[0];
}

static void draw_op(struct compare_panel *p, const struct view *v, struct draw_list *d, int side,
                    double from, double end, uint32_t note)
{
    const struct compare_lanes *l = &p->at.lanes[side];
    const struct isa_program *program = ntrace_program(p->cache[side].run, v->core);
    const double x0 = fmax(0, (from - l->from) / l->cycles_per_pixel);
    const double x1 = fmin(l->width, (end - l->from) / l->cycles_per_pixel);
    const struct rect r = {l->ops.x + (int)x0, l->ops.y, (int)x1 - (int)x0, l->ops.h};
    const struct compare_side *s = &p->model.side[side];

    if (r.w <= 0 || note == UINT32_MAX || note > s->note_count)
        return;
    timeline_draw_bar(d, r, theme_op_color(v->theme, s->color[note]),
                      note && program ? program->note[note - 1] : "");
}

static void draw_ops(struct compare_panel *p, const struct view *v, struct draw_list *d, int side)
{
    const struct compare_lanes *l = &p->at.lanes[side];
    const int level = note_level(l);
    const double width = ldexp(1, level), end = l->from + l->width * l->cycles_per_pixel;
    int64_t column = (int64_t)(l->from / width), first = column;
    uint32_t note = note_at(p, side, v->core, level, column);

    while ((double)column * width < end) {
        uint32_t next;

        column++;
        next = (double)column * width < end ? note_at(p, side, v->core, level, column)
                                            : UINT32_MAX;
        if (next == note)
            continue;
        draw_op(p, v, d, side, (double)first * width, (double)column * width, note);
        first = column;
        note = next;
    }
}

/* ---- a side ---- */

static void draw_name(const struct compare_lanes *l, const struct view *v, struct draw_list *d,
                      struct rect lane, const char *name)
{
    const int line = draw_line_height(d, TEXT_SMALL);

    if (lane.h >= line)
        draw_text_fit(d, (struct rect){l->names.x, lane.y, l->names.w - draw_scaled(d, 6), line},
                      TEXT_SMALL, theme_color(v->theme, COLOR_DIM_TEXT), name);
}

static void draw_names(const struct compare_panel *p, const struct view *v, struct draw_list *d,
                       int side)
{
    const struct compare_lanes *l = &p->at.lanes[side];
    const struct ntrace_info *info = ntrace_info(p->cache[side].run);
    const int line = draw_line_height(d, TEXT_SMALL);
    const int every = l->core_height > 0 ? (line + l->core_height - 1) / l->core_height : 1;
    char text[64];

    for (int i = 0; i < l->core_count && l->cores.h >= line; i += every) {
        const struct rect lane = {l->cores.x, l->cores.y + i * l->core_height, 0, line};

        snprintf(text, sizeof(text), i + every >= l->core_count && l->core_count < info->core_count
                 ? "core %d of %d" : "core %d", i, info->core_count);
        if (lane.y + line <= l->cores.y + l->cores.h)
            draw_name(l, v, d, lane, text);
    }
    snprintf(text, sizeof(text), "ops, core %d", v->core);
    draw_name(l, v, d, l->ops, text);
    snprintf(text, sizeof(text), "HBM, chip %d", chip_of(info, v->core));
    draw_name(l, v, d, l->hbm, text);
    snprintf(text, sizeof(text), "busiest link");
    draw_name(l, v, d, l->links, text);
}

static const char *run_title(const struct view *v, int side)
{
    const struct ntrace_info *i = ntrace_info(side ? v->other : v->run);

    return *i->title ? i->title : side ? v->other_path : v->path;
}

static void draw_header(const struct compare_panel *p, const struct view *v, struct draw_list *d,
                        int side)
{
    const struct compare_lanes *l = &p->at.lanes[side];
    const struct compare_side *s = &p->model.side[side];
    const struct ntrace_info *i = ntrace_info(s->run);
    const struct ntrace_launch *launch = &i->launch[s->launch];
    const char *path = side ? v->other_path : v->path;
    char text[600];
    struct rect r = l->header;

    if (r.h <= 0)
        return;
    layout_button(d, l->last.x, l->last.y, v->theme, false, "<");
    layout_button(d, l->next.x, l->next.y, v->theme, false, ">");
    rect_cut_left(&r, l->next.x + l->next.w - r.x + draw_char_width(d, TEXT_NORMAL));
    snprintf(text, sizeof(text), "%c: launch %zu of %zu%s%s, %s = %s · %s, %s at %lld MHz · %s",
             'A' + side, s->launch + 1, i->launch_count, *launch->name ? ", " : "", launch->name,
             quantity_cycles((double)s->cycles).text,
             quantity_seconds((double)s->cycles / s->mhz * 1e-6).text, run_title(v, side),
             i->slice->name, (long long)i->chip->chip_clock_mhz,
             path && *path ? path : "");
    r.y += draw_scaled(d, 2);
    r.h = draw_line_height(d, TEXT_NORMAL);
    draw_text_fit(d, r, TEXT_NORMAL,
                  theme_color(v->theme, launch->is_faulted ? COLOR_WARNING : COLOR_TEXT), text);
}

/* where the launch ends, if it does before the right border */
static void draw_end(const struct compare_lanes *l, const struct view *v, struct draw_list *d)
{
    const char *text = "ends here";
    const int line = draw_line_height(d, TEXT_SMALL), gap = draw_scaled(d, 4);

    if (l->width >= l->box.w)
        return;
    draw_rect(d, (struct rect){l->box.x + l->width, l->box.y, draw_scaled(d, 2), l->box.h},
              theme_color(v->theme, COLOR_ACCENT));
    if (l->box.h < line)
        return;
    draw_text_fit(d, (struct rect){l->box.x + l->width + gap, l->box.y + (l->box.h - line) / 2,
                                   l->box.w - l->width - gap, line},
                  TEXT_SMALL, theme_color(v->theme, COLOR_DIM_TEXT), text);
}

void compare_draw_lanes(struct compare_panel *p, const struct view *v, struct draw_list *d,
                        int side)
{
    const struct compare_lanes *l = &p->at.lanes[side];

    draw_header(p, v, d, side);
    draw_names(p, v, d, side);
    draw_clip(d, l->box);
    draw_cores(p, v, d, side);
    if (l->ops.h > 0)
        draw_ops(p, v, d, side);
    if (l->hbm.h > 0)
        draw_hbm(p, v, d, side);
    if (l->links.h > 0)
        draw_links(p, v, d, side, &d->arena);
    draw_end(l, v, d);
    draw_clip_end(d);
}

/* ---- the pointer ---- */

static const char *stall_lines(struct arena *a, const char *text, const float *m)
{
    for (int i = 0; i < STALL_COUNT; i++)
        if (m[NTRACE_CELL_STALL + i] >= 0.005f)
            text = arena_printf(a, "%s\n%-14s %3.0f %%", text, stall_name((enum stall_reason)i),
                                100.0 * (double)m[NTRACE_CELL_STALL + i]);
    return text;
}

const char *compare_lane_text(struct compare_panel *p, int side, int x, int y, struct arena *a)
{
    const struct compare_lanes *l = &p->at.lanes[side];
    const int pixel = x - l->box.x, row = l->core_height > 0 ? (y - l->cores.y) / l->core_height
                                                             : 0;
    const int core = rect_has(l->cores, x, y) && row < l->core_count ? row : p->model.core;
    const double at = l->from + pixel * l->cycles_per_pixel - (double)p->model.side[side].start;
    const struct isa_program *program = ntrace_program(p->cache[side].run, core);
    int members;
    const float *m;
    const char *text;
    uint32_t note;

    if (!rect_has(l->box, x, y) || pixel >= l->width)
        return "";
    note = note_at(p, side, core, note_level(l),
                   (int64_t)((at + (double)p->model.side[side].start)
                             / ldexp(1, note_level(l))));
    m = fill(p, side, NTRACE_CORE, core, &members) + pixel * members;
    text = arena_printf(a, "%c, core %d\n%s = %s after its beginning\nmost here: %s\n \n%-14s "
                        "%3.0f %%", 'A' + side, core, quantity_cycles(at).text,
                        quantity_seconds(at / p->model.side[side].mhz * 1e-6).text,
                        program && note > 0 && note <= program->note_count
                            ? program->note[note - 1] : "no source operation", "issue",
                        100.0 * (double)m[NTRACE_CELL_ISSUE]);
    return stall_lines(a, text, m);
}
