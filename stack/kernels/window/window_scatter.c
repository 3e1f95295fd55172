/*
 * Select-and-scatter along dimensions outside tiles: the gradient of max
 * pooling. A step makes some rows of the result: for each place of the window
 * that reaches them it notes the tap that the place has chosen, beside the
 * place's source, in scratch memory; then each result tile adds the sources of
 * the places that have chosen it, in the order of the places. Places that reach
 * rows of two steps are looked at twice.
 */
#include "stack/kernels/window/kernel_window.h"

#include <string.h>

#include "base/units.h"
#include "stack/kernels/window/window_combine.h"
#include "stack/kernels/move/move_pieces.h"
#include "stack/kernels/window/window_runs.h"

#define PIECES_MAX 3
#define PLACES_MAX 16                   /* that a step makes the rows of */

enum { WINDOW_X, WINDOW_SOURCE, WINDOW_RESULT, WINDOWS };

/* what a step works on along the dimension that the pipeline steps along: first .. end - 1 */
struct piece {
    int64_t row_first, row_end, place_first, place_end, x_first, x_end;
    int64_t steps, places;              /* of the pipeline, each so many places on */
};

struct scatter {
    const struct kernel_job *job;
    const struct graph_node *node;
    const struct array *x, *source, *to;
    struct window_runs forward[GRAPH_RANK_MAX], back[GRAPH_RANK_MAX];
    int along, parts;
    struct piece piece[PIECES_MAX];
    int piece_count;
    const struct piece *now;            /* planned last */
    /* of the piece at hand */
    struct move_box box;
    struct array view[WINDOWS];
    int64_t chunk, rows[WINDOWS][GRAPH_RANK_MAX], pair[GRAPH_RANK_MAX];
};

static int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
static int64_t at_least(int64_t x, int64_t least) { return x > least ? x : least; }
static int64_t at_most(int64_t x, int64_t most) { return x < most ? x : most; }

/* the places whose window holds element i: taps of them, from in_first on; the tap falls */
static struct window_run places_of(const struct graph_window *w, int64_t places, int64_t i)
{
    int64_t first = at_least(floor_div(i + w->pad_low - w->size, w->stride) + 1, 0);
    int64_t last = at_most(floor_div(i + w->pad_low, w->stride), places - 1);
    struct window_run r = {.first = i, .count = 1, .step = w->stride, .in_step = 1, .tap_in = 1};

    if (last < first)
        return r;
    r.in_first = first;
    r.taps = last - first + 1;
    r.tap_first = i + w->pad_low - first * w->stride;
    return r;
}

static int list_back(const struct graph_window *w, int64_t size, int64_t places,
                     struct window_runs *out)
{
    out->count = 0;
    for (int64_t i = 0; i < size; i++) {
        struct window_run r = places_of(w, places, i);
        int k = 0;

        for (; k < out->count; k++) {
            struct window_run *x = &out->run[k];

            if (x->first + x->count * x->step == i && x->taps == r.taps &&
                x->tap_first == r.tap_first && (!r.taps || x->in_first + x->count == r.in_first))
                break;
        }
        if (k == WINDOW_RUNS_MAX)
            return -1;
        if (k == out->count)
            out->run[out->count++] = r;
        else
            out->run[k].count++;
    }
    return 0;
}

static bool same_order(const struct array *a, const struct array *b)
{
    return !a->is_linear && !memcmp(a->order, b->order, sizeof(a->order));
}

static int scatter_init(struct scatter *s, const struct kernel_job *job)
{
    const struct graph_node *n = &job->body->node[job->body->output[0].node];
    const struct graph_node *x = &job->body->node[n->operand[0]];

    memset(s, 0, sizeof(*s));
    s->job = job;
    s->node = n;
    s->to = job->result[0];
    s->along = -1;
    if (n->op != HLO_SELECT_AND_SCATTER || x->op != HLO_PARAMETER ||
        job->body->node[n->operand[1]].op != HLO_PARAMETER || n->shape.dtype == DTYPE_U32)
        return -1;
    s->x = job->operand[x->parameter_index];
    s->source = job->operand[job->body->node[n->operand[1]].parameter_index];
    s->parts = window_tile_parts(s->x);
    if (!same_order(s->x, s->to) || !same_order(s->source, s->to) || s->parts > 2 ||
        !window_is_trivial(&n->window[s->to->lane_dim]) ||
        !window_is_trivial(&n->window[s->to->row_dim]))
        return -1;
    for (int i = 0; i < s->to->outer_count; i++) {
        int d = s->to->outer_dim[i];
        int64_t size = s->x->shape.dim[d], places = s->source->shape.dim[d];

        if (window_is_trivial(&n->window[d]))
            continue;
        s->along = s->along < 0 ? d : s->along;
        if (window_list_runs(&n->window[d], size, places, &s->forward[d]) ||
            list_back(&n->window[d], size, places, &s->back[d]))
            return -1;
    }
    return s->along < 0 ? -1 : 0;
}

/* rows row_first .. row_end - 1, with the places and elements that they need */
static struct piece piece_of(const struct scatter *s, int64_t row_first, int64_t row_end,
                             int64_t place_first, int64_t place_end)
{
    const struct graph_window *w = &s->node->window[s->along];
    int64_t size = s->x->shape.dim[s->along], places = s->source->shape.dim[s->along];
    struct piece p = {.row_first = row_first, .row_end = row_end, .steps = 1};

    p.place_first = at_most(at_least(place_first, 0), places - 1);
    p.place_end = at_least(at_most(place_end, places), p.place_first + 1);
    p.x_first = at_most(at_least(p.place_first * w->stride - w->pad_low, 0), size - 1);
    p.x_end = at_least(at_most((p.place_end - 1) * w->stride - w->pad_low + w->size, size),
                       p.x_first + 1);
    return p;
}

/* first rows, steps of `each` places that see no edge, last rows */
static void cut_pieces(struct scatter *s, int64_t each)
{
    const struct graph_window *w = &s->node->window[s->along];
    int64_t size = s->x->shape.dim[s->along], places = s->source->shape.dim[s->along];
    int64_t behind = (w->size - 1) / w->stride;         /* earlier places that reach a row */
    int64_t first = behind + at_least((w->pad_low + w->stride - 1) / w->stride, 0);
    int64_t reach = at_least(w->size, w->stride);       /* of a place: rows that it may make */
    int64_t end = at_most(floor_div(size + w->pad_low - reach, w->stride) + 1, places);
    int64_t steps = end > first ? (end - first) / each : 0, row, last;

    s->piece_count = 0;
    if (!steps) {
        s->piece[s->piece_count++] = piece_of(s, 0, size, 0, places);
        return;
    }
    row = first * w->stride - w->pad_low;
    if (row > 0)
        s->piece[s->piece_count++] = piece_of(s, 0, row, 0, first);
    s->piece[s->piece_count] = piece_of(s, row, row + each * w->stride, first - behind,
                                        first + each);
    s->piece[s->piece_count].steps = steps;
    s->piece[s->piece_count++].places = each;
    last = row + steps * each * w->stride;
    if (last < size)
        s->piece[s->piece_count++] = piece_of(s, last, size, first + steps * each - behind,
                                              places);
}

/* ----- windows of a piece */

static int plan_windows(struct scatter *s, const struct piece *p)
{
    const struct array *array[WINDOWS] = {s->x, s->source, s->to};
    int64_t first[WINDOWS] = {p->x_first, p->place_first, p->row_first};
    int64_t end[WINDOWS] = {p->x_end, p->place_end, p->row_end};
    struct pipeline *f = &s->box.pipeline;

    *f = (struct pipeline){.job = s->job, .window_count = WINDOWS};
    for (int w = 0; w < WINDOWS; w++) {
        s->view[w] = *array[w];
        f->window[w] = (struct pipeline_window){.array = &s->view[w],
                                                .is_result = w == WINDOW_RESULT};
        window_add_dim(&f->window[w], s->chunk, 1);
        s->view[w].address += first[w] * array_outer_stride(array[w], s->along)
                              * ARRAY_TILE_BYTES;
        for (int i = s->to->outer_count - 1; i >= 0; i--) {
            int d = s->to->outer_dim[i];
            int64_t count = d == s->along ? end[w] - first[w] : array[w]->shape.dim[d];

            if (!window_is_trivial(&s->node->window[d]) &&
                window_add_dim(&f->window[w], count, array_outer_stride(array[w], d)))
                return -1;
        }
    }
    return 0;
}

static int plan_grid(struct scatter *s, const struct piece *p)
{
    const struct array *array[WINDOWS] = {s->x, s->source, s->to};
    int64_t stride = s->node->window[s->along].stride, step[WINDOWS];
    int64_t ahead[WINDOWS] = {p->places * stride, p->places, p->places * stride};
    struct pipeline *f = &s->box.pipeline;

    for (int i = 0; i < s->to->outer_count; i++) {
        int d = s->to->outer_dim[i];

        for (int w = 0; w < WINDOWS; w++)
            step[w] = array_outer_stride(array[w], d);
        if (window_is_trivial(&s->node->window[d]) &&
            window_add_grid(f, s->to->shape.dim[d], step))
            return -1;
    }
    if (window_add_grid(f, window_inner_tiles(s->to) / s->chunk,
                        (int64_t[]){s->chunk, s->chunk, s->chunk}))
        return -1;
    for (int w = 0; w < WINDOWS; w++)
        step[w] = ahead[w] * array_outer_stride(array[w], s->along);
    if (window_add_grid(f, p->steps, step))
        return -1;
    if (!f->dims) {
        f->dims = 1;
        f->count[0] = 1;
    }
    return 0;
}

static int plan_piece(struct scatter *s, const struct piece *p)
{
    struct pipeline *f = &s->box.pipeline;
    int64_t pair = 2 * s->parts * MOVE_SUBLANES * s->chunk;
    int k = 1;

    s->now = p;
    s->box.job = s->job;
    if (plan_windows(s, p) || plan_grid(s, p))
        return -1;
    for (int i = s->to->outer_count - 1; i >= 0; i--) {
        int d = s->to->outer_dim[i];

        if (window_is_trivial(&s->node->window[d]))
            continue;
        for (int w = 0; w < WINDOWS; w++)
            s->rows[w][d] = pipeline_stride(f, w, k);
        k++;
        s->pair[d] = pair;
        pair *= d == s->along ? p->place_end - p->place_first : s->source->shape.dim[d];
    }
    f->scratch_rows = pair;
    pipeline_share(f, 0);
    return pipeline_flag_count(f) > s->job->flag_count ||
           pipeline_vmem_rows(f) + MOVE_SPILL_ROWS > s->job->vmem_rows ? -1 : 0;
}

/* ----- code of a step */

struct choice {
    struct scatter *s;
    const struct piece *piece;
    bool is_back;
    struct window_run run[GRAPH_RANK_MAX];      /* by dimension; count 0: no window */
};

static struct move_place pair_place(const struct move_step *m, int64_t row)
{
    return (struct move_place){
        I(0), m->is_counted ? 0 : pipeline_scratch_row(&m->box->pipeline) + row, WINDOWS};
}

/* number of a tap in row-major order */
static int64_t tap_number(const struct choice *c, const int64_t *at)
{
    int64_t number = 0;

    for (int d = 0; d < c->s->to->shape.rank; d++) {
        const struct graph_window *w = &c->s->node->window[d];
        int64_t k = !c->run[d].count ? 0
                    : c->is_back ? c->run[d].tap_first - at[d] * w->stride
                                 : c->run[d].tap_first + at[d];

        number = number * w->size + k;
    }
    return number;
}

static bool next_at(const struct choice *c, int64_t *at)
{
    for (int d = c->s->to->shape.rank - 1; d >= 0; d--) {
        if (c->run[d].count && ++at[d] < c->run[d].taps)
            return true;
        at[d] = 0;
    }
    return false;
}

static bool sees_nothing(const struct choice *c)
{
    for (int d = 0; d < c->s->to->shape.rank; d++)
        if (c->run[d].count && !c->run[d].taps)
            return true;
    return false;
}

static int load_parts(struct move_step *m, const struct choice *c, struct move_place at, int *part)
{
    int v = move_load_rows(m, at, 1, 0, MOVE_SUBLANES);

    m->valu += c->s->parts > 1 ? 2 : 0;
    m->ops += 3;
    if (!m->is_counted)
        window_unpack(&m->m, c->s->x->shape.dtype, c->s->parts, v, part);
    return v;
}

/* the tap that each element of a tile of places has chosen */
static void choose_tap(struct move_loops *l, struct move_place from, struct move_place to)
{
    const struct choice *c = l->user;
    const struct scatter *s = c->s;
    struct move_step *m = l->step;
    int64_t at[GRAPH_RANK_MAX] = {0};
    int best[2] = {-1, -1}, chosen[2] = {-1, -1}, part[2];

    m->store += s->parts;
    do {
        int64_t row = 0;
        int32_t tap = (int32_t)tap_number(c, at);

        for (int d = 0; d < s->to->shape.rank; d++)
            row += at[d] * s->rows[WINDOW_X][d];
        if (sees_nothing(c))
            break;
        load_parts(m, c, move_behind(from, row), part);
        m->valu += 4 * s->parts;
        m->ops += 4 * s->parts;
        for (int i = 0; i < s->parts && !m->is_counted; i++) {
            int mask;

            if (best[i] < 0) {
                best[i] = part[i];
                chosen[i] = emit_vmov(m->m.code, I(tap));
                continue;
            }
            mask = window_takes_over(&m->m, s->node->direction, s->x->shape.dtype, best[i],
                                     part[i]);
            best[i] = emit_vsel(m->m.code, mask, R(part[i]), R(best[i]));
            chosen[i] = emit_vsel(m->m.code, mask, I(tap), R(chosen[i]));
        }
    } while (next_at(c, at));
    for (int i = 0; i < s->parts && !m->is_counted; i++)
        move_store_op(m, move_behind(to, i * MOVE_SUBLANES), 1, 0xff, -1,
                      chosen[i] < 0 ? emit_vmov(m->m.code, I(-1)) : chosen[i]);
}

/* a tile of the source, beside what was chosen there */
static void keep_source(struct move_loops *l, struct move_place from, struct move_place to)
{
    const struct choice *c = l->user;
    int part[2], parts = c->s->parts;

    l->step->store += parts;
    load_parts(l->step, c, from, part);
    for (int i = 0; i < parts && !l->step->is_counted; i++)
        move_store_op(l->step, move_behind(to, (parts + i) * MOVE_SUBLANES), 1, 0xff, -1, part[i]);
}

/* a tile of the result: the sources of places that have chosen it */
static void add_sources(struct move_loops *l, struct move_place from, struct move_place to)
{
    const struct choice *c = l->user;
    const struct scatter *s = c->s;
    struct move_step *m = l->step;
    int64_t at[GRAPH_RANK_MAX] = {0};
    int sum[2] = {-1, -1};

    m->store++;
    do {
        int64_t row = 0;
        int32_t tap = (int32_t)tap_number(c, at);

        for (int d = 0; d < s->to->shape.rank; d++)
            row += at[d] * s->pair[d];
        if (sees_nothing(c))
            break;
        for (int i = 0; i < s->parts; i++) {
            struct move_place pair = move_behind(from, row + i * MOVE_SUBLANES);
            int chosen = move_load_rows(m, pair, 1, 0, MOVE_SUBLANES), mask;
            int value = move_load_rows(m, move_behind(pair, s->parts * MOVE_SUBLANES), 1, 0,
                                       MOVE_SUBLANES);

            m->valu += 3;
            m->ops += 5;
            if (m->is_counted)
                continue;
            mask = emit_vcmp_eq_s32(m->m.code, R(chosen), I(tap));
            value = emit_vsel(m->m.code, mask, R(value), I(0));
            sum[i] = sum[i] < 0 ? value
                                : window_combine(&m->m, REDUCE_ADD, s->x->shape.dtype, -1, sum[i],
                                                 R(value));
        }
    } while (next_at(c, at));
    if (m->is_counted)
        return;
    for (int i = 0; i < s->parts; i++)
        sum[i] = sum[i] < 0 ? emit_vmov(m->m.code, I(0)) : sum[i];
    move_store_op(m, to, 1, 0xff, -1, window_pack(&m->m, s->parts, sum));
}

/* the part of a run from first to end - 1 */
static struct window_run restricted(struct window_run r, int64_t first, int64_t end)
{
    int64_t skip = r.first < first ? (first - r.first + r.step - 1) / r.step : 0;

    r.count = at_most(r.count, at_least((end - 1 - r.first) / r.step + 1, 0)) - skip;
    if (r.first >= end || r.count < 0)
        r.count = 0;
    r.first += skip * r.step;
    r.in_first += skip * r.in_step;
    return r;
}

static void emit_choice(struct move_step *m, struct choice *c)
{
    const struct scatter *s = c->s;
    const struct piece *p = c->piece;
    struct move_loops l = {.step = m, .user = c, .units = 4,
                           .body = c->is_back ? add_sources : choose_tap};
    int64_t from = 0, to = 0, pair = 2 * s->parts * MOVE_SUBLANES;

    for (int d = 0; d < s->to->shape.rank; d++) {
        const struct window_run *r = &c->run[d];
        int64_t in = c->is_back ? s->pair[d] : s->rows[WINDOW_X][d];
        int64_t out = c->is_back ? s->rows[WINDOW_RESULT][d] : s->pair[d];
        int64_t in_low = d != s->along ? 0 : c->is_back ? p->place_first : p->x_first;
        int64_t out_low = d != s->along ? 0 : c->is_back ? p->row_first : p->place_first;

        if (!r->count)
            continue;
        from += r->taps ? (r->in_first - in_low) * in : 0;
        to += (r->first - out_low) * out;
        move_add_loop(&l, r->count, r->in_step * in, r->step * out);
    }
    move_add_loop(&l, s->chunk, c->is_back ? pair : MOVE_SUBLANES,
                  c->is_back ? MOVE_SUBLANES : pair);
    if (c->is_back)
        move_run_loops(&l, pair_place(m, from), window_place(m, WINDOW_RESULT, to));
    else
        move_run_loops(&l, window_place(m, WINDOW_X, from), pair_place(m, to));
}

/* every combination of runs */
static void emit_choices(struct move_step *m, struct choice *c, int dim)
{
    const struct scatter *s = c->s;
    const struct window_runs *runs = c->is_back ? &s->back[dim] : &s->forward[dim];
    const struct piece *p = c->piece;

    if (dim == s->to->shape.rank) {
        emit_choice(m, c);
        return;
    }
    c->run[dim] = (struct window_run){0};
    if (!s->forward[dim].count)
        emit_choices(m, c, dim + 1);
    for (int i = 0; i < runs->count && !m->is_refused; i++) {
        c->run[dim] = runs->run[i];
        if (dim == s->along)
            c->run[dim] = restricted(runs->run[i], c->is_back ? p->row_first : p->place_first,
                                     c->is_back ? p->row_end : p->place_end);
        if (c->run[dim].count)
            emit_choices(m, c, dim + 1);
    }
}

static void emit_sources(struct move_step *m, struct choice *c)
{
    const struct scatter *s = c->s;
    struct move_loops l = {.step = m, .user = c, .units = 2, .body = keep_source};

    for (int d = 0; d < s->to->shape.rank; d++)
        if (s->forward[d].count)
            move_add_loop(&l, d == s->along ? c->piece->place_end - c->piece->place_first
                                            : s->source->shape.dim[d],
                          s->rows[WINDOW_SOURCE][d], s->pair[d]);
    move_add_loop(&l, s->chunk, MOVE_SUBLANES, 2 * s->parts * MOVE_SUBLANES);
    move_run_loops(&l, window_place(m, WINDOW_SOURCE, 0), pair_place(m, 0));
}

static void emit_step(struct move_step *m, void *user)
{
    struct scatter *s = user;
    struct choice c = {.s = s, .piece = s->now};

    emit_choices(m, &c, 0);
    emit_sources(m, &c);
    c.is_back = true;
    emit_choices(m, &c, 0);
}

/* ----- the way */

static int64_t piece_cycles(void *user, int piece)
{
    struct scatter *s = user;
    struct move_pieces w = {.user = s, .box = &s->box, .step = emit_step};

    return plan_piece(s, &s->piece[piece]) ? INT64_MAX : move_piece_cycles(&w);
}

/* the cheapest number of inner tiles and places of a step; INT64_MAX: none fits */
static int64_t choose_pieces(struct scatter *s)
{
    int64_t tiles = window_inner_tiles(s->to), best = INT64_MAX, chunk = 0, each = 1;

    for (int64_t places = 1; places <= PLACES_MAX; places *= 2)
        for (s->chunk = 1; s->chunk <= tiles; s->chunk++) {
            struct move_pieces w = {.user = s, .plan = piece_cycles};
            int64_t cycles;

            if (tiles % s->chunk)
                continue;
            cut_pieces(s, places);
            w.count = s->piece_count;
            cycles = move_pieces_cycles(&w);
            if (cycles == INT64_MAX)
                break;
            if (cycles < best) {
                best = cycles;
                chunk = s->chunk;
                each = places;
            }
        }
    s->chunk = chunk;
    cut_pieces(s, each);
    return best;
}

static int64_t cost_scatter(const struct kernel_job *job)
{
    struct scatter *s = mem_alloc(sizeof(*s));
    int64_t cycles = scatter_init(s, job) ? INT64_MAX : choose_pieces(s);

    mem_free(s);
    return cycles;
}

/* whose cycles have been counted when the pieces were chosen */
static int64_t plan_next(void *user, int piece)
{
    struct scatter *s = user;

    return plan_piece(s, &s->piece[piece]) ? INT64_MAX : 0;
}

static int emit_scatter(const struct kernel_job *job, struct arena *a, struct segment *out,
                        struct err *e)
{
    struct scatter *s = mem_alloc(sizeof(*s));
    struct move_pieces w = {.user = s, .plan = plan_next, .box = &s->box, .step = emit_step};
    int status;

    scatter_init(s, job);
    choose_pieces(s);
    w.count = s->piece_count;
    status = move_pieces_emit(job, &w, a, out, e);
    mem_free(s);
    return status;
}

const struct move_way window_scatter = {cost_scatter, emit_scatter};
