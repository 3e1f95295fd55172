/* The table of operations: does every row survive encoding, printing and parsing? */
#include "isa/asm.h"
#include "isa/disasm.h"
#include "isa/doc.h"
#include "isa/isa.h"
#include "isa/object.h"
#include "tests/generate/isa_samples.h"
#include "tests/test.h"

static int sample_count;

TEST(every_mnemonic_finds_its_own_row)
{
    int32_t choice[ISA_CHOICE_MAX];

    for (int code = 0; code < OP_COUNT; code++) {
        const char *mnemonic = isa_info((enum isa_opcode)code)->mnemonic;

        assert_int_equal(isa_find(mnemonic, strlen(mnemonic), choice), code);
        assert_true(isa_find(mnemonic, strlen(mnemonic) - 1, choice) != code);
    }
    assert_int_equal(isa_find("vadd", 4, choice), -1);
    assert_int_equal(isa_find("", 0, choice), -1);
}

TEST(templates_give_operand_counts_and_roles)
{
    const struct isa_info *vld = isa_info(OP_VLD), *dma = isa_info(OP_DMA_HBM_VMEM);

    assert_int_equal(vld->operand_count, 5);
    assert_memory_equal(vld->role, "dBOTM", 5);
    assert_int_equal(dma->operand_count, 7);
    assert_memory_equal(dma->role, "SSSFZZZ", 7);
    assert_int_equal(dma->tail_first, 4);
    assert_int_equal(vld->tail_first, 5);
    assert_int_equal(isa_info(OP_SHALT)->operand_count, 0);
    assert_memory_equal(isa_info(OP_VSEL)->role, "dnVV", 4);
}

TEST(unit_suffix_stands_where_listings_have_it)
{
    char buf[80];

    assert_string_equal(isa_print_mnemonic(OP_VPOP_MRF, 3, NULL, buf, sizeof(buf)),
                        "vpop.f32.mrf.mxu3");
    assert_string_equal(isa_print_mnemonic(OP_VBCAST_LANE, 1, NULL, buf, sizeof(buf)),
                        "vbcast.lane.b32.xlu1");
    assert_string_equal(isa_print_mnemonic(OP_VXPOSE_ONE, 0, NULL, buf, sizeof(buf)),
                        "vxpose.xlu0.b32.start.end");
    assert_string_equal(isa_print_mnemonic(OP_VADD_F32, 0, NULL, buf, sizeof(buf)), "vadd.f32");
}

TEST(patterns_keep_their_choices_and_say_where_numbers_stand)
{
    char buf[ISA_PATTERN_MAX];
    int most = 0;

    assert_string_equal(isa_print_pattern(OP_VPOP_MRB, ".mxuN", buf, sizeof(buf)),
                        "vpop.{f32|s32}.mrb[N].mxuN");
    assert_string_equal(isa_print_pattern(OP_VXPOSE_ONE, ".xluN", buf, sizeof(buf)),
                        "vxpose.xluN.{b32|b16|b8|c.b16|c.b8}.start.end");
    assert_string_equal(isa_print_pattern(OP_VXPOSE_ONE, "", buf, sizeof(buf)),
                        "vxpose.{b32|b16|b8|c.b16|c.b8}.start.end");
    assert_string_equal(isa_print_pattern(OP_VADD_F32, "", buf, sizeof(buf)), "vadd.f32");
    for (int code = 0; code < OP_COUNT; code++) {
        int length = (int)strlen(isa_print_pattern((enum isa_opcode)code, ".mxuN", buf,
                                                   sizeof(buf)));

        most = length > most ? length : most;
    }
    assert_true(most < ISA_PATTERN_MAX - 1);    /* none was cut */
}

TEST(roles_allow_only_registers_that_exist)
{
    struct isa_operand v63 = { 63, OPERAND_REG, 0 }, v64 = { 64, OPERAND_REG, 0 };
    struct isa_operand p13 = { 13, OPERAND_REG, 1 }, p14 = { 14, OPERAND_REG, 0 };
    struct isa_operand imm = { -1, OPERAND_IMM, 0 }, nothing = { 0, OPERAND_NONE, 0 };

    assert_true(isa_role_allows('v', &v63));
    assert_false(isa_role_allows('v', &v64));
    assert_true(isa_role_allows('p', &p13));
    assert_false(isa_role_allows('q', &p13));
    assert_false(isa_role_allows('p', &p14));
    assert_true(isa_role_allows('V', &imm));
    assert_false(isa_role_allows('v', &imm));
    assert_true(isa_role_allows('B', &nothing));
    assert_false(isa_role_allows('S', &nothing));
}

static void encode_and_decode(const struct isa_op *op)
{
    uint8_t bytes[ISA_ENCODED_MAX];
    size_t length = isa_encode(op, bytes);
    struct isa_op back;
    struct err e;

    assert_true(length > 0 && length <= ISA_ENCODED_MAX);
    assert_int_equal(isa_decode(bytes, length, &back, &e), length);
    assert_same_op(op, &back);
    assert_int_equal(isa_decode(bytes, length - 1, &back, &e), 0);
    sample_count++;
}

TEST(encoding_and_decoding_gives_the_same_operation)
{
    sample_count = 0;
    isa_samples(encode_and_decode);
    assert_true(sample_count > 20 * OP_COUNT);
}

static void print_and_assemble(const struct isa_op *op)
{
    struct isa_op copy = *op;
    struct isa_bundle bundle = { .op_count = 1 };
    struct isa_program p = { .op = &copy, .bundle = &bundle, .op_count = 1, .bundle_count = 1 };
    struct isa_program back;
    struct isa_errors errors;
    struct arena a;
    char text[600] = "L0: { ";
    size_t start = strlen(text);

    arena_init(&a);
    assert_true(isa_print_op(&p, op, text + start, sizeof(text) - start - 3) <
                (int)(sizeof(text) - start - 3));
    strcat(text, " }");
    if (isa_assemble(text, strlen(text), "sample", &a, &back, &errors))
        fail_msg("%s does not assemble: %s", text, errors.err[0].msg);
    assert_int_equal(back.op_count, 1);
    assert_same_op(op, &back.op[0]);
    arena_fini(&a);
    sample_count++;
}

TEST(printing_and_assembling_gives_the_same_operation)
{
    sample_count = 0;
    isa_samples(print_and_assemble);
    print_message("%d operations printed and assembled\n", sample_count);
    assert_true(sample_count > 20 * OP_COUNT);
}

TEST(printing_reports_the_length_it_would_take)
{
    struct isa_op op = { .code = OP_SHALT, .pred = ISA_PRED_ALWAYS };
    struct isa_program p = { .op = &op, .op_count = 1 };
    char buf[4];

    assert_int_equal(isa_print_op(&p, &op, buf, sizeof(buf)), strlen("shalt"));
    assert_string_equal(buf, "sha");
    assert_int_equal(isa_print_op(&p, &op, NULL, 0), strlen("shalt"));
}

TEST(committed_document_is_what_the_table_gives)
{
    FILE *committed = fopen("docs/isa.md", "r"), *generated = tmpfile();
    int line = 1, expected, found;

    assert_non_null(committed);
    assert_non_null(generated);
    isa_print_markdown(generated);
    rewind(generated);
    do {
        expected = fgetc(generated);
        found = fgetc(committed);
        if (expected != found)
            fail_msg("docs/isa.md differs in line %d; write it with systole asm --isa-doc", line);
        line += found == '\n';
    } while (found != EOF);
    fclose(committed);
    fclose(generated);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mnemonic_finds_its_own_row),
        cmocka_unit_test(templates_give_operand_counts_and_roles),
        cmocka_unit_test(unit_suffix_stands_where_listings_have_it),
        cmocka_unit_test(patterns_keep_their_choices_and_say_where_numbers_stand),
        cmocka_unit_test(roles_allow_only_registers_that_exist),
        cmocka_unit_test(encoding_and_decoding_gives_the_same_operation),
        cmocka_unit_test(printing_and_assembling_gives_the_same_operation),
        cmocka_unit_test(printing_reports_the_length_it_would_take),
        cmocka_unit_test(committed_document_is_what_the_table_gives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
