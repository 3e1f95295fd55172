/* What a model's handle is. */
#ifndef API_MODEL_H
#define API_MODEL_H
#include "api/api.h"

#include "keras/from_text.h"
#include "train/fit.h"

struct sy_model {
    sy_strategy *strategy;
    struct arena arena;
    struct model model;
    struct loss loss;
    struct optimizer optimizer;
    struct metric *metric;
    int metric_count;
    struct fit *fit;                    /* NULL before it is compiled */
    double *values;                     /* of the last evaluation's metrics */
};
#endif
