/* Of include/systole.h: pipelines of samples, batches for replicas, files of samples. */
#ifndef SYSTOLE_DATA_H
#define SYSTOLE_DATA_H
#include <stdbool.h>
#include <stdint.h>
#include "status.h"
#include "strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ----- Datasets ----- */

typedef struct sy_dataset sy_dataset;
typedef struct sy_iterator sy_iterator;
/* A tuple of tensors: f32, s32, bytes (SY_U8) or strings. */
typedef struct sy_element sy_element;

#define SY_STRING ((sy_dtype)100)       /* of datasets only: sy_string per element */
#define SY_ANY_SIZE (-1)                /* of a dimension in a sy_column: differs */
#define SY_FOREVER (-1)                 /* of sy_dataset_repeat */

typedef struct sy_string {
    const char *byte;                   /* `size` of them, then a NUL that does not count */
    int64_t size;
} sy_string;

/* A tensor of every element, or an array whose slices along dimension 0 are the elements. */
typedef struct sy_column {
    sy_dtype dtype;
    sy_shape shape;
    const void *data;                   /* of arrays */
} sy_column;

/*
 * Sources. A dataset is a list of stages, after tf.data; the stages below are added to it. The
 * same list gives the same elements in the same order, whatever threads do.
 */
sy_status sy_dataset_from_arrays(const sy_column *array, int count, sy_dataset **out);  /* copied */
sy_status sy_dataset_range(int64_t first, int64_t end, int64_t step, sy_dataset **out); /* s32 */
/* IDX and .npy files, side by side, gzip or not: slices along dimension 0 */
sy_status sy_dataset_from_idx(const char *const *path, int count, sy_dataset **out);
sy_status sy_dataset_from_npy(const char *const *path, int count, sy_dataset **out);
/* Strings, one per record. Damage is named by file, record and byte. */
sy_status sy_dataset_from_tfrecords(const char *const *path, int count, sy_dataset **out);
sy_status sy_dataset_from_lines(const char *const *path, int count, sy_dataset **out);
sy_status sy_dataset_from_fixed_records(const char *const *path, int count, int64_t header_bytes,
                                        int64_t record_bytes, int64_t footer_bytes,
                                        sy_dataset **out);
/* files whose names match a pattern, sorted: strings */
sy_status sy_dataset_list_files(const char *pattern, sy_dataset **out);
sy_status sy_dataset_from_strings(const char *const *string, int64_t count, sy_dataset **out);
/* rows of a CSV file with a heading: a scalar, SY_F32, SY_S32 or SY_STRING, for each column */
typedef struct sy_csv_column {
    const char *name;
    sy_dtype dtype;
} sy_csv_column;
sy_status sy_dataset_from_csv(const char *path, const sy_csv_column *column, int count,
                              sy_dataset **out);
/* another handle of the same stages so far */
sy_status sy_dataset_copy(const sy_dataset *d, sy_dataset **out);
void sy_dataset_free(sy_dataset *d);

/* "range(0, 1000, 1) | shuffle(100, seed 1) | batch(32)" */
const char *sy_dataset_describe(const sy_dataset *d);
/* elements of a pass; -1: no end; -2: only a pass tells */
int64_t sy_dataset_cardinality(const sy_dataset *d);

/* Stages; after an error the dataset is as before. */
sy_status sy_dataset_shuffle(sy_dataset *d, int64_t buffer, uint64_t seed, bool reshuffle);
sy_status sy_dataset_repeat(sy_dataset *d, int64_t count);
sy_status sy_dataset_batch(sy_dataset *d, int64_t size, bool drop_remainder);
sy_status sy_dataset_padded_batch(sy_dataset *d, int64_t size, bool drop_remainder);
sy_status sy_dataset_unbatch(sy_dataset *d);
sy_status sy_dataset_take(sy_dataset *d, int64_t count);
sy_status sy_dataset_skip(sy_dataset *d, int64_t count);
sy_status sy_dataset_shard(sy_dataset *d, int64_t count, int64_t index);
sy_status sy_dataset_enumerate(sy_dataset *d, int64_t first);
sy_status sy_dataset_cache(sy_dataset *d);                      /* in memory */
/* in a file, which appears when a pass is whole; that of other stages is refused */
sy_status sy_dataset_cache_file(sy_dataset *d, const char *path);
/* the first `share` (0..1) of the elements stays in d, the rest is *rest: validation data */
sy_status sy_dataset_split(sy_dataset *d, double share, sy_dataset **rest);
sy_status sy_dataset_prefetch(sy_dataset *d, int64_t count);    /* on a thread of its own */
/* tuples of both side by side; both one behind the other */
sy_status sy_dataset_zip(sy_dataset *d, const sy_dataset *other);
sy_status sy_dataset_concatenate(sy_dataset *d, const sy_dataset *other);
/* tensor i becomes f32, divided by something; bytes become s32 */
sy_status sy_dataset_to_f32(sy_dataset *d, int i, float divisor);
sy_status sy_dataset_to_s32(sy_dataset *d, int i);

/* Writes the new element `out` from `in` by sy_element_put; several threads at once may call it. */
typedef sy_status (*sy_map)(void *user, const sy_element *in, sy_element *out);
sy_status sy_dataset_map(sy_dataset *d, sy_map map, void *user, const sy_column *output, int count,
                         int threads);
/* SY_OK keeps an element, SY_END drops it */
typedef sy_status (*sy_filter)(void *user, const sy_element *in);
sy_status sy_dataset_filter(sy_dataset *d, sy_filter filter, void *user);
/* a dataset for each element, `cycle` of them open at once, `block` elements from each in turn */
typedef sy_status (*sy_open)(void *user, const sy_element *in, sy_dataset **out);
sy_status sy_dataset_interleave(sy_dataset *d, sy_open open, void *user, const sy_column *output,
                                int count, int64_t cycle, int64_t block);

/* Features of tf.train.Example records: float lists as f32, integers as s32, bytes as strings
   or, of one value, as SY_U8. A vector of SY_ANY_SIZE takes lists of any length. */
typedef struct sy_feature {
    const char *name;
    sy_dtype dtype;
    sy_shape shape;
} sy_feature;
sy_status sy_dataset_parse_examples(sy_dataset *d, const sy_feature *feature, int count,
                                    int threads);

/* Passes: pass 0 is the first; shuffles give each an order of its own */
sy_status sy_dataset_iterate(sy_dataset *d, int64_t pass, sy_iterator **out);
sy_status sy_iterator_next(sy_iterator *it, sy_element **out);  /* SY_END at the end */
void sy_iterator_free(sy_iterator *it);

void sy_element_free(sy_element *x);
int sy_element_count(const sy_element *x);
sy_dtype sy_element_dtype(const sy_element *x, int i);
sy_shape sy_element_shape(const sy_element *x, int i);
const void *sy_element_data(const sy_element *x, int i);
/* makes tensor i, zeroed, for a sy_map to fill; NULL after a mistake */
void *sy_element_put(sy_element *x, int i, sy_dtype dtype, sy_shape shape);
/* a copy of bytes becomes string `index` of tensor i, which sy_element_put has made */
sy_status sy_element_put_string(sy_element *x, int i, int64_t index, const void *byte,
                                int64_t size);

/* Global batches, each cut into a part per replica; batches that a function makes per host. */
typedef struct sy_input_context {
    int pipelines, pipeline;            /* how many hosts there are, and which this is */
    int replicas;                       /* in sync, of all hosts */
} sy_input_context;
typedef sy_status (*sy_make_dataset)(void *user, const sy_input_context *c, sy_dataset **out);
typedef struct sy_distributed sy_distributed;

sy_status sy_strategy_distribute(sy_strategy *s, const sy_dataset *d, sy_distributed **out);
sy_status sy_strategy_distribute_from_function(sy_strategy *s, sy_make_dataset make, void *user,
                                               sy_distributed **out);
void sy_distributed_free(sy_distributed *d);
/* from the first batch of a pass; as the first call of sy_distributed_next does with pass 0 */
sy_status sy_distributed_start(sy_distributed *d, int64_t pass);
/* a value per tensor, to be freed by the caller; SY_END at the end */
sy_status sy_distributed_next(sy_distributed *d, sy_value **out, int count);

/*
 * The next `steps` batches in one value per tensor, [steps, samples, ...] for each replica, as
 * sy_strategy_run_steps takes them. *got (NULL: not asked for) is how many there were, fewer at the
 * end of a pass; SY_END: none. SY_ERROR: batches of different sizes (the dataset's batch drops no
 * remainder).
 */
sy_status sy_distributed_next_steps(sy_distributed *d, int steps, sy_value **out, int count,
                                    int *got);

/* TFRecord files and tf.train.Example records, written; a file appears whole or not at all. */
typedef struct sy_record_writer sy_record_writer;
typedef struct sy_example sy_example;

sy_status sy_record_writer_open(const char *path, sy_record_writer **out);
sy_status sy_record_writer_write(sy_record_writer *w, const void *record, int64_t bytes);
sy_status sy_record_writer_write_example(sy_record_writer *w, const sy_example *x);
sy_status sy_record_writer_close(sy_record_writer *w);  /* and frees it; until then no file */
sy_example *sy_example_new(void);
void sy_example_free(sy_example *x);
sy_status sy_example_add_floats(sy_example *x, const char *name, const float *v, int64_t count);
sy_status sy_example_add_ints(sy_example *x, const char *name, const int64_t *v, int64_t count);
sy_status sy_example_add_bytes(sy_example *x, const char *name, const void *byte, int64_t size);

/* All of an IDX or .npy file as one array; SY_U8 is one byte an element. */
sy_status sy_read_array(const char *path, sy_array **out);
sy_status sy_write_npy(const char *path, sy_dtype dtype, sy_shape shape, const void *data);

#ifdef __cplusplus
}
#endif
#endif
