/*
 * Operations between devices in the graph: shapes and what is refused, the text, what several
 * devices get in the interpreter, and gradients against central differences of the sum of all
 * devices' losses.
 */
#include "stack/hlo/graph_shape.h"
#include "stack/interp/interp.h"
#include "tests/rigs/one_graph.h"
#include "tests/test.h"

#include "base/floats.h"
#include "base/rng.h"
#include "base/units.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES_MAX 8

static const int32_t across[] = {0, 2, 4, 6, 1, 3, 5, 7}, turned[] = {3, 1, 0, 2};
static const struct graph_groups halves = {2, 4, across}, pairs = {2, 2, turned}, four = {1, 4, 0};

static int parameter(enum graph_dtype dtype, int64_t rows, int64_t columns)
{
    return graph_parameter(&g, shape_make(dtype, 2, (int64_t[]){rows, columns}),
                           arena_printf(&arena, "p%d", g.parameter_count));
}

static void assert_shape(int node, const char *text)
{
    char buf[96];

    assert_string_equal(shape_print(&g.node[node].shape, buf, sizeof(buf)), text);
}

TEST(blocks_are_along_a_dimension)
{
    int x = parameter(DTYPE_F32, 16, 12), y = parameter(DTYPE_BF16, 4, 4), both[] = {x, y}, t;
    struct err e;

    assert_shape(graph_reduce_scatter(&g, &x, 1, 0, &halves), "f32[4,12]");
    assert_shape(graph_reduce_scatter(&g, &x, 1, 1, &four), "f32[16,3]");
    assert_shape(graph_all_gather(&g, &y, 1, 0, &pairs), "bf16[8,4]");
    assert_shape(graph_all_reduce_groups(&g, &x, 1, &pairs), "f32[16,12]");
    assert_shape(graph_collective_permute(&g, x, (struct graph_pair[]){{0, 1}}, 1), "f32[16,12]");
    assert_shape(graph_partition_id(&g), "u32[]");
    t = graph_all_gather(&g, both, 2, 1, &four);
    assert_shape(graph_tuple_element(&g, t, 0), "f32[16,48]");
    assert_shape(graph_tuple_element(&g, t, 1), "bf16[4,16]");
    assert_int_equal(graph_verify(&g, &e), 0);
}

static void refused(struct graph_node n, int operand, const char *text)
{
    struct shape out;
    struct err e;

    n.name = "n";
    n.operand = &operand;
    n.operand_count = operand >= 0;
    if (graph_infer(&g, &n, &out, &e) == 0)
        fail_msg("nobody says \"%s\"", text);
    assert_string_equal(e.msg, text);
}

#define NODE(...) ((struct graph_node){__VA_ARGS__})
#define GROUPS(...) (&(struct graph_groups){__VA_ARGS__})
#define PAIRS(...) \
    .op = HLO_COLLECTIVE_PERMUTE, .count = 2, .pair = (struct graph_pair[]) __VA_ARGS__

TEST(groups_and_pairs_that_are_none)
{
    int x = parameter(DTYPE_F32, 6, 12), p = parameter(DTYPE_PRED, 4, 4);

    refused(NODE(.op = HLO_ALL_GATHER), x, "n: all-gather needs its groups of devices");
    refused(NODE(.op = HLO_ALL_GATHER, .groups = GROUPS(0, 4, NULL)), x, "n: 0 groups of 4 devices");
    refused(NODE(.op = HLO_ALL_GATHER, .groups = GROUPS(1 << 12, 1 << 12, NULL)), x,
            "n: 4096 groups of 4096 devices");
    refused(NODE(.op = HLO_ALL_REDUCE, .groups = GROUPS(2, 4, NULL)), x,
            "n: 2 groups, but no list of who is in them");
    refused(NODE(.op = HLO_ALL_REDUCE, .groups = GROUPS(2, 2, (int32_t[]){0, 1, 2, 2})), x,
            "n: 2 groups of 2 have each device of 0..3 once, but place 3 is 2");
    refused(NODE(.op = HLO_ALL_REDUCE, .groups = GROUPS(1, 2, (int32_t[]){0, 2})), x,
            "n: 1 groups of 2 have each device of 0..1 once, but place 1 is 2");
    refused(NODE(.op = HLO_REDUCE_SCATTER, .groups = &four), x,
            "n: dimension 0 of f32[6,12] is no multiple of the 4 devices of a group");
    refused(NODE(.op = HLO_REDUCE_SCATTER, .dim = 2, .groups = &four), x,
            "n: dimension 2 of f32[6,12]");
    refused(NODE(.op = HLO_REDUCE_SCATTER, .groups = &four), p,
            "n: reduce-scatter does not take pred[4,4]");
    refused(NODE(.op = HLO_ALL_TO_ALL, .groups = &four), x,
            "n: dimension 0 of f32[6,12] has not an entry for each of the 4 devices of a group");
    refused(NODE(PAIRS({{0, 1}, {2, -1}})), x, "n: pair 1 is from 2 to -1");
    refused(NODE(PAIRS({{0, 1}, {2, 1}})), x, "n: pairs 0 and 1 have the same target");
    refused(NODE(PAIRS({{2, 1}, {2, 3}})), x, "n: pairs 0 and 1 have the same source");
    refused(NODE(.op = HLO_PARTITION_ID), -1, "n: a device's number is a u32 scalar");
}

static void expect_text(const char *const *part, int count)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);

    graph_dump(&g, to);
    fclose(to);
    for (int i = 0; i < count; i++)
        if (!strstr(text, part[i]))
            fail_msg("no \"%s\" in\n%s", part[i], text);
    free(text);
}

TEST(text)
{
    int x = parameter(DTYPE_F32, 8, 8);
    const char *const parts[] = {
        "f32[8,4] reduce-scatter(%p0), replica_groups={{3,1},{0,2}}, dimensions={1}, "
        "to_apply=%combine.add.f32\n",
        "f32[32,8] all-gather(%p0), replica_groups={{0,1,2,3}}, dimensions={0}\n",
        "all-reduce(%p0), replica_groups={{3,1},{0,2}}, to_apply=%combine",
        "collective-permute(%p0), source_target_pairs={{0,1},{1,0}}\n", "u32[] replica-id()\n",
    };

    graph_reduce_scatter(&g, &x, 1, 1, &pairs);
    graph_all_gather(&g, &x, 1, 0, &four);
    graph_all_reduce_groups(&g, &x, 1, &pairs);
    graph_collective_permute(&g, x, (struct graph_pair[]){{0, 1}, {1, 0}}, 2);
    graph_replica_id(&g);
    expect_text(parts, COUNT_OF(parts));
}

/* who talks to whom must not depend on what else there is */
TEST(twice_the_same_stays_twice)
{
    int x = parameter(DTYPE_F32, 8, 8);

    for (int i = 0; i < 2; i++) {
        graph_output(&g, graph_all_gather(&g, &x, 1, 0, &four), "gather", -1);
        graph_output(&g, graph_reduce_scatter(&g, &x, 1, 0, &four), "scatter", -1);
        graph_output(&g, graph_partition_id(&g), "number", -1);
    }
    graph_eliminate_common(&g);
    assert_int_equal(g.node_count, 1 + 2 + 2 + 1);
}

/* ---- values ---- */

static struct interp_value in[DEVICES_MAX][4], out[DEVICES_MAX][8];

static void run_as(enum interp_dot dot, int devices)
{
    const struct interp_value *from[DEVICES_MAX];
    struct interp_value *to[DEVICES_MAX];
    struct err e;

    for (int d = 0; d < DEVICES_MAX; d++) {
        from[d] = in[d];
        to[d] = out[d];
    }
    if (graph_verify(&g, &e) || interp_run_devices(&g, dot, devices, from, to, &arena, &e))
        fail_msg("%s", e.msg);
}

static void fill(int devices)
{
    struct rng r;

    rng_init(&r, 7);
    for (int d = 0; d < devices; d++)
        for (int i = 0; i < g.parameter_count; i++) {
            const struct shape *s = &g.node[g.parameter[i]].shape;
            float *x = arena_array(&arena, (size_t)shape_elems(s), sizeof(*x));

            for (int64_t k = 0; k < shape_elems(s); k++) {
                x[k] = (float)((double)rng_below(&r, 2000001) / 1000000 - 1);
                if (s->dtype == DTYPE_BF16)
                    x[k] = f32_round_to_bf16(x[k]);
            }
            in[d][i].data = x;
        }
}

static float x_of(int device, int parameter_index, int64_t i)
{
    return ((const float *)in[device][parameter_index].data)[i];
}

static void expect(int device, int output, int64_t i, float value)
{
    float is = ((const float *)out[device][output].data)[i];

    if (!(is == value))
        fail_msg("device %d, output %d, element %d: %.9g, expected %.9g", device, output, (int)i,
                 (double)is, (double)value);
}

TEST(devices_get_their_blocks)
{
    enum { ROWS = 8, COLUMNS = 12 };
    int x = parameter(DTYPE_F32, ROWS, COLUMNS), y = parameter(DTYPE_BF16, ROWS, COLUMNS);

    graph_output(&g, graph_reduce_scatter(&g, &x, 1, 1, &halves), "scatter", -1);
    graph_output(&g, graph_all_gather(&g, &x, 1, 1, &halves), "gather", -1);
    graph_output(&g, graph_all_reduce_groups(&g, &y, 1, &halves), "sum", -1);
    graph_output(&g, graph_all_gather(&g, &x, 1, 0, &(struct graph_groups){1, 8, 0}), "all", -1);
    graph_output(&g, graph_convert(&g, graph_partition_id(&g), DTYPE_F32), "number", -1);
    fill(8);
    run_as(INTERP_DOT_F32, 8);
    for (int d = 0; d < 8; d++) {
        int rank = d / 2;               /* of {0 2 4 6} {1 3 5 7} */

        for (int i = 0; i < ROWS * COLUMNS; i++) {
            int row = i / COLUMNS, column = i % COLUMNS;
            float a = x_of(d % 2, 0, i), b = x_of(d % 2, 1, i);

            for (int r = 1; r < 4; r++) {
                a += x_of(2 * r + d % 2, 0, i);
                b = f32_round_to_bf16(b + x_of(2 * r + d % 2, 1, i));
            }
            if (column / 3 == rank)
                expect(d, 0, row * 3 + column % 3, a);
            for (int r = 0; r < 4; r++)
                expect(d, 1, row * 4 * COLUMNS + r * COLUMNS + column,
                       x_of(2 * r + d % 2, 0, i));
            expect(d, 2, i, b);
            for (int r = 0; r < 8; r++)
                expect(d, 3, r * ROWS * COLUMNS + i, x_of(r, 0, i));
        }
        expect(d, 4, 0, (float)d);
    }
}

TEST(entries_change_places_with_devices)
{
    int x = parameter(DTYPE_F32, 4, 3);

    graph_output(&g, graph_all_to_all(&g, x, &halves), "exchanged", -1);
    fill(8);
    run_as(INTERP_DOT_F32, 8);
    for (int d = 0; d < 8; d++)
        for (int i = 0; i < 12; i++)    /* entry i / 3 from that rank of {0 2 4 6} or {1 3 5 7} */
            expect(d, 0, i, x_of(i / 3 * 2 + d % 2, 0, d / 2 * 3 + i % 3));
}

TEST(who_gets_nothing_has_zeros)
{
    static const struct graph_pair chain[] = {{0, 1}, {1, 2}, {2, 3}};
    int x = parameter(DTYPE_F32, 3, 5);

    graph_output(&g, graph_collective_permute(&g, x, chain, COUNT_OF(chain)), "next", -1);
    fill(4);
    run_as(INTERP_DOT_F32, 4);
    for (int d = 0; d < 4; d++)
        for (int i = 0; i < 15; i++)
            expect(d, 0, i, d ? x_of(d - 1, 0, i) : 0);
}

TEST(several_at_once_and_in_loops)
{
    int x = parameter(DTYPE_F32, 4, 6), y = parameter(DTYPE_F32, 8, 2), both[] = {x, y}, sum;
    struct graph body;
    int moved;

    graph_init(&body, &arena, "body");
    moved = graph_parameter(&body, g.node[x].shape, "state");
    graph_output(&body, graph_collective_permute(&body, moved, (struct graph_pair[]){
        {0, 1}, {1, 2}, {2, 3}, {3, 0}}, 4), "state", -1);
    sum = graph_reduce_scatter(&g, both, 2, 0, &four);
    graph_output(&g, graph_tuple_element(&g, sum, 1), "y", -1);
    graph_output(&g, graph_while(&g, &x, 1, &body, 3), "moved", -1);
    fill(4);
    run_as(INTERP_DOT_F32, 4);
    for (int d = 0; d < 4; d++) {
        for (int i = 0; i < 4; i++) {
            int k = d * 4 + i;

            expect(d, 0, i, x_of(0, 1, k) + x_of(1, 1, k) + x_of(2, 1, k) + x_of(3, 1, k));
        }
        for (int i = 0; i < 24; i++)
            expect(d, 1, i, x_of((d + 1) % 4, 0, i));
    }
    graph_fini(&body);
}

TEST(other_numbers_of_devices_are_refused)
{
    struct interp_value value = {.data = NULL}, result;
    int x = parameter(DTYPE_F32, 8, 12);
    struct err e;

    graph_output(&g, graph_all_gather(&g, &x, 1, 0, &four), "all", -1);
    assert_int_equal(interp_run(&g, INTERP_DOT_F32, &value, &result, &arena, &e), -1);
    assert_string_equal(e.msg, "all-gather.1: 1 groups of 4 are 4 devices, but there are 1");
    graph_collective_permute(&g, x, (struct graph_pair[]){{0, 1}, {1, 4}}, 2);
    assert_int_equal(graph_check_devices(&g, 4, &e), -1);
    assert_string_equal(e.msg, "collective-permute.2: from device 1 to device 4, but there are 4");
}

/* ---- gradients ---- */

#define STEP 1e-5

static double *wide_input(int device)
{
    return in[device][0].data;
}

/* of all devices together: output 0 */
static double total_loss(int devices)
{
    double sum = 0;

    run_as(INTERP_WIDE, devices);
    for (int d = 0; d < devices; d++)
        sum += *(const double *)out[d][0].data;
    return sum;
}

/* loss: the squares of what node y has, by weights that differ from element to element */
static void check_gradient(int x, int y, int devices)
{
    int64_t elems = shape_elems(&g.node[x].shape);
    int weight = graph_convert(&g, graph_iota(&g, shape_make(DTYPE_S32, 2, g.node[y].shape.dim), 1),
                               DTYPE_F32);
    int square = graph_binary(&g, HLO_MULTIPLY, y, y), loss, gradient;
    struct err e;
    struct rng r;

    loss = graph_reduce(&g, REDUCE_ADD, graph_binary(&g, HLO_MULTIPLY, square, weight), 3);
    if (graph_grad(&g, loss, &x, 1, &gradient, &e))
        fail_msg("%s", e.msg);
    graph_output(&g, loss, "loss", -1);
    graph_output(&g, gradient, "gradient", -1);
    rng_init(&r, 3);
    for (int d = 0; d < devices; d++) {
        double *value = arena_array(&arena, (size_t)elems, sizeof(*value));

        for (int64_t i = 0; i < elems; i++)
            value[i] = (double)rng_below(&r, 2001) / 1000 - 1;
        in[d][0].data = value;
    }
    for (int d = 0; d < devices; d++)
        for (int64_t i = 0; i < elems; i++) {
            double kept = wide_input(d)[i], high, low, is;

            wide_input(d)[i] = kept + STEP;
            high = total_loss(devices);
            wide_input(d)[i] = kept - STEP;
            low = total_loss(devices);
            wide_input(d)[i] = kept;
            total_loss(devices);
            is = ((const double *)out[d][1].data)[i];
            if (!(fabs(is - (high - low) / (2 * STEP)) < 1e-6 * (1 + fabs(is))))
                fail_msg("device %d, element %d: %.9g, expected %.9g", d, (int)i, is,
                         (high - low) / (2 * STEP));
        }
}

TEST(gradient_of_an_all_gather)
{
    int x = parameter(DTYPE_F32, 2, 3);

    check_gradient(x, graph_all_gather(&g, &x, 1, 1, &pairs), 4);
}

TEST(gradient_of_a_reduce_scatter)
{
    int x = parameter(DTYPE_F32, 4, 3);

    check_gradient(x, graph_reduce_scatter(&g, &x, 1, 0, &pairs), 4);
}

TEST(gradient_of_an_all_reduce_in_groups)
{
    int x = parameter(DTYPE_F32, 2, 3);

    check_gradient(x, graph_all_reduce_groups(&g, &x, 1, &pairs), 4);
}

TEST(gradient_of_an_all_to_all)
{
    int x = parameter(DTYPE_F32, 2, 3);

    check_gradient(x, graph_all_to_all(&g, x, &pairs), 4);
}

TEST(gradient_of_a_permute)
{
    int x = parameter(DTYPE_F32, 2, 3);

    check_gradient(x, graph_collective_permute(&g, x, (struct graph_pair[]){{0, 2}, {2, 3}}, 2),
                   4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(blocks_are_along_a_dimension),
        RUN(groups_and_pairs_that_are_none),
        RUN(text),
        RUN(twice_the_same_stays_twice),
        RUN(devices_get_their_blocks),
        RUN(entries_change_places_with_devices),
        RUN(who_gets_nothing_has_zeros),
        RUN(several_at_once_and_in_loops),
        RUN(other_numbers_of_devices_are_refused),
        RUN(gradient_of_an_all_gather),
        RUN(gradient_of_a_reduce_scatter),
        RUN(gradient_of_an_all_reduce_in_groups),
        RUN(gradient_of_an_all_to_all),
        RUN(gradient_of_a_permute),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
