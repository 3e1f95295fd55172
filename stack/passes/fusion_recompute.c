/*
 * What is stored for others: an array that several of them can be computed from again, in place of
 * those.
 *
 * Functions of a product's sum that others read are an array each. Written once and read once they
 * may cost more than the functions: the reader computes them again from the sum, if memory takes
 * twice the time of the arithmetic.
 */
#include "stack/passes/fusion.h"

#include <string.h>

#define CHAIN_MAX 96                    /* nodes that a reader computes again */
#define ROOTS_MAX 16
#define GAIN_MIN 2.0                    /* cycles of memory per cycle of arithmetic */

/* an array that members of group `owner` could be computed from, and who does */
struct again {
    struct fusion *f;
    int owner, reader, source;
    int chain[CHAIN_MAX], count;        /* nodes that the reader gets */
    int ops;                            /* per element */
    int64_t read_bytes, stored_bytes;   /* of an element: in arrays that it no longer reads, of
                                           which those that nobody reads are no longer stored */
};

static bool is_large(const struct again *x, int node)
{
    return shape_same_dims(&x->f->g->node[node].shape, &x->f->g->node[x->source].shape);
}

static bool has(const struct again *x, int node)
{
    for (int i = 0; i < x->count; i++)
        if (x->chain[i] == node)
            return true;
    return false;
}

static bool is_constant(const struct fusion *f, int node)
{
    const struct graph_node *n = &f->g->node[node];

    return (n->op == HLO_CONSTANT && !n->literal) ||
           (n->op == HLO_BROADCAST && is_constant(f, n->operand[0]));
}

static bool is_float(const struct fusion *f, int node)
{
    enum graph_dtype dtype = f->g->node[node].shape.dtype;

    return dtype == DTYPE_F32 || dtype == DTYPE_BF16;
}

/* operations per element; what is rounded to be widened again is not (pass_excess) */
static int ops_of(const struct again *x, int node)
{
    const struct graph_node *n = &x->f->g->node[node];

    if (n->op == HLO_CONVERT && n->operand[0] != x->source && is_float(x->f, node) &&
        is_float(x->f, n->operand[0]))
        return 0;
    return graph_op_cost(n->op);
}

/* elementwise of the source and of constants; adds what the reader does not have to the chain */
static bool add_chain(struct again *x, int node)
{
    const struct graph_node *n = &x->f->g->node[node];

    if (node == x->source || has(x, node))
        return true;
    if (!is_constant(x->f, node) &&
        (!fusion_is_simple(n) || !is_large(x, node) || x->f->node[node].owner != x->owner))
        return false;
    for (int k = 0; k < n->operand_count; k++)
        if (!add_chain(x, n->operand[k]))
            return false;
    if (x->count == CHAIN_MAX)
        return false;
    x->chain[x->count++] = node;
    x->ops += fusion_has(&x->f->group[x->reader], node) ? 0 : ops_of(x, node);
    return n->operand_count > 0 || is_constant(x->f, node);
}

/* readers of a stored array outside its group */
static int readers(const struct fusion *f, int node, int owner, int *list, int max)
{
    const struct fusion_node *x = &f->node[node];
    int count = 0;

    for (int i = 0; i < x->user_count; i++) {
        const struct fusion_node *user = &f->node[x->user[i]];

        for (int k = 0; k < user->in_count; k++) {
            bool is_new = user->in[k] != owner && !fusion_has(&f->group[user->in[k]], node);

            for (int j = 0; j < count; j++)
                is_new &= list[j] != user->in[k];
            if (is_new && count < max)
                list[count++] = user->in[k];
        }
        if (user->in_count == 0)
            return max;                 /* a node outside of all groups */
    }
    return count;
}

static bool reads(const struct fusion *f, int group, int node)
{
    int list[ROOTS_MAX], count = readers(f, node, f->node[node].owner, list, ROOTS_MAX);

    for (int i = 0; i < count && count < ROOTS_MAX; i++)
        if (list[i] == group)
            return true;
    return false;
}

/* one of the operands is the node, or a member that comes of it; `comes`, by place in the group */
static bool comes_of(const struct fusion_group *p, const struct graph_node *n, int node,
                     const bool *comes)
{
    for (int k = 0; k < n->operand_count; k++)
        if (n->operand[k] == node ||
            (fusion_has(p, n->operand[k]) && comes[fusion_place(p, n->operand[k])]))
            return true;
    return false;
}

/*
 * a product's operand, or what becomes one: that is prepared by blocks, often more than once.
 * Members rise, so one way through them finds all that comes of the node.
 */
static bool is_before_hero(const struct fusion *f, const struct fusion_group *p, int node)
{
    bool *comes = mem_alloc((size_t)p->member_count + 1), is_before = false;

    for (int i = 0; i < p->member_count && !is_before; i++) {
        comes[i] = comes_of(p, &f->g->node[p->member[i]], node, comes);
        is_before = comes[i] && fusion_is_work(f, p->member[i]);
    }
    mem_free(comes);
    return is_before;
}

static int64_t element_bytes(const struct fusion *f, int node)
{
    return array_element_bytes(f->g->node[node].shape.dtype);
}

/* the arrays that the reader would no longer read */
static void find_chain(struct again *x)
{
    const struct fusion_group *p = &x->f->group[x->owner];

    x->count = x->ops = 0;
    x->read_bytes = x->stored_bytes = 0;
    for (int i = 0; i < p->member_count; i++) {
        int node = p->member[i], list[ROOTS_MAX], before = x->count, ops = x->ops;

        if (node == x->source || x->f->node[node].owner != x->owner || x->f->is_output[node] ||
            !is_large(x, node) || !reads(x->f, x->reader, node) ||
            is_before_hero(x->f, &x->f->group[x->reader], node))
            continue;
        if (!add_chain(x, node)) {
            x->count = before;
            x->ops = ops;
            continue;
        }
        x->read_bytes += element_bytes(x->f, node);
        if (readers(x->f, node, x->owner, list, ROOTS_MAX) == 1)
            x->stored_bytes += element_bytes(x->f, node);
    }
}

/* cycles of memory that it spares, less what the source itself costs, per element */
static double gain(const struct again *x)
{
    const struct chip *c = x->f->context->chip;
    double per_cycle = c->dma_core_gbps * 1e3 / (double)c->chip_clock_mhz;
    int list[ROOTS_MAX], stored = readers(x->f, x->source, x->owner, list, ROOTS_MAX) > 0 ||
                                  x->f->is_output[x->source];
    int64_t bytes = x->read_bytes + x->stored_bytes, own = element_bytes(x->f, x->source);

    bytes -= own * (!reads(x->f, x->reader, x->source) + !stored);
    return (double)bytes / per_cycle;
}

static double cost(const struct again *x)
{
    return (double)x->ops / (double)x->f->context->chip->slots_valu / 1024.0;
}

/* in the reader, where a kernel makes that and the one that stores the source */
static bool apply(struct again *x)
{
    struct fusion_group *p = &x->f->group[x->reader];
    int added = 0, list[CHAIN_MAX];

    for (int i = 0; i < x->count; i++)
        if (!fusion_has(p, x->chain[i])) {
            list[added++] = x->chain[i];
            fusion_insert(x->f, p, x->chain[i]);
        }
    if (added > 0 && fusion_is_taken(x->f, p) && fusion_is_taken(x->f, &x->f->group[x->owner]))
        return true;
    while (added-- > 0)
        fusion_remove(x->f, p, list[added]);
    return false;
}

/* the best array of the group to compute from in this reader */
static void try_reader(struct fusion *f, int owner, int reader)
{
    const struct fusion_group *p = &f->group[owner];
    struct again best = {.source = NODE_NONE};
    double most = 0;

    for (int i = 0; i < p->member_count; i++) {
        struct again x = {.f = f, .owner = owner, .reader = reader, .source = p->member[i]};
        const struct graph_node *n = &f->g->node[x.source];
        double spared;

        if (f->node[x.source].owner != owner || shape_elems(&n->shape) != p->elems ||
            !is_float(f, x.source) || is_constant(f, x.source))
            continue;
        find_chain(&x);
        spared = gain(&x) - cost(&x);
        if (x.read_bytes == 0 || gain(&x) < GAIN_MIN * cost(&x) || spared <= most)
            continue;
        most = spared;
        best = x;
    }
    if (best.source != NODE_NONE)
        apply(&best);
}

void fusion_recompute(struct fusion *f)
{
    for (int owner = 0; owner < f->group_count; owner++) {
        bool *is_reader = mem_alloc((size_t)f->group_count);
        const struct fusion_group *p = &f->group[owner];

        for (int i = 0; i < p->member_count && p->has_hero && p->elems > 1024; i++) {
            int list[ROOTS_MAX], count = readers(f, p->member[i], owner, list, ROOTS_MAX);

            for (int k = 0; k < count && count < ROOTS_MAX; k++)
                is_reader[list[k]] = f->node[p->member[i]].owner == owner;
        }
        for (int reader = 0; reader < f->group_count; reader++)
            if (is_reader[reader])
                try_reader(f, owner, reader);
        mem_free(is_reader);
    }
}
