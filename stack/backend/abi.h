/*
 * SMEM words that a launcher may write for the program of a core, byte addresses. Kernels
 * leave them alone. `systole run --all-cores` writes the first four.
 */
#ifndef STACK_ABI_H
#define STACK_ABI_H

enum {
    SMEM_REPLICA = 0,                   /* number of this replica in its ring, from 0 */
    SMEM_REPLICA_COUNT = 4,
    SMEM_RING_NEXT = 8,                 /* global core number of the next replica */
    SMEM_RING_PREVIOUS = 12,
    SMEM_PEER = 16,                     /* of the other core of the chip (megacore) */
    SMEM_ABI_BYTES = 32
};

/* Behind them the counters of loops between kernels (stack/module/link.h); then SMEM is free. */
#define LINK_LOOPS_MAX 8                /* nested */
#define LINK_SMEM SMEM_ABI_BYTES
#define LINK_SMEM_END (LINK_SMEM + 4 * LINK_LOOPS_MAX)
#endif
