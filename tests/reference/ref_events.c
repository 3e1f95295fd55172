/*
 * What happens between cores, one event after the other by (time, kind, core,
 * sequence), and the flags that cores wait for.
 */
#include "tests/reference/ref_impl.h"
#include "tests/test.h"

#include "base/arena.h"

#define PS_PER_US 1000000

ps_t ref_edge_ps(const struct ref_machine *m, cycle_t cycle)
{
    int64_t mhz = m->chip.chip_clock_mhz;

    return cycle / mhz * PS_PER_US + cycle % mhz * PS_PER_US / mhz;
}

cycle_t ref_cycle_at(const struct ref_machine *m, ps_t at)
{
    cycle_t cycle = at / PS_PER_US * m->chip.chip_clock_mhz;

    cycle += at % PS_PER_US * m->chip.chip_clock_mhz / PS_PER_US;
    while (ref_edge_ps(m, cycle) < at)
        cycle++;
    return cycle;
}

static bool is_before(const struct ref_event *a, const struct ref_event *b)
{
    if (a->at != b->at)
        return a->at < b->at;
    if (a->kind != b->kind)
        return a->kind < b->kind;
    if (a->core != b->core)
        return a->core < b->core;
    if (a->is_later != b->is_later)
        return b->is_later;
    return a->sequence < b->sequence;
}

void ref_add_event(struct ref_machine *m, const struct ref_event *e)
{
    size_t i;

    assert_true(e->at >= m->now_ps);
    m->event = mem_grow(m->event, &m->event_capacity, m->event_count + 1, sizeof(*m->event));
    for (i = m->event_count++; i > 0 && is_before(e, &m->event[i - 1]); i--)
        m->event[i] = m->event[i - 1];
    m->event[i] = *e;
}

void ref_post(struct ref_core *c, cycle_t at, struct ref_event e)
{
    e.at = ref_edge_ps(c->m, at);
    e.core = c->number;
    e.sequence = c->sequence++;
    ref_add_event(c->m, &e);
}

void ref_follow(struct ref_core *c, ps_t at, struct ref_event e)
{
    e.at = at;
    e.core = c->number;
    e.is_later = true;
    e.sequence = c->m->later_sequence++;
    ref_add_event(c->m, &e);
}

bool ref_check_flag(struct ref_core *c, cycle_t at, int32_t flag)
{
    if (flag >= 0 && flag < c->m->chip.sync_flags)
        return true;
    ref_fault(c, at, FAULT_ADDRESS, "a sync flag that does not exist");
    return false;
}

bool ref_check_core(struct ref_core *c, cycle_t at, int32_t number)
{
    if (number >= 0 && number < c->m->core_count)
        return true;
    ref_fault(c, at, FAULT_ADDRESS, "a core that does not exist");
    return false;
}

/* The question is answered, the bundle goes on at cycle `at`. */
static void answer(struct ref_core *c, cycle_t at)
{
    c->settled++;
    c->look_at = at;
    c->state = REF_SETTLES;
    if (isa_info(c->asking->code)->latency_class != CLASS_DMA)
        ref_move_complete(c);
}

/* the same after a wait, to be charged to `reason` */
static void end_wait(struct ref_core *c, enum stall_reason reason, cycle_t resume_cycles)
{
    c->reason = reason;
    c->resume_cycles += resume_cycles;
    answer(c, ref_cycle_at(c->m, c->m->now_ps) + resume_cycles);
}

static bool is_satisfied(const struct ref_core *c)
{
    int32_t flag = c->flag[c->asked_flag], value = c->asked_value;

    switch (c->asking->code) {
    case OP_VWAIT_EQ: return flag == value;
    case OP_VWAIT_NE: return flag != value;
    case OP_VWAIT_GT: return flag > value;
    case OP_VWAIT_LT: case OP_VWAIT_NOTDONE: return flag < value;
    case OP_VWAIT_LE: return flag <= value;
    default: return flag >= value;
    }
}

static void set_flag(struct ref_core *c, int flag, int64_t value, enum stall_reason cause)
{
    bool waits = c->state == REF_ASKS && c->is_refused
                 && isa_info(c->asking->code)->latency_class != CLASS_DMA;

    c->flag[flag] = (int32_t)(uint32_t)value;
    if (waits && is_satisfied(c))
        end_wait(c, cause, c->m->chip.sync_resume_cycles);
}

void ref_raise_flag(struct ref_core *c, int flag, int64_t by, enum stall_reason cause)
{
    set_flag(c, flag, c->flag[flag] + by, cause);
}

/* a message of one granule to the chip where it becomes `then` */
static void message_on_link(struct ref_machine *m, const struct ref_event *e)
{
    struct ref_event next = *e;
    struct net_hop hop = net_take(m->net, m->now_ps, e->chip, &next.way,
                                  m->chip.dma_granule_bytes);

    next.chip = hop.next;
    if (net_is_there(next.way)) {
        next.kind = next.then;
        ref_follow(&m->core[e->core], hop.there_at + m->chip.dma_local_ns * PS_PER_NS, next);
    } else {
        next.kind = REF_ON_LINK;
        ref_follow(&m->core[e->core], hop.head_at, next);
    }
}

static void on_link(struct ref_machine *m, struct ref_core *c, const struct ref_event *e)
{
    if (e->then == REF_CHUNK_ARRIVES)
        ref_chunk_on_link(m, c, e);
    else
        message_on_link(m, e);
}

/* a message of one granule; what it does on arrival is `kind` */
static void send(struct ref_machine *m, const struct ref_event *e, int from, int to,
                 enum ref_event_kind kind)
{
    int64_t bytes = m->chip.dma_granule_bytes;
    int cores = (int)m->chip.chip_cores;
    struct ref_event message = *e;

    message.kind = message.then = kind;
    message.cause = STALL_ICI;
    if (from / cores == to / cores) {
        ref_follow(&m->core[e->core], ref_cross_chip(&m->core[from], to, bytes, m->now_ps)
                                      + m->chip.dma_local_ns * PS_PER_NS, message);
        return;
    }
    m->core[from].counters.ici_sent_bytes += bytes;
    m->core[to].counters.ici_received_bytes += bytes;
    message.chip = from / cores;
    message.way = net_route(m->net, from / cores, to / cores);
    message_on_link(m, &message);
}

static void ask_again_later(struct ref_core *c, bool is_answered)
{
    c->is_refused = !is_answered;
    if (is_answered)
        answer(c, c->m->now);
}

/* the questions of a core, and what becomes of them */
static void commit_question(struct ref_machine *m, struct ref_core *c, const struct ref_event *e)
{
    struct ref_event back = *e;

    switch (e->kind) {
    case REF_ASK_SET:
        c->flag[e->flag] = (int32_t)e->value;
        answer(c, m->now);
        break;
    case REF_ASK_READ:
        c->answer[e->index] = c->flag[e->flag];
        answer(c, m->now);
        break;
    case REF_ASK_REMOTE_READ: send(m, e, e->core, e->target, REF_PEEK); break;
    case REF_PEEK:
        back.value = m->core[e->target].flag[e->flag];
        send(m, &back, e->target, e->core, REF_ANSWER);
        break;
    case REF_ANSWER:
        c->answer[e->index] = (int32_t)e->value;
        end_wait(c, STALL_ICI, m->chip.sync_resume_cycles);
        break;
    case REF_ASK_WAIT: ask_again_later(c, is_satisfied(c)); break;
    default:                            /* REF_ASK_QUEUE */
        ask_again_later(c, c->copies_queued + c->asked_value <= m->chip.dma_queue_depth);
        break;
    }
}

static void commit_done(struct ref_machine *m, struct ref_core *c, const struct ref_event *e)
{
    bool waits;

    ref_copy_done(m, c, e->index);
    waits = c->state == REF_ASKS && c->is_refused
            && isa_info(c->asking->code)->latency_class == CLASS_DMA;
    if (waits && c->copies_queued + c->asked_value <= m->chip.dma_queue_depth)
        end_wait(c, STALL_DMA_QUEUE, 0);
}

/* counts that programs take must have been there; the cycle is that of the flag */
static void check_underflow(struct ref_machine *m, const struct ref_event *e)
{
    struct ref_core *source = &m->core[e->core];

    if (e->value >= 0 || m->core[e->target].flag[e->flag] + e->value >= 0
        || source->state == REF_FAULTED)
        return;
    ref_fault(source, ref_cycle_at(m, m->now_ps), FAULT_UNDERFLOW, "a flag below 0");
    source->fault.bundle = (uint32_t)e->index;
}

void ref_commit(struct ref_machine *m, const struct ref_event *e)
{
    struct ref_core *c = &m->core[e->core];

    m->now_ps = e->at;
    switch (e->kind) {
    case REF_ADD:
        check_underflow(m, e);
        ref_raise_flag(&m->core[e->target], e->flag, e->value, e->cause);
        break;
    case REF_SET: set_flag(&m->core[e->target], e->flag, e->value, e->cause); break;
    case REF_SEND_ADD: send(m, e, e->core, e->target, REF_ADD); break;
    case REF_SEND_SET: send(m, e, e->core, e->target, REF_SET); break;
    case REF_ON_LINK: on_link(m, c, e); break;
    case REF_COPY_BEGINS: ref_copy_begins(m, c, e->index); break;
    case REF_PORT_TURN: ref_port_turn(m, c, e->index); break;
    case REF_SEND_CHUNK: ref_send_chunk(m, c, e); break;
    case REF_CHUNK_ARRIVES: ref_chunk_arrives(m, c, e); break;
    case REF_COPY_SENT: ref_copy_sent(c, e->index); break;
    case REF_COPY_DONE: commit_done(m, c, e); break;
    default: commit_question(m, c, e); break;
    }
}

static void post_to_flag(struct ref_op *x, enum ref_event_kind kind, bool is_remote)
{
    int32_t flag = ref_s(x, 0), target = is_remote ? ref_s(x, 2) : x->c->number;

    if (ref_check_flag(x->c, x->at, flag) && ref_check_core(x->c, x->at, target))
        ref_post(x->c, x->at, (struct ref_event){.kind = kind, .flag = flag, .target = target,
                                                 .index = (int)x->c->pc, .value = ref_s(x, 1),
                                                 .cause = STALL_SYNC});
}

void ref_VSYNCADD(struct ref_op *x) { post_to_flag(x, REF_ADD, false); }
void ref_VSYNCADD_R(struct ref_op *x) { post_to_flag(x, REF_SEND_ADD, true); }
void ref_VSYNCSET_R(struct ref_op *x) { post_to_flag(x, REF_SEND_SET, true); }
void ref_VSYNCMOV(struct ref_op *x) { x->result.s = x->c->answer[x->index]; }
void ref_VSYNCMOV_R(struct ref_op *x) { x->result.s = x->c->answer[x->index]; }

/* settled before the bundle issued */
void ref_VSYNCSET(struct ref_op *x) { (void)x; }
void ref_VSYNCPA(struct ref_op *x) { (void)x; }
void ref_VWAIT_EQ(struct ref_op *x) { (void)x; }
void ref_VWAIT_NE(struct ref_op *x) { (void)x; }
void ref_VWAIT_GE(struct ref_op *x) { (void)x; }
void ref_VWAIT_GT(struct ref_op *x) { (void)x; }
void ref_VWAIT_LT(struct ref_op *x) { (void)x; }
void ref_VWAIT_LE(struct ref_op *x) { (void)x; }
void ref_VWAIT_DONE(struct ref_op *x) { (void)x; }
void ref_VWAIT_NOTDONE(struct ref_op *x) { (void)x; }
void ref_DMA_DONE(struct ref_op *x) { (void)x; }
