/*
 * Tables that a brought kernel prefetches are numbers where the program says them. Simplification
 * has made broadcasts of those whose elements are all equal, which vectors would write and timing
 * mode would not know; here they become constants again, which lie in memory before the launch.
 */
#include "stack/hlo/rewrite.h"
#include "stack/mosaic/mosaic.h"
#include "stack/passes/pass.h"

static int restore(struct rewrite *w, int node, struct graph_node *n, const void *user)
{
    (void)node;
    (void)user;
    if (n->op != HLO_MOSAIC || !n->mosaic->known)
        return NODE_NONE;
    for (int i = 0; i < n->operand_count; i++) {
        const struct graph_node *o = &w->to.node[n->operand[i]];

        if (n->mosaic->known[i] && o->op != HLO_CONSTANT)
            n->operand[i] = graph_literal(&w->to, o->shape, n->mosaic->known[i]);
    }
    return NODE_NONE;
}

int pass_tables(struct graph *g, const struct pass_context *c, struct err *e)
{
    (void)c;
    (void)e;
    rewrite_each(g, restore, NULL);
    return 0;
}
