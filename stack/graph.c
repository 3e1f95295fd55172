#include "stack/graph.h"

#include "stack/graph_shape.h"

#include <assert.h>
#include <string.h>

void graph_init(struct graph *g, struct arena *a, const char *name)
{
    memset(g, 0, sizeof(*g));
    g->arena = a;
    g->name = arena_strdup(a, name);
    g->source = "";
}

void graph_fini(struct graph *g)
{
    mem_free(g->node);
    mem_free(g->parameter);
    mem_free(g->output);
    memset(g, 0, sizeof(*g));
}

static int add_node(struct graph *g, struct graph_node n)
{
    struct shape shape;
    struct err e;
    int fits;

    n.source = g->source;
    n.operand_count = graph_op_arity(n.op);
    for (int i = 0; i < n.operand_count; i++)
        assert(n.operand[i] >= 0 && n.operand[i] < g->node_count);
    for (int i = n.operand_count; i < GRAPH_OPERAND_MAX; i++)
        n.operand[i] = NODE_NONE;
    if (!n.name)
        n.name = arena_printf(g->arena, "%s.%d", graph_op_name(n.op), g->node_count);
    fits = graph_infer(g, &n, &shape, &e);
    assert(fits == 0);
    (void)fits;
    n.shape = shape;
    g->node = mem_grow(g->node, &g->node_capacity, (size_t)g->node_count + 1, sizeof(*g->node));
    g->node[g->node_count] = n;
    return g->node_count++;
}

int graph_parameter(struct graph *g, struct shape shape, const char *name)
{
    int node = add_node(g, (struct graph_node){
        .op = HLO_PARAMETER, .shape = shape, .name = arena_strdup(g->arena, name),
        .parameter_index = g->parameter_count});

    g->parameter = mem_grow(g->parameter, &g->parameter_capacity,
                            (size_t)g->parameter_count + 1, sizeof(*g->parameter));
    g->parameter[g->parameter_count++] = node;
    return node;
}

int graph_constant(struct graph *g, struct shape shape, double value)
{
    return add_node(g, (struct graph_node){.op = HLO_CONSTANT, .shape = shape, .value = value});
}

int graph_iota(struct graph *g, struct shape shape, int dim)
{
    return add_node(g, (struct graph_node){.op = HLO_IOTA, .shape = shape, .dim = dim});
}

int graph_unary(struct graph *g, enum graph_op op, int a)
{
    assert(graph_op_kind(op) == KIND_UNARY && op != HLO_CONVERT);
    return add_node(g, (struct graph_node){.op = op, .operand = {a}});
}

int graph_convert(struct graph *g, int a, enum graph_dtype dtype)
{
    if (g->node[a].shape.dtype == dtype)
        return a;
    return add_node(g, (struct graph_node){.op = HLO_CONVERT, .operand = {a},
                                           .shape = shape_scalar(dtype)});
}

int graph_binary(struct graph *g, enum graph_op op, int a, int b)
{
    assert(graph_op_kind(op) == KIND_BINARY && op != HLO_COMPARE);
    return add_node(g, (struct graph_node){.op = op, .operand = {a, b}});
}

int graph_compare(struct graph *g, enum graph_compare direction, int a, int b)
{
    return add_node(g, (struct graph_node){.op = HLO_COMPARE, .operand = {a, b},
                                           .direction = direction});
}

int graph_select(struct graph *g, int pred, int a, int b)
{
    return add_node(g, (struct graph_node){.op = HLO_SELECT, .operand = {pred, a, b}});
}

static void copy_dims(struct graph_node *n, const int *dims, int rank)
{
    for (int i = 0; i < rank; i++)
        n->dims[i] = dims[i];
}

int graph_broadcast(struct graph *g, int a, struct shape shape, const int *dims)
{
    struct graph_node n = {.op = HLO_BROADCAST, .operand = {a}, .shape = shape};

    copy_dims(&n, dims, g->node[a].shape.rank);
    return add_node(g, n);
}

int graph_reshape(struct graph *g, int a, struct shape shape)
{
    if (shape_equal(&g->node[a].shape, &shape))
        return a;
    return add_node(g, (struct graph_node){.op = HLO_RESHAPE, .operand = {a}, .shape = shape});
}

int graph_transpose(struct graph *g, int a, const int *dims)
{
    struct graph_node n = {.op = HLO_TRANSPOSE, .operand = {a}};

    copy_dims(&n, dims, g->node[a].shape.rank);
    return add_node(g, n);
}

int graph_dot(struct graph *g, int lhs, int rhs, int lhs_contract, int rhs_contract,
              enum graph_precision precision)
{
    return add_node(g, (struct graph_node){
        .op = HLO_DOT, .operand = {lhs, rhs}, .lhs_contract = lhs_contract,
        .rhs_contract = rhs_contract, .precision = precision});
}

int graph_reduce(struct graph *g, enum graph_reduce kind, int a, uint32_t mask)
{
    return add_node(g, (struct graph_node){.op = HLO_REDUCE, .operand = {a}, .reduce_kind = kind,
                                           .reduce_mask = mask});
}

int graph_all_reduce(struct graph *g, int a)
{
    return add_node(g, (struct graph_node){.op = HLO_ALL_REDUCE, .operand = {a}});
}

void graph_output(struct graph *g, int node, const char *name, int alias_parameter)
{
    assert(node >= 0 && node < g->node_count && alias_parameter < g->parameter_count);
    g->output = mem_grow(g->output, &g->output_capacity, (size_t)g->output_count + 1,
                         sizeof(*g->output));
    g->output[g->output_count++] = (struct graph_output){
        .node = node, .name = arena_strdup(g->arena, name), .alias_parameter = alias_parameter};
}

int graph_splat(struct graph *g, int like, double value)
{
    struct shape shape = g->node[like].shape;
    int scalar = graph_constant(g, shape_scalar(shape.dtype), value);

    return shape.rank == 0 ? scalar : graph_broadcast(g, scalar, shape, NULL);
}

static int64_t node_flops(const struct graph *g, const struct graph_node *n)
{
    const struct shape *a;

    switch (graph_op_kind(n->op)) {
    case KIND_UNARY:
    case KIND_BINARY:
    case KIND_OTHER:
        return shape_elems(&n->shape);
    case KIND_DOT:
        a = &g->node[n->operand[0]].shape;
        return 2 * shape_elems(&n->shape) * a->dim[n->lhs_contract];
    case KIND_REDUCE:
        return shape_elems(&g->node[n->operand[0]].shape);
    case KIND_SOURCE:
    case KIND_SHAPE:
    case KIND_COLLECTIVE:
        break;
    }
    return 0;
}

int64_t graph_flops(const struct graph *g)
{
    int64_t flops = 0;

    for (int i = 0; i < g->node_count; i++)
        flops += node_flops(g, &g->node[i]);
    return flops;
}
