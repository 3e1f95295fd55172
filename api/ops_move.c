/* The API's operations that move elements, and its products. */
#include "api/api.h"

#include <inttypes.h>
#include <string.h>

#include "stack/hlo/graph_shape.h"
#include "stack/nn/nn.h"

static const sy_tensor invalid = {NODE_NONE};

sy_tensor sy_reshape(sy_context *c, sy_tensor x, sy_shape shape)
{
    struct graph_node n = {.op = HLO_RESHAPE};
    struct err e;

    if (!api_are_valid(c, &x, 1))
        return invalid;
    if (api_shape(api_dtype(api_shape_of(c, x)->dtype), &shape, &n.shape, &e))
        return api_invalid(c, &e);
    n.shape.dtype = api_shape_of(c, x)->dtype;
    return api_add_node(c, &n, &x, 1);
}

sy_tensor sy_transpose(sy_context *c, sy_tensor x, const int *axes)
{
    struct graph_node n = {.op = HLO_TRANSPOSE};
    int rank;

    if (!api_are_valid(c, &x, 1))
        return invalid;
    rank = api_shape_of(c, x)->rank;
    for (int d = 0; d < rank; d++) {
        n.dims[d] = axes ? api_axis(c, x, axes[d]) : rank - 1 - d;
        if (n.dims[d] < 0)
            return invalid;
    }
    return api_add_node(c, &n, &x, 1);
}

sy_tensor sy_concatenate(sy_context *c, const sy_tensor *x, int count, int axis)
{
    struct graph_node n = {.op = HLO_CONCATENATE};
    struct err e;

    if (api_lacks(c, API_GIVEN(x)))
        return invalid;
    if (count < 1) {
        err_set(&e, "concatenate: there must be at least one array");
        return api_invalid(c, &e);
    }
    if (!api_are_valid(c, x, count))
        return invalid;
    n.dim = api_axis(c, x[0], axis);
    return n.dim < 0 ? invalid : api_add_node(c, &n, x, count);
}

sy_tensor sy_slice(sy_context *c, sy_tensor x, const int64_t *begin, const int64_t *end)
{
    struct graph_node n = {.op = HLO_SLICE};

    if (api_lacks(c, API_GIVEN(begin, end)))
        return invalid;
    if (!api_are_valid(c, &x, 1))
        return invalid;
    for (int d = 0; d < api_shape_of(c, x)->rank; d++) {
        n.start[d] = begin[d];
        n.limit[d] = end[d];
        n.stride[d] = 1;
    }
    return api_add_node(c, &n, &x, 1);
}

sy_tensor sy_gather_rows(sy_context *c, sy_tensor table, sy_tensor indices)
{
    sy_tensor both[2] = {table, indices};
    char x[96], y[96];
    struct err e;

    if (!api_are_valid(c, both, 2))
        return invalid;
    if (api_shape_of(c, table)->rank == 2 && api_shape_of(c, indices)->dtype == DTYPE_S32 &&
        api_shape_of(c, indices)->rank < GRAPH_RANK_MAX)
        return (sy_tensor){nn_embedding(api_graph(c), table.node, indices.node)};
    err_set(&e, "gather_rows takes a table [rows, columns] and s32 indices, not %s and %s",
            shape_print(api_shape_of(c, table), x, sizeof(x)),
            shape_print(api_shape_of(c, indices), y, sizeof(y)));
    return api_invalid(c, &e);
}

sy_tensor sy_one_hot(sy_context *c, sy_tensor indices, int64_t classes)
{
    char text[96];
    struct err e;

    if (!api_are_valid(c, &indices, 1))
        return invalid;
    if (api_shape_of(c, indices)->dtype == DTYPE_S32 && classes > 0 &&
        api_shape_of(c, indices)->rank < GRAPH_RANK_MAX)
        return (sy_tensor){nn_one_hot(api_graph(c), indices.node, classes, DTYPE_F32)};
    err_set(&e, "one_hot of %s in %" PRId64 " classes: it takes s32 indices and at least 1 class",
            shape_print(api_shape_of(c, indices), text, sizeof(text)), classes);
    return api_invalid(c, &e);
}

/* ----- products */

int api_precision(const char *name, enum graph_precision *precision, struct err *e)
{
    static const char *const names[] = {"default", "high", "highest"};

    for (int i = 0; i < 3; i++)
        if (!name || strcmp(name, names[i]) == 0) {
            *precision = (enum graph_precision)i;
            return 0;
        }
    return err_set(e, "precision \"%s\" is none of default, high, highest", name);
}

static bool can_multiply(const struct shape *a, const struct shape *b)
{
    if (a->rank < 2 || a->rank != b->rank || a->dtype != b->dtype ||
        !graph_dtype_is_float(a->dtype) || a->dim[a->rank - 1] != b->dim[a->rank - 2])
        return false;
    for (int d = 0; d < a->rank - 2; d++)
        if (a->dim[d] != b->dim[d])
            return false;
    return true;
}

sy_tensor sy_matmul(sy_context *c, sy_tensor a, sy_tensor b, const char *precision)
{
    sy_tensor both[2] = {a, b};
    struct graph_dot dot = {.contract_count = 1};
    const struct shape *x, *y;
    enum graph_precision p = PRECISION_DEFAULT;
    char s[96], t[96];
    struct err e;

    if (!api_are_valid(c, both, 2))
        return invalid;
    if (api_precision(precision, &p, &e))
        return api_invalid(c, &e);
    x = api_shape_of(c, a);
    y = api_shape_of(c, b);
    if (!can_multiply(x, y)) {
        err_set(&e, "matmul of %s and %s: it takes [.., m, k] and [.., k, n], both f32 or both "
                "bf16", shape_print(x, s, sizeof(s)), shape_print(y, t, sizeof(t)));
        return api_invalid(c, &e);
    }
    dot.batch_count = x->rank - 2;
    for (int d = 0; d < dot.batch_count; d++)
        dot.lhs_batch[d] = dot.rhs_batch[d] = d;
    dot.lhs_contract[0] = x->rank - 1;
    dot.rhs_contract[0] = x->rank - 2;
    return (sy_tensor){graph_dot_general(api_graph(c), a.node, b.node, &dot, x->dtype, p)};
}
