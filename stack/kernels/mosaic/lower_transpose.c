/*
 * Transposes of rows and lanes by the cross-lane units, in squares of 128: tiles of up to 128 rows go
 * in, tiles of as many rows as the square has lanes come out.
 */
#include "base/units.h"
#include "stack/kernels/mosaic/tile.h"

#define SQUARES_OF_BLOCK 8              /* between which FIFOs are empty */
#define ROWS_OF_BLOCK 4                 /* of 128 lanes that become columns */

struct square {                         /* of one outer index */
    const struct place *from, *to;
    int64_t outer, row, lane;           /* in units of 128 */
};

static int64_t outer_rows(const struct tiles *t, int64_t outer)
{
    int64_t rows = 0;

    for (int d = t->rank - 1; d >= 0; d--) {
        if (d == t->row_dim || d == t->lane_dim)
            continue;
        rows += outer % t->dim[d] * t->outer_step[d];
        outer /= t->dim[d];
    }
    return rows;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static struct isa_rows rows_at(struct lower *l, const struct place *p, int64_t outer, int64_t tile,
                               int64_t lane)
{
    int64_t at = p->base + outer_rows(&p->t, outer) + tile * p->t.row_step +
                 lane * p->t.lane_step + p->sublane;

    return isa_rows_at(p->has_offset ? scalar_use(l, p->offset) : NONE, at);
}

static void put_square(struct lower *l, const struct square *s, int unit)
{
    struct vcode *c = &l->code;
    int packed = s->from->t.rows;
    enum isa_vxpose_cont_x0 type = packed == 8    ? VXPOSE_CONT_B32
                                   : packed == 16 ? VXPOSE_CONT_B16 : VXPOSE_CONT_B8;
    int64_t rows = least(s->from->t.dim[s->from->t.row_dim] - s->row * 128, 128);
    int64_t width = least(s->from->t.dim[s->from->t.lane_dim] - s->lane * 128, 128);
    int64_t in = div_up(rows, packed), out = div_up(width, packed);

    for (int64_t i = 0; i < in; i++) {
        int v = emit_vld(c, rows_at(l, s->from, s->outer, s->row * (128 / packed) + i, s->lane),
                         s->from->region);
        struct isa_op op = isa_vxpose_cont(unit, v, out * packed, type);

        op.code = in == 1 ? OP_VXPOSE_ONE : i == 0 ? OP_VXPOSE_START
                  : i == in - 1 ? OP_VXPOSE_END : OP_VXPOSE_CONT;
        vcode_put(c, op);
    }
    for (int64_t i = 0; i < out; i++) {
        int v = vcode_vreg(c);

        vcode_put(c, isa_vpop_trf(unit, v));
        emit_vst(c, rows_at(l, s->to, s->outer, s->lane * (128 / packed) + i, s->row), v,
                 s->to->region);
    }
}

int transpose_place(struct lower *l, const struct mosaic_op *op, const struct place *from,
                    const struct mosaic_type *type, struct place *to)
{
    int64_t down, across, outer = 1, number = 0;

    *to = place_new(l, type, op, "a transposed vector");
    if (from->t.row_dim < 0 || from->t.lane_dim < 0 || from->sublane)
        return pallas_fail(l, op, "of a vector that does not lie in rows and lanes");
    down = div_up(from->t.dim[from->t.row_dim], 128);
    across = div_up(from->t.dim[from->t.lane_dim], 128);
    for (int d = 0; d < from->t.rank; d++)
        if (d != from->t.row_dim && d != from->t.lane_dim)
            outer *= from->t.dim[d];
    pallas_begin_block(l);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t r = 0; r < down; r++)
            for (int64_t c = 0; c < across; c++) {
                struct square s = {from, to, o, r, c};

                put_square(l, &s, (int)(number % l->chip->xlu_count));
                if (++number % SQUARES_OF_BLOCK == 0)
                    pallas_begin_block(l);
            }
    pallas_begin_block(l);
    return l->is_failed ? -1 : 0;
}

/* the last two dimensions change places, the others stay */
int pallas_transpose(struct lower *l, const struct mosaic_op *op)
{
    const struct mosaic_attr *p = mosaic_attr(op, "permutation");
    const struct mosaic_type *t = &op->result[0]->type;
    struct place from;

    if (!p || p->count != t->rank || t->rank < 2)
        return pallas_fail(l, op, "no permutation of its dimensions");
    for (int d = 0; d < t->rank; d++)
        if (p->ints[d] != (d == t->rank - 1 ? d - 1 : d == t->rank - 2 ? d + 1 : d))
            return pallas_moved(l, op);
    if (same_turned(l, op->operand[0], &l->place[op->result[0]->id]))
        return 0;
    if (root_materialize(l, op->operand[0], &from))
        return -1;
    if (from.t.element != t->element)
        return pallas_fail(l, op, "of %s", mosaic_element_name(t->element));
    same_take_turned(l, op->result[0]);
    if (transpose_place(l, op, &from, t, &l->place[op->result[0]->id]))
        return -1;
    pallas_take_for(l, NULL);
    same_keep_turned(l, op->operand[0], &l->place[op->result[0]->id]);
    return 0;
}

/* ----- a row of lanes as a column of rows */

static bool is_row(const struct lower *l, const struct mosaic_value *v)
{
    return tile_rows_down(l, v) == 1 && tile_row_count(l, v) == 1 && tile_lane_count(l, v) > 1;
}

/*
 * Each 128 lanes of the row stand in all sublanes of a register, of which every tile of rows is one
 * broadcast: sublane i takes the tile's lane i.
 */
static int turn_row(struct lower *l, const struct mosaic_op *op)
{
    const struct mosaic_value *row_value = op->operand[0];
    struct vcode *c = &l->code;
    int64_t tiles = 0;
    struct place from, to;

    if (root_materialize(l, row_value, &from))
        return -1;
    pallas_take_for(l, op->result[0]);
    to = place_new(l, &op->result[0]->type, op, "a vector turned into a column");
    pallas_take_for(l, NULL);
    to.is_spread = true;
    pallas_begin_block(l);
    for (int64_t lane = 0; lane < tile_lanes_across(l, row_value); lane++) {
        int64_t width = least(tile_lane_count(l, row_value) - lane * 128, 128);
        struct isa_rows row = rows_at(l, &from, 0, 0, lane);
        int v;

        row.stride = 0;
        v = emit_vld(c, row, from.region);
        for (int64_t i = 0; i < div_up(width, TILE_ROWS); i++) {
            int unit = (int)(tiles++ % l->chip->xlu_count);
            int column = emit_vbcast_lane(c, unit, v, (int)i * TILE_ROWS | SUBLANES_APART);

            emit_vst(c, isa_rows_at(NONE, to.base + (lane * 16 + i) * to.t.row_step), column,
                     to.region);
        }
        if ((lane + 1) % ROWS_OF_BLOCK == 0)
            pallas_begin_block(l);
    }
    pallas_begin_block(l);
    l->place[op->result[0]->id] = to;
    return l->is_failed ? -1 : 0;
}

/* Shapes are pulled; a row that becomes a column is turned here. */
int pallas_reshape(struct lower *l, const struct mosaic_op *op)
{
    const struct mosaic_type *t = &op->result[0]->type;
    const struct mosaic_value *v = op->operand[0];

    if (t->kind != MOSAIC_VECTOR)
        return pallas_fail(l, op, "to a scalar");
    if (t->rank == 2 && t->dim[1] == 1 && t->dim[0] > 1 && is_row(l, v) &&
        tile_lane_count(l, v) == t->dim[0] && mosaic_element_bits(t->element) == 32 &&
        t->element != MOSAIC_I1)
        return turn_row(l, op);
    return pallas_moved(l, op);
}
