/*
 * Single tensors to and from .npy files, by the same callbacks as checkpoints.
 *
 * F32, F16, I32, U32, I16, U16, I8, U8 and BOOL as they are; BF16 goes out as f32, which is
 * exact, and comes in from f32, rounded to nearest even.
 */
#ifndef TRAIN_TENSOR_NPY_H
#define TRAIN_TENSOR_NPY_H
#include "train/checkpoint/checkpoint.h"

/* The file appears whole or not at all. -1: a type that .npy files are not written of here. */
int tensor_to_npy(const struct checkpoint_tensor *t, const char *path, struct err *e);
/* -1: another type or shape, with both in the message; then nothing has been written to t */
int tensor_from_npy(const struct checkpoint_tensor *t, const char *path, struct err *e);
#endif
