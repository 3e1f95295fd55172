/*
 * Gathers and scatters of a window for each of a batch, whose index vectors have a number for every
 * dimension: do zeros among them go, and nothing else, so that values stay and windows are rows?
 *
 * test_starts [first seed [graphs]] draws others (tests/rigs/seeds.h).
 */
#include "base/rng.h"
#include "base/units.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

#include <string.h>

#define NUMBERS 3                       /* of an index vector: along all dimensions but the batch */

static struct rng rng;

static int64_t below(int64_t end) { return (int64_t)rng_below(&rng, (uint32_t)end); }

static struct shape s32s(int64_t batch, int64_t numbers)
{
    return shape_make(DTYPE_S32, 2, (int64_t[]){batch, numbers});
}

static int splat(struct shape s, int64_t value)
{
    return graph_broadcast(&g, graph_constant(&g, shape_scalar(DTYPE_S32), (double)value), s, NULL);
}

/* a number for each of the batch, computed of a parameter */
static int column(int64_t batch, int64_t by)
{
    int x = graph_parameter(&g, s32s(batch, 1),
                            arena_printf(&arena, "p%d", g.parameter_count));

    return graph_binary(&g, HLO_MULTIPLY, x, splat(s32s(batch, 1), by));
}

/* clamp(0, vectors, the last starts), as a batch of dynamic updates is lowered */
static int clamped(int vectors, const int64_t *last)
{
    struct shape s = g.node[vectors].shape, row = shape_make(DTYPE_S32, 1, &s.dim[1]);
    int32_t high[NUMBERS];
    int limit, dim = 1;

    for (int k = 0; k < NUMBERS; k++)
        high[k] = (int32_t)last[k];
    limit = graph_binary(&g, HLO_MINIMUM, graph_literal(&g, row, high), splat(row, INT32_MAX));
    return graph_clamp(&g, splat(s, 0), vectors, graph_broadcast(&g, limit, s, &dim));
}

struct windows {
    struct shape table, window;         /* f32[batch, …] */
    int64_t last[NUMBERS];
};

static void draw_sizes(struct windows *w)
{
    static const int64_t sizes[] = {1, 2, 3, 8, 9, 16, 128, 130};
    const bool is_large = below(6) == 0;

    w->table = shape_make(DTYPE_F32, NUMBERS + 1,
                          (int64_t[]){1 + below(is_large ? 2 : 5), 1, 1, 1});
    w->window = w->table;
    for (int k = 0; k < NUMBERS; k++) {
        int64_t size = k < 2 ? sizes[below(6)] : sizes[below(COUNT_OF(sizes))];

        if (is_large)                   /* so that its windows take less time than all of it */
            size = k == 0 ? 300 + below(500) : k == 1 ? sizes[below(6)] : 128 + below(2) * 2;
        w->table.dim[1 + k] = size;
        w->window.dim[1 + k] = is_large && k == 0   ? 1 + below(3)
                               : below(3) || is_large * k == 2 ? size : 1 + below(size);
        w->last[k] = size - w->window.dim[1 + k];
    }
}

static int draw_vectors(const struct windows *w)
{
    int64_t batch = w->table.dim[0];
    int part[NUMBERS], vectors;

    for (int k = 0; k < NUMBERS; k++)
        part[k] = below(2) ? splat(s32s(batch, 1), below(4) ? 0 : below(3) - 1)
                           : column(batch, 1 + below(4));
    vectors = graph_concatenate(&g, part, NUMBERS, 1);
    return below(2) ? clamped(vectors, w->last) : vectors;
}

static const struct graph_gather batched = {
    .offset_count = NUMBERS, .offset_dims = {1, 2, 3}, .map_count = NUMBERS,
    .start_index_map = {1, 2, 3}, .batching_count = 1, .operand_batching = {0},
    .indices_batching = {0}, .index_vector_dim = 1};

static void add_windows(const struct windows *w, int vectors, bool is_gather, bool is_sum)
{
    struct graph_gather how = batched;
    int table = graph_parameter(&g, w->table, "table"), made;

    if (is_gather) {
        memcpy(how.slice_sizes, w->window.dim, sizeof(how.slice_sizes));
        how.slice_sizes[0] = 1;
        made = graph_gather(&g, table, vectors, &how);
    } else {
        made = graph_scatter(&g, is_sum ? REDUCE_ADD : REDUCE_REPLACE, table, vectors,
                             graph_parameter(&g, w->window, "updates"), &how);
    }
    graph_output(&g, made, "made", is_gather || below(2) ? -1 : g.node[table].parameter_index);
}

TEST(any_windows_begin_where_they_did)
{
    static const char *const slices[] = {"v5e", "v3-1", "v6e"};
    int count = seeds_count(60);

    for (int i = 0; i < count; i++) {
        struct module_rig r = {.slice = slices[i % 3]};
        struct windows w;

        rng_init(&rng, seeds_at(i));
        draw_sizes(&w);
        add_windows(&w, draw_vectors(&w), below(2), below(2));
        g.name = arena_printf(&arena, "seed %lld", (long long)seeds_at(i));
        module_rig_check(&r, &g, seeds_at(i));
        one_graph_again();
    }
    seeds_print(count);
}

/* tiles of a cache, each at its place: by elements 1,024 times as much of the scalar side */
TEST(a_batch_of_updates_moves_rows)
{
    struct windows w = {.table = shape_make(DTYPE_F32, 4, (int64_t[]){8, 32, 8, 128}),
                        .window = shape_make(DTYPE_F32, 4, (int64_t[]){8, 1, 8, 128}),
                        .last = {31, 0, 0}};
    int part[NUMBERS] = {column(8, 5), splat(s32s(8, 1), 0), splat(s32s(8, 1), 0)};
    struct module_rig r = {.slice = "v5e"};

    add_windows(&w, clamped(graph_concatenate(&g, part, NUMBERS, 1), w.last), false, false);
    module_rig_check(&r, &g, 1);
    assert_in_range(r.cycles, 1, 40000);
    one_graph_again();
}

/* in its place it moves what it changes: 128 MiB would take half a million cycles */
TEST(a_batch_of_updates_leaves_a_large_table_where_it_lies)
{
    struct windows w = {.table = shape_make(DTYPE_F32, 4, (int64_t[]){4, 2048, 8, 128}),
                        .window = shape_make(DTYPE_F32, 4, (int64_t[]){4, 2, 8, 128}),
                        .last = {2046, 0, 0}};
    int part[NUMBERS] = {column(4, 500), splat(s32s(4, 1), 0), splat(s32s(4, 1), 0)};
    struct module_rig r = {.slice = "v5e", .launches = 2};

    add_windows(&w, clamped(graph_concatenate(&g, part, NUMBERS, 1), w.last), false, true);
    g.output[0].alias_parameter = g.parameter_count - 2;
    module_rig_check(&r, &g, 1);
    assert_in_range(r.cycles, 1, 30000);
    one_graph_again();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(any_windows_begin_where_they_did), RUN(a_batch_of_updates_moves_rows),
        RUN(a_batch_of_updates_leaves_a_large_table_where_it_lies),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
