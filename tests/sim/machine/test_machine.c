/*
 * Whole machines: the examples against host arithmetic, cores that work
 * together, and results that do not depend on how the host runs them.
 */
#include "base/floats.h"
#include "base/rng.h"
#include "isa/file.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

#include <math.h>

/* dense [rows,128] f32 is already in tile order */
static void put(struct rig *r, int core, int64_t address, const float *from, int64_t count)
{
    struct err e;

    assert_int_equal(machine_hbm_write(r->m, core, address, from, 4 * count, &e), 0);
}

static void get(struct rig *r, int core, int64_t address, float *to, int64_t count)
{
    struct err e;

    assert_int_equal(machine_hbm_read(r->m, core, address, to, 4 * count, &e), 0);
}

static const char *example(struct rig *r, const char *path)
{
    struct err e;
    uint8_t *bytes;
    size_t size;

    if (isa_file_read(path, &r->arena, &bytes, &size, &e) != 0)
        fail_msg("%s: %s (tests run in the top folder)", path, e.msg);
    return (const char *)bytes;
}

static float *random_floats(struct rig *r, int64_t count, uint64_t seed)
{
    float *x = arena_array(&r->arena, (size_t)count, sizeof(*x));
    struct rng g;
    int64_t i;

    rng_init(&g, seed);
    for (i = 0; i < count; i++)
        x[i] = rng_uniform(&g, -2, 2);
    return x;
}

TEST(vector_add_example_adds)
{
    struct rig r;
    float *a, *b, *c;
    int i;

    rig_open(&r, "v3", NULL);
    a = random_floats(&r, 4096, 1);
    b = random_floats(&r, 4096, 2);
    c = arena_array(&r.arena, 4096, 4);
    put(&r, 0, 0, a, 4096);
    put(&r, 0, 0x10000, b, 4096);
    rig_cycles(&r, example(&r, "examples/01_vector_add.tasm"));
    get(&r, 0, 0x20000, c, 4096);
    for (i = 0; i < 4096; i++)
        assert_true(c[i] == a[i] + b[i]);
    rig_close(&r);
}

/*
 * bf16 products are exact in f64. A chain of 128 f32 additions is within
 * 128 * 2^-24 of the sum of magnitudes.
 */
static void check_product(const float *a, const float *b, const float *c, int rows)
{
    int i, j, k;

    for (i = 0; i < rows; i++)
        for (j = 0; j < 128; j++) {
            double sum = 0, magnitude = 0;

            for (k = 0; k < 128; k++) {
                double product = (double)f32_round_to_bf16(a[i * 128 + k])
                                 * (double)f32_round_to_bf16(b[k * 128 + j]);

                sum += product;
                magnitude += fabs(product);
            }
            if (fabs((double)c[i * 128 + j] - sum) > 128 * magnitude / 16777216.0)
                fail_msg("element %d,%d is %.9g, expected %.9g", i, j, (double)c[i * 128 + j],
                         sum);
        }
}

TEST(mxu_tile_example_multiplies)
{
    struct rig r;
    float *a, *b, *c;

    rig_open(&r, "v3", NULL);
    a = random_floats(&r, 1024, 3);
    b = random_floats(&r, 128 * 128, 4);
    c = arena_array(&r.arena, 1024, 4);
    put(&r, 0, 0, a, 1024);
    put(&r, 0, 0x10000, b, 128 * 128);
    rig_cycles(&r, example(&r, "examples/02_mxu_tile.tasm"));
    get(&r, 0, 0x20000, c, 1024);
    check_product(a, b, c, 8);
    assert_int_equal(machine_counters(r.m, 0)->matmul_flops, 2 * 8 * 128 * 128);
    rig_close(&r);
}

TEST(double_buffered_example_multiplies)
{
    struct rig r;
    float *a, *b, *c;

    rig_open(&r, "v3", NULL);
    a = random_floats(&r, 512 * 128, 5);
    b = random_floats(&r, 128 * 128, 6);
    c = arena_array(&r.arena, 512 * 128, 4);
    put(&r, 0, 0, a, 512 * 128);
    put(&r, 0, 0x40000, b, 128 * 128);
    rig_cycles(&r, example(&r, "examples/03_double_buffered_matmul.tasm"));
    get(&r, 0, 0x50000, c, 512 * 128);
    check_product(a, b, c, 512);
    rig_close(&r);
}

/*
 * Every core starts with a tile of its number + 1 and passes what it has
 * received on to the next core, 7 times, adding up what it sees. A slot is
 * filled again only after its owner has said so (flag 2).
 */
static const char ring[] =
    "{ s1 = sld [smem:0] }\n{ s2 = sld [smem:8] }\n{ s3 = sld [smem:12] }\n"
    "{ s4 = sadd.s32 s1, 1 }\n{ v0 = vstv s4 }\n{ v0 = vcvt.s32.f32 v0 }\n"
    "{ v1 = vmov v0 ;; s5 = smov 0 }\n"
    "{ vsyncadd.remote [sflag:2], 1, s3 }\n"
    "again:\n"
    "{ vst [vmem:0x0] v0 ;; s5 = sadd.s32 s5, 1 }\n"
    "{ vwait.ge [sflag:2], 1 }\n{ vsyncadd [sflag:2], -1 }\n"
    "{ dma.vmem_to_vmem.remote 0, 128, 128, [sflag:0], [sflag:1], s2 }\n"
    "{ dma.done.wait [sflag:1], 128 }\n{ vsyncadd [sflag:1], -128 }\n"
    "{ dma.done.wait [sflag:0], 128 }\n{ vsyncadd [sflag:0], -128 }\n"
    "{ v0 = vld [vmem:0x8] }\n"
    "{ v1 = vadd.f32 v1, v0 ;; p1 = scmp.lt.s32.totalorder s5, 7 }\n"
    "{ vsyncadd.remote (p1) [sflag:2], 1, s3 }\n"
    "{ sbr.rel (p1) target = again }\n{}\n"
    "{ vst [vmem:0x10] v1 }\n"
    "{ dma.vmem_to_hbm 256, 128, 0, [sflag:3] }\n{ dma.done.wait [sflag:3], 128 }\n"
    "{ vsyncadd [sflag:3], -128 }\n{ shalt }\n";

static void load_ring(struct rig *r)
{
    const struct isa_program *p = rig_assemble(r, ring);
    struct err e;
    int i;

    for (i = 0; i < 8; i++) {
        int32_t word[4] = {i, 8, (i + 1) % 8, (i + 7) % 8};

        assert_int_equal(machine_load(r->m, i, p, &e), 0);
        assert_int_equal(machine_smem_write(r->m, i, 0, word, sizeof(word), &e), 0);
    }
}

TEST(cores_in_a_ring_all_see_every_tile)
{
    float tile[1024];
    struct rig r;
    int i, j;

    rig_open(&r, "v3-8", NULL);
    load_ring(&r);
    if (rig_run(&r))
        fail_msg("%s", r.err.msg);
    for (i = 0; i < 8; i++) {
        get(&r, i, 0, tile, 1024);
        for (j = 0; j < 1024; j++)
            assert_true(tile[j] == 36);
    }
    rig_close(&r);
}

/* all that a run tells, of all cores */
struct outcome {
    cycle_t cycles;
    struct core_counters counters[8];
    float tile[8][1024];
    unsigned char vmem[8][8192];
};

static void run_ring(const struct rig_options *options, struct outcome *out)
{
    struct rig r;
    struct err e;
    int i, j, round;

    memset(out, 0, sizeof(*out));
    rig_open(&r, "v3-8", options);
    load_ring(&r);
    for (round = 0; round < 3; round++)
        if (rig_run(&r))
            fail_msg("%s", r.err.msg);
    out->cycles = machine_cycles(r.m);
    for (i = 0; i < 8; i++) {
        out->counters[i] = *machine_counters(r.m, i);
        for (j = 0; j < MACHINE_UNIT_MAX; j++)
            out->counters[i].unit[j].name = NULL;       /* a pointer, not a result */
        get(&r, i, 0, out->tile[i], 1024);
        assert_int_equal(machine_vmem_read(r.m, i, 0, out->vmem[i], 8192, &e), 0);
    }
    rig_close(&r);
}

TEST(results_do_not_depend_on_threads_simd_path_or_trace)
{
    static const struct rig_options options[] = {
        {.thread_count = 2}, {.thread_count = 3}, {.thread_count = 8}, {.simd = "c"},
        {.trace = true}, {.trace = true, .thread_count = 2, .simd = "c"}};
    static struct outcome first, other;
    size_t i;

    run_ring(NULL, &first);
    for (i = 0; i < COUNT_OF(options); i++) {
        run_ring(&options[i], &other);
        assert_memory_equal(&first, &other, sizeof(first));
    }
}

TEST(cores_without_a_program_are_idle_throughout)
{
    struct rig r;
    cycle_t cycles;

    rig_open(&r, "v3", NULL);
    cycles = rig_cycles(&r, "{ vdelay 10 }\n{ shalt }");
    assert_int_equal(machine_counters(r.m, 1)->idle_cycles, cycles);
    assert_int_equal(machine_counters(r.m, 1)->issue_cycles, 0);
    rig_close(&r);
}

TEST(core_that_halts_early_is_idle_from_there)
{
    struct rig r;

    rig_open(&r, "v3", NULL);
    rig_load(&r, 0, "{ shalt }");
    rig_load(&r, 1, "{ vdelay 10 }\n{ shalt }");
    assert_int_equal(rig_run(&r), 0);
    assert_int_equal(machine_counters(r.m, 0)->cycles, 12);
    assert_int_equal(machine_counters(r.m, 0)->idle_cycles, 11);
    rig_close(&r);
}

TEST(program_changed_in_place_is_decoded_again)
{
    struct isa_program *p;
    struct rig r;
    struct err e;

    rig_open(&r, "v3", NULL);
    p = (struct isa_program *)rig_assemble(&r, "{ vdelay 10 }\n{ shalt }");
    assert_int_equal(machine_load(r.m, 0, p, &e), 0);
    assert_int_equal(machine_load(r.m, 1, p, &e), 0);
    assert_int_equal(rig_run(&r), 0);
    assert_int_equal(machine_cycles(r.m), 12);
    p->op[0].operand[0].value = 20;
    assert_int_equal(machine_load(r.m, 1, p, &e), 0);
    assert_int_equal(rig_run(&r), 0);
    assert_int_equal(machine_cycles(r.m), 22);
    assert_int_equal(machine_counters(r.m, 0)->idle_cycles, 10);
    rig_close(&r);
}

TEST(program_that_breaks_the_chip_is_refused_at_load)
{
    static const struct isa_program empty = {.name = "nothing"};
    struct rig r;
    struct err e;

    rig_open(&r, "v3", NULL);
    assert_int_equal(machine_load(r.m, 0, rig_assemble(&r, "{ v40 = vmov 0 }\n{ shalt }"), &e), -1);
    assert_int_equal(machine_load(r.m, 2, rig_assemble(&r, "{ shalt }"), &e), -1);
    assert_string_equal(e.msg, "core 2 out of 0..1");
    assert_int_equal(machine_load(r.m, 0, &empty, &e), -1);
    assert_string_equal(e.msg, "the program has no bundles");
    rig_close(&r);
}

TEST(host_access_outside_a_memory_names_the_limit)
{
    char byte = 0;
    struct rig r;
    struct err e;

    rig_open(&r, "v3", NULL);
    assert_int_equal(machine_vmem_write(r.m, 0, 16777216, &byte, 1, &e), -1);
    assert_string_equal(e.msg, "core 0: vmem bytes 16777216..16777216 out of 0..16777215");
    assert_int_equal(machine_smem_write(r.m, 1, -4, &byte, 1, &e), -1);
    assert_int_equal(machine_hbm_read(r.m, 1, 17179869184, &byte, 1, &e), -1);
    assert_string_equal(e.msg, "core 1: hbm bytes 17179869184..17179869184 out of 0..17179869183");
    assert_int_equal(machine_hbm_read(r.m, 1, 17179869183, &byte, 1, &e), 0);
    rig_close(&r);
}

TEST(options_out_of_range_are_refused)
{
    struct machine_options options = {.thread_count = 0, .simd = "auto"};
    struct rig r;
    struct err e;

    rig_open(&r, "v3", NULL);
    assert_null(machine_create(&r.slice, &r.chip, &options, &e));
    assert_string_equal(e.msg, "0 host threads; 1..256 are possible");
    options = (struct machine_options){.thread_count = 1, .simd = "none such"};
    assert_null(machine_create(&r.slice, &r.chip, &options, &e));
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vector_add_example_adds),
        cmocka_unit_test(mxu_tile_example_multiplies),
        cmocka_unit_test(double_buffered_example_multiplies),
        cmocka_unit_test(cores_in_a_ring_all_see_every_tile),
        cmocka_unit_test(results_do_not_depend_on_threads_simd_path_or_trace),
        cmocka_unit_test(cores_without_a_program_are_idle_throughout),
        cmocka_unit_test(core_that_halts_early_is_idle_from_there),
        cmocka_unit_test(program_changed_in_place_is_decoded_again),
        cmocka_unit_test(program_that_breaks_the_chip_is_refused_at_load),
        cmocka_unit_test(host_access_outside_a_memory_names_the_limit),
        cmocka_unit_test(options_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
