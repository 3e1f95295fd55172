/*
 * Collectives: what every core of a slice does so that all end with what they
 * need, as a list of operations per core: copies, waits, additions, signals.
 *
 * A plan is made once (collective_plan_*.c), knows no time and no data, and is
 * carried out in three ways that must agree: by an interpreter on the host
 * (tests), by a program on the simulated cores that reads the operations from
 * a table (collective_program.h), and operation by operation with the costs of
 * the machine's parts for pods too large for that (collective_steps.h).
 * docs/collectives.md tells the algorithms, their orders of sums and the bounds.
 */
#ifndef STACK_COLLECTIVE_H
#define STACK_COLLECTIVE_H
#include "base/arena.h"
#include "base/err.h"
#include "sim/chip/chip.h"

#include <stdbool.h>
#include <stdint.h>

enum collective_kind {
    COLLECTIVE_ALL_REDUCE, COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_ALL_GATHER,
    COLLECTIVE_ALL_TO_ALL, COLLECTIVE_BROADCAST, COLLECTIVE_PERMUTE, COLLECTIVE_BARRIER,
    COLLECTIVE_KIND_COUNT
};

enum collective_algo {
    COLLECTIVE_AUTO,                    /* the least predicted time of those below */
    COLLECTIVE_RING,                    /* one ring over all ranks, one direction */
    COLLECTIVE_BIRING,                  /* both directions, half the data each */
    COLLECTIVE_TORUS,                   /* ring after ring along each axis, parts of the data in
                                           different orders of axes, so that all links work */
    COLLECTIVE_TREE,                    /* to the root and back */
    COLLECTIVE_EXCHANGE,                /* whole arrays along the axes, each rank sums: few steps */
    COLLECTIVE_DIRECT,                  /* each rank to each it has something for */
    COLLECTIVE_ALGO_COUNT
};

enum collective_type { COLLECTIVE_F32, COLLECTIVE_BF16 };

/*
 * Ranks: with `over_chips` a group is the same core on every chip of the axes,
 * all groups at once, each with its own arrays; otherwise all cores of those
 * chips are one group (a stage inside the chip comes first and last). Rank
 * order: x first, then y, z; within a chip by core.
 *
 * `bytes` is the whole array of a rank's larger side: all-reduce, broadcast,
 * permute, all-to-all: the array of each rank; reduce-scatter: what goes in;
 * all-gather: what comes out. Multiples of `unit` bytes as collective_unit says.
 */
struct collective_request {
    enum collective_kind kind;
    enum collective_algo algo;
    enum collective_type type;
    int64_t bytes;
    int64_t chunk_bytes;                /* most that a step sends in one piece: whole rows of VMEM
                                           (512 bytes), or the step if that is less; 0: chosen.
                                           exchange and direct: only 0 */
    int device_ranks;                   /* messages count bytes of a device, whose array lies on so
                                           many ranks of different groups; 0: a rank */
    bool over_chips;
    bool axis[3];                       /* that take part; the others make groups side by side */
    /*
     * In place of both: group_count lists of group_size cores, each in rank order; a core in
     * none has no part. NULL: as above. No torus, no tree.
     */
    const int32_t *group;
    int group_count, group_size;
    int root;                           /* rank: broadcast, tree */
    bool is_alike;                      /* AUTO: no tree where every chip can do the same */
    int shift;                          /* permute: rank r sends to rank r + shift of its group */
    const struct slice *slice;
    const struct chip *chip;
};

/*
 * Addresses of a rank's arrays in its core's HBM share. All-reduce and broadcast
 * are in place: both the same. Reduce-scatter uses its input for the sums on the way.
 */
struct collective_arrays {
    int64_t in, in_bytes, out, out_bytes;
};

enum collective_space { COLLECTIVE_HBM, COLLECTIVE_VMEM };      /* numbered as in descriptors */

enum collective_op_kind {
    COLLECTIVE_COPY,                    /* starts a copy inside the core; raises `flag` when done */
    COLLECTIVE_SEND,                    /* starts a copy to core `peer`: raises its `flag` when
                                           there, own `source_flag` when the source is read */
    COLLECTIVE_WAIT,                    /* until own `flag` >= value, then takes value from it */
    COLLECTIVE_ADD,                     /* VMEM[to] = VMEM[from] + VMEM[to], `bytes` of the type;
                                           both begin with a row (512 bytes), what is behind
                                           `bytes` in the last row may be written over */
    COLLECTIVE_SIGNAL,                  /* adds `value` to `flag` of core `peer` */
    COLLECTIVE_OP_KIND_COUNT
};

#define COLLECTIVE_LEVELS 3

/* Flags count granules of 32 bytes for copies, ones for signals. Addresses are multiples of 32. */
struct collective_op {
    uint8_t kind, from_space, to_space;
    int32_t flag, source_flag, peer, value;
    int64_t from, to;                   /* bytes: in HBM share or VMEM */
    int64_t bytes;                      /* altogether */
    int64_t run_bytes;                  /* innermost run; levels count runs, then rounds of them */
    struct { int64_t count, from_stride, to_stride; } level[COLLECTIVE_LEVELS]; /* 1, 0, 0: none */
};

struct collective_plan;

/*
 * NULL with *e set, naming the nearest that works, when bytes or chunk do not
 * divide, the arrays do not fit, the slice has no such axis, the algorithm does
 * not do the kind. AUTO is resolved here; the plan and what it needs is `a`'s.
 */
struct collective_plan *collective_plan_create(const struct collective_request *r,
                                               struct arena *a, struct err *e);

/*
 * Whether lists of cores are the groups that some axes make, and then which: r->over_chips and
 * r->axis are set, r->group is NULL. With is_ordered ranks must be the same too.
 */
bool collective_find_axes(struct collective_request *r, bool is_ordered);

/* the request with AUTO and 0 replaced by what was chosen */
const struct collective_request *collective_plan_request(const struct collective_plan *p);
/* what AUTO has chosen by; 0: not asked for, or the algorithm does not do the kind or size */
double collective_predicted_seconds(const struct collective_plan *p, enum collective_algo algo);
/* of the algorithm that AUTO would choose for r->bytes, without making a plan; 0: none does it */
double collective_estimate_seconds(const struct collective_request *r);
bool collective_does(enum collective_kind kind, enum collective_algo algo);
int collective_rank_count(const struct collective_plan *p);             /* of one group */
/* the rank of a core in its group; -1 if it has no part (its list is empty) */
int collective_rank_of(const struct collective_plan *p, int core);
struct collective_arrays collective_arrays_of(const struct collective_plan *p);
int64_t collective_vmem_bytes(const struct collective_plan *p);         /* that the lists touch */
int collective_flag_count(const struct collective_plan *p);             /* flags 0..count - 1 */

/* The list of a core: worked out when asked for, in constant time, nothing is stored per core. */
int collective_op_count(const struct collective_plan *p, int core);
void collective_op(const struct collective_plan *p, int core, int index,
                   struct collective_op *out);

/*
 * Whether all cores' lists are one another's under the translations of a torus:
 * the same operations, sizes and distances. Then one chip stands for all.
 */
bool collective_is_symmetric(const struct collective_plan *p);
/* Whether they are but for distances along lines: one chip stands for all on average. */
bool collective_is_uniform(const struct collective_plan *p);

/* The smallest size that `bytes` must be a multiple of for this kind, algorithm and slice. */
int64_t collective_unit(const struct collective_request *r);

/* "all-reduce", "torus", ...; -1 from a name that is none, with *e naming the nearest */
const char *collective_kind_name(enum collective_kind k);
const char *collective_algo_name(enum collective_algo a);
int collective_find_kind(const char *name, enum collective_kind *k, struct err *e);
int collective_find_algo(const char *name, enum collective_algo *a, struct err *e);
#endif
