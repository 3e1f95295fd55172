/* Operations that HLO has in another shape: constants, broadcasts, products, barriers. */
#include "import/stablehlo/from.h"

#include <string.h>

int from_constant(struct from *f, const struct mlir_op *op)
{
    struct hlo_instruction i = { .op = OPCODE_CONSTANT, .detail = HLO_NEW_DETAIL };

    if (op->result_count != 1)
        return from_fail(f, op, "it has %d results and not one", op->result_count);
    if (from_literal(f, op, mlir_op_attr(op, "value"), &i.literal))
        return -1;
    i.type = &i.literal->type;
    return from_finish(f, op, &i);
}

int from_forward(struct from *f, const struct mlir_op *op)
{
    int x;

    if (op->operand_count != 1 || op->result_count != 1)
        return from_fail(f, op, "it has %d operands and not one", op->operand_count);
    if ((x = from_operand(f, op, op->operand[0])) < 0)
        return -1;
    from_define(f, &op->result[0], x);
    return 0;
}

int from_nothing(struct from *f, const struct mlir_op *op)
{
    return op->result_count ? from_fail(f, op, "it has results") : 0;
}

int from_copy(struct from *f, const struct mlir_op *op)
{
    return from_plain(f, op, OPCODE_COPY);
}

int from_quantized(struct from *f, const struct mlir_op *op)
{
    return from_fail(f, op, "quantized types are not known");
}

int from_create_token(struct from *f, const struct mlir_op *op)
{
    return from_plain(f, op, OPCODE_AFTER_ALL);
}

/* StableHLO's third operand is the shape, which the result's type has too */
int from_random(struct from *f, const struct mlir_op *op)
{
    struct hlo_instruction i = { .op = OPCODE_RNG, .detail = HLO_NEW_DETAIL, .operand_count = 2 };
    int *x;

    if (op->operand_count != 3 || op->result_count != 1)
        return from_fail(f, op, "it has %d operands and not 3", op->operand_count);
    if (from_attributes(f, op, &i) || from_result_type(f, op, &i.type) ||
        !(x = from_operands(f, op)))
        return -1;
    i.operand = x;
    return from_finish(f, op, &i);
}

int from_barrier(struct from *f, const struct mlir_op *op)
{
    struct hlo_instruction i = {
        .op = OPCODE_OPT_BARRIER, .detail = HLO_NEW_DETAIL, .operand_count = 1};
    int *x = from_operands(f, op);

    if (!x || from_result_type(f, op, &i.type))
        return -1;
    int state = op->operand_count == 1 ? x[0] : hlo_tuple(&f->b, op->operand_count, x);
    if (!hlo_type_equal(hlo_type_of(&f->b, state), i.type))
        return from_fail(f, op, "its results are of other types than its operands");
    i.operand = &state;
    return from_finish(f, op, &i);
}

static int check_broadcast(struct from *f, const struct mlir_op *op, const struct hlo_type *from,
                           struct hlo_ints dims, const struct hlo_type *to)
{
    if (hlo_type_is_tuple(from) || hlo_type_is_tuple(to) || from->element != to->element)
        return from_fail(f, op, "operand and result are of different elements");
    if (dims.count != from->rank)
        return from_fail(f, op, "broadcast_dimensions has %d numbers for rank %d", dims.count,
                         from->rank);
    for (int d = 0; d < dims.count; d++) {
        if (dims.item[d] < 0 || dims.item[d] >= to->rank)
            return from_fail(f, op, "the result has no dimension %lld", (long long)dims.item[d]);
        int64_t old = from->dim[d], new = to->dim[dims.item[d]];
        if (old != new && old != 1)
            return from_fail(f, op, "a dimension of %lld becomes one of %lld", (long long)old,
                             (long long)new);
    }
    return 0;
}

/* dimensions of size one that are stretched are left away by a reshape before HLO's broadcast */
int from_broadcast_of(struct from *f, const struct mlir_op *op, int x, struct hlo_ints dims,
                      const struct hlo_type *to)
{
    const struct hlo_type *from = hlo_type_of(&f->b, x);
    int64_t *kept = arena_array(f->scratch, (size_t)from->rank + 1, sizeof(*kept));
    int64_t *kept_dims = arena_array(f->scratch, (size_t)from->rank + 1, sizeof(*kept_dims));
    int rank = 0, all = from->rank;

    if (check_broadcast(f, op, from, dims, to))
        return -1;
    for (int d = 0; d < all; d++) {
        if (from->dim[d] != to->dim[dims.item[d]])
            continue;
        kept[rank] = from->dim[d];
        kept_dims[rank++] = dims.item[d];
    }
    if (rank < all)
        x = hlo_reshape(&f->b, x, rank, kept);
    struct hlo_instruction i = {.op = OPCODE_BROADCAST,
                                .type = to,
                                .operand_count = 1,
                                .operand = &x,
                                .detail = &(struct hlo_detail){.dims = {rank, kept_dims}}};
    return from_finish(f, op, &i);
}

int from_broadcast_in_dim(struct from *f, const struct mlir_op *op)
{
    struct hlo_ints dims;
    const struct hlo_type *to;
    int *x;

    if (op->operand_count < 1 || op->result_count != 1)
        return from_fail(f, op, "it has %d operands and not one", op->operand_count);
    if (from_ints(f, op, "broadcast_dimensions", mlir_op_attr(op, "broadcast_dimensions"), &dims) ||
        from_result_type(f, op, &to) || !(x = from_operands(f, op)))
        return -1;
    return from_broadcast_of(f, op, x[0], dims, to);
}

/* new dimensions in front of those of the operand */
int from_broadcast(struct from *f, const struct mlir_op *op)
{
    const struct hlo_type *to;
    int *x;

    if (op->operand_count != 1 || op->result_count != 1)
        return from_fail(f, op, "it has %d operands and not one", op->operand_count);
    if (from_result_type(f, op, &to) || !(x = from_operands(f, op)))
        return -1;
    int rank = hlo_type_of(&f->b, x[0])->rank;
    int64_t *dims = arena_array(f->scratch, (size_t)rank + 1, sizeof(*dims));
    for (int d = 0; d < rank; d++)
        dims[d] = to->rank - rank + d;
    return from_broadcast_of(f, op, x[0], (struct hlo_ints){ rank, dims }, to);
}

int from_dot_general(struct from *f, const struct mlir_op *op)
{
    return from_plain(f, op, OPCODE_DOT);
}

int from_ragged_dot(struct from *f, const struct mlir_op *op)
{
    return from_plain(f, op, OPCODE_RAGGED_DOT);
}

/* the last dimension with the first */
int from_plain_dot(struct from *f, const struct mlir_op *op)
{
    struct hlo_instruction i = { .op = OPCODE_DOT, .detail = HLO_NEW_DETAIL, .operand_count = 2 };
    struct hlo_dot *d = arena_alloc(f->scratch, sizeof(*d));
    int64_t zero = 0;
    int *x;

    if (op->operand_count != 2)
        return from_fail(f, op, "it has %d operands and not 2", op->operand_count);
    if (from_precision(f, op, &i) || from_result_type(f, op, &i.type) || !(x = from_operands(f, op)))
        return -1;
    int64_t last = hlo_type_of(&f->b, x[0])->rank - 1;
    if (last < 0 || hlo_type_of(&f->b, x[1])->rank == 0)
        return from_fail(f, op, "an operand has no dimensions");
    d->lhs_contract = hlo_ints_copy(f->scratch, &last, 1);
    d->rhs_contract = hlo_ints_copy(f->scratch, &zero, 1);
    i.detail->dot = d;
    i.operand = x;
    return from_finish(f, op, &i);
}
