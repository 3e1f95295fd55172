/*
 * AVX-512 with vdpbf16ps, which is two fused multiply-adds (odd k, then even) with subnormals
 * flushed: the fastest path where the host does one of them in each cycle.
 */
#include "sim/lanes/simd_paths.h"

#if defined(__x86_64__)
#include "base/floats.h"
#include "sim/lanes/simd.h"
#include "sim/lanes/simd_x86.inc"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define PATH_NAME "avx512bf16"
#define INLINE static inline __attribute__((always_inline))

#include "sim/lanes/simd_avx512.inc"

static inline vi v_bf16(vf low, vf high)
{
    return (vi)_mm512_cvtne2ps_pbh(v_canon(high), v_canon(low));
}

static inline vi v_pack(vf low, vf high)
{
    vi index = _mm512_add_epi32(_mm512_mullo_epi32(v_seti(0x00010001u),
                                                   _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
                                                                     10, 11, 12, 13, 14, 15)),
                                v_seti(0x00100000u));

    return _mm512_permutexvar_epi16(index, v_bf16(low, high));
}

typedef uint32_t lhs_type;              /* a pair, as rows have it */
typedef __m512bh pair_values, pair_weights;

#define LHS_COUNT 1                     /* none is needed */

INLINE const lhs_type *lhs_of_rows(lhs_type *room, const uint32_t row[8][64], int rows)
{
    (void)room;
    (void)rows;
    return row[0];
}

INLINE pair_values values_of(const lhs_type *lhs, int r, size_t p)
{
    return (__m512bh)v_seti(lhs[64 * r + (int)p]);
}

INLINE pair_weights weights_of(const uint32_t *pair) { return (__m512bh)v_loadi(pair); }

INLINE vf v_pair(vf chain, pair_values x, pair_weights w)
{
    return _mm512_dpbf16_ps(chain, x, w);
}

#include "sim/lanes/simd_product.inc"
#include "sim/lanes/simd_body.inc"

const struct simd_path *const simd_path_avx512bf16 = &path;

#else
const struct simd_path *const simd_path_avx512bf16;
#endif
