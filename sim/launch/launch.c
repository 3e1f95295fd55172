/*
 * A launch: from quiesced to all cores halted, in rounds of a parallel and a
 * serial phase, with pauses wherever the caller wants them.
 */
#include "sim/launch/launch.h"

#include "base/progress.h"
#include "sim/check/checks.h"
#include "sim/check/deadlock.h"
#include "sim/core/vregs.h"
#include "sim/fastpath/launch_memo.h"
#include "sim/fastpath/memo.h"
#include "sim/fastpath/replay.h"
#include "sim/machine/machine_impl.h"
#include "sim/observe/host_watch.h"
#include "sim/observe/tracing.h"

#include <stdio.h>
#include <string.h>

#define PROGRESS_SECONDS 0.1            /* between two calls of whom progress is told to, about */
#define PROGRESS_CYCLES_MIN 100000

static void start_checks(struct machine *m)
{
    bool is_reached = false;

    if (!m->options.check_races && !m->options.check_unwritten)
        return;
    for (size_t p = 0; p < m->program_count; p++)
        is_reached = is_reached || race_may_reach_others(m->program[p]);
    for (int i = 0; i < m->core_count; i++)
        checks_launch(m->core[i].checks, is_reached);
}

static void launch_core(void *context, int core)
{
    struct machine *m = context;
    struct core *c = &m->core[core];

    core_launch(c, m->options.cycle_limit > 0 ? m->options.cycle_limit : CYCLE_NEVER);
    if (c->memo && c->program)
        memo_reset(c->memo);
}

void launch_reset(struct machine *m)
{
    launch_memo_forget(m);
    replay_forget(m);
    for (int i = 0; i < m->chip_count; i++)
        hbm_reset(m->hbm[i]);
    if (m->net)
        net_reset(m->net);
    dma_reset(m);
    m->queue.count = 0;
    m->now_ps = 0;
    m->runnable_count = 0;
    m->is_complete = false;
    memset(&m->fault, 0, sizeof(m->fault));
    machine_launch_parallel(m, m->core_count, launch_core, m);
    start_checks(m);
}

void machine_start(struct machine *m)
{
    if (m->watch)
        host_launch_begin(m);
    launch_reset(m);
    tracing_reset(m, 0);
    if (m->watch)
        host_launch_end(m);
}

/* of several, the earliest; of several at one cycle, that of the lowest core */
static const struct fault *first_fault(const struct machine *m)
{
    const struct fault *first = NULL;

    for (int i = 0; i < m->core_count; i++) {
        const struct core *c = &m->core[i];

        if (c->state == CORE_FAULTED && (!first || c->fault.cycle < first->cycle))
            first = &c->fault;
        if (c->late_fault.kind != FAULT_NONE && (!first || c->late_fault.cycle < first->cycle))
            first = &c->late_fault;
    }
    return first;
}

static void find_open_flag(struct machine *m)
{
    struct fault *f = &m->fault;

    for (int i = 0; i < m->core_count; i++) {
        const struct core *c = &m->core[i];

        if (c->is_listing)              /* a kernel may leave a copy to the next one */
            continue;
        for (int flag = 0; c->program && flag < m->chip.sync_flags; flag++) {
            size_t length;

            if (c->flag[flag] == 0)
                continue;
            *f = (struct fault){.kind = FAULT_FLAG, .core = i, .cycle = c->halted_at - 1,
                                .bundle = c->pc,
                                .line = c->program->source->bundle[c->pc].line};
            length = (size_t)core_print_place(c, f->cycle, f->msg, sizeof(f->msg));
            snprintf(f->msg + length, sizeof(f->msg) - length,
                     "sync flag %d is %d at halt; it must be 0", flag, (int)c->flag[flag]);
            return;
        }
    }
}

static void stop_at(struct machine *m, cycle_t cycle)
{
    int64_t mhz = m->chip.chip_clock_mhz;

    m->stop_ps = cycle / mhz < PS_NEVER / CLOCK_PS_PER_US - 1 ? clock_edge_ps(mhz, cycle)
                                                              : PS_NEVER;
    for (int i = 0; i < m->core_count; i++)
        m->core[i].stop_at = cycle;
}

static void collect_runnable(struct machine *m)
{
    m->runnable_count = 0;
    for (int i = 0; i < m->core_count; i++) {
        struct core *c = &m->core[i];

        if (c->state == CORE_PAUSED)
            c->state = CORE_RUNNING;
        if (c->state == CORE_RUNNING)
            m->runnable[m->runnable_count++] = i;
    }
}

/* after a fault the other cores come up to its cycle: one of them may be earlier */
static cycle_t stop_behind_fault(struct machine *m, cycle_t until)
{
    const struct fault *fault = first_fault(m);

    if (!fault || fault->cycle + 1 >= until)
        return until;
    stop_at(m, fault->cycle + 1);
    return fault->cycle + 1;
}

static void run_core(void *context, int core)
{
    struct machine *m = context;

    core_run(&m->core[core]);
}

static void run_runnable(struct machine *m)
{
    if (m->watch)
        host_cores_begin(m);
    rounds_run(m->rounds, run_core, m, m->runnable, m->runnable_count);
    if (m->watch)
        host_cores_end(m);
}

static void run_rounds(struct machine *m, cycle_t until)
{
    uint32_t saved = simd_thread_begin();

    stop_at(m, until);
    collect_runnable(m);
    do {
        if (m->runnable_count > 0)
            run_runnable(m);
        until = stop_behind_fault(m, until);
        serial_phase(m);
        until = stop_behind_fault(m, until);
    } while (m->runnable_count > 0);
    for (int i = 0; i < m->core_count; i++)
        vregs_settle_all(&m->core[i]);  /* of those that still wait */
    simd_thread_end(saved);
}

static bool is_paused(const struct machine *m)
{
    for (int i = 0; i < m->core_count; i++)
        if (m->core[i].state == CORE_PAUSED)
            return true;
    return m->queue.count > 0;
}

static enum machine_status advance(struct machine *m, cycle_t until)
{
    const struct fault *fault;

    if (m->fault.kind != FAULT_NONE)
        return MACHINE_FAULTED;
    tracing_begin(m);
    for (int i = 0; i < m->core_count; i++)
        if (m->core[i].memo)
            memo_forget(m->core[i].memo);
    run_rounds(m, until);
    tracing_hand_over(m);
    fault = first_fault(m);
    if (fault)
        m->fault = *fault;
    else if (is_paused(m))
        return MACHINE_PAUSED;
    else if (!deadlock_find(m))
        m->is_complete = true;
    if (!fault && m->is_complete)
        find_open_flag(m);
    return m->fault.kind == FAULT_NONE ? MACHINE_HALTED : MACHINE_FAULTED;
}

enum machine_status machine_advance(struct machine *m, cycle_t until)
{
    enum machine_status status;

    if (m->watch)
        host_launch_begin(m);
    status = advance(m, until);
    if (m->watch)
        host_launch_end(m);
    return status;
}

/* a core's next bundle, an event, or what a blocked core still has to ask */
cycle_t machine_next_cycle(const struct machine *m)
{
    cycle_t next = CYCLE_NEVER;

    if (m->queue.count > 0)
        next = clock_cycle_at(m->chip.chip_clock_mhz, m->queue.item[0].at);
    for (int i = 0; i < m->core_count; i++) {
        const struct core *c = &m->core[i];
        cycle_t at = c->is_resumed ? c->pending.at : c->now;

        if ((c->state == CORE_RUNNING || c->state == CORE_PAUSED) && at < next)
            next = at;
    }
    return next;
}

static void apply_last_copies(void *context, int core)
{
    struct core *c = &((struct machine *)context)->core[core];

    core_apply_copies(c, c->copy_count);
}

static void finish_counters(void *context, int core)
{
    struct machine *m = context;

    core_finish_counters(&m->core[core], m->cycles, m->is_complete);
}

void machine_finish(struct machine *m)
{
    m->cycles = 0;
    if (m->watch)
        host_launch_begin(m);
    tracing_begin(m);
    machine_launch_parallel(m, m->core_count, apply_last_copies, m);
    for (int i = 0; i < m->chip_count; i++)
        hbm_settle(m->hbm[i]);
    for (int i = 0; i < m->core_count; i++) {
        struct core *c = &m->core[i];

        if (c->checks)
            checks_finish(c->checks);
        if (c->now > m->cycles)
            m->cycles = c->now;
    }
    if (first_fault(m) && m->fault.kind == FAULT_NONE)
        m->fault = *first_fault(m);     /* of a copy that nobody has waited for */
    machine_launch_parallel(m, m->core_count, finish_counters, m);
    tracing_end(m);
    if (m->watch)
        host_launch_over(m, false, machine_memo_stats(m).kernels);
}

static bool repeat(struct machine *m)
{
    bool is_repeat;

    if (m->tracing->next)
        return false;
    if (m->watch)
        host_launch_begin(m);
    is_repeat = launch_memo_repeat(m) || replay_launch(m);
    if (m->watch && is_repeat)
        host_launch_over(m, true, machine_memo_stats(m).kernels);
    else if (m->watch)
        host_launch_end(m);
    return is_repeat;
}

void machine_set_progress(struct machine *m, machine_progress_fn *tell, void *context)
{
    m->tell_progress = tell;
    m->progress_context = context;
}

/* in pieces, so long that telling costs nothing beside them */
static void advance_and_tell(struct machine *m)
{
    cycle_t piece = PROGRESS_CYCLES_MIN, until = machine_next_cycle(m) + piece;
    double began_s = progress_seconds();

    while (machine_advance(m, until) == MACHINE_PAUSED) {
        double took_s = progress_seconds() - began_s;

        m->tell_progress(m->progress_context, until);
        if (took_s < PROGRESS_SECONDS / 2)
            piece *= 2;
        else if (took_s > 2 * PROGRESS_SECONDS && piece > PROGRESS_CYCLES_MIN)
            piece /= 2;
        began_s += took_s;
        until = piece + (machine_next_cycle(m) > until ? machine_next_cycle(m) : until);
    }
}

void machine_advance_to_end(struct machine *m)
{
    if (m->tell_progress && machine_mode(m) != MODE_FUNCTIONAL)
        advance_and_tell(m);
    else
        machine_advance(m, CYCLE_NEVER);
}

int machine_run(struct machine *m, struct err *e)
{
    if (repeat(m))
        return 0;
    machine_start(m);
    launch_memo_begin(m);
    replay_begin(m);
    machine_advance_to_end(m);
    machine_finish(m);
    launch_memo_end(m);
    replay_end(m);
    return m->fault.kind == FAULT_NONE ? 0 : err_set(e, "%s", m->fault.msg);
}
