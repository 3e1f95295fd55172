/*
 * Messages between cores. In each phase every core sends to one and hears from
 * one, by a permutation; it first sends, later waits, in the same order of
 * phases everywhere, so no wait can be without its answer. What arrives goes to
 * a zone and to flags that belong to the phase alone.
 */
#include "tests/generate/random_maker.h"

#include "base/units.h"
#include "tests/test.h"

#define GRANULE 32

/* the flags of a phase */
enum { FLAG_ARRIVED, FLAG_SENT, FLAG_SHOWN, FLAG_SEEN };

static const enum isa_opcode pushes[] = {OP_DMA_VMEM_REMOTE, OP_DMA_VMEM_HBM_REMOTE,
                                         OP_DMA_HBM_VMEM_REMOTE, OP_DMA_HBM_HBM_REMOTE};

static void plan_phase(struct phase *p, struct rng *rng, int count)
{
    p->kind = (enum phase_kind)rng_below(rng, PHASE_KINDS + 1);
    if (p->kind == PHASE_KINDS)
        p->kind = PHASE_COPY;
    for (int i = 0; i < count; i++)
        p->to[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int j = (int)rng_below(rng, (uint32_t)i + 1), kept = p->to[i];

        p->to[i] = p->to[j];
        p->to[j] = kept;
    }
    for (int i = 0; i < count; i++) {
        int which = (int)rng_below(rng, COUNT_OF(pushes));

        p->from[p->to[i]] = i;
        p->code[i] = rng_below(rng, 4) ? (int)pushes[which] : OP_DMA_GENERAL;
        p->from_hbm[i] = which >= 2;
        p->to_hbm[i] = which % 2 != 0;
        p->value[i] = 1 + (int32_t)rng_below(rng, 200);
    }
}

void plan_phases(struct random_plan *p, struct rng *rng, const struct random_programs *r)
{
    p->count = (int)rng_below(rng, r->busy_count > 1 ? PHASE_MAX + 1 : 2);
    for (int i = 0; i < p->count; i++)
        plan_phase(&p->phase[i], rng, r->busy_count);
}

static int inbox(int phase)
{
    return ZONE_COUNT - 1 - phase;
}

void keep_inboxes(struct maker *m)
{
    for (int i = 0; i < m->plan->count; i++)
        if (m->plan->phase[i].kind == PHASE_COPY)
            m->zone[IN_VMEM][inbox(i)].is_inbox = m->zone[IN_HBM][inbox(i)].is_inbox = true;
}

static int flag_of(const struct maker *m, int phase, int which)
{
    return flags_kept(m) + 4 * phase + which;
}

/* a zone to send from; copies under way are settled where they hold all of them */
static struct zones zone_to_send(struct maker *m, enum space space)
{
    struct zones z = {space, below(m, ZONE_COUNT), 1};
    int tries;

    for (tries = 0; tries < 3 * ZONE_COUNT; tries++) {
        if (zones_take_copy(m, &z, false))
            return z;
        if (tries == ZONE_COUNT) {
            settle_flags(m);
            end_bundle(m);
        }
        z.first = (z.first + 1) % ZONE_COUNT;
    }
    fail_msg("no zone to send from");
    return z;
}

static int32_t granule_of(const struct maker *m, enum space space, int zone)
{
    struct window_units w = units_of(m, space, GRANULE);

    return (int32_t)(uint32_t)(w.first + (int64_t)zone * w.zone_units);
}

static void describe_push(struct maker *m, struct isa_op *op, int phase, const int32_t field[6],
                          enum space from, enum space to)
{
    const int32_t word[16] = {(int32_t)from | (int32_t)to << 4 | 0x100, field[0], field[2],
                              field[1], 1, 0, 0, 1, 0, 0, 1, 0, 0, field[3], field[4], field[5]};
    int number = 4 + phase;

    put_descriptor(m->descriptor + 64 * number, word);
    op->operand[1] = imm((int32_t)(m->r->smem.first + (ZONE_COUNT - 2) * 256 + 64 * number));
}

static void send_copy(struct maker *m, int number)
{
    const struct phase *p = &m->plan->phase[number];
    enum space from = p->from_hbm[m->core] ? IN_HBM : IN_VMEM;
    enum space to = p->to_hbm[m->core] ? IN_HBM : IN_VMEM;
    struct zones z = zone_to_send(m, from);
    const int32_t field[6] = {granule_of(m, from, z.first), p->value[m->core],
                              granule_of(m, to, inbox(number)), flag_of(m, number, FLAG_ARRIVED),
                              flag_of(m, number, FLAG_SENT), p->to[m->core]};
    struct flag_use *u = use_flag(m, field[4], GUARD_NONE);
    struct isa_op op;

    fence(m, &z, &z);
    fresh_op(m, &op, (enum isa_opcode)p->code[m->core]);
    if (op.code == OP_DMA_GENERAL)
        describe_push(m, &op, number, field, from, to);
    else
        for (int i = 0; i < 6; i++)
            op.operand[i] = known_number(m, field[i]);
    emit_surely(m, &op);
    u->value = field[1];
    u->is_settled = false;
    u->is_fresh = true;
    u->copy_count = 1;
    u->copy[0] = (struct random_copy){.from = z, .is_pushed = true};
    for (int i = z.first; i < z.first + z.count; i++)
        m->zone[z.space][i].readers++;
}

static void tell(struct maker *m, enum isa_opcode code, int flag, int32_t value, int core)
{
    struct isa_op op;

    fresh_op(m, &op, code);
    op.operand[0] = known_number(m, flag);
    op.operand[1] = known_number(m, value);
    op.operand[2] = known_number(m, core);
    emit_surely(m, &op);
}

/* a flag of our own that the other core will read */
static void show(struct maker *m, int number, int32_t value)
{
    struct flag_use *u = use_flag(m, flag_of(m, number, FLAG_SHOWN), GUARD_NONE);
    struct isa_op op;

    fresh_op(m, &op, chance(m, 50) ? OP_VSYNCSET : OP_VSYNCADD);
    op.operand[0] = known_number(m, u->flag);
    op.operand[1] = known_number(m, value);
    emit_surely(m, &op);
    u->value = value;
    end_bundle(m);
}

/* flags of phases come on top of those that random operations may use */
static void make_room(struct maker *m)
{
    if (m->use_count > USES_MAX - 4)
        settle_flags(m);
    end_bundle(m);
}

void make_send(struct maker *m, int number)
{
    const struct phase *p = &m->plan->phase[number];
    int flag = flag_of(m, number, FLAG_ARRIVED), to = p->to[m->core];

    make_room(m);
    switch (p->kind) {
    case PHASE_COPY: send_copy(m, number); break;
    case PHASE_ADD: tell(m, OP_VSYNCADD_R, flag, p->value[m->core], to); break;
    case PHASE_SET: tell(m, OP_VSYNCSET_R, flag, p->value[m->core], to); break;
    default:
        show(m, number, p->value[m->core]);
        tell(m, OP_VSYNCADD_R, flag, 1, to);
        break;
    }
    end_bundle(m);
}

static void finish_use(struct maker *m, int flag)
{
    for (int i = 0; i < m->use_count; i++) {
        struct flag_use *u = &m->use[i];

        if (u->flag != flag)
            continue;
        if (!u->is_settled)
            wait_for(m, u);
        give_back(m, u);
        return;
    }
}

static void hear(struct maker *m, int flag, int32_t value)
{
    struct flag_use *u = use_flag(m, flag, GUARD_NONE);

    u->value = value;
    u->is_settled = u->is_fresh = false;
    wait_for(m, u);
    give_back(m, u);
    end_bundle(m);
}

static void read_other(struct maker *m, int number, int from)
{
    int s = writable_sreg(m);
    struct isa_op op;

    fresh_op(m, &op, OP_VSYNCMOV_R);
    op.operand[0] = reg(s < 0 ? 0 : s);
    op.operand[1] = known_number(m, flag_of(m, number, FLAG_SHOWN));
    op.operand[2] = known_number(m, from);
    emit_surely(m, &op);
    end_bundle(m);
}

void make_receive(struct maker *m, int number)
{
    const struct phase *p = &m->plan->phase[number];
    int from = p->from[m->core], arrived = flag_of(m, number, FLAG_ARRIVED);

    make_room(m);
    if (p->kind == PHASE_READ) {
        hear(m, arrived, 1);
        read_other(m, number, from);
        tell(m, OP_VSYNCADD_R, flag_of(m, number, FLAG_SEEN), 1, from);
        hear(m, flag_of(m, number, FLAG_SEEN), 1);
        finish_use(m, flag_of(m, number, FLAG_SHOWN));
        return;
    }
    hear(m, arrived, p->value[from]);
    if (p->kind != PHASE_COPY)
        return;
    finish_use(m, flag_of(m, number, FLAG_SENT));
    m->zone[IN_VMEM][inbox(number)].is_inbox = m->zone[IN_HBM][inbox(number)].is_inbox = false;
    end_bundle(m);
}
