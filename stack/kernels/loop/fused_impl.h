/*
 * Declares the parts of fused.c: one operation on one register each. Operands: registers or
 * immediates.
 */
#ifndef STACK_FUSED_IMPL_H
#define STACK_FUSED_IMPL_H
#include "stack/kernels/loop/fused.h"
#include "stack/backend/emitters.h"

typedef struct isa_operand opnd;        /* short, since these files write nothing else */

/* what formulas are made of */
static inline opnd add(struct vcode *c, opnd a, opnd b) { return R(emit_vadd_f32(c, a, b)); }
static inline opnd sub(struct vcode *c, opnd a, opnd b) { return R(emit_vsub_f32(c, a, b)); }
static inline opnd mul(struct vcode *c, opnd a, opnd b) { return R(emit_vmul_f32(c, a, b)); }
static inline opnd iadd(struct vcode *c, opnd a, opnd b) { return R(emit_vadd_s32(c, a, b)); }
static inline opnd isub(struct vcode *c, opnd a, opnd b) { return R(emit_vsub_s32(c, a, b)); }
static inline opnd imul(struct vcode *c, opnd a, opnd b) { return R(emit_vmul_u32(c, a, b)); }
static inline opnd bit_and(struct vcode *c, opnd a, opnd b) { return R(emit_vand_u32(c, a, b)); }
static inline opnd bit_or(struct vcode *c, opnd a, opnd b) { return R(emit_vor_u32(c, a, b)); }
static inline opnd bit_xor(struct vcode *c, opnd a, opnd b) { return R(emit_vxor_u32(c, a, b)); }
static inline opnd left(struct vcode *c, opnd a, opnd b) { return R(emit_vshll_u32(c, a, b)); }
static inline opnd right(struct vcode *c, opnd a, opnd b) { return R(emit_vshrl_u32(c, a, b)); }
static inline opnd reciprocal(struct vcode *c, opnd a)
{
    return R(emit_vrcp(c, vcode_in_register(c, a)));
}
static inline opnd power_of_two(struct vcode *c, opnd a)
{
    return R(emit_vpow2(c, vcode_in_register(c, a)));
}
static inline opnd binary_log(struct vcode *c, opnd a)
{
    return R(emit_vlog2(c, vcode_in_register(c, a)));
}
static inline opnd reciprocal_root(struct vcode *c, opnd a)
{
    return R(emit_vrsqrt(c, vcode_in_register(c, a)));
}
static inline opnd hyperbolic_tangent(struct vcode *c, opnd a)
{
    return R(emit_vtanh(c, vcode_in_register(c, a)));
}
static inline opnd choose(struct vcode *c, int mask, opnd a, opnd b)
{
    return R(emit_vsel(c, mask, a, b));
}

opnd fused_exponential(struct vcode *c, opnd x, bool of_negated);       /* e^x, or e^-x */
opnd fused_float_unary(struct vcode *c, enum graph_op op, opnd x);
opnd fused_float_binary(struct vcode *c, enum graph_op op, opnd x, opnd y);
opnd fused_trigonometric(struct vcode *c, enum graph_op op, opnd x);
opnd fused_atan2(struct vcode *c, opnd y, opnd x);
opnd fused_integer_unary(struct vcode *c, enum graph_op op, enum graph_dtype t, opnd x);
opnd fused_integer_binary(struct vcode *c, enum graph_op op, enum graph_dtype t, opnd x, opnd y);
/* an 8-bit result of 32-bit arithmetic, back in its range */
opnd fused_wrap(struct vcode *c, enum graph_dtype t, opnd x);
/* between numbers; predicates are masks and the caller's */
opnd fused_convert(struct vcode *c, enum graph_dtype from, enum graph_dtype to, opnd x);
opnd fused_round_bf16(struct vcode *c, opnd x);
/* a polynomial in x, highest power first */
opnd fused_polynomial(struct vcode *c, const float *coefficient, int count, opnd x);
#endif
