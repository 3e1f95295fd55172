/* Operations of keras.ops that put elements elsewhere. */
#include <inttypes.h>
#include <string.h>

#include "keras/layers/layer_operation.h"

#define TAKEN_MAX 256                   /* places of a Take, each a slice */

enum { CONSTANT, REFLECTED, SYMMETRIC };        /* what stands around an array, as choice */

static int64_t listed(const struct layer *l, int i)
{
    return (int64_t)l->c.list.value[i];
}

/* ---- what is refused ---- */

static int no_axis(const struct layer *l, struct err *e)
{
    return layer_fail(l, e, "its axes are not those of its samples; the batch is 0, which is not "
                      "supported");
}

/* the one axis that it has, of arrays with `more` dimensions than the sample; 0: none */
static int axis_of(const struct layer *l, int rank)
{
    int axis = l->c.shape_count == 1 ? operation_axis(l->c.shape[0], rank) : -1;

    return axis < 0 ? 0 : axis;
}

static int check_split(const struct layer *l, const struct shape *in, struct err *e)
{
    int axis = axis_of(l, in->rank), parts = operation_output_count(l);
    int64_t size = axis ? in->dim[axis - 1] : 0, last = 0;

    if (!axis)
        return no_axis(l, e);
    for (int i = 0; l->c.choice && i < parts - 1; last = listed(l, i++))
        if (listed(l, i) <= last || listed(l, i) >= size)
            return layer_fail(l, e, "it splits %" PRId64 " elements at %" PRId64, size,
                              listed(l, i));
    return l->c.choice || size % parts == 0
               ? 0 : layer_fail(l, e, "%" PRId64 " elements are no %d equal parts", size, parts);
}

static int check_pad(const struct layer *l, const struct shape *in, struct err *e)
{
    bool is_sound = l->c.list.count == 2 * (in->rank + 1);

    for (int i = 0; i < l->c.list.count && is_sound; i++) {
        int64_t most = i < 2 ? 0 : l->c.choice == CONSTANT ? 65536
                                 : in->dim[i / 2 - 1] - (l->c.choice == REFLECTED);

        is_sound = listed(l, i) >= 0 && listed(l, i) <= most;
    }
    return is_sound ? 0 : layer_fail(l, e, "\"pad_width\" must be [0, 0] for the batch and two "
                                     "whole numbers for each dimension of samples, up to 65536, or of "
                                     "what is mirrored");
}

static int check_tile(const struct layer *l, const struct shape *in, struct err *e)
{
    bool is_sound = l->c.list.count <= in->rank + 1;

    for (int i = 0; i < l->c.list.count && is_sound; i++)
        is_sound = listed(l, i) >= 1 && listed(l, i) <= 65536 &&
                   (l->c.list.count - i <= in->rank || listed(l, i) == 1);
    return is_sound ? 0 : layer_fail(l, e, "\"repeats\" must be whole numbers from 1 on, the batch "
                                     "once");
}

static int check_take(const struct layer *l, const struct shape *in, struct err *e)
{
    const struct layer_array *at = &l->c.constant[1];
    int axis = axis_of(l, in->rank);

    if (!axis)
        return no_axis(l, e);
    if (l->c.constant[0].value || !at->value || at->shape.rank != 1 || at->shape.dim[0] > TAKEN_MAX)
        return layer_fail(l, e, "it takes elements by a list of at most %d places", TAKEN_MAX);
    for (int64_t i = 0; i < at->shape.dim[0]; i++)
        if (at->value[i] < (double)-in->dim[axis - 1] || at->value[i] >= (double)in->dim[axis - 1])
            return layer_fail(l, e, "there is no place %g among %" PRId64, at->value[i],
                              in->dim[axis - 1]);
    return 0;
}

static int check_squeeze(const struct layer *l, const struct shape *in, struct err *e)
{
    uint32_t mask = 0;

    if (l->c.shape_count > 0 && operation_axes(l, in->rank, &mask, e) != 0)
        return -1;
    for (int d = 1; d <= in->rank; d++)
        if ((mask & (1u << d)) && in->dim[d - 1] != 1)
            return layer_fail(l, e, "dimension %d has %" PRId64 " elements, not 1", d,
                              in->dim[d - 1]);
    return 0;
}

static int check_blocks(const struct layer *l, const struct shape *in, struct err *e)
{
    int64_t b = (int64_t)l->c.alpha;
    bool is_sound = in->rank == 3 && b >= 1 && b <= 1024;

    if (is_sound && l->c.operation == OPERATION_DEPTH_TO_SPACE)
        is_sound = in->dim[2] % (b * b) == 0;
    else if (is_sound)
        is_sound = in->dim[0] % b == 0 && in->dim[1] % b == 0;
    return is_sound ? 0 : layer_fail(l, e, "\"block_size\" must divide images of [height, width, "
                                     "channels]");
}

static int check_moves(const struct layer *l, const struct shape *in, int count, struct err *e)
{
    int more = l->c.operation == OPERATION_STACK || l->c.operation == OPERATION_ONE_HOT ? 1 : 0;
    uint32_t mask;

    if (in->rank + 2 > GRAPH_RANK_MAX)
        return layer_fail(l, e, "its samples have %d dimensions, too many", in->rank);
    for (int i = 1; i < count && more; i++)
        if (!shape_same_dims(&in[0], &in[i]))
            return layer_fail(l, e, "it stacks arrays of several shapes");
    switch (l->c.operation) {
    case OPERATION_EXPAND_DIMS:
        more = (int)l->c.shape_count;
        return in->rank + 1 + more > GRAPH_RANK_MAX ? no_axis(l, e)
                                                    : operation_axes(l, in->rank + more, &mask, e);
    case OPERATION_SQUEEZE: return check_squeeze(l, in, e);
    case OPERATION_SPLIT: return check_split(l, in, e);
    case OPERATION_TILE: return check_tile(l, in, e);
    case OPERATION_PAD: return check_pad(l, in, e);
    case OPERATION_TAKE: return check_take(l, in, e);
    case OPERATION_FLIP: return operation_axes(l, in->rank, &mask, e);
    case OPERATION_DIFF:
        return axis_of(l, in->rank) && in->dim[axis_of(l, in->rank) - 1] > 1 ? 0 : no_axis(l, e);
    case OPERATION_FLIPLR: return in->rank > 0 ? 0 : no_axis(l, e);
    case OPERATION_SWAPAXES:
    case OPERATION_MOVEAXIS:
        return operation_axis((int64_t)l->c.alpha, in->rank) < 0 ||
               operation_axis((int64_t)l->c.threshold, in->rank) < 0 ? no_axis(l, e) : 0;
    case OPERATION_TRIL:
    case OPERATION_TRIU: return in->rank < 2 ? layer_fail(l, e, "its samples are no matrices") : 0;
    case OPERATION_DEPTH_TO_SPACE:
    case OPERATION_SPACE_TO_DEPTH: return check_blocks(l, in, e);
    case OPERATION_ONE_HOT:
        if (l->c.alpha < 1.0 || l->c.alpha > 65536.0)
            return layer_fail(l, e, "\"num_classes\" must be 1..65536");
        return axis_of(l, in->rank + 1) == in->rank + 1 ? 0 : no_axis(l, e);
    case OPERATION_REPEAT:
        if (l->c.list.count != 1 || listed(l, 0) < 1 || listed(l, 0) > 65536)
            return layer_fail(l, e, "it takes one whole number");
        return axis_of(l, in->rank) ? 0 : no_axis(l, e);
    case OPERATION_ROLL:
        if (l->c.list.count != l->c.shape_count)
            return layer_fail(l, e, "it takes as many whole numbers as axes");
        return operation_axes(l, in->rank, &mask, e);
    case OPERATION_GLU:
        return axis_of(l, in->rank) && in->dim[axis_of(l, in->rank) - 1] % 2 == 0
                   ? 0 : layer_fail(l, e, "its axis is no even number of elements");
    default: return axis_of(l, in->rank + more) ? 0 : no_axis(l, e);
    }
}

/* ---- what is made ---- */

/* `x` as it is but for dimensions of 1 where the mask has a bit, of this many in all */
static int expand(struct graph *g, int x, uint32_t mask, int rank)
{
    struct shape s = g->node[x].shape;
    int64_t dim[GRAPH_RANK_MAX];

    for (int d = 0, at = 0; d < rank; d++)
        dim[d] = mask & (1u << d) ? 1 : s.dim[at++];
    return operation_reshape(g, x, rank, dim);
}

static int squeeze(struct graph *g, int x, uint32_t mask, bool is_all)
{
    struct shape s = g->node[x].shape;
    int rank = 1;

    for (int d = 1; d < s.rank; d++)
        if (is_all ? s.dim[d] != 1 : !(mask & (1u << d)))
            s.dim[rank++] = s.dim[d];
    return operation_reshape(g, x, rank, s.dim);
}

static int split(struct layer_call *c, int x, int axis)
{
    const struct layer *l = c->layer;
    struct graph *g = &c->t->graph;
    int parts = operation_output_count(l), first = NODE_NONE;
    int64_t size = g->node[x].shape.dim[axis], from = 0;

    for (int i = 0; i < parts; i++) {
        int64_t to = i == parts - 1 ? size : l->c.choice ? listed(l, i) : size / parts * (i + 1);
        int node = operation_part(g, x, axis, from, to);

        if (i == 0)
            first = node;
        else
            c->more[i] = node;
        from = to;
    }
    return first;
}

static int stack(struct graph *g, const int *operand, int count, int axis)
{
    int x[LAYER_INPUTS_MAX];

    for (int i = 0; i < count; i++)
        x[i] = expand(g, operand[i], 1u << axis, g->node[operand[i]].shape.rank + 1);
    return count == 1 ? x[0] : graph_concatenate(g, x, count, axis);
}

/* a new dimension of `times` before or behind this one, which becomes part of it */
static int repeat(struct graph *g, int x, int axis, int64_t times, bool is_behind)
{
    struct shape s = g->node[x].shape, wide = s, to = s;
    int dims[GRAPH_RANK_MAX], at = axis + is_behind;

    if (times == 1)
        return x;
    for (int d = 0; d < s.rank; d++) {
        dims[d] = d + (d >= at);
        wide.dim[dims[d]] = s.dim[d];
    }
    wide.rank++;
    wide.dim[at] = times;
    to.dim[axis] *= times;
    return operation_reshape(g, graph_broadcast(g, x, wide, dims), to.rank, to.dim);
}

static int tile(const struct layer *l, struct graph *g, int x)
{
    int rank = g->node[x].shape.rank;

    for (int i = 0; i < l->c.list.count; i++)
        x = repeat(g, x, rank - (int)l->c.list.count + i, listed(l, i), false);
    return x;
}

/* what lies at the two ends of a dimension, the other way round; REFLECTED without the end itself */
static int mirror(struct graph *g, int x, int dim, int64_t low, int64_t high, bool has_end)
{
    int64_t size = g->node[x].shape.dim[dim], apart = has_end ? 0 : 1;
    int piece[3], count = 0;

    if (low > 0) {
        piece[count] = operation_part(g, x, dim, apart, apart + low);
        piece[count] = graph_reverse(g, piece[count], &dim, 1);
        count++;
    }
    piece[count++] = x;
    if (high > 0) {
        piece[count] = operation_part(g, x, dim, size - apart - high, size - apart);
        piece[count] = graph_reverse(g, piece[count], &dim, 1);
        count++;
    }
    return count == 1 ? x : graph_concatenate(g, piece, count, dim);
}

static int pad(const struct layer *l, struct graph *g, int x)
{
    struct shape s = g->node[x].shape;
    int64_t low[GRAPH_RANK_MAX] = {0}, high[GRAPH_RANK_MAX] = {0}, none[GRAPH_RANK_MAX] = {0};
    int value;

    for (int d = 0; d < s.rank && l->c.choice != CONSTANT; d++)
        x = mirror(g, x, d, listed(l, 2 * d), listed(l, 2 * d + 1), l->c.choice == SYMMETRIC);
    if (l->c.choice != CONSTANT)
        return x;
    value = graph_constant(g, shape_scalar(s.dtype), l->c.mask_value);
    for (int d = 0; d < s.rank; d++) {
        low[d] = listed(l, 2 * d);
        high[d] = listed(l, 2 * d + 1);
    }
    return graph_pad(g, x, value, low, high, none);
}

/* the dimension `from` stands at `to`; the others keep their order, or (is_swap) it stands at `from` */
static int move(struct graph *g, int x, int from, int to, bool is_swap)
{
    int rank = g->node[x].shape.rank, dims[GRAPH_RANK_MAX], at = 0;

    for (int d = 0; d < rank; d++) {
        at += at == from;
        dims[d] = d == to ? from : is_swap ? (d == from ? to : d) : at++;
    }
    return graph_transpose(g, x, dims);
}

static int roll(struct graph *g, int x, int axis, int64_t by)
{
    int64_t size = g->node[x].shape.dim[axis];
    int piece[2];

    by = (by % size + size) % size;
    if (by == 0)
        return x;
    piece[0] = operation_part(g, x, axis, size - by, size);
    piece[1] = operation_part(g, x, axis, 0, size - by);
    return graph_concatenate(g, piece, 2, axis);
}

static int differences(struct graph *g, int x, int axis)
{
    int64_t size = g->node[x].shape.dim[axis];
    int later = operation_part(g, x, axis, 1, size);

    return graph_binary(g, HLO_SUBTRACT, later, operation_part(g, x, axis, 0, size - 1));
}

static int take(const struct layer *l, struct graph *g, int x, int axis)
{
    const struct layer_array *at = &l->c.constant[1];
    int piece[TAKEN_MAX];

    for (int64_t i = 0; i < at->shape.dim[0]; i++) {
        int64_t place = (int64_t)at->value[i];

        place += place < 0 ? g->node[x].shape.dim[axis] : 0;
        piece[i] = operation_part(g, x, axis, place, place + 1);
    }
    return at->shape.dim[0] == 1 ? piece[0]
                                 : graph_concatenate(g, piece, (int)at->shape.dim[0], axis);
}

/* rows and columns of matrices: what column - row is at most, or (is_upper) at least, k */
static int triangle(struct graph *g, int x, double k, bool is_upper)
{
    struct shape s = g->node[x].shape, whole = s;
    int row, column, is_kept;

    whole.dtype = DTYPE_S32;
    row = graph_iota(g, whole, s.rank - 2);
    row = graph_binary(g, HLO_ADD, row, graph_splat(g, row, k));
    column = graph_iota(g, whole, s.rank - 1);
    is_kept = graph_compare(g, is_upper ? COMPARE_GE : COMPARE_LE, column, row);
    return graph_select(g, is_kept, x, graph_splat(g, x, 0.0));
}

/* [height, width, b, b, channels] */
static int depth_to_space(struct graph *g, int x, int64_t b)
{
    struct shape s = g->node[x].shape;
    int64_t h = s.dim[1], w = s.dim[2], few = s.dim[3] / (b * b);

    x = operation_reshape(g, x, 6, (int64_t[]){s.dim[0], h, w, b, b, few});
    x = graph_transpose(g, x, (int[]){0, 1, 3, 2, 4, 5});
    return operation_reshape(g, x, 4, (int64_t[]){s.dim[0], h * b, w * b, few});
}

static int space_to_depth(struct graph *g, int x, int64_t b)
{
    struct shape s = g->node[x].shape;
    int64_t h = s.dim[1] / b, w = s.dim[2] / b;

    x = operation_reshape(g, x, 6, (int64_t[]){s.dim[0], h, b, w, b, s.dim[3]});
    x = graph_transpose(g, x, (int[]){0, 1, 3, 2, 4, 5});
    return operation_reshape(g, x, 4, (int64_t[]){s.dim[0], h, w, b * b * s.dim[3]});
}

static int gated(struct graph *g, int x, int axis)
{
    int64_t half = g->node[x].shape.dim[axis] / 2;
    int gate = graph_unary(g, HLO_LOGISTIC, operation_part(g, x, axis, half, 2 * half));

    return graph_binary(g, HLO_MULTIPLY, operation_part(g, x, axis, 0, half), gate);
}

static int call_moves(struct layer_call *c, const int *operand, int count)
{
    const struct layer *l = c->layer;
    struct graph *g = &c->t->graph;
    int x = operand[0], rank = g->node[x].shape.rank - 1, axis = axis_of(l, rank);
    int64_t block = (int64_t)l->c.alpha;
    uint32_t mask = 0;
    struct err e;

    if (l->c.operation == OPERATION_EXPAND_DIMS)
        operation_axes(l, rank + (int)l->c.shape_count, &mask, &e);
    else if (l->c.shape_count > 0)
        operation_axes(l, rank, &mask, &e);
    switch (l->c.operation) {
    case OPERATION_EXPAND_DIMS: return expand(g, x, mask, rank + 1 + (int)l->c.shape_count);
    case OPERATION_SQUEEZE: return squeeze(g, x, mask, l->c.shape_count == 0);
    case OPERATION_SPLIT: return split(c, x, axis);
    case OPERATION_STACK: return stack(g, operand, count, axis_of(l, rank + 1));
    case OPERATION_REPEAT: return repeat(g, x, axis, listed(l, 0), true);
    case OPERATION_TILE: return tile(l, g, x);
    case OPERATION_PAD: return pad(l, g, x);
    case OPERATION_SWAPAXES:
    case OPERATION_MOVEAXIS:
        return move(g, x, operation_axis(block, rank),
                    operation_axis((int64_t)l->c.threshold, rank),
                    l->c.operation == OPERATION_SWAPAXES);
    case OPERATION_FLIP: {
        int dims[GRAPH_RANK_MAX], flipped = 0;

        for (int d = 0; d <= rank; d++)
            if (mask & (1u << d))
                dims[flipped++] = d;
        return graph_reverse(g, x, dims, flipped);
    }
    case OPERATION_FLIPLR: return graph_reverse(g, x, (int[]){1}, 1);
    case OPERATION_DIFF: return differences(g, x, axis);
    case OPERATION_ROLL:
        for (int i = 0; i < l->c.list.count; i++)
            x = roll(g, x, operation_axis(l->c.shape[i], rank), listed(l, i));
        return x;
    case OPERATION_TAKE: return take(l, g, x, axis);
    case OPERATION_TRIL: return triangle(g, x, l->c.alpha, false);
    case OPERATION_TRIU: return triangle(g, x, l->c.alpha, true);
    case OPERATION_ONE_HOT:
        return graph_hold(g, nn_one_hot(g, graph_convert(g, x, DTYPE_S32), block, c->dtype));
    case OPERATION_DEPTH_TO_SPACE: return depth_to_space(g, x, block);
    case OPERATION_SPACE_TO_DEPTH: return space_to_depth(g, x, block);
    default: return gated(g, x, axis);
    }
}

const struct operation_form operation_moves = {check_moves, call_moves};
