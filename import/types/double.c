/*
 * Arithmetic of sums of two f32 (import/expand/pair.h). Functions but the root are those of the first
 * part, in f32.
 */
#include "import/types/double.h"

#include "import/expand/pair.h"
#include "import/types/words.h"

#include <math.h>

static struct repr_value make(int head, int tail) { return (struct repr_value){2, {head, tail}}; }

/* |x| at least |y|. A tail of an infinite head would be NaN: it is 0 */
static struct repr_value quick_sum(struct hlo_builder *b, int x, int y)
{
    int head = ar_add(b, x, y), tail = ar_sub(b, y, ar_sub(b, head, x));

    return make(head, ar_sel(b, hlo_unary(b, OPCODE_IS_FINITE, head), tail, ar_num(b, tail, 0)));
}

static struct repr_value exact_sum(struct hlo_builder *b, int x, int y)
{
    struct pair sum = pair_sum(b, x, y);

    return make(sum.head, sum.tail);
}

static struct repr_value exact_product(struct hlo_builder *b, int x, int y)
{
    struct pair product = pair_product(b, x, y);

    return make(product.head, product.tail);
}

struct repr_value double_add(struct hlo_builder *b, struct repr_value x, struct repr_value y)
{
    struct repr_value heads = exact_sum(b, x.part[0], y.part[0]);
    struct repr_value tails = exact_sum(b, x.part[1], y.part[1]);
    struct repr_value sum = quick_sum(b, heads.part[0], ar_add(b, heads.part[1], tails.part[0]));

    sum = quick_sum(b, sum.part[0], ar_add(b, sum.part[1], tails.part[1]));
    return sum;
}

static struct repr_value negate(struct hlo_builder *b, struct repr_value x)
{
    int head = ar_neg(b, x.part[0]);

    return make(head, ar_neg(b, x.part[1]));
}

struct repr_value double_multiply(struct hlo_builder *b, struct repr_value x, struct repr_value y)
{
    struct repr_value product = exact_product(b, x.part[0], y.part[0]);
    int cross = ar_add(b, ar_mul(b, x.part[0], y.part[1]), ar_mul(b, x.part[1], y.part[0]));

    return quick_sum(b, product.part[0], ar_add(b, product.part[1], cross));
}

static struct repr_value from_f32(struct hlo_builder *b, int x)
{
    return make(x, ar_num(b, x, 0));
}

/* the quotient of the heads, then that of what it leaves, twice */
static struct repr_value divide(struct hlo_builder *b, struct repr_value x, struct repr_value y)
{
    int first = ar_div(b, x.part[0], y.part[0]), second, third, is_finite, head;
    struct repr_value rest, q;

    rest = double_add(b, x, negate(b, double_multiply(b, y, from_f32(b, first))));
    second = ar_div(b, rest.part[0], y.part[0]);
    rest = double_add(b, rest, negate(b, double_multiply(b, y, from_f32(b, second))));
    third = ar_div(b, rest.part[0], y.part[0]);
    q = quick_sum(b, first, second);
    q = quick_sum(b, q.part[0], ar_add(b, q.part[1], third));
    /* by zero and of infinities: what the heads say */
    is_finite = hlo_unary(b, OPCODE_IS_FINITE, q.part[0]);
    head = ar_sel(b, is_finite, q.part[0], first);
    return make(head, ar_sel(b, is_finite, q.part[1], ar_num(b, first, 0)));
}

static struct repr_value choose(struct hlo_builder *b, int pred, struct repr_value x,
                                struct repr_value y)
{
    int head = ar_sel(b, pred, x.part[0], y.part[0]);

    return make(head, ar_sel(b, pred, x.part[1], y.part[1]));
}

/* one step of Newton's from the root of the head */
static struct repr_value square_root(struct hlo_builder *b, struct repr_value x)
{
    int root = ar_sqrt(b, x.part[0]), zero = ar_num(b, root, 0), twice, is_plain;
    struct repr_value rest = double_add(b, x, negate(b, exact_product(b, root, root))), y;

    twice = ar_muln(b, root, 2);
    y = quick_sum(b, root, ar_div(b, rest.part[0], twice));
    is_plain = ar_and(b, ar_gt(b, root, zero), hlo_unary(b, OPCODE_IS_FINITE, root));
    return choose(b, is_plain, y, from_f32(b, root));
}

/* by heads; where they are equal by tails */
static int compare(struct hlo_builder *b, enum hlo_direction d, struct repr_value x,
                   struct repr_value y)
{
    int is_equal = ar_eq(b, x.part[0], y.part[0]);

    return ar_sel(b, is_equal, hlo_compare(b, d, x.part[1], y.part[1]),
                  hlo_compare(b, d, x.part[0], y.part[0]));
}

/* whole numbers: where the head is one, the tail decides */
static struct repr_value whole(struct hlo_builder *b, enum hlo_opcode op, struct repr_value x)
{
    int head = hlo_unary(b, op, x.part[0]), is_whole = ar_eq(b, head, x.part[0]);
    int tail = ar_sel(b, is_whole, hlo_unary(b, op, x.part[1]), ar_num(b, head, 0));

    return quick_sum(b, head, tail);
}

struct repr_value double_from_words(struct hlo_builder *b, struct repr_value x, bool is_signed)
{
    int head = words_to_f32(b, x, is_signed), tail;
    struct repr_value rest = words_subtract(b, x, words_from_f32(b, head, is_signed));

    tail = words_to_f32(b, rest, true);
    return make(head, tail);
}

struct repr_value double_to_words(struct hlo_builder *b, struct repr_value x, bool is_signed)
{
    int is_negative = ar_lt(b, x.part[0], ar_num(b, x.part[0], 0));
    struct repr_value above = whole(b, OPCODE_CEIL, x), below = whole(b, OPCODE_FLOOR, x);
    struct repr_value cut = choose(b, is_negative, above, below);
    struct repr_value head = words_from_f32(b, cut.part[0], is_signed);

    return words_add(b, head, words_from_f32(b, cut.part[1], true));
}

/* 23 bits of the mantissa and the exponent are the head, 29 bits the tail */
struct repr_value double_from_bits(struct hlo_builder *b, struct repr_value words)
{
    int low = words.part[0], high = words.part[1], zero = ar_int(b, low, 0);
    int exponent = ar_andi(b, ar_shri(b, high, 20), 0x7ff), sign, mantissa, head, tail, unit;
    int is_small = ar_le(b, exponent, ar_int(b, exponent, 1023 - 127));
    int is_large = ar_gt(b, exponent, ar_int(b, exponent, 1023 + 127)), is_nan, is_inside;

    sign = ar_andi(b, high, 0x80000000);
    mantissa = ar_or(b, ar_shli(b, ar_andi(b, high, 0xfffff), 3), ar_shri(b, low, 29));
    is_nan = ar_and(b, ar_eq(b, exponent, ar_int(b, exponent, 0x7ff)),
                    ar_ne(b, ar_or(b, mantissa, low), zero));
    unit = ar_shli(b, ar_addi(b, exponent, 127 - 1023), 23);
    is_inside = ar_not(b, ar_or(b, is_small, is_large));
    unit = ar_sel(b, is_inside, unit, zero);
    head = ar_sel(b, is_inside, ar_or(b, unit, mantissa),
                  ar_sel(b, is_large, ar_int(b, zero, 0x7f800000), zero));
    tail = hlo_convert(b, hlo_bitcast_convert(b, ar_andi(b, low, 0x1fffffff), ELEMENT_S32),
                       ELEMENT_F32);
    unit = hlo_bitcast_convert(b, ar_or(b, unit, sign), ELEMENT_F32);
    tail = ar_mul(b, ar_muln(b, tail, 0x1p-52), unit);
    head = hlo_bitcast_convert(b, ar_or(b, head, sign), ELEMENT_F32);
    head = ar_sel(b, is_nan, ar_num(b, head, NAN), head);
    return quick_sum(b, head, tail);
}

static int function(struct expand_site *s, struct repr_value x)
{
    struct hlo_builder *b = s->b;

    return repr_make(b, from_f32(b, hlo_unary(b, s->from->op, x.part[0])));
}

static int unary(struct expand_site *s, struct repr_value x)
{
    struct hlo_builder *b = s->b;
    struct repr_value one;
    int is_negative;

    switch (s->from->op) {
    case OPCODE_NEGATE:
        return repr_make(b, negate(b, x));
    case OPCODE_ABS:
        is_negative = ar_lt(b, x.part[0], ar_num(b, x.part[0], 0));
        return repr_make(b, choose(b, is_negative, negate(b, x), x));
    case OPCODE_SQRT:
        return repr_make(b, square_root(b, x));
    case OPCODE_RSQRT:
        one = from_f32(b, ar_num(b, x.part[0], 1));
        return repr_make(b, divide(b, one, square_root(b, x)));
    case OPCODE_FLOOR: case OPCODE_CEIL: case OPCODE_ROUND_NEAREST_EVEN:
    case OPCODE_ROUND_NEAREST_AFZ:
        return repr_make(b, whole(b, s->from->op, x));
    case OPCODE_IS_FINITE:
        return hlo_unary(b, OPCODE_IS_FINITE, x.part[0]);
    case OPCODE_REAL:
        return repr_make(b, x);
    default:
        return function(s, x);
    }
}

static struct repr_value truncated(struct hlo_builder *b, struct repr_value x)
{
    int is_negative = ar_lt(b, x.part[0], ar_num(b, x.part[0], 0));
    struct repr_value above = whole(b, OPCODE_CEIL, x);

    return choose(b, is_negative, above, whole(b, OPCODE_FLOOR, x));
}

static int binary(struct expand_site *s, struct repr_value x, struct repr_value y)
{
    struct hlo_builder *b = s->b;
    struct repr_value q;

    switch (s->from->op) {
    case OPCODE_ADD:
        return repr_make(b, double_add(b, x, y));
    case OPCODE_SUBTRACT:
        return repr_make(b, double_add(b, x, negate(b, y)));
    case OPCODE_MULTIPLY:
        return repr_make(b, double_multiply(b, x, y));
    case OPCODE_DIVIDE:
        return repr_make(b, divide(b, x, y));
    case OPCODE_REMAINDER:
        q = truncated(b, divide(b, x, y));
        return repr_make(b, double_add(b, x, negate(b, double_multiply(b, q, y))));
    case OPCODE_MAXIMUM:
        return repr_make(b, choose(b, ar_or(b, compare(b, HLO_GE, x, y), ar_is_nan(b, x.part[0])),
                                   x, y));
    case OPCODE_MINIMUM:
        return repr_make(b, choose(b, ar_or(b, compare(b, HLO_LE, x, y), ar_is_nan(b, x.part[0])),
                                   x, y));
    case OPCODE_COMPARE:
        return compare(b, s->from->direction, x, y);
    case OPCODE_POWER: case OPCODE_ATAN2:
        return repr_make(b, from_f32(b, hlo_binary(b, s->from->op, x.part[0], y.part[0])));
    default:
        return expand_refuse(s, "nothing expands it for f64");
    }
}

static struct repr_value spread(struct hlo_builder *b, struct repr_value scalar, int like)
{
    int head;

    if (hlo_type_of(b, scalar.part[0])->rank == hlo_type_of(b, like)->rank)
        return scalar;
    head = ar_spread(b, scalar.part[0], like);
    return make(head, ar_spread(b, scalar.part[1], like));
}

int double_elementwise(struct expand_site *s)
{
    struct repr_value x, y, z;
    struct hlo_builder *b = s->b;

    if (s->from->op == OPCODE_REDUCE_PRECISION)
        return expand_refuse(s, "nothing expands it for f64");
    x = repr_operand(s, 0);
    if (s->from->operand_count == 1)
        return unary(s, x);
    y = repr_operand(s, 1);
    if (s->from->operand_count == 2)
        return binary(s, x, y);
    if (s->from->op != OPCODE_CLAMP)
        return expand_refuse(s, "nothing expands it for f64");
    z = repr_operand(s, 2);
    x = spread(b, x, y.part[0]);
    z = spread(b, z, y.part[0]);
    y = choose(b, compare(b, HLO_LT, y, x), x, y);
    return repr_make(b, choose(b, compare(b, HLO_GT, y, z), z, y));
}
