/*
 * Windows over the steps of sequences and over images: what convolutions and pooling share.
 *
 * A sequence [steps, channels] is an image [steps, 1, channels] to all of them; only shapes of
 * samples and of kernels show the difference. A volume has its depth in front.
 */
#ifndef KERAS_LAYER_WINDOW_H
#define KERAS_LAYER_WINDOW_H
#include "keras/layers/layer_impl.h"

/* 1: its samples are sequences; 2: images; 3: volumes */
int layer_spatial_dims(enum layer_kind kind);
/* the same of the images that it makes of its samples: 2 or 3 */
int layer_image_dims(enum layer_kind kind);
/* a sample as an image; -1 unless it is a sequence or image, as the layer takes it */
int layer_image_shape(const struct layer *l, const struct shape *in, struct shape *image,
                      struct err *e);
/* an image's shape as that of the layer's samples */
void layer_sample_shape(const struct layer *l, struct shape *image);
/* the same of a node, which has the batch in front */
int layer_to_image(struct layer_call *c, int x);
int layer_from_image(struct layer_call *c, int x);

/* what a window of `size` elements, `dilation` apart, covers */
int64_t layer_reach(int64_t size, int64_t dilation);
/* the layer's windows over height and width; -1: one does not fit */
int layer_window_shape(const struct layer *l, const struct shape *image, const int64_t *strides,
                       struct shape *out, struct err *e);
/* along dimension `axis`, of this length */
struct graph_window layer_window(const struct layer_config *c, int axis, int64_t length);
/* NHWC by HWIO, or by HWOI if the kernel is transposed, in so many spatial dimensions */
struct graph_conv layer_conv_labels(int dims, bool is_transposed, int64_t groups);
/* the kernel of sequences as one of images: [steps, a, b] as [steps, 1, a, b] */
int layer_image_kernel(struct graph *g, int kernel, int dims);
/* [size.., in, out] without the dimension that sequences lack */
int layer_add_kernel(struct layer_build *b, const char *name, int dims, const int64_t *size,
                     int64_t in, int64_t out, const struct initializer *i,
                     const struct regularizer *r);
#endif
