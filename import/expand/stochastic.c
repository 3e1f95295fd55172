/* mulhi, the upper half of a product, and stochastic-convert, which rounds by random bits. */
#include "import/expand/site.h"

#include <math.h>

int expand_mulhi(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    enum hlo_element e = s->from->type->element;
    int bits = hlo_element_bits(e), x = s->operand[0], y = s->operand[1], z, zero;
    bool is_signed = hlo_element_kind(e) == ELEMENT_KIND_SIGNED;

    if (bits == 64)
        return EXPAND_KEEP;             /* words.h */
    if (bits < 32) {
        enum hlo_element wide = is_signed ? ELEMENT_S32 : ELEMENT_U32;

        z = ar_mul(b, hlo_convert(b, x, wide), hlo_convert(b, y, wide));
        return hlo_convert(b, is_signed ? ar_sari(b, z, bits) : ar_shri(b, z, bits), e);
    }
    if (!is_signed)
        return ar_mul_wide(b, x, y, NULL);
    z = hlo_bitcast_convert(b, x, ELEMENT_U32);
    z = ar_mul_wide(b, z, hlo_bitcast_convert(b, y, ELEMENT_U32), NULL);
    z = hlo_bitcast_convert(b, z, ELEMENT_S32);
    zero = ar_int(b, z, 0);
    z = ar_sub(b, z, ar_sel(b, ar_lt(b, x, zero), y, zero));
    return ar_sub(b, z, ar_sel(b, ar_lt(b, y, zero), x, zero));
}

/* a size goes up where the random number is below what is behind its point, both of as many bits */
int expand_stochastic_convert(struct expand_site *s)
{
    struct hlo_builder *b = s->b;
    enum hlo_element e = s->from->type->element;
    int x = s->operand[0], random = s->operand[1], size, whole, limit, up;
    int bits = hlo_element_bits(ar_element(b, random));

    if (!hlo_element_is_integer(e) || !hlo_element_is_float(ar_element(b, x)) || bits > 32)
        return expand_refuse(s, "it makes integers of floats of at most 32 bits");
    x = hlo_convert(b, x, ELEMENT_F32);
    size = ar_abs(b, x);
    whole = ar_floor(b, size);
    /* 24 bits hold a fraction of f32 */
    limit = hlo_convert(b, ar_muln(b, ar_sub(b, size, whole), 0x1p24), ELEMENT_S32);
    limit = hlo_bitcast_convert(b, limit, ELEMENT_U32);
    limit = bits >= 24 ? ar_shli(b, limit, bits - 24) : ar_shri(b, limit, 24 - bits);
    random = hlo_convert(b, random, ELEMENT_U32);
    if (bits < 32)
        random = ar_andi(b, random, ((int64_t)1 << bits) - 1);
    up = ar_lt(b, random, limit);
    size = ar_sel(b, up, ar_addn(b, whole, 1), whole);
    return hlo_convert(b, ar_sel(b, ar_lt(b, x, ar_num(b, x, 0)), ar_neg(b, size), size), e);
}
