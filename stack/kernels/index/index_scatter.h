/*
 * Inside the scatters of kind "index": kernel_index_scatter.c moves panels and blocks and applies
 * whole rows, kernel_index_scatter_element.c single elements.
 */
#ifndef STACK_INDEX_SCATTER_H
#define STACK_INDEX_SCATTER_H
#include "stack/kernels/index/kernel_index.h"

#define SCATTER_SUBLANES 8
#define SCATTER_PRED 9                  /* and the next ones, a pair for each of two */

enum scatter_region { SCATTER_REGION_PANEL = 1, SCATTER_REGION_UPDATES, SCATTER_REGION_SPREAD };

struct scatter {
    struct index_work *w;
    const struct array *updates;
    int tile_rows, fast_dim;
    int64_t across;                     /* tile columns of the updates */
    int64_t block_tile_rows, block_tiles;
    bool has_tail;                      /* the last tile row is a block by itself */
    int64_t panel_tiles, panel_row;     /* VMEM */
    int64_t update_row;                 /* two buffers of block_tiles */
    int64_t spread_row;                 /* a row for each of a row's lanes, its element in all */
    struct isa_operand panel;           /* first tile of the result in the panel */
    struct isa_operand row, lane, at;   /* coordinates; VMEM row of the updates at work */
    /* words: buffer at hand; granule of the next block; blocks to come */
    int64_t parity_smem, next_smem, left_smem;
    int flag_panel, flag_update;
};

/* what a tile row has of a matrix: whole rows, and lanes of one more where elements lie in a line */
struct extent {
    int rows, rest;
};

/* of a whole tile row, or of the last one, where padding begins */
struct extent scatter_extent(const struct scatter *s, bool is_last);

/* predicate: the place exists and lies in the panel; its VMEM row, or the panel's first */
struct isa_operand scatter_target_row(struct scatter *s, const struct index_spot *spot,
                                      struct isa_operand tile, int pred, bool has_pred);
/* p = p & (x + u < end); it is set if nothing has set it */
bool scatter_check_end(struct scatter *s, struct isa_operand x, int u, int64_t end, int pred,
                       bool has_pred);
void scatter_store_rows(struct index_work *w, struct isa_rows rows, int v, int pred);
/*
 * Padding has no indices: what lies behind the end takes some that exist, and a guard keeps it
 * from being stored. Loads the batch with w->coordinate[d] at most `last`.
 */
void scatter_load_batch(struct scatter *s, int d, struct isa_operand x, int64_t last, int count,
                        struct isa_operand word[][INDEX_BATCH]);

/* ----- single elements (kernel_index_scatter_element.c) */

/* rows of VMEM that they take beside panel and updates */
int64_t scatter_spread_rows(const struct index_work *w);
/* the rows of the tiles of one tile row, each from its first tile to its last */
void scatter_elements(struct scatter *s, struct extent e);
int64_t scatter_elements_cycles(const struct scatter *s, struct extent e);
#endif
