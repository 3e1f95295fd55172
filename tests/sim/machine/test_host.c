/*
 * Copies from and to the host's memory: contents, times against the rate of the
 * link and the fixed parts, what timing mode knows, mistakes.
 */
#include "base/units.h"
#include "sim/time/clock.h"
#include "sim/observe/inspect.h"
#include "tests/rigs/host_memory.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

#define GRANULE 32
#define END(granules) "{ dma.done.wait [sflag:0], " #granules " }\n" \
                      "{ vsyncadd [sflag:0], -" #granules " }\n"

static const struct rig_options timing = {.mode = MODE_TIMING};
static const struct rig_options functional = {.mode = MODE_FUNCTIONAL};
static const struct rig_options small_window = {.set = {"host.window_bytes=65536"}};
static const struct rig_options two_chunks = {.set = {"host.staging_bytes=8192"}};

static void fill(uint32_t *words, int count, uint32_t first)
{
    for (int i = 0; i < count; i++)
        words[i] = first + 0x9e3779b9u * (uint32_t)i;
}

static void put_host(struct rig *r, int core, int64_t granule, const void *from, int granules)
{
    host_memory_write(r->m, core, granule * GRANULE, from, granules * GRANULE);
}

/* out of the window of core 0: what arrived at granule `granule` */
static void assert_host(struct rig *r, int64_t granule, const uint32_t *words, int granules)
{
    uint32_t back[256];
    struct err e;

    assert_int_equal(machine_host_read(r->m, 0, granule * GRANULE, back, granules * GRANULE, &e),
                     0);
    assert_memory_equal(back, words, (size_t)(granules * GRANULE));
}

static void tour(const struct rig_options *o)
{
    static const char text[] =
        "{ dma.host_to_hbm 0x10, 16, 0x100, [sflag:0] }\n" END(16)
        "{ dma.hbm_to_host 0x100, 16, 0x40, [sflag:0] }\n" END(16)
        "{ dma.host_to_vmem 0x40, 16, 0x80, [sflag:0], 2, 4, 1 }\n" END(16)
        "{ dma.vmem_to_host 0x80, 16, 0x200, [sflag:0], 4, 3, 1 }\n" END(16) "{ shalt }";
    uint32_t words[128];
    struct rig r;

    rig_open(&r, "v3", o);
    fill(words, 128, 5);
    put_host(&r, 0, 0x10, words, 16);
    rig_cycles(&r, text);
    assert_host(&r, 0x40, words, 16);
    for (int i = 0; i < 8; i++)         /* of what was copied the even granules, 3 apart */
        assert_host(&r, 0x200 + 3 * i, words + 2 * i * 8, 1);
    assert_int_equal(machine_counters(r.m, 0)->host_read_bytes, 2 * 16 * GRANULE);
    assert_int_equal(machine_counters(r.m, 0)->host_write_bytes, 2 * 16 * GRANULE);
    assert_int_equal(machine_counters(r.m, 0)->hbm_read_bytes, 16 * GRANULE);
    assert_int_equal(machine_counters(r.m, 0)->hbm_write_bytes, 16 * GRANULE);
    rig_close(&r);
}

TEST(bytes_go_to_the_host_and_back)
{
    tour(NULL);
    tour(&functional);
}

/* spaces 0..4 are HBM, VMEM, SMEM, CMEM, host: every pair with the host, by descriptor */
TEST(descriptors_reach_the_host_from_every_memory)
{
    for (int32_t space = 0; space < 5; space++) {
        int32_t in[16] = {4 | space << 4, 0x10, 0x20, 4, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0};
        int32_t out[16] = {space | 4 << 4, 0x20, 0x60, 1, 4, 1, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0};
        uint32_t words[32];
        struct rig r;
        struct err e;

        rig_open(&r, "v4", NULL);
        fill(words, 32, (uint32_t)space);
        put_host(&r, 0, 0x10, words, 4);
        assert_int_equal(machine_smem_write(r.m, 0, 64, in, sizeof(in), &e), 0);
        assert_int_equal(machine_smem_write(r.m, 0, 128, out, sizeof(out), &e), 0);
        rig_cycles(&r, "{ dma.general [smem:64] }\n" END(4) "{ dma.general [smem:128] }\n" END(4)
                       "{ shalt }");
        for (int i = 0; i < 4; i++)
            assert_host(&r, 0x60 + 2 * i, words + 8 * i, 1);
        rig_close(&r);
    }
}

TEST(windows_of_cores_are_apart)
{
    uint32_t mine[8], theirs[8];
    struct rig r;

    rig_open(&r, "v3", NULL);
    fill(mine, 8, 1);
    fill(theirs, 8, 2);
    put_host(&r, 0, 0, mine, 1);
    put_host(&r, 1, 0, theirs, 1);
    rig_load(&r, 1, "{ dma.host_to_vmem 0, 1, 0, [sflag:0] }\n" END(1)
                    "{ dma.vmem_to_host 0, 1, 1, [sflag:0] }\n" END(1) "{ shalt }");
    assert_int_equal(rig_run(&r), 0);
    assert_host(&r, 0, mine, 1);
    memset(mine, 0, sizeof(mine));
    assert_host(&r, 1, mine, 1);
    rig_close(&r);
}

static cycle_t cycles_at(const struct rig *r, int64_t ns)
{
    return clock_cycle_at(r->chip.chip_clock_mhz, ns * 1000) + r->chip.sync_resume_cycles + 3;
}

/* 32 KiB at 16 GB/s take 2048 ns, and 1000 until the last byte is there */
TEST(host_copies_take_the_rate_of_the_link_and_its_latency)
{
    struct rig r;

    rig_open(&r, "v3", NULL);
    assert_int_equal(rig_cycles(&r, "{ dma.host_to_vmem 0, 1024, 0, [sflag:0] }\n" END(1024)
                                    "{ shalt }"), cycles_at(&r, 3048));
    assert_int_equal(rig_stall(&r, 0, STALL_HBM), 0);
    assert_int_equal(rig_cycles(&r, "{ dma.vmem_to_host 0, 1024, 0, [sflag:0] }\n" END(1024)
                                    "{ shalt }"), cycles_at(&r, 3048));
    assert_int_equal(rig_cycles(&r, "{ dma.host_to_hbm 0, 1024, 0, [sflag:0] }\n" END(1024)
                                    "{ shalt }"), cycles_at(&r, 3048 + r.chip.dma_write_ns));
    assert_true(rig_stall(&r, 0, STALL_HBM) > 0);
    assert_int_equal(rig_cycles(&r, "{ dma.hbm_to_host 0, 1024, 0, [sflag:0] }\n" END(1024)
                                    "{ shalt }"), cycles_at(&r, 3048 + r.chip.dma_read_ns));
    /* a long one streams */
    assert_int_equal(rig_cycles(&r, "{ dma.host_to_vmem 0, 32768, 0, [sflag:0] }\n" END(32768)
                                    "{ shalt }"), cycles_at(&r, 65536 + 1000));
    assert_int_equal(machine_counters(r.m, 0)->dma_staging_cycles, 0);
    rig_close(&r);
}

static cycle_t two_cores(struct rig *r, const char *first, const char *second)
{
    rig_load(r, 0, first);
    rig_load(r, 1, second);
    assert_int_equal(rig_run(r), 0);
    return machine_cycles(r->m);
}

TEST(cores_of_a_chip_share_the_link_in_each_direction)
{
    static const char in[] = "{ dma.host_to_vmem 0, 1024, 0, [sflag:0] }\n" END(1024) "{ shalt }";
    static const char out[] = "{ dma.vmem_to_host 0, 1024, 0, [sflag:0] }\n" END(1024) "{ shalt }";
    struct rig r;

    rig_open(&r, "v3-8", NULL);         /* four chips */
    assert_int_equal(two_cores(&r, in, in), cycles_at(&r, 2 * 2048 + 1000));
    assert_int_equal(two_cores(&r, in, out), cycles_at(&r, 2048 + 1000));
    assert_int_equal(two_cores(&r, out, out), cycles_at(&r, 2 * 2048 + 1000));
    rig_load(&r, 1, "{ shalt }");
    rig_load(&r, 2, out);               /* the other chip has a link of its own */
    assert_int_equal(rig_run(&r), 0);
    assert_int_equal(machine_cycles(r.m), cycles_at(&r, 2048 + 1000));
    rig_close(&r);
}

/* Two chunks of 256 ns, each there 1000 ns behind its end: two every 1256 ns, 256 of the last. */
TEST(chunks_of_host_copies_wait_for_room)
{
    struct rig r;

    rig_open(&r, "v3", &two_chunks);
    assert_int_equal(rig_cycles(&r, "{ dma.host_to_vmem 0, 1024, 0, [sflag:0] }\n" END(1024)
                                    "{ shalt }"), cycles_at(&r, 4 * 1256 + 256));
    assert_int_equal(machine_counters(r.m, 0)->dma_staging_cycles,
                     clock_cycle_at(r.chip.chip_clock_mhz, 3 * (1256 - 512) * 1000));
    rig_close(&r);
}

/* a copy to the host does not hold up one from HBM that comes behind it */
TEST(host_and_hbm_have_ports_of_their_own)
{
    static const char alone[] = "{ dma.hbm_to_vmem 0, 1024, 0, [sflag:1] }\n"
                                "{ dma.done.wait [sflag:1], 1024 }\n"
                                "{ vsyncadd [sflag:1], -1024 }\n{ shalt }";
    struct rig r;
    cycle_t plain;

    rig_open(&r, "v3", NULL);
    plain = rig_cycles(&r, alone);
    rig_cycles(&r, "{ dma.vmem_to_host 0x10000, 1024, 0, [sflag:0] }\n"
                   "{ dma.hbm_to_vmem 0, 1024, 0, [sflag:1] }\n"
                   "{ dma.done.wait [sflag:1], 1024 }\n{ vsyncadd [sflag:1], -1024 }\n" END(1024)
                   "{ shalt }");
    assert_int_equal(rig_stall(&r, 0, STALL_HBM) + rig_stall(&r, 0, STALL_DMA_QUEUE),
                     plain - 4 - r.chip.sync_resume_cycles);
    rig_close(&r);
}

TEST(timing_mode_knows_what_came_from_the_host)
{
    int32_t word = 1234;
    struct rig r;

    rig_open(&r, "v3", &timing);
    host_memory_write(r.m, 0, 64 * GRANULE, &word, 4);
    rig_cycles(&r, "{ dma.host_to_hbm 64, 1, 0, [sflag:0] }\n" END(1)
                   "{ dma.hbm_to_smem 0, 1, 8, [sflag:0] }\n" END(1)
                   "{ s1 = sld [smem:256] }\n{ s1 = sadd.s32 s1, 1 }\n{ sst [smem:288], s1 }\n"
                   "{ sfence }\n{ dma.smem_to_hbm 9, 1, 1, [sflag:0] }\n" END(1)
                   "{ dma.hbm_to_host 1, 1, 65, [sflag:0] }\n" END(1) "{ shalt }");
    assert_int_equal(machine_host_read(r.m, 0, 65 * GRANULE, &word, 4, &r.err), 0);
    assert_int_equal(word, 1235);
    rig_close(&r);
}

TEST(timing_mode_does_not_know_what_vectors_left_at_the_host)
{
    static const char text[] =
        "{ dma.vmem_to_host 0, 16, 0x10, [sflag:0] }\n" END(16)
        "{ dma.host_to_hbm 0x12, 2, 0x40, [sflag:0] }\n" END(2)
        "{ dma.host_to_hbm 0x100, 1, 0x41, [sflag:0] }\n" END(1)
        "{ dma.hbm_to_host 0x40, 2, 0x16, [sflag:0] }\n" END(2) "{ shalt }";
    char bytes[64];
    struct rig r;

    rig_open(&r, "v3", &timing);
    rig_cycles(&r, text);
    assert_int_equal(machine_host_read(r.m, 0, 0x10 * GRANULE, bytes, 1, &r.err), -1);
    assert_string_equal(r.err.msg, "core 0: timing mode does not work out host bytes 512..735; "
                        "use --mode both");
    assert_int_equal(machine_host_read(r.m, 0, 0x17 * GRANULE, bytes, GRANULE, &r.err), 0);
    assert_int_equal(machine_host_read(r.m, 0, 0x18 * GRANULE, bytes, 1, &r.err), -1);
    assert_int_equal(machine_hbm_read(r.m, 0, 0x40 * GRANULE, bytes, 1, &r.err), -1);
    assert_int_equal(machine_hbm_read(r.m, 0, 0x41 * GRANULE, bytes, GRANULE, &r.err), 0);
    host_memory_write(r.m, 0, 0x18 * GRANULE, bytes, 8);
    assert_int_equal(machine_host_read(r.m, 0, 0x18 * GRANULE, bytes, 8, &r.err), 0);
    rig_close(&r);
}

TEST(unknown_bytes_of_the_host_do_not_reach_scalars)
{
    const int32_t word[16] = {4 | 2 << 4, 0x10, 32, 1, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0};
    struct rig r;

    rig_open(&r, "v3", &timing);
    assert_int_equal(machine_smem_write(r.m, 0, 64, word, sizeof(word), &r.err), 0);
    rig_load(&r, 0, "{ dma.vmem_to_host 0, 16, 0x10, [sflag:0] }\n" END(16)
                    "{ dma.general [smem:64] }\n" END(1) "{ shalt }");
    assert_non_null(strstr(rig_fault(&r, FAULT_UNKNOWN),
                           "bundle 3 (line 4): dma.general needs host bytes 512..1023, written "
                           "from vectors, which timing mode does not work out"));
    rig_close(&r);
}

/* what comes from the host may be another number the next time */
TEST(launches_that_depend_on_the_host_are_not_repeated)
{
    static const char text[] =
        "{ dma.general [smem:64] }\n" END(1) "{ s1 = sld [smem:1024] }\n"
        "{ sst [smem:1088], s1 }\n{ sfence }\n{ shalt }";
    const int32_t descriptor[16] = {4 | 2 << 4, 0, 32, 1, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0};
    struct rig r;
    struct err e;

    rig_open(&r, "v3", &timing);
    assert_int_equal(machine_smem_write(r.m, 0, 64, descriptor, sizeof(descriptor), &e), 0);
    rig_load(&r, 0, text);
    for (int32_t i = 1; i < 4; i++) {
        int32_t word = 100 * i;

        host_memory_write(r.m, 0, 0, &word, 4);
        assert_int_equal(rig_run(&r), 0);
        assert_int_equal(machine_smem_read(r.m, 0, 1088, &word, 4, &e), 0);
        assert_int_equal(word, 100 * i);
    }
    assert_int_equal(machine_memo_stats(r.m).launches, 0);
    rig_close(&r);
}

TEST(mistakes_of_host_copies_name_the_numbers)
{
    static const struct { const char *text, *part; } cases[] = {
        {"{ }\n{ dma.host_to_vmem 2040, 16, 0, [sflag:0] }\n{ shalt }",
         "bundle 1 (line 2): host source granules 2040..2055 out of 0..2047 in dma.host_to_vmem"},
        {"{ s0 = smov -1 }\n{ dma.vmem_to_host 0, 1, s0, [sflag:0] }\n{ shalt }",
         "host destination granules 4294967295..4294967295 out of 0..2047 in dma.vmem_to_host"},
        {"{ s0 = smov 0 }\n{ dma.hbm_to_host 0, s0, 0, [sflag:0] }\n{ shalt }",
         "(line 2): dma.hbm_to_host of 0 granules in runs of 0; at least 1 is needed"},
    };
    const int32_t onto_itself[16] = {4 | 4 << 4, 0, 8, 16, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0};
    struct rig r;
    char byte = 0;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        rig_open(&r, "v3", &small_window);
        rig_load(&r, 0, cases[i].text);
        if (!strstr(rig_fault(&r, i < 2 ? FAULT_ADDRESS : FAULT_OPERATION), cases[i].part))
            fail_msg("\"%s\" does not contain \"%s\"", r.err.msg, cases[i].part);
        rig_close(&r);
    }
    rig_open(&r, "v3", &small_window);
    assert_int_equal(machine_smem_write(r.m, 0, 64, onto_itself, 64, &r.err), 0);
    rig_load(&r, 0, "{ dma.general [smem:64] }\n{ shalt }");
    assert_non_null(strstr(rig_fault(&r, FAULT_ADDRESS), "host source granules 0..15 overlap the "
                           "destination 8..23 in dma.general"));
    assert_int_equal(machine_host_read(r.m, 0, 65536, &byte, 1, &r.err), -1);
    assert_string_equal(r.err.msg, "core 0: host bytes 65536..65536 out of 0..65535");
    assert_int_equal(machine_host_read(r.m, 2, 0, &byte, 1, &r.err), -1);
    assert_string_equal(r.err.msg, "core 2 out of 0..1");
    rig_close(&r);
}

TEST(races_with_host_copies_are_told)
{
    static const struct rig_options checked = {.check_races = true};
    struct rig r;

    rig_open(&r, "v3", &checked);
    rig_load(&r, 0, "{ dma.vmem_to_host 0, 16, 0, [sflag:0] }\n"
                    "{ dma.host_to_hbm 8, 16, 0, [sflag:1] }\n{ shalt }");
    assert_non_null(strstr(rig_fault(&r, FAULT_RACE), "race: dma.host_to_hbm reads host bytes "
                           "256..767 while dma.vmem_to_host of core 0 cycle 0 bundle 0 (line 1) "
                           "writes 0..511"));
    rig_close(&r);
}

TEST(trace_and_inspection_show_the_host)
{
    static const struct rig_options traced = {.trace = true};
    const struct trace_dma *d;
    uint32_t words[8], back[8];
    struct rig r;

    rig_open(&r, "v3", &traced);
    fill(words, 8, 9);
    put_host(&r, 0, 3, words, 1);
    rig_cycles(&r, "{ dma.host_to_hbm 3, 1, 5, [sflag:0] }\n" END(1) "{ shalt }");
    assert_int_equal(r.log.core[0].dma_count, 1);
    d = r.log.core[0].dma;
    assert_int_equal(d->code, OP_DMA_HOST_HBM);
    assert_int_equal(d->source_space, MEMORY_HOST);
    assert_int_equal(d->source_address, 3 * GRANULE);
    assert_string_equal(memory_name(MEMORY_HOST), "host");
    assert_int_equal(machine_memory_bytes(r.m, MEMORY_HOST), r.chip.host_window_bytes);
    assert_int_equal(machine_memory_read(r.m, 0, MEMORY_HOST, 3 * GRANULE, back, 32, &r.err), 0);
    assert_memory_equal(words, back, 32);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_go_to_the_host_and_back),
        cmocka_unit_test(descriptors_reach_the_host_from_every_memory),
        cmocka_unit_test(windows_of_cores_are_apart),
        cmocka_unit_test(host_copies_take_the_rate_of_the_link_and_its_latency),
        cmocka_unit_test(cores_of_a_chip_share_the_link_in_each_direction),
        cmocka_unit_test(chunks_of_host_copies_wait_for_room),
        cmocka_unit_test(host_and_hbm_have_ports_of_their_own),
        cmocka_unit_test(timing_mode_knows_what_came_from_the_host),
        cmocka_unit_test(timing_mode_does_not_know_what_vectors_left_at_the_host),
        cmocka_unit_test(unknown_bytes_of_the_host_do_not_reach_scalars),
        cmocka_unit_test(launches_that_depend_on_the_host_are_not_repeated),
        cmocka_unit_test(mistakes_of_host_copies_name_the_numbers),
        cmocka_unit_test(races_with_host_copies_are_told),
        cmocka_unit_test(trace_and_inspection_show_the_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
