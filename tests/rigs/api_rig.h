/* What tests of models of the C interface share: a small classifier and its samples. */
#ifndef TESTS_API_RIG_H
#define TESTS_API_RIG_H
#include "include/systole.h"

#define API_SAMPLES 64
#define API_INPUTS 8
#define API_CLASSES 4

struct api_rig {
    sy_cluster *cluster;
    sy_strategy *strategy;
    sy_model *model;
    float x[API_SAMPLES][API_INPUTS];
    int32_t label[API_SAMPLES];
    const void *input[1];
    sy_samples samples;                 /* the arrays */
};

/* fails the test with the message unless it is SY_OK */
void api_must(sy_status s);
/* fails the test unless it is SY_ERROR with a message that has `part` */
void api_expect_error(sy_status s, const char *part);

/* "cpu", "v3-2"; an empty model named "small" */
void api_rig_open(struct api_rig *r, const char *tpu);
/* the same; each replica is so many stages of so many logical devices, axis "model" */
void api_rig_open_cut(struct api_rig *r, const char *tpu, int stages, int devices);
void api_rig_close(struct api_rig *r);
/* Dense(16, relu), Dense(4, name="logits"), compiled */
void api_rig_build(struct api_rig *r, const sy_compile *o);
/* the arrays as a dataset of batches */
sy_dataset *api_rig_dataset(const struct api_rig *r, int64_t batch);
/* batch 16, Adam(0.02), "accuracy" */
extern const sy_compile api_standard;
#endif
