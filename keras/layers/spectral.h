/*
 * SpectralNormalization: in training a layer's kernel is taken by its largest singular value, which
 * a few steps of the power iteration find from a vector that is kept. No gradient goes through the
 * iteration. What the kernel is stays as it was (as Keras 3.15.1 trains on JAX).
 */
#ifndef KERAS_SPECTRAL_H
#define KERAS_SPECTRAL_H
#include "keras/layers/layer_impl.h"

#define SPECTRAL_VECTOR "vector_u"

/* the layers whose first variable is a kernel; not tables, whose rows Keras 3.15.1 then makes whole */
bool spectral_takes(enum layer_kind kind);
/* behind the layer's own variables */
void spectral_build(struct layer_build *b);
/* the kernel, f32, by its largest singular value; one that is all zeros as it is */
int spectral_kernel(struct layer_call *c, int kernel);
#endif
