/*
 * Windows that each place of a batch takes, or changes, from where its own index says: crops of
 * images, excerpts of signals, jax.vmap of dynamic slices and updates. Kernels of elements would
 * move each by itself, those of rows each row; lanes cannot read from places of their own. But all
 * may move by the same amount where they are told to, and leave it elsewhere. So a window comes in
 * steps: of starts that may be 0..span, those from `half` on move by it, and 0..span - half is left.
 * A step is two slices and a choice between them, all of an array that shrinks to the window. An
 * update is such a window, too, of an array in which it lies between zeros. Of a long vector rows of
 * 128 lanes come first (a text that is trained on, from where each sample begins), and then a window
 * of those.
 */
#include "stack/expand/expand.h"

#include "base/units.h"
#include "stack/hlo/array.h"
#include "stack/hlo/graph_shape.h"

#include <string.h>

/*
 * What decides, in cycles: an element that the kernel of elements moves, one that a scatter
 * combines, a row that the kernel of rows moves and each 512 bytes of it (docs/kernels.md), and 1024
 * elements that a step makes.
 */
#define ELEMENT_CYCLES 12
#define UPDATE_CYCLES 75
#define ROW_CYCLES 25
#define RUN_CYCLES 2
#define STEP_CYCLES 12
#define LANES_LOG2 7
#define SPREAD_MAX 8                    /* times what there is may be made, */
#define SMALL_ELEMENTS (1 << 20)        /* and so much in any case */

struct windows {
    const struct graph_gather *w;
    struct shape operand, indices;
    int queries;                        /* dimensions of the indices but that of their numbers */
    int of_indices[GRAPH_RANK_MAX];     /* which they are */
    int batch_of[GRAPH_RANK_MAX];       /* the operand's dimension that each is; -1: none */
    int dims, of_operand[GRAPH_RANK_MAX];       /* the operand's other dimensions, in order, */
    int64_t size[GRAPH_RANK_MAX];       /* the window's along each, */
    int number[GRAPH_RANK_MAX];         /* and which number of the vectors says where; -1: at 0 */
};

static int find(const int *list, int count, int x)
{
    for (int i = 0; i < count; i++)
        if (list[i] == x)
            return i;
    return -1;
}

/* the dimensions of the batch before those of windows: the frame in which all of it is done */
static void read_dims(struct windows *s, const struct shape *rows, bool is_gather)
{
    const struct graph_gather *w = s->w;
    int offset = 0;

    for (int i = 0; i < s->indices.rank; i++) {
        int k = find(w->indices_batching, w->batching_count, i);

        if (i == w->index_vector_dim)
            continue;
        s->batch_of[s->queries] = k < 0 ? -1 : w->operand_batching[k];
        s->of_indices[s->queries++] = i;
    }
    for (int d = 0; d < s->operand.rank; d++) {
        if (find(w->operand_batching, w->batching_count, d) >= 0)
            continue;
        s->size[s->dims] = find(w->collapsed_dims, w->collapsed_count, d) >= 0
                               ? 1 : rows->dim[w->offset_dims[offset++]];
        s->number[s->dims] = find(w->start_index_map, w->map_count, d);
        if (is_gather && s->size[s->dims] == s->operand.dim[d])
            s->number[s->dims] = -1;    /* of a scatter, the window is not inside but from 0 on */
        s->of_operand[s->dims++] = d;
    }
}

static int64_t batch(const struct windows *s)
{
    int64_t count = 1;

    for (int i = 0; i < s->queries; i++)
        count *= s->indices.dim[s->of_indices[i]];
    return count;
}

/* the larger part of starts that may be 0..span */
static int64_t half_of(int64_t span) { return (span + 1) / 2; }

/* elements that all steps make together: an update begins with its window and ends with all */
static double step_elements(const struct windows *s, bool is_gather)
{
    double all = (double)batch(s), made = 0;

    for (int k = 0; k < s->dims; k++)
        all *= (double)(is_gather ? s->operand.dim[s->of_operand[k]] : s->size[k]);
    for (int k = 0; k < s->dims; k++) {
        int64_t size = s->operand.dim[s->of_operand[k]], span = size - s->size[k];
        int64_t from = is_gather ? size : s->size[k], to = is_gather ? s->size[k] : size;

        for (; s->number[k] >= 0 && span > 0; span -= half_of(span))
            made += all / (double)from * (double)(to + span - half_of(span));
        all *= (double)to / (double)from;
    }
    return made;
}

static double cycles_now(const struct windows *s, bool is_gather)
{
    int last = s->dims - 1;
    double elements = (double)batch(s);
    bool has_rows = last >= 0 && s->of_operand[last] == s->operand.rank - 1 && s->number[last] < 0;

    for (int k = 0; k < s->dims; k++)
        elements *= (double)s->size[k];
    if (has_rows)
        return elements / (double)s->size[last] *
               (ROW_CYCLES + RUN_CYCLES * (double)((s->size[last] + ARRAY_LANES - 1) / ARRAY_LANES));
    return elements * (is_gather ? ELEMENT_CYCLES : UPDATE_CYCLES);
}

/* an update goes over all of the operand, too, and its mask */
static double cycles_of_steps(const struct windows *s, bool is_gather)
{
    double made = step_elements(s, is_gather);

    if (!is_gather)
        made += 2 * (double)shape_elems(&s->operand);
    return made / (ARRAY_LANES * 8) * STEP_CYCLES;
}

/* rows of 128 lanes that a window of a vector covers wherever in the first of them it begins */
static int64_t rows_covered(const struct windows *s)
{
    return div_up(s->size[0] + ARRAY_LANES - 1, ARRAY_LANES);
}

/* vectors, of which a window is no longer than all of their rows */
static bool has_vectors(const struct windows *s)
{
    return s->dims == 1 && s->of_operand[0] == s->operand.rank - 1 && s->number[0] >= 0 &&
           rows_covered(s) < s->operand.dim[s->operand.rank - 1] / ARRAY_LANES;
}

static double cycles_of_rows(const struct windows *s)
{
    double rows = (double)batch(s) * (double)rows_covered(s);
    struct windows rest = *s;

    rest.operand.dim[rest.operand.rank - 1] = rows_covered(s) * ARRAY_LANES;
    return rows * (ROW_CYCLES + RUN_CYCLES) + cycles_of_steps(&rest, true);
}

/* whether rows come first, which is for gathers */
static bool takes_rows(const struct windows *s)
{
    return has_vectors(s) && cycles_of_rows(s) < cycles_of_steps(s, true);
}

/* An array that many places share would be there for each of them: not much more than there is. */
static bool fits(const struct windows *s, bool is_gather)
{
    double all = (double)batch(s), windows = all;

    if (is_gather && takes_rows(s))
        return true;
    for (int k = 0; k < s->dims; k++) {
        all *= (double)s->operand.dim[s->of_operand[k]];
        windows *= (double)s->size[k];
    }
    return all <= SPREAD_MAX * ((double)shape_elems(&s->operand) + windows) + SMALL_ELEMENTS;
}

static bool pays(const struct windows *s, bool is_gather)
{
    double made = is_gather && takes_rows(s) ? cycles_of_rows(s) : cycles_of_steps(s, is_gather);

    return made < cycles_now(s, is_gather);
}

static bool find_windows(const struct graph *g, const struct graph_node *n, struct windows *s)
{
    bool is_gather = n->op == HLO_GATHER, has_window = false;

    if (!is_gather && n->op != HLO_SCATTER)
        return false;
    *s = (struct windows){.w = n->gather, .operand = g->node[n->operand[0]].shape,
                          .indices = g->node[n->operand[1]].shape};
    if (s->indices.dtype != DTYPE_S32)
        return false;
    read_dims(s, is_gather ? &n->shape : &g->node[n->operand[2]].shape, is_gather);
    for (int i = 0; i < s->queries; i++)
        if (!is_gather && s->batch_of[i] < 0)
            return false;               /* several windows in one array: in their order */
    for (int k = 0; k < s->dims; k++)
        has_window |= s->number[k] >= 0 && s->size[k] > 1;
    return has_window && s->queries + s->dims <= GRAPH_RANK_MAX && fits(s, is_gather) &&
           pays(s, is_gather);
}

/* ----- the frame */

static struct shape frame_of(const struct windows *s, enum graph_dtype dtype)
{
    struct shape f = {.dtype = dtype, .rank = s->queries + s->dims};

    for (int i = 0; i < s->queries; i++)
        f.dim[i] = s->indices.dim[s->of_indices[i]];
    for (int k = 0; k < s->dims; k++)
        f.dim[s->queries + k] = s->operand.dim[s->of_operand[k]];
    return f;
}

/* where the operand's dimensions are in the frame */
static void operand_places(const struct windows *s, int *place)
{
    for (int i = 0; i < s->queries; i++)
        if (s->batch_of[i] >= 0)
            place[s->batch_of[i]] = i;
    for (int k = 0; k < s->dims; k++)
        place[s->of_operand[k]] = s->queries + k;
}

/* where the dimensions of rows are, but those of one element that they lack: their numbers without */
static void rows_places(const struct windows *s, const struct shape *rows, int *place)
{
    int offset = 0, query = 0, kept = s->queries;

    for (int d = 0; d < rows->rank; d++)
        if (!graph_dims_have(s->w->offset_dims, s->w->offset_count, d))
            place[d] = query++;
    for (int k = 0; k < s->dims; k++)
        if (find(s->w->collapsed_dims, s->w->collapsed_count, s->of_operand[k]) < 0)
            place[s->w->offset_dims[offset++]] = kept++;
}

static struct shape with_sizes(const struct windows *s, const struct shape *rows)
{
    struct shape f = frame_of(s, rows->dtype);

    for (int k = 0; k < s->dims; k++)
        f.dim[s->queries + k] = s->size[k];
    return f;
}

/* windows of the frame as rows have their dimensions, and the other way */
static int as_rows(struct graph *g, const struct windows *s, int x, const struct shape *rows)
{
    struct shape kept = *rows;
    int place[GRAPH_RANK_MAX];

    rows_places(s, rows, place);
    for (int d = 0; d < rows->rank; d++)
        kept.dim[place[d]] = rows->dim[d];
    return graph_transpose(g, graph_reshape(g, x, kept), place);
}

static int from_rows(struct graph *g, const struct windows *s, int x)
{
    struct shape rows = g->node[x].shape;
    int place[GRAPH_RANK_MAX], back[GRAPH_RANK_MAX];

    rows_places(s, &rows, place);
    for (int d = 0; d < rows.rank; d++)
        back[place[d]] = d;
    return graph_reshape(g, graph_transpose(g, x, back), with_sizes(s, &rows));
}

/* for each place of the batch a number of its index vector, clamped to where the window is inside */
static int starts(struct graph *g, const struct windows *s, int indices, int k, bool is_clamped)
{
    struct shape one = {.dtype = DTYPE_S32, .rank = s->queries};
    int64_t begin[GRAPH_RANK_MAX] = {0}, end[GRAPH_RANK_MAX];
    int64_t last = s->operand.dim[s->of_operand[k]] - s->size[k];
    int x = indices, low, high;

    memcpy(one.dim, frame_of(s, DTYPE_S32).dim, sizeof(one.dim));
    if (s->number[k] < 0)               /* all begin there */
        return graph_broadcast(g, graph_constant(g, shape_scalar(DTYPE_S32), 0), one, NULL);
    if (s->w->index_vector_dim < s->indices.rank) {
        memcpy(end, s->indices.dim, sizeof(end));
        begin[s->w->index_vector_dim] = s->number[k];
        end[s->w->index_vector_dim] = s->number[k] + 1;
        x = graph_slice(g, x, begin, end, NULL);
    }
    x = graph_reshape(g, x, one);
    if (!is_clamped)
        return x;
    low = graph_splat(g, x, 0);
    high = graph_splat(g, x, (double)last);
    x = graph_binary(g, HLO_MAXIMUM, x, low);
    return graph_binary(g, HLO_MINIMUM, x, high);
}

/* what each place of the batch has, in an array of the frame */
static int spread(struct graph *g, const struct windows *s, int x, struct shape to)
{
    int dims[GRAPH_RANK_MAX];

    for (int i = 0; i < s->queries; i++)
        dims[i] = i;
    to.dtype = g->node[x].shape.dtype;
    return graph_broadcast(g, x, to, dims);
}

static int is_from(struct graph *g, int start, int64_t half)
{
    int every = graph_splat(g, start, (double)half);

    return graph_compare(g, COMPARE_GE, start, every);
}

/* the starts that are left when those from `half` on have moved by it */
static int less_half(struct graph *g, int start, int moves, int64_t half)
{
    int every = graph_splat(g, start, (double)half);

    return graph_select(g, moves, graph_binary(g, HLO_SUBTRACT, start, every), start);
}

/* ----- gathers */

/* `size` elements along a dimension of the frame, from where each place of the batch says */
static int take_windows(struct graph *g, const struct windows *s, int x, int start, int dim,
                        int64_t size)
{
    int64_t span = g->node[x].shape.dim[dim] - size;

    while (span > 0) {
        int64_t half = half_of(span);
        int moves = is_from(g, start, half), stays, moved, which;

        span -= half;
        stays = expand_part(g, x, dim, 0, size + span, 1);
        moved = expand_part(g, x, dim, half, size + span, 1);
        which = spread(g, s, moves, g->node[stays].shape);
        x = graph_select(g, which, moved, stays);
        start = less_half(g, start, moves, half);
    }
    return x;
}

/* the numbers of the rows that windows begin in, and of those behind: [batch, rows, 1] */
static int row_numbers(struct graph *g, const struct windows *s, int first)
{
    struct shape numbers = g->node[first].shape;
    int every;

    numbers.dim[numbers.rank++] = rows_covered(s);
    numbers.dim[numbers.rank++] = 1;
    every = spread(g, s, first, numbers);
    return graph_binary(g, HLO_ADD, every, graph_iota(g, numbers, s->queries));
}

/* [batch, elements] of the rows in which the windows of vectors lie */
static int gather_rows(struct graph *g, const struct windows *s, int x, int numbers)
{
    int lanes = s->operand.rank - 1;
    int64_t rows = div_up(s->operand.dim[lanes], ARRAY_LANES);
    struct shape as_rows = s->operand, made = g->node[numbers].shape;
    struct graph_gather d = {.offset_count = 1, .offset_dims = {s->queries + 1},
                             .collapsed_count = 1, .collapsed_dims = {lanes}, .map_count = 1,
                             .start_index_map = {lanes}, .index_vector_dim = s->queries + 1};

    x = expand_widened(g, x, lanes, 0, rows * ARRAY_LANES - s->operand.dim[lanes], 0);
    as_rows.dim[lanes] = rows;
    as_rows.dim[as_rows.rank++] = ARRAY_LANES;
    for (int i = 0; i < lanes; i++) {
        d.slice_sizes[i] = 1;
        d.operand_batching[d.batching_count] = i;
        d.indices_batching[d.batching_count++] = find(s->batch_of, s->queries, i);
    }
    d.slice_sizes[lanes] = 1;
    d.slice_sizes[lanes + 1] = ARRAY_LANES;
    x = graph_gather(g, graph_reshape(g, x, as_rows), numbers, &d);
    made.dtype = s->operand.dtype;
    made.rank = s->queries + 1;
    made.dim[s->queries] *= ARRAY_LANES;
    return graph_reshape(g, x, made);
}

/* the last window begins inside the last rows of all: those that are wanted may begin before it */
static int windows_of_vectors(struct graph *g, const struct graph_node *n, const struct windows *s)
{
    int64_t rows = div_up(s->operand.dim[s->operand.rank - 1], ARRAY_LANES);
    int start = starts(g, s, n->operand[1], 0, true), first, lanes;

    first = graph_binary(g, HLO_SHIFT_RIGHT_LOGICAL, start, graph_splat(g, start, LANES_LOG2));
    first = graph_binary(g, HLO_MINIMUM, first,
                         graph_splat(g, start, (double)(rows - rows_covered(s))));
    lanes = graph_binary(g, HLO_MULTIPLY, first, graph_splat(g, first, ARRAY_LANES));
    start = graph_binary(g, HLO_SUBTRACT, start, lanes);
    return take_windows(g, s, gather_rows(g, s, n->operand[0], row_numbers(g, s, first)), start,
                        s->queries, s->size[0]);
}

static int gather(struct graph *g, const struct graph_node *n, const struct windows *s)
{
    struct shape frame = frame_of(s, s->operand.dtype);
    int place[GRAPH_RANK_MAX], order[GRAPH_RANK_MAX], rank = 0, x = n->operand[0];

    if (takes_rows(s))
        return as_rows(g, s, windows_of_vectors(g, n, s), &n->shape);
    operand_places(s, place);
    for (int at = 0; at < frame.rank; at++) {           /* its dimensions in the frame's order */
        int d = find(place, s->operand.rank, at);

        if (d >= 0)
            order[rank++] = d;
    }
    x = graph_transpose(g, x, order);
    for (int i = 0; i < rank; i++)
        order[i] = place[order[i]];
    if (rank < frame.rank)
        x = graph_broadcast(g, x, frame, order);
    for (int k = 0; k < s->dims; k++)
        x = s->number[k] < 0 ? expand_part(g, x, s->queries + k, 0, s->size[k], 1)
                             : take_windows(g, s, x, starts(g, s, n->operand[1], k, true),
                                            s->queries + k, s->size[k]);
    return as_rows(g, s, x, &n->shape);
}

/* ----- scatters */

/* Between zeros on both sides, of which the operand's size is taken: the later the less before it. */
static int put_window(struct graph *g, const struct windows *s, int x, int indices, int k)
{
    int64_t size = s->operand.dim[s->of_operand[k]], span = size - s->size[k];
    int start, dim = s->queries + k;

    if (s->number[k] < 0)
        return expand_widened(g, x, dim, 0, span, 0);
    start = starts(g, s, indices, k, true);
    start = graph_binary(g, HLO_SUBTRACT, graph_splat(g, start, (double)span), start);
    return take_windows(g, s, expand_widened(g, x, dim, span, span, 0), start, dim, size);
}

/* the one number that an array has everywhere; NODE_NONE: nobody can tell */
static int number_of(const struct graph *g, int x)
{
    while (g->node[x].shape.rank > 0) {
        enum graph_op op = g->node[x].op;

        if (op != HLO_BROADCAST && op != HLO_RESHAPE && op != HLO_TRANSPOSE)
            return NODE_NONE;
        x = g->node[x].operand[0];
    }
    return x;
}

/* an update that has the same number everywhere needs no place */
static int update_of(struct graph *g, const struct graph_node *n, const struct windows *s)
{
    int x = number_of(g, n->operand[2]);

    if (x != NODE_NONE)
        return graph_broadcast(g, x, frame_of(s, s->operand.dtype), NULL);
    x = from_rows(g, s, n->operand[2]);
    for (int k = 0; k < s->dims; k++)
        x = put_window(g, s, x, n->operand[1], k);
    return x;
}

/* for each place of the batch the elements along dimension k that a window has, if it is inside */
static int has_window(struct graph *g, const struct windows *s, int indices, int k)
{
    int64_t size = s->operand.dim[s->of_operand[k]];
    struct shape line = {.dtype = DTYPE_S32, .rank = s->queries + 1};
    int start = starts(g, s, indices, k, false), every, at, end, low, high, valid;

    memcpy(line.dim, g->node[start].shape.dim, sizeof(line.dim));
    line.dim[s->queries] = size;
    every = spread(g, s, start, line);
    at = graph_iota(g, line, s->queries);
    end = graph_binary(g, HLO_ADD, every, graph_splat(g, every, (double)s->size[k]));
    low = graph_splat(g, start, 0);
    high = graph_splat(g, start, (double)(size - s->size[k]));
    low = graph_compare(g, COMPARE_GE, start, low);
    high = graph_compare(g, COMPARE_LE, start, high);
    valid = spread(g, s, graph_binary(g, HLO_AND, low, high), line);
    every = graph_compare(g, COMPARE_GE, at, every);
    end = graph_compare(g, COMPARE_LT, at, end);
    return graph_binary(g, HLO_AND, graph_binary(g, HLO_AND, every, end), valid);
}

static int scatter(struct graph *g, const struct graph_node *n, const struct windows *s)
{
    struct shape frame = frame_of(s, DTYPE_PRED);
    int place[GRAPH_RANK_MAX], back[GRAPH_RANK_MAX], dims[GRAPH_RANK_MAX], mask = NODE_NONE;
    int x, old;
    enum graph_op op;

    operand_places(s, place);
    for (int d = 0; d < s->operand.rank; d++) {
        back[place[d]] = d;
        dims[d] = d;
    }
    old = graph_transpose(g, n->operand[0], back);
    x = update_of(g, n, s);
    for (int k = 0; k < s->dims; k++) {
        int one;

        if (s->number[k] < 0 && s->size[k] == s->operand.dim[s->of_operand[k]])
            continue;
        dims[s->queries] = s->queries + k;
        one = graph_broadcast(g, has_window(g, s, n->operand[1], k), frame, dims);
        mask = mask == NODE_NONE ? one : graph_binary(g, HLO_AND, mask, one);
    }
    if (expand_combines(n->reduce_kind, &op))
        x = graph_binary(g, op, old, x);
    return graph_transpose(g, graph_select(g, mask, x, old), place);
}

int expand_windows(struct graph *g, const struct graph_node *n)
{
    struct windows s;

    if (!find_windows(g, n, &s))
        return NODE_NONE;
    return n->op == HLO_GATHER ? gather(g, n, &s) : scatter(g, n, &s);
}
