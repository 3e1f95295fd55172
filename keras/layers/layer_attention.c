/* Builds attention of several heads, with the variables as Keras lays them out. */
#include "keras/layers/layer_impl.h"

#include <inttypes.h>
#include <math.h>

#define MASKED -2.3819763e38            /* finite, so that no NaN comes of it; fits bf16 */

enum { QUERY, VALUE, KEY };             /* Keras's order of inputs */

/* the value is the query, the key the value, where they are not given */
static int input_of(int count, int which)
{
    return which < count ? which : count - 1;
}

static int64_t value_width(const struct layer_config *c)
{
    return c->value_units ? c->value_units : c->units;
}

static int shape_attention(const struct layer *l, const struct shape *in, int count,
                           struct shape *out, struct err *e)
{
    const struct shape *key = &in[input_of(count, KEY)], *value = &in[input_of(count, VALUE)];

    for (int i = 0; i < count; i++)
        if (layer_expect_rank(l, &in[i], 2, "[positions, width]", e) != 0)
            return -1;
    if (key->dim[0] != value->dim[0])
        return layer_fail(l, e, "its value has %" PRId64 " positions, its key %" PRId64
                          "; they must be equal", value->dim[0], key->dim[0]);
    *out = in[QUERY];
    out->dtype = DTYPE_F32;
    return 0;
}

/* heads and their width are one dimension in memory */
static void join_heads(struct layer_build *b, int weight)
{
    b->set->variable[b->layer->variable[weight]].joins_last = true;
}

static void build_part(struct layer_build *b, const char *part, int64_t in, int64_t width)
{
    const struct layer_config *c = &b->layer->c;

    join_heads(b, layer_add_weight(b, arena_printf(b->arena, "%s/kernel", part),
                                   SIZES(in, c->heads, width), &c->kernel_initializer,
                                   &c->kernel_regularizer));
    if (c->use_bias)
        layer_add_weight(b, arena_printf(b->arena, "%s/bias", part), SIZES(c->heads, width),
                         &c->bias_initializer, &c->bias_regularizer);
}

static void build_attention(struct layer_build *b)
{
    const struct layer_config *c = &b->layer->c;
    const struct shape *in = b->layer->input;
    int count = b->layer->input_count;
    int64_t out = in[QUERY].dim[1];

    build_part(b, "query", out, c->units);
    build_part(b, "key", in[input_of(count, KEY)].dim[1], c->units);
    build_part(b, "value", in[input_of(count, VALUE)].dim[1], value_width(c));
    layer_add_weight(b, "attention_output/kernel", SIZES(c->heads, value_width(c), out),
                     &c->kernel_initializer, &c->kernel_regularizer);
    if (c->use_bias)
        layer_add_weight(b, "attention_output/bias", SIZES(out), &c->bias_initializer,
                         &c->bias_regularizer);
}

/* part `which` of query, key, value, output: the place of its kernel */
static int place_of(const struct layer_call *c, int which)
{
    return which * (c->layer->c.use_bias ? 2 : 1);
}

/* `count` dimensions at the end of x with as many at the front of the part's kernel */
static int project(struct layer_call *c, int x, int which, int count, const char *what)
{
    struct graph *g = &c->t->graph;
    struct graph_dot dot = {.contract_count = count};
    int kernel = layer_read_cast(c, place_of(c, which));

    for (int i = 0; i < count; i++) {
        dot.lhs_contract[i] = g->node[x].shape.rank - count + i;
        dot.rhs_contract[i] = i;
    }
    layer_source(c, what);
    x = graph_dot_general(g, x, kernel, &dot, c->dtype, c->precision);
    return c->layer->c.use_bias ? layer_bias(c, x, place_of(c, which) + 1) : x;
}

/* scores [.., query, key]: a position sees itself and those before it */
static int mask_future(struct graph *g, int scores)
{
    struct shape s = g->node[scores].shape;
    int is_seen;

    s.dtype = DTYPE_S32;
    int fourth = graph_iota(g, s, s.rank - 1);
    is_seen = graph_compare(g, COMPARE_GE, graph_iota(g, s, s.rank - 2), fourth);
    return graph_select(g, is_seen, scores, graph_splat(g, scores, MASKED));
}

/* of [batch, positions, heads, width] each: what each query sees of the values */
static int attend(struct layer_call *c, int q, int k, int v)
{
    struct graph *g = &c->t->graph;
    struct graph_dot score = {.batch_count = 2, .lhs_batch = {0, 2}, .rhs_batch = {0, 2},
                              .contract_count = 1, .lhs_contract = {3}, .rhs_contract = {3}};
    struct graph_dot mix = {.batch_count = 2, .lhs_batch = {0, 1}, .rhs_batch = {0, 2},
                            .contract_count = 1, .lhs_contract = {3}, .rhs_contract = {1}};
    int s;

    layer_source(c, "Scores");
    s = graph_dot_general(g, q, k, &score, DTYPE_F32, c->precision);
    s = nn_scale(g, s, 1.0 / sqrt((double)c->layer->c.units));
    if (c->layer->c.is_causal)
        s = mask_future(g, s);
    layer_source(c, "Softmax");
    s = layer_drop(c, graph_convert(g, nn_softmax(g, s), c->dtype));
    layer_source(c, "Mix");
    s = graph_dot_general(g, s, v, &mix, c->dtype, c->precision);
    return graph_transpose(g, s, (int[]){0, 2, 1, 3});
}

static int call_attention(struct layer_call *c)
{
    const int *in = c->input;
    int q = project(c, in[QUERY], 0, 1, "Query");
    int k = project(c, in[input_of(c->input_count, KEY)], 1, 1, "Key");
    int v = project(c, in[input_of(c->input_count, VALUE)], 2, 1, "Value");

    return project(c, attend(c, q, k, v), 3, 2, "Output");
}

const struct layer_functions layer_attention = {shape_attention, build_attention, call_attention};
