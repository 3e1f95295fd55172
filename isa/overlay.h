/*
 * Overlays: the pieces of a program that is longer than the instruction memory.
 *
 * Two pieces fit at a time, each at most half of the memory long. Cuts stand
 * where as few branches as possible lead across, so not inside loops where
 * there is a choice, and else as late as possible.
 */
#ifndef ISA_OVERLAY_H
#define ISA_OVERLAY_H
#include "base/arena.h"
#include "isa/isa.h"

struct isa_overlays {
    uint32_t count;                     /* 1: all of the program fits, and nothing else is set */
    uint32_t *first;                    /* bundle of each, and the program's end */
    /* the one that follows in all likelihood: where the last branch that leads out of it
     * backwards goes (a loop over several), else the next one; of the last one itself */
    uint32_t *next;
    uint8_t *is_entry;                  /* by bundle: it may be reached from another overlay */
};

/* `p` must have passed isa_check; arrays are in `a` */
void isa_overlays(const struct isa_program *p, int64_t imem_bundles, int branch_delay_bundles,
                  struct arena *a, struct isa_overlays *out);

uint32_t isa_overlay_of(const struct isa_overlays *o, uint32_t bundle);
#endif
