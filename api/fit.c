/* fit, evaluate, predict. */
#include "api/model.h"

#include <inttypes.h>
#include <string.h>

#include "train/callbacks.h"
#include "train/fit_checkpoint.h"

#define CALLBACKS_MAX 6

/* ----- samples */

static sy_status must_be_compiled(const sy_model *m)
{
    return m->fit ? SY_OK : api_fail_text("model %s is not compiled: call sy_model_compile first",
                                          m->model.name);
}

static int open_samples(const sy_model *m, const sy_samples *s, const sy_fit *o,
                        struct batches *b, struct arena *a, struct err *e)
{
    int inputs = m->model.input_count;
    const void **tensor = arena_array(a, (size_t)inputs + 1, sizeof(*tensor));
    int64_t *elems = arena_array(a, (size_t)inputs + 1, sizeof(*elems));
    struct shape label = loss_label_shape(
        &m->loss, &m->model.node[m->model.output[0]].shape);

    if (s->count < 1)
        return err_set(e, "%" PRId64 " samples; there must be at least 1", s->count);
    for (int i = 0; i < inputs; i++) {
        tensor[i] = s->input[i];
        elems[i] = shape_elems(&m->model.node[m->model.input[i]].shape);
    }
    tensor[inputs] = s->label;
    elems[inputs] = shape_elems(&label);
    for (int i = 0; i <= inputs; i++)
        if (!tensor[i])
            return err_set(e, "samples: %s is NULL", i < inputs ? "an input" : "label");
    batches_of_arrays(b, tensor, elems, inputs + 1, s->count, false, o && !o->no_shuffle,
                      o ? o->seed : 0, a);
    return 0;
}

/* ----- what the user is told */

struct told {
    sy_model *model;
    const sy_fit *options;
};

static sy_result result_of(const sy_model *m, const struct fit_log *l)
{
    return (sy_result){.epoch = l->epoch, .step = l->step, .steps = l->steps,
                    .samples = l->samples, .loss = l->loss, .metric_count = m->metric_count,
                    .metric = l->metric, .has_validation = l->has_validation,
                    .validation_loss = l->validation_loss,
                    .validation_metric = l->validation_metric,
                    .learning_rate = l->learning_rate, .cycles = l->cycles};
}

static int tell(sy_status (*function)(void *, sy_model *, const sy_result *), const struct told *t,
                const struct fit_log *log, struct err *e)
{
    sy_result l = result_of(t->model, log);
    sy_status status = function(t->options->user, t->model, &l);

    if (status == SY_ERROR)
        return err_set(e, "%s", *sy_message() ? sy_message() : "a callback returned an error");
    return status == SY_END;
}

static int tell_step(void *context, struct fit *f, const struct fit_log *log, struct err *e)
{
    const struct told *t = context;

    (void)f;
    return tell(t->options->on_step, t, log, e);
}

static int tell_epoch(void *context, struct fit *f, const struct fit_log *log, struct err *e)
{
    const struct told *t = context;

    (void)f;
    return tell(t->options->on_epoch, t, log, e);
}

static void print_metrics(const sy_model *m, const double *value, const char *prefix)
{
    for (int i = 0; i < m->metric_count && value; i++)
        printf("  %s%s %.4f", prefix, m->metric[i].name, value[i]);
}

static int print_epoch(void *context, struct fit *f, const struct fit_log *log, struct err *e)
{
    const struct told *t = context;

    (void)f;
    (void)e;
    printf("epoch %" PRId64 "  %" PRId64 " steps  loss %.4f", log->epoch, log->steps, log->loss);
    print_metrics(t->model, log->metric, "");
    if (log->has_validation) {
        printf("  val_loss %.4f", log->validation_loss);
        print_metrics(t->model, log->validation_metric, "val_");
    }
    if (log->cycles)
        printf("  %" PRId64 " cycles per step", (int64_t)log->cycles);
    printf("\n");
    fflush(stdout);
    return 0;
}

static double scheduled(void *context, int64_t epoch, double rate)
{
    const struct told *t = context;

    return t->options->schedule(t->options->user, epoch, rate);
}

/* how many there are, or -1 */
static int list_callbacks(struct told *t, struct fit_callback *c, struct arena *a, struct err *e)
{
    const sy_fit *o = t->options;
    int count = 0;

    if (o->on_step || o->on_epoch)
        c[count++] = (struct fit_callback){.step = o->on_step ? tell_step : NULL,
                                           .epoch = o->on_epoch ? tell_epoch : NULL,
                                           .context = t};
    if (!o->quiet)
        c[count++] = (struct fit_callback){.epoch = print_epoch, .context = t};
    if (o->schedule)
        callback_schedule(&c[count++], scheduled, t, a);
    if (o->early_stopping)
        callback_early_stopping(&c[count++],
                                &(struct early_stopping){.monitor = o->early_stopping,
                                                         .patience = o->patience}, a);
    if (o->checkpoint_folder)
        callback_checkpoint(&c[count++],
                            &(struct checkpoint_options){.folder = o->checkpoint_folder,
                                                         .keep = o->checkpoint_keep}, a);
    if (o->csv_log && callback_csv(&c[count++], o->csv_log, false, a, e))
        return -1;
    return count;
}

/* ----- */

static int train(sy_model *m, const sy_samples *samples, const sy_fit *o, struct arena *a,
                 struct err *e)
{
    struct fit_callback callback[CALLBACKS_MAX];
    struct batches data = {0}, validation = {0};
    struct told t = {m, o};
    struct fit_run run = {
        .train = &data, .validation = o->validation ? &validation : NULL,
        .epochs = o->epochs ? o->epochs : 1, .initial_epoch = o->initial_epoch,
        .steps_per_epoch = o->steps_per_epoch, .callback = callback};
    int status;

    if (open_samples(m, samples, o, &data, a, e) ||
        (o->validation && open_samples(m, o->validation, NULL, &validation, a, e)))
        return -1;
    run.callback_count = list_callbacks(&t, callback, a, e);
    status = run.callback_count < 0 ? -1 : fit_train(m->fit, &run, e);
    batches_close(&data);
    if (o->validation)
        batches_close(&validation);
    return status;
}

sy_status sy_model_fit(sy_model *m, const sy_samples *samples, const sy_fit *o)
{
    static const sy_fit standard;
    struct arena a;
    struct err e;
    int status;

    if (must_be_compiled(m))
        return SY_ERROR;
    arena_init(&a);
    status = train(m, samples, o ? o : &standard, &a, &e);
    arena_fini(&a);
    return status ? api_fail(&e) : SY_OK;
}

sy_status sy_model_evaluate(sy_model *m, const sy_samples *data, sy_result *out)
{
    struct batches b = {0};
    struct fit_log l;
    struct arena a;
    struct err e;
    int status;

    if (must_be_compiled(m))
        return SY_ERROR;
    arena_init(&a);
    status = open_samples(m, data, NULL, &b, &a, &e);
    if (!status) {
        status = fit_evaluate(m->fit, &b, 0, &l, &e);
        batches_close(&b);
    }
    arena_fini(&a);
    if (status)
        return api_fail(&e);
    *out = result_of(m, &l);
    return SY_OK;
}

sy_status sy_model_predict(sy_model *m, const sy_samples *data, sy_array **out)
{
    struct shape s;
    struct err e;

    if (must_be_compiled(m))
        return SY_ERROR;
    if (data->count < 1)
        return api_fail_text("%" PRId64 " samples; there must be at least 1", data->count);
    s = m->model.node[m->model.output[0]].shape;
    memmove(s.dim + 1, s.dim, (size_t)s.rank * sizeof(*s.dim));
    s.dim[0] = data->count;
    s.rank++;
    s.dtype = DTYPE_F32;
    *out = api_array(&s);
    if (fit_predict(m->fit, data->input, data->count, sy_array_data(*out), &e) == 0)
        return SY_OK;
    sy_array_free(*out);
    *out = NULL;
    return api_fail(&e);
}

sy_status sy_model_set_learning_rate(sy_model *m, double rate)
{
    struct err e;

    if (must_be_compiled(m))
        return SY_ERROR;
    return fit_set_learning_rate(m->fit, rate, &e) ? api_fail(&e) : SY_OK;
}

sy_status sy_model_save(sy_model *m, const char *folder, int64_t epoch, int keep)
{
    struct err e;

    if (must_be_compiled(m))
        return SY_ERROR;
    if (epoch < 0 || keep < 0)
        return api_fail_text("checkpoint after %" PRId64 " epochs, keeping %d", epoch, keep);
    return fit_save(m->fit, folder, epoch, keep, &e) ? api_fail(&e) : SY_OK;
}

sy_status sy_model_restore(sy_model *m, const char *folder, int64_t *epoch)
{
    struct err skipped, e;
    int status;

    if (must_be_compiled(m))
        return SY_ERROR;
    status = fit_restore(m->fit, folder, epoch, &skipped, &e);
    return status < 0 ? api_fail(&e) : status ? SY_OK : SY_END;
}
