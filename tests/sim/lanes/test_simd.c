/* SIMD paths: do all compute the same bits, and those the contract states? */
#include "sim/lanes/simd.h"

#include <cblas.h>
#include <math.h>
#include <time.h>

#include "base/floats.h"
#include "base/rng.h"
#include "base/units.h"
#include "sim/lanes/simd_paths.h"
#include "tests/reference/f32_reference.h"
#include "tests/test.h"

static const char *const fast_paths[] = {"avx2", "avx512", "avx512bf16"};

#define FAST_COUNT (COUNT_OF(fast_paths))

/* NULL, and a line that says so, when the host lacks the instructions */
static const struct simd_path *path_or_skip(const char *name)
{
    struct err e = {0};
    const struct simd_path *path = simd_select(name, &e);

    if (!path && !strstr(e.msg, "does not have"))
        fail_msg("%s", e.msg);
    if (!path)
        printf("skipped: %s\n", e.msg);
    return path;
}

/* as many values as make their cross product fill a tile; both signs */
static const uint32_t specials[32] = {
    0x00000000, 0x80000000, 0x00000001, 0x807fffff, 0x007fffff, 0x00800000, 0x80800000,
    0x80800001, 0x00ffffff, 0x1f800000, 0x9f7fffff, 0x33800000, 0x3f000000, 0x3f7f8000,
    0x3f7fffff, 0x3f800000, 0xbf800000, 0xbf800001, 0x3f818000, 0x41200000, 0x4b7fffff,
    0x4f000000, 0xcf000000, 0xc2fc0001, 0x43000000, 0x7f7f8000, 0x7f7fffff, 0xff7fffff,
    0x7f800000, 0xff800000, 0x7f812345, 0xffc00001,
};

/* shift counts and whole numbers, for the integer operations */
static const uint32_t integers[32] = {
    0, 1, 2, 7, 8, 15, 16, 23, 24, 30, 31, 32, 33, 63, 64, 255, 65535, 65536, 0x00ffffff,
    0x01000001, 0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0xffff0000, 0xfffffffe,
    0xffffffff, 0xffffffe0, 0xaaaaaaaa, 0x55555555, 0x7fffffbf, 0x80000040,
};

static void fill_cross(uint32_t *a, uint32_t *b, const uint32_t *first, const uint32_t *second)
{
    for (int i = 0; i < SIMD_TILE_WORDS; i++) {
        a[i] = first[i / 32];
        b[i] = second[i % 32];
    }
}

static void assert_same_tile(const uint32_t *got, const uint32_t *expected, const char *path,
                             const char *kind, int op)
{
    for (int i = 0; i < SIMD_TILE_WORDS; i++) {
        if (got[i] != expected[i])
            fail_msg("%s, %s %d, word %d: %08x, not %08x", path, kind, op, i, got[i], expected[i]);
    }
}

static void assert_same_kernels(const struct simd_path *path, const uint32_t *a, const uint32_t *b)
{
    _Alignas(64) uint32_t got[SIMD_TILE_WORDS], expected[SIMD_TILE_WORDS];
    uint16_t got_mask[SIMD_MASK_WORDS], expected_mask[SIMD_MASK_WORDS];

    for (int op = 0; op < BIN_COUNT; op++) {
        path->binary[op](got, a, b);
        simd_path_c->binary[op](expected, a, b);
        assert_same_tile(got, expected, path->name, "binary", op);
    }
    for (int op = 0; op < UN_COUNT; op++) {
        path->unary[op](got, a);
        simd_path_c->unary[op](expected, a);
        assert_same_tile(got, expected, path->name, "unary", op);
    }
    for (int op = 0; op < CMP_COUNT; op++) {
        path->compare_f32[op](got_mask, a, b);
        simd_path_c->compare_f32[op](expected_mask, a, b);
        assert_memory_equal(got_mask, expected_mask, sizeof(got_mask));
        path->select(got, got_mask, a, b);
        simd_path_c->select(expected, got_mask, a, b);
        assert_same_tile(got, expected, path->name, "select", op);
        path->compare_s32[op](got_mask, a, b);
        simd_path_c->compare_s32[op](expected_mask, a, b);
        assert_memory_equal(got_mask, expected_mask, sizeof(got_mask));
        path->compare_u32[op](got_mask, a, b);
        simd_path_c->compare_u32[op](expected_mask, a, b);
        assert_memory_equal(got_mask, expected_mask, sizeof(got_mask));
    }
}

static void assert_same_packing(const struct simd_path *path, const uint32_t *tile)
{
    uint32_t rows[4][128], columns[64][8], expected_rows[4][128], expected_columns[64][8];
    uint32_t row[16][64], expected_row[16][64];

    path->pack_rows(rows, tile);
    simd_path_c->pack_rows(expected_rows, tile);
    assert_memory_equal(rows, expected_rows, sizeof(rows));
    path->rows_of_f32(row, tile);
    simd_path_c->rows_of_f32(expected_row, tile);
    assert_memory_equal(row, expected_row, sizeof(row) / 2);
    path->row_columns(columns, (const uint32_t (*)[64])row);
    simd_path_c->row_columns(expected_columns, (const uint32_t (*)[64])row);
    assert_memory_equal(columns, expected_columns, sizeof(columns));
    for (int i = 0; i < 2; i++) {
        path->rows_of_bf16(row + 8 * i, tile + 512 * i);
        simd_path_c->rows_of_bf16(expected_row + 8 * i, tile + 512 * i);
    }
    assert_memory_equal(row, expected_row, sizeof(row));
}

static void fill_random(uint32_t *a, uint32_t *b, struct rng *r, int turn)
{
    for (int i = 0; i < SIMD_TILE_WORDS; i++) {
        a[i] = (uint32_t)rng_next(r);
        b[i] = (uint32_t)rng_next(r);
        if (turn % 3 == 1)              /* sums that cancel */
            b[i] = (a[i] ^ 0x80000000u) + rng_below(r, 9);
        if (turn % 3 == 2)              /* products around 2^-126 */
            b[i] = (b[i] & 0x807fffffu) | ((127 - (a[i] >> 23) + rng_below(r, 3)) & 0xff) << 23;
    }
}

TEST(fast_paths_compute_what_the_plain_path_does)
{
    _Alignas(64) uint32_t a[SIMD_TILE_WORDS], b[SIMD_TILE_WORDS];
    struct rng r;

    rng_init(&r, 3);
    for (size_t i = 0; i < FAST_COUNT; i++) {
        const struct simd_path *path = path_or_skip(fast_paths[i]);
        uint32_t saved = simd_thread_begin();

        for (int turn = 0; path && turn < 30; turn++) {
            if (turn < 4)
                fill_cross(a, b, turn & 1 ? specials : integers, turn & 2 ? specials : integers);
            else
                fill_random(a, b, &r, turn);
            assert_same_kernels(path, a, b);
            assert_same_packing(path, a);
        }
        simd_thread_end(saved);
    }
}

TEST(plain_path_gives_the_same_bits_with_and_without_flush_to_zero)
{
    _Alignas(64) uint32_t a[SIMD_TILE_WORDS], b[SIMD_TILE_WORDS], plain[SIMD_TILE_WORDS],
        flushed[SIMD_TILE_WORDS];
    uint32_t saved;

    fill_cross(a, b, specials, specials);
    for (int op = 0; op < BIN_COUNT + UN_COUNT; op++) {
        for (int pass = 0; pass < 2; pass++) {
            uint32_t *d = pass ? flushed : plain;

            saved = pass ? simd_thread_begin() : 0;
            if (op < BIN_COUNT)
                simd_path_c->binary[op](d, a, b);
            else
                simd_path_c->unary[op - BIN_COUNT](d, a);
            if (pass)
                simd_thread_end(saved);
        }
        assert_same_tile(flushed, plain, "c", "operation", op);
    }
    for (int op = 0; op < CMP_COUNT; op++) {
        uint16_t mask[SIMD_MASK_WORDS], flushed_mask[SIMD_MASK_WORDS];

        simd_path_c->compare_f32[op](mask, a, b);
        saved = simd_thread_begin();
        simd_path_c->compare_f32[op](flushed_mask, a, b);
        simd_thread_end(saved);
        assert_memory_equal(mask, flushed_mask, sizeof(mask));
    }
}

TEST(destination_may_be_a_source)
{
    _Alignas(64) uint32_t a[SIMD_TILE_WORDS], b[SIMD_TILE_WORDS], x[SIMD_TILE_WORDS],
        expected[SIMD_TILE_WORDS];

    fill_cross(a, b, specials, integers);
    for (size_t i = 0; i < FAST_COUNT + 1; i++) {
        const struct simd_path *path = i < FAST_COUNT ? path_or_skip(fast_paths[i]) : simd_path_c;
        uint32_t saved = simd_thread_begin();

        for (int op = 0; path && op < BIN_COUNT; op++) {
            path->binary[op](expected, a, b);
            memcpy(x, a, sizeof(x));
            path->binary[op](x, x, b);
            assert_same_tile(x, expected, path->name, "binary into its first source", op);
            memcpy(x, b, sizeof(x));
            path->binary[op](x, a, x);
            assert_same_tile(x, expected, path->name, "binary into its second source", op);
            path->binary[op](expected, a, a);
            memcpy(x, a, sizeof(x));
            path->binary[op](x, x, x);
            assert_same_tile(x, expected, path->name, "binary into its only source", op);
        }
        for (int op = 0; path && op < UN_COUNT; op++) {
            path->unary[op](expected, a);
            memcpy(x, a, sizeof(x));
            path->unary[op](x, x);
            assert_same_tile(x, expected, path->name, "unary into its source", op);
        }
        simd_thread_end(saved);
    }
}

/* rows of f32 x W */
static void multiply(const struct simd_path *path, uint32_t *out, const uint32_t *start,
                     const uint32_t *lhs, uint32_t pair[64][128])
{
    uint32_t row[8][64];

    path->rows_of_f32(row, lhs);
    path->matmul(out, start, (const uint32_t (*)[64])row, (const uint32_t (*)[128])pair);
}

enum { DOTS_BOUNDED, DOTS_EDGES, DOTS_SPARSE, DOTS_COUNT };

/* any sign and fraction; exponents from first to last */
static uint32_t random_f32(struct rng *r, uint32_t first, uint32_t last)
{
    return ((uint32_t)rng_next(r) & 0x807fffffu) | (first + rng_below(r, last - first + 1)) << 23;
}

/* weights that cancel against the one before in its column, given equal lhs values */
static void fill_bounded(uint32_t *lhs, uint32_t pair[64][128], struct rng *r)
{
    for (int i = 0; i < SIMD_TILE_WORDS; i++)
        lhs[i] = i % 4 ? lhs[i - 1] : random_f32(r, 117, 137);
    for (int i = 0; i < 64 * 128; i++) {
        uint32_t even = random_f32(r, 117, 137) & 0xffff0000u;

        pair[i / 128][i % 128] = (even ^ 0x80000000u) | even >> 16;
        if (i % 3 == 0)
            pair[i / 128][i % 128] ^= rng_below(r, 4) << 16;
    }
}

/* products within 2^12 of 2^-126 or of 2^127 */
static void fill_edges(uint32_t *lhs, uint32_t pair[64][128], struct rng *r)
{
    uint32_t sum = rng_below(r, 2) ? 128 : 381;
    uint32_t middle = sum == 128 ? 40 + rng_below(r, 60) : 160 + rng_below(r, 60);

    for (int i = 0; i < SIMD_TILE_WORDS; i++)
        lhs[i] = random_f32(r, middle - 6, middle + 6);
    for (int i = 0; i < 64 * 128; i++) {
        uint32_t even = random_f32(r, sum - middle - 6, sum - middle + 6);
        uint32_t odd = random_f32(r, sum - middle - 6, sum - middle + 6);

        pair[i / 128][i % 128] = even >> 16 | (odd & 0xffff0000u);
    }
}

/* any bits at all in up to four k, or nothing but NaN would be left */
static void fill_sparse(uint32_t *lhs, uint32_t pair[64][128], struct rng *r)
{
    uint32_t first = rng_below(r, 64), second = rng_below(r, 64);

    memset(lhs, 0, SIMD_TILE_WORDS * sizeof(*lhs));
    memset(pair, 0, 64 * sizeof(pair[0]));
    for (uint32_t row = 0; row < 8; row++) {
        for (uint32_t odd = 0; odd < 2; odd++) {
            lhs[128 * row + 2 * first + odd] = (uint32_t)rng_next(r);
            lhs[128 * row + 2 * second + odd] = (uint32_t)rng_next(r);
        }
    }
    for (int n = 0; n < 128; n++) {
        pair[first][n] = (uint32_t)rng_next(r);
        pair[second][n] = (uint32_t)rng_next(r);
    }
}

static void fill_dots(int kind, uint32_t *lhs, uint32_t pair[64][128], struct rng *r)
{
    if (kind == DOTS_BOUNDED)
        fill_bounded(lhs, pair, r);
    else if (kind == DOTS_EDGES)
        fill_edges(lhs, pair, r);
    else
        fill_sparse(lhs, pair, r);
}

static int finite_count(const uint32_t *tile)
{
    int count = 0;

    for (int i = 0; i < SIMD_TILE_WORDS; i++)
        count += (tile[i] & 0x7f800000u) != 0x7f800000u && (tile[i] & 0x7f800000u);
    return count;
}

/* about 10^6 of 128 products each */
TEST(dot_products_are_the_same_on_every_path)
{
    static uint32_t pair[64][128];
    const struct simd_path *paths[FAST_COUNT];
    _Alignas(64) uint32_t lhs[SIMD_TILE_WORDS], got[SIMD_TILE_WORDS], expected[SIMD_TILE_WORDS];
    uint32_t start[SIMD_TILE_WORDS];
    int matmuls = 999, finite[DOTS_COUNT] = {0};
    uint32_t saved;
    struct rng r;

    for (size_t i = 0; i < FAST_COUNT; i++)
        paths[i] = path_or_skip(fast_paths[i]);
    memset(expected, 0, sizeof(expected));
    rng_init(&r, 11);
    saved = simd_thread_begin();
    for (int turn = 0; turn < matmuls; turn++) {
        const uint32_t *from = turn / DOTS_COUNT % 2 ? start : NULL;

        memcpy(start, expected, sizeof(start));         /* where the last one ended */
        fill_dots(turn % DOTS_COUNT, lhs, pair, &r);
        multiply(simd_path_c, expected, from, lhs, pair);
        finite[turn % DOTS_COUNT] += finite_count(expected);
        for (size_t i = 0; i < FAST_COUNT; i++) {
            if (!paths[i])
                continue;
            memcpy(got, start, sizeof(got));
            multiply(paths[i], got, from ? got : NULL, lhs, pair);
            assert_same_tile(got, expected, paths[i]->name, "matmul", turn % DOTS_COUNT);
        }
    }
    simd_thread_end(saved);
    for (int kind = 0; kind < DOTS_COUNT; kind++)
        assert_true(finite[kind] > matmuls / DOTS_COUNT * SIMD_TILE_WORDS / 8);
}

/* one chain per element, k = 1,0,3,2,…, from +0 or from the last result, in integers */
TEST(plain_matmul_is_the_stated_chain_of_multiply_adds)
{
    static uint32_t pair[64][128];
    _Alignas(64) uint32_t lhs[SIMD_TILE_WORDS], got[SIMD_TILE_WORDS], last[SIMD_TILE_WORDS];
    struct rng r;

    rng_init(&r, 5);
    for (int turn = 0; turn < 6; turn++) {
        fill_dots(turn % DOTS_COUNT, lhs, pair, &r);
        multiply(simd_path_c, got, turn % 2 ? last : NULL, lhs, pair);
        for (int i = 0; i < SIMD_TILE_WORDS; i++) {
            uint32_t sum = turn % 2 ? last[i] : 0;

            for (int step = 0; step < 128; step++) {
                int k = step ^ 1;
                uint32_t a = (uint32_t)reference_bf16(lhs[i / 128 * 128 + k]) << 16;
                uint32_t w = pair[k / 2][i % 128];

                sum = reference_fma(a, k % 2 ? w & 0xffff0000u : w << 16, sum);
            }
            if (got[i] != sum)
                fail_msg("matmul word %d: %08x, not %08x", i, got[i], sum);
        }
        memcpy(last, got, sizeof(last));
    }
}

/* a tile of pairs back to 16 rows of f32 */
static void unpack_both(const struct simd_path *path, uint32_t *rows, const uint32_t *packed)
{
    path->unary[UN_UNPACK_C_L](rows, packed);
    path->unary[UN_UNPACK_C_H](rows + SIMD_TILE_WORDS, packed);
}

TEST(packing_rounds_every_float_as_the_reference_and_keeps_its_place)
{
    _Alignas(64) uint32_t rows[2 * SIMD_TILE_WORDS], back[2 * SIMD_TILE_WORDS];
    _Alignas(64) uint32_t packed[SIMD_TILE_WORDS];
    struct err e = {0};
    const struct simd_path *path = simd_select("auto", &e);
    uint32_t saved = simd_thread_begin();

    assert_non_null(path);
    for (uint64_t first = 0; first * 997 <= UINT32_MAX; first += 2 * SIMD_TILE_WORDS) {
        for (uint64_t i = 0; i < 2 * SIMD_TILE_WORDS; i++)
            rows[i] = (uint32_t)((first + i) * 997);
        path->binary[BIN_PACK_C_BF16](packed, rows + SIMD_TILE_WORDS, rows);
        unpack_both(path, back, packed);
        for (int i = 0; i < 2 * SIMD_TILE_WORDS; i++) {
            if (back[i] != (uint32_t)reference_bf16(rows[i]) << 16)
                fail_msg("%08x became %08x", rows[i], back[i]);
        }
        path->binary[BIN_PACK_C_BF16](rows, back + SIMD_TILE_WORDS, back);
        assert_same_tile(rows, packed, path->name, "packing what was unpacked", 0);
    }
    simd_thread_end(saved);
}

TEST(weight_rows_and_columns_pack_to_the_same_array)
{
    static uint32_t by_rows[64][128], by_columns[64][128], block[64][8];
    uint32_t row[8][64];
    _Alignas(64) uint32_t tile[SIMD_TILE_WORDS];

    for (uint32_t group = 0; group < 16; group++) {
        for (uint32_t i = 0; i < SIMD_TILE_WORDS; i++)
            tile[i] = (8 * group + i / 128) << 23 | (i % 128) << 16;    /* row k, column n */
        simd_path_c->pack_rows(by_rows + 4 * group, tile);
        for (uint32_t i = 0; i < SIMD_TILE_WORDS; i++)
            tile[i] = (i % 128) << 23 | (8 * group + i / 128) << 16;    /* column n, row k */
        simd_path_c->rows_of_f32(row, tile);
        simd_path_c->row_columns(block, (const uint32_t (*)[64])row);
        for (int p = 0; p < 64; p++)
            memcpy(by_columns[p] + 8 * group, block[p], sizeof(block[p]));
    }
    assert_memory_equal(by_rows, by_columns, sizeof(by_rows));
    assert_int_equal(by_rows[5][77], (11u << 23 | 77u << 16) | (10u << 23 | 77u << 16) >> 16);
}

TEST(row_reductions_follow_the_lane_tree)
{
    _Alignas(64) uint32_t a[SIMD_TILE_WORDS], got[SIMD_TILE_WORDS];
    struct rng r;

    rng_init(&r, 17);
    for (int i = 0; i < SIMD_TILE_WORDS; i++)
        a[i] = random_f32(&r, 100, 140);
    simd_path_c->unary[UN_ADD_XLANE](got, a);
    for (int row = 0; row < 8; row++) {
        uint32_t lane[128];

        memcpy(lane, a + 128 * row, sizeof(lane));
        for (int half = 64; half > 0; half /= 2) {
            for (int j = 0; j < half; j++)
                lane[j] = reference_add(lane[j], lane[j + half]);
        }
        for (int j = 0; j < 128; j++)
            assert_int_equal(got[128 * row + j], lane[0]);
    }
}

static void unary_of(enum simd_unary op, uint32_t x, uint32_t expected)
{
    _Alignas(64) uint32_t tile[SIMD_TILE_WORDS], got[SIMD_TILE_WORDS];

    for (int i = 0; i < SIMD_TILE_WORDS; i++)
        tile[i] = x;
    simd_path_c->unary[op](got, tile);
    assert_int_equal(got[SIMD_TILE_WORDS - 1], expected);
}

TEST(conversions_saturate_and_round_as_stated)
{
    unary_of(UN_S32_FROM_F32, 0x4f000000, INT32_MAX);                   /* 2^31 */
    unary_of(UN_S32_FROM_F32, 0x4effffff, 0x7fffff80);
    unary_of(UN_S32_FROM_F32, 0xcf000000, 0x80000000);
    unary_of(UN_S32_FROM_F32, 0xff800000, 0x80000000);
    unary_of(UN_S32_FROM_F32, 0x7f800000, INT32_MAX);
    unary_of(UN_S32_FROM_F32, 0xffc00000, 0);
    unary_of(UN_S32_FROM_F32, 0xbfffffff, 0xffffffff);                  /* -1.99… */
    unary_of(UN_F32_FROM_S32, 0x01000001, 0x4b800000);                  /* a tie, to even */
    unary_of(UN_F32_FROM_S32, 0x01000003, 0x4b800002);
    unary_of(UN_F32_FROM_S32, 0x80000000, 0xcf000000);
}

TEST(maximum_and_minimum_order_zeros_and_pass_nan)
{
    static const uint32_t cases[][4] = {                                /* a, b, max, min */
        {0x00000000, 0x80000000, 0x00000000, 0x80000000},
        {0x80000000, 0x00000000, 0x00000000, 0x80000000},
        {0x80000000, 0x007fffff, 0x00000000, 0x80000000},
        {0x807fffff, 0x80000001, 0x80000000, 0x80000000},
        {0x7fc12345, 0x3f800000, 0x7fc00000, 0x7fc00000},
        {0xff800000, 0x7f800001, 0x7fc00000, 0x7fc00000},
        {0xff800000, 0xff7fffff, 0xff7fffff, 0xff800000},
    };
    _Alignas(64) uint32_t a[SIMD_TILE_WORDS], b[SIMD_TILE_WORDS], most[SIMD_TILE_WORDS],
        least[SIMD_TILE_WORDS];

    memset(a, 0, sizeof(a));
    memset(b, 0, sizeof(b));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        a[i] = cases[i][0];
        b[i] = cases[i][1];
    }
    simd_path_c->binary[BIN_MAX_F32](most, a, b);
    simd_path_c->binary[BIN_MIN_F32](least, a, b);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(most[i], cases[i][2]);
        assert_int_equal(least[i], cases[i][3]);
    }
}

struct blas_case {
    _Alignas(64) uint32_t lhs[SIMD_TILE_WORDS], out[SIMD_TILE_WORDS], pair[64][128];
    float a[8 * 128], w[128 * 128];     /* the operands, rounded to bf16 */
};

/* the sum of twelve uniforms, less 6 */
static double near_normal(struct rng *r)
{
    double sum = -6.0;

    for (int i = 0; i < 12; i++)
        sum += (double)(rng_next(r) >> 11) * 0x1p-53;
    return sum;
}

static void fill_blas_case(struct blas_case *c, const struct simd_path *path, struct rng *r)
{
    _Alignas(64) uint32_t tile[SIMD_TILE_WORDS];

    for (int i = 0; i < SIMD_TILE_WORDS; i++) {
        c->lhs[i] = f32_bits((float)near_normal(r));
        c->a[i] = f32_from_bits((uint32_t)reference_bf16(c->lhs[i]) << 16);
    }
    for (int group = 0; group < 16; group++) {
        for (int i = 0; i < SIMD_TILE_WORDS; i++) {
            tile[i] = f32_bits((float)near_normal(r));
            c->w[SIMD_TILE_WORDS * group + i] =
                f32_from_bits((uint32_t)reference_bf16(tile[i]) << 16);
        }
        path->pack_rows(c->pair + 4 * group, tile);
    }
    multiply(path, c->out, NULL, c->lhs, c->pair);
}

static void sgemm(float *out, const float *a, const float *w)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 8, 128, 128, 1, a, 128, w, 128, 0, out,
                128);
}

/*
 * Each of the 128 steps rounds once, by at most u = 2^-24 of a partial sum, so
 * |computed - exact| <= g S with g = K u / (1 - K u) and S = sum of |a||b|, in
 * any order of additions. sgemm may round its products too, one step more:
 * K + 1. Two such results differ by at most the sum of their bounds.
 */
TEST(matmul_meets_blas_within_the_rounding_bound)
{
    static struct blas_case c;
    float blas[SIMD_TILE_WORDS], size[SIMD_TILE_WORDS];
    const double u = 0x1p-24, bound = 128 * u / (1 - 128 * u) + 129 * u / (1 - 129 * u);
    double worst = 0;
    const struct simd_path *path;
    struct err e = {0};
    struct rng r;
    uint32_t saved;

    rng_init(&r, 23);
    path = simd_select("auto", &e);
    assert_non_null(path);
    saved = simd_thread_begin();
    fill_blas_case(&c, path, &r);
    simd_thread_end(saved);
    sgemm(blas, c.a, c.w);
    for (int i = 0; i < 8 * 128; i++)
        c.a[i] = fabsf(c.a[i]);
    for (int i = 0; i < 128 * 128; i++)
        c.w[i] = fabsf(c.w[i]);
    sgemm(size, c.a, c.w);
    for (int i = 0; i < SIMD_TILE_WORDS; i++) {
        double got = (double)f32_from_bits(c.out[i]);

        worst = fmax(worst, fabs(got - (double)blas[i]) / (double)size[i]);
    }
    printf("matmul against sgemm: %.1f %% of the bound\n", 100 * worst / bound);
    assert_true(worst <= bound);
    assert_true(worst > 0);             /* the orders differ, so the results do */
}

TEST(self_test_is_quick_and_finds_a_path_that_differs)
{
    for (size_t i = 0; i < FAST_COUNT; i++) {
        const struct simd_path *path = path_or_skip(fast_paths[i]);
        struct simd_path wrong = *simd_path_c;
        clock_t begin = clock();

        if (!path)
            continue;
        assert_null(simd_selftest(path));
        printf("%s self-test: %.1f ms\n", path->name,
               1e3 * (double)(clock() - begin) / CLOCKS_PER_SEC);
        wrong.binary[BIN_ADD_F32] = path->binary[BIN_SUB_F32];
        assert_string_equal(simd_selftest(&wrong), "f32 add");
        wrong = *path;
        wrong.compare_f32[CMP_LE] = path->compare_f32[CMP_LT];
        assert_string_equal(simd_selftest(&wrong), "compare");
    }
}

TEST(unknown_path_is_refused_with_the_valid_names)
{
    struct err e = {0};

    assert_null(simd_select("neon", &e));
    assert_string_equal(e.msg, "unknown simd path \"neon\", expected auto, c, avx2, avx512 or "
                        "avx512bf16");
    assert_ptr_equal(simd_select("c", &e), simd_path_c);
}

TEST(auto_is_a_path_of_the_host_and_the_same_each_time)
{
    struct err e = {0};
    const struct simd_path *path = simd_select("auto", &e);

    assert_non_null(path);
    assert_ptr_equal(simd_select(path->name, &e), path);
    assert_ptr_equal(simd_select("auto", &e), path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fast_paths_compute_what_the_plain_path_does),
        cmocka_unit_test(plain_path_gives_the_same_bits_with_and_without_flush_to_zero),
        cmocka_unit_test(destination_may_be_a_source),
        cmocka_unit_test(dot_products_are_the_same_on_every_path),
        cmocka_unit_test(plain_matmul_is_the_stated_chain_of_multiply_adds),
        cmocka_unit_test(packing_rounds_every_float_as_the_reference_and_keeps_its_place),
        cmocka_unit_test(weight_rows_and_columns_pack_to_the_same_array),
        cmocka_unit_test(row_reductions_follow_the_lane_tree),
        cmocka_unit_test(conversions_saturate_and_round_as_stated),
        cmocka_unit_test(maximum_and_minimum_order_zeros_and_pass_nan),
        cmocka_unit_test(matmul_meets_blas_within_the_rounding_bound),
        cmocka_unit_test(self_test_is_quick_and_finds_a_path_that_differs),
        cmocka_unit_test(unknown_path_is_refused_with_the_valid_names),
        cmocka_unit_test(auto_is_a_path_of_the_host_and_the_same_each_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
