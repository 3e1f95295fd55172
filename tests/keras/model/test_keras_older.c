/*
 * Files as authors of ten years wrote them (tests/keras/files): each is read and has the parameters
 * and the output that its layers have, counted by hand; what is custom is refused by layer and class.
 */
#include "keras/model/model.h"
#include "tests/test.h"

#include <string.h>

static struct arena arena;
static struct variable_set set;
static struct model m;
static struct err e;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    variable_set_init(&set, &arena);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    model_fini(&m);
    variable_set_fini(&set);
    arena_fini(&arena);
    return 0;
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static const char *path_of(const char *name)
{
    return arena_printf(&arena, "tests/keras/files/%s.json", name);
}

static void expect(const char *name, const char *sizes, int64_t parameters, int rank,
                   const int64_t *dim)
{
    struct shape want = shape_make(DTYPE_F32, rank, dim);

    if (model_from_json_sized(&m, &arena, path_of(name), sizes, &e) != 0 ||
        model_build(&m, &set, &e) != 0)
        fail_msg("%s", e.msg);
    assert_int_equal(model_parameter_count(&m, true), parameters);
    assert_true(shape_same_dims(&m.node[m.output[0]].shape, &want));
}

#define SIZES(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
                   (int64_t[]){__VA_ARGS__}

/* the layer of this name, from its parameters on */
static const struct layer *layer_of(const char *name)
{
    for (int i = 0; i < m.layer_count; i++)
        if (strcmp(m.layer[i]->name, name) == 0)
            return m.layer[i];
    fail_msg("no layer %s", name);
    return NULL;
}

TEST(a_theano_network_has_its_channels_in_front)
{
    expect("2016_theano_cnn", NULL, 9 * 4 + 4 + 9 * 4 * 6 + 6 + 6 * 6 * 6 * 5 + 5, SIZES(5));
    assert_true(shape_same_dims(&m.node[2].shape, &(struct shape){.rank = 3, .dim = {4, 12, 12}}));
    assert_true(layer_of("convolution2d_2")->c.kernel_regularizer.l2 == 1e-4);
    assert_true(layer_of("dropout_1")->c.rate == 0.25);
}

TEST(an_lstm_of_keras_1_drops_inputs_and_states)
{
    const struct layer_config *c;

    expect("2016_imdb_lstm", NULL, 50 * 6 + 4 * ((6 + 4) * 4 + 4) + 4 + 1, SIZES(1));
    c = &layer_of("lstm_1")->c;
    assert_true(c->rate == 0.2 && c->recurrent_rate == 0.2);
    assert_int_equal(c->recurrent_activation.kind, ACTIVATION_HARD_SIGMOID);
    assert_int_equal(m.node[m.input[0]].shape.dtype, DTYPE_S32);
}

TEST(sequences_of_keras_1_are_read)
{
    expect("2016_conv1d", NULL, 9 * 4 + 4 + 2 * 4 + 4 * 3 + 3 + 15 * 2 + 2, SIZES(2));
    assert_true(layer_of("gaussiannoise_1")->c.stddev == 0.1);
    assert_true(layer_of("leakyrelu_1")->c.negative_slope == 0.2);
}

TEST(a_merge_is_the_layer_of_its_mode)
{
    expect("2017_merge", NULL, 2 * (4 * 3 + 3), SIZES(7));
    assert_int_equal(layer_of("mul_1")->kind, LAYER_MULTIPLY);
    assert_int_equal(layer_of("dot_1")->kind, LAYER_DOT);
}

TEST(a_residual_network_of_2018_is_read)
{
    expect("2018_residual", NULL, 27 * 4 + 8 + 36 * 4 + 4 * 3 + 3, SIZES(3));
}

TEST(a_decoder_begins_with_the_encoders_states)
{
    expect("2018_seq2seq", NULL, 30 * 4 + 20 * 4 + 2 * 4 * ((4 + 3) * 3 + 3) + 3 * 20 + 20,
           SIZES(5, 20));
    assert_int_equal(layer_of("lstm_2")->input_count, 3);
    assert_true(layer_of("embedding_1")->c.masks_zero);
}

TEST(masks_go_through_both_directions)
{
    expect("2018_bidirectional", NULL,
           2 * 4 * ((3 + 3) * 3 + 3) + 6 * 4 + 4 + 4 * ((4 + 2) * 2 + 2) + 2 * 2 + 2, SIZES(2));
    assert_true(m.node[1].has_mask && m.node[2].has_mask && m.node[3].has_mask);
    assert_false(m.node[4].has_mask);
}

TEST(what_separable_layers_inherited_says_nothing)
{
    expect("2020_separable", NULL, 9 * 3 + 3 * 5 + 5 + 9 * 4 * 5 + 4, SIZES(4));
    assert_true(layer_of("t")->c.threshold == 0.5);
}

TEST(operations_of_tensorflow_are_layers)
{
    expect("2021_tf_operations", NULL, 8 * 2 + 2, SIZES(2));
    assert_true(layer_of("tf.math.subtract")->c.scale.value[0] == -1.0 &&
                layer_of("tf.math.subtract")->c.offset.value[0] == 1.0);
    assert_true(shape_same_dims(&layer_of("tf.concat")->input[0],
                                &(struct shape){.rank = 1, .dim = {4}}));
}

/* of a model as tf.keras 2 writes it: squares, roots, sums, a gelu that is by erf unless it says so */
TEST(functions_of_tensorflow_are_operations)
{
    expect("2022_tf_functions", NULL, 6 * 6 + 6, SIZES(4 * 12));
    assert_int_equal(layer_of("tf.math.square")->kind, LAYER_OPERATION);
    assert_int_equal(layer_of("tf.nn.gelu")->c.activation.kind, ACTIVATION_GELU);
    assert_true(layer_of("tf.math.reduce_sum")->c.keeps_dims);
}

TEST(expressions_stand_for_numbers)
{
    expect("2023_build_config", NULL, 27 * 4 + 16 * 16 * 4 * 2 + 2, SIZES(2));
    assert_true(layer_of("rescaling")->c.scale.value[0] == 1.0 / 255.0);
    assert_true(layer_of("rescaling")->c.offset.value[0] == -0.001 * 8);
}

TEST(open_sizes_are_said_beside_the_file)
{
    assert_int_equal(model_from_json(&m, &arena, path_of("2025_masked_two_ends"), &e), -1);
    assert_string_equal(e.msg, "layer \"tokens\": dimension 1 of \"batch_shape\" is null; sizes are "
                        "fixed on a TPU: say it with --input-shape");
    model_fini(&m);
    assert_int_equal(model_from_json_sized(&m, &arena, path_of("2025_masked_two_ends"),
                                           "tokens=6,extra=4", &e), -1);
    assert_string_equal(e.msg, "layer \"extra\": --input-shape says samples of shape [4], the file "
                        "[3], where -1 is open");
    model_fini(&m);
    assert_int_equal(model_from_json_sized(&m, &arena, path_of("2025_masked_two_ends"),
                                           "tokens=6,other=4", &e), -1);
    assert_string_equal(e.msg, "--input-shape: the model has no input \"other\"");
    model_fini(&m);
    assert_int_equal(model_from_json_sized(&m, &arena, path_of("2025_masked_two_ends"),
                                           "tokens=6x", &e), -1);
    assert_non_null(strstr(e.msg, "is no list of 1..5 sizes like 28x28x1"));
}

TEST(masks_that_a_file_writes_out_are_those_that_layers_make)
{
    expect("2025_masked_two_ends", "tokens=6",
           40 * 4 + 4 * 9 + 3 * 9 + 2 * 9 + 6 * 5 + 5 + 6 + 1, SIZES(5));
    assert_int_equal(m.output_count, 2);
    assert_string_equal(m.layer[m.node[m.output[1]].layer]->name, "size");
}

/* the first layer's first layer says what the input is */
TEST(a_chain_of_chains_has_its_input_inside)
{
    expect("2017_chain_of_chains", NULL, 39 * 16 + 16 + 16 * 4 + 4 + 4 * 3 + 3, SIZES(3));
}

TEST(a_lambda_is_refused_by_its_layer_and_class)
{
    assert_int_equal(model_from_json(&m, &arena, path_of("2019_lambda"), &e), -1);
    assert_string_equal(e.msg, "layer \"lambda_1\": unknown layer class Lambda; docs/keras.md lists "
                        "them");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_theano_network_has_its_channels_in_front),
        UNIT(an_lstm_of_keras_1_drops_inputs_and_states), UNIT(sequences_of_keras_1_are_read),
        UNIT(a_merge_is_the_layer_of_its_mode), UNIT(a_residual_network_of_2018_is_read),
        UNIT(a_decoder_begins_with_the_encoders_states), UNIT(masks_go_through_both_directions),
        UNIT(what_separable_layers_inherited_says_nothing),
        UNIT(operations_of_tensorflow_are_layers), UNIT(functions_of_tensorflow_are_operations),
        UNIT(expressions_stand_for_numbers),
        UNIT(open_sizes_are_said_beside_the_file),
        UNIT(masks_that_a_file_writes_out_are_those_that_layers_make),
        UNIT(a_chain_of_chains_has_its_input_inside),
        UNIT(a_lambda_is_refused_by_its_layer_and_class),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
