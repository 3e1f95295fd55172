/* Draws what the array does in numbers, and how to read its picture. */
#include "viz/panels/wavefront_draw.h"

#include "base/units.h"

#include <stdio.h>

struct number {
    const char *name;
    char value[64];
};

static int fill_numbers(const struct wave_picture *p, double busy_percent, struct number n[8])
{
    const struct wavefront *w = p->wave;
    const struct wave_frame *f = p->frame;
    const double pes = (double)w->size * w->size;
    int i = 0;

    n[i].name = "PEs multiplying";
    snprintf(n[i++].value, sizeof(n->value), "%.1f %%", 100.0 * f->active / pes);
    n[i].name = "rows a PE takes at once";
    snprintf(n[i++].value, sizeof(n->value), "%d", f->active ? (int)(f->products / f->active) : 1);
    n[i].name = "array took rows, this launch";
    snprintf(n[i++].value, sizeof(n->value), "%.1f %% of cycles", busy_percent);
    n[i].name = "rows with these weights";
    snprintf(n[i++].value, sizeof(n->value), "%lld",
             f->entering ? (long long)f->entering->rows_before + f->entering_row + 1
                         : (long long)0);
    n[i].name = "entry to first result";
    snprintf(n[i++].value, sizeof(n->value), "%d cycles", w->latency_cycles);
    n[i].name = "first PE to last PE";
    snprintf(n[i++].value, sizeof(n->value), "%d cycles", w->span_cycles);
    n[i].name = "results under way";
    snprintf(n[i++].value, sizeof(n->value), "%lld", (long long)f->under_way);
    n[i].name = w->accumulators ? "accumulators with a sum" : "results ready to pop";
    snprintf(n[i++].value, sizeof(n->value), "%lld of %d",
             w->accumulators ? (long long)f->sums : (long long)f->ready,
             w->accumulators ? w->accumulators : w->fifo_depth);
    return i;
}

/* how to read the picture, as far as there is room */
static void draw_story(const struct wave_picture *p, struct draw_list *d, struct rect r)
{
    static const char *const story[] = {
        "1  vmatpush: weights go down a staging register, the last rows of the matrix first.",
        "2  vlgmr: every PE takes its staged weight, all at once.",
        "3  vmatmul: rows enter from the left. Array row k waits k cycles, hence the slant.",
        "4  Each PE adds weight x value to the sum from above and hands both on.",
        "5  Sums leave at the bottom, wait for their neighbours, and go into the FIFO; vpop takes "
        "them.",
        "space plays, < and > slower and faster; . and , step a cycle; a click in the strip goes "
        "there; the wheel zooms into the array.",
    };
    const int line = draw_line_height(d, TEXT_SMALL);

    for (size_t i = 0; i < COUNT_OF(story); i++) {
        const int height = line * layout_paragraph_lines(d, r.w, TEXT_SMALL, story[i]);

        if (height > r.h)
            return;
        layout_paragraph(d, rect_cut_top(&r, height), TEXT_SMALL,
                         theme_color(p->theme, COLOR_DIM_TEXT), story[i]);
        rect_cut_top(&r, draw_scaled(d, 5));
    }
}

void wave_draw_numbers(const struct wave_picture *p, struct draw_list *d, struct rect r,
                       double busy_percent)
{
    const int line = draw_line_height(d, TEXT_SMALL), value_line = draw_line_height(d, TEXT_NORMAL);
    struct number n[8];
    int count = fill_numbers(p, busy_percent, n);

    for (int i = 0; i < count && r.h >= line + value_line; i++) {
        draw_text_fit(d, rect_cut_top(&r, line), TEXT_SMALL, theme_color(p->theme, COLOR_DIM_TEXT),
                      n[i].name);
        draw_text_fit(d, rect_cut_top(&r, value_line), TEXT_NORMAL,
                      theme_color(p->theme, COLOR_TEXT), n[i].value);
        rect_cut_top(&r, draw_scaled(d, 5));
    }
    rect_cut_top(&r, line);
    draw_story(p, d, r);
}
