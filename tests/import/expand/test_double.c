/* Numbers of 64 bits as sums of two f32: about 48 bits of mantissa. */
#include "tests/test.h"

#include "tests/rigs/expand_rig.h"

static void check(const char *text, double bound, double size)
{
    uint64_t seed = expand_rig_seed();

    for (int i = 0; i < 4; i++)
        expand_rig_check(&(struct expand_rig){.text = text, .bound = bound, .floor = 1e-3,
                                              .low = -size, .high = size}, seed + (uint64_t)i);
}

TEST(arithmetic)
{
    check("HloModule m\nENTRY e {\n a = f64[80] parameter(0)\n b = f64[80] parameter(1)\n p = f64[80] add(a, b)\n"
          " q = f64[80] subtract(a, b)\n r = f64[80] multiply(a, b)\n s = f64[80] divide(a, b)\n u = f64[80] abs(a)\n"
          " v = f64[80] sqrt(u)\n w = pred[80] compare(a, b), direction=LT\n x = f64[80] maximum(a, b)\n"
          " y = f64[80] floor(a)\n z = f64[80] negate(a)\n"
          " ROOT t = (f64[80], f64[80], f64[80], f64[80], f64[80], pred[80], f64[80], f64[80], f64[80]) "
          "tuple(p, q, r, s, v, w, x, y, z)\n}\n", 1e-12, 50);
}

TEST(functions_are_those_of_f32)
{
    check("HloModule m\nENTRY e {\n a = f64[80] parameter(0)\n p = f64[80] exponential(a)\n q = f64[80] tanh(a)\n"
          " r = f64[80] sine(a)\n ROOT t = (f64[80], f64[80], f64[80]) tuple(p, q, r)\n}\n", 1e-4, 4);
}

TEST(conversions)
{
    check("HloModule m\nENTRY e {\n a = f64[80] parameter(0)\n s = s64[80] parameter(1)\n i = s32[80] parameter(2)\n"
          " k = s64[] constant(20)\n K = s64[80] broadcast(k), dimensions={}\n n = s64[80] shift-right-arithmetic(s, K)\n"
          " p = f32[80] convert(a)\n q = s64[80] convert(a)\n r = s32[80] convert(a)\n u = f64[80] convert(n)\n"
          " v = f64[80] convert(i)\n w = f64[80] convert(p)\n c = c64[80] convert(a)\n"
          " ROOT t = (f32[80], s64[80], s32[80], f64[80], f64[80], f64[80], c64[80]) tuple(p, q, r, u, v, w, c)\n}\n",
          1e-12, 1e6);
}

TEST(sums_and_products)
{
    check("HloModule m\nadd { x = f64[] parameter(0)\n y = f64[] parameter(1)\n ROOT z = f64[] add(x, y) }\n"
          "ENTRY e {\n a = f64[6,5] parameter(0)\n z = f64[] constant(0.1)\n"
          " s = f64[6] reduce(a, z), dimensions={1}, to_apply=add\n t = f64[5,6] transpose(a), dimensions={1,0}\n"
          " ROOT r = (f64[6], f64[5,6]) tuple(s, t)\n}\n", 1e-12, 4);
}

/* as random numbers are made: bits of the mantissa under the exponent of 1 */
TEST(bits_of_numbers)
{
    check("HloModule m\nENTRY e {\n a = u64[90] parameter(0)\n k = u64[] constant(12)\n K = u64[90] broadcast(k), dimensions={}\n"
          " s = u64[90] shift-right-logical(a, K)\n o = u64[] constant(4607182418800017408)\n"
          " O = u64[90] broadcast(o), dimensions={}\n b = u64[90] or(s, O)\n ROOT f = f64[90] bitcast-convert(b)\n}\n",
          1e-13, 4);
    check("HloModule m\nENTRY e {\n c = u64[6] constant({0, 9223372036854775808, 9218868437227405312, "
          "18442240474082181120, 4614256656552045848, 13835058055282163712})\n ROOT f = f64[6] bitcast-convert(c)\n}\n",
          1e-13, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic), cmocka_unit_test(functions_are_those_of_f32),
        cmocka_unit_test(conversions), cmocka_unit_test(sums_and_products),
        cmocka_unit_test(bits_of_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
