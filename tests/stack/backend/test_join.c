/* Blocks that become one: they compute what they did, whatever memory and registers they share. */
#include "tests/test.h"

#include "stack/backend/emitters.h"
#include "stack/backend/vcode.h"
#include "tests/generate/hand_vcode.h"
#include "tests/generate/random_vcode.h"
#include "tests/reference/symbolic.h"
#include "tests/rigs/whole_program.h"

#define SPILL_TILES ((SYMBOLIC_ROWS - SYMBOLIC_SPILL_ROW) / 8)

static void compile(const struct vcode *c, const struct chip *chip, struct arena *a,
                    struct isa_program *p)
{
    struct vcode_stats stats;
    struct err e = {.msg = ""};

    if (whole_program(c, chip, SYMBOLIC_SPILL_ROW, SPILL_TILES, a, p, &stats, &e))
        fail_msg("%s", e.msg);
}

/* what the code does as it is, and what it does joined and compiled */
static void assert_joined_does_the_same(struct vcode *c, const struct chip *chip,
                                        const struct vcode_room *room, int rooms)
{
    struct symbolic x, y;
    struct isa_program p;
    struct arena a;

    arena_init(&a);
    symbolic_init(&x, chip, c->vreg_count + 1, c->mask_count + 1);
    symbolic_init(&y, chip, ISA_VREG_MAX, ISA_MASK_COUNT);
    symbolic_run_vcode(&x, c);
    vcode_join_blocks(c, room, rooms);
    compile(c, chip, &a, &p);
    symbolic_run_program(&y, &p);
    symbolic_assert_equal(&x, &y);
    symbolic_fini(&x);
    symbolic_fini(&y);
    arena_fini(&a);
}

TEST(random_blocks_joined_keep_their_meaning)
{
    struct chip chip = hand_chip();
    size_t before = 0, after = 0;

    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct random_vcode r = {.seed = seed, .op_count = 10 + (int)(seed * 7 % 90),
                                 .reach = 4 + (int)(seed % 30), .has_outside = true};
        struct hand k;

        hand_init(&k);
        for (int i = 0; i < 3; i++) {
            random_vcode_emit(&k.c, &chip, &r);
            vcode_begin_block(&k.c);
            r.seed += 1000;
        }
        before += k.c.block_count;
        assert_joined_does_the_same(&k.c, &chip, NULL, 0);
        after += k.c.block_count;
        hand_fini(&k);
    }
    assert_true(after < before);
}

/* a region is written late, then another one has its rows */
TEST(memory_that_is_lent_again_is_not_written_too_early)
{
    struct vcode_room room[] = {{0, 0}, {0, 64}, {32, 64}};
    struct chip chip = hand_chip();
    struct hand k;

    hand_init(&k);
    for (int i = 0; i < 8; i++)
        hand_store(&k, 1, 8 * i, emit_vrcp(&k.c, hand_load(&k, 0, 512 + 8 * i)));
    vcode_begin_block(&k.c);
    for (int i = 0; i < 8; i++)
        hand_store(&k, 2, 32 + 8 * i, vcode_in_register(&k.c, I(i)));
    assert_int_equal(k.c.block_count, 2);
    assert_joined_does_the_same(&k.c, &chip, room, 3);
    assert_int_equal(k.c.block_count, 1);
    hand_fini(&k);
}

/* the sums of one loop go out as those of the next begin */
TEST(blocks_stay_apart_where_pinned_registers_would_not_suffice)
{
    struct chip chip = hand_chip();
    struct hand k;

    hand_init(&k);
    for (int loop = 0; loop < 3; loop++) {
        int acc[6];

        vcode_begin_block(&k.c);
        for (int i = 0; i < 6; i++)
            hand_emit2(&k, OP_VMOV, R(acc[i] = vcode_pinned_vreg(&k.c)), I(i));
        vcode_loop_begin(&k.c, 3, 4);
        for (int i = 0; i < 6; i++)
            hand_emit3(&k, OP_VADD_F32, acc[i], R(acc[i]), R(hand_load(&k, 0, 8 * i)));
        vcode_loop_end(&k.c, 3);
        for (int i = 0; i < 6; i++)
            hand_store(&k, 0, 8 * i, acc[i]);
    }
    assert_joined_does_the_same(&k.c, &chip, NULL, 0);
    hand_fini(&k);
}

TEST(block_that_something_jumps_to_begins_there)
{
    struct chip chip = hand_chip();
    struct hand k;
    size_t skip;

    hand_init(&k);
    hand_store(&k, 0, 0, hand_load(&k, 0, 8));
    vcode_begin_block(&k.c);
    hand_emit3(&k, OP_SCMP_GT, 1, R(3), I(2));
    skip = vcode_skip_begin(&k.c, 1);
    hand_store(&k, 0, 16, hand_load(&k, 0, 24));
    vcode_skip_end(&k.c, skip);
    hand_store(&k, 0, 32, hand_load(&k, 0, 40));
    vcode_begin_block(&k.c);
    hand_store(&k, 0, 48, hand_load(&k, 0, 56));
    assert_joined_does_the_same(&k.c, &chip, NULL, 0);
    assert_int_equal(k.c.block_count, 3);
    assert_int_equal(k.c.block[0].skip_to, 2);
    hand_fini(&k);
}

/* quotients and rests come out of one queue: nobody takes another's */
TEST(divisions_of_joined_blocks_keep_their_order)
{
    struct chip chip = hand_chip();
    struct isa_program p;
    struct hand k;
    int pushed = 0, popped = 0;

    hand_init(&k);
    vcode_put(&k.c, isa_smul(20, R(20), I(5)));         /* the first one waits */
    vcode_put(&k.c, isa_smul(20, R(20), R(20)));
    for (int i = 0; i < 6; i++) {
        vcode_put(&k.c, isa_sdivrem(R(20 + i), I(7)));
        vcode_put(&k.c, isa_spop_drf(8 + 2 * i));
        vcode_put(&k.c, isa_spop_drf(9 + 2 * i));
        vcode_begin_block(&k.c);
    }
    vcode_join_blocks(&k.c, NULL, 0);
    compile(&k.c, &chip, &k.arena, &p);
    for (uint32_t i = 0; i < p.op_count; i++) {
        const struct isa_op *op = &p.op[i];

        if (op->code == OP_SDIVREM) {
            assert_int_equal(popped, 2 * pushed);
            assert_int_equal(op->operand[0].value, 20 + pushed++);
        } else if (op->code == OP_SPOP_DRF) {
            assert_int_equal(op->operand[0].value, 8 + popped++);
        }
    }
    assert_int_equal(pushed, 6);
    assert_int_equal(popped, 12);
    hand_fini(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_blocks_joined_keep_their_meaning),
        cmocka_unit_test(memory_that_is_lent_again_is_not_written_too_early),
        cmocka_unit_test(blocks_stay_apart_where_pinned_registers_would_not_suffice),
        cmocka_unit_test(block_that_something_jumps_to_begins_there),
        cmocka_unit_test(divisions_of_joined_blocks_keep_their_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
