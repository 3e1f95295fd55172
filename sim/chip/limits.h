/*
 * What a chip's parameters say about programs: what they may use, and how long
 * results take.
 */
#ifndef SIM_LIMITS_H
#define SIM_LIMITS_H
#include "isa/check.h"
#include "isa/matrix.h"
#include "sim/chip/chip.h"

void chip_slots(const struct chip *c, struct isa_slots *slots);
void chip_isa_limits(const struct chip *c, struct isa_limits *limits);

/*
 * Cycles from issue to use of the result; 1 for what is popped from a FIFO or
 * has no result (sim/core/timing.c knows when a FIFO has it).
 */
int chip_latency_cycles(const struct chip *c, enum isa_latency_class latency_class);

/*
 * How long weights hold the port of a matrix unit and left-hand rows its array
 * (docs/mxu.md), without the loading of a gain register. For pushes of a type,
 * 0 where the chip does not take it.
 */
int chip_matrix_cycles(const struct chip *c, const struct matrix_op *m);
int chip_matmul_cycles(const struct chip *c, enum matrix_type t);
int chip_push_cycles(const struct chip *c, enum matrix_type t);

/* how long a tile pushed into a transpose occupies the unit; `type` as ISA_XPOSE_TYPE */
int chip_xpose_issue_cycles(const struct chip *c, int32_t type);
#endif
