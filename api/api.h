/* Declares what the handles of include/systole.h are. */
#ifndef API_API_H
#define API_API_H
#include "include/systole.h"

#include "base/outfile.h"
#include "keras/embedding/embedding.h"
#include "keras/loss/metric.h"
#include "keras/optimizer/optimizer.h"
#include "keras/trace/trace.h"
#include "train/cluster/cluster.h"
#include "train/strategy/strategy.h"

struct sy_cluster {
    struct arena arena;
    struct cluster cluster;
    char text[160];
    const char **name;                  /* of devices, as far as they were asked for */
};

struct sy_assignment {
    struct arena arena;
    sy_cluster *cluster;
    struct device_assignment d;
};

struct sy_variable {
    sy_strategy *strategy;
    int number;                         /* of the strategy's set */
};

/* a step of the user's as strategy_function knows it: found again by what it is */
struct api_function {
    sy_strategy *strategy;
    sy_step step;
    void *user;
    int output_count;
    int times;                          /* in one launch; 0: without a loop */
    struct api_function *next;
};

struct sy_strategy {
    sy_cluster *cluster;
    struct arena arena;
    struct variable_set set;
    struct mesh mesh;
    int stages;                         /* of a pipeline; 0: none */
    struct strategy *strategy;
    sy_variable **variable;             /* by number, NULL where nobody has asked */
    size_t variable_capacity;
    struct api_function *function;
    int64_t cycles;                     /* of the last launch */
    struct outfile_lock lock;           /* of the folder of checkpoints that it saves into, */
    const char *folder;                 /* since it first did; NULL: none */
    bool has_compiled;                  /* a model, whose optimizer's names are taken */
};

struct sy_embedding {
    sy_strategy *strategy;
    struct embedding_table *table;
    struct embedding_feature *feature;
    struct embedding e;
};

struct sy_value {
    int replicas;
    int *device;                        /* of each replica, its logical one 0 */
    sy_dtype dtype;
    struct shape shape;                 /* of a replica */
    void **data;
};

struct sy_array {
    sy_dtype dtype;
    struct shape shape;
    void *data;
};

struct sy_metric {
    sy_strategy *strategy;
    struct metric m;
    bool is_accuracy;                   /* which one is known by the shapes of an update */
    int64_t known_size;                 /* classes or labels that its sums are of; 0: it has none */
};

struct sy_optimizer {
    sy_strategy *strategy;
    struct optimizer o;
};

/* what a step looks up in tables; made when it first does */
struct api_lookups {
    sy_embedding *embedding;
    struct embedding_step step;
    bool is_applied;
    struct api_lookups *next;
};

struct sy_context {
    struct trace *trace;
    sy_strategy *strategy;
    struct err err;
    bool has_failed;
    struct api_lookups *lookups;
    struct api_forward *forward;        /* of models, the last one first (api/loop.c) */
    int64_t stream;                     /* of random numbers, drawn so far */
};

/* Handles that are alive (api/handle.c). */
enum api_kind { API_CLUSTER, API_STRATEGY, API_MODEL, API_DATASET };
void api_handle_add(const void *handle, enum api_kind kind);
/* false: it was none, or has been freed already; then there is nothing to free */
bool api_handle_remove(const void *handle, enum api_kind kind);
/* SY_ERROR with a message: NULL, freed */
sy_status api_handle_check(const void *handle, enum api_kind kind);

/* The folder is this process's from now on, until the strategy saves elsewhere or is freed. */
int api_hold_folder(sy_strategy *s, const char *folder, struct err *e);
/* of a restore that found one (1) or none (0): where damaged ones were passed over, they are told,
   and where there is nothing else that is an error */
sy_status api_restored(int found, const struct err *skipped);

/* keeps the message for sy_message and returns SY_ERROR */
sy_status api_fail(const struct err *e);
sy_status api_fail_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* SY_ERROR with "sy_loss: labels is NULL" for the first of these pointers that is; else SY_OK */
#define API_GIVEN(...)                                                                           \
    api_given(__func__, #__VA_ARGS__, (const void *const[]){__VA_ARGS__},                       \
              (int)(sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *)))
sy_status api_given(const char *function, const char *names, const void *const *pointer,
                    int count);

/* -1: no such type (SY_U8 where only data of files may be), rank out of range, a size below 1 */
int api_shape(sy_dtype dtype, const sy_shape *shape, struct shape *out, struct err *e);
sy_shape api_dims(const struct shape *s);
sy_dtype api_dtype(enum graph_dtype dtype);
/* -1 naming the types */
int api_graph_dtype(sy_dtype dtype, enum graph_dtype *out, struct err *e);
/* "default" (or NULL), "high", "highest" */
int api_precision(const char *name, enum graph_precision *precision, struct err *e);

/* a value of `shape` per replica, its arrays zero */
sy_value *api_value(const sy_strategy *s, const struct shape *shape);
/* of the cluster, which logical device `device` of a replica is (0, 1, .. over all replicas) */
int api_device_of(const sy_strategy *s, int device);
sy_array *api_array(const struct shape *shape);

/*
 * By dimension the name of the mesh's axis that cuts it, or NULL; `what` in messages. -1: no such
 * axis (the nearest is named), sizes that do not divide.
 */
int api_layout(const sy_strategy *s, const char *const *axis, const struct shape *shape,
               const char *what, struct sharding *out, struct err *e);
/* "glorot_uniform", "Constant(3)", "RandomUniform(-1, 1)" */
int api_initializer(const char *text, struct initializer *i, struct err *e);
/* the handle of a variable of the set */
sy_variable *api_variable(sy_strategy *s, int number);

/* ----- in a step */

/* makes *e the context's error if it is the first one; an invalid tensor */
sy_tensor api_invalid(sy_context *c, const struct err *e);
/* whether API_GIVEN has failed, which is then the context's error */
bool api_lacks(sy_context *c, sy_status given);
/* false, with a message: it is NULL */
bool api_is_context(const sy_context *c);
/* whether tensors can be worked on: none is invalid, and they are of this trace */
bool api_are_valid(sy_context *c, const sy_tensor *t, int count);
/* a node like *n, checked */
sy_tensor api_add_node(sy_context *c, const struct graph_node *n, const sy_tensor *operand,
                       int count);
static inline struct graph *api_graph(sy_context *c) { return &c->trace->graph; }
static inline const struct shape *api_shape_of(const sy_context *c, sy_tensor t)
{
    return &c->trace->graph.node[t.node].shape;
}
/* an axis, counted from the end if negative; -1 with the context's error set */
int api_axis(sy_context *c, sy_tensor t, int axis);
/* NumPy's way: t with the dimensions of *shape */
sy_tensor api_spread(sy_context *c, sy_tensor t, const struct shape *shape);
#endif
