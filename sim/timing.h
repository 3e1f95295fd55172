/*
 * Inside sim/timing*.c: units that answer through FIFOs, and the matrix units.
 */
#ifndef SIM_TIMING_H
#define SIM_TIMING_H
#include "sim/core.h"

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

/* take the head of the FIFO out: a fault when there is none, or it is not what o pops */
void timing_check_pop(struct core *c, const struct decoded_op *o, struct tile_fifo *f,
                      enum stall_reason reason, struct issue_time *t);

/* a result of o on its way into the FIFO; a fault when that is full */
void timing_push_result(struct core *c, const struct decoded_op *o, struct tile_fifo *f,
                        uint16_t pop_key, cycle_t ready_at);

/* sim/timing_mxu.c: the parts of timing_check and timing_commit for matrix units */
void timing_check_matrix(struct core *c, const struct decoded_op *o, struct issue_time *t);
void timing_commit_matrix(struct core *c, const struct decoded_op *o, cycle_t at);
#endif
