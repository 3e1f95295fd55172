/*
 * A kernel on several devices that reach each other. Each has a thread, of which one goes on at a time:
 * until it waits for a semaphore that has not enough yet, then the next one that can. So the order is
 * always the same, and nothing is locked but the turn.
 */
#include "stack/mosaic/run.h"

#include <pthread.h>
#include <string.h>

#include "stack/mosaic/watch_impl.h"

struct place_in_team {
    struct mosaic_run run;
    struct err err;
    pthread_t thread;
    bool has_thread, is_done;
    int status;
    const uint32_t *semaphore;          /* that it waits for; NULL: none */
    int64_t amount;
};

struct mosaic_team {
    int count;
    struct place_in_team *member;
    struct mosaic_copies copies;
    pthread_mutex_t lock;
    pthread_cond_t has_turned;
    int turn;                           /* whose it is */
    bool is_over;                       /* one has failed: nobody goes on */
};

int team_count(const struct mosaic_run *r) { return r->team ? r->team->count : 1; }

struct mosaic_run *team_member(struct mosaic_run *r, int64_t device)
{
    if (r->s->device == device)
        return r;
    for (int i = 0; i < team_count(r) && r->team; i++)
        if (r->team->member[i].run.s->device == device)
            return &r->team->member[i].run;
    return NULL;
}

struct mosaic_buffer *team_buffer(struct mosaic_run *there, const struct mosaic_buffer *here)
{
    struct mosaic_datum *d;

    if (here->id == BARRIER_ID)
        return &there->barrier;
    d = &there->value[here->id];
    return d->own ? d->own : d->view.buffer;
}

/* ----- turns */

static bool can_go(const struct mosaic_team *t, const struct place_in_team *m)
{
    return !m->is_done && (t->is_over || !m->semaphore || (int32_t)*m->semaphore >= m->amount);
}

/* the next one that can; where none can, one that waits is to find out */
static void pass_turn(struct mosaic_team *t, int from)
{
    int next = -1;

    for (int i = 1; i <= t->count && next < 0; i++)
        if (can_go(t, &t->member[(from + i) % t->count]))
            next = (from + i) % t->count;
    for (int i = 1; i <= t->count && next < 0; i++)
        if (!t->member[(from + i) % t->count].is_done)
            next = (from + i) % t->count;
    pthread_mutex_lock(&t->lock);
    t->turn = next;
    pthread_cond_broadcast(&t->has_turned);
    pthread_mutex_unlock(&t->lock);
}

static void take_turn(struct mosaic_team *t, int who)
{
    pthread_mutex_lock(&t->lock);
    while (t->turn != who)
        pthread_cond_wait(&t->has_turned, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

void team_yield(struct mosaic_run *r)
{
    if (!r->team)
        return;
    pass_turn(r->team, r->number);
    take_turn(r->team, r->number);
}

int team_await(struct mosaic_run *r, const uint32_t *semaphore, int64_t amount)
{
    struct place_in_team *m;

    if ((int32_t)*semaphore >= amount)
        return 0;
    if (!r->team)
        return 1;
    m = &r->team->member[r->number];
    m->semaphore = semaphore;
    m->amount = amount;
    team_yield(r);
    m->semaphore = NULL;
    if (r->team->is_over)
        return -1;
    return (int32_t)*semaphore >= amount ? 0 : 1;
}

static void *go(void *member)
{
    struct place_in_team *m = member;
    struct mosaic_team *t = m->run.team;

    take_turn(t, m->run.number);
    if (!t->is_over)
        m->status = mosaic_run_go(&m->run);
    m->is_done = true;
    t->is_over |= m->status != 0;
    pass_turn(t, m->run.number);
    return NULL;
}

/* ----- all of it */

static int begin(struct mosaic_team *t, const struct mosaic_kernel *k, uint32_t *const *const *array,
                 const struct mosaic_run_settings *s)
{
    int status = 0;

    for (int i = 0; i < t->count; i++) {
        struct mosaic_run *r = &t->member[i].run;

        *r = (struct mosaic_run){.k = k, .s = &s[i], .err = &t->member[i].err, .team = t,
                                 .number = i, .copies = &t->copies};
        if (s[i].watch && s[i].watch->races) {
            r->clock = mem_alloc((size_t)t->count * sizeof(*r->clock));
            r->clock[i] = 1;
        }
        t->member[i].status = mosaic_run_begin(r, array[i]);
        status = status ? status : t->member[i].status;
    }
    return status;
}

static int run_all(struct mosaic_team *t, struct err *e)
{
    int status = 0;

    t->turn = -1;
    for (int i = 0; i < t->count; i++) {
        if (!status)
            status = pthread_create(&t->member[i].thread, NULL, go, &t->member[i]);
        t->member[i].has_thread = !status;
        t->member[i].is_done = status != 0;
    }
    t->is_over = status != 0;
    pass_turn(t, t->count - 1);
    for (int i = 0; i < t->count; i++)
        if (t->member[i].has_thread)
            pthread_join(t->member[i].thread, NULL);
    return status ? err_set(e, "no thread for a device: %s", strerror(status)) : 0;
}

int mosaic_run_team(const struct mosaic_kernel *k, int count, uint32_t *const *const *array,
                    const struct mosaic_run_settings *s, struct err *e)
{
    struct mosaic_team t = {.count = count, .lock = PTHREAD_MUTEX_INITIALIZER,
                            .has_turned = PTHREAD_COND_INITIALIZER};
    int status;

    t.member = mem_alloc((size_t)count * sizeof(*t.member));
    status = begin(&t, k, array, s) || run_all(&t, e);
    for (int i = 0; i < count && !status; i++)
        status = t.member[i].status || mosaic_run_check(&t.member[i].run);
    for (int i = count - 1; i >= 0; i--)
        if (t.member[i].err.msg[0])
            *e = t.member[i].err;
    for (int i = 0; i < count; i++) {
        mosaic_run_end(&t.member[i].run);
        mem_free(t.member[i].run.clock);
    }
    mem_free(t.copies.item);
    mem_free(t.member);
    if (!status && s[0].watch)
        s[0].watch->kernels++;
    return status ? -1 : 0;
}
