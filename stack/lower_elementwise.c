/*
 * Elementwise operations of the graph in terms of the vector unit.
 *
 * bf16 values are held in 32 bits; every bf16 result is rounded after the f32
 * operation that makes it, as the reference interpreter does.
 */
#include "base/floats.h"
#include "base/units.h"
#include "stack/lower.h"

#include <assert.h>

#define LOG2_E 1.4426950408889634
#define LN_2 0.6931471805599453

static struct isa_operand f32_imm(double value)
{
    return lower_constant(DTYPE_F32, value);
}

/* operations whose first source must be a register */
static int in_register(struct lower *l, struct isa_operand o)
{
    return o.kind == OPERAND_REG ? o.value : lower_op1(l, OP_VMOV, o);
}

struct binary_row {
    enum graph_op op;
    enum isa_opcode f32, s32;
    bool commutes;
};

static const struct binary_row binary_rows[] = {
    {HLO_ADD, OP_VADD_F32, OP_VADD_S32, true},
    {HLO_SUBTRACT, OP_VSUB_F32, OP_VSUB_S32, false},
    {HLO_MULTIPLY, OP_VMUL_F32, OP_VMUL_U32, true},
    {HLO_MAXIMUM, OP_VMAX_F32, OP_COUNT, true},
    {HLO_MINIMUM, OP_VMIN_F32, OP_COUNT, true},
};

static int lower_integer_extreme(struct lower *l, enum graph_op op, int a, struct isa_operand b)
{
    int mask = lower_compare(l, op == HLO_MAXIMUM ? OP_VCMP_GT_S32 : OP_VCMP_LT_S32, a, b);

    return lower_select(l, mask, operand_reg(a), b);
}

static int lower_binary(struct lower *l, const struct binary_row *row, enum graph_dtype dtype,
                        struct isa_operand a, struct isa_operand b)
{
    enum isa_opcode code = dtype == DTYPE_S32 ? row->s32 : row->f32;

    if (a.kind == OPERAND_IMM && row->commutes) {
        struct isa_operand swap = a;

        a = b;
        b = swap;
    }
    if (code == OP_COUNT)
        return lower_integer_extreme(l, row->op, in_register(l, a), b);
    return lower_op2(l, code, in_register(l, a), b);
}

static const enum isa_opcode compare_f32[] = {
    [COMPARE_EQ] = OP_VCMP_EQ_F32, [COMPARE_NE] = OP_VCMP_NE_F32, [COMPARE_LT] = OP_VCMP_LT_F32,
    [COMPARE_LE] = OP_VCMP_LE_F32, [COMPARE_GT] = OP_VCMP_GT_F32, [COMPARE_GE] = OP_VCMP_GE_F32,
};
static const enum isa_opcode compare_s32[] = {
    [COMPARE_EQ] = OP_VCMP_EQ_S32, [COMPARE_NE] = OP_VCMP_NE_S32, [COMPARE_LT] = OP_VCMP_LT_S32,
    [COMPARE_LE] = OP_VCMP_LE_S32, [COMPARE_GT] = OP_VCMP_GT_S32, [COMPARE_GE] = OP_VCMP_GE_S32,
};

static int lower_convert(struct lower *l, enum graph_dtype to, enum graph_dtype from,
                         struct isa_operand a)
{
    if (from == DTYPE_PRED)
        return lower_select(l, a.value, lower_constant(to, 1), lower_constant(to, 0));
    if (from == DTYPE_S32 && to != DTYPE_S32)
        return lower_op1(l, OP_VCVT_F32_S32, a);
    if (from != DTYPE_S32 && to == DTYPE_S32)
        return lower_op1(l, OP_VCVT_S32_F32, a);
    return in_register(l, a);
}

static int lower_pow2_of_product(struct lower *l, int a, double factor)
{
    return lower_eup(l, OP_VPOW2, lower_op2(l, OP_VMUL_F32, a, f32_imm(factor)));
}

static int lower_unary(struct lower *l, enum graph_op op, enum graph_dtype dtype, int a)
{
    switch (op) {
    case HLO_NEGATE:
        if (dtype == DTYPE_S32)
            return lower_op2(l, OP_VSUB_S32, lower_op1(l, OP_VMOV, operand_imm(0)),
                             operand_reg(a));
        return lower_op2(l, OP_VXOR_U32, a, operand_imm(INT32_MIN));
    case HLO_ABS:
        if (dtype == DTYPE_S32) {
            int negated = lower_unary(l, HLO_NEGATE, dtype, a);

            return lower_integer_extreme(l, HLO_MAXIMUM, a, operand_reg(negated));
        }
        return lower_op2(l, OP_VAND_U32, a, operand_imm(INT32_MAX));
    case HLO_EXP:
        return lower_pow2_of_product(l, a, LOG2_E);
    case HLO_LOG:
        return lower_op2(l, OP_VMUL_F32, lower_eup(l, OP_VLOG2, a), f32_imm(LN_2));
    case HLO_SQRT:
        /* 1 / (1 / sqrt a): unlike a * rsqrt(a) right for 0 and infinity */
        return lower_eup(l, OP_VRCP, lower_eup(l, OP_VRSQRT, a));
    case HLO_RSQRT:
        return lower_eup(l, OP_VRSQRT, a);
    case HLO_TANH:
        return lower_eup(l, OP_VTANH, a);
    default:
        assert(op == HLO_LOGISTIC);
        a = lower_pow2_of_product(l, a, -LOG2_E);
        return lower_eup(l, OP_VRCP, lower_op2(l, OP_VADD_F32, a, f32_imm(1)));
    }
}

static int lower_logic(struct lower *l, enum isa_opcode code, int a, int b)
{
    int d = vcode_mask(l->code);

    vcode_emit(l->code, code, 3,
               (struct isa_operand[]){operand_reg(d), operand_reg(a), operand_reg(b)});
    return d;
}

static int lower_not(struct lower *l, int a)
{
    int index = lower_index(l);
    int all = lower_compare(l, OP_VCMP_GE_S32, index, operand_imm(0));

    return lower_logic(l, OP_VMXOR, a, all);
}

/* results that are bf16 values already when the operands are */
static bool is_exact_in_bf16(const struct graph_node *n, enum graph_dtype operand_dtype)
{
    switch (n->op) {
    case HLO_NEGATE: case HLO_ABS: case HLO_MAXIMUM: case HLO_MINIMUM: case HLO_SELECT:
        return true;
    case HLO_CONVERT:
        return operand_dtype == DTYPE_BF16 || operand_dtype == DTYPE_PRED;
    default:
        return false;
    }
}

static int lower_value(struct lower *l, const struct graph_node *n,
                       enum graph_dtype operand_dtype, const struct isa_operand *o)
{
    for (size_t i = 0; i < COUNT_OF(binary_rows); i++)
        if (binary_rows[i].op == n->op)
            return lower_binary(l, &binary_rows[i], n->shape.dtype, o[0], o[1]);
    switch (n->op) {
    case HLO_DIVIDE: {
        int reciprocal = lower_eup(l, OP_VRCP, in_register(l, o[1]));

        return lower_op2(l, OP_VMUL_F32, reciprocal, o[0]);
    }
    case HLO_SELECT:
        return lower_select(l, o[0].value, o[1], o[2]);
    case HLO_CONVERT:
        return lower_convert(l, n->shape.dtype, operand_dtype, o[0]);
    default:
        return lower_unary(l, n->op, n->shape.dtype, in_register(l, o[0]));
    }
}

static int lower_predicate(struct lower *l, const struct graph_node *n,
                           enum graph_dtype operand_dtype, const struct isa_operand *o)
{
    switch (n->op) {
    case HLO_COMPARE:
        return lower_compare(l,
                             (operand_dtype == DTYPE_S32 ? compare_s32 : compare_f32)[n->direction],
                             in_register(l, o[0]), o[1]);
    case HLO_AND:
        return lower_logic(l, OP_VMAND, o[0].value, o[1].value);
    case HLO_OR:
        return lower_logic(l, OP_VMOR, o[0].value, o[1].value);
    default:
        assert(n->op == HLO_NOT);
        return lower_not(l, o[0].value);
    }
}

int lower_elementwise(struct lower *l, const struct graph_node *n, enum graph_dtype operand_dtype,
                      const struct isa_operand *operand)
{
    int d;

    if (n->shape.dtype == DTYPE_PRED)
        return lower_predicate(l, n, operand_dtype, operand);
    d = lower_value(l, n, operand_dtype, operand);
    if (n->shape.dtype == DTYPE_BF16 && !is_exact_in_bf16(n, operand_dtype))
        d = lower_round_bf16(l, d);
    return d;
}
