/*
 * Inside sim/core/timing*.c and the issue loop: what operations wait for and take,
 * those of nearly every bundle as inline functions.
 */
#ifndef SIM_TIMING_H
#define SIM_TIMING_H
#include "sim/core/core.h"

#include <assert.h>

/* an operation as written: "vmatmul.f32.gmra.mxu0" */
struct op_name {
    char text[ISA_NAME_MAX];
};
struct op_name timing_name(const struct decoded_op *o);

#define POP_KEY_CODE_BITS 12

/* What takes a result out of a FIFO: an opcode, with the type of a matrix unit's results. */
static inline uint16_t timing_pop_key(enum isa_opcode code, int type_choice)
{
    return (uint16_t)((unsigned)code | (unsigned)type_choice << POP_KEY_CODE_BITS);
}

/* sim/core/timing.c: what is not below, and the faults of what is */
void timing_wait_other(struct core *c, const struct decoded_op *o, struct issue_time *t);
void timing_take_other(struct core *c, const struct decoded_op *o, cycle_t at);
void timing_refuse_pop(struct core *c, const struct decoded_op *o);
void timing_wait_for_stores(struct core *c, const struct access_rows *rows, struct issue_time *t);
/* a result of o on its way into the FIFO; a fault when that is full */
void timing_push_result(struct core *c, const struct decoded_op *o, struct fifo *f,
                        uint16_t pop_key, cycle_t ready_at);

/* sim/core/timing_mxu.c */
void timing_wait_accumulator(struct core *c, const struct decoded_op *o, struct issue_time *t);
void timing_take_weights(struct core *c, const struct decoded_op *o, cycle_t at);
void timing_take_rows(struct core *c, const struct decoded_op *o, cycle_t at);

/* a unit is occupied from `start` (not before its last end) to `end` by `o` */
static inline void timing_occupy(struct core *c, const struct decoded_op *o, cycle_t start,
                                 cycle_t end)
{
    assert(start >= c->busy_until[o->track]);
    c->busy_cycles[o->track] += end - start;
    c->busy_until[o->track] = end;
}

/* ---- loads and stores ---- */

/* operands of a load or store from the base on: base, offset, stride, sublanes */
static inline struct access_rows timing_rows(const struct core *c, const struct decoded_op *o,
                                             int base)
{
    return (struct access_rows){.first = (int64_t)c->s[o->o[base]] + c->s[o->o[base + 1]],
                                .stride = o->o[base + 2],
                                .sublanes = (uint32_t)o->o[base + 3]};
}

/* by the group of eight rows that it lies in */
static inline cycle_t *timing_store_bucket(struct core *c, int64_t row)
{
    return &c->store_at[((uint64_t)row >> 3) * 0x9e3779b97f4a7c15u >> (64 - STORE_BUCKET_BITS)];
}

/*
 * Eight rows, one behind the other or all the same, lie in two groups at most:
 * where no bucket of a load's groups has a young store, none of them meets it.
 */
static inline void timing_note_store(struct core *c, const struct access_rows *rows, cycle_t at)
{
    if (rows->is_scattered || rows->stride > 1) {
        c->wide_store_at = at;
        return;
    }
    *timing_store_bucket(c, rows->first) = at;
    *timing_store_bucket(c, rows->first + 7 * rows->stride) = at;
}

/* a store that ends at `at` or behind it may share rows */
static inline bool timing_may_meet_store(struct core *c, const struct access_rows *rows,
                                         cycle_t at)
{
    cycle_t gap = c->store_gap_cycles, newest = c->wide_store_at;

    if (c->last_store_at + gap < at)
        return false;
    if (rows->is_scattered || rows->stride > 1)
        return true;
    newest = later(newest, *timing_store_bucket(c, rows->first));
    newest = later(newest, *timing_store_bucket(c, rows->first + 7 * rows->stride));
    return newest + gap >= at;
}

static inline void timing_wait_load(struct core *c, const struct decoded_op *o,
                                    struct issue_time *t)
{
    struct access_rows rows = timing_rows(c, o, 1);

    if (o->is_guarded && o->bank_extra > c->bank_extra)
        c->bank_extra = o->bank_extra;
    if (timing_may_meet_store(c, &rows, t->at))
        timing_wait_for_stores(c, &rows, t);
}

static inline void timing_take_store(struct core *c, const struct access_rows *rows, cycle_t at)
{
    struct store_record *s = &c->store[c->store_count++ % STORE_RING];

    s->at = at;
    s->rows = *rows;
    c->last_store_at = at;
    timing_note_store(c, rows, at);
}

/* after the ring of stores has changed behind its back */
void timing_note_all_stores(struct core *c);

/* ---- result FIFOs ---- */

static inline void timing_wait_pop(struct core *c, const struct decoded_op *o,
                                   struct issue_time *t)
{
    struct fifo *f = c->fifo[o->pop.fifo];
    uint32_t slot = f->popped & f->mask;

    if (f->pushed == f->popped || f->code[slot] != o->pop.key) {
        timing_refuse_pop(c, o);
        return;
    }
    issue_not_before(t, f->ready_at[slot], (enum stall_reason)o->pop.reason);
    f->popped++;
}

/* ---- every operation ---- */

/* raises the issue time of its bundle, and takes entries off the FIFOs */
static inline void timing_wait(struct core *c, const struct decoded_op *o, struct issue_time *t)
{
    const struct mxu *mxu;

    switch (o->timing) {
    case TIMING_LOAD:
        timing_wait_load(c, o, t);
        break;
    case TIMING_POP:
        timing_wait_pop(c, o, t);
        break;
    case TIMING_MATPUSH:
        issue_not_before(t, c->mxu[o->unit].port_free_at, STALL_STAGING);
        break;
    case TIMING_MATMUL:
        mxu = &c->mxu[o->unit];
        issue_not_before(t, mxu->array_free_at, STALL_MXU);
        if (o->matrix->op.staging >= 0)
            issue_not_before(t, mxu->staged_at[o->matrix->op.staging], STALL_STAGING);
        break;
    default:
        timing_wait_other(c, o, t);
        break;
    }
}

/* once the time is known: occupies units and puts results into FIFOs */
static inline void timing_take(struct core *c, const struct decoded_op *o, cycle_t at)
{
    struct access_rows rows;

    switch (o->timing) {
    case TIMING_STORE:
        rows = timing_rows(c, o, 0);
        timing_take_store(c, &rows, at);
        break;
    case TIMING_MATPUSH:
        timing_take_weights(c, o, at);
        break;
    case TIMING_MATMUL:
        timing_take_rows(c, o, at);
        break;
    default:
        timing_take_other(c, o, at);
        break;
    }
}
#endif
