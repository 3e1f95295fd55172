#include "train/fit/fit_checkpoint.h"

#include "train/fit/callbacks.h"
#include "train/strategy/strategy_checkpoint.h"

int fit_save(struct fit *f, const char *folder, int64_t epoch, int keep, struct err *e)
{
    struct checkpoint_state state = {.step = fit_step(f), .epoch = epoch,
                                     .seed = fit_options(f)->strategy.seed};

    return strategy_save(fit_strategy(f), folder, &state, keep, e);
}

int fit_restore(struct fit *f, const char *folder, int64_t *epoch, struct err *skipped,
                struct err *e)
{
    struct checkpoint c;
    int status = strategy_restore(fit_strategy(f), folder, fit_options(f)->strategy.seed, &c,
                                  skipped, e);

    if (status <= 0)
        return status;
    fit_resume(f, c.state.step);
    *epoch = c.state.epoch;
    checkpoint_close(&c);
    return 1;
}

/* ----- as a callback */

struct saver {
    struct checkpoint_options options;
    struct outfile_lock lock;           /* of the folder, while it trains */
    bool has_best;
    double best;
};

/* whether this epoch is better than all before, where only such ones count */
static int is_wanted(struct saver *s, struct fit *f, const struct fit_log *log, struct err *e)
{
    const char *monitor = s->options.monitor ? s->options.monitor : "val_loss";
    double value;

    if (!s->options.best_only)
        return log->epoch % (s->options.frequency ? s->options.frequency : 1) == 0;
    if (callback_monitored(f, log, monitor, &value, e))
        return -1;
    if (s->has_best && !(s->options.larger_is_better ? value > s->best : value < s->best))
        return 0;
    s->has_best = true;
    s->best = value;
    return 1;
}

static int epoch_end(void *context, struct fit *f, const struct fit_log *log, struct err *e)
{
    struct saver *s = context;
    int wanted = is_wanted(s, f, log, e);

    if (wanted <= 0)
        return wanted;
    return fit_save(f, s->options.folder, log->epoch, s->options.keep, e);
}

/* before the first step, not when an epoch's work is to be saved */
static int begin(void *context, struct fit *f, struct err *e)
{
    struct saver *s = context;
    const struct checkpoint_options *o = &s->options;
    struct err why;

    if (checkpoint_lock(&s->lock, o->folder, e))
        return -1;
    if (checkpoint_check_own(o->folder, fit_step(f), &why) == 0)
        return 0;
    if (o->overwrites)
        return checkpoint_clear(o->folder, e);
    return err_at(e, o->folder, 0, 0, "%s%s", why.msg, o->advice ? o->advice : "");
}

static void unlock(void *context)
{
    outfile_unlock(&((struct saver *)context)->lock);
}

void callback_checkpoint(struct fit_callback *c, const struct checkpoint_options *o,
                         struct arena *a)
{
    struct saver *s = arena_alloc(a, sizeof(*s));

    s->options = *o;
    *c = (struct fit_callback){.begin = begin, .epoch = epoch_end, .close = unlock, .context = s};
}
