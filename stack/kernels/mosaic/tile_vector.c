/* Tiles of what spreads, joins and cuts vectors, and of sums along lanes: no data moves but along
 * lanes, it is only told where a tile is to be taken from. */
#include "stack/kernels/mosaic/tile.h"

#include <string.h>

#include "base/units.h"

bool tile_broadcast(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at,
                    opnd *out)
{
    const struct mosaic_value *from = op->operand[0], *to = op->result[0];
    struct tile_layout layout;
    struct tile_at there = *at;
    int lead;
    int64_t down, all_from, all_to;

    if (from->type.kind == MOSAIC_SCALAR)
        return tile_pull(t, from, at, out);
    layout = tile_layout_of(t->l, from);
    lead = to->type.rank - from->type.rank;
    if (layout.lane_dim < 0 || layout.lane_dim != from->type.rank - 1)
        return tile_fail(t, op, "of a vector that lies along rows");
    if (from->type.dim[layout.lane_dim] == 1 && to->type.dim[to->type.rank - 1] != 1) {
        there.lane = 0;
        there.all_lanes = true;
    }
    down = tile_down(t->l, to);
    all_from = tile_rows_down(t->l, from);
    all_to = tile_rows_down(t->l, to);
    if (tile_row_count(t->l, from) != tile_row_count(t->l, to)) {
        if (all_from != 1) {            /* a row for each outer index */
            int64_t outer_from = 0, scale = 1, outer = at->row / down;

            tile_limit(t, down);
            for (int d = to->type.rank - 3; d >= 0; d--) {
                int64_t index = outer % to->type.dim[d];

                outer /= to->type.dim[d];
                if (d - lead >= 0 && from->type.dim[d - lead] != 1) {
                    outer_from += index * scale;
                    scale *= from->type.dim[d - lead];
                }
            }
            there.row = outer_from;
        } else {
            there.row = 0;
        }
        there.all_rows = true;
    } else if (all_from != all_to) {    /* the same rows for other outer indices */
        int64_t outer_from = 0, scale = 1, outer = at->row / down;

        tile_limit(t, down);
        for (int d = to->type.rank - 3; d >= 0; d--) {
            int64_t index = outer % to->type.dim[d];

            outer /= to->type.dim[d];
            if (d - lead >= 0 && from->type.dim[d - lead] != 1) {
                outer_from += index * scale;
                scale *= from->type.dim[d - lead];
            }
        }
        there.row = outer_from * down + at->row % down;
    }
    return tile_pull(t, from, &there, out);
}

/* ----- tiles that are those of an operand */

/* Rows, lanes and the order of outer dimensions stay: whole row tiles may be counted otherwise. */
static bool reshape_is_plain(const struct lower *l, const struct mosaic_op *op)
{
    const struct mosaic_value *from = op->operand[0], *to = op->result[0];
    int64_t rows_from = tile_row_count(l, from), rows_to = tile_row_count(l, to);

    return tile_lane_count(l, from) == tile_lane_count(l, to) &&
           (rows_from == rows_to || (rows_from % TILE_ROWS == 0 && rows_to % TILE_ROWS == 0));
}

/* parts of whole tiles along rows or lanes, but for the last */
static bool concatenate_is_plain(const struct lower *l, const struct mosaic_op *op)
{
    struct tile_layout layout = tile_layout_of(l, op->result[0]);
    int64_t dim = mosaic_int(op, "dimension", 0);
    int64_t unit = dim == layout.lane_dim ? TILE_LANES : TILE_ROWS;

    if (dim != layout.lane_dim && dim != layout.row_dim)
        return false;
    for (int i = 0; i + 1 < op->operand_count; i++)
        if (op->operand[i]->type.dim[dim] % unit)
            return false;
    return true;
}

/* from a tile's first row and lane on, without strides */
static bool slice_is_plain(const struct lower *l, const struct mosaic_op *op)
{
    const struct mosaic_attr *offsets = mosaic_attr(op, "offsets");
    const struct mosaic_attr *strides = mosaic_attr(op, "strides");
    struct tile_layout layout = tile_layout_of(l, op->operand[0]);

    for (int i = 0; strides && i < strides->count; i++)
        if (strides->ints[i] != 1)
            return false;
    for (int d = 0; offsets && d < offsets->count; d++)
        if ((d == layout.lane_dim && offsets->ints[d] % TILE_LANES) ||
            (d == layout.row_dim && offsets->ints[d] % TILE_ROWS))
            return false;
    return offsets && offsets->count <= op->operand[0]->type.rank;
}

bool tile_is_plain(const struct lower *l, const struct mosaic_op *op)
{
    switch (op->code) {
    case MOSAIC_SHAPE_CAST: case MOSAIC_TPU_RESHAPE: return reshape_is_plain(l, op);
    case MOSAIC_CONCATENATE: return concatenate_is_plain(l, op);
    case MOSAIC_STRIDED_SLICE: return slice_is_plain(l, op);
    default: return false;
    }
}

bool tile_reshape(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at, opnd *out)
{
    return reshape_is_plain(t->l, op) ? tile_pull(t, op->operand[0], at, out)
                                      : tile_moved(t, op, at, out);
}

bool tile_concatenate(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at,
                      opnd *out)
{
    const struct mosaic_value *to = op->result[0];
    struct tile_layout layout = tile_layout_of(t->l, to);
    int64_t dim = mosaic_int(op, "dimension", 0), first = 0, down = tile_down(t->l, to);
    bool is_lanes = dim == layout.lane_dim;
    int64_t wanted = is_lanes ? at->lane : at->row % down;
    struct tile_at there = *at;

    if (!concatenate_is_plain(t->l, op))
        return tile_moved(t, op, at, out);
    for (int i = 0; i < op->operand_count; i++) {
        const struct mosaic_value *from = op->operand[i];
        int64_t tiles = div_up(from->type.dim[dim], is_lanes ? TILE_LANES : TILE_ROWS);

        if (!is_lanes)
            tile_limit(t, tiles);
        if (wanted < first + tiles && wanted >= first) {
            if (is_lanes) {
                there.lane = wanted - first;
            } else {
                if (tile_rows_down(t->l, to) != down)
                    tile_limit(t, down);
                there.row = at->row / down * tiles + (wanted - first);
            }
            return tile_pull(t, from, &there, out);
        }
        first += tiles;
    }
    return tile_fail(t, op, "its parts are fewer than its result");
}

bool tile_strided_slice(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at,
                        opnd *out)
{
    const struct mosaic_attr *offsets = mosaic_attr(op, "offsets");
    const struct mosaic_value *from = op->operand[0], *to = op->result[0];
    struct tile_layout layout = tile_layout_of(t->l, from);
    struct tile_at there = *at;
    int64_t down_to = tile_down(t->l, to), down_from = tile_down(t->l, from), outer_from = 0;
    int64_t scale = 1, outer = at->row / down_to, row;

    if (!slice_is_plain(t->l, op))
        return tile_moved(t, op, at, out);
    row = at->row % down_to;
    for (int d = from->type.rank - 1; d >= 0; d--) {
        int64_t by = d < offsets->count ? offsets->ints[d] : 0;

        if (d == layout.lane_dim) {
            there.lane += by / TILE_LANES;
        } else if (d == layout.row_dim) {
            row += by / TILE_ROWS;
        } else {
            outer_from += (outer % to->type.dim[d] + by) * scale;
            outer /= to->type.dim[d];
            scale *= from->type.dim[d];
        }
    }
    if (tile_rows_down(t->l, to) != down_to)
        tile_limit(t, down_to);
    there.row = outer_from * down_from + row;
    return tile_pull(t, from, &there, out);
}

/* ----- sums along lanes */

opnd tile_combine(struct tiler *t, const char *kind, enum mosaic_element e, opnd a, opnd b)
{
    bool is_float = mosaic_element_kind(e) == MOSAIC_KIND_FLOAT;

    if (!strcmp(kind, "add") || !strcmp(kind, "sum"))
        return is_float ? add(t->c, a, b) : iadd(t->c, a, b);
    if (!strcmp(kind, "mul"))
        return is_float ? mul(t->c, a, b) : imul(t->c, a, b);
    if (!strncmp(kind, "max", 3))
        return is_float ? R(emit_vmax_f32(t->c, a, b))
                        : R(emit_vmax_int(t->c, a, b, VMAX_INT_MAX, kind[3] == 'u' ? VMAX_INT_U32
                                                                                  : VMAX_INT_S32));
    if (!strncmp(kind, "min", 3))
        return is_float ? R(emit_vmin_f32(t->c, a, b))
                        : R(emit_vmax_int(t->c, a, b, VMAX_INT_MIN, kind[3] == 'u' ? VMAX_INT_U32
                                                                                  : VMAX_INT_S32));
    if (!strcmp(kind, "and"))
        return bit_and(t->c, a, b);
    if (!strcmp(kind, "or"))
        return bit_or(t->c, a, b);
    return bit_xor(t->c, a, b);
}

bool tile_neutral(const char *kind, enum mosaic_element e, opnd *out)
{
    uint32_t word;

    if (!mosaic_neutral(kind, e, &word))
        return false;
    *out = I((int32_t)word);
    return true;
}

static bool is_neutral(const struct mosaic_value *v, opnd neutral)
{
    const struct mosaic_attr *a = v->op && v->op->code == MOSAIC_CONSTANT
                                      ? mosaic_attr(v->op, "value") : NULL;

    return a && a->kind == MOSAIC_ATTR_ELEMENTS && a->is_splat &&
           ((int32_t)a->element[0] == neutral.value ||
            (neutral.value == 0 && a->element[0] == 0x80000000u));
}

/* ADD, MAX, MIN, which cross-lane units know; others: REDUCE_REPLACE */
static enum graph_reduce reduce_of(const char *kind)
{
    return !strcmp(kind, "add")      ? REDUCE_ADD
           : !strncmp(kind, "max", 3) ? REDUCE_MAX
           : !strncmp(kind, "min", 3) ? REDUCE_MIN : REDUCE_REPLACE;
}

bool tile_across_lanes(struct tiler *t, const struct mosaic_op *op, opnd v, opnd *out)
{
    enum mosaic_element e = op->operand[0]->type.element;
    const char *kind = mosaic_text(op, "kind", "");
    enum graph_reduce reduce = reduce_of(kind);
    int reg = vcode_in_register(t->c, v);

    if (reduce != REDUCE_REPLACE) {
        *out = mosaic_element_kind(e) == MOSAIC_KIND_FLOAT
                   ? fused_across_lanes(t->c, tile_unit(t), reduce, R(reg))
                   : tile_integers_across(t, op, reduce, R(reg));
        return true;
    }
    for (int by = TILE_LANES / 2; by; by /= 2)
        reg = vcode_in_register(t->c, tile_combine(t, kind, e, R(reg),
                                                   R(emit_vrot_lane(t->c, tile_unit(t), reg,
                                                                    I(by)))));
    *out = R(reg);
    return true;
}

#define LEVELS_MAX 40

/*
 * Values combined pair by pair, as soon as there are two of as many: chains as short as a tree's, and
 * as few registers as it has levels.
 */
struct pairs { opnd value[LEVELS_MAX]; int count; int64_t taken; };

static void pairs_add(struct tiler *t, const char *kind, enum mosaic_element e, struct pairs *p,
                      opnd next)
{
    p->value[p->count++] = next;
    for (int64_t n = ++p->taken; n % 2 == 0; n /= 2) {
        p->count--;
        p->value[p->count - 1] = tile_combine(t, kind, e, p->value[p->count - 1],
                                              p->value[p->count]);
    }
}

static opnd pairs_all(struct tiler *t, const char *kind, enum mosaic_element e, struct pairs *p)
{
    for (; p->count > 1; p->count--)
        p->value[p->count - 2] = tile_combine(t, kind, e, p->value[p->count - 2],
                                              p->value[p->count - 1]);
    return p->value[0];
}

int tile_outer_reduced(const struct mosaic_op *op)
{
    const struct mosaic_attr *dims = mosaic_attr(op, "reduction_dims");

    return dims && dims->kind == MOSAIC_ATTR_INTS && dims->count == 1 &&
                   dims->ints[0] < op->operand[0]->type.rank - 2 ? (int)dims->ints[0] : -1;
}

/* tiles that differ in an outer index alone */
static bool reduce_outer(struct tiler *t, const struct mosaic_op *op, const char *kind,
                         const struct tile_at *at, opnd *out)
{
    const struct mosaic_value *from = op->operand[0], *to = op->result[0];
    int dim = tile_outer_reduced(op);
    int64_t down = tile_down(t->l, to), outer = at->row / down, inside = 1, first;
    struct pairs sum = {.count = 0};
    opnd next;

    for (int d = dim + 1; d < from->type.rank - 2; d++)
        inside *= from->type.dim[d];
    if (tile_rows_down(t->l, to) != down)
        tile_limit(t, down);
    first = outer / inside * inside * from->type.dim[dim] + outer % inside;
    for (int64_t i = 0; i < from->type.dim[dim]; i++) {
        struct tile_at there = *at;

        there.row = (first + i * inside) * down + at->row % down;
        if (!tile_pull(t, from, &there, &next))
            return false;
        pairs_add(t, kind, from->type.element, &sum, next);
    }
    *out = pairs_all(t, kind, from->type.element, &sum);
    return true;
}

bool tile_multi_reduction(struct tiler *t, const struct mosaic_op *op, const struct tile_at *at,
                          opnd *out)
{
    const struct mosaic_value *from = op->operand[0];
    const char *kind = mosaic_text(op, "kind", "");
    enum mosaic_element e = from->type.element;
    int64_t across = tile_lanes_across(t->l, from);
    int64_t rest = tile_lane_count(t->l, from) % TILE_LANES;
    struct pairs sum = {.count = 0};
    opnd neutral, acc, next;

    if (!tile_neutral(kind, e, &neutral))
        return tile_fail(t, op, "of kind \"%s\"", kind);
    if (tile_outer_reduced(op) >= 0) {
        if (!reduce_outer(t, op, kind, at, out))
            return false;
    } else if (tile_lane_count(t->l, from) == 1) {
        if (!tile_pull(t, from, at, out))
            return false;
    } else {
        for (int64_t i = 0; i < across; i++) {
            struct tile_at there = {.row = at->row, .lane = i, .all_rows = at->all_rows};

            if (!tile_pull(t, from, &there, &next))
                return false;
            if (rest && i == across - 1)
                next = choose(t->c, tile_lane_mask(t, rest), next, neutral);
            pairs_add(t, kind, e, &sum, next);
        }
        if (!tile_across_lanes(t, op, pairs_all(t, kind, e, &sum), out))
            return false;
        tile_forget_loads(t, across);
    }
    if (is_neutral(op->operand[1], neutral))
        return true;
    if (!tile_pull(t, op->operand[1], at, &acc))
        return false;
    *out = tile_combine(t, kind, e, *out, acc);
    return true;
}
