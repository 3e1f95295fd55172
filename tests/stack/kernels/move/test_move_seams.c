/*
 * Long vectors and rows that are cut, joined and padded at places where no tile begins, and batches
 * that are joined: they stream, in vector memory that holds a small part of them, and are what they
 * were.
 */
#include "base/rng.h"
#include "base/units.h"
#include "stack/hlo/graph_shape.h"
#include "tests/rigs/kernel_rig.h"
#include "tests/rigs/lower_rig.h"
#include "tests/test.h"

#include <stdio.h>

#define DRAWS 24

static struct rng rng;

static int64_t between(int64_t low, int64_t high)
{
    return low + (int64_t)rng_below(&rng, (uint32_t)(high - low + 1));
}

/* [.., n] of this rank, along whose last dimension all of this is done */
static struct shape row(enum graph_dtype type, int rank, int64_t n)
{
    struct shape s = shape_make(type, rank, (const int64_t[]){3, 5, 1});

    s.dim[rank - 1] = n;
    return s;
}

static int joined(struct graph *g, enum graph_dtype type, int rank)
{
    int part[6], count = (int)between(2, 6);

    for (int i = 0; i < count; i++) {
        int64_t size = i % 2 ? between(1, 3000) : between(9000, 40000);

        part[i] = graph_parameter(g, row(type, rank, size), "abcdef" + i);
    }
    return graph_concatenate(g, part, count, rank - 1);
}

static int cut(struct graph *g, enum graph_dtype type, int rank)
{
    int64_t start[3] = {0}, limit[3] = {3, 5, 0}, stride[3] = {1, 1, 1};
    int64_t size = between(60000, 90000);

    start[rank - 1] = between(1, 9000);
    limit[rank - 1] = size - between(0, 9000);
    stride[rank - 1] = between(1, 2);
    return graph_slice(g, graph_parameter(g, row(type, rank, size), "x"), start, limit, stride);
}

static int padded(struct graph *g, enum graph_dtype type, int rank)
{
    int64_t low[3] = {0}, high[3] = {0}, interior[3] = {0};
    int x = graph_parameter(g, row(type, rank, between(40000, 60000)), "x");

    low[rank - 1] = between(0, 3000);
    high[rank - 1] = between(0, 3000);
    return graph_pad(g, x, graph_constant(g, shape_scalar(type), 3), low, high, interior);
}

/* on a chip, in vector memory of some 1.5 MiB: streamed, and the interpreter's values */
static void check_streamed(const char *chip, const struct graph *g)
{
    struct kernel_rig r = {.chip = chip, .vmem_rows = 3000};

    kernel_rig_open(&r, g);
    assert_int_equal(r.segment.tiling.size[0], 1);
    kernel_rig_check(&r, 7);
    kernel_rig_close(&r);
}

static void check(int (*make)(struct graph *, enum graph_dtype, int), int draw)
{
    static const char *const chips[] = {"v3", "v5e", "v6e", "v7x"};
    static const enum graph_dtype types[] = {DTYPE_F32, DTYPE_BF16, DTYPE_S8};
    const char *chip = chips[between(0, 3)];
    struct arena a;
    struct graph g;

    arena_init(&a);
    graph_init(&g, &a, "seams");
    graph_output(&g, make(&g, types[draw % 3], (int)between(1, 3)), "y", -1);
    check_streamed(chip, &g);
    graph_fini(&g);
    arena_fini(&a);
}

TEST(what_is_joined_streams)
{
    for (int i = 0; i < DRAWS; i++)
        check(joined, i);
}

TEST(what_is_cut_streams)
{
    for (int i = 0; i < DRAWS; i++)
        check(cut, i);
}

TEST(what_is_padded_streams)
{
    for (int i = 0; i < DRAWS; i++)
        check(padded, i);
}

/* batches of [60, 256], more than vector memory holds, one behind the other */
TEST(batches_are_joined_as_they_stream)
{
    static const enum graph_dtype types[] = {DTYPE_F32, DTYPE_BF16, DTYPE_S8};

    for (size_t i = 0; i < COUNT_OF(types); i++) {
        struct arena a;
        struct graph g;
        int part[3];

        arena_init(&a);
        graph_init(&g, &a, "batches");
        for (int k = 0; k < 3; k++) {
            struct shape s = shape_make(types[i], 3, (const int64_t[]){between(1, 30), 60, 256});

            part[k] = graph_parameter(&g, s, "xyz" + k);
        }
        graph_output(&g, graph_concatenate(&g, part, 3, 0), "y", -1);
        check_streamed("v5e", &g);
        graph_fini(&g);
        arena_fini(&a);
    }
}

/* an element took some hundred cycles */
TEST(outer_dimensions_are_reversed_as_they_stream)
{
    static const enum graph_dtype types[] = {DTYPE_F32, DTYPE_BF16, DTYPE_S8};

    for (size_t i = 0; i < COUNT_OF(types); i++) {
        struct arena a;
        struct graph g;
        int x;

        arena_init(&a);
        graph_init(&g, &a, "reversed");
        x = graph_parameter(&g, shape_make(types[i], 3, (const int64_t[]){37, 56, 96}), "x");
        graph_output(&g, graph_reverse(&g, x, (const int[]){0}, 1), "y", -1);
        check_streamed("v5e", &g);
        graph_fini(&g);
        arena_fini(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_joined_streams), cmocka_unit_test(what_is_cut_streams),
        cmocka_unit_test(what_is_padded_streams),
        cmocka_unit_test(batches_are_joined_as_they_stream),
        cmocka_unit_test(outer_dimensions_are_reversed_as_they_stream),
    };

    printf("SYSTOLE_SEED=%llu\n", (unsigned long long)lower_seed());
    rng_init(&rng, lower_seed());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
