/*
 * Does the reader of compiler listings understand their structure, and say where
 * it does not understand?
 */
#include "tests/rigs/listing_bench.h"
#include "tests/test.h"

#include <time.h>

/* ---- structure ---- */

TEST(bundles_have_their_numbers_lines_and_marks)
{
    struct listing_bench b;

    bench_read(&b, "= control target key start\nLB: loop body\n= control target key end\n\n"
                 "// kernel: add\n$region0: #{add}\n"
                 "     0   :  { %s1_s0 = smov 3 }\n"
                 "   0x1 LB: > { %s2_s1 = smov 4  ;;  %s3_s2 = smov 5 }\n"
                 "   0x4 PF LB: >> {  }\n"
                 "  0x1d   : > { %5 = vst [vmem:$0x8] sm:$0xff\n"
                 "      /*vst_source=*/%v1_v2 }\n");
    assert_int_equal(b.listing.bundle_count, 4);
    assert_int_equal(b.listing.bundle_number[2], 4);
    assert_int_equal(b.listing.bundle_number[3], 0x1d);
    assert_int_equal(b.listing.bundle_line[3], 10);
    assert_int_equal(b.listing.op_count, 4);
    assert_int_equal(b.listing.unknown_count, 0);
    assert_int_equal(b.listing.op[2].bundle, 1);
    assert_string_equal(b.listing.op[3].text, "%5 = vst [vmem:$0x8] sm:$0xff %v1_v2");
    /* and a bundle with shalt behind the last */
    assert_int_equal(b.listing.program.bundle_count, 5);
    assert_int_equal(b.listing.program.op[4].code, OP_SHALT);
    assert_int_equal(b.listing.program.bundle[1].op_count, 2);
    assert_int_equal(b.listing.program.bundle[3].line, 10);
    bench_close(&b);
}

TEST(the_entry_is_named_by_its_comment)
{
    struct listing_bench b;

    bench_read(&b, "0 : { } /* entry bundle: %add.3 = fusion(%a, %b) */\n");
    assert_string_equal(b.listing.entry, "%add.3 = fusion(%a, %b)");
    bench_close(&b);
}

TEST(comments_nest_as_bounds_checks_print_them)
{
    struct listing_bench b;

    bench_read(&b, "0 : { %9 = shalt.err (!%p1_p4) /* BoundsCheck 0 for %13 = dma.hbm_to_vmem "
                 "/*hbm=*/%s0, /*size=*/512 /* \nbounds: (4, 1)\n */\nhlo: add\n */  ;;  "
                 "%s1_s1 = smov 7 /* materialized */ }\n");
    assert_int_equal(b.listing.op_count, 2);
    assert_int_equal(b.listing.unknown_count, 0);
    assert_int_equal(b.listing.op[1].line, 5);
    bench_close(&b);
}

TEST(a_comment_that_opens_another_ends_before_the_next_bundle)
{
    struct listing_bench b;

    bench_read(&b, "0 : { %s1_s1 = smov 7 /* loc(\"/tmp/*.py\":3) */ }\n"
                 "0x1 : { %s1_s2 = smov 8 /* plain */ }\n");
    assert_int_equal(b.listing.bundle_count, 2);
    assert_int_equal(b.listing.op_count, 2);
    bench_close(&b);
}

TEST(pointer_casts_and_phis_are_no_operations)
{
    struct listing_bench b;

    bench_read(&b, "0 : { %s2_s1 = sshll.u32 %s1_s0, 4  ;;  %s3_s1 = int_to_ptr.vmem "
                 "[resolvable:$true] %s2_s1  ;;  %s4_s2 = sphi %s1_s0, %s2_s1  ;;  "
                 "%v1_v1 = vphi %v2_v2, %v3_v3  ;;  %p1_p1 = pphi %p2_p2, %p3_p3  ;;  "
                 "%vm1_vm1 = vmphi %vm2_vm2, %vm3_vm3 }\n");
    assert_int_equal(b.listing.unknown_count, 0);
    assert_int_equal(b.listing.program.bundle[0].op_count, 1);
    bench_close(&b);
}

TEST(branches_go_to_the_bundle_with_that_number)
{
    struct listing_bench b;
    const struct listing_op *op;

    bench_read(&b, "0 : { }\n0x10 : { }\n"
                 "0x11 : { %9 = sbr.rel (!%p1_p0) target bundleno = 16 (0x10), region = 3 }\n"
                 "0x12 : { %10 = sbr.rel target bundleno = 99 (0x63), region = 4 }\n");
    op = &b.listing.op[0];
    assert_int_equal(op->code, OP_SBR);
    assert_int_equal(b.listing.program.op[op->op].operand[0].value, 1);
    assert_int_equal(b.listing.program.op[op->op].pred, 0);
    assert_true(b.listing.program.op[op->op].pred_is_negated);
    assert_string_equal(b.listing.op[1].reason, "no bundle 99 in the listing");
    bench_close(&b);
}

/* ---- errors ---- */

TEST(damage_is_told_with_its_place)
{
    static const struct { const char *text, *message; int line, col; } cases[] = {
        {"", "no bundles in the text: not a listing", 1, 1},
        {"1. Hello {\nworld }\n", "no bundles in the text: not a listing", 1, 1},
        {"0 : { %s1_s1 = smov 3\n0x1 : { }\n", "the bundle opened here is not closed", 1, 5},
        {"0 : { %s1_s1 = smov 3", "the bundle opened here is not closed", 1, 5},
        {"0 : { %s1_s1 = smov 3  ;;  }\n", "expected an operation", 1, 28},
        {"0 : { }\n0x1 : { %v1 = }\n", "expected an operation", 2, 14},
        {"0 : { = 5 }\n", "expected an operation", 1, 7},
        {"0 : { }\n0xg : { }\n", "expected a bundle's number such as 31 or 0x1f, found \"0\"",
         2, 1},
        {"0 : { }\n0x1 { }\n", "expected \":\" behind the bundle's number, found \"{\"", 2, 5},
        {"0 : { }\n0x1 : smov\n", "expected \"{\", found \"s\"", 2, 7},
        {"0 : { }\n0x1 :\n", "expected \"{\", found the end of the line", 2, 6},
        {"0x5 : { }\n0x5 : { }\n", "bundle 0x5 behind bundle 0x5; one program with ascending "
         "numbers is needed", 2, 1},
        {"0 : { }\nx ;; y\n", "expected a bundle's number such as 31 or 0x1f, found \"x\"", 2, 1},
        {"0 : { } }\n", "expected a bundle's number such as 31 or 0x1f, found \"}\"", 1, 9},
        {"0 : { }\n /* open\n", "the comment that begins here is not closed", 2, 2},
        {"#allocation1 [shape = 'f32[8]', space=vmem, size = -8]\n0 : { }\n",
         "expected an allocation such as", 1, 1},
        {"#a [space=vmem, size = 8]\n#a [space=vmem, size = 8]\n0 : { }\n",
         "allocation a is already declared in line 1", 2, 1},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct listing_bench b;

        bench_open(&b, "v6e");
        assert_int_equal(bench_scan(&b, cases[i].text), -1);
        if (strncmp(b.errors.err[0].msg, cases[i].message, strlen(cases[i].message)) != 0 ||
            b.errors.err[0].line != cases[i].line || b.errors.err[0].col != cases[i].col)
            fail_msg("case %zu: %d:%d: %s", i, b.errors.err[0].line, b.errors.err[0].col,
                     b.errors.err[0].msg);
        bench_close(&b);
    }
}

TEST(all_errors_are_gathered_up_to_the_most)
{
    struct listing_bench b;
    char text[1200] = "0 : { }\n";

    for (int i = 0; i < 40; i++)
        strcat(text, "0x1 { }\n");
    bench_open(&b, "v6e");
    assert_int_equal(bench_scan(&b, text), -1);
    assert_int_equal(b.errors.count, ISA_ERROR_MAX);
    assert_int_equal(b.errors.err[7].line, 9);
    bench_close(&b);
}

TEST(every_cut_of_a_listing_is_read_or_refused)
{
    static const char text[] =
        "#allocation0 [shape = 'u32[8,128]', space=vmem, size = 0x1000]\n"
        "0 : { %s1_s0 = inlined_call_operand.hbm [shape: bf16[8,16]{1,0:T(8,128)(2,1)}, index: 0, "
        "kind: input, shape index: {}] /* operand 0 */ ;; %3 = vsyncpa [#allocation1], 0 }\n"
        "0x1 LB: > { %4 = dma.hbm_to_vmem [thread:$0] %s1_s0, 128, %s2_s1, [#allocation1] /* /*x*/"
        " */ ;; %v1_v0 = vld [vmem:[#allocation0 + $0x8] ss:$2 sm:$0x3] }\n"
        "0x2 : { %v2_v1 = vfoo.f32.xlu1 %v1_v0, [1/2] (short) 3  ;; %5 = sbr.rel (!%p1_p0) target "
        "bundleno = 1 (0x1), region = 2 }\n";

    for (size_t length = 0; length < sizeof(text); length++) {
        struct listing_bench b;
        char *cut = malloc(length + 1);         /* so that a sanitizer sees reads beyond it */

        memcpy(cut, text, length);
        bench_open(&b, "v6e");
        if (listing_scan(cut, length, "x", &b.arena, &b.listing, &b.errors) == 0) {
            assert_int_equal(bench_place(&b), 0);
            bench_assemble(&b);
        } else {
            assert_true(b.errors.count > 0);
        }
        bench_close(&b);
        free(cut);
    }
}

/* ---- operations that are not known ---- */

TEST(operands_that_are_not_understood_are_told)
{
    static const struct { const char *text, *reason; } cases[] = {
        {"%s1_s0 = inlined_call_operand.moon [shape: f32[8]]", "an operand in a memory"},
        {"%s1_s0 = inlined_call_operand.hbm [shape: (f32[8], u32[])]", "an operand without a shape"},
        {"%s1_s0 = inlined_call_operand.hbm [index: 0]", "an operand without a shape"},
        {"%v1_v0 = inlined_call_operand.hbm [shape: f32[8]]", "an operand without a scalar"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[200];
        struct listing_bench b;

        snprintf(text, sizeof(text), "0 : { %s }\n", cases[i].text);
        bench_read(&b, text);
        assert_int_equal(b.listing.unknown_count, 1);
        assert_int_equal(b.listing.program.bundle[0].op_count, 0);
        assert_memory_equal(b.listing.op[0].reason, cases[i].reason, strlen(cases[i].reason));
        bench_close(&b);
    }
}

TEST(unknown_operations_become_stand_ins_of_their_slot)
{
    static const struct { const char *text; int code; } cases[] = {
        {"%s1_s1 = sfoo.s32 %s2_s2, 5", OP_STAND_IN_SCALAR},
        {"%p1_p1 = pfoo %p2_p2", OP_STAND_IN_SCALAR},
        {"setfoo %s1_s1", OP_STAND_IN_SCALAR},
        {"%v1_v1 = vfoo.f32 %v2_v2, %v3_v3", OP_STAND_IN_VALU},
        {"%v1_v1 = vstfoo %v2_v2", OP_STAND_IN_VALU},
        {"%v1_v1 = vadd.f32 %v2_v2", OP_STAND_IN_VALU},          /* an operand too few */
        {"%v1_v1 = vadd.f32 %v2_v2, %v3_v3, %v4_v4", OP_STAND_IN_VALU},
        {"%v1_v1 = vadd.f32 %v2_v99, %v3_v3", OP_STAND_IN_VALU},
        {"%5 = vsigmoid.f32 %v2_v2", OP_STAND_IN_EUP},
        {"%v1_v1 = vld.foo [vmem:%s1_s1]", OP_STAND_IN_LOAD},
        {"%5 = vst.foo [vmem:%s1_s1] %v1_v1", OP_STAND_IN_STORE},
        {"%5 = vfoo.xlu1 %v2_v2", OP_STAND_IN_PUSH},
        {"%5 = vmatfoo.mxu0 %v2_v2", OP_STAND_IN_PUSH},
        {"%v1_v1 = vpop.foo.xlu1 %5", OP_STAND_IN_POP},
        {"%5 = vsyncfoo [#allocation1], 3", OP_STAND_IN_MISC},
        {"%5 = dma.moon_to_vmem %s1_s1, 128, %s2_s2, [#allocation1]", OP_STAND_IN_DMA},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[200];
        struct listing_bench b;

        snprintf(text, sizeof(text), "0 : { %s }\n", cases[i].text);
        bench_read(&b, text);
        assert_int_equal(b.listing.unknown_count, 1);
        if (b.listing.program.op[0].code != cases[i].code || !b.listing.op[0].reason)
            fail_msg("%s becomes %s", cases[i].text,
                     isa_info(b.listing.program.op[0].code)->mnemonic);
        bench_close(&b);
    }
}

TEST(pops_of_an_unknown_push_are_stand_ins_too)
{
    struct listing_bench b;

    bench_read(&b, "0 : { %5 = vfoo.xlu0 %v1_v1 ;; %6 = vrot.lane.b32.xlu0 %v1_v1, %s1_s1 }\n"
                 "0x1 : { %7 = vrcp.f32 %v1_v1 }\n"
                 "0x2 : { %v2_v2 = vpop.permute.xlu0 %5 ;; %v3_v3 = vpop.foo.eup %7 }\n"
                 "0x3 : { %v4_v4 = vpop.permute.xlu0 %6 }\n");
    assert_string_equal(bench_op(&b, "vpop.permute.xlu0")->reason, "belongs to vfoo.xlu0 in line 1");
    assert_non_null(bench_op(&b, "vrcp.f32")->reason);
    assert_null(bench_op(&b, "vrot.lane.b32.xlu0")->reason);
    assert_int_equal(b.listing.unknown_count, 4);
    bench_close(&b);
}

TEST(an_unknown_step_of_a_transpose_takes_the_whole_along)
{
    struct listing_bench b;

    bench_read(&b, "0 : { %5 = vxpose.xlu0.b32.start [1/2] (short) %v1_v1, 128 }\n"
                 "0x1 : { %6 = vxpose.xlu0.b32.foo [2/2] (short) %v1_v1, 128 }\n"
                 "0x2 : { %v2_v2 = vpop.trf.xlu0 }\n"
                 "0x3 : { %7 = vxpose.xlu1.b32.start.end [1/1] (short) %v1_v1, 128 }\n"
                 "0x4 : { %v2_v2 = vpop.trf.xlu1 }\n");
    assert_non_null(bench_op(&b, "vxpose.xlu0.b32.start")->reason);
    assert_non_null(bench_op(&b, "vpop.trf.xlu0")->reason);
    assert_null(bench_op(&b, "vpop.trf.xlu1")->reason);
    bench_close(&b);
}

TEST(waits_for_an_unknown_copy_do_not_hold_the_run_up)
{
    struct listing_bench b;

    bench_read(&b, "0 : { %5 = dma.moon_to_vmem %s1_s1, 128, %s2_s2, [#allocation1] ;; "
                 "%6 = vsyncpa [#allocation1], 0 }\n"
                 "0x1 : { %7 = dma.done.wait [#allocation1], 128 }\n"
                 "0x2 : { %8 = vsyncadd [#allocation1], 4294967168 }\n"
                 "0x3 : { %9 = vsyncadd [#allocation2], 4294967168 }\n");
    assert_non_null(bench_op(&b, "dma.done.wait")->reason);
    assert_non_null(b.listing.op[3].reason);
    assert_null(b.listing.op[4].reason);
    assert_null(bench_op(&b, "vsyncpa")->reason);
    bench_close(&b);
}

/* `count` times `line` in bundles of their own, its "%d" being their number; free() it */
static char *repeat(const char *line, int count)
{
    char *text;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);

    for (int i = 0; i < count; i++) {
        fprintf(to, "0x%x : { ", (unsigned)i);
        for (const char *at = line; *at; at++)
            if (*at == '#')
                fprintf(to, "%d", i);
            else
                fputc(*at, to);
        fprintf(to, " }\n");
    }
    fclose(to);
    return text;
}

/* each with each would take minutes */
TEST(very_many_unknown_copies_and_waits_are_read_at_once)
{
    struct listing_bench b;
    char *text = repeat("%1 = dma.moon_to_vmem %s1_s1, 1, %s2_s2, [@allocation1] ;; "
                        "%2 = dma.done.wait [@allocation1], 1", 40000);
    clock_t began = clock();

    for (char *at = text; *at; at++)
        if (*at == '@')
            *at = '#';
    bench_read(&b, text);
    assert_int_equal(b.listing.unknown_count, 80000);
    assert_string_equal(b.listing.op[79999].reason, "belongs to dma.moon_to_vmem in line 1");
    assert_true(clock() - began < 10 * CLOCKS_PER_SEC);
    bench_close(&b);
    free(text);
}

TEST(operands_beyond_the_most_are_told)
{
    struct listing_bench b;
    char *text = repeat("%s#_s3 = inlined_call_operand.hbm [shape: f32[8,128], index: #, "
                        "kind: input]", LISTING_OPERAND_MAX + 2);

    bench_read(&b, text);
    assert_int_equal(b.listing.operand_count, LISTING_OPERAND_MAX);
    assert_null(b.listing.op[LISTING_OPERAND_MAX - 1].reason);
    assert_string_equal(b.listing.op[LISTING_OPERAND_MAX].reason,
                        "an operand behind the 1024 that a kernel may have");
    bench_close(&b);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bundles_have_their_numbers_lines_and_marks),
        cmocka_unit_test(the_entry_is_named_by_its_comment),
        cmocka_unit_test(comments_nest_as_bounds_checks_print_them),
        cmocka_unit_test(a_comment_that_opens_another_ends_before_the_next_bundle),
        cmocka_unit_test(pointer_casts_and_phis_are_no_operations),
        cmocka_unit_test(branches_go_to_the_bundle_with_that_number),
        cmocka_unit_test(damage_is_told_with_its_place),
        cmocka_unit_test(all_errors_are_gathered_up_to_the_most),
        cmocka_unit_test(every_cut_of_a_listing_is_read_or_refused),
        cmocka_unit_test(operands_that_are_not_understood_are_told),
        cmocka_unit_test(unknown_operations_become_stand_ins_of_their_slot),
        cmocka_unit_test(pops_of_an_unknown_push_are_stand_ins_too),
        cmocka_unit_test(an_unknown_step_of_a_transpose_takes_the_whole_along),
        cmocka_unit_test(waits_for_an_unknown_copy_do_not_hold_the_run_up),
        cmocka_unit_test(very_many_unknown_copies_and_waits_are_read_at_once),
        cmocka_unit_test(operands_beyond_the_most_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
