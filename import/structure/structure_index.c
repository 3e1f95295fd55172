/*
 * Gathers and scatters whose indices have no numbers, as x.at[:].add(y) and x[()] have them: each
 * index says the origin. They get a number, zero, so that indices are arrays with elements. A scalar
 * has no dimension that the number could be of: it is an array of one element for as long.
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

/* arrays of one element for scalars; of each the first dimension is collapsed */
static void spread(struct hlo_builder *b, struct hlo_instruction *i, int *operand)
{
    int arrays = i->op == OPCODE_GATHER ? 1 : i->operand_count / 2;
    struct arena *a = b->module->arena;
    struct hlo_gather *g = arena_copy(a, hlo_detail(i)->gather, 1, sizeof(*g));
    struct hlo_type *part = arena_array(a, (size_t)arrays, sizeof(*part));
    int64_t one = 1;

    g->collapsed_dims.item = arena_copy(a, &(int64_t){0}, 1, sizeof(int64_t));
    g->collapsed_dims.count = 1;
    hlo_own_detail(a, i)->gather = g;
    for (int k = 0; k < arrays; k++) {
        operand[k] = hlo_reshape(b, operand[k], 1, &one);
        part[k] = *hlo_type_of(b, operand[k]);
    }
    if (i->op == OPCODE_SCATTER)
        i->type = hlo_type_is_tuple(i->type)
                      ? hlo_new_type(a, hlo_tuple_type(a, arrays, part)) : part;
    else
        i->detail->sizes =
            (struct hlo_ints){.item = arena_copy(a, &one, 1, sizeof(one)), .count = 1};
}

bool structure_of_scalar(struct hlo_builder *b, struct hlo_instruction *i, int *operand)
{
    if ((i->op != OPCODE_GATHER && i->op != OPCODE_SCATTER) ||
        hlo_type_of(b, operand[0])->rank > 0 || hlo_detail(i)->gather->start_index_map.count > 0)
        return false;
    spread(b, i, operand);
    return true;
}

int structure_to_scalar(struct hlo_builder *b, const struct hlo_instruction *from, int made)
{
    int count = hlo_type_is_tuple(from->type) ? from->type->part_count : 1;
    int *part;

    if (from->op == OPCODE_GATHER)
        return made;
    if (!hlo_type_is_tuple(from->type))
        return hlo_reshape(b, made, 0, NULL);
    part = arena_array(b->module->arena, (size_t)count, sizeof(*part));
    for (int k = 0; k < count; k++)
        part[k] = hlo_reshape(b, hlo_tuple_element(b, made, k), 0, NULL);
    return hlo_tuple(b, count, part);
}
