/*
 * The serial phase: what cores asked for, committed in time order.
 *
 * An event may be committed once no core can still ask for something earlier:
 * a core that has been woken to issue at cycle t asks for nothing before it.
 * So the order of events, and with it every result and cycle, depends neither
 * on host threads nor on where a launch pauses (machine_advance).
 */
#include "sim/core/hooks.h"
#include "sim/machine/machine_impl.h"

#include <assert.h>
#include <stdio.h>

void serial_push(struct machine *m, ps_t at, enum event_kind kind, struct core *source, int slot)
{
    assert(at >= m->now_ps);
    event_push(&m->queue, &(struct event){.at = at, .kind = (uint8_t)kind,
                                          .core = (uint16_t)source->number,
                                          .sequence = source->serial_sequence++,
                                          .target = source->number, .slot = slot});
}

static bool asks_for_queue(const struct core *c)
{
    return isa_info((enum isa_opcode)c->wait_code)->unit == UNIT_DMA;
}

static bool waits_for_queue(const struct core *c)
{
    return c->is_waiting && asks_for_queue(c);
}

static void wake(struct machine *m, struct core *c, cycle_t at, enum stall_reason reason,
                 cycle_t resume_cycles)
{
    ps_t asks_from = clock_edge_ps(c->clock_mhz, at);

    assert(asks_from >= m->now_ps);
    core_wake(c, at, reason, resume_cycles);
    if (!asks_for_queue(c)) {
        c->copy_visible = c->copy_count;
        if (c->log)
            c->hooks->log.answer(c->log, c);
    }
    c->is_waiting = false;
    m->runnable[m->runnable_count++] = c->number;
    /*
     * What is here for this instant comes first, but for a core that found room
     * in its queue: it only asked because it could not know.
     */
    if (asks_from == m->now_ps && !(asks_for_queue(c) && reason == STALL_COUNT))
        asks_from++;
    if (asks_from < m->horizon_ps)
        m->horizon_ps = asks_from;
}

static void go_on(struct machine *m, struct core *c)
{
    wake(m, c, c->pending.at, STALL_COUNT, 0);
}

static bool is_satisfied(const struct core *c)
{
    int32_t flag = c->flag[c->wait_flag];

    switch (c->wait_code) {
    case OP_VWAIT_EQ: return flag == c->wait_value;
    case OP_VWAIT_NE: return flag != c->wait_value;
    case OP_VWAIT_GT: return flag > c->wait_value;
    case OP_VWAIT_LT: case OP_VWAIT_NOTDONE: return flag < c->wait_value;
    case OP_VWAIT_LE: return flag <= c->wait_value;
    default: return flag >= c->wait_value;          /* vwait.ge, vwait.done, dma.done.wait */
    }
}

static bool waits_for_flag(const struct core *c, int32_t flag)
{
    return c->is_waiting && !waits_for_queue(c) && c->wait_flag == flag;
}

static cycle_t resume_cycles(const struct core *c)
{
    return c->mode == MODE_FUNCTIONAL ? 0 : c->chip->sync_resume_cycles;
}

/* the core knows that its flag was at least so much; the flag is overwritten: to the race check */
static void tell_known(struct machine *m, struct core *c, int32_t flag, int64_t value)
{
    if (m->options.check_races)
        c->hooks->race.learn(m, c, flag, value);
}

static void tell_overwritten(struct machine *m, struct core *c, int32_t flag)
{
    if (m->options.check_races)
        c->hooks->race.overwrite(c, flag);
}

/* a wait that is satisfied says of its flag: it is at least so much */
static void learn(struct machine *m, struct core *c)
{
    int64_t value = c->wait_value;

    switch (c->wait_code) {
    case OP_VWAIT_LT: case OP_VWAIT_LE: case OP_VWAIT_NOTDONE: return;
    case OP_VWAIT_NE:
        if (c->flag[c->wait_flag] < c->wait_value)
            return;
        value++;
        break;
    case OP_VWAIT_GT: value++; break;
    default: break;
    }
    tell_known(m, c, c->wait_flag, value);
}

static void set_flag(struct machine *m, struct core *c, int32_t flag, int32_t value,
                     enum event_cause cause)
{
    static const enum stall_reason reason[] = {
        [CAUSE_CORE] = STALL_SYNC, [CAUSE_HBM] = STALL_HBM, [CAUSE_CMEM] = STALL_CMEM,
        [CAUSE_ICI] = STALL_ICI};
    cycle_t resume = resume_cycles(c);

    c->flag[flag] = value;
    if (!waits_for_flag(c, flag) || !is_satisfied(c))
        return;
    learn(m, c);
    wake(m, c, clock_cycle_at(c->clock_mhz, m->now_ps) + resume, reason[cause], resume);
}

void serial_raise(struct machine *m, struct core *c, int32_t flag, int32_t value,
                  enum event_cause cause)
{
    set_flag(m, c, flag, (int32_t)((uint32_t)c->flag[flag] + (uint32_t)value), cause);
}

static void check_underflow(struct machine *m, const struct event *e)
{
    struct core *source = &m->core[e->core];
    int32_t value = machine_target(m, e->target)->flag[e->flag];
    bool is_remote = e->cause == CAUSE_ICI;
    char where[32] = "";

    if (e->value >= 0 || (int64_t)value + e->value >= 0 || source->is_listing)
        return;
    if (is_remote)
        snprintf(where, sizeof(where), " of core %d", (int)e->target);
    core_late_fault(source, FAULT_UNDERFLOW, clock_cycle_at(source->clock_mhz, m->now_ps),
                    (uint32_t)e->slot, "flag underflow: %s takes %lld from sync flag %d%s, which "
                    "is %d", is_remote ? "vsyncadd.remote" : "vsyncadd", -(long long)e->value,
                    (int)e->flag, where, (int)value);
}

static void push_again(struct machine *m, const struct event *e, ps_t at, int kind)
{
    struct event next = *e;

    next.at = at;
    next.kind = (uint8_t)kind;
    next.sequence = m->core[e->core].serial_sequence++;
    event_push(&m->queue, &next);
}

static void push_arrival(struct machine *m, const struct event *e, ps_t there_at)
{
    push_again(m, e, there_at + m->chip.dma_local_ns * PS_PER_NS, e->then);
}

/* the head is at a chip and not yet there */
static void go_one_hop(struct machine *m, struct event *e)
{
    int sender = e->then == EVENT_ANSWER ? e->target : e->core;
    struct net_hop hop;

    m->core[sender].hooks->tracing.names_sender(m, sender, UINT32_MAX);
    hop = net_take(m->net, m->now_ps, e->chip, &e->way, m->chip.dma_granule_bytes);
    e->chip = hop.next;
    if (net_is_there(e->way))
        push_arrival(m, e, hop.there_at);
    else
        push_again(m, e, hop.head_at, EVENT_HOP);
}

/* Send a message of one granule from core to core; what it does there is `kind`. */
static void send_message(struct machine *m, const struct event *e, int from, int to,
                         enum event_kind kind)
{
    int from_chip = machine_chip_of(m, from), to_chip = machine_chip_of(m, to);
    struct event message = *e;
    ps_t there_at = m->now_ps;

    message.then = (uint16_t)kind;
    message.cause = CAUSE_ICI;
    if (from_chip != to_chip) {
        m->core[from].ici_sent_bytes += m->chip.dma_granule_bytes;
        machine_target(m, to)->ici_received_bytes += m->chip.dma_granule_bytes;
    } else if (from != to) {
        there_at = peer_take(m, &m->core[from], m->chip.dma_granule_bytes)
                   + m->chip.dma_peer_ns * PS_PER_NS;
    }
    if (m->options.mode == MODE_FUNCTIONAL) {
        push_again(m, &message, m->now_ps, (int)kind);
    } else if (from_chip == to_chip) {
        push_arrival(m, &message, there_at);
    } else {
        message.chip = from_chip;
        message.way = net_route(m->net, from_chip, to_chip);
        go_one_hop(m, &message);
    }
}

static void hop(struct machine *m, struct core *c, const struct event *e)
{
    struct event message = *e;

    if (e->then == EVENT_ARRIVE)
        dma_hop(m, c, e);
    else
        go_one_hop(m, &message);
}

/* the flag at core `target`, as it is when the question gets there, on its way back */
static void peek(struct machine *m, const struct event *e)
{
    struct event answer = *e;

    answer.value = machine_target(m, e->target)->flag[e->flag];
    send_message(m, &answer, e->target, e->core, EVENT_ANSWER);
}

static void read_flag(struct core *c, int32_t to, int32_t value)
{
    c->read_value[to] = value;
    if (c->log)
        c->hooks->log.read(c->log, value);
}

static void take_answer(struct machine *m, struct core *c, const struct event *e)
{
    cycle_t resume = resume_cycles(c);

    read_flag(c, e->slot, e->value);
    wake(m, c, clock_cycle_at(c->clock_mhz, m->now_ps) + resume, STALL_ICI, resume);
}

static void commit(struct machine *m, const struct event *e)
{
    struct core *c = &m->core[e->core];

    switch (e->kind) {
    case EVENT_ADD:
        check_underflow(m, e);
        serial_raise(m, machine_target(m, e->target), e->flag, e->value, e->cause);
        break;
    case EVENT_STORE:
        tell_overwritten(m, machine_target(m, e->target), e->flag);
        set_flag(m, machine_target(m, e->target), e->flag, e->value, e->cause);
        break;
    case EVENT_SENT: dma_sent(m, c, e->slot); break;
    case EVENT_DONE:
        dma_done(m, c, e->slot);
        if (waits_for_queue(c) && c->dma_free_count >= c->wait_value)
            wake(m, c, clock_cycle_at(c->clock_mhz, m->now_ps), STALL_DMA_QUEUE, 0);
        break;
    case EVENT_HOP: hop(m, c, e); break;
    case EVENT_REMOTE_ADD: send_message(m, e, e->core, e->target, EVENT_ADD); break;
    case EVENT_REMOTE_STORE: send_message(m, e, e->core, e->target, EVENT_STORE); break;
    case EVENT_REMOTE_READ: send_message(m, e, e->core, e->target, EVENT_PEEK); break;
    case EVENT_PEEK: peek(m, e); break;
    case EVENT_ANSWER: take_answer(m, c, e); break;
    case EVENT_PORT: dma_port_chunk(m, c, e->slot); break;
    case EVENT_CHUNK: dma_remote_chunk(m, c, e); break;
    case EVENT_ARRIVE: dma_arrive(m, c, e); break;
    case EVENT_DMA: dma_start(m, c, e->slot); break;
    case EVENT_SET:
        tell_overwritten(m, c, e->flag);
        c->flag[e->flag] = e->value;
        go_on(m, c);
        break;
    case EVENT_READ:
        read_flag(c, e->slot, c->flag[e->flag]);
        tell_known(m, c, e->flag, c->flag[e->flag]);
        go_on(m, c);
        break;
    case EVENT_WAIT:
        c->is_waiting = !is_satisfied(c);
        if (c->is_waiting)
            break;
        learn(m, c);
        go_on(m, c);
        break;
    default:
        c->is_waiting = c->dma_free_count < c->wait_value;
        if (!c->is_waiting)
            go_on(m, c);
        break;
    }
}

static void gather_outboxes(struct machine *m)
{
    for (int i = 0; i < m->core_count; i++) {
        struct event_list *outbox = &m->core[i].outbox;

        for (size_t j = 0; j < outbox->count; j++) {
            assert(outbox->item[j].at >= m->now_ps);
            event_push(&m->queue, &outbox->item[j]);
        }
        outbox->count = 0;
    }
}

void serial_phase(struct machine *m)
{
    struct event e;

    gather_outboxes(m);
    m->horizon_ps = m->stop_ps;
    m->runnable_count = 0;
    while (m->queue.count > 0 && m->queue.item[0].at < m->horizon_ps) {
        event_pop(&m->queue, &e);
        m->now_ps = e.at;
        commit(m, &e);
    }
}
