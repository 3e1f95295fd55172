/*
 * Reads of a burst each, one behind the other in one open row: what a driver that asks for one
 * at a time does, in one go. Each goes in and is there when it would by itself.
 */
#ifndef HBM_HBM_STREAM_H
#define HBM_HBM_STREAM_H
#include "hbm/hbm.h"

enum { HBM_STREAM_MAX = 64 };

struct hbm_stream {
    ps_t cycle_ps;                      /* a clock, and how many go in at each of its edges */
    int per_cycle;
    bool has_edge_at_bursts;            /* the clock has an edge a burst after each edge */
    ps_t at;                            /* the latest one went in here, */
    int taken;                          /* and so many have at this edge */
    struct hbm_served {                 /* of the reads served, in order: */
        ps_t latency_ps, step_ps;       /* of the first one; so much more for each further one */
        int64_t count;
    } served[HBM_STREAM_MAX];
    int served_count;
    ps_t end_at, gone_at;               /* of the last one: there, and out of the queue */
};

/* Returns whether it will serve anything: accesses of one burst, and nobody watches. */
bool hbm_stream_init(struct hbm_stream *s, const struct hbm *h, int64_t access_bytes,
                     ps_t cycle_ps, int per_cycle);

/*
 * Serves the bursts from `address` on, at most `count`, as far as they follow each other without
 * a gap on the data bus. Returns how many; 0: the next one is hbm_access's. The address is that
 * of a burst within size_bytes.
 */
int64_t hbm_stream_reads(struct hbm *h, struct hbm_stream *s, int64_t address, int64_t count);
#endif
