/*
 * The numbered examples compute what their first lines say, on a simulated v3.
 */
#include "base/floats.h"
#include "base/rng.h"
#include "base/units.h"
#include "isa/asm.h"
#include "isa/file.h"
#include "sim/machine.h"
#include "tests/test.h"

#include <float.h>
#include <math.h>

#define LANES 128

static struct arena arena;
static struct machine *machine;
static struct rng rng;
static struct isa_program program;      /* outlives the machine that runs it */

static int set_up(void **state)
{
    struct machine_options options = { .thread_count = 1, .simd = "auto" };
    struct slice slice;
    struct chip chip;
    struct err e;

    (void)state;
    arena_init(&arena);
    rng_init(&rng, 1);
    if (slice_parse(&slice, "v3", &e) || chip_load_builtin(&chip, "v3", NULL, &arena, &e))
        return -1;
    machine = machine_create(&slice, &chip, &options, &e);
    return machine ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    machine_destroy(machine);
    arena_fini(&arena);
    return 0;
}

/* uniform in -1..1, written to HBM at `address` of core 0 */
static float *input(int rows, int64_t address)
{
    float *x = arena_array(&arena, (size_t)rows * LANES, sizeof(*x));
    struct err e;

    for (int i = 0; i < rows * LANES; i++)
        x[i] = rng_uniform(&rng, -1.0f, 1.0f);
    if (machine_hbm_write(machine, 0, address, x, (int64_t)rows * LANES * 4, &e))
        fail_msg("%s", e.msg);
    return x;
}

static void run(const char *path)
{
    struct isa_errors errors;
    uint8_t *text;
    size_t size;
    struct err e;

    if (isa_file_read(path, &arena, &text, &size, &e))
        fail_msg("%s: %s", e.file, e.msg);
    if (isa_assemble((const char *)text, size, path, &arena, &program, &errors))
        fail_msg("%s:%d: %s", path, errors.err[0].line, errors.err[0].msg);
    if (machine_load(machine, 0, &program, &e) || machine_run(machine, &e))
        fail_msg("%s", e.msg);
}

static const float *output(int rows, int64_t address)
{
    float *x = arena_array(&arena, (size_t)rows * LANES, sizeof(*x));
    struct err e;

    if (machine_hbm_read(machine, 0, address, x, (int64_t)rows * LANES * 4, &e))
        fail_msg("%s", e.msg);
    return x;
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

TEST(vector_add_gives_the_sums)
{
    const float *a = input(32, 0), *b = input(32, 0x10000), *c;

    run("examples/01_vector_add.tasm");
    c = output(32, 0x20000);
    for (int i = 0; i < 32 * LANES; i++) {
        float sum = a[i] + b[i];

        if (f32_bits(c[i]) != f32_bits(sum))
            fail_msg("c[%d] is %.9g, expected %.9g", i, (double)c[i], (double)sum);
    }
}

TEST(mxu_tile_gives_the_product)
{
    const float *a = input(8, 0), *b = input(128, 0x10000);

    run("examples/02_mxu_tile.tasm");
    assert_product(output(8, 0x20000), a, b, 8);
}

TEST(double_buffered_matmul_gives_the_product)
{
    const float *a = input(512, 0), *b = input(128, 0x40000);

    run("examples/03_double_buffered_matmul.tasm");
    assert_product(output(512, 0x50000), a, b, 512);
}

/* the point of the example: less time than copying and computing one after the other */
TEST(double_buffered_matmul_overlaps_copies_with_work)
{
    const struct core_counters *counters;
    cycle_t dma_busy = 0, core_busy;

    input(512, 0);
    input(128, 0x40000);
    run("examples/03_double_buffered_matmul.tasm");
    counters = machine_counters(machine, 0);
    core_busy = counters->cycles - counters->stall_cycles[STALL_HBM];
    for (int i = 0; i < counters->unit_count; i++) {
        if (strcmp(counters->unit[i].name, "dma") == 0)
            dma_busy = counters->unit[i].busy_cycles;
    }
    assert_true(dma_busy > 0);
    assert_true(counters->cycles < core_busy + dma_busy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(vector_add_gives_the_sums, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mxu_tile_gives_the_product, set_up, tear_down),
        cmocka_unit_test_setup_teardown(double_buffered_matmul_gives_the_product, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(double_buffered_matmul_overlaps_copies_with_work, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
