/* Infers the shapes of operations with several results: sorts, tuples and calls. */
#include "stack/hlo/graph_shape_impl.h"

#include <inttypes.h>
#include <string.h>

#include "stack/mosaic/mosaic.h"

int shape_infer_sorted(const struct graph *g, const struct graph_node *n, struct shape *out,
                       struct err *e)
{
    *out = *shape_of_operand(g, n, 0);
    if (!shape_has_type(out, NUMBERS))
        return shape_infer_bad_type(n, out, e);
    if (n->op == HLO_TOP_K) {
        if (out->rank == 0 || n->count < 1 || n->count > out->dim[out->rank - 1])
            return err_set(e, "%s: the %" PRId64 " largest of %" PRId64 " elements", n->name,
                           n->count, out->rank ? out->dim[out->rank - 1] : 1);
        out->dim[out->rank - 1] = n->count;
        return 0;
    }
    if (n->dim < 0 || n->dim >= out->rank)
        return err_set(e, "%s: dimension %d is not in 0..%d", n->name, n->dim, out->rank - 1);
    if (n->direction != COMPARE_LT && n->direction != COMPARE_GT)
        return err_set(e, "%s: sorts by LT or GT", n->name);
    for (int i = 1; i < n->operand_count; i++)
        if (!shape_same_dims(out, shape_of_operand(g, n, i)))
            return shape_infer_bad_pair(n, out, shape_of_operand(g, n, i), e);
    return 0;
}

int shape_infer_tuple(const struct graph *g, const struct graph_node *n, struct shape *out,
                      struct err *e)
{
    const struct graph_node *a = &g->node[n->operand[0]];

    *out = a->shape;
    if (n->op == HLO_TUPLE)
        return 0;
    if (a->tuple_count == 0)
        return err_set(e, "%s: %s is one array, not a tuple", n->name, a->name);
    if (n->dim < 0 || n->dim >= a->tuple_count)
        return err_set(e, "%s: result %d of %s is not in 0..%d", n->name, n->dim, a->name,
                       a->tuple_count - 1);
    *out = a->tuple[n->dim];
    return 0;
}

static const struct shape *output_shape(const struct graph *g, int output)
{
    return &g->node[g->output[output].node].shape;
}

/* the called graph's parameters are the operands from `first` on */
static int check_parameters(const struct graph *g, const struct graph_node *n, int first,
                            const struct graph *called, struct err *e)
{
    char is[128], should[128];

    if (called->parameter_count != n->operand_count - first)
        return err_set(e, "%s: %d operands, but %s has %d parameters", n->name,
                       n->operand_count - first, called->name, called->parameter_count);
    if (called->output_count < 1)
        return err_set(e, "%s: %s has no output", n->name, called->name);
    for (int i = 0; i < called->parameter_count; i++) {
        const struct shape *s = &called->node[called->parameter[i]].shape;
        const struct shape *operand = shape_of_operand(g, n, first + i);

        if (!shape_equal(s, operand))
            return err_set(e, "%s: operand %d is %s, but parameter %d of %s is %s", n->name,
                           first + i, shape_print(operand, is, sizeof(is)), i, called->name,
                           shape_print(s, should, sizeof(should)));
    }
    return 0;
}

static bool is_truth(const struct shape *s)
{
    return s->rank == 0 && s->dtype == DTYPE_PRED;
}

static int check_condition(const struct graph *g, const struct graph_node *n, struct err *e)
{
    const struct graph *condition = n->called[1];

    if (!condition)
        return 0;
    if (check_parameters(g, n, 0, condition, e) != 0)
        return -1;
    if (condition->output_count != 1 || !is_truth(output_shape(condition, 0)))
        return err_set(e, "%s: %s must have one scalar predicate as its result", n->name,
                       condition->name);
    return 0;
}

static int check_while(const struct graph *g, const struct graph_node *n, struct err *e)
{
    const struct graph *body = n->called[0];

    if (n->count < (n->called[1] ? GRAPH_TRIPS_UNKNOWN : 0))
        return err_set(e, "%s: %" PRId64 " trips", n->name, n->count);
    if (body->output_count != n->operand_count)
        return err_set(e, "%s: %d operands, but %s has %d outputs", n->name, n->operand_count,
                       body->name, body->output_count);
    for (int i = 0; i < n->operand_count; i++)
        if (!shape_equal(output_shape(body, i), shape_of_operand(g, n, i)))
            return shape_infer_bad_pair(n, shape_of_operand(g, n, i), output_shape(body, i), e);
    return check_condition(g, n, e);
}

static int check_conditional(const struct graph *g, const struct graph_node *n, struct err *e)
{
    const struct graph *x = n->called[0], *y = n->called[1];

    if (!is_truth(shape_of_operand(g, n, 0)))
        return err_set(e, "%s: operand 0 must be a scalar predicate", n->name);
    if (!y)
        return err_set(e, "%s: has one branch, two are needed", n->name);
    if (check_parameters(g, n, 1, y, e) != 0)
        return -1;
    if (x->output_count != y->output_count)
        return err_set(e, "%s: %s has %d outputs, but %s has %d", n->name, x->name,
                       x->output_count, y->name, y->output_count);
    for (int i = 0; i < x->output_count; i++)
        if (!shape_equal(output_shape(x, i), output_shape(y, i)))
            return shape_infer_bad_pair(n, output_shape(x, i), output_shape(y, i), e);
    return 0;
}

static const struct {
    enum mosaic_element element;
    enum graph_dtype dtype[3];          /* that lie as such elements do; -1 behind the last */
} element_types[] = {
    {MOSAIC_F32, {DTYPE_F32, DTYPE_COUNT}}, {MOSAIC_BF16, {DTYPE_BF16, DTYPE_COUNT}},
    {MOSAIC_I32, {DTYPE_S32, DTYPE_U32, DTYPE_COUNT}},
    {MOSAIC_I8, {DTYPE_S8, DTYPE_U8, DTYPE_COUNT}},
    /* graphs have no narrower ones: wider elements have their values, floats of 8 bits are codes */
    {MOSAIC_I2, {DTYPE_S8, DTYPE_U8, DTYPE_COUNT}}, {MOSAIC_I4, {DTYPE_S8, DTYPE_U8, DTYPE_COUNT}},
    {MOSAIC_I16, {DTYPE_S32, DTYPE_U32, DTYPE_COUNT}}, {MOSAIC_F16, {DTYPE_F32, DTYPE_COUNT}},
    {MOSAIC_F4E2M1FN, {DTYPE_F32, DTYPE_COUNT}}, {MOSAIC_F8E5M2, {DTYPE_U8, DTYPE_COUNT}},
    {MOSAIC_F8E4M3FN, {DTYPE_U8, DTYPE_COUNT}}, {MOSAIC_F8E4M3B11FNUZ, {DTYPE_U8, DTYPE_COUNT}},
};

static bool is_array_of(const struct shape *s, const struct mosaic_type *t)
{
    bool is_type = false;

    for (size_t i = 0; i < sizeof(element_types) / sizeof(element_types[0]); i++)
        for (int k = 0; element_types[i].element == t->element && k < 3 &&
                        element_types[i].dtype[k] != DTYPE_COUNT; k++)
            is_type |= element_types[i].dtype[k] == s->dtype;
    return is_type && s->rank == t->rank &&
           memcmp(s->dim, t->dim, (size_t)s->rank * sizeof(*s->dim)) == 0;
}

struct shape graph_mosaic_shape(const struct mosaic_type *t)
{
    struct shape s = {.dtype = DTYPE_COUNT, .rank = t->rank};

    for (size_t i = 0; i < sizeof(element_types) / sizeof(element_types[0]); i++)
        if (element_types[i].element == t->element)
            s.dtype = element_types[i].dtype[0];
    memcpy(s.dim, t->dim, (size_t)t->rank * sizeof(*s.dim));
    return s;
}

/* bounds of the grid, prefetched arrays, inputs */
static int infer_mosaic(const struct graph *g, const struct graph_node *n, struct shape *out,
                        struct err *e)
{
    const struct mosaic_kernel *k = n->mosaic;
    int inputs = k->array_count - k->output_count;

    if (n->operand_count != k->dynamic_count + inputs)
        return err_set(e, "%s: %d operands, its kernel takes %d", n->name, n->operand_count,
                       k->dynamic_count + inputs);
    for (int i = 0; i < inputs; i++) {
        const struct shape *s = shape_of_operand(g, n, k->dynamic_count + i);
        char a[64], b[96];

        if (!is_array_of(s, &k->array[i]))
            return err_set(e, "%s: operand %d is %s, its kernel takes %s", n->name, i,
                           shape_print(s, a, sizeof(a)),
                           mosaic_type_print(&k->array[i], b, sizeof(b)));
    }
    *out = graph_mosaic_shape(&k->array[inputs]);
    if (out->dtype == DTYPE_COUNT)
        return err_set(e, "%s: a result of %s", n->name,
                       mosaic_element_name(k->array[inputs].element));
    return 0;
}

int shape_infer_call(const struct graph *g, const struct graph_node *n, struct shape *out,
                     struct err *e)
{
    if (n->op == HLO_MOSAIC)
        return infer_mosaic(g, n, out, e);
    if (!n->called[0])
        return err_set(e, "%s: has no computation to call", n->name);
    if (check_parameters(g, n, n->op == HLO_CONDITIONAL, n->called[0], e) != 0 ||
        (n->op == HLO_WHILE && check_while(g, n, e) != 0) ||
        (n->op == HLO_CONDITIONAL && check_conditional(g, n, e) != 0))
        return -1;
    *out = *output_shape(n->called[0], 0);
    return 0;
}

int graph_result_count(const struct graph_node *n)
{
    int count = 0;

    switch (n->op) {
    case HLO_TUPLE:
        return n->operand_count;
    case HLO_TOP_K:
        return 2;
    case HLO_SORT:
    case HLO_ALL_REDUCE:
    case HLO_REDUCE_SCATTER:
    case HLO_ALL_GATHER:
        count = n->operand_count;
        break;
    case HLO_FUSION:
    case HLO_WHILE:
    case HLO_CONDITIONAL:
        count = n->called[0]->output_count;
        break;
    case HLO_MOSAIC:
        count = n->mosaic->output_count;
        break;
    default:
        break;
    }
    return count > 1 ? count : 0;
}

struct shape graph_result_shape(const struct graph *g, const struct graph_node *n, int result)
{
    struct shape s;

    switch (n->op) {
    case HLO_TOP_K:
        s = *shape_of_operand(g, n, 0);
        s.dim[s.rank - 1] = n->count;
        if (result == 1)
            s.dtype = DTYPE_S32;
        return s;
    case HLO_FUSION:
    case HLO_WHILE:
    case HLO_CONDITIONAL:
        return *output_shape(n->called[0], result);
    case HLO_MOSAIC:
        return graph_mosaic_shape(&n->mosaic->array[n->mosaic->array_count -
                                                n->mosaic->output_count + result]);
    case HLO_ALL_REDUCE:
    case HLO_REDUCE_SCATTER:
    case HLO_ALL_GATHER:
        return shape_infer_collected(n, shape_of_operand(g, n, result));
    default:                            /* HLO_SORT, HLO_TUPLE */
        return *shape_of_operand(g, n, result);
    }
}
