/* Every rule of shape inference that a graph of HLO can break, and what it says then. */
#include "tests/rigs/graph_rig.h"
#include "tests/test.h"

#include "base/units.h"

static struct graph_rig r;
static int matrix, cube, bytes, words, scalar, image, kernel, truth, flag;

static int set_up(void **state)
{
    (void)state;
    grig_init(&r);
    matrix = grig_parameter(&r, DTYPE_F32, DIMS(4, 6), NULL);
    cube = grig_parameter(&r, DTYPE_F32, DIMS(2, 4, 6), NULL);
    bytes = grig_parameter(&r, DTYPE_S8, DIMS(4, 6), NULL);
    words = grig_parameter(&r, DTYPE_S32, DIMS(3, 1), NULL);
    scalar = grig_parameter(&r, DTYPE_S32, 0, NULL, RIG_VALUES(1));
    image = grig_parameter(&r, DTYPE_F32, DIMS(2, 8, 8, 4), NULL);
    kernel = grig_parameter(&r, DTYPE_F32, DIMS(3, 3, 2, 6), NULL);
    truth = grig_parameter(&r, DTYPE_PRED, DIMS(4, 6), NULL);
    flag = grig_parameter(&r, DTYPE_PRED, DIMS(4), NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    grig_fini(&r);
    return 0;
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static void refused(struct graph_node n, const int *operand, int count, const char *text)
{
    struct shape out;
    struct err e;
    int copy[8];

    memcpy(copy, operand, (size_t)count * sizeof(*copy));
    n.name = "n";
    n.operand = copy;
    n.operand_count = count;
    if (graph_infer(&r.g, &n, &out, &e) == 0)
        fail_msg("nobody says \"%s\"", text);
    if (strcmp(e.msg, text) != 0)
        fail_msg("\"%s\" is not \"%s\"", e.msg, text);
}

static void accepted(struct graph_node n, const int *operand, int count, const char *text)
{
    struct shape out;
    struct err e;
    char buf[96];
    int copy[8];

    memcpy(copy, operand, (size_t)count * sizeof(*copy));
    n.name = "n";
    n.operand = copy;
    n.operand_count = count;
    if (graph_infer(&r.g, &n, &out, &e) != 0)
        fail_msg("%s", e.msg);
    assert_string_equal(shape_print(&out, buf, sizeof(buf)), text);
}

#define NODE(...) ((struct graph_node){__VA_ARGS__})
#define ON(...) (int[]){__VA_ARGS__}, (int)COUNT_OF(((int[]){__VA_ARGS__}))

TEST(elementwise_types)
{
    refused(NODE(.op = HLO_ERF), ON(bytes), "n: erf does not take s8[4,6]");
    refused(NODE(.op = HLO_POPCNT), ON(matrix), "n: popcnt does not take f32[4,6]");
    refused(NODE(.op = HLO_NEGATE), ON(truth), "n: negate does not take pred[4,6]");
    refused(NODE(.op = HLO_XOR), ON(matrix, matrix), "n: xor does not take f32[4,6]");
    refused(NODE(.op = HLO_ADD), ON(matrix, bytes), "n: shapes f32[4,6] and s8[4,6] do not fit");
    refused(NODE(.op = HLO_BITCAST_CONVERT, .shape = {.dtype = DTYPE_S8}), ON(matrix),
            "n: bitcast-convert does not take s8[4,6]");
    refused(NODE(.op = HLO_COMPARE, .direction = (enum graph_compare)9), ON(bytes, bytes),
            "n: unknown comparison 9");
    refused(NODE(.op = HLO_SELECT), ON(matrix, matrix, matrix),
            "n: select does not take f32[4,6]");
    refused(NODE(.op = HLO_SELECT), ON(flag, matrix, matrix),
            "n: shapes pred[4] and f32[4,6] do not fit");
    refused(NODE(.op = HLO_CLAMP), ON(scalar, matrix, matrix),
            "n: shapes s32[] and f32[4,6] do not fit");
    refused(NODE(.op = HLO_CLAMP), ON(truth, truth, truth), "n: clamp does not take pred[4,6]");
    accepted(NODE(.op = HLO_IS_FINITE), ON(matrix), "pred[4,6]");
    accepted(NODE(.op = HLO_BITCAST_CONVERT, .shape = {.dtype = DTYPE_U32}), ON(matrix),
             "u32[4,6]");
}

TEST(sources)
{
    struct shape pred = shape_make(DTYPE_PRED, DIMS(3));
    struct shape bits = shape_make(DTYPE_U32, DIMS(3, 4));

    refused(NODE(.op = HLO_IOTA, .shape = pred), (int[]){0}, 0, "n: iota does not take pred[3]");
    refused(NODE(.op = HLO_IOTA, .shape = bits, .dim = 2), (int[]){0}, 0,
            "n: iota dimension 2 is not in 0..1");
    refused(NODE(.op = HLO_RNG_BITS, .shape = bits), ON(matrix),
            "n: rng-bit-generator does not take f32[4,6]");
    refused(NODE(.op = HLO_RNG_BITS, .shape = pred), ON(scalar), "n: random bits are u32");
}

TEST(moves)
{
    refused(NODE(.op = HLO_SLICE, .limit = {4, 7}, .stride = {1, 1}), ON(matrix),
            "n: dimension 1: [0:7:1] is no slice of 6 elements");
    refused(NODE(.op = HLO_SLICE, .start = {2}, .limit = {2, 6}, .stride = {1, 1}), ON(matrix),
            "n: dimension 0: [2:2:1] is no slice of 4 elements");
    refused(NODE(.op = HLO_SLICE, .limit = {4, 6}, .stride = {1, 0}), ON(matrix),
            "n: dimension 1: [0:6:0] is no slice of 6 elements");
    accepted(NODE(.op = HLO_SLICE, .start = {1}, .limit = {4, 6}, .stride = {2, 5}), ON(matrix),
             "f32[2,2]");
    refused(NODE(.op = HLO_PAD), ON(matrix, scalar), "n: shapes f32[4,6] and s32[] do not fit");
    refused(NODE(.op = HLO_PAD, .interior = {-1}), ON(matrix, graph_constant(&r.g, shape_scalar(
                DTYPE_F32), 0)), "n: dimension 0: padding 0_0_-1 is out of range");
    refused(NODE(.op = HLO_PAD, .low = {-4}), ON(matrix, r.g.node_count - 1),
            "n: dimension 0 is 0; each must be at least 1 and the product at most 1099511627776");
    accepted(NODE(.op = HLO_PAD, .low = {-1, 2}, .interior = {2}), ON(matrix, r.g.node_count - 1),
             "f32[9,8]");
    refused(NODE(.op = HLO_CONCATENATE, .dim = 2), ON(matrix, matrix),
            "n: dimension 2 is not in 0..1");
    refused(NODE(.op = HLO_CONCATENATE, .dim = 1), ON(matrix, cube),
            "n: shapes f32[4,6] and f32[2,4,6] do not fit");
    refused(NODE(.op = HLO_CONCATENATE), (int[]){0}, 0,
            "n: concatenate takes at least one operand");
    refused(NODE(.op = HLO_REVERSE, .dim = 2, .dims = {1, 1}), ON(matrix),
            "n: dimensions name dimension 1 twice");
    refused(NODE(.op = HLO_REVERSE, .dim = 3), ON(matrix), "n: 3 dimensions of 2 dimensions");
}

TEST(dots)
{
    struct graph_dot batch = {.batch_count = 1, .contract_count = 1, .lhs_contract = {2},
                              .rhs_contract = {2}};
    struct graph_dot ordered = batch;
    struct graph_dot twice = {.batch_count = 1, .contract_count = 1}, wide = {0};
    struct graph_dot apart = {.batch_count = 1, .rhs_batch = {1}};
    int eight = grig_parameter(&r, DTYPE_F32, DIMS(1, 1, 1, 1, 1), NULL);

    accepted(NODE(.op = HLO_DOT, .dot = batch), ON(cube, cube), "f32[2,4,4]");
    accepted(NODE(.op = HLO_DOT, .dot = batch, .shape = {.dtype = DTYPE_BF16}), ON(cube, cube),
             "bf16[2,4,4]");
    ordered.has_order = 1;
    refused(NODE(.op = HLO_DOT, .dot = ordered), ON(cube, cube),
            "n: order of the result's dimensions name dimension 0 twice");
    ordered.order[0] = 2;
    ordered.order[1] = 1;
    accepted(NODE(.op = HLO_DOT, .dot = ordered), ON(cube, cube), "f32[4,4,2]");
    refused(NODE(.op = HLO_DOT, .dot = twice), ON(cube, cube),
            "n: batch and contracted dimensions name dimension 0 twice");
    refused(NODE(.op = HLO_DOT, .dot = apart), ON(cube, cube),
            "n: shapes f32[2,4,6] and f32[2,4,6] do not fit");
    refused(NODE(.op = HLO_DOT, .dot = wide), ON(eight, eight),
            "n: the result has more than 8 dimensions");
    wide.contract_count = 3;
    refused(NODE(.op = HLO_DOT, .dot = wide), ON(matrix, matrix),
            "n: 0 batch and 3 contracted dimensions of the left side, which has 2");
    refused(NODE(.op = HLO_DOT, .dot = batch), ON(truth, truth), "n: dot does not take pred[4,6]");
    refused(NODE(.op = HLO_DOT, .dot = batch), ON(matrix, bytes),
            "n: shapes f32[4,6] and s8[4,6] do not fit");
    refused(NODE(.op = HLO_DOT, .dot = batch, .precision = (enum graph_precision)7),
            ON(cube, cube), "n: unknown precision 7");
    wide.contract_count = 1;
    accepted(NODE(.op = HLO_DOT, .dot = wide), ON(bytes, bytes), "s32[6,6]");
}

static const struct graph_conv nhwc = {
    .spatial_count = 2, .in_feature = 3, .in_spatial = {1, 2}, .kernel_in = 2, .kernel_out = 3,
    .kernel_spatial = {0, 1}, .out_feature = 3, .out_spatial = {1, 2}, .feature_groups = 2,
    .batch_groups = 1};
static const struct graph_window three = {.size = 3, .stride = 1, .base_dilation = 1,
                                          .window_dilation = 1};

static void conv_refused(struct graph_conv c, struct graph_window w, const char *text)
{
    const struct graph_window both[2] = {w, three};

    refused(NODE(.op = HLO_CONVOLUTION, .conv = &c, .window = both), ON(image, kernel), text);
}

#define WITH(base, change) ((base).change, (base))

TEST(convolutions)
{
    struct graph_conv c = nhwc;
    struct graph_window w = three;
    const struct graph_window both[2] = {three, three};

    accepted(NODE(.op = HLO_CONVOLUTION, .conv = &nhwc, .window = both), ON(image, kernel),
             "f32[2,6,6,6]");
    refused(NODE(.op = HLO_CONVOLUTION), ON(image, kernel),
            "n: a convolution has 0..3 spatial dimensions");
    refused(NODE(.op = HLO_CONVOLUTION, .conv = &nhwc), ON(image, kernel), "n: has no window");
    refused(NODE(.op = HLO_CONVOLUTION, .conv = &nhwc, .window = both), ON(cube, kernel),
            "n: labels of the input are 4, but its rank is 3");
    conv_refused(WITH(c, feature_groups = 1), three,
                 "n: 4 input features in 1 groups, but the kernel takes 2");
    conv_refused(WITH(c, feature_groups = 0), three, "n: numbers of groups start at 1");
    c = nhwc;
    conv_refused(WITH(c, batch_groups = 2), three,
                 "n: features and batch cannot both have groups");
    c = nhwc;
    conv_refused(WITH(c, in_feature = 1), three, "n: labels of the input name dimension 1 twice");
    c = nhwc;
    conv_refused(WITH(c, out_batch = 4), three,
                 "n: labels of the result: entry 0 is 4, not in 0..3");
    conv_refused(nhwc, WITH(w, size = 2),
                 "n: spatial dimension 0: the window has 2 taps, the kernel 3");
    w = three;
    conv_refused(nhwc, WITH(w, stride = 0),
                 "n: window dimension 0: size, stride and dilations start at 1");
    w = three;
    conv_refused(nhwc, WITH(w, window_dilation = 4),
                 "n: window dimension 0 reaches over 9 elements of 8");
    w = three;
    conv_refused(nhwc, WITH(w, pad_low = 1LL << 50),
                 "n: window dimension 0: padding or dilation is out of range");
}

TEST(groups_must_divide)
{
    int five = grig_parameter(&r, DTYPE_F32, DIMS(3, 3, 2, 5), NULL);
    int six = grig_parameter(&r, DTYPE_F32, DIMS(3, 3, 4, 6), NULL);
    const struct graph_window both[2] = {three, three};
    struct graph_conv c = nhwc;

    refused(NODE(.op = HLO_CONVOLUTION, .conv = &c, .window = both), ON(image, five),
            "n: 5 output features do not divide into the groups");
    c.feature_groups = 1;
    c.batch_groups = 3;
    refused(NODE(.op = HLO_CONVOLUTION, .conv = &c, .window = both), ON(image, six),
            "n: a batch of 2 does not divide into 3 groups");
}

TEST(reductions_and_windows)
{
    const struct graph_window one = {.size = 1, .stride = 1, .base_dilation = 1,
                                     .window_dilation = 1};
    struct graph_window w[2] = {one, one};

    refused(NODE(.op = HLO_REDUCE, .reduce_mask = 4), ON(matrix),
            "n: reduces a dimension above 1");
    refused(NODE(.op = HLO_REDUCE, .reduce_kind = REDUCE_ARGMAX, .reduce_mask = 3), ON(matrix),
            "n: the place of an extreme is found along one dimension");
    refused(NODE(.op = HLO_REDUCE, .reduce_kind = REDUCE_AND, .reduce_mask = 1), ON(matrix),
            "n: reduce does not take f32[4,6]");
    refused(NODE(.op = HLO_REDUCE, .reduce_kind = REDUCE_REPLACE), ON(matrix),
            "n: only a scatter replaces");
    refused(NODE(.op = HLO_REDUCE, .reduce_kind = (enum graph_reduce)20), ON(matrix),
            "n: unknown reduction 20");
    refused(NODE(.op = HLO_REDUCE_WINDOW, .reduce_kind = REDUCE_ARGMIN, .window = w), ON(matrix),
            "n: only a reduce finds where the extreme is");
    accepted(NODE(.op = HLO_REDUCE, .reduce_kind = REDUCE_ARGMAX, .reduce_mask = 1), ON(matrix),
             "s32[6]");
    refused(NODE(.op = HLO_REDUCE_WINDOW), ON(matrix), "n: has no window");
    w[1].is_reversed = true;
    refused(NODE(.op = HLO_REDUCE_WINDOW, .window = w), ON(matrix),
            "n: window dimension 1: only kernels are reversed");
    w[1] = one;
    w[0].window_dilation = 2;
    refused(NODE(.op = HLO_SELECT_AND_SCATTER, .direction = COMPARE_GE, .window = w),
            ON(matrix, matrix),
            "n: window dimension 0: select-and-scatter knows no dilation");
    w[0] = one;
    refused(NODE(.op = HLO_SELECT_AND_SCATTER, .direction = COMPARE_LT, .window = w),
            ON(matrix, matrix), "n: selects by GE or LE");
    w[0].stride = 2;
    refused(NODE(.op = HLO_SELECT_AND_SCATTER, .direction = COMPARE_GE, .window = w),
            ON(matrix, matrix), "n: shapes f32[2,6] and f32[4,6] do not fit");
}

TEST(dynamic_slices)
{
    refused(NODE(.op = HLO_DYNAMIC_SLICE, .sizes = {1, 1}), ON(matrix, scalar),
            "n: 1 start indices of 2 dimensions");
    refused(NODE(.op = HLO_DYNAMIC_SLICE, .sizes = {1, 1}), ON(matrix, scalar, words),
            "n: dynamic-slice does not take s32[3,1]");
    refused(NODE(.op = HLO_DYNAMIC_SLICE, .sizes = {1, 7}), ON(matrix, scalar, scalar),
            "n: dimension 1: 7 elements of 6");
    refused(NODE(.op = HLO_DYNAMIC_UPDATE_SLICE), ON(matrix), "n: has no update");
    refused(NODE(.op = HLO_DYNAMIC_UPDATE_SLICE), ON(matrix, bytes, scalar, scalar),
            "n: shapes f32[4,6] and s8[4,6] do not fit");
}

static void gather_refused(struct graph_gather d, const char *text)
{
    refused(NODE(.op = HLO_GATHER, .gather = &d), ON(matrix, words), text);
}

TEST(gathers_and_scatters)
{
    const struct graph_gather rows = {.offset_count = 1, .offset_dims = {1}, .collapsed_count = 1,
                                      .map_count = 1, .index_vector_dim = 1,
                                      .slice_sizes = {1, 6}};
    struct graph_gather d = rows;

    accepted(NODE(.op = HLO_GATHER, .gather = &rows), ON(matrix, words), "f32[3,6]");
    refused(NODE(.op = HLO_GATHER), ON(matrix, words), "n: has no dimension numbers");
    refused(NODE(.op = HLO_GATHER, .gather = &rows), ON(matrix, matrix),
            "n: gather does not take f32[4,6]");
    gather_refused(WITH(d, index_vector_dim = 3), "n: index_vector_dim 3 is not in 0..2");
    d = rows;
    gather_refused(WITH(d, map_count = 2), "n: indices of 1 numbers for 2 dimensions");
    d = rows;
    gather_refused(WITH(d, collapsed_count = 0),
                   "n: 1 offset, 0 collapsed and 0 batching dimensions of 2");
    d = rows;
    gather_refused(WITH(d, slice_sizes[0] = 2),
                   "n: slice size 2 of dimension 0, which is dropped and has 4");
    d = rows;
    gather_refused(WITH(d, slice_sizes[1] = 7), "n: slice size 7 of dimension 1, of 6");
    d = rows;
    d.batching_count = 1;
    d.offset_count = 0;
    gather_refused(d, "n: a batching dimension is neither indexed nor collapsed");
    gather_refused(WITH(d, offset_count = 1000),
                   "n: 1000 offset, 1 collapsed and 1 batching dimensions of 2");
    d = rows;
    d.collapsed_count = 0;
    d.offset_count = 2;
    d.offset_dims[1] = 0;
    gather_refused(d, "n: offset and collapsed dimensions must rise");
    refused(NODE(.op = HLO_SCATTER, .gather = &rows), ON(matrix, words, matrix),
            "n: shapes f32[3,6] and f32[4,6] do not fit");
    refused(NODE(.op = HLO_SCATTER, .gather = &rows, .reduce_kind = REDUCE_OR),
            ON(matrix, words, matrix), "n: scatter does not take f32[4,6]");
}

TEST(sorts_and_tuples)
{
    int tuple = graph_tuple(&r.g, (int[]){matrix, words}, 2);

    refused(NODE(.op = HLO_TOP_K, .count = 7), ON(matrix), "n: the 7 largest of 6 elements");
    refused(NODE(.op = HLO_SORT, .dim = 2), ON(matrix), "n: dimension 2 is not in 0..1");
    refused(NODE(.op = HLO_SORT, .direction = COMPARE_EQ), ON(matrix), "n: sorts by LT or GT");
    refused(NODE(.op = HLO_SORT, .direction = COMPARE_LT), ON(matrix, words),
            "n: shapes f32[4,6] and s32[3,1] do not fit");
    refused(NODE(.op = HLO_SORT), ON(truth), "n: sort does not take pred[4,6]");
    refused(NODE(.op = HLO_GET_TUPLE_ELEMENT), ON(matrix), "n: p0 is one array, not a tuple");
    refused(NODE(.op = HLO_GET_TUPLE_ELEMENT, .dim = 2), ON(tuple),
            "n: result 2 of tuple.9 is not in 0..1");
    accepted(NODE(.op = HLO_GET_TUPLE_ELEMENT, .dim = 1), ON(tuple), "s32[3,1]");
}

TEST(calls)
{
    struct graph body, condition;
    int x, choice = graph_constant(&r.g, shape_scalar(DTYPE_PRED), 1);

    graph_init(&body, &r.arena, "body");
    graph_init(&condition, &r.arena, "condition");
    refused(NODE(.op = HLO_FUSION), ON(matrix), "n: has no computation to call");
    refused(NODE(.op = HLO_FUSION, .called = {&body}), ON(matrix),
            "n: 1 operands, but body has 0 parameters");
    x = graph_parameter(&body, r.g.node[matrix].shape, "x");
    refused(NODE(.op = HLO_FUSION, .called = {&body}), ON(matrix), "n: body has no output");
    graph_output(&body, graph_reduce(&body, REDUCE_ADD, x, 1), "y", -1);
    refused(NODE(.op = HLO_FUSION, .called = {&body}), ON(cube),
            "n: operand 0 is f32[2,4,6], but parameter 0 of body is f32[4,6]");
    accepted(NODE(.op = HLO_FUSION, .called = {&body}), ON(matrix), "f32[6]");
    refused(NODE(.op = HLO_WHILE, .called = {&body}), ON(matrix),
            "n: shapes f32[4,6] and f32[6] do not fit");
    refused(NODE(.op = HLO_WHILE, .called = {&body}, .count = -1), ON(matrix), "n: -1 trips");
    body.output[0].node = x;
    graph_output(&condition, graph_parameter(&condition, r.g.node[matrix].shape, "x"), "c", -1);
    refused(NODE(.op = HLO_WHILE, .called = {&body, &condition}), ON(matrix),
            "n: condition must have one scalar predicate as its result");
    refused(NODE(.op = HLO_CONDITIONAL, .called = {&body, &body}), ON(matrix, matrix),
            "n: operand 0 must be a scalar predicate");
    refused(NODE(.op = HLO_CONDITIONAL, .called = {&body}), ON(choice, matrix),
            "n: has one branch, two are needed");
    refused(NODE(.op = HLO_CONDITIONAL, .called = {&body, &condition}), ON(choice, cube),
            "n: operand 1 is f32[2,4,6], but parameter 0 of body is f32[4,6]");
    accepted(NODE(.op = HLO_CONDITIONAL, .called = {&body, &condition}), ON(choice, matrix),
             "f32[4,6]");
    graph_output(&body, x, "again", -1);
    refused(NODE(.op = HLO_CONDITIONAL, .called = {&body, &condition}), ON(choice, matrix),
            "n: body has 2 outputs, but condition has 1");
    refused(NODE(.op = HLO_WHILE, .called = {&body}), ON(matrix),
            "n: 1 operands, but body has 2 outputs");
    graph_fini(&body);
    graph_fini(&condition);
}

static void assert_unverified(const char *text)
{
    struct err e;

    assert_int_equal(graph_verify(&r.g, &e), -1);
    assert_string_equal(e.msg, text);
}

TEST(the_verifier_looks_into_tuples_and_calls)
{
    struct graph body;
    int top = graph_top_k(&r.g, matrix, 2), value = graph_tuple_element(&r.g, top, 0), call;
    struct shape broken[2] = {r.g.node[top].tuple[0], r.g.node[top].tuple[0]};
    const struct shape *tuple = r.g.node[top].tuple;

    r.g.node[top].tuple = broken;
    assert_unverified("topk.9: result 1 is f32[4,2], but its operands make it s32[4,2]");
    r.g.node[top].tuple = tuple;
    r.g.node[top].tuple_count = 0;
    assert_unverified("topk.9: a tuple of 0 results, but it has 2");
    r.g.node[top].tuple_count = 2;
    r.g.node[value].op = HLO_COPY;
    assert_unverified("get-tuple-element.10: operand 0, topk.9, has several results; "
                      "get-tuple-element takes one");
    r.g.node[value].op = HLO_GET_TUPLE_ELEMENT;
    graph_output(&r.g, value, "out", -1);
    r.g.output[0].node = top;
    assert_unverified("output out: topk.9 has several results; get-tuple-element takes one");
    r.g.output[0].node = value;
    graph_init(&body, &r.arena, "body");
    graph_output(&body, graph_unary(&body, HLO_EXP, graph_parameter(
                     &body, r.g.node[matrix].shape, "x")), "y", -1);
    call = graph_fusion(&r.g, &matrix, 1, &body);
    body.node[1].source = NULL;
    assert_unverified("fusion.11: in body: exponential.1: no source");
    r.g.node[call].op = HLO_COPY;
    graph_fini(&body);
}

/* one attribute apart: nothing is merged; nothing apart: all are */
TEST(equal_operations_with_large_attributes_become_one)
{
    struct graph_window w[2] = {three, three};
    struct graph_conv c = nhwc;
    float literal[2] = {1, 2};
    struct shape two = shape_make(DTYPE_F32, DIMS(2));
    struct err e;

    for (int round = 0; round < 2; round++) {
        int64_t one[2] = {1, 1}, four[2] = {4, 6};

        graph_output(&r.g, graph_convolution(&r.g, image, kernel, w, &c, DTYPE_F32,
                                             PRECISION_DEFAULT), "conv", -1);
        graph_output(&r.g, graph_slice(&r.g, matrix, one, four, NULL), "slice", -1);
        graph_output(&r.g, graph_literal(&r.g, two, literal), "literal", -1);
        graph_output(&r.g, graph_rng_bits(&r.g, two, scalar, 3), "bits", -1);
    }
    w[1].pad_low = 1;
    literal[1] = 3;
    graph_output(&r.g, graph_convolution(&r.g, image, kernel, w, &c, DTYPE_F32,
                                         PRECISION_DEFAULT), "conv", -1);
    graph_output(&r.g, graph_literal(&r.g, two, literal), "literal", -1);
    graph_output(&r.g, graph_rng_bits(&r.g, two, scalar, 4), "bits", -1);
    graph_eliminate_common(&r.g);
    assert_int_equal(graph_verify(&r.g, &e), 0);
    assert_int_equal(r.g.node_count, r.g.parameter_count + 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(elementwise_types), UNIT(sources), UNIT(moves), UNIT(dots), UNIT(convolutions),
        UNIT(groups_must_divide), UNIT(reductions_and_windows), UNIT(dynamic_slices),
        UNIT(gathers_and_scatters), UNIT(sorts_and_tuples), UNIT(calls),
        UNIT(the_verifier_looks_into_tuples_and_calls),
        UNIT(equal_operations_with_large_attributes_become_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
