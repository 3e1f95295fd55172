/*
 * Stores into memory whose rows are not the vector's, because dimensions between them have been left out
 * of a reference, and with strides: row by row, or eight rows at a time where they are one row of each
 * index, as a head of all tokens is.
 */
#include <string.h>

#include "base/units.h"
#include "stack/kernels/mosaic/tile.h"

#define ROWS_OF_BLOCK 32
#define ROWS_MAX 8192
#define STRIDE_MAX 64                   /* of a load or store, in rows of memory */

struct place place_row_of(const struct place *p, const int64_t *index)
{
    struct place row = *p;

    for (int d = 0; d < p->t.rank; d++) {
        if (d == p->t.lane_dim)
            continue;
        if (d != p->t.row_dim) {
            row.base += index[d] * p->t.outer_step[d];
        } else if (p->t.rows == TILE_ROWS && p->t.row_step == TILE_ROWS) {
            row.base += index[d] * (p->stride ? p->stride : 1);
        } else {
            row.base += (p->sublane + index[d]) / p->t.rows * p->t.row_step;
            row.sublane = (p->sublane + index[d]) % p->t.rows;
        }
    }
    row.t.rank = 1;
    row.t.dim[0] = p->t.lane_dim < 0 ? 1 : p->t.dim[p->t.lane_dim];
    row.t.row_dim = -1;
    row.t.lane_dim = 0;
    row.stride = 0;
    row.covers_rows = false;
    return row;
}

struct rows {
    const struct mosaic_op *op;
    const struct place *from, *to;
    const int64_t *stride;              /* of the place, by dimension */
    const int64_t *dim;                 /* of the vector */
    int rank;
    int64_t first, end, lanes;          /* of this block */
};

static void index_of(const struct rows *r, int64_t number, int64_t *from, int64_t *to)
{
    for (int d = r->rank - 1; d >= 0; d--) {
        int64_t size = d == r->rank - 1 ? 1 : r->dim[d];

        from[d] = number % size;
        to[d] = from[d] * r->stride[d];
        number /= size;
    }
}

static bool put_rows(struct tiler *t, int64_t row, int64_t parts)
{
    const struct rows *r = t->user;

    (void)row;
    (void)parts;
    for (int64_t i = r->first; i < r->end; i++) {
        int64_t a[MOSAIC_RANK_MAX] = {0}, b[MOSAIC_RANK_MAX] = {0};
        struct place from, to;

        index_of(r, i, a, b);
        from = place_row_of(r->from, a);
        to = place_row_of(r->to, b);
        for (int64_t lane = 0; lane < r->lanes; lane++) {
            struct tile_at at = {.lane = lane, .all_rows = true}, there = {.lane = lane};
            opnd v = tile_load(t, &from, &at);

            if (!tile_store(t, r->op, &to, &there, &v, 1, NULL))
                return false;
        }
    }
    return !t->is_failed;
}

bool place_is_native(const struct place *p)
{
    int row = p->t.rank - 2, lane = p->t.rank - 1;

    if (p->t.rank < 1)
        return true;
    return (p->t.lane_dim == lane || (p->t.lane_dim < 0 && p->t.dim[lane] == 1)) &&
           (row < 0 || p->t.row_dim == row || (p->t.row_dim < 0 && p->t.dim[row] == 1));
}

int pallas_store_rows(struct lower *l, const struct mosaic_op *op, const struct place *to,
                      const int64_t *stride)
{
    const struct mosaic_type *t = &op->operand[0]->type;
    struct place from;
    struct rows r = {.op = op, .from = &from, .to = to, .stride = stride, .dim = t->dim,
                     .rank = t->rank, .lanes = div_up(t->dim[t->rank - 1], TILE_LANES)};
    struct tiler tiler = {.l = l, .c = &l->code, .body = put_rows, .user = &r};
    int64_t count = mosaic_elements(t) / t->dim[t->rank - 1];
    int status = 0;

    if (stride[t->rank - 1] != 1 || to->has_late_row ||
        (to->t.lane_dim != t->rank - 1 && t->dim[t->rank - 1] != 1))
        return pallas_fail(l, op, "a store with a stride along lanes, or from a computed row on");
    if (count > ROWS_MAX)
        return pallas_fail(l, op, "%lld rows one by one; %d are the most", (long long)count,
                           ROWS_MAX);
    if (root_save(l, to->buffer) || root_materialize(l, op->operand[0], &from))
        return -1;
    for (r.first = 0; r.first < count && !status; r.first = r.end) {
        r.end = count - r.first < ROWS_OF_BLOCK ? count : r.first + ROWS_OF_BLOCK;
        pallas_begin_block(l);
        status = tile_loop(&tiler, 1, r.end - r.first);
    }
    pallas_begin_block(l);
    mem_free(tiler.memo);
    mem_free(tiler.loaded);
    tile_lives_fini(&tiler);
    same_note_write(l, to->region);
    return l->is_failed ? -1 : status;
}

/* ----- one row of each index of a dimension */

struct apart {
    const struct place *from, *to;
    int64_t rows, lanes;                /* of the vector; tiles across */
    int64_t step, first;                /* of rows of memory: from one to the next, to the first */
    int part, packed;                   /* which of a word's rows it is, of so many */
};

/* the vector that a shape with one row an index is of; NULL: it is another shape */
static const struct mosaic_value *rows_in(const struct mosaic_value *v)
{
    const struct mosaic_op *op = v->op;
    const struct mosaic_type *t = &v->type, *from;
    int64_t elements = mosaic_elements(t);

    if (!op || (op->code != MOSAIC_SHAPE_CAST && op->code != MOSAIC_TPU_RESHAPE) || t->rank < 3)
        return NULL;
    from = &op->operand[0]->type;
    if (from->kind != MOSAIC_VECTOR || from->rank != 2 || t->dim[t->rank - 2] != 1 ||
        from->dim[1] != t->dim[t->rank - 1] || from->dim[0] * from->dim[1] != elements)
        return NULL;
    return op->operand[0];
}

/* the dimension that has all of the rows; -1: several share them */
static int dim_of_rows(const struct mosaic_type *t, int64_t rows)
{
    for (int d = 0; d < t->rank - 2; d++)
        if (t->dim[d] == rows)
            return d;
    return -1;
}

static bool is_apart(const struct mosaic_value *v, const struct place *to)
{
    const struct mosaic_value *from = rows_in(v);
    int rank = v->type.rank, dim = from ? dim_of_rows(&v->type, from->type.dim[0]) : -1;

    return dim >= 0 && from->type.dim[0] >= TILE_ROWS / 2 && to->t.outer_step[dim] <= STRIDE_MAX &&
           to->t.row_dim == rank - 2 && to->t.lane_dim == rank - 1 && to->covers_lanes &&
           !to->lane && !to->has_late_lane && !to->has_late_row && !to->stride &&
           !to->t.is_dense && to->t.rows <= 2 * TILE_ROWS &&
           (mosaic_element_bits(to->t.element) == 32 || to->t.element == MOSAIC_BF16);
}

/* the words that have the rows in one half, what stands in the other one kept */
static opnd in_half(struct tiler *t, const struct apart *a, opnd v, opnd before)
{
    opnd kept = bit_and(t->c, before, I(a->part ? 0xffff : (int32_t)0xffff0000));

    if (a->part)
        v = bit_and(t->c, v, I((int32_t)0xffff0000));
    else
        v = right(t->c, v, I(16));
    return bit_or(t->c, v, kept);
}

static bool put_apart(struct tiler *t, int64_t row, int64_t parts)
{
    const struct apart *a = t->user;
    int64_t whole = a->rows / TILE_ROWS;

    if (whole && a->rows % TILE_ROWS)
        tile_limit(t, whole);
    for (int64_t i = row; i < row + parts; i++)
        for (int64_t lane = 0; lane < a->lanes; lane++) {
            int64_t left = a->rows - i * TILE_ROWS;
            int64_t offset = a->first + i * TILE_ROWS * a->step + lane * a->to->t.lane_step;
            struct isa_operand base = tile_address(t, a->to->has_offset, a->to->offset,
                                                   t->step * TILE_ROWS * a->step);
            struct isa_rows rows = isa_rows_of(base, offset, (int)a->step,
                                               left < TILE_ROWS ? (1 << left) - 1 : ISA_ALL_SUBLANES);
            opnd v = tile_load(t, a->from, &(struct tile_at){.row = i, .lane = lane});

            if (a->packed > 1) {
                v = R(vcode_in_register(t->c, v));
                v = in_half(t, a, v, R(emit_vld(t->c, rows, a->to->region)));
            }
            emit_vst(t->c, rows, vcode_in_register(t->c, v), a->to->region);
        }
    return !t->is_failed;
}

int pallas_store_apart(struct lower *l, const struct mosaic_op *op, const struct place *to)
{
    const struct mosaic_value *v = op->operand[0], *whole = rows_in(v);
    struct place from;
    struct apart a = {.from = &from, .to = to, .packed = to->t.rows / TILE_ROWS};
    struct tiler tiler = {.l = l, .c = &l->code, .body = put_apart, .user = &a};
    int status;

    if (!is_apart(v, to))
        return 1;
    if (root_save(l, to->buffer) || root_materialize(l, whole, &from))
        return -1;
    if (from.region == to->region || from.t.row_dim != 0 || from.t.lane_dim != 1)
        return 1;
    a.rows = whole->type.dim[0];
    a.lanes = div_up(whole->type.dim[1], TILE_LANES);
    a.step = to->t.outer_step[dim_of_rows(&v->type, a.rows)];
    a.first = to->base + to->sublane / to->t.rows * to->t.row_step +
              to->sublane % to->t.rows / a.packed;
    a.part = (int)(to->sublane % a.packed);
    pallas_begin_block(l);
    status = tile_loop(&tiler, div_up(a.rows, TILE_ROWS), a.lanes);
    pallas_begin_block(l);
    mem_free(tiler.memo);
    mem_free(tiler.loaded);
    tile_lives_fini(&tiler);
    same_note_write(l, to->region);
    return l->is_failed ? -1 : status;
}
