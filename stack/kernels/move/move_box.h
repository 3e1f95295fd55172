/*
 * How a move is cut: which index dimensions (stack/kernels/move/move_map.h) one step of a
 * pipeline works on, and where a step's elements lie in VMEM.
 *
 * A *side* is one array as a step sees it, its *box* in VMEM as an *image*: rows
 * of 128 words of 32 bits. Of arrays of 32-bit elements the box itself is the
 * image; of packed ones the image is scratch memory, to or from which the box
 * is unpacked or packed. In an image, rows of the array are neighbours, and a
 * step along any index dimension is a fixed number of rows or of lanes.
 */
#ifndef STACK_MOVE_BOX_H
#define STACK_MOVE_BOX_H
#include "stack/kernels/pipeline/pipeline.h"
#include "stack/kernels/move/move_map.h"
#include "stack/kernels/move/move_words.h"

struct move_side {
    struct array view;                  /* the array from the first box's first tile on */
    int window;
    int box_dims;
    int64_t box_count[PIPELINE_BOX_MAX], box_stride[PIPELINE_BOX_MAX], grid_step[PIPELINE_DIM_MAX];
    int64_t tiles;                      /* of a box */
    bool has_image;                     /* scratch memory, image_row rows behind its first */
    int64_t image_row, image_rows;
    /* where dimensions of the array are in the box: */
    /* box dimension of an outer one, -1: one per index dimension */
    int outer_box[GRAPH_RANK_MAX];
    int64_t outer_step[GRAPH_RANK_MAX]; /* places of that box dimension per index */
    int64_t low[GRAPH_RANK_MAX];        /* index at which the box begins, where no grid runs */
    /* rows of the image, once the pipeline has begun: */
    int64_t lane_step;                  /* from one tile of lanes to the next */
    int64_t box_step[PIPELINE_BOX_MAX];
};

/* One index dimension inside a box, on both sides. Rows of the images and lanes per count. */
struct move_axis {
    int64_t count;
    int64_t from_row, to_row, from_lane, to_lane;
    int index_dim;
};

struct move_box {
    const struct kernel_job *job;
    struct move_map map;
    struct pipeline pipeline;
    struct move_side from[MOVE_SOURCES_MAX], to;
    /* of each index dimension, inside a box */
    int64_t inner[MOVE_SOURCES_MAX][MOVE_INDEX_DIMS_MAX];
    int grid[MOVE_SOURCES_MAX][MOVE_INDEX_DIMS_MAX];    /* grid dimension of the rest, or -1 */
    /* box dimension of its own, or -1; the last: of source 0 in the result */
    int index_dim_box[MOVE_SOURCES_MAX + 1][MOVE_INDEX_DIMS_MAX];
    int64_t first[GRAPH_RANK_MAX], last[GRAPH_RANK_MAX];        /* of the result: this region */
    bool has_floats;                    /* images hold f32 of bf16: some source is converted */
    int64_t cycles;                     /* of all steps, copies and all, about */
};

#define MOVE_REGIONS_MAX 48

/*
 * The result in one region or, where large sizes do not divide, in several, each
 * with boxes of its own: their number, in list[MOVE_REGIONS_MAX]. -1: no map, no
 * box that fits, other types. `words` is the boxes' and lives as long as they do.
 */
int move_box_plan(const struct kernel_job *job, struct move_words *words, struct move_box *list);

/* rows of the images; again after pipeline_begin */
void move_box_resolve(struct move_box *b);
int move_box_axes(const struct move_box *b, int source, struct move_axis *axis,
                  int64_t *from_row, int64_t *from_lane, int64_t *to_row, int64_t *to_lane);

int64_t move_box_steps(const struct move_box *b);
#endif
