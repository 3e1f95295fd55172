/*
 * Attention whose heads the compiler lays into rows: are all values, forwards and backwards, those
 * of the graph as it is written, and is nothing moved where heads end with tiles?
 *
 * In place of a softmax stands a clamp, so that whole numbers stay whole and results in f32 are
 * compared bit for bit, on every generation.
 */
#include "base/rng.h"
#include "base/units.h"
#include "keras/trace/trace.h"
#include "stack/passes/pass.h"
#include "tests/rigs/module_rig.h"
#include "tests/test.h"

struct attention {
    int64_t batch, positions, width, heads, size;
    enum graph_dtype dtype;
    bool has_bias, shares_input;
};

#define SHAPE(dtype, ...) shape_make(dtype, (int)COUNT_OF(((int64_t[]){__VA_ARGS__})), \
                                     (int64_t[]){__VA_ARGS__})
#define DIMS(...) ((int[]){__VA_ARGS__})

static int parameter(struct graph *g, struct shape s, enum graph_dtype dtype, const char *name)
{
    return graph_convert(g, graph_parameter(g, s, name), dtype);
}

static int project(struct graph *g, const struct attention *t, int x, const char *name)
{
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {2}};
    int kernel = parameter(g, SHAPE(DTYPE_F32, t->width, t->heads, t->size), t->dtype, name);
    int y = graph_dot_general(g, x, kernel, &dot, t->dtype, PRECISION_DEFAULT), bias;

    if (!t->has_bias)
        return y;
    bias = parameter(g, SHAPE(DTYPE_F32, t->heads, t->size), t->dtype,
                     arena_printf(g->arena, "%s.bias", name));
    return graph_binary(g, HLO_ADD, y, graph_broadcast(g, bias, g->node[y].shape, DIMS(2, 3)));
}

/* of [batch, positions, heads, size] each, as Keras writes it */
static int attend(struct graph *g, const struct attention *t, int q, int k, int v)
{
    struct graph_dot score = {.batch_count = 2, .lhs_batch = {0, 2}, .rhs_batch = {0, 2},
                              .contract_count = 1, .lhs_contract = {3}, .rhs_contract = {3}};
    struct graph_dot mix = {.batch_count = 2, .lhs_batch = {0, 1}, .rhs_batch = {0, 2},
                            .contract_count = 1, .lhs_contract = {3}, .rhs_contract = {1}};
    int s = graph_dot_general(g, q, k, &score, DTYPE_F32, PRECISION_DEFAULT);

    s = graph_binary(g, HLO_MINIMUM, s, graph_splat(g, s, 2));
    s = graph_convert(g, graph_binary(g, HLO_MAXIMUM, s, graph_splat(g, s, -2)), t->dtype);
    s = graph_dot_general(g, s, v, &mix, t->dtype, PRECISION_DEFAULT);
    return graph_transpose(g, s, DIMS(0, 2, 1, 3));
}

/* its output and the gradients of all parameters are outputs */
static void build(struct graph *g, const struct attention *t)
{
    struct graph_dot out = {.contract_count = 2, .lhs_contract = {2, 3}, .rhs_contract = {0, 1}};
    struct shape s = SHAPE(DTYPE_F32, t->batch, t->positions, t->width);
    int x = parameter(g, s, t->dtype, "x");
    int from = t->shares_input ? x : parameter(g, s, t->dtype, "from");
    int q = project(g, t, x, "query"), k = project(g, t, from, "key");
    int y = attend(g, t, q, k, project(g, t, from, "value")), loss, wanted;
    int wrt[16], gradient[16], count = g->parameter_count;
    struct err e;

    y = graph_dot_general(g, y, parameter(g, SHAPE(DTYPE_F32, t->heads, t->size, t->width),
                                          t->dtype, "output"), &out, DTYPE_F32, PRECISION_DEFAULT);
    graph_output(g, y, "y", -1);
    wanted = graph_parameter(g, s, "wanted");
    loss = graph_reduce(g, REDUCE_ADD, graph_binary(g, HLO_MULTIPLY, y, wanted), 7);
    for (int i = 0; i < count; i++)
        wrt[i] = g->parameter[i];
    assert_int_equal(graph_grad(g, loss, wrt, count, gradient, &e), 0);
    for (int i = 0; i < count; i++)
        graph_output(g, gradient[i], g->node[wrt[i]].name, -1);
}

static void check(const struct attention *t, const char *slice, uint64_t seed)
{
    struct module_rig rig = {.slice = slice};
    struct arena a;
    struct graph g;

    if (t->dtype == DTYPE_BF16) {       /* some are not rounded inside a kernel: sums up to 10^5 */
        rig.relative = 0x1p-6;
        rig.absolute = 1024;
    }
    arena_init(&a);
    graph_init(&g, &a, slice);
    build(&g, t);
    module_rig_check(&rig, &g, seed);
    graph_fini(&g);
    arena_fini(&a);
}

TEST(attention_is_the_same_bits_on_every_generation)
{
    static const char *const slices[] = {"v2-1", "v3-1", "v4", "v5e", "v5p", "v6e"};
    static const struct attention t = {2, 128, 16, 4, 32, DTYPE_F32, true, true};
    static const struct attention narrow = {1, 128, 16, 2, 16, DTYPE_BF16, false, false};

    for (size_t i = 0; i < COUNT_OF(slices); i++) {
        check(&t, slices[i], i);
        check(&narrow, slices[i], 100 + i);
    }
}

/* odd numbers of heads and batches, sizes that end inside tiles, lanes that are not full */
TEST(attention_of_any_shape_is_the_same_bits)
{
    static const int64_t sizes[] = {8, 12, 16, 24, 32, 40, 64, 128};
    static const int64_t lengths[] = {20, 64, 128, 200};
    struct rng r;

    rng_init(&r, 7);
    for (int i = 0; i < 24; i++) {
        struct attention t = {1 + rng_below(&r, 3), lengths[rng_below(&r, 4)],
                              8 + 8 * rng_below(&r, 3), 1 + rng_below(&r, 3),
                              sizes[rng_below(&r, 8)], rng_below(&r, 2) ? DTYPE_F32 : DTYPE_BF16,
                              rng_below(&r, 2) != 0, rng_below(&r, 2) != 0};

        check(&t, i % 2 ? "v3-1" : "v5e", (uint64_t)i);
    }
}

/* moves of as many elements as q has, before the layouts of the entry */
static int moves_left(const struct attention *t, bool *has_changed)
{
    int64_t large = t->batch * t->positions * t->heads * t->size;
    struct pass_context c = {0};
    int before, count = 0;
    struct arena a;
    struct graph g;
    struct chip chip;
    struct err e;

    arena_init(&a);
    graph_init(&g, &a, "moves");
    assert_int_equal(chip_load_builtin(&chip, "v3", NULL, &a, &e), 0);
    c.chip = &chip;
    build(&g, t);
    before = g.node_count;
    assert_int_equal(pass_heads(&g, &c, &e), 0);
    *has_changed = g.node_count != before;
    for (int i = 0; i < g.node_count; i++)
        count += g.node[i].op == HLO_TRANSPOSE && shape_elems(&g.node[i].shape) == large;
    graph_fini(&g);
    arena_fini(&a);
    return count;
}

TEST(nothing_is_transposed_where_heads_end_with_tiles)
{
    static const struct attention fitting[] = {
        {2, 128, 24, 4, 32, DTYPE_F32, true, true}, {2, 384, 40, 3, 64, DTYPE_F32, false, true},
        {3, 256, 24, 2, 16, DTYPE_BF16, true, false}, {2, 128, 24, 4, 8, DTYPE_F32, true, false}};
    bool has_changed;

    for (size_t i = 0; i < COUNT_OF(fitting); i++) {
        assert_int_equal(moves_left(&fitting[i], &has_changed), 0);
        assert_true(has_changed);
    }
}

/* heads that end inside tiles, positions that fill lanes no better, and heads that fill them */
TEST(other_heads_stay_as_they_are_written)
{
    static const struct attention others[] = {
        {2, 128, 24, 4, 12, DTYPE_F32, true, true}, {2, 64, 24, 4, 32, DTYPE_F32, true, true},
        {2, 256, 24, 2, 128, DTYPE_F32, true, true}, {2, 128, 24, 4, 4, DTYPE_BF16, true, true}};
    bool has_changed;

    for (size_t i = 0; i < COUNT_OF(others); i++) {
        moves_left(&others[i], &has_changed);
        if (has_changed)
            fail_msg("row %d", (int)i);
    }
}

/* kernels of [in, heads, size] lie as matrices; who reads or assigns them sees three dimensions */
TEST(a_variable_of_heads_lies_as_a_matrix)
{
    struct initializer zero = initializer_standard(INITIALIZER_ZEROS);
    struct shape s = SHAPE(DTYPE_F32, 16, 4, 32), lies;
    struct variable_set set;
    struct arena a;
    struct trace t;
    int v, node;

    arena_init(&a);
    variable_set_init(&set, &a);
    v = variable_add_trainable(&set, "kernel", &s, &zero);
    set.variable[v].joins_last = true;
    lies = variable_memory_shape(&set.variable[v], 2);
    assert_true(shape_equal(&lies, &(struct shape){DTYPE_F32, 2, {16, 128}}));
    trace_init(&t, &a, "step", &set, 2, true);
    node = trace_read(&t, v);
    assert_true(shape_equal(&t.graph.node[node].shape, &s));
    trace_assign(&t, v, graph_unary(&t.graph, HLO_NEGATE, node));
    trace_finish(&t);
    assert_true(shape_equal(&t.graph.node[t.graph.parameter[0]].shape, &lies));
    assert_true(shape_equal(&t.graph.node[t.graph.output[0].node].shape, &lies));
    set.variable[v].shard_dim = 0;      /* cut over the replicas: as it is written */
    lies = variable_memory_shape(&set.variable[v], 2);
    assert_true(shape_equal(&lies, &(struct shape){DTYPE_F32, 3, {8, 4, 32}}));
    trace_fini(&t);
    variable_set_fini(&set);
    arena_fini(&a);
}

/* what a softmax and its gradient compute; `asked`: 0 that of its input, 1 of the e^z */
static void count_softmax(int asked, int *exponentials, int *divisions)
{
    struct shape s = SHAPE(DTYPE_F32, 4, 8);
    int z, e, sum, wrt[2], gradient[1];
    struct arena a;
    struct graph g;
    struct err err;

    arena_init(&a);
    graph_init(&g, &a, "softmax");
    wrt[0] = z = graph_parameter(&g, s, "z");
    wrt[1] = e = graph_unary(&g, HLO_EXP, z);
    sum = graph_broadcast(&g, graph_reduce(&g, REDUCE_ADD, e, 2), s, DIMS(0));
    z = graph_binary(&g, HLO_MULTIPLY, graph_binary(&g, HLO_DIVIDE, e, sum),
                     graph_parameter(&g, s, "w"));
    assert_int_equal(graph_grad(&g, graph_reduce(&g, REDUCE_ADD, z, 3), wrt + asked, 1, gradient,
                                &err), 0);
    *exponentials = *divisions = 0;
    for (int i = 0; i < g.node_count; i++) {
        *exponentials += g.node[i].op == HLO_EXP;
        *divisions += g.node[i].op == HLO_DIVIDE;
    }
    graph_fini(&g);
    arena_fini(&a);
}

TEST(the_gradient_of_a_softmax_needs_its_result_alone)
{
    int exponentials, divisions;

    count_softmax(0, &exponentials, &divisions);
    assert_int_equal(exponentials, 1);
    assert_int_equal(divisions, 1);
    count_softmax(1, &exponentials, &divisions);        /* that of e^z itself is asked for */
    assert_int_equal(divisions, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_is_the_same_bits_on_every_generation),
        cmocka_unit_test(attention_of_any_shape_is_the_same_bits),
        cmocka_unit_test(nothing_is_transposed_where_heads_end_with_tiles),
        cmocka_unit_test(other_heads_stay_as_they_are_written),
        cmocka_unit_test(a_variable_of_heads_lies_as_a_matrix),
        cmocka_unit_test(the_gradient_of_a_softmax_needs_its_result_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
