/*
 * Gathers and scatters by a single index: a dynamic slice, and a dynamic update with what the window
 * becomes. x.at[1:-1].add(y) is such a scatter, a step of a stencil over the inside of a grid.
 *
 * A gather's window is clamped into the array, as a slice is. A scatter leaves out a window that
 * does not lie inside; then the update writes back what was there.
 *
 * A slice of types narrower than a word, where it begins inside a tile, goes element by element, as a
 * gather does, and takes more vector memory than a scatter: more than the smallest chip has.
 */
#include "stack/expand/expand.h"

#include "stack/hlo/array.h"
#include "stack/hlo/graph_shape.h"

#define WORD_BYTES 4
#define NARROW_ROWS 4096                /* of vector memory, with which elements are surely moved */

int expand_single_part(const struct graph *g, const struct graph_node *n, int part)
{
    int node = n->operand[1];

    while (g->node[node].op == HLO_RESHAPE)
        node = g->node[node].operand[0];
    return g->node[node].op == HLO_CONCATENATE && g->node[node].operand_count == n->gather->map_count
               ? g->node[node].operand[part]
               : NODE_NONE;
}

/* number i of the index, a scalar */
static int start_of(struct graph *g, const struct graph_node *n, int64_t i)
{
    int part = expand_single_part(g, n, (int)i);
    int64_t count = n->gather->map_count, end = i + 1;

    if (part == NODE_NONE)
        part = graph_slice(g, graph_reshape(g, n->operand[1], shape_make(DTYPE_S32, 1, &count)), &i,
                           &end, NULL);
    return graph_reshape(g, part, shape_scalar(DTYPE_S32));
}

/* where the window begins along each dimension of the operand, as scalars */
static void find_starts(struct graph *g, const struct graph_node *n, int *start)
{
    int rank = g->node[n->operand[0]].shape.rank;
    int zero = graph_constant(g, shape_scalar(DTYPE_S32), 0);

    for (int i = 0; i < rank; i++)
        start[i] = zero;
    for (int i = 0; i < n->gather->map_count; i++)
        start[n->gather->start_index_map[i]] = start_of(g, n, i);
}

bool expand_is_single(const struct graph *g, const struct graph_node *n)
{
    const struct shape *indices = &g->node[n->operand[1]].shape;

    return indices->dtype == DTYPE_S32 && n->gather->batching_count == 0 &&
           n->gather->map_count > 0 && shape_elems(indices) == n->gather->map_count;
}

/* `size` elements of the operand from `start` on */
static int slice_of(struct graph *g, int x, const int *start, const int64_t *size)
{
    int slice = g->node[x].shape.rank == 1 ? expand_vector_slice(g, x, start[0], size[0]) : NODE_NONE;

    return slice == NODE_NONE ? graph_dynamic_slice(g, x, start, size) : slice;
}

static int with_update(struct graph *g, int x, int update, const int *start)
{
    int all = g->node[x].shape.rank == 1 ? expand_vector_update(g, x, update, start[0]) : NODE_NONE;

    return all == NODE_NONE ? graph_dynamic_update_slice(g, x, update, start) : all;
}

static int gather_one(struct graph *g, const struct graph_node *n)
{
    int start[GRAPH_RANK_MAX];

    find_starts(g, n, start);
    return graph_reshape(g, slice_of(g, n->operand[0], start, n->gather->slice_sizes), n->shape);
}

/* a scalar: the window begins nowhere outside */
static int is_inside(struct graph *g, const struct graph_node *n, const int *start,
                     const struct shape *window)
{
    int inside = NODE_NONE;

    for (int i = 0; i < n->gather->map_count; i++) {
        int d = n->gather->start_index_map[i], s = start[d];
        int last = graph_splat(g, s, (double)(n->shape.dim[d] - window->dim[d]));
        int is_low = graph_compare(g, COMPARE_GE, s, graph_splat(g, s, 0));
        int is_high = graph_compare(g, COMPARE_LE, s, last);

        inside = inside == NODE_NONE ? is_low : graph_binary(g, HLO_AND, inside, is_low);
        inside = graph_binary(g, HLO_AND, inside, is_high);
    }
    return inside;
}

/* the update's window as a part of the operand */
static struct shape window_of(const struct graph *g, const struct graph_node *n)
{
    const struct shape *updates = &g->node[n->operand[2]].shape;
    struct shape window = n->shape;
    int at = 0;

    for (int i = 0; i < window.rank; i++)
        window.dim[i] = graph_dims_have(n->gather->collapsed_dims, n->gather->collapsed_count, i)
                        ? 1 : updates->dim[n->gather->offset_dims[at++]];
    return window;
}

static int scatter_one(struct graph *g, const struct graph_node *n)
{
    struct shape window = window_of(g, n), inside_shape = window;
    bool is_replaced = n->reduce_kind == REDUCE_REPLACE;
    int start[GRAPH_RANK_MAX], old, new, inside;
    enum graph_op op = HLO_ADD;

    if (!is_replaced && (n->shape.dtype == DTYPE_PRED || !expand_combines(n->reduce_kind, &op)))
        return NODE_NONE;
    find_starts(g, n, start);
    if (window.rank == 1 && window.dim[0] == 1) {
        new = expand_vector_element(g, n->operand[0], n->operand[2], start[0], n->reduce_kind);
        if (new != NODE_NONE)
            return new;
    }
    inside_shape.dtype = DTYPE_PRED;
    inside = graph_broadcast(g, is_inside(g, n, start, &window), inside_shape, NULL);
    old = slice_of(g, n->operand[0], start, window.dim);
    new = graph_reshape(g, n->operand[2], window);
    if (!is_replaced)
        new = graph_binary(g, op, old, new);
    return with_update(g, n->operand[0], graph_select(g, inside, new, old), start);
}

int expand_single(struct graph *g, const struct graph_node *n, int64_t vmem_rows)
{
    if ((n->op != HLO_GATHER && n->op != HLO_SCATTER) || !expand_is_single(g, n))
        return NODE_NONE;
    if (n->op == HLO_GATHER)
        return gather_one(g, n);
    return array_element_bytes(n->shape.dtype) == WORD_BYTES || vmem_rows >= NARROW_ROWS
           ? scatter_one(g, n) : NODE_NONE;
}
