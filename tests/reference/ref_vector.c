/*
 * The vector ALUs, lane by lane: docs/numerics.md. Masks, too.
 */
#include "base/threefry.h"
#include "sim/lanes/f32_exact.h"
#include "tests/reference/ref_impl.h"
#include "tests/reference/ref_pack.h"
#include "tests/test.h"

#define F(bits) f32_from_bits(bits)

/* every word of the result out of the words a and b of the operands */
#define EACH_LANE for (int i = 0; i < 8; i++) for (int j = 0; j < LANES; j++)

#define BINARY(id, expression) \
    void ref_##id(struct ref_op *x) \
    { \
        const uint32_t (*one)[LANES] = ref_v(x, 1), (*two)[LANES] = ref_v(x, 2); \
        EACH_LANE { \
            uint32_t a = one[i][j], b = two[i][j]; \
            x->tile[i][j] = (expression); \
        } \
    }

#define UNARY(id, expression) \
    void ref_##id(struct ref_op *x) \
    { \
        const uint32_t (*one)[LANES] = ref_v(x, 1); \
        EACH_LANE { \
            uint32_t a = one[i][j]; \
            x->tile[i][j] = (expression); \
        } \
    }

BINARY(VADD_F32, f32_bits(f32_add(F(a), F(b))))
BINARY(VSUB_F32, f32_bits(f32_sub(F(a), F(b))))
BINARY(VMUL_F32, f32_bits(f32_mul(F(a), F(b))))
BINARY(VMAX_F32, f32_bits(f32_max(F(a), F(b))))
BINARY(VMIN_F32, f32_bits(f32_min(F(a), F(b))))
BINARY(VCLAMPS_F32, f32_bits(f32_min(f32_max(F(a), F(b ^ 0x80000000u)), F(b))))
BINARY(VADD_LOW_BF16, f32_bits(f32_add(F(a), F(b << 16))))
BINARY(VADD_S32, a + b)
BINARY(VSUB_S32, a - b)
BINARY(VMUL_U32, (uint32_t)((uint64_t)a * b))
BINARY(VMUL_U64_LOW, (uint32_t)((uint64_t)a * b))
BINARY(VMUL_U64_HIGH, (uint32_t)((uint64_t)a * b >> 32))
BINARY(VAND_U32, a & b)
BINARY(VOR_U32, a | b)
BINARY(VXOR_U32, a ^ b)
BINARY(VSHLL_U32, b < 32 ? a << b : 0)
BINARY(VSHRL_U32, b < 32 ? a >> b : 0)
BINARY(VSHRA_S32, (uint32_t)((int32_t)a >> (b < 31 ? b : 31)))

static uint32_t logic(int which, uint32_t a, uint32_t b)
{
    return which == 0 ? a & b : which == 1 ? a | b : a ^ b;
}

BINARY(VLOGIC_PACKED, logic(ref_choice(x, 0), a, b))

static uint32_t extreme(bool is_min, bool is_unsigned, uint32_t a, uint32_t b)
{
    bool is_less = is_unsigned ? a < b : (int32_t)a < (int32_t)b;

    return is_less == is_min ? a : b;
}

BINARY(VMAX_INT, extreme(ref_choice(x, 0) == 1, ref_choice(x, 1) == 1, a, b))

/* bf16 in f32 and back */
static uint32_t bf16_arithmetic(int which, uint32_t a, uint32_t b)
{
    float one = F(a << 16), two = F(b << 16);

    switch (which) {
    case 0: return bf16_from_f32(f32_add(one, two));
    case 1: return bf16_from_f32(f32_sub(one, two));
    case 2: return bf16_from_f32(f32_mul(one, two));
    case 3: return bf16_from_f32(f32_max(one, two));
    default: return bf16_from_f32(f32_min(one, two));
    }
}

BINARY(VARITH_BF16, bf16_arithmetic(ref_choice(x, 0), a, b)
                    | bf16_arithmetic(ref_choice(x, 0), a >> 16, b >> 16) << 16)

static uint32_t stochastic(uint32_t a, uint32_t random)
{
    if (isnan(F(a)))
        return 0x7fc0;
    if (!isinf(F(a)))
        a = f32_flush_bits(a) + (random & 0xffff);
    return a >> 16;
}

BINARY(VCVT_SR_BF16, stochastic(a, b))

/* ties: 0 to even, 1 away from zero */
static float round_to_whole(int which, float a)
{
    float whole;

    a = f32_flush(a);
    if (isnan(a))
        return f32_nan();
    switch (which) {
    case 0: whole = nearbyintf(a); break;
    case 1: whole = roundf(a); break;
    case 2: whole = ceilf(a); break;
    case 3: whole = floorf(a); break;
    default: whole = truncf(a); break;
    }
    return copysignf(whole, a);
}

UNARY(VROUND_F32, f32_bits(round_to_whole(ref_choice(x, 0), F(a))))

static uint32_t ones(uint32_t a)
{
    uint32_t count = 0;

    for (; a; a >>= 1)
        count += a & 1;
    return count;
}

static uint32_t leading_zeros(uint32_t a)
{
    uint32_t count = 32;

    for (; a; a >>= 1)
        count--;
    return count;
}

UNARY(VCLZ, leading_zeros(a))
UNARY(VPCNT, ones(a))
UNARY(VCVT_F32_S32, f32_bits(f32_round((double)(int32_t)a)))
UNARY(VCVT_S32_F32, (uint32_t)f32_to_s32(F(a)))
UNARY(VCVT_F32_FP8, ref_f32_from_fp8(ref_choice(x, 0), a & 0xff))
UNARY(VCVT_FP8_F32, ref_fp8_from_f32(ref_choice(x, 0), a))
UNARY(VMOV, a)

void ref_VSTV(struct ref_op *x)
{
    EACH_LANE
        x->tile[i][j] = (uint32_t)ref_s(x, 1);
}

void ref_VLANESEQ(struct ref_op *x)
{
    EACH_LANE
        x->tile[i][j] = (uint32_t)(LANES * i + j);
}

void ref_VROT_SLANE(struct ref_op *x)
{
    const uint32_t (*a)[LANES] = ref_v(x, 1);

    EACH_LANE
        x->tile[i][j] = a[((uint32_t)i + (uint32_t)ref_s(x, 2)) % 8][j];
}

void ref_VPERM_SLANE(struct ref_op *x)
{
    const uint32_t (*a)[LANES] = ref_v(x, 1);

    EACH_LANE
        x->tile[i][j] = a[(uint32_t)ref_s(x, 2) >> 4 * i & 7][j];
}

void ref_VCOMBINE(struct ref_op *x)
{
    const uint32_t (*a)[LANES] = ref_v(x, 1), (*b)[LANES] = ref_v(x, 2);
    int first = ref_choice(x, 0) ? 4 : 0;

    EACH_LANE
        x->tile[i][j] = (i < 4 ? a : b)[first + i % 4][j];
}

void ref_VRNG(struct ref_op *x)
{
    const uint32_t key[2] = {x->c->rng_seed, (uint32_t)x->c->number};

    for (uint32_t block = 0; block < 512; block++) {
        const uint32_t counter[2] = {block, x->c->rng_draw};
        uint32_t out[2];

        threefry_2x32(key, counter, out);
        x->tile[block / LANES][block % LANES] = out[0];
        x->tile[block / LANES + 4][block % LANES] = out[1];
    }
    x->c->rng_draw++;
}

/* masks: compares set both halves alike */
#define COMPARE(id, expression) \
    void ref_##id(struct ref_op *x) \
    { \
        const uint32_t (*one)[LANES] = ref_v(x, 1), (*two)[LANES] = ref_v(x, 2); \
        EACH_LANE { \
            uint32_t a = one[i][j], b = two[i][j]; \
            x->mask.half[0][i][j] = x->mask.half[1][i][j] = (expression); \
        } \
    }

/* eq, ne, lt, le, gt, ge; NaN makes all false but ne */
static bool holds(int relation, double a, double b)
{
    const bool results[] = {a == b, !(a == b), a < b, a <= b, a > b, a >= b};

    return results[relation];
}

static bool holds_f32(int relation, uint32_t a, uint32_t b)
{
    return holds(relation, (double)f32_flush(F(a)), (double)f32_flush(F(b)));
}

COMPARE(VCMP_EQ_F32, holds_f32(0, a, b))
COMPARE(VCMP_NE_F32, holds_f32(1, a, b))
COMPARE(VCMP_LT_F32, holds_f32(2, a, b))
COMPARE(VCMP_LE_F32, holds_f32(3, a, b))
COMPARE(VCMP_GT_F32, holds_f32(4, a, b))
COMPARE(VCMP_GE_F32, holds_f32(5, a, b))
COMPARE(VCMP_EQ_S32, a == b)
COMPARE(VCMP_NE_S32, a != b)
COMPARE(VCMP_LT_S32, (int32_t)a < (int32_t)b)
COMPARE(VCMP_LE_S32, (int32_t)a <= (int32_t)b)
COMPARE(VCMP_GT_S32, (int32_t)a > (int32_t)b)
COMPARE(VCMP_GE_S32, (int32_t)a >= (int32_t)b)
COMPARE(VCMP_U32, holds(ref_choice(x, 0), a, b))
COMPARE(VC_U32, (uint64_t)a + b >= 1ull << 32)

void ref_VCMP_BF16(struct ref_op *x)
{
    const uint32_t (*a)[LANES] = ref_v(x, 1), (*b)[LANES] = ref_v(x, 2);

    EACH_LANE {
        x->mask.half[0][i][j] = holds_f32(ref_choice(x, 0), a[i][j] << 16, b[i][j] << 16);
        x->mask.half[1][i][j] = holds_f32(ref_choice(x, 0), a[i][j] & 0xffff0000u,
                                          b[i][j] & 0xffff0000u);
    }
}

void ref_VWEIRD_F32(struct ref_op *x)
{
    const uint32_t (*a)[LANES] = ref_v(x, 1);

    EACH_LANE
        x->mask.half[0][i][j] = x->mask.half[1][i][j] = !isfinite(F(a[i][j]));
}

void ref_VNEZ(struct ref_op *x)
{
    const uint32_t (*a)[LANES] = ref_v(x, 1);

    EACH_LANE
        x->mask.half[0][i][j] = x->mask.half[1][i][j] = a[i][j] != 0;
}

void ref_VCMASK(struct ref_op *x)
{
    int32_t b = x->op->operand[1].value;

    EACH_LANE {
        bool is_inside = i >= (b & 7) && i <= (b >> 10 & 7) && j >= (b >> 3 & 127)
                         && j <= (b >> 13 & 127);

        x->mask.half[0][i][j] = x->mask.half[1][i][j] = is_inside;
    }
}

#define LOGIC(id, expression) \
    void ref_##id(struct ref_op *x) \
    { \
        const struct ref_mask *one = ref_m(x, 1), *two = ref_m(x, 2); \
        for (int half = 0; half < 2; half++) \
            EACH_LANE { \
                bool a = one->half[half][i][j], b = two->half[half][i][j]; \
                (void)b; \
                x->mask.half[half][i][j] = (expression); \
            } \
    }

LOGIC(VMAND, a && b)
LOGIC(VMOR, a || b)
LOGIC(VMXOR, a != b)
LOGIC(VMNEG, !a)
LOGIC(VMMOV, a)

/* rows 2i and 2i + 1 of the packed tile share a word: 0..7 from o2, 8..15 from o1 */
void ref_VMPACKC(struct ref_op *x)
{
    const struct ref_mask *upper = ref_m(x, 1), *lower = ref_m(x, 2);

    for (int half = 0; half < 2; half++)
        EACH_LANE {
            int row = 2 * i + half;

            x->mask.half[half][i][j] = row < 8 ? lower->half[0][row][j]
                                               : upper->half[0][row - 8][j];
        }
}

void ref_VSEL(struct ref_op *x)
{
    const struct ref_mask *m = ref_m(x, 1);
    const uint32_t (*a)[LANES] = ref_v(x, 2), (*b)[LANES] = ref_v(x, 3);

    EACH_LANE {
        uint32_t low = (m->half[0][i][j] ? a : b)[i][j], high = (m->half[1][i][j] ? a : b)[i][j];

        x->tile[i][j] = (low & 0xffff) | (high & 0xffff0000u);
    }
}
