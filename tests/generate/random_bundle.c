/* Bundles, operands, and operations that are legal whatever the state. */
#include "tests/generate/random_maker.h"

#include "tests/test.h"

int below(struct maker *m, int end)
{
    return (int)rng_below(&m->rng, (uint32_t)end);
}

bool chance(struct maker *m, int percent)
{
    return below(m, 100) < percent;
}

/* zeros, ones, largest and least of f32, s32 and bf16; NaN of both kinds, infinities, subnormals */
static const uint32_t edges[] = {
    0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x80800000, 0x3f800000, 0xbf800000,
    0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 0xffffffff,
    0x7fffffff, 0x4f000000, 0xcf000000, 0x3f000000, 0x3fc00000, 0x40200000, 0x00010001, 0x80008000,
    0x7f807f80, 0xff80ff80, 0x7fc07fc0, 0x3f803f80, 0x00800080, 0x33800000, 0x42fe0000,
};

int32_t random_word(struct rng *rng)
{
    union { float f; uint32_t bits; } x;

    switch (rng_below(rng, 8)) {
    case 0: return (int32_t)edges[rng_below(rng, COUNT_OF(edges))];
    case 1: return (int32_t)(rng_next(rng) >> 32);
    case 2: return (int32_t)rng_below(rng, 256);
    case 3: return -(int32_t)rng_below(rng, 256);
    case 4: return (int32_t)(rng_below(rng, 0x10000) * 0x10001u);
    default:
        x.f = rng_uniform(rng, -4, 4);
        return (int32_t)x.bits;
    }
}

struct isa_operand none(void)
{
    return (struct isa_operand){0, OPERAND_NONE, 0};
}

struct isa_operand reg(int number)
{
    return (struct isa_operand){number, OPERAND_REG, 0};
}

struct isa_operand imm(int32_t value)
{
    return (struct isa_operand){value, OPERAND_IMM, 0};
}

int any_choice(struct maker *m, struct isa_op *op, int choice)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);

    return op->operand[info->choice_first + choice].value =
               below(m, info->alternative_count[choice] ? info->alternative_count[choice] : 1);
}

/* no guard, no operands yet, every choice at random */
struct isa_op *fresh_op(struct maker *m, struct isa_op *op, enum isa_opcode code)
{
    const struct isa_info *info = isa_info(code);

    memset(op, 0, sizeof(*op));
    op->code = (uint16_t)code;
    op->pred = ISA_PRED_ALWAYS;
    op->operand_count = info->operand_count;
    for (int i = 0; i < info->choice_count; i++) {
        op->operand[info->choice_first + i].kind = OPERAND_IMM;
        any_choice(m, op, i);
    }
    return op;
}

bool chip_has(const struct maker *m, const struct isa_op *op)
{
    const struct isa_program alone = {.name = "one operation", .bundle_count = 1};
    struct err e = {.line = 0};

    return isa_check_op(&alone, op, &m->limits, &e) == 0;
}

uint8_t guard_of(const struct isa_op *op)
{
    return (uint8_t)(op->pred | (op->pred_is_negated ? GUARD_NEGATED : 0));
}

void set_guard(struct isa_op *op, uint8_t guard)
{
    op->pred = guard & (GUARD_NEGATED - 1);
    op->pred_is_negated = (guard & GUARD_NEGATED) != 0;
}

void maybe_guard(struct maker *m, struct isa_op *op)
{
    if (chance(m, m->character.guard_percent))
        set_guard(op, (uint8_t)(below(m, ISA_PRED_COUNT) | (below(m, 2) ? GUARD_NEGATED : 0)));
}

uint8_t lasting_guard(struct maker *m)
{
    int pinned = 0, p;

    if (!chance(m, m->character.guard_percent))
        return GUARD_NONE;
    for (p = 0; p < CONDITION_FIRST; p++)
        pinned += m->pinned[p] > 0;
    p = below(m, CONDITION_FIRST);
    if ((pinned >= 4 && !m->pinned[p]) || (m->predicates_written >> p & 1u))
        return GUARD_NONE;
    return (uint8_t)(p | (below(m, 2) ? GUARD_NEGATED : 0));
}

void pin(struct maker *m, uint8_t guard, int count)
{
    if (guard != GUARD_NONE)
        m->pinned[guard & (GUARD_NEGATED - 1)] += count;
}

int any_vreg(struct maker *m)
{
    return below(m, m->limits.vreg_count);
}

int any_sreg(struct maker *m)
{
    return below(m, ISA_SREG_COUNT);
}

/* not a counter, and nothing that the scopes around rely on */
static bool is_writable(const struct maker *m, int s)
{
    const struct bounds *b = &m->s_next[s];

    return s < COUNTER_FIRST && !(b->is_known && b->depth < m->depth);
}

int writable_sreg(struct maker *m)
{
    int s = below(m, COUNTER_FIRST), tries = 2 * ISA_SREG_COUNT;

    /* what is known is worth keeping for a while */
    while (!is_writable(m, s) || (m->s_next[s].is_known && tries > ISA_SREG_COUNT && below(m, 4))) {
        if (tries-- == 0)
            return -1;
        s = (s + 1) % COUNTER_FIRST;
    }
    return s;
}

int writable_predicate(struct maker *m)
{
    int p = below(m, CONDITION_FIRST), i;

    for (i = 0; i < CONDITION_FIRST && m->pinned[p]; i++)
        p = (p + 1) % CONDITION_FIRST;
    return m->pinned[p] ? -1 : p;
}

static bool are_exclusive(const struct isa_op *a, const struct isa_op *b)
{
    return a->pred != ISA_PRED_ALWAYS && a->pred == b->pred &&
           a->pred_is_negated != b->pred_is_negated;
}

static char written_class(const struct isa_op *op)
{
    const struct isa_info *info = isa_info((enum isa_opcode)op->code);

    return info->operand_count > 0 && strchr("dmeq", info->role[0]) ? info->role[0] : '\0';
}

static bool is_written_twice(const struct maker *m, const struct isa_op *op)
{
    char class = written_class(op);

    for (uint32_t i = m->first_op; class && i < m->op_count; i++)
        if (written_class(&m->op[i]) == class
            && m->op[i].operand[0].value == op->operand[0].value && !are_exclusive(&m->op[i], op))
            return true;
    return false;
}

static void forget_written(struct maker *m, const struct isa_op *op)
{
    int number = op->operand[0].value;

    switch (written_class(op)) {
    case 'e': m->s_next[number].is_known = false; break;
    case 'd': m->is_index_next[number] = false; break;
    case 'q':
        m->is_false_next[number] = false;
        m->predicates_written |= 1u << number;
        break;
    default: break;
    }
}

bool emit(struct maker *m, const struct isa_op *op)
{
    enum isa_slot slot = isa_info((enum isa_opcode)op->code)->slot;

    if (m->op_count - m->first_op >= ISA_BUNDLE_OP_MAX || is_written_twice(m, op))
        return false;
    m->slot_ops[slot]++;
    if (!isa_slots_fit(&m->limits.slots, m->slot_ops)) {
        m->slot_ops[slot]--;
        return false;
    }
    m->op = mem_grow(m->op, &m->op_capacity, m->op_count + 1, sizeof(*m->op));
    m->op[m->op_count++] = *op;
    forget_written(m, op);
    return true;
}

void end_bundle(struct maker *m)
{
    struct isa_bundle *b;

    m->bundle = mem_grow(m->bundle, &m->bundle_capacity, m->bundle_count + 1, sizeof(*m->bundle));
    b = &m->bundle[m->bundle_count++];
    *b = (struct isa_bundle){.first_op = m->first_op,
                             .op_count = (uint16_t)(m->op_count - m->first_op),
                             .line = m->bundle_count};
    m->first_op = m->op_count;
    memset(m->slot_ops, 0, sizeof(m->slot_ops));
    m->predicates_written = 0;
    m->executed += m->times;
    memcpy(m->s, m->s_next, sizeof(m->s));
    memcpy(m->is_false, m->is_false_next, sizeof(m->is_false));
    memcpy(m->is_index, m->is_index_next, sizeof(m->is_index));
    for (int i = 0; i < FIFO_COUNT; i++)
        m->fifo[i].fresh = 0;
    for (int i = 0; i < m->limits.mxu_count; i++) {
        m->mxu[i].has_multiplied = m->mxu[i].has_pushed = false;
        for (int a = 0; a < m->limits.accumulator_count; a++)
            m->mxu[i].accumulator[a].is_fresh = false;
    }
    for (int i = 0; i < m->use_count; i++)
        m->use[i].is_fresh = false;
    release_done(m);
}

void emit_surely(struct maker *m, const struct isa_op *op)
{
    if (emit(m, op))
        return;
    end_bundle(m);
    if (!emit(m, op))
        fail_msg("%s has no room in an empty bundle",
                 isa_info((enum isa_opcode)op->code)->mnemonic);
}

/* Operations that need more than registers have makers of their own, or none, with the reason. */
static const enum isa_opcode not_plain[] = {
    OP_SBR, OP_SHALT,                   /* random_control.c */
    OP_SHALT_ERR,                       /* make_never, below */
    OP_SLD, OP_SST, OP_VLD, OP_VLD_SSHFL, OP_VLD_IAR, OP_VST, OP_VST_SSHFL, OP_VST_IAR, OP_VST_MSK,
    OP_CLD, OP_VSETIAR,                 /* addresses: random_vector.c */
    OP_SDIVREM, OP_SPOP_DRF, OP_VPUSH, OP_SPOP, OP_VPOP_EUP, OP_VPOP_CRF, OP_VPOP_XLANE,
    OP_VPOP_PERMUTE, OP_VPOP_TRF,       /* FIFOs: random_vector.c */
    OP_SFENCE,                          /* random_copy.c */
    OP_VDELAY,                          /* make_delay, below */
};

bool is_plain(enum isa_opcode code)
{
    const struct isa_info *info = isa_info(code);

    for (size_t i = 0; i < COUNT_OF(not_plain); i++)
        if (not_plain[i] == code)
            return false;
    switch (info->format) {
    case ISA_FMT_SYNC: case ISA_FMT_SYNC_R: case ISA_FMT_E_F: case ISA_FMT_E_FC:
    case ISA_FMT_DMA: case ISA_FMT_DMA_REM: case ISA_FMT_DMA_DESC:
        return false;                   /* random_copy.c, random_cores.c */
    default: break;
    }
    if (info->format == ISA_FMT_NONE)
        return info->unit != UNIT_MXU;  /* stand-ins */
    return info->unit != UNIT_MXU && info->unit != UNIT_XLU && info->unit != UNIT_EUP;
}

static bool is_of(const struct maker *m, enum isa_opcode code, enum category category)
{
    enum isa_slot slot = isa_info(code)->slot;
    bool is_stand_in = strncmp(isa_info(code)->mnemonic, "stand_in.", 9) == 0;

    if (!is_plain(code) || (is_stand_in && m->r->options.no_stand_ins))
        return false;
    if (category == MAKE_SCALAR)
        return slot == SLOT_SCALAR;
    return category == MAKE_VECTOR ? slot == SLOT_VALU : slot != SLOT_SCALAR && slot != SLOT_VALU;
}

static int32_t small_word(struct maker *m)
{
    return (int32_t)(rng_next(&m->rng) >> (44 + below(m, 20)));
}

/* false when nothing may be written */
static bool fill_operand(struct maker *m, char role, struct isa_operand *o)
{
    bool is_immediate = chance(m, 30);

    switch (role) {
    case 'd': case 'v': *o = reg(any_vreg(m)); break;
    case 'V': *o = is_immediate ? imm(random_word(&m->rng)) : reg(any_vreg(m)); break;
    case 'm': case 'n': *o = reg(below(m, ISA_MASK_COUNT)); break;
    case 'N': *o = is_immediate ? imm(below(m, 2)) : reg(below(m, ISA_MASK_COUNT)); break;
    case 'e': *o = reg(writable_sreg(m)); break;
    case 's': *o = reg(any_sreg(m)); break;
    case 'S': *o = is_immediate ? imm(random_word(&m->rng)) : reg(any_sreg(m)); break;
    case 'q': *o = reg(writable_predicate(m)); break;
    case 'P': case 'p':
        *o = reg(below(m, ISA_PRED_COUNT));
        o->is_negated = (uint8_t)below(m, 2);
        if (role == 'P' && is_immediate)
            *o = imm(below(m, 2));
        break;
    case 'i': *o = imm(small_word(m)); break;
    default: fail_msg("no random operand for '%c'", role);
    }
    return o->kind != OPERAND_REG || o->value >= 0;
}

/* some of the table's plain operations: all of the category are as likely */
static void make_of_table(struct maker *m, enum category category)
{
    enum isa_opcode code;
    struct isa_op op;
    int tries = 8;

    do {
        code = (enum isa_opcode)below(m, OP_COUNT);
    } while (!is_of(m, code, category));
    while (tries-- > 0) {
        const struct isa_info *info = isa_info(code);

        fresh_op(m, &op, code);
        for (int i = 0; i < info->choice_first; i++)
            if (!fill_operand(m, info->role[i], &op.operand[i]))
                return;
        if (!chip_has(m, &op))
            continue;
        maybe_guard(m, &op);
        emit(m, &op);
        return;
    }
}

/* an operation that must never execute, under a guard known to be false */
static void make_never(struct maker *m)
{
    struct isa_op op;
    int p = below(m, CONDITION_FIRST), i;

    for (i = 0; i < CONDITION_FIRST && !m->is_false[p]; i++)
        p = (p + 1) % CONDITION_FIRST;
    if (m->is_false[p]) {
        fresh_op(m, &op, OP_SHALT_ERR);
        set_guard(&op, (uint8_t)p);
        emit(m, &op);
        return;
    }
    fresh_op(m, &op, OP_PMOV);
    op.operand[0] = reg(writable_predicate(m));
    op.operand[1] = imm(0);
    if (op.operand[0].value >= 0 && emit(m, &op))
        m->is_false_next[op.operand[0].value] = true;
}

static void make_delay(struct maker *m)
{
    struct isa_op op;

    fresh_op(m, &op, OP_VDELAY);
    op.operand[0] = known_number(m, below(m, chance(m, 10) ? 100 : 8));
    maybe_guard(m, &op);
    emit(m, &op);
}

void make_plain(struct maker *m, enum category category)
{
    if (category == MAKE_SCALAR && chance(m, 3))
        make_never(m);
    else if (category == MAKE_MISC && chance(m, 15))
        make_delay(m);
    else
        make_of_table(m, category);
}
