/*
 * A softmax goes into the kernel of the product that reads its weights, as XLA's own online-softmax
 * kernel on v6e has it (docs/accuracy.md, Attention of encoders): weights are made in VMEM, block
 * by block, and never stored. Of chips whose VMEM holds arrays between kernels alone: profiles of
 * v3 have a kernel for each.
 */
#include "stack/passes/fusion.h"

static int product_of(const struct fusion *f, const struct fusion_group *p)
{
    for (int i = 0; i < p->member_count; i++)
        if (fusion_stores_product(f, p->member[i]))
            return p->member[i];
    return NODE_NONE;
}

/* what is reduced is contracted, so that a step has all of a row */
static bool is_contracted(const struct graph_node *dot, int which, int dim)
{
    const int *contract = which ? dot->dot.rhs_contract : dot->dot.lhs_contract;

    for (int i = 0; i < dot->dot.contract_count; i++)
        if (contract[i] == dim)
            return true;
    return false;
}

/* elementwise work and sums along what the product contracts, of arrays like its operand */
static bool is_softmax(const struct fusion *f, const struct fusion_group *p, int dot, int which)
{
    const struct graph_node *product = &f->g->node[dot];
    const struct shape *operand = &f->g->node[product->operand[which]].shape;
    bool reduces = false;

    for (int i = 0; i < p->member_count; i++) {
        const struct graph_node *n = &f->g->node[p->member[i]];

        if (n->op != HLO_REDUCE) {
            if (!fusion_is_simple(n))
                return false;
            continue;
        }
        if (!shape_same_dims(&f->g->node[n->operand[0]].shape, operand))
            return false;
        for (int d = 0; d < operand->rank; d++)
            if (n->reduce_mask >> d & 1 && !is_contracted(product, which, d))
                return false;
        reduces = true;
    }
    return reduces;
}

/*
 * Scores that a product's kernel rounds for this group alone, which widens them at once, stay f32 in
 * memory: by their times XLA writes and reads attention's so (docs/accuracy.md).
 */
static void keep_wide(struct fusion *f, int group, int node)
{
    struct graph_node *n = &f->g->node[node];
    int from = f->node[node].owner;

    if (n->shape.dtype != DTYPE_BF16 || f->is_output[node] || from < 0
        || !fusion_has_stored_product(f, &f->group[from])
        || (n->op != HLO_DOT
            && (n->op != HLO_CONVERT || f->g->node[n->operand[0]].shape.dtype != DTYPE_F32)))
        return;
    for (int i = 0; i < f->node[node].user_count; i++) {
        int user = f->node[node].user[i];

        if (!fusion_has(&f->group[group], user) || f->node[user].in_count != 1
            || f->g->node[user].op != HLO_CONVERT || f->g->node[user].shape.dtype != DTYPE_F32)
            return;
    }
    n->shape.dtype = DTYPE_F32;
}

static void keep_operands_wide(struct fusion *f, int group)
{
    const struct fusion_group *p = &f->group[group];

    for (int i = 0; i < p->member_count; i++) {
        const struct graph_node *n = &f->g->node[p->member[i]];

        for (int k = 0; k < n->operand_count; k++)
            if (!fusion_has(p, n->operand[k]))
                keep_wide(f, group, n->operand[k]);
    }
}

static void take_softmax(struct fusion *f, int group, int dot, int which)
{
    const struct fusion_group *p = &f->group[group];
    int operand = f->g->node[dot].operand[which], owner = f->node[operand].owner;
    int64_t apart, alone;

    if (fusion_has(p, operand) || owner < 0 || owner == group || f->is_output[operand]
        || f->node[operand].user_count > 1 || !is_softmax(f, &f->group[owner], dot, which))
        return;
    apart = fusion_cycles(f, p);
    alone = fusion_cycles(f, &f->group[owner]);
    if (apart < INT64_MAX && alone < INT64_MAX && fusion_merge_two(f, group, owner, apart + alone)
        && !f->context->keeps_roundings)
        keep_operands_wide(f, group);
}

void fusion_make_softmaxes(struct fusion *f)
{
    const struct pass_context *c = f->context;

    if (c->heroes_alone || c->check_supported || c->codegen != CODEGEN_XLA
        || c->chip->vmem_bytes <= KERNEL_VMEM_BYTES)
        return;
    for (int i = 0; i < f->group_count; i++) {
        int dot = f->group[i].is_gone ? NODE_NONE : product_of(f, &f->group[i]);

        for (int k = 0; k < 2 && dot != NODE_NONE; k++)
            take_softmax(f, i, dot, k);
    }
}
