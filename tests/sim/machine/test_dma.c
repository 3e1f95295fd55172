/*
 * Copies between every pair of memories, in up to four dimensions: contents
 * against plain loops, times against the rates of a chip, mistakes by field.
 */
#include "base/rng.h"
#include "base/units.h"
#include "sim/time/clock.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

enum { HBM, VMEM, SMEM, CMEM };

#define GRANULE 32
#define CMEM_BYTES (1 << 20)            /* of the chip; a core has half */

static const struct rig_options with_cmem = {
    .set = {"cmem.read_gbps=64", "cmem.write_gbps=32", "cmem.latency_ns=100", "cmem.bytes=1048576"},
};
static const struct rig_options wide_hbm = {.set = {"hbm.gib=256"}};
static const struct rig_options threads = {.thread_count = 4};

static void fill(uint32_t *words, size_t count, uint64_t seed)
{
    struct rng r;

    rng_init(&r, seed);
    for (size_t i = 0; i < count; i++)
        words[i] = (uint32_t)rng_below(&r, 0xffffffffu);
}

static void put_hbm(struct rig *r, int core, int64_t granule, const void *from, int64_t granules)
{
    struct err e;

    assert_int_equal(machine_hbm_write(r->m, core, granule * GRANULE, from, granules * GRANULE,
                                       &e), 0);
}

static void get_hbm(struct rig *r, int core, int64_t granule, void *to, int64_t granules)
{
    struct err e;

    assert_int_equal(machine_hbm_read(r->m, core, granule * GRANULE, to, granules * GRANULE, &e),
                     0);
}

/* the copy, a wait for it, and the flag back to 0 */
static int copy_text(char *text, size_t room, const char *copy, int granules)
{
    return snprintf(text, room, "{ %s }\n{ dma.done.wait [sflag:0], %d }\n"
                    "{ vsyncadd [sflag:0], %d }\n", copy, granules, -granules);
}

TEST(every_pair_of_memories_can_be_copied)
{
    /* 16 granules from HBM at 0 go around and come back to HBM at 4096 */
    static const char *const tours[][6] = {
        {"hbm_to_vmem 0, 16, 64", "vmem_to_hbm 64, 16, 4096"},
        {"hbm_to_smem 0, 16, 8", "smem_to_hbm 8, 16, 4096"},
        {"hbm_to_hbm 0, 16, 4096"},
        {"hbm_to_vmem 0, 16, 64", "vmem_to_vmem 64, 16, 80", "vmem_to_hbm 80, 16, 4096"},
        {"hbm_to_vmem 0, 16, 64", "vmem_to_smem 64, 16, 5", "smem_to_vmem 5, 16, 128",
         "vmem_to_hbm 128, 16, 4096"},
        {"hbm_to_cmem 0, 16, 16000", "cmem_to_hbm 16000, 16, 4096"},
        {"hbm_to_cmem 0, 16, 3", "cmem_to_vmem 3, 16, 64", "vmem_to_cmem 64, 16, 99",
         "cmem_to_hbm 99, 16, 4096"},
    };
    uint32_t words[128], back[128];

    fill(words, 128, 1);
    for (size_t i = 0; i < COUNT_OF(tours); i++) {
        char text[2048], copy[100];
        int length = 0;
        struct rig r;

        rig_open(&r, "v3", &with_cmem);
        put_hbm(&r, 0, 0, words, 16);
        for (int j = 0; j < 6 && tours[i][j]; j++) {
            snprintf(copy, sizeof(copy), "dma.%s, [sflag:0]", tours[i][j]);
            length += copy_text(text + length, sizeof(text) - (size_t)length, copy, 16);
        }
        snprintf(text + length, sizeof(text) - (size_t)length, "{ shalt }");
        rig_cycles(&r, text);
        get_hbm(&r, 0, 4096, back, 16);
        assert_memory_equal(words, back, sizeof(words));
        rig_close(&r);
    }
}

TEST(strides_work_between_all_memories)
{
    uint32_t words[64 * 8], back[16 * 8];
    struct rig r;

    rig_open(&r, "v3", NULL);
    fill(words, COUNT_OF(words), 2);
    put_hbm(&r, 0, 0, words, 64);
    /* every fourth granule to SMEM, packed; every second one back to HBM, reversed */
    rig_cycles(&r, "{ dma.hbm_to_smem 0, 16, 0, [sflag:0], 4, 1, 1 }\n"
                   "{ dma.done.wait [sflag:0], 16 }\n{ vsyncadd [sflag:0], -16 }\n"
                   "{ dma.smem_to_hbm 0, 8, 1007, [sflag:0], 2, -1, 1 }\n"
                   "{ dma.done.wait [sflag:0], 8 }\n{ vsyncadd [sflag:0], -8 }\n{ shalt }");
    get_hbm(&r, 0, 1000, back, 8);
    for (int i = 0; i < 8; i++)
        assert_memory_equal(back + 8 * (7 - i), words + 8 * (8 * i), GRANULE);
    rig_close(&r);
}

/* cycles of 8192 granules from HBM with these strides, or none */
static cycle_t strided_cycles(struct rig *r, const char *strides)
{
    char text[400];

    snprintf(text, sizeof(text), "{ dma.hbm_to_vmem 0, 8192, 0, [sflag:0]%s }\n"
             "{ dma.done.wait [sflag:0], 8192 }\n{ vsyncadd [sflag:0], -8192 }\n{ shalt }",
             strides);
    return rig_cycles(r, text);
}

TEST(strides_that_touch_cost_what_one_run_costs)
{
    struct rig r;
    cycle_t plain;

    rig_open(&r, "v3", NULL);
    plain = strided_cycles(&r, "");
    assert_int_equal(strided_cycles(&r, ", 8, 8, 8"), plain);
    assert_int_equal(strided_cycles(&r, ", 0, 0, 0"), plain);
    assert_int_equal(strided_cycles(&r, ", 3, 3, 8192"), plain);
    /* single granules 16 KiB apart crowd on few rows and banks */
    assert_true(strided_cycles(&r, ", 512, 1, 1") > 2 * plain);
    rig_close(&r);
}

static cycle_t copy_cycles(struct rig *r, const char *copy, int granules)
{
    char text[400];
    int length = copy_text(text, sizeof(text), copy, granules);

    snprintf(text + length, sizeof(text) - (size_t)length, "{ shalt }");
    return rig_cycles(r, text);
}

static cycle_t cycles_at(const struct rig *r, int64_t ns)
{
    return clock_cycle_at(r->chip.chip_clock_mhz, ns * 1000) + r->chip.sync_resume_cycles + 3;
}

/*
 * 4096 granules from VMEM to VMEM at 64 GB/s, 100 ns: a run takes whole vectors of 512 bytes on
 * the side that has more of them, so that rows of 512 bytes are as good as one run.
 */
TEST(runs_take_whole_vectors_of_the_engine)
{
    static const struct rig_options slow = {.set = {"dma.local_gbps=64"}};
    static const struct { const char *strides; int64_t vectors; } cases[] = {
        {"", 256}, {", 32, 32, 16", 256}, {", 48, 32, 32", 256}, {", 16, 16, 8", 512},
        {", 8, 16, 8", 512}, {", 16, 8, 8", 512}, {", 34, 34, 17", 481}, {", 2, 1, 1", 4096}};
    struct rig r;

    rig_open(&r, "v3", &slow);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char copy[120];

        snprintf(copy, sizeof(copy), "dma.vmem_to_vmem 0, 4096, 65536, [sflag:0]%s",
                 cases[i].strides);
        assert_int_equal(copy_cycles(&r, copy, 4096),
                         cycles_at(&r, cases[i].vectors * 8 + 100));
    }
    rig_close(&r);
}

/*
 * The same of copies to the other core, at 64 GB/s of the sender's engine, over a link that is
 * never in the way: 4096 granules in runs of `run`, `from` and `to` apart.
 */
TEST(runs_of_remote_copies_take_whole_vectors_too)
{
    static const struct rig_options slow = {.set = {"dma.core_gbps=64", "dma.peer_gbps=100000"}};
    static const struct { int32_t run, from, to; int64_t vectors; } cases[] = {
        {4096, 0, 0, 256}, {16, 32, 16, 256}, {16, 16, 48, 256}, {8, 16, 8, 512}, {8, 8, 16, 512},
        {32, 40, 40, 256}, {1, 2, 1, 4096}, {1, 1, 1, 256}};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int32_t word[16] = {VMEM | VMEM << 4 | 0x100, 0, 262144, cases[i].run,
                            4096 / cases[i].run, cases[i].from, cases[i].to, 1, 0, 0, 1, 0, 0,
                            3, 4, 1};
        struct rig r;
        struct err e;

        rig_open(&r, "v3", &slow);
        assert_int_equal(machine_smem_write(r.m, 0, 64, word, 64, &e), 0);
        rig_load(&r, 0, "{ dma.general [smem:64] }\n{ dma.done.wait [sflag:4], 4096 }\n"
                        "{ vsyncadd [sflag:4], -4096 }\n{ shalt }");
        rig_load(&r, 1, "{ dma.done.wait [sflag:3], 4096 }\n{ vsyncadd [sflag:3], -4096 }\n"
                        "{ shalt }");
        if (rig_run(&r))
            fail_msg("%s", r.err.msg);
        assert_int_equal(machine_cycles(r.m), cycles_at(&r, cases[i].vectors * 8 + 200));
        rig_close(&r);
    }
}

TEST(hbm_addresses_have_no_sign)
{
    uint32_t words[32], back[32];
    struct rig r;

    rig_open(&r, "v3", &wide_hbm);
    fill(words, 32, 3);
    put_hbm(&r, 0, 0xfffffff0, words, 4);
    rig_cycles(&r, "{ s0 = smov 0xfffffff0 }\n{ dma.hbm_to_vmem s0, 4, 0, [sflag:0] }\n"
                   "{ dma.done.wait [sflag:0], 4 }\n{ vsyncadd [sflag:0], -4 }\n"
                   "{ dma.vmem_to_hbm 0, 4, 0xfffffffc, [sflag:0] }\n"
                   "{ dma.done.wait [sflag:0], 4 }\n{ vsyncadd [sflag:0], -4 }\n{ shalt }");
    get_hbm(&r, 0, 0xfffffffc, back, 4);
    assert_memory_equal(words, back, sizeof(words));
    rig_load(&r, 0, "{ dma.hbm_to_vmem 0xfffffff0, 17, 0, [sflag:0] }\n{ shalt }");
    assert_int_equal(rig_run(&r), -1);
    assert_non_null(strstr(r.err.msg, "hbm source granules 4294967280..4294967296 out of "
                                      "0..4294967295 in dma.hbm_to_vmem"));
    rig_close(&r);
}

/* word[16] to SMEM at 64, a dma.general of it on core 0, and what it moves waited for */
static void load_general(struct rig *r, const int32_t *word, int granules)
{
    char text[400];
    struct err e;
    int length;

    assert_int_equal(machine_smem_write(r->m, 0, 64, word, 64, &e), 0);
    length = copy_text(text, sizeof(text), "dma.general [smem:64]", granules);
    snprintf(text + length, sizeof(text) - (size_t)length, "{ shalt }");
    rig_load(r, 0, text);
}

/* the same copy in plain loops over arrays of granules */
static void copy_loops(const int32_t *word, uint32_t (*from)[8], uint32_t (*to)[8])
{
    for (int k = 0; k < word[10]; k++)
        for (int j = 0; j < word[7]; j++)
            for (int i = 0; i < word[4]; i++)
                for (int g = 0; g < word[3]; g++)
                    memcpy(to[word[2] + k * word[12] + j * word[9] + i * word[6] + g],
                           from[word[1] + k * word[11] + j * word[8] + i * word[5] + g], GRANULE);
}

#define FROM_GRANULES 4096
#define TO_GRANULES 1024

/* sizes, any strides in the source, strides in the destination that leave gaps */
static int random_descriptor(struct rng *r, int32_t *word)
{
    int size;

    memset(word, 0, 64);
    word[3] = 1 + (int32_t)rng_below(r, 5);
    size = word[3];
    for (int level = 0; level < 3; level++) {
        int32_t *l = word + 4 + 3 * level;
        int32_t inner = level == 0 ? word[3] : l[-1] * l[-3];

        l[0] = 1 + (int32_t)rng_below(r, 4);
        l[1] = (int32_t)rng_below(r, 300) - 150;
        l[2] = inner + (int32_t)rng_below(r, 2);
        size *= l[0];
    }
    word[1] = 2000;
    word[2] = (int32_t)rng_below(r, 5);
    return size;
}

TEST(four_dimensions_match_plain_loops)
{
    static uint32_t from[FROM_GRANULES][8], to[TO_GRANULES][8], back[TO_GRANULES][8];
    struct rng random;
    struct rig r;

    rng_init(&random, 4);
    rig_open(&r, "v3", &with_cmem);
    for (int round = 0; round < 60; round++) {
        int32_t word[16];
        int size = random_descriptor(&random, word), destination = round % 2 ? VMEM : HBM;
        struct err e;

        memset(to, 0, sizeof(to));
        fill(&from[0][0], sizeof(from) / 4, (uint64_t)round);
        copy_loops(word, from, to);
        memset(back, 0, sizeof(back));
        word[0] = HBM | destination << 4;
        if (destination == HBM)
            word[2] += FROM_GRANULES;
        put_hbm(&r, 0, 0, from, FROM_GRANULES);
        put_hbm(&r, 0, FROM_GRANULES, back, TO_GRANULES);
        assert_int_equal(machine_vmem_write(r.m, 0, 0, back, sizeof(back), &e), 0);
        load_general(&r, word, size);
        if (rig_run(&r))
            fail_msg("%s", r.err.msg);
        if (destination == HBM)
            get_hbm(&r, 0, FROM_GRANULES, back, TO_GRANULES);
        else
            assert_int_equal(machine_vmem_read(r.m, 0, 0, back, sizeof(back), &e), 0);
        assert_memory_equal(to, back, sizeof(to));
    }
    rig_close(&r);
}

/* 2 granules from HBM 0 to VMEM 0, flag 0 */
static const int32_t plain_descriptor[16] = {
    [0] = HBM | VMEM << 4, [3] = 2, [4] = 1, [7] = 1, [10] = 1,
};

TEST(every_field_of_a_descriptor_is_checked)
{
    static const struct { int index; int32_t value; const char *part; } cases[] = {
        {0, 5, "dma.general: the source space is 5; 0..4 is needed"},
        {0, 0x60, "dma.general: the destination space is 6; 0..4 is needed"},
        {0, 0x210, "dma.general: the rest of word 0 is 1; 0 is needed"},
        {0, 0x102, "dma.general: a space of a remote copy is 2; 0 or 1 is needed"},
        {0, 0x130, "dma.general: a space of a remote copy is 3; 0 or 1 is needed"},
        {0, 0x140, "dma.general: a space of a remote copy is 4; 0 or 1 is needed"},
        {0, 0x104, "dma.general: a space of a remote copy is 4; 0 or 1 is needed"},
        {0, 0x13, "dma.general: the chip has no cmem"},
        {1, -1, "hbm source granules 4294967295..4294967296 out of 0.."},
        {2, -1, "vmem destination granules -1..0 out of 0..524287 in dma.general"},
        {3, 0, "dma.general: the run is 0; at least 1 is needed"},
        {4, 0, "dma.general: the count of level 1 is 0; at least 1 is needed"},
        {7, -5, "dma.general: the count of level 2 is -5; at least 1 is needed"},
        {10, 0, "dma.general: the count of level 3 is 0; at least 1 is needed"},
        {10, 1 << 30, "the size up to a level is 2147483648; at most 2147483647 granules"},
        {13, 1024, "sync flag 1024 out of 0..1023 in dma.general"},
        {14, 1, "dma.general: the source flag of a copy that is not remote is 1; 0 is needed"},
        {15, 1, "dma.general: the core of a copy that is not remote is 1; 0 is needed"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int32_t word[16];
        struct rig r;

        memcpy(word, plain_descriptor, sizeof(word));
        word[cases[i].index] = cases[i].value;
        rig_open(&r, "v3", NULL);
        load_general(&r, word, 2);
        assert_int_equal(rig_run(&r), -1);
        assert_ptr_equal(strstr(r.err.msg, "core 0 cycle 0 bundle 0 (line 1): "), r.err.msg);
        if (!strstr(r.err.msg, cases[i].part))
            fail_msg("\"%s\" does not contain \"%s\"", r.err.msg, cases[i].part);
        rig_close(&r);
    }
}

TEST(levels_that_leave_a_memory_are_named_with_their_whole_span)
{
    int32_t word[16];
    struct rig r;

    memcpy(word, plain_descriptor, sizeof(word));
    word[4] = 3;
    word[6] = 200000;                   /* 0, 200000, 400000, and 300000 more for round 1 */
    word[7] = 2;
    word[9] = 300000;
    rig_open(&r, "v3", NULL);
    load_general(&r, word, 12);
    assert_int_equal(rig_run(&r), -1);
    assert_non_null(strstr(r.err.msg, "vmem destination granules 0..700001 out of 0..524287"));
    word[6] = -1;
    load_general(&r, word, 12);
    assert_int_equal(rig_run(&r), -1);
    assert_non_null(strstr(r.err.msg, "vmem destination granules -2..300001 out of 0..524287"));
    rig_close(&r);
}

TEST(mistakes_of_a_copy_name_the_numbers)
{
    assert_fault("{ dma.vmem_to_vmem 16, 8, 20, [sflag:0] }\n{ shalt }", FAULT_ADDRESS,
                 "vmem source granules 16..23 overlap the destination 20..27 in dma.vmem_to_vmem");
    assert_fault("{ dma.hbm_to_hbm 16, 8, 9, [sflag:0] }\n{ shalt }", FAULT_ADDRESS,
                 "hbm source granules 16..23 overlap the destination 9..16 in dma.hbm_to_hbm");
    assert_fault("{ dma.vmem_to_vmem.remote 16, 8, 20, [sflag:0], [sflag:1], 0 }\n{ shalt }",
                 FAULT_ADDRESS, "vmem source granules 16..23 overlap the destination 20..27");
    assert_fault("{ s0 = smov -3 }\n{ dma.hbm_to_vmem 0, 8, 0, [sflag:0], 1, 1, s0 }\n{ shalt }",
                 FAULT_OPERATION, "dma.hbm_to_vmem of 8 granules in runs of -3; at least 1");
    assert_fault("{ dma.hbm_to_hbm.remote 0, 8, 0, [sflag:0], [sflag:1], 2 }\n{ shalt }",
                 FAULT_ADDRESS, "core 2 out of 0..1 in dma.hbm_to_hbm.remote");
    assert_fault("{ s0 = smov 2 }\n{ dma.general [smem:s0] }\n{ shalt }", FAULT_ADDRESS,
                 "smem address 2 of a descriptor out of 0..16320, multiples of 4, in dma.general");
    assert_fault("{ dma.general [smem:16324] }\n{ shalt }", FAULT_ADDRESS,
                 "smem address 16324 of a descriptor out of 0..16320");
}

/* cycles of core 0 to the end of a copy of `granules` granules, issued at cycle 0 */
TEST(cmem_copies_take_its_rate_and_latency)
{
    struct rig r;

    rig_open(&r, "v3", &with_cmem);
    /* 32 KiB: 512 ns at 64 GB/s, 1024 ns at 32 GB/s, and 100 ns */
    assert_int_equal(copy_cycles(&r, "dma.cmem_to_vmem 0, 1024, 0, [sflag:0]", 1024),
                     cycles_at(&r, 612));
    assert_true(rig_stall(&r, 0, STALL_CMEM) > 0);
    assert_int_equal(rig_stall(&r, 0, STALL_HBM), 0);
    assert_int_equal(copy_cycles(&r, "dma.vmem_to_cmem 0, 1024, 0, [sflag:0]", 1024),
                     cycles_at(&r, 1124));
    /* from HBM the slower of the two */
    assert_int_equal(copy_cycles(&r, "dma.hbm_to_cmem 0, 1024, 0, [sflag:0]", 1024),
                     cycles_at(&r, 1024 + r.chip.dma_read_ns));
    assert_int_equal(machine_counters(r.m, 0)->hbm_read_bytes, 32768);
    assert_int_equal(machine_counters(r.m, 0)->cmem_write_bytes, 32768);
    assert_int_equal(machine_counters(r.m, 0)->cmem_read_bytes, 0);
    rig_close(&r);
}

TEST(cores_of_a_chip_share_the_rate_of_cmem)
{
    const char *copy = "{ dma.cmem_to_vmem 0, 1024, 0, [sflag:0] }\n"
                       "{ dma.done.wait [sflag:0], 1024 }\n{ vsyncadd [sflag:0], -1024 }\n"
                       "{ shalt }";
    struct rig r;

    rig_open(&r, "v3", &with_cmem);
    rig_load(&r, 0, copy);
    rig_load(&r, 1, copy);
    assert_int_equal(rig_run(&r), 0);
    assert_int_equal(machine_cycles(r.m), cycles_at(&r, 1124));
    rig_close(&r);
}

TEST(cmem_shares_of_cores_are_apart)
{
    uint32_t words[8] = {1, 2, 3, 4, 5, 6, 7, 8}, back[8] = {9};
    struct rig r;

    rig_open(&r, "v3", &with_cmem);
    put_hbm(&r, 0, 0, words, 1);
    copy_cycles(&r, "dma.hbm_to_cmem 0, 1, 0, [sflag:0]", 1);
    rig_load(&r, 0, "{ shalt }");
    rig_load(&r, 1, "{ dma.cmem_to_hbm 0, 1, 0, [sflag:0] }\n{ dma.done.wait [sflag:0], 1 }\n"
                    "{ vsyncadd [sflag:0], -1 }\n{ shalt }");
    assert_int_equal(rig_run(&r), 0);
    get_hbm(&r, 1, 0, back, 1);
    for (int i = 0; i < 8; i++)
        assert_int_equal(back[i], 0);
    rig_load(&r, 1, "{ shalt }");
    rig_load(&r, 0, "{ dma.cmem_to_vmem 16383, 2, 0, [sflag:0] }\n{ shalt }");
    assert_int_equal(rig_run(&r), -1);
    assert_non_null(strstr(r.err.msg, "cmem source granules 16383..16384 out of 0..16383"));
    rig_close(&r);
}

TEST(copy_inside_the_hbm_reads_and_writes_it)
{
    struct rig r;
    cycle_t in, both;

    rig_open(&r, "v3", NULL);
    in = copy_cycles(&r, "dma.hbm_to_vmem 0, 1024, 0, [sflag:0]", 1024);
    both = copy_cycles(&r, "dma.hbm_to_hbm 0, 1024, 8192, [sflag:0]", 1024);
    assert_true(both > in);
    assert_int_equal(machine_counters(r.m, 0)->hbm_read_bytes, 32768);
    assert_int_equal(machine_counters(r.m, 0)->hbm_write_bytes, 32768);
    assert_int_equal(machine_hbm_stats(r.m, 0)->read_bytes, 32768);
    assert_int_equal(machine_hbm_stats(r.m, 0)->write_bytes, 32768);
    assert_true(rig_stall(&r, 0, STALL_HBM) > 0);
    rig_close(&r);
}

/* core 0 brings 256 granules into its VMEM, pushes `way` to core 5, which saves its VMEM */
static cycle_t run_push(struct rig *r, const char *way, const uint32_t *words, uint32_t *back)
{
    bool is_vmem = strstr(way, "to_vmem") != NULL;
    char text[600];

    put_hbm(r, 0, 0, words, 256);
    snprintf(text, sizeof(text), "{ dma.hbm_to_vmem 0, 256, 0, [sflag:0] }\n"
             "{ dma.done.wait [sflag:0], 256 }\n{ vsyncadd [sflag:0], -256 }\n"
             "{ dma.%s.remote 0, 256, 512, [sflag:3], [sflag:4], 5 }\n"
             "{ dma.done.wait [sflag:4], 256 }\n{ vsyncadd [sflag:4], -256 }\n{ shalt }", way);
    rig_load(r, 0, text);
    snprintf(text, sizeof(text), "{ dma.done.wait [sflag:3], 256 }\n{ vsyncadd [sflag:3], -256 }\n"
             "{ dma.%s 512, 256, 1024, [sflag:0] }\n{ dma.done.wait [sflag:0], 256 }\n"
             "{ vsyncadd [sflag:0], -256 }\n{ shalt }", is_vmem ? "vmem_to_hbm" : "hbm_to_hbm");
    rig_load(r, 5, text);
    if (rig_run(r))
        fail_msg("%s", r->err.msg);
    get_hbm(r, 5, 1024, back, 256);
    return machine_cycles(r->m);
}

TEST(remote_pushes_reach_the_memories_of_another_core)
{
    /* the HBM is far enough away to be seen at its boundary */
    static const struct rig_options slow = {.set = {"dma.read_ns=450", "dma.write_ns=450"}};
    struct rig_options slow_threads = slow;
    static const char *const ways[] = {"vmem_to_vmem", "vmem_to_hbm", "hbm_to_vmem", "hbm_to_hbm"};
    uint32_t words[256 * 8], back[256 * 8];
    cycle_t first = 0;

    slow_threads.thread_count = threads.thread_count;
    fill(words, COUNT_OF(words), 5);
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        struct rig r;
        cycle_t cycles;

        rig_open(&r, "v3-8", &slow);
        memset(back, 0, sizeof(back));
        cycles = run_push(&r, ways[i], words, back);
        assert_memory_equal(words, back, sizeof(words));
        assert_true(rig_stall(&r, 5, STALL_ICI) > 0);
        assert_int_equal(machine_counters(r.m, 0)->ici_sent_bytes, 8192);
        assert_int_equal(machine_counters(r.m, 5)->ici_received_bytes, 8192);
        assert_int_equal(machine_counters(r.m, 5)->hbm_write_bytes,
                         strstr(ways[i], "to_hbm") ? 16384 : 8192);
        assert_int_equal(machine_counters(r.m, 0)->hbm_read_bytes,
                         strncmp(ways[i], "hbm", 3) == 0 ? 16384 : 8192);
        first = i == 0 ? cycles : first;
        assert_true(i == 0 || cycles > first);      /* an HBM on the way takes longer */
        rig_close(&r);
        rig_open(&r, "v3-8", &slow_threads);
        assert_int_equal(run_push(&r, ways[i], words, back), cycles);
        rig_close(&r);
    }
}

/* pages of an HBM on their way to core 5, which core 0 writes over as soon as they have begun */
static void push_pages(const char *way, int from, int to, int granules)
{
    size_t bytes = (size_t)granules * GRANULE;
    uint32_t *words = malloc(bytes), *back = malloc(bytes);
    bool is_vmem = strcmp(way, "hbm_to_vmem") == 0;
    char text[500];
    struct rig r;
    struct err e;

    assert_true(words && back);
    fill(words, bytes / sizeof(*words), 7);
    rig_open(&r, "v3-8", NULL);
    put_hbm(&r, 0, from, words, granules);
    snprintf(text, sizeof(text), "{ dma.%s.remote %d, %d, %d, [sflag:1], [sflag:0], 5 }\n"
             "{ dma.vmem_to_hbm 0, %d, %d, [sflag:2] }\n"
             "{ dma.done.wait [sflag:0], %d }\n{ vsyncadd [sflag:0], -%d }\n"
             "{ dma.done.wait [sflag:2], %d }\n{ vsyncadd [sflag:2], -%d }\n{ shalt }",
             way, from, granules, to, granules, from, granules, granules, granules, granules);
    rig_load(&r, 0, text);
    snprintf(text, sizeof(text), "{ dma.done.wait [sflag:1], %d }\n{ vsyncadd [sflag:1], -%d }\n"
             "{ shalt }", granules, granules);
    rig_load(&r, 5, text);
    if (rig_run(&r))
        fail_msg("%s", r.err.msg);
    if (is_vmem)
        assert_int_equal(machine_vmem_read(r.m, 5, (int64_t)to * GRANULE, back, (int64_t)bytes,
                                           &e), 0);
    else
        get_hbm(&r, 5, to, back, granules);
    assert_memory_equal(back, words, bytes);
    get_hbm(&r, 0, from, back, granules);
    assert_int_equal(back[0] | back[bytes / sizeof(*back) - 1], 0);
    rig_close(&r);
    free(words);
    free(back);
}

TEST(pages_arrive_as_they_were_when_they_were_sent)
{
    push_pages("hbm_to_hbm", 5, 5 + 2 * 65536 / GRANULE, 6000);     /* page for page */
    push_pages("hbm_to_hbm", 5, 6007, 6000);
    push_pages("hbm_to_vmem", 2047, 1, 6000);
    push_pages("hbm_to_vmem", 0, 48, 4096);
    push_pages("hbm_to_hbm", 0, 3, 4095);       /* too short to go as pages */
}

TEST(descriptor_may_be_a_remote_strided_push)
{
    static uint32_t from[FROM_GRANULES][8], to[TO_GRANULES][8], back[TO_GRANULES][8];
    int32_t word[16] = {VMEM | HBM << 4 | 0x100, 3, 7, 2, 4, 5, 2, 3, 40, 30, 1, 0, 0, 2, 4, 3};
    struct rig r;
    struct err e;

    fill(&from[0][0], sizeof(from) / 4, 6);
    memset(to, 0, sizeof(to));
    copy_loops(word, from, to);
    rig_open(&r, "v3-8", NULL);
    assert_int_equal(machine_vmem_write(r.m, 0, 0, from, sizeof(from), &e), 0);
    assert_int_equal(machine_smem_write(r.m, 0, 64, word, 64, &e), 0);
    rig_load(&r, 0, "{ dma.general [smem:64] }\n{ dma.done.wait [sflag:4], 24 }\n"
                    "{ vsyncadd [sflag:4], -24 }\n{ shalt }");
    rig_load(&r, 3, "{ dma.done.wait [sflag:2], 24 }\n{ vsyncadd [sflag:2], -24 }\n{ shalt }");
    if (rig_run(&r))
        fail_msg("%s", r.err.msg);
    get_hbm(&r, 3, 0, back, TO_GRANULES);
    assert_memory_equal(to, back, sizeof(to));
    rig_close(&r);
}

TEST(descriptor_of_one_run_takes_as_long_as_the_plain_copy)
{
    int32_t word[16];
    struct rig r;
    cycle_t plain;

    memcpy(word, plain_descriptor, sizeof(word));
    word[3] = 16;                       /* 64 touching runs of 16 granules */
    word[4] = 64;
    word[5] = word[6] = 16;
    rig_open(&r, "v3", NULL);
    plain = copy_cycles(&r, "dma.hbm_to_vmem 0, 1024, 0, [sflag:0]", 1024);
    load_general(&r, word, 1024);
    if (rig_run(&r))
        fail_msg("%s", r.err.msg);
    assert_int_equal(machine_cycles(r.m), plain);
    rig_close(&r);
}

/* eight cores of four chips: CMEM filled, pushed on to the next core, read back by cld */
static void run_eight(struct rig *r, cycle_t *stalls, uint32_t (*rows)[128])
{
    char text[900];

    for (int core = 0; core < 8; core++) {
        uint32_t words[1024];
        struct err e;

        fill(words, 1024, (uint64_t)core);
        put_hbm(r, core, 0, words, 128);
        snprintf(text, sizeof(text), "{ dma.hbm_to_cmem 0, 128, 16, [sflag:0] }\n"
                 "{ dma.hbm_to_hbm.remote 0, 128, 256, [sflag:1], [sflag:2], %d }\n"
                 "{ dma.done.wait [sflag:0], 128 }\n{ vsyncadd [sflag:0], -128 }\n"
                 "{ dma.done.wait [sflag:1], 128 }\n{ vsyncadd [sflag:1], -128 }\n"
                 "{ dma.done.wait [sflag:2], 128 }\n{ vsyncadd [sflag:2], -128 }\n"
                 "{ dma.hbm_to_vmem 256, 128, 0, [sflag:0] ;; cld [cmem:1] }\n"
                 "{ dma.done.wait [sflag:0], 128 }\n{ vsyncadd [sflag:0], -128 }\n"
                 "{ v1 = vpop.crf }\n{ v2 = vld [vmem:0] }\n{ v1 = vxor.u32 v1, v2 }\n"
                 "{ vst [vmem:64] v1 }\n{ shalt }", (core + 1) % 8);
        rig_load(r, core, text);
        assert_int_equal(machine_vmem_write(r->m, core, 0, words, 4096, &e), 0);
    }
    if (rig_run(r))
        fail_msg("%s", r->err.msg);
    for (int core = 0; core < 8; core++) {
        struct err e;

        stalls[core] = rig_stall(r, core, STALL_ICI) * 100000 + rig_stall(r, core, STALL_HBM);
        assert_int_equal(machine_vmem_read(r->m, core, 64 * 512, rows[core], 512, &e), 0);
    }
}

TEST(host_threads_change_neither_contents_nor_waits)
{
    uint32_t rows[2][8][128];
    cycle_t stalls[2][8], cycles[2];

    for (int i = 0; i < 2; i++) {
        struct rig r;

        rig_open(&r, "v4-8", i ? &threads : NULL);
        run_eight(&r, stalls[i], rows[i]);
        cycles[i] = machine_cycles(r.m);
        rig_close(&r);
    }
    assert_int_equal(cycles[0], cycles[1]);
    assert_memory_equal(stalls[0], stalls[1], sizeof(stalls[0]));
    assert_memory_equal(rows[0], rows[1], sizeof(rows[0]));
    for (int core = 0; core < 8; core++) {
        uint32_t own[128], other[128];

        fill(own, 128, (uint64_t)core);
        fill(other, 128, (uint64_t)(core + 7) % 8);
        for (int j = 0; j < 128; j++)
            assert_int_equal(rows[0][core][j], own[j] ^ other[j]);
    }
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(every_pair_of_memories_can_be_copied),
        T(strides_work_between_all_memories),
        T(strides_that_touch_cost_what_one_run_costs), T(runs_take_whole_vectors_of_the_engine),
        T(runs_of_remote_copies_take_whole_vectors_too),
        T(hbm_addresses_have_no_sign),
        T(four_dimensions_match_plain_loops),
        T(every_field_of_a_descriptor_is_checked),
        T(levels_that_leave_a_memory_are_named_with_their_whole_span),
        T(mistakes_of_a_copy_name_the_numbers),
        T(cmem_copies_take_its_rate_and_latency),
        T(cores_of_a_chip_share_the_rate_of_cmem),
        T(cmem_shares_of_cores_are_apart),
        T(copy_inside_the_hbm_reads_and_writes_it),
        T(remote_pushes_reach_the_memories_of_another_core),
        T(pages_arrive_as_they_were_when_they_were_sent),
        T(descriptor_may_be_a_remote_strided_push),
        T(descriptor_of_one_run_takes_as_long_as_the_plain_copy),
        T(host_threads_change_neither_contents_nor_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
