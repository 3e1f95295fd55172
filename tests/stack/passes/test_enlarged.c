/*
 * Rows that known indices give several times, as pictures enlarged to the nearest pixel have them,
 * and their gradients (stack/expand/repeats.c): nothing is looked up, values stay; rows that are
 * given any other way are looked up as before.
 */
#include "base/rng.h"
#include "base/units.h"
#include "tests/rigs/pass_rig.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"

static struct rng rng;

static int64_t below(int64_t end) { return (int64_t)rng_below(&rng, (uint32_t)end); }

static int splat(int like, double value) { return graph_splat(&graph, like, value); }

/* floor((i + 1/2) size / count), as jax.image.resize has it, `shift` further on */
static int by_pixels(int64_t count, int64_t size, int shift)
{
    int i = graph_iota(&graph, F32(count), 0);

    i = graph_binary(&graph, HLO_ADD, i, splat(i, 0.5 + shift));
    i = graph_binary(&graph, HLO_MULTIPLY, i, splat(i, (double)size));
    i = graph_binary(&graph, HLO_DIVIDE, i, splat(i, (double)count));
    return graph_convert(&graph, graph_unary(&graph, HLO_FLOOR, i), DTYPE_S32);
}

/* each number so many times, as a reshape of a broadcast */
static int by_repeat(int64_t size, int64_t times)
{
    int i = graph_iota(&graph, shape_make(DTYPE_S32, 1, &size), 0);

    i = graph_broadcast(&graph, i, shape_make(DTYPE_S32, 2, (int64_t[]){size, times}), DIMS(0));
    return graph_reshape(&graph, i, shape_make(DTYPE_S32, 1, (int64_t[]){size * times}));
}

/* of dimension `dim` of an array of rank 4; the scatter is its gradient */
static struct graph_gather rows_of(const struct shape *s, int dim)
{
    struct graph_gather d = {.offset_count = 3, .collapsed_count = 1, .map_count = 1,
                             .collapsed_dims = {dim}, .start_index_map = {dim},
                             .index_vector_dim = 1};

    for (int i = 0, k = 0; i < s->rank; i++) {
        d.slice_sizes[i] = i == dim ? 1 : s->dim[i];
        if (i != dim)
            d.offset_dims[k++] = i;
    }
    return d;
}

static int as_vectors(int indices)
{
    int64_t count = graph.node[indices].shape.dim[0];

    return graph_reshape(&graph, indices, shape_make(DTYPE_S32, 2, (int64_t[]){count, 1}));
}

static void draw_shape(struct shape *s)
{
    *s = F32(1 + below(3), 1 + below(6), 1 + below(9), 1 + below(20));
}

static void add_gather(const struct shape *s, int dim, int indices, const char *name)
{
    struct graph_gather d = rows_of(s, dim);
    int x = graph_parameter(&graph, *s, name);

    graph_output(&graph, graph_gather(&graph, x, as_vectors(indices), &d), name, -1);
}

static void add_scatter(const struct shape *s, int dim, int indices, const char *name)
{
    static const enum graph_reduce kinds[] = {REDUCE_ADD, REDUCE_MAX, REDUCE_MIN};
    struct graph_gather d = rows_of(s, dim);
    struct shape rows = *s;
    int x = graph_parameter(&graph, *s, name), y;

    rows.dim[dim] = graph.node[indices].shape.dim[0];
    y = graph_parameter(&graph, rows, "updates");
    graph_output(&graph, graph_scatter(&graph, kinds[below(3)], x, as_vectors(indices), y, &d), name,
                 -1);
}

static int count_looked_up(void)
{
    return count_of(&graph, HLO_GATHER) + count_of(&graph, HLO_SCATTER);
}

TEST(rows_given_several_times_are_not_looked_up)
{
    int count = seeds_count(60);

    seeds_print(count);
    for (int i = 0; i < count; i++) {
        int dim = 0, indices;
        int64_t times;
        struct shape s;

        rng_init(&rng, seeds_at(i));
        draw_shape(&s);
        dim = (int)below(4);
        s.dim[dim] += 2;
        times = 2 + below(3);
        indices = below(2) ? by_pixels(s.dim[dim] * times, s.dim[dim], 0)
                           : by_repeat(s.dim[dim], times);
        if (below(2))
            add_gather(&s, dim, indices, "x");
        else
            add_scatter(&s, dim, indices, "x");
        run_pass(pass_vectors);
        assert_int_equal(count_looked_up(), 0);
        pass_rig_teardown(NULL);
        pass_rig_setup(NULL);
    }
}

/* as many rows for one of them as for another, or the first twice as often: only so it is a repeat */
TEST(rows_that_are_given_otherwise_are_looked_up)
{
    const struct shape s = F32(2, 6, 5, 20);

    add_gather(&s, 1, by_pixels(9, 6, 0), "a");
    add_gather(&s, 1, by_pixels(12, 6, -1), "b");
    add_scatter(&s, 1, by_pixels(12, 6, 1), "c");
    add_gather(&s, 1, graph_parameter(&graph, shape_make(DTYPE_S32, 1, (int64_t[]){12}), "i"), "d");
    run_pass(pass_vectors);
    assert_int_equal(count_looked_up(), 4);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(rows_given_several_times_are_not_looked_up),
        RUN(rows_that_are_given_otherwise_are_looked_up),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
