/*
 * Variables: what a model and its optimizer keep from step to step.
 *
 * A set lists them and says how each begins and lies over the devices; their values are the
 * strategy's (train/strategy/strategy.h). Layers, optimizers, metrics add to the set when they are built,
 * and name a variable by its number from then on.
 */
#ifndef KERAS_VARIABLE_H
#define KERAS_VARIABLE_H
#include "keras/functions/constraint.h"
#include "keras/functions/initializer.h"
#include "stack/hlo/mesh.h"

/* tf.VariableSynchronization: the same on all replicas, or each its own until it is read */
enum variable_sync { SYNC_ON_WRITE, SYNC_ON_READ };
/* tf.VariableAggregation: what reading a SYNC_ON_READ one makes of the replicas' values */
enum variable_aggregation {
    AGGREGATION_NONE, AGGREGATION_SUM, AGGREGATION_MEAN, AGGREGATION_ONLY_FIRST_REPLICA
};

struct variable {
    const char *name;                   /* "dense/kernel"; of a slot "dense/kernel/m" */
    struct shape shape;                 /* all of it: f32, s32 or u32 */
    bool is_trainable;
    enum variable_sync sync;
    enum variable_aggregation aggregation;
    struct initializer initializer;
    struct constraint constraint;       /* what it is made to fit behind each update */
    int of;                             /* an optimizer's slot: the variable it is of; else -1 */
    int shard_dim;                      /* replica r holds the r-th part along it; -1: all of it */
    bool joins_last;                    /* in memory its last two dimensions are one: of [128, 4, */
                                        /* 32] the tiles would be padding for the most part */
    struct sharding sharding;           /* over a replica's logical devices, not along shard_dim */
};

struct variable_set {
    struct arena *arena;                /* holds names */
    struct variable *variable;
    int count;
    size_t capacity;
};

/* `a` holds the names and must outlive the set */
void variable_set_init(struct variable_set *s, struct arena *a);
void variable_set_fini(struct variable_set *s);

/* A copy of *v, its name too, becomes the last one; its number. The name must be new (asserted). */
int variable_add(struct variable_set *s, const struct variable *v);
/* f32, on every replica, not of anything */
int variable_add_trainable(struct variable_set *s, const char *name, const struct shape *shape,
                           const struct initializer *i);
int variable_add_state(struct variable_set *s, const char *name, const struct shape *shape,
                       const struct initializer *i);
/* -1: there is none of this name */
int variable_find(const struct variable_set *s, const char *name);

/* what one of so many replicas holds of it; the dimension must divide (asserted) */
struct shape variable_local_shape(const struct variable *v, int replica_count);
/* how that lies in memory: the same elements in the same order, maybe in fewer dimensions */
struct shape variable_memory_shape(const struct variable *v, int replica_count);
#endif
