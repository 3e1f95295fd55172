/*
 * Gradients of operations that move data by computed indices. Indices of gather
 * and scatter are taken to lie inside: one is clamped and the other drops what lies
 * outside, so that beyond the edge they are not each other's transpose. A scatter that
 * replaces is taken to write each element once.
 */
#include "stack/grad/grad_impl.h"

#include <string.h>

static void give_dynamic_slice(struct grad *gr, const struct graph_node *n, int dy)
{
    grad_accumulate(gr, n, 0,
                    graph_dynamic_update_slice(gr->g, grad_zeros(gr->g, n->operand[0]), dy,
                                               n->operand + 1));
}

static void give_dynamic_update(struct grad *gr, const struct graph_node *n, int dy)
{
    struct shape update = gr->g->node[n->operand[1]].shape;

    if (grad_wants(gr, n, 0))
        grad_accumulate(gr, n, 0,
                        graph_dynamic_update_slice(gr->g, dy, grad_zeros(gr->g, n->operand[1]),
                                                   n->operand + 2));
    if (grad_wants(gr, n, 1))
        grad_accumulate(gr, n, 1, graph_dynamic_slice(gr->g, dy, n->operand + 2, update.dim));
}

static void give_gather(struct grad *gr, const struct graph_node *n, int dy)
{
    int zeros = grad_zeros(gr->g, n->operand[0]);

    grad_accumulate(gr, n, 0,
                    graph_scatter(gr->g, REDUCE_ADD, zeros, n->operand[1], dy, n->gather));
}

static bool is_dropped(const struct graph_gather *d, int dim)
{
    for (int i = 0; i < d->collapsed_count; i++)
        if (d->collapsed_dims[i] == dim)
            return true;
    for (int i = 0; i < d->batching_count; i++)
        if (d->operand_batching[i] == dim)
            return true;
    return false;
}

/* the updates' elements, from where they went */
static int gathered(struct graph *g, const struct graph_node *n, int dy)
{
    const struct shape *updates = &g->node[n->operand[2]].shape;
    struct graph_gather d = *n->gather;
    int offset = 0;

    for (int i = 0; i < n->shape.rank; i++)
        d.slice_sizes[i] = is_dropped(&d, i) ? 1 : updates->dim[d.offset_dims[offset++]];
    return graph_gather(g, dy, n->operand[1], &d);
}

static bool give_scatter(struct grad *gr, const struct graph_node *n, int dy)
{
    struct graph *g = gr->g;
    int da = dy;

    if (n->reduce_kind != REDUCE_ADD && n->reduce_kind != REDUCE_REPLACE)
        return false;
    if (grad_wants(gr, n, 2))
        grad_accumulate(gr, n, 2, gathered(g, n, dy));
    if (!grad_wants(gr, n, 0))
        return true;
    if (n->reduce_kind == REDUCE_REPLACE)
        da = graph_scatter(g, REDUCE_REPLACE, dy, n->operand[1], grad_zeros(g, n->operand[2]),
                           n->gather);
    grad_accumulate(gr, n, 0, da);
    return true;
}

bool grad_index(struct grad *gr, const struct graph_node *n, int dy)
{
    switch (n->op) {
    case HLO_DYNAMIC_SLICE: give_dynamic_slice(gr, n, dy); return true;
    case HLO_DYNAMIC_UPDATE_SLICE: give_dynamic_update(gr, n, dy); return true;
    case HLO_GATHER: give_gather(gr, n, dy); return true;
    default: return give_scatter(gr, n, dy);
    }
}

/* ---- sorts ---- */

/* rows of the last dimension, each with its own places */
static void give_top_k(struct grad *gr, const struct graph_node *n, int y, int dy)
{
    struct graph *g = gr->g;
    struct graph_gather d = {.collapsed_count = 1, .map_count = 1};
    int places = graph_tuple_element(g, y, 1), last = n->shape.rank - 1;
    struct shape s = g->node[places].shape;

    s.dim[s.rank++] = 1;
    d.collapsed_dims[0] = d.start_index_map[0] = last;
    d.index_vector_dim = last + 1;
    d.batching_count = last;
    for (int i = 0; i < last; i++)
        d.operand_batching[i] = d.indices_batching[i] = i;
    int fourth = graph_reshape(g, places, s);
    grad_accumulate(gr, n, 0,
                    graph_scatter(g, REDUCE_ADD, grad_zeros(g, n->operand[0]), fourth, dy, &d));
}

/* the sort once more with an iota, which says where each went; sorting by it leads back */
static void give_sort(struct grad *gr, const struct graph_node *n, const int *part)
{
    struct graph *g = gr->g;
    size_t count = (size_t)n->operand_count + 1;
    int *operand = arena_array(g->arena, count, sizeof(*operand)), wanted = 1, sorted;
    struct shape s = n->shape;

    s.dtype = DTYPE_S32;
    memcpy(operand, n->operand, (count - 1) * sizeof(*operand));
    operand[count - 1] = graph_iota(g, s, n->dim);
    sorted = graph_sort(g, operand, (int)count, n->dim, n->direction);
    operand[0] = graph_tuple_element(g, sorted, (int)count - 1);
    for (int i = 0; i < n->operand_count; i++)
        if (part[i] != NODE_NONE && grad_wants(gr, n, i))
            operand[wanted++] = part[i];
    sorted = graph_sort(g, operand, wanted, n->dim, COMPARE_LT);
    wanted = 1;
    for (int i = 0; i < n->operand_count; i++)
        if (part[i] != NODE_NONE && grad_wants(gr, n, i))
            grad_accumulate(gr, n, i, graph_tuple_element(g, sorted, wanted++));
}

bool grad_sort(struct grad *gr, const struct graph_node *n, int y, const int *part)
{
    if (n->op == HLO_SORT)
        give_sort(gr, n, part);
    else if (part[0] != NODE_NONE)
        give_top_k(gr, n, y, part[0]);
    return true;
}
