/* Does scheduled code leave the same bits in VMEM as the same code one operation at a time? */
#include "tests/test.h"

#include "base/rng.h"
#include "sim/machine/machine.h"
#include "stack/backend/vcode.h"
#include "tests/generate/random_vcode.h"
#include "tests/reference/serial.h"
#include "tests/rigs/chip_set.h"
#include "tests/rigs/whole_program.h"

#define ROW_BYTES 512
#define SPILL_ROW 8192
#define SPILL_TILES 512

static unsigned char start_bits[RANDOM_STEPS_ROWS * ROW_BYTES];

static struct chip a_chip(const char *const *setting)
{
    struct chip chip;
    struct arena a;
    struct err e;

    arena_init(&a);
    if (chip_load_builtin(&chip, "v3", NULL, &a, &e))
        fail_msg("%s", e.msg);
    for (; *setting; setting++)
        if (chip_set(&chip, *setting, NULL, &a, &e))
            fail_msg("%s", e.msg);
    arena_fini(&a);
    return chip;
}

/* runs on core 0; VMEM rows in, VMEM rows out; returns cycles */
static cycle_t run(const struct isa_program *p, const struct chip *chip, unsigned char *rows)
{
    struct machine_options options = {.thread_count = 1, .simd = "auto",
                                      .cycle_limit = 50000000};
    struct slice slice;
    struct machine *m;
    cycle_t cycles;
    struct err e;

    if (slice_parse(&slice, "v3", &e))
        fail_msg("%s", e.msg);
    m = machine_create(&slice, chip, &options, &e);
    assert_non_null(m);
    if (machine_load(m, 0, p, &e) ||
        machine_vmem_write(m, 0, 0, start_bits, sizeof(start_bits), &e) ||
        machine_run(m, &e) || machine_vmem_read(m, 0, 0, rows, sizeof(start_bits), &e))
        fail_msg("%s", e.msg);
    cycles = machine_cycles(m);
    machine_destroy(m);
    return cycles;
}

static cycle_t run_compiled(const struct vcode *c, const struct chip *chip, unsigned char *rows,
                            int64_t *spill_count)
{
    struct isa_program p;
    struct vcode_stats stats;
    struct arena a;
    cycle_t cycles;
    struct err e;

    arena_init(&a);
    if (whole_program(c, chip, SPILL_ROW, SPILL_TILES, &a, &p, &stats, &e))
        fail_msg("%s", e.msg);
    *spill_count += stats.spill_count;
    cycles = run(&p, chip, rows);
    arena_fini(&a);
    return cycles;
}

/* floats of moderate size, so that few lanes end as NaN */
static void fill_start(uint64_t seed)
{
    struct rng rng;

    rng_init(&rng, seed);
    for (size_t i = 0; i < sizeof(start_bits); i += sizeof(float)) {
        float x = rng_uniform(&rng, -2.0f, 2.0f);

        memcpy(start_bits + i, &x, sizeof(x));
    }
}

static void assert_same_rows(const unsigned char *got, const unsigned char *want)
{
    for (int row = 0; row < RANDOM_STEPS_ROWS; row++)
        if (memcmp(got + row * ROW_BYTES, want + row * ROW_BYTES, ROW_BYTES))
            fail_msg("VMEM row %d differs", row);
}

TEST(scheduled_code_leaves_the_bits_of_serial_code)
{
    static const char *const no_setting[] = {NULL};
    static const char *const many_registers[] = {"core.vregs=64", NULL};
    static const char *const narrow_setting[] = {"core.vregs=9", "slots.valu=1",
                                                 "slots.scalar=1", NULL};
    static unsigned char want[sizeof(start_bits)], got[sizeof(start_bits)];
    struct chip plain = a_chip(no_setting), serial = a_chip(many_registers);
    struct chip narrow = a_chip(narrow_setting);
    int64_t plain_spills = 0, narrow_spills = 0;
    cycle_t plain_cycles = 0, serial_cycles = 0;

    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct random_vcode r = {.seed = seed, .op_count = 20 + (int)(seed * 13 % 100),
                                 .reach = 4 + (int)seed};
        struct isa_program p;
        struct arena a;
        struct vcode c;

        fill_start(seed);
        arena_init(&a);
        vcode_init(&c, &a);
        random_vcode_emit(&c, &plain, &r);
        serial_compile(&c, (int)serial.core_branch_delay_bundles, &a, &p);
        serial_cycles += run(&p, &serial, want);
        assert_memory_not_equal(want, start_bits, sizeof(want));
        plain_cycles += run_compiled(&c, &plain, got, &plain_spills);
        assert_same_rows(got, want);
        run_compiled(&c, &narrow, got, &narrow_spills);
        assert_same_rows(got, want);
        vcode_fini(&c);
        arena_fini(&a);
    }
    assert_true(narrow_spills > 100);
    assert_true(10 * plain_cycles < 8 * serial_cycles);
}

TEST(loops_whose_rounds_overlap_leave_the_bits_of_serial_code)
{
    static const char *const no_setting[] = {NULL};
    static const char *const many_registers[] = {"core.vregs=64", NULL};
    static unsigned char want[sizeof(start_bits)], got[sizeof(start_bits)];
    struct chip plain = a_chip(no_setting), serial = a_chip(many_registers);
    cycle_t plain_cycles = 0, serial_cycles = 0;
    int64_t spills = 0;

    for (uint64_t seed = 1; seed <= 25; seed++) {
        struct random_vcode r = {.seed = seed, .op_count = 5 + (int)(seed * 13 % 50),
                                 .reach = 4 + (int)seed % 9, .has_steps = true};
        struct isa_program p;
        struct arena a;
        struct vcode c;

        fill_start(seed);
        arena_init(&a);
        vcode_init(&c, &a);
        random_vcode_emit(&c, &plain, &r);
        serial_compile(&c, (int)serial.core_branch_delay_bundles, &a, &p);
        serial_cycles += run(&p, &serial, want);
        assert_memory_not_equal(want, start_bits, sizeof(want));
        plain_cycles += run_compiled(&c, &plain, got, &spills);
        assert_same_rows(got, want);
        vcode_fini(&c);
        arena_fini(&a);
    }
    assert_true(10 * plain_cycles < 8 * serial_cycles);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scheduled_code_leaves_the_bits_of_serial_code),
        cmocka_unit_test(loops_whose_rounds_overlap_leave_the_bits_of_serial_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
