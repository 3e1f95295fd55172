/*
 * Checkpoints of all variables of a strategy.
 *
 * Mirrored and sharded variables are saved whole, those of each replica's own one behind the other
 * ("NAME/replicas", [replicas, ...]), so that they go back where they were.
 */
#ifndef TRAIN_STRATEGY_CHECKPOINT_H
#define TRAIN_STRATEGY_CHECKPOINT_H
#include "train/checkpoint/checkpoint.h"
#include "train/strategy/strategy.h"

/* as checkpoint_save, of all variables that the set has now, and of `more_count` more tensors */
int strategy_save(struct strategy *s, const char *folder, const struct checkpoint_state *state,
                  const struct checkpoint_tensor *more, int more_count, int keep, struct err *e);

/*
 * From the newest checkpoint of the folder that is whole: 1, and *c is open, for the caller to read
 * its state and close; 0: there is none. `skipped` tells what newer ones were damaged ("" if
 * none). -1: other variables or shapes, another seed; nothing has changed then.
 */
int strategy_restore(struct strategy *s, const char *folder, uint64_t seed, struct checkpoint *c,
                     struct err *skipped, struct err *e);
#endif
