/* The ring of an all-reduce: is it a permutation, are its neighbours neighbours in the grid? */
#include "tests/test.h"

#include "base/arena.h"
#include "base/units.h"
#include "stack/collective/ring.h"

static struct slice make_slice(int x, int y, int z, int cores_per_chip)
{
    struct slice s = {.dim = {x, y, z}, .chip_count = x * y * z};

    s.core_count = s.chip_count * cores_per_chip;
    return s;
}

static int hops(const struct slice *s, int a, int b)
{
    int count = 0;

    for (int d = 0; d < 3; d++) {
        count += abs(a % s->dim[d] - b % s->dim[d]);
        a /= s->dim[d];
        b /= s->dim[d];
    }
    return count;
}

/* Each core once, cores of a chip together, each step one hop; returns the hops of the last. */
static int check_ring(int x, int y, int z, int cores_per_chip)
{
    struct slice s = make_slice(x, y, z, cores_per_chip);
    size_t capacity = 0;
    int *core = mem_grow(NULL, &capacity, (size_t)s.core_count, sizeof(*core));
    size_t seen_capacity = 0;
    char *seen = mem_grow(NULL, &seen_capacity, (size_t)s.core_count, 1);
    int closing;

    ring_order(&s, core);
    for (int i = 0; i < s.core_count; i++) {
        assert_in_range(core[i], 0, s.core_count - 1);
        assert_false(seen[core[i]]);
        seen[core[i]] = 1;
        if (i > 0)
            assert_int_equal(hops(&s, core[i - 1] / cores_per_chip, core[i] / cores_per_chip),
                             i % cores_per_chip == 0);
    }
    closing = hops(&s, core[s.core_count - 1] / cores_per_chip, core[0] / cores_per_chip);
    mem_free(core);
    mem_free(seen);
    return closing;
}

TEST(two_by_two_chips_are_walked_around)
{
    static const int golden[8] = {0, 1, 2, 3, 6, 7, 4, 5};
    struct slice s = make_slice(2, 2, 1, 2);
    int core[8];

    ring_order(&s, core);
    assert_memory_equal(core, golden, sizeof(golden));
}

TEST(grid_with_an_even_side_closes_over_one_link)
{
    static const int grids[][3] = {
        {2, 2, 1}, {4, 4, 1}, {4, 8, 1}, {3, 4, 1}, {4, 3, 1}, {2, 5, 1}, {5, 2, 1}, {1, 4, 4},
        {32, 32, 1}, {4, 4, 4}, {2, 2, 2}, {3, 3, 4}, {4, 3, 3}, {1, 2, 3}, {2, 1, 2}
    };

    for (size_t i = 0; i < COUNT_OF(grids); i++)
        for (int cores = 1; cores <= 2; cores++)
            assert_int_equal(check_ring(grids[i][0], grids[i][1], grids[i][2], cores), 1);
}

TEST(line_and_odd_grid_close_the_long_way)
{
    assert_int_equal(check_ring(4, 1, 1, 2), 3);
    assert_int_equal(check_ring(1, 3, 1, 1), 2);
    assert_int_equal(check_ring(3, 3, 1, 2), 4);
}

TEST(one_chip_has_its_cores_in_order)
{
    assert_int_equal(check_ring(1, 1, 1, 2), 0);
    assert_int_equal(check_ring(1, 1, 1, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_by_two_chips_are_walked_around),
        cmocka_unit_test(grid_with_an_even_side_closes_over_one_link),
        cmocka_unit_test(line_and_odd_grid_close_the_long_way),
        cmocka_unit_test(one_chip_has_its_cores_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
