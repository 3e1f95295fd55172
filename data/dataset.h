/*
 * Input pipelines, after tf.data: a dataset is a chain of stages that nobody changes, an iterator
 * pulls elements through it. docs/data.md has the table of stages.
 *
 *     struct dataset *d = dataset_range(0, 1000, 1, e);
 *     d = dataset_shuffle(d, 100, 1, true, e);
 *     d = dataset_batch(d, 32, true, e);
 *     struct data_iterator *it = dataset_iterate(d, 0, e);
 *     while ((status = data_iterator_next(it, &x, e)) > 0) { ...; element_release(x); }
 *
 * Ownership: a stage takes over the caller's hold on its input (dataset_retain keeps another).
 * Every maker returns NULL with a message when its arguments cannot be; given a NULL input it
 * returns NULL and leaves the first message, so that a chain needs one check at its end.
 *
 * The same chain gives the same elements in the same order, for any number of threads. What is
 * random depends on the stage's seed and on the pass: the number given to dataset_iterate, which
 * dataset_repeat counts on. Pass p of repeat(d, n) is passes p n .. p n + n - 1 of d.
 */
#ifndef DATA_DATASET_H
#define DATA_DATASET_H
#include "data/element.h"

struct dataset;
struct data_iterator;

#define DATA_INFINITE (-1)              /* cardinality: it never ends */
#define DATA_UNKNOWN (-2)               /* only a pass tells */

struct dataset *dataset_retain(struct dataset *d);
void dataset_release(struct dataset *d);                /* NULL does nothing */

/* elements of a pass, or one of the above */
int64_t dataset_cardinality(const struct dataset *d);
int dataset_tensor_count(const struct dataset *d);
const struct data_spec *dataset_spec(const struct dataset *d);  /* one per tensor */
/* "range(0, 1000, 1) | shuffle(100, seed 1) | batch(32)"; the dataset's */
const char *dataset_describe(const struct dataset *d);

/* ---- iterators: one thread at a time -------------------------------------- */

/* Before the first element of pass `pass` (0 or more); holds the dataset. */
struct data_iterator *dataset_iterate(struct dataset *d, int64_t pass, struct err *e);
void data_iterator_destroy(struct data_iterator *it);   /* at any point; NULL does nothing */

/* 1: *x is the next element, for the caller to release; 0: the end; -1, then for good: *e */
int data_iterator_next(struct data_iterator *it, struct data_element **x, struct err *e);
/* Passes over up to n elements without making what can be left out; how many, or -1. */
int64_t data_iterator_skip(struct data_iterator *it, int64_t n, struct err *e);

/*
 * Appends the iterator's position to `to`: a few numbers per stage, no elements but those that
 * opened the parts of an interleave. An iterator that has failed cannot be saved.
 */
int data_iterator_save(struct data_iterator *it, struct bytes *to, struct err *e);
/*
 * An iterator that goes on exactly where the saved one stood. `d` must describe itself as the
 * dataset it was saved from, and its files, callbacks and arrays must be the same. -1 (NULL):
 * another pipeline, damaged bytes.
 */
struct data_iterator *dataset_resume(struct dataset *d, const void *state, size_t bytes,
                                     struct err *e);

/* ---- sources ---------------------------------------------------------------- */

/* Element i is slice i along dimension 0 of every array, of which it keeps copies. */
struct dataset *dataset_from_memory(const struct data_tensor *array, int count, struct err *e);
/* s32 scalars first, first + step, ... before `end`; step not 0 */
struct dataset *dataset_range(int64_t first, int64_t end, int64_t step, struct err *e);
/* string scalars, copied: paths for dataset_interleave */
struct dataset *dataset_from_strings(const char *const *string, int64_t count, struct err *e);

/* ---- stages ------------------------------------------------------------------- */

struct data_map {
    /* fills every tensor of `out` by element_put; in several threads at once if asked for */
    int (*apply)(void *context, const struct data_element *in, struct data_element *out,
                 struct err *e);
    void *context;
    void (*destroy)(void *context);     /* when the last holder is gone, or the map refused; NULL */
    int output_count;
    const struct data_spec *output;     /* copied; every element is checked against it */
    int thread_count;                   /* 0: in the thread that pulls; else that many of its own */
    const char *name;                   /* in descriptions; NULL: "map" */
};
struct dataset *dataset_map(struct dataset *in, const struct data_map *m, struct err *e);

/* 1 keeps an element, 0 drops it, -1 fails */
typedef int data_filter(void *context, const struct data_element *x, struct err *e);
struct dataset *dataset_filter(struct dataset *in, data_filter *keep, void *context,
                               struct err *e);

/*
 * Each element is drawn from a buffer of the next `buffer_size` ones of the input. With
 * `reshuffle` every pass has an order of its own.
 */
struct dataset *dataset_shuffle(struct dataset *in, int64_t buffer_size, uint64_t seed,
                                bool reshuffle, struct err *e);
/* `count` passes one after the other; DATA_INFINITE: without end */
struct dataset *dataset_repeat(struct dataset *in, int64_t count, struct err *e);
/* `size` elements side by side along a new dimension 0; they must have the same shapes */
struct dataset *dataset_batch(struct dataset *in, int64_t size, bool drop_remainder,
                              struct err *e);
/* the same for shapes that differ: 0 and "" fill every tensor up to the batch's largest */
struct dataset *dataset_padded_batch(struct dataset *in, int64_t size, bool drop_remainder,
                                     struct err *e);
/* the slices along dimension 0 of every element, one by one */
struct dataset *dataset_unbatch(struct dataset *in, struct err *e);
struct dataset *dataset_take(struct dataset *in, int64_t count, struct err *e);
struct dataset *dataset_skip(struct dataset *in, int64_t count, struct err *e);
/*
 * The first part and the rest, for training and validation: the first one has `share` (0..1) of
 * the elements, rounded down. Takes over `in`, whose cardinality must be known.
 */
int dataset_split(struct dataset *in, double share, struct dataset *part[2], struct err *e);
/* elements index, index + count, ... */
struct dataset *dataset_shard(struct dataset *in, int64_t count, int64_t index, struct err *e);
/* (s32 number, ...) */
struct dataset *dataset_enumerate(struct dataset *in, int64_t first, struct err *e);
/* tuples side by side; ends with the first that ends. Takes over all `count` inputs. */
struct dataset *dataset_zip(struct dataset *const *in, int count, struct err *e);
/* one behind the other; of the same specs, sizes may differ */
struct dataset *dataset_concatenate(struct dataset *a, struct dataset *b, struct err *e);
/*
 * Keeps what the first whole pass gives in memory, for all later passes and iterators: the
 * input's pass 0, so a shuffle belongs behind it.
 */
struct dataset *dataset_cache(struct dataset *in, struct err *e);
/*
 * The same in a file, which appears when a pass is whole and serves other processes, too. It knows
 * the chain that filled it; another one is refused.
 */
struct dataset *dataset_cache_file(struct dataset *in, const char *path, struct err *e);
/* A thread of the iterator's own keeps up to `count` elements ready. */
struct dataset *dataset_prefetch(struct dataset *in, int64_t count, struct err *e);

struct data_interleave {
    /* the elements of `x`, for the caller to release; NULL with a message */
    struct dataset *(*open)(void *context, const struct data_element *x, struct err *e);
    void *context;
    int output_count;
    const struct data_spec *output;     /* copied; every dataset's specs must fit */
    int64_t cycle_length;               /* so many are open at once */
    int64_t block_length;               /* elements of one before the next takes its turn */
};
struct dataset *dataset_interleave(struct dataset *in, const struct data_interleave *i,
                                   struct err *e);

/* ---- conversions -------------------------------------------------------------- */

/* tensor i of u8, s32 or f32 becomes f32: its value / divisor */
struct dataset *dataset_to_f32(struct dataset *in, int i, float divisor, struct err *e);
/* tensor i of u8 becomes s32 */
struct dataset *dataset_to_s32(struct dataset *in, int i, struct err *e);
#endif
