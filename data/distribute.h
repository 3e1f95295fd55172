/*
 * Data for replicas: a global batch cut into equal parts, or a pipeline for every host.
 *
 * Replica r of R takes rows r B/R .. (r + 1) B/R - 1 of a global batch of B. With several input
 * pipelines (one per host), pipeline p of P feeds replicas p R/P .. (p + 1) R/P - 1.
 */
#ifndef DATA_DISTRIBUTE_H
#define DATA_DISTRIBUTE_H
#include "data/dataset.h"

/* tf.distribute.InputContext */
struct input_context {
    int input_pipeline_count, input_pipeline_id;
    int replica_count;                  /* in sync, over all pipelines */
};

/* -1 names the nearest batches that can be split over so many replicas */
int distribute_check_batch(int64_t global_batch, int replica_count, struct err *e);

/*
 * Cuts every tensor along dimension 0 into replica_count equal parts, one new element each, for
 * the caller to release.
 */
int distribute_element(const struct data_element *global, int replica_count,
                       struct data_element **replica, struct err *e);

struct distributed;

/*
 * Elements of `d` are global batches. Where their size is known it is checked here, otherwise
 * when one comes. Takes over d.
 */
struct distributed *distribute_dataset(struct dataset *d, int replica_count, struct err *e);
/*
 * `make` is called once per pipeline; its elements are batches of one replica. What it returns is
 * taken over; NULL fails. The replicas must divide among the pipelines.
 */
struct distributed *distribute_from_function(
    struct dataset *(*make)(void *context, const struct input_context *c, struct err *e),
    void *context, int input_pipeline_count, int replica_count, struct err *e);
void distributed_destroy(struct distributed *d);        /* NULL does nothing */

struct distributed_iterator;

/* `d` must outlive it */
struct distributed_iterator *distributed_iterate(const struct distributed *d, int64_t pass,
                                                 struct err *e);
void distributed_iterator_destroy(struct distributed_iterator *it);
/* As data_iterator_next for all replicas: 0 as soon as one of them has no element left. */
int distributed_next(struct distributed_iterator *it, struct data_element **replica,
                     struct err *e);
/* as data_iterator_save and dataset_resume */
int distributed_save(struct distributed_iterator *it, struct bytes *to, struct err *e);
struct distributed_iterator *distributed_resume(const struct distributed *d, const void *state,
                                                size_t bytes, struct err *e);
#endif
