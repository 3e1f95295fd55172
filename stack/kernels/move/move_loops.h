/*
 * Loads, stores and loops over the images of a move's step.
 *
 * Everything here either emits code or, with is_counted, only adds up what the
 * code costs, so that a cost is that of the very code.
 */
#ifndef STACK_MOVE_LOOPS_H
#define STACK_MOVE_LOOPS_H
#include "stack/kernels/move/move_box.h"
#include "stack/backend/builder.h"

#define MOVE_SUBLANES 8
#define MOVE_LOOPS_MAX 16

struct move_step {
    struct builder m;
    const struct move_box *box;
    bool is_counted;                    /* nothing is emitted: */
    double cycles;                      /* of a step */
    double load, store, xlu, valu;      /* of the straight code at hand, by unit */
    int next_xlu;
    bool is_refused;                    /* too much code */
    int64_t ops;                        /* about, of straight code */
};

/* rows of an image: S[base] + row; accesses of different regions never meet */
struct move_place { struct isa_operand base; int64_t row; int region; };

struct move_place move_behind(struct move_place p, int64_t rows);

/* row `row` of a side's image */
struct move_place move_side_place(const struct move_step *s, const struct move_side *side,
                                  int64_t row);

/* rows per round on either side */
struct move_loop { int64_t count, from, to; };

struct move_loops {
    struct move_step *step;
    struct move_loop loop[MOVE_LOOPS_MAX];
    int count;
    int64_t units;                      /* of straight code in the body, for unrolling */
    void (*body)(struct move_loops *l, struct move_place from, struct move_place to);
    const void *user;
};

void move_add_loop(struct move_loops *l, int64_t count, int64_t from, int64_t to);
void move_run_loops(struct move_loops *l, struct move_place from, struct move_place to);

bool move_fits_stride(int64_t step);    /* of one load or store */

/* sublanes first..end-1 from or to rows at + sublane * stride, any stride */
int move_load_rows(struct move_step *s, struct move_place at, int64_t stride, int first, int end);
/* lanes first_lane..end_lane-1 alone */
void move_store_rows(struct move_step *s, struct move_place at, int64_t stride, int first,
                     int end, int first_lane, int end_lane, int v);
/* under a mask register; -1: all lanes */
void move_store_masked(struct move_step *s, struct move_place at, int64_t stride, int first,
                       int end, int mask, int v);
/* lane_mask: a mask register or -1; not counted */
void move_store_op(struct move_step *s, struct move_place at, int64_t stride, int sublanes,
                   int lane_mask, int v);
int move_take_xlu(struct move_step *s);
int move_rotate(struct move_step *s, int v, int64_t up);        /* lanes */

/* of a side that has one: from its box, or to it if it is the result's */
void move_convert_image(struct move_step *s, const struct move_side *side, bool is_result);
void move_fill_image(struct move_step *s);
#endif
