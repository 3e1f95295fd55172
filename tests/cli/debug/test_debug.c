/*
 * Commands of the debugger on a small program: what they say, how far they go,
 * what they refuse.
 */
#include "base/arena.h"
#include "base/units.h"
#include "sim/snapshot/snapshot.h"
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

/* ---- going forward ---- */

TEST(a_step_is_a_bundle_and_a_cycle_is_a_cycle)
{
    SAYS(&r, "step", "core 0 @1: bundle 1 (line 3, start+1)", "dma.hbm_to_vmem");
    assert_int_equal(debug_rig_value(&r, "s0"), 4);
    SAYS(&r, "s 3", "bundle 4 (line 7, loop+2)");
    assert_int_equal(debug_rig_value(&r, "issued"), 4);
    debug_rig_say(&r, "cycle 100");
    assert_int_equal(r.d.cycle, debug_rig_value(&r, "cycle"));
    assert_true(r.d.cycle > 100);
}

TEST(until_goes_to_labels_lines_bundles_and_cycles)
{
    SAYS(&r, "until loop", "bundle 2 (line 5, loop)");
    SAYS(&r, "until :8", "bundle 5 (line 8, loop+3)");
    SAYS(&r, "until loop+1", "bundle 3");
    assert_int_equal(debug_rig_value(&r, "count[3]"), 1);
    SAYS(&r, "until 4", "bundle 4");
    SAYS(&r, "until end", "bundle 6 (line 10, end)");
    SAYS(&r, "until @200", "core 0 @200:", "dma.done.wait waits for flag 3 >= 64, which is 0");
    SAYS(&r, "u 13", "bundle 13");
    SAYS(&r, "until loop", "the launch has ended", "halted");
}

TEST(next_goes_to_an_operation_and_out_leaves_a_loop)
{
    SAYS(&r, "next vst", "bundle 3");
    SAYS(&r, "next vst", "bundle 3");
    assert_int_equal(debug_rig_value(&r, "count[3]"), 1);
    SAYS(&r, "out", "out of the loop of bundles 2..5", "bundle 6 (line 10, end)");
    assert_int_equal(debug_rig_value(&r, "count[3]"), 4);
    assert_wrong(&r, "out", "bundle 6 is in no loop");
    SAYS(&r, "n vpop", "bundle 11");
}

TEST(source_goes_to_another_source_operation)
{
    struct debug_rig f;

    debug_rig_open(&f, "tiny", ".note first\n{ s0 = smov 3 }\nloop:\n{ s0 = ssub.s32 s0, 1 }\n"
                               "{ p0 = scmp.gt.s32.totalorder s0, 0 }\n"
                               "{ sbr.rel (p0) target = loop }\n{ s1 = sadd.s32 s1, 1 }\n"
                               ".note second\n{ s2 = smov 1 }\n{ s3 = smov 1 }\n"
                               ".note third\n{ shalt }\n", 1);
    SAYS(&f, "source", "bundle 5");
    assert_int_equal(debug_rig_value(&f, "count[loop]"), 3);
    SAYS(&f, "source", "bundle 7");
    SAYS(&f, "source", "the launch has ended");
    assert_wrong(&f, "source 3", "3");
    debug_rig_close(&f);
    assert_wrong(&r, "source", "the program of core 0 names no source operations");
}

TEST(event_and_wake_stop_at_what_comes_from_outside)
{
    debug_rig_say(&r, "event");
    assert_int_equal(debug_rig_value(&r, "copies"), 1);
    SAYS(&r, "wake", "bundle 6", "of hbm_wait");
    assert_int_equal(debug_rig_value(&r, "flag[3]"), 64);
    SAYS(&r, "event", "bundle 8");
    assert_int_equal(debug_rig_value(&r, "flag[3]"), 0);
}

TEST(finish_ends_as_a_run_does_whatever_breakpoints_say)
{
    cycle_t cycles = debug_rig_plain_cycles();
    char ended[80];

    snprintf(ended, sizeof(ended), "the launch has ended after %lld cycles", (long long)cycles);
    debug_rig_say(&r, "break loop");
    SAYS(&r, "finish", ended, "halted");
    assert_int_equal(r.d.cycle, cycles);
    assert_int_equal(debug_rig_value(&r, "smem[0x40]"), 40);
    assert_wrong(&r, "step", "the launch has ended at cycle");
    assert_wrong(&r, "cycle", "run starts it again, back goes back");
    assert_wrong(&r, "continue", "the launch has ended");
    assert_wrong(&r, "finish", "the launch has ended");
    assert_wrong(&r, "event", "the launch has ended");
    assert_wrong(&r, "wake", "the launch has ended");
    assert_wrong(&r, "until end", "the launch has ended");
    assert_wrong(&r, "op", "the launch has ended");
    assert_wrong(&r, "out", "the launch has ended");
    assert_wrong(&r, "next vst", "the launch has ended");
}

TEST(op_shows_what_is_read_then_what_was_written)
{
    debug_rig_say(&r, "until loop");
    SAYS(&r, "op", "bundle 2 (line 5, loop):", "s0 = ssub.s32 s0, 1", "reads s0 = 4 (0x4)",
         "v2 = vadd.s32 v1, v1", "reads v1", "issued at", "wrote s0 = 3", "wrote v2",
         "core 0 @");
    SAYS(&r, "op", "reads s0 = 3", "writes vmem rows 19..26", "wrote p0 = 1");
    debug_rig_say(&r, "until 12");
    SAYS(&r, "o", "v6 = vadd.f32 (!p0) v5, v4", "reads v5 = 2.828427", "wrote v6 = 4.328427");
    debug_rig_say(&r, "run");
    SAYS(&r, "goto 0", "core 0 @0");
}

TEST(an_operation_whose_guard_fails_does_nothing)
{
    debug_rig_say(&r, "break end");
    debug_rig_say(&r, "c");
    debug_rig_say(&r, "back 2");
    SAYS(&r, "op", "sbr.rel (p0)", "does nothing: p0 is 0");
}

TEST(an_empty_line_repeats_the_last_step_where_that_is_wanted)
{
    debug_rig_say(&r, "step 2");
    debug_rig_say(&r, "");
    assert_int_equal(debug_rig_value(&r, "issued"), 2);
    r.d.options.repeats = true;
    debug_rig_say(&r, "step 2");
    debug_rig_say(&r, "\n");
    assert_int_equal(debug_rig_value(&r, "issued"), 6);
    debug_rig_say(&r, "# a comment is not an empty line");
    debug_rig_say(&r, "print s0");
    debug_rig_say(&r, "");
    assert_int_equal(debug_rig_value(&r, "issued"), 6);
}

/* ---- looking ---- */

TEST(print_shows_registers_in_the_format_asked_for)
{
    debug_rig_say(&r, "finish");
    SAYS(&r, "print s1", "s1 = 40 (0x28)\n");
    SAYS(&r, "p/hex s1", "s1 = 0x28\n");
    SAYS(&r, "p/f32 v4[0,0]", "v4[0,0] = 1.5\n");
    SAYS(&r, "p s1 * 2 - 1", "s1 * 2 - 1 = 79");
    SAYS(&r, "print p0", "p0 = 0\n");
    SAYS(&r, "print s", "s0 =           0", "s1 =          40", "s31 =           0");
    SAYS(&r, "print p", "p0 = 0  p1 = 0");
    SAYS(&r, "print v", "v4  all 1.5", "vector registers are all zeros");
    SAYS(&r, "print v4", "v4:", "[ 0,  0]", "1.5", "…\n", "all 1.5");
    SAYS(&r, "print/s32 v1", "0            1            2", "[ 1,  0]          128",
         "min 0, max 1023, mean 511.5, 1 zero, 0 NaN");
    SAYS(&r, "print/s32 v1[2:4,126:128]", "[ 2,126]          382          383\n",
         "[ 3,126]          510          511\n");
    SAYS(&r, "print/u32 v1[7]", "[ 7,  0]          896", "[ 7,120]", "1023\n");
    SAYS(&r, "print/full/hex v1", "[ 7,120]", "0x000003ff\n", "min 0, max 1023");
    SAYS(&r, "print vm2", "vm2:", "[0] ########", "[7] ########", "1024 of 1024 elements");
    assert_null(strstr(debug_rig_say(&r, "print/s32 v1[0:1,0:1]"), "min"));
}

/* packed as vpack.c.bf16 does: rows 2i and 2i + 1 in the halves of the words of sublane i */
TEST(bf16_takes_a_tile_as_16_packed_rows)
{
    uint32_t row[128];
    struct err e;

    for (int i = 0; i < 128; i++)
        row[i] = 0x40003f80u;           /* 2.0 above 1.0 */
    assert_int_equal(machine_vmem_write(r.d.m, 0, 512 * 9, row, sizeof(row), &e), 0);
    SAYS(&r, "x/bf16 vmem 8", "vmem rows 8..15:", "[ 0,  0]         0", "[ 2,  0]         1",
         "[ 3,  0]         2", "min 0, max 2, mean 0.1875, 1792 zero, 0 NaN");
    SAYS(&r, "p/bf16 vmem[9,3]", "= 1\n");
}

TEST(x_shows_ranges_of_memories)
{
    uint32_t word[3] = {0x3fc00000, 7, 0xffffffff};
    struct err e;

    assert_int_equal(machine_hbm_write(r.d.m, 0, 0x1000, word, sizeof(word), &e), 0);
    SAYS(&r, "x hbm 0x1000", "hbm 0x00001000           1.5");
    SAYS(&r, "x/hex hbm 0x1000 3", "0x3fc00000   0x00000007   0xffffffff\n");
    SAYS(&r, "x/s32 hbm 0x1000 10", "1069547520            7           -1", "hbm 0x00001020 ");
    SAYS(&r, "x/u32 hbm 0x1008 1", "4294967295\n");
    SAYS(&r, "x/tile/hex hbm 0x1000", "hbm 0x1000..0x1fff:", "0x3fc00000");
    SAYS(&r, "x vmem 0 2", "vmem rows 0..7:", "all 0", "vmem rows 8..15:");
    debug_rig_say(&r, "finish");
    SAYS(&r, "x smem 0x40", "smem 0x00000040            40            0");
    assert_wrong(&r, "x", "which memory?");
    assert_wrong(&r, "x vmem", "which row of vmem?");
    assert_wrong(&r, "x vmem 3x", "the row is \"3x\"");
    assert_wrong(&r, "x hbm 0x1001", "hbm address 4097 is no multiple of 4");
    assert_wrong(&r, "x vmem 0 65", "65 tiles; at most 64 at a time");
    assert_wrong(&r, "x hbm 0 5000", "5000 words; at most 4096 at a time");
    assert_wrong(&r, "x smem 0 0", "the count is \"0\"");
    assert_wrong(&r, "x/f64 hbm 0", "no format \"f64\"");
    assert_wrong(&r, "x hbm 0 1 2", "\"2\" is too much");
    assert_wrong(&r, "x/tile hbm 0x3fffffffc", "out of 0..");
}

TEST(wrong_prints_are_refused_with_a_reason)
{
    assert_wrong(&r, "print", "print what?");
    assert_wrong(&r, "print/f23 s1", "no format \"f23\" (did you mean \"f32\"?)");
    assert_wrong(&r, "print v1[0:9,0:4]", "rows out of 0:8, or none");
    assert_wrong(&r, "print v1[3:3]", "rows out of 0:8, or none");
    assert_wrong(&r, "print v1[0:2,0:129]", "lanes out of 0:128");
    assert_wrong(&r, "print v1[0:2", "\"]\" is needed");
    assert_wrong(&r, "print v1[a:2]", "rows are needed, 2 or 2:5, at \"a:2]\"");
    assert_wrong(&r, "print v1[0:2,]", "lanes are needed");
    assert_wrong(&r, "print v1[0:2] 3", "\"3\" is too much");
    assert_wrong(&r, "print v1[]", "rows are needed, 2 or 2:5");
    assert_wrong(&r, "print s99", "s99 out of s0..s31");
    assert_wrong(&r, "step/f32", "step has no formats");
}

TEST(a_result_that_is_not_ready_says_when)
{
    debug_rig_say(&r, "until loop");
    debug_rig_say(&r, "until 12");
    debug_rig_say(&r, "step");
    SAYS(&r, "print s2", "s2 = 40 (0x28)  (ready in ");
}

TEST(displays_come_after_every_stop)
{
    SAYS(&r, "display", "nothing is displayed");
    SAYS(&r, "display s0", "s0 = 0");
    SAYS(&r, "display/s32 v1[0:1,0:4]", "v1:");
    SAYS(&r, "display smem 0x40 2", "smem 0x00000040");
    SAYS(&r, "step", "core 0 @1", "s0 = 4", "v1:", "2            3\n", "smem 0x00000040");
    SAYS(&r, "display", "1  print s0", "2  print/s32 v1[0:1,0:4]", "3  x smem 0x40 2");
    debug_rig_say(&r, "undisplay 1");
    assert_null(strstr(debug_rig_say(&r, "step"), "s0 = 4"));
    assert_wrong(&r, "display nothing_like_this", "nothing is called \"nothing_like_this\"");
    assert_wrong(&r, "undisplay 17", "a whole number in 1..16 is needed");
    debug_rig_say(&r, "undisplay");
    SAYS(&r, "display", "nothing is displayed");
    for (int i = 0; i < 16; i++)
        debug_rig_say(&r, "display s1");
    assert_wrong(&r, "display s1", "16 displays are all there is room for");
}

TEST(list_counts_bundles_and_their_waits)
{
    debug_rig_say(&r, "finish");
    SAYS(&r, "list loop 4", "bundle   line        times       stalls", "loop:\n",
         "2      5            4", "s0 = ssub.s32 s0, 1", "3      6            4",
         "sbr.rel (p0) target = loop");
    assert_null(strstr(r.said, "end:"));
    SAYS(&r, "list 0", "start:", "     0 ");
    debug_rig_say(&r, "goto 0");
    SAYS(&r, "list", "=>     0      2            0            0");
    assert_wrong(&r, "list 99", "the bundle is \"99\"");
    assert_wrong(&r, "list 0 5000", "the count is \"5000\"");
}

TEST(info_tables_tell_what_is_going_on)
{
    debug_rig_say(&r, "until @100");
    SAYS(&r, "info dma", "1 copy; the queue has", "bundle 1     hbm 0x0 -> vmem 0x400, 2 KiB, "
         "flag 3: ", "done after 99 cycles");
    SAYS(&r, "info cores", "=>   0", "bundle 6", "waits for flag 3 >= 64, which is 0",
         "1 cores have no program");
    SAYS(&r, "info flags", "all ", " flags are 0");
    SAYS(&r, "info stalls", "core 0, 100 cycles, 100 since the last stop", "issue", "operand",
         "(waits now)");
    SAYS(&r, "info stalls all", "core 0, 100 cycles");
    debug_rig_say(&r, "until 11");
    SAYS(&r, "info fifos", "eup: 1 of", "0  for vpop.eup     ready in ", "2.82843");
    SAYS(&r, "info units", "scalar     free", "eup        ");
    debug_rig_say(&r, "finish");
    SAYS(&r, "info counters", "bundles ", "26", "copies", "1", "ssub.s32", "4", "vst ", "4");
    SAYS(&r, "info fifos", "all fifos are empty");
    assert_wrong(&r, "info", "info about what?");
    assert_wrong(&r, "info fifo s", "\"s\" is too much");
    assert_wrong(&r, "info stalls 3", "info stalls \"3\"; info stalls, or info stalls all");
    assert_wrong(&r, "info c", "table \"c\" may be cores, counters");
    assert_wrong(&r, "info waits", "no table \"waits\"");
}

TEST(flags_and_complete_copies_are_told)
{
    struct debug_rig f;

    debug_rig_open(&f, "tiny", "{ dma.hbm_to_vmem /*src=*/0, /*size_in_granules=*/64, /*dst=*/0, "
                               "/*dst_syncflagno=*/[sflag:3] }\n{ vdelay 2000 }\n"
                               "{ dma.done.wait [sflag:3], 64 }\n{ vsyncset [sflag:3], 0 }\n"
                               "{ shalt }\n", 1);
    debug_rig_say(&f, "break flag 3");
    SAYS(&f, "c", "breakpoint 1, flag 3 of core 0: 0 -> 64");
    SAYS(&f, "info flags", "flag 3 = 64");
    SAYS(&f, "info dma", "1 copy; ", "complete, seen when the core is next woken");
    SAYS(&f, "where", "bundle 2", "issues at 2002 after 2000 cycles of delay");
    debug_rig_close(&f);
}

/* ---- names and help ---- */

TEST(names_may_be_cut_short_where_that_is_clear)
{
    SAYS(&r, "st", "core 0 @1");
    SAYS(&r, "cy 2", "core 0 @3");
    assert_wrong(&r, "call", "no command \"call\"");
    assert_wrong(&r, "w", "command \"w\" may be wake, watch, where");
    assert_wrong(&r, "stepp", "no command \"stepp\" (did you mean \"step\"?)");
    assert_wrong(&r, "breka loop", "(did you mean \"break\"?)");
    SAYS(&r, "bk", "core 0 @");
    SAYS(&r, "reverse-step", "core 0 @");
}

TEST(every_command_has_help_with_an_example)
{
    static const char *const names[] = {
#define COMMAND(name, others, function, arguments, group, is_step, summary, help) name,
#include "cli/debug/debug_commands.def"
    };
    char command[80], example[80];

    debug_rig_say(&r, "help");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_non_null(strstr(debug_rig_say(&r, "help"), names[i]));
        snprintf(command, sizeof(command), "help %s", names[i]);
        snprintf(example, sizeof(example), "\n  %s", names[i]);
        SAYS(&r, command, example);
    }
    SAYS(&r, "help expressions", "smem[0x40]", "stall.mxu_busy", "core1.s3", "f32(x)");
    assert_wrong(&r, "help brek", "(did you mean \"break\"?)");
    assert_wrong(&r, "help break it", "\"it\" is too much");
}

TEST(arguments_that_are_too_many_or_no_numbers_are_refused)
{
    assert_wrong(&r, "step x", "the count is \"x\"; a whole number in 1..");
    assert_wrong(&r, "step 0", "the count is \"0\"");
    assert_wrong(&r, "step 1 2", "\"2\" is too much");
    assert_wrong(&r, "cycle -1", "the count is \"-1\"");
    assert_wrong(&r, "until", "until where?");
    assert_wrong(&r, "until @0", "the cycle is \"0\"; a whole number in 1..");
    assert_wrong(&r, "until nowhere", "no label \"nowhere\"");
    assert_wrong(&r, "next", "which operation?");
    assert_wrong(&r, "next vodd", "no operation \"vodd\"");
    assert_wrong(&r, "goto", "which cycle?");
    assert_wrong(&r, "goto x", "the cycle is \"x\"");
    assert_wrong(&r, "core 2", "the core is \"2\"; a whole number in 0..1 is needed");
    assert_wrong(&r, "where am i", "\"am i\" is too much");
    assert_wrong(&r, "run fast", "\"fast\" is too much");
    assert_wrong(&r, "quit now", "\"now\" is too much");
    assert_wrong(&r, "back", "core 0 has issued nothing yet");
    assert_wrong(&r, "save x", "files are not used here");
    assert_wrong(&r, "assert", "a value is needed");
}

TEST(a_line_has_an_end)
{
    char line[1200];

    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    assert_wrong(&r, line, "a command of 1199 characters; at most 999");
    line[900] = '\0';
    assert_wrong(&r, line, "no command \"xxx");
    memcpy(line, "break ", 6);
    assert_wrong(&r, line, "no label \"xxx");
}

/* ---- several cores ---- */

TEST(cores_stop_and_are_looked_at_by_themselves)
{
    struct debug_rig two;

    debug_rig_open(&two, "tiny", debug_rig_text, 2);
    SAYS(&two, "break end core 1", "breakpoint 1: bundle 6 (line 10, end), core 1");
    SAYS(&two, "c", "breakpoint 1, bundle 6", "core 1 @");
    assert_int_equal(two.d.core, 1);
    SAYS(&two, "core 0", "core 0 @");
    SAYS(&two, "print core1.s1", "40");
    debug_rig_say(&two, "delete");
    debug_rig_say(&two, "run");
    debug_rig_say(&two, "goto 0");
    debug_rig_say(&two, "break loop");
    SAYS(&two, "c", "breakpoint 2, bundle 2", "breakpoint 2, bundle 2", "hit 2", "core 0 @2");
    SAYS(&two, "info stalls all", "core 0,", "core 1,");
    debug_rig_close(&two);
}

TEST(a_core_without_a_program_says_so)
{
    SAYS(&r, "core 1", "core 1 @0: has no program");
    assert_wrong(&r, "step", "core 1 has no program");
    assert_wrong(&r, "list", "core 1 has no program");
    assert_wrong(&r, "break 0", "core 1 has no program");
    assert_wrong(&r, "op", "core 1 has no next bundle");
    SAYS(&r, "info stalls", "core 1");
    SAYS(&r, "continue", "the launch has ended");
    debug_rig_say(&r, "core 0");
    debug_rig_say(&r, "goto 0");
    debug_rig_say(&r, "core 1");
    debug_rig_say(&r, "break flag 3");
    debug_rig_say(&r, "break write vmem 0");
    debug_rig_say(&r, "print s3");
}

/* ---- faults ---- */

TEST(a_fault_stops_and_time_goes_back_from_it)
{
    struct debug_rig f;

    debug_rig_open(&f, "tiny", "{ s1 = smov 0x10000000 }\n{ s2 = smov 3 }\n"
                               "{ v1 = vld [vmem:s1] }\n{ shalt }\n", 1);
    SAYS(&f, "c", "fault: core 0 cycle 2 bundle 2 (line 3): vmem address 268435456 out of",
         "core 0 @2: bundle 2 (line 3), faulted", "v1 = vld");
    SAYS(&f, "where", "fault: core 0 cycle 2");
    assert_int_equal(debug_rig_value(&f, "faulted"), 1);
    assert_int_equal(debug_rig_value(&f, "s2"), 3);
    assert_wrong(&f, "step", "the launch has faulted at cycle 2");
    SAYS(&f, "back", "core 0 @1: bundle 1");
    assert_int_equal(debug_rig_value(&f, "s2"), 0);
    SAYS(&f, "step", "bundle 2 (line 3)");
    SAYS(&f, "step", "fault: core 0 cycle 2");
    debug_rig_close(&f);
}

TEST(a_deadlock_is_told_and_can_be_left_again)
{
    struct debug_rig f;

    debug_rig_open(&f, "tiny", "{ s1 = smov 1 }\n{ vwait.ge [sflag:2], 1 }\n{ shalt }\n", 1);
    SAYS(&f, "step", "bundle 1");
    SAYS(&f, "step", "fault: deadlock: ", "flag 2 >= 1", "core 0 @");
    SAYS(&f, "goto 0", "core 0 @0: bundle 0");
    SAYS(&f, "continue", "deadlock");
    debug_rig_close(&f);
}

/* ---- what only some chips have ---- */

TEST(cmem_is_looked_at_like_vmem)
{
    struct debug_rig f;

    debug_rig_open(&f, "v4", "{ v1 = vmov 2.5 }\n{ vst [vmem:0] v1 }\n"
                             "{ sfence }\n"
                             "{ dma.vmem_to_cmem /*src=*/0, /*size_in_granules=*/128, /*dst=*/256, "
                             "/*dst_syncflagno=*/[sflag:3] }\n{ dma.done.wait [sflag:3], 128 }\n"
                             "{ vsyncset [sflag:3], 0 }\n{ cld [cmem:16] }\n{ v2 = vpop.crf }\n"
                             "{ shalt }\n", 1);
    debug_rig_say(&f, "break write cmem 23");
    debug_rig_say(&f, "break write cmem 24");
    debug_rig_say(&f, "break read cmem 20 2");
    SAYS(&f, "c", "breakpoint 1, core 0 bundle 3", "starts a copy that writes it");
    SAYS(&f, "c", "breakpoint 3, bundle 6 (line 7) reads it (cld [cmem:0x10])");
    SAYS(&f, "x cmem 16", "cmem rows 16..23:", "all 2.5");
    SAYS(&f, "p/f32 cmem[23,127]", "= 2.5");
    SAYS(&f, "info fifos", "cmem: 1 of", "for vpop.crf");
    debug_rig_close(&f);
}

TEST(accumulators_are_shown_with_the_fifos)
{
    struct debug_rig f;

    debug_rig_open(&f, "v7x", "{ v1 = vmov 1.0 }\n{ vmatpush.bf16.msra.mxu1 v1 }\n"
                              "{ vmatmul.bf16.vlgmr.msra.gmra.mrb[5].mxu1 v1 }\n{ shalt }\n", 1);
    debug_rig_say(&f, "step 3");
    SAYS(&f, "info fifos", "mxu1.mrb[5] of f32  ready in ", "mxu1.mrb[6] of f32");
    debug_rig_close(&f);
}

/* ---- modes ---- */

TEST(mode_timing_refuses_to_show_lanes)
{
    struct rig_options options = debug_rig_options;
    cycle_t cycles = debug_rig_plain_cycles();
    struct debug_rig f;

    options.mode = MODE_TIMING;
    debug_rig_open_with(&f, "tiny", debug_rig_text, 1, &options);
    debug_rig_say(&f, "until loop");
    SAYS(&f, "op", "reads v1, not worked out", "wrote s0 = 3", "wrote v2, not worked out");
    assert_wrong(&f, "print v1", "--mode timing does not work out what is in vector registers");
    assert_wrong(&f, "print v", "--mode timing");
    assert_wrong(&f, "print vm2", "--mode timing");
    assert_wrong(&f, "print v1[0,5]", "--mode timing");
    assert_wrong(&f, "print vm1[0,5]", "--mode timing");
    assert_wrong(&f, "print vmem[0,5]", "--mode timing");
    assert_wrong(&f, "x vmem 0", "--mode timing");
    assert_wrong(&f, "watch v2", "--mode timing");
    assert_wrong(&f, "watch vmem 0", "--mode timing");
    debug_rig_say(&f, "print s0");
    debug_rig_say(&f, "x hbm 0");
    debug_rig_say(&f, "until 11");
    SAYS(&f, "info fifos", "eup: 1 of");
    debug_rig_say(&f, "finish");
    assert_int_equal(f.d.cycle, cycles);
    assert_int_equal(debug_rig_value(&f, "smem[0x40]"), 40);
    debug_rig_close(&f);
}

TEST(mode_functional_stops_at_copies_too)
{
    struct rig_options options = debug_rig_options;
    struct debug_rig f;

    options.mode = MODE_FUNCTIONAL;
    debug_rig_open_with(&f, "tiny", debug_rig_text, 1, &options);
    debug_rig_say(&f, "break write vmem 5");
    SAYS(&f, "c", "breakpoint 1, core 0 bundle 1", "starts a copy that writes it");
    SAYS(&f, "c", "the launch has ended");
    assert_int_equal(debug_rig_value(&f, "smem[0x40]"), 40);
    assert_int_equal(f.d.cycle, debug_rig_value(&f, "issued"));
    debug_rig_close(&f);
}

/* ---- scripts and terminals ---- */

TEST(a_terminal_goes_on_after_mistakes_and_repeats_steps)
{
    char typed[] = "step\n\nbraek\n\nprint s0\n\nquit\nstep\n";
    FILE *from = fmemopen(typed, sizeof(typed) - 1, "r");

    rewind(r.out);
    debug_run_terminal(&r.d, from);
    fputc('\0', r.out);
    fflush(r.out);
    fclose(from);
    assert_non_null(strstr(r.said, "(core 0 @0) core 0 @1: "));
    assert_non_null(strstr(r.said, "(core 0 @2) no command \"braek\""));
    assert_true(r.d.quits);
    assert_int_equal(debug_rig_value(&r, "issued"), 3);
}

TEST(a_terminal_ends_with_its_input)
{
    char typed[] = "step 2";
    FILE *from = fmemopen(typed, sizeof(typed) - 1, "r");

    debug_run_terminal(&r.d, from);
    fclose(from);
    assert_int_equal(debug_rig_value(&r, "issued"), 2);
}

TEST(a_welcome_says_what_is_loaded_and_how_to_get_help)
{
    rewind(r.out);
    debug_print_welcome(&r.d);
    fputc('\0', r.out);
    fflush(r.out);
    assert_string_equal(r.said,
                        "test.tasm on tiny: 14 bundles, on 1 of 2 cores\n"
                        "help lists the commands; step, break LABEL, continue, print s, info "
                        "stalls, quit\n"
                        "core 0 @0: bundle 0 (line 2, start), issues at 0\n"
                        "     0  { s0 = smov 4 ;; v1 = vlaneseq }\n");
}

TEST(an_interrupt_ends_no_launch_but_stops_a_command)
{
    struct debug_rig f;

    debug_rig_open(&f, "tiny", "{ s0 = smov 400000 }\nloop:\n{ s0 = ssub.s32 s0, 1 }\n"
                               "{ p0 = scmp.gt.s32.totalorder s0, 0 }\n"
                               "{ sbr.rel (p0) target = loop }\n{ s1 = sadd.s32 s1, 1 }\n"
                               "{ shalt }\n", 1);
    debug_interrupt();
    SAYS(&f, "step", "core 0 @1");      /* one that came before the command does not count */
    assert_null(strstr(f.said, "interrupted"));
    debug_rig_close(&f);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_step_is_a_bundle_and_a_cycle_is_a_cycle),
        CASE(until_goes_to_labels_lines_bundles_and_cycles),
        CASE(next_goes_to_an_operation_and_out_leaves_a_loop),
        CASE(source_goes_to_another_source_operation),
        CASE(event_and_wake_stop_at_what_comes_from_outside),
        CASE(finish_ends_as_a_run_does_whatever_breakpoints_say),
        CASE(op_shows_what_is_read_then_what_was_written),
        CASE(an_operation_whose_guard_fails_does_nothing),
        CASE(an_empty_line_repeats_the_last_step_where_that_is_wanted),
        CASE(print_shows_registers_in_the_format_asked_for),
        CASE(bf16_takes_a_tile_as_16_packed_rows),
        CASE(x_shows_ranges_of_memories),
        CASE(wrong_prints_are_refused_with_a_reason),
        CASE(a_result_that_is_not_ready_says_when),
        CASE(displays_come_after_every_stop),
        CASE(list_counts_bundles_and_their_waits),
        CASE(info_tables_tell_what_is_going_on),
        CASE(flags_and_complete_copies_are_told),
        CASE(names_may_be_cut_short_where_that_is_clear),
        CASE(every_command_has_help_with_an_example),
        CASE(arguments_that_are_too_many_or_no_numbers_are_refused),
        CASE(a_line_has_an_end),
        CASE(cores_stop_and_are_looked_at_by_themselves),
        CASE(a_core_without_a_program_says_so),
        CASE(a_fault_stops_and_time_goes_back_from_it),
        CASE(a_deadlock_is_told_and_can_be_left_again),
        CASE(cmem_is_looked_at_like_vmem),
        CASE(accumulators_are_shown_with_the_fifos),
        CASE(mode_timing_refuses_to_show_lanes),
        CASE(mode_functional_stops_at_copies_too),
        CASE(a_terminal_goes_on_after_mistakes_and_repeats_steps),
        CASE(a_terminal_ends_with_its_input),
        CASE(a_welcome_says_what_is_loaded_and_how_to_get_help),
        CASE(an_interrupt_ends_no_launch_but_stops_a_command),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
