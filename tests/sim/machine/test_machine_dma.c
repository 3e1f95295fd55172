/*
 * Sync flags and DMA: when they finish, whom a wait is charged to, what they
 * move.
 */
#include "sim/time/clock.h"
#include "sim/observe/inspect.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

static const struct rig_options small_queue = {.set = {"dma.queue_depth=1"}};
static const struct rig_options slow_issue = {.set = {"dma.issue_cycles=4"}};
static const struct rig_options narrow_port = {.set = {"dma.core_gbps=10", "dma.read_ns=0"}};
static const struct rig_options traced = {.trace = true};

static void with(const struct rig_options *o, const char *slice, struct rig *r)
{
    rig_open(r, slice, o);
}

/* the instant the HBM of a v3 has delivered `bytes` from 0 on, asked for chunk by chunk */
static ps_t hbm_time(const struct rig *r, int64_t bytes, bool is_write)
{
    const struct chip *c = &r->chip;
    struct hbm_config config = chip_hbm_config(c, 1 << 30);
    struct hbm *h = hbm_create(&config);
    ps_t at = 0, last = 0;
    int64_t done;

    for (done = 0; done < bytes; done += c->dma_chunk_bytes) {
        ps_t data = hbm_access(h, at, done, c->dma_chunk_bytes, is_write);

        at += (ps_t)((double)c->dma_chunk_bytes * 1000 / c->dma_core_gbps + 0.5);
        last = data > last ? data : last;
        last = at > last ? at : last;
    }
    hbm_destroy(h);
    return last;
}

/* bundles: dma at 0, wait at 1, shalt; the wait issues `resume` cycles after the edge */
static cycle_t expected_cycles(const struct rig *r, ps_t complete_ps)
{
    return clock_cycle_at(r->chip.chip_clock_mhz, complete_ps) + r->chip.sync_resume_cycles + 3;
}

TEST(copy_from_hbm_ends_with_its_last_chunk_and_the_fixed_part)
{
    struct rig r;
    cycle_t expected;

    with(NULL, "v3", &r);
    expected = expected_cycles(&r, hbm_time(&r, 4 * 4096, false) + r.chip.dma_read_ns * 1000);
    assert_int_equal(rig_cycles(&r, "{ dma.hbm_to_vmem 0, 512, 0, [sflag:0] }\n"
                                    "{ dma.done.wait [sflag:0], 512 }\n"
                                    "{ vsyncadd [sflag:0], -512 }\n{ shalt }"), expected);
    assert_int_equal(rig_stall(&r, 0, STALL_SYNC), r.chip.sync_resume_cycles);
    assert_int_equal(rig_stall(&r, 0, STALL_HBM), expected - 4 - r.chip.sync_resume_cycles);
    assert_int_equal(machine_counters(r.m, 0)->hbm_read_bytes, 4 * 4096);
    assert_int_equal(machine_counters(r.m, 0)->dma_count, 1);
    assert_int_equal(rig_unit(&r, 0, "dma")->busy_cycles,
                     expected - 3 - r.chip.sync_resume_cycles);
    rig_close(&r);
}

TEST(copy_to_hbm_ends_with_its_last_chunk_and_the_fixed_part)
{
    struct rig r;
    cycle_t expected;

    with(NULL, "v3", &r);
    expected = expected_cycles(&r, hbm_time(&r, 2 * 4096, true) + r.chip.dma_write_ns * 1000);
    assert_int_equal(rig_cycles(&r, "{ dma.vmem_to_hbm 0, 256, 0, [sflag:0] }\n"
                                    "{ dma.done.wait [sflag:0], 256 }\n"
                                    "{ vsyncadd [sflag:0], -256 }\n{ shalt }"), expected);
    assert_int_equal(machine_counters(r.m, 0)->hbm_write_bytes, 2 * 4096);
    rig_close(&r);
}

TEST(port_of_a_core_bounds_its_rate)
{
    struct rig r;

    with(&narrow_port, "v3", &r);
    /* 32 KiB at 10 GB/s take 3276.8 ns */
    assert_int_equal(rig_cycles(&r, "{ dma.hbm_to_vmem 0, 512, 0, [sflag:0] }\n"
                                    "{ dma.hbm_to_vmem 512, 512, 512, [sflag:0] }\n"
                                    "{ dma.done.wait [sflag:0], 1024 }\n"
                                    "{ vsyncadd [sflag:0], -1024 }\n{ shalt }"),
                     clock_cycle_at(940, 8 * 409600) + 7 + 3);
    rig_close(&r);
}

/* Of chunks that take 450 ns each way, two at a time go every 450 ns and the HBM's own time. */
TEST(chunks_wait_for_room_in_the_staging_memory)
{
    static const struct rig_options two = {.set = {"dma.staging_bytes=8192"}};
    struct rig r, wide;
    cycle_t slow, fast;
    ps_t pair_ps;

    with(&two, "v3", &r);
    pair_ps = hbm_time(&r, 2 * 4096, false) + r.chip.dma_read_ns * 1000;
    slow = rig_cycles(&r, "{ dma.hbm_to_vmem 0, 1280, 0, [sflag:0] }\n"
                          "{ dma.done.wait [sflag:0], 1280 }\n"
                          "{ vsyncadd [sflag:0], -1280 }\n{ shalt }");
    /* five pairs; a later pair finds its banks as it may, half an HBM access to either side */
    assert_true(slow > clock_cycle_at(940, 5 * pair_ps - 5 * 30000));
    assert_true(slow < clock_cycle_at(940, 5 * pair_ps + 5 * 30000));
    assert_true(machine_counters(r.m, 0)->dma_staging_cycles >
                clock_cycle_at(940, 4 * r.chip.dma_read_ns * 1000));
    assert_true(machine_counters(r.m, 0)->dma_staging_cycles < slow);
    with(NULL, "v3", &wide);
    fast = rig_cycles(&wide, "{ dma.hbm_to_vmem 0, 1280, 0, [sflag:0] }\n"
                             "{ dma.done.wait [sflag:0], 1280 }\n"
                             "{ vsyncadd [sflag:0], -1280 }\n{ shalt }");
    assert_int_equal(fast, expected_cycles(&wide, hbm_time(&wide, 10 * 4096, false)
                                                  + wide.chip.dma_read_ns * 1000));
    assert_int_equal(machine_counters(wide.m, 0)->dma_staging_cycles, 0);
    rig_close(&wide);
    rig_close(&r);
}

/* Each direction has a staging memory of its own; inside the core the time is exact. */
TEST(staging_memory_is_per_direction_and_lets_the_oldest_go_first)
{
    static const struct rig_options one = {
        .set = {"dma.staging_bytes=4096", "dma.local_gbps=4.096", "dma.local_ns=2000"}};
    struct rig r;

    with(&one, "v3", &r);
    /* a chunk takes 1000 ns at the port and is there 2000 ns later; only then the next may go */
    assert_int_equal(rig_cycles(&r, "{ dma.vmem_to_vmem 0, 384, 1024, [sflag:0] }\n"
                                    "{ dma.done.wait [sflag:0], 384 }\n"
                                    "{ vsyncadd [sflag:0], -384 }\n{ shalt }"),
                     clock_cycle_at(940, 3 * 3000000) + 7 + 3);
    assert_int_equal(machine_counters(r.m, 0)->dma_staging_cycles,
                     clock_cycle_at(940, 2 * 2000000));
    rig_cycles(&r, "{ dma.vmem_to_vmem 0, 128, 1024, [sflag:0] }\n"
                   "{ dma.hbm_to_vmem 0, 128, 2048, [sflag:0] }\n"
                   "{ dma.vmem_to_hbm 0, 128, 4096, [sflag:0] }\n"
                   "{ dma.done.wait [sflag:0], 384 }\n{ vsyncadd [sflag:0], -384 }\n{ shalt }");
    assert_int_equal(machine_counters(r.m, 0)->dma_staging_cycles, 0);
    rig_close(&r);
}

/* At 10 GB/s 32 KiB take 3276.8 ns: of what a core reads and what it writes together. */
TEST(reads_and_writes_of_a_core_share_its_rate)
{
    static const struct rig_options slow = {
        .set = {"dma.core_gbps=10", "dma.read_ns=0", "dma.write_ns=0"}};
    struct rig r;

    with(&slow, "v3", &r);
    assert_int_equal(rig_cycles(&r, "{ dma.hbm_to_hbm 0, 512, 512, [sflag:0] }\n"
                                    "{ dma.done.wait [sflag:0], 512 }\n"
                                    "{ vsyncadd [sflag:0], -512 }\n{ shalt }"),
                     clock_cycle_at(940, 8 * 409600) + 7 + 3);
    assert_int_equal(rig_cycles(&r, "{ dma.hbm_to_vmem 0, 512, 0, [sflag:0] }\n"
                                    "{ dma.vmem_to_hbm 512, 512, 512, [sflag:0] }\n"
                                    "{ dma.done.wait [sflag:0], 1024 }\n"
                                    "{ vsyncadd [sflag:0], -1024 }\n{ shalt }"),
                     clock_cycle_at(940, 8 * 409600) + 7 + 3);
    rig_close(&r);
}

TEST(flag_that_is_satisfied_on_arrival_costs_nothing)
{
    struct rig r;

    with(NULL, "v3", &r);
    assert_int_equal(rig_cycles(&r, "{ vsyncadd [sflag:0], 2 }\n{ vwait.eq [sflag:0], 2 }\n"
                                    "{ s1 = vsyncmov [sflag:0] }\n{ sst [smem:64], s1 }\n"
                                    "{ vsyncset [sflag:0], 9 }\n{ vwait.gt [sflag:0], 8 }\n"
                                    "{ vwait.ne [sflag:0], 8 }\n{ vwait.lt [sflag:0], 10 }\n"
                                    "{ vsyncpa [sflag:0], 0 }\n{ vwait.eq [sflag:0], 0 }\n"
                                    "{ s2 = sld [smem:64] }\n{ v1 = vstv s2 }\n"
                                    "{ vst [vmem:0x0] v1 }\n{ shalt }"), 14 + 5);
    assert_int_equal(rig_stall(&r, 0, STALL_OPERAND), 5);
    rig_close(&r);
}

TEST(issue_keeps_its_distance)
{
    struct rig r;

    with(&slow_issue, "v3", &r);
    rig_cycles(&r, "{ dma.hbm_to_vmem 0, 16, 0, [sflag:0] }\n"
                   "{ dma.hbm_to_vmem 0, 16, 0, [sflag:0] }\n"
                   "{ dma.done.wait [sflag:0], 32 }\n{ vsyncadd [sflag:0], -32 }\n{ shalt }");
    assert_int_equal(rig_stall(&r, 0, STALL_DMA_QUEUE), 3);
    rig_close(&r);
}

TEST(full_queue_holds_the_next_copy_until_one_is_complete)
{
    const char *text = "{ dma.hbm_to_vmem 0, 16, 0, [sflag:0] }\n"
                       "{ dma.hbm_to_vmem 0, 16, 0, [sflag:0] }\n"
                       "{ dma.done.wait [sflag:0], 32 }\n{ vsyncadd [sflag:0], -32 }\n{ shalt }";
    struct rig r;
    cycle_t first;

    with(&small_queue, "v3", &r);
    rig_cycles(&r, "{ dma.hbm_to_vmem 0, 16, 0, [sflag:0] }\n{ dma.done.wait [sflag:0], 16 }\n"
                   "{ vsyncadd [sflag:0], -16 }\n{ shalt }");
    first = rig_unit(&r, 0, "dma")->busy_cycles;
    rig_cycles(&r, text);
    assert_int_equal(rig_stall(&r, 0, STALL_DMA_QUEUE), first - 1);
    rig_close(&r);
}

TEST(strided_copies_gather_and_scatter)
{
    uint32_t memory[64 * 128], back[64 * 128];
    struct rig r;
    struct err e;
    int i;

    with(NULL, "v3", &r);
    for (i = 0; i < 64 * 128; i++)
        memory[i] = (uint32_t)i;
    assert_int_equal(machine_hbm_write(r.m, 0, 0, memory, sizeof(memory), &e), 0);
    /* rows 1, 4, 7 and half of 10 into rows 0, 2, 4, 6; then back to back into HBM at 64 KiB */
    rig_cycles(&r, "{ dma.hbm_to_vmem 16, 56, 0, [sflag:0], 48, 32, 16 }\n"
                   "{ dma.done.wait [sflag:0], 56 }\n{ vsyncadd [sflag:0], -56 }\n"
                   "{ dma.vmem_to_hbm 0, 56, 2048, [sflag:0], 32, 16, 16 }\n"
                   "{ dma.done.wait [sflag:0], 56 }\n{ vsyncadd [sflag:0], -56 }\n{ shalt }");
    assert_int_equal(machine_hbm_read(r.m, 0, 65536, back, 4 * 512, &e), 0);
    for (i = 0; i < 512; i++)
        assert_int_equal(back[i], i < 448 ? (1 + i / 128 * 3) * 128 + i % 128 : 0);
    rig_close(&r);
}

TEST(strided_copy_may_end_with_its_memory)
{
    int64_t granules = 16777216 / 32;
    struct rig r;
    char text[200];
    int beyond;

    with(NULL, "v3", &r);
    assert_int_equal(r.chip.vmem_bytes, granules * 32);
    /* runs of 2 granules, the last of 1: the 5 granules at the end of VMEM, and one too far */
    for (beyond = 0; beyond < 2; beyond++) {
        snprintf(text, sizeof(text),
                 "{ dma.hbm_to_vmem 0, 5, %d, [sflag:0], 2, 2, 2 }\n"
                 "{ dma.done.wait [sflag:0], 5 }\n{ vsyncadd [sflag:0], -5 }\n{ shalt }",
                 (int)granules - 5 + beyond);
        rig_load(&r, 0, text);
        assert_int_equal(rig_run(&r), -beyond);
    }
    assert_non_null(strstr(r.err.msg, "granules 524284..524288 out of 0..524287"));
    /* backwards the first run ends last; overlapping, a full one may end behind the short one */
    rig_load(&r, 0, "{ dma.hbm_to_vmem 0, 5, 524286, [sflag:0], 2, -2, 2 }\n"
                    "{ dma.done.wait [sflag:0], 5 }\n{ vsyncadd [sflag:0], -5 }\n{ shalt }");
    assert_int_equal(rig_run(&r), 0);
    rig_load(&r, 0, "{ dma.hbm_to_vmem 0, 9, 524281, [sflag:0], 8, 1, 8 }\n{ shalt }");
    assert_int_equal(rig_run(&r), -1);
    assert_non_null(strstr(r.err.msg, "granules 524281..524288 out of"));
    rig_close(&r);
}

TEST(words_reach_smem_from_hbm_and_vmem)
{
    uint32_t words[16], tile[1024];
    struct rig r;
    struct err e;
    int i;

    with(NULL, "v3", &r);
    for (i = 0; i < 16; i++)
        words[i] = (uint32_t)(100 + i);
    assert_int_equal(machine_hbm_write(r.m, 0, 32, words, 64, &e), 0);
    rig_cycles(&r, "{ dma.hbm_to_smem 1, 2, 8, [sflag:0] }\n{ v1 = vmov 1000 }\n"
                   "{ vst [vmem:0x0] v1 }\n{ dma.vmem_to_smem 0, 1, 12, [sflag:1] }\n"
                   "{ dma.done.wait [sflag:0], 2 }\n{ dma.done.wait [sflag:1], 1 }\n"
                   "{ s1 = sld [smem:260] }\n{ s2 = sld [smem:384] }\n{ s3 = sadd.s32 s1, s2 }\n"
                   "{ v2 = vstv s3 ;; vsyncadd [sflag:0], -2 }\n"
                   "{ vst [vmem:0x8] v2 ;; vsyncadd [sflag:1], -1 }\n{ shalt }");
    assert_int_equal(machine_vmem_read(r.m, 0, 8 * 512, tile, 4096, &e), 0);
    assert_int_equal(tile[0], 1101);
    rig_close(&r);
}

TEST(remote_copy_moves_data_and_raises_both_flags)
{
    /* core 0 is in the corner: same chip, neighbour along x, along y, across both */
    static const int targets[] = {1, 2, 4, 6};
    uint32_t tile[1024];
    cycle_t cycles[COUNT_OF(targets)];
    char text[512];
    size_t i;

    for (i = 0; i < COUNT_OF(targets); i++) {
        struct rig r;
        struct err e;

        rig_open(&r, "v3-8", NULL);
        snprintf(text, sizeof(text),
                 "{ v1 = vmov 55 }\n{ vst [vmem:0x0] v1 }\n"
                 "{ dma.vmem_to_vmem.remote 0, 128, 256, [sflag:3], [sflag:4], %d }\n"
                 "{ dma.done.wait [sflag:4], 128 }\n{ vsyncadd [sflag:4], -128 }\n{ shalt }",
                 targets[i]);
        rig_load(&r, 0, text);
        rig_load(&r, targets[i], "{ dma.done.wait [sflag:3], 128 }\n{ vsyncadd [sflag:3], -128 }\n"
                                 "{ v1 = vld [vmem:16] }\n{ vst [vmem:32] v1 }\n{ shalt }");
        assert_int_equal(rig_run(&r), 0);
        assert_int_equal(machine_vmem_read(r.m, targets[i], 32 * 512, tile, 4096, &e), 0);
        assert_int_equal(tile[1023], 55);
        assert_true(rig_stall(&r, targets[i], STALL_ICI) > 100);
        assert_int_equal(machine_counters(r.m, 0)->ici_sent_bytes, i == 0 ? 0 : 4096);
        assert_int_equal(machine_counters(r.m, targets[i])->ici_received_bytes, i == 0 ? 0 : 4096);
        cycles[i] = machine_cycles(r.m);
        rig_close(&r);
    }
    assert_true(cycles[0] < cycles[1] && cycles[1] == cycles[2] && cycles[2] < cycles[3]);
}

TEST(remote_copies_of_a_core_take_turns)
{
    struct rig r;

    /* the copy of 2 chunks, issued second, is through long before the one of 32 */
    with(NULL, "v3", &r);
    rig_load(&r, 0, "{ dma.vmem_to_vmem.remote 0, 4096, 0, [sflag:3], [sflag:4], 1 }\n"
                    "{ dma.vmem_to_vmem.remote 0, 256, 8192, [sflag:5], [sflag:6], 1 }\n"
                    "{ dma.done.wait [sflag:6], 256 }\n{ s1 = vsyncmov [sflag:4] }\n"
                    "{ p1 = scmp.ne.s32.totalorder s1, 0 }\n{ shalt.err (p1) }\n"
                    "{ dma.done.wait [sflag:4], 4096 }\n{ vsyncpa [sflag:4], 1 }\n"
                    "{ vsyncpa [sflag:6], 1 }\n{ shalt }");
    rig_load(&r, 1, "{ dma.done.wait [sflag:3], 4096 }\n{ dma.done.wait [sflag:5], 256 }\n"
                    "{ vsyncpa [sflag:3], 1 }\n{ vsyncpa [sflag:5], 1 }\n{ shalt }");
    if (rig_run(&r))
        fail_msg("%s", r.err.msg);
    rig_close(&r);
}

/* a copy of 2 chunks behind `long_count` of 32: whether the first of those is through before it */
static bool long_copy_is_first(const char *turn_copies, int long_count)
{
    const struct rig_options options = {.set = {turn_copies}};
    char text[512];
    struct rig r;
    bool is_first;
    size_t n = 0;

    with(&options, "v3", &r);
    for (int i = 0; i < long_count; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n,
                              "{ dma.hbm_to_vmem 0, 4096, %d, [sflag:%d] }\n", i * 4096, i);
    n += (size_t)snprintf(text + n, sizeof(text) - n,
                          "{ dma.hbm_to_vmem 65536, 256, 32768, [sflag:5] }\n"
                          "{ dma.done.wait [sflag:5], 256 }\n{ s1 = vsyncmov [sflag:0] }\n"
                          "{ vsyncpa [sflag:5], 0 }\n");
    for (int i = 0; i < long_count; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n,
                              "{ dma.done.wait [sflag:%d], 4096 }\n{ vsyncpa [sflag:%d], 0 }\n",
                              i, i);
    snprintf(text + n, sizeof(text) - n,
             "{ p1 = scmp.eq.s32.totalorder s1, 0 }\n{ shalt.err (p1) }\n{ shalt }");
    rig_load(&r, 0, text);
    is_first = rig_run(&r) == 0;
    rig_close(&r);
    return is_first;
}

TEST(as_many_copies_of_a_port_take_turns_as_the_chip_says)
{
    assert_true(long_copy_is_first("dma.turn_copies=1", 1));
    assert_false(long_copy_is_first("dma.turn_copies=2", 1));
    assert_true(long_copy_is_first("dma.turn_copies=2", 2));
    assert_false(long_copy_is_first("dma.turn_copies=3", 2));
    assert_false(long_copy_is_first("dma.turn_copies=64", 2));
}

TEST(remote_add_wakes_a_core_and_is_charged_to_the_network)
{
    struct rig r;

    rig_open(&r, "v3-8", NULL);
    rig_load(&r, 7, "{ vwait.ge [sflag:1], 2 }\n{ vsyncadd [sflag:1], -2 }\n{ shalt }");
    rig_load(&r, 0, "{ vdelay 1000 }\n{ vsyncadd.remote [sflag:1], 1, 7 }\n{ shalt }");
    rig_load(&r, 3, "{ vsyncadd.remote [sflag:1], 1, 7 }\n{ shalt }");
    assert_int_equal(rig_run(&r), 0);
    assert_true(rig_stall(&r, 7, STALL_ICI) > 1001);
    assert_int_equal(rig_stall(&r, 7, STALL_SYNC), 7);
    rig_close(&r);
}

TEST(two_streams_share_a_chip_and_take_longer_than_one)
{
    const char *text = "{ dma.hbm_to_vmem 0, 65536, 0, [sflag:0] }\n"
                       "{ dma.done.wait [sflag:0], 65536 }\n{ vsyncadd [sflag:0], -65536 }\n"
                       "{ shalt }";
    struct rig r;
    cycle_t alone, both;

    with(NULL, "v3", &r);
    alone = rig_cycles(&r, text);
    rig_load(&r, 1, text);
    assert_int_equal(rig_run(&r), 0);
    both = machine_cycles(r.m);
    assert_true(both > alone && both < 2 * alone);
    assert_int_equal(machine_hbm_stats(r.m, 0)->read_bytes, 2 * 65536 * 32);
    rig_close(&r);
}

TEST(two_sync_operations_of_a_bundle_are_settled_in_turn)
{
    static const struct rig_options pairs = {
        .set = {"slots.misc=2", "slots.dma=2", "dma.queue_depth=1"}};
    struct rig r;

    with(&pairs, "v3", &r);
    rig_cycles(&r, "{ dma.hbm_to_vmem 0, 16, 0, [sflag:0] ;; vwait.eq [sflag:1], 0 }\n"
                   "{ dma.done.wait [sflag:0], 16 ;; dma.hbm_to_vmem 0, 16, 0, [sflag:1] }\n"
                   "{ s1 = vsyncmov [sflag:0] ;; s2 = vsyncmov [sflag:1] }\n"
                   "{ s3 = ssub.s32 s1, s2 ;; vsyncset [sflag:0], 0 }\n"
                   "{ dma.done.wait [sflag:1], 16 ;; vsyncadd [sflag:1], -16 }\n"
                   "{ p1 = scmp.ne.s32.totalorder s3, 16 }\n{ shalt.err (p1) }\n{ shalt }");
    assert_int_equal(machine_counters(r.m, 0)->dma_count, 2);
    assert_int_equal(rig_stall(&r, 0, STALL_SYNC), 2 * 7);
    rig_load(&r, 0, "{ dma.hbm_to_vmem 0, 16, 0, [sflag:0] ;; "
                    "dma.hbm_to_vmem 0, 16, 0, [sflag:0] }\n{ shalt }");
    assert_int_equal(rig_run(&r), -1);
    assert_non_null(strstr(r.err.msg, "waits for its dma queue"));
    rig_close(&r);
}

TEST(flags_read_in_one_bundle_do_not_mix)
{
    static const struct rig_options pairs = {.set = {"slots.misc=2", "slots.dma=2"}};
    struct rig r;

    /* s1 goes through a temporary, as the other operation reads it */
    with(&pairs, "v3", &r);
    rig_cycles(&r, "{ vsyncset [sflag:0], 5 ;; vsyncset [sflag:1], 6 }\n"
                   "{ s0 = smov 1 ;; s1 = smov 0 }\n"
                   "{ s1 = vsyncmov [sflag:s0] ;; s0 = vsyncmov [sflag:s1] }\n"
                   "{ p1 = scmp.ne.s32.totalorder s1, 6 ;; p2 = scmp.ne.s32.totalorder s0, 5 }\n"
                   "{ shalt.err (p1) }\n{ shalt.err (p2) }\n"
                   "{ vsyncpa [sflag:0], 1 ;; vsyncpa [sflag:1], 1 }\n{ shalt }");
    rig_close(&r);
}

/* sums are held against the counters by rig_run */
TEST(a_trace_tells_what_was_copied_and_marked)
{
    const struct log_events *events;
    const struct trace_dma *d;
    struct rig r;
    size_t marks = 0;

    with(&traced, "v3", &r);
    rig_cycles(&r, "{ s1 = smov 3 }\n{ dma.hbm_to_vmem 16, 512, 32, [sflag:4], 128, 64, 32 }\n"
                   "{ dma.done.wait [sflag:4], 512 }\n"
                   "{ vsyncadd [sflag:4], -512 ;; v1 = vld [vmem:0x0] ss:$2 }\n"
                   "{ vmatmul.f32.vlgmr.msra.gmra.mxu0 v1 ;; s1 = smov 3 }\n{ vtrace 42 }\n"
                   "{ v2 = vpop.f32.mrf.mxu0 }\n{ vrcp.f32 v2 }\n{ v3 = vpop.eup }\n{ shalt }");
    assert_int_equal(r.log.core[0].dma_count, 1);
    d = r.log.core[0].dma;
    assert_int_equal(d->code, OP_DMA_HBM_VMEM);
    assert_int_equal(d->bundle, 1);
    assert_int_equal(d->issued_at, 1);
    assert_int_equal(d->source_space, MEMORY_HBM);
    assert_int_equal(d->destination_space, MEMORY_VMEM);
    assert_int_equal(d->source_address, 16 * r.chip.dma_granule_bytes);
    assert_int_equal(d->destination_address, 32 * r.chip.dma_granule_bytes);
    assert_int_equal(d->bytes, 512 * r.chip.dma_granule_bytes);
    assert_int_equal(d->run_bytes, 32 * r.chip.dma_granule_bytes);
    assert_int_equal(d->target, 0);
    assert_int_equal(d->flag, 4);
    assert_int_equal(d->number, 0);
    events = rig_events(&r, 0);
    for (size_t i = 0; i < events->count; i++) {
        if (events->event[i].track != TRACK_IS_MARK)
            continue;
        assert_int_equal(events->event[i].bytes, 42);
        assert_int_equal(events->event[i].bundle, 5);
        marks++;
    }
    assert_int_equal(marks, 1);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copy_from_hbm_ends_with_its_last_chunk_and_the_fixed_part),
        cmocka_unit_test(copy_to_hbm_ends_with_its_last_chunk_and_the_fixed_part),
        cmocka_unit_test(port_of_a_core_bounds_its_rate),
        cmocka_unit_test(chunks_wait_for_room_in_the_staging_memory),
        cmocka_unit_test(staging_memory_is_per_direction_and_lets_the_oldest_go_first),
        cmocka_unit_test(reads_and_writes_of_a_core_share_its_rate),
        cmocka_unit_test(flag_that_is_satisfied_on_arrival_costs_nothing),
        cmocka_unit_test(issue_keeps_its_distance),
        cmocka_unit_test(full_queue_holds_the_next_copy_until_one_is_complete),
        cmocka_unit_test(strided_copies_gather_and_scatter),
        cmocka_unit_test(strided_copy_may_end_with_its_memory),
        cmocka_unit_test(words_reach_smem_from_hbm_and_vmem),
        cmocka_unit_test(remote_copy_moves_data_and_raises_both_flags),
        cmocka_unit_test(remote_copies_of_a_core_take_turns),
        cmocka_unit_test(as_many_copies_of_a_port_take_turns_as_the_chip_says),
        cmocka_unit_test(remote_add_wakes_a_core_and_is_charged_to_the_network),
        cmocka_unit_test(two_streams_share_a_chip_and_take_longer_than_one),
        cmocka_unit_test(two_sync_operations_of_a_bundle_are_settled_in_turn),
        cmocka_unit_test(flags_read_in_one_bundle_do_not_mix),
        cmocka_unit_test(a_trace_tells_what_was_copied_and_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
