/* Whole numbers as vectors: by their value, by the range they are in, by their place in a list. */
#include "keras/layers/layer_impl.h"

#include <inttypes.h>
#include <math.h>

/* how many different numbers come out */
static int64_t depth_of(const struct layer *l)
{
    if (l->kind == LAYER_DISCRETIZATION)
        return l->c.scale.count + 1;
    if (l->kind == LAYER_INTEGER_LOOKUP)
        return l->c.scale.count + l->c.units + (isnan(l->c.max_value) ? 0 : 1);
    return l->c.units;
}

static int check_encoding(const struct layer *l, const struct shape *in, struct err *e)
{
    if (l->kind == LAYER_CATEGORY_ENCODING && l->c.choice == ENCODED_INT)
        return layer_fail(l, e, "\"output_mode\" is \"int\"; it must be \"multi_hot\", \"one_hot\" "
                          "or \"count\"");
    if (l->kind == LAYER_INTEGER_LOOKUP && l->c.units == 0)
        return layer_fail(l, e, "\"num_oov_indices\" 0, with which Keras refuses other numbers, is "
                          "not supported");
    if (l->c.choice >= ENCODED_MULTI_HOT && in->rank != 1)
        return layer_expect_rank(l, in, 1, "[numbers] for \"multi_hot\" and \"count\"", e);
    for (int64_t i = 1; l->kind == LAYER_DISCRETIZATION && i < l->c.scale.count; i++)
        if (!(l->c.scale.value[i - 1] <= l->c.scale.value[i]))
            return layer_fail(l, e, "\"bin_boundaries\" must rise");
    return 0;
}

static int shape_encoding(const struct layer *l, const struct shape *in, int count,
                          struct shape *out, struct err *e)
{
    (void)count;
    if (check_encoding(l, in, e) != 0)
        return -1;
    *out = *in;
    out->dtype = l->c.choice == ENCODED_INT ? DTYPE_S32 : DTYPE_F32;
    if (l->c.choice == ENCODED_INT)
        return 0;
    if (out->rank == 0 || out->dim[out->rank - 1] != 1 || l->c.choice != ENCODED_ONE_HOT)
        out->rank += l->c.choice == ENCODED_ONE_HOT;
    out->dim[out->rank - 1] = depth_of(l);
    return 0;
}

/* x beside each number of the list: [.., numbers] of both */
static void beside_list(struct layer_call *c, const struct layer_reals *list, int *x, int *numbers)
{
    struct graph *g = &c->t->graph;
    float *v = arena_array(g->arena, (size_t)list->count, sizeof(*v));
    struct shape s = g->node[*x].shape;
    int dims[GRAPH_RANK_MAX];

    for (int64_t i = 0; i < list->count; i++)
        v[i] = (float)list->value[i];
    for (int i = 0; i < s.rank; i++)
        dims[i] = i;
    s.dtype = DTYPE_F32;
    s.dim[s.rank++] = list->count;
    *x = graph_broadcast(g, graph_convert(g, *x, DTYPE_F32), s, dims);
    *numbers = nn_spread(g, graph_literal(g, shape_make(DTYPE_F32, 1, &list->count), v), *x);
}

/* how many boundaries x has reached */
static int bin_of(struct layer_call *c, int x)
{
    struct graph *g = &c->t->graph;
    int numbers;

    beside_list(c, &c->layer->c.scale, &x, &numbers);
    x = graph_convert(g, graph_compare(g, COMPARE_GE, x, numbers), DTYPE_S32);
    return graph_reduce(g, REDUCE_ADD, x, 1u << (g->node[x].shape.rank - 1));
}

/* the mask's token has 0, what is not in the list the next number, then comes the list */
static int place_of(struct layer_call *c, int given)
{
    double token = c->layer->c.max_value;
    int64_t others = isnan(token) ? 0 : 1;     /* the number of what is not in the list */
    struct graph *g = &c->t->graph;
    int x = given, numbers, place, nowhere;
    struct shape whole;

    beside_list(c, &c->layer->c.scale, &x, &numbers);
    whole = g->node[x].shape;
    whole.dtype = DTYPE_S32;
    place = graph_iota(g, whole, whole.rank - 1);
    place = nn_shift(g, place, 1.0);
    nowhere = graph_splat(g, place, 0.0);
    place = graph_select(g, graph_compare(g, COMPARE_EQ, x, numbers), place, nowhere);
    place = graph_reduce(g, REDUCE_ADD, place, 1u << (whole.rank - 1));
    place = nn_shift(g, place, (double)others);
    if (isnan(token))
        return place;
    given = graph_convert(g, given, DTYPE_F32);
    nowhere = graph_splat(g, place, 0.0);
    return graph_select(g, graph_compare(g, COMPARE_EQ, given, graph_splat(g, given, token)),
                        nowhere, place);
}

static int call_encoding(struct layer_call *c)
{
    const struct layer_config *l = &c->layer->c;
    struct graph *g = &c->t->graph;
    int x = c->input[0];
    struct shape s;

    layer_source(c, layer_class(c->layer->kind));
    if (c->layer->kind == LAYER_DISCRETIZATION)
        x = bin_of(c, x);
    else if (c->layer->kind == LAYER_INTEGER_LOOKUP)
        x = place_of(c, x);
    else
        x = graph_convert(g, x, DTYPE_S32);
    if (l->choice == ENCODED_INT)
        return x;
    s = g->node[x].shape;
    if (l->choice == ENCODED_ONE_HOT && s.rank > 1 && s.dim[s.rank - 1] == 1) {
        s.rank--;
        x = graph_reshape(g, x, s);
    }
    x = nn_one_hot(g, x, depth_of(c->layer), DTYPE_F32);
    if (l->choice != ENCODED_ONE_HOT)
        x = graph_reduce(g, l->choice == ENCODED_COUNT ? REDUCE_ADD : REDUCE_MAX, x, 1u << 1);
    return graph_convert(g, x, c->dtype);
}

const struct layer_functions layer_encoding = {shape_encoding, NULL, call_encoding};
