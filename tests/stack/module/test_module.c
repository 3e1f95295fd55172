/*
 * Does a compiled graph compute on a simulated core what the interpreter computes?
 * Drawn graphs: test_module_random.c. The variable SYSTOLE_DUMP_AFTER names a pass after which
 * graphs are printed.
 */
#include "base/units.h"
#include "stack/nn/nn.h"
#include "stack/nn/zoo.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>

#define DIMS(...) (int[]){__VA_ARGS__}
#define F32(...) \
    shape_make(DTYPE_F32, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
               (int64_t[]){__VA_ARGS__})

TEST(moves_in_a_row_match)
{
    struct module_rig r = {.slice = "v5e"};
    int64_t low[3] = {1, 0, 2}, high[3] = {0, 3, 1}, none[3] = {0};
    int x = graph_parameter(&g, F32(5, 9, 20), "x"), y = graph_transpose(&g, x, DIMS(2, 0, 1));
    int zero = graph_constant(&g, shape_scalar(DTYPE_F32), 0);

    graph_output(&g, y, "turned", -1);
    y = graph_pad(&g, graph_reverse(&g, y, DIMS(0), 1), zero, low, high, none);
    graph_output(&g, graph_reshape(&g, y, F32(21 * 8 * 12)), "padded", -1);
    module_rig_check(&r, &g, 1);
    assert_true(r.kernel_count >= 3);
}

/* A step of training, twice: variables and slots go on from where the first has left them. */
TEST(training_an_mlp_matches)
{
    static const char *const slices[] = {"v5e", "v3-1", "v6e"};

    for (int i = 0; i < 3; i++) {
        struct module_rig r = {.slice = slices[i], .relative = 1e-3, .absolute = 1e-4,
                               .uses_fractions = true, .launches = 2};
        int64_t variables;
        struct err e;

        assert_int_equal(zoo_build(&g, "mlp:train,batch=24", &variables, &e), 0);
        module_rig_check(&r, &g, 1);
        print_message("%s: %d kernels, %lld cycles, worst %.3f\n", slices[i], r.kernel_count,
                      (long long)r.cycles, r.worst);
        one_graph_again();
    }
}

static int parameter(const char *name, int rank, const int64_t *dim, enum graph_dtype dtype)
{
    return graph_parameter(&g, shape_make(dtype, rank, dim), name);
}

/* a layer of a transformer, forward and back, in bf16 with f32 variables */
TEST(a_transformer_layer_and_its_gradients_match)
{
    enum { BATCH = 2, SEQ = 24, HEADS = 2, WIDTH = 32, D = HEADS * WIDTH };
    struct module_rig r = {.slice = "v5e", .relative = 4e-2, .absolute = 4e-2,
                           .uses_fractions = true};
    const int64_t x_dims[] = {BATCH, SEQ, D}, w_dims[] = {D, D}, d_dims[] = {D};
    int x = parameter("x", 3, x_dims, DTYPE_BF16), wrt[6], gradient[6], part[3], y, loss;
    struct shape heads = shape_make(DTYPE_BF16, 4, (int64_t[]){BATCH, SEQ, HEADS, WIDTH});
    struct err e;

    for (int i = 0; i < 4; i++)
        wrt[i] = parameter(arena_printf(&arena, "w%d", i), 2, w_dims, DTYPE_F32);
    for (int i = 4; i < 6; i++)
        wrt[i] = parameter(arena_printf(&arena, "s%d", i), 1, d_dims, DTYPE_F32);
    y = nn_layer_norm(&g, x, wrt[4], wrt[5], 1e-3);
    for (int i = 0; i < 3; i++) {
        int w = nn_scale(&g, graph_convert(&g, wrt[i], DTYPE_BF16), 0.25);

        part[i] = graph_reshape(&g, nn_dense(&g, y, w, 1), heads);
    }
    y = graph_reshape(&g, nn_attention(&g, part[0], part[1], part[2], true),
                      shape_make(DTYPE_BF16, 3, x_dims));
    y = nn_add(&g, x, nn_gelu(&g, nn_dense(&g, y, graph_convert(&g, wrt[3], DTYPE_BF16), 1),
                              true));
    loss = nn_mean(&g, y, 7);
    if (graph_grad(&g, loss, wrt, 6, gradient, &e))
        fail_msg("%s", e.msg);
    graph_output(&g, y, "y", -1);
    for (int i = 0; i < 6; i++)
        graph_output(&g, nn_scale(&g, gradient[i], 64), "gradient", -1);
    module_rig_check(&r, &g, 3);
    print_message("%d kernels, %lld cycles, worst %.3f\n", r.kernel_count, (long long)r.cycles,
                  r.worst);
}

/* two convolutions, pooling and a dense layer, forward and back: a step of training */
TEST(training_a_cnn_matches)
{
    struct module_rig r = {.slice = "v5e", .relative = 2e-2, .absolute = 2e-3,
                           .uses_fractions = true};
    struct nn_window same = {.padding = NN_SAME, .stride = {1, 1}};
    struct nn_window half = {.size = {2, 2}, .stride = {2, 2}};
    const int64_t x_dims[] = {8, 10, 10, 16}, k_dims[2][4] = {{3, 3, 16, 24}, {3, 3, 24, 8}};
    const int64_t w_dims[] = {2 * 2 * 8, 10}, label_dims[] = {8};
    int y = parameter("x", 4, x_dims, DTYPE_F32), wrt[3], gradient[3], loss;
    int labels = parameter("labels", 1, label_dims, DTYPE_S32);
    struct err e;

    for (int i = 0; i < 2; i++) {
        wrt[i] = parameter(i ? "k1" : "k0", 4, k_dims[i], DTYPE_F32);
        y = nn_relu(&g, nn_conv2d(&g, y, nn_scale(&g, wrt[i], 0.125), &same));
        y = nn_max_pool(&g, y, &half);
    }
    wrt[2] = parameter("w", 2, w_dims, DTYPE_F32);
    y = graph_reshape(&g, y, shape_make(DTYPE_F32, 2, (int64_t[]){8, 2 * 2 * 8}));
    loss = nn_cross_entropy(&g, nn_dense(&g, y, wrt[2], 1), labels);
    if (graph_grad(&g, loss, wrt, 3, gradient, &e))
        fail_msg("%s", e.msg);
    graph_output(&g, loss, "loss", -1);
    for (int i = 0; i < 3; i++) {
        int updated = nn_add(&g, wrt[i], nn_scale(&g, gradient[i], -0.1));

        graph_output(&g, updated, "updated", g.node[wrt[i]].parameter_index);
    }
    module_rig_check(&r, &g, 3);
    print_message("%d kernels, %lld cycles, worst %.3f\n", r.kernel_count, (long long)r.cycles,
                  r.worst);
}

/* convolution and batch norm, its statistics and offset with it; `wrt` gets the variables */
static int normed(int y, const char *const *name, const int64_t *kernel, int *wrt)
{
    const struct nn_window same = {.padding = NN_SAME, .stride = {1, 1}};

    wrt[0] = parameter(name[0], 4, kernel, DTYPE_F32);
    wrt[1] = parameter(name[1], 1, &kernel[3], DTYPE_F32);
    wrt[2] = parameter(name[2], 1, &kernel[3], DTYPE_F32);
    y = nn_conv2d(&g, y, graph_convert(&g, wrt[0], DTYPE_BF16), &same);
    return nn_batch_norm_training(&g, y, wrt[1], wrt[2], 0.01, false, 1).y;
}

/*
 * A block of a residual network of few features, pixels side by side, with batch norms whose sums
 * are made beside the convolutions: a step of training.
 */
TEST(training_a_residual_block_matches)
{
    static const char *const chips[] = {"v3", "v5e", "v6e"};
    static const char *const name[3][3] = {{"k0", "s0", "o0"}, {"k1", "s1", "o1"},
                                           {"k2", "s2", "o2"}};
    const int64_t x_dims[] = {32, 4, 24, 130};
    const int64_t k_dims[3][4] = {{1, 1, 130, 20}, {3, 3, 20, 20}, {1, 1, 20, 130}};

    for (size_t i = 0; i < COUNT_OF(chips); i++) {
        struct module_rig r = {.slice = chips[i], .relative = 3e-2, .absolute = 2e-2,
                               .uses_fractions = true};
        int x = graph_convert(&g, parameter("x", 4, x_dims, DTYPE_F32), DTYPE_BF16), y = x;
        int wrt[9], gradient[9], loss;
        struct err e;

        for (int k = 0; k < 3; k++) {
            y = normed(y, name[k], k_dims[k], &wrt[3 * k]);
            if (k < 2)
                y = nn_relu(&g, y);
        }
        y = graph_convert(&g, nn_relu(&g, nn_add(&g, y, x)), DTYPE_F32);
        loss = nn_scale(&g, nn_mean(&g, graph_binary(&g, HLO_MULTIPLY, y, y), 15), 50);
        if (graph_grad(&g, loss, wrt, 9, gradient, &e))
            fail_msg("%s", e.msg);
        graph_output(&g, loss, "loss", -1);
        for (int k = 0; k < 9; k++)
            graph_output(&g, gradient[k], "gradient", -1);
        module_rig_check(&r, &g, 3);
        print_message("%s: %d kernels, %lld cycles, worst %.3f\n", chips[i], r.kernel_count,
                      (long long)r.cycles, r.worst);
        one_graph_again();
    }
}

/* six values that are read twice, with much in between: they wait in HBM on a v3 */
static void build_waiting_values(void)
{
    const int64_t dims[] = {64, 256};
    int x = parameter("x", 2, dims, DTYPE_F32), waiting[6];

    for (int i = 0; i < 6; i++) {
        waiting[i] = graph_binary(&g, HLO_MULTIPLY, nn_shift(&g, x, i), nn_shift(&g, x, -i));
        graph_output(&g, graph_reduce(&g, REDUCE_ADD, graph_reverse(&g, waiting[i], DIMS(0), 1),
                                      1), "sum", -1);
    }
    for (int i = 0; i < 6; i++)
        graph_output(&g, graph_reduce(&g, REDUCE_MAX, graph_reverse(&g, waiting[i], DIMS(1), 1),
                                      1), "most", -1);
}

TEST(values_are_made_again_where_memory_is_short)
{
    struct module_rig r = {.slice = "v3-1"};
    int64_t used;

    build_waiting_values();
    module_rig_check(&r, &g, 1);
    assert_int_equal(r.remat_count, 0);
    used = r.hbm_used_bytes;
    r.hbm_bytes = used - 64 * 1024;
    module_rig_check(&r, &g, 1);
    assert_true(r.remat_count > 0);
    assert_true(r.hbm_used_bytes < used);
}

/* two results of a kernel each, of a product that nobody else reads */
static void build_waiting_products(void)
{
    const int64_t dims[] = {128, 256}, square[] = {256, 256};
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {1}, .rhs_contract = {0}};
    int x = parameter("x", 2, dims, DTYPE_BF16), late[8];

    for (int i = 0; i < 4; i++) {
        int w = parameter(arena_printf(&arena, "w.%d", i), 2, square, DTYPE_BF16), y;

        y = graph_dot_general(&g, x, w, &dot, DTYPE_F32, PRECISION_DEFAULT);
        late[2 * i] = nn_multiply(&g, y, y);
        late[2 * i + 1] = graph_unary(&g, HLO_NEGATE, late[2 * i]);
        for (int k = 0; k < 2; k++)
            graph_output(&g, graph_reduce(&g, REDUCE_ADD, graph_reverse(&g, late[2 * i + k],
                                          DIMS(0), 1), 1), "sum", -1);
    }
    for (int i = 0; i < 8; i++)
        graph_output(&g, graph_reduce(&g, REDUCE_MAX, graph_reverse(&g, late[i], DIMS(1), 1), 1),
                     "most", -1);
}

TEST(products_are_made_again_where_nothing_else_is_left)
{
    struct module_rig r = {.slice = "v3-1"};
    int64_t used;

    build_waiting_products();
    module_rig_check(&r, &g, 1);
    assert_int_equal(r.remat_count, 0);
    used = r.hbm_used_bytes;
    r.hbm_bytes = used - 128 * 1024;
    module_rig_check(&r, &g, 1);
    assert_true(r.remat_count > 0);
    assert_true(r.hbm_used_bytes < used);
}

TEST(too_little_memory_is_refused_with_both_figures)
{
    struct module_rig r = {.slice = "v3-1", .hbm_bytes = 300 * 1024, .may_refuse = true};

    build_waiting_values();
    module_rig_check(&r, &g, 1);
    assert_non_null(strstr(r.refusal, "arrays that live at the same time need "));
    assert_non_null(strstr(r.refusal, " of HBM, a core has 300 KiB"));
}

/* the second product's weights come while the first runs; what is between them never leaves */
TEST(operands_are_fetched_ahead_and_results_stay)
{
    const int64_t x_dims[] = {512, 512};
    struct module_rig r = {.slice = "v5e", .absolute = 1e-3, .relative = 1e-3};
    int x = parameter("x", 2, x_dims, DTYPE_F32), w = parameter("w", 2, x_dims, DTYPE_F32);
    int v = parameter("v", 2, x_dims, DTYPE_F32);
    int y = nn_relu(&g, graph_dot(&g, x, w, 1, 0, PRECISION_DEFAULT));
    int64_t alone;

    graph_output(&g, y, "y", -1);
    module_rig_check(&r, &g, 1);
    alone = r.cycles;
    assert_int_equal(r.prefetch_count, 2);
    g.output_count = 0;
    graph_output(&g, graph_dot(&g, y, v, 1, 0, PRECISION_DEFAULT), "z", -1);
    module_rig_check(&r, &g, 1);
    assert_int_equal(r.prefetch_count, 3);
    assert_int_equal(r.resident_count, 1);
    assert_true(r.cycles < 2 * alone);
    r.slice = "v3-1";                   /* where VMEM is for windows only */
    module_rig_check(&r, &g, 1);
    assert_int_equal(r.prefetch_count + r.resident_count, 0);
    r.slice = "v5e";
    r.codegen = CODEGEN_BEST;           /* the first product reads its operands from HBM */
    module_rig_check(&r, &g, 1);
    assert_int_equal(r.prefetch_count, 1);
    assert_int_equal(r.resident_count, 1);
}

/* the second product turns squares of 128 rows, of which y has 16; v comes meanwhile */
TEST(nothing_is_fetched_to_where_a_kernel_reads_behind_its_array)
{
    const int64_t x_dims[] = {16, 64}, w_dims[] = {64, 512}, v_dims[] = {512, 2048};
    struct module_rig r = {.slice = "v5e", .absolute = 1e-2, .relative = 1e-2,
                           .check_races = true};
    int x = parameter("x", 2, x_dims, DTYPE_F32), w = parameter("w", 2, w_dims, DTYPE_F32);
    int v = parameter("v", 2, v_dims, DTYPE_F32);
    int y = nn_relu(&g, graph_dot(&g, x, w, 1, 0, PRECISION_DEFAULT));

    graph_output(&g, graph_dot(&g, y, y, 0, 0, PRECISION_DEFAULT), "squares", -1);
    graph_output(&g, graph_dot(&g, y, v, 1, 0, PRECISION_DEFAULT), "z", -1);
    module_rig_check(&r, &g, 1);
    assert_int_equal(r.prefetch_count, 3);
    assert_int_equal(r.resident_count, 1);
}

/* only what something hides is copied beforehand: the second product's right operand */
TEST(matrices_of_a_batch_stream)
{
    const int64_t dims[] = {8, 64, 128};
    struct graph_dot rows = {.batch_count = 1, .contract_count = 1, .lhs_contract = {2},
                             .rhs_contract = {2}};
    struct graph_dot columns = {.batch_count = 1, .contract_count = 1, .lhs_contract = {2},
                                .rhs_contract = {1}};
    struct module_rig r = {.slice = "v6e", .absolute = 1e-2, .relative = 1e-2};
    int q = parameter("q", 3, dims, DTYPE_BF16), k = parameter("k", 3, dims, DTYPE_BF16);
    int v = parameter("v", 3, dims, DTYPE_BF16);
    int s = graph_dot_general(&g, q, k, &rows, DTYPE_BF16, PRECISION_DEFAULT);

    graph_output(&g, graph_dot_general(&g, s, v, &columns, DTYPE_F32, PRECISION_DEFAULT), "o", -1);
    module_rig_check(&r, &g, 1);
    assert_int_equal(r.prefetch_count, 1);
    assert_int_equal(r.resident_count, 1);
}

/* two that change places, one that is read before it is overwritten */
TEST(outputs_take_their_parameters_places_or_are_copied_there)
{
    const int64_t dims[] = {40, 130};
    struct module_rig r = {.slice = "v5e", .launches = 3};
    int a = parameter("a", 2, dims, DTYPE_F32), b = parameter("b", 2, dims, DTYPE_F32);
    int c = parameter("c", 2, dims, DTYPE_F32);

    graph_output(&g, b, "a is b", 0);
    graph_output(&g, a, "b is a", 1);
    graph_output(&g, nn_scale(&g, nn_add(&g, c, a), 0.5), "c", 2);
    graph_output(&g, graph_reverse(&g, c, DIMS(0), 1), "c before", -1);
    graph_output(&g, a, "a before", -1);
    module_rig_check(&r, &g, 1);
}

/* a reshape that moves nothing does not make it another place; one that moves is done */
TEST(outputs_take_their_places_in_another_shape)
{
    static const struct { int64_t middle, rows; int kernels; } rows[] = {{32, 128, 1}, {5, 20, 3}};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const int64_t dims[] = {4, rows[i].middle, 128}, flat[] = {rows[i].rows, 128};
        struct module_rig r = {.slice = "v5e", .launches = 3};
        int m = parameter("m", 3, dims, DTYPE_F32), x = parameter("x", 2, flat, DTYPE_F32);
        int sum = nn_add(&g, graph_reshape(&g, m, g.node[x].shape), nn_scale(&g, x, 0.25));

        graph_output(&g, graph_reshape(&g, sum, g.node[m].shape), "m", 0);
        graph_output(&g, nn_scale(&g, sum, 3), "three", -1);
        module_rig_check(&r, &g, 1);
        assert_int_equal(r.kernel_count, rows[i].kernels);
        one_graph_again();
    }
}

/* a scalar that the same kernel has summed up, beside arrays of one and of two registers a group */
TEST(scalars_beside_arrays_match)
{
    static const enum graph_dtype types[] = {DTYPE_F32, DTYPE_BF16, DTYPE_S8};

    for (size_t i = 0; i < COUNT_OF(types); i++) {
        struct shape shape = shape_make(types[i], 2, (int64_t[]){33, 16});
        struct module_rig r = {.slice = "v5e"};
        int low = graph_parameter(&g, shape_scalar(types[i]), arena_printf(&arena, "low.%zu", i));
        int x = graph_parameter(&g, shape, arena_printf(&arena, "x.%zu", i));
        int high = graph_reduce(&g, REDUCE_MAX, x, 3);
        int clamped = graph_clamp(&g, low, x, high);

        graph_output(&g, clamped, "clamped", -1);
        graph_output(&g, graph_select(&g, graph_compare(&g, COMPARE_GT, high, low), x, clamped),
                     "chosen", -1);
        module_rig_check(&r, &g, 5 + i);
    }
}

/* behind a product: a dimension that it does not have, between its batches and its rows */
TEST(products_are_spread_over_new_dimensions)
{
    static const int64_t sizes[][5] = {{3, 9, 9, 9, 9}, {3, 9, 9, 9, 1}, {3, 16, 20, 9, 2},
                                       {1, 9, 9, 9, 4}, {2, 64, 128, 130, 3}};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        const int64_t b = sizes[i][0], m = sizes[i][1], k = sizes[i][2], n = sizes[i][3];
        struct module_rig r = {.slice = "v5e"};
        struct graph_dot dot = {.batch_count = 1, .contract_count = 1, .lhs_contract = {2},
                                .rhs_contract = {1}};
        int y = graph_dot_general(&g, graph_parameter(&g, F32(b, m, k), "x"),
                                  graph_parameter(&g, F32(b, k, n), "w"), &dot, DTYPE_F32,
                                  PRECISION_DEFAULT);

        y = graph_broadcast(&g, y, F32(b, sizes[i][4], m, n), DIMS(0, 2, 3));
        graph_output(&g, y, "spread", -1);
        module_rig_check(&r, &g, i + 1);
        one_graph_again();
    }
}

/* which of two dimensions of 31 a reduction has left over is not told by its result's sizes */
TEST(dimensions_of_one_size_are_told_apart)
{
    struct module_rig r = {.slice = "v5e"};
    int x = graph_parameter(&g, F32(5, 31, 31), "x"), y = graph_parameter(&g, F32(5, 31, 31), "y");

    graph_output(&g, graph_reduce(&g, REDUCE_ARGMAX, nn_add(&g, x, y), 2), "first", -1);
    graph_output(&g, graph_broadcast(&g, y, F32(5, 1, 31, 31), DIMS(0, 2, 3)), "spread", -1);
    module_rig_check(&r, &g, 7);
}

/* three parts of each tile do not fit the smallest vector memory, transposed or not */
TEST(precise_products_fit_little_memory)
{
    static const struct { int64_t m, k, n; int of_lhs, of_rhs; } cases[] = {
        {128, 48, 8, 0, 0}, {8, 48, 128, 0, 1}, {3, 48, 8, 0, 0}, {130, 300, 70, 0, 1}};

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (int high = 0; high < 2; high++) {
            const int64_t m = cases[i].m, k = cases[i].k, n = cases[i].n;
            struct graph_dot dot = {.contract_count = 1, .lhs_contract = {cases[i].of_lhs},
                                    .rhs_contract = {cases[i].of_rhs}};
            struct module_rig r = {.slice = "tiny", .uses_fractions = true,
                                   .absolute = high ? 1e-3 : 4e-5};
            int x = graph_parameter(&g, dot.lhs_contract[0] ? F32(m, k) : F32(k, m), "x");
            int y = graph_parameter(&g, dot.rhs_contract[0] ? F32(n, k) : F32(k, n), "y");

            graph_output(&g, graph_dot_general(&g, x, y, &dot, DTYPE_F32,
                                               high ? PRECISION_HIGH : PRECISION_HIGHEST),
                         "product", -1);
            module_rig_check(&r, &g, i + 1);
            one_graph_again();
        }
}

/* columns of narrow elements: as words they take half or a quarter of the vector memory */
TEST(narrow_elements_are_fetched_by_index_through_little_memory)
{
    static const enum graph_dtype types[] = {DTYPE_BF16, DTYPE_S8, DTYPE_U8};

    for (size_t i = 0; i < COUNT_OF(types); i++) {
        struct graph_gather columns = {.offset_count = 1, .offset_dims = {0}, .collapsed_count = 1,
                                       .collapsed_dims = {1}, .map_count = 1,
                                       .start_index_map = {1}, .index_vector_dim = 1,
                                       .slice_sizes = {128, 1}};
        struct module_rig r = {.slice = "tiny"};
        int x = parameter("x", 2, (int64_t[]){128, 129}, types[i]);
        int which = parameter("which", 2, (int64_t[]){7, 1}, DTYPE_S32);
        int at = parameter("at", 0, NULL, DTYPE_S32);

        graph_output(&g, graph_gather(&g, x, which, &columns), "columns", -1);
        graph_output(&g, graph_dynamic_slice(&g, x, (int[]){at, at}, (int64_t[]){100, 1}), "part",
                     -1);
        module_rig_check(&r, &g, 1 + i);
        one_graph_again();
    }
}

/* groups of images share their features, which are cut where there are more than fit */
TEST(groups_of_images_of_many_features_fit_little_memory)
{
    const struct graph_window w[2] = {{3, 1, 0, 0, 1, 2, false}, {2, 1, 0, 0, 1, 1, false}};
    const struct graph_conv conv = {.spatial_count = 2, .in_spatial = {1, 2}, .in_feature = 3,
                                    .kernel_spatial = {0, 1}, .kernel_in = 2, .kernel_out = 3,
                                    .out_spatial = {1, 2}, .out_feature = 3,
                                    .feature_groups = 1, .batch_groups = 4};
    struct module_rig r = {.slice = "tiny"};
    int x = graph_parameter(&g, F32(12, 9, 6, 129), "x");
    int k = graph_parameter(&g, F32(3, 2, 129, 12), "k");

    graph_output(&g, graph_convolution(&g, x, k, w, &conv, DTYPE_F32, PRECISION_DEFAULT), "y", -1);
    module_rig_check(&r, &g, 1);
}

/* three channels: row-major, 125 of 128 lanes would be padding */
TEST(images_take_no_more_than_their_first_layer_needs)
{
    struct nn_window half = {.padding = NN_SAME, .stride = {2, 2}};
    struct module_rig r = {.slice = "v3-1"};
    int x = graph_parameter(&g, F32(64, 30, 34, 3), "x");
    int k = graph_parameter(&g, F32(5, 3, 3, 9), "k");

    graph_output(&g, nn_relu(&g, nn_conv2d(&g, x, k, &half)), "y", -1);
    module_rig_check(&r, &g, 1);
    assert_in_range(r.hbm_used_bytes, 1, 64 * 30 * 5 * 4096 - 1);
}

/* of two equal elements the one that comes first in the operand is taken, however it lies */
TEST(pooling_behind_a_convolution_takes_the_first_of_equals)
{
    const struct graph_window plain = {1, 1, 0, 0, 1, 1, false};
    struct graph_window one[2] = {plain, plain}, w[4] = {plain, plain, plain, plain};
    struct graph_conv conv = {.spatial_count = 2, .in_spatial = {1, 3}, .in_feature = 2,
                              .kernel_spatial = {0, 1}, .kernel_in = 2, .kernel_out = 3,
                              .out_spatial = {3, 1}, .out_batch = 0, .out_feature = 2,
                              .feature_groups = 1, .batch_groups = 1};
    struct module_rig r = {.slice = "v5e"};
    int x = graph_parameter(&g, F32(5, 8, 4, 6), "x");
    int k = graph_parameter(&g, F32(1, 1, 4, 9), "k");
    int y = graph_convolution(&g, x, k, one, &conv, DTYPE_F32, PRECISION_DEFAULT);

    for (int d = 1; d < 4; d += 2)
        w[d] = (struct graph_window){2, 2, 0, 0, 1, 1, false};
    y = graph_clamp(&g, graph_splat(&g, y, -1), y, graph_splat(&g, y, 1));
    y = graph_select_and_scatter(&g, COMPARE_GE, y, graph_parameter(&g, F32(5, 3, 9, 4), "s"), w);
    graph_output(&g, y, "y", -1);
    module_rig_check(&r, &g, 1);
}

/* a loop over blocks of results would begin anew in each block */
TEST(slices_of_a_product_begin_where_they_say)
{
    static const int64_t start[][3] = {{0, 0, 0}, {2, 0, 0}, {0, 8, 0}, {0, 16, 128}};
    static const int64_t limit[][3] = {{3, 30, 200}, {5, 40, 300}, {5, 40, 300}, {5, 40, 300}};
    static const int64_t stride[][3] = {{1, 1, 1}, {1, 1, 1}, {2, 1, 1}, {1, 1, 1}};
    struct graph_dot batch = {.batch_count = 1, .contract_count = 1, .lhs_contract = {2},
                              .rhs_contract = {1}};
    struct module_rig r = {.slice = "v5e", .relative = 1e-5, .absolute = 1e-5};
    int x = graph_parameter(&g, shape_make(DTYPE_BF16, 3, (int64_t[]){5, 40, 70}), "x");
    int y = graph_parameter(&g, shape_make(DTYPE_BF16, 3, (int64_t[]){5, 70, 300}), "y");

    for (int i = 0; i < 4; i++) {
        int all = graph_dot_general(&g, x, y, &batch, DTYPE_F32, PRECISION_DEFAULT);

        graph_output(&g, graph_slice(&g, all, start[i], limit[i], stride[i]), "part", -1);
        module_rig_check(&r, &g, 1);
        g.output_count = 0;
    }
}

/* the last window's stride ends behind the array, where another result lies */
TEST(scatters_of_windows_below_their_stride_stay_in_their_result)
{
    const struct graph_window w[4] = {{1, 2, 2, 1, 1, 1, false}, {1, 2, -1, 1, 1, 1, false},
                                      {1, 1, 0, 0, 1, 1, false}, {1, 1, 0, 0, 1, 1, false}};
    struct module_rig r = {.slice = "v5e"};
    int x = graph_parameter(&g, F32(9, 4, 129, 9), "x");
    int source = graph_parameter(&g, F32(6, 2, 129, 9), "source");

    graph_output(&g, graph_unary(&g, HLO_IS_FINITE, nn_multiply(&g, x, x)), "finite", -1);
    graph_output(&g, graph_select_and_scatter(&g, COMPARE_LE, x, source, w), "y", -1);
    module_rig_check(&r, &g, 1);
}

/* s8 and u8, by one convolution of bf16, or, where sums outgrow f32, by four */
/*
 * Where input and window are dilated alike every other output meets holes alone: zeros, in a kernel
 * that takes the window tap by tap, too. The second result finds what the first left in memory.
 */
TEST(outputs_that_no_tap_meets_are_zero)
{
    const struct graph_window w[2] = {
        {.size = 4, .stride = 1, .pad_high = 1, .base_dilation = 1, .window_dilation = 1},
        {.size = 3, .stride = 1, .pad_high = 1, .base_dilation = 2, .window_dilation = 2}};
    const struct graph_conv conv = {.spatial_count = 2, .in_spatial = {0, 1}, .in_feature = 2,
                                    .in_batch = 3, .kernel_spatial = {0, 1}, .kernel_in = 2,
                                    .kernel_out = 3, .out_spatial = {0, 1}, .out_batch = 2,
                                    .out_feature = 3, .feature_groups = 1, .batch_groups = 3};
    static const char *const chips[] = {"v5e", "v3-1", "v6e"};

    for (size_t i = 0; i < COUNT_OF(chips); i++) {
        struct module_rig r = {.slice = chips[i], .absolute = 1e-5, .relative = 1e-5};
        struct shape image = shape_make(DTYPE_BF16, 4, (int64_t[]){8, 3, 128, 12});
        struct shape kernel = shape_make(DTYPE_BF16, 4, (int64_t[]){4, 3, 128, 126});
        int x = graph_parameter(&g, image, "x"), first = graph_parameter(&g, kernel, "first");
        int second = graph_parameter(&g, kernel, "second");

        first = graph_convolution(&g, x, first, w, &conv, DTYPE_F32, PRECISION_DEFAULT);
        second = graph_convolution(&g, x, second, w, &conv, DTYPE_F32, PRECISION_DEFAULT);
        graph_output(&g, graph_binary(&g, HLO_ADD, first, second), "y", -1);
        module_rig_check(&r, &g, 21);
        one_graph_again();
    }
}

TEST(convolutions_of_bytes_match)
{
    static const struct { enum graph_dtype dtype; int64_t features; } list[] = {
        {DTYPE_S8, 20}, {DTYPE_U8, 7}, {DTYPE_U8, 130}, {DTYPE_S8, 300}};

    for (size_t i = 0; i < COUNT_OF(list); i++) {
        int64_t features = list[i].features;
        const struct graph_window w[2] = {{3, 1, 1, 1, 1, 1, false}, {3, 1, 1, 1, 1, 1, false}};
        const struct graph_conv conv = {.spatial_count = 2, .in_spatial = {1, 2}, .in_feature = 3,
                                        .kernel_spatial = {0, 1}, .kernel_in = 2, .kernel_out = 3,
                                        .out_spatial = {1, 2}, .out_feature = 3,
                                        .feature_groups = 1, .batch_groups = 1};
        struct module_rig r = {.slice = i % 2 ? "v3-1" : "v5e"};
        int x = parameter("x", 4, (int64_t[]){3, 5, 4, features}, DTYPE_S32);
        int k = parameter("k", 4, (int64_t[]){3, 3, features, 9}, DTYPE_S32);

        /* about all that a byte holds */
        x = graph_binary(&g, HLO_MULTIPLY, x, graph_splat(&g, x, 42));
        k = graph_binary(&g, HLO_MULTIPLY, k, graph_splat(&g, k, 42));
        x = graph_convert(&g, x, list[i].dtype);
        k = graph_convert(&g, k, list[i].dtype);
        graph_output(&g, graph_convolution(&g, x, k, w, &conv, DTYPE_S32, PRECISION_DEFAULT), "y",
                     -1);
        module_rig_check(&r, &g, 1 + i);
        one_graph_again();
    }
}

/*
 * Attention with scores of f32: they are stored once, and their maxima and sums; weights, which
 * the second product computes as it reads the scores, never.
 */
TEST(weights_of_attention_are_not_stored)
{
    const int64_t heads = 8, positions = 512, size = 128;
    struct graph_dot scores = {.batch_count = 1, .lhs_batch = {0}, .rhs_batch = {0},
                               .contract_count = 1, .lhs_contract = {2}, .rhs_contract = {2}};
    struct graph_dot sum = {.batch_count = 1, .lhs_batch = {0}, .rhs_batch = {0},
                            .contract_count = 1, .lhs_contract = {2}, .rhs_contract = {1}};
    struct shape narrow = shape_make(DTYPE_BF16, 3, (int64_t[]){heads, positions, size}), square;
    struct module_rig r = {.slice = "v3-1", .relative = 2e-2, .absolute = 2e-2,
                           .uses_fractions = true, .check_races = true};
    int q = graph_parameter(&g, narrow, "q"), k = graph_parameter(&g, narrow, "k");
    int v = graph_parameter(&g, narrow, "v"), x, all;

    x = nn_scale(&g, graph_dot_general(&g, q, k, &scores, DTYPE_F32, PRECISION_DEFAULT), 0.1);
    square = g.node[x].shape;           /* what is added moves the nodes */
    all = graph_broadcast(&g, graph_reduce(&g, REDUCE_MAX, x, 4), square, DIMS(0, 1));
    x = graph_unary(&g, HLO_EXP, graph_binary(&g, HLO_SUBTRACT, x, all));
    all = graph_broadcast(&g, graph_reduce(&g, REDUCE_ADD, x, 4), square, DIMS(0, 1));
    x = graph_convert(&g, graph_binary(&g, HLO_DIVIDE, x, all), DTYPE_BF16);
    graph_output(&g, graph_dot_general(&g, x, v, &sum, DTYPE_BF16, PRECISION_DEFAULT), "o", -1);
    module_rig_check(&r, &g, 1);
    assert_int_equal(r.kernel_count, 3);
    assert_in_range(r.hbm_used_bytes, 1, heads * positions * (4 * size * 2 + positions * 4) + 65536);
}

/* its operand is turned before it and its result rounded behind it, each by a kernel, all in HBM */
TEST(a_product_that_is_alone_has_nothing_else_in_its_kernel)
{
    struct graph_dot dot = {.batch_count = 1, .contract_count = 1, .lhs_contract = {2},
                            .rhs_contract = {1}};
    const int64_t groups = 2, rows = 256, k = 128, n = 384;

    for (int is_alone = 0; is_alone < 2; is_alone++) {
        struct module_rig r = {.slice = "v5e-1", .relative = 1e-2, .absolute = 1e-2,
                               .uses_fractions = true};
        int64_t left[] = {groups, rows, k}, right[] = {groups, n, k};
        int x = graph_parameter(&g, shape_make(DTYPE_BF16, 3, left), "x");
        int y = graph_parameter(&g, shape_make(DTYPE_BF16, 3, right), "y");

        dot.is_alone = is_alone;
        y = graph_transpose(&g, y, DIMS(0, 2, 1));
        y = graph_dot_general(&g, x, y, &dot, DTYPE_F32, PRECISION_DEFAULT);
        graph_output(&g, graph_convert(&g, y, DTYPE_BF16), "z", -1);
        module_rig_check(&r, &g, 1);
        assert_int_equal(r.kernel_count, is_alone ? 3 : 1);
        assert_in_range(r.hbm_used_bytes, is_alone ? 6 * groups * rows * n : 0,
                        is_alone ? 1 << 30 : groups * (2 * k * (rows + n) + 2 * rows * n) + 65536);
        one_graph_again();
    }
}

/* maxima and sums along lanes lie along lanes themselves: each core stores those of its batches */
TEST(sums_along_lanes_are_made_by_both_cores)
{
    int64_t cycles[2];

    for (int cores = 1; cores <= 2; cores++) {
        struct module_rig r = {.slice = cores == 2 ? "v5p-2" : "v5p-1", .megacore = cores == 2,
                               .relative = 1e-2, .absolute = 1e-3, .check_races = true};
        int x = graph_parameter(&g, F32(7, 16, 128, 256), "x"), high, power, sum;

        high = graph_reduce(&g, REDUCE_MAX, x, 8);
        power = graph_broadcast(&g, high, g.node[x].shape, DIMS(0, 1, 2));
        power = graph_unary(&g, HLO_EXP, graph_binary(&g, HLO_SUBTRACT, x, power));
        sum = graph_reduce(&g, REDUCE_ADD, power, 8);
        power = graph_binary(&g, HLO_DIVIDE, power,
                             graph_broadcast(&g, sum, g.node[x].shape, DIMS(0, 1, 2)));
        graph_output(&g, graph_convert(&g, power, DTYPE_BF16), "weights", -1);
        graph_output(&g, high, "maximum", -1);
        graph_output(&g, sum, "sum", -1);
        module_rig_check(&r, &g, 1);
        assert_int_equal(r.kernel_count, 1);
        cycles[cores - 1] = r.cycles;
        one_graph_again();
    }
    assert_in_range(cycles[1], 1, cycles[0] * 3 / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(moves_in_a_row_match),
        RUN(training_an_mlp_matches),
        RUN(training_a_cnn_matches),
        RUN(training_a_residual_block_matches),
        RUN(a_transformer_layer_and_its_gradients_match),
        RUN(values_are_made_again_where_memory_is_short),
        RUN(products_are_made_again_where_nothing_else_is_left),
        RUN(too_little_memory_is_refused_with_both_figures),
        RUN(operands_are_fetched_ahead_and_results_stay),
        RUN(nothing_is_fetched_to_where_a_kernel_reads_behind_its_array),
        RUN(matrices_of_a_batch_stream),
        RUN(outputs_take_their_parameters_places_or_are_copied_there),
        RUN(outputs_take_their_places_in_another_shape),
        RUN(scalars_beside_arrays_match),
        RUN(products_are_spread_over_new_dimensions),
        RUN(dimensions_of_one_size_are_told_apart),
        RUN(precise_products_fit_little_memory),
        RUN(narrow_elements_are_fetched_by_index_through_little_memory),
        RUN(groups_of_images_of_many_features_fit_little_memory),
        RUN(images_take_no_more_than_their_first_layer_needs),
        RUN(pooling_behind_a_convolution_takes_the_first_of_equals),
        RUN(slices_of_a_product_begin_where_they_say),
        RUN(scatters_of_windows_below_their_stride_stay_in_their_result),
        RUN(outputs_that_no_tap_meets_are_zero),
        RUN(convolutions_of_bytes_match),
        RUN(weights_of_attention_are_not_stored),
        RUN(a_product_that_is_alone_has_nothing_else_in_its_kernel),
        RUN(sums_along_lanes_are_made_by_both_cores),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
