/* Finds which dimensions of operands and results go through an operation untouched. */
#include "stack/spmd/partition_impl.h"

#include "stack/hlo/graph_shape.h"

static const struct graph_node *operand(const struct graph *g, const struct graph_node *n, int k)
{
    return &g->node[n->operand[k]];
}

static bool is_one_to_one(const struct graph_window *w)
{
    return w->size == 1 && w->stride == 1 && w->pad_low == 0 && w->pad_high == 0 &&
           w->base_dilation == 1 && w->window_dilation == 1;
}

/* ----- products */

/* which dimension of side k is number `index` of those neither batch nor contracted */
static int free_dim(const struct graph_dot *dot, int k, int rank, int index)
{
    const int *batch = k ? dot->rhs_batch : dot->lhs_batch;
    const int *contract = k ? dot->rhs_contract : dot->lhs_contract;

    for (int d = 0; d < rank; d++)
        if (!graph_dims_have(batch, dot->batch_count, d) &&
            !graph_dims_have(contract, dot->contract_count, d) &&
            index-- == 0)
            return d;
    return -1;
}

static int dot_dim(const struct graph *g, const struct graph_node *n, int k, int d)
{
    const struct graph_dot *dot = &n->dot;
    int rank = operand(g, n, k)->shape.rank;
    int lhs_free = operand(g, n, 0)->shape.rank - dot->batch_count - dot->contract_count;

    if (dot->has_order)
        d = dot->order[d];
    if (d < dot->batch_count)
        return k ? dot->rhs_batch[d] : dot->lhs_batch[d];
    d -= dot->batch_count;
    if (k == 0)
        return d < lhs_free ? free_dim(dot, 0, rank, d) : -1;
    return d < lhs_free ? -1 : free_dim(dot, 1, rank, d - lhs_free);
}

static bool has_groups(const struct graph_conv *c)
{
    return c->feature_groups > 1 || c->batch_groups > 1;
}

static int conv_dim(const struct graph_node *n, int k, int d)
{
    if (has_groups(n->conv))
        return -1;
    if (k == 0)
        return d == n->conv->out_batch ? n->conv->in_batch : -1;
    return d == n->conv->out_feature ? n->conv->kernel_out : -1;
}

/* ----- moves */

/*
 * A reshape cuts both shapes into groups of equal products. The first dimension above 1 of a
 * group goes through to that of the other side: parts of one are parts of the other.
 */
static int reshape_dim(const struct shape *from, const struct shape *to, int d)
{
    int i = 0, j = 0;

    for (;;) {
        int64_t a = 1, b = 1;
        int first_i = -1, first_j = -1;

        do {
            if (b <= a) {
                first_j = first_j < 0 && to->dim[j] > 1 ? j : first_j;
                b *= to->dim[j++];
            } else {
                first_i = first_i < 0 && from->dim[i] > 1 ? i : first_i;
                a *= from->dim[i++];
            }
        } while (a != b);
        if (d < j)
            return d == first_j ? first_i : -1;
    }
}

static bool is_sliced_whole(const struct graph_node *n, const struct shape *from, int d)
{
    return n->start[d] == 0 && n->limit[d] == from->dim[d] && n->stride[d] == 1;
}

static bool is_padded(const struct graph_node *n, int d)
{
    return n->low[d] || n->high[d] || n->interior[d];
}

static bool is_reversed(const struct graph_node *n, int d)
{
    return graph_dims_have(n->dims, n->dim, d);
}

static int move_dim(const struct graph *g, const struct graph_node *n, int k, int d)
{
    const struct shape *from = &operand(g, n, k)->shape;

    switch (n->op) {
    case HLO_BROADCAST:
        for (int i = 0; i < from->rank; i++)
            if (n->dims[i] == d)
                return i;
        return -1;
    case HLO_TRANSPOSE: return n->dims[d];
    case HLO_RESHAPE: return reshape_dim(from, &n->shape, d);
    case HLO_SLICE: return is_sliced_whole(n, from, d) ? d : -1;
    case HLO_PAD: return k == 0 && !is_padded(n, d) ? d : -1;
    case HLO_CONCATENATE: return d == n->dim ? -1 : d;
    case HLO_REVERSE: return is_reversed(n, d) ? -1 : d;
    default: return -1;
    }
}

/* ----- by index */

/* the dimension of a gather's operand that runs along dimension d of its slices; -1: none */
static int window_dim(const struct graph_gather *w, int rank, int d)
{
    int number = -1;

    for (int i = 0; i < w->offset_count; i++)
        if (w->offset_dims[i] == d)
            number = i;
    for (int i = 0; number >= 0 && i < rank; i++)
        if (!graph_dims_have(w->collapsed_dims, w->collapsed_count, i) &&
            !graph_dims_have(w->operand_batching, w->batching_count, i) && number-- == 0)
            return i;
    return -1;
}

static int gather_dim(const struct graph *g, const struct graph_node *n, int k, int d)
{
    const struct graph_gather *w = n->gather;
    const struct shape *table = &operand(g, n, 0)->shape;
    int along = window_dim(w, table->rank, d), number = 0;

    if (k == 0)
        return along >= 0 && w->slice_sizes[along] == table->dim[along] ? along : -1;
    if (along >= 0 || w->batching_count)
        return -1;
    for (int i = 0; i < d; i++)
        number += !graph_dims_have(w->offset_dims, w->offset_count, i);
    return number >= w->index_vector_dim ? number + 1 : number;
}

/* windows that are whole along a dimension of the result: of the operand and of the updates */
static int scatter_dim(const struct graph *g, const struct graph_node *n, int k, int d)
{
    const struct shape *updates = &operand(g, n, 2)->shape;

    if (k == 1)
        return -1;
    for (int u = 0; u < updates->rank; u++)
        if (window_dim(n->gather, n->shape.rank, u) == d && updates->dim[u] == n->shape.dim[d])
            return k == 0 ? d : u;
    return -1;
}

static int index_dim(const struct graph *g, const struct graph_node *n, int k, int d)
{
    switch (n->op) {
    case HLO_GATHER: return gather_dim(g, n, k, d);
    case HLO_SCATTER: return scatter_dim(g, n, k, d);
    case HLO_DYNAMIC_SLICE:
        return k == 0 && n->sizes[d] == operand(g, n, 0)->shape.dim[d] ? d : -1;
    case HLO_DYNAMIC_UPDATE_SLICE:
        return k < 2 && operand(g, n, 1)->shape.dim[d] == n->shape.dim[d] ? d : -1;
    default: return -1;
    }
}

/* ----- all of them */

static int reduce_dim(const struct graph_node *n, int rank, int d)
{
    for (int i = 0; i < rank; i++)
        if (!(n->reduce_mask >> i & 1) && d-- == 0)
            return i;
    return -1;
}

int partition_link_operand_dim(const struct graph *g, const struct graph_node *n, int k, int d)
{
    const struct shape *from = &operand(g, n, k)->shape;

    switch (graph_op_kind(n->op)) {
    case KIND_UNARY:
    case KIND_BINARY:
    case KIND_OTHER: return from->rank == n->shape.rank ? d : -1;
    case KIND_SHAPE: return move_dim(g, n, k, d);
    case KIND_DOT: return dot_dim(g, n, k, d);
    case KIND_CONV: return conv_dim(n, k, d);
    case KIND_REDUCE: return reduce_dim(n, from->rank, d);
    case KIND_WINDOW: return is_one_to_one(&n->window[d]) ? d : -1;
    case KIND_INDEX: return index_dim(g, n, k, d);
    case KIND_COLLECTIVE:
        return n->op == HLO_ALL_REDUCE || n->op == HLO_COLLECTIVE_PERMUTE || d != n->dim ? d : -1;
    case KIND_SOURCE:
    case KIND_SORT:
    case KIND_TUPLE:
    case KIND_CALL:
    case KIND_MESSAGE: break;
    }
    return -1;
}

/* dimension d of the result may be cut without any operand being: new in a broadcast, an iota */
static bool partition_link_is_free(const struct graph *g, const struct graph_node *n, int d)
{
    if (n->op == HLO_CONSTANT)
        return !n->literal;
    return n->op == HLO_IOTA ||
           (n->op == HLO_BROADCAST && partition_link_operand_dim(g, n, 0, d) < 0);
}

bool partition_link_contraction(const struct graph *g, const struct graph_node *n, int i, int *lhs,
                                int *rhs)
{
    *rhs = -1;
    if (n->op == HLO_DOT && i < n->dot.contract_count) {
        *lhs = n->dot.lhs_contract[i];
        *rhs = n->dot.rhs_contract[i];
        return true;
    }
    if (n->op == HLO_CONVOLUTION && i == 0 && !has_groups(n->conv)) {
        *lhs = n->conv->in_feature;
        *rhs = n->conv->kernel_in;
        return true;
    }
    if (n->op != HLO_REDUCE || n->reduce_kind != REDUCE_ADD ||
        !graph_dtype_is_float(n->shape.dtype))
        return false;
    for (int d = 0; d < operand(g, n, 0)->shape.rank; d++)
        if (n->reduce_mask >> d & 1 && i-- == 0) {
            *lhs = d;
            return true;
        }
    return false;
}

bool partition_link_may_cut(const struct graph *g, const struct graph_node *n, int d)
{
    if (n->op == HLO_PARAMETER)
        return true;                    /* of a loop's body; others lie as notes say */
    if (n->tuple_count || d >= n->shape.rank)
        return false;
    for (int k = 0; k < n->operand_count; k++)
        if (partition_link_operand_dim(g, n, k, d) >= 0)
            return true;
    return partition_link_is_free(g, n, d);
}
