/* Complex numbers as pairs of f32, and Fourier transforms of all kinds and lengths. */
#include "tests/test.h"

#include "tests/rigs/expand_rig.h"

#include <math.h>

#define LINE "  ROOT t = (c64[80], c64[80], c64[80], c64[80]) tuple(p, q, r, s)\n}\n"

static void check(const char *text, double bound, double floor)
{
    uint64_t seed = expand_rig_seed();

    for (int i = 0; i < 5; i++)
        expand_rig_check(&(struct expand_rig){.text = text, .bound = bound, .floor = floor},
                         seed + (uint64_t)i);
}

TEST(arithmetic)
{
    check("HloModule m\nENTRY e {\n  a = c64[80] parameter(0)\n  b = c64[80] parameter(1)\n"
          "  p = c64[80] add(a, b)\n  q = c64[80] subtract(a, b)\n  r = c64[80] multiply(a, b)\n"
          "  s = c64[80] divide(a, b)\n" LINE, 2e-6, 0.1);
}

TEST(functions)
{
    check("HloModule m\nENTRY e {\n  a = c64[80] parameter(0)\n"
          "  p = c64[80] exponential(a)\n  q = c64[80] log(a)\n  r = c64[80] sqrt(a)\n"
          "  s = c64[80] rsqrt(a)\n" LINE, 2e-6, 0.01);
    check("HloModule m\nENTRY e {\n  a = c64[80] parameter(0)\n"
          "  p = c64[80] sine(a)\n  q = c64[80] cosine(a)\n  r = c64[80] tanh(a)\n"
          "  s = c64[80] sign(a)\n" LINE, 3e-6, 0.1);
    check("HloModule m\nENTRY e {\n  a = c64[80] parameter(0)\n  b = c64[80] parameter(1)\n"
          "  p = c64[80] power(a, b)\n  q = c64[80] exponential-minus-one(a)\n"
          "  r = c64[80] log-plus-one(a)\n  s = c64[80] negate(a)\n" LINE, 3e-5, 0.01);
}

TEST(sizes_beyond_the_range_of_squares)
{
    uint64_t seed = expand_rig_seed();

    for (int i = -30; i <= 30; i += 12) {
        double size = pow(10, i);

        expand_rig_check(&(struct expand_rig){.text =
            "HloModule m\nENTRY e {\n  a = c64[80] parameter(0)\n  b = c64[80] parameter(1)\n"
            "  p = f32[80] abs(a)\n  q = c64[80] sqrt(a)\n  r = c64[80] divide(a, b)\n  s = c64[80] log(a)\n"
            "  ROOT t = (f32[80], c64[80], c64[80], c64[80]) tuple(p, q, r, s)\n}\n",
            .bound = 3e-6, .low = -size, .high = size}, seed);
    }
}

TEST(parts_and_products)
{
    check("HloModule m\n"
          "add { x = c64[] parameter(0)\n y = c64[] parameter(1)\n ROOT z = c64[] add(x, y) }\n"
          "mul { x = c64[] parameter(0)\n y = c64[] parameter(1)\n ROOT z = c64[] multiply(x, y) }\n"
          "ENTRY e {\n  a = c64[6,5] parameter(0)\n  b = c64[5,7] parameter(1)\n  z = c64[] constant((0, 0))\n"
          "  o = c64[] constant((1, 0.5))\n  re = f32[6,5] real(a)\n  im = f32[6,5] imag(a)\n"
          "  x = c64[6,5] complex(im, re)\n  d = c64[6,7] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
          "  s = c64[6] reduce(a, z), dimensions={1}, to_apply=add\n"
          "  m = c64[5] reduce(x, o), dimensions={0}, to_apply=mul\n"
          "  p = pred[6,5] compare(a, x), direction=NE\n"
          "  ROOT t = (f32[6,5], c64[6,5], c64[6,7], c64[6], c64[5], pred[6,5]) tuple(re, x, d, s, m, p)\n}\n",
          1e-5, 1);
}

TEST(transforms_of_any_length)
{
    static const int lengths[] = {1, 2, 3, 8, 13, 60, 131, 144, 256, 1000, 1019, 1226};
    uint64_t seed = expand_rig_seed();
    char text[800];

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        int n = lengths[i], half = n / 2 + 1;

        snprintf(text, sizeof(text),
                 "HloModule m\nENTRY e {\n  a = c64[3,%d] parameter(0)\n  r = f32[3,%d] parameter(1)\n"
                 "  h = c64[3,%d] parameter(2)\n"
                 "  p = c64[3,%d] fft(a), fft_type=FFT, fft_length={%d}\n"
                 "  q = c64[3,%d] fft(a), fft_type=IFFT, fft_length={%d}\n"
                 "  s = c64[3,%d] fft(r), fft_type=RFFT, fft_length={%d}\n"
                 "  u = f32[3,%d] fft(h), fft_type=IRFFT, fft_length={%d}\n"
                 "  ROOT t = (c64[3,%d], c64[3,%d], c64[3,%d], f32[3,%d]) tuple(p, q, s, u)\n}\n",
                 n, n, half, n, n, n, n, half, n, n, n, n, n, half, n);
        expand_rig_check(&(struct expand_rig){.text = text, .bound = 4e-6,
                                              .floor = 2 + sqrt((double)n)}, seed + i);
    }
}

TEST(transforms_of_several_dimensions)
{
    check("HloModule m\nENTRY e {\n  a = c64[2,4,6] parameter(0)\n  r = f32[2,5,6] parameter(1)\n"
          "  h = c64[2,5,4] parameter(2)\n"
          "  p = c64[2,4,6] fft(a), fft_type=FFT, fft_length={2,4,6}\n"
          "  q = c64[2,4,6] fft(a), fft_type=IFFT, fft_length={4,6}\n"
          "  s = c64[2,5,4] fft(r), fft_type=RFFT, fft_length={5,6}\n"
          "  u = f32[2,5,6] fft(h), fft_type=IRFFT, fft_length={5,6}\n"
          "  ROOT t = (c64[2,4,6], c64[2,4,6], c64[2,5,4], f32[2,5,6]) tuple(p, q, s, u)\n}\n", 4e-6, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic), cmocka_unit_test(functions),
        cmocka_unit_test(sizes_beyond_the_range_of_squares), cmocka_unit_test(parts_and_products),
        cmocka_unit_test(transforms_of_any_length),
        cmocka_unit_test(transforms_of_several_dimensions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
