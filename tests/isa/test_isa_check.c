#include "base/units.h"
#include "isa/asm.h"
#include "isa/check.h"
#include "isa/file.h"
#include "tests/test.h"

/* TPU v3 */
static const struct isa_limits v3 = {
    .slots = {
        .count = { [SLOT_SCALAR] = 2, [SLOT_VALU] = 2, [SLOT_EUP] = 1, [SLOT_LOAD] = 1,
                   [SLOT_STORE] = 1, [SLOT_PUSH] = 1, [SLOT_POP] = 1, [SLOT_MISC] = 1,
                   [SLOT_DMA] = 1 },
        .dma_misc = 1,
    },
    .vreg_count = 32, .mxu_count = 2, .xlu_count = 1, .flag_count = 512,
    .branch_delay_bundles = 1, .mxu_size = 128,
    .takes_weights = { [MATRIX_F32] = true }, .takes_rows = { [MATRIX_F32] = true },
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

static struct isa_program assemble(const char *text, size_t size, const char *name)
{
    struct isa_errors errors;
    struct isa_program p;

    if (isa_assemble(text, size, name, &arena, &p, &errors))
        fail_msg("%s:%d:%d: %s", name, errors.err[0].line, errors.err[0].col, errors.err[0].msg);
    return p;
}

static struct isa_program program(const char *text)
{
    return assemble(text, strlen(text), "t.tasm");
}

TEST(examples_fit_a_v3)
{
    static const char *const examples[] = {
        "examples/01_vector_add.tasm",
        "examples/02_mxu_tile.tasm",
        "examples/03_double_buffered_matmul.tasm",
    };

    for (size_t i = 0; i < COUNT_OF(examples); i++) {
        struct isa_program p;
        uint8_t *bytes;
        size_t size;
        struct err e;

        if (isa_file_read(examples[i], &arena, &bytes, &size, &e))
            fail_msg("%s: %s", e.file, e.msg);
        p = assemble((const char *)bytes, size, examples[i]);
        if (isa_check(&p, &v3, &e))
            fail_msg("%s:%d: %s", e.file, e.line, e.msg);
    }
}

TEST(violations_are_named_with_their_line)
{
    static const struct { const char *text, *msg; } cases[] = {
        { "{ s1 = smov 1 ;; s2 = smov 1 ;; s3 = smov 1 }",
          "bundle 1: 3 operations for the scalar slot, a bundle has 2" },
        { "{ v1 = vmov 1 ;; v2 = vmov 1 ;; v3 = vmov 1 }",
          "bundle 1: 3 operations for the valu slot, a bundle has 2" },
        { "{ v1 = vmov 1 ;; v2 = vmov 1 ;; vpow2.f32 v3 }",
          "bundle 1: 3 operations for the valu slot, a bundle has 2 "
          "(an eup operation takes one too)" },
        { "{ vpow2.f32 v3 ;; vrcp.f32 v4 }",
          "bundle 1: 2 operations for the eup slot, a bundle has 1" },
        { "{ v1 = vld [vmem:0] ;; v2 = vld [vmem:8] }",
          "bundle 1: 2 operations for the load slot, a bundle has 1" },
        { "{ vst [vmem:0] v1 ;; vst [vmem:8] v1 }",
          "bundle 1: 2 operations for the store slot, a bundle has 1" },
        { "{ vmatmul.f32.gmra.mxu0 v1 ;; vadd.xlane.f32.xlu0 v1 }",
          "bundle 1: 2 operations for the push slot, a bundle has 1" },
        { "{ v1 = vpop.eup ;; v2 = vpop.trf.xlu0 }",
          "bundle 1: 2 operations for the pop slot, a bundle has 1" },
        { "{ vdelay 1 ;; vsyncadd [sflag:0], 1 }",
          "bundle 1: 2 operations for the misc slot, a bundle has 1" },
        { "{ vdelay 1 ;; dma.hbm_to_vmem 0, 1, 0, [sflag:0] }",
          "bundle 1: 2 operations for the misc slot, a bundle has 1 (a dma takes 1)" },
        { "{ dma.hbm_to_vmem 0, 1, 0, [sflag:0] ;; dma.vmem_to_hbm 0, 1, 0, [sflag:0] }",
          "bundle 1: 2 operations for the dma slot, a bundle has 1" },
        { "{ cld [cmem:s1] ;; v1 = vpop.crf }",
          "bundle 1: cld: the chip has no CMEM (cmem.bytes)" },
        { "{ dma.vmem_to_cmem 0, 1, 0, [sflag:0] }",
          "bundle 1: dma.vmem_to_cmem: the chip has no CMEM (cmem.bytes)" },
        { "{ v32 = vmov 0 }", "bundle 1: vmov: v32, the chip has v0..v31" },
        { "{ v1 = vadd.f32 v1, v40 }", "bundle 1: vadd.f32: v40, the chip has v0..v31" },
        { "{ v1 = vpop.f32.mrf.mxu2 }", "bundle 1: vpop.f32.mrf.mxu2: the chip has mxu0..mxu1" },
        { "{ v1 = vpop.trf.xlu1 }", "bundle 1: vpop.trf.xlu1: the chip has xlu0..xlu0" },
        { "{ sbr.rel target = 2 }", "bundle 1: sbr.rel: branch to bundle 2 (0..1)" },
        { "{ sbr.rel target = -1 }", NULL },
        { "{ vsyncadd [sflag:512], 1 }", "bundle 1: vsyncadd: sync flag 512 (0..511)" },
        { "{ s1 = sld [smem:s2 + 6] }",
          "bundle 1: sld: smem offset 6 (multiples of 4, 0..2147483647)" },
        { "{ sst [smem:-4], s1 }",
          "bundle 1: sst: smem offset -4 (multiples of 4, 0..2147483647)" },
        { "{ v1 = vld [vmem:0] sm:256 }",
          "bundle 1: vld: sublane mask 256 (0..255)" },
        { "{ vst [vmem:0] ss:65 v1 }",
          "bundle 1: vst: sublane stride 65 (0..64)" },
        { "{ vst.msk [vmem:0] sm:-1 vm1, v1 }",
          "bundle 1: vst.msk: sublane mask -1 (0..255)" },
        { "{ v1 = vld.sshfl [vmem:0] ss:$65 }",
          "bundle 1: vld.sshfl: sublane stride 65 (0..64)" },
        { "{ v1 = vld.sshfl [vmem:0] pattern:$0x87654321 }",
          "bundle 1: vld.sshfl: sublane pattern 0x87654321 (a digit 0..7 per sublane)" },
        { "{ vst.sshfl [vmem:0] sm:$0x100 v1 }",
          "bundle 1: vst.sshfl: sublane mask 256 (0..255)" },
        { "{ vm1 = vcmask 1048576 }",
          "bundle 1: vcmask: packed mask bounds 1048576 (0..1048575)" },
        { "{ v1 = vadd.bf16 v1, v2 }",
          "bundle 1: vadd.bf16: the chip has no arithmetic on packed bf16 (valu.bf16)" },
        { "{ vtanh.bf16 v1 }",
          "bundle 1: vtanh.bf16: the chip has no arithmetic on packed bf16 (valu.bf16)" },
        { "{ vm1 = vmmov 2 }", "bundle 1: vmmov: mask value 2 (0..1)" },
        { "{ vxpose.xlu0.b32.end v1, 136 }",
          "bundle 1: vxpose.xlu0.b32.end: transpose width 136 (multiples of 8, 8..128)" },
        { "{ vxpose.xlu0.b16.end v1, 24 }",
          "bundle 1: vxpose.xlu0.b16.end: transpose width 24 (multiples of 16, 16..128)" },
        { "{ vxpose.xlu0.b8.start.end v1, 16 }",
          "bundle 1: vxpose.xlu0.b8.start.end: transpose width 16 (multiples of 32, 32..128)" },
        { "{ vxpose.xlu0.b32.start v1, 12 }",
          "bundle 1: vxpose.xlu0.b32.start: transpose width 12 (multiples of 8, 8..128)" },
        { "{ vbcast.lane.b32.xlu0 v1, 384 }",
          "bundle 1: vbcast.lane.b32.xlu0: broadcast lane 384 (0..383)" },
        { "{ dma.hbm_to_vmem 0, 0, 0, [sflag:0] }",
          "bundle 1: dma.hbm_to_vmem: size in granules 0 (1..2147483647)" },
        { "{ dma.hbm_to_vmem 0, 8, 0, [sflag:0], 8, 8, -1 }",
          "bundle 1: dma.hbm_to_vmem: steps per stride -1 (0..2147483647)" },
        { "{ vdelay -1 }", "bundle 1: vdelay: delay -1 (0..2147483647)" },
        { "{ v1 = vld.iar0 [vmem:0] sm:$0x100 }",
          "bundle 1: vld.iar0: sublane mask 256 (0..255)" },
        { "{ vst.iar1 [vmem:0] sm:$0x100 v1 }",
          "bundle 1: vst.iar1: sublane mask 256 (0..255)" },
        { "{ s1 = vsyncmov.remote [sflag:1], -1 }",
          "bundle 1: vsyncmov.remote: core -1 (0..2147483647)" },
        { "{ vsyncset.remote [sflag:1], 1, -1 }",
          "bundle 1: vsyncset.remote: core -1 (0..2147483647)" },
        { "{ dma.general [smem:6] }",
          "bundle 1: dma.general: smem offset 6 (multiples of 4, 0..2147483647)" },
        { "{ s1 = smov 1 ;; s1 = sadd.s32 s2, s3 }",
          "bundle 1: s1 is written twice, by smov and sadd.s32" },
        { "{ v1 = vmov 1 ;; v1 = vpop.eup }",
          "bundle 1: v1 is written twice, by vmov and vpop.eup" },
        { "{ vm2 = vmand vm0, vm1 ;; vm2 = vmor vm0, vm1 }",
          "bundle 1: vm2 is written twice, by vmand and vmor" },
        { "{ p2 = pmov p1 ;; p2 = pneg (p3) p1 }",
          "bundle 1: p2 is written twice, by pmov and pneg" },
        { "{ s1 = smov (p1) 1 ;; s1 = smov (p2) 2 }",
          "bundle 1: s1 is written twice, by smov and smov" },
        { "{ sbr.rel (p1) target = 0 ;; sbr.rel (!p1) target = 1 }",
          "bundle 1: 2 branches in one bundle (at most 1)" },
        { "{ sbr.rel (p1) target = 0 }\n{ sbr.rel target = 0 }",
          "bundle 2: a branch in a delay bundle of the branch in bundle 1" },
    };
    char text[200];

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct isa_program p;
        struct isa_errors errors;
        struct err e;

        snprintf(text, sizeof(text), "{ }\n%s\n", cases[i].text);
        if (!cases[i].msg) {            /* the assembler sees it already */
            assert_int_equal(isa_assemble(text, strlen(text), "t", &arena, &p, &errors), -1);
            continue;
        }
        p = program(text);
        assert_int_equal(isa_check(&p, &v3, &e), -1);
        if (strcmp(e.msg, cases[i].msg) != 0)
            fail_msg("%s\n  gives: %s", cases[i].text, e.msg);
        assert_string_equal(e.file, "t.tasm");
        assert_int_equal(e.line, (int)p.bundle[e.msg[7] - '0'].line);
    }
}

/* TPU v6e: a misc slot that lends itself, DMAs beside no scalar operation */
static struct isa_limits v6e_limits(void)
{
    struct isa_limits limits = v3;

    limits.slots = (struct isa_slots){
        .count = { [SLOT_SCALAR] = 2, [SLOT_VALU] = 4, [SLOT_EUP] = 1, [SLOT_LOAD] = 2,
                   [SLOT_STORE] = 1, [SLOT_PUSH] = 2, [SLOT_POP] = 2, [SLOT_MISC] = 1,
                   [SLOT_DMA] = 1 },
        .dma_scalar = 2, .misc_load = 1, .misc_store = 1,
    };
    return limits;
}

/* every number of loads, stores, misc operations, DMAs and scalar operations, against the rules */
TEST(shared_slots_of_a_v6e_hold_what_its_rules_say)
{
    static const char *const op_text[] = {
        "v%d = vld [vmem:0]", "vst [vmem:%d] v0", "vdelay %d",
        "dma.hbm_to_vmem 0, 1, 0, [sflag:%d]", "s%d = smov 0",
    };
    const struct isa_limits limits = v6e_limits();

    for (int code = 0; code < 5 * 4 * 3 * 3 * 4; code++) {
        const int count[] = { code % 5, code / 5 % 4, code / 20 % 3, code / 60 % 3,
                              code / 180 };
        bool is_legal = count[0] <= 3 && count[1] <= 2 && count[0] + count[1] + count[2] <= 4 &&
                        count[2] + (count[0] > 2) + (count[1] > 1) <= 1 && count[3] <= 1 &&
                        count[4] + 2 * count[3] <= 2;
        char text[800] = "{";
        struct isa_program p;
        struct err e;

        for (int kind = 0; kind < 5; kind++) {
            for (int i = 0; i < count[kind]; i++) {
                strcat(text, text[1] ? " ;; " : " ");
                sprintf(text + strlen(text), op_text[kind], i);
            }
        }
        p = program(strcat(text, " }"));
        if ((isa_check(&p, &limits, &e) == 0) != is_legal)
            fail_msg("%s is %s", text, is_legal ? e.msg : "allowed");
    }
}

TEST(messages_of_shared_slots_say_what_took_them)
{
    static const struct { const char *text, *msg; } cases[] = {
        { "v1 = vld [vmem:0] ;; v2 = vld [vmem:0] ;; v3 = vld [vmem:0] ;; v4 = vld [vmem:0]",
          "4 operations for the load slot, a bundle has 2 (the misc slot serves as the third "
          "load)" },
        { "vst [vmem:0] v1 ;; vst [vmem:0] v1 ;; vst [vmem:0] v1",
          "3 operations for the store slot, a bundle has 1 (the misc slot serves as the second "
          "store)" },
        { "v1 = vld [vmem:0] ;; v2 = vld [vmem:0] ;; v3 = vld [vmem:0] ;; vdelay 1",
          "2 operations for the misc slot, a bundle has 1 (the misc slot serves as the third "
          "load)" },
        { "v1 = vld [vmem:0] ;; v2 = vld [vmem:0] ;; v3 = vld [vmem:0] ;; vst [vmem:0] v1 ;; "
          "vst [vmem:0] v1",
          "2 operations for the misc slot, a bundle has 1 (the misc slot serves as the third "
          "load, the misc slot serves as the second store)" },
        { "s1 = smov 1 ;; dma.hbm_to_vmem 0, 1, 0, [sflag:0]",
          "3 operations for the scalar slot, a bundle has 2 (a dma takes 2)" },
    };
    const struct isa_limits limits = v6e_limits();

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct isa_program p;
        struct err e;
        char text[300];

        snprintf(text, sizeof(text), "{ %s }", cases[i].text);
        p = program(text);
        assert_int_equal(isa_check(&p, &limits, &e), -1);
        assert_string_equal(e.msg + strlen("bundle 0: "), cases[i].msg);
    }
}

TEST(full_bundles_and_edges_are_allowed)
{
    static const char *const cases[] = {
        "{ s1 = smov 1 ;; s2 = smov 2 ;; v1 = vmov 1 ;; vpow2.f32 v2 ;; v3 = vld [vmem:0] }",
        "{ vst [vmem:8] v4 ;; vmatmul.f32.gmra.mxu1 v5 ;; v6 = vpop.f32.mrf.mxu0 ;; vdelay 1 }",
        "{ s1 = smov (p1) 1 ;; s1 = smov (!p1) 2 }",
        "{ s1 = smov 1 ;; v1 = vmov 1 ;; vm1 = vmand vm1, vm1 ;; p1 = pmov p1 }",
        "{ sbr.rel target = 0 }\n{ }\n{ sbr.rel target = 2 }",
        "{ v31 = vld [vmem:-8] sm:0 ss:64 }",
        "{ vsyncadd [sflag:511], -1 }",
        "{ vxpose.xlu0.b32.start.end v1, 8 }",
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct isa_program p = program(cases[i]);
        struct err e;

        if (isa_check(&p, &v3, &e))
            fail_msg("%s\n  gives: %s", cases[i], e.msg);
    }
}

/* programs that no assembler wrote */
TEST(optional_operands_stand_together)
{
    struct isa_program p = program("{ dma.hbm_to_vmem 0, 8, 0, [sflag:0], 8, 8, 8 }");
    struct err e;

    p.op[0].operand[5] = (struct isa_operand){ 0 };
    assert_int_equal(isa_check(&p, &v3, &e), -1);
    assert_string_equal(e.msg, "bundle 0: dma.hbm_to_vmem: operands o4 to o6 stand together or not"
                               " at all");
    p.op[0].operand[4] = p.op[0].operand[6] = p.op[0].operand[5];
    assert_int_equal(isa_check(&p, &v3, &e), 0);
}

TEST(malformed_programs_are_refused)
{
    struct isa_program p = program("{ v1 = vadd.f32 v2, v3 }"), good = p;
    struct isa_op op = p.op[0];
    struct err e;

    p.bundle[0].first_op = 1;
    assert_int_equal(isa_check(&p, &v3, &e), -1);
    assert_string_equal(e.msg, "bundle 0: operations beyond the program's 1");
    p.bundle[0].first_op = 0;
    p.op[0].code = OP_COUNT;
    assert_int_equal(isa_check(&p, &v3, &e), -1);
    assert_non_null(strstr(e.msg, "operation code"));
    p.op[0] = op;
    p.op[0].operand_count = 2;
    assert_int_equal(isa_check(&p, &v3, &e), -1);
    assert_string_equal(e.msg, "bundle 0: vadd.f32: 2 operands, it takes 3");
    p.op[0] = op;
    p.op[0].operand[1].kind = OPERAND_NONE;
    assert_int_equal(isa_check(&p, &v3, &e), -1);
    assert_string_equal(e.msg, "bundle 0: vadd.f32: operand o1 is no vector register or immediate");
    p.op[0] = op;
    p.op[0].operand[2].is_negated = 1;
    assert_int_equal(isa_check(&p, &v3, &e), -1);
    p.op[0] = op;
    p.op[0].pred = 14;
    assert_int_equal(isa_check(&p, &v3, &e), -1);
    assert_string_equal(e.msg, "bundle 0: vadd.f32: guard p14 (p0..p13)");
    p.op[0] = op;
    p.op[0].unit_index = 1;
    assert_int_equal(isa_check(&p, &v3, &e), -1);
    assert_string_equal(e.msg, "bundle 0: vadd.f32: unit 1 of an operation that has none");
    p.op[0] = op;
    p.bundle[0].note = 1;
    assert_int_equal(isa_check(&p, &v3, &e), -1);
    p.bundle[0].note = 0;
    assert_int_equal(isa_check(&good, &v3, &e), 0);
    p.bundle_count = 0;
    assert_int_equal(isa_check(&p, &v3, &e), -1);
    assert_string_equal(e.msg, "the program has no bundles");
}

/* the width of a transpose depends on a choice that is not one */
TEST(choices_are_checked_before_what_depends_on_them)
{
    static const int32_t choices[] = { -1, 5, 29, 31, INT32_MIN, INT32_MAX };
    struct isa_program p = program("{ vxpose.xlu0.b32.end v1, 128 }");
    struct err e;

    for (size_t i = 0; i < COUNT_OF(choices); i++) {
        p.op[0].operand[ISA_XPOSE_TYPE].value = choices[i];
        assert_int_equal(isa_check(&p, &v3, &e), -1);
        assert_non_null(strstr(e.msg, "operand o2 is no "));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(examples_fit_a_v3, set_up, tear_down),
        cmocka_unit_test_setup_teardown(violations_are_named_with_their_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shared_slots_of_a_v6e_hold_what_its_rules_say, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(messages_of_shared_slots_say_what_took_them, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(full_bundles_and_edges_are_allowed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(optional_operands_stand_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(malformed_programs_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(choices_are_checked_before_what_depends_on_them, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
