/* Keras files: are they read as Keras means them? */
#include "tests/rigs/keras_json_rig.h"

/* ---- examples ---- */

TEST(the_guide_s_cnn_has_its_parameters)
{
    load_example("examples/mnist_cnn.json");
    assert_string_equal(m.name, "mnist_cnn");
    assert_int_equal(model_parameter_count(&m, true), 38375818);
    assert_int_equal(model_parameter_count(&m, false), 0);
    expect_sample(m.input[0], SIZES(28, 28, 1));
    expect_sample(m.output[0], SIZES(10));
    assert_string_equal(set.variable[0].name, "conv2d/kernel");
    assert_string_equal(set.variable[9].name, "dense_2/bias");
    assert_int_equal(m.layer[1]->c.activation.kind, ACTIVATION_RELU);
    assert_int_equal(set.variable[4].initializer.kind, INITIALIZER_GLOROT_UNIFORM);
}

TEST(the_mlp_is_read)
{
    load_example("examples/mnist_mlp.json");
    assert_int_equal(model_parameter_count(&m, true), 101770);
    assert_int_equal(m.policy, KERAS_FLOAT32);
    assert_int_equal(m.layer[1]->policy, -1);
}

TEST(a_residual_network_is_read)
{
    load_example("examples/resnet_small.json");
    assert_int_equal(m.node_count, m.layer_count);
    expect_sample(m.output[0], SIZES(10));
    /* kernels 27 and 9 times channels in and out, gammas and betas; 64 x 10 + 10 */
    assert_int_equal(model_parameter_count(&m, true),
                     9 * (3 * 16 + 4 * 16 * 16 / 2 + 16 * 32 + 32 * 32 + 32 * 64 + 64 * 64) +
                     16 * 32 + 32 * 64 + 2 * (3 * 16 + 3 * 32 + 3 * 64) + 650);
    assert_int_equal(model_parameter_count(&m, false), 2 * (3 * 16 + 3 * 32 + 3 * 64));
}

TEST(a_transformer_is_read)
{
    int kernel;

    load_example("examples/char_transformer.json");
    expect_sample(m.output[0], SIZES(128, 65));
    assert_int_equal(m.node[m.input[0]].shape.dtype, DTYPE_S32);
    kernel = variable_find(&set, "block2_attention/query/kernel");
    assert_true(kernel >= 0);
    assert_true(shape_same_dims(&set.variable[kernel].shape,
                                &(struct shape){.rank = 3, .dim = {128, 4, 32}}));
    /* tables, 4 blocks of attention, two norms and 128 x 512 twice, the last norm, the logits */
    assert_int_equal(model_parameter_count(&m, true),
                     (65 + 128) * 128 +
                     4 * (4 * (128 * 128 + 128) + 4 * 128 + 2 * 128 * 512 + 512 + 128) +
                     256 + 128 * 65 + 65);
}

/* ---- forms ---- */

TEST(a_sequential_of_keras_2_states_its_input_in_the_first_layer)
{
    load("{'class_name': 'Sequential', 'config': {'name': 's', 'layers': ["
         "{'class_name': 'Conv2D', 'config': {'name': 'c', 'batch_input_shape': [null, 8, 8, 3],"
         " 'filters': 4, 'kernel_size': 3, 'strides': [2, 2], 'padding': 'same',"
         " 'data_format': 'channels_last', 'activation': 'relu', 'dtype': 'float32'}},"
         "{'class_name': 'BatchNormalization', 'config': {'name': 'b', 'axis': [3]}},"
         "{'class_name': 'Flatten', 'config': {}}]}}");
    expect_sample(m.output[0], SIZES(64));
    assert_int_equal(m.layer[1]->c.strides[1], 2);
    assert_int_equal(variable_find(&set, "b/moving_mean"), 4);
    assert_int_equal(set.variable[4].sync, SYNC_ON_READ);
    assert_int_equal(set.variable[4].aggregation, AGGREGATION_MEAN);
    assert_false(set.variable[4].is_trainable);
}

TEST(a_functional_model_of_keras_2_is_read)
{
    load("{'class_name': 'Functional', 'config': {'name': 'f', 'layers': ["
         "{'class_name': 'InputLayer', 'name': 'a', 'inbound_nodes': [],"
         " 'config': {'batch_input_shape': [null, 4], 'name': 'a'}},"
         "{'class_name': 'InputLayer', 'name': 'b', 'inbound_nodes': [],"
         " 'config': {'batch_input_shape': [null, 4], 'name': 'b'}},"
         "{'class_name': 'Add', 'name': 'sum', 'config': {'name': 'sum'},"
         " 'inbound_nodes': [[['d', 0, 0, {}], ['d', 1, 0, {}]]]},"
         "{'class_name': 'Dense', 'name': 'd', 'config': {'name': 'd', 'units': 2},"
         " 'inbound_nodes': [[['b', 0, 0, {}]], [['a', 0, 0, {}]]]}],"
         "'input_layers': [['b', 0, 0], ['a', 0, 0]], 'output_layers': [['sum', 0, 0]]}}");
    assert_int_equal(m.input_count, 2);
    assert_string_equal(m.layer[m.node[m.input[0]].layer]->name, "b");
    assert_int_equal(m.node_count, 5);
    assert_int_equal(model_parameter_count(&m, true), 10);      /* shared */
}

TEST(arguments_by_name_are_inputs_of_attention)
{
    load("{'class_name': 'Functional', 'config': {'layers': ["
         INPUT("q", 3, 4) "," INPUT("v", 5, 6) "," INPUT("k", 5, 7) ","
         "{'class_name': 'MultiHeadAttention', 'name': 'mha', 'config': {'name': 'mha',"
         " 'num_heads': 2, 'key_dim': 3, 'attention_axes': [1]}, 'inbound_nodes':"
         " [{'args': [" TENSOR("q") "], 'kwargs': {'key': " TENSOR("k") ", 'value': " TENSOR("v")
         ", 'training': null, 'use_causal_mask': true}}]}],"
         "'input_layers': [['q', 0, 0]], 'output_layers': ['mha', 0, 0]}}");
    assert_int_equal(m.input_count, 3);
    assert_true(m.layer[0]->c.is_causal);
    assert_int_equal(set.variable[variable_find(&set, "mha/value/kernel")].shape.dim[0], 6);
    assert_int_equal(set.variable[variable_find(&set, "mha/key/kernel")].shape.dim[0], 7);
    expect_sample(m.output[0], SIZES(3, 4));
}

TEST(policies_follow_the_model_or_stay_a_layer_s_own)
{
    load("{'class_name': 'Sequential', 'config': {'layers': ["
         INPUT("x", 4) ","
         "{'class_name': 'Dense', 'config': {'name': 'a', 'units': 2, 'dtype': 'mixed_bfloat16'}},"
         "{'class_name': 'Activation', 'config': {'name': 'b', 'activation': 'softmax',"
         " 'dtype': {'class_name': 'DTypePolicy', 'config': {'name': 'float32'}}}}]}}");
    assert_int_equal(m.policy, KERAS_MIXED_BFLOAT16);
    assert_int_equal(m.layer[1]->policy, -1);
    assert_int_equal(m.layer[2]->policy, KERAS_FLOAT32);
}

TEST(types_that_cores_have_not_are_computed_in_the_nearest)
{
    static const struct { const char *name; enum keras_policy is; } policies[] = {
        {"mixed_float16", KERAS_MIXED_BFLOAT16}, {"float16", KERAS_BFLOAT16},
        {"float64", KERAS_FLOAT32},
    };

    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        char text[400];

        snprintf(text, sizeof(text), "{'class_name': 'Sequential', 'config': {'layers': ["
                 INPUT("x", 4) ", {'class_name': 'Dense', 'config': {'name': 'a', 'units': 2, "
                 "'dtype': {'class_name': 'Policy', 'config': {'name': '%s'}}}}]}}",
                 policies[i].name);
        if (read_text(text) != 0)
            fail_msg("%s", e.msg);
        assert_int_equal(m.policy, policies[i].is);
        assert_string_equal(m.file_policy, policies[i].name);
        assert_int_equal(m.layer[1]->policy, -1);
        model_fini(&m);
    }
}

TEST(every_class_is_read)
{
    static const char *const texts[] = {
        ONE("Dense", "'units': 3, 'kernel_regularizer': {'class_name': 'L2', 'config': "
            "{'l2': 1e-4}}"),
        ONE("Conv2D", "'filters': 3, 'kernel_size': [2, 3], 'dilation_rate': 2, 'padding': 'same'"),
        ONE("DepthwiseConv2D", "'kernel_size': 2, 'depth_multiplier': 2, 'groups': 1"),
        ONE("MaxPooling2D", "'pool_size': [2, 2], 'strides': null"),
        ONE("AveragePooling2D", "'pool_size': 2, 'strides': [1, 1]"),
        ONE("GlobalAveragePooling2D", "'keepdims': true"),
        ONE("GlobalMaxPooling2D", "'data_format': 'channels_last'"),
        ONE("BatchNormalization", "'momentum': 0.9, 'epsilon': 1e-5, 'synchronized': true"),
        ONE("LayerNormalization", "'axis': [3], 'rms_scaling': false"),
        ONE("Dropout", "'rate': 0.25, 'seed': 3, 'noise_shape': null"),
        ONE("Flatten", "'trainable': true"),
        ONE("Reshape", "'target_shape': [2, -1]"),
        ONE("Permute", "'dims': [2, 1, 3]"),
        ONE("ZeroPadding2D", "'padding': [[1, 2], [3, 4]]"),
        ONE("Rescaling", "'scale': 0.5, 'offset': 1"),
        ONE("Activation", "'activation': {'class_name': 'function', 'config': 'gelu'}"),
        ONE("ReLU", "'max_value': 6.0"),
        ONE("LeakyReLU", "'alpha': 0.1"),
        ONE("ELU", "'alpha': 0.5"),
        ONE("Softmax", "'axis': -1"),
        ONE("Embedding", "'input_dim': 5, 'output_dim': 2, 'mask_zero': false"),
    };
    double want[] = {1e-4, 2, 2, 0, 1, 1, 0, 1e-5, 3, 0.25, 0, -1, 2, 4, 1, ACTIVATION_GELU, 6,
                     0.1, 0.5, -1, 5};

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        const struct layer_config *c;
        double is[COUNT_OF(want)];

        if (read_text(texts[i]) != 0)
            fail_msg("%s", e.msg);
        c = &m.layer[1]->c;
        double all[] = {c->kernel_regularizer.l2, (double)c->dilation[1], (double)c->units,
                        (double)c->strides[0], (double)c->strides[1], c->keeps_dims, c->keeps_dims,
                        c->epsilon, (double)m.layer[1]->features, c->rate, 0, (double)c->shape[1],
                        (double)c->shape[0], (double)c->pads[3], c->offset.count ? *c->offset.value : 0,
                        (double)c->activation.kind, c->max_value, c->negative_slope, c->alpha,
                        (double)c->axis, (double)c->rows};
        memcpy(is, all, sizeof(is));
        assert_true(is[i] == want[i]);
        model_fini(&m);
    }
}

/* ---- what else files have ---- */

TEST(a_field_beside_a_switch_that_is_off_says_nothing)
{
    if (read_text(ONE("BatchNormalization",
            "'renorm': false, 'renorm_clipping': null, 'renorm_momentum': 0.99")) != 0)
        fail_msg("%s", e.msg);
    model_fini(&m);
    assert_int_equal(read_text(ONE("BatchNormalization",
            "'renorm': true, 'renorm_momentum': 0.99")), -1);
}

/* which files of Keras 2 do not say */
TEST(both_directions_give_zeros_where_a_mask_is_if_they_give_sequences)
{
    for (int gives = 0; gives < 2; gives++) {
        const char *text = arena_printf(
            &arena, "{'class_name': 'Sequential', 'config': {'layers': [" INPUT("x", 4, 2) ", "
            "{'class_name': 'Bidirectional', 'config': {'name': 'l', 'layer': {'class_name': 'LSTM', "
            "'config': {'units': 2, 'return_sequences': %s}}}}]}}", gives ? "true" : "false");

        if (read_text(text) != 0)
            fail_msg("%s", e.msg);
        assert_int_equal(m.layer[1]->c.zeroes_masked, gives);
        model_fini(&m);
    }
}

TEST(both_directions_of_one_name_have_variables_of_their_own)
{
#define NAMED_LSTM "{'class_name': 'LSTM', 'config': {'name': 'b', 'units': 2}}"
    load("{'class_name': 'Sequential', 'config': {'layers': [" INPUT("x", 4, 2) ", "
         "{'class_name': 'Bidirectional', 'config': {'name': 'l', 'layer': " NAMED_LSTM
         ", 'backward_layer': " NAMED_LSTM "}}]}}");
    assert_string_equal(set.variable[0].name, "l/b/lstm_cell/kernel");
    assert_string_equal(set.variable[3].name, "l/backward_b/lstm_cell/kernel");
}

TEST(how_random_bits_were_drawn_says_nothing)
{
    if (read_text(ONE("RandomFlip", "'mode': 'horizontal', 'seed': null, 'rng_type': 'stateless'")) != 0)
        fail_msg("%s", e.msg);
}

TEST(variance_scaling_says_its_mode_and_distribution)
{
    const struct initializer *i;

    if (read_text(ONE("Dense", "'units': 3, "
            "'kernel_initializer': {'class_name': 'VarianceScaling', 'config': {'scale': 2.0, "
            "'mode': 'fan_out', 'distribution': 'uniform', 'seed': null}}")) != 0)
        fail_msg("%s", e.msg);
    i = &m.layer[1]->c.kernel_initializer;
    assert_int_equal(i->kind, INITIALIZER_VARIANCE_SCALING);
    assert_int_equal(i->mode, FAN_OUT);
    assert_int_equal(i->distribution, DRAW_UNIFORM);
    assert_true(i->a == 2.0);
}

TEST(other_names_and_spellings_are_taken)
{
    if (read_text(ONE("MaxPool2D",
            "'pool_size': 2, 'padding': 'SAME'")) != 0)
        fail_msg("%s", e.msg);
    assert_int_equal(m.layer[1]->kind, LAYER_MAX_POOLING2D);
    assert_int_equal(m.layer[1]->c.padding, NN_SAME);
}

/* Resizing is called so by Keras; of a layer that drops it would be another model */
TEST(training_is_taken_where_it_changes_nothing)
{
#define CALLED(class, config) \
    "{'class_name': 'Functional', 'config': {'name': 'f', 'layers': [" \
    "{'class_name': 'InputLayer', 'config': {'batch_shape': [null, 4, 4, 1], 'name': 'x'}, " \
    "'inbound_nodes': []}, {'class_name': '" class "', 'name': 'l', 'config': {'name': 'l', " \
    config "}, 'inbound_nodes': [[['x', 0, 0, {'training': true}]]]}], " \
    "'input_layers': [['x', 0, 0]], 'output_layers': [['l', 0, 0]]}}"
    if (read_text(CALLED("Resizing", "'height': 2, 'width': 3")) != 0)
        fail_msg("%s", e.msg);
    model_fini(&m);
    assert_int_equal(read_text(CALLED("Dropout", "'rate': 0.5")), -1);
    assert_non_null(strstr(e.msg, "argument \"training\" of its call is not supported"));
}

#define LAYER(class, name, config, nodes) \
    "{'class_name': '" class "', 'name': '" name "', 'config': {'name': '" name "'" config "}, " \
    "'inbound_nodes': [" nodes "]}"
#define FUNCTIONAL(layers, ends) \
    "{'class_name': 'Functional', 'name': 'f', 'config': {'name': 'f', 'layers': [" layers "], " ends "}}"
#define INNER(nodes) \
    "{'class_name': 'Functional', 'name': 'in', 'config': {'name': 'in', 'layers': [" \
    LAYER("InputLayer", "i", ", 'batch_shape': [null, 4]", "") ", " \
    LAYER("BatchNormalization", "b", "", "[['i', 0, 0]]") "], 'input_layers': [['i', 0, 0]], " \
    "'output_layers': [['b', 0, 0]]}, 'inbound_nodes': [" nodes "]}"
#define INPUT_X LAYER("InputLayer", "x", ", 'batch_shape': [null, 4]", "")
#define NEW_NODE(history) \
    "{'args': [{'class_name': '__keras_tensor__', 'config': {'keras_history': " history "}}], " \
    "'kwargs': {'training': true}}"

/* Keras 1 and 2: the graph that it was made of is call 0 */
TEST(calls_of_a_model_inside_older_ones_are_counted_from_one)
{
    load(FUNCTIONAL(INPUT_X ", " INNER("[['x', 0, 0, {}]], [['in', 1, 0, {}]]") ", "
                    LAYER("Dense", "d", ", 'units': 3", "[['in', 2, 0, {}]]"),
                    "'input_layers': [['x', 0, 0]], 'output_layers': [['d', 0, 0]]"));
    assert_int_equal(m.node_count, 4);
    expect_sample(m.output[0], SIZES(3));
}

/* Keras 3: only among the outputs */
TEST(an_output_that_a_model_inside_makes_is_counted_from_one)
{
    load(FUNCTIONAL(INPUT_X ", " INNER(NEW_NODE("['x', 0, 0]") ", " NEW_NODE("['d', 0, 0]")) ", "
                    LAYER("Dense", "d", ", 'units': 4", NEW_NODE("['in', 0, 0]")),
                    "'input_layers': [['x', 0, 0]], 'output_layers': [['in', 1, 0], ['in', 2, 0]]"));
    assert_int_equal(m.output_count, 2);
    assert_int_equal(m.output[0], 1);
    assert_int_equal(m.output[1], 3);
}

/* base(x, training=False), as TensorFlow's guide to transfer learning has it */
TEST(a_model_that_is_called_without_training_does_not_train)
{
    load(FUNCTIONAL(INPUT_X ", " INNER("[['x', 0, 0, {'training': false}]]") ", "
                    LAYER("Dropout", "d", ", 'rate': 0.5", "[['in', 1, 0, {}]]"),
                    "'input_layers': [['x', 0, 0]], 'output_layers': [['d', 0, 0]]"));
    assert_true(m.layer[0]->never_trains && m.layer[0]->is_trainable);
    assert_false(m.layer[1]->never_trains);
    model_fini(&m);
    assert_int_equal(read_text(FUNCTIONAL(INPUT_X ", "
        INNER("[['x', 0, 0, {'training': false}]], [['in', 1, 0, {}]]"),
        "'input_layers': [['x', 0, 0]], 'output_layers': [['in', 2, 0]]")), -1);
    assert_string_equal(e.msg, "layer \"in\": its calls differ in \"training\", which is not "
                        "supported");
}

/* Keras 3.15.1 says it anew at each step, whatever the call said */
TEST(what_calls_of_keras_three_say_of_training_is_read_over)
{
    load(FUNCTIONAL(INPUT_X ", " LAYER("Dropout", "d", ", 'rate': 0.5", NEW_NODE("['x', 0, 0]")),
                    "'input_layers': [['x', 0, 0]], 'output_layers': [['d', 0, 0]]"));
    assert_false(m.layer[0]->never_trains);
}

#define OPERATION(class, config, args) \
    FUNCTIONAL(INPUT_X ", {'module': 'keras.src.ops.numpy', 'class_name': '" class "', 'config': " \
               "{'name': 'o'" config "}, 'name': 'o', 'inbound_nodes': [{'args': [" args "], " \
               "'kwargs': {}}]}", "'input_layers': [['x', 0, 0]], 'output_layers': [['o', 0, 0]]")
#define TENSOR_X "{'class_name': '__keras_tensor__', 'config': {'keras_history': ['x', 0, 0]}}"

#define OF(name) "{'class_name': '__keras_tensor__', 'config': {'keras_history': ['" name "', 0, 0]}}"
#define OP(class, name, args) \
    "{'module': 'keras.src.ops.numpy', 'class_name': '" class "', 'config': {'name': '" name "'}, " \
    "'name': '" name "', 'inbound_nodes': [{'args': [" args "], 'kwargs': {}}]}"
#define TF(function, kwargs) \
    FUNCTIONAL(INPUT_X ", {'class_name': 'TFOpLambda', 'config': {'name': 'o', 'function': '" \
               function "'}, 'name': 'o', 'inbound_nodes': [['x', 0, 0, {" kwargs "}]]}", \
               "'input_layers': [['x', 0, 0]], 'output_layers': [['o', 0, 0]]")

/* tf.keras 2 writes arguments beside the arrays, under TensorFlow's names */
TEST(operations_of_tensorflow_are_those_of_keras)
{
    load(TF("split", "'num_or_size_splits': [1, 3], 'axis': 1"));
    expect_sample(m.output[0], SIZES(1));
    assert_true(m.layer[0]->c.list.count == 1 && *m.layer[0]->c.list.value == 1);
    model_fini(&m);
    load(TF("where", "'x': ['x', 0, 0], 'y': 0.5"));
    assert_true(*m.layer[0]->c.constant[2].value == 0.5);
    model_fini(&m);
    load(TF("clip_by_value", "'clip_value_min': -1, 'clip_value_max': 2, 'name': null"));
    assert_true(m.layer[0]->c.alpha == -1 && m.layer[0]->c.threshold == 2);
    model_fini(&m);
    load(TF("pad", "'paddings': [[0, 0], [1, 2]], 'mode': 'REFLECT', 'constant_values': 0"));
    expect_sample(m.output[0], SIZES(7));
    model_fini(&m);
    assert_int_equal(read_text(TF("gather", "'indices': [1], 'batch_dims': 0")), -1);
    assert_string_equal(e.msg, "layer \"o\": its axes are not those of its samples; the batch is 0, "
                        "which is not supported");
    assert_int_equal(read_text(TF("cumprod", "")), -1);
    assert_string_equal(e.msg, "layer \"o\": TFOpLambda of tf.cumprod is not supported");
    assert_int_equal(read_text(TF("nn.relu", "'alpha': 2")), -1);
    assert_string_equal(e.msg, "layer \"o\": argument \"alpha\" of nn.relu is not supported");
}

#define BATCH_SECOND(index) \
    FUNCTIONAL("{'class_name': 'InputLayer', 'config': {'name': 'x', 'batch_shape': [null, 5, 3, 4]}, " \
               "'name': 'x', 'inbound_nodes': []}, " \
               "{'module': 'keras.src.ops.numpy', 'class_name': 'Transpose', 'config': {'name': 't', " \
               "'axes': [2, 0, 1, 3]}, 'name': 't', 'inbound_nodes': [{'args': [" OF("x") "], " \
               "'kwargs': {}}]}, " OP("GetItem", "q", OF("t") ", " index), \
               "'input_layers': [['x', 0, 0]], 'output_layers': [['q', 0, 0]]")

/* an .h5 of Keras 3 has no modules */
TEST(an_operation_is_known_without_its_module)
{
    load(FUNCTIONAL(INPUT_X ", {'class_name': 'Square', 'config': {'name': 'o'}, 'name': 'o', "
                    "'inbound_nodes': [{'args': [" OF("x") "], 'kwargs': {}}]}, {'class_name': "
                    "'Multiply', 'config': {'name': 'm'}, 'name': 'm', 'inbound_nodes': [{'args': "
                    "[0.5, " OF("o") "], 'kwargs': {}}]}",
                    "'input_layers': [['x', 0, 0]], 'output_layers': [['m', 0, 0]]"));
    assert_string_equal(m.layer[0]->operation, "Square");
    assert_true(*m.layer[1]->c.scale.value == 0.5);
    model_fini(&m);
    load(FUNCTIONAL(INPUT_X ", {'class_name': 'Relu', 'config': {'name': 'o'}, 'name': 'o', "
                    "'inbound_nodes': [{'args': [" OF("x") "], 'kwargs': {}}]}, {'class_name': "
                    "'Reshape', 'config': {'name': 'm', 'newshape': [-1, 2, 2]}, 'name': 'm', "
                    "'inbound_nodes': [{'args': [" OF("o") "], 'kwargs': {}}]}",
                    "'input_layers': [['x', 0, 0]], 'output_layers': [['m', 0, 0]]"));
    expect_sample(m.output[0], SIZES(2, 2));
}

/* q = transpose(qkv, ...)[0] has its batch in front, although what it is a part of has not */
TEST(a_part_may_bring_the_batch_to_the_front)
{
    load(BATCH_SECOND("0"));
    expect_sample(m.output[0], SIZES(5, 4));
    model_fini(&m);
    load(BATCH_SECOND("[-1, {'start': null, 'stop': null, 'step': null}, 2]"));
    expect_sample(m.output[0], SIZES(4));
    model_fini(&m);
    assert_int_equal(read_text(BATCH_SECOND("[{'start': 1, 'stop': null, 'step': null}]")), -1);
}

#define HEADS(kwargs) \
    FUNCTIONAL("{'class_name': 'InputLayer', 'config': {'name': 'x', 'batch_shape': [null, 3, 4]}, " \
               "'name': 'x', 'inbound_nodes': []}, " OP("NotEqual", "p", OF("x") ", 0") ", " \
               "{'class_name': 'MultiHeadAttention', 'config': {'name': 'h', 'num_heads': 2, " \
               "'key_dim': 3}, 'name': 'h', 'inbound_nodes': [" kwargs "]}", \
               "'input_layers': [['x', 0, 0]], 'output_layers': [['h', 0, 0]]")
#define HEADS_OF(kwargs) "{'args': [" OF("x") ", " OF("x") "], 'kwargs': {" kwargs "}}"

TEST(an_attention_may_be_told_which_pairs_count)
{
    load(HEADS(HEADS_OF("'attention_mask': null")));
    assert_false(m.layer[0]->c.takes_pairs);
    model_fini(&m);
    assert_int_equal(read_text(HEADS(HEADS_OF("'attention_mask': " OF("p")))), -1);
    assert_string_equal(e.msg, "layer \"h\": its attention_mask has samples [3, 4]; they must be "
                        "[3, 3], a number for each query and key, of each head or of all");
    assert_int_equal(read_text(HEADS(HEADS_OF("") ", " HEADS_OF("'attention_mask': " OF("p")))), -1);
    assert_string_equal(e.msg, "layer \"h\": its calls differ in \"attention_mask\", which is not "
                        "supported");
}

/* Keras's guides have axis=None, which is one mean of all numbers, as [] or null */
TEST(a_normalization_is_of_the_dimensions_that_it_names)
{
    static const struct { const char *axis; int rank; int64_t first; } cases[] = {
        {"[]", 0, 1}, {"null", 0, 1}, {"-1", 1, 6}, {"[3]", 1, 6}, {"[1, 3]", 2, 4}, {"[-1, 2]", 2, 5},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[512];
        struct variable *v;

        snprintf(text, sizeof(text), "{'class_name': 'Sequential', 'config': {'name': 's', 'layers': "
                 "[{'class_name': 'InputLayer', 'config': {'name': 'x', 'batch_shape': "
                 "[null, 4, 5, 6]}}, {'class_name': 'Normalization', 'config': {'name': "
                 "'n%zu', 'axis': %s}}]}}", i, cases[i].axis);
        load(text);
        v = &set.variable[m.layer[1]->variable[0]];
        assert_int_equal(v->shape.rank, cases[i].rank);
        assert_true(v->shape.rank == 0 || v->shape.dim[0] == cases[i].first);
        model_fini(&m);
    }
}

/* what stands in the configuration changes what an operation does */
TEST(operations_are_read_with_their_parameters)
{
    load(OPERATION("Gelu", ", 'approximate': true", TENSOR_X));
    assert_int_equal(m.layer[0]->c.activation.kind, ACTIVATION_GELU_TANH);
    model_fini(&m);
    load(OPERATION("Gelu", "", TENSOR_X));
    assert_int_equal(m.layer[0]->c.activation.kind, ACTIVATION_GELU);
    model_fini(&m);
    load(OPERATION("Elu", ", 'alpha': 0.25", TENSOR_X));
    assert_true(m.layer[0]->c.activation.alpha == 0.25);
    model_fini(&m);
    load(OPERATION("TrueDivide", "", "1.0, " TENSOR_X));
    expect_sample(m.output[0], SIZES(4));
    assert_true(*m.layer[0]->c.constant[0].value == 1);
    model_fini(&m);
    load(OPERATION("Add", "", TENSOR_X ", {'class_name': '__tensor__', 'config': {'value': "
                   "[[1, 2, 3, 4]], 'dtype': 'float32'}}"));
    assert_int_equal(m.layer[0]->c.constant[1].shape.rank, 1);
    assert_true(m.layer[0]->c.constant[1].value[3] == 4);
    model_fini(&m);
    load(OPERATION("GetItem", "", TENSOR_X ", [{'class_name': '__ellipsis__', 'config': {}}, "
                   "{'start': 3, 'stop': 0, 'step': -2}]"));
    expect_sample(m.output[0], SIZES(2));
    model_fini(&m);
    load(OPERATION("GetItem", "", TENSOR_X ", [{'class_name': '__ellipsis__', 'config': {}}, 0]"));
    expect_sample(m.output[0], 0, NULL);
    model_fini(&m);
    assert_int_equal(read_text(OPERATION("Add", "", TENSOR_X ", [[1, 2], [3]]")), -1);
    assert_non_null(strstr(e.msg, "a constant that is no array"));
    assert_int_equal(read_text(OPERATION("Softmax", ", 'axis': 0", TENSOR_X)), -1);
    assert_string_equal(e.msg, "layer \"o\": \"axis\" must be a whole number, not the batch's, 0");
}

/* Keras writes both alike: what only layers take as their mask is left out, the rest is computed */
TEST(an_operation_of_masks_that_is_computed_with_is_no_mask)
{
    load(FUNCTIONAL(INPUT_X ", " OP("OnesLike", "o", OF("x")) ", "
                    OP("Multiply", "m", OF("o") ", " OF("x")) ", "
                    OP("NotEqual", "n", OF("x") ", 0") ", "
                    OP("Softmax", "s", OF("m")),
                    "'input_layers': [['x', 0, 0]], 'output_layers': [['s', 0, 0]]"));
    assert_int_equal(m.layer_count, 4);        /* the input and three operations */
    assert_string_equal(m.layer[0]->operation, "OnesLike");
    assert_string_equal(m.layer[1]->operation, "Multiply");
}

/* a chain inside a functional model, called twice: one layer, two calls */
TEST(a_model_is_a_layer_of_another_one)
{
    static const char text[] =
        "{'class_name': 'Functional', 'config': {'name': 'f', 'layers': ["
        "{'class_name': 'InputLayer', 'config': {'batch_shape': [null, 4], 'name': 'x'}, "
        "'inbound_nodes': []}, "
        "{'class_name': 'Sequential', 'name': 'inner', 'config': {'name': 'inner', 'layers': ["
        "{'class_name': 'Dense', 'config': {'name': 'd', 'units': 4}}]}, "
        "'inbound_nodes': [[['x', 0, 0, {}]], [['inner', 0, 0, {}]]]}, "
        "{'module': 'keras.src.ops.numpy', 'class_name': 'Subtract', 'config': {'name': 's'}, "
        "'name': 's', 'inbound_nodes': [{'args': [1, {'class_name': '__keras_tensor__', 'config': "
        "{'keras_history': ['inner', 1, 0]}}], 'kwargs': {}}]}], "
        "'input_layers': [['x', 0, 0]], 'output_layers': [['s', 0, 0]]}}";

    if (read_text(text) != 0)
        fail_msg("%s", e.msg);
    assert_int_equal(m.layer_count, 3);
    assert_string_equal(m.layer[0]->name, "inner/d");
    assert_int_equal(m.node_count, 4);
    assert_true(m.layer[1]->c.scale.value[0] == -1 && m.layer[1]->c.offset.value[0] == 1);
}

#define EACH_STEP(layers) \
    "{'class_name': 'Sequential', 'config': {'name': 's', 'layers': [{'class_name': 'InputLayer', " \
    "'config': {'name': 'x', 'batch_shape': [null, 5, 4, 4, 1]}}, {'class_name': " \
    "'TimeDistributed', 'config': {'name': 't', 'layer': {'class_name': 'Sequential', 'config': " \
    "{'name': 'i', 'layers': [" layers "]}}}}]}}"

TEST(a_model_may_be_on_each_step)
{
    load(EACH_STEP("{'class_name': 'Conv2D', 'config': {'name': 'c', 'filters': 2, 'kernel_size': "
                   "3}}, {'class_name': 'Flatten', 'config': {'name': 'f'}}"));
    assert_string_equal(m.layer[1]->name, "t/c");
    expect_sample(m.output[0], SIZES(5, 8));
    model_fini(&m);
    load(EACH_STEP("{'class_name': 'Reshape', 'config': {'name': 'r', 'target_shape': [4, 4]}}, "
                   "{'class_name': 'Bidirectional', 'config': {'name': 'b', 'layer': {'class_name': "
                   "'GRU', 'config': {'name': 'g', 'units': 3}}}}"));
    expect_sample(m.output[0], SIZES(5, 6));
    assert_string_equal(layer_whole_class(m.layer[2]), "Bidirectional");    /* files place it so */
    model_fini(&m);
    assert_int_equal(read_text(EACH_STEP("{'class_name': 'TimeDistributed', 'config': {'name': 'd', "
        "'layer': {'class_name': 'Dense', 'config': {'name': 'e', 'units': 2}}}}")), -1);
    assert_string_equal(e.msg, "layer \"d\": TimeDistributed inside a TimeDistributed model is not "
                        "supported");
}

/* the backward layer has a configuration of its own, of which only the names were read once */
TEST(the_two_layers_of_a_bidirectional_one_compute_the_same)
{
#define TWO_WAYS(activation) \
    "{'class_name': 'Sequential', 'config': {'name': 's', 'layers': [{'class_name': 'InputLayer', " \
    "'config': {'name': 'x', 'batch_shape': [7, 5, 4]}}, {'class_name': 'Bidirectional', " \
    "'config': {'name': 'b', 'layer': {'class_name': 'LSTM', 'config': {'name': 'f', 'units': 2, " \
    "'activation': 'tanh'}}, 'backward_layer': {'class_name': 'LSTM', 'config': {'name': 'g', " \
    "'units': 2, 'activation': '" activation "', 'go_backwards': true}}}}]}}"
    load(TWO_WAYS("tanh"));
    expect_sample(m.output[0], SIZES(4));
    model_fini(&m);
    assert_int_equal(read_text(TWO_WAYS("relu")), -1);
    assert_string_equal(e.msg, "layer \"b\": the layers of a Bidirectional differ in "
                        "\"activation\", which is not supported");
}

/* where it was built first, or adapted, need not be where it is called */
TEST(a_layer_may_have_been_built_for_other_sizes)
{
    static const char text[] =
        "{'class_name': 'Sequential', 'config': {'name': 's', 'layers': [{'class_name': "
        "'InputLayer', 'config': {'name': 'x', 'batch_shape': [null, 6, 6, 3]}}, {'class_name': "
        "'Conv2D', 'config': {'name': 'c', 'filters': 2, 'kernel_size': 3}, 'build_config': "
        "{'input_shape': [null, 20, 12, %s]}}]}}";
    char same[sizeof(text)], other[sizeof(text)];

    snprintf(same, sizeof(same), text, "3");
    snprintf(other, sizeof(other), text, "4");
    load(same);
    model_fini(&m);
    assert_int_equal(read_text(other), -1);
    assert_non_null(strstr(e.msg, "\"build_config.input_shape\" says samples of shape [20, 12, 4]"));
}

/* ---- mistakes ---- */

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(the_guide_s_cnn_has_its_parameters), UNIT(the_mlp_is_read),
        UNIT(a_residual_network_is_read), UNIT(a_transformer_is_read),
        UNIT(a_sequential_of_keras_2_states_its_input_in_the_first_layer),
        UNIT(a_functional_model_of_keras_2_is_read),
        UNIT(arguments_by_name_are_inputs_of_attention),
        UNIT(policies_follow_the_model_or_stay_a_layer_s_own),
        UNIT(types_that_cores_have_not_are_computed_in_the_nearest), UNIT(every_class_is_read),
        UNIT(a_field_beside_a_switch_that_is_off_says_nothing),
        UNIT(both_directions_give_zeros_where_a_mask_is_if_they_give_sequences),
        UNIT(both_directions_of_one_name_have_variables_of_their_own),
        UNIT(how_random_bits_were_drawn_says_nothing),
        UNIT(variance_scaling_says_its_mode_and_distribution),
        UNIT(other_names_and_spellings_are_taken), UNIT(a_model_is_a_layer_of_another_one),
        UNIT(training_is_taken_where_it_changes_nothing),
        UNIT(calls_of_a_model_inside_older_ones_are_counted_from_one),
        UNIT(an_output_that_a_model_inside_makes_is_counted_from_one),
        UNIT(a_model_that_is_called_without_training_does_not_train),
        UNIT(what_calls_of_keras_three_say_of_training_is_read_over),
        UNIT(operations_of_tensorflow_are_those_of_keras),
        UNIT(an_operation_is_known_without_its_module),
        UNIT(a_part_may_bring_the_batch_to_the_front),
        UNIT(an_attention_may_be_told_which_pairs_count),
        UNIT(a_normalization_is_of_the_dimensions_that_it_names),
        UNIT(operations_are_read_with_their_parameters), UNIT(a_model_may_be_on_each_step),
        UNIT(an_operation_of_masks_that_is_computed_with_is_no_mask),
        UNIT(a_layer_may_have_been_built_for_other_sizes),
        UNIT(the_two_layers_of_a_bidirectional_one_compute_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
