/*
 * Scores of attention with heads in rows (stack/passes/pass_heads.c): what is reduced over keys has
 * these along rows, and queries along lanes; what is reduced over both, or queries that fill lanes
 * worse, stay as they are written. And the graphs compute what they computed before.
 */
#include "tests/rigs/pass_rig.h"
#include "tests/test.h"

/* q [2, 3, size, queries] by k [2, 3, size, keys], over the size: [2, 3, queries, keys] */
static int scores(int64_t queries, int64_t keys)
{
    struct graph_dot dot = {.batch_count = 2, .lhs_batch = {0, 1}, .rhs_batch = {0, 1},
                            .contract_count = 1, .lhs_contract = {3}, .rhs_contract = {3}};
    int q = graph_parameter(&graph, F32(2, 3, queries, 16), "q");
    int k = graph_parameter(&graph, F32(2, 3, keys, 16), "k");

    return graph_dot_general(&graph, q, k, &dot, DTYPE_F32, PRECISION_DEFAULT);
}

/* less its maximum over keys, by v [2, 3, keys, size] */
static int attend(int s, int64_t keys)
{
    struct graph_dot dot = {.batch_count = 2, .lhs_batch = {0, 1}, .rhs_batch = {0, 1},
                            .contract_count = 1, .lhs_contract = {3}, .rhs_contract = {2}};
    int v = graph_parameter(&graph, F32(2, 3, keys, 16), "v");
    int high = graph_reduce(&graph, REDUCE_MAX, s, 1u << 3);

    high = graph_broadcast(&graph, high, graph.node[s].shape, DIMS(0, 1, 2));
    s = graph_binary(&graph, HLO_SUBTRACT, s, high);
    return graph_dot_general(&graph, s, v, &dot, DTYPE_F32, PRECISION_DEFAULT);
}

/* the dimension that the first reduction is over, from the last one on */
static int reduced_from_end(void)
{
    for (int i = 0; i < graph.node_count; i++)
        if (graph.node[i].op == HLO_REDUCE)
            return graph.node[graph.node[i].operand[0]].shape.rank - 1 -
                   __builtin_ctz(graph.node[i].reduce_mask);
    return -1;
}

TEST(keys_are_rows_where_they_are_reduced)
{
    static const struct { int64_t queries, keys; int from_end; } rows[] = {
        {128, 130, 1}, {256, 128, 1}, {130, 128, 0}, {128, 20, 0}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        graph_output(&graph, attend(scores(rows[i].queries, rows[i].keys), rows[i].keys), "y", -1);
        run_pass(pass_heads);
        assert_int_equal(reduced_from_end(), rows[i].from_end);
        pass_rig_teardown(NULL);
        pass_rig_setup(NULL);
    }
}

/* a sum over queries, too, would want them along rows as well */
TEST(scores_that_are_reduced_both_ways_stay)
{
    int s = scores(128, 128);

    graph_output(&graph, graph_reduce(&graph, REDUCE_ADD, s, 1u << 2), "sum", -1);
    graph_output(&graph, attend(s, 128), "y", -1);
    run_pass(pass_heads);
    assert_int_equal(reduced_from_end(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(keys_are_rows_where_they_are_reduced),
        RUN(scores_that_are_reduced_both_ways_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
