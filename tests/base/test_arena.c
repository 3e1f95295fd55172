/* Arenas hand out aligned memory, or small pieces side by side; arrays grow and keep what they hold. */
#include "base/arena.h"
#include "base/sanitized.h"
#include "tests/test.h"

TEST(a_packed_arena_puts_small_pieces_side_by_side)
{
    struct arena a;
    char *first, *second;

    arena_init(&a);
    assert_false(arena_pack(&a, true));
    first = arena_strdup(&a, "name");
    second = arena_alloc(&a, 24);
    assert_ptr_equal(second, first + (SANITIZED_ADDRESS ? 16 : 8));
    assert_int_equal((uintptr_t)arena_alloc(&a, 256) % 64, 0);
    assert_true(arena_pack(&a, false));
    assert_int_equal((uintptr_t)arena_alloc(&a, 8) % 64, 0);
    assert_ptr_not_equal(arena_alloc(&a, 0), arena_alloc(&a, 0));
    arena_fini(&a);
}

TEST(packed_pieces_are_zeroed_and_apart)
{
    enum { COUNT = 5000 };
    static unsigned char *piece[COUNT];
    struct arena a;

    arena_init(&a);
    arena_pack(&a, true);
    for (int i = 0; i < COUNT; i++) {
        piece[i] = arena_alloc(&a, (size_t)(i % 300));
        for (int k = 0; k < i % 300; k++) {
            assert_int_equal(piece[i][k], 0);
            piece[i][k] = (unsigned char)i;
        }
    }
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < i % 300; k++)
            assert_int_equal(piece[i][k], (unsigned char)i);
    }
    arena_fini(&a);
}

/* Large ones are moved by the kernel, small ones copied. */
TEST(what_is_behind_an_allocation_is_poisoned_under_the_address_sanitizer)
{
#if SANITIZED_ADDRESS
    for (int is_packed = 0; is_packed < 2; is_packed++) {
        char *first, *second;
        struct arena a;

        arena_init(&a);
        arena_pack(&a, is_packed);
        first = arena_alloc(&a, 64);
        second = arena_alloc(&a, 64);
        assert_false(__asan_address_is_poisoned(first + 63));
        assert_true(__asan_address_is_poisoned(first + 64));
        assert_true(__asan_address_is_poisoned(second - 1));
        assert_true(__asan_address_is_poisoned(second + 64));
        arena_fini(&a);
    }
#else
    SKIP("not built with it");
#endif
}

TEST(growing_arrays_keep_what_they_hold_and_add_zeros)
{
    size_t capacity = 0, before = 0;
    uint32_t *item = NULL;

    while (capacity < 4000000) {
        item = mem_grow(item, &capacity, before + 1, sizeof(*item));
        assert_int_equal((uintptr_t)item % 64, 0);
        for (size_t i = 0; i < before; i += 997)
            assert_int_equal(item[i], i);
        for (size_t i = before; i < capacity; i++) {
            if (item[i] != 0)
                fail_msg("element %zu of %zu is not zero", i, capacity);
            item[i] = (uint32_t)i;
        }
        before = capacity;
    }
    mem_free(item);
}

TEST(a_resized_array_keeps_what_it_holds)
{
    size_t count = 1, before = 0;
    uint32_t *item = mem_resize(NULL, count, sizeof(*item));

    item[0] = 0;
    for (int step = 1; step < 200; step++) {
        before = count;
        count = step % 3 ? count * 3 / 2 + 1 : count / 2;
        if (count > 300000)
            count = 7;
        item = mem_resize(item, count, sizeof(*item));
        assert_int_equal((uintptr_t)item % 64, 0);
        for (size_t i = 0; i < (count < before ? count : before); i++)
            if (item[i] != (uint32_t)i)
                fail_msg("element %zu of %zu is another one", i, count);
        for (size_t i = before; i < count; i++)
            item[i] = (uint32_t)i;
    }
    mem_free(item);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packed_arena_puts_small_pieces_side_by_side),
        cmocka_unit_test(packed_pieces_are_zeroed_and_apart),
        cmocka_unit_test(what_is_behind_an_allocation_is_poisoned_under_the_address_sanitizer),
        cmocka_unit_test(growing_arrays_keep_what_they_hold_and_add_zeros),
        cmocka_unit_test(a_resized_array_keeps_what_it_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
