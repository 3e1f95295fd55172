/*
 * The AVX-512 path: 16 lanes, and vdpbf16ps, which is two fused multiply-adds
 * (odd k, then even) with subnormals flushed. Elsewhere subnormals are flushed
 * by the control word that simd_thread_begin sets.
 */
#include "sim/simd_paths.h"

#if defined(__x86_64__)
#include "base/floats.h"
#include "sim/simd.h"
#include "sim/simd_x86.inc"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define PATH_NAME "avx512bf16"
#define V_LANES 16

typedef __m512 vf;
typedef __m512i vi;
typedef __mmask16 vm;

static inline vi v_loadi(const uint32_t *p) { return _mm512_loadu_si512(p); }
static inline void v_storei(uint32_t *p, vi x) { _mm512_storeu_si512(p, x); }
static inline vf v_load(const uint32_t *p) { return _mm512_loadu_ps(p); }
static inline void v_store(uint32_t *p, vf x) { _mm512_storeu_ps(p, x); }
static inline vi v_bits(vf x) { return _mm512_castps_si512(x); }
static inline vf v_of_bits(vi x) { return _mm512_castsi512_ps(x); }
static inline vf v_set(float x) { return _mm512_set1_ps(x); }
static inline vi v_seti(uint32_t x) { return _mm512_set1_epi32((int)x); }

static inline vm v_eq(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
static inline vm v_ne(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
static inline vm v_lt(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
static inline vm v_le(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
static inline vm v_ieq(vi a, vi b) { return _mm512_cmpeq_epi32_mask(a, b); }
static inline vm v_ilt(vi a, vi b) { return _mm512_cmplt_epi32_mask(a, b); }
static inline vf v_select(vm m, vf a, vf b) { return _mm512_mask_blend_ps(m, b, a); }
static inline unsigned v_mask_bits(vm m) { return m; }
static inline vm v_mask(unsigned bits) { return (vm)bits; }

static inline vf v_add(vf a, vf b) { return _mm512_add_ps(a, b); }
static inline vf v_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
static inline vf v_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
static inline vf v_div(vf a, vf b) { return _mm512_div_ps(a, b); }
static inline vf v_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
static inline vf v_sqrt(vf a) { return _mm512_sqrt_ps(a); }
static inline vf v_neg(vf a) { return _mm512_xor_ps(a, v_set(-0.0f)); }

static inline vf v_nan_where(vm unordered, vf x)
{
    return v_select(unordered, v_of_bits(v_seti(F32_NAN_BITS)), x);
}

static inline vf v_canon(vf a) { return v_nan_where(_mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), a); }

/* as bits: compilers take a + -0 and a * 1 for a itself and drop them */
static inline vf v_flush(vf a)
{
    return _mm512_mask_and_ps(a, v_eq(a, v_set(0.0f)), a, v_set(-0.0f));
}

/*
 * max_ps returns its second operand for two zeros (or subnormals, which count
 * as such): asking both ways round and combining the signs orders them.
 */
static inline vf v_max(vf a, vf b)
{
    vf either = _mm512_and_ps(_mm512_max_ps(a, b), _mm512_max_ps(b, a));

    return v_nan_where(_mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q), v_flush(either));
}

static inline vf v_min(vf a, vf b)
{
    vf either = _mm512_or_ps(_mm512_min_ps(a, b), _mm512_min_ps(b, a));

    return v_nan_where(_mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q), v_flush(either));
}

static inline vi v_iadd(vi a, vi b) { return _mm512_add_epi32(a, b); }
static inline vi v_isub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
static inline vi v_imul(vi a, vi b) { return _mm512_mullo_epi32(a, b); }
static inline vi v_iand(vi a, vi b) { return _mm512_and_si512(a, b); }
static inline vi v_ior(vi a, vi b) { return _mm512_or_si512(a, b); }
static inline vi v_ixor(vi a, vi b) { return _mm512_xor_si512(a, b); }
static inline vi v_shl(vi a, int count) { return _mm512_slli_epi32(a, (unsigned)count); }
static inline vi v_sra(vi a, int count) { return _mm512_srai_epi32(a, (unsigned)count); }
static inline vi v_shll(vi a, vi count) { return _mm512_sllv_epi32(a, count); }
static inline vi v_shrl(vi a, vi count) { return _mm512_srlv_epi32(a, count); }
static inline vi v_shra(vi a, vi count) { return _mm512_srav_epi32(a, count); }
static inline vf v_from_s32(vi a) { return _mm512_cvtepi32_ps(a); }

/* the instruction gives 0x80000000 for NaN and for what is out of range */
static inline vi v_to_s32(vf a)
{
    vi r = _mm512_maskz_cvttps_epi32(v_eq(a, a), a);

    return _mm512_mask_mov_epi32(r, v_le(v_set(0x1p31f), a), v_seti(INT32_MAX));
}

/* 32 bf16: those of `low`, then those of `high` */
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

static inline vf v_fold(vf a, vf (*op)(vf, vf))
{
    a = op(a, _mm512_shuffle_f32x4(a, a, 0x4e));
    a = op(a, _mm512_shuffle_f32x4(a, a, 0xb1));
    a = op(a, _mm512_permute_ps(a, 0x4e));
    return op(a, _mm512_permute_ps(a, 0xb1));
}

/* 32 lanes of a row as 16 words of pairs */
static inline vi pack_adjacent(const uint32_t *lanes)
{
    return v_bf16(v_load(lanes), v_load(lanes + 16));
}

static void rows_of_f32(uint32_t row[8][64], const uint32_t *tile)
{
    for (int r = 0; r < 8; r++)
        for (int p = 0; p < 64; p += V_LANES)
            v_storei(row[r] + p, pack_adjacent(tile + 128 * r + 2 * p));
}

/* the numbers of 32 halves from `first` on, every other one: those of 32 words */
static inline vi every_other(uint32_t first)
{
    return v_iadd(_mm512_mullo_epi32(v_seti(0x00040004u),
                                     _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
                                                       13, 14, 15)),
                  v_seti(0x00020000u + first * 0x00010001u));
}

static void rows_of_bf16(uint32_t row[8][64], const uint32_t *sublanes)
{
    vi low = every_other(0), high = every_other(1);

    for (int i = 0; i < 4; i++, sublanes += 128) {
        for (int p = 0; p < 64; p += V_LANES) {
            vi first = v_loadi(sublanes + 2 * p), second = v_loadi(sublanes + 2 * p + V_LANES);

            v_storei(row[2 * i] + p, _mm512_permutex2var_epi16(first, low, second));
            v_storei(row[2 * i + 1] + p, _mm512_permutex2var_epi16(first, high, second));
        }
    }
}

/* both accumulators of row r += its pair of lhs values times the weight pairs */
#define ROW(r) \
    x = (__m512bh)v_seti(lhs[64 * (r)]); \
    a##r = _mm512_dpbf16_ps(a##r, x, wa); \
    b##r = _mm512_dpbf16_ps(b##r, x, wb)
#define START_ROW(r) \
    vf a##r = v_start(start, 128 * (r)), b##r = v_start(start, 128 * (r) + 16)
#define STORE_ROW(r) \
    v_store(out + 128 * (r), v_finish(a##r, addend, 128 * (r))); \
    v_store(out + 128 * (r) + 16, v_finish(b##r, addend, 128 * (r) + 16))

#define INLINE static inline __attribute__((always_inline))

INLINE vf v_start(const uint32_t *start, int at)
{
    return start ? v_load(start + at) : _mm512_setzero_ps();
}

INLINE vf v_finish(vf chain, const uint32_t *addend, int at)
{
    return v_canon(addend ? v_add(chain, v_load(addend + at)) : chain);
}

/* a line of the host's cache */
INLINE void fetch(const uint32_t *p) { _mm_prefetch((const char *)p, _MM_HINT_T0); }

/*
 * 8 rows by 32 columns: enough chains to hide the latency, weights read once.
 * A line at `ahead` is fetched with each pair.
 */
INLINE void matmul_columns(uint32_t *out, const uint32_t *start, const uint32_t *addend,
                           const uint32_t *lhs, const uint32_t *pair, const uint32_t *ahead)
{
    START_ROW(0);
    START_ROW(1);
    START_ROW(2);
    START_ROW(3);
    START_ROW(4);
    START_ROW(5);
    START_ROW(6);
    START_ROW(7);

    for (int r = 0; addend && r < 8; r++) {
        fetch(addend + 128 * r);
        fetch(addend + 128 * r + 16);
    }
    for (int p = 0; p < 64; p++, lhs++, pair += 128) {
        __m512bh wa = (__m512bh)v_loadi(pair), wb = (__m512bh)v_loadi(pair + 16), x;

        if (ahead)
            fetch(ahead + 16 * p);
        ROW(0);
        ROW(1);
        ROW(2);
        ROW(3);
        ROW(4);
        ROW(5);
        ROW(6);
        ROW(7);
    }
    STORE_ROW(0);
    STORE_ROW(1);
    STORE_ROW(2);
    STORE_ROW(3);
    STORE_ROW(4);
    STORE_ROW(5);
    STORE_ROW(6);
    STORE_ROW(7);
}

/* apart, so that each is compiled for what it has */
static void columns_start(uint32_t *out, const uint32_t *start, const uint32_t *lhs,
                          const uint32_t *pair)
{
    matmul_columns(out, start, NULL, lhs, pair, NULL);
}

static void columns_zero(uint32_t *out, const uint32_t *lhs, const uint32_t *pair,
                         const uint32_t *ahead)
{
    matmul_columns(out, NULL, NULL, lhs, pair, ahead);
}

static void columns_add(uint32_t *out, const uint32_t *addend, const uint32_t *lhs,
                        const uint32_t *pair, const uint32_t *ahead)
{
    matmul_columns(out, NULL, addend, lhs, pair, ahead);
}

static void matmul(uint32_t *out, const uint32_t *start, const uint32_t row[8][64],
                   const uint32_t pair[64][128])
{
    for (int n = 0; n < 128; n += 32) {
        if (start)
            columns_start(out + n, start + n, row[0], pair[0] + n);
        else
            columns_zero(out + n, row[0], pair[0] + n, pair[0]);
    }
}

#include "sim/simd_sparse.inc"

#define HAS_MATMUL_ADD

static void matmul_add(uint32_t *out, const uint32_t *addend, const uint32_t row[8][64],
                       const uint32_t pair[64][128], bool is_finite,
                       const uint32_t *const ahead[2])
{
    struct sparse s;

    if (is_finite && look_for_holes(&s, row)) {
        matmul_sparse(&s, out, addend, row, pair, ahead);
        return;
    }
    for (int i = 0; i < 4; i++) {
        const uint32_t *soon = i < 2 && ahead[i] ? ahead[i] : pair[0];
        int n = 32 * i;

        if (addend)
            columns_add(out + n, addend + n, row[0], pair[0] + n, soon);
        else
            columns_zero(out + n, row[0], pair[0] + n, soon);
    }
}

#include "sim/simd_body.inc"

const struct simd_path *const simd_path_avx512bf16 = &path;

#else
const struct simd_path *const simd_path_avx512bf16;
#endif
