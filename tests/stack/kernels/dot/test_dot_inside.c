/*
 * Products whose right operand is computed with sums along the contraction, as attention's values
 * behind a softmax are: their passes are in the loop that computes it, or behind it, and the values
 * are the interpreter's either way.
 */
#include "base/rng.h"
#include "base/units.h"
#include "tests/rigs/kernel_rig.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

struct sizes { int64_t batches, rows, depth, columns; };

static int less_its_sums(struct graph *g, int x, bool is_softmax)
{
    struct shape s = g->node[x].shape;
    int kept[] = {0, 2}, high = graph_reduce(g, REDUCE_MAX, x, 1u << 1), sum;

    x = graph_binary(g, HLO_SUBTRACT, x, graph_broadcast(g, high, s, kept));
    if (is_softmax)
        x = graph_unary(g, HLO_EXP, x);
    sum = graph_reduce(g, REDUCE_ADD, x, 1u << 1);
    if (is_softmax)
        return graph_binary(g, HLO_DIVIDE, x, graph_broadcast(g, sum, s, kept));
    sum = graph_binary(g, HLO_MAXIMUM, sum, graph_splat(g, sum, -8));
    return graph_binary(g, HLO_ADD, x, graph_broadcast(g, sum, s, kept));
}

/* rows x depth by the weights of depth x columns; the weights as HLO's left operand or its right one */
static void make(struct graph *g, const struct sizes *z, enum graph_dtype weights,
                 enum graph_dtype result, bool is_left, bool is_softmax)
{
    struct graph_dot dot = {.batch_count = 1, .lhs_batch = {0}, .rhs_batch = {0},
                            .contract_count = 1, .lhs_contract = {is_left ? 1 : 2},
                            .rhs_contract = {is_left ? 2 : 1}};
    int x = graph_parameter(g, shape_make(weights, 3, (int64_t[]){z->batches, z->depth, z->columns}),
                            "scores");
    int v = graph_parameter(g, shape_make(DTYPE_BF16, 3, (int64_t[]){z->batches, z->rows, z->depth}),
                            "values");

    x = graph_convert(g, less_its_sums(g, graph_convert(g, x, DTYPE_F32), is_softmax), DTYPE_BF16);
    graph_output(g, graph_dot_general(g, is_left ? x : v, is_left ? v : x, &dot, result,
                                      PRECISION_DEFAULT), "y", -1);
}

TEST(drawn_products_have_the_values_of_the_interpreter)
{
    static const char *const chips[] = {"v6e", "v5e", "v6e", "v3", "v6e", "v7x"};
    static const int swapped[] = {1, 2, 0};
    const int count = seeds_count(40);

    for (int i = 0; i < count; i++) {
        struct kernel_rig r = {.chip = chips[i % (int)COUNT_OF(chips)], .spoils_padding = true,
                               .any_zero = true, .values = RIG_WHOLE, .results_in_vmem = i % 4 == 2, .checks_accesses = i % 4 == 2,
                               .operands_in_vmem = i % 4 == 0,
                               .vmem_rows = i % 5 == 0 ? 12000 : 0};
        enum graph_dtype result = i / 2 % 2 ? DTYPE_BF16 : DTYPE_F32;
        bool is_left = i / 3 % 2;
        struct rng random;
        struct sizes z;
        struct arena a;
        struct graph g;

        rng_init(&random, seeds_at(i));
        z.batches = 1 + (int64_t)rng_below(&random, 14);
        z.rows = 1 + (int64_t)rng_below(&random, i % 7 ? 70 : 200);
        z.depth = 9 + (int64_t)rng_below(&random, 500);
        z.columns = 1 + (int64_t)rng_below(&random, 400);
        print_message("%llu: %s, %lld times %lldx%lldx%lld\n",
                      (unsigned long long)seeds_at(i), r.chip, (long long)z.batches,
                      (long long)z.rows, (long long)z.depth, (long long)z.columns);
        arena_init(&a);
        graph_init(&g, &a, "values");
        make(&g, &z, i % 3 ? DTYPE_F32 : DTYPE_BF16, result, is_left, false);
        if (is_left && result == DTYPE_F32)
            r.result_order[0] = swapped;
        r.ulp = result == DTYPE_BF16 ? 0.5 : 0;
        kernel_rig_open(&r, &g);
        kernel_rig_check(&r, seeds_at(i));
        kernel_rig_close(&r);
        graph_fini(&g);
        arena_fini(&a);
    }
}

/* at most `most` cycles, told within an eighth */
static void check_cycles(const struct sizes *z, cycle_t most)
{
    struct kernel_rig r = {.chip = "v6e", .operands_in_vmem = 3, .results_in_vmem = 1};
    struct arena a;
    struct graph g;

    arena_init(&a);
    graph_init(&g, &a, "values");
    make(&g, z, DTYPE_F32, DTYPE_BF16, false, true);
    kernel_rig_open(&r, &g);
    kernel_rig_time(&r);
    print_message("told %lld, simulated %lld cycles\n", (long long)r.segment.cost.total_cycles,
                  (long long)r.cycles);
    assert_in_range(r.segment.cost.total_cycles, r.cycles * 88 / 100, r.cycles * 112 / 100);
    assert_in_range(r.cycles, 1, most);
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
}

TEST(passes_take_no_time_beside_a_softmax)
{
    /* 41 registers of scores, 6.5 slots each of four in a bundle, and 5 for the results of 32 rows */
    check_cycles(&(struct sizes){32, 32, 328, 328}, 3 * (32 * 77 + 720));
    check_cycles(&(struct sizes){48, 64, 128, 128}, 48 * 34 + 700);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drawn_products_have_the_values_of_the_interpreter),
        cmocka_unit_test(passes_take_no_time_beside_a_softmax),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
