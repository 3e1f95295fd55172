/* What the files that expand operations share: a kernel that is copied, and operations put into it. */
#ifndef STACK_KERNELS_MOSAIC_EXPAND_IMPL_H
#define STACK_KERNELS_MOSAIC_EXPAND_IMPL_H
#include "stack/kernels/mosaic/expand/expand.h"

struct expand {
    const struct mosaic_kernel *from;
    struct mosaic_kernel *to;
    const struct chip *chip;
    struct arena *a;
    struct mosaic_value **value;        /* the new one, by the id of the old one */
    struct mosaic_op **list;            /* of the block at hand */
    int count;
    size_t capacity;
    const struct mosaic_op *at;         /* that is expanded */
    int calls;                          /* one in another */
    bool is_changed;                    /* the copy is not what it is a copy of */
    struct err *err;
};

typedef struct mosaic_value *expanded;  /* short, since formulas are written with it */

static inline expanded expand_operand(struct expand *e, const struct mosaic_op *op, int operand)
{
    return e->value[op->operand[operand]->id];
}
/* an operation of these operands; its result */
expanded expand_op(struct expand *e, enum mosaic_code code, const struct mosaic_type *type,
                   const expanded *operand, int count, const struct mosaic_attr *attr,
                   int attr_count);
expanded expand_op1(struct expand *e, enum mosaic_code code, const struct mosaic_type *type,
                    expanded a);
expanded expand_op2(struct expand *e, enum mosaic_code code, const struct mosaic_type *type,
                    expanded a, expanded b);
/* a constant of that type, all of whose elements are this word */
expanded expand_constant(struct expand *e, const struct mosaic_type *type, uint32_t word);
struct mosaic_type expand_type(const struct mosaic_type *t, enum mosaic_element element);

/*
 * Integers of 2, 4 and 16 bits (narrow.c): elements of 8 and 32 bits stand for them, whose
 * values theirs are. What arithmetic makes is wrapped; who reads a value without its sign gets its bits.
 */
enum mosaic_element expand_wider(enum mosaic_element e);
struct mosaic_type *expand_wider_arrays(const struct mosaic_kernel *k, struct arena *a);
bool expand_is_narrow(const struct mosaic_block *b);    /* there are such values in it */
expanded expand_unsigned(struct expand *e, const struct mosaic_op *op, expanded x, int operand);
int expand_wrap(struct expand *e, const struct mosaic_op *op);
int expand_check_bits(struct expand *e, const struct mosaic_op *op);     /* packs.c */

/* the value that an operation of such operands has made in the block at hand; NULL: none (same.c) */
expanded expand_repeated(const struct expand *e, const struct mosaic_op *op,
                     struct mosaic_value *const *operand);

/*
 * A product as one of matrices (dims.c): its operands, and the text of its dimension numbers where they
 * are others. false: it is one.
 */
struct expand_dot { expanded lhs, rhs, sum; struct mosaic_dot d; const char *numbers; };
bool expand_dims(struct expand *e, const struct mosaic_op *op, const struct mosaic_dot *d,
                 struct expand_dot *dot);
expanded expand_undo_dims(struct expand *e, const struct mosaic_op *op, expanded result);

/* dimension number order[d] of x as dimension d (transpose.c) */
expanded expand_transposed(struct expand *e, expanded x, const int64_t *order);

/* an operation of its own kind: false where it stays; *result stands for its result */
typedef bool expand_rule(struct expand *e, const struct mosaic_op *op, expanded *result);
expand_rule expand_product, expand_reduction, expand_index, expand_bits, expand_rotation;
expand_rule expand_remainder, expand_reshape, expand_transpose;
expand_rule expand_pack, expand_unpack, expand_stochastic, expand_bitcast;
#endif
