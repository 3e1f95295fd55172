/*
 * Stores row by row: into memory whose rows are not the vector's, because dimensions between them have
 * been left out of a reference, and with strides.
 */
#include <string.h>

#include "base/units.h"
#include "stack/kernels/mosaic/tile.h"

#define ROWS_OF_BLOCK 32
#define ROWS_MAX 8192

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
