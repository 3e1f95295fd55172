/*
 * Replaces indices that a graph computes by parameters, and writes made-up indices into all of
 * them.
 */
#include "stack/module/index_assume.h"

#include "stack/module/module_run.h"
#include "stack/hlo/rewrite.h"

#include <string.h>

/* operands first..end - 1 of a node are indices or starts; 0: none */
static int index_operands(const struct graph_node *n, int *first)
{
    switch (n->op) {
    case HLO_GATHER: case HLO_SCATTER: *first = 1; return 2;
    case HLO_CUSTOM_CALL:               /* the pages' table is the last one */
        *first = n->attention->form == ATTENTION_FLASH ? 0 : n->operand_count - 1;
        return *first ? n->operand_count : 0;
    case HLO_DYNAMIC_SLICE: *first = 1; return n->operand_count;
    case HLO_DYNAMIC_UPDATE_SLICE: *first = 2; return n->operand_count;
    default: *first = 0; return 0;
    }
}

/* how many values index operand k may have, from 0 on */
static int64_t index_end(const struct graph *g, const struct graph_node *n, int k, int first)
{
    const struct shape *table = &g->node[n->operand[0]].shape;

    if (n->op == HLO_CUSTOM_CALL)
        return n->attention->pages;
    if (n->op == HLO_GATHER || n->op == HLO_SCATTER)
        return n->gather->map_count ? table->dim[n->gather->start_index_map[0]] : 1;
    return table->dim[k - first] - (n->op == HLO_DYNAMIC_SLICE
                                        ? n->shape.dim[k - first]
                                        : g->node[n->operand[1]].shape.dim[k - first]) + 1;
}

/* what a node is a reshape of */
static int before_reshapes(const struct graph *g, int node)
{
    while (g->node[node].op == HLO_RESHAPE)
        node = g->node[node].operand[0];
    return node;
}

static bool is_known(const struct graph *g, int node)
{
    enum graph_op op = g->node[before_reshapes(g, node)].op;

    return op == HLO_PARAMETER || (op == HLO_CONSTANT && g->node[node].shape.rank == 0);
}

/* what has computed indices is needed still; returns their number */
static int keep_computed(struct graph *g)
{
    int count = 0, first;
    char name[32];

    for (int i = 0; i < g->node_count; i++)
        for (int k = 0, end = index_operands(&g->node[i], &first); k < end; k++)
            if (k >= first && !is_known(g, g->node[i].operand[k])) {
                snprintf(name, sizeof(name), "computed.%d", count++);
                graph_output(g, g->node[i].operand[k], name, -1);
            }
    return count;
}

/* the node with parameters for what is computed of its indices, numbered from *next on */
static void copy_assuming(struct rewrite *w, int node, int *next)
{
    struct graph_node n = rewrite_node(w, node);
    char name[32];
    int first;

    for (int k = 0, end = index_operands(&n, &first); k < end; k++)
        if (k >= first && !is_known(w->from, w->from->node[node].operand[k])) {
            snprintf(name, sizeof(name), "assumed.%d", (*next)++);
            n.operand[k] = graph_parameter(&w->to, w->to.node[n.operand[k]].shape, name);
        }
    w->moved[node] = rewrite_add(&w->to, &n);
}

int index_assume(struct graph *g)
{
    int count = keep_computed(g), next = 0;
    struct rewrite w;

    if (count == 0)
        return 0;
    rewrite_begin(&w, g);
    for (int i = 0; i < g->node_count; i++)
        if (g->node[i].op != HLO_PARAMETER)
            copy_assuming(&w, i, &next);
    rewrite_end(&w);
    return count;
}

struct wanted {                         /* of a parameter */
    int64_t end;                        /* its values are below it; 0: no indices */
    bool has_pages;                     /* and each is another page */
};

static int write_one(const struct graph *g, const struct module *m, struct machine *machine,
                     int core, const struct index_data *given, int parameter,
                     const struct wanted *wanted, struct err *e)
{
    const struct graph_node *n = &g->node[parameter];
    int64_t count = shape_elems(&n->shape);
    int32_t *index = mem_alloc(((size_t)count + 1) * sizeof(*index));
    struct index_data d = *given;
    int status;

    if (wanted->has_pages && d.kind == INDEX_UNIFORM)
        d.kind = INDEX_PAGES;
    status = index_data_fill(&d, wanted->end, 1 + (uint64_t)n->parameter_index, index, count, e);

    if (status == 0)
        status = module_write(m, machine, core, n->parameter_index, index, e);
    mem_free(index);
    return status;
}

int index_assume_write(const struct graph *g, const struct module *m, struct machine *machine,
                       int core, const struct index_data *d, struct err *e)
{
    struct wanted *wanted = mem_alloc(((size_t)g->node_count + 1) * sizeof(*wanted));
    int status = 0, first;

    for (int i = 0; i < g->node_count; i++)
        for (int k = 0, last = index_operands(&g->node[i], &first); k < last; k++) {
            int from = k < first ? 0 : before_reshapes(g, g->node[i].operand[k]);
            int64_t most = k < first ? 0 : index_end(g, &g->node[i], k, first);

            if (k < first || g->node[from].op != HLO_PARAMETER)
                continue;
            wanted[from].has_pages |= g->node[i].op == HLO_CUSTOM_CALL;
            if (wanted[from].end == 0 || most < wanted[from].end)
                wanted[from].end = most;        /* of two tables the smaller */
        }
    for (int i = 0; i < g->node_count && status == 0; i++)
        if (wanted[i].end > 0)
            status = write_one(g, m, machine, core, d, i, &wanted[i], e);
    mem_free(wanted);
    return status;
}
