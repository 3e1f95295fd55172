/*
 * Messages as kernels (struct graph_message): an array goes to the HBM of a core that runs another
 * program. Like a collective, such a kernel is a list of operations in a table, for peers differ
 * from core to core.
 */
#ifndef STACK_KERNEL_MESSAGE_H
#define STACK_KERNEL_MESSAGE_H
#include "stack/kernels/comm/kernel_collective.h"

/* Flags and bytes of the table that such a kernel takes. -1: the chip cannot hold its program. */
int kernel_message_room(const struct chip *chip, int64_t smem_bytes, struct arena *a,
                        struct kernel_collective_room *out, struct err *e);
#endif
