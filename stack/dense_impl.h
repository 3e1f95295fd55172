/*
 * Inside the strategy: what strategy.c shares with its two back ends.
 *
 * Variables are named by their parameter index in the training graph; the
 * evaluation graph finds its own among them by name.
 */
#ifndef STACK_DENSE_IMPL_H
#define STACK_DENSE_IMPL_H
#include "stack/dense.h"

struct dense_strategy {
    const struct model *model;
    struct model_options options;
    int64_t global_batch;
    struct model_graph train, eval;
    int *variable_of_eval;              /* by eval parameter: training parameter, or -1 */
    float *weights;                     /* (global_batch): 1 for samples that count */

    /* the host interpreter */
    enum interp_dot reference_dot;
    struct interp_value *variable;      /* by training parameter; data NULL where not a variable */
    struct arena step_arena;            /* emptied after every step */

    /* a machine; NULL for the host interpreter */
    struct machine *machine;
    struct module train_program, eval_program;
    const struct module *loaded;        /* what the cores hold; replica r is core r */
    cycle_t step_cycles;                /* of every training step; 0 before the first */
};

/* What one step is fed with; weights is NULL in training. */
struct step_input {
    const float *x;
    const int32_t *labels;
    const float *weights;
};

static inline bool role_is_variable(enum model_role role) { return role <= ROLE_BETA_POWER; }

void host_init(struct dense_strategy *s, struct arena *a, uint64_t seed);
int host_step(struct dense_strategy *s, const struct step_input *in, struct dense_result *r,
              struct err *e);
void host_read_parameter(const struct dense_strategy *s, int parameter, float *to);

int device_init(struct dense_strategy *s, struct arena *a, uint64_t seed, struct err *e);
int device_step(struct dense_strategy *s, const struct step_input *in, struct dense_result *r,
                struct err *e);
int device_replay(struct dense_strategy *s, struct dense_result *r, struct err *e);
int device_read_parameter(struct dense_strategy *s, int replica, int parameter, float *to,
                          struct err *e);
#endif
