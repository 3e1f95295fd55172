/*
 * What the timeline has beside units: launches, source operations, copies, and
 * intervals of time that were added instead of simulated.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "viz/view/quantity.h"
#include "viz/timeline/timeline.h"

#define OPS_MAX 1500                    /* operations, copies, records looked at for one frame */
#define DMA_ROWS 4
#define COLUMN_PIXELS 8                 /* of operations from afar, at most */

/* a launch that is narrower than a pixel shares it with its neighbours */
void timeline_draw_steps(const struct view *v, struct draw_list *d, struct rect r)
{
    const struct ntrace_info *i = ntrace_info(v->run);
    struct axis a = axis_of_view(v, r);
    size_t k = i->launch_count ? timeline_launch_at(i, v->from) : 0;
    char name[160];

    while (k < i->launch_count && (double)i->launch[k].start < v->end) {
        const struct ntrace_launch *l = &i->launch[k];
        double end = (double)(l->start + l->cycles);
        struct rect bar = axis_rect(&a, (double)l->start, end, r.y + 2, r.h - 4);
        rgba_t color = theme_mix(theme_color(v->theme, COLOR_PANEL),
                                 theme_color(v->theme, COLOR_ACCENT), k % 2 ? 0.45 : 0.3);

        snprintf(name, sizeof(name), "%.80s · %s%s", *l->name ? l->name : "launch",
                 quantity_cycles((double)l->cycles).text, l->is_faulted ? " · fault" : "");
        if (bar.w)
            timeline_draw_bar(d, bar, l->is_faulted ? theme_color(v->theme, COLOR_WARNING) : color,
                              name);
        if (bar.w > 1) {
            k++;
            continue;
        }
        end = axis_cycle(&a, bar.x + 1);        /* on to the next pixel */
        k = timeline_launch_at(i, end) > k ? timeline_launch_at(i, end) : k + 1;
    }
}

struct walk {
    struct timeline *t;
    const struct view *v;
    struct draw_list *d;
    struct axis axis;
    struct rect r;
    const struct isa_program *program;
    int count, last_x, core, head_h;
    cycle_t seen_end;
    bool is_cut;
    cycle_t row_end[DMA_ROWS];
};

static bool draw_op(void *context, cycle_t start, cycle_t end, uint32_t note)
{
    struct walk *w = context;
    struct rect bar = axis_rect(&w->axis, (double)start, (double)end, w->r.y, w->r.h);
    const char *name = note && w->program && note <= w->program->note_count
                           ? w->program->note[note - 1] : "";

    w->is_cut = ++w->count > OPS_MAX;
    w->seen_end = end;
    if (!note || !bar.w || (bar.w == 1 && bar.x == w->last_x))
        return !w->is_cut;
    w->last_x = bar.x;
    timeline_draw_bar(w->d, bar, theme_op_color(w->v->theme, note), name);
    return !w->is_cut;
}

/* one line of text where single things are too many to be drawn */
static void say(const struct walk *w, const char *text)
{
    int line = draw_line_height(w->d, TEXT_SMALL), y = w->r.y + (w->r.h - line) / 2;
    struct rect box = {w->r.x + draw_scaled(w->d, 4), y, w->r.w - draw_scaled(w->d, 8), line};
    int width = draw_text_width(w->d, TEXT_SMALL, text) + draw_scaled(w->d, 8);

    draw_rect(w->d, (struct rect){w->r.x, y, width < w->r.w ? width : w->r.w, line},
              theme_color(w->v->theme, COLOR_PANEL));
    draw_text_fit(w->d, box, TEXT_SMALL, theme_color(w->v->theme, COLOR_DIM_TEXT), text);
}

/* too many to be drawn one by one: which had most cycles, in columns of a few pixels */
static void draw_note_columns(const struct walk *w, int core)
{
    double most = COLUMN_PIXELS * w->axis.cycles_per_pixel;
    int level = 0, i;
    int64_t k, end;

    while (level < 40 && ldexp(1, level + 1) <= most)
        level++;
    end = (int64_t)ldexp(w->v->end, -level);
    for (k = (int64_t)ldexp(w->v->from, -level); k <= end; k++) {
        const struct note_column *c = note_columns_tile(w->t->notes, core, level,
                                                        k / NOTE_TILE_COLUMNS);
        struct rect r = axis_rect(&w->axis, ldexp((double)k, level), ldexp((double)k + 1, level),
                                  w->r.y, w->r.h);
        float base = 0;

        for (i = 0; c && i < NOTE_COLUMN_TOP; i++) {
            const struct note_column *one = &c[k % NOTE_TILE_COLUMNS];
            int low = (int)lrintf(base * (float)w->r.h), high;

            base += one->share[i];
            high = (int)lrintf(fminf(base, 1) * (float)w->r.h);
            draw_rect(w->d, (struct rect){r.x, r.y + w->r.h - high, r.w, high - low},
                      theme_op_color(w->v->theme, one->note[i]));
        }
    }
}

/* too many were met in part of what is shown now: they need not be met again */
static bool is_known_dense(const struct timeline_dense *k, const struct view *v, int core)
{
    return k->is_known && k->core == core && v->from <= k->from && k->end <= v->end;
}

static void note_dense(struct timeline_dense *k, const struct walk *w, int core)
{
    if (w->is_cut && !is_known_dense(k, w->v, core))
        *k = (struct timeline_dense){true, core, w->v->from,
                                     (double)w->seen_end};
}

void timeline_draw_ops(struct timeline *t, const struct view *v, struct draw_list *d,
                       const struct lane *l, struct rect r)
{
    struct walk w = {.t = t, .v = v, .d = d, .r = r, .axis = axis_of_view(v, r), .last_x = -1,
                     .program = ntrace_program(t->run, l->index),
                     .is_cut = is_known_dense(&t->dense_ops, v, l->index)};
    size_t before = d->count;

    if (!w.is_cut) {
        ntrace_walk_ops(t->run, l->index, (cycle_t)v->from, (cycle_t)ceil(v->end), draw_op, &w);
        if (w.is_cut && v->is_hurried)
            tiles_set_budget(t->notes, 0, 0);   /* enough for this frame */
    }
    note_dense(&t->dense_ops, &w, l->index);
    if (!w.is_cut)
        return;
    d->count = before;
    draw_note_columns(&w, l->index);
}

/* for the arrows, while there are few enough to be told apart */
static void keep_copy(struct walk *w, const struct trace_dma *c, int y)
{
    struct timeline *t = w->t;

    if (t->copy_count < TIMELINE_COPIES)
        t->copy[t->copy_count] = (struct timeline_copy){c->issued_at, c->done_at, w->core, y,
                                                        c->target == w->core};
    t->copy_count++;
}

static bool draw_dma(void *context, const struct trace_dma *c)
{
    struct walk *w = context;
    int row = 0, h = w->r.h / DMA_ROWS;
    bool is_alone;                      /* more at a time than rows share the last one */
    struct rect bar;
    char name[96];

    w->seen_end = c->issued_at;
    if (++w->count > OPS_MAX) {
        w->is_cut = true;
        return false;
    }
    while (row < DMA_ROWS - 1 && c->issued_at < w->row_end[row])
        row++;
    is_alone = c->issued_at >= w->row_end[row];
    if (w->row_end[row] < c->done_at)
        w->row_end[row] = c->done_at;
    bar = axis_rect(&w->axis, (double)c->issued_at, (double)c->done_at, w->r.y + row * h, h - 1);
    if (!bar.w)
        return true;
    keep_copy(w, c, bar.y);
    snprintf(name, sizeof(name), "%s %s", text_bytes(c->bytes).text,
             c->code < OP_COUNT ? isa_info((enum isa_opcode)c->code)->mnemonic : "");
    draw_rect(w->d, bar, theme_mix(theme_color(w->v->theme, COLOR_PANEL),
                                   theme_color(w->v->theme, COLOR_DMA), 0.45));
    bar = axis_rect(&w->axis, (double)c->started_at, (double)c->done_at, bar.y, bar.h);
    if (bar.w)                          /* queued is pale, under way is full */
        timeline_draw_bar(w->d, bar, theme_color(w->v->theme, COLOR_DMA),
                          is_alone && bar.h >= draw_line_height(w->d, TEXT_SMALL)
                              ? name : NULL);
    return true;
}

void timeline_draw_dmas(struct timeline *t, const struct view *v, struct draw_list *d,
                        const struct lane *l, struct rect r)
{
    struct walk w = {.t = t, .v = v, .d = d, .r = r, .axis = axis_of_view(v, r),
                     .core = l->index, .is_cut = is_known_dense(&t->dense_dmas, v, l->index)};
    int members = columns_member_count(t->columns, NTRACE_CORE), i;
    size_t before = d->count;

    if (!w.is_cut)
        ntrace_walk_dmas(t->run, l->index, (cycle_t)v->from, (cycle_t)ceil(v->end), draw_dma, &w);
    note_dense(&t->dense_dmas, &w, l->index);
    if (!w.is_cut)
        return;
    d->count = before;                  /* too many: how many at a time */
    for (i = 0; i < r.w; i++)
        t->mean[i * members + NTRACE_CELL_DMA_IN_FLIGHT] /= DMA_ROWS;
    timeline_draw_shares(d, r, t->mean + NTRACE_CELL_DMA_IN_FLIGHT, members,
                         theme_color(v->theme, COLOR_DMA));
    say(&w, "copies at a time, full height is 4 or more");
}

static bool draw_repeat(void *context, const struct trace_record *r,
                        const struct trace_repeat *repeat)
{
    struct walk *w = context;
    rgba_t line = (theme_color(w->v->theme, COLOR_TEXT) & ~0xffu) | 0x38;
    struct rect area;
    char text[160];
    int x, step = draw_scaled(w->d, 9);

    (void)r;
    w->is_cut = ++w->count > OPS_MAX;
    if (!repeat)
        return !w->is_cut;
    area = axis_rect(&w->axis, (double)repeat->at,
                     (double)(repeat->at + repeat->period * repeat->count), w->r.y, w->r.h);
    if (area.w < 2)
        return !w->is_cut;
    draw_clip(w->d, area);
    for (x = area.x - area.x % step - area.h; x < area.x + area.w; x += step)
        draw_line(w->d, x, area.y + area.h, x + area.h, area.y, 1, line);
    snprintf(text, sizeof(text), " × %s the %s before: added, not simulated ",
             text_thousands(repeat->count).text, quantity_cycles((double)repeat->period).text);
    area.h = w->head_h - 2;             /* over the words beside the core's name */
    if (draw_text_width(w->d, TEXT_SMALL, text) <= area.w) {
        area.w = draw_text_width(w->d, TEXT_SMALL, text);
        draw_rect(w->d, (struct rect){area.x, area.y + 1, area.w, area.h},
                  theme_color(w->v->theme, COLOR_PANEL));
        draw_text(w->d, area.x, area.y + 1 + (area.h - draw_line_height(w->d, TEXT_SMALL)) / 2,
                  TEXT_SMALL, theme_color(w->v->theme, COLOR_TEXT), text);
    }
    draw_clip_end(w->d);
    return !w->is_cut;
}

void timeline_draw_repeats(struct timeline *t, const struct view *v, struct draw_list *d,
                           const struct lane *head, struct rect r)
{
    struct walk w = {.t = t, .v = v, .d = d, .r = r, .axis = axis_of_view(v, r),
                     .head_h = head->h};

    ntrace_walk_records(t->run, head->index, (cycle_t)v->from, (cycle_t)ceil(v->end), draw_repeat,
                        &w);
}
