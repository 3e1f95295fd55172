/*
 * Going back and forth with the debugger, and typing anything at all: the launch
 * is the same as without it.
 */
#include "base/arena.h"
#include "base/rng.h"
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

/* ---- time ---- */

static void save_into(struct bytes *b)
{
    *b = (struct bytes){.data = NULL};
    machine_save(r.d.m, b);
}

/* states of all cycles going forward, then visited in any order */
TEST(going_back_finds_the_very_same_state)
{
    enum { CYCLES = 120 };
    static struct bytes at[CYCLES];
    struct bytes here;
    char command[40];
    struct rng g;

    rng_init(&g, 5);
    for (int i = 0; i < CYCLES; i++) {
        save_into(&at[i]);
        debug_rig_say(&r, "cycle");
    }
    for (int i = 0; i < 60; i++) {
        int cycle = (int)rng_below(&g, CYCLES);

        snprintf(command, sizeof(command), "goto %d", cycle);
        debug_rig_say(&r, command);
        assert_int_equal(r.d.cycle, cycle);
        save_into(&here);
        assert_int_equal(here.size, at[cycle].size);
        assert_memory_equal(here.data, at[cycle].data, here.size);
        mem_free(here.data);
        if (i % 7 == 0)
            debug_rig_say(&r, "finish");
    }
    for (int i = 0; i < CYCLES; i++)
        mem_free(at[i].data);
}

TEST(back_undoes_steps)
{
    cycle_t cycle[30];
    int count = 0;

    while (!debug_has_ended(&r.d)) {
        cycle[count++] = r.d.cycle;
        debug_rig_say(&r, "step");
    }
    assert_int_equal(count, 26);
    for (int i = count - 1; i >= 0; i--) {
        debug_rig_say(&r, "back");
        assert_int_equal(r.d.cycle, cycle[i]);
        assert_int_equal(debug_rig_value(&r, "issued"), i);
    }
    debug_rig_say(&r, "step 20");
    debug_rig_say(&r, "back 17");
    assert_int_equal(r.d.cycle, cycle[3]);
    debug_rig_say(&r, "back 100");
    assert_int_equal(r.d.cycle, 0);
}

TEST(run_starts_again_with_memories_as_they_were)
{
    debug_rig_say(&r, "finish");
    assert_int_equal(debug_rig_value(&r, "smem[0x40]"), 40);
    debug_rig_say(&r, "break start");
    SAYS(&r, "run", "breakpoint 1, bundle 0", "core 0 @0");
    assert_int_equal(debug_rig_value(&r, "smem[0x40]"), 0);
    SAYS(&r, "c", "the launch has ended");
    debug_rig_say(&r, "delete");
    debug_rig_say(&r, "break end");
    SAYS(&r, "run", "breakpoint 2, bundle 6");
}

/* thousands of snapshots on the way: they are thinned out, and any cycle is still found */
TEST(a_long_launch_keeps_a_bounded_history)
{
    struct debug_rig f;

    debug_rig_open(&f, "tiny", "{ s0 = smov 400000 }\nloop:\n{ s0 = ssub.s32 s0, 1 }\n"
                               "{ p0 = scmp.gt.s32.totalorder s0, 0 }\n"
                               "{ sbr.rel (p0) target = loop }\n{ s1 = sadd.s32 s1, 1 }\n"
                               "{ shalt }\n", 1);
    debug_rig_say(&f, "until @900000");
    assert_int_equal(f.d.cycle, 900000);
    debug_rig_say(&f, "finish");
    debug_rig_say(&f, "goto 654321");
    assert_int_equal(f.d.cycle, 654321);
    assert_int_equal(debug_rig_value(&f, "s0 + count[loop]"), 400000);
    debug_rig_say(&f, "back 1000");
    debug_rig_say(&f, "step 1000");
    assert_int_equal(debug_rig_value(&f, "s0 + count[loop]"), 400000);
    debug_rig_close(&f);
}

/* whatever is typed, the launch ends as one that nobody looked at */
static void random_command(struct rng *g, char *out, size_t room)
{
    static const char *const word[] = {
        "step", "s 3", "cycle 7", "op", "next vst", "event", "wake", "out", "until loop",
        "until @50", "continue", "c", "finish", "run", "back", "back 4", "goto 30", "goto 0",
        "break loop", "break :8 if s0 == 2", "break op vst", "break flag 3", "break @40",
        "break write vmem 18", "break stall eup", "watch s0", "watch v2", "watch smem 0x40",
        "delete", "delete 2", "display s0", "undisplay", "print v1", "print vm2", "x vmem 16",
        "list", "info stalls", "info fifos", "info dma", "info units", "core 0", "core 1",
        "where", "assert s0 < 9", "help step", "info cores", "info counters", "print s"};

    snprintf(out, room, "%s", word[rng_below(g, COUNT_OF(word))]);
}

TEST(no_session_changes_results_or_cycles)
{
    cycle_t cycles = debug_rig_plain_cycles();
    char command[80];
    struct rng g;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        rng_init(&g, seed);
        for (int i = 0; i < 60; i++) {
            random_command(&g, command, sizeof(command));
            debug_rig_try(&r, command);
        }
        if (!debug_has_ended(&r.d))
            debug_rig_say(&r, "finish");
        if (r.d.cycle != cycles)
            fail_msg("seed %d: ends at cycle %lld, not %lld", (int)seed, (long long)r.d.cycle,
                     (long long)cycles);
        debug_rig_say(&r, "core 0");
        assert_int_equal(debug_rig_value(&r, "smem[0x40]"), 40);
        assert_int_equal(debug_rig_value(&r, "count[loop]"), 4);
        debug_rig_say(&r, "delete");
        debug_rig_say(&r, "goto 0");
    }
}

/* nonsense made of what commands are made of */
TEST(no_line_crashes_it)
{
    static const char *const part[] = {
        "step", "break", "watch", "print", "x", "list", "info", "goto", "until", "back", "if",
        "core", "after", "vmem", "hbm", "smem", "cmem", "write", "read", "flag", "stall", "op",
        "s0", "v1", "vm2", "p0", "loop", "@", ":", "[", "]", "(", ")", ",", "+", "-", "*", "/",
        "0", "1", "7", "0x40", "-1", "99999999999999999999", "9223372036854775807", "f32", "/full",
        "/hex", "#", "==", "&&", "||", "~", "!", "\t", "display", "assert", "echo", "1e400", "nan"};
    char line[400];
    struct rng g;

    rng_init(&g, 77);
    for (int i = 0; i < 6000; i++) {
        size_t used = 0;
        uint32_t count = rng_below(&g, 9);

        line[0] = '\0';
        for (uint32_t j = 0; j < count; j++)
            used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s",
                                     part[rng_below(&g, COUNT_OF(part))],
                                     rng_below(&g, 3) ? " " : "");
        debug_rig_try(&r, line);
        if (i % 100 == 99)
            debug_rig_say(&r, "delete");
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(going_back_finds_the_very_same_state),
        CASE(back_undoes_steps),
        CASE(run_starts_again_with_memories_as_they_were),
        CASE(a_long_launch_keeps_a_bounded_history),
        CASE(no_session_changes_results_or_cycles),
        CASE(no_line_crashes_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
