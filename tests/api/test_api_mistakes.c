/* Bad input to the C interface: one clear message each, and nothing lost. */
#define _DEFAULT_SOURCE
#include "tests/test.h"

#include <string.h>
#include <unistd.h>

#include "tests/rigs/api_rig.h"

/* ----- records */

#define RECORDS 48

static void write_records(const struct api_rig *r, const char *path)
{
    sy_record_writer *w;

    api_must(sy_record_writer_open(path, &w));
    for (int i = 0; i < RECORDS; i++) {
        sy_example *x = sy_example_new();

        api_must(sy_example_add_floats(x, "x", r->x[i], API_INPUTS));
        api_must(sy_example_add_ints(x, "label", &(int64_t){r->label[i]}, 1));
        api_must(sy_record_writer_write_example(w, x));
        sy_example_free(x);
    }
    api_must(sy_record_writer_close(w));
}

static sy_dataset *read_records(const char *path, const char *label)
{
    const sy_feature features[] = {{"x", SY_F32, sy_dims(API_INPUTS)},
                                   {label, SY_S32, sy_scalar()}};
    sy_dataset *d;

    api_must(sy_dataset_from_tfrecords(&path, 1, &d));
    api_must(sy_dataset_parse_examples(d, features, 2, 1));
    api_must(sy_dataset_batch(d, 16, true));
    return d;
}

static void damage(const char *path, long from_end)
{
    FILE *f = fopen(path, "r+b");
    int byte;

    assert_non_null(f);
    assert_int_equal(fseek(f, -from_end, SEEK_END), 0);
    byte = fgetc(f);
    assert_int_equal(fseek(f, -from_end, SEEK_END), 0);
    fputc(byte ^ 0x10, f);
    fclose(f);
}

TEST(a_damaged_record_stops_training_with_its_place)
{
    char path[] = "/tmp/systole_api_XXXXXX.tfrecord";
    struct api_rig r;
    sy_dataset *d;
    sy_variable *v;
    float before[64], after[64];

    close(mkstemps(path, 9));
    api_rig_open(&r, "cpu");
    api_rig_build(&r, &api_standard);
    write_records(&r, path);
    d = read_records(path, "label");
    api_must(sy_model_fit(r.model, &(sy_samples){.dataset = d}, &(sy_fit){.quiet = true}));
    sy_dataset_free(d);
    d = read_records(path, "lable");
    api_expect_error(sy_model_fit(r.model, &(sy_samples){.dataset = d}, &(sy_fit){.quiet = true}),
                     "did you mean \"label\"?");
    assert_non_null(strstr(sy_message(), "record 0 at byte 0"));
    sy_dataset_free(d);
    damage(path, 12);                   /* in the last record */
    v = sy_variable_find(r.strategy, "logits/kernel");
    api_must(sy_variable_read(v, before, sizeof(before)));
    d = read_records(path, "label");
    api_expect_error(sy_model_fit(r.model, &(sy_samples){.dataset = d}, &(sy_fit){.quiet = true}),
                     path);
    assert_non_null(strstr(sy_message(), "record 47 at byte"));
    api_must(sy_variable_read(v, after, sizeof(after)));    /* the steps before it are done */
    assert_memory_not_equal(before, after, sizeof(before));
    api_expect_error(sy_model_evaluate(r.model, &(sy_samples){.dataset = d}, &(sy_result){0}),
                     "record 47");
    sy_dataset_free(d);
    api_rig_close(&r);
    unlink(path);
}

/* ----- checkpoints */

TEST(damaged_checkpoints_are_told_and_passed_over)
{
    char folder[] = "/tmp/systole_api_XXXXXX", path[96], command[64];
    struct api_rig r;
    int64_t epoch = 0;

    assert_non_null(mkdtemp(folder));
    api_rig_open(&r, "cpu");
    api_rig_build(&r, &api_standard);
    for (int i = 1; i <= 2; i++)
        api_must(sy_model_fit(r.model, &r.samples, &(sy_fit){
            .initial_epoch = i - 1, .epochs = i, .quiet = true, .checkpoint_folder = folder}));
    api_must(sy_model_restore(r.model, folder, &epoch));
    assert_int_equal(epoch, 2);
    assert_string_equal(sy_message(), "");
    snprintf(path, sizeof(path), "%s/ckpt-00000008.safetensors", folder);
    damage(path, 4);
    api_must(sy_model_restore(r.model, folder, &epoch));
    assert_int_equal(epoch, 1);
    assert_non_null(strstr(sy_message(), "ckpt-00000008.safetensors"));
    snprintf(path, sizeof(path), "%s/ckpt-00000004.safetensors", folder);
    damage(path, 4);
    api_expect_error(sy_model_restore(r.model, folder, &epoch), "ckpt-0000000");
    assert_non_null(strstr(sy_message(), "byte"));
    api_expect_error(sy_checkpoint_restore(r.strategy, &(sy_checkpoint){.folder = folder}),
                     "byte");
    api_expect_error(sy_model_save(r.model, "/nowhere/at/all", 1, 0), "/nowhere/at/all");
    api_rig_close(&r);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

TEST(a_folder_of_checkpoints_is_one_trainings)
{
    char folder[] = "/tmp/systole_api_XXXXXX", path[96], keras[96], command[64];
    const char *const written[] = {keras, NULL};
    sy_fit fit = {.epochs = 2, .quiet = true, .checkpoint_folder = folder};
    struct api_rig r;
    int64_t epoch = 0;

    assert_non_null(mkdtemp(folder));
    snprintf(keras, sizeof(keras), "ModelCheckpoint('%s')", folder);
    snprintf(path, sizeof(path), "%s/ckpt-00000008.safetensors", folder);
    for (int i = 0; i < 2; i++) {
        api_rig_open(&r, "cpu");
        api_rig_build(&r, &api_standard);
        if (i > 0) {
            api_expect_error(sy_model_fit(r.model, &r.samples, &fit),
                             "up to step 8, and this one is at step 0; sy_model_restore");
            api_expect_error(sy_model_fit(r.model, &r.samples, &(sy_fit){
                .quiet = true, .callbacks = written}), "overwrite=True removes them");
            api_expect_error(sy_model_save(r.model, folder, 1, 0), "another training");
            api_expect_error(sy_checkpoint_save(r.strategy, &(sy_checkpoint){
                .folder = folder, .step = 7}), "another training");
            assert_int_equal(access(path, F_OK), 0);
            fit.epochs = 1;
            fit.checkpoint_overwrite = true;
        }
        api_must(sy_model_fit(r.model, &r.samples, &fit));
        api_rig_close(&r);
    }
    assert_int_not_equal(access(path, F_OK), 0);
    api_rig_open(&r, "cpu");
    api_rig_build(&r, &api_standard);
    snprintf(keras, sizeof(keras), "ModelCheckpoint('%s', overwrite=True)", folder);
    api_must(sy_model_fit(r.model, &r.samples, &(sy_fit){.quiet = true, .callbacks = (const char *[]){
        "EarlyStopping('loss')", "EarlyStopping('loss')", keras, NULL}}));
    api_must(sy_model_restore(r.model, folder, &epoch));        /* two of one name are in it */
    assert_string_equal(sy_message(), "");
    api_rig_close(&r);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* ----- files that are none */

TEST(folders_in_the_place_of_files_are_named)
{
    static const char *const folder = "/tmp";
    struct api_rig r;
    sy_dataset *d;
    sy_array *a;
    sy_iterator *it;
    sy_element *x;

    api_rig_open(&r, "cpu");
    api_expect_error(sy_read_array(folder, &a), "/tmp: ");
    api_expect_error(sy_dataset_from_idx(&folder, 1, &d), "/tmp: ");
    api_expect_error(sy_dataset_from_npy(&folder, 1, &d), "/tmp: ");
    api_must(sy_dataset_from_tfrecords(&folder, 1, &d));
    api_must(sy_dataset_iterate(d, 0, &it));
    api_expect_error(sy_iterator_next(it, &x), "/tmp: ");
    sy_iterator_free(it);
    sy_dataset_free(d);
    sy_model_free(r.model);
    api_expect_error(sy_model_load(r.strategy, folder, &r.model), "/tmp: ");
    sy_strategy_free(r.strategy);
    sy_cluster_free(r.cluster);
}

/* ----- handles */

TEST(handles_that_were_freed_are_refused)
{
    struct api_rig r;
    sy_dataset *d, *other;
    sy_value *v;
    sy_model *m;

    api_rig_open(&r, "v3-2");
    api_must(sy_dataset_range(0, 4, 1, &d));
    api_must(sy_dataset_range(0, 4, 1, &other));
    sy_dataset_free(d);
    api_expect_error(sy_dataset_batch(d, 2, true), "the dataset has been freed");
    api_expect_error(sy_dataset_zip(other, d), "the dataset has been freed");
    api_expect_error(sy_strategy_distribute(r.strategy, d, &(sy_distributed *){NULL}),
                     "the dataset has been freed");
    sy_dataset_free(d);
    sy_dataset_free(other);
    sy_cluster_free(r.cluster);         /* a strategy has it: it stays */
    assert_string_equal(sy_message(), "1 strategy still uses v3-2, which stays: free it first");
    api_rig_build(&r, &api_standard);
    api_must(sy_model_fit(r.model, &r.samples, &(sy_fit){.quiet = true}));
    sy_strategy_free(r.strategy);
    api_expect_error(sy_model_fit(r.model, &r.samples, NULL), "the strategy has been freed");
    api_expect_error(sy_value_create(r.strategy, SY_F32, sy_dims(1), &v),
                     "the strategy has been freed");
    api_expect_error(sy_model_create(r.strategy, "m", &m), "the strategy has been freed");
    assert_null(sy_variable_find(r.strategy, "logits/kernel"));
    sy_model_free(r.model);
    api_expect_error(sy_model_fit(r.model, &r.samples, NULL), "the model has been freed");
    api_expect_error(sy_model_add(r.model, "Dense(2)"), "the model has been freed");
    api_expect_error(sy_model_summary(r.model, stdout), "the model has been freed");
    sy_model_free(r.model);
    sy_strategy_free(r.strategy);
    sy_cluster_free(r.cluster);
    api_expect_error(sy_cluster_initialize(r.cluster), "the cluster has been freed");
    sy_cluster_free(r.cluster);
}

static sy_status nothing(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out,
                         int outputs, void *user)
{
    (void)c;
    (void)in;
    (void)inputs;
    (void)out;
    (void)outputs;
    (void)user;
    return SY_OK;
}

TEST(nulls_are_named)
{
    struct api_rig r;
    sy_value *v = NULL;
    float x[4] = {0};

    api_rig_open(&r, "cpu");
    api_expect_error(sy_strategy_create(NULL, NULL, NULL, &r.strategy), "the cluster is NULL");
    api_expect_error(sy_strategy_on_device(r.cluster, NULL, &r.strategy), "the device is NULL");
    api_expect_error(sy_variable_create(r.strategy, NULL, SY_F32, sy_dims(1), NULL,
                                        &(sy_variable *){NULL}), "the name of a variable is NULL");
    api_expect_error(sy_variable_read(NULL, x, 4), "the variable is NULL");
    api_expect_error(sy_value_split(r.strategy, SY_F32, sy_dims(4), NULL, &v),
                     "the array to split is NULL");
    api_expect_error(sy_strategy_run(r.strategy, "s", NULL, NULL, NULL, 0, NULL, 0),
                     "the function of a step is NULL");
    api_expect_error(sy_strategy_run(r.strategy, NULL, nothing, NULL, NULL, 0, NULL, 0),
                     "the name of a step is NULL");
    api_expect_error(sy_strategy_run(r.strategy, "s", nothing, NULL, &v, 1, NULL, 0),
                     "input 0 is NULL");
    api_expect_error(sy_model_add(r.model, NULL), "the text of a layer is NULL");
    api_expect_error(sy_model_load(r.strategy, NULL, &r.model), "the path of a model is NULL");
    api_expect_error(sy_model_compile(r.model, NULL), "how it is to be compiled is NULL");
    api_expect_error(sy_dataset_batch(NULL, 1, true), "the dataset is NULL");
    api_expect_error(sy_checkpoint_save(r.strategy, NULL), "the description is NULL");
    api_rig_build(&r, &api_standard);
    api_expect_error(sy_model_compile(r.model, &api_standard), "model small is compiled already");
    api_expect_error(sy_model_add(r.model, "Dense(4)"), "no layer can be added any more");
    api_rig_close(&r);
}

/* ----- sizes */

TEST(sizes_that_do_not_divide_name_the_nearest_that_do)
{
    sy_compile o = api_standard;
    struct api_rig r;

    o.batch = 15;
    api_rig_open(&r, "v3-2");
    api_must(sy_model_add(r.model, "Dense(4, input_shape=(8,))"));
    api_expect_error(sy_model_compile(r.model, &o), "batch 15 cannot be split over 2 replicas; "
                     "the nearest that can are 14 and 16");
    api_rig_close(&r);
    api_rig_open(&r, "cpu");
    api_rig_build(&r, &api_standard);
    r.samples.count = 15;
    api_expect_error(sy_model_fit(r.model, &r.samples, &(sy_fit){.quiet = true}),
                     "there is not one whole batch of 16 samples");
    api_rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damaged_record_stops_training_with_its_place),
        cmocka_unit_test(damaged_checkpoints_are_told_and_passed_over),
        cmocka_unit_test(a_folder_of_checkpoints_is_one_trainings),
        cmocka_unit_test(folders_in_the_place_of_files_are_named),
        cmocka_unit_test(handles_that_were_freed_are_refused),
        cmocka_unit_test(nulls_are_named),
        cmocka_unit_test(sizes_that_do_not_divide_name_the_nearest_that_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
