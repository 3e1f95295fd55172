/* Applies the rules of stack/passes/simplify.def over and over until none applies. */
#include "stack/passes/pass.h"
#include "stack/hlo/rewrite.h"
#include "stack/passes/simplify.h"

#define ROUNDS_MAX 12                   /* each round shortens all chains */

typedef int (*rule_function)(struct graph *g, const struct graph_node *n);

static const rule_function rules[] = {
#define RULE(function, text) function,
#include "stack/passes/simplify.def"
};

/* the node that stands for `n` after one rule, or NODE_NONE */
static int apply_one(struct graph *g, const struct graph_node *n)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        int result = rules[i](g, n);

        if (result != NODE_NONE)
            return result;
    }
    return NODE_NONE;
}

static bool one_round(struct graph *g)
{
    struct rewrite w;
    bool has_changed = false;

    rewrite_begin(&w, g);
    for (int i = 0; i < g->node_count; i++) {
        struct graph_node n;
        int result;

        if (g->node[i].op == HLO_PARAMETER)
            continue;
        n = rewrite_node(&w, i);
        w.to.source = n.source;
        result = apply_one(&w.to, &n);
        has_changed |= result != NODE_NONE;
        w.moved[i] = result != NODE_NONE ? result : rewrite_add(&w.to, &n);
    }
    rewrite_end(&w);
    return has_changed;
}

int pass_simplify(struct graph *g, const struct pass_context *c, struct err *e)
{
    (void)c;
    (void)e;
    for (int i = 0; i < ROUNDS_MAX && one_round(g); i++)
        graph_eliminate_common(g);
    return 0;
}
