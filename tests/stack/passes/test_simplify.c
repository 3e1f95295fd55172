/* Does a graph still compute the same when it has been simplified, and has it become simpler? */
#include "base/units.h"
#include "stack/interp/interp.h"
#include "stack/nn/nn.h"
#include "stack/passes/simplify/simplify.h"
#include "tests/rigs/pass_rig.h"
#include "tests/test.h"

TEST(operations_on_constants_are_done)
{
    int a = graph_constant(&graph, F32(3, 5), 2), b = graph_splat(&graph, a, 7);
    int x = graph_parameter(&graph, F32(3, 5), "x");

    simplify(graph_binary(&graph, HLO_ADD, x, graph_unary(&graph, HLO_NEGATE,
                          graph_binary(&graph, HLO_MULTIPLY, a, b))));
    assert_int_equal(count_of(&graph, HLO_MULTIPLY) + count_of(&graph, HLO_NEGATE), 0);
    assert_int_equal(count_of(&graph, HLO_CONSTANT), 1);
}

TEST(adding_nothing_disappears)
{
    int x = graph_parameter(&graph, F32(4, 9), "x"), zero = graph_splat(&graph, x, 0);
    int one = graph_splat(&graph, x, 1), y = graph_binary(&graph, HLO_ADD, zero, x);

    y = graph_binary(&graph, HLO_DIVIDE, graph_binary(&graph, HLO_MULTIPLY, y, one), one);
    simplify(graph_binary(&graph, HLO_SUBTRACT, y, zero));
    assert_int_equal(result_node()->op, HLO_PARAMETER);
}

TEST(subtracting_from_nothing_stays)
{
    int x = graph_parameter(&graph, F32(4, 9), "x");

    simplify(graph_binary(&graph, HLO_SUBTRACT, graph_splat(&graph, x, 0), x));
    assert_int_equal(result_node()->op, HLO_SUBTRACT);
}

TEST(what_is_widened_and_turned_is_turned_first)
{
    int x = graph_parameter(&graph, shape_make(DTYPE_BF16, 2, (const int64_t[]){4, 9}), "x");

    simplify(graph_transpose(&graph, graph_convert(&graph, x, DTYPE_F32), DIMS(1, 0)));
    assert_int_equal(result_node()->op, HLO_CONVERT);
    assert_int_equal(graph.node[result_node()->operand[0]].op, HLO_TRANSPOSE);
}

TEST(an_iota_of_other_dimensions_is_an_iota)
{
    static const int64_t wide[] = {1, 6, 5, 1}, narrow[] = {2, 3, 5}, folded[] = {6, 5};
    int x = graph_iota(&graph, shape_make(DTYPE_S32, 4, wide), 2);
    int y = graph_iota(&graph, shape_make(DTYPE_S32, 3, narrow), 1);

    x = graph_reshape(&graph, x, shape_make(DTYPE_S32, 3, narrow));
    graph_output(&graph, graph_reshape(&graph, y, shape_make(DTYPE_S32, 2, folded)), "folded", -1);
    simplify(x);
    assert_int_equal(count_of(&graph, HLO_RESHAPE), 1);         /* of the one that is cut off */
}

TEST(a_function_of_a_vector_is_not_of_a_column)
{
    int x = graph_parameter(&graph, F32(256), "x"), y = graph_parameter(&graph, F32(3, 5), "y");

    x = graph_unary(&graph, HLO_NEGATE, graph_broadcast(&graph, x, F32(256, 1), DIMS(0)));
    y = graph_unary(&graph, HLO_NEGATE, graph_broadcast(&graph, y, F32(3, 1, 5), DIMS(0, 2)));
    graph_output(&graph, graph_reshape(&graph, y, F32(5, 3)), "as others", -1);
    simplify(graph_reshape(&graph, x, F32(256)));
    y = graph.output[1].node;
    assert_int_equal(graph.node[y].op, HLO_NEGATE);
    assert_int_equal(graph.node[graph.node[y].operand[0]].op, HLO_PARAMETER);
}

TEST(division_by_a_power_of_two_multiplies)
{
    int x = graph_parameter(&graph, F32(4, 9), "x");

    graph_output(&graph, graph_binary(&graph, HLO_DIVIDE, x, graph_splat(&graph, x, 3)), "3", -1);
    simplify(graph_binary(&graph, HLO_DIVIDE, x, graph_splat(&graph, x, 8)));
    assert_int_equal(count_of(&graph, HLO_DIVIDE), 1);
    assert_int_equal(count_of(&graph, HLO_MULTIPLY), 1);
}

TEST(a_conversion_back_disappears_only_if_exact)
{
    int x = graph_parameter(&graph, shape_make(DTYPE_BF16, 1, (int64_t[]){9}), "x");
    int y = graph_parameter(&graph, F32(9), "y");

    graph_output(&graph, graph_convert(&graph, graph_convert(&graph, y, DTYPE_BF16), DTYPE_F32),
                 "rounded", -1);
    simplify(graph_convert(&graph, graph_convert(&graph, x, DTYPE_F32), DTYPE_BF16));
    assert_int_equal(count_of(&graph, HLO_CONVERT), 2);
}

/* integers that become integers wrap, floats that do saturate: -1 is 255 as u8, -1.0 is 0 */
TEST(a_conversion_by_way_of_floats_keeps_its_saturation)
{
    static const struct { enum graph_dtype from, middle, to; int left; } cases[] = {
        {DTYPE_S8, DTYPE_BF16, DTYPE_U8, 2}, {DTYPE_S8, DTYPE_F32, DTYPE_U32, 2},
        {DTYPE_U8, DTYPE_F32, DTYPE_S8, 2}, {DTYPE_S8, DTYPE_BF16, DTYPE_S32, 1},
        {DTYPE_S8, DTYPE_S32, DTYPE_U8, 1}, {DTYPE_BF16, DTYPE_F32, DTYPE_U8, 1},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct shape s = shape_make(cases[i].from, 1, (int64_t[]){33});
        int x = graph_parameter(&graph, s, "x");
        struct interp_value in = {.data = arena_array(&arena, 33, 4)}, before, after;
        struct err e;

        for (int k = 0; k < 33; k++)
            if (cases[i].from == DTYPE_BF16)
                ((float *)in.data)[k] = 16.0f * (float)(k - 16);
            else
                ((int32_t *)in.data)[k] = (cases[i].from == DTYPE_U8 ? 7 : 4) * k
                                          - (cases[i].from == DTYPE_S8 ? 64 : 0);
        x = graph_convert(&graph, graph_convert(&graph, x, cases[i].middle), cases[i].to);
        graph_output(&graph, x, "y", -1);
        assert_int_equal(interp_run(&graph, INTERP_DOT_F32, &in, &before, &arena, &e), 0);
        assert_int_equal(pass_simplify(&graph, &(struct pass_context){.chip = &v5e}, &e), 0);
        assert_int_equal(count_of(&graph, HLO_CONVERT), cases[i].left);
        assert_int_equal(interp_run(&graph, INTERP_DOT_F32, &in, &after, &arena, &e), 0);
        assert_memory_equal(after.data, before.data, 33 * 4);
        pass_rig_teardown(NULL);
        pass_rig_setup(NULL);
    }
}

/* as [1, 900] by [1, 900]: along rows each of its elements would be a tile row of its own */
TEST(a_vector_is_contracted_along_lanes)
{
    int x = graph_parameter(&graph, F32(900), "x"), y = graph_parameter(&graph, F32(900), "y");
    struct graph_dot dot = {.contract_count = 1};

    simplify(graph_dot_general(&graph, x, y, &dot, DTYPE_F32, PRECISION_DEFAULT));
    for (int i = 0; i < graph.node_count; i++)
        if (graph.node[i].op == HLO_DOT)
            for (int k = 0; k < 2; k++)
                assert_int_equal(graph.node[graph.node[i].operand[k]].shape.dim[1], 900);
    assert_int_equal(count_of(&graph, HLO_DOT), 1);
}

TEST(a_dynamic_slice_is_taken_before_a_transpose)
{
    int x = graph_parameter(&graph, F32(5, 6, 7), "x"), at[3];
    int64_t sizes[] = {2, 4, 3};

    for (int d = 0; d < 3; d++)
        at[d] = graph_parameter(&graph, shape_scalar(DTYPE_S32), arena_printf(&arena, "at%d", d));
    simplify(graph_dynamic_slice(&graph, graph_transpose(&graph, x, DIMS(2, 0, 1)), at, sizes));
    assert_int_equal(result_node()->op, HLO_TRANSPOSE);
    assert_int_equal(count_of(&graph, HLO_DYNAMIC_SLICE), 1);
}

TEST(chains_of_transposes_and_reshapes_become_one)
{
    int x = graph_parameter(&graph, F32(2, 3, 4), "x");
    int y = graph_transpose(&graph, graph_transpose(&graph, x, DIMS(1, 2, 0)), DIMS(2, 0, 1));

    y = graph_reshape(&graph, graph_reshape(&graph, y, F32(6, 4)), F32(3, 8));
    simplify(y);
    assert_int_equal(count_of(&graph, HLO_TRANSPOSE), 0);
    assert_int_equal(count_of(&graph, HLO_RESHAPE), 1);
}

TEST(transposed_and_reshaped_broadcasts_are_broadcasts)
{
    int x = graph_parameter(&graph, F32(4, 3), "x");
    int b = graph_broadcast(&graph, x, F32(4, 2, 3), DIMS(0, 2));

    b = graph_transpose(&graph, b, DIMS(1, 0, 2));
    simplify(graph_reshape(&graph, b, F32(2, 12)));
    assert_int_equal(result_node()->op, HLO_BROADCAST);
    assert_int_equal(count_of(&graph, HLO_TRANSPOSE), 0);
}

static int reshapes_of_f32(int64_t elems)
{
    int count = 0;

    for (int i = 0; i < graph.node_count; i++)
        count += graph.node[i].op == HLO_RESHAPE && graph.node[i].shape.dtype == DTYPE_F32
                 && shape_elems(&graph.node[i].shape) == elems;
    return count;
}

/* of what a norm's gradient takes of the forward pass nothing is kept that is made of less */
TEST(what_is_made_of_spread_and_widened_arrays_is_made_where_it_is_read)
{
    int x = graph_parameter(&graph, shape_make(DTYPE_BF16, 3, (int64_t[]){4, 16, 32}), "x");
    int mean = graph_parameter(&graph, F32(4, 16), "mean");
    int scale = graph_parameter(&graph, F32(32), "scale");
    int deviation = graph_parameter(&graph, F32(4, 16), "deviation");
    int wide = graph_convert(&graph, x, DTYPE_F32), less, factor;
    struct shape all = F32(4, 16, 32), flat = F32(64, 32);

    less = graph_binary(&graph, HLO_SUBTRACT, wide, graph_broadcast(&graph, mean, all, DIMS(0, 1)));
    factor = graph_binary(&graph, HLO_MULTIPLY, graph_broadcast(&graph, deviation, all, DIMS(0, 1)),
                          graph_broadcast(&graph, scale, all, DIMS(2)));
    graph_output(&graph, graph_reshape(&graph, less, flat), "less", -1);
    graph_output(&graph, graph_reshape(&graph, factor, flat), "factor", -1);
    /* a product of two arrays is one that is kept */
    graph_output(&graph, graph_reshape(&graph, graph_binary(&graph, HLO_MULTIPLY, less, wide), flat),
                 "of two", -1);
    simplify(graph_binary(&graph, HLO_MULTIPLY, less, factor));
    assert_int_equal(reshapes_of_f32(4 * 16 * 32), 1);
}

TEST(bias_of_a_product_of_three_dimensions_is_added_to_a_matrix)
{
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {2}, .rhs_contract = {0}};
    int x = graph_parameter(&graph, F32(2, 8, 5), "x");
    int w = graph_parameter(&graph, F32(5, 7), "w"), b = graph_parameter(&graph, F32(7), "b");
    int y = graph_dot_general(&graph, x, w, &dot, DTYPE_F32, PRECISION_HIGHEST);

    y = graph_binary(&graph, HLO_ADD, y, graph_broadcast(&graph, b, F32(2, 8, 7), DIMS(2)));
    simplify(graph_reduce(&graph, REDUCE_ADD, y, 3));
    for (int i = 0; i < graph.node_count; i++)
        if (graph.node[i].op != HLO_PARAMETER)
            assert_true(graph.node[i].shape.rank <= 2);
    assert_int_equal(count_of(&graph, HLO_RESHAPE), 1);
}

TEST(products_of_any_form_become_plain)
{
    /* attention's scores: batch and heads apart */
    struct graph_dot dot = {.batch_count = 2, .lhs_batch = {0, 2}, .rhs_batch = {0, 2},
                            .contract_count = 1, .lhs_contract = {3}, .rhs_contract = {3}};
    struct graph_dot both = {.contract_count = 2, .lhs_contract = {1, 0}, .rhs_contract = {1, 0}};
    int q = graph_parameter(&graph, F32(2, 5, 3, 4), "q");
    int k = graph_parameter(&graph, F32(2, 6, 3, 4), "k");
    int x = graph_parameter(&graph, F32(4, 3, 5), "x"),
        y = graph_parameter(&graph, F32(4, 3, 2), "y");

    graph_output(&graph, graph_dot_general(&graph, x, y, &both, DTYPE_F32, PRECISION_HIGHEST),
                 "gradient", -1);
    simplify(graph_dot_general(&graph, q, k, &dot, DTYPE_F32, PRECISION_HIGHEST));
    for (int i = 0; i < graph.node_count; i++) {
        const struct graph_node *n = &graph.node[i];

        if (n->op != HLO_DOT)
            continue;
        assert_int_equal(n->dot.contract_count, 1);
        assert_true(n->dot.batch_count <= 1);
        assert_int_equal(n->shape.rank, 2 + n->dot.batch_count);
    }
    assert_int_equal(count_of(&graph, HLO_TRANSPOSE), 2);
}

TEST(a_transposed_operand_is_contracted_elsewhere)
{
    int x = graph_parameter(&graph, F32(5, 4), "x"),
        w = graph_parameter(&graph, F32(6, 5), "w");

    x = graph_transpose(&graph, x, DIMS(1, 0));
    simplify(graph_dot(&graph, x, graph_transpose(&graph, w, DIMS(1, 0)), 1, 0,
                       PRECISION_HIGHEST));
    assert_int_equal(count_of(&graph, HLO_TRANSPOSE), 0);
}

/* q[b,h,d,s] = W[h,d,c] x[b,s,c]: operands and result as they lie, nothing is moved */
TEST(a_projection_into_heads_moves_nothing)
{
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {2}, .rhs_contract = {2}};
    int w = graph_parameter(&graph, F32(2, 64, 128), "w");
    int x = graph_parameter(&graph, F32(3, 128, 128), "x");
    int q = graph_dot_general(&graph, w, x, &dot, DTYPE_F32, PRECISION_HIGHEST);
    const struct graph_node *n;

    q = graph_transpose(&graph, graph_unary(&graph, HLO_NEGATE, q), DIMS(2, 0, 1, 3));
    simplify(q);
    run_pass(pass_layout);
    run_pass(pass_simplify);
    assert_int_equal(count_of(&graph, HLO_TRANSPOSE), 0);
    assert_int_equal(count_of(&graph, HLO_RESHAPE), 0);
    n = &graph.node[2];
    assert_int_equal(n->op, HLO_DOT);
    assert_true(n->dot.has_order && n->dot.order[0] == 2 && n->shape.dim[0] == 3);
}

/* 4 rows would leave most of each tile and pass empty: it becomes a plain product */
TEST(a_product_of_few_rows_each_becomes_plain)
{
    struct graph_dot dot = {.contract_count = 1, .lhs_contract = {2}, .rhs_contract = {0}};
    int x = graph_parameter(&graph, F32(6, 4, 16), "x");
    int w = graph_parameter(&graph, F32(16, 8), "w");

    simplify(graph_dot_general(&graph, x, w, &dot, DTYPE_F32, PRECISION_HIGHEST));
    for (int i = 0; i < graph.node_count; i++)
        if (graph.node[i].op == HLO_DOT)
            assert_int_equal(graph.node[i].shape.rank, 2);
}

TEST(reductions_of_spread_values_multiply)
{
    int x = graph_parameter(&graph, F32(6), "x");
    int b = graph_broadcast(&graph, x, F32(3, 6, 5), DIMS(1));

    graph_output(&graph, graph_reduce(&graph, REDUCE_MAX, b, 5), "max", -1);
    simplify(graph_reduce(&graph, REDUCE_ADD, b, 5));
    assert_int_equal(count_of(&graph, HLO_REDUCE), 0);
}

TEST(factors_of_a_whole_sum_go_behind_it)
{
    int x = graph_parameter(&graph, F32(3, 6, 5), "x"), s = graph_parameter(&graph, F32(6), "s");
    int y = graph_broadcast(&graph, s, F32(3, 6, 5), DIMS(1));
    int along = graph_broadcast(&graph, graph_parameter(&graph, F32(5), "t"), F32(3, 6, 5),
                                DIMS(2));

    y = graph_binary(&graph, HLO_MULTIPLY, x, y);
    along = graph_binary(&graph, HLO_MULTIPLY, x, along);
    graph_output(&graph, graph_reduce(&graph, REDUCE_ADD, along, 5), "another along it", -1);
    simplify(graph_reduce(&graph, REDUCE_ADD, graph_unary(&graph, HLO_NEGATE, y), 5));
    for (int i = 0; i < graph.node_count; i++)
        if (graph.node[i].op == HLO_NEGATE)
            assert_int_equal(graph.node[i].shape.rank, 1);
    assert_int_equal(count_of(&graph, HLO_NEGATE), 1);
    assert_int_equal(count_of(&graph, HLO_BROADCAST), 1);
}

TEST(reductions_in_two_steps_are_one)
{
    int x = graph_parameter(&graph, F32(3, 6, 1, 5), "x");
    int r = graph_reduce(&graph, REDUCE_ADD, graph_transpose(&graph, x, DIMS(3, 1, 2, 0)), 4);

    simplify(graph_reduce(&graph, REDUCE_ADD, r, 5));
    assert_int_equal(count_of(&graph, HLO_REDUCE), 1);
    assert_int_equal(count_of(&graph, HLO_TRANSPOSE), 0);
}

TEST(moves_that_change_nothing_disappear)
{
    int x = graph_parameter(&graph, F32(3, 6), "x"), y = x;
    int64_t zero[2] = {0}, all[2] = {3, 6}, some[2] = {3, 4}, from[2] = {1, 2};

    y = graph_slice(&graph, y, zero, all, NULL);
    y = graph_pad(&graph, y, graph_constant(&graph, shape_scalar(DTYPE_F32), 0), zero, zero, zero);
    y = graph_concatenate(&graph, &y, 1, 0);
    y = graph_slice(&graph, graph_slice(&graph, y, zero, some, NULL), from, some, NULL);
    simplify(graph_reverse(&graph, y, NULL, 0));
    assert_int_equal(graph.node_count, 2);
    assert_int_equal(result_node()->start[1], 2);
}

/* a gate and what it lets through, halves of one product: neither is read as f32 from memory */
TEST(halves_are_cut_before_they_are_widened)
{
    int x = graph_parameter(&graph, shape_make(DTYPE_BF16, 2, (int64_t[]){3, 6}), "x"), y, half;
    int64_t first[2] = {0}, middle[2] = {3, 3}, second[2] = {0, 3}, all[2] = {3, 6};

    y = graph_convert(&graph, x, DTYPE_F32);
    half = graph_slice(&graph, y, first, middle, NULL);
    simplify(graph_binary(&graph, HLO_MULTIPLY, half, graph_slice(&graph, y, second, all, NULL)));
    assert_int_equal(count_of(&graph, HLO_CONVERT), 2);
    for (int i = 0; i < graph.node_count; i++)
        if (graph.node[i].op == HLO_SLICE)
            assert_int_equal(graph.node[i].shape.dtype, DTYPE_BF16);
}

/* ids [5,7] -> [5,7,1] for a gather: a copy that moves every element, and no need of it */
TEST(indices_of_one_number_lose_their_dimension)
{
    struct graph_gather d = {.offset_count = 1, .offset_dims = {2}, .collapsed_count = 1,
                             .map_count = 1, .index_vector_dim = 2, .slice_sizes = {1, 6}};
    int table = graph_parameter(&graph, F32(11, 6), "table");
    int ids = graph_parameter(&graph, shape_make(DTYPE_S32, 2, (int64_t[]){5, 7}), "ids");
    struct shape column = shape_make(DTYPE_S32, 3, (int64_t[]){5, 7, 1});
    int wide = graph_reshape(&graph, ids, column), rows = graph_gather(&graph, table, wide, &d);

    graph_output(&graph, rows, "rows", -1);
    d.collapsed_dims[0] = 0;
    graph_output(&graph, graph_scatter(&graph, REDUCE_ADD, table, wide, rows, &d), "sum", -1);
    run_pass(pass_simplify);
    assert_int_equal(count_of(&graph, HLO_RESHAPE), 0);
}

/* where nothing reshapes them, leaving the dimension out would be a copy */
TEST(indices_that_have_their_dimension_stay)
{
    struct graph_gather d = {.offset_count = 1, .offset_dims = {1}, .collapsed_count = 1,
                             .map_count = 1, .index_vector_dim = 1, .slice_sizes = {1, 6}};
    int table = graph_parameter(&graph, F32(11, 6), "table");
    int ids = graph_parameter(&graph, shape_make(DTYPE_S32, 2, (int64_t[]){5, 1}), "ids");

    graph_output(&graph, graph_gather(&graph, table, ids, &d), "rows", -1);
    run_pass(pass_simplify);
    assert_int_equal(count_of(&graph, HLO_RESHAPE), 0);
}

/* f32[16,128] fills its tiles, f32[16,4,32] takes eight times the memory */
TEST(a_sum_over_devices_is_of_what_is_made)
{
    int x = graph_parameter(&graph, F32(16, 128), "x");

    simplify(graph_all_reduce(&graph, graph_reshape(&graph, x, F32(16, 4, 32))));
    assert_int_equal(result_node()->op, HLO_RESHAPE);
    assert_int_equal(graph.node[result_node()->operand[0]].op, HLO_ALL_REDUCE);
    assert_int_equal(graph.node[result_node()->operand[0]].shape.rank, 2);
}

TEST(a_sum_over_devices_does_not_grow)
{
    int x = graph_parameter(&graph, F32(16, 4, 32), "x");

    simplify(graph_all_reduce(&graph, graph_reshape(&graph, x, F32(16, 128))));
    assert_int_equal(result_node()->op, HLO_ALL_REDUCE);
}

/* parts of 8 devices along dimension 0, converted; what that is of is tests/train/step/test_sharded_update.c's */
static void simplify_gathered(struct shape part, enum graph_dtype dtype)
{
    const struct graph_groups all = {.count = 1, .size = 8};
    int x = graph_parameter(&graph, part, "x");
    struct err e;

    x = graph_all_gather(&graph, &x, 1, 0, &all);
    graph_output(&graph, graph_convert(&graph, x, dtype), "result", -1);
    assert_int_equal(pass_simplify(&graph, NULL, &e), 0);
}

TEST(rounded_parts_are_gathered)
{
    simplify_gathered(F32(32, 128), DTYPE_BF16);
    assert_int_equal(result_node()->op, HLO_ALL_GATHER);
    assert_int_equal(result_node()->shape.dtype, DTYPE_BF16);
    assert_int_equal(result_node()->shape.dim[0], 256);
    assert_int_equal(graph.node[result_node()->operand[0]].op, HLO_CONVERT);
}

/* of [batch x head, query, key]: spread over batches it would have to be written out for each */
TEST(a_bias_of_heads_is_not_written_for_each_batch)
{
    int x = graph_parameter(&graph, F32(12, 16, 128), "x");
    int bias = graph_parameter(&graph, F32(4, 16, 128), "bias");
    int y = graph_reshape(&graph, x, F32(3, 4, 16, 128));

    y = graph_binary(&graph, HLO_ADD, y,
                     graph_broadcast(&graph, bias, F32(3, 4, 16, 128), (int[]){1, 2, 3}));
    simplify(y);
    assert_int_equal(result_node()->op, HLO_ADD);
    assert_int_equal(count_of(&graph, HLO_RESHAPE), 1);
}

/* the same for all heads: a broadcast before, a broadcast after */
TEST(a_bias_of_all_heads_is_added_before_they_are_split)
{
    int x = graph_parameter(&graph, F32(12, 16, 128), "x");
    int bias = graph_parameter(&graph, F32(16, 128), "bias");
    int y = graph_reshape(&graph, x, F32(3, 4, 16, 128));

    y = graph_binary(&graph, HLO_ADD, y,
                     graph_broadcast(&graph, bias, F32(3, 4, 16, 128), (int[]){2, 3}));
    simplify(y);
    assert_int_equal(result_node()->op, HLO_RESHAPE);
    assert_int_equal(graph.node[result_node()->operand[0]].op, HLO_ADD);
}

/* [k, batch, n]: whole rows of n change places, no lanes are turned */
TEST(an_operand_of_another_order_keeps_its_lanes)
{
    struct graph_dot dot = {.batch_count = 1, .lhs_batch = {0}, .rhs_batch = {1},
                            .contract_count = 1, .lhs_contract = {2}, .rhs_contract = {0}};
    int x = graph_parameter(&graph, F32(6, 9, 5), "x"), y = graph_parameter(&graph, F32(5, 6, 128), "y");

    simplify(graph_dot_general(&graph, x, y, &dot, DTYPE_F32, PRECISION_DEFAULT));
    assert_int_equal(count_of(&graph, HLO_TRANSPOSE), 1);
    for (int i = 0; i < graph.node_count; i++)
        if (graph.node[i].op == HLO_TRANSPOSE)
            assert_int_equal(graph.node[i].dims[2], 2);
}

/* an array that is split lies otherwise before and behind: it is split where it is */
TEST(transposes_around_a_reshape_meet)
{
    int x = graph_parameter(&graph, F32(15, 8), "x");
    int y = graph_reshape(&graph, graph_transpose(&graph, x, (int[]){1, 0}), F32(8, 3, 5));

    simplify(graph_transpose(&graph, y, (int[]){1, 2, 0}));
    assert_int_equal(result_node()->op, HLO_RESHAPE);
    assert_int_equal(graph.node[result_node()->operand[0]].op, HLO_PARAMETER);
}

TEST(transposes_around_a_reshape_become_one)
{
    int x = graph_parameter(&graph, F32(3, 5, 7, 4), "x");
    int y = graph_transpose(&graph, x, (int[]){3, 0, 1, 2});

    y = graph_reshape(&graph, y, F32(2, 2, 15, 7));
    simplify(graph_transpose(&graph, y, (int[]){3, 1, 0, 2}));
    assert_int_equal(result_node()->op, HLO_TRANSPOSE);
    assert_int_equal(graph.node[result_node()->operand[0]].op, HLO_RESHAPE);
    assert_int_equal(count_of(&graph, HLO_TRANSPOSE), 1);
}

TEST(a_transpose_between_what_a_reshape_joins_stays)
{
    int x = graph_parameter(&graph, F32(3, 5, 4), "x");
    int y = graph_transpose(&graph, x, (int[]){1, 0, 2});

    simplify(graph_transpose(&graph, graph_reshape(&graph, y, F32(15, 4)), (int[]){1, 0}));
    assert_int_equal(count_of(&graph, HLO_TRANSPOSE), 2);
}

/* 8 rows of bf16 are half a tile */
TEST(parts_that_would_end_inside_tiles_are_gathered_first)
{
    simplify_gathered(F32(8, 128), DTYPE_BF16);
    assert_int_equal(result_node()->op, HLO_CONVERT);
    assert_int_equal(graph.node[result_node()->operand[0]].op, HLO_ALL_GATHER);
}

TEST(a_gather_does_not_grow)
{
    simplify_gathered(shape_make(DTYPE_BF16, 2, (const int64_t[]){32, 128}), DTYPE_F32);
    assert_int_equal(result_node()->op, HLO_CONVERT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(operations_on_constants_are_done),
        RUN(adding_nothing_disappears),
        RUN(subtracting_from_nothing_stays),
        RUN(what_is_widened_and_turned_is_turned_first),
        RUN(division_by_a_power_of_two_multiplies),
        RUN(a_conversion_back_disappears_only_if_exact),
        RUN(a_conversion_by_way_of_floats_keeps_its_saturation),
        RUN(a_vector_is_contracted_along_lanes),
        RUN(a_dynamic_slice_is_taken_before_a_transpose),
        RUN(chains_of_transposes_and_reshapes_become_one),
        RUN(transposed_and_reshaped_broadcasts_are_broadcasts),
        RUN(what_is_made_of_spread_and_widened_arrays_is_made_where_it_is_read),
        RUN(bias_of_a_product_of_three_dimensions_is_added_to_a_matrix),
        RUN(products_of_any_form_become_plain),
        RUN(a_transposed_operand_is_contracted_elsewhere),
        RUN(a_projection_into_heads_moves_nothing),
        RUN(a_product_of_few_rows_each_becomes_plain),
        RUN(reductions_of_spread_values_multiply),
        RUN(factors_of_a_whole_sum_go_behind_it),
        RUN(reductions_in_two_steps_are_one),
        RUN(moves_that_change_nothing_disappear),
        RUN(halves_are_cut_before_they_are_widened),
        RUN(indices_of_one_number_lose_their_dimension),
        RUN(an_iota_of_other_dimensions_is_an_iota),
        RUN(a_function_of_a_vector_is_not_of_a_column),
        RUN(indices_that_have_their_dimension_stay),
        RUN(a_sum_over_devices_is_of_what_is_made),
        RUN(a_sum_over_devices_does_not_grow),
        RUN(a_bias_of_heads_is_not_written_for_each_batch),
        RUN(a_bias_of_all_heads_is_added_before_they_are_split),
        RUN(an_operand_of_another_order_keeps_its_lanes),
        RUN(transposes_around_a_reshape_meet),
        RUN(transposes_around_a_reshape_become_one),
        RUN(a_transpose_between_what_a_reshape_joins_stays),
        RUN(rounded_parts_are_gathered),
        RUN(parts_that_would_end_inside_tiles_are_gathered_first),
        RUN(a_gather_does_not_grow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
