/* Traces the programs of fit: one or several training steps, evaluation, prediction. */
#include "train/fit/fit_impl.h"

#include <assert.h>
#include <inttypes.h>

#include "stack/nn/nn.h"
#include "train/step/loop.h"

static struct shape with_batch(const struct shape *sample, int64_t batch)
{
    struct shape s = *sample;

    assert(s.rank < GRAPH_RANK_MAX);
    for (int d = s.rank; d > 0; d--)
        s.dim[d] = s.dim[d - 1];
    s.dim[0] = batch;
    s.rank++;
    return s;
}

static const struct shape *sample_of(const struct fit *f, int input)
{
    const struct model *m = f->options.model;

    return &m->node[m->input[input]].shape;
}

/* what comes behind the model's inputs */
enum behind { NOTHING, LABELS, LABELS_WEIGHTS, LABELS_WEIGHTS_MASK };

static enum behind behind_training(const struct fit *f)
{
    return f->options.has_weights ? LABELS_WEIGHTS : LABELS;
}

/* samples that only fill a batch up weigh nothing: where none have weights of their own, by these */
static enum behind behind_evaluation(const struct fit *f)
{
    return f->options.has_weights ? LABELS_WEIGHTS_MASK : LABELS_WEIGHTS;
}

/* the model's inputs, labels, weights, mask as far as wanted: shapes of one replica's batch */
static int list_shapes(const struct fit *f, enum behind behind, struct shape *shape)
{
    struct shape scalar = shape_scalar(DTYPE_F32);
    int count = 0;

    for (int i = 0; i < f->options.model->input_count; i++)
        shape[count++] = with_batch(sample_of(f, i), f->local_batch);
    for (int i = 0; i < f->output_count && behind >= LABELS; i++)
        shape[count++] = with_batch(&f->label[i], f->local_batch);
    for (int i = LABELS_WEIGHTS; i <= (int)behind; i++)
        shape[count++] = with_batch(&scalar, f->local_batch);
    return count;
}

/* f32 [batch]: the weight of each sample's class, 1 of classes that have none */
static int class_weights(struct graph *g, const struct fit_options *o, int labels)
{
    struct shape s = g->node[labels].shape;
    int64_t classes = o->class_count;
    float *extra = arena_array(g->arena, (size_t)classes, sizeof(*extra));
    int is, numbers;

    if (s.rank > 1 && s.dim[1] > 1)
        labels = graph_reduce(g, REDUCE_ARGMAX, graph_convert(g, labels, DTYPE_F32), 2);
    else
        labels = graph_convert(g, graph_reshape(g, labels, shape_make(s.dtype, 1, s.dim)),
                               DTYPE_S32);
    s = shape_make(DTYPE_S32, 2, (int64_t[]){s.dim[0], classes});
    numbers = graph_iota(g, s, 1);
    is = graph_compare(g, COMPARE_EQ, graph_broadcast(g, labels, s, (int[]){0}), numbers);
    for (int64_t c = 0; c < classes; c++)
        extra[c] = (float)(o->class_weight[c] - 1.0);
    is = graph_convert(g, is, DTYPE_F32);
    is = nn_multiply(g, is, nn_spread(g, graph_literal(g, shape_make(DTYPE_F32, 1, &classes),
                                                       extra), is));
    return nn_shift(g, graph_reduce(g, REDUCE_ADD, is, 2), 1.0);
}

/* an output's part of the loss, which its weight is not yet in */
static int output_loss(struct graph *g, const struct fit_output *o, int labels,
                       const struct model_result *result, int weights, int there)
{
    int values = loss_values(g, &o->loss, labels, result, weights, there);

    return loss_sum(g, values, loss_weights(g, &o->loss, weights, there));
}

/* forward, metrics; loss of a training step or an evaluation, and of each output: part[] */
static void add_forward(struct trace *t, struct fit *f, const int *input, bool is_training,
                        struct step_loss *loss, int *part)
{
    const struct fit_options *o = &f->options;
    const int *labels = input + o->model->input_count, *behind = labels + f->output_count;
    int weights = !is_training || o->has_weights ? behind[0] : NODE_NONE;
    int there = is_training ? NODE_NONE : o->has_weights ? behind[1] : weights;
    struct model_result result[FIT_OUTPUTS_MAX];

    model_forward(t, o->model, input, result, &loss->penalty);
    trace_source(t, NULL, "loss");
    if (is_training && o->class_count)
        weights = class_weights(&t->graph, o, labels[0]);
    if (there != weights && there != NODE_NONE)
        weights = nn_multiply(&t->graph, weights, there);
    for (int i = 0; i < f->output_count; i++) {
        double weight = f->output[i].weight;
        int sum;

        part[i] = output_loss(&t->graph, &f->output[i], labels[i], &result[i], weights, there);
        sum = weight == 1.0 ? part[i] : nn_scale(&t->graph, part[i], weight);
        loss->sum = i == 0 ? sum : nn_add(&t->graph, loss->sum, sum);
    }
    for (int i = 0; i < o->metric_count; i++) {
        int k = fit_metric_output(f, i);

        trace_source(t, "metrics", o->metric[i].name);
        metric_update(t, &o->metric[i], labels[k], result[k].value, result[k].mask,
                      o->metric[i].is_weighted ? weights : there);
    }
}

static int forward(struct trace *t, const int *input, int count, void *context,
                   struct step_loss *loss, struct err *e)
{
    int part[FIT_OUTPUTS_MAX];

    (void)count;
    (void)e;
    add_forward(t, context, input, true, loss, part);
    return 0;
}

static int train_one(struct trace *t, struct fit *f, const int *input, int count, struct err *e)
{
    bool has_micro = f->options.micro_batches > 1;
    struct step_options o = {.optimizer = f->options.optimizer, .global_batch = f->batch,
                             .is_sum = loss_is_sum(&f->output[0].loss),
                             .micro_batches = f->options.micro_batches, .forward = forward,
                             .is_unrolled = f->options.stages > 0 ||
                                            (f->options.layer_devices && has_micro),
                             .context = f};
    int loss;

    if (step_train(t, &o, input, count, &loss, e))
        return -1;
    trace_result(t, "loss", loss);
    return 0;
}

int fit_trace_step(struct fit *f, struct trace *t, struct err *e)
{
    struct shape shape[DATA_TUPLE_MAX];
    int input[DATA_TUPLE_MAX], count = list_shapes(f, behind_training(f), shape);

    for (int i = 0; i < count; i++)
        input[i] = trace_input(t, arena_printf(t->arena, "input.%d", i), &shape[i]);
    if (train_one(t, f, input, count, e))
        return -1;
    trace_finish(t);
    return 0;
}

/* several steps: a loop over one that is traced by itself */
static int train_step(struct trace *t, const int *input, int count, void *context, struct err *e)
{
    struct fit_training *training = context;
    struct trace body;
    int status;

    if (training->rounds == 1)
        return train_one(t, training->fit, input, count, e);
    trace_init(&body, t->arena, "step", t->set, t->replica_count, true);
    body.mesh = t->mesh;
    status = fit_trace_step(training->fit, &body, e);
    if (status == 0)
        loop_steps(t, &body, training->rounds, input);
    trace_fini(&body);
    return status;
}

static int evaluate_step(struct trace *t, const int *input, int count, void *context,
                         struct err *e)
{
    struct fit *f = context;
    struct step_loss loss;
    int part[FIT_OUTPUTS_MAX];

    (void)count;
    (void)e;
    add_forward(t, f, input, false, &loss, part);
    trace_result(t, "loss", loss.sum);
    for (int k = 0; k < f->output_count && f->output_count > 1; k++)
        trace_result(t, arena_printf(t->arena, "loss.%d", k), part[k]);
    if (loss.penalty != NODE_NONE)
        trace_result(t, "penalty", loss.penalty);
    return 0;
}

int fit_trace_evaluation(struct fit *f, struct trace *t, struct err *e)
{
    struct shape shape[DATA_TUPLE_MAX];
    int input[DATA_TUPLE_MAX], count = list_shapes(f, behind_evaluation(f), shape);

    for (int i = 0; i < count; i++)
        input[i] = trace_input(t, arena_printf(t->arena, "input.%d", i), &shape[i]);
    if (evaluate_step(t, input, count, f, e))
        return -1;
    trace_finish(t);
    return 0;
}

static int predict_step(struct trace *t, const int *input, int count, void *context,
                        struct err *e)
{
    struct fit *f = context;
    struct model_result result[FIT_OUTPUTS_MAX];

    (void)e;
    (void)count;
    model_forward(t, f->options.model, input, result, NULL);
    trace_source(t, NULL, "prediction");
    for (int k = 0; k < f->output_count; k++)
        trace_result(t, arena_printf(t->arena, "prediction.%d", k),
                     graph_convert(&t->graph, result[k].value, DTYPE_F32));
    return 0;
}

/* ----- memory of the host for them */

/* In mode timing nothing comes or goes, and batches may be large: no room for them. */
static void make_feed(struct fit *f, struct fit_feed *feed, int rounds)
{
    struct strategy_program *p = feed->program;
    const struct machine *m = strategy_machine(f->strategy);
    int results = strategy_program_result_count(p);
    bool has_values = !m || machine_mode(m) != MODE_TIMING;

    feed->rounds = rounds;
    feed->tensor_count = strategy_program_input_count(p);
    feed->input = arena_array(&f->arena, (size_t)(f->replicas * feed->tensor_count),
                              sizeof(*feed->input));
    feed->result = arena_array(&f->arena, (size_t)(f->replicas * results), sizeof(*feed->result));
    for (int i = 0; i < feed->tensor_count; i++) {
        int64_t elems = shape_elems(strategy_program_input_shape(p, i));

        feed->elems[i] = elems / f->local_batch / rounds;
        if (!has_values)
            continue;
        feed->tensor[i] = arena_array(&f->arena, (size_t)(elems * f->replicas), 4);
        if (rounds > 1)
            feed->batch[i] = arena_array(&f->arena, (size_t)(feed->elems[i] * f->batch), 4);
        for (int r = 0; r < f->replicas; r++)
            feed->input[r * feed->tensor_count + i] = (char *)feed->tensor[i] + r * elems * 4;
    }
    for (int i = 0; i < f->replicas * results && has_values; i++)
        feed->result[i] = arena_array(
            &f->arena, (size_t)shape_elems(strategy_program_result_shape(p, i % results)), 4);
}

struct fit_training *fit_training_of(struct fit *f, int rounds, struct err *e)
{
    struct shape shape[DATA_TUPLE_MAX];
    struct fit_training *t;
    int count;

    for (t = f->training; t; t = t->next)
        if (t->rounds == rounds)
            return t;
    count = list_shapes(f, behind_training(f), shape);
    for (int i = 0; i < count && rounds > 1; i++)
        shape[i] = with_batch(&shape[i], rounds);
    t = arena_alloc(&f->arena, sizeof(*t));
    *t = (struct fit_training){.fit = f, .rounds = rounds, .next = f->training};
    t->feed.program = strategy_function(f->strategy, "train", train_step, t, true, shape, count, e);
    if (!t->feed.program)
        return NULL;
    make_feed(f, &t->feed, rounds);
    f->training = t;
    return t;
}

int fit_prepare_evaluation(struct fit *f, struct err *e)
{
    struct shape shape[DATA_TUPLE_MAX];
    int count = list_shapes(f, behind_evaluation(f), shape);

    if (f->evaluation.program)
        return 0;
    f->evaluation.program = strategy_function(f->strategy, "evaluate", evaluate_step, f, false,
                                              shape, count, e);
    if (!f->evaluation.program)
        return -1;
    make_feed(f, &f->evaluation, 1);
    return 0;
}

int fit_prepare_prediction(struct fit *f, struct err *e)
{
    struct shape shape[DATA_TUPLE_MAX];
    int count = list_shapes(f, NOTHING, shape);

    if (f->prediction_feed.program)
        return 0;
    f->prediction_feed.program = strategy_function(f->strategy, "predict", predict_step, f, false,
                                                   shape, count, e);
    if (!f->prediction_feed.program)
        return -1;
    make_feed(f, &f->prediction_feed, 1);
    return 0;
}
