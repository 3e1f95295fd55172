/*
 * Arrays of any type that are spread over any dimensions of another, some together with a second:
 * does each element come from where it is?
 *
 * test_loop_spread [first seed [kernels]] draws others (tests/rigs/seeds.h).
 */
#include "base/rng.h"
#include "base/units.h"
#include "tests/rigs/kernel_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

static struct rng rng;

static int64_t below(int64_t end) { return (int64_t)rng_below(&rng, (uint32_t)end); }

static struct shape draw_shape(enum graph_dtype dtype)
{
    struct shape s = {.dtype = dtype, .rank = 1 + (int)below(6)};

    for (int d = s.rank - 1, near = 0; d >= 0; d--, near++)
        s.dim[d] = 1 + below(near == 0 ? 150 : near == 1 ? 35 : near == 2 ? 20 : 5);
    return s;
}

/* a parameter with some of the dimensions, in their order */
static int draw_spread(const struct shape *to, const char *name)
{
    struct shape from = {.dtype = to->dtype};
    int dims[GRAPH_RANK_MAX];

    for (int d = 0; d < to->rank; d++)
        if (below(2)) {
            dims[from.rank] = d;
            from.dim[from.rank++] = to->dim[d];
        }
    if (from.rank == to->rank)
        return graph_parameter(&g, from, name);
    return graph_broadcast(&g, graph_parameter(&g, from, name), *to, dims);
}

TEST(whatever_is_spread_comes_from_where_it_is)
{
    static const char *const chips[] = {"v2", "v3", "v4", "v5e", "v6e", "v7x"};
    static const enum graph_dtype dtypes[] = {DTYPE_F32, DTYPE_BF16, DTYPE_S32, DTYPE_S8,
                                              DTYPE_PRED};
    int count = seeds_count(200);

    seeds_print(count);
    for (int i = 0; i < count; i++) {
        struct kernel_rig r = {.values = RIG_WHOLE, .may_refuse = true};
        struct shape s;
        int x;

        rng_init(&rng, seeds_at(i));
        r.chip = chips[below(COUNT_OF(chips))];
        r.operands_in_vmem = (uint32_t)below(4);
        r.results_in_vmem = (uint32_t)below(2);
        s = draw_shape(dtypes[below(COUNT_OF(dtypes))]);
        x = draw_spread(&s, "x");
        if (below(2))
            x = graph_binary(&g, s.dtype == DTYPE_PRED ? HLO_AND : HLO_ADD, x,
                             draw_spread(&s, "y"));
        if (g.node[x].op == HLO_PARAMETER)
            x = graph_binary(&g, s.dtype == DTYPE_PRED ? HLO_OR : HLO_MAXIMUM, x, x);
        g.name = arena_printf(&arena, "seed %llu", (unsigned long long)seeds_at(i));
        graph_output(&g, x, "o", -1);
        kernel_rig_open(&r, &g);
        if (!*r.refusal)                /* for want of memory, or as other passes leave none */
            kernel_rig_check(&r, seeds_at(i));
        kernel_rig_close(&r);
        one_graph_again();
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {RUN(whatever_is_spread_comes_from_where_it_is)};

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
