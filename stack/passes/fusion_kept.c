/*
 * Groups of a program that is kept as its own compiler left it (stack/hlo/kept.h): all nodes of a
 * unit, if one kernel makes them. What is not made whole is noted with the reason, and left to
 * pass_fusion, which makes as few kernels of it as it can.
 */
#include "stack/passes/fusion.h"

#include "stack/hlo/kept.h"

/* the last group that there is, as if it had never been */
static void undo(struct fusion *f)
{
    struct fusion_group *p = &f->group[f->group_count - 1];

    while (p->member_count) {
        int node = p->member[p->member_count - 1];

        f->node[node].owner = -1;
        fusion_remove(f, p, node);
    }
    mem_free(p->member);
    *p = (struct fusion_group){0};
    f->group_count--;
}

/* members of one unit, from the last to the first; whole or not at all */
static void keep_unit(struct fusion *f, int last, const int *before)
{
    int group = fusion_new_group(f, last);
    struct fusion_group *p = &f->group[group];
    struct err why;

    p->is_whole = true;
    for (int i = before[last]; i != NODE_NONE; i = before[i]) {
        fusion_insert(f, p, i);
        f->node[i].owner = group;
    }
    if (p->member_count == 1 || fusion_is_taken_or_why(f, p, &why))
        return;
    kept_note(f->context->kept, p->unit, "in pieces: %s", why.msg);
    undo(f);
}

void fusion_keep_units(struct fusion *f)
{
    int units = f->context->kept->unit_count;
    int *last = mem_alloc(((size_t)units + 1) * sizeof(*last));
    int *before = mem_alloc(((size_t)f->node_count + 1) * sizeof(*before));

    for (int u = 0; u <= units; u++)
        last[u] = NODE_NONE;
    for (int i = 0; i < f->node_count; i++) {
        int unit = f->g->node[i].unit;

        if (!unit || f->is_free[i])
            continue;
        before[i] = last[unit];
        last[unit] = i;
    }
    for (int u = 1; u <= units && !f->context->heroes_alone; u++)
        if (last[u] != NODE_NONE)
            keep_unit(f, last[u], before);
    mem_free(before);
    mem_free(last);
}
