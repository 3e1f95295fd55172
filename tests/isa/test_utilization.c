/*
 * Are the units of a bundle counted as the compiler counts them? Each table
 * was worked out by hand from the rule in docs/listings.md.
 */
#include "isa/listing/utilization.h"
#include "sim/chip/chip.h"
#include "sim/chip/limits.h"
#include "tests/test.h"

/* columns MXU XLU VALU EUP LOAD STORE SALU as digits, one row after the other */
static void assert_counts(const char *text, const char *rows)
{
    struct listing_memory memory = {1 << 30, 1 << 20, 1 << 16, 64};
    struct utilization_row *row;
    struct isa_errors errors;
    struct isa_limits limits;
    struct listing l;
    struct arena a;
    struct chip chip;
    struct err e;
    char got[COLUMN_COUNT + 1] = "";

    arena_init(&a);
    assert_int_equal(chip_load_builtin(&chip, "v6e", NULL, &a, &e), 0);
    chip_isa_limits(&chip, &limits);
    assert_int_equal(listing_scan(text, strlen(text), "x", &a, &l, &errors), 0);
    assert_int_equal(listing_place(&l, &memory, &e), 0);
    listing_assemble(&l, &limits);
    row = utilization_count(&l, &a);
    assert_int_equal(strlen(rows), (COLUMN_COUNT + 1) * l.bundle_count - 1);
    for (uint32_t i = 0; i < l.bundle_count; i++) {
        for (int j = 0; j < COLUMN_COUNT; j++)
            got[j] = (char)('0' + row[i].count[j]);
        if (memcmp(got, rows + i * (COLUMN_COUNT + 1), COLUMN_COUNT) != 0)
            fail_msg("bundle %u counts %s, not %.*s", (unsigned)i, got, COLUMN_COUNT,
                     rows + i * (COLUMN_COUNT + 1));
    }
    arena_fini(&a);
}

TEST(an_operation_counts_in_the_column_of_its_slot)
{
    assert_counts("0 : { %s1_s1 = smov 1 ;; %p1_p1 = por %p2_p2, %p3_p3 }\n"
                  "1 : { %v1_v1 = vadd.f32 %v2_v2, %v3_v3 ;; %v4_v4 = vmov 1.0 }\n"
                  "2 : { %v1_v1 = vld [vmem:%s1_s1] ;; %5 = vst [vmem:%s1_s1] %v2_v2 }\n"
                  "3 : { %5 = sbr.rel target bundleno = 0 (0x0), region = 1 }\n"
                  "4 : { %6 = shalt.err (!%p1_p1) }\n"
                  "5 : { }\n",
                  "0000002 0020000 0000110 0000001 0000001 0000000");
}

TEST(sync_operations_count_as_loads_and_copies_as_scalar)
{
    assert_counts("0 : { %5 = vsyncpa [#allocation1], 0 ;; %v1_v1 = vld [vmem:%s1_s1] }\n"
                  "1 : { %6 = dma.hbm_to_vmem %s1_s1, 16, %s2_s2, [#allocation1] }\n"
                  "2 : { %7 = dma.done.wait [#allocation1], 16 }\n"
                  "3 : { %8 = vsyncadd [#allocation1], 4294967280 ;; %9 = vdelay 3 }\n",
                  "0000200 0000001 0000100 0000200");
}

TEST(a_transcendental_counts_one_bundle_later_too)
{
    assert_counts("0 : { %5 = vrcp.f32 %v1_v1 }\n"
                  "1 : { %6 = vpow2.f32 %v1_v1 ;; %v9_v9 = vadd.f32 %v1_v1, %v2_v2 }\n"
                  "2 : { }\n"
                  "3 : { %v2_v2 = vpop.eup %5 }\n"
                  "4 : { %7 = vrcp.f32 %v1_v1 }\n",
                  "0010000 0021000 0001000 0000000 0010000");
}

TEST(a_cross_lane_push_occupies_its_unit_for_four_bundles)
{
    assert_counts("0 : { %5 = vrot.lane.b32.xlu0 %v1_v1, %s1_s1 }\n"
                  "1 : { %6 = vadd.xlane.f32.xlu1 %v1_v1 }\n"
                  "2 : { %7 = vrot.lane.b32.xlu0 %v1_v1, %s1_s1 }\n"
                  "3 : { }\n4 : { }\n5 : { }\n"
                  "6 : { %v2_v2 = vpop.permute.xlu0 %5 }\n"
                  "7 : { }\n",
                  "0000000 0100000 0200000 0200000 0200000 0200000 0100000 0000000");
}

TEST(a_matmul_occupies_its_unit_and_what_loads_it_counts_nothing)
{
    assert_counts("0 : { %5 = vmatprep.subr.mxu1 %v1_v1 ;; %6 = vmatpush.msra.mxu0 %v1_v1 }\n"
                  "1 : { %7 = vmatmul.f32.vlgmr.msra.gmra.mxu0 %v1_v1 }\n"
                  "2 : { %8 = vmatmul.mubr.bf16.gmra.mxu1 %v1_v1 }\n"
                  "3 : { %9 = vmatpush3.bf16.msra.mxu1 %v1_v1 }\n4 : { }\n5 : { }\n"
                  "6 : { %v2_v2 = vpop.f32.mrf.mxu0 }\n7 : { }\n",
                  "0000000 0000000 1000000 2000000 2000000 2000000 1000000 0000000");
}

TEST(what_reaches_beyond_the_end_is_cut_off)
{
    assert_counts("0 : { %5 = vrot.lane.b32.xlu0 %v1_v1, %s1_s1 ;; %6 = vrcp.f32 %v1_v1 }\n"
                  "1 : { }\n",
                  "0010000 0101000");
}

/* rows stand for printed bundles in their order: marks, gaps and branches change nothing */
TEST(loops_count_once_and_pushes_reach_across_branches)
{
    assert_counts("0x3 : { %s1_s1 = smov 1 }\n"
                  "0x7 LB: > { %s2_s1 = sphi %s1_s1, %s3_s1 ;; %v1_v1 = vadd.f32 (%p1_p1), %v2_v2, "
                  "%v3_v3 }\n"
                  "0x8 : > { %4 = sbr.rel (%p1_p1) target bundleno = 7 (0x7), region = 4 ;; "
                  "%5 = vadd.xlane.f32.xlu0 %v1_v1 ;; %6 = vmatmul.bf16.gmra.mxu1 %v1_v1 }\n"
                  "0x9 : > { %7 = vrcp.f32 %v1_v1 }\n0xa : > {  }\n0xb : > {}\n0xc : > {  }\n"
                  "0x20 LE: { %8 = compiler-scheduling-barrier }\n",
                  "0000001 0010000 0000001 1110000 1101000 1100000 1100000 0000000");
}

TEST(misc_operations_count_as_loads_guarded_or_not)
{
    assert_counts("0 : { %1 = vpush %v1_v1 }\n1 : { %s2_s2 = spop %1 }\n"
                  "2 : { %2 = vtrace 2147483648 }\n3 : { %2 = vsettm 1 }\n4 : { %2 = sfence }\n"
                  "5 : { %v1_v1 = vrng }\n6 : { %2 = setrngseed %s1_s1 }\n"
                  "7 : { %2 = dma.done.wait (%p1_p1), %s1_s1, 128 }\n"
                  "8 : { %2 = vsyncadd.remote [#allocation1], 1, %s1_s1 }\n"
                  "9 : { %2 = vwait.ge [#allocation1], 1 }\n10 : { %2 = dma.general %s1_s1 }\n"
                  "11 : { %3 = vst [vmem:[%s1_s1]] %v1_v1 ;; %4 = vst [vmem:[%s2_s2]] %v1_v1 }\n"
                  "12 : { %v1_v1 = vld.sshfl [vmem:[%s1_s1] sm:$0xff pattern:$0x75316420] }\n",
                  "0000100 0000001 0000100 0000100 0000001 0000100 0000001 0000100 0000100 "
                  "0000100 0000001 0000020 0000100");
}

TEST(casts_and_operands_count_nothing)
{
    assert_counts("0 : { %s1_s0 = inlined_call_operand.hbm [shape: f32[8], index: 0, kind: input]"
                  " ;; %s3_s2 = sshll.u32 %s2_s2, 4 ;; %s4_s2 = int_to_ptr.vmem %s3_s2 ;; "
                  "%s5_s5 = sphi %s6_s6, %s7_s7 }\n",
                  "0000001");
}

TEST(unknown_operations_count_by_their_prefix)
{
    assert_counts("0 : { %s1_s1 = sfoo 1 ;; %p1_p1 = pfoo %p2_p2 ;; %5 = setfoo 3 }\n"
                  "1 : { %v1_v1 = vfoo.f32 %v2_v2 ;; %vm1_vm1 = vmfoo %vm2_vm2 }\n"
                  "2 : { %v1_v1 = vld.foo %s1_s1 ;; %5 = vst.foo %v2_v2 }\n"
                  "3 : { %5 = dma.foo %s1_s1 }\n"
                  "4 : { %5 = vsyncfoo 3 ;; %6 = vsetfoo 2 ;; %7 = vwait.foo 1 }\n"
                  "5 : { %5 = vfoo.xlu1 %v2_v2 ;; %v1_v1 = vpop.foo.xlu1 %5 }\n"
                  "6 : { %5 = vmatpush9.foo.mxu0 %v1_v1 ;; %6 = vmatprep.foo.mxu1 %v2_v2 }\n"
                  "7 : { %5 = vmatmul.foo.mxu0 %v1_v1 }\n"
                  "8 : { %vm1_vm1 = vmpackc.foo %vm2_vm2 }\n",
                  "0000003 0020000 0000110 0000001 0000300 0000000 0100000 0100000 1100100");
}

TEST(the_table_is_printed_as_the_compiler_prints_it)
{
    static const char wanted[] =
        "== CAPACTIY:\n  MXU|  XLU| VALU|  EUP| LOAD|STORE| SALU\n"
        "    2     2     4     1     3     2     2\n"
        "== UTILIZATION:\n0 1 2 0 0 0 1\n0 0 0 0 12 0 0\n";
    struct utilization_row capacity = {{2, 2, 4, 1, 3, 2, 2}};
    struct utilization_row rows[2] = {{{0, 1, 2, 0, 0, 0, 1}}, {{0, 0, 0, 0, 12, 0, 0}}};
    char got[sizeof(wanted) + 8] = "";
    FILE *f = tmpfile();

    utilization_print(&capacity, rows, 2, f);
    rewind(f);
    fread(got, 1, sizeof(got) - 1, f);
    fclose(f);
    assert_string_equal(got, wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operation_counts_in_the_column_of_its_slot),
        cmocka_unit_test(sync_operations_count_as_loads_and_copies_as_scalar),
        cmocka_unit_test(a_transcendental_counts_one_bundle_later_too),
        cmocka_unit_test(a_cross_lane_push_occupies_its_unit_for_four_bundles),
        cmocka_unit_test(a_matmul_occupies_its_unit_and_what_loads_it_counts_nothing),
        cmocka_unit_test(what_reaches_beyond_the_end_is_cut_off),
        cmocka_unit_test(loops_count_once_and_pushes_reach_across_branches),
        cmocka_unit_test(misc_operations_count_as_loads_guarded_or_not),
        cmocka_unit_test(casts_and_operands_count_nothing),
        cmocka_unit_test(unknown_operations_count_by_their_prefix),
        cmocka_unit_test(the_table_is_printed_as_the_compiler_prints_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
