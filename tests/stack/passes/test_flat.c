/*
 * Reshapes that share no factors, and long ones whose rows end everywhere in tiles: do values stay,
 * and do they take few cycles?
 *
 * test_flat [first seed [graphs]] draws others (tests/rigs/seeds.h).
 */
#include "base/rng.h"
#include "base/units.h"
#include "stack/hlo/graph_shape.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

static struct rng rng;

static int64_t below(int64_t end) { return (int64_t)rng_below(&rng, (uint32_t)end); }

/* the elements of `from` along other dimensions, of which the first are the same */
static struct shape drawn_reshape(const struct shape *from)
{
    struct shape to = {.dtype = from->dtype};
    int64_t left = shape_elems(from);
    int kept = (int)below(from->rank);

    for (int d = 0; d < kept; d++)
        left /= to.dim[to.rank++] = from->dim[d];
    while (left > 1 && to.rank < kept + 2) {
        int64_t size = 1 + below(left), factor = 1;

        for (int64_t f = size; f > 1 && factor == 1; f--)
            factor = left % f == 0 ? f : 1;
        left /= to.dim[to.rank++] = factor;
    }
    to.dim[to.rank++] = left;
    return to;
}

static struct shape drawn_shape(void)
{
    static const enum graph_dtype dtypes[] = {DTYPE_F32, DTYPE_F32, DTYPE_BF16, DTYPE_S32,
                                              DTYPE_PRED, DTYPE_S8};
    struct shape s = {.dtype = dtypes[below(COUNT_OF(dtypes))], .rank = 2 + (int)below(3)};
    int64_t most = below(4) ? 60 : 900;

    for (int d = 0; d < s.rank; d++)
        s.dim[d] = 1 + below(d == s.rank - 1 ? 300 : d == s.rank - 2 ? most : 4);
    return s;
}

static void reshape_from(const struct shape *from, const struct shape *to)
{
    int node = graph_reshape(&g, graph_parameter(&g, *from, "x"), *to);

    if (below(2))
        node = graph_unary(&g, to->dtype == DTYPE_PRED ? HLO_NOT : HLO_NEGATE, node);
    graph_output(&g, node, "made", -1);
}

TEST(any_reshape_stays_what_it_is)
{
    static const char *const slices[] = {"v2-8", "v3-8", "v4-8", "v5e", "v6e", "v7x"};
    int count = seeds_count(60);

    seeds_print(count);
    for (int i = 0; i < count; i++) {
        struct module_rig r = {.megacore = false};
        struct shape from, to;

        rng_init(&rng, seeds_at(i));
        r.slice = slices[below(COUNT_OF(slices))];
        from = drawn_shape();
        to = drawn_reshape(&from);
        reshape_from(&from, &to);
        g.name = arena_printf(&arena, "seed %llu", (unsigned long long)seeds_at(i));
        module_rig_check(&r, &g, seeds_at(i));
        one_graph_again();
    }
}

static void check_cycles(struct shape from, struct shape to, int64_t most)
{
    struct module_rig r = {.slice = "v5e"};

    g.name = "reshape";
    reshape_from(&from, &to);
    module_rig_check(&r, &g, 1);
    assert_in_range(r.cycles, 1, most);
    one_graph_again();
}

#define SIZES(...) (const int64_t[]){__VA_ARGS__}

/* scores of places apart, each row one further to the left (a Transformer-XL's); 80,710 once */
TEST(rows_one_longer_than_they_are_many)
{
    check_cycles(shape_make(DTYPE_F32, 2, SIZES(128, 129)), shape_make(DTYPE_F32, 2, SIZES(129, 128)),
                 4000);
    check_cycles(shape_make(DTYPE_BF16, 3, SIZES(9, 64, 65)),
                 shape_make(DTYPE_BF16, 3, SIZES(9, 65, 64)), 9000);
}

/* weights as a vector, and back; 833,547 and 709,487 once, and 779,952 */
TEST(rows_longer_than_lanes_are_joined)
{
    struct shape rows = shape_make(DTYPE_F32, 2, SIZES(1000, 200));
    struct shape odd = shape_make(DTYPE_F32, 2, SIZES(1001, 129));

    check_cycles(rows, shape_make(DTYPE_F32, 1, SIZES(200000)), 12000);
    check_cycles(shape_make(DTYPE_F32, 1, SIZES(200000)), rows, 12000);
    check_cycles(odd, shape_make(DTYPE_F32, 1, SIZES(1001 * 129)), 22000);
}

/* more rows than a few parts have; 9.7 million once, and 3.5 with an odd number of them */
TEST(blocks_of_many_rows_are_joined_in_a_loop)
{
    check_cycles(shape_make(DTYPE_F32, 2, SIZES(3001, 501)), shape_make(DTYPE_F32, 1, SIZES(3001 * 501)),
                 260000);
    check_cycles(shape_make(DTYPE_BF16, 2, SIZES(4100, 402)),
                 shape_make(DTYPE_BF16, 1, SIZES(4100 * 402)), 260000);
}

/* and the other way round: 3.2 million and 4.9 million once */
TEST(vectors_are_split_into_rows)
{
    check_cycles(shape_make(DTYPE_F32, 1, SIZES(1000 * 1003)), shape_make(DTYPE_F32, 2, SIZES(1000, 1003)),
                 100000);
    check_cycles(shape_make(DTYPE_F32, 1, SIZES(3001 * 501)), shape_make(DTYPE_F32, 2, SIZES(3001, 501)),
                 200000);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(any_reshape_stays_what_it_is), RUN(rows_one_longer_than_they_are_many),
        RUN(rows_longer_than_lanes_are_joined), RUN(blocks_of_many_rows_are_joined_in_a_loop),
        RUN(vectors_are_split_into_rows),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
