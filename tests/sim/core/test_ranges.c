/* Sets of byte ranges, against one flag per byte. */
#include "base/rng.h"
#include "base/units.h"
#include "sim/core/ranges.h"
#include "tests/test.h"

#define BYTES 200

static void check(const struct ranges *r, const bool *flag, int step)
{
    for (size_t i = 0; i < r->count; i++) {
        assert_true(r->item[i].first < r->item[i].end);
        if (i > 0)
            assert_true(r->item[i - 1].end < r->item[i].first);
    }
    for (int first = 0; first < BYTES; first++) {
        const struct range *found = ranges_find(r, first, first + 1);

        if ((found != NULL) != flag[first])
            fail_msg("step %d: byte %d", step, first);
    }
}

static void check_find(const struct ranges *r, const bool *flag, int first, int end)
{
    const struct range *found = ranges_find(r, first, end);
    int at = first;

    while (at < end && !flag[at])
        at++;
    assert_int_equal(found != NULL, at < end);
    if (found)
        assert_true(found->first <= at && at < found->end);
}

TEST(ranges_are_what_flags_say_after_any_changes)
{
    struct ranges r = {.count = 0}, other = {.count = 0};
    bool flag[BYTES] = {false}, other_flag[BYTES] = {false};
    struct rng random;

    rng_init(&random, 1);
    for (int step = 0; step < 20000; step++) {
        int first = (int)rng_below(&random, BYTES), bytes = (int)rng_below(&random, 30);
        int end = first + bytes < BYTES ? first + bytes : BYTES, shift;

        switch (rng_below(&random, 4)) {
        case 0:
            ranges_add(&r, first, end);
            memset(flag + first, 1, (size_t)(end - first));
            break;
        case 1:
            ranges_remove(&r, first, end);
            memset(flag + first, 0, (size_t)(end - first));
            break;
        case 2:                         /* to the other set */
            shift = (int)rng_below(&random, BYTES - (uint32_t)(end - first) + 1) - first;
            ranges_copy(&r, first, end, &other, first + shift);
            memcpy(other_flag + first + shift, flag + first, (size_t)(end - first));
            break;
        default:                        /* within the set, to bytes behind */
            if (end + end - first > BYTES)
                continue;
            ranges_copy(&r, first, end, &r, end);
            memcpy(flag + end, flag + first, (size_t)(end - first));
            break;
        }
        check(&r, flag, step);
        check(&other, other_flag, step);
        check_find(&r, flag, first, end);
    }
    ranges_fini(&r);
    ranges_fini(&other);
}

TEST(ranges_that_touch_become_one)
{
    struct ranges r = {.count = 0};

    ranges_add(&r, 10, 20);
    ranges_add(&r, 30, 40);
    assert_int_equal(r.count, 2);
    ranges_add(&r, 20, 30);
    assert_int_equal(r.count, 1);
    assert_int_equal(r.item[0].first, 10);
    assert_int_equal(r.item[0].end, 40);
    ranges_add(&r, 5, 5);
    assert_int_equal(r.count, 1);
    ranges_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_what_flags_say_after_any_changes),
        cmocka_unit_test(ranges_that_touch_become_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
