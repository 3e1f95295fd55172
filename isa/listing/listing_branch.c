/*
 * How many delay bundles a listing's branches can have: no more than stand
 * between a branch and the next bundle where another piece of code begins,
 * which is the target of a branch or the exit of the loop that it closes.
 */
#include "isa/listing/listing_internal.h"

#define DELAY_MAX 16                    /* more than any chip has; further away nothing is said */

static bool is_branch(const struct listing_op *op)
{
    return op->code == OP_SBR && !op->reason;
}

/* a branch is the last of its loop: behind its delay bundles the loop is left */
static bool leaves_loop(const struct listing *l, uint32_t from, uint32_t at)
{
    return l->bundle_is_exit[at] || l->bundle_depth[at] < l->bundle_depth[from];
}

static void bound(struct listing *l, const bool *is_target, uint32_t branch)
{
    uint32_t at = branch + 1;

    while (at < l->bundle_count && at - branch <= DELAY_MAX && !is_target[at] &&
           !leaves_loop(l, branch, at))
        at++;
    if (at < l->bundle_count && at - branch <= DELAY_MAX &&
        (l->branch_delay_most < 0 || at - branch - 1 < (uint32_t)l->branch_delay_most))
        l->branch_delay_most = (int)(at - branch - 1);
}

void listing_bound_delay(struct listing *l)
{
    bool *is_target = arena_array(l->arena, l->bundle_count, sizeof(*is_target));

    l->branch_delay_most = -1;
    for (uint32_t i = 0; i < l->op_count; i++)
        if (is_branch(&l->op[i]))
            is_target[l->program.op[l->op[i].op].operand[0].value] = true;
    for (uint32_t i = 0; i < l->op_count; i++)
        if (is_branch(&l->op[i]))
            bound(l, is_target, l->op[i].bundle);
}
