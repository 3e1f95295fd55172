/*
 * What is known of memory in timing mode.
 *
 * Nothing works on lanes there, so VMEM and CMEM hold nothing that is known,
 * and what is written from them into HBM or host memory makes that range
 * unknown (struct core, unknown_hbm, unknown_host). SMEM is always known:
 * a copy that would bring unknown bytes there is a fault, and so is everything
 * else that would let a lane reach a scalar register, an address or a size.
 */
#ifndef SIM_KNOWN_H
#define SIM_KNOWN_H
#include "sim/core/core.h"

/* The fault: `text` needs `what`, which timing mode does not work out. */
void core_fault_unknown(struct core *c, const char *text, const char *what);

/* when a copy starts: false after a fault */
bool known_check_start(struct core *c, const struct dma *d);

/* dma_capture, copies inside a core and those that arrive, as in sim/core/copy.c */
void known_capture(const struct core *from, struct dma *d);
void known_copy_local(struct core *c, const struct dma *d);
void known_deliver(struct core *to, struct dma *d);
#endif
