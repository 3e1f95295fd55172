/* Converts elements of one type to another. */
#include "import/lanes/lane.h"

#include <math.h>
#include <string.h>

typedef void (*cast_function)(void *to, const void *from, int64_t n);

#define CAST(from_name, F, to_name, T, value) \
    static void from_name##_to_##to_name(void *to, const void *from, int64_t n) \
    { \
        const F *x = from; \
        T *z = to; \
        LANE_IVDEP \
        for (int64_t i = 0; i < n; i++) \
            z[i] = value; \
    }

/* what a float becomes in an integer type from low to high; both are exact as doubles but for the
 * high end of 64 bits, where the next float below the limit is the largest that fits */
#define SATURATED(T, low, high) \
    (x[i] != x[i] ? (T)0 : (double)x[i] <= (double)(low) ? (T)(low) \
     : (double)x[i] >= (double)(high) ? (T)(high) : (T)x[i])

#define CASTS_OF_REAL(from_name, F) \
    CAST(from_name, F, pred, uint8_t, x[i] != 0) \
    CAST(from_name, F, f32, float, (float)x[i]) \
    CAST(from_name, F, f64, double, (double)x[i]) \
    CAST(from_name, F, c64, lane_c64, (lane_c64)(float)x[i]) \
    CAST(from_name, F, c128, lane_c128, (lane_c128)(double)x[i])

#define CASTS_OF_INTEGER(from_name, F) \
    CASTS_OF_REAL(from_name, F) \
    CAST(from_name, F, s8, int8_t, (int8_t)x[i]) \
    CAST(from_name, F, s16, int16_t, (int16_t)x[i]) \
    CAST(from_name, F, s32, int32_t, (int32_t)x[i]) \
    CAST(from_name, F, s64, int64_t, (int64_t)x[i]) \
    CAST(from_name, F, u8, uint8_t, (uint8_t)x[i]) \
    CAST(from_name, F, u16, uint16_t, (uint16_t)x[i]) \
    CAST(from_name, F, u32, uint32_t, (uint32_t)x[i]) \
    CAST(from_name, F, u64, uint64_t, (uint64_t)x[i])

#define CASTS_OF_FLOAT(from_name, F) \
    CASTS_OF_REAL(from_name, F) \
    CAST(from_name, F, s8, int8_t, SATURATED(int8_t, INT8_MIN, INT8_MAX)) \
    CAST(from_name, F, s16, int16_t, SATURATED(int16_t, INT16_MIN, INT16_MAX)) \
    CAST(from_name, F, s32, int32_t, SATURATED(int32_t, INT32_MIN, INT32_MAX)) \
    CAST(from_name, F, s64, int64_t, SATURATED(int64_t, INT64_MIN, INT64_MAX)) \
    CAST(from_name, F, u8, uint8_t, SATURATED(uint8_t, 0, UINT8_MAX)) \
    CAST(from_name, F, u16, uint16_t, SATURATED(uint16_t, 0, UINT16_MAX)) \
    CAST(from_name, F, u32, uint32_t, SATURATED(uint32_t, 0, UINT32_MAX)) \
    CAST(from_name, F, u64, uint64_t, SATURATED(uint64_t, 0, UINT64_MAX))

CASTS_OF_INTEGER(pred, uint8_t)
CASTS_OF_INTEGER(s8, int8_t)
CASTS_OF_INTEGER(s16, int16_t)
CASTS_OF_INTEGER(s32, int32_t)
CASTS_OF_INTEGER(s64, int64_t)
CASTS_OF_INTEGER(u8, uint8_t)
CASTS_OF_INTEGER(u16, uint16_t)
CASTS_OF_INTEGER(u32, uint32_t)
CASTS_OF_INTEGER(u64, uint64_t)
CASTS_OF_FLOAT(f32, float)
CASTS_OF_FLOAT(f64, double)
CAST(c64, lane_c64, c128, lane_c128, (lane_c128)x[i])
CAST(c128, lane_c128, c64, lane_c64, (lane_c64)x[i])
CAST(c64, lane_c64, f32, float, crealf(x[i]))
CAST(c128, lane_c128, f64, double, creal(x[i]))
CAST(c64, lane_c64, pred, uint8_t, crealf(x[i]) != 0)
CAST(c128, lane_c128, pred, uint8_t, creal(x[i]) != 0)

#define ROW(name) { name##_to_pred, name##_to_s8, name##_to_s16, name##_to_s32, name##_to_s64, \
    name##_to_u8, name##_to_u16, name##_to_u32, name##_to_u64, name##_to_f32, name##_to_f64, \
    name##_to_c64, name##_to_c128 }

/* complex ones become a real type by way of their real part */
static const cast_function casts[LANE_COUNT][LANE_COUNT] = {
    [LANE_PRED] = ROW(pred), [LANE_S8] = ROW(s8), [LANE_S16] = ROW(s16), [LANE_S32] = ROW(s32),
    [LANE_S64] = ROW(s64), [LANE_U8] = ROW(u8), [LANE_U16] = ROW(u16), [LANE_U32] = ROW(u32),
    [LANE_U64] = ROW(u64), [LANE_F32] = ROW(f32), [LANE_F64] = ROW(f64),
    [LANE_C64] = { [LANE_PRED] = c64_to_pred, [LANE_F32] = c64_to_f32, [LANE_C128] = c64_to_c128 },
    [LANE_C128] = { [LANE_PRED] = c128_to_pred, [LANE_F64] = c128_to_f64,
                    [LANE_C64] = c128_to_c64 },
};

enum { CAST_BLOCK = 256 };

void lane_cast(enum lane to_lane, void *to, enum lane from_lane, const void *from, int64_t n)
{
    cast_function f = casts[from_lane][to_lane];
    enum lane real = from_lane == LANE_C64 ? LANE_F32 : LANE_F64;
    double room[CAST_BLOCK];
    int64_t block;

    if (to_lane == from_lane) {
        memmove(to, from, (size_t)n * lane_bytes(to_lane));
        return;
    }
    if (f) {
        f(to, from, n);
        return;
    }
    for (int64_t i = 0; i < n; i += block) {
        block = n - i < CAST_BLOCK ? n - i : CAST_BLOCK;
        casts[from_lane][real](room, (const char *)from + (size_t)i * lane_bytes(from_lane), block);
        lane_cast(to_lane, (char *)to + (size_t)i * lane_bytes(to_lane), real, room, block);
    }
}

/* integers of less than 8 bits take what is outside their range as its ends */
static void saturate_small(enum hlo_element e, double *x, int64_t n)
{
    int bits = hlo_element_bits(e);
    bool is_signed = hlo_element_kind(e) == ELEMENT_KIND_SIGNED;
    double low = is_signed ? -ldexp(1, bits - 1) : 0;
    double high = ldexp(1, is_signed ? bits - 1 : bits) - 1;

    for (int64_t i = 0; i < n; i++)
        x[i] = x[i] != x[i] ? 0 : x[i] < low ? low : x[i] > high ? high : x[i];
}

/* f64 and wide integers are rounded once, from doubles, not by way of f32 */
static bool goes_by_double(enum hlo_element to, enum hlo_element from)
{
    enum lane l = lane_of(from);

    if (!lane_is_narrow(to))
        return false;
    if (hlo_element_is_float(to))
        return l == LANE_F64 || l == LANE_C128 || l == LANE_S32 || l == LANE_U32 || l == LANE_S64 ||
               l == LANE_U64;
    return lane_is_float(l) || lane_is_complex(l);
}

static void convert_by_double(enum hlo_element to_type, char *to, enum lane from_lane,
                              const void *from, int64_t n)
{
    double room[CAST_BLOCK];
    size_t bytes = hlo_element_bytes(to_type);

    lane_cast(LANE_F64, room, from_lane, from, n);
    if (hlo_element_is_integer(to_type)) {
        saturate_small(to_type, room, n);
        lane_cast(lane_of(to_type), to, LANE_F64, room, n);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        hlo_element_store(to_type, room[i], to + (size_t)i * bytes);
}

void lane_convert(enum hlo_element to_type, void *to, enum hlo_element from_type, const void *from,
                  int64_t n)
{
    size_t to_bytes = hlo_element_bytes(to_type), from_bytes = hlo_element_bytes(from_type);
    enum lane from_lane = lane_of(from_type), to_lane = lane_of(to_type);
    _Alignas(16) char wide[CAST_BLOCK * LANE_BYTES_MAX];
    _Alignas(16) char result[CAST_BLOCK * LANE_BYTES_MAX];
    bool is_narrow = lane_is_narrow(from_type) || lane_is_narrow(to_type);
    int64_t block;

    if (!is_narrow) {
        lane_cast(to_lane, to, from_lane, from, n);
        return;
    }
    for (int64_t i = 0; i < n; i += block) {
        char *z = (char *)to + (size_t)i * to_bytes;

        block = n - i < CAST_BLOCK ? n - i : CAST_BLOCK;
        lane_widen(from_type, wide, (const char *)from + (size_t)i * from_bytes, block);
        if (goes_by_double(to_type, from_type)) {
            convert_by_double(to_type, z, from_lane, wide, block);
        } else {
            lane_cast(to_lane, result, from_lane, wide, block);
            lane_narrow(to_type, z, result, block);
        }
    }
}

void lane_convert_wide(enum hlo_element to_type, void *to, enum hlo_element from_type,
                       const void *from, int64_t n)
{
    _Alignas(16) char code[CAST_BLOCK * LANE_BYTES_MAX];
    size_t to_bytes = lane_bytes(lane_of(to_type)), from_bytes = lane_bytes(lane_of(from_type));
    int64_t block;

    if (!goes_by_double(to_type, from_type)) {
        lane_cast(lane_of(to_type), to, lane_of(from_type), from, n);
        lane_round(to_type, to, n);
        return;
    }
    for (int64_t i = 0; i < n; i += block) {
        block = n - i < CAST_BLOCK ? n - i : CAST_BLOCK;
        convert_by_double(to_type, code, lane_of(from_type),
                          (const char *)from + (size_t)i * from_bytes, block);
        lane_widen(to_type, (char *)to + (size_t)i * to_bytes, code, block);
    }
}
