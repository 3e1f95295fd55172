/*
 * What each replica has, put together on the host: reduce and gather of tf.distribute.Strategy.
 *
 * Values are dense elements of 4 bytes (train/strategy/strategy.h): f32, s32 or u32, of one type and rank.
 * Sums go in the order of replicas, and of elements along an axis within each, rounded to the
 * type after each addition.
 */
#ifndef TRAIN_PER_REPLICA_H
#define TRAIN_PER_REPLICA_H
#include "stack/hlo/graph.h"

#include <limits.h>

#define AXIS_NONE INT_MIN               /* element by element */

enum replica_reduction { REPLICA_SUM, REPLICA_MEAN };

struct per_replica {
    int count;
    const struct shape *shape;          /* by replica */
    const void *const *data;
};

/*
 * AXIS_NONE: the same shape everywhere; a sum is that of the replicas, a mean that of each one
 * divided by their number. With an axis (negative: from the end) it goes away, and may be of
 * different lengths; a mean divides the sum by the number of elements that were added, so that an
 * uneven last batch counts right. `to`: room for the result. -1: shapes do not go together, there
 * is no such axis, or nothing along it.
 */
int per_replica_reduce_shape(const struct per_replica *v, int axis, struct shape *shape,
                             struct err *e);
int per_replica_reduce(const struct per_replica *v, enum replica_reduction kind, int axis,
                       void *to, struct err *e);

/* one behind the other along the axis, where lengths may differ */
int per_replica_gather_shape(const struct per_replica *v, int axis, struct shape *shape,
                             struct err *e);
int per_replica_gather(const struct per_replica *v, int axis, void *to, struct err *e);
#endif
