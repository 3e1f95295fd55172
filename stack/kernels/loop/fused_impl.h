/*
 * Declares the parts of fused.c: one operation on one register each. Operands: registers or
 * immediates.
 */
#ifndef STACK_FUSED_IMPL_H
#define STACK_FUSED_IMPL_H
#include "stack/kernels/loop/fused.h"
#include "stack/backend/put.h"

typedef struct isa_operand opnd;        /* short, since these files write nothing else */

/* results in registers: op(code, operands) */
static inline opnd fused_op1(struct vcode *c, enum isa_opcode code, opnd a)
{
    return R(put_op1(c, code, a));
}
static inline opnd fused_op2(struct vcode *c, enum isa_opcode code, opnd a, opnd b)
{
    return R(put_op2(c, code, a, b));
}
static inline opnd fused_select(struct vcode *c, int mask, opnd a, opnd b)
{
    return R(put_select(c, mask, a, b));
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
