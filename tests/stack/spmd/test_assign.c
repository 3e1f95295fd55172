/*
 * Arrays assigned to logical devices: do the programs of a replica's devices together compute what
 * one program does, and is each operation where it was said to be?
 */
#include "tests/rigs/train_rig.h"

#include <math.h>

#include "base/rng.h"
#include "stack/nn/nn.h"
#include "tests/rigs/graph_rig.h"
#include "tests/generate/random_graph.h"
#include "train/step/loop.h"

#define ENDS_MAX 64
#define REPLICAS_MAX 8

static void start(struct train_rig *r, const char *slice, struct mesh *mesh)
{
    train_rig_init(r, slice, NULL, MODE_BOTH);
    r->options.mesh = mesh;
    r->options.checks_replicas = true;
}

/* ----- random graphs: small integers, every sum is exact in any order */

struct random_step {
    struct graph graph;
    struct arena arena;
    uint64_t seed;
    int device_count;                   /* 1: nothing is assigned */
};

/* the graph's nodes again, some of them assigned; all outputs are results */
static int write_random(struct trace *t, const int *input, int count, void *context, struct err *e)
{
    const struct random_step *s = context;
    const struct graph *g = &s->graph;
    int *moved = arena_array(t->arena, (size_t)g->node_count, sizeof(*moved));
    struct rng rng;

    rng_init(&rng, s->seed);
    assert_int_equal(count, g->parameter_count);
    for (int i = 0; i < g->node_count; i++) {
        const struct graph_node *n = &g->node[i];
        int operand[32], device = (int)rng_below(&rng, (uint32_t)s->device_count);
        bool is_placed = rng_below(&rng, 3) == 0 && s->device_count > 1;

        assert_in_range(n->operand_count, 0, 32);
        for (int k = 0; k < n->operand_count; k++)
            operand[k] = moved[n->operand[k]];
        moved[i] = n->op == HLO_PARAMETER ? input[n->parameter_index]
                                          : graph_add(&t->graph, n, operand, n->operand_count);
        if (is_placed && n->tuple_count == 0 &&
            trace_place(t, moved[i], device, &moved[i], e))
            return -1;
    }
    for (int i = 0; i < g->output_count; i++)
        trace_result(t, g->output[i].name, moved[g->output[i].node]);
    return 0;
}

struct ends {
    const void *input[REPLICAS_MAX * ENDS_MAX];
    void *result[REPLICAS_MAX * ENDS_MAX];
};

static void make_ends(struct random_step *s, int replicas, struct ends *x)
{
    const struct graph *g = &s->graph;

    assert_in_range(g->parameter_count, 0, ENDS_MAX);
    assert_in_range(g->output_count, 1, ENDS_MAX);
    for (int r = 0; r < replicas; r++) {
        for (int i = 0; i < g->parameter_count; i++)
            x->input[r * g->parameter_count + i] =
                random_graph_input(g, i, s->seed + (uint64_t)r, &s->arena);
        for (int i = 0; i < g->output_count; i++)
            x->result[r * g->output_count + i] = arena_array(
                &s->arena, (size_t)shape_elems(&g->node[g->output[i].node].shape), 4);
    }
}

static int64_t run_random(struct random_step *s, const char *slice, struct mesh mesh,
                          struct ends *x)
{
    struct shape shape[ENDS_MAX];
    struct strategy_program *p;
    struct train_rig r;
    int64_t sent = 0;

    s->device_count = mesh_stride(&mesh, 0);
    make_ends(s, mesh.axis[0].size, x);
    for (int i = 0; i < s->graph.parameter_count; i++)
        shape[i] = s->graph.node[s->graph.parameter[i]].shape;
    start(&r, slice, &mesh);
    train_rig_start(&r);
    p = strategy_function(r.strategy, "random", write_random, s, true, shape,
                          s->graph.parameter_count, &r.err);
    train_rig_must(&r, p ? 0 : -1);
    for (int i = 0; i < 2; i++)
        train_rig_must(&r, strategy_run(r.strategy, p, x->input, x->result, NULL, &r.err));
    for (int d = 0; r.machine && d < s->device_count && s->device_count > 1; d++)
        sent += strategy_program_part(r.strategy, p, d).sent_bytes;
    train_rig_fini(&r);
    return sent;
}

/* bits, but for the sign of zeros */
static void expect_same(const struct random_step *s, const char *slice, const struct ends *a,
                        const struct ends *b, int replicas)
{
    const struct graph *g = &s->graph;

    for (int i = 0; i < replicas * g->output_count; i++) {
        const struct shape *shape = &g->node[g->output[i % g->output_count].node].shape;
        const uint32_t *x = a->result[i], *y = b->result[i];

        for (int64_t k = 0; k < shape_elems(shape); k++)
            if (x[k] != y[k] && ((x[k] | y[k]) << 1 || shape->dtype == DTYPE_S32))
                fail_msg("%s, seed %llu: replica %d, output %s, element %lld: %08x on the host, "
                         "%08x", slice, (unsigned long long)s->seed, i / g->output_count,
                         g->output[i % g->output_count].name, (long long)k, x[k], y[k]);
    }
}

static void try_random(const char *slice, int replicas, int logical, uint64_t seed)
{
    struct random_step s = {.seed = seed};
    struct ends whole, cut;
    struct mesh one = {1, {{"replicas", replicas}}};
    struct mesh mesh = {2, {{"replicas", replicas}, {"model", logical}}};

    arena_init(&s.arena);
    graph_init(&s.graph, &s.arena, "random");
    random_graph_build(&s.graph, &(struct random_graph){.seed = seed, .op_count = 24,
                                                        .replica_count = replicas,
                                                        .is_small = true});
    run_random(&s, "host", one, &whole);
    assert_true(run_random(&s, slice, mesh, &cut) > 0);
    expect_same(&s, slice, &whole, &cut, replicas);
    graph_fini(&s.graph);
    arena_fini(&s.arena);
}

TEST(random_steps_give_the_bits_of_one_device)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        try_random("v2-8", 4, 2, seed);
        try_random("v3-8", 2, 4, seed + 10);
        try_random("v5e-4", 1, 4, seed + 20);
    }
}

/* ----- two layers on two devices */

#define BATCH 16
#define INPUTS 24
#define HIDDEN 128
#define STEPS_MAX 3

struct mlp {
    struct train_rig rig;
    struct mesh mesh;
    bool assigns;
    float x[BATCH * INPUTS], kernel[2][INPUTS * HIDDEN], loss[STEPS_MAX];
    const struct strategy_program *program;
};

/* the first step is exact in any order: x of -2..2, weights of -1..1, a rate of 2^-18 */
static int step(struct trace *t, const int *input, int count, void *context, struct err *e)
{
    const struct mlp *m = context;
    struct graph *g = &t->graph;
    int w[2] = {trace_read(t, 0), trace_read(t, 1)}, gradient[2], y, loss;

    assert_int_equal(count, 1);
    y = nn_relu(g, graph_dot(g, input[0], w[0], 1, 0, PRECISION_HIGHEST));
    if (m->assigns && trace_place(t, y, 0, &y, e))
        return -1;
    y = graph_dot(g, y, w[1], 1, 0, PRECISION_HIGHEST);
    if (m->assigns && trace_place(t, y, 1, &y, e))
        return -1;
    loss = nn_scale(g, graph_reduce(g, REDUCE_ADD, nn_multiply(g, y, y), 3), 0.5);
    if (graph_grad(g, loss, w, 2, gradient, e))
        return -1;
    for (int i = 0; i < 2; i++)
        trace_assign(t, i, graph_binary(g, HLO_SUBTRACT, w[i],
                                        nn_scale(g, graph_all_reduce(g, gradient[i]),
                                                                  1.0 / (1 << 18))));
    trace_result(t, "loss", loss);
    return 0;
}

static void init(struct mlp *m, const char *slice, int replicas, int logical, bool assigns)
{
    memset(m, 0, sizeof(*m));
    m->assigns = assigns;
    m->mesh = (struct mesh){logical > 1 ? 2 : 1, {{"replicas", replicas}, {"model", logical}}};
    start(&m->rig, slice, &m->mesh);
    for (int i = 0; i < 2; i++)
        variable_add(&m->rig.set, &(struct variable){
            .name = i ? "k1" : "k0", .is_trainable = true, .of = -1, .shard_dim = -1,
            .shape = i ? f32_shape(DIMS(HIDDEN, INPUTS)) : f32_shape(DIMS(INPUTS, HIDDEN))});
    train_rig_start(&m->rig);
    for (int i = 0; i < BATCH * INPUTS; i++)
        m->x[i] = (float)(i % 5 - 2);
    for (int v = 0; v < 2; v++) {
        for (int i = 0; i < INPUTS * HIDDEN; i++)
            m->kernel[v][i] = (float)((i * 7 + v) % 3 - 1);
        train_rig_must(&m->rig, strategy_write(m->rig.strategy, v, m->kernel[v], &m->rig.err));
    }
}

static void train(struct mlp *m, int steps)
{
    int replicas = m->mesh.axis[0].size;
    struct shape shape = f32_shape(DIMS(BATCH / replicas, INPUTS));
    struct strategy_program *p = strategy_function(m->rig.strategy, "step", step, m, true, &shape,
                                                   1, &m->rig.err);
    const void *input[BATCH];
    void *result[BATCH];
    float loss[BATCH];

    train_rig_must(&m->rig, p ? 0 : -1);
    m->program = p;
    for (int r = 0; r < replicas; r++) {
        input[r] = &m->x[r * (BATCH / replicas) * INPUTS];
        result[r] = &loss[r];
    }
    for (int s = 0; s < steps; s++) {
        train_rig_must(&m->rig, strategy_run(m->rig.strategy, p, input, result, NULL,
                                             &m->rig.err));
        for (int r = 0; r < replicas; r++)
            m->loss[s] += loss[r];
    }
    for (int v = 0; v < 2; v++)
        train_rig_must(&m->rig, strategy_read(m->rig.strategy, v, m->kernel[v], &m->rig.err));
}

static void expect_same_training(const char *slice, bool assigns, int replicas, int logical,
                                 int steps, const struct mlp *expected)
{
    struct mlp *m = malloc(sizeof(*m));

    init(m, slice, replicas, logical, assigns);
    train(m, steps);
    assert_memory_equal(m->loss, expected->loss, sizeof(m->loss));
    assert_memory_equal(m->kernel, expected->kernel, sizeof(m->kernel));
    train_rig_fini(&m->rig);
    free(m);
}

/*
 * Loss and new weights, which are on all devices and replicas (the strategy checks that): of an
 * exact step those of the host, of several those of one core with the same kernels.
 */
TEST(layers_on_devices_of_their_own_train_as_on_one)
{
    struct mlp *m = malloc(sizeof(*m));

    init(m, "host", 1, 1, false);
    train(m, 1);
    assert_true(m->loss[0] > 0);
    expect_same_training("v2-8", false, 1, 1, 1, m);
    expect_same_training("host", true, 1, 2, 1, m);
    expect_same_training("host", true, 2, 2, 1, m);
    expect_same_training("v2-8", true, 4, 2, 1, m);
    expect_same_training("v3-8", true, 2, 4, 1, m);
    train_rig_fini(&m->rig);
    init(m, "v2-8", 1, 1, false);
    train(m, STEPS_MAX);
    assert_true(m->loss[0] > m->loss[STEPS_MAX - 1] && m->loss[STEPS_MAX - 1] > 0);
    expect_same_training("v2-2", true, 1, 2, STEPS_MAX, m);
    train_rig_fini(&m->rig);
    free(m);
}

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

static void expect_part(const struct mlp *m, int device, int dots, int64_t sent_elems)
{
    struct strategy_part part = strategy_program_part(m->rig.strategy, m->program, device);

    assert_int_equal(count_op(&part.module->graph, HLO_DOT), dots);
    assert_int_equal(part.sent_bytes, sent_elems * 4);
}

/*
 * Device 0 has the first product and its weights' gradient, device 1 the second one and both
 * gradients of it. The hidden layer crosses one way, its gradient the other, and new weights both.
 * Weights of 24 x 128 and a layer of 16 x 128 are whole tiles; 128 x 24 is stored as 128 x 128.
 */
TEST(operations_are_where_they_were_assigned)
{
    struct mlp *m = malloc(sizeof(*m));

    init(m, "v2-2", 1, 2, true);
    train(m, 1);
    expect_part(m, 0, 2, BATCH * HIDDEN + INPUTS * HIDDEN);
    expect_part(m, 1, 3, BATCH * HIDDEN + HIDDEN * 128);
    train_rig_fini(&m->rig);
    free(m);
}

/* ----- many messages */

#define LINKS 12

/*
 * A chain from device to device, and of each link a value that another device needs at the very
 * end only: more of them than there are slots.
 */
static int write_chain(struct trace *t, const int *input, int count, void *context, struct err *e)
{
    struct graph *g = &t->graph;
    int devices = *(int *)context, late[LINKS], x = input[0], sum;

    assert_int_equal(count, 1);
    for (int i = 0; i < LINKS; i++) {
        x = graph_binary(g, HLO_ADD, x, x);
        if (devices > 1 && trace_place(t, x, i * 5 % devices, &x, e))
            return -1;
        late[i] = graph_unary(g, HLO_NEGATE, x);
        if (devices > 1 && trace_place(t, late[i], (i * 5 + i / 3) % devices, &late[i], e))
            return -1;
    }
    sum = late[LINKS - 1];
    for (int i = LINKS - 2; i >= 0; i--) {
        sum = graph_binary(g, HLO_SUBTRACT, sum, late[i]);
        if (devices > 1 && trace_place(t, sum, (i + 1) % devices, &sum, e))
            return -1;
    }
    trace_result(t, "sum", sum);
    trace_result(t, "x", x);
    return 0;
}

static void run_chain(const char *slice, int devices, float *sum, float *last)
{
    struct mesh mesh = {2, {{"replicas", 1}, {"model", devices}}};
    struct shape shape = f32_shape(DIMS(8, 200));
    struct strategy_program *p;
    struct train_rig r;
    float x[8 * 200];

    for (int i = 0; i < 8 * 200; i++)
        x[i] = (float)(i % 11 - 5);
    start(&r, slice, &mesh);
    train_rig_start(&r);
    p = strategy_function(r.strategy, "chain", write_chain, &devices, true, &shape, 1, &r.err);
    train_rig_must(&r, p ? 0 : -1);
    for (int i = 0; i < 2; i++)
        train_rig_must(&r, strategy_run(r.strategy, p, (const void *[]){x},
                                        (void *[]){sum, last}, NULL, &r.err));
    train_rig_fini(&r);
}

TEST(more_values_wait_than_there_are_slots)
{
    float expected[2][8 * 200], is[2][8 * 200];

    run_chain("host", 1, expected[0], expected[1]);
    run_chain("v2-2", 2, is[0], is[1]);
    assert_memory_equal(is, expected, sizeof(is));
    run_chain("v3-8", 8, is[0], is[1]);
    assert_memory_equal(is, expected, sizeof(is));
}

/* ----- steps in a loop */

#define ROUNDS 5
#define SIDE 128

/* device 0 is done with its part long before the others, and nothing comes back to it */
static int write_one_way(struct trace *t, const int *input, struct err *e)
{
    struct graph *g = &t->graph;
    int early[3], y;

    for (int i = 0; i < 3; i++) {
        early[i] = nn_scale(g, input[0], i + 1);
        if (trace_place(t, early[i], 0, &early[i], e))
            return -1;
    }
    y = early[0];
    for (int i = 0; i < 4; i++) {
        y = graph_dot(g, y, trace_read(t, 0), 1, 0, PRECISION_HIGHEST);
        if (trace_place(t, y, 1 + i % 2, &y, e))
            return -1;
    }
    for (int i = 1; i < 3; i++)
        y = graph_binary(g, HLO_ADD, y, early[i]);
    trace_result(t, "y", y);
    return 0;
}

static int write_rounds(struct trace *t, const int *input, int count, void *context,
                        struct err *e)
{
    struct shape one = f32_shape(DIMS(SIDE, SIDE));
    struct trace body;
    int own, status;

    (void)context;
    assert_int_equal(count, 1);
    trace_init(&body, t->arena, "step", t->set, t->replica_count, true);
    body.mesh = t->mesh;
    own = trace_input(&body, "x", &one);
    status = write_one_way(&body, &own, e);
    if (!status) {
        trace_finish(&body);
        loop_steps(t, &body, ROUNDS, input);
    }
    trace_fini(&body);
    return status;
}

static void run_rounds(const char *slice, int replicas, int devices, const float *x,
                       const float *w, float *y)
{
    struct mesh mesh = {2, {{"replicas", replicas}, {"model", devices}}};
    struct shape shape = f32_shape(DIMS(ROUNDS, SIDE, SIDE));
    struct strategy_program *p;
    const void *input[REPLICAS_MAX];
    void *result[REPLICAS_MAX];
    struct train_rig r;

    start(&r, slice, &mesh);
    variable_add(&r.set, &(struct variable){.name = "w", .shape = f32_shape(DIMS(SIDE, SIDE)),
                                            .of = -1, .shard_dim = -1});
    train_rig_start(&r);
    train_rig_must(&r, strategy_write(r.strategy, 0, w, &r.err));
    p = strategy_function(r.strategy, "rounds", write_rounds, NULL, true, &shape, 1, &r.err);
    train_rig_must(&r, p ? 0 : -1);
    for (int i = 0; i < replicas; i++) {
        input[i] = x;
        result[i] = y;
    }
    for (int i = 0; i < 2; i++)
        train_rig_must(&r, strategy_run(r.strategy, p, input, result, NULL, &r.err));
    train_rig_fini(&r);
}

/* nobody may send into a slot of the round before that has not been read */
TEST(rounds_of_a_loop_wait_for_slots)
{
    size_t all = ROUNDS * SIDE * SIDE;
    float *x = malloc(all * 4), *w = calloc(SIDE * SIDE, 4), *host = malloc(all * 4);
    float *y = malloc(all * 4);

    for (size_t i = 0; i < all; i++)
        x[i] = (float)((i * 7 + i / SIDE / SIDE) % 13) - 6;
    for (int i = 0; i < SIDE; i++)      /* rows moved round and doubled */
        w[i * SIDE + (i + 1) % SIDE] = 2;
    run_rounds("host", 1, 4, x, w, host);
    run_rounds("v3-8", 2, 4, x, w, y);
    assert_memory_equal(y, host, all * 4);
    run_rounds("v5e-4", 1, 4, x, w, y);
    assert_memory_equal(y, host, all * 4);
    free(x);
    free(w);
    free(host);
    free(y);
}

/* ----- refused */

static int write_wrong(struct trace *t, const int *input, int count, void *context, struct err *e)
{
    int kind = *(int *)context, y = graph_binary(&t->graph, HLO_ADD, input[0], input[0]);

    assert_int_equal(count, 1);
    if (kind < 2)
        return trace_place(t, y, kind ? 2 : -1, &y, e);
    if (trace_place(t, y, 1, &y, e))
        return -1;
    if (kind == 2 && trace_shard(t, input[0], &(struct sharding){{0, 1}}, "x", e))
        return -1;
    if (kind == 3)
        y = graph_binary(&t->graph, HLO_ADD, y, trace_read(t, 0));
    trace_result(t, "y", y);
    return 0;
}

TEST(wrong_devices_and_cuts_beside_are_refused)
{
    static const char *const message[] = {
        "assign to logical device -1: a replica has 2, allowed are 0..1",
        "assign to logical device 2: a replica has 2, allowed are 0..1",
        "wrong: input.0 is split or replicated over the logical devices, and add.1 assigned to "
        "device 1; a step does one or the other",
        "wrong: cut is split or replicated over the logical devices, and add.1 assigned to "
        "device 1; a step does one or the other"};
    struct mesh mesh = {2, {{"replicas", 1}, {"model", 2}}};
    struct shape shape = f32_shape(DIMS(8, 4));
    struct train_rig r;

    start(&r, "v2-2", &mesh);
    variable_add(&r.set, &(struct variable){.name = "cut", .shape = shape, .of = -1,
                                            .shard_dim = -1, .sharding = {{1}}});
    train_rig_start(&r);
    for (int kind = 0; kind < 4; kind++) {
        assert_null(strategy_function(r.strategy, "wrong", write_wrong, &kind, true, &shape, 1,
                                      &r.err));
        assert_string_equal(r.err.msg, message[kind]);
    }
    train_rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_steps_give_the_bits_of_one_device),
        cmocka_unit_test(layers_on_devices_of_their_own_train_as_on_one),
        cmocka_unit_test(operations_are_where_they_were_assigned),
        cmocka_unit_test(more_values_wait_than_there_are_slots),
        cmocka_unit_test(rounds_of_a_loop_wait_for_slots),
        cmocka_unit_test(wrong_devices_and_cuts_beside_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
