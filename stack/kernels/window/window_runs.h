/*
 * What the fast ways of windows share: places of a window that see their operand
 * alike, boxes and grids of tiles, tiles in registers.
 */
#ifndef STACK_WINDOW_RUNS_H
#define STACK_WINDOW_RUNS_H
#include "stack/kernels/pipeline/pipeline.h"
#include "stack/kernels/move/move_loops.h"

#define WINDOW_RUNS_MAX 24              /* of a dimension */

/* places first, first + step, ... that see the operand alike, further on by in_step each time */
struct window_run {
    int64_t first, count, step;
    int64_t in_first, in_step;          /* element under the first tap that is no padding */
    int64_t tap_first, taps, tap_in;    /* such taps are tap_in elements apart */
};

struct window_runs { struct window_run run[WINDOW_RUNS_MAX]; int count; };

/* -1: too many kinds of places */
int window_list_runs(const struct graph_window *w, int64_t size, int64_t places,
                     struct window_runs *out);

/* one tap, no padding, no stride */
bool window_is_trivial(const struct graph_window *w);

/* a dimension more of a box or of the grid (tiles per step by window); -1: too many */
int window_add_dim(struct pipeline_window *w, int64_t count, int64_t stride);
int window_add_grid(struct pipeline *f, int64_t count, const int64_t *step);

int64_t window_inner_tiles(const struct array *a);      /* of one index of the outer dimensions */

/* registers of 8 rows that a tile becomes, f32 or s32, and back */
int window_tile_parts(const struct array *a);
void window_unpack(struct builder *m, enum graph_dtype dtype, int parts, int v, int *part);
int window_pack(struct builder *m, int parts, int *part);

/* row `row` of the present box of a pipeline's window */
struct move_place window_place(const struct move_step *s, int window, int64_t row);
#endif
