/*
 * Infers and checks the shapes of elementwise operations, and holds what the rules of the other
 * operations share.
 */
#include "stack/hlo/graph_shape_impl.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const dtype_names[DTYPE_COUNT] = {
    [DTYPE_F32] = "f32", [DTYPE_BF16] = "bf16", [DTYPE_S32] = "s32", [DTYPE_PRED] = "pred",
    [DTYPE_U32] = "u32", [DTYPE_S8] = "s8", [DTYPE_U8] = "u8"};

const char *graph_dtype_name(enum graph_dtype dtype)
{
    assert(dtype < DTYPE_COUNT);
    return dtype_names[dtype];
}

double graph_identity(enum graph_reduce kind, enum graph_dtype dtype)
{
    static const struct {
        double lowest, highest, ones;
    } limits[DTYPE_COUNT] = {
        [DTYPE_F32] = {(double)-INFINITY, (double)INFINITY, 0.0},
        [DTYPE_BF16] = {(double)-INFINITY, (double)INFINITY, 0.0},
        [DTYPE_S32] = {INT32_MIN, INT32_MAX, -1.0},
        [DTYPE_U32] = {0.0, UINT32_MAX, UINT32_MAX},
        [DTYPE_S8] = {INT8_MIN, INT8_MAX, -1.0},
        [DTYPE_U8] = {0.0, UINT8_MAX, UINT8_MAX},
        [DTYPE_PRED] = {0.0, 1.0, 1.0}};

    switch (kind) {
    case REDUCE_MUL: return 1.0;
    case REDUCE_AND: return limits[dtype].ones;
    case REDUCE_MAX: case REDUCE_ARGMAX: return limits[dtype].lowest;
    case REDUCE_MIN: case REDUCE_ARGMIN: return limits[dtype].highest;
    default: return 0.0;
    }
}

bool graph_dtype_is_float(enum graph_dtype dtype)
{
    return dtype == DTYPE_F32 || dtype == DTYPE_BF16;
}

bool graph_dims_have(const int *dims, int count, int dim)
{
    for (int i = 0; i < count; i++)
        if (dims[i] == dim)
            return true;
    return false;
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
    size_t used = (size_t)snprintf(buf, buf_bytes, "%s[", graph_dtype_name(s->dtype));

    for (int i = 0; i < s->rank && used < buf_bytes; i++)
        used += (size_t)snprintf(buf + used, buf_bytes - used, "%s%" PRId64, i ? "," : "",
                                 s->dim[i]);
    if (used < buf_bytes)
        snprintf(buf + used, buf_bytes - used, "]");
    return buf;
}

int shape_infer_check_dims(const struct graph_node *n, const struct shape *s, struct err *e)
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

int shape_infer_bad_type(const struct graph_node *n, const struct shape *s, struct err *e)
{
    char text[128];

    return err_set(e, "%s: %s does not take %s", n->name, graph_op_name(n->op),
                   shape_print(s, text, sizeof(text)));
}

int shape_infer_bad_pair(const struct graph_node *n, const struct shape *a, const struct shape *b,
                         struct err *e)
{
    char left[128], right[128];

    return err_set(e, "%s: shapes %s and %s do not fit", n->name,
                   shape_print(a, left, sizeof(left)), shape_print(b, right, sizeof(right)));
}

int shape_infer_check_list(const struct graph_node *n, const char *what, const int *dims, int count,
                           int rank, struct err *e)
{
    uint32_t seen = 0;

    if (count < 0 || count > rank)
        return err_set(e, "%s: %d %s of %d dimensions", n->name, count, what, rank);
    for (int i = 0; i < count; i++) {
        if (dims[i] < 0 || dims[i] >= rank)
            return err_set(e, "%s: %s: entry %d is %d, not in 0..%d", n->name, what, i, dims[i],
                           rank - 1);
        if (seen & (1u << dims[i]))
            return err_set(e, "%s: %s name dimension %d twice", n->name, what, dims[i]);
        seen |= 1u << dims[i];
    }
    return 0;
}

static int infer_source(const struct graph *g, const struct graph_node *n, struct shape *out,
                        struct err *e)
{
    const struct shape *seed;

    *out = n->shape;
    if (shape_infer_check_dims(n, out, e) != 0)
        return -1;
    if (n->op == HLO_RNG_BITS) {
        seed = shape_of_operand(g, n, 0);
        if (seed->rank != 0 || seed->dtype != DTYPE_S32)
            return shape_infer_bad_type(n, seed, e);
        if (out->dtype != DTYPE_U32)
            return err_set(e, "%s: random bits are u32", n->name);
    }
    if ((n->op == HLO_PARTITION_ID || n->op == HLO_REPLICA_ID) &&
        (out->rank != 0 || (out->dtype != DTYPE_U32 && !(n->literal && out->dtype == DTYPE_S32))))
        return err_set(e, "%s: a device's number is a u32 scalar", n->name);
    if (n->op != HLO_IOTA)
        return 0;
    if (!shape_has_type(out, NUMBERS))
        return shape_infer_bad_type(n, out, e);
    if (n->dim < 0 || n->dim >= out->rank)
        return err_set(e, "%s: iota dimension %d is not in 0..%d", n->name, n->dim,
                       out->rank - 1);
    return 0;
}

static int infer_converted(const struct graph_node *n, struct shape *out, struct err *e)
{
    unsigned types = graph_op_types(n->op);

    if (!shape_has_type(out, types))
        return shape_infer_bad_type(n, out, e);
    out->dtype = n->shape.dtype;
    return shape_has_type(out, types) ? 0 : shape_infer_bad_type(n, out, e);
}

static int infer_elementwise(const struct graph *g, const struct graph_node *n,
                             struct shape *out, struct err *e)
{

    *out = *shape_of_operand(g, n, 0);
    if (n->op == HLO_CONVERT || n->op == HLO_BITCAST_CONVERT)
        return infer_converted(n, out, e);
    if (!shape_has_type(out, graph_op_types(n->op)))
        return shape_infer_bad_type(n, out, e);
    if (n->operand_count == 2 && !shape_equal(out, shape_of_operand(g, n, 1)))
        return shape_infer_bad_pair(n, out, shape_of_operand(g, n, 1), e);
    if (n->op == HLO_COMPARE && n->direction > COMPARE_GE)
        return err_set(e, "%s: unknown comparison %d", n->name, (int)n->direction);
    if (n->op == HLO_COMPARE || n->op == HLO_IS_FINITE)
        out->dtype = DTYPE_PRED;
    return 0;
}

static bool fits_or_scalar(const struct shape *a, const struct shape *out)
{
    return a->rank == 0 || shape_same_dims(a, out);
}

static int infer_select(const struct graph *g, const struct graph_node *n, struct shape *out,
                        struct err *e)
{
    const struct shape *pred = shape_of_operand(g, n, 0);

    *out = *shape_of_operand(g, n, 1);
    if (pred->dtype != DTYPE_PRED)
        return shape_infer_bad_type(n, pred, e);
    if (!fits_or_scalar(pred, out))
        return shape_infer_bad_pair(n, pred, out, e);
    if (!shape_equal(out, shape_of_operand(g, n, 2)))
        return shape_infer_bad_pair(n, out, shape_of_operand(g, n, 2), e);
    return 0;
}

static int infer_clamp(const struct graph *g, const struct graph_node *n, struct shape *out,
                       struct err *e)
{
    *out = *shape_of_operand(g, n, 1);
    if (!shape_has_type(out, graph_op_types(n->op)))
        return shape_infer_bad_type(n, out, e);
    for (int i = 0; i < 3; i += 2) {
        const struct shape *bound = shape_of_operand(g, n, i);

        if (bound->dtype != out->dtype || !fits_or_scalar(bound, out))
            return shape_infer_bad_pair(n, bound, out, e);
    }
    return 0;
}

int graph_infer(const struct graph *g, const struct graph_node *n, struct shape *out,
                struct err *e)
{
    bool may_have_none = n->op == HLO_FUSION || n->op == HLO_MOSAIC;

    if (n->operand_count < 1 && graph_op_arity(n->op) < 0 && !may_have_none)
        return err_set(e, "%s: %s takes at least one operand", n->name, graph_op_name(n->op));
    switch (graph_op_kind(n->op)) {
    case KIND_SOURCE:
        return infer_source(g, n, out, e);
    case KIND_UNARY:
    case KIND_BINARY:
        return infer_elementwise(g, n, out, e);
    case KIND_OTHER:
        return n->op == HLO_CLAMP ? infer_clamp(g, n, out, e) : infer_select(g, n, out, e);
    case KIND_SHAPE:
        return shape_infer_shape_op(g, n, out, e);
    case KIND_DOT:
        return shape_infer_dot(g, n, out, e);
    case KIND_CONV:
        return shape_infer_convolution(g, n, out, e);
    case KIND_REDUCE:
        return shape_infer_reduce(g, n, out, e);
    case KIND_WINDOW:
        return shape_infer_windowed(g, n, out, e);
    case KIND_INDEX:
        return shape_infer_indexed(g, n, out, e);
    case KIND_SORT:
        return shape_infer_sorted(g, n, out, e);
    case KIND_TUPLE:
        return shape_infer_tuple(g, n, out, e);
    case KIND_CALL:
        return shape_infer_call(g, n, out, e);
    case KIND_COLLECTIVE:
        return shape_infer_collective(g, n, out, e);
    case KIND_MESSAGE:
        return shape_infer_message(g, n, out, e);
    }
    return err_set(e, "%s: unknown operation", n->name);
}
