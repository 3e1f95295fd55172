/*
 * Rules of pass_simplify about dynamic slices and updates that always begin at the same place. Such
 * a slice is a plain one. An update that begins inside tiles and covers much of its array, as the
 * inside of a grid without its edges does, is chosen element by element between the padded update
 * and the array: a pad moves tiles faster than an update places them, and what is chosen goes into
 * the fusions around it.
 */
#include "stack/hlo/graph_shape.h"
#include "stack/passes/simplify/simplify.h"

#include <string.h>

#define COVERED 2                       /* an update of less than this part leaves the rest alone */

/* of dimension d, whose operand is `node`; false: it is computed, or another one in each round */
static bool known_start(const struct graph *g, const struct graph_node *n, int node, int d,
                        int64_t *start)
{
    static const int64_t never[GRAPH_TRIP_LOOPS];
    double value;

    if (n->trips && n->trips->known >> d & 1) {
        *start = n->trips->first[d];
        return memcmp(n->trips->step[d], never, sizeof(never)) == 0;
    }
    if (!simplify_splat_value(g, node, &value))
        return false;
    *start = (int64_t)value;
    return true;
}

/* where `of` begins in the array `in`, clamped as it is; false: that is not known */
static bool known_box(const struct graph *g, const struct graph_node *n, int first,
                      const struct shape *in, const struct shape *of, int64_t *start)
{
    for (int d = 0; d < in->rank; d++) {
        int64_t last = in->dim[d] - of->dim[d];

        if (!known_start(g, n, n->operand[first + d], d, &start[d]))
            return false;
        start[d] = start[d] < 0 ? 0 : start[d] > last ? last : start[d];
    }
    return true;
}

static int plain_slice(struct graph *g, const struct graph_node *n)
{
    const struct shape in = g->node[n->operand[0]].shape;
    int64_t start[GRAPH_RANK_MAX], limit[GRAPH_RANK_MAX];

    if (!known_box(g, n, 1, &in, &n->shape, start))
        return NODE_NONE;
    for (int d = 0; d < in.rank; d++)
        limit[d] = start[d] + n->shape.dim[d];
    return graph_slice(g, n->operand[0], start, limit, NULL);
}

/* a predicate for each element: its place along dimension d is from `start` to below `limit` */
static int is_between(struct graph *g, const struct shape *s, int d, int64_t start, int64_t limit)
{
    struct shape places = *s;
    int64_t bound[2] = {start, limit};
    int place, both = NODE_NONE;

    places.dtype = DTYPE_S32;
    place = graph_iota(g, places, d);
    for (int k = 0; k < 2; k++) {
        int edge, side;

        if (bound[k] == (k == 0 ? 0 : s->dim[d]))
            continue;
        edge = graph_constant(g, shape_scalar(DTYPE_S32), (double)bound[k]);
        side = graph_compare(g, k == 0 ? COMPARE_GE : COMPARE_LT, place,
                             graph_broadcast(g, edge, places, NULL));
        both = both == NODE_NONE ? side : graph_binary(g, HLO_AND, both, side);
    }
    return both;
}

/* it begins or ends inside tiles, and so much is covered that all of the array may be chosen anew */
static bool covers_much(const struct shape *in, const struct shape *of)
{
    int last = in->rank - 1;
    bool is_whole = in->dim[last] == of->dim[last] &&
                    (last == 0 || in->dim[last - 1] == of->dim[last - 1]);

    return in->rank > 1 && !is_whole && shape_elems(of) * COVERED >= shape_elems(in);
}

static int chosen_update(struct graph *g, const struct graph_node *n)
{
    const struct shape in = n->shape, of = g->node[n->operand[1]].shape;
    int64_t start[GRAPH_RANK_MAX], behind[GRAPH_RANK_MAX];
    int inside = NODE_NONE, zero, padded;

    if (!covers_much(&in, &of) || !known_box(g, n, 2, &in, &of, start))
        return NODE_NONE;
    for (int d = 0; d < in.rank; d++) {
        int one;

        behind[d] = in.dim[d] - of.dim[d] - start[d];
        if (in.dim[d] == of.dim[d])
            continue;
        one = is_between(g, &in, d, start[d], start[d] + of.dim[d]);
        inside = inside == NODE_NONE ? one : graph_binary(g, HLO_AND, inside, one);
    }
    zero = graph_constant(g, shape_scalar(in.dtype), 0);
    padded = graph_pad(g, n->operand[1], zero, start, behind, NULL);
    return graph_select(g, inside, padded, n->operand[0]);
}

int simplify_starts(struct graph *g, const struct graph_node *n)
{
    switch (n->op) {
    case HLO_DYNAMIC_SLICE:
        return plain_slice(g, n);
    case HLO_DYNAMIC_UPDATE_SLICE:
        return chosen_update(g, n);
    default:
        return NODE_NONE;
    }
}
