/*
 * Sums and extremes of integers along lanes, by cross-lane units that know floats only.
 *
 * A unit that rotated seven times would take seven of its latencies. Half words are exact as floats,
 * and so are sums of 128 of them: an extreme is that of the high halves, then of the low halves beside
 * it; a sum is two.
 */
#include "stack/kernels/loop/fused_impl.h"

enum {
    HALF_BITS = 16, HALF_MASK = 0xffff,
    MINUS_ONE = (int)0xbf800000, BEHIND_HALF = 0x47800000,      /* f32: -1; 65,536 */
};

bool fused_lanes_have_unit(enum graph_reduce kind)
{
    return kind == REDUCE_ADD || kind == REDUCE_MAX || kind == REDUCE_MIN;
}

opnd fused_across_lanes(struct vcode *c, int unit, enum graph_reduce kind, opnd x)
{
    int v = vcode_in_register(c, x);

    return R(kind == REDUCE_ADD   ? emit_vadd_xlane(c, unit, v)
             : kind == REDUCE_MAX ? emit_vmax_xlane(c, unit, v)
                                  : emit_vmin_xlane(c, unit, v));
}

static opnd as_float(struct vcode *c, opnd x) { return R(emit_vcvt_f32_s32(c, x)); }
static opnd as_integer(struct vcode *c, opnd x) { return R(emit_vcvt_s32_f32(c, x)); }

opnd fused_small_across_lanes(struct vcode *c, int unit, enum graph_reduce kind, opnd x)
{
    return as_integer(c, fused_across_lanes(c, unit, kind, as_float(c, x)));
}

static opnd high_half(struct vcode *c, bool is_unsigned, opnd x)
{
    return is_unsigned ? right(c, x, I(HALF_BITS)) : R(emit_vshra_s32(c, x, I(HALF_BITS)));
}

/* halves are made when they are wanted: while the unit works, one register waits, not two */
opnd fused_integers_across_lanes(struct vcode *c, int unit, int other, enum graph_reduce kind,
                                 bool is_unsigned, opnd x)
{
    bool is_sum = kind == REDUCE_ADD;
    opnd best = fused_small_across_lanes(c, unit, kind, high_half(c, is_unsigned || is_sum, x)), low;

    low = as_float(c, bit_and(c, x, I(HALF_MASK)));
    if (!is_sum) {                      /* of those alone whose high half is the best */
        int is_best = emit_vcmp_eq_s32(c, high_half(c, is_unsigned, x), best);

        low = choose(c, is_best, low, I(kind == REDUCE_MAX ? MINUS_ONE : BEHIND_HALF));
    }
    low = as_integer(c, fused_across_lanes(c, other, kind, low));
    return iadd(c, left(c, best, I(HALF_BITS)), low);
}
