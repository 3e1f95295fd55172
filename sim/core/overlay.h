/*
 * The instruction memory of a core whose program does not fit it.
 *
 * It has two halves. The program runs in one while the overlay that follows in
 * all likelihood (isa/overlay.h) is fetched from HBM into the other. Entering
 * another overlay waits until it is there (STALL_FETCH); one that is in neither
 * half is fetched then, behind a fetch that is still under way. At a launch
 * the first overlay is there. A fetch takes dma.read_ns and its bytes
 * (core.bundle_bytes) at dma.core_gbps.
 *
 * Not modelled: that fetches take turns with copies on the way from HBM, and
 * their traffic there. Listings run as if they fitted.
 */
#ifndef SIM_OVERLAY_H
#define SIM_OVERLAY_H
#include "sim/core/core.h"

void overlay_launch(struct core *c);
/* of a bundle that may be reached from another overlay: until it can be read */
void overlay_wait(struct core *c, struct issue_time *t);
/* it issues at `at`; what follows is fetched */
void overlay_enter(struct core *c, cycle_t at);
#endif
