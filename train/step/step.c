/*
 * Writes training, evaluation and prediction steps into a trace, with micro batches in a loop or
 * one behind the other.
 */
#include "train/step/step.h"

#include <assert.h>
#include <inttypes.h>

#include "stack/nn/nn.h"
#include "stack/spmd/stages.h"
#include "train/step/loop.h"
#include "train/step/sharded_update.h"

/* the loss as trained: gradients of it, summed over replicas, are those of the mean */
static int trained_loss(struct trace *t, const struct step_options *o, const struct step_loss *l)
{
    struct graph *g = &t->graph;
    double share = o->micro_batches > 1 ? 1.0 / o->micro_batches : 1.0, samples;
    int loss;

    /* of a sum over micro batches the optimizer may take the mean itself */
    samples = (double)o->global_batch * (o->optimizer->accumulates_in_launch ? share : 1.0);
    samples = o->is_sum ? 1.0 : samples;
    trace_source(t, NULL, "loss");
    loss = nn_scale(g, l->sum, 1.0 / samples);
    if (l->penalty != NODE_NONE) {
        double penalty = o->optimizer->accumulates_in_launch ? 1.0 : share;

        loss = nn_add(g, loss, nn_scale(g, l->penalty, penalty));
    }
    return loss;
}

/* gradients of what was looked up, unscaled, go to the tables' own optimizers */
static int change_tables(struct trace *t, const struct step_options *o, const struct step_loss *l,
                         int loss, struct err *e)
{
    int count = l->embedding->m->feature_count, used = 0;
    int *out = arena_array(t->arena, 3 * (size_t)count + 1, sizeof(*out));
    int *slope = out + count, *gradient = slope + count;
    double factor = o->optimizer->hyper[HYPER_LOSS_SCALE_FACTOR];

    if (o->optimizer->has_dynamic_scale)
        return err_set(e, "embedding tables have optimizers of their own, which "
                       "LossScaleOptimizer does not scale");
    if (o->micro_batches > 1)
        return err_set(e, "embedding tables are not changed by micro batches, there are %d",
                       o->micro_batches);
    for (int f = 0; f < count; f++)
        if (l->embedding->looked[f].samples)
            out[used++] = l->embedding->looked[f].out;
    if (graph_grad(&t->graph, loss, out, used, slope, e))
        return -1;
    used = 0;
    for (int f = 0; f < count; f++)
        if (l->embedding->looked[f].samples) {
            int g = slope[used++];

            gradient[f] = factor > 0 ? nn_scale(&t->graph, g, 1 / factor) : g;
        }
    embedding_apply(l->embedding, gradient);
    return 0;
}

/*
 * Loss and gradients of what these inputs are; nodes of this trace. Of an unrolled step: of micro
 * batch `micro`; else -1.
 */
static int add_gradients(struct trace *t, const struct step_options *o, const int *input, int count,
                         int micro, int *loss, int *gradient, struct err *e)
{
    const struct optimizer *opt = o->optimizer;
    int *value = arena_array(t->arena, (size_t)opt->count + 1, sizeof(*value)), scaled;
    struct step_loss l = {NODE_NONE, NODE_NONE, NULL};

    for (int i = 0; i < opt->count; i++)
        value[i] = trace_read_whole(t, opt->of[i].variable);
    if (o->forward(t, input, count, o->context, &l, e))
        return -1;
    *loss = trained_loss(t, o, &l);
    scaled = optimizer_scale_loss(t, opt, *loss);
    if (micro >= 0)
        trace_begin_phase(t, phase_backward(micro));
    if (graph_grad(&t->graph, scaled, value, opt->count, gradient, e))
        return -1;
    return l.embedding ? change_tables(t, o, &l, scaled, e) : 0;
}

/* ----- micro batches */

/* [samples, ...] as [rounds, samples / rounds, ...] */
static int cut_input(struct trace *t, int node, int64_t rounds, struct err *e)
{
    struct shape s = t->graph.node[node].shape;
    char text[96];

    if (s.rank == 0 || s.dim[0] % rounds || s.rank == GRAPH_RANK_MAX)
        return err_set(e, "input %s of a replica cannot be cut into %" PRId64 " micro batches",
                       shape_print(&s, text, sizeof(text)), rounds);
    for (int d = s.rank; d > 0; d--)
        s.dim[d] = s.dim[d - 1];
    s.dim[0] = rounds;
    s.dim[1] /= rounds;
    s.rank++;
    return graph_reshape(&t->graph, node, s);
}

/* one micro batch: the user's results, then the loss, then the gradients */
static int trace_micro(struct trace *t, const struct step_options *o, const struct trace *of,
                       const int *cut, int count, struct err *e)
{
    int *input = arena_array(t->arena, (size_t)count + 1, sizeof(*input));
    int *gradient = arena_array(t->arena, (size_t)o->optimizer->count + 1, sizeof(*gradient));
    int loss;

    for (int i = 0; i < count; i++) {
        struct shape s = of->graph.node[cut[i]].shape;

        for (int d = 0; d + 1 < s.rank; d++)
            s.dim[d] = s.dim[d + 1];
        s.rank--;
        input[i] = trace_input(t, arena_printf(t->arena, "micro.%d", i), &s);
    }
    if (add_gradients(t, o, input, count, -1, &loss, gradient, e))
        return -1;
    trace_result(t, "loss", loss);
    for (int i = 0; i < o->optimizer->count; i++)
        trace_result(t, "gradient", gradient[i]);
    trace_finish(t);
    return 0;
}

static int add_micro_batches(struct trace *t, const struct step_options *o, const int *input,
                             int count, int *loss, int *gradient, struct err *e)
{
    int *cut = arena_array(t->arena, (size_t)count + 1, sizeof(*cut)), users, *result;
    enum loop_result *kind;
    struct trace micro;
    int status = 0;

    for (int i = 0; i < count && status == 0; i++) {
        cut[i] = cut_input(t, input[i], o->micro_batches, e);
        status = cut[i] < 0 ? -1 : 0;
    }
    trace_init(&micro, t->arena, arena_printf(t->arena, "%s.micro", t->graph.name), t->set,
               t->replica_count, t->is_training);
    if (status == 0)
        status = trace_micro(&micro, o, t, cut, count, e);
    if (status == 0) {
        result = arena_array(t->arena, (size_t)micro.result_count, sizeof(*result));
        kind = arena_array(t->arena, (size_t)micro.result_count, sizeof(*kind));
        loop_repeat(t, &micro, o->micro_batches, cut, kind, result);    /* all LOOP_SUM */
        users = micro.result_count - o->optimizer->count - 1;
        for (int i = 0; i < users; i++)
            trace_result(t, micro.graph.output[i].name, result[i]);
        *loss = result[users];
        for (int i = 0; i < o->optimizer->count; i++)
            gradient[i] = result[users + 1 + i];
    }
    trace_fini(&micro);
    return status;
}

/* ----- micro batches one behind the other */

/* samples of micro batch `micro` */
static int slice_input(struct trace *t, int node, int64_t rounds, int micro, struct err *e)
{
    struct shape s = t->graph.node[node].shape;
    int64_t start[GRAPH_RANK_MAX] = {0}, limit[GRAPH_RANK_MAX];
    char text[96];

    if (rounds == 1)
        return node;
    if (s.rank == 0 || s.dim[0] % rounds)
        return err_set(e, "input %s of a replica cannot be cut into %" PRId64 " micro batches",
                       shape_print(&s, text, sizeof(text)), rounds);
    for (int d = 0; d < s.rank; d++)
        limit[d] = s.dim[d];
    start[0] = micro * (s.dim[0] / rounds);
    limit[0] = start[0] + s.dim[0] / rounds;
    return graph_slice(&t->graph, node, start, limit, NULL);
}

/* adds up what this micro batch gives; the first begins the sum */
static void add_up(struct trace *t, const struct step_options *o, int micro, const int *own,
                   int *sum)
{
    for (int i = 0; i < o->optimizer->count; i++) {
        trace_source(t, "gradients", t->set->variable[o->optimizer->of[i].variable].name);
        sum[i] = micro ? nn_add(&t->graph, sum[i], own[i]) : own[i];
    }
}

static int add_unrolled(struct trace *t, const struct step_options *o, const int *input, int count,
                        int *loss, int *gradient, struct err *e)
{
    int *cut = arena_array(t->arena, (size_t)count + 1, sizeof(*cut));
    int *own = arena_array(t->arena, (size_t)o->optimizer->count + 1, sizeof(*own));
    int rounds = o->micro_batches > 1 ? o->micro_batches : 1, results = t->result_count, part;

    for (int m = 0; m < rounds; m++) {
        trace_begin_phase(t, phase_forward(m));
        trace_source(t, "micro", "input");
        for (int i = 0; i < count; i++)
            if ((cut[i] = slice_input(t, input[i], rounds, m, e)) < 0)
                return -1;
        if (add_gradients(t, o, cut, count, m, &part, own, e))
            return -1;
        add_up(t, o, m, own, gradient);
        *loss = m ? nn_add(&t->graph, *loss, part) : part;
    }
    if (t->result_count != results)
        return err_set(e, "the forward pass of a step in stages leaves %d results; it may leave "
                       "none", t->result_count - results);
    trace_begin_phase(t, PHASE_REST);
    return 0;
}

/* ----- the step */

int step_train(struct trace *t, const struct step_options *o, const int *input, int count,
               int *loss, struct err *e)
{
    const struct optimizer *opt = o->optimizer;
    int *gradient = arena_array(t->arena, (size_t)opt->count + 1, sizeof(*gradient));
    int status = o->is_unrolled ? add_unrolled(t, o, input, count, loss, gradient, e)
                 : o->micro_batches > 1
                     ? add_micro_batches(t, o, input, count, loss, gradient, e)
                     : add_gradients(t, o, input, count, -1, loss, gradient, e);

    if (status)
        return -1;
    sharded_update_apply(t, opt, gradient);
    return 0;
}
