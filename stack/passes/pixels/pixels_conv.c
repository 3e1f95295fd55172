/* Convolutions over pixels that lie side by side, and their gradients by kernel. */
#include "stack/passes/pixels/pixels_conv.h"

#include <assert.h>

#define WIDTH 2                         /* dimensions of an array of images */
#define TAPS 1                          /* and of a kernel [height, width, in, out] */
#define IN 2
#define OUT 3

/* ----- along the width */

static int64_t div_floor(int64_t a, int64_t b) { return a / b - (a % b < 0); }

static int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }

bool pixels_width_make(struct pixels_width *w, int in, int out, int64_t taps, int64_t pad,
                       int64_t stride, int64_t dilation)
{
    int64_t a = dilation * in, b = stride * out, last;

    if (a % b != 0 && b % a != 0)
        return false;
    *w = (struct pixels_width){in, out, taps, pad, stride, dilation, min_of(a, b), 0, 0};
    w->first = -div_floor(dilation * (in - 1) + pad, w->unit);
    last = div_floor(taps - 1 + stride * (out - 1) - pad, w->unit);
    w->group_taps = last - w->first + 1;
    return true;
}

/* the tap of the kernel that tap 0 over groups has for pixel r of the input and s of the result */
static int64_t tap_of(const struct pixels_width *w, int r, int s)
{
    return w->unit * w->first + w->dilation * r - w->stride * s + w->pad;
}

/* taps over groups and pixels of the input count on through the kernel's own taps */
static bool is_in_row(const struct pixels_width *w) { return w->dilation == 1 && w->unit == w->in; }

static void window_forward(struct graph_window *to, const struct pixels_width *w, int64_t groups_in,
                           int64_t groups_out)
{
    to->is_reversed = false;
    to->size = w->group_taps;
    to->stride = w->stride * w->out / w->unit;
    to->base_dilation = w->dilation * w->in / w->unit;
    to->pad_low = -w->first;
    to->pad_high = to->stride * (groups_out - 1) + to->size - 1 -
                   to->base_dilation * (groups_in - 1) - to->pad_low;
}

/* the window is the other operand's groups, the result the taps over groups */
static void window_gradient(struct graph_window *to, const struct pixels_width *w, int64_t groups_in)
{
    to->size /= w->out;
    to->window_dilation = w->stride * w->out / w->unit;
    to->base_dilation = w->dilation * w->in / w->unit;
    to->pad_low = -w->first;
    to->pad_high = to->window_dilation * (to->size - 1) + w->group_taps - 1 -
                   to->base_dilation * (groups_in - 1) - to->pad_low;
}

/* ----- features in groups */

/* the group of each element of `s` along dimension `dim` */
static int group_along(struct graph *g, struct shape s, int dim, int64_t groups)
{
    struct shape split = {.dtype = DTYPE_S32, .rank = s.rank + 1};

    for (int i = 0; i < s.rank; i++)
        split.dim[i + (i > dim)] = s.dim[i];
    split.dim[dim] = groups;
    split.dim[dim + 1] = s.dim[dim] / groups;
    return graph_reshape(g, graph_iota(g, split, dim), shape_make(DTYPE_S32, s.rank, s.dim));
}

/* kernels [height, width, in, out], zeros where in and out are not of the same of `groups` */
static int zero_between(struct graph *g, int k, int64_t groups)
{
    const struct shape s = g->node[k].shape;
    int in = group_along(g, s, IN, groups), out = group_along(g, s, OUT, groups);
    int is_same = graph_compare(g, COMPARE_EQ, in, out);

    return graph_select(g, is_same, k, graph_splat(g, k, 0));
}

/* [height, width, in / groups, out] to [height, width, in, out], zeros between groups */
static int dense_kernel(struct graph *g, int k, int64_t groups)
{
    static const int dims[] = {0, TAPS, IN + 1, OUT + 1};
    const struct shape s = g->node[k].shape;
    struct shape all = shape_make(s.dtype, 4, s.dim);

    if (groups == 1)
        return k;
    k = graph_broadcast(g, k, shape_make(s.dtype, 5, (const int64_t[]){
            s.dim[0], s.dim[TAPS], groups, s.dim[IN], s.dim[OUT]}), dims);
    all.dim[IN] *= groups;
    k = graph_reshape(g, k, all);
    return zero_between(g, k, groups);
}

/* and back: of each result the inputs of its own group */
static int own_groups(struct graph *g, int k, int64_t groups)
{
    const struct shape s = g->node[k].shape;

    if (groups == 1)
        return k;
    k = zero_between(g, k, groups);
    k = graph_reshape(g, k, shape_make(s.dtype, 5, (const int64_t[]){
            s.dim[0], s.dim[TAPS], groups, s.dim[IN] / groups, s.dim[OUT]}));
    return graph_reduce(g, REDUCE_ADD, k, 1 << IN);
}

/* ----- kernels over groups of pixels */

/* dimension `dim` with zeros before, between and behind its elements; fewer than none cut it off */
static int zeros_around(struct graph *g, int x, int dim, int64_t low, int64_t between, int64_t high)
{
    int64_t before[GRAPH_RANK_MAX] = {0}, behind[GRAPH_RANK_MAX] = {0};
    int64_t inside[GRAPH_RANK_MAX] = {0};

    if (low == 0 && high == 0 && between == 0)
        return x;
    before[dim] = low;
    behind[dim] = high;
    inside[dim] = between;
    return graph_pad(g, x, graph_constant(g, shape_make(g->node[x].shape.dtype, 0, NULL), 0),
                     before, behind, inside);
}

/* elements first, first + step, ... of dimension `dim`, `count` of them */
static int every(struct graph *g, int x, int dim, int64_t first, int64_t step, int64_t count)
{
    const struct shape s = g->node[x].shape;
    int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX], stride[GRAPH_RANK_MAX];

    if (first == 0 && step == 1 && count == s.dim[dim])
        return x;
    for (int i = 0; i < s.rank; i++) {
        limit[i] = s.dim[i];
        stride[i] = 1;
    }
    start[dim] = first;
    limit[dim] = first + step * (count - 1) + 1;
    stride[dim] = step;
    return graph_slice(g, x, start, limit, stride);
}

/* [height, width, in, out], the width in the order of the taps */
static int plain_kernel(struct graph *g, const struct graph_node *n)
{
    const struct graph_conv *c = n->conv;
    const int order[] = {c->kernel_spatial[0], c->kernel_spatial[1], c->kernel_in, c->kernel_out};
    const int dim = TAPS;
    int k = graph_transpose(g, n->operand[1], order);

    k = n->window[1].is_reversed && n->window[1].size > 1 ? graph_reverse(g, k, &dim, 1) : k;
    return dense_kernel(g, k, c->feature_groups);
}

/* the taps of pixel s of the result, for all pixels of the input one behind the other */
static int column_in_row(struct graph *g, int k, const struct pixels_width *w, int s)
{
    const struct shape of = g->node[k].shape;
    int64_t low = -tap_of(w, 0, s);

    k = zeros_around(g, k, TAPS, low, 0, w->group_taps * w->unit - w->taps - low);
    if (w->in == 1)
        return k;
    return graph_reshape(g, k, shape_make(of.dtype, 4, (const int64_t[]){
               of.dim[0], w->group_taps, w->in * of.dim[IN], of.dim[OUT]}));
}

/* those taps for each pixel of the input by itself */
static int column_of_rows(struct graph *g, int k, const struct pixels_width *w, int s)
{
    int row[PIXELS_MAX];

    for (int r = 0; r < w->in; r++) {
        int64_t first = tap_of(w, r, s), low = first < 0 ? -first : 0;
        int64_t end = first + w->unit * (w->group_taps - 1) + 1;
        int64_t high = end > w->taps ? end - w->taps : 0;

        row[r] = every(g, zeros_around(g, k, TAPS, low, 0, high), TAPS, first + low, w->unit,
                       w->group_taps);
    }
    return w->in == 1 ? row[0] : graph_concatenate(g, row, w->in, IN);
}

static int kernel_of_groups(struct graph *g, int k, const struct pixels_width *w)
{
    int column[PIXELS_MAX];

    for (int s = 0; s < w->out; s++)
        column[s] = is_in_row(w) ? column_in_row(g, k, w, s) : column_of_rows(g, k, w, s);
    return w->out == 1 ? column[0] : graph_concatenate(g, column, w->out, OUT);
}

int pixels_forward(struct graph *g, const struct graph_node *n, const struct pixels_width *w,
                   int input)
{
    struct graph_window window[2] = {n->window[0], n->window[1]};
    struct graph_conv c = *n->conv;
    int k = kernel_of_groups(g, plain_kernel(g, n), w);

    window_forward(&window[1], w, g->node[input].shape.dim[c.in_spatial[1]],
                   n->shape.dim[WIDTH] / w->out);
    c.kernel_spatial[0] = 0;
    c.kernel_spatial[1] = TAPS;
    c.kernel_in = IN;
    c.kernel_out = OUT;
    c.feature_groups = 1;
    k = graph_convolution(g, input, k, window, &c, n->shape.dtype, n->precision);
    assert(g->node[k].shape.dim[WIDTH] == n->shape.dim[WIDTH] / w->out);
    return k;
}

/* ----- gradients by kernel */

/* taps of pixel s of the result, [height, taps, in, out], of [height, taps x in pixels, in, out] */
static int part_in_row(struct graph *g, int x, const struct pixels_width *w, int s)
{
    int64_t out = g->node[x].shape.dim[OUT] / w->out;

    x = every(g, x, TAPS, -tap_of(w, 0, s), 1, w->taps);
    return every(g, x, OUT, s * out, 1, out);
}

/* and of pixel r of the input; taps that it has none of are zeros */
static int part_of_row(struct graph *g, int x, const struct pixels_width *w, int r, int s)
{
    int64_t in = g->node[x].shape.dim[IN] / w->in, out = g->node[x].shape.dim[OUT] / w->out;
    int64_t at = tap_of(w, r, s), first = at < 0 ? -div_floor(at, w->unit) : 0;
    int64_t last = min_of(div_floor(w->taps - 1 - at, w->unit), w->group_taps - 1), count;

    count = last - first + 1;
    if (count <= 0)
        return NODE_NONE;
    x = every(g, x, TAPS, first, 1, count);
    x = every(g, every(g, x, IN, r * in, 1, in), OUT, s * out, 1, out);
    at += w->unit * first;
    return zeros_around(g, x, TAPS, at, w->unit - 1,
                        w->taps - at - (w->unit * (count - 1) + 1));
}

static int add_part(struct graph *g, int sum, int part)
{
    if (sum == NODE_NONE || part == NODE_NONE)
        return sum == NODE_NONE ? part : sum;
    return graph_binary(g, HLO_ADD, sum, part);
}

/* each tap of the plain kernel is the sum of what the kernel of groups has of it */
static int sum_of_parts(struct graph *g, int x, const struct pixels_width *w)
{
    const struct shape s = g->node[x].shape;
    int sum = NODE_NONE;

    if (is_in_row(w) && w->in > 1)
        x = graph_reshape(g, x, shape_make(s.dtype, 4, (const int64_t[]){
                s.dim[0], s.dim[TAPS] * w->in, s.dim[IN] / w->in, s.dim[OUT]}));
    for (int i = 0; i < w->out; i++) {
        if (is_in_row(w)) {
            sum = add_part(g, sum, part_in_row(g, x, w, i));
            continue;
        }
        for (int r = 0; r < w->in; r++)
            sum = add_part(g, sum, part_of_row(g, x, w, r, i));
    }
    return sum;
}

/* [height, width, in, out] to the dimensions and the type of the gradient */
static int as_gradient(struct graph *g, const struct graph_node *n, int x)
{
    const struct graph_conv *c = n->conv;
    int back[4] = {0};

    back[c->out_spatial[0]] = 0;
    back[c->out_spatial[1]] = TAPS;
    back[c->out_batch] = IN;
    back[c->out_feature] = OUT;
    return graph_convert(g, graph_transpose(g, x, back), n->shape.dtype);
}

int pixels_gradient(struct graph *g, const struct graph_node *n, const struct pixels_width *w,
                    int input, int kernel)
{
    struct graph_window window[2] = {n->window[0], n->window[1]};
    struct graph_conv c = *n->conv;
    int y;

    window_gradient(&window[1], w, g->node[input].shape.dim[c.in_spatial[1]]);
    c.out_spatial[0] = 0;
    c.out_spatial[1] = TAPS;
    c.out_batch = IN;
    c.out_feature = OUT;
    c.batch_groups = 1;
    y = graph_convolution(g, input, kernel, window, &c, DTYPE_F32, n->precision);
    assert(g->node[y].shape.dim[TAPS] == w->group_taps);
    y = own_groups(g, sum_of_parts(g, y, w), n->conv->batch_groups);
    return as_gradient(g, n, y);
}
