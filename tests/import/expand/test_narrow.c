/* Narrow integers wrap, narrow floats are rounded, as if the compiler had them. */
#include "tests/test.h"

#include "tests/rigs/expand_rig.h"

static void check_type(const char *pattern, const char *type, const struct expand_rig *rig)
{
    char text[3000], *to = text;
    uint64_t seed = expand_rig_seed();
    struct expand_rig own = *rig;

    for (const char *c = pattern; *c; c++) {
        if (*c == '@')
            to += sprintf(to, "%s", type);
        else
            *to++ = *c;
    }
    *to = '\0';
    own.text = text;
    printf("%s\n", type);
    for (int i = 0; i < 4; i++)
        expand_rig_check(&own, seed + (uint64_t)i);
}

TEST(integers)
{
    static const char *types[] = {"s2", "s4", "s8", "s16", "u2", "u4", "u8", "u16"};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        check_type("HloModule m\nENTRY e {\n a = @[90] parameter(0)\n b = @[90] parameter(1)\n"
                   " f = f32[90] parameter(2)\n w = s32[90] parameter(3)\n"
                   " r0 = @[90] add(a, b)\n r1 = @[90] subtract(a, b)\n r2 = @[90] multiply(a, b)\n"
                   " r3 = @[90] maximum(a, b)\n r4 = @[90] xor(a, b)\n r5 = @[90] not(a)\n"
                   " r6 = @[90] negate(a)\n r7 = pred[90] compare(a, b), direction=LT\n"
                   " r8 = s32[90] convert(a)\n r9 = @[90] convert(w)\n r10 = f32[90] convert(a)\n"
                   " r11 = @[90] convert(f)\n r12 = @[90] popcnt(a)\n r13 = @[90] count-leading-zeros(a)\n"
                   " ROOT t = (@[90], @[90], @[90], @[90], @[90], @[90], @[90], pred[90], s32[90], @[90], "
                   "f32[90], @[90], @[90], @[90]) tuple(r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, "
                   "r13)\n}\n", types[i], &(struct expand_rig){.low = -70000, .high = 70000});
}

TEST(floats_are_rounded_once)
{
    static const char *types[] = {"f16", "f8e5m2", "f8e4m3", "f8e4m3fn", "f8e4m3b11fnuz",
                                  "f8e4m3fnuz", "f8e5m2fnuz", "f8e3m4"};
    static const double sizes[] = {1e-6, 1e-2, 3, 600, 1e5};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
            check_type("HloModule m\nENTRY e {\n a = @[90] parameter(0)\n b = @[90] parameter(1)\n"
                       " f = f32[90] parameter(2)\n"
                       " r0 = @[90] add(a, b)\n r1 = @[90] subtract(a, b)\n r2 = @[90] multiply(a, b)\n"
                       " r3 = @[90] maximum(a, b)\n r4 = @[90] convert(f)\n r5 = f32[90] convert(a)\n"
                       " r6 = @[90] negate(a)\n r7 = pred[90] compare(a, b), direction=LT\n r8 = @[90] divide(a, b)\n"
                       " ROOT t = (@[90], @[90], @[90], @[90], @[90], f32[90], @[90], pred[90], @[90]) "
                       "tuple(r0, r1, r2, r3, r4, r5, r6, r7, r8)\n}\n", types[i],
                       &(struct expand_rig){.low = -sizes[k], .high = sizes[k],
                                            .has_specials = true});
}

TEST(bits_of_narrow_types)
{
    static const char *floats[] = {"f16", "bf16"};
    static const char *bytes[] = {"f8e5m2", "f8e4m3", "f8e4m3fn", "f8e4m3b11fnuz", "f8e4m3fnuz",
                                  "f8e5m2fnuz", "f8e3m4", "s8"};

    for (size_t i = 0; i < 2; i++)
        check_type("HloModule m\nENTRY e {\n a = @[90] parameter(0)\n b = @[90,2] parameter(1)\n"
                   " u = u32[90] parameter(2)\n"
                   " r0 = u16[90] bitcast-convert(a)\n r1 = u32[90] bitcast-convert(b)\n"
                   " r2 = u8[90,2] bitcast-convert(a)\n"
                   " ROOT t = (u16[90], u32[90], u8[90,2]) tuple(r0, r1, r2)\n}\n", floats[i],
                   &(struct expand_rig){.low = -100, .high = 100});
    for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++)
        check_type("HloModule m\nENTRY e {\n a = u8[256] iota(), iota_dimension=0\n b = @[64] parameter(0)\n"
                   " v = @[256] bitcast-convert(a)\n r0 = f32[256] convert(v)\n r1 = u8[64] bitcast-convert(b)\n"
                   " ROOT t = (f32[256], u8[64]) tuple(r0, r1)\n}\n", bytes[i],
                   &(struct expand_rig){.low = -10, .high = 10});
}

TEST(reduced_precision)
{
    static const char *bits[] = {"5, mantissa_bits=10", "8, mantissa_bits=7", "4, mantissa_bits=3",
                                 "8, mantissa_bits=23", "3, mantissa_bits=0", "6, mantissa_bits=9"};

    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
        check_type("HloModule m\nENTRY e {\n a = f32[300] parameter(0)\n"
                   " ROOT r = f32[300] reduce-precision(a), exponent_bits=@\n}\n", bits[i],
                   &(struct expand_rig){.low = -300, .high = 300, .has_specials = true});
}

TEST(products_and_sums)
{
    check_type("HloModule m\nadd { x = @[] parameter(0)\n y = @[] parameter(1)\n ROOT z = @[] add(x, y) }\n"
               "ENTRY e {\n a = @[5,8] parameter(0)\n b = @[8,3] parameter(1)\n z = @[] constant(0)\n"
               " d = @[5,3] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
               " s = f32[5,3] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
               " m = @[5] reduce(a, z), dimensions={1}, to_apply=add\n"
               " ROOT t = (@[5,3], f32[5,3], @[5]) tuple(d, s, m)\n}\n", "f16",
               &(struct expand_rig){.bound = 3e-3, .floor = 1});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers), cmocka_unit_test(floats_are_rounded_once),
        cmocka_unit_test(bits_of_narrow_types), cmocka_unit_test(reduced_precision),
        cmocka_unit_test(products_and_sums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
