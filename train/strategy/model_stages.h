/*
 * A Keras model as stages of a pipeline (docs/parallel.md): which layer is on which stage.
 *
 * Stages are ranges of calls in the model's order, so values only go to later ones. Where they end
 * is told by the names of the layers that begin the next, or chosen so that the longest stage is as
 * short as can be, by the cycles that kernels are predicted to take forward and backward, or by
 * operations where there is no chip.
 */
#ifndef TRAIN_MODEL_STAGES_H
#define TRAIN_MODEL_STAGES_H
#include "keras/model/summary.h"
#include "train/strategy/strategy.h"

struct model_stages_options {
    int count;                          /* of stages; 1 or more */
    const char *cuts;                   /* "dense_1,dense_3": where stages begin; NULL: chosen */
    const struct chip *chip;            /* NULL: costs are operations */
    int64_t micro_batch;                /* samples of a replica that pass at once */
};

struct model_stages {
    struct strategy_stages stages;      /* for strategy_options; its user is this */
    const struct model *model;
    int *layer;                         /* by layer: its stage */
    double *share;                      /* by stage: of the cost of all */
};

/*
 * `m` is built; all is `a`'s. -1 with *e set: more stages than layers with variables, a stage
 * without any, a name that no layer has, a layer whose calls would be on several stages.
 */
int model_stages_choose(const struct model *m, const struct model_stages_options *o,
                        struct arena *a, struct model_stages *out, struct err *e);
#endif
