/* Are sorts and top-k of every type, size and dimension those of the interpreter? */
#include "tests/test.h"

#include "base/rng.h"
#include "tests/rigs/kernel_rig.h"

static void sort(const char *chip, int rank, const int64_t *dim, int along, int count,
                 const enum graph_dtype *type, enum graph_compare direction,
                 enum rig_values values, const int *order)
{
    struct kernel_rig r = {.chip = chip, .values = values};
    struct arena a;
    struct graph g;
    int operand[4], made;

    arena_init(&a);
    graph_init(&g, &a, "sorted");
    for (int i = 0; i < count; i++) {
        operand[i] = graph_parameter(&g, shape_make(type[i], rank, dim),
                                     arena_printf(&a, "p%d", i));
        r.operand_order[i] = r.result_order[i] = order;
    }
    made = graph_sort(&g, operand, count, along, direction);
    for (int i = 0; i < count; i++)
        graph_output(&g, count > 1 ? graph_tuple_element(&g, made, i) : made,
                     arena_printf(&a, "o%d", i), -1);
    kernel_rig_open(&r, &g);
    kernel_rig_check(&r, (uint64_t)(dim[0] * 7 + along));
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
}

TEST(vectors_of_all_sizes_are_sorted)
{
    static const int64_t size[] = {1, 2, 7, 8, 9, 127, 128, 129, 1000, 1024, 1025, 5003};
    static const char *const chip[] = {"v3", "v6e", "v5e"};
    enum graph_dtype type[] = {DTYPE_F32, DTYPE_S32};

    for (int i = 0; i < 12; i++)
        sort(chip[i % 3], 1, &size[i], 0, 1 + i % 2, type,
             i % 3 ? COMPARE_LT : COMPARE_GT, i % 2 ? RIG_WHOLE : RIG_HARD, NULL);
}

TEST(keys_of_every_type_are_in_the_order_of_their_values)
{
    for (int t = 0; t < DTYPE_COUNT; t++) {
        enum graph_dtype type[] = {(enum graph_dtype)t, DTYPE_S32, DTYPE_BF16};

        if (t == DTYPE_PRED)
            continue;                   /* no key, and the graph says so */
        sort(t % 2 ? "v3" : "v6e", 2, (int64_t[]){21, 130}, 1, 3, type,
             t % 2 ? COMPARE_LT : COMPARE_GT, RIG_HARD, NULL);
        sort(t % 2 ? "v5e" : "v7x", 1, (int64_t[]){700}, 0, 2, type,
             t % 2 ? COMPARE_GT : COMPARE_LT, RIG_HARD, NULL);
    }
}

TEST(any_dimension_and_layout_is_sorted)
{
    static const int turned[] = {0, 2, 1}, other[] = {1, 0, 2};
    enum graph_dtype type[] = {DTYPE_F32, DTYPE_S8, DTYPE_BF16};
    int64_t dim[] = {5, 37, 200};

    for (int along = 0; along < 3; along++) {
        sort("v6e", 3, dim, along, 3, type, COMPARE_LT, RIG_WHOLE, NULL);
        sort("v3", 3, dim, along, 3, type, COMPARE_GT, RIG_WHOLE, turned);
        sort("v5e", 3, dim, along, 2, type, COMPARE_GT, RIG_HARD, other);
        sort("v4", 3, (int64_t[]){1, 1, 1}, along, 1, type, COMPARE_GT, RIG_HARD, NULL);
    }
    sort("v4", 4, (int64_t[]){3, 6, 2, 9}, 1, 2, type, COMPARE_LT, RIG_WHOLE, NULL);
    sort("v4", 2, (int64_t[]){300, 3}, 0, 2, type, COMPARE_LT, RIG_WHOLE, NULL);
}

static void top_k(const char *chip, int rank, const int64_t *dim, int64_t k,
                  enum graph_dtype type)
{
    struct kernel_rig r = {.chip = chip, .values = RIG_HARD};
    struct arena a;
    struct graph g;
    int made;

    arena_init(&a);
    graph_init(&g, &a, "top");
    made = graph_top_k(&g, graph_parameter(&g, shape_make(type, rank, dim), "p"), k);
    graph_output(&g, graph_tuple_element(&g, made, 0), "values", -1);
    graph_output(&g, graph_tuple_element(&g, made, 1), "places", -1);
    kernel_rig_open(&r, &g);
    kernel_rig_check(&r, 5);
    kernel_rig_close(&r);
    graph_fini(&g);
    arena_fini(&a);
}

TEST(top_k_gives_the_largest_and_where_they_were)
{
    top_k("v6e", 2, (int64_t[]){20, 1000}, 5, DTYPE_F32);
    top_k("v3", 2, (int64_t[]){3, 200}, 150, DTYPE_BF16);
    top_k("v5e", 1, (int64_t[]){3000}, 40, DTYPE_S32);
    top_k("v4", 3, (int64_t[]){2, 9, 17}, 1, DTYPE_U8);
    top_k("v4", 1, (int64_t[]){1}, 1, DTYPE_BF16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_of_all_sizes_are_sorted),
        cmocka_unit_test(keys_of_every_type_are_in_the_order_of_their_values),
        cmocka_unit_test(any_dimension_and_layout_is_sorted),
        cmocka_unit_test(top_k_gives_the_largest_and_where_they_were),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
