/* Sums of two f32: the additions and products of Dekker and Knuth. */
#include "import/expand/pair.h"

struct pair pair_quick_sum(struct hlo_builder *b, int x, int y)
{
    int head = ar_add(b, x, y);

    return (struct pair){head, ar_sub(b, y, ar_sub(b, head, x))};
}

struct pair pair_sum(struct hlo_builder *b, int x, int y)
{
    int head = ar_add(b, x, y), moved = ar_sub(b, head, x);
    int tail = ar_add(b, ar_sub(b, x, ar_sub(b, head, moved)), ar_sub(b, y, moved));

    return (struct pair){head, tail};
}

/* the upper 12 bits of the mantissa by themselves: products of halves are exact */
static void halves(struct hlo_builder *b, int x, int *high, int *low)
{
    *high = hlo_bitcast_convert(b, ar_andi(b, hlo_bitcast_convert(b, x, ELEMENT_U32), 0xfffff000),
                                ELEMENT_F32);
    *low = ar_sub(b, x, *high);
}

struct pair pair_product(struct hlo_builder *b, int x, int y)
{
    int head = ar_mul(b, x, y), x1, x0, y1, y0, tail;

    halves(b, x, &x1, &x0);
    halves(b, y, &y1, &y0);
    tail = ar_sub(b, ar_mul(b, x1, y1), head);
    tail = ar_add(b, ar_add(b, tail, ar_mul(b, x1, y0)), ar_mul(b, x0, y1));
    return (struct pair){head, ar_add(b, tail, ar_mul(b, x0, y0))};
}

struct pair pair_add(struct hlo_builder *b, struct pair x, struct pair y)
{
    struct pair heads = pair_sum(b, x.head, y.head), tails = pair_sum(b, x.tail, y.tail);
    struct pair sum = pair_quick_sum(b, heads.head, ar_add(b, heads.tail, tails.head));

    return pair_quick_sum(b, sum.head, ar_add(b, sum.tail, tails.tail));
}

struct pair pair_multiply(struct hlo_builder *b, struct pair x, struct pair y)
{
    struct pair product = pair_product(b, x.head, y.head);
    int cross = ar_add(b, ar_mul(b, x.head, y.tail), ar_mul(b, x.tail, y.head));

    return pair_quick_sum(b, product.head, ar_add(b, product.tail, cross));
}

struct pair pair_scale(struct hlo_builder *b, struct pair x, int y)
{
    struct pair product = pair_product(b, x.head, y);

    return pair_quick_sum(b, product.head, ar_add(b, product.tail, ar_mul(b, x.tail, y)));
}

/* the quotient of the heads, and that of what it leaves */
struct pair pair_divide(struct hlo_builder *b, struct pair x, struct pair y)
{
    int q = ar_div(b, x.head, y.head);
    struct pair back = pair_product(b, q, y.head);
    int rest = ar_sub(b, ar_sub(b, x.head, back.head), back.tail);

    rest = ar_add(b, rest, ar_sub(b, x.tail, ar_mul(b, q, y.tail)));
    return pair_quick_sum(b, q, ar_div(b, rest, y.head));
}

struct pair pair_num(struct hlo_builder *b, int like, double value)
{
    float head = (float)value;
    int at = ar_num(b, like, head);

    return (struct pair){at, ar_num(b, like, value - (double)head)};
}
