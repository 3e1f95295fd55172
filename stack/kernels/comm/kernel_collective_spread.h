/*
 * All-reduces, reduce-scatters and all-gathers for the time beside other kernels: few parts,
 * between which nothing but copies goes on (docs/collectives.md, Beside other kernels). Private to
 * kernel_collective*.c and module_overlap.c.
 *
 * To scatter, every rank sends every other one its block, all at once, into HBM behind the bucket,
 * and adds what has come to its own block, x[b+1] + x[b+2] + .. + x[b], b the rank. So that what
 * stands behind the bucket stays small, that is done for large blocks in pieces, one after the
 * other. To gather, it sends its block to all; an all-reduce sends each piece's sum. A core works
 * where it signals, starts copies and adds; it keeps nothing in VMEM meanwhile.
 */
#ifndef STACK_KERNEL_COLLECTIVE_SPREAD_H
#define STACK_KERNEL_COLLECTIVE_SPREAD_H
#include "stack/collective/collective_program.h"

struct kernel_collective_spread {
    enum collective_kind kind;
    int ranks;
    const int32_t *core;                /* by group and rank in it */
    const int32_t *place;               /* by core: its index in `core`; -1: it has no part */
    int pieces;                         /* of a block, each sent and summed by itself */
    int64_t block_bytes, piece_bytes, chunk_bytes;
    int64_t stage_at, bucket_bytes;     /* from the bucket's beginning; with the stage */
    int64_t vmem_bytes;
    /*
     * From the bucket's beginning, where they are known: the blocks of all ranks; but for an
     * all-reduce, the rank's own sum, or the block that it gives.
     */
    int64_t blocks_at, own_at;
    /* copies before a scatter or behind a gather, and last the wait for them; or none */
    const struct collective_op *copy;
    int copy_count;
};

#define SPREAD_PIECES_MOST 32
#define SPREAD_CUTS_MOST (2 * SPREAD_PIECES_MOST + 1)
#define SPREAD_FLAGS 8

#define SPREAD_COPY_FLAG 4              /* of its copies */

/* whether so many ranks may: copies of half the queue are under way beside those of kernels */
bool kernel_spread_suits(const struct chip *c, int ranks, int copies);

struct kernel_spread_request {
    enum collective_kind kind;
    const struct slice *slice;
    const int32_t *core;                /* groups of `ranks` */
    int core_count, ranks;
    int64_t bytes;                      /* all-reduce: of the array; else of all blocks together */
    int64_t bucket_bytes;               /* not of an all-reduce: without the stage */
    int64_t vmem_bytes;
    /* of the stage, about, at most; more if that makes more than SPREAD_PIECES_MOST pieces */
    int64_t stage_bytes;
    int copy_count;                     /* as in the list, with the wait for them */
};

/* false: VMEM is too small; copies and places of arrays are the caller's to fill in */
bool kernel_spread_make(const struct kernel_spread_request *r, struct kernel_collective_spread *s,
                        struct arena *a);
int kernel_spread_cuts(const struct kernel_collective_spread *s);
int kernel_spread_count(const struct kernel_collective_spread *s, int core);
void kernel_spread_op(const struct kernel_collective_spread *s, int core, int index,
                      struct collective_op *out);

/*
 * Where it may be cut: operations before which it waits for others. What a part takes (the one
 * that ends there; the last one ends the list), and when what it waits for is there after that.
 */
struct kernel_spread_times {
    int cuts, cut[SPREAD_CUTS_MOST];
    double together_ns;                 /* of the algorithm that is best with nothing beside */
    int64_t together_bytes, bytes;      /* of the bucket: that one's; with the stage */
    double part_ns[SPREAD_CUTS_MOST + 1], flight_ns[SPREAD_CUTS_MOST];
};
void kernel_spread_predict(const struct kernel_collective_spread *s, const struct chip *c,
                           const struct slice *slice, struct kernel_spread_times *out);
#endif
