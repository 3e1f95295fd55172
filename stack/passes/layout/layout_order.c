/* What orders of dimensions are, which operations keep one, and what an array takes in one. */
#include "stack/passes/layout/layout_order.h"

#include "stack/hlo/array.h"

#include <string.h>

struct layout_order layout_order_identity(int rank)
{
    struct layout_order o = {.is_set = true};

    for (int i = 0; i < rank; i++)
        o.dim[i] = i;
    return o;
}

bool layout_order_is_same(const struct layout_order *a, const struct layout_order *b, int rank)
{
    return memcmp(a->dim, b->dim, (size_t)rank * sizeof(a->dim[0])) == 0;
}

int layout_order_place(const struct layout_order *o, int dim, int rank)
{
    for (int i = 0; i < rank; i++)
        if (o->dim[i] == dim)
            return i;
    return -1;
}

bool layout_keeps_order(const struct graph_node *n)
{
    switch (n->op) {
    case HLO_REDUCE_WINDOW: case HLO_SELECT_AND_SCATTER: case HLO_PAD: case HLO_SLICE:
    case HLO_CONCATENATE: case HLO_REVERSE:
        return true;
    default:
        return graph_op_is_elementwise(n->op);
    }
}

bool layout_is_dynamic(const struct graph_node *n)
{
    return n->op == HLO_DYNAMIC_SLICE || n->op == HLO_DYNAMIC_UPDATE_SLICE;
}

bool layout_has_any_order(const struct graph_node *n)
{
    return n->op == HLO_BROADCAST || n->op == HLO_IOTA ||
           (n->op == HLO_CONSTANT && !n->literal);
}

struct layout_order layout_reduced(const struct layout_order *from, uint32_t mask, int rank)
{
    struct layout_order o = {.is_set = true};
    int count = 0;

    for (int i = 0; i < rank; i++)
        if (!(mask & (1u << from->dim[i])))
            o.dim[count++] = from->dim[i] -
                             __builtin_popcount(mask & ((1u << from->dim[i]) - 1));
    return o;
}

struct layout_order layout_of_operands(const struct layout_assignment *l,
                                       const struct graph_node *n)
{
    const struct graph *g = l->w.from;

    for (int k = 0; k < n->operand_count; k++) {
        const struct layout_order *o = &l->order[n->operand[k]];
        int rank = g->node[n->operand[k]].shape.rank;
        struct layout_order plain = layout_order_identity(rank);

        if (o->is_set && rank == n->shape.rank && !layout_order_is_same(o, &plain, rank))
            return *o;
    }
    return (struct layout_order){.is_set = false};
}

int64_t layout_padded_bytes(const struct shape *s, const struct layout_order *o)
{
    int minor[GRAPH_RANK_MAX];
    struct array a;

    for (int i = 0; i < s->rank; i++)
        minor[i] = o->dim[s->rank - 1 - i];
    array_init(&a, "", s, minor);
    return a.bytes;
}
