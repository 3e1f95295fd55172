/*
 * Collectives between devices as kernels: a collective (stack/collective/collective.h) as a segment.
 *
 * An all-reduce works on a bucket in HBM: operands one behind the other, which become the sums. A
 * reduce-scatter of one array whose blocks are in order works on that, and an all-gather writes
 * into its result. Where they are not in order, or there are several arrays, blocks of each behind
 * those of the one before, once for each rank, are in a bucket, and the kernel copies them there
 * from the operands, or from there to the results. A permute needs none.
 *
 * Which operations a core carries out depends on its place in its group: they stand in a table of
 * its own in HBM, which the host writes (segment.table). Which algorithm, and so the order of the
 * sums, depends on the chip, the slice, the groups and the size of the bucket alone.
 */
#ifndef STACK_KERNEL_COLLECTIVE_H
#define STACK_KERNEL_COLLECTIVE_H
#include "stack/kernels/pipeline/kernel.h"

/* `n` is the node, one of a graph whose operands and results lie as `operand` and `result` do. */
struct kernel_collective_room_need {
    const struct chip *chip;
    const struct kernel_devices *devices;
    int64_t vmem_bytes;                 /* what kernels have of VMEM */
    int64_t smem_bytes;                 /* for pages of operations */
    bool is_spread;                     /* in parts beside others */
    int64_t stage_bytes;                /* of those: struct kernel_sums */
    const struct graph_node *n;
    int count;                          /* operands, and results */
    const struct array *const *operand, *const *result;
    int64_t bucket_at, zeros_at;        /* addresses, once they are known */
};

struct kernel_collective_room {
    int64_t bucket_bytes;               /* with what is added to divide it */
    int64_t table_bytes;                /* of any core, the longest */
    int flag_count;
    double seconds;                     /* predicted */
    struct kernel_spread_times *spread; /* of one that is spread */
    bool needs_zeros;                   /* some device gets nothing */
    bool operands_inside, results_inside;       /* of the bucket, and there: */
    const int64_t *operand_at, *result_at;
};

/* -1 with *e set: a type or kind that is not added, or it does not fit. *out is `a`'s. */
int kernel_collective_room_of(const struct kernel_collective_room_need *need, struct arena *a,
                              struct kernel_collective_room *out, struct err *e);
/* whether it may be spread: not permutes, nor between too many */
bool kernel_collective_may_spread(const struct kernel_collective_room_need *need);
#endif
