/*
 * The array as a picture. All PEs of a diagonal do the same, so a row of the
 * array is drawn as runs of diagonals with one colour.
 */
#include "viz/panels/wavefront_draw.h"

#include <stdio.h>
#include <string.h>

#define EDGE_SHARE 0.55                 /* of the background in what waits */

static rgba_t mix(enum theme t, enum color_role a, enum color_role b, double share)
{
    return theme_mix(theme_color(t, a), theme_color(t, b), share);
}

static void choose_colors(struct wave_picture *p)
{
    const enum theme t = p->theme;

    p->color[WAVE_COLOR_EMPTY] = theme_color(t, COLOR_PANEL);
    p->color[WAVE_COLOR_HELD] = mix(t, COLOR_PANEL, COLOR_MXU_PUSH, 0.20);
    p->color[WAVE_COLOR_FIRST] = mix(t, COLOR_MXU, COLOR_TEXT, 0.6);
    p->color[WAVE_COLOR_ROW] = theme_color(t, COLOR_MXU);
    p->color[WAVE_COLOR_ROW_2] = mix(t, COLOR_MXU, COLOR_BACKGROUND, 0.30);
    p->color[WAVE_COLOR_NEXT] = mix(t, COLOR_MXU, COLOR_MXU_PUSH, 0.8);
    p->color[WAVE_COLOR_NEXT_2] = theme_mix(p->color[WAVE_COLOR_NEXT],
                                            theme_color(t, COLOR_BACKGROUND), 0.30);
    p->color[WAVE_COLOR_EDGE] = mix(t, COLOR_MXU, COLOR_BACKGROUND, EDGE_SHARE);
    p->color[WAVE_COLOR_STAGED] = theme_color(t, COLOR_MXU_PUSH);
    p->color[WAVE_COLOR_STAGED_2] = mix(t, COLOR_MXU_PUSH, COLOR_BACKGROUND, 0.30);
    p->color[WAVE_COLOR_NEWEST] = mix(t, COLOR_MXU_PUSH, COLOR_TEXT, 0.6);
    p->color[WAVE_COLOR_READY] = theme_stall_color(t, STALL_RESULT);
    p->color[WAVE_COLOR_UNDER_WAY] = mix(t, COLOR_PANEL, COLOR_MXU, 0.35);
}

/* operations in turn have two shades, so that one is told from the next; so have weights */
enum wave_color wave_row_color(const struct wave_op *o)
{
    if (o->weights > 0 && o->weights % 2 == 0)
        return o->number % 2 ? WAVE_COLOR_NEXT_2 : WAVE_COLOR_NEXT;
    return o->number % 2 ? WAVE_COLOR_ROW_2 : WAVE_COLOR_ROW;
}

static enum wave_color color_of(const struct wave_frame *f, const struct wave_diagonal *g)
{
    if (g->op)
        return g->row == 0 ? WAVE_COLOR_FIRST : wave_row_color(g->op);
    return f->gain[0] || f->gain[1] ? WAVE_COLOR_HELD : WAVE_COLOR_EMPTY;
}

void wave_picture_begin(struct wave_picture *p, const struct wavefront *w,
                        const struct wave_frame *f, enum theme t)
{
    memset(p, 0, sizeof(*p));
    p->wave = w;
    p->frame = f;
    p->theme = t;
    p->side = w->size;
    choose_colors(p);
    for (int i = 0; i < 2 * w->size - 1; i++)
        p->pe[i] = p->color[color_of(f, &f->diagonal[i])];
}

/* ---- the array ---- */

/* where the PE of this row or column begins in the box */
static int place(const struct wave_picture *p, int first, int index)
{
    return wave_pixel(p, index) - wave_pixel(p, first);
}

static void draw_row(const struct wave_picture *p, struct draw_list *d, struct rect box, int row,
                     int y, int height)
{
    const int size = p->wave->size, gap = p->side / size >= 6 ? 1 : 0;
    int column = p->first_column, next;

    for (; column < size && place(p, p->first_column, column) < box.w; column = next) {
        const rgba_t color = p->pe[row + column];
        const int x = place(p, p->first_column, column);

        for (next = column + 1; gap == 0 && next < size && p->pe[row + next] == color; next++)
            ;
        draw_rect(d, (struct rect){box.x + x, y, place(p, p->first_column, next) - x - gap,
                                   height - gap}, color);
    }
}

/* the number of the row that a PE multiplies, counted since its weights were loaded */
static void draw_number(const struct wave_picture *p, struct draw_list *d, struct rect cell,
                        int diagonal)
{
    const struct wave_diagonal *g = &p->frame->diagonal[diagonal];
    char text[24];

    if (!g->op)
        return;
    snprintf(text, sizeof(text), "%lld", (long long)(g->op->rows_before + g->row));
    if (draw_text_width(d, TEXT_SMALL, text) + 2 <= cell.w)
        draw_text(d, cell.x + (cell.w - draw_text_width(d, TEXT_SMALL, text)) / 2,
                  cell.y + (cell.h - draw_line_height(d, TEXT_SMALL)) / 2, TEXT_SMALL,
                  theme_text_on(p->pe[diagonal]), text);
}

static void draw_numbers(const struct wave_picture *p, struct draw_list *d, struct rect box)
{
    const int size = p->wave->size, cell = p->side / size;

    if (cell < draw_line_height(d, TEXT_SMALL) + 2)
        return;
    for (int row = p->first_row; row < size && place(p, p->first_row, row + 1) <= box.h; row++)
        for (int column = p->first_column;
             column < size && place(p, p->first_column, column + 1) <= box.w; column++)
            draw_number(p, d, (struct rect){box.x + place(p, p->first_column, column),
                                            box.y + place(p, p->first_row, row), cell, cell},
                        row + column);
}

void wave_draw_array(const struct wave_picture *p, struct draw_list *d, struct rect box)
{
    int y, end;

    draw_clip(d, box);
    for (int row = p->first_row; row < p->wave->size; row++) {
        y = place(p, p->first_row, row);
        end = place(p, p->first_row, row + 1);
        if (y >= box.h)
            break;
        if (end > y)
            draw_row(p, d, box, row, box.y + y, end - y);
    }
    draw_numbers(p, d, box);
    draw_clip_end(d);
    draw_frame(d, (struct rect){box.x - 1, box.y - 1, box.w + 2, box.h + 2},
               theme_color(p->theme, p->frame->entering && p->frame->entering_row < 0
                           ? COLOR_ACCENT : COLOR_GRID));
}

/* ---- the edges ---- */

static rgba_t edge_color(const struct wave_picture *p, int diagonal)
{
    if (!p->frame->diagonal[diagonal].op)
        return p->color[WAVE_COLOR_EMPTY];
    return theme_mix(p->pe[diagonal], theme_color(p->theme, COLOR_BACKGROUND), EDGE_SHARE);
}

/* Row k waits for its turn in k places: row 0 enters at once. */
static void draw_entry(const struct wave_picture *p, struct draw_list *d, struct rect array, int k)
{
    const int y = wave_pixel(p, k), height = wave_pixel(p, k + 1) - y;
    int first = 0, last;

    for (; first < k; first = last + 1) {
        const rgba_t color = edge_color(p, first);
        int from, end;

        for (last = first; last + 1 < k && edge_color(p, last + 1) == color; last++)
            ;
        from = wave_pixel(p, k - first) / WAVE_EDGE_SHARE;
        end = wave_pixel(p, k - last - 1) / WAVE_EDGE_SHARE;
        if (from > end && height > 0)
            draw_rect(d, (struct rect){array.x - 2 - from, array.y + y, from - end, height},
                      color);
    }
}

/* The sum of column n waits below until those of the columns behind it are there. */
static void draw_exit(const struct wave_picture *p, struct draw_list *d, struct rect array, int n)
{
    const int size = p->wave->size, bottom = size - 1 + n;
    const int x = wave_pixel(p, n), width = wave_pixel(p, n + 1) - x;
    int first = bottom + 1, last;

    for (; first < 2 * size - 1; first = last + 1) {
        const rgba_t color = edge_color(p, first);
        int from, end;

        for (last = first; last + 2 < 2 * size && edge_color(p, last + 1) == color; last++)
            ;
        from = wave_pixel(p, first - bottom - 1) / WAVE_EDGE_SHARE;
        end = wave_pixel(p, last - bottom) / WAVE_EDGE_SHARE;
        if (end > from && width > 0)
            draw_rect(d, (struct rect){array.x + x, array.y + array.h + 2 + from, width,
                                       end - from}, color);
    }
}

void wave_draw_edges(const struct wave_picture *p, struct draw_list *d, struct rect array)
{
    for (int i = 0; i < p->wave->size; i++) {
        draw_entry(p, d, array, i);
        draw_exit(p, d, array, i);
    }
}
