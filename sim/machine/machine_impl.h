/*
 * Inside a machine: cores, memories, network, the event queue of the serial
 * phase and the host threads of the parallel phase.
 */
#ifndef SIM_MACHINE_IMPL_H
#define SIM_MACHINE_IMPL_H
#include "sim/core/core.h"
#include "sim/machine/machine.h"
#include "sim/machine/rounds.h"
#include "sim/machine/staging.h"

/* A DMA port of a core: copies in one direction share it, chunk by chunk in turn. */
struct dma_port {
    ps_t free_at;
    bool is_scheduled;                  /* an EVENT_PORT is in the queue */
    int *slot;                          /* ring of dma.queue_depth slots */
    int first, count;
    struct staging staging;             /* chunks asked for and not back */
};

enum {
    PORT_FROM_HBM, PORT_TO_HBM, PORT_FROM_CMEM, PORT_TO_CMEM, PORT_FROM_HOST, PORT_TO_HOST,
    PORT_LOCAL, PORT_COUNT
};

struct core_ports {
    struct dma_port port[PORT_COUNT];
    ps_t remote_free_at;                /* what sends to other cores */
    struct staging remote_staging;      /* its chunks that have not left */
    ps_t hbm_free_at;                   /* its way to the HBM, for reads and writes together */
    ps_t peer_free_at;                  /* the link from it to the other core of its chip */
};

struct machine {
    struct arena arena;
    struct slice slice;
    struct chip chip;
    struct machine_options options;
    const struct simd_path *simd;
    int core_count, chip_count;
    int64_t share_bytes;                /* of its chip's HBM, that a core sees */
    struct hbm_contents {
        struct hbm_store *store;
        struct ranges unknown;
    } *contents;                        /* per core, or per chip if its cores share them */
    int contents_count;
    struct core *core;
    struct core_ports *ports;
    struct hbm **hbm;                   /* timing, per chip */
    struct cmem_port {
        ps_t free_at[2];                /* for a read, for a write */
    } *cmem;                            /* per chip */
    struct host_link {
        ps_t free_at[2];                /* from the host, to the host */
    } *host;                            /* per chip */
    struct net *net;                    /* NULL for a single chip */
    struct decoded_program **program;
    size_t program_count, program_capacity;

    struct event_list queue;
    ps_t now_ps;                        /* of the event that is being committed */
    ps_t horizon_ps;                    /* cores that run next may ask from here on */
    ps_t stop_ps;                       /* events from here on stay: machine_advance */
    int *runnable;                      /* cores for the next parallel phase */
    int runnable_count;
    struct rounds *rounds;
    struct launch_memo *launch_memo;    /* timing mode; NULL where every launch is simulated */
    struct replay *replay;              /* mode both, likewise */
    struct host_watch *watch;           /* NULL where nobody does */
    machine_progress_fn *tell_progress; /* NULL likewise */
    void *progress_context;
    struct tracing *tracing;            /* sim/observe/tracing.h */

    bool is_complete;                   /* all cores have halted */
    cycle_t cycles;
    struct fault fault;
};

/* sim/machine/serial.c: commit everything that is settled, wake cores */
void serial_phase(struct machine *m);
void serial_push(struct machine *m, ps_t at, enum event_kind kind, struct core *source, int slot);
void serial_raise(struct machine *m, struct core *c, int32_t flag, int32_t value,
                  enum event_cause cause);

/* sim/machine/machine.c: -1 with a message where there is no such core */
int machine_check_core(const struct machine *m, int core, struct err *e);
/* machine_parallel inside a launch */
void machine_launch_parallel(struct machine *m, int count, void (*fn)(void *context, int index),
                             void *context);

/*
 * sim/machine/peer.c: `bytes` bytes go over the link to the other core of the chip. When the link is free
 * again; the last byte is there dma.peer_ns later.
 */
ps_t peer_take(struct machine *m, struct core *c, int64_t bytes);
/* whether what core `from` sends to `to` takes that link */
bool peer_between(const struct machine *m, int from, int to);

/* sim/machine/dma.c */
void dma_reset(struct machine *m);
void dma_start(struct machine *m, struct core *c, int slot);
void dma_port_chunk(struct machine *m, struct core *c, int port);
void dma_remote_chunk(struct machine *m, struct core *c, const struct event *e);
/* the head of one of its chunks is at a chip between */
void dma_hop(struct machine *m, struct core *c, const struct event *e);
void dma_arrive(struct machine *m, struct core *c, const struct event *e);
void dma_sent(struct machine *m, struct core *c, int slot);
/* that a port may have under way */
int64_t dma_port_staging_bytes(const struct chip *chip, int port);
/* complete: the flag rises, the slot is free again */
void dma_done(struct machine *m, struct core *c, int slot);

/* of `bytes` bytes at so many bytes per nanosecond */
static inline ps_t ps_of_bytes(int64_t bytes, double gbps)
{
    return (ps_t)((double)bytes * PS_PER_NS / gbps + 0.5);
}

/* the core that gets what is sent to core `target` */
static inline struct core *machine_target(const struct machine *m, int target)
{
    return &m->core[m->options.one_chip ? target % (int)m->chip.chip_cores : target];
}

static inline int machine_chip_of(const struct machine *m, int core)
{
    return core / (int)m->chip.chip_cores;
}
#endif
