/* Sync flags: what is on the way to them, waits that must come to an end, and back to 0. */
#include "tests/generate/random_maker.h"

#include "base/units.h"

#define FLAGS_OF_PHASES (4 * PHASE_MAX)

int flags_kept(const struct maker *m)
{
    return m->limits.flag_count - FLAGS_OF_PHASES;
}

struct flag_use *use_flag(struct maker *m, int flag, uint8_t guard)
{
    struct flag_use *u;

    if (m->use_count == USES_MAX)
        return NULL;
    u = &m->use[m->use_count++];
    *u = (struct flag_use){.flag = flag, .depth = m->depth, .guard = guard, .is_fresh = true,
                           .is_settled = true};
    pin(m, guard, 1);
    return u;
}

int free_flag(struct maker *m)
{
    int flag, i;

    do {
        flag = chance(m, 70) ? below(m, 16) : below(m, flags_kept(m));
        for (i = 0; i < m->use_count && m->use[i].flag != flag; i++)
            ;
    } while (i < m->use_count);
    return flag;
}

static void free_use(struct maker *m, struct flag_use *u)
{
    pin(m, u->guard, -1);
    *u = m->use[--m->use_count];
}

/* a flag's guard must mean the same when the copy issues as when it was chosen */
bool is_guard_stable(const struct maker *m, uint8_t guard)
{
    return guard == GUARD_NONE || !(m->predicates_written >> (guard & (GUARD_NEGATED - 1)) & 1u);
}

static void flag_op(struct maker *m, struct isa_op *op, enum isa_opcode code, int flag,
                    int32_t value, uint8_t guard)
{
    fresh_op(m, op, code);
    op->operand[0] = known_number(m, flag);
    op->operand[1] = known_number(m, value);
    set_guard(op, guard);
}

/* a wait that is over exactly when everything on the way to the flag has arrived */
void wait_for(struct maker *m, struct flag_use *u)
{
    static const enum isa_opcode code[] = {OP_VWAIT_GE, OP_VWAIT_DONE, OP_DMA_DONE, OP_VWAIT_EQ,
                                           OP_VWAIT_GT, OP_VWAIT_NE};
    enum isa_opcode which = code[below(m, COUNT_OF(code))];
    struct isa_op op;
    int i;

    if (which == OP_VWAIT_NE && u->copy_count != 1)
        which = OP_VWAIT_EQ;
    flag_op(m, &op, which, u->flag,
            which == OP_VWAIT_NE ? 0 : u->value - (which == OP_VWAIT_GT), u->guard);
    if (u->is_fresh)
        end_bundle(m);
    emit_surely(m, &op);
    for (i = 0; i < u->copy_count; i++)
        m->done[m->done_count++] = u->copy[i];
    u->copy_count = 0;
    u->is_settled = u->is_fresh = true;
}

/* 0 again, by one of three ways */
void give_back(struct maker *m, struct flag_use *u)
{
    static const enum isa_opcode code[] = {OP_VSYNCADD, OP_VSYNCSET, OP_VSYNCPA};
    enum isa_opcode which = code[below(m, COUNT_OF(code))];
    struct isa_op op;

    flag_op(m, &op, which, u->flag, which == OP_VSYNCADD ? (int32_t)-(uint32_t)u->value :
            which == OP_VSYNCPA ? below(m, 2) : 0, u->guard);
    if (u->is_fresh)
        end_bundle(m);
    emit_surely(m, &op);
    free_use(m, u);
}

struct flag_use *some_use(struct maker *m)
{
    struct flag_use *u = m->use_count ? &m->use[below(m, m->use_count)] : NULL;

    return u && u->depth == m->depth && u->flag < flags_kept(m) ? u : NULL;
}

/* a wait that is over at once, as the flag stays within 0..value */
static void make_idle_wait(struct maker *m, const struct flag_use *u)
{
    static const enum isa_opcode code[] = {OP_VWAIT_LT, OP_VWAIT_LE, OP_VWAIT_NOTDONE};
    enum isa_opcode which = code[below(m, COUNT_OF(code))];
    struct isa_op op;

    if (u->value < 0 || u->value == INT32_MAX)
        return;
    flag_op(m, &op, which, u->flag, u->value + (which != OP_VWAIT_LE), u->guard);
    emit(m, &op);
}

static void make_read(struct maker *m, const struct flag_use *u)
{
    int s = writable_sreg(m);
    struct isa_op op;

    if (s < 0 || (!u->is_settled && !m->r->options.races))
        return;
    fresh_op(m, &op, OP_VSYNCMOV);
    op.operand[0] = reg(s);
    op.operand[1] = known_number(m, u->flag);
    set_guard(&op, u->guard);
    emit(m, &op);
}

static void make_change(struct maker *m, struct flag_use *u)
{
    bool is_sum = chance(m, 50);
    int32_t value = below(m, 3) ? below(m, 100) - 50 : random_word(&m->rng);
    struct isa_op op;

    if (value == INT32_MIN)
        value++;                        /* which no sum could give back */
    if (value < 0 && (int64_t)u->value + value < 0)
        is_sum = false;                 /* which would take more than there is */
    flag_op(m, &op, is_sum ? OP_VSYNCADD : OP_VSYNCSET, u->flag, value, u->guard);
    if (!is_guard_stable(m, u->guard) || !emit(m, &op))
        return;
    u->value = is_sum ? (int32_t)((uint32_t)u->value + (uint32_t)value) : value;
    u->is_fresh = true;
}

/* at most one operation per bundle on a flag: each sees what the others left */
void make_flag(struct maker *m)
{
    struct flag_use *u = some_use(m);

    if (!u) {
        uint8_t guard;

        if (m->use_count >= USES_MAX - 4)
            return;
        guard = lasting_guard(m);
        make_change(m, use_flag(m, free_flag(m), guard));
        return;
    }
    if (u->is_fresh)
        return;
    switch (below(m, 4)) {
    case 0: make_idle_wait(m, u); u->is_fresh = true; break;
    case 1: make_read(m, u); u->is_fresh = true; break;
    case 2:
        if (u->is_settled) {
            make_change(m, u);
            break;
        }
        wait_for(m, u);
        break;
    default:
        if (u->is_settled)
            give_back(m, u);
        break;
    }
}

void settle_flags(struct maker *m)
{
    int i = 0;

    while (i < m->use_count) {
        struct flag_use *u = &m->use[i];

        if (u->depth < m->depth || u->flag >= flags_kept(m)) {
            i++;
            continue;
        }
        if (!u->is_settled)
            wait_for(m, u);
        give_back(m, u);
    }
}
