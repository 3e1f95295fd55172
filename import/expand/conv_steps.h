/*
 * A convolution place by place of its window: what stands there, for all windows at once, and the
 * weights that it is multiplied by. Whoever adds the products up says how (import/exact/product.c,
 * convolution.c). Arrays are [batch, feature, space ..], weights [out, in].
 */
#ifndef EXPAND_CONV_STEPS_H
#define EXPAND_CONV_STEPS_H
#include "import/expand/arith.h"

enum { CONV_RANKS = 16 };

struct conv_steps {
    struct hlo_builder *b;
    const struct hlo_instruction *from;
    int space;                          /* dimensions of a window */
    int64_t places;                     /* of a window */
    int64_t batch, groups, in, out;     /* features that go into one, features that come out */
    int64_t result[CONV_RANKS];         /* [batch, out, space ..] */
    int input, kernel;
};

/* false: too many dimensions, or groups of the batch; operands have one element type */
bool conv_steps_begin(struct conv_steps *s, struct hlo_builder *b,
                      const struct hlo_instruction *from, const int *operand);
/* places are counted row-major, as the window lies */
int conv_steps_input(struct conv_steps *s, int64_t place);      /* [batch, groups x in, space ..] */
int conv_steps_kernel(struct conv_steps *s, int64_t place);     /* [out, in] */
/* [batch, out, space ..] in the order of the instruction's result */
int conv_steps_end(struct conv_steps *s, int sum);
#endif
