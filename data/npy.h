/*
 * Reads and writes NumPy array files, format versions 1 to 3, of little-endian elements in C
 * order.
 */
#ifndef DATA_NPY_H
#define DATA_NPY_H
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define NPY_RANK_MAX 8

struct npy_array {
    char type[4];                       /* "f4", "i4", "u4", "f2", "i2", "u2", "i1", "u1", "b1" */
    int elem_bytes, rank;
    int64_t side[NPY_RANK_MAX];
    const void *data;                   /* in the bytes given to npy_parse_array */
};

/* the same for the commands that take matrices: f32 and s32 of up to two dimensions */
struct npy {
    int rank;                           /* 0..2 */
    int64_t rows, columns;              /* 1 where absent */
    const void *data;                   /* in the bytes given to npy_parse */
};

bool npy_is(const uint8_t *bytes, size_t size);
int npy_parse(const uint8_t *bytes, size_t size, const char *file, struct npy *out,
              struct err *e);
int npy_parse_array(const uint8_t *bytes, size_t size, const char *file, struct npy_array *out,
                    struct err *e);
/* a 2-D array of f32; the file appears complete or not at all */
int npy_write(const char *path, const float *data, int64_t rows, int64_t columns, struct err *e);
/* all in front of the elements, which the caller writes; `data` is not looked at */
void npy_write_header(FILE *f, const struct npy_array *array);
int npy_write_array(const char *path, const struct npy_array *array, struct err *e);
#endif
