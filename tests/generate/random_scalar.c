/* Scalar registers whose values are known within bounds, and what they are for: addresses. */
#include "tests/generate/random_maker.h"

#include "base/units.h"

static const struct random_window *window_of(const struct maker *m, enum space space)
{
    switch (space) {
    case IN_HBM: return &m->r->hbm;
    case IN_VMEM: return &m->r->vmem;
    case IN_SMEM: return &m->r->smem;
    case IN_HOST: return &m->r->host;
    default: return &m->r->cmem;
    }
}

struct window_units units_of(const struct maker *m, enum space space, int unit_bytes)
{
    const struct random_window *w = window_of(m, space);

    return (struct window_units){w->first / unit_bytes, (int)(w->bytes / ZONE_COUNT / unit_bytes)};
}

void know_s(struct maker *m, int number, int64_t lo, int64_t hi, bool is_aligned)
{
    m->s_next[number] = (struct bounds){lo >= INT32_MIN && hi <= INT32_MAX, is_aligned, m->depth,
                                        lo, hi};
}

static int a_known_sreg(struct maker *m)
{
    int s = any_sreg(m), i;

    for (i = 0; i < ISA_SREG_COUNT && !m->s[s].is_known; i++)
        s = (s + 1) % ISA_SREG_COUNT;
    return m->s[s].is_known ? s : -1;
}

static bool is_number(const struct bounds *b, int32_t value)
{
    return b->is_known && b->lo == value && b->hi == value;
}

/* in this bundle and in the next: the operation may have no room here */
struct isa_operand known_number(struct maker *m, int32_t value)
{
    int s = any_sreg(m), i;

    for (i = 0; i < ISA_SREG_COUNT; i++, s = (s + 1) % ISA_SREG_COUNT)
        if (is_number(&m->s[s], value) && is_number(&m->s_next[s], value))
            return reg(s);
    return imm(value);
}

/* a number that is of use somewhere */
static int64_t useful_number(struct maker *m)
{
    static const struct { enum space space; int unit_bytes; } kind[] = {
        {IN_VMEM, 512}, {IN_VMEM, 512}, {IN_VMEM, 32}, {IN_HBM, 32}, {IN_SMEM, 4}, {IN_CMEM, 512}};
    int which = below(m, 2 + (int)COUNT_OF(kind));
    struct window_units w;

    if (which >= (int)COUNT_OF(kind))
        return below(m, 24);
    w = units_of(m, kind[which].space, kind[which].unit_bytes);
    if (w.zone_units == 0)
        return 0;
    return (w.first + below(m, w.zone_units * ZONE_COUNT)) * (kind[which].space == IN_SMEM ? 4 : 1);
}

static enum isa_opcode an_addition(struct maker *m)
{
    static const enum isa_opcode code[] = {OP_SADD, OP_SLEA_VMEM, OP_SLEA_HBM, OP_SLEA_SMEM,
                                           OP_SLEA_SFLAG};

    return code[below(m, COUNT_OF(code))];
}

static void make_number(struct maker *m, int d)
{
    int64_t number = useful_number(m);
    struct isa_op op;

    if (number > INT32_MAX)
        return;
    fresh_op(m, &op, OP_SMOV);
    op.operand[0] = reg(d);
    op.operand[1] = imm((int32_t)number);
    if (emit(m, &op))
        know_s(m, d, number, number, number % 4 == 0);
}

static void make_masked(struct maker *m, int d)
{
    static const int32_t masks[] = {1, 3, 7, 8, 15, 28, 60, 64, 124};
    int32_t mask = masks[below(m, COUNT_OF(masks))];
    struct isa_op op;

    fresh_op(m, &op, OP_SAND);
    op.operand[0] = reg(d);
    op.operand[1] = reg(any_sreg(m));
    op.operand[2] = imm(mask);
    if (emit(m, &op))
        know_s(m, d, 0, mask, mask % 4 == 0);
}

static void make_sum(struct maker *m, int d)
{
    int a = a_known_sreg(m), b = a_known_sreg(m);
    int64_t number = chance(m, 50) ? useful_number(m) : 4 * below(m, 16);
    struct bounds x, y = {.lo = number, .hi = number, .is_aligned = number % 4 == 0};
    struct isa_op op;

    if (a < 0 || number > INT32_MAX)
        return;
    x = m->s[a];
    fresh_op(m, &op, an_addition(m));
    op.operand[0] = reg(d);
    op.operand[1] = reg(a);
    op.operand[2] = imm((int32_t)number);
    if (chance(m, 30)) {
        y = m->s[b];
        op.operand[2] = reg(b);
    }
    if (emit(m, &op))
        know_s(m, d, x.lo + y.lo, x.hi + y.hi, x.is_aligned && y.is_aligned);
}

static void make_scaled(struct maker *m, int d)
{
    int a = a_known_sreg(m), shift = below(m, 4);
    struct bounds x;
    struct isa_op op;

    if (a < 0 || m->s[a].lo < 0)
        return;
    x = m->s[a];
    fresh_op(m, &op, OP_SSHLL);
    op.operand[0] = reg(d);
    op.operand[1] = reg(a);
    op.operand[2] = imm(shift);
    if (emit(m, &op))
        know_s(m, d, x.lo << shift, x.hi << shift, x.is_aligned || shift >= 2);
}

/* the rest of the registers is for values that are not known, also inside loops */
bool knows_enough(const struct maker *m)
{
    int known = 0;

    for (int i = 0; i < COUNTER_FIRST; i++)
        known += m->s_next[i].is_known;
    return known >= 14;
}

void make_bounded(struct maker *m)
{
    int d = writable_sreg(m);

    if (d < 0 || (knows_enough(m) && !m->s_next[d].is_known))
        return;
    switch (below(m, 5)) {
    case 0: case 1: make_number(m, d); break;
    case 2: make_masked(m, d); break;
    case 3: make_sum(m, d); break;
    default: make_scaled(m, d); break;
    }
}

/* The units from `lo` to `hi` of a space, `lo` of which are in front of the window: its zones. */
static bool zones_of(const struct maker *m, enum space space, int unit_bytes, int64_t lo,
                     int64_t hi, struct zones *z)
{
    struct window_units w = units_of(m, space, unit_bytes);

    lo -= w.first;
    hi -= w.first;
    if (w.zone_units == 0 || lo < 0 || hi >= (int64_t)ZONE_COUNT * w.zone_units)
        return false;
    *z = (struct zones){space, (int)(lo / w.zone_units),
                        (int)(hi / w.zone_units - lo / w.zone_units) + 1};
    return true;
}

static bool take_zones(struct maker *m, enum space space, int unit_bytes, int64_t lo, int64_t hi,
                       bool is_store)
{
    struct zones z;

    if (!zones_of(m, space, unit_bytes, lo, hi, &z)
        || !(is_store ? zones_take_store(m, &z) : zones_take_load(m, &z)))
        return false;
    zones_touch(m, &z, is_store);
    return true;
}

/* base register and immediate: the register's bounds widen what is touched */
static bool pick_based(struct maker *m, enum space space, int unit_bytes, int span, bool is_store,
                       struct isa_operand operand[2])
{
    struct window_units w = units_of(m, space, unit_bytes);
    int step = space == IN_SMEM ? 4 : 1, base = a_known_sreg(m);
    int64_t width, start, offset;
    struct bounds b;

    if (base < 0)
        return false;
    b = m->s[base];
    if (step == 4 && (!b.is_aligned || b.lo % 4 != 0))
        return false;
    width = (b.hi - b.lo) / step + span;
    if (width > (int64_t)ZONE_COUNT * w.zone_units)
        return false;
    start = w.first + below(m, ZONE_COUNT * w.zone_units - (int)width + 1);
    offset = start * step - b.lo;
    if (offset > INT32_MAX || offset < (step == 4 ? 0 : INT32_MIN)
        || !take_zones(m, space, unit_bytes, start, start + width - 1, is_store))
        return false;
    operand[0] = reg(base);
    operand[1] = imm((int32_t)offset);
    return true;
}

static bool pick_indexed(struct maker *m, enum space space, int unit_bytes, int span,
                         bool is_store, struct isa_operand operand[2])
{
    int step = space == IN_SMEM ? 4 : 1, base = a_known_sreg(m), index = a_known_sreg(m);
    int64_t lo, hi;

    if (base < 0 || (step == 4 && (!m->s[base].is_aligned || !m->s[index].is_aligned)))
        return false;
    lo = m->s[base].lo + m->s[index].lo;
    hi = m->s[base].hi + m->s[index].hi;
    if (lo < 0 || !take_zones(m, space, unit_bytes, lo / step, hi / step + span - 1, is_store))
        return false;
    operand[0] = reg(base);
    operand[1] = reg(index);
    return true;
}

static bool pick_absolute(struct maker *m, enum space space, int unit_bytes, int span,
                          bool is_store, struct isa_operand operand[2])
{
    struct window_units w = units_of(m, space, unit_bytes);
    int64_t start;

    if (span > ZONE_COUNT * w.zone_units)
        return false;
    start = w.first + below(m, ZONE_COUNT * w.zone_units - span + 1);
    if (!take_zones(m, space, unit_bytes, start, start + span - 1, is_store))
        return false;
    operand[0] = none();
    operand[1] = imm((int32_t)(start * (space == IN_SMEM ? 4 : 1)));
    return true;
}

bool pick_address(struct maker *m, enum space space, int unit_bytes, int span, bool is_store,
                  struct isa_operand operand[2])
{
    int tries;

    for (tries = 0; tries < 6; tries++) {
        if (chance(m, 30) && pick_indexed(m, space, unit_bytes, span, is_store, operand))
            return true;
        if (chance(m, 60) && pick_based(m, space, unit_bytes, span, is_store, operand))
            return true;
        if (chance(m, 40) && pick_absolute(m, space, unit_bytes, span, is_store, operand))
            return true;
    }
    return false;
}
