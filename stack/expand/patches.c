/*
 * Convolutions whose windows lie side by side, as the first layer of a vision transformer has them:
 * 16x16 pixels of three channels, every 16 pixels. Few channels fill few lanes; so pixels and
 * channels of a patch become one dimension, and the convolution a product of matrices.
 */
#include "stack/expand/expand.h"

#include "stack/hlo/graph_shape.h"

#define CHANNELS_MAX 16                 /* an eighth of the lanes: more are convolved as they lie */

static bool is_float(enum graph_dtype t) { return t == DTYPE_F32 || t == DTYPE_BF16; }

static bool has_patches(const struct graph *g, const struct graph_node *n)
{
    const struct graph_conv *c = n->conv;
    const struct shape *in = &g->node[n->operand[0]].shape, *k = &g->node[n->operand[1]].shape;
    int64_t taps = 1;

    if (n->op != HLO_CONVOLUTION || c->feature_groups != 1 || c->batch_groups != 1
        || !is_float(in->dtype) || !is_float(k->dtype) || !is_float(n->shape.dtype)
        || in->dim[c->in_feature] > CHANNELS_MAX)
        return false;
    for (int i = 0; i < c->spatial_count; i++) {
        const struct graph_window *w = &n->window[i];
        int64_t size = k->dim[c->kernel_spatial[i]];

        if (w->stride != size || w->base_dilation != 1 || w->window_dilation != 1 || w->is_reversed
            || w->pad_low != 0 || w->pad_high > 0
            || in->dim[c->in_spatial[i]] < n->shape.dim[c->out_spatial[i]] * size)
            return false;
        taps *= size;
    }
    return taps > 1 && in->rank + c->spatial_count <= GRAPH_RANK_MAX;
}

/* what no window takes at the end of a dimension is left out */
static int whole_patches(struct graph *g, const struct graph_node *n)
{
    const struct shape *in = &g->node[n->operand[0]].shape;
    int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX];

    for (int i = 0; i < in->rank; i++)
        limit[i] = in->dim[i];
    for (int i = 0; i < n->conv->spatial_count; i++)
        limit[n->conv->in_spatial[i]] = n->shape.dim[n->conv->out_spatial[i]] * n->window[i].stride;
    return graph_slice(g, n->operand[0], start, limit, NULL);
}

/* [patches, pixels and channels], channels before or behind the pixels as the image has them */
static int patches_of(struct graph *g, const struct graph_node *n, bool channels_first)
{
    const struct graph_conv *c = n->conv;
    int x = whole_patches(g, n), place[GRAPH_RANK_MAX], order[GRAPH_RANK_MAX], at = 0;
    struct shape s = g->node[x].shape, apart = {.dtype = s.dtype};
    int64_t rows = s.dim[c->in_batch];

    for (int d = 0; d < s.rank; d++) {
        place[d] = apart.rank;
        for (int i = 0; i < c->spatial_count; i++)
            if (c->in_spatial[i] == d) {
                apart.dim[apart.rank++] = s.dim[d] / n->window[i].stride;
                rows *= s.dim[d] / n->window[i].stride;
                s.dim[d] = n->window[i].stride;
            }
        apart.dim[apart.rank++] = s.dim[d];
    }
    order[at++] = place[c->in_batch];
    for (int i = 0; i < c->spatial_count; i++)
        order[at++] = place[c->in_spatial[i]];
    if (channels_first)
        order[at++] = place[c->in_feature];
    for (int i = 0; i < c->spatial_count; i++)
        order[at++] = place[c->in_spatial[i]] + 1;
    if (!channels_first)
        order[at++] = place[c->in_feature];
    x = graph_transpose(g, graph_reshape(g, x, apart), order);
    return graph_reshape(g, x, shape_make(s.dtype, 2, (int64_t[]){rows, shape_elems(&apart) / rows}));
}

static int kernel_matrix(struct graph *g, const struct graph_node *n, bool channels_first)
{
    const struct graph_conv *c = n->conv;
    const struct shape s = g->node[n->operand[1]].shape;
    int order[GRAPH_RANK_MAX], at = 0;
    int64_t columns = s.dim[c->kernel_out];

    if (channels_first)
        order[at++] = c->kernel_in;
    for (int i = 0; i < c->spatial_count; i++)
        order[at++] = c->kernel_spatial[i];
    if (!channels_first)
        order[at++] = c->kernel_in;
    order[at++] = c->kernel_out;
    return graph_reshape(g, graph_transpose(g, n->operand[1], order),
                         shape_make(s.dtype, 2, (int64_t[]){shape_elems(&s) / columns, columns}));
}

int expand_patches(struct graph *g, const struct graph_node *n)
{
    const struct graph_dot dot = {.contract_count = 1, .lhs_contract = {1}, .rhs_contract = {0}};
    const struct graph_conv *c = n->conv;
    struct shape s = {.dtype = n->shape.dtype};
    int order[GRAPH_RANK_MAX], y;
    bool channels_first;

    if (n->op != HLO_CONVOLUTION || !has_patches(g, n))
        return NODE_NONE;
    channels_first = c->in_feature < c->in_spatial[0];
    y = patches_of(g, n, channels_first);
    y = graph_dot_general(g, y, kernel_matrix(g, n, channels_first), &dot, n->shape.dtype,
                          n->precision);
    s.dim[s.rank++] = n->shape.dim[c->out_batch];
    order[c->out_batch] = 0;
    for (int i = 0; i < c->spatial_count; i++) {
        order[c->out_spatial[i]] = s.rank;
        s.dim[s.rank++] = n->shape.dim[c->out_spatial[i]];
    }
    order[c->out_feature] = s.rank;
    s.dim[s.rank++] = n->shape.dim[c->out_feature];
    return graph_transpose(g, graph_reshape(g, y, s), order);
}
