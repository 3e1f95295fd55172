/*
 * The weight update in parts: each replica gets its part of the gradients' sums by reduce-scatter,
 * updates its part of the variable with its part of the optimizer's slots, and all gather the new
 * values (ZeRO's first stage; XLA's sharding of the weight update). It moves as many bytes as an
 * all-reduce, and takes 1/replicas of the update's time and of the slots' memory.
 *
 * What has no dimension to split stays whole and is all-reduced: biases, scales, small kernels.
 */
#ifndef TRAIN_SHARDED_UPDATE_H
#define TRAIN_SHARDED_UPDATE_H
#include "keras/optimizer/optimizer.h"

/*
 * Splits the slots of all variables of `o`, which is built, that can be; before the strategy has
 * values of them. The number of those variables; 0 with one replica, or if the rule keeps no slots.
 */
int sharded_update_choose(struct optimizer *o, int replica_count);

/*
 * The variables whose slots are split are held in parts along the same dimension, and gathered
 * where a step reads them (trace_read_whole), which is before it is known what type they are read
 * as: of a bf16 policy's kernels half the bytes go over the links. Behind sharded_update_choose,
 * before the strategy has values of them. Not for steps of several micro batches, each of which
 * would gather them.
 */
void sharded_update_hold_parts(struct optimizer *o);

/*
 * One update in a step, whatever is split: gradient[i] is what this replica's own samples make of
 * the i-th variable's gradient, f32 or bf16, not yet summed over the replicas.
 */
void sharded_update_apply(struct trace *t, const struct optimizer *o, const int *gradient);
#endif
