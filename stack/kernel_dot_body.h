/*
 * Inside the kernel of products: what a body multiplies, and how its arrays
 * lie as matrices of tiles.
 *
 * Of each array two dimensions are tiled: rows and lanes. Of the left operand
 * one is contracted and one is the result's rows, of the right one one is
 * contracted and one the result's columns; if the result lies the other way
 * round, the operands change places. Other dimensions are counted by the grid
 * (at most two, once neighbours are taken together), or belong to the rows
 * where they follow them without a gap.
 */
#ifndef STACK_KERNEL_DOT_BODY_H
#define STACK_KERNEL_DOT_BODY_H
#include "isa/matrix.h"
#include "stack/kernel.h"

#define DOT_OUTER_MAX 2
#define DOT_ARRAYS_MAX 20               /* of the epilogue, with the results */

struct dot_matrix {                     /* an array as matrices */
    const struct array *array;
    int64_t row_tiles, lane_tiles;      /* of one matrix */
    int64_t outer[DOT_OUTER_MAX];       /* tiles from one to the next along the grid */
};

enum dot_extra_kind { EXTRA_MATRIX, EXTRA_COLUMNS };    /* of the result's shape; per column */

struct dot_problem {
    const struct graph *body;
    int node;                           /* the product's */
    int lhs_parameter, rhs_parameter;
    bool is_swapped;                    /* the left operand here is HLO's right one */
    bool is_rhs_transposed;             /* its lanes are contracted */
    bool is_lhs_transposed;             /* its rows are contracted */
    enum graph_precision precision;     /* above the default: both operands are f32 */
    struct dot_matrix lhs, rhs;
    int64_t m, n, k, outer_count[DOT_OUTER_MAX];
    enum matrix_type lhs_type, rhs_type;
    int group_rows;
    int extra_count;                    /* arrays of the epilogue: results behind operands */
    struct dot_extra {
        struct dot_matrix matrix;
        enum dot_extra_kind kind;
        int node;                       /* parameter, or the node that is a result */
        bool is_result;
    } extra[DOT_ARRAYS_MAX];
};

/* what a graph alone tells: 0, or -1 with the reason */
int dot_body_check(const struct graph *body, const struct chip *chip, struct err *e);

/* with the arrays of a job; -1 names the layout that is missing */
int dot_problem_read(struct dot_problem *p, const struct kernel_job *job, struct err *e);
#endif
