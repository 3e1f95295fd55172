/* Products, windows and what moves elements, against plain loops. */
#include "tests/rigs/keras_rig.h"
#include "tests/test.h"

#include <math.h>

static struct keras_rig k;

KRIG_SETUP(k)

#define CLOSE 1e-12

static struct layer *layer_of(enum layer_kind kind)
{
    return model_layer(&k.m, kind, NULL);
}

static void activation(struct layer *l, enum activation_kind kind)
{
    l->c.activation = activation_standard(kind);
}

TEST(dense_is_its_product_and_bias_along_the_last_dimension)
{
    struct layer *l = layer_of(LAYER_DENSE);
    const double *x, *kernel, *bias;
    double want[2 * 3 * 4];

    l->c.units = 4;
    activation(l, ACTIVATION_TANH);
    krig_on(&k, l, DIMS(3, 5));
    krig_trace(&k);
    x = krig_value(&k, "input_layer");
    kernel = krig_value(&k, "dense/kernel");
    bias = krig_value(&k, "dense/bias");
    for (int row = 0; row < 6; row++)
        for (int u = 0; u < 4; u++) {
            double sum = bias[u];

            for (int i = 0; i < 5; i++)
                sum += x[row * 5 + i] * kernel[i * 4 + u];
            want[row * 4 + u] = tanh(sum);
        }
    grig_expect(krig_output(&k), want, 24, CLOSE);
}

TEST(dense_has_right_gradients)
{
    struct layer *l = layer_of(LAYER_DENSE);

    l->c.units = 3;
    activation(l, ACTIVATION_SIGMOID);
    krig_on(&k, l, DIMS(4));
    krig_trace(&k);
    krig_check_gradients(&k);
}

TEST(dense_runs_on_the_core_in_bf16)
{
    struct layer *l = layer_of(LAYER_DENSE);

    l->c.units = 10;
    activation(l, ACTIVATION_RELU);
    k.m.policy = KERAS_MIXED_BFLOAT16;
    k.batch = 8;
    krig_on(&k, l, DIMS(20));
    krig_trace(&k);
    assert_int_equal(k.t.graph.node[k.result.value].shape.dtype, DTYPE_BF16);
    krig_check_core(&k, 0.05);
}

/* ---- windows ---- */

struct window {
    int size, stride, dilation, low;    /* low: zeros in front */
    int in, out;
};

static struct window window_of(const struct layer *l, int axis, int in, bool is_same)
{
    struct window w = {.size = (int)l->c.size[axis], .stride = (int)l->c.strides[axis],
                       .dilation = (int)l->c.dilation[axis], .in = in};
    int covers = (w.size - 1) * w.dilation + 1;

    if (w.stride == 0)
        w.stride = w.size;
    w.out = is_same ? (in + w.stride - 1) / w.stride : (in - covers) / w.stride + 1;
    if (is_same && (w.out - 1) * w.stride + covers > in)
        w.low = ((w.out - 1) * w.stride + covers - in) / 2;
    return w;
}

/* where tap `t` of place `p` reads, or -1 outside */
static int tap(const struct window *w, int p, int t)
{
    int at = p * w->stride + t * w->dilation - w->low;

    return at >= 0 && at < w->in ? at : -1;
}

struct conv_case {
    int height, width, channels, filters, groups;
    int64_t size[2], strides[2], dilation[2];
    bool is_same, is_depthwise;
};

static struct layer *conv_layer(const struct conv_case *c)
{
    struct layer *l = layer_of(c->is_depthwise ? LAYER_DEPTHWISE_CONV2D : LAYER_CONV2D);

    l->c.units = c->filters;
    l->c.groups = c->groups;
    l->c.padding = c->is_same ? NN_SAME : NN_VALID;
    memcpy(l->c.size, c->size, sizeof(c->size));
    memcpy(l->c.strides, c->strides, sizeof(c->strides));
    memcpy(l->c.dilation, c->dilation, sizeof(c->dilation));
    krig_on(&k, l, DIMS(c->height, c->width, c->channels));
    krig_trace(&k);
    return l;
}

/* output channel `o` of one place of one image */
static double conv_at(const struct conv_case *c, const struct window w[2], const double *image,
                      const double *kernel, int y, int x, int o)
{
    int in = c->is_depthwise ? c->channels : c->channels / c->groups;
    int first = c->is_depthwise ? o / c->filters : o / (c->filters / c->groups) * in;
    double sum = 0;

    for (int i = 0; i < w[0].size; i++)
        for (int j = 0; j < w[1].size; j++)
            for (int ch = 0; ch < (c->is_depthwise ? 1 : in); ch++) {
                int row = tap(&w[0], y, i), column = tap(&w[1], x, j);
                const double *weight = kernel + ((i * w[1].size + j) * in +
                                                 (c->is_depthwise ? first : ch)) * c->filters;

                if (row >= 0 && column >= 0)
                    sum += image[(row * c->width + column) * c->channels + first + ch] *
                           weight[c->is_depthwise ? o % c->filters : o];
            }
    return sum;
}

static void check_conv(const struct conv_case *c)
{
    struct layer *l = conv_layer(c);
    const char *name = c->is_depthwise ? "depthwise_conv2d/kernel" : "conv2d/kernel";
    const double *image = krig_value(&k, "input_layer"), *kernel = krig_value(&k, name);
    const double *bias = krig_value(&k, c->is_depthwise ? "depthwise_conv2d/bias" : "conv2d/bias");
    struct window w[2] = {window_of(l, 0, c->height, c->is_same),
                          window_of(l, 1, c->width, c->is_same)};
    int channels = c->is_depthwise ? c->channels * c->filters : c->filters, count = 0;
    double want[4000];

    for (int b = 0; b < 2; b++)
        for (int y = 0; y < w[0].out; y++)
            for (int x = 0; x < w[1].out; x++)
                for (int o = 0; o < channels; o++)
                    want[count++] = bias[o] + conv_at(c, w, image + b * c->height * c->width *
                                                      c->channels, kernel, y, x, o);
    assert_int_equal(count, shape_elems(&k.graph.g.node[k.result.value].shape));
    grig_expect(krig_output(&k), want, count, CLOSE);
}

#define ONE {1, 1}

TEST(conv2d_valid)
{
    check_conv(&(struct conv_case){7, 6, 3, 4, 1, {3, 2}, ONE, ONE, false, false});
}

TEST(conv2d_same_with_strides)
{
    check_conv(&(struct conv_case){7, 6, 3, 4, 1, {3, 2}, {2, 3}, ONE, true, false});
}

TEST(conv2d_dilated)
{
    check_conv(&(struct conv_case){9, 8, 2, 3, 1, {3, 2}, ONE, {2, 3}, true, false});
}

TEST(conv2d_in_groups)
{
    check_conv(&(struct conv_case){5, 5, 4, 6, 2, {2, 2}, ONE, ONE, false, false});
}

TEST(depthwise_conv2d_with_a_multiplier)
{
    check_conv(&(struct conv_case){6, 5, 3, 2, 1, {3, 3}, {2, 1}, ONE, true, true});
}

TEST(convolutions_have_right_gradients)
{
    conv_layer(&(struct conv_case){4, 5, 2, 2, 1, {3, 2}, {2, 1}, ONE, true, false});
    krig_check_gradients(&k);
}

TEST(dilated_convolutions_have_right_gradients)
{
    conv_layer(&(struct conv_case){5, 4, 2, 2, 1, {2, 2}, ONE, {2, 2}, false, false});
    krig_check_gradients(&k);
}

TEST(grouped_convolutions_have_right_gradients)
{
    conv_layer(&(struct conv_case){3, 4, 4, 4, 2, {2, 2}, ONE, ONE, false, false});
    krig_check_gradients(&k);
}

TEST(depthwise_convolutions_have_right_gradients)
{
    conv_layer(&(struct conv_case){4, 3, 2, 2, 1, {2, 2}, ONE, ONE, true, true});
    krig_check_gradients(&k);
}

TEST(conv2d_runs_on_the_core)
{
    k.m.policy = KERAS_MIXED_BFLOAT16;
    conv_layer(&(struct conv_case){6, 6, 3, 8, 1, {3, 3}, {2, 2}, ONE, true, false});
    krig_check_core(&k, 0.1);
}

TEST(dilated_conv2d_runs_on_the_core)
{
    conv_layer(&(struct conv_case){7, 6, 4, 8, 1, {3, 2}, ONE, {2, 2}, false, false});
    krig_check_core(&k, 0.1);
}

TEST(depthwise_conv2d_runs_on_the_core)
{
    conv_layer(&(struct conv_case){6, 5, 8, 1, 1, {3, 3}, ONE, ONE, true, true});
    krig_check_core(&k, 0.1);
}

TEST(grouped_conv2d_runs_on_the_core)
{
    conv_layer(&(struct conv_case){5, 5, 8, 8, 2, {2, 2}, ONE, ONE, false, false});
    krig_check_core(&k, 0.1);
}

static void check_pool(enum layer_kind kind, int size, int stride, bool is_same)
{
    enum { H = 7, W = 6, C = 3 };
    struct layer *l = layer_of(kind);
    const double *image, *is;
    struct window w[2];
    int at = 0;

    l->c.size[0] = l->c.size[1] = size;
    l->c.strides[0] = l->c.strides[1] = stride;
    l->c.padding = is_same ? NN_SAME : NN_VALID;
    krig_on(&k, l, DIMS(H, W, C));
    is = krig_output(&k);
    image = krig_value(&k, "input_layer");
    w[0] = window_of(l, 0, H, is_same);
    w[1] = window_of(l, 1, W, is_same);
    for (int place = 0; place < 2 * w[0].out * w[1].out * C; place++) {
        int c = place % C, x = place / C % w[1].out, y = place / C / w[1].out % w[0].out;
        int b = place / C / w[1].out / w[0].out, seen = 0;
        double sum = 0, most = -INFINITY;

        for (int t = 0; t < size * size; t++) {
            int row = tap(&w[0], y, t / size), column = tap(&w[1], x, t % size);
            double v = row < 0 || column < 0
                           ? 0 : image[((b * H + row) * W + column) * C + c];

            if (row < 0 || column < 0)
                continue;
            seen++;
            sum += v;
            most = fmax(most, v);
        }
        sum = kind == LAYER_MAX_POOLING2D ? most : sum / seen;
        grig_expect(is + at++, &sum, 1, CLOSE);
    }
    krig_check_gradients(&k);
}

TEST(max_pooling2d_of_standard_size)
{
    check_pool(LAYER_MAX_POOLING2D, 2, 0, false);
}

TEST(max_pooling2d_of_overlapping_windows)
{
    check_pool(LAYER_MAX_POOLING2D, 3, 2, true);
}

TEST(average_pooling2d_of_standard_size)
{
    check_pool(LAYER_AVERAGE_POOLING2D, 2, 0, false);
}

TEST(average_pooling2d_does_not_count_padding)
{
    check_pool(LAYER_AVERAGE_POOLING2D, 3, 2, true);
}

/* over 12 places: of an image, or of a sequence */
static void check_global(enum layer_kind kind, bool is_max, bool is_image)
{
    struct layer *l = layer_of(kind);
    const double *x, *is;

    l->c.keeps_dims = true;
    if (is_image)
        krig_on(&k, l, DIMS(3, 4, 5));
    else
        krig_on(&k, l, DIMS(12, 5));
    is = krig_output(&k);
    assert_int_equal(k.graph.g.node[k.result.value].shape.rank, is_image ? 4 : 3);
    x = krig_value(&k, "input_layer");
    for (int b = 0; b < 2; b++)
        for (int c = 0; c < 5; c++) {
            double sum = 0, most = -INFINITY;

            for (int p = 0; p < 12; p++) {
                sum += x[(b * 12 + p) * 5 + c] / 12;
                most = fmax(most, x[(b * 12 + p) * 5 + c]);
            }
            grig_expect(is + b * 5 + c, is_max ? &most : &sum, 1, CLOSE);
        }
    krig_check_gradients(&k);
}

TEST(global_average_pooling2d)
{
    check_global(LAYER_GLOBAL_AVERAGE_POOLING2D, false, true);
}

TEST(global_max_pooling2d)
{
    check_global(LAYER_GLOBAL_MAX_POOLING2D, true, true);
}

TEST(global_pooling_of_sequences)
{
    check_global(LAYER_GLOBAL_AVERAGE_POOLING1D, false, false);
}

TEST(global_max_pooling_of_sequences)
{
    check_global(LAYER_GLOBAL_MAX_POOLING1D, true, false);
}

TEST(pooling_runs_on_the_core)
{
    struct layer *a = layer_of(LAYER_MAX_POOLING2D), *b = layer_of(LAYER_AVERAGE_POOLING2D);
    struct layer *c = layer_of(LAYER_GLOBAL_AVERAGE_POOLING2D);
    int x = krig_on(&k, a, DIMS(12, 12, 8));

    b->c.padding = NN_SAME;
    b->c.size[0] = b->c.size[1] = 3;
    b->c.strides[0] = b->c.strides[1] = 1;
    x = krig_call(&k, b, 1, &x);
    krig_call(&k, c, 1, &x);
    krig_trace(&k);
    krig_check_core(&k, 1e-4);
}

/* ---- what moves elements ---- */

TEST(flatten_and_reshape_keep_the_order)
{
    struct layer *flat = layer_of(LAYER_FLATTEN), *shape = layer_of(LAYER_RESHAPE);
    int x = krig_on(&k, flat, DIMS(3, 4, 2));

    shape->c.shape_count = 3;
    shape->c.shape[0] = 2, shape->c.shape[1] = -1, shape->c.shape[2] = 3;
    krig_call(&k, shape, 1, &x);
    krig_trace(&k);
    assert_int_equal(k.t.graph.node[k.result.value].shape.dim[2], 4);
    grig_expect(krig_output(&k), krig_value(&k, "input_layer"), 48, 0);
    krig_check_gradients(&k);
}

TEST(permute_counts_dimensions_from_one)
{
    struct layer *l = layer_of(LAYER_PERMUTE);
    const double *is, *x;

    l->c.shape_count = 3;
    l->c.shape[0] = 3, l->c.shape[1] = 1, l->c.shape[2] = 2;
    krig_on(&k, l, DIMS(2, 3, 4));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    for (int b = 0; b < 2; b++)
        for (int i = 0; i < 24; i++)    /* i: element of [4, 2, 3] */
            assert_true(is[b * 24 + i] == x[b * 24 + i % 6 * 4 + i / 6]);
    krig_check_gradients(&k);
}

TEST(zero_padding2d_puts_zeros_on_four_sides)
{
    struct layer *l = layer_of(LAYER_ZERO_PADDING2D);
    const double *is, *x;

    l->c.pads[0] = 1, l->c.pads[1] = 2, l->c.pads[2] = 3, l->c.pads[3] = 0;
    krig_on(&k, l, DIMS(2, 2, 2));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    for (int i = 0; i < 2 * 5 * 5 * 2; i++) {
        int c = i % 2, column = i / 2 % 5 - 3, row = i / 10 % 5 - 1, b = i / 50;
        bool is_inside = row >= 0 && row < 2 && column >= 0;

        assert_true(is[i] == (is_inside ? x[((b * 2 + row) * 2 + column) * 2 + c] : 0));
    }
    krig_check_gradients(&k);
}

TEST(rescaling_scales_and_shifts)
{
    static const double two = 2, minus_one = -1;
    struct layer *l = layer_of(LAYER_RESCALING);
    const double *is, *x;

    l->c.scale = (struct layer_reals){&two, 1}, l->c.offset = (struct layer_reals){&minus_one, 1};
    krig_on(&k, l, DIMS(3));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    for (int i = 0; i < 6; i++)
        assert_true(fabs(is[i] - (2 * x[i] - 1)) < CLOSE);
}

TEST(moves_run_on_the_core)
{
    struct layer *p = layer_of(LAYER_PERMUTE), *z = layer_of(LAYER_ZERO_PADDING2D);
    struct layer *s = layer_of(LAYER_RESHAPE);
    int x = krig_on(&k, z, DIMS(5, 6, 8));

    p->c.shape_count = 3;
    p->c.shape[0] = 2, p->c.shape[1] = 3, p->c.shape[2] = 1;
    x = krig_call(&k, p, 1, &x);
    s->c.shape_count = 2;
    s->c.shape[0] = 8, s->c.shape[1] = 56;
    krig_call(&k, s, 1, &x);
    krig_trace(&k);
    krig_check_core(&k, 1e-5);
}

/* ---- several inputs ---- */

static double merged(enum layer_kind kind, double a, double b, double c)
{
    switch (kind) {
    case LAYER_ADD: return a + b + c;
    case LAYER_SUBTRACT: return a - b;
    case LAYER_MULTIPLY: return a * b * c;
    case LAYER_AVERAGE: return (a + b + c) / 3;
    case LAYER_MAXIMUM: return fmax(fmax(a, b), c);
    default: return fmin(fmin(a, b), c);
    }
}

static void check_merge(enum layer_kind kind)
{
    struct layer *l = layer_of(kind);
    const double *is, *x[3];
    int input[3];

    for (int i = 0; i < (kind == LAYER_SUBTRACT ? 2 : 3); i++)
        input[i] = krig_input(&k, DTYPE_F32, DIMS(2, 3));
    krig_call(&k, l, kind == LAYER_SUBTRACT ? 2 : 3, input);
    is = krig_output(&k);
    x[0] = krig_value(&k, "input_layer");
    x[1] = krig_value(&k, "input_layer_1");
    x[2] = kind == LAYER_SUBTRACT ? x[0] : krig_value(&k, "input_layer_2");
    for (int i = 0; i < 12; i++)
        assert_true(fabs(is[i] - merged(kind, x[0][i], x[1][i], x[2][i])) < CLOSE);
    krig_check_gradients(&k);
}

TEST(add_takes_the_sum) { check_merge(LAYER_ADD); }
TEST(subtract_takes_the_difference) { check_merge(LAYER_SUBTRACT); }
TEST(multiply_takes_the_product) { check_merge(LAYER_MULTIPLY); }
TEST(average_takes_the_mean) { check_merge(LAYER_AVERAGE); }
TEST(maximum_takes_the_largest) { check_merge(LAYER_MAXIMUM); }
TEST(minimum_takes_the_smallest) { check_merge(LAYER_MINIMUM); }

TEST(concatenate_joins_along_its_axis)
{
    struct layer *l = layer_of(LAYER_CONCATENATE);
    int input[2] = {krig_input(&k, DTYPE_F32, DIMS(2, 3)), krig_input(&k, DTYPE_F32, DIMS(1, 3))};
    const double *is, *a, *b;

    l->c.axis = 1;
    krig_call(&k, l, 2, input);
    is = krig_output(&k);
    a = krig_value(&k, "input_layer");
    b = krig_value(&k, "input_layer_1");
    for (int i = 0; i < 18; i++)
        assert_true(is[i] == (i % 9 < 6 ? a[i / 9 * 6 + i % 9] : b[i / 9 * 3 + i % 9 - 6]));
    krig_check_gradients(&k);
}

TEST(merging_runs_on_the_core)
{
    struct layer *add = layer_of(LAYER_AVERAGE), *join = layer_of(LAYER_CONCATENATE);
    int input[2] = {krig_input(&k, DTYPE_F32, DIMS(6, 20)), krig_input(&k, DTYPE_F32, DIMS(6, 20))};
    int pair[2] = {krig_call(&k, add, 2, input), input[1]};

    krig_call(&k, join, 2, pair);
    krig_trace(&k);
    krig_check_core(&k, 1e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(dense_is_its_product_and_bias_along_the_last_dimension),
        UNIT(dense_has_right_gradients), UNIT(dense_runs_on_the_core_in_bf16),
        UNIT(conv2d_valid), UNIT(conv2d_same_with_strides), UNIT(conv2d_dilated),
        UNIT(conv2d_in_groups), UNIT(depthwise_conv2d_with_a_multiplier),
        UNIT(convolutions_have_right_gradients), UNIT(dilated_convolutions_have_right_gradients),
        UNIT(grouped_convolutions_have_right_gradients),
        UNIT(depthwise_convolutions_have_right_gradients), UNIT(conv2d_runs_on_the_core),
        UNIT(dilated_conv2d_runs_on_the_core), UNIT(depthwise_conv2d_runs_on_the_core),
        UNIT(grouped_conv2d_runs_on_the_core),
        UNIT(max_pooling2d_of_standard_size), UNIT(max_pooling2d_of_overlapping_windows),
        UNIT(average_pooling2d_of_standard_size), UNIT(average_pooling2d_does_not_count_padding),
        UNIT(global_average_pooling2d), UNIT(global_max_pooling2d),
        UNIT(global_pooling_of_sequences), UNIT(global_max_pooling_of_sequences),
        UNIT(pooling_runs_on_the_core), UNIT(flatten_and_reshape_keep_the_order),
        UNIT(permute_counts_dimensions_from_one), UNIT(zero_padding2d_puts_zeros_on_four_sides),
        UNIT(rescaling_scales_and_shifts), UNIT(moves_run_on_the_core), UNIT(add_takes_the_sum),
        UNIT(subtract_takes_the_difference), UNIT(multiply_takes_the_product),
        UNIT(average_takes_the_mean), UNIT(maximum_takes_the_largest),
        UNIT(minimum_takes_the_smallest), UNIT(concatenate_joins_along_its_axis),
        UNIT(merging_runs_on_the_core),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
