/* Models, losses, metrics and optimizers in a step that the user writes. */
#include "api/model.h"

#include <string.h>
#include <strings.h>

#include "keras/loss/loss_from_text.h"
#include "stack/hlo/graph_shape.h"
#include "stack/nn/nn.h"
#include "train/step/sharded_update.h"

static const sy_tensor invalid = {NODE_NONE};

/* a call of a model in a step: what losses want to know of it */
struct api_forward {
    const sy_model *model;
    struct model_result *result;        /* by output */
    int penalty;
    struct api_forward *next;
};

/* without the samples, the first dimension, of which there must be one */
static bool sample_of(sy_context *c, const char *what, sy_tensor x, struct shape *sample)
{
    struct err e;

    *sample = *api_shape_of(c, x);
    if (sample->rank < 1) {
        err_set(&e, "%s of a scalar; its first dimension must be the samples", what);
        api_invalid(c, &e);
        return false;
    }
    sample->rank--;
    memmove(sample->dim, sample->dim + 1, (size_t)sample->rank * sizeof(*sample->dim));
    return true;
}

static bool same_samples(sy_context *c, const char *what, sy_tensor a, sy_tensor b)
{
    char x[96], y[96];
    struct err e;

    if (api_shape_of(c, a)->dim[0] == api_shape_of(c, b)->dim[0])
        return true;
    err_set(&e, "%s: %s and %s are not of as many samples", what,
            shape_print(api_shape_of(c, a), x, sizeof(x)),
            shape_print(api_shape_of(c, b), y, sizeof(y)));
    api_invalid(c, &e);
    return false;
}

/* ----- models */

static int check_model(const sy_context *c, const sy_model *m, int inputs, int outputs,
                       struct err *e)
{
    if (api_handle_check(m, API_MODEL))
        return err_set(e, "%s", sy_message());
    if (m->strategy != c->strategy)
        return err_set(e, "model %s is of another strategy", m->model.name);
    if (!m->model.set)
        return err_set(e, "model %s is not built: call sy_model_build first", m->model.name);
    if (inputs != m->model.input_count || outputs != m->model.output_count)
        return err_set(e, "model %s of %d inputs and %d outputs is called with %d and %d",
                       m->model.name, m->model.input_count, m->model.output_count, inputs,
                       outputs);
    return 0;
}

static bool is_input(sy_context *c, const sy_model *m, int i, const sy_tensor *input)
{
    const struct shape *wanted = &m->model.node[m->model.input[i]].shape;
    char is[96], must[96];
    struct shape sample;
    struct err e;

    if (!sample_of(c, "a model's input", input[i], &sample))
        return false;
    if (shape_equal(&sample, wanted))
        return i == 0 || same_samples(c, "a model's inputs", input[0], input[i]);
    err_set(&e, "model %s takes samples of %s; input %d is %s", m->model.name,
            shape_print(wanted, must, sizeof(must)), i,
            shape_print(api_shape_of(c, input[i]), is, sizeof(is)));
    api_invalid(c, &e);
    return false;
}

static void forward(sy_context *c, const sy_model *m, const sy_tensor *input, bool training,
                    sy_tensor *output)
{
    struct trace *t = c->trace;
    struct api_forward *f = arena_alloc(t->arena, sizeof(*f));
    int *node = arena_array(t->arena, (size_t)m->model.input_count, sizeof(*node));
    const char *source = t->graph.source;
    bool is_training = t->is_training;

    *f = (struct api_forward){.model = m, .next = c->forward};
    f->result = arena_array(t->arena, (size_t)m->model.output_count, sizeof(*f->result));
    for (int i = 0; i < m->model.input_count; i++)
        node[i] = input[i].node;
    t->is_training = training;
    model_forward(t, &m->model, node, f->result, &f->penalty);
    t->is_training = is_training;
    t->graph.source = source;
    c->forward = f;
    for (int i = 0; i < m->model.output_count; i++)
        output[i].node = f->result[i].value;
}

sy_status sy_model_forward_all(sy_context *c, const sy_model *m, const sy_tensor *input,
                               int input_count, bool training, sy_tensor *output,
                               int output_count)
{
    struct err e;

    if (api_lacks(c, API_GIVEN(m)))
        return SY_ERROR;
    if (api_lacks(c, API_GIVEN(c, input, output)))
        return SY_ERROR;
    for (int i = 0; i < output_count; i++)
        output[i] = invalid;
    if (check_model(c, m, input_count, output_count, &e)) {
        api_invalid(c, &e);
        return sy_context_status(c);
    }
    if (!api_are_valid(c, input, input_count))
        return sy_context_status(c);
    for (int i = 0; i < input_count; i++)
        if (!is_input(c, m, i, input))
            return sy_context_status(c);
    forward(c, m, input, training, output);
    return SY_OK;
}

sy_tensor sy_model_forward(sy_context *c, const sy_model *m, sy_tensor input, bool training)
{
    sy_tensor out = invalid;

    if (api_lacks(c, API_GIVEN(m)))
        return invalid;
    sy_model_forward_all(c, m, &input, 1, training, &out, 1);
    return out;
}

sy_tensor sy_model_losses(sy_context *c, const sy_model *m)
{
    const struct api_forward *f;
    struct err e;

    if (api_lacks(c, API_GIVEN(c, m)))
        return invalid;
    for (f = c->forward; f && f->model != m;)
        f = f->next;
    if (f)
        return f->penalty == NODE_NONE ? sy_constant(c, SY_F32, sy_scalar(), 0)
                                       : (sy_tensor){f->penalty};
    err_set(&e, "losses of a model that has not been called in this step");
    return api_invalid(c, &e);
}

/* ----- losses */

/* with what a model's softmax or sigmoid was of, where it comes from one */
static struct model_result result_of(const sy_context *c, sy_tensor prediction)
{
    for (const struct api_forward *f = c->forward; f; f = f->next)
        for (int i = 0; i < f->model->model.output_count; i++)
            if (f->result[i].value == prediction.node)
                return f->result[i];
    return (struct model_result){prediction.node, NODE_NONE, ACTIVATION_LINEAR, NODE_NONE};
}

sy_tensor sy_loss(sy_context *c, const char *loss, sy_tensor labels, sy_tensor prediction)
{
    sy_tensor both[2] = {labels, prediction}, out;
    struct shape label, sample;
    struct model_result result;
    struct loss l;
    const char *source;
    struct err e;

    if (api_lacks(c, API_GIVEN(c, loss)) || !api_are_valid(c, both, 2) ||
        !sample_of(c, "labels", labels, &label) ||
        !sample_of(c, "predictions", prediction, &sample) ||
        !same_samples(c, "labels and predictions", labels, prediction))
        return invalid;
    if (loss_from_text(&l, loss, c->trace->graph.arena, &e) ||
        loss_check(&l, &label, &sample, &e))
        return api_invalid(c, &e);
    result = result_of(c, prediction);
    if (result.mask != NODE_NONE && loss_check_masked(&l, &sample, &e))
        return api_invalid(c, &e);
    source = c->trace->graph.source;
    trace_source(c->trace, NULL, "loss");
    out.node = loss_values(api_graph(c), &l, labels.node, &result, NODE_NONE, NODE_NONE);
    c->trace->graph.source = source;
    return out;
}

sy_tensor sy_average_loss(sy_context *c, sy_tensor each, int64_t global_batch)
{
    const struct shape *s;
    char text[96];
    struct err e;

    if (!api_are_valid(c, &each, 1))
        return invalid;
    s = api_shape_of(c, each);
    if (s->rank != 1 || s->dtype != DTYPE_F32 || global_batch < 0) {
        err_set(&e, "the average of %s over a global batch of %lld: it takes a loss for each "
                "sample, f32 [samples], and at least 1, or 0",
                shape_print(s, text, sizeof(text)), (long long)global_batch);
        return api_invalid(c, &e);
    }
    if (global_batch == 0)
        global_batch = s->dim[0] * c->trace->replica_count;
    return (sy_tensor){nn_scale(api_graph(c), loss_sum(api_graph(c), each.node, NODE_NONE),
                                1.0 / (double)global_batch)};
}

/* ----- metrics */

static int read_metric(sy_strategy *s, const char *text, sy_metric *m, struct err *e)
{
    int64_t known = 0;
    struct shape sample = shape_scalar(DTYPE_F32);

    m->strategy = s;
    m->is_accuracy = strcasecmp(text, "accuracy") == 0 || strcasecmp(text, "acc") == 0;
    /* all kinds of accuracy have the same sums, by whatever shapes it is chosen */
    if (metric_from_text(&m->m, text, &sample, &sample, &s->arena, e))
        return -1;
    if (metric_sums_by_prediction(&m->m)) {
        known = (int64_t)(m->m.with.num_classes > 0 ? m->m.with.num_classes
                                                    : m->m.with.num_labels);
        if (known < 1)
            return err_set(e, "metric %s: how many sums it has depends on the predictions, which "
                           "are not known yet%s", m->m.name,
                           m->m.kind == METRIC_AUC ? "; say num_labels" : "");
    }
    if (metric_check_name(&m->m, &s->set, e))
        return -1;
    if (known)
        sample = shape_make(DTYPE_F32, 1, &known);
    m->known_size = known;
    metric_build(&m->m, &s->set, &sample);
    return 0;
}

sy_status sy_metric_create(sy_strategy *s, const char *metric, sy_metric **out)
{
    sy_metric *m;
    struct err e;

    if (api_handle_check(s, API_STRATEGY) || API_GIVEN(metric, out))
        return SY_ERROR;
    m = arena_alloc(&s->arena, sizeof(*m));
    if (read_metric(s, metric, m, &e))
        return api_fail(&e);
    *out = m;
    return SY_OK;
}

static int check_update(sy_context *c, struct metric *m, const sy_metric *of,
                        const sy_tensor *labels, sy_tensor value, struct err *e)
{
    bool is_of_values = m->kind == METRIC_MEAN || m->kind == METRIC_SUM;
    struct shape label = {.rank = 0}, sample;

    if (is_of_values != !labels)
        return err_set(e, "metric %s %s", m->name,
                       is_of_values ? "takes no labels" : "compares with labels, which are NULL");
    if (!sample_of(c, m->name, value, &sample) ||
        (labels && (!sample_of(c, m->name, *labels, &label) ||
                    !same_samples(c, m->name, *labels, value)))) {
        *e = c->err;
        return -1;
    }
    if (of->is_accuracy && sample.rank > 0)
        m->kind = metric_accuracy(&label, &sample);
    if (of->is_accuracy)
        m->with = metric_standard(m->kind).with;
    if (of->known_size && sample.rank > 0 && sample.dim[sample.rank - 1] != of->known_size)
        return err_set(e, "metric %s of %lld classes; predictions have %lld", m->name,
                       (long long)of->known_size, (long long)sample.dim[sample.rank - 1]);
    return metric_check(m, &label, &sample, e);
}

static int check_weights(sy_context *c, const struct metric *m, sy_tensor value,
                         const sy_tensor *weights, struct err *e)
{
    const struct shape *s = weights ? api_shape_of(c, *weights) : NULL;
    char text[96];

    if (!s || (s->rank == 1 && s->dtype == DTYPE_F32 &&
               s->dim[0] == api_shape_of(c, value)->dim[0]))
        return 0;
    return err_set(e, "metric %s: weights are %s; f32 [%lld] is wanted", m->name,
                   shape_print(s, text, sizeof(text)), (long long)api_shape_of(c, value)->dim[0]);
}

sy_status sy_metric_update(sy_context *c, sy_metric *m, const sy_tensor *labels, sy_tensor value,
                           const sy_tensor *weights)
{
    struct metric own;
    const char *source;
    struct err e;

    if (api_lacks(c, API_GIVEN(c, m)))
        return SY_ERROR;
    own = m->m;
    if (!api_are_valid(c, &value, 1) || (labels && !api_are_valid(c, labels, 1)) ||
        (weights && !api_are_valid(c, weights, 1)))
        return sy_context_status(c);
    if (api_shape_of(c, value)->rank == 0 && !labels)
        value = sy_reshape(c, value, sy_dims(1));
    if (m->strategy != c->strategy)
        err_set(&e, "metric %s is of another strategy", own.name);
    else if (check_update(c, &own, m, labels, value, &e) == 0 &&
             check_weights(c, &own, value, weights, &e) == 0) {
        source = c->trace->graph.source;
        trace_source(c->trace, "metrics", own.name);
        metric_update(c->trace, &own, labels ? labels->node : NODE_NONE, value.node,
                      labels ? result_of(c, value).mask : NODE_NONE,
                      weights ? weights->node : NODE_NONE);
        c->trace->graph.source = source;
        return SY_OK;
    }
    api_invalid(c, &e);
    return sy_context_status(c);
}

sy_status sy_metric_result(const sy_metric *m, double *out)
{
    float *state[METRIC_STATES_MAX] = {NULL};
    sy_status status = SY_OK;

    if (API_GIVEN(m, out) || api_handle_check(m->strategy, API_STRATEGY))
        return SY_ERROR;
    for (int i = 0; i < m->m.variable_count && status == SY_OK; i++) {
        int number = m->m.variable[i];
        size_t bytes = (size_t)shape_elems(&m->strategy->set.variable[number].shape) * 4;

        state[i] = mem_alloc(bytes);
        status = sy_variable_read(api_variable(m->strategy, number), state[i], bytes);
    }
    if (status == SY_OK)
        *out = metric_result(&m->m, &m->strategy->set, (const float *const *)state);
    for (int i = 0; i < m->m.variable_count; i++)
        mem_free(state[i]);
    return status;
}

sy_status sy_metric_reset(sy_metric *m)
{
    struct err e;

    if (API_GIVEN(m) || api_handle_check(m->strategy, API_STRATEGY))
        return SY_ERROR;
    for (int i = 0; i < m->m.variable_count; i++)
        if (strategy_reset(m->strategy->strategy, m->m.variable[i], &e))
            return api_fail(&e);
    return SY_OK;
}

/* ----- optimizers */

static int list_variables(sy_strategy *s, sy_variable *const *of, int count, int *number,
                          struct err *e)
{
    for (int i = 0; i < count; i++) {
        const struct variable *v;

        if (!of[i] || of[i]->strategy != s)
            return err_set(e, "variable %d of an optimizer is %s", i,
                           of[i] ? "of another strategy" : "NULL");
        number[i] = of[i]->number;
        v = &s->set.variable[number[i]];
        if (!v->is_trainable || v->sync != SYNC_ON_WRITE || v->shape.dtype != DTYPE_F32)
            return err_set(e, "variable %s is not trained: an optimizer takes f32 variables that "
                           "are no state and alike on all replicas", v->name);
        for (int k = 0; k < i; k++)
            if (number[k] == number[i])
                return err_set(e, "variable %s is given to an optimizer twice", v->name);
    }
    return 0;
}

static int build_optimizer(sy_strategy *s, const char *text, const char *name,
                           sy_variable *const *of, int count, sy_optimizer *o, struct err *e)
{
    int *number = arena_array(&s->arena, (size_t)count + 1, sizeof(*number));
    int before = s->set.count;

    o->strategy = s;
    if (optimizer_parse(&o->o, text, &s->arena, e) || list_variables(s, of, count, number, e))
        return -1;
    if (name && *name)
        o->o.scope = arena_printf(&s->arena, "%s/", name);
    if (optimizer_build(&o->o, &s->set, number, count, e) == 0)
        return 0;
    s->set.count = before;              /* none of its variables has a place yet */
    return -1;
}

sy_status sy_optimizer_create(sy_strategy *s, const char *optimizer, const char *name,
                              sy_variable *const *of, int count, sy_optimizer **out)
{
    sy_optimizer *o;
    struct err e;

    if (api_handle_check(s, API_STRATEGY) || API_GIVEN(optimizer, of, out))
        return SY_ERROR;
    if (count < 1)
        return api_fail_text("an optimizer of %d variables; at least 1 is needed", count);
    o = arena_alloc(&s->arena, sizeof(*o));
    if (build_optimizer(s, optimizer, name, of, count, o, &e))
        return api_fail(&e);
    *out = o;
    return SY_OK;
}

static int check_gradients(sy_context *c, const sy_optimizer *o, const sy_tensor *gradient,
                           int count, struct err *e)
{
    char is[96], must[96];

    if (o->strategy != c->strategy)
        return err_set(e, "the optimizer is of another strategy");
    if (count != o->o.count)
        return err_set(e, "%d gradients for an optimizer of %d variables", count, o->o.count);
    for (int i = 0; i < count; i++) {
        const struct variable *v = &o->o.set->variable[o->o.of[i].variable];
        const struct shape *s = api_shape_of(c, gradient[i]);

        if (!graph_dtype_is_float(s->dtype) || !shape_same_dims(s, &v->shape))
            return err_set(e, "variable %s is %s; its gradient is %s", v->name,
                           shape_print(&v->shape, must, sizeof(must)),
                           shape_print(s, is, sizeof(is)));
    }
    return 0;
}

sy_status sy_optimizer_apply(sy_context *c, sy_optimizer *o, const sy_tensor *gradient, int count)
{
    struct err e;
    int *node;

    if (api_lacks(c, API_GIVEN(c, o, gradient)))
        return SY_ERROR;
    if (!api_are_valid(c, gradient, count))
        return sy_context_status(c);
    if (check_gradients(c, o, gradient, count, &e)) {
        api_invalid(c, &e);
        return sy_context_status(c);
    }
    node = arena_array(c->trace->arena, (size_t)count, sizeof(*node));
    for (int i = 0; i < count; i++)
        node[i] = gradient[i].node;
    sharded_update_apply(c->trace, &o->o, node);
    return sy_context_status(c);
}

sy_status sy_optimizer_minimize(sy_context *c, sy_optimizer *o, sy_tensor loss)
{
    sy_tensor *value, *gradient;
    struct err e;

    if (api_lacks(c, API_GIVEN(c, o)))
        return SY_ERROR;
    if (!api_are_valid(c, &loss, 1))
        return sy_context_status(c);
    if (o->strategy != c->strategy) {
        err_set(&e, "the optimizer is of another strategy");
        api_invalid(c, &e);
        return sy_context_status(c);
    }
    value = arena_array(c->trace->arena, (size_t)o->o.count, sizeof(*value));
    gradient = arena_array(c->trace->arena, (size_t)o->o.count, sizeof(*gradient));
    for (int i = 0; i < o->o.count; i++)
        value[i].node = trace_read(c->trace, o->o.of[i].variable);
    loss.node = optimizer_scale_loss(c->trace, &o->o, loss.node);
    if (sy_gradients(c, loss, value, o->o.count, gradient) != SY_OK)
        return SY_ERROR;
    return sy_optimizer_apply(c, o, gradient, o->o.count);
}

sy_status sy_optimizer_set_learning_rate(sy_optimizer *o, double rate)
{
    float value = (float)rate;

    if (API_GIVEN(o) || api_handle_check(o->strategy, API_STRATEGY))
        return SY_ERROR;
    if (o->o.learning_rate < 0)
        return api_fail_text("the learning rate comes from the schedule; it cannot be set");
    if (!(rate >= 0 && rate <= 3.0e38))
        return api_fail_text("a learning rate of %g; it must be 0 or more", rate);
    return sy_variable_write(api_variable(o->strategy, o->o.learning_rate), &value, sizeof(value));
}
