/* Handles pointer and wheel in the timeline: pan, zoom, select, fold, hide. */
#include <math.h>

#include "viz/timeline/timeline.h"

static double cycle_at(const struct view *v, struct rect r, int x)
{
    struct axis a = axis_of_view(v, r);
    double c = axis_cycle(&a, x), all = (double)ntrace_info(v->run)->cycles;

    return c < 0 ? 0 : c > all ? all : c;
}

static void go_on_minimap(struct view *v, const struct timeline_places *p, int x)
{
    struct axis a = axis_of_run(v, p->minimap);
    double middle = axis_cycle(&a, x), half = (v->end - v->from) / 2;

    view_show(v, middle - half, middle + half);
}

static bool fold(struct timeline *t, const struct lane *l, struct view *v)
{
    int core_count = ntrace_info(t->run)->core_count;

    if (!l || (l->kind != LANE_CORE && l->kind != LANE_CHIP))
        return false;
    if (l->kind == LANE_CORE) {
        t->is_open[l->index] = !t->is_open[l->index];
        if (t->is_open[l->index]) {     /* the other panels show it, too */
            v->core = l->index;
            t->core_opened = l->index;
        }
    } else {
        t->is_open[core_count + l->index] = !t->is_open[core_count + l->index];
    }
    return true;
}

static bool press(struct timeline *t, struct view *v, const struct input *i,
                  const struct timeline_places *p, const struct draw_list *d)
{
    enum stall_reason r = timeline_legend_at(v, d, p->legend, i->x, i->y);
    bool selects = v->tool == VIEW_SELECT || v->tool == VIEW_MEASURE;

    if (rect_has(p->legend, i->x, i->y)) {
        if (r < STALL_COUNT)
            v->hidden_stalls ^= 1u << r;
        return r < STALL_COUNT;
    }
    if (rect_has(p->minimap, i->x, i->y)) {
        t->drag = DRAG_MINIMAP;
        go_on_minimap(v, p, i->x);
        return true;
    }
    if (rect_has(p->names, i->x, i->y))
        return fold(t, timeline_lane_at(t, p, i->y), v);
    if (i->x < p->lanes.x || i->x >= p->lanes.x + p->lanes.w)
        return false;
    t->drag_cycle = cycle_at(v, p->lanes, i->x);
    t->drag = i->button == 1 && (selects || v->tool == VIEW_ZOOM) ? DRAG_SELECT : DRAG_PAN;
    return false;
}

static bool move(struct timeline *t, struct view *v, const struct input *i,
                 const struct timeline_places *p, const struct draw_list *d)
{
    double at = cycle_at(v, p->lanes, i->x);

    switch (t->drag) {
    case DRAG_MINIMAP:
        go_on_minimap(v, p, i->x);
        return true;
    case DRAG_PAN:
        view_pan(v, -(double)i->dx / (p->lanes.w > 0 ? p->lanes.w : 1));
        t->scroll -= i->dy;
        timeline_lay_out(t, d);
        t->scroll = t->scroll < 0 ? 0 : t->scroll;
        return true;
    case DRAG_SELECT:
        v->has_selection = true;
        v->selection_from = fmin(floor(at), floor(t->drag_cycle));
        v->selection_end = fmax(ceil(at), ceil(t->drag_cycle));
        return true;
    default:
        return false;
    }
}

static bool release(struct timeline *t, struct view *v, const struct input *i,
                    const struct timeline_places *p)
{
    bool was_click = t->drag == DRAG_SELECT
                     && fabs(cycle_at(v, p->lanes, i->x) - t->drag_cycle)
                            < 3 * view_cycles_per_pixel(v, p->lanes.w);
    bool changed = t->drag == DRAG_SELECT;

    if (was_click) {                    /* a click takes the selection away */
        v->has_selection = false;
    } else if (t->drag == DRAG_SELECT && v->tool == VIEW_ZOOM) {
        view_show(v, v->selection_from, v->selection_end);
        v->has_selection = false;
    }
    t->drag = DRAG_NONE;
    return changed;
}

static bool hide(struct timeline *t, const struct input *i, const struct timeline_places *p)
{
    if (i->key != 'h' && i->key != 'H')
        return false;
    if (i->has_shift || i->has_ctrl)
        return i->has_shift && timeline_show_all(t);
    return i->x >= p->names.x && i->x < p->lanes.x + p->lanes.w
           && timeline_hide(t, timeline_lane_at(t, p, i->y));
}

static bool wheel(struct timeline *t, struct view *v, const struct input *i,
                  const struct timeline_places *p, const struct draw_list *d)
{
    if (i->has_shift || i->x < p->lanes.x) {
        t->scroll -= i->dy * draw_scaled(d, 60);
        t->scroll = t->scroll < 0 ? 0 : t->scroll;
    } else {
        view_zoom(v, pow(0.8, i->dy), cycle_at(v, p->lanes, i->x));
    }
    if (i->dx)
        view_pan(v, 0.05 * i->dx);
    return true;
}

bool timeline_input(void *state, struct view *v, const struct input *i, const struct draw_list *d,
                    struct rect area)
{
    struct timeline *t = state;
    struct timeline_places p;
    bool changed = false;

    timeline_bind(t, v);
    timeline_lay_out(t, d);
    p = timeline_places(v, d, area);
    if (i->kind == INPUT_PRESS)
        changed = press(t, v, i, &p, d);
    else if (i->kind == INPUT_DRAG)
        changed = move(t, v, i, &p, d);
    else if (i->kind == INPUT_RELEASE)
        changed = release(t, v, i, &p);
    else if (i->kind == INPUT_KEY)
        changed = hide(t, i, &p);
    else if (i->kind == INPUT_WHEEL)
        changed = wheel(t, v, i, &p, d);
    else if (i->kind == INPUT_MOVE && i->x >= p.lanes.x && rect_has(area, i->x, i->y)) {
        v->cursor = cycle_at(v, p.lanes, i->x);
        changed = true;
    }
    return changed;
}
