/*
 * Masks: which steps of its samples count. Some layers make one, some pass it on, some compute by
 * it (layers.def says which); in a trace it is an f32 array [batch, steps] of 0 and 1.
 */
#include "keras/layers/layer_impl.h"

#include <inttypes.h>

/* what a layer that follows masks gives: a recurrent one's last state has no steps */
static bool follower_gives(const struct layer *l, bool first_has)
{
    if (l->kind == LAYER_GLOBAL_AVERAGE_POOLING1D)
        return false;
    if (layer_functions(l->kind) == &layer_recurrent || layer_functions(l->kind) == &layer_conv_lstm)
        return first_has && l->c.returns_sequences;
    return first_has;                   /* an attention's is its query's */
}

/* on each step by itself a layer that knows of masks would see single numbers of one */
static int check_masked(const struct layer *l, const struct shape *in, struct err *e)
{
    enum layer_masking masking = layer_masking(l->kind);
    const char *why = NULL;

    if (l->is_distributed && masking != MASK_PASSED && masking != MASK_DROPPED)
        why = "TimeDistributed of this layer";
    else if (masking == MASK_REFUSED)
        why = layer_class(l->kind);
    else if (l->kind == LAYER_CONCATENATE && in[0].rank != 2)
        why = "Concatenate of more than [steps, features]";
    else if (l->kind == LAYER_MULTI_HEAD_ATTENTION && in[0].rank != 2)
        why = "MultiHeadAttention of more than [positions, width]";
    if (!why)
        return 0;
    return layer_fail(l, e, "its input is masked, by mask_zero or Masking before it; %s that heeds "
                      "masks is not supported", why);
}

int layer_gives_mask(const struct layer *l, const struct shape *in, const bool *has_mask,
                     int input_count, bool *gives, struct err *e)
{
    bool any = false, all = input_count > 0;

    for (int i = 0; i < input_count; i++) {
        any = any || has_mask[i];
        all = all && has_mask[i];
    }
    *gives = false;
    if (any && check_masked(l, in, e) != 0)
        return -1;
    switch (l->is_distributed ? MASK_PASSED : layer_masking(l->kind)) {
    case MASK_PASSED: *gives = any; break;
    case MASK_MERGED: *gives = l->kind == LAYER_CONCATENATE ? any : all; break;
    case MASK_MADE: *gives = l->kind == LAYER_MASKING || l->c.masks_zero; break;
    case MASK_FOLLOWED: *gives = follower_gives(l, has_mask[0]); break;
    case MASK_DROPPED:
    case MASK_REFUSED: break;
    }
    return 0;
}

/* of an input without a mask all steps count */
static int mask_or_ones(struct layer_call *c, int i)
{
    const struct shape *s = &c->t->graph.node[c->input[i]].shape;

    if (c->mask[i] != NODE_NONE)
        return c->mask[i];
    return graph_constant(&c->t->graph, shape_make(DTYPE_F32, 2, s->dim), 1.0);
}

static int merged_mask(struct layer_call *c, int output)
{
    struct graph *g = &c->t->graph;
    int64_t steps = g->node[output].shape.dim[1];
    int mask[LAYER_INPUTS_MAX];

    for (int i = 0; i < c->input_count; i++)
        mask[i] = mask_or_ones(c, i);
    if (steps != g->node[c->input[0]].shape.dim[1])       /* joined along the steps */
        return graph_concatenate(g, mask, c->input_count, 1);
    for (int i = 1; i < c->input_count; i++)
        mask[0] = graph_binary(g, HLO_MAXIMUM, mask[0], mask[i]);
    return mask[0];
}

int layer_mask_of(struct layer_call *c, int output)
{
    layer_source(c, "Mask");
    if (c->layer->is_distributed)
        return c->mask[0];
    switch (layer_masking(c->layer->kind)) {
    case MASK_MADE: return c->made_mask;
    case MASK_MERGED: return merged_mask(c, output);
    default: return c->mask[0];
    }
}

int layer_where(struct graph *g, int mask, int x, int y)
{
    struct shape s = g->node[x].shape;
    int dims[GRAPH_RANK_MAX], kept, other;

    for (int i = 0; i < g->node[mask].shape.rank; i++)
        dims[i] = i;
    s.dtype = DTYPE_F32;
    kept = graph_broadcast(g, mask, s, dims);
    other = y == NODE_NONE ? graph_splat(g, x, 0.0) : y;
    return graph_select(g, graph_compare(g, COMPARE_GT, kept, graph_splat(g, kept, 0.5)), x,
                        other);
}

/* ---- the layer that makes one of values ---- */

static int shape_masking(const struct layer *l, const struct shape *in, int count,
                         struct shape *out, struct err *e)
{
    (void)count;
    if (in->rank < 2)
        return layer_expect_rank(l, in, 2, "[steps, features]", e);
    if (in->rank > 2)
        return layer_fail(l, e, "Masking of samples of %d dimensions is not supported: a mask is "
                          "of the steps of [steps, features]", in->rank);
    *out = *in;
    return 0;
}

static int call_masking(struct layer_call *c)
{
    struct graph *g = &c->t->graph;
    int x = c->input[0], differs;

    layer_source(c, "Masking");
    differs = graph_compare(g, COMPARE_NE, x, graph_splat(g, x, c->layer->c.mask_value));
    differs = graph_reduce(g, REDUCE_MAX, graph_convert(g, differs, DTYPE_F32), 1u << 2);
    c->made_mask = graph_hold(g, differs);
    return layer_where(g, c->made_mask, x, NODE_NONE);
}

const struct layer_functions layer_masked = {shape_masking, NULL, call_masking};
