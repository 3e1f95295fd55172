/*
 * Inside the kernel of products: *fused loops*, its producers and epilogues, over a
 * block in VMEM before and behind the product of a step. docs/gemm.md.
 *
 * What an operand is computed from, elementwise, is a fused loop that makes its
 * block in VMEM before the passes read it; what is computed of the results and
 * does not go into the rounds of the last pass is a fused loop that reads the sums.
 * Each is a loop fusion (stack/kernels/loop/loop_plan.h) of which one array is such a block
 * and whose axes are cut as the product is; its other arrays have windows in
 * the product's pipeline.
 *
 * The product between them is a job by itself, whose operands and result are
 * arrays that only the step knows.
 */
#ifndef STACK_KERNEL_DOT_FUSED_H
#define STACK_KERNEL_DOT_FUSED_H
#include "stack/kernels/dot/kernel_dot_body.h"
#include "stack/kernels/loop/loop_plan.h"

enum dot_fused_kind { FUSED_LHS, FUSED_RHS, FUSED_RESULT, FUSED_COUNT };       /* HLO's operands */

struct dot_fused_loop {
    bool is_there;
    struct array array;                 /* of which the block is a box */
    struct kernel_job job;              /* the loop fusion, that array with it */
    const struct array *operand[LOOP_ARRAY_MAX], *result[LOOP_ARRAY_MAX];
    struct loop_plan plan;
    struct loop_axis axis[LOOP_AXIS_MAX];       /* before they are cut */
    int own;                            /* the plan's array that is the block */
    bool has_iota;
};

struct dot_fused_loops {
    struct arena arena;
    struct kernel_job job;              /* the product alone */
    const struct array *operand[LOOP_ARRAY_MAX], *result[LOOP_ARRAY_MAX];
    struct dot_fused_loop fused[FUSED_COUNT];
    struct dot_problem problem;
};

/* what a graph alone tells: 0, or -1 with the reason */
int dot_fused_check(const struct graph *body, const struct chip *chip, struct err *e);

/*
 * What is computed of the results goes into rounds or is a fused loop: the way that is faster by
 * its length, or the other one, where that cannot be made.
 */
enum dot_choice { CHOICE_FIRST, CHOICE_OTHER, CHOICE_COUNT };

/* with the arrays of a job; close it in any case */
int dot_open(struct dot_fused_loops *s, const struct kernel_job *job, enum dot_choice choice,
             struct err *e);
void dot_close(struct dot_fused_loops *s);
#endif
