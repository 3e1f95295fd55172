/*
 * Inside the kernel of products: operands that the passes cannot take as they
 * lie are copied from their windows into scratch first, as often as the window
 * changes:
 *   - a left operand contracted along its rows goes through the cross-lane unit;
 *   - at a precision above the default, f32 becomes bf16 parts, and the
 *     contraction as many times longer as there are products of parts.
 *
 * Of a contraction that the grid cuts and that does not fill its last tile, zeros take the place of
 * what the last step's boxes have behind it, in both operands: as it is copied where it is, else
 * where it lies (kernel_dot_tail.c). A step that has all of it does so as it loads
 * (kernel_dot_weights.c).
 */
#ifndef STACK_KERNEL_DOT_PREPARE_H
#define STACK_KERNEL_DOT_PREPARE_H
#include "stack/kernels/dot/kernel_dot_grid.h"

struct dot_place { int base; int64_t row, row_step, lane_step; };       /* of tiles in VMEM */

bool dot_prepares(const struct dot_grid *g, bool is_rhs);
/* products of parts: 1, 3 or 6 */
int dot_terms(const struct dot_problem *p);
/* of the tiles that passes see: packed where parts are made */
enum matrix_type dot_prepared_type(const struct dot_problem *p, bool is_rhs);

/*
 * whether that is done for several batches in a step, too: a left operand that is transposed
 * alone
 */
bool dot_prepares_batches(const struct dot_grid *g);
int64_t dot_prepared_rows(const struct dot_grid *g, bool is_rhs);       /* of VMEM */
int64_t dot_prepare_cycles(const struct dot_grid *g, bool is_rhs);      /* each time, about */

/* With windows placed: what of the left operand is transposed beside the passes, which is not made
 * ready by dot_prepare then. `is_new`: predicate of the steps that have it to do; -1: all. */
void dot_set_transpose(struct dot_grid *g, int is_new);

/* Code into `c`; the operand then lies at VMEM row `to_row`, which *box tells. */
int dot_prepare(struct dot_grid *g, bool is_rhs, int64_t to_row, struct vcode *c,
                struct dot_box *box);
/* of an operand: its window, or the block of its fused loop */
struct dot_place dot_place_of(const struct dot_grid *g, bool is_rhs);

/* kernel_dot_tail.c: zeros behind the contraction, which is code for its last step alone */
bool dot_masks_tail(const struct dot_grid *g, bool is_rhs);
void dot_mask_tail(struct dot_grid *g, bool is_rhs, struct vcode *c);
/* the first `rows` rows of a tile that has `per_tile`, zeros for what is behind them */
int dot_keep_rows(struct vcode *c, int tile, int64_t rows, int per_tile);
#endif
