/*
 * Does what makes a convolution's input go into its kernel (stack/passes/fusion_input.c), where that
 * pays, and compute the same there? Pixels are the outer dimensions, so that nothing has to move.
 */
#include "base/units.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/test.h"

struct net { int64_t pixels, in, out, taps; bool is_read_again; };

static const struct graph_conv labels = {
    .spatial_count = 2, .in_batch = 2, .in_spatial = {0, 1}, .in_feature = 3,
    .kernel_spatial = {0, 1}, .kernel_in = 2, .kernel_out = 3,
    .out_batch = 2, .out_spatial = {0, 1}, .out_feature = 3,
    .feature_groups = 1, .batch_groups = 1};

static int parameter(enum graph_dtype dtype, const char *name, const int64_t *dims, int rank)
{
    return graph_parameter(&g, shape_make(dtype, rank, dims), name);
}

/* max(x * scale + other, 0), rounded */
static int normed(int x, int64_t features)
{
    struct shape wide = g.node[x].shape;
    int other = graph_parameter(&g, wide, "other"), y = graph_convert(&g, x, DTYPE_F32);
    int scale = parameter(DTYPE_F32, "scale", &features, 1);
    const int along = 3;

    wide.dtype = DTYPE_F32;
    y = graph_binary(&g, HLO_MULTIPLY, y, graph_broadcast(&g, scale, wide, &along));
    y = graph_binary(&g, HLO_ADD, y, graph_convert(&g, other, DTYPE_F32));
    y = graph_binary(&g, HLO_MAXIMUM, y, graph_splat(&g, y, 0));
    return graph_convert(&g, y, DTYPE_BF16);
}

static int convolved(int x, const struct net *n, int w)
{
    int64_t low = (n->taps - 1) / 2;
    const struct graph_window same = {n->taps, 1, low, n->taps - 1 - low, 1, 1, false};
    const struct graph_window window[] = {same, same};

    return graph_convolution(&g, x, w, window, &labels, DTYPE_F32, PRECISION_DEFAULT);
}

static int kernels(const char *chip, const struct net *n)
{
    struct module_rig r = {.slice = chip, .check_races = true};
    const int64_t x_dims[] = {n->pixels, n->pixels, 32, n->in};
    const int64_t w_dims[] = {n->taps, n->taps, n->in, n->out};
    int x = normed(parameter(DTYPE_BF16, "x", x_dims, 4), n->in);
    int y = convolved(x, n, parameter(DTYPE_BF16, "w", w_dims, 4));

    graph_output(&g, graph_binary(&g, HLO_ADD, y, y), "y", -1);
    if (n->is_read_again)
        graph_output(&g, x, "normed", -1);
    module_rig_check(&r, &g, 5);
    one_graph_again();
    return r.kernel_count;
}

TEST(what_makes_an_input_is_no_kernel_of_its_own)
{
    static const char *const chips[] = {"v3", "v5e", "v2", "v7x"};
    static const struct net list[] = {
        {16, 256, 128, 1, false}, {16, 256, 128, 1, true}, {12, 128, 128, 3, false},
        {12, 128, 128, 3, true}};

    for (size_t i = 0; i < COUNT_OF(list); i++)
        for (size_t k = 0; k < COUNT_OF(chips); k++)
            assert_int_equal(kernels(chips[k], &list[i]), 1);
}

/* two convolutions of one input: the first stores it for the other */
TEST(an_input_of_two_convolutions_is_made_once)
{
    const struct net n = {16, 256, 128, 1, false};
    const int64_t x_dims[] = {16, 16, 32, 256}, w_dims[] = {1, 1, 256, 128};
    struct module_rig r = {.slice = "v3", .check_races = true};
    int x = normed(parameter(DTYPE_BF16, "x", x_dims, 4), 256);

    for (int i = 0; i < 2; i++)
        graph_output(&g, convolved(x, &n, parameter(DTYPE_BF16, i ? "w1" : "w0", w_dims, 4)), "y",
                     -1);
    module_rig_check(&r, &g, 6);
    assert_int_equal(r.kernel_count, 2);
}

/* of a window with a stride no step has all of its input: what others read stays a kernel */
TEST(an_input_that_others_read_stays_where_no_window_holds_it)
{
    const int64_t x_dims[] = {16, 16, 32, 256}, w_dims[] = {1, 1, 256, 128};
    const struct graph_window strided = {1, 2, 0, 0, 1, 1, false};
    const struct graph_window window[] = {strided, strided};

    for (int i = 0; i < 2; i++) {
        struct module_rig r = {.slice = "v3", .check_races = true};
        int x = normed(parameter(DTYPE_BF16, "x", x_dims, 4), 256);
        int w = parameter(DTYPE_BF16, "w", w_dims, 4);

        graph_output(&g, graph_convolution(&g, x, w, window, &labels, DTYPE_F32,
                                           PRECISION_DEFAULT), "y", -1);
        if (i)
            graph_output(&g, x, "normed", -1);
        module_rig_check(&r, &g, 7);
        assert_int_equal(r.kernel_count, 1 + i);
        one_graph_again();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(what_makes_an_input_is_no_kernel_of_its_own),
        RUN(an_input_of_two_convolutions_is_made_once),
        RUN(an_input_that_others_read_stays_where_no_window_holds_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
