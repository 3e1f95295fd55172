/*
 * Elements, rows and lines that are repeated a few times, one move: do values stay, and does it take
 * few cycles?
 *
 * test_repeat [first seed [graphs]] draws others (tests/rigs/seeds.h).
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

/* each index of some dimensions `times` times, behind each other */
static int repeated(int x, const int64_t *times)
{
    struct shape from = g.node[x].shape, apart = {.dtype = from.dtype}, to = from;
    int dims[GRAPH_RANK_MAX];

    for (int d = 0; d < from.rank; d++) {
        dims[d] = apart.rank;
        apart.dim[apart.rank++] = from.dim[d];
        if (times[d] > 1)
            apart.dim[apart.rank++] = times[d];
        to.dim[d] *= times[d];
    }
    return graph_reshape(&g, graph_broadcast(&g, x, apart, dims), to);
}

static int draw_repeat(void)
{
    static const enum graph_dtype dtypes[] = {DTYPE_F32, DTYPE_BF16, DTYPE_S32, DTYPE_PRED,
                                              DTYPE_S8};
    struct shape s = {.dtype = dtypes[below(COUNT_OF(dtypes))], .rank = 1 + (int)below(4)};
    int64_t times[GRAPH_RANK_MAX];
    int x;

    for (int d = 0; d < s.rank; d++) {
        s.dim[d] = 1 + below(d == s.rank - 1 ? 150 : d == s.rank - 2 ? 40 : 5);
        times[d] = below(2) ? 1 : 1 + below(4);
    }
    x = graph_parameter(&g, s, "x");
    if (below(2) && s.dtype != DTYPE_PRED)
        x = graph_unary(&g, HLO_NEGATE, x);
    return repeated(x, times);
}

static void draw_result(void)
{
    graph_output(&g, draw_repeat(), "made", -1);
}

TEST(any_repeat_stays_what_it_is)
{
    drawn_graphs_check(60, &rng, draw_result);
}

/* as many cycles as are given at most, for images whose last two dimensions but one are doubled */
static void check_doubled(enum graph_dtype dtype, const int64_t *sizes, int first_doubled, int64_t most)
{
    struct module_rig r = {.slice = "v5e"};
    int64_t times[4] = {1, 1, 1, 1};
    int x = graph_parameter(&g, shape_make(dtype, 4, sizes), "x");

    times[first_doubled] = times[first_doubled + 1] = 2;
    g.name = "doubled";
    graph_output(&g, repeated(x, times), "made", -1);
    module_rig_check(&r, &g, 1);
    assert_in_range(r.cycles, 1, most);
    one_graph_again();
}

/* the next size of a network that draws; 50,000 and 27,216 once with a kernel more */
TEST(images_are_doubled_in_one_move)
{
    check_doubled(DTYPE_F32, (const int64_t[]){4, 28, 28, 32}, 1, 35000);
    check_doubled(DTYPE_BF16, (const int64_t[]){4, 14, 14, 128}, 1, 8000);
    check_doubled(DTYPE_F32, (const int64_t[]){4, 32, 28, 28}, 2, 60000);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(any_repeat_stays_what_it_is), RUN(images_are_doubled_in_one_move),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
