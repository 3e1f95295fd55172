/*
 * Rules of pass_simplify about products: the forms that the kernel for them takes.
 *
 * A product that becomes [M,K] x [K,N] by renaming alone does. One whose operands the kernel takes
 * as they lie, their many dimensions and all (dot_form.h), stays what it is: pass_layout
 * finds the order of its result. Any other is transposed and reshaped.
 */
#include "stack/passes/simplify/simplify.h"

#include "stack/hlo/bitcast.h"
#include "stack/hlo/graph_shape.h"
#include "stack/kernels/dot/dot_form.h"

#include <string.h>

/* one operand's side of a dot */
struct side {
    int batch_count, contract_count, free_count;
    int batch[GRAPH_RANK_MAX], contract[GRAPH_RANK_MAX], free[GRAPH_RANK_MAX];
};

static struct side side_of(const struct graph_dot *d, bool is_rhs, int rank)
{
    struct side s = {.batch_count = d->batch_count, .contract_count = d->contract_count};

    memcpy(s.batch, is_rhs ? d->rhs_batch : d->lhs_batch, sizeof(s.batch));
    memcpy(s.contract, is_rhs ? d->rhs_contract : d->lhs_contract, sizeof(s.contract));
    for (int i = 0; i < rank; i++)
        if (!graph_dims_have(s.batch, s.batch_count, i) &&
            !graph_dims_have(s.contract, s.contract_count, i))
            s.free[s.free_count++] = i;
    return s;
}

static void set_side(struct graph_dot *d, bool is_rhs, const struct side *s)
{
    memcpy(is_rhs ? d->rhs_batch : d->lhs_batch, s->batch, sizeof(s->batch));
    memcpy(is_rhs ? d->rhs_contract : d->lhs_contract, s->contract, sizeof(s->contract));
}

/* the same product of the transpose's operand, if free dimensions keep their order */
static bool look_through(const struct graph_node *t, struct graph_dot *d, bool is_rhs)
{
    struct side s = side_of(d, is_rhs, t->shape.rank);

    for (int i = 1; i < s.free_count; i++)
        if (t->dims[s.free[i]] < t->dims[s.free[i - 1]])
            return false;
    for (int i = 0; i < s.batch_count; i++)
        s.batch[i] = t->dims[s.batch[i]];
    for (int i = 0; i < s.contract_count; i++)
        s.contract[i] = t->dims[s.contract[i]];
    set_side(d, is_rhs, &s);
    return true;
}

/* the dimensions in `order`, batch first, as they would be after such a transpose */
static bool is_form(const struct side *s, int rank)
{
    int next = 0;

    for (int i = 0; i < s->batch_count; i++)
        if (s->batch[i] != i)
            return false;
    next = s->batch_count;
    if (s->contract_count && s->contract[0] == next) {
        for (int i = 0; i < s->contract_count; i++)
            if (s->contract[i] != next++)
                return false;
        return true;
    }
    for (int i = 0; i < s->free_count; i++)
        if (s->free[i] != next++)
            return false;
    for (int i = 0; i < s->contract_count; i++)
        if (s->contract[i] != next++)
            return false;
    return next == rank;
}

int simplify_dot_operand(struct graph *g, const struct graph_node *n)
{
    struct graph_node copy = *n;
    int operand[2] = {n->operand[0], n->operand[1]};
    bool has_changed = false;

    if (n->op != HLO_DOT || n->dot.has_order || n->dot.is_alone)
        return NODE_NONE;
    for (int k = 0; k < 2; k++) {
        const struct graph_node *t = &g->node[operand[k]];
        struct graph_dot dot = copy.dot;
        int rank = t->shape.rank, other = operand[!k];
        struct side s;

        if (t->op != HLO_TRANSPOSE || !look_through(t, &dot, k == 1))
            continue;
        s = side_of(&dot, k == 1, rank);
        if (!is_form(&s, rank) && !dot_is_taken(g, k ? other : t->operand[0],
                                                k ? t->operand[0] : other, &dot))
            continue;                   /* it would have to be turned again */
        copy.dot = dot;
        operand[k] = t->operand[0];
        has_changed = true;
    }
    return has_changed ? graph_add(g, &copy, operand, 2) : NODE_NONE;
}

static int64_t product(const struct shape *s, const int *dims, int count)
{
    int64_t elems = 1;

    for (int i = 0; i < count; i++)
        elems *= s->dim[dims[i]];
    return elems;
}

/* contracted pairs in the order in which they stand in the left operand, if that orders both */
static void sort_pairs(struct graph_dot *d)
{
    for (int i = 1; i < d->contract_count; i++)
        for (int k = i; k > 0 && d->lhs_contract[k] < d->lhs_contract[k - 1]; k--) {
            int l = d->lhs_contract[k], r = d->rhs_contract[k];

            d->lhs_contract[k] = d->lhs_contract[k - 1];
            d->rhs_contract[k] = d->rhs_contract[k - 1];
            d->lhs_contract[k - 1] = l;
            d->rhs_contract[k - 1] = r;
        }
}

/* in lanes: what is turned stays there, so that whole rows move */
static bool ends_free(const struct side *s, int rank)
{
    return s->free_count && s->free[s->free_count - 1] == rank - 1;
}

/* rows are contracted; a vector, which has nothing else, lies along lanes */
static bool contracts_first(const struct side *s)
{
    return s->contract_count && s->contract[0] == s->batch_count && s->free_count;
}

/* operand as [batch, free, contract] or [batch, contract, free], three or two dimensions */
static int shaped(struct graph *g, int operand, struct side s, int *contract)
{
    struct shape from = g->node[operand].shape, to = {.dtype = from.dtype};
    int64_t batch = product(&from, s.batch, s.batch_count);
    int64_t deep = product(&from, s.contract, s.contract_count);
    int64_t free = product(&from, s.free, s.free_count);
    bool is_first = contracts_first(&s);
    int turned[GRAPH_RANK_MAX], count = 0;

    if (!is_form(&s, from.rank)) {
        is_first = ends_free(&s, from.rank);
        for (int i = 0; i < s.batch_count; i++)
            turned[count++] = s.batch[i];
        for (int i = 0; i < s.contract_count && is_first; i++)
            turned[count++] = s.contract[i];
        for (int i = 0; i < s.free_count; i++)
            turned[count++] = s.free[i];
        for (int i = 0; i < s.contract_count && !is_first; i++)
            turned[count++] = s.contract[i];
        operand = graph_transpose(g, operand, turned);
    }
    if (s.batch_count)
        to.dim[to.rank++] = batch;
    *contract = is_first ? to.rank : to.rank + 1;
    to.dim[to.rank++] = is_first ? deep : free;
    to.dim[to.rank++] = is_first ? free : deep;
    return graph_reshape(g, operand, to);
}

/* whether the operand is in that form but for a reshape that only renames, or that there is none */
static bool is_renamed(const struct graph *g, int operand, const struct side *s)
{
    const struct graph_node *n = &g->node[operand];
    struct shape flat = {.dtype = n->shape.dtype};
    bool is_first = contracts_first(s);
    int64_t free = product(&n->shape, s->free, s->free_count);
    int64_t deep = product(&n->shape, s->contract, s->contract_count);

    if (!is_form(s, n->shape.rank))
        return false;
    if (s->batch_count)
        flat.dim[flat.rank++] = product(&n->shape, s->batch, s->batch_count);
    flat.dim[flat.rank++] = is_first ? deep : free;
    flat.dim[flat.rank++] = is_first ? free : deep;
    return array_is_bitcast(&n->shape, &flat) ||
           (n->op == HLO_RESHAPE && shape_equal(&g->node[n->operand[0]].shape, &flat));
}

/* what the product's kernel may compute itself, if nothing stands between (docs/gemm.md, stages) */
static bool is_computed(const struct graph *g, int operand)
{
    const struct graph_node *n = &g->node[operand];

    return graph_op_is_elementwise(n->op) && n->op != HLO_CONSTANT;
}

/* the plain product costs no copy */
static bool is_free_to_flatten(const struct graph *g, const struct graph_node *n,
                               const struct side *lhs, const struct side *rhs)
{
    const struct shape *a = &g->node[n->operand[0]].shape, *b = &g->node[n->operand[1]].shape;
    struct shape flat = {.dtype = n->shape.dtype};

    if (lhs->batch_count)
        flat.dim[flat.rank++] = product(a, lhs->batch, lhs->batch_count);
    flat.dim[flat.rank++] = product(a, lhs->free, lhs->free_count);
    flat.dim[flat.rank++] = product(b, rhs->free, rhs->free_count);
    return is_renamed(g, n->operand[0], lhs) && is_renamed(g, n->operand[1], rhs) &&
           array_is_bitcast(&flat, &n->shape);
}

int simplify_dot_flatten(struct graph *g, const struct graph_node *n)
{
    struct graph_node copy = *n;
    struct graph_dot plain = {.batch_count = n->dot.batch_count ? 1 : 0, .contract_count = 1};
    int lhs, rhs, result;

    sort_pairs(&copy.dot);
    lhs = shaped(g, n->operand[0], side_of(&copy.dot, false, g->node[n->operand[0]].shape.rank),
                 &plain.lhs_contract[0]);
    rhs = shaped(g, n->operand[1], side_of(&copy.dot, true, g->node[n->operand[1]].shape.rank),
                 &plain.rhs_contract[0]);
    result = graph_dot_general(g, lhs, rhs, &plain, n->shape.dtype, n->precision);
    return graph_reshape(g, result, n->shape);
}

int simplify_dot_shape(struct graph *g, const struct graph_node *n)
{
    struct graph_node copy = *n;
    struct side lhs, rhs;

    if (n->op != HLO_DOT || n->dot.has_order || n->dot.is_alone || dot_is_plain(g, n))
        return NODE_NONE;
    sort_pairs(&copy.dot);
    lhs = side_of(&copy.dot, false, g->node[n->operand[0]].shape.rank);
    rhs = side_of(&copy.dot, true, g->node[n->operand[1]].shape.rank);
    if ((n->dot.batch_count > 1 || !is_free_to_flatten(g, n, &lhs, &rhs) ||
         is_computed(g, n->operand[0]) || is_computed(g, n->operand[1])) &&
        dot_is_taken(g, n->operand[0], n->operand[1], &n->dot))
        return NODE_NONE;
    return simplify_dot_flatten(g, n);
}
