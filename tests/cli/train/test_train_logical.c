/*
 * Replicas of several logical devices: does training with cut kernels go as on one device, on the
 * host and on cores?
 */
#include "tests/rigs/train_rig.h"

#include <math.h>

#include "base/rng.h"
#include "stack/nn/nn.h"
#include "tests/rigs/graph_rig.h"
#include "train/step/step.h"

#define BATCH 16
#define INPUTS 24
#define HIDDEN 256                      /* a device's half of it fills a tile */
#define STEPS 4

struct mlp {
    struct train_rig rig;
    struct mesh mesh;
    struct optimizer optimizer;
    struct step_options options;
    bool cuts_input;
    float x[STEPS][BATCH * INPUTS], kernel[2][INPUTS * HIDDEN], loss[STEPS];
};

/* the mean square of what two layers make of the input */
static int forward(struct trace *t, const int *input, int count, void *context,
                   struct step_loss *loss, struct err *e)
{
    const struct mlp *m = context;
    struct graph *g = &t->graph;
    int y;

    assert_int_equal(count, 1);
    if (m->cuts_input && trace_shard(t, input[0], &(struct sharding){{0, 1}}, "x", e))
        return -1;
    y = nn_relu(g, graph_dot(g, input[0], trace_read(t, 0), 1, 0, PRECISION_HIGHEST));
    y = graph_dot(g, y, trace_read(t, 1), 1, 0, PRECISION_HIGHEST);
    loss->sum = nn_scale(g, graph_reduce(g, REDUCE_ADD, nn_multiply(g, y, y), 3), 0.5);
    return 0;
}

static int step(struct trace *t, const int *input, int count, void *context, struct err *e)
{
    const struct mlp *m = context;
    int loss;

    if (step_train(t, &m->options, input, count, &loss, e))
        return -1;
    trace_result(t, "loss", loss);
    return 0;
}

static void add_kernel(struct mlp *m, const char *name, int64_t rows, int64_t columns, int cut)
{
    struct variable v = {.name = name, .shape = f32_shape(DIMS(rows, columns)),
                         .is_trainable = true, .of = -1, .shard_dim = -1,
                         .initializer = {INITIALIZER_GLOROT_UNIFORM, 0, 0}};

    if (m->mesh.axis_count > 1)
        v.sharding.axis[cut] = 1;
    variable_add(&m->rig.set, &v);
}

static void init(struct mlp *m, const char *slice, int replicas, int logical)
{
    int trainable[] = {0, 1};
    struct rng rng;

    memset(m, 0, sizeof(*m));
    m->mesh = (struct mesh){logical > 1 ? 2 : 1, {{"replicas", replicas}, {"model", logical}}};
    train_rig_init(&m->rig, slice, NULL, MODE_BOTH);
    m->rig.options.mesh = &m->mesh;
    m->rig.options.checks_replicas = true;
    add_kernel(m, "k0", INPUTS, HIDDEN, 1);
    add_kernel(m, "k1", HIDDEN, INPUTS, 0);
    optimizer_init(&m->optimizer, RULE_ADAM);
    train_rig_must(&m->rig, optimizer_build(&m->optimizer, &m->rig.set, trainable, 2,
                                            &m->rig.err));
    train_rig_start(&m->rig);
    m->options = (struct step_options){.optimizer = &m->optimizer, .global_batch = BATCH,
                                       .forward = forward, .context = m};
    rng_init(&rng, 3);
    for (int s = 0; s < STEPS; s++)
        for (int i = 0; i < BATCH * INPUTS; i++)
            m->x[s][i] = rng_uniform(&rng, -1, 1);
}

static void train(struct mlp *m)
{
    int replicas = m->mesh.axis[0].size;
    struct shape shape = f32_shape(DIMS(BATCH / replicas, INPUTS));
    struct strategy_program *p = strategy_function(m->rig.strategy, "step", step, m, true, &shape,
                                                   1, &m->rig.err);

    train_rig_must(&m->rig, p ? 0 : -1);
    for (int s = 0; s < STEPS; s++) {
        const void *input[BATCH];
        void *result[BATCH];
        float loss[BATCH];

        for (int r = 0; r < replicas; r++) {
            input[r] = &m->x[s][r * (BATCH / replicas) * INPUTS];
            result[r] = &loss[r];
        }
        train_rig_must(&m->rig, strategy_run(m->rig.strategy, p, input, result, NULL,
                                             &m->rig.err));
        for (int r = 0; r < replicas; r++)
            m->loss[s] += loss[r];
    }
    for (int i = 0; i < 2; i++)
        train_rig_must(&m->rig, strategy_read(m->rig.strategy, i, m->kernel[i], &m->rig.err));
}

static void run(struct mlp *m, const char *slice, int replicas, int logical, bool cuts_input,
                int micro_batches)
{
    init(m, slice, replicas, logical);
    m->cuts_input = cuts_input;
    m->options.micro_batches = micro_batches;
    train(m);
    train_rig_fini(&m->rig);
}

static void expect_near(const float *a, const float *b, int count, double most)
{
    for (int i = 0; i < count; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= most))
            fail_msg("element %d: %.9g on one device, %.9g on several", i, (double)a[i],
                     (double)b[i]);
}

/* Adam moves a weight by about its rate, 0.001, a step; another order of sums by 1e-6 of it */
static void expect_like_one_device(const char *slice, int replicas, int logical, bool cuts_input,
                                   int micro_batches)
{
    struct mlp *one = malloc(sizeof(*one)), *several = malloc(sizeof(*several));

    run(one, "host", 1, 1, false, 1);
    run(several, slice, replicas, logical, cuts_input, micro_batches);
    assert_true(one->loss[0] > one->loss[STEPS - 1]);
    expect_near(one->loss, several->loss, STEPS, 2e-6 * (double)one->loss[0]);
    for (int i = 0; i < 2; i++)
        expect_near(one->kernel[i], several->kernel[i], INPUTS * HIDDEN, 4e-6);
    free(one);
    free(several);
}

TEST(on_the_host_cut_kernels_train_like_whole_ones)
{
    expect_like_one_device("host", 1, 2, false, 1);
    expect_like_one_device("host", 2, 4, false, 1);
    expect_like_one_device("host", 2, 4, true, 1);
}

TEST(on_cores_cut_kernels_train_like_whole_ones)
{
    expect_like_one_device("v3-2", 1, 2, false, 1);
    expect_like_one_device("v3-8", 4, 2, false, 1);
    expect_like_one_device("v3-8", 2, 4, true, 1);
}

/* gradients of micro batches are added up in a loop, whose state is cut like the kernels */
TEST(loops_over_cut_kernels_train_like_one_device)
{
    expect_like_one_device("host", 1, 2, false, 4);
    expect_like_one_device("host", 2, 4, false, 2);
    expect_like_one_device("v3-2", 1, 2, false, 4);
    expect_like_one_device("v3-8", 2, 4, true, 2);
}

static int count_in_loops(const struct graph *g, enum graph_op op, bool is_inside)
{
    int count = 0;

    for (int i = 0; i < g->node_count; i++) {
        count += is_inside && g->node[i].op == op;
        if (g->node[i].called[0])
            count += count_in_loops(g->node[i].called[0], op, true);
    }
    return count;
}

/* per micro batch one sum forwards (and none backwards, for nobody asks for the input's) */
TEST(loops_exchange_no_more_than_straight_steps)
{
    struct mlp *m = malloc(sizeof(*m));
    struct shape shape = f32_shape(DIMS(BATCH, INPUTS));
    const struct strategy_program *p;
    const struct graph *g;

    init(m, "v3-2", 1, 2);
    m->options.micro_batches = 2;
    p = strategy_function(m->rig.strategy, "step", step, m, true, &shape, 1, &m->rig.err);
    train_rig_must(&m->rig, p ? 0 : -1);
    g = strategy_program_graph(p);
    assert_int_equal(count_in_loops(g, HLO_ALL_REDUCE, false), 1);
    assert_int_equal(count_in_loops(g, HLO_ALL_GATHER, false), 0);
    train_rig_fini(&m->rig);
    free(m);
}

/* half of each kernel, and of its slots */
TEST(a_device_holds_its_part_only)
{
    struct mlp *whole = malloc(sizeof(*whole)), *cut = malloc(sizeof(*cut));
    int64_t bytes;

    init(whole, "v3-2", 2, 1);
    init(cut, "v3-2", 1, 2);
    bytes = strategy_variable_bytes(cut->rig.strategy);
    assert_true(strategy_variable_bytes(whole->rig.strategy) > bytes * 3 / 2);
    train_rig_fini(&whole->rig);
    train_rig_fini(&cut->rig);
    free(whole);
    free(cut);
}

TEST(what_does_not_divide_is_refused)
{
    struct mesh mesh = {2, {{"replicas", 1}, {"model", 2}}};
    struct train_rig r;
    struct strategy *s;

    train_rig_init(&r, "host", NULL, MODE_BOTH);
    r.options.mesh = &mesh;
    variable_add(&r.set, &(struct variable){.name = "odd", .shape = f32_shape(DIMS(3, 5)),
                                            .of = -1, .shard_dim = -1, .sharding = {{0, 1}}});
    s = strategy_create(&r.options, &r.err);
    assert_null(s);
    assert_string_equal(r.err.msg, "odd: dimension 1 of f32[3,5] does not divide into 2 parts "
                        "(axis model); the nearest sizes that do are 4 and 6");
    train_rig_fini(&r);
}

TEST(loops_with_conditions_are_refused)
{
    const struct mesh mesh = {2, {{"replicas", 1}, {"model", 2}}};
    struct shape scalar = shape_scalar(DTYPE_S32);
    struct graph g, body, out;
    struct arena a;
    struct err e;

    arena_init(&a);
    graph_init(&g, &a, "g");
    graph_init(&body, &a, "body");
    graph_init(&out, &a, "out");
    graph_output(&body, graph_parameter(&body, scalar, "x"), "x", -1);
    graph_output(&g, graph_while(&g, (int[]){graph_parameter(&g, scalar, "x")}, 1, &body, 3), "y",
                 -1);
    g.node[g.output[0].node].called[1] = &body;
    assert_int_equal(graph_partition(&g, &mesh, NULL, 0, &out, &e), -1);
    assert_non_null(strstr(e.msg, "a loop with a condition cannot be cut for logical devices"));
    graph_fini(&g);
    graph_fini(&body);
    graph_fini(&out);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_the_host_cut_kernels_train_like_whole_ones),
        cmocka_unit_test(on_cores_cut_kernels_train_like_whole_ones),
        cmocka_unit_test(loops_over_cut_kernels_train_like_one_device),
        cmocka_unit_test(loops_exchange_no_more_than_straight_steps),
        cmocka_unit_test(loops_with_conditions_are_refused),
        cmocka_unit_test(a_device_holds_its_part_only),
        cmocka_unit_test(what_does_not_divide_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
