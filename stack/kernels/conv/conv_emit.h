/*
 * The generator of a convolution's kernel: what its files share while they
 * write code. Registers keep nothing from one piece of a step to the next; what
 * lives longer is in SMEM.
 */
#ifndef STACK_CONV_EMIT_H
#define STACK_CONV_EMIT_H
#include "stack/backend/rounds.h"
#include "stack/kernels/conv/conv_body.h"
#include "stack/kernels/conv/conv_impl.h"

/* Scalar registers of the passes; between passes all are free. */
enum conv_scalar {
    S_ROWS,                             /* rows of this round, VMEM row */
    S_RESULT,                           /* sums that the loop pops */
    S_PASS_RESULT, S_LAST_RESULT,       /* first sums of this pass, of the one before */
    S_WEIGHTS, S_WEIGHTS_LEFT,          /* of the next pass; passes left in its columns */
    S_LOOP,
    S_LEFT,                             /* passes to run */
    S_BASE0, S_BASE1, S_BASE2, S_BASE3, /* rows of the pass, where each level of k began */
    S_K0, S_K1, S_K2, S_K3,             /* left of each level */
    S_N1, S_N2, S_N3,                   /* counts of the levels in this phase */
    S_WALK0, S_WALK1, S_WALK2,          /* left of the levels of the walk over rows */
    S_PHASE,
    S_LHS,                              /* the window in use */
    S_TEMP,
    /* where results are popped passes later: first sums of the passes under way, the last first */
    S_QUEUE = S_TEMP, S_QUEUE_ADDS = S_QUEUE + CONV_DELAY_MAX,  /* a bit each: they are added */
    S_FILLED                            /* passes until results are popped */
};

enum conv_predicate {
    P_LOOP, P_ADD, P_LAST_ADD, P_LATER, /* sums are added to what is in VMEM */
    P_EDGE, P_ODD,                      /* masks of the last pass of a level */
    P_WALK0, P_WALK1, P_WALK2, P_NEXT, P_WRAP, P_TEMP, P_TEMP_2, P_TEMP_3
};

struct conv_gen {
    const struct conv_plan *p;
    const struct conv_body *body;
    const struct chip *chip;
    struct arena *a;
    struct bundler b;
    int label;                          /* next free */
    int temp;                           /* next scalar register of a piece of straight code */
    struct vcode_stats stats;

    /* conv_passes.c */
    bool has_masks;                     /* rows are pushed under masks */
    int ii;                             /* of the loop: bundles */
    int64_t straight, loops;            /* rounds of a pass outside the loop; of the loop */
    int64_t pop_delay, ring;            /* as the plan's; rounds that accumulators hold */
    struct rounds rounds;
    int label_loop;
};

/* a section of straight code; all temporary registers are free */
void conv_begin(struct conv_gen *g, const char *note);
void conv_end(struct conv_gen *g);
void conv_end_branch(struct conv_gen *g, int label, int pred, bool is_negated);
int conv_label(struct conv_gen *g);                     /* a new one, */
void conv_here(struct conv_gen *g, int label);          /* which is the next section */

/* A scalar known now, or in a register: arithmetic that folds what is known. */
struct conv_value { bool is_known; int64_t known; int reg; };
struct conv_value conv_known(int64_t x);
struct conv_value conv_in(int reg);
struct isa_operand conv_operand(struct conv_value v);
struct conv_value conv_add(struct conv_gen *g, struct conv_value a, struct conv_value b);
struct conv_value conv_sub(struct conv_gen *g, struct conv_value a, struct conv_value b);
struct conv_value conv_mul(struct conv_gen *g, struct conv_value a, struct conv_value b);
struct conv_value conv_min(struct conv_gen *g, struct conv_value a, struct conv_value b);
struct conv_value conv_max(struct conv_gen *g, struct conv_value a, struct conv_value b);
int conv_to_register(struct conv_gen *g, struct conv_value v);
struct conv_value conv_load_word(struct conv_gen *g, int64_t smem);
void conv_store_word(struct conv_gen *g, int64_t smem, struct conv_value v);

/* counted loops; `reg` counts */
int conv_loop(struct conv_gen *g, int reg, int64_t count);      /* the label */
void conv_loop_end(struct conv_gen *g, int label, int reg);     /* ends the open section */

/* SMEM: where the words of the steps lie */
int64_t conv_index_word(const struct conv_gen *g, bool is_fetch, int grid);
enum { CONV_STEPS_LEFT = 2 * GRID_DIMS, CONV_FETCHES_LEFT, CONV_WORDS };    /* behind them */
int64_t conv_word(const struct conv_gen *g, int word);

/* conv_copy.c */
void conv_clear_borders(struct conv_gen *g);            /* zeros around windows that never move */
void conv_fetch(struct conv_gen *g, int window);        /* the step of the fetch indices */
void conv_take(struct conv_gen *g, int window, int other_label);    /* waits; else to the label */
void conv_send(struct conv_gen *g, int window);
void conv_room(struct conv_gen *g, int window);         /* a buffer for the results */
void conv_wait_sent(struct conv_gen *g, int window);
/* VMEM row of the buffer in use, in an open section */
struct conv_value conv_buffer_row(struct conv_gen *g, int window);

/* of the window in use, again: what has been computed over its borders */
void conv_clear_window(struct conv_gen *g, int window);

/* conv_make.c: the input or the kernel, from the windows of what it is made of, in its own; the input
   leaves if it is a result */
int conv_make(struct conv_gen *g, enum conv_role role, struct err *e);

/* conv_prep.c */
void conv_prepare_weights(struct conv_gen *g);

/* conv_transpose.c */
void conv_transpose_rows(struct conv_gen *g);

/* conv_pixels.c */
void conv_clear_lines(struct conv_gen *g);              /* of pixels, once: borders stay zero */
void conv_prepare_lines(struct conv_gen *g);

/* conv_passes.c */
void conv_passes_init(struct conv_gen *g);
void conv_passes(struct conv_gen *g);

/* conv_epilogue.c */
int conv_epilogue(struct conv_gen *g, struct err *e);

/* conv_totals.c: sums per feature begin at zero; behind the last step, what is computed of them */
int conv_clear_totals(struct conv_gen *g, struct err *e);
int conv_finish_totals(struct conv_gen *g, struct err *e);
/* a vector's value for the features of a tile, or a scalar's, in all rows */
int conv_load_vector(struct vcode *c, int pointer, int region, bool is_scalar);
#endif
