/* Variables and traced steps on a slice and on the host: train/strategy/strategy.h. */
#include "tests/rigs/train_rig.h"

#include "tests/rigs/graph_rig.h"

#define ROWS 3
#define COLUMNS 4
#define CELLS (ROWS * COLUMNS)
#define REPLICAS 8

static int add(struct train_rig *r, const char *name, struct variable like)
{
    like.name = name;
    like.of = -1;
    return variable_add(&r->set, &like);
}

static int add_plain(struct train_rig *r, const char *name, double value)
{
    struct initializer i = {.kind = INITIALIZER_CONSTANT, .a = value, .b = 0};
    struct shape s = f32_shape(DIMS(ROWS, COLUMNS));

    return variable_add_state(&r->set, name, &s, &i);
}

/* a distinct whole number of each replica and element */
static float value_of(int replica, int cell) { return (float)(replica * 100 + cell); }

static void fill_inputs(float (*x)[CELLS], const void **input, int replicas)
{
    for (int r = 0; r < replicas; r++) {
        for (int i = 0; i < CELLS; i++)
            x[r][i] = value_of(r, i);
        input[r] = x[r];
    }
}

/* result 0: input times variable 0; variable 0 += the inputs of all replicas */
static int step_add(struct trace *t, const int *input, int count, void *context, struct err *e)
{
    int w = trace_read(t, 0), sum = input[0];

    (void)e;
    assert_int_equal(count, 1);
    ++*(int *)context;
    trace_result(t, "product", graph_binary(&t->graph, HLO_MULTIPLY, sum, w));
    if (t->replica_count > 1)
        sum = graph_all_reduce(&t->graph, sum);
    trace_assign(t, 0, graph_binary(&t->graph, HLO_ADD, w, sum));
    return 0;
}

static void run_adding(const char *slice, int replicas)
{
    static float x[REPLICAS][CELLS], y[REPLICAS][CELLS], w[CELLS];
    struct shape shape = f32_shape(DIMS(ROWS, COLUMNS));
    struct strategy_program *p, *again;
    const void *input[REPLICAS];
    void *result[REPLICAS];
    struct strategy_run run;
    struct train_rig r;
    int traced = 0;

    train_rig_init(&r, slice, NULL, MODE_BOTH);
    add_plain(&r, "w", 2);
    train_rig_start(&r);
    assert_int_equal(strategy_replica_count(r.strategy), replicas);
    fill_inputs(x, input, replicas);
    for (int i = 0; i < replicas; i++)
        result[i] = y[i];
    p = strategy_function(r.strategy, "add", step_add, &traced, true, &shape, 1, &r.err);
    train_rig_must(&r, p ? 0 : -1);
    train_rig_must(&r, strategy_run(r.strategy, p, input, result, &run, &r.err));
    again = strategy_function(r.strategy, "add", step_add, &traced, true, &shape, 1, &r.err);
    assert_ptr_equal(p, again);
    assert_int_equal(traced, 1);
    train_rig_must(&r, strategy_run(r.strategy, again, input, result, &run, &r.err));
    assert_int_equal(run.input_bytes, replicas * CELLS * 4);
    assert_int_equal(run.result_bytes, replicas * CELLS * 4);
    assert_true((run.cycles > 0) == (r.machine != NULL));
    train_rig_must(&r, strategy_check_replicas(r.strategy, &r.err));
    train_rig_must(&r, strategy_read(r.strategy, 0, w, &r.err));
    for (int i = 0; i < CELLS; i++) {
        float sum = (float)(100 * replicas * (replicas - 1) / 2 + replicas * i);

        assert_true(w[i] == 2 + 2 * sum);
        for (int k = 0; k < replicas; k++)
            assert_true(y[k][i] == value_of(k, i) * (2 + sum));
    }
    train_rig_fini(&r);
}

TEST(slice_runs_a_step_on_every_replica)
{
    run_adding("v3-8", REPLICAS);
}

TEST(host_runs_the_same_step)
{
    run_adding("host", 1);
}

TEST(functions_are_traced_once_per_shape_context_and_purpose)
{
    struct shape small = f32_shape(DIMS(ROWS, COLUMNS)), row = f32_shape(DIMS(COLUMNS));
    struct strategy_program *p[4];
    int traced = 0, other = 0;
    struct train_rig r;

    train_rig_init(&r, "host", NULL, MODE_BOTH);
    add_plain(&r, "w", 2);
    train_rig_start(&r);
    p[0] = strategy_function(r.strategy, "a", step_add, &traced, true, &small, 1, &r.err);
    p[1] = strategy_function(r.strategy, "a", step_add, &traced, false, &small, 1, &r.err);
    p[2] = strategy_function(r.strategy, "a", step_add, &other, true, &small, 1, &r.err);
    p[3] = strategy_function(r.strategy, "a", step_add, &traced, true, &small, 1, &r.err);
    assert_int_equal(traced, 2);
    assert_int_equal(other, 1);
    assert_ptr_equal(p[0], p[3]);
    assert_ptr_not_equal(p[0], p[1]);
    assert_ptr_not_equal(p[0], p[2]);
    assert_false(shape_equal(&row, strategy_program_input_shape(p[0], 0)));
    assert_true(shape_equal(&small, strategy_program_result_shape(p[0], 0)));
    train_rig_fini(&r);
}

/* variable = variable * 2 + context's */
static int step_double(struct trace *t, const int *input, int count, void *context, struct err *e)
{
    int v = *(const int *)context, old = trace_read(t, v);

    (void)e;
    (void)input;
    assert_int_equal(count, 0);
    old = graph_binary(&t->graph, HLO_ADD, old, old);
    trace_assign(t, v, graph_binary(&t->graph, HLO_ADD, old, graph_splat(&t->graph, old, 1)));
    return 0;
}

static void run_double(struct train_rig *r, int *variable)
{
    struct strategy_program *p = strategy_function(r->strategy, "double", step_double, variable,
                                                   true, NULL, 0, &r->err);

    train_rig_must(r, p ? 0 : -1);
    train_rig_must(r, strategy_run(r->strategy, p, NULL, NULL, NULL, &r->err));
}

static void expect_variable(struct train_rig *r, int variable, float expected)
{
    float w[CELLS];

    train_rig_must(r, strategy_read(r->strategy, variable, w, &r->err));
    for (int i = 0; i < CELLS; i++)
        assert_true(w[i] == expected);
}

static void run_three_programs(const char *slice)
{
    int a = 0, b = 1, c = 2;
    struct train_rig r;

    train_rig_init(&r, slice, NULL, MODE_BOTH);
    add_plain(&r, "a", 1);
    train_rig_start(&r);
    run_double(&r, &a);
    add_plain(&r, "b", 10);             /* later than the first program */
    run_double(&r, &b);
    run_double(&r, &a);
    add_plain(&r, "c", 100);
    run_double(&r, &c);
    run_double(&r, &a);
    expect_variable(&r, a, 15);
    expect_variable(&r, b, 21);
    expect_variable(&r, c, 201);
    if (r.machine)
        assert_int_equal(strategy_variable_bytes(r.strategy), 3 * 4096);
    train_rig_fini(&r);
}

TEST(programs_share_variables_whenever_they_were_added)
{
    run_three_programs("v3-1");
    run_three_programs("host");
}

TEST(replay_takes_as_long_and_puts_variables_back_if_wanted)
{
    struct strategy_run first, again;
    struct strategy_program *p;
    struct train_rig r;
    int a = 0;

    train_rig_init(&r, "v3", NULL, MODE_BOTH);
    add_plain(&r, "a", 1);
    train_rig_start(&r);
    p = strategy_function(r.strategy, "double", step_double, &a, true, NULL, 0, &r.err);
    train_rig_must(&r, p ? 0 : -1);
    train_rig_must(&r, strategy_run(r.strategy, p, NULL, NULL, &first, &r.err));
    train_rig_must(&r, strategy_replay(r.strategy, p, NULL, NULL, true, &again, &r.err));
    expect_variable(&r, a, 3);
    assert_int_equal(again.cycles, first.cycles);
    assert_int_equal(machine_cycles(r.machine), first.cycles);
    train_rig_must(&r, strategy_replay(r.strategy, p, NULL, NULL, false, &again, &r.err));
    expect_variable(&r, a, 7);
    train_rig_fini(&r);
}

/* adds one to variable 0 on every replica: each has its own value */
static int step_own(struct trace *t, const int *input, int count, void *context, struct err *e)
{
    (void)e;
    (void)context;
    for (int v = 0; v < count; v++)
        trace_assign(t, v, graph_binary(&t->graph, HLO_ADD, trace_read(t, v), input[v]));
    return 0;
}

TEST(variables_of_each_replica_are_put_together_when_read)
{
    static const enum variable_aggregation kinds[] = {
        AGGREGATION_SUM, AGGREGATION_MEAN, AGGREGATION_ONLY_FIRST_REPLICA, AGGREGATION_NONE};
    static const char *const names[] = {"sum", "mean", "first", "none"};
    struct shape shapes[4];
    float one[REPLICAS], is[4], five = 5;
    const void *input[REPLICAS * 4];
    struct strategy_program *p;
    struct train_rig r;

    train_rig_init(&r, "v3-8", NULL, MODE_BOTH);
    for (int i = 0; i < 4; i++) {
        shapes[i] = shape_scalar(DTYPE_F32);
        add(&r, names[i], (struct variable){.shape = shapes[i], .sync = SYNC_ON_READ,
                                            .aggregation = kinds[i], .shard_dim = -1});
    }
    train_rig_start(&r);
    for (int i = 0; i < REPLICAS * 4; i++) {
        one[i / 4] = (float)(i / 4 + 1);
        input[i] = &one[i / 4];
    }
    p = strategy_function(r.strategy, "own", step_own, NULL, true, shapes, 4, &r.err);
    train_rig_must(&r, p ? 0 : -1);
    train_rig_must(&r, strategy_run(r.strategy, p, input, NULL, NULL, &r.err));
    for (int i = 0; i < 4; i++)
        train_rig_must(&r, strategy_read(r.strategy, i, &is[i], &r.err));
    assert_true(is[0] == 36 && is[1] == 4.5f && is[2] == 1 && is[3] == 1);
    train_rig_must(&r, strategy_read_local(r.strategy, 6, 0, &is[0], &r.err));
    assert_true(is[0] == 7);
    train_rig_must(&r, strategy_check_replicas(r.strategy, &r.err));    /* may differ */
    for (int i = 0; i < 4; i++) {       /* what is written is read again */
        train_rig_must(&r, strategy_write(r.strategy, i, &five, &r.err));
        train_rig_must(&r, strategy_read(r.strategy, i, &is[i], &r.err));
        assert_true(is[i] == 5);
        train_rig_must(&r, strategy_reset(r.strategy, i, &r.err));
        train_rig_must(&r, strategy_read(r.strategy, i, &is[i], &r.err));
        assert_true(is[i] == 0);
    }
    for (int i = 0; i < 4; i++) {       /* of three replicas, and of as many as there are */
        train_rig_must(&r, strategy_write_replicas(r.strategy, i, (float[]){1, 2, 6}, 3, &r.err));
        train_rig_must(&r, strategy_read(r.strategy, i, &is[i], &r.err));
        assert_true(is[i] == (i == 0 ? 9 : i == 1 ? 3 : 1));
        train_rig_must(&r, strategy_write_replicas(r.strategy, i, one, REPLICAS, &r.err));
        train_rig_must(&r, strategy_read_local(r.strategy, 6, i, &is[i], &r.err));
        assert_true(is[i] == 7);
    }
    train_rig_fini(&r);
}

/* dimension 1 of [2, 16, 3] over 8 replicas */
TEST(sharded_variables_are_parts_of_the_whole)
{
    float whole[2 * 16 * 3], part[2 * 2 * 3], back[2 * 16 * 3];
    struct train_rig r;

    train_rig_init(&r, "v3-8", NULL, MODE_BOTH);
    add(&r, "s", (struct variable){.shape = f32_shape(DIMS(2, 16, 3)), .shard_dim = 1});
    train_rig_start(&r);
    for (int i = 0; i < 96; i++)
        whole[i] = (float)i;
    train_rig_must(&r, strategy_write(r.strategy, 0, whole, &r.err));
    train_rig_must(&r, strategy_read(r.strategy, 0, back, &r.err));
    assert_memory_equal(whole, back, sizeof(whole));
    train_rig_must(&r, strategy_read_local(r.strategy, 5, 0, part, &r.err));
    for (int i = 0; i < 12; i++)        /* part[a][b][c] is whole[a][2 * 5 + b][c] */
        assert_true(part[i] == (float)(i / 6 * 48 + (10 + i / 3 % 2) * 3 + i % 3));
    part[0] = -1;
    train_rig_must(&r, strategy_write_local(r.strategy, 5, 0, part, &r.err));
    train_rig_must(&r, strategy_read(r.strategy, 0, back, &r.err));
    assert_true(back[30] == -1 && back[31] == 31);
    train_rig_fini(&r);
}

static void expect_local(struct train_rig *r, const struct strategy_snapshot *k, int replica,
                         int variable, int elems, float first)
{
    float x[CELLS];

    train_rig_must(r, strategy_snapshot_read(r->strategy, k, replica, variable, x, &r->err));
    for (int i = 0; i < elems; i++)
        assert_true(x[i] == first + (float)i);
}

/* a mirrored variable that launches change, and one that is different on every replica */
static void run_snapshots(const char *slice, int replicas)
{
    struct strategy_snapshot *k[4];
    struct train_rig r;
    float x[CELLS];
    int a = 0;

    train_rig_init(&r, slice, NULL, MODE_BOTH);
    add_plain(&r, "a", 1);
    add(&r, "s", (struct variable){.shape = f32_shape(DIMS(REPLICAS, 3)), .shard_dim = 0});
    train_rig_start(&r);
    for (int i = 0; i < CELLS; i++)
        x[i] = (float)i;
    train_rig_must(&r, strategy_write(r.strategy, 0, x, &r.err));
    for (int n = 0; n < 4; n++) {       /* the first is simulated, the others are repeated */
        for (int d = 0; d < replicas && replicas > 1; d++) {
            for (int i = 0; i < 3; i++)
                x[i] = (float)(100 * n + 10 * d + i);
            train_rig_must(&r, strategy_write_local(r.strategy, d, 1, x, &r.err));
        }
        k[n] = strategy_snapshot(r.strategy, &r.err);
        train_rig_must(&r, k[n] ? 0 : -1);
        run_double(&r, &a);
    }
    for (int n = 0; n < 4; n++) {
        float factor = (float)(1 << n);

        train_rig_must(&r, strategy_snapshot_read(r.strategy, k[n], replicas - 1, 0, x, &r.err));
        for (int i = 0; i < CELLS; i++)
            assert_true(x[i] == factor * (float)i + factor - 1);
        for (int d = 0; d < replicas && replicas > 1; d++)
            expect_local(&r, k[n], d, 1, 3, (float)(100 * n + 10 * d));
        strategy_snapshot_free(k[n]);
    }
    assert_int_equal(strategy_snapshot_read(r.strategy, NULL, replicas, 0, x, &r.err), -1);
    train_rig_fini(&r);
}

TEST(snapshots_keep_what_variables_held)
{
    run_snapshots("v3-8", REPLICAS);
    run_snapshots("host", 1);
    strategy_snapshot_free(NULL);
}

TEST(replica_that_differs_is_named)
{
    struct train_rig r;
    float w[CELLS] = {2, 7};

    train_rig_init(&r, "v3-8", NULL, MODE_BOTH);
    add_plain(&r, "dense/kernel", 2);
    train_rig_start(&r);
    train_rig_must(&r, strategy_check_replicas(r.strategy, &r.err));
    train_rig_must(&r, strategy_write_local(r.strategy, 6, 0, w, &r.err));
    assert_int_equal(strategy_check_replicas(r.strategy, &r.err), -1);
    assert_string_equal(r.err.msg, "replicas differ: element 1 of dense/kernel is 0x40000000 (2) "
                                   "on replica 0 and 0x40e00000 (7) on replica 6");
    assert_int_equal(strategy_read_local(r.strategy, 8, 0, w, &r.err), -1);
    assert_string_equal(r.err.msg, "replica 8 does not exist, allowed are 0..7");
    train_rig_fini(&r);
}

TEST(replicas_run_where_they_are_told_to)
{
    static const int core[REPLICAS] = {7, 6, 5, 4, 3, 2, 1, 0};
    struct shape shape = f32_shape(DIMS(ROWS, COLUMNS));
    static float x[REPLICAS][CELLS], y[REPLICAS][CELLS];
    const void *input[REPLICAS];
    void *result[REPLICAS];
    struct strategy_program *p;
    struct train_rig r;
    int traced = 0;

    train_rig_init(&r, "v3-8", NULL, MODE_BOTH);
    add_plain(&r, "w", 2);
    r.options.core = core;
    train_rig_start(&r);
    fill_inputs(x, input, REPLICAS);
    for (int i = 0; i < REPLICAS; i++)
        result[i] = y[i];
    p = strategy_function(r.strategy, "add", step_add, &traced, true, &shape, 1, &r.err);
    train_rig_must(&r, p ? 0 : -1);
    train_rig_must(&r, strategy_run(r.strategy, p, input, result, NULL, &r.err));
    for (int k = 0; k < REPLICAS; k++) {
        float at_core[CELLS];
        const struct module *m = strategy_program_module(p);

        train_rig_must(&r, machine_hbm_read(r.machine, core[k], m->parameter[0]->address, at_core,
                                            4, &r.err));
        assert_true(y[k][5] == 2 * value_of(k, 5));
        train_rig_must(&r, machine_hbm_read(r.machine, core[k], m->parameter[1]->address, at_core,
                                            sizeof(float) * COLUMNS, &r.err));
        assert_true(at_core[3] == value_of(k, 3) || at_core[3] == 2 + 8 * 3 + 2800);
    }
    train_rig_fini(&r);
}

TEST(one_replica_runs_on_one_core_of_a_slice)
{
    struct train_rig r;
    int core = 3, a = 0;

    train_rig_init(&r, "v3-8", NULL, MODE_BOTH);
    add_plain(&r, "a", 1);
    r.options.replica_count = 1;
    r.options.core = &core;
    train_rig_start(&r);
    run_double(&r, &a);
    expect_variable(&r, a, 3);
    assert_true(machine_counters(r.machine, 3)->issue_cycles > 0);
    assert_int_equal(machine_counters(r.machine, 0)->issue_cycles, 0);
    train_rig_fini(&r);
}

TEST(timing_mode_gives_the_same_cycles_and_no_values)
{
    cycle_t cycles[2];

    for (int m = 0; m < 2; m++) {
        struct strategy_program *p;
        struct strategy_run run;
        struct train_rig r;
        int a = 0;

        train_rig_init(&r, "v3-8", NULL, m ? MODE_TIMING : MODE_BOTH);
        add_plain(&r, "a", 1);
        train_rig_start(&r);
        p = strategy_function(r.strategy, "double", step_double, &a, true, NULL, 0, &r.err);
        train_rig_must(&r, p ? 0 : -1);
        train_rig_must(&r, strategy_run(r.strategy, p, NULL, NULL, &run, &r.err));
        cycles[m] = run.cycles;
        train_rig_fini(&r);
    }
    assert_int_equal(cycles[0], cycles[1]);
}

static void refuse(struct train_rig *r, const char *message)
{
    assert_null(strategy_create(&r->options, &r->err));
    if (!strstr(r->err.msg, message))
        fail_msg("\"%s\" instead of \"%s\"", r->err.msg, message);
}

TEST(wrong_replicas_and_variables_are_refused)
{
    static const int twice[2] = {1, 1}, far[2] = {0, 2};
    struct train_rig r;
    struct err e;

    assert_int_equal(strategy_check_batch(512, 8, &e), 0);
    assert_int_equal(strategy_check_batch(500, 8, &e), -1);
    assert_string_equal(e.msg, "batch 500 cannot be split over 8 replicas; the nearest that can "
                               "are 496 and 504");
    assert_int_equal(strategy_check_batch(5, 8, &e), -1);
    assert_string_equal(e.msg, "batch 5 cannot be split over 8 replicas; the least that can is 8");
    train_rig_init(&r, "v3", "hbm.gib=0.5", MODE_BOTH);
    r.options.replica_count = 3;
    refuse(&r, "3 replicas on 2 cores; each needs a core of its own");
    r.options.replica_count = -1;
    refuse(&r, "-1 replicas; there must be at least 1");
    r.options.replica_count = 2;
    r.options.core = twice;
    refuse(&r, "replicas 0 and 1 are both to run on core 1");
    r.options.core = far;
    refuse(&r, "replica 1 is to run on core 2, allowed are 0..1");
    r.options.core = NULL;
    add(&r, "t", (struct variable){.shape = f32_shape(DIMS(3, 5)), .shard_dim = 1});
    refuse(&r, "variable t f32[3,5] cannot be sharded over 2 replicas: dimension 1 is 5");
    r.set.count = 0;
    add(&r, "large", (struct variable){.shape = f32_shape(DIMS(1 << 16, 1 << 13)),
                                       .shard_dim = -1});
    refuse(&r, "variable large takes 2 GiB of HBM, 240 MiB are free beside other variables "
               "and programs");
    train_rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slice_runs_a_step_on_every_replica),
        cmocka_unit_test(host_runs_the_same_step),
        cmocka_unit_test(functions_are_traced_once_per_shape_context_and_purpose),
        cmocka_unit_test(programs_share_variables_whenever_they_were_added),
        cmocka_unit_test(replay_takes_as_long_and_puts_variables_back_if_wanted),
        cmocka_unit_test(variables_of_each_replica_are_put_together_when_read),
        cmocka_unit_test(sharded_variables_are_parts_of_the_whole),
        cmocka_unit_test(snapshots_keep_what_variables_held),
        cmocka_unit_test(replica_that_differs_is_named),
        cmocka_unit_test(replicas_run_where_they_are_told_to),
        cmocka_unit_test(one_replica_runs_on_one_core_of_a_slice),
        cmocka_unit_test(timing_mode_gives_the_same_cycles_and_no_values),
        cmocka_unit_test(wrong_replicas_and_variables_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
