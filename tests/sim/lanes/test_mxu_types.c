/*
 * Matrix units on any bits: every code of fp8, packed masks, chains over 256
 * products with cancellation, overflow and underflow, accumulators; the same
 * on every SIMD path, and equal to a reference in integers.
 */
#include "base/floats.h"
#include "sim/lanes/matrix_tile.h"
#include "tests/reference/f32_reference.h"
#include "tests/reference/plain_mxu.h"
#include "tests/test.h"

#include <math.h>

static struct plain model;

TEST(narrow_codes_are_their_values_in_bf16)
{
    static const struct {
        enum matrix_type type;
        uint32_t code;
        double value;
    } known[] = {
        {MATRIX_F8E5M2, 0x7b, 57344}, {MATRIX_F8E5M2, 0x01, 0x1p-16}, {MATRIX_F8E5M2, 0x3c, 1},
        {MATRIX_F8E4M3FN, 0x7e, 448}, {MATRIX_F8E4M3FN, 0x01, 0x1p-9}, {MATRIX_F8E4M3FN, 0x38, 1},
        {MATRIX_F8E4M3B11FNUZ, 0x7f, 30}, {MATRIX_F8E4M3B11FNUZ, 0x01, 0x1p-13},
        {MATRIX_F8E4M3B11FNUZ, 0x58, 1}, {MATRIX_S8, 0x80, -128}, {MATRIX_S4, 0x8, -8},
        {MATRIX_U8, 0xff, 255}, {MATRIX_U4, 0xf, 15}, {MATRIX_F8E5M2, 0xfc, -INFINITY},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        assert_true(plain_value(known[i].type, known[i].code) == known[i].value);
    for (enum matrix_type type = MATRIX_S8; type < MATRIX_TYPE_COUNT; type++)
        for (uint32_t code = 0; code < (matrix_rows(type) == 64 ? 16u : 256u); code++) {
            uint32_t expected = plain_bits(type, code);

            assert_int_equal(expected & 0xffff, 0);
        }
}

/* every code alone in its row, times weights of 1 */
TEST(every_code_of_fp8_goes_through_the_array)
{
    static const char *const set[] = {NULL, "mxu.fp8_e4m3=fn"};
    static struct plain_tile ones, codes;
    uint32_t word[1024];

    for (enum matrix_type type = MATRIX_F8E5M2; type <= MATRIX_F8E4M3FN; type++) {
        plain_open(&model, "v5e", set[type == MATRIX_F8E4M3FN], "auto");
        ones.type = MATRIX_F32;
        for (int i = 0; i < 1024; i++)
            ones.code[i / 128][i % 128] = 0x3f800000;
        plain_pack(&ones);
        plain_load(&model, 1, ones.word);
        for (int i = 0; i < 16; i++)
            plain_add(&model, "{ vmatpush.msra.mxu0 v1 }\n");
        for (int tile = 0; tile < 8; tile++) {
            memset(&codes, 0, sizeof(codes));
            codes.type = type;
            for (uint32_t r = 0; r < 32; r++)
                codes.code[r][5 * tile + (int)r] = (uint32_t)(32 * tile) + r;
            plain_pack(&codes);
            plain_load(&model, 2, codes.word);
            plain_add(&model, "{ vmatmul.%s%s.gmra.mxu0 v2 }\n", matrix_type_name(type),
                      tile ? "" : ".vlgmr.msra");
            plain_pop(&model, "vpop.f32.mrf", 4);
        }
        plain_run(&model);
        for (uint32_t code = 0; code < 256; code++) {
            uint32_t expected = plain_bits(type, code);

            plain_result(&model, (int)code / 8, word);
            if (expected == 0x80000000)
                expected = 0;           /* the chain starts from +0 */
            assert_int_equal(word[code % 8 * 128 + code % 128], expected);
        }
        plain_close(&model);
    }
}

/* two random masks of words become one of halves: vm3 = rows 0..7 by vm2, 8..15 by vm1 */
static void make_mask(bool row[16][128])
{
    uint32_t word[1024];

    for (int half = 1; half >= 0; half--) {
        for (int i = 0; i < 1024; i++) {
            word[i] = (uint32_t)rng_next(&model.rng);
            row[8 * half + i / 128][i % 128] = (int32_t)word[i] < 0;
        }
        plain_load(&model, 20, word);
        plain_add(&model, "{ vm%d = vcmp.lt.s32.totalorder v20, 0 }\n", half ? 1 : 2);
    }
    plain_add(&model, "{ vm3 = vmpackc.low vm1, vm2 }\n");
}

/* the bit of the 16-bit half in which a value lies */
static void drop_masked(struct plain_tile *t, bool mask[16][128])
{
    int per_half = matrix_values_per_word(t->type) / 2;

    for (int r = 0; r < matrix_rows(t->type); r++)
        for (int j = 0; j < 128; j++)
            if (!mask[r / per_half][j])
                t->value[r][j] = 0;
}

static void check_masked(enum matrix_type type)
{
    static struct plain_tile weights, rows;
    static bool mask[16][128];
    const char *name = matrix_type_name(type);
    uint32_t word[1024];

    plain_begin(&model);
    for (int i = 0; i < 128 / matrix_rows(type); i++) {
        plain_random(&weights, type, &model.rng);
        make_mask(mask);
        plain_load(&model, 1, weights.word);
        plain_add(&model, "{ vmatpush.%s.msk.msra.mxu0 vm3, v1 }\n", name);
        drop_masked(&weights, mask);
        plain_push(&model, 0, 0, false, &weights, NULL);
    }
    plain_random(&rows, type, &model.rng);
    make_mask(mask);
    plain_load(&model, 2, rows.word);
    plain_add(&model, "{ vmatmul.msk.%s.vlgmr.msra.gmra.mxu0 vm3, v2 }\n", name);
    plain_pop(&model, matrix_is_integer(type) ? "vpop.s32.mrf" : "vpop.f32.mrf",
              matrix_rows(type) / 8);
    plain_run(&model);
    drop_masked(&rows, mask);
    for (int i = 0; i < matrix_rows(type) * 128; i++) {
        double sum = 0;

        for (int k = 0; k < 128; k++)
            sum += rows.value[i / 128][k] * model.staging[0][k][i % 128];
        plain_result(&model, i / 1024, word);
        assert_true(sum == (matrix_is_integer(type) ? (double)(int32_t)word[i % 1024]
                                                    : (double)f32_from_bits(word[i % 1024])));
    }
}

TEST(packed_masks_leave_out_halves_of_words)
{
    plain_open(&model, "v5e", NULL, "auto");
    check_masked(MATRIX_BF16);
    check_masked(MATRIX_S8);
    check_masked(MATRIX_U4);
    check_masked(MATRIX_F8E5M2);
    plain_close(&model);
}

/* A 256 x 256 multiplication of 16 rows, bits by bits. */
struct product {
    uint16_t row[16][256], weight[256][256];
};

enum { SPREAD_MIDDLE, SPREAD_LOW, SPREAD_HIGH, SPREAD_COUNT };

static uint16_t random_bf16(struct rng *r, uint32_t exponent)
{
    return (uint16_t)((rng_below(r, 65536) & 0x807f) | exponent << 7);
}

/* products near 1, near 2^-126 or near 2^127, many that cancel; a few of any bits */
static void fill_product(struct product *p, struct rng *r, int spread)
{
    static const uint32_t sum[] = {254, 128, 375};

    for (int i = 0; i < 16 * 256; i++)
        p->row[i / 256][i % 256] = i % 2 ? (uint16_t)(p->row[i / 256][i % 256 - 1] ^ 0x8000)
                                         : random_bf16(r, sum[spread] / 2 + rng_below(r, 6) - 3);
    for (int i = 0; i < 256 * 256; i++)
        p->weight[i / 256][i % 256] = random_bf16(r, sum[spread] / 2 + rng_below(r, 6) - 3);
    for (int i = 0; i < 16; i += 3) {
        p->row[i][rng_below(r, 256)] = (uint16_t)rng_below(r, 65536);
        p->weight[rng_below(r, 256)][7 * i] = (uint16_t)rng_below(r, 65536);
    }
}

static void tile_of(struct plain_tile *t, const uint16_t *rows)
{
    t->type = MATRIX_BF16;
    for (int i = 0; i < 16 * 128; i++)
        t->code[i / 128][i % 128] = rows[i / 128 * 256 + i % 128];
    plain_pack(t);
}

static void push_weights(const struct product *p)
{
    static struct plain_tile t;

    for (int k = 240; k >= 0; k -= 16) {
        tile_of(&t, &p->weight[k][128]);
        plain_load(&model, 2, t.word);
        tile_of(&t, &p->weight[k][0]);
        plain_load(&model, 1, t.word);
        plain_add(&model, "{ vmatprep.subr.bf16.mxu0 v2 }\n{ vmatpush1.bf16.msra.mxu0 v1 }\n");
    }
}

static void multiply_rows(const struct product *p, const char *accumulator)
{
    static struct plain_tile t;

    tile_of(&t, &p->row[0][128]);
    plain_load(&model, 4, t.word);
    tile_of(&t, &p->row[0][0]);
    plain_load(&model, 3, t.word);
    plain_add(&model, "{ vmatprep.mubr.bf16.mxu0 v4 }\n"
                      "{ vmatmul.mubr.bf16.vlgmr.msra.gmra%s.mxu0 v3 }\n", accumulator);
}

/* k = 1, 0, 3, 2, … 255, 254 */
static uint32_t chain(const struct product *p, int row, int n)
{
    uint32_t sum = 0;

    for (int step = 0; step < 256; step++)
        sum = reference_fma((uint32_t)p->row[row][step ^ 1] << 16,
                            (uint32_t)p->weight[step ^ 1][n] << 16, sum);
    return sum;
}

TEST(chain_over_256_products_has_the_same_bits_on_every_path)
{
    static const char *const paths[] = {"c", "avx2", "avx512", "avx512bf16"};
    static uint32_t first[4][1024], word[1024];
    static struct product p;
    struct err e;

    for (int spread = 0; spread < SPREAD_COUNT; spread++) {
        for (size_t i = 0; i < COUNT_OF(paths); i++) {
            if (!simd_select(paths[i], &e))
                continue;
            plain_open(&model, "v6e", NULL, paths[i]);
            fill_product(&p, &model.rng, spread);
            push_weights(&p);
            multiply_rows(&p, "");
            plain_pop(&model, "vpop.f32.mrf", 4);
            plain_run(&model);
            for (int tile = 0; tile < 4; tile++) {
                plain_result(&model, tile, i ? word : first[tile]);
                if (i)
                    assert_memory_equal(word, first[tile], sizeof(word));
            }
            plain_close(&model);
        }
        for (int i = 0; i < 16 * 256; i += 13) {
            uint32_t got = first[i / 256 / 8 * 2 + i % 256 / 128][i / 256 % 8 * 128 + i % 128];

            if (got != chain(&p, i / 256, i % 256))
                fail_msg("spread %d element %d: %08x, not %08x", spread, i, got,
                         chain(&p, i / 256, i % 256));
        }
    }
}

TEST(accumulators_add_pass_by_pass_and_start_again_from_zero)
{
    static struct product p[3];
    uint32_t word[4][1024];

    plain_open(&model, "v7x", NULL, "auto");
    for (int i = 0; i < 3; i++)
        fill_product(&p[i], &model.rng, SPREAD_MIDDLE);
    push_weights(&p[0]);
    multiply_rows(&p[0], ".mrb[11]");
    push_weights(&p[1]);
    multiply_rows(&p[1], ".mrb[11]");
    plain_pop(&model, "vpop.f32.mrb[11]", 2);
    plain_pop(&model, "vpop.f32.mrb[12]", 2);
    push_weights(&p[2]);
    multiply_rows(&p[2], ".mrb[12]");
    plain_pop(&model, "vpop.f32.mrb[13]", 1);
    plain_pop(&model, "vpop.f32.mrb[12]", 2);
    plain_pop(&model, "vpop.f32.mrb[13]", 1);
    plain_run(&model);
    for (int i = 0; i < 4; i++)
        plain_result(&model, i, word[i]);
    for (int i = 0; i < 16 * 256; i += 11) {
        uint32_t sum = reference_add(0, chain(&p[0], i / 256, i % 256));

        sum = reference_add(sum, chain(&p[1], i / 256, i % 256));
        assert_int_equal(word[i / 256 / 8 * 2 + i % 256 / 128][i / 256 % 8 * 128 + i % 128], sum);
    }
    for (int i = 0; i < 4; i++)
        plain_result(&model, 4 + i, word[i == 0 ? 2 : i == 3 ? 3 : i - 1]);
    for (int i = 0; i < 16 * 256; i += 11)
        assert_int_equal(word[i / 256 / 8 * 2 + i % 256 / 128][i / 256 % 8 * 128 + i % 128],
                         reference_add(0, chain(&p[2], i / 256, i % 256)));
    plain_close(&model);
}

TEST(accumulators_of_integers_add_as_integers)
{
    static struct plain_tile full;
    uint32_t word[1024];

    plain_open(&model, "v6e", "mxu.accumulators=16", "auto");
    full.type = MATRIX_U8;
    memset(full.code, 0, sizeof(full.code));
    for (int i = 0; i < 32 * 128; i++)
        full.code[i / 128][i % 128] = 255;
    plain_pack(&full);
    plain_load(&model, 1, full.word);
    for (int i = 0; i < 8; i++)
        plain_add(&model, "{ vmatprep.subr.mxu0 v1 }\n{ vmatpush1.u8.msra.mxu0 v1 }\n");
    for (int i = 0; i < 3; i++)
        plain_add(&model, "{ vmatprep.mubr.u8.mxu0 v1 }\n"
                          "{ vmatmul.mubr.u8%s.gmra.mrb[2].mxu0 v1 }\n", i ? "" : ".vlgmr.msra");
    plain_pop(&model, "vpop.s32.mrb[4]", 2);
    plain_run(&model);
    plain_result(&model, 1, word);
    assert_int_equal(word[1023], 3 * 256 * 255 * 255);  /* above 2^24, where f32 would round */
    plain_close(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(narrow_codes_are_their_values_in_bf16),
        cmocka_unit_test(every_code_of_fp8_goes_through_the_array),
        cmocka_unit_test(packed_masks_leave_out_halves_of_words),
        cmocka_unit_test(chain_over_256_products_has_the_same_bits_on_every_path),
        cmocka_unit_test(accumulators_add_pass_by_pass_and_start_again_from_zero),
        cmocka_unit_test(accumulators_of_integers_add_as_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
