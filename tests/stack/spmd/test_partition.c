/*
 * Partitioning: do logical devices together compute what one device does, and do they only
 * exchange what they must?
 */
#include "tests/test.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "stack/interp/interp.h"
#include "stack/nn/nn.h"
#include "stack/spmd/partition.h"
#include "tests/generate/random_graph.h"

#define NOTES_MAX 64
#define DEVICES_MAX 16

static uint64_t seed_now;                /* of a random graph, for messages */

struct rig {
    struct arena arena;
    struct graph whole, part;
    struct mesh mesh;
    struct sharding_note note[NOTES_MAX];
    int note_count;
    struct err e;
};

static void setup(struct rig *r, struct mesh mesh)
{
    memset(r, 0, sizeof(*r));
    arena_init(&r->arena);
    graph_init(&r->whole, &r->arena, "whole");
    graph_init(&r->part, &r->arena, "part");
    r->mesh = mesh;
}

static void teardown(struct rig *r)
{
    graph_fini(&r->whole);
    graph_fini(&r->part);
    arena_fini(&r->arena);
}

static void note(struct rig *r, int node, struct sharding s)
{
    r->note[r->note_count++] = (struct sharding_note){node, s, NULL};
}

static void cut(struct rig *r)
{
    int status = graph_partition(&r->whole, &r->mesh, r->note, r->note_count, &r->part, &r->e);

    if (status)
        fail_msg("%s", r->e.msg);
    if (graph_verify(&r->part, &r->e) ||
        graph_check_devices(&r->part, mesh_device_count(&r->mesh), &r->e))
        fail_msg("%s", r->e.msg);
}

/* ----- both ways */

static struct sharding noted(const struct rig *r, int node)
{
    struct sharding whole = {{0}};

    for (int i = 0; i < r->note_count; i++)
        if (r->note[i].node == node)
            return r->note[i].sharding;
    return whole;
}

struct run {
    struct interp_value input[DEVICES_MAX][NOTES_MAX], output[DEVICES_MAX][NOTES_MAX];
};

static void run(struct rig *r, const struct graph *g, int devices, struct run *to)
{
    const struct interp_value *input[DEVICES_MAX];
    struct interp_value *output[DEVICES_MAX];

    for (int d = 0; d < devices; d++) {
        input[d] = to->input[d];
        output[d] = to->output[d];
    }
    if (interp_run_devices(g, INTERP_DOT_F32, devices, input, output, &r->arena, &r->e))
        fail_msg("%s", r->e.msg);
}

static void cut_inputs(struct rig *r, const struct run *whole, struct run *part)
{
    const struct graph *g = &r->whole;

    for (int d = 0; d < mesh_device_count(&r->mesh); d++)
        for (int i = 0; i < g->parameter_count; i++) {
            const struct shape *shape = &g->node[g->parameter[i]].shape;
            struct sharding s = noted(r, g->parameter[i]);
            struct shape local = sharding_local(&r->mesh, shape, &s);
            uint32_t *to = arena_array(&r->arena, (size_t)shape_elems(&local), sizeof(*to));

            sharding_take(&r->mesh, shape, &s, d,
                          whole->input[mesh_coordinate(&r->mesh, d, 0)][i].data, to);
            part->input[d][i].data = to;
        }
}

static struct sharding output_sharding(const struct rig *r, const struct graph_output *o)
{
    return noted(r, o->alias_parameter >= 0 ? r->whole.parameter[o->alias_parameter] : o->node);
}

/* zeros may differ in sign, floats by `tolerance` of the largest element */
static void expect_equal(const struct graph *g, int output, const void *a, const void *b,
                         double tolerance)
{
    const struct shape *shape = &g->node[g->output[output].node].shape;
    bool is_float = shape->dtype == DTYPE_F32 || shape->dtype == DTYPE_BF16;
    double most = 0.0;

    for (int64_t i = 0; is_float && i < shape_elems(shape); i++)
        if (fabs((double)((const float *)a)[i]) > most)
            most = fabs((double)((const float *)a)[i]);
    for (int64_t i = 0; i < shape_elems(shape); i++) {
        uint32_t x = ((const uint32_t *)a)[i], y = ((const uint32_t *)b)[i];
        float fx = ((const float *)a)[i], fy = ((const float *)b)[i];

        if (x != y && !(is_float && fabs((double)fx - (double)fy) <= tolerance * most))
            fail_msg("seed %llu: output %d (%s) element %lld: %08x (%g) on one device, %08x (%g) "
                     "in parts", (unsigned long long)seed_now, output, g->output[output].name,
                     (long long)i, x, (double)fx, y, (double)fy);
    }
}

static void check(struct rig *r, const struct run *whole, struct run *part, double tolerance)
{
    const struct graph *g = &r->whole;
    int devices = mesh_device_count(&r->mesh);

    cut_inputs(r, whole, part);
    run(r, &r->part, devices, part);
    for (int i = 0; i < g->output_count; i++) {
        const struct shape *shape = &g->node[g->output[i].node].shape;
        struct sharding s = output_sharding(r, &g->output[i]);

        for (int replica = 0; replica < r->mesh.axis[0].size; replica++) {
            uint32_t *joined = arena_array(&r->arena, (size_t)shape_elems(shape), sizeof(*joined));

            for (int d = 0; d < devices; d++)
                if (mesh_coordinate(&r->mesh, d, 0) == replica)
                    sharding_put(&r->mesh, shape, &s, d, part->output[d][i].data, joined);
            expect_equal(g, i, whole->output[replica][i].data, joined, tolerance);
        }
    }
}

static int count_ops(const struct graph *g, enum graph_op op)
{
    int count = 0;

    for (int i = 0; i < g->node_count; i++)
        count += g->node[i].op == op;
    return count;
}

static struct mesh mesh_of(int replicas, int a, int b)
{
    return (struct mesh){b > 1 ? 3 : 2, {{"replicas", replicas}, {"model", a}, {"more", b}}};
}

/* ----- known forms */

static void fill(struct rig *r, struct run *to, int replicas, uint64_t seed)
{
    const struct graph *g = &r->whole;
    struct rng rng;

    for (int d = 0; d < replicas; d++) {
        rng_init(&rng, seed + 1);
        for (int i = 0; i < g->parameter_count; i++) {
            int64_t elems = shape_elems(&g->node[g->parameter[i]].shape);
            float *x = arena_array(&r->arena, (size_t)elems, sizeof(*x));

            for (int64_t k = 0; k < elems; k++)
                x[k] = rng_uniform(&rng, -1, 1);
            to->input[d][i].data = x;
        }
    }
}

static int matrix(struct graph *g, const char *name, int64_t rows, int64_t columns)
{
    return graph_parameter(g, shape_make(DTYPE_F32, 2, (int64_t[]){rows, columns}), name);
}

/* two dense layers, their gradients and a step of descent; kernels cut as Megatron does */
static void build_mlp(struct rig *r)
{
    struct graph *g = &r->whole;
    int k[2], x, y, loss, gradient[2];

    k[0] = matrix(g, "k0", 12, 32);
    k[1] = matrix(g, "k1", 32, 12);
    x = matrix(g, "x", 10, 12);
    y = nn_relu(g, graph_dot(g, x, k[0], 1, 0, PRECISION_HIGHEST));
    y = graph_dot(g, y, k[1], 1, 0, PRECISION_HIGHEST);
    loss = nn_mean(g, nn_multiply(g, y, y), 3);
    assert_int_equal(graph_grad(g, loss, k, 2, gradient, &r->e), 0);
    graph_output(g, loss, "loss", -1);
    for (int i = 0; i < 2; i++) {
        int sum = graph_all_reduce(g, gradient[i]);

        graph_output(g, graph_binary(g, HLO_SUBTRACT, k[i], nn_scale(g, sum, 0.1)), "new", i);
    }
    note(r, k[0], (struct sharding){{0, 1}});
    note(r, k[1], (struct sharding){{1, 0}});
}

TEST(an_mlp_cut_in_the_middle_exchanges_only_sums)
{
    struct rig r;
    struct run *whole = calloc(1, sizeof(*whole)), *part = calloc(1, sizeof(*part));

    setup(&r, mesh_of(2, 4, 1));
    build_mlp(&r);
    cut(&r);
    /* forward of the second layer; the gradients of both kernels over replicas; none backward,
       for x is not differentiated */
    assert_int_equal(count_ops(&r.part, HLO_ALL_REDUCE), 3);
    assert_int_equal(count_ops(&r.part, HLO_ALL_GATHER), 0);
    assert_int_equal(count_ops(&r.part, HLO_REDUCE_SCATTER), 0);
    fill(&r, whole, 2, 5);
    run(&r, &r.whole, 2, whole);
    check(&r, whole, part, 1e-6);
    teardown(&r);
    free(whole);
    free(part);
}

TEST(heads_of_attention_go_to_devices_of_their_own)
{
    struct rig r;
    struct run *whole = calloc(1, sizeof(*whole)), *part = calloc(1, sizeof(*part));
    struct graph *g;
    static const char *const names[] = {"query", "key", "value"};
    int w[4], x, q[3], y, loss, gradient[4];

    setup(&r, mesh_of(1, 4, 1));
    g = &r.whole;
    for (int i = 0; i < 3; i++)
        w[i] = graph_parameter(g, shape_make(DTYPE_F32, 3, (int64_t[]){16, 4, 8}), names[i]);
    w[3] = graph_parameter(g, shape_make(DTYPE_F32, 3, (int64_t[]){4, 8, 16}), "out");
    x = graph_parameter(g, shape_make(DTYPE_F32, 3, (int64_t[]){2, 6, 16}), "x");
    for (int i = 0; i < 3; i++)
        q[i] = nn_dense(g, x, w[i], 1);
    y = nn_dense(g, nn_attention(g, q[0], q[1], q[2], true), w[3], 2);
    loss = nn_mean(g, nn_multiply(g, y, y), 7);
    assert_int_equal(graph_grad(g, loss, w, 4, gradient, &r.e), 0);
    graph_output(g, y, "y", -1);
    for (int i = 0; i < 4; i++)
        graph_output(g, gradient[i], "gradient", i);
    for (int i = 0; i < 4; i++)
        note(&r, w[i], i < 3 ? (struct sharding){{0, 1, 0}} : (struct sharding){{1, 0, 0}});
    cut(&r);
    assert_int_equal(count_ops(&r.part, HLO_ALL_REDUCE), 1);
    assert_int_equal(count_ops(&r.part, HLO_ALL_GATHER), 0);
    fill(&r, whole, 1, 7);
    run(&r, &r.whole, 1, whole);
    check(&r, whole, part, 1e-5);
    teardown(&r);
    free(whole);
    free(part);
}

TEST(a_sum_that_is_to_be_cut_is_scattered)
{
    struct rig r;
    struct run *whole = calloc(1, sizeof(*whole)), *part = calloc(1, sizeof(*part));
    int a, b, y;

    setup(&r, mesh_of(1, 2, 1));
    a = matrix(&r.whole, "a", 8, 6);
    b = matrix(&r.whole, "b", 6, 4);
    y = graph_dot(&r.whole, a, b, 1, 0, PRECISION_HIGHEST);
    graph_output(&r.whole, y, "y", -1);
    note(&r, a, (struct sharding){{0, 1}});
    note(&r, b, (struct sharding){{1, 0}});
    note(&r, y, (struct sharding){{1, 0}});
    cut(&r);
    assert_int_equal(count_ops(&r.part, HLO_REDUCE_SCATTER), 1);
    assert_int_equal(count_ops(&r.part, HLO_ALL_REDUCE), 0);
    fill(&r, whole, 1, 9);
    run(&r, &r.whole, 1, whole);
    check(&r, whole, part, 1e-6);
    teardown(&r);
    free(whole);
    free(part);
}

/* along a line of three replicas: nobody sends to the first, which gets zeros */
TEST(what_replicas_send_each_other_stays_cut)
{
    struct rig r;
    struct run *whole = calloc(1, sizeof(*whole)), *part = calloc(1, sizeof(*part));
    int a, b, y;

    setup(&r, mesh_of(3, 2, 1));
    a = matrix(&r.whole, "a", 8, 6);
    b = matrix(&r.whole, "b", 6, 4);
    y = graph_collective_permute(&r.whole, a, (struct graph_pair[]){{0, 1}, {1, 2}}, 2);
    y = graph_dot(&r.whole, y, b, 1, 0, PRECISION_HIGHEST);
    graph_output(&r.whole, y, "y", -1);
    note(&r, a, (struct sharding){{1, 0}});
    cut(&r);
    assert_int_equal(count_ops(&r.part, HLO_COLLECTIVE_PERMUTE), 1);
    assert_int_equal(count_ops(&r.part, HLO_ALL_GATHER), 1);    /* of the result alone */
    fill(&r, whole, 3, 9);
    for (int d = 0; d < 3; d++)
        ((float *)(uintptr_t)whole->input[d][0].data)[d] = (float)d + 2;    /* no two alike */
    run(&r, &r.whole, 3, whole);
    check(&r, whole, part, 1e-6);
    teardown(&r);
    free(whole);
    free(part);
}

/* ----- any graph, cut anywhere */

static void random_note(struct rig *r, struct rng *rng, int node)
{
    const struct graph_node *n = &r->whole.node[node];
    struct sharding s = {{0}};

    if (n->tuple_count || r->note_count == NOTES_MAX)
        return;
    for (int axis = 1; axis < r->mesh.axis_count; axis++) {
        int d = n->shape.rank ? (int)rng_below(rng, (uint32_t)n->shape.rank) : -1;

        if (d >= 0 && s.axis[d] == 0 && n->shape.dim[d] % r->mesh.axis[axis].size == 0)
            s.axis[d] = (int8_t)axis;
    }
    note(r, node, s);
}

static void check_random(uint64_t seed)
{
    static const int sizes[][3] = {{1, 2, 1}, {1, 3, 1}, {2, 2, 1}, {1, 2, 2}, {2, 2, 2}, {1, 4, 1}};
    struct rig r;
    struct run *whole = calloc(1, sizeof(*whole)), *part = calloc(1, sizeof(*part));
    struct rng rng;
    const int *size;

    seed_now = seed;
    rng_init(&rng, seed);
    size = sizes[rng_below(&rng, sizeof(sizes) / sizeof(sizes[0]))];
    setup(&r, mesh_of(size[0], size[1], size[2]));
    random_graph_build(&r.whole, &(struct random_graph){.seed = seed, .op_count = 14,
                                                        .replica_count = size[0],
                                                        .is_small = true});
    for (int i = 0; i < r.whole.node_count; i++)
        if (rng_below(&rng, 3) == 0)
            random_note(&r, &rng, i);
    cut(&r);
    for (int d = 0; d < size[0]; d++)
        for (int i = 0; i < r.whole.parameter_count; i++)
            whole->input[d][i].data = random_graph_input(&r.whole, i, seed + (uint64_t)d * 97,
                                                         &r.arena);
    run(&r, &r.whole, size[0], whole);
    check(&r, whole, part, 0.0);
    teardown(&r);
    free(whole);
    free(part);
}

TEST(random_graphs_cut_anywhere_compute_the_same)
{
    const char *from = getenv("PARTITION_SEED");
    uint64_t first = from ? strtoull(from, NULL, 10) : 1, count = test_is_long() ? 3000 : 150;

    for (uint64_t seed = first; seed < first + (from ? 1 : count); seed++) {
        check_random(seed);
    }
}

/* ----- mistakes */

static void expect_refused(struct sharding s, const char *message)
{
    struct rig r;
    int a;

    setup(&r, mesh_of(2, 4, 1));
    a = matrix(&r.whole, "table", 10, 12);
    graph_output(&r.whole, a, "y", -1);
    note(&r, a, s);
    assert_int_equal(graph_partition(&r.whole, &r.mesh, r.note, 1, &r.part, &r.e), -1);
    assert_string_equal(r.e.msg, message);
    teardown(&r);
}

TEST(cuts_that_cannot_be_are_refused)
{
    expect_refused((struct sharding){{1, 0}},
                   "table: dimension 0 of f32[10,12] does not divide into 4 parts (axis model); "
                   "the nearest sizes that do are 8 and 12");
    expect_refused((struct sharding){{0, 2}},
                   "table: dimension 1 is cut along axis 2, of logical devices there are 1..1");
    expect_refused((struct sharding){{0, 1, 0, 1}},
                   "table: f32[10,12] has no dimension 3 to cut");
}

static void expect_parts(const int *parts, int rank, const int *axis)
{
    struct mesh m = mesh_of(2, 4, 2);
    struct sharding s;
    struct err e;

    assert_int_equal(sharding_from_parts(&m, parts, rank, "t", &s, &e), 0);
    for (int d = 0; d < rank; d++)
        assert_int_equal(s.axis[d], axis[d]);
}

static void expect_no_parts(const int *parts, int rank, const char *message)
{
    struct mesh m = mesh_of(2, 4, 2);
    struct sharding s;
    struct err e;

    assert_int_equal(sharding_from_parts(&m, parts, rank, "t", &s, &e), -1);
    assert_string_equal(e.msg, message);
}

TEST(parts_along_dimensions_name_axes)
{
    expect_parts((int[]){4, 1, 2}, 3, (int[]){1, 0, 2});
    expect_parts((int[]){2, 4}, 2, (int[]){2, 1});
    expect_no_parts((int[]){4, 1}, 2, "t: 4 parts in all, but there are 8 logical devices");
    expect_no_parts((int[]){8, 1}, 2, "t: 8 parts along dimension 0, but the logical devices have "
                    "no axis of 8 left");
    expect_no_parts((int[]){0, 1}, 2, "t: 0 parts along dimension 0, at least 1 are allowed");
}

TEST(parts_are_taken_and_put_back_where_they_are)
{
    struct mesh m = mesh_of(2, 2, 3);
    struct shape shape = shape_make(DTYPE_S32, 3, (int64_t[]){4, 3, 6});
    struct sharding s = {{0, 2, 1}};
    int32_t whole[72], part[12], again[72];

    for (int i = 0; i < 72; i++)
        whole[i] = i;
    memset(again, -1, sizeof(again));
    for (int d = 6; d < 12; d++) {
        int across = mesh_coordinate(&m, d, 1), down = mesh_coordinate(&m, d, 2);

        sharding_take(&m, &shape, &s, d, whole, part);
        for (int i = 0; i < 12; i++)
            assert_int_equal(part[i], i / 3 * 18 + down * 6 + across * 3 + i % 3);
        sharding_put(&m, &shape, &s, d, part, again);
    }
    assert_memory_equal(again, whole, sizeof(whole));
}

TEST(groups_differ_along_their_axes_only)
{
    struct mesh m = mesh_of(2, 3, 2);
    struct arena a;
    struct graph_groups g;

    arena_init(&a);
    g = mesh_groups(&m, 1u << 1, &a);
    assert_int_equal(g.count, 4);
    assert_int_equal(g.size, 3);
    for (int i = 0; i < g.count; i++)
        for (int k = 0; k < g.size; k++) {
            int device = g.member[i * g.size + k];

            assert_int_equal(mesh_coordinate(&m, device, 1), k);
            assert_int_equal(mesh_coordinate(&m, device, 0), i / 2);
            assert_int_equal(mesh_coordinate(&m, device, 2), i % 2);
        }
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_mlp_cut_in_the_middle_exchanges_only_sums),
        cmocka_unit_test(heads_of_attention_go_to_devices_of_their_own),
        cmocka_unit_test(a_sum_that_is_to_be_cut_is_scattered),
        cmocka_unit_test(what_replicas_send_each_other_stays_cut),
        cmocka_unit_test(random_graphs_cut_anywhere_compute_the_same),
        cmocka_unit_test(cuts_that_cannot_be_are_refused),
        cmocka_unit_test(parts_along_dimensions_name_axes),
        cmocka_unit_test(parts_are_taken_and_put_back_where_they_are),
        cmocka_unit_test(groups_differ_along_their_axes_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
