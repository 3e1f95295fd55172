/* Saves and restores a training, and the callback that saves every epoch or only better ones. */
#include "train/fit/fit_checkpoint.h"

#include <string.h>
#include <unistd.h>

#include "train/fit/callbacks.h"
#include "train/fit/fit_impl.h"
#include "train/strategy/strategy_checkpoint.h"

#define KEPT_PREFIX "callback/"         /* of names of tensors: what fit_keep was told */

/* the file's tensors that callbacks kept, into the fit's memory for those that begin next */
static int take_kept(struct fit *f, const struct checkpoint *c, struct err *e)
{
    size_t prefix = strlen(KEPT_PREFIX);
    int count = c->file.tensor_count;
    struct checkpoint_tensor *list = arena_array(&f->arena, (size_t)count + 1, sizeof(*list));

    f->restored = arena_array(&f->arena, (size_t)count + 1, sizeof(*f->restored));
    f->restored_count = 0;
    for (int i = 0; i < count; i++) {
        const struct safetensor *t = &c->file.tensor[i];
        struct fit_kept *k = &f->restored[f->restored_count];

        if (strncmp(t->name, KEPT_PREFIX, prefix) != 0 || t->dtype != ST_U8 || t->rank != 1)
            continue;
        *k = (struct fit_kept){arena_strdup(&f->arena, t->name + prefix),
                               arena_alloc(&f->arena, (size_t)t->dim[0]), t->dim[0]};
        list[f->restored_count++] = checkpoint_memory(t->name, ST_U8, 1, t->dim, k->data);
    }
    return checkpoint_restore(c, list, f->restored_count, e);
}

int fit_save(struct fit *f, const char *folder, int64_t epoch, int keep, struct err *e)
{
    struct checkpoint_state state = {.step = fit_step(f), .epoch = epoch,
                                     .seed = fit_options(f)->strategy.seed};

    struct checkpoint_tensor *more;
    struct arena a;
    int status;

    arena_init(&a);
    more = arena_array(&a, (size_t)f->kept_count + 1, sizeof(*more));
    for (int i = 0; i < f->kept_count; i++)
        more[i] = checkpoint_memory(arena_printf(&a, KEPT_PREFIX "%s", f->kept[i].name), ST_U8, 1,
                                    &f->kept[i].bytes, f->kept[i].data);
    status = strategy_save(fit_strategy(f), folder, &state, more, f->kept_count, keep, e);
    arena_fini(&a);
    return status;
}

int fit_restore(struct fit *f, const char *folder, int64_t *epoch, struct err *skipped,
                struct err *e)
{
    struct checkpoint c;
    int status = strategy_restore(fit_strategy(f), folder, fit_options(f)->strategy.seed, &c,
                                  skipped, e);

    if (status <= 0)
        return status;
    status = take_kept(f, &c, e) ? -1 : 1;
    fit_resume(f, c.state.step);
    *epoch = c.state.epoch;
    checkpoint_close(&c);
    return status;
}

/* ----- as a callback */

struct saver {
    struct checkpoint_options options;
    struct outfile_lock lock;           /* of the folder, while it trains */
    struct best { double value; int64_t is_known; } best;
};

static const char *monitor_of(const struct checkpoint_options *o)
{
    return o->monitor ? o->monitor : "val_loss";
}

/* whether this epoch is better than all before, where only such ones count */
static int is_wanted(struct saver *s, struct fit *f, const struct fit_log *log, struct err *e)
{
    double value;

    if (s->options.frequency < 0)
        return 0;
    if (!s->options.best_only)
        return log->epoch % (s->options.frequency ? s->options.frequency : 1) == 0;
    if (callback_monitored(f, log, monitor_of(&s->options), &value, e))
        return -1;
    if (s->best.is_known &&
        !(s->options.larger_is_better ? value > s->best.value : value < s->best.value))
        return 0;
    s->best = (struct best){value, 1};
    return 1;
}

static int epoch_end(void *context, struct fit *f, const struct fit_log *log, struct err *e)
{
    struct saver *s = context;
    int wanted = log->is_cut ? 0 : is_wanted(s, f, log, e);

    if (wanted <= 0)
        return wanted;
    return fit_save(f, s->options.folder, log->epoch, s->options.keep, e);
}

/* an execution may pass over the step at which a checkpoint is due */
static int step_end(void *context, struct fit *f, const struct fit_log *log, struct err *e)
{
    const struct checkpoint_options *o = &((struct saver *)context)->options;

    if (o->steps == 0 || log->step / o->steps == (log->step - log->steps) / o->steps)
        return 0;
    return fit_save(f, o->folder, log->epoch - 1, o->keep, e);
}

static int cut(void *context, struct fit *f, const struct fit_log *log, struct err *e)
{
    struct saver *s = context;

    return s->options.best_only ? 0
                                : fit_save(f, s->options.folder, log->epoch - 1, s->options.keep, e);
}

/* before the first step, not when an epoch's work is to be saved */
static int begin(void *context, struct fit *f, struct err *e)
{
    struct saver *s = context;
    const struct checkpoint_options *o = &s->options;
    struct err why;

    if ((o->best_only && callback_check_monitored(f, monitor_of(o), e)) ||
        checkpoint_lock(&s->lock, o->folder, e))
        return -1;
    if (o->best_only)
        fit_keep(f, "checkpoint/best", &s->best, sizeof(s->best));
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
    *c = (struct fit_callback){.begin = begin, .step = step_end, .epoch = epoch_end, .cut = cut,
                                .close = unlock, .is_last = true, .context = s};
}

/* ----- backups */

struct backup {
    struct saver saver;                 /* first: a backup is one */
    bool deletes;
};

static int restore(void *context, struct fit *f, int64_t *epoch, struct err *e)
{
    struct backup *b = context;
    struct err skipped;

    if (access(b->saver.options.folder, F_OK) != 0)
        return 0;
    return fit_restore(f, b->saver.options.folder, epoch, &skipped, e);
}

static int end(void *context, struct fit *f, struct err *e)
{
    struct backup *b = context;

    (void)f;
    return b->deletes ? checkpoint_clear(b->saver.options.folder, e) : 0;
}

void callback_backup(struct fit_callback *c, const struct backup_options *o, struct arena *a)
{
    struct backup *b = arena_alloc(a, sizeof(*b));

    *b = (struct backup){.saver.options = {.folder = o->folder, .keep = o->keep},
                         .deletes = o->deletes};
    *c = (struct fit_callback){.restore = restore, .begin = begin, .epoch = epoch_end, .cut = cut,
                                .end = end, .close = unlock, .is_last = true, .context = b};
}
