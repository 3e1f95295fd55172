/* Operations of keras.ops as layers: their table, operands, shapes. */
#include "keras/layers/layer_operation.h"

#include <inttypes.h>
#include <string.h>

#include "base/units.h"

#define BATCH 2                         /* of the graph that tells a shape */

#define ELEMENTS &operation_elements
#define SUMS &operation_sums
#define MOVES &operation_moves
#define PRODUCTS &operation_products
#define ORDER &operation_order
#define NETWORK &operation_network
static const struct operation_info infos[] = {
#define OPERATION(id, class, form, operands, list, number, other, meaning) \
    {class, form, operands, list, number, other},
#include "keras/layers/operations.def"
};
static const char *const classes[] = {
#define OPERATION(id, class, form, operands, list, number, other, meaning) class,
#include "keras/layers/operations.def"
};

const struct operation_info *operation_info(int operation)
{
    return &infos[operation];
}

int operation_find(const char *class)
{
    for (int i = 0; i < OPERATION_COUNT; i++)
        if (strcmp(infos[i].class, class) == 0)
            return i;
    return -1;
}

int operation_classes(const char *const **class)
{
    *class = classes;
    return OPERATION_COUNT;
}

int operation_output_count(const struct layer *l)
{
    if (l->c.operation != OPERATION_SPLIT)
        return l->c.operation == OPERATION_TOP_K ? 2 : 1;
    return l->c.choice ? (int)l->c.list.count + 1 : (int)l->c.list.value[0];
}

struct shape operation_more_shape(const struct layer *l, const struct shape *input,
                                  const struct shape *output, int which)
{
    int axis = l->c.shape_count ? operation_axis(l->c.shape[0], input->rank) - 1 : 0;
    int parts = operation_output_count(l);
    struct shape s = *output;

    if (l->c.operation == OPERATION_SPLIT && l->c.choice)
        s.dim[axis] = (which == parts - 1 ? input->dim[axis] : (int64_t)l->c.list.value[which]) -
                      (int64_t)l->c.list.value[which - 1];
    return s;
}

/* ---- axes ---- */

int operation_axis(int64_t axis, int rank)
{
    axis = axis < 0 ? axis + rank + 1 : axis;
    return axis < 1 || axis > rank ? -1 : (int)axis;
}

int operation_axes(const struct layer *l, int rank, uint32_t *mask, struct err *e)
{
    *mask = 0;
    for (int64_t i = 0; i < l->c.shape_count; i++) {
        int d = operation_axis(l->c.shape[i], rank);

        if (d < 0 || (*mask & (1u << d)))
            return layer_fail(l, e, "\"axis\" names %" PRId64 ", which samples of %d dimensions "
                              "have not, or twice; the batch is 0", l->c.shape[i], rank);
        *mask |= 1u << d;
    }
    if (*mask)
        return 0;
    return layer_fail(l, e, "it must say \"axis\": over the samples of a batch it is not "
                      "supported");
}

int operation_reshape(struct graph *g, int x, int rank, const int64_t *dim)
{
    return graph_reshape(g, x, shape_make(g->node[x].shape.dtype, rank, dim));
}

int operation_part(struct graph *g, int x, int dim, int64_t first, int64_t end)
{
    int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX];

    memcpy(limit, g->node[x].shape.dim, sizeof(limit));
    start[dim] = first;
    limit[dim] = end;
    return graph_slice(g, x, start, limit, NULL);
}

int operation_reduce(struct graph *g, enum graph_reduce kind, int x, uint32_t mask)
{
    struct shape s = g->node[x].shape;
    int node = graph_reduce(g, kind, x, mask);

    for (int d = 0; d < s.rank; d++)
        s.dim[d] = mask & (1u << d) ? 1 : s.dim[d];
    return operation_reshape(g, node, s.rank, s.dim);
}

int operation_is_not_zero(struct graph *g, int x)
{
    return graph_compare(g, COMPARE_NE, x, graph_splat(g, x, 0.0));
}

int operation_truth(struct layer_call *c, int predicate)
{
    struct graph *g = &c->t->graph;

    return graph_hold(g, graph_convert(g, predicate, c->dtype));
}

/* ---- operands ---- */

static bool is_constant(const struct layer *l, int operand)
{
    return operand < LAYER_CONSTANTS_MAX && l->c.constant[operand].value;
}

static int literal(struct layer_call *c, const struct layer_array *a)
{
    struct graph *g = &c->t->graph;
    int64_t count = 1;
    float *value;
    int node;

    for (int d = 0; d < a->shape.rank; d++)
        count *= a->shape.dim[d];
    value = arena_array(c->t->arena, (size_t)count, sizeof(*value));
    for (int64_t i = 0; i < count; i++)
        value[i] = (float)a->value[i];
    node = graph_literal(g, shape_make(DTYPE_F32, a->shape.rank, a->shape.dim), value);
    return graph_convert(g, node, c->dtype);
}

static int call_operation(struct layer_call *c)
{
    const struct operation_info *info = operation_info(c->layer->c.operation);
    int operand[LAYER_INPUTS_MAX + LAYER_CONSTANTS_MAX], count = 0, taken = 0;

    layer_source(c, info->class);
    while (taken < c->input_count || is_constant(c->layer, count)) {
        operand[count] = is_constant(c->layer, count)
                             ? literal(c, &c->layer->c.constant[count]) : c->input[taken++];
        count++;
    }
    return info->form->call(c, operand, count);
}

/* all operands as samples; their number, or -1 */
static int list_operands(const struct layer *l, const struct shape *in, int count,
                         struct shape *all, struct err *e)
{
    int total = 0, taken = 0, wanted = operation_info(l->c.operation)->operands;

    while (taken < count || is_constant(l, total)) {
        all[total] = is_constant(l, total) ? l->c.constant[total].shape : in[taken++];
        total++;
    }
    if (total != wanted && !(wanted == LAYER_INPUTS_MAX && total <= wanted))
        return layer_fail(l, e, "operation %s takes %d array%s, not %d",
                          operation_info(l->c.operation)->class, wanted, wanted == 1 ? "" : "s",
                          total);
    return total;
}

/* ---- shapes ---- */

static int shape_operation(const struct layer *l, const struct shape *in, int count,
                           struct shape *out, struct err *e)
{
    struct shape all[LAYER_INPUTS_MAX + LAYER_CONSTANTS_MAX], s;
    int input[LAYER_INPUTS_MAX], total = list_operands(l, in, count, all, e), node;
    struct variable_set set;
    struct arena arena;
    struct trace t;

    if (total < 0 || operation_info(l->c.operation)->form->check(l, all, total, e) != 0)
        return -1;
    arena_init(&arena);
    variable_set_init(&set, &arena);
    trace_init(&t, &arena, "shape", &set, 1, false);
    for (int i = 0; i < count; i++) {
        s = shape_make(DTYPE_F32, in[i].rank + 1, (int64_t[GRAPH_RANK_MAX]){BATCH});
        memcpy(s.dim + 1, in[i].dim, (size_t)in[i].rank * sizeof(*s.dim));
        input[i] = trace_input(&t, "x", &s);
    }
    node = call_operation(&(struct layer_call){.t = &t, .layer = l, .dtype = DTYPE_F32,
                                               .input = input, .input_count = count});
    s = t.graph.node[node].shape;
    *out = shape_make(DTYPE_F32, s.rank - 1, s.dim + 1);
    trace_fini(&t);
    variable_set_fini(&set);
    arena_fini(&arena);
    return 0;
}

const struct layer_functions layer_operation = {shape_operation, NULL, call_operation};
