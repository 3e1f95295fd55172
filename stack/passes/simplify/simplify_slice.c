/*
 * Rules of pass_simplify about slices. One that takes at most half of what a reshape or a transpose
 * gives stands before it, where it can: less is moved, and the parts of a product's columns that are
 * told apart by a dimension of their own, [tokens, 3, heads, 64] or [rows, 2, 128], are columns of
 * the product, which is read as it lies. Of pairs, [tokens, 64, 2], one half is every second element.
 */
#include "stack/hlo/array.h"
#include "stack/hlo/graph_shape.h"
#include "stack/passes/simplify/simplify.h"

#include <string.h>

#define NARROW_MIN 4                    /* times what it is transposed */

/* what a slice takes along each dimension */
struct part { int64_t start[GRAPH_RANK_MAX], limit[GRAPH_RANK_MAX], stride[GRAPH_RANK_MAX]; };

static bool takes_all(const struct graph_node *n, const struct shape *of, int dim)
{
    return n->start[dim] == 0 && n->limit[dim] == of->dim[dim] && n->stride[dim] == 1;
}

/*
 * What a slice takes of dimensions `first` to `end` - 1, as places of the one dimension `at` that they
 * are together: false unless these follow each other at one distance.
 */
static bool joined(const struct graph_node *n, const struct shape *of, int first, int end,
                   struct part *p, int at)
{
    int64_t start = 0, count = 1, stride = 1, inside = 1;

    for (int d = end - 1; d >= first; d--) {
        int64_t taken = n->shape.dim[d], step = n->stride[d] * inside;

        if (taken > 1 && count > 1 && step != count * stride)
            return false;
        if (taken > 1 && count == 1)
            stride = step;
        count *= taken;
        start += n->start[d] * inside;
        inside *= of->dim[d];
    }
    p->start[at] = start;
    p->limit[at] = start + (count - 1) * stride + 1;
    p->stride[at] = stride;
    return true;
}

/* of dimensions that the reshape has not touched, has split, or that the slice takes whole */
static bool before_reshape(const struct graph_node *n, const struct shape *from,
                           const struct shape *to, struct part *p)
{
    struct reshape_runs r;

    reshape_runs_find(from, to, &r);
    for (int i = 0; i < r.count; i++) {
        bool is_whole = true;

        for (int d = r.to[i]; d < r.to[i + 1]; d++)
            is_whole &= takes_all(n, to, d);
        for (int d = r.from[i]; d < r.from[i + 1]; d++) {
            p->start[d] = 0;
            p->limit[d] = from->dim[d];
            p->stride[d] = 1;
        }
        if (is_whole)
            continue;
        if (r.from[i + 1] - r.from[i] != 1 ||
            !joined(n, to, r.to[i], r.to[i + 1], p, r.from[i]))
            return false;
    }
    return true;
}

static int64_t padded_bytes(const struct shape *s)
{
    struct array a;

    array_init(&a, "", s, NULL);
    return a.bytes;
}

/* a transpose from what is mostly padding: each slice before it would shift lanes of all of that */
static bool is_from_narrow(const struct graph *g, const struct graph_node *move)
{
    return move->op == HLO_TRANSPOSE &&
           padded_bytes(&g->node[move->operand[0]].shape) >= NARROW_MIN * padded_bytes(&move->shape);
}

static int before_move(struct graph *g, const struct graph_node *n)
{
    struct graph_node move = g->node[n->operand[0]];
    struct shape from = g->node[move.operand[0]].shape;
    struct part p;
    int y;

    if (2 * shape_elems(&n->shape) > shape_elems(&move.shape) || is_from_narrow(g, &move))
        return NODE_NONE;
    if (move.op == HLO_RESHAPE) {
        if (!before_reshape(n, &from, &move.shape, &p))
            return NODE_NONE;
        y = graph_slice(g, move.operand[0], p.start, p.limit, p.stride);
        return graph_reshape(g, y, n->shape);
    }
    for (int i = 0; i < n->shape.rank; i++) {
        p.start[move.dims[i]] = n->start[i];
        p.limit[move.dims[i]] = n->limit[i];
        p.stride[move.dims[i]] = n->stride[i];
    }
    y = graph_slice(g, move.operand[0], p.start, p.limit, p.stride);
    return graph_transpose(g, y, move.dims);
}

int simplify_slice(struct graph *g, const struct graph_node *n)
{
    struct graph_node a = g->node[n->operand[0]];
    int64_t start[GRAPH_RANK_MAX], limit[GRAPH_RANK_MAX];
    double value;

    if (shape_equal(&a.shape, &n->shape))
        return n->operand[0];
    if (simplify_splat_value(g, n->operand[0], &value))
        return graph_broadcast(g, graph_constant(g, shape_scalar(n->shape.dtype), value),
                               n->shape, NULL);
    if (a.op == HLO_CONVERT &&          /* the narrow array is cut: each reader widens its part */
        array_element_bytes(g->node[a.operand[0]].shape.dtype) < array_element_bytes(a.shape.dtype))
        return graph_convert(g, graph_slice(g, a.operand[0], n->start, n->limit, n->stride),
                             n->shape.dtype);
    if (a.op == HLO_RESHAPE || a.op == HLO_TRANSPOSE)
        return before_move(g, n);
    if (a.op != HLO_SLICE)
        return NODE_NONE;
    for (int i = 0; i < n->shape.rank; i++) {
        if (a.stride[i] != 1)
            return NODE_NONE;
        start[i] = a.start[i] + n->start[i];
        limit[i] = a.start[i] + n->limit[i];
    }
    return graph_slice(g, a.operand[0], start, limit, n->stride);
}
