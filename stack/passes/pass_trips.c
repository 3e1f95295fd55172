/*
 * Starts of slices that follow from how often the loops around have run: counters, what is added
 * to them, multiplied, chosen by comparing them. Such a start is no array that a kernel computes
 * and another fetches in each round, but arithmetic of the scalar unit; so it is known in timing
 * mode, too, and a counter that nothing else reads is not counted.
 *
 * Loops are looked at from the outermost inwards, since what is inside knows of what is around. A
 * body by itself, as passes get it first, is an outermost graph.
 */
#include "stack/passes/trips.h"

#include <string.h>

#include "stack/hlo/graph_shape.h"
#include "stack/hlo/rewrite.h"

/* a whole number: first + the sum of step[k] times the trips done by loop k, 0 the innermost */
struct number {
    bool is_known;
    int64_t first, step[GRAPH_TRIP_LOOPS];
};

/* the loops around a graph, the innermost first; trips 0: nobody knows how many */
struct scope { int64_t trips[GRAPH_TRIP_LOOPS]; };

static const struct number unknown;

static struct number number_of(int64_t value)
{
    return (struct number){.is_known = true, .first = value};
}

static bool is_constant(const struct number *x)
{
    return x->is_known && memcmp(x->step, unknown.step, sizeof(x->step)) == 0;
}

/* the least and the largest that it becomes */
static void range_of(const struct number *x, const struct scope *s, int64_t *low, int64_t *high)
{
    *low = *high = x->first;
    for (int k = 0; k < GRAPH_TRIP_LOOPS; k++) {
        int64_t last = x->step[k] * (s->trips[k] - 1);

        if (x->step[k])
            *(last < 0 ? low : high) += last;
    }
}

/* a times `times` plus b, where that never leaves the type */
static struct number combined(const struct number *a, int64_t times, const struct number *b,
                              enum graph_dtype type, const struct scope *s)
{
    struct number sum = {.is_known = a->is_known && b->is_known};
    int64_t low, high;

    if (!sum.is_known || times > INT32_MAX || times < INT32_MIN)
        return unknown;
    sum.first = a->first * times + b->first;
    for (int k = 0; k < GRAPH_TRIP_LOOPS; k++)
        sum.step[k] = a->step[k] * times + b->step[k];
    for (int k = 0; k < GRAPH_TRIP_LOOPS; k++)
        if (sum.step[k] > INT32_MAX || sum.step[k] < INT32_MIN)
            return unknown;             /* also of a loop of one round, where no range tells */
    range_of(&sum, s, &low, &high);
    return low < (type == DTYPE_U32 ? 0 : INT32_MIN) || high > INT32_MAX ? unknown : sum;
}

static struct number product(const struct number *a, const struct number *b, enum graph_dtype type,
                             const struct scope *s)
{
    struct number zero = number_of(0);

    if (is_constant(b))
        return combined(a, b->first, &zero, type, s);
    return is_constant(a) ? combined(b, a->first, &zero, type, s) : unknown;
}

/* 1 or 0 where a and b always compare so */
static struct number compared(const struct number *a, const struct number *b,
                              enum graph_compare direction, const struct scope *s)
{
    struct number difference = combined(b, -1, a, DTYPE_S32, s);
    int64_t low, high;
    bool always, never;

    if (!difference.is_known)
        return unknown;
    range_of(&difference, s, &low, &high);
    switch (direction) {
    case COMPARE_EQ: always = low == 0 && high == 0; never = low > 0 || high < 0; break;
    case COMPARE_NE: always = low > 0 || high < 0; never = low == 0 && high == 0; break;
    case COMPARE_LT: always = high < 0; never = low >= 0; break;
    case COMPARE_LE: always = high <= 0; never = low > 0; break;
    case COMPARE_GT: always = low > 0; never = high <= 0; break;
    default:         always = low >= 0; never = high < 0; break;
    }
    return always ? number_of(1) : never ? number_of(0) : unknown;
}

/* the one that is the larger (or smaller) all the time */
static struct number extreme(const struct number *a, const struct number *b, bool is_max,
                             const struct scope *s)
{
    struct number takes_a = compared(a, b, is_max ? COMPARE_GE : COMPARE_LE, s);

    return !takes_a.is_known ? unknown : takes_a.first ? *a : *b;
}

/* a below b already */
static struct number remainder_of(const struct number *a, const struct number *b,
                                  const struct scope *s)
{
    int64_t low, high;

    if (!a->is_known || !is_constant(b))
        return unknown;
    range_of(a, s, &low, &high);
    if (is_constant(a) && a->first >= 0 && b->first > 0)
        return number_of(a->first % b->first);
    return low >= 0 && high < b->first ? *a : unknown;
}

static bool is_whole(enum graph_dtype type)
{
    return type == DTYPE_S32 || type == DTYPE_U32 || type == DTYPE_PRED;
}

/* of a word; starts are s32 to the kernels, so what is beyond 2^31 is not followed */
static struct number constant_of(const struct graph_node *n)
{
    int64_t value = !n->literal ? (int64_t)n->value
                    : n->shape.dtype == DTYPE_U32 ? (int64_t)*(const uint32_t *)n->literal
                                                  : *(const int32_t *)n->literal;

    return value > INT32_MAX ? unknown : number_of(value);
}

/* of predicates, which are 0 and 1 */
static struct number logical(const struct graph_node *n, const struct number *a,
                             const struct number *b)
{
    if (n->shape.dtype != DTYPE_PRED || !a->is_known || !b->is_known)
        return unknown;
    return number_of(n->op == HLO_AND ? a->first && b->first : a->first || b->first);
}

/* of s32 and u32 words the same bits, as long as they are below 2^31 */
static struct number converted(const struct graph *g, const struct graph_node *n,
                               const struct number *a, const struct scope *s)
{
    struct number zero = number_of(0);

    if (!is_whole(g->node[n->operand[0]].shape.dtype))
        return unknown;
    if (n->shape.dtype == DTYPE_PRED)
        return compared(a, &zero, COMPARE_NE, s);
    return combined(a, 1, &zero, n->shape.dtype, s);
}

/* of a node that is no parameter, from what its operands are */
static struct number evaluate(const struct graph *g, const struct graph_node *n,
                              const struct number *known, const struct scope *s)
{
    const struct number *x[3] = {&unknown, &unknown, &unknown};
    struct number zero = number_of(0), inner;

    if (n->tuple_count > 0 || !is_whole(n->shape.dtype) || shape_elems(&n->shape) != 1)
        return unknown;
    for (int k = 0; k < n->operand_count && k < 3; k++)
        x[k] = &known[n->operand[k]];
    switch (n->op) {
    case HLO_CONSTANT:  return constant_of(n);
    case HLO_COPY: case HLO_RESHAPE: case HLO_BROADCAST: return *x[0];
    case HLO_CONVERT:   return converted(g, n, x[0], s);
    case HLO_NEGATE:    return combined(x[0], -1, &zero, n->shape.dtype, s);
    case HLO_ADD:       return combined(x[0], 1, x[1], n->shape.dtype, s);
    case HLO_SUBTRACT:  return combined(x[1], -1, x[0], n->shape.dtype, s);
    case HLO_MULTIPLY:  return product(x[0], x[1], n->shape.dtype, s);
    case HLO_REMAINDER: return remainder_of(x[0], x[1], s);
    case HLO_MAXIMUM:   return extreme(x[0], x[1], true, s);
    case HLO_MINIMUM:   return extreme(x[0], x[1], false, s);
    case HLO_CLAMP:
        inner = extreme(x[1], x[0], true, s);
        return extreme(&inner, x[2], false, s);
    case HLO_COMPARE:
        return is_whole(g->node[n->operand[0]].shape.dtype) ? compared(x[0], x[1], n->direction, s)
                                                            : unknown;
    case HLO_AND: case HLO_OR: return logical(n, x[0], x[1]);
    case HLO_NOT:
        return n->shape.dtype == DTYPE_PRED && x[0]->is_known ? number_of(!x[0]->first) : unknown;
    case HLO_SELECT:
        return !x[0]->is_known ? unknown : x[0]->first ? *x[1] : *x[2];
    default:            return unknown;
    }
}

/* ----- into loops and out of them */

/* what state k grows by in a round, or 0 */
static int64_t growth(const struct graph *body, int k)
{
    const struct graph_node *n = &body->node[body->output[k].node];
    int state = body->parameter[k];

    for (int i = 0; i < 2 && (n->op == HLO_ADD || n->op == HLO_SUBTRACT); i++) {
        const struct graph_node *other = &body->node[n->operand[1 - i]];

        if (n->operand[i] == state && other->op == HLO_CONSTANT && is_whole(n->shape.dtype) &&
            shape_elems(&n->shape) == 1 && (n->op == HLO_ADD || i == 0))
            return n->op == HLO_ADD ? constant_of(other).first : -constant_of(other).first;
    }
    return 0;
}

/* seen from one loop further inside; what depends on the outermost of them is not known there */
static struct number seen_inside(const struct number *x)
{
    struct number moved = {.is_known = x->is_known && !x->step[GRAPH_TRIP_LOOPS - 1],
                           .first = x->first};

    memcpy(moved.step + 1, x->step, sizeof(x->step) - sizeof(x->step[0]));
    return moved.is_known ? moved : unknown;
}

/* state k of a loop at the start of a round, by what it is before the loop */
static struct number state_of(const struct graph_node *n, int k, const struct number *before,
                              const struct scope *inside)
{
    const struct graph *body = n->called[0];
    struct number x = seen_inside(before), zero = number_of(0);

    if (body->output[k].node == body->parameter[k])
        return x;
    x.step[0] = growth(body, k);
    if (inside->trips[0] == 0 || !x.step[0] || !x.is_known)
        return unknown;
    return combined(&x, 1, &zero, body->node[body->parameter[k]].shape.dtype, inside);
}

static void know(struct graph *g, const struct number *parameter, const struct scope *s);

static struct graph *copy_called(struct graph *g, struct graph_node *n, int which)
{
    struct graph *own = arena_alloc(g->arena, sizeof(*own));

    graph_copy(n->called[which], g->arena, own);
    n->called[which] = own;
    return own;
}

/* `old` is what `n` was, in the graph that `known` is about; its copy calls copies in g's arena */
static void know_in_loop(struct graph *g, const struct graph_node *old, struct graph_node *n,
                         const struct number *known, const struct scope *s)
{
    struct number *state = mem_alloc(((size_t)n->operand_count + 1) * sizeof(*state));
    bool is_counted = n->count != GRAPH_TRIPS_UNKNOWN && n->count <= INT32_MAX;
    struct scope inside = {.trips = {is_counted ? n->count : 0}};

    memcpy(inside.trips + 1, s->trips, sizeof(s->trips) - sizeof(s->trips[0]));
    for (int k = 0; k < n->operand_count; k++)
        state[k] = state_of(n, k, &known[old->operand[k]], &inside);
    for (int c = 0; c < GRAPH_CALLED_MAX && n->called[c]; c++) {
        struct graph *own = copy_called(g, n, c);

        know(own, state, &inside);
        graph_freeze(own);
    }
    mem_free(state);
}

static void know_in_branches(struct graph *g, const struct graph_node *old, struct graph_node *n,
                             const struct number *known, const struct scope *s)
{
    struct number *operand = mem_alloc(((size_t)n->operand_count + 1) * sizeof(*operand));

    for (int k = 1; k < n->operand_count; k++)
        operand[k - 1] = known[old->operand[k]];
    for (int c = 0; c < GRAPH_CALLED_MAX && n->called[c]; c++) {
        struct graph *own = copy_called(g, n, c);

        know(own, operand, s);
        graph_freeze(own);
    }
    mem_free(operand);
}

/* ----- slices */

/* its first operand that is a start; 0: it has none */
static int first_start(const struct graph_node *n)
{
    return n->op == HLO_DYNAMIC_SLICE ? 1 : n->op == HLO_DYNAMIC_UPDATE_SLICE ? 2 : 0;
}

/* starts that are known become part of the node, and their operands nothing */
static void know_starts(struct graph *to, const struct graph_node *old, struct graph_node *n,
                        const struct number *known)
{
    int first = first_start(n);
    struct graph_trips *t;

    if (!first)
        return;
    t = arena_alloc(to->arena, sizeof(*t));
    if (n->trips)
        *t = *n->trips;
    for (int d = 0; first + d < n->operand_count; d++) {
        const struct number *x = &known[old->operand[first + d]];

        if (!x->is_known || t->known >> d & 1)
            continue;
        t->known |= (int64_t)1 << d;
        t->first[d] = x->first;
        memcpy(t->step[d], x->step, sizeof(x->step));
        n->operand[first + d] =
            graph_constant(to, to->node[n->operand[first + d]].shape, 0);
    }
    if (t->known)
        n->trips = t;
}

/* ----- counters that nobody reads any more */

static void mark_needed(const struct graph *g, int node, bool *is_needed)
{
    is_needed[node] = true;
    for (int i = node; i >= 0; i--)
        for (int k = 0; is_needed[i] && k < g->node[i].operand_count; k++)
            is_needed[g->node[i].operand[k]] = true;
}

/* outside: result k of the loop `node` is read */
static bool is_result_read(const struct graph *g, int node, int k)
{
    bool is_alone = g->node[node].tuple_count == 0;

    for (int i = 0; i < g->output_count; i++)
        if (g->output[i].node == node)
            return true;
    for (int i = 0; i < g->node_count; i++)
        for (int j = 0; j < g->node[i].operand_count; j++)
            if (g->node[i].operand[j] == node &&
                (is_alone || g->node[i].op != HLO_GET_TUPLE_ELEMENT || g->node[i].dim == k))
                return true;
    return false;
}

/* by node: one whole number, made of others; no message and no sum over devices is waited for */
static bool *find_counts(const struct graph *body)
{
    bool *is_count = mem_alloc(((size_t)body->node_count + 1) * sizeof(*is_count));

    for (int i = 0; i < body->node_count; i++) {
        const struct graph_node *n = &body->node[i];

        is_count[i] = n->tuple_count == 0 && is_whole(n->shape.dtype) &&
                      shape_elems(&n->shape) == 1 &&
                      (n->operand_count == 0 || graph_op_is_elementwise(n->op));
        for (int k = 0; k < n->operand_count; k++)
            is_count[i] = is_count[i] && is_count[n->operand[k]];
    }
    return is_count;
}

/* a count that only makes itself stays what it is: no kernel works it out */
static void stop_counters(const struct graph *g, int node, struct graph *body)
{
    bool *is_needed = mem_alloc(((size_t)body->node_count + 1) * sizeof(*is_needed));
    bool *is_kept = mem_alloc(((size_t)body->output_count + 1) * sizeof(*is_kept));
    bool *is_count = find_counts(body);

    for (int k = 0; k < body->output_count; k++)
        is_kept[k] = !is_count[body->output[k].node] || is_result_read(g, node, k);
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (int k = 0; k < body->output_count; k++)
            if (is_kept[k] && !is_needed[body->output[k].node])
                mark_needed(body, body->output[k].node, is_needed);
        for (int k = 0; k < body->output_count; k++)
            if (!is_kept[k] && is_needed[body->parameter[k]])
                is_new = is_kept[k] = true;
    }
    for (int k = 0; k < body->output_count; k++)
        if (!is_kept[k])
            body->output[k].node = body->parameter[k];
    graph_eliminate_dead(body);
    mem_free(is_needed);
    mem_free(is_kept);
    mem_free(is_count);
}

static void stop_counters_of(struct graph *g)
{
    for (int i = 0; i < g->node_count; i++)
        if (g->node[i].op == HLO_WHILE && g->node[i].count != GRAPH_TRIPS_UNKNOWN) {
            struct graph *own = copy_called(g, &g->node[i], 0);

            stop_counters(g, i, own);
            graph_freeze(own);
        }
}

/* ----- a graph, with what is known of its parameters */

static void know(struct graph *g, const struct number *parameter, const struct scope *s)
{
    struct number *known = mem_alloc(((size_t)g->node_count + 1) * sizeof(*known));
    struct rewrite w;

    for (int i = 0; i < g->parameter_count; i++)
        known[g->parameter[i]] = parameter ? parameter[i] : unknown;
    rewrite_begin(&w, g);
    for (int i = 0; i < g->node_count; i++) {
        struct graph_node n;

        if (g->node[i].op == HLO_PARAMETER)
            continue;
        known[i] = evaluate(g, &g->node[i], known, s);
        n = rewrite_node(&w, i);
        know_starts(&w.to, &g->node[i], &n, known);
        if (n.op == HLO_WHILE)
            know_in_loop(&w.to, &g->node[i], &n, known, s);
        if (n.op == HLO_CONDITIONAL)
            know_in_branches(&w.to, &g->node[i], &n, known, s);
        w.moved[i] = rewrite_add(&w.to, &n);
    }
    rewrite_end(&w);
    mem_free(known);
    stop_counters_of(g);
}

static bool has_work(const struct graph *g)
{
    for (int i = 0; i < g->node_count; i++)
        if (first_start(&g->node[i]) || g->node[i].op == HLO_WHILE ||
            g->node[i].op == HLO_CONDITIONAL)
            return true;
    return false;
}

void graph_know_trips(struct graph *g)
{
    if (has_work(g))
        know(g, NULL, &(struct scope){.trips = {0}});
}

int pass_trips(struct graph *g, const struct pass_context *context, struct err *e)
{
    (void)context;
    (void)e;
    graph_know_trips(g);
    return 0;
}
