/* Adapts the user's functions and what fields of sy_fit ask for to the callbacks of fit. */
#include <inttypes.h>

#include "api/model.h"
#include "base/progress.h"
#include "base/text.h"
#include "train/fit/callbacks_from_text.h"
#include "train/fit/fit_checkpoint.h"

sy_result api_result(const sy_model *m, const struct fit_log *l)
{
    return (sy_result){.epoch = l->epoch, .step = l->step, .steps = l->steps,
                       .samples = l->samples, .loss = l->loss, .metric_count = m->metric_count,
                       .metric = l->metric, .has_validation = l->has_validation,
                       .validation_loss = l->validation_loss,
                       .validation_metric = l->validation_metric,
                       .learning_rate = l->learning_rate, .cycles = l->cycles,
                       .wall_us = l->wall_us};
}

/* ----- the user's functions */

struct told {
    sy_model *model;
    sy_callback functions;
};

static int answer(sy_status status, struct err *e)
{
    if (status == SY_ERROR)
        return err_set(e, "%s", *sy_message() ? sy_message() : "a callback returned an error");
    return status == SY_END;
}

static int tell_begin(void *context, struct fit *f, struct err *e)
{
    const struct told *t = context;

    (void)f;
    return answer(t->functions.train_begin(t->functions.user, t->model), e);
}

static int tell_epoch_begin(void *context, struct fit *f, int64_t epoch, struct err *e)
{
    const struct told *t = context;

    (void)f;
    return answer(t->functions.epoch_begin(t->functions.user, t->model, epoch), e);
}

static int tell_step_begin(void *context, struct fit *f, const struct fit_log *log, struct err *e)
{
    const struct told *t = context;

    (void)f;
    return answer(t->functions.step_begin(t->functions.user, t->model, log->step), e);
}

static int tell_step(void *context, struct fit *f, const struct fit_log *log, struct err *e)
{
    const struct told *t = context;
    sy_result r = api_result(t->model, log);

    (void)f;
    return answer(t->functions.step_end(t->functions.user, t->model, &r), e);
}

static int tell_epoch(void *context, struct fit *f, const struct fit_log *log, struct err *e)
{
    const struct told *t = context;
    sy_result r = api_result(t->model, log);

    (void)f;
    return answer(t->functions.epoch_end(t->functions.user, t->model, &r), e);
}

static int tell_end(void *context, struct fit *f, struct err *e)
{
    const struct told *t = context;

    (void)f;
    return answer(t->functions.train_end(t->functions.user, t->model), e);
}

static struct fit_callback tell_user(sy_model *m, const sy_callback *c, struct arena *a)
{
    struct told *t = arena_alloc(a, sizeof(*t));

    *t = (struct told){m, *c};
    return (struct fit_callback){
        .begin = c->train_begin ? tell_begin : NULL,
        .epoch_begin = c->epoch_begin ? tell_epoch_begin : NULL,
        .step_begin = c->step_begin ? tell_step_begin : NULL,
        .step = c->step_end ? tell_step : NULL, .epoch = c->epoch_end ? tell_epoch : NULL,
        .end = c->train_end ? tell_end : NULL, .context = t};
}

/* ----- a line per epoch */

static void print_metrics(const sy_model *m, const double *value, const char *prefix)
{
    for (int i = 0; i < m->metric_count && value; i++)
        text_print_file(stdout, "  %s%s %.4f", prefix, m->metric[i].name, value[i]);
}

static int print_epoch(void *context, struct fit *f, const struct fit_log *log, struct err *e)
{
    const sy_model *m = context;

    (void)f;
    (void)e;
    text_print_file(stdout, "epoch %" PRId64 "  %" PRId64 " steps  loss %.4f", log->epoch,
                    log->steps, log->loss);
    print_metrics(m, log->metric, "");
    if (log->has_validation) {
        text_print_file(stdout, "  val_loss %.4f", log->validation_loss);
        print_metrics(m, log->validation_metric, "val_");
    }
    if (log->cycles)
        printf("  %" PRId64 " cycles per step", (int64_t)log->cycles);
    printf("\n");
    fflush(stdout);
    return 0;
}

/* ----- how far it is, on standard error */

struct shown {
    struct progress progress;
    int64_t left;                       /* epochs to come, of so many steps each */
    int64_t steps_per_epoch;            /* 0: not known */
};

static int show_begin(void *context, struct fit *f, struct err *e)
{
    struct shown *s = context;
    int64_t total = s->steps_per_epoch * s->left;

    (void)e;
    progress_begin(&s->progress, total ? fit_step(f) + total : 0);
    s->progress.first = fit_step(f);
    return 0;
}

static int show_step(void *context, struct fit *f, const struct fit_log *log, struct err *e)
{
    struct shown *s = context;

    (void)f;
    (void)e;
    progress_show(&s->progress, log->step, (int)log->epoch, log->loss);
    return 0;
}

static int show_epoch(void *context, struct fit *f, const struct fit_log *log, struct err *e)
{
    struct shown *s = context;

    (void)f;
    (void)log;
    (void)e;
    progress_wipe(&s->progress);
    return 0;
}

static struct fit_callback show(const sy_fit *o, int64_t steps_per_epoch, struct arena *a)
{
    struct shown *s = arena_alloc(a, sizeof(*s));

    s->left = (o->epochs ? o->epochs : 1) - o->initial_epoch;
    s->steps_per_epoch = steps_per_epoch;
    return (struct fit_callback){.begin = show_begin, .step = show_step, .epoch = show_epoch,
                                 .context = s};
}

/* ----- the schedule */

struct scheduled {
    double (*schedule)(void *user, int64_t epoch, double rate);
    void *user;
};

static double schedule(void *context, int64_t epoch, double rate)
{
    const struct scheduled *s = context;

    return s->schedule(s->user, epoch, rate);
}

/* ----- all of them */

static void add_fields(sy_model *m, const sy_fit *o, int64_t steps_per_epoch,
                       struct callback_list *list, struct arena *a)
{
    if (o->on_step || o->on_epoch)
        list->callback[list->count++] = tell_user(m, &(sy_callback){
            .step_end = o->on_step, .epoch_end = o->on_epoch, .user = o->user}, a);
    if (!o->quiet) {
        list->callback[list->count++] = show(o, steps_per_epoch, a);
        list->callback[list->count++] = (struct fit_callback){.epoch = print_epoch, .context = m};
    }
    if (o->schedule) {
        struct scheduled *s = arena_alloc(a, sizeof(*s));

        *s = (struct scheduled){o->schedule, o->user};
        callback_schedule(&list->callback[list->count++], schedule, s, a);
    }
    if (o->early_stopping)
        callback_early_stopping(&list->callback[list->count++],
                                &(struct early_stopping){.monitor = o->early_stopping,
                                                         .patience = o->patience}, a);
    if (o->checkpoint_folder)
        callback_checkpoint(&list->callback[list->count++], &(struct checkpoint_options){
            .folder = o->checkpoint_folder, .keep = o->checkpoint_keep,
            .steps = o->checkpoint_steps, .overwrites = o->checkpoint_overwrite,
            .advice = "; sy_model_restore goes on from them, checkpoint_overwrite removes them"},
            a);
}

#define FIELDS_MAX 7                    /* callbacks that fields of sy_fit ask for */

int api_callbacks_of(sy_model *m, const sy_fit *o, int64_t steps_per_epoch,
                     struct callback_list *list, struct arena *a, struct err *e)
{
    size_t written = 0;

    while (o->callbacks && o->callbacks[written])
        written++;
    if (o->callback_count < 0 || o->callback_count > 1000 ||
        (o->callback_count && !o->callback))
        return err_set(e, "%d callbacks%s; allowed are 0..1000", o->callback_count,
                       o->callback ? "" : " at NULL");
    *list = (struct callback_list){.callback = arena_array(
        a, written + (size_t)o->callback_count + FIELDS_MAX, sizeof(*list->callback))};
    add_fields(m, o, steps_per_epoch, list, a);
    for (int i = 0; i < o->callback_count; i++)
        list->callback[list->count++] = tell_user(m, &o->callback[i], a);
    for (size_t i = 0; i < written; i++)
        if (callback_from_text(list, o->callbacks[i], a, e))
            return -1;
    return o->csv_log ? callback_csv(&list->callback[list->count++], o->csv_log, false, a, e) : 0;
}
