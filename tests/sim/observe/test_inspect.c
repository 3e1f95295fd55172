/* What a pause shows is what the program has done so far, and looking changes nothing. */
#include "base/floats.h"
#include "sim/observe/inspect.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

static struct core_view at(struct rig *r, int core, cycle_t cycle)
{
    struct core_view v;

    machine_advance(r->m, cycle);
    machine_core(r->m, core, &v);
    return v;
}

static void begin(struct rig *r, const char *text)
{
    rig_open(r, "v3", NULL);
    rig_load(r, 0, text);
    machine_start(r->m);
}

TEST(registers_hold_what_the_issued_bundles_wrote)
{
    struct rig r;

    begin(&r, "{ s3 = smov -7 ;; v1 = vlaneseq }\n"
              "{ p2 = scmp.lt.s32.totalorder s3, 0 }\n"
              "{ v2 = vadd.s32 v1, v1 }\n{ shalt }\n");
    at(&r, 0, 0);
    assert_int_equal(machine_scalar(r.m, 0, 3), 0);
    at(&r, 0, 1);
    assert_int_equal(machine_scalar(r.m, 0, 3), -7);
    assert_int_equal(machine_vector(r.m, 0, 1)[129], 129);
    assert_false(machine_predicate(r.m, 0, 2));
    at(&r, 0, 2);
    assert_true(machine_ready_at(r.m, 0, REGISTER_PREDICATE, 2) > 1);
    at(&r, 0, CYCLE_NEVER);
    assert_true(machine_predicate(r.m, 0, 2));
    assert_int_equal(machine_vector(r.m, 0, 2)[1023], 2046);
    rig_close(&r);
}

TEST(a_mask_shows_its_rectangle)
{
    uint32_t bounds = 5u | 1u << 3 | 6u << 10 | 2u << 13;   /* sublanes 5..6, lanes 1..2 */
    struct mask_view mask;
    char text[80];
    struct rig r;
    int i, j;

    snprintf(text, sizeof(text), "{ vm4 = vcmask %u }\n{ shalt }\n", (unsigned)bounds);
    begin(&r, text);
    at(&r, 0, CYCLE_NEVER);
    machine_mask(r.m, 0, 4, &mask);
    for (i = 0; i < 8; i++)
        for (j = 0; j < 128; j++) {
            int bit = mask.low[8 * i + j / 16] >> j % 16 & 1;

            assert_int_equal(bit, (i == 5 || i == 6) && (j == 1 || j == 2));
            assert_int_equal(mask.high[8 * i + j / 16] >> j % 16 & 1, bit);
        }
    rig_close(&r);
}

TEST(a_core_tells_its_bundle_and_what_it_waits_for)
{
    struct core_view v;
    struct rig r;
    cycle_t smul;

    begin(&r, "{ s1 = smul.u32 3, 5 }\n{ s2 = sadd.s32 s1, 1 }\n"
              "{ vwait.ge [sflag:2], 4 }\n{ shalt }\n");
    v = at(&r, 0, 0);
    assert_int_equal(v.activity, CORE_IS_READY);
    assert_int_equal(v.bundle, 0);
    assert_int_equal(v.line, 1);
    v = at(&r, 0, 1);
    smul = machine_ready_at(r.m, 0, REGISTER_SCALAR, 1);
    assert_int_equal(v.bundle, 1);
    assert_int_equal(v.issued, 1);
    assert_int_equal(v.now, 1);
    assert_int_equal(v.issues_at, smul);
    assert_int_equal(v.reason, smul > 1 ? STALL_OPERAND : STALL_COUNT);
    v = at(&r, 0, smul + 10);
    assert_int_equal(v.activity, CORE_WAITS);
    assert_int_equal(v.bundle, 2);
    assert_int_equal(v.wait.code, OP_VWAIT_GE);
    assert_int_equal(v.wait.flag, 2);
    assert_int_equal(v.wait.value, 4);
    assert_int_equal(machine_bundle_count(r.m, 0, 1), 1);
    assert_int_equal(machine_bundle_stall(r.m, 0, 1), smul - 1);
    assert_int_equal(machine_stall_cycles(r.m, 0, STALL_OPERAND), smul - 1);
    machine_core(r.m, 1, &v);
    assert_int_equal(v.activity, CORE_HAS_NO_PROGRAM);
    assert_null(machine_program(r.m, 1));
    assert_int_equal(machine_scalar(r.m, 1, 3), 0);
    rig_close(&r);
}

TEST(bundle_stalls_add_up_to_those_of_the_core)
{
    struct rig r;
    cycle_t by_bundle = 0, by_reason = 0;
    uint32_t i;

    begin(&r, "{ v1 = vlaneseq }\n{ vpow2.f32 v1 }\n{ v2 = vpop.eup }\n{ v3 = vadd.f32 v2, v2 }\n"
              "{ vdelay 17 }\n{ vst [vmem:0] v3 }\n{ v4 = vld [vmem:0] }\n{ v5 = vadd.f32 v4, v3 }\n"
              "{ shalt }\n");
    assert_int_equal(machine_advance(r.m, CYCLE_NEVER), MACHINE_HALTED);
    for (i = 0; i < 9; i++)
        by_bundle += machine_bundle_stall(r.m, 0, i);
    for (i = 0; i < STALL_COUNT; i++)
        by_reason += machine_stall_cycles(r.m, 0, (enum stall_reason)i);
    assert_true(by_bundle > 17);
    assert_int_equal(by_bundle, by_reason);
    rig_close(&r);
}

TEST(bundles_tell_what_their_copies_came_to)
{
    static const char text[] =
        "{ s1 = smov 3 }\n"
        "{ dma.hbm_to_vmem 0, 256, 0, [sflag:0] }\n"
        "{ dma.hbm_to_hbm 0, 128, 1024, [sflag:1] }\n"
        "{ dma.done.wait [sflag:0], 256 }\n"
        "{ dma.done.wait [sflag:1], 128 }\n"
        "{ vsyncadd [sflag:0], -256 ;; s3 = smov 0 }\n"
        "{ vsyncadd [sflag:1], -128 }\n"
        "{ s1 = sadd.s32 s1, -1 ;; p1 = scmp.eq.s32.totalorder s1, 1 }\n"
        "{ dma.vmem_to_vmem (p1) 0, 4, 4096, [sflag:2] ;; s2 = smov (!p1) 1 }\n"
        "{ shalt }\n";
    const struct bundle_copies *b;
    cycle_t stalls = 0;
    struct rig r;
    int64_t granule;

    begin(&r, text);
    granule = r.chip.dma_granule_bytes;
    assert_int_equal(machine_advance(r.m, CYCLE_NEVER), MACHINE_HALTED);
    b = machine_bundle_copies(r.m, 0, 1);
    assert_int_equal(b->bytes, 256 * granule);
    assert_int_equal(b->hbm_bytes, 256 * granule);
    assert_int_equal(b->ici_bytes, 0);
    b = machine_bundle_copies(r.m, 0, 2);       /* read and written */
    assert_int_equal(b->bytes, 128 * granule);
    assert_int_equal(b->hbm_bytes, 256 * granule);
    assert_int_equal(machine_bundle_copies(r.m, 0, 8)->bytes, 0);
    assert_true(machine_bundle_copies(r.m, 0, 3)->stall_cycles > 0);
    for (uint32_t i = 0; i < 10; i++)
        stalls += machine_bundle_copies(r.m, 0, i)->stall_cycles;
    assert_int_equal(stalls, machine_stall_cycles(r.m, 0, STALL_HBM)
                                 + machine_stall_cycles(r.m, 0, STALL_DMA_QUEUE)
                                 + machine_stall_cycles(r.m, 0, STALL_SYNC));
    assert_int_equal(machine_op_executed(r.m, 0, 8, 0), 0);
    assert_int_equal(machine_op_executed(r.m, 0, 8, 1), 1);
    assert_int_equal(machine_op_executed(r.m, 0, 7, 1), 1);
    rig_close(&r);
}

static int fifo_named(struct rig *r, const char *name, struct fifo_view *v)
{
    int i;

    for (i = 0; i < machine_fifo_count(r->m); i++) {
        machine_fifo(r->m, 0, i, v);
        if (strcmp(v->name, name) == 0)
            return i;
    }
    fail_msg("no fifo %s", name);
    return -1;
}

/* also when the bundle that takes it out is next, and its time is known */
static void check_fifo(enum run_mode mode)
{
    struct fifo_entry entry;
    struct fifo_view v;
    struct core_view c;
    struct rig r;
    int eup;

    rig_open(&r, "v3", &(struct rig_options){.mode = mode});
    rig_load(&r, 0, "{ v1 = vmov 1.0 }\n{ vpow2.f32 v1 }\n{ v2 = vpop.eup }\n{ shalt }\n");
    machine_start(r.m);
    do {
        c = at(&r, 0, machine_next_cycle(r.m) + 1);
    } while (c.bundle < 2);
    eup = fifo_named(&r, "eup", &v);
    assert_int_equal(v.count, 1);
    machine_fifo_entry(r.m, 0, eup, 0, &entry);
    assert_int_equal(entry.ready_at, c.issues_at);
    assert_int_equal(entry.pop, OP_VPOP_EUP);
    if (mode == MODE_BOTH)
        assert_int_equal(entry.data[5], f32_bits(2.0f));
    else
        assert_null(entry.data);
    at(&r, 0, c.issues_at + 1);
    fifo_named(&r, "eup", &v);
    assert_int_equal(v.count, 0);
    rig_close(&r);
}

TEST(a_result_stays_in_its_fifo_until_its_pop_issues)
{
    check_fifo(MODE_BOTH);
    check_fifo(MODE_TIMING);
}

TEST(words_on_their_way_to_the_scalar_side_are_told)
{
    struct fifo_entry entry;
    struct fifo_view v;
    struct rig r;
    int drf;

    begin(&r, "{ sdivrem.u32 17, 5 }\n{ s1 = spop.drf }\n{ s2 = spop.drf }\n{ shalt }\n");
    at(&r, 0, 1);
    drf = fifo_named(&r, "drf", &v);
    assert_int_equal(v.count, 2);
    machine_fifo_entry(r.m, 0, drf, 0, &entry);
    assert_int_equal(entry.data[0], 3);
    assert_int_equal(entry.pop, OP_SPOP_DRF);
    machine_fifo_entry(r.m, 0, drf, 1, &entry);
    assert_int_equal(entry.data[0], 2);
    rig_close(&r);
}

TEST(accumulators_with_a_sum_are_told)
{
    struct accumulator_view v;
    struct rig r;

    rig_open(&r, "v7x", NULL);
    rig_load(&r, 0, "{ v1 = vmov 1.0 }\n{ vmatpush.bf16.msra.mxu1 v1 }\n"
                    "{ vmatmul.bf16.vlgmr.msra.gmra.mrb[5].mxu1 v1 }\n{ vdelay 5 }\n{ shalt }\n");
    machine_start(r.m);
    machine_advance(r.m, 0);
    assert_int_equal(machine_accumulator_count(r.m, 0), 0);
    assert_int_equal(machine_advance(r.m, CYCLE_NEVER), MACHINE_HALTED);
    assert_int_equal(machine_accumulator_count(r.m, 0), 2);    /* bf16 rows come in sixteens */
    machine_accumulator(r.m, 0, 1, &v);
    assert_int_equal(v.unit, 1);
    assert_int_equal(v.number, 6);
    assert_false(v.is_integer);
    assert_non_null(v.half[1]);
    rig_close(&r);
}

TEST(a_copy_is_told_until_its_bytes_are_there)
{
    struct copy_view v;
    struct rig r;
    uint32_t word = 0;
    struct err e;

    begin(&r, "{ dma.hbm_to_vmem /*src=*/0x100, /*size_in_granules=*/64, /*dst=*/0x20, "
              "/*dst_syncflagno=*/[sflag:3] }\n{ dma.done.wait [sflag:3], 64 }\n"
              "{ vsyncset [sflag:3], 0 }\n{ shalt }\n");
    assert_int_equal(machine_hbm_write(r.m, 0, 0x2000, &(uint32_t){77}, 4, &e), 0);
    at(&r, 0, 0);
    assert_int_equal(machine_copy_count(r.m, 0), 0);
    at(&r, 0, 20);
    assert_int_equal(machine_copy_count(r.m, 0), 1);
    assert_int_equal(machine_copies_issued(r.m, 0), 1);
    machine_copy(r.m, 0, 0, &v);
    assert_int_equal(v.code, OP_DMA_HBM_VMEM);
    assert_int_equal(v.source, MEMORY_HBM);
    assert_int_equal(v.destination, MEMORY_VMEM);
    assert_int_equal(v.source_address, 0x2000);
    assert_int_equal(v.destination_address, 0x400);
    assert_int_equal(v.bytes, 2048);
    assert_int_equal(v.flag, 3);
    assert_false(v.is_complete || v.is_remote || v.is_strided);
    assert_true(machine_copy_touches(r.m, 0, 0, true, 0xbff, 8));
    assert_false(machine_copy_touches(r.m, 0, 0, true, 0xc00, 8));
    assert_true(machine_copy_touches(r.m, 0, 0, false, 0x1fff, 2));
    assert_false(machine_copy_touches(r.m, 0, 0, false, 0x1ff8, 8));
    assert_int_equal(machine_advance(r.m, CYCLE_NEVER), MACHINE_HALTED);
    assert_int_equal(machine_copy_count(r.m, 0), 0);
    assert_int_equal(machine_memory_read(r.m, 0, MEMORY_VMEM, 0x400, &word, 4, &e), 0);
    assert_int_equal(word, 77);
    rig_close(&r);
}

TEST(a_strided_copy_touches_its_runs_and_not_the_gaps)
{
    struct copy_view v;
    struct rig r;

    begin(&r, "{ dma.hbm_to_vmem /*src=*/0, /*size_in_granules=*/4, /*dst=*/0, "
              "/*dst_syncflagno=*/[sflag:0], /*src_stride=*/8, /*dst_stride=*/2, "
              "/*steps_per_stride=*/2 }\n{ dma.done.wait [sflag:0], 4 }\n"
              "{ vsyncset [sflag:0], 0 }\n{ shalt }\n");
    at(&r, 0, 5);
    machine_copy(r.m, 0, 0, &v);
    assert_true(v.is_strided);
    assert_int_equal(v.run_bytes, 64);
    assert_true(machine_copy_touches(r.m, 0, 0, false, 63, 1));
    assert_false(machine_copy_touches(r.m, 0, 0, false, 64, 192));
    assert_true(machine_copy_touches(r.m, 0, 0, false, 64, 193));
    rig_close(&r);
}

TEST(memories_refuse_ranges_beyond_their_end)
{
    unsigned char byte[8];
    struct rig r;
    struct err e;
    int i;

    rig_open(&r, "v4-8", NULL);         /* has a CMEM */
    for (i = 0; i < MEMORY_COUNT; i++) {
        int64_t size = machine_memory_bytes(r.m, (enum memory)i);

        assert_true(size > 0);
        assert_int_equal(machine_memory_read(r.m, 0, (enum memory)i, size - 8, byte, 8, &e), 0);
        assert_int_equal(machine_memory_read(r.m, 0, (enum memory)i, size - 7, byte, 8, &e), -1);
        assert_non_null(strstr(e.msg, memory_name((enum memory)i)));
    }
    rig_close(&r);
}

/* the same program run at once gives the same cycles, counters and operations */
TEST(looking_changes_nothing)
{
    static const char text[] =
        "{ s0 = smov 5 }\nloop:\n{ s0 = ssub.s32 s0, 1 ;; v1 = vld [vmem:0] }\n"
        "{ p0 = scmp.gt.s32.totalorder s0, 0 ;; vst [vmem:8] v1 }\n"
        "{ sbr.rel (p0) target = loop }\n{ v2 = vadd.f32 v1, v1 }\n{ shalt }\n";
    int64_t looked[OP_COUNT];
    struct rig once, paused;
    cycle_t next;
    int i;

    rig_open(&once, "v3", &(struct rig_options){.set = {"core.branch_delay_bundles=1"}});
    rig_open(&paused, "v3", &(struct rig_options){.set = {"core.branch_delay_bundles=1"}});
    rig_cycles(&once, text);
    rig_load(&paused, 0, text);
    machine_start(paused.m);
    while ((next = machine_next_cycle(paused.m)) != CYCLE_NEVER
           && machine_advance(paused.m, next + 1) == MACHINE_PAUSED) {
        struct core_view v;
        struct unit_view u;
        struct fifo_view f;

        machine_core(paused.m, 0, &v);
        for (i = 0; i < machine_unit_count(paused.m); i++)
            machine_unit(paused.m, 0, i, &u);
        for (i = 0; i < machine_fifo_count(paused.m); i++)
            machine_fifo(paused.m, 0, i, &f);
        machine_op_counts(paused.m, 0, looked);
    }
    machine_op_counts(paused.m, 0, looked);
    machine_finish(paused.m);
    assert_int_equal(machine_cycles(paused.m), machine_cycles(once.m));
    assert_memory_equal(machine_counters(paused.m, 0)->stall_cycles,
                        machine_counters(once.m, 0)->stall_cycles, sizeof(cycle_t) * STALL_COUNT);
    assert_memory_equal(looked, machine_counters(once.m, 0)->op_count, sizeof(looked));
    rig_close(&once);
    rig_close(&paused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_hold_what_the_issued_bundles_wrote),
        cmocka_unit_test(a_mask_shows_its_rectangle),
        cmocka_unit_test(a_core_tells_its_bundle_and_what_it_waits_for),
        cmocka_unit_test(bundle_stalls_add_up_to_those_of_the_core),
        cmocka_unit_test(bundles_tell_what_their_copies_came_to),
        cmocka_unit_test(a_result_stays_in_its_fifo_until_its_pop_issues),
        cmocka_unit_test(words_on_their_way_to_the_scalar_side_are_told),
        cmocka_unit_test(accumulators_with_a_sum_are_told),
        cmocka_unit_test(a_copy_is_told_until_its_bytes_are_there),
        cmocka_unit_test(a_strided_copy_touches_its_runs_and_not_the_gaps),
        cmocka_unit_test(memories_refuse_ranges_beyond_their_end),
        cmocka_unit_test(looking_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
