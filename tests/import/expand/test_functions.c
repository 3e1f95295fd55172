/* Random bits as XLA draws them, special functions within a few roundings, batch norms. */
#include "tests/test.h"

#include "tests/rigs/expand_rig.h"

static void check(const struct expand_rig *rig)
{
    uint64_t seed = expand_rig_seed();

    for (int i = 0; i < 4; i++)
        expand_rig_check(rig, seed + (uint64_t)i);
}

TEST(random_bits_of_every_shape)
{
    static const char *algorithms[] = {"rng_three_fry", "rng_philox", "rng_default"};
    static const char *shapes[] = {"u32[]", "u32[1]", "u32[7]", "u32[3,8]", "u32[5,3,7]", "u64[9]",
                                   "u64[4,3]", "u16[6,5]", "u8[11]", "s32[10]", "u64[]"};
    static const char *states[] = {"u64[2]", "u64[3]"};
    char text[500];

    for (int a = 0; a < 3; a++) {
        for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
            const char *words = states[a == 1 || (a == 2 && i % 2)];

            snprintf(text, sizeof(text), "HloModule m\nENTRY e {\n s = %s parameter(0)\n"
                     " ROOT r = (%s, %s) rng-bit-generator(s), algorithm=%s\n}\n", words, words,
                     shapes[i], algorithms[a]);
            check(&(struct expand_rig){.text = text, .integer_bits = 64});
        }
    }
}

static void check_function(const char *name, double low, double high, double bound, double floor)
{
    char text[400];

    snprintf(text, sizeof(text), "HloModule m\nENTRY e {\n x = f32[500] parameter(0)\n"
             " ROOT y = f32[500] %s(x)\n}\n", name);
    printf("%s\n", name);
    check(&(struct expand_rig){.text = text, .low = low, .high = high, .bound = bound,
                               .floor = floor, .has_specials = true});
}

TEST(functions_of_hlo)
{
    check_function("acos", -1, 1, 1e-6, 0);
    check_function("asin", -1, 1, 1e-6, 0);
    check_function("acosh", 1, 50, 1e-6, 0);
    check_function("asinh", -50, 50, 1e-6, 0);
    check_function("asinh", -0.01, 0.01, 1e-6, 0);
    check_function("atanh", -1, 1, 1e-6, 0);
    check_function("sinh", -80, 80, 5e-6, 0);
    check_function("sinh", -1, 1, 1e-6, 0);
    check_function("cosh", -80, 80, 5e-6, 0);
}

/* a function of CHLO, of one or two operands */
static void check_chlo(const char *name, int operands, const char *type, const struct expand_rig *rig)
{
    char text[600];
    struct expand_rig own = *rig;

    if (operands == 1)
        snprintf(text, sizeof(text), "func.func @main(%%arg0: tensor<500x%s>) -> tensor<500x%s> {\n"
                 "  %%0 = chlo.%s %%arg0 : tensor<500x%s> -> tensor<500x%s>\n"
                 "  return %%0 : tensor<500x%s>\n}\n", type, type, name, type, type, type);
    else
        snprintf(text, sizeof(text), "func.func @main(%%arg0: tensor<500x%s>, %%arg1: tensor<500x%s>) "
                 "-> tensor<500x%s> {\n  %%0 = chlo.%s %%arg0, %%arg1 : tensor<500x%s>, tensor<500x%s> "
                 "-> tensor<500x%s>\n  return %%0 : tensor<500x%s>\n}\n", type, type, type, name,
                 type, type, type, type);
    printf("%s of %s\n", name, type);
    own.text = text;
    check(&own);
}

TEST(functions_of_chlo)
{
    check_chlo("erfc", 1, "f32", &(struct expand_rig){.has_specials = true, .low = -5, .high = 9, .bound = 2e-6});
    check_chlo("erf_inv", 1, "f32", &(struct expand_rig){.has_specials = true, .low = -1, .high = 1, .bound = 2e-6});
    check_chlo("lgamma", 1, "f32", &(struct expand_rig){.has_specials = true, .low = -20, .high = 60, .bound = 5e-6,
                                                        .floor = 1});
    check_chlo("lgamma", 1, "f32", &(struct expand_rig){.low = 0.5, .high = 3, .bound = 1e-6});
    check_chlo("digamma", 1, "f32", &(struct expand_rig){.low = 0.1, .high = 60, .bound = 3e-6,
                                                         .floor = 1});
    check_chlo("digamma", 1, "f32", &(struct expand_rig){.low = -20, .high = 0, .bound = 2e-4,
                                                         .floor = 1});
    check_chlo("bessel_i1e", 1, "f32", &(struct expand_rig){.has_specials = true, .low = -60, .high = 60, .bound = 2e-6});
    check_chlo("zeta", 2, "f32", &(struct expand_rig){.low = 1.1, .high = 20, .bound = 2e-5});
    check_chlo("polygamma", 2, "f32", &(struct expand_rig){.low = 0, .high = 4, .bound = 2e-5});
    check_chlo("next_after", 2, "f32", &(struct expand_rig){.has_specials = true});
    check_chlo("next_after", 2, "f16", &(struct expand_rig){.has_specials = true});
    check_chlo("next_after", 2, "bf16", &(struct expand_rig){.has_specials = true, .has_subnormals = true});
    check_chlo("erfc", 1, "bf16", &(struct expand_rig){.has_specials = true, .low = -9, .high = 9, .bound = 8e-3});
    check_chlo("lgamma", 1, "f16", &(struct expand_rig){.has_specials = true, .low = 0, .high = 50, .bound = 1e-3,
                                                        .floor = 1e-2});
    check_chlo("square", 1, "f32", &(struct expand_rig){.has_specials = true, .bound = 1e-6});
}

TEST(batch_norms)
{
    check(&(struct expand_rig){.text =
        "HloModule m\nENTRY e {\n x = f32[4,5,6] parameter(0)\n s = f32[5] parameter(1)\n o = f32[5] parameter(2)\n"
        " v = f32[5] parameter(3)\n w = f32[5] multiply(v, v)\n g = f32[4,5,6] parameter(4)\n"
        " a = (f32[4,5,6], f32[5], f32[5]) batch-norm-training(x, s, o), epsilon=0.001, feature_index=1\n"
        " b = f32[4,5,6] batch-norm-inference(x, s, o, v, w), epsilon=0.001, feature_index=1\n"
        " c = (f32[4,5,6], f32[5], f32[5]) batch-norm-grad(x, s, v, w, g), epsilon=0.001, feature_index=1\n"
        " ROOT t = ((f32[4,5,6], f32[5], f32[5]), f32[4,5,6], (f32[4,5,6], f32[5], f32[5])) tuple(a, b, c)\n}\n",
        .bound = 1e-4, .floor = 1});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_bits_of_every_shape), cmocka_unit_test(functions_of_hlo),
        cmocka_unit_test(functions_of_chlo),        cmocka_unit_test(batch_norms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
