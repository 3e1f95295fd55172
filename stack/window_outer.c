/*
 * Reduce-window along dimensions outside tiles: a result tile is combined of
 * whole operand tiles. The dimensions under the window that lie inside are held
 * whole in a step; along the outermost one the frame steps, a few places at a
 * time, and where the window meets padding there is a frame of its own.
 */
#include "stack/kernel_window.h"

#include <string.h>

#include "base/units.h"
#include "stack/move_loops.h"
#include "stack/window_combine.h"

#define RUNS_MAX 24                     /* of a dimension */
#define SPILL_TILES 16
#define SPILL_ROWS (SPILL_TILES * MOVE_SUBLANES)
#define STEP_SREGS 16                   /* that a frame leaves to its step */
#define STEP_CYCLES 50                  /* of the frame's own code */

/* places first, first + step, ... that see the operand alike, further on by in_step each time */
struct run {
    int64_t first, count, step;
    int64_t in_first, in_step;          /* element under the first tap that is no padding */
    int64_t tap_first, taps, tap_in;    /* such taps are tap_in elements apart */
};

struct runs { struct run run[RUNS_MAX]; int count; };

static int64_t gcd(int64_t a, int64_t b) { return b ? gcd(b, a % b) : a; }

/* the taps of place `o` that are no padding */
static struct run taps_of(const struct graph_window *w, int64_t size, int64_t o)
{
    int64_t apart = w->base_dilation / gcd(w->window_dilation, w->base_dilation);
    struct run r = {.first = o, .count = 1, .step = 1,
                    .tap_in = apart * w->window_dilation / w->base_dilation};

    for (int64_t k = 0; k < w->size; k++) {
        int64_t at = o * w->stride + k * w->window_dilation - w->pad_low;

        if (at < 0 || at % w->base_dilation || at / w->base_dilation >= size)
            continue;
        if (!r.taps++) {
            r.tap_first = k;
            r.in_first = at / w->base_dilation;
        }
    }
    return r;
}

/* -1: too many kinds of places */
static int list_runs(const struct graph_window *w, int64_t size, int64_t places, struct runs *out)
{
    int64_t period = w->base_dilation / gcd(w->stride, w->base_dilation);
    int64_t shift = w->stride * period / w->base_dilation;

    out->count = 0;
    for (int64_t o = 0; o < places; o++) {
        struct run r = taps_of(w, size, o);
        int k = 0;

        r.step = period;
        r.in_step = shift;
        for (; k < out->count; k++) {
            struct run *x = &out->run[k];

            if (x->first + x->count * period == o && x->taps == r.taps &&
                x->tap_first == r.tap_first && x->in_first + x->count * shift == r.in_first)
                break;
        }
        if (k == RUNS_MAX)
            return -1;
        if (k == out->count)
            out->run[out->count++] = r;
        else
            out->run[k].count++;
    }
    return 0;
}

struct outer {
    const struct kernel_job *job;
    const struct graph_node *node;
    const struct array *from, *to;
    struct runs runs[GRAPH_RANK_MAX];   /* by dimension; of those without a window none */
    int along;                          /* the dimension along which the frame steps */
};

static bool is_trivial(const struct graph_window *w)
{
    return w->size == 1 && w->stride == 1 && !w->pad_low && !w->pad_high && w->base_dilation == 1;
}

static int outer_init(struct outer *o, const struct kernel_job *job)
{
    const struct graph_node *n = &job->body->node[job->body->output[0].node], *x;

    *o = (struct outer){.job = job, .node = n, .to = job->result[0], .along = -1};
    x = &job->body->node[n->operand[0]];
    if (n->op != HLO_REDUCE_WINDOW || x->op != HLO_PARAMETER)
        return -1;
    o->from = job->operand[x->parameter_index];
    if (o->from->is_linear || memcmp(o->from->order, o->to->order, sizeof(o->to->order)) ||
        !is_trivial(&n->window[o->to->lane_dim]) || !is_trivial(&n->window[o->to->row_dim]))
        return -1;
    for (int i = 0; i < o->to->outer_count; i++) {
        int d = o->to->outer_dim[i];

        if (is_trivial(&n->window[d]))
            continue;
        o->along = o->along < 0 ? d : o->along;
        if (list_runs(&n->window[d], o->from->shape.dim[d], o->to->shape.dim[d], &o->runs[d]))
            return -1;
    }
    return o->along < 0 ? -1 : 0;
}

/* ----- one region: a run of places along `along` */

struct region {
    const struct outer *outer;
    const struct run *run;
    struct move_box box;                /* job and frame */
    struct array from, to;              /* as the region sees them */
    int64_t chunk, places;              /* inner tiles and places of a step */
    int64_t from_step[GRAPH_RANK_MAX], to_step[GRAPH_RANK_MAX];   /* rows in the boxes */
};

static int add_dim(struct frame_window *w, int64_t count, int64_t stride)
{
    if (w->box_dims == FRAME_BOX_MAX)
        return -1;
    w->box_count[w->box_dims] = count;
    w->box_stride[w->box_dims++] = stride;
    return 0;
}

static int64_t inner_tiles(const struct array *a) { return a->tiles_down * a->tiles_across; }

/* operand elements along `along` that `places` places see */
static int64_t reach(const struct run *r, int64_t places)
{
    return (places - 1) * r->in_step + (r->taps ? (r->taps - 1) * r->tap_in : 0) + 1;
}

/* boxes: inner tiles, the dimensions under the window from the minor one on */
static int plan_windows(struct region *g)
{
    const struct outer *o = g->outer;
    struct frame_window *from = &g->box.frame.window[0], *to = &g->box.frame.window[1];
    struct frame *f = &g->box.frame;

    g->from = *o->from;
    g->to = *o->to;
    *f = (struct frame){.job = o->job, .window_count = 2};
    *from = (struct frame_window){.array = &g->from};
    *to = (struct frame_window){.array = &g->to, .is_result = true};
    add_dim(from, g->chunk, 1);
    add_dim(to, g->chunk, 1);
    for (int i = o->to->outer_count - 1; i >= 0; i--) {
        int d = o->to->outer_dim[i];
        int64_t in = array_outer_stride(o->from, d), out = array_outer_stride(o->to, d);

        if (d == o->along) {
            g->from.address += g->run->in_first * in * ARRAY_TILE_BYTES;
            g->to.address += g->run->first * out * ARRAY_TILE_BYTES;
        }
        if (d == o->along ? add_dim(from, reach(g->run, g->places), in) ||
                            add_dim(to, g->places, out * g->run->step)
                          : !is_trivial(&o->node->window[d]) &&
                            (add_dim(from, o->from->shape.dim[d], in) ||
                             add_dim(to, o->to->shape.dim[d], out)))
            return -1;
        g->from_step[d] = g->to_step[d] = 0;
    }
    return 0;
}

static int add_grid(struct frame *f, int64_t count, int64_t from, int64_t to)
{
    if (count == 1)
        return 0;
    if (f->dims == FRAME_DIM_MAX)
        return -1;
    f->count[f->dims] = count;
    f->window[0].step[f->dims] = from;
    f->window[1].step[f->dims++] = to;
    return 0;
}

/* 0 if the steps of this size can be made and fit */
static int plan_region(struct region *g)
{
    const struct outer *o = g->outer;
    struct frame *f = &g->box.frame;

    g->box.job = o->job;
    if (plan_windows(g))
        return -1;
    for (int i = 0; i < o->to->outer_count; i++) {
        int d = o->to->outer_dim[i];

        if (is_trivial(&o->node->window[d]) &&
            add_grid(f, o->to->shape.dim[d], array_outer_stride(o->from, d),
                     array_outer_stride(o->to, d)))
            return -1;
    }
    if (add_grid(f, inner_tiles(o->to) / g->chunk, g->chunk, g->chunk) ||
        add_grid(f, g->run->count / g->places,
                 g->places * g->run->in_step * array_outer_stride(o->from, o->along),
                 g->places * g->run->step * array_outer_stride(o->to, o->along)))
        return -1;
    if (!f->dims) {
        f->dims = 1;
        f->count[0] = 1;
    }
    return frame_flag_count(f) > o->job->flag_count ||
           frame_vmem_rows(f) + SPILL_ROWS > o->job->vmem_rows ? -1 : 0;
}

static void settle_region(struct region *g)
{
    const struct outer *o = g->outer;
    int k = 1;

    for (int i = o->to->outer_count - 1; i >= 0; i--) {
        int d = o->to->outer_dim[i];

        if (d != o->along && is_trivial(&o->node->window[d]))
            continue;
        g->from_step[d] = frame_stride(&g->box.frame, 0, k);
        g->to_step[d] = frame_stride(&g->box.frame, 1, k++);
    }
}

/* ----- the code of a step: one combination of runs */

struct taps {
    const struct region *region;
    const struct run *run[GRAPH_RANK_MAX];      /* by dimension, NULL: no window */
};

static int tile_parts(const struct array *a) { return a->tile_rows / MOVE_SUBLANES; }

static void unpack_parts(struct move_code *m, enum graph_dtype dtype, int parts, int v, int *part)
{
    for (int i = 0; i < parts; i++) {
        part[i] = v;
        if (parts == 2)
            part[i] = move_v1(m, i ? OP_VUNPACK_C_H : OP_VUNPACK_C_L, operand_reg(v));
        if (parts == 4) {
            part[i] = vcode_vreg(m->code);
            vcode_emit(m->code, OP_VUNPACK_C_8, 4,
                       (struct isa_operand[]){operand_reg(part[i]), operand_reg(v),
                                              operand_imm(i), operand_imm(dtype == DTYPE_S8)});
        }
    }
}

static int pack_parts(struct move_code *m, int parts, int *part)
{
    if (parts == 2)
        return move_v2(m, OP_VPACK_C_BF16, part[1], operand_reg(part[0]));
    for (int i = 0; i < parts / 2; i++)
        part[i] = move_v2_choice(m, OP_VPACK_B16, part[2 * i + 1], operand_reg(part[2 * i]), 1,
                                 (int32_t[]){0});
    return parts == 4 ? move_v2_choice(m, OP_VPACK_C_B8, part[1], operand_reg(part[0]), 1,
                                       (int32_t[]){0})
                      : part[0];
}

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
    int parts = tile_parts(o->from), rank = o->from->shape.rank, sum[4] = {-1, -1, -1, -1};
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
        unpack_parts(&s->m, dtype, parts, v, part);
        for (int i = 0; i < parts; i++)
            sum[i] = sum[i] < 0 ? part[i]
                                : window_combine(&s->m, o->node->reduce_kind, dtype, -1, sum[i],
                                                 operand_reg(part[i]));
    } while (next_tap(t, rank, tap));
    if (s->is_counted)
        return;
    for (int i = 0; i < parts && is_empty; i++)
        sum[i] = move_v1(&s->m, OP_VMOV,
                         operand_imm((int32_t)window_identity(o->node->reduce_kind, dtype)));
    move_store_op(s, to, 1, 0xff, -1, pack_parts(&s->m, parts, sum));
}

static struct move_place window_place(const struct move_step *s, int window, int64_t row)
{
    const struct frame *f = &s->box->frame;
    int base = s->is_counted ? -1 : frame_base(f, window);

    return (struct move_place){base < 0 ? operand_imm(0) : operand_reg(base),
                               s->is_counted ? 0 : frame_row(f, window) + row, window};
}

static void emit_taps(struct move_step *s, const struct taps *t)
{
    const struct region *g = t->region;
    const struct outer *o = g->outer;
    struct move_loops l = {.step = s, .body = combine_tile, .user = t, .units = 4};
    int64_t from = 0, to = 0;

    for (int d = 0; d < o->to->shape.rank; d++) {
        const struct run *r = t->run[d];

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
static void emit_step(struct move_step *s, struct taps *t, int dim)
{
    const struct outer *o = t->region->outer;

    if (dim == o->to->shape.rank) {
        emit_taps(s, t);
    } else if (dim == o->along) {
        t->run[dim] = t->region->run;
        emit_step(s, t, dim + 1);
    } else if (!o->runs[dim].count) {
        t->run[dim] = NULL;
        emit_step(s, t, dim + 1);
    } else {
        for (int i = 0; i < o->runs[dim].count && !s->is_refused; i++) {
            t->run[dim] = &o->runs[dim].run[i];
            emit_step(s, t, dim + 1);
        }
    }
}

static int64_t region_cycles(struct region *g)
{
    struct move_step s = {.box = &g->box, .is_counted = true};
    struct taps t = {.region = g};
    int64_t steps = 1, step, copies, exposed;

    settle_region(g);
    emit_step(&s, &t, 0);
    if (s.is_refused)
        return INT64_MAX;
    for (int d = 0; d < g->box.frame.dims; d++)
        steps *= g->box.frame.count[d];
    copies = frame_copy_cycles(&g->box.frame, &exposed);
    step = ((int64_t)s.cycles + STEP_CYCLES) * steps;
    return (step > copies ? step : copies) + exposed;
}

/* the cheapest chunk of inner tiles and number of places; INT64_MAX: none fits */
static int64_t choose_region(struct region *g)
{
    int64_t tiles = inner_tiles(g->outer->to), best = INT64_MAX, chunk = 0, places = 0;

    for (g->chunk = 1; g->chunk <= tiles; g->chunk++)
        for (g->places = 1; g->places <= g->run->count; g->places++) {
            int64_t cycles;

            if (tiles % g->chunk || g->run->count % g->places ||
                (g->places > 1 && g->run->tap_in > 1 && g->run->taps > 1))
                continue;
            if (plan_region(g))
                break;
            cycles = region_cycles(g);
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

static int64_t cost_outer(const struct kernel_job *job)
{
    struct region *g = mem_alloc(sizeof(*g));
    struct outer o;
    int64_t sum = 0;

    if (outer_init(&o, job))
        sum = INT64_MAX;
    for (int i = 0; sum < INT64_MAX && i < o.runs[o.along].count; i++) {
        int64_t cycles;

        *g = (struct region){.outer = &o, .run = &o.runs[o.along].run[i]};
        cycles = choose_region(g);
        sum = cycles < INT64_MAX ? sum + cycles : INT64_MAX;
    }
    mem_free(g);
    return sum;
}

static int takes_outer(const struct kernel_job *job, struct err *e)
{
    (void)e;
    return cost_outer(job) < INT64_MAX ? 0 : -1;
}

static int emit_region(struct region *g, struct vcode *code, struct arena *a, struct err *e)
{
    struct move_step s = {.box = &g->box};
    struct taps t = {.region = g};

    choose_region(g);
    if (!move_take_share(&g->box.frame, (struct array *[]){&g->from, &g->to}))
        return 0;
    vcode_begin_block(code);
    if (frame_begin(&g->box.frame, code, a, e))
        return -1;
    settle_region(g);
    move_code_init(&s.m, code, g->box.job->chip);
    s.m.sreg_end = STEP_SREGS;
    emit_step(&s, &t, 0);
    frame_end(&g->box.frame, code);
    return 0;
}

static int emit_outer(const struct kernel_job *job, struct arena *a, struct segment *out,
                      struct err *e)
{
    struct region *g = mem_alloc(sizeof(*g));
    int64_t spill_row = job->vmem_row;
    struct vcode code;
    struct outer o;
    int status = 0;

    outer_init(&o, job);
    vcode_init(&code, a);
    code.note = job->name;
    for (int i = 0; i < o.runs[o.along].count && !status; i++) {
        *g = (struct region){.outer = &o, .run = &o.runs[o.along].run[i]};
        status = emit_region(g, &code, a, e);
        if (!status && g->box.frame.state && frame_spill_row(&g->box.frame) > spill_row)
            spill_row = frame_spill_row(&g->box.frame);
    }
    if (!status)
        status = vcode_compile_segment(&code, job->chip, spill_row, SPILL_TILES, a, &out->program,
                                       &out->stats, e);
    vcode_fini(&code);
    mem_free(g);
    return status;
}

const struct move_way window_outer = {"outer", takes_outer, cost_outer, emit_outer};
