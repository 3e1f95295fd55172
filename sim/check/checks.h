/*
 * Checks that a run may ask for (machine_options): races with copies under way,
 * and reads of VMEM or SMEM that nothing has written. docs/engine.md says what
 * counts as what.
 *
 * A core has a struct checks only if one of them is asked for, so that they
 * cost a branch where they are not. Every access comes through here before it
 * is made: in the parallel phase those of the core itself, in the serial phase
 * what other cores and completions do to its memories.
 */
#ifndef SIM_CHECKS_H
#define SIM_CHECKS_H
#include "sim/core/core.h"
#include "sim/check/race.h"
#include "sim/machine/machine.h"

struct machine;

struct checks {
    struct race *race;                  /* NULL: not asked for */
    bool is_unwritten_checked;
    bool is_vmem_of_host;               /* no launch has used vmem_written yet */
    int64_t vmem_words, smem_words;     /* of the maps, 64 bits each */
    uint64_t *vmem_written;             /* bit per row of ROW_BYTES, since the launch began */
    uint64_t *smem_written;             /* bit per word of 4 bytes, ever */
};

/* NULL where the options ask for none */
struct checks *checks_create(const struct machine_options *options, const struct chip *chip,
                             const ps_t *now_ps);
void checks_destroy(struct checks *k);
/* `is_logged`: other cores may copy into this one's memories, see sim/check/race.h */
void checks_launch(struct checks *k, bool is_logged);
void checks_finish(struct checks *k);

/* the core is about to read or write `bytes` bytes; false after a fault */
bool checks_touch(struct core *c, const struct decoded_op *o, enum memory_space space,
                  int64_t first, int64_t bytes, bool is_write);
/* it is about to issue `d`; numbers it; false after a fault */
bool checks_issue(struct core *c, const struct decoded_op *o, struct dma *d);
/* the contents of a copy have reached a memory of this core */
void checks_arrived(struct core *c, const struct dma *d);
/* the host has written */
void checks_host_write(struct checks *k, enum memory_space space, int64_t first, int64_t bytes);
#endif
