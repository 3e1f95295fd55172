/*
 * Pairs of images: what windows along pixels are computed on where their arrays lie in pairs of
 * pixels (stack/passes/pass_pairs.c).
 *
 * A window meets single pixels, but no two images. So image i of the first half of a batch and
 * image i of the second lie side by side, [height, width, batch / 2, 2 x features] in the order of
 * convolutions: lanes are as full as in pairs of pixels, and the window stays what it was.
 * Between the two, halves of rows of lanes change places; nothing else moves.
 */
#ifndef STACK_PAIRS_IMAGES_H
#define STACK_PAIRS_IMAGES_H
#include "stack/hlo/graph.h"

/* a reduce-window or select-and-scatter along pixels alone of a batch whose halves are whole tiles */
bool pairs_is_window(const struct graph *g, const struct graph_node *n);

/* [n, h, w, c] in pairs of pixels, or as it is, to pairs of images and back */
int pairs_to_images(struct graph *g, int x, bool is_pairs);
int pairs_from_images(struct graph *g, int x, bool is_pairs);

/* the window `n`, whose operands are nodes of `g` now, of pairs of images */
int pairs_window_of_images(struct graph *g, const struct graph_node *n);
#endif
