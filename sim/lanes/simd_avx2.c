/*
 * The AVX2 + FMA path: 8 lanes. Subnormals are flushed by the control word
 * that simd_thread_begin sets.
 */
#include "sim/lanes/simd_paths.h"

#if defined(__x86_64__)
#include "base/floats.h"
#include "sim/lanes/simd.h"
#include "sim/lanes/simd_x86.inc"

#include <math.h>

#define PATH_NAME "avx2"
#define V_LANES 8

typedef __m256 vf;
typedef __m256i vi;
typedef __m256 vm;                      /* all bits of a chosen lane */

static inline vi v_loadi(const uint32_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

static inline void v_storei(uint32_t *p, vi x) { _mm256_storeu_si256((__m256i *)(void *)p, x); }
static inline vi v_bits(vf x) { return _mm256_castps_si256(x); }
static inline vf v_of_bits(vi x) { return _mm256_castsi256_ps(x); }
static inline vf v_load(const uint32_t *p) { return v_of_bits(v_loadi(p)); }
static inline void v_store(uint32_t *p, vf x) { v_storei(p, v_bits(x)); }
static inline vf v_set(float x) { return _mm256_set1_ps(x); }
static inline vi v_seti(uint32_t x) { return _mm256_set1_epi32((int)x); }

static inline vm v_eq(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
static inline vm v_ne(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ); }
static inline vm v_lt(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
static inline vm v_le(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
static inline vm v_ieq(vi a, vi b) { return v_of_bits(_mm256_cmpeq_epi32(a, b)); }
static inline vm v_ilt(vi a, vi b) { return v_of_bits(_mm256_cmpgt_epi32(b, a)); }
static inline vf v_select(vm m, vf a, vf b) { return _mm256_blendv_ps(b, a, m); }
static inline unsigned v_mask_bits(vm m) { return (unsigned)_mm256_movemask_ps(m); }

static inline vm v_mask(unsigned bits)
{
    vi lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);

    return v_ieq(_mm256_and_si256(v_seti(bits), lane), lane);
}

static inline vf v_add(vf a, vf b) { return _mm256_add_ps(a, b); }
static inline vf v_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
static inline vf v_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
static inline vf v_div(vf a, vf b) { return _mm256_div_ps(a, b); }
static inline vf v_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
static inline vf v_sqrt(vf a) { return _mm256_sqrt_ps(a); }
static inline vf v_neg(vf a) { return _mm256_xor_ps(a, v_set(-0.0f)); }

static inline vf v_nan_where(vm unordered, vf x)
{
    return v_select(unordered, v_of_bits(v_seti(F32_NAN_BITS)), x);
}

static inline vf v_canon(vf a) { return v_nan_where(_mm256_cmp_ps(a, a, _CMP_UNORD_Q), a); }

/* as bits: compilers take a + -0 and a * 1 for a itself and drop them */
static inline vf v_flush(vf a)
{
    vi size = _mm256_srli_epi32(v_bits(v_eq(a, v_set(0.0f))), 1);

    return v_of_bits(_mm256_andnot_si256(size, v_bits(a)));
}

/*
 * max_ps returns its second operand for two zeros (or subnormals, which count
 * as such): asking both ways round and combining the signs orders them.
 */
static inline vf v_max(vf a, vf b)
{
    vf either = _mm256_and_ps(_mm256_max_ps(a, b), _mm256_max_ps(b, a));

    return v_nan_where(_mm256_cmp_ps(a, b, _CMP_UNORD_Q), v_flush(either));
}

static inline vf v_min(vf a, vf b)
{
    vf either = _mm256_or_ps(_mm256_min_ps(a, b), _mm256_min_ps(b, a));

    return v_nan_where(_mm256_cmp_ps(a, b, _CMP_UNORD_Q), v_flush(either));
}

static inline vi v_iadd(vi a, vi b) { return _mm256_add_epi32(a, b); }
static inline vi v_isub(vi a, vi b) { return _mm256_sub_epi32(a, b); }
static inline vi v_imul(vi a, vi b) { return _mm256_mullo_epi32(a, b); }
static inline vi v_iand(vi a, vi b) { return _mm256_and_si256(a, b); }
static inline vi v_ior(vi a, vi b) { return _mm256_or_si256(a, b); }
static inline vi v_ixor(vi a, vi b) { return _mm256_xor_si256(a, b); }
static inline vi v_shl(vi a, int count) { return _mm256_slli_epi32(a, count); }
static inline vi v_sra(vi a, int count) { return _mm256_srai_epi32(a, count); }
static inline vi v_shll(vi a, vi count) { return _mm256_sllv_epi32(a, count); }
static inline vi v_shrl(vi a, vi count) { return _mm256_srlv_epi32(a, count); }
static inline vi v_shra(vi a, vi count) { return _mm256_srav_epi32(a, count); }
static inline vf v_from_s32(vi a) { return _mm256_cvtepi32_ps(a); }

/* the instruction gives 0x80000000 for NaN and for what is out of range */
static inline vi v_to_s32(vf a)
{
    vi r = _mm256_cvttps_epi32(a), most = v_bits(v_le(v_set(0x1p31f), a));

    r = _mm256_blendv_epi8(r, v_seti(INT32_MAX), most);
    return _mm256_and_si256(r, v_bits(v_eq(a, a)));
}

/* a bf16 in the upper half of each word, as base/floats.h rounds */
static inline vi v_round_bf16(vf a)
{
    vi bits = v_bits(v_canon(v_flush(a)));
    vi last = _mm256_and_si256(_mm256_srli_epi32(bits, 16), v_seti(1));

    return _mm256_add_epi32(bits, _mm256_add_epi32(last, v_seti(0x7fff)));
}

static inline vi v_pack(vf low, vf high)
{
    return _mm256_blend_epi16(_mm256_srli_epi32(v_round_bf16(low), 16), v_round_bf16(high), 0xaa);
}

static inline vf v_fold(vf a, vf (*op)(vf, vf))
{
    a = op(a, _mm256_permute2f128_ps(a, a, 0x01));
    a = op(a, _mm256_permute_ps(a, 0x4e));
    return op(a, _mm256_permute_ps(a, 0xb1));
}

/* 16 lanes of a row as 8 words of pairs */
static inline vi pack_adjacent(const uint32_t *lanes)
{
    vi low = _mm256_srli_epi32(v_round_bf16(v_load(lanes)), 16);
    vi high = _mm256_srli_epi32(v_round_bf16(v_load(lanes + 8)), 16);

    return _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
}

static void rows_of_f32(uint32_t row[8][64], const uint32_t *tile)
{
    for (int r = 0; r < 8; r++) {
        for (int p = 0; p < 64; p += 8)
            v_storei(row[r] + p, pack_adjacent(tile + 128 * r + 2 * p));
    }
}

/* the low halves of 16 words; packus keeps them as they are, the upper halves being 0 */
static inline vi low_halves(vi first, vi second)
{
    vi mask = v_seti(0xffffu);

    return _mm256_permute4x64_epi64(
        _mm256_packus_epi32(_mm256_and_si256(first, mask), _mm256_and_si256(second, mask)), 0xd8);
}

static void rows_of_bf16(uint32_t row[8][64], const uint32_t *sublanes)
{
    for (int i = 0; i < 4; i++, sublanes += 128) {
        for (int p = 0; p < 64; p += 8) {
            vi first = v_loadi(sublanes + 2 * p), second = v_loadi(sublanes + 2 * p + 8);

            v_storei(row[2 * i] + p, low_halves(first, second));
            v_storei(row[2 * i + 1] + p, low_halves(_mm256_srli_epi32(first, 16),
                                                    _mm256_srli_epi32(second, 16)));
        }
    }
}

/* the odd and the even k of a pair of weights, as floats */
static inline vf odd_weight(const uint32_t *pair)
{
    return v_of_bits(_mm256_and_si256(v_loadi(pair), v_seti(0xffff0000u)));
}

static inline vf even_weight(const uint32_t *pair)
{
    return v_of_bits(_mm256_slli_epi32(v_loadi(pair), 16));
}

/* row r of two accumulators += lhs[r][k] * their weights */
#define ROW(r, k) \
    x = _mm256_broadcast_ss(lhs + 128 * (r) + (k)); \
    a##r = v_fma(x, wa, a##r); \
    b##r = v_fma(x, wb, b##r)
#define START_ROW(r) \
    vf a##r = v_load(start + 128 * (r)), b##r = v_load(start + 128 * (r) + 8)
#define STORE_ROW(r) \
    v_store(out + 128 * (r), v_canon(a##r)); \
    v_store(out + 128 * (r) + 8, v_canon(b##r))

/* 6 rows by 16 columns: 12 chains hide the latency; more would not fit 16 registers */
static inline void matmul_6x16(uint32_t *out, const uint32_t *start, const float *lhs,
                               const uint32_t *pair)
{
    START_ROW(0);
    START_ROW(1);
    START_ROW(2);
    START_ROW(3);
    START_ROW(4);
    START_ROW(5);

    for (int p = 0; p < 64; p++, lhs += 2, pair += 128) {
        vf wa = odd_weight(pair), wb = odd_weight(pair + 8), x;

        ROW(0, 1);
        ROW(1, 1);
        ROW(2, 1);
        ROW(3, 1);
        ROW(4, 1);
        ROW(5, 1);
        wa = even_weight(pair);
        wb = even_weight(pair + 8);
        ROW(0, 0);
        ROW(1, 0);
        ROW(2, 0);
        ROW(3, 0);
        ROW(4, 0);
        ROW(5, 0);
    }
    STORE_ROW(0);
    STORE_ROW(1);
    STORE_ROW(2);
    STORE_ROW(3);
    STORE_ROW(4);
    STORE_ROW(5);
}

/* columns 8 c on of both rows += lhs[r][k] * w */
#define COLUMNS(c, weight) \
    w = weight(pair + 8 * (c)); \
    a##c = v_fma(xa, w, a##c); \
    b##c = v_fma(xb, w, b##c)
#define START_COLUMNS(c) \
    vf a##c = v_load(start + 8 * (c)), b##c = v_load(start + 8 * (c) + 128)
#define STORE_COLUMNS(c) \
    v_store(out + 8 * (c), v_canon(a##c)); \
    v_store(out + 8 * (c) + 128, v_canon(b##c))

/* 2 rows by 32 columns, for the last rows */
static inline void matmul_2x32(uint32_t *out, const uint32_t *start, const float *lhs,
                               const uint32_t *pair)
{
    START_COLUMNS(0);
    START_COLUMNS(1);
    START_COLUMNS(2);
    START_COLUMNS(3);

    for (int p = 0; p < 64; p++, lhs += 2, pair += 128) {
        vf xa = _mm256_broadcast_ss(lhs + 1), xb = _mm256_broadcast_ss(lhs + 129), w;

        COLUMNS(0, odd_weight);
        COLUMNS(1, odd_weight);
        COLUMNS(2, odd_weight);
        COLUMNS(3, odd_weight);
        xa = _mm256_broadcast_ss(lhs);
        xb = _mm256_broadcast_ss(lhs + 128);
        COLUMNS(0, even_weight);
        COLUMNS(1, even_weight);
        COLUMNS(2, even_weight);
        COLUMNS(3, even_weight);
    }
    STORE_COLUMNS(0);
    STORE_COLUMNS(1);
    STORE_COLUMNS(2);
    STORE_COLUMNS(3);
}

/* rows of bf16 as floats: each pair's low half, then its high half */
static inline void widen_rows(float *wide, const uint32_t *row)
{
    for (int i = 0; i < 8 * 64; i += V_LANES, wide += 2 * V_LANES) {
        vi pairs = v_loadi(row + i), even = v_shl(pairs, 16);
        vi odd = _mm256_and_si256(pairs, v_seti(0xffff0000u));
        vi low = _mm256_unpacklo_epi32(even, odd), high = _mm256_unpackhi_epi32(even, odd);

        _mm256_store_ps(wide, v_of_bits(_mm256_permute2x128_si256(low, high, 0x20)));
        _mm256_store_ps(wide + 8, v_of_bits(_mm256_permute2x128_si256(low, high, 0x31)));
    }
}

static void matmul(uint32_t *out, const uint32_t *start, const uint32_t row[8][64],
                   const uint32_t pair[64][128])
{
    static const uint32_t zeros[SIMD_TILE_WORDS];
    _Alignas(64) float lhs[SIMD_TILE_WORDS];

    widen_rows(lhs, row[0]);
    start = start ? start : zeros;
    for (int n = 0; n < 128; n += 16)
        matmul_6x16(out + n, start + n, lhs, pair[0] + n);
    for (int n = 0; n < 128; n += 32)
        matmul_2x32(out + 6 * 128 + n, start + 6 * 128 + n, lhs + 6 * 128, pair[0] + n);
}

#include "sim/lanes/simd_body.inc"

const struct simd_path *const simd_path_avx2 = &path;

#else
const struct simd_path *const simd_path_avx2;
#endif
