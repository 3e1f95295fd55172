/*
 * The timeline from afar: a column per pixel, as high as the share of its cycles.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/view/view.h"
#include "viz/view/quantity.h"
#include "viz/timeline/timeline.h"

void timeline_draw_shares(struct draw_list *d, struct rect r, const float *share, int stride,
                          rgba_t color)
{
    int from = 0, h = 0;

    for (int i = 0; i <= r.w; i++) {
        float s = i < r.w ? share[(size_t)i * (size_t)stride] : -1;
        int now = s <= 0 ? 0 : s >= 1 ? r.h : (int)lrintf(s * (float)r.h);

        now = now == 0 && s > 0 ? 1 : now;      /* what happened is seen */
        if (i < r.w && now == h)
            continue;
        if (h > 0)
            draw_rect(d, (struct rect){r.x + from, r.y + r.h - h, i - from, h}, color);
        from = i;
        h = now;
    }
}

struct stack {                          /* how high each pixel is filled so far */
    float base[8192];
};

static void add_layer(struct draw_list *d, struct rect r, struct stack *s, const float *share,
                      int stride, rgba_t color)
{
    int from = 0, low = 0, high = 0;

    for (int i = 0; i <= r.w; i++) {
        int a = 0, b = 0;

        if (i < r.w) {
            float top = s->base[i] + share[(size_t)i * (size_t)stride];

            a = (int)lrintf(s->base[i] * (float)r.h);
            b = (int)lrintf((top > 1 ? 1 : top) * (float)r.h);
            s->base[i] = top > 1 ? 1 : top;
        }
        if (i < r.w && a == low && b == high)
            continue;
        if (high > low)
            draw_rect(d, (struct rect){r.x + from, r.y + r.h - high, i - from, high - low}, color);
        from = i;
        low = a;
        high = b;
    }
}

/* reasons of a group side by side, so that a stack reads as groups */
static const enum stall_reason *stack_order(void)
{
    static enum stall_reason order[STALL_COUNT];
    static const enum view_group groups[] = {GROUP_MXU, GROUP_VECTOR, GROUP_HBM, GROUP_ICI,
                                             GROUP_OTHER};
    int count = 0;

    for (size_t g = 0; g < COUNT_OF(groups); g++)
        for (int i = 0; i < STALL_COUNT; i++)
            if (view_stall_group((enum stall_reason)i) == groups[g] && count < STALL_COUNT)
                order[count++] = (enum stall_reason)i;
    return order;
}

void timeline_draw_stack(struct draw_list *d, const struct view *v, struct rect r,
                         const float *mean, int stride, bool has_issue)
{
    const enum stall_reason *order = stack_order();
    struct stack s;

    if (r.w > (int)COUNT_OF(s.base))
        r.w = (int)COUNT_OF(s.base);
    memset(s.base, 0, sizeof(s.base[0]) * (size_t)(r.w > 0 ? r.w : 0));
    if (has_issue)
        add_layer(d, r, &s, mean + NTRACE_CELL_ISSUE, stride,
                  theme_color(v->theme, COLOR_ISSUE));
    for (int i = 0; i < STALL_COUNT; i++)
        if (!(v->hidden_stalls >> order[i] & 1))
            add_layer(d, r, &s, mean + NTRACE_CELL_STALL + order[i], stride,
                      theme_stall_color(v->theme, order[i]));
    add_layer(d, r, &s, mean + NTRACE_CELL_IDLE, stride, theme_color(v->theme, COLOR_IDLE));
}

/* bytes per cycle that the chip's HBM could carry */
static double peak_bytes_per_cycle(const struct ntrace_info *i)
{
    return chip_hbm_peak_bytes_per_second(i->chip) * chip_cycle_seconds(i->chip);
}

static void draw_bandwidth(const struct timeline *t, const struct view *v, struct draw_list *d,
                           struct rect r, bool has_label)
{
    const struct ntrace_info *i = ntrace_info(t->run);
    int members = columns_member_count(t->columns, NTRACE_HBM), line;
    float scale = (float)(1 / peak_bytes_per_cycle(i)), *m = t->mean;
    struct rect graph = r;
    struct stack s;

    line = draw_line_height(d, TEXT_SMALL);
    if (has_label)
        rect_cut_top(&graph, line + draw_scaled(d, 1));
    if (graph.w > (int)COUNT_OF(s.base))
        graph.w = (int)COUNT_OF(s.base);
    memset(&s, 0, sizeof(s));
    for (int k = 0; k < graph.w; k++) {
        m[k * members + NTRACE_HBM_READ_BYTES] *= scale;
        m[k * members + NTRACE_HBM_WRITE_BYTES] *= scale;
    }
    add_layer(d, graph, &s, m + NTRACE_HBM_READ_BYTES, members,
              theme_color(v->theme, COLOR_HBM_READ));
    add_layer(d, graph, &s, m + NTRACE_HBM_WRITE_BYTES, members,
              theme_color(v->theme, COLOR_HBM_WRITE));
    if (!has_label)
        return;
    draw_rect(d, (struct rect){r.x, graph.y - 1, r.w, 1}, theme_color(v->theme, COLOR_WARNING));
    draw_textf(d, r.x + draw_scaled(d, 4), r.y, TEXT_SMALL, theme_color(v->theme, COLOR_DIM_TEXT),
               "peak %s: the line; read below, written above",
               quantity_rate(chip_hbm_peak_bytes_per_second(i->chip)).text);
}

void timeline_draw_columns(struct timeline *t, const struct view *v, struct draw_list *d,
                           const struct lane *l, struct rect r)
{
    int core_members = columns_member_count(t->columns, NTRACE_CORE);
    rgba_t color = timeline_lane_color(t, v, l);
    int members;

    switch (l->kind) {
    case LANE_CORE:
        timeline_draw_stack(d, v, r, t->mean, core_members, true);
        break;
    case LANE_BUNDLES:
        timeline_draw_shares(d, r, t->mean + NTRACE_CELL_ISSUE, core_members, color);
        break;
    case LANE_STALLS:
        timeline_draw_stack(d, v, r, t->mean, core_members, false);
        break;
    case LANE_UNIT:
        timeline_draw_shares(d, r, t->mean + NTRACE_CELL_UNIT + l->unit, core_members, color);
        break;
    case LANE_CHIP:
    case LANE_HBM:
        draw_bandwidth(t, v, d, r, l->kind == LANE_HBM);
        break;
    case LANE_LINK:
        members = columns_member_count(t->columns, NTRACE_LINK);
        for (int k = 0; k < r.w; k++)
            t->mean[k * members + NTRACE_LINK_BUSY_PS] *=
                (float)(1e-12 / chip_cycle_seconds(ntrace_info(t->run)->chip));
        timeline_draw_shares(d, r, t->mean + NTRACE_LINK_BUSY_PS, members, color);
        break;
    default:
        break;
    }
}

void timeline_draw_minimap(struct timeline *t, const struct view *v, struct draw_list *d,
                           struct rect r)
{
    struct axis a = axis_of_run(v, r);
    struct rect window = axis_rect(&a, v->from, v->end, r.y, r.h), mark;
    int members = columns_member_count(t->columns, NTRACE_CORE);
    rgba_t shade = (theme_color(v->theme, COLOR_BACKGROUND) & ~0xffu) | 0xa0;

    t->mean = mem_grow(t->mean, &t->mean_capacity, (size_t)(r.w * members), sizeof(*t->mean));
    columns_fill(t->columns, NTRACE_CORE, v->core, 0, a.cycles_per_pixel, r.w, t->mean);
    timeline_draw_stack(d, v, rect_inset(r, 1), t->mean + members, members, true);
    if (window.w < r.w) {               /* what is not shown below is shaded */
        draw_rect(d, (struct rect){r.x, r.y, window.x - r.x, r.h}, shade);
        draw_rect(d, (struct rect){window.x + window.w, r.y,
                                   r.x + r.w - window.x - window.w, r.h}, shade);
    }
    draw_frame(d, window.w < 3 ? (struct rect){window.x - 1, r.y, 3, r.h} : window,
               theme_color(v->theme, COLOR_ACCENT));
    for (int i = 0; i < VIEW_BOOKMARKS; i++)
        if (v->bookmark[i] >= 0) {
            mark = axis_rect(&a, v->bookmark[i], v->bookmark[i], r.y, r.h);
            draw_rect(d, (struct rect){mark.x, r.y, 2, r.h}, theme_color(v->theme, COLOR_WARNING));
        }
}
