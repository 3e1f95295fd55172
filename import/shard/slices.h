/*
 * Which part of a whole array a device has: for the inputs of a program of several devices, and
 * for its results. Arrays are dense and row-major, elements of hlo_element_bytes each.
 */
#ifndef IMPORT_SHARD_SLICES_H
#define IMPORT_SHARD_SLICES_H
#include "import/program/program.h"

#define SHARD_SLICE_RANK_MAX 64

struct shard_slice {
    int rank;
    int64_t start[SHARD_SLICE_RANK_MAX];        /* in the whole array */
    int64_t size[SHARD_SLICE_RANK_MAX];         /* what is there: 0 behind the end */
    int64_t part[SHARD_SLICE_RANK_MAX];         /* of every part, the last ones filled up */
};

/* partition `device` of the sharding's; all that is not tiled is whole everywhere */
struct shard_slice shard_slice_of(const struct hlo_sharding *s, const struct hlo_type *whole,
                                  int64_t device);
/* the part out of the array; what is filled up is zero */
void shard_slice_take(const struct shard_slice *slice, const struct hlo_type *whole,
                      const void *array, void *part);
/* and into it */
void shard_slice_put(const struct shard_slice *slice, const struct hlo_type *whole,
                     const void *part, void *array);
#endif
