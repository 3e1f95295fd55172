/*
 * Dynamic slices and updates of vectors, and gathers and scatters by one index, from starts inside
 * and outside: the same elements as on the host, and not element by element.
 *
 * test_vectors [first seed [graphs]] draws others (tests/rigs/seeds.h).
 */
#include "base/rng.h"
#include "base/units.h"
#include "tests/rigs/module_rig.h"
#include "tests/rigs/one_graph.h"
#include "tests/rigs/seeds.h"
#include "tests/test.h"


static struct rng rng;

static int64_t below(int64_t end) { return (int64_t)rng_below(&rng, (uint32_t)end); }

static struct shape vector(enum graph_dtype t, int64_t length)
{
    return shape_make(t, 1, &length);
}

static int number(int64_t value)
{
    return graph_constant(&g, shape_scalar(DTYPE_S32), (double)value);
}

/* computed of a parameter, which is -3 to 3: within or outside of a vector of `length` */
static int drawn_start(int64_t length)
{
    int x = graph_parameter(&g, shape_scalar(DTYPE_S32), "start");

    x = graph_binary(&g, HLO_MULTIPLY, x, number(below(length / 2 + 2)));
    return graph_binary(&g, HLO_ADD, x, number(below(length + 1)));
}

static void add_slice(enum graph_dtype t, int64_t length, int64_t count)
{
    int x = graph_parameter(&g, vector(t, length), "x"), start = drawn_start(length);

    graph_output(&g, graph_dynamic_slice(&g, x, &start, &count), "slice", -1);
}

static void add_update(enum graph_dtype t, int64_t length, int64_t count)
{
    int x = graph_parameter(&g, vector(t, length), "x"), start = drawn_start(length);
    int u = graph_parameter(&g, vector(t, count), "u");

    graph_output(&g, graph_dynamic_update_slice(&g, x, u, &start), "updated", -1);
}

/* at a place that is known as the program is compiled, inside of the vector or not */
static void add_fixed_update(enum graph_dtype t, int64_t length, int64_t count)
{
    int x = graph_parameter(&g, vector(t, length), "x");
    int start = number(below(length + 9) - 4), u = graph_parameter(&g, vector(t, count), "u");

    graph_output(&g, graph_dynamic_update_slice(&g, x, u, &start), "updated", -1);
}

static void add_scatter(enum graph_dtype t, int64_t length, int64_t count)
{
    static const enum graph_reduce kinds[] = {REDUCE_REPLACE, REDUCE_ADD, REDUCE_MAX, REDUCE_MIN};
    struct graph_gather how = {.map_count = 1, .offset_count = count > 1,
                               .collapsed_count = count == 1};
    enum graph_reduce kind = kinds[t == DTYPE_PRED ? 0 : below(COUNT_OF(kinds))];
    int x = graph_parameter(&g, vector(t, length), "x");
    int index = graph_reshape(&g, drawn_start(length), vector(DTYPE_S32, 1)), u;

    u = graph_parameter(&g, count > 1 ? vector(t, count) : shape_scalar(t), "u");
    graph_output(&g, graph_scatter(&g, kind, x, index, u, &how), "scattered", -1);
}

static void add_gather(enum graph_dtype t, int64_t length, int64_t count)
{
    struct graph_gather how = {.map_count = 1, .offset_count = 1, .slice_sizes = {count}};
    int x = graph_parameter(&g, vector(t, length), "x");
    int index = graph_reshape(&g, drawn_start(length), vector(DTYPE_S32, 1));

    graph_output(&g, graph_gather(&g, x, index, &how), "gathered", -1);
}

/* near whole rows and tiles, or anything */
static int64_t drawn_length(void)
{
    static const int64_t near[] = {128, 256, 1024, 2048, 3072};

    return below(3) ? 2 + below(3000) : near[below(COUNT_OF(near))] + below(3) - 1;
}

TEST(any_part_of_any_vector)
{
    static void (*const add[])(enum graph_dtype, int64_t, int64_t) = {add_slice, add_update,
                                                                      add_fixed_update,
                                                                      add_scatter, add_gather};
    static const enum graph_dtype types[] = {DTYPE_F32, DTYPE_F32, DTYPE_S32, DTYPE_U32,
                                             DTYPE_BF16, DTYPE_S8, DTYPE_U8, DTYPE_PRED};
    static const char *const slices[] = {"v5e", "v3-1", "v7x", "v2"};
    int count = seeds_count(120);

    for (int i = 0; i < count; i++) {
        struct module_rig r = {.slice = NULL};
        int64_t length, part;
        enum graph_dtype t;

        rng_init(&rng, seeds_at(i));
        length = drawn_length();
        part = below(3) ? 1 + below(length) : below(2) ? 1 : 128 * (1 + below(length / 128 + 1));
        part = part > length ? length : part;
        t = types[below(COUNT_OF(types))];
        r.slice = slices[below(COUNT_OF(slices))];
        add[below(COUNT_OF(add))](t, length, part);
        g.name = arena_printf(&arena, "seed %lld", (long long)seeds_at(i));
        module_rig_check(&r, &g, seeds_at(i));
        one_graph_again();
    }
    seeds_print(count);
}

static int64_t cycles_of(void (*add)(enum graph_dtype, int64_t, int64_t), int64_t length,
                         int64_t count)
{
    struct module_rig r = {.slice = "v5e"};

    rng_init(&rng, 1);
    add(DTYPE_F32, length, count);
    module_rig_check(&r, &g, 1);
    one_graph_again();
    return r.cycles;
}

/* a copy of 100,000 elements is some 2,000 cycles, one of them by itself some 85 */
TEST(no_element_is_moved_by_itself)
{
    assert_in_range(cycles_of(add_update, 1000, 1), 1, 6000);
    assert_in_range(cycles_of(add_scatter, 1000, 1), 1, 6000);
    assert_in_range(cycles_of(add_update, 5000, 1500), 1, 15000);
    assert_in_range(cycles_of(add_update, 100000, 40000), 1, 40000);
    assert_in_range(cycles_of(add_fixed_update, 100000, 40000), 1, 30000);
    assert_in_range(cycles_of(add_slice, 100000, 40000), 1, 30000);
    assert_in_range(cycles_of(add_gather, 100000, 40000), 1, 30000);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        RUN(any_part_of_any_vector), RUN(no_element_is_moved_by_itself),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
