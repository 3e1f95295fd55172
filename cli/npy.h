/*
 * NumPy array files, format versions 1 to 3, of little-endian f32 and s32 in C
 * order with up to two dimensions.
 */
#ifndef CLI_NPY_H
#define CLI_NPY_H
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct npy {
    int rank;                           /* 0..2 */
    int64_t rows, columns;              /* 1 where absent */
    const void *data;                   /* in the bytes given to npy_parse */
};

bool npy_is(const uint8_t *bytes, size_t size);
int npy_parse(const uint8_t *bytes, size_t size, const char *file, struct npy *out,
              struct err *e);
/* a 2-D array of f32; the file appears complete or not at all */
int npy_write(const char *path, const float *data, int64_t rows, int64_t columns, struct err *e);
#endif
