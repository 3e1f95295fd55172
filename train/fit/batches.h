/*
 * Where a training loop takes its batches from.
 *
 * A source gives samples side by side, batch by batch, in an order that depends on the epoch
 * alone, so that a run can be resumed. Tensors are the model's inputs, then the labels, then
 * weights of samples (f32) where the source has them: dense elements of 4 bytes.
 */
#ifndef TRAIN_BATCHES_H
#define TRAIN_BATCHES_H
#include "base/arena.h"
#include "data/dataset.h"
#include "data/images.h"

struct batches {
    int tensor_count;
    int64_t samples;                    /* of an epoch; -1: only a pass tells */
    bool has_weights;
    /* before the first batch of an epoch (0 is the first one) */
    int (*begin)(void *context, int64_t epoch, struct err *e);
    /*
     * The next `count` samples, or as many as are left, to tensor[i], which has room for
     * elems[i] elements of each. How many; 0: the epoch is over; -1 with *e set.
     */
    int64_t (*next)(void *context, int64_t count, void *const *tensor, const int64_t *elems,
                    struct err *e);
    void (*close)(void *context);       /* at the end of all; NULL: nothing to do */
    void *context;
};
void batches_close(struct batches *b);

/*
 * Images (f32, 0..1) and labels (s32), every epoch in an order of its own if they are shuffled.
 * `set` must outlive it, `a` holds the rest.
 */
void batches_of_images(struct batches *b, const struct image_set *set, bool is_shuffled,
                       uint64_t seed, struct arena *a);

/* Arrays that the caller keeps: tensor i is [samples, elems[i]] */
void batches_of_arrays(struct batches *b, const void *const *tensor, const int64_t *elems,
                       int tensor_count, int64_t samples, bool has_weights, bool is_shuffled,
                       uint64_t seed, struct arena *a);

struct batches_dataset {
    bool has_weights;
    /* samples of an epoch at most; 0: a whole pass */
    int64_t most;
    /*
     * An epoch goes on where the one before ended, `most` samples further (which must be given):
     * for datasets without end. Epoch e then begins at sample e x most of pass 0, also where the
     * epochs before it were not asked for. Else epoch e is pass e.
     */
    bool goes_on;
};
/*
 * Elements of a dataset: tuples of f32 and s32 tensors whose first dimension is the batch, as
 * dataset_batch makes them; how many samples an element has does not matter. -1: a tensor of
 * another type or of unknown shape. The dataset must outlive it.
 */
int batches_of_dataset(struct batches *b, struct dataset *d, const struct batches_dataset *o,
                       struct arena *a, struct err *e);
#endif
