/*
 * Products whose rows have zeros, lanes of k that hold nothing, or are equal: a
 * path may leave out what gives nothing, but must end with the bits of the
 * whole chain. The plain path leaves out nothing.
 */
#include "sim/lanes/simd.h"

#include "base/rng.h"
#include "base/units.h"
#include "sim/lanes/simd_paths.h"
#include "tests/reference/f32_reference.h"
#include "tests/test.h"

static const char *const fast_paths[] = {"avx2", "avx512", "avx512bf16"};

struct product {
    uint32_t row[8][64], pair[64][128];
    _Alignas(64) uint32_t addend[SIMD_TILE_WORDS];
};

/* a bf16 of any sign and fraction with an exponent around `middle` */
static uint32_t random_bf16(struct rng *r, uint32_t middle)
{
    return ((uint32_t)rng_next(r) & 0x807fu) | (middle - 3 + rng_below(r, 7)) << 7;
}

/* ordinary numbers, products around 2^-126, or around 2^127; a few zeros and subnormals */
static void fill(struct product *x, struct rng *r)
{
    static const uint32_t sums[] = {250, 128, 381}, odd_ones[] = {0, 0x8000, 1, 0x807f};
    uint32_t left = 90 + rng_below(r, 30), right = sums[rng_below(r, 3)] - left;
    uint32_t *words[] = {x->row[0], x->pair[0]};

    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < (side ? 64 * 128 : 8 * 64); i++) {
            uint32_t even = random_bf16(r, side && right < 251 ? right : left);

            if (rng_below(r, 50) == 0)
                even = odd_ones[rng_below(r, 4)];
            words[side][i] = even | random_bf16(r, side && right < 251 ? right : left) << 16;
        }
    }
    for (int i = 0; i < SIMD_TILE_WORDS; i++)
        x->addend[i] = rng_below(r, 4) ? random_bf16(r, 120) << 16 : rng_below(r, 2) << 31;
}

/* zeros of either sign in so many of a hundred lanes of all rows; zero rows, and rows twice */
static void carve(struct product *x, struct rng *r)
{
    uint32_t lanes = 25 * rng_below(r, 5), rows = 25 * rng_below(r, 5);

    for (int k = 0; k < 128; k++) {
        uint32_t keep = rng_below(r, 100) < lanes ? 0x8000u : 0xffffu;

        for (int i = 0; i < 8; i++)
            x->row[i][k / 2] &= k % 2 ? keep << 16 | 0xffffu : 0xffff0000u | keep;
    }
    for (int i = 0; i < 8; i++) {
        if (rng_below(r, 100) >= rows)
            continue;
        if (i > 0 && rng_below(r, 2))
            memcpy(x->row[i], x->row[i - 1], sizeof(x->row[i]));
        else
            memset(x->row[i], 0, sizeof(x->row[i]));
    }
}

/* an infinity or a NaN on one side, in the other's holes as well */
static void spoil(struct product *x, struct rng *r)
{
    static const uint32_t halves[] = {0x7f80, 0xff80, 0x7fc0, 0xff81, 0x7f7f};
    uint32_t half = halves[rng_below(r, 5)] << (rng_below(r, 2) ? 16 : 0), kind = rng_below(r, 4);

    if (kind == 0)
        x->row[rng_below(r, 8)][rng_below(r, 64)] = half;
    if (kind == 1)
        x->pair[rng_below(r, 64)][rng_below(r, 128)] = half;
}

static bool is_finite(const struct product *x)
{
    const uint32_t *words = x->pair[0];

    for (int i = 0; i < 64 * 128; i++) {
        uint32_t w = words[i];

        if ((w & 0x7f80u) == 0x7f80u || (w & 0x7f800000u) == 0x7f800000u)
            return false;
    }
    return true;
}

static void multiply(const struct simd_path *path, const struct product *x, bool has_addend,
                     uint32_t *out)
{
    const uint32_t (*pair)[128] = (const uint32_t (*)[128])x->pair;
    const uint32_t *const ahead[2] = {NULL, x->addend};

    memcpy(out, x->addend, sizeof(x->addend));
    path->matmul_add(out, has_addend ? out : NULL, (const uint32_t (*)[64])x->row, pair,
                     path->are_finite(pair), ahead);
}

static void expect(const struct product *x, bool has_addend, uint32_t *out)
{
    simd_path_c->matmul(out, NULL, (const uint32_t (*)[64])x->row,
                        (const uint32_t (*)[128])x->pair);
    for (int i = 0; has_addend && i < SIMD_TILE_WORDS; i++)
        out[i] = reference_add(out[i], x->addend[i]);
}

static void hold(const struct simd_path *path, const struct product *x, const uint32_t *expected,
                 bool has_addend, int turn)
{
    _Alignas(64) uint32_t got[SIMD_TILE_WORDS];

    assert_int_equal(path->are_finite((const uint32_t (*)[128])x->pair), is_finite(x));
    multiply(path, x, has_addend, got);
    for (int i = 0; i < SIMD_TILE_WORDS; i++) {
        if (got[i] != expected[i])
            fail_msg("%s, turn %d, word %d: %08x, not %08x", path->name, turn, i, got[i],
                     expected[i]);
    }
}

static void hold_all(const struct product *x, bool has_addend, int turn, uint32_t *expected)
{
    expect(x, has_addend, expected);
    hold(simd_path_c, x, expected, has_addend, turn);
    for (size_t i = 0; i < COUNT_OF(fast_paths); i++) {
        struct err e = {0};
        const struct simd_path *path = simd_select(fast_paths[i], &e);

        if (path)
            hold(path, x, expected, has_addend, turn);
        else if (!turn)
            printf("skipped: %s\n", e.msg);
    }
}

TEST(holes_change_no_bit)
{
    static struct product x;
    uint32_t expected[SIMD_TILE_WORDS], saved = simd_thread_begin();
    struct rng r;

    rng_init(&r, 5);
    for (int turn = 0; turn < 1200; turn++) {
        fill(&x, &r);
        carve(&x, &r);
        spoil(&x, &r);
        hold_all(&x, turn % 2, turn, expected);
    }
    simd_thread_end(saved);
}

/* every number of rows that are left, and of pairs; the last ones and the first */
TEST(any_count_of_rows_and_pairs)
{
    static struct product x;
    uint32_t expected[SIMD_TILE_WORDS], saved = simd_thread_begin();
    struct rng r;

    rng_init(&r, 6);
    for (int turn = 0; turn < 9 * 65; turn++) {
        int rows = turn % 9, pairs = turn / 9;

        fill(&x, &r);
        for (int i = 0; i < 8; i++) {
            memset(x.row[i] + (turn % 2 ? 0 : pairs), 0, (size_t)(64 - pairs) * 4);
            if (i >= rows)
                memset(x.row[i], 0, sizeof(x.row[i]));
        }
        hold_all(&x, turn % 3 == 0, turn, expected);
    }
    simd_thread_end(saved);
}

/* 2^-70 x -2^-70 is flushed to -0, which +0 x 1 behind it makes +0, and -0 x 1 leaves */
TEST(a_flushed_sum_meets_the_zeros_behind_it)
{
    static struct product x;
    uint32_t expected[SIMD_TILE_WORDS], saved = simd_thread_begin();

    for (uint32_t sign = 0; sign < 2; sign++) {
        for (int i = 0; i < 8; i++) {
            for (int p = 0; p < 64; p++)
                x.row[i][p] = p == 10 ? sign << 31 | 0x1c80u : sign * 0x80008000u;
        }
        for (int p = 0; p < 64; p++) {
            for (int n = 0; n < 128; n++)
                x.pair[p][n] = p == 10 ? 0x3f809c80 : 0x3f803f80;
        }
        hold_all(&x, false, (int)sign, expected);
        assert_int_equal(expected[0], sign << 31);
    }
    simd_thread_end(saved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holes_change_no_bit),
        cmocka_unit_test(any_count_of_rows_and_pairs),
        cmocka_unit_test(a_flushed_sum_meets_the_zeros_behind_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
