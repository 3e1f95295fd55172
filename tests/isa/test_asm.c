/* Assembly text: does it mean what it says, do errors name the place and what was expected? */
#include "base/floats.h"
#include "base/rng.h"
#include "base/units.h"
#include "isa/asm.h"
#include "isa/disasm.h"
#include "isa/file.h"
#include "isa/object.h"
#include "tests/generate/isa_samples.h"
#include "tests/rigs/round_trip.h"
#include "tests/test.h"

#include <glob.h>

static glob_t examples;                 /* all assembly texts there */
static struct arena arena;
static struct isa_errors errors;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static struct isa_program assemble(const char *text)
{
    struct isa_program p;

    if (isa_assemble(text, strlen(text), "t.tasm", &arena, &p, &errors))
        fail_msg("%d:%d: %s", errors.err[0].line, errors.err[0].col, errors.err[0].msg);
    assert_int_equal(errors.count, 0);
    return p;
}

static struct isa_operand operand_of(const char *text, int index)
{
    return assemble(text).op[0].operand[index];
}

/* the program as text, in the arena */
static const char *print(const struct isa_program *p)
{
    char *text = NULL, *copy;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    isa_print_program(p, f);
    fclose(f);
    copy = arena_strdup(&arena, text);
    free(text);
    return copy;
}

TEST(bundles_hold_their_operations_and_lines)
{
    struct isa_program p = assemble("\n{ v1 = vld [vmem:8] ;; shalt }\n{}\n"
                                    "{ s0 = smov 1 ;;\n  s1 = smov 2 }");

    assert_int_equal(p.bundle_count, 3);
    assert_int_equal(p.op_count, 4);
    assert_int_equal(p.bundle[0].op_count, 2);
    assert_int_equal(p.bundle[0].line, 2);
    assert_int_equal(p.bundle[1].op_count, 0);
    assert_int_equal(p.bundle[2].first_op, 2);
    assert_int_equal(p.bundle[2].line, 4);
    assert_int_equal(p.op[0].code, OP_VLD);
    assert_string_equal(p.name, "t.tasm");
}

TEST(decorated_registers_mean_the_register_behind_the_underscore)
{
    struct isa_program plain = assemble(
        "{ v9 = vsel vm3, v1, v2 ;; s3 = scalar_select !p4, s1, s2 }");
    struct isa_program listing = assemble(
        "0x12 : { %v77_v9 = vsel /*vm=*/%vm3_vm3, /*on_true_vy=*/%v5_v1, /*on_false_vx=*/%v6_v2 ;;"
        " %s12_s3 = scalar_select !%p4_p4, %s8_s1, %s9_s2 }");

    assert_same_op(&plain.op[0], &listing.op[0]);
    assert_same_op(&plain.op[1], &listing.op[1]);
}

TEST(listing_lines_read_as_the_plain_form)
{
    static const struct { const char *listing, *plain; } pairs[] = {
        { "{ %54 = vst [vmem:[%s1_s1 + $0x78] sm:$0xf] /*vst_source=*/%v2_v2 "
          "/* loc(\"x;; }\") */ }",
          "{ vst [vmem:s1 + 120] sm:15 v2 }" },
        { "0x1 : { %v20_v0 = vld [vmem:[%s228_s2] ss:$0 sm:$0xff] }",
          "{ v0 = vld [vmem:s2] ss:0 }" },
        { "{ %v20_v0 = vld.sshfl [vmem:[%s2] sm:$0x3f pattern:$0x76543211] }",
          "{ v0 = vld.sshfl [vmem:s2] pattern:0x76543211 sm:63 }" },
        { "0x1 LB: >> { %v20_v0 = vld [vmem:[%s228_s2] sm:$0x3 ss:$2] }",
          "{ v0 = vld [vmem:s2] ss:2 sm:3 }" },
        { "{ %v23_v2 = vpop.permute.xlu0 %22 }", "{ v2 = vpop.permute.xlu0 }" },
        { "{ %77 = shalt.err (!%p74_p4) }", "{ shalt.err (!p4) }" },
        { "{ %s9_s1 = smov (%p5_p2), 3 }", "{ s1 = smov (p2) 3 }" },
        { "{ %s9_s1 = smov (!%p5_p2), %s3_s3 }", "{ s1 = smov (!p2) s3 }" },
        { "{ %31 = sbr.rel (!%p14_p0) target bundleno = 31 (0x1f), region = 20 }",
          "{ sbr.rel (!p0) target = 31 }" },
        { "{ sbr.rel target bundleno = 31 }", "{ sbr.rel target = 31 }" },
        { "0x1f PF: > { sbr.rel target bundleno = 31 (0x1f) }", "{ sbr.rel target = 31 }" },
        { "0x20   : >>> { %v1_v1 = vmul.f32 -0.00020021426, %v2_v2 }",
          "{ v1 = vmul.f32 0xb951f09b, v2 }" },
        { "{ %v1_v1 = vmul.f32 inf, %v2_v2 }", "{ v1 = vmul.f32 0x7f800000, v2 }" },
        { "{ %vm1_vm1 = vcmp.eq.f32.partialorder %v2_v2, inf }",
          "{ vm1 = vcmp.eq.f32.partialorder v2, 0x7f800000 }" },
        { "{ %v1_v1 = vand.u32 4294967168, %v2_v2 }", "{ v1 = vand.u32 0xffffff80, v2 }" },
        { "{ %s1_s1 = ssub.s32 $0x78, %s2_s2 }", "{ s1 = ssub.s32 120, s2 }" },
        { "{ %p1_p1 = scmp.lt.s32.totalorder 0, %s2_s2 }",
          "{ p1 = scmp.lt.s32.totalorder 0, s2 }" },
        { "{ %v5_v1 = vsel /*vm=*/%vm3_vm3, /*on_true_vy=*/0.0, /*on_false_vx=*/%v6_v2 }",
          "{ v1 = vsel vm3, 0, v2 }" },
        { "{ %9 = vxpose.xlu0.b32.start [1/16] (short) /*vx=*/%v1_v1, /*width=*/128 }",
          "{ vxpose.b32.start.xlu0 v1, 128 }" },
        { "{ %13 = dma.hbm_to_vmem [thread:$0]  /*hbm=*/%s1_s1, /*size_in_granules=*/512, "
          "/*vmem=*/%s11_s11, /*dst_syncflagno=*/[sflag:1] /* \nbase_bounds: (4, 1)\n */ }",
          "{ dma.hbm_to_vmem s1, 512, s11, [sflag:1] }" },
        { "{ %s1_s1 = sld [smem:[%s2_s2 + $0x4]] }", "{ s1 = sld [smem:s2 + 4] }" },
        { ".equ allocation4, 7\n{ %99 = vsyncadd [#allocation4], 4294966784 }",
          "{ vsyncadd [sflag:7], -512 }" },
        { ".equ allocation2, 64\n{ %v1_v1 = vld [vmem:[#allocation2 + $0x8] sm:$0xff] ;; "
          "%s1_s1 = smov [#allocation2] }", "{ v1 = vld [vmem:72] }" },
        { "= control target key start\nLH: loop header\n= control target key end\n\n"
          "   0   :  { %v3_v0 = vstv %s129_s1 }", "{ v0 = vstv s1 }" },
    };

    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        struct isa_program listing = assemble(pairs[i].listing), plain = assemble(pairs[i].plain);

        assert_same_op(&plain.op[0], &listing.op[0]);
    }
}

TEST(immediates_read_in_every_notation)
{
    static const struct { const char *text; uint32_t bits; } cases[] = {
        { "12", 12 }, { "-12", (uint32_t)-12 }, { "0x1F", 31 }, { "$0x10", 16 }, { "$8", 8 },
        { "4294967168", 4294967168u }, { "-2147483648", 0x80000000u },
        { "0xffffffff", 0xffffffffu },
        { "0.5", 0x3f000000u }, { "-0.99999994", 0xbf7fffffu }, { "1e-7", 0x33d6bf95u },
        { "-0.0", 0x80000000u }, { "2f", 0x40000000u }, { "1E+3", 0x447a0000u },
        { "inf", 0x7f800000u }, { "-inf", 0xff800000u }, { "nan", F32_NAN_BITS },
        { "1e-45", 1 }, { ".25", 0x3e800000u }, { "8 + 4", 12 }, { "8 - 0x10", (uint32_t)-8 },
        { "NAME", 100 }, { "NAME + 1", 101 }, { "HALF", 0x3f000000u },
    };
    char text[120];

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct isa_operand o;

        snprintf(text, sizeof(text), ".equ NAME, 100\n.equ HALF, 0.5\n{ v1 = vmov %s }",
                 cases[i].text);
        o = operand_of(text, 1);
        assert_int_equal(o.kind, OPERAND_IMM);
        if ((uint32_t)o.value != cases[i].bits)
            fail_msg("%s reads as 0x%08x", cases[i].text, (unsigned)o.value);
    }
}

TEST(addresses_have_base_offset_or_both)
{
    struct isa_program p = assemble(".equ ROW, 64\n{ v0 = vld [vmem:s3] } { v0 = vld [vmem:0x18] }"
                                    "{ v0 = vld [vmem:s3 + ROW - 8] }"
                                    "{ v0 = vld [vmem:ROW + s4] }");

    assert_int_equal(p.op[0].operand[1].kind, OPERAND_REG);
    assert_int_equal(p.op[0].operand[2].value, 0);
    assert_int_equal(p.op[1].operand[1].kind, OPERAND_NONE);
    assert_int_equal(p.op[1].operand[2].value, 24);
    assert_int_equal(p.op[2].operand[1].value, 3);
    assert_int_equal(p.op[2].operand[2].value, 56);
    assert_int_equal(p.op[3].operand[1].value, 4);
    assert_int_equal(p.op[3].operand[2].value, 64);
}

TEST(labels_resolve_forwards_and_backwards)
{
    struct isa_program p = assemble("{ sbr.rel target = end }\nloop: { }\n"
                                    "{ sbr.rel (!p2) target = loop }\n"
                                    "{ sbr.rel target = 2 }\nend:\n  last: { shalt }");

    assert_int_equal(p.op[0].operand[0].value, 4);
    assert_int_equal(p.op[1].operand[0].value, 1);
    assert_int_equal(p.op[1].pred, 2);
    assert_int_equal(p.op[1].pred_is_negated, 1);
    assert_int_equal(p.op[2].operand[0].value, 2);
    assert_int_equal(p.symbol_count, 3);
    assert_string_equal(p.symbol[2].name, "last");
    assert_int_equal(p.symbol[2].bundle, 4);
}

TEST(notes_name_what_follows)
{
    struct isa_program p = assemble("{ }\n.note dot.3 // all of it\n{ }\n{ }\n.note add\n{ }\n"
                                    ".note dot.3 // all of it\n{ }\n.note\n{ }");

    assert_int_equal(p.note_count, 2);
    assert_string_equal(p.note[0], "dot.3 // all of it");
    assert_int_equal(p.bundle[0].note, 0);
    assert_int_equal(p.bundle[2].note, 1);
    assert_int_equal(p.bundle[3].note, 2);
    assert_int_equal(p.bundle[4].note, 1);
    assert_int_equal(p.bundle[5].note, 0);
}

TEST(several_errors_are_gathered_and_sorted_by_place)
{
    static const char text[] =
        "{ v1 = vad.f32 v2, v3 ;; s1 = smov 1 ;; s99 = smov 2 }\n"
        "{ sbr.rel target = nowhere }\n"
        "{ v1 = vadd.f32 v2,\n"
        "{ s2 = smov 3 }\n"
        "{ s3 = sadd.s32 s3 }\n";
    static const int places[][2] = { { 1, 8 }, { 1, 41 }, { 2, 20 }, { 3, 20 }, { 5, 20 } };
    struct isa_program p;

    assert_int_equal(isa_assemble(text, strlen(text), "t", &arena, &p, &errors), -1);
    for (int i = 0; i < errors.count; i++) {
        assert_int_equal(errors.err[i].line, places[i][0]);
        assert_int_equal(errors.err[i].col, places[i][1]);
    }
    assert_int_equal(errors.count, COUNT_OF(places));
}

TEST(errors_stop_at_twenty)
{
    char text[2000] = "";
    struct isa_program p;

    for (int i = 0; i < 30; i++)
        strcat(text, "{ nothing }\n");
    assert_int_equal(isa_assemble(text, strlen(text), "t", &arena, &p, &errors), -1);
    assert_int_equal(errors.count, ISA_ERROR_MAX);
    assert_int_equal(errors.err[19].line, 20);
}

TEST(seventeen_operations_are_too_many_for_a_bundle)
{
    char text[500] = "{ shalt";
    struct isa_program p;

    for (int i = 1; i < ISA_BUNDLE_OP_MAX; i++)
        strcat(text, " ;; shalt");
    strcat(text, " }");
    assert_int_equal(assemble(text).bundle[0].op_count, ISA_BUNDLE_OP_MAX);
    strcpy(text + strlen(text) - 2, " ;; shalt }");
    assert_int_equal(isa_assemble(text, strlen(text), "t", &arena, &p, &errors), -1);
    assert_string_equal(errors.err[0].msg, "more than 16 operations in a bundle");
    assert_int_equal(errors.err[0].col, 3 + 16 * 9);
}

TEST(printed_errors_show_the_line_and_a_caret)
{
    static const char text[] = "{ }\n\t{ v1 = vad.f32 v2, v3 }\n";
    struct isa_program p;
    char *shown = NULL;
    size_t size;
    FILE *f = open_memstream(&shown, &size);

    isa_assemble(text, strlen(text), "a.tasm", &arena, &p, &errors);
    isa_errors_print(&errors, text, strlen(text), f);
    fclose(f);
    assert_string_equal(shown,
                        "a.tasm:2:9: error: unknown operation \"vad.f32\" (did you mean "
                        "\"vadd.f32\"?)\n"
                        "    \t{ v1 = vad.f32 v2, v3 }\n"
                        "    \t       ^\n");
    free(shown);
}

TEST(printed_errors_show_no_control_bytes_and_a_part_of_long_lines)
{
    char text[1000], *shown = NULL, *line;
    struct isa_program p;
    size_t size;
    FILE *f = open_memstream(&shown, &size);

    memset(text, ' ', sizeof(text));
    memcpy(text + 700, "\x1b[31m", 5);
    isa_assemble(text, sizeof(text), "a.tasm", &arena, &p, &errors);
    assert_int_equal(errors.err[0].col, 701);
    isa_errors_print(&errors, text, sizeof(text), f);
    fclose(f);
    assert_null(strchr(shown, '\x1b'));
    line = strstr(shown, "?[31m");
    assert_non_null(line);
    assert_true(size < 3 * 200);
    line = strrchr(shown, '?');
    assert_int_equal(strchr(line, '^') - strchr(line, '\n') - 1,
                     strcspn(strchr(shown, '\n') + 1, "?"));
    free(shown);
}

static const char *example_text(size_t i, size_t *size)
{
    uint8_t *bytes;
    struct err e;

    if (isa_file_read(examples.gl_pathv[i], &arena, &bytes, size, &e))
        fail_msg("%s: %s", e.file, e.msg);
    return (const char *)bytes;
}

TEST(disassembly_of_the_examples_is_a_fixed_point)
{
    for (size_t i = 0; i < examples.gl_pathc; i++) {
        size_t size;
        struct isa_program p = assemble(example_text(i, &size)), again;
        const char *text = print(&p);

        again = assemble(text);
        assert_int_equal(again.op_count, p.op_count);
        assert_int_equal(again.bundle_count, p.bundle_count);
        assert_int_equal(again.symbol_count, p.symbol_count);
        for (uint32_t op = 0; op < p.op_count; op++)
            assert_same_op(&p.op[op], &again.op[op]);
        for (uint32_t b = 0; b < p.bundle_count; b++) {
            assert_int_equal(p.bundle[b].first_op, again.bundle[b].first_op);
            assert_int_equal(p.bundle[b].op_count, again.bundle[b].op_count);
            assert_int_equal(p.bundle[b].note, again.bundle[b].note);
        }
        assert_string_equal(print(&again), text);
    }
}

TEST(examples_come_back_whole_from_their_object_files)
{
    for (size_t i = 0; i < examples.gl_pathc; i++) {
        size_t size, object_size;
        struct isa_program p = assemble(example_text(i, &size)), again;
        uint8_t *object = isa_object_bytes(&p, &object_size);
        const char *difference;
        struct err e;

        assert_int_equal(isa_object_parse(object, object_size, "o", &arena, &again, &e), 0);
        difference = program_difference(&p, &again, SAME_ALL);
        if (difference)
            fail_msg("%s: %s differs", examples.gl_pathv[i], difference);
        mem_free(object);
    }
}

TEST(disassembler_makes_up_labels_where_there_are_none)
{
    struct isa_program p = assemble("{ }\nhere:\n{ }\n{ sbr.rel target = 0 }\n"
                                    "{ sbr.rel (p3) target = here }");

    p.symbol[0].name = "s3";            /* would read as a register */
    assert_string_equal(print(&p), "L0:\n   0x0 : { }\nL1:\n   0x1 : { }\n"
                                   "   0x2 : { sbr.rel target = L0 }\n"
                                   "   0x3 : { sbr.rel (p3) target = L1 }\n");
}

/* The assembler cuts them off: what it made of them must print as they did. */
TEST(notes_print_without_the_blanks_at_their_ends)
{
    struct isa_program p = assemble(".note dot.3\n{ }\n.note add\n{ }");
    const char *text;

    p.note[0] = "  a\nb ";
    p.note[1] = " ";
    text = print(&p);
    assert_string_equal(text, ".note a b\n   0x0 : { }\n.note \n   0x1 : { }\n");
    p = assemble(text);
    assert_string_equal(print(&p), text);
}

TEST(immediates_print_in_the_style_of_their_operation)
{
    struct isa_program p = assemble(
        "{ v1 = vmul.f32 v2, 0.1 ;; v3 = vadd.s32 v2, -7 ;; v4 = vmov 1.5 }"
        "{ v5 = vmul.f32 v2, inf ;; v6 = vmov 3 ;; s1 = smov 0x12345678 }");

    assert_string_equal(print(&p),
                        "   0x0 : { v1 = vmul.f32 v2, 0.1 ;; v3 = vadd.s32 v2, -7 ;; "
                        "v4 = vmov 1.5 }\n"
                        "   0x1 : { v5 = vmul.f32 v2, 0x7f800000 ;; v6 = vmov 3 ;; "
                        "s1 = smov 0x12345678 }\n");
}

/* a few bytes replaced, removed or doubled */
static size_t mutate(char *text, size_t size, struct rng *r)
{
    static const char bytes[] = "{};:[]()!=,.#%$/*v9s0p\n\"-+e_\\\xff";
    uint32_t count = 1 + rng_below(r, 4);

    for (uint32_t i = 0; i < count && size > 1; i++) {
        size_t at = rng_below(r, (uint32_t)size);

        switch (rng_below(r, 3)) {
        case 0:
            text[at] = bytes[rng_below(r, sizeof(bytes))];
            break;
        case 1:
            memmove(text + at, text + at + 1, --size - at);
            break;
        default:
            size = at + rng_below(r, (uint32_t)(size - at)) + 1;
            break;
        }
    }
    return size;
}

TEST(mutated_examples_never_crash_the_assembler)
{
    int error_count = 0, ok_count = 0;
    struct rng r;

    rng_init(&r, 1);
    for (int round = 0; round < 3000; round++) {
        struct isa_program p;
        size_t size;
        const char *text = example_text((size_t)round % examples.gl_pathc, &size);
        /* its own block without a NUL behind it, so that a read too far is seen */
        char *copy = mem_alloc(size);

        memcpy(copy, text, size);
        size = mutate(copy, size, &r);
        if (isa_assemble(copy, size, "m", &arena, &p, &errors)) {
            assert_in_range(errors.count, 1, ISA_ERROR_MAX);
            error_count++;
        } else {
            struct isa_program again = assemble(print(&p));

            assert_int_equal(again.op_count, p.op_count);
            ok_count++;
        }
        mem_free(copy);
        arena_fini(&arena);
    }
    assert_true(error_count > 100 && ok_count > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bundles_hold_their_operations_and_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(decorated_registers_mean_the_register_behind_the_underscore,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(listing_lines_read_as_the_plain_form, set_up, tear_down),
        cmocka_unit_test_setup_teardown(immediates_read_in_every_notation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(addresses_have_base_offset_or_both, set_up, tear_down),
        cmocka_unit_test_setup_teardown(labels_resolve_forwards_and_backwards, set_up, tear_down),
        cmocka_unit_test_setup_teardown(notes_name_what_follows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(several_errors_are_gathered_and_sorted_by_place, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(errors_stop_at_twenty, set_up, tear_down),
        cmocka_unit_test_setup_teardown(seventeen_operations_are_too_many_for_a_bundle, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            printed_errors_show_no_control_bytes_and_a_part_of_long_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(printed_errors_show_the_line_and_a_caret, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(disassembly_of_the_examples_is_a_fixed_point, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(examples_come_back_whole_from_their_object_files, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(disassembler_makes_up_labels_where_there_are_none, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(notes_print_without_the_blanks_at_their_ends, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(immediates_print_in_the_style_of_their_operation, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(mutated_examples_never_crash_the_assembler, set_up,
                                        tear_down),
    };

    return glob("examples/*.tasm", 0, NULL, &examples) || cmocka_run_group_tests(tests, NULL, NULL);
}
