/*
 * A launch: from quiesced to all cores halted, in rounds of a parallel and a
 * serial phase.
 */
#include "sim/machine_impl.h"

#include <stdio.h>
#include <string.h>

static void start(struct machine *m)
{
    cycle_t limit = m->options.cycle_limit > 0 ? m->options.cycle_limit : CYCLE_NEVER;
    int i;

    for (i = 0; i < m->chip_count; i++)
        hbm_reset(m->hbm[i]);
    if (m->net)
        net_reset(m->net);
    dma_reset(m);
    m->queue.count = 0;
    m->now_ps = 0;
    m->runnable_count = 0;
    memset(&m->fault, 0, sizeof(m->fault));
    for (i = 0; i < m->core_count; i++) {
        core_launch(&m->core[i], limit, m->options.trace);
        if (m->core[i].state == CORE_RUNNING)
            m->runnable[m->runnable_count++] = i;
    }
}

/* of several, the earliest; of several at one cycle, that of the lowest core */
static bool take_fault(struct machine *m)
{
    const struct fault *first = NULL;
    int i;

    for (i = 0; i < m->core_count; i++) {
        const struct core *c = &m->core[i];

        if (c->state == CORE_FAULTED && (!first || c->fault.cycle < first->cycle))
            first = &c->fault;
    }
    if (first)
        m->fault = *first;
    return first != NULL;
}

/* "waits for flag 3 >= 4, which is 0" */
static int print_wait(const struct core *c, char *buf, size_t buf_bytes)
{
    static const char *const sign[OP_COUNT] = {
        [OP_VWAIT_EQ] = "==", [OP_VWAIT_NE] = "!=", [OP_VWAIT_GE] = ">=", [OP_VWAIT_GT] = ">",
        [OP_VWAIT_LT] = "<", [OP_VWAIT_LE] = "<=", [OP_VWAIT_DONE] = ">=",
        [OP_VWAIT_NOTDONE] = "<", [OP_DMA_DONE] = ">="};
    enum isa_opcode code = (enum isa_opcode)c->wait_code;

    if (isa_info(code)->unit == UNIT_DMA)
        return snprintf(buf, buf_bytes, "waits for its dma queue");
    return snprintf(buf, buf_bytes, "%s waits for flag %d %s %d, which is %d",
                    isa_info(code)->mnemonic, (int)c->wait_flag, sign[code],
                    (int)c->wait_value, (int)c->flag[c->wait_flag]);
}

/* every blocked core as far as the message has room, then how many more */
static void report_deadlock(struct machine *m, const struct core *first, int blocked)
{
    struct fault *f = &m->fault;
    size_t used, room = sizeof(f->msg) - 24;
    char text[200];
    int i, length, told = 0;

    f->kind = FAULT_DEADLOCK;
    f->core = first->number;
    f->cycle = first->pending.at;
    f->bundle = first->pc;
    f->line = first->program->source->bundle[first->pc].line;
    used = (size_t)snprintf(f->msg, sizeof(f->msg), "deadlock: ");
    for (i = 0; i < m->core_count; i++) {
        const struct core *c = &m->core[i];

        if (c->state != CORE_BLOCKED)
            continue;
        length = core_print_place(c, c->pending.at, text, sizeof(text));
        length += print_wait(c, text + length, sizeof(text) - (size_t)length);
        if (used + (size_t)length + 2 > room)
            break;
        used += (size_t)snprintf(f->msg + used, sizeof(f->msg) - used, "%s%s",
                                 told > 0 ? "; " : "", text);
        told++;
    }
    if (told < blocked)
        snprintf(f->msg + used, sizeof(f->msg) - used, "; and %d more", blocked - told);
}

static bool find_deadlock(struct machine *m)
{
    const struct core *first = NULL;
    int i, blocked = 0;

    for (i = 0; i < m->core_count; i++)
        if (m->core[i].state == CORE_BLOCKED) {
            first = first ? first : &m->core[i];
            blocked++;
        }
    if (blocked > 0)
        report_deadlock(m, first, blocked);
    return blocked > 0;
}

static bool find_open_flag(struct machine *m)
{
    struct fault *f = &m->fault;
    int i, flag;

    for (i = 0; i < m->core_count; i++) {
        const struct core *c = &m->core[i];

        if (c->is_listing)              /* a kernel may leave a copy to the next one */
            continue;
        for (flag = 0; c->program && flag < m->chip.sync_flags; flag++) {
            size_t length;

            if (c->flag[flag] == 0)
                continue;
            *f = (struct fault){.kind = FAULT_FLAG, .core = i, .cycle = c->halted_at - 1,
                                .bundle = c->pc,
                                .line = c->program->source->bundle[c->pc].line};
            length = (size_t)core_print_place(c, f->cycle, f->msg, sizeof(f->msg));
            snprintf(f->msg + length, sizeof(f->msg) - length,
                     "sync flag %d is %d at halt; it must be 0", flag, (int)c->flag[flag]);
            return true;
        }
    }
    return false;
}

/* false after a fault */
static bool run_rounds(struct machine *m)
{
    for (;;) {
        if (m->runnable_count > 0)
            rounds_run(m->rounds, m->runnable, m->runnable_count);
        if (take_fault(m))
            return false;
        serial_phase(m);
        if (m->runnable_count == 0)
            return !find_deadlock(m) && !find_open_flag(m);
    }
}

static void finish(struct machine *m, bool is_complete)
{
    int i;

    m->cycles = 0;
    for (i = 0; i < m->core_count; i++) {
        core_apply_copies(&m->core[i]);
        if (m->core[i].now > m->cycles)
            m->cycles = m->core[i].now;
    }
    for (i = 0; i < m->core_count; i++)
        core_finish_counters(&m->core[i], m->cycles, is_complete);
}

int machine_run(struct machine *m, struct err *e)
{
    uint32_t saved = simd_thread_begin();
    bool is_complete;

    start(m);
    is_complete = run_rounds(m);
    finish(m, is_complete || m->fault.kind == FAULT_FLAG);
    simd_thread_end(saved);
    if (is_complete)
        return 0;
    return err_set(e, "%s", m->fault.msg);
}
