/* Builds inputs, dense layers, embeddings and dropout. */
#include "keras/layers/layer_impl.h"

#include <assert.h>
#include <inttypes.h>

/* ---- input ---- */

static int shape_input(const struct layer *l, const struct shape *in, int count,
                       struct shape *out, struct err *e)
{
    (void)in;
    (void)count;
    (void)e;
    *out = l->c.input;
    return 0;
}

static int call_input(struct layer_call *c)
{
    return c->input[0];
}

const struct layer_functions layer_input = {shape_input, NULL, call_input};

/* ---- dense ---- */

static int shape_dense(const struct layer *l, const struct shape *in, int count,
                       struct shape *out, struct err *e)
{
    (void)count;
    if (in->rank < 1)
        return layer_expect_rank(l, in, 1, "at least one dimension", e);
    *out = *in;
    out->dtype = DTYPE_F32;
    out->dim[out->rank - 1] = l->c.units;
    return 0;
}

static void build_dense(struct layer_build *b)
{
    const struct layer_config *c = &b->layer->c;
    const struct shape *in = &b->layer->input[0];

    layer_add_weight(b, "kernel", SIZES(in->dim[in->rank - 1], c->units), &c->kernel_initializer,
                     &c->kernel_regularizer);
    if (c->use_bias)
        layer_add_weight(b, "bias", SIZES(c->units), &c->bias_initializer, &c->bias_regularizer);
}

static int call_dense(struct layer_call *c)
{
    struct graph *g = &c->t->graph;
    int x = c->input[0], kernel = layer_read_cast(c, 0);
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {g->node[x].shape.rank - 1}};

    layer_source(c, "MatMul");
    x = graph_dot_general(g, x, kernel, &dot, c->dtype, c->precision);
    if (c->layer->c.use_bias)
        x = layer_bias(c, x, 1);
    return layer_activate(c, x);
}

const struct layer_functions layer_dense = {shape_dense, build_dense, call_dense};

/* ---- embeddings ---- */

#define ROWS_BY_PRODUCT 128             /* what one register row holds */

static int shape_embedding(const struct layer *l, const struct shape *in, int count,
                           struct shape *out, struct err *e)
{
    (void)count;
    if (in->rank > 4)
        return layer_expect_rank(l, in, 4, "at most 4 dimensions of whole numbers", e);
    if (l->c.masks_zero && in->rank != 1)
        return layer_fail(l, e, "\"mask_zero\" of samples of %d dimensions is not supported: a "
                          "mask is of the steps of [steps]", in->rank);
    *out = *in;
    out->dtype = DTYPE_F32;
    out->dim[out->rank++] = l->c.units;
    return 0;
}

static void build_embedding(struct layer_build *b)
{
    const struct layer_config *c = &b->layer->c;

    layer_add_weight(b, "embeddings", SIZES(c->rows, c->units), &c->kernel_initializer,
                     &c->kernel_regularizer);
}

/*
 * A product with few rows takes less time than fetching one after the other, and the time does not
 * depend on which ones. At precision highest a sum of one row and zeros is that row.
 */
static int rows_by_product(struct graph *g, int table, int ids)
{
    int which = nn_one_hot(g, ids, g->node[table].shape.dim[0], DTYPE_F32);
    struct graph_dot dot = {.contract_count = 1,
                            .lhs_contract = {g->node[which].shape.rank - 1}};

    return graph_dot_general(g, which, table, &dot, DTYPE_F32, PRECISION_HIGHEST);
}

/* the rows are cast, not the table */
static int call_embedding(struct layer_call *c)
{
    struct graph *g = &c->t->graph;
    int table = layer_read(c, 0), ids = graph_convert(g, c->input[0], DTYPE_S32), rows;

    if (c->layer->c.rows <= ROWS_BY_PRODUCT) {
        layer_source(c, "MatMul");
        rows = rows_by_product(g, table, ids);
    } else {
        layer_source(c, "GatherV2");
        rows = nn_embedding(g, table, ids);
    }
    if (c->layer->c.masks_zero) {
        layer_source(c, "Mask");
        c->made_mask = graph_compare(g, COMPARE_NE, c->input[0], graph_splat(g, c->input[0], 0.0));
        c->made_mask = graph_convert(g, c->made_mask, DTYPE_F32);
    }
    layer_source(c, "Cast");
    return graph_convert(g, rows, c->dtype);
}

const struct layer_functions layer_embedding = {shape_embedding, build_embedding, call_embedding};

static int shape_position(const struct layer *l, const struct shape *in, int count,
                          struct shape *out, struct err *e)
{
    (void)count;
    if (layer_expect_rank(l, in, 2, "[positions, width]", e) != 0)
        return -1;
    if (in->dim[0] > l->c.rows)
        return layer_fail(l, e, "its input has %" PRId64 " positions, but \"sequence_length\" is "
                          "%" PRId64, in->dim[0], l->c.rows);
    *out = *in;
    return 0;
}

static void build_position(struct layer_build *b)
{
    const struct layer_config *c = &b->layer->c;

    layer_add_weight(b, "embeddings", SIZES(c->rows, b->layer->input[0].dim[1]),
                     &c->kernel_initializer, NULL);
}

/* the first rows, for each sample of the batch */
static int call_position(struct layer_call *c)
{
    struct graph *g = &c->t->graph;
    struct shape like = g->node[c->input[0]].shape;
    int64_t start[2] = {0, 0}, limit[2] = {like.dim[1], like.dim[2]};
    int table = layer_read_cast(c, 0);

    layer_source(c, "Slice");
    table = graph_slice(g, table, start, limit, NULL);
    layer_source(c, "Broadcast");
    return nn_spread(g, table, c->input[0]);
}

const struct layer_functions layer_position = {shape_position, build_position, call_position};

/* ---- dropout ---- */

static int shape_same(const struct layer *l, const struct shape *in, int count,
                      struct shape *out, struct err *e)
{
    (void)l;
    (void)count;
    (void)e;
    *out = *in;
    return 0;
}

/* "noise_shape" counts the batch: 1 where places share what is drawn, else null */
static int shape_dropout(const struct layer *l, const struct shape *in, int count,
                         struct shape *out, struct err *e)
{
    if (l->c.shape_count > 0 && l->c.shape_count != in->rank + 1)
        return layer_fail(l, e, "\"noise_shape\" has %" PRId64 " dimensions; with the batch its "
                          "input has %d", l->c.shape_count, in->rank + 1);
    return shape_same(l, in, count, out, e);
}

static int call_dropout(struct layer_call *c)
{
    const struct layer_config *l = &c->layer->c;
    uint32_t own = 0;

    if (l->shape_count == 0)
        return layer_drop(c, c->input[0]);
    for (int64_t d = 0; d < l->shape_count; d++)
        own |= l->shape[d] == 1 ? 0 : 1u << d;
    return layer_drop_shared(c, c->input[0], own);
}

const struct layer_functions layer_dropout = {shape_dropout, NULL, call_dropout};

static int call_spatial_dropout(struct layer_call *c)
{
    int last = c->t->graph.node[c->input[0]].shape.rank - 1;

    return layer_drop_shared(c, c->input[0], 1u | 1u << last);
}

const struct layer_functions layer_spatial_dropout = {shape_same, NULL, call_spatial_dropout};

static int call_identity(struct layer_call *c)
{
    return c->input[0];
}

const struct layer_functions layer_identity = {shape_same, NULL, call_identity};
