/*
 * Scopes. The body of a loop runs several times and a branch may skip what
 * follows it, so a scope leaves everything that legality depends on as it was
 * found: FIFOs hold as many of the same kind, flags and copies made inside are
 * settled, registers known outside keep their values.
 */
#include "tests/generate/random_maker.h"

#include "base/units.h"
#include "tests/test.h"

struct scope {
    bool is_loop;
    struct { enum fifo_rule rule; int target; uint8_t kept_guard; } fifo[FIFO_COUNT];
    struct { enum gain gain[2]; bool keeps_gain; } mxu[ISA_UNIT_MAX];
    bool is_dirty[SPACES][ZONE_COUNT];
    double times;
};

static void forget_passing(struct maker *m)
{
    memset(m->is_false, 0, sizeof(m->is_false));
    memset(m->is_false_next, 0, sizeof(m->is_false_next));
    memset(m->is_index, 0, sizeof(m->is_index));
    memset(m->is_index_next, 0, sizeof(m->is_index_next));
}

static bool is_of_one_kind(const struct ref_fifo *f)
{
    for (int i = 1; i < f->count; i++)
        if (f->entry[i].kind != f->entry[0].kind || f->entry[i].guard != f->entry[0].guard)
            return false;
    return true;
}

/* results of a matrix unit go on only where the gain registers can give that kind again */
static bool can_go_on(struct maker *m, int fifo)
{
    const struct ref_fifo *f = &m->fifo[fifo];

    if (!is_of_one_kind(f) || fifo >= FIFO_WEIGHTS)
        return false;
    return fifo < FIFO_RESULT || !m->mxu[fifo - FIFO_RESULT].keeps_gain;
}

static void enter(struct maker *m, struct scope *s, bool is_loop, double times)
{
    s->is_loop = is_loop;
    s->times = m->times;
    for (int i = 0; i < m->limits.mxu_count; i++) {
        struct matrix_unit *u = &m->mxu[i];

        memcpy(s->mxu[i].gain, u->gain, sizeof(u->gain));
        s->mxu[i].keeps_gain = u->keeps_gain;
        if (is_loop && !u->keeps_gain && !(u->keeps_gain = chance(m, 50)))
            u->gain[0] = u->gain[1] = GAIN_NONE;
    }
    for (int i = 0; i < FIFO_COUNT; i++) {
        struct ref_fifo *f = &m->fifo[i];

        s->fifo[i].rule = f->rule;
        s->fifo[i].target = f->target;
        f->target = f->count;
        if (f->rule == FIFO_ONE_KIND || f->count > 0)
            f->rule = f->rule != FIFO_FROZEN && can_go_on(m, i) ? FIFO_ONE_KIND : FIFO_FROZEN;
        /* its guard means the same to the end of the scope, also while it is empty */
        s->fifo[i].kept_guard = f->rule == FIFO_ONE_KIND ? f->entry[0].guard : GUARD_NONE;
        pin(m, s->fifo[i].kept_guard, 1);
    }
    for (int space = 0; space < SPACES; space++)
        for (int i = 0; i < ZONE_COUNT; i++)
            s->is_dirty[space][i] = m->zone[space][i].is_dirty;
    if (is_loop)
        zones_all_dirty(m);
    forget_passing(m);
    m->times *= times;
    m->depth++;
}

/* a branch may have skipped the scope: what held before or holds now */
static void join(struct maker *m, const struct scope *s)
{
    for (int i = 0; i < m->limits.mxu_count; i++)
        for (int j = 0; j < 2; j++)
            if (s->mxu[i].gain[j] != m->mxu[i].gain[j])
                m->mxu[i].gain[j] = GAIN_NONE;
    for (int space = 0; space < SPACES; space++)
        for (int i = 0; i < ZONE_COUNT; i++)
            m->zone[space][i].is_dirty |= s->is_dirty[space][i];
}

static void leave(struct maker *m, const struct scope *s)
{
    m->depth--;
    m->times = s->times;
    for (int i = 0; i < FIFO_COUNT; i++) {
        m->fifo[i].rule = s->fifo[i].rule;
        m->fifo[i].target = s->fifo[i].target;
        pin(m, s->fifo[i].kept_guard, -1);
    }
    for (int i = 0; i < m->limits.mxu_count; i++)
        m->mxu[i].keeps_gain = s->mxu[i].keeps_gain;
    if (!s->is_loop)
        join(m, s);
    for (int i = 0; i < ISA_SREG_COUNT; i++)
        if (m->s_next[i].depth > m->depth)
            m->s[i].is_known = m->s_next[i].is_known = false;
    forget_passing(m);
}

static void restore_fifo(struct maker *m, int fifo)
{
    struct ref_fifo *f = &m->fifo[fifo];
    int tries = 2000;

    while (f->rule != FIFO_FROZEN && f->count != f->target) {
        if (tries-- == 0)
            fail_msg("fifo %d of core %d keeps %d of %d entries", fifo, m->core, f->count,
                     f->target);
        if (f->count > f->target ? !pop_entry(m, fifo) : !push_entry(m, fifo))
            end_bundle(m);
    }
}

/* prep registers first: taking one out may give results */
void settle(struct maker *m)
{
    close_transposes(m);
    for (int i = FIFO_COUNT - 1; i >= 0; i--)
        restore_fifo(m, i);
    pop_accumulators(m);
    settle_flags(m);
    end_bundle(m);
}

static const struct { enum category category; void (*make)(struct maker *m); } makers[] = {
    {MAKE_BOUNDED, make_bounded}, {MAKE_MEMORY, make_memory}, {MAKE_WORD, make_word},
    {MAKE_EUP, make_eup}, {MAKE_XLU, make_xlu}, {MAKE_MATRIX, make_matrix},
    {MAKE_COPY, make_copy}, {MAKE_FLAG, make_flag},
};

static enum category any_category(struct maker *m)
{
    int total = 0, i, drawn;

    for (i = 0; i < CATEGORY_COUNT; i++)
        total += m->character.weight[i];
    drawn = below(m, total);
    for (i = 0; drawn >= m->character.weight[i]; i++)
        drawn -= m->character.weight[i];
    return (enum category)i;
}

static void make_any(struct maker *m, enum category category)
{
    for (size_t i = 0; i < COUNT_OF(makers); i++)
        if (makers[i].category == category) {
            makers[i].make(m);
            return;
        }
    make_plain(m, category);
}

void make_bundle(struct maker *m)
{
    int tries = below(m, m->character.tries + 1) * (chance(m, 15) ? 4 : 1);

    while (tries-- > 0)
        make_any(m, any_category(m));
    end_bundle(m);
}

/* they execute whether or not the branch in front of them is taken, and settle nothing */
static void make_delay_bundles(struct maker *m)
{
    static const enum category quiet[] = {MAKE_SCALAR, MAKE_BOUNDED, MAKE_VECTOR, MAKE_MISC,
                                          MAKE_MEMORY};
    int i, tries;

    end_bundle(m);
    for (i = 0; i < m->limits.branch_delay_bundles; i++) {
        for (tries = below(m, m->character.tries); tries > 0; tries--)
            make_any(m, quiet[below(m, COUNT_OF(quiet))]);
        end_bundle(m);
    }
}

static uint32_t emit_branch(struct maker *m, uint8_t guard, uint32_t target)
{
    struct isa_op op;

    fresh_op(m, &op, OP_SBR);
    op.operand[0] = imm((int32_t)target);
    set_guard(&op, guard);
    emit_surely(m, &op);
    return m->op_count - 1;
}

/* What other scopes must not meet half done; results may wait in FIFOs, and copies be under way. */
static void pause(struct maker *m)
{
    if (chance(m, 40))
        settle(m);
    close_transposes(m);
    end_bundle(m);
}

/* over some bundles, by a predicate that may be anything */
static void make_skip(struct maker *m, int bundles)
{
    uint8_t guard = (uint8_t)(below(m, ISA_PRED_COUNT) | (below(m, 2) ? GUARD_NEGATED : 0));
    struct scope scope;
    uint32_t branch;

    pause(m);
    branch = emit_branch(m, chance(m, 10) ? GUARD_NONE : guard, 0);
    make_delay_bundles(m);
    enter(m, &scope, false, 1);
    make_block(m, bundles);
    settle(m);
    leave(m, &scope);
    m->op[branch].operand[0].value = (int32_t)m->bundle_count;
}

/* How a loop counts: from `first` by `step`, on while `code` holds of counter and `last`. */
struct counting {
    int first, step, last;
    enum isa_opcode code;
    int relation;                       /* of an unsigned compare */
    bool is_negated;                    /* it ends when the compare holds */
};

static struct counting any_counting(struct maker *m, int trips)
{
    const struct counting ways[] = {
        {trips, -1, 0, OP_SCMP_GT, 0, false}, {trips, -1, 0, OP_SCMP_NE, 0, false},
        {trips, -1, 1, OP_SCMP_GE, 0, false}, {trips, -1, 0, OP_SCMP_EQ, 0, true},
        {trips, -1, 0, OP_SCMP_LE, 0, true},  {0, 1, trips, OP_SCMP_LT, 0, false},
        {0, 1, trips, OP_SCMP_GE, 0, true},   {0, 3, 3 * trips, OP_SCMP_U32, 2, false},
        {5, 2, 5 + 2 * trips, OP_SCMP_U32, 1, false},
        {-trips, 1, 0, OP_SCMP_LT, 0, false},
    };

    return ways[below(m, COUNT_OF(ways))];
}

static void emit_number(struct maker *m, int s, int32_t value)
{
    struct isa_op op;

    fresh_op(m, &op, OP_SMOV);
    op.operand[0] = reg(s);
    op.operand[1] = imm(value);
    emit_surely(m, &op);
}

static void emit_step(struct maker *m, int s, int step)
{
    struct isa_op op;
    bool subtracts = chance(m, 50);

    fresh_op(m, &op, subtracts ? OP_SSUB : OP_SADD);
    op.operand[0] = reg(s);
    op.operand[1] = reg(s);
    op.operand[2] = imm(subtracts ? -step : step);
    emit_surely(m, &op);
}

static void emit_compare(struct maker *m, const struct counting *c, int condition, int counter)
{
    struct isa_op op;

    fresh_op(m, &op, c->code);
    op.operand[0] = reg(condition);
    op.operand[1] = reg(counter);
    op.operand[2] = imm(c->last);
    if (c->code == OP_SCMP_U32)
        op.operand[3] = imm(c->relation);
    emit_surely(m, &op);
}

/* a register that moves by `step` per iteration, or -1; its bounds hold from first to last */
static int start_walk(struct maker *m, int trips, int step)
{
    int s = writable_sreg(m), first = below(m, 16);

    if (s < 0 || knows_enough(m) || !chance(m, 60))
        return -1;
    emit_number(m, s, first * step);
    know_s(m, s, first * step, (first + trips) * step, step % 4 == 0);
    return s;
}

/* few where much is executed already */
static int any_trips(struct maker *m, int bundles)
{
    double room = (m->r->options.bundles - m->executed) / (m->times * bundles * 2);
    int trips = 1 + below(m, chance(m, 20) ? m->character.trips_max : 5);

    return trips <= room ? trips : room < 1 ? 1 : (int)room;
}

static void make_loop(struct maker *m, int bundles)
{
    int trips = any_trips(m, bundles);
    int counter = COUNTER_FIRST + m->depth, condition = CONDITION_FIRST + m->depth;
    int step = chance(m, 50) ? 4 : 1, walk;
    struct counting c = any_counting(m, trips);
    struct scope scope;
    struct bounds walked;
    uint32_t start;

    pause(m);
    emit_number(m, counter, c.first);
    walk = start_walk(m, trips, step);
    end_bundle(m);
    start = m->bundle_count;
    enter(m, &scope, true, trips);
    if (c.step == 1 || c.step == -1)
        know_s(m, counter, c.first < c.last ? c.first : c.last - 1,
               c.first < c.last ? c.last : c.first, false);
    make_block(m, bundles);
    settle(m);
    emit_step(m, counter, c.step);
    if (walk >= 0) {
        walked = m->s_next[walk];
        emit_step(m, walk, step);
        m->s_next[walk] = walked;       /* the bounds hold for all iterations: nobody writes it */
    }
    end_bundle(m);
    emit_compare(m, &c, condition, counter);
    end_bundle(m);
    emit_branch(m, (uint8_t)(condition | (c.is_negated ? GUARD_NEGATED : 0)), start);
    make_delay_bundles(m);
    leave(m, &scope);
    if (walk >= 0)
        m->s[walk].is_known = m->s_next[walk].is_known = false;
}

void make_block(struct maker *m, int bundles)
{
    uint32_t end = m->bundle_count + (uint32_t)bundles;

    while (m->bundle_count < end) {
        int inside = 1 + below(m, 12);

        if (m->depth < DEPTH_MAX && chance(m, m->character.loop_percent))
            make_loop(m, inside);
        else if (m->depth < DEPTH_MAX && chance(m, m->character.branch_percent))
            make_skip(m, inside);
        else
            make_bundle(m);
    }
}
