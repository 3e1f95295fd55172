/* Feeds and runs the programs of fit, and finds what made a loss that is not finite. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "train/fit/fit_impl.h"

/* rows of a global batch to where each replica's round `round` has them */
static void spread_batch(const struct fit *f, const struct fit_feed *feed, int64_t round)
{
    for (int i = 0; i < feed->tensor_count; i++) {
        size_t bytes = (size_t)(f->local_batch * feed->elems[i]) * 4;

        for (int r = 0; r < f->replicas; r++)
            memcpy((char *)feed->tensor[i] + ((size_t)(r * feed->rounds) + (size_t)round) * bytes,
                   (const char *)feed->batch[i] + (size_t)r * bytes, bytes);
    }
}

static int check_tensors(const struct fit *f, const struct fit_feed *feed, const struct batches *b,
                         struct err *e)
{
    if (b->tensor_count == feed->tensor_count && b->has_weights == f->options.has_weights)
        return 0;
    return err_set(e, "batches have %d tensors%s; model %s takes %d inputs and labels%s",
                   b->tensor_count, b->has_weights ? ", the last of them weights" : "",
                   f->options.model->name, f->options.model->input_count,
                   f->options.has_weights ? " and weights" : "");
}

int64_t fit_fill(struct fit *f, struct fit_feed *feed, const struct batches *b, int64_t most,
                 struct err *e)
{
    if (check_tensors(f, feed, b, e))
        return -1;
    for (int64_t k = 0; k < most; k++) {
        void *const *to = feed->rounds > 1 ? feed->batch : feed->tensor;
        int64_t got = b->next(b->context, f->batch, to, feed->elems, e);

        if (got < 0)
            return -1;
        if (got < f->batch)
            return k;
        if (feed->rounds > 1)
            spread_batch(f, feed, k);
    }
    return most;
}

void fit_move_batches(const struct fit *f, const struct fit_feed *from, struct fit_feed *to)
{
    for (int i = 0; i < to->tensor_count; i++) {
        size_t bytes = (size_t)(f->local_batch * to->elems[i]) * 4;

        for (int r = 0; r < f->replicas; r++)
            memcpy((char *)to->tensor[i] + (size_t)(r * to->rounds) * bytes,
                   (const char *)from->tensor[i] + (size_t)(r * from->rounds) * bytes,
                   (size_t)to->rounds * bytes);
    }
}

int fit_execute(struct fit *f, struct fit_feed *feed, struct strategy_run *run, struct err *e)
{
    return strategy_run(f->strategy, feed->program, feed->input, feed->result, run, e);
}

/* ----- what made it */

int fit_keep_values(struct fit *f, struct err *e)
{
    strategy_snapshot_free(f->before);
    f->before = strategy_snapshot(f->strategy, e);
    return f->before ? 0 : -1;
}

/* The step once more on the host's interpreter, with every float array as an output. */
struct rerun {
    struct fit *fit;
    struct arena arena;
    struct trace trace;
    int *output;                        /* by node: its output, or -1 */
    struct interp_value **value;        /* by replica */
    void ***variable;                   /* what it holds before the step, by replica */
};

/* the variables as they came into the launch */
static int read_variables(struct rerun *r, struct err *e)
{
    const struct fit *f = r->fit;
    size_t count = (size_t)f->set->count;

    r->variable = arena_array(&r->arena, (size_t)f->replicas, sizeof(*r->variable));
    for (int k = 0; k < f->replicas; k++) {
        r->variable[k] = arena_array(&r->arena, count + 1, sizeof(**r->variable));
        for (int v = 0; v < f->set->count; v++) {
            struct shape s = variable_local_shape(&f->set->variable[v], f->replicas);

            r->variable[k][v] = arena_array(&r->arena, (size_t)shape_elems(&s) + 1, 4);
            if (strategy_snapshot_read(f->strategy, f->before, k, v, r->variable[k][v], e))
                return -1;
        }
    }
    return 0;
}

static bool is_float(const struct graph_node *n)
{
    return n->tuple_count == 0 && (n->shape.dtype == DTYPE_F32 || n->shape.dtype == DTYPE_BF16);
}

static void output_everything(struct rerun *r)
{
    struct graph *g = &r->trace.graph;

    r->output = arena_array(&r->arena, (size_t)g->node_count, sizeof(*r->output));
    for (int i = 0; i < g->node_count; i++) {
        r->output[i] = -1;
        if (!is_float(&g->node[i]))
            continue;
        r->output[i] = g->output_count;
        graph_output(g, i, g->node[i].name, -1);
    }
}

static const struct interp_value *inputs_of(struct rerun *r, const struct fit_feed *feed, int round,
                                            int replica)
{
    const struct trace *t = &r->trace;
    struct interp_value *in = arena_array(&r->arena, (size_t)t->graph.parameter_count + 1,
                                          sizeof(*in));
    const struct fit *f = r->fit;

    for (int p = 0; p < t->graph.parameter_count; p++) {
        int index = t->parameter[p].index;
        int64_t rows = (replica * feed->rounds + round) * f->local_batch;

        in[p].data = t->parameter[p].kind == TRACE_VARIABLE
                         ? r->variable[replica][index]
                         : (char *)feed->tensor[index] + rows * feed->elems[index] * 4;
    }
    return in;
}

/* assigned variables go on to the next step */
static void advance(struct rerun *r)
{
    const struct trace *t = &r->trace;

    for (int o = t->result_count; o < t->graph.output_count; o++) {
        const struct graph_output *out = &t->graph.output[o];
        size_t bytes = (size_t)shape_elems(&t->graph.node[out->node].shape) * 4;

        for (int k = 0; k < r->fit->replicas && out->alias_parameter >= 0; k++)
            memcpy(r->variable[k][t->parameter[out->alias_parameter].index],
                   r->value[k][o].data, bytes);
    }
}

static int run_again(struct rerun *r, const struct fit_feed *feed, int round, struct err *e)
{
    int replicas = r->fit->replicas;
    const struct interp_value **in = arena_array(&r->arena, (size_t)replicas, sizeof(*in));

    r->value = arena_array(&r->arena, (size_t)replicas, sizeof(*r->value));
    for (int k = 0; k < replicas; k++) {
        in[k] = inputs_of(r, feed, round, k);
        r->value[k] = arena_array(&r->arena, (size_t)r->trace.graph.output_count + 1,
                                  sizeof(**r->value));
    }
    return interp_run_devices(&r->trace.graph, r->fit->options.strategy.reference_dot, replicas, in,
                              r->value, &r->arena, e);
}

enum content { CONTENT_FINITE, CONTENT_INFINITE, CONTENT_NAN };

static enum content content_of(const struct rerun *r, int node)
{
    int64_t elems = shape_elems(&r->trace.graph.node[node].shape);
    enum content worst = CONTENT_FINITE;

    for (int k = 0; k < r->fit->replicas && r->output[node] >= 0; k++) {
        const float *x = r->value[k][r->output[node]].data;

        for (int64_t i = 0; i < elems; i++)
            if (isnan(x[i]))
                return CONTENT_NAN;
            else if (isinf(x[i]))
                worst = CONTENT_INFINITE;
    }
    return worst;
}

static bool is_constant(const struct graph *g, int node)
{
    const struct graph_node *n = &g->node[node];

    while (n->op == HLO_BROADCAST || n->op == HLO_RESHAPE || n->op == HLO_CONVERT)
        n = &g->node[n->operand[0]];
    return n->op == HLO_CONSTANT;
}

/*
 * The first NaN; or what became infinite before and leads to it (masks are infinite from the
 * start, and no fault); without a NaN the first that became infinite. NODE_NONE: all is finite.
 */
static int find_culprit(const struct rerun *r)
{
    const struct graph *g = &r->trace.graph;
    int first_infinite = NODE_NONE, first_nan = NODE_NONE;

    for (int i = 0; i < g->node_count && first_nan == NODE_NONE; i++) {
        enum content c = content_of(r, i);

        if (c == CONTENT_NAN)
            first_nan = i;
        else if (c == CONTENT_INFINITE && first_infinite == NODE_NONE && !is_constant(g, i))
            first_infinite = i;
    }
    return first_infinite == NODE_NONE ? first_nan : first_infinite;
}

static int name_culprit(const struct rerun *r, int node, int64_t step, double loss, struct err *e)
{
    const struct graph_node *n = &r->trace.graph.node[node];
    char shape[96];

    return err_set(e, "step %" PRId64 ": the loss is %g; the first %s comes from %s (%s %s%s)",
                   step, loss, content_of(r, node) == CONTENT_NAN ? "NaN" : "infinity",
                   n->op == HLO_PARAMETER ? n->name : n->source, graph_op_name(n->op),
                   shape_print(&n->shape, shape, sizeof(shape)),
                   n->op == HLO_PARAMETER ? ", as it came into the step" : "");
}

static int explain(struct rerun *r, const struct fit_feed *feed, int64_t first, double loss,
                   int64_t step, struct err *e)
{
    if (fit_trace_step(r->fit, &r->trace, e) || read_variables(r, e))
        return -1;
    output_everything(r);
    for (int k = 0; k < feed->rounds; k++) {
        int culprit;

        if (run_again(r, feed, k, e))
            return -1;
        culprit = find_culprit(r);
        if (culprit != NODE_NONE)
            return name_culprit(r, culprit, first + k, loss, e);
        advance(r);
    }
    return err_set(e, "step %" PRId64 ": the loss is %g; on the host's interpreter all values stay "
                   "finite", step, loss);
}

int fit_explain_loss(struct fit *f, const struct fit_feed *feed, int64_t step, double loss,
                     struct err *e)
{
    struct rerun r = {.fit = f};

    if (!f->before)
        return err_set(e, "step %" PRId64 ": the loss is %g; checking numerics tells which "
                       "operation made it", step, loss);
    arena_init(&r.arena);
    trace_init(&r.trace, &r.arena, "again", f->set, f->replicas, true);
    explain(&r, feed, f->step + 1, loss, step, e);
    trace_fini(&r.trace);
    arena_fini(&r.arena);
    return -1;
}
