/*
 * Steps of one's own with models, losses, metrics and optimizers: are they what sy_model_fit does,
 * and are mistakes told?
 */
#define _DEFAULT_SOURCE
#include "tests/test.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "base/units.h"
#include "tests/rigs/api_rig.h"

#define SIDE 10
#define SAMPLES 96
#define BATCH 32
#define CLASSES 4
#define CONFIGURATIONS 6

static float images[SAMPLES][SIDE * SIDE];
static int32_t labels[SAMPLES];
static float one_hot[SAMPLES][CLASSES];

static void make_samples(void)
{
    struct rng r;

    rng_init(&r, 4);
    memset(one_hot, 0, sizeof(one_hot));
    for (int i = 0; i < SAMPLES; i++) {
        labels[i] = (int32_t)rng_below(&r, CLASSES);
        one_hot[i][labels[i]] = 1;
        for (int k = 0; k < SIDE * SIDE; k++)
            images[i][k] = rng_uniform(&r, -1, 1) + (k % CLASSES == labels[i] ? 1 : 0);
    }
}

/* the same network, trained in two ways */
struct way {
    const char *tpu, *layers[8], *optimizer, *loss, *metric, *policy;
    bool is_sparse;
};

static const struct way ways[CONFIGURATIONS] = {
    {"v3-8", {"Conv2D(8, 3, activation='relu')", "MaxPooling2D()", "Flatten()", "Dense(4)"},
     "adam", "SparseCategoricalCrossentropy(from_logits=True)", "accuracy", NULL, true},
    {"v2-8", {"Conv2D(8, 3, padding='same', use_bias=False)", "BatchNormalization()",
              "Activation('relu')", "GlobalAveragePooling2D()", "Dense(4, activation='softmax')"},
     "SGD(0.1, momentum=0.9)", "SparseCategoricalCrossentropy()", "SparseCategoricalAccuracy()",
     NULL, true},
    {"v3-8", {"Flatten()", "Dense(24, activation='tanh', kernel_regularizer='l2')",
              "Dropout(0.3)", "Dense(4)"},
     "RMSprop(1e-3)", "CategoricalCrossentropy(from_logits=True)", "CategoricalAccuracy()", NULL,
     false},
    {"v5e-8", {"Flatten()", "Dense(32, activation='gelu')", "LayerNormalization()", "Dense(4)"},
     "AdamW(1e-3, global_clipnorm=0.5)", "mse", "mae", "mixed_bfloat16", false},
    {"cpu", {"Conv2D(4, 5)", "BatchNormalization()", "Flatten()", "Dropout(0.5)", "Dense(4)"},
     "SGD(PiecewiseConstantDecay([2, 4], [0.1, 0.05, 0.01]))", "Huber(0.5)",
     "RootMeanSquaredError()", NULL, false},
    {"v3-8", {"Flatten()", "Dense(4, activation='sigmoid')"},
     "SGD(0.1, loss_scale_factor=128.0)", "BinaryCrossentropy()", "AUC(num_thresholds=50)", NULL,
     false},
};

struct loop {
    const struct way *way;
    sy_cluster *cluster;
    sy_strategy *strategy;
    sy_model *model;
    sy_optimizer *optimizer;
    sy_metric *metric, *loss;
    float weight[4096];
    int weights;
    double result[2];                   /* the metric's, the mean loss */
};

static void open_loop(struct loop *l, const struct way *w)
{
    *l = (struct loop){.way = w};
    api_must(sy_cluster_resolve(w->tpu, NULL, &l->cluster));
    api_must(sy_cluster_initialize(l->cluster));
    api_must(sy_strategy_create(l->cluster, NULL, &(sy_strategy_options){.check_replicas = true},
                                &l->strategy));
    api_must(sy_model_create(l->strategy, "net", &l->model));
    api_must(sy_model_add(l->model, "Reshape((10, 10, 1), input_shape=(100,))"));
    for (int i = 0; w->layers[i]; i++)
        api_must(sy_model_add(l->model, w->layers[i]));
}

static void close_loop(struct loop *l)
{
    sy_model_free(l->model);
    sy_strategy_free(l->strategy);
    sy_cluster_free(l->cluster);
}

static int list_weights(struct loop *l, bool trainable_only, sy_variable **v)
{
    int count = sy_model_variables(l->model, trainable_only, v, 24);

    assert_true(count > 0 && count <= 24);
    return count;
}

static void read_weights(struct loop *l)
{
    sy_variable *v[24];
    int count = list_weights(l, false, v);

    l->weights = 0;
    for (int i = 0; i < count; i++) {
        sy_shape s = sy_variable_shape(v[i]);
        int elems = 1;

        for (int d = 0; d < s.rank; d++)
            elems *= (int)s.dim[d];
        assert_true(l->weights + elems <= 4096);
        api_must(sy_variable_read(v[i], &l->weight[l->weights], (size_t)elems * 4));
        l->weights += elems;
    }
}

static void fit(struct loop *l)
{
    const void *input[] = {images};
    sy_samples all = {.count = SAMPLES, .input = input,
                      .label = l->way->is_sparse ? (const void *)labels : (const void *)one_hot};
    sy_result told;

    api_must(sy_model_compile(l->model, &(sy_compile){
        .optimizer = l->way->optimizer, .loss = l->way->loss, .policy = l->way->policy,
        .metrics = (const char *[]){l->way->metric, NULL}, .batch = BATCH}));
    api_must(sy_model_fit(l->model, &all,
                          &(sy_fit){.epochs = 2, .no_shuffle = true, .quiet = true}));
    read_weights(l);
    api_must(sy_model_evaluate(l->model, &all, &told));
    l->result[0] = told.metric[0];
    l->result[1] = told.loss;
}

/* ----- the same written by hand */

static sy_status train_step(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out,
                            int outputs, void *user)
{
    struct loop *l = user;
    sy_tensor guess = sy_model_forward(c, l->model, in[0], true), loss;

    assert_true(inputs == 2 && outputs == 1);
    loss = sy_average_loss(c, sy_loss(c, l->way->loss, in[1], guess), BATCH);
    if (strstr(l->way->layers[1], "l2"))
        loss = sy_add(c, loss, sy_model_losses(c, l->model));
    out[0] = loss;
    return sy_optimizer_minimize(c, l->optimizer, loss);
}

static sy_status test_step(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out,
                           int outputs, void *user)
{
    struct loop *l = user;
    sy_tensor guess = sy_model_forward(c, l->model, in[0], false);

    assert_true(inputs == 2 && outputs == 1);
    out[0] = sy_model_losses(c, l->model);
    sy_metric_update(c, l->loss, NULL, sy_loss(c, l->way->loss, in[1], guess), NULL);
    return sy_metric_update(c, l->metric, &in[1], guess, NULL);
}

static void run_all(struct loop *l, sy_step step, double *penalty)
{
    for (int first = 0; first < SAMPLES; first += BATCH) {
        sy_value *in[2], *out;
        sy_array *sum;

        api_must(sy_value_split(l->strategy, SY_F32, sy_dims(BATCH, SIDE * SIDE), images[first],
                                &in[0]));
        api_must(l->way->is_sparse
                     ? sy_value_split(l->strategy, SY_S32, sy_dims(BATCH), &labels[first], &in[1])
                     : sy_value_split(l->strategy, SY_F32, sy_dims(BATCH, CLASSES),
                                      one_hot[first], &in[1]));
        api_must(sy_strategy_run(l->strategy, "step", step, l, in, 2, &out, 1));
        api_must(sy_strategy_reduce(l->strategy, SY_SUM, out, SY_NO_AXIS, &sum));
        *penalty = (double)*(float *)sy_array_data(sum);
        sy_array_free(sum);
        sy_value_free(in[0]);
        sy_value_free(in[1]);
        sy_value_free(out);
    }
}

/* all batches of an epoch in one launch */
static void run_rounds(struct loop *l)
{
    int rounds = SAMPLES / BATCH, local = BATCH / sy_strategy_replicas(l->strategy);
    size_t wide = l->way->is_sparse ? 1 : CLASSES;
    sy_value *in[2], *out;

    api_must(sy_value_create(l->strategy, SY_F32, sy_dims(rounds, local, SIDE * SIDE), &in[0]));
    api_must(l->way->is_sparse
                 ? sy_value_create(l->strategy, SY_S32, sy_dims(rounds, local), &in[1])
                 : sy_value_create(l->strategy, SY_F32, sy_dims(rounds, local, CLASSES), &in[1]));
    for (int r = 0; r < sy_strategy_replicas(l->strategy); r++)
        for (int k = 0; k < rounds; k++) {
            int first = k * BATCH + r * local;

            memcpy((float *)sy_value_data(in[0], r) + k * local * SIDE * SIDE, images[first],
                   (size_t)local * sizeof(images[0]));
            memcpy((char *)sy_value_data(in[1], r) + (size_t)(k * local) * wide * 4,
                   l->way->is_sparse ? (void *)&labels[first] : (void *)one_hot[first],
                   (size_t)local * wide * 4);
        }
    api_must(sy_strategy_run_steps(l->strategy, "step", train_step, l, rounds, in, 2, &out, 1));
    sy_value_free(in[0]);
    sy_value_free(in[1]);
    sy_value_free(out);
}

static void write_loop(struct loop *l, bool in_rounds)
{
    sy_variable *v[24];
    double last;

    api_must(sy_model_build(l->model, l->way->policy, NULL));
    api_must(sy_optimizer_create(l->strategy, l->way->optimizer, NULL, v, list_weights(l, true, v),
                                 &l->optimizer));
    api_must(sy_metric_create(l->strategy, l->way->metric, &l->metric));
    api_must(sy_metric_create(l->strategy, "Mean(name='mean_loss')", &l->loss));
    for (int epoch = 0; epoch < 2; epoch++)
        if (in_rounds)
            run_rounds(l);
        else
            run_all(l, train_step, &last);
    read_weights(l);
    run_all(l, test_step, &last);
    run_all(l, test_step, &last);       /* reset starts anew */
    api_must(sy_metric_reset(l->metric));
    api_must(sy_metric_reset(l->loss));
    api_must(sy_metric_result(l->metric, &l->result[0]));
    if (strncmp(l->way->metric, "AUC", 3) != 0)
        assert_true(l->result[0] == 0);
    run_all(l, test_step, &last);
    api_must(sy_metric_result(l->metric, &l->result[0]));
    api_must(sy_metric_result(l->loss, &l->result[1]));
    l->result[1] += last;
}

static void compare_with_fit(bool in_rounds)
{
    make_samples();
    for (int i = 0; i < CONFIGURATIONS; i++) {
        static struct loop fitted, own;

        open_loop(&fitted, &ways[i]);
        fit(&fitted);
        close_loop(&fitted);
        open_loop(&own, &ways[i]);
        write_loop(&own, in_rounds);
        close_loop(&own);
        assert_int_equal(own.weights, fitted.weights);
        for (int k = 0; k < own.weights; k++)
            if (memcmp(&own.weight[k], &fitted.weight[k], 4) != 0)
                fail_msg("%d, %s: weight %d of %d is %.9g, by fit %.9g", i, ways[i].tpu, k,
                         own.weights, (double)own.weight[k], (double)fitted.weight[k]);
        if (fabs(own.result[0] - fitted.result[0]) > 1e-9 ||
            fabs(own.result[1] - fitted.result[1]) > 2e-6 * fmax(1, fabs(fitted.result[1])))
            fail_msg("%d, %s: %s %.9g and loss %.9g, by evaluate %.9g and %.9g", i, ways[i].tpu,
                     ways[i].metric, own.result[0], own.result[1], fitted.result[0],
                     fitted.result[1]);
    }
}

TEST(a_step_of_ones_own_has_the_bits_of_fit)
{
    compare_with_fit(false);
}

TEST(steps_in_one_launch_have_the_bits_of_fit)
{
    compare_with_fit(true);
}

/* ----- two models, each with an optimizer of its own */

struct pair {
    sy_model *model[2];
    sy_optimizer *optimizer[2];
    sy_variable *v[2][8];
    int count[2];
};

/* as of a GAN: the second model is called on the first one's output, and twice */
static sy_status pair_step(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out,
                           int outputs, void *user)
{
    struct pair *p = user;
    sy_tensor fake = sy_model_forward(c, p->model[0], in[0], true);
    sy_tensor of_real = sy_model_forward(c, p->model[1], in[0], true);
    sy_tensor of_fake = sy_model_forward(c, p->model[1], fake, true);
    sy_tensor ones = sy_constant(c, SY_F32, sy_tensor_shape(c, of_real), 1), loss[2];
    sy_tensor w[8], gradient[8];

    assert_true(inputs == 1 && outputs == 2);
    loss[0] = sy_average_loss(c, sy_loss(c, "BinaryCrossentropy(from_logits=True)", ones, of_fake),
                              0);
    loss[1] = sy_loss(c, "mse", ones, of_real);
    loss[1] = sy_add(c, loss[1], sy_loss(c, "mse", sy_scale(c, ones, 0), of_fake));
    loss[1] = sy_average_loss(c, loss[1], 0);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < p->count[k]; i++)
            w[i] = sy_read(c, p->v[k][i]);
        if (sy_gradients(c, loss[k], w, p->count[k], gradient) ||
            sy_optimizer_apply(c, p->optimizer[k], gradient, p->count[k]))
            return SY_ERROR;
        out[k] = loss[k];
    }
    return SY_OK;
}

TEST(two_models_are_trained_against_each_other)
{
    float x[16][4], before[4 * 4], after[4 * 4], loss[2][2];
    struct api_rig r;
    struct pair p;
    sy_value *in, *out[2];

    for (int i = 0; i < 64; i++)
        x[i / 4][i % 4] = (float)(i % 7) - 3;
    for (int on = 0; on < 2; on++) {
        api_rig_open(&r, on ? "v3-8" : "cpu");
        for (int k = 0; k < 2; k++) {
            api_must(sy_model_create(r.strategy, k ? "judge" : "maker", &p.model[k]));
            api_must(sy_model_add(p.model[k], k ? "Dense(1, input_shape=(4,), name='says')"
                                                : "Dense(4, input_shape=(4,), name='makes')"));
            api_must(sy_model_build(p.model[k], NULL, "highest"));
            p.count[k] = sy_model_variables(p.model[k], true, p.v[k], 8);
            assert_int_equal(p.count[k], 2);
            api_must(sy_optimizer_create(r.strategy, "Adam(0.01)", k ? "judge" : "maker", p.v[k],
                                         p.count[k], &p.optimizer[k]));
        }
        assert_non_null(sy_variable_find(r.strategy, "judge/iterations"));
        api_must(sy_variable_read(p.v[0][0], before, sizeof(before)));
        api_must(sy_value_split(r.strategy, SY_F32, sy_dims(16, 4), x, &in));
        for (int step = 0; step < 3; step++) {
            api_must(sy_strategy_run(r.strategy, "pair", pair_step, &p, &in, 1, out, 2));
            for (int k = 0; k < 2; k++) {
                sy_array *sum;

                api_must(sy_strategy_reduce(r.strategy, SY_SUM, out[k], SY_NO_AXIS, &sum));
                loss[on][k] = *(float *)sy_array_data(sum);
                sy_array_free(sum);
                sy_value_free(out[k]);
            }
        }
        api_must(sy_variable_read(p.v[0][0], after, sizeof(after)));
        assert_memory_not_equal(before, after, sizeof(before));
        api_must(sy_optimizer_set_learning_rate(p.optimizer[0], 0));
        api_must(sy_strategy_run(r.strategy, "pair", pair_step, &p, &in, 1, out, 2));
        api_must(sy_variable_read(p.v[0][0], before, sizeof(before)));
        assert_memory_equal(before, after, sizeof(before));
        sy_value_free(in);
        sy_value_free(out[0]);
        sy_value_free(out[1]);
        sy_model_free(p.model[0]);
        sy_model_free(p.model[1]);
        api_rig_close(&r);
    }
    for (int k = 0; k < 2; k++)
        if (!(fabsf(loss[0][k] - loss[1][k]) < 1e-5f))
            fail_msg("loss %d: %.9g, on the host %.9g", k, (double)loss[1][k], (double)loss[0][k]);
}

/* ----- weights of samples, several outputs */

static sy_status outputs_step(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out,
                              int outputs, void *user)
{
    const void *const *u = user;
    sy_tensor two[2];

    assert_true(inputs == 3 && outputs == 2);
    sy_model_forward_all(c, u[0], in, 2, false, two, 2);
    out[0] = two[0];
    out[1] = two[1];
    return sy_metric_update(c, (sy_metric *)u[1], NULL, sy_reshape(c, two[1], sy_dims(2)), &in[2]);
}

TEST(models_of_several_inputs_and_outputs_and_weighted_metrics)
{
    static const float a[4] = {1, 2, 3, 4}, b[4] = {10, 20, 30, 40}, w[4] = {1, 0, 0, 3};
    struct api_rig r;
    sy_call x, y, sum;
    sy_metric *m;
    sy_value *in[3], *out[2];
    const void *user[2];
    double mean;

    api_rig_open(&r, "v3-2");
    api_must(sy_model_input(r.model, "a", SY_F32, sy_dims(1), &x));
    api_must(sy_model_input(r.model, "b", SY_F32, sy_dims(1), &y));
    api_must(sy_model_call(r.model, "Add()", (sy_call[]){x, y}, 2, &sum));
    api_must(sy_model_output(r.model, sum));
    api_must(sy_model_call(r.model, "Multiply()", (sy_call[]){x, y}, 2, &sum));
    api_must(sy_model_output(r.model, sum));
    api_must(sy_model_build(r.model, NULL, NULL));
    api_must(sy_metric_create(r.strategy, "Mean(name='weighted')", &m));
    api_must(sy_value_split(r.strategy, SY_F32, sy_dims(4, 1), a, &in[0]));
    api_must(sy_value_split(r.strategy, SY_F32, sy_dims(4, 1), b, &in[1]));
    api_must(sy_value_split(r.strategy, SY_F32, sy_dims(4), w, &in[2]));
    user[0] = r.model;
    user[1] = m;
    api_must(sy_strategy_run(r.strategy, "both", outputs_step, user, in, 3, out, 2));
    assert_true(((float *)sy_value_data(out[0], 1))[1] == 44);
    assert_true(((float *)sy_value_data(out[1], 1))[1] == 160);
    api_must(sy_metric_result(m, &mean));
    assert_true(mean == (10.0 + 3 * 160) / 4);
    for (int i = 0; i < 3; i++)
        sy_value_free(in[i]);
    sy_value_free(out[0]);
    sy_value_free(out[1]);
    api_rig_close(&r);
}

/* ----- mistakes */

struct mistake {
    struct api_rig r, other;
    sy_metric *accuracy, *mean;
    sy_optimizer *o;
    int which;
};

static sy_status mistaken(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out,
                          int outputs, void *user)
{
    struct mistake *m = user;
    sy_tensor guess = in[0];

    (void)inputs, (void)outputs;
    out[0] = in[0];
    switch (m->which) {
    case 0: sy_model_forward(c, m->r.model, in[1], false); break;
    case 1: sy_model_forward(c, m->other.model, in[0], false); break;
    case 2: sy_model_losses(c, m->r.model); break;
    case 3: sy_model_forward_all(c, m->r.model, in, 2, false, &guess, 1); break;
    case 4: sy_loss(c, "crossentropie", in[1], in[0]); break;
    case 5: sy_loss(c, "mse", in[1], in[0]); break;
    case 6: sy_average_loss(c, in[0], 16); break;
    case 7: sy_metric_update(c, m->accuracy, NULL, in[0], NULL); break;
    case 8: sy_metric_update(c, m->mean, &in[1], in[0], NULL); break;
    case 9: sy_metric_update(c, m->accuracy, &in[1], in[0], &in[0]); break;
    case 10: sy_optimizer_minimize(c, m->o, in[0]); break;
    case 11: sy_optimizer_apply(c, m->o, in, 1); break;
    case 12: sy_optimizer_apply(c, m->o, in, 2); break;
    default: sy_loss(c, "mse", sy_constant(c, SY_F32, sy_dims(3, 8), 0), in[0]); break;
    }
    return sy_context_status(c);
}

TEST(mistakes_in_a_step_are_told)
{
    static const char *const messages[] = {
        "model small takes samples of f32[8]; input 0 is s32[8]",
        "model small is of another strategy",
        "a model that has not been called in this step",
        "model small of 1 inputs and 1 outputs is called with 2 and 1", "crossentropie",
        "labels of shape", "the average of f32[8,8]", "compares with labels, which are NULL",
        "metric mean takes no labels", "metric accuracy: weights are f32[8,8]; f32 [8] is wanted",
        "gradients are of an f32 scalar", "1 gradients for an optimizer of 4 variables",
        "2 gradients for an optimizer of 4 variables",
        "f32[3,8] and f32[8,8] are not of as many samples"};
    static float x[16][8];
    static int32_t y[16];
    struct mistake m;
    sy_variable *v[8];
    sy_value *in[2], *out;
    int count;

    api_rig_open(&m.other, "cpu");
    api_rig_open(&m.r, "v3-2");
    api_must(sy_model_add(m.r.model, "Dense(4, input_shape=(8,))"));
    api_must(sy_model_add(m.r.model, "Dense(8, name='out')"));
    api_must(sy_model_build(m.r.model, NULL, NULL));
    count = sy_model_variables(m.r.model, true, v, 8);
    api_must(sy_metric_create(m.r.strategy, "accuracy", &m.accuracy));
    api_must(sy_metric_create(m.r.strategy, "Mean", &m.mean));
    api_must(sy_optimizer_create(m.r.strategy, "sgd", NULL, v, count, &m.o));
    api_must(sy_value_split(m.r.strategy, SY_F32, sy_dims(16, 8), x, &in[0]));
    api_must(sy_value_split(m.r.strategy, SY_S32, sy_dims(16), y, &in[1]));
    for (m.which = 0; m.which < (int)COUNT_OF(messages); m.which++)
        api_expect_error(sy_strategy_run(m.r.strategy, "mistake", mistaken, &m, in, 2, &out, 1),
                         messages[m.which]);
    sy_value_free(in[0]);
    sy_value_free(in[1]);
    api_rig_close(&m.r);
    api_rig_close(&m.other);
}

TEST(names_that_are_taken_are_told)
{
    sy_variable *v[8], *count;
    sy_metric *m;
    sy_optimizer *o;
    sy_model *more;
    struct api_rig r;

    api_rig_open(&r, "cpu");
    api_expect_error(sy_model_build(r.model, NULL, NULL), "has no input");
    api_must(sy_model_add(r.model, "Dense(4, input_shape=(8,))"));
    api_expect_error(sy_model_build(r.model, "float8", NULL), "float8");
    api_expect_error(sy_model_build(r.model, NULL, "most"), "precision \"most\"");
    api_must(sy_model_build(r.model, NULL, NULL));
    api_expect_error(sy_model_build(r.model, NULL, NULL), "model small is built");
    api_expect_error(sy_model_add(r.model, "Dense(4)"), "no layer can be added any more");
    api_expect_error(sy_model_compile(r.model, &api_standard), "model small is built already");
    api_must(sy_model_create(r.strategy, "more", &more));
    api_must(sy_model_add(more, "Dense(4, input_shape=(8,))"));
    api_expect_error(sy_model_build(more, NULL, NULL), "give the layers of model \"more\" other");
    sy_model_free(more);
    assert_int_equal(sy_model_variables(r.model, true, v, 8), 2);
    assert_int_equal(sy_model_variables(r.model, true, NULL, 0), 2);
    api_must(sy_optimizer_create(r.strategy, "adam", NULL, v, 2, &o));
    api_expect_error(sy_optimizer_create(r.strategy, "adam", NULL, v, 2, &o),
                     "there is a variable \"dense/bias/v\" already");
    api_expect_error(sy_optimizer_create(r.strategy, "adamm", "b", v, 2, &o), "adamm");
    api_expect_error(sy_optimizer_create(r.strategy, "sgd", "b", (sy_variable *[]){v[0], v[0]}, 2,
                                         &o), "dense/kernel is given to an optimizer twice");
    api_must(sy_variable_create(r.strategy, "count", SY_S32, sy_scalar(),
                                &(sy_variable_options){.is_state = true}, &count));
    api_expect_error(sy_optimizer_create(r.strategy, "sgd", "b", &count, 1, &o),
                     "variable count is not trained");
    api_must(sy_metric_create(r.strategy, "accuracy", &m));
    api_expect_error(sy_metric_create(r.strategy, "accuracy", &m),
                     "there is a variable \"accuracy/total\" already");
    api_expect_error(sy_metric_create(r.strategy, "MeanIoU()", &m), "num_classes");
    api_expect_error(sy_metric_create(r.strategy, "acuracy", &m), "acuracy");
    api_must(sy_model_create(r.strategy, "last", &more));       /* whose names are taken */
    api_must(sy_model_add(more, "Dense(4, input_shape=(8,), name='last')"));
    api_expect_error(sy_model_compile(more, &api_standard), "already");
    sy_model_free(more);
    api_rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_of_ones_own_has_the_bits_of_fit),
        cmocka_unit_test(steps_in_one_launch_have_the_bits_of_fit),
        cmocka_unit_test(two_models_are_trained_against_each_other),
        cmocka_unit_test(models_of_several_inputs_and_outputs_and_weighted_metrics),
        cmocka_unit_test(mistakes_in_a_step_are_told),
        cmocka_unit_test(names_that_are_taken_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
