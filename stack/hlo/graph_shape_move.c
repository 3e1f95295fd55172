/* Infers the shapes of the operations that move data by a fixed rule. */
#include "stack/hlo/graph_shape_impl.h"

#include <inttypes.h>

static int infer_broadcast(const struct graph_node *n, const struct shape *a, struct shape *out,
                           struct err *e)
{
    *out = n->shape;
    if (shape_infer_check_dims(n, out, e) != 0)
        return -1;
    if (a->dtype != out->dtype)
        return shape_infer_bad_pair(n, a, out, e);
    for (int i = 0; i < a->rank; i++) {
        if (n->dims[i] < 0 || n->dims[i] >= out->rank || (i > 0 && n->dims[i] <= n->dims[i - 1]))
            return err_set(e, "%s: dims[%d] is %d; dims must rise within 0..%d", n->name, i,
                           n->dims[i], out->rank - 1);
        if (a->dim[i] != out->dim[n->dims[i]])
            return shape_infer_bad_pair(n, a, out, e);
    }
    return 0;
}

static int infer_reshape(const struct graph_node *n, const struct shape *a, struct shape *out,
                         struct err *e)
{
    *out = n->shape;
    if (shape_infer_check_dims(n, out, e) != 0)
        return -1;
    if (a->dtype != out->dtype || shape_elems(a) != shape_elems(out))
        return shape_infer_bad_pair(n, a, out, e);
    return 0;
}

static int infer_transpose(const struct graph_node *n, const struct shape *a, struct shape *out,
                           struct err *e)
{
    uint32_t seen = 0;

    *out = *a;
    for (int i = 0; i < a->rank; i++) {
        if (n->dims[i] < 0 || n->dims[i] >= a->rank || (seen & (1u << n->dims[i])))
            return err_set(e, "%s: dims[%d] is %d; dims must permute 0..%d", n->name, i,
                           n->dims[i], a->rank - 1);
        seen |= 1u << n->dims[i];
        out->dim[i] = a->dim[n->dims[i]];
    }
    return 0;
}

static int infer_slice(const struct graph_node *n, const struct shape *a, struct shape *out,
                       struct err *e)
{
    *out = *a;
    for (int i = 0; i < a->rank; i++) {
        int64_t start = n->start[i], limit = n->limit[i], stride = n->stride[i];

        if (start < 0 || limit <= start || limit > a->dim[i] || stride < 1)
            return err_set(e, "%s: dimension %d: [%" PRId64 ":%" PRId64 ":%" PRId64 "] is no "
                           "slice of %" PRId64 " elements", n->name, i, start, limit, stride,
                           a->dim[i]);
        out->dim[i] = (limit - start - 1) / stride + 1;
    }
    return 0;
}

static int infer_pad(const struct graph_node *n, const struct shape *a, const struct shape *value,
                     struct shape *out, struct err *e)
{
    *out = *a;
    if (value->rank != 0 || value->dtype != a->dtype)
        return shape_infer_bad_pair(n, a, value, e);
    for (int i = 0; i < a->rank; i++) {
        if (n->interior[i] < 0 || n->interior[i] > SHAPE_ELEMS_MAX / a->dim[i] ||
            n->low[i] > SHAPE_ELEMS_MAX || n->high[i] > SHAPE_ELEMS_MAX ||
            n->low[i] < -SHAPE_ELEMS_MAX || n->high[i] < -SHAPE_ELEMS_MAX)
            return err_set(e, "%s: dimension %d: padding %" PRId64 "_%" PRId64 "_%" PRId64
                           " is out of range", n->name, i, n->low[i], n->high[i],
                           n->interior[i]);
        out->dim[i] += (a->dim[i] - 1) * n->interior[i] + n->low[i] + n->high[i];
    }
    return shape_infer_check_dims(n, out, e);
}

static int infer_concatenate(const struct graph *g, const struct graph_node *n,
                             struct shape *out, struct err *e)
{
    *out = *shape_of_operand(g, n, 0);
    if (n->dim < 0 || n->dim >= out->rank)
        return err_set(e, "%s: dimension %d is not in 0..%d", n->name, n->dim, out->rank - 1);
    for (int i = 1; i < n->operand_count; i++) {
        struct shape other = *shape_of_operand(g, n, i);
        int64_t length = other.rank == out->rank ? other.dim[n->dim] : 0;

        if (other.rank == out->rank)
            other.dim[n->dim] = out->dim[n->dim];
        if (!shape_equal(&other, out))
            return shape_infer_bad_pair(n, shape_of_operand(g, n, 0), shape_of_operand(g, n, i), e);
        out->dim[n->dim] += length;
    }
    return shape_infer_check_dims(n, out, e);
}

int shape_infer_shape_op(const struct graph *g, const struct graph_node *n, struct shape *out,
                         struct err *e)
{
    const struct shape *a = shape_of_operand(g, n, 0);

    switch (n->op) {
    case HLO_BROADCAST:
        return infer_broadcast(n, a, out, e);
    case HLO_RESHAPE:
        return infer_reshape(n, a, out, e);
    case HLO_TRANSPOSE:
        return infer_transpose(n, a, out, e);
    case HLO_SLICE:
        return infer_slice(n, a, out, e);
    case HLO_PAD:
        return infer_pad(n, a, shape_of_operand(g, n, 1), out, e);
    case HLO_CONCATENATE:
        return infer_concatenate(g, n, out, e);
    default:                            /* HLO_REVERSE */
        *out = *a;
        return shape_infer_check_list(n, "dimensions", n->dims, n->dim, a->rank, e);
    }
}
