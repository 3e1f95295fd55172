/*
 * Slices go before reshapes and transposes where they can, and take what they took: the parts of a
 * product's columns that are told apart by a dimension, and drawn splits, turns and slices.
 */
#include "base/rng.h"
#include "base/units.h"
#include "stack/hlo/graph_shape.h"
#include "stack/nn/nn.h"
#include "tests/rigs/lower_rig.h"
#include "tests/rigs/pass_rig.h"
#include "tests/test.h"

#include <stdio.h>

#define DRAWS 300

static struct rng rng;

static int64_t below(int64_t end) { return (int64_t)rng_below(&rng, (uint32_t)end); }

static struct shape drawn_shape(int rank, int64_t most)
{
    struct shape s = {.rank = rank, .dtype = DTYPE_F32};

    for (int i = 0; i < rank; i++)
        s.dim[i] = 1 + below(most);
    return s;
}

/* some neighbours of a shape as one dimension, or a dimension of six as two and three */
static struct shape drawn_reshape(const struct shape *from)
{
    struct shape s = {.dtype = from->dtype};

    for (int i = 0; i < from->rank; i++) {
        int64_t size = from->dim[i];

        if (i + 1 < from->rank && below(3) == 0)
            size *= from->dim[++i];
        if (size % 6 == 0 && s.rank + 2 < GRAPH_RANK_MAX && below(2)) {
            s.dim[s.rank++] = size / 6;
            s.dim[s.rank++] = 2;
            size = 3;
        }
        s.dim[s.rank++] = size;
    }
    return s;
}

static int drawn_transpose(int x)
{
    int rank = graph.node[x].shape.rank, dims[GRAPH_RANK_MAX];

    for (int i = 0; i < rank; i++) {
        int k = (int)below(i + 1);

        dims[i] = dims[k];
        dims[k] = i;
    }
    return graph_transpose(&graph, x, dims);
}

static int drawn_slice(int x)
{
    struct shape s = graph.node[x].shape;
    int64_t start[GRAPH_RANK_MAX], limit[GRAPH_RANK_MAX], stride[GRAPH_RANK_MAX];

    for (int i = 0; i < s.rank; i++) {
        bool is_whole = below(2);

        start[i] = is_whole ? 0 : below(s.dim[i]);
        limit[i] = is_whole ? s.dim[i] : start[i] + 1 + below(s.dim[i] - start[i]);
        stride[i] = is_whole || below(4) ? 1 : 1 + below(2);
    }
    return graph_slice(&graph, x, start, limit, stride);
}

TEST(drawn_slices_take_what_they_took)
{
    int rank = 1 + (int)below(4), x = graph_parameter(&graph, drawn_shape(rank, 12), "x");

    for (int moves = 1 + (int)below(3); moves > 0; moves--) {
        x = below(2) ? drawn_transpose(x)
                     : graph_reshape(&graph, x, drawn_reshape(&graph.node[x].shape));
        if (below(2))
            x = drawn_slice(x);
    }
    simplify(graph_unary(&graph, HLO_NEGATE, drawn_slice(x)));
}

/* [8, 20, 3, 4, 16] of [8, 20, 192], each of three read by itself */
TEST(queries_keys_and_values_are_columns)
{
    int x = graph_parameter(&graph, F32(8, 20, 192), "x"), part[3], y;

    y = graph_reshape(&graph, x, F32(8, 20, 3, 4, 16));
    y = graph_transpose(&graph, y, DIMS(2, 0, 3, 1, 4));
    for (int i = 0; i < 3; i++)
        part[i] = graph_slice(&graph, y, (int64_t[]){i, 0, 0, 0, 0},
                              (int64_t[]){i + 1, 8, 4, 20, 16}, NULL);
    y = graph_binary(&graph, HLO_ADD, part[0], graph_binary(&graph, HLO_MULTIPLY, part[1], part[2]));
    simplify(y);
    assert_int_equal(count_of(&graph, HLO_SLICE), 3);
    for (int i = 0; i < graph.node_count; i++)
        if (graph.node[i].op == HLO_SLICE)
            assert_int_equal(graph.node[graph.node[i].operand[0]].op, HLO_PARAMETER);
}

/* the first and the second of neighbours, as rotations of positions take them */
TEST(halves_of_pairs_are_every_second_element)
{
    int x = graph_parameter(&graph, F32(4, 6, 32), "x"), y, half[2];

    y = graph_reshape(&graph, x, F32(4, 6, 16, 2));
    for (int i = 0; i < 2; i++)
        half[i] = graph_slice(&graph, y, (int64_t[]){0, 0, 0, i}, (int64_t[]){4, 6, 16, i + 1}, NULL);
    simplify(graph_binary(&graph, HLO_SUBTRACT, half[0], half[1]));
    for (int i = 0; i < graph.node_count; i++)
        if (graph.node[i].op == HLO_SLICE)
            assert_int_equal(graph.node[i].stride[2], 2);
    assert_int_equal(count_of(&graph, HLO_SLICE), 2);
}

TEST(most_of_a_turned_array_is_taken_behind_the_turn)
{
    int x = graph_parameter(&graph, F32(40, 30), "x");

    simplify(graph_slice(&graph, graph_transpose(&graph, x, DIMS(1, 0)), (int64_t[]){0, 1},
                         (int64_t[]){30, 40}, NULL));
    assert_int_equal(result_node()->op, HLO_SLICE);
}

int main(void)
{
    struct CMUnitTest tests[DRAWS + 3];
    const struct CMUnitTest drawn = RUN(drawn_slices_take_what_they_took);
    const struct CMUnitTest named[] = {RUN(queries_keys_and_values_are_columns),
                                       RUN(halves_of_pairs_are_every_second_element),
                                       RUN(most_of_a_turned_array_is_taken_behind_the_turn)};

    printf("SYSTOLE_SEED=%llu\n", (unsigned long long)lower_seed());
    rng_init(&rng, lower_seed());
    for (int i = 0; i < DRAWS; i++)
        tests[i] = drawn;
    for (size_t i = 0; i < COUNT_OF(named); i++)
        tests[DRAWS + i] = named[i];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
