/*
 * What makes a convolution's input goes into the convolution's kernel: a batch norm with its relu, the
 * gradient of one. The kernel makes the input as it arrives (stack/kernels/conv/conv_make.c), and
 * stores it beside its result where others read it, too; so nobody reads it from memory for the
 * convolution, and copies of the one hide behind the passes of the other.
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

static void make_input(struct fusion *f, int group)
{
    const struct fusion_group *p = &f->group[group];
    int conv = convolution_of(f, p), input, owner;
    int64_t apart, alone;

    if (conv == NODE_NONE)
        return;
    input = f->g->node[conv].operand[0];
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
    for (int i = 0; i < f->group_count; i++)
        if (!f->group[i].is_gone && f->group[i].has_hero)
            make_input(f, i);
}
