/* Sums what happened between two cycles, for the card of a selected range. */
#ifndef VIZ_MODEL_RANGE_H
#define VIZ_MODEL_RANGE_H
#include "report/native_trace/ntrace.h"

struct range_sums {
    cycle_t from, end;
    double seconds;
    int64_t issue, idle, stall[STALL_COUNT];    /* cycles of the core */
    int unit_count;
    int64_t busy[MACHINE_UNIT_MAX];
    double mxu_share;                   /* of the cycles of all matrix units of the core */
    int64_t hbm_read_bytes, hbm_write_bytes;    /* of the core's chip */
    double hbm_share;                   /* of what its data buses could carry */
    int64_t link_bytes;                 /* payload that left the chip */
    double link_share;                  /* of its busiest link's time */
    double flops;                       /* about: busy cycles at the mean rate of the program's
                                         * products */
};

void model_range_sum(struct ntrace *t, int core, cycle_t from, cycle_t end, struct range_sums *to);
/* the card, a line per fact; from the arena */
const char *model_range_text(struct ntrace *t, const struct range_sums *r, int core,
                             struct arena *a);
#endif
