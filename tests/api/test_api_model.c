/* Models of the C interface: built as in Python, trained, evaluated, saved; mistakes named. */
#define _DEFAULT_SOURCE
#include "tests/test.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "tests/rigs/api_rig.h"

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
        struct api_rig r;
        sy_result result;
        sy_array *p;
        int epochs = 0;

        api_rig_open(&r, tpus[i]);
        api_rig_build(&r, &api_standard);
        assert_int_equal(sy_model_parameters(r.model, true), 8 * 16 + 16 + 16 * 4 + 4);
        api_must(sy_model_fit(r.model, &r.samples, &(sy_fit){
            .epochs = 100, .quiet = true, .on_epoch = count_epochs, .user = &epochs,
            .validation = &r.samples}));
        assert_int_equal(epochs, 30);
        api_must(sy_model_evaluate(r.model, &r.samples, &result));
        assert_true(result.metric[0] > 0.9);
        assert_string_equal(sy_model_metric_name(r.model, 0), "accuracy");
        loss[i] = result.loss;
        api_must(sy_model_predict(r.model, &r.samples, &p));
        assert_int_equal(sy_array_shape(p).dim[0], API_SAMPLES);
        assert_int_equal(sy_array_shape(p).dim[1], API_CLASSES);
        sy_array_free(p);
        assert_non_null(sy_variable_find(r.strategy, "logits/kernel"));
        api_rig_close(&r);
    }
    assert_true(fabs(loss[0] - loss[1]) < 0.05 * loss[0] + 0.01);
}

TEST(training_goes_on_from_a_checkpoint_to_the_bit)
{
    char folder[] = "/tmp/systole_api_XXXXXX", command[64];
    float whole[16 * 4], halves[16 * 4];
    int64_t epoch;
    struct api_rig r;

    assert_non_null(mkdtemp(folder));
    api_rig_open(&r, "v3-2");
    api_rig_build(&r, &api_standard);
    assert_int_equal(sy_model_restore(r.model, folder, &epoch), SY_END);
    api_must(sy_model_fit(r.model, &r.samples, &(sy_fit){.epochs = 2, .quiet = true, .seed = 3,
                                                     .checkpoint_folder = folder}));
    api_must(sy_model_fit(r.model, &r.samples, &(sy_fit){.epochs = 4, .initial_epoch = 2,
                                                     .quiet = true, .seed = 3}));
    api_must(sy_variable_read(sy_variable_find(r.strategy, "logits/kernel"), whole, sizeof(whole)));
    api_rig_close(&r);
    api_rig_open(&r, "v3-2");
    api_rig_build(&r, &api_standard);
    api_must(sy_model_restore(r.model, folder, &epoch));
    assert_int_equal(epoch, 2);
    api_must(sy_model_fit(r.model, &r.samples, &(sy_fit){.epochs = 4, .initial_epoch = epoch,
                                                     .quiet = true, .seed = 3}));
    api_must(sy_variable_read(sy_variable_find(r.strategy, "logits/kernel"), halves,
                              sizeof(halves)));
    assert_memory_equal(whole, halves, sizeof(whole));
    api_rig_close(&r);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

TEST(functional_models_join_what_layers_make)
{
    struct api_rig r;
    sy_call x, a, b, both[2], y;
    sy_result result;

    api_rig_open(&r, "cpu");
    api_must(sy_model_input(r.model, "x", SY_F32, sy_dims(API_INPUTS), &x));
    api_must(sy_model_call(r.model, "Dense(8, tanh)", &x, 1, &a));
    api_must(sy_model_call(r.model, "Dense(8)", &x, 1, &b));
    both[0] = a;
    both[1] = b;
    api_must(sy_model_call(r.model, "Add()", both, 2, &y));
    api_must(sy_model_call(r.model, "Dense(4, activation='softmax')", &y, 1, &y));
    api_must(sy_model_output(r.model, y));
    api_must(sy_model_compile(r.model, &(sy_compile){
        .optimizer = "SGD(0.5, momentum=0.9)", .loss = "sparse_categorical_crossentropy",
        .batch = 32, .steps_per_execution = 2}));
    api_must(sy_model_fit(r.model, &r.samples, &(sy_fit){.epochs = 5, .quiet = true}));
    api_must(sy_model_evaluate(r.model, &r.samples, &result));
    assert_true(result.loss < log(4.0));
    assert_int_equal(sy_model_parameters(r.model, false), 2 * (8 * 8 + 8) + 8 * 4 + 4);
    api_rig_close(&r);
}

/* what the model as first made predicts for the first sample */
static void predict_first(const char *policy, const char *second, float to[API_CLASSES])
{
    sy_compile o = api_standard;
    struct api_rig r;
    sy_array *p;

    o.policy = policy;
    o.precision = "highest";
    api_rig_open(&r, "cpu");
    api_must(sy_model_add(r.model, "Dense(16, 'relu', input_shape=(8,))"));
    api_must(sy_model_add(r.model, second));
    api_must(sy_model_compile(r.model, &o));
    r.samples.count = 1;
    api_must(sy_model_predict(r.model, &r.samples, &p));
    memcpy(to, sy_array_data(p), API_CLASSES * sizeof(float));
    sy_array_free(p);
    api_rig_close(&r);
}

/* bf16 has 8 bits, and the interpreter rounds to them: what a layer of it makes has no others */
static bool is_bf16(const float x[API_CLASSES])
{
    for (int i = 0; i < API_CLASSES; i++) {
        uint32_t bits;

        memcpy(&bits, &x[i], sizeof(bits));
        if (bits & 0xffff)
            return false;
    }
    return true;
}

TEST(layers_compute_in_the_policy_of_the_model)
{
    float x[API_CLASSES];

    predict_first("float32", "Dense(4)", x);
    assert_false(is_bf16(x));
    predict_first("mixed_bfloat16", "Dense(4)", x);
    assert_true(is_bf16(x));
    predict_first("mixed_bfloat16", "Dense(4, dtype='float32')", x);
    assert_false(is_bf16(x));
}

TEST(mistakes_name_layers_arguments_and_shapes)
{
    struct api_rig r;
    sy_result result;
    sy_call call;

    api_rig_open(&r, "cpu");
    api_expect_error(sy_model_fit(r.model, &r.samples, NULL), "model small is not compiled");
    api_expect_error(sy_model_evaluate(r.model, &r.samples, &result), "not compiled");
    api_expect_error(sy_model_add(r.model, "Dense(4)"), "the first layer says input_shape");
    api_expect_error(sy_model_add(r.model, "Dens(4)"), "did you mean \"Dense\"");
    api_expect_error(sy_model_add(r.model, "Dense(4"), "expected ',' or ')'");
    api_expect_error(sy_model_add(r.model, "Dense(4, activaton=relu)"),
                 "Dense has no argument activaton (did you mean \"activation\"?)");
    api_expect_error(sy_model_add(r.model, "Dense(0, input_shape=(8,))"), "units");
    api_expect_error(sy_model_add(r.model, "Dense(activation=relu, input_shape=(8,))"), "units");
    api_expect_error(sy_model_add(r.model, "Dense(4, input_shape=8)"),
                     "input_shape must be a tuple");
    api_expect_error(sy_model_add(r.model, "Dense(4, kernel_initializer='he_norml')"), "he_normal");
    api_expect_error(sy_model_call(r.model, "Add()", &(sy_call){7}, 1, &call), "call 7 is not of");
    api_must(sy_model_add(r.model, "Dense(4, input_shape=(8,))"));
    api_expect_error(sy_model_add(r.model, "Conv2D(4, 3)"), "conv2d");
    api_expect_error(sy_model_compile(r.model, &(sy_compile){.loss = "mean_squared_eror"}),
                 "mean_squared_error");
    api_expect_error(sy_model_compile(r.model, &(sy_compile){.optimizer = "Adam(lrr=1)",
                                                      .loss = "mse"}),
                 "lrr");
    api_expect_error(sy_model_compile(r.model, &(sy_compile){.loss = "Huber(delta=-1)"}), "delta");
    api_expect_error(sy_model_compile(r.model, &(sy_compile){.loss = "mse", .policy = "float8"}),
                 "mixed_bfloat16");
    api_expect_error(sy_model_compile(r.model, &(sy_compile){0}), "say which loss");
    api_rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_learns_on_cores_as_on_the_host),
        cmocka_unit_test(training_goes_on_from_a_checkpoint_to_the_bit),
        cmocka_unit_test(functional_models_join_what_layers_make),
        cmocka_unit_test(layers_compute_in_the_policy_of_the_model),
        cmocka_unit_test(mistakes_name_layers_arguments_and_shapes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
