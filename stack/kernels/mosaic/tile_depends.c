/*
 * Whether a value's tiles differ from row tile to row tile, or from lane tile to lane tile. Those of a
 * mask of rows are the same in all lanes, and are made once for all of an iteration.
 */
#include "stack/kernels/mosaic/tile.h"

enum { KNOWN = 4 };

static unsigned of_iota(const struct lower *l, const struct mosaic_op *op)
{
    const struct mosaic_attr *dims = mosaic_attr(op, "dimensions");
    struct tile_layout layout = tile_layout_of(l, op->result[0]);
    unsigned depends = 0;

    for (int i = 0; dims && dims->kind == MOSAIC_ATTR_INTS && i < dims->count; i++)
        depends |= dims->ints[i] == layout.lane_dim ? TILE_LANES_DIFFER : TILE_ROWS_DIFFER;
    return depends;
}

/* of what is spread along rows or lanes, only the other counts */
static unsigned of_broadcast(const struct lower *l, const struct mosaic_op *op)
{
    const struct mosaic_value *from = op->operand[0];
    unsigned depends = tile_depends(l, from);

    if (from->type.kind != MOSAIC_VECTOR)
        return depends;
    if (tile_rows_down(l, from) == 1)
        depends &= ~(unsigned)TILE_ROWS_DIFFER;
    if (tile_lane_count(l, from) == 1)
        depends &= ~(unsigned)TILE_LANES_DIFFER;
    return depends;
}

static bool is_elementwise(enum mosaic_code code)
{
    return code >= MOSAIC_ADDI && code <= MOSAIC_ASSUME_MULTIPLE;
}

static unsigned of_op(const struct lower *l, const struct mosaic_op *op)
{
    unsigned depends = 0;

    switch (op->code) {
    case MOSAIC_CONSTANT: return 0;
    case MOSAIC_IOTA: return of_iota(l, op);
    case MOSAIC_BROADCAST: return of_broadcast(l, op);
    default: break;
    }
    if (!is_elementwise(op->code))
        return TILE_ROWS_DIFFER | TILE_LANES_DIFFER;
    for (int i = 0; i < op->operand_count; i++)
        depends |= tile_depends(l, op->operand[i]);
    return depends;
}

unsigned tile_depends(const struct lower *l, const struct mosaic_value *v)
{
    unsigned depends;

    if (v->type.kind != MOSAIC_VECTOR)
        return 0;
    if (l->place[v->id].is_there || !v->op)
        return TILE_ROWS_DIFFER | TILE_LANES_DIFFER;
    if (l->depends[v->id] & KNOWN)
        return l->depends[v->id] & (TILE_ROWS_DIFFER | TILE_LANES_DIFFER);
    depends = of_op(l, v->op);
    if (!depends || is_elementwise(v->op->code) || v->op->code == MOSAIC_IOTA)
        l->depends[v->id] = (uint8_t)(depends | KNOWN);
    return depends;
}
