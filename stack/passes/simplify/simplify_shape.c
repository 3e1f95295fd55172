/* The rules of pass_simplify about moving data by a fixed rule. */
#include "stack/hlo/array.h"
#include "stack/hlo/graph_shape.h"
#include "stack/hlo/rewrite.h"
#include "stack/passes/simplify/simplify.h"

#include <math.h>
#include <string.h>

struct shape shape_squeeze(const struct shape *s)
{
    struct shape out = {.dtype = s->dtype};

    for (int i = 0; i < s->rank; i++)
        if (s->dim[i] != 1)
            out.dim[out.rank++] = s->dim[i];
    return out;
}

void reshape_runs_find(const struct shape *from, const struct shape *to, struct reshape_runs *r)
{
    int i = 0, j = 0;

    r->count = 0;
    r->from[0] = r->to[0] = 0;
    while (i < from->rank || j < to->rank) {
        int64_t a = i < from->rank ? from->dim[i++] : 1, b = j < to->rank ? to->dim[j++] : 1;

        while (a != b)
            if (a < b)
                a *= from->dim[i++];
            else
                b *= to->dim[j++];
        r->count++;
        r->from[r->count] = i;
        r->to[r->count] = j;
    }
}

/* whose the dimensions of a run are: of what is spread, new, or both */
enum run_owner { RUN_NEW, RUN_SPREAD, RUN_BOTH };

static enum run_owner run_owner(const struct graph *g, const struct graph_node *broadcast,
                                const struct reshape_runs *runs, int run)
{
    const struct shape *inner = &g->node[broadcast->operand[0]].shape;
    bool has_spread = false, has_new = false;
    uint32_t spread = 0;

    for (int i = 0; i < inner->rank; i++)
        spread |= 1u << broadcast->dims[i];
    for (int d = runs->from[run]; d < runs->from[run + 1]; d++)
        if (broadcast->shape.dim[d] != 1) {
            has_spread |= (spread >> d) & 1u;
            has_new |= !((spread >> d) & 1u);
        }
    return has_spread ? (has_new ? RUN_BOTH : RUN_SPREAD) : RUN_NEW;
}

/*
 * broadcast to `n`'s operand, then reshape: where every run is either all of the
 * operand's or all new, it is a broadcast of a reshaped operand.
 */
static int reshape_of_broadcast(struct graph *g, const struct graph_node *n,
                                const struct graph_node *b)
{
    struct shape small = {.dtype = n->shape.dtype}, shape = n->shape;
    int dims[GRAPH_RANK_MAX], operand = b->operand[0];
    struct reshape_runs runs;

    reshape_runs_find(&b->shape, &n->shape, &runs);
    for (int r = 0; r < runs.count; r++) {
        enum run_owner owner = run_owner(g, b, &runs, r);

        if (owner == RUN_BOTH)
            return NODE_NONE;
        for (int d = runs.to[r]; owner == RUN_SPREAD && d < runs.to[r + 1]; d++) {
            dims[small.rank] = d;
            small.dim[small.rank++] = n->shape.dim[d];
        }
    }
    return graph_broadcast(g, graph_reshape(g, operand, small), shape, dims);
}

/* reshaped to `shape` it would be no broadcast any more, but an array that somebody has to write */
static bool must_be_written(const struct graph *g, const struct graph_node *n,
                            const struct shape *shape)
{
    struct reshape_runs runs;

    if (n->op != HLO_BROADCAST)
        return false;
    reshape_runs_find(&n->shape, shape, &runs);
    for (int r = 0; r < runs.count; r++)
        if (run_owner(g, n, &runs, r) == RUN_BOTH)
            return true;
    return false;
}

/* Sizes of 1 go first, where that is all that the reshape does. */
static int reshape_of_transpose(struct graph *g, const struct graph_node *n,
                                const struct graph_node *t)
{
    struct shape whole = g->node[t->operand[0]].shape, small = shape_squeeze(&whole);
    struct shape turned = shape_squeeze(&t->shape);
    int place[GRAPH_RANK_MAX], dims[GRAPH_RANK_MAX], count = 0;

    if (!shape_equal(&turned, &n->shape))
        return NODE_NONE;
    for (int d = 0; d < whole.rank; d++) {
        place[d] = count;
        count += whole.dim[d] != 1;
    }
    count = 0;
    for (int d = 0; d < whole.rank; d++)
        if (whole.dim[t->dims[d]] != 1)
            dims[count++] = place[t->dims[d]];
    return graph_transpose(g, graph_reshape(g, t->operand[0], small), dims);
}

static int reshaped(struct graph *g, int node, const struct shape *like)
{
    struct shape s = *like;

    s.dtype = g->node[node].shape.dtype;
    return graph_reshape(g, node, s);
}

enum { LANE_BYTES_MIN = 1 << 20 };

/*
 * One element of each row, which the reshape then puts along lanes: a column of one lane takes as
 * much memory as all of the rows, and is written and read again. As the row's maximum where all
 * others are the least there is, it is found by a reduction, which writes what is wanted at once.
 */
static int reshape_of_lane(struct graph *g, const struct graph_node *n, const struct graph_node *s)
{
    const struct shape *from = &g->node[s->operand[0]].shape;
    int last = s->shape.rank - 1, operand = s->operand[0], lane, is_it, least;
    struct shape all = *from, mask = *from;
    struct shape lanes = {.dtype = DTYPE_S32, .rank = 1, .dim = {from->dim[last]}};

    if (s->shape.rank < 2 || s->shape.dim[last] != 1 || s->stride[last] != 1 ||
        (from->dtype != DTYPE_F32 && from->dtype != DTYPE_BF16) ||
        n->shape.rank != last || shape_elems(from) * 4 < LANE_BYTES_MIN)
        return NODE_NONE;
    for (int d = 0; d < last; d++)
        if (s->shape.dim[d] != from->dim[d] || s->shape.dim[d] != n->shape.dim[d])
            return NODE_NONE;
    lane = graph_constant(g, shape_scalar(DTYPE_S32), (double)s->start[last]);
    lane = graph_broadcast(g, lane, lanes, NULL);
    is_it = graph_compare(g, COMPARE_EQ, graph_iota(g, lanes, 0), lane);
    mask.dtype = DTYPE_PRED;
    is_it = graph_broadcast(g, is_it, mask, &last);
    least = graph_broadcast(g, graph_constant(g, shape_scalar(all.dtype), -INFINITY), all, NULL);
    return graph_reduce(g, REDUCE_MAX, graph_select(g, is_it, operand, least), 1u << last);
}

/* an iota whose dimension the reshape leaves as it is, of its size and so many elements inside it */
static int reshape_of_iota(struct graph *g, const struct graph_node *n,
                           const struct graph_node *iota)
{
    int64_t inside = 1, other = 1;

    for (int i = iota->dim + 1; i < iota->shape.rank; i++)
        inside *= iota->shape.dim[i];
    for (int i = n->shape.rank - 1; i >= 0; i--) {
        if (other == inside && n->shape.dim[i] == iota->shape.dim[iota->dim])
            return graph_iota(g, n->shape, i);
        other *= n->shape.dim[i];
    }
    return NODE_NONE;
}

enum { SPREAD_SHARE = 8 };              /* elements of what is spread, in each that it is spread to */
enum { SPREAD_DEPTH = 4 };              /* functions of functions, as an index is made of */

static int function_without_spread(struct graph *g, const struct graph_node *n,
                                   const struct shape *like, int depth);

/*
 * Node `x` with the dimensions of `like`, if a broadcast gave it sizes of 1 alone, or what it is a
 * function of; or it is one number everywhere, which scalars of select and clamp are as they stand.
 */
static int without_spread(struct graph *g, int x, const struct shape *like, int depth,
                          bool *has_array)
{
    struct graph_node a = g->node[x];
    struct shape to = *like, from;

    to.dtype = a.shape.dtype;
    if (a.shape.rank == 0)
        return x;
    if (graph_op_is_elementwise(a.op)) {
        *has_array = true;
        return function_without_spread(g, &a, like, depth + 1);
    }
    if (a.op != HLO_BROADCAST)
        return NODE_NONE;
    from = g->node[a.operand[0]].shape;
    if (from.rank == 0)
        return graph_broadcast(g, a.operand[0], to, NULL);
    if (!shape_same_dims(&from, like))
        return NODE_NONE;
    *has_array = true;
    return a.operand[0];
}

static int function_without_spread(struct graph *g, const struct graph_node *n,
                                   const struct shape *like, int depth)
{
    struct graph_node plain = *n;
    int operand[3];
    bool has_array = false;

    for (int k = 0; k < n->operand_count; k++) {
        operand[k] = depth > SPREAD_DEPTH ? NODE_NONE
                     : without_spread(g, n->operand[k], like, depth, &has_array);
        if (operand[k] == NODE_NONE)
            return NODE_NONE;
    }
    plain.shape = *like;
    plain.shape.dtype = n->shape.dtype;
    return has_array ? graph_add(g, &plain, operand, n->operand_count) : NODE_NONE;
}

/* a function of arrays that broadcasts have given sizes of 1 alone: of the arrays without them */
static int reshape_of_function(struct graph *g, const struct graph_node *n,
                               const struct graph_node *function)
{
    return function_without_spread(g, function, &n->shape, 0);
}

/* a small array spread, or a narrow one widened: nobody stores it to have it again */
static bool is_made_again(const struct graph *g, int node, int *widened)
{
    const struct graph_node *n = &g->node[node];
    const struct shape *from = n->operand_count ? &g->node[n->operand[0]].shape : NULL;

    *widened += n->op == HLO_CONVERT;
    return (n->op == HLO_BROADCAST && shape_elems(from) * SPREAD_SHARE <= shape_elems(&n->shape)) ||
           (n->op == HLO_CONVERT && array_element_bytes(n->shape.dtype) >
                                         array_element_bytes(from->dtype));
}

/*
 * A sum or product of such: in the shape that its reader wants. So what a layer norm's gradient takes of
 * the forward pass, x less its mean and scale times deviation, is made where it is read, not kept.
 */
static int reshape_of_spread(struct graph *g, const struct graph_node *n,
                             const struct graph_node *function)
{
    struct graph_node f = *function;
    int operand[2], widened = 0;

    if (f.op != HLO_ADD && f.op != HLO_SUBTRACT && f.op != HLO_MULTIPLY)
        return NODE_NONE;
    for (int k = 0; k < 2; k++)
        if (!is_made_again(g, f.operand[k], &widened))
            return NODE_NONE;
    if (widened > 1)
        return NODE_NONE;
    for (int k = 0; k < 2; k++)
        operand[k] = g->node[f.operand[k]].op == HLO_CONVERT
                         ? graph_convert(g, reshaped(g, g->node[f.operand[k]].operand[0], &n->shape),
                                         n->shape.dtype)
                         : reshaped(g, f.operand[k], &n->shape);
    f.shape = n->shape;
    return graph_add(g, &f, operand, 2);
}

int simplify_reshape(struct graph *g, const struct graph_node *n)
{
    struct graph_node a;

    if (n->op != HLO_RESHAPE)
        return NODE_NONE;
    a = g->node[n->operand[0]];
    if (shape_equal(&a.shape, &n->shape))
        return n->operand[0];
    if (a.op == HLO_RESHAPE)
        return graph_reshape(g, a.operand[0], n->shape);
    if (a.op == HLO_CONSTANT && a.literal)
        return graph_literal(g, n->shape, a.literal);
    if (graph_op_is_elementwise(a.op)) {
        int made = reshape_of_function(g, n, &a);

        if (made == NODE_NONE)
            made = reshape_of_spread(g, n, &a);
        if (made != NODE_NONE)
            return made;
    }
    if (a.op == HLO_CONVERT && n->shape.rank <= 1)      /* a vector: the conversion is nothing */
        return graph_convert(g, reshaped(g, a.operand[0], &n->shape), n->shape.dtype);
    if (a.op == HLO_TRANSPOSE)
        return reshape_of_transpose(g, n, &a);
    if (a.op == HLO_IOTA)
        return reshape_of_iota(g, n, &a);
    if (a.op == HLO_SLICE)
        return reshape_of_lane(g, n, &a);
    return a.op == HLO_BROADCAST ? reshape_of_broadcast(g, n, &a) : NODE_NONE;
}

static bool is_identity(const int *dims, int rank)
{
    for (int i = 0; i < rank; i++)
        if (dims[i] != i)
            return false;
    return true;
}

/* sizes other than 1 keep their order */
static bool moves_ones_only(const struct shape *a, const int *dims)
{
    int last = -1;

    for (int i = 0; i < a->rank; i++) {
        if (a->dim[dims[i]] == 1)
            continue;
        if (dims[i] < last)
            return false;
        last = dims[i];
    }
    return true;
}

/* the smaller array is turned instead */
static int transpose_of_broadcast(struct graph *g, const struct graph_node *n,
                                  const struct graph_node *b)
{
    int rank = g->node[b->operand[0]].shape.rank, count = 0;
    int turned[GRAPH_RANK_MAX] = {0}, dims[GRAPH_RANK_MAX] = {0}, operand = b->operand[0];
    struct shape shape = n->shape;

    for (int d = 0; d < n->shape.rank; d++)
        for (int i = 0; i < rank; i++)
            if (b->dims[i] == n->dims[d]) {
                turned[count] = i;
                dims[count++] = d;
            }
    if (!is_identity(turned, rank))
        operand = graph_transpose(g, operand, turned);
    return graph_broadcast(g, operand, shape, dims);
}

/* the runs of a reshape whose operand is a transpose: which comes when before the transpose */
static bool runs_before(const struct graph_node *t, const struct reshape_runs *r, int *run)
{
    for (int i = 0; i < r->count; i++) {
        int at = i;

        if (r->from[i] == r->from[i + 1] || r->to[i] == r->to[i + 1])
            return false;
        for (int d = r->from[i] + 1; d < r->from[i + 1]; d++)
            if (t->dims[d] != t->dims[d - 1] + 1)
                return false;
        for (; at > 0 && t->dims[r->from[run[at - 1]]] > t->dims[r->from[i]]; at--)
            run[at] = run[at - 1];
        run[at] = i;
    }
    return true;
}

/*
 * [729,128] turned, split into [128,27,27] and turned to [27,27,128] is split as it lies: dimensions
 * that the reshape splits or joins stand next to each other before the first transpose, too.
 */
static int transpose_of_reshaped_transpose(struct graph *g, const struct graph_node *n,
                                           const struct graph_node *reshape)
{
    const struct graph_node *t = &g->node[reshape->operand[0]];
    struct shape split = {.dtype = n->shape.dtype};
    int run[GRAPH_RANK_MAX], place[GRAPH_RANK_MAX], dims[GRAPH_RANK_MAX];
    struct reshape_runs r;

    reshape_runs_find(&t->shape, &reshape->shape, &r);
    if (!runs_before(t, &r, run))
        return NODE_NONE;
    for (int i = 0; i < r.count; i++)
        for (int d = r.to[run[i]]; d < r.to[run[i] + 1]; d++) {
            place[d] = split.rank;
            split.dim[split.rank++] = reshape->shape.dim[d];
        }
    for (int d = 0; d < n->shape.rank; d++)
        dims[d] = place[n->dims[d]];
    return graph_transpose(g, graph_reshape(g, t->operand[0], split), dims);
}

/* floats to more bytes */
static bool is_widened(const struct graph *g, const struct graph_node *convert)
{
    enum graph_dtype from = g->node[convert->operand[0]].shape.dtype;

    return graph_dtype_is_float(from) && graph_dtype_is_float(convert->shape.dtype) &&
           array_element_bytes(from) < array_element_bytes(convert->shape.dtype);
}

int simplify_transpose(struct graph *g, const struct graph_node *n)
{
    int dims[GRAPH_RANK_MAX];
    struct graph_node a;

    if (n->op != HLO_TRANSPOSE)
        return NODE_NONE;
    a = g->node[n->operand[0]];
    if (is_identity(n->dims, n->shape.rank))
        return n->operand[0];
    if (a.op == HLO_TRANSPOSE) {
        for (int i = 0; i < n->shape.rank; i++)
            dims[i] = a.dims[n->dims[i]];
        return graph_transpose(g, a.operand[0], dims);
    }
    if (a.op == HLO_CONVERT && is_widened(g, &a))       /* the narrow array is turned */
        return graph_convert(g, graph_transpose(g, a.operand[0], n->dims), n->shape.dtype);
    if (a.op == HLO_BROADCAST)
        return transpose_of_broadcast(g, n, &a);
    if (a.op == HLO_RESHAPE && g->node[a.operand[0]].op == HLO_TRANSPOSE) {
        int made = transpose_of_reshaped_transpose(g, n, &a);

        if (made != NODE_NONE)
            return made;
    }
    return moves_ones_only(&a.shape, n->dims) ? graph_reshape(g, n->operand[0], n->shape)
                                              : NODE_NONE;
}

static bool goes_up(const int *dims, int count)
{
    for (int i = 1; i < count; i++)
        if (dims[i] <= dims[i - 1])
            return false;
    return true;
}

enum { LONG_COLUMN = 2048 };            /* elements */

/*
 * A vector as a column that would be mostly padding: as a reshape it may lie along lanes. Shorter ones
 * are left to loops, which turn vectors themselves.
 */
static bool is_long_column(const struct shape *s)
{
    return s->rank > 1 && s->dim[s->rank - 1] == 1 && shape_elems(s) >= LONG_COLUMN;
}

int simplify_broadcast(struct graph *g, const struct graph_node *n)
{
    int dims[GRAPH_RANK_MAX], count = 0;
    struct shape squeezed;
    struct graph_node a;

    if (n->op != HLO_BROADCAST)
        return NODE_NONE;
    a = g->node[n->operand[0]];
    if (shape_equal(&a.shape, &n->shape))
        return n->operand[0];
    if (a.op == HLO_BROADCAST) {
        for (int i = 0; i < g->node[a.operand[0]].shape.rank; i++)
            dims[i] = n->dims[a.dims[i]];
        return graph_broadcast(g, a.operand[0], n->shape, dims);
    }
    squeezed = shape_squeeze(&a.shape);
    if (shape_elems(&a.shape) == shape_elems(&n->shape) && goes_up(n->dims, a.shape.rank) &&
        (squeezed.rank < a.shape.rank || a.shape.rank > 1 || is_long_column(&n->shape)))
        return graph_reshape(g, n->operand[0], n->shape);
    if (squeezed.rank == a.shape.rank)
        return NODE_NONE;
    for (int i = 0; i < a.shape.rank; i++)
        if (a.shape.dim[i] != 1)
            dims[count++] = n->dims[i];
    return graph_broadcast(g, graph_reshape(g, n->operand[0], squeezed), n->shape, dims);
}

static bool pads_nothing(const struct graph_node *n)
{
    for (int i = 0; i < n->shape.rank; i++)
        if (n->low[i] || n->high[i] || n->interior[i])
            return false;
    return true;
}

static bool reverses_nothing(const struct graph_node *n)
{
    for (int i = 0; i < n->dim; i++)
        if (n->shape.dim[n->dims[i]] != 1)
            return false;
    return true;
}

/* of a transpose: less is turned behind the slice than before it */
static int dynamic_slice_of(struct graph *g, const struct graph_node *n)
{
    struct graph_node a = g->node[n->operand[0]], turned = *n;
    struct graph_trips trips = {0};
    int start[GRAPH_RANK_MAX + 1];

    if (shape_equal(&a.shape, &n->shape))
        return n->operand[0];
    if (a.op != HLO_TRANSPOSE)
        return NODE_NONE;
    start[0] = a.operand[0];
    turned.trips = n->trips ? &trips : NULL;
    for (int i = 0; i < n->shape.rank; i++) {
        int d = a.dims[i];

        start[1 + d] = n->operand[1 + i];
        turned.sizes[d] = n->sizes[i];
        turned.shape.dim[d] = n->shape.dim[i];
        if (!n->trips)
            continue;
        trips.known |= (n->trips->known >> i & 1) << d;
        trips.first[d] = n->trips->first[i];
        memcpy(trips.step[d], n->trips->step[i], sizeof(trips.step[d]));
    }
    if (n->trips)
        turned.trips = arena_copy(g->arena, &trips, 1, sizeof(trips));
    return graph_transpose(g, graph_add(g, &turned, start, n->operand_count), a.dims);
}

int simplify_move(struct graph *g, const struct graph_node *n)
{
    switch (n->op) {
    case HLO_SLICE:
        return simplify_slice(g, n);
    case HLO_PAD:
        return pads_nothing(n) ? n->operand[0] : NODE_NONE;
    case HLO_CONCATENATE:
        return n->operand_count == 1 ? n->operand[0] : NODE_NONE;
    case HLO_REVERSE:
        return reverses_nothing(n) ? n->operand[0] : NODE_NONE;
    case HLO_DYNAMIC_SLICE:
        return dynamic_slice_of(g, n);
    case HLO_DYNAMIC_UPDATE_SLICE:
        return shape_equal(&g->node[n->operand[1]].shape, &n->shape) ? n->operand[1] : NODE_NONE;
    default:
        return NODE_NONE;
    }
}

int simplify_tuple(struct graph *g, const struct graph_node *n)
{
    if (n->op != HLO_GET_TUPLE_ELEMENT || g->node[n->operand[0]].op != HLO_TUPLE)
        return NODE_NONE;
    return g->node[n->operand[0]].operand[n->dim];
}

/* the shape that the values had before the reshape, of fewer dimensions; rank -1: none */
static struct shape shape_before(const struct graph *g, const struct graph_node *n)
{
    for (int i = 0; i < n->operand_count; i++) {
        const struct graph_node *a = &g->node[n->operand[i]];

        if (a->op == HLO_RESHAPE && g->node[a->operand[0]].shape.rank < n->shape.rank &&
            shape_same_dims(&a->shape, &n->shape))
            return g->node[a->operand[0]].shape;
    }
    return (struct shape){.rank = -1};
}

/*
 * Rows and columns stay what they are, or no array in memory has to be reshaped for it. A bias or
 * a mask that is spread over some of the dimensions that were one before stays what it is.
 */
static bool is_worth_sinking(const struct graph *g, const struct graph_node *n,
                             const struct shape *before)
{
    for (int i = 0; i < n->operand_count; i++)
        if (must_be_written(g, &g->node[n->operand[i]], before))
            return false;
    if (before->rank > 0 && before->dim[before->rank - 1] == n->shape.dim[n->shape.rank - 1])
        return true;
    for (int i = 0; i < n->operand_count; i++) {
        enum graph_op op = g->node[n->operand[i]].op;

        if (op != HLO_RESHAPE && op != HLO_BROADCAST && op != HLO_CONSTANT)
            return false;
    }
    return true;
}

int simplify_sink_reshape(struct graph *g, const struct graph_node *n)
{
    struct shape before;
    int operand[3];

    if (!graph_op_is_elementwise(n->op))
        return NODE_NONE;
    before = shape_before(g, n);
    if (before.rank < 0 || !is_worth_sinking(g, n, &before))
        return NODE_NONE;
    for (int i = 0; i < n->operand_count; i++) {
        const struct graph_node *a = &g->node[n->operand[i]];

        before.dtype = a->shape.dtype;
        if (a->shape.rank == 0 && n->shape.rank > 0)
            operand[i] = n->operand[i];         /* the scalars of select and clamp */
        else if (a->op == HLO_RESHAPE && shape_equal(&g->node[a->operand[0]].shape, &before))
            operand[i] = a->operand[0];
        else
            operand[i] = graph_reshape(g, n->operand[i], before);
    }
    return graph_reshape(g, graph_add(g, n, operand, n->operand_count), n->shape);
}

static int64_t bytes_in_memory(const struct shape *s)
{
    struct array a;

    array_init(&a, "", s, NULL);
    return a.bytes;
}

/*
 * Elements of all devices are put together wherever they lie: an array is summed as it is made,
 * and only what reads the sum sees another shape, unless that shape takes less memory.
 */
int simplify_all_reduce(struct graph *g, const struct graph_node *n)
{
    struct graph_node a;
    int sum;

    if (n->op != HLO_ALL_REDUCE || n->operand_count != 1)
        return NODE_NONE;
    a = g->node[n->operand[0]];
    if (a.op != HLO_RESHAPE ||
        bytes_in_memory(&g->node[a.operand[0]].shape) > bytes_in_memory(&a.shape))
        return NODE_NONE;
    sum = graph_add(g, n, a.operand, 1);
    return graph_reshape(g, sum, a.shape);
}

/*
 * A bf16 policy's weights, held in parts as f32: each device rounds its own part, and half as many
 * bytes are gathered. Not where parts would then end inside of tiles.
 */
int simplify_all_gather(struct graph *g, const struct graph_node *n)
{
    struct graph_node a;
    struct array narrow;
    int part;

    if (n->op != HLO_CONVERT)
        return NODE_NONE;
    a = g->node[n->operand[0]];
    array_init(&narrow, "", &n->shape, NULL);
    if (a.op != HLO_ALL_GATHER || a.operand_count != 1 || !a.groups ||
        narrow.element_bytes >= array_element_bytes(a.shape.dtype) ||
        array_part_bytes(&narrow, a.dim, a.groups->size) == 0)
        return NODE_NONE;
    part = graph_convert(g, a.operand[0], n->shape.dtype);
    a.operand = &part;
    a.shape.dtype = n->shape.dtype;
    return rewrite_add(g, &a);
}

/*
 * Indices of one number each, reshaped to have a dimension for it: gather and scatter take them
 * without. Where nothing reshapes them they stay: leaving the dimension out may move elements.
 */
int simplify_indices(struct graph *g, const struct graph_node *n)
{
    struct graph_gather *d;
    struct graph_node plain = *n;
    struct shape s;
    int operand[3];

    if ((n->op != HLO_GATHER && n->op != HLO_SCATTER) ||
        g->node[n->operand[1]].op != HLO_RESHAPE || n->gather->map_count != 1)
        return NODE_NONE;
    s = g->node[n->operand[1]].shape;
    if (n->gather->index_vector_dim == s.rank)
        return NODE_NONE;
    d = arena_alloc(g->arena, sizeof(*d));
    *d = *n->gather;
    for (int i = d->index_vector_dim; i + 1 < s.rank; i++)
        s.dim[i] = s.dim[i + 1];
    s.rank--;
    for (int i = 0; i < d->batching_count; i++)
        d->indices_batching[i] -= d->indices_batching[i] > d->index_vector_dim;
    d->index_vector_dim = s.rank;
    plain.gather = d;
    memcpy(operand, n->operand, (size_t)n->operand_count * sizeof(*operand));
    operand[1] = graph_reshape(g, n->operand[1], s);
    return graph_add(g, &plain, operand, n->operand_count);
}
