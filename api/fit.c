/* Compiles a model for training, and fits, evaluates and predicts with it, for the API. */
#include "api/model.h"

#include <inttypes.h>

#include "train/fit/fit_checkpoint.h"

static int check_numbers(const sy_fit *o, struct err *e)
{
    const struct { const char *name; int64_t value; } numbers[] = {
        {"epochs", o->epochs}, {"initial_epoch", o->initial_epoch},
        {"steps_per_epoch", o->steps_per_epoch}, {"validation_steps", o->validation_steps},
        {"validation_frequency", o->validation_frequency}, {"patience", o->patience},
        {"checkpoint_keep", o->checkpoint_keep}, {"checkpoint_steps", o->checkpoint_steps},
    };

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (numbers[i].value < 0)
            return err_set(e, "%s is %" PRId64 "; it must be 0 or more", numbers[i].name,
                           numbers[i].value);
    return 0;
}

/* data of both are open */
static int train(sy_model *m, struct batches *data, struct batches *validation, const sy_fit *o,
                 struct arena *a, struct err *e)
{
    struct callback_list list;
    int64_t whole = data->samples / fit_options(m->fit)->batch, steps = o->steps_per_epoch;
    struct fit_run run = {
        .train = data, .validation = validation, .epochs = o->epochs ? o->epochs : 1,
        .initial_epoch = o->initial_epoch, .steps_per_epoch = o->steps_per_epoch,
        .validation_steps = o->validation_steps, .validation_frequency = o->validation_frequency};

    if (data->samples >= 0 && (steps == 0 || whole < steps))
        steps = whole;
    if (api_callbacks_of(m, o, steps, &list, a, e))
        return -1;
    run.callback = list.callback;
    run.callback_count = list.count;
    run.ends_on_nan = list.ends_on_nan;
    return fit_train(m->fit, &run, e);
}

static int open_and_train(sy_model *m, const sy_samples *samples, const sy_fit *o,
                          struct arena *a, struct err *e)
{
    struct batches data = {0}, validation = {0};
    int status;

    if (check_numbers(o, e) ||
        api_open_samples(m, samples, &(struct api_epoch){
            .is_shuffled = !o->no_shuffle, .seed = o->seed, .steps = o->steps_per_epoch,
            .steps_name = "steps_per_epoch", .is_training = true}, &data, a, e))
        return -1;
    status = o->validation
                 ? api_open_samples(m, o->validation, &(struct api_epoch){
                       .steps = o->validation_steps, .steps_name = "validation_steps"},
                       &validation, a, e)
                 : 0;
    if (!status)
        status = train(m, &data, o->validation ? &validation : NULL, o, a, e);
    batches_close(&data);
    batches_close(&validation);
    return status;
}

sy_status sy_model_fit(sy_model *m, const sy_samples *samples, const sy_fit *o)
{
    static const sy_fit standard;
    sy_status status;
    struct arena a;
    struct err e;

    if (API_GIVEN(samples))
        return SY_ERROR;
    if (api_model_compiled(m))
        return SY_ERROR;
    arena_init(&a);
    status = open_and_train(m, samples, o ? o : &standard, &a, &e) ? api_fail(&e) : SY_OK;
    arena_fini(&a);
    return status;
}

sy_status sy_model_evaluate(sy_model *m, const sy_samples *data, sy_result *out)
{
    struct batches b = {0};
    struct fit_log l;
    struct arena a;
    struct err e;
    int status;

    if (API_GIVEN(data, out))
        return SY_ERROR;
    if (api_model_compiled(m))
        return SY_ERROR;
    arena_init(&a);
    status = api_open_samples(m, data, &(struct api_epoch){.steps_name = "a count"}, &b, &a, &e);
    if (!status)
        status = fit_evaluate(m->fit, &b, 0, &l, &e);
    batches_close(&b);
    arena_fini(&a);
    if (status)
        return api_fail(&e);
    *out = api_result(m, &l);
    return SY_OK;
}

sy_status sy_model_predict(sy_model *m, const sy_samples *data, sy_array **out)
{
    struct err e;

    if (API_GIVEN(data, out))
        return SY_ERROR;
    if (api_model_compiled(m))
        return SY_ERROR;
    return api_predict(m, data, out, &e) ? api_fail(&e) : SY_OK;
}

sy_status sy_model_set_learning_rate(sy_model *m, double rate)
{
    struct err e;

    if (api_model_compiled(m))
        return SY_ERROR;
    return fit_set_learning_rate(m->fit, rate, &e) ? api_fail(&e) : SY_OK;
}

sy_status sy_model_save(sy_model *m, const char *folder, int64_t epoch, int keep)
{
    struct err e;

    if (api_model_compiled(m) || API_GIVEN(folder))
        return SY_ERROR;
    if (epoch < 0 || keep < 0)
        return api_fail_text("checkpoint after %" PRId64 " epochs, keeping %d", epoch, keep);
    return api_hold_folder(m->strategy, folder, &e) || fit_save(m->fit, folder, epoch, keep, &e)
               ? api_fail(&e) : SY_OK;
}

sy_status sy_model_restore(sy_model *m, const char *folder, int64_t *epoch)
{
    struct err skipped, e;
    int status;

    if (API_GIVEN(folder, epoch))
        return SY_ERROR;
    if (api_model_compiled(m))
        return SY_ERROR;
    status = fit_restore(m->fit, folder, epoch, &skipped, &e);
    return status < 0 ? api_fail(&e) : api_restored(status, &skipped);
}
