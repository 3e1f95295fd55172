/* Of include/systole.h: operations of a step that every replica does, and what it cost. */
#ifndef SYSTOLE_STEP_H
#define SYSTOLE_STEP_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "status.h"
#include "strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/*
 * Logical devices. How an array lies on them: so many parts along each dimension, as many in all
 * as there are devices; or by dimension the name of the axis that cuts it, NULL where none does
 * (over axes that are not named every device has the same part); or all of it on each.
 */
sy_tensor sy_split(sy_context *c, sy_tensor x, const int *parts);
sy_tensor sy_layout(sy_context *c, sy_tensor x, const char *const *axis);
sy_tensor sy_replicate(sy_context *c, sy_tensor x);
/*
 * Or one device of each replica makes it, 0 .. sy_strategy_devices - 1, with the operations that
 * it is made of, back to inputs, variables and what is assigned elsewhere. All others are where
 * their operands are, gradients where the operation was whose they are, and the rest on device 0.
 * What another device needs is sent to it. Every device has all variables: a new value goes to
 * all. The tensor that is returned is the same, on that device.
 *
 * A step that assigns runs a program of its own on each device; with sy_split, sy_layout,
 * sy_replicate or variables that are cut in the same step it is refused.
 */
sy_tensor sy_assign_to_logical_device(sy_context *c, sy_tensor x, int device);

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

/*
 * Windows over height and width of images [samples, height, width, channels], f32 or bf16. Zeros
 * mean: size of 1, strides of 1, one group. "same" pads so that an output has a place for each
 * stride; "valid" (or NULL) does not.
 */
typedef struct sy_window {
    int64_t size[2];                    /* of pools; a convolution's is its kernel's */
    int64_t strides[2];
    const char *padding;
    int64_t groups;                     /* of a convolution, of channels */
} sy_window;
/* by a kernel [height, width, channels / groups, features] of the same type */
sy_tensor sy_conv2d(sy_context *c, sy_tensor x, sy_tensor kernel, const sy_window *w);
sy_tensor sy_max_pool2d(sy_context *c, sy_tensor x, const sy_window *w);
sy_tensor sy_average_pool2d(sy_context *c, sy_tensor x, const sy_window *w);

/*
 * Mean and variance of each channel, the last dimension, over all others, f32 [channels];
 * `synchronized`: of all replicas together. Then (x - mean) / sqrt(variance + epsilon), times
 * scale, plus offset, [channels] each; layers' are of each sample along the last dimension.
 */
sy_status sy_moments(sy_context *c, sy_tensor x, bool synchronized, sy_tensor *mean,
                     sy_tensor *variance);
sy_tensor sy_batch_normalization(sy_context *c, sy_tensor x, sy_tensor mean, sy_tensor variance,
                                 sy_tensor offset, sy_tensor scale, double epsilon);
sy_tensor sy_layer_normalization(sy_context *c, sy_tensor x, sy_tensor offset, sy_tensor scale,
                                 double epsilon);

/*
 * Random numbers, f32, from an s32 scalar: the same seed draws the same in every run, other numbers
 * on every core and in every such operation of a step. sy_next_seed reads a seed from an s32 scalar
 * variable and counts it up, so that the next step draws others. Dropout makes elements zero with
 * probability `rate`, and scales the others by 1 / (1 - rate).
 */
sy_tensor sy_next_seed(sy_context *c, sy_variable *v);
sy_tensor sy_random_uniform(sy_context *c, sy_shape shape, double low, double high,
                            sy_tensor seed);
sy_tensor sy_random_normal(sy_context *c, sy_shape shape, double mean, double stddev,
                           sy_tensor seed);
sy_tensor sy_dropout(sy_context *c, sy_tensor x, double rate, sy_tensor seed);

/* Derivatives of a scalar with respect to tensors of the step; out[i] is of of[i] */
sy_status sy_gradients(sy_context *c, sy_tensor loss, const sy_tensor *of, int count,
                       sy_tensor *out);

/* ----- What a launch cost ----- */

typedef struct sy_costs {
    int64_t cycles;                     /* until the last core is done; 0 in mode functional */
    double us;                          /* at the chip's clock, the launch's own time included */
    /* of one core: any collective is in flight; the core does nothing else meanwhile */
    int64_t communication_cycles, exposed_communication_cycles;
    int64_t flops;                      /* that the step's arrays need, on all cores together */
    int cores;                          /* that ran */
    int64_t input_bytes;                /* from the hosts to all cores, with tiles */
    int64_t variable_bytes, launch_bytes;       /* of each core's HBM, with tiles */
} sy_costs;

/*
 * Of the cluster's last launch, which this strategy has made: a step's, fit's, an evaluation's.
 * SY_ERROR: the cluster is the host; nothing has run.
 */
sy_status sy_strategy_costs(const sy_strategy *s, sy_costs *out);

/* Of a launch of a model's step, or several, in stages; shares are of the time of all cores. */
typedef struct sy_pipeline {
    int stages, micro_batches;
    int64_t cycles;
    int64_t ideal_cycles;               /* of stages as long as these without communication */
    double theory;                      /* bubble of equal stages, (S - 1) / (M + S - 1) */
    double bubble;                      /* of the ideal_cycles: waiting for other stages */
    double waiting;                     /* of the cycles: measured, communication included */
} sy_pipeline;
/* the same of a training step that was the last launch; SY_ERROR too: not in stages, no cycles */
sy_status sy_strategy_pipeline(const sy_strategy *s, sy_pipeline *out);
/* the table that `systole train` ends with: where its cycles went, what bounds it */
sy_status sy_strategy_print_costs(const sy_strategy *s, FILE *to);

#ifdef __cplusplus
}
#endif
#endif
