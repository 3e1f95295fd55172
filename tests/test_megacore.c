/*
 * Does a module on both cores of a chip compute the bits of one core, in about half the time?
 *
 * test_megacore [first seed [graphs]] runs more of the random graphs.
 */
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/generate/random_hlo.h"
#include "tests/test.h"

#include <stdlib.h>

static uint64_t first_seed = 1;
static int graph_count;                 /* 0: as many as each test says */

struct both { int64_t alone, cycles, barriers; };

/* both ways against the interpreter, and against each other */
static struct both check_both(const struct module_rig *r, uint64_t seed)
{
    struct module_rig one = *r, two = *r;

    one.slice = two.slice = r->slice ? r->slice : "v4-2";
    two.megacore = true;
    module_rig_check(&one, &g, seed);
    module_rig_check(&two, &g, seed);
    assert_int_equal(one.refusal[0] != '\0', two.refusal[0] != '\0');
    if (one.outputs_crc != two.outputs_crc)
        fail_msg("%s: other bits on two cores", g.name);
    return (struct both){one.cycles, two.cycles, two.barrier_count};
}

static void check_random(unsigned groups, unsigned dtypes, const char *slice, int count)
{
    uint64_t end = first_seed + (uint64_t)(graph_count ? graph_count : count);

    for (uint64_t seed = first_seed; seed < end; seed++) {
        struct random_hlo h = {.seed = seed, .groups = groups, .dtypes = dtypes, .op_count = 10,
                               .elems_max = 6000};
        struct module_rig r = {.slice = slice, .uses_hlo_inputs = true,
                               .may_refuse = true};

        random_hlo_build(&g, &h);
        g.name = arena_printf(&arena, "seed %d", (int)seed);
        check_both(&r, seed);
        one_graph_again();
    }
}

#define BASIC (RANDOM_ELEMENTWISE | RANDOM_MOVE | RANDOM_REDUCE)

TEST(elementwise_moves_and_reductions_have_the_same_bits)
{
    check_random(BASIC, 0, "v4-2", 20);
    check_random(BASIC, 0, "v5p-2", 10);
}

TEST(products_have_the_same_bits)
{
    check_random(BASIC | RANDOM_DOT, 0, "v4-2", 20);
    check_random(BASIC | RANDOM_DOT, 0, "v5p-2", 10);
}

TEST(convolutions_windows_and_indexing_have_the_same_bits)
{
    check_random(BASIC | RANDOM_CONV | RANDOM_WINDOW, 1u << DTYPE_F32 | 1u << DTYPE_BF16,
                 "v4-2", 15);
    check_random(BASIC | RANDOM_INDEX | RANDOM_SORT | RANDOM_BITS, 0, "v4-2", 15);
}

TEST(loops_have_the_same_bits)
{
    check_random(BASIC | RANDOM_LOOP, 0, "v4-2", 15);
}

/* 16 MiB by one port of 614 GB/s, or by an HBM of 1200 less what turning and refresh take */
TEST(elementwise_work_takes_two_thirds_of_the_time)
{
    struct module_rig r = {.slice = "v4-2"};
    int x = graph_parameter(&g, shape_make(DTYPE_F32, 2, (int64_t[]){2048, 1024}), "x");
    struct both both;

    graph_output(&g, graph_unary(&g, HLO_NEGATE, x), "negated", -1);
    both = check_both(&r, 1);
    print_message("one core %lld cycles, two %lld\n", (long long)both.alone,
                  (long long)both.cycles);
    assert_true(4 * both.cycles < 3 * both.alone);
    assert_true(2 * both.cycles > both.alone);
    assert_int_equal(both.barriers, 0);
}

/* the second product reads what both cores have made of the first: a barrier */
TEST(products_take_little_more_than_half_the_time)
{
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {1}, .rhs_contract = {0}};
    struct module_rig r = {.slice = "v4-2"};
    struct shape square = shape_make(DTYPE_BF16, 2, (int64_t[]){1024, 1024});
    int x = graph_parameter(&g, shape_make(DTYPE_BF16, 2, (int64_t[]){1024, 8}), "x");
    int y = graph_parameter(&g, shape_make(DTYPE_BF16, 2, (int64_t[]){8, 1024}), "y");
    int w = graph_parameter(&g, square, "w"), made;
    struct both both;

    made = graph_dot_general(&g, x, y, &dot, DTYPE_BF16, PRECISION_DEFAULT);
    made = graph_dot_general(&g, made, w, &dot, DTYPE_F32, PRECISION_DEFAULT);
    graph_output(&g, made, "made", -1);
    both = check_both(&r, 1);
    print_message("one core %lld cycles, two %lld\n", (long long)both.alone,
                  (long long)both.cycles);
    assert_true(3 * both.cycles < 2 * both.alone);
    assert_int_equal(both.barriers, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(elementwise_moves_and_reductions_have_the_same_bits),
        RUN(products_have_the_same_bits),
        RUN(convolutions_windows_and_indexing_have_the_same_bits),
        RUN(loops_have_the_same_bits),
        RUN(elementwise_work_takes_two_thirds_of_the_time),
        RUN(products_take_little_more_than_half_the_time),
    };

    first_seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    graph_count = argc > 2 ? atoi(argv[2]) : 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
