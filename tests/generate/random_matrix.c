/*
 * Matrix units: weights, left-hand rows and their halves, results through the
 * FIFO or in accumulators. A staging register takes integers or floats for the
 * whole program, so that what a gain register holds is always one or the other.
 */
#include "tests/generate/random_maker.h"

#include "tests/test.h"

#define KIND_ANY_TYPE MATRIX_TYPE_COUNT /* what vmatprep.subr without a type prepared */

static bool takes_some(const bool *takes, bool is_integer)
{
    for (int t = 0; t < MATRIX_TYPE_COUNT; t++)
        if (takes[t] && matrix_is_integer((enum matrix_type)t) == is_integer)
            return true;
    return false;
}

static enum matrix_type any_type(struct maker *m, const bool *takes, bool is_integer)
{
    int t;

    do {
        t = below(m, MATRIX_TYPE_COUNT);
    } while (!takes[t] || matrix_is_integer((enum matrix_type)t) != is_integer);
    return (enum matrix_type)t;
}

void matrix_setup(struct maker *m)
{
    bool has_integers = takes_some(m->limits.takes_weights, true)
                        && takes_some(m->limits.takes_rows, true);

    for (int i = 0; i < m->limits.mxu_count; i++)
        for (int j = 0; j < 2; j++)
            m->mxu[i].is_integer[j] = has_integers && chance(m, 40);
}

static struct isa_operand *choice_of(struct isa_op *op, int choice)
{
    return &op->operand[isa_info((enum isa_opcode)op->code)->choice_first + choice];
}

/* `code`, or the same under a lane mask; the tile and its mask at random */
static void matrix_op(struct maker *m, struct isa_op *op, int unit, enum isa_opcode code,
                      enum isa_opcode masked, uint8_t guard)
{
    bool is_masked = chance(m, 25);

    fresh_op(m, op, is_masked ? masked : code);
    op->unit_index = (uint8_t)unit;
    if (is_masked)
        op->operand[0] = reg(below(m, ISA_MASK_COUNT));
    op->operand[is_masked] = reg(any_vreg(m));
    set_guard(op, guard);
}

/* weights into a staging register; with `prep` the tile of the prep register goes too */
static bool push_weights(struct maker *m, int unit, int staging, const struct queued *prep)
{
    struct matrix_unit *u = &m->mxu[unit];
    struct isa_op op;
    enum matrix_type type = any_type(m, m->limits.takes_weights, u->is_integer[staging]);

    if (u->has_pushed)
        return false;
    if (prep && prep->kind != KIND_ANY_TYPE)
        type = (enum matrix_type)prep->kind;
    matrix_op(m, &op, unit, OP_VMATPUSH, OP_VMATPUSH_MSK, prep ? prep->guard : GUARD_NONE);
    choice_of(&op, PUSH_MODE)->value = prep ? 1 + below(m, 3) : 0;
    choice_of(&op, PUSH_TYPE)->value = (int32_t)type;
    choice_of(&op, PUSH_STAGING)->value = staging;
    if (!prep)
        maybe_guard(m, &op);
    if (!emit(m, &op))
        return false;
    u->has_pushed = true;
    if (prep)
        fifo_pop(m, FIFO_WEIGHTS + unit);
    return true;
}

static bool take_weights_prep(struct maker *m, int unit)
{
    const struct queued *prep = fifo_head(m, FIFO_WEIGHTS + unit);
    int staging = below(m, 2);

    if (!prep)
        return false;
    if (prep->kind != KIND_ANY_TYPE
        && m->mxu[unit].is_integer[staging] != matrix_is_integer((enum matrix_type)prep->kind))
        staging = !staging;
    return push_weights(m, unit, staging, prep);
}

static void prepare_weights(struct maker *m, int unit)
{
    struct matrix_unit *u = &m->mxu[unit];
    uint8_t guard = fifo_guard(m, FIFO_WEIGHTS + unit);
    enum matrix_type type = any_type(m, m->limits.takes_weights, u->is_integer[below(m, 2)]);
    bool is_untyped = m->limits.takes_weights[MATRIX_F32] && chance(m, 20);
    int kind = is_untyped || type == MATRIX_F32 ? KIND_ANY_TYPE : (int)type;
    struct isa_op op;

    if (u->has_pushed || !fifo_takes(m, FIFO_WEIGHTS + unit, kind, guard, 1))
        return;
    matrix_op(m, &op, unit, OP_VMATPREP_SUBR, OP_VMATPREP_SUBR_MSK, guard);
    choice_of(&op, 0)->value = kind == KIND_ANY_TYPE ? 0 : (int32_t)type;
    if (!emit(m, &op))
        return;
    u->has_pushed = true;
    fifo_push(m, FIFO_WEIGHTS + unit, kind, guard, 1);
}

static enum gain gain_kind(bool is_integer)
{
    return is_integer ? GAIN_INTEGERS : GAIN_FLOATS;
}

/* choices of gain and latch with which rows of integers or floats can be multiplied */
static bool pick_gain(struct maker *m, int unit, bool is_integer, int *gain, int *latch)
{
    const struct matrix_unit *u = &m->mxu[unit];
    int staging = u->is_integer[0] == is_integer ? u->is_integer[1] == is_integer ? below(m, 2) : 0
                                                 : 1;

    *gain = below(m, 2);
    *latch = 0;
    if (!u->keeps_gain && u->is_integer[staging] == is_integer && chance(m, 40)) {
        *latch = 1 + staging;
        return true;
    }
    if (u->gain[*gain] != gain_kind(is_integer))
        *gain = !*gain;
    if (u->gain[*gain] == gain_kind(is_integer))
        return true;
    *latch = 1 + staging;
    return !u->keeps_gain && u->is_integer[staging] == is_integer;
}

static int tiles_of(const struct maker *m, enum matrix_type type)
{
    return chip_mxu_halves(m->chip) * matrix_values_per_word(type);
}

/* accumulators first, first + 1, … can take rows of the type under the guard */
static bool accumulators_take(const struct maker *m, int unit, int first, enum matrix_type type,
                              uint8_t guard)
{
    int count = matrix_values_per_word(type), i;

    if (first + count > m->limits.accumulator_count)
        return false;
    for (i = first; i < first + count; i++) {
        const struct accumulator_use *a = &m->mxu[unit].accumulator[i];

        if (a->is_used && (a->is_integer != matrix_is_integer(type) || a->guard != guard
                           || a->popped > 0))
            return false;
        if (a->is_fresh)
            return false;
    }
    return true;
}

static void add_to_accumulators(struct maker *m, int unit, int first, enum matrix_type type,
                                uint8_t guard)
{
    for (int i = first; i < first + matrix_values_per_word(type); i++) {
        struct accumulator_use *a = &m->mxu[unit].accumulator[i];

        if (!a->is_used) {
            *a = (struct accumulator_use){.is_used = true, .is_integer = matrix_is_integer(type),
                                          .depth = m->depth, .guard = guard};
            pin(m, guard, 1);
        }
        a->is_fresh = true;
    }
}

/* few of them, so that sums of several products come about */
static int pick_accumulator(struct maker *m, int unit, enum matrix_type type, uint8_t guard)
{
    int tries = 6, first;

    while (tries-- > 0) {
        first = below(m, chance(m, 80) ? 12 : m->limits.accumulator_count);
        if (accumulators_take(m, unit, first, type, guard))
            return first;
    }
    return -1;
}

static bool has_room(struct maker *m, int unit, enum matrix_type type, uint8_t guard, int *first)
{
    *first = 0;
    if (m->limits.accumulator_count == 0)
        return fifo_takes(m, FIFO_RESULT + unit, matrix_is_integer(type), guard,
                          tiles_of(m, type));
    *first = pick_accumulator(m, unit, type, guard);
    return *first >= 0;
}

/* rows of the type through the array; with `prep` those of the prep register too */
static bool multiply(struct maker *m, int unit, enum matrix_type type, uint8_t guard,
                     const struct queued *prep)
{
    struct matrix_unit *u = &m->mxu[unit];
    bool has_accumulators = m->limits.accumulator_count > 0;
    int gain, latch, first;
    struct isa_op op;

    if (u->has_multiplied || !pick_gain(m, unit, matrix_is_integer(type), &gain, &latch)
        || !has_room(m, unit, type, guard, &first))
        return false;
    matrix_op(m, &op, unit, has_accumulators ? OP_VMATMUL_ACC : OP_VMATMUL,
              has_accumulators ? OP_VMATMUL_ACC_MSK : OP_VMATMUL_MSK, guard);
    choice_of(&op, MULTIPLY_PREP)->value = prep != NULL;
    choice_of(&op, MULTIPLY_TYPE)->value = (int32_t)type;
    choice_of(&op, MULTIPLY_LATCH)->value = latch;
    choice_of(&op, MULTIPLY_GAIN)->value = gain;
    if (has_accumulators)
        choice_of(&op, MULTIPLY_CHOICES)->value = first;
    if (!emit(m, &op))
        return false;
    u->has_multiplied = true;
    if (latch && guard == GUARD_NONE)
        u->gain[gain] = gain_kind(matrix_is_integer(type));
    else if (latch && u->gain[gain] != gain_kind(matrix_is_integer(type)))
        u->gain[gain] = GAIN_NONE;
    if (prep)
        fifo_pop(m, FIFO_ROWS + unit);
    if (has_accumulators)
        add_to_accumulators(m, unit, first, type, guard);
    else
        fifo_push(m, FIFO_RESULT + unit, matrix_is_integer(type), guard, tiles_of(m, type));
    return true;
}

static bool take_rows_prep(struct maker *m, int unit)
{
    const struct queued *prep = fifo_head(m, FIFO_ROWS + unit);

    return prep && multiply(m, unit, (enum matrix_type)prep->kind, prep->guard, prep);
}

static bool can_integers(const struct matrix_unit *u)
{
    return u->is_integer[0] || u->is_integer[1];
}

static bool can_floats(const struct matrix_unit *u)
{
    return !u->is_integer[0] || !u->is_integer[1];
}

/* a type of rows for which this unit has weights */
static enum matrix_type any_rows_type(struct maker *m, int unit)
{
    const struct matrix_unit *u = &m->mxu[unit];
    bool is_integer = can_integers(u) && (!can_floats(u) || chance(m, 50));

    return any_type(m, m->limits.takes_rows, is_integer);
}

/* only where what takes the prep register out will be legal for the rest of this scope */
static void prepare_rows(struct maker *m, int unit)
{
    struct matrix_unit *u = &m->mxu[unit];
    enum matrix_type type = any_rows_type(m, unit);
    uint8_t guard = m->limits.accumulator_count ? lasting_guard(m)
                                                : fifo_guard(m, FIFO_RESULT + unit);
    struct isa_op op;
    int gain, latch;

    if (u->has_multiplied || !fifo_takes(m, FIFO_ROWS + unit, (int)type, guard, 1)
        || !pick_gain(m, unit, matrix_is_integer(type), &gain, &latch))
        return;
    if (!m->limits.accumulator_count
        && !fifo_takes(m, FIFO_RESULT + unit, matrix_is_integer(type), guard, 0))
        return;
    matrix_op(m, &op, unit, OP_VMATPREP_MUBR, OP_VMATPREP_MUBR_MSK, guard);
    choice_of(&op, 0)->value = (int32_t)type;
    if (!emit(m, &op))
        return;
    u->has_multiplied = true;
    fifo_push(m, FIFO_ROWS + unit, (int)type, guard, 1);
}

static void give_up_gains(struct maker *m, int unit)
{
    struct matrix_unit *u = &m->mxu[unit];
    struct isa_op op;

    if (u->keeps_gain || u->has_multiplied || m->fifo[FIFO_ROWS + unit].count > 0)
        return;
    fresh_op(m, &op, OP_VDWG);
    op.unit_index = (uint8_t)unit;
    maybe_guard(m, &op);
    if (!emit(m, &op))
        return;
    u->has_multiplied = true;
    u->gain[0] = u->gain[1] = GAIN_NONE;
}

static bool pop_result(struct maker *m, int unit)
{
    const struct queued *head = fifo_head(m, FIFO_RESULT + unit);
    struct isa_op op;

    if (!head)
        return false;
    fresh_op(m, &op, OP_VPOP_MRF);
    op.unit_index = (uint8_t)unit;
    op.operand[0] = reg(any_vreg(m));
    *choice_of(&op, 0) = imm(head->kind);
    set_guard(&op, head->guard);
    if (!emit(m, &op))
        return false;
    fifo_pop(m, FIFO_RESULT + unit);
    return true;
}

/* the lower columns, then the upper; an accumulator of an outer scope is added to only */
static bool pop_accumulator(struct maker *m, int unit, int number)
{
    struct accumulator_use *a = &m->mxu[unit].accumulator[number];
    struct isa_op op;

    if (!a->is_used || a->is_fresh || a->depth < m->depth)
        return false;
    fresh_op(m, &op, OP_VPOP_MRB);
    op.unit_index = (uint8_t)unit;
    op.operand[0] = reg(any_vreg(m));
    *choice_of(&op, 0) = imm(a->is_integer);
    *choice_of(&op, 1) = imm(number);
    set_guard(&op, a->guard);
    if (!emit(m, &op))
        return false;
    a->is_fresh = true;
    if (++a->popped == chip_mxu_halves(m->chip)) {
        pin(m, a->guard, -1);
        a->is_used = false;
    }
    return true;
}

static bool pop_some_result(struct maker *m, int unit)
{
    int count = m->limits.accumulator_count, number, i;

    if (count == 0)
        return pop_result(m, unit);
    number = below(m, count);
    for (i = 0; i < count && !m->mxu[unit].accumulator[number].is_used; i++)
        number = (number + 1) % count;
    return pop_accumulator(m, unit, number);
}

static void multiply_any(struct maker *m, int unit)
{
    uint8_t guard = m->limits.accumulator_count ? lasting_guard(m)
                                                : fifo_guard(m, FIFO_RESULT + unit);

    multiply(m, unit, any_rows_type(m, unit), guard, NULL);
}

void make_matrix(struct maker *m)
{
    int unit = below(m, m->limits.mxu_count), what = below(m, 100);
    bool has_halves = chip_mxu_halves(m->chip) > 1;

    if (what < 40)
        pop_some_result(m, unit);
    else if (what < 60 && has_halves && fifo_head(m, FIFO_WEIGHTS + unit))
        take_weights_prep(m, unit);
    else if (what < 60)
        push_weights(m, unit, below(m, 2), NULL);
    else if (what < 68 && has_halves)
        prepare_weights(m, unit);
    else if (what < 76 && has_halves)
        prepare_rows(m, unit);
    else if (what < 98 && has_halves && m->fifo[FIFO_ROWS + unit].count > 0)
        take_rows_prep(m, unit);
    else if (what < 98)
        multiply_any(m, unit);
    else
        give_up_gains(m, unit);
}

bool matrix_pop_entry(struct maker *m, int fifo)
{
    int unit = (fifo - FIFO_RESULT) % ISA_UNIT_MAX;

    if (fifo < FIFO_WEIGHTS)
        return pop_result(m, unit);
    if (fifo < FIFO_ROWS)
        return take_weights_prep(m, unit);
    return take_rows_prep(m, unit) || pop_some_result(m, unit);
}

bool matrix_push_entry(struct maker *m, int fifo)
{
    struct queued like = m->fifo[fifo].entry[0];
    int unit = fifo - FIFO_RESULT;
    enum matrix_type type = any_type(m, m->limits.takes_rows, like.kind != 0);

    return multiply(m, unit, type, like.guard, NULL)
           || (m->fifo[fifo].count + tiles_of(m, type) > m->fifo[fifo].depth
               && pop_result(m, unit));
}

void pop_accumulators(struct maker *m)
{
    for (int unit = 0; unit < m->limits.mxu_count; unit++)
        for (int i = 0; i < m->limits.accumulator_count; i++)
            while (m->mxu[unit].accumulator[i].is_used
                   && m->mxu[unit].accumulator[i].depth >= m->depth)
                if (!pop_accumulator(m, unit, i))
                    end_bundle(m);
}
