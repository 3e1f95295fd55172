/*
 * What vectors do better than kernels of elements or products, as the program has it. Slices and
 * updates of vectors, by any operation, become what kernels do tile by tile (stack/expand/vector.c):
 * before the pass that finds starts, of which these make more. Products of one row with each of many
 * matrices become sums (stack/expand/row.c), and so do those of many tiny ones
 * (stack/expand/tiny.c): before dots are put into order, which copies those.
 * Indices that count become slices (stack/expand/counted.c) or rows (stack/expand/own_rows.c),
 * index vectors lose their zeros (stack/expand/starts.c), and windows come by steps
 * (stack/expand/windows.c): before indices are assumed, and nothing can be told of them any more.
 */
#include "stack/passes/pass.h"
#include "stack/passes/vectors.h"

#include "stack/expand/expand.h"
#include "stack/hlo/rewrite.h"

/* of the numbers that index vectors have and that are not always zero */
static int expand_begun(struct graph *g, const struct graph_node *n)
{
    int fewer = expand_starts(g, n), made;
    struct graph_node begun = fewer == NODE_NONE ? *n : g->node[fewer];

    made = expand_windows(g, &begun);
    return made == NODE_NONE ? fewer : made;
}

/* what is known of many indices; of none, those of a vector stay as they are */
static int expand_known(struct graph *g, const struct graph_node *n)
{
    int made = expand_counted(g, n);

    if (made == NODE_NONE)
        made = expand_repeats(g, n);
    if (made == NODE_NONE)
        made = expand_own_rows(g, n);
    if (made == NODE_NONE)
        made = expand_grid(g, n);
    if (made != NODE_NONE)
        return made;
    return g->node[n->operand[0]].shape.rank > 1 ? expand_begun(g, n) : expand_windows(g, n);
}

static int expand(struct rewrite *w, int node, struct graph_node *n, const void *user)
{
    const struct chip *chip = user;
    int made;

    (void)node;
    if (chip && n->op == HLO_DOT) {
        made = expand_row(&w->to, n, chip);
        return made == NODE_NONE ? expand_tiny(&w->to, n) : made;
    }
    if (!n->unit && (n->op == HLO_GATHER || n->op == HLO_SCATTER) &&
        !expand_is_single(&w->to, n))
        return expand_known(&w->to, n);
    if (n->trips || n->unit || n->operand_count == 0 || w->to.node[n->operand[0]].shape.rank != 1)
        return NODE_NONE;
    made = expand_vector(&w->to, n);
    return made == NODE_NONE ? expand_single(&w->to, n, INT64_MAX) : made;
}

int pass_vectors(struct graph *g, const struct pass_context *c, struct err *e)
{
    (void)e;
    rewrite_each(g, expand, c->chip);
    return 0;
}

static int expand_all(struct graph *g, const void *user, struct err *e)
{
    rewrite_flow(g, expand_all, user, e);
    rewrite_each(g, expand, NULL);
    return 0;
}

void graph_expand_vectors(struct graph *g)
{
    struct err e = {0};

    expand_all(g, NULL, &e);
}
