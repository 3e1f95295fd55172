/*
 * Do loops that a condition ends, and conditionals, run on a simulated core as the interpreter runs
 * them: alone, in each other, on both cores of a chip, launch after launch; and what timing mode
 * says of them.
 *
 * test_module_flow [first seed [graphs]] runs other random graphs; without, half of the seeds are
 * fixed and half follow from the date, and are printed.
 */
#include "stack/hlo/rewrite.h"
#include "stack/module/module_run.h"
#include "tests/generate/random_hlo.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

#include <string.h>

static const char *const slices[] = {"v5e", "v3-1", "v6e", "v2"};

static int s32_constant(struct graph *to, double value)
{
    return graph_constant(to, shape_scalar(DTYPE_S32), value);
}

static struct graph *new_graph(const char *name)
{
    struct graph *to = arena_alloc(&arena, sizeof(*to));

    graph_init(to, &arena, name);
    return to;
}

/* nothing more will be added: what it has is the arena's */
static struct graph *whole(struct graph *of)
{
    graph_freeze(of);
    return of;
}

static int s32_parameter(struct graph *to, const char *name)
{
    return graph_parameter(to, shape_scalar(DTYPE_S32), name);
}

static int vector_parameter(struct graph *to, const char *name)
{
    return graph_parameter(to, shape_make(DTYPE_F32, 1, (int64_t[]){300}), name);
}

/* (x, v, n) -> v * 2 + x, until n trips or a condition on x; x -> half or 3 x + 1 */
static struct graph *collatz_condition(void)
{
    struct graph *c = new_graph("condition");
    int x = s32_parameter(c, "x"), n;

    vector_parameter(c, "v");
    n = s32_parameter(c, "n");
    graph_output(c, graph_binary(c, HLO_AND,
                                 graph_compare(c, COMPARE_GT, x, s32_constant(c, 1)),
                                 graph_compare(c, COMPARE_LT, n, s32_constant(c, 40))), "on", -1);
    return whole(c);
}

static struct graph *half_branch(void)
{
    struct graph *b = new_graph("half");
    int x = s32_parameter(b, "x"), v = vector_parameter(b, "v");

    graph_output(b, graph_binary(b, HLO_DIVIDE, x, s32_constant(b, 2)), "x", -1);
    graph_output(b, v, "v", -1);
    return whole(b);
}

static struct graph *up_branch(void)
{
    struct graph *b = new_graph("up");
    int x = s32_parameter(b, "x"), v = vector_parameter(b, "v"), wide;

    graph_output(b, graph_binary(b, HLO_ADD, s32_constant(b, 1),
                                 graph_binary(b, HLO_MULTIPLY, x, s32_constant(b, 3))), "x", -1);
    wide = graph_convert(b, x, DTYPE_F32);
    wide = graph_broadcast(b, wide, b->node[v].shape, NULL);
    graph_output(b, graph_binary(b, HLO_ADD, v, wide), "v", -1);
    return whole(b);
}

static struct graph *collatz_body(void)
{
    struct graph *b = new_graph("body");
    int x = s32_parameter(b, "x"), v = vector_parameter(b, "v"), n = s32_parameter(b, "n"), even;
    int both;

    even = graph_compare(b, COMPARE_EQ, s32_constant(b, 0),
                         graph_binary(b, HLO_REMAINDER, x, s32_constant(b, 2)));
    both = graph_conditional(b, even, (int[]){x, v}, 2, half_branch(), up_branch());
    graph_output(b, graph_tuple_element(b, both, 0), "x", -1);
    graph_output(b, graph_tuple_element(b, both, 1), "v", -1);
    graph_output(b, graph_binary(b, HLO_ADD, n, s32_constant(b, 1)), "n", -1);
    return whole(b);
}

/* x0 + `from` is where it starts */
static void build_collatz(int from, bool goes_on)
{
    int x = s32_parameter(&g, "x"), v = vector_parameter(&g, "v"), n = s32_parameter(&g, "n"), all;
    int start = graph_binary(&g, HLO_ADD, x, s32_constant(&g, from));

    all = graph_while_condition(&g, (int[]){start, v, n}, 3, collatz_body(), collatz_condition());
    graph_output(&g, graph_tuple_element(&g, all, 0), "x", goes_on ? 0 : -1);
    graph_output(&g, graph_tuple_element(&g, all, 1), "v", goes_on ? 1 : -1);
    graph_output(&g, graph_tuple_element(&g, all, 2), "n", -1);
}

TEST(a_conditional_in_a_loop_that_a_condition_ends)
{
    static const int from[] = {-5, 4, 7, 24};   /* the first runs no trip */

    for (size_t i = 0; i < COUNT_OF(slices); i++)
        for (size_t k = 0; k < COUNT_OF(from); k++) {
            struct module_rig r = {.slice = slices[i]};

            build_collatz(from[k], false);
            module_rig_check(&r, &g, 1);
            one_graph_again();
        }
}

/* trips and branches are others in each launch */
TEST(launches_go_their_own_ways)
{
    for (int launches = 2; launches < 6; launches++) {
        struct module_rig r = {.slice = "v5e", .launches = launches};

        build_collatz(6, true);
        module_rig_check(&r, &g, (uint64_t)launches);
        one_graph_again();
    }
}

TEST(both_cores_of_a_chip_go_the_same_way)
{
    static const char *const chips[] = {"v4-2", "v5p-2"};

    for (size_t i = 0; i < COUNT_OF(chips); i++) {
        struct module_rig r = {.slice = chips[i], .megacore = true};

        build_collatz(7, false);
        module_rig_check(&r, &g, 1);
        assert_true(r.barrier_count > 0);
        one_graph_again();
    }
}

/* outputs that are both branches' operand, one branch's operand, the same node twice */
TEST(branches_pass_their_operands_on)
{
    for (int which = 0; which < 2; which++) {
        struct module_rig r = {.slice = "v5e", .check_races = true};
        struct graph *yes = new_graph("yes"), *no = new_graph("no"), *branch[2] = {yes, no};
        int x = vector_parameter(&g, "x"), y = vector_parameter(&g, "y"), all, pred;

        for (int i = 0; i < 2; i++) {
            int a = vector_parameter(branch[i], "a"), b = vector_parameter(branch[i], "b");
            int sum = graph_binary(branch[i], i ? HLO_ADD : HLO_SUBTRACT, a, b);

            graph_output(branch[i], a, "same", -1);
            graph_output(branch[i], i ? a : b, "other", -1);
            graph_output(branch[i], i ? sum : b, "once", -1);
            graph_output(branch[i], sum, "twice", -1);
            graph_output(branch[i], sum, "again", -1);
        }
        pred = graph_compare(&g, COMPARE_GT, s32_constant(&g, which), s32_constant(&g, 0));
        all = graph_conditional(&g, pred, (int[]){x, y}, 2, whole(yes), whole(no));
        for (int i = 0; i < 5; i++)
            graph_output(&g, graph_tuple_element(&g, all, i), arena_printf(&arena, "o%d", i),
                         i == 3 ? 1 : -1);
        module_rig_check(&r, &g, 1);
        one_graph_again();
    }
}

/* a loop that carries its condition, in a loop that counts, in a loop that a condition ends */
TEST(loops_of_both_kinds_nest)
{
    for (size_t i = 0; i < COUNT_OF(slices); i++) {
        struct module_rig r = {.slice = slices[i]};
        struct graph *inner = new_graph("inner"), *c = new_graph("c"), *middle = new_graph("middle");
        struct graph *outer = new_graph("outer"), *oc = new_graph("oc");
        int v, p, n, all;

        v = vector_parameter(inner, "v");       /* v, p, n -> v + 1, n + 1 < 3, n + 1 */
        graph_parameter(inner, shape_scalar(DTYPE_PRED), "p");
        n = graph_binary(inner, HLO_ADD, s32_parameter(inner, "n"), s32_constant(inner, 1));
        graph_output(inner, graph_binary(inner, HLO_ADD, v, graph_splat(inner, v, 1)), "v", -1);
        graph_output(inner, graph_compare(inner, COMPARE_LT, n, s32_constant(inner, 3)), "p", -1);
        graph_output(inner, n, "n", -1);
        vector_parameter(c, "v");
        p = graph_parameter(c, shape_scalar(DTYPE_PRED), "p");
        s32_parameter(c, "n");
        graph_output(c, p, "p", -1);
        whole(inner);
        whole(c);
        v = vector_parameter(middle, "v");      /* v -> 2 * inner(v) */
        p = graph_constant(middle, shape_scalar(DTYPE_PRED), 1);
        all = graph_while_condition(middle, (int[]){v, p, s32_constant(middle, 0)}, 3, inner, c);
        v = graph_tuple_element(middle, all, 0);
        graph_output(middle, graph_binary(middle, HLO_ADD, v, v), "v", -1);
        v = vector_parameter(outer, "v");       /* v, n -> middle four times, n - 1 */
        n = s32_parameter(outer, "n");
        graph_output(outer, graph_while(outer, &v, 1, whole(middle), 4), "v", -1);
        graph_output(outer, graph_binary(outer, HLO_SUBTRACT, n, s32_constant(outer, 1)), "n", -1);
        vector_parameter(oc, "v");
        n = s32_parameter(oc, "n");
        graph_output(oc, graph_compare(oc, COMPARE_GT, n, s32_constant(oc, 0)), "on", -1);
        v = vector_parameter(&g, "v");
        n = s32_constant(&g, 2);
        all = graph_while_condition(&g, (int[]){v, n}, 2, whole(outer), whole(oc));
        graph_output(&g, graph_tuple_element(&g, all, 0), "v", -1);
        module_rig_check(&r, &g, 1);
        one_graph_again();
    }
}

/* ----- timing */

struct timing { int64_t cycles; char refusal[512]; };

static struct timing run_timing(int64_t trips, enum assumed_branch branch, enum run_mode mode,
                                int threads)
{
    struct machine_options options = {.mode = mode, .thread_count = threads};
    struct timing t = {0};
    struct module module;
    struct machine *m;
    struct slice slice;
    struct chip chip;
    struct err e;
    struct module_settings s = {.chip = &chip, .replica_count = 1, .assume_trips = trips,
                                .assume_branch = branch};

    build_collatz(0, false);
    assert_int_equal(slice_parse(&slice, "v5e", &e), 0);
    assert_int_equal(chip_load_builtin(&chip, slice.chip_name, NULL, &arena, &e), 0);
    chip.hbm_trefi_ps = 0;              /* a refresh would fall into some trips and not into others */
    assert_int_equal(module_compile(&g, &s, &arena, &module, &e), 0);
    m = machine_create(&slice, &chip, &options, &e);
    assert_non_null(m);
    if (module_load(&module, m, 0, &e) || machine_run(m, &e))
        snprintf(t.refusal, sizeof(t.refusal), "%s", e.msg);
    t.cycles = machine_cycles(m);
    machine_destroy(m);
    one_graph_again();
    return t;
}

TEST(timing_mode_refuses_what_follows_from_values_and_runs_what_is_assumed)
{
    struct timing loop = run_timing(0, BRANCH_TRUE, MODE_TIMING, 1);
    struct timing choice = run_timing(3, BRANCH_NONE, MODE_TIMING, 1);
    int64_t cycles[4];

    assert_ptr_equal(strstr(loop.refusal, "while."), loop.refusal);
    assert_non_null(strstr(loop.refusal, ": which way it goes follows from values"));
    assert_ptr_equal(strstr(choice.refusal, "conditional."), choice.refusal);
    for (int i = 0; i < 4; i++) {
        struct timing t = run_timing(1 + i, BRANCH_TRUE, MODE_TIMING, 1);

        assert_string_equal(t.refusal, "");
        cycles[i] = t.cycles;
    }
    assert_true(cycles[0] < cycles[1] && cycles[1] < cycles[2]);
    assert_in_range(cycles[3] - cycles[2], cycles[2] - cycles[1] - 200, cycles[2] - cycles[1] + 200);
}

TEST(assumed_ways_take_the_same_cycles_in_both_modes)
{
    for (int branch = BRANCH_TRUE; branch <= BRANCH_FALSE; branch++) {
        struct timing t = run_timing(5, (enum assumed_branch)branch, MODE_TIMING, 1);
        struct timing both = run_timing(5, (enum assumed_branch)branch, MODE_BOTH, 1);
        struct timing threads = run_timing(5, (enum assumed_branch)branch, MODE_BOTH, 3);

        assert_string_equal(both.refusal, "");
        assert_int_equal(t.cycles, both.cycles);
        assert_int_equal(t.cycles, threads.cycles);
    }
}

/* ----- random graphs */


static void check_random(const char *slice, unsigned groups, int count, bool megacore)
{
    int refused = 0;

    count = seeds_count(count);
    for (int i = 0; i < count; i++) {
        uint64_t seed = seeds_at(i);
        struct random_hlo h = {.seed = seed, .groups = groups | RANDOM_FLOW, .op_count = 6,
                               .elems_max = 3000};
        struct module_rig r = {.slice = slice, .uses_hlo_inputs = true, .may_refuse = true,
                               .megacore = megacore, .launches = i % 3 ? 1 : 2};

        random_hlo_build(&g, &h);
        g.name = arena_printf(&arena, "seed %lld", (long long)seed);
        module_rig_check(&r, &g, seed);
        if (r.refusal[0])
            print_message("seed %lld refused: %s\n", (long long)seed, r.refusal);
        refused += r.refusal[0] != '\0';
        one_graph_again();
    }
    print_message("%s: seeds %lld..%lld, %d of %d graphs refused\n", slice, (long long)seeds_at(0),
                  (long long)seeds_at(count - 1), refused, count);
    if (refused * 10 > count)
        fail_msg("%d of %d graphs refused on %s", refused, count, slice);
}

#define BASIC (RANDOM_ELEMENTWISE | RANDOM_MOVE | RANDOM_REDUCE)

TEST(random_ways_of_basic_work)
{
    for (size_t i = 0; i < COUNT_OF(slices); i++)
        check_random(slices[i], BASIC, 10, false);
}

TEST(random_ways_of_all_work)
{
    check_random("v5e", RANDOM_ALL, 12, false);
    check_random("v4", RANDOM_ALL, 8, false);
}

TEST(random_ways_of_both_cores)
{
    check_random("v4-2", BASIC | RANDOM_DOT | RANDOM_INDEX, 10, true);
    check_random("v5p-2", BASIC | RANDOM_LOOP, 6, true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(a_conditional_in_a_loop_that_a_condition_ends), RUN(launches_go_their_own_ways),
        RUN(both_cores_of_a_chip_go_the_same_way), RUN(branches_pass_their_operands_on),
        RUN(loops_of_both_kinds_nest),
        RUN(timing_mode_refuses_what_follows_from_values_and_runs_what_is_assumed),
        RUN(assumed_ways_take_the_same_cycles_in_both_modes), RUN(random_ways_of_basic_work),
        RUN(random_ways_of_all_work), RUN(random_ways_of_both_cores),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
