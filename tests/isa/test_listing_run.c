/*
 * Do listings run as their operations say, and stand-ins as they promise?
 */
#include "sim/chip/limits.h"
#include "tests/rigs/listing_bench.h"
#include "tests/test.h"

/* ---- runs ---- */

/* a kernel such as the compiler writes: two inputs, one result, all in HBM */
TEST(a_listing_runs_on_its_operands)
{
    static const char text[] =
        "     0   :  { %9 = vsyncpa [#allocation3], 0  ;;  %s170_s0 = inlined_call_operand.hbm "
        "[shape: f32[8,128], index: 0, kind: input, shape index: {}]  ;;  %s171_s1 = "
        "inlined_call_operand.<no memory space> [shape: f32[], index: 1, kind: input, shape "
        "index: {}]  ;;  %s172_s2 = inlined_call_operand.hbm [shape: f32[8,128], index: 2, kind: "
        "output, shape index: {}] } /* entry bundle: %mul = fusion(%a, %b) */\n"
        "   0x1   :  { %s143_s12 = smov [#allocation2] /* materialized constant */  ;;  "
        "%s15_s11 = sshll.u32 %s170_s0, 4  ;;  %s16_s11 = int_to_ptr.hbm [resolvable:$true] "
        "%s15_s11 }\n"
        "   0x2   :  { %s17_s13 = sshll.u32 %s143_s12, 4  ;;  %s18_s13 = int_to_ptr.vmem "
        "[resolvable:$true] %s17_s13  ;;  %s51_s3 = sshll.u32 %s172_s2, 4 }\n"
        "   0x3   :  { %20 = dma.hbm_to_vmem [thread:$0]  /*hbm=*/%s16_s11, "
        "/*size_in_granules=*/128, /*vmem=*/%s18_s13, /*dst_syncflagno=*/[#allocation3] /* \n"
        "base_bounds: (1, 1)\n */ }\n"
        "   0x4   :  { %137 = dma.done.wait [#allocation3], 128 }\n"
        "   0x5   :  { %138 = vsyncadd [#allocation3], 4294967168  ;;  %v40_v0 = vld "
        "[vmem:[#allocation2] sm:$0xff]  ;;  %v41_v1 = vstv %s171_s1 }\n"
        "   0x6   :  { %v42_v2 = vmul.f32 %v41_v1, %v40_v0 }\n"
        "   0x7   :  { %43 = vst [vmem:[#allocation2] sm:$0xff] /*vst_source=*/%v42_v2 }\n"
        "   0x8   :  { %54 = dma.vmem_to_hbm [thread:$0]  /*vmem=*/%s18_s13, "
        "/*size_in_granules=*/128, /*hbm=*/%s51_s3, /*dst_syncflagno=*/[#allocation3] }\n"
        "   0x9   :  { %141 = dma.done.wait [#allocation3], 128 }\n"
        "   0xa   :  { %59 = vsyncpa [#allocation3], 1 } /* exit bundle */\n";
    float in[1024], out[1024], factor = 3.25f;
    struct listing_bench b;
    struct machine *m;

    bench_open(&b, "v5e");
    assert_int_equal(bench_scan(&b, text), 0);
    assert_int_equal(bench_place(&b), 0);
    memcpy(&b.listing.operand[1].value, &factor, sizeof(factor));
    bench_assemble(&b);
    assert_int_equal(b.listing.unknown_count, 0);
    m = bench_machine(&b, "v5e", 100000);
    for (int i = 0; i < 1024; i++)
        in[i] = 0.5f * (float)i - 100.0f;
    assert_int_equal(machine_hbm_write(m, 0, b.listing.operand[0].address, in, 4096, &b.err), 0);
    if (machine_run(m, &b.err) != 0)
        fail_msg("%s", b.err.msg);
    assert_int_equal(machine_hbm_read(m, 0, b.listing.operand[2].address, out, 4096, &b.err), 0);
    for (int i = 0; i < 1024; i++)
        assert_true(out[i] == in[i] * factor);
    assert_false(machine_stand_in(m, 0)->is_met);
    machine_destroy(m);
    bench_close(&b);
}

TEST(a_loop_runs_with_the_delay_bundles_of_its_chip)
{
    static const char text[] =
        "0 : { %s1_s0 = smov 0 }\n"
        "0x7 LB: > { %s2_s0 = sadd.s32 1, %s1_s0 }\n"
        "0x8 : > { %p1_p0 = scmp.lt.s32.totalorder %s2_s0, 5 }\n"
        "0x9 : > { %3 = sbr.rel (%p1_p0) target bundleno = 7 (0x7), region = 2 }\n"
        "0xa : > { }\n0xb : > { }\n0xc : > { }\n0xd : > { }\n"
        "0xe : { %4 = sst [smem:[#allocation1]] %s2_s0 }\n";
    struct listing_bench b;
    struct machine *m;
    int32_t word;

    bench_read(&b, text);
    m = bench_machine(&b, "v6e", 100000);
    if (b.listing.unknown_count)
        fail_msg("%s", b.listing.op[4].reason);
    if (machine_run(m, &b.err) != 0)
        fail_msg("%s", b.err.msg);
    assert_int_equal(machine_smem_read(m, 0, bench_allocation(&b, "allocation1")->address, &word, 4,
                                       &b.err), 0);
    assert_int_equal(word, 5);
    assert_int_equal(machine_counters(m, 0)->issue_cycles, 1 + 5 * 7 + 2);
    machine_destroy(m);
    bench_close(&b);
}

TEST(an_endless_loop_ends_at_the_cycle_limit)
{
    struct listing_bench b;
    struct machine *m;

    bench_read(&b, "0 : { %3 = sbr.rel target bundleno = 0 (0x0), region = 2 }\n"
                 "0x1 : { }\n0x2 : { }\n0x3 : { }\n0x4 : { }\n");
    m = bench_machine(&b, "v6e", 1000);
    assert_int_equal(machine_run(m, &b.err), -1);
    assert_int_equal(machine_fault(m)->kind, FAULT_NO_HALT);
    assert_int_equal(machine_fault(m)->cycle, 1000);
    machine_destroy(m);
    bench_close(&b);
}

TEST(the_first_stand_in_that_runs_is_noted)
{
    struct listing_bench b;
    struct machine *m;
    const struct stand_in_site *site;

    bench_read(&b, "0 : { %s1_s0 = smov 3 ;; %s2_s1 = smov 4 }\n0x1 : { %s1_s2 = smov 3 }\n"
                 "0x2 : { %v1_v1 = vfoo %v2_v2 ;; %s1_s4 = smov 3 }\n"
                 "0x3 : { %v1_v1 = vfoo %v2_v2 }\n");
    m = bench_machine(&b, "v6e", 1000);
    if (machine_run(m, &b.err) != 0)
        fail_msg("%s", b.err.msg);
    site = machine_stand_in(m, 0);
    assert_true(site->is_met);
    assert_int_equal(site->bundle, 2);
    assert_int_equal(site->cycle, 2);
    assert_int_equal(site->bundles, 2);
    assert_int_equal(site->operations, 3);
    assert_int_equal(machine_cycles(m), 5);
    machine_destroy(m);
    bench_close(&b);
}

TEST(stand_ins_write_nothing)
{
    struct listing_bench b;
    struct machine *m;
    int32_t word;

    bench_read(&b, "0 : { %s1_s0 = smov 3 }\n0x1 : { %s1_s0 = sfoo 9 }\n"
                 "0x2 : { %4 = sst [smem:[#allocation1]] %s1_s0 }\n");
    m = bench_machine(&b, "v6e", 1000);
    assert_int_equal(machine_run(m, &b.err), 0);
    machine_smem_read(m, 0, 512, &word, 4, &b.err);
    assert_int_equal(word, 3);
    machine_destroy(m);
    bench_close(&b);
}

TEST(an_operand_declared_late_arrives_where_it_stands)
{
    struct listing_bench b;
    struct machine *m;
    int32_t word[2];

    bench_read(&b, "0 : { %s1_s0 = smov 3 }\n0x1 : { %4 = sst [smem:[#allocation1]] %s1_s0 }\n"
                 "0x2 : { %s9_s0 = inlined_call_operand.hbm [shape: f32[8], index: 0, kind: input] "
                 ";; %s8_s1 = inlined_call_operand.hbm [shape: f32[8], index: 1, kind: input] }\n"
                 "0x3 : { %5 = sst [smem:[#allocation1 + $0x4]] %s8_s1 }\n");
    m = bench_machine(&b, "v6e", 1000);
    assert_int_equal(machine_run(m, &b.err), 0);
    machine_smem_read(m, 0, 512, word, 8, &b.err);
    assert_int_equal(word[0], 3);
    assert_int_equal(word[1], 4096 / 512);
    machine_destroy(m);
    bench_close(&b);
}

TEST(flags_may_be_left_to_a_later_kernel)
{
    struct listing_bench b;
    struct machine *m;

    bench_read(&b, "0 : { %1 = vsyncadd [#allocation1], 16 }\n");
    m = bench_machine(&b, "v6e", 1000);
    assert_int_equal(machine_run(m, &b.err), 0);
    assert_int_equal(machine_flag(m, 0, 0), 16);
    machine_destroy(m);
    bench_close(&b);
}

TEST(a_bundle_beyond_the_slots_runs_and_can_be_named)
{
    struct isa_limits limits;
    struct listing_bench b;
    struct machine *m;

    bench_read(&b, "0 : { %s1_s0 = smov 3 ;; %s1_s1 = smov 3 ;; %s1_s2 = smov 3 ;; %s1_s0 = smov 4 "
                 "}\n");
    chip_isa_limits(&b.chip, &limits);
    assert_int_equal(isa_check_slots(&b.listing.program, 0, &limits, &b.err), -1);
    assert_non_null(strstr(b.err.msg, "bundle 0: 4 operations for the scalar slot"));
    m = bench_machine(&b, "v6e", 1000);
    assert_int_equal(machine_run(m, &b.err), 0);
    assert_int_equal(machine_load(m, 0, &b.listing.program, &b.err), -1);
    machine_destroy(m);
    bench_close(&b);
}

TEST(operations_beyond_a_bundle_are_left_out_and_told)
{
    char text[1000] = "0 : { %s1_s0 = smov 1";
    struct listing_bench b;

    for (int i = 0; i < ISA_BUNDLE_OP_MAX; i++)
        strcat(text, " ;; %s1_s1 = smov 2");
    strcat(text, " }\n");
    bench_read(&b, text);
    assert_int_equal(b.listing.unknown_count, 1);
    assert_int_equal(b.listing.program.bundle[0].op_count, ISA_BUNDLE_OP_MAX);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_listing_runs_on_its_operands),
        cmocka_unit_test(a_loop_runs_with_the_delay_bundles_of_its_chip),
        cmocka_unit_test(an_endless_loop_ends_at_the_cycle_limit),
        cmocka_unit_test(the_first_stand_in_that_runs_is_noted),
        cmocka_unit_test(stand_ins_write_nothing),
        cmocka_unit_test(an_operand_declared_late_arrives_where_it_stands),
        cmocka_unit_test(flags_may_be_left_to_a_later_kernel),
        cmocka_unit_test(a_bundle_beyond_the_slots_runs_and_can_be_named),
        cmocka_unit_test(operations_beyond_a_bundle_are_left_out_and_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
