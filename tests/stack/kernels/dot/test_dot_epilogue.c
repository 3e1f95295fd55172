/*
 * What is computed of a product's results: vectors of bf16 go into the rounds of the last pass as
 * vectors of f32 do, and what is long for rounds becomes a loop.
 */
#include "base/rng.h"
#include "base/units.h"
#include "stack/kernels/dot/kernel_dot_grid.h"
#include "tests/rigs/kernel_rig.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

static const int columns[] = {1};

struct product {
    int64_t m, k, n;
    enum graph_dtype vector;            /* the bias's */
    bool is_narrow;                     /* the result is of bf16 */
    bool is_turned;                     /* the right operand is [n, k] */
    enum function { FACTOR, SILU, GELU, TANH, POLYNOMIAL } function;
};

static int scaled(struct graph *g, int x, double factor)
{
    return graph_binary(g, HLO_MULTIPLY, x, graph_splat(g, x, factor));
}

/* x waits for a function of itself; the last one also for one result after another of the unit */
static int apply(struct graph *g, int x, enum function f)
{
    int one = graph_splat(g, x, 1), y = x;

    switch (f) {
    case SILU:
        return graph_binary(g, HLO_MULTIPLY, x, graph_unary(g, HLO_LOGISTIC, x));
    case GELU:
        y = graph_binary(g, HLO_MULTIPLY, x, graph_binary(g, HLO_MULTIPLY, x, x));
        y = graph_unary(g, HLO_TANH, graph_binary(g, HLO_ADD, scaled(g, x, 0.8),
                                                  scaled(g, y, 0.035)));
        return graph_binary(g, HLO_MULTIPLY, scaled(g, x, 0.5), graph_binary(g, HLO_ADD, one, y));
    case TANH:
        return graph_unary(g, HLO_TANH, x);
    case POLYNOMIAL:
        for (int i = 0; i < 6; i++)
            y = graph_binary(g, HLO_ADD, graph_binary(g, HLO_MULTIPLY, y, x), one);
        return y;
    default:
        return x;
    }
}

/* a function of a product and a bias of this type, or the product, the bias and a factor of it */
static void build(struct graph *g, struct arena *a, const struct product *p)
{
    int x, y, bias, sum;
    struct shape s;

    graph_init(g, a, "product");
    x = graph_parameter(g, shape_make(DTYPE_BF16, 2, (int64_t[]){p->m, p->k}), "x");
    y = graph_parameter(g, shape_make(DTYPE_BF16, 2, p->is_turned ? (int64_t[]){p->n, p->k}
                                                                 : (int64_t[]){p->k, p->n}), "y");
    sum = graph_dot(g, x, y, 1, p->is_turned, PRECISION_DEFAULT);
    s = g->node[sum].shape;
    bias = graph_parameter(g, shape_make(p->vector, 1, &p->n), "bias");
    sum = graph_binary(g, HLO_ADD, sum,
                       graph_broadcast(g, graph_convert(g, bias, DTYPE_F32), s, columns));
    if (p->function != FACTOR) {
        sum = apply(g, sum, p->function);
    } else {
        struct shape spread = s;

        spread.dtype = p->vector;
        sum = graph_binary(g, HLO_MULTIPLY, sum,
                           graph_convert(g, graph_broadcast(g, bias, spread, columns), DTYPE_F32));
    }
    if (p->is_narrow)
        sum = graph_convert(g, sum, DTYPE_BF16);
    graph_output(g, sum, "out", -1);
}

static cycle_t run(struct kernel_rig *r, const struct product *p, bool has_values)
{
    struct arena a;
    struct graph g;
    cycle_t cycles;

    arena_init(&a);
    build(&g, &a, p);
    kernel_rig_open(r, &g);
    if (has_values && !r->refusal[0])
        kernel_rig_check(r, (uint64_t)(p->m + p->n));
    cycles = r->refusal[0] ? 0 : kernel_rig_time(r);
    kernel_rig_close(r);
    graph_fini(&g);
    arena_fini(&a);
    return cycles;
}

/* of widths whose tiles are odd and even, one and many pieces of 16, in one step and in several */
static void test_vectors_of_bf16(void **state)
{
    static const char *const chips[] = {"v2", "v3", "v4", "v5e", "v6e", "v7x", "tiny"};
    static const int64_t widths[] = {1, 128, 200, 640, 1152, 2304, 4500};

    (void)state;
    for (size_t c = 0; c < COUNT_OF(chips); c++)
        for (size_t i = 0; i < COUNT_OF(widths); i++) {
            struct product p = {c % 2 ? 136 : 40, 64, widths[i], DTYPE_BF16, false, false, FACTOR};
            struct kernel_rig r = {.chip = chips[c], .spoils_padding = true};

            run(&r, &p, true);
        }
}

/* the grid cuts columns; its last block moves back to end with the array */
static void test_blocks_of_columns(void **state)
{
    static const int64_t block[] = {128, 256, 384};
    static const struct product p = {64, 128, 1152, DTYPE_BF16, false, false, FACTOR};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(block); i++) {
        struct tiling t = {.count = 6, .size = {32, 128, block[i], 1}};
        struct kernel_rig r = {.chip = "v5e", .tiling = &t};

        run(&r, &p, true);
    }
}

/* unpacking it takes a few bundles of a step, and no loop over the results */
static void test_costs_no_more_than_f32(void **state)
{
    static const char *const chips[] = {"v3", "v5e", "v6e"};

    (void)state;
    for (size_t c = 0; c < COUNT_OF(chips); c++) {
        struct product wide = {2048, 512, 1024, DTYPE_F32, false, false, FACTOR};
        struct product narrow = {2048, 512, 1024, DTYPE_BF16, false, false, FACTOR};
        struct kernel_rig r = {.chip = chips[c]}, other = r;
        cycle_t all = run(&r, &wide, false);

        assert_true(run(&other, &narrow, false) < all + all / 50);
    }
}

/* in rounds it took three times as long as the product and its bias */
static void test_functions_are_loops(void **state)
{
    static const char *const chips[] = {"v3", "v5e", "v6e"};

    (void)state;
    for (size_t c = 0; c < COUNT_OF(chips); c++) {
        struct product plain = {4096, 256, 512, DTYPE_F32, false, false, FACTOR};
        struct product silu = {4096, 256, 512, DTYPE_F32, false, false, SILU};
        struct kernel_rig r = {.chip = chips[c]}, other = r;
        cycle_t least = run(&r, &plain, false);

        assert_true(run(&other, &silu, false) < least * 8 / 5);
    }
}

/*
 * One push into the transcendental unit, or none, and a result that is kept meanwhile: as a loop, and
 * in rounds that could keep nothing, tanh and gelu took a quarter more than passes and slots do.
 */
static void test_rounds_keep_slots_full(void **state)
{
    static const char *const chips[] = {"v5e", "v6e", "v7x"};
    static const struct { enum function function; int slots; } cases[] = {
        {TANH, 3}, {GELU, 10}, {POLYNOMIAL, 13}};

    (void)state;
    for (size_t c = 0; c < COUNT_OF(chips); c++)
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            struct product plain = {8192, 512, 1024, DTYPE_F32, true, false, FACTOR};
            struct product p = {8192, 512, 1024, DTYPE_F32, true, false, cases[i].function};
            struct kernel_rig r = {.chip = chips[c], .operands_in_vmem = 7}, other = r;
            cycle_t least = run(&r, &plain, false);
            cycle_t slots = (cycle_t)(8192 * 1024 / 1024 * (cases[i].slots - 3) / 4);

            assert_true(run(&other, &p, false) < least + least * 3 / 20 + slots);
        }
}

/* the same bits as the interpreter's within the unit's errors, in several columns, rounds and steps */
static void test_rounds_overlap_rightly(void **state)
{
    static const char *const chips[] = {"v3", "v4", "v5e", "v6e", "v7x"};
    static const enum function functions[] = {TANH, GELU, SILU, POLYNOMIAL};
    static const int64_t sizes[][3] = {{1600, 300, 640}, {1048, 128, 384}};

    (void)state;
    for (size_t c = 0; c < COUNT_OF(chips); c++)
        for (size_t i = 0; i < COUNT_OF(functions) * 2; i++) {
            const int64_t *size = sizes[i % 2];
            struct product p = {size[0], size[1], size[2], DTYPE_F32, i % 2 == 0, false,
                                functions[i / 2]};
            struct kernel_rig r = {.chip = chips[c], .values = RIG_UNIFORM, .spoils_padding = true,
                                   .ulp = i % 2 == 0 ? 2 : 1024, .absolute = 1e-3};

            run(&r, &p, true);
        }
}

/* sizes whose contraction takes two arrays, of any number of rows and columns */
static struct product two_arrays_deep(struct rng *r, int64_t array)
{
    return (struct product){.m = 1 + rng_below(r, 700), .k = array + 1 + rng_below(r, (uint32_t)array),
                            .n = 1 + rng_below(r, rng_below(r, 3) ? 900 : 128), .vector = DTYPE_F32,
                            .is_narrow = rng_below(r, 2),
                            .function = rng_below(r, 2) ? GELU : POLYNOMIAL,
                            .is_turned = rng_below(r, 2)};
}

/*
 * Half of the units have the first pass, half the second one, and what both have is added: drawn
 * sizes, whose rows, columns and contraction end anywhere in a tile.
 */
static void test_units_share_passes(void **state)
{
    static const struct { const char *chip; int64_t array; } chips[] = {{"v4", 128}, {"v6e", 256}};
    const int count = seeds_count(48);
    int shared = 0;

    (void)state;
    for (int seed = 0; seed < count; seed++) {
        struct rng random;
        size_t c = (size_t)seed % COUNT_OF(chips);
        struct product p;
        struct kernel_rig r;
        struct tiling t;

        rng_init(&random, seeds_at(seed));
        p = two_arrays_deep(&random, chips[c].array);
        t = (struct tiling){.count = DOT_SIZES,
                            .size = {round_up(p.m, 16), round_up(p.k, 128),
                                     earlier(round_up(p.n, 128), 256), 0,
                                     SHARE_DEPTH, 0, 1}};
        t.size[DOT_WIDTH] = t.size[DOT_BN] / 128;
        r = (struct kernel_rig){.chip = chips[c].chip, .values = RIG_UNIFORM, .tiling = &t,
                                .spoils_padding = true, .ulp = p.is_narrow ? 2 : 1024,
                                .absolute = 1e-3, .may_refuse = true};
        run(&r, &p, true);
        shared += r.segment.tiling.size[DOT_SHARE] == SHARE_DEPTH;
    }
    assert_true(shared > count / 2);
}

/* a product of f32 and what is added to it: one of its operands, or another array */
static cycle_t run_residual(const char *chip, int64_t n, int which, bool has_values)
{
    struct kernel_rig r = {.chip = chip};
    struct arena a;
    struct graph g;
    struct shape s = shape_make(DTYPE_F32, 2, (int64_t[]){n, n});
    int array[3], sum;
    cycle_t cycles;

    arena_init(&a);
    graph_init(&g, &a, "residual");
    for (int i = 0; i < (which < 2 ? 2 : 3); i++)
        array[i] = graph_parameter(&g, s, "xyz" + i);
    sum = graph_dot(&g, array[0], array[1], 1, 0, PRECISION_DEFAULT);
    graph_output(&g, graph_binary(&g, HLO_ADD, sum, array[which]), "out", -1);
    kernel_rig_open(&r, &g);
    if (has_values)
        kernel_rig_check(&r, (uint64_t)n);
    cycles = kernel_rig_time(&r);
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
    return cycles;
}

/* it was a loop behind the passes, which took 30 % longer than the rounds of another array */
static void test_an_operand_is_added(void **state)
{
    static const char *const chips[] = {"v3", "v5e", "v6e", "tiny"};

    (void)state;
    for (size_t c = 0; c < COUNT_OF(chips); c++)
        for (int which = 0; which < 2; which++) {
            run_residual(chips[c], 136, which, true);
            assert_true(run_residual(chips[c], 512, which, false)
                        < run_residual(chips[c], 512, 2, false) * 21 / 20);
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors_of_bf16),
        cmocka_unit_test(test_blocks_of_columns),
        cmocka_unit_test(test_costs_no_more_than_f32),
        cmocka_unit_test(test_functions_are_loops),
        cmocka_unit_test(test_rounds_keep_slots_full),
        cmocka_unit_test(test_rounds_overlap_rightly),
        cmocka_unit_test(test_units_share_passes),
        cmocka_unit_test(test_an_operand_is_added),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
