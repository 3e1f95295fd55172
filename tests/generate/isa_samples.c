#include "tests/generate/isa_samples.h"

#include "base/units.h"
#include "tests/test.h"

/* integers, and f32 bits: 1, infinity, a NaN with payload, 0.1, subnormals, the largest */
static const int32_t immediates[] = {
    0, 1, 2, 3, 4, 5, 6, 7, -1, 8, 1023, 65535, -65536, INT32_MIN, INT32_MAX,
    0x3f800000, 0x7f800000, 0x7fc00001, 0x3dcccccd, 0x007fffff, 0x7f7fffff,
};

static int register_count(char role)
{
    struct isa_operand o = { .kind = OPERAND_REG };
    int count = 0;

    for (o.value = 0; isa_role_allows(role, &o); o.value++)
        count++;
    return count;
}

/* every extreme of one operand; the others stay as they are */
static void vary_operand(struct isa_op *op, int index, void (*check)(const struct isa_op *op))
{
    char role = isa_info((enum isa_opcode)op->code)->role[index];
    struct isa_operand kept = op->operand[index], o = { 0 };
    int count = register_count(role);

    for (int i = 0; i < 2 * count; i++) {
        bool is_edge = i / 2 == 0 || i / 2 == count - 1 || i / 2 == count / 2;

        o = (struct isa_operand){ i / 2, OPERAND_REG, (uint8_t)(i % 2) };
        if (!is_edge || !isa_role_allows(role, &o))
            continue;
        op->operand[index] = o;
        check(op);
    }
    for (size_t i = 0; i < COUNT_OF(immediates); i++) {
        op->operand[index] = (struct isa_operand){ immediates[i], OPERAND_IMM, 0 };
        if (isa_operand_allowed((enum isa_opcode)op->code, index, &op->operand[index]))
            check(op);
    }
    op->operand[index] = (struct isa_operand){ 0 };
    if (role != 'Z' && isa_operand_allowed((enum isa_opcode)op->code, index, &op->operand[index]) &&
        !(role == 'B' && isa_lacks_base(op, index + 1)))
        check(op);
    op->operand[index] = kept;
}

/* something plain for each operand: register 1 where a register may stand, else 0 */
static void plain_operands(struct isa_op *op, const struct isa_info *info)
{
    op->operand_count = info->operand_count;
    for (int i = 0; i < info->operand_count; i++) {
        op->operand[i] = (struct isa_operand){ 1, OPERAND_REG, 0 };
        if (!isa_role_allows(info->role[i], &op->operand[i]))
            op->operand[i] = (struct isa_operand){ 0, OPERAND_IMM, 0 };
    }
}

/* all alternatives of all choices together, counted through like the digits of a number */
static void vary_choices(struct isa_op *op, const struct isa_info *info,
                         void (*check)(const struct isa_op *op))
{
    int i = 0;

    while (i < info->choice_count) {
        check(op);
        for (i = 0; i < info->choice_count; i++) {
            struct isa_operand *o = &op->operand[info->choice_first + i];

            o->value++;
            if (isa_operand_allowed(op->code, info->choice_first + i, o) && o->value < 20)
                break;
            o->value = 0;
        }
    }
}

/* an optional tail is there or not */
static void without_tail(const struct isa_op *op, void (*check)(const struct isa_op *op))
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);
    struct isa_op shorter = *op;

    for (int i = info->tail_first; i < info->choice_first; i++)
        shorter.operand[i] = (struct isa_operand){ 0 };
    check(&shorter);
}

void isa_samples(void (*check)(const struct isa_op *op))
{
    static const struct { uint8_t pred, is_negated; } guards[] = {
        { ISA_PRED_ALWAYS, 0 }, { 0, 0 }, { 0, 1 },
        { ISA_PRED_COUNT - 1, 0 }, { ISA_PRED_COUNT - 1, 1 },
    };

    for (int code = 0; code < OP_COUNT; code++) {
        int unit_count = isa_unit_suffix((enum isa_opcode)code) ? ISA_UNIT_MAX : 1;
        struct isa_op op = { .code = (uint16_t)code, .pred = ISA_PRED_ALWAYS };

        plain_operands(&op, isa_info((enum isa_opcode)code));
        for (size_t g = 0; g < COUNT_OF(guards); g++) {
            op.pred = guards[g].pred;
            op.pred_is_negated = guards[g].is_negated;
            for (op.unit_index = 0; op.unit_index < unit_count; op.unit_index++)
                check(&op);
        }
        op.pred = ISA_PRED_ALWAYS;
        op.pred_is_negated = 0;
        op.unit_index = (uint8_t)(unit_count - 1);
        for (int i = 0; i < op.operand_count; i++)
            vary_operand(&op, i, check);
        vary_choices(&op, isa_info((enum isa_opcode)code), check);
        without_tail(&op, check);
    }
}

void assert_same_op(const struct isa_op *a, const struct isa_op *b)
{
    const char *name = isa_info((enum isa_opcode)a->code)->mnemonic;

    if (a->code != b->code || a->pred != b->pred || a->pred_is_negated != b->pred_is_negated ||
        a->unit_index != b->unit_index || a->operand_count != b->operand_count)
        fail_msg("%s differs in code, guard, unit or number of operands", name);
    for (int i = 0; i < a->operand_count; i++) {
        if (a->operand[i].kind != b->operand[i].kind ||
            a->operand[i].value != b->operand[i].value ||
            a->operand[i].is_negated != b->operand[i].is_negated)
            fail_msg("%s: operand %d was kind %d value %d, is kind %d value %d", name, i,
                     a->operand[i].kind, a->operand[i].value, b->operand[i].kind,
                     b->operand[i].value);
    }
}
