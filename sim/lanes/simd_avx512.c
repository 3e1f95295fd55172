/*
 * AVX-512 without vdpbf16ps: products as fused multiply-adds of f32, for hosts that do not have
 * it, or do it at a quarter of the rate of multiply-adds or less.
 */
#include "sim/lanes/simd_paths.h"

#if defined(__x86_64__)
#include "base/floats.h"
#include "sim/lanes/simd.h"
#include "sim/lanes/simd_x86.inc"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define PATH_NAME "avx512"
#define INLINE static inline __attribute__((always_inline))

#include "sim/lanes/simd_avx512.inc"

/* a bf16 in the upper half of each word, as base/floats.h rounds */
static inline vi v_round_bf16(vf a)
{
    vi bits = v_bits(v_canon(v_flush(a)));
    vi last = v_iand(_mm512_srli_epi32(bits, 16), v_seti(1));

    return v_iadd(bits, v_iadd(last, v_seti(0x7fff)));
}

static inline vi v_bf16(vf low, vf high)
{
    vi index = _mm512_add_epi32(_mm512_mullo_epi32(v_seti(0x00040004u),
                                                   _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
                                                                     10, 11, 12, 13, 14, 15)),
                                v_seti(0x00030001u));

    return _mm512_permutex2var_epi16(v_round_bf16(low), index, v_round_bf16(high));
}

static inline vi v_pack(vf low, vf high)
{
    return _mm512_mask_blend_epi16(0xaaaaaaaau, _mm512_srli_epi32(v_round_bf16(low), 16),
                                   v_round_bf16(high));
}

typedef float lhs_type;                 /* widened: even and odd k of a pair */
typedef struct {
    vf even, odd;
} pair_values, pair_weights;

#define LHS_COUNT SIMD_TILE_WORDS

INLINE const lhs_type *lhs_of_rows(lhs_type *room, const uint32_t row[8][64], int rows)
{
    vi low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    vi high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);

    for (int i = 0; i < 64 * rows; i += V_LANES) {
        vi pairs = v_loadi(row[i / 64] + i % 64);
        vf even = v_of_bits(v_shl(pairs, 16)), odd = v_of_bits(v_iand(pairs, v_seti(0xffff0000u)));

        _mm512_store_ps(room + 2 * i, _mm512_permutex2var_ps(even, low, odd));
        _mm512_store_ps(room + 2 * i + V_LANES, _mm512_permutex2var_ps(even, high, odd));
    }
    return room;
}

INLINE pair_values values_of(const lhs_type *lhs, int r, size_t p)
{
    const lhs_type *at = lhs + 128 * r + 2 * (int)p;

    return (pair_values){.even = v_set(at[0]), .odd = v_set(at[1])};
}

INLINE pair_weights weights_of(const uint32_t *pair)
{
    vi words = v_loadi(pair);

    return (pair_weights){.even = v_of_bits(v_shl(words, 16)),
                          .odd = v_of_bits(v_iand(words, v_seti(0xffff0000u)))};
}

INLINE vf v_pair(vf chain, pair_values x, pair_weights w)
{
    return v_fma(x.even, w.even, v_fma(x.odd, w.odd, chain));
}

#include "sim/lanes/simd_product.inc"
#include "sim/lanes/simd_body.inc"

const struct simd_path *const simd_path_avx512 = &path;

#else
const struct simd_path *const simd_path_avx512;
#endif
