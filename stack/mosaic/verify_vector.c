/* What operations on vectors, semaphores and copies ask of the types of their operands. */
#include "stack/mosaic/verify_impl.h"

static bool same_dims(const struct mosaic_type *a, const struct mosaic_type *b, uint32_t but)
{
    if (a->rank != b->rank)
        return false;
    for (int d = 0; d < a->rank; d++)
        if (!(but >> d & 1) && a->dim[d] != b->dim[d])
            return false;
    return true;
}

static uint32_t dims_of(const struct mosaic_op *op, const char *name)
{
    const struct mosaic_attr *a = mosaic_attr(op, name);
    uint32_t mask = 0;

    if (a && a->kind == MOSAIC_ATTR_INT && a->integer >= 0 && a->integer < MOSAIC_RANK_MAX)
        return 1u << a->integer;
    for (int i = 0; a && a->kind == MOSAIC_ATTR_INTS && i < a->count; i++)
        if (a->ints[i] >= 0 && a->ints[i] < MOSAIC_RANK_MAX)
            mask |= 1u << a->ints[i];
    return mask;
}

static int wrong(const struct mosaic_kernel *k, const struct mosaic_op *op, int operand,
                 struct err *e)
{
    char a[96], b[96];

    return mosaic_refuse(k, op, e, "operand %d is %s, the result %s", operand,
                         mosaic_type_print(&op->operand[operand]->type, a, sizeof(a)),
                         mosaic_type_print(&op->result[0]->type, b, sizeof(b)));
}

/* elements of an operand without the dimensions in `mask` */
static int64_t elements_left(const struct mosaic_type *t, uint32_t mask)
{
    int64_t n = 1;

    for (int d = 0; d < t->rank; d++)
        if (!(mask >> d & 1))
            n *= t->dim[d];
    return n;
}

static bool is_array(const struct mosaic_type *t) { return t->kind == MOSAIC_VECTOR; }

static int check_moved(const struct mosaic_kernel *k, const struct mosaic_op *op, struct err *e)
{
    const struct mosaic_type *t = &op->result[0]->type, *from = &op->operand[0]->type;
    uint32_t along = dims_of(op, "dimension");

    switch (op->code) {
    case MOSAIC_CONCATENATE:
        for (int i = 0; i < op->operand_count; i++)
            if (!same_dims(&op->operand[i]->type, t, along))
                return wrong(k, op, i, e);
        return 0;
    case MOSAIC_REPEAT: case MOSAIC_GATHER:
        return same_dims(from, t, along) ? 0 : wrong(k, op, 0, e);
    case MOSAIC_STRIDED_SLICE: case MOSAIC_TRANSPOSE: case MOSAIC_VECTOR_TRANSPOSE:
        return from->rank == t->rank ? 0 : wrong(k, op, 0, e);
    case MOSAIC_ROTATE: case MOSAIC_DYNAMIC_ROTATE: case MOSAIC_ALL_REDUCE:
        return same_dims(from, t, 0) ? 0 : wrong(k, op, 0, e);
    case MOSAIC_DYNAMIC_GATHER:
        if (!same_dims(&op->operand[1]->type, t, 0))
            return wrong(k, op, 1, e);
        return same_dims(from, t, dims_of(op, "dimensions")) ? 0 : wrong(k, op, 0, e);
    default: return 0;
    }
}

static int check_transposed(const struct mosaic_kernel *k, const struct mosaic_op *op,
                            struct err *e)
{
    const struct mosaic_attr *p = mosaic_attr(op, "permutation");
    const struct mosaic_type *t = &op->result[0]->type, *from = &op->operand[0]->type;

    if (!p || p->kind != MOSAIC_ATTR_INTS || p->count != t->rank)
        return mosaic_refuse(k, op, e, "no permutation of its dimensions");
    for (int d = 0; d < t->rank; d++)
        if (p->ints[d] < 0 || p->ints[d] >= t->rank || from->dim[p->ints[d]] != t->dim[d])
            return wrong(k, op, 0, e);
    return 0;
}

static int check_combined(const struct mosaic_kernel *k, const struct mosaic_op *op, struct err *e)
{
    const struct mosaic_type *t = &op->result[0]->type, *from = &op->operand[0]->type;
    struct mosaic_dot dot;

    switch (op->code) {
    case MOSAIC_MULTI_REDUCTION:
        if (mosaic_elements(&op->operand[1]->type) != mosaic_elements(t))
            return wrong(k, op, 1, e);
        return elements_left(from, dims_of(op, "reduction_dims")) == mosaic_elements(t)
                   ? 0 : wrong(k, op, 0, e);
    case MOSAIC_REDUCE_INDEX:
        return elements_left(from, dims_of(op, "axis")) == mosaic_elements(t)
                   ? 0 : wrong(k, op, 0, e);
    case MOSAIC_MATMUL:
        if (!is_array(&op->operand[1]->type) || !is_array(from))
            return wrong(k, op, 1, e);
        if (!mosaic_type_equal(&op->operand[2]->type, t))
            return wrong(k, op, 2, e);
        if (mosaic_dot_of(op, &dot, e))
            return mosaic_refuse(k, op, e, "%s", e->msg);
        for (int b = 0; b < dot.batch_count; b++)
            if (from->dim[dot.lhs_batch[b]] != op->operand[1]->type.dim[dot.rhs_batch[b]])
                return wrong(k, op, 1, e);
        return 0;
    case MOSAIC_PACK_ELEMENTWISE: case MOSAIC_UNPACK_ELEMENTWISE: case MOSAIC_STOCHASTIC_CONVERT:
        for (int i = 0; i < op->operand_count; i++)
            if (mosaic_elements(&op->operand[i]->type) != mosaic_elements(t))
                return wrong(k, op, i, e);
        return 0;
    default: return 0;
    }
}

int mosaic_verify_vector(const struct mosaic_kernel *k, const struct mosaic_op *op, struct err *e)
{
    bool is_own = op->code >= MOSAIC_BROADCAST && op->code <= MOSAIC_PRNG_BITS;

    if (!is_own)
        return 0;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operand[i]->type.kind == MOSAIC_REF)
            return mosaic_refuse(k, op, e, "operand %d is memory", i);
    if (op->result_count == 0 || op->operand_count == 0 || op->code == MOSAIC_BROADCAST ||
        op->code == MOSAIC_CREATE_MASK)
        return op->result_count && op->result[0]->type.kind == MOSAIC_REF
                   ? mosaic_refuse(k, op, e, "its result is memory") : 0;
    if (!is_array(&op->operand[0]->type) || op->result[0]->type.kind == MOSAIC_REF)
        return wrong(k, op, 0, e);
    if ((op->code == MOSAIC_TRANSPOSE || op->code == MOSAIC_VECTOR_TRANSPOSE) &&
        check_transposed(k, op, e))
        return -1;
    return check_moved(k, op, e) || check_combined(k, op, e) ? -1 : 0;
}

/* Semaphores and what is copied are references. */
int mosaic_verify_memory(const struct mosaic_kernel *k, const struct mosaic_op *op, struct err *e)
{
    switch (op->code) {
    case MOSAIC_ALLOCA: case MOSAIC_SEM_ALLOC: case MOSAIC_SEM_BARRIER:
        return mosaic_is_ref(op->result[0]) ? 0 : mosaic_refuse(k, op, e, "it gives no memory");
    case MOSAIC_SLICE: case MOSAIC_SQUEEZE: case MOSAIC_REF_RESHAPE: case MOSAIC_REF_BITCAST:
    case MOSAIC_REINTERPRET: case MOSAIC_ERASE_LAYOUT: case MOSAIC_DIM:
        if (op->operand_count < 1 || !mosaic_is_ref(op->operand[0]) ||
            (op->code != MOSAIC_DIM && !mosaic_is_ref(op->result[0])))
            return mosaic_refuse(k, op, e, "it is of no memory");
        for (int i = 1; i < op->operand_count; i++)
            if (op->operand[i]->type.kind != MOSAIC_SCALAR)
                return mosaic_refuse(k, op, e, "operand %d is no scalar", i);
        return 0;
    case MOSAIC_SEM_READ: case MOSAIC_SEM_WAIT: case MOSAIC_SEM_SIGNAL:
        if (op->operand_count < 1 || !mosaic_is_ref(op->operand[0]) ||
            (op->code != MOSAIC_SEM_READ &&
             (op->operand_count < 2 || op->operand[1]->type.kind != MOSAIC_SCALAR)))
            return mosaic_refuse(k, op, e, "it names no semaphore, or no amount");
        return 0;
    case MOSAIC_ENQUEUE_DMA: case MOSAIC_WAIT_DMA: case MOSAIC_WAIT_DMA2:
        for (int g = 0; g < (op->code == MOSAIC_WAIT_DMA2 ? 3 : 4); g++)
            if (mosaic_in_group(op, g) && !mosaic_is_ref(mosaic_in_group(op, g)))
                return mosaic_refuse(k, op, e, "operand of group %d is no memory", g);
        return 0;
    default: return 0;
    }
}
