/*
 * The weight update in parts, and variables in parts, too, against whole ones: the same weights to
 * the bit where gradients are sums of whole numbers, on the host and on simulated cores; and what
 * each replica holds.
 */
#include "tests/rigs/train_rig.h"

#include "base/floats.h"
#include "base/rng.h"
#include "stack/nn/nn.h"
#include "tests/rigs/graph_rig.h"
#include "train/step/sharded_update.h"
#include "train/step/step.h"

#define BATCH 16
#define WIDTH 256
#define STEPS 3
#define VARIABLES 4

enum held { WHOLE, SLOTS_IN_PARTS, ALL_IN_PARTS };

static const struct { const char *name; int rank; int64_t dim[3]; int along; } variables[] = {
    {"dense/kernel", 2, {128, WIDTH}, 0},       /* 16 rows for each of 8 */
    {"dense/bias", 1, {WIDTH}, -1},
    {"stack/kernel", 3, {9, 256, WIDTH}, 1},
    {"small/kernel", 2, {3, WIDTH}, -1},
};

struct model {
    struct train_rig rig;
    struct optimizer optimizer;
    struct step_options options;
    struct strategy_program *program;
    float x[STEPS][BATCH][WIDTH];
    int split;
};

static void check_dim(int rank, const int64_t *dim, int replicas, int along)
{
    struct shape s = f32_shape(rank, dim);

    assert_int_equal(array_dim_of_parts(&s, replicas), along);
}

TEST(what_can_be_split)
{
    for (size_t i = 0; i < COUNT_OF(variables); i++)
        check_dim(variables[i].rank, variables[i].dim, 8, variables[i].along);
    check_dim(DIMS(64, 10), 8, 0);
    check_dim(DIMS(68, 10), 8, -1);
    check_dim(DIMS(60, 1024), 8, 1);
    check_dim(DIMS(3, 3, 256, 256), 8, 2);
    check_dim(DIMS(3, 3, 3, 256), 8, -1);
    check_dim(DIMS(3, 3, 3, 256), 2, 3);
    check_dim(DIMS(8, 3, 3, 10), 8, 0);
    check_dim(DIMS(1024), 8, 0);
    check_dim(DIMS(1024), 3, -1);
    check_dim(0, NULL, 8, -1);
}

/* linear in all variables: sum of x times each, whole numbers */
static int forward(struct trace *t, const int *input, int count, void *context,
                   struct step_loss *loss, struct err *e)
{
    struct graph *g = &t->graph;
    int sum = graph_reduce(g, REDUCE_ADD, input[0], 1), total = NODE_NONE;      /* [WIDTH] */

    (void)context;
    (void)count;
    (void)e;
    for (int i = 0; i < VARIABLES; i++) {
        int w = trace_read_whole(t, i), rank = variables[i].rank, dims = rank - 1, part;

        part = graph_broadcast(g, sum, g->node[w].shape, &dims);
        part = graph_reduce(g, REDUCE_ADD, nn_multiply(g, part, w), (1u << rank) - 1);
        total = total == NODE_NONE ? part : nn_add(g, total, part);
    }
    loss->sum = total;
    return 0;
}

static int step(struct trace *t, const int *input, int count, void *context, struct err *e)
{
    const struct model *m = context;
    int loss;

    if (step_train(t, &m->options, input, count, &loss, e))
        return -1;
    trace_result(t, "loss", loss);
    return 0;
}

static void add_variables(struct model *m, enum optimizer_rule rule, const char *hyper,
                          enum held held, int replicas)
{
    struct initializer some = {.kind = INITIALIZER_RANDOM_UNIFORM, .a = -1, .b = 1};
    int trainable[VARIABLES];

    for (int i = 0; i < VARIABLES; i++) {
        struct shape s = f32_shape(variables[i].rank, variables[i].dim);

        trainable[i] = variable_add_trainable(&m->rig.set, variables[i].name, &s, &some);
    }
    optimizer_init(&m->optimizer, rule);
    if (hyper)
        train_rig_must(&m->rig, optimizer_set(&m->optimizer, hyper, 1, &m->rig.err));
    train_rig_must(&m->rig, optimizer_build(&m->optimizer, &m->rig.set, trainable, VARIABLES,
                                            &m->rig.err));
    m->split = held == WHOLE ? 0 : sharded_update_choose(&m->optimizer, replicas);
    if (held == ALL_IN_PARTS)
        sharded_update_hold_parts(&m->optimizer);
}

static enum run_mode mode = MODE_BOTH;

static void open_model(struct model *m, const char *slice, enum optimizer_rule rule,
                       const char *hyper, enum held held)
{
    struct rng rng;

    memset(m, 0, sizeof(*m));
    train_rig_init(&m->rig, slice, NULL, mode);
    m->rig.options.replica_count = 8;
    add_variables(m, rule, hyper, held, 8);
    train_rig_start(&m->rig);
    m->options = (struct step_options){.optimizer = &m->optimizer, .global_batch = BATCH,
                                       .forward = forward};
    rng_init(&rng, 3);
    for (int s = 0; s < STEPS; s++)
        for (int i = 0; i < BATCH * WIDTH; i++)
            m->x[s][i / WIDTH][i % WIDTH] = (float)rng_below(&rng, 9) - 4;
}

/* cycles of a step */
static cycle_t train(struct model *m)
{
    struct strategy_run last;
    struct shape s = f32_shape(DIMS(BATCH / 8, WIDTH));
    struct err *e = &m->rig.err;

    m->program = strategy_function(m->rig.strategy, "step", step, m, true, &s, 1, e);
    train_rig_must(&m->rig, m->program ? 0 : -1);
    for (int k = 0; k < STEPS; k++) {
        const void *input[8];

        for (int r = 0; r < 8; r++)
            input[r] = m->x[k][r * BATCH / 8];
        train_rig_must(&m->rig, strategy_run(m->rig.strategy, m->program, input, NULL, &last, e));
    }
    if (mode == MODE_BOTH)
        train_rig_must(&m->rig, strategy_check_replicas(m->rig.strategy, e));
    return last.cycles;
}

static void compare(struct model *a, struct model *b)
{
    for (int v = 0; v < a->rig.set.count; v++) {
        const struct shape *s = &a->rig.set.variable[v].shape;
        size_t bytes = (size_t)shape_elems(s) * 4;
        float *x = arena_alloc(&a->rig.arena, bytes), *y = arena_alloc(&a->rig.arena, bytes);

        train_rig_must(&a->rig, strategy_read(a->rig.strategy, v, x, &a->rig.err));
        train_rig_must(&b->rig, strategy_read(b->rig.strategy, v, y, &b->rig.err));
        for (int64_t i = 0; i < shape_elems(s); i++)
            if (!(x[i] == y[i]))
                fail_msg("%s, element %d: %.9g in parts, %.9g whole", a->rig.set.variable[v].name,
                         (int)i, (double)x[i], (double)y[i]);
    }
}

static int count_of(const struct graph *g, enum graph_op op)
{
    int count = 0;

    for (int i = 0; i < g->node_count; i++)
        count += g->node[i].op == op;
    return count;
}

/* kernels of a program on cores that come from this line */
static int kernels_of(const struct model *m, const char *source)
{
    const struct module *made = strategy_program_module(m->program);
    int count = 0;

    for (int i = 0; made && i < made->kernel_count; i++)
        count += strcmp(made->kernel[i].source, source) == 0;
    return made ? count : 1;
}

/* of replicas that have all of a variable each cuts its part out before the update */
static void check_parts(struct model *whole, const char *slice, enum optimizer_rule rule,
                        const char *hyper, enum held held)
{
    const struct graph *g;
    struct model parts;

    open_model(&parts, slice, rule, hyper, held);
    assert_int_equal(parts.split, 2);
    train(&parts);
    compare(&parts, whole);
    g = strategy_program_graph(parts.program);
    assert_int_equal(count_of(g, HLO_REDUCE_SCATTER), 2);
    assert_int_equal(count_of(g, HLO_ALL_GATHER), 2);
    assert_int_equal(count_of(g, HLO_DYNAMIC_SLICE), held == ALL_IN_PARTS ? 0 : 2);
    if (!hyper) {
        assert_int_equal(kernels_of(&parts, "Adam/dense/kernel"), 1);
        assert_int_equal(kernels_of(&parts, "Adam/stack/kernel"), 1);
    }
    train_rig_fini(&parts.rig);
}

static void check(const char *slice, enum optimizer_rule rule, const char *hyper)
{
    struct model whole;

    open_model(&whole, slice, rule, hyper, WHOLE);
    train(&whole);
    assert_int_equal(count_of(strategy_program_graph(whole.program), HLO_REDUCE_SCATTER), 0);
    check_parts(&whole, slice, rule, hyper, SLOTS_IN_PARTS);
    check_parts(&whole, slice, rule, hyper, ALL_IN_PARTS);
    train_rig_fini(&whole.rig);
}

TEST(parts_are_updated_as_the_whole_on_the_host)
{
    check("host", RULE_ADAM, NULL);
    check("host", RULE_ADAM, "clipvalue");
}

TEST(parts_are_updated_as_the_whole_on_cores)
{
    check("v2-8", RULE_ADAM, NULL);
    check("v3-8", RULE_ADAM, "use_ema");
}

/* 8 replicas hold an eighth of the slots that are split, and of their variables if asked for */
TEST(an_eighth_is_held)
{
    int64_t elems = 128 * WIDTH + 9 * 256 * WIDTH, bytes[3];

    for (int held = WHOLE; held <= ALL_IN_PARTS; held++) {
        struct model m;

        open_model(&m, "v3-8", RULE_ADAM, NULL, (enum held)held);
        bytes[held] = strategy_variable_bytes(m.rig.strategy);
        train_rig_fini(&m.rig);
    }
    assert_int_equal(bytes[WHOLE] - bytes[SLOTS_IN_PARTS], 2 * 4 * elems / 8 * 7);
    assert_int_equal(bytes[SLOTS_IN_PARTS] - bytes[ALL_IN_PARTS], 4 * elems / 8 * 7);
}

/* what a bf16 policy's layers read */
static int look(struct trace *t, const int *input, int count, void *context, struct err *e)
{
    (void)input;
    (void)count;
    (void)context;
    (void)e;
    for (int i = 0; i < VARIABLES; i++)
        trace_result(t, variables[i].name,
                     graph_convert(&t->graph, trace_read_whole(t, i), DTYPE_BF16));
    return 0;
}

static int64_t elems_of(const struct model *m, int variable)
{
    return shape_elems(&m->rig.set.variable[variable].shape);
}

static void check_seen(struct model *m, int variable, const float *seen)
{
    float *x = arena_array(&m->rig.arena, (size_t)elems_of(m, variable), sizeof(*x));

    train_rig_must(&m->rig, strategy_read(m->rig.strategy, variable, x, &m->rig.err));
    for (int64_t i = 0; i < elems_of(m, variable); i++)
        if (!(seen[i] == f32_round_to_bf16(x[i])))
            fail_msg("%s, element %d: %.9g, read as %.9g", variables[variable].name, (int)i,
                     (double)x[i], (double)seen[i]);
}

static void check_look(const char *slice)
{
    void *result[8 * VARIABLES] = {NULL};
    struct strategy_program *p;
    struct model m;

    open_model(&m, slice, RULE_ADAM, NULL, ALL_IN_PARTS);
    for (int i = 0; i < 8 * VARIABLES; i++)
        if (i < VARIABLES || i >= 7 * VARIABLES)
            result[i] = arena_array(&m.rig.arena, (size_t)elems_of(&m, i % VARIABLES), 4);
    p = strategy_function(m.rig.strategy, "look", look, &m, false, NULL, 0, &m.rig.err);
    train_rig_must(&m.rig, p ? 0 : -1);
    train_rig_must(&m.rig, strategy_run(m.rig.strategy, p, NULL, result, NULL, &m.rig.err));
    for (int i = 0; i < 8 * VARIABLES; i++)
        if (result[i])
            check_seen(&m, i % VARIABLES, result[i]);
    train_rig_fini(&m.rig);
}

TEST(parts_are_read_as_the_whole)
{
    check_look("host");
    check_look("v3-8");
}

/* cycles are the same without values */
TEST(parts_go_in_timing_mode)
{
    cycle_t cycles[2];

    for (int i = 0; i < 2; i++) {
        struct model m;

        mode = i ? MODE_TIMING : MODE_BOTH;
        open_model(&m, "v3-8", RULE_ADAM, NULL, ALL_IN_PARTS);
        cycles[i] = train(&m);
        train_rig_fini(&m.rig);
    }
    mode = MODE_BOTH;
    assert_int_equal(cycles[0], cycles[1]);
}

/* of plain gradient descent nothing is kept, and of one replica nothing is split */
TEST(nothing_to_split)
{
    struct model m;

    open_model(&m, "host", RULE_SGD, NULL, ALL_IN_PARTS);
    assert_int_equal(m.split, 0);
    assert_int_equal(sharded_update_choose(&m.optimizer, 1), 0);
    train_rig_fini(&m.rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_can_be_split),
        cmocka_unit_test(parts_are_updated_as_the_whole_on_the_host),
        cmocka_unit_test(parts_are_updated_as_the_whole_on_cores),
        cmocka_unit_test(an_eighth_is_held),
        cmocka_unit_test(parts_are_read_as_the_whole),
        cmocka_unit_test(parts_go_in_timing_mode),
        cmocka_unit_test(nothing_to_split),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
