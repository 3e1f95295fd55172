/*
 * What the matrix unit computes: every mode, type, half and mask against a
 * model in doubles, on values whose sums are exact in any order.
 */
#include "base/floats.h"
#include "base/units.h"
#include "tests/reference/plain_mxu.h"
#include "tests/test.h"

static struct plain model;

static int open_model(void **state)
{
    (void)state;
    plain_open(&model, "v6e", NULL, "auto");
    return 0;
}

static int close_model(void **state)
{
    (void)state;
    plain_close(&model);
    return 0;
}

static const char *push_type(enum matrix_type type)
{
    static char text[32];

    snprintf(text, sizeof(text), "%s%s", type == MATRIX_F32 ? "" : ".",
             type == MATRIX_F32 ? "" : matrix_type_name(type));
    return text;
}

/* a push of random weights, with the model following */
static void push(struct plain *m, enum matrix_type type, int mode, bool is_xpose, int staging)
{
    static struct plain_tile lower, upper;
    char digit[2] = {(char)('0' + mode), '\0'};

    plain_random(&lower, type, &m->rng);
    plain_random(&upper, type, &m->rng);
    plain_load(m, 1, lower.word);
    if (mode) {
        plain_load(m, 2, upper.word);
        plain_add(m, "{ vmatprep.subr%s.mxu0 v2 }\n", push_type(type));
    }
    plain_add(m, "{ vmatpush%s%s%s.msr%c.mxu0 v1 }\n", mode ? digit : "", push_type(type),
              is_xpose ? ".xpose" : "", 'a' + staging);
    plain_push(m, staging, mode, is_xpose, &lower, mode ? &upper : NULL);
}

/* vlgmr into a gain register in program and model, rows, and pops; into lower, upper */
static void multiply(struct plain *m, enum matrix_type type, bool has_upper, int staging,
                     int gain, struct plain_tile *lower, struct plain_tile *upper)
{
    const char *name = matrix_type_name(type);
    int halves = m->size / 128;

    plain_random(lower, type, &m->rng);
    plain_random(upper, type, &m->rng);
    plain_load(m, 3, lower->word);
    if (has_upper) {
        plain_load(m, 4, upper->word);
        plain_add(m, "{ vmatprep.mubr.%s.mxu0 v4 }\n", name);
    } else {
        memset(upper->value, 0, sizeof(upper->value));
    }
    plain_add(m, "{ vmatmul%s.%s.vlgmr.msr%c.gmr%c.mxu0 v3 }\n", has_upper ? ".mubr" : "", name,
              'a' + staging, 'a' + gain);
    memcpy(m->gain[gain], m->staging[staging], sizeof(m->gain[gain]));
    memset(m->staging[staging], 0, sizeof(m->staging[staging]));
    plain_pop(m, matrix_is_integer(type) ? "vpop.s32.mrf" : "vpop.f32.mrf",
              halves * matrix_rows(type) / 8);
}

/* results first.. of the run are rows x gain, exactly */
static void check(struct plain *m, int first, int gain, const struct plain_tile *lower,
                  const struct plain_tile *upper)
{
    int halves = m->size / 128;
    uint32_t word[1024];

    for (int i = 0; i < halves * matrix_rows(lower->type) / 8; i++) {
        plain_result(m, first + i, word);
        for (int at = 0; at < 1024; at++) {
            int row = i / halves * 8 + at / 128, n = i % halves * 128 + at % 128;
            double sum = 0, got = matrix_is_integer(lower->type)
                                  ? (double)(int32_t)word[at] : (double)f32_from_bits(word[at]);

            for (int k = 0; k < m->size; k++)
                sum += (k < 128 ? lower->value[row][k] : upper->value[row][k - 128]) *
                       m->gain[gain][k][n];
            if (got != sum)
                fail_msg("%s row %d column %d: %g, not %g", matrix_type_name(lower->type), row, n,
                         got, sum);
        }
    }
}

/* pushes of one mode fill the array, some more shift it on */
static void try_mode(enum matrix_type type, int mode, bool is_xpose)
{
    static struct plain_tile lower, upper;
    int tiles = (mode < 2 ? 256 : 128) / matrix_rows(type);

    plain_begin(&model);
    for (int i = 0; i < tiles + 2; i++)
        push(&model, type, mode, is_xpose, mode % 2);
    multiply(&model, type, true, mode % 2, mode / 2, &lower, &upper);
    plain_run(&model);
    check(&model, 0, mode / 2, &lower, &upper);
}

TEST(every_mode_fills_its_blocks_with_f32_and_bf16)
{
    for (int mode = 0; mode < 4; mode++) {
        try_mode(MATRIX_F32, mode, false);
        try_mode(MATRIX_F32, mode, true);
        try_mode(MATRIX_BF16, mode, false);
        try_mode(MATRIX_BF16, mode, true);
    }
}

TEST(integers_are_exact_in_every_mode)
{
    for (enum matrix_type type = MATRIX_S8; type <= MATRIX_U4; type++)
        for (int mode = 0; mode < 4; mode++)
            try_mode(type, mode, mode % 2 == (int)type % 2);
}

TEST(fp8_of_the_chip_multiplies_exactly)
{
    try_mode(MATRIX_F8E5M2, 3, false);
    try_mode(MATRIX_F8E5M2, 0, true);
    try_mode(MATRIX_F8E4M3B11FNUZ, 3, true);
    try_mode(MATRIX_F8E4M3B11FNUZ, 1, false);
    plain_close(&model);
    plain_open(&model, "v6e", "mxu.fp8_e4m3=fn", "auto");
    try_mode(MATRIX_F8E4M3FN, 1, true);
    try_mode(MATRIX_F8E4M3FN, 2, false);
}

TEST(narrow_arrays_take_every_type)
{
    plain_close(&model);
    plain_open(&model, "v5e", NULL, "auto");
    for (enum matrix_type type = MATRIX_F32; type <= MATRIX_F8E4M3B11FNUZ; type++)
        for (int is_xpose = 0; is_xpose < 2; is_xpose++) {
            static struct plain_tile lower, upper;

            plain_begin(&model);
            for (int i = 0; i < 128 / matrix_rows(type) + 1; i++)
                push(&model, type, 0, is_xpose, is_xpose);
            multiply(&model, type, false, is_xpose, 1, &lower, &upper);
            plain_run(&model);
            check(&model, 0, 1, &lower, &upper);
        }
}

TEST(modes_types_and_directions_mix_in_one_register)
{
    static const enum matrix_type types[] = {MATRIX_F32, MATRIX_BF16, MATRIX_F8E5M2,
                                             MATRIX_F8E4M3B11FNUZ};
    static struct plain_tile lower, upper;

    for (int round = 0; round < 6; round++) {
        plain_begin(&model);
        for (int i = 0; i < 40; i++)
            push(&model, types[rng_below(&model.rng, 4)], (int)rng_below(&model.rng, 4),
                 rng_below(&model.rng, 3) == 0, i % 2);
        multiply(&model, MATRIX_BF16, round % 2, round / 2 % 2, 0, &lower, &upper);
        plain_run(&model);
        check(&model, 0, 0, &lower, &upper);
    }
}

TEST(left_hand_side_without_its_upper_half_counts_as_zeros)
{
    static struct plain_tile lower, upper;

    plain_begin(&model);
    for (int i = 0; i < 16; i++)
        push(&model, MATRIX_BF16, 1, false, 0);
    multiply(&model, MATRIX_F32, false, 0, 0, &lower, &upper);
    plain_run(&model);
    check(&model, 0, 0, &lower, &upper);
}

TEST(two_gain_registers_keep_their_weights)
{
    static struct plain_tile a[2], b[2], again[2];

    plain_begin(&model);
    for (int i = 0; i < 8; i++) {
        push(&model, MATRIX_BF16, 3, false, 0);
        push(&model, MATRIX_BF16, 3, true, 1);
    }
    multiply(&model, MATRIX_BF16, true, 0, 0, &a[0], &a[1]);
    multiply(&model, MATRIX_BF16, true, 1, 1, &b[0], &b[1]);
    push(&model, MATRIX_BF16, 1, false, 0);         /* changes no gain register */
    plain_random(&again[0], MATRIX_F32, &model.rng);
    plain_random(&again[1], MATRIX_F32, &model.rng);
    plain_load(&model, 5, again[0].word);
    plain_load(&model, 6, again[1].word);
    plain_add(&model, "{ vmatprep.mubr.f32.mxu0 v6 }\n{ vmatmul.mubr.f32.gmra.mxu0 v5 }\n");
    plain_pop(&model, "vpop.f32.mrf", 2);
    plain_run(&model);
    check(&model, 0, 0, &a[0], &a[1]);
    check(&model, 4, 1, &b[0], &b[1]);
    check(&model, 8, 0, &again[0], &again[1]);
}

TEST(staging_registers_hold_zeros_at_the_start_of_every_launch)
{
    static struct plain_tile lower, upper;

    for (int launch = 0; launch < 2; launch++) {
        plain_begin(&model);
        for (int i = 0; launch == 0 && i < 8; i++)
            push(&model, MATRIX_BF16, i % 4, i % 2, 1);
        multiply(&model, MATRIX_BF16, true, 1, 0, &lower, &upper);
        plain_run(&model);
        check(&model, 0, 0, &lower, &upper);
    }
}

/* what a latch has taken does not stand beside what is pushed later */
TEST(a_latch_leaves_zeros_in_the_staging_register)
{
    static struct plain_tile lower, upper, again[2];

    for (int mode = 0; mode < 4; mode++)
        for (int is_xpose = 0; is_xpose < 2; is_xpose++) {
            plain_begin(&model);
            for (int i = 0; i < 16; i++)
                push(&model, MATRIX_BF16, 1, is_xpose, 0);
            multiply(&model, MATRIX_BF16, true, 0, 0, &lower, &upper);
            for (int i = 0; i < 3; i++)
                push(&model, MATRIX_BF16, mode, !is_xpose, 0);
            multiply(&model, MATRIX_BF16, true, 0, 1, &again[0], &again[1]);
            plain_run(&model);
            check(&model, 0, 0, &lower, &upper);
            check(&model, 4, 1, &again[0], &again[1]);
        }
}

/* drop from a tile of 32-bit values what a mask of random words leaves out */
static void mask_out(struct plain *m, struct plain_tile *t, int mask)
{
    uint32_t word[1024];

    for (int i = 0; i < 1024; i++) {
        word[i] = (uint32_t)rng_next(&m->rng);
        if ((int32_t)word[i] < 0)
            continue;
        t->value[i / 128][i % 128] = 0;
        t->code[i / 128][i % 128] = 0x7fc00000;     /* a NaN that must not count */
    }
    plain_load(m, 20, word);
    plain_add(m, "{ vm%d = vcmp.lt.s32.totalorder v20, 0 }\n", mask);
    for (int i = 0; i < 1024; i++)
        t->word[i] = t->code[i / 128][i % 128];
}

TEST(masks_leave_out_words_of_every_operand)
{
    static struct plain_tile t[4];

    for (int is_xpose = 0; is_xpose < 2; is_xpose++) {
        plain_begin(&model);
        for (int i = 0; i < 16; i++) {
            plain_random(&t[0], MATRIX_F32, &model.rng);
            plain_random(&t[1], MATRIX_F32, &model.rng);
            mask_out(&model, &t[0], 1);
            mask_out(&model, &t[1], 2);
            plain_load(&model, 1, t[0].word);
            plain_load(&model, 2, t[1].word);
            plain_add(&model, "{ vmatprep.subr.msk.mxu0 vm2, v2 }\n"
                              "{ vmatpush3%s.msk.msra.mxu0 vm1, v1 }\n",
                      is_xpose ? ".xpose" : "");
            plain_push(&model, 0, 3, is_xpose, &t[0], &t[1]);
        }
        memcpy(model.gain[0], model.staging[0], sizeof(model.gain[0]));
        memset(model.staging[0], 0, sizeof(model.staging[0]));
        plain_random(&t[2], MATRIX_F32, &model.rng);
        plain_random(&t[3], MATRIX_F32, &model.rng);
        mask_out(&model, &t[2], 3);
        mask_out(&model, &t[3], 4);
        plain_load(&model, 3, t[2].word);
        plain_load(&model, 4, t[3].word);
        plain_add(&model, "{ vmatprep.mubr.msk.f32.mxu0 vm4, v4 }\n"
                          "{ vmatmul.mubr.msk.f32.vlgmr.msra.gmra.mxu0 vm3, v3 }\n");
        plain_pop(&model, "vpop.f32.mrf", 2);
        plain_run(&model);
        check(&model, 0, 0, &t[2], &t[3]);
    }
}

#define T(name) cmocka_unit_test_setup_teardown(name, open_model, close_model)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(every_mode_fills_its_blocks_with_f32_and_bf16),
        T(integers_are_exact_in_every_mode),
        T(fp8_of_the_chip_multiplies_exactly),
        T(narrow_arrays_take_every_type),
        T(modes_types_and_directions_mix_in_one_register),
        T(left_hand_side_without_its_upper_half_counts_as_zeros),
        T(two_gain_registers_keep_their_weights),
        T(staging_registers_hold_zeros_at_the_start_of_every_launch),
        T(a_latch_leaves_zeros_in_the_staging_register),
        T(masks_leave_out_words_of_every_operand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
