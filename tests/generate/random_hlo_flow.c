/*
 * Loops that a condition ends, and conditionals, with random graphs as their computations, in
 * which there may be others.
 */
#include "stack/hlo/rewrite.h"
#include "tests/generate/random_hlo_impl.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 2                     /* in each other */
#define TRIPS_MAX 6

/* a graph of its own, which draws from the same seed */
static struct rh *nested(struct rh *m, const char *name)
{
    struct rh *sub = arena_alloc(m->g->arena, sizeof(*sub));

    sub->g = arena_alloc(m->g->arena, sizeof(*sub->g));
    graph_init(sub->g, m->g->arena, name);
    rng_init(&sub->rng, rng_next(&m->rng));
    sub->dtypes = m->dtypes;
    sub->elems_max = m->elems_max < 1500 ? m->elems_max : 1500;
    sub->groups = m->groups;
    sub->depth = m->depth + 1;
    return sub;
}

static void make_some(struct rh *m, int count)
{
    for (int i = 0; i < count && m->count < RH_POOL_MAX / 2; i++)
        rh_make(m);
}

static bool is_index(const struct graph *g, int parameter, int64_t *bound)
{
    const char *name = g->node[g->parameter[parameter]].name;

    if (strncmp(name, RH_INDEX_PREFIX, strlen(RH_INDEX_PREFIX)) != 0)
        return false;
    *bound = strtoll(strchr(name, '_') + 1, NULL, 10);
    return true;
}

/* the parameters that `from` has more than `to`, in their order; values come to its pool */
static void take_parameters(struct rh *to, const struct rh *from)
{
    for (int i = to->g->parameter_count; i < from->g->parameter_count; i++) {
        struct shape s = from->g->node[from->g->parameter[i]].shape;
        int64_t bound;

        if (is_index(from->g, i, &bound))
            rh_index(to, s.rank, s.dim, bound);
        else
            rh_parameter(to, s);
    }
}

/* of the outer graph: what may come in as this parameter of `of` */
static int operand_for(struct rh *m, const struct rh *of, int parameter)
{
    struct shape s = of->g->node[of->g->parameter[parameter]].shape;
    int64_t bound;

    if (is_index(of->g, parameter, &bound))
        return rh_index(m, s.rank, s.dim, bound);
    for (int i = 0; i < 20 && m->count > 0; i++) {
        struct rh_pick p = m->pool[rh_below(m, m->count)];
        struct shape is = rh_shape(m, p.node);

        if (shape_equal(&is, &s) && p.bound <= rh_parameter_bound(s.dtype))
            return p.node;
    }
    return rh_parameter(m, s).node;
}

static int *operands_for(struct rh *m, const struct rh *of)
{
    int *operand = arena_array(m->g->arena, (size_t)of->g->parameter_count + 1, sizeof(*operand));

    for (int i = 0; i < of->g->parameter_count; i++)
        operand[i] = operand_for(m, of, i);
    return operand;
}

static void add_results(struct rh *m, int node, const double *bound, int count)
{
    for (int k = 0; k < count; k++)
        rh_add(m, count > 1 ? graph_tuple_element(m->g, node, k) : node, bound[k]);
}

/* nothing more will be added: what they have is their arena's, which outlives them */
static void whole(struct rh *a, struct rh *b)
{
    graph_freeze(a->g);
    graph_freeze(b->g);
}

static void name_output(struct graph *g, int node)
{
    graph_output(g, node, arena_printf(g->arena, "o%d", g->output_count), -1);
}

/* ----- conditionals */

static void make_conditional(struct rh *m)
{
    struct rh *yes = nested(m, "yes"), *no = nested(m, "no");
    int results = 1 + rh_below(m, 3), pred, node, *operand;
    double bound[3];

    make_some(yes, 1 + rh_below(m, 4));
    if (yes->count == 0) {
        whole(yes, no);
        return;
    }
    take_parameters(no, yes);
    make_some(no, rh_below(m, 4));
    for (int k = 0; k < results; k++) {
        struct rh_pick a = yes->pool[rh_below(m, 2) ? yes->count - 1 : rh_below(m, yes->count)];
        struct rh_pick b = rh_like(no, rh_shape(yes, a.node));

        name_output(yes->g, a.node);
        name_output(no->g, b.node);
        bound[k] = a.bound > b.bound ? a.bound : b.bound;
    }
    take_parameters(yes, no);
    operand = operands_for(m, yes);
    pred = rh_like(m, shape_scalar(DTYPE_PRED)).node;
    whole(yes, no);
    node = graph_conditional(m->g, pred, operand, yes->g->parameter_count, yes->g, no->g);
    add_results(m, node, bound, results);
}

/* ----- loops */

static int scalar(struct rh *m, enum graph_dtype t, double value)
{
    return graph_constant(m->g, shape_scalar(t), value);
}

/* within what a parameter of its type may be, so that a trip may follow */
static int bounded(struct rh *m, struct rh_pick p)
{
    enum graph_dtype t = rh_shape(m, p.node).dtype;
    double most = rh_parameter_bound(t);
    bool is_signed = t != DTYPE_U32 && t != DTYPE_U8;
    int high;

    if (t == DTYPE_PRED || m->g->node[p.node].op == HLO_PARAMETER)
        return p.node;
    high = scalar(m, t, most);
    return graph_clamp(m->g, scalar(m, t, is_signed ? -most : 0), p.node, high);
}

/* i < limit, and perhaps something about the largest of some elements */
static void end_condition(struct rh *c, int i, int limit)
{
    int on = graph_compare(c->g, COMPARE_LT, i, limit);
    struct rh_pick p;
    struct shape s;
    int x;

    if (c->count > 0 && rh_below(c, 2)) {
        p = c->pool[rh_below(c, c->count)];
        s = rh_shape(c, p.node);
        x = s.rank && s.dtype != DTYPE_PRED
                ? graph_reduce(c->g, REDUCE_MAX, p.node, (1u << s.rank) - 1) : p.node;
        if (s.dtype != DTYPE_PRED || s.rank == 0) {
            if (s.dtype != DTYPE_PRED) {
                int with = scalar(c, s.dtype, rh_below(c, 4));

                x = graph_compare(c->g, (enum graph_compare)rh_below(c, 6), x, with);
            }
            on = graph_binary(c->g, rh_below(c, 3) ? HLO_AND : HLO_OR, on, x);
            on = graph_binary(c->g, HLO_AND, on,
                              graph_compare(c->g, COMPARE_LT, i, scalar(c, DTYPE_S32, TRIPS_MAX)));
        }
    }
    name_output(c->g, on);
}

static void make_while(struct rh *m)
{
    struct rh *body = nested(m, "body"), *condition = nested(m, "condition");
    int state = 1 + rh_below(m, 3), i, limit, node, *operand, *next;
    double bound[RH_POOL_MAX];

    i = rh_index(body, 0, NULL, 3);
    limit = rh_index(body, 0, NULL, TRIPS_MAX);
    for (int k = 0; k < state; k++) {
        int rank = rh_below(m, 4);

        rh_parameter(body, rh_random_shape(body, rh_type(body, RH_ANY), rank));
    }
    make_some(body, 1 + rh_below(m, 4));
    next = arena_array(m->g->arena, (size_t)state + 2, sizeof(*next));
    next[0] = graph_binary(body->g, HLO_ADD, i, scalar(body, DTYPE_S32, 1));
    next[1] = limit;
    for (int k = 0; k < state; k++)
        next[2 + k] = bounded(body, rh_like(body, rh_shape(body, body->g->parameter[2 + k])));
    take_parameters(condition, body);
    make_some(condition, rh_below(m, 3));
    end_condition(condition, condition->g->parameter[0], condition->g->parameter[1]);
    take_parameters(body, condition);
    operand = operands_for(m, body);
    for (int k = 0; k < body->g->parameter_count; k++) {
        int parameter = body->g->parameter[k];

        name_output(body->g, k < state + 2 ? next[k] : parameter);
        bound[k] = k < 2 ? 8 : rh_parameter_bound(body->g->node[parameter].shape.dtype);
    }
    whole(body, condition);
    node = graph_while_condition(m->g, operand, body->g->parameter_count, body->g, condition->g);
    for (int k = 0; k < state + 2; k++)
        rh_add(m, graph_tuple_element(m->g, node, k), bound[k]);
}

void rh_flow(struct rh *m)
{
    if (m->depth >= DEPTH_MAX)
        rh_elementwise(m);
    else if (rh_below(m, 2))
        make_conditional(m);
    else
        make_while(m);
}
