/*
 * What turned out not to fit: fusions are taken apart again, and what is left of
 * them fused without the product or move in it; what was alone is made in pieces
 * (module_legalize.c).
 */
#include "stack/module/module_impl.h"

#include "stack/hlo/kept.h"
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

/* the nodes of a body in the place of the node that is a fusion of them, or made by them */
static void put_body(struct rewrite *w, int node, const struct graph *body, int *result)
{
    struct graph_node n = rewrite_node(w, node);
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

struct unfusing {
    const struct module_plan *plan;
    const struct pass_context *context; /* of fusing what is left */
};

static bool has_hero(const struct graph *body)
{
    for (int i = 0; i < body->node_count; i++)
        if (body->node[i].op != HLO_PARAMETER && fusion_is_hero(&body->node[i]))
            return true;
    return false;
}

/* what a node that does not fit is made of; NULL: it cannot be taken apart */
static const struct graph *body_of(struct graph *g, int node, const struct unfusing *u,
                                   struct err *e)
{
    if (g->node[node].op == HLO_FUSION)
        return g->node[node].called[0];
    return module_legalize(u->plan, u->context, g, node, e);
}

/* *is_new: one of them holds more than elementwise work and reductions */
static int take_apart(struct graph *g, const struct unfusing *u, bool *is_new, struct err *e)
{
    int **result = mem_alloc(((size_t)g->node_count + 1) * sizeof(*result)), status = 0;
    struct rewrite w;

    rewrite_begin(&w, g);
    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];

        if (n->op == HLO_GET_TUPLE_ELEMENT && result[n->operand[0]]) {
            w.moved[i] = result[n->operand[0]][n->dim];
        } else if (n->op != HLO_PARAMETER && status == 0 &&
                   is_named(u->plan->refused, u->plan->refused_count, n->name)) {
            const struct graph *body;

            kept_note(u->context->kept, n->unit, "in pieces: %.200s", e->msg);
            body = body_of(g, i, u, e);

            if (!body) {
                status = -1;
                rewrite_copy(&w, i);
                continue;
            }
            result[i] = arena_array(g->arena, (size_t)body->output_count + 1, sizeof(int));
            put_body(&w, i, body, result[i]);
            w.moved[i] = result[i][0];
            *is_new |= has_hero(body);
        } else {
            rewrite_copy(&w, i);
        }
    }
    rewrite_end(&w);
    mem_free(result);
    return status;
}

/* bodies of loops likewise */
static int unfuse(struct graph *g, const void *user, struct err *e)
{
    const struct unfusing *u = user;
    bool is_new = false;

    if (rewrite_flow(g, unfuse, u, e) || take_apart(g, u, &is_new, e) ||
        (is_new && (pass_fusion(g, u->context, e) || pass_excess(g, u->context, e))))
        return -1;
    return graph_verify(g, e);
}

int module_unfuse(struct module *m, const struct module_plan *p, const struct pass_context *c,
                  struct err *e)
{
    struct pass_context apart = *c;
    struct unfusing u = {p, &apart};
    struct graph g;
    int status;

    graph_copy(&m->graph, m->graph.arena, &g);
    apart.heroes_alone = true;
    status = unfuse(&g, &u, e);
    graph_freeze(&g);
    m->graph = g;
    return status;
}
