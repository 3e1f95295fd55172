/*
 * Loop fusions: reductions. A sum is a tile in VMEM for each unit of the result; lanes and rows
 * that are reduced stay apart in it until the phase that needs the result. The units of a block
 * are combined in registers first. An index of an extreme is kept beside its key, a signed
 * integer in the order of the values, NaN last.
 */
#include "stack/kernels/loop/fused_impl.h"
#include "stack/kernels/loop/loop_nest.h"

#include <assert.h>

#include "base/units.h"

#define ROWS_PER_TILE 8
#define LOWEST INT32_MIN
#define LEAST_KEY (INT32_MIN + 0x7fffff)        /* of minus infinity */
#define EXACT_MOST ((int64_t)1 << 24)           /* integers up to it are numbers of type f32 */

static bool is_float(enum graph_dtype t) { return t == DTYPE_F32 || t == DTYPE_BF16; }

/* the cross-lane unit has an operation for it */
static bool has_unit(const struct graph_node *reduce, enum graph_dtype t)
{
    return is_float(t) && !loop_is_arg(reduce) && reduce->reduce_kind != REDUCE_MUL;
}

static enum graph_dtype type_of(const struct loop_plan *p, int reduce)
{
    return p->body.node[p->body.node[reduce].operand[0]].shape.dtype;
}

static struct isa_operand identity(enum graph_reduce kind, enum graph_dtype t)
{
    bool is_unsigned = t == DTYPE_U32 || t == DTYPE_U8;

    switch (kind) {
    case REDUCE_ADD: case REDUCE_OR: return I(0);
    case REDUCE_MUL: return is_float(t) ? F(1) : I(1);
    case REDUCE_AND: return I(-1);
    case REDUCE_MAX: return is_float(t) ? I(0xff800000) : I(is_unsigned ? 0 : LOWEST);
    case REDUCE_MIN: return is_float(t) ? I(0x7f800000) : I(is_unsigned ? -1 : INT32_MAX);
    default: return I(LOWEST);          /* the key of an index */
    }
}

static struct isa_operand combine(struct vcode *c, enum graph_reduce kind, enum graph_dtype t,
                                  struct isa_operand a, struct isa_operand b)
{
    int to = vcode_vreg(c);

    vcode_put(c, fused_combine(kind, t, to, a, b));
    return R(to);
}

/* of two keys with their indices the larger, of equals the one with the lower index */
static void keep_extreme(struct vcode *c, struct isa_operand *key, struct isa_operand *index,
                         struct isa_operand other, struct isa_operand other_index)
{
    int is_more = emit_vcmp_gt_s32(c, other, *key);
    int is_same = emit_vcmp_eq_s32(c, other, *key);
    int is_first = emit_vcmp_lt_s32(c, other_index, *index);

    is_first = emit_vmand(c, is_same, is_first);
    is_more = emit_vmor(c, is_more, is_first);
    *key = R(emit_vsel(c, is_more, other, *key));
    *index = R(emit_vsel(c, is_more, other_index, *index));
}

/* ----- what a unit adds */

static struct isa_operand key_of(struct vcode *c, enum graph_reduce kind, enum graph_dtype t,
                                 struct isa_operand x)
{
    struct isa_operand key = x, turned;
    int is_negative;

    if (t == DTYPE_U32)
        key = R(emit_vxor_u32(c, x, I(LOWEST)));
    if (is_float(t)) {                  /* + 0 makes both zeros one */
        x = R(emit_vadd_f32(c, x, I(0)));
        turned = R(emit_vxor_u32(c, x, I(INT32_MAX)));
        is_negative = emit_vcmp_lt_s32(c, x, I(0));
        key = R(emit_vsel(c, is_negative, turned, x));
    }
    if (kind == REDUCE_ARGMIN)
        key = R(emit_vxor_u32(c, key, I(-1)));
    if (is_float(t))
        key = R(emit_vsel(c, emit_vcmp_ne_f32(c, x, x), I(INT32_MAX), key));
    return key;
}

/* the index along the reduced axis, of part `part` */
static struct isa_operand index_of(struct loop_nest *n, int reduce, int part)
{
    const struct loop_plan *p = n->p;
    uint32_t axes = loop_reduced_axes(p, reduce);
    int axis = 0, v = loop_nest_sequence(n);
    struct loop_sval first;

    while (!(axes >> axis & 1))
        axis++;
    if (p->is_linear) {
        first = loop_sval_scaled(n, loop_nest_element(n, AXIS_ROWS), ARRAY_LANES);
        first.add += part * 1024;
        return R(emit_vadd_s32(n->code, R(v), loop_sval_vector(n, first)));
    }
    first = loop_nest_element(n, axis);
    if (axis == AXIS_LANES)
        v = loop_nest_lane_index(n);
    else if (axis == AXIS_ROWS)
        v = loop_nest_row_index(n);
    else
        return R(vcode_in_register(n->code, loop_sval_vector(n, first)));
    first.add += axis == AXIS_ROWS ? part * 8 : 0;
    return R(emit_vadd_s32(n->code, R(v), loop_sval_vector(n, first)));
}

static int lane_mask(struct loop_nest *n)
{
    if (n->lane_mask < 0)
        n->lane_mask =
            emit_vcmp_lt_s32(n->code, R(loop_nest_lane_index(n)), I(loop_edge(n->p, AXIS_LANES)));
    return n->lane_mask;
}

/* elements of a part that exist, or -1: all */
static int valid_mask(struct loop_nest *n, int reduce, int part)
{
    const struct loop_plan *p = n->p;
    uint32_t axes = loop_reduced_axes(p, reduce);
    int valid = -1, index;
    struct loop_sval left;

    if (axes >> AXIS_ROWS & 1 && loop_nest_has_edge(p, AXIS_ROWS) &&
        loop_nest_is_last(n, AXIS_ROWS)) {
        index = loop_nest_sequence(n);
        left = loop_sval_scaled(n, loop_nest_element(n, AXIS_ROWS), -ARRAY_LANES);
        left.add += (p->is_linear ? p->linear_elements : p->axis[AXIS_ROWS].elements * 128)
                    - part * 1024;
        valid = emit_vcmp_lt_s32(n->code, R(index), loop_sval_vector(n, left));
    }
    if (!p->is_linear && axes >> AXIS_LANES & 1 && loop_edge(p, AXIS_LANES)
        && loop_nest_is_last(n, AXIS_LANES)) {
        int lanes = lane_mask(n);

        valid = valid < 0 ? lanes : emit_vmand(n->code, valid, lanes);
    }
    return valid;
}

bool loop_sums_lanes(const struct loop_plan *p, int reduce)
{
    const struct graph_node *x = &p->body.node[reduce];

    return has_unit(x, type_of(p, reduce)) && is_float(x->shape.dtype);
}

static struct loop_sval sum_place(struct loop_nest *n, int reduce)
{
    const struct loop_plan *p = n->p;
    int64_t stride[LOOP_AXIS_MAX] = {0};
    int64_t next = (int64_t)loop_parts(p, p->mask[reduce]) * ROWS_PER_TILE
                   * (loop_is_arg(&p->body.node[reduce]) ? 2 : 1);

    for (int a = 0; a < p->axis_count; a++)
        if (p->mask[reduce] >> a & 1) {
            stride[a] = next;
            next *= p->axis[a].box;
        }
    return loop_nest_row(n, -1, loop_scratch_row(p) + p->sum_row[reduce], stride,
                         p->mask[reduce]);
}

/* One value after the other would wait for each addition: so several are added up in turn. */
static void add_apart(struct loop_nest *n, struct loop_nest_sum *s, struct isa_operand value)
{
    int which = ++s->added % (NEST_APART + 1);
    struct isa_operand *to = which ? &s->apart[which - 1] : &s->value;

    *to = s->added <= NEST_APART ? value
                                 : combine(n->code, n->p->body.node[s->node].reduce_kind,
                                           type_of(n->p, s->node), *to, value);
}

static void join_apart(struct loop_nest *n, struct loop_nest_sum *s)
{
    for (int i = 0; i < s->added && i < NEST_APART; i++)
        s->value = combine(n->code, n->p->body.node[s->node].reduce_kind, type_of(n->p, s->node),
                           s->value, s->apart[i]);
    s->added = 0;
}

static void add_entry(struct loop_nest *n, int reduce, struct loop_sval row,
                      struct isa_operand value, struct isa_operand index)
{
    const struct graph_node *x = &n->p->body.node[reduce];

    for (int i = 0; i < n->sum_count; i++) {
        struct loop_nest_sum *s = &n->sum[i];

        if (s->node != reduce || s->row.sreg != row.sreg || s->row.add != row.add)
            continue;
        if (loop_is_arg(x))
            keep_extreme(n->code, &s->value, &s->index, value, index);
        else
            add_apart(n, s, value);
        return;
    }
    if (n->sum_count == NEST_SUM_MAX) {
        n->has_failed = true;
        n->sum_count = 0;
    }
    n->sum[n->sum_count++] = (struct loop_nest_sum){.node = reduce, .row = row, .value = value,
                                                    .index = index};
}

void loop_add_to_sum(struct loop_nest *n, int reduce)
{
    const struct loop_plan *p = n->p;
    const struct graph_node *x = &p->body.node[reduce];
    enum graph_dtype t = type_of(p, reduce);
    bool keeps_rows = p->mask[reduce] >> AXIS_ROWS & 1;
    struct loop_sval row;

    if (loop_is_row(p, reduce)) {
        loop_store_row_of_sum(n, reduce);
        return;
    }
    row = sum_place(n, reduce);
    for (int i = 0; i < loop_parts(p, n->mask); i++) {
        struct isa_operand v = n->fused.value[x->operand[0]].part[i], index = I(0);
        int valid = valid_mask(n, reduce, i);

        if (t == DTYPE_PRED)
            v = R(emit_vsel(n->code, v.value, I(1), I(0)));
        if (loop_is_arg(x)) {
            v = key_of(n->code, x->reduce_kind, t, v);
            index = index_of(n, reduce, i);
        }
        if (valid >= 0)
            v = R(emit_vsel(n->code, valid, v, identity(x->reduce_kind, t)));
        if (valid >= 0 && loop_is_arg(x))
            index = R(emit_vsel(n->code, valid, index, I(INT32_MAX)));
        add_entry(n, reduce,
                  (struct loop_sval){row.sreg, row.add + (keeps_rows ? i * ROWS_PER_TILE : 0)}, v,
                  index);
    }
}

static int64_t index_offset(const struct loop_plan *p, int reduce)
{
    return (int64_t)loop_parts(p, p->mask[reduce]) * ROWS_PER_TILE;
}

/* all that is reduced stands in one block: the sum is not read back */
bool loop_is_summed_at_once(const struct loop_nest *n, int reduce)
{
    uint32_t axes = loop_reduced_axes(n->p, reduce);

    for (int a = 0; a < n->p->axis_count; a++)
        if (axes >> a & 1 && (n->loop_mask >> a & 1 || n->p->axis[a].grid_dim >= 0))
            return false;
    return true;
}

/* and what is left of it in lanes, the cross-lane unit brings together before it is stored */
bool loop_finishes_sum(const struct loop_nest *n, int reduce)
{
    const struct graph_node *x = &n->p->body.node[reduce];
    enum graph_dtype t = type_of(n->p, reduce);

    return loop_is_summed_at_once(n, reduce) && has_unit(x, t) && t == DTYPE_F32
           && x->shape.dtype == DTYPE_F32 && n->p->mask[reduce] >> AXIS_ROWS & 1
           && loop_reduced_axes(n->p, reduce) >> AXIS_LANES & 1;
}

static struct isa_operand rotated(struct loop_nest *n, struct isa_operand v, int by, bool is_lanes)
{
    if (is_lanes)
        return R(emit_vrot_lane(n->code, loop_nest_xlu(n), v.value, I(by)));
    return R(emit_vrot_slane(n->code, v.value, I(by)));
}

static struct isa_operand reduce_lanes(struct loop_nest *n, enum graph_reduce kind, int v)
{
    return fused_across_lanes(n->code, loop_nest_xlu(n), kind, R(v));
}

/* what a cross-lane unit has no operation for */
static struct isa_operand reduce_others(struct loop_nest *n, enum graph_reduce kind,
                                        enum graph_dtype t, struct isa_operand v)
{
    if (fused_lanes_have_unit(kind) && (t == DTYPE_S32 || t == DTYPE_U32)) {
        int unit = loop_nest_xlu(n);

        return fused_integers_across_lanes(n->code, unit, loop_nest_xlu(n), kind, t == DTYPE_U32, v);
    }
    for (int by = 64; by > 0; by /= 2)
        v = combine(n->code, kind, t, v, rotated(n, v, by, true));
    return v;
}

/* rows and lanes that are reduced come together */
static struct isa_operand finish_value(struct loop_nest *n, int reduce, struct isa_operand v)
{
    const struct graph_node *x = &n->p->body.node[reduce];
    uint32_t axes = loop_reduced_axes(n->p, reduce);
    enum graph_dtype t = type_of(n->p, reduce);

    for (int by = 4; by > 0 && axes >> AXIS_ROWS & 1; by /= 2)
        v = combine(n->code, x->reduce_kind, t, v, rotated(n, v, by, false));
    if (axes >> AXIS_LANES & 1 && has_unit(x, t))
        return reduce_lanes(n, x->reduce_kind, v.value);
    return axes >> AXIS_LANES & 1 ? reduce_others(n, x->reduce_kind, t, v) : v;
}

void loop_sum_lanes(struct loop_nest *n, int reduce, struct fused_value *out)
{
    const struct graph_node *x = &n->p->body.node[reduce];
    enum graph_dtype t = type_of(n->p, reduce);

    out->is_mask = false;
    for (int i = 0; i < loop_parts(n->p, n->mask); i++) {
        struct isa_operand v = n->fused.value[x->operand[0]].part[i];

        if (loop_edge(n->p, AXIS_LANES))
            v = R(emit_vsel(n->code, lane_mask(n), v, identity(x->reduce_kind, t)));
        v = reduce_lanes(n, x->reduce_kind, vcode_in_register(n->code, v));
        out->part[i] = x->shape.dtype == DTYPE_BF16 ? fused_round_bf16(n->code, v) : v;
    }
}

static void store_sum(struct loop_nest *n, const struct loop_nest_sum *s)
{
    int region = LOOP_REGION_SUM + s->node;
    struct isa_operand value = s->value;

    if (n->p->is_finished[s->node])
        value = finish_value(n, s->node, value);
    loop_nest_store(n, s->row, 0xff, region, vcode_in_register(n->code, value));
    if (loop_is_arg(&n->p->body.node[s->node]))
        loop_nest_store(n,
                        (struct loop_sval){s->row.sreg, s->row.add + index_offset(n->p, s->node)},
                        0xff, region, vcode_in_register(n->code, s->index));
}

void loop_flush_sums(struct loop_nest *n)
{
    for (int i = 0; i < n->sum_count; i++) {
        struct loop_nest_sum *s = &n->sum[i];
        const struct graph_node *x = &n->p->body.node[s->node];
        int region = LOOP_REGION_SUM + s->node;
        struct loop_sval behind = {s->row.sreg, s->row.add + index_offset(n->p, s->node)};
        struct isa_operand old;

        join_apart(n, s);
        if (loop_is_summed_at_once(n, s->node)) {
            store_sum(n, s);
            continue;
        }
        old = R(emit_vld(n->code, isa_rows_at(operand_base(s->row.sreg), s->row.add), region));

        if (loop_is_arg(x)) {
            struct isa_operand at =
                R(emit_vld(n->code, isa_rows_at(operand_base(behind.sreg), behind.add), region));

            keep_extreme(n->code, &old, &at, s->value, s->index);
            loop_nest_store(n, behind, 0xff, region, at.value);
        } else {
            old = combine(n->code, x->reduce_kind, type_of(n->p, s->node), old, s->value);
        }
        loop_nest_store(n, s->row, 0xff, region, old.value);
    }
    n->sum_count = 0;
}

/* ----- before the first unit */

enum { S_COUNTER, S_AT };

static void init_tiles(struct vcode *c, int64_t row, int64_t tiles, int64_t pitch, int value,
                       int guard, int region)
{
    emit_smov(c, S_AT, I(row));
    if (tiles > 1)
        vcode_loop_begin(c, S_COUNTER, tiles);
    vcode_put(c, isa_if(guard, isa_vst(isa_rows_at(R(S_AT), 0), value)));
    c->block[c->block_count - 1].op[c->block[c->block_count - 1].op_count - 1].region = region;
    if (tiles > 1) {
        vcode_loop_step(c, S_AT, pitch);
        vcode_loop_end(c, S_COUNTER);
    }
}

void loop_init_sum(struct loop_plan *p, struct vcode *c, int reduce)
{
    const struct graph_node *x = &p->body.node[reduce];
    uint32_t axes = loop_reduced_axes(p, reduce), dims = 0;
    int64_t units = 1, row = loop_scratch_row(p) + p->sum_row[reduce];
    int guard = -1, value = vcode_pinned_vreg(c), parts = loop_parts(p, p->mask[reduce]);
    int region = LOOP_REGION_SUM + reduce;

    for (int a = 0; a < p->axis_count; a++) {
        if (p->mask[reduce] >> a & 1)
            units *= p->axis[a].box;
        else if (axes >> a & 1 && p->axis[a].grid_dim >= 0)
            dims |= 1u << p->axis[a].grid_dim;
    }
    if (dims)
        guard = pipeline_is_first(&p->pipeline, dims);
    vcode_put(c, isa_vmov(value, identity(x->reduce_kind, type_of(p, reduce))));
    if (!loop_is_arg(x)) {
        init_tiles(c, row, units * parts, ROWS_PER_TILE, value, guard, region);
        return;
    }
    for (int i = 0; i < parts; i++)
        init_tiles(c, row + i * ROWS_PER_TILE, units, 2 * parts * ROWS_PER_TILE, value, guard,
                   region);
    vcode_begin_block(c);
    vcode_put(c, isa_vmov(value, I(INT32_MAX)));
    for (int i = 0; i < parts; i++)
        init_tiles(c, row + (parts + i) * ROWS_PER_TILE, units, 2 * parts * ROWS_PER_TILE, value,
                   guard, region);
}

/* ----- behind the last one */

/* A key as a number of the same order; what no element has becomes the least one. */
static int number_of(struct vcode *c, struct isa_operand key)
{
    int least = emit_vmax_int(c, key, I(LEAST_KEY), false, false);
    int turned = emit_vxor_u32(c, R(least), I(INT32_MAX));

    return emit_vsel(c, emit_vcmp_lt_s32(c, R(least), I(0)), R(turned), R(least));
}

/* the lane is the index */
static bool is_in_one_row(const struct loop_plan *p)
{
    return !p->is_linear && p->axis[AXIS_LANES].elements <= ARRAY_LANES;
}

/* whether the cross-lane unit finds it: a number holds its key, and where it must its index */
static bool has_unit_for_index(const struct loop_plan *p, int reduce)
{
    int64_t elements = p->is_linear ? p->linear_elements : p->axis[AXIS_LANES].elements;

    return is_float(type_of(p, reduce)) && elements <= EXACT_MOST;
}

/* of the lanes with the largest key the lowest index */
static struct isa_operand first_of_lanes(struct loop_nest *n, struct isa_operand key,
                                         struct isa_operand index)
{
    struct vcode *c = n->code;
    int x = number_of(c, key), is_best, is_none, at;
    struct isa_operand most;

    if (is_in_one_row(n->p))
        return R(emit_vxlane_index(c, loop_nest_xlu(n), x, VXLANE_INDEX_MAX));
    most = R(emit_vmax_xlane(c, loop_nest_xlu(n), x));
    is_none = emit_vcmp_ne_f32(c, R(x), R(x));
    is_best = emit_vmor(c, emit_vcmp_eq_f32(c, R(x), most), is_none);
    at = emit_vcvt_f32_s32(c, R(emit_vsel(c, is_best, index, I(INT32_MAX))));
    return R(emit_vcvt_s32_f32(c, R(emit_vmin_xlane(c, loop_nest_xlu(n), at))));
}

static struct isa_operand finish_index(struct loop_nest *n, int reduce, struct isa_operand key,
                                       struct isa_operand index)
{
    uint32_t axes = loop_reduced_axes(n->p, reduce);
    struct isa_operand other;

    for (int by = 4; by > 0 && axes >> AXIS_ROWS & 1; by /= 2) {
        other = rotated(n, index, by, false);
        keep_extreme(n->code, &key, &index, rotated(n, key, by, false), other);
    }
    if (axes >> AXIS_LANES & 1 && has_unit_for_index(n->p, reduce))
        return first_of_lanes(n, key, index);
    for (int by = 64; by > 0 && axes >> AXIS_LANES & 1; by /= 2) {
        other = rotated(n, index, by, true);
        keep_extreme(n->code, &key, &index, rotated(n, key, by, true), other);
    }
    return index;
}

void loop_finish_sum(struct loop_nest *n, int reduce, struct fused_value *out)
{
    const struct graph_node *x = &n->p->body.node[reduce];
    struct loop_sval row = sum_place(n, reduce);
    int region = LOOP_REGION_SUM + reduce;

    out->is_mask = x->shape.dtype == DTYPE_PRED;
    for (int i = 0; i < loop_parts(n->p, n->mask); i++) {
        struct loop_sval at = {row.sreg, row.add + i * ROWS_PER_TILE};
        struct isa_operand v =
            R(emit_vld(n->code, isa_rows_at(operand_base(at.sreg), at.add), region));

        if (loop_is_arg(x)) {
            at.add += index_offset(n->p, reduce);
            v = finish_index(
                n, reduce, v,
                R(emit_vld(n->code, isa_rows_at(operand_base(at.sreg), at.add), region)));
        } else if (!n->p->is_finished[reduce]) {
            v = finish_value(n, reduce, v);
        }
        if (x->shape.dtype == DTYPE_S8 || x->shape.dtype == DTYPE_U8)
            v = fused_wrap(n->code, x->shape.dtype, v);
        if (x->shape.dtype == DTYPE_BF16)
            v = fused_round_bf16(n->code, v);
        out->part[i] = out->is_mask ? R(emit_vnez(n->code, v.value)) : v;
    }
}
