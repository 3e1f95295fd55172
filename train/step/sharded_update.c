/*
 * Splits each variable's update over the replicas: reduce-scatter of gradients, update of a part,
 * all-gather of values.
 */
#include "train/step/sharded_update.h"

#include "stack/hlo/array.h"
#include "train/step/replica.h"

int sharded_update_choose(struct optimizer *o, int replica_count)
{
    int count = 0;

    for (int i = 0; i < o->count && replica_count > 1; i++) {
        const struct shape *s = &o->set->variable[o->of[i].variable].shape;
        bool is_cut = !sharding_is_whole(&o->set->variable[o->of[i].variable].sharding);
        int dim = is_cut ? -1 : array_dim_of_parts(s, replica_count);
        struct err e;

        if (dim >= 0 && optimizer_shard(o, i, dim, replica_count, &e) == 0)
            count += optimizer_sharded_along(o, i) >= 0;
    }
    return count;
}

void sharded_update_hold_parts(struct optimizer *o)
{
    for (int i = 0; i < o->count; i++) {
        struct variable *v = &o->set->variable[o->of[i].variable];

        if (!v->joins_last && sharding_is_whole(&v->sharding))
            v->shard_dim = optimizer_sharded_along(o, i);
    }
}

/* the sum over replicas: of a split variable this replica's part of it */
static int summed(struct trace *t, int gradient, int dim)
{
    const struct graph_groups all = {.count = 1, .size = t->replica_count};

    return dim < 0 ? replica_all_reduce(t, REPLICA_SUM, gradient)
                   : graph_reduce_scatter(&t->graph, &gradient, 1, dim, &all);
}

/* this replica's part of a value that all have */
static int part_of(struct trace *t, int value, int dim)
{
    struct graph *g = &t->graph;
    struct shape s = g->node[value].shape;
    int start[GRAPH_RANK_MAX], zero = graph_constant(g, shape_scalar(DTYPE_S32), 0), length;

    s.dim[dim] /= t->replica_count;
    length = graph_constant(g, shape_scalar(DTYPE_S32), (double)s.dim[dim]);
    for (int i = 0; i < s.rank; i++)
        start[i] = zero;
    start[dim] = graph_binary(g, HLO_MULTIPLY, replica_id(t), length);
    return graph_dynamic_slice(g, value, start, s.dim);
}

static void update(struct optimizer_step *s, int i, int gradient)
{
    struct trace *t = s->trace;
    int variable = s->optimizer->of[i].variable, dim = optimizer_sharded_along(s->optimizer, i);
    int value = trace_read(t, variable);
    bool is_cut = dim >= 0 && t->replica_count > 1 && t->set->variable[variable].shard_dim < 0;

    if (is_cut) {
        trace_source(t, "part", t->set->variable[variable].name);
        value = part_of(t, value, dim);
    }
    value = optimizer_update_one(s, i, value, gradient);
    if (is_cut) {
        trace_source(t, "all-gather", t->set->variable[variable].name);
        value = replica_all_gather(t, value, dim);
    }
    trace_assign(t, variable, value);
}

void sharded_update_apply(struct trace *t, const struct optimizer *o, const int *gradient)
{
    int *sum = arena_array(t->arena, (size_t)o->count + 1, sizeof(*sum));
    struct optimizer_step s;

    for (int i = 0; i < o->count; i++) {
        int dim = t->replica_count > 1 ? optimizer_sharded_along(o, i) : -1;

        trace_source(t, dim < 0 ? "all-reduce" : "reduce-scatter",
                     o->set->variable[o->of[i].variable].name);
        sum[i] = summed(t, gradient[i], dim);
    }
    optimizer_begin(&s, t, o, sum);
    for (int i = 0; i < o->count; i++)
        update(&s, i, sum[i]);
    optimizer_end(&s);
}
