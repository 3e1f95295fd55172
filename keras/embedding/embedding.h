/*
 * Embedding tables in parts over all replicas, as tf.tpu.experimental.embedding has them.
 *
 * A table's rows are divided evenly over the devices, so that it may be larger than one core's
 * HBM. Looking up: the ids of all replicas are gathered, each device reads those of its rows,
 * weighs and adds them, and a reduce-scatter gives each replica its samples' sums. Going back:
 * gradients of the sums are gathered, each device adds them up by row (scatter-add) and lets the
 * table's own optimizer change the rows that were asked for, and no others: also slots of other
 * rows stay. docs/embeddings.md.
 *
 * Ids are s32 [samples, max_length]; -1 and whatever else is no row of the table is padding.
 */
#ifndef KERAS_EMBEDDING_H
#define KERAS_EMBEDDING_H
#include "keras/optimizer/optimizer.h"

enum embedding_combiner {
    COMBINER_MEAN,                      /* sum of w row / sum of w */
    COMBINER_SUM, COMBINER_SQRTN        /* / sqrt(sum of w^2) */
};
enum embedding_rows {
    ROWS_MOD,                           /* id i is on device i mod n: often asked ones apart */
    ROWS_DIV                            /* the first rows on the first device */
};

struct embedding_table {                /* TableConfig */
    const char *name;
    int64_t vocabulary_size, dim;
    enum embedding_combiner combiner;
    enum embedding_rows rows;
    struct initializer initializer;     /* embedding_table_standard: truncated, 1 / sqrt(dim) */
    const char *optimizer;              /* "Adagrad(0.1)": SGD, Adagrad or Adam */
};
struct embedding_feature {              /* FeatureConfig */
    const char *name;
    int table;
    int64_t max_length;                 /* ids of a sample */
    bool is_sequence;                   /* rows as they are, [samples, max_length, dim] */
};

struct embedding {
    const struct embedding_table *table;        /* the caller's */
    const struct embedding_feature *feature;
    int table_count, feature_count, replica_count;
    struct variable_set *set;
    int *variable;                      /* by table: "embedding/NAME", rows filled up to divide */
    struct optimizer *optimizer;        /* by table */
    bool *moves_all;                    /* by table: its rule would change rows not asked for */
    int64_t device_bytes;               /* of HBM: tables, slots, gradients, tiles and all */
};

struct embedding_table embedding_table_standard(const char *name, int64_t vocabulary_size,
                                                int64_t dim);
/* "mean", "sum", "sqrtn"; -1 with the nearest name */
int embedding_combiner_find(const char *name, enum embedding_combiner *combiner, struct err *e);

/*
 * Adds the tables and their slots to `set`, which with both lists must outlive it. `hbm_bytes` of
 * each device; 0: not looked at. -1: numbers out of range, a name twice, a feature without table,
 * an optimizer that is none of the three or has options that go over whole tables, tables that
 * are too large for all devices together.
 */
int embedding_build(struct embedding *m, struct variable_set *set,
                    const struct embedding_table *table, int table_count,
                    const struct embedding_feature *feature, int feature_count,
                    int replica_count, int64_t hbm_bytes, struct err *e);
/* row of the table's variable, all parts one behind the other, that has this id */
int64_t embedding_row(const struct embedding *m, int table, int64_t id);
/* the host's look at ids before they go out: -1 names the first that is neither -1 nor a row */
int embedding_check_ids(const struct embedding *m, int feature, const int32_t *ids,
                        int64_t samples, struct err *e);

/* ----- in a step */

struct embedding_step {
    struct trace *trace;
    const struct embedding *m;
    struct embedding_looked {           /* by feature */
        int index;                      /* s32 [all ids]: row of this device, or behind the last */
        int weight;                     /* f32 [all samples, max_length], 0 of padding */
        int64_t samples;                /* of this replica; 0: not looked up */
        int out;                        /* what embedding_lookup gave */
    } *looked;
};
void embedding_begin(struct embedding_step *s, struct trace *t, const struct embedding *m);
/*
 * ids: node, s32 [samples, max_length] of this replica; weights: f32 likewise or NODE_NONE, which
 * is 1 each, and is what sequences take. f32 [samples, dim]: each feature once. A sample of
 * padding alone gets zeros.
 */
int embedding_lookup(struct embedding_step *s, int feature, int ids, int weights);
/*
 * gradient[feature]: of what embedding_lookup gave, of this replica's samples, not summed over
 * replicas. Assigns tables and slots.
 */
void embedding_apply(struct embedding_step *s, const int *gradient);
#endif
