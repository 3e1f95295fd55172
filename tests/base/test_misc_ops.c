/*
 * Random bits, trace masks, delays from registers, index address registers,
 * loads from CMEM.
 */
#include "base/rng.h"
#include "base/threefry.h"
#include "base/units.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

static const struct rig_options traced = {.trace = true};
static const struct rig_options two_misc = {.set = {"slots.misc=2", "slots.scalar=4"}};
static const struct rig_options short_fifo = {.set = {"cmem.fifo_depth=2"}};

static void get(struct rig *r, int core, int row, void *to, int rows)
{
    struct err e;

    assert_int_equal(machine_vmem_read(r->m, core, row * 512, to, rows * 512, &e), 0);
}

static void put(struct rig *r, int row, const void *from, int rows)
{
    struct err e;

    assert_int_equal(machine_vmem_write(r->m, 0, row * 512, from, rows * 512, &e), 0);
}

static void run(struct rig *r)
{
    if (rig_run(r))
        fail_msg("%s", r->err.msg);
}

/* test vectors of the authors' Random123: zeros, ones, digits of pi */
TEST(threefry_gives_the_published_blocks)
{
    static const struct { uint32_t key[2], counter[2], out[2]; } vectors[] = {
        {{0, 0}, {0, 0}, {0x6b200159, 0x99ba4efe}},
        {{0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}, {0x1cb996fc, 0xbb002be7}},
        {{0x13198a2e, 0x03707344}, {0x243f6a88, 0x85a308d3}, {0xc4923a9c, 0x483df7a0}},
    };

    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        uint32_t out[2];

        threefry_2x32(vectors[i].key, vectors[i].counter, out);
        assert_int_equal(out[0], vectors[i].out[0]);
        assert_int_equal(out[1], vectors[i].out[1]);
    }
}

static void assert_draw(struct rig *r, int core, int row, uint32_t seed, uint32_t draw)
{
    uint32_t tile[1024];
    const uint32_t key[2] = {seed, (uint32_t)core};

    get(r, core, row, tile, 8);
    for (uint32_t i = 0; i < 512; i++) {
        const uint32_t counter[2] = {i, draw};
        uint32_t out[2];

        threefry_2x32(key, counter, out);
        assert_int_equal(tile[i], out[0]);
        assert_int_equal(tile[i + 512], out[1]);
    }
}

TEST(random_tiles_are_blocks_of_seed_core_and_draw)
{
    const char *text = "{ v0 = vrng }\n{ vst [vmem:0] v0 }\n{ s1 = smov 77 }\n{ setrngseed s1 }\n"
                       "{ v0 = vrng }\n{ v1 = vrng }\n{ vst [vmem:8] v0 }\n{ vst [vmem:16] v1 }\n"
                       "{ setrngseed 77 ;; v2 = vrng }\n{ v3 = vrng }\n{ vst [vmem:24] v2 }\n"
                       "{ vst [vmem:32] v3 }\n{ shalt }";
    uint32_t first[1024];
    struct rig r;

    rig_open(&r, "v3", NULL);
    rig_load(&r, 0, text);
    rig_load(&r, 1, text);
    run(&r);
    for (int core = 0; core < 2; core++) {
        assert_draw(&r, core, 0, 0, 0);
        assert_draw(&r, core, 8, 77, 0);
        assert_draw(&r, core, 16, 77, 1);
        assert_draw(&r, core, 24, 77, 2);       /* of the bundle that seeds anew */
        assert_draw(&r, core, 32, 77, 0);
    }
    get(&r, 0, 0, first, 8);
    assert_int_equal(first[0], 0x6b200159);
    assert_int_equal(first[512], 0x99ba4efe);
    run(&r);                            /* a launch starts with seed 0 */
    assert_draw(&r, 0, 0, 0, 0);
    rig_close(&r);
}

TEST(two_draws_of_a_bundle_keep_their_order)
{
    struct rig r;

    rig_open(&r, "v3", &two_misc);
    rig_load(&r, 0, "{ v1 = vrng ;; v2 = vrng }\n"
                    "{ v1 = vrng ;; v2 = vrng ;; v3 = vmov v1 ;; v4 = vmov v2 }\n"
                    "{ vst [vmem:0] v1 }\n{ vst [vmem:8] v2 }\n{ vst [vmem:16] v3 }\n{ shalt }");
    run(&r);
    assert_draw(&r, 0, 16, 0, 0);
    assert_draw(&r, 0, 0, 0, 2);
    assert_draw(&r, 0, 8, 0, 3);
    rig_close(&r);
}

TEST(guard_that_fails_draws_nothing)
{
    struct rig r;

    rig_open(&r, "v3", NULL);
    rig_load(&r, 0, "{ v1 = vrng (p1) }\n{ setrngseed (p1) 5 }\n{ v2 = vrng }\n"
                    "{ vst [vmem:0] v2 }\n{ shalt }");
    run(&r);
    assert_draw(&r, 0, 0, 0, 0);
    rig_close(&r);
}

/* the markers of a run, in order */
static int markers(struct rig *r, int64_t *found)
{
    const struct log_events *events = rig_events(r, 0);
    int marker_count = 0;

    for (size_t i = 0; i < events->count; i++)
        if (events->event[i].track == TRACK_IS_MARK)
            found[marker_count++] = events->event[i].bytes;
    return marker_count;
}

TEST(trace_mask_chooses_markers_and_costs_nothing)
{
    static const int64_t expected[] = {3, 4, 36, 4};
    int64_t found[16] = {0};
    struct rig r;

    rig_open(&r, "v3", &traced);
    rig_load(&r, 0, "{ vtrace 3 }\n{ s1 = smov 16 }\n{ vsettm s1 }\n{ vtrace 3 }\n{ vtrace 4 }\n"
                    "{ vtrace 36 }\n{ vtrace 37 }\n{ vsettm 0 }\n{ vtrace 4 }\n{ vsettm -1 }\n"
                    "{ vtrace 4 }\n{ shalt }");
    run(&r);
    assert_int_equal(machine_cycles(r.m), 12);
    assert_int_equal(markers(&r, found), 4);
    assert_memory_equal(found, expected, sizeof(expected));
    rig_close(&r);
}

TEST(delay_comes_from_a_register_too)
{
    struct rig r;

    rig_open(&r, "v3", NULL);
    assert_int_equal(rig_cycles(&r, "{ s1 = smov 40 }\n{ vdelay s1 ;; s1 = smov 9 }\n{ vdelay s1 }"
                                    "\n{ shalt }"), 4 + 40 + 9);
    assert_int_equal(rig_stall(&r, 0, STALL_DELAY), 49);
    rig_close(&r);
    assert_fault("{ s1 = smov -1 }\n{ vdelay s1 }\n{ shalt }", FAULT_OPERATION,
                 "vdelay of -1 cycles; 0..2147483647 are possible");
}

/* tile with rows[i] in lane 0 of sublane i and other values beside it */
static void index_tile(uint32_t tile[1024], const int32_t rows[8])
{
    for (int i = 0; i < 1024; i++)
        tile[i] = i % 128 ? 0xdeadbeef : (uint32_t)rows[i / 128];
}

TEST(index_address_registers_gather_and_scatter_rows)
{
    static const int32_t from[8] = {5, -2, 0, 19, 5, 7, 1, -90000};
    static const int32_t to[8] = {9, 1, 3, 9, 0, 2, 5, 7};
    static uint32_t memory[64 * 128], back[16 * 128];
    uint32_t tile[1024];
    struct rig r;

    rig_open(&r, "v3", NULL);
    for (int i = 0; i < 64 * 128; i++)
        memory[i] = (uint32_t)i * 2654435761u;
    put(&r, 100, memory, 64);
    index_tile(tile, from);
    put(&r, 0, tile, 8);
    index_tile(tile, to);
    put(&r, 8, tile, 8);
    rig_load(&r, 0, "{ v1 = vld [vmem:0] }\n{ v2 = vld [vmem:8] }\n{ vsetiar.raw.iar0 v1 }\n"
                    "{ vsetiar.raw.iar1 v2 ;; s1 = smov 103 }\n"
                    "{ v3 = vld.iar0 [vmem:s1 + 4] sm:$0x7f }\n"
                    "{ vst.iar1 [vmem:200] v3 }\n{ vst.iar1 [vmem:300] sm:$0x1 v3 }\n{ shalt }");
    run(&r);
    get(&r, 0, 200, back, 16);
    for (int i = 1; i < 7; i++)         /* sublane 0 is overwritten by 3 */
        assert_memory_equal(back + to[i] * 128, memory + (7 + from[i]) * 128, 512);
    for (int j = 0; j < 128; j++)
        assert_int_equal(back[7 * 128 + j], 0);
    get(&r, 0, 300, back, 16);
    for (int i = 0; i < 16; i++)
        assert_int_equal(back[i * 128 + 3], i == 9 ? memory[(7 + 5) * 128 + 3] : 0);
    rig_close(&r);
}

TEST(register_that_is_set_in_a_bundle_is_read_before)
{
    static const int32_t rows[8] = {8, 8, 8, 8, 8, 8, 8, 8};
    uint32_t tile[1024], back[1024];
    struct rig r;

    rig_open(&r, "v3", NULL);
    index_tile(tile, rows);
    put(&r, 0, tile, 8);
    rig_load(&r, 0, "{ v1 = vld [vmem:0] }\n{ v2 = vld.iar0 [vmem:0] ;; vsetiar.raw.iar0 v1 }\n"
                    "{ v3 = vld.iar0 [vmem:0] ;; vst [vmem:8] v2 }\n{ vst [vmem:16] v3 }\n"
                    "{ shalt }");
    run(&r);
    get(&r, 0, 8, back, 8);             /* with offsets 0: row 0 eight times */
    assert_int_equal(back[7 * 128], 8);
    get(&r, 0, 16, back, 8);            /* row 8 before the store of that bundle */
    assert_int_equal(back[7 * 128], 0);
    rig_close(&r);
}

/* cycles of a load by rows {0, step, ...} in a program that is otherwise the same */
static cycle_t gather_cycles(int step, const char *between)
{
    int32_t rows[8];
    uint32_t tile[1024];
    char text[400];
    struct rig r;
    cycle_t cycles;

    for (int i = 0; i < 8; i++)
        rows[i] = i * step;
    rig_open(&r, "v3", NULL);
    index_tile(tile, rows);
    put(&r, 0, tile, 8);
    snprintf(text, sizeof(text), "{ v1 = vld [vmem:0] }\n{ vsetiar.raw.iar1 v1 }\n%s"
             "{ v2 = vld.iar1 [vmem:64] }\n{ shalt }", between);
    cycles = rig_cycles(&r, text);
    rig_close(&r);
    return cycles;
}

TEST(index_addresses_pay_for_banks_and_earlier_stores)
{
    cycle_t plain = gather_cycles(1, "");

    /* eight banks: rows 2 apart use four of them twice, rows 8 apart one eight times */
    assert_int_equal(gather_cycles(2, ""), plain + 1);
    assert_int_equal(gather_cycles(8, ""), plain + 7);
    assert_int_equal(gather_cycles(0, ""), plain);
    /* any store counts as one to the same rows */
    assert_int_equal(gather_cycles(1, "{ vst [vmem:9000] v1 }\n"), plain + 1 + 6);
    assert_int_equal(gather_cycles(1, "{ vst.iar0 [vmem:9000] v1 }\n{}\n"), plain + 2 + 5);
}

TEST(index_outside_vmem_names_sublane_and_register)
{
    assert_fault("{ v1 = vmov -1 }\n{ vsetiar.raw.iar1 v1 }\n"
                 "{ v2 = vld.iar1 [vmem:0] sm:$0xf0 }\n{ shalt }", FAULT_ADDRESS,
                 "vmem address -1 out of 0..32767 rows in sublane 4 of vld.iar1");
    assert_fault("{ vst.iar0 [vmem:32768] v2 }\n{ shalt }", FAULT_ADDRESS,
                 "vmem address 32768 out of 0..32767 rows in sublane 0 of vst.iar0");
}

TEST(tiles_come_from_cmem_in_order)
{
    static uint32_t memory[32 * 128], back[24 * 128];
    struct rig r;
    struct err e;

    rig_open(&r, "v4", NULL);
    for (int i = 0; i < 32 * 128; i++)
        memory[i] = (uint32_t)i * 2654435761u;
    assert_int_equal(machine_hbm_write(r.m, 0, 0, memory, sizeof(memory), &e), 0);
    rig_load(&r, 0, "{ dma.hbm_to_cmem 0, 512, 1600, [sflag:0] }\n"
                    "{ dma.done.wait [sflag:0], 512 }\n"
                    "{ vsyncadd [sflag:0], -512 ;; s1 = smov 100 }\n"
                    "{ cld [cmem:s1] ;; v9 = vld [vmem:0] }\n{ cld [cmem:s1 + 3] ss:$2 }\n"
                    "{ cld [cmem:124] ss:$0 sm:$0x81 }\n"
                    "{ v1 = vpop.crf }\n{ v2 = vpop.crf }\n{ v3 = vpop.crf }\n"
                    "{ vst [vmem:0] v1 }\n{ vst [vmem:8] v2 }\n{ vst [vmem:16] v3 }\n{ shalt }");
    run(&r);
    get(&r, 0, 0, back, 24);
    assert_memory_equal(back, memory, 4096);
    for (int i = 0; i < 8; i++) {
        assert_memory_equal(back + (8 + i) * 128, memory + (3 + 2 * i) * 128, 512);
        if (i == 0 || i == 7)
            assert_memory_equal(back + (16 + i) * 128, memory + 24 * 128, 512);
        else
            assert_int_equal(back[(16 + i) * 128 + 77], 0);
    }
    assert_int_equal(machine_counters(r.m, 0)->cmem_write_bytes, 512 * 32);
    assert_int_equal(machine_counters(r.m, 0)->cmem_read_bytes, 2 * 4096 + 2 * 512);
    rig_close(&r);
}

TEST(cmem_loads_keep_their_distance_and_latency)
{
    struct rig r;

    rig_open(&r, "v4", NULL);
    assert_int_equal(r.chip.cmem_load_issue_cycles, 3);
    assert_int_equal(rig_cycles(&r, "{ cld [cmem:0] }\n{ v1 = vpop.crf }\n{ shalt }"),
                     r.chip.cmem_load_cycles + 2);
    assert_int_equal(rig_stall(&r, 0, STALL_CMEM), r.chip.cmem_load_cycles - 1);
    assert_int_equal(rig_cycles(&r, "{ cld [cmem:0] }\n{ cld [cmem:8] }\n{ cld [cmem:16] }\n"
                                    "{ v1 = vpop.crf }\n{ v1 = vpop.crf }\n{ v1 = vpop.crf }\n"
                                    "{ shalt }"), 6 + r.chip.cmem_load_cycles + 2);
    rig_close(&r);
}

static void assert_v4_fault(const struct rig_options *options, const char *text, const char *part)
{
    struct rig r;

    rig_open(&r, "v4", options);
    rig_load(&r, 0, text);
    assert_int_equal(rig_run(&r), -1);
    if (!strstr(r.err.msg, part))
        fail_msg("\"%s\" does not contain \"%s\"", r.err.msg, part);
    rig_close(&r);
}

TEST(mistakes_with_cmem_loads_are_faults)
{
    assert_v4_fault(NULL, "{ v1 = vpop.crf }\n{ shalt }", "vpop.crf with nothing pushed");
    assert_v4_fault(NULL, "{ cld [cmem:131065] }\n{ shalt }",
                    "cmem address 131072 out of 0..131071 rows in cld");
    assert_v4_fault(NULL, "{ s1 = smov -1 }\n{ cld [cmem:s1] sm:$0x1 }\n{ shalt }",
                    "cmem address -1 out of 0..131071 rows in cld");
    assert_v4_fault(&short_fifo, "{ cld [cmem:0] }\n{ cld [cmem:0] }\n{ cld [cmem:0] }\n{ shalt }",
                    "cld finds its result fifo full: 2 results not popped");
}

TEST(chip_without_cmem_has_no_slot_for_its_loads)
{
    struct rig r;
    struct err e;

    rig_open(&r, "v3", NULL);
    assert_int_equal(machine_load(r.m, 0, rig_assemble(&r, "{ cld [cmem:0] }\n{ shalt }"), &e), -1);
    assert_string_equal(e.msg, "bundle 0: cld: the chip has no CMEM (cmem.bytes)");
    rig_close(&r);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(threefry_gives_the_published_blocks),
        T(random_tiles_are_blocks_of_seed_core_and_draw),
        T(two_draws_of_a_bundle_keep_their_order),
        T(guard_that_fails_draws_nothing),
        T(trace_mask_chooses_markers_and_costs_nothing),
        T(delay_comes_from_a_register_too),
        T(index_address_registers_gather_and_scatter_rows),
        T(register_that_is_set_in_a_bundle_is_read_before),
        T(index_addresses_pay_for_banks_and_earlier_stores),
        T(index_outside_vmem_names_sublane_and_register),
        T(tiles_come_from_cmem_in_order),
        T(cmem_loads_keep_their_distance_and_latency),
        T(mistakes_with_cmem_loads_are_faults),
        T(chip_without_cmem_has_no_slot_for_its_loads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
