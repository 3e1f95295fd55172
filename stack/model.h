/*
 * A Keras model file and the graphs that train and evaluate it.
 *
 * Reads what model.to_json() writes (Keras 2 and 3, Sequential and functional
 * chains): InputLayer, Flatten, Dense, Activation. Anything else is an error
 * that names the layer, with line and column where the JSON itself is broken.
 * Whether the file's dtype is float32 or mixed_bfloat16 (others are errors) and
 * its initializer seeds do not count: the run's do.
 */
#ifndef STACK_MODEL_H
#define STACK_MODEL_H
#include "stack/graph.h"

enum model_activation {
    ACTIVATION_LINEAR, ACTIVATION_RELU, ACTIVATION_TANH, ACTIVATION_SIGMOID, ACTIVATION_SILU,
    ACTIVATION_SOFTMAX, ACTIVATION_COUNT
};
const char *activation_name(enum model_activation a);

struct model_layer {
    const char *name;
    int64_t inputs, units;              /* kernel is [inputs, units] */
    bool use_bias;
    enum model_activation activation;
};

struct model {
    const char *name;
    int64_t input_elems;                /* per sample, flattened */
    struct model_layer *layer;          /* the dense layers in order */
    int layer_count;
    int64_t parameter_elems;            /* trainable */
};

/* all of *m lies in `a` */
int model_load(struct model *m, const char *path, struct arena *a, struct err *e);

enum model_policy { POLICY_FLOAT32, POLICY_MIXED_BFLOAT16 };
enum model_optimizer { OPTIMIZER_ADAM, OPTIMIZER_SGD };

struct model_options {
    enum model_policy policy;
    enum graph_precision precision;
    enum model_optimizer optimizer;
    double learning_rate;
    double beta_1, beta_2, epsilon;     /* Adam; Keras defaults .9 .999 1e-7 */
    double momentum;                    /* SGD */
    int64_t local_batch;                /* rows per replica */
    int64_t global_batch;               /* the loss is the mean over these */
    int replica_count;                  /* above 1 gradients are all-reduced */
};

/*
 * What parameter i of a graph is. Variables come first, in the same order in
 * the training and the evaluation graph as far as both have them.
 */
enum model_role {
    ROLE_KERNEL, ROLE_BIAS,             /* trainable, `layer` */
    ROLE_SLOT,                          /* optimizer state of variable `of`: starts at zero */
    ROLE_BETA_POWER,                    /* scalar beta^t of Adam: starts at 1 */
    ROLE_X,                             /* f32 [local_batch, input_elems] */
    ROLE_LABELS,                        /* s32 [local_batch, 1] */
    ROLE_WEIGHTS                        /* f32 [local_batch, 1]: 1 or 0, evaluation only */
};
struct model_parameter {
    enum model_role role;
    int layer;
    int of;                             /* ROLE_SLOT: parameter index of its variable */
    const char *name;                   /* "dense/kernel", "dense/kernel/m" */
};

struct model_graph {
    struct graph graph;
    struct model_parameter *parameter;  /* by parameter index */
    int loss_output;                    /* f32 [1,1]: sum of the samples' losses (this replica) */
    int correct_output;                 /* f32 [1,1]: samples whose first largest logit is right */
};

/*
 * Training: forward, backward, all-reduce, update. Outputs: the updated
 * variables and slots, aliased to their parameters, then loss and correct.
 * The final softmax and the cross-entropy work on logits (log-sum-exp); a last
 * layer without activation gives logits already.
 *
 * Mixed bfloat16 is Keras's mixed_bfloat16: variables are f32; kernel, bias and
 * inputs are cast to bf16 for a dense layer, whose product, bias addition and
 * activation are each rounded to bf16; gradients flow back through the casts.
 * The logits are cast to f32 before the loss, as Keras advises for the softmax.
 *
 * Every tensor has rank 0, 1 or 2. Loss and correct are of this replica's rows
 * only. The graph lives in `a`, but its growing arrays are freed by
 * graph_fini(&out->graph), also after an error.
 */
int model_build_train(const struct model *m, const struct model_options *o, struct arena *a,
                      struct model_graph *out, struct err *e);
/* Evaluation: forward, loss and correct, each sample times its weight. */
int model_build_eval(const struct model *m, const struct model_options *o, struct arena *a,
                     struct model_graph *out, struct err *e);

/* glorot_uniform kernels, zero biases and slots, ones for beta powers; dense row-major floats */
void model_init_parameter(const struct model *m, const struct model_graph *mg, int parameter,
                          uint64_t seed, float *to);
#endif
