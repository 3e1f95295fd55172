/* Arithmetic that takes several instructions: whole products of words, numbers of elements. */
#include "import/expand/arith.h"

/* 16 by 16 bits at a time: sums of two such products and a carry fit a word */
int ar_mul_wide(struct hlo_builder *b, int x, int y, int *low)
{
    int x0 = ar_andi(b, x, 0xffff), x1 = ar_shri(b, x, 16);
    int y0 = ar_andi(b, y, 0xffff), y1 = ar_shri(b, y, 16);
    int first = ar_shri(b, ar_mul(b, x0, y0), 16);
    int cross = ar_add(b, ar_mul(b, x1, y0), first);
    int other = ar_add(b, ar_mul(b, x0, y1), ar_andi(b, cross, 0xffff));

    if (low)
        *low = ar_mul(b, x, y);
    return ar_add(b, ar_mul(b, x1, y1),
                  ar_add(b, ar_shri(b, cross, 16), ar_shri(b, other, 16)));
}

int ar_count(struct hlo_builder *b, int rank, const int64_t *dim)
{
    struct hlo_type t = hlo_array_type(b->module->arena, ELEMENT_U32, rank, dim);
    int sum = -1;
    int64_t step = 1;

    for (int d = rank - 1; d >= 0; d--) {
        if (dim[d] > 1) {
            int part = hlo_iota(b, &t, d);

            part = step == 1 ? part : ar_mul(b, part, ar_int(b, part, step));
            sum = sum < 0 ? part : ar_add(b, sum, part);
        }
        step *= dim[d];
    }
    return sum < 0 ? hlo_constant_int(b, &t, 0) : sum;
}
