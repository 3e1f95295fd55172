/*
 * What neither the network nor the matrix unit nor the compiler's windows take as it is: sums over
 * devices of any type by any computation, sums of narrow integers, convolutions of wide ones and
 * along more than three dimensions, select-and-scatter of 64 bits.
 */
#include "tests/test.h"

#include "tests/rigs/expand_rig.h"

#include <stdarg.h>

static void check(const struct expand_rig *rig)
{
    uint64_t seed = expand_rig_seed();

    for (int i = 0; i < 3; i++)
        expand_rig_check(rig, seed + (uint64_t)i);
}

static const char *text_of(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static const char *text_of(const char *fmt, ...)
{
    static char text[1600];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    printf("%s\n", text);
    return text;
}

#define SUM "s { a = %s[] parameter(0)\n b = %s[] parameter(1)\n ROOT c = %s[] %s(a, b) }\n"
#define SINGLE "HloModule m\n" SUM
#define BODY "HloModule m, replica_count=4\n" SUM

static void sum_of_devices(const char *e, const char *op, double bound)
{
    check(&(struct expand_rig){.bound = bound, .floor = 1, .replicas = 4, .text = text_of(
        BODY "ENTRY e {\n x = %s[3,5] parameter(0)\n"
        " ROOT r = %s[3,5] all-reduce(x), replica_groups={{0,2},{3,1}}, to_apply=s\n}\n",
        e, e, e, op, e, e)});
    check(&(struct expand_rig){.bound = bound, .floor = 1, .replicas = 4, .text = text_of(
        BODY "ENTRY e {\n x = %s[3,8] parameter(0)\n"
        " ROOT r = %s[3,2] reduce-scatter(x), replica_groups={{0,2,3,1}}, dimensions={1}, to_apply=s\n}\n",
        e, e, e, op, e, e)});
}

TEST(devices_combine_any_type_by_any_operation)
{
    sum_of_devices("s64", "multiply", 0);
    sum_of_devices("u64", "maximum", 0);
    sum_of_devices("s64", "xor", 0);
    sum_of_devices("s32", "xor", 0);
    sum_of_devices("s8", "xor", 0);
    sum_of_devices("f64", "add", 1e-12);
    sum_of_devices("f64", "maximum", 1e-12);
    sum_of_devices("f16", "add", 2e-3);
    sum_of_devices("c64", "multiply", 1e-5);
}

/* which the wider type adds and multiplies, wrapped at the end */
TEST(devices_combine_narrow_integers)
{
    static const char *const types[] = {"s4", "u4", "s8", "s16", "u16"};
    static const char *const ops[] = {"add", "multiply", "maximum", "and"};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        for (size_t k = 0; k < sizeof(ops) / sizeof(ops[0]); k++)
            sum_of_devices(types[i], ops[k], 0);
    check(&(struct expand_rig){.replicas = 4, .text = text_of(
        BODY "ENTRY e {\n x = s16[3,5] parameter(0)\n y = s16[7] parameter(1)\n"
        " ROOT r = (s16[3,5], s16[7]) all-reduce(x, y), replica_groups={}, to_apply=s\n}\n",
        "s16", "s16", "s16", "add")});
}

static void many_at_once(const char *e, const char *op)
{
    check(&(struct expand_rig){.text = text_of(
        SINGLE "ENTRY e {\n x = %s[5,40] parameter(0)\n z = %s[] parameter(1)\n"
        " i = s32[9,1] parameter(2)\n u = %s[9,40] parameter(3)\n"
        " r = %s[5] reduce(x, z), dimensions={1}, to_apply=s\n"
        " w = %s[5,41] reduce-window(x, z), window={size=1x4 pad=0_0x2_2}, to_apply=s\n"
        " c = %s[5,40] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},"
        " scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=s\n"
        " ROOT t = (%s[5], %s[5,41], %s[5,40]) tuple(r, w, c)\n}\n",
        e, e, e, op, e, e, e, e, e, e, e, e, e)});
}

TEST(sums_and_products_of_narrow_integers_wrap)
{
    many_at_once("s16", "add");
    many_at_once("u16", "multiply");
    many_at_once("s4", "add");
    many_at_once("u4", "multiply");
}

static void convolution(const char *e)
{
    check(&(struct expand_rig){.text = text_of(
        "HloModule m\nENTRY e {\n x = %s[2,4,9] parameter(0)\n y = %s[6,2,3] parameter(1)\n"
        " ROOT r = %s[6,2,6] convolution(x, y), window={size=3 stride=2 pad=1_3 lhs_dilate=1"
        " rhs_dilate=1 rhs_reversal=1}, dim_labels=bf0_oi0->fb0, feature_group_count=2\n}\n", e, e, e)});
    check(&(struct expand_rig){.text = text_of(
        "HloModule m\nENTRY e {\n x = %s[1,5,6,3] parameter(0)\n y = %s[2,2,3,4] parameter(1)\n"
        " ROOT r = %s[1,8,4,4] convolution(x, y), window={size=2x2 lhs_dilate=2x1 rhs_dilate=1x2},"
        " dim_labels=b01f_01io->b01f\n}\n", e, e, e)});
    check(&(struct expand_rig){.text = text_of(
        "HloModule m\nENTRY e {\n x = %s[4,5,2] parameter(0)\n y = %s[2,2,6] parameter(1)\n"
        " ROOT r = %s[2,4,6] convolution(x, y), window={size=2}, dim_labels=b0f_0io->b0f,"
        " batch_group_count=2\n}\n", e, e, e)});
}

TEST(convolutions_of_wide_integers)
{
    convolution("s32");
    convolution("u32");
    convolution("s16");
    convolution("s64");
    convolution("u64");
    check(&(struct expand_rig){.bound = 1e-6, .floor = 1e9, .text =
        "HloModule m\nENTRY e {\n x = s16[2,9,3] parameter(0)\n y = s16[3,3,5] parameter(1)\n"
        " ROOT r = f32[2,7,5] convolution(x, y), window={size=3}, dim_labels=b0f_0io->b0f\n}\n"});
}

/* four of them in groups of features and of the batch, five in bf16 */
TEST(convolutions_along_more_than_three_dimensions)
{
    static const char highest[] = " operand_precision={highest,highest}\n}\n";

    check(&(struct expand_rig){.bound = 1e-6, .floor = 10, .text = text_of(
        "HloModule m\nENTRY e {\n x = f32[2,4,5,3,4,3] parameter(0)\n"
        " y = f32[6,2,2,1,2,3] parameter(1)\n"
        " ROOT r = f32[2,6,3,3,3,2] convolution(x, y), window={size=2x1x2x3 stride=2x1x1x1"
        " pad=1_0x0_0x0_0x1_0}, dim_labels=bf0123_oi0123->bf0123, feature_group_count=2,%s", highest)});
    check(&(struct expand_rig){.bound = 1e-6, .floor = 10, .text = text_of(
        "HloModule m\nENTRY e {\n x = f32[4,3,2,3,2,2] parameter(0)\n"
        " y = f32[2,1,2,1,2,6] parameter(1)\n"
        " ROOT r = f32[2,2,2,2,2,6] convolution(x, y), window={size=2x1x2x1 rhs_reversal=1x0x0x0},"
        " dim_labels=b0123f_0123io->b0123f, batch_group_count=2,%s", highest)});
    check(&(struct expand_rig){.bound = 1e-2, .floor = 10, .text =
        "HloModule m\nENTRY e {\n x = bf16[1,2,3,2,3,2,2] parameter(0)\n"
        " y = bf16[3,2,2,2,1,2,1] parameter(1)\n"
        " ROOT r = bf16[1,3,2,1,3,1,2] convolution(x, y), window={size=2x2x1x2x1},"
        " dim_labels=bf01234_oi01234->bf01234\n}\n"});
}

static void select_and_scatter(const char *e, const char *direction, const char *op, double bound)
{
    check(&(struct expand_rig){.bound = bound, .floor = 1, .text = text_of(
        "HloModule m\nt { a = %s[] parameter(0)\n b = %s[] parameter(1)\n"
        " ROOT c = pred[] compare(a, b), direction=%s }\n"
        "s { a = %s[] parameter(0)\n b = %s[] parameter(1)\n ROOT c = %s[] %s(a, b) }\n"
        "ENTRY e {\n x = %s[7,8] parameter(0)\n y = %s[4,3] parameter(1)\n z = %s[] parameter(2)\n"
        " ROOT r = %s[7,8] select-and-scatter(x, y, z), window={size=3x4 stride=2x2 pad=1_1x0_0},"
        " select=t, scatter=s\n}\n", e, e, direction, e, e, e, op, e, e, e, e)});
}

/* an index without numbers: x.at[...].set(y) and x[()] of scalars */
/* TensorFlow's second gradient of a pool compares upper halves of words, whose lower ones differ */
TEST(windows_keep_the_first_of_equals)
{
    check(&(struct expand_rig){.text =
        "HloModule m\n"
        "s { a = f32[] parameter(0)\n b = f32[] parameter(1)\n n = s32[] constant(-65536)\n"
        " s = s32[] bitcast-convert(a)\n t = s32[] bitcast-convert(b)\n"
        " i = s32[] and(s, n)\n j = s32[] and(t, n)\n"
        " x = f32[] bitcast-convert(i)\n y = f32[] bitcast-convert(j)\n"
        " p = pred[] compare(x, y), direction=GE\n ROOT c = f32[] select(p, a, b) }\n"
        "ENTRY e {\n x = f32[6,9] parameter(0)\n z = f32[] constant(-inf)\n"
        " u = f32[6,9] reduce-precision(x), exponent_bits=8, mantissa_bits=2\n"
        " v = s32[6,9] bitcast-convert(u)\n i = s32[6,9] iota(), iota_dimension=1\n"
        " w = s32[6,9] add(v, i)\n y = f32[6,9] bitcast-convert(w)\n"
        " ROOT r = f32[3,4] reduce-window(y, z), window={size=2x3 stride=2x2}, to_apply=s\n}\n"});
    check(&(struct expand_rig){.text =
        "HloModule m\n"
        "s { a = s32[] parameter(0)\n b = s32[] parameter(1)\n n = s32[] constant(3)\n"
        " x = s32[] and(a, n)\n y = s32[] and(b, n)\n p = pred[] compare(x, y), direction=GE\n"
        " ROOT c = s32[] select(p, a, b) }\n"
        "ENTRY e {\n x = s32[6,9] parameter(0)\n z = s32[] constant(0)\n"
        " ROOT r = s32[3,4] reduce-window(x, z), window={size=2x3 stride=2x2}, to_apply=s\n}\n"});
}

TEST(scatters_into_scalars)
{
    static const char *const ops[] = {"ROOT c = f32[] add(a, b)", "ROOT c = f32[] maximum(b, a)",
                                      "ROOT c = f32[] subtract(a, b)", "ROOT c = f32[] copy(b)",
                                      "d = f32[] multiply(a, a)\n ROOT c = f32[] add(d, b)"};

    for (size_t k = 0; k < sizeof(ops) / sizeof(ops[0]); k++)
        check(&(struct expand_rig){.text = text_of(
            "HloModule m\ns { a = f32[] parameter(0)\n b = f32[] parameter(1)\n %s }\n"
            "ENTRY e {\n x = f32[] parameter(0)\n u = f32[] parameter(1)\n i = s32[0] constant({})\n"
            " c = f32[] scatter(x, i, u), update_window_dims={}, inserted_window_dims={},"
            " scatter_dims_to_operand_dims={}, index_vector_dim=0, to_apply=s\n"
            " g = f32[] gather(x, i), offset_dims={}, collapsed_slice_dims={}, start_index_map={},"
            " index_vector_dim=0, slice_sizes={}\n"
            " ROOT t = (f32[], f32[]) tuple(c, g)\n}\n", ops[k])});
}

TEST(select_and_scatter_of_64_bits)
{
    select_and_scatter("s64", "GE", "add", 0);
    select_and_scatter("u64", "LE", "add", 0);
    select_and_scatter("s64", "GT", "xor", 0);
    select_and_scatter("f64", "GE", "add", 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_combine_any_type_by_any_operation),
        cmocka_unit_test(devices_combine_narrow_integers),
        cmocka_unit_test(sums_and_products_of_narrow_integers_wrap),
        cmocka_unit_test(convolutions_of_wide_integers),
        cmocka_unit_test(convolutions_along_more_than_three_dimensions),
        cmocka_unit_test(windows_keep_the_first_of_equals),
        cmocka_unit_test(scatters_into_scalars),
        cmocka_unit_test(select_and_scatter_of_64_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
