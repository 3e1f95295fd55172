/*
 * Elements by computed indices: rotations by a computed amount, gathers along lanes or rows, and the
 * index of a row's largest or smallest element.
 */
#include <string.h>

#include "base/units.h"
#include "stack/kernels/mosaic/tile.h"

#define GATHER_ROWS_MAX 1024            /* of which a row is chosen, one by one */

/* ----- rotations: towards higher indices */

/* all of the dimension is in one tile, whose rotation is one operation */
static bool is_in_tile(const struct tile_layout *layout, const struct mosaic_type *t, int64_t dim)
{
    return (dim == layout->lane_dim && t->dim[dim] == TILE_LANES) ||
           (dim == layout->row_dim && t->dim[dim] == TILE_ROWS);
}

/* The vector twice, one after the other, in memory: what is rotated is a part of it. */
static int rotate_in_memory(struct lower *l, const struct mosaic_op *op, int64_t dim)
{
    const struct mosaic_value *v = op->operand[0], *to = op->result[0];
    int64_t size = to->type.dim[dim];
    struct mosaic_type twice = to->type;
    struct scalar amount = scalar_of(l, op->operand[1]), first;
    struct place whole, half;
    struct root r = {.value = v, .is_value = false, .is_wanted = true};

    if (v->type.element == MOSAIC_I1)
        return pallas_fail(l, op, "of truths by a computed amount");
    twice.dim[dim] *= 2;
    pallas_take_for(l, to);
    whole = place_new(l, &twice, op, "a vector to rotate, twice");
    pallas_take_for(l, NULL);
    half = whole;
    half.t.dim[dim] = size;
    half.covers_rows = half.covers_lanes = false;
    half.buffer = to->id;               /* stores leave alone what is beside it */
    r.to = half;
    r.op = op;
    if (root_flush(l) || root_add(l, &r) ||
        place_move(l, op, &r.to, (int)dim, scalar_known(size), size) || root_flush(l) ||
        root_add(l, &r) || root_flush(l))
        return -1;
    first = scalar_sub(l, scalar_known(size), scalar_remainder(l, amount, size));
    if (place_move(l, op, &half, (int)dim, first, 1))
        return -1;
    half.buffer = -1;
    l->place[to->id] = half;
    return l->is_failed ? -1 : 0;
}

int pallas_rotate(struct lower *l, const struct mosaic_op *op)
{
    const struct mosaic_value *to = op->result[0];
    int64_t dim = mosaic_int(op, "dimension", 0);
    struct scalar amount = scalar_of(l, op->operand[1]);
    struct tile_layout layout;

    if (amount.is_known)
        return pallas_moved(l, op);
    if (dim < 0 || dim >= to->type.rank)
        return pallas_fail(l, op, "dimension %lld of %d", (long long)dim, to->type.rank);
    if (mosaic_int(op, "stride", 0) && mosaic_int(op, "stride_dimension", dim) != dim)
        return pallas_fail(l, op, "with a stride, by a computed amount");
    layout = tile_layout_of(l, op->operand[0]);
    if (!is_in_tile(&layout, &to->type, dim))
        return rotate_in_memory(l, op, dim);
    /* sublanes are rotated the other way */
    l->turn[to->id] = dim == layout.lane_dim
                          ? amount : scalar_remainder(l, scalar_sub(l, scalar_known(0), amount),
                                                      TILE_ROWS);
    return 0;
}

bool tile_rotate(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at, opnd *out)
{
    struct tile_layout layout = tile_layout_of(t->l, op->operand[0]);
    struct scalar turn = t->l->turn[op->result[0]->id];
    bool is_mask = op->result[0]->type.element == MOSAIC_I1;
    opnd by;

    if (t->l->scalar[op->operand[1]->id].is_known)
        return tile_moved(t, op, at, out);
    if (!tile_pull(t, op->operand[0], at, out))
        return false;
    if (is_mask)
        *out = choose(t->c, out->value, I(1), I(0));
    by = tile_scalar(t, turn);
    if (mosaic_int(op, "dimension", 0) == layout.lane_dim)
        *out = R(emit_vrot_lane(t->c, tile_unit(t), vcode_in_register(t->c, *out), by));
    else
        *out = R(emit_vrot_slane(t->c, vcode_in_register(t->c, *out), by));
    if (is_mask)
        *out = R(emit_vcmp_ne_s32(t->c, *out, I(0)));
    return true;
}

/* ----- gathers */

static int gather_dim(const struct mosaic_op *op)
{
    const struct mosaic_attr *dims = mosaic_attr(op, "dimensions");

    return dims && dims->kind == MOSAIC_ATTR_INTS && dims->count == 1 ? (int)dims->ints[0] : -1;
}

/* Along rows the vector stands in memory, whose rows are read one by one. */
int pallas_dynamic_gather(struct lower *l, const struct mosaic_op *op)
{
    const struct mosaic_value *from = op->operand[0];
    struct tile_layout layout = tile_layout_of(l, from);
    int dim = gather_dim(op);
    struct place p;

    if (from->type.element == MOSAIC_I1 || dim < 0 ||
        (dim != layout.lane_dim && dim != layout.row_dim))
        return pallas_fail(l, op, "along other dimensions than one of the last two");
    if (dim == layout.row_dim && from->type.dim[dim] > GATHER_ROWS_MAX)
        return pallas_fail(l, op, "of %lld rows; %d are the most", (long long)from->type.dim[dim],
                           GATHER_ROWS_MAX);
    if (l->place[from->id].is_there && dim == layout.lane_dim)
        return 0;
    return root_materialize(l, from, &p);
}

static bool gather_lanes(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at,
                         opnd index, opnd *out)
{
    const struct mosaic_value *from = op->operand[0];
    int64_t across = tile_lanes_across(t->l, from);
    int where = vcode_in_register(t->c, index);
    opnd tile = right(t->c, R(where), I(7));

    for (int64_t k = 0; k < across; k++) {
        struct tile_at there = {.row = at->row, .lane = k, .all_rows = at->all_rows};
        opnd v;

        if (!tile_pull(t, from, &there, &v))
            return false;
        v = R(emit_vperm(t->c, tile_unit(t), vcode_in_register(t->c, v), where));
        *out = k ? choose(t->c, emit_vcmp_eq_s32(t->c, tile, I(k)), v, *out) : v;
    }
    return true;
}

static bool gather_rows(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at,
                        opnd index, opnd *out)
{
    const struct mosaic_value *from = op->operand[0];
    const struct place *p = &t->l->place[from->id];
    int64_t rows = from->type.dim[gather_dim(op)];
    int64_t down = tile_down(t->l, op->result[0]), outer = at->row / down;

    if (tile_rows_down(t->l, op->result[0]) != down)
        tile_limit(t, down);
    for (int64_t r = 0; r < rows; r++) {
        struct tile_at there = {.row = outer * tile_down_of(p) + r / TILE_ROWS, .lane = at->lane,
                                .all_rows = true};
        struct place row = *p;
        opnd v;

        row.sublane = r % TILE_ROWS;
        if (p->t.rows > TILE_ROWS) {    /* sublanes count rows of a packed tile */
            row.sublane = r % p->t.rows;
            there.row -= r % p->t.rows / TILE_ROWS;
        }
        v = tile_load(t, &row, &there);
        *out = r ? choose(t->c, emit_vcmp_eq_s32(t->c, index, I(r)), v, *out) : v;
    }
    return !t->is_failed;
}

bool tile_dynamic_gather(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at,
                         opnd *out)
{
    struct tile_layout layout = tile_layout_of(t->l, op->operand[0]);
    opnd index;

    if (!tile_pull(t, op->operand[1], at, &index))
        return false;
    index = R(vcode_in_register(t->c, index));
    return gather_dim(op) == layout.lane_dim ? gather_lanes(t, op, at, index, out)
                                             : gather_rows(t, op, at, index, out);
}

/* ----- where the extreme is */

int pallas_reduce_index(struct lower *l, const struct mosaic_op *op)
{
    const struct mosaic_value *from = op->operand[0];

    if (from->type.element != MOSAIC_F32 ||
        mosaic_int(op, "axis", 0) != tile_layout_of(l, from).lane_dim)
        return pallas_fail(l, op, "of %s, or along another dimension than the last",
                           mosaic_element_name(from->type.element));
    return 0;
}

/* lane by lane the better of two tiles, a NaN before all others, the first of equal ones */
static void keep_better(struct tiler *t, bool is_max, opnd *best, opnd *index, opnd x, opnd at)
{
    int a = vcode_in_register(t->c, *best), b = vcode_in_register(t->c, x);
    int better = is_max ? emit_vcmp_gt_f32(t->c, R(b), R(a)) : emit_vcmp_lt_f32(t->c, R(b), R(a));
    int was_none = emit_vcmp_ne_f32(t->c, R(a), R(a)), is_none = emit_vcmp_ne_f32(t->c, R(b), R(b));

    better = emit_vmor(t->c, better, is_none);
    better = emit_vmand(t->c, better, emit_vmneg(t->c, was_none));
    *best = choose(t->c, better, R(b), R(a));
    *index = choose(t->c, better, at, *index);
}

bool tile_reduce_index(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at,
                       opnd *out)
{
    const struct mosaic_value *from = op->operand[0];
    bool is_max = !strcmp(mosaic_text(op, "kind", ""), "arg_max");
    int64_t across = tile_lanes_across(t->l, from);
    int64_t rest = tile_lane_count(t->l, from) % TILE_LANES;
    opnd lane = bit_and(t->c, R(emit_vlaneseq(t->c)), I(TILE_LANES - 1)), best = I(0), index = lane;
    opnd most, none;
    int key;

    for (int64_t k = 0; k < across; k++) {
        struct tile_at there = {.row = at->row, .lane = k, .all_rows = at->all_rows};
        opnd x;

        if (!tile_pull(t, from, &there, &x))
            return false;
        if (rest && k == across - 1)
            x = choose(t->c, tile_lane_mask(t, rest), x,
                       I(is_max ? (int32_t)0xff800000 : 0x7f800000));
        if (k)
            keep_better(t, is_max, &best, &index, x, iadd(t->c, lane, I(k * TILE_LANES)));
        else
            best = x;
    }
    key = vcode_in_register(t->c, best);
    if (across == 1) {
        *out = R(emit_vxlane_index(t->c, tile_unit(t), key,
                                   is_max ? VXLANE_INDEX_MAX : VXLANE_INDEX_MIN));
        return true;
    }
    /* no mask waits for the cross-lane unit: they are few, and rows would wait for each other */
    none = choose(t->c, emit_vcmp_ne_f32(t->c, R(key), R(key)), index, I(INT32_MAX));
    most = R(is_max ? emit_vmax_xlane(t->c, tile_unit(t), key)
                    : emit_vmin_xlane(t->c, tile_unit(t), key));
    index = choose(t->c, emit_vcmp_eq_f32(t->c, R(key), most), index, none);
    index = R(emit_vcvt_f32_s32(t->c, index));
    *out = R(emit_vcvt_s32_f32(t->c, R(emit_vmin_xlane(t->c, tile_unit(t), index.value))));
    return true;
}
