/*
 * Inside the generator of products: gemm_passes.c makes the passes,
 * gemm_program.c what is around them. docs/gemm.md tells the whole.
 */
#ifndef STACK_GEMM_IMPL_H
#define STACK_GEMM_IMPL_H
#include "stack/backend/bundler.h"
#include "stack/kernels/dot/gemm.h"
#include "stack/backend/vcode.h"

enum gemm_scalar {
    S_ROWS,                             /* left-hand tile of this round, VMEM row */
    S_RESULT,                           /* result tiles that the loop pops */
    S_BLOCK_RESULT,                     /* of this pass: its first row of results */
    S_LAST_RESULT,                      /* the same of the pass before */
    S_WEIGHTS,                          /* weights of the next pass */
    S_TILES, S_WEIGHT_TILES,            /* passes left before the next columns: this, weights' */
    S_LOOP,
    S_PASSES, S_PHASE,                  /* passes to run, and what comes after them */
    S_A, S_B, S_FLAG,                   /* buffers of this chunk and their flag */
    S_C, S_C_FLAG,                      /* of this block */
    S_CHUNK, S_BLOCK, S_LEFT,           /* chunk in its block, blocks begun, chunks to run */
    S_FETCH_LEFT, S_FETCH_CHUNK, S_FETCH_ROWS,  /* what is copied next */
    S_FROM_A, S_FROM_A_BLOCK, S_FROM_B, S_FROM_B_BLOCK,
    S_OUT, S_OUT_ROWS,                  /* where the next result goes, in granules */
    S_TEMP,                             /* and up */
    S_TEMP_COUNT = ISA_SREG_COUNT - S_TEMP
};

enum gemm_predicate {
    P_LOOP,
    P_WRAP,                             /* the next pass is the first of its columns */
    P_ADD, P_LAST_ADD,                  /* results of this, of the last pass are added to VMEM */
    P_LATER,                            /* not the first chunk of a block */
    P_BEGIN,                            /* nothing has been pushed yet */
    P_FETCH, P_NEW_BLOCK, P_TEMP, P_TEMP_2, P_NEXT
};

enum gemm_label {
    LABEL_CHUNK, LABEL_SECOND, LABEL_LAST, LABEL_PASS, LABEL_FIRST, LABEL_LOOP, LABEL_PASS_END,
    LABEL_ADD_PASS, LABEL_NO_OUT, LABEL_PACK, LABEL_PACK_LAST
};

#define GEMM_V_POPPED 4                 /* results on their way; sums and weights behind them */
#define GEMM_RESULTS_MAX 64             /* tiles of results in a round */
#define GEMM_ROUND_OPS_MAX (16 + 4 * GEMM_RESULTS_MAX)

struct gemm {
    const struct gemm_plan *p;
    const struct chip *chip;
    struct bundler b;
    int results;                        /* tiles of results in a round, of all units */
    int64_t straight;                   /* rounds of a pass outside its loop */
    int64_t loops;                      /* rounds of the loop, 0: there is none */
    int ii, stages;                     /* of the loop: bundles; rounds that overlap */
    int stage[GEMM_ROUND_OPS_MAX];      /* of each operation of a round */

    /* the section at work */
    int ordinal;                        /* of the next operation of the round */
    int first_stage, end_stage;         /* operations of other stages are left out */
    int64_t from_rows;                  /* the round that S_ROWS points to */
    int pushed_at[GEMM_ROUNDS_MAX], popped_at[GEMM_ROUNDS_MAX];     /* -1: not in this section */
};

/* gemm_passes.c: decides on the loop; then the code from LABEL_PASS to the end of all passes */
void gemm_prepare_passes(struct gemm *g);
void gemm_put_weights(struct gemm *g, int64_t first, int64_t end);
int64_t gemm_weight_items(const struct gemm *g);
void gemm_advance_weights(struct gemm *g);
void gemm_passes(struct gemm *g);
void gemm_drain(struct gemm *g);        /* results of the last pass */
#endif
