/*
 * Random graphs: does the simulated slice compute, bit for bit, what the
 * reference interpreter computes?
 *
 * test_compile_random [first seed [graphs]] runs more of every kind; the
 * variable SYSTOLE_DUMP_GRAPH prints them.
 */
#include "stack/interp/interp.h"
#include "tests/generate/random_graph.h"
#include "tests/rigs/run_graph.h"
#include "tests/test.h"


static uint64_t first_seed = 1;
static int graph_count;                 /* 0: as many as each test says */

struct variation {
    const char *slice, *set;
    int replicas;
    int op_count;
    bool is_small;
    int count;
};

static bool same(const struct shape *s, const void *got, const void *want, int64_t i)
{
    float x = ((const float *)got)[i], y = ((const float *)want)[i];

    if (s->dtype == DTYPE_S32 || s->dtype == DTYPE_PRED)
        return ((const int32_t *)got)[i] == ((const int32_t *)want)[i];
    return x == y;                      /* zeros of either sign */
}

static void compare(const struct variation *v, uint64_t seed, const struct graph *g,
                    int output, const void *got, const void *want)
{
    const struct graph_node *n = &g->node[g->output[output % g->output_count].node];
    int64_t columns = n->shape.rank ? n->shape.dim[n->shape.rank - 1] : 1;
    char text[96];

    for (int64_t i = 0; i < shape_elems(&n->shape); i++)
        if (!same(&n->shape, got, want, i))
            fail_msg("seed %d on %s %s: replica %d, %s (%s of %s), element %d,%d: %.9g (0x%x), "
                     "expected %.9g (0x%x)", (int)seed, v->slice, v->set ? v->set : "",
                     output / g->output_count, n->name, graph_op_name(n->op),
                     shape_print(&n->shape, text, sizeof(text)), (int)(i / columns),
                     (int)(i % columns), (double)((const float *)got)[i],
                     ((const unsigned *)got)[i], (double)((const float *)want)[i],
                     ((const unsigned *)want)[i]);
}

/* whether it was compiled */
static bool check_graph(const struct variation *v, uint64_t seed)
{
    struct random_graph r = {.seed = seed, .op_count = v->op_count, .is_small = v->is_small,
                             .replica_count = v->replicas};
    struct graph_run run = {.slice = v->slice, .set = v->set, .may_refuse = true};
    struct interp_value *values, *expected;
    struct graph g, all;
    struct arena a;
    struct err e;
    int inputs, outputs;
    const void **input;
    void **output;
    char name[32];

    arena_init(&a);
    snprintf(name, sizeof(name), "seed %d", (int)seed);
    graph_init(&g, &a, name);
    graph_init(&all, &a, "replicas");
    random_graph_build(&g, &r);
    random_graph_replicate(&g, v->replicas, &all);
    if (getenv("SYSTOLE_DUMP_GRAPH"))
        graph_dump(&g, stdout);
    inputs = all.parameter_count;
    outputs = all.output_count;
    input = arena_array(&a, (size_t)inputs, sizeof(*input));
    values = arena_array(&a, (size_t)inputs, sizeof(*values));
    output = arena_array(&a, (size_t)outputs, sizeof(*output));
    expected = arena_array(&a, (size_t)outputs, sizeof(*expected));
    for (int i = 0; i < inputs; i++)
        input[i] = values[i].data = random_graph_input(
            &g, i % g.parameter_count, seed * 8 + (uint64_t)(i / g.parameter_count), &a);
    if (graph_verify(&g, &e) || interp_run(&all, INTERP_DOT_BF16, values, expected, &a, &e))
        fail_msg("seed %d: %s", (int)seed, e.msg);
    run_graph(&run, &g, input, output, &a);
    if (run.refusal[0])
        print_message("seed %d refused: %s\n", (int)seed, run.refusal);
    else
        for (int o = 0; o < outputs; o++)
            compare(v, seed, &g, o, output[o], expected[o].data);
    graph_fini(&all);
    graph_fini(&g);
    arena_fini(&a);
    return run.refusal[0] == '\0';
}

static void check_graphs(const struct variation *v)
{
    int usual = test_is_long() ? v->count : (v->count + 1) / 2;
    int count = graph_count ? graph_count : usual, refused = 0;

    for (int i = 0; i < count; i++)
        refused += !check_graph(v, first_seed + (uint64_t)i);
    print_message("%d of %d graphs refused\n", refused, count);
    if (refused * 5 > count)
        fail_msg("%d of %d graphs refused on %s", refused, count, v->slice);
}

TEST(one_core_computes_what_the_interpreter_does)
{
    check_graphs(&(struct variation){"v3-1", NULL, 1, 30, false, 40});
}

TEST(small_graphs_match)
{
    check_graphs(&(struct variation){"v2-1", NULL, 1, 12, true, 60});
}

TEST(two_cores_match)
{
    check_graphs(&(struct variation){"v3", NULL, 2, 25, true, 20});
}

TEST(eight_cores_match)
{
    check_graphs(&(struct variation){"v2-8", NULL, 8, 15, true, 8});
    check_graphs(&(struct variation){"tiny-8", "vmem.bytes=8388608", 8, 15, true, 8});
}

TEST(other_numbers_of_units_match)
{
    check_graphs(&(struct variation){"v3-1", "mxu.count=4 xlu.count=2", 1, 25, false, 15});
    check_graphs(&(struct variation){"v3-1", "mxu.count=1 xlu.count=3", 1, 25, false, 15});
    check_graphs(&(struct variation){"tiny-1", "vmem.bytes=8388608", 1, 25, true, 20});
}

/*
 * A group of several roots may stand before nodes that are numbered below its last one: a merge
 * that was searched for by numbers made a circle of groups, and an operand that was never made.
 */
TEST(groups_that_wait_for_each_other_stay_apart)
{
    const struct variation v = {"v3", NULL, 2, 25, true, 1};

    assert_true(check_graph(&v, 5002029));
}

/* more units, other slots and delays; from v6e on arrays twice as wide, on v7x accumulators */
TEST(every_generation_matches)
{
    check_graphs(&(struct variation){"v4-1", NULL, 1, 25, true, 10});
    check_graphs(&(struct variation){"v5e-1", NULL, 1, 25, true, 10});
    check_graphs(&(struct variation){"v5p", NULL, 2, 25, true, 8});
    check_graphs(&(struct variation){"v6e-1", NULL, 1, 25, true, 10});
    check_graphs(&(struct variation){"v6e-1", "core.imem_bundles=1500", 1, 12, true, 10});
    check_graphs(&(struct variation){"v7x", NULL, 2, 25, true, 8});
}

TEST(few_registers_match)
{
    check_graphs(&(struct variation){"v3-1", "core.vregs=20", 1, 25, true, 20});
}

TEST(little_vmem_matches)
{
    check_graphs(&(struct variation){"v3-1", "vmem.bytes=1048576", 1, 25, true, 20});
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_core_computes_what_the_interpreter_does),
        cmocka_unit_test(small_graphs_match),
        cmocka_unit_test(two_cores_match),
        cmocka_unit_test(eight_cores_match),
        cmocka_unit_test(other_numbers_of_units_match),
        cmocka_unit_test(groups_that_wait_for_each_other_stay_apart),
        cmocka_unit_test(every_generation_matches),
        cmocka_unit_test(few_registers_match),
        cmocka_unit_test(little_vmem_matches),
    };

    if (argc > 1)
        first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        graph_count = atoi(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
