#include "tests/test.h"

#include "base/rng.h"
#include "stack/interp.h"
#include "stack/model.h"

#include <math.h>

/* a network of 6 inputs, 7 hidden units and 3 classes, batch 16 */
enum { IN = 6, HIDDEN = 7, CLASSES = 3, BATCH = 16, PARAMETERS_MAX = 20 };
enum { KERNEL, BIAS, KERNEL_1, BIAS_1, VARIABLES };

static struct arena arena;
static struct model_layer layers[2];
static struct model model;
static struct model_options options;
static struct model_graph train, eval;
static struct interp_value value[PARAMETERS_MAX], result[PARAMETERS_MAX];
static struct err e;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    layers[0] = (struct model_layer){"dense", IN, HIDDEN, true, ACTIVATION_RELU};
    layers[1] = (struct model_layer){"dense_1", HIDDEN, CLASSES, true, ACTIVATION_SOFTMAX};
    model = (struct model){.name = "m", .input_elems = IN, .layer = layers, .layer_count = 2};
    options = (struct model_options){
        .learning_rate = 0.01, .beta_1 = 0.9, .beta_2 = 0.999, .epsilon = 1e-7,
        .local_batch = BATCH, .global_batch = BATCH, .replica_count = 1};
    memset(&train, 0, sizeof(train));
    memset(&eval, 0, sizeof(eval));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    graph_fini(&train.graph);
    graph_fini(&eval.graph);
    arena_fini(&arena);
    return 0;
}

static const struct shape *parameter_shape(const struct graph *g, int index)
{
    return &g->node[g->parameter[index]].shape;
}

static int find_role(const struct model_graph *mg, enum model_role role)
{
    for (int i = 0; i < mg->graph.parameter_count; i++)
        if (mg->parameter[i].role == role)
            return i;
    return -1;
}

/* the training graph, its variables initialised; inputs are zero */
static void build_train(void)
{
    graph_fini(&train.graph);
    if (model_build_train(&model, &options, &arena, &train, &e) != 0)
        fail_msg("%s", e.msg);
    for (int i = 0; i < train.graph.parameter_count; i++) {
        int64_t elems = shape_elems(parameter_shape(&train.graph, i));

        value[i].data = arena_array(&arena, (size_t)elems, sizeof(float));
        if (train.parameter[i].role <= ROLE_BETA_POWER)
            model_init_parameter(&model, &train, i, 1, value[i].data);
    }
}

/* points around one corner of a cube per class */
static void fill_batch(uint64_t seed, float *x, int32_t *labels)
{
    struct rng rng;

    rng_init(&rng, seed);
    for (int i = 0; i < BATCH; i++) {
        labels[i] = (int32_t)rng_below(&rng, CLASSES);
        for (int k = 0; k < IN; k++)
            x[i * IN + k] = (k % CLASSES == labels[i]) + rng_uniform(&rng, -0.4f, 0.4f);
    }
}

/* runs one step and writes the results back over the variables; returns the loss sum */
static double step(uint64_t seed)
{
    const struct graph *g = &train.graph;

    fill_batch(seed, value[find_role(&train, ROLE_X)].data,
               value[find_role(&train, ROLE_LABELS)].data);
    if (interp_run(g, INTERP_DOT_F32, value, result, &arena, &e) != 0)
        fail_msg("%s", e.msg);
    for (int i = 0; i < g->output_count; i++)
        if (g->output[i].alias_parameter >= 0)
            value[g->output[i].alias_parameter] = result[i];
    return (double)((const float *)result[train.loss_output].data)[0];
}

static double correct_count(void)
{
    return (double)((const float *)result[train.correct_output].data)[0];
}

static int count_ops(const struct graph *g, enum graph_op op)
{
    int count = 0;

    for (int i = 0; i < g->node_count; i++)
        count += g->node[i].op == op;
    return count;
}

TEST(variables_come_first_and_alike_in_both_graphs)
{
    static const char *const names[] = {
        "dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias", "dense/kernel/m",
        "dense/kernel/v", "dense/bias/m", "dense/bias/v", "dense_1/kernel/m", "dense_1/kernel/v",
        "dense_1/bias/m", "dense_1/bias/v", "Adam/beta_1_power", "Adam/beta_2_power", "x",
        "labels"
    };

    build_train();
    assert_int_equal(model_build_eval(&model, &options, &arena, &eval, &e), 0);
    assert_int_equal(train.graph.parameter_count, 16);
    assert_int_equal(eval.graph.parameter_count, 7);
    for (int i = 0; i < 16; i++)
        assert_string_equal(train.parameter[i].name, names[i]);
    for (int i = 0; i < VARIABLES; i++) {
        assert_string_equal(eval.parameter[i].name, names[i]);
        assert_true(shape_equal(parameter_shape(&train.graph, i),
                                parameter_shape(&eval.graph, i)));
    }
    for (int i = VARIABLES; i < 12; i++) {
        assert_int_equal(train.parameter[i].role, ROLE_SLOT);
        assert_int_equal(train.parameter[i].of, (i - VARIABLES) / 2);
    }
    assert_int_equal(eval.parameter[6].role, ROLE_WEIGHTS);
}

TEST(every_variable_and_slot_has_one_output_in_its_place)
{
    build_train();
    assert_int_equal(train.graph.output_count, 16);
    for (int i = 0; i < 14; i++)
        assert_int_equal(train.graph.output[i].alias_parameter, i);
    assert_int_equal(train.loss_output, 14);
    assert_int_equal(train.correct_output, 15);
    assert_int_equal(train.graph.output[14].alias_parameter, -1);
}

TEST(graph_stays_within_matrices_and_needs_no_transposes)
{
    build_train();
    assert_int_equal(count_ops(&train.graph, HLO_TRANSPOSE), 0);
    /* forward 2, weights 2, and the input of the second layer; never that of the first */
    assert_int_equal(count_ops(&train.graph, HLO_DOT), 5);
    assert_int_equal(count_ops(&train.graph, HLO_CONVERT), 1);      /* the labels */
    for (int i = 0; i < train.graph.node_count; i++)
        assert_true(train.graph.node[i].shape.rank <= 2);
}

TEST(gradients_are_all_reduced_only_between_replicas)
{
    build_train();
    assert_int_equal(count_ops(&train.graph, HLO_ALL_REDUCE), 0);
    options.replica_count = 8;
    options.global_batch = 8 * BATCH;
    build_train();
    assert_int_equal(count_ops(&train.graph, HLO_ALL_REDUCE), VARIABLES);
}

static double reference_weights[VARIABLES][HIDDEN * IN], reference_m[VARIABLES][HIDDEN * IN],
              reference_v[VARIABLES][HIDDEN * IN], reference_gradient[VARIABLES][HIDDEN * IN];

static void reference_dense(const double *x, const double *w, const double *b, int in, int out,
                            double *y)
{
    for (int j = 0; j < out; j++) {
        y[j] = b[j];
        for (int k = 0; k < in; k++)
            y[j] += x[k] * w[k * out + j];
    }
}

/* adds the gradients of one sample by the textbook; returns its loss */
static double reference_sample(const double *x, int label, double scale)
{
    double h[HIDDEN], logit[CLASSES], sum = 0, dh;

    reference_dense(x, reference_weights[KERNEL], reference_weights[BIAS], IN, HIDDEN, h);
    for (int j = 0; j < HIDDEN; j++)
        h[j] = h[j] > 0 ? h[j] : 0;
    reference_dense(h, reference_weights[KERNEL_1], reference_weights[BIAS_1], HIDDEN, CLASSES,
                    logit);
    for (int c = 0; c < CLASSES; c++)
        sum += exp(logit[c]);
    for (int j = 0; j < HIDDEN; j++) {
        dh = 0;
        for (int c = 0; c < CLASSES; c++) {
            double d = (exp(logit[c]) / sum - (c == label)) * scale;

            dh += d * reference_weights[KERNEL_1][j * CLASSES + c];
            reference_gradient[KERNEL_1][j * CLASSES + c] += d * h[j];
            reference_gradient[BIAS_1][c] += j == 0 ? d : 0;
        }
        for (int k = 0; k < IN && h[j] > 0; k++)
            reference_gradient[KERNEL][k * HIDDEN + j] += dh * x[k];
        reference_gradient[BIAS][j] += h[j] > 0 ? dh : 0;
    }
    return log(sum) - logit[label];
}

static double reference_backward(uint64_t seed)
{
    float x[BATCH * IN];
    int32_t labels[BATCH];
    double loss = 0, row[IN];

    memset(reference_gradient, 0, sizeof(reference_gradient));
    fill_batch(seed, x, labels);
    for (int i = 0; i < BATCH; i++) {
        for (int k = 0; k < IN; k++)
            row[k] = (double)x[i * IN + k];
        loss += reference_sample(row, labels[i], 1.0 / BATCH);
    }
    return loss;
}

static void reference_adam(int t)
{
    double rate = 0.01 * sqrt(1 - pow(0.999, t)) / (1 - pow(0.9, t));

    for (int p = 0; p < VARIABLES; p++) {
        for (int i = 0; i < HIDDEN * IN; i++) {
            double gradient = reference_gradient[p][i];

            reference_m[p][i] += (gradient - reference_m[p][i]) * (1 - 0.9);
            reference_v[p][i] += (gradient * gradient - reference_v[p][i]) * (1 - 0.999);
            reference_weights[p][i] -= rate * reference_m[p][i] / (sqrt(reference_v[p][i]) + 1e-7);
        }
    }
}

static void reference_momentum(double momentum)
{
    for (int p = 0; p < VARIABLES; p++) {
        for (int i = 0; i < HIDDEN * IN; i++) {
            reference_m[p][i] = momentum * reference_m[p][i] - 0.01 * reference_gradient[p][i];
            reference_weights[p][i] += reference_m[p][i];
        }
    }
}

static void start_reference(void)
{
    memset(reference_m, 0, sizeof(reference_m));
    memset(reference_v, 0, sizeof(reference_v));
    memset(reference_weights, 0, sizeof(reference_weights));
    for (int p = 0; p < VARIABLES; p++)
        for (int i = 0; i < shape_elems(parameter_shape(&train.graph, p)); i++)
            reference_weights[p][i] = (double)((const float *)value[p].data)[i];
}

/* f32 against double over a few steps: 2^-24 per operation, some tens of operations a step */
static void assert_weights_near_reference(void)
{
    for (int p = 0; p < VARIABLES; p++)
        for (int i = 0; i < shape_elems(parameter_shape(&train.graph, p)); i++)
            if (fabs((double)((const float *)value[p].data)[i] - reference_weights[p][i]) > 2e-5)
                fail_msg("%s[%d] is %g, not %g", train.parameter[p].name, i,
                         (double)((const float *)value[p].data)[i], reference_weights[p][i]);
}

TEST(adam_steps_equal_a_textbook_program_in_double)
{
    build_train();
    start_reference();
    for (int t = 1; t <= 5; t++) {
        double loss = reference_backward((uint64_t)t);

        assert_true(fabs(step((uint64_t)t) - loss) < 1e-5 * loss);
        reference_adam(t);
        assert_weights_near_reference();
    }
}

TEST(sgd_steps_equal_a_textbook_program_in_double)
{
    static const double momenta[] = {0.0, 0.9};

    options.optimizer = OPTIMIZER_SGD;
    for (int k = 0; k < 2; k++) {
        options.momentum = momenta[k];
        build_train();
        assert_int_equal(train.graph.parameter_count, k ? 10 : 6);
        start_reference();
        for (int t = 1; t <= 5; t++) {
            reference_backward((uint64_t)t);
            step((uint64_t)t);
            reference_momentum(momenta[k]);
            assert_weights_near_reference();
        }
    }
}

TEST(replicas_take_gradients_of_the_global_mean)
{
    const float *whole, *part;

    options.optimizer = OPTIMIZER_SGD;
    build_train();
    step(1);
    whole = value[KERNEL_1].data;
    options.global_batch = 4 * BATCH;
    options.replica_count = 4;
    options.learning_rate *= 4;
    build_train();
    step(1);
    part = value[KERNEL_1].data;
    /* a quarter of the gradient times four: exact in binary but for the rate's own rounding */
    for (int i = 0; i < HIDDEN * CLASSES; i++)
        assert_float_equal(part[i], whole[i], 1e-7f);
}

static double mean_loss_after(int steps)
{
    double loss = 0;

    build_train();
    for (int t = 0; t < steps; t++)
        loss = step((uint64_t)t % 10) / BATCH;
    return loss;
}

TEST(training_separates_three_clusters)
{
    double first = mean_loss_after(1);

    assert_true(first > 0.7);
    assert_true(mean_loss_after(300) < 0.02);
    assert_true(correct_count() == BATCH);
}

TEST(training_in_bf16_separates_them_too_but_rounds)
{
    double f32_loss = mean_loss_after(300), loss;

    options.policy = POLICY_MIXED_BFLOAT16;
    loss = mean_loss_after(300);
    assert_true(loss < 0.03);
    assert_true(loss != f32_loss);
    assert_true(correct_count() == BATCH);
}

TEST(mixed_policy_keeps_variables_in_f32_and_multiplies_in_bf16)
{
    options.policy = POLICY_MIXED_BFLOAT16;
    build_train();
    for (int i = 0; i < 14; i++)
        assert_int_equal(parameter_shape(&train.graph, i)->dtype, DTYPE_F32);
    for (int i = 0; i < train.graph.node_count; i++) {
        const struct graph_node *n = &train.graph.node[i];

        if (n->op == HLO_DOT)
            assert_int_equal(train.graph.node[n->operand[0]].shape.dtype, DTYPE_BF16);
        if (n->op == HLO_EXP || n->op == HLO_LOG || n->op == HLO_SQRT)
            assert_int_equal(n->shape.dtype, DTYPE_F32);
    }
}

TEST(all_activations_train)
{
    for (int a = ACTIVATION_LINEAR; a < ACTIVATION_SOFTMAX; a++) {
        layers[0].activation = (enum model_activation)a;
        if (mean_loss_after(300) > 0.1)
            fail_msg("%s: loss %g", activation_name(layers[0].activation), mean_loss_after(300));
    }
}

/* x passes an identity layer, so that the logits are the inputs */
static void evaluate_logits(const float *logits, const int32_t *labels, const float *weights)
{
    layers[0] = (struct model_layer){"logits", CLASSES, CLASSES, false, ACTIVATION_SOFTMAX};
    model.layer_count = 1;
    model.input_elems = CLASSES;
    options.local_batch = options.global_batch = 4;
    assert_int_equal(model_build_eval(&model, &options, &arena, &eval, &e), 0);
    value[0].data = arena_array(&arena, CLASSES * CLASSES, sizeof(float));
    for (int i = 0; i < CLASSES; i++)
        ((float *)value[0].data)[i * CLASSES + i] = 1.0f;
    for (int i = 1; i < 4; i++)
        value[i].data = arena_array(&arena, 4 * CLASSES, sizeof(float));
    memcpy(value[1].data, logits, 4 * CLASSES * sizeof(float));
    memcpy(value[2].data, labels, 4 * sizeof(int32_t));
    memcpy(value[3].data, weights, 4 * sizeof(float));
    if (interp_run(&eval.graph, INTERP_DOT_F32, value, result, &arena, &e) != 0)
        fail_msg("%s", e.msg);
}

TEST(the_first_of_equal_logits_is_the_answer)
{
    evaluate_logits((float[]){1, 5, 5, 5, 5, 1, 2, 2, 2, 0, 1, 2}, (int32_t[]){1, 1, 0, 2},
                    (float[]){1, 1, 1, 1});
    assert_true(*(const float *)result[eval.correct_output].data == 3.0f);
}

TEST(masked_samples_count_neither_in_loss_nor_in_correct)
{
    evaluate_logits((float[]){9, 0, 0, 0, 9, 0, 0, 0, 9, 0, 0, 9}, (int32_t[]){0, 1, 2, 0},
                    (float[]){1, 0, 1, 0});
    assert_true(*(const float *)result[eval.correct_output].data == 2.0f);
    assert_float_equal(*(const float *)result[eval.loss_output].data,
                       2.0f * logf(1.0f + 2.0f * expf(-9.0f)), 1e-6f);
}

TEST(loss_of_huge_logits_is_finite_and_right)
{
    evaluate_logits((float[]){30000, 0, -30000, 30000, 0, 0, 0, 0, 0, 1, 1, 1},
                    (int32_t[]){0, 1, 2, 2}, (float[]){1, 1, 1, 1});
    assert_float_equal(*(const float *)result[eval.loss_output].data,
                       30000.0f + 2.0f * logf(3.0f), 0.01f);
}

TEST(initial_values_are_glorot_uniform_and_repeatable)
{
    float first[IN * HIDDEN], again[IN * HIDDEN], other[IN * HIDDEN], least = 1, largest = -1;
    float limit = sqrtf(6.0f / (IN + HIDDEN)), one;

    build_train();
    model_init_parameter(&model, &train, KERNEL, 7, first);
    model_init_parameter(&model, &train, KERNEL, 7, again);
    model_init_parameter(&model, &train, KERNEL, 8, other);
    assert_memory_equal(first, again, sizeof(first));
    assert_memory_not_equal(first, other, sizeof(first));
    model_init_parameter(&model, &train, KERNEL_1, 7, other);
    assert_memory_not_equal(first, other, sizeof(float) * HIDDEN * CLASSES);
    for (int i = 0; i < IN * HIDDEN; i++) {
        least = first[i] < least ? first[i] : least;
        largest = first[i] > largest ? first[i] : largest;
    }
    assert_true(least >= -limit && least < -0.8f * limit);
    assert_true(largest <= limit && largest > 0.8f * limit);
    model_init_parameter(&model, &train, BIAS, 7, other);
    assert_memory_equal(other, ((float[HIDDEN]){0}), sizeof(float) * HIDDEN);
    model_init_parameter(&model, &train, 12, 7, &one);
    assert_true(one == 1.0f);
}

#define REFUSED(change, text) \
    do { \
        struct model_options saved = options; \
        change; \
        assert_int_equal(model_build_train(&model, &options, &arena, &train, &e), -1); \
        graph_fini(&train.graph); \
        assert_string_equal(e.msg, text); \
        options = saved; \
    } while (0)

TEST(options_out_of_range_are_refused)
{
    REFUSED(options.local_batch = 0, "batch per replica is 0, not in 1..1048576");
    REFUSED(options.replica_count = 0, "0 replicas; there must be at least 1");
    REFUSED(options.global_batch = 8, "global batch 8 is below the batch per replica, 16");
    REFUSED(options.learning_rate = 0, "learning rate is 0; it must be positive");
    REFUSED(options.learning_rate = (double)NAN, "learning rate is nan; it must be positive");
    REFUSED(options.beta_1 = 1, "Adam's betas are 1 and 0.999; both must be in 0..1, below 1");
    REFUSED(options.epsilon = 0, "Adam's epsilon is 0; it must be positive");
    REFUSED((options.optimizer = OPTIMIZER_SGD, options.momentum = 1),
            "momentum is 1; it must be in 0..1, below 1");
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(variables_come_first_and_alike_in_both_graphs),
        UNIT(every_variable_and_slot_has_one_output_in_its_place),
        UNIT(graph_stays_within_matrices_and_needs_no_transposes),
        UNIT(gradients_are_all_reduced_only_between_replicas),
        UNIT(adam_steps_equal_a_textbook_program_in_double),
        UNIT(sgd_steps_equal_a_textbook_program_in_double),
        UNIT(replicas_take_gradients_of_the_global_mean),
        UNIT(training_separates_three_clusters),
        UNIT(training_in_bf16_separates_them_too_but_rounds),
        UNIT(mixed_policy_keeps_variables_in_f32_and_multiplies_in_bf16),
        UNIT(all_activations_train),
        UNIT(the_first_of_equal_logits_is_the_answer),
        UNIT(masked_samples_count_neither_in_loss_nor_in_correct),
        UNIT(loss_of_huge_logits_is_finite_and_right),
        UNIT(initial_values_are_glorot_uniform_and_repeatable),
        UNIT(options_out_of_range_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
