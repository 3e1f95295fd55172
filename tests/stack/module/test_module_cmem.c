/*
 * Do arrays that stay in CMEM between kernels have the bits that they have in HBM, and save time?
 *
 * test_module_cmem [first seed [graphs]] draws more of the graphs.
 */
#include "tests/generate/random_hlo.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/test.h"

#include <stdlib.h>

#define WITHOUT "slots.cmem_load=0 cmem.bytes=0"

static uint64_t first_seed = 1;
static int graph_count = 15;

/* two products in a row, whose array between them both kernels copy */
static void build_products(void)
{
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {1}, .rhs_contract = {0}};
    struct shape wide = shape_make(DTYPE_BF16, 2, (int64_t[]){128, 4096});
    struct shape back = shape_make(DTYPE_BF16, 2, (int64_t[]){4096, 128});
    int x = graph_parameter(&g, shape_make(DTYPE_BF16, 2, (int64_t[]){2048, 128}), "x");
    int w = graph_parameter(&g, wide, "w"), v = graph_parameter(&g, back, "v");

    x = graph_dot_general(&g, x, w, &dot, DTYPE_BF16, PRECISION_DEFAULT);
    graph_output(&g, graph_dot_general(&g, x, v, &dot, DTYPE_F32, PRECISION_DEFAULT), "made", -1);
}

/* alike on one core with CMEM and without; the arrays that lie there */
static int64_t check_both(struct module_rig *with, uint64_t seed)
{
    struct module_rig without = *with;

    without.set = WITHOUT;
    module_rig_check(&without, &g, seed);
    module_rig_check(with, &g, seed);
    assert_int_equal(without.cmem_count, 0);
    assert_int_equal(with->refusal[0] != '\0', without.refusal[0] != '\0');
    if (with->outputs_crc != without.outputs_crc)
        fail_msg("%s: other bits through CMEM", g.name);
    with->worst = (double)with->cycles / (double)(without.cycles ? without.cycles : 1);
    return with->cmem_count;
}

/* the array between them is written at 500 GB/s in place of 614, and leaves the HBM to the rest */
TEST(an_array_between_products_lies_there)
{
    struct module_rig r = {.slice = "v4-2"};

    build_products();
    assert_int_equal(check_both(&r, 1), 1);
    print_message("%.3f of the cycles\n", r.worst);
}

/* each core would have a part of it */
TEST(nothing_lies_there_of_two_cores)
{
    struct module_rig r = {.slice = "v4-2", .megacore = true};

    build_products();
    module_rig_check(&r, &g, 1);
    assert_int_equal(r.cmem_count, 0);
}

TEST(drawn_graphs_have_the_same_bits)
{
    int64_t count = 0;

    for (uint64_t seed = first_seed; seed < first_seed + (uint64_t)graph_count; seed++) {
        struct random_hlo h = {.seed = seed, .op_count = 14, .elems_max = 6000,
                               .groups = RANDOM_ELEMENTWISE | RANDOM_MOVE | RANDOM_REDUCE
                                         | RANDOM_DOT | (seed % 3 == 0 ? RANDOM_LOOP : 0)
                                         | (seed % 4 == 0 ? RANDOM_CONV | RANDOM_INDEX : 0)};
        struct module_rig r = {.slice = "v4-2", .uses_hlo_inputs = true, .may_refuse = true,
                               .is_restored = seed % 5 == 0,
                               .launches = 1 + (int)(seed % 3)};

        random_hlo_build(&g, &h);
        g.name = arena_printf(&arena, "seed %d", (int)seed);
        count += check_both(&r, seed);
        one_graph_again();
    }
    assert_true(count > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(an_array_between_products_lies_there), RUN(nothing_lies_there_of_two_cores),
        RUN(drawn_graphs_have_the_same_bits),
    };

    first_seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    graph_count = argc > 2 ? atoi(argv[2]) : graph_count;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
