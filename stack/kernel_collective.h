/*
 * The all-reduce between replicas as a kernel: a collective (stack/collective.h) as a segment.
 *
 * Its operands stand one behind the other in HBM and become the sums. Which operations a core
 * carries out depends on its place in the slice: they stand in a table of its own in HBM, which
 * the host writes (segment.table). Which algorithm, and so the order of the sums, depends on
 * the chip, the slice and the size of the bucket alone.
 */
#ifndef STACK_KERNEL_COLLECTIVE_H
#define STACK_KERNEL_COLLECTIVE_H
#include "stack/kernel.h"

struct collective_room {
    int64_t bucket_bytes;               /* with what is added to divide it */
    int64_t table_bytes;                /* of any core, the longest */
    int flag_count;
};

/*
 * What an all-reduce of so many bytes takes. -1 with *e set: not f32 or bf16, or it does not
 * fit. vmem_bytes: what kernels have of VMEM.
 */
int collective_room_of(const struct chip *chip, const struct slice *slice, int64_t vmem_bytes,
                       enum graph_dtype dtype, int64_t bytes, struct collective_room *out,
                       struct err *e);
#endif
