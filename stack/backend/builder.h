/*
 * Scalar expressions for kernels that compute addresses as they run.
 *
 * A scalar value is an operand: an immediate, or a scalar register taken from
 * the next free one. Registers are given back all at once: keep next_sreg and
 * restore it. Expressions of constants cost nothing.
 */
#ifndef STACK_BUILDER_H
#define STACK_BUILDER_H
#include "stack/hlo/array.h"
#include "stack/backend/emitters.h"

struct builder {
    struct vcode *code;
    const struct chip *chip;
    int next_sreg, sreg_end;            /* free scalar registers */
    bool is_exhausted;                  /* there were not enough: the code is of no use */
    int next_pred;                      /* p1.. take turns */
};

void builder_init(struct builder *k, struct vcode *code, const struct chip *chip);

/* scalar expressions; s32 */
struct isa_operand builder_reg(struct builder *k); /* a free register */
void builder_set(struct builder *k, struct isa_operand to, struct isa_operand from);
struct isa_operand builder_add(struct builder *k, struct isa_operand a, struct isa_operand b);
struct isa_operand builder_sub(struct builder *k, struct isa_operand a, struct isa_operand b);
struct isa_operand builder_mul(struct builder *k, struct isa_operand a, int64_t by);
/* sum + a by; a register of `sum` may be written again */
struct isa_operand builder_add_product(struct builder *k, struct isa_operand sum,
                                       struct isa_operand a, int64_t by);
struct isa_operand builder_and(struct builder *k, struct isa_operand a, int32_t bits);
/* left < 0: to the right */
struct isa_operand builder_shift(struct builder *k, struct isa_operand a, int left);
struct isa_operand builder_min(struct builder *k, struct isa_operand a, struct isa_operand b);
struct isa_operand builder_max(struct builder *k, struct isa_operand a, struct isa_operand b);
/* a += by, in its register; nothing where it is a constant */
void builder_advance(struct builder *k, struct isa_operand a, int64_t by);
/* of 0 <= a < 2^31 by a constant */
struct isa_operand builder_div(struct builder *k, struct isa_operand a, int64_t by);
struct isa_operand builder_mod(struct builder *k, struct isa_operand a, int64_t by);
/* a < b ? x : y, and the same for equality */
struct isa_operand builder_if_less(struct builder *k, struct isa_operand a, struct isa_operand b,
                                   struct isa_operand x, struct isa_operand y);
struct isa_operand builder_if_equal(struct builder *k, struct isa_operand a, struct isa_operand b,
                                    struct isa_operand x, struct isa_operand y);

/* vectors: a scalar in every element; lanes `up` further on, by cross-lane unit 0 */
int builder_splat(struct builder *k, struct isa_operand a);
int builder_rotate_lanes(struct builder *k, int a, struct isa_operand up);

/* in every element the number of its lane, or of its sublane; a mask of numbers below a scalar */
int builder_lane_numbers(struct builder *k);
int builder_sublane_numbers(struct builder *k);
int builder_are_below(struct builder *k, int numbers, struct isa_operand end);

/* until the flag has risen by `granules`, which are taken off */
void builder_await(struct builder *k, struct isa_operand flag, struct isa_operand granules);

/*
 * A loop that goes on while `left` says so: rounds are counted by a register
 * that builder_while_end sets to 2 where a < b and to 1 where not.
 */
struct isa_operand builder_loop_begin(struct builder *k, int64_t count);
void builder_loop_end(struct builder *k, struct isa_operand counter);
void builder_while_end(struct builder *k, struct isa_operand counter, struct isa_operand a,
                       struct isa_operand b);
#endif
