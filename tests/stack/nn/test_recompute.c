/* What is kept for a gelu's backward part: its slope; what is cheaper computed again, is. */
#include "stack/nn/nn.h"
#include "stack/hlo/rewrite.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/pass_rig.h"
#include "tests/test.h"

enum { ROWS = 256, WIDE = 512, NARROW = 128 };

/* the gradients of sum(gelu(x w) v * wanted) */
static void build(struct graph *g, bool is_exact)
{
    int x = graph_parameter(g, F32(ROWS, NARROW), "x"), h, y, gradient[3];
    int w = graph_parameter(g, F32(NARROW, WIDE), "w");
    int v = graph_parameter(g, F32(WIDE, NARROW), "v");
    int wanted = graph_parameter(g, F32(ROWS, NARROW), "wanted"), wrt[] = {x, w, v};
    struct err e;

    h = graph_dot(g, x, w, 1, 0, PRECISION_DEFAULT);
    y = graph_dot(g, nn_gelu(g, h, !is_exact), v, 1, 0, PRECISION_DEFAULT);
    y = graph_reduce(g, REDUCE_ADD, nn_multiply(g, y, wanted), 3);
    assert_int_equal(graph_grad(g, y, wrt, 3, gradient, &e), 0);
    for (int i = 0; i < 3; i++)
        graph_output(g, gradient[i], g->node[wrt[i]].name, -1);
}

/* arrays of the activation's shape that kernels store */
static int stored(void)
{
    struct shape wide = F32(ROWS, WIDE);
    int count = 0;

    for (int i = 0; i < graph.node_count; i++) {
        const struct graph_node *n = &graph.node[i];

        if (n->op == HLO_FUSION && n->tuple_count == 0)
            count += shape_equal(&n->shape, &wide);
        for (int k = 0; n->op == HLO_FUSION && k < n->tuple_count; k++)
            count += shape_equal(&n->tuple[k], &wide);
    }
    return count;
}

/* the gelu, its slope, and the sum's gradient */
TEST(three_arrays_are_stored_for_a_gelu)
{
    build(&graph, true);
    run_pass(pass_simplify);
    run_pass(pass_fusion);
    assert_int_equal(stored(), 3);
}

/* the tanh form is no dearer */
TEST(three_arrays_are_stored_for_an_approximate_gelu)
{
    build(&graph, false);
    run_pass(pass_simplify);
    run_pass(pass_fusion);
    assert_int_equal(stored(), 3);
}

/* the slope is computed beside the gelu, which has the function at hand */
TEST(a_gelus_function_is_computed_once)
{
    int count = 0;

    build(&graph, true);
    run_pass(pass_simplify);
    run_pass(pass_fusion);
    for (int i = 0; i < graph.node_count; i++) {
        const struct graph *body = graph.node[i].called[0];

        for (int k = 0; graph.node[i].op == HLO_FUSION && k < body->node_count; k++)
            count += body->node[k].op == HLO_ERF;
    }
    assert_int_equal(count, 1);
}

/* several arrays that come from one, each read by another product: that one is stored */
TEST(a_function_is_computed_again_from_the_array_it_is_of)
{
    int x = graph_parameter(&graph, F32(ROWS, NARROW), "x");
    int w = graph_parameter(&graph, F32(NARROW, WIDE), "w");
    int u = graph_parameter(&graph, F32(ROWS, NARROW), "u");
    int h = graph_dot(&graph, x, w, 1, 0, PRECISION_DEFAULT);
    int square = nn_multiply(&graph, h, h), e = graph_unary(&graph, HLO_EXP, h);
    int later = graph_dot(&graph, u, w, 1, 0, PRECISION_DEFAULT);

    graph_output(&graph, graph_dot(&graph, nn_add(&graph, square, e), w, 1, 1, PRECISION_DEFAULT),
                 "y", -1);
    later = nn_add(&graph, nn_multiply(&graph, later, square), nn_multiply(&graph, later, e));
    graph_output(&graph, graph_dot(&graph, later, w, 1, 1, PRECISION_DEFAULT), "z", -1);
    run_pass(pass_fusion);
    assert_int_equal(stored(), 3);      /* h, the sum, and what `later` becomes */
}

/* an array that is an output is there anyway, and is read rather than computed again */
TEST(an_output_stays_an_output)
{
    int x = graph_parameter(&graph, F32(ROWS, NARROW), "x");
    int w = graph_parameter(&graph, F32(NARROW, WIDE), "w");
    int h = graph_dot(&graph, x, w, 1, 0, PRECISION_DEFAULT);
    int e = graph_unary(&graph, HLO_ERF, h);

    graph_output(&graph, e, "erf", -1);
    graph_output(&graph, graph_dot(&graph, nn_multiply(&graph, e, e), w, 1, 1, PRECISION_DEFAULT),
                 "y", -1);
    run_pass(pass_fusion);
    assert_true(stored() >= 1);
}

TEST(values_are_those_of_the_graph)
{
    static const char *const slices[] = {"v3-1", "v5e"};

    for (int i = 0; i < 2; i++)
        for (int exact = 0; exact < 2; exact++) {
            struct module_rig rig = {.slice = slices[i], .uses_fractions = true,
                                     .relative = 0x1p-6, .absolute = 0.5};
            struct arena a;
            struct graph g;

            arena_init(&a);
            graph_init(&g, &a, "gelu");
            build(&g, exact != 0);
            module_rig_check(&rig, &g, 5);
            graph_fini(&g);
            arena_fini(&a);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(three_arrays_are_stored_for_a_gelu),
        RUN(three_arrays_are_stored_for_an_approximate_gelu),
        RUN(a_gelus_function_is_computed_once),
        RUN(a_function_is_computed_again_from_the_array_it_is_of),
        RUN(an_output_stays_an_output),
        cmocka_unit_test(values_are_those_of_the_graph),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
