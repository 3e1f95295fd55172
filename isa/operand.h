/*
 * Operands, and what else is needed to write operations down: with the functions of isa/op_make.h,
 *
 *     isa_if(P_LAST, isa_sadd(S_ROW, R(S_ROW), I(8)))
 *
 * is an operation as a value. Where only a register may stand, its number does; where there is a
 * choice, R(number), I(immediate), F(f32 immediate) or NONE.
 */
#ifndef ISA_OPERAND_H
#define ISA_OPERAND_H
#include "base/floats.h"
#include "isa/isa.h"

static inline struct isa_operand operand_reg(int number)
{
    return (struct isa_operand){.value = number, .kind = OPERAND_REG};
}
static inline struct isa_operand operand_imm(int32_t value)
{
    return (struct isa_operand){.value = value, .kind = OPERAND_IMM};
}
static inline struct isa_operand operand_none(void)
{
    return (struct isa_operand){.value = 0, .kind = OPERAND_NONE};
}

#define R(number) operand_reg(number)
#define I(number) operand_imm((int32_t)(number))
#define F(number) operand_imm((int32_t)f32_bits((float)(number)))
#define NONE operand_none()

#define ISA_ALL_SUBLANES 0xff

/* a base register of an address; number < 0: none */
static inline struct isa_operand operand_base(int number)
{
    return number < 0 ? NONE : R(number);
}

/* Rows of VMEM or CMEM, one for each sublane of a tile. */
struct isa_rows {
    struct isa_operand base, offset;    /* base: a scalar register or NONE */
    int32_t stride, sublanes, pattern;
};

/* A row for each of these sublanes from base + offset on; a known base adds to the offset. */
static inline struct isa_rows isa_rows_of(struct isa_operand base, int64_t offset, int stride,
                                          int sublanes)
{
    bool is_known = base.kind == OPERAND_IMM;

    return (struct isa_rows){is_known ? NONE : base, I(offset + (is_known ? base.value : 0)), stride,
                             sublanes, ISA_SUBLANES_IN_ORDER};
}
/* eight rows, one after the other; with a stride; or as many as sublanes are in the mask */
static inline struct isa_rows isa_rows_at(struct isa_operand base, int64_t offset)
{
    return isa_rows_of(base, offset, 1, ISA_ALL_SUBLANES);
}
static inline struct isa_rows isa_rows_apart(struct isa_operand base, int64_t offset, int stride)
{
    return isa_rows_of(base, offset, stride, ISA_ALL_SUBLANES);
}
static inline struct isa_rows isa_rows_some(struct isa_operand base, int64_t offset, int sublanes)
{
    return isa_rows_of(base, offset, 1, sublanes);
}

/* the operation where predicate `pred` is true, or is not; pred < 0: always */
static inline struct isa_op isa_if(int pred, struct isa_op op)
{
    op.pred = pred < 0 ? ISA_PRED_ALWAYS : (uint8_t)pred;
    return op;
}
/* the operation on matrix or cross-lane unit number `unit`, where isa_make_… leaves it open */
static inline struct isa_op isa_on_unit(int unit, struct isa_op op)
{
    op.unit_index = (uint8_t)unit;
    return op;
}
static inline struct isa_op isa_unless(int pred, struct isa_op op)
{
    op.pred = (uint8_t)pred;
    op.pred_is_negated = true;
    return op;
}
#endif
