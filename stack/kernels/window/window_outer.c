/*
 * Reduce-window along dimensions outside tiles: a result tile is combined of
 * whole operand tiles. The dimensions under the window that lie inside are held
 * whole in a step; along the outermost one the pipeline steps, a few places at a
 * time, and where the window meets padding there is a pipeline of its own.
 */
#include "stack/kernels/window/kernel_window.h"

#include <string.h>

#include "base/units.h"
#include "stack/kernels/window/window_combine.h"
#include "stack/kernels/move/move_pieces.h"
#include "stack/kernels/window/window_runs.h"


struct outer {
    const struct kernel_job *job;
    const struct graph_node *node;
    const struct array *from, *to;
    struct window_runs runs[GRAPH_RANK_MAX];   /* by dimension; of those without a window none */
    int along;                          /* the dimension along which the pipeline steps */
};

static int outer_init(struct outer *o, const struct kernel_job *job)
{
    const struct graph_node *n = &job->body->node[job->body->output[0].node], *x;

    *o = (struct outer){.job = job, .node = n, .to = job->result[0], .along = -1};
    x = &job->body->node[n->operand[0]];
    if (n->op != HLO_REDUCE_WINDOW || x->op != HLO_PARAMETER)
        return -1;
    o->from = job->operand[x->parameter_index];
    if (o->from->is_linear || memcmp(o->from->order, o->to->order, sizeof(o->to->order)) ||
        !window_is_trivial(&n->window[o->to->lane_dim]) ||
        !window_is_trivial(&n->window[o->to->row_dim]))
        return -1;
    for (int i = 0; i < o->to->outer_count; i++) {
        int d = o->to->outer_dim[i];

        if (window_is_trivial(&n->window[d]))
            continue;
        o->along = o->along < 0 ? d : o->along;
        if (window_list_runs(&n->window[d], o->from->shape.dim[d], o->to->shape.dim[d],
                             &o->runs[d]))
            return -1;
    }
    return o->along < 0 ? -1 : 0;
}

/* ----- one region: a run of places along `along` */

struct region {
    const struct outer *outer;
    const struct window_run *run;
    struct move_box box;                /* job and pipeline */
    struct array from, to;              /* as the region sees them */
    int64_t chunk, places;              /* inner tiles and places of a step */
    int64_t from_step[GRAPH_RANK_MAX], to_step[GRAPH_RANK_MAX];   /* rows in the boxes */
};

/* operand elements along `along` that `places` places see */
static int64_t reach(const struct window_run *r, int64_t places)
{
    return (places - 1) * r->in_step + (r->taps ? (r->taps - 1) * r->tap_in : 0) + 1;
}

/* boxes: inner tiles, the dimensions under the window from the minor one on */
static int plan_windows(struct region *g)
{
    const struct outer *o = g->outer;
    struct pipeline_window *from = &g->box.pipeline.window[0], *to = &g->box.pipeline.window[1];
    struct pipeline *f = &g->box.pipeline;

    g->from = *o->from;
    g->to = *o->to;
    *f = (struct pipeline){.job = o->job, .window_count = 2};
    *from = (struct pipeline_window){.array = &g->from};
    *to = (struct pipeline_window){.array = &g->to, .is_result = true};
    window_add_dim(from, g->chunk, 1);
    window_add_dim(to, g->chunk, 1);
    for (int i = o->to->outer_count - 1; i >= 0; i--) {
        int d = o->to->outer_dim[i];
        int64_t in = array_outer_stride(o->from, d), out = array_outer_stride(o->to, d);

        if (d == o->along) {
            g->from.address += g->run->in_first * in * ARRAY_TILE_BYTES;
            g->to.address += g->run->first * out * ARRAY_TILE_BYTES;
        }
        if (d == o->along ? window_add_dim(from, reach(g->run, g->places), in) ||
                            window_add_dim(to, g->places, out * g->run->step)
                          : !window_is_trivial(&o->node->window[d]) &&
                            (window_add_dim(from, o->from->shape.dim[d], in) ||
                             window_add_dim(to, o->to->shape.dim[d], out)))
            return -1;
        g->from_step[d] = g->to_step[d] = 0;
    }
    return 0;
}

/* 0 if the steps of this size can be made and fit */
static int plan_region(struct region *g)
{
    const struct outer *o = g->outer;
    struct pipeline *f = &g->box.pipeline;

    g->box.job = o->job;
    if (plan_windows(g))
        return -1;
    for (int i = 0; i < o->to->outer_count; i++) {
        int d = o->to->outer_dim[i];

        if (window_is_trivial(&o->node->window[d]) &&
            window_add_grid(f, o->to->shape.dim[d],
                            (int64_t[]){array_outer_stride(o->from, d),
                                        array_outer_stride(o->to, d)}))
            return -1;
    }
    if (window_add_grid(f, window_inner_tiles(o->to) / g->chunk, (int64_t[]){g->chunk, g->chunk}) ||
        window_add_grid(f, g->run->count / g->places,
                        (int64_t[]){g->places * g->run->in_step
                                        * array_outer_stride(o->from, o->along),
                                    g->places * g->run->step
                                        * array_outer_stride(o->to, o->along)}))
        return -1;
    if (!f->dims) {
        f->dims = 1;
        f->count[0] = 1;
    }
    pipeline_share(f, 0);
    return pipeline_flag_count(f) > o->job->flag_count ||
           pipeline_vmem_rows(f) + MOVE_SPILL_ROWS > o->job->vmem_rows ? -1 : 0;
}

static void resolve_region(struct region *g)
{
    const struct outer *o = g->outer;
    int k = 1;

    for (int i = o->to->outer_count - 1; i >= 0; i--) {
        int d = o->to->outer_dim[i];

        if (d != o->along && window_is_trivial(&o->node->window[d]))
            continue;
        g->from_step[d] = pipeline_stride(&g->box.pipeline, 0, k);
        g->to_step[d] = pipeline_stride(&g->box.pipeline, 1, k++);
    }
}

/* ----- the code of a step: one combination of runs */

struct taps {
    const struct region *region;
    const struct window_run *run[GRAPH_RANK_MAX];      /* by dimension, NULL: no window */
};

/* row-major order of the taps, as the dimensions stand in the shape */
static bool next_tap(const struct taps *t, int rank, int64_t *tap)
{
    for (int d = rank - 1; d >= 0; d--) {
        if (t->run[d] && ++tap[d] < t->run[d]->taps)
            return true;
        tap[d] = 0;
    }
    return false;
}

static void combine_tile(struct move_loops *l, struct move_place from, struct move_place to)
{
    const struct taps *t = l->user;
    const struct outer *o = t->region->outer;
    struct move_step *s = l->step;
    enum graph_dtype dtype = o->from->shape.dtype;
    int parts = window_tile_parts(o->from), rank = o->from->shape.rank, sum[4] = {-1, -1, -1, -1};
    int64_t tap[GRAPH_RANK_MAX] = {0};
    bool is_empty = false;

    for (int d = 0; d < rank; d++)
        is_empty |= t->run[d] && !t->run[d]->taps;
    s->store++;
    s->ops += 4;
    do {
        int64_t row = 0;
        int part[4], v;

        for (int d = 0; d < rank; d++)
            row += t->run[d] ? tap[d] * t->run[d]->tap_in * t->region->from_step[d] : 0;
        if (is_empty)
            break;
        v = move_load_rows(s, move_behind(from, row), 1, 0, MOVE_SUBLANES);
        s->valu += parts * (parts > 1 ? 2 : 1);
        s->ops += 2 * parts;
        if (s->is_counted)
            continue;
        window_unpack(&s->m, dtype, parts, v, part);
        for (int i = 0; i < parts; i++)
            sum[i] = sum[i] < 0 ? part[i]
                                : window_combine(&s->m, o->node->reduce_kind, dtype, -1, sum[i],
                                                 R(part[i]));
    } while (next_tap(t, rank, tap));
    if (s->is_counted)
        return;
    for (int i = 0; i < parts && is_empty; i++)
        sum[i] = emit_vmov(s->m.code, I((int32_t)window_identity(o->node->reduce_kind, dtype)));
    move_store_op(s, to, 1, 0xff, -1, window_pack(&s->m, parts, sum));
}

static void emit_taps(struct move_step *s, const struct taps *t)
{
    const struct region *g = t->region;
    const struct outer *o = g->outer;
    struct move_loops l = {.step = s, .body = combine_tile, .user = t, .units = 4};
    int64_t from = 0, to = 0;

    for (int d = 0; d < o->to->shape.rank; d++) {
        const struct window_run *r = t->run[d];

        if (!r)
            continue;
        if (d == o->along) {
            move_add_loop(&l, g->places, r->in_step * g->from_step[d], g->to_step[d]);
            continue;
        }
        from += r->in_first * g->from_step[d];
        to += r->first * g->to_step[d];
        move_add_loop(&l, r->count, r->in_step * g->from_step[d], r->step * g->to_step[d]);
    }
    move_add_loop(&l, g->chunk, MOVE_SUBLANES, MOVE_SUBLANES);
    move_run_loops(&l, window_place(s, 0, from), window_place(s, 1, to));
}

/* every combination of runs of the dimensions held whole */
static void emit_runs(struct move_step *s, struct taps *t, int dim)
{
    const struct outer *o = t->region->outer;

    if (dim == o->to->shape.rank) {
        emit_taps(s, t);
    } else if (dim == o->along) {
        t->run[dim] = t->region->run;
        emit_runs(s, t, dim + 1);
    } else if (!o->runs[dim].count) {
        t->run[dim] = NULL;
        emit_runs(s, t, dim + 1);
    } else {
        for (int i = 0; i < o->runs[dim].count && !s->is_refused; i++) {
            t->run[dim] = &o->runs[dim].run[i];
            emit_runs(s, t, dim + 1);
        }
    }
}

static void emit_step(struct move_step *s, void *user)
{
    struct taps t = {.region = user};

    resolve_region(user);
    emit_runs(s, &t, 0);
}

/* the cheapest chunk of inner tiles and number of places; INT64_MAX: none fits */
static int64_t choose_region(struct region *g)
{
    int64_t tiles = window_inner_tiles(g->outer->to), best = INT64_MAX, chunk = 0, places = 0;
    struct move_pieces w = {.user = g, .box = &g->box, .step = emit_step};

    for (g->chunk = 1; g->chunk <= tiles; g->chunk++)
        for (g->places = 1; g->places <= g->run->count; g->places++) {
            int64_t cycles;

            if (tiles % g->chunk || g->run->count % g->places ||
                (g->places > 1 && g->run->tap_in > 1 && g->run->taps > 1))
                continue;
            if (plan_region(g))
                break;
            cycles = move_piece_cycles(&w);
            if (cycles < best) {
                best = cycles;
                chunk = g->chunk;
                places = g->places;
            }
        }
    g->chunk = chunk;
    g->places = places;
    return best < INT64_MAX && !plan_region(g) ? best : INT64_MAX;
}

/* ----- the way */

static int64_t plan_piece(void *user, int piece)
{
    struct region *g = user;
    const struct outer *o = g->outer;

    *g = (struct region){.outer = o, .run = &o->runs[o->along].run[piece]};
    return choose_region(g);
}

static struct move_pieces pieces_of(struct region *g, const struct outer *o)
{
    g->outer = o;
    return (struct move_pieces){.count = o->runs[o->along].count, .user = g, .plan = plan_piece,
                                .box = &g->box, .step = emit_step};
}

static int64_t cost_outer(const struct kernel_job *job)
{
    struct region *g = mem_alloc(sizeof(*g));
    int64_t cycles = INT64_MAX;
    struct outer o;

    if (outer_init(&o, job) == 0) {
        struct move_pieces w = pieces_of(g, &o);

        cycles = move_pieces_cycles(&w);
    }
    mem_free(g);
    return cycles;
}

static int emit_outer(const struct kernel_job *job, struct arena *a, struct segment *out,
                      struct err *e)
{
    struct region *g = mem_alloc(sizeof(*g));
    struct move_pieces w;
    struct outer o;
    int status;

    outer_init(&o, job);
    w = pieces_of(g, &o);
    status = move_pieces_emit(job, &w, a, out, e);
    mem_free(g);
    return status;
}

const struct move_way window_outer = {cost_outer, emit_outer};
