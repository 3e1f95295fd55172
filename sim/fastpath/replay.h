/*
 * Repeated launches in mode both: values are worked out anew, cycles and counters are not.
 *
 * A launch that is simulated leaves a log: for every question that a core put about a flag, which
 * copies were complete for it by then, in their order, and what it read. Where a later launch has
 * the same programs and the same bytes where cycles can depend on them (sim/fastpath/origins.h), every
 * core takes the same path, starts the same copies and gets the same answers at the same times.
 * So cores run again without times, flags and events; contents of copies move at the places of
 * the log, where a core waits for a copy that another one has not started yet. All values are
 * those of a simulated launch, to the bit, also of programs with races; counters, cycles and
 * statistics still stand in the machine. Bytes that the launch itself works out, and cycles
 * depend on, are compared when they arrive in SMEM. Where there are such, memories are kept first:
 * if one is another, everything is put back and the launch is simulated.
 *
 * Not for launches with checks or a trace, of listings, with shared HBM, or in parts.
 */
#ifndef SIM_REPLAY_H
#define SIM_REPLAY_H
#include "sim/core/core.h"

struct machine;
struct replay;

struct replay *replay_create(struct machine *m);
void replay_destroy(struct replay *r);

/* true: the machine is as after the launch that was asked for */
bool replay_launch(struct machine *m);
/* around a launch that is simulated */
void replay_begin(struct machine *m);
void replay_end(struct machine *m);
/* the state in the machine is not that of the launch any more */
void replay_forget(struct machine *m);
void replay_forget_program(struct machine *m, int core);        /* it gets another one */
/* since the machine was made: launches; kernels that cores have left out in them */
int64_t replay_count(const struct machine *m);
int64_t replay_kernel_count(const struct machine *m);

/* while it is repeated: copy `d` is issued; the flag operations of a bundle, as settle_sync */
void replay_issue(struct core *c, const struct dma *d);
bool replay_settle(struct core *c, const struct decoded_bundle *b);
/* sim/fastpath/run_values.c: such a core, until it waits or halts */
void replay_run_values(struct core *c);
/* the core is at the marker in front of a kernel that may be left out (sim/fastpath/dedup.h) */
void replay_kernel(struct core *c, const struct decoded_kernel *kernel);
#endif
