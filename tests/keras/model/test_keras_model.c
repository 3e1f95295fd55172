/* Models made in C: calls, names, policies, regularisers, what is refused. */
#include "tests/rigs/keras_rig.h"
#include "tests/test.h"

#include "keras/loss/loss.h"
#include "tests/rigs/module_rig.h"

#include <math.h>

static struct keras_rig k;

KRIG_SETUP(k)

#define CLOSE 1e-12

static struct layer *dense(const char *name, int64_t units)
{
    struct layer *l = model_layer(&k.m, LAYER_DENSE, name);

    l->c.units = units;
    return l;
}

static const char *not_built(void)
{
    assert_int_equal(model_build(&k.m, &k.set, &k.e), -1);
    return k.e.msg;
}

TEST(a_chain_is_built_layer_by_layer_with_keras_s_names)
{
    struct layer *l = model_layer(&k.m, LAYER_CONV2D, NULL);
    static const char *const names[] = {"conv2d/kernel", "conv2d/bias", "dense/kernel",
                                        "dense/bias", "dense_1/kernel"};

    krig_input(&k, DTYPE_F32, DIMS(6, 6, 1));
    l->c.units = 2, l->c.size[0] = l->c.size[1] = 3;
    assert_true(model_add(&k.m, l, &k.e) > 0);
    assert_true(model_add(&k.m, model_layer(&k.m, LAYER_FLATTEN, NULL), &k.e) > 0);
    assert_true(model_add(&k.m, dense(NULL, 4), &k.e) > 0);
    l = dense(NULL, 3);
    l->c.use_bias = false;
    l->is_trainable = false;
    assert_true(model_add(&k.m, l, &k.e) > 0);
    assert_int_equal(model_build(&k.m, &k.set, &k.e), 0);
    assert_int_equal(k.set.count, 5);
    for (int i = 0; i < 5; i++)
        assert_string_equal(k.set.variable[i].name, names[i]);
    assert_int_equal(model_parameter_count(&k.m, true), 18 + 2 + 32 * 4 + 4);
    assert_int_equal(model_parameter_count(&k.m, false), 12);
}

TEST(a_shared_layer_has_its_variables_once)
{
    int x = krig_input(&k, DTYPE_F32, DIMS(3));
    struct layer *l = dense("twice", 3);
    const double *is, *in, *kernel, *bias;
    double once[3];

    x = krig_call(&k, l, 1, &x);
    krig_call(&k, l, 1, &x);
    is = krig_output(&k);
    assert_int_equal(k.set.count, 2);
    in = krig_value(&k, "input_layer");
    kernel = krig_value(&k, "twice/kernel");
    bias = krig_value(&k, "twice/bias");
    for (int u = 0; u < 3; u++)
        once[u] = bias[u] + in[0] * kernel[u] + in[1] * kernel[3 + u] + in[2] * kernel[6 + u];
    for (int u = 0; u < 3; u++)
        assert_true(fabs(is[u] - (bias[u] + once[0] * kernel[u] + once[1] * kernel[3 + u] +
                                  once[2] * kernel[6 + u])) < CLOSE);
    krig_check_gradients(&k);
}

TEST(a_model_may_have_several_outputs)
{
    int x = krig_input(&k, DTYPE_F32, DIMS(3)), a, b, input;
    struct model_result result[2];
    struct trace t;

    a = krig_call(&k, dense("a", 2), 1, &x);
    b = krig_call(&k, dense("b", 5), 1, &a);
    model_output(&k.m, b);
    model_output(&k.m, a);
    assert_int_equal(model_build(&k.m, &k.set, &k.e), 0);
    trace_init(&t, &k.arena, "t", &k.set, 1, true);
    input = trace_input(&t, "x", &(struct shape){.rank = 2, .dim = {7, 3}});
    model_forward(&t, &k.m, &input, result, NULL);
    assert_int_equal(t.graph.node[result[0].value].shape.dim[1], 5);
    assert_int_equal(t.graph.node[result[1].value].shape.dim[0], 7);
    trace_fini(&t);
}

TEST(nodes_tell_the_layer_they_are_of)
{
    int x = krig_input(&k, DTYPE_F32, DIMS(3)), count = 0;

    k.m.policy = KERAS_MIXED_BFLOAT16;
    krig_call(&k, dense("hidden", 2), 1, &x);
    krig_trace(&k);
    for (int i = 0; i < k.graph.g.node_count; i++)
        count += strcmp(k.graph.g.node[i].source, "hidden/MatMul") == 0;
    assert_int_equal(count, 1);
}

/* ---- policies ---- */

TEST(mixed_policy_computes_in_bf16_except_where_a_layer_has_its_own)
{
    int x = krig_input(&k, DTYPE_F32, DIMS(3));
    struct layer *soft = model_layer(&k.m, LAYER_SOFTMAX, NULL);
    const struct graph *g = &k.graph.g;

    k.m.policy = KERAS_MIXED_BFLOAT16;
    k.m.precision = PRECISION_HIGH;
    soft->policy = KERAS_FLOAT32;
    x = krig_call(&k, dense("a", 4), 1, &x);
    krig_call(&k, soft, 1, &x);
    krig_trace(&k);
    assert_int_equal(g->node[k.result.value].shape.dtype, DTYPE_F32);
    assert_int_equal(k.result.last, ACTIVATION_SOFTMAX);
    assert_int_equal(g->node[k.result.logits].shape.dtype, DTYPE_F32);
    for (int i = 0; i < g->node_count; i++) {
        if (g->node[i].op == HLO_PARAMETER)
            assert_int_equal(g->node[i].shape.dtype, DTYPE_F32);
        if (g->node[i].op != HLO_DOT)
            continue;
        assert_int_equal(g->node[i].shape.dtype, DTYPE_BF16);
        assert_int_equal(g->node[i].precision, PRECISION_HIGH);
    }
}

TEST(float32_policy_has_no_bf16)
{
    int x = krig_input(&k, DTYPE_F32, DIMS(3));

    krig_call(&k, dense("a", 4), 1, &x);
    krig_trace(&k);
    for (int i = 0; i < k.graph.g.node_count; i++)
        assert_int_equal(k.graph.g.node[i].shape.dtype, DTYPE_F32);
    assert_int_equal(k.result.last, ACTIVATION_LINEAR);
    assert_int_equal(k.result.logits, NODE_NONE);
}

TEST(policies_are_found_by_name)
{
    enum keras_policy p;

    assert_int_equal(keras_policy_find("mixed_bfloat16", &p, &k.e), 0);
    assert_string_equal(keras_policy_name(p), "mixed_bfloat16");
    assert_int_equal(keras_policy_find("mixed_float16", &p, &k.e), -1);
    assert_string_equal(k.e.msg, "unknown dtype policy \"mixed_float16\"; there are float32, "
                        "mixed_bfloat16, bfloat16");
}

/* ---- regularisers ---- */

static void regularised(int replica_count)
{
    int x = krig_input(&k, DTYPE_F32, DIMS(3));
    struct layer *l = dense("a", 4);

    l->c.kernel_regularizer = (struct regularizer){.l1 = 0.5, .l2 = 0.25};
    l->c.bias_regularizer = (struct regularizer){.l2 = 2};
    l->c.activity_regularizer = (struct regularizer){.l1 = 3};
    k.replica_count = replica_count;
    krig_call(&k, l, 1, &x);
    krig_trace(&k);
    assert_int_not_equal(k.penalty, NODE_NONE);
}

static double plain_penalty(double of_weights)
{
    const double *kernel = krig_value(&k, "a/kernel"), *bias = krig_value(&k, "a/bias");
    const double *x = krig_value(&k, "input_layer");
    double sum = 0;

    for (int i = 0; i < 12; i++)
        sum += of_weights * (0.5 * fabs(kernel[i]) + 0.25 * kernel[i] * kernel[i]);
    for (int i = 0; i < 4; i++)
        sum += of_weights * 2 * bias[i] * bias[i];
    for (int i = 0; i < 8; i++) {
        double y = bias[i % 4];

        for (int j = 0; j < 3; j++)
            y += x[i / 4 * 3 + j] * kernel[j * 4 + i % 4];
        sum += 3 * fabs(y) / 2 * of_weights;    /* mean over the batch of all replicas */
    }
    return sum;
}

TEST(regularisers_are_summed_over_kernels_biases_and_outputs)
{
    regularised(1);
    assert_true(fabs(krig_node(&k, k.penalty)[0] - plain_penalty(1)) < 1e-10);
}

TEST(each_replica_adds_its_share_of_the_regularisers)
{
    regularised(4);
    assert_true(fabs(krig_node(&k, k.penalty)[0] - plain_penalty(0.25)) < 1e-10);
}

TEST(nothing_is_added_where_nothing_is_regularised)
{
    int x = krig_input(&k, DTYPE_F32, DIMS(3));

    krig_call(&k, dense("a", 4), 1, &x);
    krig_trace(&k);
    assert_int_equal(k.penalty, NODE_NONE);
}

/* ---- whole models ---- */

/* y, loss and all gradients of a file's model on the core; batch 2 */
static void check_file_on_core(const char *path, double tolerance)
{
    struct module_rig rig = {.relative = tolerance, .absolute = tolerance,
                             .uses_fractions = true, .slice = "v3-1"};
    struct loss l = loss_standard(LOSS_SPARSE_CATEGORICAL_CROSSENTROPY);
    int input, labels, loss, wrt[128], gradient[128];
    struct shape s, y;
    struct trace t;

    model_fini(&k.m);
    assert_int_equal(model_from_json(&k.m, &k.arena, path, &k.e), 0);
    k.m.precision = PRECISION_HIGHEST;
    assert_int_equal(model_build(&k.m, &k.set, &k.e), 0);
    trace_init(&t, &k.arena, "t", &k.set, 1, true);
    s = k.m.node[k.m.input[0]].shape;
    memmove(s.dim + 1, s.dim, (size_t)s.rank++ * sizeof(*s.dim));
    s.dim[0] = 2;
    input = trace_input(&t, "x", &s);
    y = loss_label_shape(&l, &k.m.node[k.m.output[0]].shape);
    memmove(y.dim + 1, y.dim, (size_t)y.rank++ * sizeof(*y.dim));
    y.dim[0] = 2;
    labels = trace_input(&t, "y", &y);
    model_forward(&t, &k.m, &input, &k.result, NULL);
    loss = loss_values(&t.graph, &l, labels, &k.result, NODE_NONE, NODE_NONE);
    loss = loss_sum(&t.graph, loss, NODE_NONE);
    loss = nn_scale(&t.graph, loss, 0.5);
    for (int i = 0; i < k.set.count; i++)
        wrt[i] = t.graph.parameter[t.variable[i].parameter];
    assert_int_equal(graph_grad(&t.graph, loss, wrt, k.set.count, gradient, &k.e), 0);
    trace_result(&t, "loss", loss);
    for (int i = 0; i < k.set.count; i++)
        graph_output(&t.graph, gradient[i], arena_printf(&k.arena, "d%d", i), -1);
    module_rig_check(&rig, &t.graph, 3);
    trace_fini(&t);
}

TEST(a_residual_network_runs_on_the_core)
{
    check_file_on_core("examples/resnet_small.json", 0.02);
}

TEST(a_transformer_runs_on_the_core)
{
    check_file_on_core("examples/char_transformer.json", 0.02);
}

/* ---- mistakes ---- */

TEST(models_without_input_or_with_loose_ends_are_refused)
{
    int x;

    assert_int_equal(model_add(&k.m, dense("a", 2), &k.e), -1);
    assert_string_equal(k.e.msg, "layer \"a\": the model has no input yet, so its shape is not "
                        "known");
    assert_string_equal(not_built(), "model \"test\" has no input");
    x = krig_input(&k, DTYPE_F32, DIMS(3));
    krig_call(&k, dense("b", 2), 1, &x);
    assert_string_equal(not_built(), "layer \"a\": it is not connected to anything");
}

TEST(an_output_that_leads_nowhere_is_refused)
{
    int x = krig_input(&k, DTYPE_F32, DIMS(3));

    krig_call(&k, dense("b", 2), 1, &x);
    krig_call(&k, dense("c", 2), 1, &x);
    assert_string_equal(not_built(), "layer \"b\": its output leads to no output of the model");
}

TEST(names_must_be_plain_and_unique)
{
    int x = krig_input(&k, DTYPE_F32, DIMS(3));

    x = krig_call(&k, dense("a", 2), 1, &x);
    krig_call(&k, dense("a", 2), 1, &x);
    assert_string_equal(not_built(), "layer \"a\": two layers have this name");
    krig_fini(&k);
    krig_init(&k);
    x = krig_input(&k, DTYPE_F32, DIMS(3));
    krig_call(&k, dense("a\nb", 2), 1, &x);
    assert_string_equal(not_built(), "the name of layer 1 must be 1..100 printable characters "
                        "without quotes and backslashes");
}

TEST(two_models_of_a_set_need_different_names)
{
    struct initializer zeros = {.kind = INITIALIZER_ZEROS, .a = 0, .b = 0};
    int x = krig_input(&k, DTYPE_F32, DIMS(3));

    variable_add_trainable(&k.set, "a/kernel", &(struct shape){.rank = 0}, &zeros);
    krig_call(&k, dense("a", 2), 1, &x);
    assert_string_equal(not_built(), "layer \"a\": there is a variable \"a/kernel\" already; give "
                        "the layers of model \"test\" other names");
}

TEST(a_shared_layer_takes_one_shape)
{
    int x[2] = {krig_input(&k, DTYPE_F32, DIMS(3)), krig_input(&k, DTYPE_F32, DIMS(4))};
    struct layer *l = dense("a", 2);

    krig_call(&k, l, 1, &x[0]);
    assert_string_equal(krig_refused(&k, l, 1, &x[1]), "layer \"a\": it was called with 1 input, "
                        "samples of shape [3], and cannot be called with 1, [4]");
}

/* an embedding of sequences of two lengths, a convolution of images of two sizes */
TEST(a_shared_layer_takes_other_shapes_if_its_variables_fit)
{
    int x[2] = {krig_input(&k, DTYPE_F32, DIMS(5, 3)), krig_input(&k, DTYPE_F32, DIMS(2, 4, 3))};
    struct layer *l = dense("a", 2);

    krig_call(&k, l, 1, &x[0]);
    krig_call(&k, l, 1, &x[1]);
    model_output(&k.m, 2);
    model_output(&k.m, 3);
    krig_trace(&k);
    assert_int_equal(k.set.count, 2);
    krig_check_gradients(&k);
}

TEST(variables_too_large_for_any_memory_are_refused)
{
    int x = krig_input(&k, DTYPE_F32, DIMS(1, 1 << 20));
    struct layer *l = model_layer(&k.m, LAYER_MULTI_HEAD_ATTENTION, "huge");

    l->c.heads = l->c.units = 65536;
    krig_call(&k, l, 1, &x);
    assert_string_equal(not_built(), "layer \"huge\": its variable \"huge/query/kernel\" would have "
                        "shape [1048576, 65536, 65536], more than 2^32 elements");
}

TEST(shapes_and_counts_of_inputs_are_checked)
{
    int x[2] = {krig_input(&k, DTYPE_F32, DIMS(2, 3)), krig_input(&k, DTYPE_F32, DIMS(4, 3))};
    struct layer *add = model_layer(&k.m, LAYER_ADD, NULL);
    struct layer *join = model_layer(&k.m, LAYER_CONCATENATE, NULL);
    struct layer *big = model_layer(&k.m, LAYER_ZERO_PADDING2D, NULL);
    int many[20] = {0}, image = krig_input(&k, DTYPE_F32, DIMS(60000, 60000, 1));

    assert_string_equal(krig_refused(&k, add, 2, x), "layer \"add\": its inputs' samples have "
                        "shapes [2, 3] and [4, 3]; sizes must be "
                        "equal, or 1 where one of them is to be repeated");
    assert_string_equal(krig_refused(&k, join, 2, x), "layer \"concatenate\": its inputs' samples "
                        "have shapes [2, 3] and [4, 3]; they may differ in dimension 2 only");
    join->c.axis = 3;
    assert_string_equal(krig_refused(&k, join, 2, x), "layer \"concatenate\": \"axis\" is 3, which "
                        "samples of shape [2, 3] have not; the batch is 0");
    assert_string_equal(krig_refused(&k, dense("d", 1), 2, x), "layer \"d\": Dense takes 1 input, "
                        "not 2");
    assert_string_equal(krig_refused(&k, add, 20, many), "layer \"add\": it has 20 inputs; there "
                        "can be at most 16");
    assert_string_equal(krig_refused(&k, big, 1, &image), "layer \"zero_padding2d\": its output's "
                        "samples would have shape [60002, 60002, 1]; each dimension must be at "
                        "least 1, the product at most 2^31");
    assert_string_equal(krig_refused(&k, dense("e", 0), 1, x), "layer \"e\": \"units\" is 0, not "
                        "in 1..65536");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_chain_is_built_layer_by_layer_with_keras_s_names),
        UNIT(a_shared_layer_has_its_variables_once), UNIT(a_model_may_have_several_outputs),
        UNIT(nodes_tell_the_layer_they_are_of),
        UNIT(mixed_policy_computes_in_bf16_except_where_a_layer_has_its_own),
        UNIT(float32_policy_has_no_bf16), UNIT(policies_are_found_by_name),
        UNIT(regularisers_are_summed_over_kernels_biases_and_outputs),
        UNIT(each_replica_adds_its_share_of_the_regularisers),
        UNIT(nothing_is_added_where_nothing_is_regularised),
        UNIT(a_residual_network_runs_on_the_core), UNIT(a_transformer_runs_on_the_core),
        UNIT(models_without_input_or_with_loose_ends_are_refused),
        UNIT(an_output_that_leads_nowhere_is_refused), UNIT(names_must_be_plain_and_unique),
        UNIT(two_models_of_a_set_need_different_names), UNIT(a_shared_layer_takes_one_shape),
        UNIT(a_shared_layer_takes_other_shapes_if_its_variables_fit),
        UNIT(variables_too_large_for_any_memory_are_refused),
        UNIT(shapes_and_counts_of_inputs_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
