/*
 * Counts a bundle's operations by slot, and decides whether they fit when slots lend each other
 * room.
 */
#include "isa/slots.h"

#include <string.h>

void isa_bundle_ops(const struct isa_program *p, uint32_t bundle, int ops[SLOT_COUNT])
{
    const struct isa_bundle *b = &p->bundle[bundle];

    memset(ops, 0, SLOT_COUNT * sizeof(*ops));
    for (uint32_t i = 0; i < b->op_count; i++)
        ops[isa_info((enum isa_opcode)p->op[b->first_op + i].code)->slot]++;
}

/* As many operations beyond the slot's own as may go to the misc slot, go there. */
static void lend_misc(const struct isa_slots *s, enum isa_slot slot, int most,
                      int taken[SLOT_COUNT])
{
    int beyond = taken[slot] - s->count[slot];

    if (beyond > most)
        beyond = most;
    if (beyond <= 0)
        return;
    taken[slot] -= beyond;
    taken[SLOT_MISC] += beyond;
}

void isa_slots_take(const struct isa_slots *s, const int ops[SLOT_COUNT], int taken[SLOT_COUNT])
{
    memcpy(taken, ops, SLOT_COUNT * sizeof(*taken));
    taken[SLOT_VALU] += ops[SLOT_EUP];
    taken[SLOT_SCALAR] += ops[SLOT_DMA] * s->dma_scalar;
    taken[SLOT_MISC] += ops[SLOT_DMA] * s->dma_misc;
    lend_misc(s, SLOT_LOAD, s->misc_load, taken);
    lend_misc(s, SLOT_STORE, s->misc_store, taken);
}

bool isa_slots_fit(const struct isa_slots *s, const int ops[SLOT_COUNT])
{
    int taken[SLOT_COUNT];

    isa_slots_take(s, ops, taken);
    for (int slot = 0; slot < SLOT_COUNT; slot++) {
        if (taken[slot] > s->count[slot])
            return false;
    }
    return true;
}
