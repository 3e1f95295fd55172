/*
 * Operations whose shape an operand says. Where it is a constant, or the result's type has all
 * dimensions already, they are the static operation.
 */
#include "import/stablehlo/from.h"

#include <string.h>

/* the integers of operand n, which must be a constant */
static int operand_ints(struct from *f, const struct mlir_op *op, int n, const char *what,
                        struct hlo_ints *to)
{
    if (n >= op->operand_count)
        return from_fail(f, op, "it has %d operands", op->operand_count);
    const struct mlir_attr *a = from_constant_of(op->operand[n]);
    if (!a)
        return from_fail(f, op, "%s is no constant: shapes that are not known before a program "
                         "runs are not known here", what);
    return from_ints(f, op, what, a, to);
}

/* an instruction of the first `count` operands, with the result's type */
static int finish_with(struct from *f, const struct mlir_op *op, struct hlo_instruction *i, int count)
{
    int *x = arena_array(f->scratch, (size_t)count + 1, sizeof(*x));

    if (op->result_count != 1 || op->operand_count < count)
        return from_fail(f, op, "it has %d operands and %d results", op->operand_count,
                         op->result_count);
    for (int k = 0; k < count; k++) {
        if ((x[k] = from_operand(f, op, op->operand[k])) < 0)
            return -1;
    }
    i->operand = x;
    i->operand_count = count;
    return from_result_type(f, op, &i->type) ? -1 : from_finish(f, op, i);
}

int from_real_dynamic_slice(struct from *f, const struct mlir_op *op)
{
    struct hlo_instruction i = { .op = OPCODE_SLICE, .detail = HLO_NEW_DETAIL };

    if (operand_ints(f, op, 1, "the start", &i.detail->start) ||
        operand_ints(f, op, 2, "the limit", &i.detail->limit) ||
        operand_ints(f, op, 3, "the stride", &i.detail->stride))
        return -1;
    return finish_with(f, op, &i, 1);
}

int from_dynamic_broadcast_in_dim(struct from *f, const struct mlir_op *op)
{
    return from_broadcast_in_dim(f, op);
}

int from_dynamic_reshape(struct from *f, const struct mlir_op *op)
{
    struct hlo_instruction i = { .op = OPCODE_RESHAPE, .detail = HLO_NEW_DETAIL };
    return finish_with(f, op, &i, 1);
}

int from_dynamic_iota(struct from *f, const struct mlir_op *op)
{
    struct hlo_instruction i = { .op = OPCODE_IOTA, .detail = HLO_NEW_DETAIL };
    return from_attributes(f, op, &i) ? -1 : finish_with(f, op, &i, 0);
}

int from_dynamic_pad(struct from *f, const struct mlir_op *op)
{
    struct hlo_instruction i = { .op = OPCODE_PAD, .detail = HLO_NEW_DETAIL };

    if (operand_ints(f, op, 2, "the padding in front", &i.detail->low) ||
        operand_ints(f, op, 3, "the padding behind", &i.detail->high) ||
        operand_ints(f, op, 4, "the padding between", &i.detail->interior))
        return -1;
    return finish_with(f, op, &i, 2);
}

int from_dynamic_gather(struct from *f, const struct mlir_op *op)
{
    struct hlo_instruction i = { .op = OPCODE_GATHER, .detail = HLO_NEW_DETAIL };

    if (from_gather(f, op, &i) || operand_ints(f, op, 2, "the size of slices", &i.detail->sizes))
        return -1;
    return finish_with(f, op, &i, 2);
}

int from_dynamic_conv(struct from *f, const struct mlir_op *op)
{
    struct hlo_instruction i = { .op = OPCODE_CONVOLUTION, .detail = HLO_NEW_DETAIL };
    struct hlo_ints padding;

    if (operand_ints(f, op, 2, "the padding", &padding) || from_conv(f, op, &i) ||
        from_window(f, op, &i) || from_precision(f, op, &i))
        return -1;
    if (padding.count != 2 * hlo_detail(&i)->window_count)
        return from_fail(f, op, "the padding has %d numbers for %d dimensions", padding.count,
                         hlo_detail(&i)->window_count);
    struct hlo_window *w = arena_copy(f->scratch, hlo_detail(&i)->window,
                                      (size_t)hlo_detail(&i)->window_count, sizeof(*w));
    for (int k = 0; k < hlo_detail(&i)->window_count; k++) {
        w[k].pad_low = padding.item[2 * k];
        w[k].pad_high = padding.item[2 * k + 1];
    }
    i.detail->window = w;
    return finish_with(f, op, &i, 2);
}
