/*
 * The parts of the dependence graph: registers (depend.c), memory
 * (depend_memory.c), result FIFOs and staging registers (depend_fifo.c).
 */
#ifndef STACK_DEPEND_H
#define STACK_DEPEND_H
#include "stack/backend.h"

/* `to` may issue `delay` cycles after `from`; nothing when from is -1 */
void depend_add(struct depend *d, int from, int to, int delay);

void depend_memory(struct depend *d, const struct code_block *b, const struct chip *chip);

/* -1 when the block pops what was not pushed, leaves results, or needs a deeper FIFO */
int depend_fifos(struct depend *d, const struct code_block *b, const struct chip *chip,
                 struct err *e);
#endif
