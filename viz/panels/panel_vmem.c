/* The panel of a core's VMEM: which addresses copies and accesses touch over time. */
#include "viz/view/axis.h"
#include "viz/draw/layout.h"
#include "viz/models/model_vmem.h"
#include "viz/panels/panel.h"
#include "viz/view/quantity.h"
#include "viz/view/time_input.h"

#include "isa/isa.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COLUMN_PIXELS 3

#define LANES_MAX 64

struct vmem_panel {
    struct vmem_model model;
    struct view_shown shown;            /* that the model is of */
    struct vmem_lane lane[LANES_MAX];   /* of a kernel whose buffers are known; count 0: addresses */
    int lane_count;
};

struct vmem_places {
    struct rect words, ruler, left, map, curve, legend;
};

static void fini(void *state)
{
    struct vmem_panel *p = state;

    vmem_model_fini(&p->model);
}

static void prepare(struct vmem_panel *p, const struct view *v, int width)
{
    const int columns = width / COLUMN_PIXELS;

    p->lane_count = v->core == 0 ? vmem_lanes(ntrace_info(v->run)->listing, p->lane, LANES_MAX) : 0;
    if (view_shown_changes(&p->shown, v, v->core, columns))
        vmem_model_load(&p->model, v->run, v->core, p->shown.from, p->shown.end,
                        (size_t)(columns > 1 ? columns : 1));
}

/* ---- where things are ---- */

enum { KEY_LOADED = VMEM_WAY_COUNT, KEY_STORED, KEY_QUEUED, KEY_COUNT };

static void legend(enum theme t, struct legend_entry entry[KEY_COUNT])
{
    const struct legend_entry all[KEY_COUNT] = {
        [VMEM_FROM_HBM] = {theme_color(t, COLOR_HBM_READ), "copied in from HBM"},
        [VMEM_TO_HBM] = {theme_color(t, COLOR_HBM_WRITE), "copied out to HBM"},
        [VMEM_FROM_CORE] = {theme_color(t, COLOR_LINK), "comes from another core"},
        [VMEM_TO_CORE] = {theme_mix(theme_color(t, COLOR_LINK), theme_color(t, COLOR_TEXT), 0.4),
                          "goes to another core"},
        [VMEM_OTHER] = {theme_color(t, COLOR_DMA), "other copies"},
        [KEY_LOADED] = {theme_color(t, COLOR_LOAD), "loaded"},
        [KEY_STORED] = {theme_color(t, COLOR_STORE), "stored"},
        [KEY_QUEUED] = {theme_color(t, COLOR_GRID), "a copy is queued, and has not begun"},
    };

    memcpy(entry, all, sizeof(all));
}

#define ADDRESS_CHARS 11                /* 1023.5 KiB */
#define LANE_CHARS 26                   /* a buffer's name, or the beginning of it */

static struct vmem_places place(const struct vmem_panel *p, const struct view *v,
                                const struct draw_list *d, struct rect area)
{
    struct rect r = rect_inset(area, draw_scaled(d, 10));
    const int gap = draw_scaled(d, 8), small = draw_line_height(d, TEXT_SMALL);
    struct legend_entry entry[KEY_COUNT];
    struct vmem_places at;

    legend(v->theme, entry);
    at.words = layout_spare_top(&r, 2 * draw_line_height(d, TEXT_NORMAL));
    rect_cut_top(&r, gap);
    at.legend = layout_spare_bottom(&r, layout_legend_height(d, r.w, entry, KEY_COUNT));
    rect_cut_bottom(&r, gap);
    at.left = rect_cut_left(&r, (p->lane_count ? LANE_CHARS : ADDRESS_CHARS) *
                                    draw_char_width(d, TEXT_SMALL) + gap);
    at.ruler = layout_spare_top(&r, axis_ruler_height(d));
    at.curve = layout_spare_bottom(&r, 5 * small);
    rect_cut_bottom(&r, at.curve.h > 0 ? gap + small : 0);
    at.map = r;
    return at;
}

/* what the map shows, from 0: all that is touched, and a little more */
static double shown_bytes(const struct vmem_model *m)
{
    const double most = (double)m->highest_byte * 1.05;

    return most < 8 * VMEM_TILE_BYTES ? 8 * VMEM_TILE_BYTES
           : most > (double)m->vmem_bytes ? (double)m->vmem_bytes : most;
}

/* low addresses at the top, as in a listing; of buffers each has as much of the height */
static int address_y(const struct vmem_panel *p, struct rect map, double address)
{
    const double share = p->lane_count ? vmem_lane_share(p->lane, p->lane_count, address)
                                       : address / shown_bytes(&p->model);

    return map.y + (int)(share > 1 ? map.h : share * map.h);
}

static int64_t address_at(const struct vmem_panel *p, struct rect map, int y)
{
    const double share = (double)(y - map.y) / map.h;

    return p->lane_count ? vmem_lane_address(p->lane, p->lane_count, share)
                         : (int64_t)(share * shown_bytes(&p->model));
}

/* ---- drawing ---- */

/* names of buffers, where a lane has room for one */
static void draw_lanes(const struct vmem_panel *p, const struct view *v, struct draw_list *d,
                       const struct vmem_places *at)
{
    const int line = draw_line_height(d, TEXT_SMALL);
    int below = at->map.y;

    for (int i = 0; i < p->lane_count; i++) {
        const int y = at->map.y + at->map.h * i / p->lane_count;

        draw_line(d, at->map.x, y, at->map.x + at->map.w, y, 1, theme_color(v->theme, COLOR_GRID));
        if (y < below || y + line > at->map.y + at->map.h)
            continue;
        draw_text_fit(d, (struct rect){at->left.x, y, at->left.w, line}, TEXT_SMALL,
                      theme_color(v->theme, COLOR_TEXT), p->lane[i].name);
        below = y + line;
        if (below + line > at->map.y + at->map.h * (i + 1) / p->lane_count)
            continue;
        draw_text_fit(d, (struct rect){at->left.x, below, at->left.w, line}, TEXT_SMALL,
                      theme_color(v->theme, COLOR_DIM_TEXT),
                      quantity_bytes((double)(p->lane[i].end - p->lane[i].address)).text);
        below += line;
    }
}

static void draw_axis(const struct vmem_panel *p, const struct view *v, struct draw_list *d,
                      const struct vmem_places *at)
{
    const int line = draw_line_height(d, TEXT_SMALL), parts = at->map.h / (3 * line);
    int64_t step = VMEM_TILE_BYTES;

    if (p->lane_count) {
        draw_lanes(p, v, d, at);
        return;
    }
    if (parts < 1)
        return;
    while ((double)step * parts < shown_bytes(&p->model))
        step *= 2;
    for (int64_t address = 0; (double)address < shown_bytes(&p->model); address += step) {
        const int y = address_y(p, at->map, (double)address);

        draw_line(d, at->map.x, y, at->map.x + at->map.w, y, 1, theme_color(v->theme, COLOR_GRID));
        if (y + line <= at->map.y + at->map.h)
            draw_text_fit(d, (struct rect){at->left.x, y, at->left.w, line}, TEXT_SMALL,
                          theme_color(v->theme, COLOR_DIM_TEXT),
                          quantity_bytes((double)address).text);
    }
}

/* the source operation that issued it, where there is room for its name */
static void draw_copy_name(const struct view *v, struct draw_list *d, const struct vmem_copy *c,
                           struct rect box, rgba_t color)
{
    const struct isa_program *program = ntrace_program(v->run, c->core);
    const int line = draw_line_height(d, TEXT_SMALL);
    uint32_t note;

    if (!program || c->dma.bundle >= program->bundle_count || box.h < line ||
        box.w < 6 * draw_char_width(d, TEXT_SMALL))
        return;
    note = program->bundle[c->dma.bundle].note;
    if (note > 0 && note <= program->note_count)
        draw_text_fit(d, (struct rect){box.x + 2, box.y, box.w - 4, line}, TEXT_SMALL,
                      theme_text_on(color), program->note[note - 1]);
}

static struct rect copy_box(const struct vmem_panel *p, const struct view *v, struct rect map,
                            const struct vmem_copy *c, double from, double end)
{
    const struct axis a = axis_of_view(v, map);
    const int y = address_y(p, map, (double)c->address);
    const int bottom = address_y(p, map, (double)(c->address + c->bytes));

    return axis_rect(&a, from, end, y, bottom > y ? bottom - y : 1);
}

static void draw_copies(const struct vmem_panel *p, const struct view *v, struct draw_list *d,
                        struct rect map)
{
    struct legend_entry entry[KEY_COUNT];

    legend(v->theme, entry);
    for (size_t i = 0; i < p->model.copy_count; i++) {
        const struct vmem_copy *c = &p->model.copy[i];
        const struct rect waits = copy_box(p, v, map, c, (double)c->dma.issued_at,
                                           (double)c->dma.started_at);

        if (c->dma.started_at > c->dma.issued_at && waits.w > 1)
            draw_frame(d, waits, entry[KEY_QUEUED].color);
    }
    for (size_t i = 0; i < p->model.copy_count; i++) {
        const struct vmem_copy *c = &p->model.copy[i];
        const struct rect box = copy_box(p, v, map, c, (double)c->dma.started_at,
                                         (double)c->dma.done_at);

        if (box.w > 0)
            draw_rect(d, box, entry[c->way].color);
    }
}

/* names last, and only where they meet no other: of copies that overlap one is named */
static void draw_copy_names(const struct vmem_panel *p, const struct view *v, struct draw_list *d,
                            struct rect map)
{
    enum { NAMES = 64 };
    const int line = draw_line_height(d, TEXT_SMALL);
    struct legend_entry entry[KEY_COUNT];
    struct rect taken[NAMES];
    int count = 0, j;

    legend(v->theme, entry);
    for (size_t i = 0; i < p->model.copy_count && count < NAMES; i++) {
        const struct vmem_copy *c = &p->model.copy[i];
        struct rect box = copy_box(p, v, map, c, (double)c->dma.started_at,
                                   (double)c->dma.done_at), name = box;

        name.h = line;
        for (j = 0; j < count && !rect_is_seen(rect_meet(taken[j], name)); j++)
            ;
        if (j < count || box.h < line)
            continue;
        draw_copy_name(v, d, c, box, entry[c->way].color);
        taken[count++] = name;
    }
}

/* loaded above stored, where both happen in the time of a column */
static void draw_touched(const struct view *v, struct draw_list *d, struct rect box, uint8_t how)
{
    if (how == (VMEM_LOADED | VMEM_STORED)) {
        draw_rect(d, (struct rect){box.x, box.y, box.w, (box.h + 1) / 2},
                  theme_color(v->theme, COLOR_LOAD));
        box.y += (box.h + 1) / 2;
        box.h /= 2;
    }
    draw_rect(d, box, theme_color(v->theme, how & VMEM_STORED ? COLOR_STORE : COLOR_LOAD));
}

/* runs of tiles that are used alike in a column, one rectangle each */
static void draw_column(const struct vmem_panel *p, const struct view *v, struct draw_list *d,
                        struct rect map, size_t column)
{
    const struct vmem_model *m = &p->model;
    const struct axis a = axis_of_view(v, map);
    const double from = (double)(m->from + (cycle_t)column * m->width_cycles);
    const uint8_t *touched = &m->touched[column * m->tile_count], any = VMEM_LOADED | VMEM_STORED;
    const int thin = draw_scaled(d, 2);
    size_t next;

    for (size_t tile = 0; tile < m->tile_count; tile = next) {
        const uint8_t how = touched[tile] & any;
        int y, end;

        for (next = tile + 1; next < m->tile_count && (touched[next] & any) == how; next++)
            ;
        if (!how)
            continue;
        y = address_y(p, map, (double)tile * VMEM_TILE_BYTES);
        end = address_y(p, map, (double)next * VMEM_TILE_BYTES);
        draw_touched(v, d, axis_rect(&a, from, from + (double)m->width_cycles, y,
                                     end > y + thin ? end - y : thin), how);
    }
}

static void draw_accesses(const struct vmem_panel *p, const struct view *v, struct draw_list *d,
                          struct rect map)
{
    for (size_t i = 0; p->model.has_accesses && i < p->model.count; i++)
        draw_column(p, v, d, map, i);
}

static void draw_curve(const struct vmem_panel *p, const struct view *v, struct draw_list *d,
                       const struct vmem_places *at)
{
    const struct vmem_model *m = &p->model;
    const struct axis a = axis_of_view(v, at->curve);
    const int line = draw_line_height(d, TEXT_SMALL);
    int64_t most = VMEM_TILE_BYTES;

    for (size_t i = 0; i < m->count; i++)
        most = later(most, m->used_bytes[i]);
    draw_rect(d, at->curve, theme_color(v->theme, COLOR_PANEL));
    for (size_t i = 0; i < m->count; i++) {
        const double from = (double)(m->from + (cycle_t)i * m->width_cycles);
        const int h = (int)((double)m->used_bytes[i] / (double)most * at->curve.h);
        const struct rect bar = axis_rect(&a, from, from + (double)m->width_cycles,
                                          at->curve.y + at->curve.h - h, h);

        if (h > 0 && bar.w > 0)
            draw_rect(d, bar, theme_color(v->theme, COLOR_DIM_TEXT));
    }
    draw_text_fit(d, (struct rect){at->left.x, at->curve.y, at->left.w, line}, TEXT_SMALL,
                  theme_color(v->theme, COLOR_DIM_TEXT), quantity_bytes((double)most).text);
    draw_text_fit(d, (struct rect){at->curve.x, at->curve.y - line, at->curve.w, line}, TEXT_SMALL,
                  theme_color(v->theme, COLOR_TEXT), "in use: bytes that copies under way, loads "
                  "and stores touch in each column of time");
}

static void draw_words(const struct vmem_panel *p, const struct view *v, struct draw_list *d,
                       struct rect r)
{
    const struct vmem_model *m = &p->model;
    char text[500];
    const char *more = ntrace_info(v->run)->level < TRACE_SLOT
                       ? " Loads and stores are not in this trace: record with --trace-level slot."
                       : m->has_accesses ? "" : " Zoom in to see loads and stores.";

    snprintf(text, sizeof(text), "VMEM of core %d: %zu copies in the cycles shown%s; addresses up "
             "to %s of %s are touched. %s%s", m->core, m->copy_count,
             m->has_more ? " (the first of more: zoom in to see the others)" : "",
             quantity_bytes((double)m->highest_byte).text,
             quantity_bytes((double)m->vmem_bytes).text,
             p->lane_count ? "Lanes are the kernel's buffers, of equal height whatever their size: a "
                             "window with two copies is filled in one while the other is used."
                           : "Two bands that take turns are double buffering: one is filled while "
                             "the other is used.", more);
    layout_paragraph(d, r, TEXT_NORMAL, theme_color(v->theme, COLOR_TEXT), text);
}

static void draw(void *state, const struct view *v, struct draw_list *d, struct rect area)
{
    struct vmem_panel *p = state;
    struct vmem_places at = place(p, v, d, area);
    struct legend_entry entry[KEY_COUNT];
    struct rect through;

    if (ntrace_info(v->run)->level < TRACE_OP) {
        layout_nothing(d, area, v->theme, "This trace has only launches: record with --trace-level "
                       "op for copies, slot for loads and stores, too.");
        return;
    }
    prepare(p, v, at.map.w);
    at = place(p, v, d, area);          /* names of buffers take more room than addresses */
    prepare(p, v, at.map.w);
    through = at.map;
    draw_words(p, v, d, at.words);
    draw_rect(d, at.map, theme_color(v->theme, COLOR_PANEL));
    if (at.ruler.h > 0)
        axis_draw_ruler(v, d, at.ruler, at.map);
    draw_axis(p, v, d, &at);
    draw_clip(d, at.map);
    draw_copies(p, v, d, at.map);
    draw_accesses(p, v, d, at.map);
    if (!p->lane_count)
        draw_copy_names(p, v, d, at.map);
    draw_clip_end(d);
    if (at.curve.h > 0)
        draw_curve(p, v, d, &at);
    through.h = at.curve.y + at.curve.h - at.map.y;
    axis_draw_cursor(v, d, through);
    legend(v->theme, entry);
    layout_legend(d, at.legend, v->theme, entry, KEY_COUNT);
}

/* ---- input ---- */

static bool input(void *state, struct view *v, const struct input *i, const struct draw_list *d,
                  struct rect area)
{
    struct vmem_panel *p = state;
    const struct vmem_copy *c;
    struct axis a;
    struct vmem_places at = place(p, v, d, area);

    if (i->kind == INPUT_PRESS && i->button == 1 && rect_has(at.map, i->x, i->y)) {
        a = axis_of_view(v, at.map);
        c = vmem_model_at(&p->model, axis_cycle(&a, i->x),
                          address_at(p, at.map, i->y));
        if (!c || c->core != v->core)
            return false;
        v->has_bundle = true;
        v->bundle = c->dma.bundle;
        return true;
    }
    return time_input(v, i, at.map);
}

static const char *hover(void *state, const struct view *v, const struct draw_list *d,
                         struct rect area, int x, int y, struct arena *a)
{
    static const char *const ways[VMEM_WAY_COUNT] = {
        "copied in from HBM", "copied out to HBM", "comes from another core",
        "goes to another core", "copied",
    };
    struct vmem_panel *p = state;
    const struct vmem_copy *c;
    struct axis axis;
    int64_t address;
    struct vmem_places at = place(p, v, d, area);

    if (!rect_has(at.map, x, y))
        return "";
    axis = axis_of_view(v, at.map);
    address = address_at(p, at.map, y);
    c = vmem_model_at(&p->model, axis_cycle(&axis, x), address);
    if (!c && p->lane_count)
        return arena_printf(a, "%s: byte 0x%llx, row %lld", vmem_lane_of(p->lane, p->lane_count,
                            address)->name, (unsigned long long)address,
                            (long long)(address / VMEM_ROW_BYTES));
    if (!c)
        return arena_printf(a, "byte 0x%llx, row %lld", (unsigned long long)address,
                            (long long)(address / VMEM_ROW_BYTES));
    return arena_printf(a, "%s: %s at 0x%llx\nby core %d, bundle %u, under way for %s\nin runs of "
                        "%s", ways[c->way], quantity_bytes((double)c->bytes).text,
                        (unsigned long long)c->address, c->core, c->dma.bundle,
                        quantity_cycles((double)(c->dma.done_at - c->dma.issued_at)).text,
                        quantity_bytes((double)c->dma.run_bytes).text);
}

const struct panel_class panel_vmem = {
    .state_bytes = sizeof(struct vmem_panel), .fini = fini, .draw = draw,
    .input = input, .hover = hover};
