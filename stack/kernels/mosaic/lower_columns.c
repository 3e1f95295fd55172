/*
 * Vectors that lie along rows, as a sum along lanes leaves them: element i of the last dimension in
 * row i, in all lanes. What reads only such vectors takes them as they are; for all else they are
 * turned, so that the last dimension lies along lanes.
 */
#include "base/units.h"
#include "stack/kernels/mosaic/tile.h"

#define LANE_TILES_OF_BLOCK 4

/* its last dimension is not along lanes, or the one before not along rows */
static bool is_column_at(const struct tile_layout *layout, const struct mosaic_type *t)
{
    int lane = t->rank - 1, row = t->rank - 2;

    if (t->rank < 1 || layout->is_free)
        return false;
    return (layout->lane_dim != lane && (layout->lane_dim >= 0 || t->dim[lane] > 1)) ||
           (row >= 0 && layout->row_dim != row && (layout->row_dim >= 0 || t->dim[row] > 1));
}

bool value_is_column(const struct lower *l, const struct mosaic_value *v)
{
    struct tile_layout layout = tile_layout_of(l, v);

    return v->type.kind == MOSAIC_VECTOR && is_column_at(&layout, &v->type);
}

/* Its rows are another dimension than the last but one, and lanes its last one, of one element. */
static int move_rows(struct lower *l, const struct mosaic_value *v)
{
    struct place from;

    if (root_materialize(l, v, &from))
        return -1;
    return moved_from(l, v, &from);
}

struct turn { const struct place *from, *to; int64_t outer, first, end, length; };

/* 128 rows as the lanes of one: of each tile the elements on its diagonal */
static opnd turned(struct tiler *t, const struct turn *u, int64_t lane)
{
    int64_t down = div_up(u->length, TILE_ROWS);
    opnd row = right(t->c, R(emit_vlaneseq(t->c)), I(7)), sum = I(0);
    opnd index = isub(t->c, bit_and(t->c, R(emit_vlaneseq(t->c)), I(TILE_LANES - 1)), row);

    for (int64_t k = 0; k < TILE_LANES / TILE_ROWS && lane * 16 + k < down; k++) {
        struct tile_at at = {.row = u->outer * down + lane * 16 + k};
        opnd v = tile_load(t, u->from, &at);

        sum = choose(t->c, emit_vcmp_eq_s32(t->c, index, I(k * TILE_ROWS)), v, sum);
    }
    for (int by = TILE_ROWS / 2; by; by /= 2)
        sum = bit_or(t->c, sum, R(emit_vrot_slane(t->c, vcode_in_register(t->c, sum), I(by))));
    return sum;
}

static bool put_turned(struct tiler *t, int64_t row, int64_t parts)
{
    const struct turn *u = t->user;

    (void)row;
    (void)parts;
    for (int64_t lane = u->first; lane < u->end; lane++) {
        struct tile_at at = {.lane = lane};
        opnd v = turned(t, u, lane);

        if (!tile_store(t, NULL, u->to, &at, &v, 1, NULL))
            return false;
    }
    return !t->is_failed;
}

static int turn(struct lower *l, const struct mosaic_value *v)
{
    int64_t index[MOSAIC_RANK_MAX] = {0}, rows = 1, across;
    struct place from, to, row;
    struct turn u = {.from = &from, .to = &row};
    struct tiler t = {.l = l, .c = &l->code, .body = put_turned, .user = &u};
    int status = 0;

    if (root_materialize(l, v, &from))
        return -1;
    pallas_take_for(l, v);
    to = place_new(l, &v->type, v->op, "a vector turned into a row");
    pallas_take_for(l, NULL);
    to.covers_rows = to.covers_lanes = false;
    u.length = v->type.dim[v->type.rank - 1];
    across = div_up(u.length, TILE_LANES);
    for (int d = 0; d < v->type.rank - 1; d++)
        rows *= v->type.dim[d];
    for (u.outer = 0; u.outer < rows && !status; u.outer++) {
        row = place_row_of(&to, index);
        row.buffer = v->id;             /* one row of its tile is written */
        for (u.first = 0; u.first < across && !status; u.first = u.end) {
            u.end = u.first + LANE_TILES_OF_BLOCK < across ? u.first + LANE_TILES_OF_BLOCK : across;
            pallas_begin_block(l);
            status = tile_loop(&t, 1, u.end - u.first);
        }
        for (int d = v->type.rank - 2; d >= 0 && ++index[d] == v->type.dim[d]; d--)
            index[d] = 0;
    }
    pallas_begin_block(l);
    mem_free(t.memo);
    mem_free(t.loaded);
    tile_lives_fini(&t);
    to.covers_rows = to.covers_lanes = true;
    l->place[v->id] = to;
    return l->is_failed ? -1 : status;
}

int column_turn(struct lower *l, const struct mosaic_value *v)
{
    if (root_save_over(l, v))
        return -1;
    return v->type.dim[v->type.rank - 1] > 1 ? turn(l, v) : move_rows(l, v);
}

/* all vectors that an elementwise operation reads lie alike, or anyhow */
static bool mixes(const struct lower *l, const struct mosaic_op *op)
{
    bool has_column = false, has_other = false;

    for (int i = 0; i < op->operand_count; i++) {
        const struct mosaic_value *v = op->operand[i];

        if (v->type.kind != MOSAIC_VECTOR || tile_layout_of(l, v).is_free)
            continue;
        has_column |= value_is_column(l, v);
        has_other |= !value_is_column(l, v);
    }
    return has_column && has_other;
}

/* a shape that only takes or gives dimensions of one leaves a column what it is */
static bool keeps_column(const struct lower *l, const struct mosaic_op *op)
{
    const struct mosaic_type *t = &op->result[0]->type;
    struct tile_layout to = tile_layout_of(l, op->result[0]);

    return t->kind == MOSAIC_VECTOR && to.row_dim >= 0 &&
           t->dim[to.row_dim] == tile_row_count(l, op->operand[0]);
}

static bool takes_columns(const struct lower *l, const struct mosaic_op *op)
{
    if (op->region_count)
        return true;
    switch (op->code) {
    case MOSAIC_YIELD: case MOSAIC_CONDITION: case MOSAIC_TPU_YIELD: case MOSAIC_LOG: return true;
    case MOSAIC_SHAPE_CAST: case MOSAIC_TPU_RESHAPE: return keeps_column(l, op);
    default: break;
    }
    if (op->code >= MOSAIC_ADDI && op->code <= MOSAIC_ASSUME_MULTIPLE)
        return !mixes(l, op);
    return false;
}

int column_settle(struct lower *l, const struct mosaic_op *op)
{
    bool has_column = false;

    for (int i = 0; i < op->operand_count && !has_column; i++)
        has_column = op->operand[i]->type.kind == MOSAIC_VECTOR &&
                     value_is_column(l, op->operand[i]);
    if (!has_column || takes_columns(l, op))
        return 0;
    for (int i = 0; i < op->operand_count; i++)
        if (value_is_column(l, op->operand[i]) && column_turn(l, op->operand[i]))
            return -1;
    return 0;
}
