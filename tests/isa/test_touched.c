/* What operations read and write: the table's columns against its effects, and choices. */
#include "isa/matrix.h"
#include "isa/touched.h"
#include "tests/test.h"

/* words of an effect that name a state */
static const struct { const char *word; uint32_t state; } words[] = {
    {"VMEM[", ISA_VMEM}, {"SMEM[", ISA_SMEM}, {"CMEM[", ISA_CMEM}, {"HBM[", ISA_HBM},
    {"HOST[", ISA_HOST}, {"flag[", ISA_FLAGS}, {"of core o", ISA_REMOTE}, {"IAR[", ISA_IAR},
    {"trace m", ISA_MARKS}, {"draw", ISA_RNG}, {"eup fifo", ISA_EUP},
    {"V2S fifo", ISA_V2S}, {"DRF fifo", ISA_DRF}, {"CRF fifo", ISA_CRF},
    {"xlu fifo", ISA_XLANE | ISA_PERMUTE},
};

/* its descriptor tells, or another operation's effect does */
static bool says_less(enum isa_opcode code)
{
    return code == OP_DMA_GENERAL || code == OP_VLD_SSHFL;
}

TEST(columns_name_the_state_that_the_effect_names)
{
    for (int code = 0; code < OP_COUNT; code++) {
        const char *effect = isa_info((enum isa_opcode)code)->effect;

        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
            bool is_named = strstr(effect, words[i].word) != NULL;
            bool is_touched = (isa_touches((enum isa_opcode)code) & words[i].state) != 0;

            if (is_named != is_touched && !says_less((enum isa_opcode)code))
                fail_msg("%s: \"%s\" and %s", isa_info((enum isa_opcode)code)->mnemonic, effect,
                         words[i].word);
        }
    }
}

TEST(state_that_is_read_is_written_by_some_operation)
{
    uint32_t reads = 0, writes = 0;

    for (int code = 0; code < OP_COUNT; code++) {
        reads |= isa_info((enum isa_opcode)code)->reads;
        writes |= isa_info((enum isa_opcode)code)->writes;
    }
    assert_int_equal(reads & ~writes, 0);
    assert_int_equal(writes | (ISA_V | ISA_M | ISA_S | ISA_P), (1 << STATE_COUNT) - 1);
}

TEST(a_pop_takes_what_its_pushes_give)
{
    assert_int_equal(isa_pop_of(OP_VTANH), OP_VPOP_EUP);
    assert_int_equal(isa_pop_of(OP_VMAX_XLANE), OP_VPOP_XLANE);
    assert_int_equal(isa_pop_of(OP_VROT_LANE), OP_VPOP_PERMUTE);
    assert_int_equal(isa_pop_of(OP_VXPOSE_END), OP_VPOP_TRF);
    assert_int_equal(isa_pop_of(OP_CLD), OP_VPOP_CRF);
}

static bool has(const struct isa_touch *list, int count, enum isa_state state, int index)
{
    for (int i = 0; i < count; i++)
        if (list[i].state == state && list[i].index == index)
            return true;
    return false;
}

TEST(a_load_by_index_register_reads_memory_the_register_and_its_base)
{
    struct isa_op op = {.code = OP_VLD_IAR, .operand_count = 5, .operand = {
        {5, OPERAND_REG, 0}, {3, OPERAND_REG, 0}, {8, OPERAND_IMM, 0}, {0xff, OPERAND_IMM, 0},
        {1, OPERAND_IMM, 0}}};
    struct isa_touched t;

    isa_touched(&op, &t);
    assert_int_equal(t.read_count, 3);
    assert_true(has(t.read, 3, STATE_S, 3) && has(t.read, 3, STATE_VMEM, 0));
    assert_true(has(t.read, 3, STATE_IAR, 1));
    assert_int_equal(t.write_count, 1);
    assert_true(has(t.write, 1, STATE_V, 5));
}

static struct isa_touched of_multiply(int prep, int latch, int gain)
{
    struct isa_op op = {.code = OP_VMATMUL, .unit_index = 2, .operand_count = 5, .operand = {
        {7, OPERAND_REG, 0}, {prep, OPERAND_IMM, 0}, {MATRIX_BF16, OPERAND_IMM, 0},
        {latch, OPERAND_IMM, 0}, {gain, OPERAND_IMM, 0}}};
    struct isa_touched t;

    isa_touched(&op, &t);
    return t;
}

TEST(a_product_reads_its_gain_register_or_writes_it_from_a_staging_register)
{
    struct isa_touched t = of_multiply(0, 0, 1);

    assert_int_equal(t.read_count, 2);
    assert_true(has(t.read, 2, STATE_V, 7) && has(t.read, 2, STATE_GAIN, 2 + ISA_UNIT_MAX));
    assert_int_equal(t.write_count, 1);
    assert_true(has(t.write, 1, STATE_RESULTS, 2));
    t = of_multiply(1, 2, 0);
    assert_int_equal(t.read_count, 3);
    assert_true(has(t.read, 3, STATE_STAGING, 2 + ISA_UNIT_MAX));
    assert_true(has(t.read, 3, STATE_ROWS_PREP, 2));
    assert_true(has(t.write, t.write_count, STATE_GAIN, 2) && t.write_count == 2);
}

TEST(a_copy_within_the_core_touches_no_memory_when_it_issues)
{
    struct isa_op op = {.code = OP_DMA_VMEM_HBM};
    struct isa_touched t;

    isa_touched(&op, &t);
    assert_int_equal(t.read_count + t.write_count, 0);
    op.code = OP_DMA_VMEM_HBM_REMOTE;   /* takes its bytes along */
    isa_touched(&op, &t);
    assert_int_equal(t.write_count, 0);
    assert_true(has(t.read, t.read_count, STATE_VMEM, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_name_the_state_that_the_effect_names),
        cmocka_unit_test(state_that_is_read_is_written_by_some_operation),
        cmocka_unit_test(a_pop_takes_what_its_pushes_give),
        cmocka_unit_test(a_load_by_index_register_reads_memory_the_register_and_its_base),
        cmocka_unit_test(a_product_reads_its_gain_register_or_writes_it_from_a_staging_register),
        cmocka_unit_test(a_copy_within_the_core_touches_no_memory_when_it_issues),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
