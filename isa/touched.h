/*
 * What one operation reads and writes when it issues: registers among its
 * operands, and state that is in no operand, with its choices considered.
 *
 * Taking out of a FIFO or a prep register counts as reading it. A copy within
 * the core moves its bytes later, and what any copy writes changes later too:
 * neither is told here. The guard's predicate is not told either.
 */
#ifndef ISA_TOUCHED_H
#define ISA_TOUCHED_H
#include "isa/isa.h"

/* index: of a register, its number; of a unit's state, the unit, + ISA_UNIT_MAX for B of A and B */
struct isa_touch {
    uint8_t state;                      /* enum isa_state */
    uint8_t index;
};

struct isa_touched {
    struct isa_touch read[ISA_OPERAND_MAX + 4], write[4];
    int read_count, write_count;
};

void isa_touched(const struct isa_op *op, struct isa_touched *t);
#endif
