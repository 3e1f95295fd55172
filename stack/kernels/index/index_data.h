/*
 * Indices for runs without data (timing mode, benches): how rows of a table
 * are asked for decides which rows of the HBM are open.
 */
#ifndef STACK_INDEX_DATA_H
#define STACK_INDEX_DATA_H
#include "base/err.h"

#include <stdint.h>

enum index_kind {
    INDEX_UNIFORM,                      /* every row as often as any other */
    INDEX_ZIPF,                         /* row k of a shuffled order as 1 / (k + 1): words, items */
    INDEX_PAGES,                        /* each once before any comes again, neighbours far apart */
    INDEX_FILE                          /* decimal numbers in a text file, again from its start */
};

struct index_data { enum index_kind kind; const char *path; };

/* "uniform", "zipf" or the path of a file */
void index_data_parse(struct index_data *d, const char *text);

/* `count` numbers in 0..end - 1, the same for a seed; -1: no such file, or it holds others */
int index_data_fill(const struct index_data *d, int64_t end, uint64_t seed, int32_t *to,
                    int64_t count, struct err *e);
#endif
