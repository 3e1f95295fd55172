/*
 * Inside the passes of a convolution: conv_round.c makes rounds and their loop,
 * conv_levels.c what lies between two passes, conv_passes.c puts them together.
 */
#ifndef STACK_CONV_PASSES_H
#define STACK_CONV_PASSES_H
#include "stack/kernels/conv/conv_emit.h"

#define CONV_MASK_OF_SLOT 0             /* mask register; and the next one */
#define CONV_TILE_ROWS 8

/* ----- conv_round.c */

int conv_v_weights(const struct conv_plan *p);          /* the first register for weights */

/* VMEM rows: from a pass's first rows to those of a round; of sums */
int64_t conv_rows_offset(const struct conv_plan *p, int64_t round);
int64_t conv_round_sums(const struct conv_plan *p);
int64_t conv_phase_sums(const struct conv_plan *p);
int64_t conv_column_sums(const struct conv_plan *p);

/* in a section of rounds_open, behind rounds_begin (stack/backend/rounds.h) */
/* rows of `round`, whose first is `offset` behind `base` */
void conv_push_round(struct conv_gen *g, int64_t round, int base, int64_t offset, bool latches);
/* what round `round` finds ready, to the sums `offset` behind `base` */
void conv_pop_round(struct conv_gen *g, int64_t round, int base, int64_t offset, int pred);
void conv_clear_sums(struct conv_gen *g, int pred);     /* registers, unless `pred` */

/* the walk over rows, several rounds at a time */
struct odometer { int levels; struct conv_walk level[WALK_LEVELS]; };
/* levels whose strides go on from one to the next are one; a level of one is none */
void conv_odometer_of(const struct conv_plan *p, struct odometer *o);
/* groups of `unit` rounds, which must divide the levels; false where they do not */
bool conv_odometer_group(struct odometer *o, int64_t unit);
void conv_put_odometer(struct conv_gen *g, const struct odometer *o);
/* counters as they are when `done` groups of rounds have gone */
void conv_set_odometer(struct conv_gen *g, const struct odometer *o, int64_t done);

/* the pipelined body, whose section stays open; true: its compare counts this round */
bool conv_put_loop(struct conv_gen *g);
void conv_end_loop(struct conv_gen *g, int label);

/* ----- conv_levels.c */

/* a phase with taps: counts of passes, first rows and sums (VMEM rows) */
struct live_phase { int64_t count[CONV_SPATIAL], rows, sums; bool is_odd; };
int conv_live_phases(const struct conv_plan *p, struct live_phase *list);
/* sets registers to those of a phase, under a predicate */
void conv_set_phase(struct conv_gen *g, const struct live_phase *x, int pred, bool sets_counts);
/* the levels of k, then phases and columns; P_WRAP when all of a phase has gone */
void conv_advance(struct conv_gen *g, const struct live_phase *list, int live);
bool conv_needs_masks(const struct conv_plan *p);
/* for the pass that comes, in sections of its own */
void conv_set_masks(struct conv_gen *g, const struct live_phase *list, int live);
#endif
