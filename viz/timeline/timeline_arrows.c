/* Draws arrows that say which copy a wait was for. */
#include "viz/timeline/timeline.h"

#define RESUME_CYCLES 64                /* from the flag to the first bundle behind the wait */

struct wait {
    cycle_t done_at, end;
    bool has_end;
};

static bool is_wait_for_copy(enum stall_reason r)
{
    return r == STALL_HBM || r == STALL_ICI || r == STALL_CMEM;
}

/* the core waits when the copy ends, and goes on right after */
static bool look(void *context, const struct trace_record *r, const struct trace_repeat *repeat)
{
    struct wait *w = context;

    if (repeat || r->kind != TRACE_STALL || !is_wait_for_copy((enum stall_reason)r->reason)
        || r->at >= w->done_at || r->at + r->value < w->done_at
        || r->at + r->value > w->done_at + RESUME_CYCLES)
        return true;
    w->end = r->at + r->value;
    w->has_end = true;
    return false;
}

static void draw_head(struct draw_list *d, int x, int y, int size, rgba_t color)
{
    draw_line(d, x, y, x - size, y + size, 1, color);
    draw_line(d, x, y, x + size, y + size, 1, color);
}

static int lane_middle(const struct lane *first, size_t count, enum lane_kind kind, int scroll)
{
    for (size_t i = 0; i < count; i++)
        if (first[i].kind == kind)
            return first[i].y + first[i].h / 2 - scroll;
    return 0;
}

void timeline_draw_arrows(struct timeline *t, const struct view *v, struct draw_list *d,
                          const struct lane *first, size_t count, struct rect area)
{
    int bundles = area.y + lane_middle(first, count, LANE_BUNDLES, t->scroll);
    int stalls = area.y + lane_middle(first, count, LANE_STALLS, t->scroll);
    rgba_t line = (theme_color(v->theme, COLOR_DMA) & ~0xffu) | 0x90;
    struct axis a = axis_of_view(v, area);
    int size = draw_scaled(d, 4);

    for (int i = 0; i < t->copy_count && t->copy_count <= TIMELINE_COPIES; i++) {
        const struct timeline_copy *c = &t->copy[i];
        struct wait w = {.done_at = c->done_at};
        int x1 = (int)axis_x(&a, (double)c->issued_at), x2;

        if (c->core != first->index)
            continue;
        draw_line(d, x1, bundles, x1, c->y, 1, line);
        if (!c->is_own)
            continue;
        ntrace_walk_records(t->run, c->core, c->done_at - 1, c->done_at + 1, look, &w);
        if (!w.has_end)
            continue;
        x2 = (int)axis_x(&a, (double)w.end);
        draw_line(d, (int)axis_x(&a, (double)c->done_at), c->y, x2, stalls, 1, line);
        draw_head(d, x2, stalls, size, line);
    }
}
