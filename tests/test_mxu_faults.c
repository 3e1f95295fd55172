/*
 * What a program may do wrong with a matrix unit: at load where the text
 * alone shows it, else a fault when it happens.
 */
#include "tests/rigs/rig.h"
#include "tests/test.h"

static int run_on(const char *chip, const char *set, const char *text, struct rig *r)
{
    struct rig_options options = {.set = {set}};

    rig_open(r, chip, &options);
    rig_load(r, 0, text);
    return rig_run(r);
}

static void assert_fault_on(const char *chip, const char *set, const char *text,
                            enum fault_kind kind, const char *part)
{
    struct rig r;

    assert_int_equal(run_on(chip, set, text, &r), -1);
    if (!strstr(machine_fault(r.m)->msg, part))
        fail_msg("\"%s\" is not in \"%s\"", part, machine_fault(r.m)->msg);
    assert_int_equal(machine_fault(r.m)->kind, kind);
    rig_close(&r);
}

static void assert_runs_on(const char *chip, const char *set, const char *text)
{
    struct rig r;

    if (run_on(chip, set, text, &r))
        fail_msg("%s", r.err.msg);
    rig_close(&r);
}

/* machine_load refuses the program with `part` in the message */
static void assert_refused_on(const char *chip, const char *text, const char *part)
{
    struct rig r;
    struct err e = {.msg = ""};

    rig_open(&r, chip, NULL);
    assert_int_equal(machine_load(r.m, 0, rig_assemble(&r, text), &e), -1);
    if (!strstr(e.msg, part))
        fail_msg("\"%s\" is not in \"%s\"", part, e.msg);
    rig_close(&r);
}

TEST(halves_need_a_wide_array)
{
    assert_refused_on("v5e", "{ vmatprep.subr.mxu0 v0 }\n{ shalt }",
                      "vmatprep.subr.mxu0: only 256-wide arrays have halves, the chip's are 128 "
                      "wide");
    assert_refused_on("v5e", "{ vmatprep.mubr.bf16.mxu1 v0 }\n{ shalt }",
                      "vmatprep.mubr.bf16.mxu1: only 256-wide");
    assert_refused_on("v3", "{ vmatpush2.msrb.mxu0 v0 }\n{ shalt }", "vmatpush2.msrb.mxu0: only");
    assert_refused_on("v3", "{ vmatmul.mubr.f32.gmra.mxu0 v0 }\n{ shalt }",
                      "vmatmul.mubr.f32.gmra.mxu0: only");
    assert_refused_on("v3", "{ vmatmul.mubr.msk.f32.gmra.mxu0 vm1, v0 }\n{ shalt }",
                      "vmatmul.mubr.msk.f32.gmra.mxu0: only");
}

TEST(types_are_those_of_the_chip)
{
    assert_refused_on("v3", "{ vmatpush.bf16.msra.mxu0 v0 }\n{ shalt }",
                      "vmatpush.bf16.msra.mxu0: the chip takes f32 only");
    assert_refused_on("v4", "{ vmatmul.u4.gmra.mxu0 v0 }\n{ shalt }",
                      "vmatmul.u4.gmra.mxu0: the chip takes f32, bf16, s8, u8 only");
    assert_refused_on("v6e", "{ vmatpush.f8e4m3fn.msra.mxu0 v0 }\n{ shalt }",
                      "the chip takes f32, bf16, s8, u8, s4, u4, f8e5m2, f8e4m3b11fnuz only");
    assert_refused_on("v7x", "{ vmatmul.s8.gmra.mrb[0].mxu0 v0 }\n{ shalt }",
                      "the chip takes f32, bf16, f8e5m2, f8e4m3fn only");
}

TEST(results_leave_as_the_chip_has_it)
{
    assert_refused_on("v6e", "{ vmatmul.f32.gmra.mrb[0].mxu0 v0 }\n{ shalt }",
                      "vmatmul.f32.gmra.mrb[0].mxu0: the chip has no accumulators, results leave "
                      "through a FIFO");
    assert_refused_on("v6e", "{ v1 = vpop.f32.mrb[3].mxu0 }\n{ shalt }",
                      "vpop.f32.mrb[3].mxu0: the chip has no accumulators");
    assert_refused_on("v7x", "{ vmatmul.f32.gmra.mxu0 v0 }\n{ shalt }",
                      "vmatmul.f32.gmra.mxu0: the chip has accumulators, \".mrb[0]\" to "
                      "\".mrb[127]\"");
    assert_refused_on("v7x", "{ v1 = vpop.f32.mrf.mxu0 }\n{ shalt }",
                      "vpop.f32.mrf.mxu0: the chip has accumulators");
}

TEST(accumulators_of_all_rows_exist)
{
    assert_refused_on("v7x", "{ v1 = vpop.f32.mrb[128].mxu0 }\n{ shalt }",
                      "vpop.f32.mrb[128].mxu0: up to accumulator 128 (0..127)");
    assert_refused_on("v7x", "{ vmatmul.bf16.gmra.mrb[127].mxu0 v0 }\n{ shalt }",
                      "vmatmul.bf16.gmra.mrb[127].mxu0: up to accumulator 128 (0..127)");
    assert_refused_on("v7x", "{ vmatmul.f8e5m2.gmra.mrb[125].mxu0 v0 }\n{ shalt }",
                      "up to accumulator 128 (0..127)");
    assert_runs_on("v7x", NULL, "{ vmatmul.bf16.vlgmr.msra.gmra.mrb[126].mxu0 v0 }\n{ shalt }");
}

TEST(prep_register_is_filled_once_and_taken_once)
{
    assert_fault_on("v6e", NULL, "{ vmatprep.subr.mxu1 v0 }\n{ vmatprep.subr.mxu1 v0 }\n{ shalt }",
                    FAULT_OPERATION, "vmatprep.subr.mxu1 while the prep register still holds a "
                    "tile that no operation has taken");
    assert_fault_on("v6e", NULL, "{ vmatprep.mubr.f32.mxu0 v0 }\n"
                    "{ vmatprep.mubr.msk.f32.mxu0 vm1, v0 }\n{ shalt }", FAULT_OPERATION,
                    "vmatprep.mubr.msk.f32.mxu0 while the prep register still holds");
    assert_fault_on("v6e", NULL, "{ vmatpush3.bf16.msra.mxu0 v0 }\n{ shalt }", FAULT_OPERATION,
                    "vmatpush3.bf16.msra.mxu0 without a tile in the prep register");
    assert_fault_on("v6e", NULL, "{ vmatprep.subr.mxu0 v0 }\n{ vmatpush1.msra.mxu0 v0 }\n"
                    "{ vmatpush1.msra.mxu0 v0 }\n{ shalt }", FAULT_OPERATION,
                    "vmatpush1.msra.mxu0 without a tile");
    assert_fault_on("v6e", NULL, "{ vmatmul.mubr.f32.vlgmr.msra.gmra.mxu0 v0 }\n{ shalt }",
                    FAULT_OPERATION, "without a tile in the prep register");
    /* a unit's two prep registers, and those of two units, are different ones */
    assert_runs_on("v6e", NULL, "{ vmatprep.subr.mxu0 v0 }\n{ vmatprep.subr.mxu1 v0 }\n"
                   "{ vmatprep.mubr.f32.mxu0 v0 }\n{ vmatpush1.msra.mxu0 v0 }\n{ shalt }");
}

TEST(prep_and_use_of_a_bundle_keep_reads_before_writes)
{
    assert_runs_on("v6e", NULL, "{ vmatprep.subr.mxu0 v0 }\n"
                   "{ vmatprep.subr.mxu0 v0 ;; vmatpush1.msra.mxu0 v0 }\n"
                   "{ vmatpush1.msra.mxu0 v0 }\n{ shalt }");
    assert_fault_on("v6e", NULL, "{ vmatprep.subr.mxu0 v0 ;; vmatpush1.msra.mxu0 v0 }\n{ shalt }",
                    FAULT_OPERATION, "vmatpush1.msra.mxu0 without a tile");
}

TEST(types_of_prep_and_use_are_the_same)
{
    assert_fault_on("v6e", NULL, "{ vmatprep.subr.s8.mxu0 v0 }\n{ vmatpush1.u8.msra.mxu0 v0 }\n"
                    "{ shalt }", FAULT_OPERATION,
                    "vmatpush1.u8.msra.mxu0 finds a tile of s8 in the prep register");
    assert_fault_on("v6e", NULL, "{ vmatprep.mubr.f32.mxu0 v0 }\n"
                    "{ vmatmul.mubr.bf16.vlgmr.msra.gmra.mxu0 v0 }\n{ shalt }", FAULT_OPERATION,
                    "vmatmul.mubr.bf16.vlgmr.msra.gmra.mxu0 finds a tile of f32 in the prep");
    assert_runs_on("v6e", NULL, "{ vmatprep.subr.mxu0 v0 }\n{ vmatpush1.s4.msra.mxu0 v0 }\n"
                   "{ shalt }");
}

TEST(gain_register_must_be_loaded)
{
    assert_fault_on("v3", NULL, "{ vmatpush.msra.mxu0 v0 }\n{ vmatmul.f32.gmra.mxu0 v0 }\n"
                    "{ shalt }", FAULT_OPERATION,
                    "vmatmul.f32.gmra.mxu0 before any vlgmr has loaded gain register A");
    assert_fault_on("v6e", NULL, "{ vmatmul.f32.vlgmr.msra.gmra.mxu0 v0 }\n"
                    "{ vmatmul.f32.gmrb.mxu0 v0 }\n{ shalt }", FAULT_OPERATION,
                    "vmatmul.f32.gmrb.mxu0 before any vlgmr has loaded gain register B");
    assert_fault_on("v6e", NULL, "{ vmatmul.f32.vlgmr.msra.gmrb.mxu0 v0 }\n{ vdwg.mxu0 }\n"
                    "{ vmatmul.f32.gmrb.mxu0 v0 }\n{ shalt }", FAULT_OPERATION,
                    "vmatmul.f32.gmrb.mxu0 before any vlgmr");
    assert_runs_on("v6e", NULL, "{ vmatmul.f32.vlgmr.msra.gmra.mxu0 v0 }\n{ vdwg.mxu1 }\n"
                   "{ vmatmul.f32.gmra.mxu0 v0 ;; vdwg.mxu0 }\n{ shalt }");
}

TEST(integers_and_floats_do_not_mix)
{
    assert_fault_on("v6e", NULL, "{ vmatpush.s8.msra.mxu0 v0 }\n"
                    "{ vmatmul.bf16.vlgmr.msra.gmra.mxu0 v0 }\n{ shalt }", FAULT_OPERATION,
                    "vmatmul.bf16.vlgmr.msra.gmra.mxu0 finds weights of integers in gain register "
                    "A");
    assert_fault_on("v6e", NULL, "{ vmatpush.msrb.mxu0 v0 }\n"
                    "{ vmatmul.s4.vlgmr.msrb.gmrb.mxu0 v0 }\n{ shalt }", FAULT_OPERATION,
                    "finds weights of floats in gain register B");
    assert_fault_on("v6e", NULL, "{ vmatmul.s8.vlgmr.msra.gmra.mxu0 v0 }\n"
                    "{ v1 = vpop.f32.mrf.mxu0 }\n{ shalt }", FAULT_OPERATION,
                    "vpop.f32.mrf.mxu0 finds a result for vpop.s32.mrf.mxu0 at the head");
}

TEST(all_results_of_a_push_need_room)
{
    /* bf16 on a wide array: four tiles */
    assert_runs_on("v6e", "mxu.fifo_depth=7", "{ vmatmul.bf16.vlgmr.msra.gmra.mxu0 v0 }\n"
                   "{ v1 = vpop.f32.mrf.mxu0 }\n{ vmatmul.bf16.gmra.mxu0 v0 }\n{ shalt }");
    assert_fault_on("v6e", "mxu.fifo_depth=7", "{ vmatmul.bf16.vlgmr.msra.gmra.mxu0 v0 }\n"
                    "{ vmatmul.bf16.gmra.mxu0 v0 }\n{ shalt }", FAULT_FIFO_OVERFLOW,
                    "vmatmul.bf16.gmra.mxu0 finds its result fifo full: 7 results not popped");
}

TEST(accumulator_is_popped_after_an_addition_and_as_its_type)
{
    assert_fault_on("v7x", NULL, "{ v1 = vpop.f32.mrb[5].mxu1 }\n{ shalt }", FAULT_FIFO_EMPTY,
                    "vpop.f32.mrb[5].mxu1 with nothing added to the accumulator");
    assert_fault_on("v7x", NULL, "{ vmatmul.f32.vlgmr.msra.gmra.mrb[5].mxu0 v0 }\n"
                    "{ v1 = vpop.f32.mrb[5].mxu0 }\n{ v1 = vpop.f32.mrb[5].mxu0 }\n"
                    "{ v1 = vpop.f32.mrb[5].mxu0 }\n{ shalt }", FAULT_FIFO_EMPTY,
                    "vpop.f32.mrb[5].mxu0 with nothing added");
    assert_fault_on("v7x", NULL, "{ vmatmul.f32.vlgmr.msra.gmra.mrb[5].mxu0 v0 }\n"
                    "{ v1 = vpop.s32.mrb[5].mxu0 }\n{ shalt }", FAULT_OPERATION,
                    "vpop.s32.mrb[5].mxu0 finds an accumulator of f32");
}

TEST(accumulator_that_is_half_popped_takes_no_sum)
{
    assert_fault_on("v7x", NULL, "{ vmatmul.f32.vlgmr.msra.gmra.mrb[5].mxu0 v0 }\n"
                    "{ v1 = vpop.f32.mrb[5].mxu0 }\n{ vmatmul.bf16.gmra.mrb[4].mxu0 v0 }\n"
                    "{ shalt }", FAULT_OPERATION, "vmatmul.bf16.gmra.mrb[4].mxu0 adds to "
                    "accumulator 5, of which only the lower columns are popped");
    assert_fault_on("v6e", "mxu.accumulators=8", "{ vmatmul.f32.vlgmr.msra.gmra.mrb[5].mxu0 v0 }\n"
                    "{ vmatmul.s8.vlgmr.msrb.gmrb.mrb[2].mxu0 v0 }\n{ shalt }", FAULT_OPERATION,
                    "vmatmul.s8.vlgmr.msrb.gmrb.mrb[2].mxu0 adds to accumulator 5 of f32");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_need_a_wide_array),
        cmocka_unit_test(types_are_those_of_the_chip),
        cmocka_unit_test(results_leave_as_the_chip_has_it),
        cmocka_unit_test(accumulators_of_all_rows_exist),
        cmocka_unit_test(prep_register_is_filled_once_and_taken_once),
        cmocka_unit_test(prep_and_use_of_a_bundle_keep_reads_before_writes),
        cmocka_unit_test(types_of_prep_and_use_are_the_same),
        cmocka_unit_test(gain_register_must_be_loaded),
        cmocka_unit_test(integers_and_floats_do_not_mix),
        cmocka_unit_test(all_results_of_a_push_need_room),
        cmocka_unit_test(accumulator_is_popped_after_an_addition_and_as_its_type),
        cmocka_unit_test(accumulator_that_is_half_popped_takes_no_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
