/*
 * Concatenations of many parts, each an array of its own, computed or cut out of one: do values stay,
 * and does it take about as long as copying?
 *
 * test_joins [first seed [graphs]] draws others (tests/rigs/seeds.h).
 */
#include "base/rng.h"
#include "base/units.h"
#include "stack/hlo/graph_shape.h"
#include "tests/rigs/drawn_graphs.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

#define PARTS_MAX 70

static struct rng rng;

static int64_t below(int64_t end) { return (int64_t)rng_below(&rng, (uint32_t)end); }

static int part_of(struct shape s, int dim, int before)
{
    int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX];
    int x = NODE_NONE;

    s.dim[dim] = 1 + below(dim == s.rank - 1 ? 40 : 4);
    switch (below(4)) {
    case 0:
        x = graph_parameter(&g, s, arena_printf(&arena, "p%d", g.parameter_count));
        return s.dtype == DTYPE_PRED ? x : graph_unary(&g, HLO_NEGATE, x);
    case 1:                             /* a piece of what was joined before it */
        if (before == NODE_NONE || g.node[before].shape.dim[dim] <= s.dim[dim])
            break;
        start[dim] = below(g.node[before].shape.dim[dim] - s.dim[dim]);
        for (int d = 0; d < s.rank; d++)
            limit[d] = start[d] + s.dim[d];
        return graph_slice(&g, before, start, limit, NULL);
    default:
        break;
    }
    return graph_parameter(&g, s, arena_printf(&arena, "p%d", g.parameter_count));
}

static void draw_join(void)
{
    static const enum graph_dtype dtypes[] = {DTYPE_F32, DTYPE_F32, DTYPE_BF16, DTYPE_S32, DTYPE_S8};
    struct shape s = {.dtype = dtypes[below(COUNT_OF(dtypes))], .rank = 1 + (int)below(3)};
    int part[PARTS_MAX], count = 1 + (int)below(PARTS_MAX), dim = (int)below(s.rank);

    for (int d = 0; d < s.rank; d++)
        s.dim[d] = 1 + below(d == s.rank - 1 ? 200 : 12);
    for (int i = 0; i < count; i++)
        part[i] = part_of(s, dim, i > 0 ? part[i - 1] : NODE_NONE);
    graph_output(&g, graph_concatenate(&g, part, count, dim), "joined", -1);
}

TEST(any_parts_are_joined)
{
    drawn_graphs_check(40, &rng, draw_join);
}

/* one element at a time, 1.4 million cycles, where there were more than 20 */
TEST(many_parts_are_joined_by_levels)
{
    struct shape s = shape_make(DTYPE_F32, 2, (int64_t[]){3, 4096});
    struct module_rig r = {.slice = "v5e"};
    int part[50];

    for (int i = 0; i < 50; i++)
        part[i] = graph_parameter(&g, s, arena_printf(&arena, "p%d", i));
    graph_output(&g, graph_concatenate(&g, part, 50, 0), "joined", -1);
    g.name = "many";
    module_rig_check(&r, &g, 1);
    assert_in_range(r.cycles, 1, 60000);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(any_parts_are_joined), RUN(many_parts_are_joined_by_levels),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
