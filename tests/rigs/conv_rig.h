/*
 * Convolutions on the bench (tests/rigs/kernel_rig.h): one is written as text,
 *
 *     "b01f_01io->b01f 3x8x8x5 3x3x5x7 pad=1_1x1_1 stride=2x1"
 *
 * dim_labels, shape of input and kernel, then fields of the window as HLO writes
 * them (pad, stride, lhs_dilate, rhs_dilate, rhs_reversal) and fgc=, bgc=; bf16
 * makes the operands so, out=bf16 the result.
 */
#ifndef TESTS_CONV_RIG_H
#define TESTS_CONV_RIG_H
#include "tests/rigs/kernel_rig.h"

#include "stack/kernels/conv/conv.h"

struct conv_case {
    struct graph_conv conv;
    struct graph_window window[GRAPH_SPATIAL_MAX];
    struct shape lhs, rhs;
    enum graph_dtype result;
};

/* fails the test where the text is wrong */
void conv_case_parse(struct conv_case *c, const char *text);
/* the body: parameters "x" and "w", the convolution; its node number */
int conv_case_graph(const struct conv_case *c, struct graph *g);

/* the layouts that the kernel wants, of operands 0 and 1 and of all results */
void conv_rig_layouts(struct kernel_rig *r, const struct graph *g, int conv,
                      struct conv_layouts *l);
/* compiles, runs, compares bit for bit on small whole numbers; returns cycles */
cycle_t conv_check(const char *chip, const char *text);
cycle_t conv_check_in(const char *chip, const char *text, int64_t vmem_rows);
/* with dense rows (docs/conv.md), whether they are cheapest or not; false: none may be */
bool conv_check_dense(const char *chip, const char *text, int64_t vmem_rows);
/* without data; `predicted`, may be NULL: by the cost model, without the launch */
cycle_t conv_time(const char *chip, const char *text, enum codegen codegen, int64_t *predicted);
#endif
