/*
 * Systole: simulated Google TPU cores, chips and pods, and a training stack on them.
 *
 * Whoever knows TPUStrategy and Keras finds the same things here under the same names:
 *
 *     sy_cluster *cluster;
 *     sy_strategy *strategy;
 *     sy_model *model;
 *
 *     sy_cluster_resolve("v3-8", NULL, &cluster);
 *     sy_cluster_initialize(cluster);
 *     sy_strategy_create(cluster, NULL, NULL, &strategy);
 *     sy_model_create(strategy, "mnist", &model);
 *     sy_model_add(model, "Flatten(input_shape=(28, 28))");
 *     sy_model_add(model, "Dense(128, activation='relu')");
 *     sy_model_add(model, "Dense(10, activation='softmax')");
 *
 * Every call returns a status: SY_OK, or SY_ERROR with a message that names shapes and allowed
 * values (sy_message). After an error the call has changed nothing, unless it says so. Handles are
 * opaque; whoever creates one frees it, NULL is fine to free. One thread at a time may use a
 * cluster and what belongs to it.
 *
 * Values on the host are dense and row-major, 4 bytes an element: float for SY_F32 and SY_BF16,
 * int32_t for SY_S32 and SY_PRED, uint32_t for SY_U32; data of SY_U8 from files is one byte.
 */
#ifndef SYSTOLE_H
#define SYSTOLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ----- Statuses ----- */

typedef enum sy_status {
    SY_OK = 0,
    SY_ERROR = -1,                      /* sy_message tells */
    SY_END = 1                          /* of a dataset: there is nothing more */
} sy_status;

/* What the last call of this thread that returned SY_ERROR had to say; "" before the first. */
const char *sy_message(void);
/* "0.8" */
const char *sy_version(void);

/* ----- Element types and shapes ----- */

typedef enum sy_dtype { SY_F32, SY_BF16, SY_S32, SY_PRED, SY_U32, SY_U8 } sy_dtype;

#define SY_RANK_MAX 8

/* A shape by value: sy_dims(2, 3) has rank 2. */
typedef struct sy_shape {
    int rank;
    int64_t dim[SY_RANK_MAX];
} sy_shape;

#define sy_dims(...)                                                                             \
    ((sy_shape){(int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})
#define sy_scalar() ((sy_shape){0, {0}})

/* ----- Clusters ----- */

typedef struct sy_cluster sy_cluster;

typedef struct sy_cluster_options {
    const char *const *set;             /* "mxu.count=8": changes of the chip; NULL ends; or NULL */
    const char *mode;                   /* "both" (or NULL), "timing", "functional" */
    int threads;                        /* of the host; 0: as many as CPUs, at most 8 */
} sy_cluster_options;

/*
 * Finds the TPU that is meant: "v3-8" a slice as the cloud names it; "local" what the environment
 * variable TPU_ACCELERATOR_TYPE says, else v3-8; NULL or "" what TPU_NAME says, else the host;
 * "cpu" the host. On the host the same calls run on the reference interpreter, without cycles.
 * `o` may be NULL.
 */
sy_status sy_cluster_resolve(const char *tpu, const sy_cluster_options *o, sy_cluster **out);
/* Makes the simulated slice. Again: all variables are lost; strategies must be freed before. */
sy_status sy_cluster_initialize(sy_cluster *c);
sy_status sy_cluster_shutdown(sy_cluster *c);
void sy_cluster_free(sy_cluster *c);

bool sy_cluster_is_host(const sy_cluster *c);
int sy_cluster_core_count(const sy_cluster *c);         /* the host: 1 */
int sy_cluster_host_count(const sy_cluster *c);
/* "v3-8: 2x2 chips, 8 cores, mesh"; belongs to the cluster */
const char *sy_cluster_describe(const sy_cluster *c);
/* x, y, z, cores of a chip; all 1 on the host */
void sy_cluster_mesh(const sy_cluster *c, int mesh[4]);
/* coordinates x, y, z, core of a device; devices are numbered host by host */
sy_status sy_cluster_coordinates(const sy_cluster *c, int device, int coordinates[4]);
/* a map of the chips with the numbers of their devices */
sy_status sy_cluster_print_topology(const sy_cluster *c, FILE *to);

/* ----- Device assignments ----- */

typedef struct sy_assignment sy_assignment;

/*
 * Replicas as boxes of `shape` cores (x, y, z, core), every `stride` of them; NULL: 1 in each
 * direction. replicas 0: as many as there is room for. order: "auto" (or NULL), "ring", "mesh": of
 * the logical devices in a box. The cluster must outlive it.
 */
sy_status sy_assignment_build(sy_cluster *c, const int shape[4], const int stride[4],
                              int replicas, const char *order, sy_assignment **out);
/* from coordinates x, y, z, core of each logical device, replica by replica */
sy_status sy_assignment_from(sy_cluster *c, const int (*coordinates)[4], int replicas,
                             int devices, sy_assignment **out);
void sy_assignment_free(sy_assignment *a);
int sy_assignment_replicas(const sy_assignment *a);
int sy_assignment_devices(const sy_assignment *a);      /* of a replica */
/* the core that a logical device of a replica is */
sy_status sy_assignment_core(const sy_assignment *a, int replica, int device, int *core);
sy_status sy_assignment_print(const sy_assignment *a, FILE *to);

/* ----- Strategies ----- */

typedef struct sy_strategy sy_strategy;

typedef struct sy_strategy_options {
    uint64_t seed;                      /* of initial values; 0: 1 */
    bool check_replicas;                /* mirrored variables, bit by bit after every run */
} sy_strategy_options;

/*
 * Without an assignment every core is a replica; with one, each box, and the logical devices of a
 * box share a replica's work along one axis named "model" (sy_split). Cluster and assignment must
 * outlive the strategy. `o` may be NULL.
 */
sy_status sy_strategy_create(sy_cluster *c, const sy_assignment *a,
                             const sy_strategy_options *o, sy_strategy **out);
/* A strategy of one replica on one core: "TPU:0", "/job:worker/task:0/device:TPU:3". */
sy_status sy_strategy_on_device(sy_cluster *c, const char *device, sy_strategy **out);
void sy_strategy_free(sy_strategy *s);
int sy_strategy_replicas(const sy_strategy *s);
int sy_strategy_devices(const sy_strategy *s);          /* logical ones of a replica */

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

/* ----- Steps: what a replica does ----- */

typedef struct sy_context sy_context;
/* An array in a step that is being traced. */
typedef struct sy_tensor { int node; } sy_tensor;

/*
 * Writes a step: reads inputs, sets output[0..output_count). It is called once for each new
 * combination of input shapes; what it returns is compiled and kept.
 */
typedef sy_status (*sy_step)(sy_context *c, const sy_tensor *input, int input_count,
                             sy_tensor *output, int output_count, void *user);

/*
 * Runs a step on every replica: input[] are values of this strategy, output[] new ones, for the
 * caller to free. After an error variables may have any value.
 */
sy_status sy_strategy_run(sy_strategy *s, const char *name, sy_step step, void *user,
                          sy_value *const *input, int input_count, sy_value **output,
                          int output_count);
/*
 * One launch that runs the step `times` times, a loop on the device: inputs hold one array per
 * step, their first dimension is `times`; outputs likewise.
 */
sy_status sy_strategy_run_steps(sy_strategy *s, const char *name, sy_step step, void *user,
                                int times, sy_value *const *input, int input_count,
                                sy_value **output, int output_count);
/* cycles of the last launch; 0 on the host and in mode functional */
int64_t sy_strategy_cycles(const sy_strategy *s);

/*
 * In a step operations return a tensor. A mistake (shapes that do not go together) makes an
 * invalid one, which all later operations pass on; the run then fails with the first message.
 */
sy_status sy_context_status(const sy_context *c);
sy_shape sy_tensor_shape(const sy_context *c, sy_tensor t);
sy_dtype sy_tensor_dtype(const sy_context *c, sy_tensor t);
/* what the nodes made from now on belong to, in reports; NULL: nothing */
void sy_context_scope(sy_context *c, const char *name);

sy_tensor sy_read(sy_context *c, const sy_variable *v);
void sy_assign(sy_context *c, sy_variable *v, sy_tensor value);

/* Other replicas */
int sy_context_replicas(const sy_context *c);
sy_tensor sy_replica_id(sy_context *c);                 /* s32 scalar */
sy_tensor sy_all_reduce(sy_context *c, sy_aggregation how, sy_tensor x);        /* sum or mean */
sy_tensor sy_all_gather(sy_context *c, sy_tensor x, int axis);

/* Logical devices: parts along each dimension; all of it on each; nothing cut */
sy_tensor sy_split(sy_context *c, sy_tensor x, const int *parts);
sy_tensor sy_replicate(sy_context *c, sy_tensor x);

/* Constants */
sy_tensor sy_constant(sy_context *c, sy_dtype dtype, sy_shape shape, double value);
sy_tensor sy_literal(sy_context *c, sy_dtype dtype, sy_shape shape, const void *data);
sy_tensor sy_iota(sy_context *c, sy_dtype dtype, sy_shape shape, int axis);

/* Two operands: dimensions of 1 and missing leading ones are repeated, as NumPy does */
sy_tensor sy_add(sy_context *c, sy_tensor a, sy_tensor b);
sy_tensor sy_subtract(sy_context *c, sy_tensor a, sy_tensor b);
sy_tensor sy_multiply(sy_context *c, sy_tensor a, sy_tensor b);
sy_tensor sy_divide(sy_context *c, sy_tensor a, sy_tensor b);
sy_tensor sy_power(sy_context *c, sy_tensor a, sy_tensor b);
sy_tensor sy_maximum(sy_context *c, sy_tensor a, sy_tensor b);
sy_tensor sy_minimum(sy_context *c, sy_tensor a, sy_tensor b);
/* "==", "!=", "<", "<=", ">", ">=": a predicate */
sy_tensor sy_compare(sy_context *c, const char *relation, sy_tensor a, sy_tensor b);
sy_tensor sy_select(sy_context *c, sy_tensor predicate, sy_tensor a, sy_tensor b);
sy_tensor sy_scale(sy_context *c, sy_tensor x, double factor);
sy_tensor sy_shift(sy_context *c, sy_tensor x, double term);

/* One operand */
sy_tensor sy_negate(sy_context *c, sy_tensor x);
sy_tensor sy_abs(sy_context *c, sy_tensor x);
sy_tensor sy_exp(sy_context *c, sy_tensor x);
sy_tensor sy_log(sy_context *c, sy_tensor x);
sy_tensor sy_sqrt(sy_context *c, sy_tensor x);
sy_tensor sy_rsqrt(sy_context *c, sy_tensor x);
sy_tensor sy_tanh(sy_context *c, sy_tensor x);
sy_tensor sy_sin(sy_context *c, sy_tensor x);
sy_tensor sy_cos(sy_context *c, sy_tensor x);
sy_tensor sy_square(sy_context *c, sy_tensor x);
sy_tensor sy_cast(sy_context *c, sy_tensor x, sy_dtype dtype);
/* an activation of Keras by its name: "relu", "gelu", "softmax" */
sy_tensor sy_activation(sy_context *c, const char *name, sy_tensor x);

/* Moving: axes count from the end if negative */
sy_tensor sy_reshape(sy_context *c, sy_tensor x, sy_shape shape);
sy_tensor sy_transpose(sy_context *c, sy_tensor x, const int *axes);    /* NULL: backwards */
sy_tensor sy_concatenate(sy_context *c, const sy_tensor *x, int count, int axis);
sy_tensor sy_slice(sy_context *c, sy_tensor x, const int64_t *begin, const int64_t *end);
/* rows of a table [rows, ...] by s32 indices of any shape */
sy_tensor sy_gather_rows(sy_context *c, sy_tensor table, sy_tensor indices);
sy_tensor sy_one_hot(sy_context *c, sy_tensor indices, int64_t classes);

/* Reductions along one axis, which goes away, or along all with SY_NO_AXIS */
sy_tensor sy_reduce_sum(sy_context *c, sy_tensor x, int axis);
sy_tensor sy_reduce_mean(sy_context *c, sy_tensor x, int axis);
sy_tensor sy_reduce_max(sy_context *c, sy_tensor x, int axis);
sy_tensor sy_argmax(sy_context *c, sy_tensor x, int axis);              /* s32 */

/*
 * Products: [.., m, k] by [.., k, n], leading dimensions alike; f32 or bf16, the result as the
 * operands. "default" (or NULL), "high", "highest": 1, 3, 6 passes of the matrix unit for f32.
 */
sy_tensor sy_matmul(sy_context *c, sy_tensor a, sy_tensor b, const char *precision);

/* Derivatives of a scalar with respect to tensors of the step; out[i] is of of[i] */
sy_status sy_gradients(sy_context *c, sy_tensor loss, const sy_tensor *of, int count,
                       sy_tensor *out);
#ifdef __cplusplus
}
#endif
#endif
