/*
 * Training steps of a linear model, whose gradient is known: x'(xw - y) / batch. Data, weights and
 * the rate are such that weights are exact in f32, whatever the way that a step is computed.
 */
#include "tests/rigs/train_rig.h"

#include <math.h>

#include "base/rng.h"
#include "stack/nn/nn.h"
#include "tests/rigs/graph_rig.h"
#include "train/step/loop.h"
#include "train/step/step.h"

#define BATCH 16
#define INPUTS 3
#define OUTPUTS 2
#define WEIGHTS (INPUTS * OUTPUTS)
#define STEPS 3

/* weights and a count of samples as variables 0 and 1; SGD behind them */
struct linear {
    struct train_rig rig;
    struct optimizer optimizer;
    struct step_options options;
    float x[STEPS][BATCH][INPUTS], y[STEPS][BATCH][OUTPUTS];
    double w[WEIGHTS];                  /* by hand */
    int calls;                          /* of forward */
};

/* half the squared error; counts samples in a variable of each replica's own */
static int forward(struct trace *t, const int *input, int count, void *context,
                   struct step_loss *loss, struct err *e)
{
    struct graph *g = &t->graph;
    int w = trace_read(t, 0), seen = trace_read(t, 1), difference, square;

    (void)e;
    assert_int_equal(count, 2);
    ++*(int *)context;
    difference = graph_binary(g, HLO_SUBTRACT,
                              graph_dot(g, input[0], w, 1, 0, PRECISION_HIGHEST), input[1]);
    square = nn_multiply(g, difference, difference);
    loss->sum = nn_scale(g, graph_reduce(g, REDUCE_ADD, square, 3), 0.5);
    trace_assign(t, 1, nn_shift(g, seen, (double)g->node[input[0]].shape.dim[0]));
    return 0;
}

static void make_data(struct linear *l)
{
    struct rng rng;

    rng_init(&rng, 5);
    for (int s = 0; s < STEPS; s++)
        for (int i = 0; i < BATCH; i++) {
            for (int k = 0; k < INPUTS; k++)
                l->x[s][i][k] = (float)rng_below(&rng, 5) - 2;
            for (int k = 0; k < OUTPUTS; k++)
                l->y[s][i][k] = (float)rng_below(&rng, 9) - 4;
        }
}

static void init_linear(struct linear *l, const char *slice, int micro_batches)
{
    struct initializer ones = {.kind = INITIALIZER_ONES, .a = 0, .b = 0};
    struct shape shape = f32_shape(DIMS(INPUTS, OUTPUTS));
    int trainable = 0;

    memset(l, 0, sizeof(*l));
    train_rig_init(&l->rig, slice, NULL, MODE_BOTH);
    variable_add_trainable(&l->rig.set, "w", &shape, &ones);
    variable_add(&l->rig.set, &(struct variable){
        .name = "seen", .shape = shape_scalar(DTYPE_F32), .sync = SYNC_ON_READ,
        .aggregation = AGGREGATION_SUM, .of = -1, .shard_dim = -1});
    optimizer_init(&l->optimizer, RULE_SGD);
    train_rig_must(&l->rig, optimizer_set(&l->optimizer, "learning_rate", 0.5, &l->rig.err));
    train_rig_must(&l->rig, optimizer_build(&l->optimizer, &l->rig.set, &trainable, 1,
                                            &l->rig.err));
    train_rig_start(&l->rig);
    l->options = (struct step_options){.optimizer = &l->optimizer, .global_batch = BATCH,
                                       .micro_batches = micro_batches, .forward = forward,
                                       .context = &l->calls};
    for (int i = 0; i < WEIGHTS; i++)
        l->w[i] = 1;
    make_data(l);
}

static int step(struct trace *t, const int *input, int count, void *context, struct err *e)
{
    const struct linear *l = context;
    int loss;

    if (step_train(t, &l->options, input, count, &loss, e))
        return -1;
    trace_result(t, "loss", loss);
    return 0;
}

/* STEPS of them in one launch */
static int steps(struct trace *t, const int *input, int count, void *context, struct err *e)
{
    const enum loop_result kind = LOOP_STACK;
    struct trace body;
    int own[2], loss;

    trace_init(&body, t->arena, "one", t->set, t->replica_count, true);
    for (int i = 0; i < count; i++) {
        struct shape s = t->graph.node[input[i]].shape;

        s.rank--;
        for (int d = 0; d < s.rank; d++)
            s.dim[d] = s.dim[d + 1];
        own[i] = trace_input(&body, i ? "y" : "x", &s);
    }
    assert_int_equal(step(&body, own, count, context, e), 0);
    trace_finish(&body);
    loop_repeat(t, &body, STEPS, input, &kind, &loss);
    trace_result(t, "loss", loss);
    trace_fini(&body);
    return 0;
}

/* by hand: the loss before the step */
static double step_by_hand(struct linear *l, int s)
{
    double gradient[WEIGHTS] = {0}, loss = 0;

    for (int i = 0; i < BATCH; i++)
        for (int o = 0; o < OUTPUTS; o++) {
            double d = -(double)l->y[s][i][o];

            for (int k = 0; k < INPUTS; k++)
                d += (double)l->x[s][i][k] * l->w[k * OUTPUTS + o];
            loss += 0.5 * d * d;
            for (int k = 0; k < INPUTS; k++)
                gradient[k * OUTPUTS + o] += (double)l->x[s][i][k] * d;
        }
    for (int i = 0; i < WEIGHTS; i++)
        l->w[i] -= 0.5 * gradient[i] / BATCH;
    return loss / BATCH;
}

/* squares of errors have more bits than f32 */
static void assert_near(double is, double expected)
{
    if (!(fabs(is - expected) <= 1e-6 * expected))
        fail_msg("loss %.9g, not %.9g", is, expected);
}

static void check_variables(struct linear *l, int done)
{
    float w[WEIGHTS], seen;
    int32_t iterations;

    train_rig_must(&l->rig, strategy_check_replicas(l->rig.strategy, &l->rig.err));
    train_rig_must(&l->rig, strategy_read(l->rig.strategy, 0, w, &l->rig.err));
    train_rig_must(&l->rig, strategy_read(l->rig.strategy, 1, &seen, &l->rig.err));
    train_rig_must(&l->rig, strategy_read(l->rig.strategy, l->optimizer.iterations, &iterations,
                                          &l->rig.err));
    for (int i = 0; i < WEIGHTS; i++)
        if ((double)w[i] != l->w[i])
            fail_msg("after %d steps weight %d is %.9g, not %.9g", done, i, (double)w[i], l->w[i]);
    assert_true(seen == (float)(done * BATCH));
    assert_int_equal(iterations, done);
}

/* the same rows of a step as each replica gets them */
static void run_steps(const char *slice, int micro_batches)
{
    struct shape shape[2];
    struct strategy_program *p;
    const void *input[16];
    void *result[8];
    float loss[8];
    struct linear l;
    int replicas;

    init_linear(&l, slice, micro_batches);
    replicas = strategy_replica_count(l.rig.strategy);
    shape[0] = f32_shape(DIMS(BATCH / replicas, INPUTS));
    shape[1] = f32_shape(DIMS(BATCH / replicas, OUTPUTS));
    p = strategy_function(l.rig.strategy, "train", step, &l, true, shape, 2, &l.rig.err);
    train_rig_must(&l.rig, p ? 0 : -1);
    assert_int_equal(l.calls, 1);
    for (int s = 0; s < STEPS; s++) {
        double sum = 0;

        for (int r = 0; r < replicas; r++) {
            input[2 * r] = l.x[s][r * (BATCH / replicas)];
            input[2 * r + 1] = l.y[s][r * (BATCH / replicas)];
            result[r] = &loss[r];
        }
        train_rig_must(&l.rig, strategy_run(l.rig.strategy, p, input, result, NULL, &l.rig.err));
        for (int r = 0; r < replicas; r++)
            sum += (double)loss[r];
        assert_near(sum, step_by_hand(&l, s));
        check_variables(&l, s + 1);
    }
    train_rig_fini(&l.rig);
}

TEST(steps_follow_the_gradient_by_hand)
{
    run_steps("host", 1);
    run_steps("v3-1", 1);
    run_steps("v3-8", 1);
}

TEST(micro_batches_give_the_same_step)
{
    run_steps("host", 4);
    run_steps("v3-1", 8);
    run_steps("v3", 2);
}

/* STEPS batches in one launch */
static void run_loop(const char *slice)
{
    struct shape shape[2];
    static float x[8][STEPS][BATCH][INPUTS], y[8][STEPS][BATCH][OUTPUTS];
    float loss[8][STEPS];
    struct strategy_program *p;
    const void *input[16];
    void *result[8];
    struct linear l;
    int replicas, rows;

    init_linear(&l, slice, 1);
    replicas = strategy_replica_count(l.rig.strategy);
    rows = BATCH / replicas;
    shape[0] = f32_shape(DIMS(STEPS, rows, INPUTS));
    shape[1] = f32_shape(DIMS(STEPS, rows, OUTPUTS));
    for (int r = 0; r < replicas; r++) {
        for (int s = 0; s < STEPS; s++) {
            memcpy((float *)x[r] + s * rows * INPUTS, l.x[s][r * rows],
                   (size_t)rows * sizeof(l.x[0][0]));
            memcpy((float *)y[r] + s * rows * OUTPUTS, l.y[s][r * rows],
                   (size_t)rows * sizeof(l.y[0][0]));
        }
        input[2 * r] = x[r];
        input[2 * r + 1] = y[r];
        result[r] = loss[r];
    }
    p = strategy_function(l.rig.strategy, "steps", steps, &l, true, shape, 2, &l.rig.err);
    train_rig_must(&l.rig, p ? 0 : -1);
    train_rig_must(&l.rig, strategy_run(l.rig.strategy, p, input, result, NULL, &l.rig.err));
    for (int s = 0; s < STEPS; s++) {
        double sum = 0;

        for (int r = 0; r < replicas; r++)
            sum += (double)loss[r][s];
        assert_near(sum, step_by_hand(&l, s));
    }
    check_variables(&l, STEPS);
    train_rig_fini(&l.rig);
}

TEST(several_steps_in_one_launch_are_the_same_steps)
{
    run_loop("host");
    run_loop("v3-1");
    run_loop("v3-8");
}

/* one step on random floats; the weights after it */
static void step_randomly(const char *slice, struct linear *l, float *w)
{
    struct strategy_program *p;
    const void *input[16];
    struct shape shape[2];
    struct rng rng;
    int replicas, rows;

    init_linear(l, slice, 1);
    rng_init(&rng, 9);
    for (int i = 0; i < BATCH; i++) {
        for (int k = 0; k < INPUTS; k++)
            l->x[0][i][k] = rng_uniform(&rng, -1, 1);
        for (int k = 0; k < OUTPUTS; k++)
            l->y[0][i][k] = rng_uniform(&rng, -1, 1);
    }
    replicas = strategy_replica_count(l->rig.strategy);
    rows = BATCH / replicas;
    shape[0] = f32_shape(DIMS(rows, INPUTS));
    shape[1] = f32_shape(DIMS(rows, OUTPUTS));
    for (int r = 0; r < replicas; r++) {
        input[2 * r] = l->x[0][r * rows];
        input[2 * r + 1] = l->y[0][r * rows];
    }
    p = strategy_function(l->rig.strategy, "train", step, l, true, shape, 2, &l->rig.err);
    train_rig_must(&l->rig, p ? 0 : -1);
    train_rig_must(&l->rig, strategy_run(l->rig.strategy, p, input, NULL, NULL, &l->rig.err));
    train_rig_must(&l->rig, strategy_check_replicas(l->rig.strategy, &l->rig.err));
    train_rig_must(&l->rig, strategy_read(l->rig.strategy, 0, w, &l->rig.err));
}

/* sum over the batch of |x (xw - y)| for weight [k][o], the weights being 1 */
static double sizes_of_terms(const struct linear *l, int k, int o)
{
    double sum = 0;

    for (int i = 0; i < BATCH; i++) {
        double d = -(double)l->y[0][i][o];

        for (int j = 0; j < INPUTS; j++)
            d += (double)l->x[0][i][j];
        sum += fabs((double)l->x[0][i][k] * d);
    }
    return sum;
}

/*
 * The bound of docs/training.md: a gradient is a sum of B terms; in whatever order f32 adds them,
 * it is off by at most B u of the sum of their sizes, so two orders are 2 B u apart, and the
 * update rounds twice more.
 */
TEST(eight_replicas_differ_from_one_core_by_the_order_of_sums)
{
    const double u = ldexp(1, -24), rate = 0.5;
    float one[WEIGHTS], eight[WEIGHTS];
    struct linear a, b;
    int differ = 0;

    step_randomly("v3-1", &a, one);
    step_randomly("v3-8", &b, eight);
    for (int i = 0; i < WEIGHTS; i++) {
        double terms = sizes_of_terms(&a, i / OUTPUTS, i % OUTPUTS);
        double bound = rate / BATCH * 2 * BATCH * u * terms + 2 * u * fabs((double)one[i]);

        differ += one[i] != eight[i];
        if (fabs((double)one[i] - (double)eight[i]) > bound)
            fail_msg("weight %d: %.9g on one core, %.9g on eight; allowed %.3g", i, (double)one[i],
                     (double)eight[i], bound);
    }
    print_message("%d of %d weights differ in their last bits\n", differ, WEIGHTS);
    train_rig_fini(&a.rig);
    train_rig_fini(&b.rig);
}

TEST(samples_that_cannot_be_cut_are_refused)
{
    struct shape shape[2] = {f32_shape(DIMS(BATCH, INPUTS)), f32_shape(DIMS(BATCH, OUTPUTS))};
    struct linear l;

    init_linear(&l, "host", 5);
    assert_null(strategy_function(l.rig.strategy, "train", step, &l, true, shape, 2, &l.rig.err));
    assert_string_equal(l.rig.err.msg, "input f32[16,3] of a replica cannot be cut into 5 micro "
                                       "batches");
    train_rig_fini(&l.rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_follow_the_gradient_by_hand),
        cmocka_unit_test(micro_batches_give_the_same_step),
        cmocka_unit_test(several_steps_in_one_launch_are_the_same_steps),
        cmocka_unit_test(eight_replicas_differ_from_one_core_by_the_order_of_sums),
        cmocka_unit_test(samples_that_cannot_be_cut_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
