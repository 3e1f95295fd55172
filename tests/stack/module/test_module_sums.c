/*
 * All-reduces in compiled graphs: are the sums right on every core, with the same bits, whatever
 * makes and reads them? Values are whole numbers, so that sums are exact in any order; the order
 * itself is tested with the collectives (test_collective_order.c).
 */
#include "base/floats.h"
#include "base/rng.h"
#include "stack/interp/interp.h"
#include "stack/nn/nn.h"
#include "tests/generate/random_graph.h"
#include "tests/rigs/sums_rig.h"
#include "tests/test.h"

#include <math.h>

#define CORES_MAX 32

static int parameter(const char *name, enum graph_dtype dtype, int64_t rows, int64_t columns)
{
    int64_t dim[] = {rows, columns};

    return graph_parameter(&g, shape_make(dtype, columns ? 2 : 1, dim), name);
}

static float *numbers(int64_t count, uint64_t seed)
{
    float *x = arena_array(&arena, (size_t)count, sizeof(*x));
    struct rng r;

    rng_init(&r, seed);
    for (int64_t i = 0; i < count; i++)
        x[i] = (float)((int)rng_below(&r, 7) - 3);
    return x;
}

static const void **inputs(int replicas)
{
    int count = g.parameter_count;
    const void **list = arena_array(&arena, (size_t)(count * replicas) + 1, sizeof(*list));

    for (int i = 0; i < count * replicas; i++)
        list[i] = numbers(shape_elems(&g.node[g.parameter[i % count]].shape), (uint64_t)i + 1);
    return list;
}

static void compare(const struct graph *all, void *const *got, const struct interp_value *want)
{
    for (int o = 0; o < all->output_count; o++) {
        const struct shape *s = &all->node[all->output[o].node].shape;
        const float *x = got[o], *y = want[o].data;

        for (int64_t i = 0; i < shape_elems(s); i++)
            if (!(x[i] == y[i]))
                fail_msg("output %s, element %d: %.9g, expected %.9g", all->output[o].name, (int)i,
                         (double)x[i], (double)y[i]);
    }
}

/* `g` on all cores of a slice, against all replicas interpreted as one graph */
static struct graph_run check_as(struct graph_run run, int replicas)
{
    const void **in = inputs(replicas);
    struct interp_value *value, *want;
    struct graph all;
    struct err e;
    void **got;

    graph_init(&all, &arena, "replicas");
    random_graph_replicate(&g, replicas, &all);
    value = arena_array(&arena, (size_t)all.parameter_count, sizeof(*value));
    want = arena_array(&arena, (size_t)all.output_count, sizeof(*want));
    got = arena_array(&arena, (size_t)all.output_count, sizeof(*got));
    for (int i = 0; i < all.parameter_count; i++)
        value[i].data = (void *)in[i];
    if (interp_run(&all, INTERP_DOT_BF16, value, want, &arena, &e))
        fail_msg("%s", e.msg);
    run_graph(&run, &g, in, got, &arena);
    compare(&all, got, want);
    graph_fini(&all);
    return run;
}

static struct graph_run check(const char *slice, const char *set, int replicas)
{
    return check_as((struct graph_run){.slice = slice, .set = set}, replicas);
}

static int sum(int a) { return graph_all_reduce(&g, a); }

/* gradients of two layers, and the update of what they belong to */
static void build_update(void)
{
    int w = parameter("w", DTYPE_F32, 200, 130), b = parameter("b", DTYPE_F32, 130, 0);
    int x = parameter("x", DTYPE_F32, 24, 200), y = parameter("y", DTYPE_F32, 24, 130);
    int dw = graph_dot(&g, x, y, 0, 0, PRECISION_DEFAULT), db = graph_reduce(&g, REDUCE_ADD, y, 1);

    graph_output(&g, graph_binary(&g, HLO_SUBTRACT, w, sum(dw)), "w", 0);
    graph_output(&g, graph_binary(&g, HLO_SUBTRACT, b, sum(db)), "b", 1);
}

TEST(gradients_are_one_message)
{
    static const struct { const char *slice, *set; int cores; } rows[] = {
        {"v3", NULL, 2}, {"v3-8", NULL, 8}, {"v3-32", NULL, 32}, {"v5e-4", NULL, 4},
        {"v6e-8", NULL, 8}, {"v4-8", NULL, 8}, {"tiny-4", "vmem.bytes=1048576", 4},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct graph_run run;

        build_update();
        run = check(rows[i].slice, rows[i].set, rows[i].cores);
        assert_int_equal(run.kernel_count, 5);  /* product, sum, all-reduce, two updates */
        one_graph_again();
    }
}

/* what cannot be made in the bucket is copied there, and what is read again is not summed away */
TEST(all_reduces_leave_their_operands_alone)
{
    int p = parameter("p", DTYPE_F32, 40, 130), q = parameter("q", DTYPE_F32, 9, 10);
    int x = graph_unary(&g, HLO_NEGATE, p), s;

    graph_output(&g, sum(p), "sum of a parameter", -1);
    s = sum(x);
    graph_output(&g, s, "s", -1);
    graph_output(&g, sum(x), "the same again", -1);
    graph_output(&g, graph_binary(&g, HLO_MULTIPLY, s, x), "read behind", -1);
    graph_output(&g, x, "x", -1);
    graph_output(&g, sum(q), "q", 1);
    check("v3", NULL, 2);
    check("v5e-4", NULL, 4);
}

/* made as rows of 128 and summed so, read as heads of 32 */
TEST(a_sum_of_another_shape_is_of_what_is_made)
{
    int x = parameter("x", DTYPE_F32, 24, 16), y = parameter("y", DTYPE_F32, 24, 128);
    int64_t dim[] = {16, 4, 32};
    struct shape heads = shape_make(DTYPE_F32, 3, dim);
    int w = graph_parameter(&g, heads, "w"), dw;
    struct graph_run run;

    dw = graph_reshape(&g, graph_dot(&g, x, y, 0, 0, PRECISION_DEFAULT), heads);
    graph_output(&g, graph_binary(&g, HLO_SUBTRACT, w, sum(dw)), "w", 2);
    run = check("v3-8", NULL, 8);
    assert_int_equal(run.kernel_count, 4);      /* product, sum, reshape, update */
}

TEST(all_reduces_may_wait_for_each_other)
{
    int x = parameter("x", DTYPE_F32, 33, 70), y = x;

    for (int i = 0; i < 5; i++)
        y = graph_binary(&g, HLO_MAXIMUM, graph_unary(&g, HLO_NEGATE, sum(y)), x);
    graph_output(&g, y, "y", -1);
    graph_output(&g, sum(graph_reduce(&g, REDUCE_MAX, y, 3)), "scalar", -1);
    check("v3-8", NULL, 8);
    check("v3-8", "sync.flags=192", 8);         /* two sets of flags by turns */
}

TEST(bf16_is_summed_by_itself)
{
    int x = parameter("x", DTYPE_BF16, 17, 140), y = parameter("y", DTYPE_F32, 17, 140);

    graph_output(&g, sum(graph_unary(&g, HLO_NEGATE, x)), "bf16", -1);
    graph_output(&g, sum(graph_unary(&g, HLO_NEGATE, y)), "f32", -1);
    /* with copies of both sums */
    assert_int_equal(check_as((struct graph_run){.slice = "v3-8", .sums_wait = true},
                              8).kernel_count, 6);
    check("v3-8", NULL, 8);
    check("v5e-8", NULL, 8);
}

/* three trips of x = sum of x over the replicas */
TEST(loops_sum_in_every_trip)
{
    struct graph body;
    struct graph_run run = {.slice = "v3-8"};
    const void *in[CORES_MAX];
    void *out[CORES_MAX];
    struct shape shape = shape_make(DTYPE_F32, 2, (int64_t[]){20, 130});
    int x;

    graph_init(&body, &arena, "body");
    x = graph_parameter(&body, shape, "x");
    graph_output(&body, graph_all_reduce(&body, x), "x", -1);
    x = graph_parameter(&g, shape, "x");
    x = graph_while(&g, &x, 1, &body, 3);
    graph_output(&g, x, "x", -1);
    for (int r = 0; r < 8; r++)
        in[r] = numbers(20 * 130, (uint64_t)r);
    run_graph(&run, &g, in, out, &arena);
    for (int i = 0; i < 20 * 130; i++) {
        float want = 0;

        for (int r = 0; r < 8; r++)
            want += ((const float *)in[r])[i];
        for (int r = 0; r < 8; r++)
            assert_true(((float *)out[r])[i] == 64 * want);
    }
    graph_fini(&body);
}

/* fractions: what is added in which order shows in the last bits, which all cores share */
TEST(all_cores_have_the_same_bits)
{
    struct graph_run run = {.slice = "v3-8"};
    const void *in[CORES_MAX];
    void *out[CORES_MAX], *again[CORES_MAX];
    int64_t count = 784 * 128;

    graph_output(&g, sum(parameter("x", DTYPE_F32, 784, 128)), "sum", -1);
    for (int r = 0; r < 8; r++)
        in[r] = random_floats(&arena, count, -1, 1, 20 + (uint64_t)r);
    run_graph(&run, &g, in, out, &arena);
    run.thread_count = 3;
    run_graph(&run, &g, in, again, &arena);
    for (int64_t i = 0; i < count; i++) {
        double exact = 0, sizes = 0;

        for (int r = 0; r < 8; r++) {
            exact += (double)((const float *)in[r])[i];
            sizes += fabs((double)((const float *)in[r])[i]);
        }
        assert_true(fabs((double)((float *)out[0])[i] - exact) <= 7 * 0x1p-24 * sizes);
    }
    for (int r = 0; r < 8; r++) {
        assert_memory_equal(out[r], out[0], (size_t)count * 4);
        assert_memory_equal(again[r], out[0], (size_t)count * 4);
    }
}

#define SIDE 128
#define ROWS 1024                       /* of what is summed, */
#define MORE_ROWS 4096                  /* where kernels must hide many transfers */
#define LAYERS 6

/*
 * A chain of products forward, and of gradients backward, each of which is summed: outputs are
 * gradients and sums by turns.
 */
static void build_layers(int rows)
{
    int w[LAYERS], x[LAYERS + 1], dy, wide;

    x[0] = parameter("x", DTYPE_F32, SIDE, SIDE);
    wide = parameter("wide", DTYPE_F32, SIDE, rows);
    for (int i = 0; i < LAYERS; i++)
        w[i] = parameter(arena_printf(&arena, "w%d", i), DTYPE_F32, SIDE, SIDE);
    for (int i = 0; i < LAYERS; i++)
        x[i + 1] = graph_unary(&g, HLO_TANH, graph_dot(&g, x[i], w[i], 1, 0, PRECISION_DEFAULT));
    dy = x[LAYERS];
    for (int i = LAYERS - 1; i >= 0; i--) {
        int dw = graph_dot(&g, wide, graph_binary(&g, HLO_MULTIPLY, x[i], dy), 0, 0,
                           PRECISION_DEFAULT);

        graph_output(&g, dw, "gradient", -1);
        graph_output(&g, sum(dw), "sum", -1);
        dy = graph_dot(&g, dy, w[i], 1, 1, PRECISION_DEFAULT);
    }
    for (int i = 0; i < LAYERS; i++)    /* beside the last sum */
        dy = graph_dot(&g, dy, w[i], 1, 1, PRECISION_DEFAULT);
    graph_output(&g, dy, "more", -1);
}

static void check_sums(void **out, int replicas, int rows)
{
    for (int o = 0; o < 2 * LAYERS; o += 2)
        for (int i = 0; i < rows * SIDE; i++) {
            int owner = i / SIDE / (rows / replicas);
            float want = sums_in_order(out, replicas, o, i, owner);

            for (int r = 0; r < replicas; r++)
                assert_true(sums_element(out, r, o + 1, i) == want);
        }
}

/*
 * Rows of 512 bytes lie as they are counted, so that the order of additions can be told from the
 * outside. Sums are spread where transfers take less than the kernels beside them: links are fast.
 */
TEST(sums_beside_kernels_add_in_the_order_that_is_told)
{
    static const struct { const char *slice, *set; int cores; } rows[] = {
        {"v3-8", "ici.link_gbps=1000", 8}, {"v2-8", "ici.link_gbps=1000", 8},
        {"v4-8", "ici.link_gbps=1000", 8},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct graph_run run = {.slice = rows[i].slice, .set = rows[i].set,
                                .bucket_bytes = ROWS * SIDE * 4};

        build_layers(ROWS);
        check_sums(sums_run(&run, rows[i].cores), rows[i].cores, ROWS);
        sums_check_cycles(&run, rows[i].cores);
        one_graph_again();
    }
}

/* Every piece is summed in the same order; the last one is smaller than the others. */
TEST(sums_in_pieces_have_a_smaller_stage_and_the_same_order)
{
    int64_t bucket_bytes = MORE_ROWS * SIDE * 4, stage = bucket_bytes * 7 / 8, whole = 0;

    for (int pieces = 1; pieces <= 3; pieces++) {
        struct graph_run run = {.slice = "v3-8", .set = "ici.link_gbps=1000 ici.hop_ns=20",
                                .bucket_bytes = bucket_bytes, .stage_bytes = stage / pieces + 512};

        build_layers(MORE_ROWS);
        check_sums(sums_run(&run, 8), 8, MORE_ROWS);
        if (pieces == 1)
            whole = run.hbm_used_bytes;
        assert_in_range(whole - run.hbm_used_bytes, (stage - stage / pieces) * 9 / 10,
                        LAYERS * stage);
        one_graph_again();
    }
}

/* w and the bucket, and a quarter of one of them for x, y and the table of operations */
TEST(a_sum_with_nothing_beside_has_no_stage)
{
    struct graph_run run = {.slice = "v3-8"};
    int64_t bytes = 1024 * 256 * 4;
    int w = parameter("w", DTYPE_F32, 1024, 256), x = parameter("x", DTYPE_F32, 24, 1024);
    int y = parameter("y", DTYPE_F32, 24, 256);
    int dw = graph_dot(&g, x, y, 0, 0, PRECISION_DEFAULT);

    graph_output(&g, graph_binary(&g, HLO_SUBTRACT, w, sum(dw)), "w", 0);
    run = check_as(run, 8);
    assert_int_equal(run.kernel_count, 3);
    assert_in_range(run.hbm_used_bytes, 2 * bytes, 2 * bytes + bytes / 4);
}

static void refuses(const char *slice, const char *set, const char *message)
{
    struct graph_run run = {.slice = slice, .set = set, .may_refuse = true};
    void *out[CORES_MAX];

    run_graph(&run, &g, inputs(CORES_MAX), out, &arena);
    if (!strstr(run.refusal, message))
        fail_msg("\"%s\" is not in \"%s\"", message, run.refusal);
}

TEST(what_cannot_be_summed_is_told)
{
    graph_output(&g, sum(parameter("x", DTYPE_S32, 8, 128)), "sum", -1);
    refuses("v3", NULL, "all-reduces add f32 and bf16 only");
    one_graph_again();
    graph_output(&g, sum(parameter("x", DTYPE_F32, 8, 128)), "sum", -1);
    refuses("v3", "sync.flags=16", "collectives take 5 sync flags, 4 of the 16 that a core has are free");
}

/* one chip stands for all where none is special, and in timing mode */
TEST(one_chip_stands_for_all_of_some_slices)
{
    static const struct { const char *slice; enum run_mode mode; const char *message; } rows[] = {
        {"v3-8", MODE_TIMING, NULL},
        {"v3-8", MODE_BOTH, "one chip stands for all in timing mode only"},
        {"v3-32", MODE_TIMING, NULL},
        {"v4-256_twisted", MODE_TIMING, "of v4-256_twisted, which is a twisted torus"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct machine_options options = {.thread_count = 1, .mode = rows[i].mode,
                                          .one_chip = true};
        struct slice slice;
        struct chip chip;
        struct machine *m;
        struct err e;

        assert_int_equal(slice_parse(&slice, rows[i].slice, &e), 0);
        assert_int_equal(chip_load_builtin(&chip, slice.chip_name, NULL, &arena, &e), 0);
        m = machine_create(&slice, &chip, &options, &e);
        assert_int_equal(m != NULL, rows[i].message == NULL);
        if (!m && !strstr(e.msg, rows[i].message))
            fail_msg("\"%s\"", e.msg);
        machine_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(gradients_are_one_message),
        RUN(all_reduces_leave_their_operands_alone),
        RUN(a_sum_of_another_shape_is_of_what_is_made),
        RUN(all_reduces_may_wait_for_each_other),
        RUN(bf16_is_summed_by_itself),
        RUN(loops_sum_in_every_trip),
        RUN(one_chip_stands_for_all_of_some_slices),
        RUN(sums_beside_kernels_add_in_the_order_that_is_told),
        RUN(sums_in_pieces_have_a_smaller_stage_and_the_same_order),
        RUN(a_sum_with_nothing_beside_has_no_stage),
        RUN(all_cores_have_the_same_bits),
        RUN(what_cannot_be_summed_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
