/* A failed assertion under a guard is an error; the rest of the process goes on. */
#include "tests/test.h"

#include "pjrt/event/guard.h"
#include "sim/machine/rounds.h"

#include <string.h>

/* what assert calls, here the library's own (Makefile) */
void __assert_fail(const char *condition, const char *file, unsigned line, const char *function);

static void fail_at(int item)
{
    if (item == 3)
        __assert_fail("item != 3", "some/file.c", 42, "fail_at");
}

static struct PJRT_Error *guarded(int item)
{
    struct guard g;

    if (GUARD_ENTER(&g))
        return guard_error(&g);
    fail_at(item);
    guard_leave(&g);
    return NULL;
}

TEST(an_assertion_that_fails_is_an_internal_error_with_its_place)
{
    struct PJRT_Error *error = guarded(3);

    assert_int_equal(pjrt_error_code(error), PJRT_Error_Code_INTERNAL);
    assert_non_null(strstr(pjrt_error_message(error), "some/file.c:42"));
    assert_non_null(strstr(pjrt_error_message(error), "item != 3"));
    pjrt_error_free(error);
    assert_null(guarded(4));
}

static struct PJRT_Error *outer(void)
{
    struct PJRT_Error *inner;
    struct guard g;

    if (GUARD_ENTER(&g))
        return guard_error(&g);
    inner = guarded(3);
    assert_int_equal(pjrt_error_code(inner), PJRT_Error_Code_INTERNAL);
    pjrt_error_free(inner);
    fail_at(3);
    guard_leave(&g);
    return NULL;
}

TEST(guards_lie_in_each_other)
{
    struct PJRT_Error *error = outer();

    assert_int_equal(pjrt_error_code(error), PJRT_Error_Code_INTERNAL);
    pjrt_error_free(error);
}

static void work(void *context, int item)
{
    __atomic_fetch_add((int *)context, 1, __ATOMIC_RELAXED);
    fail_at(item);
}

static struct PJRT_Error *run_round(struct rounds *r, const int *item, int count, int *done)
{
    struct guard g;

    if (GUARD_ENTER(&g))
        return guard_error(&g);
    rounds_run(r, work, done, item, count);
    guard_leave(&g);
    return NULL;
}

TEST(a_thread_of_the_engine_goes_on_behind_a_failed_assertion)
{
    static const struct rounds_guard guard = {.call = guard_call, .raise = guard_raise};
    static const int item[] = {1, 2, 3, 4, 5, 6, 7, 8}, good[] = {1, 2, 4, 5};
    struct rounds *r = rounds_create(4);

    rounds_set_guard(&guard);
    for (int i = 0; i < 200; i++) {
        int done = 0;
        struct PJRT_Error *error = run_round(r, item, 8, &done);

        assert_int_equal(done, 8);
        assert_int_equal(pjrt_error_code(error), PJRT_Error_Code_INTERNAL);
        pjrt_error_free(error);
        assert_null(run_round(r, good, 4, &done));
        assert_int_equal(done, 12);
    }
    rounds_set_guard(NULL);
    rounds_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_assertion_that_fails_is_an_internal_error_with_its_place),
        cmocka_unit_test(guards_lie_in_each_other),
        cmocka_unit_test(a_thread_of_the_engine_goes_on_behind_a_failed_assertion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
