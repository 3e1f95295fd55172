/*
 * Are operations read in every form in which listings write them?
 */
#include "sim/chip/limits.h"
#include "tests/rigs/listing_bench.h"
#include "tests/test.h"

/* Each in a bundle of its own; all must be known on a v6e. */
static const char *const known[] = {
    "%1 = vsyncpa [#allocation3 + $0x1], 0",
    "%1 = dma.done.wait (%p10_p3), %s20_s6, 128",
    "%1 = dma.done.wait [#allocation3 + $0x1], 128",
    "%1 = dma.done.wait [%s20_s6], 128",
    "%1 = vsyncadd (%p10_p3), %s20_s6, 4294967168",
    "%1 = vsyncadd [sflag:[#allocation3]], 4294967168",
    "%1 = vsyncset.remote [#allocation3], 1, %s5_s5",
    "%1 = vwait.ge [#allocation3], 3",
    "%1 = vwait.eq %s3_s3, 0",
    "%s21_s9 = scalar_lea.sflag [#allocation3], %s21_s8",
    "%1 = dma.hbm_to_vmem [thread:$0]  (!%p5_p1), %s16_s11, 128, %s18_s13, %s21_s9",
    "%1 = dma.hbm_to_vmem [thread:$0]  /*hbm=*/%s16_s11, /*size_in_granules=*/2048, "
        "/*vmem=*/%s18_s13, /*dst_syncflagno=*/[#allocation3], /*src_stride=*/256, "
        "/*dst_stride=*/128, /*steps_per_stride=*/8",
    "%1 = dma.hbm_to_vmem [thread:$0]  %s16_s11, 2048, %s18_s13, [#allocation3], 256, 128, 8",
    "%1 = dma.hbm_to_smem [thread:$0]  %s16_s11, 1, [#allocation8], [#allocation3]",
    "%s1_s5 = sld [smem:[#allocation9_spill]]",
    "%1 = sst [smem:[#allocation9_spill]] %s5_s5",
    "%1 = sst [smem:[#allocation8 + $0x4]] 5",
    "%s1_s5 = sld [smem:$0x7ffc]",
    "%s1_s5 = sld [smem:[%s1_s0 + %s6_s6]]",
    "%s1_s5 = sld [smem:[#allocation8 + %s6_s6]]",
    "%1 = sst [smem:[%s1_s0 + %s6_s6]] %s2_s2",
    "%v1_v5 = vld [vmem:[%s1_s1 + %s2_s2] sm:$0xff]",
    "%v1_v5 = vld [vmem:[%s1_s1 + %s2_s2] ss:$2 sm:$0xff]",
    "%v1_v5 = vld [vmem:[%s1_s1 - $0x10] sm:$0xff]",
    "%v1_v5 = vld [vmem:[%s1_s1 + $0xfffffff8] ss:$0 sm:$0xff]",
    "%v1_v5 = vld.sshfl [vmem:[%s1_s1 + $0x8] sm:$0xff pattern:$0x75316420]",
    "%1 = vst.sshfl [vmem:[#allocation2] sm:$0xff pattern:$0x75316420] /*vst_source=*/%v1_v2",
    "%1 = vst [vmem:[%s1_s1 + %s2_s2] sm:$0xff] /*vst_source=*/%v1_v2",
    ("%1 = vst.msk [vmem:[#allocation2 + $0x8] ss:$2 sm:$0xf] /*vm=*/%vm1_vm0, "
     "/*vst_source=*/%v1_v2"),
    "%1 = vst (%p1_p0), [vmem:[%s1_s1 + $0x8] sm:$0xff] /*vst_source=*/%v1_v2",
    "%v5_v5 = vld (!%p1_p0), [vmem:[%s1_s1 + $0x8] sm:$0xff]",
    "%s9_s1 = smov (%p5_p2), 3",
    "%s9_s1 = smov (!%p5_p2), [#allocation2 + $0x10]",
    "%s9_s1 = sadd.s32 (%p5_p2), 4294967295, %s3_s3",
    "%s9_s1 = scalar_select %p9_p1, %s2_s2, 0",
    "%v1_v1 = vadd.f32 (%p5_p2), %v3_v3, %v4_v4",
    "%v1_v1 = vmul.f32 0.5, %v3_v3",
    "%v1_v1 = vmul.f32 %v3_v3, -1e-05",
    "%v1_v1 = vadd.s32 4294967295, %v3_v3",
    "%v1_v1 = vadd.s32 %v3_v3, 4294967295",
    "%v1_v1 = vand.u32 %v3_v3, 2147483648",
    "%v1_v1 = vmax.f32 %v3_v3, -inf",
    "%v1_v1 = vsel %vm1_vm1, 4294967295, %v3_v3",
    "%vm1_vm1 = vcmp.gt.f32.partialorder 0.0, %v3_v3",
    "%v1_v1 = vmov 2147483648",
    "%1 = vpush %v1_v1",
    "%s3_s3 = spop %22",
    "%1 = vpush (%p1_p1), %v1_v1",
    "%1 = vtrace 2147483648",
    "%1 = vsettm 1",
    "%1 = vdelay 1",
    "%1 = sfence",
    "%1 = setrngseed %s3_s3",
    "%v1_v1 = vrng",
    "%1 = sdivrem.u32 %s3_s3, %s4_s4",
    "%s3_s3 = spop.drf %1",
    "%1 = vmatmul.bf16.gmrb.mxu0 %v1_v1",
    "%1 = vmatmul.f32.vlgmr.msrb.gmra.mxu0 %v1_v1",
    "%1 = vmatpush1.bf16.xpose.msra.mxu0 %v1_v1",
    "%1 = vmatprep.subr.bf16.mxu0 %v1_v1",
    "%1 = vdwg.mxu0",
    "%1 = vxpose.xlu0.b32.start [1/16] (narrow) %v1_v1, 8",
    "%1 = vxpose.xlu0.c.b16.start.end [1/1] (short) (narrow) %v1_v1, 128",
    "%1 = vperm.xlu0 /*vx=*/%v1_v1, /*vperm_indices=*/%v2_v2",
    "%1 = sbr.rel (!%p14_p0) target bundleno = 0 (0x0), region = 20",
    "%1 = sbr.rel target bundleno = 0 (0x0)",
    "%1 = shalt.err (!%p14_p0)",
    "%1 = compiler-scheduling-barrier",
};

TEST(operations_are_known_in_the_forms_of_listings)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        char text[400];
        struct listing_bench b;

        snprintf(text, sizeof(text), "     0   :  { %s }\n", known[i]);
        bench_read(&b, text);
        if (b.listing.unknown_count)
            fail_msg("%s: %s", known[i], b.listing.op[0].reason);
        bench_close(&b);
    }
}

/* ---- addresses of two registers ---- */

static int32_t smem_after(const char *text, const char *allocation, int64_t offset)
{
    struct listing_bench b;
    struct machine *m;
    int32_t word;

    bench_read(&b, text);
    if (b.listing.unknown_count)
        fail_msg("an operation is not known");
    m = bench_machine(&b, "v6e", 100000);
    if (machine_run(m, &b.err) != 0)
        fail_msg("%s", b.err.msg);
    assert_int_equal(machine_smem_read(m, 0, bench_allocation(&b, allocation)->address + offset,
                                       &word, 4, &b.err), 0);
    machine_destroy(m);
    bench_close(&b);
    return word;
}

TEST(scalar_addresses_add_two_registers)
{
    static const char text[] =
        "0 : { %s1_s1 = smov [#allocation1] ;; %s2_s2 = smov 8 }\n"
        "1 : { %3 = sst [smem:[#allocation1 + $0x4]] 77 ;; %s4_s4 = smov 4 }\n"
        "2 : { %s5_s5 = sld [smem:[%s1_s1 + %s4_s4]] }\n"
        "3 : { %6 = sst [smem:[%s2_s2 + %s1_s1]] %s5_s5 }\n"
        "4 : { %7 = sst [smem:[#allocation1 + $0xc]] 1 }\n";

    assert_int_equal(smem_after(text, "allocation1", 8), 77);
    assert_int_equal(smem_after(text, "allocation1", 0), 0);
}

TEST(vector_addresses_add_two_registers)
{
    assert_int_equal(smem_after(
        "0 : { %s1_s1 = smov [#allocation1] ;; %s2_s2 = smov 16 }\n"
        "1 : { %v1_v1 = vmov 41 ;; %v2_v2 = vmov 42 }\n"
        "2 : { %3 = vst [vmem:[%s1_s1]] %v1_v1 }\n"
        "3 : { %4 = vst [vmem:[%s1_s1 + %s2_s2]] %v2_v2 }\n"
        "4 : { %v5_v3 = vld [vmem:[#allocation1 + $0x10]] }\n"
        "5 : { %6 = vpush %v5_v3 }\n"
        "6 : { %s7_s7 = spop %6 }\n"
        "7 : { %8 = sst [smem:[#allocation2]] %s7_s7 }\n", "allocation2", 0), 42);
}

/* a register that a bundle writes is read with its old value */
TEST(an_index_register_is_read_before_its_bundle_writes_it)
{
    assert_int_equal(smem_after(
        "0 : { %s1_s1 = smov [#allocation1] ;; %s2_s2 = smov 8 }\n"
        "1 : { %3 = sst [smem:[%s1_s1 + %s2_s2]] 5 ;; %s2_s2 = smov 4 }\n",
        "allocation1", 8), 5);
}

/* ---- results in flight ---- */

/* The real depth of a result FIFO is the compiler's secret: as many as it pushes must fit. */
TEST(result_fifos_of_a_listing_grow)
{
    enum { PUSHES = 300 };
    static char text[PUSHES * 160];
    struct listing_bench b;
    struct machine *m;
    size_t length = 0;
    int32_t word[PUSHES];

    length += (size_t)sprintf(text, "0 : { %%s1_s1 = smov 0 }\n");
    for (int i = 0; i < PUSHES; i++)
        length += (size_t)sprintf(text + length, "%d : { %%v1_v%d = vmov %d }\n"
                                  "%d : { %%%d = vpush %%v1_v%d }\n",
                                  1 + 2 * i, i % 8, i, 2 + 2 * i, i, i % 8);
    for (int i = 0; i < PUSHES; i++)
        length += (size_t)sprintf(text + length, "%d : { %%s2_s2 = spop %%%d }\n"
                                  "%d : { %%9 = sst [smem:[#allocation1 + $0x%x]] %%s2_s2 }\n",
                                  1 + 2 * PUSHES + 2 * i, i, 2 + 2 * PUSHES + 2 * i, 4 * i);
    bench_read(&b, text);
    m = bench_machine(&b, "v6e", 100000);
    if (machine_run(m, &b.err) != 0)
        fail_msg("%s", b.err.msg);
    assert_int_equal(machine_smem_read(m, 0, bench_allocation(&b, "allocation1")->address, word,
                                       sizeof(word), &b.err), 0);
    for (int i = 0; i < PUSHES; i++)
        assert_int_equal(word[i], i);
    machine_destroy(m);
    bench_close(&b);
}

/* tiles too: reciprocals of 1, 1/2, 1/4… far beyond the depth of the transcendental unit's */
TEST(tiles_in_flight_stay_in_order)
{
    enum { PUSHES = 100 };
    static char text[PUSHES * 200];
    struct listing_bench b;
    struct machine *m;
    size_t length = 0;
    int32_t word;

    length += (size_t)sprintf(text, "0 : { %%v1_v1 = vmov 1.0 }\n");
    for (int i = 0; i < PUSHES; i++)
        length += (size_t)sprintf(text + length, "%d : { %%%d = vrcp.f32 %%v1_v1 ;; "
                                  "%%v1_v1 = vmul.f32 0.5, %%v1_v1 }\n", 1 + i, i);
    for (int i = 0; i < PUSHES; i++)
        length += (size_t)sprintf(text + length, "%d : { %%v2_v2 = vpop.eup %%%d }\n",
                                  1 + PUSHES + i, i);
    sprintf(text + length, "%d : { %%7 = vpush %%v2_v2 }\n%d : { %%s2_s2 = spop %%7 }\n"
            "%d : { %%8 = sst [smem:[#allocation1]] %%s2_s2 }\n", 2 * PUSHES + 1, 2 * PUSHES + 2,
            2 * PUSHES + 3);
    bench_read(&b, text);
    m = bench_machine(&b, "v6e", 100000);
    if (machine_run(m, &b.err) != 0)
        fail_msg("%s", b.err.msg);
    machine_smem_read(m, 0, bench_allocation(&b, "allocation1")->address, &word, 4, &b.err);
    assert_int_equal(word >> 23, 127 + PUSHES - 1);
    machine_destroy(m);
    bench_close(&b);
}

TEST(a_loop_that_only_pushes_ends_in_a_fault)
{
    struct listing_bench b;
    struct machine *m;

    bench_read(&b, "0 LB: > { %1 = vpush %v1_v1 ;; %2 = sbr.rel target bundleno = 0 (0x0) }\n"
               "1 : > { }\n2 : > { }\n3 : > { }\n4 : > { }\n");
    m = bench_machine(&b, "v6e", 1000000);
    assert_int_equal(machine_run(m, &b.err), -1);
    assert_int_equal(machine_fault(m)->kind, FAULT_FIFO_OVERFLOW);
    machine_destroy(m);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_are_known_in_the_forms_of_listings),
        cmocka_unit_test(scalar_addresses_add_two_registers),
        cmocka_unit_test(vector_addresses_add_two_registers),
        cmocka_unit_test(an_index_register_is_read_before_its_bundle_writes_it),
        cmocka_unit_test(result_fifos_of_a_listing_grow),
        cmocka_unit_test(tiles_in_flight_stay_in_order),
        cmocka_unit_test(a_loop_that_only_pushes_ends_in_a_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
