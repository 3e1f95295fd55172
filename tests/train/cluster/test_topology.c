/* Topologies: is every core one device, and is it found again by name and coordinates? */
#include "tests/test.h"

#include "train/cluster/topology.h"

#include <stdlib.h>

static void make(struct topology *t, const char *slice, struct arena *a)
{
    struct slice s;
    struct chip c;
    struct err e;

    assert_int_equal(slice_parse(&s, slice, &e), 0);
    assert_int_equal(chip_load_builtin(&c, s.chip_name, NULL, NULL, &e), 0);
    topology_init(t, &s, &c, a);
}

TEST(hosts_have_four_chips_or_eight)
{
    static const struct {
        const char *slice;
        int mesh[TOPOLOGY_RANK], tasks, devices;
    } cases[] = {
        {"v2-8",     {2, 2, 1, 2},   1,   8},
        {"v3-32",    {4, 4, 1, 2},   4,   8},
        {"v3-2048",  {32, 32, 1, 2}, 256, 8},
        {"v4-16",    {2, 2, 2, 2},   2,   8},
        {"v4-128",   {4, 4, 4, 2},   16,  8},
        {"v5e-8",    {2, 4, 1, 1},   1,   8},
        {"v5e-16",   {4, 4, 1, 1},   4,   4},
        {"v6e-8",    {2, 4, 1, 1},   1,   8},
        {"v5p-8",    {2, 2, 1, 2},   1,   8},
        {"tiny-2",   {1, 1, 1, 2},   1,   2},
        {"v3-1",     {1, 1, 1, 1},   1,   1},
    };
    struct arena a;

    arena_init(&a);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct topology t;

        make(&t, cases[i].slice, &a);
        assert_memory_equal(t.mesh, cases[i].mesh, sizeof(t.mesh));
        assert_int_equal(t.task_count, cases[i].tasks);
        assert_int_equal(t.devices_per_task, cases[i].devices);
    }
    arena_fini(&a);
}

static void check_devices(const struct topology *t)
{
    int count = topology_device_count(t);
    bool *is_met = mem_alloc((size_t)count * sizeof(*is_met));

    for (int d = 0; d < count; d++) {
        const int *at = t->coordinate[d];
        int core = topology_core(t, at), again[TOPOLOGY_RANK], found;
        char name[64];
        struct err e;

        assert_in_range(core, 0, count - 1);
        assert_false(is_met[core]);
        is_met[core] = true;
        assert_int_equal(topology_device(t, at), d);
        topology_coordinate_of_core(t, core, again);
        assert_memory_equal(again, at, sizeof(again));
        snprintf(name, sizeof(name), "/job:worker/task:%d/device:TPU:%d", d / t->devices_per_task,
                 d % t->devices_per_task);
        assert_int_equal(topology_find(t, name, &found, &e), 0);
        assert_int_equal(found, core);
    }
    mem_free(is_met);
}

TEST(every_core_is_one_device)
{
    static const char *const slices[] = {"tiny-2", "v2-8", "v3-32", "v4-64", "v5e-8", "v6e-16"};
    struct arena a;

    arena_init(&a);
    for (size_t i = 0; i < sizeof(slices) / sizeof(slices[0]); i++) {
        struct topology t;

        make(&t, slices[i], &a);
        check_devices(&t);
    }
    arena_fini(&a);
}

TEST(cores_are_numbered_as_the_machine_does)
{
    struct arena a;
    struct topology t;

    arena_init(&a);
    make(&t, "v3-32", &a);
    assert_int_equal(topology_core(&t, (int[]){0, 0, 0, 1}), 1);
    assert_int_equal(topology_core(&t, (int[]){1, 0, 0, 0}), 2);
    assert_int_equal(topology_core(&t, (int[]){0, 1, 0, 0}), 8);
    /* the second host begins with the third chip of the first row */
    assert_int_equal(topology_device(&t, (int[]){2, 0, 0, 0}), 8);
    arena_fini(&a);
}

static void expect_error(const struct topology *t, const char *name, const char *message)
{
    struct err e;
    int core;

    assert_int_equal(topology_find(t, name, &core, &e), -1);
    assert_string_equal(e.msg, message);
}

TEST(names_of_devices_are_checked)
{
    struct arena a;
    struct topology t;
    struct err e;
    int core;

    arena_init(&a);
    make(&t, "v3-32", &a);
    assert_int_equal(topology_find(&t, "TPU:3", &core, &e), 0);
    assert_int_equal(core, 3);
    assert_int_equal(topology_find(&t, "device:TPU:0", &core, &e), 0);
    assert_int_equal(topology_find(&t, "/task:1/device:TPU:0", &core, &e), 0);
    assert_int_equal(core, 4);
    expect_error(&t, "TPU:8", "TPU:8: each task of v3-32 has TPU:0..7");
    expect_error(&t, "/task:4/device:TPU:0", "/task:4/device:TPU:0: v3-32 has tasks 0..3");
    expect_error(&t, "TPU", "\"TPU\" is not a device: write TPU:0 or "
                 "/job:worker/task:0/device:TPU:0");
    expect_error(&t, "TPU:-1", "\"TPU:-1\" is not a device: write TPU:0 or "
                 "/job:worker/task:0/device:TPU:0");
    expect_error(&t, "GPU:0", "\"GPU:0\" is not a device: write TPU:0 or "
                 "/job:worker/task:0/device:TPU:0");
    arena_fini(&a);
}

TEST(the_map_shows_every_device)
{
    static const char expected[] =
        "v2-8: 2 x 2 x 1 chips of 2 cores, 1 host of 8 devices; devices by chip:\n"
        "  y\\x    0    1\n"
        "    0  0 1  2 3\n"
        "    1  4 5  6 7\n";
    struct arena a;
    struct topology t;
    char *text;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    arena_init(&a);
    make(&t, "v2-8", &a);
    topology_print_devices(&t, f);
    fclose(f);
    assert_string_equal(text, expected);
    free(text);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_have_four_chips_or_eight),
        cmocka_unit_test(every_core_is_one_device),
        cmocka_unit_test(cores_are_numbered_as_the_machine_does),
        cmocka_unit_test(names_of_devices_are_checked),
        cmocka_unit_test(the_map_shows_every_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
