/*
 * Finds the convolution behind a fusion of a profile: an image [N,H,W,C], a kernel [h,w,in,out] and
 * an image of results, two of them read and the third made, as TensorFlow names their dimensions.
 * The result is made forward, the first image by the gradient by input, the kernel by that by
 * kernel. Strides and padding follow from the sizes, the padding being even.
 */
#include "cli/hardware/hardware_rebuild.h"

#include <math.h>

/* FLOPs of a profile leave taps in the padding out, and have elementwise work beside */
static const double flops_low = 0.7, flops_high = 1.15, beside_max = 64;
enum { TAPS_MAX = 16 };                 /* along a dimension: larger ones are images, no kernels */

enum part { IMAGE, KERNEL, RESULT };

/* dimension N, H, W, C of an image, or h, w, in, out of a kernel, in the text */
struct view { const struct profile_array *array; const int *dim; };

static const int image_dims[][4] = {{0, 1, 2, 3}, {3, 0, 1, 2}};        /* NHWC, HWCN */
static const int kernel_dims[4] = {0, 1, 2, 3};

static int place(const struct view *v, int which)
{
    return v->array->at[v->dim[which]];
}

static int64_t size(const struct view *v, int which)
{
    return v->array->whole.dim[place(v, which)];
}

struct axis { int64_t in, out, taps, stride, pad; };

/* the least stride with which `in` pixels give `out` */
static bool find_stride(struct axis *x)
{
    for (x->stride = 1; x->stride <= 4; x->stride++) {
        int64_t even = (x->in + x->stride - 1) / x->stride;

        x->pad = (x->out - 1) * x->stride + x->taps - x->in;
        if (x->pad < 0)
            x->pad = 0;
        if (x->out == even || (x->pad == 0 && x->out == (x->in - x->taps) / x->stride + 1)) {
            x->pad /= 2;
            return true;
        }
    }
    return false;
}

static struct graph_window window(const struct axis *x, enum part made)
{
    int64_t spread = (x->out - 1) * x->stride + 1;
    struct graph_window w = {.size = x->taps, .stride = 1, .base_dilation = 1,
                             .window_dilation = 1};

    switch (made) {
    case RESULT:
        w.stride = x->stride;
        w.pad_low = x->pad;
        w.pad_high = (x->out - 1) * x->stride + x->taps - x->in - x->pad;
        break;
    case IMAGE:
        w.base_dilation = x->stride;
        w.is_reversed = true;
        w.pad_low = x->taps - 1 - x->pad;
        w.pad_high = x->in - spread - w.pad_low + x->taps - 1;
        break;
    case KERNEL:
        w.size = x->out;
        w.window_dilation = x->stride;
        w.pad_low = x->pad;
        w.pad_high = x->taps - 1 + spread - x->in - x->pad;
        break;
    }
    return w;
}

static void label(struct graph_conv *c, const struct view *image, const struct view *kernel,
                  const struct view *result, enum part made)
{
    const struct view *in = made == IMAGE ? result : image;
    const struct view *by = made == KERNEL ? result : kernel;
    const struct view *out = made == IMAGE ? image : made == KERNEL ? kernel : result;
    bool by_kernel = made == KERNEL;

    *c = (struct graph_conv){.spatial_count = 2, .feature_groups = 1, .batch_groups = 1};
    c->in_batch = place(in, by_kernel ? 3 : 0);
    c->in_feature = place(in, by_kernel ? 0 : 3);
    c->kernel_in = place(by, by_kernel ? 0 : made == IMAGE ? 3 : 2);
    c->kernel_out = place(by, by_kernel ? 3 : made == IMAGE ? 2 : 3);
    c->out_batch = place(out, by_kernel ? 2 : 0);
    c->out_feature = place(out, 3);
    for (int i = 0; i < 2; i++) {
        c->in_spatial[i] = place(in, 1 + i);
        c->kernel_spatial[i] = place(by, by_kernel ? 1 + i : i);
        c->out_spatial[i] = place(out, by_kernel ? i : 1 + i);
    }
}

static bool is_like_convolution(const struct view *image, const struct view *kernel,
                                const struct view *result, double flops, enum part made,
                                struct profile_conv *c)
{
    double products = 2, made_elems;

    if (size(image, 0) != size(result, 0) || size(image, 3) != size(kernel, 2) ||
        size(result, 3) != size(kernel, 3))
        return false;
    for (int i = 0; i < 4; i++)
        products *= (double)(size(kernel, i) * (i < 3 ? size(result, i) : 1));
    made_elems = (double)shape_elems(made == IMAGE ? &image->array->whole
                                     : made == KERNEL ? &kernel->array->whole
                                                      : &result->array->whole);
    if (flops < flops_low * products ||
        (flops > flops_high * products && flops > products + beside_max * made_elems))
        return false;
    for (int i = 0; i < 2; i++) {
        struct axis x = {.in = size(image, 1 + i), .out = size(result, 1 + i),
                         .taps = size(kernel, i)};

        if (x.taps > TAPS_MAX || !find_stride(&x))
            return false;
        c->window[i] = window(&x, made);
    }
    label(&c->labels, image, kernel, result, made);
    return true;
}

/* images in each order of dimensions */
static bool try_views(const struct profile_array *image, const struct profile_array *kernel,
                      const struct profile_array *result, double flops, enum part made,
                      struct profile_conv *c)
{
    struct view k = {kernel, kernel_dims};

    if (image->whole.rank != 4 || kernel->whole.rank != 4 || result->whole.rank != 4)
        return false;
    for (int i = 0; i < 4; i++) {
        struct view x = {image, image_dims[i % 2]}, y = {result, image_dims[i / 2]};

        if (is_like_convolution(&x, &k, &y, flops, made, c))
            return true;
    }
    return false;
}

static bool try_part(const struct profile_op *op, double flops, enum part made,
                     struct profile_conv *c)
{
    const struct profile_array *a = &op->operand[c->lhs], *b = &op->operand[c->rhs],
                               *to = &op->result[c->result];

    switch (made) {
    case RESULT: return try_views(a, b, to, flops, made, c);
    case IMAGE: return try_views(to, b, a, flops, made, c);
    case KERNEL: return try_views(a, to, b, flops, made, c);
    }
    return false;
}

bool profile_find_convolution(const struct profile_op *op, double flops, struct profile_conv *c)
{
    static const enum part parts[] = {RESULT, IMAGE, KERNEL};

    if (!(flops > 0))
        return false;
    for (c->result = 0; c->result < op->result_count; c->result++)
        for (c->lhs = 0; c->lhs < op->operand_count; c->lhs++)
            for (c->rhs = 0; c->rhs < op->operand_count; c->rhs++)
                for (int i = 0; i < 3; i++)
                    if (c->lhs != c->rhs && try_part(op, flops, parts[i], c))
                        return true;
    return false;
}
