/*
 * Inside a machine: a launch and its sink. Cores record by themselves
 * (sim/observe/record.h); what HBM and links tell is turned into sim/observe/trace.h here.
 */
#ifndef SIM_TRACING_H
#define SIM_TRACING_H
#include "sim/observe/trace.h"

struct dma;
struct core;

struct tracing {
    const struct trace_sink *next;      /* for the launches to come */
    const struct trace_sink *sink;      /* of this launch, NULL: none */
    bool is_begun;
    cycle_t resumed_at;
    int link_core;                      /* who sends what net_watch tells next, */
    uint32_t link_dma;                  /* and its copy */
    struct traced_chip {
        struct machine *machine;
        int chip;
    } *chip;
};

/* m->tracing, from the arena of the machine that is made */
void tracing_create(struct machine *m);

/* all cores are where they start, or where a snapshot left them */
void tracing_reset(struct machine *m, cycle_t resumed_at);
/* the launch goes on; the first time it begins: until then a sink may be set */
void tracing_begin(struct machine *m);
/* what cores have recorded so far goes to the sink */
void tracing_hand_over(struct machine *m);
void tracing_end(struct machine *m);
/* before net_take */
void tracing_names_sender(struct machine *m, int core, uint32_t dma);
void tracing_tells_copy(struct machine *m, const struct core *c, const struct dma *d);
#endif
