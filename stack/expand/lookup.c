/*
 * Gathers of single elements from short tables, and scatters of one element into each row, by
 * comparison: every place of the table is held against the index, and what is not asked for counts
 * as no bits at all. A loss takes the probability of a label so, take_along_axis, a search in a
 * sorted table; vectors compare 1024 places at once, where the kernel of elements (kernels/index)
 * moves each by itself.
 *
 * Results are those of the gather to the bit: the sum is an OR of the bits of one element and of
 * zeros. A scatter must have one update for each row of its operand, or combine by sums, maxima or
 * minima, whose updates may come in any order: sums of floats are those of a reduction, not of one
 * update after the other, as HLO allows both.
 */
#include "stack/expand/expand.h"

#include "base/units.h"
#include "stack/hlo/array.h"
#include "stack/hlo/graph_shape.h"

/*
 * A vector holds 1024 elements and takes some 4 operations for each; the kernel of elements takes
 * 12 cycles for one that lies along lanes and up to 200 for one that does not (docs/kernels.md). So
 * tables up to this are as fast at worst, and most are far below it.
 */
#define TABLE_MAX 16384
#define COMPUTED_MAX 262144             /* of rows that a pass makes or reads: see is_short */
#define COMPARED_MAX (1ll << 30)        /* places in all: what compiling and simulating may take */

/*
 * Tenths of cycles that combining updates takes on v5e, other chips in proportion. Eight places are
 * compared with a vector of updates, and what is found is brought together across lanes, of integers
 * without a reduction of the machine. Or the kernel of elements takes the indices, rows of updates
 * and each update.
 */
#define PLACES_AT_ONCE 8
#define COMPARED_TENTHS 13
#define JOINED_TENTHS 27
#define JOINED_INTEGERS_TENTHS 270
#define INDICES_TENTHS 25000
#define ROW_TENTHS 3500
#define UPDATE_TENTHS 300

/* the dimensions of a gather's or scatter's operand and indices as what they are for */
struct lookup {
    int64_t batch, table, queries;      /* rows; elements of one; asked for in one */
    int order[GRAPH_RANK_MAX];          /* of the operand: batching dimensions, mapped, others */
    int indices_rank;                   /* of them without the numbers of one index: */
    int64_t indices_sizes[GRAPH_RANK_MAX];
    int indices_order[GRAPH_RANK_MAX];  /* batching dimensions, others */
    bool keeps_dims;                    /* of one table: queries lie well in those that they have */
};

static void order_operand(const struct shape *s, const struct graph_gather *d, struct lookup *l)
{
    int at = 0;

    for (int i = 0; i < d->batching_count; i++)
        l->order[at++] = d->operand_batching[i];
    for (int i = 0; i < d->map_count; i++)
        l->order[at++] = d->start_index_map[i];
    for (int i = 0; i < s->rank; i++)
        if (!graph_dims_have(l->order, d->batching_count + d->map_count, i))
            l->order[at++] = i;
}

static void order_indices(const struct shape *s, const struct graph_gather *d, struct lookup *l)
{
    int at = 0;

    for (int i = 0; i < s->rank; i++)
        if (i != d->index_vector_dim)
            l->indices_sizes[l->indices_rank++] = s->dim[i];
    for (int i = 0; i < d->batching_count; i++)
        l->indices_order[at++] = d->indices_batching[i] - (d->indices_batching[i] >
                                                           d->index_vector_dim);
    for (int i = 0; i < l->indices_rank; i++)
        if (!graph_dims_have(l->indices_order, d->batching_count, i)) {
            l->queries *= l->indices_sizes[i];
            l->indices_order[at++] = i;
        }
}

/* three quarters of the vectors along a dimension are elements of it */
static bool fills_lanes(int64_t size)
{
    return 4 * size >= 3 * round_up(size, ARRAY_LANES);
}

/* false unless every index asks for one element, by dimensions that are mapped or go along */
static bool find_lookup(const struct shape *operand, const struct shape *indices,
                        const struct graph_gather *d, struct lookup *l)
{
    *l = (struct lookup){.batch = 1, .table = 1, .queries = 1};
    if (indices->dtype != DTYPE_S32 || d->map_count == 0 || operand->rank == 0)
        return false;
    order_operand(operand, d, l);
    order_indices(indices, d, l);
    for (int i = 0; i < operand->rank; i++) {
        int64_t size = operand->dim[l->order[i]];

        if (i < d->batching_count)
            l->batch *= size;
        else if (i < d->batching_count + d->map_count)
            l->table *= size;
        else if (size != 1)
            return false;
    }
    l->keeps_dims = d->batching_count == 0 && l->indices_rank > 1 &&
                    l->indices_rank < GRAPH_RANK_MAX &&
                    fills_lanes(l->indices_sizes[l->indices_rank - 1]);
    return l->queries > 0 && l->batch > 0 && l->table <= COMPARED_MAX / l->queries / l->batch;
}

static bool is_stored(const struct graph *g, int x)
{
    const struct graph_node *n = &g->node[x];

    while (n->op == HLO_RESHAPE || n->op == HLO_TRANSPOSE || n->op == HLO_CONVERT)
        n = &g->node[n->operand[0]];
    return n->op == HLO_PARAMETER || n->op == HLO_GET_TUPLE_ELEMENT;
}

/*
 * One element of each row of what the program computes, as a loss over a vocabulary has it: the
 * pass that makes or reads the rows compares beside, and what is scattered is not stored by itself.
 */
static bool is_short(const struct graph *g, int operand, const struct lookup *l)
{
    return l->table <= (l->queries == 1 && l->batch > 1 && !is_stored(g, operand) ? COMPUTED_MAX
                                                                                : TABLE_MAX);
}

/* the operand as [batch, table] */
static int as_rows(struct graph *g, int x, const struct lookup *l)
{
    struct shape s = g->node[x].shape;

    return graph_reshape(g, graph_transpose(g, x, l->order),
                         shape_make(s.dtype, 2, (int64_t[]){l->batch, l->table}));
}

/* [batch, queries], or as they are, from an array of the indices' dimensions; and back */
static int to_queries(struct graph *g, int x, const struct lookup *l)
{
    struct shape s = shape_make(g->node[x].shape.dtype, l->indices_rank, l->indices_sizes);

    x = graph_transpose(g, graph_reshape(g, x, s), l->indices_order);
    return l->keeps_dims ? x : graph_reshape(g, x, shape_make(s.dtype, 2, (int64_t[]){l->batch, l->queries}));
}

static int from_queries(struct graph *g, int x, const struct lookup *l)
{
    struct shape s = shape_make(g->node[x].shape.dtype, l->indices_rank, l->indices_sizes);
    int back[GRAPH_RANK_MAX];

    for (int i = 0; i < s.rank; i++) {
        s.dim[i] = l->indices_sizes[l->indices_order[i]];
        back[l->indices_order[i]] = i;
    }
    return graph_transpose(g, graph_reshape(g, x, s), back);
}

/* number `which` of each index, as [batch, queries] */
static int component(struct graph *g, int indices, const struct graph_gather *d,
                     const struct lookup *l, int which)
{
    struct shape s = g->node[indices].shape;
    int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX];

    if (d->index_vector_dim < s.rank && s.dim[d->index_vector_dim] > 1) {
        for (int i = 0; i < s.rank; i++)
            limit[i] = s.dim[i];
        start[d->index_vector_dim] = which;
        limit[d->index_vector_dim] = which + 1;
        indices = graph_slice(g, indices, start, limit, NULL);
    }
    return to_queries(g, indices, l);
}

/* where in its row each index asks, [batch, queries]: as a gather has it, clamped to the table */
static int clamped_places(struct graph *g, int indices, const struct shape *operand,
                          const struct graph_gather *d, const struct lookup *l)
{
    int place = NODE_NONE;

    for (int i = 0; i < d->map_count; i++) {
        int64_t size = operand->dim[d->start_index_map[i]];
        int part = component(g, indices, d, l, i);

        part = graph_binary(g, HLO_MAXIMUM, part, graph_splat(g, part, 0));
        part = graph_binary(g, HLO_MINIMUM, part, graph_splat(g, part, (double)(size - 1)));
        if (place != NODE_NONE) {
            place = graph_binary(g, HLO_MULTIPLY, place, graph_splat(g, place, (double)size));
            part = graph_binary(g, HLO_ADD, place, part);
        }
        place = part;
    }
    return place;
}

static int as_words(struct graph *g, int x)
{
    enum graph_dtype dtype = g->node[x].shape.dtype;

    if (dtype == DTYPE_BF16)
        x = graph_convert(g, x, DTYPE_F32);
    return dtype == DTYPE_F32 || dtype == DTYPE_BF16 || dtype == DTYPE_U32
           ? graph_bitcast_convert(g, x, DTYPE_S32) : graph_convert(g, x, DTYPE_S32);
}

static int of_words(struct graph *g, int x, enum graph_dtype dtype)
{
    if (dtype == DTYPE_BF16)
        return graph_convert(g, graph_bitcast_convert(g, x, DTYPE_F32), dtype);
    return dtype == DTYPE_F32 || dtype == DTYPE_U32 ? graph_bitcast_convert(g, x, dtype)
                                                    : graph_convert(g, x, dtype);
}

/* what `places` have in `rows`, all of them compared along dimension `axis` */
static int pick(struct graph *g, int rows, int places, int axis)
{
    struct shape all = g->node[rows].shape;
    int at = graph_compare(g, COMPARE_EQ, graph_iota(g, all, axis), places);
    int found = graph_select(g, at, rows, graph_splat(g, rows, 0));

    return graph_reduce(g, REDUCE_OR, found, 1u << axis);
}

/* of one table: queries lie along lanes, or in their own dimensions */
static int look_up_one(struct graph *g, int table, int places, const struct lookup *l)
{
    static const int dims[GRAPH_RANK_MAX] = {1, 2, 3, 4, 5, 6, 7};
    struct shape all = {.dtype = DTYPE_S32, .rank = 1, .dim = {l->table}};

    table = graph_reshape(g, table, all);
    if (!l->keeps_dims)
        places = graph_reshape(g, places, shape_make(DTYPE_S32, 1, &l->queries));
    for (int i = 0; i < g->node[places].shape.rank; i++)
        all.dim[all.rank++] = g->node[places].shape.dim[i];
    table = graph_broadcast(g, table, all, (int[]){0});
    places = graph_broadcast(g, places, all, dims);
    return pick(g, table, places, 0);
}

/* of many: the table lies along lanes */
static int look_up_rows(struct graph *g, int rows, int places, const struct lookup *l)
{
    bool is_single = l->queries == 1;
    struct shape all = is_single
                       ? shape_make(DTYPE_S32, 2, (int64_t[]){l->batch, l->table})
                       : shape_make(DTYPE_S32, 3, (int64_t[]){l->batch, l->queries, l->table});

    if (is_single) {
        places = graph_reshape(g, places, shape_make(DTYPE_S32, 1, &l->batch));
        places = graph_broadcast(g, places, all, (int[]){0});
    } else {
        rows = graph_broadcast(g, rows, all, (int[]){0, 2});
        places = graph_broadcast(g, places, all, (int[]){0, 1});
    }
    return pick(g, rows, places, all.rank - 1);
}

/* of single elements; false: of windows */
static bool takes_elements(const struct graph *g, const struct graph_node *n)
{
    for (int i = 0; i < g->node[n->operand[0]].shape.rank; i++)
        if (n->gather->slice_sizes[i] != 1)
            return false;
    return true;
}

bool expand_is_compared(const struct graph *g, const struct graph_node *n)
{
    struct lookup l;

    return n->op == HLO_GATHER && !expand_is_single(g, n) && takes_elements(g, n) &&
           find_lookup(&g->node[n->operand[0]].shape, &g->node[n->operand[1]].shape, n->gather, &l) &&
           l.table <= TABLE_MAX;
}

static int gather_by_comparison(struct graph *g, const struct graph_node *n)
{
    struct shape operand = g->node[n->operand[0]].shape;
    const struct graph_gather *d = n->gather;
    struct lookup l;
    int words, places;

    if (!takes_elements(g, n) ||
        !find_lookup(&operand, &g->node[n->operand[1]].shape, d, &l) ||
        !is_short(g, n->operand[0], &l))
        return NODE_NONE;
    words = as_words(g, as_rows(g, n->operand[0], &l));
    places = clamped_places(g, n->operand[1], &operand, d, &l);
    words = l.batch == 1 ? look_up_one(g, words, places, &l) : look_up_rows(g, words, places, &l);
    words = of_words(g, words, operand.dtype);
    return graph_reshape(g, from_queries(g, words, &l), n->shape);
}

/* where in its row each update goes, [batch, queries]; -1: outside, so that it is dropped */
static int places_or_none(struct graph *g, int indices, const struct shape *operand,
                          const struct graph_gather *d, const struct lookup *l)
{
    int place = clamped_places(g, indices, operand, d, l);
    int outside = graph_splat(g, place, -1);

    for (int i = 0; i < d->map_count; i++) {
        int64_t size = operand->dim[d->start_index_map[i]];
        int part = component(g, indices, d, l, i);

        place = graph_select(g, graph_compare(g, COMPARE_LT, part, graph_splat(g, part, 0)),
                             outside, place);
        place = graph_select(g, graph_compare(g, COMPARE_GE, part,
                                              graph_splat(g, part, (double)size)), outside, place);
    }
    return place;
}

bool expand_combines(enum graph_reduce kind, enum graph_op *op)
{
    static const enum graph_op ops[] = {[REDUCE_ADD] = HLO_ADD, [REDUCE_MAX] = HLO_MAXIMUM,
                                        [REDUCE_MIN] = HLO_MINIMUM, [REDUCE_MUL] = HLO_MULTIPLY,
                                        [REDUCE_AND] = HLO_AND, [REDUCE_OR] = HLO_OR};

    if (kind > REDUCE_OR)
        return false;
    *op = ops[kind];
    return true;
}

/* an update for each row: [batch, table] */
static int update_rows(struct graph *g, const struct graph_node *n, const struct lookup *l,
                       int rows, int places, int updates)
{
    struct shape all = g->node[rows].shape;
    enum graph_op op = HLO_ADD;
    int hit;

    places = graph_reshape(g, places, shape_make(DTYPE_S32, 1, &l->batch));
    updates = graph_reshape(g, updates, shape_make(all.dtype, 1, &l->batch));
    updates = graph_broadcast(g, updates, all, (int[]){0});
    all.dtype = DTYPE_S32;
    places = graph_broadcast(g, places, all, (int[]){0});
    hit = graph_compare(g, COMPARE_EQ, graph_iota(g, all, 1), places);
    if (expand_combines(n->reduce_kind, &op))
        updates = graph_binary(g, op, rows, updates);
    return graph_select(g, hit, updates, rows);
}

/* what all updates of each place of the tables come to: [batch, table] */
static int combined_updates(struct graph *g, enum graph_reduce kind, const struct lookup *l,
                            int places, int updates)
{
    enum graph_dtype dtype = g->node[updates].shape.dtype;
    struct shape all = shape_make(dtype, 3, (int64_t[]){l->batch, l->table, l->queries});
    struct shape asked = shape_make(dtype, 2, (int64_t[]){l->batch, l->queries});
    int hit;

    updates = graph_broadcast(g, graph_reshape(g, updates, asked), all, (int[]){0, 2});
    all.dtype = asked.dtype = DTYPE_S32;
    places = graph_broadcast(g, graph_reshape(g, places, asked), all, (int[]){0, 2});
    hit = graph_compare(g, COMPARE_EQ, graph_iota(g, all, 1), places);
    updates = graph_select(g, hit, updates, graph_splat(g, updates, graph_identity(kind, dtype)));
    return graph_reduce(g, kind, updates, 1u << 2);
}

/* A place that nobody asks for keeps its bits, be it a zero with a sign. */
static int combine_places(struct graph *g, const struct graph_node *n, const struct lookup *l,
                          int rows, int places, int updates)
{
    enum graph_dtype dtype = g->node[rows].shape.dtype;
    enum graph_op op = HLO_ADD;
    int change, made, zero;

    if (dtype == DTYPE_BF16) {          /* sums are rounded once */
        rows = graph_convert(g, rows, DTYPE_F32);
        updates = graph_convert(g, updates, DTYPE_F32);
    }
    expand_combines(n->reduce_kind, &op);
    change = combined_updates(g, n->reduce_kind, l, places, updates);
    made = graph_binary(g, op, rows, change);
    if (n->reduce_kind == REDUCE_ADD && graph_dtype_is_float(dtype)) {
        zero = graph_compare(g, COMPARE_EQ, change, graph_splat(g, change, 0));
        made = graph_select(g, zero, rows, made);
    }
    return graph_convert(g, made, dtype);
}

/* than the kernel of elements */
static bool is_combined_sooner(const struct lookup *l, enum graph_dtype dtype)
{
    int64_t groups = div_up(l->table, PLACES_AT_ONCE) * l->batch;
    int64_t joined = graph_dtype_is_float(dtype) ? JOINED_TENTHS : JOINED_INTEGERS_TENTHS;
    int64_t compared = groups * (div_up(l->queries, ARRAY_LANES) * COMPARED_TENTHS + joined);
    int64_t rows = l->batch * div_up(l->queries, ARRAY_LANES);

    return compared <= INDICES_TENTHS + rows * ROW_TENTHS + l->queries * l->batch * UPDATE_TENTHS;
}

/* updates of one place may come in any order: sums of floats in that of a reduction */
static bool is_any_order(const struct graph_node *n)
{
    enum graph_dtype dtype = n->shape.dtype;

    return (n->reduce_kind == REDUCE_ADD || n->reduce_kind == REDUCE_MAX ||
            n->reduce_kind == REDUCE_MIN) &&
           (graph_dtype_is_float(dtype) || dtype == DTYPE_S32 || dtype == DTYPE_U32);
}

static int scatter_by_comparison(struct graph *g, const struct graph_node *n)
{
    struct shape operand = g->node[n->operand[0]].shape, turned = operand;
    struct shape updates = g->node[n->operand[2]].shape;
    enum graph_op op;
    struct lookup l;
    bool is_row;
    int rows, places, update, back[GRAPH_RANK_MAX];

    if ((n->reduce_kind != REDUCE_REPLACE &&
         (operand.dtype == DTYPE_PRED || !expand_combines(n->reduce_kind, &op))) ||
        !find_lookup(&operand, &g->node[n->operand[1]].shape, n->gather, &l) ||
        !is_short(g, n->operand[0], &l) || shape_elems(&updates) != l.batch * l.queries)
        return NODE_NONE;
    l.keeps_dims = false;
    is_row = l.queries == 1 && l.batch > 1;
    if (!is_row && (!is_any_order(n) || l.table > TABLE_MAX ||
                    !is_combined_sooner(&l, operand.dtype)))
        return NODE_NONE;
    rows = as_rows(g, n->operand[0], &l);
    places = places_or_none(g, n->operand[1], &operand, n->gather, &l);
    update = to_queries(g, n->operand[2], &l);
    rows = is_row ? update_rows(g, n, &l, rows, places, update)
                  : combine_places(g, n, &l, rows, places, update);
    for (int i = 0; i < operand.rank; i++) {
        turned.dim[i] = operand.dim[l.order[i]];
        back[l.order[i]] = i;
    }
    return graph_transpose(g, graph_reshape(g, rows, turned), back);
}

int expand_lookup(struct graph *g, const struct graph_node *n)
{
    if (n->op == HLO_GATHER)
        return gather_by_comparison(g, n);
    return n->op == HLO_SCATTER ? scatter_by_comparison(g, n) : NODE_NONE;
}
