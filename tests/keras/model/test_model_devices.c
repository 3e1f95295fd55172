/*
 * Models on logical devices: does a model whose layers are said to be on several cores, or whose
 * variables are cut over them, train as it does on one, is work and memory where it was said, and
 * what is refused?
 */
#include "tests/rigs/train_rig.h"

#include <math.h>

#include "tests/rigs/trial.h"
#include "train/strategy/layer_devices.h"
#include "train/strategy/model_layouts.h"


static struct layer *new_dense(struct trial *t, const char *name, int64_t units,
                               enum activation_kind activation)
{
    struct layer *l = model_layer(&t->m.model, LAYER_DENSE, name);

    l->c.units = units;
    l->c.activation = activation_standard(activation);
    return l;
}

static int call(struct trial *t, struct layer *l, int a, int b)
{
    int node = model_call(&t->m.model, l, (int[]){a, b}, b < 0 ? 1 : 2, &t->m.err);

    if (node < 0)
        fail_msg("%s", t->m.err.msg);
    return node;
}

/* x -> d0 -> norm -> d1 -> tanh, and d0's output added to it, -> out */
static void init_trial(struct trial *t, const char *slice, const char *devices)
{
    int x = 0, first, norm, second;

    trial_init(t, slice, true);
    t->m.options.layer_devices = devices;
    first = call(t, new_dense(t, "d0", 24, ACTIVATION_TANH), x, -1);
    norm = call(t, model_layer(&t->m.model, LAYER_LAYER_NORMALIZATION, "norm"), first, -1);
    second = call(t, new_dense(t, "d1", 24, ACTIVATION_LINEAR), norm, -1);
    x = call(t, model_layer(&t->m.model, LAYER_ADD, "join"), first, second);
    x = call(t, new_dense(t, "out", 10, ACTIVATION_SOFTMAX), x, -1);
    model_output(&t->m.model, x);
}

static void run_trial(struct trial *t)
{
    float x[TRIAL_BATCH * MLP_INPUTS];
    int32_t label[TRIAL_BATCH];

    mlp_small_batch(x, label);
    trial_run(t, x, label);
}

static void compare_with(const char *slice, const char *devices, const struct mesh *mesh,
                         const char *layouts, int micro_batches, bool shards)
{
    struct trial one, cut;

    init_trial(&one, "host", NULL);
    init_trial(&cut, slice, devices);
    cut.m.options.strategy.mesh = mesh;
    cut.m.options.layouts = layouts;
    one.m.options.micro_batches = cut.m.options.micro_batches = micro_batches;
    cut.m.options.shards_state = shards;
    run_trial(&one);
    run_trial(&cut);
    for (int i = 0; i < TRIAL_STEPS; i++)
        if (fabs(cut.loss[i] - one.loss[i]) > 1e-5 * one.loss[i])
            fail_msg("%s, %s: step %d: %.9g, on one %.9g", slice, layouts ? layouts : devices, i,
                     cut.loss[i], one.loss[i]);
    if (trial_distance(&cut, &one) > 2e-5)
        fail_msg("%s, %s: variables differ by %.3g", slice, layouts ? layouts : devices,
                 trial_distance(&cut, &one));
    assert_true(one.loss[TRIAL_STEPS - 1] < one.loss[0]);
    trial_fini(&one);
    trial_fini(&cut);
}

static void compare(const char *slice, const char *devices, int micro_batches, bool shards)
{
    compare_with(slice, devices, NULL, NULL, micro_batches, shards);
}

TEST(layers_on_devices_train_as_on_one)
{
    compare("v3-2", "d0=0,d1=1", 1, false);
    compare("v3-2", "d0=1,d1=0,out=1", 4, false);
    compare("v3-8", "d1=1", 1, false);
    compare("v3-8", "d0=3,norm=1,d1=2,out=0", 2, false);
    compare("v2-8", "d0=0,d1=1", 1, true);
    compare("host", "d0=0,d1=1", 2, false);
}

/* ----- several steps per execution */

static void compare_rounds(const char *slice, const char *devices, int micro_batches)
{
    float loss[2][2 * TRIAL_STEPS];
    struct trial t[2];

    for (int i = 0; i < 2; i++) {
        init_trial(&t[i], slice, devices);
        t[i].m.options.micro_batches = micro_batches;
        trial_rounds(&t[i], i ? TRIAL_STEPS : 1, loss[i]);
    }
    if (memcmp(loss[0], loss[1], sizeof(loss[0])) != 0 || trial_distance(&t[1], &t[0]) != 0)
        fail_msg("%s, %s, %d micro batches: a loop gives other values", slice, devices,
                 micro_batches);
    assert_true(loss[0][0] > loss[0][TRIAL_STEPS]);
    for (int i = 0; i < 2; i++)
        trial_fini(&t[i]);
}

TEST(steps_in_a_loop_are_steps_launched_one_by_one)
{
    compare_rounds("v3-2", "d0=0,d1=1", 1);
    compare_rounds("v3-8", "d0=0,d1=1", 3);
    compare_rounds("v2-8", "d0=3,norm=1,d1=2,out=0", 1);
    compare_rounds("v3-8", "d0=3,norm=1,d1=2,out=0", 2);
    compare_rounds("v5e-4", "d0=1,out=3", 1);
    compare_rounds("host", "d0=0,d1=1", 3);
}

/* ----- who does what */

static int count_op(const struct graph *g, enum graph_op op)
{
    int count = 0;

    for (int i = 0; i < g->node_count; i++) {
        count += g->node[i].op == op;
        for (int k = 0; k < 2; k++)
            count += g->node[i].called[k] ? count_op(g->node[i].called[k], op) : 0;
    }
    return count;
}

/* products of the training step that each device's program has */
static void expect_products(const char *devices, const int expected[], int count)
{
    struct trial t;

    init_trial(&t, "v3-8", devices);
    if (mlp_start(&t.m))
        fail_msg("%s", t.m.err.msg);
    assert_int_equal(strategy_program_part_count(fit_program(t.m.fit, 1, &t.m.err)), count);
    for (int d = 0; d < count; d++) {
        struct strategy_part part = strategy_program_part(
            fit_strategy(t.m.fit), fit_program(t.m.fit, 1, &t.m.err), d);
        int found = count_op(&part.module->graph, HLO_DOT);

        if (found != expected[d])
            fail_msg("%s: device %d has %d products instead of %d", devices, d, found,
                     expected[d]);
    }
    trial_fini(&t);
}

/* a layer's product, its kernel's gradient and, but for the first layer, its input's */
TEST(products_are_where_their_layers_are)
{
    expect_products("d0=0,d1=1,out=0", (const int[]){5, 3}, 2);
    expect_products("d0=3,d1=1,out=2", (const int[]){0, 3, 3, 2}, 4);
    /* out is where join is, and that where its first input is, d0's */
    expect_products("d0=0,d1=1", (const int[]){5, 3}, 2);
    /* what comes before all that are named is where it is needed */
    expect_products("norm=1", (const int[]){0, 8}, 2);
}

TEST(layers_that_are_not_named_follow_their_first_input)
{
    char text[100];
    struct trial t;

    init_trial(&t, "host", "d0=0,d1=1");
    assert_int_equal(layer_devices_set(&t.m.model, "d0=0,d1=1", 2, &t.m.err), 0);
    assert_string_equal(layer_devices_print(&t.m.model, 2, text, sizeof(text)),
                        "d0, norm, join, out on 0; d1 on 1");
    assert_int_equal(layer_devices_set(&t.m.model, "norm=1", 2, &t.m.err), 0);
    assert_string_equal(layer_devices_print(&t.m.model, 2, text, sizeof(text)),
                        "norm, d1 on 1");
    assert_string_equal(layer_devices_print(&t.m.model, 2, text, 8), "norm, d");
    trial_fini(&t);
}

/* ----- what is refused */

static void refuse(const char *devices, const char *message)
{
    struct trial t;

    init_trial(&t, "v3-8", devices);
    assert_int_equal(mlp_start(&t.m), -1);
    if (!strstr(t.m.err.msg, message))
        fail_msg("expected \"%s\": %s", message, t.m.err.msg);
    trial_fini(&t);
}

TEST(what_cannot_be_on_devices_is_refused_by_name)
{
    struct trial t;

    refuse("d9=1", "d9 is to be on a device, but no layer has that name (did you mean");
    refuse("d0=0,d0=1", "layer d0 is on devices 0 and 1; it can be on one");
    refuse("d0=2", "3 logical devices on 8 cores");
    refuse("d0=15", "16 logical devices on 8 cores");
    refuse("x=1", "layer x on device 1: inputs are on all devices");
    refuse("d0", "\"d0\" does not begin with a layer, = and a device");
    refuse("d0=-1", "\"d0=-1\" does not begin with");
    refuse("d0=1,", "\"d0=1,\" does not begin with");
    refuse("d0=0,=1", "\"=1\" does not begin with");
    refuse("d0=1d1=0", "\"d0=1d1=0\" does not begin with");
    refuse("d0=99999999999999999999", "does not begin with");

    init_trial(&t, "v3-8", "d0=1");
    t.m.options.stages = 2;
    assert_int_equal(mlp_start(&t.m), -1);
    assert_string_equal(t.m.err.msg, "d0=1: layers on devices, of a model in 2 stages; a replica "
                        "is cut one way only");
    trial_fini(&t);
}

/* ----- variables that are cut */

/* columns of the first product, rows of the second: one sum of activations each way */
#define ROWS_AND_COLUMNS "d0/kernel=-,model; d0/bias=model; out/kernel=model"

static struct mesh mesh_of(int replicas, int size)
{
    return (struct mesh){2, {{"replicas", replicas}, {"model", size}}};
}

TEST(models_whose_variables_are_cut_train_as_whole_ones)
{
    struct mesh pair = mesh_of(1, 2), pairs = mesh_of(4, 2), fours = mesh_of(2, 4);
    struct mesh grid = {3, {{"replicas", 2}, {"model", 2}, {"wide", 2}}};

    compare_with("v3-2", NULL, &pair, ROWS_AND_COLUMNS, 1, false);
    compare_with("v3-8", NULL, &pairs, ROWS_AND_COLUMNS, 4, false);
    compare_with("v3-8", NULL, &fours, "d?/kernel=-,model", 1, true);
    compare_with("v2-8", NULL, &grid, "d0/*=model; norm/*=model; d1/kernel=wide,model", 1, false);
    compare_with("host", NULL, &pairs, ROWS_AND_COLUMNS, 2, false);
}

/* a parameter of what each device runs */
static const struct shape *held_shape(const struct graph *g, const char *name)
{
    for (int i = 0; i < g->parameter_count; i++)
        if (strcmp(g->node[g->parameter[i]].name, name) == 0)
            return &g->node[g->parameter[i]].shape;
    fail_msg("no parameter %s", name);
    return NULL;
}

/* ----- stages of several devices */

static void compare_stages(const char *slice, int stages, const struct mesh *mesh,
                           const char *layouts, int micro_batches)
{
    struct trial one, cut;

    init_trial(&one, "host", NULL);
    init_trial(&cut, slice, NULL);
    cut.m.options.strategy.mesh = mesh;
    cut.m.options.layouts = layouts;
    cut.m.options.stages = stages;
    one.m.options.micro_batches = cut.m.options.micro_batches = micro_batches;
    run_trial(&one);
    run_trial(&cut);
    for (int i = 0; i < TRIAL_STEPS; i++)
        if (fabs(cut.loss[i] - one.loss[i]) > 1e-5 * one.loss[i])
            fail_msg("%s, %d stages, %s: step %d: %.9g, on one %.9g", slice, stages, layouts, i,
                     cut.loss[i], one.loss[i]);
    if (trial_distance(&cut, &one) > 2e-5)
        fail_msg("%s, %d stages, %s: variables differ by %.3g", slice, stages, layouts,
                 trial_distance(&cut, &one));
    if (cut.machine && strategy_check_replicas(fit_strategy(cut.m.fit), &cut.m.err))
        fail_msg("%s", cut.m.err.msg);
    trial_fini(&one);
    trial_fini(&cut);
}

/* replicas, stages and cuts at once */
TEST(stages_whose_variables_are_cut_train_as_the_whole_model)
{
    struct mesh pairs = mesh_of(2, 2), pair = mesh_of(1, 2), four = mesh_of(1, 4);

    compare_stages("v3-8", 2, &pairs, ROWS_AND_COLUMNS, 4);
    compare_stages("v3-8", 4, &pair, "*/kernel=-,model", 2);
    compare_stages("v2-8", 2, &four, "d?/kernel=-,model; d?/bias=model", 1);
    compare_stages("host", 2, &pairs, ROWS_AND_COLUMNS, 2);
}

/* device 0 of a replica is of the first stage; each of a stage's has its part */
TEST(devices_of_a_stage_hold_parts_of_its_variables_alone)
{
    struct mesh mesh = mesh_of(2, 2);
    float kernel[24 * 10];
    struct strategy_part part[2];
    struct trial t;
    int v;

    init_trial(&t, "v3-8", NULL);
    t.m.options.strategy.mesh = &mesh;
    t.m.options.stages = 2;
    t.m.options.stage_cuts = "out";
    t.m.options.layouts = "out/kernel=model";
    if (mlp_start(&t.m))
        fail_msg("%s", t.m.err.msg);
    for (int s = 0; s < 2; s++)
        part[s] = strategy_program_part(fit_strategy(t.m.fit),
                                        fit_program(t.m.fit, 1, &t.m.err), s);
    assert_true(part[1].variable_bytes < part[0].variable_bytes / 2);
    assert_int_equal(held_shape(&part[1].module->graph, "out/kernel")->dim[0], 12);
    /* written and read over the parts; one that differs on one device is found */
    v = variable_find(&t.m.set, "out/kernel");
    for (int i = 0; i < 240; i++)
        kernel[i] = (float)i;
    assert_int_equal(strategy_write(fit_strategy(t.m.fit), v, kernel, &t.m.err), 0);
    memset(kernel, 0, sizeof(kernel));
    assert_int_equal(strategy_read(fit_strategy(t.m.fit), v, kernel, &t.m.err), 0);
    for (int i = 0; i < 240; i++)
        assert_true(kernel[i] == (float)i);
    assert_int_equal(strategy_check_replicas(fit_strategy(t.m.fit), &t.m.err), 0);
    kernel[130] = 7;                    /* of the second part */
    assert_int_equal(strategy_write_local(fit_strategy(t.m.fit), 1, v, kernel, &t.m.err), 0);
    assert_int_equal(strategy_check_replicas(fit_strategy(t.m.fit), &t.m.err), -1);
    if (!strstr(t.m.err.msg, "devices differ: element 10 of out/kernel") ||
        !strstr(t.m.err.msg, "on device 3 and") || !strstr(t.m.err.msg, "on device 7"))
        fail_msg("%s", t.m.err.msg);
    trial_fini(&t);
}

/* what is cut is held in parts, slots too; zeros that a sum begins with are made, not cut out */
TEST(devices_hold_their_parts_of_variables_and_slots)
{
    static const struct { const char *name; int64_t dim[2]; } held[] = {
        {"d0/kernel", {MLP_INPUTS, 12}}, {"d0/kernel/m", {MLP_INPUTS, 12}}, {"d0/bias", {12}},
        {"d1/kernel", {24, 24}}, {"out/kernel", {12, 10}}, {"out/kernel/v", {12, 10}}};
    struct mesh mesh = mesh_of(4, 2);
    const struct graph *g;
    struct trial t;

    init_trial(&t, "v3-8", NULL);
    t.m.options.strategy.mesh = &mesh;
    t.m.options.layouts = ROWS_AND_COLUMNS;
    t.m.options.micro_batches = 2;
    if (mlp_start(&t.m))
        fail_msg("%s", t.m.err.msg);
    g = strategy_program_graph(fit_program(t.m.fit, 1, &t.m.err));
    for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++) {
        const struct shape *s = held_shape(g, held[i].name);

        if (s->dim[0] != held[i].dim[0] || s->dim[1] != held[i].dim[1])
            fail_msg("%s: %d x %d", held[i].name, (int)s->dim[0], (int)s->dim[1]);
    }
    for (int i = 0; i < g->node_count; i++)
        assert_int_not_equal(g->node[i].op, HLO_DYNAMIC_SLICE);
    trial_fini(&t);
}

static void refuse_layouts(const char *layouts, const char *message)
{
    struct mesh mesh = mesh_of(4, 2);
    struct trial t;

    init_trial(&t, "v3-8", NULL);
    t.m.options.strategy.mesh = &mesh;
    t.m.options.layouts = layouts;
    assert_int_equal(mlp_start(&t.m), -1);
    if (!strstr(t.m.err.msg, message))
        fail_msg("expected \"%s\": %s", message, t.m.err.msg);
    trial_fini(&t);
}

TEST(layouts_that_do_not_go_are_refused_by_name)
{
    struct mesh mesh = mesh_of(4, 2);
    struct trial t;

    refuse_layouts("d0/kernl=model", "layout of d0/kernl: no variable of model mlp has that name "
                   "(did you mean \"d0/kernel\"?)");
    refuse_layouts("d0/kernel=modl", "the logical devices have no axis \"modl\" (did you mean "
                   "\"model\"?)");
    refuse_layouts("d0/kernel=replicas", "axis replicas is that of the replicas");
    refuse_layouts("d0/kernel=model,model", "d0/kernel");
    refuse_layouts("d0/bias=-,model", "d0/bias: f32[24] has no dimension 1 to cut");
    refuse_layouts("d*/kernel=model; d1/*=model", "variable d1/kernel is laid out by d*/kernel and "
                   "by d1/*");
    refuse_layouts("d0/kernel", "\"d0/kernel\" is not a variable, = and axes");
    refuse_layouts("=model", "\"=model\" is not a variable, = and axes");
    refuse_layouts("d0/kernel=", "say for each dimension which axis cuts it");
    mesh.axis[1].size = 4;
    mesh.axis[0].size = 2;
    init_trial(&t, "v3-8", NULL);
    t.m.options.strategy.mesh = &mesh;
    t.m.options.layouts = "out/kernel=-,model";
    assert_int_equal(mlp_start(&t.m), -1);
    assert_non_null(strstr(t.m.err.msg, "out/kernel: dimension 1 of f32[24,10] does not divide "
                           "into 4 parts"));
    trial_fini(&t);
    init_trial(&t, "v3-8", "d0=1");
    t.m.options.layouts = "d0/kernel=model";
    assert_int_equal(mlp_start(&t.m), -1);
    assert_non_null(strstr(t.m.err.msg, "layouts of a model whose layers are on devices"));
    trial_fini(&t);
}

static void refuse_mesh(const char *text, const char *message)
{
    struct arena a;
    struct mesh m;
    struct err e;

    arena_init(&a);
    assert_int_equal(model_mesh_read(text, &a, &m, &e), -1);
    assert_non_null(strstr(e.msg, message));
    arena_fini(&a);
}

TEST(axes_are_read_or_refused)
{
    struct arena a;
    struct mesh m;
    struct err e;

    arena_init(&a);
    assert_int_equal(model_mesh_read("", &a, &m, &e), 0);
    assert_int_equal(m.axis_count, 1);
    assert_int_equal(model_mesh_read("model=2, wide=4", &a, &m, &e), 0);
    assert_true(m.axis_count == 3 && m.axis[0].size == 1 && m.axis[2].size == 4);
    assert_string_equal(m.axis[1].name, "model");
    arena_fini(&a);
    refuse_mesh("model", "\"model\" is not a name, = and a size");
    refuse_mesh("=2", "\"=2\" is not a name");
    refuse_mesh("model=0", "\"model=0\" is not");
    refuse_mesh("model=2x", "\"model=2x\" is not");
    refuse_mesh("a=2,a=2", "two have the name \"a\"");
    refuse_mesh("replicas=2", "\"replicas\", which is that of the replicas");
    refuse_mesh("a=1,b=1,c=1,d=1", "there may be 3 beside the replicas");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_on_devices_train_as_on_one),
        cmocka_unit_test(steps_in_a_loop_are_steps_launched_one_by_one),
        cmocka_unit_test(products_are_where_their_layers_are),
        cmocka_unit_test(layers_that_are_not_named_follow_their_first_input),
        cmocka_unit_test(what_cannot_be_on_devices_is_refused_by_name),
        cmocka_unit_test(models_whose_variables_are_cut_train_as_whole_ones),
        cmocka_unit_test(devices_hold_their_parts_of_variables_and_slots),
        cmocka_unit_test(stages_whose_variables_are_cut_train_as_the_whole_model),
        cmocka_unit_test(devices_of_a_stage_hold_parts_of_its_variables_alone),
        cmocka_unit_test(layouts_that_do_not_go_are_refused_by_name),
        cmocka_unit_test(axes_are_read_or_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
