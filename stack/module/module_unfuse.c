/*
 * Fusions that turned out not to fit: taken apart again, and what is left of
 * them fused without the product or move in it.
 */
#include "stack/module/module_impl.h"

#include "stack/passes/fusion.h"
#include "stack/passes/pass.h"
#include "stack/hlo/rewrite.h"

#include <string.h>

static bool is_named(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* the nodes of a fusion's body in the place of the fusion */
static void put_body(struct rewrite *w, int node, int *result)
{
    struct graph_node n = rewrite_node(w, node);
    const struct graph *body = n.called[0];
    int *moved = mem_alloc(((size_t)body->node_count + 1) * sizeof(*moved));

    for (int i = 0; i < body->parameter_count; i++)
        moved[body->parameter[i]] = n.operand[i];
    for (int i = 0; i < body->node_count; i++) {
        struct graph_node copy = body->node[i];
        int *operand;

        if (copy.op == HLO_PARAMETER)
            continue;
        operand = arena_array(w->to.arena, (size_t)copy.operand_count, sizeof(*operand));
        for (int k = 0; k < copy.operand_count; k++)
            operand[k] = moved[copy.operand[k]];
        copy.operand = operand;
        moved[i] = rewrite_add(&w->to, &copy);
    }
    for (int i = 0; i < body->output_count; i++)
        result[i] = moved[body->output[i].node];
    mem_free(moved);
}

/* whether one of them holds more than elementwise work and reductions */
static bool take_apart(struct graph *g, const char *const *names, int count)
{
    int **result = mem_alloc(((size_t)g->node_count + 1) * sizeof(*result));
    bool has_hero = false;
    struct rewrite w;

    rewrite_begin(&w, g);
    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];

        if (n->op == HLO_GET_TUPLE_ELEMENT && result[n->operand[0]]) {
            w.moved[i] = result[n->operand[0]][n->dim];
        } else if (n->op == HLO_FUSION && is_named(names, count, n->name)) {
            result[i] = arena_array(g->arena, (size_t)n->called[0]->output_count + 1, sizeof(int));
            put_body(&w, i, result[i]);
            w.moved[i] = result[i][0];
            for (int k = 0; k < n->called[0]->node_count; k++)
                has_hero |= n->called[0]->node[k].op != HLO_PARAMETER &&
                            fusion_is_hero(&n->called[0]->node[k]);
        } else {
            rewrite_copy(&w, i);
        }
    }
    rewrite_end(&w);
    mem_free(result);
    return has_hero;
}

struct unfusing {
    const char *const *names;           /* of fusions */
    int count;
    const struct pass_context *context; /* of fusing what is left */
};

/* bodies of loops likewise */
static int unfuse(struct graph *g, const void *user, struct err *e)
{
    const struct unfusing *u = user;

    if (rewrite_bodies(g, HLO_WHILE, unfuse, u, e) ||
        (take_apart(g, u->names, u->count) &&
         (pass_fusion(g, u->context, e) || pass_excess(g, u->context, e))))
        return -1;
    return graph_verify(g, e);
}

int module_unfuse(struct module *m, const char *const *names, int count,
                  const struct pass_context *c, struct err *e)
{
    struct pass_context apart = *c;
    struct unfusing u = {names, count, &apart};
    struct graph g;
    int status;

    graph_copy(&m->graph, m->graph.arena, &g);
    apart.heroes_alone = true;
    status = unfuse(&g, &u, e);
    graph_freeze(&g);
    m->graph = g;
    return status;
}
