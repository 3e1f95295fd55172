/*
 * Sorts of which a few are taken, top_k of logits mostly: the largest, and the place of the first that
 * is as large, over and over. Equal keys come in the order of their places, as a stable sort has them;
 * so what comes next is below the last one, or as large and behind it, and nothing need be marked.
 *
 * What goes along with the key is found by its place: the bits of the one element that is there.
 */
#include "stack/expand/expand.h"

#include "stack/hlo/graph_shape.h"
#include "stack/hlo/rewrite.h"

#define TAKEN_MAX 16                    /* each takes passes over all of the array: of more, or of a */
#define TAKEN_PART 4                    /* larger part, a sort takes fewer */
#define ALONG_MAX 4

/* a sort, and how many of the first are taken of its results; 0: all, or more than are worth it */
static int64_t taken_of(const struct graph *g, int node)
{
    const struct graph_node *n = &g->node[node];
    int64_t most = 0;

    for (int i = node + 1; i < g->node_count; i++) {
        const struct graph_node *user = &g->node[i];

        for (int k = 0; k < user->operand_count; k++) {
            if (user->operand[k] != node)
                continue;
            if (n->op == HLO_SORT) {                    /* its elements, each cut by itself */
                int64_t taken = user->op == HLO_GET_TUPLE_ELEMENT ? taken_of(g, i) : 0;

                if (taken == 0)
                    return 0;
                most = taken > most ? taken : most;
                continue;
            }
            if (user->op != HLO_SLICE)
                return 0;
            most = user->limit[n->shape.rank - 1] > most ? user->limit[n->shape.rank - 1] : most;
        }
    }
    for (int i = 0; i < g->output_count; i++)
        if (g->output[i].node == node)
            return 0;
    return most <= TAKEN_MAX && most * TAKEN_PART <= n->shape.dim[n->shape.rank - 1] ? most : 0;
}

/* its bits are a word, so that a sum of them and zeros has them */
static bool goes_along(const struct shape *s)
{
    return s->dtype == DTYPE_S32 || s->dtype == DTYPE_F32 || s->dtype == DTYPE_U32;
}

static bool may_be_maxima(const struct graph *g, const struct graph_node *n)
{
    const struct shape *key = &g->node[n->operand[0]].shape;

    if (n->op != HLO_SORT || n->tuple_count == 0 || n->dim != key->rank - 1 || key->rank == 0 ||
        key->dtype != DTYPE_S32 || n->operand_count > ALONG_MAX)
        return false;
    for (int k = 0; k < n->operand_count; k++)
        if (!goes_along(&g->node[n->operand[k]].shape))
            return false;
    return true;
}

struct top {
    struct graph *g;
    int key, place, length;             /* nodes: keys, largest first; places along lanes; N */
    uint32_t mask;                      /* the last dimension */
    int most, at;                       /* the largest so far, and where; NODE_NONE at first */
};

static int over_all(struct top *t, int x)
{
    int dims[GRAPH_RANK_MAX];
    struct shape s = t->g->node[t->key].shape;

    s.dtype = t->g->node[x].shape.dtype;
    for (int d = 0; d < s.rank; d++)
        dims[d] = d;
    return graph_broadcast(t->g, x, s, dims);
}

static int number(struct top *t, double value)
{
    return graph_splat(t->g, t->key, value);
}

/* those behind what was taken last; NODE_NONE: all */
static int candidates(struct top *t)
{
    int most, at, below, equal;

    if (t->most == NODE_NONE)
        return NODE_NONE;
    most = over_all(t, t->most);
    at = over_all(t, t->at);
    below = graph_compare(t->g, COMPARE_LT, t->key, most);
    equal = graph_compare(t->g, COMPARE_EQ, t->key, most);
    equal = graph_binary(t->g, HLO_AND, equal, graph_compare(t->g, COMPARE_GT, t->place, at));
    return graph_binary(t->g, HLO_OR, below, equal);
}

static void take_next(struct top *t)
{
    struct graph *g = t->g;
    int left = candidates(t), keys = t->key, is_most;

    if (left != NODE_NONE)
        keys = graph_select(g, left, keys, number(t, INT32_MIN));
    t->most = graph_reduce(g, REDUCE_MAX, keys, t->mask);
    is_most = graph_compare(g, COMPARE_EQ, t->key, over_all(t, t->most));
    if (left != NODE_NONE)
        is_most = graph_binary(g, HLO_AND, is_most, left);
    t->at = graph_reduce(g, REDUCE_MIN, graph_select(g, is_most, t->place, number(t, t->length)),
                         t->mask);
}

/* the element of operand k where the last one was taken, as [.., 1] */
static int element(struct top *t, const struct graph_node *n, int k, bool is_falling)
{
    struct graph *g = t->g;
    struct shape s = g->node[n->operand[k]].shape;
    const struct graph_node *x = &g->node[n->operand[k]];
    int made;

    s.dim[s.rank - 1] = 1;
    if (k == 0) {
        made = is_falling ? t->most : graph_binary(g, HLO_XOR, t->most, graph_splat(g, t->most, -1));
    } else if (x->op == HLO_IOTA && x->dim == s.rank - 1 && s.dtype == DTYPE_S32) {
        made = t->at;
    } else {
        int is_there = graph_compare(g, COMPARE_EQ, t->place, over_all(t, t->at)), bits = n->operand[k];

        if (s.dtype != DTYPE_S32)
            bits = graph_bitcast_convert(g, bits, DTYPE_S32);
        bits = graph_select(g, is_there, bits, number(t, 0));
        made = graph_reduce(g, REDUCE_ADD, bits, t->mask);
        if (s.dtype != DTYPE_S32)
            made = graph_bitcast_convert(g, made, s.dtype);
    }
    return graph_reshape(g, made, s);
}

int expand_sort_keys(struct graph *g, int a)
{
    enum graph_dtype dtype = g->node[a].shape.dtype;
    int x, bits, most, zero, sign, size, v;

    if (dtype == DTYPE_U32) {
        v = graph_bitcast_convert(g, a, DTYPE_S32);
        return graph_binary(g, HLO_XOR, v, graph_splat(g, v, INT32_MIN));
    }
    if (dtype != DTYPE_F32 && dtype != DTYPE_BF16)
        return graph_convert(g, a, DTYPE_S32);
    x = graph_convert(g, a, DTYPE_F32);
    bits = graph_bitcast_convert(g, x, DTYPE_S32);
    most = graph_splat(g, bits, INT32_MAX);
    zero = graph_splat(g, bits, 0);
    sign = graph_binary(g, HLO_SHIFT_RIGHT_ARITHMETIC, bits, graph_splat(g, bits, 31));
    size = graph_binary(g, HLO_AND, bits, most);
    v = graph_binary(g, HLO_XOR, bits, graph_binary(g, HLO_AND, sign, most));
    v = graph_select(g, graph_compare(g, COMPARE_EQ, size, zero), zero, v);
    return graph_select(g, graph_compare(g, COMPARE_NE, x, x), most, v);
}

/* a tuple of the first `count` of each operand of the sort `n`, whose operands are in g */
static int maxima(struct graph *g, const struct graph_node *n, int64_t count)
{
    bool is_falling = n->direction == COMPARE_GT;
    struct shape s = g->node[n->operand[0]].shape;
    int part[ALONG_MAX][TAKEN_MAX], all[ALONG_MAX];
    struct top t = {.g = g, .key = n->operand[0], .length = (int)s.dim[s.rank - 1],
                    .mask = 1u << (s.rank - 1), .most = NODE_NONE, .at = NODE_NONE};

    if (!is_falling)
        t.key = graph_binary(g, HLO_XOR, t.key, graph_splat(g, t.key, -1));
    t.place = graph_iota(g, s, s.rank - 1);
    for (int64_t i = 0; i < count; i++) {
        take_next(&t);
        for (int k = 0; k < n->operand_count; k++)
            part[k][i] = element(&t, n, k, is_falling);
    }
    for (int k = 0; k < n->operand_count; k++)
        all[k] = graph_concatenate(g, part[k], (int)count, s.rank - 1);
    return graph_tuple(g, all, n->operand_count);
}

static bool is_small_top_k(const struct graph *g, const struct graph_node *n)
{
    const struct shape *s = &g->node[n->operand_count > 0 ? n->operand[0] : 0].shape;

    return n->op == HLO_TOP_K && s->rank > 0 && (goes_along(s) || s->dtype == DTYPE_BF16) &&
           n->count <= TAKEN_MAX && n->count * TAKEN_PART <= s->dim[s->rank - 1];
}

/* values and places */
static int top_k(struct graph *g, const struct graph_node *n)
{
    int x = n->operand[0], along[3], both[2], first;
    struct shape s = g->node[x].shape, places = s;
    struct graph_node sort = {.operand = along, .operand_count = 3, .direction = COMPARE_GT};

    places.dtype = DTYPE_S32;
    along[0] = expand_sort_keys(g, x);
    along[1] = s.dtype == DTYPE_BF16 ? graph_convert(g, x, DTYPE_F32) : x;
    along[2] = graph_iota(g, places, s.rank - 1);
    first = maxima(g, &sort, n->count);
    both[0] = graph_tuple_element(g, first, 1);
    if (s.dtype == DTYPE_BF16)
        both[0] = graph_convert(g, both[0], DTYPE_BF16);
    both[1] = graph_tuple_element(g, first, 2);
    return graph_tuple(g, both, 2);
}

void expand_tops(struct graph *g)
{
    int64_t *taken = mem_alloc(((size_t)g->node_count + 1) * sizeof(*taken));
    bool is_any = false;
    struct rewrite w;

    for (int i = 0; i < g->node_count; i++) {
        taken[i] = is_small_top_k(g, &g->node[i])  ? g->node[i].count
                   : may_be_maxima(g, &g->node[i]) ? taken_of(g, i) : 0;
        is_any |= taken[i] > 0;
    }
    if (is_any) {
        rewrite_begin(&w, g);
        for (int i = 0; i < g->node_count; i++) {
            struct graph_node n = g->node[i];

            if (n.op == HLO_PARAMETER || taken[i] == 0) {
                rewrite_copy(&w, i);
                continue;
            }
            n = rewrite_node(&w, i);
            graph_stand_for(&w.to, &n);
            w.moved[i] = n.op == HLO_TOP_K ? top_k(&w.to, &n) : maxima(&w.to, &n, taken[i]);
        }
        rewrite_end(&w);
    }
    mem_free(taken);
}
