/*
 * The same bytes seen as another type. Which element stands where is told by layouts, and those are
 * gone once copies are their operands: so it is written first as transposes and a reshape, which
 * mean the same in any layout.
 */
#include "import/structure/structure_impl.h"

/* the bytes of one element type taken for another of the same width; -1: nothing here does it */
static int of_element(struct hlo_builder *b, int x, enum hlo_element to)
{
    enum hlo_element from = hlo_type_of(b, x)->element;

    if (from == to)
        return x;
    if (hlo_element_bits(from) != hlo_element_bits(to) || from == ELEMENT_PRED ||
        to == ELEMENT_PRED || hlo_element_is_complex(from) || hlo_element_is_complex(to))
        return -1;
    return hlo_bitcast_convert(b, x, to);
}

static bool is_array(const struct hlo_type *t)
{
    return !hlo_type_is_tuple(t) && !hlo_type_is_dynamic(t) && t->rank <= STRUCTURE_RANK_MAX;
}

int structure_bitcast(struct hlo_rewrite *r, struct hlo_builder *b,
                      const struct hlo_instruction *from, const int *operand)
{
    const struct hlo_computation *c = &r->old->computation[b->computation];
    const struct hlo_type *was = c->instruction[from->operand[0]].type, *is = from->type;
    int order[STRUCTURE_RANK_MAX], x = operand[0];
    int64_t permutation[STRUCTURE_RANK_MAX], dim[STRUCTURE_RANK_MAX];

    if (!is_array(was) || !is_array(is) || hlo_type_elements(was) != hlo_type_elements(is))
        return -1;
    x = of_element(b, x, is->element);
    if (x < 0)
        return -1;
    if (!hlo_type_physical_order(was, order)) {
        for (int k = 0; k < was->rank; k++)
            permutation[k] = order[k];
        x = hlo_transpose(b, x, permutation);
    }
    if (hlo_type_physical_order(is, order))
        return hlo_reshape(b, x, is->rank, is->dim);
    for (int k = 0; k < is->rank; k++) {
        dim[k] = is->dim[order[k]];
        permutation[order[k]] = k;
    }
    return hlo_transpose(b, hlo_reshape(b, x, is->rank, dim), permutation);
}
