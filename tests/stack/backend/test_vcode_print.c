/* Does the text of virtual-register code say what the code is, line by line? */
#include "tests/test.h"

#include "tests/generate/hand_vcode.h"

#include <stdlib.h>
#include <string.h>

static char *text_of(const struct vcode *c)
{
    size_t bytes;
    char *text = NULL;
    FILE *to = open_memstream(&text, &bytes);

    vcode_print(c, to);
    fclose(to);
    return text;
}

TEST(loops_regions_steps_and_pinned_registers_are_told)
{
    struct hand k;
    int sum, x;
    char *text;

    hand_init(&k);
    sum = vcode_pinned_vreg(&k.c);
    vcode_remark(&k.c, "window %d of \"%s\"", 0, "x");
    hand_emit2(&k, OP_VMOV, operand_reg(sum), operand_imm(0));
    vcode_loop_begin(&k.c, 3, 12);
    vcode_loop_step(&k.c, 5, 8);
    x = hand_load(&k, 2, 64);
    hand_emit3(&k, OP_VADD_F32, sum, operand_reg(sum), operand_reg(x));
    vcode_loop_end(&k.c, 3);
    vcode_remark(&k.c, "behind the loop");
    hand_store(&k, 7, 128, sum);
    text = text_of(&k.c);
    assert_string_equal(text,
        "  // one register each throughout: %v0\n"
        "  // window 0 of \"x\"\n"
        "  %v0 = vmov 0\n"
        "  s3 = smov 12\n"
        "  loop s3 = 12 rounds {\n"
        "    %v1 = vld [vmem:0x40]  // region 2\n"
        "    %v0 = vadd.f32 %v0, %v1\n"
        "    s5 = sadd.s32 s5, 8  // to the next round\n"
        "  }  // s3\n"
        "  // behind the loop\n"
        "  vst [vmem:0x80] %v0  // region 7\n");
    free(text);
    hand_fini(&k);
}

TEST(masks_are_marked_and_mnemonics_are_not)
{
    struct hand k;
    int mask, v;
    char *text;

    hand_init(&k);
    v = vcode_vreg(&k.c);
    mask = vcode_mask(&k.c);
    hand_emit2(&k, OP_VMOV, operand_reg(v), operand_imm(7));
    vcode_emit(&k.c, OP_VCMP_EQ_S32, 3, (struct isa_operand[]){
        operand_reg(mask), operand_reg(v), operand_imm(7)});
    text = text_of(&k.c);
    assert_string_equal(text, "  %v0 = vmov 7\n  %vm0 = vcmp.eq.s32.totalorder %v0, 7\n");
    free(text);
    hand_fini(&k);
}

TEST(finished_bundles_stand_in_braces_where_they_run)
{
    static struct isa_op ops[2] = {{.code = OP_SMOV, .operand_count = 2, .pred = ISA_PRED_ALWAYS},
                                   {.code = OP_SMOV, .operand_count = 2, .pred = ISA_PRED_ALWAYS}};
    static struct isa_bundle bundle = {.first_op = 0, .op_count = 2};
    struct isa_program p = {.op = ops, .op_count = 2, .bundle = &bundle, .bundle_count = 1};
    struct hand k;
    char *text;

    ops[0].operand[0] = operand_reg(1), ops[0].operand[1] = operand_imm(5);
    ops[1].operand[0] = operand_reg(2), ops[1].operand[1] = operand_imm(6);
    hand_init(&k);
    vcode_loop_begin(&k.c, 0, 2);
    vcode_bundles(&k.c, &p);
    vcode_loop_end(&k.c, 0);
    text = text_of(&k.c);
    assert_string_equal(text,
        "  s0 = smov 2\n"
        "  loop s0 = 2 rounds {\n"
        "    bundles, scheduled by the kernel itself: 1 with 2 operations {\n"
        "   0x0 : { s1 = smov 5 ;; s2 = smov 6 }\n"
        "    }\n"
        "  }  // s0\n");
    free(text);
    hand_fini(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_regions_steps_and_pinned_registers_are_told),
        cmocka_unit_test(masks_are_marked_and_mnemonics_are_not),
        cmocka_unit_test(finished_bundles_stand_in_braces_where_they_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
