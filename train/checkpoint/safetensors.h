/*
 * Files of named tensors in the safetensors format: 8 bytes with the size of the header, the
 * header in JSON, the tensors' elements one behind the other, little-endian, row-major.
 *
 * Only the header is kept in memory; elements are read and written in parts of any size.
 */
#ifndef TRAIN_SAFETENSORS_H
#define TRAIN_SAFETENSORS_H
#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SAFETENSORS_RANK_MAX 64         /* dimensions, as many as NumPy's arrays may have */
#define SAFETENSORS_HEADER_MAX 100000000        /* bytes, as the format's own library has it */

enum safetensors_dtype {
    ST_F64, ST_F32, ST_F16, ST_BF16, ST_F8_E5M2, ST_F8_E4M3, ST_I64, ST_I32, ST_I16, ST_I8,
    ST_U64, ST_U32, ST_U16, ST_U8, ST_BOOL,
    ST_C64,                             /* real and imaginary part as F32 */
    ST_DTYPE_COUNT
};
const char *safetensors_dtype_name(enum safetensors_dtype t);   /* "F32", "BF16", ... */

struct safetensor {
    const char *name;
    enum safetensors_dtype dtype;
    int rank;
    int64_t dim[SAFETENSORS_RANK_MAX];
    int64_t begin, end;                 /* bytes of the data; when writing, set by it */
};

/* "F32[3,4]"; returns buf */
char *safetensor_print(const struct safetensor *t, char *buf, size_t buf_bytes);
int64_t safetensor_bytes(const struct safetensor *t);

struct safetensors_pair {
    const char *key, *value;
};

/* ---- reading ---- */

struct safetensors {
    struct arena arena;                 /* holds names and lists */
    char *path;
    FILE *from;
    int64_t data_offset, data_bytes;    /* of the file */
    struct safetensor *tensor;          /* in the order of their data */
    int tensor_count;
    struct safetensors_pair *pair;      /* "__metadata__" */
    int pair_count;
};

/* a regular file to read from, or NULL with a message */
FILE *safetensors_file(const char *path, struct err *e);
/*
 * Reads and checks the header: tensors must cover the data without a gap or an overlap, each with
 * just the bytes its type and shape need. -1: *e names the tensor and the offset. The open file
 * is closed by safetensors_close, or here on failure; `path` is for messages.
 */
int safetensors_of(struct safetensors *s, FILE *from, const char *path, struct err *e);
void safetensors_close(struct safetensors *s);

/* number of a tensor, or -1 with a message that names the nearest */
int safetensors_find(const struct safetensors *s, const char *name, struct err *e);
const char *safetensors_value(const struct safetensors *s, const char *key);    /* NULL: none */
/* bytes first .. first + bytes - 1 of tensor i, which has them (asserted) */
int safetensors_read(const struct safetensors *s, int i, int64_t first, void *to, int64_t bytes,
                     struct err *e);

/* ---- writing ---- */

/*
 * Lays the tensors out behind each other in the order given and writes the header, padded with
 * blanks to a multiple of 8 bytes; the elements, sum of safetensor_bytes of them, are the
 * caller's to write behind it. What `to` could not take is left for ferror. Where in the file
 * the value of pair p begins is value_offset[p] (may be NULL): to be filled in later, in place.
 * The size of the header, all of it; -1: a name twice or empty, a header too large.
 */
int64_t safetensors_write_header(FILE *to, struct safetensor *tensor, int tensor_count,
                                 const struct safetensors_pair *pair, int pair_count,
                                 int64_t *value_offset, struct err *e);
#endif
