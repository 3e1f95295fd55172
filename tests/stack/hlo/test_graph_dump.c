/* The text of each operation, compared with the forms that HLO's grammar has. */
#include "tests/rigs/graph_rig.h"
#include "tests/test.h"

#include "base/units.h"

static struct graph_rig r;

static int set_up(void **state)
{
    (void)state;
    grig_init(&r);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    grig_fini(&r);
    return 0;
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static int f32(int rank, const int64_t *dim)
{
    return grig_parameter(&r, DTYPE_F32, rank, dim, NULL);
}

/* each of the lines is in the dump, in this order */
static void dumps(const char *const *lines, size_t count)
{
    char *text;
    const char *at;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);

    graph_dump(&r.g, to);
    fclose(to);
    at = text;
    for (size_t i = 0; i < count; i++) {
        at = strstr(at, lines[i]);
        if (!at)
            fail_msg("no \"%s\" there in\n%s", lines[i], text);
    }
    free(text);
}

#define DUMPS(...) \
    dumps((const char *const[]){__VA_ARGS__}, COUNT_OF(((const char *const[]){__VA_ARGS__})))

static struct graph_window window(int64_t size, int64_t stride, int64_t low, int64_t high)
{
    return (struct graph_window){.size = size, .stride = stride, .pad_low = low,
                                 .pad_high = high, .base_dilation = 1, .window_dilation = 1};
}

TEST(constants)
{
    struct shape s = shape_make(DTYPE_S32, DIMS(2, 2)), b = shape_make(DTYPE_PRED, DIMS(3));

    graph_literal(&r.g, s, (int32_t[]){1, -2, 3, 4});
    graph_literal(&r.g, b, (int32_t[]){1, 0, 1});
    graph_constant(&r.g, shape_scalar(DTYPE_U32), 4294967295.0);
    graph_constant(&r.g, shape_scalar(DTYPE_BF16), 1.0 / 0.0);
    graph_constant(&r.g, shape_scalar(DTYPE_F32), 0.0 / 0.0);
    graph_constant(&r.g, s, 7);
    DUMPS("%constant.0 = s32[2,2] constant({ {1, -2}, {3, 4} })\n",
          "%constant.1 = pred[3] constant({true, false, true})\n",
          "%constant.2 = u32[] constant(4294967295)\n", "%constant.3 = bf16[] constant(inf)\n",
          "%constant.4 = f32[] constant(nan)\n", "%constant.5.value = s32[] constant(7)\n"
          "  %constant.5 = s32[2,2] broadcast(%constant.5.value), dimensions={}\n");
}

TEST(moves)
{
    int x = f32(DIMS(4, 6)), zero = graph_constant(&r.g, shape_scalar(DTYPE_F32), 0);

    graph_slice(&r.g, x, (int64_t[]){1, 0}, (int64_t[]){4, 6}, (int64_t[]){2, 1});
    graph_pad(&r.g, x, zero, (int64_t[]){-1, 2}, (int64_t[]){0, 3}, (int64_t[]){0, 1});
    graph_concatenate(&r.g, (int[]){x, x}, 2, 1);
    graph_reverse(&r.g, x, (int[]){1, 0}, 2);
    graph_iota(&r.g, shape_make(DTYPE_U8, DIMS(3)), 0);
    DUMPS("slice(%p0), slice={[1:4:2], [0:6]}\n", "pad(%p0, %constant.1), padding=-1_0x2_3_1\n",
          "concatenate(%p0, %p0), dimensions={1}\n", "reverse(%p0), dimensions={1,0}\n",
          "%iota.6 = u8[3] iota(), iota_dimension=0\n");
}

TEST(products)
{
    struct graph_dot d = {.batch_count = 1, .contract_count = 1, .lhs_contract = {2},
                          .rhs_contract = {1}};
    struct graph_conv c = {.spatial_count = 2, .in_batch = 3, .in_feature = 0,
                           .in_spatial = {1, 2}, .kernel_in = 0, .kernel_out = 3,
                           .kernel_spatial = {1, 2}, .out_batch = 2, .out_feature = 3,
                           .out_spatial = {0, 1}, .feature_groups = 1, .batch_groups = 1};
    struct graph_conv flat = {.in_feature = 1, .kernel_out = 1, .out_feature = 1,
                              .feature_groups = 2, .batch_groups = 1};
    struct graph_window w[2] = {window(2, 1, -1, 2), window(3, 2, 0, 0)};
    int a = f32(DIMS(2, 3, 4)), b = f32(DIMS(2, 4, 5)), x = f32(DIMS(3, 5, 5, 2));
    int k = f32(DIMS(3, 2, 3, 7)), m = f32(DIMS(3, 4)), n = f32(DIMS(2, 6));

    w[1].base_dilation = 2;
    w[1].is_reversed = true;
    graph_dot_general(&r.g, a, b, &d, DTYPE_F32, PRECISION_HIGH);
    graph_convolution(&r.g, x, k, w, &c, DTYPE_F32, PRECISION_DEFAULT);
    graph_convolution(&r.g, m, n, NULL, &flat, DTYPE_F32, PRECISION_DEFAULT);
    DUMPS("f32[2,3,5] dot(%p0, %p1), lhs_batch_dims={0}, rhs_batch_dims={0}, "
          "lhs_contracting_dims={2}, rhs_contracting_dims={1}, operand_precision={high,high}\n",
          "convolution(%p2, %p3), window={size=2x3 stride=1x2 lhs_dilate=1x2 rhs_reversal=0x1 "
          "pad=-1_2x0_0}, dim_labels=f01b_i01o->01bf\n",
          "f32[3,6] convolution(%p4, %p5), dim_labels=bf_io->bf, feature_group_count=2\n");
}

TEST(reductions_get_starts_and_computations)
{
    int x = f32(DIMS(4, 6)), p = grig_parameter(&r, DTYPE_PRED, DIMS(4), NULL);

    graph_reduce(&r.g, REDUCE_MAX, x, 2);
    graph_reduce(&r.g, REDUCE_AND, p, 1);
    graph_reduce(&r.g, REDUCE_ARGMIN, x, 2);
    graph_all_reduce(&r.g, x);
    DUMPS("%combine.add.f32 {\n", "%combine.maximum.f32 {\n", "ROOT %both = f32[] maximum(%a, %b)",
          "%combine.and.pred {\n", "%combine.argmin.f32 {\n", "direction=LT",
          "ROOT %pair = (f32[], s32[]) tuple(%value, %index)\n", "ENTRY",
          "%reduce.2.init = f32[] constant(-inf)\n",
          "%reduce.2 = f32[4] reduce(%p0, %reduce.2.init), dimensions={1}, "
          "to_apply=%combine.maximum.f32\n", "%reduce.3.init = pred[] constant(true)\n",
          "%reduce.4.init = f32[] constant(inf)\n",
          "%reduce.4.indices = s32[4,6] iota(), iota_dimension=1\n",
          "%reduce.4.zero = s32[] constant(0)\n",
          "%reduce.4.all = (f32[4], s32[4]) reduce(%p0, %reduce.4.indices, %reduce.4.init, "
          "%reduce.4.zero), dimensions={1}, to_apply=%combine.argmin.f32\n",
          "%reduce.4 = s32[4] get-tuple-element(%reduce.4.all), index=1\n",
          "all-reduce(%p0), to_apply=%combine.add.f32\n");
}

TEST(windows)
{
    struct graph_window w[2] = {window(1, 1, 0, 0), window(3, 2, 1, 1)};
    int x = f32(DIMS(4, 6)), s = f32(DIMS(4, 3));

    graph_reduce_window(&r.g, REDUCE_ADD, x, w);
    graph_select_and_scatter(&r.g, COMPARE_GE, x, s, w);
    DUMPS("%select.GE.f32 {\n", "ROOT %first = pred[] compare(%a, %b), direction=GE\n",
          "reduce-window(%p0, %reduce-window.2.init), window={size=1x3 stride=1x2 pad=0_0x1_1}, "
          "to_apply=%combine.add.f32\n",
          "select-and-scatter(%p0, %p1, %select-and-scatter.3.init), window={size=1x3 stride=1x2 "
          "pad=0_0x1_1}, select=%select.GE.f32, scatter=%combine.add.f32\n");
}

TEST(indices)
{
    int x = f32(DIMS(4, 6)), at = grig_parameter(&r, DTYPE_S32, DIMS(3, 1), NULL);
    int i = grig_parameter(&r, DTYPE_S32, 0, NULL, RIG_VALUES(0)), u = f32(DIMS(3, 6));
    struct graph_gather d = {.offset_count = 1, .offset_dims = {1}, .collapsed_count = 1,
                             .map_count = 1, .index_vector_dim = 1, .slice_sizes = {1, 6}};

    graph_dynamic_slice(&r.g, x, (int[]){i, i}, (int64_t[]){2, 3});
    graph_dynamic_update_slice(&r.g, x, u, (int[]){i, i});
    graph_gather(&r.g, x, at, &d);
    graph_scatter(&r.g, REDUCE_REPLACE, x, at, u, &d);
    DUMPS("%combine.replace.f32 {\n", "ROOT %b = f32[] parameter(1)\n",
          "dynamic-slice(%p0, %p2, %p2), dynamic_slice_sizes={2,3}\n",
          "dynamic-update-slice(%p0, %p3, %p2, %p2)\n",
          "gather(%p0, %p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
          "index_vector_dim=1, slice_sizes={1,6}\n",
          "scatter(%p0, %p1, %p3), update_window_dims={1}, inserted_window_dims={0}, "
          "scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
          "to_apply=%combine.replace.f32\n");
}

TEST(sorts_and_random_bits)
{
    int x = f32(DIMS(4, 6)), y = grig_parameter(&r, DTYPE_S32, DIMS(4, 6), NULL);
    int seed = grig_parameter(&r, DTYPE_S32, 0, NULL, RIG_VALUES(0));
    int sorted = graph_sort(&r.g, (int[]){x, y}, 2, 1, COMPARE_GT);

    graph_tuple_element(&r.g, sorted, 1);
    graph_top_k(&r.g, x, 2);
    graph_rng_bits(&r.g, shape_make(DTYPE_U32, DIMS(5)), seed, 9);
    DUMPS("%sort.3.comparator {\n", "%b.1 = s32[] parameter(3)\n",
          "ROOT %before = pred[] compare(%a.0, %b.0), direction=GT\n",
          "%sort.3 = (f32[4,6], s32[4,6]) sort(%p0, %p1), dimensions={1}, is_stable=true, "
          "to_apply=%sort.3.comparator\n", "s32[4,6] get-tuple-element(%sort.3), index=1\n",
          "(f32[4,2], s32[4,2]) topk(%p0), k=2, largest=true\n",
          "%rng-bit-generator.6.seed = u32[] bitcast-convert(%p2)\n",
          "%rng-bit-generator.6.stream = u32[3] constant({9, 0, 0})\n",
          "%rng-bit-generator.6.all = (u32[4], u32[5]) "
          "rng-bit-generator(%rng-bit-generator.6.state), algorithm=rng_default\n",
          "%rng-bit-generator.6 = u32[5] get-tuple-element(%rng-bit-generator.6.all), index=1\n");
}

TEST(a_loop_carries_a_counter_and_a_fusion_is_bare)
{
    struct graph body;
    int x = f32(DIMS(3)), a;

    graph_init(&body, &r.arena, "body");
    a = graph_parameter(&body, r.g.node[x].shape, "a");
    graph_output(&body, graph_unary(&body, HLO_EXP, a), "e", -1);
    graph_while(&r.g, &x, 1, &body, 5);
    graph_fusion(&r.g, &x, 1, &body);
    DUMPS("%while.1.body {\n  %state = (f32[3], s32[]) parameter(0)\n"
          "  %a = f32[3] get-tuple-element(%state), index=0\n"
          "  %exponential.1 = f32[3] exponential(%a)\n"
          "  %trip = s32[] get-tuple-element(%state), index=1\n",
          "ROOT %results = (f32[3], s32[]) tuple(%exponential.1, %next_trip)\n}\n",
          "%while.1.condition {\n  %state = (f32[3], s32[]) parameter(0)\n", "constant(5)\n",
          "ROOT %goes_on = pred[] compare(%trip, %trips), direction=LT\n",
          "%fusion.2.computation {\n  %a = f32[3] parameter(0)\n"
          "  ROOT %exponential.1 = f32[3] exponential(%a)\n}\n",
          "%while.1.state = (f32[3], s32[]) tuple(%p0, %while.1.zero)\n",
          "%while.1.all = (f32[3], s32[]) while(%while.1.state), condition=%while.1.condition, "
          "body=%while.1.body, backend_config={\"known_trip_count\":{\"n\":\"5\"}}\n",
          "%while.1 = f32[3] get-tuple-element(%while.1.all), index=0\n",
          "%fusion.2 = f32[3] fusion(%p0), kind=kLoop, calls=%fusion.2.computation\n");
    graph_fini(&body);
}

TEST(a_condition_and_branches_are_computations_of_one_tuple)
{
    struct graph body, condition;
    int x = f32(0, NULL), a, b, p;

    graph_init(&body, &r.arena, "body");
    a = graph_parameter(&body, r.g.node[x].shape, "a");
    graph_output(&body, graph_unary(&body, HLO_EXP, a), "e", -1);
    graph_init(&condition, &r.arena, "condition");
    b = graph_parameter(&condition, r.g.node[x].shape, "b");
    graph_output(&condition, graph_compare(&condition, COMPARE_LT, b, b), "c", -1);
    graph_while_condition(&r.g, &x, 1, &body, &condition);
    p = graph_compare(&r.g, COMPARE_EQ, x, x);
    graph_conditional(&r.g, p, &x, 1, &body, &body);
    DUMPS("%while.1.body {\n  %state = (f32[]) parameter(0)\n"
          "  %a = f32[] get-tuple-element(%state), index=0\n"
          "  %exponential.1 = f32[] exponential(%a)\n"
          "  ROOT %results = (f32[]) tuple(%exponential.1)\n}\n",
          "%while.1.condition {\n  %state = (f32[]) parameter(0)\n"
          "  %b = f32[] get-tuple-element(%state), index=0\n"
          "  ROOT %compare.1 = pred[] compare(%b, %b), direction=LT\n}\n",
          "%conditional.3.true {\n  %state = (f32[]) parameter(0)\n"
          "  %a = f32[] get-tuple-element(%state), index=0\n"
          "  ROOT %exponential.1 = f32[] exponential(%a)\n}\n", "%conditional.3.false {\n",
          "%while.1.state = (f32[]) tuple(%p0)\n"
          "  %while.1.all = (f32[]) while(%while.1.state), condition=%while.1.condition, "
          "body=%while.1.body\n  %while.1 = f32[] get-tuple-element(%while.1.all), index=0\n",
          "%conditional.3.state = (f32[]) tuple(%p0)\n"
          "  %conditional.3 = f32[] conditional(%compare.2, %conditional.3.state, "
          "%conditional.3.state), true_computation=%conditional.3.true, "
          "false_computation=%conditional.3.false\n");
    graph_fini(&body);
    graph_fini(&condition);
}

TEST(what_hlo_has_otherwise_is_said_in_its_way)
{
    struct graph_dot d = {.contract_count = 1, .lhs_contract = {1}, .has_order = 1, .order = {1, 0}};
    static const int32_t numbers[] = {4, 7};
    int a = f32(DIMS(2, 3)), b = f32(DIMS(3, 5)), quoted, number;

    graph_dot_general(&r.g, a, b, &d, DTYPE_F32, PRECISION_DEFAULT);
    number = graph_partition_id(&r.g);
    r.g.node[number].literal = numbers;
    r.g.node[number].count = 2;
    quoted = graph_unary(&r.g, HLO_EXP, a);
    r.g.node[quoted].name = "part{1}";
    r.g.node[quoted].source = "say \"exp\"";
    DUMPS("%dot.2.product = f32[2,5] dot(%p0, %p1), lhs_contracting_dims={1}, "
          "rhs_contracting_dims={0}\n"
          "  %dot.2 = f32[5,2] transpose(%dot.2.product), dimensions={1,0}\n",
          "%partition-id.3.id = u32[] partition-id()\n"
          "  %partition-id.3.by_device = u32[2] constant({4, 7})\n"
          "  %partition-id.3.its = u32[1] dynamic-slice(%partition-id.3.by_device, "
          "%partition-id.3.id), dynamic_slice_sizes={1}\n"
          "  %partition-id.3 = u32[] reshape(%partition-id.3.its)\n",
          "%part.1 = f32[2,3] exponential(%p0), metadata={op_name=\"say \\\"exp\\\"\"}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(constants), UNIT(moves), UNIT(products), UNIT(reductions_get_starts_and_computations),
        UNIT(windows), UNIT(indices), UNIT(sorts_and_random_bits),
        UNIT(a_loop_carries_a_counter_and_a_fusion_is_bare),
        UNIT(a_condition_and_branches_are_computations_of_one_tuple),
        UNIT(what_hlo_has_otherwise_is_said_in_its_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
