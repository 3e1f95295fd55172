/*
 * Do all SIMD paths round every float to bf16 alike, and do they agree on ten
 * million dot products? References are integer arithmetic, not the plain path.
 *
 * make check-long takes all 2^32 floats, and more dot products by the integer
 * chain.
 */
#include "sim/lanes/simd.h"

#include "base/rng.h"
#include "base/units.h"
#include "tests/reference/f32_reference.h"
#include "tests/test.h"

#define NAN_BITS 0x7fc00000u

static const char *const names[] = {"c", "avx2", "avx512", "avx512bf16"};

#define PATH_COUNT (COUNT_OF(names))

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

/*
 * To nearest even by comparing what is cut off with a half: quick enough for
 * all floats, held against reference_bf16 below.
 */
static uint32_t rounded(uint32_t bits)
{
    uint32_t cut = bits & 0xffffu, kept = bits & 0xffff0000u, exponent = bits >> 23 & 0xff;

    if (exponent == 0xff && (bits & 0x007fffffu))
        return NAN_BITS;
    if (exponent == 0)
        return bits & 0x80000000u;
    if (cut > 0x8000u || (cut == 0x8000u && (kept & 0x10000u)))
        kept += 0x10000u;               /* a carry out of the fraction is the next exponent */
    return kept;
}

/* floats in groups: every upper half with the lower halves around the decision, or all */
struct sweep {
    uint64_t next, end;
    bool is_all;
};

static const uint32_t lower_halves[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};

static struct sweep sweep_begin(bool is_all)
{
    return (struct sweep){0, is_all ? 1ull << 32 : COUNT_OF(lower_halves) << 16, is_all};
}

/* fewer only at the end, where the rest is filled with zeros; false when all are done */
static bool sweep_fill(struct sweep *s, uint32_t *values, int count)
{
    if (s->next >= s->end)
        return false;
    for (int i = 0; i < count; i++, s->next++) {
        if (s->next >= s->end)
            values[i] = 0;
        else if (s->is_all)
            values[i] = (uint32_t)s->next;
        else
            values[i] = (uint32_t)(s->next % 65536) << 16 | lower_halves[s->next / 65536];
    }
    return true;
}

static void expect_word(uint32_t got, uint32_t low, uint32_t high, const char *what,
                        const char *path)
{
    uint32_t expected = rounded(high) | rounded(low) >> 16;

    if (got != expected)
        fail_msg("%s, %s: %08x and %08x became %08x, not %08x", path, what, low, high, got,
                 expected);
}

/* 8 rows of 128 f32 x W, the sums going on from `start` */
static void multiply(const struct simd_path *path, uint32_t *out, const uint32_t *start,
                     const uint32_t *lhs, const uint32_t pair[64][128])
{
    uint32_t row[8][64];

    path->rows_of_f32(row, lhs);
    path->matmul(out, start, (const uint32_t (*)[64])row, pair);
}

/* a tile by each way into bf16 that takes tiles */
static void check_packing(const struct simd_path *path, const uint32_t *upper,
                          const uint32_t *lower)
{
    _Alignas(64) uint32_t packed[SIMD_TILE_WORDS];
    uint32_t rows[4][128], columns[64][8], row[8][64];

    path->binary[BIN_PACK_C_BF16](packed, upper, lower);
    path->pack_rows(rows, lower);
    path->rows_of_f32(row, lower);
    path->row_columns(columns, (const uint32_t (*)[64])row);
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 128; j++) {
            int at = 256 * i + j;

            expect_word(packed[128 * i + j], lower[at], lower[at + 128], "vpack, last operand",
                        path->name);
            expect_word(packed[512 + 128 * i + j], upper[at], upper[at + 128],
                        "vpack, first operand", path->name);
            expect_word(rows[i][j], lower[at], lower[at + 128], "weight rows", path->name);
        }
    }
    for (int p = 0; p < 64; p++)
        for (int r = 0; r < 8; r++)
            expect_word(columns[p][r], lower[128 * r + 2 * p], lower[128 * r + 2 * p + 1],
                        "left side and weight columns", path->name);
}

static void sweep_packing(const struct simd_path *path)
{
    _Alignas(64) uint32_t tile[2 * SIMD_TILE_WORDS];
    struct sweep s = sweep_begin(test_is_long());
    uint32_t saved = simd_thread_begin();

    while (sweep_fill(&s, tile, 2 * SIMD_TILE_WORDS))
        check_packing(path, tile, tile + SIMD_TILE_WORDS);
    simd_thread_end(saved);
}

TEST(quick_rounding_to_bf16_is_the_reference)
{
    struct sweep s = sweep_begin(false);
    uint32_t value;

    while (sweep_fill(&s, &value, 1))
        if (rounded(value) != (uint32_t)reference_bf16(value) << 16)
            fail_msg("%08x", value);
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 997)
        if (rounded((uint32_t)bits) != (uint32_t)reference_bf16((uint32_t)bits) << 16)
            fail_msg("%08x", (unsigned)bits);
}

TEST(packing_rounds_every_float_alike_on_every_path)
{
    for (size_t i = 0; i < PATH_COUNT; i++) {
        const struct simd_path *path = path_or_skip(names[i]);

        if (path)
            sweep_packing(path);
    }
}

/* weights with one in each column: the product shows the rounded left side */
static void fill_identity(uint32_t pair[64][128])
{
    memset(pair, 0, 64 * sizeof(pair[0]));
    for (uint32_t n = 0; n < 128; n++)
        pair[n / 2][n] = n % 2 ? 0x3f800000u : 0x3f80u;
}

static void expect_entry(uint32_t got, uint32_t value, const char *path)
{
    uint32_t expected = rounded(value);

    if (expected == 0x80000000u)
        expected = 0;                   /* +0 + -0 */
    if (got != expected)
        fail_msg("%s, left side: %08x became %08x, not %08x", path, value, got, expected);
}

static bool is_finite(uint32_t bits) { return (rounded(bits) & 0x7f800000u) != 0x7f800000u; }

/* each row of the left side holds one value only: the others are times an infinity or a NaN */
static void check_entry_alone(const struct simd_path *path, const uint32_t *values,
                              const uint32_t pair[64][128])
{
    _Alignas(64) uint32_t lhs[SIMD_TILE_WORDS] = {0}, out[SIMD_TILE_WORDS];

    for (int r = 0; r < 8; r++)
        lhs[129 * r] = values[r];
    multiply(path, out, NULL, lhs, pair);
    for (int r = 0; r < 8; r++)
        expect_entry(out[129 * r], values[r], path->name);
}

static void check_entry(const struct simd_path *path, const uint32_t *tile,
                        const uint32_t pair[64][128])
{
    _Alignas(64) uint32_t lhs[SIMD_TILE_WORDS], out[SIMD_TILE_WORDS];

    for (int i = 0; i < SIMD_TILE_WORDS; i++)
        lhs[i] = is_finite(tile[i]) ? tile[i] : 0;
    multiply(path, out, NULL, lhs, pair);
    for (int i = 0; i < SIMD_TILE_WORDS; i++)
        expect_entry(out[i], lhs[i], path->name);
    for (int i = 0; i < SIMD_TILE_WORDS; i += 8)
        if (!is_finite(tile[i]) || !is_finite(tile[i + 7]))
            check_entry_alone(path, tile + i, pair);
}

TEST(matrix_unit_rounds_its_left_side_alike_on_every_path)
{
    static uint32_t pair[64][128];

    fill_identity(pair);
    for (size_t i = 0; i < PATH_COUNT; i++) {
        const struct simd_path *path = path_or_skip(names[i]);
        struct sweep s = sweep_begin(false);
        _Alignas(64) uint32_t tile[SIMD_TILE_WORDS];
        uint32_t saved = simd_thread_begin();

        while (path && sweep_fill(&s, tile, SIMD_TILE_WORDS))
            check_entry(path, tile, (const uint32_t (*)[128])pair);
        simd_thread_end(saved);
    }
}

enum { DOTS_BOUNDED, DOTS_EDGES, DOTS_ARBITRARY, DOTS_COUNT };

#define LENGTH_MAX 256                  /* of a chain: the rows of the widest array */

struct dots {
    uint32_t lhs[2][SIMD_TILE_WORDS];   /* 8 rows of 128 f32 each */
    uint32_t pair[LENGTH_MAX / 2][128]; /* 128 columns */
    int length;                         /* products of each dot; zeros follow */
    bool is_packed;                     /* the left side is bf16 already, any of them */
};

static uint32_t *left(struct dots *d, int row, int k)
{
    return &d->lhs[k / 128][128 * row + k % 128];
}

static uint32_t random_f32(struct rng *r, uint32_t first_exponent, uint32_t last_exponent)
{
    uint32_t exponent = first_exponent + rng_below(r, last_exponent - first_exponent + 1);

    return ((uint32_t)rng_next(r) & 0x807fffffu) | exponent << 23;
}

static void set_weight(struct dots *d, int k, int n, uint32_t bits)
{
    d->pair[k / 2][n] |= k % 2 ? bits & 0xffff0000u : bits >> 16;
}

static uint32_t weight(const struct dots *d, int k, int n)
{
    uint32_t word = d->pair[k / 2][n];

    return k % 2 ? word & 0xffff0000u : word << 16;
}

/* exponents within 2^10 of 1; every other product nearly undoes the one before */
static void fill_bounded(struct dots *d, struct rng *r)
{
    for (int row = 0; row < 8; row++)
        for (int k = 0; k < d->length; k++)
            *left(d, row, k) = k % 2 ? *left(d, row, k - 1) : random_f32(r, 117, 137);
    for (int k = 0; k < d->length; k++)
        for (int n = 0; n < 128; n++)
            set_weight(d, k, n,
                       k % 2 ? weight(d, k - 1, n) ^ 0x80000000u ^ rng_below(r, 4) << 16
                             : random_f32(r, 117, 137));
}

/* products within 2^12 of 2^-126 or of 2^127 */
static void fill_edges(struct dots *d, struct rng *r)
{
    uint32_t sum = rng_below(r, 2) ? 128 : 381;
    uint32_t middle = sum == 128 ? 40 + rng_below(r, 60) : 160 + rng_below(r, 60);

    for (int row = 0; row < 8; row++)
        for (int k = 0; k < d->length; k++)
            *left(d, row, k) = random_f32(r, middle - 6, middle + 6);
    for (int k = 0; k < d->length; k++)
        for (int n = 0; n < 128; n++)
            set_weight(d, k, n, random_f32(r, sum - middle - 6, sum - middle + 6));
}

/* any bits in up to four products, or nothing but NaN would be left */
static void fill_arbitrary(struct dots *d, struct rng *r)
{
    d->length = 1 + (d->length - 1) % 4;
    d->is_packed = rng_below(r, 2);
    for (int row = 0; row < 8; row++)
        for (int k = 0; k < d->length; k++)
            *left(d, row, k) = (uint32_t)rng_next(r) & (d->is_packed ? 0xffff0000u : UINT32_MAX);
    for (int k = 0; k < d->length; k++)
        for (int n = 0; n < 128; n++)
            set_weight(d, k, n, (uint32_t)rng_next(r));
}

static void fill_dots(struct dots *d, int kind, int length, struct rng *r)
{
    static void (*const fill[])(struct dots *, struct rng *) = {fill_bounded, fill_edges,
                                                                fill_arbitrary};

    memset(d, 0, sizeof(*d));
    d->length = length;
    fill[kind](d, r);
}

/*
 * In integers, k = 1,0,3,2,… from +0. A product of the zeros beyond the end is
 * +0 and changes nothing but a sum of -0, so one pair of them stands for all.
 */
static uint32_t chain(struct dots *d, int row, int n)
{
    int steps = (d->length + 3) / 2 * 2;
    uint32_t sum = 0;

    for (int step = 0; step < steps && step < LENGTH_MAX; step++) {
        int k = step ^ 1;
        uint32_t a = *left(d, row, k);

        if (!d->is_packed)
            a = (uint32_t)reference_bf16(a) << 16;
        sum = reference_fma(a, weight(d, k, n), sum);
    }
    return sum;
}

/* rows that are bf16 in memory: 2i and 2i + 1 in the words of sublane i */
static void multiply_packed(const struct simd_path *path, uint32_t *out, const struct dots *d)
{
    _Alignas(64) uint32_t tile[SIMD_TILE_WORDS] = {0};
    uint32_t row[8][64];

    for (int i = 0; i < SIMD_TILE_WORDS; i++)
        tile[i / 256 * 128 + i % 128] |= d->lhs[0][i] >> (i / 128 % 2 ? 0 : 16);
    path->rows_of_bf16(row, tile);
    path->matmul(out, NULL, (const uint32_t (*)[64])row, d->pair);
}

/* an array of 128 rows, or of 256: its upper half goes on from the sums of the lower */
static void multiply_dots(const struct simd_path *path, uint32_t *out, const struct dots *d)
{
    if (d->is_packed)
        multiply_packed(path, out, d);
    else
        multiply(path, out, NULL, d->lhs[0], d->pair);
    if (d->length > 128)
        multiply(path, out, out, d->lhs[1], d->pair + 64);
}

struct dot_paths {
    const struct simd_path *path[PATH_COUNT];
    int64_t ordinary[DOTS_COUNT];       /* results that are neither zero, infinity nor NaN */
};

static void check_dots(struct dot_paths *p, struct dots *d, int kind, struct rng *r)
{
    _Alignas(64) uint32_t got[SIMD_TILE_WORDS], expected[SIMD_TILE_WORDS];
    int chains = test_is_long() ? 64 : 4;

    multiply_dots(p->path[0], expected, d);
    for (size_t i = 1; i < PATH_COUNT; i++) {
        if (!p->path[i])
            continue;
        multiply_dots(p->path[i], got, d);
        for (int j = 0; j < SIMD_TILE_WORDS; j++)
            if (got[j] != expected[j])
                fail_msg("%s, kind %d, %d products, word %d: %08x, path c has %08x", names[i],
                         kind, d->length, j, got[j], expected[j]);
    }
    for (int i = 0; i < chains; i++) {
        uint32_t at = rng_below(r, SIMD_TILE_WORDS);
        uint32_t sum = chain(d, (int)at / 128, (int)at % 128);

        if (expected[at] != sum)
            fail_msg("kind %d, %d products, word %u: %08x, in integers %08x", kind, d->length, at,
                     expected[at], sum);
    }
    for (int i = 0; i < SIMD_TILE_WORDS; i++) {
        uint32_t exponent = expected[i] >> 23 & 0xff;

        p->ordinary[kind] += exponent && exponent != 0xff;
    }
}

TEST(ten_million_dot_products_are_the_same_on_every_path)
{
    static struct dots d;
    struct dot_paths p = {0};
    const int turns = 9768;             /* of 1024 dots */
    uint32_t saved;
    struct rng r;
    int path_count = 0;

    for (size_t i = 0; i < PATH_COUNT; i++) {
        p.path[i] = path_or_skip(names[i]);
        path_count += p.path[i] != NULL;
    }
    rng_init(&r, 41);
    saved = simd_thread_begin();
    for (int turn = 0; turn < turns; turn++) {
        fill_dots(&d, turn % DOTS_COUNT, 1 + (int)rng_below(&r, LENGTH_MAX), &r);
        check_dots(&p, &d, turn % DOTS_COUNT, &r);
    }
    simd_thread_end(saved);
    printf("%d dot products on %d paths\n", turns * SIMD_TILE_WORDS, path_count);
    for (int kind = 0; kind < DOTS_COUNT; kind++) {
        double share = (double)p.ordinary[kind] * DOTS_COUNT / turns / SIMD_TILE_WORDS;

        printf("kind %d: %.1f %% are neither zero, infinity nor NaN\n", kind, 100 * share);
        assert_true(share > 0.25);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quick_rounding_to_bf16_is_the_reference),
        cmocka_unit_test(packing_rounds_every_float_alike_on_every_path),
        cmocka_unit_test(matrix_unit_rounds_its_left_side_alike_on_every_path),
        cmocka_unit_test(ten_million_dot_products_are_the_same_on_every_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
