/*
 * The timeline from near: a bar per event where it is wide enough to be seen by
 * itself, shares of pixels for the rest.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/timeline/timeline.h"

#define BAR_PIXELS 3                    /* narrower is a share of its pixels */

struct near {
    struct timeline *t;
    const struct view *v;
    struct draw_list *d;
    struct axis axis;
    struct rect area;
    const struct lane *by_track[MACHINE_UNIT_MAX + 3];      /* unit + 3; stall 2, bundle 1 */
    int members;
};

void timeline_draw_bar(struct draw_list *d, struct rect r, rgba_t color, const char *name)
{
    int line = draw_line_height(d, TEXT_SMALL);
    struct rect inside = {r.x + 2, r.y + (r.h - line) / 2, r.w - 4, line};

    draw_rect(d, r.w > 4 ? (struct rect){r.x, r.y, r.w - 1, r.h} : r, color);
    if (name && r.w >= 3 * draw_char_width(d, TEXT_SMALL))
        draw_text_fit(d, inside, TEXT_SMALL, theme_text_on(color), name);
}

static void name_of(const struct near *n, const struct lane *l, const struct trace_event *e,
                    char *buf, size_t bytes)
{
    const struct isa_program *p = ntrace_program(n->t->run, l->index);

    if (l->kind == LANE_STALLS)
        snprintf(buf, bytes, "%s", stall_name((enum stall_reason)e->stall));
    else if (l->kind == LANE_BUNDLES)
        snprintf(buf, bytes, "%u", e->bundle);
    else if (p && e->op && e->op <= p->op_count)
        isa_print_op_mnemonic(&p->op[e->op - 1], buf, bytes);
    else
        buf[0] = '\0';
}

static rgba_t color_of(const struct near *n, const struct lane *l, const struct trace_event *e)
{
    return l->kind == LANE_STALLS ? theme_stall_color(n->v->theme, (enum stall_reason)e->stall)
                                  : timeline_lane_color(n->t, n->v, l);
}

static int member_of(const struct trace_event *e)
{
    return e->track == TRACK_IS_BUNDLE ? NTRACE_CELL_ISSUE
           : e->track == TRACK_IS_STALL ? NTRACE_CELL_STALL + e->stall
                                        : NTRACE_CELL_UNIT + e->track;
}

static void cover(struct near *n, double x1, double x2, int member)
{
    x1 -= n->axis.x;
    x2 -= n->axis.x;
    for (int i = (int)floor(x1); i < x2; i++) {
        double share = fmin(x2, i + 1) - fmax(x1, i);

        if (i >= 0 && i < n->axis.width)
            n->t->cover[(size_t)i * (size_t)n->members + (size_t)member] += (float)share;
    }
}

static struct rect lane_rect(const struct near *n, const struct lane *l)
{
    return (struct rect){n->area.x, n->area.y + l->y - n->t->scroll + 2, n->area.w, l->h - 4};
}

static void draw_event(struct near *n, const struct trace_event *e)
{
    int slot = e->track + 3;
    const struct lane *l = slot >= 0 && slot < (int)COUNT_OF(n->by_track) ? n->by_track[slot]
                                                                          : NULL;
    double x1 = axis_x(&n->axis, (double)e->start), x2 = axis_x(&n->axis, (double)e->end);
    struct rect lane, r;
    char name[ISA_NAME_MAX];

    if (!l || (l->kind == LANE_STALLS && (n->v->hidden_stalls >> e->stall & 1)))
        return;
    if (x2 - x1 < BAR_PIXELS) {
        cover(n, x1, x2, member_of(e));
        return;
    }
    lane = lane_rect(n, l);
    r = axis_rect(&n->axis, (double)e->start, (double)e->end, lane.y, lane.h);
    if (!r.w)
        return;
    name[0] = '\0';
    if (r.w >= 3 * draw_char_width(n->d, TEXT_SMALL))
        name_of(n, l, e, name, sizeof(name));
    timeline_draw_bar(n->d, r, color_of(n, l, e), name);
    if (l->kind == LANE_BUNDLES && n->v->has_bundle && n->v->bundle == e->bundle)
        draw_frame(n->d, r, theme_color(n->v->theme, COLOR_WARNING));
}

static void draw_narrow(struct near *n, const struct lane *first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct lane *l = &first[i];
        struct rect r = lane_rect(n, l);
        rgba_t color = timeline_lane_color(n->t, n->v, l);

        if (l->kind == LANE_STALLS)
            timeline_draw_stack(n->d, n->v, r, n->t->cover, n->members, false);
        else if (l->kind == LANE_BUNDLES || l->kind == LANE_UNIT)
            timeline_draw_shares(n->d, r, n->t->cover + (l->kind == LANE_UNIT
                                                             ? NTRACE_CELL_UNIT + l->unit
                                                             : NTRACE_CELL_ISSUE),
                                 n->members, color);
    }
}

void timeline_draw_events(struct timeline *t, const struct view *v, struct draw_list *d,
                          const struct lane *first, size_t count, struct rect area)
{
    struct near n = {.t = t, .v = v, .d = d, .area = area, .axis = axis_of_view(v, area),
                     .members = columns_member_count(t->columns, NTRACE_CORE)};
    int64_t from = (int64_t)v->from / SPANS_TILE_CYCLES;
    size_t bytes = sizeof(*t->cover) * (size_t)(area.w * n.members), events;

    for (size_t i = 0; i < count; i++)
        if (first[i].kind == LANE_UNIT)
            n.by_track[first[i].unit + 3] = &first[i];
        else if (first[i].kind == LANE_BUNDLES || first[i].kind == LANE_STALLS)
            n.by_track[first[i].kind == LANE_BUNDLES ? 1 : 2] = &first[i];
    t->cover = mem_grow(t->cover, &t->cover_capacity, (size_t)(area.w * n.members),
                        sizeof(*t->cover));
    memset(t->cover, 0, bytes);
    for (int64_t tile = from; (double)(tile * SPANS_TILE_CYCLES) < v->end; tile++) {
        const struct trace_event *e = spans_tile(t->spans, first->index, tile, &events);

        for (size_t i = 0; i < events; i++)
            if (tile == from || e[i].start >= tile * SPANS_TILE_CYCLES)
                draw_event(&n, &e[i]);
    }
    draw_narrow(&n, first, count);
}
