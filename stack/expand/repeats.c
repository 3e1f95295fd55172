/*
 * Gathers that give each row of a dimension several times, one behind the other, and scatters that
 * combine them again: pictures enlarged to the nearest pixel, as U-Nets and generators have it, and
 * the gradient of that. Their indices, floor((i + 1/2) / times), count nowhere as a sum of steps
 * does (stack/expand/affine.h), but are known: what iotas and constants make is worked out here.
 */
#include "stack/expand/expand.h"

#include "stack/hlo/graph_shape.h"
#include "stack/interp/interp.h"

enum { NODES_MAX = 64, INDICES_MAX = 1 << 16 };

/* nodes of one graph, of iotas and constants alone, as those of another */
struct known {
    const struct graph *from;
    struct graph to;
    int node[NODES_MAX], copy[NODES_MAX], count;
};

static bool is_of_known(const struct graph_node *n)
{
    return n->op == HLO_CONSTANT || n->op == HLO_IOTA || n->op == HLO_BROADCAST ||
           n->op == HLO_RESHAPE || graph_op_is_elementwise(n->op);
}

/* NODE_NONE: its elements depend on what comes in, or are too many */
static int copy_known(struct known *k, int node)
{
    const struct graph_node *n = &k->from->node[node];
    int operand[3], made;

    for (int i = 0; i < k->count; i++)
        if (k->node[i] == node)
            return k->copy[i];
    if (!is_of_known(n) || n->operand_count > 3 || shape_elems(&n->shape) > INDICES_MAX)
        return NODE_NONE;
    for (int i = 0; i < n->operand_count; i++) {
        operand[i] = copy_known(k, n->operand[i]);
        if (operand[i] == NODE_NONE)
            return NODE_NONE;
    }
    if (k->count == NODES_MAX)
        return NODE_NONE;
    made = graph_add(&k->to, n, operand, n->operand_count);
    k->node[k->count] = node;
    k->copy[k->count++] = made;
    return made;
}

/* whole numbers 0, 0, .. 1, 1, .., each so many times */
static bool counts_in_steps(const int32_t *element, int64_t count, int64_t times)
{
    for (int64_t i = 0; i < count; i++)
        if (element[i] != i / times)
            return false;
    return true;
}

static bool are_repeats(const struct graph *g, int indices, int64_t times)
{
    struct known k = {.from = g};
    struct interp_value out;
    struct arena a;
    struct err e;
    bool are = false;
    int made;

    arena_init(&a);
    graph_init(&k.to, &a, "indices");
    made = g->node[indices].shape.dtype == DTYPE_S32 ? copy_known(&k, indices) : NODE_NONE;
    if (made != NODE_NONE) {
        graph_output(&k.to, made, "indices", -1);
        are = interp_run(&k.to, INTERP_DOT_F32, NULL, &out, &a, &e) == 0 &&
              counts_in_steps(out.data, shape_elems(&g->node[indices].shape), times);
    }
    graph_fini(&k.to);
    arena_fini(&a);
    return are;
}

/* the dimension of which rows are taken by one index each, all others whole; -1: not so */
static int dim_of_rows(const struct graph *g, const struct graph_node *n, const struct shape *rows)
{
    const struct shape *s = &g->node[n->operand[0]].shape;
    const struct shape *indices = &g->node[n->operand[1]].shape;
    const struct graph_gather *d = n->gather;
    int dim = d->start_index_map[0];

    if (d->map_count != 1 || d->batching_count || d->collapsed_count != 1 ||
        d->collapsed_dims[0] != dim || rows->rank != s->rank || s->rank == GRAPH_RANK_MAX ||
        graph_dims_have(d->offset_dims, d->offset_count, dim) ||
        shape_elems(indices) != rows->dim[dim])
        return -1;
    for (int i = 0; i < s->rank; i++)
        if (i != dim && s->dim[i] != rows->dim[i])
            return -1;
    return dim;
}

/* the shape with dimension `dim` in pieces of `times` */
static struct shape apart(const struct shape *s, int dim, int64_t times)
{
    struct shape made = {.dtype = s->dtype, .rank = s->rank + 1};

    for (int i = 0; i < s->rank; i++)
        made.dim[i + (i > dim)] = s->dim[i];
    made.dim[dim] = s->dim[dim] / times;
    made.dim[dim + 1] = times;
    return made;
}

static int repeated(struct graph *g, int x, const struct shape *rows, int dim, int64_t times)
{
    struct shape split = apart(rows, dim, times);
    int dims[GRAPH_RANK_MAX];

    for (int i = 0; i < rows->rank; i++)
        dims[i] = i + (i > dim);
    return graph_reshape(g, graph_broadcast(g, x, split, dims), *rows);
}

int expand_repeats(struct graph *g, const struct graph_node *n)
{
    int64_t times, size;
    struct shape rows;
    enum graph_op combine;
    int dim, x;

    if (n->op != HLO_GATHER && (n->op != HLO_SCATTER || !expand_combines(n->reduce_kind, &combine)))
        return NODE_NONE;
    rows = n->op == HLO_GATHER ? n->shape : g->node[n->operand[2]].shape;
    dim = dim_of_rows(g, n, &rows);
    if (dim < 0)
        return NODE_NONE;
    size = g->node[n->operand[0]].shape.dim[dim];
    times = rows.dim[dim] / size;
    if (times < 2 || times * size != rows.dim[dim] || !are_repeats(g, n->operand[1], times))
        return NODE_NONE;
    if (n->op == HLO_GATHER)
        return repeated(g, n->operand[0], &rows, dim, times);
    x = graph_reshape(g, n->operand[2], apart(&rows, dim, times));
    x = graph_reduce(g, n->reduce_kind, x, 1u << (dim + 1));
    return graph_binary(g, combine, n->operand[0], x);
}
