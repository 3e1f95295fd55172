/*
 * Windows that each place of a batch takes, or changes, from where its own index says, with
 * dimensions in any order: do values stay, and does it take few cycles?
 *
 * test_windows [first seed [graphs]] draws others (tests/rigs/seeds.h).
 */
#include "base/rng.h"
#include "base/units.h"
#include "stack/expand/expand.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

#include <string.h>

#define WINDOW_DIMS_MAX 3
#define BATCH_DIMS_MAX 2

static struct rng rng;

static int64_t below(int64_t end) { return (int64_t)rng_below(&rng, (uint32_t)end); }

static void shuffle(int *list, int count)
{
    for (int i = count - 1; i > 0; i--) {
        int k = (int)below(i + 1), kept = list[i];

        list[i] = list[k];
        list[k] = kept;
    }
}

struct drawn {
    struct shape operand, indices, rows;
    struct graph_gather how;
    int64_t window[GRAPH_RANK_MAX];     /* by dimension of the operand; 0: of the batch */
    int batch[GRAPH_RANK_MAX];          /* the operand's dimensions of the batch */
    int queries[GRAPH_RANK_MAX];        /* sizes of the indices that are none of the batch's */
    int query_count;
};

static void draw_operand(struct drawn *d, bool is_gather)
{
    int windows = 1 + (int)below(WINDOW_DIMS_MAX), batches = (int)below(BATCH_DIMS_MAX + 1);
    int order[GRAPH_RANK_MAX];

    if (is_gather && below(3) == 0)
        d->queries[d->query_count++] = 1 + (int)below(5);
    if (batches + d->query_count == 0)
        batches = 1;
    d->operand.rank = windows + batches;
    for (int i = 0; i < d->operand.rank; i++)
        order[i] = i;
    shuffle(order, d->operand.rank);
    for (int i = 0; i < d->operand.rank; i++) {
        int dim = order[i];
        int64_t size = 1 + below(i < batches ? 6 : windows == 1 ? 2000 : 24);

        d->operand.dim[dim] = size;
        if (i < batches)
            d->how.operand_batching[d->how.batching_count++] = dim;
        else
            d->window[dim] = below(3) ? 1 + below(size) : size;
    }
    for (int i = 1; i < d->how.batching_count; i++)     /* HLO wants them in order */
        if (d->how.operand_batching[i] < d->how.operand_batching[i - 1]) {
            d->how.operand_batching[i] ^= d->how.operand_batching[i - 1];
            d->how.operand_batching[i - 1] ^= d->how.operand_batching[i];
            d->how.operand_batching[i] ^= d->how.operand_batching[i - 1];
        }
}

/* the dimensions of the batch and others, and the numbers of a vector anywhere among them */
static void draw_indices(struct drawn *d)
{
    int count = d->how.batching_count + d->query_count, order[GRAPH_RANK_MAX], at;

    for (int dim = 0; dim < d->operand.rank; dim++)
        if (d->window[dim] && below(5))
            d->how.start_index_map[d->how.map_count++] = dim;
    shuffle(d->how.start_index_map, d->how.map_count);
    at = d->how.map_count == 1 && below(2) ? count : (int)below(count + 1);
    d->indices = (struct shape){.dtype = DTYPE_S32, .rank = count + 1};
    if (d->how.map_count == 1 && at == count && below(2))
        d->indices.rank = count;
    d->how.index_vector_dim = at;
    if (at < d->indices.rank)
        d->indices.dim[at] = d->how.map_count;
    for (int i = 0, to = 0; i < count; i++)
        order[i] = to++ == at ? to++ : to - 1;
    shuffle(order, count);
    for (int i = 0; i < count; i++) {
        if (i >= d->how.batching_count) {
            d->indices.dim[order[i]] = d->queries[i - d->how.batching_count];
            continue;
        }
        d->how.indices_batching[i] = order[i];
        d->indices.dim[order[i]] = d->operand.dim[d->how.operand_batching[i]];
    }
}

/* dimensions of windows, but some of a single element, in order among those of the indices */
static void draw_rows(struct drawn *d)
{
    int64_t batch[GRAPH_RANK_MAX], window[GRAPH_RANK_MAX];
    int batches = 0, windows = 0;

    for (int i = 0; i < d->indices.rank; i++)
        if (i != d->how.index_vector_dim)
            batch[batches++] = d->indices.dim[i];
    for (int dim = 0; dim < d->operand.rank; dim++) {
        d->how.slice_sizes[dim] = d->window[dim] ? d->window[dim] : 1;
        if (d->window[dim] == 1 && below(2))
            d->how.collapsed_dims[d->how.collapsed_count++] = dim;
        else if (d->window[dim])
            window[windows++] = d->window[dim];
    }
    d->rows = (struct shape){.dtype = d->operand.dtype, .rank = batches + windows};
    for (int i = 0, b = 0, w = 0; i < d->rows.rank; i++) {
        if (b == batches || (w < windows && below(2))) {
            d->how.offset_dims[d->how.offset_count++] = i;
            d->rows.dim[i] = window[w++];
        } else {
            d->rows.dim[i] = batch[b++];
        }
    }
}

/* numbers inside and on both sides outside, which nobody knows before */
static int drawn_numbers(const struct drawn *d)
{
    int32_t number[4096];
    int64_t most = 1;
    int known;

    for (int i = 0; i < d->operand.rank; i++)
        most = d->operand.dim[i] > most ? d->operand.dim[i] : most;
    for (int64_t i = 0; i < shape_elems(&d->indices); i++)
        number[i] = (int32_t)(below(most + 16) - 8);
    known = graph_literal(&g, d->indices, number);
    return graph_binary(&g, HLO_ADD, known, graph_parameter(&g, d->indices, "k"));
}

static int draw_node(void)
{
    static const enum graph_dtype dtypes[] = {DTYPE_F32, DTYPE_BF16, DTYPE_S32, DTYPE_PRED};
    static const enum graph_reduce kinds[] = {REDUCE_REPLACE, REDUCE_ADD, REDUCE_MAX, REDUCE_MIN};
    static const enum graph_reduce of_truths[] = {REDUCE_REPLACE, REDUCE_OR, REDUCE_AND};
    bool is_gather = below(2);
    struct drawn d = {0};
    int x, at;

    d.operand.dtype = dtypes[below(COUNT_OF(dtypes))];
    draw_operand(&d, is_gather);
    draw_indices(&d);
    if (d.how.map_count == 0)
        return NODE_NONE;
    draw_rows(&d);
    x = graph_parameter(&g, d.operand, "x");
    at = drawn_numbers(&d);
    if (is_gather)
        return graph_gather(&g, x, at, &d.how);
    memset(d.how.slice_sizes, 0, sizeof(d.how.slice_sizes));
    return graph_scatter(&g, d.operand.dtype == DTYPE_PRED ? of_truths[below(COUNT_OF(of_truths))]
                                                           : kinds[below(COUNT_OF(kinds))],
                         x, at, graph_parameter(&g, d.rows, "y"), &d.how);
}

TEST(any_windows_stay_what_they_are)
{
    static const char *const slices[] = {"v2-8", "v3-8", "v4-8", "v5e", "v6e", "v7x"};
    int count = seeds_count(60), taken = 0;

    seeds_print(count);
    for (int i = 0; i < count; i++) {
        struct module_rig r = {.megacore = false};
        int node, outputs;

        rng_init(&rng, seeds_at(i));
        r.slice = slices[below(COUNT_OF(slices))];
        node = draw_node();
        if (node != NODE_NONE) {
            struct graph_node n = g.node[node];

            taken += expand_windows(&g, &n) != NODE_NONE;
            outputs = graph_unary(&g, g.node[node].shape.dtype == DTYPE_PRED ? HLO_NOT : HLO_NEGATE,
                                  node);
            graph_output(&g, outputs, "made", -1);
            g.name = arena_printf(&arena, "seed %llu", (unsigned long long)seeds_at(i));
            module_rig_check(&r, &g, seeds_at(i));
        }
        one_graph_again();
    }
    assert_in_range(taken, count / 4, count);
}

static int64_t cycles_of(const char *name, int made)
{
    struct module_rig r = {.slice = "v5e"};

    g.name = name;
    graph_output(&g, made, "made", -1);
    module_rig_check(&r, &g, 1);
    return r.cycles;
}

/* jax.vmap of a dynamic slice of signals, each from a place of its own */
static const struct graph_gather of_signals = {
    .offset_count = 1, .offset_dims = {1}, .map_count = 1, .start_index_map = {1},
    .batching_count = 1, .operand_batching = {0}, .indices_batching = {0}, .index_vector_dim = 1,
    .slice_sizes = {1, 500}};

TEST(excerpts_of_signals)
{
    int x = graph_parameter(&g, shape_make(DTYPE_F32, 2, (int64_t[]){64, 4000}), "x");
    int at = graph_parameter(&g, shape_make(DTYPE_S32, 2, (int64_t[]){64, 1}), "at");

    assert_in_range(cycles_of("excerpts", graph_gather(&g, x, at, &of_signals)), 1, 60000);
}

/* the gradient of that */
TEST(excerpts_added_to_where_they_come_from)
{
    struct graph_gather how = of_signals;
    int x = graph_parameter(&g, shape_make(DTYPE_F32, 2, (int64_t[]){64, 4000}), "x");
    int y = graph_parameter(&g, shape_make(DTYPE_F32, 2, (int64_t[]){64, 500}), "y");
    int at = graph_parameter(&g, shape_make(DTYPE_S32, 2, (int64_t[]){64, 1}), "at");

    memset(how.slice_sizes, 0, sizeof(how.slice_sizes));
    assert_in_range(cycles_of("gradient", graph_scatter(&g, REDUCE_ADD, x, at, y, &how)), 1, 80000);
}

/* a batch of a text, each sample from a place of its own: rows of 128 first */
TEST(samples_of_a_text)
{
    struct graph_gather how = {.offset_count = 1, .offset_dims = {1}, .map_count = 1,
                               .index_vector_dim = 1, .slice_sizes = {256}};
    int x = graph_parameter(&g, shape_make(DTYPE_S32, 1, (int64_t[]){100000}), "x");
    int at = graph_parameter(&g, shape_make(DTYPE_S32, 2, (int64_t[]){64, 1}), "at");

    assert_in_range(cycles_of("samples", graph_gather(&g, x, at, &how)), 1, 30000);
}

/* crops of one image are not made of a copy of it for each */
TEST(what_many_places_share_is_not_there_for_each)
{
    struct graph_gather how = {.offset_count = 2, .offset_dims = {1, 2}, .map_count = 2,
                               .start_index_map = {0, 1}, .index_vector_dim = 1,
                               .slice_sizes = {200, 200}};
    int x = graph_parameter(&g, shape_make(DTYPE_F32, 2, (int64_t[]){2000, 2000}), "x");
    int at = graph_parameter(&g, shape_make(DTYPE_S32, 2, (int64_t[]){64, 2}), "at");
    int node = graph_gather(&g, x, at, &how);
    struct graph_node n = g.node[node];

    assert_int_equal(expand_windows(&g, &n), NODE_NONE);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(any_windows_stay_what_they_are), RUN(excerpts_of_signals),
        RUN(excerpts_added_to_where_they_come_from), RUN(samples_of_a_text),
        RUN(what_many_places_share_is_not_there_for_each),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
