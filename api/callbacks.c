/* Adapts the user's functions and Keras's callbacks, given as text, to the callbacks of fit. */
#include <float.h>
#include <inttypes.h>
#include <string.h>

#include "api/model.h"
#include "base/progress.h"
#include "base/text.h"
#include "base/units.h"
#include "keras/call/call.h"
#include "train/fit/callbacks.h"
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

/* ----- as Python writes them */

/* arguments of one callback, by Keras's names and in its order */
struct reader {
    json_t *call, *config;
    const char *class;
    struct arena *arena;
    struct err *e;
};

typedef int maker(struct reader *r, struct api_callback_list *list);

/* Each gives the argument, or the standard where it is absent; a wrong type sets r->e: -1. */
static int real(struct reader *r, const char *name, double standard, double *out)
{
    json_t *v = json_object_get(r->config, name);

    *out = json_is_number(v) ? json_number_value(v) : standard;
    if (v && !json_is_number(v))
        return err_set(r->e, "%s: %s is to be a number", r->class, name);
    return 0;
}

static int count(struct reader *r, const char *name, int64_t standard, int64_t *out)
{
    json_t *v = json_object_get(r->config, name);

    *out = json_is_integer(v) ? json_integer_value(v) : standard;
    if (v && (!json_is_integer(v) || *out < 0 || *out > INT32_MAX))
        return err_set(r->e, "%s: %s is to be a whole number from 0 up", r->class, name);
    return 0;
}

static int flag(struct reader *r, const char *name, bool *out)
{
    json_t *v = json_object_get(r->config, name);

    *out = json_is_true(v);
    if (v && !json_is_boolean(v))
        return err_set(r->e, "%s: %s is to be True or False", r->class, name);
    return 0;
}

static int text(struct reader *r, const char *name, const char *standard, const char **out)
{
    json_t *v = json_object_get(r->config, name);

    *out = json_is_string(v) ? arena_strdup(r->arena, json_string_value(v)) : standard;
    if (v && !json_is_string(v))
        return err_set(r->e, "%s: %s is to be text", r->class, name);
    return *out ? 0 : err_set(r->e, "%s: %s must be given", r->class, name);
}

static int mode(struct reader *r, enum monitor_mode *out)
{
    static const char *const names[] = {"auto", "min", "max"};
    const char *name;

    if (text(r, "mode", "auto", &name))
        return -1;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (enum monitor_mode)i;
            return 0;
        }
    return err_set(r->e, "%s: mode \"%s\" is none of auto, min, max", r->class, name);
}

static int early_stopping(struct reader *r, struct api_callback_list *list)
{
    struct early_stopping o;

    if (text(r, "monitor", "val_loss", &o.monitor) || real(r, "min_delta", 0, &o.min_delta) ||
        count(r, "patience", 0, &o.patience) || mode(r, &o.mode) ||
        flag(r, "restore_best_weights", &o.restores_best) ||
        count(r, "start_from_epoch", 0, &o.start_from_epoch))
        return -1;
    callback_early_stopping(&list->callback[list->count++], &o, r->arena);
    return 0;
}

static int reduce_on_plateau(struct reader *r, struct api_callback_list *list)
{
    struct reduce_on_plateau o;

    if (text(r, "monitor", "val_loss", &o.monitor) || real(r, "factor", 0.1, &o.factor) ||
        count(r, "patience", 10, &o.patience) || mode(r, &o.mode) ||
        real(r, "min_delta", 1e-4, &o.min_delta) || count(r, "cooldown", 0, &o.cooldown) ||
        real(r, "min_lr", 0, &o.min_rate))
        return -1;
    if (!(o.factor > 0 && o.factor < 1))
        return err_set(r->e, "%s: factor is %g, allowed are numbers between 0 and 1", r->class,
                       o.factor);
    o.patience += o.patience == 0;      /* of these two 0 is what is not said */
    o.min_delta += o.min_delta == 0 ? DBL_MIN : 0;
    callback_reduce_on_plateau(&list->callback[list->count++], &o, r->arena);
    return 0;
}

/* after each epoch, or after so many steps instead */
static int frequency(struct reader *r, struct checkpoint_options *o)
{
    const char *name;

    if (!json_is_integer(json_object_get(r->config, "save_freq"))) {
        if (text(r, "save_freq", "epoch", &name))
            return -1;
        return strcmp(name, "epoch") == 0 ? 0 : err_set(r->e, "%s: save_freq is '%s', allowed are "
                                                        "'epoch' and numbers of steps", r->class,
                                                        name);
    }
    if (count(r, "save_freq", 0, &o->steps))
        return -1;
    if (o->steps < 1 || o->best_only)
        return err_set(r->e, "%s: save_freq=%lld%s", r->class, (long long)o->steps,
                       o->best_only ? " with save_best_only, which looks at epochs"
                                    : "; at least 1 step is needed");
    o->frequency = -1;
    return 0;
}

static int checkpoint(struct reader *r, struct api_callback_list *list)
{
    struct checkpoint_options o = {0};
    enum monitor_mode how;
    int64_t keep;

    if (text(r, "filepath", NULL, &o.folder) || text(r, "monitor", "val_loss", &o.monitor) ||
        flag(r, "save_best_only", &o.best_only) || mode(r, &how) || count(r, "keep", 0, &keep) ||
        flag(r, "overwrite", &o.overwrites) || frequency(r, &o))
        return -1;
    o.keep = (int)keep;
    o.advice = "; sy_model_restore goes on from them, overwrite=True removes them";
    o.larger_is_better = how == MONITOR_MAX ||
                         (how == MONITOR_AUTO && callback_larger_is_better(o.monitor));
    callback_checkpoint(&list->callback[list->count++], &o, r->arena);
    return 0;
}

static int csv_logger(struct reader *r, struct api_callback_list *list)
{
    const char *path;
    bool appends;

    if (text(r, "filename", NULL, &path) || flag(r, "append", &appends))
        return -1;
    return callback_csv(&list->callback[list->count++], path, appends, r->arena, r->e);
}

static int terminate_on_nan(struct reader *r, struct api_callback_list *list)
{
    (void)r;
    list->ends_on_nan = true;
    return 0;
}

#define ARGUMENTS_MAX 8
static const struct {
    const char *class;
    const char *argument[ARGUMENTS_MAX];
    maker *make;
} classes[] = {
    {"EarlyStopping", {"monitor", "min_delta", "patience", "mode", "restore_best_weights",
                       "start_from_epoch"}, early_stopping},
    {"ReduceLROnPlateau", {"monitor", "factor", "patience", "mode", "min_delta", "cooldown",
                           "min_lr"}, reduce_on_plateau},
    {"ModelCheckpoint", {"filepath", "monitor", "save_best_only", "mode", "save_freq", "keep",
                         "overwrite"}, checkpoint},
    {"CSVLogger", {"filename", "append"}, csv_logger},
    {"TerminateOnNaN", {NULL}, terminate_on_nan},
};

/* every argument must be one of the class's */
static int check_names(const struct reader *r, const char *const *argument)
{
    size_t known = 0;
    const char *name;
    char near[TEXT_NEAR_BYTES];
    json_t *value;

    while (argument[known])
        known++;
    json_object_foreach(r->config, name, value)
        if (text_find(name, argument, sizeof(*argument), known, near) < 0)
            return err_set(r->e, "%s has no argument \"%s\"%s", r->class, name, near);
    return 0;
}

static int make_callback(struct reader *r, struct api_callback_list *list)
{
    char near[TEXT_NEAR_BYTES];
    int i = text_find(r->class, &classes[0].class, sizeof(*classes), COUNT_OF(classes), near);

    if (i < 0)
        return err_set(r->e, "callback \"%s\" is none of EarlyStopping, ReduceLROnPlateau, "
                       "ModelCheckpoint, CSVLogger, TerminateOnNaN%s", r->class, near);
    return call_name_args(r->call, classes[i].argument, r->e) ||
           check_names(r, classes[i].argument) ? -1 : classes[i].make(r, list);
}

static int read_callback(const char *written, struct api_callback_list *list, struct arena *a,
                         struct err *e)
{
    struct reader r = {.arena = a, .e = e};
    int status;

    if (call_parse(written, &r.call, e))
        return -1;
    r.config = json_object_get(r.call, "config");
    r.class = json_string_value(json_object_get(r.call, "class_name"));
    status = make_callback(&r, list);
    json_decref(r.call);
    return status;
}

/* ----- */

static void add_fields(sy_model *m, const sy_fit *o, int64_t steps_per_epoch,
                       struct api_callback_list *list, struct arena *a)
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
                     struct api_callback_list *list, struct arena *a, struct err *e)
{
    size_t written = 0;

    while (o->callbacks && o->callbacks[written])
        written++;
    if (o->callback_count < 0 || o->callback_count > 1000 ||
        (o->callback_count && !o->callback))
        return err_set(e, "%d callbacks%s; allowed are 0..1000", o->callback_count,
                       o->callback ? "" : " at NULL");
    *list = (struct api_callback_list){.callback = arena_array(
        a, written + (size_t)o->callback_count + FIELDS_MAX, sizeof(*list->callback))};
    add_fields(m, o, steps_per_epoch, list, a);
    for (int i = 0; i < o->callback_count; i++)
        list->callback[list->count++] = tell_user(m, &o->callback[i], a);
    for (size_t i = 0; i < written; i++)
        if (read_callback(o->callbacks[i], list, a, e))
            return -1;
    return o->csv_log ? callback_csv(&list->callback[list->count++], o->csv_log, false, a, e) : 0;
}
