/*
 * Where the elements of a tensor lie in VMEM and HBM: T(8,128).
 *
 * A tensor is seen as a matrix: rank 0 as 1x1, rank 1 [n] as 1xn, rank 2 as it
 * is, higher ranks with leading dimensions folded into the rows. Tiles of 8
 * rows x 128 columns of 32-bit elements, 4 KiB each, stand in row-major order;
 * a tile is sublane-major. Padding is zero when the host writes a tensor.
 * bf16 tensors hold their values in 32 bits (v2 and v3 have no packed
 * arithmetic); packed T(8,128)(2,1) is for later generations.
 */
#ifndef STACK_LAYOUT_H
#define STACK_LAYOUT_H
#include "stack/hlo/graph.h"

#define TILE_ROWS 8
#define TILE_COLUMNS 128
#define TILE_BYTES 4096

struct layout {
    int64_t rows, columns;              /* logical */
    int64_t tile_rows, tile_columns;    /* in tiles */
    int64_t bytes;                      /* tiles x TILE_BYTES */
};

struct layout layout_of(const struct shape *s);

/* dense row-major 4-byte elements <-> tiles; pack zeroes the padding */
void layout_pack(const struct layout *l, const void *dense, void *tiles);
void layout_unpack(const struct layout *l, const void *tiles, void *dense);
#endif
