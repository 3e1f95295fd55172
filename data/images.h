/* Loads or makes labelled images: IDX files (gzipped or not) or digits drawn by the program. */
#ifndef DATA_IMAGES_H
#define DATA_IMAGES_H
#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct image_set {
    int64_t count, elems;               /* samples; elements per sample */
    int rows, columns, classes;
    uint8_t *pixel;                     /* (count, elems), 0..255 */
    uint8_t *label;                     /* (count) */
    bool is_raw;                        /* samples are 0..255, else 0..1 */
};

/*
 * The four files of MNIST in folder `path`: {train,t10k}-{images-idx3,labels-idx1}-ubyte
 * with or without .gz. Magic, counts, sizes and label values are checked.
 */
int data_load_idx(struct image_set *train, struct image_set *test, const char *path,
                  struct arena *a, struct err *e);

/* 28x28 digits from strokes, jittered; the same for the same seed */
void data_make_digits(struct image_set *train, struct image_set *test, int64_t train_count,
                      int64_t test_count, uint64_t seed, struct arena *a);

/* a permutation of 0..count-1 for one epoch */
void data_shuffle(uint32_t *order, int64_t count, uint64_t seed, int epoch);

/* pixel / 255, or the pixel, as f32 for samples order[first..first+n) */
void data_batch(const struct image_set *d, const uint32_t *order, int64_t first, int64_t n,
                float *x, int32_t *labels);
#endif
