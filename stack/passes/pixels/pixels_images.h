/*
 * Images side by side: what windows along pixels are computed on where their arrays have pixels
 * side by side (stack/passes/pass_pixels.c).
 *
 * A window meets single pixels, but no two images. So a batch is cut into as many parts, and image
 * i of each part lies beside image i of the others, [height, width, batch / count, count x
 * features] in the order of convolutions: lanes are as full as with pixels side by side, and the
 * window stays what it was. Between the two, pieces of rows of lanes change places; nothing else
 * moves.
 */
#ifndef STACK_PIXELS_IMAGES_H
#define STACK_PIXELS_IMAGES_H
#include "stack/hlo/graph.h"

/*
 * How many images, at most `pixels`, lie side by side for a reduce-window or select-and-scatter:
 * 1 if it goes not along pixels alone, or if no part of the batch is whole tiles.
 */
int pixels_images(const struct graph *g, const struct graph_node *n, int pixels);

/* [n, h, w, c] with so many pixels side by side to so many images and back */
int pixels_to_images(struct graph *g, int x, int pixels, int images);
int pixels_from_images(struct graph *g, int x, int pixels, int images);

/* the window `n`, whose operands are nodes of `g` now, of images side by side */
int pixels_window(struct graph *g, const struct graph_node *n);
#endif
