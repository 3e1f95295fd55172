/*
 * Reduce-window along rows of tiles: pooling of images whose pixels run along
 * sublanes, as they do where the batch is small. The window may run along one
 * dimension outside tiles, too, along which a pipeline steps, a few places at a
 * time. For each place and tile of lanes the lines under the window are combined
 * into one, as 32-bit rows in scratch memory with the identity around them; then
 * each result tile combines loads of it, whose sublanes stand a stride apart.
 */
#include "stack/kernels/window/kernel_window.h"

#include <string.h>

#include "base/units.h"
#include "stack/kernels/window/window_combine.h"
#include "stack/kernels/move/move_pieces.h"
#include "stack/kernels/window/window_runs.h"

#define PLACES_MAX 16
#define REGION_SCRATCH 2                /* behind those of the windows */

struct lines {
    const struct kernel_job *job;
    const struct graph_node *node;
    const struct array *from, *to;
    const struct graph_window *row;     /* the window along rows */
    int along;                          /* the outer dimension under the window; -1: none */
    struct window_runs runs;            /* of it */
    int64_t lead, rows;                 /* of the line: identities before it; with all borders */

    /* the run at hand */
    const struct window_run *run;
    struct move_box box;                /* job and pipeline */
    struct array from_view, to_view;
    int64_t places;                     /* of a step */
};

static void size_line(struct lines *x)
{
    int64_t out = x->to->tiles_down * x->to->tile_rows, low = x->row->pad_low;
    int64_t in = x->from->tiles_down * x->from->tile_rows, read;

    x->lead = low > 0 ? low : 0;
    read = x->lead - low + (out - 1) * x->row->stride +
           (x->row->size - 1) * x->row->window_dilation + 1;
    x->rows = round_up(read > x->lead + in ? read : x->lead + in, MOVE_SUBLANES);
}

static int lines_init(struct lines *x, const struct kernel_job *job)
{
    static const struct graph_window none = {1, 1, 0, 0, 1, 1, false};
    const struct graph_node *n = &job->body->node[job->body->output[0].node], *operand;

    *x = (struct lines){.job = job, .node = n, .to = job->result[0], .along = -1};
    operand = &job->body->node[n->operand[0]];
    if (n->op != HLO_REDUCE_WINDOW || operand->op != HLO_PARAMETER)
        return -1;
    x->from = job->operand[operand->parameter_index];
    if (x->from->is_linear || memcmp(x->from->order, x->to->order, sizeof(x->to->order)) ||
        !window_is_trivial(&n->window[x->to->lane_dim]))
        return -1;
    x->row = &n->window[x->to->row_dim];
    for (int i = 0; i < x->to->outer_count; i++) {
        int d = x->to->outer_dim[i];

        if (window_is_trivial(&n->window[d]))
            continue;
        if (x->along >= 0)
            return -1;
        x->along = d;
    }
    if (window_is_trivial(x->row) || x->row->base_dilation > 1 || x->row->pad_low < 0 ||
        !move_fits_stride(x->row->stride))
        return -1;
    size_line(x);
    return x->along < 0 ? window_list_runs(&none, 1, 1, &x->runs)
                        : window_list_runs(&n->window[x->along], x->from->shape.dim[x->along],
                                           x->to->shape.dim[x->along], &x->runs);
}

/* ----- the pipeline of a run */

static int64_t reach(const struct lines *x)     /* lines that a step's places see */
{
    const struct window_run *r = x->run;

    return (x->places - 1) * r->in_step + (r->taps ? (r->taps - 1) * r->tap_in : 0) + 1;
}

static int64_t stride_of(const struct lines *x, const struct array *a)
{
    return x->along < 0 ? window_inner_tiles(a) : array_outer_stride(a, x->along);
}

/* 0 if steps of so many places fit */
static int plan_run(struct lines *x)
{
    const struct window_run *r = x->run;
    struct pipeline *f = &x->box.pipeline;
    struct pipeline_window *from = &f->window[0], *to = &f->window[1];
    int64_t in = stride_of(x, x->from), out = stride_of(x, x->to);

    x->box.job = x->job;
    x->from_view = *x->from;
    x->to_view = *x->to;
    x->from_view.address += r->in_first * in * ARRAY_TILE_BYTES;
    x->to_view.address += r->first * out * ARRAY_TILE_BYTES;
    *f = (struct pipeline){.job = x->job, .window_count = 2, .scratch_rows = x->rows};
    *from = (struct pipeline_window){.array = &x->from_view};
    *to = (struct pipeline_window){.array = &x->to_view, .is_result = true};
    window_add_dim(from, window_inner_tiles(x->from), 1);
    window_add_dim(to, window_inner_tiles(x->to), 1);
    window_add_dim(from, reach(x), in);
    window_add_dim(to, x->places, out * r->step);
    for (int i = 0; i < x->to->outer_count; i++) {
        int d = x->to->outer_dim[i];

        if (d != x->along &&
            window_add_grid(f, x->to->shape.dim[d], (int64_t[]){array_outer_stride(x->from, d),
                                                                array_outer_stride(x->to, d)}))
            return -1;
    }
    if (window_add_grid(f, r->count / x->places, (int64_t[]){x->places * r->in_step * in,
                                                             x->places * r->step * out}))
        return -1;
    if (!f->dims) {
        f->dims = 1;
        f->count[0] = 1;
    }
    pipeline_share(f, 0);
    return pipeline_flag_count(f) > x->job->flag_count ||
           pipeline_vmem_rows(f) + MOVE_SPILL_ROWS > x->job->vmem_rows ? -1 : 0;
}

/* ----- the code of a step */

static struct move_place line_place(const struct move_step *s, int64_t row)
{
    return (struct move_place){
        I(0), s->is_counted ? 0 : pipeline_scratch_row(&s->box->pipeline) + row, REGION_SCRATCH};
}

/* rows first..end-1 of the line, which begin in v, one a sublane */
static void store_line(struct move_step *s, int64_t first, int64_t end, int v)
{
    for (int64_t row = first; row < end; row += MOVE_SUBLANES)
        move_store_rows(s, line_place(s, row), 1, 0,
                        end - row < MOVE_SUBLANES ? (int)(end - row) : MOVE_SUBLANES, 0,
                        ARRAY_LANES, v);
}

/* row tile `t` of the lines under the window, combined, to the line */
static void combine_lines(struct move_step *s, const struct lines *x, struct move_place from,
                          int64_t t, int identity)
{
    enum graph_dtype dtype = x->from->shape.dtype;
    int parts = window_tile_parts(x->from), sum[4] = {-1, -1, -1, -1}, part[4];
    int64_t height = x->from->tile_rows, width = x->from->shape.dim[x->to->row_dim];

    for (int64_t tap = 0; tap < x->run->taps; tap++) {
        int64_t row = tap * x->run->tap_in * pipeline_stride(&s->box->pipeline, 0, 1) +
                      t * x->from->tiles_across * MOVE_SUBLANES;
        int v = move_load_rows(s, move_behind(from, row), 1, 0, MOVE_SUBLANES);

        s->valu += parts * (parts > 1 ? 2 : 1);
        s->ops += 2 * parts;
        if (s->is_counted)
            continue;
        window_unpack(&s->m, dtype, parts, v, part);
        for (int i = 0; i < parts; i++)
            sum[i] = sum[i] < 0 ? part[i]
                                : window_combine(&s->m, x->node->reduce_kind, dtype, -1, sum[i],
                                                 R(part[i]));
    }
    for (int i = 0; i < parts; i++) {
        int64_t first = t * height + i * MOVE_SUBLANES, end = first + MOVE_SUBLANES;

        if (first < width)
            store_line(s, x->lead + first, x->lead + (end < width ? end : width),
                       sum[i] < 0 ? identity : sum[i]);
    }
}

/* row tile `t` of the result */
static void combine_pixels(struct move_step *s, const struct lines *x, struct move_place to,
                           int64_t t)
{
    enum graph_dtype dtype = x->from->shape.dtype;
    int parts = window_tile_parts(x->to), sum[4] = {-1, -1, -1, -1};

    for (int i = 0; i < parts; i++)
        for (int64_t tap = 0; tap < x->row->size; tap++) {
            int64_t place = t * x->to->tile_rows + i * MOVE_SUBLANES;
            int64_t row = x->lead - x->row->pad_low + place * x->row->stride +
                          tap * x->row->window_dilation;
            int v = move_load_rows(s, line_place(s, row), x->row->stride, 0, MOVE_SUBLANES);

            s->valu++;
            s->ops++;
            if (!s->is_counted)
                sum[i] = sum[i] < 0
                             ? v
                             : window_combine(&s->m, x->node->reduce_kind, dtype, -1, sum[i], R(v));
        }
    s->store++;
    s->ops += 4;
    if (!s->is_counted)
        move_store_op(s, move_behind(to, t * x->to->tiles_across * MOVE_SUBLANES), 1, 0xff, -1,
                      window_pack(&s->m, parts, sum));
}

/* a tile of lanes of a place */
static void combine_place(struct move_loops *l, struct move_place from, struct move_place to)
{
    const struct lines *x = l->user;
    struct move_step *s = l->step;
    enum graph_dtype dtype = x->from->shape.dtype;
    int identity = 0;

    if (!s->is_counted)
        identity = emit_vmov(s->m.code, I((int32_t)window_identity(x->node->reduce_kind, dtype)));
    store_line(s, 0, x->lead, identity);
    store_line(s, x->lead + x->from->shape.dim[x->to->row_dim], x->rows, identity);
    for (int64_t t = 0; t < x->from->tiles_down; t++)
        combine_lines(s, x, from, t, identity);
    for (int64_t t = 0; t < x->to->tiles_down; t++)
        combine_pixels(s, x, to, t);
}

static void emit_step(struct move_step *s, void *user)
{
    const struct lines *x = user;
    const struct pipeline *f = &s->box->pipeline;
    struct move_loops l = {.step = s, .body = combine_place, .user = x,
                           .units = x->from->tiles_down + x->to->tiles_down};

    move_add_loop(&l, x->places, x->run->in_step * pipeline_stride(f, 0, 1),
                  pipeline_stride(f, 1, 1));
    move_add_loop(&l, x->to->tiles_across, MOVE_SUBLANES, MOVE_SUBLANES);
    move_run_loops(&l, window_place(s, 0, 0), window_place(s, 1, 0));
}

/* ----- the way */

/* the cheapest number of places of a step; INT64_MAX: none fits */
static int64_t choose_places(struct lines *x)
{
    struct move_pieces w = {.user = x, .box = &x->box, .step = emit_step};
    int64_t best = INT64_MAX, places = 0;

    for (x->places = 1; x->places <= x->run->count && x->places <= PLACES_MAX; x->places++) {
        int64_t cycles;

        if (x->run->count % x->places)
            continue;
        if (plan_run(x))
            break;
        cycles = move_piece_cycles(&w);
        if (cycles < best) {
            best = cycles;
            places = x->places;
        }
    }
    x->places = places;
    return best < INT64_MAX && !plan_run(x) ? best : INT64_MAX;
}

static int64_t plan_piece(void *user, int piece)
{
    struct lines *x = user;

    x->run = &x->runs.run[piece];
    return choose_places(x);
}

static struct move_pieces pieces_of(struct lines *x)
{
    return (struct move_pieces){.count = x->runs.count, .user = x, .plan = plan_piece,
                                .box = &x->box, .step = emit_step};
}

static int64_t cost_lines(const struct kernel_job *job)
{
    struct lines *x = mem_alloc(sizeof(*x));
    int64_t cycles = INT64_MAX;

    if (lines_init(x, job) == 0) {
        struct move_pieces w = pieces_of(x);

        cycles = move_pieces_cycles(&w);
    }
    mem_free(x);
    return cycles;
}

static int emit_lines(const struct kernel_job *job, struct arena *a, struct segment *out,
                      struct err *e)
{
    struct lines *x = mem_alloc(sizeof(*x));
    struct move_pieces w;
    int status;

    lines_init(x, job);
    w = pieces_of(x);
    status = move_pieces_emit(job, &w, a, out, e);
    mem_free(x);
    return status;
}

const struct move_way window_lines = {cost_lines, emit_lines};
