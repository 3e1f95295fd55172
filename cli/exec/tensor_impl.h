/* What the files about tensors share. */
#ifndef CLI_EXEC_TENSOR_IMPL_H
#define CLI_EXEC_TENSOR_IMPL_H
#include "cli/exec/tensor.h"

/* ELEMENT_COUNT: NumPy has the type, programs do not */
enum hlo_element exec_element_of_npy(const char *type);

/*
 * Takes `data` of type `stored` for the tensor, converted where the element types differ and are of
 * one kind. -1: other dimensions, another kind, an integer that the tensor's type does not have.
 */
int exec_take(struct exec_tensor *t, const struct hlo_type *stored, const void *data,
              const char *file, struct arena *a, struct err *e);

/* the type that a tensor of this type is written as in a file, when `known` says what it has */
enum hlo_element exec_file_element(enum hlo_element e, bool (*known)(enum hlo_element e));
/* a copy of the elements in that type */
void *exec_convert(const struct exec_tensor *t, enum hlo_element to, struct arena *a);
#endif
