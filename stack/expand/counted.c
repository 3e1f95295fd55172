/*
 * Gathers and scatters by indices that count (stack/expand/affine.h), as slices and updates with
 * strides. x[:, jnp.arange(0, n, 2)], pe.at[:, 0::2].set(y) and x[i * 160 + arange(400)] of a framed
 * signal come as indices; nothing has to be looked up in any of them.
 *
 * Along each dimension the operand is read, or updated, at a base and at steps of one dimension of
 * the *rows*, as the result of a gather and the updates of a scatter are called. Of a gather a
 * dimension may go by two of them, frames and places in a frame: then rows of `step` elements, each
 * beside those that follow it, hold the frames.
 */
#include "stack/expand/affine.h"
#include "stack/expand/expand.h"

#include "stack/hlo/graph_shape.h"

#include <string.h>

#define PARTS_MAX 16                    /* rows that a frame reaches over */

/* along a dimension of the rows: its size and how far apart its elements lie in the operand */
struct way { int dim; int64_t step, size; };

struct axis {                           /* of the operand */
    int64_t base;
    int count;
    struct way by[2];                   /* the longer step first */
};

struct counted {
    struct shape rows;
    struct axis axis[GRAPH_RANK_MAX];
    bool is_used[GRAPH_RANK_MAX];       /* dimensions of the rows */
    int split;                          /* the operand's dimension that goes by two; -1: none */
};

static bool add_way(struct counted *c, struct axis *x, int dim, int64_t step)
{
    if (c->rows.dim[dim] == 1)
        return true;
    if (x->count == 2 || c->is_used[dim])
        return false;
    x->by[x->count++] = (struct way){.dim = dim, .step = step, .size = c->rows.dim[dim]};
    c->is_used[dim] = true;
    if (x->count == 2 && x->by[1].step > x->by[0].step) {
        struct way longer = x->by[1];

        x->by[1] = x->by[0];
        x->by[0] = longer;
    }
    return true;
}

/* the rows' dimension for each of the indices; -1: that of their numbers */
static void find_rows_dims(const struct shape *indices, const struct graph_gather *d, int *rows_dim)
{
    int to = 0;

    for (int i = 0; i < indices->rank; i++) {
        rows_dim[i] = -1;
        if (i == d->index_vector_dim)
            continue;
        while (graph_dims_have(d->offset_dims, d->offset_count, to))
            to++;
        rows_dim[i] = to++;
    }
}

static bool add_component(const struct graph *g, const struct graph_node *n, struct counted *c,
                          struct axis *x, int k)
{
    const struct shape *indices = &g->node[n->operand[1]].shape;
    int rows_dim[GRAPH_RANK_MAX];
    struct affine a;

    if (!affine_component(g, n->operand[1], n->gather->index_vector_dim, k, &a))
        return false;
    find_rows_dims(indices, n->gather, rows_dim);
    x->base = a.base;
    for (int i = 0; i < indices->rank; i++)
        if (a.step[i] && !add_way(c, x, rows_dim[i], a.step[i]))
            return false;
    return true;
}

static bool lies_inside(const struct axis *x, int64_t size)
{
    int64_t low = x->base, high = x->base;

    for (int i = 0; i < x->count; i++)
        *(x->by[i].step < 0 ? &low : &high) += x->by[i].step * (x->by[i].size - 1);
    return low >= 0 && high < size;
}

static bool read_axis(const struct graph *g, const struct graph_node *n, struct counted *c, int d,
                      int *offset)
{
    const struct graph_gather *w = n->gather;
    struct axis *x = &c->axis[d];

    for (int k = 0; k < w->map_count; k++)
        if (w->start_index_map[k] == d && !add_component(g, n, c, x, k))
            return false;
    if (!graph_dims_have(w->collapsed_dims, w->collapsed_count, d) &&
        !add_way(c, x, w->offset_dims[(*offset)++], 1))
        return false;
    if (x->count == 2 && c->split >= 0)
        return false;
    if (x->count == 2)
        c->split = d;
    return lies_inside(x, g->node[n->operand[0]].shape.dim[d]);
}

/* false: of some number nobody can tell what it counts, or places are not where slices have them */
static bool read_counted(const struct graph *g, const struct graph_node *n, struct counted *c)
{
    int offset = 0;

    *c = (struct counted){.split = -1};
    c->rows = n->op == HLO_GATHER ? n->shape : g->node[n->operand[2]].shape;
    if (n->gather->batching_count || n->gather->map_count == 0 || expand_is_single(g, n))
        return false;
    for (int d = 0; d < g->node[n->operand[0]].shape.rank; d++)
        if (!read_axis(g, n, c, d, &offset))
            return false;
    return true;
}

/* the rows that the frames along the split dimension reach over; 0: they are no such frames */
static int parts_of(const struct counted *c)
{
    const struct way *by = c->axis[c->split].by;
    int64_t parts;

    if (by[1].step != 1 || by[0].step <= 0)
        return 0;
    parts = (by[1].size + by[0].step - 1) / by[0].step;
    return parts <= PARTS_MAX ? (int)parts : 0;
}

static int64_t smaller(int64_t x, int64_t y) { return x < y ? x : y; }

/* what is asked for, along the operand's dimensions; the split one still as it lies */
static int slice_operand(struct graph *g, int x, const struct counted *c, int parts)
{
    struct shape s = g->node[x].shape;
    int64_t start[GRAPH_RANK_MAX], limit[GRAPH_RANK_MAX], stride[GRAPH_RANK_MAX];

    for (int d = 0; d < s.rank; d++) {
        const struct axis *a = &c->axis[d];
        int64_t step = a->count ? a->by[0].step : 1, reach = a->count ? a->by[0].size - 1 : 0;

        stride[d] = step < 0 ? -step : step;
        start[d] = step < 0 ? a->base + step * reach : a->base;
        limit[d] = start[d] + stride[d] * reach + 1;
        if (d == c->split) {
            limit[d] = smaller(s.dim[d], a->base + step * (reach + parts));
            stride[d] = 1;
        }
    }
    return graph_slice(g, x, start, limit, stride);
}

static int padded_to(struct graph *g, int x, int dim, int64_t size)
{
    struct shape s = g->node[x].shape;
    int64_t none[GRAPH_RANK_MAX] = {0}, high[GRAPH_RANK_MAX] = {0};

    if (s.dim[dim] == size)
        return x;
    high[dim] = size - s.dim[dim];
    return graph_pad(g, x, graph_constant(g, shape_scalar(s.dtype), 0), none, high, none);
}

/* [.., frames + parts - 1, step, ..] from the split dimension */
static int in_rows(struct graph *g, int x, const struct counted *c, int parts)
{
    const struct way *by = c->axis[c->split].by;
    int64_t rows = by[0].size + parts - 1;
    struct shape s;

    x = padded_to(g, x, c->split, rows * by[0].step);
    s = g->node[x].shape;
    memmove(s.dim + c->split + 2, s.dim + c->split + 1,
            (size_t)(s.rank - c->split - 1) * sizeof(*s.dim));
    s.rank++;
    s.dim[c->split] = rows;
    s.dim[c->split + 1] = by[0].step;
    return graph_reshape(g, x, s);
}

/* frames from rows: each part of them is the rows so many further on, the last one not whole */
static int frames_of(struct graph *g, int x, const struct counted *c, int parts)
{
    const struct way *by = c->axis[c->split].by;
    int part[PARTS_MAX];

    x = in_rows(g, x, c, parts);
    for (int p = 0; p < parts; p++) {
        struct shape s = g->node[x].shape;
        int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX];

        memcpy(limit, s.dim, sizeof(limit));
        start[c->split] = p;
        limit[c->split] = p + by[0].size;
        limit[c->split + 1] = smaller(by[0].step, by[1].size - p * by[0].step);
        part[p] = graph_slice(g, x, start, limit, NULL);
    }
    return parts == 1 ? part[0] : graph_concatenate(g, part, parts, c->split + 1);
}

/* the ways in the order of the operand's dimensions */
static int list_ways(const struct counted *c, int rank, struct way *list)
{
    int count = 0;

    for (int d = 0; d < rank; d++)
        for (int i = 0; i < c->axis[d].count; i++)
            list[count++] = c->axis[d].by[i];
    return count;
}

/* which of the ways comes first, second and so on among the rows' dimensions */
static void order_ways(const struct way *list, int count, int *order)
{
    for (int i = 0; i < count; i++) {
        int at = 0;

        for (int k = 0; k < count; k++)
            at += list[k].dim < list[i].dim;
        order[at] = i;
    }
}

static struct shape shape_of_ways(enum graph_dtype dtype, const struct way *list, int count)
{
    struct shape s = {.dtype = dtype, .rank = count};

    for (int i = 0; i < count; i++)
        s.dim[i] = list[i].size;
    return s;
}

/* the sliced operand as the gather's result has it */
static int as_result(struct graph *g, int x, const struct counted *c, int rank)
{
    struct way list[GRAPH_RANK_MAX + 1];
    int count = list_ways(c, rank, list), order[GRAPH_RANK_MAX + 1], dims[GRAPH_RANK_MAX + 1];
    int reversed[GRAPH_RANK_MAX], reversals = 0;
    struct shape rows = c->rows;

    rows.dtype = g->node[x].shape.dtype;
    order_ways(list, count, order);
    x = graph_reshape(g, x, shape_of_ways(rows.dtype, list, count));
    x = graph_transpose(g, x, order);
    for (int i = 0; i < count; i++) {
        dims[i] = list[order[i]].dim;
        if (list[order[i]].step < 0)
            reversed[reversals++] = dims[i];
    }
    x = shape_elems(&rows) == shape_elems(&g->node[x].shape) ? graph_reshape(g, x, rows)
                                                            : graph_broadcast(g, x, rows, dims);
    return reversals ? graph_reverse(g, x, reversed, reversals) : x;
}

static int counted_gather(struct graph *g, const struct graph_node *n)
{
    int x = n->operand[0], rank = g->node[x].shape.rank, parts = 0;
    struct counted c;

    if (!read_counted(g, n, &c))
        return NODE_NONE;
    if (c.split >= 0) {
        parts = parts_of(&c);
        if (parts == 0 || rank == GRAPH_RANK_MAX)
            return NODE_NONE;
    }
    x = slice_operand(g, x, &c, parts);
    if (parts)
        x = frames_of(g, x, &c, parts);
    return as_result(g, x, &c, rank);
}

/* an array of predicates: the elements along dimension `d` that are updated */
static int hits_along(struct graph *g, struct shape s, int d, const struct axis *a)
{
    int64_t step = a->count ? a->by[0].step : 1, size = a->count ? a->by[0].size : 1;
    int64_t reach = step * (size - 1);
    int behind, hit = NODE_NONE;

    s.dtype = DTYPE_S32;
    behind = graph_iota(g, s, d);
    behind = graph_binary(g, HLO_SUBTRACT, behind, graph_splat(g, behind, (double)a->base));
    if (step > 1) {
        bool is_power = (step & (step - 1)) == 0;
        int rest = graph_binary(g, is_power ? HLO_AND : HLO_REMAINDER, behind,
                                graph_splat(g, behind, (double)(is_power ? step - 1 : step)));

        hit = graph_compare(g, COMPARE_EQ, rest, graph_splat(g, rest, 0));
    }
    if (a->base >= step || step == 1) {
        int is_low = graph_compare(g, COMPARE_GE, behind, graph_splat(g, behind, 0));

        hit = hit == NODE_NONE ? is_low : graph_binary(g, HLO_AND, hit, is_low);
    }
    if (a->base + reach + step < s.dim[d] || step == 1)
        hit = graph_binary(g, HLO_AND, hit, graph_compare(g, COMPARE_LE, behind,
                                                          graph_splat(g, behind, (double)reach)));
    return hit;
}

static bool covers(const struct axis *a, int64_t size)
{
    return a->base == 0 && a->count == 1 && a->by[0].step == 1 && a->by[0].size == size;
}

static int hits(struct graph *g, const struct shape *s, const struct counted *c)
{
    int hit = NODE_NONE;

    for (int d = 0; d < s->rank; d++) {
        int along;

        if (covers(&c->axis[d], s->dim[d]))
            continue;
        along = hits_along(g, *s, d, &c->axis[d]);
        hit = hit == NODE_NONE ? along : graph_binary(g, HLO_AND, hit, along);
    }
    return hit;
}

/* the updates along the operand's dimensions */
static int turned_updates(struct graph *g, int updates, const struct shape *s, const struct counted *c)
{
    struct way list[GRAPH_RANK_MAX + 1];
    int count = list_ways(c, s->rank, list), order[GRAPH_RANK_MAX + 1], back[GRAPH_RANK_MAX + 1];
    struct shape window = *s, rows;

    order_ways(list, count, order);
    rows = shape_of_ways(s->dtype, list, count);
    for (int i = 0; i < count; i++) {
        back[order[i]] = i;
        rows.dim[i] = list[order[i]].size;
    }
    for (int d = 0; d < s->rank; d++)
        window.dim[d] = c->axis[d].count ? c->axis[d].by[0].size : 1;
    updates = graph_transpose(g, graph_reshape(g, updates, rows), back);
    return graph_reshape(g, updates, window);
}

/* where they belong in an array of the operand's shape, zeros between them */
static int spread_updates(struct graph *g, int updates, const struct shape *s, const struct counted *c)
{
    int64_t low[GRAPH_RANK_MAX], high[GRAPH_RANK_MAX], between[GRAPH_RANK_MAX];

    for (int d = 0; d < s->rank; d++) {
        const struct axis *a = &c->axis[d];
        int64_t size = g->node[updates].shape.dim[d];

        between[d] = a->count ? a->by[0].step - 1 : 0;
        low[d] = a->base;
        high[d] = s->dim[d] - a->base - (size - 1) * (between[d] + 1) - 1;
    }
    return graph_pad(g, updates, graph_constant(g, shape_scalar(s->dtype), 0), low, high, between);
}

/* updates side by side are a part of the operand: only that is written */
static bool is_part(const struct counted *c, int rank)
{
    for (int d = 0; d < rank; d++)
        if (c->axis[d].count && c->axis[d].by[0].step != 1)
            return false;
    return true;
}

static int update_part(struct graph *g, const struct graph_node *n, int updates,
                       const struct counted *c)
{
    int64_t start[GRAPH_RANK_MAX], limit[GRAPH_RANK_MAX];
    int at[GRAPH_RANK_MAX];
    enum graph_op op;

    for (int d = 0; d < n->shape.rank; d++) {
        start[d] = c->axis[d].base;
        limit[d] = start[d] + g->node[updates].shape.dim[d];
        at[d] = graph_constant(g, shape_scalar(DTYPE_S32), (double)start[d]);
    }
    if (expand_combines(n->reduce_kind, &op))
        updates = graph_binary(g, op, graph_slice(g, n->operand[0], start, limit, NULL), updates);
    return graph_dynamic_update_slice(g, n->operand[0], updates, at);
}

/* every update has a place of its own, and the places rise */
static bool is_update(const struct counted *c, int rank)
{
    for (int d = 0; d < rank; d++)
        if (c->axis[d].count && c->axis[d].by[0].step < 0)
            return false;
    for (int d = 0; d < c->rows.rank; d++)
        if (c->rows.dim[d] > 1 && !c->is_used[d])
            return false;
    return c->split < 0;
}

static int counted_scatter(struct graph *g, const struct graph_node *n)
{
    struct shape s = n->shape;
    enum graph_op op = HLO_ADD;
    bool is_replaced = n->reduce_kind == REDUCE_REPLACE;
    struct counted c;
    int updates, hit;

    if (!is_replaced && (s.dtype == DTYPE_PRED || !expand_combines(n->reduce_kind, &op)))
        return NODE_NONE;
    if (!read_counted(g, n, &c) || !is_update(&c, s.rank))
        return NODE_NONE;
    updates = turned_updates(g, n->operand[2], &s, &c);
    if (is_part(&c, s.rank))
        return update_part(g, n, updates, &c);
    updates = spread_updates(g, updates, &s, &c);
    if (!is_replaced)
        updates = graph_binary(g, op, n->operand[0], updates);
    hit = hits(g, &s, &c);
    return hit == NODE_NONE ? updates : graph_select(g, hit, updates, n->operand[0]);
}

int expand_counted(struct graph *g, const struct graph_node *n)
{
    if (n->op == HLO_GATHER)
        return counted_gather(g, n);
    return n->op == HLO_SCATTER ? counted_scatter(g, n) : NODE_NONE;
}
