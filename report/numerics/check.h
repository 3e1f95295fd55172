/*
 * Numerics measured on a simulated core: operations of the vector and the
 * transcendental unit, products of the matrix units.
 *
 * Each operation is a small assembled program that runs on the machine over
 * tiles in VMEM, so what is measured is what a program gets. Results are
 * compared with exact integers or with double arithmetic, in units of the last
 * place (ulp), and held against the bound that follows from the operation, its
 * length and its type (docs/numerics.md).
 *
 * An ulp is that of the exact result, not less than that of 2^-126. A result
 * of another kind than the exact one (NaN, infinity, zero, sign of zero) is
 * wrong, whatever the bound.
 */
#ifndef REPORT_CHECK_H
#define REPORT_CHECK_H
#include "base/arena.h"
#include "base/err.h"
#include "base/rng.h"
#include "sim/machine/machine.h"

#include <stdbool.h>
#include <stdio.h>

/* what is fed to an operation */
enum check_inputs {
    INPUTS_HEAVY,                       /* near-normal over the root of a uniform: long tails */
    INPUTS_WIDE,                        /* any sign, fraction and exponent that is a number */
    INPUTS_CANCEL,                      /* pairs that nearly cancel; alone: close to 1 or -1 */
    INPUTS_EDGES,                       /* boundary values, each with each */
    INPUTS_BITS,                        /* any bits */
    INPUTS_COUNT
};
const char *check_inputs_name(enum check_inputs inputs);

/* what an operation works on */
enum check_unit {
    CHECK_LANES,                        /* operands in v0 and v1, result in v2, word by word */
    CHECK_ROWS,                         /* v0; the same result in every lane of a row of v2 */
    CHECK_SCALAR                        /* operands in s1 and s2, result in s3 */
};

/*
 * An operation. The body of its program finds operands and leaves its result as
 * enum check_unit says; v3 to v15, s4 to s15, p1, vm0 and vm1 are free. Either
 * `exact` (on operands without subnormals, as doubles) or `bits` (to be met bit
 * for bit) is the reference. A row's reference folds its lanes by `exact`; with
 * a bound above 0.5 ulp it is a sum, whose bound is that many roundings of the
 * sum of the sizes.
 */
struct check_op {
    const char *name, *dtype;
    enum check_unit unit;
    int arity;
    const char *body;
    double (*exact)(double a, double b);
    uint32_t (*bits)(uint32_t a, uint32_t b);
    int digits;                         /* of an `exact` result: 24 = f32, 8 = bf16 */
    double bound_ulp;                   /* 0.5: rounded to nearest even, so the bits are known */
    bool is_integer;                    /* edges are whole numbers */
    unsigned inputs;                    /* bit per enum check_inputs */
    int operand_digits;                 /* operands are rounded to so many first; 0 = as they are */
};

extern const struct check_op check_ops[];
extern const size_t check_op_count;

/*
 * Products of matrices, by parts of the operands where a type needs several
 * passes. `storage` is the type in memory: "f32" for dtype bf16 too, where the
 * unit rounds on entry.
 */
#define CHECK_PASS_MAX 6
struct check_product {
    const char *name, *dtype, *storage; /* "matmul", "bf16", "f32" */
    int pass_count, part_count;
    struct { int lhs, rhs; } pass[CHECK_PASS_MAX];      /* numbers of parts, in order */
    bool is_rounded;                    /* the reference takes operands rounded to bf16 */
    /* of the error over the sum of |a||b|, for a contraction in blocks of the array's rows */
    double (*bound)(const struct check_product *p, int64_t length, int64_t block_length);
    int precision;                      /* for bound's use */
};

struct check_row {
    const char *name, *dtype, *inputs;
    char shape[32];                     /* "K 2048, N 256", "lanes", "rows of lanes" */
    int passes;                         /* 0 where there are none */
    int64_t count, wrong_count;
    double max_ulp, p999_ulp, mean_ulp, max_relative;
    char bound[32];                     /* "0.5 ulp", "exact", "3.05e-05 S" with S = sum |a||b| */
    double worst_share;                 /* largest error over its bound; at most 1 */
    double blas_max_ulp, blas_mean_ulp; /* OpenBLAS on the same operands; NAN = none */
    char example[120];                  /* first wrong or worst result, for a failed row */
    bool has_passed;
};

/* The same dot products, added in another order: against the chain of the matrix unit. */
struct check_order {
    const char *name, *inputs;
    int64_t length, count;
    double same_share;                  /* of results with the same bits */
    double max_difference_ulp, mean_difference_ulp;
    double max_ulp, mean_ulp;           /* its own error against double */
};

struct check_left_out {
    char what[64], why[120];
};

struct check {
    struct machine *machine;            /* one core of it is used */
    struct slice slice;
    struct chip chip;
    const char *simd;
    struct arena arena, scratch;        /* programs; data of one run */
    int64_t sample_count;
    uint64_t seed;
    struct check_row *row;
    size_t row_count, row_capacity;
    struct check_order *order;
    size_t order_count, order_capacity;
    struct check_left_out *left_out;    /* what this chip cannot run, and why */
    size_t left_out_count, left_out_capacity;
};

/* What is pointed to is copied. -1 with *e as machine_create. */
int check_init(struct check *c, const struct slice *slice, const struct chip *chip,
               const char *simd, struct err *e);
void check_fini(struct check *c);

/* Run one and add its rows; what does not fit the chip is left out with a reason. */
int check_run_op(struct check *c, const struct check_op *op, struct err *e);
int check_run_product(struct check *c, const struct check_product *p, struct err *e);
int check_run_orders(struct check *c, struct err *e);

size_t check_failed_count(const struct check *c);
void check_print_summary(const struct check *c, FILE *to);  /* kinds of inputs together */
void check_print_rows(const struct check *c, FILE *to);     /* a row each */
void check_print_left_out(const struct check *c, FILE *to);
void check_print_orders(const struct check *c, FILE *to);
void check_print_csv(const struct check *c, FILE *to);
int check_print_json(const struct check *c, FILE *to);   /* -1 when memory or `to` ran out */
#endif
