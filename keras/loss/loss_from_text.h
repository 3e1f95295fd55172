/*
 * Losses and metrics written as Python writes them (keras/call/call.h).
 */
#ifndef KERAS_LOSS_FROM_TEXT_H
#define KERAS_LOSS_FROM_TEXT_H
#include "keras/loss/loss.h"
#include "keras/loss/metric.h"

/* "SparseCategoricalCrossentropy(from_logits=True)", "mse", "Huber(2)"; lists are of `a` */
int loss_from_text(struct loss *l, const char *text, struct arena *a, struct err *e);

/*
 * "TopKCategoricalAccuracy(k=3, name='top3')", "mse"; "accuracy" and "acc" alone are what
 * metric_accuracy says of samples' labels and predictions. Name and lists are `a`'s.
 */
int metric_from_text(struct metric *m, const char *text, const struct shape *label,
                     const struct shape *prediction, struct arena *a, struct err *e);
/* the i-th of a list is one of weighted_metrics: "weighted_..." if one before it has its name */
void metric_set_weighted(struct metric *list, int i, struct arena *a);
#endif
