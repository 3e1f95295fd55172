/*
 * A filter, a convolution along one dimension with one feature in and out (jnp.convolve, a moving
 * average, a matched filter), as one of many features, each by itself. What lies along the dimension
 * is cut into 128 segments, each with the elements behind it that its last results see; these lie
 * beside each other along lanes and are convolved by the same taps. The kernel of one feature would
 * use one lane of 128. No result sees another element than before, be it infinite.
 */
#include "stack/expand/expand.h"

#include "base/units.h"
#include "stack/hlo/array.h"
#include "stack/hlo/graph_shape.h"

#define TAPS_MIN 3
#define WORK_MIN 8192                   /* products: fewer are as soon done as they are */
#define PARTS_MAX 16                    /* segments that one with what it sees reaches over */

struct filter {
    int64_t batch, size, results, taps;
    int64_t segments, step, reach, parts;       /* of each of the batch; results; elements seen */
    int64_t pad_low;
};

static int64_t larger(int64_t x, int64_t y) { return x > y ? x : y; }

static bool is_plain(const struct graph_window *w)
{
    return w->stride == 1 && w->base_dilation == 1 && w->window_dilation == 1;
}

static bool find_filter(const struct graph *g, const struct graph_node *n, struct filter *f)
{
    const struct shape *x = &g->node[n->operand[0]].shape, *k = &g->node[n->operand[1]].shape;
    const struct graph_conv *c = n->conv;

    if (c->spatial_count != 1 || c->feature_groups != 1 || c->batch_groups != 1 ||
        x->dim[c->in_feature] != 1 || k->dim[c->kernel_out] != 1 || !is_plain(n->window) ||
        !graph_dtype_is_float(x->dtype) || !graph_dtype_is_float(n->shape.dtype))
        return false;
    *f = (struct filter){.batch = x->dim[c->in_batch], .size = x->dim[c->in_spatial[0]],
                         .results = n->shape.dim[c->out_spatial[0]],
                         .taps = k->dim[c->kernel_spatial[0]], .pad_low = n->window->pad_low};
    f->step = larger(div_up(f->results, div_up(ARRAY_LANES, f->batch)),
                     div_up(f->taps, PARTS_MAX - 1));
    f->segments = div_up(f->results, f->step);
    f->reach = f->step + f->taps - 1;
    f->parts = div_up(f->reach, f->step);
    return f->taps >= TAPS_MIN && f->batch * f->results * f->taps >= WORK_MIN &&
           f->segments * f->batch > 8;
}

/* [batch, size] of an array with these dimensions and one of a single element */
static int matrix_of(struct graph *g, int x, int batch, int spatial, int feature)
{
    struct shape s = g->node[x].shape;

    return graph_reshape(g, graph_transpose(g, x, (int[GRAPH_RANK_MAX]){batch, spatial, feature}),
                         shape_make(s.dtype, 2, (int64_t[]){s.dim[batch], s.dim[spatial]}));
}

/* [batch, segments, reach]: rows of one segment, each beside those that follow it */
static int segments_of(struct graph *g, int x, const struct filter *f)
{
    enum graph_dtype dtype = g->node[x].shape.dtype;
    int64_t all = f->segments - 1 + f->parts, none[GRAPH_RANK_MAX] = {0};
    int64_t low[GRAPH_RANK_MAX] = {0, f->pad_low};
    int64_t high[GRAPH_RANK_MAX] = {0, all * f->step - f->pad_low - f->size};
    int part[PARTS_MAX];

    x = graph_pad(g, x, graph_constant(g, shape_scalar(dtype), 0), low, high, none);
    x = graph_reshape(g, x, shape_make(dtype, 3, (int64_t[]){f->batch, all, f->step}));
    for (int64_t p = 0; p < f->parts; p++) {
        int64_t left = f->reach - p * f->step;
        int64_t start[GRAPH_RANK_MAX] = {0, p, 0};
        int64_t limit[GRAPH_RANK_MAX] = {f->batch, p + f->segments, left < f->step ? left : f->step};

        part[p] = graph_slice(g, x, start, limit, NULL);
    }
    return graph_concatenate(g, part, (int)f->parts, 2);
}

/* [1, step, segments of all] of segments [batch, segments, reach] and taps of any rank */
static int convolved(struct graph *g, const struct graph_node *n, int x, const struct filter *f)
{
    static const int reach_first[GRAPH_RANK_MAX] = {2, 0, 1};
    int64_t features = f->batch * f->segments;
    struct graph_window w = *n->window;
    struct graph_conv c = {.spatial_count = 1, .in_batch = 0, .in_spatial = {1}, .in_feature = 2,
                           .kernel_spatial = {0}, .kernel_in = 1, .kernel_out = 2, .out_batch = 0,
                           .out_spatial = {1}, .out_feature = 2, .feature_groups = features,
                           .batch_groups = 1};
    struct shape s = {.dtype = g->node[n->operand[1]].shape.dtype, .rank = 1, .dim = {f->taps}};
    int taps = graph_reshape(g, n->operand[1], s);

    taps = graph_broadcast(g, taps, shape_make(s.dtype, 3, (int64_t[]){f->taps, 1, features}),
                           (int[]){0});
    x = graph_reshape(g, graph_transpose(g, x, reach_first),
                      shape_make(g->node[x].shape.dtype, 3, (int64_t[]){1, f->reach, features}));
    w.pad_low = w.pad_high = 0;
    return graph_convolution(g, x, taps, &w, &c, n->shape.dtype, n->precision);
}

/* [batch, results] as the convolution has it */
static int as_result(struct graph *g, int x, const struct graph_node *n)
{
    const struct graph_conv *c = n->conv;
    const int from[] = {c->out_batch, c->out_spatial[0], c->out_feature};
    struct shape s = {.dtype = n->shape.dtype, .rank = 3};
    int order[GRAPH_RANK_MAX];

    for (int i = 0; i < 3; i++) {
        s.dim[i] = n->shape.dim[from[i]];
        order[from[i]] = i;
    }
    return graph_transpose(g, graph_reshape(g, x, s), order);
}

int expand_filter(struct graph *g, const struct graph_node *n)
{
    static const int step_last[GRAPH_RANK_MAX] = {1, 2, 0};
    enum graph_dtype dtype = n->shape.dtype;
    int64_t none[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX];
    struct filter f;
    int x;

    if (n->op != HLO_CONVOLUTION || !find_filter(g, n, &f))
        return NODE_NONE;
    x = matrix_of(g, n->operand[0], n->conv->in_batch, n->conv->in_spatial[0], n->conv->in_feature);
    x = convolved(g, n, segments_of(g, x, &f), &f);
    x = graph_reshape(g, x, shape_make(dtype, 3, (int64_t[]){f.step, f.batch, f.segments}));
    x = graph_reshape(g, graph_transpose(g, x, step_last),
                      shape_make(dtype, 2, (int64_t[]){f.batch, f.segments * f.step}));
    limit[0] = f.batch;
    limit[1] = f.results;
    return as_result(g, graph_slice(g, x, none, limit, NULL), n);
}
