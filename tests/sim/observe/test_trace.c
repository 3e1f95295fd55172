/*
 * What a trace tells, record by record, and what the expander makes of it.
 * That sums are the counters' and that loops are told as they run is held in
 * every traced launch of the other tests (tests/rigs/trace_log.h).
 */
#include "base/units.h"
#include "sim/observe/inspect.h"
#include "sim/core/program.h"
#include "sim/snapshot/snapshot.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

static const struct rig_options traced = {.trace = true};

/* "R0+3@0 S17.2@3": kind, bundle, + cycles, . reason, = value, @ cycle */
static char *print_records(const struct trace_record *r, size_t count, char *to, size_t to_bytes)
{
    size_t length = 0;

    to[0] = '\0';
    for (size_t i = 0; i < count && length < to_bytes; i++, r++) {
        static const char kinds[TRACE_KIND_COUNT] = "RSLMAH";
        char value[80] = "";

        if (r->kind == TRACE_RUN || r->kind == TRACE_STALL)
            snprintf(value, sizeof(value), "+%lld", (long long)r->value);
        else if (r->kind == TRACE_ACCESS)
            snprintf(value, sizeof(value), ".%d=%lld:%d/%02x", r->op, (long long)r->value,
                     (int)r->stride, r->mask);
        else if (r->kind != TRACE_HALT)
            snprintf(value, sizeof(value), "=%lld", (long long)r->value);
        length += (size_t)snprintf(to + length, to_bytes - length, "%s%c%u%s%s%s@%lld",
                                   i ? " " : "", kinds[r->kind], (unsigned)r->bundle, value,
                                   r->kind == TRACE_STALL ? " " : "",
                                   r->kind == TRACE_STALL
                                       ? stall_name((enum stall_reason)r->reason) : "",
                                   (long long)r->at);
    }
    return to;
}

static void assert_records(const struct rig *r, int core, const char *expected)
{
    static char text[4096];

    assert_string_equal(print_records(r->log.core[core].record, r->log.core[core].count, text,
                                      sizeof(text)), expected);
}

static void check_program(const char *text, const char *expected)
{
    struct rig r;

    rig_open(&r, "v3", &traced);
    rig_cycles(&r, text);
    assert_records(&r, 0, expected);
    rig_close(&r);
}

TEST(bundles_that_follow_each_other_are_one_record)
{
    check_program("{ s0 = smov 1 }\n{ s1 = smov 2 }\n{ s2 = smov 3 }\n{ shalt }\n",
                  "R0+4@0 H3@4");
}

TEST(stalls_and_jumps_end_a_run)
{
    check_program("{ s0 = smov 1 }\n{ vdelay 10 }\n{ s1 = smov 2 }\n{ sbr.rel target = end }\n"
                  "{ }\n{ }\n{ }\n{ }\n{ s2 = smov 3 }\nend:\n{ shalt }\n",
                  "R0+2@0 S2+10 delay@2 R2+3@12 R9+1@15 H9@16");
}

/* operation 0 is written first, whatever the order in which they are executed */
TEST(failed_guards_are_told_by_the_order_written)
{
    check_program("{ s0 = smov 1 }\n{ p0 = scmp.eq.s32.totalorder s0, 2 }\n"
                  "{ s1 = smov 2 ;; s2 = smov (p0) 3 }\n{ s1 = smov (!p0) 4 }\n"
                  "{ s4 = smov (p0) s1 ;; s1 = smov s4 }\n{ shalt }\n",
                  "R0+2@0 S2+1 operand@2 L2=1@3 R2+2@3 L4=2@5 R4+2@5 H5@7");
}

TEST(markers_come_behind_the_run_they_lie_in)
{
    check_program("{ s0 = smov 1 }\n{ vtrace 5 }\n{ vtrace s0 }\n{ vdelay 3 }\n{ shalt }\n",
                  "R0+4@0 M1=5@1 M2=1@2 S4+3 delay@4 R4+1@7 H4@8");
}

static void check_accesses(const char *text, enum run_mode mode, const char *expected)
{
    const struct rig_options o = {.trace = true, .mode = mode};
    struct rig r;

    rig_open(&r, "v3", &o);
    r.log.sink.wants_access = true;
    rig_load(&r, 0, text);
    rig_run(&r);
    assert_records(&r, 0, expected);
    rig_close(&r);
}

#define ACCESSES "{ s0 = smov 16 }\n{ v0 = vld [vmem:s0 + 8] ;; s0 = smov 99 }\n" \
                 "{ vst [vmem:0x20] sm:$0x0f v0 }\n{ v1 = vld [vmem:0x40] ss:$2 }\n"

TEST(accesses_are_told_where_wanted)
{
    for (int mode = MODE_BOTH; mode <= MODE_TIMING; mode++)
        check_accesses(ACCESSES "{ shalt }\n", (enum run_mode)mode,
                       "R0+3@0 A1.0=24:1/ff@1 A2.0=32:1/0f@2 S3+1 vmem_bank@3 R3+2@4 "
                       "A3.0=64:2/ff@4 H4@6");
}

/* rows 100 + 3 * i for sublane i; of those of sublanes 0 and 2 a record each */
TEST(accesses_by_an_index_register_are_told_row_by_row)
{
    struct rig r;
    int32_t offset[1024];
    struct err e;
    int told = 0;

    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 128; j++)
            offset[i * 128 + j] = 3 * i;
    rig_open(&r, "v3", &traced);
    r.log.sink.wants_access = true;
    rig_load(&r, 0, "{ v0 = vld [vmem:0x0] }\n{ vsetiar.raw.iar0 v0 }\n{ s0 = smov 100 }\n"
                    "{ v1 = vld.iar0 [vmem:s0] sm:$0x5 }\n{ shalt }\n");
    assert_int_equal(machine_vmem_write(r.m, 0, 0, offset, sizeof(offset), &e), 0);
    assert_int_equal(rig_run(&r), 0);
    for (size_t i = 0; i < r.log.core[0].count; i++) {
        const struct trace_record *a = &r.log.core[0].record[i];

        if (a->kind != TRACE_ACCESS || a->bundle != 3)
            continue;
        assert_int_equal(a->value, told == 0 ? 100 : 106);
        assert_int_equal(a->mask, told == 0 ? 1 : 4);
        told++;
    }
    assert_int_equal(told, 2);
    rig_close(&r);
}

/* more of them than a recorder keeps until a run ends */
TEST(a_long_run_with_many_accesses_is_told_whole)
{
    enum { LOADS = 1500 };
    static const char load[] = "{ v0 = vld [vmem:0x80] }\n";
    const struct log_core *c;
    struct rig r;
    char *text;
    int told = 0;

    rig_open(&r, "v3", &traced);
    r.log.sink.wants_access = true;
    text = arena_alloc(&r.arena, LOADS * sizeof(load) + 20);
    for (int i = 0; i < LOADS; i++)
        memcpy(text + (size_t)i * (sizeof(load) - 1), load, sizeof(load));
    strcat(text, "{ shalt }\n");
    rig_cycles(&r, text);
    c = &r.log.core[0];
    for (size_t i = 0; i < c->count; i++)
        if (c->record[i].kind == TRACE_ACCESS)
            assert_int_equal(c->record[i].at, told++);
    assert_int_equal(told, LOADS);
    rig_close(&r);
}

/* neither the bundle nor what it was about to do */
TEST(a_bundle_that_faults_is_not_told)
{
    check_accesses("{ s0 = smov 99999 }\n{ vtrace 3 ;; v1 = vld [vmem:s0] }\n{ shalt }\n", MODE_BOTH,
                   "R0+1@0");
    check_accesses("{ s0 = smov 99999 }\n{ vdelay 5 }\n{ vtrace 3 }\n{ v0 = vld [vmem:s0] }\n"
                   "{ shalt }\n", MODE_TIMING, "R0+2@0 S2+5 delay@2 R2+1@7 M2=3@7");
}

/* ---- pauses, launches, sinks ---- */

TEST(all_up_to_a_pause_has_been_told)
{
    struct rig r;

    rig_open(&r, "v3", &traced);
    rig_load(&r, 0, "{ s0 = smov 1 }\n{ s0 = smov 2 }\n{ vdelay 10 }\n{ s1 = smov 2 }\n"
                    "{ shalt }\n");
    machine_start(r.m);
    assert_int_equal(r.log.begun, 0);
    machine_advance(r.m, 2);
    assert_int_equal(r.log.begun, 1);
    assert_records(&r, 0, "R0+2@0");
    machine_advance(r.m, 8);            /* a stall is told when its bundle issues */
    assert_records(&r, 0, "R0+2@0 R2+1@2");
    machine_advance(r.m, CYCLE_NEVER);
    assert_records(&r, 0, "R0+2@0 R2+1@2 S3+10 delay@3 R3+2@13 H4@15");
    assert_int_equal(r.log.ended, 0);
    machine_finish(r.m);
    rig_check(&r);
    rig_close(&r);
}

/* a sink that counts calls */
struct calls {
    size_t most, records;
    int launches;
};

static void count_core(void *context, int core, const struct trace_record *r, size_t count)
{
    struct calls *c = context;

    (void)core;
    (void)r;
    c->records += count;
    c->most = count > c->most ? count : c->most;
}

static void count_end(void *context, const struct machine *m)
{
    (void)m;
    ((struct calls *)context)->launches++;
}

/* 10,000 iterations of two records each or more, in pieces of bounded size; then nobody listens */
TEST(a_long_launch_is_told_in_pieces)
{
    struct calls calls = {.launches = 0};
    const struct trace_sink sink = {.context = &calls, .core = count_core, .end = count_end};
    struct rig r;

    rig_open(&r, "v3", NULL);
    machine_set_trace(r.m, &sink);
    rig_cycles(&r, "{ s0 = smov 0 }\nloop:\n{ s0 = sadd.s32 s0, 1 }\n"
                   "{ p0 = scmp.lt.s32.totalorder s0, 10000 }\n{ sbr.rel (p0) target = loop }\n"
                   "{ }\n{ }\n{ }\n{ }\n{ shalt }\n");
    assert_true(calls.records > 10000);
    assert_true(calls.most <= 4096);
    assert_int_equal(calls.launches, 1);
    machine_set_trace(r.m, NULL);
    calls.records = 0;
    assert_int_equal(rig_run(&r), 0);
    assert_int_equal(calls.records, 0);
    assert_int_equal(calls.launches, 1);
    rig_close(&r);
}

/* what a debugger does: back to a snapshot, and on again */
TEST(a_launch_that_is_taken_up_again_is_told_again)
{
    static const char text[] = "{ dma.hbm_to_vmem 0, 512, 0, [sflag:0] }\n{ s0 = smov 1 }\n"
                               "{ dma.done.wait [sflag:0], 512 }\n"
                               "{ vsyncadd [sflag:0], -512 }\n{ v0 = vld [vmem:0x0] }\n"
                               "{ vst [vmem:0x0] v0 }\n{ shalt }\n";
    struct bytes snapshot = {0};
    struct rig whole, back;
    struct err e;

    rig_open(&whole, "v3", &traced);
    rig_cycles(&whole, text);
    rig_open(&back, "v3", &traced);
    rig_load(&back, 0, text);
    machine_start(back.m);
    machine_advance(back.m, 50);
    machine_save(back.m, &snapshot);
    machine_advance(back.m, 400);
    assert_int_equal(machine_restore(back.m, snapshot.data, snapshot.size, &e), 0);
    machine_advance(back.m, CYCLE_NEVER);
    assert_int_equal(back.log.begun, 2);
    assert_int_equal(back.log.ended, 0);
    assert_int_equal(back.log.resumed_at, 2);   /* it waits since then */
    machine_finish(back.m);
    trace_log_assert_tail(&whole.log, &back.log, "back");
    assert_int_equal(back.log.core[0].record[0].kind, TRACE_STALL);
    assert_int_equal(back.log.core[0].dma_count, 1);
    mem_free(snapshot.data);
    rig_close(&whole);
    rig_close(&back);
}

/* as `systole run --resume --trace` does */
TEST(a_sink_may_be_set_after_a_snapshot_is_taken_up)
{
    static const char text[] = "{ vdelay 20 }\n{ s0 = smov 1 }\n{ vdelay 20 }\n{ shalt }\n";
    struct bytes snapshot = {0};
    struct trace_log log;
    struct rig r;
    struct err e;

    rig_open(&r, "v3", NULL);
    rig_load(&r, 0, text);
    machine_start(r.m);
    machine_advance(r.m, 30);
    machine_save(r.m, &snapshot);
    assert_int_equal(machine_restore(r.m, snapshot.data, snapshot.size, &e), 0);
    trace_log_open(&log, r.m);
    machine_advance(r.m, CYCLE_NEVER);
    machine_finish(r.m);
    assert_int_equal(log.resumed_at, 23);
    assert_int_equal(log.core[0].count, 3);
    assert_int_equal(log.core[0].record[0].kind, TRACE_STALL);
    assert_int_equal(log.core[0].record[0].at, 23);
    assert_int_equal(log.core[0].record[2].kind, TRACE_HALT);
    assert_int_equal(log.ended, 1);
    mem_free(snapshot.data);
    rig_close(&r);
    trace_log_close(&log);
}

/* ---- occupancy ---- */

static uint32_t busy_of(const struct rig *r, const struct isa_program *p,
                        const struct trace_op *table, uint32_t index, const char *unit)
{
    assert_string_equal(machine_counters(r->m, 0)->unit[table[index].track].name, unit);
    assert_int_equal(table[index].code, p->op[index].code);
    return table[index].busy_cycles;
}

TEST(operations_occupy_what_the_chip_says)
{
    static const char text[] =
        "{ s0 = smov 1 ;; v0 = vld [vmem:0x0] }\n{ vmatpush.msra.mxu0 v0 }\n"
        "{ vmatmul.f32.vlgmr.msra.gmra.mxu0 v0 }\n{ vmatmul.f32.gmra.mxu0 v0 }\n"
        "{ v1 = vpop.f32.mrf.mxu0 }\n{ v1 = vpop.f32.mrf.mxu0 }\n{ vrcp.f32 v0 }\n"
        "{ v1 = vpop.eup }\n"
        "{ vadd.xlane.f32.xlu0 v0 }\n{ v1 = vpop.xlane.xlu0 }\n"
        "{ dma.hbm_to_vmem 0, 1, 0, [sflag:0] }\n{ dma.done.wait [sflag:0], 1 }\n"
        "{ vsyncadd [sflag:0], -1 }\n{ shalt }\n";
    const struct isa_program *p;
    const struct trace_op *t;
    const struct chip *c;
    struct rig r;

    rig_open(&r, "v3", &traced);
    rig_cycles(&r, text);
    c = &r.chip;
    p = machine_program(r.m, 0);
    t = trace_op_table(r.m, p, &r.arena);
    assert_int_equal(busy_of(&r, p, t, 0, "scalar"), 1);
    assert_int_equal(busy_of(&r, p, t, 1, "load"), 1);
    assert_int_equal(busy_of(&r, p, t, 2, "mxu0.push"), c->mxu_push_f32_cycles);
    assert_int_equal(busy_of(&r, p, t, 3, "mxu0"),
                     c->mxu_latch_cycles + c->mxu_matmul_f32_cycles);
    assert_int_equal(busy_of(&r, p, t, 4, "mxu0"), c->mxu_matmul_f32_cycles);
    assert_int_equal(busy_of(&r, p, t, 5, "mxu0"), 0);
    assert_int_equal(busy_of(&r, p, t, 7, "eup"), c->eup_issue_cycles);
    assert_int_equal(busy_of(&r, p, t, 9, "xlu0"), c->xlu_issue_cycles);
    assert_int_equal(busy_of(&r, p, t, 11, "dma"), 0);
    rig_close(&r);
}

/* ---- the expander, on records made by hand ---- */

static char seen[2000];

static void note(void *context, const struct trace_event *e)
{
    size_t length = strlen(seen);

    (void)context;
    snprintf(seen + length, sizeof(seen) - length, "%s%d:%u:%lld-%lld", length ? " " : "",
             e->track, (unsigned)e->op, (long long)e->start, (long long)e->end);
}

/* two scalar operations; one that keeps unit 8 busy for 5 cycles, twice; one that keeps none */
static struct isa_op hand_op[5];
static struct isa_bundle hand_bundle[] = {
    {.first_op = 0, .op_count = 2}, {.first_op = 2, .op_count = 2}, {.first_op = 4, .op_count = 1}};
static const struct isa_program hand = {.op = hand_op, .bundle = hand_bundle, .op_count = 5,
                                        .bundle_count = 3};
static const struct trace_op occupancy[] = {{OP_SMOV, TRACK_SCALAR, 1}, {OP_SADD, TRACK_SCALAR, 1},
                                            {OP_VMATMUL, 8, 5}, {OP_VMATMUL, 8, 5},
                                            {OP_VPOP_MRF, 8, 0}};

static const char *expand(bool wants_ops, bool wants_bundles, const struct trace_record *r,
                          size_t count)
{
    struct trace_expander e = {.program = &hand, .op = occupancy, .wants_ops = wants_ops,
                               .wants_bundles = wants_bundles, .event = note};

    seen[0] = '\0';
    trace_expand(&e, r, count);
    return seen;
}

TEST(units_take_their_operations_one_after_the_other)
{
    static const struct trace_record runs[] = {
        {.kind = TRACE_RUN, .at = 0, .value = 3, .bundle = 0},
        {.kind = TRACE_STALL, .at = 3, .value = 2, .bundle = 1, .reason = STALL_MXU},
        {.kind = TRACE_RUN, .at = 5, .value = 1, .bundle = 1},
        {.kind = TRACE_MARK, .at = 5, .value = 7, .bundle = 1},
        {.kind = TRACE_HALT, .at = 6, .bundle = 1}};

    assert_string_equal(expand(false, false, runs, COUNT_OF(runs)),
                        "0:1:0-1 8:3:1-6 8:4:6-11 -1:0:3-5 8:3:11-16 8:4:16-21 -3:0:5-5");
    assert_string_equal(expand(true, false, runs, 1), "0:1:0-1 0:2:0-1 8:3:1-6 8:4:6-11 8:5:2-2");
    assert_string_equal(expand(false, true, runs, 1),
                        "-2:0:0-1 0:1:0-1 -2:0:1-2 8:3:1-6 8:4:6-11 -2:0:2-3");
}

TEST(operations_whose_guard_fails_are_not_there)
{
    static const struct trace_record runs[] = {
        {.kind = TRACE_LIVE, .at = 4, .value = 2, .bundle = 0},
        {.kind = TRACE_RUN, .at = 4, .value = 2, .bundle = 0},
        {.kind = TRACE_LIVE, .at = 6, .value = 0, .bundle = 0},
        {.kind = TRACE_RUN, .at = 6, .value = 1, .bundle = 0},
        {.kind = TRACE_RUN, .at = 7, .value = 1, .bundle = 0}};

    assert_string_equal(expand(true, false, runs, COUNT_OF(runs)),
                        "0:2:4-5 8:3:5-10 8:4:10-15 0:1:7-8 0:2:7-8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bundles_that_follow_each_other_are_one_record),
        cmocka_unit_test(stalls_and_jumps_end_a_run),
        cmocka_unit_test(failed_guards_are_told_by_the_order_written),
        cmocka_unit_test(markers_come_behind_the_run_they_lie_in),
        cmocka_unit_test(accesses_are_told_where_wanted),
        cmocka_unit_test(accesses_by_an_index_register_are_told_row_by_row),
        cmocka_unit_test(a_long_run_with_many_accesses_is_told_whole),
        cmocka_unit_test(a_bundle_that_faults_is_not_told),
        cmocka_unit_test(all_up_to_a_pause_has_been_told),
        cmocka_unit_test(a_long_launch_is_told_in_pieces),
        cmocka_unit_test(a_launch_that_is_taken_up_again_is_told_again),
        cmocka_unit_test(a_sink_may_be_set_after_a_snapshot_is_taken_up),
        cmocka_unit_test(operations_occupy_what_the_chip_says),
        cmocka_unit_test(units_take_their_operations_one_after_the_other),
        cmocka_unit_test(operations_whose_guard_fails_are_not_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
