/*
 * At which cycle may a bundle issue? Probes at t-1 and t for every constraint,
 * with the parameters of a v3.
 */
#include "sim/time/clock.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

#define TEXT_BYTES 8192

static struct rig rig;

static int open_rig(void **state)
{
    (void)state;
    rig_open(&rig, "v3", NULL);
    return 0;
}

static int close_rig(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

static cycle_t all_stalls(void)
{
    const struct core_counters *k = machine_counters(rig.m, 0);

    return k->cycles - k->issue_cycles - k->idle_cycles;
}

/* stalls of the whole program with `gap` empty bundles between producer and consumer */
static cycle_t stalls_at(const char *before, const char *producer, const char *consumer, int gap)
{
    char text[TEXT_BYTES];
    int length = snprintf(text, sizeof(text), "%s\n{ vdelay 200 }\n{ %s }\n", before, producer), i;

    for (i = 0; i < gap; i++)
        length += snprintf(text + length, sizeof(text) - (size_t)length, "{}\n");
    snprintf(text + length, sizeof(text) - (size_t)length, "{ %s }\n{ shalt }\n", consumer);
    rig_cycles(&rig, text);
    return all_stalls() - rig_stall(&rig, 0, STALL_DELAY);
}

/* the consumer may issue `distance` cycles after the producer and not one before */
static void assert_ready_exactly_at(const char *before, const char *producer,
                                    const char *consumer, int distance,
                                    enum stall_reason reason)
{
    cycle_t base = stalls_at(before, producer, consumer, distance - 1), reason_base;

    reason_base = rig_stall(&rig, 0, reason);
    if (distance > 1) {
        assert_int_equal(stalls_at(before, producer, consumer, distance - 2), base + 1);
        assert_int_equal(rig_stall(&rig, 0, reason), reason_base + 1);
    }
    assert_int_equal(stalls_at(before, producer, consumer, 0), base + distance - 1);
    assert_int_equal(rig_stall(&rig, 0, reason), reason_base + distance - 1);
    assert_int_equal(stalls_at(before, producer, consumer, distance), base);
}

TEST(empty_program_takes_one_cycle)
{
    assert_int_equal(rig_cycles(&rig, "{ shalt }"), 1);
}

TEST(dependent_vector_arithmetic_is_alu_cycles_apart)
{
    assert_ready_exactly_at("", "v1 = vadd.f32 v0, v0", "v2 = vadd.f32 v1, v0", 2, STALL_OPERAND);
}

TEST(mask_and_select_latencies_are_their_own)
{
    assert_ready_exactly_at("", "vm1 = vcmp.eq.s32.totalorder v0, v0", "v2 = vsel vm1, v0, v0", 1,
                            STALL_OPERAND);
    assert_ready_exactly_at("", "v1 = vmov v0", "v2 = vadd.f32 v1, v0", 1, STALL_OPERAND);
}

TEST(scalar_results_wait_their_class)
{
    assert_ready_exactly_at("", "s1 = sadd.s32 s0, 4", "s2 = sadd.s32 s1, 4", 1, STALL_OPERAND);
    assert_ready_exactly_at("", "s1 = smul.u32 s0, 4", "s2 = sadd.s32 s1, 4", 2, STALL_OPERAND);
    assert_ready_exactly_at("", "s1 = sld [smem:0x0]", "s2 = sadd.s32 s1, 4", 6, STALL_OPERAND);
}

TEST(guard_waits_for_the_compare)
{
    assert_ready_exactly_at("", "p1 = scmp.eq.s32.totalorder s0, 0", "s2 = smov (p1) 4", 2,
                            STALL_OPERAND);
}

TEST(write_keeps_behind_an_older_write)
{
    assert_ready_exactly_at("", "s1 = smul.u32 s0, 4", "s1 = smov 7", 2, STALL_OPERAND);
}

TEST(load_is_ready_after_load_cycles)
{
    assert_ready_exactly_at("", "v1 = vld [vmem:0x0]", "v2 = vadd.f32 v1, v0", 1, STALL_OPERAND);
}

TEST(load_waits_for_a_store_to_the_same_rows)
{
    assert_ready_exactly_at("", "vst [vmem:0x8] v0", "v1 = vld [vmem:0x8]", 7, STALL_STORE_LOAD);
    assert_ready_exactly_at("", "vst [vmem:0x8] v0", "v1 = vld [vmem:0xf]", 7, STALL_STORE_LOAD);
    assert_ready_exactly_at("", "vst [vmem:0x8] v0", "v1 = vld [vmem:0x10]", 1, STALL_STORE_LOAD);
}

TEST(load_between_the_rows_of_a_store_does_not_wait)
{
    assert_ready_exactly_at("", "vst [vmem:0x8] ss:$2 v0", "v1 = vld [vmem:0x9] ss:$2", 1,
                            STALL_STORE_LOAD);
    assert_ready_exactly_at("", "vst [vmem:0x8] ss:$2 v0", "v1 = vld [vmem:0x9] ss:$3", 7,
                            STALL_STORE_LOAD);
    assert_ready_exactly_at("", "vst [vmem:0x8] sm:$0xf v0", "v1 = vld [vmem:0xc] sm:$0xf", 1,
                            STALL_STORE_LOAD);
    assert_ready_exactly_at("", "vst [vmem:0x8] sm:$0x10 v0", "v1 = vld [vmem:0xc] ss:$0", 7,
                            STALL_STORE_LOAD);
}

TEST(load_beside_a_store_in_one_bundle_does_not_wait)
{
    rig_cycles(&rig, "{ v1 = vld [vmem:0x8] ;; vst [vmem:0x8] v0 }\n{ shalt }");
    assert_int_equal(all_stalls(), 0);
}

TEST(strided_access_pays_for_rows_on_one_bank)
{
    static const struct { int stride, extra; } cases[] = {
        {0, 0}, {1, 0}, {2, 1}, {3, 0}, {4, 3}, {8, 7}, {16, 7}};
    char text[200];
    size_t i;

    for (i = 0; i < COUNT_OF(cases); i++) {
        snprintf(text, sizeof(text), "{ v1 = vld [vmem:0x0] ss:$%d }\n{ shalt }", cases[i].stride);
        assert_int_equal(rig_cycles(&rig, text), 2 + cases[i].extra);
        assert_int_equal(rig_stall(&rig, 0, STALL_BANK), cases[i].extra);
    }
    rig_cycles(&rig, "{ v1 = vld [vmem:0x0] ss:$8 sm:$0x3 }\n{ shalt }");
    assert_int_equal(rig_stall(&rig, 0, STALL_BANK), 1);
}

/* gain registers of both units hold something, their FIFOs nothing */
#define LOADED \
    "{ vmatmul.f32.vlgmr.msra.gmra.mxu0 v0 }\n{ vmatmul.f32.vlgmr.msra.gmra.mxu1 v0 }\n" \
    "{ v1 = vpop.f32.mrf.mxu0 }\n{ v1 = vpop.f32.mrf.mxu1 }\n"

TEST(matmul_result_is_ready_after_the_pipeline)
{
    assert_ready_exactly_at(LOADED, "vmatmul.f32.gmra.mxu0 v0", "v1 = vpop.f32.mrf.mxu0", 266,
                            STALL_RESULT);
}

TEST(matmul_pushes_are_matmul_cycles_apart)
{
    assert_ready_exactly_at(LOADED, "vmatmul.f32.gmra.mxu1 v0", "vmatmul.f32.gmra.mxu1 v0", 8,
                            STALL_MXU);
    assert_ready_exactly_at(LOADED, "vmatmul.f32.gmra.mxu0 v0", "vmatmul.f32.gmra.mxu1 v0", 1,
                            STALL_MXU);
}

TEST(weight_pushes_occupy_the_staging_port)
{
    assert_ready_exactly_at("", "vmatpush.msra.mxu0 v0", "vmatpush.msrb.mxu0 v0", 8,
                            STALL_STAGING);
    assert_ready_exactly_at("", "vmatpush.xpose.msra.mxu0 v0", "vmatpush.msra.mxu0 v0", 16,
                            STALL_STAGING);
    assert_ready_exactly_at("", "vmatpush.msra.mxu0 v0", "vmatpush.msra.mxu1 v0", 1,
                            STALL_STAGING);
}

TEST(latch_waits_for_its_staging_register_only)
{
    assert_ready_exactly_at("", "vmatpush.msra.mxu0 v0", "vmatmul.f32.vlgmr.msra.gmra.mxu0 v0", 8,
                            STALL_STAGING);
    assert_ready_exactly_at("", "vmatpush.msra.mxu0 v0", "vmatmul.f32.vlgmr.msrb.gmra.mxu0 v0", 1,
                            STALL_STAGING);
}

TEST(latch_delays_its_own_rows)
{
    assert_ready_exactly_at("", "vmatmul.f32.vlgmr.msra.gmra.mxu0 v0", "v1 = vpop.f32.mrf.mxu0",
                            1 + 266, STALL_RESULT);
    assert_ready_exactly_at("", "vmatmul.f32.vlgmr.msra.gmra.mxu0 v0", "vmatmul.f32.gmra.mxu0 v0",
                            1 + 8, STALL_MXU);
}

TEST(transcendental_results_and_pushes_are_spaced)
{
    assert_ready_exactly_at("", "vrcp.f32 v0", "v1 = vpop.eup", 14, STALL_EUP);
    assert_ready_exactly_at("", "vrcp.f32 v0", "vtanh.f32 v0", 2, STALL_EUP);
}

TEST(cross_lane_results_and_pushes_are_spaced)
{
    assert_ready_exactly_at("", "vadd.xlane.f32.xlu0 v0", "v1 = vpop.xlane.xlu0", 160, STALL_XLU);
    assert_ready_exactly_at("", "vrot.lane.b32.xlu0 v0, 3", "v1 = vpop.permute.xlu0", 138,
                            STALL_XLU);
    assert_ready_exactly_at("", "vadd.xlane.f32.xlu0 v0", "vmax.xlane.f32.xlu0 v0", 8, STALL_XLU);
}

TEST(transpose_delivers_a_tile_every_few_cycles)
{
    assert_ready_exactly_at("", "vxpose.xlu0.b32.start.end v0, 16", "v1 = vpop.trf.xlu0", 144,
                            STALL_XLU);
    rig_cycles(&rig, "{ vxpose.xlu0.b32.start v0, 24 }\n{ vxpose.xlu0.b32.end v0, 24 }\n"
                     "{ v1 = vpop.trf.xlu0 }\n{ v1 = vpop.trf.xlu0 }\n{ v1 = vpop.trf.xlu0 }\n"
                     "{ shalt }");
    /* second push at 8, pops at 8 + 144 and every 8 from there */
    assert_int_equal(machine_cycles(rig.m), 8 + 144 + 8 + 8 + 2);
}

TEST(packed_tiles_and_gaps_hold_up_transposes)
{
    const struct rig_options gap = {.set = {"xlu.xpose_gap_cycles=64"}};

    assert_ready_exactly_at("", "vxpose.xlu0.b16.start v0, 16", "vxpose.xlu0.b16.end v0, 16", 16,
                            STALL_XLU);
    assert_ready_exactly_at("", "vxpose.xlu0.b8.start.end v0, 32", "vadd.xlane.f32.xlu0 v0", 16,
                            STALL_XLU);
    assert_ready_exactly_at("", "vxpose.xlu0.b32.start.end v0, 8",
                            "vxpose.xlu0.b32.start.end v0, 8", 8, STALL_XLU);
    rig_close(&rig);
    rig_open(&rig, "v3", &gap);
    assert_ready_exactly_at("", "vxpose.xlu0.b32.start.end v0, 8",
                            "vxpose.xlu0.b32.start.end v0, 8", 64, STALL_XLU);
    assert_ready_exactly_at("", "vxpose.xlu0.b32.start v0, 8", "vxpose.xlu0.b32.end v0, 8", 8,
                            STALL_XLU);
    assert_ready_exactly_at("", "vxpose.xlu0.b32.start.end v0, 8", "vadd.xlane.f32.xlu0 v0", 8,
                            STALL_XLU);
}

TEST(vector_to_scalar_takes_its_time)
{
    assert_ready_exactly_at("", "vpush v0", "s1 = spop", 49, STALL_TRANSFER);
}

TEST(scalar_floats_and_divisions_take_their_time)
{
    assert_ready_exactly_at("", "s1 = sadd.f32 s2, 1.0", "s3 = smov s1", 4, STALL_OPERAND);
    assert_ready_exactly_at("", "s1 = smulhi.u32 s2, 3", "s3 = smov s1", 2, STALL_OPERAND);
    assert_ready_exactly_at("", "p1 = scmp.lt.u32.totalorder s2, 3", "s3 = smov (p1) 4", 2,
                            STALL_OPERAND);
    assert_ready_exactly_at("{ sdivrem.u32 s0, 5 }\n{ s1 = spop.drf ;; s2 = spop.drf }",
                            "sdivrem.u32 s2, 3", "s1 = spop.drf", 9, STALL_DIVIDE);
}

/* 7 cycles as to a load of the row, 6 as the way of a word out of SMEM */
TEST(fence_waits_for_stores_only)
{
    assert_ready_exactly_at("", "vst [vmem:0x0] v1", "sfence", 7, STALL_FENCE);
    assert_ready_exactly_at("", "sst [smem:8], s1", "sfence", 6, STALL_FENCE);
    assert_ready_exactly_at("", "sst (p1) [smem:8], s1", "sfence", 1, STALL_FENCE);
    assert_int_equal(rig_cycles(&rig, "{ v1 = vld [vmem:0x0] ;; sfence }\n{ sfence }\n{ shalt }"),
                     3);
    assert_int_equal(rig_cycles(&rig, "{ vst [vmem:0x0] v1 ;; sfence }\n{ shalt }"), 2);
}

TEST(delay_holds_the_next_bundle)
{
    assert_int_equal(rig_cycles(&rig, "{ vdelay 5 }\n{ shalt }"), 2 + 5);
    assert_int_equal(rig_stall(&rig, 0, STALL_DELAY), 5);
}

TEST(longer_of_two_delays_of_a_bundle_holds)
{
    static const struct rig_options pairs = {.set = {"slots.misc=2"}};
    struct rig r;

    rig_open(&r, "v3", &pairs);
    assert_int_equal(rig_cycles(&r, "{ vdelay 9 ;; vdelay 5 }\n{ shalt }"), 2 + 9);
    assert_int_equal(rig_cycles(&r, "{ vdelay 5 ;; vdelay 9 }\n{ shalt }"), 2 + 9);
    rig_close(&r);
}

TEST(branch_costs_its_delay_bundles_and_nothing_else)
{
    assert_int_equal(rig_cycles(&rig, "{ sbr.rel target = there }\n{ s1 = smov 1 }\n"
                                      "{ shalt.err }\nthere:\n{ shalt }"), 3);
    assert_int_equal(all_stalls(), 0);
}

TEST(longest_of_several_waits_gets_all_of_the_blame)
{
    rig_cycles(&rig, "{ v1 = vadd.f32 v0, v0 }\n{ vrcp.f32 v0 }\n{ vrcp.f32 v0 }\n"
                     "{ s1 = sld [smem:0x0] ;; v1 = vadd.f32 v0, v0 }\n"
                     "{ v2 = vpop.eup ;; v3 = vadd.f32 v1, v0 ;; s2 = sadd.s32 s1, 1 }\n{ shalt }");
    assert_int_equal(rig_stall(&rig, 0, STALL_OPERAND), 0);
    assert_int_equal(rig_stall(&rig, 0, STALL_EUP), 1 + 14 - 4);
}

TEST(independent_operations_of_a_bundle_issue_together)
{
    rig_cycles(&rig, "{ s1 = smov 1 ;; s2 = smov 2 ;; v1 = vadd.f32 v0, v0 ;; "
                     "v2 = vmul.f32 v0, v0 ;; v3 = vld [vmem:0x0] ;; vst [vmem:0x8] v0 ;; "
                     "vmatpush.msra.mxu0 v0 ;; vsyncadd [sflag:0], 0 }\n{ shalt }");
    assert_int_equal(machine_cycles(rig.m), 2);
    assert_int_equal(rig_unit(&rig, 0, "scalar")->busy_cycles, 2);
    assert_int_equal(rig_unit(&rig, 0, "scalar")->op_count, 3);
    assert_int_equal(rig_unit(&rig, 0, "valu")->busy_cycles, 1);
    assert_int_equal(rig_unit(&rig, 0, "valu")->op_count, 2);
}

TEST(guarded_operations_count_only_when_they_execute)
{
    rig_cycles(&rig, "{ p1 = scmp.eq.s32.totalorder s0, 0 }\n"
                     "{ v1 = vadd.f32 (p1) v0, v0 ;; v2 = vadd.f32 (!p1) v0, v0 }\n"
                     "{ vrcp.f32 (!p1) v0 ;; vst (!p1) [vmem:0x0] v0 }\n{ shalt }");
    assert_int_equal(machine_counters(rig.m, 0)->op_count[OP_VADD_F32], 1);
    assert_int_equal(rig_unit(&rig, 0, "valu")->busy_cycles, 1);
    assert_int_equal(rig_unit(&rig, 0, "eup")->busy_cycles, 0);
    assert_int_equal(rig_unit(&rig, 0, "store")->busy_cycles, 0);
}

TEST(waiting_unit_is_told_from_a_busy_one)
{
    rig_cycles(&rig, "{ vmatmul.f32.vlgmr.msra.gmra.mxu0 v0 }\n{ v1 = vpop.f32.mrf.mxu0 ;; "
                     "s1 = smov 1 }\n{ shalt }");
    /* issued at 0 and 267: loads for 1, streams rows for 8, then a pop waits for its result */
    assert_int_equal(rig_unit(&rig, 0, "mxu0")->busy_cycles, 1 + 8);
    assert_int_equal(rig_unit(&rig, 0, "mxu0")->waiting_cycles, 267 - 9);
    assert_int_equal(rig_unit(&rig, 0, "scalar")->waiting_cycles, 266);
}

TEST(edge_is_the_first_at_or_after_an_instant)
{
    static const int64_t clocks[] = {700, 940, 1050, 1750, 1000, 1};
    size_t i;
    cycle_t n;

    for (i = 0; i < COUNT_OF(clocks); i++)
        for (n = 0; n < 5000; n++) {
            cycle_t far = n * 1000000007;
            ps_t edge = clock_edge_ps(clocks[i], far);

            assert_int_equal(clock_cycle_at(clocks[i], edge), far);
            assert_int_equal(clock_cycle_at(clocks[i], edge + 1), far + 1);
            if (n > 0)
                assert_int_equal(clock_cycle_at(clocks[i], clock_edge_ps(clocks[i], far - 1) + 1),
                                 far);
        }
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(empty_program_takes_one_cycle),
        T(dependent_vector_arithmetic_is_alu_cycles_apart),
        T(mask_and_select_latencies_are_their_own),
        T(scalar_results_wait_their_class),
        T(guard_waits_for_the_compare),
        T(write_keeps_behind_an_older_write),
        T(load_is_ready_after_load_cycles),
        T(load_waits_for_a_store_to_the_same_rows),
        T(load_between_the_rows_of_a_store_does_not_wait),
        T(load_beside_a_store_in_one_bundle_does_not_wait),
        T(strided_access_pays_for_rows_on_one_bank),
        T(matmul_result_is_ready_after_the_pipeline),
        T(matmul_pushes_are_matmul_cycles_apart),
        T(weight_pushes_occupy_the_staging_port),
        T(latch_waits_for_its_staging_register_only),
        T(latch_delays_its_own_rows),
        T(transcendental_results_and_pushes_are_spaced),
        T(cross_lane_results_and_pushes_are_spaced),
        T(transpose_delivers_a_tile_every_few_cycles),
        T(packed_tiles_and_gaps_hold_up_transposes),
        T(vector_to_scalar_takes_its_time),
        T(scalar_floats_and_divisions_take_their_time),
        T(fence_waits_for_stores_only),
        T(delay_holds_the_next_bundle),
        T(longer_of_two_delays_of_a_bundle_holds),
        T(branch_costs_its_delay_bundles_and_nothing_else),
        T(longest_of_several_waits_gets_all_of_the_blame),
        T(independent_operations_of_a_bundle_issue_together),
        T(guarded_operations_count_only_when_they_execute),
        T(waiting_unit_is_told_from_a_busy_one),
        cmocka_unit_test(edge_is_the_first_at_or_after_an_instant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
