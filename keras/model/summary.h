/*
 * What a model is made of: Keras's summary, with operations and predicted cycles per layer. What
 * is printed has the rows of Keras's model.summary(), a model inside the model in one.
 *
 * For cycles the model's forward pass, and the gradients of all trainable variables, are compiled
 * for one core of a chip, as one program, and each kernel's predicted cycles (its cost model's,
 * not simulated) counted for the layer that it came from. Work that was fused into another
 * layer's kernel counts there. Loss, optimizer and sums over replicas are not part of it.
 */
#ifndef KERAS_SUMMARY_H
#define KERAS_SUMMARY_H
#include "keras/model/model.h"
#include "stack/module/module.h"

struct summary_options {
    const struct chip *chip;            /* NULL: no cycles */
    enum codegen codegen;
    int64_t batch;                      /* samples on the core */
    bool has_backward;                  /* gradients too */
};

enum summary_bound { BOUND_NONE, BOUND_COMPUTE, BOUND_COPIES, BOUND_FIXED };
struct summary_row {
    const struct layer *layer;          /* NULL: kernels that belong to no layer */
    struct shape output;                /* of its first call, a sample */
    int64_t parameters, trainable;      /* elements, as Keras counts them */
    int64_t flops;                      /* per sample, forward */
    int64_t forward_cycles, backward_cycles;
    int64_t cost[4];                    /* by enum summary_bound: what its kernels are made of */
};

struct summary {
    const struct model *model;
    struct summary_options options;
    struct summary_row *row;            /* layers in order of calls, then that without one */
    int row_count;
    struct summary_row total;
};

/* `m` is built; the result lies in `a`. -1: it does not compile for that chip. */
int summary_make(const struct model *m, const struct summary_options *o, struct arena *a,
                 struct summary *out, struct err *e);
enum summary_bound summary_bound_of(const struct summary_row *r);
void summary_print(const struct summary *s, FILE *to);
/* the same rows and totals as one JSON object, for programs */
int summary_print_json(const struct summary *s, FILE *to, struct err *e);
#endif
