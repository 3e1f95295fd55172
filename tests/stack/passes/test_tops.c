/*
 * Sorts of which the first few are taken, which become so many maxima: are they those that a stable
 * sort has, with equal keys in the order of their places, and with what goes along?
 *
 * test_tops [first seed [graphs]] draws others (tests/rigs/seeds.h).
 */
#include "base/rng.h"
#include "base/units.h"
#include "stack/hlo/graph_shape.h"
#include "tests/rigs/drawn_graphs.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

static struct rng rng;

static int64_t below(int64_t end) { return (int64_t)rng_below(&rng, (uint32_t)end); }

static int first_of(int x, int64_t count)
{
    struct shape s = g.node[x].shape;
    int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX];

    for (int d = 0; d < s.rank; d++)
        limit[d] = s.dim[d];
    limit[s.rank - 1] = count;
    return graph_slice(&g, x, start, limit, NULL);
}

/* keys of few or of many different numbers, the least and the largest words among them */
static int draw_keys(struct shape s)
{
    int x, big;

    s.dtype = DTYPE_S32;
    x = graph_parameter(&g, s, "keys");
    big = graph_binary(&g, HLO_MULTIPLY, x, graph_splat(&g, x, 715827883));
    switch (below(3)) {
    case 0: return x;
    case 1: return graph_binary(&g, HLO_XOR, big, graph_splat(&g, x, INT32_MIN));
    default:
        return graph_select(&g, graph_compare(&g, COMPARE_GT, x, graph_splat(&g, x, 1)), big,
                            graph_splat(&g, x, below(2) ? INT32_MIN : INT32_MAX));
    }
}

static void draw_top(void)
{
    static const enum graph_dtype dtypes[] = {DTYPE_F32, DTYPE_S32, DTYPE_U32};
    struct shape s = {.dtype = DTYPE_F32, .rank = 1 + (int)below(3)};
    int64_t taken = 1 + below(below(3) ? 9 : 20);
    int along[4], count = 2 + (int)below(3), sorted;

    for (int d = 0; d < s.rank; d++)
        s.dim[d] = 1 + below(d == s.rank - 1 ? (below(3) ? 300 : 5000) : d == s.rank - 2 ? 40 : 4);
    taken = taken < s.dim[s.rank - 1] ? taken : s.dim[s.rank - 1];
    along[0] = draw_keys(s);
    for (int k = 1; k < count; k++) {
        struct shape one = s;

        one.dtype = dtypes[below(COUNT_OF(dtypes))];
        along[k] = one.dtype == DTYPE_S32 && below(2)
                       ? graph_iota(&g, one, one.rank - 1)
                       : graph_parameter(&g, one, arena_printf(&arena, "along.%d", k));
    }
    sorted = graph_sort(&g, along, count, s.rank - 1, below(2) ? COMPARE_GT : COMPARE_LT);
    for (int k = 0; k < count; k++)
        if (k > 0 || below(2))
            graph_output(&g, first_of(graph_tuple_element(&g, sorted, k), taken),
                         arena_printf(&arena, "first.%d", k), -1);
}

/* some of them infinite, some no numbers */
static int with_others(int x)
{
    int zero = graph_splat(&g, x, 0), others = graph_binary(&g, HLO_DIVIDE, x, zero);
    int is_kept = graph_compare(&g, COMPARE_EQ, x, graph_splat(&g, x, below(2) ? 1 : -2));

    return graph_select(&g, is_kept, x, others);
}

/* of any type */
static void draw_top_k(void)
{
    static const enum graph_dtype dtypes[] = {DTYPE_F32, DTYPE_F32, DTYPE_BF16, DTYPE_S32,
                                              DTYPE_U32};
    struct shape s = {.dtype = dtypes[below(COUNT_OF(dtypes))], .rank = 1 + (int)below(3)};
    int64_t most;
    int x, top;

    for (int d = 0; d < s.rank; d++)
        s.dim[d] = 1 + below(d == s.rank - 1 ? (below(3) ? 300 : 5000) : d == s.rank - 2 ? 40 : 4);
    most = s.dim[s.rank - 1] < 20 ? s.dim[s.rank - 1] : 20;
    x = graph_parameter(&g, s, "x");
    if (s.dtype == DTYPE_F32 && below(2))
        x = with_others(x);
    top = graph_top_k(&g, x, 1 + below(most));
    graph_output(&g, graph_tuple_element(&g, top, 0), "values", -1);
    graph_output(&g, graph_tuple_element(&g, top, 1), "places", -1);
}

static void draw_any(void)
{
    (below(2) ? draw_top : draw_top_k)();
}

TEST(the_first_few_are_those_of_a_sort)
{
    drawn_graphs_check(60, &rng, draw_any);
}

/* the best of a vocabulary: a whole sort of eight rows of 151,936 once took a billion cycles */
TEST(few_of_a_vocabulary_are_maxima)
{
    struct shape s = shape_make(DTYPE_F32, 2, (int64_t[]){8, 32000});
    struct module_rig r = {.slice = "v5e", .uses_fractions = true};
    int x = graph_parameter(&g, s, "logits"), along[3], sorted;

    along[0] = graph_bitcast_convert(&g, x, DTYPE_S32);
    along[1] = x;
    s.dtype = DTYPE_S32;
    along[2] = graph_iota(&g, s, 1);
    sorted = graph_sort(&g, along, 3, 1, COMPARE_GT);
    graph_output(&g, first_of(graph_tuple_element(&g, sorted, 1), 5), "best", -1);
    graph_output(&g, first_of(graph_tuple_element(&g, sorted, 2), 5), "places", -1);
    g.name = "vocabulary";
    module_rig_check(&r, &g, 1);
    assert_in_range(r.cycles, 1, 40000);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(the_first_few_are_those_of_a_sort), RUN(few_of_a_vocabulary_are_maxima),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
