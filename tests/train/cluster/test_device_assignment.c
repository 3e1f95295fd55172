/* Device assignments: does every replica get cores of its own, in the order that was asked for? */
#include "tests/test.h"

#include "train/cluster/device_assignment.h"

#include <stdlib.h>
#include <string.h>

struct rig {
    struct arena arena;
    struct topology topology;
    struct device_assignment d;
    struct err e;
};

static void setup(struct rig *r, const char *slice)
{
    struct slice s;
    struct chip c;

    arena_init(&r->arena);
    assert_int_equal(slice_parse(&s, slice, &r->e), 0);
    assert_int_equal(chip_load_builtin(&c, s.chip_name, NULL, NULL, &r->e), 0);
    topology_init(&r->topology, &s, &c, &r->arena);
}

static int build(struct rig *r, struct device_assignment_options o)
{
    return device_assignment_build(&r->d, &r->topology, &o, &r->arena, &r->e);
}

static void check_disjoint(const struct rig *r)
{
    int count = topology_device_count(&r->topology), met = 0;

    for (int core = 0; core < count; core++) {
        int replica, device;

        if (!device_assignment_lookup(&r->d, core, &replica, &device))
            continue;
        assert_int_equal(device_assignment_core(&r->d, replica, device), core);
        met++;
    }
    assert_int_equal(met, r->d.replica_count * r->d.device_count);
}

TEST(without_options_each_core_is_a_replica_chip_by_chip)
{
    struct rig r;

    setup(&r, "v3-8");
    assert_int_equal(build(&r, (struct device_assignment_options){{0}, {0}, 0, 0}), 0);
    assert_int_equal(r.d.replica_count, 8);
    assert_int_equal(r.d.device_count, 1);
    for (int i = 0; i < 8; i++)
        assert_int_equal(device_assignment_core(&r.d, i, 0), i);
    arena_fini(&r.arena);
}

TEST(two_logical_devices_are_the_cores_of_a_chip)
{
    struct rig r;

    setup(&r, "v2-8");
    assert_int_equal(build(&r, (struct device_assignment_options){.shape = {1, 1, 1, 2}}), 0);
    assert_int_equal(r.d.replica_count, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(device_assignment_core(&r.d, i, 0), 2 * i);
        assert_int_equal(device_assignment_core(&r.d, i, 1), 2 * i + 1);
    }
    arena_fini(&r.arena);
}

TEST(all_boxes_of_all_strides_are_disjoint)
{
    struct rig r;

    setup(&r, "v4-64");
    for (int x = 1; x <= 2; x++)
        for (int y = 1; y <= 4; y++)
            for (int z = 1; z <= 4; z++)
                for (int stride = 1; stride <= 2; stride++) {
                    struct device_assignment_options o = {.shape = {x, y, z, 1},
                                                          .stride = {1, stride, 1, 1}};

                    if (y * stride > 4) {
                        assert_int_equal(build(&r, o), -1);
                        continue;
                    }
                    assert_int_equal(build(&r, o), 0);
                    assert_int_equal(r.d.device_count, x * y * z);
                    check_disjoint(&r);
                    for (o.replica_count = r.d.replica_count; o.replica_count > 0;
                         o.replica_count--) {
                        assert_int_equal(build(&r, o), 0);
                        check_disjoint(&r);
                    }
                }
    arena_fini(&r.arena);
}

/* facts: the order that TensorFlow gives a ring through 4 x 4 */
TEST(a_ring_through_sixteen_chips_is_the_known_one)
{
    static const int order[4][4] = {{0, 1, 2, 3}, {15, 6, 5, 4}, {14, 7, 8, 9}, {13, 12, 11, 10}};
    struct rig r;

    setup(&r, "v6e-16");
    assert_int_equal(build(&r, (struct device_assignment_options){.shape = {4, 4, 1, 1}}), 0);
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++)
            assert_int_equal(device_assignment_core(&r.d, 0, order[y][x]), 4 * y + x);
    arena_fini(&r.arena);
}

static int distance(const struct rig *r, int a, int b)
{
    int p[TOPOLOGY_RANK], q[TOPOLOGY_RANK], sum = 0;

    topology_coordinate_of_core(&r->topology, device_assignment_core(&r->d, 0, a), p);
    topology_coordinate_of_core(&r->topology, device_assignment_core(&r->d, 0, b), q);
    for (int i = 0; i < 3; i++)
        sum += abs(p[i] - q[i]);
    return sum;
}

TEST(a_ring_never_leaves_neighbours)
{
    struct rig r;
    int rings = 0;

    setup(&r, "v4-128");
    for (int x = 1; x <= 4; x++)
        for (int y = 1; y <= 4; y++)
            for (int z = 1; z <= 4; z++) {
                struct device_assignment_options o = {.shape = {x, y, z, 2}, .replica_count = 1,
                                                      .order = DEVICE_ORDER_RING};

                if (build(&r, o))
                    continue;
                rings++;
                check_disjoint(&r);
                for (int i = 0; i < r.d.device_count; i++)
                    assert_in_range(distance(&r, i, (i + 1) % r.d.device_count), 0, 1);
            }
    assert_int_equal(rings, 2 + 4 * 10);  /* 1x1, up to two planes; 1x2, 2x1, 8 above 1 */
    arena_fini(&r.arena);
}

static void expect_error(struct rig *r, struct device_assignment_options o, const char *message)
{
    assert_int_equal(build(r, o), -1);
    assert_string_equal(r->e.msg, message);
}

TEST(what_does_not_fit_is_refused)
{
    struct rig r;

    setup(&r, "v3-8");
    expect_error(&r, (struct device_assignment_options){.shape = {3, 1, 1, 1}},
                 "a replica of 3 along x, every 1, takes 3 of them; v3-8 has 2");
    expect_error(&r, (struct device_assignment_options){.shape = {2, 1, 1, 1},
                                                        .stride = {2, 1, 1, 1}},
                 "a replica of 2 along x, every 2, takes 4 of them; v3-8 has 2");
    expect_error(&r, (struct device_assignment_options){.shape = {1, 1, 1, 2},
                                                        .replica_count = 5},
                 "5 replicas of 2 cores: v3-8 has room for 1..4");
    expect_error(&r, (struct device_assignment_options){.shape = {1, -1, 1, 2}},
                 "shape -1 and stride 1 along y: both must be at least 1");
    arena_fini(&r.arena);
    setup(&r, "v4-128");
    expect_error(&r, (struct device_assignment_options){.shape = {3, 3, 1, 1},
                                                        .order = DEVICE_ORDER_RING},
                 "no ring goes through 3 x 3 x 1 chips: x times y must be even, and neither 1 "
                 "unless the other is at most 2");
    assert_int_equal(build(&r, (struct device_assignment_options){.shape = {3, 3, 1, 1}}), 0);
    arena_fini(&r.arena);
}

TEST(coordinates_are_taken_as_they_are)
{
    static const int good[][TOPOLOGY_RANK] = {{1, 0, 0, 1}, {0, 0, 0, 0}};
    static const int outside[][TOPOLOGY_RANK] = {{1, 0, 0, 1}, {2, 0, 0, 0}};
    static const int twice[][TOPOLOGY_RANK] = {{1, 0, 0, 1}, {1, 0, 0, 1}};
    struct rig r;

    setup(&r, "v3-8");
    assert_int_equal(device_assignment_from(&r.d, &r.topology, good, 1, 2, &r.arena, &r.e), 0);
    assert_int_equal(device_assignment_core(&r.d, 0, 0), 3);
    assert_int_equal(device_assignment_core(&r.d, 0, 1), 0);
    assert_int_equal(device_assignment_from(&r.d, &r.topology, outside, 1, 2, &r.arena, &r.e), -1);
    assert_string_equal(r.e.msg, "replica 0, logical device 1: (2, 0, 0, 0) is not in the mesh "
                        "2 x 2 x 1 x 2 of v3-8");
    assert_int_equal(device_assignment_from(&r.d, &r.topology, twice, 2, 1, &r.arena, &r.e), -1);
    assert_string_equal(r.e.msg, "replica 1, logical device 0: (1, 0, 0, 1) is already logical "
                        "device 0 of replica 0");
    arena_fini(&r.arena);
}

TEST(orders_have_names)
{
    enum device_order order;
    struct err e;

    assert_int_equal(device_order_find("ring", &order, &e), 0);
    assert_int_equal(order, DEVICE_ORDER_RING);
    assert_int_equal(device_order_find("rings", &order, &e), -1);
    assert_string_equal(e.msg, "device order \"rings\" is none of auto, ring, mesh (did you mean "
                        "\"ring\"?)");
}

TEST(the_map_shows_replicas_and_devices)
{
    static const char expected[] =
        "v2-8: 1 replica of 2 cores; replica.device by chip:\n"
        "  y\\x        0        1\n"
        "    0  0.0 0.1      - -\n"
        "    1      - -      - -\n";
    struct rig r;
    char *text;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    setup(&r, "v2-8");
    assert_int_equal(build(&r, (struct device_assignment_options){.shape = {1, 1, 1, 2},
                                                                  .replica_count = 1}), 0);
    device_assignment_print(&r.d, f);
    fclose(f);
    assert_string_equal(text, expected);
    free(text);
    arena_fini(&r.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_options_each_core_is_a_replica_chip_by_chip),
        cmocka_unit_test(two_logical_devices_are_the_cores_of_a_chip),
        cmocka_unit_test(all_boxes_of_all_strides_are_disjoint),
        cmocka_unit_test(a_ring_through_sixteen_chips_is_the_known_one),
        cmocka_unit_test(a_ring_never_leaves_neighbours),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(coordinates_are_taken_as_they_are),
        cmocka_unit_test(orders_have_names),
        cmocka_unit_test(the_map_shows_replicas_and_devices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
