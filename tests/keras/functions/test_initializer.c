/* Initialisers: moments, limits, fans, orthogonality, names. */
#include "tests/test.h"

#include "keras/functions/initializer.h"

#include <math.h>

#include "base/arena.h"

#define DIMS(...) sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__}
enum { MANY = 200 * 300 };

static struct shape f32_shape(size_t rank, const int64_t *dim)
{
    return shape_make(DTYPE_F32, (int)rank, dim);
}

struct moments {
    double mean, deviation, least, most;
};

static struct moments moments_of(const float *value, int count)
{
    struct moments m = {.least = value[0], .most = value[0]};

    for (int i = 0; i < count; i++) {
        m.mean += (double)value[i] / count;
        m.deviation += (double)value[i] * (double)value[i] / count;
        m.least = fmin(m.least, (double)value[i]);
        m.most = fmax(m.most, (double)value[i]);
    }
    m.deviation = sqrt(m.deviation - m.mean * m.mean);
    return m;
}

static struct moments draw(struct initializer i, struct shape s)
{
    static float value[MANY];

    assert_true(shape_elems(&s) <= MANY);
    initializer_fill(&i, &s, 3, 5, value);
    return moments_of(value, (int)shape_elems(&s));
}

/* even values: deviation limit / sqrt 3; the mean of n within 5 deviations of it over sqrt n */
static void assert_uniform(struct moments m, double low, double high)
{
    double deviation = (high - low) / sqrt(12.0);

    assert_true(m.least >= low * (1 + 1e-6) && m.least < low + 0.01 * (high - low));
    assert_true(m.most <= high * (1 + 1e-6) && m.most > high - 0.01 * (high - low));
    assert_true(fabs(m.mean - (low + high) / 2) < 5 * deviation / sqrt(MANY));
    assert_true(fabs(m.deviation / deviation - 1) < 0.01);
}

TEST(uniform_kinds_fill_their_limits_evenly)
{
    struct shape s = f32_shape(DIMS(200, 300));

    assert_uniform(draw(initializer_standard(INITIALIZER_GLOROT_UNIFORM), s),
                   -sqrt(6.0 / 500), sqrt(6.0 / 500));
    assert_uniform(draw(initializer_standard(INITIALIZER_HE_UNIFORM), s),
                   -sqrt(6.0 / 200), sqrt(6.0 / 200));
    assert_uniform(draw(initializer_standard(INITIALIZER_LECUN_UNIFORM), s),
                   -sqrt(3.0 / 200), sqrt(3.0 / 200));
    assert_uniform(draw(initializer_standard(INITIALIZER_RANDOM_UNIFORM), s), -0.05, 0.05);
    assert_uniform(draw((struct initializer){INITIALIZER_RANDOM_UNIFORM, 1, 3}, s), 1, 3);
}

TEST(fans_are_keras_s_whatever_the_rank)
{
    static const struct {
        int rank;
        int64_t dim[4];
        double in, out;
    } cases[] = {
        {0, {0}, 1, 1}, {1, {7}, 7, 7}, {2, {7, 9}, 7, 9}, {3, {2, 7, 9}, 14, 18},
        {4, {3, 3, 64, 128}, 576, 1152},
    };
    double in, out;

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct shape s = f32_shape((size_t)cases[i].rank, cases[i].dim);

        initializer_fans(&s, &in, &out);
        assert_true(in == cases[i].in && out == cases[i].out);
    }
    assert_uniform(draw(initializer_standard(INITIALIZER_GLOROT_UNIFORM),
                        f32_shape(DIMS(3, 4, 50, 100))), -sqrt(6.0 / 1800), sqrt(6.0 / 1800));
}

static void assert_normal(struct moments m, double mean, double deviation)
{
    assert_true(fabs(m.mean - mean) < 5 * deviation / sqrt(MANY));
    assert_true(fabs(m.deviation / deviation - 1) < 0.01);
}

TEST(normal_kinds_have_their_deviation)
{
    struct shape s = f32_shape(DIMS(200, 300));
    struct moments m = draw(initializer_standard(INITIALIZER_RANDOM_NORMAL), s);

    assert_normal(m, 0, 0.05);
    assert_true(m.most > 3.5 * 0.05 && m.least < -3.5 * 0.05);
    assert_normal(draw((struct initializer){INITIALIZER_RANDOM_NORMAL, 2, 0.5}, s), 2, 0.5);
}

TEST(truncated_kinds_stay_within_two_deviations)
{
    struct shape s = f32_shape(DIMS(200, 300));
    const struct {
        enum initializer_kind kind;
        double variance;
    } scaled[] = {{INITIALIZER_GLOROT_NORMAL, 2.0 / 500}, {INITIALIZER_HE_NORMAL, 2.0 / 200},
                  {INITIALIZER_LECUN_NORMAL, 1.0 / 200}};
    struct moments m = draw(initializer_standard(INITIALIZER_TRUNCATED_NORMAL), s);

    /* the deviation of a normal cut at two of them: sqrt(1 - 4 phi(2) / (2 Phi(2) - 1)) */
    assert_normal(m, 0, 0.05 * sqrt(1 - 4 * exp(-2.0) / sqrt(2 * acos(-1.0)) / erf(sqrt(2.0))));
    assert_true(m.most <= 0.1 * (1 + 1e-6) && m.most > 0.099 && m.least < -0.099);
    for (int i = 0; i < 3; i++)
        assert_normal(draw(initializer_standard(scaled[i].kind), s), 0, sqrt(scaled[i].variance));
}

/* sum over k of a[i stride + k step] a[j stride + k step] */
static double product(const float *a, int i, int j, int stride, int step, int count)
{
    double sum = 0;

    for (int k = 0; k < count; k++)
        sum += (double)a[i * stride + k * step] * (double)a[j * stride + k * step];
    return sum;
}

TEST(orthogonal_has_orthonormal_rows_or_columns_times_its_gain)
{
    struct initializer i = {INITIALIZER_ORTHOGONAL, 1.5, 0};
    struct shape tall = f32_shape(DIMS(2, 10, 13)), wide = f32_shape(DIMS(7, 40));
    float value[280];

    initializer_fill(&i, &tall, 1, 1, value);
    for (int a = 0; a < 13; a++)
        for (int b = 0; b < 13; b++)
            assert_true(fabs(product(value, a, b, 1, 13, 20) - (a == b ? 2.25 : 0)) < 1e-6);
    initializer_fill(&i, &wide, 1, 1, value);
    for (int a = 0; a < 7; a++)
        for (int b = 0; b < 7; b++)
            assert_true(fabs(product(value, a, b, 40, 1, 40) - (a == b ? 2.25 : 0)) < 1e-6);
}

TEST(constants_fill_both_kinds_of_types)
{
    struct shape s = f32_shape(DIMS(2, 3)), integer = shape_make(DTYPE_S32, 1, (int64_t[]){2});
    float value[6];
    int32_t whole[2];

    initializer_fill(&(struct initializer){INITIALIZER_CONSTANT, 0.25, 0}, &s, 1, 1, value);
    assert_true(value[0] == 0.25f && value[5] == 0.25f);
    initializer_fill(&(struct initializer){INITIALIZER_ONES, 0, 0}, &s, 1, 1, value);
    assert_true(value[0] == 1.0f && value[5] == 1.0f);
    initializer_fill(&(struct initializer){INITIALIZER_IDENTITY, 2, 0}, &s, 1, 1, value);
    assert_true(value[0] == 2.0f && value[4] == 2.0f && value[1] == 0.0f && value[5] == 0.0f);
    initializer_fill(&(struct initializer){INITIALIZER_ZEROS, 0, 0}, &s, 1, 1, value);
    assert_true(value[0] == 0.0f && value[5] == 0.0f);
    initializer_fill(&(struct initializer){INITIALIZER_CONSTANT, 7, 0}, &integer, 1, 1, whole);
    assert_true(whole[0] == 7 && whole[1] == 7);
}

TEST(values_depend_on_seed_and_stream_and_on_nothing_before)
{
    struct initializer i = initializer_standard(INITIALIZER_HE_NORMAL);
    struct shape s = f32_shape(DIMS(4, 4));
    float first[16], again[16], other[16];

    initializer_fill(&i, &s, 1, 2, first);
    initializer_fill(&i, &s, 1, 3, other);
    assert_memory_not_equal(first, other, sizeof(first));
    initializer_fill(&i, &s, 2, 2, other);
    assert_memory_not_equal(first, other, sizeof(first));
    initializer_fill(&i, &s, 1, 2, again);
    assert_memory_equal(first, again, sizeof(first));
}

TEST(names_are_found_as_keras_spells_them)
{
    enum initializer_kind kind;
    struct err e;

    assert_int_equal(initializer_find("glorot_uniform", &kind, &e), 0);
    assert_int_equal(kind, INITIALIZER_GLOROT_UNIFORM);
    assert_int_equal(initializer_find("TruncatedNormal", &kind, &e), 0);
    assert_int_equal(kind, INITIALIZER_TRUNCATED_NORMAL);
    assert_int_equal(initializer_find("he_norm", &kind, &e), -1);
    assert_string_equal(e.msg,
                        "unknown initializer \"he_norm\" (did you mean \"he_normal\"?)");
    assert_int_equal(initializer_find("Glorot", &kind, &e), -1);
    assert_string_equal(e.msg, "unknown initializer \"Glorot\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_kinds_fill_their_limits_evenly),
        cmocka_unit_test(fans_are_keras_s_whatever_the_rank),
        cmocka_unit_test(normal_kinds_have_their_deviation),
        cmocka_unit_test(truncated_kinds_stay_within_two_deviations),
        cmocka_unit_test(orthogonal_has_orthonormal_rows_or_columns_times_its_gain),
        cmocka_unit_test(constants_fill_both_kinds_of_types),
        cmocka_unit_test(values_depend_on_seed_and_stream_and_on_nothing_before),
        cmocka_unit_test(names_are_found_as_keras_spells_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
