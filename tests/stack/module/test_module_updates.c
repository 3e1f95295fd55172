/*
 * Updates that are made where an operand lies: in chains, in loops, in branches, of parameters that
 * are given away. What somebody reads later must be there still, whoever and wherever that is; and
 * what nobody reads must not be copied.
 *
 * test_module_updates [first seed [graphs]] draws others; without, half of the seeds are fixed and
 * half follow from the date, and are printed.
 */
#include "base/rng.h"
#include "base/units.h"
#include "stack/hlo/rewrite.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/test.h"

#include <stdlib.h>
#include <time.h>

#define VALUES_MAX 12

static uint64_t given_seed;
static int graph_count;
static struct rng rng;

static int below(int end) { return (int)rng_below(&rng, (uint32_t)end); }

static int number(struct graph *to, double value)
{
    return graph_constant(to, shape_scalar(DTYPE_S32), value);
}

static struct graph *new_graph(const char *name)
{
    struct graph *to = arena_alloc(&arena, sizeof(*to));

    graph_init(to, &arena, name);
    return to;
}

static struct shape table_shape(void) { return shape_make(DTYPE_F32, 2, (int64_t[]){19, 140}); }

/* Arrays of one shape that a graph has so far, and a number to begin updates from. */
struct pool {
    struct graph *g;
    int value[VALUES_MAX], count, start;
};

static int any(const struct pool *p) { return p->value[below(p->count)]; }

static void put(struct pool *p, int value)
{
    if (p->count < VALUES_MAX)
        p->value[p->count++] = value;
    else
        p->value[below(p->count)] = value;
}

static int place(const struct pool *p, int size)
{
    int at = graph_binary(p->g, HLO_MULTIPLY, p->start, number(p->g, below(4)));

    return graph_binary(p->g, HLO_ADD, at, number(p->g, below(size)));
}

/* rows of one array go into another, or into the same */
static int updated(const struct pool *p)
{
    struct graph *to = p->g;
    int64_t size[2] = {1 + below(4), below(2) ? 140 : 1 + below(100)};
    int from[2] = {place(p, 19), place(p, 30)}, at[2] = {place(p, 19), place(p, 30)};
    int rows = graph_dynamic_slice(to, any(p), from, size);

    if (below(2))
        rows = graph_unary(to, HLO_NEGATE, rows);
    return graph_dynamic_update_slice(to, any(p), rows, at);
}

/* rows by number, added to or replaced */
static int scattered(const struct pool *p)
{
    struct graph *to = p->g;
    struct graph_gather how = {.offset_count = 1, .offset_dims = {1}, .collapsed_count = 1,
                               .map_count = 1, .index_vector_dim = 1};
    int64_t start[2] = {below(10), 0}, end[2] = {start[0] + 7, 140};
    int rows = graph_slice(to, any(p), start, end, NULL), numbers;
    struct shape s = shape_make(DTYPE_S32, 1, (int64_t[]){7});

    numbers = graph_binary(to, HLO_ADD, graph_iota(to, s, 0), graph_broadcast(to, place(p, 12), s, NULL));
    return graph_scatter(to, below(2) ? REDUCE_ADD : REDUCE_REPLACE, any(p), numbers, rows, &how);
}

static void add_some(struct pool *p, int depth);

/* (a, b, start) -> two of what it makes of them, and start + 1 */
static struct graph *made_body(int depth, bool counts)
{
    struct graph *b = new_graph("body");
    struct pool inside = {.g = b};
    int start;

    put(&inside, graph_parameter(b, table_shape(), "a"));
    put(&inside, graph_parameter(b, table_shape(), "b"));
    start = graph_parameter(b, shape_scalar(DTYPE_S32), "start");
    inside.start = start;
    add_some(&inside, depth);
    graph_output(b, any(&inside), "a", -1);
    graph_output(b, any(&inside), "b", -1);
    if (counts)
        graph_output(b, graph_binary(b, HLO_ADD, start, number(b, 1)), "start", -1);
    graph_freeze(b);
    return b;
}

static void add_loop(struct pool *p, int depth)
{
    int operand[3] = {any(p), any(p), p->start};
    int all = graph_while(p->g, operand, 3, made_body(depth, true), 1 + below(4));

    put(p, graph_tuple_element(p->g, all, 0));
    put(p, graph_tuple_element(p->g, all, 1));
}

static void add_branches(struct pool *p, int depth)
{
    int operand[3] = {any(p), any(p), p->start};
    int pred = graph_compare(p->g, COMPARE_GT, p->start, number(p->g, below(3) - 1));
    struct graph *one = made_body(depth, false), *other = made_body(depth, false);
    int all = graph_conditional(p->g, pred, operand, 3, one, other);

    put(p, graph_tuple_element(p->g, all, 0));
    put(p, graph_tuple_element(p->g, all, 1));
}

static void add_some(struct pool *p, int depth)
{
    for (int i = 2 + below(4); i > 0; i--) {
        int what = below(depth > 0 ? 7 : 5);

        if (what < 2)
            put(p, updated(p));
        else if (what == 2)
            put(p, scattered(p));
        else if (what == 3)
            put(p, graph_binary(p->g, HLO_SUBTRACT, any(p), any(p)));
        else if (what == 4)
            put(p, graph_unary(p->g, HLO_NEGATE, any(p)));
        else if (what == 5)
            add_loop(p, depth - 1);
        else
            add_branches(p, depth - 1);
    }
}

static void draw_graph(void)
{
    struct pool p = {.g = &g};
    bool gives = below(2);

    for (int i = 0; i < 2; i++)
        put(&p, graph_parameter(&g, table_shape(), i ? "b" : "a"));
    p.start = graph_parameter(&g, shape_scalar(DTYPE_S32), "start");
    add_some(&p, 2);
    graph_output(&g, p.value[p.count - 1], "last", gives ? 0 : -1);
    graph_output(&g, any(&p), "any", gives && below(2) ? 1 : -1);
}

static uint64_t seed_of(int i)
{
    static uint64_t today;

    if (given_seed)
        return given_seed + (uint64_t)i;
    if (i % 2 == 0)
        return (uint64_t)i;
    if (!today) {
        today = (uint64_t)time(NULL) / 86400 * 1000;
        printf("seeds of today from %llu on\n", (unsigned long long)today);
    }
    return today + (uint64_t)i;
}

TEST(drawn_updates_leave_what_is_read_later)
{
    static const char *const slices[] = {"v5e", "v3-1", "v6e", "v2"};

    for (int i = 0; i < graph_count; i++) {
        uint64_t seed = seed_of(i);
        struct module_rig r = {.slice = slices[i % (int)COUNT_OF(slices)], .spoils_vmem = true,
                               .check_races = i % 3 == 0, .launches = 1 + i % 2};

        rng_init(&rng, seed);
        printf("seed %llu\n", (unsigned long long)seed);
        draw_graph();
        module_rig_check(&r, &g, seed);
        one_graph_again();
    }
}

/* (a, b) -> (what a loop makes of a, a), both given away */
TEST(what_a_loop_begins_with_may_be_a_result_too)
{
    struct module_rig r = {.slice = "v5e", .launches = 3};
    struct graph *b = new_graph("body");
    int a = graph_parameter(b, table_shape(), "a"), loop;

    graph_output(b, graph_binary(b, HLO_ADD, a, graph_splat(b, a, 1)), "a", -1);
    graph_freeze(b);
    a = graph_parameter(&g, table_shape(), "a");
    graph_parameter(&g, table_shape(), "b");
    loop = graph_while(&g, &a, 1, b, 3);
    graph_output(&g, g.node[loop].tuple_count ? graph_tuple_element(&g, loop, 0) : loop, "new", 0);
    graph_output(&g, a, "old", 1);
    module_rig_check(&r, &g, 1);
}

/* cycles of 20 rounds that each put a row into an array of so many */
static int64_t cycles_of_stacking(int64_t rows, bool is_given)
{
    struct module_rig r = {.slice = "v5e"};
    struct shape all = shape_make(DTYPE_F32, 3, (int64_t[]){rows, 8, 128});
    struct graph *b = new_graph("body");
    int x, i, row, loop, zero;

    x = graph_parameter(b, all, "x");
    i = graph_parameter(b, shape_scalar(DTYPE_S32), "i");
    zero = number(b, 0);
    row = graph_broadcast(b, graph_convert(b, i, DTYPE_F32),
                          shape_make(DTYPE_F32, 3, (int64_t[]){1, 8, 128}), NULL);
    graph_output(b, graph_dynamic_update_slice(b, x, row, (int[]){i, zero, zero}), "x", -1);
    graph_output(b, graph_binary(b, HLO_ADD, i, number(b, 1)), "i", -1);
    graph_freeze(b);
    x = graph_parameter(&g, all, "x");
    loop = graph_while(&g, (int[]){x, number(&g, 0)}, 2, b, 20);
    graph_output(&g, graph_tuple_element(&g, loop, 0), "stacked", is_given ? 0 : -1);
    module_rig_check(&r, &g, 1);
    one_graph_again();
    return r.cycles;
}

/* 4,096 rows are 16 MiB: to copy them once takes 20 us of memory, 30,000 cycles */
TEST(a_loop_that_stacks_rows_moves_them_alone)
{
    int64_t few = cycles_of_stacking(64, true), many = cycles_of_stacking(4096, true);

    assert_in_range(many, few / 2, few + few / 10);
}

/* (rows, 8, 128), counter -> one branch puts a row into it, the other leaves it */
static int put_or_leave(struct graph *b, int x, int i, struct shape all)
{
    struct graph *puts = new_graph("puts"), *leaves = new_graph("leaves");
    int inside, zero, row;

    inside = graph_parameter(puts, all, "x");
    zero = number(puts, 0);
    row = graph_broadcast(puts, graph_constant(puts, shape_scalar(DTYPE_F32), 7),
                          shape_make(DTYPE_F32, 3, (int64_t[]){1, 8, 128}), NULL);
    row = graph_dynamic_update_slice(puts, inside, row,
                                     (int[]){graph_parameter(puts, shape_scalar(DTYPE_S32), "i"),
                                             zero, zero});
    graph_output(puts, row, "x", -1);
    graph_freeze(puts);
    graph_output(leaves, graph_parameter(leaves, all, "x"), "x", -1);
    graph_parameter(leaves, shape_scalar(DTYPE_S32), "i");
    graph_freeze(leaves);
    return graph_conditional(b, graph_compare(b, COMPARE_GT, i, number(b, 9)), (int[]){x, i}, 2,
                             puts, leaves);
}

/* (x, i) -> row i of x is row i - 1, and row i + 1 is read, which the graph lists behind that */
static int put_then_read(struct graph *b, int x, int i, struct shape all)
{
    const int64_t row[3] = {1, 8, 128};
    int zero = number(b, 0), before, behind;

    before = graph_dynamic_slice(b, x, (int[]){graph_binary(b, HLO_SUBTRACT, i, number(b, 1)), zero,
                                               zero}, row);
    x = graph_dynamic_update_slice(b, x, before, (int[]){i, zero, zero});
    behind = graph_dynamic_slice(b, b->node[x].operand[0],
                                 (int[]){graph_binary(b, HLO_ADD, i, number(b, 1)), zero, zero}, row);
    (void)all;
    return graph_dynamic_update_slice(b, x, graph_unary(b, HLO_NEGATE, behind),
                                      (int[]){i, zero, zero});
}

/* cycles of 20 rounds of such a step over an array of so many rows, which is given away */
static int64_t cycles_of_steps(int64_t rows,
                               int (*step)(struct graph *b, int x, int i, struct shape all))
{
    struct module_rig r = {.slice = "v5e"};
    struct shape all = shape_make(DTYPE_F32, 3, (int64_t[]){rows, 8, 128});
    struct graph *b = new_graph("body");
    int x = graph_parameter(b, all, "x"), i = graph_parameter(b, shape_scalar(DTYPE_S32), "i"), loop;

    graph_output(b, step(b, x, i, all), "x", -1);
    graph_output(b, graph_binary(b, HLO_ADD, i, number(b, 1)), "i", -1);
    graph_freeze(b);
    x = graph_parameter(&g, all, "x");
    loop = graph_while(&g, (int[]){x, number(&g, 0)}, 2, b, 20);
    graph_output(&g, graph_tuple_element(&g, loop, 0), "x", 0);
    module_rig_check(&r, &g, 1);
    one_graph_again();
    return r.cycles;
}

TEST(a_branch_that_changes_a_row_moves_it_alone)
{
    int64_t few = cycles_of_steps(64, put_or_leave), many = cycles_of_steps(4096, put_or_leave);

    assert_in_range(many, few / 2, few + few / 10);
}

TEST(who_reads_an_array_stands_before_what_changes_it)
{
    int64_t few = cycles_of_steps(64, put_then_read), many = cycles_of_steps(4096, put_then_read);

    assert_in_range(many, few / 2, few + few / 10);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(drawn_updates_leave_what_is_read_later),
        RUN(what_a_loop_begins_with_may_be_a_result_too),
        RUN(a_loop_that_stacks_rows_moves_them_alone),
        RUN(a_branch_that_changes_a_row_moves_it_alone),
        RUN(who_reads_an_array_stands_before_what_changes_it),
    };

    given_seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 0;
    graph_count = argc > 2 ? atoi(argv[2]) : 40;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
