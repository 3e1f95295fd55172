/*
 * Errors of the transcendental unit against double libm, over every 997th of
 * all floats (make check-long: every 53rd), and its special values. The bounds
 * are those of docs/numerics.md.
 */
#include "sim/lanes/simd.h"

#include <math.h>

#include "base/floats.h"
#include "base/units.h"
#include "tests/test.h"

static uint64_t step(void) { return test_is_long() ? 53 : 997; }

static double rsqrt_double(double x) { return 1 / sqrt(x); }
static double rcp_double(double x) { return 1 / x; }

/* of x + turn quarter turns; a zero of the sine has the sign of x */
static double quarter_turns(double x, int turn)
{
    double y = fmod(x, 4), n = nearbyint(y), angle = (y - n) * 1.57079632679489661923;
    int quadrant = isnan(y) ? 0 : ((int)n + turn) & 3;
    double r = quadrant & 1 ? cos(angle) : sin(angle);

    return r == 0 ? copysign(0, turn ? 1 : x) : quadrant & 2 ? -r : r;
}

static double sinq_double(double x) { return quarter_turns(x, 0); }
static double cosq_double(double x) { return quarter_turns(x, 1); }

/* distance in units of the last place of the exact result, which is normal */
static double ulps(float got, double exact)
{
    return fabs((double)got - exact) / ldexp(1, ilogb(exact) - 23);
}

/* flushed results and infinities have no unit: they must be right */
static double error_of(uint32_t input, uint32_t bits, double exact)
{
    float rounded = (float)exact;
    uint32_t expected = isnan(exact) ? F32_NAN_BITS : f32_flush_bits(f32_bits(rounded));

    if (!isnan(exact) && isfinite(rounded) && isfinite(f32_from_bits(bits)) &&
        (expected & 0x7fffffffu) && (bits & 0x7fffffffu))
        return ulps(f32_from_bits(bits), exact);
    if (bits != expected)
        fail_msg("f(%08x) is %08x, not %08x", input, bits, expected);
    return 0;
}

/* every step-th float; a few at the end are done twice */
static void fill_inputs(uint32_t *tile, uint64_t first)
{
    for (uint64_t i = 0; i < SIMD_TILE_WORDS; i++) {
        uint64_t bits = (first + i) * step();

        tile[i] = bits > UINT32_MAX ? UINT32_MAX : (uint32_t)bits;
    }
}

static void check_function(enum simd_unary op, const char *name, double (*exact)(double),
                           double bound)
{
    _Alignas(64) uint32_t tile[SIMD_TILE_WORDS], result[SIMD_TILE_WORDS];
    struct err e = {0};
    const struct simd_path *path = simd_select("auto", &e);
    uint32_t worst_at = 0;
    double worst = 0;

    assert_non_null(path);
    for (uint64_t first = 0; first * step() <= UINT32_MAX; first += SIMD_TILE_WORDS) {
        uint32_t saved = simd_thread_begin();

        fill_inputs(tile, first);
        path->unary[op](result, tile);
        simd_thread_end(saved);
        for (int i = 0; i < SIMD_TILE_WORDS; i++) {
            double x = (double)f32_from_bits(f32_flush_bits(tile[i]));
            double error = error_of(tile[i], result[i], exact(x));

            if (error > worst) {
                worst = error;
                worst_at = tile[i];
            }
        }
    }
    printf("%s: at most %.3f ulp, at %08x\n", name, worst, worst_at);
    assert_true(worst <= bound);
}

TEST(pow2_error_stays_below_its_bound)
{
    check_function(UN_POW2, "pow2", exp2, 1.0);
}

TEST(log2_error_stays_below_its_bound)
{
    check_function(UN_LOG2, "log2", log2, 1.0);
}

TEST(rcp_is_correctly_rounded)
{
    check_function(UN_RCP, "rcp", rcp_double, 0.5);
}

TEST(rsqrt_error_stays_below_its_bound)
{
    check_function(UN_RSQRT, "rsqrt", rsqrt_double, 1.0);
}

TEST(tanh_error_stays_below_its_bound)
{
    check_function(UN_TANH, "tanh", tanh, 2.0);
}

TEST(sinq_and_cosq_errors_stay_below_their_bound)
{
    check_function(UN_SINQ, "sinq", sinq_double, 1.25);
    check_function(UN_COSQ, "cosq", cosq_double, 1.25);
}

struct special {
    enum simd_unary op;
    uint32_t x, result;
};

#define INF 0x7f800000u
#define MINUS 0x80000000u
#define ONE 0x3f800000u

static const struct special specials[] = {
    {UN_POW2, 0, ONE}, {UN_POW2, MINUS, ONE}, {UN_POW2, 1, ONE}, {UN_POW2, INF, INF},
    {UN_POW2, INF | MINUS, 0}, {UN_POW2, 0x7f800001, F32_NAN_BITS},
    {UN_POW2, 0x43000000, INF},                 /* 128 */
    {UN_POW2, 0x42ffffff, 0x7f7fffa7},          /* just below */
    {UN_POW2, 0xc2fc0000, 0x00800000},          /* -126 */
    {UN_POW2, 0xc2fc0001, 0},                   /* just below */
    {UN_POW2, 0x7f7fffff, INF}, {UN_POW2, 0xff7fffff, 0}, {UN_POW2, 0x41200000, 0x44800000},

    {UN_LOG2, 0, INF | MINUS}, {UN_LOG2, MINUS, INF | MINUS}, {UN_LOG2, 0x007fffff, INF | MINUS},
    {UN_LOG2, MINUS | 1, INF | MINUS}, {UN_LOG2, ONE | MINUS, F32_NAN_BITS},
    {UN_LOG2, INF | MINUS, F32_NAN_BITS}, {UN_LOG2, INF, INF}, {UN_LOG2, ONE, 0},
    {UN_LOG2, 0xffc00001, F32_NAN_BITS}, {UN_LOG2, 0x00800000, 0xc2fc0000},

    {UN_RCP, 0, INF}, {UN_RCP, MINUS, INF | MINUS}, {UN_RCP, 1, INF}, {UN_RCP, INF, 0},
    {UN_RCP, INF | MINUS, MINUS}, {UN_RCP, 0x7fc00002, F32_NAN_BITS}, {UN_RCP, ONE, ONE},
    {UN_RCP, 0x7e800000, 0x00800000},           /* 2^126 */
    {UN_RCP, 0xfe800001, MINUS},                /* flushed */

    {UN_RSQRT, 0, INF}, {UN_RSQRT, MINUS, INF | MINUS}, {UN_RSQRT, 0x007fffff, INF},
    {UN_RSQRT, INF, 0}, {UN_RSQRT, ONE | MINUS, F32_NAN_BITS},
    {UN_RSQRT, INF | MINUS, F32_NAN_BITS}, {UN_RSQRT, 0x7fc00003, F32_NAN_BITS},
    {UN_RSQRT, 0x40800000, 0x3f000000},

    {UN_TANH, 0, 0}, {UN_TANH, MINUS, MINUS}, {UN_TANH, 1, 0}, {UN_TANH, MINUS | 1, MINUS},
    {UN_TANH, INF, ONE}, {UN_TANH, INF | MINUS, ONE | MINUS}, {UN_TANH, 0x41200000, ONE},
    {UN_SINQ, 0, 0}, {UN_SINQ, MINUS, MINUS}, {UN_SINQ, 1, 0}, {UN_SINQ, ONE, ONE},
    {UN_SINQ, 0x40000000, 0}, {UN_SINQ, 0xc0000000, MINUS}, {UN_SINQ, 0x40400000, ONE | MINUS},
    {UN_SINQ, 0x4b800001, 0}, {UN_SINQ, INF, F32_NAN_BITS}, {UN_SINQ, 0xffc00001, F32_NAN_BITS},
    {UN_COSQ, 0, ONE}, {UN_COSQ, MINUS, ONE}, {UN_COSQ, ONE, 0}, {UN_COSQ, ONE | MINUS, 0},
    {UN_COSQ, 0x40000000, ONE | MINUS}, {UN_COSQ, 0x40400000, 0}, {UN_COSQ, 0x7f7fffff, ONE},
    {UN_COSQ, INF | MINUS, F32_NAN_BITS}, {UN_COSQ, 0x7f800001, F32_NAN_BITS},

    {UN_TANH, 0x7fffffff, F32_NAN_BITS}, {UN_TANH, 0x00800000, 0x00800000},
};

TEST(special_values_give_the_stated_results)
{
    _Alignas(64) uint32_t tile[SIMD_TILE_WORDS], result[SIMD_TILE_WORDS];
    struct err e = {0};
    const struct simd_path *path = simd_select("auto", &e);

    assert_non_null(path);
    for (size_t i = 0; i < COUNT_OF(specials); i++) {
        const struct special *s = &specials[i];
        uint32_t saved = simd_thread_begin();

        for (int j = 0; j < SIMD_TILE_WORDS; j++)
            tile[j] = s->x;
        path->unary[s->op](result, tile);
        simd_thread_end(saved);
        if (result[i] != s->result)
            fail_msg("function %d of %08x is %08x, not %08x", s->op, s->x, result[i], s->result);
    }
}

/* over one binade, which repeats, and over the seam of the two halves of tanh */
TEST(monotone_functions_stay_monotone_between_neighbours)
{
    static const struct { enum simd_unary op; uint32_t first; int falls; } runs[] = {
        {UN_TANH, 0x3f200000 - 512, 0}, {UN_TANH, 0x3f000000, 0}, {UN_LOG2, ONE - 512, 0},
        {UN_LOG2, 0x3fb504f3 - 512, 0}, {UN_POW2, 0x3f000000 - 512, 0}, {UN_POW2, ONE, 0},
        {UN_RCP, ONE, 1}, {UN_RSQRT, ONE, 1},
    };
    _Alignas(64) uint32_t tile[SIMD_TILE_WORDS], result[SIMD_TILE_WORDS];
    struct err e = {0};
    const struct simd_path *path = simd_select("auto", &e);

    assert_non_null(path);
    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        uint32_t saved = simd_thread_begin();

        for (uint32_t j = 0; j < SIMD_TILE_WORDS; j++)
            tile[j] = runs[i].first + j;
        path->unary[runs[i].op](result, tile);
        simd_thread_end(saved);
        for (int j = 1; j < SIMD_TILE_WORDS; j++) {
            float step = f32_from_bits(result[j]) - f32_from_bits(result[j - 1]);

            if (runs[i].falls ? step > 0 : step < 0)
                fail_msg("run %zu turns at %08x", i, tile[j]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pow2_error_stays_below_its_bound),
        cmocka_unit_test(log2_error_stays_below_its_bound),
        cmocka_unit_test(rcp_is_correctly_rounded),
        cmocka_unit_test(rsqrt_error_stays_below_its_bound),
        cmocka_unit_test(tanh_error_stays_below_its_bound),
        cmocka_unit_test(sinq_and_cosq_errors_stay_below_their_bound),
        cmocka_unit_test(special_values_give_the_stated_results),
        cmocka_unit_test(monotone_functions_stay_monotone_between_neighbours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
