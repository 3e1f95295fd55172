/* Makes models for the API, layer by layer or from a file. */
#include "api/model.h"

#include <string.h>

static sy_model *new_model(sy_strategy *s)
{
    sy_model *m = mem_alloc(sizeof(*m));

    m->strategy = s;
    arena_init(&m->arena);
    return m;
}

static void free_model(sy_model *m)
{
    fit_destroy(m->fit);
    model_fini(&m->model);
    arena_fini(&m->arena);
    mem_free(m);
}

sy_status api_model_compiled(const sy_model *m)
{
    if (api_handle_check(m, API_MODEL) || api_handle_check(m->strategy, API_STRATEGY))
        return SY_ERROR;
    return m->fit ? SY_OK : api_fail_text("model %s is not compiled: call sy_model_compile first",
                                          m->model.name);
}

sy_status sy_model_create(sy_strategy *s, const char *name, sy_model **out)
{
    sy_model *m;

    if (API_GIVEN(out))
        return SY_ERROR;
    if (api_handle_check(s, API_STRATEGY))
        return SY_ERROR;
    if (!name || !*name)
        return api_fail_text("a model needs a name");
    m = new_model(s);
    model_init(&m->model, &m->arena, arena_strdup(&m->arena, name));
    api_handle_add(m, API_MODEL);
    *out = m;
    return SY_OK;
}

sy_status sy_model_load(sy_strategy *s, const char *path, sy_model **out)
{
    sy_model *m;
    struct err e;

    if (API_GIVEN(out))
        return SY_ERROR;
    if (api_handle_check(s, API_STRATEGY))
        return SY_ERROR;
    if (!path)
        return api_fail_text("the path of a model is NULL");
    m = new_model(s);
    if (model_from_json(&m->model, &m->arena, path, &e)) {
        free_model(m);
        return api_fail(&e);
    }
    api_handle_add(m, API_MODEL);
    *out = m;
    return SY_OK;
}

void sy_model_free(sy_model *m)
{
    if (m && api_handle_remove(m, API_MODEL))
        free_model(m);
}

static sy_status must_be_open(const sy_model *m)
{
    if (api_handle_check(m, API_MODEL) || api_handle_check(m->strategy, API_STRATEGY))
        return SY_ERROR;
    return m->model.set ? api_fail_text("model %s is %s: no layer can be added any more",
                                        m->model.name, m->fit ? "compiled" : "built")
                        : SY_OK;
}

static int add_input(sy_model *m, const char *name, const struct shape *sample)
{
    return model_input(&m->model, name, sample);
}

static int add_layer(sy_model *m, const char *text, struct err *e)
{
    struct shape input;
    struct layer *l = model_layer_from_text(&m->model, text, &input, e);

    if (!l)
        return -1;
    if (input.rank && m->model.node_count)
        return err_set(e, "%s: only the first layer says input_shape", text);
    if (input.rank)
        add_input(m, "input", &input);
    if (m->model.node_count == 0)
        return err_set(e, "%s: the first layer says input_shape=(...), or call sy_model_input "
                       "first", text);
    return model_add(&m->model, l, e);
}

sy_status sy_model_add(sy_model *m, const char *layer)
{
    struct model_mark mark;
    struct err e;

    if (must_be_open(m))
        return SY_ERROR;
    if (!layer)
        return api_fail_text("the text of a layer is NULL");
    mark = model_mark(&m->model);
    if (add_layer(m, layer, &e) >= 0)
        return SY_OK;
    model_take_back(&m->model, mark);
    return api_fail(&e);
}

sy_status sy_model_input(sy_model *m, const char *name, sy_dtype dtype, sy_shape sample,
                         sy_call *out)
{
    struct shape s;
    struct err e;
    int call;

    if (API_GIVEN(name))
        return SY_ERROR;
    if (must_be_open(m))
        return SY_ERROR;
    if (api_shape(dtype, &sample, &s, &e))
        return api_fail(&e);
    call = add_input(m, arena_strdup(&m->arena, name), &s);
    if (out)
        out->number = call;
    return SY_OK;
}

static sy_status check_calls(const sy_model *m, const sy_call *call, int count)
{
    for (int i = 0; i < count; i++)
        if (call[i].number < 0 || call[i].number >= m->model.node_count)
            return api_fail_text("call %d is not of model %s, which has %d", call[i].number,
                                 m->model.name, m->model.node_count);
    return SY_OK;
}

sy_status sy_model_call(sy_model *m, const char *layer, const sy_call *input, int count,
                        sy_call *out)
{
    struct model_mark mark;
    int number[LAYER_INPUTS_MAX], call;
    struct shape shape = {.rank = 0};
    struct layer *l;
    struct err e;

    if (API_GIVEN(input, out))
        return SY_ERROR;
    if (must_be_open(m))
        return SY_ERROR;
    if (!layer)
        return api_fail_text("the text of a layer is NULL");
    if (check_calls(m, input, count))
        return SY_ERROR;
    mark = model_mark(&m->model);
    if (count < 1 || count > LAYER_INPUTS_MAX)
        return api_fail_text("%s of %d inputs; allowed are 1..%d", layer, count,
                             LAYER_INPUTS_MAX);
    for (int i = 0; i < count; i++)
        number[i] = input[i].number;
    l = model_layer_from_text(&m->model, layer, &shape, &e);
    call = l ? model_call(&m->model, l, number, count, &e) : -1;
    if (call < 0) {
        model_take_back(&m->model, mark);
        return api_fail(&e);
    }
    out->number = call;
    return SY_OK;
}

sy_status sy_model_output(sy_model *m, sy_call call)
{
    if (must_be_open(m) || check_calls(m, &call, 1))
        return SY_ERROR;
    model_output(&m->model, call.number);
    return SY_OK;
}

int64_t sy_model_parameters(const sy_model *m, bool trainable_only)
{
    if (API_GIVEN(m))
        return 0;
    return model_parameter_count(&m->model, true) +
           (trainable_only ? 0 : model_parameter_count(&m->model, false));
}

/* ----- compile */

/* of the model's output and labels, which "accuracy" depends on */
static int read_metrics(sy_model *m, const sy_compile *o, struct err *e)
{
    const struct model *model = &m->model;
    int last = model->output_count ? model->output[0] : model_last_call(model);
    const struct shape *prediction = &model->node[last].shape;
    struct shape label = loss_label_shape(&m->loss, prediction);

    const char *const *lists[2] = {o->metrics, o->weighted_metrics};
    int count[2] = {0, 0};

    for (int k = 0; k < 2; k++)
        while (lists[k] && lists[k][count[k]])
            count[k]++;
    m->metric_count = count[0] + count[1];
    m->metric = arena_array(&m->arena, (size_t)m->metric_count + 1, sizeof(*m->metric));
    for (int i = 0; i < m->metric_count; i++) {
        bool is_weighted = i >= count[0];
        const char *text = is_weighted ? lists[1][i - count[0]] : lists[0][i];

        if (metric_from_text(&m->metric[i], text, &label, prediction, &m->arena, e))
            return -1;
        if (is_weighted)
            metric_set_weighted(m->metric, i, &m->arena);
    }
    return 0;
}

static int read_compile(sy_model *m, const sy_compile *o, struct err *e)
{
    enum keras_policy policy = m->model.policy;         /* of a file, else float32 */

    if (m->model.node_count == 0)
        return err_set(e, "model %s has no layers", m->model.name);
    if (!o->loss)
        return err_set(e, "model %s: say which loss, such as "
                       "\"SparseCategoricalCrossentropy(from_logits=True)\"", m->model.name);
    if ((o->policy && keras_policy_find(o->policy, &policy, e)) ||
        api_precision(o->precision, &m->model.precision, e) ||
        optimizer_parse(&m->optimizer, o->optimizer ? o->optimizer : "RMSprop", &m->arena,
                            e) ||
        loss_from_text(&m->loss, o->loss, &m->arena, e))
        return -1;
    m->model.policy = policy;
    return read_metrics(m, o, e);
}

static int compile(sy_model *m, const sy_compile *o, struct err *e)
{
    sy_strategy *s = m->strategy;
    struct fit_options options = {
        .model = &m->model, .optimizer = &m->optimizer, .on = s->strategy,
        .strategy = {.set = &s->set, .machine = s->cluster->cluster.machine},
        .batch = o->batch ? o->batch : 32 * (int64_t)sy_strategy_replicas(s),
        .steps_per_execution = o->steps_per_execution, .micro_batches = o->micro_batches,
        .shards_state = o->shard_optimizer_state, .checks_numerics = o->check_numerics,
        .class_weight = o->class_weight, .class_count = o->class_weight ? o->class_count : 0,
        .has_weights = o->sample_weights, .stages = s->stages, .stage_cuts = o->pipeline_cuts,
        .layer_devices = o->layer_devices, .layouts = o->layouts};

    if (s->has_compiled)
        return err_set(e, "the strategy already trains a model; make another strategy");
    if (read_compile(m, o, e))
        return -1;
    options.loss = m->loss;
    options.metric = m->metric;
    options.metric_count = m->metric_count;
    if (m->model.output_count == 0)
        model_output(&m->model, model_last_call(&m->model));
    m->has_weights = o->sample_weights;
    if (options.strategy.machine) {
        m->host = host_loop_standard(machine_chip(options.strategy.machine),
                                     s->cluster->cluster.slice.chip_count);
        options.host = &m->host;
    }
    s->has_compiled = true;             /* variables may be there now, whatever comes */
    m->fit = fit_create(&options, e);
    return m->fit ? 0 : -1;
}

sy_status sy_model_compile(sy_model *m, const sy_compile *o)
{
    struct err e;

    if (api_handle_check(m, API_MODEL) || api_handle_check(m->strategy, API_STRATEGY))
        return SY_ERROR;
    if (!o)
        return api_fail_text("model %s: how it is to be compiled is NULL", m->model.name);
    if (m->model.set)
        return api_fail_text("model %s is %s already", m->model.name,
                             m->fit ? "compiled" : "built");
    return compile(m, o, &e) ? api_fail(&e) : SY_OK;
}

/* what a model that could not be built has added is gone again */
static int build(sy_model *m, struct err *e)
{
    struct variable_set *set = &m->strategy->set;
    int before = set->count;

    if (model_build(&m->model, set, e) == 0)
        return 0;
    set->count = before;
    m->model.set = NULL;
    for (int i = 0; i < m->model.layer_count; i++)
        m->model.layer[i]->variable_count = 0;
    return -1;
}

sy_status sy_model_build(sy_model *m, const char *policy, const char *precision)
{
    enum keras_policy own;
    struct err e;

    if (must_be_open(m))
        return SY_ERROR;
    if (m->strategy->stages)
        return api_fail_text("model %s: a strategy in pipeline stages trains models that are "
                             "compiled, not steps of one's own", m->model.name);
    own = m->model.policy;
    if ((policy && keras_policy_find(policy, &own, &e)) ||
        api_precision(precision, &m->model.precision, &e) || build(m, &e))
        return api_fail(&e);
    m->model.policy = own;
    return SY_OK;
}

int sy_model_variables(const sy_model *m, bool trainable_only, sy_variable **out, int most)
{
    const struct model *model;
    int count = 0;

    if (api_handle_check(m, API_MODEL) || api_handle_check(m->strategy, API_STRATEGY))
        return 0;
    model = &m->model;
    for (int i = 0; i < model->variable_count; i++) {
        int number = model->first_variable + i;

        if (trainable_only && !model->set->variable[number].is_trainable)
            continue;
        if (out && count < most)
            out[count] = api_variable(m->strategy, number);
        count++;
    }
    return count;
}

const char *sy_model_metric_name(const sy_model *m, int metric)
{
    if (API_GIVEN(m))
        return NULL;
    return metric < 0 || metric >= m->metric_count ? NULL : m->metric[metric].name;
}
