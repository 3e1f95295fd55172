/* The panel of a matrix unit: which row each processing element works on at the cursor's cycle. */
#include "viz/panels/panel.h"
#include "viz/panels/wavefront_draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ZOOM_MAX_PIXELS 96
#define PIECES 64                       /* that an interval is searched in at once */

struct wavefront_panel {
    struct wavefront wave;
    struct wave_frame frame;
    const struct ntrace *run;           /* that `wave` is of, with its core and unit */
    int core, unit;
    double from, end;                   /* of the view, when `moment` was found */
    cycle_t moment;                     /* shown while there is no cursor */
    int zoom;                           /* pixels of a PE; 0: the whole array */
    int first_row, first_column;        /* where zoomed in */
};

/* where things are; the same for drawing, input and hovering */
struct places {
    struct rect buttons, words, legend, strip, left, right, middle, array, fifo;
    int side;                           /* of the whole array */
};

static void init(void *state)
{
    struct wavefront_panel *p = state;

    p->core = -1;
}

static void fini(void *state)
{
    struct wavefront_panel *p = state;

    wavefront_fini(&p->wave);
}

/* ---- what is looked at ---- */

static int unit_index(const struct ntrace *run, int mxu)
{
    const int count = ntrace_info(run)->unit_count;
    char name[16];

    snprintf(name, sizeof(name), "mxu%d", mxu);
    for (int i = 0; i < count; i++)
        if (strcmp(ntrace_unit_name(run, i), name) == 0)
            return i;
    return -1;
}

/* busy cycles of a unit in from..end - 1 */
static int64_t busy_cycles(const struct view *v, int unit, cycle_t from, cycle_t end)
{
    int64_t sum[NTRACE_CELL_COUNT];

    ntrace_sum(v->run, NTRACE_CORE, v->core, from, end, sum);
    return sum[NTRACE_CELL_UNIT + unit];
}

/* the first of `pieces` of `width` cycles from `from` on in which the unit is busy, or `pieces` */
static int first_busy_piece(const struct view *v, int unit, cycle_t from, cycle_t width, int pieces)
{
    int64_t *sum = mem_alloc((size_t)pieces * NTRACE_CELL_COUNT * sizeof(*sum));
    int i = 0;

    ntrace_cells(v->run, NTRACE_CORE, v->core, from, width, (size_t)pieces, sum);
    while (i < pieces && sum[i * NTRACE_CELL_COUNT + NTRACE_CELL_UNIT + unit] == 0)
        i++;
    mem_free(sum);
    return i;
}

/*
 * A cycle shortly before the unit first takes rows in what is shown; -1: it does not. Sums of
 * wide pieces may say a little more than there is at their borders: then it is in the next one.
 */
static cycle_t first_busy(const struct wavefront_panel *p, const struct view *v)
{
    const int unit = unit_index(v->run, p->unit);
    cycle_t from = (cycle_t)v->from, width = (cycle_t)v->end + 1 - from;
    int pieces = 1, first;

    for (;;) {
        first = unit < 0 ? pieces : first_busy_piece(v, unit, from, width, pieces);
        if (first == pieces && pieces == 1)
            return -1;
        from += first * width;
        if (width <= NTRACE_CELL_CYCLES)
            return from;
        pieces = width > PIECES * NTRACE_CELL_CYCLES
                     ? PIECES : (int)div_up(width, NTRACE_CELL_CYCLES);
        width = div_up(width, pieces);
    }
}

/* a cycle worth seeing: the first rows shown are two thirds through the array */
static void find_moment(struct wavefront_panel *p, const struct view *v)
{
    const cycle_t at = first_busy(p, v), most = ntrace_info(v->run)->cycles;

    p->from = v->from;
    p->end = v->end;
    p->moment = (cycle_t)v->from;
    if (at < 0)
        return;
    wavefront_gather(&p->wave, v->run, v->core, at, at + 4096 < most ? at + 4096 : most);
    for (size_t i = wavefront_after(&p->wave, at - WAVE_OP_CYCLES_MAX); i < p->wave.count; i++)
        if (p->wave.op[i].kind == WAVE_MULTIPLY && p->wave.op[i].end > (cycle_t)v->from) {
            p->moment = p->wave.op[i].enters + 2 * p->wave.span_cycles / 3;
            break;
        }
    if (p->moment >= (cycle_t)v->end)
        p->moment = ((cycle_t)v->from + (cycle_t)v->end) / 2;
}

static const char *why_nothing(const struct view *v)
{
    const struct ntrace_info *info = ntrace_info(v->run);

    if (info->level < TRACE_BUNDLE)
        return "This trace has no bundles, so nobody knows when rows entered the array. Record "
               "with --trace-level bundle.";
    if (!ntrace_program(v->run, v->core))
        return "This core had no program. Choose another one with the core's number above.";
    return NULL;
}

/* the frame to be shown; false where there is none */
static bool prepare(struct wavefront_panel *p, const struct view *v)
{
    const struct ntrace_info *info = ntrace_info(v->run);
    cycle_t t, ahead = 2 * p->wave.latency_cycles + 64;

    if (why_nothing(v))
        return false;
    if (p->unit >= (int)info->chip->mxu_count)
        p->unit = 0;
    if (p->run != v->run || p->core != v->core || p->wave.unit != p->unit || !p->wave.program) {
        wavefront_fini(&p->wave);
        wavefront_init(&p->wave, info->chip, ntrace_program(v->run, v->core), p->unit);
        p->run = v->run;
        p->core = v->core;
        p->from = p->end = -1;
        ahead = 2 * p->wave.latency_cycles + 64;
    }
    if (v->cursor < 0 && (p->from != v->from || p->end != v->end))
        find_moment(p, v);
    t = v->cursor >= 0 ? (cycle_t)floor(v->cursor) : p->moment;
    wavefront_gather(&p->wave, v->run, v->core, t > 4096 ? t - 4096 : 0, t + ahead);
    wavefront_frame(&p->wave, t, &p->frame);
    return true;
}

/* ---- where things are ---- */

/* as large as the middle allows, with the edges at a quarter of the array's size */
static void place_array(const struct wavefront_panel *p, const struct draw_list *d,
                        struct places *at)
{
    const int line = draw_line_height(d, TEXT_SMALL);
    struct rect room = at->middle;
    int side, edge;

    rect_cut_top(&room, line + draw_scaled(d, 4));
    at->fifo = rect_cut_bottom(&room, draw_scaled(d, 18));
    rect_cut_bottom(&room, 2 * line + draw_scaled(d, 12));
    side = (room.w < room.h ? room.w : room.h) * WAVE_EDGE_SHARE / (WAVE_EDGE_SHARE + 1);
    if (side < 2 * line)                /* too little for a picture */
        side = 0;
    if (side >= 3 * p->wave.size)       /* whole pixels look calmer, where little is lost */
        side -= side % p->wave.size;
    edge = side / WAVE_EDGE_SHARE;
    at->side = side;
    at->array = (struct rect){room.x + edge + (room.w - edge - side) / 2, room.y, side, side};
    if (p->zoom > 0) {
        at->side = p->zoom * p->wave.size;
        at->array = room;
    }
    at->fifo.x = at->array.x;
    at->fifo.w = at->array.w;
    if (p->zoom == 0)
        at->fifo.y = at->array.y + side + edge + line + draw_scaled(d, 8);
}

static struct places place(const struct wavefront_panel *p, const struct wave_picture *picture,
                           const struct draw_list *d, struct rect area)
{
    const int line = draw_line_height(d, TEXT_NORMAL), gap = draw_scaled(d, 8);
    struct rect r = rect_inset(area, draw_scaled(d, 10));
    struct places at = {.side = 0};

    at.buttons = rect_cut_top(&r, line + draw_scaled(d, 6));
    rect_cut_top(&r, gap);
    at.words = rect_cut_top(&r, (r.w > 150 * draw_char_width(d, TEXT_NORMAL) ? 2 : 3) * line);
    at.legend = layout_spare_bottom(&r, wave_legend_height(picture, d, r.w));
    rect_cut_bottom(&r, gap);
    at.strip = layout_spare_bottom(&r, wave_strip_height(d));
    rect_cut_bottom(&r, gap);
    at.left = rect_cut_left(&r, r.w / 6);
    rect_cut_left(&r, gap);
    at.right = rect_cut_right(&r, r.w > draw_scaled(d, 640) ? r.w / 4 : 0);
    rect_cut_right(&r, gap);
    at.middle = r;
    place_array(p, d, &at);
    return at;
}

static void strip_range(const struct wavefront_panel *p, cycle_t *from, cycle_t *end)
{
    const cycle_t half = p->wave.latency_cycles + 64;

    *from = p->frame.at - half;
    *end = p->frame.at + half;
}

static void clamp_zoom(struct wavefront_panel *p, const struct places *at)
{
    const int rows = p->zoom ? at->array.h / p->zoom : 0, columns = p->zoom ? at->array.w / p->zoom
                                                                            : 0;

    if (p->first_row > p->wave.size - rows)
        p->first_row = p->wave.size - rows;
    if (p->first_column > p->wave.size - columns)
        p->first_column = p->wave.size - columns;
    if (p->first_row < 0)
        p->first_row = 0;
    if (p->first_column < 0)
        p->first_column = 0;
}

/* ---- drawing ---- */

static void draw_buttons(const struct wavefront_panel *p, const struct view *v,
                         struct draw_list *d, struct rect r)
{
    const int count = (int)ntrace_info(v->run)->chip->mxu_count;
    char text[32];
    int x = r.x;

    for (int i = 0; i < count; i++) {
        snprintf(text, sizeof(text), "mxu%d", i);
        if (!rect_covers(r, layout_button_rect(d, x, r.y, text)))
            return;
        x += layout_button(d, x, r.y, v->theme, i == p->unit, text).w + draw_scaled(d, 6);
    }
    draw_text_fit(d, (struct rect){x + draw_scaled(d, 10), r.y + draw_scaled(d, 3),
                                   r.x + r.w - x - draw_scaled(d, 10), r.h}, TEXT_NORMAL,
                  theme_color(v->theme, COLOR_DIM_TEXT),
                  "Each PE keeps one weight. Values of a row go right, sums go down: a row of the "
                  "left-hand side is a diagonal.");
}

static void draw_left(const struct wavefront_panel *p, const struct wave_picture *picture,
                      struct draw_list *d, struct rect r)
{
    const int line = draw_line_height(d, TEXT_SMALL), gap = draw_scaled(d, 6);
    int side = (r.h - 4 * line - 3 * gap) / 2;

    side = side > r.w - 2 ? r.w - 2 : side;
    for (int i = 0; i < 2 && side > 0; i++) {
        const struct wave_register *g = &p->frame.staging[i];
        char text[64];

        snprintf(text, sizeof(text), "Staging register %c", 'A' + i);
        draw_text_fit(d, (struct rect){r.x, r.y, r.w, line}, TEXT_SMALL,
                      theme_color(picture->theme, COLOR_TEXT), text);
        snprintf(text, sizeof(text), "%s %d of %d %s new", g->is_columns ? "→" : "↓", g->fresh,
                 p->wave.size, g->is_columns ? "columns" : "rows");
        draw_text_fit(d, (struct rect){r.x, r.y + line, r.w, line}, TEXT_SMALL,
                      theme_color(picture->theme, COLOR_DIM_TEXT), text);
        wave_draw_staging(picture, d, (struct rect){r.x + 1, r.y + 2 * line + 2, side, side}, i);
        rect_cut_top(&r, 2 * line + side + 2 * gap);
    }
}

static cycle_t launch_begin(const struct ntrace_info *info, cycle_t t)
{
    cycle_t start = 0;

    for (size_t i = 0; i < info->launch_count && info->launch[i].start <= t; i++)
        start = info->launch[i].start;
    return start;
}

static double busy_percent(const struct wavefront_panel *p, const struct view *v)
{
    const cycle_t from = launch_begin(ntrace_info(v->run), p->frame.at), end = p->frame.at + 1;
    const int unit = unit_index(v->run, p->unit);

    return unit < 0 ? 0 : 100.0 * (double)busy_cycles(v, unit, from, end) / (double)(end - from);
}

static void draw_captions(const struct wavefront_panel *p, const struct wave_picture *picture,
                          struct draw_list *d, const struct places *at)
{
    const rgba_t dim = theme_color(picture->theme, COLOR_DIM_TEXT);
    const int line = draw_line_height(d, TEXT_SMALL), gap = draw_scaled(d, 4);
    const int size = p->wave.size, in = draw_text_width(d, TEXT_SMALL, "rows in → ");
    const int width = at->middle.x + at->middle.w - at->array.x;
    struct rect above = {at->array.x, at->array.y - line - gap, width, line};
    struct rect below = {at->array.x, at->fifo.y - line - gap, width, line};
    char text[160];

    if (p->zoom > 0) {
        snprintf(text, sizeof(text), "array rows %d.., columns %d.. of %d; the number in a PE is "
                 "the row that it multiplies", p->first_row, p->first_column, size);
    } else {
        snprintf(text, sizeof(text), "array of %d x %d PEs", size, size);
        if (at->array.x - in >= at->left.x + at->left.w)
            draw_text_fit(d, (struct rect){at->array.x - in, above.y, in, line}, TEXT_SMALL, dim,
                          "rows in →");
    }
    draw_text_fit(d, above, TEXT_SMALL, dim, text);
    snprintf(text, sizeof(text), p->wave.accumulators ?
             "↓ sums into accumulators" : "↓ sums into the FIFO of %d",
             p->wave.fifo_depth);
    draw_text_fit(d, below, TEXT_SMALL, dim, text);
}

static void draw(void *state, const struct view *v, struct draw_list *d, struct rect area)
{
    struct wavefront_panel *p = state;
    struct wave_picture picture;
    struct places at;
    char words[1024];
    cycle_t from, end;

    if (!prepare(p, v)) {
        layout_nothing(d, area, v->theme, why_nothing(v));
        return;
    }
    wave_picture_begin(&picture, &p->wave, &p->frame, v->theme);
    at = place(p, &picture, d, area);
    clamp_zoom(p, &at);
    picture.side = at.side;
    picture.first_row = p->zoom ? p->first_row : 0;
    picture.first_column = p->zoom ? p->first_column : 0;
    draw_buttons(p, v, d, at.buttons);
    layout_paragraph(d, at.words, TEXT_NORMAL, theme_color(v->theme, COLOR_TEXT),
                     wavefront_explain(&p->wave, &p->frame, words, sizeof(words)));
    draw_left(p, &picture, d, at.left);
    if (at.right.w > 0)
        wave_draw_numbers(&picture, d, at.right, busy_percent(p, v));
    if (at.side > 0) {
        draw_captions(p, &picture, d, &at);
        wave_draw_array(&picture, d, at.array);
        if (p->zoom == 0)
            wave_draw_edges(&picture, d, at.array);
        if (p->wave.accumulators == 0)
            wave_draw_fifo(&picture, d, at.fifo);
    }
    strip_range(p, &from, &end);
    if (at.strip.h > 0)
        wave_draw_strip(&picture, d, at.strip, from, end);
    wave_legend(&picture, d, at.legend);
}

/* ---- input ---- */

static bool press_button(struct wavefront_panel *p, const struct view *v,
                         const struct draw_list *d, const struct input *i, struct rect r)
{
    const int count = (int)ntrace_info(v->run)->chip->mxu_count;
    char text[32];
    int x = r.x;

    for (int unit = 0; unit < count; unit++) {
        struct rect button;

        snprintf(text, sizeof(text), "mxu%d", unit);
        button = layout_button_rect(d, x, r.y, text);
        if (rect_has(button, i->x, i->y)) {
            p->unit = unit;
            return true;
        }
        x += button.w + draw_scaled(d, 6);
    }
    return false;
}

/* of so many pixels from the first shown */
static int pe_at(const struct wavefront_panel *p, const struct places *at, int pixels)
{
    return at->side > 0 ? pixels * p->wave.size / at->side : 0;
}

static void zoom(struct wavefront_panel *p, const struct places *at, const struct input *i)
{
    const int cell = at->side / p->wave.size, fit = at->array.w / p->wave.size;
    const int row = p->first_row + pe_at(p, at, i->y - at->array.y);
    const int column = p->first_column + pe_at(p, at, i->x - at->array.x);
    int to = i->dy > 0 ? cell * 3 / 2 + 1 : cell * 2 / 3;

    to = to > ZOOM_MAX_PIXELS ? ZOOM_MAX_PIXELS : to;
    p->zoom = to <= fit || to < 4 ? 0 : to;
    if (p->zoom == 0) {
        p->first_row = p->first_column = 0;
        return;
    }
    p->first_row = row - (i->y - at->array.y) / to;
    p->first_column = column - (i->x - at->array.x) / to;
}

static void go_to(struct view *v, double cycle)
{
    const double last = (double)ntrace_info(v->run)->cycles - 1;

    v->cursor = cycle < 0 ? 0 : cycle > last ? last : cycle;
}

/* from what is shown on, also where that is the panel's own choice; so does playing */
static bool step(struct wavefront_panel *p, struct view *v, const struct input *i)
{
    const double by = i->has_shift ? 10 : 1;

    if (i->key == ' ' && v->cursor < 0)
        go_to(v, (double)p->frame.at);
    if (i->key != '.' && i->key != ',')
        return false;
    go_to(v, (double)p->frame.at + (i->key == '.' ? by : -by));
    return true;
}

static bool point(struct wavefront_panel *p, struct view *v, const struct places *at,
                  const struct draw_list *d, const struct input *i)
{
    struct rect lanes = at->strip;
    cycle_t from, end;

    if (i->kind == INPUT_WHEEL && rect_has(at->array, i->x, i->y)) {
        zoom(p, at, i);
        return true;
    }
    if (i->kind == INPUT_DRAG && p->zoom > 0 && rect_has(at->array, i->x, i->y)) {
        p->first_row -= i->dy / p->zoom;
        p->first_column -= i->dx / p->zoom;
        return true;
    }
    if (i->kind != INPUT_PRESS && i->kind != INPUT_DRAG)
        return false;
    if (i->kind == INPUT_PRESS && press_button(p, v, d, i, at->buttons))
        return true;
    rect_cut_left(&lanes, draw_text_width(d, TEXT_SMALL, "weights in "));
    if (i->kind != INPUT_PRESS || !rect_has(lanes, i->x, i->y))
        return false;
    strip_range(p, &from, &end);
    go_to(v, floor((double)from + (double)(end - from) * (i->x - lanes.x) / lanes.w));
    return true;
}

static bool input(void *state, struct view *v, const struct input *i, const struct draw_list *d,
                  struct rect area)
{
    struct wavefront_panel *p = state;
    struct wave_picture picture;
    struct places at;
    bool is_used;

    if (!prepare(p, v))
        return false;
    if (i->kind == INPUT_KEY)
        return step(p, v, i);
    wave_picture_begin(&picture, &p->wave, &p->frame, v->theme);
    at = place(p, &picture, d, area);
    is_used = point(p, v, &at, d, i);
    return is_used;
}

/* ---- hovering ---- */

/* where the weight of a PE comes from: of the gain register that `o` uses, or of the newest */
static void describe_weight(const struct wavefront_panel *p, const struct wave_op *o, int row,
                            int column, char *buf, size_t bytes)
{
    const struct wave_op *const *gain = p->frame.gain;
    const struct wave_op *latch = o ? gain[o->reg] : gain[0], *push;
    struct wave_register held;

    if (!o && (!latch || (gain[1] && gain[1]->start > latch->start)))
        latch = gain[1];
    if (!latch) {
        snprintf(buf, bytes, "none that was loaded in the part of the run looked at");
        return;
    }
    if (o && o->weights != latch->weights) {
        snprintf(buf, bytes, "that of an earlier vlgmr");
        return;
    }
    wavefront_register(&p->wave, latch->latches, latch->start - 1, &held);
    push = held.push[held.is_columns ? column : row];
    if (push)
        wavefront_describe(&p->wave, push, buf, bytes);
    else
        snprintf(buf, bytes, "zero: nothing was pushed here");
}

static const char *hover_pe(const struct wavefront_panel *p, int row, int column, struct arena *a)
{
    const struct wave_diagonal *g = &p->frame.diagonal[row + column];
    char op[300], weight[300];

    describe_weight(p, g->op, row, column, weight, sizeof(weight));
    if (!g->op)
        return arena_printf(a, "PE of row %d, column %d: idle\nweight: %s", row, column, weight);
    wavefront_describe(&p->wave, g->op, op, sizeof(op));
    return arena_printf(a, "PE of row %d, column %d: multiplies row %lld, element %d\n%s\n"
                        "weight: %s", row, column, (long long)(g->op->rows_before + g->row), row,
                        op, weight);
}

static const char *hover(void *state, const struct view *v, const struct draw_list *d,
                         struct rect area, int x, int y, struct arena *a)
{
    struct wavefront_panel *p = state;
    struct wave_picture picture;
    struct places at;
    int row, column;

    if (!prepare(p, v))
        return "";
    wave_picture_begin(&picture, &p->wave, &p->frame, v->theme);
    at = place(p, &picture, d, area);
    row = p->first_row + pe_at(p, &at, y - at.array.y);
    column = p->first_column + pe_at(p, &at, x - at.array.x);
    if (!rect_has(at.array, x, y) || row >= p->wave.size || column >= p->wave.size)
        return "";
    return hover_pe(p, row, column, a);
}

const struct panel_class panel_wavefront = {
    .state_bytes = sizeof(struct wavefront_panel), .init = init, .fini = fini, .draw = draw,
    .input = input, .hover = hover};
