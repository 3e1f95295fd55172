/*
 * Elementwise work with functions goes into the kernel of the product whose operand it makes, where
 * that kernel takes less time than both: a gated feed-forward of 32,768 x 2,048 x 8,192 takes a v6e 8 %
 * more than its products, which is no time for an array to be written and read (docs/accuracy.md).
 * Where the product makes its operand again for each of many blocks of the other one, a kernel of its
 * own takes less, and stays.
 */
#include "stack/passes/fusion.h"

static int product_of(const struct fusion *f, const struct fusion_group *p)
{
    for (int i = 0; i < p->member_count; i++)
        if (f->g->node[p->member[i]].op == HLO_DOT)
            return p->member[i];
    return NODE_NONE;
}

/* elementwise, of arrays that are in memory, or of parts of them */
static bool is_work_on_arrays(const struct fusion *f, const struct fusion_group *p)
{
    for (int i = 0; i < p->member_count; i++)
        if (!fusion_is_simple(&f->g->node[p->member[i]]) && !fusion_is_offset(f, p->member[i]))
            return false;
    return true;
}

/* an argument that products copy into VMEM before they begin (module_vmem.c), if there is room */
static int copied_argument(const struct fusion *f, int node)
{
    const struct chip *c = f->context->chip;
    const struct graph_node *n = &f->g->node[node];
    int64_t bytes = shape_elems(&n->shape) * array_element_bytes(n->shape.dtype);

    return n->op == HLO_PARAMETER && bytes <= c->vmem_bytes - KERNEL_VMEM_BYTES ? node : NODE_NONE;
}

static void take_operand(struct fusion *f, int group, int dot, int which)
{
    const struct fusion_group *p = &f->group[group];
    int operand = f->g->node[dot].operand[which], owner = f->node[operand].owner;
    int64_t apart, alone;

    if (fusion_has(p, operand) || owner < 0 || owner == group || f->is_output[operand]
        || f->node[operand].user_count > 1 || !is_work_on_arrays(f, &f->group[owner]))
        return;
    f->in_vmem = copied_argument(f, f->g->node[dot].operand[!which]);
    apart = fusion_cycles(f, p);
    alone = fusion_cycles(f, &f->group[owner]);
    if (apart < INT64_MAX && alone < INT64_MAX)
        fusion_merge_two(f, group, owner, apart + alone);
    f->in_vmem = NODE_NONE;
}

void fusion_make_operands(struct fusion *f)
{
    const struct pass_context *c = f->context;

    if (c->heroes_alone || c->check_supported || c->codegen != CODEGEN_XLA
        || c->chip->vmem_bytes <= KERNEL_VMEM_BYTES)
        return;
    for (int i = 0; i < f->group_count; i++) {
        int dot = f->group[i].is_gone ? NODE_NONE : product_of(f, &f->group[i]);

        for (int k = 0; k < 2 && dot != NODE_NONE; k++)
            take_operand(f, i, dot, k);
    }
}
