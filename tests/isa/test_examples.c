/*
 * The numbered examples: do they compute what their first lines say, in the cycles that
 * they promise, on every chip they name? Operands of matrix products are small integers,
 * so that every sum is exact and a product can be checked against a random vector:
 * C x = A (B x).
 */
#include "base/floats.h"
#include "base/rng.h"
#include "base/units.h"
#include "isa/file.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#define LANES 128
#define EXPECT "\n// expect: "

static struct rig rig;
static struct rng rng;
static const struct isa_program *program;       /* that runs */

/* An example, the operands it wants and what must hold afterwards. */
struct example {
    const char *path;
    void (*give)(int core);
    void (*check)(int core);
    void (*check_time)(void);           /* or NULL */
};

static void write_hbm(int core, int64_t address, const void *from, int64_t bytes)
{
    struct err e;

    if (machine_hbm_write(rig.m, core, address, from, bytes, &e))
        fail_msg("%s", e.msg);
}

/* uniform in -1..1, written to HBM at `address` */
static float *give_uniform(int core, int rows, int64_t address)
{
    float *x = arena_array(&rig.arena, (size_t)rows * LANES, sizeof(*x));

    for (int i = 0; i < rows * LANES; i++)
        x[i] = rng_uniform(&rng, -1.0f, 1.0f);
    write_hbm(core, address, x, (int64_t)rows * LANES * 4);
    return x;
}

static const float *output(int core, int rows, int64_t address)
{
    float *x = arena_array(&rig.arena, (size_t)rows * LANES, sizeof(*x));
    struct err e;

    if (machine_hbm_read(rig.m, core, address, x, (int64_t)rows * LANES * 4, &e))
        fail_msg("%s", e.msg);
    return x;
}

/* on core 0, or on all cores with their places in the ring; returns how many */
static int load(const char *text)
{
    bool all = strstr(text, "\n// cores: all\n") != NULL;
    int count = all ? machine_core_count(rig.m) : 1;

    program = rig_assemble(&rig, text);
    for (int core = 0; core < count; core++) {
        const int32_t ring[4] = {core, count, (core + 1) % count, (core + count - 1) % count};
        struct err e;

        if (machine_load(rig.m, core, program, &e) ||
            machine_smem_write(rig.m, core, 0, ring, sizeof(ring), &e))
            fail_msg("%s", e.msg);
    }
    return count;
}

/* as `systole run` would, on chip `name`; `cycles` is what the file promises */
static void run_on(const struct example *x, const char *text, const char *name, long cycles)
{
    const struct rig_options options = {.trace = x->check_time != NULL};
    int count;

    rng_init(&rng, 1);
    rig_open(&rig, name, &options);
    count = load(text);
    for (int core = 0; core < count; core++)
        x->give(core);
    if (rig_run(&rig))
        fail_msg("%s on %s: %s", x->path, name, rig.err.msg);
    if (machine_cycles(rig.m) != cycles)
        fail_msg("%s on %s: %lld cycles, its head promises %ld", x->path, name,
                 (long long)machine_cycles(rig.m), cycles);
    for (int core = 0; core < count; core++)
        x->check(core);
    if (x->check_time)
        x->check_time();
    rig_close(&rig);
}

/* on every chip that a line "// expect: CHIP N cycles" names; at least one */
static void run(const struct example *x)
{
    struct arena a;
    char *text, name[16];
    uint8_t *bytes;
    size_t size;
    struct err e;
    long cycles;
    int count = 0;

    arena_init(&a);
    if (isa_file_read(x->path, &a, &bytes, &size, &e))
        fail_msg("%s: %s", e.file, e.msg);
    text = arena_printf(&a, "%.*s", (int)size, (const char *)bytes);
    for (const char *at = text; (at = strstr(at, EXPECT)) != NULL; count++) {
        at += strlen(EXPECT);
        if (sscanf(at, "%15s %ld cycles", name, &cycles) != 2)
            fail_msg("%s: expected \"// expect: CHIP N cycles\"", x->path);
        run_on(x, text, name, cycles);
    }
    assert_true(count > 0);
    arena_fini(&a);
}

/*
 * c = a x b of bf16-rounded operands. A sum of K rounded steps in f32 is off by
 * at most about K times half an ulp of the sum of the magnitudes.
 */
static void assert_product(const float *c, const float *a, const float *b, int rows)
{
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < LANES; j++) {
            double sum = 0, magnitude = 0, bound;

            for (int k = 0; k < LANES; k++) {
                double product = (double)f32_round_to_bf16(a[i * LANES + k]) *
                                 (double)f32_round_to_bf16(b[k * LANES + j]);

                sum += product;
                magnitude += fabs(product);
            }
            bound = LANES * (double)FLT_EPSILON / 2 * magnitude;
            if (!(fabs((double)c[i * LANES + j] - sum) <= bound))
                fail_msg("c[%d,%d] is %.9g, expected %.9g within %.3g", i, j,
                         (double)c[i * LANES + j], sum, bound);
        }
    }
}

static void assert_same(float is, float expected, int i)
{
    if (f32_bits(is) != f32_bits(expected))
        fail_msg("element %d is %.9g, expected %.9g", i, (double)is, (double)expected);
}

static float *left, *right;             /* operands of the example that runs */

static void give_addends(int core)
{
    left = give_uniform(core, 32, 0);
    right = give_uniform(core, 32, 0x10000);
}

static void check_sums(int core)
{
    const float *c = output(core, 32, 0x20000);

    for (int i = 0; i < 32 * LANES; i++)
        assert_same(c[i], left[i] + right[i], i);
}

static void give_tile(int core)
{
    left = give_uniform(core, 8, 0);
    right = give_uniform(core, 128, 0x10000);
}

static void check_tile(int core)
{
    assert_product(output(core, 8, 0x20000), left, right, 8);
}

static void give_chunks(int core)
{
    left = give_uniform(core, 512, 0);
    right = give_uniform(core, 128, 0x40000);
}

static void check_chunks(int core)
{
    assert_product(output(core, 512, 0x50000), left, right, 512);
}

/* the point of the example: less time than copying and computing one after the other */
static void check_overlap(void)
{
    const struct core_counters *counters = machine_counters(rig.m, 0);
    cycle_t dma_busy = rig_unit(&rig, 0, "dma")->busy_cycles;

    assert_true(dma_busy > 0);
    assert_true(counters->cycles <
                counters->cycles - counters->stall_cycles[STALL_HBM] + dma_busy);
}

static void give_matrix(int core)
{
    left = give_uniform(core, 128, 0);
}

static void check_transpose(int core)
{
    const float *c = output(core, 128, 0x10000);

    for (int i = 0; i < 128; i++)
        for (int j = 0; j < LANES; j++)
            assert_same(c[i * LANES + j], left[j * LANES + i], i * LANES + j);
}

static void give_logits(int core)
{
    left = give_uniform(core, 32, 0);
}

/*
 * In units of 2^-24, to first order. A power: the difference (at most 2) is off by 1, its
 * product with log2 e (at most 4) by 2 in the exponent, that is 1.4, log2 e itself by 1, the
 * function by 1 ulp, that is 2: 5.4. The sum: 5.4 of its terms and 7 levels of additions. The
 * reciprocal and the last product: 1 each. Together below 20.
 */
#define SOFTMAX_BOUND (20 * (double)FLT_EPSILON / 2)

static void check_softmax(int core)
{
    const float *y = output(core, 32, 0x10000);

    for (int i = 0; i < 32; i++) {
        double sum = 0;

        for (int j = 0; j < LANES; j++)
            sum += exp((double)left[i * LANES + j]);
        for (int j = 0; j < LANES; j++) {
            double expected = exp((double)left[i * LANES + j]) / sum;

            if (!(fabs((double)y[i * LANES + j] / expected - 1) <= SOFTMAX_BOUND))
                fail_msg("y[%d,%d] is %.9g, expected %.9g", i, j, (double)y[i * LANES + j],
                         expected);
        }
    }
}

static void give_mine(int core)
{
    *(core == 0 ? &left : &right) = give_uniform(core, 32, 0);
}

/* a + b and b + a have the same bits */
static void check_exchange(int core)
{
    const float *c = output(core, 32, 0x10000);

    for (int i = 0; i < 32 * LANES; i++)
        assert_same(c[i], left[i] + right[i], i);
}

static void give_rows(int core)
{
    left = give_uniform(core, 1280, 0);
}

/* Additions in a row: 27 of a lane's own sum, then 3 to join the sums, then 3 rotations. */
static void check_column_sums(int core)
{
    const float *y = output(core, 8, 0xa0000);

    for (int j = 0; j < LANES; j++) {
        double sum = 0, magnitude = 0;

        for (int i = 0; i < 1280; i++) {
            sum += (double)left[i * LANES + j];
            magnitude += fabs((double)left[i * LANES + j]);
        }
        for (int i = 0; i < 8; i++)
            if (!(fabs((double)y[i * LANES + j] - sum) <= 40 * (double)FLT_EPSILON * magnitude))
                fail_msg("sum[%d,%d] is %.9g, expected %.9g", i, j, (double)y[i * LANES + j],
                         sum);
    }
}

/* loads in each of 80 cycles running: nothing waits, and no bundle of the loop is without */
static void check_loop_time(void)
{
    const struct log_events *events = rig_events(&rig, 0);
    cycle_t first = INT64_MAX, last = -1;
    int bundles = 0;                    /* with loads: a bundle may have several */

    for (size_t i = 0; i < events->count; i++) {
        const struct trace_event *e = &events->event[i];

        if (e->code != OP_VLD || e->track < 0 || e->start == last)
            continue;
        first = e->start < first ? e->start : first;
        last = e->start;
        bundles++;
    }
    assert_int_equal(bundles, 80);
    assert_int_equal(last - first + 1, 80);
}

/*
 * The pipelined products C[m,n] = A[m,k] x B[k,n], integers of -8..8. Memory holds blocks of
 * 128 columns, one after the other: all rows of the first, then of the second.
 */
struct product {
    int m, k, n;
    bool is_bf16;                       /* operands packed, two rows in a word */
    int64_t b_address, c_address;
};

static const struct product product_v3 = {8192, 128, 256, false, 0x400000, 0x420000};
static const struct product product_v5e = {8192, 128, 512, true, 0x200000, 0x400000};
static const struct product product_v6e = {8192, 256, 512, true, 0x400000, 0x800000};
static const struct product *product;   /* of the example that runs */
static int *a_values, *b_values;        /* row by row */

/* Element (i, j) of a matrix of `rows` rows: its place among the words of its blocks. */
static size_t word_of(int rows, bool is_bf16, int i, int j)
{
    int rows_per_word = is_bf16 ? 2 : 1;
    size_t block_words = (size_t)rows * LANES / (size_t)rows_per_word;

    return (size_t)(j / LANES) * block_words + (size_t)(i / rows_per_word) * LANES +
           (size_t)(j % LANES);
}

static int *give_integers(int core, int rows, int columns, int64_t address)
{
    size_t count = (size_t)rows * (size_t)columns;
    int *x = arena_array(&rig.arena, count, sizeof(*x));
    uint32_t *words = arena_array(&rig.arena, count, sizeof(*words));
    bool is_bf16 = product->is_bf16;

    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++) {
            int value = (int)rng_below(&rng, 17) - 8;
            uint32_t bits = f32_bits((float)value);     /* a bf16 is the upper half, exactly */
            uint32_t *word = &words[word_of(rows, is_bf16, i, j)];

            x[(size_t)i * (size_t)columns + (size_t)j] = value;
            *word |= !is_bf16 ? bits : i % 2 ? bits : bits >> 16;
        }
    }
    write_hbm(core, address, words, (int64_t)count * (is_bf16 ? 2 : 4));
    return x;
}

static void give_product(int core)
{
    a_values = give_integers(core, product->m, product->k, 0);
    b_values = give_integers(core, product->k, product->n, product->b_address);
}

/* y = B x for integers, exact */
static void multiply(const int *b, int rows, int columns, const int64_t *x, int64_t *y)
{
    for (int i = 0; i < rows; i++) {
        y[i] = 0;
        for (int j = 0; j < columns; j++)
            y[i] += b[(size_t)i * (size_t)columns + (size_t)j] * x[j];
    }
}

/* C x = A (B x): a wrong element of C escapes with probability 1 / 2000 at most, per check */
static void check_product(int core)
{
    const struct product *p = product;
    const float *c = output(core, p->m * p->n / LANES, p->c_address);
    int64_t *x = arena_array(&rig.arena, (size_t)p->n, sizeof(*x));
    int64_t *bx = arena_array(&rig.arena, (size_t)p->k, sizeof(*bx));
    int64_t *abx = arena_array(&rig.arena, (size_t)p->m, sizeof(*abx));

    for (int j = 0; j < p->n; j++)
        x[j] = (int64_t)rng_below(&rng, 2001) - 1000;
    multiply(b_values, p->k, p->n, x, bx);
    multiply(a_values, p->m, p->k, bx, abx);
    for (int i = 0; i < p->m; i++) {
        int64_t cx = 0;

        for (int j = 0; j < p->n; j++) {
            float value = c[word_of(p->m, false, i, j)];

            if (value != rintf(value))
                fail_msg("c[%d,%d] is %.9g, no integer", i, j, (double)value);
            cx += (int64_t)value * x[j];
        }
        if (cx != abx[i])
            fail_msg("row %d of C is wrong", i);
    }
}

/*
 * From the issue of the first bundle whose note begins with "kernel" to that of the last, both
 * counted. Both hold a scalar operation; those begin when their bundle issues.
 */
static cycle_t kernel_cycles(void)
{
    const struct log_events *events = rig_events(&rig, 0);
    cycle_t first = INT64_MAX, end = 0;

    for (size_t i = 0; i < events->count; i++) {
        const struct trace_event *e = &events->event[i];
        uint32_t note = program->bundle[e->bundle].note;

        if (e->track < 0 || note == 0 ||
            isa_info((enum isa_opcode)e->code)->unit != UNIT_SCALAR ||
            strncmp(program->note[note - 1], "kernel", 6) != 0)
            continue;
        first = e->start < first ? e->start : first;
        end = e->start + 1 > end ? e->start + 1 : end;
    }
    return end - first;
}

/* at least 90 % of what all matrix units of the core can do in the type of the operands */
static void check_utilisation(void)
{
    const struct chip *c = machine_chip(rig.m);
    const struct product *p = product;
    double rows_per_cycle = p->is_bf16 ? 16.0 / (double)c->mxu_matmul_bf16_cycles
                                       : 8.0 / (double)c->mxu_matmul_f32_cycles;
    double peak = rows_per_cycle * (double)(c->mxu_count * c->mxu_size * c->mxu_size);
    double useful = (double)p->m * p->k * p->n, share;

    share = useful / ((double)kernel_cycles() * peak);
    print_message("%s: %.1f %% of the peak of the matrix units\n", c->chip_name, 100 * share);
    assert_true(share >= 0.90 && share <= 1);
}

static void run_product(const char *path, const struct product *p)
{
    const struct example x = {path, give_product, check_product, check_utilisation};

    product = p;
    run(&x);
}

TEST(vector_add_gives_the_sums)
{
    run(&(struct example){"examples/01_vector_add.tasm", give_addends, check_sums, NULL});
}

TEST(mxu_tile_gives_the_product)
{
    run(&(struct example){"examples/02_mxu_tile.tasm", give_tile, check_tile, NULL});
}

TEST(double_buffered_matmul_gives_the_product_and_overlaps_copies_with_work)
{
    run(&(struct example){"examples/03_double_buffered_matmul.tasm", give_chunks, check_chunks,
                          check_overlap});
}

TEST(pipelined_matmul_of_v3_reaches_the_peak)
{
    run_product("examples/04_pipelined_matmul_v3.tasm", &product_v3);
}

TEST(pipelined_matmul_of_v5e_reaches_the_peak)
{
    run_product("examples/04_pipelined_matmul_v5e.tasm", &product_v5e);
}

TEST(pipelined_matmul_of_v6e_reaches_the_peak)
{
    run_product("examples/04_pipelined_matmul_v6e.tasm", &product_v6e);
}

TEST(transpose_exchanges_rows_and_columns)
{
    run(&(struct example){"examples/05_transpose.tasm", give_matrix, check_transpose, NULL});
}

TEST(softmax_is_that_of_doubles)
{
    run(&(struct example){"examples/06_cross_lane_softmax.tasm", give_logits, check_softmax,
                          NULL});
}

TEST(two_cores_add_each_others_operands)
{
    run(&(struct example){"examples/07_two_core_exchange.tasm", give_mine, check_exchange, NULL});
}

TEST(a_loop_of_branch_and_delay_bundles_wastes_no_cycle)
{
    run(&(struct example){"examples/08_branch_delay.tasm", give_rows, check_column_sums,
                          check_loop_time});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vector_add_gives_the_sums),
        cmocka_unit_test(mxu_tile_gives_the_product),
        cmocka_unit_test(double_buffered_matmul_gives_the_product_and_overlaps_copies_with_work),
        cmocka_unit_test(pipelined_matmul_of_v3_reaches_the_peak),
        cmocka_unit_test(pipelined_matmul_of_v5e_reaches_the_peak),
        cmocka_unit_test(pipelined_matmul_of_v6e_reaches_the_peak),
        cmocka_unit_test(transpose_exchanges_rows_and_columns),
        cmocka_unit_test(softmax_is_that_of_doubles),
        cmocka_unit_test(two_cores_add_each_others_operands),
        cmocka_unit_test(a_loop_of_branch_and_delay_bundles_wastes_no_cycle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
