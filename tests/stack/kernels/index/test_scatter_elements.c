/* Do scatters of elements, few or many, of any type, put them where the interpreter puts them? */
#include "tests/test.h"

#include "base/rng.h"
#include "base/units.h"
#include "tests/rigs/kernel_rig.h"
#include "tests/rigs/seeds.h"

#define INDICES_MAX 9000

/* so many updates of single elements, or of windows along one dimension, of a drawn array */
static void draw_scatter(struct rng *rng)
{
    static const char *const chips[] = {"v2", "v3", "v4", "v5e", "v6e", "v7x"};
    static const enum graph_dtype dtypes[] = {DTYPE_F32, DTYPE_F32, DTYPE_S32, DTYPE_BF16,
                                              DTYPE_S8, DTYPE_PRED};
    static int32_t index[INDICES_MAX];
    enum graph_dtype dtype = dtypes[rng_below(rng, COUNT_OF(dtypes))];
    bool is_set = dtype == DTYPE_PRED || rng_below(rng, 2), is_linear = rng_below(rng, 4) > 0;
    struct kernel_rig r = {.chip = chips[rng_below(rng, COUNT_OF(chips))],
                           .values = is_set ? RIG_HARD : RIG_WHOLE,
                           .set = rng_below(rng, 4) ? NULL : "vmem.bytes=393216",
                           .alias = {(int)rng_below(rng, 2)}, .input = {[1] = index}};
    int rank = 1 + (int)rng_below(rng, 3), along = (int)rng_below(rng, (uint32_t)rank), a, indices;
    int64_t dim[3], count = 1 + rng_below(rng, rng_below(rng, 2) ? 40u : INDICES_MAX / 3);
    int64_t updates[2] = {count, 1};
    struct graph_gather d = {.map_count = rank, .index_vector_dim = 1};
    struct arena arena;
    struct graph g;

    for (int k = 0; k < rank; k++) {
        dim[k] = 1 + rng_below(rng, k == rank - 1 ? 400u : 40u);
        d.slice_sizes[k] = 1;
        d.start_index_map[k] = k;
        if (is_linear || k != along)
            d.collapsed_dims[d.collapsed_count++] = k;
    }
    if (!is_linear) {
        updates[0] = count % 50 + 1;
        updates[1] = d.slice_sizes[along] = 1 + rng_below(rng, (uint32_t)dim[along]);
        d.offset_count = 1;
        d.offset_dims[0] = 1;
    }
    for (int64_t i = 0; i < updates[0] * rank; i++)
        index[i] = (int32_t)rng_below(rng, (uint32_t)dim[i % rank] + 4) - 2;
    arena_init(&arena);
    graph_init(&g, &arena, "body");
    a = graph_parameter(&g, shape_make(dtype, rank, dim), "a");
    indices = graph_parameter(&g, shape_make(DTYPE_S32, 2, (int64_t[]){updates[0], rank}), "i");
    a = graph_scatter(&g, is_set ? REDUCE_REPLACE : REDUCE_ADD, a, indices,
                      graph_parameter(&g, shape_make(dtype, is_linear ? 1 : 2, updates), "u"), &d);
    graph_output(&g, a, "o", r.alias[0] ? 0 : -1);
    kernel_rig_open(&r, &g);
    kernel_rig_check(&r, rng_next(rng));
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&arena);
}

TEST(drawn_scatters_of_elements_agree)
{
    int count = seeds_count(160);
    struct rng rng;

    seeds_print(count);
    for (int i = 0; i < count; i++) {
        rng_init(&rng, seeds_at(i));
        draw_scatter(&rng);
    }
}

/* cycles of `count` elements that are set in an array of bytes */
static int64_t cycles_of(int64_t count)
{
    static const int32_t index[600] = {7, 3, 1, 2};
    static const int64_t dim[] = {10, 10};
    struct graph_gather d = {.collapsed_count = 2, .collapsed_dims = {0, 1}, .map_count = 2,
                             .start_index_map = {0, 1}, .index_vector_dim = 1,
                             .slice_sizes = {1, 1}};
    struct kernel_rig r = {.chip = "v5e", .values = RIG_WHOLE, .input = {[1] = index}};
    struct arena arena;
    struct graph g;
    int a, indices;
    int64_t cycles;

    arena_init(&arena);
    graph_init(&g, &arena, "body");
    a = graph_parameter(&g, shape_make(DTYPE_S8, 2, dim), "a");
    indices = graph_parameter(&g, shape_make(DTYPE_S32, 2, (int64_t[]){count, 2}), "i");
    a = graph_scatter(&g, REDUCE_REPLACE, a, indices,
                      graph_parameter(&g, shape_make(DTYPE_S8, 1, &count), "u"), &d);
    graph_output(&g, a, "o", -1);
    kernel_rig_open(&r, &g);
    kernel_rig_check(&r, 1);
    cycles = r.cycles;
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&arena);
    return cycles;
}

/* not for the padding of their tile, nor each for the cross-lane unit */
TEST(elements_take_time_for_what_they_are)
{
    int64_t few = cycles_of(3), many = cycles_of(300);

    assert_in_range(few, 1, 5000);
    assert_in_range((many - few) / 297, 1, 80);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drawn_scatters_of_elements_agree),
        cmocka_unit_test(elements_take_time_for_what_they_are),
    };

    seeds_read(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
