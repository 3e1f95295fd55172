/*
 * Matrix units: the port that weights go through, the array, and their
 * results (docs/mxu.md). Also what only the order of operations can get wrong:
 * prep registers, types, gain registers that nobody loaded.
 */
#include "sim/limits.h"
#include "sim/timing.h"

static void check_accumulator(struct core *c, const struct decoded_op *o,
                              const struct matrix_op *m, struct issue_time *t)
{
    struct accumulator *a = &c->mxu[o->unit].accumulator[m->accumulator];
    bool is_integer = matrix_is_integer(m->type);

    if (!a->has_sum) {
        core_fault(c, FAULT_FIFO_EMPTY, "%s with nothing added to the accumulator",
                   timing_name(o).text);
        return;
    }
    if (a->is_integer != is_integer) {
        core_fault(c, FAULT_OPERATION, "%s finds an accumulator of %s", timing_name(o).text,
                   a->is_integer ? "s32" : "f32");
        return;
    }
    issue_not_before(t, a->ready_at[a->popped], STALL_RESULT);
    if (++a->popped == chip_mxu_halves(c->chip)) {
        a->popped = 0;
        a->has_sum = false;
    }
}

void timing_check_matrix(struct core *c, const struct decoded_op *o, struct issue_time *t)
{
    struct matrix_op m = matrix_op_of(o->code, o->o);
    struct mxu *unit = &c->mxu[o->unit];

    switch (m.kind) {
    case MATRIX_PUSH: case MATRIX_PREP_WEIGHTS:
        issue_not_before(t, unit->port_free_at, STALL_STAGING);
        break;
    case MATRIX_MULTIPLY: case MATRIX_PREP_ROWS:
        issue_not_before(t, unit->array_free_at, STALL_MXU);
        if (m.staging >= 0)
            issue_not_before(t, unit->staged_at[m.staging], STALL_STAGING);
        break;
    case MATRIX_POP:
        if (m.accumulator >= 0)
            check_accumulator(c, o, &m, t);
        else
            timing_check_pop(c, o, &unit->result, STALL_RESULT, t);
        break;
    default:
        break;
    }
}

static void fill_prep(struct core *c, const struct decoded_op *o, const struct matrix_op *m,
                      struct prepared *p)
{
    if (p->is_full)
        core_fault(c, FAULT_OPERATION, "%s while the prep register still holds a tile that no "
                   "operation has taken", timing_name(o).text);
    *p = (struct prepared){.is_full = true, .type = m->type,
                           .takes_type_of_push = m->takes_type_of_push};
}

static void take_prep(struct core *c, const struct decoded_op *o, const struct matrix_op *m,
                      struct prepared *p)
{
    if (!m->uses_prep)
        return;
    if (!p->is_full)
        core_fault(c, FAULT_OPERATION, "%s without a tile in the prep register",
                   timing_name(o).text);
    else if (!p->takes_type_of_push && p->type != m->type)
        core_fault(c, FAULT_OPERATION, "%s finds a tile of %s in the prep register",
                   timing_name(o).text, matrix_type_name(p->type));
    p->is_full = false;
}

static enum loaded kind_of(const struct matrix_op *m)
{
    return matrix_is_integer(m->type) ? LOADED_INTEGERS : LOADED_FLOATS;
}

static void check_gain(struct core *c, const struct decoded_op *o, const struct matrix_op *m)
{
    struct mxu *unit = &c->mxu[o->unit];
    enum loaded *gain = &unit->gain_loaded[m->gain], staged;

    if (m->staging >= 0) {              /* a register that nobody pushed into holds zeros */
        staged = unit->staged[m->staging];
        *gain = staged == LOADED_NOTHING ? kind_of(m) : staged;
    }
    if (*gain == LOADED_NOTHING)
        core_fault(c, FAULT_OPERATION, "%s before any vlgmr has loaded gain register %c",
                   timing_name(o).text, 'A' + m->gain);
    else if (*gain != kind_of(m))
        core_fault(c, FAULT_OPERATION, "%s finds weights of %s in gain register %c",
                   timing_name(o).text, *gain == LOADED_INTEGERS ? "integers" : "floats",
                   'A' + m->gain);
}

static void add_to_accumulator(struct core *c, const struct decoded_op *o,
                               const struct matrix_op *m, int number, int half, cycle_t ready_at)
{
    struct accumulator *a = &c->mxu[o->unit].accumulator[number];

    if (a->popped > 0)
        core_fault(c, FAULT_OPERATION, "%s adds to accumulator %d, of which only the lower "
                   "columns are popped", timing_name(o).text, number);
    else if (a->has_sum && a->is_integer != matrix_is_integer(m->type))
        core_fault(c, FAULT_OPERATION, "%s adds to accumulator %d of %s", timing_name(o).text,
                   number, a->is_integer ? "s32" : "f32");
    a->ready_at[half] = ready_at;
    if (half + 1 == chip_mxu_halves(c->chip)) {
        a->has_sum = true;
        a->is_integer = matrix_is_integer(m->type);
    }
}

/* rows leave at the rate at which they enter */
static void send_results(struct core *c, const struct decoded_op *o, const struct matrix_op *m,
                         cycle_t first_at)
{
    int halves = chip_mxu_halves(c->chip), tiles = halves * matrix_rows(m->type) / 8, i;
    cycle_t cycles = chip_matmul_cycles(c->chip, m->type);
    uint16_t key = timing_pop_key(OP_VPOP_MRF, matrix_is_integer(m->type));

    for (i = 0; i < tiles && c->state != CORE_FAULTED; i++) {
        cycle_t ready_at = first_at + i * cycles / tiles;

        if (m->accumulator < 0)
            timing_push_result(c, o, &c->mxu[o->unit].result, key, ready_at);
        else
            add_to_accumulator(c, o, m, m->accumulator + i / halves, i % halves, ready_at);
    }
}

static void commit_weights(struct core *c, const struct decoded_op *o, const struct matrix_op *m,
                           cycle_t at)
{
    struct mxu *unit = &c->mxu[o->unit];
    cycle_t start = later(at, unit->port_free_at);

    unit->port_free_at = start + chip_matrix_cycles(c->chip, m);
    core_count_busy(c, o, start, unit->port_free_at);
    if (m->kind == MATRIX_PREP_WEIGHTS) {
        fill_prep(c, o, m, &unit->weights_prepared);
        return;
    }
    take_prep(c, o, m, &unit->weights_prepared);
    unit->staged_at[m->staging] = unit->port_free_at;
    unit->staged[m->staging] = kind_of(m);
}

static void commit_rows(struct core *c, const struct decoded_op *o, const struct matrix_op *m,
                        cycle_t at)
{
    struct mxu *unit = &c->mxu[o->unit];
    cycle_t start = later(at, unit->array_free_at);
    cycle_t enters = start + (m->staging >= 0 ? c->chip->mxu_latch_cycles : 0);

    unit->array_free_at = enters + chip_matrix_cycles(c->chip, m);
    core_count_busy(c, o, start, unit->array_free_at);
    if (m->kind == MATRIX_PREP_ROWS) {
        fill_prep(c, o, m, &unit->rows_prepared);
        return;
    }
    take_prep(c, o, m, &unit->rows_prepared);
    check_gain(c, o, m);
    send_results(c, o, m, enters + c->chip->mxu_latency_cycles);
}

void timing_commit_matrix(struct core *c, const struct decoded_op *o, cycle_t at)
{
    struct matrix_op m = matrix_op_of(o->code, o->o);
    struct mxu *unit = &c->mxu[o->unit];

    switch (m.kind) {
    case MATRIX_PUSH: case MATRIX_PREP_WEIGHTS:
        commit_weights(c, o, &m, at);
        break;
    case MATRIX_MULTIPLY: case MATRIX_PREP_ROWS:
        commit_rows(c, o, &m, at);
        break;
    default:
        unit->gain_loaded[0] = unit->gain_loaded[1] = LOADED_NOTHING;
        break;
    }
}
