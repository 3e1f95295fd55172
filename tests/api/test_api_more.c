/* Embeddings, meshes of named axes, costs, checkpoints and .npy files of the C interface. */
#define _DEFAULT_SOURCE
#include "tests/test.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "tests/rigs/api_rig.h"

static void open_strategy(struct api_rig *r, const char *tpu, const sy_strategy_options *o)
{
    memset(r, 0, sizeof(*r));
    api_must(sy_cluster_resolve(tpu, NULL, &r->cluster));
    api_must(sy_cluster_initialize(r->cluster));
    api_must(sy_strategy_create(r->cluster, NULL, o, &r->strategy));
}

/* ----- embeddings */

#define ROWS 10
#define DIM 4

struct tables {
    sy_embedding *m;
    int mistake;
};

/* the loss is half the square of what is looked up: its gradient is what is looked up */
static sy_status look_up(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out,
                         int outputs, void *user)
{
    static const char *const words = "words";
    const struct tables *t = user;
    sy_tensor row = sy_embedding_lookup(c, t->m, t->mistake == 1 ? "wrods" : words, in[0], NULL);
    sy_tensor loss = sy_scale(c, sy_reduce_sum(c, sy_square(c, row), SY_NO_AXIS), 0.5), gradient;

    (void)inputs;
    (void)outputs;
    if (t->mistake == 2)
        sy_embedding_lookup(c, t->m, words, in[0], NULL);
    sy_gradients(c, loss, &row, 1, &gradient);
    if (t->mistake == 3)
        gradient = sy_reduce_sum(c, gradient, 0);
    sy_embedding_apply(c, t->m, &words, &gradient, 1);
    out[0] = row;
    return SY_OK;
}

/* two samples of two ids on each of two replicas, against the same by hand: SGD(0.5), sums */
static void check_update(struct api_rig *r, struct tables *t)
{
    const int32_t ids[8] = {1, 2, 9, -1, 1, 1, 0, 5};
    float before[ROWS][DIM], after[ROWS][DIM], expected[ROWS][DIM];
    sy_variable *v = sy_variable_find(r->strategy, "embedding/table");
    sy_value *in, *out;

    api_must(sy_embedding_check_ids(t->m, "words", ids, 4));
    api_must(sy_value_split(r->strategy, SY_S32, sy_dims(4, 2), ids, &in));
    api_must(sy_strategy_run(r->strategy, "first", look_up, t, &in, 1, &out, 1));
    sy_value_free(out);                 /* the table has its first values now */
    api_must(sy_variable_read(v, before, sizeof(before)));
    memcpy(expected, before, sizeof(before));
    api_must(sy_strategy_run(r->strategy, "first", look_up, t, &in, 1, &out, 1));
    api_must(sy_variable_read(v, after, sizeof(after)));
    for (int s = 0; s < 4; s++)
        for (int k = 0; k < DIM; k++) {
            float sum = 0;
            int64_t row;

            for (int i = 0; i < 2; i++)
                if (ids[2 * s + i] >= 0) {
                    api_must(sy_embedding_row(t->m, "table", ids[2 * s + i], &row));
                    sum += before[row][k];
                }
            assert_true(fabsf(((float *)sy_value_data(out, s / 2))[s % 2 * DIM + k] - sum) < 1e-5f);
            for (int i = 0; i < 2; i++)
                if (ids[2 * s + i] >= 0) {
                    api_must(sy_embedding_row(t->m, "table", ids[2 * s + i], &row));
                    expected[row][k] -= 0.5f * sum;
                }
        }
    for (int i = 0; i < ROWS * DIM; i++)
        assert_true(fabsf(after[i / DIM][i % DIM] - expected[i / DIM][i % DIM]) < 1e-5f);
    sy_value_free(in);
    sy_value_free(out);
}

TEST(tables_are_looked_up_and_trained)
{
    static const char *const mistakes[] = {
        "there is no feature \"wrods\" (did you mean \"words\"?)",
        "feature words is looked up twice in a step",
        "feature words: its gradient is f32[4], what was looked up f32[1,4]"};
    const sy_table table = {.name = "table", .vocabulary_size = ROWS, .dim = DIM,
                            .combiner = "sum", .optimizer = "SGD(0.5)",
                            .initializer = "RandomUniform(-1, 1)"};
    const sy_lookup words = {.name = "words", .table = "table", .max_length = 2};
    struct tables t = {.mistake = 0};
    struct api_rig r;
    sy_value *in, *out;
    int64_t row;

    open_strategy(&r, "v3-2", NULL);
    api_must(sy_embedding_create(r.strategy, &table, 1, &words, 1, &t.m));
    check_update(&r, &t);
    api_expect_error(sy_embedding_check_ids(t.m, "words", (int32_t[]){1, 10}, 1),
                     "feature words: id 10 of sample 0, place 1, is not in 0..9");
    api_expect_error(sy_embedding_row(t.m, "table", 10, &row), "id 10, allowed are 0..9");
    api_must(sy_value_create(r.strategy, SY_S32, sy_dims(1, 2), &in));
    for (t.mistake = 1; t.mistake <= 3; t.mistake++)
        api_expect_error(sy_strategy_run(r.strategy, "wrong", look_up, &t, &in, 1, &out, 1),
                         mistakes[t.mistake - 1]);
    sy_value_free(in);
    api_must(sy_value_create(r.strategy, SY_S32, sy_dims(1, 3), &in));
    t.mistake = 0;
    api_expect_error(sy_strategy_run(r.strategy, "wrong", look_up, &t, &in, 1, &out, 1),
                     "ids are s32[1,3], s32[samples,2] is wanted");
    sy_value_free(in);
    api_rig_close(&r);
}

/* all four devices of a replica have its rows: the rest of a step may be cut */
TEST(tables_go_with_logical_devices)
{
    const sy_table table = {.name = "table", .vocabulary_size = ROWS, .dim = DIM,
                            .combiner = "sum", .optimizer = "SGD(0.5)",
                            .initializer = "RandomUniform(-1, 1)"};
    const sy_lookup words = {.name = "words", .table = "table", .max_length = 2};
    const sy_axis axis = {"model", 4};
    const sy_strategy_options o = {.axis = &axis, .axis_count = 1};
    struct tables t = {.mistake = 0};
    struct api_rig r;

    open_strategy(&r, "v3-8", &o);
    assert_int_equal(sy_strategy_replicas(r.strategy), 2);
    api_must(sy_embedding_create(r.strategy, &table, 1, &words, 1, &t.m));
    check_update(&r, &t);
    api_rig_close(&r);
}

TEST(tables_that_cannot_be_are_named_and_leave_nothing)
{
    sy_table table[] = {{.name = "a", .vocabulary_size = 8, .dim = 4},
                        {.name = "b", .vocabulary_size = 8, .dim = 4, .optimizer = "Lion"}};
    sy_lookup f = {.name = "f", .table = "c"};
    struct api_rig r;
    sy_embedding *m;

    open_strategy(&r, "v3-2", NULL);
    api_expect_error(sy_embedding_create(r.strategy, table, 2, &f, 1, &m),
                     "feature f: there is no table \"c\" (did you mean \"a\"?)");
    f.table = "a";
    api_expect_error(sy_embedding_create(r.strategy, table, 2, &f, 1, &m),
                     "table b: its optimizer is Lion, allowed are SGD, Adagrad, Adam");
    assert_null(sy_variable_find(r.strategy, "embedding/a"));
    table[1] = (sy_table){.name = "b", .vocabulary_size = INT64_C(2000000000), .dim = 128};
    api_expect_error(sy_embedding_create(r.strategy, table, 2, &f, 1, &m),
                     "devices are needed, there are 2");
    table[0].combiner = "maen";
    api_expect_error(sy_embedding_create(r.strategy, table, 2, &f, 1, &m), "mean");
    table[0].combiner = NULL;
    api_must(sy_embedding_create(r.strategy, table, 1, &f, 1, &m));
    api_rig_close(&r);
}

/* ----- meshes */

/* a b, with the rows of a along one axis and the columns of b along another */
static sy_status product(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out,
                         int outputs, void *user)
{
    static const char *const rows[] = {"stage", NULL}, *const columns[] = {NULL, "model"};
    static const char *const both[] = {"stage", "model"};
    sy_tensor a = sy_layout(c, in[0], rows), b = sy_layout(c, sy_read(c, user), columns);

    (void)inputs;
    (void)outputs;
    out[0] = sy_layout(c, sy_matmul(c, a, b, "highest"), both);
    return SY_OK;
}

TEST(arrays_are_cut_along_several_axes_at_once)
{
    static const sy_axis axes[] = {{"stage", 2}, {"model", 2}};
    static const char *const columns[] = {NULL, "model"};
    float a[2][16][8], b[8][16];
    struct api_rig r;
    sy_variable *v;
    sy_value *in, *out;
    sy_costs costs;

    open_strategy(&r, "v3-8", &(sy_strategy_options){.axis = axes, .axis_count = 2});
    assert_int_equal(sy_strategy_replicas(r.strategy), 2);
    assert_int_equal(sy_strategy_devices(r.strategy), 4);
    assert_int_equal(sy_strategy_axis_size(r.strategy, "stage"), 2);
    assert_int_equal(sy_strategy_axis_size(r.strategy, "replicas"), 2);
    assert_int_equal(sy_strategy_axis_size(r.strategy, "data"), 0);
    for (int i = 0; i < 2 * 16 * 8; i++)
        a[i / 128][i / 8 % 16][i % 8] = (float)(i * 7 % 11 - 5);
    for (int i = 0; i < 8 * 16; i++)
        b[i / 16][i % 16] = (float)(i * 5 % 13 - 6);
    api_must(sy_variable_create(r.strategy, "b", SY_F32, sy_dims(8, 16),
                                &(sy_variable_options){.layout = columns}, &v));
    api_must(sy_variable_write(v, b, sizeof(b)));
    api_must(sy_value_split(r.strategy, SY_F32, sy_dims(32, 8), a, &in));
    api_must(sy_strategy_run(r.strategy, "product", product, v, &in, 1, &out, 1));
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 16 * 16; i++) {
            float sum = 0;

            for (int n = 0; n < 8; n++)
                sum += a[k][i / 16][n] * b[n][i % 16];
            assert_true(((float *)sy_value_data(out, k))[i] == sum);
        }
    api_must(sy_strategy_costs(r.strategy, &costs));
    assert_int_equal(costs.cores, 8);
    assert_int_equal(costs.flops, 2 * 2 * 16 * 16 * 8);
    sy_value_free(in);
    sy_value_free(out);
    api_rig_close(&r);
}

static void expect_mesh_error(sy_cluster *c, const sy_axis *axis, int count, const char *part)
{
    sy_strategy *s;

    api_expect_error(sy_strategy_create(c, NULL, &(sy_strategy_options){
        .axis = axis, .axis_count = count}, &s), part);
}

TEST(meshes_and_layouts_that_cannot_be_are_named)
{
    static const char *const none[] = {NULL, "modle"}, *const twice[] = {"model", "model"};
    static const char *const odd[] = {"model", NULL}, *const replicas[] = {"replicas", NULL};
    static const sy_axis model = {"model", 2};
    struct api_rig r;
    sy_variable *v;

    open_strategy(&r, "v3-8", &(sy_strategy_options){.axis = &model, .axis_count = 1});
    expect_mesh_error(r.cluster, (sy_axis[]){{"x", 3}}, 1,
                      "the mesh's axes have 3 devices; they must divide the cores, 8");
    expect_mesh_error(r.cluster, (sy_axis[]){{"x", 2}, {"x", 2}}, 2, "have the name \"x\"");
    expect_mesh_error(r.cluster, (sy_axis[]){{"replicas", 2}}, 1, "that of the replicas");
    expect_mesh_error(r.cluster, (sy_axis[]){{"x", 0}}, 1, "\"x\", has size 0");
    expect_mesh_error(r.cluster, &model, 4, "a mesh of 4 axes");
    api_expect_error(sy_variable_create(r.strategy, "v", SY_F32, sy_dims(4, 4),
                                        &(sy_variable_options){.layout = none}, &v),
                     "v: the mesh has no axis \"modle\" (did you mean \"model\"?)");
    api_expect_error(sy_variable_create(r.strategy, "v", SY_F32, sy_dims(4, 4),
                                        &(sy_variable_options){.layout = twice}, &v),
                     "v: dimensions 0 and 1 are both cut along axis model");
    api_expect_error(sy_variable_create(r.strategy, "v", SY_F32, sy_dims(3, 4),
                                        &(sy_variable_options){.layout = odd}, &v),
                     "v: dimension 0 of f32[3,4] does not divide into 2 parts");
    api_expect_error(sy_variable_create(r.strategy, "v", SY_F32, sy_dims(4, 4),
                                        &(sy_variable_options){.layout = replicas}, &v),
                     "axis \"replicas\" is that of the replicas");
    api_rig_close(&r);
}

/* ----- costs */

static char *printed(sy_status (*print)(const sy_model *, FILE *), const sy_model *m, char *text,
                     size_t bytes)
{
    FILE *to = fmemopen(text, bytes, "w");

    assert_non_null(to);
    api_must(print(m, to));
    fclose(to);
    return text;
}

TEST(what_a_model_costs_is_told)
{
    sy_host_time host;
    struct api_rig r;
    char text[8192];
    sy_costs costs;
    sy_result one;
    FILE *to;

    api_rig_open(&r, "v3-2");
    api_expect_error(sy_model_summary(r.model, stdout), "not compiled");
    api_expect_error(sy_strategy_costs(r.strategy, &costs), "has not run anything yet");
    api_rig_build(&r, &api_standard);
    api_expect_error(sy_model_host_time(r.model, &host), "has not been trained yet");
    assert_non_null(strstr(printed(sy_model_summary, r.model, text, sizeof(text)), "logits"));
    api_must(sy_model_fit(r.model, &r.samples, &(sy_fit){.quiet = true}));
    api_must(sy_strategy_costs(r.strategy, &costs));
    assert_int_equal(costs.cores, 2);
    assert_true(costs.exposed_communication_cycles > 0);
    assert_true(costs.exposed_communication_cycles <= costs.communication_cycles);
    assert_true(costs.communication_cycles < costs.cycles);
    api_must(sy_model_host_time(r.model, &host));
    assert_int_equal(host.steps, API_SAMPLES / 16);
    assert_true(fabs(host.wall_us - host.device_us - host.batches_us - host.loop_us) < 1e-6);
    assert_non_null(strstr(printed(sy_model_print_host_time, r.model, text, sizeof(text)),
                           "ms per step by the host model"));
    to = fmemopen(text, sizeof(text), "w");
    api_must(sy_strategy_print_costs(r.strategy, to));
    fclose(to);
    assert_non_null(strstr(text, "last launch"));
    api_must(sy_model_evaluate(r.model, &r.samples, &one));
    api_rig_close(&r);
}

TEST(mode_timing_tells_what_a_step_costs_and_nothing_else)
{
    static const char *const modes[] = {"both", "timing"};
    int64_t cycles[2];

    for (int i = 0; i < 2; i++) {
        struct api_rig r;
        sy_costs costs;

        memset(&r, 0, sizeof(r));
        api_must(sy_cluster_resolve("v3-2", &(sy_cluster_options){.mode = modes[i]}, &r.cluster));
        api_must(sy_cluster_initialize(r.cluster));
        api_must(sy_strategy_create(r.cluster, NULL, NULL, &r.strategy));
        api_must(sy_model_create(r.strategy, "small", &r.model));
        api_rig_build(&r, &api_standard);
        if (i)
            api_expect_error(sy_model_fit(r.model, &(sy_samples){
                .count = 1, .input = (const void *[]){r.x}, .label = r.label}, NULL),
                "training needs values, and mode timing works out none");
        api_must(sy_model_time_step(r.model, &costs));
        cycles[i] = costs.cycles;
        api_rig_close(&r);
    }
    assert_true(cycles[0] > 0);
    assert_int_equal(cycles[0], cycles[1]);
}

static void open_timing(struct api_rig *r, bool one_chip)
{
    memset(r, 0, sizeof(*r));
    api_must(sy_cluster_resolve("v3-8", &(sy_cluster_options){
        .mode = "timing", .one_chip = one_chip}, &r->cluster));
    api_must(sy_cluster_initialize(r->cluster));
}

TEST(one_chip_stands_for_all)
{
    static const sy_axis model = {"model", 2};
    struct api_rig r;
    sy_costs costs[2];
    float x;

    for (int i = 0; i < 2; i++) {
        open_timing(&r, i);
        api_must(sy_strategy_create(r.cluster, NULL, NULL, &r.strategy));
        api_must(sy_model_create(r.strategy, "small", &r.model));
        api_rig_build(&r, &api_standard);
        api_must(sy_model_time_step(r.model, &costs[i]));
        api_expect_error(sy_variable_read(sy_variable_find(r.strategy, "logits/bias"), &x, 4),
                         "logits/bias: mode timing works out no values");
        api_rig_close(&r);
    }
    assert_int_equal(costs[0].cycles, costs[1].cycles);
    assert_int_equal(costs[0].flops, costs[1].flops);
    assert_int_equal(costs[1].cores, 8);
    open_timing(&r, true);
    api_expect_error(sy_strategy_create(r.cluster, NULL, &(sy_strategy_options){
        .axis = &model, .axis_count = 1}, &r.strategy), "one chip is to stand for all");
    sy_cluster_free(r.cluster);
    api_must(sy_cluster_resolve("v3-8", &(sy_cluster_options){.one_chip = true}, &r.cluster));
    api_expect_error(sy_cluster_initialize(r.cluster), "timing");
    sy_cluster_free(r.cluster);
}

TEST(a_timed_step_changes_no_variable)
{
    float before[64], after[64];
    struct api_rig r;
    sy_variable *v;
    sy_costs costs;

    api_rig_open(&r, "v3-2");
    api_rig_build(&r, &api_standard);
    v = sy_variable_find(r.strategy, "logits/kernel");
    api_must(sy_model_fit(r.model, &r.samples, &(sy_fit){.quiet = true}));
    api_must(sy_variable_read(v, before, sizeof(before)));
    api_must(sy_model_time_step(r.model, &costs));
    api_must(sy_variable_read(v, after, sizeof(after)));
    assert_memory_equal(before, after, sizeof(before));
    api_rig_close(&r);
    api_rig_open(&r, "cpu");
    api_rig_build(&r, &api_standard);
    api_expect_error(sy_model_time_step(r.model, &costs), "on the host nothing is simulated");
    api_expect_error(sy_model_print_host_time(r.model, stdout), "nothing is simulated");
    api_rig_close(&r);
}

/* ----- files */

/* adds each batch of numbers to a variable */
static sy_status add_up(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out, int outputs,
                        void *user)
{
    sy_tensor sum = sy_reduce_sum(c, sy_cast(c, in[0], SY_F32), SY_NO_AXIS);

    (void)inputs;
    (void)out;
    (void)outputs;
    sy_assign(c, user, sy_add(c, sy_read(c, user), sy_all_reduce(c, SY_SUM, sum)));
    return SY_OK;
}

struct summing {
    struct api_rig r;
    sy_variable *sum;
    sy_distributed *data;
};

static void open_summing(struct summing *s)
{
    sy_dataset *d;

    open_strategy(&s->r, "cpu", NULL);
    api_must(sy_variable_create(s->r.strategy, "sum", SY_F32, sy_scalar(), NULL, &s->sum));
    api_must(sy_dataset_range(0, 100, 1, &d));
    api_must(sy_dataset_shuffle(d, 50, 3, true));
    api_must(sy_dataset_batch(d, 5, true));
    api_must(sy_strategy_distribute(s->r.strategy, d, &s->data));
    sy_dataset_free(d);
}

static float sum_batches(struct summing *s, int batches)
{
    sy_value *in;
    float sum;

    for (int i = 0; i < batches; i++) {
        api_must(sy_distributed_next(s->data, &in, 1));
        api_must(sy_strategy_run(s->r.strategy, "add", add_up, s->sum, &in, 1, NULL, 0));
        sy_value_free(in);
    }
    api_must(sy_variable_read(s->sum, &sum, sizeof(sum)));
    return sum;
}

static void close_summing(struct summing *s)
{
    sy_distributed_free(s->data);
    api_rig_close(&s->r);
}

TEST(a_loop_of_ones_own_goes_on_from_its_checkpoint)
{
    char folder[] = "/tmp/systole_api_XXXXXX", command[96];
    sy_checkpoint c = {.folder = folder, .step = 7, .epoch = 2};
    struct summing s;
    sy_variable *v;
    float whole;

    assert_non_null(mkdtemp(folder));
    open_summing(&s);
    c.data = s.data;
    assert_int_equal(sy_checkpoint_restore(s.r.strategy, &c), SY_END);
    sum_batches(&s, 7);
    api_must(sy_checkpoint_save(s.r.strategy, &c));
    whole = sum_batches(&s, 6);
    assert_false(whole == 99 * 100 / 2);        /* there are batches left */
    close_summing(&s);
    open_summing(&s);
    c = (sy_checkpoint){.folder = folder, .data = s.data};
    api_must(sy_checkpoint_restore(s.r.strategy, &c));
    assert_int_equal(c.step, 7);
    assert_int_equal(c.epoch, 2);
    assert_true(sum_batches(&s, 6) == whole);
    api_expect_error(sy_checkpoint_save(s.r.strategy, &(sy_checkpoint){.folder = NULL}),
                     "the folder is NULL");
    api_must(sy_variable_create(s.r.strategy, "more", SY_F32, sy_dims(2), NULL, &v));
    api_expect_error(sy_checkpoint_restore(s.r.strategy, &c), "more");
    close_summing(&s);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

TEST(variables_go_to_npy_files_and_back)
{
    char path[] = "/tmp/systole_api_XXXXXX.npy";
    float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {0};
    struct api_rig r;
    sy_variable *v, *w;
    sy_array *a;

    close(mkstemps(path, 4));
    open_strategy(&r, "v3-2", NULL);
    api_must(sy_variable_create(r.strategy, "v", SY_F32, sy_dims(2, 3), NULL, &v));
    api_must(sy_variable_create(r.strategy, "w", SY_F32, sy_dims(3, 2), NULL, &w));
    api_must(sy_variable_write(v, x, sizeof(x)));
    api_must(sy_variable_save_npy(v, path));
    api_must(sy_read_array(path, &a));
    assert_int_equal(sy_array_shape(a).dim[1], 3);
    assert_memory_equal(sy_array_data(a), x, sizeof(x));
    sy_array_free(a);
    api_must(sy_variable_write(v, y, sizeof(y)));
    api_must(sy_variable_load_npy(v, path));
    api_must(sy_variable_read(v, y, sizeof(y)));
    assert_memory_equal(x, y, sizeof(x));
    api_expect_error(sy_variable_load_npy(w, path), "[3,2]");
    assert_non_null(strstr(sy_message(), "[2,3]"));
    api_expect_error(sy_variable_load_npy(w, "/nowhere/x.npy"), "/nowhere/x.npy");
    api_expect_error(sy_variable_save_npy(w, "/nowhere/x.npy"), "/nowhere/x.npy");
    api_expect_error(sy_variable_save_npy(w, NULL), "the path is NULL");
    api_rig_close(&r);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_looked_up_and_trained),
        cmocka_unit_test(tables_go_with_logical_devices),
        cmocka_unit_test(tables_that_cannot_be_are_named_and_leave_nothing),
        cmocka_unit_test(arrays_are_cut_along_several_axes_at_once),
        cmocka_unit_test(meshes_and_layouts_that_cannot_be_are_named),
        cmocka_unit_test(what_a_model_costs_is_told),
        cmocka_unit_test(mode_timing_tells_what_a_step_costs_and_nothing_else),
        cmocka_unit_test(one_chip_stands_for_all),
        cmocka_unit_test(a_timed_step_changes_no_variable),
        cmocka_unit_test(a_loop_of_ones_own_goes_on_from_its_checkpoint),
        cmocka_unit_test(variables_go_to_npy_files_and_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
