/* What replicas have, put together: in a step (train/step/replica.h) and on the host. */
#include "tests/rigs/train_rig.h"

#include "tests/rigs/graph_rig.h"
#include "train/step/per_replica.h"
#include "train/step/replica.h"

static void expect(const struct per_replica *v, enum replica_reduction kind, int axis,
                   const float *expected, int count)
{
    struct shape shape;
    float is[16];
    struct err e;

    assert_int_equal(per_replica_reduce_shape(v, axis, &shape, &e), 0);
    assert_int_equal(shape_elems(&shape), count);
    assert_int_equal(per_replica_reduce(v, kind, axis, is, &e), 0);
    for (int i = 0; i < count; i++)
        assert_true(is[i] == expected[i]);
}

/* the two replicas of TensorFlow's documentation, and a last batch that is not full */
TEST(reduction_is_that_of_the_documented_example)
{
    static const float a[4] = {0, 1, 2, 3}, b[4] = {4, 5, 6, 7};
    struct shape shape[2] = {f32_shape(DIMS(4)), f32_shape(DIMS(4))};
    const void *data[2] = {a, b};
    struct per_replica v = {2, shape, data};

    expect(&v, REPLICA_SUM, AXIS_NONE, (float[]){4, 6, 8, 10}, 4);
    expect(&v, REPLICA_MEAN, AXIS_NONE, (float[]){2, 3, 4, 5}, 4);
    expect(&v, REPLICA_SUM, 0, (float[]){28}, 1);
    expect(&v, REPLICA_MEAN, 0, (float[]){3.5f}, 1);
    shape[1].dim[0] = 1;
    expect(&v, REPLICA_SUM, -1, (float[]){10}, 1);
    expect(&v, REPLICA_MEAN, 0, (float[]){2}, 1);       /* 10 / 5, not (1.5 + 4) / 2 */
}

TEST(axes_inside_are_reduced_and_gathered)
{
    static const float a[6] = {1, 2, 3, 4, 5, 6}, b[4] = {10, 20, 30, 40};
    struct shape shape[2] = {f32_shape(DIMS(2, 3)), f32_shape(DIMS(2, 2))}, whole;
    const void *data[2] = {a, b};
    struct per_replica v = {2, shape, data};
    float is[10];
    struct err e;

    expect(&v, REPLICA_SUM, 1, (float[]){36, 85}, 2);
    expect(&v, REPLICA_MEAN, 1, (float[]){7.2f, 17}, 2);
    assert_int_equal(per_replica_gather_shape(&v, 1, &whole, &e), 0);
    assert_int_equal(whole.dim[1], 5);
    assert_int_equal(per_replica_gather(&v, 1, is, &e), 0);
    assert_memory_equal(is, ((float[]){1, 2, 3, 10, 20, 4, 5, 6, 30, 40}), sizeof(is));
}

TEST(integers_wrap_and_their_means_go_towards_zero)
{
    static const int32_t a[1] = {-5}, b[1] = {-2};
    struct shape shape[2] = {shape_scalar(DTYPE_S32), shape_scalar(DTYPE_S32)};
    const void *data[2] = {a, b};
    struct per_replica v = {2, shape, data};
    int32_t is;
    struct err e;

    assert_int_equal(per_replica_reduce(&v, REPLICA_SUM, AXIS_NONE, &is, &e), 0);
    assert_int_equal(is, -7);
    assert_int_equal(per_replica_reduce(&v, REPLICA_MEAN, AXIS_NONE, &is, &e), 0);
    assert_int_equal(is, -3);
}

TEST(values_that_do_not_go_together_are_refused)
{
    static const float a[6];
    struct shape shape[2] = {f32_shape(DIMS(2, 3)), f32_shape(DIMS(3, 2))};
    const void *data[2] = {a, a};
    struct per_replica v = {2, shape, data};
    float is[9];
    struct err e;

    assert_int_equal(per_replica_reduce(&v, REPLICA_SUM, AXIS_NONE, is, &e), -1);
    assert_string_equal(e.msg, "replica 0 has f32[2,3] and replica 1 f32[3,2]");
    assert_int_equal(per_replica_reduce(&v, REPLICA_SUM, 2, is, &e), -1);
    assert_string_equal(e.msg, "f32[2,3] has no axis 2");
    assert_int_equal(per_replica_gather(&v, AXIS_NONE, is, &e), -1);
    shape[0] = shape[1] = f32_shape(DIMS(0));
    assert_int_equal(per_replica_reduce(&v, REPLICA_MEAN, 0, is, &e), -1);
    assert_string_equal(e.msg, "there are no elements along axis 0");
    shape[0] = shape[1] = f32_shape(DIMS(2));
    assert_int_equal(per_replica_gather(&v, AXIS_NONE, is, &e), -1);
    assert_string_equal(e.msg, "gathering needs an axis");
}

/* as TPUStrategy gathers: every replica adds its part, in its place, to zeros */
static int gather_by_sum(struct trace *t, int node, int axis)
{
    struct graph *g = &t->graph;
    struct shape s = g->node[node].shape, all = s, places;
    int dims[GRAPH_RANK_MAX], own, spread;

    assert_true(axis >= 0 && axis < s.rank && s.rank < GRAPH_RANK_MAX);
    if (t->replica_count == 1)
        return node;
    all.rank++;
    for (int i = s.rank; i > axis; i--)
        all.dim[i] = all.dim[i - 1];
    all.dim[axis] = t->replica_count;
    for (int i = 0; i < s.rank; i++)
        dims[i] = i < axis ? i : i + 1;
    places = all;
    places.dtype = DTYPE_S32;
    own = graph_compare(g, COMPARE_EQ, graph_iota(g, places, axis),
                        graph_broadcast(g, replica_id(t), places, NULL));
    spread = graph_broadcast(g, node, all, dims);
    spread = graph_select(g, own, spread, graph_splat(g, spread, 0));
    s.dim[axis] *= t->replica_count;
    return graph_reshape(g, replica_all_reduce(t, REPLICA_SUM, spread), s);
}

/* results: sum, mean, gathered, own number */
static int step(struct trace *t, const int *input, int count, void *context, struct err *e)
{
    (void)e;
    (void)context;
    assert_int_equal(count, 1);
    trace_result(t, "sum", replica_all_reduce(t, REPLICA_SUM, input[0]));
    trace_result(t, "mean", replica_all_reduce(t, REPLICA_MEAN, input[0]));
    trace_result(t, "all", replica_all_gather(t, input[0], 0));
    trace_result(t, "id", replica_id(t));
    trace_result(t, "all by a sum", gather_by_sum(t, input[0], 0));
    return 0;
}

static void run(const char *slice, int replicas)
{
    struct shape shape = f32_shape(DIMS(2));
    float x[8][2], sum[8][2], mean[8][2], all[8][16], by_sum[8][16];
    struct strategy_program *p;
    const void *input[8];
    void *result[40];
    struct train_rig r;
    int32_t id[8];

    train_rig_init(&r, slice, NULL, MODE_BOTH);
    r.options.replica_count = replicas;
    train_rig_start(&r);
    for (int i = 0; i < replicas; i++) {
        x[i][0] = (float)i;
        x[i][1] = 8;
        input[i] = x[i];
        result[5 * i] = sum[i];
        result[5 * i + 1] = mean[i];
        result[5 * i + 2] = all[i];
        result[5 * i + 3] = &id[i];
        result[5 * i + 4] = by_sum[i];
    }
    p = strategy_function(r.strategy, "step", step, NULL, true, &shape, 1, &r.err);
    train_rig_must(&r, p ? 0 : -1);
    train_rig_must(&r, strategy_run(r.strategy, p, input, result, NULL, &r.err));
    for (int i = 0; i < replicas; i++) {
        assert_true(sum[i][0] == (float)(replicas * (replicas - 1) / 2));
        assert_true(sum[i][1] == (float)(8 * replicas) && mean[i][1] == 8);
        assert_true(mean[i][0] == (float)(replicas - 1) / 2);
        assert_int_equal(id[i], i);
        for (int k = 0; k < replicas; k++)
            assert_true(all[i][2 * k] == (float)k && all[i][2 * k + 1] == 8 &&
                        by_sum[i][2 * k] == (float)k && by_sum[i][2 * k + 1] == 8);
    }
    train_rig_fini(&r);
}

TEST(replicas_on_the_host_exchange_what_they_have)
{
    run("host", 1);
    run("host", 4);
    run("host", 8);
}

TEST(replicas_on_cores_exchange_what_they_have)
{
    run("v3", 1);
    run("v3-8", 8);
    run("v5e-4", 4);
}

/* ---- a gather, and the sum that TPUStrategy makes of it ---- */

#define ROWS 512
#define COLUMNS 256

typedef int gatherer(struct trace *t, int node, int axis);

static int gather_step(struct trace *t, const int *input, int count, void *context, struct err *e)
{
    gatherer *const *gather = context;

    (void)e;
    assert_int_equal(count, 1);
    trace_result(t, "all", (*gather)(t, input[0], 0));
    return 0;
}

/* cycles of 512 KiB from each of 8; what replica 3 got is checked */
static cycle_t gather_cycles(gatherer *gather)
{
    static float x[8][ROWS][COLUMNS], all[8 * ROWS][COLUMNS];
    struct shape shape = f32_shape(DIMS(ROWS, COLUMNS));
    struct strategy_run done;
    struct strategy_program *p;
    const void *input[8];
    void *result[8] = {NULL};
    struct train_rig r;

    train_rig_init(&r, "v3-8", NULL, MODE_BOTH);
    train_rig_start(&r);
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < ROWS * COLUMNS; k++)
            x[i][k / COLUMNS][k % COLUMNS] = (float)(i * 1000000 + k);
        input[i] = x[i];
    }
    result[3] = all;
    p = strategy_function(r.strategy, "gather", gather_step, &gather, true, &shape, 1, &r.err);
    train_rig_must(&r, p ? 0 : -1);
    train_rig_must(&r, strategy_run(r.strategy, p, input, result, &done, &r.err));
    assert_memory_equal(all, x, sizeof(x));
    train_rig_fini(&r);
    return done.cycles;
}

TEST(a_gather_by_a_sum_costs_more)
{
    cycle_t by_sum = gather_cycles(gather_by_sum);
    cycle_t real = gather_cycles(replica_all_gather);

    print_message("512 KiB of each of 8 cores: gather %lld cycles, by a sum %lld\n",
                  (long long)real, (long long)by_sum);
    assert_true(by_sum > 2 * real);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduction_is_that_of_the_documented_example),
        cmocka_unit_test(axes_inside_are_reduced_and_gathered),
        cmocka_unit_test(integers_wrap_and_their_means_go_towards_zero),
        cmocka_unit_test(values_that_do_not_go_together_are_refused),
        cmocka_unit_test(replicas_on_the_host_exchange_what_they_have),
        cmocka_unit_test(replicas_on_cores_exchange_what_they_have),
        cmocka_unit_test(a_gather_by_a_sum_costs_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
