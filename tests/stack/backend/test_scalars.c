/* Do segments, whose scalar temporaries get new registers, compute what their code says? */
#include "tests/test.h"

#include "isa/check.h"
#include "sim/chip/limits.h"
#include "stack/backend/vcode.h"
#include "tests/generate/hand_vcode.h"
#include "tests/generate/random_vcode.h"
#include "tests/reference/symbolic.h"

#define SPILL_TILES ((SYMBOLIC_ROWS - SYMBOLIC_SPILL_ROW) / 8)

/* a segment with an end */
static void compile(const struct vcode *c, const struct chip *chip, struct arena *a,
                    struct isa_program *p)
{
    struct isa_limits limits;
    struct vcode_stats stats;
    struct isa_program s;
    struct err e;

    if (vcode_compile_segment(c, chip, SYMBOLIC_SPILL_ROW, SPILL_TILES, a, &s, &stats, &e))
        fail_msg("%s", e.msg);
    *p = s;
    p->op = arena_array(a, s.op_count + 1u, sizeof(*p->op));
    p->bundle = arena_array(a, s.bundle_count + 1u, sizeof(*p->bundle));
    memcpy(p->op, s.op, s.op_count * sizeof(*p->op));
    memcpy(p->bundle, s.bundle, s.bundle_count * sizeof(*p->bundle));
    p->op[p->op_count++] = (struct isa_op){.code = OP_SHALT, .pred = ISA_PRED_ALWAYS};
    p->bundle[p->bundle_count++] = (struct isa_bundle){.first_op = s.op_count, .op_count = 1};
    chip_isa_limits(chip, &limits);
    if (isa_check(p, &limits, &e))
        fail_msg("%s", e.msg);
}

/* all but what scalar registers hold at the end: nobody may ask for that behind a segment */
static void assert_same_effect(const struct vcode *c, const struct chip *chip,
                               const struct isa_program *p)
{
    struct symbolic x, y;

    symbolic_init(&x, chip, c->vreg_count + 1, c->mask_count + 1);
    symbolic_init(&y, chip, ISA_VREG_MAX, ISA_MASK_COUNT);
    symbolic_run_vcode(&x, c);
    symbolic_run_program(&y, p);
    memcpy(y.s, x.s, sizeof(y.s));
    symbolic_assert_equal(&x, &y);
    symbolic_fini(&x);
    symbolic_fini(&y);
}

static void check_random(const struct random_vcode *r, const struct chip *chip)
{
    struct chip units = hand_chip();
    struct isa_program p;
    struct arena a;
    struct vcode c;

    arena_init(&a);
    vcode_init(&c, &a);
    random_vcode_emit(&c, &units, r);
    compile(&c, chip, &a, &p);
    assert_same_effect(&c, chip, &p);
    vcode_fini(&c);
    arena_fini(&a);
}

TEST(random_segments_keep_their_meaning)
{
    struct chip plain = hand_chip(), wide = hand_wide_chip();

    for (int seed = 1; seed <= (test_is_long() ? 3000 : 100); seed++) {
        struct random_vcode r = {.seed = (uint64_t)seed, .op_count = 10 + seed * 7 % 120,
                                 .reach = 4 + seed % 30, .has_outside = seed % 2 == 0,
                                 .has_steps = seed % 3 == 0};

        r.has_outside &= !r.has_steps;
        check_random(&r, &plain);
        check_random(&r, &wide);
    }
}

static void scalar(struct hand *k, enum isa_opcode code, int to, struct isa_operand a, int b)
{
    vcode_emit(&k->c, code, 3, (struct isa_operand[]){operand_reg(to), a, operand_imm(b)});
}

/* tile k to row 8 (k + 1), its address computed in one register, anew each time */
static void emit_groups(struct hand *k, int count)
{
    vcode_emit(&k->c, OP_SMOV, 2, (struct isa_operand[]){operand_reg(1), operand_imm(0)});
    vcode_begin_block(&k->c);
    for (int i = 0; i < count; i++) {
        int x, sum = vcode_vreg(&k->c);

        scalar(k, OP_SADD, 8, operand_reg(1), 8 * i);
        scalar(k, OP_SMUL, 9, operand_reg(8), 3);       /* nobody reads it */
        scalar(k, OP_SADD, 8, operand_reg(1), 8 * i);   /* computed before */
        x = hand_load(k, 0, 8 * i);
        vcode_emit(&k->c, OP_VADD_XLANE, 1, (struct isa_operand[]){operand_reg(x)});
        vcode_emit(&k->c, OP_VPOP_XLANE, 1, (struct isa_operand[]){operand_reg(sum)});
        vcode_emit(&k->c, OP_VST, 5, (struct isa_operand[]){
            operand_reg(8), operand_imm(1024), operand_imm(1), operand_imm(0xff),
            operand_reg(sum)})->region = 1;
    }
}

static int64_t count_ops(const struct isa_program *p, enum isa_opcode code)
{
    int64_t count = 0;

    for (uint32_t i = 0; i < p->op_count; i++)
        count += p->op[i].code == code;
    return count;
}

/* With one register a store would hold up the next group's address, for 136 cycles each. */
TEST(groups_do_not_wait_for_a_register_that_they_share)
{
    struct chip chip = hand_chip();
    struct isa_program p;
    uint32_t registers = 0;
    struct hand k;

    hand_init(&k);
    emit_groups(&k, 10);
    compile(&k.c, &chip, &k.arena, &p);
    assert_same_effect(&k.c, &chip, &p);
    assert_int_equal(count_ops(&p, OP_SMUL), 0);
    assert_int_equal(count_ops(&p, OP_SADD), 10);
    for (uint32_t i = 0; i < p.op_count; i++)
        if (p.op[i].code == OP_VST)
            registers |= 1u << p.op[i].operand[0].value;
    assert_int_equal(__builtin_popcount(registers), 10);
    hand_fini(&k);
}

/* a value that the next block reads stays in its register, a guarded one too */
TEST(what_is_read_later_stays_where_it_is)
{
    struct chip chip = hand_chip();
    struct isa_program p;
    struct hand k;
    int x;

    hand_init(&k);
    scalar(&k, OP_SADD, 8, operand_imm(16), 0);
    scalar(&k, OP_SADD, 9, operand_imm(24), 0);
    scalar(&k, OP_SCMP_GT, 2, operand_imm(1), 0);
    scalar(&k, OP_SADD, 9, operand_reg(9), 8);
    k.c.block[k.c.block_count - 1].op[k.c.block[k.c.block_count - 1].op_count - 1].op.pred = 2;
    vcode_begin_block(&k.c);
    x = hand_load(&k, 0, 0);
    for (int r = 8; r <= 9; r++)
        vcode_emit(&k.c, OP_VST, 5, (struct isa_operand[]){
            operand_reg(r), operand_imm(0), operand_imm(1), operand_imm(0xff),
            operand_reg(x)})->region = VCODE_REGION_ANY;
    compile(&k.c, &chip, &k.arena, &p);
    assert_same_effect(&k.c, &chip, &p);
    hand_fini(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_segments_keep_their_meaning),
        cmocka_unit_test(groups_do_not_wait_for_a_register_that_they_share),
        cmocka_unit_test(what_is_read_later_stays_where_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
