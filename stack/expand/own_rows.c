/*
 * Gathers and scatters of which each index asks in a row of its own: x[arange(n), label] of a loss,
 * x.at[arange(n), action].add(-1), the diagonal of a matrix. One number of the index vectors counts
 * the rows, and so says what batching dimensions say. Told so, a row is compared with one number
 * (stack/expand/lookup.c), where the kernel of elements would move each by itself.
 */
#include "stack/expand/affine.h"
#include "stack/expand/expand.h"

#include "stack/hlo/graph_shape.h"

#include <string.h>

/* the dimension of the indices along which number `k` counts the operand's rows; -1: none */
static int own_dim(const struct graph *g, const struct graph_node *n, int k)
{
    const struct shape *operand = &g->node[n->operand[0]].shape;
    const struct shape *indices = &g->node[n->operand[1]].shape;
    int d = n->gather->start_index_map[k], found = -1;
    struct affine a;

    if (!graph_dims_have(n->gather->collapsed_dims, n->gather->collapsed_count, d) ||
        !affine_component(g, n->operand[1], n->gather->index_vector_dim, k, &a) || a.base != 0)
        return -1;
    for (int i = 0; i < indices->rank; i++) {
        if (a.step[i] == 0)
            continue;
        if (found >= 0 || a.step[i] != 1 || indices->dim[i] != operand->dim[d])
            return -1;
        found = i;
    }
    return found < 0 ||
           graph_dims_have(n->gather->indices_batching, n->gather->batching_count, found) ? -1 : found;
}

static void remove_at(int *list, int *count, int at)
{
    memmove(list + at, list + at + 1, (size_t)(*count - at - 1) * sizeof(*list));
    --*count;
}

/* in the order of the operand's dimensions */
static void add_batching(struct graph_gather *d, int operand_dim, int indices_dim)
{
    int at = d->batching_count++;

    while (at > 0 && d->operand_batching[at - 1] > operand_dim) {
        d->operand_batching[at] = d->operand_batching[at - 1];
        d->indices_batching[at] = d->indices_batching[at - 1];
        at--;
    }
    d->operand_batching[at] = operand_dim;
    d->indices_batching[at] = indices_dim;
}

static void make_batching(struct graph_gather *d, int k, int indices_dim)
{
    int dim = d->start_index_map[k];

    remove_at(d->start_index_map, &d->map_count, k);
    for (int i = 0; i < d->collapsed_count; i++)
        if (d->collapsed_dims[i] == dim)
            remove_at(d->collapsed_dims, &d->collapsed_count, i--);
    add_batching(d, dim, indices_dim);
}

/* the indices without number `k` */
static int without(struct graph *g, int indices, int vector_dim, int k)
{
    struct shape s = g->node[indices].shape;
    int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX];
    int part[2], parts = 0;

    memcpy(limit, s.dim, sizeof(limit));
    limit[vector_dim] = k;
    if (k > 0)
        part[parts++] = graph_slice(g, indices, start, limit, NULL);
    start[vector_dim] = k + 1;
    limit[vector_dim] = s.dim[vector_dim];
    if (k + 1 < s.dim[vector_dim])
        part[parts++] = graph_slice(g, indices, start, limit, NULL);
    return parts == 1 ? part[0] : graph_concatenate(g, part, parts, vector_dim);
}

int expand_own_rows(struct graph *g, const struct graph_node *n)
{
    struct graph_gather d;
    struct graph_node own = *n;
    int operand[3];

    if ((n->op != HLO_GATHER && n->op != HLO_SCATTER) ||
        n->gather->index_vector_dim >= g->node[n->operand[1]].shape.rank)
        return NODE_NONE;
    d = *n->gather;
    own.gather = &d;
    own.operand = operand;
    memcpy(operand, n->operand, (size_t)n->operand_count * sizeof(*operand));
    for (int k = 0; k < d.map_count && d.map_count > 1; k++) {
        int dim = own_dim(g, &own, k);

        if (dim < 0)
            continue;
        operand[1] = without(g, operand[1], d.index_vector_dim, k);
        make_batching(&d, k--, dim);
    }
    return d.batching_count > n->gather->batching_count ? expand_lookup(g, &own) : NODE_NONE;
}
