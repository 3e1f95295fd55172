/*
 * Memoised launches: a launch that is in every way the one before it is not
 * simulated again. docs/engine.md, "Memoised time".
 *
 * Only for timing mode without trace and checks. A launch starts quiesced, so
 * its cycles and counters follow from programs, entry registers, SMEM and what
 * copies bring from HBM to SMEM; all of that is kept and compared byte by byte.
 * Counters, registers and flags of the launch before still stand in the
 * machine; what a launch leaves in SMEM and HBM is put there again. Kept is
 * the last launch that was simulated, if it ended without a fault, moved
 * nothing from one HBM address to another, nothing of host memory but to VMEM,
 * and stays within some MiB.
 */
#ifndef SIM_LAUNCH_MEMO_H
#define SIM_LAUNCH_MEMO_H
#include "sim/core/core.h"

struct machine;
struct launch_memo;
struct hbm_log;

struct launch_memo *launch_memo_create(struct machine *m);
void launch_memo_destroy(struct launch_memo *l);

/* true: the machine is as after the launch that was asked for */
bool launch_memo_repeat(struct machine *m);
/* around a launch that is simulated */
void launch_memo_begin(struct machine *m);
void launch_memo_end(struct machine *m);
/* the state in the machine is not that of the launch any more */
void launch_memo_forget(struct machine *m);
int64_t launch_memo_repeats(const struct machine *m);   /* since the machine was made */

/*
 * What a core's copies do with its HBM, in their order: read for SMEM (before
 * anything may overwrite it), written with known bytes (after that), made
 * unknown, or something that cannot be repeated. NULL: nobody wants to know.
 */
void launch_memo_hbm_read(struct hbm_log *g, const struct core *c, int64_t address, int64_t bytes);
void launch_memo_hbm_write(struct hbm_log *g, const struct core *c, int64_t address, int64_t bytes);
void launch_memo_hbm_unknown(struct hbm_log *g, int64_t address, int64_t bytes);
void launch_memo_hbm_give_up(struct hbm_log *g);
#endif
