/*
 * Loop fusions: the loops of a phase over the units of a box, and where things are.
 *
 * The innermost axes are unrolled into one block, further ones are loops. What moves with the
 * loops is kept in scalar registers (*tracks*): row addresses and element indices.
 */
#ifndef STACK_LOOP_NEST_H
#define STACK_LOOP_NEST_H
#include "stack/kernels/loop/loop_plan.h"
#include "stack/backend/emitters.h"

#define NEST_TRACK_MAX 12
#define NEST_CACHE_MAX 64
#define NEST_SUM_MAX 256
#define NEST_CHUNK_MAX 8
#define NEST_CHUNK_KEPT 1000            /* + node, in the place of an array */
#define NEST_COLUMN_MAX 8
#define NEST_PART_MAX 16

struct loop_nest_track {
    int base, axis, sreg;               /* base register of addresses; axis of indices, or -1 */
    int64_t stride[LOOP_AXIS_MAX];      /* per unit, of looped axes */
};

/* a scalar: a register (-1: none) and a constant to add */
struct loop_sval { int sreg; int64_t add; };

enum { NEST_APART = 3 };

struct loop_nest_sum {                  /* what a block adds to a sum in memory */
    int node, part;
    struct loop_sval row;
    struct isa_operand value, index;
    struct isa_operand apart[NEST_APART];       /* further values, so that none waits for the one before */
    int added;
};

/* columns on their way into a row of a result: each of its lanes is in one sublane, the others 0 */
struct loop_nest_column {
    int array, value;
    int64_t unit[LOOP_AXIS_MAX];        /* its first */
    int64_t first_lane, end_lane;
};

struct loop_nest {
    struct loop_plan *p;
    struct vcode *code;
    struct fused fused;
    uint32_t mask;                      /* axes of the phase */
    int level;
    int axis_order[LOOP_AXIS_MAX], axis_count;  /* innermost first */
    int64_t unroll[LOOP_AXIS_MAX];      /* by axis */
    uint32_t loop_mask;                 /* axes that are loops */
    int64_t units[LOOP_AXIS_MAX];       /* by axis: its box, times those joined with it */
    bool is_plain;                      /* rounds of its loops do not overlap */
    bool spreads_late;                  /* columns are kept in rows: loop_spreads_late */
    bool is_by_rows;                    /* it takes 128 values of the rows at a time: loop_rows.c */
    bool is_chunked;                    /* its blocks begin at every 128th row, or some of them */
    int64_t now[LOOP_AXIS_MAX];         /* unrolled units of the block in hand */
    uint32_t peel_mask;                 /* axes at their last unit outside the loop */
    int64_t unit[LOOP_AXIS_MAX];        /* the unit in hand, within the block */
    struct loop_nest_track track[NEST_TRACK_MAX];
    int track_count, first_sreg, first_temp, next_temp;
    bool is_collecting;                 /* only to find the tracks */
    struct { struct loop_sval row; int stride, value; } cache[NEST_CACHE_MAX];
    int cache_count;
    int sequence, lane_index, row_index;        /* of the block: lane + 128 sublane, its parts; -1 */
    int lane_mask;                      /* of the block: lanes that are not padding; -1: not made */
    struct { int array; int64_t element, unit[LOOP_AXIS_MAX]; int value; } chunk[NEST_CHUNK_MAX];
    int chunk_count;                    /* rows of 128 values that stand along axis 1 */
    struct loop_nest_sum sum[NEST_SUM_MAX];
    int sum_count;
    struct loop_nest_column column[NEST_COLUMN_MAX];
    int column_count;
    int diagonal;                       /* of the block: lane - sublane; -1: not made */
    int column_place[FUSED_PARTS_MAX];  /* of the unit: where its columns go in a row; -1: not made */
    int next_xlu;
    /* phases that each block makes one after the other; 0: the one of mask and level */
    struct loop_nest_part { uint32_t mask; int level; } part[NEST_PART_MAX];
    int part_count;
    void (*begin_part)(struct loop_nest *n, const struct loop_nest_part *part);
    struct err *e;
    bool has_failed;
};

/* emits the loops, `unit` for each unit and `block_end` behind each block; -1: no registers */
int loop_nest_run(struct loop_nest *n, int (*unit)(struct loop_nest *n),
                  void (*block_end)(struct loop_nest *n));

/* one unit into `code`, which is thrown away or counted; finds the tracks */
int loop_nest_collect(struct loop_nest *n, struct vcode *code, int (*unit)(struct loop_nest *n));

/* S[base] + row + units * stride of each axis of `mask` */
struct loop_sval loop_nest_row(struct loop_nest *n, int base, int64_t row, const int64_t *stride,
                               uint32_t mask);
/* element index of the unit in hand along an axis, in the whole space */
struct loop_sval loop_nest_element(struct loop_nest *n, int axis);
/* is the unit the last along the axis? Only told of axes with edges. */
bool loop_nest_is_last(const struct loop_nest *n, int axis);
bool loop_nest_has_edge(const struct loop_plan *p, int axis);
int loop_nest_xlu(struct loop_nest *n);

struct loop_sval loop_sval_sum(struct loop_nest *n, struct loop_sval a, struct loop_sval b);
struct loop_sval loop_sval_scaled(struct loop_nest *n, struct loop_sval a, int64_t by);
struct loop_sval loop_sval_shifted(struct loop_nest *n, struct loop_sval a, int by); /* right */
struct loop_sval loop_sval_masked(struct loop_nest *n, struct loop_sval a, int64_t mask);
/* the scalar in every element; an immediate where it is constant */
struct isa_operand loop_sval_vector(struct loop_nest *n, struct loop_sval a);
struct isa_operand loop_sval_operand(struct loop_nest *n, struct loop_sval a);

/* a scalar register of the unit in hand */
int loop_nest_temp(struct loop_nest *n);

/* lane + 128 x sublane of each element; its lane; its sublane: made once in a block */
int loop_nest_sequence(struct loop_nest *n);
int loop_nest_lane_index(struct loop_nest *n);
int loop_nest_row_index(struct loop_nest *n);

/* loads are shared by the units of a block */
int loop_nest_load(struct loop_nest *n, struct loop_sval row, int stride, int region);
void loop_nest_store(struct loop_nest *n, struct loop_sval row, int sublane_mask, int region,
                     int value);

/* loop_value.c: leaves */
int loop_leaf(struct fused *f, int node, struct fused_value *out, void *user, struct err *e);
int64_t loop_kept_stride(const struct loop_plan *p, int node, int64_t *stride);
bool loop_is_direct(const struct loop_plan *p, int node);
int loop_region(const struct loop_plan *p, int array);
#define LOOP_REGION_KEPT 1000
#define LOOP_REGION_SUM 3000
#define LOOP_REGION_IMAGE 500
/* whether values along axis 1 that lie along lanes begin, in this block, at a known lane */
bool loop_knows_lane(const struct loop_nest *n, const struct loop_array *a);
/* row of element (unit in hand) in an array that is not tiled; `pack` values per word */
struct loop_sval loop_gather_row(struct loop_nest *n, const struct loop_array *a, bool is_image,
                                 struct loop_sval *sub, struct loop_sval *lane);
/* loop_scalar.c: the word of a value that is in scalar memory, in every element */
int loop_load_scalar(struct loop_nest *n, const struct loop_array *a);
/* loop_result.c */
void loop_keep(struct loop_nest *n, int node);
void loop_store_result(struct loop_nest *n, int result, int node);
void loop_flush_columns(struct loop_nest *n);
int loop_diagonal(struct loop_nest *n); /* lane - sublane of each element */
/* loop_value.c: the row in which the unit's value or values lie, unpacked, and where in it */
int loop_load_row(struct loop_nest *n, int node, struct loop_sval *lane);
/* the row of 128 values from `element` x 128 of the block on, if a unit has loaded it; or -1 */
int loop_find_chunk(const struct loop_nest *n, int array, int64_t element);
void loop_note_chunk(struct loop_nest *n, int array, int64_t element, int value);
/*
 * loop_rows.c: a phase of values of the rows alone that takes 128 of them at a time, as they lie
 * in arrays; a sum that only such phases read is put into a row by the unit that makes it.
 */
bool loop_goes_by_rows(const struct loop_plan *p, uint32_t mask);
bool loop_is_row(const struct loop_plan *p, int reduce);
void loop_store_row_of_sum(struct loop_nest *n, int reduce);
int loop_leaf_by_rows(struct fused *f, int node, struct fused_value *out, void *user,
                      struct err *e);
void loop_keep_row(struct loop_nest *n, int node, int value);
/* columns are kept as rows, and spread over the lanes where they are used, in blocks of 128 rows */
bool loop_spreads_late(const struct loop_plan *p);
bool loop_is_kept_in_row(const struct loop_nest *n, int node);  /* for the phase in hand */
void loop_spread_kept(struct loop_nest *n, int node, struct fused_value *out);
/* loop_sum.c */
void loop_add_to_sum(struct loop_nest *n, int reduce);
void loop_flush_sums(struct loop_nest *n);
bool loop_is_summed_at_once(const struct loop_nest *n, int reduce);
bool loop_finishes_sum(const struct loop_nest *n, int reduce);
void loop_init_sum(struct loop_plan *p, struct vcode *c, int reduce);
void loop_finish_sum(struct loop_nest *n, int reduce, struct fused_value *out);
/* of a lifted reduction: its operand's one tile of lanes together, in all lanes */
void loop_sum_lanes(struct loop_nest *n, int reduce, struct fused_value *out);
#endif
