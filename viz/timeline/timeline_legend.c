/*
 * The legend below the timeline: every colour that is no lane's own, and what
 * the height of a column means. An entry of a stall reason turns it off and on.
 */
#include <stdio.h>
#include <string.h>

#include "viz/view/quantity.h"
#include "viz/timeline/timeline.h"

#define ENTRIES (STALL_COUNT + 3)

struct entry {
    const char *name;
    rgba_t color;
    int reason;                         /* enum stall_reason; -1: cannot be turned off */
    struct rect r;
};

/* entries from left to right, row below row; returns the height */
static int place(const struct view *v, const struct draw_list *d, struct rect area,
                 struct entry e[ENTRIES])
{
    int one = draw_char_width(d, TEXT_SMALL), line = draw_line_height(d, TEXT_SMALL);
    int x = area.x + one, y = area.y + draw_scaled(d, 4) + line;

    e[0] = (struct entry){.name = "issue", .color = theme_color(v->theme, COLOR_ISSUE),
                          .reason = -1};
    for (int i = 0; i < STALL_COUNT; i++)
        e[i + 1] = (struct entry){.name = stall_name((enum stall_reason)i),
                                  .color = theme_stall_color(v->theme, (enum stall_reason)i),
                                  .reason = i};
    e[STALL_COUNT + 1] = (struct entry){.name = "idle", .reason = -1,
                                        .color = theme_color(v->theme, COLOR_IDLE)};
    e[STALL_COUNT + 2] = (struct entry){.name = "hatched: repeated, not simulated", .reason = -1,
                                        .color = theme_color(v->theme, COLOR_GRID)};
    for (int i = 0; i < ENTRIES; i++) {
        int w = ((int)strlen(e[i].name) + 4) * one;

        if (x + w > area.x + area.w && x > area.x + one) {
            x = area.x + one;
            y += line;
        }
        e[i].r = (struct rect){x, y, w, line};
        x += w;
    }
    return y + line + draw_scaled(d, 3) - area.y;
}

int timeline_legend_height(const struct view *v, const struct draw_list *d, int width)
{
    struct entry e[ENTRIES];

    return place(v, d, (struct rect){0, 0, width, 0}, e);
}

enum stall_reason timeline_legend_at(const struct view *v, const struct draw_list *d,
                                     struct rect area, int x, int y)
{
    struct entry e[ENTRIES];

    place(v, d, area, e);
    for (int i = 0; i < ENTRIES; i++)
        if (e[i].reason >= 0 && rect_has(e[i].r, x, y))
            return (enum stall_reason)e[i].reason;
    return STALL_COUNT;
}

static void draw_entry(const struct view *v, struct draw_list *d, const struct entry *e)
{
    int one = draw_char_width(d, TEXT_SMALL), gap = draw_scaled(d, 3);
    struct rect box = {e->r.x, e->r.y + gap / 2, 2 * one - gap, e->r.h - gap};
    bool is_off = e->reason >= 0 && (v->hidden_stalls >> e->reason & 1);

    if (is_off)
        draw_frame(d, box, e->color);
    else
        draw_rect(d, box, e->color);
    if (e->name[0] == 'h' && strchr(e->name, ':'))
        draw_line(d, box.x, box.y + box.h - 1, box.x + box.w - 1, box.y, 1,
                  theme_color(v->theme, COLOR_TEXT));
    draw_text_fit(d, (struct rect){e->r.x + 2 * one, e->r.y, e->r.w - 2 * one, e->r.h}, TEXT_SMALL,
                  theme_color(v->theme, is_off ? COLOR_DIM_TEXT : COLOR_TEXT), e->name);
}

/* "8.4 cycles" */
static struct short_text column_cycles(double cycles)
{
    struct short_text to;

    if (cycles >= 100)
        return quantity_cycles(cycles);
    snprintf(to.text, sizeof(to.text), "%.3g cycles", cycles);
    return to;
}

void timeline_draw_legend(const struct timeline *t, const struct view *v, struct draw_list *d,
                          struct rect area)
{
    struct entry e[ENTRIES];
    int one = draw_char_width(d, TEXT_SMALL), line = draw_line_height(d, TEXT_SMALL);
    double each = view_cycles_per_pixel(v, area.w - 24 * one);
    char text[256];

    (void)t;
    draw_rect(d, area, theme_color(v->theme, COLOR_PANEL));
    draw_clip(d, area);
    if (timeline_is_near(v, area.w - 24 * one))
        snprintf(text, sizeof(text), "One bar per event; where they are narrower than %d pixels, "
                 "height is the share of a column's cycles.  Click a stall to hide it.", 3);
    else
        snprintf(text, sizeof(text), "Height of a column: the share of its %s, the lane's full "
                 "height is all of them.  Click a stall to hide it.", column_cycles(each).text);
    draw_text_fit(d, (struct rect){area.x + one, area.y + draw_scaled(d, 3), area.w - 2 * one,
                                    line},
                  TEXT_SMALL, theme_color(v->theme, COLOR_DIM_TEXT), text);
    place(v, d, area, e);
    for (int i = 0; i < ENTRIES; i++)
        draw_entry(v, d, &e[i]);
    draw_clip_end(d);
}
