/*
 * Packing and unpacking, and fp8: docs/numerics.md.
 */
#include "tests/reference/ref_pack.h"

#include "sim/lanes/f32_exact.h"
#include "tests/test.h"

/* with P values of 32 / P bits per word, row r is in sublane r / P, at bit (r mod P) * 32 / P */
uint32_t ref_packed(const uint32_t (*tile)[LANES], int bits, int row, int lane)
{
    int per_word = 32 / bits;
    uint64_t word = tile[row / per_word][lane];

    return (uint32_t)(word >> row % per_word * bits & ((1ull << bits) - 1));
}

static void put(ref_tile tile, int bits, int row, int lane, uint32_t value)
{
    int per_word = 32 / bits, shift = row % per_word * bits;
    uint32_t all = bits == 32 ? ~0u : (1u << bits) - 1;
    uint32_t *word = &tile[row / per_word][lane];

    *word = (*word & ~(all << shift)) | (value & all) << shift;
}

/* rows of o2, then of o1, each made narrow */
static void pack(struct ref_op *x, int from_bits, int to_bits, uint32_t (*narrow)(uint32_t))
{
    const uint32_t (*upper)[LANES] = ref_v(x, 1), (*lower)[LANES] = ref_v(x, 2);
    int rows = 256 / from_bits;

    for (int r = 0; r < 2 * rows; r++)
        for (int j = 0; j < LANES; j++)
            put(x->tile, to_bits, r, j, narrow(ref_packed(r < rows ? lower : upper, from_bits,
                                                          r % rows, j)));
}

/* low half of each word from o2, high half from o1 */
static void interleave(struct ref_op *x, uint32_t (*narrow)(uint32_t))
{
    const uint32_t (*high)[LANES] = ref_v(x, 1), (*low)[LANES] = ref_v(x, 2);

    for (int i = 0; i < 8; i++)
        for (int j = 0; j < LANES; j++)
            x->tile[i][j] = narrow(low[i][j]) | narrow(high[i][j]) << 16;
}

/* `count` rows of o1 from row `first` on, each made wide */
static void unpack(struct ref_op *x, int from_bits, int to_bits, int first,
                   uint32_t (*widen)(uint32_t))
{
    const uint32_t (*a)[LANES] = ref_v(x, 1);
    ref_tile out;

    for (int r = 0; r < 256 / to_bits; r++)
        for (int j = 0; j < LANES; j++)
            put(out, to_bits, r, j, widen(ref_packed(a, from_bits, first + r, j)));
    memcpy(x->tile, out, sizeof(out));
}

static uint32_t to_bf16(uint32_t bits) { return bf16_from_f32_bits(bits); }
static uint32_t low_16(uint32_t word) { return word & 0xffff; }
static uint32_t low_8(uint32_t word) { return word & 0xff; }

static uint32_t clamp(uint32_t half, int least, int most)
{
    int value = half < 0x8000 ? (int)half : (int)half - 0x10000;

    return (uint32_t)(value < least ? least : value > most ? most : value);
}

static uint32_t to_s8(uint32_t half) { return clamp(half, -128, 127) & 0xff; }
static uint32_t to_u8(uint32_t half) { return clamp(half, 0, 255); }
static uint32_t up_16(uint32_t half) { return half << 16; }
static uint32_t same(uint32_t word) { return word; }
static uint32_t from_s8(uint32_t byte) { return byte < 0x80 ? byte : byte - 0x100u; }
static uint32_t byte_from_s4(uint32_t nibble) { return nibble < 8 ? nibble : nibble + 0xf0u; }
static uint32_t from_e5m2(uint32_t byte) { return ref_f32_from_fp8(0, byte); }
static uint32_t from_e4m3b11fnuz(uint32_t byte) { return ref_f32_from_fp8(1, byte); }
static uint32_t from_e4m3fn(uint32_t byte) { return ref_f32_from_fp8(2, byte); }

void ref_VPACK_C_BF16(struct ref_op *x) { pack(x, 32, 16, to_bf16); }
void ref_VPACK_I_BF16(struct ref_op *x) { interleave(x, to_bf16); }

void ref_VPACK_B16(struct ref_op *x)
{
    if (ref_choice(x, 0) == 0)
        pack(x, 32, 16, low_16);
    else
        interleave(x, low_16);
}

void ref_VPACK_C_B8(struct ref_op *x)
{
    uint32_t (*const narrow[])(uint32_t) = {low_8, to_s8, to_u8};

    pack(x, 16, 8, narrow[ref_choice(x, 0)]);
}

void ref_VUNPACK_C_L(struct ref_op *x) { unpack(x, 16, 32, 0, up_16); }
void ref_VUNPACK_C_H(struct ref_op *x) { unpack(x, 16, 32, 8, up_16); }
void ref_VUNPACK_C_B16(struct ref_op *x) { unpack(x, 16, 32, 8 * ref_choice(x, 0), same); }

/* one half of each word, moved or as it is */
static void unpack_half(struct ref_op *x, uint32_t (*widen)(uint32_t))
{
    const uint32_t (*a)[LANES] = ref_v(x, 1);
    int shift = ref_choice(x, 0) ? 16 : 0;

    for (int i = 0; i < 8; i++)
        for (int j = 0; j < LANES; j++)
            x->tile[i][j] = widen(a[i][j] >> shift & 0xffff);
}

void ref_VUNPACK_I_BF16(struct ref_op *x) { unpack_half(x, up_16); }
void ref_VUNPACK_I_B16(struct ref_op *x) { unpack_half(x, same); }

void ref_VUNPACK_C_8(struct ref_op *x)
{
    uint32_t (*const widen[])(uint32_t) = {same, from_s8, from_e5m2, from_e4m3b11fnuz,
                                           from_e4m3fn};

    unpack(x, 8, 32, 8 * ref_choice(x, 0), widen[ref_choice(x, 1)]);
}

void ref_VUNPACK_C_4(struct ref_op *x)
{
    unpack(x, 4, 8, 32 * ref_choice(x, 0), ref_choice(x, 1) == 0 ? byte_from_s4 : same);
}

static const struct fp8_type {
    int fraction_bits, bias;
    double largest;
    uint32_t overflow, nan;             /* codes */
} types[] = {
    {2, 15, 57344, 0x7c, 0x7e}, {3, 11, 30, 0x80, 0x80}, {3, 7, 448, 0x7f, 0x7f},
};

uint32_t ref_f32_from_fp8(int type, uint32_t code)
{
    const struct fp8_type *t = &types[type];
    int exponent = (int)((code & 0x7f) >> t->fraction_bits);
    double fraction = code & ((1u << t->fraction_bits) - 1), value;
    uint32_t sign = (code & 0x80) << 24;

    if (type == 0 && (code & 0x7f) == 0x7c)
        return sign | 0x7f800000;
    if (type == 1 ? code == 0x80 : (code & 0x7f) >= (type == 0 ? 0x7d : 0x7f))
        return F32_NAN_BITS;
    if (exponent > 0)
        fraction += 1 << t->fraction_bits;
    value = ldexp(fraction, (exponent > 0 ? exponent : 1) - t->bias - t->fraction_bits);
    return sign | f32_bits((float)value);
}

/* the nearest multiple of the step at that size, of two the even one */
uint32_t ref_fp8_from_f32(int type, uint32_t bits)
{
    const struct fp8_type *t = &types[type];
    double size = fabs((double)f32_from_bits(bits)), steps;
    uint32_t sign = bits >> 24 & 0x80, code;
    int exponent;

    if (isnan(size))
        return t->nan;
    if (isinf(size))
        return type == 1 ? t->overflow : t->overflow | sign;
    frexp(size, &exponent);                     /* size is below 2^exponent */
    if (size == 0 || exponent - 1 < 1 - t->bias)
        exponent = 2 - t->bias;
    steps = nearbyint(ldexp(size, t->fraction_bits - (exponent - 1)));
    if (ldexp(steps, exponent - 1 - t->fraction_bits) > t->largest)
        return type == 1 ? t->overflow : t->overflow | sign;
    code = (uint32_t)(exponent - 1 + t->bias - 1) << t->fraction_bits;
    code += (uint32_t)steps;                    /* its leading one counts the exponent up */
    return type == 1 && code == 0 ? 0 : code | sign;
}
