/*
 * What a pipeline carries: an element is a tuple of tensors.
 *
 * Tensors are dense and row-major: f32, s32, u8, or strings of bytes. Elements are counted by
 * their holders, and nobody changes one that another may hold; any thread may read and release.
 */
#ifndef DATA_ELEMENT_H
#define DATA_ELEMENT_H
#include "base/archive.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DATA_RANK_MAX 8
#define DATA_TUPLE_MAX 64               /* tensors of one element */
#define DATA_ANY_SIZE (-1)              /* of a dimension: differs from element to element */
#define DATA_TENSOR_ELEMS_MAX ((int64_t)1 << 40)

enum data_dtype { DATA_F32, DATA_S32, DATA_U8, DATA_STRING, DATA_DTYPE_COUNT };

struct data_spec {
    enum data_dtype dtype;
    int rank;
    int64_t dim[DATA_RANK_MAX];         /* in a tensor never DATA_ANY_SIZE */
};

struct data_string {
    const char *byte;                   /* `size` of them, then a NUL that does not count */
    int64_t size;
};

struct data_tensor {
    struct data_spec spec;
    void *data;                         /* of data_spec_elems; strings: struct data_string */
};

struct data_element {
    int tensor_count;
    struct data_tensor *tensor;
};

/* 4, 4, 1; of a string that of its struct data_string */
size_t data_dtype_bytes(enum data_dtype t);
const char *data_dtype_name(enum data_dtype t);         /* "f32", "s32", "u8", "string" */

/* `rank` sizes follow, each as int64_t */
struct data_spec data_spec_of(enum data_dtype dtype, int rank, const int64_t *dim);
bool data_spec_is_equal(const struct data_spec *a, const struct data_spec *b);
/* whether every tensor that `is` describes is one that `as` describes */
bool data_spec_fits(const struct data_spec *is, const struct data_spec *as);
int64_t data_spec_elems(const struct data_spec *s);     /* all sizes known (asserted) */
/* "f32[?,28,28]"; returns buf */
char *data_spec_print(const struct data_spec *s, char *buf, size_t buf_bytes);
/* the same of a tuple: "(u8[28,28], s32[])" */
char *data_specs_print(const struct data_spec *s, int count, char *buf, size_t buf_bytes);

/* A tuple of so many tensors, none of them there yet; the caller holds it. */
struct data_element *element_new(int tensor_count);
struct data_element *element_retain(struct data_element *x);
void element_release(struct data_element *x);           /* NULL does nothing */

/* Makes tensor i, zeroed, empty strings; the element's. All sizes known; once per tensor. */
void *element_put(struct data_element *x, int i, const struct data_spec *s);
/* A copy of the bytes becomes string `index` of tensor i, which element_put has made. */
void element_put_string(struct data_element *x, int i, int64_t index, const void *byte,
                        int64_t size);
/* A copy of t becomes tensor i. */
void element_put_tensor(struct data_element *x, int i, const struct data_tensor *t);
/* A copy of elements first.. of `from` becomes elements to.. of tensor i: of one dtype. */
void element_copy_part(struct data_element *x, int i, int64_t to, const struct data_tensor *from,
                       int64_t first, int64_t count);

/*
 * Where an element came from, for messages: the map of an element that says so names file, record
 * and byte when it fails. `path` is copied.
 */
void element_set_origin(struct data_element *x, const char *path, int64_t record, int64_t offset);
/* Puts the origin of x, if it has one, in front of a message that names no file; -1. */
int element_blame(const struct data_element *x, struct err *e);
void element_copy_origin(struct data_element *x, const struct data_element *from);

/* Saves *x, or makes it: NULL when a->is_failed after loading. */
void element_archive(struct archive *a, struct data_element **x);
#endif
