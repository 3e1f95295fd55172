/*
 * Every mistake a program can make while it runs: kind, place and text.
 */
#include "tests/rigs/rig.h"
#include "tests/test.h"

TEST(address_outside_vmem_names_the_limit)
{
    assert_fault("{ s0 = smov 32768 }\n{ v1 = vld [vmem:s0] }\n{ shalt }", FAULT_ADDRESS,
                 "core 0 cycle 1 bundle 1 (line 2): "
                 "vmem address 32768 out of 0..32767 rows in vld");
    assert_fault("{ v1 = vld [vmem:32762] }\n{ shalt }", FAULT_ADDRESS, "vmem address 32768");
    assert_fault("{ s0 = smov -1 }\n{ vst [vmem:s0] v0 }\n{ shalt }", FAULT_ADDRESS,
                 "vmem address -1 out of 0..32767 rows in vst");
}

TEST(sublanes_that_are_masked_out_may_lie_outside)
{
    struct rig r;

    rig_open(&r, "v3", NULL);
    rig_cycles(&r, "{ v1 = vld [vmem:32767] sm:$0x1 }\n{ shalt }");
    rig_close(&r);
}

TEST(address_outside_smem_names_the_limit)
{
    assert_fault("{ s1 = sld [smem:16384] }\n{ shalt }", FAULT_ADDRESS,
                 "smem address 16384 out of 0..16380, multiples of 4, in sld");
    assert_fault("{ s0 = smov 2 }\n{ sst [smem:s0], s0 }\n{ shalt }", FAULT_ADDRESS,
                 "smem address 2 out of 0..16380, multiples of 4, in sst");
}

TEST(dma_outside_its_memories_names_the_side)
{
    assert_fault("{ dma.hbm_to_vmem 0, 128, 0x7ff90, [sflag:0] }\n{ shalt }", FAULT_ADDRESS,
                 "vmem destination granules 524176..524303 out of 0..524287 in dma.hbm_to_vmem");
    assert_fault("{ dma.hbm_to_vmem -1, 128, 0, [sflag:0] }\n{ shalt }", FAULT_ADDRESS,
                 "hbm source granules 4294967295..4294967422 out of 0..536870911");
    assert_fault("{ dma.hbm_to_smem 0, 1024, 0, [sflag:0] }\n{ shalt }", FAULT_ADDRESS,
                 "smem destination granules 0..1023 out of 0..511");
    assert_fault("{ dma.vmem_to_hbm 0, 32, 0, [sflag:0], -16, 16, 16 }\n{ shalt }",
                 FAULT_ADDRESS, "vmem source granules -16..15");
    assert_fault("{ s0 = smov 0x7fffffff }\n"
                 "{ dma.vmem_to_hbm 0, s0, 0, [sflag:0], s0, s0, 1 }\n{ shalt }",
                 FAULT_ADDRESS, "vmem source granules 0..4611686011984936962 out of 0..524287");
}

TEST(dma_of_nothing_is_refused)
{
    assert_fault("{ dma.hbm_to_vmem 0, s0, 0, [sflag:0] }\n{ shalt }", FAULT_OPERATION,
                 "dma.hbm_to_vmem of 0 granules in runs of 0; at least 1 is needed");
}

TEST(sync_flag_that_does_not_exist_is_named)
{
    assert_fault("{ s0 = smov 1024 }\n{ vsyncadd [sflag:s0], 1 }\n{ shalt }", FAULT_ADDRESS,
                 "sync flag 1024 out of 0..1023 in vsyncadd");
    assert_fault("{ s0 = smov -1 }\n{ vwait.ge [sflag:s0], 1 }\n{ shalt }", FAULT_ADDRESS,
                 "sync flag -1 out of 0..1023 in vwait.ge");
}

TEST(core_that_does_not_exist_is_named)
{
    assert_fault("{ vsyncadd.remote [sflag:0], 1, 2 }\n{ shalt }", FAULT_ADDRESS,
                 "core 2 out of 0..1 in vsyncadd.remote");
}

TEST(push_into_a_full_fifo_is_an_overflow)
{
    assert_fault("{ s0 = smov 0 }\nagain:\n{ s0 = sadd.s32 s0, 1 ;; "
                 "vmatmul.f32.vlgmr.msra.gmra.mxu1 v0 }\n{ p1 = scmp.lt.s32.totalorder s0, 65 }\n"
                 "{ sbr.rel (p1) target = again }\n{}\n"
                 "{ shalt }", FAULT_FIFO_OVERFLOW,
                 "vmatmul.f32.vlgmr.msra.gmra.mxu1 finds its result fifo full: "
                 "64 results not popped");
    assert_fault("{ s0 = smov 0 }\nagain:\n{ s0 = sadd.s32 s0, 1 ;; vpush v0 }\n"
                 "{ p1 = scmp.lt.s32.totalorder s0, 17 }\n{ sbr.rel (p1) target = again }\n{}\n"
                 "{ shalt }", FAULT_FIFO_OVERFLOW,
                 "vpush finds the fifo to the scalar unit full: 16 words");
}

TEST(pop_of_nothing_is_a_fault)
{
    assert_fault("{ v1 = vpop.f32.mrf.mxu1 }\n{ shalt }", FAULT_FIFO_EMPTY,
                 "vpop.f32.mrf.mxu1 with nothing pushed");
    assert_fault("{ v1 = vpop.eup }\n{ shalt }", FAULT_FIFO_EMPTY, "vpop.eup with nothing");
    assert_fault("{ s1 = spop }\n{ shalt }", FAULT_FIFO_EMPTY, "spop with nothing");
    assert_fault("{ vrcp.f32 v0 ;; v1 = vpop.eup }\n{ shalt }", FAULT_FIFO_EMPTY, "vpop.eup");
}

TEST(pop_of_another_kind_is_a_fault)
{
    assert_fault("{ vadd.xlane.f32.xlu0 v0 }\n{ v1 = vpop.trf.xlu0 }\n{ shalt }", FAULT_OPERATION,
                 "vpop.trf.xlu0 finds a result for vpop.xlane.xlu0 at the head of the fifo");
}

TEST(transpose_out_of_order_is_a_fault)
{
    assert_fault("{ vxpose.xlu0.b32.cont v0, 16 }\n{ shalt }", FAULT_OPERATION,
                 "vxpose.xlu0.b32.cont without a start");
    assert_fault("{ vxpose.xlu0.b32.start v0, 16 }\n{ vxpose.xlu0.b32.start v0, 16 }\n{ shalt }",
                 FAULT_OPERATION, "vxpose.xlu0.b32.start inside an open transpose");
    assert_fault("{ vxpose.xlu0.b32.start v0, 16 }\n{ s0 = smov 0 }\nagain:\n"
                 "{ vxpose.xlu0.b32.cont v0, 16 }\n{ sbr.rel target = again }\n{}\n{ shalt }",
                 FAULT_OPERATION, "is tile 17 of a transpose of at most 16");
    assert_fault("{ vxpose.xlu0.b8.start v0, 32 }\n{ vxpose.xlu0.b8.cont v0, 32 }\n"
                 "{ vxpose.xlu0.b8.cont v0, 32 }\n{ vxpose.xlu0.b8.cont v0, 32 }\n"
                 "{ vxpose.xlu0.b8.end v0, 32 }\n{ shalt }",
                 FAULT_OPERATION, "vxpose.xlu0.b8.end is tile 5 of a transpose of at most 4");
    assert_fault("{ vxpose.xlu0.b16.start v0, 16 }\n{ vxpose.xlu0.b32.end v0, 16 }\n{ shalt }",
                 FAULT_OPERATION, "vxpose.xlu0.b32.end in a transpose of another type");
}

TEST(program_that_stops_itself_is_a_fault)
{
    assert_fault("{ s0 = smov 1 }\n{ shalt.err }", FAULT_HALT_ERR,
                 "core 0 cycle 1 bundle 1 (line 2): shalt.err reached");
}

TEST(program_without_an_end_is_a_fault)
{
    assert_fault("{ s0 = smov 1 }", FAULT_NO_HALT, "ran past the last bundle (0) without shalt");
    assert_fault("again:\n{ sbr.rel target = again }\n{}\n", FAULT_NO_HALT,
                 "still running at the cycle limit of 1000000");
}

TEST(flag_not_zero_at_the_end_is_a_fault)
{
    assert_fault("{ vsyncadd [sflag:5], 3 }\n{ shalt }", FAULT_FLAG,
                 "core 0 cycle 1 bundle 1 (line 2): sync flag 5 is 3 at halt; it must be 0");
    assert_fault("{ dma.hbm_to_vmem 0, 8, 0, [sflag:2] }\n{ shalt }", FAULT_FLAG,
                 "sync flag 2 is 8 at halt");
}

TEST(flag_below_zero_is_an_underflow)
{
    struct rig r;

    assert_fault("{ vsyncadd [sflag:5], 3 }\n{ vdelay 6 }\n{ vsyncadd [sflag:5], -4 }\n{ shalt }",
                 FAULT_UNDERFLOW, "core 0 cycle 8 bundle 2 (line 3): flag underflow: vsyncadd takes "
                 "4 from sync flag 5, which is 3");
    /* in the order of time, not of the host: the copy comes later */
    assert_fault("{ dma.hbm_to_vmem 0, 8, 0, [sflag:2] }\n{ vsyncadd [sflag:2], -8 }\n"
                 "{ dma.done.wait [sflag:2], 0 }\n{ shalt }", FAULT_UNDERFLOW,
                 "core 0 cycle 1 bundle 1 (line 2): flag underflow: vsyncadd takes 8 from sync "
                 "flag 2, which is 0");
    rig_open(&r, "v3", NULL);
    rig_load(&r, 0, "{ vsyncset [sflag:1], -3 }\n{ vsyncadd [sflag:1], 3 }\n{ shalt }");
    assert_int_equal(rig_run(&r), 0);
    rig_close(&r);
}

/* the sender is named, at the cycle when its message is there */
TEST(underflow_by_another_core_names_it)
{
    struct rig r;

    rig_open(&r, "v3", NULL);
    rig_load(&r, 0, "{ vdelay 1000 }\n{ vsyncset [sflag:5], 3 }\n{ shalt }");
    rig_load(&r, 1, "{ s0 = smov 0 }\n{ vsyncadd.remote [sflag:5], -2, 0 }\n{ shalt }");
    assert_non_null(strstr(rig_fault(&r, FAULT_UNDERFLOW), " bundle 1 (line 2): flag underflow: "
                           "vsyncadd.remote takes 2 from sync flag 5 of core 0, which is 0"));
    assert_int_equal(machine_fault(r.m)->core, 1);
    assert_in_range(machine_fault(r.m)->cycle, 2, 1000);
    rig_close(&r);
}

/* a program that never asks for anything stops at the fault of the other core */
TEST(fault_found_late_stops_the_others)
{
    struct rig r;

    rig_open(&r, "v3", NULL);
    rig_load(&r, 0, "{ vsyncadd [sflag:5], -1 }\n{ vdelay 20 }\n{ vsyncset [sflag:6], 1 }\n"
                    "{ vdelay 5 }\n{ shalt.err }");
    rig_load(&r, 1, "{ vdelay 10 }\n{ shalt.err }");
    rig_fault(&r, FAULT_UNDERFLOW);
    assert_int_equal(machine_fault(r.m)->cycle, 0);
    rig_close(&r);
}

TEST(wait_that_never_ends_is_a_deadlock)
{
    assert_fault("{ vsyncadd [sflag:7], 1 }\n{ vwait.gt [sflag:7], 1 }\n{ shalt }",
                 FAULT_DEADLOCK, "deadlock: core 0 cycle 1 bundle 1 (line 2): "
                 "vwait.gt waits for flag 7 > 1, which is 1");
}

TEST(deadlock_names_every_core_it_has_room_for)
{
    struct rig r;
    int i;

    rig_open(&r, "v3-8", NULL);
    for (i = 0; i < 8; i++)
        rig_load(&r, i, "{ dma.done.wait [sflag:1], 128 }\n{ shalt }");
    assert_int_equal(rig_run(&r), -1);
    assert_int_equal(machine_fault(r.m)->kind, FAULT_DEADLOCK);
    assert_non_null(strstr(r.err.msg, "core 0 cycle 0 bundle 0 (line 1): dma.done.wait waits for "
                           "flag 1 >= 128, which is 0; core 1 cycle 0"));
    assert_non_null(strstr(r.err.msg, " more"));
    rig_close(&r);
}

TEST(earliest_fault_of_several_cores_counts)
{
    struct rig r;

    rig_open(&r, "v3", NULL);
    rig_load(&r, 0, "{ vdelay 100 }\n{ shalt.err }");
    rig_load(&r, 1, "{ vdelay 50 }\n{ shalt.err }");
    assert_int_equal(rig_run(&r), -1);
    assert_int_equal(machine_fault(r.m)->core, 1);
    assert_int_equal(machine_fault(r.m)->cycle, 51);
    rig_close(&r);
}

/* the identities hold up to the fault too (rig_run): the wait counts, the bundle does not */
TEST(wait_before_a_fault_is_counted)
{
    static const struct rig_options short_run = {.cycle_limit = 30};
    struct rig r;

    rig_open(&r, "v3", &short_run);
    rig_load(&r, 0, "{ s1 = smov -5 }\n{ vdelay 20 }\n{ v0 = vld [vmem:s1] ;; s2 = smov (!p1) 1 }\n"
                    "{ shalt }");
    assert_int_equal(rig_run(&r), -1);
    assert_int_equal(machine_fault(r.m)->cycle, 22);
    assert_int_equal(machine_cycles(r.m), 22);
    assert_int_equal(rig_stall(&r, 0, STALL_DELAY), 20);
    assert_int_equal(machine_counters(r.m, 0)->issue_cycles, 2);
    assert_int_equal(machine_counters(r.m, 0)->op_count[OP_SMOV], 1);
    rig_load(&r, 0, "{ vdelay 40 }\n{ shalt }");
    assert_int_equal(rig_run(&r), -1);
    assert_int_equal(machine_cycles(r.m), 41);
    rig_close(&r);
}

TEST(launch_after_a_fault_starts_clean)
{
    struct rig r;

    rig_open(&r, "v3", NULL);
    rig_load(&r, 0, "{ dma.hbm_to_vmem 0, 4096, 0, [sflag:2] }\n"
                    "{ vmatmul.f32.vlgmr.msra.gmra.mxu0 v0 }\n{ v1 = vpop.eup }\n{ shalt }");
    assert_int_equal(rig_run(&r), -1);
    assert_int_equal(machine_counters(r.m, 0)->op_count[OP_VMATMUL], 1);
    assert_int_equal(rig_cycles(&r, "{ vmatmul.f32.vlgmr.msra.gmra.mxu0 v0 }\n"
                                    "{ v1 = vpop.f32.mrf.mxu0 }\n{ shalt }"), 1 + 268);
    assert_int_equal(machine_fault(r.m)->kind, FAULT_NONE);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address_outside_vmem_names_the_limit),
        cmocka_unit_test(sublanes_that_are_masked_out_may_lie_outside),
        cmocka_unit_test(address_outside_smem_names_the_limit),
        cmocka_unit_test(dma_outside_its_memories_names_the_side),
        cmocka_unit_test(dma_of_nothing_is_refused),
        cmocka_unit_test(sync_flag_that_does_not_exist_is_named),
        cmocka_unit_test(core_that_does_not_exist_is_named),
        cmocka_unit_test(push_into_a_full_fifo_is_an_overflow),
        cmocka_unit_test(pop_of_nothing_is_a_fault),
        cmocka_unit_test(pop_of_another_kind_is_a_fault),
        cmocka_unit_test(transpose_out_of_order_is_a_fault),
        cmocka_unit_test(program_that_stops_itself_is_a_fault),
        cmocka_unit_test(program_without_an_end_is_a_fault),
        cmocka_unit_test(flag_not_zero_at_the_end_is_a_fault),
        cmocka_unit_test(flag_below_zero_is_an_underflow),
        cmocka_unit_test(underflow_by_another_core_names_it),
        cmocka_unit_test(fault_found_late_stops_the_others),
        cmocka_unit_test(wait_that_never_ends_is_a_deadlock),
        cmocka_unit_test(deadlock_names_every_core_it_has_room_for),
        cmocka_unit_test(earliest_fault_of_several_cores_counts),
        cmocka_unit_test(wait_before_a_fault_is_counted),
        cmocka_unit_test(launch_after_a_fault_starts_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
