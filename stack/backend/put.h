/*
 * Short ways to write virtual-register code: one operation each.
 *
 * The functions return the virtual register (or mask) that holds the result.
 * Operands are R(register), I(immediate) and F(f32 immediate).
 */
#ifndef STACK_PUT_H
#define STACK_PUT_H
#include "base/floats.h"
#include "stack/backend/vcode.h"

/* EMIT(code, OP_SADD, R(1), R(2), I(3)) */
#define EMIT(c, code, ...) \
    vcode_emit(c, code, \
               (int)(sizeof((struct isa_operand[]){__VA_ARGS__}) / sizeof(struct isa_operand)), \
               (struct isa_operand[]){__VA_ARGS__})
/* the same where predicate `p` is true; p < 0: always */
#define EMIT_IF(c, p, code, ...) put_guard(EMIT(c, code, __VA_ARGS__), p)

void put_guard(struct vcode_op *o, int pred);

int put_op1(struct vcode *c, enum isa_opcode code, struct isa_operand a);
int put_op2(struct vcode *c, enum isa_opcode code, struct isa_operand a, struct isa_operand b);
/* with one or two choices of the mnemonic behind the operands; second < 0: there is one */
int put_op1_choice(struct vcode *c, enum isa_opcode code, struct isa_operand a, int first,
                   int second);
int put_op2_choice(struct vcode *c, enum isa_opcode code, struct isa_operand a,
                   struct isa_operand b, int first, int second);
int put_mask1(struct vcode *c, enum isa_opcode code, struct isa_operand a);
int put_mask2(struct vcode *c, enum isa_opcode code, struct isa_operand a, struct isa_operand b);
int put_mask2_choice(struct vcode *c, enum isa_opcode code, struct isa_operand a,
                     struct isa_operand b, int choice);
int put_select(struct vcode *c, int mask, struct isa_operand a, struct isa_operand b);
int put_eup(struct vcode *c, enum isa_opcode code, struct isa_operand a);
int put_in_register(struct vcode *c, struct isa_operand a);

/* cross-lane unit number `unit` */
int put_xlane(struct vcode *c, enum isa_opcode code, int a, int unit);
/* of each row the lane of its first NaN, else of its first extreme */
int put_xlane_index(struct vcode *c, bool is_min, int a, int unit);
int put_lane_rotate(struct vcode *c, int a, struct isa_operand by, int unit);
int put_lane_broadcast(struct vcode *c, int a, int lane, int unit);

/* rows from S[base] + row on, base < 0: from row on */
int put_load(struct vcode *c, int base, int64_t row, int sublane_stride, int region);
void put_store(struct vcode *c, int base, int64_t row, int sublane_mask, int region, int value);
#endif
