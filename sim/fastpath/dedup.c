/*
 * Groups cores with one program, lets the first to come to a kernel work it out, and gives the
 * others its results.
 */
#include "sim/fastpath/dedup.h"

#include "sim/fastpath/held_ranges.h"
#include "sim/fastpath/origins.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#define BYTES_MIN (32 * KIB)            /* a kernel that reads and writes less is soon run */
#define HELD_MAX GIB                    /* of results that not all have passed yet, if several */
#define MISSES_MAX 2                    /* launches in a row in which nobody took anything */

/* A kernel that runs once in a launch, in all cores with the program. */
struct dedup_kernel {
    enum { NOT_TRIED, SAMPLED, TRIED } use;
    int misses;                         /* launches in a row */
    /* this launch: */
    enum { NOBODY, LEADING, LEFT, REFUSED } state;      /* REFUSED: too much is held */
    bool is_stopped;                    /* the leader */
    int leader, passed, taken;          /* cores */
    int first_waiter;
    int64_t bytes;                      /* held of results */
    struct held_ranges *read, *written;
};

/* Cores with one program. */
struct dedup_group {
    int cores;
    const struct kernel_log *log;       /* of the first, whose effects are everybody's */
    struct dedup_kernel *kernel;        /* by its run in the launch */
    size_t kernel_count;
};

struct dedup_core {
    struct dedup_group *group;          /* NULL: it is alone */
    const struct kernel_log *log;
    uint32_t *effect;                   /* by its own: the group's, or NO_EFFECT */
    const struct origins *origins;      /* where copies to SMEM are compared as they arrive */
    uint64_t *sample;                   /* by run, where one was taken */
    size_t entered;                     /* runs so far */
    struct dedup_kernel *leads, *awaits;
    int next_waiter;
};

struct dedup {
    int core_count;
    struct dedup_core *core;
    struct dedup_group *group;
    int group_count;
    bool samples;                       /* this launch */
    int64_t held_bytes, count;
    pthread_mutex_t mutex;              /* of what kernels have of this launch, and held_bytes */
};

struct dedup *dedup_create(int core_count)
{
    struct dedup *t = mem_alloc(sizeof(*t));

    t->core_count = core_count;
    t->core = mem_alloc((size_t)core_count * sizeof(*t->core));
    t->group = mem_alloc((size_t)core_count * sizeof(*t->group));
    pthread_mutex_init(&t->mutex, NULL);
    return t;
}

static void forget(struct dedup *t)
{
    for (int i = 0; i < t->core_count; i++) {
        mem_free(t->core[i].effect);
        mem_free(t->core[i].sample);
        t->core[i] = (struct dedup_core){.group = NULL};
    }
    for (int i = 0; i < t->group_count; i++)
        mem_free(t->group[i].kernel);
    t->group_count = 0;
}

void dedup_destroy(struct dedup *t)
{
    if (!t)
        return;
    forget(t);
    pthread_mutex_destroy(&t->mutex);
    mem_free(t->core);
    mem_free(t->group);
    mem_free(t);
}

/* ----- what may be tried */

static const struct kernel_effect *effect_of_run(const struct kernel_log *l, size_t run)
{
    return l->run[run].effect == NO_EFFECT ? NULL : &l->effect[l->run[run].effect];
}

/* effects of a core are mostly those of the group under the same number */
static uint32_t find_effect(const struct kernel_log *group, const struct kernel_effect *e,
                            uint32_t guess)
{
    if (guess < group->effect_count && kernel_effect_equal(&group->effect[guess], e))
        return guess;
    for (uint32_t i = 0; i < group->effect_count; i++)
        if (kernel_effect_equal(&group->effect[i], e))
            return i;
    return NO_EFFECT;
}

static void join(struct dedup_core *k, const struct dedup_input *in, struct dedup_group *g)
{
    const struct kernel_log *l = in->log;

    k->group = g;
    k->log = l;
    k->origins = origins_has_late(in->origins) ? in->origins : NULL;
    k->effect = mem_alloc((l->effect_count + 1) * sizeof(*k->effect));
    for (uint32_t i = 0; i < l->effect_count; i++)
        k->effect[i] = find_effect(g->log, &l->effect[i], i);
    k->sample = mem_alloc((l->run_count + 1) * sizeof(*k->sample));
    g->cores++;
}

static void open_group(struct dedup_group *g, const struct kernel_log *l)
{
    *g = (struct dedup_group){.log = l, .kernel_count = l->run_count};
    g->kernel = mem_alloc((l->run_count + 1) * sizeof(*g->kernel));
    for (size_t i = 0; i < l->run_count; i++) {
        const struct kernel_effect *e = effect_of_run(l, i);

        g->kernel[i].use = e && kernel_effect_bytes(e) >= BYTES_MIN ? SAMPLED : NOT_TRIED;
        g->kernel[i].first_waiter = NO_CORE;
    }
}

void dedup_prepare(struct dedup *t, const struct dedup_input *core)
{
    forget(t);
    for (int i = 0; i < t->core_count; i++) {
        int first = 0;

        if (!core[i].program || core[i].log->is_lost)
            continue;
        while (first < i && core[first].program != core[i].program)
            first++;
        if (first == i)
            open_group(&t->group[t->group_count++], core[i].log);
        if (first == i || t->core[first].group)
            join(&t->core[i], &core[i],
                 first == i ? &t->group[t->group_count - 1] : t->core[first].group);
    }
    for (int i = 0; i < t->core_count; i++)
        if (t->core[i].group && t->core[i].group->cores < 2)
            t->core[i].group = NULL;
    t->samples = true;
}

/* ----- a launch */

void dedup_begin(struct dedup *t)
{
    for (int i = 0; i < t->core_count; i++) {
        t->core[i].entered = 0;
        t->core[i].leads = t->core[i].awaits = NULL;
    }
    t->held_bytes = 0;
}

/* the lock is held, or the launch is over */
static void let_go(struct dedup *t, struct dedup_kernel *k)
{
    held_ranges_free(k->read);
    held_ranges_free(k->written);
    t->held_bytes -= k->bytes;
    k->read = k->written = NULL;
    k->bytes = 0;
}

/* the lock is held */
static void pass(struct dedup *t, struct dedup_core *own, struct dedup_kernel *k)
{
    if (++k->passed == own->group->cores)
        let_go(t, k);
}

/* the lock is held; its waiters become a list */
static int wake_all(struct dedup_kernel *k)
{
    int first = k->first_waiter;

    k->first_waiter = NO_CORE;
    return first;
}

/* the core's own run, where it is one that another core's may stand for */
static bool find_run(const struct dedup_core *own, size_t number, struct dedup_run *out)
{
    const struct dedup_group *g = own->group;
    uint32_t effect;

    if (number >= own->log->run_count || number >= g->kernel_count)
        return false;
    out->run = own->log->run[number];
    effect = out->run.effect == NO_EFFECT ? NO_EFFECT : own->effect[out->run.effect];
    if (effect == NO_EFFECT || effect != g->log->run[number].effect)
        return false;
    out->effect = &g->log->effect[effect];
    return !own->origins
           || !origins_count_late(own->origins, out->run.first_piece, out->effect->smem_pieces);
}

static int64_t bytes_written(const struct kernel_effect *e)
{
    int64_t bytes = 0;

    for (uint32_t i = e->reads; i < e->reads + e->writes; i++)
        bytes += e->range[i].end - e->range[i].first;
    return bytes;
}

/* the lock is held; another one may have led, but waits itself */
static enum dedup_way take_lead(struct dedup_core *own, struct dedup_kernel *k, int core)
{
    k->leader = core;
    k->is_stopped = false;
    own->leads = k;
    own->awaits = NULL;
    return DEDUP_LEADS;
}

/* the lock is held, and nobody has been here */
static enum dedup_way lead(struct dedup *t, struct dedup_core *own, struct dedup_kernel *k,
                           const struct core *c, const struct kernel_effect *e)
{
    int64_t bytes = bytes_written(e);

    if (t->held_bytes > 0 && t->held_bytes + bytes > HELD_MAX) {
        k->state = REFUSED;
        return DEDUP_RUNS;
    }
    k->bytes = bytes;
    t->held_bytes += bytes;
    k->read = held_ranges_take(c->hbm, e->range, e->reads);
    k->state = LEADING;
    return take_lead(own, k, c->number);
}

/* the core's HBM holds what the first leader's did: the results are there, or will be */
static enum dedup_way follow(struct dedup *t, struct dedup_core *own, struct dedup_kernel *k,
                             const struct core *c)
{
    enum dedup_way way = DEDUP_TAKES;

    pthread_mutex_lock(&t->mutex);
    if (k->state == LEADING && k->is_stopped) {
        way = take_lead(own, k, c->number);
    } else if (k->state == LEADING) {
        own->awaits = k;
        way = DEDUP_WAITS;
    }
    pthread_mutex_unlock(&t->mutex);
    if (way != DEDUP_TAKES)
        return way;
    own->awaits = NULL;
    held_ranges_put(k->written, c->hbm);
    pthread_mutex_lock(&t->mutex);
    k->taken++;
    pass(t, own, k);
    pthread_mutex_unlock(&t->mutex);
    return DEDUP_TAKES;
}

static enum dedup_way try_kernel(struct dedup *t, struct dedup_core *own, struct dedup_kernel *k,
                                 const struct core *c, const struct kernel_effect *e)
{
    enum dedup_way way = DEDUP_RUNS;
    bool is_led;

    pthread_mutex_lock(&t->mutex);
    is_led = k->state == LEADING || k->state == LEFT;
    if (k->state == NOBODY)
        way = lead(t, own, k, c, e);
    pthread_mutex_unlock(&t->mutex);
    if (!is_led)
        return way;
    if (held_ranges_match(k->read, c->hbm))
        return follow(t, own, k, c);
    pthread_mutex_lock(&t->mutex);
    pass(t, own, k);
    pthread_mutex_unlock(&t->mutex);
    return DEDUP_RUNS;
}

enum dedup_way dedup_enter(struct dedup *t, const struct core *c, struct dedup_run *out)
{
    struct dedup_core *own = &t->core[c->number];
    size_t number = own->awaits ? own->entered - 1 : own->entered++;
    struct dedup_kernel *k;

    if (!own->group || !find_run(own, number, out))
        return DEDUP_RUNS;
    k = &own->group->kernel[number];
    if (own->awaits)
        return follow(t, own, k, c);
    if (k->use == SAMPLED)
        own->sample[number] = held_ranges_sample(c->hbm, out->effect->range, out->effect->reads);
    return k->use == TRIED ? try_kernel(t, own, k, c, out->effect) : DEDUP_RUNS;
}

/* the lock is held: no other core has taken over meanwhile */
static bool still_leads(const struct dedup_kernel *k, int core)
{
    return k->state == LEADING && k->leader == core;
}

int dedup_done(struct dedup *t, const struct core *c)
{
    struct dedup_core *own = &t->core[c->number];
    struct dedup_kernel *k = own->leads;
    const struct dedup_group *g = own->group;
    const struct kernel_effect *e = effect_of_run(g->log, (size_t)(k - g->kernel));
    int first = NO_CORE;

    own->leads = NULL;
    pthread_mutex_lock(&t->mutex);
    if (still_leads(k, c->number)) {
        k->written = held_ranges_take(c->hbm, e->range + e->reads, e->writes);
        k->state = LEFT;
        first = wake_all(k);
    }
    pass(t, own, k);
    pthread_mutex_unlock(&t->mutex);
    return first;
}

int dedup_stop(struct dedup *t, int core)
{
    struct dedup_kernel *k = t->core[core].leads;
    int first = NO_CORE;

    pthread_mutex_lock(&t->mutex);
    if (k && still_leads(k, core)) {
        k->is_stopped = true;
        first = wake_all(k);
    }
    pthread_mutex_unlock(&t->mutex);
    return first;
}

void dedup_go_on(struct dedup *t, int core)
{
    struct dedup_kernel *k = t->core[core].leads;

    pthread_mutex_lock(&t->mutex);
    if (k && still_leads(k, core))
        k->is_stopped = false;
    pthread_mutex_unlock(&t->mutex);
}

bool dedup_wait(struct dedup *t, int core)
{
    struct dedup_core *own = &t->core[core];
    struct dedup_kernel *k = own->awaits;
    bool waits;

    pthread_mutex_lock(&t->mutex);
    waits = k->state == LEADING && !k->is_stopped;
    if (waits) {
        own->next_waiter = k->first_waiter;
        k->first_waiter = core;
    }
    pthread_mutex_unlock(&t->mutex);
    return waits;
}

int dedup_next_waiter(const struct dedup *t, int core)
{
    return t->core[core].next_waiter;
}

/* ----- what to try the next time */

/* two neighbours of the group have the same sample */
static bool do_agree(const struct dedup *t, const struct dedup_group *g, size_t number)
{
    const uint64_t *before = NULL;

    for (int i = 0; i < t->core_count; i++) {
        const struct dedup_core *k = &t->core[i];
        struct dedup_run run;

        if (k->group != g || !find_run(k, number, &run))
            continue;
        if (before && *before == k->sample[number])
            return true;
        before = &k->sample[number];
    }
    return false;
}

static void learn(struct dedup *t, struct dedup_group *g, size_t number)
{
    struct dedup_kernel *k = &g->kernel[number];

    if (k->use == SAMPLED)
        k->use = do_agree(t, g, number) ? TRIED : NOT_TRIED;
    else if (k->use == TRIED && k->state != REFUSED) {
        k->misses = k->taken > 0 ? 0 : k->misses + 1;
        k->use = k->misses < MISSES_MAX ? TRIED : NOT_TRIED;
    }
    t->count += k->taken;
}

void dedup_end(struct dedup *t, bool is_broken)
{
    for (int i = 0; i < t->group_count; i++)
        for (size_t n = 0; n < t->group[i].kernel_count; n++) {
            struct dedup_kernel *k = &t->group[i].kernel[n];

            if (!is_broken && t->group[i].cores > 1)
                learn(t, &t->group[i], n);
            let_go(t, k);
            k->state = NOBODY;
            k->passed = k->taken = 0;
            k->first_waiter = NO_CORE;
        }
}

int64_t dedup_count(const struct dedup *t)
{
    return t->count;
}
