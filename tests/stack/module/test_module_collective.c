/*
 * Reduce-scatters, all-gathers, permutes and all-reduces in groups, compiled and run on simulated
 * cores, against the interpreter of several devices: whole numbers, whose sums are exact in any
 * order; and against sums in double precision for any numbers.
 */
#include "base/floats.h"
#include "base/rng.h"
#include "stack/hlo/rewrite.h"
#include "stack/interp/interp.h"
#include "stack/passes/pass.h"
#include "tests/rigs/run_graph.h"
#include "tests/test.h"

#include <math.h>

#define DEVICES_MAX 32

static struct arena arena;
static struct graph g;
static const char *slice;
static struct graph_run run;
static void **got;

static const int32_t across[] = {0, 2, 4, 6, 1, 3, 5, 7}, backwards[] = {7, 6, 5, 4, 3, 2, 1, 0};
static const int32_t odd[] = {0, 5, 3, 6, 1, 2, 7, 4};
static const struct graph_groups all_eight = {1, 8, NULL}, halves = {2, 4, across};
static const struct graph_groups chips = {4, 2, (int32_t[]){0, 1, 2, 3, 4, 5, 6, 7}};
static const struct graph_groups pairs = {4, 2, odd}, fours = {2, 4, odd};

static void start(const char *on)
{
    arena_init(&arena);
    graph_init(&g, &arena, "devices");
    slice = on;
    run = (struct graph_run){.slice = on};
}

static void finish(void)
{
    graph_fini(&g);
    arena_fini(&arena);
}

static int parameter(enum graph_dtype dtype, int rank, const int64_t *dim)
{
    return graph_parameter(&g, shape_make(dtype, rank, dim),
                           arena_printf(&arena, "p%d", g.parameter_count));
}

#define SHAPE(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
                   (int64_t[]){__VA_ARGS__}

static void *numbers(const struct shape *s, uint64_t seed, bool whole)
{
    int64_t count = shape_elems(s);
    uint32_t *bits = arena_array(&arena, (size_t)count, sizeof(*bits));
    struct rng r;

    rng_init(&r, seed);
    for (int64_t i = 0; i < count; i++) {
        float x = whole ? (float)((int)rng_below(&r, 15) - 7) : rng_uniform(&r, -1, 1);

        if (s->dtype == DTYPE_BF16)
            x = f32_round_to_bf16(x);
        bits[i] = s->dtype == DTYPE_F32 || s->dtype == DTYPE_BF16 ? f32_bits(x)
                                                                 : (uint32_t)(int)x & 0x7f;
    }
    return bits;
}

static struct interp_value in[DEVICES_MAX][8];
static struct interp_value out[DEVICES_MAX][16];

static void interpret(int devices, enum interp_dot dot)
{
    const struct interp_value *from[DEVICES_MAX];
    struct interp_value *to[DEVICES_MAX];
    struct err e;

    for (int d = 0; d < devices; d++) {
        from[d] = in[d];
        to[d] = out[d];
    }
    if (interp_run_devices(&g, dot, devices, from, to, &arena, &e))
        fail_msg("%s", e.msg);
}

static void run_all(int devices, bool whole)
{
    const void **list = arena_array(&arena, (size_t)(devices * g.parameter_count), sizeof(*list));

    got = arena_array(&arena, (size_t)(devices * g.output_count), sizeof(*got));
    for (int d = 0; d < devices; d++)
        for (int i = 0; i < g.parameter_count; i++)
            list[d * g.parameter_count + i] = in[d][i].data =
                numbers(&g.node[g.parameter[i]].shape, (uint64_t)(d * 10 + i + 1), whole);
    run_graph(&run, &g, list, got, &arena);
}

/* bit for bit as the interpreter has it */
static void check(int devices)
{
    run_all(devices, true);
    interpret(devices, INTERP_DOT_F32);
    for (int d = 0; d < devices; d++)
        for (int o = 0; o < g.output_count; o++) {
            const struct shape *s = &g.node[g.output[o].node].shape;
            const float *x = got[d * g.output_count + o], *y = out[d][o].data;

            for (int64_t i = 0; i < shape_elems(s); i++)
                if (memcmp(&x[i], &y[i], 4) != 0 && !(x[i] == y[i]))
                    fail_msg("%s: device %d, %s, element %d: %.9g, expected %.9g", slice, d,
                             g.output[o].name, (int)i, (double)x[i], (double)y[i]);
        }
}

static void output(int node, const char *name) { graph_output(&g, node, name, -1); }

static int scatter(int a, int dim, const struct graph_groups *s)
{
    return graph_reduce_scatter(&g, &a, 1, dim, s);
}

static int gather(int a, int dim, const struct graph_groups *s)
{
    return graph_all_gather(&g, &a, 1, dim, s);
}

/* blocks of whole tiles and others, along every dimension, of every rank */
static void every_dimension(const char *on, const struct graph_groups *s, enum graph_dtype dtype)
{
    static const struct { int rank; int64_t dim[4]; int along; } rows[] = {
        {2, {256, 130}, 0}, {2, {24, 1024}, 1}, {2, {40, 24}, 0}, {2, {9, 48}, 1},
        {3, {8, 5, 140}, 0}, {3, {3, 256, 200}, 1}, {3, {2, 16, 9}, 1}, {3, {2, 9, 24}, 2},
        {1, {8192}, 0}, {1, {208}, 0}, {4, {2, 8, 3, 20}, 1},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int x, y, part;

        start(on);
        x = parameter(dtype, rows[i].rank, rows[i].dim);
        y = graph_unary(&g, HLO_NEGATE, x);
        part = scatter(y, rows[i].along, s);
        output(part, "scatter");
        output(y, "read again");
        output(gather(graph_binary(&g, HLO_ADD, part, part), rows[i].along, s), "gather");
        check(8);
        finish();
    }
}

TEST(blocks_along_every_dimension)
{
    every_dimension("v3-8", &all_eight, DTYPE_F32);
    every_dimension("v3-8", &halves, DTYPE_BF16);
}

TEST(groups_that_are_chips_axes_and_neither)
{
    static const struct graph_groups *const groups[] = {&chips, &halves, &pairs, &fours};
    static const char *const slices[] = {"v3-8", "v4-8", "v5e-8", "v2-8"};

    for (size_t i = 0; i < COUNT_OF(slices) * COUNT_OF(groups); i++) {
        const struct graph_groups *s = groups[i % COUNT_OF(groups)];
        int x, y;

        start(slices[i / COUNT_OF(groups)]);
        x = parameter(DTYPE_F32, SHAPE(64, 130));
        y = parameter(DTYPE_BF16, SHAPE(32, 256));
        output(scatter(x, 0, s), "scatter");
        output(gather(y, 0, s), "gather");
        output(graph_all_reduce_groups(&g, &x, 1, s), "sum");
        output(gather(y, 1, s), "gather columns");
        output(scatter(y, 1, &all_eight), "scatter columns");
        check(8);
        finish();
    }
}

/* devices that are not where their numbers are, and fewer of them than cores */
TEST(devices_on_other_cores)
{
    static const int32_t some[] = {6, 1, 4, 3};
    static const int32_t crossed[] = {0, 3, 2, 1};
    static const struct graph_groups two = {2, 2, crossed};

    for (int i = 0; i < 3; i++) {
        const struct graph_groups *s = i == 2 ? &two : &fours;
        int x;

        start("v3-8");
        run.device_core = i == 0 ? odd : i == 1 ? backwards : some;
        run.device_count = i == 2 ? 4 : 8;
        x = parameter(DTYPE_F32, SHAPE(64, 130));
        output(scatter(x, 0, s), "scatter");
        output(gather(x, 0, s), "gather");
        output(graph_all_reduce(&g, x), "sum of all");
        output(graph_collective_permute(&g, x, (struct graph_pair[]){{0, 2}, {3, 0}}, 2), "moved");
        output(graph_convert(&g, graph_partition_id(&g), DTYPE_F32), "number");
        check(i == 2 ? 4 : 8);
        finish();
    }
}

TEST(permutes)
{
    static const struct graph_pair ring[] = {{0, 1}, {1, 2}, {2, 3}, {3, 4},
                                             {4, 5}, {5, 6}, {6, 7}, {7, 0}};
    static const struct graph_pair some[] = {{5, 5}, {0, 7}, {7, 3}};
    int x, y, w;

    start("v3-8");
    x = parameter(DTYPE_F32, SHAPE(3, 100));
    y = parameter(DTYPE_BF16, SHAPE(5, 20, 40));
    w = parameter(DTYPE_S32, SHAPE(70));
    output(graph_collective_permute(&g, x, ring, 8), "round");
    output(graph_collective_permute(&g, y, some, 3), "some");
    output(graph_collective_permute(&g, w, ring, 7), "words");
    output(graph_collective_permute(&g, x, NULL, 0), "nobody");
    output(graph_collective_permute(&g, graph_collective_permute(&g, y, ring, 8), ring, 8),
           "twice");
    check(8);
    finish();
}

/* of every rank and type, in all groups and in some, on cores in another order */
TEST(all_to_alls)
{
    static const struct graph_groups *const groups[] = {&all_eight, &halves, &pairs, &fours};
    static const char *const slices[] = {"v3-8", "v5e-8", "v4-8"};

    for (size_t i = 0; i < COUNT_OF(slices) * COUNT_OF(groups); i++) {
        const struct graph_groups *s = groups[i % COUNT_OF(groups)];
        int x, y, w, v;

        start(slices[i / COUNT_OF(groups)]);
        run.device_core = i % 2 ? backwards : NULL;
        run.device_count = 8;
        x = parameter(DTYPE_F32, SHAPE(s->size, 5, 130));
        y = parameter(DTYPE_BF16, SHAPE(s->size, 3, 20, 40));
        w = parameter(DTYPE_S32, SHAPE(s->size, 7));
        v = parameter(DTYPE_F32, SHAPE(s->size));
        output(graph_all_to_all(&g, x, s), "matrices");
        output(graph_all_to_all(&g, y, s), "half as wide");
        output(graph_all_to_all(&g, graph_all_to_all(&g, w, s), s), "words, back");
        output(graph_all_to_all(&g, graph_unary(&g, HLO_NEGATE, v), s), "one each");
        check(8);
        finish();
    }
}

/* several operands are one message, with blocks of each */
TEST(several_at_once)
{
    static const char *const slices[] = {"v3-8", "v5e-8"};

    for (size_t i = 0; i < COUNT_OF(slices); i++) {
        int x, y, z, list[3], both;

        start(slices[i]);
        x = parameter(DTYPE_F32, SHAPE(64, 130));
        y = parameter(DTYPE_F32, SHAPE(128, 9));
        z = parameter(DTYPE_F32, SHAPE(16, 3, 20));
        memcpy(list, (int[]){x, y, z}, sizeof(list));
        both = graph_reduce_scatter(&g, list, 3, 0, &all_eight);
        for (int k = 0; k < 3; k++)
            output(list[k] = graph_tuple_element(&g, both, k), "part");
        both = graph_all_gather(&g, list, 3, 0, &all_eight);
        for (int k = 0; k < 3; k++)
            output(graph_tuple_element(&g, both, k), "whole");
        check(8);
        finish();
    }
}

static int count_of(const struct graph *all, enum graph_op op)
{
    int count = 0;

    for (int i = 0; i < all->node_count; i++)
        count += all->node[i].op == op;
    return count;
}

static void build_many(void)
{
    int a = parameter(DTYPE_F32, SHAPE(64, 130)), b = parameter(DTYPE_F32, SHAPE(128, 9));
    int c = parameter(DTYPE_BF16, SHAPE(128, 20)), big = parameter(DTYPE_F32, SHAPE(1024, 300));
    int part = scatter(a, 0, &all_eight), sum, list[] = {a, b};

    output(part, "a");
    output(scatter(b, 0, &all_eight), "b");
    output(scatter(b, 0, &halves), "of other groups");
    output(scatter(c, 0, &all_eight), "of another type");
    output(scatter(a, 0, &all_eight), "a again");
    output(scatter(big, 0, &all_eight), "big");
    output(gather(part, 0, &all_eight), "whole");
    output(gather(graph_unary(&g, HLO_NEGATE, part), 0, &all_eight), "turned");
    output(gather(a, 0, &all_eight), "not behind others");
    for (int i = 0; i < 2; i++)
        output(graph_all_reduce_groups(&g, &list[i], 1, &halves), "sum");
    sum = graph_all_reduce(&g, part);
    output(sum, "behind a scatter");
}

/* small ones of a kind that wait for nothing of each other are one */
TEST(small_ones_are_put_together)
{
    struct pass_context context = {.replica_count = 8};
    struct err e;

    start("v3-8");
    build_many();
    if (pass_combine(&g, &context, &e) || graph_verify(&g, &e))
        fail_msg("%s", e.msg);
    assert_int_equal(count_of(&g, HLO_REDUCE_SCATTER), 4);      /* a, b, a; groups; type; big */
    assert_int_equal(count_of(&g, HLO_ALL_GATHER), 2);
    assert_int_equal(count_of(&g, HLO_ALL_REDUCE), 2);
    finish();
    start("v3-8");
    build_many();
    check(8);
    finish();
}

/* what groups of one rank are, and programs of one device */
TEST(nobody_else)
{
    static const struct graph_groups alone = {8, 1, odd}, one = {1, 1, NULL};
    int x, list[2], t;

    start("v3-8");
    x = parameter(DTYPE_F32, SHAPE(64, 130));
    list[0] = list[1] = x;
    output(scatter(x, 0, &alone), "scatter");
    t = graph_all_gather(&g, list, 2, 1, &alone);
    output(graph_tuple_element(&g, t, 1), "gather");
    check(8);
    finish();
    start("v3");
    run.device_count = 1;
    x = parameter(DTYPE_F32, SHAPE(64, 130));
    list[0] = list[1] = x;
    t = graph_all_reduce_all(&g, list, 2);
    output(graph_tuple_element(&g, t, 1), "sum");
    output(gather(x, 0, &one), "gather");
    output(graph_collective_permute(&g, x, (struct graph_pair[]){{0, 0}}, 1), "self");
    check(1);
    finish();
}

/*
 * Many, in groups by turns, of devices that are busy for different times: nobody must take the
 * signals of one for those of another. In loops too.
 */
TEST(communicators_do_not_disturb_each_other)
{
    static const struct graph_groups *const communicators[] = {&pairs, &halves, &chips, &fours};
    struct graph body;
    int x, y, sum;

    start("v3-8");
    x = parameter(DTYPE_F32, SHAPE(8, 128));
    y = parameter(DTYPE_F32, SHAPE(512, 128));
    sum = x;
    for (int i = 0; i < 12; i++) {
        int slow = graph_reduce(&g, REDUCE_MAX, graph_binary(&g, HLO_ADD, y, graph_splat(&g, y, i)),
                                1);

        sum = graph_all_reduce_groups(&g, &sum, 1, communicators[i % 4]);
        if (i % 3 == 0)
            sum = graph_binary(&g, HLO_MINIMUM, sum, graph_broadcast(&g, slow, g.node[x].shape,
                                                                     (int[]){1}));
        sum = graph_binary(&g, HLO_REMAINDER, sum, graph_splat(&g, sum, 8));
    }
    output(sum, "sum");
    graph_init(&body, &arena, "body");
    y = graph_parameter(&body, g.node[x].shape, "y");
    y = graph_all_reduce_groups(&body, &y, 1, &pairs);
    y = graph_collective_permute(&body, y, (struct graph_pair[]){{0, 3}, {3, 0}, {1, 1}}, 3);
    graph_output(&body, y, "y", -1);
    output(graph_while(&g, &x, 1, &body, 5), "loop");
    check(8);
    graph_fini(&body);
    finish();
}

/* where a device's part begins is no kernel's work, and known to a machine without values */
TEST(numbers_of_devices_are_values)
{
    struct pass_context context = {.replica_count = 8};
    struct err e;

    for (int is_pass = 0; is_pass < 2; is_pass++) {
        int x, id, start_of[2], replica;

        start("v3-8");
        x = parameter(DTYPE_F32, SHAPE(64, 130));
        id = graph_convert(&g, graph_partition_id(&g), DTYPE_S32);
        start_of[1] = graph_constant(&g, shape_scalar(DTYPE_S32), 8);
        start_of[0] = graph_binary(&g, HLO_MULTIPLY, id, start_of[1]);
        output(graph_dynamic_slice(&g, x, start_of, (int64_t[]){8, 130}), "part");
        output(start_of[0], "start");
        replica = graph_replica_id(&g);
        output(graph_binary(&g, HLO_ADD, replica, graph_replica_id(&g)), "twice");
        if (is_pass) {
            check(8);
        } else {
            assert_int_equal(pass_devices(&g, &context, &e), 0);
            assert_int_equal(count_of(&g, HLO_MULTIPLY) + count_of(&g, HLO_ADD), 0);
            graph_eliminate_common(&g);
            assert_int_equal(count_of(&g, HLO_PARTITION_ID), 2);
            assert_int_equal(graph_verify(&g, &e), 0);
        }
        finish();
    }
}

/* ---- any numbers: within the roundings of the additions ---- */

static void check_near(const struct graph_groups *s, enum graph_dtype dtype)
{
    double eps = dtype == DTYPE_F32 ? 0x1p-24 : 0x1p-8;
    int x, size = s->size;

    start("v3-8");
    x = parameter(dtype, SHAPE(256, 200));
    output(scatter(x, 0, s), "scatter");
    output(graph_all_reduce_groups(&g, &x, 1, s), "sum");
    run_all(8, false);
    for (int p = 0; p < 8; p++) {
        int rank = p % size, device = s->member ? s->member[p] : p;
        const float *part = got[device * 2], *all = got[device * 2 + 1];

        for (int i = 0; i < 256 * 200; i++) {
            int at = i - rank * (256 / size) * 200;
            double sum = 0, magnitude = 0;

            for (int r = 0; r < size; r++) {
                int member = s->member ? s->member[p - rank + r] : p - rank + r;
                double v = (double)((const float *)in[member][0].data)[i];

                sum += v;
                magnitude += fabs(v);
            }
            assert_true(fabs((double)all[i] - sum) <= 1.01 * (size - 1) * eps * magnitude);
            if (at >= 0 && at < 256 / size * 200)
                assert_true(fabs((double)part[at] - sum) <= 1.01 * (size - 1) * eps * magnitude);
        }
    }
    finish();
}

TEST(sums_are_as_near_as_additions_allow)
{
    check_near(&all_eight, DTYPE_F32);
    check_near(&halves, DTYPE_BF16);
    check_near(&fours, DTYPE_F32);
}

/* ---- pods ---- */

/* of all chips or of those along an axis, of any size: one chip can stand for all */
static void check_chips_are_alike(int64_t elems, bool is_along_axis)
{
    struct graph_groups row = {16, 16, NULL};
    struct module_settings settings = {.replica_count = 256};
    int32_t *member = NULL;
    struct module compiled;
    struct slice v5e_256;
    struct chip chip;
    struct err e;
    int x;

    start("v5e-256");
    member = arena_array(&arena, 256, sizeof(*member));
    for (int i = 0; i < 256; i++)
        member[i] = i;
    row.member = member;
    x = parameter(DTYPE_F32, 1, &elems);
    output(graph_all_reduce_groups(&g, &x, 1, is_along_axis ? &row : NULL), "sum");
    if (slice_parse(&v5e_256, slice, &e) ||
        chip_load_builtin(&chip, v5e_256.chip_name, NULL, &arena, &e))
        fail_msg("%s", e.msg);
    settings.chip = &chip;
    settings.slice = &v5e_256;
    if (module_compile(&g, &settings, &arena, &compiled, &e))
        fail_msg("%s", e.msg);
    if (compiled.chips_differ)
        fail_msg("%lld elements%s: chips do different things", (long long)elems,
                 is_along_axis ? " along an axis" : "");
    finish();
}

TEST(chips_of_a_pod_do_all_the_same)
{
    static const int64_t elems[] = {1, 300, 6000, 24576, 100000, 1 << 20};

    for (size_t i = 0; i < COUNT_OF(elems); i++) {
        check_chips_are_alike(elems[i], false);
        check_chips_are_alike(elems[i], true);
    }
}

/* ---- what is refused ---- */

static void refused(const char *text)
{
    const void *list[8 * 4] = {NULL};

    run.may_refuse = true;
    run_graph(&run, &g, list, NULL, &arena);
    assert_string_equal(run.refusal, text);
}

TEST(what_does_not_go)
{
    int x;

    start("v3-8");
    x = parameter(DTYPE_F32, SHAPE(64, 130));
    output(gather(x, 0, &(struct graph_groups){1, 4, NULL}), "gather");
    refused("all-gather.1: 1 groups of 4 are 4 devices, but there are 8");
    finish();
    start("v3-8");
    x = parameter(DTYPE_S32, SHAPE(64, 130));
    output(scatter(x, 0, &all_eight), "scatter");
    refused("reduce-scatters add f32 and bf16 only");
    finish();
    start("v3-8");
    x = parameter(DTYPE_F32, SHAPE(1, 1, 1, 1, 1, 1, 9, 40));
    output(scatter(x, 7, &all_eight), "scatter");
    refused("reduce-scatter.1: 8 blocks along dimension 7 of f32[1,1,1,1,1,1,9,40] end inside its "
            "tiles");
    finish();
    start("v3-8");
    x = parameter(DTYPE_F32, SHAPE(64, 130));
    run.device_core = (int32_t[]){0, 1, 2, 3, 4, 5, 6, 6};
    output(graph_all_reduce(&g, x), "sum");
    refused("device 7 on core 6: each of 8 devices has a core of its own, of 0 to 7");
    finish();
}

static struct graph *new_graph(const char *name)
{
    struct graph *to = arena_alloc(&arena, sizeof(*to));

    graph_init(to, &arena, name);
    return to;
}

/* x, n -> the larger of x and its sums over groups, n - 1; with two sums, or one that follows itself */
static struct graph *sums_body(bool has_two)
{
    struct graph *b = new_graph("body");
    int x = graph_parameter(b, shape_make(DTYPE_F32, SHAPE(300)), "x"), y = x;
    int n = graph_parameter(b, shape_scalar(DTYPE_F32), "n");

    for (int i = 0; i <= has_two; i++)
        y = graph_all_reduce_groups(b, &y, 1, i ? &chips : &all_eight);
    y = graph_binary(b, HLO_REMAINDER, y, graph_splat(b, y, 9));
    graph_output(b, graph_binary(b, HLO_MAXIMUM, x, y), "x", -1);
    graph_output(b, graph_binary(b, HLO_SUBTRACT, n, graph_splat(b, n, 1)), "n", -1);
    graph_freeze(b);
    return b;
}

static struct graph *is_left(void)
{
    struct graph *c = new_graph("condition");
    int n;

    graph_parameter(c, shape_make(DTYPE_F32, SHAPE(300)), "x");
    n = graph_parameter(c, shape_scalar(DTYPE_F32), "n");
    graph_output(c, graph_compare(c, COMPARE_GT, n, graph_splat(c, n, 0)), "on", -1);
    graph_freeze(c);
    return c;
}

static struct graph *one_branch(bool has_sum)
{
    struct graph *b = new_graph("branch");
    int x = graph_parameter(b, shape_make(DTYPE_F32, SHAPE(300)), "x");

    graph_output(b, has_sum ? graph_all_reduce(b, x) : graph_unary(b, HLO_NEGATE, x), "x", -1);
    graph_freeze(b);
    return b;
}

/* all devices agree how often, and which: sums before, in and behind loops and conditionals */
TEST(loops_and_conditionals_may_have_collectives)
{
    for (int trips = 0; trips < 5; trips++) {
        const struct graph *branch;
        int x, n, loop, pred;

        start("v5e-8");
        x = parameter(DTYPE_F32, SHAPE(300));
        n = graph_reduce(&g, REDUCE_MAX, graph_all_reduce(&g, x), 1);
        n = graph_binary(&g, HLO_MULTIPLY, n, graph_splat(&g, n, 0));
        n = graph_binary(&g, HLO_ADD, n, graph_splat(&g, n, trips));
        loop = graph_while_condition(&g, (int[]){x, n}, 2, sums_body(trips % 2), is_left());
        x = graph_tuple_element(&g, loop, 0);
        pred = graph_compare(&g, COMPARE_LT, n, graph_splat(&g, n, 2));
        branch = one_branch(true);
        x = graph_conditional(&g, pred, &x, 1, branch, one_branch(trips > 2));
        graph_output(&g, graph_all_reduce(&g, x), "sum", -1);
        check(8);
        finish();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_along_every_dimension),
        cmocka_unit_test(groups_that_are_chips_axes_and_neither),
        cmocka_unit_test(devices_on_other_cores),
        cmocka_unit_test(permutes),
        cmocka_unit_test(all_to_alls),
        cmocka_unit_test(several_at_once),
        cmocka_unit_test(small_ones_are_put_together),
        cmocka_unit_test(nobody_else),
        cmocka_unit_test(communicators_do_not_disturb_each_other),
        cmocka_unit_test(numbers_of_devices_are_values),
        cmocka_unit_test(sums_are_as_near_as_additions_allow),
        cmocka_unit_test(chips_of_a_pod_do_all_the_same),
        cmocka_unit_test(what_does_not_go),
        cmocka_unit_test(loops_and_conditionals_may_have_collectives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
