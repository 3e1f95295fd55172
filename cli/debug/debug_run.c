/*
 * Going forward: one advance of the machine after the other, as far as the next
 * cycle in which anything happens, until a goal is reached, a stop is hit or
 * the launch ends.
 */
#include "cli/debug/debug.h"

#include "base/units.h"
#include "cli/debug/trace_gate.h"

#include <stdatomic.h>

#define STRIDE_CYCLES 20000             /* between looks at Ctrl-C, where nothing else stops */

static atomic_bool is_interrupted;      /* set by a signal, on any thread */

void debug_interrupt(void)
{
    is_interrupted = true;
}

bool debug_has_ended(const struct debugger *d)
{
    return d->status != MACHINE_PAUSED;
}

int debug_expect_running(const struct debugger *d, struct err *e)
{
    if (!debug_has_ended(d))
        return 0;
    return err_set(e, "the launch has %s at cycle %lld; run starts it again, back goes back",
                   d->status == MACHINE_HALTED ? "ended" : "faulted", (long long)d->cycle);
}

/* cycles so far: all cores have halted, or one has faulted */
static cycle_t end_cycle(const struct debugger *d)
{
    struct core_view v;
    cycle_t last = 0;

    if (d->status == MACHINE_FAULTED)
        return machine_fault(d->m)->cycle;
    for (int i = 0; i < d->core_count; i++) {
        machine_core(d->m, i, &v);
        last = later(last, v.now);
    }
    return last;
}

void debug_settle(struct debugger *d, cycle_t cycle)
{
    d->status = d->options.gate ? trace_gate_advance(d->options.gate, d->m, cycle)
                                : machine_advance(d->m, cycle);
    d->cycle = debug_has_ended(d) ? end_cycle(d) : cycle;
}

static cycle_t sooner(cycle_t a, cycle_t b)
{
    return a < b ? a : b;
}

/* where the next advance may end at the latest */
static cycle_t next_pause(const struct debugger *d, const struct debug_goal *goal)
{
    cycle_t next = machine_next_cycle(d->m), until = goal->until;
    bool looks = goal->is_reached || (!goal->ignores_stops && debug_stops_need_steps(d));

    if (!goal->ignores_stops)
        until = sooner(until, debug_stops_next_cycle(d));
    if (next == CYCLE_NEVER)            /* the end, or a deadlock */
        return goal->until;
    if (looks)
        return sooner(until, next + 1);
    return sooner(until, later(next, d->cycle) + STRIDE_CYCLES);
}

static void print_fault(struct debugger *d)
{
    fprintf(d->out, "fault: %s\n", machine_fault(d->m)->msg);
    machine_print_deadlock(d->m, d->out);
}

void debug_print_end(struct debugger *d)
{
    if (!debug_has_ended(d))
        return;
    if (d->status == MACHINE_FAULTED)
        print_fault(d);
    else
        fprintf(d->out, "the launch has ended after %lld cycles\n", (long long)d->cycle);
}

/* a core that has faulted is the one to look at */
static void select_fault(struct debugger *d)
{
    if (d->status == MACHINE_FAULTED)
        d->core = machine_fault(d->m)->core;
}

static void note_stalls(struct debugger *d)
{
    d->cycle_at_stop = d->cycle;
    for (int i = 0; i < d->core_count; i++)
        for (int j = 0; j < STALL_COUNT; j++)
            d->stalls_at_stop[i][j] = machine_stall_cycles(d->m, i, (enum stall_reason)j);
}

static bool go_on(struct debugger *d, struct debug_goal *goal)
{
    cycle_t until = next_pause(d, goal);

    if (!goal->ignores_stops)
        debug_stops_before(d);
    debug_settle(d, until);
    debug_history_note(d);
    if (d->options.progress)
        d->options.progress(d->options.progress_context, d);
    if (goal->report)
        goal->report(d, goal->context);
    if (!goal->ignores_stops && debug_stops_after(d))
        return false;
    if (debug_has_ended(d) || d->cycle >= goal->until)
        return false;
    return !goal->is_reached || !goal->is_reached(d, goal);
}

void debug_go(struct debugger *d, struct debug_goal *goal)
{
    bool goes = !debug_has_ended(d);

    note_stalls(d);
    is_interrupted = false;
    while (goes && !is_interrupted)
        goes = go_on(d, goal);
    if (is_interrupted)
        fputs("interrupted\n", d->out);
    select_fault(d);
    debug_print_end(d);
    debug_print_stop(d);
}

void debug_start(struct debugger *d)
{
    if (!d->options.is_started)
        machine_start(d->m);
    debug_settle(d, machine_next_cycle(d->m));
    note_stalls(d);
    debug_history_start(d);
    debug_stops_settle(d, false);
}
