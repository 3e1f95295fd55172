/*
 * Adds up the host's time by what a core is doing, read from the processor's time-stamp counter at
 * each change.
 */
#include "sim/observe/host_watch.h"

#include "base/arena.h"
#include "sim/machine/machine_impl.h"

#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#define TRIES 1000                      /* to find what reading the time takes */

struct host_watch {
    bool (*is_collective)(const char *note);
    uint64_t cost;                      /* ticks that reading them takes */
    uint64_t started;
    double started_seconds;
    struct core_watch *core;
    bool is_parallel;
    uint64_t began;                     /* what was begun last */
    uint64_t launch_ticks, cores_ticks, transfer_ticks, transfer_elapsed;
    uint64_t cores_began;
    int64_t launches, repeats, kernels;
};

static const struct part_text {
    const char *name, *meaning;
} texts[HOST_PART_COUNT] = {
    [HOST_MXU] = {"matrix units", "pushes, products and their results"},
    [HOST_VECTOR] = {"vectors", "arithmetic of VALU, EUP and XLU, masks, random numbers"},
    [HOST_MEMORY] = {"loads and stores", "of VMEM and CMEM"},
    [HOST_COPY] = {"copies", "contents of DMA"},
    [HOST_COLLECTIVE] = {"collectives", "copies and arithmetic in their kernels"},
    [HOST_ENGINE] = {"engine", "issue, scalar operations; cycles, where a launch is simulated"},
    [HOST_TRANSFER] = {"upload and download", "between launches"},
    [HOST_AROUND] = {"around", "the rest of the command: data, reports"},
    [HOST_MEASURING] = {"measuring", "what this table takes"},
    [HOST_WAITING] = {"waiting", "host threads without work"},
};

const char *host_part_name(enum host_part part)
{
    return texts[part].name;
}

const char *host_part_meaning(enum host_part part)
{
    return texts[part].meaning;
}

static double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline uint64_t ticks_now(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    return (uint64_t)(1e9 * seconds_now());
#endif
}

static uint64_t cost_of_ticks(void)
{
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < TRIES; i++) {
        uint64_t from = ticks_now(), took = ticks_now() - from;

        least = took < least ? took : least;
    }
    return least;
}

void machine_watch_host(struct machine *m, bool (*is_collective)(const char *note))
{
    struct host_watch *h = mem_alloc(sizeof(*h));

    h->is_collective = is_collective;
    h->cost = cost_of_ticks();
    h->core = mem_alloc((size_t)m->core_count * sizeof(*h->core));
    for (int i = 0; i < m->core_count; i++) {
        h->core[i].all = h;
        m->core[i].watch = &h->core[i];
    }
    h->started = ticks_now();
    h->started_seconds = seconds_now();
    m->watch = h;
}

void host_watch_destroy(struct host_watch *h, struct machine *m)
{
    if (!h)
        return;
    for (int i = 0; i < m->core_count; i++)
        mem_free(h->core[i].is_collective);
    mem_free(h->core);
    mem_free(h);
}

/* ---- what a core does ---- */

static inline void switch_to(struct core_watch *w, enum host_part part)
{
    uint64_t now;

    if (part == w->now)
        return;
    now = ticks_now();
    w->ticks[w->now] += now - w->since;
    w->since = now;
    w->now = part;
    w->switches++;
}

static enum host_part part_of(const struct decoded_op *o)
{
    const struct isa_info *info;

    if (o->code == OP_COUNT)            /* out of a temporary */
        return HOST_VECTOR;
    info = isa_info((enum isa_opcode)o->code);
    switch (info->unit) {
    case UNIT_MXU: return HOST_MXU;
    case UNIT_LOAD: case UNIT_STORE: return HOST_MEMORY;
    case UNIT_DMA: return HOST_COPY;
    case UNIT_SCALAR: return HOST_ENGINE;
    default:
        return info->latency_class == CLASS_SYNC || info->latency_class == CLASS_SYNC_RD
                   ? HOST_ENGINE : HOST_VECTOR;
    }
}

static bool is_in_collective(const struct core *c)
{
    const struct core_watch *w = c->watch;

    return w->is_collective && c->program && w->is_collective[c->pc];
}

void host_execute(struct core *c, const struct decoded_bundle *b, const uint8_t *list,
                  uint32_t count)
{
    const struct decoded_op *op = &c->program->op[b->first_op];
    bool is_collective = is_in_collective(c);

    for (uint32_t i = 0; i < count && c->state == CORE_RUNNING; i++) {
        const struct decoded_op *o = &op[list[i]];

        if (!(c->live >> list[i] & 1u))
            continue;
        switch_to(c->watch, is_collective && o->track != TRACK_SCALAR ? HOST_COLLECTIVE
                                                                      : part_of(o));
        o->exec(c, o);
    }
    switch_to(c->watch, HOST_ENGINE);
}

/* which bundles have notes of collective kernels */
static void mark_collectives(struct core *c)
{
    const struct isa_program *p = c->program->source;
    struct core_watch *w = c->watch;
    bool *is_note = mem_alloc((p->note_count + 1) * sizeof(*is_note));

    for (uint32_t i = 0; i < p->note_count; i++)
        is_note[i + 1] = w->all->is_collective(p->note[i]);
    w->is_collective = mem_alloc(c->program->bundle_count + 1);
    for (uint32_t i = 0; i < p->bundle_count; i++)
        w->is_collective[i] = is_note[p->bundle[i].note];
    mem_free(is_note);
}

void host_core_forget(struct core *c)
{
    mem_free(c->watch->is_collective);
    c->watch->is_collective = NULL;
    c->watch->program = NULL;
}

void host_core_begin(struct core *c)
{
    struct core_watch *w = c->watch;

    if (w->program != c->program && w->all->is_collective)
        mark_collectives(c);
    w->program = c->program;
    w->is_running = true;
    w->now = HOST_ENGINE;
    w->since = ticks_now();
}

void host_core_end(struct core *c)
{
    switch_to(c->watch, HOST_PART_COUNT - 1);   /* ends what was worked on */
    c->watch->is_running = false;
}

enum host_part host_part_begin(struct core *c, enum host_part part)
{
    struct core_watch *w = c->watch;
    enum host_part before = w->now;

    if (!w->is_running) {               /* a last copy, after the halt */
        w->now = HOST_ENGINE;
        w->since = ticks_now();
    }
    switch_to(w, is_in_collective(c) ? HOST_COLLECTIVE : part);
    return before;
}

void host_part_end(struct core *c, enum host_part before)
{
    switch_to(c->watch, c->watch->is_running ? before : HOST_ENGINE);
}

/* ---- what the machine does ---- */

void host_launch_begin(struct machine *m)
{
    m->watch->began = ticks_now();
}

void host_launch_end(struct machine *m)
{
    m->watch->launch_ticks += ticks_now() - m->watch->began;
}

void host_launch_over(struct machine *m, bool is_repeat, int64_t kernels)
{
    host_launch_end(m);
    m->watch->launches++;
    m->watch->repeats += is_repeat;
    m->watch->kernels = kernels;
}

void host_cores_begin(struct machine *m)
{
    m->watch->cores_began = ticks_now();
}

void host_cores_end(struct machine *m)
{
    m->watch->cores_ticks += ticks_now() - m->watch->cores_began;
}

/* what several threads do counts as a whole */
void host_transfer_begin(struct machine *m)
{
    if (!m->watch->is_parallel)
        m->watch->began = ticks_now();
}

void host_transfer_end(struct machine *m)
{
    uint64_t took;

    if (m->watch->is_parallel)
        return;
    took = ticks_now() - m->watch->began;
    m->watch->transfer_ticks += took;
    m->watch->transfer_elapsed += took;
}

struct timed {
    void (*fn)(void *context, int index);
    void *context;
    uint64_t *ticks;                    /* by index */
};

static void run_timed(void *context, int index)
{
    struct timed *t = context;
    uint64_t from = ticks_now();

    t->fn(t->context, index);
    t->ticks[index] = ticks_now() - from;
}

void machine_parallel(struct machine *m, int count, void (*fn)(void *context, int index),
                      void *context)
{
    struct host_watch *h = m->watch;
    struct timed t = {fn, context, NULL};
    uint64_t from;

    if (!h) {
        machine_launch_parallel(m, count, fn, context);
        return;
    }
    from = ticks_now();
    t.ticks = mem_alloc((size_t)count * sizeof(*t.ticks));
    h->is_parallel = true;
    machine_launch_parallel(m, count, run_timed, &t);
    h->is_parallel = false;
    h->transfer_elapsed += ticks_now() - from;
    for (int i = 0; i < count; i++)
        h->transfer_ticks += t.ticks[i];
    mem_free(t.ticks);
}


/* ---- the table ---- */

static void add_core(const struct core_watch *w, uint64_t cost, double *ticks)
{
    for (int part = 0; part < HOST_PART_COUNT; part++)
        ticks[part] += (double)w->ticks[part];
    ticks[HOST_MEASURING] += (double)(w->switches * cost);
}

/* each reading of the time was a part's; it is taken from all in proportion to their own */
static void take_measuring(double *ticks)
{
    double work = 0;

    for (int part = 0; part <= HOST_ENGINE; part++)
        work += ticks[part];
    if (work <= 0)
        return;
    if (ticks[HOST_MEASURING] > work)
        ticks[HOST_MEASURING] = work;
    for (int part = 0; part <= HOST_ENGINE; part++)
        ticks[part] -= ticks[HOST_MEASURING] * ticks[part] / work;
}

void machine_host_times(const struct machine *m, struct host_times *t)
{
    const struct host_watch *h = m->watch;
    double ticks[HOST_PART_COUNT] = {0}, elapsed, per_tick, rest;

    memset(t, 0, sizeof(*t));
    if (!h)
        return;
    elapsed = (double)(ticks_now() - h->started);
    for (int i = 0; i < m->core_count; i++)
        add_core(&h->core[i], h->cost, ticks);
    take_measuring(ticks);
    ticks[HOST_ENGINE] += (double)(h->launch_ticks - h->cores_ticks);   /* on one thread */
    ticks[HOST_TRANSFER] = (double)h->transfer_ticks;
    ticks[HOST_AROUND] = elapsed - (double)(h->launch_ticks + h->transfer_elapsed);
    t->elapsed_seconds = seconds_now() - h->started_seconds;
    t->thread_count = m->options.thread_count;
    per_tick = t->elapsed_seconds / elapsed;
    t->all_seconds = rest = t->elapsed_seconds * t->thread_count;
    for (int i = 0; i < HOST_WAITING; i++) {
        t->seconds[i] = ticks[i] * per_tick;
        rest -= t->seconds[i];
    }
    t->seconds[HOST_WAITING] = rest > 0 ? rest : 0;
    t->launches = h->launches;
    t->repeats = h->repeats;
    t->kernels = h->kernels;
}
