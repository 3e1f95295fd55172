/*
 * Where values live, batches side by side, checkpoints within an epoch, folders that another
 * process has, operations of neural networks.
 */
#define _DEFAULT_SOURCE
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/rigs/api_rig.h"

/* ----- names and places */

TEST(devices_have_names_that_find_them)
{
    static const char *const slices[] = {"v3-8", "v3-32", "v5e-8", "v4-16"};
    sy_cluster *c;

    for (int i = 0; i < 4; i++) {
        api_must(sy_cluster_resolve(slices[i], NULL, &c));
        api_must(sy_cluster_initialize(c));
        for (int d = 0; d < sy_cluster_core_count(c); d++) {
            const char *name = sy_cluster_device_name(c, d);
            sy_strategy *s;
            sy_value *v;
            int at = -1;

            assert_non_null(name);
            api_must(sy_strategy_on_device(c, name, &s));
            api_must(sy_value_create(s, SY_F32, sy_dims(3), &v));
            api_must(sy_value_device(v, 0, &at));
            assert_int_equal(at, d);
            api_expect_error(sy_value_device(v, 1, &at), "replica 1 of a value");
            sy_value_free(v);
            sy_strategy_free(s);
        }
        assert_null(sy_cluster_device_name(c, sy_cluster_core_count(c)));
        assert_non_null(strstr(sy_message(), "allowed are 0.."));
        sy_cluster_free(c);
    }
    api_must(sy_cluster_resolve("v3-32", NULL, &c));
    assert_string_equal(sy_cluster_device_name(c, 9),
                        "/job:worker/replica:0/task:1/device:TPU:1");
    sy_cluster_free(c);
    api_must(sy_cluster_resolve("cpu", NULL, &c));
    assert_string_equal(sy_cluster_device_name(c, 0),
                        "/job:localhost/replica:0/task:0/device:CPU:0");
    sy_cluster_free(c);
}

TEST(variables_tell_where_they_lie)
{
    const char *const layout[] = {NULL, "model"};
    sy_variable *whole, *cut;
    sy_place place[8];
    struct api_rig r;
    int count;

    api_rig_open_cut(&r, "v3-8", 0, 2);
    api_must(sy_variable_create(r.strategy, "whole", SY_F32, sy_dims(16, 256), NULL, &whole));
    api_must(sy_variable_create(r.strategy, "cut", SY_F32, sy_dims(16, 256),
                                &(sy_variable_options){.layout = layout}, &cut));
    for (int i = 0; i < 2; i++) {
        api_must(sy_variable_places(i ? cut : whole, place, 8, &count));
        assert_int_equal(count, 8);
        for (int k = 0; k < count; k++) {
            assert_int_equal(place[k].replica, k / 2);
            assert_int_equal(place[k].logical, k % 2);
            assert_int_equal(place[k].device, k);
            assert_int_equal(place[k].shape.dim[1], i ? 128 : 256);
            assert_int_equal(place[k].bytes, 16 * (i ? 128 : 256) * 4);
            assert_true(place[k].address > 0 && place[k].address == place[0].address);
        }
    }
    api_must(sy_variable_places(cut, NULL, 0, &count));
    assert_int_equal(count, 8);
    api_rig_close(&r);
    api_rig_open(&r, "cpu");
    api_must(sy_variable_create(r.strategy, "whole", SY_F32, sy_dims(3), NULL, &whole));
    api_must(sy_variable_places(whole, place, 8, &count));
    assert_int_equal(count, 1);
    assert_int_equal(place[0].bytes, 12);
    assert_int_equal(place[0].device, 0);
    api_rig_close(&r);
}

/* ----- batches side by side */

static sy_status count_up(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out,
                          int outputs, void *user)
{
    (void)inputs, (void)outputs;
    out[0] = sy_reduce_sum(c, in[0], SY_NO_AXIS);
    sy_assign(c, user, sy_add(c, sy_read(c, user), sy_all_reduce(c, SY_SUM, out[0])));
    return sy_context_status(c);
}

TEST(batches_stacked_by_one_call_run_as_one_by_one)
{
    float x[24][3], sum[2];
    struct api_rig r;
    sy_column column = {SY_F32, sy_dims(24, 3), x};
    sy_dataset *d;
    sy_distributed *batches;
    sy_variable *v[2];
    sy_value *in, *out;
    int got, groups = 0, steps = 0;

    for (int i = 0; i < 72; i++)
        x[i / 3][i % 3] = (float)(i * i % 23);
    api_rig_open(&r, "v3-2");
    api_must(sy_dataset_from_arrays(&column, 1, &d));
    api_must(sy_dataset_batch(d, 4, true));
    api_must(sy_strategy_distribute(r.strategy, d, &batches));
    for (int i = 0; i < 2; i++)
        api_must(sy_variable_create(r.strategy, i ? "stacked" : "single", SY_F32, sy_scalar(),
                                    NULL, &v[i]));
    while (sy_distributed_next(batches, &in, 1) == SY_OK) {
        api_must(sy_strategy_run(r.strategy, "count", count_up, v[0], &in, 1, &out, 1));
        sy_value_free(in);
        sy_value_free(out);
    }
    api_must(sy_distributed_start(batches, 0));
    while (sy_distributed_next_steps(batches, 4, &in, 1, &got) == SY_OK) {
        assert_int_equal(sy_value_shape(in).dim[0], got);
        assert_int_equal(sy_value_shape(in).dim[1], 2);
        api_must(sy_strategy_run_steps(r.strategy, "count", count_up, v[1], got, &in, 1, &out, 1));
        sy_value_free(in);
        sy_value_free(out);
        groups++;
        steps += got;
    }
    assert_int_equal(groups, 2);
    assert_int_equal(steps, 6);
    assert_int_equal(got, 0);
    for (int i = 0; i < 2; i++)
        api_must(sy_variable_read(v[i], &sum[i], 4));
    assert_true(sum[0] == sum[1] && sum[0] > 0);
    sy_distributed_free(batches);
    sy_dataset_free(d);
    api_must(sy_dataset_from_arrays(&column, 1, &d));
    api_must(sy_dataset_batch(d, 10, false));
    api_must(sy_strategy_distribute(r.strategy, d, &batches));
    api_expect_error(sy_distributed_next_steps(batches, 3, &in, 1, &got), "drop_remainder");
    api_expect_error(sy_distributed_next_steps(batches, 0, &in, 1, &got), "0 batches");
    sy_distributed_free(batches);
    sy_dataset_free(d);
    api_rig_close(&r);
}

/* ----- checkpoints */

static void remove_folder(const char *folder)
{
    char command[96];

    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static sy_status stop_at(void *user, sy_model *m, const sy_result *told)
{
    (void)m;
    return told->step >= *(int64_t *)user ? SY_ERROR : SY_OK;
}

static void fit_until(struct api_rig *r, const char *folder, int64_t until, bool goes_on)
{
    sy_fit o = {.epochs = 3, .quiet = true, .checkpoint_folder = folder, .checkpoint_steps = 3,
                .on_step = stop_at, .user = &until, .seed = 5};
    sy_status status;

    api_must(sy_model_add(r->model, "Dense(16, activation='relu', input_shape=(8,))"));
    api_must(sy_model_add(r->model, "Dropout(0.3)"));
    api_must(sy_model_add(r->model, "Dense(4, name='logits')"));
    api_must(sy_model_compile(r->model, &api_standard));
    if (goes_on)
        api_must(sy_model_restore(r->model, folder, &o.initial_epoch));
    status = sy_model_fit(r->model, &r->samples, &o);
    assert_int_equal(status, until > 12 ? SY_OK : SY_ERROR);
}

/* an epoch has 4 steps; every third one leaves a checkpoint */
TEST(a_training_goes_on_within_an_epoch_to_the_bit)
{
    static const int64_t stops[] = {4, 7, 8, 10, 11};
    float w[2][16 * 4];

    for (int on = 0; on < 2; on++)
        for (size_t k = 0; k < sizeof(stops) / sizeof(stops[0]); k++) {
            char folder[] = "/tmp/systole_places_XXXXXX", other[] = "/tmp/systole_places_XXXXXX";
            struct api_rig r;

            assert_non_null(mkdtemp(folder));
            assert_non_null(mkdtemp(other));
            for (int i = 0; i < 2; i++) {
                if (i) {                /* killed, and begun again */
                    api_rig_open(&r, on ? "v3-2" : "cpu");
                    fit_until(&r, folder, stops[k], false);
                    api_rig_close(&r);
                }
                api_rig_open(&r, on ? "v3-2" : "cpu");
                fit_until(&r, i ? folder : other, 100, i);
                api_must(sy_variable_read(sy_variable_find(r.strategy, "logits/kernel"), w[i],
                                          sizeof(w[i])));
                api_rig_close(&r);
            }
            assert_memory_equal(w[0], w[1], sizeof(w[0]));
            remove_folder(folder);
            remove_folder(other);
        }
}

TEST(save_freq_counts_steps)
{
    char folder[] = "/tmp/systole_places_XXXXXX", path[96], written[128];
    const char *const callbacks[] = {written, NULL};
    struct api_rig r;

    assert_non_null(mkdtemp(folder));
    snprintf(written, sizeof(written), "ModelCheckpoint('%s', save_freq=3)", folder);
    api_rig_open(&r, "cpu");
    api_rig_build(&r, &api_standard);
    api_must(sy_model_fit(r.model, &r.samples, &(sy_fit){.epochs = 2, .quiet = true,
                                                         .callbacks = callbacks}));
    for (int step = 1; step <= 8; step++) {
        snprintf(path, sizeof(path), "%s/ckpt-%08d.safetensors", folder, step);
        assert_int_equal(access(path, F_OK), step % 3 ? -1 : 0);
    }
    snprintf(written, sizeof(written), "ModelCheckpoint('%s', save_freq='day')", folder);
    api_expect_error(sy_model_fit(r.model, &r.samples, &(sy_fit){.callbacks = callbacks}),
                     "save_freq is 'day'");
    snprintf(written, sizeof(written), "ModelCheckpoint('%s', save_freq=0)", folder);
    api_expect_error(sy_model_fit(r.model, &r.samples, &(sy_fit){.callbacks = callbacks}),
                     "at least 1 step");
    api_rig_close(&r);
    remove_folder(folder);
}

TEST(a_folder_that_is_not_there_has_no_checkpoint)
{
    struct api_rig r;
    int64_t epoch = 7;

    api_rig_open(&r, "cpu");
    api_rig_build(&r, &api_standard);
    assert_int_equal(sy_checkpoint_restore(r.strategy, &(sy_checkpoint){
        .folder = "/tmp/systole_nowhere/at/all"}), SY_END);
    assert_int_equal(sy_model_restore(r.model, "/tmp/systole_nowhere", &epoch), SY_END);
    assert_int_equal(epoch, 7);
    api_expect_error(sy_checkpoint_restore(r.strategy, &(sy_checkpoint){.folder = "Makefile"}),
                     "Makefile");
    api_rig_close(&r);
}

/* what another process is told that saves into the folder which this one has */
static int save_elsewhere(const char *folder, long owner)
{
    char expected[64];
    struct api_rig r;

    snprintf(expected, sizeof(expected), "is being written by process %ld", owner);
    api_rig_open(&r, "cpu");
    api_rig_build(&r, &api_standard);
    for (int i = 0; i < 2; i++) {
        sy_status s = i ? sy_model_save(r.model, folder, 0, 0)
                        : sy_checkpoint_save(r.strategy, &(sy_checkpoint){.folder = folder});

        if (s != SY_ERROR || !strstr(sy_message(), expected))
            return 1 + i;
    }
    api_rig_close(&r);
    return 0;
}

TEST(two_processes_on_one_folder_are_told_of_each_other)
{
    char folder[] = "/tmp/systole_places_XXXXXX";
    struct api_rig r;
    int status;
    pid_t child;

    assert_non_null(mkdtemp(folder));
    api_rig_open(&r, "cpu");
    api_rig_build(&r, &api_standard);
    api_must(sy_checkpoint_save(r.strategy, &(sy_checkpoint){.folder = folder}));
    child = fork();
    if (child == 0)
        _exit(save_elsewhere(folder, (long)getppid()));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    api_must(sy_checkpoint_save(r.strategy, &(sy_checkpoint){.folder = folder, .step = 1}));
    api_must(sy_model_fit(r.model, &r.samples, &(sy_fit){      /* this process's own as well */
        .quiet = true, .checkpoint_folder = folder, .checkpoint_overwrite = true}));
    api_rig_close(&r);
    child = fork();                     /* freed: it is anybody's now */
    if (child == 0)
        _exit(save_elsewhere(folder, (long)getppid()) == 1 ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    remove_folder(folder);
}

/* ----- operations */

#define IMAGES (2 * 5 * 6 * 4)

static sy_status windows(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out,
                         int outputs, void *user)
{
    sy_tensor mean, variance, one = sy_constant(c, SY_F32, sy_dims(4), 1);
    sy_tensor zero = sy_scale(c, one, 0);

    (void)inputs, (void)user;
    assert_int_equal(outputs, 5);
    out[0] = sy_conv2d(c, in[0], in[1], &(sy_window){.padding = "same", .strides = {2, 1}});
    out[1] = sy_max_pool2d(c, in[0], &(sy_window){.size = {2, 3}, .strides = {2, 3}});
    out[2] = sy_average_pool2d(c, in[0], &(sy_window){.size = {2, 2}, .padding = "same"});
    sy_moments(c, in[0], true, &mean, &variance);
    out[3] = sy_batch_normalization(c, in[0], mean, variance, zero, one, 0);
    out[4] = sy_layer_normalization(c, in[0], zero, one, 1e-6);
    return sy_context_status(c);
}

static double at(const float *x, int n, int h, int w, int k, bool *is_there)
{
    *is_there = h >= 0 && h < 5 && w >= 0 && w < 6;
    return *is_there ? (double)x[((n * 5 + h) * 6 + w) * 4 + k] : 0;
}

static void near(double is, double must, const char *what)
{
    if (!(fabs(is - must) <= 3e-5 * fmax(1, fabs(must))))
        fail_msg("%s: %.9g instead of %.9g", what, is, must);
}

static void check_windows(const float *x, const float *kernel, sy_value *const *out, int r)
{
    const float *y[5];
    bool is_there;

    for (int i = 0; i < 5; i++)
        y[i] = sy_value_data(out[i], r);
    for (int h = 0; h < 3; h++)         /* [1, 3, 6, 3]: pads are 1 above and left */
        for (int w = 0; w < 6; w++)
            for (int f = 0; f < 3; f++) {
                double sum = 0;

                for (int a = 0; a < 3; a++)
                    for (int b = 0; b < 3; b++)
                        for (int k = 0; k < 4; k++)
                            sum += at(x, r, 2 * h + a - 1, w + b - 1, k, &is_there) *
                                   (double)kernel[((a * 3 + b) * 4 + k) * 3 + f];
                near((double)y[0][(h * 6 + w) * 3 + f], sum, "conv2d");
            }
    for (int i = 0; i < 2 * 2 * 4; i++) {
        int h = i / 8, w = i / 4 % 2;
        double most = -INFINITY;

        for (int b = 0; b < 6; b++)
            most = fmax(most, at(x, r, 2 * h + b / 3, 3 * w + b % 3, i % 4, &is_there));
        near((double)y[1][i], most, "max_pool2d");
    }
    for (int i = 0; i < 5 * 6 * 4; i++) {
        int h = i / 24, w = i / 4 % 6, count = 0;
        double sum = 0;

        for (int b = 0; b < 4; b++) {
            sum += at(x, r, h + b / 2, w + b % 2, i % 4, &is_there);
            count += is_there;
        }
        near((double)y[2][i], sum / count, "average_pool2d");
    }
}

static void check_norms(const float *x, sy_value *const *out)
{
    for (int k = 0; k < 4; k++) {       /* over all replicas */
        double mean = 0, variance = 0;

        for (int i = k; i < IMAGES; i += 4)
            mean += (double)x[i] / (IMAGES / 4);
        for (int i = k; i < IMAGES; i += 4)
            variance += ((double)x[i] - mean) * ((double)x[i] - mean) / (IMAGES / 4);
        for (int i = k; i < IMAGES; i += 4)
            near((double)((float *)sy_value_data(out[3], i / (IMAGES / 2)))[i % (IMAGES / 2)],
                 ((double)x[i] - mean) / sqrt(variance), "batch_normalization");
    }
    for (int i = 0; i < IMAGES; i += 4) {
        double mean = 0, variance = 0;

        for (int k = 0; k < 4; k++)
            mean += (double)x[i + k] / 4;
        for (int k = 0; k < 4; k++)
            variance += ((double)x[i + k] - mean) * ((double)x[i + k] - mean) / 4;
        for (int k = 0; k < 4; k++)
            near((double)((float *)sy_value_data(out[4], i / (IMAGES / 2)))[(i + k) % (IMAGES / 2)],
                 ((double)x[i + k] - mean) / sqrt(variance + 1e-6), "layer_normalization");
    }
}

TEST(windows_and_normalisation_are_those_of_tf_nn)
{
    float x[IMAGES], kernel[3 * 3 * 4 * 3];
    struct api_rig r;
    sy_value *in[2], *out[5];

    for (int i = 0; i < IMAGES; i++)
        x[i] = (float)(i * 37 % 16) - 7;        /* and kernels: exact as bf16 */
    for (int i = 0; i < 108; i++)
        kernel[i] = (float)(i * 29 % 8) - 3;
    api_rig_open(&r, "v3-2");
    api_must(sy_value_split(r.strategy, SY_F32, sy_dims(2, 5, 6, 4), x, &in[0]));
    api_must(sy_value_copies(r.strategy, SY_F32, sy_dims(3, 3, 4, 3), kernel, &in[1]));
    api_must(sy_strategy_run(r.strategy, "windows", windows, NULL, in, 2, out, 5));
    for (int i = 0; i < 2; i++)
        check_windows(x, kernel, out, i);
    check_norms(x, out);
    for (int i = 0; i < 5; i++)
        sy_value_free(out[i]);
    sy_value_free(in[0]);
    sy_value_free(in[1]);
    api_rig_close(&r);
}

#define DRAWN 4096

static sy_status draw(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out, int outputs,
                      void *user)
{
    sy_tensor seed = sy_next_seed(c, user);

    (void)in, (void)inputs, (void)outputs;
    out[0] = sy_random_uniform(c, sy_dims(64, 64), -2, 6, seed);
    out[1] = sy_random_normal(c, sy_dims(64, 64), 3, 2, seed);
    out[2] = sy_dropout(c, sy_constant(c, SY_F32, sy_dims(64, 64), 1), 0.25, seed);
    return sy_context_status(c);
}

static void check_drawn(const float *x, double mean, double deviation, const char *what)
{
    double sum = 0, squares = 0;

    for (int i = 0; i < DRAWN; i++)
        sum += (double)x[i] / DRAWN;
    for (int i = 0; i < DRAWN; i++)
        squares += ((double)x[i] - sum) * ((double)x[i] - sum) / DRAWN;
    /* five standard errors */
    if (!(fabs(sum - mean) < 5 * deviation / 64) ||
        !(fabs(sqrt(squares) - deviation) < 5 * deviation / 64))
        fail_msg("%s: mean %g and deviation %g instead of %g and %g", what, sum, sqrt(squares),
                 mean, deviation);
}

TEST(random_numbers_are_as_they_are_said)
{
    static float kept[2][3][DRAWN];
    struct api_rig r;

    for (int on = 0; on < 3; on++) {    /* v3-2 twice, the host */
        sy_variable *seed;
        sy_value *out[3];

        api_rig_open(&r, on < 2 ? "v3-2" : "cpu");
        api_must(sy_variable_create(r.strategy, "seed", SY_S32, sy_scalar(),
                                    &(sy_variable_options){.is_state = true,
                                                           .initializer = "Constant(7)"}, &seed));
        for (int step = 0; step < 2; step++) {
            api_must(sy_strategy_run(r.strategy, "draw", draw, seed, NULL, 0, out, 3));
            for (int i = 0; i < 3; i++) {
                float *x = sy_value_data(out[i], 0);

                check_drawn(x, i == 0 ? 2 : i == 1 ? 3 : 1,
                            i == 0 ? 8 / sqrt(12) : i == 1 ? 2 : sqrt(1.0 / 3),
                            i == 0 ? "uniform" : i == 1 ? "normal" : "dropout");
                if (step == 1)
                    assert_memory_not_equal(kept[0][i], x, sizeof(kept[0][i]));
                if (on == 1)
                    assert_memory_equal(kept[step][i], x, sizeof(kept[step][i]));
                if (on == 0 && sy_value_replicas(out[i]) > 1)
                    assert_memory_not_equal(x, sy_value_data(out[i], 1), sizeof(kept[0][i]));
                if (on == 0 || step == 0)
                    memcpy(kept[step][i], x, sizeof(kept[step][i]));
                sy_value_free(out[i]);
            }
        }
        api_rig_close(&r);
    }
}

static sy_status mistaken(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out,
                          int outputs, void *user)
{
    sy_tensor mean, variance;

    (void)inputs, (void)outputs;
    out[0] = in[0];
    switch (*(int *)user) {
    case 0: sy_conv2d(c, in[0], in[0], NULL); break;
    case 1: sy_conv2d(c, in[0], in[1], &(sy_window){.padding = "full"}); break;
    case 2: sy_conv2d(c, in[0], in[1], &(sy_window){.groups = 3}); break;
    case 3: sy_max_pool2d(c, in[0], &(sy_window){.size = {9, 1}}); break;
    case 4: sy_average_pool2d(c, in[0], &(sy_window){.strides = {-1, 1}}); break;
    case 5: sy_moments(c, sy_reduce_sum(c, in[0], SY_NO_AXIS), false, &mean, &variance); break;
    case 6: sy_layer_normalization(c, in[0], in[0], in[0], 0); break;
    case 7: sy_dropout(c, in[0], 1.5, sy_constant(c, SY_S32, sy_scalar(), 1)); break;
    case 8: sy_random_normal(c, sy_dims(4), 0, 1, in[0]); break;
    default: sy_random_uniform(c, sy_dims(0), 0, 1, sy_constant(c, SY_S32, sy_scalar(), 1)); break;
    }
    return sy_context_status(c);
}

TEST(operations_that_do_not_go_are_told)
{
    static const char *const messages[] = {
        "conv2d of f32[1,5,6,4]: it takes", "padding \"full\" is none of valid, same",
        "channels / 3", "the window is larger than the image", "strides -1",
        "moments of f32[]", "the others are f32 [4] each, not f32[1,5,6,4]", "a rate of 1.5",
        "the seed must be an s32 scalar", "dimension 0 of a shape is 0"};
    struct api_rig r;
    sy_value *in[2], *out;

    api_rig_open(&r, "v3-2");
    api_must(sy_value_create(r.strategy, SY_F32, sy_dims(1, 5, 6, 4), &in[0]));
    api_must(sy_value_create(r.strategy, SY_F32, sy_dims(3, 3, 4, 3), &in[1]));
    for (int i = 0; i < (int)(sizeof(messages) / sizeof(messages[0])); i++)
        api_expect_error(sy_strategy_run(r.strategy, "mistake", mistaken, &i, in, 2, &out, 1),
                         messages[i]);
    sy_value_free(in[0]);
    sy_value_free(in[1]);
    api_rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_processes_on_one_folder_are_told_of_each_other),
        cmocka_unit_test(devices_have_names_that_find_them),
        cmocka_unit_test(variables_tell_where_they_lie),
        cmocka_unit_test(batches_stacked_by_one_call_run_as_one_by_one),
        cmocka_unit_test(a_training_goes_on_within_an_epoch_to_the_bit),
        cmocka_unit_test(save_freq_counts_steps),
        cmocka_unit_test(a_folder_that_is_not_there_has_no_checkpoint),
        cmocka_unit_test(windows_and_normalisation_are_those_of_tf_nn),
        cmocka_unit_test(random_numbers_are_as_they_are_said),
        cmocka_unit_test(operations_that_do_not_go_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
