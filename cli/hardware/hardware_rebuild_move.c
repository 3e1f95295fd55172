/*
 * Operations of a profile that move data, and those that gather, scatter or reduce: their arrays
 * and the few attributes in their text say all of them.
 */
#include "cli/hardware/hardware_rebuild.h"

#include <stdio.h>
#include <string.h>

static const char *const categories[] = {"data formatting", "concatenate", "slice", "reduce",
                                         "gather fusion", "custom fusion", "select-and-scatter"};

bool profile_is_move(const char *category)
{
    for (size_t i = 0; i < sizeof(categories) / sizeof(*categories); i++)
        if (strcmp(category, categories[i]) == 0)
            return true;
    return false;
}

static int parameter(struct rebuild *r, struct shape shape)
{
    return graph_parameter(r->g, shape, arena_printf(r->g->arena, "x.%d", r->g->parameter_count));
}

static const char *made(struct rebuild *r, int node)
{
    struct shape wanted = r->op.result[0].shape;

    if (shape_elems(&r->g->node[node].shape) != shape_elems(&wanted))
        return "its operands do not make its result";
    node = graph_convert(r->g, node, wanted.dtype);
    if (!shape_same_dims(&r->g->node[node].shape, &wanted))
        node = graph_reshape(r->g, node, wanted);
    graph_output(r->g, node, "y", -1);
    return NULL;
}

/* the same array in another order of memory, or its elements in other sizes */
static const char *rebuild_copy(struct rebuild *r)
{
    const struct profile_array *from = &r->op.operand[0], *to = &r->op.result[0];
    int x, dims[GRAPH_RANK_MAX];

    if (r->op.operand_count != 1 || shape_elems(&from->shape) != shape_elems(&to->shape))
        return "a copy of several arrays";
    x = parameter(r, from->whole);
    if (strstr(r->hlo, " copy(")) {
        for (int i = 0; i < to->whole.rank; i++)
            dims[to->at[i]] = from->at[i];
        return made(r, graph_transpose(r->g, x, dims));
    }
    /* a reshape keeps the order of the text, so it begins and ends in row-major order */
    for (int i = 0; i < from->whole.rank; i++)
        dims[i] = from->at[i];
    x = graph_transpose(r->g, x, dims);
    {
        struct shape rows = to->whole;

        for (int i = 0; i < rows.rank; i++)
            rows.dim[i] = to->whole.dim[to->at[i]];
        x = graph_reshape(r->g, x, rows);
    }
    for (int i = 0; i < to->whole.rank; i++)
        dims[to->at[i]] = i;
    return made(r, graph_transpose(r->g, x, dims));
}

static int number_after(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    int value = -1;

    return at && sscanf(at + strlen(key), "%d", &value) == 1 ? value : -1;
}

static const char *rebuild_concatenate(struct rebuild *r)
{
    int dim = number_after(r->hlo, "dimensions={"), operand[PROFILE_ARRAYS_MAX];
    const struct profile_array *to = &r->op.result[0];

    if (dim < 0 || dim >= to->whole.rank)
        return "the text of the operation is cut or has types that are not known here";
    for (int i = 0; i < r->op.operand_count; i++) {
        const struct profile_array *x = &r->op.operand[i];

        if (x->whole.rank != to->whole.rank || x->at[dim] != to->at[dim])
            return "arrays of several layouts are put together";
        operand[i] = graph_convert(r->g, parameter(r, x->whole), to->whole.dtype);
    }
    return made(r, graph_concatenate(r->g, operand, r->op.operand_count, to->at[dim]));
}

/* "slice={[0:128], [14:27], [0:128]}" */
static const char *rebuild_slice(struct rebuild *r)
{
    const char *at = strstr(r->hlo, "slice={");
    const struct profile_array *x = &r->op.operand[0];
    int64_t start[GRAPH_RANK_MAX], limit[GRAPH_RANK_MAX];

    if (r->op.operand_count != 1 || !at)
        return "the text of the operation is cut or has types that are not known here";
    for (int i = 0; i < x->whole.rank; i++) {
        long long from, to;

        at = strchr(at, '[');
        if (!at || sscanf(at, "[%lld:%lld]", &from, &to) != 2 || from < 0 || from >= to ||
            to > x->whole.dim[x->at[i]])
            return "the text of the operation is cut or has types that are not known here";
        start[x->at[i]] = from;
        limit[x->at[i]] = to;
        at++;
    }
    return made(r, graph_slice(r->g, parameter(r, x->whole), start, limit, NULL));
}

static const char *rebuild_reduce(struct rebuild *r)
{
    int dim = number_after(r->hlo, "dimensions={");
    const struct profile_array *x = &r->op.operand[0];
    int node;

    if (r->op.operand_count != 2 || dim < 0 || dim >= x->whole.rank)
        return "a reduction of several arrays or dimensions";
    node = parameter(r, x->whole);
    node = graph_reduce(r->g, REDUCE_ADD, graph_convert(r->g, node, DTYPE_F32), 1u << x->at[dim]);
    if (shape_elems(&r->g->node[node].shape) != shape_elems(&r->op.result[0].shape))
        return "a reduction of several arrays or dimensions";
    return made(r, node);
}

/* the operand of the type and rank, NULL: there is none, or several are */
static const struct profile_array *only(const struct profile_op *op, enum graph_dtype dtype,
                                        int rank)
{
    const struct profile_array *found = NULL;

    for (int i = 0; i < op->operand_count; i++)
        if (op->operand[i].shape.dtype == dtype && op->operand[i].shape.rank == rank) {
            if (found)
                return NULL;
            found = &op->operand[i];
        }
    return found;
}

/* rows of a table [V,D] by numbers [n] */
static const char *rebuild_gather(struct rebuild *r, const struct profile_array *rows)
{
    const struct profile_array *table = only(&r->op, DTYPE_F32, 2), *to = &r->op.result[0];
    struct graph_gather how = {.offset_count = 1, .collapsed_count = 1, .map_count = 1,
                               .offset_dims = {1}, .index_vector_dim = 1};
    int64_t limit[2];
    int node;

    if (!table || to->shape.rank != 2 || to->shape.dim[1] != table->shape.dim[1] ||
        to->shape.dim[0] > rows->shape.dim[0])
        return "a fusion whose computation shapes do not tell";
    how.slice_sizes[0] = 1;
    how.slice_sizes[1] = table->shape.dim[1];
    limit[0] = to->shape.dim[0];
    node = parameter(r, shape_make(DTYPE_S32, 1, limit));
    return made(r, graph_gather(r->g, parameter(r, table->shape), node, &how));
}

/* rows [n,D] added by numbers [n] to a table [V,D], or to zeros where it is no operand */
static const char *rebuild_scatter(struct rebuild *r, const struct profile_array *rows)
{
    const struct shape *to = &r->op.result[0].shape;
    const struct profile_array *updates = NULL;
    struct graph_gather how = {.offset_count = 1, .collapsed_count = 1, .map_count = 1,
                               .offset_dims = {1}, .index_vector_dim = 1};
    struct shape table = *to;
    int base = NODE_NONE, x;

    for (int i = 0; i < r->op.operand_count; i++) {
        const struct profile_array *y = &r->op.operand[i];

        if (shape_equal(&y->shape, to))
            base = parameter(r, table);
        else if (y->shape.rank == 2 && y->shape.dim[0] == rows->shape.dim[0] && to->rank == 2 &&
                 y->shape.dim[1] == to->dim[1] && y->shape.dtype == to->dtype)
            updates = y;
    }
    if (!updates)
        return "a fusion whose computation shapes do not tell";
    if (base == NODE_NONE)
        base = graph_constant(r->g, table, 0);
    x = parameter(r, rows->shape);
    return made(r, graph_scatter(r->g, REDUCE_ADD, base, x, parameter(r, updates->shape), &how));
}

static const char *rebuild_rows(struct rebuild *r)
{
    const struct profile_array *rows = NULL;
    const struct shape *to = &r->op.result[0].shape;

    for (int i = 0; i < r->op.operand_count; i++)
        if (r->op.operand[i].shape.dtype == DTYPE_S32 && r->op.operand[i].shape.rank == 1 && !rows)
            rows = &r->op.operand[i];
    if (!rows || r->op.result_count != 1 || to->rank != 2)
        return "a fusion whose computation shapes do not tell";
    for (int i = 0; i < r->op.operand_count; i++)
        if (r->op.operand[i].shape.rank == 2 &&
            r->op.operand[i].shape.dim[0] == rows->shape.dim[0] &&
            to->dim[0] != rows->shape.dim[0])
            return rebuild_scatter(r, rows);
    return rebuild_gather(r, rows);
}

/* "window={size=1x3x3x1 stride=1x2x2x1 pad=0_0x0_1x0_1x0_0}" */
static bool read_windows(const char *text, int rank, int64_t (*value)[2], const char *key)
{
    const char *at = strstr(text, key);

    at = at ? at + strlen(key) : NULL;
    for (int i = 0; i < rank; i++) {
        long long low, high;

        if (!at)
            return false;
        if (sscanf(at, "%lld_%lld", &low, &high) != 2) {
            if (sscanf(at, "%lld", &low) != 1)
                return false;
            high = low;
        }
        value[i][0] = low;
        value[i][1] = high;
        at += strcspn(at, "x }");
        at = *at == 'x' ? at + 1 : i + 1 < rank ? NULL : at;
    }
    return true;
}

static const char *rebuild_select_and_scatter(struct rebuild *r)
{
    const struct profile_array *x = &r->op.operand[0], *y = &r->op.operand[1];
    int64_t size[GRAPH_RANK_MAX][2], stride[GRAPH_RANK_MAX][2], pad[GRAPH_RANK_MAX][2];
    struct graph_window window[GRAPH_RANK_MAX] = {{.size = 1}};
    int rank = x->whole.rank, a;

    if (r->op.operand_count != 3 || y->whole.rank != rank ||
        !read_windows(r->hlo, rank, size, "size=") ||
        !read_windows(r->hlo, rank, stride, "stride=") || !read_windows(r->hlo, rank, pad, "pad="))
        return "the text of the operation is cut or has types that are not known here";
    for (int i = 0; i < rank; i++) {
        if (size[i][0] < 1 || stride[i][0] < 1 || x->at[i] != y->at[i])
            return "the text of the operation is cut or has types that are not known here";
        window[x->at[i]] = (struct graph_window){
            .size = size[i][0], .stride = stride[i][0], .pad_low = pad[i][0],
            .pad_high = pad[i][1], .base_dilation = 1, .window_dilation = 1};
    }
    a = parameter(r, x->whole);
    return made(r, graph_select_and_scatter(r->g, COMPARE_GE, a, parameter(r, y->whole), window));
}

const char *profile_rebuild_move(struct rebuild *r, const char *category)
{
    if (strcmp(category, "data formatting") == 0)
        return rebuild_copy(r);
    if (strcmp(category, "concatenate") == 0)
        return rebuild_concatenate(r);
    if (strcmp(category, "slice") == 0)
        return rebuild_slice(r);
    if (strcmp(category, "reduce") == 0)
        return rebuild_reduce(r);
    if (strcmp(category, "select-and-scatter") == 0)
        return rebuild_select_and_scatter(r);
    return rebuild_rows(r);
}
