/* Emits the operation that joins two registers of elements: the sum, the product, an extreme. */
#include "stack/kernels/window/window_combine.h"

#include "base/floats.h"
#include "stack/kernels/loop/fused.h"

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

int window_combine(struct builder *m, enum graph_reduce kind, enum graph_dtype dtype, int to, int a,
                   struct isa_operand b)
{
    if (to < 0)
        to = vcode_vreg(m->code);
    vcode_put(m->code, fused_combine(kind, dtype, to, R(a), b));
    return to;
}

int window_takes_over(struct builder *m, enum graph_compare direction, enum graph_dtype dtype,
                      int best, int x)
{
    bool is_max = direction == COMPARE_GE;
    enum isa_opcode code = is_float(dtype) ? is_max ? OP_VCMP_GE_F32 : OP_VCMP_LE_F32
                           : is_max        ? OP_VCMP_GE_S32
                                           : OP_VCMP_LE_S32;
    int stays = dtype == DTYPE_U32
                    ? emit_vcmp_u32(m->code, R(best), R(x), is_max ? VCMP_U32_GE : VCMP_U32_LE)
                    : emit_m_vv(m->code, code, R(best), R(x));

    return emit_vmneg(m->code, stays);
}
