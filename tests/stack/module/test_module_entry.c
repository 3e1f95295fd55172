/*
 * How do parameters and results lie that only moves read and make, and do values stay what they are?
 * Tokens by heads of 64 are padding by half row-major, and not with tokens along lanes.
 */
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/test.h"

#define HEADS(t, ...) shape_make(t, 4, (int64_t[]){__VA_ARGS__})

static struct module m;

static void compile_entry(const struct module_rig *r, bool is_given)
{
    struct module_settings s = {.codegen = CODEGEN_XLA, .replica_count = 1,
                                .is_entry_given = is_given};
    static struct chip chip;
    struct err e = {0};

    if (chip_load_builtin(&chip, r->slice, NULL, &arena, &e))
        fail_msg("%s", e.msg);
    s.chip = &chip;
    if (module_compile(&g, &s, &arena, &m, &e))
        fail_msg("%s", e.msg);
}

static void compile(const struct module_rig *r) { compile_entry(r, false); }

/* q scaled, [batch, tokens, heads, 64] to [batch, heads, 64, tokens] */
static int scaled_and_turned(int x)
{
    int scale = graph_constant(&g, shape_scalar(DTYPE_F32), 0.125), y;
    struct shape all = g.node[x].shape;

    all.dtype = DTYPE_F32;
    y = graph_binary(&g, HLO_MULTIPLY, graph_convert(&g, x, DTYPE_F32),
                     graph_broadcast(&g, scale, all, NULL));
    return graph_transpose(&g, graph_convert(&g, y, DTYPE_BF16), (int[]){0, 2, 3, 1});
}

/* a kernel of its own reads it row-major */
static int sums(int x)
{
    return graph_reduce(&g, REDUCE_MAX, graph_convert(&g, x, DTYPE_F32), 1u << 3);
}

TEST(tokens_lie_along_lanes_where_moves_alone_read_them)
{
    struct module_rig r = {.slice = "v5e"};
    int x = graph_parameter(&g, HEADS(DTYPE_BF16, 2, 1024, 8, 64), "x");

    graph_output(&g, sums(scaled_and_turned(x)), "y", -1);
    compile(&r);
    assert_int_equal(m.kernel_count, 2);        /* the scale is no kernel of its own */
    assert_int_equal(m.parameter[0]->order[0], 1);
    assert_int_equal(m.parameter[0]->order[1], 3);
    assert_int_equal(m.parameter[0]->bytes, 2 * 1024 * 8 * 64 * 2);
    module_rig_check(&r, &g, 1);
}

TEST(a_transpose_that_only_names_a_parameter_is_no_kernel)
{
    for (int batch = 1; batch < 3; batch++) {
        struct module_rig r = {.slice = "v6e"};
        int x = graph_parameter(&g, HEADS(DTYPE_BF16, batch, 2048, 8, 64), "x"), y = x;

        if (batch == 1)                 /* through a reshape that leaves it out */
            y = graph_reshape(&g, x, shape_make(DTYPE_BF16, 3, (int64_t[]){2048, 8, 64}));
        y = graph_transpose(&g, y, batch == 1 ? (int[]){1, 2, 0} : (int[]){0, 2, 3, 1});
        graph_output(&g, graph_reduce(&g, REDUCE_MAX, graph_convert(&g, y, DTYPE_F32),
                                      batch == 1 ? 4 : 8), "y", -1);
        compile(&r);
        assert_int_equal(m.kernel_count, 1);
        module_rig_check(&r, &g, 2);
        one_graph_again();
    }
}

TEST(a_result_that_a_move_makes_has_no_padding)
{
    struct module_rig r = {.slice = "v5e"};
    int x = graph_parameter(&g, HEADS(DTYPE_BF16, 2, 8, 1024, 64), "x"), y;

    y = graph_unary(&g, HLO_NEGATE, graph_convert(&g, x, DTYPE_F32));
    y = graph_binary(&g, HLO_ADD, y, graph_convert(&g, x, DTYPE_F32));
    y = graph_convert(&g, graph_binary(&g, HLO_ADD, y, y), DTYPE_BF16);
    graph_output(&g, graph_transpose(&g, y, (int[]){0, 2, 1, 3}), "y", -1);
    compile(&r);
    assert_int_equal(m.output[0]->order[0], 1);
    assert_int_equal(m.output[0]->bytes, 2 * 1024 * 8 * 64 * 2);
    module_rig_check(&r, &g, 3);
}

TEST(what_other_kernels_read_is_row_major)
{
    struct module_rig r = {.slice = "v5e"};
    int x = graph_parameter(&g, HEADS(DTYPE_BF16, 2, 1024, 8, 64), "x");

    graph_output(&g, sums(scaled_and_turned(x)), "y", -1);
    graph_output(&g, sums(x), "z", -1);
    compile(&r);
    assert_int_equal(m.parameter[0]->order[0], 3);
    module_rig_check(&r, &g, 4);
}

/* operations of a profile, whose layouts are known: a copy is the kernel that it was there */
TEST(what_is_given_is_row_major)
{
    struct module_rig r = {.slice = "v3"};
    int x = graph_parameter(&g, shape_make(DTYPE_BF16, 3, (int64_t[]){128, 27, 27}), "x");

    graph_output(&g, graph_transpose(&g, x, (int[]){2, 1, 0}), "y", -1);
    compile_entry(&r, true);
    assert_int_equal(m.kernel_count, 1);
    assert_int_equal(m.parameter[0]->order[0], 2);
    assert_int_equal(m.output[0]->order[0], 2);
    assert_true(m.kernel[0].segment->cost.total_cycles > 5000);
}

/*
 * [n, 2 h, 2 w, c] to [n, h, w, 4 c]: with 56 pixels along lanes in place of 48 channels it would be
 * less padding, and no move that streams.
 */
TEST(what_would_be_moved_by_elements_is_row_major)
{
    for (int n = 1; n <= 8; n += 7) {
        struct module_rig r = {.slice = "v5e"};
        int x = graph_parameter(&g, HEADS(DTYPE_F32, n, 56, 56, 48), "x"), y;

        y = graph_reshape(&g, x, shape_make(DTYPE_F32, 6, (int64_t[]){n, 28, 2, 28, 2, 48}));
        y = graph_transpose(&g, y, (int[]){0, 1, 3, 2, 4, 5});
        graph_output(&g, graph_reshape(&g, y, HEADS(DTYPE_F32, n, 28, 28, 192)), "y", -1);
        compile(&r);
        assert_int_equal(m.kernel_count, 1);
        assert_true(m.kernel[0].segment->cost.total_cycles < 10000 * n + 10000);
        assert_int_equal(m.parameter[0]->order[0], 3);
        module_rig_check(&r, &g, 1);
        one_graph_again();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(tokens_lie_along_lanes_where_moves_alone_read_them),
        RUN(a_transpose_that_only_names_a_parameter_is_no_kernel),
        RUN(a_result_that_a_move_makes_has_no_padding),
        RUN(what_other_kernels_read_is_row_major),
        RUN(what_is_given_is_row_major),
        RUN(what_would_be_moved_by_elements_is_row_major),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
