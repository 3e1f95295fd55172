/*
 * Operations that reach outside the core: sync flags. They leave a
 * request in the outbox; what blocks has been settled before the bundle issued.
 */
#include "sim/core/vregs.h"

void core_post(struct core *c, cycle_t at, const struct event *e)
{
    struct event posted = *e;

    if (c->replay)
        return;                         /* all answers are known */
    posted.at = clock_edge_ps(c->clock_mhz, at);
    posted.core = (uint16_t)c->number;
    posted.sequence = c->sequence++;
    event_append(&c->outbox, &posted);
}

bool core_check_flag(struct core *c, const struct decoded_op *o, int32_t flag)
{
    if (flag >= 0 && flag < c->chip->sync_flags)
        return true;
    core_fault(c, FAULT_ADDRESS, "sync flag %d out of 0..%d in %s", (int)flag,
               (int)c->chip->sync_flags - 1, isa_info(o->code)->mnemonic);
    return false;
}

bool core_check_core(struct core *c, const struct decoded_op *o, int32_t number)
{
    if (number >= 0 && number < c->core_count)
        return true;
    core_fault(c, FAULT_ADDRESS, "core %d out of 0..%d in %s", (int)number, c->core_count - 1,
               isa_info(o->code)->mnemonic);
    return false;
}

void exec_VSYNCADD(struct core *c, const struct decoded_op *o)
{
    int32_t flag = c->s[o->o[0]];

    if (core_check_flag(c, o, flag))
        core_post(c, c->issue_at, &(struct event){.kind = EVENT_ADD, .cause = CAUSE_CORE,
                                                  .target = c->number, .flag = flag,
                                                  .slot = (int32_t)c->pc,
                                                  .value = c->s[o->o[1]]});
}

static void send_to_flag(struct core *c, const struct decoded_op *o, enum event_kind kind)
{
    int32_t flag = c->s[o->o[0]], target = c->s[o->o[2]];

    if (core_check_flag(c, o, flag) && core_check_core(c, o, target))
        core_post(c, c->issue_at, &(struct event){.kind = (uint8_t)kind, .target = target,
                                                  .flag = flag, .value = c->s[o->o[1]],
                                                  .slot = (int32_t)c->pc});
}

void exec_VSYNCADD_R(struct core *c, const struct decoded_op *o)
{
    send_to_flag(c, o, EVENT_REMOTE_ADD);
}

void exec_VSYNCSET_R(struct core *c, const struct decoded_op *o)
{
    send_to_flag(c, o, EVENT_REMOTE_STORE);
}

void exec_VSYNCMOV(struct core *c, const struct decoded_op *o)
{
    c->s[o->o[0]] = c->read_value[o->o[0]];
}

void exec_VSYNCMOV_R(struct core *c, const struct decoded_op *o)
{
    exec_VSYNCMOV(c, o);
}

/* These take effect in time order, before their bundle issues: sim/machine/serial.c. */
#define SETTLED(id) \
    void exec_##id(struct core *c, const struct decoded_op *o) \
    { \
        (void)c; \
        (void)o; \
    }

SETTLED(VSYNCSET)
SETTLED(VSYNCPA)
SETTLED(VWAIT_EQ)
SETTLED(VWAIT_NE)
SETTLED(VWAIT_GE)
SETTLED(VWAIT_GT)
SETTLED(VWAIT_LT)
SETTLED(VWAIT_LE)
SETTLED(VWAIT_DONE)
SETTLED(VWAIT_NOTDONE)
SETTLED(DMA_DONE)
SETTLED(VDELAY)                         /* all of it is time: sim/core/timing.c */
SETTLED(SFENCE)

void exec_VPUSH(struct core *c, const struct decoded_op *o)
{
    word_fifo_write(&c->v2s, vreg_read(c, o->o[0])[0]);
}
