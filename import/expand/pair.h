/*
 * Sums of two f32 that nobody rounds, after Dekker and Knuth: the error of a sum or a product of two
 * f32 is an f32 itself. What needs more than 24 bits on its way to an f32 is computed so, and f64 is
 * such a sum altogether (import/types/double.h).
 *
 * Values are instructions of f32 arrays of equal dimensions. No tail is right where the head is not
 * finite, or so small that what it leaves is subnormal.
 */
#ifndef EXPAND_PAIR_H
#define EXPAND_PAIR_H
#include "import/expand/arith.h"

struct pair { int head, tail; };

/* |x| at least |y|, or x is 0 */
struct pair pair_quick_sum(struct hlo_builder *b, int x, int y);
struct pair pair_sum(struct hlo_builder *b, int x, int y);
struct pair pair_product(struct hlo_builder *b, int x, int y);

/* within 2^-46 of the result, as long as x and y are not nearly each other's negative */
struct pair pair_add(struct hlo_builder *b, struct pair x, struct pair y);
struct pair pair_multiply(struct hlo_builder *b, struct pair x, struct pair y);
struct pair pair_scale(struct hlo_builder *b, struct pair x, int y);            /* by an f32 */
/* x / y of numbers near 1, y not 0 */
struct pair pair_divide(struct hlo_builder *b, struct pair x, struct pair y);
struct pair pair_num(struct hlo_builder *b, int like, double value);
#endif
