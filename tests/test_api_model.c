/* Models of the C interface: built as in Python, trained, evaluated, saved; mistakes named. */
#define _DEFAULT_SOURCE
#include "tests/test.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "include/systole.h"

#define SAMPLES 64
#define INPUTS 8
#define CLASSES 4

static void must(sy_status s)
{
    if (s != SY_OK)
        fail_msg("%s", sy_message());
}

struct rig {
    sy_cluster *cluster;
    sy_strategy *strategy;
    sy_model *model;
    float x[SAMPLES][INPUTS];
    int32_t label[SAMPLES];
    const void *input[1];
    sy_samples samples;
};

/* the class is where the input is largest */
static void make_samples(struct rig *r)
{
    uint32_t state = 1;

    for (int i = 0; i < SAMPLES; i++) {
        r->label[i] = i % CLASSES;
        for (int k = 0; k < INPUTS; k++) {
            state = state * 1664525u + 1013904223u;
            r->x[i][k] = (float)(state >> 16) / 65536.0f + (k == i % CLASSES ? 1.0f : 0.0f);
        }
    }
    r->input[0] = r->x;
    r->samples = (sy_samples){SAMPLES, r->input, r->label};
}

static void open_rig(struct rig *r, const char *tpu)
{
    memset(r, 0, sizeof(*r));
    must(sy_cluster_resolve(tpu, NULL, &r->cluster));
    must(sy_cluster_initialize(r->cluster));
    must(sy_strategy_create(r->cluster, NULL, NULL, &r->strategy));
    must(sy_model_create(r->strategy, "small", &r->model));
    make_samples(r);
}

static void close_rig(struct rig *r)
{
    sy_model_free(r->model);
    sy_strategy_free(r->strategy);
    sy_cluster_free(r->cluster);
}

static void build(struct rig *r, const sy_compile *o)
{
    must(sy_model_add(r->model, "Dense(16, 'relu', input_shape=(8,), kernel_regularizer=L2(1e-6))"));
    must(sy_model_add(r->model, "Dense(4, name='logits')"));
    must(sy_model_compile(r->model, o));
}

static const char *const sparse[] = {"accuracy", NULL};
static const sy_compile standard = {
    .optimizer = "Adam(0.02)", .loss = "SparseCategoricalCrossentropy(from_logits=True)",
    .metrics = sparse, .batch = 16};

static sy_status count_epochs(void *user, sy_model *m, const sy_result *told)
{
    (void)m;
    ++*(int *)user;
    assert_int_equal(told->metric_count, 1);
    assert_true(told->has_validation);
    return told->epoch == 30 ? SY_END : SY_OK;
}

TEST(a_model_learns_on_cores_as_on_the_host)
{
    static const char *const tpus[] = {"cpu", "v3-2"};
    double loss[2];

    for (int i = 0; i < 2; i++) {
        struct rig r;
        sy_result result;
        sy_array *p;
        int epochs = 0;

        open_rig(&r, tpus[i]);
        build(&r, &standard);
        assert_int_equal(sy_model_parameters(r.model, true), 8 * 16 + 16 + 16 * 4 + 4);
        must(sy_model_fit(r.model, &r.samples, &(sy_fit){
            .epochs = 100, .quiet = true, .on_epoch = count_epochs, .user = &epochs,
            .validation = &r.samples}));
        assert_int_equal(epochs, 30);
        must(sy_model_evaluate(r.model, &r.samples, &result));
        assert_true(result.metric[0] > 0.9);
        assert_string_equal(sy_model_metric_name(r.model, 0), "accuracy");
        loss[i] = result.loss;
        must(sy_model_predict(r.model, &r.samples, &p));
        assert_int_equal(sy_array_shape(p).dim[0], SAMPLES);
        assert_int_equal(sy_array_shape(p).dim[1], CLASSES);
        sy_array_free(p);
        assert_non_null(sy_variable_find(r.strategy, "logits/kernel"));
        close_rig(&r);
    }
    assert_true(fabs(loss[0] - loss[1]) < 0.05 * loss[0] + 0.01);
}

TEST(training_goes_on_from_a_checkpoint_to_the_bit)
{
    char folder[] = "/tmp/systole_api_XXXXXX", command[64];
    float whole[16 * 4], halves[16 * 4];
    int64_t epoch;
    struct rig r;

    assert_non_null(mkdtemp(folder));
    open_rig(&r, "v3-2");
    build(&r, &standard);
    assert_int_equal(sy_model_restore(r.model, folder, &epoch), SY_END);
    must(sy_model_fit(r.model, &r.samples, &(sy_fit){.epochs = 2, .quiet = true, .seed = 3,
                                                     .checkpoint_folder = folder}));
    must(sy_model_fit(r.model, &r.samples, &(sy_fit){.epochs = 4, .initial_epoch = 2,
                                                     .quiet = true, .seed = 3}));
    must(sy_variable_read(sy_variable_find(r.strategy, "logits/kernel"), whole, sizeof(whole)));
    close_rig(&r);
    open_rig(&r, "v3-2");
    build(&r, &standard);
    must(sy_model_restore(r.model, folder, &epoch));
    assert_int_equal(epoch, 2);
    must(sy_model_fit(r.model, &r.samples, &(sy_fit){.epochs = 4, .initial_epoch = epoch,
                                                     .quiet = true, .seed = 3}));
    must(sy_variable_read(sy_variable_find(r.strategy, "logits/kernel"), halves, sizeof(halves)));
    assert_memory_equal(whole, halves, sizeof(whole));
    close_rig(&r);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

TEST(functional_models_join_what_layers_make)
{
    struct rig r;
    sy_call x, a, b, both[2], y;
    sy_result result;

    open_rig(&r, "cpu");
    must(sy_model_input(r.model, "x", SY_F32, sy_dims(INPUTS), &x));
    must(sy_model_call(r.model, "Dense(8, tanh)", &x, 1, &a));
    must(sy_model_call(r.model, "Dense(8)", &x, 1, &b));
    both[0] = a;
    both[1] = b;
    must(sy_model_call(r.model, "Add()", both, 2, &y));
    must(sy_model_call(r.model, "Dense(4, activation='softmax')", &y, 1, &y));
    must(sy_model_output(r.model, y));
    must(sy_model_compile(r.model, &(sy_compile){
        .optimizer = "SGD(0.5, momentum=0.9)", .loss = "sparse_categorical_crossentropy",
        .batch = 32, .steps_per_execution = 2}));
    must(sy_model_fit(r.model, &r.samples, &(sy_fit){.epochs = 5, .quiet = true}));
    must(sy_model_evaluate(r.model, &r.samples, &result));
    assert_true(result.loss < log(4.0));
    assert_int_equal(sy_model_parameters(r.model, false), 2 * (8 * 8 + 8) + 8 * 4 + 4);
    close_rig(&r);
}

static void expect_error(sy_status s, const char *part)
{
    assert_int_equal(s, SY_ERROR);
    if (!strstr(sy_message(), part))
        fail_msg("\"%s\" does not have \"%s\"", sy_message(), part);
}

TEST(mistakes_name_layers_arguments_and_shapes)
{
    struct rig r;
    sy_result result;
    sy_call call;

    open_rig(&r, "cpu");
    expect_error(sy_model_fit(r.model, &r.samples, NULL), "model small is not compiled");
    expect_error(sy_model_evaluate(r.model, &r.samples, &result), "not compiled");
    expect_error(sy_model_add(r.model, "Dense(4)"), "the first layer says input_shape");
    expect_error(sy_model_add(r.model, "Dens(4)"), "did you mean \"Dense\"");
    expect_error(sy_model_add(r.model, "Dense(4"), "expected ',' or ')'");
    expect_error(sy_model_add(r.model, "Dense(4, activaton=relu)"),
                 "Dense has no argument activaton (did you mean \"activation\"?)");
    expect_error(sy_model_add(r.model, "Dense(0, input_shape=(8,))"), "units");
    expect_error(sy_model_add(r.model, "Dense(activation=relu, input_shape=(8,))"), "units");
    expect_error(sy_model_add(r.model, "Dense(4, input_shape=8)"), "input_shape must be a tuple");
    expect_error(sy_model_add(r.model, "Dense(4, kernel_initializer='he_norml')"), "he_normal");
    expect_error(sy_model_call(r.model, "Add()", &(sy_call){7}, 1, &call), "call 7 is not of");
    must(sy_model_add(r.model, "Dense(4, input_shape=(8,))"));
    expect_error(sy_model_add(r.model, "Conv2D(4, 3)"), "conv2d");
    expect_error(sy_model_compile(r.model, &(sy_compile){.loss = "mean_squared_eror"}),
                 "mean_squared_error");
    expect_error(sy_model_compile(r.model, &(sy_compile){.optimizer = "Adam(lr=1)", .loss = "mse"}),
                 "lr");
    expect_error(sy_model_compile(r.model, &(sy_compile){.loss = "Huber(delta=-1)"}), "delta");
    expect_error(sy_model_compile(r.model, &(sy_compile){.loss = "mse", .policy = "float8"}),
                 "mixed_bfloat16");
    expect_error(sy_model_compile(r.model, &(sy_compile){0}), "say which loss");
    close_rig(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_learns_on_cores_as_on_the_host),
        cmocka_unit_test(training_goes_on_from_a_checkpoint_to_the_bit),
        cmocka_unit_test(functional_models_join_what_layers_make),
        cmocka_unit_test(mistakes_name_layers_arguments_and_shapes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
