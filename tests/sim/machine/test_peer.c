/*
 * The link between the two cores of a chip. At 4.096 GB/s a chunk of 4096 bytes takes it for
 * 1000 ns; with 100 ns at each end and 50 for the crossing the times are exact.
 */
#include "sim/time/clock.h"
#include "sim/observe/inspect.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

static const struct rig_options slow = {
    .set = {"dma.peer_gbps=4.096", "dma.peer_ns=50", "dma.local_ns=100"}};

/* programs that push 384 granules, three chunks, to a core, and wait until they have left */
#define PUSH(to, destination, flag, own) \
    "{ dma.vmem_to_vmem.remote 0, 384, " #destination ", [sflag:" #flag "], [sflag:" #own "], " \
    #to " }\n"
#define END(flag, granules) \
    "{ dma.done.wait [sflag:" #flag "], " #granules " }\n{ vsyncadd [sflag:" #flag "], -" #granules \
    " }\n"

static void run(struct rig *r, const char *slice, const char *first, const char *second)
{
    rig_open(r, slice, &slow);
    rig_load(r, 0, first);
    rig_load(r, 1, second);
    if (rig_run(r))
        fail_msg("%s", r->err.msg);
}

static cycle_t cycles_at(ps_t ps)
{
    return clock_cycle_at(940, ps);
}

/* of a core whose first bundle waits, until `ps`, and then only takes from the flag and halts */
static cycle_t end_at(ps_t ps)
{
    return cycles_at(ps) + 7 + 3;
}

TEST(copies_in_one_direction_share_it)
{
    struct rig r;

    run(&r, "v3", PUSH(1, 1024, 3, 4) END(4, 384) "{ shalt }", END(3, 384) "{ shalt }");
    assert_int_equal(machine_cycles(r.m), end_at(100000 + 3 * 1000000 + 50000 + 100000));
    assert_int_equal(machine_counters(r.m, 0)->peer_sent_bytes, 3 * 4096);
    assert_int_equal(machine_counters(r.m, 0)->peer_busy_cycles, cycles_at(3 * 1000000));
    assert_int_equal(machine_counters(r.m, 1)->peer_sent_bytes, 0);
    assert_int_equal(machine_counters(r.m, 0)->ici_sent_bytes, 0);
    rig_close(&r);
    run(&r, "v3", PUSH(1, 1024, 3, 4) PUSH(1, 2048, 3, 4) END(4, 768) "{ shalt }",
        END(3, 768) "{ shalt }");
    assert_int_equal(machine_cycles(r.m), end_at(100000 + 6 * 1000000 + 50000 + 100000));
    /* the source may be written over as soon as the last byte is on the link */
    assert_int_equal(machine_bundle_stall(r.m, 0, 2), cycles_at(100000 + 6 * 1000000) + 7 - 2);
    rig_close(&r);
}

TEST(opposite_directions_do_not_share_it)
{
    struct rig r;

    run(&r, "v3", PUSH(1, 1024, 3, 4) END(3, 384) END(4, 384) "{ shalt }",
        PUSH(0, 1024, 3, 4) END(3, 384) END(4, 384) "{ shalt }");
    assert_int_equal(machine_bundle_stall(r.m, 0, 1),
                     cycles_at(100000 + 3 * 1000000 + 50000 + 100000) + 7 - 1);
    assert_int_equal(machine_bundle_stall(r.m, 1, 1), machine_bundle_stall(r.m, 0, 1));
    assert_int_equal(machine_counters(r.m, 1)->peer_sent_bytes, 3 * 4096);
    rig_close(&r);
}

TEST(chips_have_links_of_their_own)
{
    struct rig r;

    rig_open(&r, "v3-8", &slow);
    for (int core = 0; core < 8; core += 2) {
        char text[400];

        snprintf(text, sizeof(text), PUSH(%d, 1024, 3, 4) END(4, 384) "{ shalt }", core + 1);
        rig_load(&r, core, text);
        rig_load(&r, core + 1, END(3, 384) "{ shalt }");
    }
    if (rig_run(&r))
        fail_msg("%s", r.err.msg);
    assert_int_equal(machine_cycles(r.m), end_at(100000 + 3 * 1000000 + 50000 + 100000));
    rig_close(&r);
}

/*
 * A flag sent at cycle 200, 212.8 ns, finds the link taken by the first chunk until 1100 ns. Its
 * 32 bytes take 7.8125 ns, and the second chunk waits for them.
 */
TEST(flags_queue_behind_copies_and_copies_behind_flags)
{
    struct rig r;

    run(&r, "v3", PUSH(1, 1024, 3, 4) "{ vdelay 198 }\n{ vsyncadd.remote [sflag:5], 1, 1 }\n"
                  END(4, 384) "{ shalt }",
        "{ vwait.ge [sflag:5], 1 }\n{ vsyncadd [sflag:5], -1 }\n" END(3, 384) "{ shalt }");
    assert_int_equal(machine_bundle_stall(r.m, 1, 0),
                     cycles_at(1100000 + 7813 + 50000 + 100000) + 7);
    assert_int_equal(machine_cycles(r.m),
                     end_at(100000 + 3 * 1000000 + 7813 + 50000 + 100000));
    assert_int_equal(machine_counters(r.m, 0)->peer_sent_bytes, 3 * 4096 + 32);
    rig_close(&r);
}

/* a question and its answer: a granule each way, across and through both ends */
TEST(flags_that_are_read_cross_it_twice)
{
    struct rig r;

    run(&r, "v3", "{ s1 = vsyncmov.remote [sflag:2], 1 }\n{ shalt }", "{ shalt }");
    assert_int_equal(machine_bundle_stall(r.m, 0, 0), cycles_at(2 * (7813 + 50000 + 100000)) + 7);
    assert_int_equal(machine_counters(r.m, 0)->peer_sent_bytes, 32);
    assert_int_equal(machine_counters(r.m, 1)->peer_sent_bytes, 32);
    rig_close(&r);
}

/* The link is taken while the HBM reads, as it takes longer; the rest is the HBM's own. */
TEST(copies_between_hbms_cross_it_too)
{
    struct rig r;
    cycle_t least, waited;

    run(&r, "v3", "{ dma.hbm_to_hbm.remote 0, 128, 0, [sflag:3], [sflag:4], 1 }\n" END(4, 128)
                  "{ shalt }", END(3, 128) "{ shalt }");
    least = cycles_at((100 + 1000 + 50 + 100 + r.chip.dma_write_ns) * 1000);
    waited = machine_bundle_stall(r.m, 1, 0) - 7;
    assert_true(waited > least && waited < least + 100);
    assert_int_equal(machine_counters(r.m, 0)->peer_sent_bytes, 4096);
    assert_int_equal(machine_counters(r.m, 1)->hbm_write_bytes, 4096);
    rig_close(&r);
}

/* A slow link does not hold the engine: chunks for other chips go in between. */
TEST(copies_to_other_chips_do_not_wait_for_it)
{
    static const char text[] =
        "{ dma.vmem_to_vmem.remote 0, 4096, 8192, [sflag:3], [sflag:4], 2 }\n";
    cycle_t waited[2];

    for (int with = 0; with < 2; with++) {
        struct rig r;
        char program[600];

        rig_open(&r, "v3-8", &slow);
        snprintf(program, sizeof(program), "%s%s%s{ shalt }", text, with ? PUSH(1, 1024, 5, 6) : "",
                 with ? END(4, 4096) END(6, 384) : END(4, 4096));
        rig_load(&r, 0, program);
        rig_load(&r, 1, with ? END(5, 384) "{ shalt }" : "{ shalt }");
        rig_load(&r, 2, END(3, 4096) "{ shalt }");
        if (rig_run(&r))
            fail_msg("%s", r.err.msg);
        waited[with] = machine_bundle_stall(r.m, 2, 0);
        rig_close(&r);
    }
    /* three chunks of 4096 bytes at 450 GB/s are 27.3 ns of the engine, if all came in between */
    assert_in_range(waited[1], waited[0], waited[0] + cycles_at(27300) + 1);
}

/*
 * One chunk may be on its way: two copies of two chunks each take turns, and all but the first
 * chunk wait from when the engine is free, 9.102 ns after the chunk before, until that is gone.
 */
TEST(what_is_sent_waits_for_room_in_the_staging_memory)
{
    static const struct rig_options one = {.set = {
        "dma.peer_gbps=4.096", "dma.peer_ns=50", "dma.local_ns=100", "dma.staging_bytes=4096"}};
    struct rig r;

    rig_open(&r, "v3", &one);
    rig_load(&r, 0, "{ dma.vmem_to_vmem.remote 0, 256, 1024, [sflag:3], [sflag:4], 1 }\n"
                    "{ dma.vmem_to_vmem.remote 0, 256, 2048, [sflag:3], [sflag:4], 1 }\n"
                    END(4, 512) "{ shalt }");
    rig_load(&r, 1, END(3, 512) "{ shalt }");
    if (rig_run(&r))
        fail_msg("%s", r.err.msg);
    assert_int_equal(machine_cycles(r.m), end_at(100000 + 4 * 1000000 + 50000 + 100000));
    assert_int_equal(machine_counters(r.m, 0)->dma_staging_cycles,
                     cycles_at(3 * (1000000 - 9102)));
    rig_close(&r);
}

/* Reads that take 10 us, two under way: a pair every 10 us and what the HBM takes by itself. */
TEST(what_is_read_to_be_sent_is_bounded_too)
{
    static const struct rig_options two = {
        .set = {"dma.read_ns=10000", "dma.staging_bytes=8192", "dma.peer_gbps=450"}};
    struct rig r;
    cycle_t waited;

    rig_open(&r, "v3", &two);
    rig_load(&r, 0, "{ dma.hbm_to_vmem.remote 0, 1280, 0, [sflag:3], [sflag:4], 1 }\n"
                    END(4, 1280) "{ shalt }");
    rig_load(&r, 1, END(3, 1280) "{ shalt }");
    if (rig_run(&r))
        fail_msg("%s", r.err.msg);
    waited = machine_bundle_stall(r.m, 1, 0) - 7;
    assert_in_range(waited, cycles_at(5 * 10000000ll), cycles_at(5 * 10100000ll + 200000));
    assert_in_range(machine_counters(r.m, 0)->dma_staging_cycles, cycles_at(4 * 9900000ll),
                    cycles_at(4 * 10100000ll));
    rig_close(&r);
}

TEST(a_copy_to_the_own_core_does_not_take_it)
{
    struct rig r;

    run(&r, "v3", PUSH(0, 1024, 3, 4) END(3, 384) END(4, 384) "{ shalt }", "{ shalt }");
    assert_int_equal(machine_counters(r.m, 0)->peer_sent_bytes, 0);
    assert_true(machine_cycles(r.m) < cycles_at(400000));
    rig_close(&r);
}

TEST(functional_mode_counts_the_same_bytes)
{
    static const struct rig_options functional = {.mode = MODE_FUNCTIONAL};
    struct rig r;

    rig_open(&r, "v3", &functional);
    rig_load(&r, 0, PUSH(1, 1024, 3, 4) END(4, 384) "{ vsyncadd.remote [sflag:5], 1, 1 }\n"
                    "{ shalt }");
    rig_load(&r, 1, END(3, 384) "{ vwait.ge [sflag:5], 1 }\n{ vsyncadd [sflag:5], -1 }\n{ shalt }");
    assert_int_equal(rig_run(&r), 0);
    assert_int_equal(machine_counters(r.m, 0)->peer_sent_bytes, 3 * 4096 + 32);
    assert_int_equal(machine_counters(r.m, 0)->peer_busy_cycles, 0);
    rig_close(&r);
}

/* die to die on v7x: 4 MiB at 600 GB/s; its cores are 20 ns further apart than those of a die */
TEST(dies_of_a_v7x_are_joined_by_a_link)
{
    static const char push[] = "{ dma.vmem_to_vmem.remote 0, 131072, 131072, [sflag:3], [sflag:4],"
                               " 1 }\n" END(4, 131072) "{ shalt }";
    struct rig r;

    rig_open(&r, "v7x", NULL);
    rig_load(&r, 0, push);
    rig_load(&r, 1, END(3, 131072) "{ shalt }");
    if (rig_run(&r))
        fail_msg("%s", r.err.msg);
    assert_int_equal(machine_bundle_stall(r.m, 1, 0),
                     clock_cycle_at(r.chip.chip_clock_mhz,
                                    1024 * 6827 + (100 + 20 + 100) * 1000)  /* 4096 B: 6.827 ns */
                     + r.chip.sync_resume_cycles);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_in_one_direction_share_it),
        cmocka_unit_test(opposite_directions_do_not_share_it),
        cmocka_unit_test(chips_have_links_of_their_own),
        cmocka_unit_test(flags_queue_behind_copies_and_copies_behind_flags),
        cmocka_unit_test(flags_that_are_read_cross_it_twice),
        cmocka_unit_test(copies_between_hbms_cross_it_too),
        cmocka_unit_test(copies_to_other_chips_do_not_wait_for_it),
        cmocka_unit_test(what_is_sent_waits_for_room_in_the_staging_memory),
        cmocka_unit_test(what_is_read_to_be_sent_is_bounded_too),
        cmocka_unit_test(a_copy_to_the_own_core_does_not_take_it),
        cmocka_unit_test(functional_mode_counts_the_same_bytes),
        cmocka_unit_test(dies_of_a_v7x_are_joined_by_a_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
