/*
 * Gathers and scatters whose indices have no numbers, as x.at[:].add(y) and x[()] have them: each
 * index says the origin. They get a number, zero, so that indices are arrays with elements.
 */
#include "import/structure/structure_impl.h"

/* a dimension of the array that an index may have a number of; -1: none */
static int free_dim(const struct hlo_gather *g, int rank)
{
    for (int d = 0; d < rank; d++) {
        bool is_batch = false;

        for (int k = 0; k < g->operand_batching.count; k++)
            is_batch |= g->operand_batching.item[k] == d;
        if (!is_batch)
            return d;
    }
    return -1;
}

bool structure_origin(struct hlo_builder *b, struct hlo_instruction *i, int *operand)
{
    struct arena *a = b->module->arena;
    int at = i->op == OPCODE_GATHER ? 1 : i->operand_count / 2, dim;
    struct hlo_type t = *hlo_type_of(b, operand[at]);
    struct hlo_gather *g;
    int64_t sizes[STRUCTURE_RANK_MAX];

    if (hlo_detail(i)->gather->start_index_map.count > 0 ||
        hlo_detail(i)->gather->index_vector_dim >= t.rank)
        return false;
    dim = free_dim(hlo_detail(i)->gather, hlo_type_of(b, operand[0])->rank);
    if (dim < 0)
        return false;
    for (int d = 0; d < t.rank; d++)
        sizes[d] = d == hlo_detail(i)->gather->index_vector_dim ? 1 : t.dim[d];
    t = hlo_array_type(a, ELEMENT_S32, t.rank, sizes);
    operand[at] = hlo_constant_int(b, &t, 0);
    g = arena_copy(a, hlo_detail(i)->gather, 1, sizeof(*g));
    g->start_index_map.item = arena_copy(a, &(int64_t){dim}, 1, sizeof(int64_t));
    g->start_index_map.count = 1;
    hlo_own_detail(a, i)->gather = g;
    return true;
}
