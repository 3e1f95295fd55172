/*
 * Inside a step: what one replica does with the others, tf.distribute.ReplicaContext.
 *
 * Each takes and gives nodes of the trace's graph. With one replica sums, means and gathers are
 * what they are of.
 */
#ifndef TRAIN_REPLICA_H
#define TRAIN_REPLICA_H
#include "keras/trace/trace.h"
#include "train/step/per_replica.h"

/*
 * Of all replicas, the same everywhere; f32 or bf16. A mean is the sum of what each replica has
 * divided by their number, as TPUStrategy computes it: its rounding is not that of a sum divided.
 */
int replica_all_reduce(struct trace *t, enum replica_reduction kind, int node);
/* several as one exchange, in place */
void replica_all_reduce_all(struct trace *t, enum replica_reduction kind, int *node, int count);
/* what all have, one behind the other along dimension `axis`, which exists (asserted) */
int replica_all_gather(struct trace *t, int node, int axis);
/* the replica's own number: an s32 scalar */
int replica_id(struct trace *t);
#endif
