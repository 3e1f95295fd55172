/*
 * Does what a kernel or a loop writes over its operand leave everybody else the values that they
 * ask for, and does a loop that changes rows of an array leave the array where it lies?
 *
 * test_module_reuse [first seed [graphs]] draws other graphs; without, half of the seeds are fixed
 * and half follow from the date, and are printed.
 */
#include "base/rng.h"
#include "base/units.h"
#include "stack/hlo/rewrite.h"
#include "stack/module/module.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TABLES_MAX 4
#define POOL_MAX 64
#define DEPTH_MAX 2

static const char *const slices[] = {"v5e", "v3-1", "v6e", "v7x"};
static const struct { int rank; int64_t dim[3]; } sizes[] = {
    {1, {700}}, {2, {9, 200}}, {2, {64, 128}}, {3, {5, 8, 128}}, {3, {4, 3, 50}}};

static const char *const names[TABLES_MAX] = {"a", "b", "c", "d"};

static uint64_t given_seed;
static int graph_count;

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

/* ----- what is not copied */

/* a scan of `rows` rounds: row i of a table of zeros becomes what row i of x is, negated */
static void make_scan(int64_t rows)
{
    const struct shape table = shape_make(DTYPE_F32, 3, (const int64_t[]){rows, 8, 128});
    struct graph *body = new_graph("body");
    int x = graph_parameter(body, table, "x"), y = graph_parameter(body, table, "y");
    int i = graph_parameter(body, shape_scalar(DTYPE_S32), "i"), row, all;
    int from[3] = {i, s32(body, 0), s32(body, 0)};

    row = graph_dynamic_slice(body, x, from, (const int64_t[]){1, 8, 128});
    row = graph_unary(body, HLO_NEGATE, row);
    graph_output(body, x, "x", -1);
    graph_output(body, graph_dynamic_update_slice(body, y, row, from), "y", -1);
    graph_output(body, graph_binary(body, HLO_ADD, i, s32(body, 1)), "i", -1);
    graph_freeze(body);
    all = graph_while(&g, (int[]){graph_parameter(&g, table, "x"),
                                  graph_broadcast(&g, graph_constant(&g, shape_scalar(DTYPE_F32), 0),
                                                  table, NULL),
                                  s32(&g, 0)}, 3, body, rows);
    graph_output(&g, graph_tuple_element(&g, all, 1), "y", -1);
}

static int64_t cycles_of_scan(const char *slice, int64_t rows)
{
    struct module_rig r = {.slice = slice};

    make_scan(rows);
    module_rig_check(&r, &g, 1);
    one_graph_again();
    return r.cycles;
}

TEST(a_scan_takes_time_for_its_rows_and_not_for_its_arrays)
{
    for (size_t i = 0; i < COUNT_OF(slices); i++) {
        int64_t few = cycles_of_scan(slices[i], 64), many = cycles_of_scan(slices[i], 256);

        assert_true(many < 5 * few);    /* with a copy of the array in each round 16 times */
    }
}

/* ----- drawn graphs: tables of one shape and parts of them, loops and choices in each other */

struct draw {
    struct rng *rng;
    struct shape table, part;
    struct graph *to;
    int tables[POOL_MAX], table_count;
    int parts[POOL_MAX], part_count;
    int counter;
    int depth;
};

static int below(const struct draw *d, int end) { return (int)rng_below(d->rng, (uint32_t)end); }

/* of the last ones mostly, so that chains come about */
static int a_table(const struct draw *d)
{
    return d->tables[below(d, 2) ? d->table_count - 1 : below(d, d->table_count)];
}

static int a_part(const struct draw *d)
{
    return d->parts[below(d, 2) ? d->part_count - 1 : below(d, d->part_count)];
}

static void add_table(struct draw *d, int node) { d->tables[d->table_count++] = node; }
static void add_part(struct draw *d, int node) { d->parts[d->part_count++] = node; }

/* where a part lies: along the first dimension by the counter or anywhere, else at its begin */
static void a_start(const struct draw *d, int *start)
{
    for (int k = 0; k < d->table.rank; k++)
        start[k] = s32(d->to, 0);
    start[0] = below(d, 3) ? d->counter : s32(d->to, below(d, 9) - 2);
    if (below(d, 3) == 0)
        start[0] = graph_binary(d->to, HLO_ADD, start[0], s32(d->to, 1 + below(d, 2)));
}

static void draw_body(struct draw *d, int count);

/* the tables that a computation gets, as its parameters */
static struct draw inside_of(const struct draw *d, struct graph *to, int tables)
{
    struct draw in = {.rng = d->rng, .table = d->table, .part = d->part, .to = to,
                      .depth = d->depth - 1};

    for (int k = 0; k < tables; k++)
        add_table(&in, graph_parameter(to, d->table, names[k]));
    in.counter = graph_parameter(to, shape_scalar(DTYPE_S32), "i");
    return in;
}

static void draw_loop(struct draw *d)
{
    int tables = 1 + below(d, 3), operand[TABLES_MAX + 1], all;
    struct draw in = inside_of(d, new_graph("body"), tables);

    for (int k = 0; k < tables; k++)
        operand[k] = a_table(d);
    operand[tables] = below(d, 2) ? s32(d->to, below(d, 3)) : d->counter;
    draw_body(&in, 1 + below(d, 5));
    for (int k = 0; k < tables; k++)
        graph_output(in.to, below(d, 3) ? a_table(&in) : in.tables[k], names[k], -1);
    graph_output(in.to, graph_binary(in.to, HLO_ADD, in.counter, s32(in.to, 1)), "i", -1);
    graph_freeze(in.to);
    all = graph_while(d->to, operand, tables + 1, in.to, below(d, 4));
    for (int k = 0; k < tables; k++)
        if (below(d, 4))
            add_table(d, graph_tuple_element(d->to, all, k));
}

static void draw_choice(struct draw *d)
{
    int tables = 1 + below(d, 2), operand[TABLES_MAX + 1], all;
    int pred = graph_compare(d->to, COMPARE_LT, d->counter, s32(d->to, below(d, 3)));
    const struct graph *branch[2];

    for (int k = 0; k < tables; k++)
        operand[k] = a_table(d);
    operand[tables] = d->counter;
    for (int b = 0; b < 2; b++) {
        struct draw in = inside_of(d, new_graph("branch"), tables);

        draw_body(&in, below(d, 4));
        for (int k = 0; k < tables; k++)
            graph_output(in.to, below(d, 2) ? a_table(&in) : in.tables[k], names[k], -1);
        graph_freeze(in.to);
        branch[b] = in.to;
    }
    all = graph_conditional(d->to, pred, operand, tables + 1, branch[0], branch[1]);
    for (int k = 0; k < tables; k++)
        add_table(d, tables == 1 ? all : graph_tuple_element(d->to, all, k));
}

static void draw_one(struct draw *d)
{
    int start[GRAPH_RANK_MAX];

    switch (below(d, d->depth > 0 ? 9 : 7)) {
    case 0: case 1: case 2:
        a_start(d, start);
        add_table(d, graph_dynamic_update_slice(d->to, a_table(d), a_part(d), start));
        break;
    case 3: case 4:
        a_start(d, start);
        add_part(d, graph_dynamic_slice(d->to, a_table(d), start, d->part.dim));
        break;
    case 5: add_table(d, graph_unary(d->to, HLO_NEGATE, a_table(d))); break;
    case 6: add_table(d, graph_binary(d->to, HLO_MAXIMUM, a_table(d), a_table(d))); break;
    case 7: draw_loop(d); break;
    default: draw_choice(d); break;
    }
}

static void draw_body(struct draw *d, int count)
{
    int start[GRAPH_RANK_MAX];

    a_start(d, start);
    add_part(d, graph_unary(d->to, HLO_NEGATE,
                            graph_dynamic_slice(d->to, a_table(d), start, d->part.dim)));
    for (int i = 0; i < count; i++)
        draw_one(d);
}

static uint64_t seed_of(int i)
{
    static const uint64_t found[] = {70304, 610597};    /* that were wrong once */
    static uint64_t today;

    if (given_seed)
        return given_seed + (uint64_t)i;
    if (i < (int)COUNT_OF(found))
        return found[i];
    if (!today)
        today = 1000 + (uint64_t)time(NULL) % 1000000 * 100;
    return (i % 2 ? today : 1) + (uint64_t)i;
}

/* parameters that the program may write over, as a state that is given away, and others */
static void draw_graph(struct draw *d)
{
    int tables = 1 + below(d, TABLES_MAX), given = 0;

    for (int k = 0; k < tables; k++)
        add_table(d, graph_parameter(&g, d->table, names[k]));
    d->counter = graph_parameter(&g, shape_scalar(DTYPE_S32), "i");
    draw_body(d, 3 + below(d, 10));
    for (int k = 0; k < tables; k++)
        graph_output(&g, below(d, 2) ? a_table(d) : d->tables[d->table_count - 1 - k], names[k],
                     below(d, 2) ? given++ : -1);
}

TEST(drawn_updates_have_their_values)
{
    int count = graph_count ? graph_count : 60;

    for (int i = 0; i < count; i++) {
        struct module_rig r = {0};
        struct rng rng;
        struct draw d = {.rng = &rng, .to = &g, .depth = DEPTH_MAX};
        size_t size;

        rng_init(&rng, seed_of(i));
        size = rng_below(&rng, COUNT_OF(sizes));
        d.table = shape_make(DTYPE_F32, sizes[size].rank, sizes[size].dim);
        d.part = d.table;
        d.part.dim[0] = 1 + below(&d, 2);
        draw_graph(&d);
        g.name = arena_printf(&arena, "seed %lld", (long long)seed_of(i));
        r.slice = slices[below(&d, COUNT_OF(slices))];
        r.spoils_vmem = true;
        r.check_races = true;
        r.launches = 1 + below(&d, 2);
        if (below(&d, 4) == 0) {        /* so little that values are made again, or refused */
            r.hbm_bytes = 4 * KIB * (8 + below(&d, 120));
            r.may_refuse = true;
        }
        module_rig_check(&r, &g, seed_of(i));
        one_graph_again();
    }
    print_message("seeds %lld..%lld\n", (long long)seed_of(0), (long long)seed_of(count - 1));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(a_scan_takes_time_for_its_rows_and_not_for_its_arrays),
        RUN(drawn_updates_have_their_values),
    };

    given_seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    graph_count = argc > 2 ? atoi(argv[2]) : 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
