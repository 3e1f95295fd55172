/*
 * The exact form of programs on a simulated core: functions against libm in doubles, within the ulp
 * of docs/numerics.md and of the same kind (zero, infinite, no number); sums and products bit by bit
 * as the definition adds them, one element after the other.
 */
#include "tests/test.h"

#include "base/rng.h"
#include "import/exact/exact.h"
#include "import/lower/lower.h"
#include "import/read/read.h"
#include "tests/rigs/expand_rig.h"
#include "tests/rigs/run_graph.h"

#include <math.h>

enum { COUNT = 6000 };

static double logistic_of(double x) { return 1 / (1 + exp(-x)); }

struct function {
    const char *name;
    double (*one)(double), (*two)(double, double);
    double ulp;
};

static const float edges[] = {0, -0.0f, INFINITY, -INFINITY, NAN, 1, -1, 2, -2, 0.5f, 3, -3, 0x1p-126f,
                              -0x1p-126f, 0x1.fffffep127f, -0x1.fffffep127f, 88.72284f, 88.73f,
                              -87.33655f, -87.4f, -103.9f, -104.1f, 127, 128, 1e-20f, -1e-20f,
                              -0x1.fffffep-1f, 0x1.000002p0f, 5e-8f, -6e-8f, 34, 0x1p24f};
enum { EDGES = sizeof(edges) / sizeof(edges[0]) };

/* any bits, numbers of middling size, and numbers near 1 */
static float draw(struct rng *r, int i)
{
    union { uint32_t bits; float number; } any = {.bits = (uint32_t)rng_next(r)};
    double unit = (double)(rng_next(r) >> 11) * 0x1p-53;

    if (fabsf(any.number) < 0x1p-126f)
        any.number = 0;                 /* the core's zeros: docs/numerics.md, rule 1 */
    if (i % 4 == 0)
        return any.number;
    return (float)(i % 4 == 1 ? 200 * unit - 100 : i % 4 == 2 ? 8 * unit - 4
                                                              : 1 + ldexp(unit - 0.5, -(i % 20)));
}

static void fill(float *x, float *y, struct rng *r)
{
    for (int i = 0; i < COUNT; i++) {
        x[i] = i < EDGES * EDGES ? edges[i / EDGES] : draw(r, i);
        y[i] = i < EDGES * EDGES ? edges[i % EDGES] : draw(r, (int)rng_below(r, 1000));
        if (i > COUNT / 2 && i % 2) {   /* powers that are neither 0 nor infinite */
            x[i] = fabsf(x[i]);
            y[i] = (float)(80 / log(x[i]) * (2 * (double)(rng_next(r) >> 11) * 0x1p-53 - 1));
            if (!isfinite(y[i]) || fabsf(y[i]) < 0x1p-126f)
                y[i] = 2;
        }
    }
}

static void hold(const struct function *f, const float *x, const float *y, const float *got)
{
    double worst = 0;

    for (int i = 0; i < COUNT; i++) {
        double want = f->one ? f->one(x[i]) : f->two(x[i], y[i]), ulp, off;
        float nearest = (float)want;

        if (fabs(want) < 0x1p-126) {    /* flushed, or rounded up to the smallest normal number */
            if (fabsf(got[i]) > 0x1p-126f)
                fail_msg("%s(%a, %a) is %a, not 0", f->name, x[i], y[i], got[i]);
            continue;
        }
        if (isnan(nearest) || isinf(nearest) || !isfinite(got[i])) {
            if (isnan(nearest) ? !isnan(got[i]) : got[i] != nearest)
                fail_msg("%s(%a, %a) is %a, not %a", f->name, x[i], y[i], got[i], nearest);
            continue;
        }
        ulp = ldexp(1, ilogb(want) - 23);
        off = fabs(got[i] - want) / ulp;
        if (off > f->ulp)
            fail_msg("%s(%a, %a) is %a, not %a: %.3f ulp", f->name, x[i], y[i], got[i], want, off);
        worst = fmax(worst, off);
    }
    printf("%-24s %.3f ulp\n", f->name, worst);
}

/* a program of one or two parameters on a core */
static const float *run_as(enum exact_form exact, const char *text, const float *x, const float *y,
                           struct arena *a)
{
    struct lower_settings settings = {.exact = exact};
    struct graph_run run = {.slice = "v5e"};
    const void *input[2] = {x, y};
    void *output[1];
    struct lowered lowered;
    struct err e = {0};
    struct hlo_module *m = program_read_bytes(text, strlen(text), "case", a, &e);

    if (!m || lower_program(m, &settings, a, &lowered, &e))
        fail_msg("%s", e.msg);
    run_graph(&run, &lowered.graph, input, output, a);
    graph_fini(&lowered.graph);
    program_free(m);
    return output[0];
}

static const float *run(const char *text, const float *x, const float *y, struct arena *a)
{
    return run_as(EXACT_ALL, text, x, y, a);
}

static const struct function functions[] = {
    {"exponential", exp, NULL, 1}, {"exponential-minus-one", expm1, NULL, 1},
    {"logistic", logistic_of, NULL, 1}, {"log", log, NULL, 1}, {"log-plus-one", log1p, NULL, 1},
    {"sqrt", sqrt, NULL, 0.501}, {"divide", NULL, NULL, 0.501}, {"power", NULL, pow, 1},
    {"sine", sin, NULL, 3}, {"tan", tan, NULL, 4}, {"erf", erf, NULL, 1.5},
};

static double quotient(double x, double y) { return x / y; }

TEST(functions_are_within_their_bounds)
{
    static float x[COUNT], y[COUNT];
    struct rng r;

    rng_init(&r, expand_rig_seed());
    fill(x, y, &r);
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        struct function f = functions[i];
        struct arena a;
        char text[400];

        f.two = f.one ? NULL : f.two ? f.two : quotient;
        snprintf(text, sizeof(text), "HloModule m\nENTRY e {\n x = f32[%d] parameter(0)\n"
                 " y = f32[%d] parameter(1)\n ROOT z = f32[%d] %s(x%s)\n}\n", COUNT, COUNT,
                 COUNT, f.name, f.two ? ", y" : "");
        arena_init(&a);
        hold(&f, x, y, run(text, x, y, &a));
        arena_fini(&a);
    }
}

#define SUM "s { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"

static void hold_bits(const float *got, const float *want, int count)
{
    for (int i = 0; i < count; i++)
        if (got[i] != want[i])
            fail_msg("element %d is %a, not %a", i, got[i], want[i]);
}

TEST(windows_add_one_element_after_the_other)
{
    struct arena a;
    float *x, want[24], sum = 0;

    arena_init(&a);
    x = random_floats(&a, 24, -10, 10, expand_rig_seed());
    for (int i = 0; i < 24; i++)
        want[i] = sum = sum + x[i];
    hold_bits(run("HloModule m\n" SUM "ENTRY e {\n x = f32[24] parameter(0)\n z = f32[] constant(0)\n"
                  " ROOT r = f32[24] reduce-window(x, z), window={size=24 pad=23_0}, to_apply=s\n}\n",
                  x, x, &a), want, 24);
    want[0] = sum;
    hold_bits(run("HloModule m\n" SUM "ENTRY e {\n x = f32[24] parameter(0)\n z = f32[] constant(0)\n"
                  " ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=s\n}\n", x, x, &a),
              want, 1);
    arena_fini(&a);
}

/* rows of x by columns of y, which lie in the other order */
TEST(dots_add_one_product_after_the_other)
{
    enum { M = 5, K = 7, N = 6 };
    struct arena a;
    float *x, *y, want[M * N];

    arena_init(&a);
    x = random_floats(&a, M * K, -10, 10, expand_rig_seed());
    y = random_floats(&a, N * K, -10, 10, expand_rig_seed() + 1);
    for (int i = 0; i < M * N; i++) {
        want[i] = x[i / N] * y[i % N * K];
        for (int k = 1; k < K; k++)
            want[i] += x[k * M + i / N] * y[i % N * K + k];
    }
    for (enum exact_form form = EXACT_SMALL; form <= EXACT_ALL; form++)
        hold_bits(run_as(form, "HloModule m\nENTRY e {\n x = f32[7,5] parameter(0)\n"
                         " y = f32[6,7] parameter(1)\n ROOT r = f32[5,6] dot(x, y), "
                         "lhs_contracting_dims={0}, rhs_contracting_dims={1}\n}\n", x, y, &a),
                  want, M * N);
    arena_fini(&a);
}

/* two groups of two features, three made of each; dilated, strided, padded, kernel reversed */
TEST(convolutions_add_one_product_after_the_other)
{
    enum { LENGTH = 9, GROUPS = 2, IN = 2, OUT = 6, SIZE = 3, MADE = 5 };
    struct arena a;
    float *x, *y, want[OUT * MADE];

    arena_init(&a);
    x = random_floats(&a, GROUPS * IN * LENGTH, -10, 10, expand_rig_seed());
    y = random_floats(&a, OUT * IN * SIZE, -10, 10, expand_rig_seed() + 1);
    for (int i = 0; i < OUT * MADE; i++) {
        float sum = 0;

        for (int k = 0; k < SIZE * IN; k++) {
            int at = i % MADE * 2 + k / IN * 2 - 2, in = i / MADE / (OUT / GROUPS) * IN + k % IN;
            float number = at < 0 || at >= LENGTH ? 0 : x[in * LENGTH + at];

            sum += number * y[(i / MADE * IN + k % IN) * SIZE + SIZE - 1 - k / IN];
        }
        want[i] = sum;
    }
    hold_bits(run("HloModule m\nENTRY e {\n x = f32[1,4,9] parameter(0)\n y = f32[6,2,3] parameter(1)\n"
                  " ROOT r = f32[1,6,5] convolution(x, y), window={size=3 stride=2 pad=2_2 rhs_dilate=2"
                  " rhs_reversal=1}, dim_labels=bf0_oi0->bf0, feature_group_count=2\n}\n", x, y, &a),
              want, OUT * MADE);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_within_their_bounds),
        cmocka_unit_test(windows_add_one_element_after_the_other),
        cmocka_unit_test(dots_add_one_product_after_the_other),
        cmocka_unit_test(convolutions_add_one_product_after_the_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
