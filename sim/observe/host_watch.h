/*
 * Declares the engine's side of sim/observe/host_time.h; machine and core have NULL where nobody
 * watches.
 */
#ifndef SIM_HOST_WATCH_H
#define SIM_HOST_WATCH_H
#include "sim/core/core.h"
#include "sim/observe/host_time.h"

struct machine;
struct host_watch;

/* What a core works on now, and what it has worked on so far. */
struct core_watch {
    uint64_t ticks[HOST_PART_COUNT];
    uint64_t since, switches;
    enum host_part now;
    bool is_running;
    uint8_t *is_collective;             /* by bundle */
    const struct decoded_program *program;      /* of which it was made; NULL: of none */
    const struct host_watch *all;
};

void host_watch_destroy(struct host_watch *h, struct machine *m);
void host_core_begin(struct core *c);           /* around core_run */
void host_core_end(struct core *c);
void host_core_forget(struct core *c);          /* it gets another program */
/* the operations `list` of a bundle, as execute in sim/core/core_run.c */
void host_execute(struct core *c, const struct decoded_bundle *b, const uint8_t *list,
                  uint32_t count);
/*
 * Around work that is a part of its own, whatever operation it is done for: the contents of a
 * copy, a product that was put off. What was worked on before goes on at the end.
 */
enum host_part host_part_begin(struct core *c, enum host_part part);
void host_part_end(struct core *c, enum host_part before);

/* around a part of a launch, around the last, and around what runs cores on all threads */
void host_launch_begin(struct machine *m);
void host_launch_end(struct machine *m);
/* kernels: that cores have taken from others so far */
void host_launch_over(struct machine *m, bool is_repeat, int64_t kernels);
void host_cores_begin(struct machine *m);
void host_cores_end(struct machine *m);
/* around host access to memories */
void host_transfer_begin(struct machine *m);
void host_transfer_end(struct machine *m);
#endif
