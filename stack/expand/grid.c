/*
 * Gathers of a grid: x[ix_(i, j)], x[i[:, None], j], the rows and columns of a matrix that lists name.
 * Their indices are a number for each place of the grid, but each number says the same along all of
 * its dimensions but its own. So the operand's dimensions are gone through one after the other: rows
 * are rows, and columns those of the transposed array, where the kernel of elements would move each
 * place by itself.
 */
#include "stack/expand/expand.h"

#include "stack/hlo/graph_shape.h"

#include <string.h>

#define PLACES_MIN 128                  /* fewer elements take less time by themselves */
#define GROWTH_MAX 4                    /* of what is made on the way */

/* a number of the index vectors, and the dimensions of the indices that it varies along */
struct number {
    int node, of_operand;               /* the operand's dimension that it counts */
    int varies[GRAPH_RANK_MAX], rank;
    int64_t places;                     /* along these */
};

struct grid {
    struct number number[GRAPH_RANK_MAX];
    int count;
};

/* dim[i] of the node's dimension i before it was reshaped to `to`, where only ones came or went */
static bool before_reshape(const struct shape *from, const struct shape *to, int *dim)
{
    int before[GRAPH_RANK_MAX], at = 0;

    for (int i = 0; i < from->rank; i++) {
        before[i] = -1;
        if (from->dim[i] == 1)
            continue;
        while (at < to->rank && to->dim[at] == 1)
            at++;
        if (at == to->rank || to->dim[at] != from->dim[i])
            return false;
        before[i] = dim[at++];
    }
    while (at < to->rank && to->dim[at] == 1)
        at++;
    memcpy(dim, before, sizeof(before));
    return at == to->rank;
}

/* the node below broadcasts and reshapes, and where its dimensions are among those of the indices */
static int below(const struct graph *g, int x, int *dim)
{
    for (;;) {
        const struct graph_node *n = &g->node[x];
        int before[GRAPH_RANK_MAX];

        if (n->op == HLO_BROADCAST) {
            for (int i = 0; i < g->node[n->operand[0]].shape.rank; i++)
                before[i] = dim[n->dims[i]];
            memcpy(dim, before, sizeof(before));
        } else if (n->op != HLO_RESHAPE ||
                   !before_reshape(&g->node[n->operand[0]].shape, &n->shape, dim)) {
            return x;
        }
        x = n->operand[0];
    }
}

/* `part`: the indices' own part for the number, with one place along their last dimension */
static bool read_number(const struct graph *g, int part, int vector_dim, struct number *number)
{
    const struct shape *s;
    int dim[GRAPH_RANK_MAX];

    for (int i = 0; i < GRAPH_RANK_MAX; i++)
        dim[i] = i;
    number->node = below(g, part, dim);
    number->places = 1;
    s = &g->node[number->node].shape;
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] == 1)
            continue;
        if (dim[i] == vector_dim || (number->rank > 0 && number->varies[number->rank - 1] >= dim[i]))
            return false;
        number->varies[number->rank++] = dim[i];
        number->places *= s->dim[i];
    }
    return true;
}

static bool share_dims(const struct grid *grid, const struct number *x)
{
    for (int k = 0; k < grid->count; k++)
        for (int i = 0; i < x->rank; i++)
            if (graph_dims_have(grid->number[k].varies, grid->number[k].rank, x->varies[i]))
                return true;
    return false;
}

/* single places of some dimensions, all of the others */
static bool takes_places(const struct graph *g, const struct graph_node *n)
{
    const struct graph_gather *d = n->gather;
    const struct shape *operand = &g->node[n->operand[0]].shape;

    if (d->batching_count || d->map_count < 2 || d->collapsed_count != d->map_count)
        return false;
    for (int i = 0; i < operand->rank; i++)
        if (graph_dims_have(d->start_index_map, d->map_count, i)
                ? !graph_dims_have(d->collapsed_dims, d->collapsed_count, i)
                : d->slice_sizes[i] != operand->dim[i])
            return false;
    return true;
}

static bool find_grid(const struct graph *g, const struct graph_node *n, struct grid *grid)
{
    const struct graph_node *indices = &g->node[n->operand[1]];
    const struct graph_gather *d = n->gather;
    int64_t places = 1;

    grid->count = 0;
    if (indices->op != HLO_CONCATENATE || indices->shape.dtype != DTYPE_S32 ||
        indices->operand_count != d->map_count || d->index_vector_dim != indices->shape.rank - 1 ||
        indices->dim != d->index_vector_dim)
        return false;
    for (int k = 0; k < d->map_count; k++) {
        struct number x = {.of_operand = d->start_index_map[k]};

        if (!read_number(g, indices->operand[k], d->index_vector_dim, &x) || share_dims(grid, &x))
            return false;
        places *= x.places;
        grid->number[grid->count++] = x;
    }
    return places >= PLACES_MIN;
}

/* what makes the array smaller comes first, and rows before lanes */
static void order_numbers(const struct shape *operand, struct grid *grid)
{
    for (int i = 1; i < grid->count; i++)
        for (int k = i; k > 0; k--) {
            struct number *a = &grid->number[k - 1], *b = &grid->number[k], kept = *a;
            int64_t first = a->places * operand->dim[b->of_operand];
            int64_t second = b->places * operand->dim[a->of_operand];

            if (first < second || (first == second && a->of_operand < b->of_operand))
                break;
            *a = *b;
            *b = kept;
        }
}

/* the array on the way, whose dimensions are the operand's, or those of the indices in their place */
struct made {
    int node;
    int origin[GRAPH_RANK_MAX];         /* a dimension of the operand, */
    int of_indices[GRAPH_RANK_MAX];     /* or of the indices where this is not -1 */
};

static bool is_too_large(const struct graph *g, const struct graph_node *n, const struct made *m)
{
    int64_t largest = shape_elems(&g->node[n->operand[0]].shape);

    if (shape_elems(&n->shape) > largest)
        largest = shape_elems(&n->shape);
    return shape_elems(&g->node[m->node].shape) > GROWTH_MAX * largest;
}

/* the places that `x` says along its dimension, in its place */
static void take_places(struct graph *g, const struct number *x, struct made *m)
{
    struct shape s = g->node[m->node].shape, list = shape_make(DTYPE_S32, 0, NULL);
    struct graph_gather d = {.collapsed_count = 1, .map_count = 1, .index_vector_dim = x->rank};
    const struct shape *own = &g->node[x->node].shape;
    struct made next = *m;
    int at = 0;

    for (int i = 0; i < own->rank; i++)
        if (own->dim[i] > 1)
            list.dim[list.rank++] = own->dim[i];
    while (m->of_indices[at] >= 0 || m->origin[at] != x->of_operand)
        at++;
    d.collapsed_dims[0] = d.start_index_map[0] = at;
    for (int i = 0; i < s.rank; i++) {
        d.slice_sizes[i] = i == at ? 1 : s.dim[i];
        if (i != at)
            d.offset_dims[d.offset_count++] = i < at ? i : i - 1 + x->rank;
    }
    for (int i = 0; i < x->rank; i++)
        next.of_indices[at + i] = x->varies[i];
    for (int i = at + 1; i < s.rank; i++) {
        next.origin[i - 1 + x->rank] = m->origin[i];
        next.of_indices[i - 1 + x->rank] = m->of_indices[i];
    }
    next.node = graph_reshape(g, x->node, list);
    next.node = graph_gather(g, m->node, next.node, &d);
    *m = next;
}

/* where the result has the dimension; -1: nowhere */
static int result_dim(const struct graph_node *n, const struct made *m, int i)
{
    const struct graph_gather *d = n->gather;
    int count = 0, of = m->of_indices[i] >= 0 ? m->of_indices[i] : m->origin[i];

    if (m->of_indices[i] >= 0) {
        for (int r = 0; r < n->shape.rank; r++)
            if (!graph_dims_have(d->offset_dims, d->offset_count, r) && count++ == of)
                return r;
        return -1;
    }
    for (int k = 0; k < of; k++)
        count += !graph_dims_have(d->collapsed_dims, d->collapsed_count, k);
    return d->offset_dims[count];
}

/* its dimensions in the result's order, and those along which the result is the same */
static int as_result(struct graph *g, const struct graph_node *n, const struct made *m)
{
    int rank = g->node[m->node].shape.rank, order[GRAPH_RANK_MAX], to[GRAPH_RANK_MAX], count = 0;

    for (int r = 0; r < n->shape.rank; r++)
        for (int i = 0; i < rank; i++)
            if (result_dim(n, m, i) == r) {
                to[count] = r;
                order[count++] = i;
            }
    return graph_broadcast(g, graph_transpose(g, m->node, order), n->shape, to);
}

int expand_grid(struct graph *g, const struct graph_node *n)
{
    struct shape operand = g->node[n->operand[0]].shape;
    struct made m = {.node = n->operand[0]};
    struct grid grid;

    if (n->op != HLO_GATHER || !takes_places(g, n) || !find_grid(g, n, &grid))
        return NODE_NONE;
    order_numbers(&operand, &grid);
    for (int i = 0; i < GRAPH_RANK_MAX; i++) {
        m.origin[i] = i;
        m.of_indices[i] = -1;
    }
    for (int k = 0; k < grid.count; k++) {
        if (operand.rank + grid.number[k].rank > GRAPH_RANK_MAX)
            return NODE_NONE;
        take_places(g, &grid.number[k], &m);
        if (is_too_large(g, n, &m))
            return NODE_NONE;
    }
    return as_result(g, n, &m);
}
