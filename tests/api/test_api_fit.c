/* fit, evaluate and predict of the C interface: arrays and datasets alike, callbacks, mistakes. */
#define _DEFAULT_SOURCE
#include "tests/test.h"

#include <locale.h>
#include <string.h>
#include <unistd.h>

#include "tests/rigs/api_rig.h"

#define KERNEL (16 * 4)

static void read_kernel(const struct api_rig *r, float kernel[KERNEL])
{
    api_must(sy_variable_read(sy_variable_find(r->strategy, "logits/kernel"), kernel,
                              KERNEL * sizeof(float)));
}

static void open_built(struct api_rig *r, const char *tpu)
{
    api_rig_open(r, tpu);
    api_rig_build(r, &api_standard);
}

/* ----- datasets */

TEST(batches_of_any_size_train_as_arrays_do)
{
    static const char *const tpus[] = {"cpu", "v3-2"};
    static const int64_t sizes[] = {0, 16, 24, 5};      /* 0: arrays; else the dataset's batch */

    for (int t = 0; t < 2; t++) {
        float first[KERNEL], other[KERNEL];

        for (int i = 0; i < 4; i++) {
            sy_samples samples = {0};
            struct api_rig r;
            sy_dataset *d;

            open_built(&r, tpus[t]);
            d = api_rig_dataset(&r, sizes[i] ? sizes[i] : 1);
            samples.dataset = d;
            api_must(sy_model_fit(r.model, sizes[i] ? &samples : &r.samples,
                                  &(sy_fit){.epochs = 2, .no_shuffle = true, .quiet = true}));
            read_kernel(&r, i ? other : first);
            if (i)
                assert_memory_equal(first, other, sizeof(first));
            sy_dataset_free(d);
            api_rig_close(&r);
        }
    }
}

static sy_dataset *endless(const struct api_rig *r, int64_t passes)
{
    sy_dataset *d = api_rig_dataset(r, 0);

    api_must(sy_dataset_shuffle(d, 32, 5, true));
    api_must(sy_dataset_repeat(d, passes));
    api_must(sy_dataset_batch(d, 24, true));
    api_must(sy_dataset_prefetch(d, 2));
    return d;
}

/* epochs first..end - 1 of three steps each */
static void train_endless(struct api_rig *r, int64_t first, int64_t end)
{
    sy_dataset *d = endless(r, SY_FOREVER);

    api_must(sy_model_fit(r->model, &(sy_samples){.dataset = d}, &(sy_fit){
        .initial_epoch = first, .epochs = end, .steps_per_epoch = 3, .quiet = true}));
    sy_dataset_free(d);
}

TEST(a_dataset_without_end_goes_on_from_epoch_to_epoch)
{
    char folder[] = "/tmp/systole_api_XXXXXX", command[64];
    float whole[KERNEL], parts[KERNEL], resumed[KERNEL];
    struct api_rig r;
    sy_dataset *d;
    int64_t epoch;

    assert_non_null(mkdtemp(folder));
    open_built(&r, "cpu");
    d = endless(&r, 4);                 /* 256 samples: more than 12 steps of 16 */
    api_must(sy_model_fit(r.model, &(sy_samples){.dataset = d},
                          &(sy_fit){.steps_per_epoch = 12, .quiet = true}));
    read_kernel(&r, whole);
    sy_dataset_free(d);
    api_rig_close(&r);
    open_built(&r, "cpu");
    train_endless(&r, 0, 3);            /* 144 samples are six batches: not in the midst of one */
    api_must(sy_model_save(r.model, folder, 3, 0));
    train_endless(&r, 3, 4);
    read_kernel(&r, parts);
    api_rig_close(&r);
    open_built(&r, "cpu");
    api_must(sy_model_restore(r.model, folder, &epoch));
    train_endless(&r, epoch, 4);
    read_kernel(&r, resumed);
    api_rig_close(&r);
    assert_memory_equal(parts, whole, sizeof(whole));
    assert_memory_equal(resumed, whole, sizeof(whole));
    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

TEST(evaluation_and_prediction_take_datasets)
{
    struct api_rig r;
    sy_result arrays, batches;
    sy_array *a, *b;
    sy_dataset *d;

    open_built(&r, "v3-2");
    d = api_rig_dataset(&r, 10);
    api_must(sy_model_evaluate(r.model, &r.samples, &arrays));
    api_must(sy_model_evaluate(r.model, &(sy_samples){.dataset = d}, &batches));
    assert_true(arrays.loss == batches.loss);
    assert_int_equal(batches.samples, API_SAMPLES);
    r.samples.count = 23;
    api_must(sy_model_evaluate(r.model, &r.samples, &arrays));
    api_must(sy_model_evaluate(r.model, &(sy_samples){.dataset = d, .count = 23}, &batches));
    assert_true(arrays.loss == batches.loss);
    api_must(sy_model_predict(r.model, &r.samples, &a));
    api_must(sy_model_predict(r.model, &(sy_samples){.dataset = d, .count = 23}, &b));
    assert_int_equal(sy_array_shape(b).dim[0], 23);
    assert_memory_equal(sy_array_data(a), sy_array_data(b), 23 * API_CLASSES * sizeof(float));
    sy_array_free(a);
    sy_array_free(b);
    sy_dataset_free(d);
    api_rig_close(&r);
}

TEST(samples_of_weight_zero_change_nothing)
{
    sy_compile o = api_standard;
    float weight[API_SAMPLES] = {0}, before[KERNEL], after[KERNEL];
    struct api_rig r;

    o.optimizer = "SGD(0.1)";
    o.sample_weights = true;
    api_rig_open(&r, "cpu");
    api_rig_build(&r, &o);
    api_expect_error(sy_model_fit(r.model, &r.samples, NULL), "\"weight\" is NULL");
    read_kernel(&r, before);
    r.samples.weight = weight;
    api_must(sy_model_fit(r.model, &r.samples, &(sy_fit){.quiet = true}));
    read_kernel(&r, after);
    assert_memory_equal(before, after, sizeof(before));
    weight[3] = 1;
    api_must(sy_model_fit(r.model, &r.samples, &(sy_fit){.quiet = true}));
    read_kernel(&r, after);
    assert_memory_not_equal(before, after, sizeof(before));
    api_rig_close(&r);
}

TEST(datasets_that_do_not_fit_are_named_with_both_shapes)
{
    static const char *const wrong =
        "is f32[16,8]; \"label\" of model small takes batches of s32[]";
    const uint8_t bytes[4][8] = {{0}};
    const sy_column one[] = {{SY_U8, sy_dims(4, 8), bytes}, {SY_S32, sy_dims(4), bytes}};
    struct api_rig r;
    sy_dataset *d, *twice;

    open_built(&r, "cpu");
    d = api_rig_dataset(&r, 16);
    api_must(sy_dataset_copy(d, &twice));
    api_must(sy_dataset_zip(twice, d));
    api_expect_error(sy_model_fit(r.model, &(sy_samples){.dataset = twice}, NULL),
                     "gives tuples of 4 tensors; model small takes 2: inputs, label");
    sy_dataset_free(twice);
    api_must(sy_dataset_repeat(d, SY_FOREVER));
    api_expect_error(sy_model_fit(r.model, &(sy_samples){.dataset = d}, NULL),
                     "never ends: say steps_per_epoch");
    api_expect_error(sy_model_fit(r.model, &r.samples, &(sy_fit){
        .validation = &(sy_samples){.dataset = d}}), "never ends: say validation_steps");
    api_expect_error(sy_model_predict(r.model, &(sy_samples){.dataset = d}, &(sy_array *){NULL}),
                     "never ends: say a count");
    api_expect_error(sy_model_fit(r.model, &(sy_samples){.dataset = d, .input = r.input}, NULL),
                     "arrays or a dataset, not both");
    sy_dataset_free(d);
    api_must(sy_dataset_from_arrays(one, 2, &d));
    api_must(sy_dataset_batch(d, 2, true));
    api_expect_error(sy_model_fit(r.model, &(sy_samples){.dataset = d}, NULL),
                     "is u8[2,8]; \"input\" of model small takes batches of f32[8] "
                     "(sy_dataset_to_f32");
    sy_dataset_free(d);
    api_must(sy_dataset_from_arrays(&(sy_column){SY_F32, sy_dims(64, 8), r.x}, 1, &d));
    api_must(sy_dataset_copy(d, &twice));
    api_must(sy_dataset_zip(d, twice));
    api_must(sy_dataset_batch(d, 16, false));
    api_expect_error(sy_model_fit(r.model, &(sy_samples){.dataset = d}, NULL), wrong);
    sy_dataset_free(d);
    sy_dataset_free(twice);
    api_expect_error(sy_model_fit(r.model, NULL, NULL), "samples is NULL");
    api_expect_error(sy_model_fit(NULL, &r.samples, NULL), "the model is NULL");
    api_expect_error(sy_model_fit(r.model, &(sy_samples){.count = 64, .label = r.label}, NULL),
                     "the array of input \"input\" is NULL; model small takes f32[8]");
    api_expect_error(sy_model_fit(r.model, &r.samples, &(sy_fit){.epochs = -1}), "epochs is -1");
    api_rig_close(&r);
}

/* ----- callbacks */

struct history {
    char text[256];
    int64_t stop_at;                    /* step; 0: never */
};

static void note(struct history *h, const char *what, int64_t number)
{
    size_t length = strlen(h->text);

    snprintf(h->text + length, sizeof(h->text) - length, " %s%lld", what, (long long)number);
}

static sy_status train_begin(void *user, sy_model *m)
{
    (void)m;
    note(user, "begin", 0);
    return SY_OK;
}

static sy_status epoch_begin(void *user, sy_model *m, int64_t epoch)
{
    (void)m;
    note(user, "epoch", epoch);
    return SY_OK;
}

static sy_status step_begin(void *user, sy_model *m, int64_t step)
{
    (void)m;
    note(user, "(", step);
    return ((struct history *)user)->stop_at == -1 ? SY_END : SY_OK;
}

static sy_status step_end(void *user, sy_model *m, const sy_result *told)
{
    (void)m;
    note(user, ")", told->step);
    return ((struct history *)user)->stop_at == told->step ? SY_END : SY_OK;
}

static sy_status epoch_end(void *user, sy_model *m, const sy_result *told)
{
    (void)m;
    note(user, "done", told->epoch);
    return SY_OK;
}

static sy_status train_end(void *user, sy_model *m)
{
    (void)m;
    note(user, "end", 0);
    return SY_OK;
}

static void fit_told(struct api_rig *r, struct history *h)
{
    const sy_callback c = {train_begin, epoch_begin, step_begin, step_end, epoch_end, train_end, h};

    h->text[0] = '\0';
    api_must(sy_model_fit(r->model, &r->samples, &(sy_fit){
        .epochs = 2, .steps_per_epoch = 2, .quiet = true, .callback = &c, .callback_count = 1}));
}

TEST(callbacks_are_told_in_order_and_may_stop)
{
    struct history h = {.stop_at = 0};
    struct api_rig r;

    open_built(&r, "cpu");
    fit_told(&r, &h);
    assert_string_equal(h.text, " begin0 epoch1 (0 )1 (1 )2 done1 epoch2 (2 )3 (3 )4 done2 end0");
    h.stop_at = 5;
    fit_told(&r, &h);
    assert_string_equal(h.text, " begin0 epoch1 (4 )5 done1 end0");
    h.stop_at = -1;
    fit_told(&r, &h);
    assert_string_equal(h.text, " begin0 epoch1 (5 end0");
    api_rig_close(&r);
}

static sy_status refuse(void *user, sy_model *m, const sy_result *told)
{
    (void)user;
    (void)m;
    (void)told;
    return sy_dataset_range(0, 1, 0, &(sy_dataset *){NULL});
}

static void fit_with(struct api_rig *r, const char *callback, sy_status wanted, const char *part)
{
    const char *const list[] = {callback, NULL};
    sy_status s = sy_model_fit(r->model, &r->samples, &(sy_fit){
        .epochs = 1, .steps_per_epoch = 1, .quiet = true, .callbacks = list});

    if (wanted == SY_ERROR)
        api_expect_error(s, part);
    else
        api_must(s);
}

TEST(callbacks_of_keras_are_written_as_in_python)
{
    struct api_rig r;

    open_built(&r, "cpu");
    fit_with(&r, "EarlyStopping('loss', patience=2, restore_best_weights=True)", SY_OK, NULL);
    fit_with(&r, "ReduceLROnPlateau(monitor='accuracy', factor=0.5, patience=0)", SY_OK, NULL);
    fit_with(&r, "TerminateOnNaN()", SY_OK, NULL);
    fit_with(&r, "EarlyStoping()", SY_ERROR, "did you mean \"EarlyStopping\"?");
    fit_with(&r, "EarlyStopping(patence=2)", SY_ERROR,
             "EarlyStopping has no argument \"patence\" (did you mean \"patience\"?)");
    fit_with(&r, "EarlyStopping(patience='two')", SY_ERROR, "patience is to be a whole number");
    fit_with(&r, "EarlyStopping(mode='up')", SY_ERROR, "\"up\" is none of auto, min, max");
    fit_with(&r, "EarlyStopping('los')", SY_ERROR, "did you mean \"loss\"?");
    fit_with(&r, "EarlyStopping()", SY_ERROR, "epoch 1 has no validation");
    fit_with(&r, "ReduceLROnPlateau(factor=2)", SY_ERROR, "factor is 2, allowed are numbers");
    fit_with(&r, "ModelCheckpoint()", SY_ERROR, "filepath must be given");
    fit_with(&r, "CSVLogger('/nowhere/log.csv')", SY_ERROR, "/nowhere/log.csv");
    fit_with(&r, "TerminateOnNaN(", SY_ERROR, "found the end of");
    api_expect_error(sy_model_fit(r.model, &r.samples, &(sy_fit){.quiet = true, .on_step = refuse}),
                     "step");
    api_rig_close(&r);
}

static void train_and_log(const char *path, char *log, size_t bytes)
{
    struct api_rig r;
    FILE *f;

    open_built(&r, "v3-2");
    api_must(sy_model_fit(r.model, &r.samples, &(sy_fit){.quiet = true, .csv_log = path}));
    api_expect_error(sy_model_fit(r.model, &r.samples, &(sy_fit){
        .quiet = true, .callbacks = (const char *const[]){"ReduceLROnPlateau(factor=2.5)", NULL}}),
        "factor is 2.5, allowed");
    api_rig_close(&r);
    f = fopen(path, "r");
    assert_non_null(f);
    log[fread(log, 1, bytes - 1, f)] = '\0';
    fclose(f);
}

/* the program around the library may have set any */
TEST(numbers_are_the_same_in_every_locale)
{
    char folder[] = "/tmp/systole_api_XXXXXX", path[96], command[200], log[2][400];

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/log.csv", folder);
    train_and_log(path, log[0], sizeof(log[0]));
    snprintf(command, sizeof(command), "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 2>/dev/null",
             folder);
    if (system(command) == 0 && setenv("LOCPATH", folder, 1) == 0 &&
        setlocale(LC_NUMERIC, "de_DE.UTF-8")) {
        snprintf(command, sizeof(command), "%.1f", 0.5);
        assert_string_equal(command, "0,5");
        train_and_log(path, log[1], sizeof(log[1]));
        snprintf(command, sizeof(command), "%.1f", 0.5);
        assert_string_equal(command, "0,5");
        assert_string_equal(log[0], log[1]);
        setlocale(LC_NUMERIC, "C");
    } else {
        printf("skipped: there is no localedef to make a locale with decimal commas\n");
    }
    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* a rate that the loss does not survive */
static void open_doomed(struct api_rig *r)
{
    sy_compile o = api_standard;

    o.optimizer = "SGD(1e6)";
    api_rig_open(r, "cpu");
    api_rig_build(r, &o);
    for (int i = 0; i < API_SAMPLES; i++)
        r->x[i][0] *= 1e16f;
}

static sy_status keep_loss(void *user, sy_model *m, const sy_result *told)
{
    (void)m;
    *(double *)user = told->loss;
    return SY_OK;
}

TEST(a_loss_that_is_not_finite_fails_or_ends_the_training)
{
    static const char *const callbacks[] = {"TerminateOnNaN()", NULL};
    struct api_rig r;
    double loss = 0;

    open_doomed(&r);
    api_expect_error(sy_model_fit(r.model, &r.samples, &(sy_fit){.epochs = 9, .quiet = true}),
                     ": the loss is");
    assert_non_null(strstr(sy_message(), "comes from"));
    api_rig_close(&r);
    open_doomed(&r);
    api_must(sy_model_fit(r.model, &r.samples, &(sy_fit){
        .epochs = 9, .quiet = true, .callbacks = callbacks, .on_step = keep_loss, .user = &loss}));
    assert_true(loss - loss != 0);      /* of what is finite it is 0 */
    api_rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_of_any_size_train_as_arrays_do),
        cmocka_unit_test(a_dataset_without_end_goes_on_from_epoch_to_epoch),
        cmocka_unit_test(evaluation_and_prediction_take_datasets),
        cmocka_unit_test(samples_of_weight_zero_change_nothing),
        cmocka_unit_test(datasets_that_do_not_fit_are_named_with_both_shapes),
        cmocka_unit_test(callbacks_are_told_in_order_and_may_stop),
        cmocka_unit_test(callbacks_of_keras_are_written_as_in_python),
        cmocka_unit_test(numbers_are_the_same_in_every_locale),
        cmocka_unit_test(a_loss_that_is_not_finite_fails_or_ends_the_training),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
