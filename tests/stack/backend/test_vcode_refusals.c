/* What the back end refuses, and in which words. */
#include "tests/test.h"

#include "tests/generate/hand_vcode.h"
#include "tests/rigs/whole_program.h"

#define SPILL_ROW 3072

/* compiles and gives the message */
static const char *failure(struct hand *k, const struct chip *chip, int64_t spill_tiles,
                           struct err *e)
{
    struct arena a;
    struct isa_program p;
    struct vcode_stats stats;

    arena_init(&a);
    assert_int_equal(whole_program(&k->c, chip, SPILL_ROW, spill_tiles, &a, &p, &stats, e),
                     -1);
    arena_fini(&a);
    hand_fini(k);
    return e->msg;
}

TEST(spill_area_too_small_is_refused)
{
    struct chip chip = hand_narrow_chip(8);
    struct hand k;
    struct err e;
    int v[12];

    hand_init(&k);
    k.c.note = "wide sum";
    vcode_begin_block(&k.c);
    for (int i = 0; i < 12; i++)
        v[i] = hand_load(&k, 1, 8 * i);
    for (int i = 0; i < 12; i++)
        hand_store(&k, 0, 8 * i, v[i]);
    assert_string_equal(failure(&k, &chip, 3, &e),
                        "block \"wide sum\" spills 4 tiles at once, the spill area has 3");
}

TEST(masks_beyond_the_file_are_refused)
{
    struct chip chip = hand_chip();
    struct hand k;
    struct err e;
    int v, mask[17];

    hand_init(&k);
    v = hand_load(&k, 0, 0);
    for (int i = 0; i < 17; i++)
        hand_emit3(&k, OP_VCMP_EQ_S32, mask[i] = vcode_mask(&k.c), operand_reg(v), operand_imm(i));
    for (int i = 0; i < 17; i++) {
        struct isa_operand o[] = {operand_reg(vcode_vreg(&k.c)), operand_reg(mask[i]),
                                  operand_reg(v), operand_imm(0)};

        vcode_emit(&k.c, OP_VSEL, 4, o);
    }
    assert_string_equal(failure(&k, &chip, 9, &e),
                        "block \"\" needs 17 mask registers at once, there are 16");
}

TEST(result_left_in_a_fifo_is_refused)
{
    struct chip chip = hand_chip();
    struct hand k;
    struct err e;

    hand_init(&k);
    hand_multiply(&k, hand_load(&k, 0, 0), 1, 0);
    assert_string_equal(failure(&k, &chip, 0, &e),
                        "block \"\" leaves 1 results in mxu1, it must be empty at its end");
}

TEST(pop_without_push_is_refused)
{
    struct chip chip = hand_chip();
    struct hand k;
    struct err e;

    hand_init(&k);
    hand_emit1(&k, OP_VPOP_EUP, 0, operand_reg(vcode_vreg(&k.c)));
    assert_string_equal(failure(&k, &chip, 0, &e),
                        "block \"\": vpop.eup from eup0 without a push before it");
}

TEST(more_results_than_the_fifo_holds_are_refused)
{
    struct chip chip = hand_chip();
    struct hand k;
    struct err e;
    int v;

    hand_init(&k);
    v = hand_load(&k, 0, 0);
    for (int i = 0; i < 9; i++)
        hand_emit1(&k, OP_VTANH, 0, operand_reg(v));
    for (int i = 0; i < 9; i++)
        hand_emit1(&k, OP_VPOP_EUP, 0, operand_reg(vcode_vreg(&k.c)));
    assert_string_equal(failure(&k, &chip, 0, &e),
                        "block \"\": 9 results wait in eup0, its depth is 8");
}

TEST(too_many_pinned_registers_are_refused)
{
    struct chip chip = hand_chip();
    struct hand k;
    struct err e;
    int acc[9];

    hand_init(&k);
    for (int i = 0; i < 9; i++)
        hand_emit2(&k, OP_VMOV, operand_reg(acc[i] = vcode_pinned_vreg(&k.c)), operand_imm(i));
    assert_string_equal(failure(&k, &chip, 0, &e),
                        "block \"\" needs more than 8 pinned vector registers at once");
}

TEST(register_read_before_it_is_written_is_refused)
{
    struct chip chip = hand_chip();
    struct hand k;
    struct err e;
    int v;

    hand_init(&k);
    v = hand_load(&k, 0, 0);
    vcode_begin_block(&k.c);            /* v does not live that long */
    hand_store(&k, 0, 8, v);
    assert_string_equal(failure(&k, &chip, 0, &e), "block \"\": vst reads virtual v0, which "
                        "nothing in the block wrote before");
}

TEST(guarded_push_is_refused)
{
    struct chip chip = hand_chip();
    struct hand k;
    struct err e;

    hand_init(&k);
    hand_emit1(&k, OP_VRCP, 0, operand_reg(hand_load(&k, 0, 0)));
    k.c.block[0].op[1].op.pred = 2;
    assert_string_equal(failure(&k, &chip, 0, &e),
                        "block \"\": vrcp.f32 must not be guarded, its FIFO would lose count");
}

TEST(unit_that_the_chip_has_not_is_refused)
{
    struct chip chip = hand_chip();
    struct hand k;
    struct err e;

    hand_init(&k);
    hand_push(&k, hand_load(&k, 0, 0), 2, 0);
    assert_string_equal(failure(&k, &chip, 0, &e),
                        "block \"\": vmatpush.msra uses unit 2, the chip has 2");
}

TEST(block_left_without_registers_by_pinned_ones_is_refused)
{
    struct chip chip = hand_narrow_chip(8);
    struct hand k;
    struct err e;
    int acc[5], v[4];

    hand_init(&k);
    for (int i = 0; i < 5; i++)
        hand_emit2(&k, OP_VMOV, operand_reg(acc[i] = vcode_pinned_vreg(&k.c)), operand_imm(i));
    for (int i = 0; i < 4; i++)
        v[i] = hand_load(&k, 0, 8 * i);
    for (int i = 0; i < 4; i++)
        hand_store(&k, 1, 8 * i, v[i]);
    assert_string_equal(failure(&k, &chip, 9, &e),
                        "block \"\" has 3 vector registers beside its pinned ones (8 in all), "
                        "at least 4 are needed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spill_area_too_small_is_refused),
        cmocka_unit_test(masks_beyond_the_file_are_refused),
        cmocka_unit_test(result_left_in_a_fifo_is_refused),
        cmocka_unit_test(pop_without_push_is_refused),
        cmocka_unit_test(more_results_than_the_fifo_holds_are_refused),
        cmocka_unit_test(too_many_pinned_registers_are_refused),
        cmocka_unit_test(register_read_before_it_is_written_is_refused),
        cmocka_unit_test(guarded_push_is_refused),
        cmocka_unit_test(unit_that_the_chip_has_not_is_refused),
        cmocka_unit_test(block_left_without_registers_by_pinned_ones_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
