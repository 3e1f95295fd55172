/*
 * What touches the VMEM of a core over an interval of time: copies into it and out
 * of it, and, where the trace has them, loads and stores.
 *
 * A copy holds its addresses from its start to its end. The trace does not
 * keep the strides of a copy: one in runs is taken to lie densely in VMEM.
 */
#ifndef VIZ_MODEL_VMEM_H
#define VIZ_MODEL_VMEM_H
#include "report/native_trace/ntrace.h"

#define VMEM_TILE_BYTES 4096            /* usage is counted in tiles of 8 rows */
#define VMEM_ROW_BYTES 512
#define VMEM_COPY_MOST 4000             /* kept, the first of the interval, of */
#define VMEM_WALK_MOST 16000            /* that are looked at, those of other cores too */
#define VMEM_ACCESS_CYCLES 1000000      /* of longer intervals loads and stores are left out */

enum vmem_way {
    VMEM_FROM_HBM, VMEM_TO_HBM, VMEM_FROM_CORE, VMEM_TO_CORE, VMEM_OTHER,
    VMEM_WAY_COUNT
};
struct vmem_copy {
    enum vmem_way way;
    int core;                           /* whose program has it */
    struct trace_dma dma;
    int64_t address, bytes;             /* in this core's VMEM */
};

enum { VMEM_LOADED = 1, VMEM_STORED = 2, VMEM_COPIED = 4 };     /* bits of a tile in a column */

struct vmem_model {
    int core;
    cycle_t from, width_cycles;         /* of a column */
    size_t count;                       /* columns */
    int64_t vmem_bytes, highest_byte;   /* of the chip; the first behind what is touched */
    struct vmem_copy *copy;             /* in the order of their cores and of time */
    size_t copy_count, copy_capacity;
    int64_t looked_at;                  /* copies */
    bool has_more;                      /* copies than it keeps or looks at */
    bool has_accesses;                  /* loads and stores are in `touched` */
    size_t tile_count;
    uint8_t *touched;                   /* [column * tile_count + tile] */
    int64_t *used_bytes;                /* by column: tiles touched */
};
/* all zero, a model is empty */
void vmem_model_fini(struct vmem_model *m);
void vmem_model_load(struct vmem_model *m, struct ntrace *run, int core, cycle_t from,
                     cycle_t end, size_t columns);
/*
 * Buffers of a kernel in the order of their addresses, each copy of a window by itself, vectors that
 * stand side by side as one; what shares a place is one lane. Returns their count, 0 where nobody has
 * told of buffers.
 */
struct vmem_lane { char name[80]; int64_t address, end; };
int vmem_lanes(const struct ntrace_listing *l, struct vmem_lane *to, int most);
/* where an address stands among lanes of equal height, 0..1, and the other way round */
double vmem_lane_share(const struct vmem_lane *lane, int count, double address);
int64_t vmem_lane_address(const struct vmem_lane *lane, int count, double share);
const struct vmem_lane *vmem_lane_of(const struct vmem_lane *lane, int count, int64_t address);

/* the copy that touches the address at the time, the last that began; NULL none */
const struct vmem_copy *vmem_model_at(const struct vmem_model *m, double cycle, int64_t address);
#endif
