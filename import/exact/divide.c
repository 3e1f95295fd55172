/* Quotients and roots with one more step: what they leave is exact in a pair, and goes in again. */
#include "import/exact/exact.h"

#include <math.h>

#define SIGN_AND_MANTISSA 0x807fffff
#define EXPONENT 0x7f800000
#define ONE 0x3f800000

/* a normal x as a number from 1 to 2 with its sign, *k its exponent; others as they are, *k 0 */
static int normalize(struct hlo_builder *b, int x, int *k)
{
    int bits = hlo_bitcast_convert(b, x, ELEMENT_S32), exponent = ar_andi(b, bits, EXPONENT);
    int is_normal = ar_and(b, ar_ne(b, exponent, ar_int(b, bits, 0)),
                           ar_ne(b, exponent, ar_int(b, bits, EXPONENT)));
    int m = ar_or(b, ar_and(b, bits, ar_int(b, bits, (int32_t)SIGN_AND_MANTISSA)),
                  ar_int(b, bits, ONE));

    *k = ar_addi(b, ar_sari(b, exponent, 23), -127);
    *k = ar_sel(b, is_normal, *k, ar_int(b, bits, 0));
    return ar_sel(b, is_normal, hlo_bitcast_convert(b, m, ELEMENT_F32), x);
}

int exact_divide(struct hlo_builder *b, int x, int y)
{
    int kx, ky, mx = normalize(b, x, &kx), my = normalize(b, y, &ky), first = ar_div(b, mx, my), q;
    struct pair back = pair_product(b, first, my);
    int rest = ar_sub(b, ar_sub(b, mx, back.head), back.tail);

    q = ar_add(b, first, ar_div(b, rest, my));
    q = ar_sel(b, ar_is_nan(b, q), first, q);           /* of infinities and zeros nothing is left */
    q = ar_sel(b, ar_eq(b, first, ar_num(b, first, 0)), first, q);
    return exact_scale(b, q, ar_sub(b, kx, ky));
}

int exact_sqrt(struct hlo_builder *b, int x)
{
    int one = ar_num(b, x, 1), is_small = ar_lt(b, x, ar_num(b, x, 0x1p-60));
    int is_large = ar_gt(b, x, ar_num(b, x, 0x1p60)), root, rest, y, is_plain, back_by;
    int by = ar_sel(b, is_small, ar_num(b, x, 0x1p64), ar_sel(b, is_large, ar_num(b, x, 0x1p-64), one));
    int scaled = ar_mul(b, x, by);
    struct pair back;

    root = ar_sqrt(b, scaled);
    back = pair_product(b, root, root);
    rest = ar_sub(b, ar_sub(b, scaled, back.head), back.tail);
    y = ar_add(b, root, ar_mul(b, rest, ar_muln(b, ar_rsqrt(b, scaled), 0.5)));
    back_by = ar_sel(b, is_small, ar_num(b, x, 0x1p-32),
                     ar_sel(b, is_large, ar_num(b, x, 0x1p32), one));
    is_plain = ar_and(b, ar_gt(b, x, ar_num(b, x, 0)), ar_lt(b, x, ar_num(b, x, INFINITY)));
    return ar_sel(b, is_plain, ar_mul(b, y, back_by), ar_sqrt(b, x));
}

/* below 2^-12 x is its own sine; the machine's goes by x / (pi / 2), which may be subnormal */
int exact_sin(struct hlo_builder *b, int x)
{
    return ar_sel(b, ar_lt(b, ar_abs(b, x), ar_num(b, x, 0x1p-12)), x, ar_sin(b, x));
}

int exact_tan(struct hlo_builder *b, int x)
{
    int sine = ar_sin(b, x), y = exact_divide(b, sine, ar_cos(b, x));

    return ar_sel(b, ar_lt(b, ar_abs(b, x), ar_num(b, x, 0x1p-12)), x, y);
}
