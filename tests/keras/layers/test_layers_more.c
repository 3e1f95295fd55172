/* Layers of sequences, transposed and separable convolutions, resizing, groups: against loops. */
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

static void convolved(struct layer *l, int64_t units, int64_t size, int64_t stride)
{
    l->c.units = units;
    l->c.size[0] = size;
    l->c.strides[0] = stride;
}

/* ---- sequences ---- */

static void check_conv1d(int64_t stride, int64_t dilation, enum nn_padding padding)
{
    enum { STEPS = 9, IN = 3, OUT = 4, SIZE = 3 };
    struct layer *l = layer_of(LAYER_CONV1D);
    int reach = (SIZE - 1) * (int)dilation + 1, low = 0, out;
    const double *x, *kernel, *bias, *is;
    double want[2 * STEPS * OUT];
    int count = 0;

    convolved(l, OUT, SIZE, stride);
    l->c.dilation[0] = dilation;
    l->c.padding = padding;
    krig_on(&k, l, DIMS(STEPS, IN));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    kernel = krig_value(&k, "conv1d/kernel");
    bias = krig_value(&k, "conv1d/bias");
    out = padding == NN_VALID ? (STEPS - reach) / (int)stride + 1
                              : (STEPS + (int)stride - 1) / (int)stride;
    if (padding == NN_CAUSAL)
        low = reach - 1;
    if (padding == NN_SAME && (out - 1) * (int)stride + reach > STEPS)
        low = ((out - 1) * (int)stride + reach - STEPS) / 2;
    for (int i = 0; i < 2 * out * OUT; i++) {
        int o = i % OUT, place = i / OUT % out, b = i / OUT / out;
        double sum = bias[o];

        for (int t = 0; t < SIZE * IN; t++) {
            int at = place * (int)stride + t / IN * (int)dilation - low;

            if (at >= 0 && at < STEPS)
                sum += x[(b * STEPS + at) * IN + t % IN] * kernel[t * OUT + o];
        }
        want[count++] = sum;
    }
    assert_int_equal(count, shape_elems(&k.graph.g.node[k.result.value].shape));
    grig_expect(is, want, count, CLOSE);
    krig_check_gradients(&k);
}

TEST(conv1d_valid) { check_conv1d(1, 1, NN_VALID); }
TEST(conv1d_same_with_strides) { check_conv1d(2, 1, NN_SAME); }
TEST(conv1d_causal_sees_no_later_step) { check_conv1d(1, 1, NN_CAUSAL); }
TEST(conv1d_causal_dilated) { check_conv1d(1, 2, NN_CAUSAL); }
TEST(conv1d_causal_with_strides) { check_conv1d(3, 1, NN_CAUSAL); }

TEST(max_pooling1d_is_of_steps)
{
    struct layer *l = layer_of(LAYER_MAX_POOLING1D);
    const double *x, *is;

    krig_on(&k, l, DIMS(6, 2));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    for (int i = 0; i < 2 * 3 * 2; i++) {
        int at = i / 2 * 4 + i % 2;

        assert_true(is[i] == fmax(x[at], x[at + 2]));
    }
    krig_check_gradients(&k);
}

TEST(average_pooling1d_does_not_count_padding)
{
    struct layer *l = layer_of(LAYER_AVERAGE_POOLING1D);
    const double *x, *is;

    l->c.padding = NN_SAME;
    krig_on(&k, l, DIMS(5, 1));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    for (int b = 0; b < 2; b++) {
        double want[3] = {(x[5 * b] + x[5 * b + 1]) / 2, (x[5 * b + 2] + x[5 * b + 3]) / 2,
                          x[5 * b + 4]};

        grig_expect(is + 3 * b, want, 3, CLOSE);
    }
}

TEST(depthwise_conv1d_keeps_channels_apart)
{
    enum { STEPS = 5, IN = 2, TIMES = 3, SIZE = 2 };
    struct layer *l = layer_of(LAYER_DEPTHWISE_CONV1D);
    const double *x, *kernel, *is;

    convolved(l, TIMES, SIZE, 1);
    l->c.use_bias = false;
    krig_on(&k, l, DIMS(STEPS, IN));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    kernel = krig_value(&k, "depthwise_conv1d/kernel");
    for (int i = 0; i < 2 * (STEPS - 1) * IN * TIMES; i++) {
        int o = i % (IN * TIMES), row = i / (IN * TIMES);
        int first = row / (STEPS - 1) * STEPS + row % (STEPS - 1);
        double sum = 0;

        for (int t = 0; t < SIZE; t++)
            sum += x[(first + t) * IN + o / TIMES] * kernel[(t * IN + o / TIMES) * TIMES + o % TIMES];
        grig_expect(is + i, &sum, 1, CLOSE);
    }
}

/* ---- separable and transposed ---- */

TEST(separable_conv2d_is_a_depthwise_and_a_pointwise_one)
{
    enum { H = 4, W = 3, IN = 2, TIMES = 2, OUT = 3 };
    struct layer *l = layer_of(LAYER_SEPARABLE_CONV2D);
    const double *x, *depth, *point, *bias, *is;

    convolved(l, OUT, 2, 1);
    l->c.size[1] = 2;
    l->c.multiplier = TIMES;
    krig_on(&k, l, DIMS(H, W, IN));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    depth = krig_value(&k, "separable_conv2d/depthwise_kernel");
    point = krig_value(&k, "separable_conv2d/pointwise_kernel");
    bias = krig_value(&k, "separable_conv2d/bias");
    for (int i = 0; i < 2 * (H - 1) * (W - 1) * OUT; i++) {
        int o = i % OUT, column = i / OUT % (W - 1), row = i / OUT / (W - 1) % (H - 1);
        int b = i / OUT / (W - 1) / (H - 1);
        double sum = bias[o];

        for (int m = 0; m < IN * TIMES; m++)
            for (int t = 0; t < 4; t++)
                sum += x[((b * H + row + t / 2) * W + column + t % 2) * IN + m / TIMES] *
                       depth[(t * IN + m / TIMES) * TIMES + m % TIMES] * point[m * OUT + o];
        grig_expect(is + i, &sum, 1, 1e-10);
    }
    krig_check_gradients(&k);
}

TEST(separable_conv1d_has_right_gradients)
{
    struct layer *l = layer_of(LAYER_SEPARABLE_CONV1D);

    convolved(l, 2, 3, 2);
    l->c.padding = NN_SAME;
    krig_on(&k, l, DIMS(7, 2));
    krig_trace(&k);
    krig_check_gradients(&k);
}

/* every step adds its kernel to the output; "same" cuts what sticks out, half of it in front */
/* more: output_padding; -1: none */
static void check_stretched(int size, int stride, enum nn_padding padding, int more)
{
    enum { STEPS = 4, IN = 2, OUT = 3 };
    struct layer *l = layer_of(LAYER_CONV1D_TRANSPOSE);
    int full = STEPS * stride + (size > stride ? size - stride : 0);
    int out = padding == NN_SAME ? STEPS * stride : full;
    int cut = padding == NN_SAME && size > stride ? (size - stride) / 2 : 0;
    const double *x, *kernel, *bias, *is;
    double want[2 * 64 * OUT];

    if (more >= 0) {                    /* Keras's sizes: of its padding, and so many behind */
        out = (STEPS - 1) * stride + (padding == NN_SAME ? size % 2 : size) + more;
        cut = padding == NN_SAME ? size - 1 - (size + size % 2 - 1 + more) / 2 : 0;
        cut = cut < 0 ? 0 : cut;
    }
    convolved(l, OUT, size, stride);
    l->c.padding = padding;
    l->c.output_padding[0] = more;
    krig_on(&k, l, DIMS(STEPS, IN));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    kernel = krig_value(&k, "conv1d_transpose/kernel");
    bias = krig_value(&k, "conv1d_transpose/bias");
    assert_int_equal(2 * out * OUT, shape_elems(&k.graph.g.node[k.result.value].shape));
    for (int i = 0; i < 2 * out * OUT; i++)
        want[i] = bias[i % OUT];
    for (int b = 0; b < 2; b++)
        for (int s = 0; s < STEPS * size; s++)
            for (int c = 0; c < IN * OUT; c++) {
                int at = s / size * stride + s % size - cut;

                if (at >= 0 && at < out)
                    want[(b * out + at) * OUT + c % OUT] +=
                        x[(b * STEPS + s / size) * IN + c / OUT] *
                        kernel[(s % size * OUT + c % OUT) * IN + c / OUT];
            }
    grig_expect(is, want, 2 * out * OUT, 1e-10);
    krig_check_gradients(&k);
}

static void check_transposed(int size, int stride, enum nn_padding padding)
{
    check_stretched(size, stride, padding, -1);
}

TEST(transposed_with_elements_behind) { check_stretched(3, 2, NN_SAME, 1); }
TEST(transposed_with_none_behind) { check_stretched(4, 3, NN_SAME, 0); }
TEST(transposed_valid_with_elements_behind) { check_stretched(3, 3, NN_VALID, 2); }
TEST(transposed_valid) { check_transposed(3, 2, NN_VALID); }
TEST(transposed_same) { check_transposed(3, 2, NN_SAME); }
TEST(transposed_same_of_four) { check_transposed(4, 2, NN_SAME); }
TEST(transposed_with_gaps) { check_transposed(2, 3, NN_VALID); }
TEST(transposed_without_strides) { check_transposed(5, 1, NN_SAME); }

TEST(conv2d_transpose_runs_on_the_core)
{
    struct layer *l = layer_of(LAYER_CONV2D_TRANSPOSE);

    convolved(l, 8, 4, 2);
    l->c.size[1] = 4;
    l->c.strides[1] = 2;
    l->c.padding = NN_SAME;
    k.m.policy = KERAS_MIXED_BFLOAT16;
    krig_on(&k, l, DIMS(5, 6, 8));
    krig_trace(&k);
    krig_check_core(&k, 0.1);
}

/* ---- recurrent ---- */

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* x kernel + h recurrent + bias, column `c` of `wide` */
static double summed(const double *x, int in, const double *h, int units, int wide, int c,
                     const char *cell)
{
    char name[80];
    double sum;

    snprintf(name, sizeof(name), "%s/bias", cell);
    sum = krig_value(&k, name)[c];
    snprintf(name, sizeof(name), "%s/kernel", cell);
    for (int i = 0; i < in; i++)
        sum += x[i] * krig_value(&k, name)[i * wide + c];
    snprintf(name, sizeof(name), "%s/recurrent_kernel", cell);
    for (int i = 0; i < units; i++)
        sum += h[i] * krig_value(&k, name)[i * wide + c];
    return sum;
}

TEST(lstm_goes_through_its_gates_step_by_step)
{
    enum { STEPS = 4, IN = 3, UNITS = 2 };
    struct layer *l = layer_of(LAYER_LSTM);
    const double *x, *is;

    l->c.units = UNITS;
    l->c.returns_sequences = true;
    krig_on(&k, l, DIMS(STEPS, IN));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    for (int b = 0; b < 2; b++) {
        double h[UNITS] = {0}, cell[UNITS] = {0};

        for (int t = 0; t < STEPS; t++) {
            double gate[4 * UNITS];

            for (int c = 0; c < 4 * UNITS; c++)
                gate[c] = summed(x + (b * STEPS + t) * IN, IN, h, UNITS, 4 * UNITS, c,
                                 "lstm/lstm_cell");
            for (int u = 0; u < UNITS; u++) {
                cell[u] = sigmoid(gate[UNITS + u]) * cell[u] +
                          sigmoid(gate[u]) * tanh(gate[2 * UNITS + u]);
                h[u] = sigmoid(gate[3 * UNITS + u]) * tanh(cell[u]);
            }
            grig_expect(is + (b * STEPS + t) * UNITS, h, UNITS, 1e-10);
        }
    }
    krig_check_gradients(&k);
}

TEST(a_two_way_layer_has_both_directions_side_by_side)
{
    enum { STEPS = 3, IN = 2, UNITS = 2 };
    struct layer *l = layer_of(LAYER_SIMPLE_RNN);
    const double *x, *is;

    l->c.units = UNITS;
    l->c.both = LAYER_CONCATENATED;
    l->wrapped[0] = "forward";
    l->wrapped[1] = "backward";
    krig_on(&k, l, DIMS(STEPS, IN));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    for (int b = 0; b < 2; b++)
        for (int way = 0; way < 2; way++) {
            double h[UNITS] = {0};

            for (int i = 0; i < STEPS; i++) {
                int t = way ? STEPS - 1 - i : i;
                double next[UNITS];

                for (int u = 0; u < UNITS; u++)
                    next[u] = tanh(summed(x + (b * STEPS + t) * IN, IN, h, UNITS, UNITS, u,
                                          way ? "simple_rnn/backward/simple_rnn_cell"
                                              : "simple_rnn/forward/simple_rnn_cell"));
                memcpy(h, next, sizeof(h));
            }
            grig_expect(is + (b * 2 + way) * UNITS, h, UNITS, 1e-10);
        }
    krig_check_gradients(&k);
}

TEST(gru_has_right_gradients_either_way_of_resetting)
{
    struct layer *a = layer_of(LAYER_GRU), *b = layer_of(LAYER_GRU);
    int x;

    a->c.units = b->c.units = 2;
    a->c.returns_sequences = true;
    b->c.resets_after = false;
    x = krig_on(&k, a, DIMS(3, 2));
    krig_call(&k, b, 1, &x);
    krig_trace(&k);
    krig_check_gradients(&k);
}

TEST(lstm_runs_on_the_core)
{
    struct layer *l = layer_of(LAYER_LSTM);

    l->c.units = 16;
    k.batch = 8;
    krig_on(&k, l, DIMS(3, 8));
    krig_trace(&k);
    krig_check_core(&k, 0.02);
}

TEST(too_many_steps_are_refused)
{
    struct layer *l = layer_of(LAYER_GRU);
    int x = krig_input(&k, DTYPE_F32, DIMS(4000, 2));

    l->c.units = 2;
    assert_non_null(strstr(krig_refused(&k, l, 1, &x), "at most 2048 are written out"));
}

TEST(a_layer_of_each_step_sees_samples_without_steps)
{
    struct layer *l = layer_of(LAYER_CONV2D);

    l->c.units = 2;
    l->c.size[0] = l->c.size[1] = 2;
    l->is_distributed = true;
    krig_on(&k, l, DIMS(2, 3, 3, 1));
    krig_trace(&k);
    assert_int_equal(k.t.graph.node[k.result.value].shape.rank, 5);
    krig_check_gradients(&k);
}

/* ---- normalisations ---- */

TEST(group_normalization_is_of_each_sample_and_group)
{
    enum { PLACES = 6, C = 4, GROUPS = 2 };
    struct layer *l = layer_of(LAYER_GROUP_NORMALIZATION);
    const double *x, *gamma, *beta, *is;

    l->c.groups = GROUPS;
    krig_on(&k, l, DIMS(3, 2, C));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    gamma = krig_value(&k, "group_normalization/gamma");
    beta = krig_value(&k, "group_normalization/beta");
    for (int set = 0; set < 2 * GROUPS; set++) {
        double sum = 0, squares = 0, mean, root;

        for (int i = 0; i < PLACES * 2; i++) {
            double v = x[(set / GROUPS * PLACES + i / 2) * C + set % GROUPS * 2 + i % 2];

            sum += v;
            squares += v * v;
        }
        mean = sum / (PLACES * 2);
        root = sqrt(squares / (PLACES * 2) - mean * mean + l->c.epsilon);
        for (int i = 0; i < PLACES * 2; i++) {
            int c = set % GROUPS * 2 + i % 2, at = (set / GROUPS * PLACES + i / 2) * C + c;
            double want = (x[at] - mean) / root * gamma[c] + beta[c];

            grig_expect(is + at, &want, 1, 1e-10);
        }
    }
    krig_check_gradients(&k);
}

TEST(group_normalization_refuses_groups_that_do_not_divide)
{
    struct layer *l = layer_of(LAYER_GROUP_NORMALIZATION);
    int x = krig_input(&k, DTYPE_F32, DIMS(4, 6));

    l->c.groups = 4;
    assert_non_null(strstr(krig_refused(&k, l, 1, &x), "must divide the input's channels, 6"));
}

TEST(rms_and_unit_normalization_divide_by_root_and_length)
{
    struct layer *rms = layer_of(LAYER_RMS_NORMALIZATION);
    struct layer *unit = layer_of(LAYER_UNIT_NORMALIZATION);
    const double *x, *scale, *is;
    int call = krig_on(&k, rms, DIMS(3));

    krig_call(&k, unit, 1, &call);
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    scale = krig_value(&k, "rms_normalization/scale");
    for (int b = 0; b < 2; b++) {
        double squares = 0, length = 0, y[3];

        for (int i = 0; i < 3; i++)
            squares += x[3 * b + i] * x[3 * b + i] / 3;
        for (int i = 0; i < 3; i++) {
            y[i] = x[3 * b + i] / sqrt(squares + rms->c.epsilon) * scale[i];
            length += y[i] * y[i];
        }
        for (int i = 0; i < 3; i++)
            y[i] /= sqrt(length);
        grig_expect(is + 3 * b, y, 3, 1e-10);
    }
    krig_check_gradients(&k);
}

TEST(normalization_takes_given_means_and_variances)
{
    static const double mean[2] = {1, -2}, variance[2] = {4, 0.25};
    struct layer *l = layer_of(LAYER_NORMALIZATION);
    const double *x, *is;

    l->c.mean = (struct layer_reals){mean, 2};
    l->c.variance = (struct layer_reals){variance, 2};
    krig_on(&k, l, DIMS(2));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    for (int i = 0; i < 4; i++) {
        double want = (x[i] - mean[i % 2]) / sqrt(variance[i % 2]);

        grig_expect(is + i, &want, 1, CLOSE);
    }
}

/* ---- sizes ---- */

TEST(up_sampling2d_repeats_pixels)
{
    struct layer *l = layer_of(LAYER_UP_SAMPLING2D);
    const double *x, *is;

    l->c.size[1] = 3;
    krig_on(&k, l, DIMS(2, 2, 1));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    for (int i = 0; i < 2 * 4 * 6; i++)
        assert_true(is[i] == x[(i / 24 * 2 + i / 6 % 4 / 2) * 2 + i % 6 / 3]);
    krig_check_gradients(&k);
}

TEST(bilinear_resizing_blends_centres)
{
    static const double part[4][2] = {{1, 0}, {0.75, 0.25}, {0.25, 0.75}, {0, 1}};
    struct layer *l = layer_of(LAYER_RESIZING);
    const double *x, *is;

    l->c.size[0] = 1;
    l->c.size[1] = 4;
    krig_on(&k, l, DIMS(1, 2, 1));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    for (int i = 0; i < 8; i++) {
        double want = part[i % 4][0] * x[i / 4 * 2] + part[i % 4][1] * x[i / 4 * 2 + 1];

        grig_expect(is + i, &want, 1, 1e-7);
    }
    krig_check_gradients(&k);
}

TEST(cropping2d_leaves_the_middle)
{
    struct layer *l = layer_of(LAYER_CROPPING2D);
    const double *x, *is;

    l->c.pads[0] = 1, l->c.pads[1] = 0, l->c.pads[2] = 1, l->c.pads[3] = 2;
    krig_on(&k, l, DIMS(3, 4, 1));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    for (int i = 0; i < 4; i++)
        assert_true(is[i] == x[i / 2 * 12 + (i % 2 + 1) * 4 + 1]);
    krig_check_gradients(&k);
}

TEST(cropping_everything_is_refused)
{
    struct layer *l = layer_of(LAYER_CROPPING1D);
    int x = krig_input(&k, DTYPE_F32, DIMS(2, 3));

    assert_non_null(strstr(krig_refused(&k, l, 1, &x), "leaves nothing of samples [2, 3]"));
}

TEST(repeat_vector_makes_equal_steps)
{
    struct layer *l = layer_of(LAYER_REPEAT_VECTOR);
    const double *x, *is;

    l->c.units = 3;
    krig_on(&k, l, DIMS(2));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    for (int i = 0; i < 12; i++)
        assert_true(is[i] == x[i / 6 * 2 + i % 2]);
    krig_check_gradients(&k);
}

/* ---- merges of unequal shapes, slopes ---- */

TEST(multiply_repeats_what_is_one)
{
    struct layer *l = layer_of(LAYER_MULTIPLY);
    int in[2] = {krig_input(&k, DTYPE_F32, DIMS(2, 3, 2)), krig_input(&k, DTYPE_F32, DIMS(1, 1, 2))};
    const double *a, *b, *is;

    krig_call(&k, l, 2, in);
    is = krig_output(&k);
    a = krig_value(&k, "input_layer");
    b = krig_value(&k, "input_layer_1");
    for (int i = 0; i < 24; i++)
        assert_true(is[i] == a[i] * b[i / 12 * 2 + i % 2]);
    krig_check_gradients(&k);
}

TEST(add_aligns_samples_at_their_end)
{
    struct layer *l = layer_of(LAYER_ADD);
    int in[2] = {krig_input(&k, DTYPE_F32, DIMS(3)), krig_input(&k, DTYPE_F32, DIMS(2, 3))};
    const double *a, *b, *is;

    krig_call(&k, l, 2, in);
    is = krig_output(&k);
    a = krig_value(&k, "input_layer");
    b = krig_value(&k, "input_layer_1");
    for (int i = 0; i < 12; i++)
        assert_true(is[i] == a[i / 6 * 3 + i % 3] + b[i]);
}

TEST(prelu_learns_a_slope_for_each_channel)
{
    struct layer *l = layer_of(LAYER_PRELU);
    const double *x, *alpha, *is;

    l->c.shape_count = 1;
    l->c.shape[0] = 1;
    krig_on(&k, l, DIMS(3, 2));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    alpha = krig_value(&k, "p_re_lu/alpha");
    for (int i = 0; i < 12; i++)
        assert_true(is[i] == (x[i] > 0 ? x[i] : alpha[i % 2] * x[i]));
    krig_check_gradients(&k);
}

TEST(spatial_dropout_drops_whole_channels)
{
    struct layer *l = layer_of(LAYER_SPATIAL_DROPOUT1D);
    const double *x, *is;
    int dropped = 0;

    l->c.rate = 0.5;
    k.is_training = true;
    krig_on(&k, l, DIMS(4, 16));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    for (int c = 0; c < 32; c++) {
        bool is_dropped = is[c / 16 * 64 + c % 16] == 0;

        dropped += is_dropped;
        for (int s = 0; s < 4; s++) {
            int at = c / 16 * 64 + s * 16 + c % 16;

            assert_true(is[at] == (is_dropped ? 0 : 2 * x[at]));
        }
    }
    assert_in_range(dropped, 4, 28);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(conv1d_valid), UNIT(conv1d_same_with_strides),
        UNIT(conv1d_causal_sees_no_later_step), UNIT(conv1d_causal_dilated),
        UNIT(conv1d_causal_with_strides), UNIT(max_pooling1d_is_of_steps),
        UNIT(average_pooling1d_does_not_count_padding),
        UNIT(depthwise_conv1d_keeps_channels_apart),
        UNIT(separable_conv2d_is_a_depthwise_and_a_pointwise_one),
        UNIT(separable_conv1d_has_right_gradients), UNIT(transposed_valid), UNIT(transposed_with_elements_behind),
        UNIT(transposed_with_none_behind), UNIT(transposed_valid_with_elements_behind),
        UNIT(transposed_same), UNIT(transposed_same_of_four), UNIT(transposed_with_gaps),
        UNIT(transposed_without_strides), UNIT(conv2d_transpose_runs_on_the_core),
        UNIT(lstm_goes_through_its_gates_step_by_step),
        UNIT(a_two_way_layer_has_both_directions_side_by_side),
        UNIT(gru_has_right_gradients_either_way_of_resetting), UNIT(lstm_runs_on_the_core),
        UNIT(too_many_steps_are_refused), UNIT(a_layer_of_each_step_sees_samples_without_steps),
        UNIT(group_normalization_is_of_each_sample_and_group),
        UNIT(group_normalization_refuses_groups_that_do_not_divide),
        UNIT(rms_and_unit_normalization_divide_by_root_and_length),
        UNIT(normalization_takes_given_means_and_variances), UNIT(up_sampling2d_repeats_pixels),
        UNIT(bilinear_resizing_blends_centres), UNIT(cropping2d_leaves_the_middle),
        UNIT(cropping_everything_is_refused), UNIT(repeat_vector_makes_equal_steps),
        UNIT(multiply_repeats_what_is_one), UNIT(add_aligns_samples_at_their_end),
        UNIT(prelu_learns_a_slope_for_each_channel), UNIT(spatial_dropout_drops_whole_channels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
