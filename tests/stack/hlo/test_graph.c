/* The graph IR: do builders infer shapes, does the verifier see what is wrong? */
#include "tests/rigs/one_graph.h"
#include "tests/test.h"

#include "base/units.h"
#include "stack/hlo/graph.h"

static struct shape f32(int rank, int64_t a, int64_t b)
{
    return shape_make(DTYPE_F32, rank, (int64_t[]){a, b});
}

static void assert_shape(int node, const char *text)
{
    char buf[128];

    assert_string_equal(shape_print(&g.node[node].shape, buf, sizeof(buf)), text);
}

TEST(shapes_print_like_hlo)
{
    struct shape big = shape_make(DTYPE_BF16, 3, (int64_t[]){2, 3, 4});
    struct shape scalar = shape_scalar(DTYPE_PRED);
    char buf[64];

    assert_string_equal(shape_print(&big, buf, sizeof(buf)), "bf16[2,3,4]");
    assert_string_equal(shape_print(&scalar, buf, sizeof(buf)), "pred[]");
    assert_int_equal(shape_elems(&big), 24);
    assert_int_equal(shape_elems(&scalar), 1);
    shape_print(&big, buf, 8);
    assert_string_equal(buf, "bf16[2,");
}

TEST(builders_infer_shapes)
{
    int x = graph_parameter(&g, f32(2, 6, 4), "x"), w = graph_parameter(&g, f32(2, 4, 5), "w");
    int xs = graph_convert(&g, x, DTYPE_S32);

    assert_shape(graph_dot(&g, x, w, 1, 0, PRECISION_DEFAULT), "f32[6,5]");
    assert_shape(graph_dot(&g, x, x, 0, 0, PRECISION_DEFAULT), "f32[4,4]");
    assert_shape(graph_dot(&g, w, x, 0, 1, PRECISION_DEFAULT), "f32[5,6]");
    assert_shape(graph_reduce(&g, REDUCE_ADD, x, 1), "f32[4]");
    assert_shape(graph_reduce(&g, REDUCE_MAX, x, 2), "f32[6]");
    assert_shape(graph_reduce(&g, REDUCE_MIN, x, 3), "f32[]");
    assert_shape(graph_transpose(&g, x, (int[]){1, 0}), "f32[4,6]");
    assert_shape(graph_reshape(&g, x, f32(1, 24, 0)), "f32[24]");
    assert_shape(graph_compare(&g, COMPARE_LT, x, x), "pred[6,4]");
    assert_shape(xs, "s32[6,4]");
    assert_shape(graph_splat(&g, xs, 3), "s32[6,4]");
    assert_shape(graph_all_reduce(&g, w), "f32[4,5]");
}

TEST(conversions_and_reshapes_to_the_same_are_no_nodes)
{
    int x = graph_parameter(&g, f32(2, 6, 4), "x");

    assert_int_equal(graph_convert(&g, x, DTYPE_F32), x);
    assert_int_equal(graph_reshape(&g, x, f32(2, 6, 4)), x);
    assert_int_equal(g.node_count, 1);
}

/* x(2,3) w(3,4) -> dot, relu, row sums; used by the tests below */
enum { X, W, DOT, ZERO, ZEROS, RELU, SUM, SMALL_COUNT };

static void build_small(void)
{
    struct err e;

    g.name = "small";
    assert_int_equal(graph_parameter(&g, f32(2, 2, 3), "x"), X);
    assert_int_equal(graph_parameter(&g, f32(2, 3, 4), "dense/kernel"), W);
    g.source = "dense/MatMul";
    assert_int_equal(graph_dot(&g, X, W, 1, 0, PRECISION_HIGHEST), DOT);
    g.source = "dense/Relu";
    assert_int_equal(graph_splat(&g, DOT, 0.0), ZEROS);
    assert_int_equal(graph_binary(&g, HLO_MAXIMUM, DOT, ZEROS), RELU);
    g.source = "";
    assert_int_equal(graph_reduce(&g, REDUCE_ADD, RELU, 2), SUM);
    graph_output(&g, SUM, "sums", -1);
    graph_output(&g, W, "kernel", 1);
    assert_int_equal(graph_verify(&g, &e), 0);
}

TEST(dump_reads_like_hlo_text)
{
    static const char *const expected =
        "HloModule small, input_output_alias={ {1}: (1, {}, may-alias) }\n\n"
        "%combine.add.f32 {\n  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n"
        "  ROOT %both = f32[] add(%a, %b)\n}\n\n"
        "ENTRY %small {\n"
        "  %x = f32[2,3] parameter(0)\n"
        "  %dense.kernel = f32[3,4] parameter(1)\n"
        "  %dot.2 = f32[2,4] dot(%x, %dense.kernel), lhs_contracting_dims={1}, "
        "rhs_contracting_dims={0}, operand_precision={highest,highest}, "
        "metadata={op_name=\"dense/MatMul\"}\n"
        "  %constant.3 = f32[] constant(0), metadata={op_name=\"dense/Relu\"}\n"
        "  %broadcast.4 = f32[2,4] broadcast(%constant.3), dimensions={}, "
        "metadata={op_name=\"dense/Relu\"}\n"
        "  %maximum.5 = f32[2,4] maximum(%dot.2, %broadcast.4), "
        "metadata={op_name=\"dense/Relu\"}\n"
        "  %reduce.6.init = f32[] constant(0)\n"
        "  %reduce.6 = f32[2] reduce(%maximum.5, %reduce.6.init), dimensions={1}, "
        "to_apply=%combine.add.f32\n"
        "  ROOT %results = (f32[2], f32[3,4]) tuple(%reduce.6, %dense.kernel)\n"
        "}\n";
    char *text;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);

    build_small();
    graph_dump(&g, to);
    fclose(to);
    assert_string_equal(text, expected);
    free(text);
}

TEST(flops_count_products_and_elements_but_no_moves)
{
    build_small();
    assert_int_equal(graph_flops(&g), 2 * 2 * 3 * 4 + 8 + 8);
}

static void assert_refused(const char *text)
{
    struct err e;

    assert_int_equal(graph_verify(&g, &e), -1);
    if (!strstr(e.msg, text))
        fail_msg("\"%s\" does not contain \"%s\"", e.msg, text);
}

#define COMMA ,
#define BROKEN_BY(change, text) \
    do { \
        struct graph_node saved[SMALL_COUNT]; \
        struct graph_output saved_output = g.output[1]; \
        memcpy(saved, g.node, sizeof(saved)); \
        change; \
        assert_refused(text); \
        memcpy(g.node, saved, sizeof(saved)); \
        g.output[1] = saved_output; \
    } while (0)

TEST(verifier_names_what_is_wrong_with_a_node)
{
    build_small();
    BROKEN_BY(g.node[DOT].operand = (int[]){DOT COMMA W}, "dot.2: operand 0 is node 2, which does not come");
    BROKEN_BY(g.node[DOT].operand = (int[]){X COMMA X}, "dot.2: shapes f32[2,3] and f32[2,3] do not fit");
    BROKEN_BY(g.node[DOT].dot.lhs_contract[0] = 2,
              "dot.2: batch and contracted dimensions: entry 0 is 2, not in 0..1");
    BROKEN_BY(g.node[DOT].shape.dim[0] = 3, "shape is f32[3,4], but its operands make it f32[2,4]");
    BROKEN_BY(g.node[DOT].shape.dtype = DTYPE_S32, "shape is s32[2,4]");
    BROKEN_BY(g.node[DOT].operand_count = 1, "1 operands, but dot takes 2");
    BROKEN_BY(g.node[DOT].op = HLO_COUNT, "unknown operation");
    BROKEN_BY(g.node[DOT].source = NULL, "no source");
    BROKEN_BY(g.node[DOT].name = "x", "two nodes are named x");
    BROKEN_BY(g.node[DOT].name = NULL, "node 2 has no name");
    BROKEN_BY(g.node[SUM].reduce_mask = 4, "reduces a dimension above 1");
    BROKEN_BY(g.node[RELU].op = HLO_AND, "and does not take f32[2,4]");
    BROKEN_BY(g.node[ZEROS].shape.dim[1] = 0, "dimension 1 is 0; each must be at least 1");
    BROKEN_BY(g.node[ZEROS].shape.dim[0] = 1LL << 40, "dimension 1 is 4; each must be");
    BROKEN_BY(g.node[ZEROS].shape.rank = 9, "rank 9 is not in 0..8");
    BROKEN_BY(g.node[W].parameter_index = 0, "is not parameter 0 of the graph");
}

TEST(verifier_names_what_is_wrong_with_an_output)
{
    build_small();
    BROKEN_BY(g.output[1].alias_parameter = 0,
              "output kernel: shape f32[3,4] overwrites a parameter of shape f32[2,3]");
    BROKEN_BY(g.output[1].alias_parameter = 2, "parameter 2 does not exist");
    BROKEN_BY(g.output[1].node = 99, "node 99 does not exist");
    graph_output(&g, W, "again", 1);
    assert_refused("outputs kernel and again overwrite the same parameter");
}

TEST(broadcast_and_transpose_attributes_are_checked)
{
    int x = graph_parameter(&g, f32(2, 2, 3), "x");
    int b = graph_broadcast(&g, x, shape_make(DTYPE_F32, 3, (int64_t[]){2, 7, 3}),
                            (int[]){0, 2});
    int t = graph_transpose(&g, b, (int[]){2, 0, 1});

    assert_shape(t, "f32[3,2,7]");
    g.node[b].dims[1] = 0;
    assert_refused("dims[1] is 0; dims must rise within 0..2");
    g.node[b].dims[1] = 1;
    assert_refused("shapes f32[2,3] and f32[2,7,3] do not fit");
    g.node[b].dims[1] = 2;
    g.node[t].dims[2] = 2;
    assert_refused("dims[2] is 2; dims must permute 0..2");
}

TEST(dead_nodes_go_and_parameters_stay)
{
    struct err e;
    int unused = graph_parameter(&g, f32(1, 3, 0), "unused");
    int x = graph_parameter(&g, f32(1, 3, 0), "x");
    int dead = graph_unary(&g, HLO_EXP, x);
    int y = graph_binary(&g, HLO_ADD, x, x);

    graph_unary(&g, HLO_NEGATE, dead);
    graph_output(&g, y, "y", 1);
    graph_eliminate_dead(&g);
    assert_int_equal(graph_verify(&g, &e), 0);
    assert_int_equal(g.node_count, 3);
    assert_int_equal(g.parameter_count, 2);
    assert_string_equal(g.node[g.parameter[0]].name, "unused");
    assert_int_equal(g.node[g.output[0].node].op, HLO_ADD);
    /* names made later do not meet those left */
    graph_unary(&g, HLO_EXP, graph_binary(&g, HLO_ADD, x, unused));
    assert_int_equal(graph_verify(&g, &e), 0);
}

TEST(verifier_finds_values_that_are_no_attributes)
{
    build_small();
    g.node[RELU].dim = 1;
    assert_refused("has a value for dim, which is no attribute of maximum");
    g.node[RELU].dim = 0;
    g.node[SUM].precision = PRECISION_HIGH;
    assert_refused("has a value for precision, which is no attribute of reduce");
}

TEST(columns_of_an_operation_agree)
{
    for (int i = 0; i < HLO_COUNT; i++) {
        enum graph_op op = (enum graph_op)i;
        unsigned traits = graph_op_traits(op);
        bool is_flat = traits & TRAIT_FLAT, is_slope = traits & TRAIT_SLOPE;

        if (graph_op_is_elementwise(op) ? graph_op_types(op) == 0
                                        : graph_op_types(op) != 0 || traits != 0)
            fail_msg("%s: types and traits are of elementwise operations", graph_op_name(op));
        if ((is_flat || is_slope) && (graph_op_kind(op) != KIND_UNARY || (is_flat && is_slope)))
            fail_msg("%s: flat or with a slope", graph_op_name(op));
        if ((graph_op_cost(op) > 1 || is_slope) && !(traits & TRAIT_EXPENSIVE))
            fail_msg("%s: costs much and is not expensive", graph_op_name(op));
        if (traits & TRAIT_SAME_BITS && traits & TRAIT_EXPENSIVE)
            fail_msg("%s: expensive without arithmetic", graph_op_name(op));
    }
}

TEST(equal_computations_become_one)
{
    struct err e;
    int x = graph_parameter(&g, f32(1, 3, 0), "x");
    int a = graph_binary(&g, HLO_ADD, x, graph_splat(&g, x, 2.0));
    int b = graph_binary(&g, HLO_ADD, x, graph_splat(&g, x, 2.0));

    graph_output(&g, graph_binary(&g, HLO_MULTIPLY, a, b), "square", -1);
    graph_eliminate_common(&g);
    assert_int_equal(graph_verify(&g, &e), 0);
    assert_int_equal(g.node_count, 5);
    assert_int_equal(g.node[4].operand[0], g.node[4].operand[1]);
}

TEST(computations_that_differ_in_one_attribute_stay_apart)
{
    int x = graph_parameter(&g, f32(2, 3, 3), "x"), count;
    int nodes[16], made = 0;

    nodes[made++] = graph_splat(&g, x, 0.0);
    nodes[made++] = graph_splat(&g, x, -0.0);
    nodes[made++] = graph_compare(&g, COMPARE_LT, x, x);
    nodes[made++] = graph_compare(&g, COMPARE_LE, x, x);
    nodes[made++] = graph_reduce(&g, REDUCE_ADD, x, 1);
    nodes[made++] = graph_reduce(&g, REDUCE_ADD, x, 2);
    nodes[made++] = graph_reduce(&g, REDUCE_MAX, x, 1);
    nodes[made++] = graph_iota(&g, f32(2, 3, 3), 0);
    nodes[made++] = graph_iota(&g, f32(2, 3, 3), 1);
    nodes[made++] = graph_dot(&g, x, x, 0, 0, PRECISION_DEFAULT);
    nodes[made++] = graph_dot(&g, x, x, 0, 1, PRECISION_DEFAULT);
    nodes[made++] = graph_dot(&g, x, x, 0, 0, PRECISION_HIGH);
    nodes[made++] = graph_convert(&g, x, DTYPE_S32);
    nodes[made++] = graph_convert(&g, x, DTYPE_BF16);
    nodes[made++] = graph_all_reduce(&g, x);
    nodes[made++] = graph_all_reduce(&g, x);
    for (size_t i = 0; i < COUNT_OF(nodes); i++)
        graph_output(&g, nodes[i], "out", -1);
    count = g.node_count;
    graph_eliminate_common(&g);
    assert_int_equal(g.node_count, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(shapes_print_like_hlo),
        RUN(builders_infer_shapes),
        RUN(conversions_and_reshapes_to_the_same_are_no_nodes),
        RUN(dump_reads_like_hlo_text),
        RUN(flops_count_products_and_elements_but_no_moves),
        RUN(verifier_names_what_is_wrong_with_a_node),
        RUN(verifier_names_what_is_wrong_with_an_output),
        RUN(broadcast_and_transpose_attributes_are_checked),
        RUN(dead_nodes_go_and_parameters_stay),
        RUN(verifier_finds_values_that_are_no_attributes),
        RUN(columns_of_an_operation_agree),
        RUN(equal_computations_become_one),
        RUN(computations_that_differ_in_one_attribute_stay_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
