/*
 * Whole models as graphs, by name: for `systole compile`, benchmarks and tests
 * of the compiler.
 *
 * A model's inputs, variables, moving averages and optimizer slots are the
 * graph's parameters. Forward it has the outputs of inference; training it has
 * "loss" and every updated variable, average and slot, each in the place of the
 * parameter that it replaces. Variables and slots are f32, used in the model's
 * element type; parameters "learning_rate" and, with Adam and LAMB, "step" (from 1 on)
 * are f32 scalars, "seed" of dropout an s32 one.
 */
#ifndef STACK_ZOO_H
#define STACK_ZOO_H
#include "stack/hlo/graph.h"

struct zoo_options {
    int64_t batch;
    int64_t sequence;                   /* 0 where the model knows none */
    enum graph_dtype dtype;             /* DTYPE_F32 or DTYPE_BF16 */
    bool is_training;
    double dropout;                     /* rate; bert and gpt2, in training */
};

struct zoo_model {
    const char *name, *meaning;
    struct zoo_options defaults;
};

int zoo_count(void);
const struct zoo_model *zoo_model(int index);

/* a line per model and what may follow its name, for help texts */
void zoo_print(FILE *to);

/*
 * `spec` is a name, or a name and options: "resnet50:train,batch=8,dtype=f32". `g` has been
 * initialised and is empty. *variable_count is the number of trainable elements. -1 for an
 * unknown name or option, or a value out of range.
 */
int zoo_build(struct graph *g, const char *spec, int64_t *variable_count, struct err *e);
/* samples of a step of such a model, of one replica; -1 likewise */
int zoo_batch(const char *spec, int64_t *batch, struct err *e);
/*
 * The same as one of several replicas, `batch` its own: gradients are of the mean loss of all and
 * summed over them; "loss" and moving averages are the replica's. Of variables that Adam or LAMB
 * changes, and of their slots, a replica has a part where there are equal ones (docs/graph.md).
 */
int zoo_build_replica(struct graph *g, const char *spec, int replica_count,
                      int64_t *variable_count, struct err *e);
#endif
