/*
 * Elementwise work on arrays whose last dimensions are short, spread from smaller ones: differences
 * of points, distances to centres, forces. Do values stay, whoever reads them, and is none of it
 * mostly padding?
 *
 * test_islands [first seed [graphs]] draws others (tests/rigs/seeds.h).
 */
#include "base/rng.h"
#include "base/units.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

#include <string.h>

static struct rng rng;

static int64_t below(int64_t end) { return (int64_t)rng_below(&rng, (uint32_t)end); }

/* a parameter of some of the dimensions, spread over all */
static int spread(const struct shape *all)
{
    struct shape part = {.dtype = all->dtype};
    int dims[GRAPH_RANK_MAX];

    for (int d = 0; d < all->rank; d++)
        if (below(3)) {
            dims[part.rank] = d;
            part.dim[part.rank++] = all->dim[d];
        }
    return graph_broadcast(&g, graph_parameter(&g, part, arena_printf(&arena, "p%d", g.parameter_count)),
                           *all, dims);
}

static struct shape draw_shape(void)
{
    static const int64_t long_sizes[] = {1, 60, 128, 190, 200}, short_sizes[] = {1, 2, 3, 4, 5, 8, 9};
    struct shape s = {.dtype = DTYPE_F32, .rank = 2 + (int)below(3)};
    int shorts = 1 + (int)below(s.rank > 3 ? 2 : 1);

    for (int d = 0; d < s.rank; d++)
        s.dim[d] = d >= s.rank - shorts ? short_sizes[below(COUNT_OF(short_sizes))]
                   : s.rank > 3 && d == 0 ? 1 + below(4)
                                          : long_sizes[below(COUNT_OF(long_sizes))];
    return s;
}

static int draw_work(const struct shape *s)
{
    static const enum graph_op ops[] = {HLO_ADD, HLO_SUBTRACT, HLO_MAXIMUM, HLO_MINIMUM};
    int x = spread(s);

    for (int k = 1 + (int)below(3); k > 0; k--) {
        int y = below(5) ? spread(s) : graph_convert(&g, graph_iota(&g, (struct shape){
                    .dtype = DTYPE_S32, .rank = s->rank, .dim = {s->dim[0], s->dim[1], s->dim[2],
                                                                 s->dim[3]}},
                    s->rank - 1), DTYPE_F32);

        if (below(8) == 0)              /* an operand with an order of its own */
            y = graph_parameter(&g, *s, arena_printf(&arena, "p%d", g.parameter_count));
        x = graph_binary(&g, ops[below(COUNT_OF(ops))], x, y);
    }
    return x;
}

/* sums stay below what f32 holds exactly: 360,000 elements up to 36 */
static int draw_sum(int x, bool is_extreme)
{
    static const enum graph_reduce kinds[] = {REDUCE_MAX, REDUCE_MIN, REDUCE_ADD};
    uint32_t all = (1u << g.node[x].shape.rank) - 1, mask = 1 + (uint32_t)below(all);

    return graph_reduce(&g, kinds[below(is_extreme ? 2 : 3)], x, mask);
}

static void draw_readers(int x)
{
    graph_output(&g, draw_sum(x, false), "sum", -1);
    if (below(3) == 0)
        graph_output(&g, x, "itself", -1);
    if (below(3) == 0)
        graph_output(&g, draw_sum(graph_binary(&g, HLO_MULTIPLY, x, x), true), "square", -1);
    if (below(4) == 0) {
        int dims[GRAPH_RANK_MAX] = {0}, rank = g.node[x].shape.rank;

        for (int d = 0; d < rank; d++)
            dims[d] = (d + 1) % rank;
        graph_output(&g, graph_transpose(&g, x, dims), "turned", -1);
    }
}

TEST(any_islands_have_their_values)
{
    static const char *const slices[] = {"v5e", "v3-1", "v6e"};
    int count = seeds_count(60);

    for (int i = 0; i < count; i++) {
        struct module_rig r = {.slice = slices[i % 3]};
        struct shape s;

        rng_init(&rng, seeds_at(i));
        s = draw_shape();
        draw_readers(draw_work(&s));
        g.name = arena_printf(&arena, "seed %lld", (long long)seeds_at(i));
        module_rig_check(&r, &g, seeds_at(i));
        one_graph_again();
    }
    seeds_print(count);
}

/* row-major 543 thousand cycles */
TEST(distances_of_points_are_not_padded)
{
    struct shape points = shape_make(DTYPE_F32, 2, (int64_t[]){500, 3});
    struct shape all = shape_make(DTYPE_F32, 3, (int64_t[]){500, 500, 3});
    struct module_rig r = {.slice = "v5e"};
    int x = graph_parameter(&g, points, "x"), first, difference;

    first = graph_broadcast(&g, x, all, (int[]){0, 2});
    difference = graph_binary(&g, HLO_SUBTRACT, first, graph_broadcast(&g, x, all, (int[]){1, 2}));
    graph_output(&g, graph_reduce(&g, REDUCE_ADD, graph_binary(&g, HLO_MULTIPLY, difference, difference),
                                  1u << 2), "squares", -1);
    g.name = "distances";
    module_rig_check(&r, &g, 1);
    assert_in_range(r.cycles, 1, 15000);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(any_islands_have_their_values), RUN(distances_of_points_are_not_padded),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
