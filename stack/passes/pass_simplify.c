/* Applies the rules of stack/passes/simplify/simplify.def over and over until none applies. */
#include "stack/passes/pass.h"
#include "stack/hlo/rewrite.h"
#include "stack/passes/simplify/simplify.h"

#define ROUNDS_MAX 12                   /* each round shortens all chains */

typedef int (*rule_function)(struct graph *g, const struct graph_node *n);

static const rule_function rules[] = {
#define RULE(function, text) function,
#include "stack/passes/simplify/simplify.def"
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

static int simplify(struct rewrite *w, int node, struct graph_node *n, const void *user)
{
    (void)node;
    (void)user;
    return apply_one(&w->to, n);
}

int pass_simplify(struct graph *g, const struct pass_context *c, struct err *e)
{
    (void)c;
    (void)e;
    for (int i = 0; i < ROUNDS_MAX && rewrite_each(g, simplify, NULL); i++)
        graph_eliminate_common(g);
    return 0;
}
