/*
 * Races with copies under way (--check-races): which accesses meet which
 * copies, which waits end a copy, and what the fault says.
 */
#include "base/rng.h"
#include "base/units.h"
#include "sim/snapshot/snapshot.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

static const struct rig_options checked = {.check_races = true};
static const struct rig_options two_threads = {.check_races = true, .thread_count = 2};

/* `part` NULL: no race */
static void assert_race_on(const char *chip, const char *text, const char *part)
{
    struct rig r;

    rig_open(&r, chip, &checked);
    rig_load(&r, 0, text);
    if (!part) {
        if (rig_run(&r) != 0)
            fail_msg("%s\n%s", text, r.err.msg);
    } else if (!strstr(rig_fault(&r, FAULT_RACE), part)) {
        fail_msg("\"%s\" does not contain \"%s\"", r.err.msg, part);
    }
    rig_close(&r);
}

static void assert_race(const char *text, const char *part)
{
    assert_race_on("v3", text, part);
}

TEST(message_names_both_sites)
{
    assert_race("{ s0 = smov 8 }\n{ dma.hbm_to_vmem 0, 512, 0, [sflag:3] }\n"
                "{ v1 = vld [vmem:s0] }\n{ shalt }",
                "core 0 cycle 2 bundle 2 (line 3): race: vld reads vmem bytes 4096..8191 while "
                "dma.hbm_to_vmem of core 0 cycle 1 bundle 1 (line 2) writes 0..16383: no wait for "
                "its flag 3 has covered it");
}

#define END "{ dma.done.wait [sflag:3], 16 }\n{ vsyncset [sflag:3], 0 }\n{ shalt }"
#define IN "{ dma.hbm_to_vmem 0, 16, 16, [sflag:3] }\n"         /* row 1 */
#define OUT "{ dma.vmem_to_hbm 16, 16, 16, [sflag:3] }\n"

TEST(every_load_and_store_is_held_against_copies)
{
    assert_race(IN "{ v1 = vld [vmem:2] }\n" END, NULL);
    assert_race(IN "{ v1 = vld [vmem:0] }\n" END, "vld reads vmem bytes 0..4095");
    assert_race(IN "{ v1 = vld [vmem:0] sm:$0xfd }\n" END, NULL);
    assert_race(IN "{ v1 = vld [vmem:0] ss:2 }\n" END, NULL);
    assert_race(IN "{ v1 = vld [vmem:1] ss:0 }\n" END, "vld reads vmem bytes 512..1023");
    assert_race(IN "{ vst [vmem:1] sm:$0x1 v1 }\n" END, "vst writes vmem bytes 512..1023");
    assert_race(IN "{ vst.msk [vmem:0] sm:$0x2 vm0, v1 }\n" END, "vst.msk writes");
    assert_race(IN "{ v1 = vld.sshfl [vmem:0] sm:$0xff pattern:$0x76543210 }\n" END,
                "vld.sshfl reads vmem bytes 0..4095");
    assert_race("{ v1 = vlaneseq }\n{ vsetiar.raw.iar1 v1 }\n" IN
                "{ v2 = vld.iar1 [vmem:1] sm:$0x1 }\n" END, "vld.iar1 reads");
    assert_race(OUT "{ v1 = vld [vmem:0] }\n" END, NULL);
    assert_race(OUT "{ vst [vmem:0] v1 }\n" END,
                "vst writes vmem bytes 0..4095 while dma.vmem_to_hbm of core 0 cycle 0 bundle 0 "
                "(line 1) reads 512..1023");
}

TEST(words_of_smem_and_tiles_of_cmem_are_held_against_copies)
{
    static const char in[] = "{ dma.hbm_to_smem 0, 16, 1, [sflag:3] }\n";
    char text[300];

    assert_race("{ dma.hbm_to_smem 0, 16, 1, [sflag:3] }\n{ s1 = sld [smem:28] }\n" END, NULL);
    assert_race("{ dma.hbm_to_smem 0, 16, 1, [sflag:3] }\n{ s1 = sld [smem:32] }\n" END,
                "sld reads smem bytes 32..35");
    assert_race("{ dma.smem_to_hbm 1, 16, 0, [sflag:3] }\n{ s1 = sld [smem:540] }\n" END, NULL);
    assert_race("{ dma.smem_to_hbm 1, 16, 0, [sflag:3] }\n{ sst [smem:540], s1 }\n" END,
                "sst writes smem bytes 540..543");
    snprintf(text, sizeof(text), "%s{ dma.general [smem:480] }\n" END, in);
    assert_race(text, "dma.general reads smem bytes 480..543");
    assert_race_on("v4", "{ dma.hbm_to_cmem 0, 16, 16, [sflag:3] }\n{ cld [cmem:2] }\n"
                   "{ v1 = vpop.crf }\n" END, NULL);
    assert_race_on("v4", "{ dma.hbm_to_cmem 0, 16, 16, [sflag:3] }\n{ cld [cmem:0] }\n"
                   "{ v1 = vpop.crf }\n" END, "cld reads cmem bytes 512..1023");
}

/* the bundle of the issue counts, whatever stands first in it */
TEST(accesses_in_the_bundle_of_the_copy_are_races)
{
    assert_race("{ dma.hbm_to_vmem 0, 16, 16, [sflag:3] ;; v1 = vld [vmem:0] }\n" END, "race: vld");
    assert_race("{ vst [vmem:0] v1 ;; dma.vmem_to_hbm 16, 16, 16, [sflag:3] }\n" END, "race: vst");
    assert_race("{ vst [vmem:0] v1 }\n{ dma.vmem_to_hbm 16, 16, 16, [sflag:3] }\n" END, NULL);
}

TEST(copies_are_held_against_copies)
{
#define BOTH "{ dma.done.wait [sflag:3], 32 }\n{ vsyncset [sflag:3], 0 }\n{ shalt }"
    assert_race(OUT "{ dma.vmem_to_hbm 16, 16, 32, [sflag:3] }\n" BOTH, NULL);
    assert_race(OUT "{ dma.vmem_to_hbm 0, 17, 31, [sflag:3] }\n" BOTH,
                "dma.vmem_to_hbm writes hbm bytes 992..1535 while dma.vmem_to_hbm of core 0 "
                "cycle 0 bundle 0 (line 1) writes 512..1023");
    assert_race(OUT "{ dma.hbm_to_vmem 16, 16, 64, [sflag:3] }\n" BOTH,
                "dma.hbm_to_vmem reads hbm bytes 512..1023");
    assert_race(IN "{ dma.vmem_to_vmem 31, 1, 64, [sflag:3] }\n" BOTH,
                "dma.vmem_to_vmem reads vmem bytes 992..1023");
    assert_race(IN "{ dma.vmem_to_vmem 64, 16, 15, [sflag:3] }\n" BOTH,
                "dma.vmem_to_vmem writes vmem bytes 480..991");
    /* every second granule each */
    assert_race("{ dma.hbm_to_vmem 0, 8, 0, [sflag:3], 1, 2, 1 }\n"
                "{ dma.hbm_to_vmem 0, 8, 15, [sflag:3], 1, -2, 1 }\n"
                "{ dma.done.wait [sflag:3], 16 }\n{ vsyncset [sflag:3], 0 }\n{ shalt }", NULL);
    assert_race("{ dma.hbm_to_vmem 0, 8, 0, [sflag:3], 1, 2, 1 }\n"
                "{ dma.hbm_to_vmem 0, 8, 14, [sflag:3], 1, -2, 1 }\n"
                "{ dma.done.wait [sflag:3], 16 }\n{ vsyncset [sflag:3], 0 }\n{ shalt }",
                "writes vmem bytes 0..31");
}

/* ---- which waits end a copy ---- */

#define LOAD "{ v1 = vld [vmem:0] }\n"
#define CLEAR "{ vwait.ge [sflag:3], 16 }\n{ vsyncset [sflag:3], 0 }\n{ shalt }"

TEST(a_wait_that_needs_the_copy_ends_it)
{
    static const char *const waits[] = {
        "dma.done.wait [sflag:3], 16", "dma.done.wait [sflag:3], 1", "vwait.ge [sflag:3], 16",
        "vwait.eq [sflag:3], 16", "vwait.gt [sflag:3], 0", "vwait.ne [sflag:3], 0",
        "vwait.done [sflag:3], 16"};
    char text[300];

    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        snprintf(text, sizeof(text), "%s{ %s }\n" LOAD CLEAR, IN, waits[i]);
        assert_race(text, NULL);
    }
    assert_race(IN "{ vdelay 2000 }\n{ s1 = vsyncmov [sflag:3] }\n" LOAD CLEAR, NULL);
}

TEST(luck_of_timing_ends_no_copy)
{
    assert_race(IN "{ vdelay 5000 }\n" LOAD CLEAR, "vld reads");
    /* the copy is complete, but these waits and reads do not say so */
    assert_race(IN "{ vdelay 5000 }\n{ vwait.ge [sflag:3], 0 }\n" LOAD CLEAR, "vld reads");
    assert_race(IN "{ vdelay 5000 }\n{ vwait.ne [sflag:3], 17 }\n" LOAD CLEAR, "vld reads");
    assert_race(IN "{ vdelay 5000 }\n{ vwait.le [sflag:3], 16 }\n" LOAD CLEAR, "vld reads");
    assert_race(IN "{ vdelay 5000 }\n{ vwait.ge [sflag:4], 0 }\n" LOAD CLEAR, "vld reads");
    assert_race(IN "{ s1 = vsyncmov [sflag:3] }\n" LOAD CLEAR, "vld reads");
    assert_race(IN "{ vdelay 5000 }\n{ vsyncset [sflag:3], 0 }\n{ vsyncadd [sflag:3], 16 }\n"
                "{ vwait.ge [sflag:3], 16 }\n" LOAD CLEAR, "vld reads");
    assert_race("{ vsyncadd [sflag:3], 16 }\n" IN "{ vwait.ge [sflag:3], 16 }\n" LOAD CLEAR,
                "vld reads");
}

/* of two copies on one flag either may come first */
TEST(a_shared_flag_ends_the_copies_that_the_count_needs)
{
    static const char two[] = "{ dma.hbm_to_vmem 0, 16, 16, [sflag:3] }\n"
                              "{ dma.hbm_to_vmem 32, 32, 0x1000, [sflag:3] }\n{ vdelay 9000 }\n";
    static const struct { const char *wait, *part; } cases[] = {
        {"dma.done.wait [sflag:3], 48", NULL}, {"dma.done.wait [sflag:3], 33", NULL},
        {"dma.done.wait [sflag:3], 32", "vld reads vmem bytes 0..4095"},
        {"dma.done.wait [sflag:3], 16", "vld reads vmem bytes 0..4095"}};
    char text[400];

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        snprintf(text, sizeof(text), "%s{ %s }\n" LOAD CLEAR, two, cases[i].wait);
        assert_race(text, cases[i].part);
    }
    /* 32 needs the second; what is taken away again is needed again */
    snprintf(text, sizeof(text), "%s{ dma.done.wait [sflag:3], 32 }\n{ v1 = vld [vmem:0x100] }\n"
             "{ vsyncadd [sflag:3], -32 }\n{ dma.done.wait [sflag:3], 16 }\n" LOAD CLEAR, two);
    assert_race(text, NULL);
}

/* ---- a second opinion ---- */

enum { ROOM = 160, FLAGS = 4, ROW = 16 }; /* granules of VMEM that take part; copies under way */

struct plain_copy {
    bool is_open;
    bool reads[ROOM], writes[ROOM];
};

static void paint(bool *map, int first, int runs, int stride, int run)
{
    for (int i = 0; i < runs; i++)
        for (int j = 0; j < run; j++)
            map[first + i * stride + j] = true;
}

static bool plain_meets(const struct plain_copy *open, const struct plain_copy *new)
{
    for (int f = 0; f < FLAGS; f++)
        for (int g = 0; open[f].is_open && g < ROOM; g++)
            if ((new->writes[g] && (open[f].reads[g] || open[f].writes[g]))
                || (new->reads[g] && open[f].writes[g]))
                return true;
    return false;
}

static bool random_access(struct rng *g, const struct plain_copy *open, char *line, size_t room)
{
    int row = (int)rng_below(g, ROOM / ROW);
    struct plain_copy new = {.is_open = true};
    bool is_write = rng_below(g, 2);

    paint(is_write ? new.writes : new.reads, row * ROW, 1, 0, ROW);
    snprintf(line, room, is_write ? "{ vst [vmem:%d] sm:$0x1 v0 }\n"
                                  : "{ v0 = vld [vmem:%d] sm:$0x1 }\n", row);
    return plain_meets(open, &new);
}

/* up to three runs, forwards or backwards; a room of its own in HBM for each flag */
static bool random_copy(struct rng *g, struct plain_copy *open, int flag, char *line, size_t room)
{
    int run = 1 + (int)rng_below(g, 3), runs = 1 + (int)rng_below(g, 3);
    int stride = run + (int)rng_below(g, 4), first = (int)rng_below(g, ROOM - 14);
    struct plain_copy new = {.is_open = true};
    bool is_write = rng_below(g, 2), is_race;

    paint(is_write ? new.writes : new.reads, first, runs, stride, run);
    if (rng_below(g, 2)) {
        first += (runs - 1) * stride;
        stride = -stride;
    }
    if (is_write)
        snprintf(line, room, "{ dma.hbm_to_vmem %d, %d, %d, [sflag:%d], 8, %d, %d }\n",
                 1000 * flag, runs * run, first, flag, stride, run);
    else
        snprintf(line, room, "{ dma.vmem_to_hbm %d, %d, %d, [sflag:%d], %d, 8, %d }\n",
                 first, runs * run, 1000 * flag, flag, stride, run);
    is_race = plain_meets(open, &new);
    open[flag] = new;
    return is_race;
}

static void wait_for(struct plain_copy *open, int flag, char *line, size_t room)
{
    snprintf(line, room, "{ dma.done.wait [sflag:%d], 1 }\n{ vsyncset [sflag:%d], 0 }\n", flag,
             flag);
    open[flag].is_open = false;
}

/* lines until one is a race, or twelve; the number of that line, 0 for none */
static uint32_t random_program(struct rng *g, char *text, size_t room)
{
    struct plain_copy open[FLAGS] = {{.is_open = false}};
    uint32_t line = 0;
    char *at = text;

    for (int i = 0; i < 12; i++, at += strlen(at)) {
        int flag = (int)rng_below(g, FLAGS);
        size_t left = room - (size_t)(at - text);
        bool is_race = false;

        line++;
        if (rng_below(g, 3) == 0)
            is_race = random_access(g, open, at, left);
        else if (!open[flag].is_open)
            is_race = random_copy(g, open, flag, at, left);
        else
            wait_for(open, flag, at, left), line++;
        if (is_race)
            return line;
    }
    for (int flag = 0; flag < FLAGS; flag++, at += strlen(at)) {
        *at = '\0';
        if (open[flag].is_open)
            wait_for(open, flag, at, room - (size_t)(at - text));
    }
    return 0;
}

TEST(random_copies_race_where_a_map_of_granules_says_so)
{
    const int count = getenv("SYSTOLE_LONG") ? 20000 : 400;
    int races = 0;
    struct rig r;

    rig_open(&r, "v3", &checked);
    for (int seed = 1; seed <= count; seed++) {
        char text[4000];
        struct rng g;
        uint32_t line;

        rng_init(&g, (uint64_t)seed);
        line = random_program(&g, text, sizeof(text) - 20);
        strcat(text, "{ shalt }\n");
        rig_load(&r, 0, text);
        if ((rig_run(&r) != 0) != (line > 0) || machine_fault(r.m)->line != line)
            fail_msg("seed %d: line %u instead of %u: %s\n%s", seed,
                     (unsigned)machine_fault(r.m)->line, (unsigned)line, r.err.msg, text);
        races += line > 0;
    }
    assert_in_range(races, count / 4, count * 19 / 20);
    rig_close(&r);
}

/* ---- several cores ---- */

#define PUSH "{ dma.vmem_to_vmem.remote 0, 16, 16, [sflag:3], [sflag:4], 1 }\n"
#define SENT "{ dma.done.wait [sflag:4], 16 }\n{ vsyncadd [sflag:4], -16 }\n"
#define ARRIVED "{ dma.done.wait [sflag:3], 16 }\n{ vsyncadd [sflag:3], -16 }\n"

static void assert_pair(const char *first, const char *second, const char *part)
{
    static const struct rig_options *const options[] = {&checked, &two_threads};
    char told[2][400];

    for (size_t i = 0; i < COUNT_OF(options); i++) {
        struct rig r;

        rig_open(&r, "v3", options[i]);
        rig_load(&r, 0, first);
        rig_load(&r, 1, second);
        if (part && !strstr(rig_fault(&r, FAULT_RACE), part))
            fail_msg("\"%s\" does not contain \"%s\"", r.err.msg, part);
        if (!part && rig_run(&r) != 0)
            fail_msg("%s", r.err.msg);
        memcpy(told[i], machine_fault(r.m)->msg, sizeof(told[i]));
        rig_close(&r);
    }
    assert_string_equal(told[0], told[1]);
}

TEST(sender_may_not_write_before_the_source_has_left)
{
    assert_pair(PUSH "{ vst [vmem:0] sm:$0x1 v0 }\n" SENT "{ shalt }", ARRIVED "{ shalt }",
                "core 0 cycle 1 bundle 1 (line 2): race: vst writes vmem bytes 0..511 while "
                "dma.vmem_to_vmem.remote of core 0 cycle 0 bundle 0 (line 1) reads 0..511: no "
                "wait for its flag 4");
    assert_pair(PUSH "{ v1 = vld [vmem:0] }\n" SENT "{ vst [vmem:0] sm:$0x1 v0 }\n{ shalt }",
                ARRIVED "{ shalt }", NULL);
}

TEST(receiver_may_not_touch_before_the_arrival)
{
    assert_pair(PUSH SENT "{ shalt }", "{ vdelay 9000 }\n{ v1 = vld [vmem:0] }\n" ARRIVED
                "{ shalt }",
                "core 1 cycle 9001 bundle 1 (line 2): race: vld reads vmem bytes 0..4095 while "
                "dma.vmem_to_vmem.remote of core 0 cycle 0 bundle 0 (line 1) writes 512..1023: "
                "no wait for its flag 3");
    assert_pair(PUSH SENT "{ shalt }", ARRIVED "{ v1 = vld [vmem:0] }\n{ shalt }", NULL);
}

/* the host has run the receiver to its end before the sender's copy is looked at */
TEST(receiver_that_ran_ahead_is_found)
{
    static const char loop[] =
        "{ s0 = smov 0 }\nagain:\n{ s0 = sadd.s32 s0, 1 }\n"
        "{ p1 = scmp.lt.s32.totalorder s0, 500 ;; v1 = vld [vmem:1] sm:$0x1 }\n"
        "{ sbr.rel (p1) target = again }\n{}\n" ARRIVED "{ shalt }";

    assert_pair("{ vdelay 1000 }\n" PUSH SENT "{ shalt }", loop,
                "bundle 2 (line 4): race: vld reads vmem bytes 512..1023 while "
                "dma.vmem_to_vmem.remote of core 0 cycle 1001 bundle 1 (line 2) writes");
    /* before the issue there was nothing to meet */
    assert_pair("{ vdelay 9000 }\n" PUSH SENT "{ shalt }", loop, NULL);
}

TEST(copies_of_two_cores_are_held_against_each_other)
{
    assert_pair(PUSH SENT "{ shalt }",
                "{ vdelay 50 }\n{ dma.vmem_to_hbm 16, 16, 0, [sflag:5] }\n"
                "{ dma.done.wait [sflag:5], 16 }\n{ vsyncadd [sflag:5], -16 }\n"
                ARRIVED "{ shalt }",
                "core 1 cycle 51 bundle 1 (line 2): race: dma.vmem_to_hbm reads vmem bytes "
                "512..1023 while dma.vmem_to_vmem.remote of core 0 cycle 0");
    assert_pair("{ vdelay 50 }\n" PUSH SENT "{ shalt }",
                "{ dma.vmem_to_hbm 16, 16, 0, [sflag:5] }\n"
                "{ dma.done.wait [sflag:5], 16 }\n{ vsyncadd [sflag:5], -16 }\n"
                ARRIVED "{ shalt }",
                "core 0 cycle 51 bundle 1 (line 2): race: dma.vmem_to_vmem.remote writes vmem "
                "bytes 512..1023 while dma.vmem_to_hbm of core 1 cycle 0");
    /* also the shares of HBM */
    assert_pair("{ vdelay 50 }\n{ dma.vmem_to_hbm.remote 0, 16, 8, [sflag:3], [sflag:4], 1 }\n"
                SENT "{ shalt }",
                "{ dma.vmem_to_hbm 16, 16, 0, [sflag:5] }\n"
                "{ dma.done.wait [sflag:5], 16 }\n{ vsyncadd [sflag:5], -16 }\n"
                ARRIVED "{ shalt }",
                "dma.vmem_to_hbm.remote writes hbm bytes 256..767 while dma.vmem_to_hbm of core 1");
}

/* with one flag for all of them: the second takes the way of the first */
TEST(copies_sent_one_after_the_other_arrive_in_this_order)
{
#define PUSH_NEXT "{ dma.vmem_to_vmem.remote 0, 16, 0x1000, [sflag:3], [sflag:4], 1 }\n"
    static const char receiver[] =
        "{ vdelay 9000 }\n" ARRIVED "{ v1 = vld [vmem:0] }\n" ARRIVED "{ v1 = vld [vmem:0x100] }\n"
        "{ shalt }";

    assert_pair(PUSH SENT PUSH_NEXT SENT "{ shalt }", receiver, NULL);
    assert_pair(PUSH PUSH_NEXT SENT SENT "{ shalt }", receiver, "core 1 cycle 9003 bundle 3");
}

/* core 1 sends back what it got: the source has been read, though core 0 has not waited */
TEST(what_has_arrived_has_been_read)
{
    static const char back[] =
        "{ dma.vmem_to_vmem.remote 32, 16, 0, [sflag:5], [sflag:6], 0 }\n"
        "{ dma.done.wait [sflag:6], 16 }\n{ vsyncadd [sflag:6], -16 }\n";
    static const char first[] = PUSH "{ dma.done.wait [sflag:5], 16 }\n"
                                "{ vsyncadd [sflag:5], -16 }\n"
                                SENT "{ shalt }";
    char second[400];

    snprintf(second, sizeof(second), ARRIVED "%s{ shalt }", back);
    assert_pair(first, second, NULL);
    snprintf(second, sizeof(second), "{ vdelay 900 }\n%s" ARRIVED "{ shalt }", back);
    assert_pair(first, second, "core 1 cycle 901 bundle 1 (line 2): race: "
                "dma.vmem_to_vmem.remote writes vmem bytes 0..511 while ");
}

static void open_pair(struct rig *r, const char *first, const char *second)
{
    rig_open(r, "v3", &checked);
    rig_load(r, 0, first);
    rig_load(r, 1, second);
}

/* the receiver reads row 1 all the time; from a pause on, another machine finds it too */
TEST(pauses_and_snapshots_change_no_finding)
{
    static const char first[] = "{ vdelay 100 }\n{ dma.vmem_to_hbm 0, 16, 0, [sflag:4] }\n" SENT
                                "{ vdelay 1000 }\n" PUSH SENT "{ shalt }";
    static const char second[] = "{ s0 = smov 0 }\nagain:\n{ s0 = sadd.s32 s0, 1 }\n"
                                 "{ p1 = scmp.lt.s32.totalorder s0, 900 ;; "
                                 "v1 = vld [vmem:1] sm:$0x1 }\n"
                                 "{ sbr.rel (p1) target = again }\n{}\n" ARRIVED "{ shalt }";
    struct rig whole, paused, other;

    open_pair(&whole, first, second);
    rig_fault(&whole, FAULT_RACE);
    for (cycle_t at = 0; at < 3000; at += 157) {
        struct bytes snapshot = {0};
        struct err e;

        open_pair(&paused, first, second);
        open_pair(&other, first, second);
        machine_start(paused.m);
        machine_advance(paused.m, at);
        machine_save(paused.m, &snapshot);
        if (machine_restore(other.m, snapshot.data, snapshot.size, &e))
            fail_msg("%s", e.msg);
        machine_advance(paused.m, CYCLE_NEVER);
        machine_advance(other.m, CYCLE_NEVER);
        assert_string_equal(machine_fault(paused.m)->msg, machine_fault(whole.m)->msg);
        assert_string_equal(machine_fault(other.m)->msg, machine_fault(whole.m)->msg);
        mem_free(snapshot.data);
        rig_close(&paused);
        rig_close(&other);
    }
    rig_close(&whole);
}

TEST(a_launch_forgets_the_copies_of_the_last)
{
    struct rig r;

    rig_open(&r, "v3", &checked);
    rig_load(&r, 0, IN LOAD CLEAR);
    rig_fault(&r, FAULT_RACE);
    rig_load(&r, 0, LOAD "{ shalt }");
    assert_int_equal(rig_run(&r), 0);
    rig_close(&r);
}

/* the same cycles and counters as without */
TEST(the_check_changes_no_cycle)
{
    static const char text[] = IN "{ vdelay 7 }\n{ dma.done.wait [sflag:3], 16 }\n" LOAD CLEAR;
    cycle_t cycles[2];

    for (int i = 0; i < 2; i++) {
        struct rig r;

        rig_open(&r, "v3", i ? &checked : NULL);
        cycles[i] = rig_cycles(&r, text);
        rig_close(&r);
    }
    assert_int_equal(cycles[0], cycles[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_names_both_sites),
        cmocka_unit_test(every_load_and_store_is_held_against_copies),
        cmocka_unit_test(words_of_smem_and_tiles_of_cmem_are_held_against_copies),
        cmocka_unit_test(accesses_in_the_bundle_of_the_copy_are_races),
        cmocka_unit_test(copies_are_held_against_copies),
        cmocka_unit_test(a_wait_that_needs_the_copy_ends_it),
        cmocka_unit_test(luck_of_timing_ends_no_copy),
        cmocka_unit_test(a_shared_flag_ends_the_copies_that_the_count_needs),
        cmocka_unit_test(random_copies_race_where_a_map_of_granules_says_so),
        cmocka_unit_test(sender_may_not_write_before_the_source_has_left),
        cmocka_unit_test(receiver_may_not_touch_before_the_arrival),
        cmocka_unit_test(receiver_that_ran_ahead_is_found),
        cmocka_unit_test(copies_of_two_cores_are_held_against_each_other),
        cmocka_unit_test(copies_sent_one_after_the_other_arrive_in_this_order),
        cmocka_unit_test(what_has_arrived_has_been_read),
        cmocka_unit_test(pauses_and_snapshots_change_no_finding),
        cmocka_unit_test(a_launch_forgets_the_copies_of_the_last),
        cmocka_unit_test(the_check_changes_no_cycle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
