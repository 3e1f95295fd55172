/*
 * Carries a kernel out on the host, slowly and obviously: the reference for values.
 *
 * The grid runs step by step, in order. A window's block is copied in when its index changes and
 * written back when it changes again, and at the end; what overhangs the array is not a number going
 * in and dropped going out. A DMA copies at once, when it is started, and raises its semaphore by
 * the bytes; who waits for more than there is waits for ever, which is a mistake with its line.
 * Memory that nobody has written holds NaN, of integers their smallest value.
 *
 * Products of f32 at default precision are those of bf16 operands with f32 sums, as the matrix
 * units make them. Here are no times, and no order of sums that a core would have.
 *
 * Elements are words: a float of any width as the f32 that it is, an integer as its value.
 */
#ifndef STACK_MOSAIC_RUN_H
#define STACK_MOSAIC_RUN_H
#include "stack/mosaic/mosaic.h"
#include "stack/mosaic/watch.h"

struct mosaic_run_settings {
    const int32_t *bound;               /* dynamic_count bounds of the grid */
    int device, device_count;           /* device_count 0: one */
    int64_t most_operations;            /* 0: as many as it takes */
    FILE *log;                          /* of pl.debug_print; NULL: left out */
    struct mosaic_watch *watch;         /* stack/mosaic/watch.h: finds what must not be; NULL */
};

/* An array of 8-bit floats outside of kernels has their codes: the word of one, and back. Of other
 * elements they are the same. */
uint32_t mosaic_word_of_code(enum mosaic_element e, uint32_t code);
uint32_t mosaic_code_of_word(enum mosaic_element e, uint32_t word);

/* one operation on floats, not rounded to a narrower type; NaN for one of another kind */
float mosaic_float(enum mosaic_code c, float a, float b);

/*
 * array: of each of k->array a dense block of words; the last output_count are written. -1 with
 * the kernel, its line and the step of the grid.
 */
int mosaic_run(const struct mosaic_kernel *k, uint32_t *const *array,
               const struct mosaic_run_settings *s, struct err *e);
/*
 * The same on several devices that reach each other, s and array by device: they take turns, each
 * going on until it waits for what is not there yet.
 */
int mosaic_run_team(const struct mosaic_kernel *k, int count, uint32_t *const *const *array,
                    const struct mosaic_run_settings *s, struct err *e);
#endif
