/*
 * How many operations a bundle holds, and which slots share their room.
 *
 * An eup operation also takes a valu slot, a DMA may take scalar or misc slots
 * beside its own, and the misc slot may serve as one more load or store.
 */
#ifndef ISA_SLOTS_H
#define ISA_SLOTS_H
#include "isa/isa.h"

struct isa_slots {
    int count[SLOT_COUNT];              /* in one bundle */
    int dma_scalar, dma_misc;           /* slots that each DMA takes beside its own */
    int misc_load, misc_store;          /* 1: the misc slot may serve as one more of these */
};

/* The operations of a bundle of the program, counted by slot. */
void isa_bundle_ops(const struct isa_program *p, uint32_t bundle, int ops[SLOT_COUNT]);

/*
 * From the operations of a bundle, counted by slot, the slots that they take,
 * what serves as another counted where it serves: the bundle is legal when no
 * taken[slot] exceeds count[slot].
 */
void isa_slots_take(const struct isa_slots *s, const int ops[SLOT_COUNT], int taken[SLOT_COUNT]);
bool isa_slots_fit(const struct isa_slots *s, const int ops[SLOT_COUNT]);
#endif
