/*
 * When operations of the matrix units may issue and when results are there,
 * by the parameters of each chip.
 */
#include "tests/rigs/rig.h"
#include "tests/test.h"

static struct rig rig;

static void use(const char *chip, const char *set)
{
    struct rig_options options = {.set = {set}};

    rig_open(&rig, chip, &options);
}

/* gain register A holds something, the FIFO nothing */
static const char *loaded(void)
{
    return rig.chip.mxu_size == 128
           ? "{ vmatmul.f32.vlgmr.msra.gmra.mxu0 v0 }\n{ v1 = vpop.f32.mrf.mxu0 }\n"
           : "{ vmatmul.f32.vlgmr.msra.gmra.mxu0 v0 }\n{ v1 = vpop.f32.mrf.mxu0 }\n"
             "{ v1 = vpop.f32.mrf.mxu0 }\n";
}

static cycle_t cycles_of(const char *before, const char *then, const char *last)
{
    char text[2048];

    snprintf(text, sizeof(text), "%s{ vdelay 500 }\n%s%s%s{ shalt }\n", before, then,
             *last ? "{ " : "", last);
    return rig_cycles(&rig, text);
}

/* from the first bundle of `first` to the issue of `second`, which is one operation */
static void assert_distance(const char *before, const char *first, const char *second,
                            int expected, enum stall_reason reason)
{
    char last[128];
    cycle_t begin = cycles_of(before, "", "") - 1, stalled = rig_stall(&rig, 0, reason);
    cycle_t bundles = 0, end;

    snprintf(last, sizeof(last), "%s }\n", second);
    for (const char *c = first; *c; c++)
        bundles += *c == '\n';
    end = cycles_of(before, first, last) - 2;
    if (end - begin != expected)
        fail_msg("%s%s after %lld cycles, not %d", first, second, (long long)(end - begin),
                 expected);
    assert_int_equal(rig_stall(&rig, 0, reason) - stalled, expected - bundles);
}

TEST(weights_hold_the_port_by_type_and_direction)
{
    static const struct {
        const char *push;
        int v5e, v6e;
    } cases[] = {
        {"vmatpush.msra.mxu0 v0", 2, 2},
        {"vmatpush.bf16.msra.mxu0 v0", 4, 4},
        {"vmatpush.s8.msra.mxu0 v0", 2, 2},
        {"vmatpush.u4.msra.mxu0 v0", 2, 2},
        {"vmatpush.xpose.msra.mxu0 v0", 4, 4},
        {"vmatpush.bf16.xpose.msk.msra.mxu0 vm0, v0", 8, 8},
        {"vmatpush.f8e5m2.xpose.msra.mxu0 v0", 4, 4},
    };
    char first[64];

    for (int wide = 0; wide < 2; wide++) {
        use(wide ? "v6e" : "v5e", NULL);
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
            snprintf(first, sizeof(first), "{ %s }\n", cases[i].push);
            assert_distance("", first, "vmatpush.msrb.mxu0 v0", wide ? cases[i].v6e : cases[i].v5e,
                            STALL_STAGING);
        }
        rig_close(&rig);
    }
}

TEST(parameters_of_the_port_say_how_long)
{
    use("v6e", "mxu.push_int8_cycles=13");
    assert_distance("", "{ vmatpush.s8.msra.mxu0 v0 }\n", "vmatpush.msrb.mxu0 v0", 13,
                    STALL_STAGING);
    rig_close(&rig);
    use("v6e", "mxu.push_xpose_factor=5");
    assert_distance("", "{ vmatpush.s8.xpose.msra.mxu0 v0 }\n", "vmatpush.msrb.mxu0 v0", 10,
                    STALL_STAGING);
    rig_close(&rig);
}

TEST(prep_of_weights_is_part_of_the_push)
{
    use("v6e", NULL);
    assert_distance("", "{ vmatprep.subr.mxu0 v0 }\n", "vmatpush3.bf16.msra.mxu0 v0", 1,
                    STALL_STAGING);
    assert_distance("", "{ vmatprep.subr.mxu0 v0 }\n{ vmatpush3.bf16.msra.mxu0 v0 }\n",
                    "vmatprep.subr.mxu0 v0", 4, STALL_STAGING);
    assert_distance("", "{ vmatprep.subr.mxu0 v0 }\n{ vmatpush1.bf16.xpose.msra.mxu0 v0 }\n",
                    "vmatprep.subr.mxu0 v0", 8, STALL_STAGING);
    assert_distance("", "{ vmatprep.subr.mxu0 v0 }\n{ vmatpush2.xpose.msra.mxu0 v0 }\n",
                    "vmatprep.subr.mxu0 v0", 4, STALL_STAGING);
    assert_distance("", "{ vmatprep.subr.mxu0 v0 }\n", "vmatprep.subr.mxu1 v0", 1, STALL_STAGING);
    rig_close(&rig);
    use("v6e", "mxu.push_f32_cycles=1");
    assert_distance("", "{ vmatprep.subr.mxu0 v0 }\n{ vmatpush1.msra.mxu0 v0 }\n",
                    "vmatprep.subr.mxu0 v0", 2, STALL_STAGING);
    rig_cycles(&rig, "{ vmatprep.subr.mxu0 v0 }\n{ vmatpush1.msra.mxu0 v0 }\n{ shalt }");
    assert_int_equal(rig_unit(&rig, 0, "mxu0.push")->busy_cycles, 2);
    rig_close(&rig);
}

TEST(rows_hold_the_array_by_type)
{
    static const struct {
        const char *chip, *push;
        int cycles;
    } cases[] = {
        {"v4", "vmatmul.f32.vlgmr.msra.gmra.mxu0 v0", 8},
        {"v4", "vmatmul.bf16.vlgmr.msra.gmra.mxu0 v0", 16},
        {"v4", "vmatmul.s8.vlgmr.msra.gmra.mxu0 v0", 32},
        {"v5e", "vmatmul.u8.vlgmr.msra.gmra.mxu0 v0", 16},
        {"v5e", "vmatmul.s4.vlgmr.msra.gmra.mxu0 v0", 16},
        {"v5e", "vmatmul.f8e5m2.vlgmr.msra.gmra.mxu0 v0", 32},
        {"v6e", "vmatmul.f32.vlgmr.msra.gmra.mxu0 v0", 4},
        {"v6e", "vmatmul.msk.bf16.vlgmr.msra.gmra.mxu0 vm0, v0", 8},
        {"v6e", "vmatmul.u4.vlgmr.msra.gmra.mxu0 v0", 8},
        {"v6e", "vmatmul.f8e4m3b11fnuz.vlgmr.msra.gmra.mxu0 v0", 16},
    };
    char first[80];

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        use(cases[i].chip, NULL);
        snprintf(first, sizeof(first), "{ %s }\n", cases[i].push);
        /* one more for the loading of the gain register, which has nothing to wait for */
        assert_distance("", first, "vmatmul.f32.vlgmr.msrb.gmrb.mxu0 v0", 1 + cases[i].cycles,
                        STALL_MXU);
        assert_distance("", first, "vmatmul.f32.vlgmr.msrb.gmrb.mxu1 v0", 1, STALL_MXU);
        rig_close(&rig);
    }
}

TEST(prep_of_rows_is_part_of_the_multiplication)
{
    use("v6e", NULL);
    assert_distance(loaded(), "{ vmatprep.mubr.bf16.mxu0 v0 }\n",
                    "vmatmul.mubr.bf16.gmra.mxu0 v0", 1, STALL_MXU);
    assert_distance(loaded(), "{ vmatprep.mubr.bf16.mxu0 v0 }\n"
                    "{ vmatmul.mubr.bf16.gmra.mxu0 v0 }\n",
                    "vmatprep.mubr.bf16.mxu0 v0", 8, STALL_MXU);
    assert_distance(loaded(), "{ vmatprep.mubr.f32.mxu0 v0 }\n{ vmatmul.mubr.f32.gmra.mxu0 v0 }\n",
                    "vmatprep.mubr.f32.mxu0 v0", 4, STALL_MXU);
    rig_close(&rig);
    use("v6e", "mxu.latch_cycles=9");
    assert_distance("", "{ vmatprep.mubr.f32.mxu0 v0 }\n"
                    "{ vmatmul.mubr.f32.vlgmr.msra.gmra.mxu0 v0 }\n", "vmatprep.mubr.f32.mxu0 v0",
                    9 + 4, STALL_MXU);
    rig_close(&rig);
}

TEST(latch_waits_for_pushes_into_its_register)
{
    use("v6e", NULL);
    assert_distance("", "{ vmatprep.subr.mxu0 v0 }\n{ vmatpush3.bf16.xpose.msra.mxu0 v0 }\n",
                    "vmatmul.bf16.vlgmr.msra.gmra.mxu0 v0", 8, STALL_STAGING);
    assert_distance("", "{ vmatprep.subr.mxu0 v0 }\n{ vmatpush3.bf16.xpose.msra.mxu0 v0 }\n",
                    "vmatmul.bf16.vlgmr.msrb.gmra.mxu0 v0", 2, STALL_STAGING);
    rig_close(&rig);
}

/* the n-th pop after a multiplication issues so many cycles after it */
static void assert_pops(const char *multiply, const char *pop, const int *at, int count)
{
    char first[1024];

    snprintf(first, sizeof(first), "{ %s }\n", multiply);
    for (int i = 0; i < count; i++) {
        assert_distance(loaded(), first, pop, at[i], STALL_RESULT);
        snprintf(first + strlen(first), sizeof(first) - strlen(first), "{ %s }\n", pop);
    }
}

TEST(result_tiles_follow_at_the_rate_of_the_rows)
{
    static const int f32_narrow[] = {180}, bf16_narrow[] = {180, 188};
    static const int f32_wide[] = {192, 194}, bf16_wide[] = {192, 194, 196, 198};
    static const int s4_wide[] = {192, 193, 194, 195, 196, 197, 198, 199};
    static const int fp8_narrow[] = {180, 188, 196, 204};

    use("v5e", NULL);
    assert_pops("vmatmul.f32.gmra.mxu0 v0", "v1 = vpop.f32.mrf.mxu0", f32_narrow, 1);
    assert_pops("vmatmul.bf16.gmra.mxu0 v0", "v1 = vpop.f32.mrf.mxu0", bf16_narrow, 2);
    assert_pops("vmatmul.f8e5m2.gmra.mxu0 v0", "v1 = vpop.f32.mrf.mxu0", fp8_narrow, 4);
    rig_close(&rig);
    use("v6e", NULL);
    assert_pops("vmatmul.f32.gmra.mxu0 v0", "v1 = vpop.f32.mrf.mxu0", f32_wide, 2);
    assert_pops("vmatmul.bf16.gmra.mxu0 v0", "v1 = vpop.f32.mrf.mxu0", bf16_wide, 4);
    rig_close(&rig);
    use("v6e", "mxu.latency_cycles=191");   /* and one for the loading */
    assert_pops("vmatmul.s4.vlgmr.msrb.gmrb.mxu0 v0", "v1 = vpop.s32.mrf.mxu0", s4_wide, 8);
    rig_close(&rig);
}

TEST(accumulators_are_ready_like_a_fifo)
{
    const char *multiply = "{ vmatmul.bf16.vlgmr.msra.gmra.mrb[7].mxu0 v0 }\n";
    char twice[256];

    use("v7x", NULL);
    assert_distance("", multiply, "v1 = vpop.f32.mrb[7].mxu0", 1 + 210, STALL_RESULT);
    assert_distance("", multiply, "v1 = vpop.f32.mrb[8].mxu0", 1 + 210 + 4, STALL_RESULT);
    snprintf(twice, sizeof(twice), "%s{ v1 = vpop.f32.mrb[8].mxu0 }\n", multiply);
    assert_distance("", twice, "v1 = vpop.f32.mrb[8].mxu0", 1 + 210 + 6, STALL_RESULT);
    /* a second addition, 9 cycles later, moves the time */
    snprintf(twice, sizeof(twice), "%s{ vmatmul.bf16.gmra.mrb[7].mxu0 v0 }\n", multiply);
    assert_int_equal(cycles_of("", twice, "v1 = vpop.f32.mrb[7].mxu0 }\n") -
                     cycles_of("", "", ""), 9 + 210 + 1);
    assert_int_equal(cycles_of("", twice, "v1 = vpop.f32.mrb[8].mxu0 }\n") -
                     cycles_of("", "", ""), 9 + 210 + 4 + 1);
    rig_close(&rig);
}

TEST(units_count_what_they_are_busy_with)
{
    use("v6e", NULL);
    rig_cycles(&rig, "{ vmatprep.subr.mxu0 v0 }\n{ vmatpush3.bf16.msra.mxu0 v0 }\n"
                     "{ vmatprep.mubr.bf16.mxu0 v0 }\n"
                     "{ vmatmul.mubr.bf16.vlgmr.msra.gmra.mxu0 v0 }\n{ vdwg.mxu0 }\n"
                     "{ vdelay 40 }\n{ shalt }");
    assert_int_equal(rig_unit(&rig, 0, "mxu0.push")->busy_cycles, 4);
    assert_int_equal(rig_unit(&rig, 0, "mxu0.push")->op_count, 2);
    assert_int_equal(rig_unit(&rig, 0, "mxu0")->busy_cycles, 1 + 8);
    assert_int_equal(rig_unit(&rig, 0, "mxu0")->op_count, 3);
    assert_int_equal(machine_counters(rig.m, 0)->matmul_flops, 2LL * 16 * 256 * 256);
    rig_close(&rig);
    use("v5e", NULL);
    rig_cycles(&rig, "{ vmatmul.s8.vlgmr.msra.gmra.mxu0 v0 }\n{ vmatmul.s8.gmra.mxu0 v0 }\n"
                     "{ vdelay 40 }\n{ shalt }");
    assert_int_equal(machine_counters(rig.m, 0)->matmul_flops, 2LL * 2 * 32 * 128 * 128);
    assert_int_equal(machine_counters(rig.m, 0)->matmul_cycles, 2 * 16);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_hold_the_port_by_type_and_direction),
        cmocka_unit_test(parameters_of_the_port_say_how_long),
        cmocka_unit_test(prep_of_weights_is_part_of_the_push),
        cmocka_unit_test(rows_hold_the_array_by_type),
        cmocka_unit_test(prep_of_rows_is_part_of_the_multiplication),
        cmocka_unit_test(latch_waits_for_pushes_into_its_register),
        cmocka_unit_test(result_tiles_follow_at_the_rate_of_the_rows),
        cmocka_unit_test(accumulators_are_ready_like_a_fifo),
        cmocka_unit_test(units_count_what_they_are_busy_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
