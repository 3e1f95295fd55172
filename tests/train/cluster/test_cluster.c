/* Clusters: is the TPU found that the program, or the environment, asks for? */
#include "tests/test.h"

#include "train/cluster/cluster.h"

#include <stdlib.h>
#include <string.h>

static int resolve(struct cluster *c, const char *tpu, struct arena *a, struct err *e)
{
    return cluster_resolve(c, &(struct cluster_options){.tpu = tpu}, a, e);
}

static void expect(const char *tpu, const char *printed)
{
    struct arena a;
    struct cluster c;
    struct err e;
    char text[128];

    arena_init(&a);
    assert_int_equal(resolve(&c, tpu, &a, &e), 0);
    assert_string_equal(cluster_print(&c, text, sizeof(text)), printed);
    cluster_fini(&c);
    arena_fini(&a);
}

static void set(const char *name, const char *local)
{
    unsetenv(CLUSTER_NAME_VARIABLE);
    unsetenv(CLUSTER_LOCAL_VARIABLE);
    if (name)
        setenv(CLUSTER_NAME_VARIABLE, name, 1);
    if (local)
        setenv(CLUSTER_LOCAL_VARIABLE, local, 1);
}

TEST(the_program_asks_first_then_the_environment)
{
    set(NULL, NULL);
    expect(NULL, "the host's reference interpreter");
    expect("", "the host's reference interpreter");
    expect("v2-8", "v2-8: 2x2 chips, 8 cores, mesh");
    expect("local", "v3-8: 2x2 chips, 8 cores, mesh");
    set("v4-8", NULL);
    expect(NULL, "v4-8: 2x2x1 chips, 8 cores, mesh");
    expect("v2-8", "v2-8: 2x2 chips, 8 cores, mesh");
    expect("cpu", "the host's reference interpreter");
    set("local", "v5e-4");
    expect(NULL, "v5e-4: 2x2 chips, 4 cores, mesh");
    expect("local", "v5e-4: 2x2 chips, 4 cores, mesh");
    set(NULL, NULL);
}

TEST(a_wrong_name_says_where_it_comes_from)
{
    struct arena a;
    struct cluster c;
    struct err e;

    arena_init(&a);
    set("v3-9", NULL);
    assert_int_equal(resolve(&c, NULL, &a, &e), -1);
    assert_non_null(strstr(e.msg, "TPU_NAME: "));
    assert_non_null(strstr(e.msg, "v3-8"));
    set("local", "v9-8");
    assert_int_equal(resolve(&c, NULL, &a, &e), -1);
    assert_non_null(strstr(e.msg, "TPU_ACCELERATOR_TYPE: "));
    assert_int_equal(resolve(&c, "v3-9", &a, &e), -1);
    assert_null(strstr(e.msg, "TPU_NAME"));
    set(NULL, NULL);
    arena_fini(&a);
}

TEST(a_machine_in_use_is_not_taken_away)
{
    struct arena a;
    struct cluster c;
    struct err e;

    arena_init(&a);
    assert_int_equal(resolve(&c, "tiny-2", &a, &e), 0);
    assert_null(c.machine);
    assert_int_equal(cluster_initialize(&c, &e), 0);
    assert_int_equal(machine_core_count(c.machine), 2);
    c.user_count = 1;
    assert_int_equal(cluster_initialize(&c, &e), -1);
    assert_string_equal(e.msg, "1 strategy still uses tiny-2: destroy it first");
    c.user_count = 2;
    assert_int_equal(cluster_shutdown(&c, &e), -1);
    assert_string_equal(e.msg, "2 strategies still use tiny-2: destroy them first");
    c.user_count = 0;
    assert_int_equal(cluster_initialize(&c, &e), 0);
    assert_int_equal(cluster_shutdown(&c, &e), 0);
    assert_null(c.machine);
    cluster_fini(&c);
    arena_fini(&a);
}

TEST(changes_of_the_chip_are_checked)
{
    static const char *const good[] = {"mxu.count=4"}, *const bad[] = {"mxu.counts=4"};
    struct arena a;
    struct cluster c;
    struct err e;

    arena_init(&a);
    assert_int_equal(cluster_resolve(&c, &(struct cluster_options){
        .tpu = "v3-8", .set = good, .set_count = 1}, &a, &e), 0);
    assert_int_equal(c.chip.mxu_count, 4);
    assert_int_equal(cluster_resolve(&c, &(struct cluster_options){
        .tpu = "v3-8", .set = bad, .set_count = 1}, &a, &e), -1);
    assert_non_null(strstr(e.msg, "mxu.count"));
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_program_asks_first_then_the_environment),
        cmocka_unit_test(a_wrong_name_says_where_it_comes_from),
        cmocka_unit_test(a_machine_in_use_is_not_taken_away),
        cmocka_unit_test(changes_of_the_chip_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
