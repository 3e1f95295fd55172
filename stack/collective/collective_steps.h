/*
 * A collective operation by operation, without bundles: the parts of the
 * machine (links, HBM, copy engine, the adding loop) as resources that are
 * free from an instant on. For pods beyond what bundles can be simulated for;
 * how nearly the two agree stands in docs/accuracy.md.
 */
#ifndef STACK_COLLECTIVE_STEPS_H
#define STACK_COLLECTIVE_STEPS_H
#include "base/units.h"
#include "stack/collective/collective.h"
#include "stack/collective/collective_program.h"

struct collective_result {
    ps_t time_ps;                       /* from the first operation to the end of the last rank */
    int64_t op_count, message_count;      /* of all cores; messages between chips */
    int64_t event_count;                /* what the host has done for all cores */
    int64_t sent_bytes;                 /* payload over links between chips, all chips */
    double link_use_min, link_use_mean, link_use_max;   /* 0..1 of time_ps, over all links */
    bool used_symmetry;                 /* one chip stood for all */
};

/* What operations cost: of a chip, or of somebody's formula (collective_costs_read). */
struct collective_costs {
    struct collective_overheads program;        /* in cycles of this clock */
    int64_t clock_mhz;
    cycle_t resume_cycles;              /* flag satisfied to the next operation */
    double core_gbps, local_gbps;       /* ceilings of one core's copies, and inside the core */
    double peer_gbps;                   /* link to the other core of the chip, each way */
    int vector_bytes;                   /* that every run of a copy takes whole */
    int64_t chunk_bytes;                /* messages of no more are not cut */
    double hbm_gbps, hbm_mixed_gbps;    /* of a chip, between refreshes; reads with writes */
    ps_t refresh_period_ps, refresh_ps; /* it stands still for refresh_ps; 0: never */
    ps_t hbm_read_ps, hbm_write_ps;     /* of an access, beside its bytes */
    ps_t read_ps, write_ps, local_ps, peer_ps;  /* fixed parts of copies, as dma.*_ns */
    int queue_depth;                    /* copies of one core under way */
    ps_t arrival_ps;                    /* of every copy to another chip, when it has arrived: */
    double arrival_ps_per_byte;         /* 0 for a chip */
    double link_gbps;
    int packet_bytes, packet_overhead_bytes;
    ps_t hop_ps;
    bool has_free_signals;              /* a formula knows none */
    int series;                         /* the array in so many pieces, one after the other */
};
void collective_costs_of(const struct chip *chip, enum collective_type type,
                         struct collective_costs *out);

struct collective_steps_options {
    const struct collective_costs *costs;       /* NULL: the chip's */
    bool no_symmetry;
    void (*progress)(void *context, double fraction);   /* may be NULL */
    void *context;
};

int collective_steps_run(const struct collective_plan *p, const struct collective_steps_options *o,
                         struct collective_result *out, struct err *e);

/* Closed-form bounds of a request (docs/collectives.md), each from the chip's parameters. */
struct collective_bound {
    double bandwidth_seconds;           /* bytes that must pass over the links of the worst chip */
    double latency_seconds;             /* steps that must follow each other */
    double seconds;                     /* the larger */
    double book_seconds;                /* the published equation, with 1 us per hop; 0: none */
    double bus_factor;                  /* bus bandwidth = factor x bytes / time */
};
void collective_find_bound(const struct collective_request *r, struct collective_bound *out);
#endif
