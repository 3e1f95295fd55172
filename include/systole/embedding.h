/* Of include/systole.h: tables of embeddings over all replicas. */
#ifndef SYSTOLE_EMBEDDING_H
#define SYSTOLE_EMBEDDING_H
#include <stdbool.h>
#include <stdint.h>
#include "status.h"
#include "step.h"
#include "strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ----- Embedding tables ----- */

/*
 * TableConfig. Its rows lie in even shares on all replicas: it may be larger than a core's HBM.
 * All logical devices of a replica have its rows.
 */
typedef struct sy_table {
    const char *name;                   /* its variable is "embedding/NAME" */
    int64_t vocabulary_size, dim;
    const char *combiner;               /* "mean" (or NULL), "sum", "sqrtn" */
    const char *initializer;            /* NULL: truncated normal, 1 / sqrt(dim) */
    const char *optimizer;              /* "Adagrad(0.1)", "Adam(1e-3)"; NULL: "SGD" */
    bool rows_in_order;                 /* on the devices; else id i is on device i mod n */
} sy_table;
/* FeatureConfig: so many ids of each sample, rows of a table. */
typedef struct sy_lookup {
    const char *name, *table;
    int64_t max_length;                 /* 0: 1 */
    bool is_sequence;                   /* rows as they are, not combined */
} sy_lookup;
/* Belongs to the strategy, which frees it. */
typedef struct sy_embedding sy_embedding;

/*
 * Adds variables for tables and slots. SY_ERROR: a name twice or unknown, an optimizer that is not
 * SGD, Adagrad or Adam, tables too large for all replicas together (with how many are needed).
 */
sy_status sy_embedding_create(sy_strategy *s, const sy_table *table, int table_count,
                              const sy_lookup *feature, int feature_count, sy_embedding **out);
/* ids [samples, max_length] on the host: SY_ERROR names the first that is no row; -1 is padding */
sy_status sy_embedding_check_ids(const sy_embedding *m, const char *feature, const int32_t *ids,
                                 int64_t samples);
/* the row of variable "embedding/TABLE" that has this id */
sy_status sy_embedding_row(const sy_embedding *m, const char *table, int64_t id, int64_t *row);
/*
 * In a step, each feature once: s32 ids [samples, max_length] of this replica, -1 is padding; f32
 * weights of the same shape or NULL. f32 [samples, dim], of a sequence [samples, max_length, dim].
 */
sy_tensor sy_embedding_lookup(sy_context *c, sy_embedding *m, const char *feature, sy_tensor ids,
                              const sy_tensor *weights);
/*
 * In a step, once, with derivatives of the replica's loss with respect to what was looked up
 * (sy_gradients): summed over replicas, given to each table's optimizer. Features that are not
 * named are not trained.
 */
sy_status sy_embedding_apply(sy_context *c, sy_embedding *m, const char *const *feature,
                             const sy_tensor *gradient, int count);

#ifdef __cplusplus
}
#endif
#endif
