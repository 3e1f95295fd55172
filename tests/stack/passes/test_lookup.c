/*
 * Gathers of single elements and scatters into rows become comparisons, windows of one index slices
 * and updates: over drawn orders of dimensions, types and indices in and out of range, bit for bit.
 */
#include "base/rng.h"
#include "base/units.h"
#include "stack/hlo/graph_shape.h"
#include "stack/interp/interp.h"
#include "tests/rigs/pass_rig.h"
#include "tests/test.h"

static struct rng rng;

static int below(int end) { return (int)rng_below(&rng, (uint32_t)end); }

static void shuffle(int *list, int count)
{
    for (int i = count - 1; i > 0; i--) {
        int k = below(i + 1), t = list[i];

        list[i] = list[k];
        list[k] = t;
    }
}

/* an operation's dimensions, drawn */
struct drawn {
    struct shape operand, indices, result;      /* of a gather: a scatter's updates */
    struct graph_gather dims;
};

static void draw_operand(struct drawn *d, enum graph_dtype dtype, int batching)
{
    struct graph_gather *g = &d->dims;
    int kept = 0, rank = batching + 1 + below(2), role[GRAPH_RANK_MAX];

    g->map_count = rank - batching;
    rank += below(2);                           /* one that is neither, of one element */
    for (int i = 0; i < rank; i++)
        role[i] = i;
    shuffle(role, rank);
    d->operand = shape_make(dtype, rank, (int64_t[GRAPH_RANK_MAX]){0});
    for (int i = 0; i < rank; i++) {
        bool is_batch = role[i] < batching;
        bool is_mapped = !is_batch && role[i] < batching + g->map_count;

        d->operand.dim[i] = is_batch ? 2 + role[i] : is_mapped ? 1 + below(9) : 1;
        g->slice_sizes[i] = 1;
        if (is_batch)
            g->operand_batching[role[i]] = i;
        else if (is_mapped)
            g->start_index_map[role[i] - batching] = i;
        if (!is_batch && below(2))
            g->collapsed_dims[g->collapsed_count++] = i;
        else if (!is_batch)
            kept++;
    }
    g->batching_count = batching;
    g->offset_count = kept;
}

/* dimensions of the indices; the result has them too, in their order, and what is kept between */
static void draw_indices(struct drawn *d, bool has_queries)
{
    struct graph_gather *g = &d->dims;
    int count = g->batching_count + (has_queries ? below(3) : 0), at = 0;
    int order[GRAPH_RANK_MAX], is_offset[GRAPH_RANK_MAX];
    bool has_vector = g->map_count > 1 || below(2);

    for (int i = 0; i < count; i++)
        order[i] = i;
    shuffle(order, count);
    g->index_vector_dim = has_vector ? below(count + 1) : count;
    for (int i = 0; i <= count; i++) {
        if (has_vector && i == g->index_vector_dim)
            d->indices.dim[at++] = g->map_count;
        if (i == count)
            break;
        if (order[i] < g->batching_count)
            g->indices_batching[order[i]] = at;
        d->indices.dim[at++] = order[i] < g->batching_count ? 2 + order[i] :
                               below(8) ? 1 + below(5) : 100 + below(9);
    }
    d->indices = shape_make(DTYPE_S32, at, d->indices.dim);
    for (int i = 0; i < count + g->offset_count; i++)
        is_offset[i] = i < g->offset_count;
    shuffle(is_offset, count + g->offset_count);
    d->result = shape_make(d->operand.dtype, count + g->offset_count, (int64_t[GRAPH_RANK_MAX]){0});
    g->offset_count = at = 0;
    for (int i = 0; i < d->result.rank; i++) {
        if (is_offset[i]) {
            g->offset_dims[g->offset_count++] = i;
            d->result.dim[i] = 1;
            continue;
        }
        at += has_vector && at == g->index_vector_dim;
        d->result.dim[i] = d->indices.dim[at++];
    }
}

static struct interp_value values(const struct shape *s, int first, int count)
{
    int64_t elems = shape_elems(s);
    struct interp_value v = {arena_array(&arena, (size_t)elems + 1, 4)};

    for (int64_t i = 0; i < elems; i++) {
        int number = first + below(count);

        if (s->dtype == DTYPE_F32 || s->dtype == DTYPE_BF16)
            ((float *)v.data)[i] = number == 0 ? -0.0f : (float)number;
        else
            ((int32_t *)v.data)[i] = s->dtype == DTYPE_PRED ? number & 1 :
                                     s->dtype == DTYPE_U8 || s->dtype == DTYPE_U32 ? number & 255
                                                                                   : number;
    }
    return v;
}

static int64_t vmem_rows = KERNEL_VMEM_BYTES / ARRAY_ROW_BYTES;

static void expand(void)
{
    struct pass_context context = {.chip = &v5e, .replica_count = 1, .vmem_rows = vmem_rows};
    struct err e;

    assert_int_equal(pass_expand(&graph, &context, &e), 0);
}

/* a gather's result and a scatter's: neither operation is left */
static void check_pair(const struct interp_value *in, const struct shape *picked,
                       const struct shape *spread)
{
    struct interp_value before[2], after[2];
    struct err e;

    assert_int_equal(interp_run(&graph, INTERP_DOT_F32, in, before, &arena, &e), 0);
    expand();
    assert_int_equal(count_of(&graph, HLO_GATHER), 0);
    assert_int_equal(count_of(&graph, HLO_SCATTER), 0);
    assert_int_equal(interp_run(&graph, INTERP_DOT_F32, in, after, &arena, &e), 0);
    assert_memory_equal(after[0].data, before[0].data, (size_t)shape_elems(picked) * 4);
    assert_memory_equal(after[1].data, before[1].data, (size_t)shape_elems(spread) * 4);
}

static void check_same(const struct interp_value *in, const struct shape *result,
                       enum graph_op gone)
{
    struct interp_value before, after;
    struct err e;

    assert_int_equal(interp_run(&graph, INTERP_DOT_F32, in, &before, &arena, &e), 0);
    expand();
    assert_int_equal(interp_run(&graph, INTERP_DOT_F32, in, &after, &arena, &e), 0);
    assert_int_equal(count_of(&graph, gone), 0);
    assert_memory_equal(after.data, before.data, (size_t)shape_elems(result) * 4);
}

TEST(gathers_of_elements_are_comparisons)
{
    for (int seed = 0; seed < 400; seed++) {
        struct drawn d = {0};
        struct interp_value in[2];
        int x, indices;

        rng_init(&rng, (uint64_t)seed);
        draw_operand(&d, (enum graph_dtype)below(DTYPE_COUNT), below(3));
        draw_indices(&d, true);
        x = graph_parameter(&graph, d.operand, "x");
        indices = graph_parameter(&graph, d.indices, "indices");
        graph_output(&graph, graph_gather(&graph, x, indices, &d.dims), "y", -1);
        in[0] = values(&d.operand, -40, 80);
        in[1] = values(&d.indices, -3, 14);
        check_same(in, &d.result, HLO_GATHER);
        pass_rig_teardown(NULL);
        pass_rig_setup(NULL);
    }
}

TEST(scatters_of_one_element_into_each_row_are_comparisons)
{
    for (int seed = 0; seed < 400; seed++) {
        struct drawn d = {0};
        struct interp_value in[3];
        int x, indices, updates, kind;

        rng_init(&rng, (uint64_t)seed);
        draw_operand(&d, (enum graph_dtype)below(DTYPE_COUNT), 1 + below(2));
        draw_indices(&d, false);
        x = graph_parameter(&graph, d.operand, "x");
        indices = graph_parameter(&graph, d.indices, "indices");
        updates = graph_parameter(&graph, d.result, "updates");
        kind = d.operand.dtype == DTYPE_PRED || below(2) ? REDUCE_REPLACE : below(3);
        x = graph_scatter(&graph, (enum graph_reduce)kind, x, indices, updates, &d.dims);
        graph_output(&graph, x, "y", -1);
        in[0] = values(&d.operand, -40, 80);
        in[1] = values(&d.indices, -3, 14);
        in[2] = values(&d.result, -40, 80);
        check_same(in, &d.operand, HLO_SCATTER);
        pass_rig_teardown(NULL);
        pass_rig_setup(NULL);
    }
}

/* a label of each of eight rows over a vocabulary longer than a table may be */
static const struct graph_gather labels = {
    .collapsed_count = 1, .collapsed_dims = {1}, .map_count = 1, .start_index_map = {1},
    .batching_count = 1, .index_vector_dim = 1, .slice_sizes = {1, 1}};

TEST(labels_of_what_is_computed_are_comparisons_over_a_long_vocabulary)
{
    struct shape s = shape_make(DTYPE_F32, 2, (int64_t[]){8, 50257});
    struct shape labels_shape = shape_make(DTYPE_S32, 2, (int64_t[]){8, 1});
    struct shape picked = shape_make(DTYPE_F32, 1, (int64_t[]){8});

    for (int is_computed = 0; is_computed < 2; is_computed++) {
        struct interp_value in[3] = {values(&s, -40, 80), values(&labels_shape, -3, 50264),
                                     values(&picked, -40, 80)};
        int x = graph_parameter(&graph, s, "x");
        int at = graph_parameter(&graph, labels_shape, "labels");
        int updates = graph_parameter(&graph, picked, "updates");
        int logits = is_computed ? graph_binary(&graph, HLO_MULTIPLY, x, x) : x;
        int zeros = is_computed ? graph_splat(&graph, x, 0) : x;
        int scattered = graph_scatter(&graph, REDUCE_ADD, zeros, at, updates, &labels);

        graph_output(&graph, graph_gather(&graph, logits, at, &labels), "y", -1);
        graph_output(&graph, scattered, "z", -1);
        if (is_computed) {
            check_pair(in, &picked, &s);
        } else {
            expand();
            assert_int_equal(count_of(&graph, HLO_GATHER), 1);
            assert_int_equal(count_of(&graph, HLO_SCATTER), 1);
        }
        pass_rig_teardown(NULL);
        pass_rig_setup(NULL);
    }
}

/* a window of some of three dimensions, found by one index */
static void draw_window(struct drawn *d, struct shape *window)
{
    struct graph_gather *g = &d->dims;

    d->operand = shape_make((enum graph_dtype)below(DTYPE_COUNT), 3,
                            (int64_t[]){1 + below(6), 1 + below(9), 1 + below(20)});
    *window = d->operand;
    window->rank = 0;
    for (int i = 0; i < 3; i++) {
        int64_t size = 1 + below((int)d->operand.dim[i]);

        if (below(3) || (i == 2 && !g->map_count))
            g->start_index_map[g->map_count++] = i;
        g->slice_sizes[i] = size;
        if (size == 1 && below(2)) {
            g->collapsed_dims[g->collapsed_count++] = i;
            continue;
        }
        g->offset_dims[g->offset_count] = g->offset_count;
        g->offset_count++;
        window->dim[window->rank++] = size;
    }
    d->indices = shape_make(DTYPE_S32, 1, (int64_t[]){g->map_count});
}

TEST(windows_of_one_index_are_slices_and_updates)
{
    for (int seed = 0; seed < 400; seed++) {
        struct drawn d = {0};
        struct interp_value in[3];
        struct shape window;
        int x, indices, kind;
        bool is_scatter = seed & 1;

        rng_init(&rng, (uint64_t)seed);
        draw_window(&d, &window);
        x = graph_parameter(&graph, d.operand, "x");
        indices = graph_parameter(&graph, d.indices, "indices");
        kind = d.operand.dtype == DTYPE_PRED || below(2) ? REDUCE_REPLACE : below(3);
        if (is_scatter)
            x = graph_scatter(&graph, (enum graph_reduce)kind, x, indices,
                              graph_parameter(&graph, window, "updates"), &d.dims);
        else
            x = graph_gather(&graph, x, indices, &d.dims);
        graph_output(&graph, x, "y", -1);
        in[0] = values(&d.operand, -40, 80);
        in[1] = values(&d.indices, -2, 8);
        in[2] = values(&window, -40, 80);
        check_same(in, is_scatter ? &d.operand : &window, is_scatter ? HLO_SCATTER : HLO_GATHER);
        pass_rig_teardown(NULL);
        pass_rig_setup(NULL);
    }
}

/* x.at[3:10, 5:25].set(y) of bytes: a slice of them takes more memory than the smallest chip has */
TEST(windows_of_bytes_stay_scatters_where_memory_is_little)
{
    int64_t usual_rows = vmem_rows;
    struct graph_gather dims = {.map_count = 2, .start_index_map = {0, 1}, .offset_count = 2,
                                .offset_dims = {0, 1}};
    int x = graph_parameter(&graph, shape_make(DTYPE_S8, 2, (int64_t[]){30, 40}), "x");
    int indices = graph_parameter(&graph, shape_make(DTYPE_S32, 1, (int64_t[]){2}), "indices");
    int y = graph_parameter(&graph, shape_make(DTYPE_S8, 2, (int64_t[]){7, 20}), "y");

    graph_output(&graph, graph_scatter(&graph, REDUCE_REPLACE, x, indices, y, &dims), "o", -1);
    vmem_rows = 512;
    expand();
    vmem_rows = usual_rows;
    assert_int_equal(count_of(&graph, HLO_SCATTER), 1);
}

/* a histogram: adds of ones to zeros */
static int histogram(double weight, int64_t samples)
{
    struct graph_gather dims = {.collapsed_count = 1, .map_count = 1, .index_vector_dim = 1};
    int indices = graph_parameter(&graph, shape_make(DTYPE_S32, 1, &samples), "indices");
    int zeros = graph_constant(&graph, F32(7), 0);

    return graph_scatter(&graph, REDUCE_ADD, zeros, indices,
                         graph_constant(&graph, F32(samples), weight), &dims);
}

TEST(a_histogram_is_comparisons)
{
    struct interp_value in = values(&(struct shape){DTYPE_S32, 1, {300}}, -2, 11);

    graph_output(&graph, histogram(1, 300), "y", -1);
    check_same(&in, &(struct shape){DTYPE_F32, 1, {7}}, HLO_SCATTER);
}

/* sums that round are those of a reduction: test_places.c holds them against their bound */
TEST(sums_that_round_are_comparisons)
{
    graph_output(&graph, histogram(0.1, 300), "y", -1);
    expand();
    assert_int_equal(count_of(&graph, HLO_SCATTER), 0);
    assert_int_equal(count_of(&graph, HLO_REDUCE), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(gathers_of_elements_are_comparisons),
        RUN(scatters_of_one_element_into_each_row_are_comparisons),
        RUN(labels_of_what_is_computed_are_comparisons_over_a_long_vocabulary),
        RUN(windows_of_one_index_are_slices_and_updates),
        RUN(windows_of_bytes_stay_scatters_where_memory_is_little),
        RUN(a_histogram_is_comparisons),
        RUN(sums_that_round_are_comparisons),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
