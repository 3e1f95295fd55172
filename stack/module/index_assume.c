/*
 * Replaces indices that a graph computes by parameters, and writes made-up indices into all of
 * them.
 */
#include "stack/module/index_assume.h"

#include "stack/module/module_run.h"
#include "stack/expand/expand.h"
#include "stack/hlo/graph_shape.h"
#include "stack/hlo/rewrite.h"
#include "stack/passes/trips.h"
#include "stack/passes/vectors.h"

#include <string.h>

#define SEEDS 1048576                   /* of random bits, of which none is slower than another */

/*
 * Operands first..end - 1 of a node are indices, starts or seeds that the scalar side reads; 0: none.
 * A gather by comparison reads its indices as vectors do, which may be anything.
 */
static int index_operands(const struct graph *g, const struct graph_node *n, int *first)
{
    *first = 0;
    if (n->op == HLO_GATHER && expand_is_compared(g, n))
        return 0;
    switch (n->op) {
    case HLO_GATHER: case HLO_SCATTER: *first = 1; return 2;
    case HLO_CUSTOM_CALL:               /* the pages' table is the last one */
        *first = n->attention->form == ATTENTION_FLASH ? 0 : n->operand_count - 1;
        return *first ? n->operand_count : 0;
    case HLO_DYNAMIC_SLICE: *first = 1; return n->operand_count;
    case HLO_DYNAMIC_UPDATE_SLICE: *first = 2; return n->operand_count;
    case HLO_RNG_BITS: *first = 0; return 1;
    default: *first = 0; return 0;
    }
}

/* how many values index operand k may have, from 0 on */
static int64_t index_end(const struct graph *g, const struct graph_node *n, int k, int first)
{
    const struct shape *table = &g->node[n->operand[0]].shape;

    if (n->op == HLO_RNG_BITS)
        return SEEDS;
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
    while (g->node[node].op == HLO_RESHAPE || g->node[node].op == HLO_ADD_DEPENDENCY)
        node = g->node[node].operand[0];
    return node;
}

/* one number, also where it has been made an array of one */
static bool is_number(const struct graph *g, int node)
{
    while (g->node[node].op == HLO_RESHAPE || g->node[node].op == HLO_BROADCAST)
        node = g->node[node].operand[0];
    return g->node[node].op == HLO_CONSTANT && g->node[node].shape.rank == 0;
}

/* parameters of a body are what kernels have made, in all rounds but the first */
static bool is_known(const struct graph *g, int node, bool is_main)
{
    enum graph_op op = g->node[before_reshapes(g, node)].op;

    return (op == HLO_PARAMETER && (is_main || g->node[node].op == HLO_ADD_DEPENDENCY)) ||
           (shape_elems(&g->node[node].shape) == 1 && is_number(g, node));
}

/* A gather or scatter by one index of several numbers: it becomes a slice or update (expand.h),
 * whose starts are these, each by itself. 0: another node. */
static int parts_of(const struct graph *g, const struct graph_node *n)
{
    bool is_single = (n->op == HLO_GATHER || n->op == HLO_SCATTER) && expand_is_single(g, n);

    return is_single && n->gather->map_count > 1 ? n->gather->map_count : 0;
}

/* of operand k of a node, which is an index */
static bool knows(const struct graph *g, const struct graph_node *n, int k, bool is_main)
{
    int parts = parts_of(g, n);

    if (parts == 0)
        return is_known(g, n->operand[k], is_main);
    for (int i = 0; i < parts; i++) {
        int part = expand_single_part(g, n, i);

        while (part != NODE_NONE && g->node[part].op == HLO_RESHAPE)
            part = g->node[part].operand[0];
        if (part == NODE_NONE || !is_known(g, part, is_main))
            return false;
    }
    return true;
}

static bool asks_for_computed(const struct graph *g, bool is_main)
{
    int first;

    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];

        for (int k = 0, end = index_operands(g, n, &first); k < end; k++)
            if (k >= first && !knows(g, n, k, is_main))
                return true;
        for (int k = 0; k < GRAPH_CALLED_MAX; k++)
            if ((n->op == HLO_WHILE || n->op == HLO_CONDITIONAL) && n->called[k] &&
                asks_for_computed(n->called[k], false))
                return true;
    }
    return false;
}

/* what has computed indices is needed still */
static void keep_computed(struct graph *g)
{
    int count = 0, first;
    char name[32];

    for (int i = 0; i < g->node_count; i++)
        for (int k = 0, end = index_operands(g, &g->node[i], &first); k < end; k++)
            if (k >= first && !is_known(g, g->node[i].operand[k], true)) {
                snprintf(name, sizeof(name), "computed.%d", count++);
                graph_output(g, g->node[i].operand[k], name, -1);
            }
}

static int add_assumed(struct graph *g, struct shape shape)
{
    char name[32];

    snprintf(name, sizeof(name), "assumed.%d", g->parameter_count);
    return graph_parameter(g, shape, name);
}

/* the parameters that `from` has more than `to` */
static void add_same(struct graph *to, const struct graph *from)
{
    for (int i = to->parameter_count; i < from->parameter_count; i++)
        add_assumed(to, from->node[from->parameter[i]].shape);
}

static void assume_in(struct graph *g, bool is_main);

/* what is assumed in computations that a node calls, all of them have as parameters */
static void assume_in_called(struct graph *g, struct graph_node *n)
{
    struct graph *called[GRAPH_CALLED_MAX] = {NULL};
    int own = n->called[0]->parameter_count, before = n->operand_count, all, *operand;

    for (int k = 0; k < GRAPH_CALLED_MAX && n->called[k]; k++) {
        called[k] = arena_alloc(g->arena, sizeof(*called[k]));
        graph_copy(n->called[k], g->arena, called[k]);
        if (k > 0)
            add_same(called[k], called[k - 1]);
        assume_in(called[k], false);
        n->called[k] = called[k];
    }
    if (called[1])
        add_same(called[0], called[1]);
    all = called[0]->parameter_count;
    operand = arena_array(g->arena, (size_t)(before + all), sizeof(*operand));
    memcpy(operand, n->operand, (size_t)before * sizeof(*operand));
    for (int i = own; i < all; i++) {
        int parameter = called[0]->parameter[i];

        operand[n->operand_count++] = add_assumed(g, called[0]->node[parameter].shape);
        if (n->op == HLO_WHILE)         /* which hands it on to the next round */
            graph_output(called[0], parameter, called[0]->node[parameter].name, -1);
    }
    for (int k = 0; k < GRAPH_CALLED_MAX && called[k]; k++)
        graph_freeze(called[k]);
    n->operand = operand;
}

/* a loop of one array has become one of several, which get-tuple-element takes */
static int first_result(struct graph *g, const struct graph_node *old, int node)
{
    return g->node[node].tuple_count > 0 && old->tuple_count == 0 ? graph_tuple_element(g, node, 0)
                                                                  : node;
}

/* an assumed scalar or array; in a body what it stands for is needed still */
static int assume_one(struct rewrite *w, struct shape shape, int computed, bool is_main)
{
    int assumed = add_assumed(&w->to, shape);

    return is_main ? assumed : graph_add_dependency(&w->to, assumed, computed);
}

static int assume_index(struct rewrite *w, const struct graph_node *old, int computed, bool is_main)
{
    struct shape shape = w->to.node[computed].shape;
    int parts = parts_of(w->from, old), part[GRAPH_RANK_MAX];

    if (parts == 0)
        return assume_one(w, shape, computed, is_main);
    for (int i = 0; i < parts; i++)
        part[i] = graph_reshape(&w->to, assume_one(w, shape_scalar(DTYPE_S32), computed, is_main),
                                shape_make(DTYPE_S32, 1, (int64_t[]){1}));
    return graph_reshape(&w->to, graph_concatenate(&w->to, part, parts, 0), shape);
}

/* the node with parameters for what is computed of its indices; in a body that is still needed */
static void copy_assuming(struct rewrite *w, int node, bool is_main)
{
    const struct graph_node *old = &w->from->node[node];
    struct graph_node n = rewrite_node(w, node);
    int first;

    for (int k = 0, end = index_operands(w->from, old, &first); k < end; k++)
        if (k >= first && !knows(w->from, old, k, is_main))
            n.operand[k] = assume_index(w, old, n.operand[k], is_main);
    if (n.op == HLO_WHILE || n.op == HLO_CONDITIONAL)
        assume_in_called(&w->to, &n);
    w->moved[node] = first_result(&w->to, old, rewrite_add(&w->to, &n));
}

static void assume_in(struct graph *g, bool is_main)
{
    struct rewrite w;

    rewrite_begin(&w, g);
    for (int i = 0; i < g->node_count; i++)
        if (g->node[i].op != HLO_PARAMETER)
            copy_assuming(&w, i, is_main);
    rewrite_end(&w);
}

int index_assume(struct graph *g)
{
    int before = g->parameter_count;

    graph_expand_vectors(g);
    graph_know_trips(g);
    if (!asks_for_computed(g, true))
        return 0;
    keep_computed(g);
    assume_in(g, true);
    return g->parameter_count - before;
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

/* of two tables the smaller */
static void want(struct wanted *w, int64_t end, bool has_pages)
{
    w->has_pages |= has_pages;
    if (end > 0 && (w->end == 0 || end < w->end))
        w->end = end;
}

/* number `part` of an index that is put together */
static void want_part(const struct graph *g, const struct graph_node *n, int part,
                      struct wanted *wanted)
{
    int node = expand_single_part(g, n, part);

    if (node != NODE_NONE)
        want(&wanted[before_reshapes(g, node)],
             g->node[n->operand[0]].shape.dim[n->gather->start_index_map[part]], false);
}

static void find_wanted(const struct graph *g, struct wanted *wanted);

/* operands are wanted as the parameters that they become are */
static void find_in_called(const struct graph *g, const struct graph_node *n, struct wanted *wanted)
{
    int first = n->op == HLO_CONDITIONAL;

    for (int c = 0; c < GRAPH_CALLED_MAX && n->called[c]; c++) {
        const struct graph *called = n->called[c];
        struct wanted *inner = mem_alloc(((size_t)called->node_count + 1) * sizeof(*inner));

        find_wanted(called, inner);
        for (int i = 0; i < called->parameter_count; i++) {
            const struct wanted *w = &inner[called->parameter[i]];

            want(&wanted[before_reshapes(g, n->operand[first + i])], w->end, w->has_pages);
        }
        mem_free(inner);
    }
}

/* by node; those of parameters count */
static void find_wanted(const struct graph *g, struct wanted *wanted)
{
    int first;

    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];

        int parts = parts_of(g, n);

        for (int k = 0, last = index_operands(g, n, &first); k < last && parts == 0; k++)
            if (k >= first)
                want(&wanted[before_reshapes(g, n->operand[k])], index_end(g, n, k, first),
                     n->op == HLO_CUSTOM_CALL);
        for (int k = 0; k < parts; k++)
            want_part(g, n, k, wanted);
        if (n->op == HLO_WHILE || n->op == HLO_CONDITIONAL)
            find_in_called(g, n, wanted);
    }
}

int index_assume_write(const struct graph *g, const struct module *m, struct machine *machine,
                       int core, const struct index_data *d, struct err *e)
{
    struct wanted *wanted = mem_alloc(((size_t)g->node_count + 1) * sizeof(*wanted));
    int status = 0;

    find_wanted(g, wanted);
    for (int i = 0; i < g->parameter_count && status == 0; i++)
        if (wanted[g->parameter[i]].end > 0)
            status = write_one(g, m, machine, core, d, g->parameter[i],
                               &wanted[g->parameter[i]], e);
    mem_free(wanted);
    return status;
}
