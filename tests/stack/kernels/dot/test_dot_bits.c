/*
 * Products as the compiler makes them with --codegen best, against fmaf in a plain loop: bit for
 * bit in the documented order of sums, on every chip. Exact sums, tilings, types and epilogues:
 * test_kernel_dot.c.
 */
#include "base/floats.h"
#include "base/rng.h"
#include "base/units.h"
#include "tests/rigs/kernel_rig.h"
#include "tests/test.h"

#include <math.h>

#define CHUNK_SIZE 1                    /* of a tiling: the contraction of a step */
#define TILE 128
#define EVEN 512                        /* rows and columns that all tilings divide */

struct product {
    const struct kernel_rig *rig;
    int64_t m, n, k;
    const float *a, *b, *c;             /* dense */
    bool is_bf16;
};

/* one pass: a chain of fused multiply-adds over k = 1, 0, 3, 2, … */
static float pass(const struct product *p, int64_t i, int64_t j, int64_t first)
{
    float sum = 0;

    for (int64_t step = 0; step < p->rig->machine_chip.mxu_size; step++) {
        int64_t k = first + (step ^ 1);
        bool is_inside = k < p->k;

        sum = fmaf(is_inside ? p->a[i * p->k + k] : 0, is_inside ? p->b[k * p->n + j] : 0, sum);
    }
    return sum;
}

/* accumulators add up the passes of a step, then the sums of steps are added */
static float element(const struct product *p, int64_t i, int64_t j)
{
    int64_t array = p->rig->machine_chip.mxu_size;
    int64_t chunk_depth = round_up(p->rig->segment.tiling.size[CHUNK_SIZE], TILE);
    float sum = 0, chunk = 0;

    for (int64_t k = 0; k < p->k; k += array) {
        if (p->rig->machine_chip.mxu_accumulators == 0) {
            sum += pass(p, i, j, k);
            continue;
        }
        chunk += pass(p, i, j, k);
        if ((k + array) % chunk_depth == 0 || k + array >= p->k) {
            sum += chunk;
            chunk = 0;
        }
    }
    return p->is_bf16 ? f32_round_to_bf16(sum) : sum;
}

static const float *random_operand(struct arena *a, int64_t count, struct rng *r)
{
    float *x = arena_array(a, (size_t)count, sizeof(*x));

    for (int64_t i = 0; i < count; i++)
        x[i] = f32_round_to_bf16(((float)rng_below(r, 2001) - 1000) / 512);
    return x;
}

static void check_element(const struct product *p, int64_t i, int64_t j)
{
    float is = p->c[i * p->n + j], wanted = element(p, i, j);

    if (f32_bits(is) != f32_bits(wanted))
        fail_msg("%s %s %lldx%lldx%lld %s: element (%lld, %lld) is %a, not %a", p->rig->chip,
                 p->rig->set ? p->rig->set : "", (long long)p->m, (long long)p->n,
                 (long long)p->k, p->is_bf16 ? "bf16" : "f32", (long long)i, (long long)j,
                 (double)is, (double)wanted);
}

/* all elements of a small product, some of a large one, the corners among them */
static void check_elements(const struct product *p, struct rng *random)
{
    for (int64_t i = 0; p->m * p->n <= 20000 && i < p->m * p->n; i++)
        check_element(p, i / p->n, i % p->n);
    for (int i = 0; i < 2000; i++)
        check_element(p, rng_below(random, (uint32_t)p->m), rng_below(random, (uint32_t)p->n));
    check_element(p, 0, p->n - 1);
    check_element(p, p->m - 1, 0);
    check_element(p, p->m - 1, p->n - 1);
}

static void build(struct graph *g, struct arena *a, const int64_t size[3],
                  enum graph_dtype result)
{
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {1}, .rhs_contract = {0}};
    int x, y;

    graph_init(g, a, "product");
    x = graph_parameter(g, shape_make(DTYPE_BF16, 2, (int64_t[]){size[0], size[2]}), "x");
    y = graph_parameter(g, shape_make(DTYPE_BF16, 2, (int64_t[]){size[2], size[1]}), "y");
    graph_output(g, graph_dot_general(g, x, y, &dot, result, PRECISION_DEFAULT), "out", -1);
}

/* returns the contraction of a step */
static int64_t check(const char *chip, const char *set, const int64_t size[3], bool is_bf16)
{
    bool is_even = size[0] % EVEN == 0 && size[1] % EVEN == 0;  /* no box overlaps another */
    struct kernel_rig r = {.chip = chip, .set = set, .codegen = CODEGEN_BEST,
                           .checks_accesses = is_even, .spoils_padding = true};
    struct product p = {.rig = &r, .m = size[0], .n = size[1], .k = size[2], .is_bf16 = is_bf16};
    struct rng random;
    struct arena a;
    struct graph g;
    int64_t depth;

    arena_init(&a);
    rng_init(&random, 5);
    r.input[0] = p.a = random_operand(&a, p.m * p.k, &random);
    r.input[1] = p.b = random_operand(&a, p.k * p.n, &random);
    build(&g, &a, size, is_bf16 ? DTYPE_BF16 : DTYPE_F32);
    kernel_rig_open(&r, &g);
    kernel_rig_run(&r, 1);
    p.c = r.result[0];
    check_elements(&p, &random);
    depth = r.segment.tiling.size[CHUNK_SIZE];
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
    return depth;
}

static void check_all(const char *const *chip, size_t chips, const int64_t (*size)[3], size_t sizes)
{
    for (size_t c = 0; c < chips; c++)
        for (size_t i = 0; i < 2 * sizes; i++)
            check(chip[c], NULL, size[i / 2], i % 2);
}

static const char *const chips[] = {"tiny", "v2", "v3", "v4", "v5e", "v5p", "v6e", "v7x"};

TEST(small_and_odd_products_have_the_documented_bits_on_every_chip)
{
    static const int64_t sizes[][3] = {{1, 1, 1}, {16, 128, 128}, {40, 200, 300}, {300, 130, 17},
                                       {129, 1, 1000}, {600, 40, 260}, {17, 700, 257}};

    check_all(chips, COUNT_OF(chips), sizes, COUNT_OF(sizes));
}

/* several steps along every side, loops that run many rounds */
TEST(large_products_have_the_documented_bits_on_every_chip)
{
    static const int64_t sizes[][3] = {{1100, 1200, 700}};

    check_all(chips + 1, COUNT_OF(chips) - 1, sizes, COUNT_OF(sizes));
}

/* operands of the first step that come in parts while it runs */
TEST(products_in_parts_have_the_documented_bits_on_every_chip)
{
    static const int64_t sizes[][3] = {{1024, 512, 1024}, {512, 1024, 2048}, {1100, 600, 2048},
                                       {1024, 512, 1500}, {600, 300, 1990}};

    check_all(chips + 1, COUNT_OF(chips) - 1, sizes, COUNT_OF(sizes));
}

/* a contraction that the grid cuts, whose results have one buffer */
TEST(contractions_in_several_steps_have_the_documented_bits)
{
    static const char *const cut[] = {"v3", "v5e", "v7x"};
    static const int64_t size[] = {512, 1024, 4096};

    for (size_t c = 0; c < COUNT_OF(cut); c++)
        for (int i = 0; i < 2; i++)
            assert_true(check(cut[c], "vmem.bytes=3145728", size, i) < size[2]);
}

/* little memory makes small blocks; few FIFO places a short lag; many units little room */
TEST(products_fit_changed_chips)
{
    static const int64_t sizes[][3] = {{500, 300, 400}, {528, 300, 1024}};
    static const struct { const char *chip, *set; } cases[] = {
        {"v3", "vmem.bytes=1048576"}, {"v3", "mxu.fifo_depth=4"}, {"v3", "mxu.count=8"},
        {"v5e", "core.branch_delay_bundles=0"}, {"v6e", "mxu.latency_cycles=1000"},
        {"v6e", "mxu.count=1"}, {"v4", "slots.push=1"}, {"v7x", "mxu.accumulators=2"},
        {"v7x", "mxu.latency_cycles=10"}, {"v5p", "slots.valu=1"},
        {"v3", "slots.scalar=1"}};

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (int k = 0; k < 4; k++)
            check(cases[i].chip, cases[i].set, sizes[k / 2], k % 2);
}

static void refuse(const char *chip, const char *set, const char *part)
{
    struct kernel_rig r = {.chip = chip, .set = set, .codegen = CODEGEN_BEST, .may_refuse = true};
    struct arena a;
    struct graph g;

    arena_init(&a);
    build(&g, &a, (int64_t[]){129, 1, 1000}, DTYPE_F32);
    kernel_rig_open(&r, &g);
    if (!strstr(r.refusal, part))
        fail_msg("\"%s\" instead of \"%s\"", r.refusal, part);
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
}

TEST(what_fits_no_chip_is_refused)
{
    refuse("tiny", "vmem.bytes=65536", "no tiling goes with these layouts and 32 KiB");
    refuse("v3", "mxu.fifo_depth=2", "no tiling goes with these layouts");
    refuse("v3", "core.vregs=10", "a product needs more vector registers than the 10");
    refuse("v7x", "mxu.accumulators=1", "no tiling goes with these layouts");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_and_odd_products_have_the_documented_bits_on_every_chip),
        cmocka_unit_test(large_products_have_the_documented_bits_on_every_chip),
        cmocka_unit_test(products_in_parts_have_the_documented_bits_on_every_chip),
        cmocka_unit_test(contractions_in_several_steps_have_the_documented_bits),
        cmocka_unit_test(products_fit_changed_chips),
        cmocka_unit_test(what_fits_no_chip_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
