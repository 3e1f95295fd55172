/* Lowers dots and convolutions. */
#include "import/lower/lower_impl.h"

#include "stack/expand/expand.h"

#include <string.h>

/*
 * How exact a product's passes are: the higher of its operands' precisions, unless it names an
 * algorithm, which says more than DEFAULT does.
 */
static enum graph_precision precision_of(const struct hlo_instruction *i)
{
    static const struct { const char *algorithm; enum graph_precision precision; } known[] = {
        {"dot_bf16_bf16_f32_x3", PRECISION_HIGH}, {"dot_bf16_bf16_f32_x6", PRECISION_HIGHEST},
        {"dot_bf16_bf16_f32_x9", PRECISION_HIGHEST}, {"dot_tf32_tf32_f32", PRECISION_HIGH},
        {"dot_tf32_tf32_f32_x3", PRECISION_HIGHEST}, {"dot_f32_f32_f32", PRECISION_HIGHEST},
        {"dot_f64_f64_f64", PRECISION_HIGHEST}, {"dot_f16_f16_f32", PRECISION_HIGH},
        {"dot_f16_f16_f16", PRECISION_HIGH}};
    const char *algorithm = hlo_detail(i)->dot ? hlo_detail(i)->dot->algorithm : NULL;
    enum hlo_precision p = i->precision[0] > i->precision[1] ? i->precision[0] : i->precision[1];

    for (size_t k = 0; algorithm && k < sizeof(known) / sizeof(known[0]); k++)
        if (strcmp(algorithm, known[k].algorithm) == 0)
            return known[k].precision;
    return p == HLO_PRECISION_HIGHEST ? PRECISION_HIGHEST :
           p == HLO_PRECISION_HIGH ? PRECISION_HIGH : PRECISION_DEFAULT;
}

static int copy_dims(struct hlo_ints from, int *to)
{
    for (int i = 0; i < from.count && i < GRAPH_RANK_MAX; i++)
        to[i] = (int)from.item[i];
    return from.count;
}

static bool is_float(enum graph_dtype dtype)
{
    return dtype == DTYPE_F32 || dtype == DTYPE_BF16;
}

enum { SMALL_PRODUCTS = 4096 };

/*
 * A dot of f32 in several passes that is small, or of two vectors, is done by vectors: matrix units
 * would hold a row of it, and the passes cut an infinity into itself and a NaN, so that the sum of
 * squares of a solver that begins with an infinite error would end as NaN.
 */
static bool is_for_vectors(const struct lower_scope *s, const struct graph_node *n,
                           const int *operand)
{
    const struct shape *lhs = &s->g->node[operand[0]].shape, *rhs = &s->g->node[operand[1]].shape;
    int64_t depth = 1, batch = 1, products;

    if (n->precision == PRECISION_DEFAULT || lhs->dtype != DTYPE_F32 || rhs->dtype != DTYPE_F32 ||
        n->shape.dtype != DTYPE_F32)
        return false;
    for (int k = 0; k < n->dot.contract_count; k++)
        depth *= lhs->dim[n->dot.lhs_contract[k]];
    for (int k = 0; k < n->dot.batch_count; k++)
        batch *= lhs->dim[n->dot.lhs_batch[k]];
    if (depth == 0 || batch == 0)
        return false;
    products = shape_elems(lhs) / batch * (shape_elems(rhs) / depth);
    return products <= SMALL_PRODUCTS ||
           (shape_elems(lhs) == batch * depth && shape_elems(rhs) == batch * depth);
}

/* the product, converted where the graph has it in another type; f32 where one operand is */
static void set_product(struct lower_scope *s, struct graph_node *n, enum graph_dtype dtype)
{
    int operand[2] = {lower_operand(s, 0), lower_operand(s, 1)}, node;

    if (operand[0] == NODE_NONE || operand[1] == NODE_NONE) {
        lower_set(s, graph_constant(s->g, lower_shape(s, s->now->type), 0.0));
        return;
    }
    for (int i = 0; i < 2; i++)
        if (s->g->node[operand[0]].shape.dtype != s->g->node[operand[1]].shape.dtype &&
            is_float(s->g->node[operand[1 - i]].shape.dtype))
            operand[i] = graph_convert(s->g, operand[i], DTYPE_F32);
    n->shape = shape_scalar(!is_float(s->g->node[operand[0]].shape.dtype) ? DTYPE_S32 :
                            is_float(dtype) ? dtype : DTYPE_F32);
    if (n->op == HLO_DOT && is_for_vectors(s, n, operand)) {
        struct shape shape = lower_shape(s, s->now->type);

        shape.dtype = DTYPE_F32;
        node = graph_reshape(s->g, expand_dot_by_vectors(s->g, n, operand), shape);
    } else {
        node = lower_add(s, n, operand, 2);
    }
    lower_set(s, graph_convert(s->g, node, dtype));
}

void lower_dot(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    struct graph_node n = {.op = (enum graph_op)op, .precision = precision_of(i)};
    const struct hlo_dot *d = hlo_detail(i)->dot;

    if (d->lhs_batch.count > GRAPH_RANK_MAX || d->lhs_contract.count > GRAPH_RANK_MAX) {
        lower_refuse(s, "more than %d dimensions", GRAPH_RANK_MAX);
        return;
    }
    n.dot.batch_count = copy_dims(d->lhs_batch, n.dot.lhs_batch);
    copy_dims(d->rhs_batch, n.dot.rhs_batch);
    n.dot.contract_count = copy_dims(d->lhs_contract, n.dot.lhs_contract);
    copy_dims(d->rhs_contract, n.dot.rhs_contract);
    set_product(s, &n, lower_shape(s, i->type).dtype);
}

static const struct graph_conv *labels_of(struct lower_scope *s, const struct hlo_conv *c)
{
    struct graph_conv *g = arena_alloc(s->l->arena, sizeof(*g));

    *g = (struct graph_conv){
        .spatial_count = c->in_spatial.count, .in_batch = (int)c->in_batch,
        .in_feature = (int)c->in_feature, .kernel_in = (int)c->kernel_in,
        .kernel_out = (int)c->kernel_out, .out_batch = (int)c->out_batch,
        .out_feature = (int)c->out_feature,
        .feature_groups = c->feature_groups ? c->feature_groups : 1,
        .batch_groups = c->batch_groups ? c->batch_groups : 1};
    for (int k = 0; k < c->in_spatial.count; k++) {
        g->in_spatial[k] = (int)c->in_spatial.item[k];
        g->kernel_spatial[k] = (int)c->kernel_spatial.item[k];
        g->out_spatial[k] = (int)c->out_spatial.item[k];
    }
    return g;
}

const struct graph_window *lower_windows(struct lower_scope *s, const struct hlo_instruction *i)
{
    struct graph_window *w =
        arena_array(s->l->arena, (size_t)hlo_detail(i)->window_count + 1, sizeof(*w));

    for (int d = 0; d < hlo_detail(i)->window_count; d++)
        w[d] = (struct graph_window){.size = hlo_detail(i)->window[d].size,
                                     .stride = hlo_detail(i)->window[d].stride,
                                     .pad_low = hlo_detail(i)->window[d].pad_low,
                                     .pad_high = hlo_detail(i)->window[d].pad_high,
                                     .base_dilation = hlo_detail(i)->window[d].base_dilation,
                                     .window_dilation = hlo_detail(i)->window[d].window_dilation,
                                     .is_reversed = hlo_detail(i)->window[d].is_reversed};
    return w;
}

void lower_convolution(struct lower_scope *s, const struct hlo_instruction *i, int op)
{
    struct graph_node n = {.op = (enum graph_op)op, .precision = precision_of(i)};

    if (hlo_detail(i)->conv->in_spatial.count > GRAPH_SPATIAL_MAX) {
        lower_refuse(s, "%d spatial dimensions are more than %d",
                     hlo_detail(i)->conv->in_spatial.count, GRAPH_SPATIAL_MAX);
        return;
    }
    n.conv = labels_of(s, hlo_detail(i)->conv);
    n.window = lower_windows(s, i);
    set_product(s, &n, lower_shape(s, i->type).dtype);
}
