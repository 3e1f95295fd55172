/*
 * A move as an affine map: which part of an index of an operand becomes which part of
 * an index of the result.
 *
 * An index dimension counts 0 .. count - 1. As it goes up by one, the operand's index
 * along from_dim goes up by from_scale (which may be negative) and the result's
 * along to_dim by to_scale. Each element of the result that an operand gives
 * has one value for every index dimension of that source. A transpose of [S,H,D] is three
 * index dimensions with other to_dims; a reshape [S,H*64] to [S,H,64] is three too, two
 * of which have from_dim 1, scales 64 and 1.
 */
#ifndef STACK_MOVE_MAP_H
#define STACK_MOVE_MAP_H
#include "stack/hlo/graph.h"

#define MOVE_INDEX_DIMS_MAX 20
#define MOVE_SOURCES_MAX 20

struct move_index_dim {
    int64_t count;
    int from_dim, to_dim;
    int64_t from_scale, to_scale;
};

struct move_source {
    int parameter;
    bool is_converted;                  /* between f32 and bf16 on the way */
    int work;                           /* node of the body that the operand's elements become first
                                           (move_work.h); NODE_NONE: they stay what they are */
    int index_dim_count;
    struct move_index_dim index_dim[MOVE_INDEX_DIMS_MAX];
    int64_t from_first[GRAPH_RANK_MAX], to_first[GRAPH_RANK_MAX];      /* all at 0 */
};

struct move_map {
    int source_count;
    struct move_source source[MOVE_SOURCES_MAX];
    bool has_fill;                      /* elements that no source gives hold this: */
    double fill;
};

/* -1: not a move of this kind (computed values other than work, broadcasts, reshapes that share no factors) */
int move_map_make(const struct graph *body, struct move_map *out);
#endif
