/* Attention without projections: by products of queries and keys, or by a sum of tanh of both. */
#include "keras/layers/layer_impl.h"

#include <inttypes.h>

enum { QUERY, VALUE, KEY };             /* Keras's order of inputs */

static int shape_scored(const struct layer *l, const struct shape *in, int count,
                        struct shape *out, struct err *e)
{
    const struct shape *key = &in[count > KEY ? KEY : VALUE], *value = &in[VALUE];

    for (int i = 0; i < count; i++)
        if (layer_expect_rank(l, &in[i], 2, "[positions, width]", e) != 0)
            return -1;
    if (key->dim[0] != value->dim[0] || key->dim[1] != in[QUERY].dim[1])
        return layer_fail(l, e, "its query has width %" PRId64 ", its key %" PRId64 " positions of "
                          "width %" PRId64 ", its value %" PRId64 " positions; query and key must "
                          "be equally wide, key and value equally long", in[QUERY].dim[1],
                          key->dim[0], key->dim[1], value->dim[0]);
    *out = shape_make(DTYPE_F32, 2, (int64_t[]){in[QUERY].dim[0], value->dim[1]});
    return 0;
}

static bool adds(const struct layer *l)
{
    return l->kind == LAYER_ADDITIVE_ATTENTION || l->c.choice == SCORE_CONCAT;
}

static void build_scored(struct layer_build *b)
{
    static const struct initializer ones = {.kind = INITIALIZER_ONES};
    struct initializer drawn = initializer_standard(INITIALIZER_GLOROT_UNIFORM);

    if (b->layer->c.is_scaled && b->layer->kind == LAYER_ADDITIVE_ATTENTION)
        layer_add_weight(b, "scale", SIZES(b->layer->input[QUERY].dim[1]), &drawn, NULL);
    else if (b->layer->c.is_scaled)
        layer_add_weight(b, "scale", 0, NULL, &ones, NULL);
    if (b->layer->kind == LAYER_ATTENTION && adds(b->layer))
        layer_add_weight(b, "concat_score_weight", 0, NULL, &ones, NULL);
}

/* sum over the width of tanh(query + key), with the scales where Keras has them */
static int additive_scores(struct layer_call *c, int q, int k)
{
    struct graph *g = &c->t->graph;
    bool is_scaled = c->layer->c.is_scaled, is_inside = c->layer->kind == LAYER_ATTENTION;
    int scale = is_scaled ? layer_read_cast(c, 0) : NODE_NONE, x, keys;
    struct shape wide = g->node[q].shape;

    wide.dim[3] = wide.dim[2];
    wide.dim[2] = g->node[k].shape.dim[1];
    wide.rank = 4;
    layer_source(c, "Scores");
    keys = graph_broadcast(g, k, wide, (int[]){0, 2, 3});
    x = nn_add(g, graph_broadcast(g, q, wide, (int[]){0, 1, 3}), keys);
    if (is_scaled && is_inside)
        x = nn_multiply(g, x, nn_spread(g, scale, x));
    x = graph_unary(g, HLO_TANH, x);
    if (is_scaled && !is_inside)
        x = nn_multiply(g, x, nn_spread(g, scale, x));
    x = graph_reduce(g, REDUCE_ADD, graph_convert(g, x, DTYPE_F32), 1u << 3);
    return is_inside ? nn_multiply(g, x, nn_spread(g, layer_read(c, is_scaled), x)) : x;
}

static int product_scores(struct layer_call *c, int q, int k)
{
    struct graph *g = &c->t->graph;
    struct graph_dot dot = {.batch_count = 1, .contract_count = 1, .lhs_contract = {2},
                            .rhs_contract = {2}};
    int x;

    layer_source(c, "Scores");
    x = graph_dot_general(g, q, k, &dot, DTYPE_F32, c->precision);
    return c->layer->c.is_scaled ? nn_multiply(g, x, nn_spread(g, layer_read(c, 0), x)) : x;
}

static int call_scored(struct layer_call *c)
{
    struct graph *g = &c->t->graph;
    struct graph_dot mix = {.batch_count = 1, .contract_count = 1, .lhs_contract = {2},
                            .rhs_contract = {1}};
    int q = c->input[QUERY], k = c->input[c->input_count > KEY ? KEY : VALUE], x;

    x = adds(c->layer) ? additive_scores(c, q, k) : product_scores(c, q, k);
    x = layer_mask_along(g, layer_mask_scores(c, x), c->mask[VALUE], 2);
    layer_source(c, "Softmax");
    c->more[1] = graph_convert(g, nn_softmax(g, x), c->dtype);
    x = layer_drop(c, c->more[1]);
    layer_source(c, "Mix");
    x = graph_dot_general(g, x, c->input[VALUE], &mix, c->dtype, c->precision);
    return c->mask[QUERY] == NODE_NONE ? x : layer_where(g, c->mask[QUERY], x, NODE_NONE);
}

const struct layer_functions layer_scored_attention = {shape_scored, build_scored, call_scored};
