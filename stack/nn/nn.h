/*
 * Layers of neural networks as graphs of basic operations, written as JAX's
 * libraries lower them. All functions add nodes to `g` and return node numbers;
 * operands must fit (asserted by the builders).
 *
 * Activations may be f32 or bf16; a result has the type of its first operand.
 * Statistics, softmaxes and losses are computed in f32 whatever the operands
 * are, as flax and jax.nn do. Products of bf16 are bf16, rounded once.
 */
#ifndef STACK_NN_H
#define STACK_NN_H
#include "stack/hlo/graph.h"

/* ---- elementwise ---- */
int nn_add(struct graph *g, int a, int b);
int nn_multiply(struct graph *g, int a, int b);
int nn_scale(struct graph *g, int a, double factor);
int nn_shift(struct graph *g, int a, double term);
int nn_relu(struct graph *g, int x);                    /* maximum(x, 0) */
int nn_silu(struct graph *g, int x);                    /* x * logistic(x) */
int nn_gelu(struct graph *g, int x, bool is_approximate);       /* by tanh, else by erf */

/* a vector along the last dimension of node `like`; a scalar everywhere */
int nn_spread(struct graph *g, int vector, int like);
/* the sum over `mask`, times 1 / elements; f32 */
int nn_mean(struct graph *g, int x, uint32_t mask);

/* ---- along the last dimension ---- */
int nn_softmax(struct graph *g, int x);
int nn_log_softmax(struct graph *g, int x);             /* f32 */
int nn_layer_norm(struct graph *g, int x, int scale, int offset, double epsilon);
int nn_rms_norm(struct graph *g, int x, int scale, double epsilon);
int nn_unit_norm(struct graph *g, int x);       /* by its length, or by 1e-12 if that is larger */

/* by mean and variance of each row's groups of channels, the last dimension; others are places */
int nn_group_norm(struct graph *g, int x, int scale, int offset, int64_t groups, double epsilon);

/* ---- batch norm over all dimensions but the last; scale .. variance are f32 [features] ---- */
struct nn_batch_norm {
    int y, mean, variance;              /* of the batch */
};
/* is_synchronised: the statistics of all replica_count replicas together, by an all-reduce */
struct nn_batch_norm nn_batch_norm_training(struct graph *g, int x, int scale, int offset,
                                            double epsilon, bool is_synchronised,
                                            int replica_count);
int nn_batch_norm_inference(struct graph *g, int x, int scale, int offset, int mean,
                            int variance, double epsilon);
int nn_moving_average(struct graph *g, int average, int now, double momentum);

/* ---- losses and labels; labels are s32, one per row of the last dimension ---- */
int nn_one_hot(struct graph *g, int labels, int64_t classes, enum graph_dtype dtype);
int nn_cross_entropy(struct graph *g, int logits, int labels);  /* mean over the rows; scalar */
int nn_accuracy(struct graph *g, int logits, int labels);       /* share of argmax = label */
/* zero with probability `rate`, else scaled by 1 / (1 - rate); seed: s32 scalar */
int nn_dropout(struct graph *g, int x, double rate, int seed, int64_t stream);

/* ---- products ---- */
/* the last `count` dimensions of x with the first `count` of the kernel */
int nn_dense(struct graph *g, int x, int kernel, int count);
int nn_bias(struct graph *g, int x, int bias);          /* along as many last dimensions */
int nn_embedding(struct graph *g, int table, int ids);  /* [rows, width], [..] -> [.., width] */

/* causal: zeros before the first element alone, as many as a window reaches back */
enum nn_padding { NN_VALID, NN_SAME, NN_EXPLICIT, NN_CAUSAL };
struct nn_window {                      /* over height and width of NHWC; pooling also of volumes */
    int64_t size[3], stride[3];         /* size: pooling only */
    enum nn_padding padding;
    int64_t pad[2];                     /* NN_EXPLICIT: on both sides */
    int64_t groups;                     /* conv2d, of features; 0 = 1 */
};
int nn_conv2d(struct graph *g, int x, int kernel, const struct nn_window *w);   /* HWIO */
int nn_max_pool(struct graph *g, int x, const struct nn_window *w);
int nn_average_pool(struct graph *g, int x, const struct nn_window *w); /* padding not counted */

/* ---- attention: q, k, v are [batch, positions, heads, width] ---- */
int nn_attention(struct graph *g, int q, int k, int v, bool is_causal);
/* the same with scores of the type of q, as a program of bf16 throughout has them */
int nn_attention_rounded(struct graph *g, int q, int k, int v, bool is_causal);
/*
 * The same as a custom call (docs/kernels.md says how operands lie), the computation of which is
 * nn_attention's. Operands: their number and shapes; FLASH: q, k, v; PAGED: q, pages of k, pages of
 * v, table; RAGGED: q, pages of both, table.
 */
int nn_attention_operands(const struct graph_attention *a, struct shape shape[4]);
int nn_attention_call(struct graph *g, const int *operand, const struct graph_attention *a);

/* ---- optimizers: variables and slots f32, gradients f32 or bf16; `rate` an f32 scalar ---- */
/* slot = momentum slot + gradient; variable -= rate slot */
void nn_sgd_momentum(struct graph *g, int variable, int gradient, int slot, int rate,
                     double momentum, double weight_decay, int *new_variable, int *new_slot);
struct nn_adam {
    double beta_1, beta_2, epsilon, weight_decay;       /* decay as in AdamW */
    bool is_part;                       /* replicas have a part of the variable each */
};
/* step: f32 scalar, 1 in the first step; moment[2] are replaced by the new ones */
int nn_adam(struct graph *g, const struct nn_adam *o, int variable, int gradient, int rate,
            int step, int moment[2]);
/*
 * likewise, the change scaled by the variable's length over its own, 1 where one is 0; of parts, by
 * the whole variable's lengths: sums over the replicas
 */
int nn_lamb(struct graph *g, const struct nn_adam *o, int variable, int gradient, int rate,
            int step, int moment[2]);
#endif
