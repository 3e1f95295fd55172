#include "stack/graph_shape.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define TYPE(dtype) (1u << (dtype))
#define FLOATS (TYPE(DTYPE_F32) | TYPE(DTYPE_BF16))
#define NUMBERS (FLOATS | TYPE(DTYPE_S32))

static const struct {
    const char *name;
    int arity;
    enum graph_op_kind kind;
} ops[] = {
#define HLO(id, text, operands, group, meaning) {text, operands, KIND_##group},
#include "stack/hlo_ops.def"
};

static const char *const dtype_names[DTYPE_COUNT] = {"f32", "bf16", "s32", "pred"};

const char *graph_op_name(enum graph_op op)
{
    assert(op < HLO_COUNT);
    return ops[op].name;
}

enum graph_op_kind graph_op_kind(enum graph_op op)
{
    assert(op < HLO_COUNT);
    return ops[op].kind;
}

int graph_op_arity(enum graph_op op)
{
    assert(op < HLO_COUNT);
    return ops[op].arity;
}

static const char *dtype_name(enum graph_dtype dtype)
{
    assert(dtype < DTYPE_COUNT);
    return dtype_names[dtype];
}

struct shape shape_make(enum graph_dtype dtype, int rank, const int64_t *dim)
{
    struct shape s = {.dtype = dtype, .rank = rank};

    assert(rank >= 0 && rank <= GRAPH_RANK_MAX);
    for (int i = 0; i < rank; i++)
        s.dim[i] = dim[i];
    return s;
}

struct shape shape_scalar(enum graph_dtype dtype)
{
    return shape_make(dtype, 0, NULL);
}

bool shape_same_dims(const struct shape *a, const struct shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

bool shape_equal(const struct shape *a, const struct shape *b)
{
    return a->dtype == b->dtype && shape_same_dims(a, b);
}

int64_t shape_elems(const struct shape *s)
{
    int64_t elems = 1;

    for (int i = 0; i < s->rank; i++)
        elems *= s->dim[i];
    return elems;
}

char *shape_print(const struct shape *s, char *buf, size_t buf_bytes)
{
    size_t used = (size_t)snprintf(buf, buf_bytes, "%s[", dtype_name(s->dtype));

    for (int i = 0; i < s->rank && used < buf_bytes; i++)
        used += (size_t)snprintf(buf + used, buf_bytes - used, "%s%" PRId64, i ? "," : "",
                                 s->dim[i]);
    if (used < buf_bytes)
        snprintf(buf + used, buf_bytes - used, "]");
    return buf;
}

static const struct shape *operand_shape(const struct graph *g, const struct graph_node *n, int i)
{
    return &g->node[n->operand[i]].shape;
}

static int check_dims(const struct graph_node *n, const struct shape *s, struct err *e)
{
    int64_t elems = 1;

    if ((unsigned)s->dtype >= DTYPE_COUNT)
        return err_set(e, "%s: unknown element type %d", n->name, (int)s->dtype);
    if (s->rank < 0 || s->rank > GRAPH_RANK_MAX)
        return err_set(e, "%s: rank %d is not in 0..%d", n->name, s->rank, GRAPH_RANK_MAX);
    for (int i = 0; i < s->rank; i++) {
        if (s->dim[i] < 1 || s->dim[i] > SHAPE_ELEMS_MAX / elems)
            return err_set(e, "%s: dimension %d is %" PRId64 "; each must be at least 1 and the "
                           "product at most %lld", n->name, i, s->dim[i], SHAPE_ELEMS_MAX);
        elems *= s->dim[i];
    }
    return 0;
}

static int bad_type(const struct graph_node *n, const struct shape *s, struct err *e)
{
    char text[128];

    return err_set(e, "%s: %s does not take %s", n->name, graph_op_name(n->op),
                   shape_print(s, text, sizeof(text)));
}

static int bad_pair(const struct graph_node *n, const struct shape *a, const struct shape *b,
                    struct err *e)
{
    char left[128], right[128];

    return err_set(e, "%s: shapes %s and %s do not fit", n->name,
                   shape_print(a, left, sizeof(left)), shape_print(b, right, sizeof(right)));
}

static int infer_source(const struct graph_node *n, struct shape *out, struct err *e)
{
    *out = n->shape;
    if (check_dims(n, out, e) != 0)
        return -1;
    if (n->op != HLO_IOTA)
        return 0;
    if (out->dtype != DTYPE_F32 && out->dtype != DTYPE_S32)
        return bad_type(n, out, e);
    if (n->dim < 0 || n->dim >= out->rank)
        return err_set(e, "%s: iota dimension %d is not in 0..%d", n->name, n->dim,
                       out->rank - 1);
    return 0;
}

static unsigned elementwise_types(enum graph_op op)
{
    switch (op) {
    case HLO_EXP:
    case HLO_LOG:
    case HLO_SQRT:
    case HLO_RSQRT:
    case HLO_TANH:
    case HLO_LOGISTIC:
    case HLO_DIVIDE:
        return FLOATS;
    case HLO_NOT:
    case HLO_AND:
    case HLO_OR:
        return TYPE(DTYPE_PRED);
    default:
        return NUMBERS;
    }
}

static int infer_elementwise(const struct graph *g, const struct graph_node *n,
                             struct shape *out, struct err *e)
{
    *out = *operand_shape(g, n, 0);
    if (n->op == HLO_CONVERT) {
        out->dtype = n->shape.dtype;
        return TYPE(out->dtype) & NUMBERS ? 0 : bad_type(n, out, e);
    }
    if (!(TYPE(out->dtype) & elementwise_types(n->op)))
        return bad_type(n, out, e);
    if (n->operand_count == 2 && !shape_equal(out, operand_shape(g, n, 1)))
        return bad_pair(n, out, operand_shape(g, n, 1), e);
    if (n->op == HLO_COMPARE) {
        if (n->direction > COMPARE_GE)
            return err_set(e, "%s: unknown comparison %d", n->name, (int)n->direction);
        out->dtype = DTYPE_PRED;
    }
    return 0;
}

static int infer_select(const struct graph *g, const struct graph_node *n, struct shape *out,
                        struct err *e)
{
    const struct shape *pred = operand_shape(g, n, 0);

    *out = *operand_shape(g, n, 1);
    if (pred->dtype != DTYPE_PRED)
        return bad_type(n, pred, e);
    if (!shape_same_dims(pred, out))
        return bad_pair(n, pred, out, e);
    if (!shape_equal(out, operand_shape(g, n, 2)))
        return bad_pair(n, out, operand_shape(g, n, 2), e);
    return 0;
}

static int infer_broadcast(const struct graph_node *n, const struct shape *a, struct shape *out,
                           struct err *e)
{
    *out = n->shape;
    if (check_dims(n, out, e) != 0)
        return -1;
    if (a->dtype != out->dtype)
        return bad_pair(n, a, out, e);
    for (int i = 0; i < a->rank; i++) {
        if (n->dims[i] < 0 || n->dims[i] >= out->rank || (i > 0 && n->dims[i] <= n->dims[i - 1]))
            return err_set(e, "%s: dims[%d] is %d; dims must rise within 0..%d", n->name, i,
                           n->dims[i], out->rank - 1);
        if (a->dim[i] != out->dim[n->dims[i]])
            return bad_pair(n, a, out, e);
    }
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

static int infer_shape_op(const struct graph *g, const struct graph_node *n, struct shape *out,
                          struct err *e)
{
    const struct shape *a = operand_shape(g, n, 0);

    if (n->op == HLO_BROADCAST)
        return infer_broadcast(n, a, out, e);
    if (n->op == HLO_TRANSPOSE)
        return infer_transpose(n, a, out, e);
    assert(n->op == HLO_RESHAPE);
    *out = n->shape;
    if (check_dims(n, out, e) != 0)
        return -1;
    if (a->dtype != out->dtype || shape_elems(a) != shape_elems(out))
        return bad_pair(n, a, out, e);
    return 0;
}

static int infer_dot(const struct graph *g, const struct graph_node *n, struct shape *out,
                     struct err *e)
{
    const struct shape *a = operand_shape(g, n, 0), *b = operand_shape(g, n, 1);

    if (!(TYPE(a->dtype) & FLOATS) || a->rank != 2)
        return bad_type(n, a, e);
    if (a->dtype != b->dtype || b->rank != 2)
        return bad_pair(n, a, b, e);
    if (n->lhs_contract < 0 || n->lhs_contract > 1 || n->rhs_contract < 0 || n->rhs_contract > 1)
        return err_set(e, "%s: contraction of dimensions %d and %d; each must be 0 or 1", n->name,
                       n->lhs_contract, n->rhs_contract);
    if (n->precision > PRECISION_HIGHEST)
        return err_set(e, "%s: unknown precision %d", n->name, (int)n->precision);
    if (a->dim[n->lhs_contract] != b->dim[n->rhs_contract])
        return bad_pair(n, a, b, e);
    *out = shape_make(DTYPE_F32, 2, (int64_t[]){a->dim[1 - n->lhs_contract],
                                                b->dim[1 - n->rhs_contract]});
    return check_dims(n, out, e);
}

static int infer_reduce(const struct graph *g, const struct graph_node *n, struct shape *out,
                        struct err *e)
{
    const struct shape *a = operand_shape(g, n, 0);

    if (!(TYPE(a->dtype) & NUMBERS))
        return bad_type(n, a, e);
    if (n->reduce_mask >> a->rank)
        return err_set(e, "%s: reduces a dimension above %d", n->name, a->rank - 1);
    if (n->reduce_kind > REDUCE_MIN)
        return err_set(e, "%s: unknown reduction %d", n->name, (int)n->reduce_kind);
    *out = shape_scalar(a->dtype);
    for (int i = 0; i < a->rank; i++)
        if (!(n->reduce_mask & (1u << i)))
            out->dim[out->rank++] = a->dim[i];
    return 0;
}

int graph_infer(const struct graph *g, const struct graph_node *n, struct shape *out,
                struct err *e)
{
    switch (graph_op_kind(n->op)) {
    case KIND_SOURCE:
        return infer_source(n, out, e);
    case KIND_UNARY:
    case KIND_BINARY:
        return infer_elementwise(g, n, out, e);
    case KIND_OTHER:
        return infer_select(g, n, out, e);
    case KIND_SHAPE:
        return infer_shape_op(g, n, out, e);
    case KIND_DOT:
        return infer_dot(g, n, out, e);
    case KIND_REDUCE:
        return infer_reduce(g, n, out, e);
    case KIND_COLLECTIVE:
        *out = *operand_shape(g, n, 0);
        return TYPE(out->dtype) & NUMBERS ? 0 : bad_type(n, out, e);
    }
    return err_set(e, "%s: unknown operation", n->name);
}
