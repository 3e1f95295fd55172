/*
 * Drives a memory with a pattern, as memory simulators are driven that are compared.
 *
 * Accesses go in strictly in the pattern's order: at the edges of a clock, at most per_cycle at
 * each, stopping at the first that the memory has no room for (hbm_room_at) or that would make
 * more than in_flight of them unfinished; then it waits for the first edge at which that one
 * goes in. Slots of in_flight are reused in order, as those of a copy engine: access i waits
 * until access i - in_flight is there.
 */
#ifndef HBM_HBM_DRIVE_H
#define HBM_HBM_DRIVE_H
#include "base/histogram.h"
#include "base/units.h"
#include "hbm/hbm.h"
#include "hbm/hbm_pattern.h"

struct hbm_injection {
    ps_t cycle_ps;
    int per_cycle;
    int in_flight;                      /* 0: as many as the memory lets in */
};

/* From the first access at 0 on. Latencies, in ps: from the edge at which an access goes in. */
struct hbm_driven {
    int64_t access_count;
    int64_t read_bytes, write_bytes;
    ps_t end_ps;                        /* all data are there, those of writes in the memory */
    struct histogram read, write;
    struct hbm_stats stats;             /* of the memory */
};

/* Drives `h`, reset before, with the first `access_count` accesses of a checked pattern. */
void hbm_drive(struct hbm *h, const struct hbm_pattern *p, const struct hbm_injection *injection,
               int64_t access_count, struct hbm_driven *d);

/* Latencies of reads of one access each while the memory is idle; -1: there is no such case. */
struct hbm_idle {
    ps_t hit_ps, closed_ps, conflict_ps;
    double random_ps;                   /* mean of a random pattern, the next when one is there */
};
void hbm_drive_idle(const struct hbm_config *config, int64_t access_bytes, struct hbm_idle *idle);
#endif
