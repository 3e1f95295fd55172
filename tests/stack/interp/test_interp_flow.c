/*
 * Loops that a condition ends and conditionals in the reference interpreter: alone, in each other,
 * and where devices go different ways.
 */
#include "stack/hlo/rewrite.h"
#include "tests/rigs/graph_rig.h"
#include "tests/test.h"

#include <string.h>

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
#define EXPECT(node, ...) \
    grig_expect(grig_run(&r, node), (double[]){__VA_ARGS__}, \
                (int64_t)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), 0.0)
#define SCALAR(dtype, value) grig_parameter(&r, dtype, 0, NULL, &(double){value})

static struct graph *new_graph(const char *name)
{
    struct graph *g = arena_alloc(&r.arena, sizeof(*g));

    graph_init(g, &r.arena, name);
    return g;
}

/* nothing more will be added: what it has is the arena's */
static struct graph *whole(struct graph *g)
{
    graph_freeze(g);
    return g;
}

static int s32_parameter(struct graph *g, const char *name)
{
    return graph_parameter(g, shape_scalar(DTYPE_S32), name);
}

static int constant(struct graph *g, double value)
{
    return graph_constant(g, shape_scalar(DTYPE_S32), value);
}

/* (x, n) -> (x * factor, n + 1) */
static struct graph *multiply_and_count(int factor)
{
    struct graph *g = new_graph("body");
    int x = s32_parameter(g, "x"), n = s32_parameter(g, "n");

    graph_output(g, graph_binary(g, HLO_MULTIPLY, x, constant(g, factor)), "x", -1);
    graph_output(g, graph_binary(g, HLO_ADD, n, constant(g, 1)), "n", -1);
    return whole(g);
}

/* (x, n) -> x < limit */
static struct graph *is_below(int limit)
{
    struct graph *g = new_graph("condition");
    int x = s32_parameter(g, "x");

    s32_parameter(g, "n");
    graph_output(g, graph_compare(g, COMPARE_LT, x, constant(g, limit)), "goes_on", -1);
    return whole(g);
}

TEST(a_condition_ends_a_loop)
{
    int x = SCALAR(DTYPE_S32, 3), n = SCALAR(DTYPE_S32, 0), all;

    all = graph_while_condition(&r.g, (int[]){x, n}, 2, multiply_and_count(2), is_below(40));
    EXPECT(graph_tuple_element(&r.g, all, 0), 48);
    EXPECT(graph_tuple_element(&r.g, all, 1), 4);
}

TEST(a_loop_may_run_no_trip)
{
    int x = SCALAR(DTYPE_S32, 41), n = SCALAR(DTYPE_S32, 0), all;

    all = graph_while_condition(&r.g, (int[]){x, n}, 2, multiply_and_count(2), is_below(40));
    EXPECT(graph_tuple_element(&r.g, all, 0), 41);
    EXPECT(graph_tuple_element(&r.g, all, 1), 0);
}

static struct graph *times(int factor)
{
    struct graph *g = new_graph("times");

    graph_output(g, graph_binary(g, HLO_MULTIPLY, s32_parameter(g, "x"), constant(g, factor)), "y",
                 -1);
    return whole(g);
}

TEST(a_predicate_chooses_one_of_two)
{
    int x = SCALAR(DTYPE_S32, 7), yes = SCALAR(DTYPE_PRED, 1), no = SCALAR(DTYPE_PRED, 0);

    EXPECT(graph_conditional(&r.g, yes, &x, 1, times(2), times(3)), 14);
    EXPECT(graph_conditional(&r.g, no, &x, 1, times(2), times(3)), 21);
}

TEST(a_number_chooses_one_of_several_and_the_last_where_there_is_no_such)
{
    static const int numbers[] = {0, 1, 2, 3, 4, -1};
    static const double expected[] = {2, 3, 5, 7, 7, 7};
    const struct graph *branch[4] = {times(2), times(3), times(5), times(7)};
    int x = SCALAR(DTYPE_S32, 1);

    for (int i = 0; i < 6; i++)
        grig_expect(grig_run(&r, graph_switch(&r.g, SCALAR(DTYPE_S32, numbers[i]), &x, 1, branch, 4)),
                    &expected[i], 1, 0.0);
    EXPECT(graph_switch(&r.g, SCALAR(DTYPE_S32, 5), &x, 1, branch, 1), 2);
    EXPECT(graph_switch(&r.g, SCALAR(DTYPE_S32, 0), &x, 1, branch, 2), 2);
    EXPECT(graph_switch(&r.g, SCALAR(DTYPE_S32, 1), &x, 1, branch, 2), 3);
}

/* Collatz: x even ? x / 2 : 3 x + 1, until 1; how often */
TEST(a_conditional_in_a_loop)
{
    struct graph *body = new_graph("step"), *half = new_graph("half"), *up = new_graph("up");
    struct graph *condition = new_graph("condition");
    int x = s32_parameter(body, "x"), n = s32_parameter(body, "n"), even, all;

    graph_output(half, graph_binary(half, HLO_DIVIDE, s32_parameter(half, "x"), constant(half, 2)),
                 "y", -1);
    graph_output(up, graph_binary(up, HLO_ADD, constant(up, 1),
                                  graph_binary(up, HLO_MULTIPLY, s32_parameter(up, "x"),
                                               constant(up, 3))), "y", -1);
    whole(half);
    whole(up);
    even = graph_compare(body, COMPARE_EQ, constant(body, 0),
                         graph_binary(body, HLO_REMAINDER, x, constant(body, 2)));
    graph_output(body, graph_conditional(body, even, &x, 1, half, up), "x", -1);
    graph_output(body, graph_binary(body, HLO_ADD, n, constant(body, 1)), "n", -1);
    graph_output(condition, graph_compare(condition, COMPARE_NE, s32_parameter(condition, "x"),
                                          constant(condition, 1)), "goes_on", -1);
    s32_parameter(condition, "n");
    all = graph_while_condition(&r.g, (int[]){SCALAR(DTYPE_S32, 27), SCALAR(DTYPE_S32, 0)}, 2,
                                whole(body), whole(condition));
    EXPECT(graph_tuple_element(&r.g, all, 0), 1);
    EXPECT(graph_tuple_element(&r.g, all, 1), 111);
}

/* by device: its number of trips, and what its branch makes of it */
static int run_on_devices(int count, int32_t *result, struct err *e)
{
    struct interp_value none = {NULL}, output[4];
    const struct interp_value *input[4] = {&none, &none, &none, &none};
    struct interp_value *outputs[4] = {&output[0], &output[1], &output[2], &output[3]};
    int status = interp_run_devices(&r.g, INTERP_DOT_F32, count, input, outputs, &r.arena, e);

    for (int d = 0; d < count && status == 0; d++)
        result[d] = *(const int32_t *)output[d].data;
    return status;
}

TEST(devices_go_their_own_ways)
{
    static const int32_t expected[4] = {48, 64, 32 * 3, 48};
    int32_t result[4] = {0};
    struct err e;
    int id = graph_convert(&r.g, graph_partition_id(&r.g), DTYPE_S32), x, all, is_low;

    x = graph_binary(&r.g, HLO_ADD, id, constant(&r.g, 0));
    x = graph_binary(&r.g, HLO_ADD, x, constant(&r.g, 3));      /* 3, 4, 5, 6 */
    x = graph_select(&r.g, graph_compare(&r.g, COMPARE_EQ, x, constant(&r.g, 5)),
                     constant(&r.g, 16), x);                    /* 3, 4, 16, 6 */
    all = graph_while_condition(&r.g, (int[]){x, id}, 2, multiply_and_count(2), is_below(25));
    x = graph_tuple_element(&r.g, all, 0);                      /* 48, 32, 32, 48 */
    is_low = graph_compare(&r.g, COMPARE_LT, id, constant(&r.g, 2));
    is_low = graph_binary(&r.g, HLO_AND, is_low,
                          graph_compare(&r.g, COMPARE_EQ, x, constant(&r.g, 32)));
    x = graph_conditional(&r.g, is_low, &x, 1, times(2), times(1));
    is_low = graph_compare(&r.g, COMPARE_EQ, id, constant(&r.g, 2));
    graph_output(&r.g, graph_conditional(&r.g, is_low, &x, 1, times(3), times(1)), "y", -1);
    assert_int_equal(run_on_devices(4, result, &e), 0);
    assert_memory_equal(result, expected, sizeof(expected));
}

TEST(a_sum_over_devices_on_one_way_alone_is_refused)
{
    struct graph *sums = new_graph("sums");
    int32_t result[4];
    struct err e;
    int id = graph_convert(&r.g, graph_partition_id(&r.g), DTYPE_S32), is_first;

    graph_output(sums, graph_convert(sums, graph_all_reduce(sums, graph_convert(
                     sums, s32_parameter(sums, "x"), DTYPE_F32)), DTYPE_S32), "y", -1);
    is_first = graph_compare(&r.g, COMPARE_LT, id, constant(&r.g, 1));
    graph_output(&r.g, graph_conditional(&r.g, is_first, &id, 1, whole(sums), times(1)), "y", -1);
    assert_int_equal(run_on_devices(1, result, &e), 0);
    assert_int_equal(run_on_devices(2, result, &e), -1);
    assert_non_null(strstr(e.msg, "devices 0 and 1 go different ways"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_condition_ends_a_loop), UNIT(a_loop_may_run_no_trip),
        UNIT(a_predicate_chooses_one_of_two),
        UNIT(a_number_chooses_one_of_several_and_the_last_where_there_is_no_such),
        UNIT(a_conditional_in_a_loop), UNIT(devices_go_their_own_ways),
        UNIT(a_sum_over_devices_on_one_way_alone_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
