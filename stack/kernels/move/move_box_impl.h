/* Declares what move_box.c (boxes) and move_region.c (regions of the result) share. */
#ifndef STACK_MOVE_BOX_IMPL_H
#define STACK_MOVE_BOX_IMPL_H
#include "stack/kernels/move/move_box.h"

/* operand of a source; source < 0: the result */
const struct array *move_side_array(const struct move_box *b, int source);

/* elements along a dimension that a tile covers */
int64_t move_tile_extent(const struct array *a, int dim);

/*
 * Least part of index dimension k that a box must hold so that boxes are made of whole
 * tiles on this side: all of it, unless what is below and some of it fill tiles.
 */
int64_t move_least_inner(const struct move_source *s, int k, const struct array *a,
                         bool is_result);

/* the source's index dimensions along the result's dimension give every index of the region */
bool move_covers(const struct move_box *b, const struct move_source *s, int dim);

/* one runs along the grid only if every source knows it and nothing lies beside it */
void move_least_box(struct move_box *b);

/* 0 if boxes of the present sizes can be made and fit */
int move_box_build(struct move_box *b);

bool move_box_fits(const struct move_box *b);           /* its pipeline: VMEM, flags */

/* cycles of all steps of boxes that are built, copies and all; INT64_MAX: too much code */
int64_t move_box_cost(struct move_box *b);

/* from the smallest boxes on, one dimension at a time, as long as they fit: the best on the way */
int64_t move_box_grow(struct move_box *b);

/* its number, or -2: too many */
int move_add_box_dim(struct move_side *side, int64_t count, int64_t stride);
void move_add_window(struct move_box *b, struct move_side *side, bool is_result);
#endif
