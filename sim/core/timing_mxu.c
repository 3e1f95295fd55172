/*
 * Matrix units: the port that weights go through, the array, and their
 * results (docs/mxu.md). Also what only the order of operations can get wrong:
 * prep registers, types, gain registers that nobody loaded.
 */
#include "sim/core/timing.h"

void timing_wait_accumulator(struct core *c, const struct decoded_op *o, struct issue_time *t)
{
    const struct decoded_matrix *m = o->matrix;
    struct accumulator *a = &c->mxu[o->unit].accumulator[m->op.accumulator];

    if (!a->has_sum) {
        core_fault(c, FAULT_FIFO_EMPTY, "%s with nothing added to the accumulator",
                   timing_name(o).text);
        return;
    }
    if (a->is_integer != m->is_integer) {
        core_fault(c, FAULT_OPERATION, "%s finds an accumulator of %s", timing_name(o).text,
                   a->is_integer ? "s32" : "f32");
        return;
    }
    issue_not_before(t, a->ready_at[a->popped], STALL_RESULT);
    if (++a->popped == m->halves) {
        a->popped = 0;
        a->has_sum = false;
    }
}

static inline void fill_prep(struct core *c, const struct decoded_op *o, const struct matrix_op *m,
                      struct prepared *p)
{
    if (p->is_full)
        core_fault(c, FAULT_OPERATION, "%s while the prep register still holds a tile that no "
                   "operation has taken", timing_name(o).text);
    *p = (struct prepared){.is_full = true, .type = m->type,
                           .takes_type_of_push = m->takes_type_of_push};
}

static inline void take_prep(struct core *c, const struct decoded_op *o, const struct matrix_op *m,
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

static enum loaded kind_of(const struct decoded_matrix *m)
{
    return m->is_integer ? LOADED_INTEGERS : LOADED_FLOATS;
}

static void check_gain(struct core *c, const struct decoded_op *o, const struct decoded_matrix *m)
{
    struct mxu *unit = &c->mxu[o->unit];
    enum loaded *gain = &unit->gain_loaded[m->op.gain], staged;

    if (m->op.staging >= 0) {           /* a register that nobody pushed into holds zeros */
        staged = unit->staged[m->op.staging];
        *gain = staged == LOADED_NOTHING ? kind_of(m) : staged;
    }
    if (*gain == LOADED_NOTHING)
        core_fault(c, FAULT_OPERATION, "%s before any vlgmr has loaded gain register %c",
                   timing_name(o).text, 'A' + m->op.gain);
    else if (*gain != kind_of(m))
        core_fault(c, FAULT_OPERATION, "%s finds weights of %s in gain register %c",
                   timing_name(o).text, *gain == LOADED_INTEGERS ? "integers" : "floats",
                   'A' + m->op.gain);
}

static void add_to_accumulator(struct core *c, const struct decoded_op *o, int number, int half,
                               cycle_t ready_at)
{
    const struct decoded_matrix *m = o->matrix;
    struct accumulator *a = &c->mxu[o->unit].accumulator[number];

    if (a->popped > 0)
        core_fault(c, FAULT_OPERATION, "%s adds to accumulator %d, of which only the lower "
                   "columns are popped", timing_name(o).text, number);
    else if (a->has_sum && a->is_integer != m->is_integer)
        core_fault(c, FAULT_OPERATION, "%s adds to accumulator %d of %s", timing_name(o).text,
                   number, a->is_integer ? "s32" : "f32");
    a->ready_at[half] = ready_at;
    if (half + 1 == m->halves) {
        a->has_sum = true;
        a->is_integer = m->is_integer;
    }
}

static void send_to_accumulators(struct core *c, const struct decoded_op *o, cycle_t enters)
{
    const struct decoded_matrix *m = o->matrix;

    for (int i = 0; i < m->tile_count && c->state != CORE_FAULTED; i++)
        add_to_accumulator(c, o, m->op.accumulator + i / m->halves, i % m->halves,
                           enters + m->result_cycles[i]);
}

/* all at once where there is room */
static void send_results(struct core *c, const struct decoded_op *o, cycle_t enters)
{
    const struct decoded_matrix *m = o->matrix;
    struct fifo *f = &c->mxu[o->unit].result;
    const uint32_t count = (uint32_t)m->tile_count, first = f->pushed, mask = f->mask;
    const uint16_t key = m->result_key;

    if (first - f->popped + count > f->depth) {
        for (uint32_t i = 0; i < count && c->state != CORE_FAULTED; i++)
            timing_push_result(c, o, f, m->result_key, enters + m->result_cycles[i]);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        f->ready_at[(first + i) & mask] = enters + m->result_cycles[i];
        f->code[(first + i) & mask] = key;
    }
    f->pushed = first + count;
}

void timing_take_weights(struct core *c, const struct decoded_op *o, cycle_t at)
{
    const struct decoded_matrix *m = o->matrix;
    struct mxu *unit = &c->mxu[o->unit];
    cycle_t start = later(at, unit->port_free_at);

    unit->port_free_at = start + m->cycles;
    timing_occupy(c, o, start, unit->port_free_at);
    if (m->op.kind == MATRIX_PREP_WEIGHTS) {
        fill_prep(c, o, &m->op, &unit->weights_prepared);
        return;
    }
    take_prep(c, o, &m->op, &unit->weights_prepared);
    unit->staged_at[m->op.staging] = unit->port_free_at;
    unit->staged[m->op.staging] = kind_of(m);
}

void timing_take_rows(struct core *c, const struct decoded_op *o, cycle_t at)
{
    const struct decoded_matrix *m = o->matrix;
    struct mxu *unit = &c->mxu[o->unit];
    cycle_t start = later(at, unit->array_free_at), enters = start + m->enter_cycles;

    unit->array_free_at = enters + m->cycles;
    timing_occupy(c, o, start, unit->array_free_at);
    if (m->op.kind == MATRIX_PREP_ROWS) {
        fill_prep(c, o, &m->op, &unit->rows_prepared);
        return;
    }
    take_prep(c, o, &m->op, &unit->rows_prepared);
    check_gain(c, o, m);
    if (m->op.accumulator >= 0)
        send_to_accumulators(c, o, enters);
    else
        send_results(c, o, enters);
}
