/* e^x, e^x - 1 and the logistic function: x less a multiple of log 2, and a series of what is left. */
#include "import/exact/exact.h"

static int power_of_two(struct hlo_builder *b, int k)
{
    return hlo_bitcast_convert(b, ar_shli(b, ar_addi(b, k, 127), 23), ELEMENT_F32);
}

static int clamp_int(struct hlo_builder *b, int k, int64_t low, int64_t high)
{
    return ar_min(b, ar_max(b, k, ar_int(b, k, low)), ar_int(b, k, high));
}

/* in two steps, as 2^k by itself may be no f32 */
int exact_scale(struct hlo_builder *b, int y, int k)
{
    int all = clamp_int(b, k, -252, 254), half = ar_sari(b, all, 1);

    y = ar_mul(b, y, power_of_two(b, half));
    return ar_mul(b, y, power_of_two(b, ar_sub(b, all, half)));
}

struct pair exact_exp_parts(struct hlo_builder *b, struct pair x, int *k)
{
    static const double series[] = {1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24,
                                    1.0 / 6, 0.5};
    int whole = hlo_unary(b, OPCODE_ROUND_NEAREST_EVEN, ar_muln(b, x.head, 1 / AR_LN2)), curve, tail;
    int high = ar_sub(b, x.head, ar_muln(b, whole, EXACT_LN2_HIGH));
    struct pair rest = pair_sum(b, high, ar_muln(b, whole, -EXACT_LN2_LOW));

    *k = hlo_convert(b, whole, ELEMENT_S32);
    curve = ar_mul(b, ar_mul(b, rest.head, rest.head), ar_poly(b, rest.head, series, 7));
    tail = ar_add(b, rest.tail, x.tail);        /* whose slope is e^rest */
    tail = ar_mul(b, tail, ar_addn(b, ar_add(b, rest.head, curve), 1));
    curve = ar_add(b, curve, tail);
    return pair_quick_sum(b, rest.head, curve);
}

static struct pair plain(struct hlo_builder *b, int x)
{
    return (struct pair){x, ar_num(b, x, 0)};
}

static int clamped(struct hlo_builder *b, int x, double low, double high)
{
    return ar_min(b, ar_max(b, x, ar_num(b, x, low)), ar_num(b, x, high));
}

int exact_exp(struct hlo_builder *b, int x)
{
    int k;
    struct pair p = exact_exp_parts(b, plain(b, clamped(b, x, -110, 100)), &k);

    return exact_scale(b, ar_addn(b, ar_add(b, p.head, p.tail), 1), k);
}

/* 2^k (p + (1 - 2^-k)): the parentheses are a pair, as they may cancel half of p */
int exact_expm1(struct hlo_builder *b, int x)
{
    int k, y, zero, one, inverse;
    struct pair p = exact_exp_parts(b, plain(b, clamped(b, x, -30, 100)), &k), less, sum;

    inverse = power_of_two(b, ar_sub(b, ar_int(b, k, 0), clamp_int(b, k, -126, 126)));
    one = ar_num(b, x, 1);
    less = pair_sum(b, one, ar_neg(b, inverse));
    sum = pair_sum(b, less.head, p.head);
    y = ar_add(b, sum.head, ar_add(b, sum.tail, ar_add(b, less.tail, p.tail)));
    y = exact_scale(b, y, k);
    zero = ar_int(b, k, 0);
    y = ar_sel(b, ar_eq(b, k, zero), ar_add(b, p.head, p.tail), y);
    return ar_sel(b, ar_eq(b, x, ar_num(b, x, 0)), x, y);
}

/* with z = e^-|x|, 1 / (1 + z) or z / (1 + z); the numerator's 2^k comes last, so nothing flushes */
int exact_logistic(struct hlo_builder *b, int x)
{
    int k, z, y, is_below = ar_lt(b, x, ar_num(b, x, 0)), one = ar_num(b, x, 1);
    int size = clamped(b, ar_neg(b, ar_abs(b, x)), -110, 0);
    struct pair p = exact_exp_parts(b, plain(b, size), &k), above, q;

    above = pair_quick_sum(b, one, p.head);
    above.tail = ar_add(b, above.tail, p.tail);
    z = exact_scale(b, above.head, k);
    above.head = ar_sel(b, is_below, above.head, one);
    above.tail = ar_sel(b, is_below, above.tail, ar_num(b, x, 0));
    q = pair_divide(b, above, pair_quick_sum(b, one, z));
    y = ar_add(b, q.head, q.tail);
    return ar_sel(b, is_below, exact_scale(b, y, k), y);
}
