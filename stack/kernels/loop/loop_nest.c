/*
 * Emits the loops of a phase: inner axes unrolled, outer ones as loops whose addresses are kept in
 * scalar registers.
 */
#include "stack/kernels/loop/loop_nest.h"

#include <assert.h>
#include <string.h>

#define SREG_END 16                     /* of a step; the last ones are a unit's own */

/* ----- scalars */

int loop_nest_temp(struct loop_nest *n)
{
    return n->first_temp + n->next_temp++ % (SREG_END - n->first_temp);
}

static struct loop_sval in_temp(struct loop_nest *n, enum isa_opcode code, struct isa_operand a,
                                struct isa_operand b)
{
    int d = loop_nest_temp(n);

    emit_e_ss(n->code, code, d, a, b);
    return (struct loop_sval){d, 0};
}

struct isa_operand loop_sval_operand(struct loop_nest *n, struct loop_sval a)
{
    if (a.sreg < 0)
        return I(a.add);
    if (a.add == 0)
        return R(a.sreg);
    return R(in_temp(n, OP_SADD, R(a.sreg), I(a.add)).sreg);
}

struct loop_sval loop_sval_sum(struct loop_nest *n, struct loop_sval a, struct loop_sval b)
{
    struct loop_sval out;

    if (a.sreg < 0 || b.sreg < 0)
        return (struct loop_sval){a.sreg < 0 ? b.sreg : a.sreg, a.add + b.add};
    out = in_temp(n, OP_SADD, R(a.sreg), R(b.sreg));
    out.add = a.add + b.add;
    return out;
}

struct loop_sval loop_sval_scaled(struct loop_nest *n, struct loop_sval a, int64_t by)
{
    struct loop_sval out;

    if (a.sreg < 0 || by == 1)
        return (struct loop_sval){a.sreg, a.add * by};
    out = in_temp(n, OP_SMUL, R(a.sreg), I(by));
    out.add = a.add * by;
    return out;
}

struct loop_sval loop_sval_shifted(struct loop_nest *n, struct loop_sval a, int by)
{
    if (a.sreg < 0 || by == 0)
        return (struct loop_sval){a.sreg, a.add >> by};
    return in_temp(n, OP_SSHRL, loop_sval_operand(n, a), I(by));
}

struct loop_sval loop_sval_masked(struct loop_nest *n, struct loop_sval a, int64_t mask)
{
    if (a.sreg < 0 || mask == 0)
        return (struct loop_sval){-1, a.sreg < 0 ? a.add & mask : 0};
    return in_temp(n, OP_SAND, loop_sval_operand(n, a), I(mask));
}

struct isa_operand loop_sval_vector(struct loop_nest *n, struct loop_sval a)
{
    if (a.sreg < 0)
        return I(a.add);
    return R(emit_vstv(n->code, loop_sval_operand(n, a).value));
}

/* ----- tracks */

static struct loop_sval find_track(struct loop_nest *n, int base, int axis, const int64_t *stride)
{
    struct loop_nest_track *t;
    bool moves = false;

    for (int a = 0; a < n->p->axis_count; a++)
        moves |= n->loop_mask >> a & 1 && stride[a];
    if (!moves && axis < 0)
        return (struct loop_sval){base, 0};
    for (int i = 0; i < n->track_count; i++) {
        bool is_same = n->track[i].base == base && n->track[i].axis == axis;

        for (int a = 0; a < n->p->axis_count; a++)
            if (n->loop_mask >> a & 1 && n->track[i].stride[a] != stride[a])
                is_same = false;
        if (is_same)
            return (struct loop_sval){n->track[i].sreg, 0};
    }
    if (!n->is_collecting || n->track_count == NEST_TRACK_MAX
        || n->first_sreg + n->track_count >= n->first_temp) {
        n->has_failed = true;
        return (struct loop_sval){-1, 0};
    }
    t = &n->track[n->track_count];
    *t = (struct loop_nest_track){
        .base = base, .axis = axis, .sreg = n->first_sreg + n->track_count};
    memcpy(t->stride, stride, (size_t)n->p->axis_count * sizeof(*stride));
    n->track_count++;
    return (struct loop_sval){t->sreg, 0};
}

struct loop_sval loop_nest_row(struct loop_nest *n, int base, int64_t row, const int64_t *stride,
                               uint32_t mask)
{
    int64_t own[LOOP_AXIS_MAX] = {0};
    struct loop_sval out;

    for (int a = 0; a < n->p->axis_count; a++)
        if (mask >> a & 1) {
            own[a] = stride[a];
            row += n->unit[a] * stride[a];
        }
    out = find_track(n, base, -1, own);
    out.add += row;
    return out;
}

struct loop_sval loop_nest_element(struct loop_nest *n, int axis)
{
    const struct loop_axis *x = &n->p->axis[axis];
    int64_t stride[LOOP_AXIS_MAX] = {0};
    struct loop_sval out = {-1, 0};

    stride[axis] = x->unit_elements;
    if (n->loop_mask >> axis & 1 || x->grid_dim >= 0)
        out = find_track(n, -1, axis, stride);
    out.add += (n->unit[axis] + x->first) * x->unit_elements;
    return out;
}

static void start_track(struct loop_nest *n, const struct loop_nest_track *t)
{
    if (t->axis >= 0) {
        const struct loop_axis *x = &n->p->axis[t->axis];

        if (x->grid_dim < 0) {
            emit_smov(n->code, t->sreg, I(0));
            return;
        }
        emit_smul(n->code, t->sreg, R(pipeline_index(&n->p->pipeline, x->grid_dim)),
                  I(x->box * x->unit_elements));
        if (x->box * x->count != x->units)
            emit_smin_max(n->code, t->sreg, R(t->sreg), I((x->units - x->box) * x->unit_elements),
                          SMIN_MAX_MIN, SMIN_MAX_S32);
    } else if (t->base >= 0) {
        emit_smov(n->code, t->sreg, R(t->base));
    } else {
        emit_smov(n->code, t->sreg, I(0));
    }
}

/* every track that moves along the axis goes on by `units`, inside a loop at the end of a round */
static void advance(struct loop_nest *n, int axis, int64_t units, bool in_loop)
{
    for (int i = 0; i < n->track_count; i++) {
        const struct loop_nest_track *t = &n->track[i];
        int64_t by = t->stride[axis] * units;

        if (by && in_loop && !n->is_plain)
            vcode_loop_step(n->code, t->sreg, by);
        else if (by)
            emit_sadd(n->code, t->sreg, R(t->sreg), I(by));
    }
}

/* ----- edges */

bool loop_nest_has_edge(const struct loop_plan *p, int axis)
{
    if (p->is_linear)
        return axis == AXIS_ROWS && p->linear_elements % (p->axis[AXIS_ROWS].unit_elements * 128);
    if (axis == AXIS_LANES)
        return p->reduced_mask >> axis & 1 && loop_edge(p, axis);
    if (axis != AXIS_ROWS)
        return false;
    for (int i = 0; i < p->array_count; i++)
        if (p->array[i].missing > 0)
            return true;
    return p->reduced_mask >> axis & 1 && loop_edge(p, axis);
}

bool loop_nest_is_last(const struct loop_nest *n, int axis)
{
    if (n->loop_mask >> axis & 1)
        return n->peel_mask >> axis & 1;
    return n->unit[axis] == n->p->axis[axis].box - 1;
}

int loop_nest_xlu(struct loop_nest *n)
{
    return n->next_xlu++ % (int)n->p->job->chip->xlu_count;
}

/* ----- indices of elements */

int loop_nest_sequence(struct loop_nest *n)
{
    if (n->sequence < 0) {
        n->sequence = vcode_vreg(n->code);
        vcode_put(n->code, isa_vlaneseq(n->sequence));
    }
    return n->sequence;
}

int loop_nest_lane_index(struct loop_nest *n)
{
    if (n->lane_index < 0)
        n->lane_index = emit_vand_u32(n->code, R(loop_nest_sequence(n)), I(ARRAY_LANES - 1));
    return n->lane_index;
}

int loop_nest_row_index(struct loop_nest *n)
{
    if (n->row_index < 0)
        n->row_index = emit_vshrl_u32(n->code, R(loop_nest_sequence(n)), I(7));
    return n->row_index;
}

/* ----- memory */

int loop_nest_load(struct loop_nest *n, struct loop_sval row, int stride, int region)
{
    int value;

    for (int i = 0; i < n->cache_count; i++)
        if (n->cache[i].row.sreg == row.sreg && n->cache[i].row.add == row.add
            && n->cache[i].stride == stride)
            return n->cache[i].value;
    value = emit_vld(n->code, isa_rows_apart(operand_base(row.sreg), row.add, stride), region);
    /* rows in a scalar of this unit alone mean something else in the next */
    if (row.sreg < n->first_temp || row.sreg >= SREG_END) {
        if (n->cache_count == NEST_CACHE_MAX)
            n->cache_count = 0;
        n->cache[n->cache_count].row = row;
        n->cache[n->cache_count].stride = stride;
        n->cache[n->cache_count++].value = value;
    }
    return value;
}

void loop_nest_store(struct loop_nest *n, struct loop_sval row, int sublane_mask, int region,
                     int value)
{
    emit_vst(n->code, isa_rows_some(operand_base(row.sreg), row.add, sublane_mask), value, region);
}

/* ----- loops */

/* the units of the block, one after the other: of the axes that the phase has */
static int run_units(struct loop_nest *n, int (*unit)(struct loop_nest *n))
{
    for (;;) {
        int k = 0;

        fused_restart(&n->fused);
        memset(n->column_place, -1, sizeof(n->column_place));
        if (unit(n))
            return -1;
        for (; k < n->axis_count; k++) {
            int a = n->axis_order[k];

            if (n->mask >> a & 1 && ++n->unit[a] < n->now[a])
                break;
            n->unit[a] = 0;
        }
        if (k == n->axis_count)
            return 0;
    }
}

static int run_block(struct loop_nest *n, int (*unit)(struct loop_nest *n),
                     void (*block_end)(struct loop_nest *n))
{
    size_t first = n->code->block[n->code->block_count - 1].op_count;

    memset(n->unit, 0, sizeof(n->unit));
    n->cache_count = n->chunk_count = 0;
    n->lane_mask = n->diagonal = n->sequence = n->lane_index = n->row_index = -1;
    for (int k = 0; k < n->part_count || k == 0; k++) {
        if (n->part_count) {
            n->cache_count = 0;         /* registers are fewer than what a phase loads */
            n->begin_part(n, &n->part[k]);
        }
        if (run_units(n, unit))
            return -1;
        block_end(n);
    }
    if (n->is_plain)
        vcode_stagger(n->code, first, n->p->job->chip);
    return 0;
}

static int run_axes(struct loop_nest *n, int k, int (*unit)(struct loop_nest *n),
                    void (*block_end)(struct loop_nest *n));

/* `units` of axis number k at once */
static int run_some(struct loop_nest *n, int k, int64_t units, int (*unit)(struct loop_nest *n),
                    void (*block_end)(struct loop_nest *n))
{
    n->now[n->axis_order[k]] = units;
    return run_axes(n, k - 1, unit, block_end);
}

static int run_loop(struct loop_nest *n, int k, int64_t rounds, int (*unit)(struct loop_nest *n),
                    void (*block_end)(struct loop_nest *n))
{
    int a = n->axis_order[k];

    vcode_loop_begin(n->code, k, rounds);
    if (run_some(n, k, n->unroll[a], unit, block_end))
        return -1;
    advance(n, a, n->unroll[a], true);
    vcode_loop_end(n->code, k);
    return 0;
}

static int run_axes(struct loop_nest *n, int k, int (*unit)(struct loop_nest *n),
                    void (*block_end)(struct loop_nest *n))
{
    int a = k < 0 ? 0 : n->axis_order[k];
    int64_t units = k < 0 ? 0 : n->units[a], done, rounds;
    bool has_edge = loop_nest_has_edge(n->p, a);

    if (k < 0)
        return run_block(n, unit, block_end);
    if (!(n->loop_mask >> a & 1))
        return run_some(n, k, units, unit, block_end);
    units -= has_edge;
    rounds = units / n->unroll[a];
    done = rounds * n->unroll[a];
    if (rounds > 1 ? run_loop(n, k, rounds, unit, block_end)
                   : rounds == 1 && run_some(n, k, n->unroll[a], unit, block_end))
        return -1;
    if (rounds == 1)
        advance(n, a, n->unroll[a], false);
    if (units > done) {
        if (run_some(n, k, units - done, unit, block_end))
            return -1;
        advance(n, a, units - done, false);
    }
    if (has_edge) {
        n->peel_mask |= 1u << a;
        if (run_some(n, k, 1, unit, block_end))
            return -1;
        n->peel_mask &= ~(1u << a);
    }
    advance(n, a, -units, false);
    return 0;
}

static void no_end(struct loop_nest *n)
{
    n->sum_count = n->column_count = 0;
}

int loop_nest_collect(struct loop_nest *n, struct vcode *code, int (*unit)(struct loop_nest *n))
{
    struct vcode *own = n->code;
    int status;

    n->first_sreg = n->axis_count;
    n->first_temp = n->mask == n->p->full_mask ? SREG_END - 3 : SREG_END - 8;
    n->code = n->fused.code = code;
    n->is_collecting = true;
    for (int a = 0; a < n->p->axis_count; a++)
        n->now[a] = 1;
    n->peel_mask = n->p->full_mask;
    status = run_block(n, unit, no_end);
    n->peel_mask = 0;
    n->is_collecting = false;
    n->code = n->fused.code = own;
    return status;
}

/* every address goes on along `outer` where it ends along `inner` */
static bool goes_on(const struct loop_nest *n, int inner, int outer)
{
    for (int i = 0; i < n->track_count; i++)
        if (n->track[i].stride[outer] != n->units[inner] * n->track[i].stride[inner])
            return false;
    return true;
}

/* loops that are one loop by their addresses: one prologue instead of many */
static void join_loops(struct loop_nest *n)
{
    for (int a = 0; a < n->p->axis_count; a++)
        n->units[a] = n->p->axis[a].box;
    for (int k = 0; k + 1 < n->axis_count; k++) {
        int inner = n->axis_order[k], outer = n->axis_order[k + 1];

        while (n->loop_mask >> inner & n->loop_mask >> outer & 1 && !loop_nest_has_edge(n->p, inner)
               && !loop_nest_has_edge(n->p, outer) && goes_on(n, inner, outer)) {
            n->units[inner] *= n->units[outer];
            n->axis_count--;
            for (int i = k + 1; i < n->axis_count; i++)
                n->axis_order[i] = n->axis_order[i + 1];
            if (k + 1 >= n->axis_count)
                break;
            outer = n->axis_order[k + 1];
        }
    }
}

int loop_nest_run(struct loop_nest *n, int (*unit)(struct loop_nest *n),
                  void (*block_end)(struct loop_nest *n))
{
    struct vcode scratch;
    int status;

    vcode_init(&scratch, n->p->arena);
    status = loop_nest_collect(n, &scratch, unit);
    vcode_fini(&scratch);
    if (status)
        return -1;
    if (n->has_failed)
        return err_set(n->e, "its operands move in too many ways for the scalar registers");
    join_loops(n);
    vcode_begin_block(n->code);
    for (int i = 0; i < n->track_count; i++)
        start_track(n, &n->track[i]);
    for (int a = 0; a < n->p->axis_count; a++)
        n->now[a] = 1;
    if (run_axes(n, n->axis_count - 1, unit, block_end))
        return -1;
    return n->has_failed ? err_set(n->e, "its operands move in too many ways") : 0;
}
