/*
 * Whole numbers that depend on nothing but the device's number, which part of an array is its own,
 * are known before the program runs: the host writes them into each core's memory. So where a
 * slice begins is known in timing mode too, in which nothing is worked out.
 */
#include "stack/passes/pass.h"

#include "stack/interp/interp.h"
#include "stack/hlo/rewrite.h"

#include <assert.h>

static bool is_scalar(const struct graph_node *n)
{
    return n->shape.rank == 0 && n->tuple_count == 0;
}

static bool is_number(const struct graph_node *n)
{
    return n->op == HLO_PARTITION_ID || n->op == HLO_REPLICA_ID;
}

static bool is_plain(const struct graph_node *n)
{
    return n->op == HLO_CONSTANT && !n->literal && is_scalar(n);
}

/* by node: constants that the others need too */
static bool *find_known(const struct graph *g)
{
    bool *is_known = mem_alloc(((size_t)g->node_count + 1) * sizeof(*is_known));

    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];

        is_known[i] = is_number(n) || is_plain(n) ||
                      (is_scalar(n) && n->operand_count > 0 && graph_op_is_elementwise(n->op));
        for (int k = 0; k < n->operand_count; k++)
            is_known[i] = is_known[i] && is_known[n->operand[k]];
    }
    return is_known;
}

/* its value on each device */
static const void *values_of(const struct graph *g, int node, const bool *is_known, int devices,
                             struct arena *a)
{
    int32_t *value = arena_array(a, (size_t)devices, sizeof(*value));
    int *moved = mem_alloc(((size_t)node + 1) * sizeof(*moved)), status;
    struct interp_value *result = mem_alloc((size_t)devices * sizeof(*result));
    struct interp_value **output = mem_alloc((size_t)devices * sizeof(*output));
    const struct interp_value **input = mem_alloc((size_t)devices * sizeof(*input));
    struct graph alone;
    struct err e;

    graph_init(&alone, a, "number");
    for (int i = 0; i <= node; i++) {
        int operand[3];

        for (int k = 0; is_known[i] && k < g->node[i].operand_count; k++)
            operand[k] = moved[g->node[i].operand[k]];
        if (is_known[i])
            moved[i] = graph_add(&alone, &g->node[i], operand, g->node[i].operand_count);
    }
    graph_output(&alone, moved[node], "number", -1);
    for (int d = 0; d < devices; d++) {
        input[d] = NULL;
        output[d] = &result[d];
    }
    status = interp_run_devices(&alone, INTERP_DOT_F32, devices, input, output, a, &e);
    assert(status == 0);
    (void)status;
    for (int d = 0; d < devices; d++)
        value[d] = *(const int32_t *)result[d].data;
    graph_fini(&alone);
    mem_free(input);
    mem_free(output);
    mem_free(result);
    mem_free(moved);
    return value;
}

static bool is_whole(const struct graph_node *n)
{
    return n->shape.dtype == DTYPE_S32 || n->shape.dtype == DTYPE_U32;
}

int pass_devices(struct graph *g, const struct pass_context *c, struct err *e)
{
    bool *is_known = find_known(g);
    int devices = c->replica_count > 1 ? c->replica_count : 1;
    struct rewrite w;

    (void)e;
    rewrite_begin(&w, g);
    for (int i = 0; i < g->node_count; i++) {
        struct graph_node n = g->node[i];

        if (!is_known[i] || is_plain(&n) || !is_whole(&n)) {
            rewrite_copy(&w, i);
            continue;
        }
        graph_stand_for(&w.to, &n);
        n = (struct graph_node){.op = HLO_PARTITION_ID, .shape = n.shape, .count = devices,
                                .literal = values_of(g, i, is_known, devices, w.to.arena)};
        w.moved[i] = graph_add(&w.to, &n, NULL, 0);
    }
    rewrite_end(&w);
    mem_free(is_known);
    return 0;
}
