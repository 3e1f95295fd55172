/* Reads Keras's callbacks from Python calls, by a table of their classes and arguments. */
#include "train/fit/callbacks_from_text.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "keras/call/call.h"
#include "train/fit/fit_checkpoint.h"

/* arguments of one callback, by Keras's names and in its order */
struct reader {
    json_t *call, *config;
    const char *class;
    struct arena *arena;
    struct err *e;
};

typedef int maker(struct reader *r, struct callback_list *list);

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

/* a number or None, which is NAN */
static int number_or_none(struct reader *r, const char *name, double *out)
{
    json_t *v = json_object_get(r->config, name);

    *out = json_is_number(v) ? json_number_value(v) : NAN;
    if (v && !json_is_number(v) && !json_is_null(v))
        return err_set(r->e, "%s: %s is to be a number or None", r->class, name);
    return 0;
}

/* 0 or 1: is a line printed when it acts? */
static int verbose(struct reader *r, bool *out)
{
    int64_t level;
    int status = count(r, "verbose", 0, &level);

    *out = level > 0;
    return status;
}

/* what Keras has beside this and nothing here does; off it is taken */
static int must_be_off(struct reader *r, const char *name)
{
    json_t *v = json_object_get(r->config, name);

    if (!v || json_is_false(v) || json_is_null(v) || (json_is_integer(v) && !json_integer_value(v)))
        return 0;
    return err_set(r->e, "%s: %s is not supported; leave it out", r->class, name);
}

static int early_stopping(struct reader *r, struct callback_list *list)
{
    struct early_stopping o;

    if (text(r, "monitor", "val_loss", &o.monitor) || real(r, "min_delta", 0, &o.min_delta) ||
        count(r, "patience", 0, &o.patience) || mode(r, &o.mode) ||
        flag(r, "restore_best_weights", &o.restores_best) || verbose(r, &o.is_verbose) ||
        number_or_none(r, "baseline", &o.baseline) ||
        count(r, "start_from_epoch", 0, &o.start_from_epoch))
        return -1;
    o.has_baseline = !isnan(o.baseline);
    callback_early_stopping(&list->callback[list->count++], &o, r->arena);
    return 0;
}

static int reduce_on_plateau(struct reader *r, struct callback_list *list)
{
    struct reduce_on_plateau o;

    if (text(r, "monitor", "val_loss", &o.monitor) || real(r, "factor", 0.1, &o.factor) ||
        count(r, "patience", 10, &o.patience) || mode(r, &o.mode) ||
        real(r, "min_delta", 1e-4, &o.min_delta) || count(r, "cooldown", 0, &o.cooldown) ||
        real(r, "min_lr", 0, &o.min_rate) || verbose(r, &o.is_verbose))
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

static int checkpoint(struct reader *r, struct callback_list *list)
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

static int csv_logger(struct reader *r, struct callback_list *list)
{
    const char *path, *separator;
    bool appends;

    if (text(r, "filename", NULL, &path) || flag(r, "append", &appends) ||
        text(r, "separator", ",", &separator))
        return -1;
    if (strlen(separator) != 1 || strchr("\"\n.-+0123456789eE", *separator))
        return err_set(r->e, "%s: separator is \"%s\"; it is one character that is in no number",
                       r->class, separator);
    return callback_csv_by(&list->callback[list->count++], path, *separator, appends, r->arena,
                           r->e);
}

static int learning_rate_scheduler(struct reader *r, struct callback_list *list)
{
    const char *schedule;
    bool is_verbose;

    if (text(r, "schedule", NULL, &schedule) || verbose(r, &is_verbose))
        return -1;
    return callback_rate_text(&list->callback[list->count++], schedule, is_verbose, r->arena, r->e);
}

static int tensorboard(struct reader *r, struct callback_list *list)
{
    static const char *const off[] = {"histogram_freq", "write_graph", "write_images",
                                      "profile_batch", "embeddings_freq", "embeddings_metadata"};
    struct tensorboard_options o = {0};
    const json_t *often = json_object_get(r->config, "update_freq");
    const char *word = json_string_value(often);

    for (size_t i = 0; i < COUNT_OF(off); i++)
        if (must_be_off(r, off[i]))
            return -1;
    if (text(r, "log_dir", "logs", &o.folder) ||
        flag(r, "write_steps_per_second", &o.writes_speed))
        return -1;
    o.update_steps = json_is_integer(often) ? json_integer_value(often)
                     : word && strcmp(word, "batch") == 0 ? 1 : 0;
    if (often && !(word && (o.update_steps || strcmp(word, "epoch") == 0)) &&
        !(json_is_integer(often) && o.update_steps > 0))
        return err_set(r->e, "%s: update_freq is 'epoch', 'batch' or a whole number of steps",
                       r->class);
    return callback_tensorboard(&list->callback[list->count++], &o, r->arena, r->e);
}

static int backup_and_restore(struct reader *r, struct callback_list *list)
{
    struct backup_options o = {.deletes = true};
    const char *often;
    bool is_double;

    if (text(r, "backup_dir", NULL, &o.folder) || text(r, "save_freq", "epoch", &often) ||
        flag(r, "double_checkpoint", &is_double) ||
        (json_object_get(r->config, "delete_checkpoint") &&
         flag(r, "delete_checkpoint", &o.deletes)))
        return -1;
    if (strcmp(often, "epoch") != 0)
        return err_set(r->e, "%s: save_freq is \"%s\"; it must be 'epoch'", r->class, often);
    o.keep = is_double ? 2 : 1;
    callback_backup(&list->callback[list->count++], &o, r->arena);
    return 0;
}

static int terminate_on_nan(struct reader *r, struct callback_list *list)
{
    bool raises;
    int status = flag(r, "raise_error", &raises);

    list->ends_on_nan |= !raises;       /* else it is the error that it is without a callback */
    return status;
}

#define ARGUMENTS_MAX 12
static const struct {
    const char *class;
    const char *argument[ARGUMENTS_MAX];
    maker *make;
} classes[] = {
    {"EarlyStopping", {"monitor", "min_delta", "patience", "verbose", "mode", "baseline",
                       "restore_best_weights", "start_from_epoch"}, early_stopping},
    {"ReduceLROnPlateau", {"monitor", "factor", "patience", "verbose", "mode", "min_delta",
                           "cooldown", "min_lr"}, reduce_on_plateau},
    {"ModelCheckpoint", {"filepath", "monitor", "save_best_only", "mode",
                         "save_freq", "keep", "overwrite"}, checkpoint},
    {"CSVLogger", {"filename", "separator", "append"}, csv_logger},
    {"TerminateOnNaN", {"raise_error"}, terminate_on_nan},
    {"LearningRateScheduler", {"schedule", "verbose"}, learning_rate_scheduler},
    {"TensorBoard", {"log_dir", "histogram_freq", "write_graph", "write_images",
                     "write_steps_per_second", "update_freq", "profile_batch", "embeddings_freq",
                     "embeddings_metadata"}, tensorboard},
    {"BackupAndRestore", {"backup_dir", "save_freq", "double_checkpoint", "delete_checkpoint"},
     backup_and_restore},
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

static int make_callback(struct reader *r, struct callback_list *list)
{
    char near[TEXT_NEAR_BYTES];
    int i = text_find(r->class, &classes[0].class, sizeof(*classes), COUNT_OF(classes), near);

    if (i < 0)
        return err_set(r->e, "callback \"%s\" is none of EarlyStopping, ReduceLROnPlateau, "
                       "ModelCheckpoint, CSVLogger, TerminateOnNaN, LearningRateScheduler, "
                       "TensorBoard, BackupAndRestore%s", r->class, near);
    return call_name_args(r->call, classes[i].argument, r->e) ||
           check_names(r, classes[i].argument) ? -1 : classes[i].make(r, list);
}

int callback_from_text(struct callback_list *list, const char *text, struct arena *a,
                       struct err *e)
{
    struct reader r = {.arena = a, .e = e};
    int status;

    if (call_parse(text, &r.call, e))
        return -1;
    r.config = json_object_get(r.call, "config");
    r.class = json_string_value(json_object_get(r.call, "class_name"));
    status = make_callback(&r, list);
    json_decref(r.call);
    return status;
}
