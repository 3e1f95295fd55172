/*
 * The collectives of a program: what it exchanges, and where. Those of a loop's body stand under
 * its computation and are counted once, as those of one layer where layers are a loop.
 */
#ifndef IMPORT_SHARD_COUNT_H
#define IMPORT_SHARD_COUNT_H
#include "import/program/program.h"

#include <stdio.h>

struct shard_count_row {
    enum hlo_opcode op;
    int computation;
    int64_t groups, members;            /* of a collective-permute: 1, pairs */
    int64_t bytes;                      /* of the larger of operand and result, on one device */
    int count;                          /* collectives that are alike in all of these */
};
struct shard_count {
    struct shard_count_row *row;        /* in the arena, in the order in which they are met */
    int count;
};

struct shard_count shard_count_collectives(const struct hlo_module *m, struct arena *a);
/* how many of one operation a computation has; computation -1: all of them */
int shard_count_of(const struct shard_count *c, enum hlo_opcode op, int computation);
void shard_count_print(const struct shard_count *c, const struct hlo_module *m, FILE *to);
#endif
