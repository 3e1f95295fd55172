/*
 * Convolutions along arrays whose pixels lie side by side (stack/passes/pass_pixels.c).
 *
 * Along the width a convolution is out[w] += in[i] k[t] wherever
 *
 *     dilation i = stride w + t - pad
 *
 * With w = P j + s, pixel s of group j of P, and i = Q m + r, that is
 *
 *     A m - B j = t - dilation r + stride s - pad,   A = dilation Q, B = stride P
 *
 * Where one of A and B divides the other, U the smaller, both sides are U v, and v counts the taps
 * of a convolution over groups: its stride is B / U, its input is dilated by A / U, and its kernel
 * has k[U v + dilation r - stride s + pad] for pixel r of the input and s of the result, zeros
 * where k ends. Gradients by kernel are those of such kernels, each tap's added up over r and s.
 * Features in groups, depthwise ones among them, have a kernel with zeros between groups.
 */
#ifndef STACK_PIXELS_CONV_H
#define STACK_PIXELS_CONV_H
#include "stack/hlo/graph.h"

#define PIXELS_MAX 8                    /* side by side, at most; a power of two */

/* a convolution along its width: groups of pixels of input and result, and taps over them */
struct pixels_width {
    int in, out;                        /* pixels side by side: Q and P; 1: none */
    int64_t taps, pad, stride, dilation;
    int64_t unit;                       /* U */
    int64_t first, group_taps;          /* v of the first tap over groups, how many there are */
};

/* false: neither of A and B divides the other */
bool pixels_width_make(struct pixels_width *w, int in, int out, int64_t taps, int64_t pad,
                       int64_t stride, int64_t dilation);

/* of a convolution whose operands are nodes of `g`, and of a gradient by kernel: the result */
int pixels_forward(struct graph *g, const struct graph_node *n, const struct pixels_width *w,
                   int input);
int pixels_gradient(struct graph *g, const struct graph_node *n, const struct pixels_width *w,
                    int input, int kernel);
#endif
