/*
 * Copies a graph node by node into another one, in which a pass puts its own nodes in the place of
 * some.
 */
#include "stack/hlo/rewrite.h"

#include <assert.h>
#include <string.h>

int rewrite_add(struct graph *g, const struct graph_node *n)
{
    const char *source = g->source;
    int unit = g->unit, node;

    graph_stand_for(g, n);
    node = graph_add(g, n, n->operand, n->operand_count);
    g->source = source;
    g->unit = unit;
    return node;
}

static int copy_parameter(struct graph *to, const struct graph_node *n)
{
    int node;

    graph_stand_for(to, n);
    node = graph_parameter(to, n->shape, n->name);
    to->node[node].name = n->name;
    return node;
}

void rewrite_begin(struct rewrite *w, struct graph *g)
{
    w->from = g;
    graph_init(&w->to, g->arena, g->name);
    w->moved = mem_alloc(((size_t)g->node_count + 1) * sizeof(*w->moved));
    for (int i = 0; i < g->node_count; i++)
        w->moved[i] = NODE_NONE;
    for (int i = 0; i < g->parameter_count; i++)
        w->moved[g->parameter[i]] = copy_parameter(&w->to, &g->node[g->parameter[i]]);
}

struct graph_node rewrite_node(struct rewrite *w, int node)
{
    struct graph_node n = w->from->node[node];

    int *operand = arena_array(w->to.arena, (size_t)n.operand_count, sizeof(*operand));

    for (int i = 0; i < n.operand_count; i++) {
        assert(w->moved[n.operand[i]] != NODE_NONE);
        operand[i] = w->moved[n.operand[i]];
    }
    n.operand = operand;
    return n;
}

int rewrite_copy(struct rewrite *w, int node)
{
    struct graph_node n;

    if (w->from->node[node].op != HLO_PARAMETER) {
        n = rewrite_node(w, node);
        w->moved[node] = rewrite_add(&w->to, &n);
    }
    return w->moved[node];
}

void rewrite_end(struct rewrite *w)
{
    struct graph *g = w->from;

    for (int i = 0; i < g->output_count; i++)
        graph_output(&w->to, w->moved[g->output[i].node], g->output[i].name,
                     g->output[i].alias_parameter);
    w->to.source = g->source;
    w->to.unit = g->unit;
    mem_free(w->moved);
    graph_fini(g);
    *g = w->to;
    graph_eliminate_dead(g);
}

bool rewrite_each(struct graph *g, int (*change)(struct rewrite *w, int node,
                                                 struct graph_node *n, const void *user),
                  const void *user)
{
    bool has_changed = false;
    struct rewrite w;

    rewrite_begin(&w, g);
    for (int i = 0; i < g->node_count; i++) {
        struct graph_node n;

        if (g->node[i].op == HLO_PARAMETER)
            continue;
        n = rewrite_node(&w, i);
        graph_stand_for(&w.to, &n);
        w.moved[i] = change(&w, i, &n, user);
        has_changed |= w.moved[i] != NODE_NONE;
        if (w.moved[i] == NODE_NONE)
            w.moved[i] = rewrite_add(&w.to, &n);
    }
    rewrite_end(&w);
    return has_changed;
}

void graph_copy(const struct graph *g, struct arena *a, struct graph *out)
{
    int *moved = mem_alloc(((size_t)g->node_count + 1) * sizeof(*moved));

    graph_init(out, a, g->name);
    for (int i = 0; i < g->parameter_count; i++)
        moved[g->parameter[i]] = copy_parameter(out, &g->node[g->parameter[i]]);
    for (int i = 0; i < out->node_count; i++)           /* `g` may be gone before */
        out->node[i].name = arena_strdup(a, out->node[i].name);
    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];
        int *operand;

        if (n->op == HLO_PARAMETER)
            continue;
        operand = arena_array(a, (size_t)n->operand_count, sizeof(*operand));
        for (int k = 0; k < n->operand_count; k++)
            operand[k] = moved[n->operand[k]];
        graph_stand_for(out, n);
        moved[i] = graph_add(out, n, operand, n->operand_count);
    }
    for (int i = 0; i < g->output_count; i++)
        graph_output(out, moved[g->output[i].node], g->output[i].name,
                     g->output[i].alias_parameter);
    out->source = g->source;
    out->unit = g->unit;
    mem_free(moved);
}

void graph_freeze(struct graph *g)
{
    g->node = arena_take(g->arena, g->node, (size_t)g->node_count, sizeof(*g->node));
    g->parameter = arena_take(g->arena, g->parameter, (size_t)g->parameter_count,
                              sizeof(*g->parameter));
    g->output = arena_take(g->arena, g->output, (size_t)g->output_count, sizeof(*g->output));
    g->node_capacity = g->parameter_capacity = g->output_capacity = 0;
}

static int rewrite_called(struct graph *g, struct graph_node *n,
                          int (*change)(struct graph *body, const void *user, struct err *e),
                          const void *user, struct err *e)
{
    int status = 0;

    for (int k = 0; k < GRAPH_CALLED_MAX && status == 0; k++) {
        struct graph *body;

        if (!n->called[k])
            continue;
        body = arena_alloc(g->arena, sizeof(*body));
        graph_copy(n->called[k], g->arena, body);
        status = change(body, user, e);
        graph_freeze(body);
        n->called[k] = body;
    }
    return status;
}

int rewrite_fusions(struct graph *g,
                    int (*change)(struct graph *body, const void *user, struct err *e),
                    const void *user, struct err *e)
{
    int status = 0;

    for (int i = 0; i < g->node_count && status == 0; i++)
        if (g->node[i].op == HLO_FUSION)
            status = rewrite_called(g, &g->node[i], change, user, e);
    return status;
}

int rewrite_flow(struct graph *g,
                 int (*change)(struct graph *body, const void *user, struct err *e),
                 const void *user, struct err *e)
{
    int status = 0;

    for (int i = 0; i < g->node_count && status == 0; i++)
        if (g->node[i].op == HLO_WHILE || g->node[i].op == HLO_CONDITIONAL)
            status = rewrite_called(g, &g->node[i], change, user, e);
    return status;
}
