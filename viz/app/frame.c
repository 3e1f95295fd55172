/* Draws the title line of the window: the panel with what it shows, and the run with its size. */
#include "viz/app/frame.h"

#include "viz/view/quantity.h"

int frame_title_height(const struct draw_list *d)
{
    return draw_line_height(d, TEXT_TITLE) + draw_scaled(d, 8);
}

const char *frame_run_text(const struct view *v, struct arena *a)
{
    const struct ntrace_info *i = ntrace_info(v->run);

    return arena_printf(a, "%s · %s · %d core%s · %s = %s%s", *i->title ? i->title : v->path,
                        i->slice->name, i->core_count, i->core_count == 1 ? "" : "s",
                        quantity_cycles((double)i->cycles).text,
                        quantity_seconds((double)i->cycles * chip_cycle_seconds(i->chip)).text,
                        i->is_complete ? "" : " · not complete");
}

void frame_draw_title(const struct view *v, struct draw_list *d, struct rect r, enum panel_id id)
{
    int one = draw_char_width(d, TEXT_NORMAL), gap = draw_scaled(d, 8), width;
    int y = r.y + draw_scaled(d, 4);
    int small_y = y + draw_line_height(d, TEXT_TITLE) - draw_line_height(d, TEXT_NORMAL)
                  - draw_scaled(d, 1);
    const char *run = frame_run_text(v, &d->arena);
    int run_width = draw_text_width(d, TEXT_NORMAL, run);

    draw_clip(d, r);
    width = draw_text(d, r.x + gap, y, TEXT_TITLE, theme_color(v->theme, COLOR_TEXT),
                      panel_title(id)) + 2 * gap;
    if (run_width > r.w - width - gap)
        run_width = r.w - width - gap;
    draw_text_fit(d, (struct rect){r.x + r.w - run_width - gap, small_y, run_width,
                                   draw_line_height(d, TEXT_NORMAL)},
                  TEXT_NORMAL, theme_color(v->theme, COLOR_DIM_TEXT), run);
    draw_text_fit(d, (struct rect){r.x + width, small_y, r.w - width - run_width - gap - 2 * one,
                                   draw_line_height(d, TEXT_NORMAL)},
                  TEXT_NORMAL, theme_color(v->theme, COLOR_DIM_TEXT), panel_definition(id));
    draw_clip_end(d);
}
