/*
 * A move has only so many sources (MOVE_SOURCES_MAX); what concatenates more of them would be made
 * element by element. So some parts that follow each other are joined first, and what they became
 * then.
 */
#include "stack/passes/moves/move_join.h"

#include "base/units.h"
#include "stack/hlo/rewrite.h"
#include "stack/kernels/move/move_map.h"

#define JOINED_MAX (MOVE_SOURCES_MAX - 4)       /* some of them may be pieces of one array */

/* the parts joined in as few groups as there must be, about as many in each */
static int join_groups(struct graph *g, const int *part, int count, int dim, int *to)
{
    int groups = (int)div_up(count, JOINED_MAX), first = 0;

    for (int i = 0; i < groups; i++) {
        int end = (int)((int64_t)count * (i + 1) / groups);

        to[i] = end - first == 1 ? part[first]
                                 : graph_concatenate(g, &part[first], end - first, dim);
        first = end;
    }
    return groups;
}

static int join(struct rewrite *w, int node, struct graph_node *n, const void *user)
{
    int *part, count = n->operand_count;

    (void)node;
    (void)user;
    if (n->op != HLO_CONCATENATE || count <= JOINED_MAX)
        return NODE_NONE;
    part = arena_copy(w->to.arena, n->operand, (size_t)count, sizeof(*part));
    while (count > JOINED_MAX)
        count = join_groups(&w->to, part, count, n->dim, part);
    return graph_concatenate(&w->to, part, count, n->dim);
}

void move_join_by_levels(struct graph *g)
{
    rewrite_each(g, join, NULL);
}
