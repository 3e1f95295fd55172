/*
 * The kernels of one SIMD path, written once over the lanes that the including
 * file has defined: types vf (floats), vi (words), vm (mask); V_LANES of them;
 * the v_ functions, each rounding by the numerics contract; pack_columns and
 * matmul; PATH_NAME. Ends with the path's table, `path`.
 *
 * A kernel reads all it needs of a group of lanes before it writes them, so a
 * destination may be one of the sources.
 */
#include "sim/simd_eup.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE void map_f1(uint32_t *d, const uint32_t *a, vf (*op)(vf))
{
    for (int i = 0; i < SIMD_TILE_WORDS; i += V_LANES)
        v_store(d + i, op(v_load(a + i)));
}

/* four registers per turn: -O2 leaves the loop as it is written */
ALWAYS_INLINE void map_f2(uint32_t *d, const uint32_t *a, const uint32_t *b, vf (*op)(vf, vf))
{
    for (int i = 0; i < SIMD_TILE_WORDS; i += 4 * V_LANES) {
        vf r0 = op(v_load(a + i), v_load(b + i));
        vf r1 = op(v_load(a + i + V_LANES), v_load(b + i + V_LANES));
        vf r2 = op(v_load(a + i + 2 * V_LANES), v_load(b + i + 2 * V_LANES));
        vf r3 = op(v_load(a + i + 3 * V_LANES), v_load(b + i + 3 * V_LANES));

        v_store(d + i, r0);
        v_store(d + i + V_LANES, r1);
        v_store(d + i + 2 * V_LANES, r2);
        v_store(d + i + 3 * V_LANES, r3);
    }
}

ALWAYS_INLINE void map_i2(uint32_t *d, const uint32_t *a, const uint32_t *b, vi (*op)(vi, vi))
{
    for (int i = 0; i < SIMD_TILE_WORDS; i += 4 * V_LANES) {
        vi r0 = op(v_loadi(a + i), v_loadi(b + i));
        vi r1 = op(v_loadi(a + i + V_LANES), v_loadi(b + i + V_LANES));
        vi r2 = op(v_loadi(a + i + 2 * V_LANES), v_loadi(b + i + 2 * V_LANES));
        vi r3 = op(v_loadi(a + i + 3 * V_LANES), v_loadi(b + i + 3 * V_LANES));

        v_storei(d + i, r0);
        v_storei(d + i + V_LANES, r1);
        v_storei(d + i + 2 * V_LANES, r2);
        v_storei(d + i + 3 * V_LANES, r3);
    }
}

static inline vf lane_add(vf a, vf b) { return v_canon(v_add(a, b)); }
static inline vf lane_sub(vf a, vf b) { return v_canon(v_sub(a, b)); }
static inline vf lane_mul(vf a, vf b) { return v_canon(v_mul(a, b)); }

#define BINARY(name, map, op) \
    static void name(uint32_t *d, const uint32_t *a, const uint32_t *b) { map(d, a, b, op); }

BINARY(add_f32, map_f2, lane_add)
BINARY(sub_f32, map_f2, lane_sub)
BINARY(mul_f32, map_f2, lane_mul)
BINARY(max_f32, map_f2, v_max)
BINARY(min_f32, map_f2, v_min)
BINARY(add_s32, map_i2, v_iadd)
BINARY(sub_s32, map_i2, v_isub)
BINARY(mul_u32, map_i2, v_imul)
BINARY(and_u32, map_i2, v_iand)
BINARY(or_u32, map_i2, v_ior)
BINARY(xor_u32, map_i2, v_ixor)
BINARY(shll, map_i2, v_shll)
BINARY(shrl, map_i2, v_shrl)
BINARY(shra, map_i2, v_shra)

/* words of one column group: rows (0,1), (2,3), … of `rows` */
ALWAYS_INLINE void pack_four(vi word[4], const uint32_t *rows)
{
    word[0] = v_pack(v_load(rows), v_load(rows + 128));
    word[1] = v_pack(v_load(rows + 256), v_load(rows + 384));
    word[2] = v_pack(v_load(rows + 512), v_load(rows + 640));
    word[3] = v_pack(v_load(rows + 768), v_load(rows + 896));
}

ALWAYS_INLINE void store_four(uint32_t *rows, const vi word[4])
{
    v_storei(rows, word[0]);
    v_storei(rows + 128, word[1]);
    v_storei(rows + 256, word[2]);
    v_storei(rows + 384, word[3]);
}

static void pack_c_bf16(uint32_t *d, const uint32_t *a, const uint32_t *b)
{
    for (int j = 0; j < 128; j += V_LANES) {
        vi lower[4], upper[4];

        pack_four(lower, b + j);
        pack_four(upper, a + j);
        store_four(d + j, lower);
        store_four(d + j + 512, upper);
    }
}

static void pack_rows(uint32_t pair[4][128], const uint32_t *tile)
{
    for (int j = 0; j < 128; j += V_LANES) {
        vi word[4];

        pack_four(word, tile + j);
        store_four(pair[0] + j, word);
    }
}

/* rows 0..3 of `packed` hold rows 0..7 as pairs */
ALWAYS_INLINE void unpack(uint32_t *d, const uint32_t *packed)
{
    for (int j = 0; j < 128; j += V_LANES) {
        vi word[4], low[4], high[4];

        for (int i = 0; i < 4; i++) {
            word[i] = v_loadi(packed + 128 * i + j);
            low[i] = v_shl(word[i], 16);
            high[i] = v_iand(word[i], v_seti(0xffff0000u));
        }
        for (int i = 0; i < 4; i++) {
            v_storei(d + 256 * i + j, low[i]);
            v_storei(d + 256 * i + 128 + j, high[i]);
        }
    }
}

static void unpack_c_l(uint32_t *d, const uint32_t *a) { unpack(d, a); }
static void unpack_c_h(uint32_t *d, const uint32_t *a) { unpack(d, a + 512); }

static void f32_from_s32(uint32_t *d, const uint32_t *a)
{
    for (int i = 0; i < SIMD_TILE_WORDS; i += V_LANES)
        v_store(d + i, v_from_s32(v_loadi(a + i)));
}

static void s32_from_f32(uint32_t *d, const uint32_t *a)
{
    for (int i = 0; i < SIMD_TILE_WORDS; i += V_LANES)
        v_storei(d + i, v_to_s32(v_load(a + i)));
}

static void pow2_f32(uint32_t *d, const uint32_t *a) { map_f1(d, a, eup_pow2); }
static void log2_f32(uint32_t *d, const uint32_t *a) { map_f1(d, a, eup_log2); }
static void rcp_f32(uint32_t *d, const uint32_t *a) { map_f1(d, a, eup_rcp); }
static void rsqrt_f32(uint32_t *d, const uint32_t *a) { map_f1(d, a, eup_rsqrt); }
static void tanh_f32(uint32_t *d, const uint32_t *a) { map_f1(d, a, eup_tanh); }

/* lane j with lane j + 64, then + 32, … + 1; the last levels stay in a register */
ALWAYS_INLINE void reduce(uint32_t *d, const uint32_t *a, vf (*op)(vf, vf))
{
    for (int row = 0; row < 8; row++, a += 128, d += 128) {
        vf part[64 / V_LANES], result;

        for (int i = 0; i < 64 / V_LANES; i++)
            part[i] = op(v_load(a + V_LANES * i), v_load(a + 64 + V_LANES * i));
        for (int half = 32 / V_LANES; half > 0; half /= 2) {
            for (int i = 0; i < half; i++)
                part[i] = op(part[i], part[i + half]);
        }
        result = v_fold(part[0], op);
        for (int i = 0; i < 128; i += V_LANES)
            v_store(d + i, result);
    }
}

static void add_xlane(uint32_t *d, const uint32_t *a) { reduce(d, a, lane_add); }
static void max_xlane(uint32_t *d, const uint32_t *a) { reduce(d, a, v_max); }
static void min_xlane(uint32_t *d, const uint32_t *a) { reduce(d, a, v_min); }

ALWAYS_INLINE void compare_f(uint16_t *mask, const uint32_t *a, const uint32_t *b,
                             vm (*op)(vf, vf))
{
    for (int i = 0; i < SIMD_MASK_WORDS; i++, a += 16, b += 16) {
        unsigned bits = 0;

        for (int j = 0; j < 16; j += V_LANES)
            bits |= v_mask_bits(op(v_load(a + j), v_load(b + j))) << j;
        mask[i] = (uint16_t)bits;
    }
}

ALWAYS_INLINE void compare_i(uint16_t *mask, const uint32_t *a, const uint32_t *b,
                             vm (*op)(vi, vi), unsigned flip)
{
    for (int i = 0; i < SIMD_MASK_WORDS; i++, a += 16, b += 16) {
        unsigned bits = 0;

        for (int j = 0; j < 16; j += V_LANES)
            bits |= v_mask_bits(op(v_loadi(a + j), v_loadi(b + j))) << j;
        mask[i] = (uint16_t)(bits ^ flip);
    }
}

#define COMPARE_F(name, op, x, y) \
    static void name(uint16_t *m, const uint32_t *a, const uint32_t *b) { compare_f(m, x, y, op); }
#define COMPARE_I(name, op, x, y, flip) \
    static void name(uint16_t *m, const uint32_t *a, const uint32_t *b) \
    { \
        compare_i(m, x, y, op, flip); \
    }

COMPARE_F(eq_f32, v_eq, a, b)
COMPARE_F(ne_f32, v_ne, a, b)
COMPARE_F(lt_f32, v_lt, a, b)
COMPARE_F(le_f32, v_le, a, b)
COMPARE_F(gt_f32, v_lt, b, a)
COMPARE_F(ge_f32, v_le, b, a)
COMPARE_I(eq_s32, v_ieq, a, b, 0u)
COMPARE_I(ne_s32, v_ieq, a, b, 0xffffu)
COMPARE_I(lt_s32, v_ilt, a, b, 0u)
COMPARE_I(le_s32, v_ilt, b, a, 0xffffu)
COMPARE_I(gt_s32, v_ilt, b, a, 0u)
COMPARE_I(ge_s32, v_ilt, a, b, 0xffffu)

static void select_tile(uint32_t *d, const uint16_t *mask, const uint32_t *a, const uint32_t *b)
{
    for (int i = 0; i < SIMD_MASK_WORDS; i++) {
        for (int j = 0; j < 16; j += V_LANES) {
            int at = 16 * i + j;

            v_store(d + at, v_select(v_mask((unsigned)mask[i] >> j), v_load(a + at),
                                     v_load(b + at)));
        }
    }
}

static const struct simd_path path = {
    .name = PATH_NAME,
    .binary = {
        [BIN_ADD_F32] = add_f32, [BIN_SUB_F32] = sub_f32, [BIN_MUL_F32] = mul_f32,
        [BIN_MAX_F32] = max_f32, [BIN_MIN_F32] = min_f32, [BIN_ADD_S32] = add_s32,
        [BIN_SUB_S32] = sub_s32, [BIN_MUL_U32] = mul_u32, [BIN_AND] = and_u32,
        [BIN_OR] = or_u32, [BIN_XOR] = xor_u32, [BIN_SHLL] = shll, [BIN_SHRL] = shrl,
        [BIN_SHRA] = shra, [BIN_PACK_C_BF16] = pack_c_bf16,
    },
    .unary = {
        [UN_F32_FROM_S32] = f32_from_s32, [UN_S32_FROM_F32] = s32_from_f32,
        [UN_UNPACK_C_L] = unpack_c_l, [UN_UNPACK_C_H] = unpack_c_h, [UN_POW2] = pow2_f32,
        [UN_LOG2] = log2_f32, [UN_RCP] = rcp_f32, [UN_RSQRT] = rsqrt_f32,
        [UN_TANH] = tanh_f32, [UN_ADD_XLANE] = add_xlane, [UN_MAX_XLANE] = max_xlane,
        [UN_MIN_XLANE] = min_xlane,
    },
    .compare_f32 = {
        [CMP_EQ] = eq_f32, [CMP_NE] = ne_f32, [CMP_LT] = lt_f32, [CMP_LE] = le_f32,
        [CMP_GT] = gt_f32, [CMP_GE] = ge_f32,
    },
    .compare_s32 = {
        [CMP_EQ] = eq_s32, [CMP_NE] = ne_s32, [CMP_LT] = lt_s32, [CMP_LE] = le_s32,
        [CMP_GT] = gt_s32, [CMP_GE] = ge_s32,
    },
    .select = select_tile,
    .pack_rows = pack_rows,
    .pack_columns = pack_columns,
    .matmul = matmul,
};
