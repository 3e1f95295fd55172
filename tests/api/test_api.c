/*
 * The C interface: is a program written with include/systole.h alone told what is wrong, and does
 * it compute what it says, on cores and on the host?
 */
#include "tests/test.h"

#include <math.h>
#include <string.h>

#include "include/systole.h"

static void must(sy_status s)
{
    if (s != SY_OK)
        fail_msg("%s", sy_message());
}

static void expect_error(sy_status s, const char *message)
{
    assert_int_equal(s, SY_ERROR);
    assert_string_equal(sy_message(), message);
}

struct rig {
    sy_cluster *cluster;
    sy_strategy *strategy;
};

static void open_rig(struct rig *r, const char *tpu)
{
    must(sy_cluster_resolve(tpu, NULL, &r->cluster));
    must(sy_cluster_initialize(r->cluster));
    must(sy_strategy_create(r->cluster, NULL, NULL, &r->strategy));
}

static void close_rig(struct rig *r)
{
    sy_strategy_free(r->strategy);
    sy_cluster_free(r->cluster);
}

/* ----- steps */

static sy_status product(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out,
                         int outputs, void *user)
{
    (void)user;
    assert_int_equal(inputs, 2);
    assert_int_equal(outputs, 1);
    out[0] = sy_matmul(c, in[0], in[1], "highest");
    return SY_OK;
}

static const float a_values[] = {1, 2, 3, 4, 5, 6}, b_values[] = {1, 2, 3, 4, 5, 6};
static const float ab_values[] = {22, 28, 49, 64};

static void check_product(sy_strategy *s)
{
    sy_value *in[2], *out[1];

    must(sy_value_copies(s, SY_F32, sy_dims(2, 3), a_values, &in[0]));
    must(sy_value_copies(s, SY_F32, sy_dims(3, 2), b_values, &in[1]));
    must(sy_strategy_run(s, "product", product, NULL, in, 2, out, 1));
    assert_int_equal(sy_value_replicas(out[0]), sy_strategy_replicas(s));
    for (int r = 0; r < sy_value_replicas(out[0]); r++)
        assert_memory_equal(sy_value_data(out[0], r), ab_values, sizeof(ab_values));
    sy_value_free(in[0]);
    sy_value_free(in[1]);
    sy_value_free(out[0]);
}

TEST(a_product_runs_on_all_replicas_on_one_core_and_on_the_host)
{
    struct rig r;
    sy_strategy *one;

    open_rig(&r, "v3-8");
    check_product(r.strategy);
    assert_true(sy_strategy_cycles(r.strategy) > 0);
    must(sy_strategy_on_device(r.cluster, "TPU:5", &one));
    assert_int_equal(sy_strategy_replicas(one), 1);
    check_product(one);
    sy_strategy_free(one);
    close_rig(&r);
    open_rig(&r, "cpu");
    assert_true(sy_cluster_is_host(r.cluster));
    check_product(r.strategy);
    assert_int_equal(sy_strategy_cycles(r.strategy), 0);
    close_rig(&r);
}

/* ----- a loop of one's own: descent on the mean of (w x - y)^2 */

struct line {
    sy_variable *w, *seen;
    int calls;
};

static sy_status descend(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out,
                         int outputs, void *user)
{
    struct line *l = user;
    sy_tensor w = sy_read(c, l->w), error, loss, gradient;

    (void)inputs;
    (void)outputs;
    l->calls++;
    error = sy_subtract(c, sy_multiply(c, in[0], w), in[1]);
    loss = sy_reduce_mean(c, sy_square(c, error), SY_NO_AXIS);
    if (sy_gradients(c, loss, &w, 1, &gradient) != SY_OK)
        return SY_ERROR;
    gradient = sy_all_reduce(c, SY_MEAN, gradient);
    sy_assign(c, l->w, sy_subtract(c, w, sy_scale(c, gradient, 0.125)));
    sy_assign(c, l->seen, sy_shift(c, sy_read(c, l->seen), 4));
    out[0] = loss;
    return SY_OK;
}

static void make_line(sy_strategy *s, struct line *l)
{
    *l = (struct line){0};
    must(sy_variable_create(s, "w", SY_F32, sy_scalar(), NULL, &l->w));
    must(sy_variable_create(s, "seen", SY_F32, sy_scalar(),
                            &(sy_variable_options){.is_state = true, .sync = SY_ON_READ,
                                                   .aggregation = SY_SUM}, &l->seen));
}

static void open_line(struct rig *r, struct line *l, const char *tpu)
{
    open_rig(r, tpu);
    make_line(r->strategy, l);
}

static float read_scalar(sy_variable *v)
{
    float x;

    must(sy_variable_read(v, &x, sizeof(x)));
    return x;
}

TEST(a_loop_of_ones_own_descends_together)
{
    static const float x[8] = {1, -1, 2, 1, -2, 1, 1, -1};
    struct rig r;
    struct line l;
    sy_value *in[2], *out[1];
    sy_array *loss;
    float y[8], w = 0;

    for (int i = 0; i < 8; i++)
        y[i] = 3 * x[i];
    open_line(&r, &l, "v3-2");
    must(sy_value_split(r.strategy, SY_F32, sy_dims(8), x, &in[0]));
    must(sy_value_split(r.strategy, SY_F32, sy_dims(8), y, &in[1]));
    for (int step = 0; step < 3; step++) {
        float mean = 0, gradient = 0;

        for (int i = 0; i < 8; i++) {
            mean += (w * x[i] - y[i]) * (w * x[i] - y[i]) / 8;
            gradient += 2 * (w * x[i] - y[i]) * x[i] / 8;
        }
        w -= 0.125f * gradient;
        must(sy_strategy_run(r.strategy, "descend", descend, &l, in, 2, out, 1));
        must(sy_strategy_reduce(r.strategy, SY_MEAN, out[0], SY_NO_AXIS, &loss));
        assert_true(fabsf(*(float *)sy_array_data(loss) - mean) <= 1e-6f * mean);
        sy_array_free(loss);
        sy_value_free(out[0]);
        assert_true(fabsf(read_scalar(l.w) - w) <= 1e-6f * w);
    }
    assert_int_equal(l.calls, 1);
    assert_true(read_scalar(l.seen) == 24);
    sy_value_free(in[0]);
    sy_value_free(in[1]);
    close_rig(&r);
}

/* one step of a line with all of x and y, split over the replicas; w is what it was before */
static void step_line(sy_strategy *s, struct line *l, const float *x, const float *y, float *w)
{
    sy_value *in[2], *out[1];
    float gradient = 0;

    for (int i = 0; i < 8; i++)
        gradient += 2 * (*w * x[i] - y[i]) * x[i] / 8;
    *w -= 0.125f * gradient;
    must(sy_value_split(s, SY_F32, sy_dims(8), x, &in[0]));
    must(sy_value_split(s, SY_F32, sy_dims(8), y, &in[1]));
    must(sy_strategy_run(s, "descend", descend, l, in, 2, out, 1));
    sy_value_free(in[0]);
    sy_value_free(in[1]);
    sy_value_free(out[0]);
}

/* one on all cores, one on the second of them: neither touches what the other has */
TEST(two_strategies_take_turns_on_a_cluster)
{
    static const float x[8] = {1, -1, 2, 1, -2, 1, 1, -1};
    float y[2][8], w[2] = {0, 0};
    struct rig r;
    struct line all, one;
    sy_strategy *single;

    for (int i = 0; i < 8; i++) {
        y[0][i] = 3 * x[i];
        y[1][i] = -x[i];
    }
    open_line(&r, &all, "v3-2");
    must(sy_strategy_on_device(r.cluster, "TPU:1", &single));
    make_line(single, &one);
    for (int turn = 0; turn < 3; turn++) {
        step_line(r.strategy, &all, x, y[0], &w[0]);
        step_line(r.strategy, &all, x, y[0], &w[0]);
        step_line(single, &one, x, y[1], &w[1]);
        assert_true(fabsf(read_scalar(all.w) - w[0]) <= 1e-6f);
        assert_true(fabsf(read_scalar(one.w) - w[1]) <= 1e-6f);
    }
    assert_true(read_scalar(all.seen) == 48);
    assert_true(read_scalar(one.seen) == 12);
    sy_strategy_free(single);
    step_line(r.strategy, &all, x, y[0], &w[0]);
    assert_true(fabsf(read_scalar(all.w) - w[0]) <= 1e-6f);
    close_rig(&r);
}

TEST(several_steps_in_one_launch_are_those_one_by_one)
{
    static const float x[2][4] = {{1, 2, -1, 1}, {2, 1, 1, -2}};
    struct rig r;
    struct line l;
    sy_value *in[2], *out[1];
    float y[2][4], one[2], w;

    for (int i = 0; i < 8; i++)
        y[i / 4][i % 4] = 3 * x[i / 4][i % 4];
    open_line(&r, &l, "v3-1");
    for (int step = 0; step < 2; step++) {
        must(sy_value_copies(r.strategy, SY_F32, sy_dims(4), x[step], &in[0]));
        must(sy_value_copies(r.strategy, SY_F32, sy_dims(4), y[step], &in[1]));
        must(sy_strategy_run(r.strategy, "descend", descend, &l, in, 2, out, 1));
        one[step] = *(float *)sy_value_data(out[0], 0);
        sy_value_free(in[0]);
        sy_value_free(in[1]);
        sy_value_free(out[0]);
    }
    w = read_scalar(l.w);
    must(sy_variable_write(l.w, &(float){0}, 4));
    must(sy_value_copies(r.strategy, SY_F32, sy_dims(2, 4), x, &in[0]));
    must(sy_value_copies(r.strategy, SY_F32, sy_dims(2, 4), y, &in[1]));
    must(sy_strategy_run_steps(r.strategy, "descend", descend, &l, 2, in, 2, out, 1));
    assert_memory_equal(sy_value_data(out[0], 0), one, sizeof(one));
    assert_true(read_scalar(l.w) == w);
    sy_value_free(out[0]);
    expect_error(sy_strategy_run_steps(r.strategy, "descend", descend, &l, 0, in, 2, out, 1),
                 "step descend: a launch of 0 steps; there must be at least 1");
    expect_error(sy_strategy_run_steps(r.strategy, "descend", descend, &l, 3, in, 2, out, 1),
                 "inputs of 3 steps hold one array per step, dimension 0 must be 3; there is "
                 "f32[2,4]");
    sy_value_free(in[0]);
    sy_value_free(in[1]);
    close_rig(&r);
}

/* ----- logical devices */

static sy_status whole_product(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out,
                               int outputs, void *user)
{
    (void)inputs;
    (void)outputs;
    (void)user;
    out[0] = sy_matmul(c, in[0], in[1], "highest");
    return SY_OK;
}

static sy_status cut_product(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out,
                             int outputs, void *user)
{
    sy_tensor rows = sy_split(c, in[0], (int[]){1, 2});

    (void)inputs;
    (void)outputs;
    (void)user;
    out[0] = sy_matmul(c, rows, sy_split(c, in[1], (int[]){2, 1}), "highest");
    return SY_OK;
}

/* three steps in a loop, the second with -a: a step's arrays are cut there as anywhere */
static void cut_in_a_loop(sy_strategy *s, float a[2][4], float b[4][2], float expected[2][2])
{
    float all_a[3][2][4], all_b[3][4][2];
    sy_value *in[2], *out;
    sy_costs costs[2];

    for (int k = 0; k < 3; k++) {
        memcpy(all_b[k], b, sizeof(all_b[k]));
        for (int i = 0; i < 8; i++)
            all_a[k][i / 4][i % 4] = k == 1 ? -a[i / 4][i % 4] : a[i / 4][i % 4];
    }
    must(sy_value_copies(s, SY_F32, sy_dims(3, 2, 4), all_a, &in[0]));
    must(sy_value_copies(s, SY_F32, sy_dims(3, 4, 2), all_b, &in[1]));
    for (int cuts = 0; cuts < 2; cuts++) {
        must(sy_strategy_run_steps(s, "products", cuts ? cut_product : whole_product, NULL, 3, in,
                                   2, &out, 1));
        for (int r = 0; r < 4; r++)
            for (int k = 0; k < 3; k++)
                for (int i = 0; i < 4; i++)
                    assert_true(((float *)sy_value_data(out, r))[k * 4 + i] ==
                                (k == 1 ? -1.0f : 1.0f) * expected[i / 2][i % 2]);
        must(sy_strategy_costs(s, &costs[cuts]));
        sy_value_free(out);
    }
    /* half of 2 x 2 x 4 x 2 of each core in each step */
    assert_int_equal(costs[0].flops - costs[1].flops, 8 * 3 * 16);
    sy_value_free(in[0]);
    sy_value_free(in[1]);
}

TEST(two_logical_devices_share_a_product)
{
    float a[2][4], b[4][2], expected[2][2] = {{0}};
    sy_cluster *cluster;
    sy_assignment *assignment;
    sy_strategy *s;
    sy_value *in[2], *out[1];
    int core;

    for (int i = 0; i < 8; i++)
        a[i / 4][i % 4] = (float)i, b[i / 2][i % 2] = (float)(i - 3);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 4; k++)
                expected[i][j] += a[i][k] * b[k][j];
    must(sy_cluster_resolve("v2-8", NULL, &cluster));
    must(sy_cluster_initialize(cluster));
    must(sy_assignment_build(cluster, (int[]){1, 1, 1, 2}, NULL, 0, NULL, &assignment));
    must(sy_assignment_core(assignment, 1, 1, &core));
    assert_int_equal(core, 3);
    must(sy_strategy_create(cluster, assignment, NULL, &s));
    assert_int_equal(sy_strategy_replicas(s), 4);
    assert_int_equal(sy_strategy_devices(s), 2);
    must(sy_value_copies(s, SY_F32, sy_dims(2, 4), a, &in[0]));
    must(sy_value_copies(s, SY_F32, sy_dims(4, 2), b, &in[1]));
    must(sy_strategy_run(s, "product", cut_product, NULL, in, 2, out, 1));
    for (int r = 0; r < 4; r++)
        assert_memory_equal(sy_value_data(out[0], r), expected, sizeof(expected));
    for (int i = 0; i < 2; i++)
        sy_value_free(in[i]);
    sy_value_free(out[0]);
    cut_in_a_loop(s, a, b, expected);
    sy_strategy_free(s);
    sy_assignment_free(assignment);
    sy_cluster_free(cluster);
}

/* a product on each device; d loss / dx = a product back, on the device of that product */
static sy_status assigned_chain(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out,
                                int outputs, void *user)
{
    sy_variable *const *w = user;
    sy_tensor y = in[0], loss, gradient;

    (void)inputs;
    (void)outputs;
    for (int i = 0; i < 2; i++)
        y = sy_assign_to_logical_device(c, sy_matmul(c, y, sy_read(c, w[i]), "highest"), 1 - i);
    loss = sy_reduce_sum(c, y, SY_NO_AXIS);
    if (sy_gradients(c, loss, in, 1, &gradient) != SY_OK)
        return SY_ERROR;
    sy_assign(c, w[0], sy_shift(c, sy_read(c, w[0]), 1));
    out[0] = loss;
    out[1] = gradient;
    return SY_OK;
}

TEST(products_on_devices_of_their_own)
{
    const float x[2] = {3, 4}, weight[2][4] = {{1, 2, 3, 4}, {2, 0, 1, 1}};
    sy_strategy_options options = {.axis = &(sy_axis){"model", 2}, .axis_count = 1,
                                   .check_replicas = true};
    sy_variable *w[2];
    sy_value *in, *out[2];
    sy_cluster *cluster;
    sy_strategy *s;
    float read[4];

    must(sy_cluster_resolve("v3-8", NULL, &cluster));
    must(sy_cluster_initialize(cluster));
    must(sy_strategy_create(cluster, NULL, &options, &s));
    for (int i = 0; i < 2; i++) {
        must(sy_variable_create(s, i ? "w1" : "w0", SY_F32, sy_dims(2, 2), NULL, &w[i]));
        must(sy_variable_write(w[i], weight[i], sizeof(weight[i])));
    }
    must(sy_value_copies(s, SY_F32, sy_dims(1, 2), x, &in));
    must(sy_strategy_run(s, "chain", assigned_chain, w, &in, 1, out, 2));
    for (int r = 0; r < sy_value_replicas(out[0]); r++) {
        /* (15 22) (2 0; 1 1) = (52 22); (1 2; 3 4) (2 2) = (6 14) */
        assert_true(*(float *)sy_value_data(out[0], r) == 74);
        assert_memory_equal(sy_value_data(out[1], r), ((float[]){6, 14}), sizeof(x));
    }
    must(sy_variable_read(w[0], read, sizeof(read)));
    assert_memory_equal(read, ((float[]){2, 3, 4, 5}), sizeof(read));
    sy_value_free(out[0]);
    sy_value_free(out[1]);
    sy_value_free(in);
    /* from (2 3; 4 5) on, in a loop: (22 29) (2 0; 1 1) = (73 29), then (29 36) ... = (94 36) */
    must(sy_value_copies(s, SY_F32, sy_dims(2, 1, 2), (float[]){3, 4, 3, 4}, &in));
    must(sy_strategy_run_steps(s, "chain", assigned_chain, w, 2, &in, 1, out, 2));
    for (int r = 0; r < sy_value_replicas(out[0]); r++) {
        assert_memory_equal(sy_value_data(out[0], r), ((float[]){102, 130}), 2 * sizeof(float));
        assert_memory_equal(sy_value_data(out[1], r), ((float[]){10, 18, 14, 22}),
                            4 * sizeof(float));
    }
    must(sy_variable_read(w[0], read, sizeof(read)));
    assert_memory_equal(read, ((float[]){4, 5, 6, 7}), sizeof(read));
    sy_value_free(out[0]);
    sy_value_free(out[1]);
    sy_value_free(in);
    sy_strategy_free(s);
    sy_cluster_free(cluster);
}

/* ----- operations on the host, against what they mean */

static sy_status many(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out, int outputs,
                      void *user)
{
    sy_tensor x = in[0], row = in[1], positive;

    (void)inputs;
    (void)outputs;
    (void)user;
    out[0] = sy_add(c, x, row);                                 /* [2,3] + [3] */
    out[1] = sy_transpose(c, sy_scale(c, x, 2), NULL);
    out[2] = sy_reduce_sum(c, x, -1);
    out[3] = sy_argmax(c, x, 1);
    positive = sy_compare(c, ">", x, sy_constant(c, SY_F32, sy_scalar(), 0));
    out[4] = sy_select(c, positive, x, sy_negate(c, x));
    out[5] = sy_concatenate(c, (sy_tensor[]){x, x}, 2, 0);
    out[6] = sy_slice(c, x, (int64_t[]){1, 0}, (int64_t[]){2, 2});
    out[7] = sy_gather_rows(c, x, sy_argmax(c, x, 1));
    out[8] = sy_one_hot(c, sy_argmax(c, x, 1), 3);
    out[9] = sy_activation(c, "relu", sy_reshape(c, x, sy_dims(3, 2)));
    return sy_context_status(c);
}

TEST(operations_compute_what_they_say)
{
    static const float x[6] = {1, -2, 3, -4, 5, -6}, row[3] = {10, 20, 30};
    static const float expected[10][12] = {
        {11, 18, 33, 6, 25, 24}, {2, -8, -4, 10, 6, -12}, {2, -5}, {0}, {1, 2, 3, 4, 5, 6},
        {1, -2, 3, -4, 5, -6, 1, -2, 3, -4, 5, -6}, {-4, 5}, {0}, {0, 0, 1, 0, 1, 0},
        {1, 0, 3, 0, 5, 0}};
    static const int count[10] = {6, 6, 2, 2, 6, 12, 2, 6, 6, 6};
    struct rig r;
    sy_value *in[2], *out[10];

    open_rig(&r, "cpu");
    must(sy_value_copies(r.strategy, SY_F32, sy_dims(2, 3), x, &in[0]));
    must(sy_value_copies(r.strategy, SY_F32, sy_dims(3), row, &in[1]));
    must(sy_strategy_run(r.strategy, "many", many, NULL, in, 2, out, 10));
    for (int i = 0; i < 10; i++) {
        if (i == 3)
            assert_memory_equal(sy_value_data(out[i], 0), ((int32_t[]){2, 1}), 8);
        else if (i != 7)
            for (int k = 0; k < count[i]; k++)
                assert_true(((float *)sy_value_data(out[i], 0))[k] == expected[i][k]);
        sy_value_free(out[i]);
    }
    sy_value_free(in[0]);
    sy_value_free(in[1]);
    close_rig(&r);
}

/* ----- mistakes */

static sy_status wrong(sy_context *c, const sy_tensor *in, int inputs, sy_tensor *out, int outputs,
                       void *user)
{
    sy_tensor x = in[0];

    (void)inputs;
    (void)outputs;
    switch (*(int *)user) {
    case 0: out[0] = sy_add(c, x, sy_constant(c, SY_F32, sy_dims(4), 1)); break;
    case 1: out[0] = sy_matmul(c, x, x, NULL); break;
    case 2: out[0] = sy_reduce_sum(c, x, 2); break;
    case 3: break;
    case 4: out[0] = sy_exp(c, sy_tanh(c, sy_reshape(c, x, sy_dims(5)))); break;
    case 5: out[0] = sy_split(c, x, (int[]){2, 1}); break;
    case 6: out[0] = sy_activation(c, "rely", x); break;
    case 7: out[0] = sy_cast(c, x, (sy_dtype)77); break;
    case 8: out[0] = (sy_tensor){12345}; break;
    case 9: sy_gradients(c, x, &x, 1, out); break;
    case 10: out[0] = sy_assign_to_logical_device(c, sy_exp(c, x), 1); break;
    }
    return SY_OK;
}

TEST(mistakes_in_a_step_name_shapes)
{
    static const char *const message[] = {
        "add of f32[2,3] and f32[4]: dimensions must be equal, or 1",
        "matmul of f32[2,3] and f32[2,3]: it takes [.., m, k] and [.., k, n], both f32 or both "
        "bf16",
        "axis 2 of f32[2,3]: allowed are -2..1",
        "the step has not set output 0 of 1",
        NULL,
        "split: 2 parts along dimension 0, but the logical devices have no axis of 2 left",
        NULL,
        "element type 77 is none of SY_F32, SY_BF16, SY_S32, SY_PRED, SY_U32, SY_U8",
        "operand 0 is not a tensor of this step",
        "gradients are of an f32 scalar, not of f32[2,3]",
        "assign to logical device 1: a replica has 1, allowed are 0..0",
    };
    struct rig r;
    sy_value *in, *out;

    open_rig(&r, "cpu");
    must(sy_value_create(r.strategy, SY_F32, sy_dims(2, 3), &in));
    for (int i = 0; i < 11; i++) {
        assert_int_equal(sy_strategy_run(r.strategy, "wrong", wrong, &i, &in, 1, &out, 1),
                         SY_ERROR);
        if (message[i])
            assert_string_equal(sy_message(), message[i]);
        else
            assert_true(*sy_message());
    }
    sy_value_free(in);
    close_rig(&r);
}

TEST(mistakes_outside_a_step_are_named)
{
    sy_cluster_options options = {.mode = "quick"};
    sy_cluster *c;
    sy_strategy *s;
    sy_assignment *a;
    sy_variable *v;
    sy_value *value;
    float x[4];

    expect_error(sy_cluster_resolve("v3-8", &options, &c),
                 "mode \"quick\" is none of both, timing, functional");
    must(sy_cluster_resolve("v3-8", NULL, &c));
    assert_string_equal(sy_cluster_describe(c), "v3-8: 2x2 chips, 8 cores, mesh");
    expect_error(sy_strategy_create(c, NULL, NULL, &s),
                 "v3-8 is not initialised: call sy_cluster_initialize first");
    must(sy_cluster_initialize(c));
    expect_error(sy_strategy_on_device(c, "TPU:8", &s), "TPU:8: each task of v3-8 has TPU:0..7");
    expect_error(sy_assignment_build(c, (int[]){3, 1, 1, 1}, NULL, 0, NULL, &a),
                 "a replica of 3 along x, every 1, takes 3 of them; v3-8 has 2");
    must(sy_strategy_create(c, NULL, NULL, &s));
    expect_error(sy_cluster_shutdown(c), "1 strategy still uses v3-8: destroy it first");
    must(sy_variable_create(s, "v", SY_F32, sy_dims(2, 2), NULL, &v));
    expect_error(sy_variable_create(s, "v", SY_F32, sy_dims(2, 2), NULL, &v),
                 "variable \"v\": the name is taken");
    expect_error(sy_variable_read(v, x, 12), "variable v f32[2,2] has 16 bytes on the host, not "
                 "12");
    assert_ptr_equal(sy_variable_find(s, "v"), v);
    assert_null(sy_variable_find(s, "w"));
    expect_error(sy_variable_create(s, "b", SY_BF16, sy_dims(2), NULL, &v),
                 "variable b: variables are SY_F32, SY_S32 or SY_U32");
    expect_error(sy_value_split(s, SY_F32, sy_dims(12, 2), x, &value),
                 "batch 12 cannot be split over 8 replicas; the nearest that can are 8 and 16");
    expect_error(sy_value_create(s, SY_F32, sy_dims(3, 0), &value),
                 "dimension 1 of a shape is 0; sizes are at least 1, and all together at most "
                 "2^40");
    sy_strategy_free(s);
    must(sy_cluster_shutdown(c));
    sy_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_runs_on_all_replicas_on_one_core_and_on_the_host),
        cmocka_unit_test(a_loop_of_ones_own_descends_together),
        cmocka_unit_test(two_strategies_take_turns_on_a_cluster),
        cmocka_unit_test(several_steps_in_one_launch_are_those_one_by_one),
        cmocka_unit_test(two_logical_devices_share_a_product),
        cmocka_unit_test(products_on_devices_of_their_own),
        cmocka_unit_test(operations_compute_what_they_say),
        cmocka_unit_test(mistakes_in_a_step_name_shapes),
        cmocka_unit_test(mistakes_outside_a_step_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
