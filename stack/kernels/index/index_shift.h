/* Declares what the parts of dynamic slices and updates that begin inside tiles share. */
#ifndef STACK_INDEX_SHIFT_H
#define STACK_INDEX_SHIFT_H
#include "stack/kernels/index/kernel_index.h"

#define SHIFT_TILE_ROWS 8               /* of 512 bytes; its sublanes */

struct shift {
    struct index_work *w;
    const struct array *wide, *narrow;
    bool has_rows, has_lanes;           /* it may begin inside a tile along these */
    int64_t across, columns;            /* tiles of a strip of the narrow array; of the wide one */
    int64_t chunks;                     /* of columns, one behind the other; usually 1 */
    int64_t block, strips;              /* strips of a block */
    int64_t group;                      /* blocks under way together, of places that follow */
    int64_t wide_row, narrow_row;       /* VMEM */
    int64_t base_smem;                  /* word: the place of the group's first block */
    int64_t chunk_smem, lanes_smem;     /* of several chunks: the first column, and how many lanes */
    int flag_in, flag_out;
    struct isa_operand slot;            /* number of the block at hand in its group */
    /* of the block at hand: its first row in the narrow array, how many; first tile in the wide; */
    struct isa_operand row, rows, tile;
    struct isa_operand sublane, lane;   /* where in that tile it begins; */
    struct isa_operand bits;            /* and, of rows that share words, in the word */
    struct isa_operand last_strip;      /* the last that it covers; granules of each that it does */
    struct isa_operand granules;
    struct isa_operand column, strip_row;       /* of an update: the lane and row it has there */
};

/* rows of VMEM that a block's strips take */
int64_t shift_wide_rows(const struct shift *s);
int64_t shift_narrow_rows(const struct shift *s);
/* lanes of the narrow array in the chunk at hand */
struct isa_operand shift_lanes(struct shift *s);
/* the block at hand, in VMEM: the slice out of its strips, or the update into them */
void shift_slice_block(struct shift *s);
void shift_update_block(struct shift *s);
#endif
