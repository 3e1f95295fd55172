/*
 * Starts of slices that follow from the rounds of loops: what is found out of them, that values
 * stay what they were, and that timing mode takes the cycles that values take.
 *
 * test_trips [first seed [graphs]] draws other loops (tests/rigs/seeds.h).
 */
#include "base/rng.h"
#include "stack/hlo/rewrite.h"
#include "stack/module/module_run.h"
#include "stack/passes/trips.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"


#define ROWS 23
#define WIDTH 40
#define LOOPS_MAX 3

static int s32(struct graph *to, double value)
{
    return graph_constant(to, shape_scalar(DTYPE_S32), value);
}

static struct graph *new_graph(const char *name)
{
    struct graph *to = arena_alloc(&arena, sizeof(*to));

    graph_init(to, &arena, name);
    return to;
}

static struct shape table_shape(void)
{
    return shape_make(DTYPE_F32, 2, (const int64_t[]){ROWS, WIDTH});
}

static struct shape row_shape(void)
{
    return shape_make(DTYPE_F32, 2, (const int64_t[]){1, WIDTH});
}

static int row_at(struct graph *to, int table, int at)
{
    return graph_dynamic_slice(to, table, (int[]){at, s32(to, 0)}, (int64_t[]){1, WIDTH});
}

/* ----- what is known */

/* a loop of `trips` rounds over (table, sum, i), i growing by `by`; `at` makes the row's number */
static void make_scan(int first, int by, int64_t trips, int (*at)(struct graph *body, int i))
{
    struct graph *body = new_graph("body");
    int table = graph_parameter(body, table_shape(), "table");
    int sum = graph_parameter(body, row_shape(), "sum");
    int i = graph_parameter(body, shape_scalar(DTYPE_S32), "i"), all;

    graph_output(body, table, "table", -1);
    graph_output(body, graph_binary(body, HLO_ADD, sum, row_at(body, table, at(body, i))), "sum",
                 -1);
    graph_output(body, graph_binary(body, HLO_ADD, i, s32(body, by)), "i", -1);
    graph_freeze(body);
    all = graph_while(&g, (int[]){graph_parameter(&g, table_shape(), "table"),
                                  graph_parameter(&g, row_shape(), "sum"), s32(&g, first)}, 3,
                      body, trips);
    graph_output(&g, graph_tuple_element(&g, all, 1), "sum", -1);
}

static int counter(struct graph *body, int i) { (void)body; return i; }

static int from_the_end(struct graph *body, int i)
{
    return graph_binary(body, HLO_SUBTRACT, s32(body, ROWS - 1), i);
}

/* as jax.numpy writes an index: a negative one counts from the end */
static int from_either_end(struct graph *body, int i)
{
    return graph_select(body, graph_compare(body, COMPARE_LT, i, s32(body, 0)),
                        graph_binary(body, HLO_ADD, i, s32(body, ROWS)), i);
}

/* which nobody takes for a line through all rounds */
static int in_a_circle(struct graph *body, int i)
{
    return graph_binary(body, HLO_REMAINDER, i, s32(body, 3));
}

static const struct graph *loop_body(void)
{
    for (int i = 0; i < g.node_count; i++)
        if (g.node[i].op == HLO_WHILE)
            return g.node[i].called[0];
    fail_msg("no loop is left");
    return NULL;
}

static const struct graph_trips *trips_of(const struct graph *body)
{
    for (int i = 0; i < body->node_count; i++)
        if (body->node[i].op == HLO_DYNAMIC_SLICE)
            return body->node[i].trips;
    fail_msg("no slice is left");
    return NULL;
}

static bool counts(const struct graph *body)
{
    return body->output[2].node != body->parameter[2];
}

static void expect_start(int64_t first, int64_t step)
{
    const struct graph_trips *t;

    graph_know_trips(&g);
    t = trips_of(loop_body());
    assert_non_null(t);
    assert_int_equal(t->known, 3);
    assert_int_equal(t->first[0], first);
    assert_int_equal(t->step[0][0], step);
    assert_int_equal(t->first[1], 0);
    assert_false(counts(loop_body()));
    module_rig_check(&(struct module_rig){.slice = "v5e"}, &g, 1);
    one_graph_again();
}

TEST(rows_by_a_counter_are_known)
{
    make_scan(0, 1, ROWS, counter);
    expect_start(0, 1);
    make_scan(20, -2, 9, counter);
    expect_start(20, -2);
    make_scan(0, 1, ROWS, from_the_end);
    expect_start(ROWS - 1, -1);
    make_scan(0, 3, 7, from_either_end);
    expect_start(0, 3);
    make_scan(-9, 1, 9, from_either_end);
    expect_start(ROWS - 9, 1);
    make_scan(1, 1, 2, in_a_circle);
    expect_start(1, 1);
}

TEST(rows_that_are_no_line_stay_computed)
{
    make_scan(0, 1, 7, in_a_circle);
    graph_know_trips(&g);
    assert_int_equal(trips_of(loop_body())->known, 2);          /* the zero */
    assert_true(counts(loop_body()));
    one_graph_again();
    make_scan(-4, 1, 9, from_either_end);       /* negative first, then not */
    graph_know_trips(&g);
    assert_int_equal(trips_of(loop_body())->known, 2);
    assert_true(counts(loop_body()));
    one_graph_again();
}

TEST(a_counter_that_is_read_goes_on_counting)
{
    make_scan(0, 2, 5, counter);
    graph_output(&g, graph_tuple_element(&g, g.node[g.output[0].node].operand[0], 2), "i", -1);
    graph_know_trips(&g);
    assert_int_equal(trips_of(loop_body())->known, 3);
    assert_true(counts(loop_body()));
    module_rig_check(&(struct module_rig){.slice = "v5e"}, &g, 1);
}

/* ----- cycles */

static int64_t cycles_in(enum run_mode mode)
{
    struct machine_options options = {.mode = mode, .thread_count = 1};
    struct module_settings s = {.replica_count = 1};
    struct module module;
    struct machine *m;
    struct slice slice;
    struct chip chip;
    int64_t cycles;
    struct err e;

    assert_int_equal(slice_parse(&slice, "v5e", &e), 0);
    assert_int_equal(chip_load_builtin(&chip, slice.chip_name, NULL, &arena, &e), 0);
    s.chip = &chip;
    assert_int_equal(module_compile(&g, &s, &arena, &module, &e), 0);
    m = machine_create(&slice, &chip, &options, &e);
    assert_non_null(m);
    if (module_load(&module, m, 0, &e) || machine_run(m, &e))
        fail_msg("%s", e.msg);
    cycles = machine_cycles(m);
    machine_destroy(m);
    return cycles;
}

TEST(timing_mode_knows_rows_by_a_counter)
{
    make_scan(0, 1, ROWS, from_the_end);
    assert_int_equal(cycles_in(MODE_TIMING), cycles_in(MODE_BOTH));
}

/* ----- drawn loops */

struct draw {
    struct rng rng;
    int counter[LOOPS_MAX], counters;   /* in the body at hand */
};

static int below(struct draw *d, int end) { return (int)rng_below(&d->rng, (uint32_t)end); }

static int a_number(struct draw *d, struct graph *to)
{
    return below(d, 4) ? d->counter[below(d, d->counters)] : s32(to, below(d, 30) - 5);
}

static int an_index(struct draw *d, struct graph *to)
{
    int x = a_number(d, to);

    for (int i = below(d, 4); i > 0; i--) {
        int other = a_number(d, to);

        switch (below(d, 8)) {
        case 0: x = graph_binary(to, HLO_SUBTRACT, x, other); break;
        case 1: x = graph_binary(to, HLO_MULTIPLY, x, s32(to, below(d, 5) - 2)); break;
        case 2: x = graph_binary(to, HLO_MAXIMUM, x, other); break;
        case 3: x = graph_binary(to, HLO_MINIMUM, x, other); break;
        case 4: x = graph_binary(to, HLO_REMAINDER, x, s32(to, 1 + below(d, 30))); break;
        case 5: x = from_either_end(to, x); break;
        case 6: x = graph_convert(to, graph_convert(to, x, DTYPE_U32), DTYPE_S32); break;
        default: x = graph_binary(to, HLO_ADD, x, other);
        }
    }
    return x;
}

/* what sums become stays exact, however often they go around */
static int bounded(struct graph *to, int row)
{
    return graph_clamp(to, graph_constant(to, shape_scalar(DTYPE_F32), -60), row,
                       graph_constant(to, shape_scalar(DTYPE_F32), 60));
}

static void work(struct draw *d, struct graph *to, int *table, int *sum)
{
    int row = row_at(to, *table, an_index(d, to));

    *sum = bounded(to, graph_binary(to, HLO_ADD, *sum, row));
    if (below(d, 3) == 0)
        *table = graph_dynamic_update_slice(to, *table, *sum,
                                            (int[]){an_index(d, to), s32(to, 0)});
    if (below(d, 4) == 0) {             /* the counter itself is a value, too */
        int i = graph_convert(to, d->counter[d->counters - 1], DTYPE_F32);

        *sum = bounded(to, graph_binary(to, HLO_ADD, *sum,
                                        graph_broadcast(to, i, row_shape(), NULL)));
    }
}

/* a loop in `to` over table, sum, its own counter and those around it; up to `depth` more inside */
static void draw_loop(struct draw *d, struct graph *to, int depth, int *table, int *sum)
{
    struct graph *body = new_graph("body");
    struct draw inside = {.rng = d->rng, .counters = d->counters + 1};
    int operand[2 + LOOPS_MAX] = {*table, *sum}, result[2], all, trips = below(d, 6);

    result[0] = graph_parameter(body, table_shape(), "table");
    result[1] = graph_parameter(body, row_shape(), "sum");
    for (int k = 0; k < inside.counters; k++)
        inside.counter[k] = graph_parameter(body, shape_scalar(DTYPE_S32),
                                            arena_printf(&arena, "i%d", k));
    for (int k = 0; k < d->counters; k++)
        operand[2 + k] = d->counter[k];
    operand[2 + d->counters] = below(d, 3) || d->counters == 0 ? s32(to, below(d, 20) - 6)
                                                               : a_number(d, to);
    inside.rng = d->rng;
    for (int i = below(&inside, 2); i >= 0; i--) {
        work(&inside, body, &result[0], &result[1]);
        if (depth > 0 && below(&inside, 2))
            draw_loop(&inside, body, depth - 1, &result[0], &result[1]);
    }
    graph_output(body, result[0], "table", -1);
    graph_output(body, result[1], "sum", -1);
    for (int k = 0; k < d->counters; k++)
        graph_output(body, inside.counter[k], "i", -1);
    graph_output(body, graph_binary(body, HLO_ADD, inside.counter[d->counters],
                                    s32(body, below(&inside, 7) - 3)), "i", -1);
    graph_freeze(body);
    d->rng = inside.rng;
    all = graph_while(to, operand, 3 + d->counters, body, trips);
    *table = graph_tuple_element(to, all, 0);
    *sum = graph_tuple_element(to, all, 1);
}


TEST(drawn_loops_have_the_values_that_they_had)
{
    static const char *const slices[] = {"v5e", "v3-1", "v6e", "v2"};

    for (int i = 0; i < seeds_count(30); i++) {
        struct module_rig r = {.slice = slices[i % 4]};
        int table = graph_parameter(&g, table_shape(), "table");
        int sum = graph_parameter(&g, row_shape(), "sum");
        struct draw d = {0};

        rng_init(&d.rng, seeds_at(i));
        draw_loop(&d, &g, LOOPS_MAX - 1, &table, &sum);
        graph_output(&g, table, "table", -1);
        graph_output(&g, sum, "sum", -1);
        g.name = arena_printf(&arena, "seed %lld", (long long)seeds_at(i));
        module_rig_check(&r, &g, seeds_at(i));
        graph_know_trips(&g);           /* for the interpreter, too */
        module_rig_check(&r, &g, seeds_at(i));
        one_graph_again();
    }
    seeds_print(seeds_count(30));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(rows_by_a_counter_are_known), RUN(rows_that_are_no_line_stay_computed),
        RUN(a_counter_that_is_read_goes_on_counting), RUN(timing_mode_knows_rows_by_a_counter),
        RUN(drawn_loops_have_the_values_that_they_had),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
