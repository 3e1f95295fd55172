#include "train/fit_checkpoint.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "train/callbacks.h"

/* A variable on its way to or from the file: all of it in memory while it passes. */
struct passing {
    struct fit *fit;
    int variable;
    char *data;
    int64_t bytes;
};

static bool is_own(const struct passing *p)
{
    return strategy_variables(fit_strategy(p->fit))->variable[p->variable].sync == SYNC_ON_READ;
}

static int64_t replica_bytes(const struct passing *p)
{
    return p->bytes / strategy_replica_count(fit_strategy(p->fit));
}

static int read_all(struct passing *p, struct err *e)
{
    struct strategy *s = fit_strategy(p->fit);

    if (!is_own(p))
        return strategy_read(s, p->variable, p->data, e);
    for (int r = 0; r < strategy_replica_count(s); r++)
        if (strategy_read_local(s, r, p->variable, p->data + r * replica_bytes(p), e))
            return -1;
    return 0;
}

static int write_all(struct passing *p, struct err *e)
{
    struct strategy *s = fit_strategy(p->fit);

    if (!is_own(p))
        return strategy_write(s, p->variable, p->data, e);
    for (int r = 0; r < strategy_replica_count(s); r++)
        if (strategy_write_local(s, r, p->variable, p->data + r * replica_bytes(p), e))
            return -1;
    return 0;
}

static void let_go(struct passing *p)
{
    mem_free(p->data);
    p->data = NULL;
}

static int read_part(void *context, int64_t first, void *to, int64_t bytes, struct err *e)
{
    struct passing *p = context;

    if (first == 0) {
        let_go(p);
        p->data = mem_alloc((size_t)p->bytes);
        if (read_all(p, e))
            return -1;
    }
    memcpy(to, p->data + first, (size_t)bytes);
    if (first + bytes == p->bytes)
        let_go(p);
    return 0;
}

static int write_part(void *context, int64_t first, const void *from, int64_t bytes,
                      struct err *e)
{
    struct passing *p = context;
    int status = 0;

    if (first == 0) {
        let_go(p);
        p->data = mem_alloc((size_t)p->bytes);
    }
    memcpy(p->data + first, from, (size_t)bytes);
    if (first + bytes == p->bytes) {
        status = write_all(p, e);
        let_go(p);
    }
    return status;
}

/* ----- the list of all variables */

struct list {
    struct arena arena;
    struct checkpoint_tensor *tensor;
    struct passing *passing;
    int count;
};

static void add(struct list *l, struct fit *f, int variable)
{
    const struct variable *v = &strategy_variables(fit_strategy(f))->variable[variable];
    struct checkpoint_tensor *t = &l->tensor[l->count];
    struct passing *p = &l->passing[l->count++];
    int replicas = strategy_replica_count(fit_strategy(f));

    *p = (struct passing){.fit = f, .variable = variable, .bytes = shape_elems(&v->shape) * 4};
    *t = (struct checkpoint_tensor){
        .name = v->name, .rank = v->shape.rank, .read = read_part, .write = write_part,
        .context = p,
        .dtype = v->shape.dtype == DTYPE_F32   ? ST_F32
                 : v->shape.dtype == DTYPE_S32 ? ST_I32 : ST_U32};
    memcpy(t->dim, v->shape.dim, (size_t)v->shape.rank * sizeof(t->dim[0]));
    if (v->sync != SYNC_ON_READ)
        return;
    assert(v->shape.rank < SAFETENSORS_RANK_MAX);
    p->bytes *= replicas;
    t->name = arena_printf(&l->arena, "%s/replicas", v->name);
    for (int d = t->rank++; d > 0; d--)
        t->dim[d] = t->dim[d - 1];
    t->dim[0] = replicas;
}

static void list_init(struct list *l, struct fit *f)
{
    int count = strategy_variables(fit_strategy(f))->count;

    memset(l, 0, sizeof(*l));
    arena_init(&l->arena);
    l->tensor = arena_array(&l->arena, (size_t)count + 1, sizeof(*l->tensor));
    l->passing = arena_array(&l->arena, (size_t)count + 1, sizeof(*l->passing));
    for (int v = 0; v < count; v++)
        add(l, f, v);
}

static void list_fini(struct list *l)
{
    for (int i = 0; i < l->count; i++)
        let_go(&l->passing[i]);
    arena_fini(&l->arena);
}

/* ----- saving and restoring */

int fit_save(struct fit *f, const char *folder, int64_t epoch, int keep, struct err *e)
{
    struct checkpoint_state state = {.step = fit_step(f), .epoch = epoch,
                                     .seed = fit_options(f)->strategy.seed};
    struct list l;
    int status;

    list_init(&l, f);
    status = checkpoint_save(folder, l.tensor, l.count, &state, keep, e);
    list_fini(&l);
    return status;
}

static int restore_open(struct fit *f, const struct checkpoint *c, const char *path,
                        struct err *e)
{
    uint64_t seed = fit_options(f)->strategy.seed;
    struct list l;
    int status;

    if (c->state.seed != seed)
        return err_at(e, path, 0, 0, "of a training with seed %" PRIu64 ", not %" PRIu64
                      ", whose batches come in another order", c->state.seed, seed);
    list_init(&l, f);
    status = checkpoint_restore(c, l.tensor, l.count, e);
    list_fini(&l);
    return status;
}

int fit_restore(struct fit *f, const char *folder, int64_t *epoch, struct err *skipped,
                struct err *e)
{
    struct checkpoint c;
    char path[4096];
    int status = checkpoint_latest(folder, path, sizeof(path), skipped, e);

    if (status <= 0)
        return status;
    if (checkpoint_open(&c, path, e))
        return -1;
    status = restore_open(f, &c, path, e);
    if (status == 0) {
        fit_resume(f, c.state.step);
        *epoch = c.state.epoch;
    }
    checkpoint_close(&c);
    return status ? -1 : 1;
}

/* ----- as a callback */

struct saver {
    struct checkpoint_options options;
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

void callback_checkpoint(struct fit_callback *c, const struct checkpoint_options *o,
                         struct arena *a)
{
    struct saver *s = arena_alloc(a, sizeof(*s));

    s->options = *o;
    *c = (struct fit_callback){.epoch = epoch_end, .context = s};
}
