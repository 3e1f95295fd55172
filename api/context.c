/*
 * The part of the API that a step is written with: variables, other replicas, logical devices,
 * constants.
 */
#include "api/api.h"

#include <inttypes.h>
#include <string.h>

#include "stack/hlo/graph_shape.h"
#include "train/step/replica.h"

static const sy_tensor invalid = {NODE_NONE};

sy_tensor api_invalid(sy_context *c, const struct err *e)
{
    if (!c || !c->has_failed)
        api_fail(e);
    if (c && !c->has_failed)
        c->err = *e;
    if (c)
        c->has_failed = true;
    return invalid;
}

bool api_lacks(sy_context *c, sy_status given)
{
    struct err e;

    if (given == SY_OK)
        return false;
    err_set(&e, "%s", sy_message());
    api_invalid(c, &e);
    return true;
}

bool api_is_context(const sy_context *c)
{
    return c || api_fail_text("the context of a step is NULL") == SY_OK;
}

bool api_are_valid(sy_context *c, const sy_tensor *t, int count)
{
    struct err e;

    if (!api_is_context(c) || (count > 0 && API_GIVEN(t)))
        return false;
    for (int i = 0; i < count; i++) {
        if (t[i].node >= 0 && t[i].node < c->trace->graph.node_count)
            continue;
        err_set(&e, "operand %d is not a tensor of this step", i);
        if (t[i].node != NODE_NONE || !c->has_failed)
            api_invalid(c, &e);
        return false;
    }
    return true;
}

sy_tensor api_add_node(sy_context *c, const struct graph_node *n, const sy_tensor *operand,
                       int count)
{
    struct graph_node checked = *n;
    struct shape shape;
    struct err e;
    int *node;

    if (!api_are_valid(c, operand, count))
        return invalid;
    node = arena_array(c->trace->arena, (size_t)count + 1, sizeof(*node));
    for (int i = 0; i < count; i++)
        node[i] = operand[i].node;
    checked.operand = node;
    checked.operand_count = count;
    checked.name = graph_op_name(n->op);
    if (graph_infer(api_graph(c), &checked, &shape, &e))
        return api_invalid(c, &e);
    return (sy_tensor){graph_add(api_graph(c), n, node, count)};
}

sy_status sy_context_status(const sy_context *c)
{
    if (!api_is_context(c))
        return SY_ERROR;
    return c->has_failed ? api_fail(&c->err) : SY_OK;
}

static bool is_tensor(const sy_context *c, sy_tensor t)
{
    return api_is_context(c) && t.node >= 0 && t.node < c->trace->graph.node_count;
}

sy_shape sy_tensor_shape(const sy_context *c, sy_tensor t)
{
    return is_tensor(c, t) ? api_dims(api_shape_of(c, t)) : (sy_shape){.rank = 0};
}

sy_dtype sy_tensor_dtype(const sy_context *c, sy_tensor t)
{
    return is_tensor(c, t) ? api_dtype(api_shape_of(c, t)->dtype) : SY_F32;
}

void sy_context_scope(sy_context *c, const char *name)
{
    if (api_is_context(c))
        trace_source(c->trace, NULL, name ? name : "step");
}

int api_axis(sy_context *c, sy_tensor t, int axis)
{
    const struct shape *s = api_shape_of(c, t);
    char text[96];
    struct err e;

    if (axis >= -s->rank && axis < s->rank)
        return axis < 0 ? axis + s->rank : axis;
    err_set(&e, "axis %d of %s: allowed are %d..%d", axis, shape_print(s, text, sizeof(text)),
            -s->rank, s->rank - 1);
    api_invalid(c, &e);
    return -1;
}

/* ----- variables */

static bool is_own(sy_context *c, const sy_variable *v)
{
    struct err e;

    if (!api_is_context(c))
        return false;
    if (v && v->strategy == c->strategy)
        return true;
    err_set(&e, "%s is a variable of another strategy", v ? sy_variable_name(v) : "NULL");
    api_invalid(c, &e);
    return false;
}

sy_tensor sy_read(sy_context *c, const sy_variable *v)
{
    if (api_lacks(c, API_GIVEN(v)))
        return invalid;
    return is_own(c, v) ? (sy_tensor){trace_read(c->trace, v->number)} : invalid;
}

void sy_assign(sy_context *c, sy_variable *v, sy_tensor value)
{
    char has[96], wants[96];
    struct shape local;
    struct err e;

    if (api_lacks(c, API_GIVEN(v)))
        return;
    if (!is_own(c, v) || !api_are_valid(c, &value, 1))
        return;
    local = variable_local_shape(&c->strategy->set.variable[v->number], c->trace->replica_count);
    if (shape_equal(&local, api_shape_of(c, value))) {
        trace_assign(c->trace, v->number, value.node);
        return;
    }
    err_set(&e, "variable %s is %s and cannot be assigned %s", sy_variable_name(v),
            shape_print(&local, wants, sizeof(wants)),
            shape_print(api_shape_of(c, value), has, sizeof(has)));
    api_invalid(c, &e);
}

/* ----- replicas */

int sy_context_replicas(const sy_context *c)
{
    return api_is_context(c) ? c->trace->replica_count : 0;
}

sy_tensor sy_replica_id(sy_context *c)
{
    return api_is_context(c) ? (sy_tensor){replica_id(c->trace)} : invalid;
}

static bool is_floating(sy_context *c, sy_tensor x, const char *what)
{
    char text[96];
    struct err e;

    if (!api_are_valid(c, &x, 1))
        return false;
    if (graph_dtype_is_float(api_shape_of(c, x)->dtype))
        return true;
    err_set(&e, "%s of %s is not possible: it takes f32 and bf16", what,
            shape_print(api_shape_of(c, x), text, sizeof(text)));
    api_invalid(c, &e);
    return false;
}

sy_tensor sy_all_reduce(sy_context *c, sy_aggregation how, sy_tensor x)
{
    struct err e;

    if (how != SY_SUM && how != SY_MEAN) {
        err_set(&e, "all-reduce: SY_SUM and SY_MEAN are the reductions there are");
        return api_invalid(c, &e);
    }
    if (!is_floating(c, x, "an all-reduce"))
        return invalid;
    return (sy_tensor){replica_all_reduce(c->trace, how == SY_SUM ? REPLICA_SUM : REPLICA_MEAN,
                                          x.node)};
}

sy_tensor sy_all_gather(sy_context *c, sy_tensor x, int axis)
{
    if (!is_floating(c, x, "an all-gather"))
        return invalid;
    axis = api_axis(c, x, axis);
    return axis < 0 ? invalid : (sy_tensor){replica_all_gather(c->trace, x.node, axis)};
}

/* ----- logical devices */

/* an input that nothing says anything about yet: then it comes to the devices in parts */
static bool is_free_input(const sy_context *c, int node)
{
    const struct trace *t = c->trace;
    const struct graph_node *n = &t->graph.node[node];

    if (n->op != HLO_PARAMETER || t->parameter[n->parameter_index].kind != TRACE_INPUT)
        return false;
    for (int i = 0; i < t->note_count; i++)
        if (t->note[i].node == node)
            return false;
    return true;
}

static sy_tensor lie(sy_context *c, sy_tensor x, const struct sharding *s)
{
    struct err e;
    sy_tensor y;

    if (!api_are_valid(c, &x, 1))
        return invalid;
    y = is_free_input(c, x.node) ? x
                                 : api_add_node(c, &(struct graph_node){.op = HLO_COPY}, &x, 1);
    if (y.node != NODE_NONE && trace_shard(c->trace, y.node, s, "split", &e))
        return api_invalid(c, &e);
    return y;
}

sy_tensor sy_split(sy_context *c, sy_tensor x, const int *parts)
{
    struct sharding s;
    struct err e;

    if (api_lacks(c, API_GIVEN(parts)))
        return invalid;
    if (!api_are_valid(c, &x, 1))
        return invalid;
    if (sharding_from_parts(&c->strategy->mesh, parts, api_shape_of(c, x)->rank, "split", &s, &e))
        return api_invalid(c, &e);
    return lie(c, x, &s);
}

sy_tensor sy_layout(sy_context *c, sy_tensor x, const char *const *axis)
{
    struct sharding s;
    struct err e;

    if (api_lacks(c, API_GIVEN(axis)))
        return invalid;
    if (!api_are_valid(c, &x, 1))
        return invalid;
    if (api_layout(c->strategy, axis, api_shape_of(c, x), "layout", &s, &e))
        return api_invalid(c, &e);
    return lie(c, x, &s);
}

sy_tensor sy_replicate(sy_context *c, sy_tensor x)
{
    return lie(c, x, &(struct sharding){{0}});
}

sy_tensor sy_assign_to_logical_device(sy_context *c, sy_tensor x, int device)
{
    struct err e;
    int placed;

    if (!api_are_valid(c, &x, 1))
        return invalid;
    return trace_place(c->trace, x.node, device, &placed, &e) ? api_invalid(c, &e)
                                                              : (sy_tensor){placed};
}

/* ----- constants */

static bool check_shape(sy_context *c, sy_dtype dtype, const sy_shape *shape, struct shape *out)
{
    struct err e;

    if (!api_is_context(c))
        return false;
    if (api_shape(dtype, shape, out, &e) == 0)
        return true;
    api_invalid(c, &e);
    return false;
}

sy_tensor sy_constant(sy_context *c, sy_dtype dtype, sy_shape shape, double value)
{
    struct shape s;

    if (!check_shape(c, dtype, &shape, &s))
        return invalid;
    return (sy_tensor){graph_constant(api_graph(c), s, value)};
}

sy_tensor sy_literal(sy_context *c, sy_dtype dtype, sy_shape shape, const void *data)
{
    struct shape s;

    if (api_lacks(c, API_GIVEN(data)))
        return invalid;
    if (!check_shape(c, dtype, &shape, &s))
        return invalid;
    return (sy_tensor){graph_literal(api_graph(c), s, data)};
}

sy_tensor sy_iota(sy_context *c, sy_dtype dtype, sy_shape shape, int axis)
{
    struct graph_node n = {.op = HLO_IOTA, .dim = axis};
    struct err e;

    if (!check_shape(c, dtype, &shape, &n.shape))
        return invalid;
    if (axis < 0 || axis >= shape.rank) {
        err_set(&e, "iota along axis %d of rank %d", axis, shape.rank);
        return api_invalid(c, &e);
    }
    return api_add_node(c, &n, NULL, 0);
}
