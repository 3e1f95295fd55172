/*
 * Emitters: one operation each, with virtual result registers.
 */
#include "base/floats.h"
#include "stack/lower.h"

#include <assert.h>

int lower_load(struct lower *l, struct address a, int sublane_stride)
{
    int d = vcode_vreg(l->code);
    struct isa_operand o[] = {operand_reg(d),
                              a.base < 0 ? operand_none() : operand_reg(a.base),
                              operand_imm((int32_t)a.row), operand_imm(sublane_stride),
                              operand_imm(0xff)};

    vcode_emit(l->code, OP_VLD, 5, o)->region = a.region;
    return d;
}

void lower_store(struct lower *l, struct address a, int vreg)
{
    struct isa_operand o[] = {a.base < 0 ? operand_none() : operand_reg(a.base),
                              operand_imm((int32_t)a.row), operand_imm(1), operand_imm(0xff),
                              operand_reg(vreg)};

    vcode_emit(l->code, OP_VST, 5, o)->region = a.region;
}

int lower_op1(struct lower *l, enum isa_opcode code, struct isa_operand a)
{
    int d = vcode_vreg(l->code);

    vcode_emit(l->code, code, 2, (struct isa_operand[]){operand_reg(d), a});
    return d;
}

int lower_op2(struct lower *l, enum isa_opcode code, int a, struct isa_operand b)
{
    int d = vcode_vreg(l->code);

    vcode_emit(l->code, code, 3, (struct isa_operand[]){operand_reg(d), operand_reg(a), b});
    return d;
}

int lower_index(struct lower *l)
{
    int d = vcode_vreg(l->code);

    vcode_emit(l->code, OP_VLANESEQ, 1, (struct isa_operand[]){operand_reg(d)});
    return d;
}

int lower_compare(struct lower *l, enum isa_opcode code, int a, struct isa_operand b)
{
    int d = vcode_mask(l->code);

    vcode_emit(l->code, code, 3, (struct isa_operand[]){operand_reg(d), operand_reg(a), b});
    return d;
}

int lower_select(struct lower *l, int mask, struct isa_operand a, struct isa_operand b)
{
    int d = vcode_vreg(l->code);

    vcode_emit(l->code, OP_VSEL, 4,
               (struct isa_operand[]){operand_reg(d), operand_reg(mask), a, b});
    return d;
}

static int push_pop(struct lower *l, enum isa_opcode push, int count,
                    const struct isa_operand *operand, enum isa_opcode pop, int unit)
{
    int d = vcode_vreg(l->code);

    vcode_emit(l->code, push, count, operand)->op.unit_index = (uint8_t)unit;
    vcode_emit(l->code, pop, 1, (struct isa_operand[]){operand_reg(d)})->op.unit_index =
        (uint8_t)unit;
    return d;
}

int lower_eup(struct lower *l, enum isa_opcode code, int a)
{
    return push_pop(l, code, 1, (struct isa_operand[]){operand_reg(a)}, OP_VPOP_EUP, 0);
}

static int take_xlu(struct lower *l)
{
    int unit = l->next_xlu;

    l->next_xlu = (unit + 1) % (int)l->chip->xlu_count;
    return unit;
}

int lower_xlane(struct lower *l, enum isa_opcode code, int a)
{
    return push_pop(l, code, 1, (struct isa_operand[]){operand_reg(a)}, OP_VPOP_XLANE,
                    take_xlu(l));
}

int lower_broadcast_lane(struct lower *l, int a, int lane)
{
    return push_pop(l, OP_VBCAST_LANE, 2,
                    (struct isa_operand[]){operand_reg(a), operand_imm(lane)}, OP_VPOP_PERMUTE,
                    take_xlu(l));
}

int lower_round_bf16(struct lower *l, int a)
{
    int packed = lower_op2(l, OP_VPACK_C_BF16, a, operand_reg(a));

    return lower_op1(l, OP_VUNPACK_C_L, operand_reg(packed));
}

int lower_sublanes(struct lower *l, enum isa_opcode code, int a)
{
    for (int by = TILE_ROWS / 2; by > 0; by /= 2) {
        int rotated = lower_op2(l, OP_VROT_SLANE, a, operand_imm(by));

        a = lower_op2(l, code, a, operand_reg(rotated));
    }
    return a;
}

void lower_scalar(struct lower *l, enum isa_opcode code, int d, int a, struct isa_operand b)
{
    vcode_emit(l->code, code, 3, (struct isa_operand[]){operand_reg(d), operand_reg(a), b});
}

void lower_scalar_set(struct lower *l, int d, int64_t value)
{
    vcode_emit(l->code, OP_SMOV, 2,
               (struct isa_operand[]){operand_reg(d), operand_imm((int32_t)value)});
}

void lower_misc(struct lower *l, enum isa_opcode code, int count, const struct isa_operand *o)
{
    vcode_emit(l->code, code, count, o);
}

struct isa_operand lower_constant(enum graph_dtype dtype, double value)
{
    if (dtype == DTYPE_S32)
        return operand_imm((int32_t)value);
    assert(dtype != DTYPE_PRED);
    if (dtype == DTYPE_BF16)
        return operand_imm((int32_t)f32_bits(f32_round_to_bf16((float)value)));
    return operand_imm((int32_t)f32_bits((float)value));
}
