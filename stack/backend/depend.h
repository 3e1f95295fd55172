/*
 * The parts of the dependence graph: registers (depend.c), memory
 * (depend_memory.c), result FIFOs and staging registers (depend_fifo.c).
 */
#ifndef STACK_DEPEND_H
#define STACK_DEPEND_H
#include "stack/backend/backend.h"

void depend_init(struct depend *d, const struct code_block *b);      /* no edges */

/* `to` may issue `delay` cycles after `from`; nothing when from is -1 */
void depend_add(struct depend *d, int from, int to, int delay);

void depend_memory(struct depend *d, const struct code_block *b, const struct chip *chip);

void depend_registers(struct depend *d, const struct code_block *b, const struct chip *chip);

/* What a block does at one FIFO, operations by number, in their order there. */
struct depend_fifo_use {
    int depth;
    int push_count, *push;
    int *push_cycles, *push_results;    /* occupancy of the unit, results, of each push */
    int pop_count, *pop, *pushed_by;    /* and whose result each pop takes */
};
enum {                                  /* FIFOs by number */
    DEPEND_FIFO_MXU = 0, DEPEND_FIFO_XLU = ISA_UNIT_MAX, DEPEND_FIFO_EUP = 2 * ISA_UNIT_MAX,
    DEPEND_FIFO_V2S, DEPEND_FIFO_COUNT
};

/*
 * -1 when the block pops what was not pushed, leaves results, or needs a deeper
 * FIFO. With `use` (DEPEND_FIFO_COUNT of them) pushes and pops get no order
 * among themselves, nor is the depth looked at; instead *use tells what the
 * operations below `use_limit` do: for loops, which order them in their own way.
 */
int depend_fifos(struct depend *d, const struct code_block *b, const struct chip *chip,
                 struct depend_fifo_use *use, int use_limit, struct err *e);
#endif
