/* Declares what the files of metrics share; private to metric*.c. */
#ifndef KERAS_METRIC_IMPL_H
#define KERAS_METRIC_IMPL_H
#include "keras/loss/metric.h"

/* what a metric compares its predictions with, and above which number they are positive */
int metric_threshold_count(const struct metric *m);
/* thresholds that are evenly spread have a last one that nothing is above, as in Keras */
float *metric_thresholds(const struct metric *m, struct arena *a);

/* the i-th state: what is counted, by its name */
const char *metric_state(const struct metric *m, int i, struct arena *a);
/* predictions are places, numbers of classes, or the largest of a row is one */
bool metric_has_rows(const struct metric *m, int label_rank, int prediction_rank);
int64_t metric_classes(const struct metric *m, const struct shape *prediction);
#endif
