/* Lists the candidates for a convolution's tiling, and the cycles that each would take. */
#include <string.h>

#include "base/units.h"
#include "sim/chip/limits.h"
#include "stack/kernels/conv/conv_body.h"
#include "stack/kernels/conv/conv_impl.h"
#include "stack/kernels/loop/fused.h"

#define STREAM_SHARE 0.8                /* of its port that streams from and to HBM reach */
#define PASS_CYCLES 20                  /* between two passes */
#define STEP_CYCLES 300                 /* waits, descriptors, indices */
#define LOOP_CYCLES 150                 /* what overlaps in a loop of work begins and ends alone */
#define COPY_WEIGHT 0.05                /* of hidden copies: fewer are better, all else alike */
#define COMPUTE_WEIGHT 0.02             /* of hidden work, which steps of one tile make long */
#define LANES ARRAY_LANES
#define MANY_TAPS 16                    /* of a dimension */
#define FEW_FEATURES 16                 /* of a first layer */

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ----- cycles */

static int64_t round_cycles(const struct conv_plan *p)
{
    const struct chip *c = p->chip;
    int64_t results = p->subs * p->halves * p->unit_columns * p->unit_rows;
    int64_t loads = p->unit_rows * p->slots * p->parts + results;
    int64_t units = p->is_lhs_bf16 && p->is_packed
                        ? chip_matmul_cycles(c, MATRIX_BF16) * p->group_rows / 16
                        : chip_matmul_cycles(c, MATRIX_F32) * p->subs;

    units = most(units, div_up(loads, c->slots_load + (c->slots_misc_load > 0)));
    units = most(units, div_up(results, c->slots_store + (c->slots_misc_store > 0)));
    return most(units, c->core_branch_delay_bundles + 1);
}

static int64_t pass_cycles(const struct conv_plan *p)
{
    int64_t weights = p->slots * 16 * chip_push_cycles(p->chip, MATRIX_F32);

    if (p->is_rhs_swapped)
        weights *= p->chip->mxu_push_xpose_factor;
    weights = most(p->rounds * round_cycles(p), weights);
    return most(weights, p->chip->mxu_latency_cycles / p->delay) + PASS_CYCLES;
}

static int64_t position(const struct conv_plan *p, const struct conv_window *w)
{
    for (int i = GRID_DIMS - 1; i >= 0; i--)
        for (int dim = 0; dim < BOX_DIMS; dim++)
            if (w->move[dim][p->order[i]] && p->count[p->order[i]] > 1)
                return i;
    return -1;
}

/* boxes that a window has in all steps */
static int64_t boxes(const struct conv_plan *p, const struct conv_window *w)
{
    int64_t count = 1;

    for (int64_t i = 0; i <= position(p, w); i++)
        count *= p->count[p->order[i]];
    return count;
}

static int64_t steps(const struct conv_plan *p)
{
    int64_t count = 1;

    for (int i = 0; i < GRID_DIMS; i++)
        count *= p->count[i];
    return count;
}

static int64_t weights_cycles(const struct conv_plan *p)
{
    int64_t tiles = conv_column_tiles(p) * p->passes * p->slots * 16;
    int64_t stores = p->chip->slots_store + (p->chip->slots_misc_store > 0);

    return tiles / stores + tiles / 8;
}

static int64_t transpose_cycles(const struct conv_plan *p)
{
    int64_t blocks = p->feature_blocks * p->slots * p->batch_tiles;
    int64_t height = p->is_lhs_bf16 ? 16 : 8, rows = LANES;
    int64_t out = least(p->groups * p->group_rows, LANES) / height * p->chip->xlu_xpose_pop_cycles;
    int64_t in;

    if (p->shape.mode == CONV_ROWS)
        return 0;
    if (conv_has_many_taps(p))
        rows = round_up(p->members * p->member_rows, height);
    in = most(rows / height * chip_xpose_issue_cycles(p->chip, p->is_lhs_bf16),
              p->chip->xlu_xpose_gap_cycles);
    for (int i = 0; i < CONV_SPATIAL; i++)
        blocks *= conv_places(p, i);
    return blocks * most(in, out) * 5 / 4 / p->chip->xlu_count;
}

/* lines: a store for each tile of f32 */
static int64_t line_cycles(const struct conv_plan *p)
{
    const struct conv_window *w = &p->window[WINDOW_LHS];
    int64_t stores = p->chip->slots_store + (p->chip->slots_misc_store > 0);

    if (!conv_has_lines(p))
        return 0;
    return div_up(w->tiles * (w->array->tile_rows / 8), stores) + 10 * w->tiles / w->box[BOX_ROWS];
}

/* products on the vector unit, for 8 rows */
static int64_t vector_ops(const struct conv_plan *p)
{
    int64_t taps = 1;

    for (int i = 0; i < CONV_SPATIAL; i++)
        taps *= p->shape.dim[i].taps;
    return p->is_vector ? taps * 4 : 0;
}

/* slots that a register takes of what is made of a role; of CONV_RESULT: behind the convolution */
static void cost_beside(const struct conv_plan *p, enum conv_role role, struct fused_cost *cost)
{
    bool *is_maker = mem_alloc((size_t)p->job->body->node_count);
    struct conv_body b;
    struct err e;

    if (p->maker_count > 0 && conv_body_of(p->job->body, &b, &e) == 0)
        for (int i = 0; i < CONV_RESULT; i++)
            if (role == CONV_RESULT || role == (enum conv_role)i)
                conv_body_makers(&b, (enum conv_role)i, is_maker);
    fused_cost_of(p->job->body, p->chip, is_maker, role != CONV_RESULT, cost);
    mem_free(is_maker);
}

/* of a box of input or kernel: its operands are loaded and unpacked, it is packed and stored */
static int64_t make_cycles(const struct conv_plan *p, enum conv_role role)
{
    const struct conv_window *w = &p->window[role == CONV_LHS ? WINDOW_LHS : WINDOW_RHS];
    int64_t parts = w->array->tile_rows / 8, full = 0, tile;
    struct fused_cost cost;

    if (!p->is_made[role])
        return 0;
    cost_beside(p, role, &cost);
    for (int i = 0; i < p->maker_count; i++)
        full += !p->is_maker_vector[i];
    tile = most(full + (p->maker_count - full + 3) / 4,
                div_up(parts * (cost.valu + (parts > 1 ? full + 1 : 0)), p->chip->slots_valu));
    return w->tiles * tile + LOOP_CYCLES * least(w->box[BOX_LANES], w->tiles / w->box[BOX_LANES]);
}

static int64_t epilogue_cycles(const struct conv_plan *p)
{
    struct fused_cost cost;
    int64_t groups = conv_column_tiles(p) * p->phase_count * p->rounds * p->unit_rows;
    int64_t group;

    cost_beside(p, CONV_RESULT, &cost);
    group = most(p->subs * (cost.load + 1) + p->total_count,
                 p->subs * cost.store + p->total_count);
    group = most(group, div_up(p->subs * (cost.valu + 1 + p->total_count + vector_ops(p)),
                               p->chip->slots_valu));
    return groups * group + LOOP_CYCLES * p->total_count;
}

static int64_t tiles_of(const struct conv_window *w)
{
    int64_t tiles = 1;

    for (int i = 0; i < BOX_DIMS; i++)
        tiles *= w->box[i];
    return tiles;
}

void conv_plan_cost(const struct conv_plan *p, struct kernel_cost *out)
{
    double port = p->chip->dma_core_gbps * 1e3 / (double)p->chip->chip_clock_mhz * STREAM_SHARE;
    double copy = 0, cmem = 0, first = 0, last = 0, step;
    int64_t count = steps(p), results = 1, compute;

    memset(out, 0, sizeof(*out));
    for (int g = GRID_F; g <= GRID_O2; g++)
        results *= p->count[g];
    for (int i = 0; i < WINDOW_COUNT; i++) {
        const struct conv_window *w = &p->window[i];
        bool is_out = i >= WINDOW_OUT && i < WINDOW_EXTRA;
        double bytes = (double)(tiles_of(w) * ARRAY_TILE_BYTES);

        if (!p->is_used[i])
            continue;
        if (is_out && !conv_is_block(p, i - WINDOW_OUT))
            is_out = false;             /* a box, stored once; the input's, as they come */
        *(w->array->space == SPACE_CMEM ? &cmem : &copy) +=
            bytes / port * (double)(is_out ? results : boxes(p, w));
        *(is_out ? &last : &first) += bytes / port;
        out->hbm_bytes += (int64_t)bytes * (is_out ? results : boxes(p, w));
    }
    copy = cmem > copy ? cmem : copy;   /* by other ports, about as fast */
    compute = count * STEP_CYCLES +
              (p->is_vector ? 0
                            : count * (p->passes * p->column_groups * pass_cycles(p) +
                                       p->chip->mxu_latency_cycles) +
                                  boxes(p, &p->window[WINDOW_RHS]) *
                                      (weights_cycles(p) + make_cycles(p, CONV_RHS))) +
              boxes(p, &p->window[WINDOW_LHS]) * (make_cycles(p, CONV_LHS) + transpose_cycles(p) +
                                                  line_cycles(p)) +
              results * epilogue_cycles(p);
    step = (double)compute > copy ? (double)compute + COPY_WEIGHT * copy : copy + COMPUTE_WEIGHT * (double)compute;
    out->compute_cycles = compute;
    out->copy_cycles = (int64_t)copy;
    out->fixed_cycles = (int64_t)(first + last);
    out->total_cycles = (int64_t)(step + first + last);
    out->vmem_rows = p->vmem_rows;
    out->steps = count;
}

/* ----- candidates */

struct values { int64_t value[32]; int count; };

static void add_value(struct values *v, int64_t x)
{
    for (int i = 0; i < v->count; i++)
        if (v->value[i] == x)
            return;
    if (v->count < 32 && x > 0)
        v->value[v->count++] = x;
}

/* `total` in 1, 2, 3, 4, 6, 8, … parts */
static struct values shares(int64_t total, bool is_exact, int limit)
{
    static const int64_t parts[] = {1, 2, 3, 4, 6, 7, 8, 12, 14, 16, 24, 28, 32, 48, 56, 64, 96,
                                    112, 128, 224, 256};
    struct values v = {.count = 0};

    for (size_t i = 0; i < COUNT_OF(parts) && v.count < limit; i++)
        if (parts[i] <= total && (!is_exact || total % parts[i] == 0))
            add_value(&v, div_up(total, parts[i]));
    if (v.count < limit)
        add_value(&v, 1);
    return v;
}

struct search {
    const struct kernel_job *job;
    struct tiling *list;
    int count, max;
    bool is_thorough;                   /* where nothing usual fits: any window is cut, too */
};

static void offer(struct search *s, const struct tiling *t)
{
    struct conv_plan *p;
    struct kernel_cost cost;
    struct tiling found = *t;
    struct err e;
    int i;

    if (s->max == 1 && s->count == 1)
        return;                         /* who asks for one asks whether there is any */
    p = mem_alloc(sizeof(*p));
    if (conv_plan_make(p, s->job, t, &e) == 0) {
        conv_plan_cost(p, &cost);
        found.count = TILING_MAX;
        found.predicted_cycles = cost.total_cycles;
        for (i = s->count; i > 0 && s->list[i - 1].predicted_cycles > cost.total_cycles; i--)
            if (i < s->max)
                s->list[i] = s->list[i - 1];
        if (i < s->max) {
            s->list[i] = found;
            s->count += s->count < s->max;
        }
    }
    mem_free(p);
}

/* pieces of lines: transposed rows that neighbouring lines share are made once */
static void offer_pieces(struct search *s, struct tiling *t, const int64_t *all)
{
    struct values lines = shares(all[1], false, 12), pieces = shares(all[2], false, 12);

    for (int i = 0; i < lines.count; i++)
        for (int k = 1; k < pieces.count; k++) {
            t->size[1] = 1;
            t->size[2] = lines.value[i];
            t->size[3] = pieces.value[k];
            if (lines.value[i] > 1)
                offer(s, t);
        }
}

/* blocks of outputs: all of the last dimensions, a share of one, one of those before */
static void offer_outputs(struct search *s, struct tiling *t, const struct conv_shape *shape)
{
    int64_t all[CONV_SPATIAL];

    for (int i = 0; i < CONV_SPATIAL; i++)
        all[i] = div_up(shape->dim[i].out, shape->dim[i].phases);
    for (int cut = 0; cut < CONV_SPATIAL; cut++) {
        struct values v = shares(all[cut], false, 20);

        for (int k = 0; k < v.count; k++) {
            if (cut > 0 && v.value[k] == all[cut])
                continue;               /* as one of the dimension before */
            for (int i = 0; i < CONV_SPATIAL; i++)
                t->size[1 + i] = i < cut ? 1 : i > cut ? all[i] : v.value[k];
            offer(s, t);
        }
    }
    if (shape->mode == CONV_TRANSPOSED && shape->features <= FEW_FEATURES)
        offer_pieces(s, t, all);
}

/* a window of many taps may be cut, into even numbers of them */
static struct values taps_of_step(const struct search *s, const struct conv_dim *d)
{
    struct values all = shares(d->taps, false, 20), v = {.value = {0}, .count = 1};
    int64_t many = s->is_thorough ? 3 : MANY_TAPS;

    for (int i = 1; i < all.count && d->taps >= many && d->dilation == 1; i++)
        add_value(&v, round_up(all.value[i], 2));
    return v;
}

static void offer_row_taps(struct search *s, struct tiling *t, const struct conv_shape *shape)
{
    struct values before = taps_of_step(s, &shape->dim[1]);
    struct values last = taps_of_step(s, &shape->dim[2]);

    if (shape->is_pixels)
        last.count = 1;
    for (int i = 0; i < before.count; i++)
        for (int k = 0; k < last.count; k++)
            for (t->size[7] = 0; t->size[7] < 2; t->size[7]++) {
                t->size[8] = before.value[i];
                t->size[9] = last.value[k];
                offer_outputs(s, t, shape);
            }
}

/* as the window has them, and dense, which all of the batch together may be */
static void offer_rows(struct search *s, struct tiling *t, const struct conv_shape *shape)
{
    int most = conv_may_be_dense(shape) && t->size[0] == div_up(shape->batch, 8);

    for (int dense = 0; dense <= most; dense++) {
        t->size[6] = dense;
        offer_row_taps(s, t, shape);
    }
}

static void offer_taps(struct search *s, struct tiling *t, const struct conv_shape *shape)
{
    struct values spread, last;

    if (shape->mode == CONV_ROWS) {
        offer_rows(s, t, shape);
        return;
    }
    spread = shares(most(shape->dim[0].taps, most(shape->dim[1].taps, shape->dim[2].taps)), false,
                    32);
    last = shares(shape->dim[2].taps, false, 6);
    for (int i = 0; i < spread.count; i++)
        for (int k = 0; k < last.count; k++) {
            t->size[6] = spread.value[i];
            t->size[7] = last.value[k] == shape->dim[2].taps ? 0 : last.value[k];
            offer_outputs(s, t, shape);
        }
}

static void offer_all(struct search *s, const struct conv_shape *shape,
                      const struct values *batch, const struct values *columns,
                      const struct values *features)
{
    for (int i = 0; i < batch->count; i++)
        for (int k = 0; k < columns->count; k++)
            for (int f = 0; f < features->count; f++) {
                struct tiling t = {.count = TILING_MAX, .size = {batch->value[i], 1, 1, 1,
                                   columns->value[k], features->value[f]}};

                offer_taps(s, &t, shape);
            }
}

/*
 * Whether all else has been tried: nothing is fused with it, and its arrays are in HBM. A fusion
 * that does not fit is taken apart first, and an array in VMEM put back.
 */
static bool is_last_resort(const struct kernel_job *job)
{
    bool is_alone = job->body->node_count == job->operand_count + 1;

    for (int i = 0; i < job->operand_count; i++)
        is_alone &= job->operand[i]->space == SPACE_HBM;
    return is_alone && job->result[0]->space == SPACE_HBM;
}

int conv_tilings(const struct kernel_job *job, struct tiling *list, int max)
{
    struct search s = {.job = job, .list = list, .max = max};
    struct conv_body b;
    struct conv_shape shape;
    struct err e;
    const struct array *lhs;
    struct values batch, columns, features;
    bool is_rows;

    if (conv_check_job(job, &e)) {      /* the message is for kernel_conv.c's emit */
        list[0] = (struct tiling){.count = 1, .size = {1}};
        return conv_body_of(job->body, &b, &e) == 0 && b.maker_count > 0 ? 0 : 1;
    }
    if (conv_body_of(job->body, &b, &e) ||
        conv_shape_of(&job->body->node[b.conv], &job->operand[b.lhs]->shape,
                      &job->operand[b.rhs]->shape, &shape, &e))
        return 0;
    lhs = job->operand[b.lhs];
    conv_shape_resolve(&shape, lhs);
    is_rows = shape.mode == CONV_ROWS;
    batch = shares(is_rows ? div_up(shape.batch, 8) : lhs->tiles_across, false, 8);
    columns = shares(div_up(shape.out_features, LANES), false, 6);
    features = shares(is_rows ? lhs->tiles_across : lhs->tiles_down, true, 5);
    if (shape.is_pixels)
        batch.count = 1;
    if (shape.feature_groups * shape.batch_groups > 1) {        /* the plan knows better */
        columns.count = shape.is_depthwise && is_rows ? columns.count : 1;
        if (is_rows)
            features.count = 1;
        else
            batch.count = 1;
    }
    offer_all(&s, &shape, &batch, &columns, &features);
    if (s.count == 0 && is_last_resort(job)) {
        s.is_thorough = true;
        offer_all(&s, &shape, &batch, &columns, &features);
    }
    return s.count;
}
