/* Turns text into numbers for language models, and makes windows over them. */
#ifndef DATA_CHARACTERS_H
#define DATA_CHARACTERS_H
#include "data/dataset.h"

/* the bytes that occur in a text, in ascending order: their place is their number */
struct vocabulary {
    int count;
    unsigned char byte[256];
    int number[256];                    /* -1: does not occur */
};

void vocabulary_of(struct vocabulary *v, const void *text, int64_t bytes);
/* -1 names the first byte that does not occur in the vocabulary, and its offset */
int vocabulary_encode(const struct vocabulary *v, const void *text, int64_t bytes, int32_t *to,
                      struct err *e);
/* numbers outside the vocabulary become '?' */
void vocabulary_decode(const struct vocabulary *v, const int32_t *number, int64_t count,
                       char *to);

/* All of a file, plain or gzip, for the caller to mem_free; a NUL behind it does not count. */
char *characters_load(const char *path, int64_t *bytes, struct err *e);

/*
 * Elements (s32[length], s32[length]): numbers first .. first + length - 1 of `number`, and those
 * one behind each, which a model is to foretell. `number` is copied.
 *
 * Every `stride`-th number begins a window, as long as all of it and the one behind it are there.
 */
struct dataset *dataset_windows(const int32_t *number, int64_t count, int64_t length,
                                int64_t stride, struct err *e);
/*
 * `windows` of them in a pass, each begun anywhere: window k of pass p depends on seed, p and k
 * alone. Samples of a pass may overlap; what a shuffle of all windows would need much memory for.
 */
struct dataset *dataset_random_windows(const int32_t *number, int64_t count, int64_t length,
                                       int64_t windows, uint64_t seed, struct err *e);
#endif
