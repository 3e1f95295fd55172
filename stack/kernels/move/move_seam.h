/*
 * Seams: where operands of a concatenation meet, or padding begins, along a dimension of the tiles.
 */
#ifndef STACK_MOVE_SEAM_H
#define STACK_MOVE_SEAM_H
#include "stack/kernels/move/move_box.h"

/*
 * The regions that the region of b becomes along `dim`, of which a tile holds `extent` elements, in
 * the order of their places: their number, in part[max]; 0: no operand has whole tiles to itself,
 * one has all of the dimension, or they are too many.
 */
int move_cut_seams(const struct move_box *b, int dim, int64_t extent, struct move_box *part,
                   int max);
#endif
