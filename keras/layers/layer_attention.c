/* Builds attention of several heads, with the variables as Keras lays them out. */
#include "keras/layers/attention_axes.h"

#include <inttypes.h>
#include <math.h>

enum { QUERY, VALUE, KEY };             /* Keras's order of inputs */

/* the value is the query, the key the value, where they are not given */
static int input_of(int count, int which)
{
    return which < count ? which : count - 1;
}

/* query, value and key, without the mask of pairs that may come behind them */
static int vector_count(const struct layer *l, int count)
{
    return count - l->c.takes_pairs;
}

static int64_t value_width(const struct layer_config *c)
{
    return c->value_units ? c->value_units : c->units;
}

static bool is_grouped(const struct layer *l)
{
    return l->kind == LAYER_GROUP_QUERY_ATTENTION;
}

/* heads of keys and values: of grouped queries fewer than of queries */
static int64_t key_heads(const struct layer *l)
{
    return is_grouped(l) ? l->c.groups : l->c.heads;
}

static int64_t width_of(const struct shape *s)
{
    return s->dim[s->rank - 1];
}

static int64_t output_width(const struct layer *l, const struct shape *in)
{
    return l->c.shape_count ? l->c.shape[0] : width_of(&in[QUERY]);
}

static int check_parameters(const struct layer *l, struct err *e)
{
    if (l->c.shape_count > 1 || (l->c.shape_count == 1 && l->c.shape[0] < 1))
        return layer_fail(l, e, "\"output_shape\" must be the width of its output, one number");
    if (is_grouped(l) && l->c.heads % l->c.groups != 0)
        return layer_fail(l, e, "\"num_key_value_heads\" is %" PRId64 ", which must divide "
                          "\"num_query_heads\", %" PRId64, l->c.groups, l->c.heads);
    return 0;
}

/* [query, key], or [heads, query, key], any of them 1: as Keras's attention_mask */
static int check_pairs(const struct layer *l, const struct shape *mask, const struct shape *query,
                       const struct shape *key, struct err *e)
{
    int64_t wanted[3] = {l->c.heads, query->dim[0], key->dim[0]};
    bool is_sound = query->rank == 2 && (mask->rank == 2 || mask->rank == 3);
    char text[160];

    for (int d = 0; d < mask->rank && is_sound; d++)
        is_sound = mask->dim[d] == 1 || mask->dim[d] == wanted[d + 3 - mask->rank];
    return is_sound ? 0 : layer_fail(l, e, "its attention_mask has samples %s; they must be [%" PRId64
                                     ", %" PRId64 "], a number for each query and key, of each "
                                     "head or of all", layer_shape_text(mask, text, sizeof(text)),
                                     wanted[1], wanted[2]);
}

static int shape_attention(const struct layer *l, const struct shape *in, int all,
                           struct shape *out, struct err *e)
{
    int count = vector_count(l, all);
    const struct shape *key = &in[input_of(count, KEY)], *value = &in[input_of(count, VALUE)];

    if (check_parameters(l, e) != 0)
        return -1;
    if (count < 1 || count > 3)
        return layer_fail(l, e, "%s takes a query, a value and a key, not %d inputs",
                          layer_class(l->kind), count);
    for (int i = 0; i < count; i++)
        if (is_grouped(l) || in[QUERY].rank < 3
                ? layer_expect_rank(l, &in[i], 2, "[positions, width]", e)
                : attention_check_axes(l, &in[QUERY], &in[i], e))
            return -1;
    for (int d = 0; d < key->rank - 1; d++)
        if (key->dim[d] != value->dim[d])
            return layer_fail(l, e, "its value has %" PRId64 " positions, its key %" PRId64
                              "; they must be equal", value->dim[d], key->dim[d]);
    if (count < all && check_pairs(l, &in[count], &in[QUERY], key, e) != 0)
        return -1;
    *out = in[QUERY];
    out->dtype = DTYPE_F32;
    out->dim[out->rank - 1] = output_width(l, in);
    return 0;
}

/* heads and their width are one dimension in memory */
static void join_heads(struct layer_build *b, int weight)
{
    b->set->variable[b->layer->variable[weight]].joins_last = true;
}

static void build_part(struct layer_build *b, const char *part, int64_t in, int64_t heads,
                       int64_t width)
{
    const struct layer_config *c = &b->layer->c;

    join_heads(b, layer_add_weight(b, arena_printf(b->arena, "%s/kernel", part),
                                   SIZES(in, heads, width), &c->kernel_initializer,
                                   &c->kernel_regularizer));
    if (c->use_bias)
        layer_add_weight(b, arena_printf(b->arena, "%s/bias", part), SIZES(heads, width),
                         &c->bias_initializer, &c->bias_regularizer);
}

static void build_attention(struct layer_build *b)
{
    const struct layer_config *c = &b->layer->c;
    const struct shape *in = b->layer->input;
    int count = vector_count(b->layer, b->layer->input_count);
    int64_t out = output_width(b->layer, in), heads = key_heads(b->layer);

    build_part(b, "query", width_of(&in[QUERY]), c->heads, c->units);
    build_part(b, "key", width_of(&in[input_of(count, KEY)]), heads, c->units);
    build_part(b, "value", width_of(&in[input_of(count, VALUE)]), heads, value_width(c));
    layer_add_weight(b, "attention_output/kernel", SIZES(c->heads, value_width(c), out),
                     &c->kernel_initializer, &c->kernel_regularizer);
    if (c->use_bias)
        layer_add_weight(b, "attention_output/bias", SIZES(out), &c->bias_initializer,
                         &c->bias_regularizer);
    if (c->is_gated)
        build_part(b, "gate", width_of(&in[QUERY]), c->heads, value_width(c));
}

/* part `which` of query, key, value, output, gate: the place of its kernel */
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

/* scores [.., query, key] without those of pairs whose positions, query less key, are compared so */
static int keep_where(struct graph *g, int scores, enum graph_compare how, int64_t limit)
{
    struct shape s = g->node[scores].shape;
    int apart, key, masked;

    s.dtype = DTYPE_S32;
    key = graph_iota(g, s, s.rank - 1);
    apart = graph_binary(g, HLO_SUBTRACT, graph_iota(g, s, s.rank - 2), key);
    masked = graph_splat(g, scores, LAYER_MASKED);
    return graph_select(g, graph_compare(g, how, apart, graph_splat(g, apart, (double)limit)),
                        scores, masked);
}

/* a position sees itself and those before it */
static int mask_future(struct graph *g, int scores)
{
    struct shape s = g->node[scores].shape;
    int is_seen, key;

    s.dtype = DTYPE_S32;
    key = graph_iota(g, s, s.rank - 1);
    is_seen = graph_compare(g, COMPARE_GE, graph_iota(g, s, s.rank - 2), key);
    return graph_select(g, is_seen, scores, graph_splat(g, scores, LAYER_MASKED));
}

int layer_mask_scores(struct layer_call *c, int scores)
{
    const struct layer_config *l = &c->layer->c;
    struct graph *g = &c->t->graph;

    if (l->is_causal)
        scores = mask_future(g, scores);
    if (l->reach > 0) {                 /* and no farther than that, either way */
        scores = keep_where(g, scores, COMPARE_LT, l->reach);
        scores = keep_where(g, scores, COMPARE_GT, -l->reach);
    }
    return scores;
}

int layer_mask_along(struct graph *g, int scores, int mask, int dim)
{
    struct shape s = g->node[scores].shape;
    int kept, masked;

    if (mask == NODE_NONE)
        return scores;
    s.dtype = DTYPE_F32;
    kept = graph_broadcast(g, mask, s, (int[]){0, dim});
    masked = graph_splat(g, scores, LAYER_MASKED);
    return graph_select(g, graph_compare(g, COMPARE_GT, kept, graph_splat(g, kept, 0.5)), scores,
                        masked);
}

/* less the pairs for which the last input has 0 */
static int mask_pairs(struct layer_call *c, int scores)
{
    struct graph *g = &c->t->graph;
    struct shape all = g->node[scores].shape, s;
    int pairs = graph_convert(g, c->input[c->input_count - 1], DTYPE_F32), counts;

    all.rank--;
    for (int d = 0; d < all.rank; d++)
        all.dim[d] = all.dim[d + 1];
    s = g->node[pairs].shape;
    if (s.rank == 3)                    /* of all heads */
        pairs = graph_reshape(g, pairs, shape_make(DTYPE_F32, 4, (int64_t[]){s.dim[0], 1, s.dim[1],
                                                                             s.dim[2]}));
    pairs = layer_spread(g, pairs, &all);
    counts = graph_compare(g, COMPARE_NE, pairs, graph_splat(g, pairs, 0.0));
    return graph_select(g, counts, scores, graph_splat(g, scores, LAYER_MASKED));
}

/* [batch, heads, query, key] less what a mask of an input leaves out */
static int mask_inputs(struct layer_call *c, int scores)
{
    struct graph *g = &c->t->graph;
    int count = vector_count(c->layer, c->input_count);

    scores = layer_mask_along(g, scores, c->mask[QUERY], 2);
    for (int i = VALUE; i < count; i++)
        scores = layer_mask_along(g, scores, c->mask[i], 3);
    if (c->layer->c.takes_pairs)
        scores = mask_pairs(c, scores);
    return count == 1 ? layer_mask_along(g, scores, c->mask[QUERY], 3) : scores;
}

/* [batch, positions, heads, width], each head several times */
static int repeat_heads(struct layer_call *c, int x)
{
    struct graph *g = &c->t->graph;
    struct shape s = g->node[x].shape, wide = s;
    int64_t times = c->layer->c.heads / s.dim[2];

    if (times == 1)
        return x;
    wide.rank = 5;
    wide.dim[3] = times;
    wide.dim[4] = s.dim[3];
    s.dim[2] *= times;
    return graph_reshape(g, graph_broadcast(g, x, wide, (int[]){0, 1, 2, 4}), s);
}

static bool may_hide_all(const struct layer_call *c)
{
    bool has_mask = c->layer->c.reach > 0 || c->layer->c.takes_pairs;

    for (int i = 0; i < vector_count(c->layer, c->input_count); i++)
        has_mask |= c->mask[i] != NODE_NONE;
    return has_mask;
}

/*
 * A query that sees no key: a softmax would take all alike. Keras takes none where it works the
 * weights out itself, because they are dropped or asked for; its fused attention takes all.
 */
static int leave_out_masked(struct layer_call *c, int weights, int scores)
{
    struct graph *g = &c->t->graph;
    int is_seen, limit;

    if (!may_hide_all(c) || !(c->layer->c.rate > 0 || c->layer->c.returns_scores))
        return weights;
    limit = graph_splat(g, scores, LAYER_MASKED / 2);
    is_seen = graph_compare(g, COMPARE_GT, scores, limit);
    return graph_select(g, is_seen, weights, graph_splat(g, weights, 0));
}

/* of [batch, positions, heads, width] each: what each query sees of the values */
static int attend(struct layer_call *c, int q, int k, int v)
{
    struct graph *g = &c->t->graph;
    struct graph_dot score = {.batch_count = 2, .lhs_batch = {0, 2}, .rhs_batch = {0, 2},
                              .contract_count = 1, .lhs_contract = {3}, .rhs_contract = {3}};
    struct graph_dot mix = {.batch_count = 2, .lhs_batch = {0, 1}, .rhs_batch = {0, 2},
                            .contract_count = 1, .lhs_contract = {3}, .rhs_contract = {1}};
    int s, weights;

    layer_source(c, "Scores");
    s = graph_dot_general(g, q, k, &score, DTYPE_F32, c->precision);
    s = nn_scale(g, s, 1.0 / sqrt((double)c->layer->c.units));
    s = mask_inputs(c, layer_mask_scores(c, s));
    layer_source(c, "Softmax");
    weights = leave_out_masked(c, nn_softmax(g, s), s);
    c->more[1] = graph_convert(g, weights, c->dtype);
    s = layer_drop(c, c->more[1]);
    layer_source(c, "Mix");
    s = graph_dot_general(g, s, v, &mix, c->dtype, c->precision);
    return graph_transpose(g, s, (int[]){0, 2, 1, 3});
}

static int call_attention(struct layer_call *c)
{
    struct shape query = c->t->graph.node[c->input[QUERY]].shape;
    int in[3], count = vector_count(c->layer, c->input_count), q, k, v, seen;

    for (int i = 0; i < count; i++)
        in[i] = attention_gather_axes(c, c->input[i]);
    q = project(c, in[QUERY], 0, 1, "Query");
    k = repeat_heads(c, project(c, in[input_of(count, KEY)], 1, 1, "Key"));
    v = repeat_heads(c, project(c, in[input_of(count, VALUE)], 2, 1, "Value"));
    seen = attend(c, q, k, v);
    if (c->layer->c.is_gated) {
        int gate = project(c, in[QUERY], 4, 1, "Gate");

        seen = nn_multiply(&c->t->graph, seen, graph_unary(&c->t->graph, HLO_LOGISTIC, gate));
    }
    return attention_spread_axes(c, project(c, seen, 3, 2, "Output"), &query);
}

const struct layer_functions layer_attention = {shape_attention, build_attention, call_attention};
