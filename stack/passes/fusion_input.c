/*
 * What makes a convolution's input goes into its kernel: a batch norm with its relu, the gradient of
 * one; and so does what makes its other operand, such a gradient again where it is one by kernel.
 * The kernel makes both as they arrive (stack/kernels/conv/conv_make.c), and stores the input beside
 * its result where others read it, too; so nobody reads it from memory for the convolution, and
 * copies of the one hide behind the passes of the other.
 */
#include "stack/passes/fusion.h"

/* elementwise work alone, whose kernel would only read and write */
static bool is_work_on_arrays(const struct fusion *f, const struct fusion_group *p)
{
    for (int i = 0; i < p->member_count; i++)
        if (!fusion_is_simple(&f->g->node[p->member[i]]))
            return false;
    return true;
}

static int convolution_of(const struct fusion *f, const struct fusion_group *p)
{
    for (int i = 0; i < p->member_count; i++)
        if (f->g->node[p->member[i]].op == HLO_CONVOLUTION)
            return p->member[i];
    return NODE_NONE;
}

static void make_operand(struct fusion *f, int group, int conv, int k)
{
    const struct fusion_group *p = &f->group[group];
    int input = f->g->node[conv].operand[k], owner;
    int64_t apart, alone;

    while (fusion_has(p, input) && f->g->node[input].operand_count == 1)
        input = f->g->node[input].operand[0];   /* widened on the way */
    owner = f->node[input].owner;
    if (fusion_has(p, input) || owner < 0 || owner == group ||
        !is_work_on_arrays(f, &f->group[owner]))
        return;
    apart = fusion_cycles(f, p);
    alone = fusion_cycles(f, &f->group[owner]);
    if (apart < INT64_MAX && alone < INT64_MAX)
        fusion_merge_two(f, group, owner, apart + alone);
}

void fusion_make_inputs(struct fusion *f)
{
    if (f->context->heroes_alone || f->context->check_supported)
        return;
    for (int i = 0; i < f->group_count; i++) {
        int conv = f->group[i].is_gone ? NODE_NONE : convolution_of(f, &f->group[i]);

        for (int k = 0; k < 2 && conv != NODE_NONE; k++)
            make_operand(f, i, conv, k);
    }
}
