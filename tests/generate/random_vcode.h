/*
 * Random legal virtual-register programs: loads and stores that overlap, every
 * kind of unit, guards, pinned accumulators, nested loops.
 */
#ifndef TESTS_RANDOM_VCODE_H
#define TESTS_RANDOM_VCODE_H
#include "sim/chip/chip.h"
#include "stack/backend/vcode.h"

struct random_vcode {
    uint64_t seed;
    int op_count;                       /* per block, about */
    int reach;                          /* operands come from the latest so many values */
    bool has_outside;                   /* with DMA, flags, SMEM: for the symbolic machine only */
    bool has_steps;                     /* loops of one block each, whose pointers go on by steps */
};

#define RANDOM_ROWS 256                 /* VMEM rows that the program touches; */
#define RANDOM_STEPS_ROWS 2048          /* with steps */

/* into an initialised vcode; the chip says how many units and how deep its FIFOs are */
void random_vcode_emit(struct vcode *c, const struct chip *chip, const struct random_vcode *r);
#endif
