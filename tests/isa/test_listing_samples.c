/*
 * Do kernels that the real compiler wrote compute what they are meant to?
 * Each is compared with its own meaning, worked out here: bit for bit where
 * the numerics contract says every step, in doubles where approximations of
 * the machine come in. Skips where the listings are not at hand.
 */
#include "base/floats.h"
#include "isa/file.h"
#include "tests/reference/f32_reference.h"
#include "tests/rigs/listing_bench.h"
#include "tests/rigs/round_trip.h"
#include "tests/test.h"

#include <math.h>

struct sample {
    struct listing_bench bench;
    struct machine *m;
    const char *chip;
    uint8_t *image[8];                  /* of each operand with memory */
};

static bool open_sample(struct sample *s, const char *chip, const char *name)
{
    const char *shared = getenv("SYSTOLE_SHARED");
    struct listing_bench *b = &s->bench;
    uint8_t *text;
    char path[500];
    size_t size;

    memset(s, 0, sizeof(*s));
    s->chip = chip;
    bench_open(b, chip);
    snprintf(path, sizeof(path), "%s/samples/llo_%s/%s.final_bundles.txt",
             shared ? shared : "../shared", chip, name);
    if (isa_file_read(path, &b->arena, &text, &size, &b->err) != 0) {
        bench_close(b);
        return false;
    }
    assert_int_equal(listing_scan((char *)text, size, path, &b->arena, &b->listing, &b->errors), 0);
    assert_int_equal(bench_place(b), 0);
    bench_assemble(b);
    for (uint32_t i = 0; i < b->listing.op_count; i++)
        if (b->listing.op[i].reason)
            fail_msg("%s: %s", b->listing.op[i].text, b->listing.op[i].reason);
    check_printing(&b->listing.program, SAME_CODE);
    for (uint32_t i = 0; i < b->listing.operand_count; i++)
        s->image[i] = calloc((size_t)b->listing.operand[i].layout.bytes + 4, 1);
    return true;
}

#define OPEN(s, chip, name) \
    do { \
        if (!open_sample(s, chip, name)) \
            SKIP("no listing " name " for " chip); \
    } while (0)

/* listings declare their operands in any order */
static int place_of(const struct sample *s, int number)
{
    int i = 0;

    while (s->bench.listing.operand[i].number != number)
        i++;
    return i;
}

static void set(struct sample *s, int number, int64_t index, uint32_t bits)
{
    int operand = place_of(s, number);
    struct listing_operand *o = &s->bench.listing.operand[operand];

    if (o->space == SPACE_VALUE)
        o->value = (int32_t)bits;
    else
        memcpy(s->image[operand] + listing_element_bit(&o->layout, &o->shape, index) / 8, &bits, 4);
}

static uint32_t get(struct sample *s, int number, int64_t index)
{
    int operand = place_of(s, number);
    struct listing_operand *o = &s->bench.listing.operand[operand];
    uint32_t bits;

    memcpy(&bits, s->image[operand] + listing_element_bit(&o->layout, &o->shape, index) / 8, 4);
    return bits;
}

static float get_f32(struct sample *s, int operand, int64_t index)
{
    return f32_from_bits(get(s, operand, index));
}

/* what fill() puts there: a thousand different numbers in [lo, hi) */
static float input(int operand, int64_t index, float lo, float hi)
{
    uint32_t x = (uint32_t)(index * 7919 + operand * 104729 + 17) * 2654435761u >> 12;

    return lo + (hi - lo) * (float)(x % 1000) / 1000.0f;
}

static void fill(struct sample *s, int operand, float lo, float hi)
{
    int64_t count = listing_elem_count(&s->bench.listing.operand[place_of(s, operand)].shape);

    for (int64_t i = 0; i < count; i++)
        set(s, operand, i, f32_bits(input(operand, i, lo, hi)));
}

static void move(struct sample *s, uint32_t i, bool is_in)
{
    struct listing_operand *o = &s->bench.listing.operand[i];
    struct err *e = &s->bench.err;
    int64_t bytes = o->layout.bytes;
    int status = 0;

    if (o->space == SPACE_HBM)
        status = is_in ? machine_hbm_write(s->m, 0, o->address, s->image[i], bytes, e)
                       : machine_hbm_read(s->m, 0, o->address, s->image[i], bytes, e);
    else if (o->space == SPACE_VMEM)
        status = is_in ? machine_vmem_write(s->m, 0, o->address, s->image[i], bytes, e)
                       : machine_vmem_read(s->m, 0, o->address, s->image[i], bytes, e);
    assert_int_equal(status, 0);
}

static void run(struct sample *s)
{
    struct listing_bench *b = &s->bench;

    s->m = bench_machine(b, s->chip, 1000000);
    for (uint32_t i = 0; i < b->listing.operand_count; i++)
        move(s, i, true);
    if (machine_run(s->m, &b->err) != 0)
        fail_msg("%s", b->err.msg);
    for (uint32_t i = 0; i < b->listing.operand_count; i++)
        move(s, i, false);
}

static void close_sample(struct sample *s)
{
    for (uint32_t i = 0; i < s->bench.listing.operand_count; i++)
        free(s->image[i]);
    machine_destroy(s->m);
    bench_close(&s->bench);
}

static void assert_near(double got, double wanted, double bound)
{
    if (!(fabs(got - wanted) <= bound))
        fail_msg("%.9g instead of %.9g, bound %.3g", got, wanted, bound);
}

/* ---- v5e ---- */

TEST(vector_add_adds_bit_for_bit)
{
    struct sample s;

    OPEN(&s, "v5e", "vector_add_simple");
    fill(&s, 0, -3.0f, 5.0f);
    fill(&s, 1, -1e-3f, 1e-3f);
    run(&s);
    for (int i = 0; i < 1024; i++)
        assert_int_equal(get(&s, 2, i), reference_add(f32_bits(input(0, i, -3.0f, 5.0f)),
                                                      f32_bits(input(1, i, -1e-3f, 1e-3f))));
    close_sample(&s);
}

static uint32_t as_bf16(float x)
{
    return (uint32_t)reference_bf16(f32_bits(x)) << 16;
}

TEST(matmul_multiplies_bit_for_bit)
{
    struct sample s;

    OPEN(&s, "v5e", "matmul_simple");
    fill(&s, 0, -3.0f, 3.0f);
    fill(&s, 1, -2.0f, 2.0f);
    run(&s);
    for (int r = 0; r < 8; r++)
        for (int n = 0; n < 8; n++) {
            uint32_t sum = 0;

            for (int k = 0; k < 128; k++)       /* k = 1, 0, 3, 2… */
                sum = reference_fma(as_bf16(input(0, r * 128 + (k ^ 1), -3.0f, 3.0f)),
                                    as_bf16(input(1, (k ^ 1) * 8 + n, -2.0f, 2.0f)), sum);
            assert_int_equal(get(&s, 2, r * 8 + n), sum);
        }
    close_sample(&s);
}

/* ---- v6e: moves and products ---- */

TEST(broadcast_multiply_multiplies_bit_for_bit)
{
    struct sample s;

    OPEN(&s, "v6e", "broadcast_multiply_fusion");
    fill(&s, 0, -3.0f, 3.0f);
    set(&s, 1, 0, f32_bits(0.37f));
    run(&s);
    for (int i = 0; i < 64 * 32; i++)
        assert_int_equal(get(&s, 2, i), reference_mul(f32_bits(input(0, i, -3.0f, 3.0f)),
                                                      f32_bits(0.37f)));
    close_sample(&s);
}

TEST(a_pair_is_taken_apart)
{
    struct sample s;

    OPEN(&s, "v6e", "fusion.16");
    set(&s, 0, 0, 0x12345678);
    set(&s, 0, 1, 0x9abcdef0);
    run(&s);
    assert_int_equal(get(&s, 1, 0), 0x9abcdef0);
    assert_int_equal(get(&s, 2, 0), 0x12345678);
    close_sample(&s);
}

TEST(two_words_are_put_together)
{
    struct sample s;

    OPEN(&s, "v6e", "pad_add_fusion");
    set(&s, 0, 0, 0x12345678);
    set(&s, 1, 0, 0x9abcdef0);
    run(&s);
    assert_int_equal(get(&s, 2, 0), 0x9abcdef0);
    assert_int_equal(get(&s, 2, 1), 0x12345678);
    close_sample(&s);
}

TEST(three_rows_are_taken_apart)
{
    struct sample s;

    OPEN(&s, "v6e", "slice_reduce_fusion");
    for (int i = 0; i < 6; i++)
        set(&s, 0, i, 0xa0000000u + (uint32_t)i * 0x01010101u);
    run(&s);
    for (int row = 0; row < 3; row++)
        for (int i = 0; i < 2; i++)
            assert_int_equal(get(&s, 3 - row, i),
                             0xa0000000u + (uint32_t)(2 * row + i) * 0x01010101u);
    close_sample(&s);
}

/* ---- v6e: sums and approximations, in doubles ---- */

/* the operands rounded to bf16, sums in f32 */
TEST(products_and_their_squares_agree)
{
    struct sample s;

    OPEN(&s, "v6e", "multiply_reduce_fusion");
    fill(&s, 0, -1.0f, 1.0f);
    fill(&s, 1, -1.0f, 1.0f);
    run(&s);
    for (int r = 0; r < 16; r++) {
        double squares = 0.0;

        for (int n = 0; n < 64; n++) {
            double sum = 0.0;

            for (int k = 0; k < 64; k++)
                sum += (double)f32_from_bits(as_bf16(input(0, r * 64 + k, -1.0f, 1.0f))) *
                       (double)f32_from_bits(as_bf16(input(1, k * 64 + n, -1.0f, 1.0f)));
            assert_near((double)get_f32(&s, 3, r * 64 + n), sum, 64 * ldexp(64.0, -24));
            squares += sum * sum;
        }
        assert_near((double)get_f32(&s, 2, r), squares, 1e-5 * squares);
    }
    close_sample(&s);
}

/* exp(x / norm - largest), as the kernels of a softmax compute it */
static double term(int operand, int64_t index, double norm, double largest)
{
    return exp((double)input(operand, index, -1.0f, 1.0f) / norm - largest);
}

TEST(sums_of_exponentials_agree)
{
    struct sample s;

    OPEN(&s, "v6e", "fusion.2");
    fill(&s, 0, 0.5f, 1.5f);
    fill(&s, 1, -1.0f, 1.0f);
    fill(&s, 2, 0.5f, 1.5f);
    run(&s);
    for (int r = 0; r < 16; r++) {
        double sum = 0.0;

        for (int n = 0; n < 64; n++)
            sum += term(1, r * 64 + n, (double)input(2, r, 0.5f, 1.5f),
                        (double)input(0, r, 0.5f, 1.5f));
        assert_near((double)get_f32(&s, 3, r), sum, 1e-5 * sum);
    }
    close_sample(&s);
}

/* the weights are rounded to bf16 before the product: 2^-8 of each term */
TEST(a_softmax_times_a_matrix_agrees)
{
    struct sample s;

    OPEN(&s, "v6e", "fusion");
    fill(&s, 0, -1.0f, 1.0f);
    fill(&s, 1, 1.0f, 2.0f);
    fill(&s, 2, 0.5f, 1.5f);
    fill(&s, 3, -1.0f, 1.0f);
    fill(&s, 4, 0.5f, 1.5f);
    run(&s);
    for (int r = 0; r < 16; r++)
        for (int n = 0; n < 32; n++) {
            double sum = 0.0, size = 0.0;

            for (int k = 0; k < 64; k++) {
                double one = term(3, r * 64 + k, (double)input(4, r, 0.5f, 1.5f),
                                  (double)input(2, r, 0.5f, 1.5f)) /
                             (double)input(1, r, 1.0f, 2.0f) *
                             (double)input(0, k * 32 + n, -1.0f, 1.0f);

                sum += one;
                size += fabs(one);
            }
            assert_near((double)get_f32(&s, 5, r * 32 + n), sum, ldexp(size, -7));
        }
    close_sample(&s);
}

/* ---- v6e: random normal numbers ---- */

static uint32_t rotated(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

/* Threefry with two words and twenty rounds; the words exclusive-or'ed */
static uint32_t threefry(const uint32_t key[3], uint32_t x0, uint32_t x1)
{
    static const int by[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};

    x0 += key[0];
    x1 += key[1];
    for (uint32_t round = 0; round < 5; round++) {
        for (int i = 0; i < 4; i++) {
            x0 += x1;
            x1 = rotated(x1, by[round % 2][i]) ^ x0;
        }
        x0 += key[(round + 1) % 3];
        x1 += key[(round + 2) % 3] + round + 1;
    }
    return x0 ^ x1;
}

/* y with erf(y) = x, by Newton's method */
static double inverse_erf(double x)
{
    double y = 0.0;

    for (int i = 0; i < 100; i++)
        y -= (erf(y) - x) / (2.0 / sqrt(3.14159265358979323846) * exp(-y * y));
    return y;
}

TEST(random_normal_numbers_agree)
{
    struct sample s;
    uint32_t key[3] = {0x13198a2e, 0x03707344, 0};

    OPEN(&s, "v6e", "select_multiply_fusion");
    key[2] = key[0] ^ key[1] ^ 0x1bd11bda;
    for (int r = 0; r < 16; r++) {
        set(&s, 0, r, 1);               /* high word of the counter with, without a carry */
        set(&s, 1, r, 0);
        set(&s, 2, r, r == 5 ? 0xffffffe0u : 64u * (uint32_t)r);
    }
    set(&s, 3, 0, key[2]);
    set(&s, 4, 0, key[1]);
    set(&s, 5, 0, key[0]);
    run(&s);
    for (uint32_t r = 0; r < 16; r++)
        for (uint32_t n = 0; n < 64; n++) {
            uint32_t base = r == 5 ? 0xffffffe0u : 64u * r, low = base + n;
            uint32_t bits = threefry(key, low < base, low) >> 9 | 0x3f800000;
            float uniform = 2.0f * (f32_from_bits(bits) - 1.0f) - 0.99999994f;
            double wanted = sqrt(2.0) * inverse_erf((double)uniform);

            assert_near((double)get_f32(&s, 6, r * 64 + n), wanted, 2e-6 + 4e-6 * fabs(wanted));
        }
    close_sample(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vector_add_adds_bit_for_bit),
        cmocka_unit_test(matmul_multiplies_bit_for_bit),
        cmocka_unit_test(broadcast_multiply_multiplies_bit_for_bit),
        cmocka_unit_test(a_pair_is_taken_apart),
        cmocka_unit_test(two_words_are_put_together),
        cmocka_unit_test(three_rows_are_taken_apart),
        cmocka_unit_test(products_and_their_squares_agree),
        cmocka_unit_test(sums_of_exponentials_agree),
        cmocka_unit_test(a_softmax_times_a_matrix_agrees),
        cmocka_unit_test(random_normal_numbers_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
