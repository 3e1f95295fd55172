/*
 * NumPy array files, format versions 1 to 3.
 *
 * Arrays are looked at as they lie in the file, of either byte order, in C's or Fortran's order.
 * npy_take makes of them what its caller works with: little-endian, in C order, of its type.
 */
#ifndef DATA_NPY_H
#define DATA_NPY_H
#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define NPY_RANK_MAX 64                 /* as NumPy has them */

struct npy_array {
    char type[4];                       /* "f2", "f4", "f8", "i1" to "i8", "u1" to "u8", "b1", */
                                        /* "c8", "c16": pairs of f4 or f8, little-endian only */
    int elem_bytes, rank;
    bool is_big_endian, is_fortran;     /* where they lie so; npy_take makes them false */
    int64_t side[NPY_RANK_MAX];
    const void *data;                   /* in the bytes given to npy_parse_array */
};

/* the same for the commands that take matrices: f32 or s32 of up to two dimensions */
struct npy {
    bool is_f32;
    int rank;                           /* 0..2 */
    int64_t rows, columns;              /* 1 where absent */
    const void *data;                   /* in the bytes given to npy_parse, or the arena */
};

bool npy_is(const uint8_t *bytes, size_t size);
/* floats become f32, integers s32 */
int npy_parse(const uint8_t *bytes, size_t size, const char *file, struct arena *a,
              struct npy *out, struct err *e);
int npy_parse_array(const uint8_t *bytes, size_t size, const char *file, struct npy_array *out,
                    struct err *e);
/*
 * Makes *array one of `type`, which is "f4", an integer's or its own: in arena `a` where it is
 * another, which a line on standard error says. -1: a float for an integer or the other way round;
 * a value that `type` does not have (which one is told). f64 is rounded.
 */
int npy_take(struct npy_array *array, const char *type, const char *file, struct arena *a,
             struct err *e);
/* a 2-D array of f32; the file appears complete or not at all */
int npy_write(const char *path, const float *data, int64_t rows, int64_t columns, struct err *e);
/* all in front of the elements, which the caller writes; `data` is not looked at */
void npy_write_header(FILE *f, const struct npy_array *array);
int npy_write_array(const char *path, const struct npy_array *array, struct err *e);
#endif
