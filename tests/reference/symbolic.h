/*
 * A slow machine that computes with names instead of numbers.
 *
 * Every value is a hash of the operation and the values it came from, row by
 * row, so that two runs agree only if every operation saw the same operands in
 * the same order. It runs virtual-register code in source order and compiled
 * bundles, and fails the test when a bundle breaks a rule of the machine: a
 * slot too many, two writes of one register, a FIFO overflowing or read empty.
 *
 * Scalars and predicates are real numbers. Operations that reach outside the
 * core (DMA, flags) take in all of VMEM and SMEM and change all of it, except
 * the spill area: moving anything across them shows.
 */
#ifndef TESTS_SYMBOLIC_H
#define TESTS_SYMBOLIC_H
#include "isa/isa.h"
#include "sim/chip/chip.h"
#include "stack/backend/vcode.h"

#define SYMBOLIC_ROWS 4096              /* of VMEM */
#define SYMBOLIC_SPILL_ROW 3072         /* from here on: spill area, not compared */
#define SYMBOLIC_WORDS 64               /* of SMEM */
#define SYMBOLIC_QUEUE 16               /* 8 MXU, 4 XLU, EUP, V2S */

struct symbolic_queue {
    uint64_t (*item)[8];
    size_t first, end, capacity;
};

struct symbolic {
    const struct chip *chip;
    uint64_t (*v)[8], *m;
    int32_t s[ISA_SREG_COUNT];
    bool p[16];
    uint64_t vmem[SYMBOLIC_ROWS], outside;
    int32_t smem[SYMBOLIC_WORDS];
    uint64_t staging[8][2], array[8], transpose[4];
    struct symbolic_queue queue[SYMBOLIC_QUEUE];
    int64_t bundles_run, ops_run;
};

void symbolic_init(struct symbolic *x, const struct chip *chip, int vreg_count, int mask_count);
void symbolic_fini(struct symbolic *x);
void symbolic_run_vcode(struct symbolic *x, const struct vcode *c);
void symbolic_run_program(struct symbolic *x, const struct isa_program *p);
void symbolic_assert_equal(const struct symbolic *x, const struct symbolic *y);
#endif
