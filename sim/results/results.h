/*
 * What a launch works out and what it leaves behind to be read: the mode, where the cycles of a
 * core went, what its units and copies did, and the fault that ended it.
 *
 * Plain data, summed up by the core and the machine and read by everybody above them.
 */
#ifndef SIM_RESULTS_H
#define SIM_RESULTS_H
#include "base/units.h"
#include "isa/isa.h"

#include <stdbool.h>
#include <stdint.h>

/* What a launch works out; docs/engine.md, "Modes". */
enum run_mode {
    MODE_BOTH,                          /* values and cycles */
    MODE_TIMING,                        /* the same cycles; values of the scalar side only */
    MODE_FUNCTIONAL                     /* the same values; every bundle takes one cycle */
};

enum stall_reason {
#define STALL(id, name, meaning) STALL_##id,
#include "sim/results/stalls.def"
    STALL_COUNT
};
const char *stall_name(enum stall_reason r);

#define MACHINE_UNIT_MAX 32              /* 7 + 4 XLUs + 8 MXUs with a push port each */

/* One track of a core: "scalar", "valu", "load", "store", "eup", "xlu0", "mxu0", "dma"… */
struct unit_counters {
    const char *name;
    cycle_t busy_cycles;                /* occupied by an operation */
    cycle_t waiting_cycles;             /* not busy while a stalled bundle needs it */
    cycle_t idle_cycles;                /* the rest: busy + waiting + idle = cycles */
    int64_t op_count;
    int64_t slot_cycles;                /* cycles x slots of this unit, for utilisation */
};

struct core_counters {
    cycle_t cycles;                     /* of the launch, the same for all cores */
    cycle_t issue_cycles;               /* = bundles issued */
    cycle_t idle_cycles;                /* after this core halted */
    cycle_t stall_cycles[STALL_COUNT];  /* cycles = issue + stalls + idle */
    int unit_count;
    struct unit_counters unit[MACHINE_UNIT_MAX];
    int64_t op_count[OP_COUNT];         /* executed operations, guards passed */
    int64_t matmul_cycles;              /* that the rows of all vmatmul hold the arrays */
    int64_t matmul_flops;               /* 2 x rows x mxu.size^2 per vmatmul */
    int64_t hbm_read_bytes, hbm_write_bytes, ici_sent_bytes, ici_received_bytes;
    int64_t cmem_read_bytes, cmem_write_bytes;  /* by copies and by cld */
    int64_t host_read_bytes, host_write_bytes;  /* by copies from and to host memory */
    int64_t dma_count;
    int64_t peer_sent_bytes;            /* to the other core of its chip, flags too */
    cycle_t peer_busy_cycles;           /* that the link there is taken */
    cycle_t dma_staging_cycles;         /* its DMA ports waited for room, summed over them */
};

/* What the copies of one bundle came to in a launch. */
struct bundle_copies {
    int64_t bytes;                      /* of copies that it started, */
    int64_t hbm_bytes;                  /* those read from or written to HBM: both count */
    int64_t ici_bytes;                  /* to cores of other chips */
    cycle_t stall_cycles;               /* for HBM, ICI, the DMA queue, or to resume after them */
};

enum fault_kind {
    FAULT_NONE, FAULT_ADDRESS, FAULT_FIFO_OVERFLOW, FAULT_FIFO_EMPTY, FAULT_DEADLOCK,
    FAULT_FLAG, FAULT_HALT_ERR, FAULT_NO_HALT, FAULT_OPERATION,
    FAULT_UNDERFLOW, FAULT_RACE, FAULT_UNWRITTEN,
    FAULT_UNKNOWN                       /* needs what timing mode does not work out */
};
struct fault {
    enum fault_kind kind;
    int core;
    cycle_t cycle;
    uint32_t bundle, line;
    char msg[400];                      /* complete, names core, cycle, bundle and line */
};

/* The first stand-in (stand_in.* in isa/ops.def) that a core executed. */
struct stand_in_site {
    bool is_met;
    cycle_t cycle;
    uint32_t bundle;
    int64_t bundles, operations;        /* executed before its bundle, guards aside */
};
#endif
