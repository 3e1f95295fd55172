/*
 * Models: layers and how they are connected, as Keras's Sequential and functional ones.
 *
 * A model is a list of calls: each applies a layer to outputs of calls before it. A layer may be
 * called several times and has its variables once. Made in C:
 *
 *     model_init(&m, &arena, "mlp");
 *     x = model_input(&m, "image", &sample);
 *     l = model_layer(&m, LAYER_DENSE, NULL);
 *     l->c.units = 128, l->c.activation = activation_standard(ACTIVATION_RELU);
 *     x = model_call(&m, l, &x, 1, &e);               (or model_add(&m, l, &e))
 *     model_output(&m, x);
 *     model_build(&m, &variables, &e);
 *
 * or from what Keras's model.to_json() writes. A built model is written into any number of
 * traces. Its memory is the arena's given to model_init, which must outlive it.
 */
#ifndef KERAS_MODEL_H
#define KERAS_MODEL_H
#include "keras/layers/layer.h"
#include "keras/trace/trace.h"

struct model_node {                     /* one call */
    int layer;
    int input_count;
    int *input;                         /* calls */
    struct shape shape;                 /* of a sample of its output */
    int part;                           /* 0: the call itself; else it is that output of the call */
                                        /* input[0], and stands right behind it */
    bool has_mask;                      /* it says which steps count (keras/layers/layer_mask.c) */
};

struct model_part {                     /* a model inside the model, whose layers it has */
    const char *prefix;                 /* of their names: "inner/" */
    const char *class;                  /* "Functional", "Sequential" */
};

struct model {
    struct arena *arena;
    const char *name;
    enum keras_policy policy;           /* to be set before it is traced; float32 */
    const char *file_policy;            /* a Keras file's that the cores have not; NULL: there is none */
    enum graph_precision precision;     /* of products */
    uint64_t seed;                      /* of dropout's random bits: to be set before model_build */
    struct layer **layer;
    int layer_count;
    size_t layer_capacity;
    struct model_node *node;
    int node_count;
    size_t node_capacity;
    bool is_chain;                      /* of a Keras file: a Sequential */
    struct model_part *part;            /* of a Keras file */
    int part_count;
    size_t part_capacity;
    int *input, *output;                /* calls */
    int input_count, output_count;
    size_t input_capacity, output_capacity;
    struct variable_set *set;           /* once built */
    int first_variable, variable_count; /* of the set: these are the model's */
    int seed_variable;                  /* counts steps with dropout; -1: there is none */
};

void model_init(struct model *m, struct arena *a, const char *name);
void model_fini(struct model *m);       /* frees what grows, also after an error */

/*
 * A layer of the model with Keras's standard values, to be changed in `c`. Name NULL: Keras's,
 * "conv2d", "conv2d_1", ...; a given name that the model already has is an error of model_build.
 */
struct layer *model_layer(struct model *m, enum layer_kind kind, const char *name);

/* calls; -1 with a message that names the layer and the shapes. A layer of several outputs has the
 * others right behind its call. */
int model_input(struct model *m, const char *name, const struct shape *sample);
int model_call(struct model *m, struct layer *l, const int *input, int input_count,
               struct err *e);
/* Sequential: of the last call */
int model_add(struct model *m, struct layer *l, struct err *e);
void model_output(struct model *m, int call);   /* a model without one has its last call's */
int model_last_call(const struct model *m);     /* the first output of the last one */

/*
 * From model.to_json() of Keras 2 or 3, Sequential or Functional, or the model.json of
 * TensorFlow.js that holds such a model, initialised by this; `path` in messages. -1: file, line
 * and column where the JSON is broken, else the layer.
 */
int model_from_json(struct model *m, struct arena *a, const char *path, struct err *e);
/* the same, with sizes of samples that the file leaves open: "28x28x1", "image=28x28x1,ids=64";
 * NULL or "": none */
int model_from_json_sized(struct model *m, struct arena *a, const char *path,
                          const char *input_sizes, struct err *e);
int model_from_json_text(struct model *m, struct arena *a, const char *path, const char *text,
                         size_t bytes, const char *input_sizes, struct err *e);

/*
 * Adds its variables to the set, which must outlive it, layer by layer: "dense/kernel". Checks
 * that names are unique and that every layer leads to an output.
 */
int model_build(struct model *m, struct variable_set *set, struct err *e);

/* Takes back layers, calls, inputs and outputs that came after *mark was taken. */
struct model_mark { int layers, nodes, inputs, outputs; };
struct model_mark model_mark(const struct model *m);
void model_take_back(struct model *m, struct model_mark mark);

/* pixels of 0..255 of this input are brought into a small range by the model's first layers */
bool model_scales_bytes(const struct model *m, int input);
/* the outermost model inside the model whose layer has this name; -1: none */
int model_part_of(const struct model *m, const char *name);
int64_t model_parameter_count(const struct model *m, bool of_trainable);

struct model_result {
    int value;                          /* node: [batch, ...] */
    int logits;                         /* what a last softmax or sigmoid is of; or NODE_NONE */
    enum activation_kind last;          /* which of the two it is, or LINEAR */
    int mask;                           /* f32 [batch, steps]: 1 where a step counts; or NODE_NONE */
};

/*
 * Into a trace over the model's set: input[] are nodes of the inputs' types and shapes with the
 * batch in front (asserted), result[] has a place per output. Batch normalisation's averages and
 * dropout's seed are read and, if the trace is training, assigned. In a trace with logical devices
 * layers are on theirs, which must be there (asserted). `penalty`, if not NULL,
 * becomes an f32 scalar, or NODE_NONE if nothing is regularised: this replica's share of the
 * regularisers' losses; summed over the replicas these are added to the loss once.
 */
void model_forward(struct trace *t, const struct model *m, const int *input,
                   struct model_result *result, int *penalty);
#endif
