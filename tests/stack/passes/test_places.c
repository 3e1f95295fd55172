/*
 * Gathers and scatters of any form, by numbers that count along a dimension or two, that count the
 * operand's rows, that a literal has, or that are computed: whatever becomes of them (slices,
 * comparisons, rows of a transposed array), do values stay?
 *
 * test_places [first seed [graphs]] draws others (tests/rigs/seeds.h).
 */
#include "base/rng.h"
#include "base/units.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

#include <string.h>

#define BATCH_DIMS_MAX 2                /* of the indices */
#define MOVED_MAX 6000                  /* elements, some of which kernels move one by one */

static struct rng rng;

struct places {
    struct shape operand, one;          /* `one`: a number for each index, [batch.., 1] */
    struct graph_gather how;
    int part[GRAPH_RANK_MAX];
    int64_t window[GRAPH_RANK_MAX];     /* of the dimensions that are not collapsed, */
    int windows;                        /* in order */
};

static int64_t below(int64_t end) { return (int64_t)rng_below(&rng, (uint32_t)end); }

static int splat(struct shape s, int64_t value)
{
    return graph_broadcast(&g, graph_constant(&g, shape_scalar(DTYPE_S32), (double)value), s, NULL);
}

/* base + step * place along one of the batch's dimensions */
static int counted(const struct shape *one, int64_t base, int64_t step, int dim)
{
    int made = graph_binary(&g, HLO_MULTIPLY, graph_iota(&g, *one, dim), splat(*one, step));

    return graph_binary(&g, HLO_ADD, made, splat(*one, base));
}

static int drawn_literal(const struct shape *one, int64_t size)
{
    int32_t number[4096];

    for (int64_t i = 0; i < shape_elems(one); i++)
        number[i] = (int32_t)(below(size + 2) - 1);
    return graph_literal(&g, *one, number);
}

/* negative numbers count from the end, as NumPy has them */
static int from_the_end(int part, int64_t size)
{
    struct shape s = g.node[part].shape;
    int is_negative = graph_compare(&g, COMPARE_LT, part, splat(s, 0));

    return graph_select(&g, is_negative, graph_binary(&g, HLO_ADD, part, splat(s, size)), part);
}

static int draw_part(const struct shape *one, int64_t size)
{
    int dim = (int)below(one->rank - 1), part;

    switch (below(6)) {
    case 0: return counted(one, 0, 1, dim);
    case 1: return counted(one, below(3), 1 + below(3), dim);
    case 2: return counted(one, below(size), below(5) - 2, dim);
    case 3:
        part = graph_binary(&g, HLO_MULTIPLY, graph_iota(&g, *one, dim), splat(*one, 1 + below(9)));
        return graph_binary(&g, HLO_ADD, part, graph_iota(&g, *one, one->rank - 2));
    case 4: return drawn_literal(one, size);
    default:
        part = graph_parameter(&g, *one, arena_printf(&arena, "p%d", g.parameter_count));
        return graph_binary(&g, HLO_MULTIPLY, part, splat(*one, 1 + below(4)));
    }
}

static int64_t draw_size(int64_t *room)
{
    static const int64_t sizes[] = {1, 2, 3, 5, 8, 12, 16, 30, 100, 128, 130, 300};
    int64_t size = sizes[below(COUNT_OF(sizes))];

    size = size > *room ? *room : size;
    *room /= size;
    return size;
}

static void draw_batch(struct places *p)
{
    int64_t room = 1500;
    int dims = 1 + (int)below(BATCH_DIMS_MAX);

    p->one = shape_make(DTYPE_S32, 0, NULL);
    for (int i = 0; i < dims; i++)
        p->one.dim[p->one.rank++] = draw_size(&room);
    p->one.dim[p->one.rank++] = 1;
    p->how.index_vector_dim = p->one.rank - 1;
}

static void draw_dim(struct places *p, int d, bool is_last_chance)
{
    struct graph_gather *w = &p->how;
    int64_t size = p->operand.dim[d], window = size;

    if (below(5) < 3 || is_last_chance) {
        int part = draw_part(&p->one, size);

        window = below(4) ? 1 : 1 + below(size);
        p->part[w->map_count] = below(3) ? part : from_the_end(part, size);
        w->start_index_map[w->map_count++] = d;
    }
    if (window == 1 && below(4)) {
        w->collapsed_dims[w->collapsed_count++] = d;
        w->slice_sizes[d] = 1;
        return;
    }
    w->slice_sizes[d] = window;
    p->window[p->windows++] = window;
}

/* offset dimensions behind those of the batch, before them, or among them */
static void draw_offsets(struct places *p)
{
    int rank = p->one.rank - 1 + p->windows, left = p->windows;

    for (int d = 0; d < rank && left > 0; d++)
        if (rank - d == left || below(2)) {
            p->how.offset_dims[p->how.offset_count++] = d;
            left--;
        }
}

static void draw_places(struct places *p, enum graph_dtype dtype)
{
    int64_t room = 40000;

    memset(p, 0, sizeof(*p));
    draw_batch(p);
    p->operand = shape_make(dtype, 0, NULL);
    for (int rank = 1 + (int)below(4); p->operand.rank < rank;)
        p->operand.dim[p->operand.rank++] = draw_size(&room);
    for (int d = 0; d < p->operand.rank; d++)
        draw_dim(p, d, d + 1 == p->operand.rank && p->how.map_count == 0);
    draw_offsets(p);
}

static struct shape rows_of(const struct places *p)
{
    struct shape s = {.dtype = p->operand.dtype, .rank = p->one.rank - 1 + p->windows};
    int window = 0, batch = 0;

    for (int d = 0; d < s.rank; d++) {
        bool is_offset = window < p->windows && p->how.offset_dims[window] == d;

        s.dim[d] = is_offset ? p->window[window++] : p->one.dim[batch++];
    }
    return s;
}

/* those whose results whole numbers hold; bf16 rounds sums of more than 256 */
static enum graph_reduce draw_kind(enum graph_dtype dtype)
{
    static const enum graph_reduce kinds[] = {REDUCE_REPLACE, REDUCE_MAX, REDUCE_MIN, REDUCE_ADD};

    return kinds[below(COUNT_OF(kinds) - (dtype == DTYPE_BF16))];
}

static void add_node(struct places *p)
{
    int x = graph_parameter(&g, p->operand, "x"), made;
    int vectors = p->how.map_count == 1 ? p->part[0]
                  : graph_concatenate(&g, p->part, p->how.map_count, p->one.rank - 1);

    if (below(2)) {
        made = graph_gather(&g, x, vectors, &p->how);
    } else {
        memset(p->how.slice_sizes, 0, sizeof(p->how.slice_sizes));
        made = graph_scatter(&g, draw_kind(p->operand.dtype), x, vectors,
                             graph_parameter(&g, rows_of(p), "updates"), &p->how);
    }
    graph_output(&g, made, "made", -1);
}

TEST(any_places_are_found)
{
    static const char *const slices[] = {"v5e", "v3-1", "v6e"};
    static const enum graph_dtype dtypes[] = {DTYPE_F32, DTYPE_S32, DTYPE_BF16};
    int count = seeds_count(200);

    for (int i = 0; i < count; i++) {
        struct module_rig r = {.slice = slices[i % 3]};
        struct places p;
        struct shape rows;

        rng_init(&rng, seeds_at(i));
        draw_places(&p, dtypes[below(COUNT_OF(dtypes))]);
        rows = rows_of(&p);
        if (rows.rank <= 6 && shape_elems(&rows) <= MOVED_MAX) {
            add_node(&p);
            g.name = arena_printf(&arena, "seed %lld", (long long)seeds_at(i));
            module_rig_check(&r, &g, seeds_at(i));
        }
        one_graph_again();
    }
    seeds_print(count);
}

static int64_t cycles_of(const char *name)
{
    struct module_rig r = {.slice = "v5e"};

    g.name = name;
    module_rig_check(&r, &g, 1);
    one_graph_again();
    return r.cycles;
}

/* every other column of a table of positions: by elements 5.4 million cycles */
TEST(columns_that_count_are_slices)
{
    struct shape one = shape_make(DTYPE_S32, 2, (int64_t[]){128, 1});
    int x = graph_parameter(&g, shape_make(DTYPE_F32, 2, (int64_t[]){512, 256}), "x");
    int y = graph_parameter(&g, shape_make(DTYPE_F32, 2, (int64_t[]){512, 128}), "y");
    struct graph_gather how = {.offset_count = 1, .offset_dims = {0}, .collapsed_count = 1,
                               .collapsed_dims = {1}, .map_count = 1, .start_index_map = {1},
                               .index_vector_dim = 1};

    graph_output(&g, graph_scatter(&g, REDUCE_REPLACE, x, counted(&one, 1, 2, 0), y, &how), "made", -1);
    assert_in_range(cycles_of("odd columns"), 1, 12000);
}

/* the upper triangles of many matrices, known or not: by elements 17 million */
TEST(columns_are_rows_of_the_transposed)
{
    struct shape both = shape_make(DTYPE_S32, 2, (int64_t[]){378, 2});
    int x = graph_parameter(&g, shape_make(DTYPE_F32, 3, (int64_t[]){256, 27, 27}), "x");
    struct graph_gather how = {.offset_count = 1, .offset_dims = {0}, .collapsed_count = 2,
                               .collapsed_dims = {1, 2}, .map_count = 2, .start_index_map = {1, 2},
                               .index_vector_dim = 1, .slice_sizes = {256, 1, 1}};

    graph_output(&g, graph_gather(&g, x, graph_parameter(&g, both, "k"), &how), "made", -1);
    assert_in_range(cycles_of("triangles"), 1, 60000);
}

/* a cache by beams: 4,096 rows of 64, one by one 130 thousand */
TEST(windows_of_short_rows_are_long_rows)
{
    struct shape both = shape_make(DTYPE_S32, 2, (int64_t[]){16, 2});
    int x = graph_parameter(&g, shape_make(DTYPE_F32, 5, (int64_t[]){4, 4, 32, 8, 64}), "x");
    struct graph_gather how = {.offset_count = 3, .offset_dims = {1, 2, 3}, .collapsed_count = 2,
                               .collapsed_dims = {0, 1}, .map_count = 2, .start_index_map = {0, 1},
                               .index_vector_dim = 1, .slice_sizes = {1, 1, 32, 8, 64}};

    graph_output(&g, graph_gather(&g, x, graph_parameter(&g, both, "k"), &how), "made", -1);
    assert_in_range(cycles_of("beams"), 1, 40000);
}

/*
 * Sums of some 60 fractions for each of 50 places in any order; one after the other 285 thousand. A
 * sum of 120 numbers up to 1 is off by at most 120 * 120 * 2^-24.
 */
TEST(updates_of_one_place_add_up)
{
    static const enum graph_dtype dtypes[] = {DTYPE_F32, DTYPE_BF16};

    for (size_t k = 0; k < COUNT_OF(dtypes); k++) {
        struct module_rig r = {.uses_fractions = true, .absolute = 120 * 120 * 0x1p-24,
                               .relative = dtypes[k] == DTYPE_BF16 ? 0x1p-8 : 0};
        struct shape one = shape_make(DTYPE_S32, 2, (int64_t[]){3000, 1});
        int x = graph_parameter(&g, shape_make(dtypes[k], 1, (int64_t[]){50}), "x"), at;
        int y = graph_parameter(&g, shape_make(dtypes[k], 1, (int64_t[]){3000}), "y");
        struct graph_gather how = {.collapsed_count = 1, .map_count = 1, .index_vector_dim = 1};

        at = graph_binary(&g, HLO_REMAINDER, graph_iota(&g, one, 0), splat(one, 53));
        graph_output(&g, graph_scatter(&g, REDUCE_ADD, x, at, y, &how), "made", -1);
        g.name = "sums";
        module_rig_check(&r, &g, 1);
        assert_in_range(r.cycles, 1, 60000);
        one_graph_again();
    }
}

/* jax.vmap of such sums, maxima and minima: each row has updates of its own, some outside */
TEST(each_row_has_its_own_updates)
{
    static const enum graph_reduce kinds[] = {REDUCE_ADD, REDUCE_MAX, REDUCE_MIN};

    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        struct shape rows = shape_make(DTYPE_F32, 2, (int64_t[]){5, 37});
        struct shape updates = shape_make(DTYPE_F32, 2, (int64_t[]){5, 200});
        int x = graph_parameter(&g, rows, "x"), y = graph_parameter(&g, updates, "y");
        int at = graph_parameter(&g, shape_make(DTYPE_S32, 3, (int64_t[]){5, 200, 1}), "at");
        struct graph_gather how = {.collapsed_count = 1, .collapsed_dims = {1}, .map_count = 1,
                                   .start_index_map = {1}, .batching_count = 1,
                                   .operand_batching = {0}, .indices_batching = {0},
                                   .index_vector_dim = 2};

        graph_output(&g, graph_scatter(&g, kinds[k], x, at, y, &how), "made", -1);
        assert_in_range(cycles_of("updates of rows"), 1, 20000);
    }
}

/* a number in each row, which the indices count */
TEST(rows_that_indices_count_are_compared)
{
    struct shape one = shape_make(DTYPE_S32, 2, (int64_t[]){512, 1});
    int x = graph_parameter(&g, shape_make(DTYPE_F32, 2, (int64_t[]){512, 300}), "x");
    int y = graph_parameter(&g, shape_make(DTYPE_F32, 1, (int64_t[]){512}), "y");
    int part[2] = {graph_iota(&g, one, 0), graph_parameter(&g, one, "k")};
    struct graph_gather how = {.collapsed_count = 2, .collapsed_dims = {0, 1}, .map_count = 2,
                               .start_index_map = {0, 1}, .index_vector_dim = 1};

    graph_output(&g, graph_scatter(&g, REDUCE_ADD, x, graph_concatenate(&g, part, 2, 1), y, &how),
                 "made", -1);
    assert_in_range(cycles_of("a number in each row"), 1, 12000);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(any_places_are_found), RUN(columns_that_count_are_slices),
        RUN(columns_are_rows_of_the_transposed),
        RUN(windows_of_short_rows_are_long_rows), RUN(updates_of_one_place_add_up),
        RUN(each_row_has_its_own_updates),
        RUN(rows_that_indices_count_are_compared),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
