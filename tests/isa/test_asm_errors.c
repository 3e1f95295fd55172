/* Mistakes in assembly text: does each message name the place, the thing, and what is allowed? */
#include "base/units.h"
#include "isa/asm.h"
#include "tests/test.h"

#include <ctype.h>

/* text, and all messages that it gives, each at "file:line:column" */
static const struct { const char *text, *errors; } cases[] = {
    { "{ v1 = vad.f32 v2, v3 }",
      "t.tasm:1:8: error: unknown operation \"vad.f32\" (did you mean \"vadd.f32\"?)" },
    { "{ frobnicate v1 }", "t.tasm:1:3: error: unknown operation \"frobnicate\"" },
    { "{ }\n{ v1 = vadd.f32 s2, v3 }",
      "t.tasm:2:17: error: expected a vector register or immediate, found \"s2\"" },
    { "{ vpow2.f32 s2 }", "t.tasm:1:13: error: expected a vector register, found \"s2\"" },
    { "{ v1 = vadd.f32 v2 v3 }", "t.tasm:1:20: error: expected \",\", found \"v3\"" },
    { "{ v1 = vadd.f32 v2, s3 }",
      "t.tasm:1:21: error: expected a vector register or immediate, found \"s3\"" },
    { "{ v1 = vadd.f32 v64, v3 }", "t.tasm:1:17: error: no vector register v64 (v0..v63)" },
    { "{ s32 = smov 1 }", "t.tasm:1:3: error: no scalar register s32 (s0..s31)" },
    { "{ vm16 = vmand vm0, vm1 }", "t.tasm:1:3: error: no mask register vm16 (vm0..vm15)" },
    { "{ shalt (p14) }", "t.tasm:1:10: error: no predicate register p14 (p0..p13)" },
    { "{ shalt (v1) }", "t.tasm:1:10: error: expected a predicate register, found \"v1\"" },
    { "{ shalt (p1 }", "t.tasm:1:13: error: expected \")\", found \"}\"" },
    { "{ vadd.f32 v1, v2 }",
      "t.tasm:1:3: error: vadd.f32 needs a vector register for its result: \"v0 = vadd.f32 ..."
      "\"" },
    { "{ v1 = vst [vmem:0] v1 }", "t.tasm:1:3: error: vst has no result to put into v1" },
    { "{ v1 = vpop.f32.mrf }",
      "t.tasm:1:8: error: vpop.f32.mrf needs its unit, \".mxu0\" to \".mxu7\"" },
    { "{ v1 = vpop.f32.mrf.xlu0 }",
      "t.tasm:1:8: error: vpop.f32.mrf runs on a unit \".mxu0\" to \".mxu7\", found \".xlu0\"" },
    { "{ v1 = vpop.f32.mrf.mxu8 }", "t.tasm:1:8: error: no unit mxu8 (mxu0..mxu7)" },
    { "{ v1 = vadd.f32.mxu1 v1, v2 }",
      "t.tasm:1:8: error: vadd.f32 takes no unit, found \".mxu1\"" },
    { "{ v1 = vmov 5000000000 }",
      "t.tasm:1:13: error: number does not fit 32 bits (-2147483648..4294967295, or an f32)" },
    { "{ v1 = vmov 1e40 }",
      "t.tasm:1:13: error: number does not fit 32 bits (-2147483648..4294967295, or an f32)" },
    { "{ v1 = vmov 12ab }",
      "t.tasm:1:13: error: \"12ab\" is no number (12, 0x1f, 0.5, 1e-3, inf, nan)" },
    { "{ v1 = vmov 0xg }",
      "t.tasm:1:13: error: \"0xg\" is no number (12, 0x1f, 0.5, 1e-3, inf, nan)" },
    { "{ s1 = smov 1 + 0.5 }", "t.tasm:1:17: error: a float cannot be part of an integer sum" },
    { "{ s1 = smov 0xffffffff + 1 }",
      "t.tasm:1:26: error: sum does not fit 32 bits (-2147483648..4294967295)" },
    { ".equ WIDTH, 8\n{ s1 = smov WIDHT }",
      "t.tasm:2:13: error: unknown name \"WIDHT\" (did you mean \"WIDTH\"?)" },
    { ".equ A, 1\n.equ A, 2\n{ }", "t.tasm:2:6: error: A is already defined in line 1" },
    { ".equ v3, 1\n{ }", "t.tasm:1:6: error: v3 cannot be a name, it is a register" },
    { ".equ 3, 1\n{ }", "t.tasm:1:6: error: expected a name, found \"3\"" },
    { ".equ A 1\n{ }", "t.tasm:1:8: error: expected \",\", found \"1\"" },
    { ".org 5\n{ }", "t.tasm:1:1: error: unknown directive \".org\" (.equ, .note)" },
    { "{ sbr.rel target = lop }\nloop: { }",
      "t.tasm:1:20: error: undefined label \"lop\" (did you mean \"loop\"?)" },
    { "a: { }\nb: { }\na: { }", "t.tasm:3:1: error: label \"a\" is already defined in line 1" },
    { "{ }\n  end:\n", "t.tasm:2:3: error: no bundle follows the label \"end\"" },
    { "s3: { }", "t.tasm:1:1: error: s3 is a register, not a label" },
    { "{ sbr.rel goto = 3 }", "t.tasm:1:11: error: expected \"target\", found \"goto\"" },
    { "{ sbr.rel target bundleno 3 }", "t.tasm:1:27: error: expected \"=\", found \"3\"" },
    { "{ sbr.rel target bundleno = 3 (0x3 }", "t.tasm:1:36: error: expected \")\", found \"}\"" },
    { "{ sbr.rel target bundleno = 3 (0x3), 20 }",
      "t.tasm:1:38: error: expected \"region\", found \"20\"" },
    { "{ sbr.rel target bundleno = 3 (0x3), region 20 }",
      "t.tasm:1:45: error: expected \"=\", found \"20\"" },
    { "{ shalt (p1), }", "t.tasm:1:13: error: shalt takes 0 operands" },
    { "{ sbr.rel target = }",
      "t.tasm:1:20: error: expected a label or bundle number, found \"}\"" },
    { "{ v1 = vld [hbm:0] }", "t.tasm:1:13: error: expected \"vmem\", found \"hbm\"" },
    { "{ v1 = vld [vmem:0 }", "t.tasm:1:20: error: expected \"]\", found \"}\"" },
    { "{ v1 = vld [vmem:0] pattern:$0x0 }",
      "t.tasm:1:21: error: expected \";;\" or \"}\", found \"pattern\"" },
    { "{ vm1 = vmmov v2 }",
      "t.tasm:1:15: error: expected a mask register or immediate, found \"v2\"" },
    { "{ v1 = vld [vmem:[s1 + 8 sm:1] }", "t.tasm:1:26: error: expected \"]\", found \"sm\"" },
    { "{ v1 = vld [vmem:s1 + s2 + s3] }",
      "t.tasm:1:28: error: expected an immediate, found \"s3\"" },
    { "{ v1 = vld [vmem:s1 + s2 + 8] }",
      "t.tasm:1:28: error: an address has two registers, or one and an offset" },
    { "{ v1 = vld [vmem:s1 - s2] }", "t.tasm:1:23: error: expected an immediate, found \"s2\"" },
    { "{ v1 = vld [vmem:0] sm 1 }", "t.tasm:1:24: error: expected \":\", found \"1\"" },
    { "{ dma.hbm_to_vmem 0, 8, 0, [sflag:0], 4 }",
      "t.tasm:1:41: error: expected \",\", found \"}\"" },
    { "{ dma.hbm_to_vmem 0, 8, 0, [sflag:0], }",
      "t.tasm:1:39: error: expected an immediate, found \"}\"" },
    { "{ p1 = pmov s2 }",
      "t.tasm:1:13: error: expected a predicate register or immediate, found \"s2\"" },
    { "{ vsyncadd 3, 1 }",
      "t.tasm:1:12: error: expected a sync flag \"[sflag:...]\", found \"3\"" },
    { "{ vsyncadd [vmem:3], 1 }", "t.tasm:1:13: error: expected \"sflag\", found \"vmem\"" },
    { "{ s1 = smov 1 s2 = smov 2 }", "t.tasm:1:15: error: expected \";;\" or \"}\", found \"s2\"" },
    { "{ s1 = smov 1 ; s2 = smov 2 }",
      "t.tasm:1:15: error: expected \";;\" or \"}\", found \";\"" },
    { "{ s1 = smov 1 ;; }", "t.tasm:1:18: error: expected an operation, found \"}\"" },
    { "{ s1 = smov\n  2 ;; v1 = vmov }", "t.tasm:2:18: error: expected an immediate, found \"}\"" },
    { "{ s1 = sadd.s32 s1,\n}\n{ v1 = vadd.f32 v2,",
      "t.tasm:1:20: error: expected an immediate, found the end of the line\nt.tasm:3:20: "
      "error: expected an immediate, found the end of the text" },
    { "{ }\n{ s1 = smov 1", "t.tasm:2:1: error: the bundle opened here is not closed" },
    { "{ }\nshalt\n",
      "t.tasm:2:1: error: expected a bundle \"{\", label or directive, found \"shalt\"" },
    { "12 : shalt", "t.tasm:1:6: error: expected \"{\", found \"shalt\"" },
    { "{ } \x01",
      "t.tasm:1:5: error: expected a bundle \"{\", label or directive, found the byte 0x01" },
    { "{ }\n/* open", "t.tasm:2:1: error: the comment that begins here is not closed" },
    { "// nothing\n", "t.tasm:1:1: error: no bundles in the text" },
    { "{ v1 = vadd.f32 v1, v2, v3 }", "t.tasm:1:23: error: vadd.f32 takes only 2 operands" },
    { "{ shalt 3 }", "t.tasm:1:9: error: expected \";;\" or \"}\", found \"3\"" },
    { "{ sst [smem:0], s1, s2 }", "t.tasm:1:19: error: sst takes only 2 operands" },
    { "{ v1 = vmov v2, v3 }", "t.tasm:1:15: error: vmov takes only 1 operand" },
    { "{ v1 = vld [vmem:0] sm:1 ss:2 sm:3 }", "t.tasm:1:31: error: \"sm:\" is given twice" },
    { "{ v1 = vld [vmem:0] ss:2 ss:2 }", "t.tasm:1:26: error: \"ss:\" is given twice" },
    { "{ v1 = vadd.f32 v1 }", "t.tasm:1:20: error: expected \",\", found \"}\"" },
    { "{ v1 = }", "t.tasm:1:8: error: expected an operation, found \"}\"" },
    { "{ = smov 1 }", "t.tasm:1:3: error: expected an operation, found \"=\"" },
    { "{ %x = smov 1 }", "t.tasm:1:3: error: expected a scalar register, found \"%x\"" },
    { "{ %54 = smov 1 }", "t.tasm:1:3: error: expected a scalar register, found \"%54\"" },
    { "{ s1 = smov s40 }", "t.tasm:1:13: error: no scalar register s40 (s0..s31)" },
    { "{ s1 = smov v1 }",
      "t.tasm:1:13: error: expected a scalar register or immediate, found \"v1\"" },
    { "{ p14 = pmov p1 }", "t.tasm:1:3: error: no predicate register p14 (p0..p13)" },
    { "{ p1 = por p1, !s2 }", "t.tasm:1:17: error: expected a predicate register, found \"s2\"" },
    { "{ v1 = vsel v2, v3, v4 }", "t.tasm:1:13: error: expected a mask register, found \"v2\"" },
    { "{ vm1 = vmand vm1, vm16 }", "t.tasm:1:20: error: no mask register vm16 (vm0..vm15)" },
    { "{ s1 = smov [#nothing] }", "t.tasm:1:15: error: unknown name \"nothing\"" },
    { "{ s1 = smov [x] }", "t.tasm:1:14: error: expected \"#\" and a name, found \"x\"" },
    { "{ s1 = smov [#3] }", "t.tasm:1:15: error: unknown name \"3\"" },
    { "{ s1 = smov #x }", "t.tasm:1:12: error: expected an immediate, found the end of the text" },
    { ".equ A, 1\n{ s1 = smov [#A }", "t.tasm:2:17: error: expected \"]\", found \"}\"" },
    { "{ vsyncadd [#f], 1 }", "t.tasm:1:14: error: unknown name \"f\"" },
    { "{ vsyncadd [sflag 3], 1 }", "t.tasm:1:19: error: expected \":\", found \"3\"" },
    { "{ vsyncadd [sflag:v1], 1 }",
      "t.tasm:1:19: error: expected a scalar register or immediate, found \"v1\"" },
    { "{ vsyncadd [sflag:3, 1 }", "t.tasm:1:20: error: expected \"]\", found \",\"" },
    { "{ v1 = vmov 1 - 3000000000 }",
      "t.tasm:1:17: error: sum does not fit 32 bits (-2147483648..4294967295)" },
    { "{ v1 = vmov -3000000000 }",
      "t.tasm:1:13: error: number does not fit 32 bits (-2147483648..4294967295, or an f32)" },
    { "{ v1 = vmov 0x1ffffffff }",
      "t.tasm:1:13: error: number does not fit 32 bits (-2147483648..4294967295, or an f32)" },
    { "{ s1 = sld [smem:1.5] }", "t.tasm:1:18: error: a float cannot be part of an integer sum" },
    { "{ s1 = sld [smem:s1 - s2] }", "t.tasm:1:23: error: expected an immediate, found \"s2\"" },
    { "{ s1 = sld [vmem:s1] }", "t.tasm:1:13: error: expected \"smem\", found \"vmem\"" },
    { "{ vxpose.b32.start.xlu0 v1, v2 }",
      "t.tasm:1:29: error: expected an immediate, found \"v2\"" },
    { "{ vxpose.xlu0.b32.start [1/16 (short) v1, 128 }",
      "t.tasm:1:25: error: expected a vector register, found \"[\"" },
    { "{ shalt (!!p1) }", "t.tasm:1:11: error: expected a predicate register, found \"!\"" },
    { "{ shalt () }", "t.tasm:1:10: error: expected a predicate register, found \")\"" },
    { "{ shalt (p1) (p2) }", "t.tasm:1:14: error: expected \";;\" or \"}\", found \"(\"" },
    { ".equ\n{ }", "t.tasm:1:5: error: expected a name, found the end of the line" },
    { ".equ inf, 3\n{ }", "t.tasm:1:6: error: inf cannot be a name, it is a number" },
    { ".equ x\n{ }", "t.tasm:1:7: error: expected \",\", found the end of the line" },
    { ".equ x, v1\n{ }", "t.tasm:1:9: error: expected an immediate, found \"v1\"" },
    { ".note", "t.tasm:1:1: error: no bundles in the text" },
    { ".notes x\n{ }", "t.tasm:1:1: error: unknown directive \".notes\" (.equ, .note)" },
    { "a:\n", "t.tasm:1:1: error: no bundle follows the label \"a\"" },
    { "5a: { }", "t.tasm:1:1: error: expected a label, found \"5a\"" },
    { "%v1: { }", "t.tasm:1:1: error: expected a label, found \"%v1\"" },
    { "v1: { }", "t.tasm:1:1: error: v1 is a register, not a label" },
    { "} { }", "t.tasm:1:1: error: expected a bundle \"{\", label or directive, found \"}\"" },
    { "{ } }", "t.tasm:1:5: error: expected a bundle \"{\", label or directive, found \"}\"" },
    { "{ { }", "t.tasm:1:3: error: expected an operation, found \"{\"" },
    { "{ s1 = smov 1 }; { }",
      "t.tasm:1:16: error: expected a bundle \"{\", label or directive, found \";\"" },
    { "0x5 : 3", "t.tasm:1:7: error: expected \"{\", found \"3\"" },
    { "0x5 LB: >> s1", "t.tasm:1:12: error: expected \"{\", found \"s1\"" },
    { "{ s1 = smov \xc3" "\xa9" " }",
      "t.tasm:1:13: error: expected an immediate, found the byte 0xc3" },
    { "{ s1 = smov 1 ;;;; }",
      "t.tasm:1:17: error: expected an operation, found \";\"\nt.tasm:1:20: error: expected an "
      "operation, found \"}\"" },
    { "{ ;; s1 = smov 1 }", "t.tasm:1:3: error: expected an operation, found \";\"" },
    { "{ sbr.rel targt = 3 }", "t.tasm:1:11: error: expected \"target\", found \"targt\"" },
    { "{ sbr.rel target = %x }",
      "t.tasm:1:20: error: expected a label or bundle number, found \"%x\"" },
    { "{ sbr.rel target = s1 }",
      "t.tasm:1:20: error: expected a label or bundle number, found \"s1\"" },
    { "{ sbr.rel target = 99999999999 }",
      "t.tasm:1:20: error: number does not fit 32 bits (-2147483648..4294967295, or an f32)" },
    { "{ sbr.rel target = nowhere }", "t.tasm:1:20: error: undefined label \"nowhere\"" },
    { "{ v1 = vpop.f32.mrf.mxu99999 }", "t.tasm:1:8: error: no unit mxu99999 (mxu0..mxu7)" },
    { "{ vmatmul.f32.gmra.xlu0 v1 }",
      "t.tasm:1:3: error: vmatmul.f32.gmra runs on a unit \".mxu0\" to \".mxu7\", found \".xlu0"
      "\"" },
    { "{ v1 = vrot.slane v1, v2 }",
      "t.tasm:1:23: error: expected a scalar register or immediate, found \"v2\"" },
    { "{ v1 = vst [vmem:0] v2 }", "t.tasm:1:3: error: vst has no result to put into v1" },
    { "{ s1 = smov \"text\" }", "t.tasm:1:13: error: expected an immediate, found \"\"\"" },
    { "{ s1 = smov 1e }",
      "t.tasm:1:13: error: \"1e\" is no number (12, 0x1f, 0.5, 1e-3, inf, nan)" },
    { "{ s1 = smov 0x }",
      "t.tasm:1:13: error: \"0x\" is no number (12, 0x1f, 0.5, 1e-3, inf, nan)" },
    { "{ s1 = smov 1.2.3 }",
      "t.tasm:1:13: error: \"1.2.3\" is no number (12, 0x1f, 0.5, 1e-3, inf, nan)" },
    { "{ s1 = smov -x }", "t.tasm:1:13: error: expected an immediate, found \"-\"" },
    { "a: { sbr.rel target = a, 3 }", "t.tasm:1:24: error: sbr.rel takes only 1 operand" },
    { "{ v1 = vpop.f32.mrb[1024].mxu0 }",
      "t.tasm:1:8: error: no accumulator mrb[1024] (mrb[0]..mrb[1023])" },
    { "{ v1 = vpop.f32.mrb[].mxu0 }",
      "t.tasm:1:8: error: vpop.f32.mrb[] needs the number of its accumulator, \"[0]\" to "
      "\"[1023]\"" },
    { "{ v1 = vpop.f32.mrb.mxu0 }",
      "t.tasm:1:8: error: unknown operation \"vpop.f32.mrb.mxu0\" (did you mean "
      "\"vpop.f32.mrb[0]\"?)" },
    { "{ v1 = vpop.f32.mrb[5] }",
      "t.tasm:1:8: error: vpop.f32.mrb[5] needs its unit, \".mxu0\" to \".mxu7\"" },
    { "{ v1 = vpop.f32.mrb[12345678901].mxu0 }",
      "t.tasm:1:8: error: unknown operation \"vpop.f32.mrb[12345678901].mxu0\" (did you mean "
      "\"vpop.f32.mrb[0]\"?)" },
    { "{ dma.hbm_to_vmem s1, 3, s2, [sflag:1], 4, 5, 6, 7 }",
      "t.tasm:1:48: error: dma.hbm_to_vmem takes only 7 operands" },
    { "{ dma.hbm_to_vmem s1, 3, s2, [sflag:1], 4 }",
      "t.tasm:1:43: error: expected \",\", found \"}\"" },
};

static struct arena arena;

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

/* what isa_errors_print prints without the source lines, in the arena */
static const char *errors_of(const char *text)
{
    struct isa_errors errors;
    struct isa_program p;
    const char *all = "";

    assert_int_equal(isa_assemble(text, strlen(text), "t.tasm", &arena, &p, &errors), -1);
    for (int i = 0; i < errors.count; i++)
        all = arena_printf(&arena, "%s%s%s:%d:%d: error: %s", all, i ? "\n" : "",
                           errors.err[i].file, errors.err[i].line, errors.err[i].col,
                           errors.err[i].msg);
    return all;
}

TEST(every_mistake_gets_its_message)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *found = errors_of(cases[i].text);

        if (strcmp(found, cases[i].errors) != 0)
            fail_msg("%s\n  gives %s\n  expected %s", cases[i].text, found, cases[i].errors);
    }
}

/* the message alone, without what was found there instead and with every number as N */
static void normalize(const char *error, char text[400])
{
    const char *from = strstr(error, "error: "), *end;
    size_t length = 0;

    assert_non_null(from);
    end = strstr(from, ", found ");
    if (!end)
        end = from + strcspn(from, "\n");
    for (; from < end && length < 399; from++) {
        if (!isdigit((unsigned char)*from))
            text[length++] = *from;
        else if (length == 0 || text[length - 1] != 'N')
            text[length++] = 'N';
    }
    text[length] = '\0';
}

TEST(forty_different_mistakes_are_told_apart)
{
    static char seen[COUNT_OF(cases)][400];
    size_t count = 0;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t k = 0;

        normalize(cases[i].errors, seen[count]);
        while (strcmp(seen[k], seen[count]) != 0)
            k++;
        count += k == count;
    }
    print_message("%zu different mistakes in %zu programs\n", count, COUNT_OF(cases));
    assert_true(count >= 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_mistake_gets_its_message, set_up, tear_down),
        cmocka_unit_test_setup_teardown(forty_different_mistakes_are_told_apart, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
