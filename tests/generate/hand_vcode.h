/*
 * Chips, and small hand-written blocks, for tests of the back end.
 */
#ifndef TESTS_HAND_VCODE_H
#define TESTS_HAND_VCODE_H
#include "sim/chip/chip.h"
#include "stack/backend/vcode.h"

/* what the back end reads of a chip, v3-like */
struct chip hand_chip(void);
struct chip hand_narrow_chip(int vregs);        /* one operation per slot, few registers */
struct chip hand_wide_chip(void);               /* several of everything */

struct hand {
    struct arena arena;
    struct vcode c;
};

void hand_init(struct hand *k);
void hand_fini(struct hand *k);
void hand_emit1(struct hand *k, enum isa_opcode code, int unit, struct isa_operand a);
/* f32 into or through a matrix unit; latch: 0, or 1 + the staging register to load */
void hand_push(struct hand *k, int v, int mxu, int staging);
void hand_multiply(struct hand *k, int v, int mxu, int latch);
void hand_pop(struct hand *k, int to, int mxu);
void hand_emit2(struct hand *k, enum isa_opcode code, struct isa_operand a, struct isa_operand b);
void hand_emit3(struct hand *k, enum isa_opcode code, int to, struct isa_operand a,
                struct isa_operand b);
int hand_load(struct hand *k, int region, int row);          /* a tile at a constant address */
void hand_store(struct hand *k, int region, int row, int v);
#endif
