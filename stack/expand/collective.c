/*
 * Collectives whose blocks are whole tiles stay. Others go by a dimension of one index for each
 * rank, outside the tiles:
 *
 *   reduce-scatter of [a, N b, c] along 1: [a, N, b, c], transposed to [N, a, b, c], along 0; [a,
 * b, c]
 *   all-gather of [a, b, c] along 1: [1, a, b, c] along 0, transposed to [a, N, b, c]; [a, N b, c]
 */
#include "stack/expand/expand.h"

#include "stack/hlo/array.h"
#include "stack/hlo/graph_shape.h"
#include "stack/hlo/rewrite.h"

/* one node for all: its results are taken by get-tuple-element if there are several */
static int together(struct graph *g, const int *node, int count)
{
    return count == 1 ? node[0] : graph_tuple(g, node, count);
}

static int zeros_like(struct graph *g, int node)
{
    return graph_splat(g, node, 0.0);
}

/* the shape with a dimension of `size` before dimension `at`; dimension `split` is `left` long */
static struct shape with_dim(const struct shape *s, int at, int64_t size, int split, int64_t left)
{
    struct shape out = {.dtype = s->dtype, .rank = s->rank + 1};

    for (int i = 0; i < s->rank; i++)
        out.dim[i < at ? i : i + 1] = i == split ? left : s->dim[i];
    out.dim[at] = size;
    return out;
}

/* two dimensions inside the tiles, whatever the rank */
static bool lacks_rows(const struct shape *s)
{
    return s->rank == 1;
}

static int as_matrix(struct graph *g, int a)
{
    struct shape s = g->node[a].shape;

    return lacks_rows(&s) ? graph_reshape(g, a, shape_make(s.dtype, 2, (int64_t[]){1, s.dim[0]}))
                          : a;
}

/* dimension `from` becomes dimension `to` */
static int transposed(struct graph *g, int a, int from, int to)
{
    int rank = g->node[a].shape.rank, dims[GRAPH_RANK_MAX];

    for (int i = 0; i < rank; i++)
        dims[i] = from > to ? (i < to || i > from ? i : i == to ? from : i - 1)
                            : (i < from || i > to ? i : i == to ? from : i + 1);
    return graph_transpose(g, a, dims);
}

static int before_scatter(struct graph *g, int a, int dim, int ranks)
{
    bool flat = lacks_rows(&g->node[a].shape);
    struct shape s;

    a = as_matrix(g, a);
    dim += flat;
    s = with_dim(&g->node[a].shape, dim, ranks, dim, g->node[a].shape.dim[dim] / ranks);
    return transposed(g, graph_reshape(g, a, s), dim, 0);
}

static int before_gather(struct graph *g, int a)
{
    struct shape s;

    a = as_matrix(g, a);
    s = with_dim(&g->node[a].shape, 0, 1, -1, 0);
    return graph_reshape(g, a, s);
}

/* what came out, as the operation that there was has it */
static int behind(struct graph *g, const struct graph_node *n, int a, const struct shape *wanted)
{
    if (n->op == HLO_ALL_GATHER)
        a = transposed(g, a, 0, n->dim + lacks_rows(wanted));
    return graph_reshape(g, a, *wanted);
}

static int along_new_dim(struct graph *g, const struct graph_node *n)
{
    struct graph_node inner = *n;
    int count = n->operand_count, ranks = n->groups->size, all;
    int *node = arena_array(g->arena, (size_t)count, sizeof(*node));

    for (int k = 0; k < count; k++)
        node[k] = n->op == HLO_ALL_GATHER ? before_gather(g, n->operand[k])
                                          : before_scatter(g, n->operand[k], n->dim, ranks);
    inner.dim = 0;
    inner.operand = node;
    all = rewrite_add(g, &inner);
    for (int k = 0; k < count; k++) {
        int part = count > 1 ? graph_tuple_element(g, all, k) : all;

        node[k] = behind(g, n, part, count > 1 ? &n->tuple[k] : &n->shape);
    }
    return together(g, node, count);
}

static bool is_cut_in_tiles(const struct graph *g, const struct graph_node *n)
{
    for (int k = 0; k < n->operand_count; k++) {
        struct shape s = g->node[n->operand[k]].shape;
        struct array a;

        if (n->op == HLO_ALL_GATHER)
            s.dim[n->dim] *= n->groups->size;
        array_init(&a, "", &s, NULL);
        if (array_part_bytes(&a, n->dim, n->groups->size) == 0)
            return true;
    }
    return false;
}

/* entries of whole tiles, one behind the other */
static int in_entries(struct graph *g, const struct graph_node *n)
{
    struct graph_node inner = *n;
    struct shape apart = n->shape;
    int a;

    apart.rank = 3;
    apart.dim[2] = n->shape.rank == 2 ? n->shape.dim[1] : 1;
    apart.dim[1] = 1;
    a = graph_reshape(g, n->operand[0], apart);
    inner.operand = &a;
    return graph_reshape(g, rewrite_add(g, &inner), n->shape);
}

int expand_collective(struct graph *g, const struct graph_node *n, int device_count)
{
    bool is_alone = n->groups ? n->groups->size == 1 : device_count <= 1;

    if (n->op == HLO_COLLECTIVE_PERMUTE && n->count == 0)
        return zeros_like(g, n->operand[0]);
    if (is_alone && (n->op != HLO_COLLECTIVE_PERMUTE || device_count <= 1))
        return together(g, n->operand, n->operand_count);
    if ((n->op == HLO_REDUCE_SCATTER || n->op == HLO_ALL_GATHER) && is_cut_in_tiles(g, n) &&
        g->node[n->operand[0]].shape.rank < GRAPH_RANK_MAX)
        return along_new_dim(g, n);
    if (n->op == HLO_ALL_TO_ALL && n->shape.rank < 3)
        return in_entries(g, n);
    return rewrite_add(g, n);
}
