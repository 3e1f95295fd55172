/*
 * Runs a logged launch again for its values: cores go on as the log's copies arrive, on several
 * threads.
 */
#include "sim/fastpath/replay.h"

#include "base/arena.h"
#include "sim/observe/host_watch.h"
#include "sim/fastpath/core_keep.h"
#include "sim/fastpath/launch_log.h"
#include "sim/machine/machine_impl.h"
#include "sim/fastpath/origins.h"
#include "sim/machine/ready_cores.h"
#include "sim/fastpath/dedup.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#define KEPT_MAX (512 * MIB)            /* of memories, all cores together */
#define HELD_MAX (64 * MIB)             /* of copies under way, before senders let others run */
#define BREAKS_MAX 2                    /* launches in a row that turned out to be others */

#define NOWHERE (-1)

/* A core in a launch that is repeated. */
struct replay_core {
    struct launch_log log;
    struct origins *origins;
    uint32_t *place;                    /* of its copies: where in the target's `here` */
    size_t place_count, place_capacity, here_capacity;
    _Atomic(struct dma *) *here;        /* by arrival: the copy, from its issue to its move */
    size_t asked, moved;                /* answers and copies so far */
    size_t leads_until;                 /* with this answer a kernel is over that others wait for */
    struct dedup_run taken;             /* a kernel that is left out now; no effect: none is */
    bool awaits_leader;                 /* the core that works out what this one is to take */
    bool lets_others;                   /* has gone to the end of those that are ready */
    _Atomic int64_t waits_for;          /* an arrival that is not here; NOWHERE: it does not wait */
    uint64_t *bundle_count, *guarded_count;     /* nobody looks at these */
    cycle_t *bundle_stall;
    struct bundle_copies *bundle_copies;
    struct core kept;                   /* with the results of the launch that was simulated */
    struct core_keep memory;            /* before the launch */
    struct replay *all;
};

struct replay {
    bool is_valid;                      /* results and logs are of the programs that are loaded */
    bool is_ready;                      /* and what follows from the logs is worked out */
    bool may_break;                     /* what counts may turn out to be other bytes on the way, */
                                        /* and the launch is simulated after all: */
    int breaks;                         /* launches in a row that were */
    _Atomic int64_t held_bytes;         /* that remote copies under way have taken along */
    int64_t count;
    struct machine *m;
    int core_count;
    struct replay_core *core;
    struct dedup *dedup;                /* NULL: each core works out all of its kernels */
    struct ready_cores ready;
};

struct replay *replay_create(struct machine *m)
{
    struct replay *r = mem_alloc(sizeof(*r));

    r->m = m;
    r->core_count = m->core_count;
    r->core = mem_alloc((size_t)m->core_count * sizeof(*r->core));
    ready_init(&r->ready, m->core_count);
    for (int i = 0; i < m->core_count; i++) {
        r->core[i].all = r;
        r->core[i].origins = origins_create(&m->chip);
    }
    if (!m->options.no_dedup)
        r->dedup = dedup_create(m->core_count);
    return r;
}

static void drop_scratch(struct replay_core *k)
{
    mem_free(k->bundle_count);
    mem_free(k->guarded_count);
    mem_free(k->bundle_stall);
    mem_free(k->bundle_copies);
    k->bundle_count = k->guarded_count = NULL;
    k->bundle_stall = NULL;
    k->bundle_copies = NULL;
}

void replay_destroy(struct replay *r)
{
    if (!r)
        return;
    for (int i = 0; i < r->core_count; i++) {
        struct replay_core *k = &r->core[i];

        origins_destroy(k->origins);
        launch_log_fini(&k->log);
        mem_free(k->place);
        mem_free(k->here);
        core_keep_free(&k->memory);
        drop_scratch(k);
    }
    ready_fini(&r->ready);
    dedup_destroy(r->dedup);
    mem_free(r->core);
    mem_free(r);
}

void replay_begin(struct machine *m)
{
    for (int i = 0; m->replay && i < m->core_count; i++) {
        struct replay_core *k = &m->replay->core[i];

        launch_log_begin(&k->log, &m->core[i]);
        m->core[i].log = &k->log;
        if (!m->core[i].program)
            continue;
        origins_begin(k->origins, &m->core[i]);
        m->core[i].origins = k->origins;
    }
}

static void stop_logging(struct machine *m)
{
    for (int i = 0; i < m->core_count; i++) {
        m->core[i].log = NULL;
        m->core[i].origins = NULL;
    }
}

/* whether a repeat may have to go back, and if so, whether all that it changes can be kept */
static void plan_keeping(struct replay *r)
{
    int64_t bytes = 0;

    r->may_break = false;
    for (int i = 0; i < r->core_count; i++) {
        const struct core *c = &r->m->core[i];

        if (!c->program)
            continue;
        r->may_break |= origins_has_late(r->core[i].origins);
        bytes += core_keep_bytes(c) + c->host_write_bytes
                 + origins_written_bytes(r->core[i].origins, HBM_STORE_PAGE_BYTES);
    }
    if (r->may_break && (bytes > KEPT_MAX || r->breaks >= BREAKS_MAX))
        r->is_valid = false;
}

void replay_end(struct machine *m)
{
    struct replay *r = m->replay;

    if (!r)
        return;
    stop_logging(m);
    r->is_valid = m->fault.kind == FAULT_NONE;
    for (int i = 0; i < m->core_count && r->is_valid; i++) {
        launch_log_end(&r->core[i].log);
        r->is_valid = !r->core[i].log.is_lost;
        if (!m->core[i].program)
            continue;
        r->is_valid &= origins_end(r->core[i].origins);
    }
    if (r->is_valid)
        plan_keeping(r);
}

void replay_forget(struct machine *m)
{
    if (!m->replay)
        return;
    m->replay->is_valid = m->replay->is_ready = false;
    stop_logging(m);
}

void replay_forget_program(struct machine *m, int core)
{
    replay_forget(m);
    if (!m->replay)
        return;
    m->replay->breaks = 0;
    core_keep_free(&m->replay->core[core].memory);
    hbm_store_free_kept(m->core[core].hbm);
    hbm_store_free_kept(m->core[core].host);
}

int64_t replay_count(const struct machine *m)
{
    return m->replay ? m->replay->count : 0;
}

int64_t replay_kernel_count(const struct machine *m)
{
    return m->replay && m->replay->dedup ? dedup_count(m->replay->dedup) : 0;
}

static void make_scratch(struct replay_core *k, const struct decoded_program *p)
{
    drop_scratch(k);
    k->bundle_count = mem_alloc(p->bundle_count * sizeof(*k->bundle_count));
    k->bundle_stall = mem_alloc(p->bundle_count * sizeof(*k->bundle_stall));
    k->bundle_copies = mem_alloc(p->bundle_count * sizeof(*k->bundle_copies));
    k->guarded_count = mem_alloc(p->source->op_count * sizeof(*k->guarded_count));
}

static void prepare_dedup(struct replay *r)
{
    struct dedup_input *in = mem_alloc((size_t)r->core_count * sizeof(*in));

    for (int i = 0; i < r->core_count; i++)
        in[i] = (struct dedup_input){r->m->core[i].program, &r->core[i].log.kernels,
                                     r->core[i].origins};
    dedup_prepare(r->dedup, in);
    mem_free(in);
}

/* where each copy of each core arrives */
static void make_ready(struct replay *r)
{
    for (int core = 0; core < r->core_count; core++) {
        struct replay_core *k = &r->core[core];

        k->place_count = r->m->core[core].dma_issued;
        k->place = mem_grow(k->place, &k->place_capacity, k->place_count + 1, sizeof(*k->place));
        if (r->m->core[core].program)
            make_scratch(k, r->m->core[core].program);
    }
    for (int core = 0; core < r->core_count; core++) {
        struct replay_core *k = &r->core[core];

        k->here = mem_grow(k->here, &k->here_capacity, k->log.arrival_count + 1,
                           sizeof(*k->here));
        for (size_t i = 0; i < k->log.arrival_count; i++) {
            const struct launch_arrival *a = &k->log.arrival[i];

            assert(a->number < r->core[a->from].place_count);
            r->core[a->from].place[a->number] = (uint32_t)i;
        }
    }
    if (r->dedup)
        prepare_dedup(r);
    r->is_ready = true;
}

static bool has_same_inputs(const struct replay *r)
{
    for (int i = 0; i < r->core_count; i++)
        if (r->m->core[i].program && !origins_are_same(r->core[i].origins, &r->m->core[i]))
            return false;
    return true;
}

/* a core runs on as in a launch, on counters that nobody looks at */
static void start(struct replay_core *k, struct core *c)
{
    k->asked = k->moved = 0;
    k->lets_others = k->awaits_leader = false;
    k->leads_until = SIZE_MAX;
    k->taken.effect = NULL;
    atomic_store(&k->waits_for, NOWHERE);
    if (!c->program)
        return;
    k->kept = *c;
    c->bundle_count = k->bundle_count;
    c->bundle_stall = k->bundle_stall;
    c->bundle_copies = k->bundle_copies;
    c->guarded_count = k->guarded_count;
    c->recorder = NULL;
    c->mode = MODE_FUNCTIONAL;
    core_launch(c, CYCLE_NEVER);
    c->stop_at = CYCLE_NEVER;
    c->replay = k;
    if (origins_has_late(k->origins)) {
        origins_compare(k->origins);
        c->origins = k->origins;
    }
}

static void keep_memories(struct replay_core *k, const struct core *c)
{
    core_keep(&k->memory, c);
    hbm_store_keep(c->hbm);
    hbm_store_keep(c->host);
}

static void put_back_memories(const struct replay_core *k, struct core *c)
{
    core_put_back(&k->memory, c);
    hbm_store_put_back(c->hbm);
    hbm_store_put_back(c->host);
}

/* as if nothing had happened; copies that have not arrived never do */
static void go_back(struct replay_core *k, struct core *c)
{
    for (size_t i = k->moved; i < k->log.arrival_count; i++) {
        struct dma *d = atomic_load(&k->here[i]);

        if (d)
            dma_drop_data(d);
        mem_free(d);
        atomic_store(&k->here[i], NULL);
    }
    put_back_memories(k, c);
    if (c->program)
        *c = k->kept;
}

/* all of a core is as it was, but for values */
static void finish(struct replay_core *k, struct core *c)
{
    struct core *to = &k->kept;

    if (!c->program)
        return;
    assert(c->state == CORE_HALTED && k->asked == k->log.answer_count);
    memcpy(to->p, c->p, sizeof(to->p));
    memcpy(to->m, c->m, sizeof(to->m));
    memcpy(to->iar, c->iar, sizeof(to->iar));
    to->smem_end = c->smem_end;
    to->rng_seed = c->rng_seed;
    to->rng_draw = c->rng_draw;
    to->trace_mask = c->trace_mask;
    to->eup = c->eup;
    to->crf = c->crf;
    to->v2s = c->v2s;
    to->drf = c->drf;
    memcpy(to->read_value, c->read_value, sizeof(to->read_value));
    *c = *to;
}

/*
 * A core waits for an arrival, and its copy is here: who of its threads and the sender's finds
 * so first lets it go on.
 */
static bool claim(struct replay_core *k, int64_t place)
{
    return atomic_compare_exchange_strong(&k->waits_for, &place, NOWHERE);
}

void replay_issue(struct core *c, const struct dma *d)
{
    struct replay_core *k = c->replay, *to = &k->all->core[d->target];
    struct dma *copy = mem_alloc(sizeof(*copy));
    int64_t place = k->place[d->number];

    assert(d->number < k->place_count);
    *copy = *d;
    if (d->data || d->held)
        atomic_fetch_add(&k->all->held_bytes, d->bytes);
    atomic_store(&to->here[place], copy);
    if (d->is_remote && claim(to, place))
        ready_put(&k->all->ready, d->target);
}

/* of a kernel that the core leaves out: what it brings is not wanted, or there already */
static bool is_left_out(const struct replay_core *k, const struct core *c, size_t arrival)
{
    const struct launch_arrival *a = &k->log.arrival[arrival];

    return k->taken.effect && a->from == (uint32_t)c->number
           && a->number - k->taken.run.first_copy < k->taken.effect->copies;
}

/* the contents of copies up to the arrival `until`; false: one has not been issued yet */
static bool move_copies(struct replay_core *k, struct core *c, size_t until)
{
    while (k->moved < until) {
        struct dma *d = atomic_load(&k->here[k->moved]);

        if (!d && is_left_out(k, c, k->moved)) {
            k->moved++;
            continue;
        }
        if (!d)
            return false;
        atomic_store(&k->here[k->moved++], NULL);
        if (d->data || d->held)
            atomic_fetch_sub(&k->all->held_bytes, d->bytes);
        copy_apply(c, d);
        mem_free(d);
        if (c->origins && origins_differ(c->origins)) {
            ready_break(&k->all->ready);
            return false;
        }
    }
    return !ready_is_broken(&k->all->ready);
}

/*
 * Flags that say that a receiver has room do not hold a sender up here; so that it does not run
 * far ahead it lets others run, if there are any, once for each of its questions.
 */
static bool let_others_run(struct replay_core *k)
{
    struct replay *r = k->all;

    k->lets_others = !k->lets_others && atomic_load(&r->held_bytes) > HELD_MAX
                     && atomic_load(&r->ready.count) > 0;
    return k->lets_others;
}

static bool is_question(const struct core *c, const struct decoded_op *o, int index)
{
    return o->timing == TIMING_WAIT && (c->live >> index & 1u);
}

/* cores that have waited for a leader go on */
static void put_waiters(struct replay *r, int core)
{
    while (core != NO_CORE) {
        int next = dedup_next_waiter(r->dedup, core);   /* not this one's any more once it runs */

        ready_put(&r->ready, core);
        core = next;
    }
}

/* a kernel is over that this core has worked out for others, too */
static void finish_leading(struct replay_core *k, struct core *c)
{
    enum host_part before = HOST_ENGINE;

    k->leads_until = SIZE_MAX;
    if (c->watch)
        before = host_part_begin(c, HOST_COPY);
    put_waiters(k->all, dedup_done(k->all->dedup, c));
    if (c->watch)
        host_part_end(c, before);
}

bool replay_settle(struct core *c, const struct decoded_bundle *b)
{
    const struct decoded_program *p = c->program;
    struct replay_core *k = c->replay;
    const struct launch_answer *a;
    int seen = 0;

    for (uint32_t i = 0; i < b->special_count; i++) {
        int index = p->special[b->first_special + i];
        const struct decoded_op *o = &p->op[b->first_op + (uint32_t)index];

        if (!is_question(c, o, index) || seen++ < c->sync_done)
            continue;
        assert(k->asked < k->log.answer_count);
        a = &k->log.answer[k->asked];
        if (let_others_run(k) || !move_copies(k, c, a->arrived)) {
            c->state = CORE_BLOCKED;
            return false;
        }
        if (o->code == OP_VSYNCMOV || o->code == OP_VSYNCMOV_R)
            c->read_value[o->o[0]] = a->value;
        k->asked++;
        c->sync_done++;
        if (k->asked == k->leads_until)
            finish_leading(k, c);
    }
    return true;
}

/* on behind a kernel whose copies have all moved, as if it had run */
static void leave_out(struct replay_core *k, struct core *c, const struct decoded_kernel *kernel)
{
    k->asked = k->taken.run.first_answer + k->taken.effect->answers;
    c->dma_issued += k->taken.effect->copies;
    if (c->origins)
        origins_skip(c->origins, k->taken.effect->smem_pieces);
    c->branch_in = 1;
    c->branch_target = kernel->end;
    k->taken.effect = NULL;
}

static void enter_kernel(struct replay_core *k, struct core *c)
{
    struct dedup_run run;

    k->awaits_leader = false;
    switch (dedup_enter(k->all->dedup, c, &run)) {
    case DEDUP_RUNS: break;
    case DEDUP_LEADS: k->leads_until = run.run.first_answer + run.effect->answers; break;
    case DEDUP_TAKES: k->taken = run; break;
    case DEDUP_WAITS:
        k->awaits_leader = true;
        c->state = CORE_BLOCKED;
        break;
    }
}

void replay_kernel(struct core *c, const struct decoded_kernel *kernel)
{
    struct replay_core *k = c->replay;
    enum host_part before = HOST_ENGINE;
    size_t last;

    if (!k->all->dedup || !kernel->is_alone)
        return;
    if (c->watch)
        before = host_part_begin(c, HOST_COPY);
    if (!k->taken.effect)
        enter_kernel(k, c);
    if (c->watch)
        host_part_end(c, before);
    if (!k->taken.effect)
        return;
    last = k->taken.run.first_answer + k->taken.effect->answers - 1;
    if (move_copies(k, c, k->log.answer[last].arrived))
        leave_out(k, c, kernel);
    else
        c->state = CORE_BLOCKED;
}

/* true when it has halted and all copies to it have moved; else it waits */
static bool run_core(struct replay_core *k, struct core *c)
{
    if (c->state == CORE_BLOCKED) {
        c->state = CORE_RUNNING;
        c->is_resumed = true;
        if (k->leads_until != SIZE_MAX)
            dedup_go_on(k->all->dedup, c->number);
    }
    if (c->state == CORE_RUNNING)
        core_run(c);
    return c->state != CORE_BLOCKED && move_copies(k, c, k->log.arrival_count);
}

/* true: somebody else wakes the core, which is not this thread's from here on */
static bool stop_core(struct replay *r, int core)
{
    struct replay_core *k = &r->core[core];
    int64_t place = (int64_t)k->moved;

    if (k->lets_others) {
        ready_put(&r->ready, core);
        return true;
    }
    if (k->awaits_leader)
        return ready_is_broken(&r->ready) || dedup_wait(r->dedup, core);
    if (k->leads_until != SIZE_MAX)
        put_waiters(r, dedup_stop(r->dedup, core));
    atomic_store(&k->waits_for, place);
    return ready_is_broken(&r->ready) || !atomic_load(&k->here[place]) || !claim(k, place);
}

static void run_cores(void *context, int thread)
{
    struct replay *r = context;
    int i;

    (void)thread;
    while ((i = ready_take(&r->ready)) != NO_CORE) {
        bool is_stopped = false;

        while (!is_stopped && !run_core(&r->core[i], &r->m->core[i]))
            is_stopped = stop_core(r, i);
        if (!is_stopped)
            ready_leave(&r->ready);
    }
}

static void start_core(void *context, int core)
{
    struct replay *r = context;

    start(&r->core[core], &r->m->core[core]);
}

static void keep_core(void *context, int core)
{
    struct replay *r = context;

    keep_memories(&r->core[core], &r->m->core[core]);
}

static void finish_core(void *context, int core)
{
    struct replay *r = context;

    if (ready_is_broken(&r->ready)) {
        go_back(&r->core[core], &r->m->core[core]);
        return;
    }
    if (r->may_break) {
        hbm_store_let_go(r->m->core[core].hbm);
        hbm_store_let_go(r->m->core[core].host);
    }
    finish(&r->core[core], &r->m->core[core]);
}

static void run_all(struct replay *r)
{
    int threads = r->m->options.thread_count;
    uint32_t saved = simd_thread_begin();

    threads = threads < r->core_count ? threads : r->core_count;
    atomic_store(&r->held_bytes, 0);
    if (r->may_break)
        machine_launch_parallel(r->m, r->core_count, keep_core, r);
    if (r->dedup)
        dedup_begin(r->dedup);
    machine_launch_parallel(r->m, r->core_count, start_core, r);
    ready_fill(&r->ready);
    if (r->m->watch)
        host_cores_begin(r->m);
    machine_launch_parallel(r->m, threads, run_cores, r);
    if (r->m->watch)
        host_cores_end(r->m);
    if (r->dedup)
        dedup_end(r->dedup, ready_is_broken(&r->ready));
    machine_launch_parallel(r->m, r->core_count, finish_core, r);
    simd_thread_end(saved);
}

bool replay_launch(struct machine *m)
{
    struct replay *r = m->replay;

    if (!r || !r->is_valid || !has_same_inputs(r))
        return false;
    if (!r->is_ready)
        make_ready(r);
    run_all(r);
    r->breaks = ready_is_broken(&r->ready) ? r->breaks + 1 : 0;
    r->count += !ready_is_broken(&r->ready);
    return !ready_is_broken(&r->ready);
}
