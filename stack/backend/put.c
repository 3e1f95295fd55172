#include "stack/backend/put.h"

void put_guard(struct vcode_op *o, int pred)
{
    if (pred >= 0)
        o->op.pred = (uint8_t)pred;
}

int put_op1(struct vcode *c, enum isa_opcode code, struct isa_operand a)
{
    int d = vcode_vreg(c);

    EMIT(c, code, R(d), a);
    return d;
}

int put_op2(struct vcode *c, enum isa_opcode code, struct isa_operand a, struct isa_operand b)
{
    int d = vcode_vreg(c);

    EMIT(c, code, R(d), a, b);
    return d;
}

int put_op1_choice(struct vcode *c, enum isa_opcode code, struct isa_operand a, int first,
                   int second)
{
    int d = vcode_vreg(c);

    if (second < 0)
        EMIT(c, code, R(d), a, I(first));
    else
        EMIT(c, code, R(d), a, I(first), I(second));
    return d;
}

int put_op2_choice(struct vcode *c, enum isa_opcode code, struct isa_operand a,
                   struct isa_operand b, int first, int second)
{
    int d = vcode_vreg(c);

    if (second < 0)
        EMIT(c, code, R(d), a, b, I(first));
    else
        EMIT(c, code, R(d), a, b, I(first), I(second));
    return d;
}

int put_mask1(struct vcode *c, enum isa_opcode code, struct isa_operand a)
{
    int d = vcode_mask(c);

    EMIT(c, code, R(d), a);
    return d;
}

int put_mask2(struct vcode *c, enum isa_opcode code, struct isa_operand a, struct isa_operand b)
{
    int d = vcode_mask(c);

    EMIT(c, code, R(d), a, b);
    return d;
}

int put_mask2_choice(struct vcode *c, enum isa_opcode code, struct isa_operand a,
                     struct isa_operand b, int choice)
{
    int d = vcode_mask(c);

    EMIT(c, code, R(d), a, b, I(choice));
    return d;
}

int put_select(struct vcode *c, int mask, struct isa_operand a, struct isa_operand b)
{
    int d = vcode_vreg(c);

    EMIT(c, OP_VSEL, R(d), R(mask), a, b);
    return d;
}

int put_in_register(struct vcode *c, struct isa_operand a)
{
    return a.kind == OPERAND_REG ? a.value : put_op1(c, OP_VMOV, a);
}

static int pop(struct vcode *c, enum isa_opcode code, int unit)
{
    int d = vcode_vreg(c);

    EMIT(c, code, R(d))->op.unit_index = (uint8_t)unit;
    return d;
}

int put_eup(struct vcode *c, enum isa_opcode code, struct isa_operand a)
{
    int from = put_in_register(c, a);

    EMIT(c, code, R(from));
    return pop(c, OP_VPOP_EUP, 0);
}

int put_xlane(struct vcode *c, enum isa_opcode code, int a, int unit)
{
    EMIT(c, code, R(a))->op.unit_index = (uint8_t)unit;
    return pop(c, OP_VPOP_XLANE, unit);
}

int put_xlane_index(struct vcode *c, bool is_min, int a, int unit)
{
    EMIT(c, OP_VXLANE_INDEX, R(a), I(is_min))->op.unit_index = (uint8_t)unit;
    return pop(c, OP_VPOP_XLANE, unit);
}

int put_lane_rotate(struct vcode *c, int a, struct isa_operand by, int unit)
{
    EMIT(c, OP_VROT_LANE, R(a), by)->op.unit_index = (uint8_t)unit;
    return pop(c, OP_VPOP_PERMUTE, unit);
}

int put_lane_broadcast(struct vcode *c, int a, int lane, int unit)
{
    EMIT(c, OP_VBCAST_LANE, R(a), I(lane))->op.unit_index = (uint8_t)unit;
    return pop(c, OP_VPOP_PERMUTE, unit);
}

int put_load(struct vcode *c, int base, int64_t row, int sublane_stride, int region)
{
    int d = vcode_vreg(c);

    EMIT(c, OP_VLD, R(d), base < 0 ? NONE : R(base), I(row), I(sublane_stride),
         I(0xff))->region = region;
    return d;
}

void put_store(struct vcode *c, int base, int64_t row, int sublane_mask, int region, int value)
{
    EMIT(c, OP_VST, base < 0 ? NONE : R(base), I(row), I(1), I(sublane_mask),
         R(value))->region = region;
}
