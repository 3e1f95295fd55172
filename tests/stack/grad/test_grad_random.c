/*
 * Gradients of random operations by the law of adjoints, exactly: where y is linear in x, the
 * sum of y times its gradient is the sum of x times its own, whatever y's gradient is. Products
 * are linear in each operand, moves in all of them together. Values are small integers in
 * doubles: no tolerance.
 */
#include "tests/rigs/graph_rig.h"
#include "tests/generate/random_hlo.h"
#include "tests/test.h"

enum { PARAMETERS = 16 };

static struct arena arena;
static struct graph g;
static struct interp_value in[PARAMETERS], out[2 + PARAMETERS];
static int wrt[PARAMETERS], wrt_count, seed_node;

static void done(void)
{
    graph_fini(&g);
    arena_fini(&arena);
}

/* one operation, its only result being output 0 */
static void build(uint64_t seed, unsigned group)
{
    struct random_hlo r = {.seed = seed, .groups = group, .dtypes = 1u << DTYPE_F32,
                           .op_count = 1, .elems_max = 1000};

    arena_init(&arena);
    graph_init(&g, &arena, "random");
    random_hlo_build(&g, &r);
    assert_int_equal(g.output_count, 1);
    wrt_count = 0;
    for (int i = 0; i < g.parameter_count; i++)
        if (graph_dtype_is_float(g.node[g.parameter[i]].shape.dtype))
            wrt[wrt_count++] = g.parameter[i];
}

static void run(void)
{
    struct err e;

    for (int i = 0; i < g.parameter_count; i++) {
        const struct shape *s = &g.node[g.parameter[i]].shape;
        double *values;
        int64_t elems = shape_elems(s);

        if (g.parameter[i] != seed_node) {
            values = grig_unpack(&arena, s, INTERP_DOT_F32, random_hlo_input(&g, i, 7, &arena));
        } else {
            values = arena_array(&arena, (size_t)elems, sizeof(*values));
            for (int64_t k = 0; k < elems; k++)
                values[k] = (double)((k * 5 + 2) % 7) - 3.0;
        }
        in[i].data = grig_pack(&arena, s, INTERP_WIDE, values);
    }
    if (graph_verify(&g, &e) != 0 || interp_run(&g, INTERP_WIDE, in, out, &arena, &e) != 0)
        fail_msg("%s", e.msg);
}

static void differentiate(uint64_t seed)
{
    int gradient[PARAMETERS], y = g.output[0].node;
    struct err e;

    seed_node = graph_parameter(&g, g.node[y].shape, "seed");
    if (graph_backward(&g, y, seed_node, wrt, wrt_count, gradient, &e) != 0)
        fail_msg("seed %d: %s", (int)seed, e.msg);
    for (int i = 0; i < wrt_count; i++) {
        assert_true(shape_equal(&g.node[gradient[i]].shape, &g.node[wrt[i]].shape));
        graph_output(&g, gradient[i], "gradient", -1);
    }
    run();
}

static double product(const struct shape *s, const void *a, const void *b)
{
    int64_t elems = shape_elems(s);
    double sum = 0;

    for (int64_t i = 0; i < elems; i++)
        sum += ((const double *)a)[i] * ((const double *)b)[i];
    return sum;
}

static double own_product(int i)
{
    const struct graph_node *n = &g.node[wrt[i]];

    return product(&n->shape, in[n->parameter_index].data, out[1 + i].data);
}

static double result_product(void)
{
    const struct graph_node *n = &g.node[seed_node];

    return product(&n->shape, out[0].data, in[n->parameter_index].data);
}

TEST(of_products_each_operand_has_the_adjoint)
{
    static const unsigned groups[] = {RANDOM_CONV, RANDOM_DOT};

    for (int k = 0; k < 2; k++)
        for (uint64_t seed = 0; seed < 150; seed++) {
            build(seed, groups[k]);
            differentiate(seed);
            for (int i = 0; i < wrt_count; i++)
                if (own_product(i) != result_product())
                    fail_msg("seed %d: operand %d: %g, not %g", (int)seed, i, own_product(i),
                             result_product());
            done();
        }
}

static bool is_linear(const struct graph_node *n)
{
    enum graph_op_kind kind = graph_op_kind(n->op);

    return kind == KIND_SHAPE || n->op == HLO_DYNAMIC_SLICE ||
           n->op == HLO_DYNAMIC_UPDATE_SLICE ||
           ((n->op == HLO_REDUCE || n->op == HLO_REDUCE_WINDOW) && n->reduce_kind == REDUCE_ADD);
}

TEST(of_moves_and_sums_all_operands_together_have_it)
{
    static const unsigned groups[] = {RANDOM_MOVE, RANDOM_REDUCE, RANDOM_WINDOW, RANDOM_INDEX};
    int checked[4] = {0};

    for (int k = 0; k < 4; k++)
        for (uint64_t seed = 0; seed < 150; seed++) {
            double sum = 0;

            build(seed, groups[k]);
            if (is_linear(&g.node[g.output[0].node])) {
                differentiate(seed);
                for (int i = 0; i < wrt_count; i++)
                    sum += own_product(i);
                if (sum != result_product())
                    fail_msg("seed %d: %g, not %g", (int)seed, sum, result_product());
                checked[k]++;
            }
            done();
        }
    for (int k = 0; k < 4; k++)
        assert_true(checked[k] >= 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_products_each_operand_has_the_adjoint),
        cmocka_unit_test(of_moves_and_sums_all_operands_together_have_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
