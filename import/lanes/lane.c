/* Widens elements to lanes and narrows them again. */
#include "import/lanes/lane.h"

#include "base/floats.h"

#include <string.h>

static const size_t bytes_of_lane[LANE_COUNT] = {
    [LANE_PRED] = 1, [LANE_S8] = 1, [LANE_S16] = 2, [LANE_S32] = 4, [LANE_S64] = 8, [LANE_U8] = 1,
    [LANE_U16] = 2, [LANE_U32] = 4, [LANE_U64] = 8, [LANE_F32] = 4, [LANE_F64] = 8,
    [LANE_C64] = 8, [LANE_C128] = 16,
};

size_t lane_bytes(enum lane l) { return bytes_of_lane[l]; }
bool lane_is_float(enum lane l) { return l == LANE_F32 || l == LANE_F64; }
bool lane_is_complex(enum lane l) { return l == LANE_C64 || l == LANE_C128; }

static enum lane integer_lane(enum hlo_element e, bool is_signed)
{
    int bits = hlo_element_bits(e);
    int size = bits <= 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3;

    return (enum lane)((is_signed ? LANE_S8 : LANE_U8) + size);
}

enum lane lane_of(enum hlo_element e)
{
    switch (hlo_element_kind(e)) {
    case ELEMENT_KIND_PREDICATE: return LANE_PRED;
    case ELEMENT_KIND_SIGNED: return integer_lane(e, true);
    case ELEMENT_KIND_UNSIGNED: return integer_lane(e, false);
    case ELEMENT_KIND_FLOAT: return e == ELEMENT_F64 ? LANE_F64 : LANE_F32;
    case ELEMENT_KIND_COMPLEX: return e == ELEMENT_C64 ? LANE_C64 : LANE_C128;
    default: return LANE_COUNT;
    }
}

bool lane_is_narrow(enum hlo_element e)
{
    if (hlo_element_is_integer(e))
        return hlo_element_bits(e) < 8;
    return hlo_element_is_float(e) && e != ELEMENT_F32 && e != ELEMENT_F64;
}

/* to nearest even; subnormals are kept, for this is no core of a TPU */
static uint16_t bf16_of(float x)
{
    uint32_t bits = f32_bits(x);

    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/* to nearest even, by the host's addition where the result is subnormal */
static uint16_t f16_of(float x)
{
    uint32_t bits = f32_bits(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;

    if (size > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u);
    if (size >= 0x477ff000u)                    /* rounds beyond 65504 */
        return (uint16_t)(sign | 0x7c00u);
    if (size < 0x38800000u)
        return (uint16_t)(sign | (f32_bits(f32_from_bits(size) + 0.5f) - 0x3f000000u));
    return (uint16_t)(sign | (size - 0x38000000u + 0xfffu + (size >> 13 & 1)) >> 13);
}

static void widen_float(enum hlo_element e, float *to, const void *from, int64_t n)
{
    const uint16_t *half = from;
    const uint8_t *code = from;
    float table[256];

    if (e == ELEMENT_BF16) {
        for (int64_t i = 0; i < n; i++)
            to[i] = f32_from_bf16(half[i]);
        return;
    }
    if (e == ELEMENT_F16) {
        for (int64_t i = 0; i < n; i++)
            to[i] = f32_from_f16(half[i]);
        return;
    }
    if (n < 256) {
        for (int64_t i = 0; i < n; i++)
            to[i] = (float)hlo_element_load(e, &code[i]);
        return;
    }
    for (int c = 0; c < 256; c++)
        table[c] = (float)hlo_element_load(e, &(uint8_t){ (uint8_t)c });
    for (int64_t i = 0; i < n; i++)
        to[i] = table[code[i]];
}

static void narrow_float(enum hlo_element e, void *to, const float *from, int64_t n)
{
    uint16_t *half = to;
    uint8_t *code = to;

    if (e == ELEMENT_BF16)
        for (int64_t i = 0; i < n; i++)
            half[i] = bf16_of(from[i]);
    else if (e == ELEMENT_F16)
        for (int64_t i = 0; i < n; i++)
            half[i] = f16_of(from[i]);
    else
        for (int64_t i = 0; i < n; i++)
            hlo_element_store(e, (double)from[i], &code[i]);
}

/* the low bits, extended by their sign where they have one */
static void wrap_small(enum hlo_element e, uint8_t *to, const uint8_t *from, int64_t n)
{
    int bits = hlo_element_bits(e);
    uint8_t mask = (uint8_t)((1u << bits) - 1), sign = (uint8_t)(1u << (bits - 1));

    if (hlo_element_kind(e) == ELEMENT_KIND_UNSIGNED)
        sign = 0;
    for (int64_t i = 0; i < n; i++)
        to[i] = (uint8_t)(((from[i] & mask) ^ sign) - sign);
}

void lane_widen(enum hlo_element e, void *lane, const void *from, int64_t n)
{
    if (hlo_element_is_float(e) && lane_is_narrow(e))
        widen_float(e, lane, from, n);
    else if (lane != from)
        memcpy(lane, from, (size_t)n * hlo_element_bytes(e));
}

void lane_narrow(enum hlo_element e, void *to, const void *lane, int64_t n)
{
    if (!lane_is_narrow(e)) {
        if (to != lane)
            memcpy(to, lane, (size_t)n * hlo_element_bytes(e));
    } else if (hlo_element_is_float(e)) {
        narrow_float(e, to, lane, n);
    } else {
        wrap_small(e, to, lane, n);
    }
}

void lane_round(enum hlo_element e, void *lane, int64_t n)
{
    float *x = lane;

    if (!lane_is_narrow(e))
        return;
    if (!hlo_element_is_float(e)) {
        wrap_small(e, lane, lane, n);
    } else if (e == ELEMENT_BF16) {
        for (int64_t i = 0; i < n; i++)
            x[i] = f32_from_bf16(bf16_of(x[i]));
    } else if (e == ELEMENT_F16) {
        for (int64_t i = 0; i < n; i++)
            x[i] = f32_from_f16(f16_of(x[i]));
    } else {
        for (int64_t i = 0; i < n; i++) {
            uint8_t code;

            hlo_element_store(e, (double)x[i], &code);
            x[i] = (float)hlo_element_load(e, &code);
        }
    }
}
