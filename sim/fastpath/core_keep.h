/*
 * What the memories of a core hold before a launch that may turn out to be another, to go back to.
 * HBM and host keep their own (hbm/hbm.h); of VMEM only the pages are copied that have been written
 * since the machine was made.
 */
#ifndef SIM_CORE_KEEP_H
#define SIM_CORE_KEEP_H
#include "sim/core/core.h"

/* zeroed: nothing is kept */
struct core_keep {
    unsigned char *data;                /* SMEM, the pages of VMEM that were touched, CMEM */
    size_t capacity;
    unsigned char *touched;             /* by page of VMEM: its contents are in `data` */
};

/* how much there is to keep beside HBM and host */
int64_t core_keep_bytes(const struct core *c);
void core_keep(struct core_keep *k, const struct core *c);
void core_put_back(const struct core_keep *k, struct core *c);
void core_keep_free(struct core_keep *k);
#endif
