/*
 * Generated products (stack/kernels/dot/gemm.h) against fmaf in a plain loop: bit for bit in
 * the documented order of sums, on every chip.
 */
#include "base/floats.h"
#include "base/rng.h"
#include "stack/kernels/dot/gemm.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

struct product {
    struct gemm_problem problem;
    struct gemm_plan plan;
    float *a, *b, *c;                   /* dense */
};

static void fill(float *x, int64_t count, struct rng *r)
{
    for (int64_t i = 0; i < count; i++)
        x[i] = f32_round_to_bf16(((float)rng_below(r, 2001) - 1000) / 512);
}

/* one pass: a chain of fused multiply-adds over k = 1, 0, 3, 2, … */
static float pass(const struct product *p, int64_t i, int64_t j, int64_t first)
{
    float sum = 0;

    for (int64_t step = 0; step < p->plan.array; step++) {
        int64_t k = first + (step ^ 1);
        bool is_inside = k < p->problem.k;

        sum = fmaf(is_inside ? p->a[i * p->problem.k + k] : 0,
                   is_inside ? p->b[k * p->problem.n + j] : 0, sum);
    }
    return sum;
}

static float element(const struct product *p, int64_t i, int64_t j)
{
    float sum = 0, chunk = 0;

    for (int64_t k = 0; k < p->problem.k; k += p->plan.array) {
        if (!p->plan.has_accumulators) {
            sum += pass(p, i, j, k);
            continue;
        }
        chunk += pass(p, i, j, k);
        if ((k + p->plan.array) % p->plan.chunk_depth == 0 ||
            k + p->plan.array >= p->problem.k) {
            sum += chunk;
            chunk = 0;
        }
    }
    return p->problem.is_result_bf16 ? f32_round_to_bf16(sum) : sum;
}

static void make(struct product *p, struct rng *r)
{
    const struct gemm_problem *q = &p->problem;

    p->a = mem_alloc((size_t)(q->m * q->k) * 4);
    p->b = mem_alloc((size_t)(q->k * q->n) * 4);
    p->c = mem_alloc((size_t)(q->m * q->n) * 4);
    fill(p->a, q->m * q->k, r);
    fill(p->b, q->k * q->n, r);
}

static void release(struct product *p)
{
    mem_free(p->a);
    mem_free(p->b);
    mem_free(p->c);
}

static void put(struct rig *r, int64_t address, const float *dense, int64_t dense_rows,
                int64_t dense_columns, int64_t rows, int64_t columns)
{
    uint16_t *tiles = mem_alloc((size_t)(rows * columns) * 2);

    gemm_pack(dense, dense_rows, dense_columns, rows, columns, tiles);
    assert_int_equal(machine_hbm_write(r->m, 0, address, tiles, 2 * rows * columns, &r->err), 0);
    mem_free(tiles);
}

static void get(struct rig *r, struct product *p)
{
    const struct gemm_plan *plan = &p->plan;
    const struct gemm_problem *q = &p->problem;
    int64_t bytes = plan->rows * plan->columns * (q->is_result_bf16 ? 2 : 4);
    void *tiles = mem_alloc((size_t)bytes);

    assert_int_equal(machine_hbm_read(r->m, 0, plan->c_address, tiles, bytes, &r->err), 0);
    if (q->is_result_bf16)
        gemm_unpack_bf16(tiles, plan->columns, q->m, q->n, p->c);
    else
        gemm_unpack_f32(tiles, plan->columns, q->m, q->n, p->c);
    mem_free(tiles);
}

static void run(struct rig *r, struct product *p)
{
    struct isa_program program;
    const struct gemm_plan *plan = &p->plan;
    const struct gemm_problem *q = &p->problem;

    if (gemm_plan(&p->plan, q, &r->chip, machine_hbm_share_bytes(r->m), &r->err))
        fail_msg("%s", r->err.msg);
    if (gemm_program(plan, &r->chip, &r->arena, &program, &r->err))
        fail_msg("%s", r->err.msg);
    put(r, plan->a_address, p->a, q->m, q->k, plan->rows, plan->depth);
    put(r, plan->b_address, p->b, q->k, q->n, plan->depth, plan->columns);
    if (machine_load(r->m, 0, &program, &r->err) || machine_run(r->m, &r->err))
        fail_msg("%lldx%lldx%lld: %s", (long long)q->m, (long long)q->n, (long long)q->k,
                 r->err.msg);
    get(r, p);
}

static void check_element(const struct rig *r, const struct product *p, int64_t i, int64_t j)
{
    const struct gemm_problem *q = &p->problem;
    float is = p->c[i * q->n + j], wanted = element(p, i, j);

    if (f32_bits(is) != f32_bits(wanted))
        fail_msg("%s %lldx%lldx%lld %s: element (%lld, %lld) is %a, not %a", r->slice.name,
                 (long long)q->m, (long long)q->n, (long long)q->k,
                 q->is_result_bf16 ? "bf16" : "f32", (long long)i, (long long)j, (double)is,
                 (double)wanted);
}

/* all elements of a small product, some of a large one, the corners among them */
static void check(struct rig *r, const int64_t size[3], bool is_bf16, struct rng *random)
{
    struct product p = {.problem = {.m = size[0], .n = size[1], .k = size[2],
                                    .is_result_bf16 = is_bf16}};
    int64_t m = size[0], n = size[1];

    make(&p, random);
    run(r, &p);
    for (int64_t i = 0; m * n <= 20000 && i < m * n; i++)
        check_element(r, &p, i / n, i % n);
    for (int i = 0; i < 2000; i++)
        check_element(r, &p, rng_below(random, (uint32_t)m), rng_below(random, (uint32_t)n));
    check_element(r, &p, 0, n - 1);
    check_element(r, &p, m - 1, 0);
    check_element(r, &p, m - 1, n - 1);
    release(&p);
}

/* race checks find a buffer that is used while a copy is under way */
static void check_chip(const char *name, const int64_t (*size)[3], size_t count, const char *set)
{
    struct rig_options options = {.cycle_limit = 1000000000, .check_races = true,
                                  .check_unwritten = true, .set = {set}};
    struct rng random;
    struct rig r;

    rng_init(&random, 5);
    rig_open(&r, name, &options);
    for (size_t i = 0; i < 2 * count; i++)
        check(&r, size[i / 2], i % 2, &random);
    rig_close(&r);
}

static const char *const chips[] = {"tiny-2", "v2", "v3", "v4", "v5e", "v5p", "v6e", "v7x"};

TEST(small_and_odd_products_have_the_documented_bits_on_every_chip)
{
    static const int64_t sizes[][3] = {{1, 1, 1}, {16, 128, 128}, {40, 200, 300}, {300, 130, 17},
                                       {129, 1, 1000}, {600, 40, 260}, {17, 700, 257}};

    for (size_t c = 0; c < COUNT_OF(chips); c++)
        check_chip(chips[c], sizes, COUNT_OF(sizes), NULL);
}

/* several blocks along every side, loops that run many rounds */
TEST(large_products_have_the_documented_bits_on_every_chip)
{
    static const int64_t sizes[][3] = {{1100, 1200, 700}};

    for (size_t c = 1; c < COUNT_OF(chips); c++)
        check_chip(chips[c], sizes, 1, NULL);
}

/* little memory makes small blocks; few FIFO places a short lag; many units little room */
TEST(products_fit_changed_chips)
{
    static const int64_t sizes[][3] = {{500, 300, 400}};
    static const struct { const char *chip, *set; } cases[] = {
        {"v3", "vmem.bytes=1048576"}, {"v3", "mxu.fifo_depth=4"}, {"v3", "mxu.count=8"},
        {"v5e", "core.branch_delay_bundles=0"}, {"v6e", "mxu.latency_cycles=1000"},
        {"v6e", "mxu.count=1"}, {"v4", "slots.push=1"}, {"v7x", "mxu.accumulators=2"},
        {"v7x", "mxu.latency_cycles=10"}, {"v5p", "slots.valu=1"},
        {"v3", "slots.scalar=1"}};

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_chip(cases[i].chip, sizes, 1, cases[i].set);
}

static void refuse(const char *name, const char *set, int64_t m, int64_t n, int64_t k,
                   const char *part)
{
    struct rig_options options = {.set = {set}};
    struct gemm_problem problem = {.m = m, .n = n, .k = k};
    struct gemm_plan plan;
    struct rig r;

    rig_open(&r, name, &options);
    assert_int_equal(gemm_plan(&plan, &problem, &r.chip, machine_hbm_share_bytes(r.m), &r.err),
                     -1);
    if (!strstr(r.err.msg, part))
        fail_msg("\"%s\" instead of \"%s\"", r.err.msg, part);
    rig_close(&r);
}

TEST(what_fits_no_chip_is_refused)
{
    refuse("v3", NULL, 100000, 100000, 100000,
           "operands and result take 76832.0 MiB, the HBM of a core has 16384.0 MiB");
    refuse("tiny-2", "vmem.bytes=65536", 1, 1, 1,
           "the smallest blocks do not fit the 65536 bytes of vector memory");
    refuse("v3", "mxu.fifo_depth=2", 1, 1, 1,
           "a product needs 4 places for results in a matrix unit, the chip has 2");
    refuse("v3", "core.vregs=16", 1, 1, 1, "a product needs 17 vector registers, the chip has 16");
    refuse("v7x", "mxu.accumulators=1", 1, 1, 1,
           "a product needs 2 places for results in a matrix unit, the chip has 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_and_odd_products_have_the_documented_bits_on_every_chip),
        cmocka_unit_test(large_products_have_the_documented_bits_on_every_chip),
        cmocka_unit_test(products_fit_changed_chips),
        cmocka_unit_test(what_fits_no_chip_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
