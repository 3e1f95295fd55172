/*
 * A SIMD path against the plain path on inputs chosen to make them differ:
 * special values crossed with each other, sums that cancel, products around
 * the smallest normal number, and arbitrary bits.
 */
#include "sim/lanes/simd.h"

#include <string.h>

#include "base/floats.h"
#include "base/rng.h"
#include "sim/lanes/simd_paths.h"

/* each is tried with the next one as second operand */
enum {
    TILE_SPECIAL_ROWS, TILE_SPECIAL_LANES,      /* all pairs */
    TILE_CANCEL, TILE_CANCELLED,                /* sums of few bits */
    TILE_SMALL, TILE_SMALLER,                   /* products around 2^-126 */
    TILE_BITS, TILE_COUNT
};

struct inputs {
    _Alignas(64) uint32_t tile[TILE_COUNT][SIMD_TILE_WORDS];
    _Alignas(64) uint32_t pair[SIMD_ARRAY_PAIRS][128];
    uint16_t mask[SIMD_MASK_WORDS];
};

static const uint32_t specials[32] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, /* to subnormal */
    0x00800000, 0x80800000, 0x00800001, 0x00ffffff, 0x1f800000, 0x9f7fffff, /* to 2^-64 */
    0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x3f808000, 0x3f818000, /* bf16 ties */
    0x40200000, 0x4b7fffff, 0x4effffff, 0x4f000000, 0xcf000000, 0xc2fc0001, /* s32, pow2 ends */
    0x42ffffff, 0x7effffff, 0x7f7f8000, 0x7f7fffff, 0x7f800000, 0xff800000, /* overflow */
    0x7f800001, 0xffc12345,                                                 /* NaN */
};

/* any sign and fraction, exponent field from `first` on, `count` values of it */
static uint32_t random_f32(struct rng *r, uint32_t first, uint32_t count)
{
    return ((uint32_t)rng_next(r) & 0x807fffffu) | (first + rng_below(r, count)) << 23;
}

static void fill_tiles(struct inputs *in, struct rng *r)
{
    for (int i = 0; i < SIMD_TILE_WORDS; i++) {
        uint32_t previous = i % 2 ? in->tile[TILE_CANCEL][i - 1] : random_f32(r, 112, 30);

        in->tile[TILE_SPECIAL_ROWS][i] = specials[i / 32];
        in->tile[TILE_SPECIAL_LANES][i] = specials[i % 32];
        in->tile[TILE_CANCEL][i] = (previous ^ 0x80000000u) + rng_below(r, 5);
        in->tile[TILE_CANCELLED][i] = (in->tile[TILE_CANCEL][i] ^ 0x80000000u) + rng_below(r, 5);
        in->tile[TILE_SMALL][i] = random_f32(r, 50, 30);
        in->tile[TILE_SMALLER][i] = random_f32(r, 50, 30);
        in->tile[TILE_BITS][i] = (uint32_t)rng_next(r);
    }
    for (int i = 0; i < SIMD_MASK_WORDS; i++)
        in->mask[i] = (uint16_t)rng_next(r);
}

/* the weights of both k of a pair; for TILE_CANCEL equal but for their last bit */
static uint32_t random_weights(struct rng *r, int lhs)
{
    uint32_t first = lhs == TILE_SMALL ? 50 : 120;
    uint32_t high = random_f32(r, first, 16), low = random_f32(r, first, 16);

    if (lhs == TILE_BITS)
        return (uint32_t)rng_next(r);
    if (lhs == TILE_CANCEL)
        low = high + (rng_below(r, 2) << 16);
    return low >> 16 | (high & 0xffff0000u);
}

/* arbitrary bits only in k 2..5, else a NaN or infinity would hide all else */
static void fill_matmul(uint32_t *lhs, struct inputs *in, struct rng *r, int tile)
{
    memcpy(lhs, in->tile[tile], sizeof(in->tile[tile]));
    for (int i = 0; i < SIMD_TILE_WORDS; i++) {
        if (tile == TILE_BITS && (i % 128 < 2 || i % 128 > 5))
            lhs[i] = 0;
    }
    for (int p = 0; p < SIMD_ARRAY_PAIRS; p++) {
        for (int n = 0; n < 128; n++)
            in->pair[p][n] = tile == TILE_BITS && (p < 1 || p > 2) ? 0 : random_weights(r, tile);
    }
}

static const char *const binary_names[] = {
#define BINARY(id, function, name) name,
#define UNARY(id, function, name)
#include "sim/lanes/simd_kernels.def"
};

static const char *const unary_names[] = {
#define BINARY(id, function, name)
#define UNARY(id, function, name) name,
#include "sim/lanes/simd_kernels.def"
};

static int same(const uint32_t *x, const uint32_t *y)
{
    return memcmp(x, y, SIMD_TILE_WORDS * sizeof(*x)) == 0;
}

static const char *test_binary(const struct simd_path *path, const uint32_t *a, const uint32_t *b)
{
    _Alignas(64) uint32_t x[SIMD_TILE_WORDS], y[SIMD_TILE_WORDS];

    for (int op = 0; op < BIN_COUNT; op++) {
        path->binary[op](x, a, b);
        simd_path_c->binary[op](y, a, b);
        if (!same(x, y))
            return binary_names[op];
    }
    return NULL;
}

static const char *test_unary(const struct simd_path *path, const uint32_t *a)
{
    _Alignas(64) uint32_t x[SIMD_TILE_WORDS], y[SIMD_TILE_WORDS];

    for (int op = 0; op < UN_COUNT; op++) {
        path->unary[op](x, a);
        simd_path_c->unary[op](y, a);
        if (!same(x, y))
            return unary_names[op];
    }
    return NULL;
}

static void compare_all(const struct simd_path *path, int op, uint16_t mask[3][SIMD_MASK_WORDS],
                        const uint32_t *a, const uint32_t *b)
{
    path->compare_f32[op](mask[0], a, b);
    path->compare_s32[op](mask[1], a, b);
    path->compare_u32[op](mask[2], a, b);
}

static const char *test_masks(const struct simd_path *path, const uint16_t *mask,
                              const uint32_t *a, const uint32_t *b)
{
    _Alignas(64) uint32_t x[SIMD_TILE_WORDS], y[SIMD_TILE_WORDS];
    uint16_t m[3][SIMD_MASK_WORDS], n[3][SIMD_MASK_WORDS];

    for (int op = 0; op < CMP_COUNT; op++) {
        compare_all(path, op, m, a, b);
        compare_all(simd_path_c, op, n, a, b);
        if (memcmp(m, n, sizeof(m)) != 0)
            return "compare";
    }
    path->select(x, mask, a, b);
    simd_path_c->select(y, mask, a, b);
    return same(x, y) ? NULL : "select";
}

static void move_all(const struct simd_path *path, uint32_t *d, const uint16_t *mask,
                     const uint32_t *a, const uint32_t *b, uint32_t up)
{
    path->spread(d, a);
    path->rotate(d + SIMD_TILE_WORDS, a, up);
    path->turn(d + SIMD_TILE_WORDS + 8, b + 16);
    path->select_row(d, mask, a, b);
    path->select_row_halves(d + 128, mask, mask + 8, a, b);
}

static const char *test_moves(const struct simd_path *path, const uint16_t *mask,
                              const uint32_t *a, const uint32_t *b)
{
    static const uint32_t turns[] = {0, 1, 16, 17, 127};
    _Alignas(64) uint32_t x[2][SIMD_TILE_WORDS], y[2][SIMD_TILE_WORDS];

    for (int i = 0; i < (int)(sizeof(turns) / sizeof(turns[0])); i++) {
        move_all(path, x[0], mask, a, b, turns[i]);
        move_all(simd_path_c, y[0], mask, a, b, turns[i]);
        if (!same(x[0], y[0]) || !same(x[1], y[1]))
            return "what moves lanes";
    }
    return NULL;
}

static const char *test_weights(const struct simd_path *path, const uint32_t *tile)
{
    uint32_t x[16][64], y[16][64], u[64][8], v[64][8], p[4][128], q[4][128];

    path->pack_rows(p, tile);
    simd_path_c->pack_rows(q, tile);
    if (memcmp(p, q, sizeof(p)) != 0)
        return "packing of weight rows";
    path->rows_of_f32(x, tile);
    simd_path_c->rows_of_f32(y, tile);
    path->row_columns(u, (const uint32_t (*)[64])x);
    simd_path_c->row_columns(v, (const uint32_t (*)[64])y);
    if (memcmp(x, y, sizeof(x) / 2) != 0 || memcmp(u, v, sizeof(u)) != 0)
        return "rows of f32";
    for (int i = 0; i < 2; i++) {
        path->rows_of_bf16(x + 8 * i, tile + 512 * i);
        simd_path_c->rows_of_bf16(y + 8 * i, tile + 512 * i);
    }
    return memcmp(x, y, sizeof(x)) == 0 ? NULL : "rows of bf16";
}

/* equal rows, a row of zeros, lanes of k that hold nothing: what a path may leave out */
static void carve(uint32_t row[8][64])
{
    memcpy(row[4], row[3], sizeof(row[4]));
    memset(row[6], 0, sizeof(row[6]));
    for (int r = 0; r < 8; r++)
        memset(row[r] + 41, 0, 20 * sizeof(row[r][0]));
}

static const char *test_matmul(const struct simd_path *path, struct inputs *in, struct rng *r)
{
    static const int tiles[] = {TILE_BITS, TILE_CANCEL, TILE_SMALL};
    const uint32_t (*pair)[128] = (const uint32_t (*)[128])in->pair;
    _Alignas(64) uint32_t lhs[SIMD_TILE_WORDS], x[SIMD_TILE_WORDS], y[SIMD_TILE_WORDS];
    const uint32_t *const ahead[2] = {lhs, NULL};
    uint32_t row[8][64];

    for (int i = 0; i < 3; i++) {
        const uint32_t *start = i ? in->tile[tiles[i]] : NULL;

        fill_matmul(lhs, in, r, tiles[i]);
        simd_path_c->rows_of_f32(row, lhs);
        path->matmul(x, start, (const uint32_t (*)[64])row, pair);
        simd_path_c->matmul(y, start, (const uint32_t (*)[64])row, pair);
        if (!same(x, y))
            return "matmul";
        carve(row);
        path->matmul_add(x, start, (const uint32_t (*)[64])row, pair, path->are_finite(pair), ahead);
        simd_path_c->matmul_add(y, start, (const uint32_t (*)[64])row, pair, false, ahead);
        if (!same(x, y))
            return "matmul and add";
    }
    return NULL;
}

static const char *test_all(const struct simd_path *path)
{
    struct inputs in;
    struct rng r;
    const char *what = NULL;

    rng_init(&r, 1);
    fill_tiles(&in, &r);
    for (int i = 0; i < TILE_COUNT && !what; i++) {
        const uint32_t *a = in.tile[i], *b = in.tile[(i + 1) % TILE_COUNT];

        what = test_binary(path, a, b);
        if (!what)
            what = test_unary(path, a);
        if (!what)
            what = test_masks(path, in.mask, a, b);
        if (!what)
            what = test_moves(path, in.mask, a, b);
        if (!what)
            what = test_weights(path, a);
    }
    return what ? what : test_matmul(path, &in, &r);
}

const char *simd_selftest(const struct simd_path *path)
{
    const char *what;
    uint32_t saved;

    if (path == simd_path_c)
        return NULL;
    saved = simd_thread_begin();
    what = test_all(path);
    simd_thread_end(saved);
    return what;
}
