/*
 * Broadcasts that stretch dimensions of one element, which programs do not have: the dimensions are
 * taken away by a reshape before.
 */
#include "import/hlo_text/reader.h"

static bool is_stretched(const struct hlo_fields *f, const struct hlo_type *from, int dim)
{
    int64_t at = f->d.dims.item[dim];

    return from->dim[dim] == 1 && at >= 0 && at < f->i.type->rank && f->i.type->dim[at] != 1;
}

void hlo_read_unstretch(struct hlo_reader *r, struct hlo_reading *g, struct hlo_computation *c)
{
    struct hlo_instruction *i = &g->f.i, reshape = {.op = OPCODE_RESHAPE};
    const struct hlo_type *from;
    struct hlo_type type;
    int64_t *size, *dims;
    int kept = 0;

    if (i->op != OPCODE_BROADCAST || i->operand_count != 1 || !g->has_type)
        return;
    from = c->instruction[i->operand[0]].type;
    if (g->f.d.dims.count != from->rank)
        return;
    size = hlo_pool_alloc(&r->pool, (size_t)from->rank * sizeof(*size));
    dims = hlo_pool_alloc(&r->pool, (size_t)from->rank * sizeof(*dims));
    for (int d = 0; d < from->rank; d++) {
        if (is_stretched(&g->f, from, d))
            continue;
        size[kept] = from->dim[d];
        dims[kept++] = g->f.d.dims.item[d];
    }
    if (kept == from->rank)
        return;
    type = (struct hlo_type){.element = from->element, .rank = kept, .dim = size};
    reshape.type = hlo_keep_type(r->module, &type);
    reshape.operand = i->operand;
    reshape.operand_count = 1;
    reshape.place = i->place;
    reshape.line = i->line;
    reshape.col = i->col;
    i->operand = hlo_pool_copy(&r->pool, &c->count, 1, sizeof(c->count));
    g->f.d.dims = (struct hlo_ints){kept, dims};
    MEM_ADD(c->instruction, c->count, c->capacity) = reshape;
}
