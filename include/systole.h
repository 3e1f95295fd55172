/*
 * Systole: simulated Google TPU cores, chips and pods, and a training stack on them.
 *
 * Whoever knows TPUStrategy and Keras finds the same things here under the same names:
 *
 *     sy_cluster *cluster;
 *     sy_strategy *strategy;
 *     sy_model *model;
 *
 *     sy_cluster_resolve("v3-8", NULL, &cluster);
 *     sy_cluster_initialize(cluster);
 *     sy_strategy_create(cluster, NULL, NULL, &strategy);
 *     sy_model_create(strategy, "mnist", &model);
 *     sy_model_add(model, "Flatten(input_shape=(28, 28))");
 *     sy_model_add(model, "Dense(128, activation='relu')");
 *     sy_model_add(model, "Dense(10, activation='softmax')");
 *
 * Every call returns a status: SY_OK, or SY_ERROR with a message that names shapes and allowed
 * values (sy_message). After an error the call has changed nothing, unless it says so. Handles are
 * opaque; whoever creates one frees it, NULL is fine to free. A NULL that the comments do not allow
 * is refused with a message: what does not return a status returns 0, NULL or an invalid tensor.
 * So are clusters, strategies, models and datasets that were freed already (unless another one has
 * got the same address since). One thread at a time may use a cluster and what belongs to it.
 *
 * Values on the host are dense and row-major, 4 bytes an element: float for SY_F32 and SY_BF16,
 * int32_t for SY_S32 and SY_PRED, uint32_t for SY_U32; data of SY_U8 from files is one byte.
 */
#ifndef SYSTOLE_H
#define SYSTOLE_H
/* A part for each subject, in the order of docs/api.md's chapters. */
#include "systole/status.h"
#include "systole/cluster.h"
#include "systole/strategy.h"
#include "systole/step.h"
#include "systole/embedding.h"
#include "systole/data.h"
#include "systole/checkpoint.h"
#include "systole/model.h"
#include "systole/loop.h"
#endif
