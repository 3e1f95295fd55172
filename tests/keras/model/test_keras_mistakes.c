/* What Keras files must not have is named by its layer, field and place. */
#include "tests/rigs/keras_json_rig.h"

TEST(broken_json_is_told_with_line_and_column)
{
    assert_int_equal(read_text("{\n 'a': ]\n}"), -1);
    assert_string_equal(e.file, "m.json");
    assert_int_equal(e.line, 2);
    assert_true(e.col > 0);
    assert_int_equal(model_from_json(&m, &arena, "no_such.json", &e), -1);
    assert_string_equal(e.msg, "cannot open: No such file or directory");
    assert_int_equal(model_from_json(&m, &arena, "examples", &e), -1);
    assert_string_equal(e.msg, "cannot read: Is a directory");
}

TEST(what_is_no_model_is_refused)
{
    expect_refusal("{}", "missing field \"class_name\": not a Keras model");
    expect_refusal("{'class_name': 'Squential'}", "model class Squential is not supported; "
                   "supported are Sequential, Functional, Model");
    expect_refusal("{'class_name': 'Sequential', 'config': {}}",
                   "\"layers\" must be a list of 1..4000 layers");
    expect_refusal("{'class_name': 'Sequential', 'config': {'layers': [" INPUT("x", 4) "]}}",
                   "the model has no layer but its input");
    expect_refusal("{'class_name': 'Sequential', 'config': {'layers': ["
                   "{'class_name': 'Flatten', 'config': {'name': 'f'}}]}}",
                   "layer \"f\": the shape of its input is stated nowhere: add an InputLayer or "
                   "\"build_input_shape\"");
    expect_refusal("{'class_name': 'Sequential', 'config': {'layers': ["
                   INPUT("x", 4) "," INPUT("x", 4) "]}}",
                   "layer \"x\": two layers have this name");
    expect_refusal("{'class_name': 'Sequential', 'config': {'layers': ["
                   INPUT("x", 4) "," INPUT("y", 4) "]}}",
                   "layer \"y\": an InputLayer must come first, and there can be only one");
}

TEST(inputs_must_have_fixed_sizes)
{
    expect_refusal("{'class_name': 'Sequential', 'config': {'layers': ["
                   INPUT("x", null) "]}}",
                   "layer \"x\": dimension 1 of \"batch_shape\" is null; sizes are fixed on a TPU: "
                   "say it with --input-shape");
    expect_refusal("{'class_name': 'Sequential', 'config': {'layers': [{'class_name': 'InputLayer',"
                   " 'config': {'name': 'x', 'batch_shape': [[32], 4]}}]}}",
                   "layer \"x\": \"batch_shape\" must begin with the batch, null or a whole number");
    expect_refusal("{'class_name': 'Sequential', 'config': {'layers': [{'class_name': 'InputLayer',"
                   " 'config': {'name': 'x', 'batch_shape': [null, 4], 'dtype': 'string'}}]}}",
                   "layer \"x\": \"dtype\" is string; an input must be of floats or whole numbers");
    expect_refusal("{'class_name': 'Sequential', 'config': {'layers': [{'class_name': 'InputLayer',"
                   " 'config': {'name': 'x', 'batch_shape': [null, 4], 'sparse': true}}]}}",
                   "layer \"x\": sparse and ragged inputs are not supported");
    expect_refusal("{'class_name': 'Sequential', 'config': {'layers': [{'class_name': 'InputLayer',"
                   " 'config': {'name': 'x'}}]}}", "layer \"x\": missing field \"batch_shape\"");
}

TEST(unknown_classes_and_fields_name_the_nearest)
{
    expect_refusal(ONE("Conv2DD", "'filters': 3"), "layer \"l\": unknown layer class Conv2DD (did "
                   "you mean \"Conv2D\"?); docs/keras.md lists them");
    expect_refusal(ONE("HashedCrossing", "'num_bins': 3"),
                   "layer \"l\": unknown layer class HashedCrossing; docs/keras.md lists them");
    expect_refusal(ONE("Dense", "'units': 3, 'use_bais': true"), "layer \"l\": Dense has no "
                   "\"use_bais\" here (did you mean \"use_bias\"?); it must be null or missing");
    expect_refusal(ONE("Dense", "'units': 3, 'kernel_constraint': {'class_name': 'MaxNrom'}"),
                   "layer \"l\": \"kernel_constraint\": unknown constraint \"MaxNrom\" (did you "
                   "mean \"MaxNorm\"?)");
    expect_refusal(ONE("Dense", "'units': 3, 'kernel_constraint': {'class_name': 'MaxNorm', "
                       "'config': {'max': 2}}"), "layer \"l\": \"kernel_constraint\": MaxNorm has "
                   "no argument max");
    expect_refusal(ONE("Activation", "'activation': 'rleu'"), "layer \"l\": \"activation\": "
                   "unknown activation \"rleu\" (did you mean \"relu\"?); there are linear, relu, "
                   "relu6, leaky_relu, elu, celu, selu, gelu, gelu_tanh, silu, tanh, sigmoid, "
                   "log_sigmoid, softplus, softsign, mish, hard_sigmoid, hard_silu, hard_tanh, "
                   "exponential, softmax, log_softmax, tanh_shrink, "
                   "soft_shrink, hard_shrink, sparse_plus, sparse_sigmoid, sparsemax, "
                   "squareplus");
    expect_refusal(ONE("Dense", "'units': 3, 'kernel_initializer': 'glorot'"), "layer \"l\": "
                   "\"kernel_initializer\": unknown initializer \"glorot\"");
    expect_refusal(ONE("Dense", "'units': 3, 'bias_regularizer': 'max'"), "layer \"l\": "
                   "\"bias_regularizer\" is max; it must be null, L1, L2, L1L2 or "
                   "OrthogonalRegularizer");
    expect_refusal(ONE("Dense", "'units': 3, 'dtype': 'float8_e4m3fn'"), "layer \"l\": unknown "
                   "dtype policy \"float8_e4m3fn\"; there are float32, mixed_bfloat16, bfloat16");
}

TEST(missing_and_bad_values_are_named)
{
    expect_refusal(ONE("Dense", "'units': null"), "layer \"l\": missing field \"units\"");
    expect_refusal(ONE("Dense", "'units': 0"), "layer \"l\": \"units\" is 0, not in 1..65536");
    expect_refusal(ONE("Dense", "'units': 2.5"), "layer \"l\": \"units\" must be a whole number");
    expect_refusal(ONE("Dense", "'units': 2, 'use_bias': 1"),
                   "layer \"l\": \"use_bias\" must be true or false");
    expect_refusal(ONE("Dropout", "'rate': 1.5"), "layer \"l\": \"rate\" is 1.5, not in 0..0.999");
    expect_refusal(ONE("Dropout", "'rate': 'half'"), "layer \"l\": \"rate\" must be a number");
    expect_refusal(ONE("Conv2D", "'filters': 2, 'kernel_size': [1, 2, 3]"), "layer \"l\": "
                   "\"kernel_size\" must be a whole number or a list of two");
    expect_refusal(ONE("Conv2D", "'filters': 2, 'kernel_size': 2, 'padding': 'causal'"), "layer "
                   "\"l\": \"padding\" is \"causal\"; it must be \"valid\" or \"same\"");
    expect_refusal(ONE("Conv2D", "'filters': 2, 'kernel_size': 2, 'data_format': "
                       "'channels'"),
                   "layer \"l\": \"data_format\" is \"channels\"; it must be \"channels_last\" or "
                   "\"channels_first\"");
    expect_refusal(ONE("Reshape", "'target_shape': '4x'"), "layer \"l\": \"target_shape\" must be a "
                   "list of 1..6 whole numbers");
}

TEST(shapes_that_do_not_fit_are_named)
{
    expect_refusal(ONE("Conv2D", "'filters': 2, 'kernel_size': 5"), "layer \"l\": a window of 5 "
                   "does not fit into the height, 4, of samples [4, 4, 2]; use padding \"same\" or "
                   "a smaller window");
    expect_refusal(ONE("Conv2D", "'filters': 3, 'kernel_size': 1, 'groups': 2"), "layer \"l\": "
                   "\"groups\" is 2, which must divide the input's channels, 2, and \"filters\", "
                   "3");
    expect_refusal(ONE("Conv2D", "'filters': 3, 'kernel_size': 1, 'strides': 2, 'dilation_rate': "
                       "2"),
                   "layer \"l\": \"strides\" and \"dilation_rate\" cannot both be above 1");
    expect_refusal(ONE("MultiHeadAttention", "'num_heads': 2, 'key_dim': 2, 'attention_axes': 3"),
                   "layer \"l\": \"attention_axes\" must be some of the dimensions 1..2 of its "
                   "query, of samples [4, 4, 2]");
    expect_refusal(ONE("MultiHeadAttention", "'num_heads': 2, 'key_dim': 2, 'sliding_window': 2"),
                   "layer \"l\": of samples [4, 4, 2] with several dimensions of positions causal "
                   "masks, sliding windows and scores are not supported");
    expect_refusal(ONE("Resizing", "'height': 2, 'width': 2, 'crop_to_aspect_ratio': true, "
                       "'pad_to_aspect_ratio': true"),
                   "layer \"l\": \"crop_to_aspect_ratio\" and \"pad_to_aspect_ratio\" are both true; "
                   "one may be");
    expect_refusal(ONE("Resizing", "'height': 2, 'width': 2, 'pad_to_aspect_ratio': true, "
                       "'fill_mode': 'reflect'"),
                   "layer \"l\": \"fill_mode\" is \"reflect\"; it must be \"constant\"");
    expect_refusal("{'class_name': 'Sequential', 'config': {'layers': [" INPUT("x", 4, 60000, 99)
                   ", {'class_name': 'Resizing', 'config': {'name': 'l', 'height': 500, 'width': 5, "
                   "'interpolation': 'nearest', 'pad_to_aspect_ratio': true}}]}}", "layer \"l\": to make "
                   "500 of 6000000 elements takes a matrix of more than 67108864");
    expect_refusal("{'class_name': 'Sequential', 'config': {'layers': [" INPUT("x", 4, 60000, 99)
                   ", {'class_name': 'Resizing', 'config': {'name': 'l', 'height': 10, 'width': 1, "
                   "'pad_to_aspect_ratio': true}}]}}", "layer \"l\": \"pad_to_aspect_ratio\" makes "
                   "images of more than 2^31 elements");
    expect_refusal("{'class_name': 'Sequential', 'config': {'layers': [" INPUT("x", 16384, 1, 1)
                   ", {'class_name': 'Resizing', 'config': {'name': 'l', 'height': 16385, 'width': 1, "
                   "'interpolation': 'bicubic'}}]}}", "layer \"l\": to make 16385 of 16384 elements "
                   "takes a matrix of more than 67108864");
    expect_refusal(ONE("AdaptiveMaxPooling2D", "'output_size': 0"),
                   "layer \"l\": \"output_size\" is 0, not in 1..1024");
    expect_refusal(ONE("SpectralNormalization", "'layer': {'class_name': 'Flatten', 'config': {}}"),
                   "layer \"l\": SpectralNormalization is of a layer with a kernel, not of Flatten");
    expect_refusal(ONE("SpectralNormalization", "'layer': {'class_name': 'Dense', 'config': "
                       "{'units': 2}}, 'power_iterations': 0"),
                   "layer \"l\": \"power_iterations\" must be a whole number in 1..100");
    expect_refusal(ONE("Reshape", "'target_shape': [5, -1]"), "layer \"l\": samples of shape "
                   "[4, 4, 2] have 32 elements, which \"target_shape\" [5, -1] does not hold");
    expect_refusal(ONE("Reshape", "'target_shape': [-2]"), "layer \"l\": \"target_shape\" is [-2] "
                   "for samples of shape [4, 4, 2]; each dimension must be in 1..32, one may "
                   "be -1");
    expect_refusal(ONE("Permute", "'dims': [1, 1, 2]"), "layer \"l\": \"dims\" must name each of "
                   "1..3, the dimensions of samples [4, 4, 2], once");
    expect_refusal(ONE("LayerNormalization", "'axis': 4"), "layer \"l\": \"axis\" is 4, which "
                   "samples of shape [4, 4, 2] have not; the batch is 0");
    expect_refusal(ONE("Add", "'trainable': true"),
                   "layer \"l\": Add takes 2 to 16 inputs, not 1");
    expect_refusal("{'class_name': 'Sequential', 'config': {'build_input_shape': [null, 3],"
                   "'layers': [" INPUT("x", 4) ", {'class_name': 'Dense', 'config': {'name': 'l',"
                   " 'units': 3}}]}}", "\"build_input_shape\" says samples of shape [3], but the "
                   "input has [4]");
    expect_refusal("{'class_name': 'Sequential', 'config': {"
                   "'layers': [" INPUT("x", 4) ", {'class_name': 'Dense', 'config': {'name': 'l',"
                   " 'units': 3}, 'build_config': {'input_shape': [null, 5]}}]}}", "layer \"l\": "
                   "\"build_config.input_shape\" says samples of shape [5], but it is given [4]");
}

#define GRAPH(layers, outputs) "{'class_name': 'Functional', 'config': {'layers': [" \
    INPUT("x", 4) ", " layers "], 'input_layers': [['x', 0, 0]], 'output_layers': " outputs "}}"
#define DENSE(name, nodes) "{'class_name': 'Dense', 'name': '" name "', 'config': {'name': '" name \
    "', 'units': 4}, 'inbound_nodes': " nodes "}"

TEST(graphs_that_are_none_are_refused)
{
    expect_refusal(GRAPH(DENSE("a", "[[['b', 0, 0]]]") ", " DENSE("b", "[[['a', 0, 0]]]"),
                         "[['a', 0, 0]]"),
                   "layer \"a\": it takes its own output, by way of other layers or at once: the "
                   "graph has a cycle");
    expect_refusal(GRAPH(DENSE("a", "[]"), "[['a', 0, 0]]"),
                   "layer \"a\": it is not connected to anything: \"inbound_nodes\" is empty");
    expect_refusal(GRAPH(DENSE("dense", "[[['xx', 0, 0]]]"), "[['dense', 0, 0]]"),
                   "layer \"dense\": it takes \"xx\", which is no layer of the model (did you mean "
                   "\"x\"?)");
    expect_refusal(GRAPH(DENSE("a", "[[['x', 1, 0]]]"), "[['a', 0, 0]]"),
                   "layer \"a\": it takes call 1 of \"x\", which is called 1 time");
    expect_refusal(GRAPH(DENSE("a", "[[['x', 0, 1]]]"), "[['a', 0, 0]]"),
                   "layer \"a\": it takes output 1 of \"x\", which has 1");
    expect_refusal(GRAPH(DENSE("a", "[[['x', 0, 0]]]"), "[['dense', 0, 0]]"),
                   "\"output_layers\" names \"dense\", which is no layer of the model");
    expect_refusal(GRAPH(DENSE("a", "[{'args': [" TENSOR("x") "], 'kwargs': {'mask': 3}}]"),
                         "[['a', 0, 0]]"),
                   "layer \"a\": argument \"mask\" of its call is not supported; it must be null "
                   "or missing");
    expect_refusal(GRAPH(DENSE("a", "[{'args': [3], 'kwargs': {}}]"), "[['a', 0, 0]]"),
                   "layer \"a\": it is called on what is no output of a layer");
    expect_refusal("{'class_name': 'Functional', 'config': {'layers': ["
                   DENSE("a", "[[['a', 0, 0]]]") "]}}", "the model has no InputLayer");
}

TEST(a_layer_that_leads_nowhere_is_told_when_the_model_is_built)
{
    const char *text = GRAPH(DENSE("a", "[[['x', 0, 0]]]") ", " DENSE("b", "[[['x', 0, 0]]]"),
                             "[['a', 0, 0]]");

    assert_int_equal(read_text(text), 0);
    assert_int_equal(model_build(&m, &set, &e), -1);
    assert_string_equal(e.msg, "layer \"b\": its output leads to no output of the model");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(broken_json_is_told_with_line_and_column), UNIT(what_is_no_model_is_refused),
        UNIT(inputs_must_have_fixed_sizes), UNIT(unknown_classes_and_fields_name_the_nearest),
        UNIT(missing_and_bad_values_are_named), UNIT(shapes_that_do_not_fit_are_named),
        UNIT(graphs_that_are_none_are_refused),
        UNIT(a_layer_that_leads_nowhere_is_told_when_the_model_is_built),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
