/*
 * Windows along the dimensions that lie in tiles: images of one channel that are dilated or
 * smoothed, peaks of a signal; gradients of pooling there, and along three dimensions. Where all
 * dimensions but one or none are under a window, no order of them leaves whole tiles to combine
 * (stack/hlo/window.h), and the general kernel goes from element to element.
 *
 * So a window is a combination of the array with itself, shifted, along one dimension after the
 * other, of 1, 2, 4, 8 .. elements. A gradient goes through the taps twice, as the kernel of windows
 * does: each place notes which tap it takes, and then each tap gives what the places that took it
 * have to the elements that it has seen, the last tap first, which is the order of the places.
 * Elements a stride apart are an array of their own until all is given; then they are interleaved.
 */
#include "stack/expand/expand.h"

#include "base/units.h"
#include "stack/hlo/array.h"
#include "stack/hlo/graph_shape.h"
#include "stack/hlo/window.h"

#include <string.h>

#define TAPS_MAX 128                    /* of a gradient; with more the general kernel is as good */
/* what decides: of a tap of a tile, of a step, which is two kernels, and of each tile in it */
#define TAP_CYCLES 2
#define GRADIENT_TAP_CYCLES 6
#define STEP_CYCLES 800
#define SHIFTED_TILE_CYCLES 15
#define LINES_HELD 12                   /* of operand, source, choices and result, some of them twice */
#define PLANE 2                         /* dimensions that the kernel of reductions looks along */
#define LATTICE_MAX 64                  /* arrays that a gradient is made of */

static bool is_under(const struct graph_window *w)
{
    return w->size > 1 || w->pad_low || w->pad_high || w->stride > 1;
}

static int count_under(const struct graph_node *n, int rank)
{
    int count = 0;

    for (int d = 0; d < rank; d++)
        count += is_under(&n->window[d]);
    return count;
}

static int64_t count_taps(const struct graph_node *n)
{
    int64_t taps = 1;

    for (int d = 0; d < n->shape.rank; d++)
        taps *= n->window[d].size;
    return taps;
}

static int64_t tiles_in(const struct shape *s, const int *minor)
{
    struct array a;

    array_init(&a, "", s, minor);
    return a.tile_count;
}

/* A gradient holds several lines of an image, the dimensions under the window but the outermost. */
static bool fits(const struct graph_node *n, const struct shape *s, const int *minor,
                 int64_t vmem_rows)
{
    int64_t rows = LINES_HELD * (ARRAY_TILE_BYTES / ARRAY_ROW_BYTES);
    bool is_outermost = true;

    for (int i = s->rank - 1; i >= 2; i--) {
        if (!is_under(&n->window[minor[i]]))
            continue;
        rows *= is_outermost ? 1 : s->dim[minor[i]];
        is_outermost = false;
    }
    return rows <= vmem_rows;
}

/* of a kernel that combines whole tiles, or rows of them; INT64_MAX: there is none */
static int64_t kernel_cycles(const struct graph *g, const struct graph_node *n, int64_t vmem_rows)
{
    const struct shape *s = &g->node[n->operand[0]].shape;
    bool is_gradient = n->op == HLO_SELECT_AND_SCATTER;
    int64_t cycles = count_taps(n) * (is_gradient ? GRADIENT_TAP_CYCLES : TAP_CYCLES);
    int minor[GRAPH_RANK_MAX];

    if (!is_gradient && count_under(n, s->rank) > PLANE)
        return INT64_MAX;
    if (window_order(s, n->window, minor) && (!is_gradient || fits(n, s, minor, vmem_rows)))
        return cycles * tiles_in(s, minor);
    if (is_gradient || is_under(&n->window[s->rank - 1]))
        return INT64_MAX;
    return cycles * tiles_in(s, NULL);
}

static int64_t bits_of(int64_t x)
{
    int64_t count = 0;

    for (; x > 0; x /= 2)
        count++;
    return count;
}

/* of the array combined with itself, shifted */
static int64_t shift_cycles(const struct graph *g, const struct graph_node *n)
{
    int64_t tiles = tiles_in(&g->node[n->operand[0]].shape, NULL), steps = 1;

    for (int d = 0; d < n->shape.rank; d++)
        steps += is_under(&n->window[d]) ? bits_of(n->window[d].size) : 0;
    if (n->op == HLO_SELECT_AND_SCATTER)
        steps = 2 * count_taps(n);
    return steps * (STEP_CYCLES + SHIFTED_TILE_CYCLES * tiles);
}

static bool has_plain_windows(const struct graph_node *n, int rank)
{
    for (int d = 0; d < rank; d++)
        if (n->window[d].base_dilation != 1 || n->window[d].is_reversed ||
            n->window[d].pad_low < 0 || n->window[d].pad_high < 0)
            return false;
    return true;
}

/* with `value` around it where windows reach beyond it */
static int padded(struct graph *g, const struct graph_node *n, int x, double value)
{
    int64_t low[GRAPH_RANK_MAX] = {0}, high[GRAPH_RANK_MAX] = {0};
    struct shape s = g->node[x].shape;
    bool is_wider = false;

    for (int d = 0; d < s.rank; d++) {
        low[d] = n->window[d].pad_low;
        high[d] = n->window[d].pad_high;
        is_wider |= low[d] || high[d];
    }
    return is_wider ? graph_pad(g, x, graph_constant(g, shape_scalar(s.dtype), value), low, high, NULL)
                    : x;
}

/* ----- reductions */

/* each element with those `apart` further on; the last ones have none and are gone */
static int with_next(struct graph *g, enum graph_op op, int x, int dim, int64_t apart)
{
    int64_t size = g->node[x].shape.dim[dim] - apart;
    int here = expand_part(g, x, dim, 0, size, 1), next = expand_part(g, x, dim, apart, size, 1);

    return graph_binary(g, op, here, next);
}

/* of w elements that stand some apart, where an element may count twice */
static int overlapping(struct graph *g, enum graph_op op, int x, int dim,
                       const struct graph_window *w)
{
    int64_t covered = 1;

    for (; covered * 2 <= w->size; covered *= 2)
        x = with_next(g, op, x, dim, covered * w->window_dilation);
    return covered == w->size ? x
                              : with_next(g, op, x, dim, (w->size - covered) * w->window_dilation);
}

/* where it may not: the powers of two that make w, one behind the other */
static int one_after_another(struct graph *g, enum graph_op op, int x, int dim,
                             const struct graph_window *w)
{
    int64_t size = g->node[x].shape.dim[dim] - (w->size - 1) * w->window_dilation, done = 0;
    int made = NODE_NONE;

    for (int64_t covered = 1; done < w->size; covered *= 2) {
        if (w->size & covered) {
            int next = expand_part(g, x, dim, done * w->window_dilation, size, 1);

            made = made == NODE_NONE ? next : graph_binary(g, op, made, next);
            done += covered;
        }
        if (done < w->size)
            x = with_next(g, op, x, dim, covered * w->window_dilation);
    }
    return made;
}

static int reduce(struct graph *g, const struct graph_node *n, enum graph_op op)
{
    bool sums = n->reduce_kind == REDUCE_ADD || n->reduce_kind == REDUCE_MUL;
    enum graph_dtype dtype = n->shape.dtype;
    int x = n->operand[0];

    if (sums && graph_dtype_is_float(dtype))            /* rounded once, at the end */
        x = graph_convert(g, x, DTYPE_F32);
    x = padded(g, n, x, graph_identity(n->reduce_kind, g->node[x].shape.dtype));
    for (int d = 0; d < n->shape.rank; d++) {
        const struct graph_window *w = &n->window[d];

        if (!is_under(w))
            continue;
        x = sums ? one_after_another(g, op, x, d, w) : overlapping(g, op, x, d, w);
        x = expand_part(g, x, d, 0, n->shape.dim[d], w->stride);
    }
    return graph_convert(g, x, dtype);
}

/* ----- gradients */

/* the offset of tap number `tap`, row-major, along each dimension */
static void tap_place(const struct graph_node *n, int64_t tap, int64_t *at)
{
    for (int d = n->shape.rank - 1; d >= 0; d--) {
        at[d] = tap % n->window[d].size * n->window[d].window_dilation;
        tap /= n->window[d].size;
    }
}

/* the array as a tap sees it from each place */
static int under_tap(struct graph *g, const struct graph_node *n, int x, int64_t tap,
                     const struct shape *places)
{
    int64_t begin[GRAPH_RANK_MAX], end[GRAPH_RANK_MAX], stride[GRAPH_RANK_MAX];

    tap_place(n, tap, begin);
    for (int d = 0; d < places->rank; d++) {
        stride[d] = n->window[d].stride;
        end[d] = begin[d] + (places->dim[d] - 1) * stride[d] + 1;
    }
    return graph_slice(g, x, begin, end, stride);
}

/* The tap that each place takes, -1: none. A later one that no comparison holds back takes over. */
static int taps_taken(struct graph *g, const struct graph_node *n, const struct shape *places)
{
    struct shape all = g->node[n->operand[0]].shape, of_taps = *places;
    int x = padded(g, n, n->operand[0], 0), inside, best, taken, here;

    all.dtype = DTYPE_PRED;
    of_taps.dtype = DTYPE_S32;
    inside = padded(g, n, graph_broadcast(g, graph_constant(g, shape_scalar(DTYPE_PRED), 1), all, NULL),
                    0);
    best = under_tap(g, n, x, 0, places);
    here = under_tap(g, n, inside, 0, places);
    taken = graph_broadcast(g, graph_constant(g, shape_scalar(DTYPE_S32), -1), of_taps, NULL);
    taken = graph_select(g, here, graph_splat(g, taken, 0), taken);
    for (int64_t tap = 1; tap < count_taps(n); tap++) {
        int v = under_tap(g, n, x, tap, places), none, stays;

        none = graph_compare(g, COMPARE_LT, taken, graph_splat(g, taken, 0));
        stays = graph_compare(g, n->direction, best, v);
        stays = graph_select(g, none, graph_splat(g, stays, 0), stays);
        here = under_tap(g, n, inside, tap, places);
        here = graph_select(g, stays, graph_splat(g, here, 0), here);
        best = graph_select(g, here, v, best);
        taken = graph_select(g, here, graph_splat(g, taken, (double)tap), taken);
    }
    return taken;
}

/*
 * Elements a stride apart have their own array, an entry for each `number` of the first of them along
 * each dimension: those whose windows see them by the same taps.
 */
struct lattice {
    int64_t stride[GRAPH_RANK_MAX], count;              /* entries: the product of strides */
    struct shape entry;                                 /* of one */
};

static struct lattice lattice_of(const struct graph_node *n, enum graph_dtype dtype)
{
    struct lattice l = {.count = 1, .entry = n->shape};

    l.entry.dtype = dtype;
    for (int d = 0; d < n->shape.rank; d++) {
        l.stride[d] = n->window[d].stride;
        l.count *= l.stride[d];
        l.entry.dim[d] = div_up(n->shape.dim[d], l.stride[d]);
    }
    return l;
}

/* what places have given back to the elements that a tap sees; *entry: which of the lattice's */
static int given_back(struct graph *g, const struct graph_node *n, int x, int64_t tap,
                      const struct lattice *l, int64_t *entry)
{
    int64_t at[GRAPH_RANK_MAX], low[GRAPH_RANK_MAX], high[GRAPH_RANK_MAX];
    struct shape s = g->node[x].shape;

    tap_place(n, tap, at);
    *entry = 0;
    for (int d = 0; d < s.rank; d++) {
        int64_t first = at[d] - n->window[d].pad_low;   /* element that place 0 sees */
        int64_t number = (first % l->stride[d] + l->stride[d]) % l->stride[d];

        low[d] = (first - number) / l->stride[d];
        high[d] = l->entry.dim[d] - low[d] - s.dim[d];
        *entry = *entry * l->stride[d] + number;
    }
    return graph_pad(g, x, graph_constant(g, shape_scalar(s.dtype), 0), low, high, NULL);
}

/* [entries, ..] to the array whose elements they are, one of each entry in turn */
static int interleaved(struct graph *g, int x, const struct lattice *l, const struct shape *to)
{
    struct shape apart = {.dtype = l->entry.dtype}, joined = l->entry;
    int order[GRAPH_RANK_MAX], rank = to->rank, places[GRAPH_RANK_MAX];

    for (int d = 0; d < rank; d++)
        if (l->stride[d] > 1)
            apart.dim[apart.rank++] = l->stride[d];
    for (int d = 0; d < rank; d++) {
        places[d] = apart.rank;
        apart.dim[apart.rank++] = l->entry.dim[d];
        joined.dim[d] *= l->stride[d];
    }
    for (int d = 0, from = 0, at = 0; d < rank; d++) {
        order[at++] = places[d];
        if (l->stride[d] > 1)
            order[at++] = from++;
    }
    x = graph_reshape(g, graph_transpose(g, graph_reshape(g, x, apart), order), joined);
    for (int d = 0; d < rank; d++)
        x = expand_part(g, x, d, 0, to->dim[d], 1);
    return x;
}

static int stacked(struct graph *g, int *entry, const struct lattice *l)
{
    struct shape one = {.dtype = l->entry.dtype, .rank = l->entry.rank + 1, .dim = {1}};

    memcpy(one.dim + 1, l->entry.dim, (size_t)l->entry.rank * sizeof(*one.dim));
    for (int64_t i = 0; i < l->count; i++) {
        if (entry[i] == NODE_NONE)      /* no window sees these */
            entry[i] = graph_broadcast(g, graph_constant(g, shape_scalar(one.dtype), 0), one, NULL);
        else
            entry[i] = graph_reshape(g, entry[i], one);
    }
    return l->count == 1 ? entry[0] : graph_concatenate(g, entry, (int)l->count, 0);
}

static int scatter(struct graph *g, const struct graph_node *n)
{
    struct shape places = g->node[n->operand[1]].shape;
    bool is_float = graph_dtype_is_float(places.dtype);
    struct lattice l = lattice_of(n, is_float ? DTYPE_F32 : places.dtype);
    int taken = taps_taken(g, n, &places), source = graph_convert(g, n->operand[1], l.entry.dtype);
    int made[LATTICE_MAX];

    for (int64_t i = 0; i < l.count; i++)
        made[i] = NODE_NONE;
    for (int64_t tap = count_taps(n) - 1; tap >= 0; tap--) {
        int takes = graph_compare(g, COMPARE_EQ, taken, graph_splat(g, taken, (double)tap));
        int given = graph_select(g, takes, source, graph_splat(g, source, 0));
        int64_t i;

        given = given_back(g, n, given, tap, &l, &i);
        made[i] = made[i] == NODE_NONE ? given : graph_binary(g, HLO_ADD, made[i], given);
    }
    return graph_convert(g, interleaved(g, stacked(g, made, &l), &l, &n->shape), n->shape.dtype);
}

/* an expansion of few taps, whose lattice has room for a new dimension at each stride */
static bool may_scatter(const struct graph_node *n)
{
    int rank = n->shape.rank;
    int64_t entries = 1;

    for (int d = 0; d < n->shape.rank; d++) {
        rank += n->window[d].stride > 1;
        entries *= n->window[d].stride;
    }
    return rank <= GRAPH_RANK_MAX && entries <= LATTICE_MAX && count_taps(n) <= TAPS_MAX;
}

int expand_shifts(struct graph *g, const struct graph_node *n, int64_t vmem_rows)
{
    struct graph_node node = *n;        /* what is added moves it */
    enum graph_op op;

    if ((n->op != HLO_REDUCE_WINDOW && n->op != HLO_SELECT_AND_SCATTER) ||
        !has_plain_windows(n, n->shape.rank))
        return NODE_NONE;
    if (shift_cycles(g, n) >= kernel_cycles(g, n, vmem_rows))
        return NODE_NONE;
    if (n->op == HLO_SELECT_AND_SCATTER)
        return may_scatter(n) ? scatter(g, &node) : NODE_NONE;
    return expand_combines(n->reduce_kind, &op) ? reduce(g, &node, op) : NODE_NONE;
}
