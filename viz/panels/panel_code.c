/*
 * The panel of the program: bundles as text, with counts, waits and slots beside each, and a
 * search.
 */
#include "base/text.h"
#include "sim/chip/limits.h"
#include "viz/draw/layout.h"
#include "viz/models/model_code.h"
#include "viz/panels/panel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FIRST_BUDGET 20000000           /* counted before the first picture, */
#define FRAME_BUDGET 100000             /* and between two of them, while something is left */

struct code_panel {
    const struct ntrace *run;
    int core;
    const struct isa_program *program;
    struct isa_slots slots;
    struct code_lines lines;
    struct code_counts counts;
    bool *is_hit;
    int64_t hit_count;                  /* -1: the search is no regular expression */
    char search[128];                   /* that is_hit is of */
    size_t top;                         /* line shown first */
    bool has_shown_bundle;              /* scrolled to it already */
    uint32_t shown_bundle;
    size_t rows;                        /* that fitted last */
};

static void init(void *state)
{
    struct code_panel *p = state;

    p->core = -1;
}

static void forget(struct code_panel *p)
{
    code_lines_fini(&p->lines);
    code_counts_fini(&p->counts);
    mem_free(p->is_hit);
    p->is_hit = NULL;
}

static void fini(void *state)
{
    forget(state);
}

/* ---- what is shown ---- */

static void search(struct code_panel *p, const char *text)
{
    struct err e;

    snprintf(p->search, sizeof(p->search), "%s", text);
    p->hit_count = 0;
    memset(p->is_hit, 0, p->program->bundle_count * sizeof(*p->is_hit));
    if (*text)
        p->hit_count = code_search(p->program, text, p->is_hit, &e);
}

static void scroll_to(struct code_panel *p, uint32_t bundle)
{
    const size_t line = p->lines.of_bundle[bundle], half = p->rows / 2;

    if (line < p->top + 2 || line + 2 >= p->top + p->rows)
        p->top = line > half ? line - half : 0;
}

static void count(struct code_panel *p, const struct view *v)
{
    const cycle_t from = v->has_selection ? (cycle_t)v->selection_from : 0;
    const cycle_t end = v->has_selection ? (cycle_t)ceil(v->selection_end)
                                         : ntrace_info(v->run)->cycles;
    int64_t budget = FRAME_BUDGET;
    bool is_done;

    if (p->counts.from != from || p->counts.end != end) {
        code_counts_restart(&p->counts, from, end);
        budget = v->is_hurried ? FRAME_BUDGET : FIRST_BUDGET;
    }
    do                                  /* some in any case; in a hurry what there is time for */
        is_done = code_counts_advance(&p->counts, v->run, v->core, budget);
    while (!is_done && v->is_hurried && !view_is_late(v->late_ns));
}

static bool prepare(struct code_panel *p, const struct view *v)
{
    if (!ntrace_program(v->run, v->core))
        return false;
    if (p->run != v->run || p->core != v->core || p->program != ntrace_program(v->run, v->core)) {
        forget(p);
        p->run = v->run;
        p->core = v->core;
        p->program = ntrace_program(v->run, v->core);
        p->top = 0;
        chip_slots(ntrace_info(v->run)->chip, &p->slots);
        code_lines_init(&p->lines, p->program);
        code_counts_init(&p->counts, p->program->bundle_count);
        p->is_hit = mem_alloc(p->program->bundle_count + 1u);
        p->search[0] = '\0';
        p->has_shown_bundle = false;
    }
    count(p, v);
    if (strcmp(p->search, v->search) != 0 && strlen(v->search) < sizeof(p->search))
        search(p, v->search);
    return true;
}

/* ---- where things are ---- */

enum { AT_BUNDLE, AT_SOURCE, AT_TIMES, AT_WAITED, AT_BAR, AT_SHARE, AT_GRID, AT_TEXT, AT_COUNT };

/* Columns; those without room have width 0. */
struct columns_at {
    struct {
        int x, w;
    } column[AT_COUNT];
    int end;
    int cell, gap;
};

static int slot_cells(const struct code_panel *p)
{
    int cells = 0;

    for (int i = 0; i < SLOT_COUNT; i++)
        cells += p->slots.count[i];
    return cells;
}

/* the text has at least a third of the width; what the others take goes by their worth */
static struct columns_at place_columns(const struct code_panel *p, const struct draw_list *d,
                                       struct rect r)
{
    static const int by_worth[] = {AT_BUNDLE, AT_WAITED, AT_TIMES, AT_GRID, AT_BAR, AT_SHARE,
                                   AT_SOURCE};
    const int c = draw_char_width(d, TEXT_NORMAL), gap = draw_scaled(d, 10);
    struct columns_at at = {.cell = draw_scaled(d, 8), .gap = gap, .end = r.x + r.w};
    const int wanted[AT_COUNT] = {
        [AT_BUNDLE] = 6 * c, [AT_SOURCE] = 6 * c, [AT_TIMES] = 11 * c, [AT_WAITED] = 11 * c,
        [AT_BAR] = r.w / 8, [AT_SHARE] = 7 * c,
        [AT_GRID] = slot_cells(p) * (at.cell + 1) + (int)SLOT_COUNT * 2,
    };
    int room = r.w * 2 / 3, x = r.x;

    for (int i = 0; i < (int)COUNT_OF(by_worth) && room >= wanted[by_worth[i]] + gap; i++) {
        at.column[by_worth[i]].w = wanted[by_worth[i]];
        room -= wanted[by_worth[i]] + gap;
    }
    for (int i = 0; i < AT_TEXT; i++) {
        at.column[i].x = x;
        x += at.column[i].w > 0 ? at.column[i].w + gap : 0;
    }
    at.column[AT_TEXT].x = x;
    at.column[AT_TEXT].w = at.end - x;
    return at;
}

static int row_height(const struct draw_list *d)
{
    return draw_line_height(d, TEXT_NORMAL) + draw_scaled(d, 3);
}

struct code_places {
    struct rect words, head, rows, legend;
};

#define LEGEND_MAX (STALL_COUNT + 1 + SLOT_COUNT)

static enum color_role slot_role(enum isa_slot slot)
{
    static const enum color_role roles[SLOT_COUNT] = {
        [SLOT_SCALAR] = COLOR_SCALAR, [SLOT_VALU] = COLOR_VALU, [SLOT_EUP] = COLOR_EUP,
        [SLOT_LOAD] = COLOR_LOAD, [SLOT_STORE] = COLOR_STORE, [SLOT_PUSH] = COLOR_MXU_PUSH,
        [SLOT_POP] = COLOR_MXU, [SLOT_MISC] = COLOR_MISC, [SLOT_DMA] = COLOR_DMA,
        [SLOT_CMEM] = COLOR_LOAD,
    };

    return roles[slot];
}

static const char *slot_meaning(enum isa_slot slot)
{
    static const char *const meanings[SLOT_COUNT] = {
        [SLOT_SCALAR] = "slot: scalar", [SLOT_VALU] = "slot: vector ALU",
        [SLOT_EUP] = "slot: transcendental", [SLOT_LOAD] = "slot: load",
        [SLOT_STORE] = "slot: store", [SLOT_PUSH] = "slot: push into MXU or XLU",
        [SLOT_POP] = "slot: pop of a result", [SLOT_MISC] = "slot: misc",
        [SLOT_DMA] = "slot: copy", [SLOT_CMEM] = "slot: CMEM load",
    };

    return meanings[slot];
}

/* issue, the reasons that occur, the slots that the chip has, in the order of the grid */
static size_t legend(const struct code_panel *p, enum theme t, struct legend_entry *entry)
{
    size_t used = 0;

    entry[used++] = (struct legend_entry){theme_color(t, COLOR_ISSUE), "issued"};
    for (int reason = 0; reason < STALL_COUNT; reason++)
        if (p->counts.reasons >> reason & 1u)
            entry[used++] = (struct legend_entry){
                theme_stall_color(t, (enum stall_reason)reason),
                stall_name((enum stall_reason)reason)};
    for (int reason = 0; reason < SLOT_COUNT; reason++)
        if (p->slots.count[reason] > 0)
            entry[used++] = (struct legend_entry){
                theme_color(t, slot_role((enum isa_slot)reason)),
                slot_meaning((enum isa_slot)reason)};
    return used;
}

static struct code_places place(const struct code_panel *p, const struct view *v,
                                const struct draw_list *d, struct rect area)
{
    struct rect r = rect_inset(area, draw_scaled(d, 10));
    struct legend_entry entry[LEGEND_MAX];
    const size_t entries = legend(p, v->theme, entry);
    struct code_places at;

    at.words = rect_cut_top(&r, row_height(d));
    at.legend = rect_cut_bottom(&r, layout_legend_height(d, r.w, entry, entries));
    at.head = rect_cut_top(&r, row_height(d));
    at.rows = r;
    return at;
}

/* ---- drawing ---- */

static void draw_number(struct draw_list *d, const struct columns_at *at, int column, int y,
                        rgba_t color, int64_t value)
{
    const int width = at->column[column].w, x = at->column[column].x;
    struct short_text t = text_thousands(value);

    if (width == 0)
        return;
    if (draw_text_width(d, TEXT_NORMAL, t.text) > width)
        snprintf(t.text, sizeof(t.text), "%.3g", (double)value);
    draw_text(d, x + width - draw_text_width(d, TEXT_NORMAL, t.text), y, TEXT_NORMAL, color,
              t.text);
}

static void draw_grid(const struct code_panel *p, const struct view *v, struct draw_list *d,
                      const struct columns_at *at, uint32_t bundle, int y)
{
    struct code_slot slot[SLOT_COUNT];
    const int count_ = code_slots(p->program, bundle, &p->slots, slot);
    int x = at->column[AT_GRID].x;

    for (int i = 0; i < count_ && at->column[AT_GRID].w > 0; i++) {
        for (int j = 0; j < slot[i].count; j++, x += at->cell + 1)
            draw_rect(d, (struct rect){x, y + draw_scaled(d, 4), at->cell, at->cell},
                      theme_color(v->theme, j < slot[i].taken ? slot_role(slot[i].slot)
                                                              : COLOR_GRID));
        x += 2;
    }
}

/* issue and stalls, as long as the cycles of this bundle are beside the longest */
static void draw_bar(const struct code_panel *p, const struct view *v, struct draw_list *d,
                     const struct columns_at *at, uint32_t bundle, int y)
{
    const int height = draw_line_height(d, TEXT_NORMAL) - draw_scaled(d, 3);
    const double pixels = p->counts.most_cycles > 0
                          ? (double)at->column[AT_BAR].w / (double)p->counts.most_cycles : 0;
    cycle_t sum = p->counts.issued[bundle];
    int x = at->column[AT_BAR].x;
    int end = x + (int)((double)sum * pixels + 0.5);

    draw_rect(d, (struct rect){x, y + draw_scaled(d, 2), end - x, height},
              theme_color(v->theme, COLOR_ISSUE));
    for (int i = 0; i < STALL_COUNT; i++) {
        x = end;
        sum += p->counts.waited[bundle][i];
        end = at->column[AT_BAR].x + (int)((double)sum * pixels + 0.5);
        if (end > x)
            draw_rect(d, (struct rect){x, y + draw_scaled(d, 2), end - x, height},
                      theme_stall_color(v->theme, (enum stall_reason)i));
    }
}

static void draw_bundle(const struct code_panel *p, const struct view *v, struct draw_list *d,
                        const struct columns_at *at, uint32_t bundle, int y, bool is_at_cursor)
{
    const cycle_t all = p->counts.issue_cycles + p->counts.wait_cycles;
    const cycle_t cycles = code_cycles(&p->counts, bundle);
    const rgba_t dim = theme_color(v->theme, COLOR_DIM_TEXT);
    const rgba_t color = p->counts.issued[bundle] > 0 ? theme_color(v->theme, COLOR_TEXT) : dim;
    const struct rect row = {at->column[0].x, y, at->end - at->column[0].x, row_height(d)};
    char text[1024];

    if (v->has_bundle && v->bundle == bundle)
        draw_rect(d, row, theme_color(v->theme, COLOR_SELECTION));
    if (is_at_cursor)
        draw_frame(d, row, theme_color(v->theme, COLOR_CURSOR));
    draw_number(d, at, AT_BUNDLE, y, dim, bundle);
    if (p->program->bundle[bundle].line > 0)
        draw_number(d, at, AT_SOURCE, y, dim, p->program->bundle[bundle].line);
    if (p->counts.issued[bundle] > 0)
        draw_number(d, at, AT_TIMES, y, color, p->counts.issued[bundle]);
    if (code_waited(&p->counts, bundle) > 0)
        draw_number(d, at, AT_WAITED, y, color, code_waited(&p->counts, bundle));
    draw_bar(p, v, d, at, bundle, y);
    if (all > 0 && cycles > 0 && at->column[AT_SHARE].w > 0)
        draw_textf(d, at->column[AT_SHARE].x, y, TEXT_NORMAL, color, "%5.1f %%",
                   100.0 * (double)cycles / (double)all);
    draw_grid(p, v, d, at, bundle, y);
    if (p->is_hit[bundle])
        draw_rect(d, (struct rect){at->column[AT_TEXT].x - at->gap / 2, y + 1, draw_scaled(d, 3),
                                   row.h - 2}, theme_color(v->theme, COLOR_ACCENT));
    draw_text_fit(d, (struct rect){at->column[AT_TEXT].x, y, at->column[AT_TEXT].w, row.h},
                  TEXT_NORMAL, color, code_print_bundle(p->program, bundle, text, sizeof(text)));
}

static void draw_line_of(const struct code_panel *p, const struct view *v, struct draw_list *d,
                         const struct columns_at *at, const struct code_line *l, int y)
{
    const int left = at->column[0].x, swatch = draw_scaled(d, 8), indent = draw_scaled(d, 14);
    const int height = row_height(d);
    char text[256];

    if (l->kind == CODE_NOTE) {
        draw_line(d, left, y, at->end, y, 1, theme_color(v->theme, COLOR_GRID));
        draw_rect(d, (struct rect){left, y + draw_scaled(d, 4), swatch, swatch},
                  theme_op_color(v->theme, l->index + 1));
        draw_text_fit(d, (struct rect){left + indent, y, at->end - left - indent, height},
                      TEXT_NORMAL, theme_color(v->theme, COLOR_ACCENT), p->program->note[l->index]);
    } else {
        snprintf(text, sizeof(text), "%s:", p->program->symbol[l->index].name);
        draw_text_fit(d, (struct rect){at->column[AT_TEXT].x, y, at->column[AT_TEXT].w, height},
                      TEXT_NORMAL, theme_color(v->theme, COLOR_DIM_TEXT), text);
    }
}

static void draw_head(const struct view *v, struct draw_list *d, const struct columns_at *at,
                      struct rect head)
{
    static const char *const names[AT_COUNT] = {
        [AT_BUNDLE] = "bundle", [AT_SOURCE] = "line", [AT_TIMES] = "times run",
        [AT_WAITED] = "waited", [AT_BAR] = "cycles", [AT_SHARE] = "of all", [AT_GRID] = "slots",
        [AT_TEXT] = "operations",
    };

    for (int i = 0; i < AT_COUNT; i++)
        if (at->column[i].w > 0)
            draw_text_fit(d, (struct rect){at->column[i].x, head.y, at->column[i].w, head.h},
                          TEXT_NORMAL, theme_color(v->theme, COLOR_DIM_TEXT), names[i]);
}

static void draw_words(const struct code_panel *p, const struct view *v, struct draw_list *d,
                       struct rect r)
{
    const struct code_counts *c = &p->counts;
    char text[400], more[160] = "";

    if (c->done < c->end)
        snprintf(more, sizeof(more), " Counted %.0f %% so far.",
                 100.0 * (double)(c->done - c->from) / (double)(c->end - c->from));
    else if (*p->search && p->hit_count < 0)
        snprintf(more, sizeof(more), " The search is no regular expression.");
    else if (*p->search)
        snprintf(more, sizeof(more), " %lld bundles match the search (n, N: next, previous).",
                 (long long)p->hit_count);
    snprintf(text, sizeof(text), "Core %d, %s: %s cycles issued a bundle, %s waited.%s", v->core,
             v->has_selection ? "the selected range" : "the whole run",
             text_thousands(c->issue_cycles).text, text_thousands(c->wait_cycles).text, more);
    draw_text_fit(d, r, TEXT_NORMAL, theme_color(v->theme, COLOR_TEXT), text);
}

static const char *why_nothing(const struct view *v)
{
    return ntrace_info(v->run)->level < TRACE_BUNDLE
           ? "This trace has no bundles: record with --trace-level bundle to see how often each "
             "ran and waited."
           : "This core had no program.";
}

static void draw(void *state, const struct view *v, struct draw_list *d, struct rect area)
{
    struct code_panel *p = state;
    struct legend_entry entry[LEGEND_MAX];
    struct code_places where;
    struct columns_at at;
    uint32_t here = UINT32_MAX;
    size_t i;
    int y;

    if (ntrace_info(v->run)->level < TRACE_BUNDLE || !prepare(p, v)) {
        layout_nothing(d, area, v->theme, why_nothing(v));
        return;
    }
    d->is_partial = d->is_partial || (v->is_hurried && p->counts.done < p->counts.end);
    where = place(p, v, d, area);
    at = place_columns(p, d, where.rows);
    p->rows = (size_t)(where.rows.h / row_height(d));
    if (v->has_bundle && v->bundle < p->program->bundle_count &&
        (!p->has_shown_bundle || p->shown_bundle != v->bundle)) {
        p->has_shown_bundle = true;
        p->shown_bundle = v->bundle;
        scroll_to(p, v->bundle);
    }
    if (v->cursor >= 0 && !code_bundle_at(v->run, v->core, (cycle_t)v->cursor, &here))
        here = UINT32_MAX;
    draw_words(p, v, d, where.words);
    draw_head(v, d, &at, where.head);
    draw_clip(d, where.rows);
    for (i = p->top, y = where.rows.y; i < p->lines.count && i < p->top + p->rows; i++) {
        const struct code_line *l = &p->lines.line[i];

        if (l->kind == CODE_BUNDLE)
            draw_bundle(p, v, d, &at, l->bundle, y, l->bundle == here);
        else
            draw_line_of(p, v, d, &at, l, y);
        y += row_height(d);
    }
    draw_clip_end(d);
    layout_legend(d, where.legend, v->theme, entry, legend(p, v->theme, entry));
}

/* ---- input ---- */

static void scroll(struct code_panel *p, int64_t by)
{
    const int64_t last = (int64_t)p->lines.count - (int64_t)p->rows;
    int64_t top = (int64_t)p->top + by;

    top = top > last ? last : top;
    p->top = top > 0 ? (size_t)top : 0;
}

static bool choose(struct code_panel *p, struct view *v, const struct code_places *at, int height,
                   int y)
{
    const size_t line = p->top + (size_t)((y - at->rows.y) / height);

    if (line >= p->lines.count)
        return false;
    v->has_bundle = true;
    v->bundle = p->lines.line[line].bundle;
    p->has_shown_bundle = true;         /* it is in sight */
    p->shown_bundle = v->bundle;
    return true;
}

/* the next bundle that the search hits, from the chosen one on */
static bool next_hit(struct code_panel *p, struct view *v, int step)
{
    const int64_t count_ = p->program->bundle_count;
    int64_t at = v->has_bundle ? v->bundle : step > 0 ? -1 : count_;

    for (int64_t i = 0; i < count_; i++) {
        at = (at + step + count_) % count_;
        if (p->is_hit[at]) {
            v->has_bundle = true;
            v->bundle = (uint32_t)at;
            return true;
        }
    }
    return false;
}

static bool key(struct code_panel *p, struct view *v, uint32_t k)
{
    switch (k) {
    case KEY_UP: case KEY_DOWN:
        scroll(p, k == KEY_UP ? -1 : 1);
        return true;
    case KEY_PAGE_UP: case KEY_PAGE_DOWN:
        scroll(p, (k == KEY_PAGE_UP ? -1 : 1) * (int64_t)p->rows);
        return true;
    case 'n': case 'N':
        return p->hit_count > 0 && next_hit(p, v, k == 'n' ? 1 : -1);
    default:
        return false;
    }
}

static bool input(void *state, struct view *v, const struct input *i, const struct draw_list *d,
                  struct rect area)
{
    struct code_panel *p = state;
    struct code_places at;
    int height;

    if (ntrace_info(v->run)->level < TRACE_BUNDLE || !prepare(p, v))
        return false;
    if (i->kind == INPUT_KEY)
        return key(p, v, i->key);
    at = place(p, v, d, area);
    height = row_height(d);
    if (!rect_has(at.rows, i->x, i->y))
        return false;
    if (i->kind == INPUT_WHEEL) {
        scroll(p, -3 * i->dy);
        return true;
    }
    return i->kind == INPUT_PRESS && i->button == 1 && choose(p, v, &at, height, i->y);
}

/* ---- hovering ---- */

static const char *hover(void *state, const struct view *v, const struct draw_list *d,
                         struct rect area, int x, int y, struct arena *a)
{
    struct code_panel *p = state;
    struct code_places at;
    const char *text;
    uint32_t bundle;
    size_t line;
    int height;
    char code[1024];

    if (ntrace_info(v->run)->level < TRACE_BUNDLE || !prepare(p, v))
        return "";
    at = place(p, v, d, area);
    height = row_height(d);
    line = rect_has(at.rows, x, y) ? p->top + (size_t)((y - at.rows.y) / height) : SIZE_MAX;
    if (line >= p->lines.count || p->lines.line[line].kind != CODE_BUNDLE)
        return "";
    bundle = p->lines.line[line].bundle;
    text = arena_printf(a, "bundle %u: %s\nran %lld times, waited %lld cycles", bundle,
                        code_print_bundle(p->program, bundle, code, sizeof(code)),
                        (long long)p->counts.issued[bundle],
                        (long long)code_waited(&p->counts, bundle));
    for (int reason = 0; reason < STALL_COUNT; reason++)
        if (p->counts.waited[bundle][reason] > 0)
            text = arena_printf(a, "%s\n  %s %lld", text, stall_name((enum stall_reason)reason),
                                (long long)p->counts.waited[bundle][reason]);
    return text;
}

const struct panel_class panel_code = {
    .state_bytes = sizeof(struct code_panel), .init = init, .fini = fini, .draw = draw,
    .input = input, .hover = hover};
