/* The API's operations of neural networks: windows, normalisation, random numbers. */
#include "api/api.h"

#include <inttypes.h>
#include <string.h>

#include "stack/hlo/graph_shape.h"
#include "stack/nn/nn.h"
#include "train/step/replica.h"

static const sy_tensor invalid = {NODE_NONE};

static sy_tensor refuse(sy_context *c, const char *what, sy_tensor x, const char *wanted)
{
    char text[96];
    struct err e;

    err_set(&e, "%s of %s: %s", what, shape_print(api_shape_of(c, x), text, sizeof(text)), wanted);
    return api_invalid(c, &e);
}

static bool is_float(sy_context *c, sy_tensor x, int least_rank)
{
    const struct shape *s = api_shape_of(c, x);

    return graph_dtype_is_float(s->dtype) && s->rank >= least_rank;
}

/* ----- windows */

static int read_window(const sy_window *w, struct nn_window *out, struct err *e)
{
    static const sy_window standard;

    w = w ? w : &standard;
    *out = (struct nn_window){.groups = w->groups ? w->groups : 1};
    for (int i = 0; i < 2; i++) {
        out->size[i] = w->size[i] ? w->size[i] : 1;
        out->stride[i] = w->strides[i] ? w->strides[i] : 1;
        if (out->size[i] < 1 || out->stride[i] < 1 || out->groups < 1)
            return err_set(e, "size %" PRId64 ", strides %" PRId64 " and groups %" PRId64
                           " of a window; all must be at least 1", out->size[i], out->stride[i],
                           out->groups);
    }
    if (w->padding && strcmp(w->padding, "same") != 0 && strcmp(w->padding, "valid") != 0)
        return err_set(e, "padding \"%s\" is none of valid, same", w->padding);
    out->padding = w->padding && strcmp(w->padding, "same") == 0 ? NN_SAME : NN_VALID;
    return 0;
}

/* a window that is not padded must lie inside the image */
static bool is_inside(sy_context *c, sy_tensor x, const struct nn_window *w)
{
    const struct shape *s = api_shape_of(c, x);

    return w->padding == NN_SAME || (w->size[0] <= s->dim[1] && w->size[1] <= s->dim[2]);
}

sy_tensor sy_conv2d(sy_context *c, sy_tensor x, sy_tensor kernel, const sy_window *w)
{
    sy_tensor both[2] = {x, kernel};
    char text[160], of[96];
    const struct shape *a, *k;
    struct nn_window own;
    struct err e;

    if (!api_are_valid(c, both, 2))
        return invalid;
    if (read_window(w, &own, &e))
        return api_invalid(c, &e);
    a = api_shape_of(c, x);
    k = api_shape_of(c, kernel);
    if (a->rank != 4 || !is_float(c, x, 4) || k->rank != 4 || k->dtype != a->dtype ||
        k->dim[2] * own.groups != a->dim[3] || k->dim[3] % own.groups) {
        snprintf(text, sizeof(text), "it takes [samples, height, width, channels] and, of the same "
                 "type, [height, width, channels / %" PRId64 ", features], not %s", own.groups,
                 shape_print(k, of, sizeof(of)));
        return refuse(c, "conv2d", x, text);
    }
    own.size[0] = k->dim[0];
    own.size[1] = k->dim[1];
    if (!is_inside(c, x, &own))
        return refuse(c, "conv2d", x, "the kernel is larger than the image; say padding \"same\"");
    return (sy_tensor){nn_conv2d(api_graph(c), x.node, kernel.node, &own)};
}

static sy_tensor pool(sy_context *c, sy_tensor x, const sy_window *w, const char *what,
                      int (*make)(struct graph *g, int x, const struct nn_window *w))
{
    struct nn_window own;
    struct err e;

    if (!api_are_valid(c, &x, 1))
        return invalid;
    if (read_window(w, &own, &e))
        return api_invalid(c, &e);
    if (api_shape_of(c, x)->rank != 4 || !is_float(c, x, 4))
        return refuse(c, what, x, "it takes f32 or bf16 [samples, height, width, channels]");
    if (!is_inside(c, x, &own))
        return refuse(c, what, x, "the window is larger than the image; say padding \"same\"");
    return (sy_tensor){make(api_graph(c), x.node, &own)};
}

sy_tensor sy_max_pool2d(sy_context *c, sy_tensor x, const sy_window *w)
{
    return pool(c, x, w, "max_pool2d", nn_max_pool);
}
sy_tensor sy_average_pool2d(sy_context *c, sy_tensor x, const sy_window *w)
{
    return pool(c, x, w, "average_pool2d", nn_average_pool);
}

/* ----- normalisation */

/* by how much of the last dimension, and all others with it, the replicas' means count */
static sy_tensor mean_of(sy_context *c, sy_tensor x, bool synchronized)
{
    uint32_t others = (1u << (api_shape_of(c, x)->rank - 1)) - 1;
    int mean = nn_mean(api_graph(c), x.node, others);

    return (sy_tensor){synchronized ? replica_all_reduce(c->trace, REPLICA_MEAN, mean) : mean};
}

sy_status sy_moments(sy_context *c, sy_tensor x, bool synchronized, sy_tensor *mean,
                     sy_tensor *variance)
{
    sy_tensor wide, away;

    if (!mean || !variance)
        return api_fail_text("sy_moments: the place for the %s is NULL",
                             mean ? "variance" : "mean");
    *mean = *variance = invalid;
    if (!api_are_valid(c, &x, 1))
        return SY_ERROR;
    if (!is_float(c, x, 2)) {
        refuse(c, "moments", x, "it takes f32 or bf16 of at least two dimensions");
        return sy_context_status(c);
    }
    wide = sy_cast(c, x, SY_F32);
    *mean = mean_of(c, wide, synchronized);
    away = sy_subtract(c, wide, *mean);
    *variance = mean_of(c, sy_square(c, away), synchronized);
    return sy_context_status(c);
}

/* [channels] each, of the last dimension of x */
static bool are_of_channels(sy_context *c, const char *what, sy_tensor x, const sy_tensor *of,
                            int count)
{
    char text[96], wanted[160];

    if (!api_are_valid(c, &x, 1) || !api_are_valid(c, of, count))
        return false;
    if (!is_float(c, x, 1)) {
        refuse(c, what, x, "it takes f32 or bf16 of at least one dimension");
        return false;
    }
    for (int i = 0; i < count; i++) {
        const struct shape *s = api_shape_of(c, of[i]), *all = api_shape_of(c, x);

        if (s->dtype == DTYPE_F32 && s->rank == 1 && s->dim[0] == all->dim[all->rank - 1])
            continue;
        snprintf(wanted, sizeof(wanted), "the others are f32 [%" PRId64 "] each, not %s",
                 all->dim[all->rank - 1], shape_print(s, text, sizeof(text)));
        refuse(c, what, x, wanted);
        return false;
    }
    return true;
}

sy_tensor sy_batch_normalization(sy_context *c, sy_tensor x, sy_tensor mean, sy_tensor variance,
                                 sy_tensor offset, sy_tensor scale, double epsilon)
{
    const sy_tensor of[4] = {mean, variance, offset, scale};

    if (!are_of_channels(c, "batch_normalization", x, of, 4))
        return invalid;
    return (sy_tensor){nn_batch_norm_inference(api_graph(c), x.node, scale.node, offset.node,
                                               mean.node, variance.node, epsilon)};
}

sy_tensor sy_layer_normalization(sy_context *c, sy_tensor x, sy_tensor offset, sy_tensor scale,
                                 double epsilon)
{
    const sy_tensor of[2] = {offset, scale};

    if (!are_of_channels(c, "layer_normalization", x, of, 2))
        return invalid;
    return (sy_tensor){nn_layer_norm(api_graph(c), x.node, scale.node, offset.node, epsilon)};
}

/* ----- random numbers */

static bool is_seed(sy_context *c, sy_tensor seed, const char *what)
{
    if (!api_are_valid(c, &seed, 1))
        return false;
    if (api_shape_of(c, seed)->rank == 0 && api_shape_of(c, seed)->dtype == DTYPE_S32)
        return true;
    refuse(c, what, seed, "the seed must be an s32 scalar");
    return false;
}

sy_tensor sy_next_seed(sy_context *c, sy_variable *v)
{
    sy_tensor seed = sy_read(c, v);

    if (!is_seed(c, seed, "next_seed"))
        return invalid;
    sy_assign(c, v, sy_shift(c, seed, 1));
    return seed;
}

/* 0 <= x < 1 in steps of 2^-24, all of which f32 has; plus `first` steps */
static sy_tensor draw(sy_context *c, const sy_shape *shape, sy_tensor seed, double first)
{
    struct graph *g;
    struct shape s;
    struct err e;
    int bits;

    if (!is_seed(c, seed, "random numbers"))
        return invalid;
    g = api_graph(c);
    if (api_shape(SY_U32, shape, &s, &e))
        return api_invalid(c, &e);
    bits = graph_rng_bits(g, s, seed.node, c->stream++);
    bits = graph_binary(g, HLO_SHIFT_RIGHT_LOGICAL, bits, graph_splat(g, bits, 8));
    bits = graph_convert(g, graph_convert(g, bits, DTYPE_S32), DTYPE_F32);
    if (first != 0)
        bits = nn_shift(g, bits, first);
    return (sy_tensor){nn_scale(g, bits, 0x1p-24)};
}

sy_tensor sy_random_uniform(sy_context *c, sy_shape shape, double low, double high, sy_tensor seed)
{
    sy_tensor x = draw(c, &shape, seed, 0);

    return x.node == NODE_NONE ? invalid : sy_shift(c, sy_scale(c, x, high - low), low);
}

/* by Box and Muller: a length whose square is exponential, in a direction that is uniform */
sy_tensor sy_random_normal(sy_context *c, sy_shape shape, double mean, double stddev,
                           sy_tensor seed)
{
    const double turn = 6.283185307179586;
    sy_tensor length = draw(c, &shape, seed, 1), way = draw(c, &shape, seed, 0);

    if (length.node == NODE_NONE || way.node == NODE_NONE)
        return invalid;
    length = sy_sqrt(c, sy_scale(c, sy_log(c, length), -2));
    way = sy_cos(c, sy_scale(c, way, turn));
    return sy_shift(c, sy_scale(c, sy_multiply(c, length, way), stddev), mean);
}

sy_tensor sy_dropout(sy_context *c, sy_tensor x, double rate, sy_tensor seed)
{
    struct err e;

    if (!is_seed(c, seed, "dropout") || !api_are_valid(c, &x, 1))
        return invalid;
    if (!is_float(c, x, 0))
        return refuse(c, "dropout", x, "it takes f32 and bf16");
    if (!(rate >= 0 && rate < 1)) {
        err_set(&e, "dropout at a rate of %g; it must be in 0 .. 1, below 1", rate);
        return api_invalid(c, &e);
    }
    return (sy_tensor){nn_dropout(api_graph(c), x.node, rate, seed.node, c->stream++)};
}
