/*
 * The issue loop: one bundle after the other, each at the earliest cycle that
 * all its constraints allow.
 */
#include "sim/core/core.h"
#include "sim/core/hooks.h"
#include "sim/core/issue.h"
#include "sim/core/overlay.h"
#include "sim/core/stream.h"
#include "sim/core/timing.h"
#include "sim/core/vregs.h"

#include <assert.h>

uint32_t issue_guards_that_hold(const struct core *c, const struct decoded_bundle *b)
{
    const struct decoded_op *op = &c->program->op[b->first_op];
    const uint8_t *guarded = decoded_guarded(c->program, b);
    uint32_t live = ~0u;

    for (uint32_t i = 0; i < b->guarded_count; i++) {
        const struct decoded_op *o = &op[guarded[i]];

        if (c->p[o->guard] == o->guard_is_negated)
            live &= ~(1u << guarded[i]);
    }
    return live;
}

/* registers, units, FIFOs: everything this core can answer itself */
static inline struct issue_time wait_of_bundle(struct core *c, const struct decoded_bundle *b)
{
    const struct decoded_program *p = c->program;
    const struct decoded_op *op = &p->op[b->first_op];
    const uint8_t *check = decoded_checks(p, b), *wait = decoded_waits(p, b);
    struct issue_time t = {c->now, STALL_COUNT};
    cycle_t ready_at = 0;

    for (uint32_t i = 0; i < b->check_count; i++)
        ready_at = later(ready_at, c->ready_at[check[i]]);
    if (ready_at > t.at)
        t = (struct issue_time){ready_at, STALL_OPERAND};
    c->issue_at = c->now;
    c->bank_extra = b->bank_extra;
    c->live = b->has_guard ? issue_guards_that_hold(c, b) : ~0u;
    for (uint32_t i = 0; i < b->wait_count; i++)
        if (c->live >> wait[i] & 1u)
            timing_wait(c, &op[wait[i]], &t);
    if (c->delay_until >= t.at)
        issue_not_before(&t, c->delay_until, STALL_DELAY);
    if (b->is_entry)
        overlay_wait(c, &t);
    return t;
}

/* the question's flag and value come from the core, the rest from `e` */
static void block(struct core *c, const struct decoded_op *o, struct event e, cycle_t at)
{
    c->wait_code = o->code;
    c->is_waiting = false;
    c->state = CORE_BLOCKED;
    e.flag = c->wait_flag;
    e.value = c->wait_value;
    core_post(c, at, &e);
}

/* `needed`: DMAs of the bundle so far, this one included */
static void ask_for_queue(struct core *c, const struct decoded_op *o, int needed, cycle_t at)
{
    c->wait_flag = 0;
    c->wait_value = needed;
    block(c, o, (struct event){.kind = EVENT_QUEUE, .target = c->number}, at);
}

static enum event_kind question_of(const struct decoded_op *o)
{
    switch (o->code) {
    case OP_VSYNCSET: case OP_VSYNCPA: return EVENT_SET;
    case OP_VSYNCMOV: return EVENT_READ;
    case OP_VSYNCMOV_R: return EVENT_REMOTE_READ;
    default: return EVENT_WAIT;
    }
}

static void ask_for_flag(struct core *c, const struct decoded_op *o, cycle_t at)
{
    enum event_kind kind = question_of(o);
    bool is_read = kind == EVENT_READ || kind == EVENT_REMOTE_READ;
    int32_t target = kind == EVENT_REMOTE_READ ? c->s[o->o[2]] : c->number;

    c->issue_at = at;                   /* of a fault */
    c->wait_flag = c->s[o->o[is_read ? 1 : 0]];
    c->wait_value = is_read || o->code == OP_VSYNCPA ? 0 : c->s[o->o[1]];
    if (core_check_flag(c, o, c->wait_flag) && core_check_core(c, o, target))
        block(c, o, (struct event){.kind = (uint8_t)kind, .target = target,
                                   .slot = is_read ? o->o[0] : 0}, at);
}

/* Put the next question of the bundle, if it has one; false when the core must wait for it. */
static bool settle_sync(struct core *c, const struct decoded_bundle *b, cycle_t at)
{
    const struct decoded_program *p = c->program;
    int seen = 0, dmas = 0;

    for (uint32_t i = 0; i < b->special_count; i++) {
        uint16_t index = p->special[b->first_special + i];
        const struct decoded_op *o = &p->op[b->first_op + index];

        if ((o->timing != TIMING_DMA && o->timing != TIMING_WAIT) || !(c->live >> index & 1u))
            continue;
        if (o->timing == TIMING_DMA)
            dmas++;
        if (seen++ < c->sync_done)
            continue;
        if (o->timing == TIMING_DMA && c->dma_free_count >= dmas) {
            c->sync_done++;
            continue;
        }
        if (o->timing == TIMING_DMA)
            ask_for_queue(c, o, dmas, at);
        else
            ask_for_flag(c, o, at);
        return false;
    }
    return true;
}

void core_wake(struct core *c, cycle_t at, enum stall_reason reason, cycle_t resume_cycles)
{
    assert(c->state == CORE_BLOCKED && at >= c->pending.at);
    if (reason != STALL_COUNT) {
        c->pending = (struct issue_time){at, reason};
        c->resume_cycles += resume_cycles;
    }
    c->sync_done++;
    c->is_resumed = true;
    c->state = CORE_RUNNING;
}

#define COPY_STALLS (1u << STALL_HBM | 1u << STALL_ICI | 1u << STALL_DMA_QUEUE | 1u << STALL_SYNC)

void issue_charge(struct core *c, const struct decoded_bundle *b, const struct issue_time *t,
                  cycle_t at)
{
    cycle_t resumed_from = t->at - c->resume_cycles;

    if (t->at > c->now) {
        c->stall_cycles[t->reason] += resumed_from - c->now;
        c->stall_cycles[STALL_SYNC] += c->resume_cycles;
    }
    c->stall_cycles[STALL_BANK] += at - t->at;
    c->bundle_stall[c->pc] += at - c->now;
    if (t->at > c->now)                 /* to resume is STALL_SYNC, also behind a wait for CMEM */
        c->bundle_copies[c->pc].stall_cycles += 1u << t->reason & COPY_STALLS ? t->at - c->now
                                                                              : c->resume_cycles;
    core_count_wait(c, b, c->now, at);
    if (c->recorder)
        c->hooks->recorder.stall(c, t, at);
}

/* results and counters of operations under a guard that holds */
void issue_commit_guarded(struct core *c, const struct decoded_bundle *b, cycle_t at)
{
    const struct decoded_op *op = &c->program->op[b->first_op];
    const uint8_t *guarded = decoded_guarded(c->program, b);
    uint32_t busy = 0;

    if (c->recorder && c->live != ~0u)
        c->hooks->recorder.live(c, b, at);
    for (uint32_t i = 0; i < b->guarded_count; i++) {
        const struct decoded_op *o = &op[guarded[i]];

        if (!(c->live >> guarded[i] & 1u) || o->code == OP_COUNT)
            continue;
        if (o->reg != REG_NONE)
            c->ready_at[o->reg] = at + o->latency;
        c->guarded_count[o->source]++;
        busy |= 1u << o->track & TRACKS_SIMPLE;
    }
    for (busy &= ~b->busy_tracks; busy; busy &= busy - 1)
        c->busy_cycles[__builtin_ctz(busy)]++;
}

static inline void commit_times(struct core *c, const struct decoded_bundle *b, cycle_t at)
{
    const struct decoded_program *p = c->program;
    const struct decoded_op *op = &p->op[b->first_op];
    const uint8_t *take = decoded_takes(p, b);
    const struct decoded_def *def = &p->def[b->first_def];

    for (uint32_t i = 0; i < b->take_count; i++)
        if (c->live >> take[i] & 1u)
            timing_take(c, &op[take[i]], at);
    for (uint32_t i = 0; i < b->def_count; i++)
        c->ready_at[def[i].reg] = at + def[i].latency;
}

void issue_jump(struct core *c)
{
    uint32_t from = c->pc;

    c->pc = c->branch_target;
    if (c->recorder)
        c->hooks->recorder.jump(c);
    if (c->memo && c->pc <= from)
        c->hooks->memo.visit(c, from);
}

static void advance(struct core *c)
{
    c->bundle_count[c->pc]++;
    if (c->halts) {
        c->state = CORE_HALTED;
        c->halted_at = c->now;
        if (c->recorder)
            c->hooks->recorder.halt(c);
        return;
    }
    if (c->branch_in > 0 && --c->branch_in == 0)
        issue_jump(c);
    else
        c->pc++;
}

static inline void execute(struct core *c, const struct decoded_bundle *b, const uint8_t *list,
                           uint32_t count)
{
    const struct decoded_op *op = &c->program->op[b->first_op];

    for (uint32_t i = 0; i < count && c->state == CORE_RUNNING; i++)
        if (c->live >> list[i] & 1u)
            op[list[i]].exec(c, &op[list[i]]);
}

bool issue_execute(struct core *c, const struct decoded_bundle *b, cycle_t at)
{
    (c->watch ? c->hooks->watch.execute : execute)(c, b, decoded_execs(c->program, b),
                                                   b->exec_count);
    vregs_drop(c, b);
    if (c->state == CORE_RUNNING)
        return true;
    c->now = at;                        /* the wait counts, the bundle does not */
    return false;
}

static inline void issue(struct core *c, const struct decoded_bundle *b,
                         const struct issue_time *t)
{
    cycle_t at = t->at + c->bank_extra;

    if (at > c->now)
        issue_charge(c, b, t, at);
    c->issue_at = at;
    if (at >= c->limit)
        core_fault(c, FAULT_NO_HALT, "still running at the cycle limit of %lld",
                   (long long)c->limit);
    else
        commit_times(c, b, at);
    if (b->is_entry)
        overlay_enter(c, at);
    if (c->recorder && c->tells_accesses)
        c->hooks->recorder.accesses(c, b, at);
    if (c->origins)
        c->hooks->origins.bundle(c->origins, c, b);
    if (!issue_execute(c, b, at))
        return;
    if (b->has_guard)
        issue_commit_guarded(c, b, at);
    c->now = at + 1;
    advance(c);
}

/* stop in front of a bundle whose time is known */
static void pause(struct core *c, const struct issue_time *t)
{
    c->pending = *t;
    c->is_resumed = true;
    c->state = CORE_PAUSED;
}

/* the sync operations of a bundle, and pauses: false when it does not issue now */
static bool may_issue(struct core *c, const struct decoded_bundle *b, const struct issue_time *t)
{
    if (t->at >= c->stop_at) {
        pause(c, t);
        return false;
    }
    if (!settle_sync(c, b, t->at)) {
        c->pending = *t;
        return false;
    }
    return c->state == CORE_RUNNING;
}

static void fault_at_end(struct core *c)
{
    core_fault(c, FAULT_NO_HALT, "ran past the last bundle (%u) without shalt",
               (unsigned)c->program->bundle_count - 1);
}

void issue_finish(struct core *c, const struct decoded_bundle *b, const struct issue_time *t)
{
    if (b->has_sync && !may_issue(c, b, t))
        return;
    if (t->at + c->bank_extra >= c->stop_at)
        pause(c, t);
    else
        issue(c, b, t);
}

static void step(struct core *c)
{
    const struct decoded_bundle *b = &c->program->bundle[c->pc];
    struct issue_time t;

    if (b->is_end) {
        fault_at_end(c);
        return;
    }
    t = wait_of_bundle(c, b);
    c->sync_done = 0;
    c->resume_cycles = 0;
    if (c->mode == MODE_FUNCTIONAL) {   /* faults apart, nothing waits */
        t = (struct issue_time){c->now, STALL_COUNT};
        c->bank_extra = 0;
    }
    if (c->state == CORE_RUNNING)
        issue_finish(c, b, &t);
}

static void resume(struct core *c)
{
    struct issue_time t = c->pending;

    c->is_resumed = false;
    issue_finish(c, &c->program->bundle[c->pc], &t);
}

static void issue_run(struct core *c, bool has_stream)
{
    if (c->state == CORE_RUNNING && c->is_resumed)
        resume(c);
    while (c->state == CORE_RUNNING) {
        if (has_stream)
            stream_run(c);
        if (c->state == CORE_RUNNING)
            step(c);
    }
}

void core_run(struct core *c)
{
    bool tells_accesses = c->recorder && c->tells_accesses;
    bool has_stream = c->mode == MODE_TIMING && !c->checks && !tells_accesses;

    c->borrows = c->mode != MODE_TIMING && !c->checks && !c->is_listing
                 && c->stop_at == CYCLE_NEVER;
    if (c->watch)
        c->hooks->watch.core_begin(c);
    core_apply_copies(c, c->copy_visible);
    if (c->state == CORE_RUNNING && c->replay)
        c->hooks->replay.run(c);
    else
        issue_run(c, has_stream);
    if (c->watch)
        c->hooks->watch.core_end(c);
    if (c->state != CORE_BLOCKED)
        vregs_settle_all(c);
}
