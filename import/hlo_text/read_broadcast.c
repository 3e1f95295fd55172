/*
 * Broadcasts that stretch dimensions of one element, which programs do not have: the dimensions are
 * taken away by a reshape before.
 */
#include "import/hlo_text/reader.h"

static bool is_stretched(const struct hlo_instruction *i, const struct hlo_type *from, int dim)
{
    int64_t at = i->dims.item[dim];

    return from->dim[dim] == 1 && at >= 0 && at < i->type.rank && i->type.dim[at] != 1;
}

void hlo_read_unstretch(struct hlo_reader *r, struct hlo_reading *g, struct hlo_computation *c)
{
    struct hlo_instruction *i = &g->f.i, reshape = {.op = OPCODE_RESHAPE};
    const struct hlo_type *from;
    int64_t *size, *dims;
    int kept = 0;

    if (i->op != OPCODE_BROADCAST || i->operand_count != 1 || !g->has_type)
        return;
    from = &c->instruction[i->operand[0]].type;
    if (i->dims.count != from->rank)
        return;
    size = hlo_pool_alloc(&r->pool, (size_t)from->rank * sizeof(*size));
    dims = hlo_pool_alloc(&r->pool, (size_t)from->rank * sizeof(*dims));
    for (int d = 0; d < from->rank; d++) {
        if (is_stretched(i, from, d))
            continue;
        size[kept] = from->dim[d];
        dims[kept++] = i->dims.item[d];
    }
    if (kept == from->rank)
        return;
    reshape.type = (struct hlo_type){.element = from->element, .rank = kept, .dim = size};
    reshape.operand = i->operand;
    reshape.operand_count = 1;
    reshape.place = i->place;
    reshape.line = i->line;
    reshape.col = i->col;
    i->operand = hlo_pool_copy(&r->pool, &c->count, 1, sizeof(c->count));
    i->dims = (struct hlo_ints){kept, dims};
    MEM_ADD(c->instruction, c->count, c->capacity) = reshape;
}
