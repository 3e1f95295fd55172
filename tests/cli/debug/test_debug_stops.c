/* Breakpoints, conditions and watches of the debugger: where they stop, and what they say. */
#include "tests/rigs/debug_rig.h"
#include "tests/test.h"

static struct debug_rig r;

static int setup(void **state)
{
    (void)state;
    debug_rig_open(&r, "tiny", debug_rig_text, 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    debug_rig_close(&r);
    return 0;
}

/* ---- breakpoints ---- */

TEST(a_breakpoint_stops_in_front_of_its_bundle_each_time)
{
    SAYS(&r, "break loop+1", "breakpoint 1: bundle 3 (line 6, loop+1)\n");
    for (int i = 1; i <= 4; i++) {
        SAYS(&r, "continue", "breakpoint 1, bundle 3", "bundle 3 (line 6, loop+1)");
        assert_int_equal(debug_rig_value(&r, "s0"), 4 - i);
        assert_int_equal(debug_rig_value(&r, "count[3]"), i - 1);
    }
    SAYS(&r, "info breaks", "1  bundle 3 (line 6, loop+1), hit 4 times");
    SAYS(&r, "c", "the launch has ended");
}

TEST(conditions_and_counts_hold_a_breakpoint_back)
{
    debug_rig_say(&r, "break loop if s0 == 2");
    debug_rig_say(&r, "break :8 after 3");
    SAYS(&r, "c", "breakpoint 1, bundle 2");
    assert_int_equal(debug_rig_value(&r, "s0"), 2);
    SAYS(&r, "c", "breakpoint 2, bundle 5", "hit 3");
    assert_int_equal(debug_rig_value(&r, "s0"), 1);
    SAYS(&r, "info breaks", "if s0 == 2, hit once", "after 3, hit 3 times");
}

TEST(a_condition_that_fails_to_have_a_value_stops)
{
    debug_rig_say(&r, "break loop if 1 / (s0 - 2) > 5 || s0 == 7");
    SAYS(&r, "c", "condition of breakpoint 1: 1 / 0");
    assert_int_equal(debug_rig_value(&r, "s0"), 2);
}

TEST(cycles_flags_and_operations_stop)
{
    SAYS(&r, "break @7", "cycle 7");
    SAYS(&r, "break flag 3", "flag 3 changes, core 0");
    SAYS(&r, "break op vpop.eup", "op vpop.eup");
    SAYS(&r, "c", "breakpoint 1, cycle 7", "core 0 @7:");
    SAYS(&r, "c", "breakpoint 2, flag 3 of core 0: 0 -> 64");
    SAYS(&r, "c", "flag 3 of core 0: 64 -> 0");
    SAYS(&r, "c", "breakpoint 3, bundle 11");
    SAYS(&r, "c", "the launch has ended");
}

TEST(stores_and_loads_of_a_range_stop)
{
    debug_rig_say(&r, "break write vmem 26");      /* rows 19..26 in the first round only */
    debug_rig_say(&r, "break read vmem 18 2");
    debug_rig_say(&r, "break write smem 0x40");
    debug_rig_say(&r, "break read smem 0x40");
    SAYS(&r, "c", "breakpoint 1, bundle 3 (line 6, loop+1) writes it (vst [vmem:s0 + 0x10] v2)");
    assert_int_equal(debug_rig_value(&r, "count[3]"), 1);
    SAYS(&r, "c", "breakpoint 2, bundle 8 (line 12, end+2) reads it",
         "breakpoint 3, bundle 8 (line 12, end+2) writes it");
    SAYS(&r, "c", "breakpoint 4, bundle 12", "reads it (s2 = sld [smem:0x40])");
    SAYS(&r, "info breaks", "write vmem bytes 0x3400..0x35ff, core 0, hit once");
}

TEST(copies_that_touch_a_range_stop)
{
    debug_rig_say(&r, "break write vmem 5");
    debug_rig_say(&r, "break write vmem 6");       /* behind its last row */
    debug_rig_say(&r, "break read hbm 0x7fc");
    debug_rig_say(&r, "break read hbm 0x800");
    SAYS(&r, "c", "breakpoint 1, core 0 bundle 1", "starts a copy that writes it (dma.hbm_to_vmem, "
         "2048 bytes)", "breakpoint 3, core 0 bundle 1", "reads it");
    SAYS(&r, "c", "the launch has ended");
}

TEST(waits_for_a_reason_stop)
{
    debug_rig_say(&r, "break stall hbm_wait 50");
    debug_rig_say(&r, "break stall eup");
    debug_rig_say(&r, "break stall hbm_wait 100000");
    SAYS(&r, "c", "breakpoint 1, bundle 6 (line 10, end) waited ", "cycles for hbm_wait");
    assert_int_equal(debug_rig_value(&r, "bundle"), 7);
    SAYS(&r, "c", "breakpoint 2, bundle 11", "for eup");
    SAYS(&r, "c", "the launch has ended");
}

TEST(watches_show_old_and_new)
{
    debug_rig_say(&r, "watch s1");
    debug_rig_say(&r, "watch v3");
    debug_rig_say(&r, "watch vm2");
    debug_rig_say(&r, "watch smem 0x40");
    debug_rig_say(&r, "watch f32(v6[0,0])");
    SAYS(&r, "info breaks", "1  watch s1, core 0", "2  watch v3", "4  watch smem bytes 0x40..0x43");
    for (int i = 0; i < 4; i++) {
        char change[40];

        snprintf(change, sizeof(change), "watch 1, s1: %d -> %d", 10 * i, 10 * i + 10);
        SAYS(&r, "c", change);
    }
    SAYS(&r, "c", "watch 3, vm2: ");
    SAYS(&r, "c", "watch 2, v3: ", "of 1024 words change, word 0 from 0x00000000 (0) to 0x",
         "watch 4, smem: 1 of 1 words change, word 0 from 0x00000000 (0) to 0x00000028");
    SAYS(&r, "c", "watch 5, f32(v6[0,0]): 0 -> 4.32842");
    SAYS(&r, "c", "the launch has ended");
}

TEST(delete_takes_one_or_all)
{
    debug_rig_say(&r, "break loop");
    debug_rig_say(&r, "watch v2");
    debug_rig_say(&r, "break end");
    debug_rig_say(&r, "delete 1");
    assert_wrong(&r, "delete 1", "breakpoint 1 is deleted already");
    assert_wrong(&r, "delete 4", "a whole number in 1..3 is needed");
    SAYS(&r, "info breaks", "2  watch v2", "3  bundle 6");
    debug_rig_say(&r, "d");
    SAYS(&r, "info breaks", "no breakpoints and no watches");
    SAYS(&r, "c", "the launch has ended");
}

TEST(there_is_room_for_64_breakpoints)
{
    for (int i = 0; i < 64; i++)
        debug_rig_say(&r, "break loop");
    assert_wrong(&r, "break loop", "64 breakpoints and watches are all there is room for");
}

TEST(wrong_breakpoints_are_refused_with_a_reason)
{
    assert_wrong(&r, "break", "break where?");
    assert_wrong(&r, "break lop", "no label \"lop\" (did you mean \"loop\"?)");
    assert_wrong(&r, "break loop+20", "bundles behind the label is \"20\"; a whole number in "
                 "0..11");
    assert_wrong(&r, "break 14", "the bundle is \"14\"; a whole number in 0..13 is needed");
    assert_wrong(&r, "break :90", "no bundle at line 90 or after it; the last is at line 17");
    assert_wrong(&r, "break @x", "the cycle is \"x\"");
    assert_wrong(&r, "break flag", "which flag?");
    assert_wrong(&r, "break flag 9999", "the flag is \"9999\"");
    assert_wrong(&r, "break stall", "which reason?");
    assert_wrong(&r, "break stall mxu_bus 3 4", "\"4\" is not known here");
    assert_wrong(&r, "break stall sleepy", "no stall reason \"sleepy\"");
    assert_wrong(&r, "break op", "which operation?");
    assert_wrong(&r, "break op vaddd", "no operation \"vaddd\"");
    assert_wrong(&r, "break write", "which memory?");
    assert_wrong(&r, "break write ram 0", "no memory \"ram\"");
    assert_wrong(&r, "break write vmem", "which row of vmem?");
    assert_wrong(&r, "break write hbm", "which byte address of hbm?");
    assert_wrong(&r, "break write vmem 999999", "vmem rows 999999..999999 out of 0..");
    assert_wrong(&r, "break write smem 2", "smem address 2 is no multiple of 4");
    assert_wrong(&r, "break write cmem 0", "the chip has no cmem");
    assert_wrong(&r, "break loop core 9", "core is \"9\"; a whole number in 0..1 is needed");
    assert_wrong(&r, "break loop core", "core needs a number");
    assert_wrong(&r, "break loop after 0", "after is \"0\"");
    assert_wrong(&r, "break loop when s3", "\"when\" is not known here; core N, after N or if");
    assert_wrong(&r, "break loop if s40", "s40 out of s0..s31");
    assert_wrong(&r, "break loop if", "a value is needed at the end");
    assert_wrong(&r, "watch", "watch what?");
    assert_wrong(&r, "watch v64", "the register is \"64\"");
    assert_wrong(&r, "watch s0 +", "a value is needed at the end");
    assert_wrong(&r, "watch hbm 0 1000000", "at most 1048576 can be watched");
    SAYS(&r, "info breaks", "no breakpoints");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_breakpoint_stops_in_front_of_its_bundle_each_time),
        CASE(conditions_and_counts_hold_a_breakpoint_back),
        CASE(a_condition_that_fails_to_have_a_value_stops),
        CASE(cycles_flags_and_operations_stop),
        CASE(stores_and_loads_of_a_range_stop),
        CASE(copies_that_touch_a_range_stop),
        CASE(waits_for_a_reason_stop),
        CASE(watches_show_old_and_new),
        CASE(delete_takes_one_or_all),
        CASE(there_is_room_for_64_breakpoints),
        CASE(wrong_breakpoints_are_refused_with_a_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
