/* Declares what a model's handle is. */
#ifndef API_MODEL_H
#define API_MODEL_H
#include "api/api.h"

#include "keras/loss/loss_from_text.h"
#include "train/fit/callbacks_from_text.h"
#include "keras/model/layer_from_text.h"
#include "train/fit/fit.h"

struct sy_model {
    sy_strategy *strategy;
    struct arena arena;
    struct model model;
    struct loss loss;
    struct optimizer optimizer;
    struct metric *metric;
    int metric_count;
    struct host_loop_options host;      /* of a simulated slice */
    struct fit *fit;                    /* NULL before it is compiled */
    bool has_weights;                   /* training takes a weight for each sample */
};

/* ----- samples (api/samples.c) */

struct api_epoch {                      /* how an epoch is taken from samples */
    bool is_shuffled;
    uint64_t seed;
    int64_t steps;                      /* of an epoch; 0: all */
    const char *steps_name;             /* who says so, for messages: "steps_per_epoch" */
    bool is_training;                   /* with weights where the model was compiled for them */
};
/* -1: NULL where arrays must be, types and shapes that are not the model's, no end */
int api_open_samples(const sy_model *m, const sy_samples *s, const struct api_epoch *o,
                     struct batches *b, struct arena *a, struct err *e);
/* to *out, which is made here, [samples, ...] */
int api_predict(const sy_model *m, const sy_samples *s, sy_array **out, struct err *e);

/* ----- callbacks (api/callbacks.c) */

/* SY_ERROR: it has been freed, or is not compiled */
sy_status api_model_compiled(const sy_model *m);
/* of everything that *o asks for; `a` holds them; steps_per_epoch 0: not known */
int api_callbacks_of(sy_model *m, const sy_fit *o, int64_t steps_per_epoch,
                     struct callback_list *list, struct arena *a, struct err *e);
sy_result api_result(const sy_model *m, const struct fit_log *l);
#endif
