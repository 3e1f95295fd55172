/*
 * Arrays as callers of the interface have them: element type, dimensions, and where their elements
 * lie in the caller's memory, by strides in bytes. Here elements are dense and row-major, each of
 * hlo_element_bytes (import/program/program.h).
 */
#ifndef PJRT_ARRAY_H
#define PJRT_ARRAY_H
#include "import/program/program.h"
#include "pjrt/abi/abi.h"

#define PJRT_RANK_MAX 64

struct array_type {
    enum hlo_element element;
    int rank;
    int64_t *dim;
};

/* ELEMENT_COUNT: programs have no such type */
enum hlo_element element_of(enum PJRT_Buffer_Type type);
enum PJRT_Buffer_Type element_type(enum hlo_element e);

int64_t array_type_elements(const struct array_type *t);
/* of its elements here; -1: more than a process can have */
int64_t array_type_bytes(const struct array_type *t);
/* in the memory of a device, in tiles, as the compiler lays it out */
int64_t array_type_device_bytes(const struct array_type *t);

/* strides of dense elements, dimensions in the order minor_to_major; NULL: row-major */
void array_dense_strides(const struct array_type *t, const int64_t *minor_to_major,
                         int64_t *byte_stride);
/* strides that a layout of the interface says; gives what is wrong with it, NULL: nothing */
const char *array_layout_strides(const struct array_type *t,
                                 const struct PJRT_Buffer_MemoryLayout *layout,
                                 int64_t *byte_stride);
bool array_is_dense(const struct array_type *t, const int64_t *byte_stride);

/* all elements, from strides to strides */
void array_copy(const struct array_type *t, const void *from, const int64_t *from_stride, void *to,
                const int64_t *to_stride);
#endif
