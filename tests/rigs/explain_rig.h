/*
 * Launches made by hand (tests/rigs/toy.h) for the explanation: two cores, a step of
 * 10,000 cycles, in which only what a test says happens.
 */
#ifndef TESTS_EXPLAIN_RIG_H
#define TESTS_EXPLAIN_RIG_H
#include "report/explain/explain.h"
#include "tests/rigs/toy.h"

struct explain_rig {
    struct toy t;
    struct explain_input in;
    struct explain x;
    struct arena a;                     /* the test ends with arena_fini of it */
};

/* cores issue 1,000 bundles, each with a full load slot, and wait for nothing */
void explain_rig_quiet(struct explain_rig *f);
/* and both cores wait so long, or execute so many */
void explain_rig_stall(struct explain_rig *f, enum stall_reason r, cycle_t cycles);
void explain_rig_ops(struct explain_rig *f, enum isa_opcode op, int64_t count);
/* 6,000 cycles of rows in one matrix unit, of which `useful` of 100 are the model's */
void explain_rig_multiply(struct explain_rig *f, int useful);
/* 9,000 cycles of waits for copies from HBM, or for messages on two links that are busy so long */
void explain_rig_copy(struct explain_rig *f, int64_t copies, int64_t bytes_each);
void explain_rig_exchange(struct explain_rig *f, int64_t messages, ps_t link_busy_ps);
/* fills f->x; fails unless every one of the 10,000 cycles of both cores has a cause */
void explain_rig_explain(struct explain_rig *f);
#endif
