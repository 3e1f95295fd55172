/* Programs from bytes to launches: whether replicas exchange anything, which decides how they run. */
#include "exec/executable.h"
#include "tests/test.h"

#include <string.h>

static const char all_sum[] =
    "HloModule m\n"
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
    "ENTRY e { p = f32[4] parameter(0) ROOT r = f32[4] all-reduce(p), replica_groups={}, "
    "to_apply=add }\n";
static const char twice[] = "HloModule m\nENTRY e { p = f32[4] parameter(0) "
                            "ROOT r = f32[4] add(p, p) }\n";

static const char told[] =
    "HloModule m\n"
    "ENTRY e { p = f32[4] parameter(0) t = token[] after-all() "
    "s = (f32[4], u32[], token[]) send(p, t), channel_id=1, is_host_transfer=true "
    "d = token[] send-done(s), channel_id=1, is_host_transfer=true ROOT r = f32[4] add(p, p) }\n";

static void make(struct executable *x, const char *text, struct slice *slice, struct chip *chip,
                 struct arena *a)
{
    struct executable_settings settings = {.slice = slice, .chip = chip, .is_host = true,
                                           .replicas = 2};
    enum executable_stage stage;
    struct err e = {0};

    if (slice_parse(slice, "v5e-4", &e) || chip_load_builtin(chip, "v5e", NULL, a, &e) ||
        slice_fit(slice, chip, &e) ||
        executable_make(x, &settings, text, strlen(text), "m", &stage, &e))
        fail_msg("%s", e.msg);
}

TEST(a_sum_that_names_no_groups_is_over_all_replicas)
{
    const float in[2][4] = {{1, 2, 3, 4}, {10, 20, 30, 40}};
    struct value from[2], to[2];
    struct value *argument[2][1] = {{&from[0]}, {&from[1]}}, *result[2][1] = {{&to[0]}, {&to[1]}};
    struct value *const *const arguments[] = {argument[0], argument[1]};
    struct value *const *const results[] = {result[0], result[1]};
    struct executable x;
    struct slice slice;
    struct chip chip;
    struct arena a;
    struct err e = {0};

    arena_init(&a);
    make(&x, all_sum, &slice, &chip, &a);
    assert_false(x.is_alone);
    for (int d = 0; d < 2; d++) {
        value_init(&from[d], sizeof(in[d]));
        value_init(&to[d], sizeof(in[d]));
        memcpy(value_room(&from[d]), in[d], sizeof(in[d]));
    }
    if (executable_launch(&x, NULL, arguments, results, &e))
        fail_msg("%s", e.msg);
    for (int d = 0; d < 2; d++) {
        for (int i = 0; i < 4; i++)
            assert_true(((const float *)value_data(&to[d]))[i] == in[0][i] + in[1][i]);
        value_fini(&from[d]);
        value_fini(&to[d]);
    }
    executable_fini(&x);
    arena_fini(&a);
}

TEST(replicas_that_exchange_nothing_run_one_by_one)
{
    struct executable x;
    struct slice slice;
    struct chip chip;
    struct arena a;

    arena_init(&a);
    make(&x, twice, &slice, &chip, &a);
    assert_true(x.is_alone);
    executable_fini(&x);
    arena_fini(&a);
}

/* the host is told which device has sent */
TEST(replicas_that_send_to_their_host_run_together)
{
    struct executable x;
    struct slice slice;
    struct chip chip;
    struct arena a;

    arena_init(&a);
    make(&x, told, &slice, &chip, &a);
    assert_false(x.is_alone);
    executable_fini(&x);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicas_that_send_to_their_host_run_together),
        cmocka_unit_test(a_sum_that_names_no_groups_is_over_all_replicas),
        cmocka_unit_test(replicas_that_exchange_nothing_run_one_by_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
