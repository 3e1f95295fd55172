/* Emits the operation that joins two registers of elements: the sum, the product, an extreme. */
#include "stack/kernels/window/window_combine.h"

#include "base/floats.h"

static bool is_float(enum graph_dtype d) { return d == DTYPE_F32 || d == DTYPE_BF16; }

bool window_combines(enum graph_reduce kind, enum graph_dtype dtype)
{
    switch (kind) {
    case REDUCE_ADD: case REDUCE_MUL: case REDUCE_MAX: case REDUCE_MIN:
        return true;
    case REDUCE_AND: case REDUCE_OR:
        return !is_float(dtype);
    default:
        return false;
    }
}

uint32_t window_identity(enum graph_reduce kind, enum graph_dtype dtype)
{
    double x = graph_identity(kind, dtype);

    return is_float(dtype) ? f32_bits((float)x) : (uint32_t)(int64_t)x;
}

int window_combine(struct move_code *m, enum graph_reduce kind, enum graph_dtype dtype, int to,
                   int a, struct isa_operand b)
{
    static const struct { enum isa_opcode real, whole; } codes[] = {
        [REDUCE_ADD] = {OP_VADD_F32, OP_VADD_S32}, [REDUCE_MUL] = {OP_VMUL_F32, OP_VMUL_U32},
        [REDUCE_MAX] = {OP_VMAX_F32, OP_VMAX_INT}, [REDUCE_MIN] = {OP_VMIN_F32, OP_VMAX_INT},
        [REDUCE_AND] = {OP_VAND_U32, OP_VAND_U32}, [REDUCE_OR] = {OP_VOR_U32, OP_VOR_U32}};
    enum isa_opcode code = is_float(dtype) ? codes[kind].real : codes[kind].whole;
    struct isa_operand o[5] = {operand_reg(to < 0 ? vcode_vreg(m->code) : to), operand_reg(a), b};
    int count = 3;

    if (code == OP_VMAX_INT) {
        o[count++] = operand_imm(kind == REDUCE_MIN);
        o[count++] = operand_imm(dtype == DTYPE_U32);
    }
    vcode_emit(m->code, code, count, o);
    return o[0].value;
}

int window_takes_over(struct move_code *m, enum graph_compare direction, enum graph_dtype dtype,
                      int best, int x)
{
    bool is_max = direction == COMPARE_GE;
    int stays = vcode_mask(m->code);

    if (is_float(dtype))
        vcode_emit(m->code, is_max ? OP_VCMP_GE_F32 : OP_VCMP_LE_F32, 3,
                   (struct isa_operand[]){operand_reg(stays), operand_reg(best), operand_reg(x)});
    else if (dtype != DTYPE_U32)
        vcode_emit(m->code, is_max ? OP_VCMP_GE_S32 : OP_VCMP_LE_S32, 3,
                   (struct isa_operand[]){operand_reg(stays), operand_reg(best), operand_reg(x)});
    else
        vcode_emit(m->code, OP_VCMP_U32, 4,
                   (struct isa_operand[]){operand_reg(stays), operand_reg(best), operand_reg(x),
                                          operand_imm(is_max ? 5 : 3)});
    {
        int takes = vcode_mask(m->code);

        vcode_emit(m->code, OP_VMNEG, 2,
                   (struct isa_operand[]){operand_reg(takes), operand_reg(stays)});
        return takes;
    }
}
