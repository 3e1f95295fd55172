/*
 * Do products of two matrices come out right, bit for bit, whatever their sizes, types, tilings
 * and what is computed of them? Batches of them: test_kernel_batches.c.
 */
#include "tests/rigs/kernel_rig.h"
#include "tests/test.h"

#include <math.h>

#include "base/units.h"
#include "stack/hlo/precision.h"

struct product {                        /* [m,k] x [k,n], or as `rhs_contract` says */
    int64_t m, k, n;
    enum graph_dtype in, out;
    int lhs_contract, rhs_contract;
};

static int build(struct graph *g, struct arena *a, const struct product *p)
{
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {p->lhs_contract},
                            .rhs_contract = {p->rhs_contract}};
    int64_t lhs[2] = {p->m, p->k}, rhs[2] = {p->n, p->k};
    int x, y;

    graph_init(g, a, "product");
    lhs[p->lhs_contract] = p->k;
    lhs[!p->lhs_contract] = p->m;
    rhs[p->rhs_contract] = p->k;
    rhs[!p->rhs_contract] = p->n;
    x = graph_parameter(g, shape_make(p->in, 2, lhs), "x");
    y = graph_parameter(g, shape_make(p->in, 2, rhs), "y");
    return graph_dot_general(g, x, y, &dot, p->out, PRECISION_DEFAULT);
}

/* whole numbers, whose sums are exact in any order */
static void check(struct kernel_rig *r, const struct product *p)
{
    struct arena a;
    struct graph g;

    arena_init(&a);
    graph_output(&g, build(&g, &a, p), "out", -1);
    kernel_rig_open(r, &g);
    kernel_rig_check(r, 1);
    kernel_rig_close(r);
    graph_fini(&g);
    arena_fini(&a);
}

static void test_sizes(void **state)
{
    static const char *const chips[] = {"v3", "v5e", "v6e", "v7x"};
    static const struct product products[] = {
        {256, 512, 512, DTYPE_BF16, DTYPE_F32, 1, 0}, {256, 512, 512, DTYPE_BF16, DTYPE_BF16, 1, 0},
        {16, 512, 256, DTYPE_BF16, DTYPE_BF16, 1, 0}, {1, 1024, 384, DTYPE_BF16, DTYPE_F32, 1, 0},
        {264, 384, 640, DTYPE_F32, DTYPE_F32, 1, 0},  {129, 640, 129, DTYPE_BF16, DTYPE_F32, 1, 0},
        {7, 128, 1000, DTYPE_F32, DTYPE_BF16, 1, 0},  {520, 384, 384, DTYPE_BF16, DTYPE_F32, 1, 1},
        {40, 256, 520, DTYPE_F32, DTYPE_F32, 1, 1},   {256, 384, 256, DTYPE_BF16, DTYPE_F32, 0, 0},
        {40, 256, 136, DTYPE_F32, DTYPE_F32, 0, 0},   {129, 129, 129, DTYPE_BF16, DTYPE_BF16, 1, 0},
        {7, 1000, 9, DTYPE_F32, DTYPE_F32, 1, 0},     {48, 65, 300, DTYPE_BF16, DTYPE_F32, 0, 1},
        {127, 1, 8, DTYPE_F32, DTYPE_BF16, 1, 1},     {300, 513, 131, DTYPE_BF16, DTYPE_F32, 0, 0},
    };

    (void)state;
    for (size_t c = 0; c < COUNT_OF(chips); c++)
        for (size_t i = 0; i < COUNT_OF(products); i++) {
            struct kernel_rig r = {.chip = chips[c], .spoils_padding = true};

            check(&r, &products[i]);
        }
}

/* rows and columns of 50257 words: no block of theirs ends where the arrays do */
static void test_short_blocks(void **state)
{
    static const int64_t blocks[][3] = {{128, 128, 128}, {256, 256, 384}, {384, 256, 128}};
    static const struct product products[] = {
        {517, 256, 523, DTYPE_BF16, DTYPE_F32, 1, 1}, {521, 256, 523, DTYPE_BF16, DTYPE_BF16, 0, 1},
        {523, 256, 391, DTYPE_BF16, DTYPE_F32, 0, 0},  {393, 256, 521, DTYPE_F32, DTYPE_BF16, 1, 1},
        {521, 256, 391, DTYPE_F32, DTYPE_F32, 0, 1},  {389, 256, 640, DTYPE_F32, DTYPE_BF16, 1, 0}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(products); i++)
        for (size_t k = 0; k < COUNT_OF(blocks); k++) {
            struct tiling t = {.count = 3, .size = {blocks[k][0], blocks[k][1], blocks[k][2]}};
            struct kernel_rig r = {.chip = k == 1 ? "v6e" : "v3", .tiling = &t,
                                   .spoils_padding = true};

            check(&r, &products[i]);
        }
}

/* rows that end inside a tile, in place: the last block would be written beyond them */
static void test_short_blocks_in_vmem(void **state)
{
    static const struct product p = {517, 256, 128, DTYPE_BF16, DTYPE_F32, 1, 1};
    struct tiling t = {.count = 3, .size = {128, 256, 128}};
    struct kernel_rig r = {.chip = "v6e", .tiling = &t, .results_in_vmem = 1, .may_refuse = true};
    struct arena a;
    struct graph g;

    (void)state;
    arena_init(&a);
    graph_output(&g, build(&g, &a, &p), "out", -1);
    kernel_rig_open(&r, &g);
    assert_non_null(strstr(r.refusal, "its tiling does not go with its shapes"));
    kernel_rig_close(&r);
    r.tiling = NULL;
    kernel_rig_open(&r, &g);
    kernel_rig_check(&r, 1);
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
}

/* blocks as a Pallas kernel has them, and operands and results where they are */
static void test_blocks(void **state)
{
    static const struct product p = {512, 768, 768, DTYPE_BF16, DTYPE_BF16, 1, 0};
    static const int64_t blocks[][3] = {{128, 128, 128}, {256, 384, 256}, {512, 768, 768},
                                        {512, 128, 384}, {96, 256, 256}, {208, 768, 640}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        for (uint32_t places = 0; places < 3; places++) {
            struct tiling t = {.count = 3, .size = {blocks[i][0], blocks[i][1], blocks[i][2]}};
            struct kernel_rig r = {.chip = places == 1 ? "v5e" : "v6e", .tiling = &t,
                                   .operands_in_vmem = places, .results_in_vmem = places & 1};

            check(&r, &p);
        }
}

/*
 * squares of the left operand transposed beside passes: where columns, rows and contraction are
 * cut
 */
static void test_transposed(void **state)
{
    static const char *const chips[] = {"v3", "v4", "v6e"};
    static const struct product products[] = {{256, 1024, 512, DTYPE_BF16, DTYPE_F32, 0, 0},
                                              {128, 2048, 512, DTYPE_F32, DTYPE_BF16, 0, 0},
                                              {256, 1024, 512, DTYPE_BF16, DTYPE_BF16, 0, 1}};
    static const int64_t blocks[][3] = {{0, 0, 0}, {128, 1024, 256}, {128, 512, 512}};

    (void)state;
    for (size_t c = 0; c < COUNT_OF(chips); c++)
        for (size_t i = 0; i < COUNT_OF(products); i++)
            for (size_t b = 0; b < COUNT_OF(blocks); b++) {
                struct tiling t = {.count = 3, .size = {blocks[b][0], blocks[b][1], blocks[b][2]}};
                struct kernel_rig r = {.chip = chips[c], .tiling = b ? &t : NULL};

                check(&r, &products[i]);
            }
}

static cycle_t time_of(const struct product *p)
{
    struct kernel_rig r = {.chip = "v3"};
    struct arena a;
    struct graph g;
    cycle_t cycles;

    arena_init(&a);
    graph_output(&g, build(&g, &a, p), "out", -1);
    kernel_rig_open(&r, &g);
    cycles = kernel_rig_time(&r);
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
    return cycles;
}

/*
 * 16 squares of 8 packed tiles, 16 cycles each, keep the unit of a v3 for 2048 cycles; the 5 last
 * passes' are hidden behind passes, and those before them follow each other without a wait.
 */
static void test_transposing_is_hidden(void **state)
{
    static const struct product plain = {256, 1024, 1024, DTYPE_BF16, DTYPE_BF16, 1, 0};
    static const struct product transposed = {256, 1024, 1024, DTYPE_BF16, DTYPE_BF16, 0, 0};

    (void)state;
    assert_true(time_of(&transposed) < time_of(&plain) + 6 * 128 + 144 + 64 + 400);
}

/*
 * a contraction that ends inside a square of rows that are transposed, inside a tile, inside a
 * word
 */
static void test_transposed_ends(void **state)
{
    static const char *const chips[] = {"v2", "v5e", "v6e"};
    static const int64_t depths[] = {1, 25, 100, 144, 281};

    (void)state;
    for (size_t c = 0; c < COUNT_OF(chips); c++)
        for (size_t i = 0; i < 2 * COUNT_OF(depths); i++) {
            struct product p = {i % 3 ? 1030 : 136, depths[i / 2], 136,
                                i % 2 ? DTYPE_F32 : DTYPE_BF16, DTYPE_F32, 0, 0};
            struct kernel_rig r = {.chip = chips[c], .spoils_padding = true};

            check(&r, &p);
        }
}

/*
 * 64 rounds a pass, more than the latency takes; of each step one square in two is transposed beside
 * its first pass, and stands in the rounds of the second that read it
 */
static void test_transposed_beside_long_passes(void **state)
{
    static const char *const chips[] = {"v3", "v5e", "v6e"};
    static const int64_t blocks[][3] = {{1024, 256, 256}, {512, 256, 128}, {1024, 512, 128}};

    (void)state;
    for (size_t c = 0; c < COUNT_OF(chips); c++)
        for (size_t i = 0; i < 2 * COUNT_OF(blocks); i++) {
            struct product p = {1024, 512, 256, i % 2 ? DTYPE_F32 : DTYPE_BF16, DTYPE_F32, 0, 0};
            struct tiling t = {.count = 3, .size = {blocks[i / 2][0], blocks[i / 2][1],
                                                    blocks[i / 2][2]}};
            struct kernel_rig r = {.chip = chips[c], .tiling = &t};

            check(&r, &p);
        }
}

/* a contraction that the grid cuts, whose last step has part of a square; operands either way */
static void test_ends_of_cut_contractions(void **state)
{
    static const char *const chips[] = {"v3", "v5e", "v6e"};
    static const int64_t depths[] = {1000, 913, 785};
    struct tiling t = {.count = 3, .size = {128, 256, 128}};

    (void)state;
    for (size_t c = 0; c < COUNT_OF(chips); c++)
        for (int i = 0; i < 8; i++) {
            struct product p = {i % 3 ? 256 : 200, depths[i % 3], 136,
                                i / 4 ? DTYPE_F32 : DTYPE_BF16, DTYPE_F32, i % 2, i / 2 % 2};
            struct kernel_rig r = {.chip = chips[c], .tiling = depths[i % 3] > 896 ? &t : NULL,
                                   .spoils_padding = true};

            check(&r, &p);
        }
}

/* 131 whole steps of the contraction do not pay for the end of the last */
static void test_an_end_costs_one_step(void **state)
{
    static const struct product whole = {1024, 4096, 1024, DTYPE_F32, DTYPE_BF16, 0, 0};
    static const struct product ends = {1024, 4092, 1024, DTYPE_F32, DTYPE_BF16, 0, 0};

    (void)state;
    assert_true(time_of(&ends) < time_of(&whole) + 4000);
}

/*
 * Of 32 squares a v3 takes 2 tiles each, and 8 come out in 64 cycles; before they followed each
 * other with a wait of 144 cycles, and took 8 tiles of 16 cycles.
 */
static void test_few_rows_are_transposed_fast(void **state)
{
    static const struct product few = {4096, 25, 256, DTYPE_BF16, DTYPE_BF16, 0, 0};
    static const struct product plain = {4096, 25, 256, DTYPE_BF16, DTYPE_BF16, 1, 0};

    (void)state;
    assert_true(time_of(&few) < time_of(&plain) + 32 * 64 + 1500);
}

/*
 * Weights for the next pass go into both units of a v7x at once, in the time of a round. One after
 * the other they held up the other unit's rows, 61 cycles in each pass of 512.
 */
static void test_weights_hold_up_no_unit(void **state)
{
    static const struct product p = {1024, 4096, 2048, DTYPE_BF16, DTYPE_BF16, 1, 0};
    const cycle_t passes = 4096 / 256 * (2048 / 512), ideal = passes * 1024 / 2;
    struct kernel_rig r = {.chip = "v7x", .codegen = CODEGEN_BEST, .operands_in_vmem = 3,
                           .results_in_vmem = 1};
    struct arena a;
    struct graph g;

    (void)state;
    arena_init(&a);
    graph_output(&g, build(&g, &a, &p), "out", -1);
    kernel_rig_open(&r, &g);
    assert_true(kernel_rig_time(&r) < ideal + ideal / 10);
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
}

/* every kind of tiling that the cost model weighs gives the same bits */
static void test_tilings(void **state)
{
    static const struct product p = {160, 512, 768, DTYPE_BF16, DTYPE_F32, 1, 0};

    (void)state;
    for (int64_t width = 1; width <= 4; width++)
        for (int by_rows = 0; by_rows < (width <= 2 ? 2 : 1); by_rows++)
            for (int outside = 0; outside < 2; outside++) {
                struct tiling t = {.count = 6, .size = {32, 256, width == 4 ? 512 : 384, width,
                                                        by_rows, outside}};
                struct kernel_rig r = {.chip = "v6e", .tiling = &t};

                if (t.size[2] / 128 % width)
                    t.size[2] = width * 128;
                check(&r, &p);
            }
}

/* ----- what is computed of the results */

/* bias, residual, activation; the sum before it and its sign as results of their own */
static void build_epilogue(struct graph *g, struct arena *a, const struct product *p,
                           int activation)
{
    static const int columns[] = {1};
    int dot = build(g, a, p), sum, out, bias, residual, small;
    struct shape s = g->node[dot].shape;

    bias = graph_parameter(g, shape_make(DTYPE_F32, 1, &p->n), "bias");
    residual = graph_parameter(g, shape_make(DTYPE_BF16, 2, s.dim), "residual");
    sum = graph_binary(g, HLO_ADD, dot, graph_broadcast(g, bias, s, columns));
    sum = graph_binary(g, HLO_ADD, sum, graph_convert(g, residual, DTYPE_F32));
    small = graph_binary(g, HLO_MULTIPLY, sum, graph_splat(g, sum, 0.01));
    if (activation == 0)
        out = graph_binary(g, HLO_MAXIMUM, sum, graph_splat(g, sum, 0));
    else if (activation == 1)
        out = graph_unary(g, HLO_TANH, small);
    else if (activation == 3)           /* takes many registers */
        out = graph_binary(g, HLO_MULTIPLY, graph_unary(g, HLO_ERF, small),
                           graph_unary(g, HLO_LOGISTIC, small));
    else
        out = graph_select(g, graph_compare(g, COMPARE_GT, sum, graph_splat(g, sum, 3)), sum,
                           graph_unary(g, HLO_EXP, small));
    graph_output(g, graph_convert(g, out, DTYPE_BF16), "out", -1);
    if (activation != 1)
        graph_output(g, sum, "sum", -1);
}

static void test_epilogues(void **state)
{
    static const char *const chips[] = {"v3", "v5e", "v6e", "v7x"};
    static const struct product products[] = {{272, 256, 384, DTYPE_BF16, DTYPE_F32, 1, 0},
                                              {40, 384, 640, DTYPE_F32, DTYPE_F32, 1, 0},
                                              {600, 128, 256, DTYPE_BF16, DTYPE_F32, 1, 0}};

    (void)state;
    for (size_t c = 0; c < COUNT_OF(chips); c++)
        for (size_t i = 0; i < COUNT_OF(products); i++)
            for (int activation = 0; activation < 4; activation++) {
                struct kernel_rig r = {.chip = chips[c], .ulp = 8, .spoils_padding = true};
                struct arena a;
                struct graph g;

                arena_init(&a);
                build_epilogue(&g, &a, &products[i], activation);
                kernel_rig_open(&r, &g);
                kernel_rig_check(&r, 7);
                kernel_rig_close(&r);
                graph_fini(&g);
                arena_fini(&a);
            }
}

/*
 * A mask of the results: rounds of 32 rows, the last of which the left operand ends in; and sums
 * of f32 operands that are rounded to bf16 before anything else is computed of them.
 */
static void test_masks(void **state)
{
    static const char *const chips[] = {"v3", "v4", "v5e", "v6e"};
    static const struct product products[] = {{296, 128, 128, DTYPE_BF16, DTYPE_F32, 1, 0},
                                              {300, 7, 512, DTYPE_BF16, DTYPE_BF16, 1, 0},
                                              {64, 384, 256, DTYPE_F32, DTYPE_BF16, 1, 0}};

    (void)state;
    for (size_t c = 0; c < COUNT_OF(chips); c++)
        for (size_t i = 0; i < 2 * COUNT_OF(products); i++) {
            struct kernel_rig r = {.chip = chips[c], .spoils_padding = true};
            struct arena a;
            struct graph g;
            struct shape s;
            int y;

            arena_init(&a);
            y = build(&g, &a, &products[i / 2]);
            y = graph_convert(&g, y, DTYPE_F32);
            s = g.node[y].shape;
            s.dtype = DTYPE_PRED;
            if (i % 2 == 0)
                y = graph_select(&g, graph_parameter(&g, s, "mask"), y, graph_splat(&g, y, 3));
            graph_output(&g, y, "out", -1);
            kernel_rig_open(&r, &g);
            kernel_rig_check(&r, 11 + i);
            kernel_rig_close(&r);
            graph_fini(&g);
            arena_fini(&a);
        }
}

/* ----- precision, integers */

/* |result - exact| against sum |a||b|: each precision within its bound, and not within the next */
static void test_precision(void **state)
{
    static const char *const chips[] = {"v3", "v6e"};

    (void)state;
    for (size_t c = 0; c < 2 * COUNT_OF(chips); c++)
        for (int precision = 0; precision < 3; precision++) {
            struct product p = {24, 200, 136, DTYPE_F32, DTYPE_F32, c < COUNT_OF(chips), 0};
            struct kernel_rig r = {.chip = chips[c % COUNT_OF(chips)], .values = RIG_UNIFORM,
                                   .ulp = 1e9, .spoils_padding = true};
            double worst = 0;
            struct arena a;
            struct graph g;
            int dot;

            arena_init(&a);
            dot = build(&g, &a, &p);
            g.node[dot].precision = (enum graph_precision)precision;
            graph_output(&g, dot, "out", -1);
            r.input[0] = kernel_rig_random(&a, &g.node[0].shape, RIG_UNIFORM, 1);
            r.input[1] = kernel_rig_random(&a, &g.node[1].shape, RIG_UNIFORM, 2);
            kernel_rig_open(&r, &g);
            kernel_rig_check(&r, 1);
            for (int64_t i = 0; i < p.m; i++)
                for (int64_t j = 0; j < p.n; j++) {
                    const float *x = r.input[0], *y = r.input[1], *z = r.result[0];
                    double exact = 0, size = 0, share;

                    for (int64_t k = 0; k < p.k; k++) {
                        int64_t at = p.lhs_contract ? i * p.k + k : k * p.m + i;

                        exact += (double)x[at] * (double)y[k * p.n + j];
                        size += fabs((double)x[at] * (double)y[k * p.n + j]);
                    }
                    share = fabs((double)z[i * p.n + j] - exact) / size;
                    worst = share > worst ? share : worst;
                }
            assert_true(worst < precision_error_bound((enum graph_precision)precision, p.k, 128));
            assert_true(worst > (precision == 0 ? 1e-4 : precision == 1 ? 2e-7 : 1e-9));
            kernel_rig_close(&r);
            graph_fini(&g);
            arena_fini(&a);
        }
}

static void test_integers(void **state)
{
    static const struct product products[] = {{64, 256, 384, DTYPE_S8, DTYPE_S32, 1, 0},
                                              {31, 130, 100, DTYPE_S8, DTYPE_S32, 1, 0},
                                              {130, 75, 100, DTYPE_S8, DTYPE_S32, 0, 0},
                                              {320, 384, 256, DTYPE_S8, DTYPE_S32, 1, 1}};
    struct kernel_rig refused = {.chip = "v3", .may_refuse = true};
    static const char *const chips[] = {"v5e", "v6e"};
    struct arena a;
    struct graph g;

    (void)state;
    for (size_t c = 0; c < COUNT_OF(chips); c++)
        for (size_t i = 0; i < COUNT_OF(products); i++) {
            struct kernel_rig r = {.chip = chips[c], .spoils_padding = true};

            check(&r, &products[i]);
        }
    arena_init(&a);
    graph_output(&g, build(&g, &a, &products[0]), "out", -1);
    kernel_rig_open(&refused, &g);
    assert_string_equal(refused.refusal, "product (convolution fusion): the matrix units of this "
                        "chip do not take s8");
    kernel_rig_close(&refused);
    graph_fini(&g);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_short_blocks),
        cmocka_unit_test(test_short_blocks_in_vmem),
        cmocka_unit_test(test_transposed),
        cmocka_unit_test(test_transposing_is_hidden),
        cmocka_unit_test(test_transposed_ends),
        cmocka_unit_test(test_transposed_beside_long_passes),
        cmocka_unit_test(test_ends_of_cut_contractions),
        cmocka_unit_test(test_an_end_costs_one_step),
        cmocka_unit_test(test_few_rows_are_transposed_fast),
        cmocka_unit_test(test_weights_hold_up_no_unit),
        cmocka_unit_test(test_tilings),
        cmocka_unit_test(test_epilogues),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_precision),
        cmocka_unit_test(test_integers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
