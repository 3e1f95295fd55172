/*
 * Gated units: functions of two halves of a product's columns, multiplied, are made in the kernel of
 * the product that reads them (stack/passes/fusion_operand.c), and give what the interpreter has.
 */
#include "base/rng.h"
#include "stack/nn/nn.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

#define DRAWS 12

struct gated {
    int64_t rows, wide, inner, out;
    enum graph_dtype dtype;
    bool is_wide_inside;                /* functions of f32, rounded behind them */
    bool is_right;                      /* the unit is the product's right operand */
};

static int half(struct graph *g, int x, int64_t first, int64_t columns)
{
    int64_t rows = g->node[x].shape.dim[0];

    return graph_slice(g, x, (int64_t[]){0, first}, (int64_t[]){rows, first + columns}, NULL);
}

static int argument(struct graph *g, enum graph_dtype dtype, int64_t rows, int64_t columns,
                    const char *name)
{
    return graph_parameter(g, shape_make(dtype, 2, (int64_t[]){rows, columns}), name);
}

static int product(struct graph *g, int a, int b)
{
    return graph_dot(g, a, b, 1, 0, PRECISION_DEFAULT);
}

/* tanh(x w1[:, :inner]) * (x w1[:, inner:]) * scale, by w2; or the transposed of w2 by it */
static void build(struct graph *g, struct arena *a, const struct gated *s)
{
    int x, h, gate, up, w2, y;

    graph_init(g, a, "gated");
    x = argument(g, s->dtype, s->rows, s->wide, "x");
    h = product(g, x, argument(g, s->dtype, s->wide, 2 * s->inner, "w1"));
    gate = half(g, h, 0, s->inner);
    up = half(g, h, s->inner, s->inner);
    if (s->is_wide_inside) {
        gate = graph_convert(g, gate, DTYPE_F32);
        up = graph_convert(g, up, DTYPE_F32);
    }
    y = graph_binary(g, HLO_MULTIPLY, graph_unary(g, HLO_TANH, gate), up);
    y = graph_binary(g, HLO_MULTIPLY, y, graph_splat(g, y, 0.25));
    y = graph_convert(g, y, s->dtype);
    w2 = s->is_right ? argument(g, s->dtype, s->out, s->rows, "w2")
                     : argument(g, s->dtype, s->inner, s->out, "w2");
    graph_output(g, s->is_right ? product(g, w2, y) : product(g, y, w2), "y", -1);
}

static struct module_rig checked(const char *slice, enum codegen codegen, const struct gated *s,
                                 uint64_t seed)
{
    struct module_rig r = {.slice = slice, .codegen = codegen, .uses_fractions = true,
                           .relative = 1.0 / 64, .absolute = 1.0 / 16, .spoils_vmem = seed % 2};
    struct arena a;
    struct graph g;

    arena_init(&a);
    build(&g, &a, s);
    module_rig_check(&r, &g, seed);
    graph_fini(&g);
    arena_fini(&a);
    return r;
}

TEST(a_gated_unit_is_made_in_the_kernel_of_the_product_that_reads_it)
{
    struct gated s = {512, 128, 1024, 256, DTYPE_BF16, false, false};

    assert_int_equal(checked("v6e-1", CODEGEN_XLA, &s, 1).kernel_count, 2);
    assert_int_equal(checked("v5e-1", CODEGEN_XLA, &s, 2).kernel_count, 2);
    /* profiles of v3 have a kernel for each, and nobody has weighed it for the best */
    assert_int_equal(checked("v3-1", CODEGEN_XLA, &s, 3).kernel_count, 3);
    assert_int_equal(checked("v6e-1", CODEGEN_BEST, &s, 4).kernel_count, 3);
}

TEST(drawn_gated_units_have_the_interpreters_values)
{
    static const char *const slices[] = {"v5e-1", "v6e-1", "v7x-1", "v5p-1"};

    seeds_print(seeds_count(DRAWS));
    for (int i = 0; i < seeds_count(DRAWS); i++) {
        struct rng rng;
        struct gated s;

        rng_init(&rng, seeds_at(i));
        s = (struct gated){.rows = 1 + rng_below(&rng, 300), .wide = 1 + rng_below(&rng, 300),
                           .inner = 1 + rng_below(&rng, 400), .out = 1 + rng_below(&rng, 300),
                           .dtype = rng_below(&rng, 3) ? DTYPE_BF16 : DTYPE_F32,
                           .is_wide_inside = rng_below(&rng, 2), .is_right = !rng_below(&rng, 4)};
        if (rng_below(&rng, 2))
            s.inner = s.inner / 128 * 128 + 128;
        checked(slices[rng_below(&rng, 4)], CODEGEN_XLA, &s, seeds_at(i));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gated_unit_is_made_in_the_kernel_of_the_product_that_reads_it),
        cmocka_unit_test(drawn_gated_units_have_the_interpreters_values),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
