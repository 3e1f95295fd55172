/* Early stopping, and learning rates that fall on a plateau or follow a schedule of the user's. */
#include "train/fit/callbacks.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"

/* ----- what is watched */

/* 0: the loss; from 1: metrics, in order; -1: it is none of them */
static int find_monitored(const struct fit_options *o, const char *name, struct err *e)
{
    const char *plain = strncmp(name, "val_", 4) == 0 ? name + 4 : name;
    const char *candidate[64] = {"loss"};
    struct near_text near;
    char list[160] = "loss";
    size_t count = 1;

    if (strcmp(plain, "loss") == 0)
        return 0;
    for (int i = 0; i < o->metric_count; i++) {
        if (strcmp(plain, o->metric[i].name) == 0)
            return i + 1;
        if (count < COUNT_OF(candidate))
            candidate[count++] = o->metric[i].name;
        snprintf(list + strlen(list), sizeof(list) - strlen(list), ", %s", o->metric[i].name);
    }
    near = text_did_you_mean(plain, candidate, count);
    if (*near.text)
        return err_set(e, "there is no \"%s\" to watch%s", name, near.text);
    return err_set(e, "there is no \"%s\" to watch; there are %s, and these with val_ in front", name,
                   list);
}

int callback_check_monitored(const struct fit *f, const char *name, struct err *e)
{
    return find_monitored(fit_options(f), name, e) < 0 ? -1 : 0;
}

int callback_monitored(const struct fit *f, const struct fit_log *log, const char *name,
                       double *value, struct err *e)
{
    bool is_validation = strncmp(name, "val_", 4) == 0;
    int which = find_monitored(fit_options(f), name, e);

    if (which < 0)
        return -1;
    if (is_validation && !log->has_validation)
        return err_set(e, "%s is to be watched, but epoch %" PRId64 " has no validation", name,
                       log->epoch);
    if (which == 0)
        *value = is_validation ? log->validation_loss : log->loss;
    else
        *value = is_validation ? log->validation_metric[which - 1] : log->metric[which - 1];
    return 0;
}

bool callback_larger_is_better(const char *monitor)
{
    return strstr(monitor, "acc") || strstr(monitor, "auc") || strstr(monitor, "precision") ||
           strstr(monitor, "recall") || strstr(monitor, "top_k") || strstr(monitor, "io_u");
}

/* the best so far, and epochs since */
struct watch {
    const char *monitor;
    double delta;
    bool is_larger_better;
    struct { double best; int64_t has_best, waited; } seen;     /* which checkpoints keep */
};

static void watch_init(struct watch *w, const char *monitor, enum monitor_mode mode, double delta)
{
    *w = (struct watch){.monitor = monitor ? monitor : "val_loss", .delta = fabs(delta)};
    w->is_larger_better = mode == MONITOR_AUTO ? callback_larger_is_better(w->monitor)
                                               : mode == MONITOR_MAX;
}

/* from `begin`; true: it goes on from a checkpoint's */
static bool watch_keep(struct watch *w, struct fit *f, const char *callback)
{
    char name[160];

    snprintf(name, sizeof(name), "%s/%.100s", callback, w->monitor);
    return fit_keep(f, name, &w->seen, sizeof(w->seen));
}

/* true: better than ever by more than delta */
static bool watch_add(struct watch *w, double value)
{
    double gain = w->is_larger_better ? value - w->seen.best : w->seen.best - value;

    if (w->seen.has_best && !(gain > w->delta)) {
        w->seen.waited++;
        return false;
    }
    w->seen.best = value;
    w->seen.has_best = true;
    w->seen.waited = 0;
    return true;
}

/* ----- early stopping */

struct stopper {
    struct early_stopping options;
    struct watch watch;
    struct arena *arena;
    void **kept;                        /* of the best epoch, by variable of the model */
};

static int keep(struct stopper *s, struct fit *f, struct err *e)
{
    const struct model *m = fit_options(f)->model;

    for (int i = 0; i < m->variable_count; i++)
        if (strategy_read(fit_strategy(f), m->first_variable + i, s->kept[i], e))
            return -1;
    return 0;
}

static bool has_waited(const struct stopper *s)
{
    return s->watch.seen.waited >= (s->options.patience > 0 ? s->options.patience : 1);
}

/* 1: what is gone on from had stopped already */
static int stopper_begin(void *context, struct fit *f, struct err *e)
{
    struct stopper *s = context;
    const struct model *m = fit_options(f)->model;
    const struct variable *variable = strategy_variables(fit_strategy(f))->variable;
    bool goes_on;

    if (callback_check_monitored(f, s->watch.monitor, e))
        return -1;
    goes_on = watch_keep(&s->watch, f, "early_stopping");
    s->kept = arena_array(s->arena, (size_t)m->variable_count + 1, sizeof(*s->kept));
    for (int i = 0; i < m->variable_count && s->options.restores_best; i++) {
        const struct variable *v = &variable[m->first_variable + i];
        int64_t elems = shape_elems(&v->shape);

        s->kept[i] = arena_array(s->arena, (size_t)elems, 4);
        fit_keep(f, arena_printf(s->arena, "early_stopping/best/%s", v->name), s->kept[i],
                 4 * elems);
    }
    return goes_on && has_waited(s);
}

/* Keras: epochs that are better than before wait on, too, until the baseline is reached */
static bool reaches_baseline(const struct stopper *s, double value)
{
    double gain = s->watch.is_larger_better ? value - s->options.baseline
                                            : s->options.baseline - value;

    return !s->options.has_baseline || gain > s->watch.delta;
}

static int stopper_epoch(void *context, struct fit *f, const struct fit_log *log, struct err *e)
{
    struct stopper *s = context;
    int64_t waited = s->watch.seen.waited;
    double value;

    if (log->epoch <= s->options.start_from_epoch)
        return 0;
    if (callback_monitored(f, log, s->watch.monitor, &value, e))
        return -1;
    if (watch_add(&s->watch, value)) {
        if (s->options.restores_best && keep(s, f, e))
            return -1;
        if (reaches_baseline(s, value))
            return 0;
        s->watch.seen.waited = waited + 1;
    }
    if (has_waited(s) && s->options.is_verbose)
        printf("epoch %" PRId64 ": early stopping\n", log->epoch);
    return has_waited(s);
}

static int stopper_end(void *context, struct fit *f, struct err *e)
{
    struct stopper *s = context;
    const struct model *m = fit_options(f)->model;

    for (int i = 0; s->options.restores_best && s->watch.seen.has_best && i < m->variable_count; i++)
        if (strategy_write(fit_strategy(f), m->first_variable + i, s->kept[i], e))
            return -1;
    return 0;
}

void callback_early_stopping(struct fit_callback *c, const struct early_stopping *o,
                             struct arena *a)
{
    struct stopper *s = arena_alloc(a, sizeof(*s));

    s->options = *o;
    s->arena = a;
    watch_init(&s->watch, o->monitor, o->mode, o->min_delta);
    *c = (struct fit_callback){.begin = stopper_begin, .epoch = stopper_epoch, .end = stopper_end, .context = s};
}

/* ----- learning rates */

struct plateau {
    struct reduce_on_plateau options;
    struct watch watch;
    int64_t cooling;
};

static int plateau_begin(void *context, struct fit *f, struct err *e)
{
    struct plateau *p = context;

    if (callback_check_monitored(f, p->watch.monitor, e))
        return -1;
    watch_keep(&p->watch, f, "plateau");
    fit_keep(f, "plateau/cooling", &p->cooling, sizeof(p->cooling));
    return 0;
}

static int plateau_epoch(void *context, struct fit *f, const struct fit_log *log, struct err *e)
{
    struct plateau *p = context;
    double value, rate;

    if (callback_monitored(f, log, p->watch.monitor, &value, e))
        return -1;
    if (p->cooling > 0) {
        p->cooling--;
        p->watch.seen.waited = 0;
    }
    if (watch_add(&p->watch, value) || p->cooling > 0 ||
        p->watch.seen.waited < p->options.patience)
        return 0;
    p->watch.seen.waited = 0;
    p->cooling = p->options.cooldown;
    if (fit_learning_rate(f, &rate, e))
        return -1;
    if (rate <= p->options.min_rate)
        return 0;
    rate = fmax(rate * p->options.factor, p->options.min_rate);
    if (p->options.is_verbose)
        text_print_file(stdout, "epoch %" PRId64 ": learning rate becomes %g\n", log->epoch, rate);
    return fit_set_learning_rate(f, rate, e);
}

void callback_reduce_on_plateau(struct fit_callback *c, const struct reduce_on_plateau *o,
                                struct arena *a)
{
    struct plateau *p = arena_alloc(a, sizeof(*p));

    p->options = *o;
    if (o->factor == 0)
        p->options.factor = 0.1;
    if (o->patience == 0)
        p->options.patience = 10;
    watch_init(&p->watch, o->monitor, o->mode, o->min_delta == 0 ? 1e-4 : o->min_delta);
    *c = (struct fit_callback){.begin = plateau_begin, .epoch = plateau_epoch,
                                .context = p};
}

struct scheduler {
    rate_schedule schedule;
    void *context;
};

static int scheduler_begin(void *context, struct fit *f, int64_t epoch, struct err *e)
{
    const struct scheduler *s = context;
    double rate;

    if (fit_learning_rate(f, &rate, e))
        return -1;
    return fit_set_learning_rate(f, s->schedule(s->context, epoch - 1, rate), e);
}

void callback_schedule(struct fit_callback *c, rate_schedule schedule, void *context,
                       struct arena *a)
{
    struct scheduler *s = arena_alloc(a, sizeof(*s));

    *s = (struct scheduler){schedule, context};
    *c = (struct fit_callback){.epoch_begin = scheduler_begin, .context = s};
}
