/*
 * Dynamic slices and updates of vectors, which kernels would otherwise move element by element: a
 * vector lies along lanes, row behind row, and what begins inside a row has to be turned along them.
 *
 * An update by one element is a comparison of each element's number with where it goes. Longer ones
 * see the vector as rows of 128, of which a dynamic slice takes those concerned; each of them beside
 * the next is 256 lanes, out of which another takes the 128 wanted. Slices of any start then are
 * tile by tile (stack/kernels/index/index_shift.c).
 */
#include "stack/expand/expand.h"

#include "base/units.h"
#include "stack/hlo/array.h"
#include "stack/hlo/graph_shape.h"

#define TILE (8 * ARRAY_LANES)          /* elements: slices of whole tiles are copies */
#define COMPARED_MAX (1ll << 21)        /* elements that one of them is looked for among */
#define PADDED_MAX (1ll << 20)          /* elements that are copied to make whole rows, */
#define PADDED_TIMES 64                 /* or so many times what is moved */
#define JOINED_TIMES 512                /* elements that are copied for one that is changed, at most */
#define SLICED_MIN 192                  /* elements: fewer are taken one by one */

static int64_t length_of(const struct graph *g, int x) { return g->node[x].shape.dim[0]; }

static int scalar(struct graph *g, double value)
{
    return graph_constant(g, shape_scalar(DTYPE_S32), value);
}

/* where `count` of `length` elements begin, if that is nearest to `start` */
static int clamped(struct graph *g, int start, int64_t length, int64_t count)
{
    int first = scalar(g, 0), last = scalar(g, (double)(length - count));

    return graph_clamp(g, first, start, last);
}

static int resized(struct graph *g, int x, int64_t before, int64_t length)
{
    int64_t after = length - before - length_of(g, x), zero = 0;
    int value = graph_constant(g, shape_scalar(g->node[x].shape.dtype), 0);

    return before || after ? graph_pad(g, x, value, &before, &after, &zero) : x;
}

static int as_rows(struct graph *g, int x)
{
    int64_t dim[2] = {length_of(g, x) / ARRAY_LANES, ARRAY_LANES};

    return graph_reshape(g, x, shape_make(g->node[x].shape.dtype, 2, dim));
}

static int as_vector(struct graph *g, int x, int64_t length)
{
    int64_t all = shape_elems(&g->node[x].shape), zero = 0;

    x = graph_reshape(g, x, shape_make(g->node[x].shape.dtype, 1, &all));
    return all == length ? x : graph_slice(g, x, &zero, &length, NULL);
}

static int rows_from(struct graph *g, int x, int64_t first, int64_t count)
{
    int64_t start[2] = {first, 0}, limit[2] = {first + count, ARRAY_LANES};

    return graph_slice(g, x, start, limit, NULL);
}

/* of rows + 1 rows: rows of 128 that begin `lane` lanes later, 0 to 128 */
static int turned(struct graph *g, int x, int64_t rows, int lane)
{
    int pair[2], start[2] = {scalar(g, 0), lane};

    pair[0] = rows_from(g, x, 0, rows);
    pair[1] = rows_from(g, x, 1, rows);
    return graph_dynamic_slice(g, graph_concatenate(g, pair, 2, 1), start,
                               (int64_t[]){rows, ARRAY_LANES});
}

/* What lies in a vector as `count` elements from a start that is not known. */
struct window {
    int64_t length, count, rows;        /* rows + 1 of the vector's lines have all of them */
    int64_t lines;                      /* that the vector is padded to, if it has fewer */
    int start, line, lane;              /* inside; the first line, 0 to 128 behind its beginning */
};

static void find_window(struct graph *g, int64_t length, int64_t count, int start,
                        struct window *w)
{
    *w = (struct window){.length = length, .count = count, .rows = div_up(count, ARRAY_LANES)};
    w->lines = (length - count) / ARRAY_LANES + w->rows + 1;
    if (length % ARRAY_LANES == 0 && count % ARRAY_LANES == 0)
        w->lines = length / ARRAY_LANES;        /* the last rows begin at the end of the line before */
    w->start = clamped(g, start, length, count);
    w->line = graph_binary(g, HLO_DIVIDE, w->start, scalar(g, ARRAY_LANES));
    w->line = graph_binary(g, HLO_MINIMUM, w->line, scalar(g, (double)(w->lines - w->rows - 1)));
    w->lane = graph_binary(g, HLO_MULTIPLY, w->line, scalar(g, ARRAY_LANES));
    w->lane = graph_binary(g, HLO_SUBTRACT, w->start, w->lane);
}

/* the lines of `x` that have the window */
static int lines_of(struct graph *g, int x, const struct window *w)
{
    return graph_dynamic_slice(g, x, (int[]){w->line, scalar(g, 0)},
                               (int64_t[]){w->rows + 1, ARRAY_LANES});
}

static int sliced(struct graph *g, int x, int start, int64_t count)
{
    struct window w;

    find_window(g, length_of(g, x), count, start, &w);
    x = lines_of(g, as_rows(g, resized(g, x, 0, w.lines * ARRAY_LANES)), &w);
    return as_vector(g, turned(g, x, w.rows, w.lane), count);
}

/* which elements of the window's lines the update has */
static int has_update(struct graph *g, const struct window *w)
{
    struct shape lines = shape_make(DTYPE_S32, 2, (int64_t[]){w->rows + 1, ARRAY_LANES});
    int number = graph_iota(g, lines, 0), low, high;

    number = graph_binary(g, HLO_MULTIPLY, number, graph_splat(g, number, ARRAY_LANES));
    number = graph_binary(g, HLO_ADD, number, graph_iota(g, lines, 1));
    low = graph_broadcast(g, w->lane, lines, NULL);
    high = graph_binary(g, HLO_ADD, low, graph_splat(g, low, (double)w->count));
    low = graph_compare(g, COMPARE_GE, number, low);
    high = graph_compare(g, COMPARE_LT, number, high);
    return graph_binary(g, HLO_AND, low, high);
}

static int updated(struct graph *g, int x, int update, int start)
{
    struct window w;
    int new, old, has_new, back;

    find_window(g, length_of(g, x), length_of(g, update), start, &w);
    x = as_rows(g, resized(g, x, 0, w.lines * ARRAY_LANES));
    new = as_rows(g, resized(g, update, ARRAY_LANES, (w.rows + 2) * ARRAY_LANES));
    back = graph_binary(g, HLO_SUBTRACT, scalar(g, ARRAY_LANES), w.lane);
    new = turned(g, new, w.rows + 1, back);
    old = lines_of(g, x, &w);
    has_new = has_update(g, &w);
    new = graph_select(g, has_new, new, old);
    x = graph_dynamic_update_slice(g, x, new, (int[]){w.line, scalar(g, 0)});
    return as_vector(g, x, w.length);
}

int expand_vector_element(struct graph *g, int x, int update, int at, enum graph_reduce kind)
{
    struct shape numbers = shape_make(DTYPE_S32, 1, g->node[x].shape.dim);
    int number = graph_iota(g, numbers, 0);
    enum graph_op op;

    if (length_of(g, x) > COMPARED_MAX)
        return NODE_NONE;
    update = graph_reshape(g, update, shape_scalar(g->node[update].shape.dtype));
    update = graph_broadcast(g, update, g->node[x].shape, NULL);
    if (kind != REDUCE_REPLACE && !expand_combines(kind, &op))
        return NODE_NONE;
    if (kind != REDUCE_REPLACE)
        update = graph_binary(g, op, x, update);
    at = graph_broadcast(g, at, numbers, NULL);
    number = graph_compare(g, COMPARE_EQ, number, at);
    return graph_select(g, number, update, x);
}

/* numbers of 32 bits that have all of the type's */
static int widened(struct graph *g, int x)
{
    enum graph_dtype t = g->node[x].shape.dtype;

    return array_element_bytes(t) == 4 ? x
                                       : graph_convert(g, x, t == DTYPE_BF16 ? DTYPE_F32 : DTYPE_S32);
}

/* copies of all of the vector are worth it */
static bool is_short(const struct graph *g, int x, int64_t count)
{
    return length_of(g, x) <= PADDED_MAX + PADDED_TIMES * count;
}

static bool is_of_tiles(const struct graph *g, int x, int64_t count)
{
    return length_of(g, x) % TILE == 0 && count % TILE == 0;
}

int expand_vector_slice(struct graph *g, int x, int start, int64_t count)
{
    enum graph_dtype t = g->node[x].shape.dtype;

    if (g->node[x].shape.rank != 1 || count < SLICED_MIN || count == length_of(g, x) ||
        is_of_tiles(g, x, count) || !is_short(g, x, count))
        return NODE_NONE;
    return graph_convert(g, sliced(g, widened(g, x), start, count), t);
}

int expand_vector_update(struct graph *g, int x, int update, int start)
{
    enum graph_dtype t = g->node[x].shape.dtype;
    int64_t length = length_of(g, x), count;

    if (g->node[x].shape.rank != 1 || length_of(g, update) == length)
        return NODE_NONE;
    count = length_of(g, update);
    if (count == 1)
        return expand_vector_element(g, x, update, clamped(g, start, length, 1), REDUCE_REPLACE);
    if (count == 0 || is_of_tiles(g, x, count) || !is_short(g, x, count))
        return NODE_NONE;
    x = widened(g, x);
    update = widened(g, update);
    return graph_convert(g, updated(g, x, update, start), t);
}

/*
 * An update that begins at a known place is what is before, it and what is behind, which stream; a
 * few elements are cheaper where they are.
 */
static int joined(struct graph *g, const struct graph_node *n)
{
    int x = n->operand[0], update = n->operand[1], part[3], parts = 0;
    int64_t length = length_of(g, x), count = length_of(g, update), zero = 0;
    int64_t start = (int64_t)g->node[n->operand[2]].value, end;

    if (g->node[n->operand[2]].literal || count * JOINED_TIMES < length)
        return NODE_NONE;
    start = start < 0 ? 0 : start < length - count ? start : length - count;
    end = start + count;
    if (start > 0)
        part[parts++] = graph_slice(g, x, &zero, &start, NULL);
    part[parts++] = update;
    if (end < length)
        part[parts++] = graph_slice(g, x, &end, &length, NULL);
    return parts > 1 ? graph_concatenate(g, part, parts, 0) : update;
}

int expand_vector(struct graph *g, const struct graph_node *n)
{
    bool is_update = n->op == HLO_DYNAMIC_UPDATE_SLICE;
    int start;

    if (n->shape.rank != 1 || (n->op != HLO_DYNAMIC_SLICE && !is_update))
        return NODE_NONE;
    start = n->operand[is_update ? 2 : 1];
    if (g->node[start].op == HLO_CONSTANT)      /* a plain slice, soon */
        return is_update && length_of(g, n->operand[1]) > 1 ? joined(g, n) : NODE_NONE;
    return is_update ? expand_vector_update(g, n->operand[0], n->operand[1], start)
                     : expand_vector_slice(g, n->operand[0], start, n->shape.dim[0]);
}
