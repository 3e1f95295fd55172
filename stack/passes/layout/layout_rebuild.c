/*
 * Makes the new nodes of pass_layout by the orders that were found: each with its dimensions in its
 * order, what it reads turned into that where it lies in another.
 */
#include "stack/passes/layout/layout_order.h"

#include <string.h>

int layout_in_order(struct layout_assignment *l, int node, const struct layout_order *wanted)
{
    int rank = l->w.from->node[node].shape.rank, dims[GRAPH_RANK_MAX];
    const struct layout_order *has = &l->order[node];

    if (layout_order_is_same(has, wanted, rank))
        return l->w.moved[node];
    for (int i = 0; i < rank; i++)
        dims[i] = layout_order_place(has, wanted->dim[i], rank);
    return graph_transpose(&l->w.to, l->w.moved[node], dims);
}

int layout_in_usual_order(struct layout_assignment *l, int node)
{
    struct layout_order o = layout_order_identity(l->w.from->node[node].shape.rank);

    return layout_in_order(l, node, &o);
}

struct shape layout_shape(const struct shape *s, const struct layout_order *o)
{
    struct shape out = *s;

    for (int i = 0; i < s->rank; i++)
        out.dim[i] = s->dim[o->dim[i]];
    return out;
}

static void order_numbers(int64_t *list, const struct layout_order *o, int rank)
{
    int64_t old[GRAPH_RANK_MAX];

    memcpy(old, list, sizeof(old));
    for (int i = 0; i < rank; i++)
        list[i] = old[o->dim[i]];
}

static const struct graph_window *order_windows(struct layout_assignment *l,
                                                const struct graph_window *w,
                                                const struct layout_order *o, int rank)
{
    struct graph_window *list = arena_array(l->w.to.arena, (size_t)rank, sizeof(*list));

    for (int i = 0; i < rank; i++)
        list[i] = w[o->dim[i]];
    return list;
}

static const struct graph_trips *order_trips(struct layout_assignment *l,
                                             const struct graph_trips *t,
                                             const struct layout_order *o, int rank)
{
    struct graph_trips *to = arena_alloc(l->w.to.arena, sizeof(*to));

    for (int i = 0; i < rank; i++) {
        to->known |= (t->known >> o->dim[i] & 1) << i;
        to->first[i] = t->first[o->dim[i]];
        memcpy(to->step[i], t->step[o->dim[i]], sizeof(to->step[i]));
    }
    return to;
}

/* attributes that speak of dimensions of the result */
static void order_attributes(struct layout_assignment *l, struct graph_node *n,
                             const struct layout_order *o)
{
    int rank = n->shape.rank;

    n->shape = layout_shape(&n->shape, o);
    if (n->op == HLO_IOTA || n->op == HLO_CONCATENATE)
        n->dim = layout_order_place(o, n->dim, rank);
    if (n->op == HLO_REVERSE)
        for (int i = 0; i < n->dim; i++)
            n->dims[i] = layout_order_place(o, n->dims[i], rank);
    if (n->op == HLO_SLICE) {
        order_numbers(n->start, o, rank);
        order_numbers(n->limit, o, rank);
        order_numbers(n->stride, o, rank);
    }
    if (n->op == HLO_PAD) {
        order_numbers(n->low, o, rank);
        order_numbers(n->high, o, rank);
        order_numbers(n->interior, o, rank);
    }
    if (n->op == HLO_DYNAMIC_SLICE)
        order_numbers(n->sizes, o, rank);
    if (n->op == HLO_REDUCE_WINDOW || n->op == HLO_SELECT_AND_SCATTER)
        n->window = order_windows(l, n->window, o, rank);
    if (n->trips)
        n->trips = order_trips(l, n->trips, o, rank);
}

static int rebuild(struct layout_assignment *l, int node)
{
    struct graph_node n = l->w.from->node[node];
    int *operand = arena_array(l->w.to.arena, (size_t)n.operand_count, sizeof(*operand));

    for (int k = 0; k < n.operand_count; k++) {
        int a = n.operand[k];

        operand[k] = l->w.from->node[a].shape.rank == n.shape.rank
                         ? layout_in_order(l, a, &l->order[node]) : layout_in_usual_order(l, a);
    }
    order_attributes(l, &n, &l->order[node]);
    return graph_add(&l->w.to, &n, operand, n.operand_count);
}

/* The operand's dimensions must rise in the result: it is put into their order. */
static int rebuild_broadcast(struct layout_assignment *l, int node)
{
    const struct graph_node *n = &l->w.from->node[node];
    int rank = l->w.from->node[n->operand[0]].shape.rank, count = 0, dims[GRAPH_RANK_MAX];
    const struct layout_order *o = &l->order[node];
    struct layout_order wanted = {.is_set = true};

    for (int d = 0; d < n->shape.rank; d++)
        for (int i = 0; i < rank; i++)
            if (n->dims[i] == o->dim[d]) {
                wanted.dim[count] = i;
                dims[count++] = d;
            }
    return graph_broadcast(&l->w.to, layout_in_order(l, n->operand[0], &wanted),
                           layout_shape(&n->shape, o), dims);
}

/* what begins anywhere: its starts are as many as dimensions, in their order */
static int rebuild_dynamic(struct layout_assignment *l, int node)
{
    struct graph_node n = l->w.from->node[node];
    int *operand = arena_array(l->w.to.arena, (size_t)n.operand_count, sizeof(*operand));
    int rank = n.shape.rank, first = n.operand_count - rank;

    for (int k = 0; k < first; k++)
        operand[k] = layout_in_order(l, n.operand[k], &l->order[node]);
    for (int i = 0; i < rank; i++)
        operand[first + i] = l->w.moved[n.operand[first + l->order[node].dim[i]]];
    order_attributes(l, &n, &l->order[node]);
    return graph_add(&l->w.to, &n, operand, n.operand_count);
}

static int rebuild_reduce(struct layout_assignment *l, int node)
{
    struct graph_node n = l->w.from->node[node];
    const struct layout_order *o = &l->order[n.operand[0]];
    int rank = l->w.from->node[n.operand[0]].shape.rank;
    uint32_t mask = 0;

    for (int i = 0; i < rank; i++)
        if (n.reduce_mask & (1u << o->dim[i]))
            mask |= 1u << i;
    return graph_reduce(&l->w.to, n.reduce_kind, l->w.moved[n.operand[0]], mask);
}

int layout_rebuild(struct layout_assignment *l, int node)
{
    const struct graph_node *n = &l->w.from->node[node];
    int *operand;

    if (n->op == HLO_BROADCAST)
        return rebuild_broadcast(l, node);
    if (n->op == HLO_REDUCE)
        return rebuild_reduce(l, node);
    if (layout_is_dynamic(n))
        return rebuild_dynamic(l, node);
    if (layout_keeps_order(n) || layout_has_any_order(n))
        return rebuild(l, node);
    operand = arena_array(l->w.to.arena, (size_t)n->operand_count, sizeof(*operand));
    for (int k = 0; k < n->operand_count; k++)
        operand[k] = l->w.from->node[n->operand[k]].tuple_count ? l->w.moved[n->operand[k]]
                                                               : layout_in_usual_order(l, n->operand[k]);
    return graph_add(&l->w.to, n, operand, n->operand_count);
}
