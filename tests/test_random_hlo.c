/*
 * The random graphs that others test kernels with: are they right, varied, and exact? Exact means
 * that doubles throughout, f32 with rounding after each operation, and products of operands
 * rounded to bf16 all give the same bits.
 */
#include "tests/rigs/graph_rig.h"
#include "tests/generate/random_hlo.h"
#include "tests/test.h"

#include <math.h>

enum { OUTPUTS = 700 };

static struct arena arena;
static struct graph g;

static void build(uint64_t seed, unsigned groups, unsigned dtypes, int op_count)
{
    struct random_hlo r = {.seed = seed, .groups = groups, .dtypes = dtypes,
                           .op_count = op_count, .elems_max = 3000};
    struct err e;

    arena_init(&arena);
    graph_init(&g, &arena, "random");
    random_hlo_build(&g, &r);
    if (graph_verify(&g, &e) != 0)
        fail_msg("seed %d: %s", (int)seed, e.msg);
}

static void done(void)
{
    graph_fini(&g);
    arena_fini(&arena);
}

static void run(enum interp_dot mode, uint64_t seed, struct interp_value *out)
{
    struct interp_value *in = arena_array(&arena, (size_t)g.parameter_count + 1, sizeof(*in));
    struct err e;

    for (int i = 0; i < g.parameter_count; i++) {
        const struct shape *s = &g.node[g.parameter[i]].shape;
        void *data = random_hlo_input(&g, i, seed, &arena);

        in[i].data = mode == INTERP_WIDE
                         ? grig_pack(&arena, s, mode, grig_unpack(&arena, s, INTERP_DOT_F32, data))
                         : data;
    }
    if (interp_run(&g, mode, in, out, &arena, &e) != 0)
        fail_msg("seed %d: %s", (int)seed, e.msg);
}

static void check_exact(uint64_t seed)
{
    static const enum interp_dot modes[] = {INTERP_DOT_F32, INTERP_DOT_BF16, INTERP_WIDE};
    struct interp_value out[3][OUTPUTS];

    assert_true(g.output_count > 0 && g.output_count <= OUTPUTS);
    for (int k = 0; k < 3; k++)
        run(modes[k], seed, out[k]);
    for (int o = 0; o < g.output_count; o++) {
        const struct graph_node *n = &g.node[g.output[o].node];
        int64_t elems = shape_elems(&n->shape);
        double *is[3];

        for (int k = 0; k < 3; k++)
            is[k] = grig_unpack(&arena, &n->shape, modes[k], out[k][o].data);
        for (int64_t i = 0; i < elems; i++)
            if (!isfinite(is[0][i]) || is[0][i] != is[1][i] || is[0][i] != is[2][i])
                fail_msg("seed %d: %s: element %d is %g, %g, %g", (int)seed, n->name, (int)i,
                         is[0][i], is[1][i], is[2][i]);
    }
}

TEST(single_operations_of_every_group_are_exact)
{
    bool seen[HLO_COUNT] = {false};
    int missing = 0;

    for (int group = 0; 1u << group <= RANDOM_FLOW; group++)
        for (uint64_t seed = 0; seed < 60; seed++) {
            build(seed, 1u << group, 0, 1);
            check_exact(seed);
            for (int i = 0; i < g.node_count; i++)
                seen[g.node[i].op] = true;
            done();
        }
    for (int op = 0; op < HLO_COUNT; op++) {
        enum graph_op_kind kind = graph_op_kind((enum graph_op)op);

        missing += !seen[op] && kind != KIND_UNARY && kind != KIND_BINARY && kind != KIND_TUPLE;
    }
    /* constant, iota, fusion, custom call, kernels of Pallas; device numbers, collectives and messages,
     * which have tests of their own */
    assert_int_equal(missing, 5 + 2 + 5 + 3);
}

TEST(whole_graphs_are_exact)
{
    for (uint64_t seed = 0; seed < 40; seed++) {
        build(seed, RANDOM_ALL, 0, 25);
        check_exact(seed);
        done();
    }
}

TEST(types_are_those_asked_for)
{
    unsigned floats = 1u << DTYPE_F32 | 1u << DTYPE_BF16;

    for (uint64_t seed = 0; seed < 30; seed++) {
        build(seed, RANDOM_MOVE | RANDOM_DOT | RANDOM_CONV | RANDOM_WINDOW, floats, 6);
        for (int i = 0; i < g.node_count; i++)
            assert_true(graph_dtype_is_float(g.node[i].shape.dtype));
        done();
    }
}

/* braces balance, and every name that is used has been defined before */
static void check_text(const char *text)
{
    int depth = 0;

    for (const char *p = text; *p; p++) {
        depth += *p == '{';
        depth -= *p == '}';
        assert_true(depth >= 0);
        if (*p == '%' && p[-1] != ' ' && p[-1] != '\n') {
            size_t chars = strcspn(p, " ,){\n");
            const char *first = text;

            while (strncmp(first, p, chars) != 0 || first[chars] != ' ')
                first++;
            if (first >= p)
                fail_msg("%.*s is used before its definition", (int)chars, p);
        }
    }
    assert_int_equal(depth, 0);
}

TEST(dumps_define_every_name_before_its_use)
{
    for (uint64_t seed = 0; seed < 40; seed++) {
        char *text;
        size_t bytes;
        FILE *to = open_memstream(&text, &bytes);

        build(seed, RANDOM_ALL | RANDOM_FLOW, 0, 12);
        graph_dump(&g, to);
        fclose(to);
        check_text(text);
        free(text);
        done();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_operations_of_every_group_are_exact),
        cmocka_unit_test(whole_graphs_are_exact),
        cmocka_unit_test(types_are_those_asked_for),
        cmocka_unit_test(dumps_define_every_name_before_its_use),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
