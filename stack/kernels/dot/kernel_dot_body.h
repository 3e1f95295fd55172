/*
 * Inside the kernel of products: what a body multiplies, and how its arrays
 * lie as matrices of tiles.
 *
 * Rows, columns and contraction are each a list of dimensions, in any order in
 * each array. Of each array two dimensions are tiled: rows and lanes. Of the
 * left operand one of them is contracted and one is the result's rows, of the
 * right one one is contracted and one the result's columns; if the result lies
 * the other way round, the operands change places. Any other dimension belongs
 * to the tiled one of its kind where it follows it without a gap in all arrays
 * that have it; else it is an *outer* one, which the grid counts.
 */
#ifndef STACK_KERNEL_DOT_BODY_H
#define STACK_KERNEL_DOT_BODY_H
#include "isa/matrix.h"
#include "stack/kernels/loop/fused.h"
#include "stack/kernels/pipeline/kernel.h"

#define DOT_OUTER_MAX 6
#define DOT_ARRAYS_MAX 20               /* of the epilogue, with the results */

/* what a dimension of a product is */
enum dot_side { SIDE_BATCH, SIDE_M, SIDE_N, SIDE_K };

struct dot_matrix {                     /* an array as matrices */
    const struct array *array;
    int64_t row_tiles, lane_tiles;      /* of one matrix */
    int64_t outer[DOT_OUTER_MAX];       /* tiles from one to the next along an outer dimension */
};

enum dot_extra_kind { EXTRA_MATRIX, EXTRA_COLUMNS };    /* of the result's shape; per column */

struct dot_fused_loops;

struct dot_problem {
    const struct graph *body;
    int node;                           /* the product's */
    int lhs_parameter, rhs_parameter;
    bool is_swapped;                    /* the left operand here is HLO's right one */
    bool is_rhs_transposed;             /* its lanes are contracted */
    bool is_lhs_transposed;             /* its rows are contracted */
    enum graph_precision precision;     /* above the default: both operands are f32 */
    struct dot_matrix lhs, rhs;
    int64_t m, n, k;                    /* the tiled ones, with what follows them */
    int outer_count;                    /* the major ones first, batches before all others */
    struct dot_outer { enum dot_side side; int64_t count; } outer[DOT_OUTER_MAX];
    enum matrix_type lhs_type, rhs_type;
    int group_rows;
    int extra_count;                    /* arrays of the epilogue: results behind operands */
    struct dot_extra {
        struct dot_matrix matrix;
        enum dot_extra_kind kind;
        int node;                       /* parameter, or the node that is a result */
        bool is_result;
    } extra[DOT_ARRAYS_MAX];
    struct fused_cost epilogue;         /* of a register of results, in rounds */
    struct dot_fused_loops *fused;      /* computed around it (kernel_dot_fused.h); or NULL */
};

/* slots that a register of results takes of what is computed of them */
void dot_body_epilogue_cost(const struct graph *body, int dot, const struct chip *chip,
                            struct fused_cost *out);
/* what a graph alone tells: 0, or -1 with the reason */
int dot_body_check(const struct graph *body, const struct chip *chip, struct err *e);

/* the product, NODE_NONE without one, -2 with several */
int dot_body_find(const struct graph *body);
/* the parameter that an operand is, behind conversions that the unit makes itself; else -1 */
int dot_body_parameter(const struct graph *body, int node);
/* the parameter whose elements a broadcast spreads, one per column, bf16 as f32; or NODE_NONE */
int dot_body_vector(const struct graph *body, const struct graph_node *n);
int dot_body_type(enum graph_dtype dtype, enum matrix_type *type);

/*
 * kernel_dot_problem.c: with the arrays of a job; -1 names the layout that is missing. With
 * is_apart, dimensions that the grid counts are not joined, for somebody tells them apart.
 */
int dot_problem_read(struct dot_problem *p, const struct kernel_job *job, bool is_apart,
                     struct err *e);
#endif
