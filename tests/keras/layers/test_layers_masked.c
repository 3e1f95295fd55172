/*
 * Attention, products by equations, volumes, masks, states, noise and images at random: values where
 * they are told in a line, gradients against differences, and both on the core.
 */
#include "base/units.h"
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

static int input(int rank, const int64_t *dim)
{
    return krig_input(&k, DTYPE_F32, rank, dim);
}

/* ---- attention ---- */

static void on_query_and_value(struct layer *l)
{
    int x[2] = {input(DIMS(3, 4)), input(DIMS(2, 4))};

    model_output(&k.m, krig_call(&k, l, 2, x));
}

TEST(attention_weighs_values_by_the_softmax_of_products)
{
    const double *q, *v, *is;

    on_query_and_value(layer_of(LAYER_ATTENTION));
    is = krig_output(&k);
    q = krig_value(&k, "input_layer");
    v = krig_value(&k, "input_layer_1");
    for (int i = 0; i < 6; i++) {
        const double *values = v + i / 3 * 8;
        double e[2] = {0, 0};

        for (int j = 0; j < 8; j++)
            e[j / 4] += q[i * 4 + j % 4] * values[j];
        e[0] = 1 / (1 + exp(e[1] - e[0]));
        for (int j = 0; j < 4; j++)
            assert_true(fabs(is[i * 4 + j] - (e[0] * values[j] + (1 - e[0]) * values[4 + j])) <
                        CLOSE);
    }
    krig_check_gradients(&k);
}

TEST(a_causal_query_sees_no_later_key)
{
    struct layer *l = layer_of(LAYER_ATTENTION);
    const double *v, *is;

    l->c.is_causal = true;
    on_query_and_value(l);
    is = krig_output(&k);
    v = krig_value(&k, "input_layer_1");
    for (int j = 0; j < 4; j++)
        assert_true(is[j] == v[j]);
}

TEST(additive_and_concatenating_scores_have_right_gradients)
{
    struct layer *a = layer_of(LAYER_ATTENTION), *b = layer_of(LAYER_ADDITIVE_ATTENTION);
    int x[2] = {input(DIMS(3, 4)), input(DIMS(2, 4))}, y[2];

    a->c.is_scaled = true;
    a->c.choice = SCORE_CONCAT;
    y[0] = krig_call(&k, a, 2, x);
    y[1] = x[1];
    model_output(&k.m, krig_call(&k, b, 2, y));
    krig_trace(&k);
    krig_check_gradients(&k);
}

static void grouped(void)
{
    struct layer *l = layer_of(LAYER_GROUP_QUERY_ATTENTION);

    l->c.units = 3;
    l->c.heads = 4;
    l->c.groups = 2;
    l->c.is_gated = true;
    l->c.reach = 2;
    on_query_and_value(l);
}

TEST(grouped_queries_have_right_gradients)
{
    grouped();
    krig_trace(&k);
    krig_check_gradients(&k);
}

TEST(grouped_queries_run_on_the_core)
{
    grouped();
    krig_trace(&k);
    krig_check_core(&k, 2e-3);
}

/* ---- products ---- */

TEST(an_equation_says_which_dimensions_are_summed)
{
    struct layer *l = layer_of(LAYER_EINSUM_DENSE);
    const double *x, *kernel, *bias, *is;

    l->c.equation = "abc,bd->adc";
    l->c.bias_axes = "d";
    l->c.shape_count = 2;
    l->c.shape[0] = 4;
    l->c.shape[1] = -1;
    krig_on(&k, l, DIMS(3, 2));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    kernel = krig_value(&k, "einsum_dense/kernel");
    bias = krig_value(&k, "einsum_dense/bias");
    for (int i = 0; i < 16; i++) {
        double sum = bias[i / 2 % 4];

        for (int b = 0; b < 3; b++)
            sum += x[i / 8 * 6 + b * 2 + i % 2] * kernel[b * 4 + i / 2 % 4];
        assert_true(fabs(is[i] - sum) < CLOSE);
    }
    krig_check_gradients(&k);
}

TEST(equations_that_are_no_products_are_refused)
{
    static const char *const texts[] = {"abc->ab", "abc,cd", "abc,cd->abb", "abc,ad->abd", "abc,->abc",
                                        "ab,bc->ac", "abc,de->abc", "aBc,cd->aBd", ""};
    int x = input(DIMS(3, 2));

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct layer *l = layer_of(LAYER_EINSUM_DENSE);

        l->c.equation = texts[i];
        l->c.shape_count = 1;
        l->c.shape[0] = 2;
        assert_non_null(strstr(krig_refused(&k, l, 1, &x), "it must be a product like"));
    }
}

TEST(dot_is_of_an_axis_of_each)
{
    struct layer *l = layer_of(LAYER_DOT);
    const double *a, *b, *is;
    int x[2] = {input(DIMS(2, 3)), input(DIMS(4, 2))};

    l->c.axes[0] = 1;
    l->c.axes[1] = -1;
    model_output(&k.m, krig_call(&k, l, 2, x));
    is = krig_output(&k);
    a = krig_value(&k, "input_layer");
    b = krig_value(&k, "input_layer_1");
    for (int i = 0; i < 24; i++) {
        int n = i / 12, row = i / 4 % 3, col = i % 4;

        assert_true(fabs(is[i] - a[n * 6 + row] * b[n * 8 + col * 2] -
                         a[n * 6 + 3 + row] * b[n * 8 + col * 2 + 1]) < CLOSE);
    }
    krig_check_gradients(&k);
}

/* ---- volumes ---- */

static void volume_layers(void)
{
    struct layer *conv = layer_of(LAYER_CONV3D), *pool = layer_of(LAYER_AVERAGE_POOLING3D);
    struct layer *back = layer_of(LAYER_CONV3D_TRANSPOSE);
    int x = input(DIMS(3, 4, 3, 2));

    conv->c.units = back->c.units = 2;
    for (int i = 0; i < 3; i++)
        conv->c.size[i] = back->c.size[i] = 2;
    pool->c.size[0] = 1;
    pool->c.padding = NN_SAME;
    x = krig_call(&k, conv, 1, &x);
    x = krig_call(&k, pool, 1, &x);
    model_output(&k.m, krig_call(&k, back, 1, &x));
    krig_trace(&k);
}

TEST(volumes_have_right_gradients)
{
    volume_layers();
    krig_check_gradients(&k);
}

TEST(volumes_run_on_the_core)
{
    volume_layers();
    krig_check_core(&k, 2e-3);
}

/* ---- masks and states ---- */

/* steps of zeros change nothing: what comes of the others is what comes of them alone */
TEST(masked_steps_leave_the_state_as_it_was)
{
    struct layer *mask = layer_of(LAYER_MASKING), *l = layer_of(LAYER_GRU);
    int x = input(DIMS(4, 2));
    double *v, all[6];
    const double *is;

    l->c.units = 3;
    x = krig_call(&k, mask, 1, &x);
    model_output(&k.m, krig_call(&k, l, 1, &x));
    krig_trace(&k);
    v = krig_value(&k, "input_layer");
    for (int i = 0; i < 16; i++)
        v[i] = i / 2 % 4 == 1 || i / 2 % 4 == 3 ? 0.0 : v[i];
    is = krig_output(&k);
    for (int i = 0; i < 6; i++)
        all[i] = is[i];
    for (int i = 0; i < 16; i += 8) {   /* the two steps that count come last */
        v[i + 6] = v[i + 4], v[i + 7] = v[i + 5];
        v[i + 4] = v[i], v[i + 5] = v[i + 1];
        v[i] = v[i + 1] = v[i + 2] = v[i + 3] = 0.0;
    }
    is = krig_output(&k);
    for (int i = 0; i < 6; i++)
        assert_true(fabs(is[i] - all[i]) < CLOSE);
}

TEST(masked_sequences_run_on_the_core)
{
    struct layer *mask = layer_of(LAYER_MASKING), *l = layer_of(LAYER_LSTM);
    int x = input(DIMS(4, 2));
    double *v;

    l->c.units = 3;
    l->c.both = LAYER_CONCATENATED;
    l->wrapped[0] = "forward";
    l->wrapped[1] = "backward";
    x = krig_call(&k, mask, 1, &x);
    model_output(&k.m, krig_call(&k, l, 1, &x));
    krig_trace(&k);
    v = krig_value(&k, "input_layer");
    v[2] = v[3] = v[14] = v[15] = 0.0;
    krig_check_core(&k, 2e-3);
}

TEST(a_mask_where_it_is_not_heeded_is_refused)
{
    struct layer *mask = layer_of(LAYER_MASKING), *l = layer_of(LAYER_BATCH_NORMALIZATION);
    int x = input(DIMS(4, 2));

    x = krig_call(&k, mask, 1, &x);
    assert_string_equal(krig_refused(&k, l, 1, &x), "layer \"batch_normalization\": its input is "
                        "masked, by mask_zero or Masking before it; BatchNormalization that heeds "
                        "masks is not supported");
}

TEST(states_are_outputs_and_inputs)
{
    struct layer *l = layer_of(LAYER_LSTM), *next = layer_of(LAYER_LSTM);
    int x = input(DIMS(3, 2)), states[3], call;

    l->c.units = next->c.units = 3;
    l->c.returns_state = true;
    call = krig_call(&k, l, 1, &x);
    states[0] = x;
    states[1] = call + 1;
    states[2] = call + 2;
    assert_int_equal(k.m.node[call + 2].part, 2);
    model_output(&k.m, krig_call(&k, next, 3, states));
    krig_trace(&k);
    krig_check_gradients(&k);
    assert_string_equal(krig_refused(&k, next, 2, states), "layer \"lstm_1\": it is called with 1 "
                        "initial states; it has 2");
}

TEST(a_convolutional_lstm_has_right_gradients)
{
    struct layer *l = layer_of(LAYER_CONV_LSTM2D);

    l->c.units = 2;
    l->c.size[0] = l->c.size[1] = 2;
    l->c.strides[0] = 2;
    krig_on(&k, l, DIMS(2, 3, 3, 1));
    krig_trace(&k);
    krig_check_gradients(&k);
}

/* ---- chance ---- */

TEST(noise_has_its_mean_and_deviation)
{
    enum { COUNT = 2 * 64 * 64 };
    struct layer *l = layer_of(LAYER_GAUSSIAN_NOISE);
    double sum = 0, squares = 0;
    const double *x, *is;

    l->c.stddev = 0.5;
    k.is_training = true;
    krig_on(&k, l, DIMS(64, 64));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    for (int i = 0; i < COUNT; i++) {
        sum += is[i] - x[i];
        squares += (is[i] - x[i]) * (is[i] - x[i]);
    }
    assert_true(fabs(sum / COUNT) < 4 * 0.5 / sqrt(COUNT));
    assert_true(fabs(sqrt(squares / COUNT) - 0.5) < 0.02);
}

TEST(alpha_dropout_drops_its_share)
{
    enum { COUNT = 2 * 64 * 64 };
    struct layer *l = layer_of(LAYER_ALPHA_DROPOUT);
    double lowest = -1.7580993408473766, scale = 1 / sqrt(0.75 * (1 + 0.25 * lowest * lowest));
    int dropped = 0;
    const double *x, *is;

    l->c.rate = 0.25;
    k.is_training = true;
    krig_on(&k, l, DIMS(64, 64));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    for (int i = 0; i < COUNT; i++) {
        double shift = -scale * lowest * 0.25;
        bool is_kept = fabs(is[i] - (scale * x[i] + shift)) < 1e-6;

        dropped += !is_kept;
        assert_true(is_kept || fabs(is[i] - (scale * lowest + shift)) < 1e-6);
    }
    assert_in_range(dropped, COUNT / 4 - 160, COUNT / 4 + 160);
}

TEST(each_image_is_mirrored_or_not)
{
    struct layer *l = layer_of(LAYER_RANDOM_FLIP);
    int mirrored = 0;
    const double *x, *is;

    l->c.choice = FLIP_HORIZONTAL;
    k.is_training = true;
    k.batch = 32;
    krig_on(&k, l, DIMS(2, 3, 1));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    for (int n = 0; n < 32; n++) {
        bool is_mirrored = is[n * 6] != x[n * 6];

        mirrored += is_mirrored;
        for (int i = 0; i < 6; i++)
            assert_true(is[n * 6 + i] == x[n * 6 + (is_mirrored ? i / 3 * 3 + 2 - i % 3 : i)]);
    }
    assert_in_range(mirrored, 6, 26);
}

TEST(an_image_is_moved_by_whole_pixels)
{
    static const double half[] = {0.5, 0.5}, none[] = {0, 0};
    struct layer *l = layer_of(LAYER_RANDOM_TRANSLATION);
    const double *x, *is;

    l->c.scale = (struct layer_reals){half, 2};
    l->c.offset = (struct layer_reals){none, 2};
    l->c.fill = FILL_CONSTANT;
    l->c.mask_value = 7;
    k.is_training = true;
    krig_on(&k, l, DIMS(4, 3, 1));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    for (int i = 0; i < 24; i++)
        assert_true(fabs(is[i] - (i % 12 < 6 ? 7 : x[i - 6])) < 1e-9);
}

/* by a share of 1 each row moves by its number of pixels, to one side or to the other */
TEST(an_image_is_sheared_by_whole_pixels)
{
    static const double all[] = {1, 1}, none[] = {0, 0};
    struct layer *l = layer_of(LAYER_RANDOM_SHEAR);
    int left = 0, images = 32;
    const double *x, *is;

    l->c.scale = (struct layer_reals){all, 2};
    l->c.offset = (struct layer_reals){none, 2};
    l->c.fill = FILL_CONSTANT;
    l->c.mask_value = 7;
    k.is_training = true;
    k.batch = images;
    krig_on(&k, l, DIMS(3, 4, 1));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    for (int n = 0; n < images; n++) {
        bool is_left = fabs(is[n * 12 + 4] - x[n * 12 + 5]) < 1e-6;

        left += is_left;
        for (int i = 0; i < 12; i++) {
            int row = i / 4, from = i % 4 + (is_left ? row : -row);

            assert_true(fabs(is[n * 12 + i] -
                             (from < 0 || from > 3 ? 7 : x[n * 12 + row * 4 + from])) < 1e-6);
        }
    }
    assert_in_range(left, 6, 26);
}

TEST(a_share_of_shear_above_one_is_refused)
{
    static const double much[] = {0, 1.5};
    struct layer *l = layer_of(LAYER_RANDOM_SHEAR);
    int x = krig_input(&k, DTYPE_F32, DIMS(3, 4, 1));

    l->c.offset = (struct layer_reals){much, 2};
    assert_non_null(strstr(krig_refused(&k, l, 1, &x), "\"y_factor\" is 1.5; it must be at most 1"));
}

/* one place for all images of a batch */
TEST(images_are_cropped_at_one_place)
{
    struct layer *l = layer_of(LAYER_RANDOM_CROP);
    const double *x, *is;
    int found = 0;

    l->c.size[0] = 2;
    l->c.size[1] = 3;
    k.is_training = true;
    k.batch = 3;
    krig_on(&k, l, DIMS(5, 6, 2));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    for (int place = 0; place < 16; place++) {
        bool is_here = true;

        for (int i = 0; i < 3 * 2 * 3 * 2; i++) {
            int n = i / 12, row = place / 4 + i / 6 % 2, column = place % 4 + i / 2 % 3;

            is_here = is_here && is[i] == x[((n * 5 + row) * 6 + column) * 2 + i % 2];
        }
        found += is_here;
    }
    assert_int_equal(found, 1);
}

/* of 5 x 4 the first four rows, and of each four pixels their mean */
TEST(where_nothing_is_trained_the_largest_part_is_resized)
{
    struct layer *l = layer_of(LAYER_RANDOM_CROP);
    const double *x, *is;

    l->c.size[0] = l->c.size[1] = 2;
    krig_on(&k, l, DIMS(5, 4, 1));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    for (int i = 0; i < 8; i++) {
        const double *of = x + i / 4 * 20 + i / 2 % 2 * 8 + i % 2 * 2;

        assert_true(fabs(is[i] - (of[0] + of[1] + of[4] + of[5]) / 4) < 1e-6);
    }
}

/* ---- whole numbers ---- */

TEST(numbers_are_counted_and_placed)
{
    static const double edges[] = {-0.5, 0.0, 0.5};
    struct layer *l = layer_of(LAYER_DISCRETIZATION), *c = layer_of(LAYER_CATEGORY_ENCODING);
    const double *x, *is;
    int call;

    l->c.scale = (struct layer_reals){edges, 3};
    c->c.units = 4;
    c->c.choice = ENCODED_COUNT;
    call = krig_on(&k, l, DIMS(5));
    assert_int_equal(k.m.node[call].shape.dtype, DTYPE_S32);
    model_output(&k.m, krig_call(&k, c, 1, &call));
    is = krig_output(&k);
    x = krig_value(&k, "input_layer");
    for (int n = 0; n < 2; n++)
        for (int bin = 0; bin < 4; bin++) {
            int count = 0;

            for (int i = 0; i < 5; i++) {
                double v = x[n * 5 + i];

                count += (v >= -0.5) + (v >= 0.0) + (v >= 0.5) == bin;
            }
            assert_true(is[n * 4 + bin] == count);
        }
}

TEST(a_number_has_its_place_in_a_list)
{
    static const double list[] = {2, 0, 3};
    static const double want[] = {3, 1, 2, 4};      /* of 0, 1, 2, 3; mask 9, then what is not there */
    struct layer *l = layer_of(LAYER_INTEGER_LOOKUP);
    int x = krig_input(&k, DTYPE_S32, DIMS(4));
    const double *v, *is;

    l->c.scale = (struct layer_reals){list, 3};
    l->c.max_value = 9;
    model_output(&k.m, krig_call(&k, l, 1, &x));
    is = krig_output(&k);
    v = krig_value(&k, "input_layer");
    for (int i = 0; i < 8; i++)
        assert_true(is[i] == want[(int)v[i]]);
}

/* ---- dimensions of features ---- */

TEST(channels_in_front_are_those_at_the_end)
{
    struct layer *l = layer_of(LAYER_CONV2D), *same = layer_of(LAYER_CONV2D);
    struct layer *there = layer_of(LAYER_PERMUTE), *back = layer_of(LAYER_PERMUTE);
    struct layer *less = layer_of(LAYER_SUBTRACT);
    int x = input(DIMS(2, 4, 5)), y[2];
    const double *is;

    l->c.units = same->c.units = 3;
    for (int i = 0; i < 2; i++)
        l->c.size[i] = same->c.size[i] = 2;
    l->features = 1;
    there->c.shape_count = back->c.shape_count = 3;
    for (int i = 0; i < 3; i++) {
        there->c.shape[i] = (i + 1) % 3 + 1;
        back->c.shape[i] = (i + 2) % 3 + 1;
    }
    y[0] = krig_call(&k, l, 1, &x);
    y[1] = krig_call(&k, there, 1, &x);
    y[1] = krig_call(&k, same, 1, &y[1]);
    y[1] = krig_call(&k, back, 1, &y[1]);
    model_output(&k.m, krig_call(&k, less, 2, y));
    krig_trace(&k);
    for (int i = 0; i < 2 * 2 * 2 * 3; i++)
        krig_value(&k, "conv2d_1/kernel")[i] = krig_value(&k, "conv2d/kernel")[i];
    for (int i = 0; i < 3; i++)
        krig_value(&k, "conv2d_1/bias")[i] = krig_value(&k, "conv2d/bias")[i];
    is = krig_output(&k);
    for (int i = 0; i < 2 * 3 * 3 * 4; i++)
        assert_true(fabs(is[i]) < CLOSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(attention_weighs_values_by_the_softmax_of_products),
        UNIT(a_causal_query_sees_no_later_key),
        UNIT(additive_and_concatenating_scores_have_right_gradients),
        UNIT(grouped_queries_have_right_gradients), UNIT(grouped_queries_run_on_the_core),
        UNIT(an_equation_says_which_dimensions_are_summed),
        UNIT(equations_that_are_no_products_are_refused), UNIT(dot_is_of_an_axis_of_each),
        UNIT(volumes_have_right_gradients), UNIT(volumes_run_on_the_core),
        UNIT(masked_steps_leave_the_state_as_it_was), UNIT(masked_sequences_run_on_the_core),
        UNIT(a_mask_where_it_is_not_heeded_is_refused), UNIT(states_are_outputs_and_inputs),
        UNIT(a_convolutional_lstm_has_right_gradients), UNIT(noise_has_its_mean_and_deviation),
        UNIT(alpha_dropout_drops_its_share), UNIT(each_image_is_mirrored_or_not),
        UNIT(an_image_is_moved_by_whole_pixels), UNIT(an_image_is_sheared_by_whole_pixels),
        UNIT(a_share_of_shear_above_one_is_refused), UNIT(images_are_cropped_at_one_place),
        UNIT(where_nothing_is_trained_the_largest_part_is_resized),
        UNIT(numbers_are_counted_and_placed),
        UNIT(a_number_has_its_place_in_a_list), UNIT(channels_in_front_are_those_at_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
