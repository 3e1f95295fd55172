/*
 * Convolutions of images of one channel, or of few that are each convolved by themselves: a blur, an
 * edge filter, jax.scipy.signal.convolve2d. The kernel of convolutions takes features for its lanes
 * and would use one of 128, or a few. Here lines lie along lanes: the image shifted along them by each
 * tap of a line, times the taps, gives a sum for each row of the window, and these are added up,
 * shifted by rows. All is f32, and what a plane holds elsewhere does not meet it.
 */
#include "stack/expand/expand.h"

#include "base/units.h"
#include "stack/hlo/array.h"
#include "stack/hlo/graph_shape.h"

#define CHANNELS_MAX 8
#define TAPS_MAX 256
#define COPIES_BYTES_MAX (1ll << 28)    /* of the image shifted along lines */
/* what decides, on v5e: of a kernel, of one that takes a tap out, of a shift of each tile, of a tap of
 * it; and, by the kernel of convolutions, tenths of a cycle for each tap of each pixel, in each pass */
#define KERNEL_CYCLES 800
#define TAP_KERNEL_CYCLES 350
#define SHIFTED_TILE_CYCLES 15
#define TAP_CYCLES 2
#define CONVOLVED_TAP_TENTHS 3

enum { LINES = 2, LANES = 3, RANK = 4 };        /* [batch, channels, lines, pixels of a line] */

struct planes {
    int64_t batch, channels, taps[2];
    struct shape padded, result;
};

static bool is_plain(const struct graph_window *w)
{
    return w->stride == 1 && w->base_dilation == 1;
}

static int64_t passes_of(const struct graph_node *n)
{
    return n->precision == PRECISION_DEFAULT ? 1 : n->precision == PRECISION_HIGH ? 3 : 6;
}

static bool is_sooner(const struct graph_node *n, const struct planes *p)
{
    int64_t taps = p->taps[0] * p->taps[1], shifts = p->taps[0] + p->taps[1], by_planes, convolved;
    struct array a;

    array_init(&a, "", &p->padded, NULL);
    by_planes = (shifts + 1) * KERNEL_CYCLES + taps * TAP_KERNEL_CYCLES
                + a.tile_count * (shifts * SHIFTED_TILE_CYCLES + taps * TAP_CYCLES);
    convolved = passes_of(n) * p->batch * p->result.dim[LINES] * p->result.dim[LANES] * taps
                * CONVOLVED_TAP_TENTHS / 10;
    return taps <= TAPS_MAX && a.bytes <= COPIES_BYTES_MAX / p->taps[1] && by_planes < convolved;
}

static bool find_planes(const struct graph *g, const struct graph_node *n, struct planes *p)
{
    const struct shape *x = &g->node[n->operand[0]].shape, *k = &g->node[n->operand[1]].shape;
    const struct graph_conv *c = n->conv;

    if (c->spatial_count != 2 || c->batch_groups != 1 || !is_plain(&n->window[0]) ||
        !is_plain(&n->window[1]) || !graph_dtype_is_float(x->dtype) ||
        !graph_dtype_is_float(k->dtype) || !graph_dtype_is_float(n->shape.dtype))
        return false;
    *p = (struct planes){.batch = x->dim[c->in_batch], .channels = x->dim[c->in_feature]};
    if (p->channels > CHANNELS_MAX || c->feature_groups != p->channels ||
        k->dim[c->kernel_out] != p->channels || k->dim[c->kernel_in] != 1)
        return false;
    p->padded = p->result = shape_make(DTYPE_F32, 2, (int64_t[]){p->batch, p->channels});
    p->padded.rank = p->result.rank = RANK;
    for (int i = 0; i < 2; i++) {
        const struct graph_window *w = &n->window[i];

        p->taps[i] = k->dim[c->kernel_spatial[i]];
        p->padded.dim[LINES + i] = x->dim[c->in_spatial[i]] + w->pad_low + w->pad_high;
        p->result.dim[LINES + i] = n->shape.dim[c->out_spatial[i]];
    }
    return p->taps[0] > 0 && p->taps[1] > 0 && shape_elems(&p->result) > 0 && is_sooner(n, p);
}

/* the image with zeros around it */
static int padded_image(struct graph *g, const struct graph_node *n)
{
    const struct graph_conv *c = n->conv;
    int64_t low[GRAPH_RANK_MAX] = {0}, high[GRAPH_RANK_MAX] = {0};
    int x = graph_transpose(g, n->operand[0], (int[GRAPH_RANK_MAX]){
                                c->in_batch, c->in_feature, c->in_spatial[0], c->in_spatial[1]});

    for (int i = 0; i < 2; i++) {
        low[LINES + i] = n->window[i].pad_low;
        high[LINES + i] = n->window[i].pad_high;
    }
    x = graph_convert(g, x, DTYPE_F32);
    return graph_pad(g, x, graph_constant(g, shape_scalar(DTYPE_F32), 0), low, high, NULL);
}

/* tap (i, j) of each channel, wherever an image of this shape has that channel */
static int tap_of(struct graph *g, int taps, int64_t i, int64_t j, const struct shape *like)
{
    struct shape s = g->node[taps].shape;
    int64_t start[GRAPH_RANK_MAX] = {0, i, j}, limit[GRAPH_RANK_MAX] = {s.dim[0], i + 1, j + 1};
    int tap = graph_slice(g, taps, start, limit, NULL);

    if (s.dim[0] == 1)
        return graph_broadcast(g, graph_reshape(g, tap, shape_scalar(s.dtype)), *like, NULL);
    tap = graph_reshape(g, tap, shape_make(s.dtype, 1, s.dim));
    return graph_broadcast(g, tap, *like, (int[]){1});
}

/* the window's place in the kernel, and how far it looks */
static int64_t tap_place(const struct graph_window *w, int64_t size, int64_t tap)
{
    return w->is_reversed ? size - 1 - tap : tap;
}

/* along its lines: of row i of the window, all pixels of a line */
static int line_sums(struct graph *g, const struct graph_node *n, const struct planes *p, int taps,
                     const int *shifted, int64_t i)
{
    struct shape like = p->padded;
    int sum = NODE_NONE;

    like.dim[LANES] = p->result.dim[LANES];
    for (int64_t j = 0; j < p->taps[1]; j++) {
        int tap = tap_of(g, taps, tap_place(&n->window[0], p->taps[0], i),
                         tap_place(&n->window[1], p->taps[1], j), &like);
        int product = graph_binary(g, HLO_MULTIPLY, shifted[j], tap);

        sum = sum == NODE_NONE ? product : graph_binary(g, HLO_ADD, sum, product);
    }
    return sum;
}

static int as_result(struct graph *g, const struct graph_node *n, int x)
{
    const struct graph_conv *c = n->conv;
    int order[GRAPH_RANK_MAX];

    order[c->out_batch] = 0;
    order[c->out_feature] = 1;
    order[c->out_spatial[0]] = LINES;
    order[c->out_spatial[1]] = LANES;
    return graph_convert(g, graph_transpose(g, x, order), n->shape.dtype);
}

int expand_planes(struct graph *g, const struct graph_node *node)
{
    const struct graph_node kept = *node, *n = &kept;   /* what is added moves it */
    int shifted[TAPS_MAX], sum = NODE_NONE, taps, x;
    struct planes p;

    if (n->op != HLO_CONVOLUTION || !find_planes(g, n, &p))
        return NODE_NONE;
    taps = graph_transpose(g, n->operand[1], (int[GRAPH_RANK_MAX]){
                               n->conv->kernel_out, n->conv->kernel_spatial[0],
                               n->conv->kernel_spatial[1], n->conv->kernel_in});
    taps = graph_convert(g, taps, DTYPE_F32);
    taps = graph_reshape(g, taps, shape_make(DTYPE_F32, 3, (int64_t[]){p.channels, p.taps[0],
                                                                       p.taps[1]}));
    x = padded_image(g, n);
    for (int64_t j = 0; j < p.taps[1]; j++)
        shifted[j] = expand_part(g, x, LANES, j * n->window[1].window_dilation, p.result.dim[LANES],
                                 1);
    for (int64_t i = 0; i < p.taps[0]; i++) {
        int line = line_sums(g, n, &p, taps, shifted, i);

        line = expand_part(g, line, LINES, i * n->window[0].window_dilation, p.result.dim[LINES], 1);
        sum = sum == NODE_NONE ? line : graph_binary(g, HLO_ADD, sum, line);
    }
    return as_result(g, n, sum);
}
