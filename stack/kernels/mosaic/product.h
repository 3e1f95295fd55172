/*
 * Products of a kernel of Pallas, tpu.matmul, in one of two ways.
 *
 * *Pulled*: its weights stand in the matrix units for as long as a loop over row tiles runs, whose
 * iterations push their rows of the left operand and pop their rows of the result, beside all else
 * that they compute (tile_product.c). This is how products and the vector work around them overlap.
 * What the gain registers of all units hold at a time limits it.
 *
 * *A step* of the kernel of products (stack/kernels/dot/kernel_dot_code.h) on operands in VMEM, by
 * itself: weights that are too many for that, integers, several in one (lower_product.c).
 */
#ifndef STACK_KERNELS_MOSAIC_PRODUCT_H
#define STACK_KERNELS_MOSAIC_PRODUCT_H
#include "stack/kernels/dot/kernel_dot_code.h"
#include "stack/kernels/mosaic/tile.h"

/* what a product is of: rows, columns and contraction of one batch */
struct product {
    const struct mosaic_op *op;
    struct mosaic_dot dot;
    int64_t batches, m, n, k;
    struct place lhs, rhs, sum;
    enum matrix_type lhs_type, rhs_type;
    bool is_rhs_transposed;
    bool turns_lhs;                     /* it is contracted along its rows */
    bool is_in_place;                   /* it is added to what stands in `sum`, */
    bool is_first;                      /* or is put there: zeros would stand there else */
    int parts;                          /* of the contraction: each unit sums up one of its own */
};

/* one that loops over row tiles multiply: its right operand stands in memory */
struct pulled {
    struct product p;
    bool has_lhs;                       /* in p.lhs, turned; else the operand is pulled */
};

/*
 * lower_accumulate.c: the buffer that a product is added to and stored back, and the value that the
 * sum is; NULL: it is not. Whether a buffer is one, and of nothing else but loads and stores.
 */
const struct mosaic_value *accumulated(const struct mosaic_kernel *k, const struct mosaic_op *dot,
                                       const struct mosaic_value **sum);
bool accumulates(const struct mosaic_kernel *k, const struct mosaic_value *ref);

/* matrix units whose gain registers hold its weights */
int pulled_units(const struct chip *chip, const struct product *p);
/* whether rows can be pushed by a loop, as far as types and sizes tell */
bool pulled_can(const struct chip *chip, const struct product *p);

/* the weights of all products that the loop at hand has asked for, before it begins */
bool pulled_load(struct tiler *t);
/* weights into the gain registers, right before the first code that multiplies */
void pulled_latch(struct tiler *t, bool is_loop);
/* a tile of the product by itself, without what it is added to */
bool pulled_tile(struct tiler *t, const struct pulled *p, const struct tile_at *at, opnd *out);
#endif
