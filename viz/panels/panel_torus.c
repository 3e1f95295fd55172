/* The panel of the network: chips, links coloured by their use, and messages on their way. */
#include "viz/draw/layout.h"
#include "viz/models/model_torus.h"
#include "viz/panels/panel.h"
#include "viz/view/quantity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ARC_PIECES 16                   /* of a wraparound link */

struct torus_panel {
    struct torus_model model;
    struct view_shown shown;            /* that the model is of */
};

struct torus_places {
    struct rect words, legend, grid;
    double step_x, step_y;              /* pixels of a step of the grid */
    int chip;                           /* half the side of a chip's square */
    int left, top;                      /* of the middle of chip 0,0 */
};

static void init(void *state)
{
    struct torus_panel *p = state;

    torus_model_init(&p->model);
}

static void fini(void *state)
{
    struct torus_panel *p = state;

    torus_model_fini(&p->model);
}

static void prepare(struct torus_panel *p, const struct view *v)
{
    if (view_shown_changes(&p->shown, v, 0, 0))
        torus_model_load(&p->model, v->run, p->shown.from, p->shown.end);
}

/* ---- where things are ---- */

#define HEAT_STEPS 5
#define LEGEND_COUNT (HEAT_STEPS + 2)

static void legend(enum theme t, struct legend_entry entry[LEGEND_COUNT])
{
    static const char *const names[HEAT_STEPS] = {"link busy 0 %", "25 %", "50 %", "75 %",
                                                  "100 % of the cycles shown"};

    for (int i = 0; i < HEAT_STEPS; i++)
        entry[i] = (struct legend_entry){theme_heat(t, (double)i / (HEAT_STEPS - 1)), names[i]};
    entry[HEAT_STEPS] = (struct legend_entry){theme_color(t, COLOR_LINK),
                                              "message on a link at the cursor"};
    entry[HEAT_STEPS + 1] = (struct legend_entry){theme_color(t, COLOR_ACCENT),
                                                  "chip of the chosen core"};
}

static struct torus_places place(const struct torus_panel *p, const struct view *v,
                                 const struct draw_list *d, struct rect area)
{
    struct rect r = rect_inset(area, draw_scaled(d, 10));
    struct legend_entry entry[LEGEND_COUNT];
    struct torus_places at;
    double x, y, most, least;
    int margin;

    legend(v->theme, entry);
    at.words = layout_spare_top(&r, 3 * draw_line_height(d, TEXT_NORMAL));
    at.legend = layout_spare_bottom(&r, layout_legend_height(d, r.w, entry, LEGEND_COUNT));
    at.grid = r;
    torus_model_extent(&p->model, &x, &y);
    margin = (r.w < r.h ? r.w : r.h) / 6;       /* for chips and arcs at the borders */
    most = draw_scaled(d, 320);
    at.step_x = x > 0 ? fmin((r.w - 2 * margin) / x, most) : 0;
    at.step_y = y > 0 ? fmin((r.h - 2 * margin) / y, most) : 0;
    least = x > 0 && y > 0 ? fmin(at.step_x, at.step_y) : fmax(at.step_x, at.step_y);
    if (p->model.dim[2] > 1)
        least *= 0.8 / p->model.dim[2] * 1.6;
    at.chip = (int)fmax(2, fmin(least / 5, draw_scaled(d, 44)));
    at.left = r.x + r.w / 2 - (int)(x * at.step_x / 2);
    at.top = r.y + r.h / 2 - (int)(y * at.step_y / 2);
    return at;
}

static void middle_of(const struct torus_panel *p, const struct torus_places *at, int chip, int *x,
                      int *y)
{
    double gx, gy;

    torus_model_place(&p->model, chip, &gx, &gy);
    *x = at->left + (int)(gx * at->step_x);
    *y = at->top + (int)(gy * at->step_y);
}

/*
 * A point of a link: straight between neighbours, an arc around the chips of its
 * ring where it closes one. Links of two directions keep to the right of each other.
 */
static void point_of(const struct torus_panel *p, const struct torus_places *at,
                     const struct torus_link *l, double share, double *x, double *y)
{
    int x1, y1, x2, y2;
    double length, nx, ny, side, bow;

    middle_of(p, at, l->from, &x1, &y1);
    middle_of(p, at, l->to, &x2, &y2);
    length = hypot(x2 - x1, y2 - y1);
    length = length > 0 ? length : 1;
    nx = -(y2 - y1) / length;
    ny = (x2 - x1) / length;
    side = at->chip * 0.35;
    bow = l->is_wrap ? at->chip * 2.2 + side : 0;
    *x = x1 + (x2 - x1) * share + nx * (side + bow * 4 * share * (1 - share));
    *y = y1 + (y2 - y1) * share + ny * (side + bow * 4 * share * (1 - share));
}

/* ---- drawing ---- */

static void draw_link_line(const struct torus_panel *p, const struct view *v, struct draw_list *d,
                           const struct torus_places *at, const struct torus_link *l)
{
    const int pieces = l->is_wrap ? ARC_PIECES : 1;
    const int width = draw_scaled(d, l->share > 0 ? 3 + (int)(6 * l->share) : 1);
    double x, y, to_x, to_y;

    point_of(p, at, l, 0, &x, &y);
    for (int i = 1; i <= pieces; i++) {
        point_of(p, at, l, (double)i / pieces, &to_x, &to_y);
        draw_line(d, (int)x, (int)y, (int)to_x, (int)to_y, width,
                  l->share > 0 ? theme_heat(v->theme, l->share)
                               : theme_color(v->theme, COLOR_GRID));
        x = to_x;
        y = to_y;
    }
}

/* beside the link, where chips are far enough from each other */
static void draw_link_share(const struct torus_panel *p, const struct view *v,
                            struct draw_list *d, const struct torus_places *at,
                            const struct torus_link *l)
{
    const int line = draw_line_height(d, TEXT_SMALL);
    const struct short_text share = quantity_percent(l->share);
    double x, y, from_x, from_y;
    int w;

    point_of(p, at, l, 0, &from_x, &from_y);
    point_of(p, at, l, 0.5, &x, &y);
    if (l->share <= 0 || l->is_wrap || p->model.dim[2] > 1 ||
        2 * hypot(x - from_x, y - from_y) < draw_scaled(d, 160))
        return;
    w = draw_text_width(d, TEXT_SMALL, share.text);
    if (l->axis == 0) {                 /* outside of both directions */
        x -= w / 2.0;
        y += l->from < l->to ? line * 0.5 : -line * 1.5;
    } else {
        x += l->from < l->to ? -w - line * 0.5 : line * 0.5;
        y -= line / 2.0;
    }
    draw_text(d, (int)x, (int)y, TEXT_SMALL, theme_color(v->theme, COLOR_TEXT), share.text);
}

static void draw_chip(const struct torus_panel *p, const struct view *v, struct draw_list *d,
                      const struct torus_places *at, int chip)
{
    const int cores = (int)ntrace_info(v->run)->chip->chip_cores;
    const bool is_chosen = v->core / cores == chip;
    const int line = draw_line_height(d, TEXT_SMALL);
    struct rect r;
    char text[24];
    int x, y;

    middle_of(p, at, chip, &x, &y);
    r = (struct rect){x - at->chip, y - at->chip, 2 * at->chip, 2 * at->chip};
    draw_rect(d, r, theme_color(v->theme, is_chosen ? COLOR_ACCENT : COLOR_PANEL));
    draw_frame(d, r, theme_color(v->theme, COLOR_ACCENT));
    snprintf(text, sizeof(text), r.w > 9 * draw_char_width(d, TEXT_SMALL) ? "chip %d" : "%d", chip);
    if (draw_text_width(d, TEXT_SMALL, text) > r.w - 2 || line > r.h)
        return;
    draw_text(d, x - draw_text_width(d, TEXT_SMALL, text) / 2, y - line / 2, TEXT_SMALL,
              is_chosen ? theme_text_on(theme_color(v->theme, COLOR_ACCENT))
                        : theme_color(v->theme, COLOR_TEXT), text);
}

static int draw_messages(const struct torus_panel *p, const struct view *v, struct draw_list *d,
                         const struct torus_places *at)
{
    struct torus_message message[TORUS_MESSAGE_MOST];
    const int radius = at->chip / 4 > draw_scaled(d, 3) ? at->chip / 4 : draw_scaled(d, 3);
    int count = 0;

    if (v->cursor >= 0)
        count = torus_model_messages(&p->model, v->run, v->cursor, message);
    for (int i = 0; i < count; i++) {
        double x, y;

        point_of(p, at, &p->model.link[message[i].link], message[i].progress, &x, &y);
        draw_disc(d, (int)x, (int)y, radius, theme_color(v->theme, COLOR_LINK));
    }
    return count;
}

static void print_chip(const struct torus_model *m, int chip, char *buf, size_t bytes)
{
    int at[3];

    torus_model_coordinates(m, chip, at);
    if (m->dim[2] > 1)
        snprintf(buf, bytes, "%d (%d,%d,%d)", chip, at[0], at[1], at[2]);
    else
        snprintf(buf, bytes, "%d (%d,%d)", chip, at[0], at[1]);
}

static void draw_words(const struct torus_panel *p, const struct view *v, struct draw_list *d,
                       struct rect r, int messages)
{
    const struct torus_model *m = &p->model;
    char from[48], to[48];
    char busiest[400] = "Nothing was sent in the cycles shown.", now[120] = "", text[700];

    if (m->busiest >= 0) {
        const struct torus_link *l = &m->link[m->busiest];

        print_chip(m, l->from, from, sizeof(from));
        print_chip(m, l->to, to, sizeof(to));
        snprintf(busiest, sizeof(busiest), "Busiest in the cycles shown: from chip %s to %s, %s of "
                 "the time, %s of payload (%s with headers).", from, to,
                 quantity_percent(l->share).text, quantity_bytes((double)l->payload_bytes).text,
                 quantity_bytes((double)l->wire_bytes).text);
    }
    if (v->cursor >= 0 && ntrace_info(v->run)->level >= TRACE_BUNDLE)
        snprintf(now, sizeof(now), " At cycle %.0f: %d message%s under way.", floor(v->cursor),
                 messages, messages == 1 ? "" : "s");
    snprintf(text, sizeof(text), "%s: %d chips, %zu links, one each way between neighbours; arcs "
             "close rings. %s%s", ntrace_info(v->run)->slice->name, m->chip_count, m->count,
             busiest, now);
    layout_paragraph(d, r, TEXT_NORMAL, theme_color(v->theme, COLOR_TEXT), text);
}

static void draw(void *state, const struct view *v, struct draw_list *d, struct rect area)
{
    struct legend_entry entry[LEGEND_COUNT];
    struct torus_panel *p = state;
    struct torus_places at;
    int messages;

    if (ntrace_info(v->run)->link_count == 0) {
        layout_nothing(d, area, v->theme, "A single chip: there are no links to show.");
        return;
    }
    prepare(p, v);
    at = place(p, v, d, area);
    draw_clip(d, at.grid);
    for (size_t i = 0; i < p->model.count; i++)
        draw_link_line(p, v, d, &at, &p->model.link[i]);
    for (size_t i = 0; i < p->model.count; i++)
        draw_link_share(p, v, d, &at, &p->model.link[i]);
    for (int chip = p->model.chip_count - 1; chip >= 0; chip--)
        draw_chip(p, v, d, &at, chip);
    messages = draw_messages(p, v, d, &at);
    draw_clip_end(d);
    draw_words(p, v, d, at.words, messages);
    legend(v->theme, entry);
    layout_legend(d, at.legend, v->theme, entry, LEGEND_COUNT);
}

/* ---- input ---- */

static int chip_at(const struct torus_panel *p, const struct torus_places *at, int x, int y)
{
    int cx, cy;

    for (int chip = 0; chip < p->model.chip_count; chip++) {
        middle_of(p, at, chip, &cx, &cy);
        if (x >= cx - at->chip && x < cx + at->chip && y >= cy - at->chip && y < cy + at->chip)
            return chip;
    }
    return -1;
}

/* the nearest link within reach of a point, -1 none */
static int link_at(const struct torus_panel *p, const struct torus_places *at, int x, int y)
{
    double best = at->chip * 0.3 + 3;
    int found = -1;
    size_t i;

    for (i = 0; i < p->model.count; i++)
        for (int j = 0; j <= ARC_PIECES; j++) {
            double lx, ly;

            point_of(p, at, &p->model.link[i], (double)j / ARC_PIECES, &lx, &ly);
            if (hypot(lx - x, ly - y) < best) {
                best = hypot(lx - x, ly - y);
                found = (int)i;
            }
        }
    return found;
}

static bool input(void *state, struct view *v, const struct input *i, const struct draw_list *d,
                  struct rect area)
{
    struct torus_panel *p = state;
    struct torus_places at;
    int chip;

    if (i->kind != INPUT_PRESS || i->button != 1 || ntrace_info(v->run)->link_count == 0)
        return false;
    prepare(p, v);
    at = place(p, v, d, area);
    chip = chip_at(p, &at, i->x, i->y);
    if (chip >= 0)
        v->core = chip * (int)ntrace_info(v->run)->chip->chip_cores;
    return chip >= 0;
}

static const char *hover(void *state, const struct view *v, const struct draw_list *d,
                         struct rect area, int x, int y, struct arena *a)
{
    struct torus_panel *p = state;
    char from[48], to[48];
    const struct torus_link *l;
    struct torus_places at;
    int chip, link;

    if (ntrace_info(v->run)->link_count == 0)
        return "";
    prepare(p, v);
    at = place(p, v, d, area);
    chip = chip_at(p, &at, x, y);
    link = chip < 0 ? link_at(p, &at, x, y) : -1;
    if (chip >= 0) {
        print_chip(&p->model, chip, from, sizeof(from));
        return arena_printf(a, "chip %s", from);
    }
    if (link < 0)
        return "";
    l = &p->model.link[link];
    print_chip(&p->model, l->from, from, sizeof(from));
    print_chip(&p->model, l->to, to, sizeof(to));
    return arena_printf(a, "chip %s to %s%s\nbusy %s of the cycles shown\n%s of payload, %s", from,
                        to, l->is_wrap ? ", around" : "", quantity_percent(l->share).text,
                        quantity_bytes((double)l->payload_bytes).text,
                        quantity_rate((double)l->payload_bytes / p->model.seconds).text);
}

const struct panel_class panel_torus = {
    .state_bytes = sizeof(struct torus_panel), .init = init, .fini = fini, .draw = draw,
    .input = input, .hover = hover};
