/*
 * The panel of a kernel's source: its lines with cycles and waits, beside them the operations that
 * were made of the chosen line, and the bundles that carry them out.
 */
#include "base/text.h"
#include "viz/draw/layout.h"
#include "viz/models/model_source.h"
#include "viz/panels/panel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FIRST_BUDGET 20000000           /* counted before the first picture, */
#define FRAME_BUDGET 100000             /* and between two of them */
#define REASONS_SHOWN 6
#define REASON_CHARS 9                  /* a column of one */
#define LINE_CHARS 64                   /* of a line's row, before reasons have columns */

enum part { PART_LINES, PART_LLO, PART_BUNDLES, PART_COUNT };

struct source_panel {
    const struct ntrace *run;
    const struct isa_program *program;
    int core;
    bool has_model;
    struct source_model model;
    struct code_counts counts;
    cycle_t summed;                     /* as far as the model's sums go; -1: none */
    bool is_chosen;                     /* the user has chosen a line */
    bool has_seen_bundle;
    uint32_t seen_bundle;               /* the view's, whose line is chosen */
    size_t top[PART_COUNT];             /* first row shown */
    size_t rows;                        /* that fitted last */
};

static void init(void *state)
{
    struct source_panel *p = state;

    p->core = -1;
}

static void forget(struct source_panel *p)
{
    source_model_fini(&p->model);
    code_counts_fini(&p->counts);
    p->has_model = false;
}

static void fini(void *state) { forget(state); }

/* ---- what is shown ---- */

static void choose(struct source_panel *p, int line)
{
    source_model_choose(&p->model, line);
    p->top[PART_LLO] = p->top[PART_BUNDLES] = 0;
}

static void count(struct source_panel *p, const struct view *v)
{
    const cycle_t from = v->has_selection ? (cycle_t)v->selection_from : 0;
    const cycle_t end = v->has_selection ? (cycle_t)ceil(v->selection_end)
                                         : ntrace_info(v->run)->cycles;
    int64_t budget = FRAME_BUDGET;
    bool is_done;

    if (p->counts.from != from || p->counts.end != end) {
        code_counts_restart(&p->counts, from, end);
        p->summed = -1;
        budget = v->is_hurried ? FRAME_BUDGET : FIRST_BUDGET;
    }
    do
        is_done = code_counts_advance(&p->counts, v->run, v->core, budget);
    while (!is_done && v->is_hurried && !view_is_late(v->late_ns));
    if (p->summed != p->counts.done)
        source_model_sum(&p->model, &p->counts);
    p->summed = p->counts.done;
}

static bool prepare(struct source_panel *p, const struct view *v)
{
    const struct isa_program *program = ntrace_program(v->run, v->core);

    if (p->run != v->run || p->core != v->core || p->program != program) {
        forget(p);
        p->run = v->run;
        p->core = v->core;
        p->program = program;
        p->is_chosen = p->has_seen_bundle = false;
        memset(p->top, 0, sizeof(p->top));
        p->has_model = source_model_init(&p->model, v->run, v->core);
        if (p->has_model)
            code_counts_init(&p->counts, program->bundle_count);
        p->summed = -1;
    }
    if (!p->has_model)
        return false;
    count(p, v);
    if (v->has_bundle && v->bundle < program->bundle_count &&
        (!p->has_seen_bundle || p->seen_bundle != v->bundle)) {
        p->has_seen_bundle = p->is_chosen = true;
        p->seen_bundle = v->bundle;
        choose(p, source_model_line_of(&p->model, v->bundle));
    }
    if (!p->is_chosen)
        choose(p, source_model_dearest(&p->model));
    return true;
}

/* ---- where things are ---- */

struct source_places {
    struct rect words, head, part[PART_COUNT], legend;
    int reasons;                        /* columns of them that have room */
};

static int row_height(const struct draw_list *d)
{
    return draw_line_height(d, TEXT_NORMAL) + draw_scaled(d, 3);
}

static size_t legend(const struct source_panel *p, enum theme t,
                     struct legend_entry entry[STALL_COUNT + 1])
{
    size_t used = 0;

    entry[used++] = (struct legend_entry){theme_color(t, COLOR_ISSUE), "issued"};
    for (int i = 0; i < p->model.reason_count; i++)
        entry[used++] = (struct legend_entry){theme_stall_color(t, p->model.reason[i]),
                                              stall_name(p->model.reason[i])};
    return used;
}

static struct source_places place(const struct source_panel *p, const struct view *v,
                                  const struct draw_list *d, struct rect area)
{
    struct rect r = rect_inset(area, draw_scaled(d, 10));
    const int gap = draw_scaled(d, 12), c = draw_char_width(d, TEXT_NORMAL);
    struct legend_entry entry[STALL_COUNT + 1];
    struct source_places at = {0};

    at.words = rect_cut_top(&r, row_height(d));
    at.legend = rect_cut_bottom(&r, layout_legend_height(d, r.w, entry,
                                                         legend(p, v->theme, entry)));
    at.head = rect_cut_top(&r, row_height(d));
    at.part[PART_LINES] = rect_cut_left(&r, r.w / 2);
    rect_cut_left(&r, gap);
    at.part[PART_LLO] = rect_cut_left(&r, r.w * 42 / 100);
    rect_cut_left(&r, gap);
    at.part[PART_BUNDLES] = r;
    at.reasons = (at.part[PART_LINES].w - LINE_CHARS * c) / (REASON_CHARS * c);
    at.reasons = at.reasons < 0 ? 0 : at.reasons > REASONS_SHOWN ? REASONS_SHOWN : at.reasons;
    if (at.reasons > p->model.reason_count)
        at.reasons = p->model.reason_count;
    return at;
}

static size_t rows_of(const struct source_panel *p, enum part part)
{
    return part == PART_LINES ? (size_t)p->model.order_count
           : part == PART_LLO ? p->model.llo_count : p->model.bundle_count;
}

/* ---- drawing ---- */

static void draw_right(struct draw_list *d, struct rect box, rgba_t color, const char *text)
{
    const int width = draw_text_width(d, TEXT_NORMAL, text);

    if (width <= box.w && draw_line_height(d, TEXT_NORMAL) <= box.h)
        draw_text(d, box.x + box.w - width, box.y, TEXT_NORMAL, color, text);
}

static void draw_count(struct draw_list *d, struct rect box, rgba_t color, double value)
{
    if (value >= 0.5)
        draw_right(d, box, color, text_thousands((int64_t)(value + 0.5)).text);
}

/* issue and stalls of a line, as long as its cycles are beside the dearest's */
static void draw_bar(const struct source_panel *p, const struct view *v, struct draw_list *d,
                     struct rect box, int line)
{
    const struct line_sums *s = &p->model.sums[line];
    const double pixels = p->model.most > 0 ? box.w / p->model.most : 0;
    double sum = s->issued;
    int x = box.x, end = box.x + (int)(sum * pixels + 0.5);

    box.y += draw_scaled(d, 2);
    box.h = draw_line_height(d, TEXT_NORMAL) - draw_scaled(d, 3);
    draw_rect(d, (struct rect){x, box.y, end - x, box.h}, theme_color(v->theme, COLOR_ISSUE));
    for (int i = 0; i < p->model.reason_count; i++) {
        x = end;
        sum += s->stall[p->model.reason[i]];
        end = box.x + (int)(sum * pixels + 0.5);
        if (end > x)
            draw_rect(d, (struct rect){x, box.y, end - x, box.h},
                      theme_stall_color(v->theme, p->model.reason[i]));
    }
}

/* the columns of a line, from the right: reasons, cycles with their bar, then its text */
struct line_columns { struct rect number, text, bar, cycles, reason[REASONS_SHOWN]; };

static struct line_columns columns_of(const struct draw_list *d, const struct source_places *at,
                                      struct rect row)
{
    const int c = draw_char_width(d, TEXT_NORMAL);
    struct line_columns to;

    for (int i = at->reasons - 1; i >= 0; i--) {
        to.reason[i] = rect_cut_right(&row, (REASON_CHARS - 1) * c);
        rect_cut_right(&row, c);
    }
    to.cycles = rect_cut_right(&row, 9 * c);
    rect_cut_right(&row, c);
    to.bar = rect_cut_right(&row, 10 * c < row.w / 4 ? 10 * c : row.w / 4);
    rect_cut_right(&row, c);
    to.number = rect_cut_left(&row, 5 * c);
    rect_cut_left(&row, c);
    to.text = row;
    return to;
}

static void draw_line_row(const struct source_panel *p, const struct view *v, struct draw_list *d,
                          const struct source_places *at, struct rect row, size_t index)
{
    const int line = p->model.order[index];
    const struct ntrace_source_line *l = &p->model.listing->line[line];
    const struct line_columns c = columns_of(d, at, row);
    const rgba_t text = theme_color(v->theme, COLOR_TEXT), dim = theme_color(v->theme, COLOR_DIM_TEXT);
    char name[200];

    if (line == p->model.chosen)
        draw_rect(d, row, theme_color(v->theme, COLOR_SELECTION));
    if (line) {
        snprintf(name, sizeof(name), "%d", l->number);
        draw_right(d, c.number, dim, name);
    }
    snprintf(name, sizeof(name), "%s", *l->text ? l->text : l->file);
    draw_text_fit(d, c.text, TEXT_NORMAL, line ? text : dim, name);
    draw_bar(p, v, d, c.bar, line);
    draw_count(d, c.cycles, text, source_model_cycles(&p->model, line));
    for (int i = 0; i < at->reasons; i++)
        draw_count(d, c.reason[i], dim, p->model.sums[line].stall[p->model.reason[i]]);
}

static void draw_llo_row(const struct source_panel *p, const struct view *v, struct draw_list *d,
                         struct rect row, size_t index)
{
    const size_t at = p->model.llo[index];

    if (index && p->model.llo[index - 1] + 1 != at)     /* others in between */
        draw_line(d, row.x, row.y, row.x + row.w, row.y, 1, theme_color(v->theme, COLOR_GRID));
    draw_text_fit(d, row, TEXT_NORMAL, theme_color(v->theme, COLOR_TEXT),
                  p->model.listing->llo[at].text);
}

static void draw_bundle_row(const struct source_panel *p, const struct view *v,
                            struct draw_list *d, struct rect row, size_t index)
{
    const uint32_t bundle = p->model.bundle[index];
    const rgba_t dim = theme_color(v->theme, COLOR_DIM_TEXT);
    const int c = draw_char_width(d, TEXT_NORMAL);
    const bool has_run = p->counts.issued[bundle] > 0;
    char text[1024];

    if (v->has_bundle && v->bundle == bundle)
        draw_rect(d, row, theme_color(v->theme, COLOR_SELECTION));
    snprintf(text, sizeof(text), "%u", bundle);
    draw_right(d, rect_cut_left(&row, 6 * c), dim, text);
    draw_count(d, rect_cut_left(&row, 7 * c), dim, (double)p->counts.issued[bundle]);
    draw_count(d, rect_cut_left(&row, 8 * c), dim, (double)code_waited(&p->counts, bundle));
    rect_cut_left(&row, c);
    draw_text_fit(d, row, TEXT_NORMAL, has_run ? theme_color(v->theme, COLOR_TEXT) : dim,
                  source_model_print(&p->model, bundle, p->model.chosen, text, sizeof(text)));
}

static void draw_head(const struct source_panel *p, const struct view *v, struct draw_list *d,
                      const struct source_places *at)
{
    const rgba_t dim = theme_color(v->theme, COLOR_DIM_TEXT);
    const int c = draw_char_width(d, TEXT_NORMAL);
    struct rect row = at->part[PART_LINES], llo = at->part[PART_LLO], bundles = at->part[PART_BUNDLES];
    struct line_columns columns;

    row.y = llo.y = bundles.y = at->head.y;
    row.h = llo.h = bundles.h = at->head.h;
    columns = columns_of(d, at, row);
    draw_right(d, columns.number, dim, "line");
    draw_text_fit(d, columns.text, TEXT_NORMAL, dim, "source");
    draw_right(d, columns.cycles, dim, "cycles");
    for (int i = 0; i < at->reasons; i++)
        draw_text_fit(d, columns.reason[i], TEXT_NORMAL, dim, stall_name(p->model.reason[i]));
    draw_text_fit(d, llo, TEXT_NORMAL, dim, "its operations (LLO), unscheduled");
    draw_right(d, rect_cut_left(&bundles, 6 * c), dim, "bundle");
    draw_right(d, rect_cut_left(&bundles, 7 * c), dim, "times");
    draw_right(d, rect_cut_left(&bundles, 8 * c), dim, "waited");
    rect_cut_left(&bundles, c);
    draw_text_fit(d, bundles, TEXT_NORMAL, dim, "its operations there, + others");
}

static void draw_part(struct source_panel *p, const struct view *v, struct draw_list *d,
                      const struct source_places *at, enum part part)
{
    struct rect row = at->part[part];

    draw_clip(d, at->part[part]);
    row.h = row_height(d);
    for (size_t i = p->top[part]; i < rows_of(p, part) && i < p->top[part] + p->rows; i++) {
        if (part == PART_LINES)
            draw_line_row(p, v, d, at, row, i);
        else if (part == PART_LLO)
            draw_llo_row(p, v, d, row, i);
        else
            draw_bundle_row(p, v, d, row, i);
        row.y += row.h;
    }
    draw_clip_end(d);
}

static void draw_words(const struct source_panel *p, const struct view *v, struct draw_list *d,
                       struct rect r)
{
    const struct ntrace_source_line *l = &p->model.listing->line[p->model.chosen];
    char of[160], text[400];

    if (p->model.chosen)
        snprintf(of, sizeof(of), "%.100s:%d", l->file, l->number);
    else
        snprintf(of, sizeof(of), "what no line stands for");
    snprintf(text, sizeof(text), "Core %d, %s: %s is %zu operations in %zu bundles, %s cycles. A "
             "bundle's cycles are shared by the lines of its operations.", v->core,
             v->has_selection ? "the selected range" : "the whole run", of, p->model.llo_count,
             p->model.bundle_count,
             text_thousands((int64_t)(source_model_cycles(&p->model, p->model.chosen) + 0.5)).text);
    draw_text_fit(d, r, TEXT_NORMAL, theme_color(v->theme, COLOR_TEXT), text);
}

static const char *why_nothing(const struct view *v)
{
    return ntrace_info(v->run)->level < TRACE_BUNDLE
           ? "This trace has no bundles: record with --trace-level bundle to see how often each "
             "ran and waited."
           : ntrace_info(v->run)->listing
           ? "The lines are of core 0's program, and this core has another one."
           : "This run is of no kernel with a source: systole kernel FILE --out DIR leaves one.";
}

static void draw(void *state, const struct view *v, struct draw_list *d, struct rect area)
{
    struct source_panel *p = state;
    struct legend_entry entry[STALL_COUNT + 1];
    struct source_places at;

    if (ntrace_info(v->run)->level < TRACE_BUNDLE || !prepare(p, v)) {
        layout_nothing(d, area, v->theme, why_nothing(v));
        return;
    }
    d->is_partial = d->is_partial || (v->is_hurried && p->counts.done < p->counts.end);
    at = place(p, v, d, area);
    p->rows = (size_t)(at.part[PART_LINES].h / row_height(d));
    draw_words(p, v, d, at.words);
    draw_head(p, v, d, &at);
    for (int i = 0; i < PART_COUNT; i++)
        draw_part(p, v, d, &at, (enum part)i);
    layout_legend(d, at.legend, v->theme, entry, legend(p, v->theme, entry));
}

/* ---- input ---- */

static bool scroll(struct source_panel *p, enum part part, int64_t by)
{
    const int64_t last = (int64_t)rows_of(p, part) - (int64_t)p->rows;
    int64_t top = (int64_t)p->top[part] + by;

    top = top > last ? last : top;
    p->top[part] = top > 0 ? (size_t)top : 0;
    return true;
}

/* the line above or below the chosen one */
static bool move(struct source_panel *p, int by)
{
    int at = 0;

    while (at + 1 < p->model.order_count && p->model.order[at] != p->model.chosen)
        at++;
    at += by;
    if (at < 0 || at >= p->model.order_count)
        return false;
    p->is_chosen = true;
    choose(p, p->model.order[at]);
    if ((size_t)at < p->top[PART_LINES])
        p->top[PART_LINES] = (size_t)at;
    else if (p->rows && (size_t)at >= p->top[PART_LINES] + p->rows)
        p->top[PART_LINES] = (size_t)at + 1 - p->rows;
    return true;
}

static bool key(struct source_panel *p, uint32_t k)
{
    switch (k) {
    case KEY_UP: case KEY_DOWN:
        return move(p, k == KEY_UP ? -1 : 1);
    case KEY_PAGE_UP: case KEY_PAGE_DOWN:
        return scroll(p, PART_BUNDLES, (k == KEY_PAGE_UP ? -1 : 1) * (int64_t)p->rows);
    default:
        return false;
    }
}

static bool press(struct source_panel *p, struct view *v, enum part part, size_t row)
{
    if (row >= rows_of(p, part) || part == PART_LLO)
        return false;
    if (part == PART_LINES) {
        p->is_chosen = true;
        choose(p, p->model.order[row]);
        return true;
    }
    v->has_bundle = p->has_seen_bundle = true;
    v->bundle = p->seen_bundle = p->model.bundle[row];  /* its line stays the chosen one */
    return true;
}

static bool input(void *state, struct view *v, const struct input *i, const struct draw_list *d,
                  struct rect area)
{
    struct source_panel *p = state;
    struct source_places at;

    if (ntrace_info(v->run)->level < TRACE_BUNDLE || !prepare(p, v))
        return false;
    if (i->kind == INPUT_KEY)
        return key(p, i->key);
    at = place(p, v, d, area);
    for (int part = 0; part < PART_COUNT; part++) {
        if (!rect_has(at.part[part], i->x, i->y))
            continue;
        if (i->kind == INPUT_WHEEL)
            return scroll(p, (enum part)part, -3 * i->dy);
        return i->kind == INPUT_PRESS && i->button == 1 &&
               press(p, v, (enum part)part,
                     p->top[part] + (size_t)((i->y - at.part[part].y) / row_height(d)));
    }
    return false;
}

/* ---- hovering ---- */

static const char *hover(void *state, const struct view *v, const struct draw_list *d,
                         struct rect area, int x, int y, struct arena *a)
{
    struct source_panel *p = state;
    struct source_places at;
    const struct ntrace_source_line *l;
    const char *text;
    size_t row;
    int line;

    if (ntrace_info(v->run)->level < TRACE_BUNDLE || !prepare(p, v))
        return "";
    at = place(p, v, d, area);
    row = p->top[PART_LINES] + (size_t)((y - at.part[PART_LINES].y) / row_height(d));
    if (!rect_has(at.part[PART_LINES], x, y) || row >= rows_of(p, PART_LINES))
        return "";
    line = p->model.order[row];
    l = &p->model.listing->line[line];
    text = arena_printf(a, "%s%s\n%.0f cycles issued, %.0f waited",
                        line ? arena_printf(a, "%s:%d  ", l->file, l->number) : "", l->text,
                        p->model.sums[line].issued, p->model.sums[line].waited);
    for (int i = 0; i < p->model.reason_count; i++)
        if (p->model.sums[line].stall[p->model.reason[i]] >= 0.5)
            text = arena_printf(a, "%s\n  %s %.0f", text, stall_name(p->model.reason[i]),
                                p->model.sums[line].stall[p->model.reason[i]]);
    return text;
}

const struct panel_class panel_source = {
    .state_bytes = sizeof(struct source_panel), .init = init, .fini = fini, .draw = draw,
    .input = input, .hover = hover};
