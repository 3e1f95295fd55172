/*
 * Places of a grid, named by a list along each of several dimensions: do values stay, and does it
 * take few cycles?
 *
 * test_grids [first seed [graphs]] draws others (tests/rigs/seeds.h).
 */
#include "base/rng.h"
#include "base/units.h"
#include "stack/expand/expand.h"
#include "stack/hlo/graph_shape.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

static struct rng rng;

static int64_t below(int64_t end) { return (int64_t)rng_below(&rng, (uint32_t)end); }

/* numbers of a dimension, inside and on both sides outside, which nobody knows before */
static int drawn_list(int k, int rank, const int64_t *sizes, int64_t end)
{
    static const char *const names[] = {"i", "j", "k", "l"};
    struct shape s = shape_make(DTYPE_S32, rank, sizes);
    int32_t number[2000];

    for (int64_t i = 0; i < shape_elems(&s); i++)
        number[i] = (int32_t)(below(end + 8) - 4);
    return graph_binary(&g, HLO_ADD, graph_literal(&g, s, number), graph_parameter(&g, s, names[k]));
}

/* the list along `dims` of a grid, with a last dimension of one; or, as JAX has it, by way of ones */
static int along(int list, const struct shape *grid, const int *dims)
{
    struct shape s = *grid, own = g.node[list].shape, ones = *grid;

    s.dim[s.rank++] = 1;
    for (int i = 0; i < ones.rank; i++)
        ones.dim[i] = 1;
    for (int i = 0; i < own.rank; i++)
        ones.dim[dims[i]] = own.dim[i];
    if (below(2))
        list = graph_reshape(&g, graph_reshape(&g, list, ones), own);
    return graph_broadcast(&g, list, s, dims);
}

static int draw_grid(void)
{
    static const enum graph_dtype dtypes[] = {DTYPE_F32, DTYPE_BF16, DTYPE_S32, DTYPE_PRED,
                                              DTYPE_S8};
    struct graph_gather how = {0};
    struct shape operand = {.dtype = dtypes[below(COUNT_OF(dtypes))], .rank = 2 + (int)below(3)};
    struct shape grid = {.dtype = DTYPE_S32};
    int lists = 2 + (int)below(operand.rank - 1), order[GRAPH_RANK_MAX], part[GRAPH_RANK_MAX];
    int dims[GRAPH_RANK_MAX][2], ranks[GRAPH_RANK_MAX], list[GRAPH_RANK_MAX], offsets;

    for (int i = 0; i < operand.rank; i++) {
        operand.dim[i] = 1 + below(i == operand.rank - 1 ? 150 : 30);
        order[i] = i;
    }
    for (int i = operand.rank - 1; i > 0; i--) {
        int k = (int)below(i + 1), kept = order[i];

        order[i] = order[k];
        order[k] = kept;
    }
    for (int k = 0; k < lists; k++) {
        ranks[k] = lists == 2 && below(4) == 0 ? 2 : 1;
        for (int i = 0; i < ranks[k]; i++) {
            dims[k][i] = grid.rank;
            grid.dim[grid.rank++] = 1 + below(ranks[k] == 2 ? 7 : lists > 2 ? 12 : 40);
        }
    }
    for (int k = 0; k < lists; k++) {
        int64_t sizes[2] = {grid.dim[dims[k][0]], ranks[k] == 2 ? grid.dim[dims[k][1]] : 1};

        how.start_index_map[how.map_count++] = order[k];
        list[k] = drawn_list(k, ranks[k], sizes, operand.dim[order[k]]);
        part[k] = along(list[k], &grid, dims[k]);
    }
    how.index_vector_dim = grid.rank;
    offsets = operand.rank - lists;
    for (int i = 0; i < operand.rank; i++) {
        bool is_mapped = graph_dims_have(how.start_index_map, how.map_count, i);

        how.slice_sizes[i] = is_mapped ? 1 : operand.dim[i];
        if (is_mapped)
            how.collapsed_dims[how.collapsed_count++] = i;
    }
    for (int r = 0, left = grid.rank + offsets; left > 0; r++, left--)
        if (how.offset_count < offsets && (below(2) || left == offsets - how.offset_count))
            how.offset_dims[how.offset_count++] = r;
    return graph_gather(&g, graph_parameter(&g, operand, "x"),
                        graph_concatenate(&g, part, lists, grid.rank), &how);
}

TEST(any_grid_stays_what_it_is)
{
    static const char *const slices[] = {"v2-8", "v3-8", "v4-8", "v5e", "v6e", "v7x"};
    int count = seeds_count(40), taken = 0;

    seeds_print(count);
    for (int i = 0; i < count; i++) {
        struct module_rig r = {.megacore = false};
        struct graph_node n;
        int node;

        rng_init(&rng, seeds_at(i));
        r.slice = slices[below(COUNT_OF(slices))];
        node = draw_grid();
        n = g.node[node];
        taken += expand_grid(&g, &n) != NODE_NONE;
        graph_output(&g, graph_unary(&g, n.shape.dtype == DTYPE_PRED ? HLO_NOT : HLO_NEGATE, node),
                     "made", -1);
        g.name = arena_printf(&arena, "seed %llu", (unsigned long long)seeds_at(i));
        module_rig_check(&r, &g, seeds_at(i));
        one_graph_again();
    }
    assert_in_range(taken, count / 4, count);
}

/* x[ix_(i, j)] of 100 rows and columns: not one by one */
TEST(rows_and_columns_of_a_matrix)
{
    static const int64_t size = 100;
    struct graph_gather how = {.collapsed_count = 2, .collapsed_dims = {0, 1}, .map_count = 2,
                               .start_index_map = {0, 1}, .index_vector_dim = 2,
                               .slice_sizes = {1, 1}};
    struct shape number = shape_make(DTYPE_S32, 3, (int64_t[]){size, size, 1});
    struct module_rig r = {.slice = "v5e"};
    int x = graph_parameter(&g, shape_make(DTYPE_F32, 2, (int64_t[]){size, size}), "x"), part[2];

    for (int k = 0; k < 2; k++) {
        part[k] = graph_parameter(&g, shape_make(DTYPE_S32, 1, &size), k ? "columns" : "rows");
        part[k] = graph_broadcast(&g, part[k], number, &k);
    }
    g.name = "submatrix";
    graph_output(&g, graph_gather(&g, x, graph_concatenate(&g, part, 2, 2), &how), "made", -1);
    module_rig_check(&r, &g, 1);
    assert_in_range(r.cycles, 1, 9000);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(any_grid_stays_what_it_is), RUN(rows_and_columns_of_a_matrix),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
