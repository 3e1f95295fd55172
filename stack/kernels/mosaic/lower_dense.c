/*
 * Scratch memory of few rows an index without padding between indices.
 *
 * A TPU gives an array [.., 4, 128] of bf16 tiles of 4 rows, so that it can be seen as [.. * 4, 128]
 * too: pages of keys and values of few heads come that way. Tiles here have as many rows as a
 * register, and the array would be padded. A buffer that copies alone write or read, and views whose
 * rows are whole tiles, lies as such a view does: its indices follow each other, rows of words behind
 * rows of words.
 */
#include "stack/kernels/mosaic/lower.h"

#include <string.h>

#include "base/units.h"

/* rows of words that an index has; 0: such an array has no place without padding */
static int64_t words_of(const struct tiles *t)
{
    int64_t packed = t->rows / TILE_ROWS;

    if (t->rank < 3 || t->is_linear || t->row_dim != t->rank - 2 || t->lane_dim != t->rank - 1 ||
        t->dim[t->row_dim] % packed || t->dim[t->row_dim] >= t->rows ||
        t->dim[t->lane_dim] > TILE_LANES)
        return 0;
    return TILE_ROWS % (t->dim[t->row_dim] / packed) ? 0 : t->dim[t->row_dim] / packed;
}

int64_t dense_tiles(struct tiles *t)
{
    int64_t step = words_of(t);

    t->is_dense = true;
    for (int d = t->rank - 3; d >= 0; d--) {
        t->outer_step[d] = step;
        step *= t->dim[d];
    }
    return round_up(step, TILE_ROWS);
}

/* all of it lies together */
static bool is_whole(const struct tiles *t)
{
    int64_t step = words_of(t);

    for (int d = t->rank - 3; d >= 0; d--) {
        if (t->dim[d] != 1 && t->outer_step[d] != step)
            return false;
        step *= t->dim[d];
    }
    return step > 0;
}

bool dense_reshape(const struct place *p, const struct mosaic_type *type, struct place *to)
{
    struct place made = *p;

    if (!p->t.is_dense || type->rank < 2 || !is_whole(&p->t) || p->has_late_row || p->sublane ||
        !p->covers_rows || type->dim[type->rank - 1] != p->t.dim[p->t.lane_dim])
        return false;
    tiles_of(&made.t, type);
    if (type->rank > 2 && type->dim[type->rank - 2] == p->t.dim[p->t.row_dim])
        dense_tiles(&made.t);
    else if (type->dim[type->rank - 2] % p->t.rows)
        return false;
    *to = made;
    return true;
}

/* ----- which buffers */

struct use {
    bool *is_view;                      /* by value: of the buffer, with its rows and lanes */
    bool is_merged, is_other;           /* seen as whole tiles; used by what wants padding */
};

/* each dimension is there as a whole, or one index of it: what is left begins at a whole tile where
 * it is as large as whole tiles are */
static bool is_index(const struct mosaic_type *from, const struct mosaic_type *to)
{
    for (int d = 0; d < from->rank; d++)
        if (to->rank != from->rank ||
            (to->dim[d] != from->dim[d] && (to->dim[d] != 1 || d >= from->rank - 2)))
            return false;
    return true;
}

static void look_at_view(struct use *u, const struct mosaic_op *op)
{
    const struct mosaic_type *from = &op->operand[0]->type, *to = &op->result[0]->type;
    bool keeps = to->rank >= 2 && to->element == from->element &&
                 !memcmp(&to->dim[to->rank - 2], &from->dim[from->rank - 2], 2 * sizeof(*to->dim));

    if (op->code == MOSAIC_SLICE && !is_index(from, to))
        u->is_other = true;
    else if (keeps)
        u->is_view[op->result[0]->id] = true;
    else if (op->code == MOSAIC_REF_RESHAPE)
        u->is_merged = true;
    else
        u->is_other = true;
}

static void look(struct use *u, const struct mosaic_block *b)
{
    for (int i = 0; i < b->op_count; i++) {
        const struct mosaic_op *op = b->op[i];
        bool uses = false;

        for (int k = 0; k < op->operand_count; k++)
            uses = uses || u->is_view[op->operand[k]->id];
        for (int r = 0; r < op->region_count; r++)
            look(u, op->region[r]);
        if (!uses)
            continue;
        switch (op->code) {
        case MOSAIC_ENQUEUE_DMA: case MOSAIC_WAIT_DMA: case MOSAIC_WAIT_DMA2: break;
        case MOSAIC_SLICE: case MOSAIC_SQUEEZE: case MOSAIC_REF_RESHAPE: case MOSAIC_ERASE_LAYOUT:
            look_at_view(u, op);
            break;
        default: u->is_other = true;
        }
    }
}

bool dense_can_be(const struct lower *l, const struct mosaic_value *v)
{
    struct use u = {.is_view = arena_array(l->a, (size_t)l->k->value_count + 1, sizeof(bool))};
    struct tiles t;

    tiles_of(&t, &v->type);
    if (!words_of(&t))
        return false;
    u.is_view[v->id] = true;
    look(&u, l->k->main->body);
    return u.is_merged && !u.is_other;
}
