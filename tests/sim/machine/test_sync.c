/*
 * Sync flags near and far: every wait, sets and reads of another core's flag,
 * their times, and that host threads change nothing.
 */
#include "base/units.h"
#include "sim/time/clock.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

static const struct rig_options four_threads = {.thread_count = 4};

/* cycles of core 0 of a v3 to "shalt" */
static cycle_t cycles_of(const char *text)
{
    struct rig r;
    cycle_t cycles;

    rig_open(&r, "v3", NULL);
    cycles = rig_cycles(&r, text);
    rig_close(&r);
    return cycles;
}

TEST(waits_that_hold_on_arrival_cost_nothing)
{
    assert_int_equal(cycles_of("{ vsyncset [sflag:0], 5 }\n{ vwait.le [sflag:0], 5 }\n"
                               "{ vwait.le [sflag:0], 6 }\n{ vwait.done [sflag:0], 5 }\n"
                               "{ vwait.done [sflag:0], 4 }\n{ vwait.notdone [sflag:0], 6 }\n"
                               "{ vsyncset [sflag:0], -7 }\n{ vwait.le [sflag:0], -7 }\n"
                               "{ vwait.notdone [sflag:0], -6 }\n{ vsyncset [sflag:0], 0 }\n"
                               "{ shalt }"), 11);
}

TEST(launch_clears_the_flags_of_cores_without_a_program)
{
    struct rig r;

    rig_open(&r, "v3", NULL);
    rig_load(&r, 0, "{ vsyncadd.remote [sflag:3], 7, 1 }\n{ vdelay 2000 }\n{ shalt }");
    for (int launch = 0; launch < 2; launch++) {
        assert_int_equal(rig_run(&r), 0);
        assert_int_equal(machine_flag(r.m, 1, 3), 7);
    }
    rig_close(&r);
}

TEST(waits_that_cannot_hold_name_their_relation)
{
    static const struct { const char *wait, *part; } cases[] = {
        {"vwait.le [sflag:0], 4", "vwait.le waits for flag 0 <= 4, which is 5"},
        {"vwait.done [sflag:0], 6", "vwait.done waits for flag 0 >= 6, which is 5"},
        {"vwait.notdone [sflag:0], 5", "vwait.notdone waits for flag 0 < 5, which is 5"},
        {"vwait.eq [sflag:0], 4", "vwait.eq waits for flag 0 == 4, which is 5"},
        {"vwait.ne [sflag:0], 5", "vwait.ne waits for flag 0 != 5, which is 5"},
        {"vwait.gt [sflag:0], 5", "vwait.gt waits for flag 0 > 5, which is 5"},
        {"dma.done.wait [sflag:0], 6", "dma.done.wait waits for flag 0 >= 6, which is 5"},
    };
    char text[200];

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        snprintf(text, sizeof(text), "{ vsyncset [sflag:0], 5 }\n{ %s }\n{ shalt }",
                 cases[i].wait);
        assert_fault(text, FAULT_DEADLOCK, cases[i].part);
    }
}

/* both cores of one chip; core 0 acts at cycle 100 */
static void load_pair(struct rig *r, const char *act, const char *wait)
{
    char text[300];

    snprintf(text, sizeof(text), "{ vdelay 99 }\n{ %s }\n{ shalt }", act);
    rig_load(r, 0, text);
    snprintf(text, sizeof(text), "{ vsyncset [sflag:3], 8 }\n{ %s }\n{ vsyncset [sflag:3], 0 }\n"
             "{ shalt }", wait);
    rig_load(r, 1, text);
}

TEST(remote_set_wakes_every_kind_of_wait)
{
    static const struct { const char *act, *wait; } cases[] = {
        {"vsyncset.remote [sflag:3], 4, 1", "vwait.eq [sflag:3], 4"},
        {"vsyncset.remote [sflag:3], 4, 1", "vwait.le [sflag:3], 7"},
        {"vsyncset.remote [sflag:3], 4, 1", "vwait.notdone [sflag:3], 8"},
        {"vsyncset.remote [sflag:3], 9, 1", "vwait.done [sflag:3], 9"},
        {"vsyncadd.remote [sflag:3], -8, 1", "vwait.lt [sflag:3], 1"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rig r;
        cycle_t arrival;

        rig_open(&r, "v3", NULL);
        load_pair(&r, cases[i].act, cases[i].wait);
        if (rig_run(&r))
            fail_msg("%s: %s", cases[i].wait, r.err.msg);
        /* 32 bytes at 450 GB/s take 71 ps */
        arrival = clock_cycle_at(940, clock_edge_ps(940, 100) + 71 + r.chip.dma_local_ns * 1000);
        assert_int_equal(machine_cycles(r.m), arrival + 7 + 3);
        assert_int_equal(rig_stall(&r, 1, STALL_ICI), arrival - 1);
        assert_int_equal(rig_stall(&r, 1, STALL_SYNC), 7);
        rig_close(&r);
    }
}

TEST(remote_set_replaces_what_adds_left)
{
    struct rig r;

    rig_open(&r, "v3", NULL);
    rig_load(&r, 1, "{ vsyncadd [sflag:3], 100 }\n{ vwait.eq [sflag:3], 5 }\n"
                    "{ vsyncadd [sflag:3], -5 }\n{ shalt }");
    rig_load(&r, 0, "{ vdelay 50 }\n{ vsyncadd.remote [sflag:3], 7, 1 }\n"
                    "{ vsyncset.remote [sflag:3], 5, 1 }\n{ shalt }");
    if (rig_run(&r))
        fail_msg("%s", r.err.msg);
    rig_close(&r);
}

TEST(remote_read_takes_a_message_there_and_back)
{
    struct rig r;
    uint32_t row[128];
    struct err e;
    cycle_t back;

    rig_open(&r, "v3", NULL);
    /* asked at cycle 0, there after 71 ps of the link and local_ns: the value then, not the answer's */
    rig_load(&r, 0, "{ s1 = vsyncmov.remote [sflag:2], 1 }\n{ v0 = vstv s1 }\n"
                    "{ vst [vmem:0] v0 }\n{ shalt }");
    rig_load(&r, 1, "{ vsyncset [sflag:2], 5 }\n{ vdelay 500 }\n{ vsyncset [sflag:2], 0 }\n"
                    "{ shalt }");
    if (rig_run(&r))
        fail_msg("%s", r.err.msg);
    assert_int_equal(machine_vmem_read(r.m, 0, 0, row, sizeof(row), &e), 0);
    assert_int_equal(row[0], 5);
    back = clock_cycle_at(940, 2 * (71 + r.chip.dma_local_ns * 1000));
    assert_int_equal(rig_stall(&r, 0, STALL_ICI), back);
    assert_int_equal(rig_stall(&r, 0, STALL_SYNC), 7);
    assert_int_equal(machine_counters(r.m, 0)->ici_sent_bytes, 0);
    rig_close(&r);
}

TEST(remote_read_of_another_chip_crosses_the_network_twice)
{
    struct rig r;

    rig_open(&r, "v3-8", NULL);
    rig_load(&r, 0, "{ s1 = vsyncmov.remote [sflag:2], 7 }\n{ shalt }");
    if (rig_run(&r))
        fail_msg("%s", r.err.msg);
    assert_int_equal(machine_counters(r.m, 0)->ici_sent_bytes, 32);
    assert_int_equal(machine_counters(r.m, 0)->ici_received_bytes, 32);
    assert_int_equal(machine_counters(r.m, 7)->ici_sent_bytes, 32);
    rig_close(&r);
}

TEST(cores_and_flags_that_do_not_exist_are_named)
{
    assert_fault("{ vsyncset.remote [sflag:0], 1, 2 }\n{ shalt }", FAULT_ADDRESS,
                 "core 2 out of 0..1 in vsyncset.remote");
    assert_fault("{ s1 = smov -1 }\n{ s0 = vsyncmov.remote [sflag:0], s1 }\n{ shalt }",
                 FAULT_ADDRESS, "core -1 out of 0..1 in vsyncmov.remote");
    assert_fault("{ s1 = smov 1024 }\n{ s0 = vsyncmov.remote [sflag:s1], 1 }\n{ shalt }",
                 FAULT_ADDRESS, "sync flag 1024 out of 0..1023 in vsyncmov.remote");
    assert_fault("{ s1 = smov 1024 }\n{ vwait.done [sflag:s1], 1 }\n{ shalt }",
                 FAULT_ADDRESS, "sync flag 1024 out of 0..1023 in vwait.done");
}

/* every core sets, adds to and reads flags of its neighbours in a ring of 8, ten times */
static void run_ring(struct rig *r, cycle_t *cycles, uint32_t *sums)
{
    char text[1200];

    for (int core = 0; core < 8; core++) {
        snprintf(text, sizeof(text), "{ s0 = smov 0 ;; s2 = smov 0 }\nagain:\n"
                 "{ vdelay %d }\n{ vsyncadd.remote [sflag:1], 1, %d }\n"
                 "{ s3 = vsyncmov.remote [sflag:1], %d ;; s0 = sadd.s32 s0, 1 }\n"
                 "{ s2 = smul.u32 s2, 31 }\n{ s2 = sadd.s32 s2, s3 }\n"
                 "{ p1 = scmp.lt.s32.totalorder s0, 10 }\n{ sbr.rel (p1) target = again }\n{}\n"
                 "{ vwait.done [sflag:1], 10 }\n{ vsyncset [sflag:1], 0 }\n"
                 "{ vsyncset.remote [sflag:5], %d, %d }\n{ vwait.ge [sflag:5], 1 }\n"
                 "{ vsyncset [sflag:5], 0 ;; v0 = vstv s2 }\n{ vst [vmem:0] v0 }\n{ shalt }",
                 5 + 3 * core, (core + 1) % 8, (core + 3) % 8, core + 1, (core + 1) % 8);
        rig_load(r, core, text);
    }
    if (rig_run(r))
        fail_msg("%s", r->err.msg);
    *cycles = machine_cycles(r->m);
    for (int core = 0; core < 8; core++) {
        uint32_t row[128];
        struct err e;

        assert_int_equal(machine_vmem_read(r->m, core, 0, row, sizeof(row), &e), 0);
        sums[core] = row[0];
    }
}

TEST(host_threads_do_not_change_what_flags_show)
{
    uint32_t sums[2][8];
    cycle_t cycles[2];

    for (int i = 0; i < 2; i++) {
        struct rig r;

        rig_open(&r, "v3-8", i ? &four_threads : NULL);
        run_ring(&r, &cycles[i], sums[i]);
        rig_close(&r);
    }
    assert_int_equal(cycles[0], cycles[1]);
    assert_memory_equal(sums[0], sums[1], sizeof(sums[0]));
    assert_int_not_equal(sums[0][0], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_that_hold_on_arrival_cost_nothing),
        cmocka_unit_test(launch_clears_the_flags_of_cores_without_a_program),
        cmocka_unit_test(waits_that_cannot_hold_name_their_relation),
        cmocka_unit_test(remote_set_wakes_every_kind_of_wait),
        cmocka_unit_test(remote_set_replaces_what_adds_left),
        cmocka_unit_test(remote_read_takes_a_message_there_and_back),
        cmocka_unit_test(remote_read_of_another_chip_crosses_the_network_twice),
        cmocka_unit_test(cores_and_flags_that_do_not_exist_are_named),
        cmocka_unit_test(host_threads_do_not_change_what_flags_show),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
