/*
 * The plain path: one lane at a time, exact on any host whatever its
 * flush-to-zero control says. The other paths are measured against it.
 */
#include "sim/lanes/simd.h"
#include "sim/lanes/f32_exact.h"
#include "sim/lanes/simd_paths.h"

#define PATH_NAME "c"
#define V_LANES 1

typedef float vf;
typedef uint32_t vi;
typedef int vm;

static inline vf v_load(const uint32_t *p) { return f32_from_bits(*p); }
static inline void v_store(uint32_t *p, vf x) { *p = f32_bits(x); }
static inline vi v_loadi(const uint32_t *p) { return *p; }
static inline void v_storei(uint32_t *p, vi x) { *p = x; }
static inline vi v_bits(vf x) { return f32_bits(x); }
static inline vf v_of_bits(vi x) { return f32_from_bits(x); }
static inline vf v_set(float x) { return x; }
static inline vi v_seti(uint32_t x) { return x; }

static inline vf v_add(vf a, vf b) { return f32_add(a, b); }
static inline vf v_sub(vf a, vf b) { return f32_sub(a, b); }
static inline vf v_mul(vf a, vf b) { return f32_mul(a, b); }
static inline vf v_div(vf a, vf b) { return f32_div(a, b); }
static inline vf v_fma(vf a, vf b, vf c) { return f32_fma(a, b, c); }
static inline vf v_sqrt(vf a) { return f32_sqrt(a); }
static inline vf v_neg(vf a) { return f32_from_bits(f32_bits(a) ^ 0x80000000u); }
static inline vf v_canon(vf a) { return a; }    /* f32_exact.h makes no other NaN */
static inline vf v_max(vf a, vf b) { return f32_max(a, b); }
static inline vf v_min(vf a, vf b) { return f32_min(a, b); }

static inline vm v_eq(vf a, vf b) { return f32_flush(a) == f32_flush(b); }
static inline vm v_ne(vf a, vf b) { return f32_flush(a) != f32_flush(b); }
static inline vm v_lt(vf a, vf b) { return f32_flush(a) < f32_flush(b); }
static inline vm v_le(vf a, vf b) { return f32_flush(a) <= f32_flush(b); }
static inline vm v_ieq(vi a, vi b) { return a == b; }
static inline vm v_ilt(vi a, vi b) { return (int32_t)a < (int32_t)b; }
static inline vf v_select(vm m, vf a, vf b) { return m ? a : b; }
static inline unsigned v_mask_bits(vm m) { return (unsigned)m; }
static inline vm v_mask(unsigned bits) { return bits & 1; }

static inline vi v_iadd(vi a, vi b) { return a + b; }
static inline vi v_isub(vi a, vi b) { return a - b; }
static inline vi v_imul(vi a, vi b) { return a * b; }
static inline vi v_iand(vi a, vi b) { return a & b; }
static inline vi v_ior(vi a, vi b) { return a | b; }
static inline vi v_ixor(vi a, vi b) { return a ^ b; }
static inline vi v_shl(vi a, int count) { return a << count; }
static inline vi v_shll(vi a, vi count) { return count < 32 ? a << count : 0; }
static inline vi v_shrl(vi a, vi count) { return count < 32 ? a >> count : 0; }
static inline vi v_shra(vi a, vi count) { return (vi)((int32_t)a >> (count < 32 ? count : 31)); }
static inline vi v_sra(vi a, int count) { return (vi)((int32_t)a >> count); }
static inline vf v_from_s32(vi a) { return (float)(int32_t)a; }
static inline vi v_to_s32(vf a) { return (vi)f32_to_s32(a); }

/* two bf16 in a word, the first in the low half */
static inline vi v_pack(vf low, vf high)
{
    return (vi)bf16_from_f32(low) | (vi)bf16_from_f32(high) << 16;
}

/* the levels of a lane tree below V_LANES: none here */
static inline vf v_fold(vf a, vf (*op)(vf, vf))
{
    (void)op;
    return a;
}

static void rows_of_f32(uint32_t row[8][64], const uint32_t *tile)
{
    for (int r = 0; r < 8; r++) {
        for (int p = 0; p < 64; p++)
            row[r][p] = v_pack(v_load(tile + 128 * r + 2 * p), v_load(tile + 128 * r + 2 * p + 1));
    }
}

static void rows_of_bf16(uint32_t row[8][64], const uint32_t *sublanes)
{
    for (int i = 0; i < 4; i++) {
        for (int p = 0; p < 64; p++) {
            uint32_t even = sublanes[128 * i + 2 * p], odd = sublanes[128 * i + 2 * p + 1];

            row[2 * i][p] = (even & 0xffffu) | odd << 16;
            row[2 * i + 1][p] = even >> 16 | (odd & 0xffff0000u);
        }
    }
}

static void row_columns(uint32_t pair[64][8], const uint32_t row[8][64])
{
    for (int r = 0; r < 8; r++) {
        for (int p = 0; p < 64; p++)
            pair[p][r] = row[r][p];
    }
}

static void turn(uint32_t *d, const uint32_t *a)
{
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 8; j++)
            d[128 * j + i] = a[128 * i + j];
    }
}

static void matmul(uint32_t *out, const uint32_t *start, const uint32_t row[8][64],
                   const uint32_t pair[64][128])
{
    for (int r = 0; r < 8; r++) {
        float sum[128] = {0};

        if (start)
            memcpy(sum, start + 128 * r, sizeof(sum));
        for (int p = 0; p < 64; p++) {
            float even = f32_from_bits(row[r][p] << 16);
            float odd = f32_from_bits(row[r][p] & 0xffff0000u);

            for (int n = 0; n < 128; n++) {
                sum[n] = f32_fma(odd, f32_from_bits(pair[p][n] & 0xffff0000u), sum[n]);
                sum[n] = f32_fma(even, f32_from_bits(pair[p][n] << 16), sum[n]);
            }
        }
        memcpy(out + 128 * r, sum, sizeof(sum));
    }
}

#include "sim/lanes/simd_body.inc"

const struct simd_path *const simd_path_c = &path;
