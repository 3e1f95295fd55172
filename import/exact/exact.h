/*
 * The exact form of a program: functions of f32 within one unit of the last place or so, short sums
 * and small products as they are defined, one element after the other, where the compiler's own forms
 * are those of the machine (docs/numerics.md). It costs tens of instructions for one, so only who
 * asks for it gets it.
 *
 * exact_sums runs on a program as it was read, exact_functions when types are the compiler's.
 */
#ifndef EXACT_H
#define EXACT_H
#include "import/expand/pair.h"

/* SMALL: functions, and of sums and products those of few elements in all, which cost little */
enum exact_form { EXACT_NOTHING, EXACT_SMALL, EXACT_ALL };

/* log 2 in two parts, of which the first has 9 bits: whole numbers below 2^15 times it are exact */
#define EXACT_LN2_HIGH 0.693359375
#define EXACT_LN2_LOW (AR_LN2 - EXACT_LN2_HIGH)

int exact_sums(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
               struct err *e);
int exact_small_sums(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                     struct err *e);
int exact_functions(const struct hlo_module *old, struct hlo_module *made, struct arena *a,
                    struct err *e);

/* y 2^k, k an s32 from -252 to 254 (others are taken for the nearest) */
int exact_scale(struct hlo_builder *b, int y, int k);
/* a whole s32 k, and e^(x.head + x.tail) / 2^k - 1, which is from -0.3 to 0.42 */
struct pair exact_exp_parts(struct hlo_builder *b, struct pair x, int *k);
/* x 2^-k from sqrt(1/2) to sqrt(2); x is normal and above 0 */
int exact_mantissa(struct hlo_builder *b, int x, int *k);

/* -1: it adds too many products, has more than `most` in all, or none */
int exact_dot(struct hlo_builder *b, const struct hlo_instruction *from, const int *operand,
              int64_t most);
int exact_convolution(struct hlo_builder *b, const struct hlo_instruction *from,
                      const int *operand, int64_t most);

/* functions of f32 arrays: within how many ulp stands in docs/numerics.md */
int exact_exp(struct hlo_builder *b, int x);
int exact_erf(struct hlo_builder *b, int x);
int exact_expm1(struct hlo_builder *b, int x);
int exact_logistic(struct hlo_builder *b, int x);
int exact_log(struct hlo_builder *b, int x);
int exact_log1p(struct hlo_builder *b, int x);
int exact_power(struct hlo_builder *b, int x, int y);
int exact_divide(struct hlo_builder *b, int x, int y);
int exact_sqrt(struct hlo_builder *b, int x);
int exact_sin(struct hlo_builder *b, int x);
int exact_tan(struct hlo_builder *b, int x);
#endif
