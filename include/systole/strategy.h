/* Of include/systole.h: replicas on a cluster, their variables and values. */
#ifndef SYSTOLE_STRATEGY_H
#define SYSTOLE_STRATEGY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cluster.h"
#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ----- Strategies ----- */

typedef struct sy_strategy sy_strategy;

/* A direction of the grid that the logical devices of a replica are. */
typedef struct sy_axis {
    const char *name;                   /* "model", "stage": not "replicas"; copied */
    int size;
} sy_axis;

typedef struct sy_strategy_options {
    uint64_t seed;                      /* of initial values; 0: 1 */
    bool check_replicas;                /* mirrored variables, bit by bit after every run */
    const sy_axis *axis;                /* at most 3; the last one counts up first */
    int axis_count;                     /* 0: one, "model", of all devices of a replica */
    int pipeline_stages;                /* 0: none, see below; axes are of each */
} sy_strategy_options;

/*
 * Without an assignment every core is a replica; with one, each box, and the logical devices of a
 * box share a replica's work. An assignment may take a part of the slice, such as two replicas of
 * one core on v3-8: all other cores idle, and collectives are among those that take part. The
 * devices of a box are a grid of named axes, over which variables and arrays may
 * be cut (sy_variable_options.layout, sy_layout, sy_split): the axes' sizes multiply to the
 * devices of a box. With axes and without an assignment so many neighbouring cores are a replica.
 *
 *     sy_axis axes[] = {{"stage", 2}, {"model", 2}};
 *     sy_strategy_create(cluster, NULL, &(sy_strategy_options){.axis = axes, .axis_count = 2},
 *                        &strategy);                     v3-8: 2 replicas of 2 x 2 cores
 *
 * Pipelines: with pipeline_stages so many neighbouring cores, or the devices of a box in their
 * order, are a replica, and a model that is compiled on it is cut into as many stages, through
 * which the micro batches of a step (sy_compile.micro_batches) pass in 1F1B order. On the host
 * there are no cores to be on, and the same program trains the model whole. With axes each stage is
 * a grid of devices, over which sy_compile.layouts cuts its variables.
 *
 * Several strategies may have one cluster, and run in any order: each keeps its variables. Cluster
 * and assignment must outlive the strategy. `o` may be NULL. SY_ERROR: the cluster is not
 * initialised, axes or stages that do not go with the devices, a name twice.
 */
sy_status sy_strategy_create(sy_cluster *c, const sy_assignment *a,
                             const sy_strategy_options *o, sy_strategy **out);
/* A strategy of one replica on one core: "TPU:0", "/job:worker/task:0/device:TPU:3". */
sy_status sy_strategy_on_device(sy_cluster *c, const char *device, sy_strategy **out);
void sy_strategy_free(sy_strategy *s);
int sy_strategy_replicas(const sy_strategy *s);
int sy_strategy_devices(const sy_strategy *s);          /* logical ones of a replica */
/* of the mesh; "replicas" is one, too; 0: there is none of this name */
int sy_strategy_axis_size(const sy_strategy *s, const char *name);

/* ----- Variables ----- */

typedef struct sy_variable sy_variable;

typedef enum sy_sync { SY_ON_WRITE, SY_ON_READ } sy_sync;
typedef enum sy_aggregation { SY_NONE, SY_SUM, SY_MEAN, SY_ONLY_FIRST_REPLICA } sy_aggregation;

typedef struct sy_variable_options {
    const char *initializer;            /* "glorot_uniform", "Constant(3)"; NULL: zeros */
    bool is_state;                      /* not trainable */
    sy_sync sync;                       /* SY_ON_READ: each replica has its own value, and */
    sy_aggregation aggregation;         /* reading puts them together */
    const int *split;                   /* parts along each dimension, over logical devices */
    const char *const *layout;          /* or the axis that cuts each dimension, NULL: none */
} sy_variable_options;

/*
 * f32, s32 or u32; the name must be new. Belongs to the strategy, which frees it. Variables of a
 * strategy begin alike on all replicas.
 */
sy_status sy_variable_create(sy_strategy *s, const char *name, sy_dtype dtype, sy_shape shape,
                             const sy_variable_options *o, sy_variable **out);
/* NULL if there is none of this name; those of models, optimizers and metrics are found too */
sy_variable *sy_variable_find(sy_strategy *s, const char *name);
const char *sy_variable_name(const sy_variable *v);
sy_shape sy_variable_shape(const sy_variable *v);
/* all of it, `bytes` long (checked) */
sy_status sy_variable_read(const sy_variable *v, void *to, size_t bytes);
sy_status sy_variable_write(sy_variable *v, const void *from, size_t bytes);
/* A part of a variable, or all of it, on one of the cores that have it. */
typedef struct sy_place {
    int replica, logical;               /* whose, and on which of its logical devices */
    int device;                         /* of the cluster: sy_cluster_device_name; the host: 0 */
    sy_shape shape;                     /* of what lies there */
    int64_t address, bytes;             /* in that core's HBM, tiles and all; the host: 0, dense */
} sy_place;
/* the first `most` places into out[] (NULL: none), replica by replica; *count: all there are */
sy_status sy_variable_places(const sy_variable *v, sy_place *out, int most, int *count);
/* as NumPy's save and load: the file appears whole or not at all; loading checks type and shape,
   and changes nothing if they are others */
sy_status sy_variable_save_npy(const sy_variable *v, const char *path);
sy_status sy_variable_load_npy(sy_variable *v, const char *path);

/* ----- Values: one array per replica ----- */

typedef struct sy_value sy_value;

/* Zeros of `shape` on each replica. */
sy_status sy_value_create(sy_strategy *s, sy_dtype dtype, sy_shape shape, sy_value **out);
/* The first dimension of `data`, of `shape` in all, is divided among the replicas. */
sy_status sy_value_split(sy_strategy *s, sy_dtype dtype, sy_shape shape, const void *data,
                         sy_value **out);
/* Every replica gets all of it. */
sy_status sy_value_copies(sy_strategy *s, sy_dtype dtype, sy_shape shape, const void *data,
                          sy_value **out);
void sy_value_free(sy_value *v);
int sy_value_replicas(const sy_value *v);
sy_dtype sy_value_dtype(const sy_value *v);
sy_shape sy_value_shape(const sy_value *v);             /* of a replica */
/* the device that a replica's array goes to, or came from: its logical device 0 */
sy_status sy_value_device(const sy_value *v, int replica, int *device);
/* a replica's array, to read and to fill; NULL if there is no such replica */
void *sy_value_data(const sy_value *v, int replica);

/* An array on the host, as reduce and gather return it. */
typedef struct sy_array sy_array;

void sy_array_free(sy_array *a);
sy_dtype sy_array_dtype(const sy_array *a);
sy_shape sy_array_shape(const sy_array *a);
void *sy_array_data(const sy_array *a);

/*
 * Over the replicas, SY_SUM or SY_MEAN: element by element with SY_NO_AXIS, else also along an
 * axis, which goes away; a mean then divides by the number of elements that were added.
 */
#define SY_NO_AXIS INT32_MIN
sy_status sy_strategy_reduce(sy_strategy *s, sy_aggregation how, const sy_value *v, int axis,
                             sy_array **out);
/* one behind the other along an axis */
sy_status sy_strategy_gather(sy_strategy *s, const sy_value *v, int axis, sy_array **out);

#ifdef __cplusplus
}
#endif
#endif
