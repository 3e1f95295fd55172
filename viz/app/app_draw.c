/* Draws the window around panels: tabs above, a line below, cards, search, palette, help. */
#include <stdio.h>
#include <string.h>

#include "viz/app/app_actions.h"
#include "viz/view/card.h"
#include "viz/app/frame.h"
#include "viz/view/quantity.h"

/* measures need a list for its scale only */
static struct draw_list ruler(const struct app *a)
{
    return (struct draw_list){.scale_percent = a->view->scale_percent};
}

static int tab_height(const struct app *a)
{
    struct draw_list d = ruler(a);

    return draw_line_height(&d, TEXT_NORMAL) + draw_scaled(&d, 10);
}

static int line_height(const struct app *a)
{
    struct draw_list d = ruler(a);

    return draw_line_height(&d, TEXT_SMALL) + draw_scaled(&d, 6);
}

/* the line below, and what is said by a run that is driven */
static int bottom_height(const struct app *a)
{
    return line_height(a) + app_live_height(a);
}

struct rect app_tab_area(const struct app *a, enum panel_id id)
{
    struct draw_list d = ruler(a);
    int one = draw_char_width(&d, TEXT_NORMAL), x = 0, wanted = 0, w = 0, share;

    if (a->is_tiled)
        return (struct rect){0, 0, 0, 0};
    for (int i = 0; i < PANEL_COUNT; i++)
        wanted += ((int)strlen(panel_title((enum panel_id)i)) + 2) * one;
    share = a->width / PANEL_COUNT;
    for (int i = 0; i <= (int)id; i++) {
        x += i ? w : 0;
        w = wanted <= a->width ? ((int)strlen(panel_title((enum panel_id)i)) + 2) * one : share;
    }
    return (struct rect){x, 0, w, tab_height(a)};
}

/* two columns, or three in a wide window; the last row may be shorter */
static struct rect tile_area(const struct app *a, enum panel_id id)
{
    int columns = PANEL_COUNT < 2 ? 1 : a->width > 1700 ? 3 : 2;
    int rows = (PANEL_COUNT + columns - 1) / columns, row = (int)id / columns;
    int in_row = row == rows - 1 ? PANEL_COUNT - row * columns : columns;
    int y1 = row * (a->height - bottom_height(a)) / rows;
    int y2 = (row + 1) * (a->height - bottom_height(a)) / rows;
    int x1 = ((int)id % columns) * a->width / in_row;
    int x2 = ((int)id % columns + 1) * a->width / in_row;

    return (struct rect){x1, y1, x2 - x1, y2 - y1};
}

static struct rect under_title(const struct app *a, struct rect r)
{
    struct draw_list d = ruler(a);

    rect_cut_top(&r, draw_line_height(&d, TEXT_SMALL) + draw_scaled(&d, 4));
    return rect_inset(r, 2);
}

struct rect app_panel_area(const struct app *a, enum panel_id id)
{
    struct rect r = {0, 0, a->width, a->height};

    if (a->is_tiled)
        return under_title(a, tile_area(a, id));
    if (id != a->panel)
        return (struct rect){0, 0, 0, 0};
    rect_cut_top(&r, tab_height(a));
    rect_cut_bottom(&r, bottom_height(a));
    return r;
}

static void draw_tab(const struct app *a, struct draw_list *d, enum panel_id id)
{
    struct rect r = app_tab_area(a, id);
    enum theme t = a->view->theme;
    int one = draw_char_width(d, TEXT_NORMAL);
    bool is_open = id == a->panel;

    if (is_open) {
        draw_rect(d, r, theme_color(t, COLOR_PANEL));
        draw_rect(d, rect_cut_top(&r, draw_scaled(d, 2)), theme_color(t, COLOR_ACCENT));
    }
    draw_text_fit(d, (struct rect){r.x + one, r.y + draw_scaled(d, is_open ? 3 : 5), r.w - one,
                                   draw_line_height(d, TEXT_NORMAL)},
                  TEXT_NORMAL, theme_color(t, is_open ? COLOR_TEXT : COLOR_DIM_TEXT),
                  panel_title(id));
}

static void draw_tabs(const struct app *a, struct draw_list *d)
{
    struct rect last = app_tab_area(a, PANEL_COUNT - 1);
    const char *run = frame_run_text(a->view, &d->arena);
    int from = last.x + last.w + draw_scaled(d, 16), room = a->width - from - draw_scaled(d, 8);
    int width = draw_text_width(d, TEXT_SMALL, run);

    for (int i = 0; i < PANEL_COUNT; i++)
        draw_tab(a, d, (enum panel_id)i);
    width = width > room ? room : width;
    draw_text_fit(d, (struct rect){a->width - width - draw_scaled(d, 8), draw_scaled(d, 7), width,
                                   draw_line_height(d, TEXT_SMALL)},
                  TEXT_SMALL, theme_color(a->view->theme, COLOR_DIM_TEXT), run);
}

static void draw_tile(struct app *a, struct draw_list *d, enum panel_id id)
{
    struct rect r = tile_area(a, id);
    struct rect title = {r.x + draw_scaled(d, 6), r.y + draw_scaled(d, 2),
                         r.w - draw_scaled(d, 12), draw_line_height(d, TEXT_SMALL)};

    draw_text_fit(d, title, TEXT_SMALL,
                  theme_color(a->view->theme, id == a->panel ? COLOR_ACCENT : COLOR_DIM_TEXT),
                  arena_printf(&d->arena, "%s: %s", panel_title(id), panel_definition(id)));
    panel_draw(id, a->state[id], a->view, d, under_title(a, r));
}

static void draw_panels(struct app *a, struct draw_list *d)
{
    if (!a->is_tiled) {
        draw_tabs(a, d);
        panel_draw(a->panel, a->state[a->panel], a->view, d, app_panel_area(a, a->panel));
        return;
    }
    for (int i = 0; i < PANEL_COUNT; i++)
        draw_tile(a, d, (enum panel_id)i);
}

/* what the line below says: search, a message, or where the pointer is */
static const char *line_text(const struct app *a, struct draw_list *d)
{
    static const char *const tools[VIEW_TOOL_COUNT] = {"select", "pan", "zoom", "measure"};
    const struct view *v = a->view;
    const struct chip *chip = ntrace_info(v->run)->chip;
    double length = v->selection_end - v->selection_from;

    if (a->mode == APP_SEARCH)
        return arena_printf(&d->arena, "/%s█   Enter searches, Esc does not", a->entry);
    if (a->mode == APP_COMMAND)
        return arena_printf(&d->arena, ":%s█   Enter sends, Esc does not", a->entry);
    if (*a->message)
        return a->message;
    if (v->has_selection)
        return arena_printf(&d->arena, "selected %s = %s from %s on  (f: zoom to it, Esc: drop it)",
                            quantity_cycles(length).text,
                            quantity_seconds(length * chip_cycle_seconds(chip)).text,
                            quantity_cycles(v->selection_from).text);
    if (v->cursor < 0)
        return arena_printf(&d->arena, "tool: %s", tools[v->tool]);
    return arena_printf(&d->arena, "tool: %s   cursor: %s = %s%s", tools[v->tool],
                        quantity_cycles(v->cursor).text,
                        quantity_seconds(v->cursor * chip_cycle_seconds(chip)).text,
                        v->is_playing ? "   playing" : "");
}

static void draw_line_below(const struct app *a, struct draw_list *d)
{
    static const char hint[] = "? keys   / search   Ctrl+p commands";
    int h = line_height(a), gap = draw_scaled(d, 8), line = draw_line_height(d, TEXT_SMALL);
    int width = draw_text_width(d, TEXT_SMALL, hint);
    struct rect r = {0, a->height - h, a->width, h};
    bool is_loud = a->mode == APP_SEARCH || a->mode == APP_COMMAND || *a->message;

    draw_rect(d, r, theme_color(a->view->theme, COLOR_BACKGROUND));
    if (width > a->width / 2)
        width = 0;
    else
        draw_text(d, a->width - width - gap, r.y + draw_scaled(d, 3), TEXT_SMALL,
                  theme_color(a->view->theme, COLOR_DIM_TEXT), hint);
    draw_text_fit(d, (struct rect){gap, r.y + draw_scaled(d, 3), a->width - width - 4 * gap, line},
                  TEXT_SMALL, theme_color(a->view->theme, is_loud ? COLOR_ACCENT : COLOR_TEXT),
                  line_text(a, d));
}

static void draw_card(struct app *a, struct draw_list *d)
{
    if (a->mode != APP_PLAIN || a->pressed || a->pointer_x < 0)
        return;
    for (int i = 0; i < PANEL_COUNT; i++) {
        struct rect r = app_panel_area(a, (enum panel_id)i);

        if (rect_has(r, a->pointer_x, a->pointer_y))
            card_draw(a->view, d, (struct rect){0, 0, a->width, a->height}, a->pointer_x,
                      a->pointer_y, panel_hover((enum panel_id)i, a->state[i], a->view, r,
                                                a->pointer_x, a->pointer_y, &d->arena));
    }
}

static struct rect draw_box(const struct app *a, struct draw_list *d, int chars, int lines,
                            int line)
{
    int one = draw_char_width(d, TEXT_SMALL), edge = draw_scaled(d, 12);
    struct rect r = {0, 0, chars * one + 2 * edge, lines * line + 2 * edge};

    r.w = r.w > a->width ? a->width : r.w;
    r.h = r.h > a->height ? a->height : r.h;
    r.x = (a->width - r.w) / 2;
    r.y = (a->height - r.h) / 2;
    draw_rect(d, (struct rect){0, 0, a->width, a->height},
              (theme_color(a->view->theme, COLOR_BACKGROUND) & ~0xffu) | 0xff);
    draw_rect(d, r, theme_color(a->view->theme, COLOR_PANEL));
    draw_frame(d, r, theme_color(a->view->theme, COLOR_ACCENT));
    return rect_inset(r, edge);
}

/* a part of a row, cut to it */
static struct rect column(struct rect row, int from, int width)
{
    return rect_meet(row, (struct rect){row.x + from, row.y, width, row.h});
}

static void draw_palette(const struct app *a, struct draw_list *d)
{
    enum action found[ACTION_COUNT];
    int count = app_palette(a, found), line = draw_line_height(d, TEXT_SMALL) + draw_scaled(d, 2);
    struct rect r = draw_box(a, d, 100, ACTION_COUNT + 2, line), row;
    enum theme t = a->view->theme;
    int one = draw_char_width(d, TEXT_SMALL);

    row = rect_cut_top(&r, 2 * line);
    draw_text_fit(d, row, TEXT_NORMAL, theme_color(t, COLOR_TEXT),
                  arena_printf(&d->arena, "> %s█", a->entry));
    for (int i = 0; i < count && r.h >= line; i++) {
        bool is_chosen = i == (a->choice < count ? a->choice : count - 1);

        row = rect_cut_top(&r, line);
        if (is_chosen)
            draw_rect(d, row, theme_color(t, COLOR_SELECTION));
        draw_text_fit(d, column(row, 0, 22 * one), TEXT_SMALL,
                      theme_color(t, COLOR_TEXT), action_name(found[i]));
        draw_text_fit(d, column(row, 22 * one, 12 * one), TEXT_SMALL,
                      theme_color(t, COLOR_ACCENT), action_keys(found[i]));
        draw_text_fit(d, column(row, 35 * one, row.w), TEXT_SMALL,
                      theme_color(t, COLOR_DIM_TEXT), action_help(found[i]));
    }
}

static void draw_help_row(const struct app *a, struct draw_list *d, struct rect row,
                          const char *left, const char *name, const char *text)
{
    int one = draw_char_width(d, TEXT_SMALL);
    enum theme t = a->view->theme;

    draw_text_fit(d, column(row, 0, 11 * one), TEXT_SMALL,
                  theme_color(t, COLOR_ACCENT), left);
    draw_text_fit(d, column(row, 12 * one, 20 * one), TEXT_SMALL,
                  theme_color(t, COLOR_TEXT), name);
    draw_text_fit(d, column(row, 33 * one, row.w), TEXT_SMALL,
                  theme_color(t, COLOR_DIM_TEXT), text);
}

/* keys, then panels; in two columns where they do not fit below each other */
static void draw_help(const struct app *a, struct draw_list *d)
{
    int line = draw_line_height(d, TEXT_SMALL), rows = ACTION_COUNT + PANEL_COUNT + 4;
    int columns = (rows + 4) * line > a->height ? 2 : 1, per_column, width;
    struct rect r = draw_box(a, d, columns == 2 ? a->width : 118,
                             (rows + columns - 1) / columns + 2, line);

    draw_text_fit(d, rect_cut_top(&r, 2 * line), TEXT_NORMAL,
                  theme_color(a->view->theme, COLOR_TEXT), "Keys and panels (any key closes this)");
    width = r.w / columns;
    per_column = r.h / line > 0 ? r.h / line : 1;
    for (int i = 0; i < rows && i < columns * per_column; i++) {
        struct rect row = {r.x + i / per_column * width, r.y + i % per_column * line,
                           width - draw_scaled(d, 12), line};

        if (i < ACTION_COUNT)
            draw_help_row(a, d, row, action_keys((enum action)i), action_name((enum action)i),
                          action_help((enum action)i));
        else if (i == ACTION_COUNT)
            draw_help_row(a, d, row, "Ctrl+digit", "Set a bookmark", "at the pointer");
        else if (i == ACTION_COUNT + 1)
            draw_help_row(a, d, row, "Shift+digit", "Go to a bookmark", "at this zoom");
        else if (i >= ACTION_COUNT + 3 && i < ACTION_COUNT + 3 + PANEL_COUNT)
            draw_help_row(a, d, row, "panel", panel_title((enum panel_id)(i - ACTION_COUNT - 3)),
                          panel_definition((enum panel_id)(i - ACTION_COUNT - 3)));
    }
}

void app_draw(struct app *a, struct draw_list *d)
{
    struct rect all = {0, 0, a->width, a->height};

    view_begin_frame(a->view);
    d->scale_percent = a->view->scale_percent;
    draw_clear(d);
    draw_rect(d, all, theme_color(a->view->theme, COLOR_BACKGROUND));
    draw_clip(d, all);
    if (a->mode == APP_HELP) {
        draw_help(a, d);
    } else if (a->mode == APP_PALETTE) {
        draw_palette(a, d);
    } else {
        draw_panels(a, d);
        app_live_draw(a, d, (struct rect){0, a->height - bottom_height(a), a->width,
                                          app_live_height(a)});
        draw_line_below(a, d);
        draw_card(a, d);
    }
    draw_clip_end(d);
}
