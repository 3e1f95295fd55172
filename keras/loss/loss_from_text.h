/*
 * Losses and metrics written as Python writes them (keras/call/call.h); messages as those of
 * layers (keras/model/layer_from_text.h).
 */
#ifndef KERAS_LOSS_FROM_TEXT_H
#define KERAS_LOSS_FROM_TEXT_H
#include "keras/loss/loss.h"
#include "keras/loss/metric.h"

/* "SparseCategoricalCrossentropy(from_logits=True)", "mse", "Huber(2)" */
int loss_from_text(struct loss *l, const char *text, struct err *e);

/*
 * "TopKCategoricalAccuracy(k=3, name='top3')", "mse"; not "accuracy" alone, which is
 * metric_accuracy's business. The name is `a`'s.
 */
int metric_from_text(struct metric *m, const char *text, struct arena *a, struct err *e);
#endif
