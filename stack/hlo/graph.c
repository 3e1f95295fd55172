/* Builders of the graph: each appends a node, infers its shape, and asserts that it is right. */
#include "stack/hlo/graph.h"

#include "stack/hlo/graph_shape.h"

#include <assert.h>
#include <string.h>

void graph_init(struct graph *g, struct arena *a, const char *name)
{
    memset(g, 0, sizeof(*g));
    g->arena = a;
    g->name = arena_strdup(a, name);
    g->source = "";
    g->gradient_of = NODE_NONE;
}

void graph_fini(struct graph *g)
{
    mem_free(g->node);
    mem_free(g->parameter);
    mem_free(g->output);
    memset(g, 0, sizeof(*g));
}

static void set_results(struct graph *g, struct graph_node *n)
{
    struct shape *tuple;

    n->tuple = NULL;
    n->tuple_count = graph_result_count(n);
    if (n->tuple_count == 0)
        return;
    tuple = arena_array(g->arena, (size_t)n->tuple_count, sizeof(*tuple));
    for (int i = 0; i < n->tuple_count; i++)
        tuple[i] = graph_result_shape(g, n, i);
    n->tuple = tuple;
}

/* the name, where there is one, is taken as it is */
static int add_named(struct graph *g, struct graph_node n, const int *operand, int count)
{
    struct shape shape;
    struct err e;
    int fits;

    n.source = g->source;
    n.unit = g->unit;
    n.gradient_of = g->gradient_of;
    n.operand_count = count;
    n.operand = arena_array(g->arena, (size_t)count, sizeof(*n.operand));
    for (int i = 0; i < count; i++) {
        assert(operand[i] >= 0 && operand[i] < g->node_count);
        assert(n.op == HLO_GET_TUPLE_ELEMENT || g->node[operand[i]].tuple_count == 0);
        n.operand[i] = operand[i];
    }
    if (!n.name)
        n.name = arena_printf(g->arena, "%s.%d", graph_op_name(n.op), g->node_count);
    fits = graph_infer(g, &n, &shape, &e);
    assert(fits == 0);
    (void)fits;
    n.shape = shape;
    set_results(g, &n);
    g->node = mem_grow(g->node, &g->node_capacity, (size_t)g->node_count + 1, sizeof(*g->node));
    g->node[g->node_count] = n;
    return g->node_count++;
}

int graph_add(struct graph *g, const struct graph_node *n, const int *operand, int count)
{
    struct graph_node copy = *n;

    assert(n->op != HLO_PARAMETER);
    copy.name = NULL;
    return add_named(g, copy, operand, count);
}

int graph_parameter(struct graph *g, struct shape shape, const char *name)
{
    struct graph_node n = {.op = HLO_PARAMETER, .shape = shape,
                           .name = arena_strdup(g->arena, name),
                           .parameter_index = g->parameter_count};
    int node = add_named(g, n, NULL, 0);

    MEM_ADD(g->parameter, g->parameter_count, g->parameter_capacity) = node;
    return node;
}

static int add_source(struct graph *g, struct graph_node n)
{
    return add_named(g, n, NULL, 0);
}

static int add_on(struct graph *g, struct graph_node n, int a)
{
    return add_named(g, n, &a, 1);
}

static int add_on_two(struct graph *g, struct graph_node n, int a, int b)
{
    return add_named(g, n, (int[]){a, b}, 2);
}

int graph_constant(struct graph *g, struct shape shape, double value)
{
    return add_source(g, (struct graph_node){.op = HLO_CONSTANT, .shape = shape, .value = value});
}

int graph_literal(struct graph *g, struct shape shape, const void *elements)
{
    return add_source(g, (struct graph_node){
        .op = HLO_CONSTANT, .shape = shape,
        .literal = arena_copy(g->arena, elements, (size_t)shape_elems(&shape), 4)});
}

int graph_iota(struct graph *g, struct shape shape, int dim)
{
    return add_source(g, (struct graph_node){.op = HLO_IOTA, .shape = shape, .dim = dim});
}

int graph_rng_bits(struct graph *g, struct shape shape, int seed, int64_t stream)
{
    shape.dtype = DTYPE_U32;
    return add_on(g, (struct graph_node){.op = HLO_RNG_BITS, .shape = shape, .count = stream},
                  seed);
}

int graph_unary(struct graph *g, enum graph_op op, int a)
{
    assert(graph_op_kind(op) == KIND_UNARY && graph_op_attributes(op) == 0);
    return add_on(g, (struct graph_node){.op = op}, a);
}

int graph_convert(struct graph *g, int a, enum graph_dtype dtype)
{
    if (g->node[a].shape.dtype == dtype)
        return a;
    return add_on(g, (struct graph_node){.op = HLO_CONVERT, .shape = shape_scalar(dtype)}, a);
}

int graph_bitcast_convert(struct graph *g, int a, enum graph_dtype dtype)
{
    if (g->node[a].shape.dtype == dtype)
        return a;
    return add_on(g, (struct graph_node){.op = HLO_BITCAST_CONVERT,
                                         .shape = shape_scalar(dtype)}, a);
}

int graph_binary(struct graph *g, enum graph_op op, int a, int b)
{
    assert(graph_op_kind(op) == KIND_BINARY && graph_op_attributes(op) == 0);
    return add_on_two(g, (struct graph_node){.op = op}, a, b);
}

int graph_compare(struct graph *g, enum graph_compare direction, int a, int b)
{
    return add_on_two(g, (struct graph_node){.op = HLO_COMPARE, .direction = direction}, a, b);
}

int graph_select(struct graph *g, int pred, int a, int b)
{
    return add_named(g, (struct graph_node){.op = HLO_SELECT}, (int[]){pred, a, b}, 3);
}

int graph_clamp(struct graph *g, int low, int a, int high)
{
    return add_named(g, (struct graph_node){.op = HLO_CLAMP}, (int[]){low, a, high}, 3);
}

static void copy_dims(struct graph_node *n, const int *dims, int rank)
{
    for (int i = 0; i < rank; i++)
        n->dims[i] = dims[i];
}

int graph_broadcast(struct graph *g, int a, struct shape shape, const int *dims)
{
    struct graph_node n = {.op = HLO_BROADCAST, .shape = shape};

    copy_dims(&n, dims, g->node[a].shape.rank);
    return add_on(g, n, a);
}

int graph_reshape(struct graph *g, int a, struct shape shape)
{
    if (shape_equal(&g->node[a].shape, &shape))
        return a;
    return add_on(g, (struct graph_node){.op = HLO_RESHAPE, .shape = shape}, a);
}

int graph_transpose(struct graph *g, int a, const int *dims)
{
    struct graph_node n = {.op = HLO_TRANSPOSE};

    copy_dims(&n, dims, g->node[a].shape.rank);
    return add_on(g, n, a);
}

int graph_dot(struct graph *g, int lhs, int rhs, int lhs_contract, int rhs_contract,
              enum graph_precision precision)
{
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {lhs_contract},
                            .rhs_contract = {rhs_contract}};

    return graph_dot_general(g, lhs, rhs, &dot, DTYPE_F32, precision);
}

int graph_dot_general(struct graph *g, int lhs, int rhs, const struct graph_dot *dot,
                      enum graph_dtype dtype, enum graph_precision precision)
{
    struct graph_node n = {.op = HLO_DOT, .shape = shape_scalar(dtype), .dot = *dot,
                           .precision = precision};

    return add_on_two(g, n, lhs, rhs);
}

int graph_reduce(struct graph *g, enum graph_reduce kind, int a, uint32_t mask)
{
    return add_on(g, (struct graph_node){.op = HLO_REDUCE, .reduce_kind = kind,
                                         .reduce_mask = mask}, a);
}

void graph_output(struct graph *g, int node, const char *name, int alias_parameter)
{
    assert(node >= 0 && node < g->node_count && alias_parameter < g->parameter_count);
    assert(g->node[node].tuple_count == 0);
    MEM_ADD(g->output, g->output_count, g->output_capacity) = (struct graph_output){
        .node = node, .name = arena_strdup(g->arena, name), .alias_parameter = alias_parameter};
}

int graph_splat(struct graph *g, int like, double value)
{
    struct shape shape = g->node[like].shape;
    int scalar = graph_constant(g, shape_scalar(shape.dtype), value);

    return shape.rank == 0 ? scalar : graph_broadcast(g, scalar, shape, NULL);
}
