/* Saves and restores all variables of a strategy, one at a time, whole or by replica. */
#include "train/strategy/strategy_checkpoint.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

/* A variable on its way to or from the file: all of it in memory while it passes. */
struct passing {
    struct strategy *strategy;
    int variable;
    int replicas;                       /* SYNC_ON_READ: whose values the file has */
    char *data;
    int64_t bytes;
};

static bool is_own(const struct passing *p)
{
    return strategy_variables(p->strategy)->variable[p->variable].sync == SYNC_ON_READ;
}

static int64_t replica_bytes(const struct passing *p)
{
    return p->bytes / p->replicas;
}

static int read_all(struct passing *p, struct err *e)
{
    struct strategy *s = p->strategy;

    if (!is_own(p))
        return strategy_read(s, p->variable, p->data, e);
    for (int r = 0; r < strategy_replica_count(s); r++)
        if (strategy_read_local(s, r, p->variable, p->data + r * replica_bytes(p), e))
            return -1;
    return 0;
}

static int write_all(struct passing *p, struct err *e)
{
    struct strategy *s = p->strategy;

    if (!is_own(p))
        return strategy_write(s, p->variable, p->data, e);
    return strategy_write_replicas(s, p->variable, p->data, p->replicas, e);
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

static void add(struct list *l, struct strategy *s, int variable)
{
    const struct variable *v = &strategy_variables(s)->variable[variable];
    struct checkpoint_tensor *t = &l->tensor[l->count];
    struct passing *p = &l->passing[l->count++];
    int replicas = strategy_replica_count(s);

    *p = (struct passing){.strategy = s, .variable = variable, .bytes = shape_elems(&v->shape) * 4};
    *t = (struct checkpoint_tensor){
        .name = v->name, .rank = v->shape.rank, .read = read_part, .write = write_part,
        .context = p,
        .dtype = v->shape.dtype == DTYPE_F32   ? ST_F32
                 : v->shape.dtype == DTYPE_S32 ? ST_I32 : ST_U32};
    memcpy(t->dim, v->shape.dim, (size_t)v->shape.rank * sizeof(t->dim[0]));
    if (v->sync != SYNC_ON_READ)
        return;
    assert(v->shape.rank < SAFETENSORS_RANK_MAX);
    p->replicas = replicas;
    p->bytes *= replicas;
    t->name = arena_printf(&l->arena, "%s/replicas", v->name);
    for (int d = t->rank++; d > 0; d--)
        t->dim[d] = t->dim[d - 1];
    t->dim[0] = replicas;
}

/* with room for `more` tensors of somebody else's */
static void list_init(struct list *l, struct strategy *s, int more)
{
    int count = strategy_variables(s)->count;

    memset(l, 0, sizeof(*l));
    arena_init(&l->arena);
    l->tensor = arena_array(&l->arena, (size_t)(count + more) + 1, sizeof(*l->tensor));
    l->passing = arena_array(&l->arena, (size_t)count + 1, sizeof(*l->passing));
    for (int v = 0; v < count; v++)
        add(l, s, v);
}

static void list_fini(struct list *l)
{
    for (int i = 0; i < l->count; i++)
        let_go(&l->passing[i]);
    arena_fini(&l->arena);
}

/* a file of a training on another number of replicas has values of so many */
static void take_replicas(struct list *l, const struct checkpoint *c)
{
    struct err unknown;

    for (int i = 0; i < l->count; i++) {
        struct checkpoint_tensor *t = &l->tensor[i];
        struct passing *p = &l->passing[i];
        int number = is_own(p) ? safetensors_find(&c->file, t->name, &unknown) : -1;
        int64_t replicas = number < 0 ? 0 : c->file.tensor[number].dim[0];

        if (replicas < 1 || replicas > INT_MAX || c->file.tensor[number].rank != t->rank)
            continue;
        p->bytes = replica_bytes(p) * replicas;
        p->replicas = (int)replicas;
        t->dim[0] = replicas;
    }
}

/* ----- saving and restoring */

int strategy_save(struct strategy *s, const char *folder, const struct checkpoint_state *state,
                  const struct checkpoint_tensor *more, int more_count, int keep, struct err *e)
{
    struct list l;
    int status;

    list_init(&l, s, more_count);
    for (int i = 0; i < more_count; i++)
        l.tensor[l.count + i] = more[i];
    status = checkpoint_save(folder, l.tensor, l.count + more_count, state, keep, e);
    list_fini(&l);
    return status;
}

static int restore_open(struct strategy *s, const struct checkpoint *c, uint64_t seed,
                        const char *path, struct err *e)
{
    struct list l;
    int status;

    if (c->state.seed != seed)
        return err_at(e, path, 0, 0, "of a training with seed %" PRIu64 ", not %" PRIu64
                      ", whose batches come in another order", c->state.seed, seed);
    list_init(&l, s, 0);
    take_replicas(&l, c);
    status = checkpoint_restore(c, l.tensor, l.count, e);
    list_fini(&l);
    return status;
}

int strategy_restore(struct strategy *s, const char *folder, uint64_t seed, struct checkpoint *c,
                     struct err *skipped, struct err *e)
{
    char path[4096];
    int status = checkpoint_latest(folder, path, sizeof(path), skipped, e);

    if (status <= 0)
        return status;
    if (checkpoint_open(c, path, e))
        return -1;
    if (restore_open(s, c, seed, path, e) == 0)
        return 1;
    checkpoint_close(c);
    return -1;
}
