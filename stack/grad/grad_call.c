/*
 * Gradients through fusions and loops: their computations are laid out once
 * more in the graph, a loop's as often as it runs, and walked back.
 */
#include "stack/grad/grad_impl.h"

#include <inttypes.h>
#include <string.h>

#define TRIPS_MAX 4096

/* the called graph's nodes again in g, its parameters being operand[]; results to output[] */
static void lay_out(struct graph *g, const struct graph *called, const int *operand, int *output)
{
    size_t count = (size_t)called->node_count;
    int *copy = mem_alloc(count * sizeof(*copy)), *inputs = NULL;
    size_t capacity = 0;

    for (size_t i = 0; i < count; i++) {
        const struct graph_node *n = &called->node[i];

        if (n->op == HLO_PARAMETER) {
            copy[i] = operand[n->parameter_index];
            continue;
        }
        inputs = mem_grow(inputs, &capacity, (size_t)n->operand_count + 1, sizeof(*inputs));
        for (int k = 0; k < n->operand_count; k++)
            inputs[k] = copy[n->operand[k]];
        copy[i] = graph_add(g, n, inputs, n->operand_count);
    }
    for (int i = 0; i < called->output_count; i++)
        output[i] = copy[called->output[i].node];
    mem_free(copy);
    mem_free(inputs);
}

static int walk_laid_out(struct grad *gr, const struct graph_node *n, int first,
                         const int *output, const int *part, int results, struct err *e)
{
    size_t count = (size_t)(results > n->operand_count ? results : n->operand_count);
    int *root = mem_alloc(3 * count * sizeof(*root)), *seed = root + count;
    int *gradient = seed + count, roots = 0, status;

    for (int i = 0; i < results; i++)
        if (part[i] != NODE_NONE) {
            root[roots] = output[i];
            seed[roots++] = part[i];
        }
    status = grad_walk(gr->g, first, root, seed, roots, n->operand, n->operand_count, gradient, e);
    for (int i = 0; i < n->operand_count && status == 0; i++) {
        bool is_first = true;

        for (int k = 0; k < i; k++)     /* an operand given twice has its gradient once */
            is_first = is_first && n->operand[k] != n->operand[i];
        if (gradient[i] != NODE_NONE && is_first && grad_wants(gr, n, i))
            grad_accumulate(gr, n, i, gradient[i]);
    }
    mem_free(root);
    return status;
}

static int walk_call(struct grad *gr, const struct graph_node *n, const int *part, struct err *e)
{
    int results = n->tuple_count ? n->tuple_count : 1, first = gr->g->node_count, status;
    size_t count = (size_t)(results > n->operand_count ? results : n->operand_count);
    int *output = mem_alloc(count * sizeof(*output));

    memcpy(output, n->operand, (size_t)n->operand_count * sizeof(*output));
    if (n->op != HLO_WHILE)
        lay_out(gr->g, n->called[0], n->operand, output);
    for (int64_t trip = 0; n->op == HLO_WHILE && trip < n->count; trip++) {
        int *from = mem_alloc(count * sizeof(*from));

        memcpy(from, output, count * sizeof(*from));
        lay_out(gr->g, n->called[0], from, output);
        mem_free(from);
    }
    status = walk_laid_out(gr, n, first, output, part, results, e);
    mem_free(output);
    return status;
}

int grad_call(struct grad *gr, const struct graph_node *n, const int *part, struct err *e)
{
    if (n->op == HLO_CONDITIONAL || (n->op == HLO_WHILE && n->count == GRAPH_TRIPS_UNKNOWN))
        return err_set(e, "%s: has no gradient: which computations run is known to the cores alone",
                       n->name);
    if (n->op == HLO_WHILE && n->count > TRIPS_MAX)
        return err_set(e, "%s: a loop of %" PRId64 " trips; its gradient is laid out trip by trip, "
                       "of at most %d", n->name, n->count, TRIPS_MAX);
    return walk_call(gr, n, part, e);
}
