/*
 * Snapshots in memory: does a run that goes on from one, on another machine
 * with other threads and another SIMD path, end in the same state to the bit,
 * and as a run that never paused?
 */
#include "sim/snapshot/snapshot.h"

#include "base/rng.h"
#include "base/units.h"
#include "isa/file.h"
#include "sim/lanes/simd.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

#define DATA_BYTES (256 * 1024)
#define EXPECT "\n// expect: "

/* A program, on all cores or on the first, and what it runs on. */
struct run {
    const char *name, *text, *slice;
    const char *simd;                   /* of the machine that goes on */
    const char *fault;                  /* part of the message it ends with; NULL: none */
    int count;                          /* of snapshots at random cycles */
    struct rig_options options;
    uint64_t seed;
};

static void give_data(struct rig *r, int core, uint64_t seed)
{
    static float data[DATA_BYTES / 4];
    struct rng rng;
    struct err e;

    rng_init(&rng, seed + (uint64_t)core);
    for (size_t i = 0; i < COUNT_OF(data); i++)
        data[i] = rng_uniform(&rng, -1.0f, 1.0f);
    if (machine_hbm_write(r->m, core, 0, data, sizeof(data), &e))
        fail_msg("%s", e.msg);
}

static void open_run(struct rig *r, const struct run *x, const char *simd, int threads,
                     bool with_data)
{
    struct rig_options o = x->options;
    bool all = strstr(x->text, "// cores: all\n") != NULL;
    int count;

    o.simd = simd;
    o.thread_count = threads;
    rig_open(r, x->slice, &o);
    count = all ? machine_core_count(r->m) : 1;
    for (int core = 0; core < count; core++) {
        const int32_t ring[4] = {core, count, (core + 1) % count, (core + count - 1) % count};
        struct err e;

        rig_load(r, core, x->text);
        if (!with_data)
            continue;
        if (machine_smem_write(r->m, core, 0, ring, sizeof(ring), &e))
            fail_msg("%s", e.msg);
        give_data(r, core, x->seed);
        /* all or half of what the exchange copies from HBM to HBM; timing mode only */
        if (machine_hbm_set_unknown(r->m, core, 1024 * 32, x->seed % 2 ? 8192 : 4096, &e))
            fail_msg("%s", e.msg);
    }
}

static void assert_same_counters(const struct run *x, cycle_t at, const struct machine *a,
                                 const struct machine *b)
{
    if (machine_cycles(a) != machine_cycles(b))
        fail_msg("%s on %s, snapshot at %lld, seed %llu: %lld cycles instead of %lld", x->name,
                 x->slice, (long long)at, (unsigned long long)x->seed,
                 (long long)machine_cycles(b), (long long)machine_cycles(a));
    for (int i = 0; i < machine_core_count(a); i++) {
        if (memcmp(machine_counters(a, i), machine_counters(b, i),
                   sizeof(struct core_counters)) != 0)
            fail_msg("%s on %s, snapshot at %lld: counters of core %d differ", x->name, x->slice,
                     (long long)at, i);
    }
    assert_string_equal(machine_fault(a)->msg, machine_fault(b)->msg);
    for (int i = 0; i < machine_slice(a)->chip_count; i++)
        assert_memory_equal(machine_hbm_stats(a, i), machine_hbm_stats(b, i),
                            sizeof(struct hbm_stats));
    for (int i = 0; machine_net(a) && i < net_link_count(machine_net(a)); i++)
        assert_memory_equal(net_link(machine_net(a), i), net_link(machine_net(b), i),
                            sizeof(struct net_link_stats));
}

static void assert_same_memories(struct machine *a, struct machine *b)
{
    static unsigned char data[2][DATA_BYTES];
    struct err e;

    for (int i = 0; i < machine_core_count(a); i++) {
        assert_int_equal(machine_hbm_read(a, i, 0, data[0], DATA_BYTES, &e), 0);
        assert_int_equal(machine_hbm_read(b, i, 0, data[1], DATA_BYTES, &e), 0);
        assert_int_equal(memcmp(data[0], data[1], DATA_BYTES), 0);
        for (int64_t at = 0; at < machine_chip(a)->vmem_bytes; at += DATA_BYTES) {
            int64_t left = machine_chip(a)->vmem_bytes - at;
            int64_t bytes = left < DATA_BYTES ? left : DATA_BYTES;

            assert_int_equal(machine_vmem_read(a, i, at, data[0], bytes, &e), 0);
            assert_int_equal(machine_vmem_read(b, i, at, data[1], bytes, &e), 0);
            assert_int_equal(memcmp(data[0], data[1], (size_t)bytes), 0);
        }
        assert_int_equal(machine_smem_read(a, i, 0, data[0], 1024, &e), 0);
        assert_int_equal(machine_smem_read(b, i, 0, data[1], 1024, &e), 0);
        assert_memory_equal(data[0], data[1], 1024);
    }
}

static void assert_same_bytes(const struct run *x, cycle_t at, const struct bytes *a,
                              const struct bytes *b)
{
    size_t i = 0;

    if (a->size == b->size && memcmp(a->data, b->data, a->size) == 0)
        return;
    while (i < a->size && i < b->size && a->data[i] == b->data[i])
        i++;
    fail_msg("%s on %s, snapshot at %lld, seed %llu: states of %zu and %zu bytes differ at %zu",
             x->name, x->slice, (long long)at, (unsigned long long)x->seed, a->size, b->size, i);
}

/* Three machines: one never pauses, one does, one goes on from what that has saved. */
struct trio {
    struct rig straight, paused, other;
    struct bytes start;                 /* before the first cycle */
};

static void restore(const struct run *x, struct machine *m, const struct bytes *b)
{
    struct err e;

    if (machine_restore(m, b->data, b->size, &e))
        fail_msg("%s on %s: %s", x->name, x->slice, e.msg);
}

static void check_snapshot_at(const struct run *x, struct trio *t, cycle_t at)
{
    struct bytes before = {0}, again = {0}, end = {0}, other_end = {0};

    restore(x, t->paused.m, &t->start);
    machine_advance(t->paused.m, at);
    machine_save(t->paused.m, &before);
    machine_advance(t->paused.m, CYCLE_NEVER);
    machine_save(t->paused.m, &end);
    restore(x, t->other.m, &before);
    machine_save(t->other.m, &again);
    assert_same_bytes(x, at, &before, &again);
    machine_advance(t->other.m, CYCLE_NEVER);
    machine_save(t->other.m, &other_end);
    assert_same_bytes(x, at, &end, &other_end);
    machine_finish(t->other.m);
    assert_same_counters(x, at, t->straight.m, t->other.m);
    if (x->options.trace) {
        assert_in_range(t->other.log.resumed_at, 0, at);
        trace_log_assert_tail(&t->straight.log, &t->other.log, x->name);
    }
    mem_free(before.data);
    mem_free(again.data);
    mem_free(end.data);
    mem_free(other_end.data);
}

/* at random cycles of the run, and at its ends */
static void check_run(const struct run *x)
{
    int count = test_is_long() ? 40 * x->count : x->count;
    struct trio t = {.start = {0}};
    struct rng rng;

    open_run(&t.straight, x, "auto", 1, true);
    open_run(&t.paused, x, "auto", 1, false);
    open_run(&t.other, x, x->simd, 2, false);
    machine_start(t.straight.m);
    machine_save(t.straight.m, &t.start);
    machine_advance(t.straight.m, CYCLE_NEVER);
    machine_finish(t.straight.m);
    if (!strstr(machine_fault(t.straight.m)->msg, x->fault ? x->fault : "")
        || (machine_fault(t.straight.m)->kind != FAULT_NONE) != (x->fault != NULL))
        fail_msg("%s on %s ends with \"%s\"", x->name, x->slice,
                 machine_fault(t.straight.m)->msg);
    check_snapshot_at(x, &t, 0);
    check_snapshot_at(x, &t, machine_cycles(t.straight.m));
    rng_init(&rng, x->seed);
    while (count-- > 0)
        check_snapshot_at(x, &t, (cycle_t)(rng_next(&rng)
                                           % (uint64_t)machine_cycles(t.straight.m)));
    if (x->options.mode != MODE_TIMING)
        assert_same_memories(t.straight.m, t.other.m);
    mem_free(t.start.data);
    rig_close(&t.straight);
    rig_close(&t.paused);
    rig_close(&t.other);
}

static void check_example(const char *path, const char *simd, int count)
{
    struct run x = {.name = path, .simd = simd, .count = count,
                    .options = {.set = {"vmem.bytes=33554432"}, .cycle_limit = 10000000},
                    .seed = 1};
    struct arena a;
    char name[16];
    uint8_t *bytes;
    size_t size;
    struct err e;

    arena_init(&a);
    if (isa_file_read(path, &a, &bytes, &size, &e))
        fail_msg("%s: %s", e.file, e.msg);
    x.text = arena_printf(&a, "%.*s", (int)size, (const char *)bytes);
    for (const char *at = x.text; (at = strstr(at, EXPECT)) != NULL;) {
        at += strlen(EXPECT);
        assert_int_equal(sscanf(at, "%15s", name), 1);
        x.slice = name;
        x.options.trace = !x.options.trace;
        x.seed++;
        check_run(&x);
    }
    arena_fini(&a);
}

/*
 * Cores that send each other rows of VMEM and HBM, whole pages of its contents among them, over
 * links too, with flags and questions.
 */
static const char exchange[] =
    "// cores: all\n"
    "{ s1 = sld [smem:0] }\n{ s2 = sld [smem:8] }\n{ s3 = smov 0 }\n{ s4 = smov 20 }\n"
    "{ dma.hbm_to_vmem 0, 512, 0, [sflag:0] }\n{ dma.done.wait [sflag:0], 512 }\n"
    "{ vsyncadd [sflag:0], -512 }\n"
    "loop: { dma.vmem_to_vmem.remote 0, 128, 512, [sflag:1], [sflag:2], s2 }\n"
    "{ dma.hbm_to_hbm.remote 1024, 4500, 9216, [sflag:3], [sflag:4], s2 }\n"
    "{ dma.vmem_to_hbm 0, 64, 16384, [sflag:5] }\n"
    "{ vsyncadd.remote [sflag:6], 1, s2 }\n"
    "{ dma.done.wait [sflag:1], 128 }\n{ vsyncadd [sflag:1], -128 }\n"
    "{ v1 = vld [vmem:32] }\n{ v1 = vadd.f32 v1, v1 }\n{ vst [vmem:0x0] v1 }\n"
    "{ dma.done.wait [sflag:2], 128 }\n{ vsyncadd [sflag:2], -128 }\n"
    "{ dma.done.wait [sflag:3], 4500 }\n{ vsyncadd [sflag:3], -4500 }\n"
    "{ dma.done.wait [sflag:4], 4500 }\n{ vsyncadd [sflag:4], -4500 }\n"
    "{ dma.done.wait [sflag:5], 64 }\n{ vsyncadd [sflag:5], -64 }\n"
    "{ vwait.ge [sflag:6], 1 }\n{ vsyncadd [sflag:6], -1 }\n"
    "{ s5 = vsyncmov.remote [sflag:7], s2 }\n{ s6 = sadd.s32 s6, s5 }\n"
    "{ s3 = sadd.s32 s3, 1 }\n{ p0 = scmp.lt.s32.totalorder s3, s4 }\n{ sbr.rel (p0) target = loop }\n{ }\n{ }\n{ }\n{ }\n"
    "{ shalt }\n";

TEST(copies_between_chips_go_on_from_a_snapshot_in_every_mode)
{
    static const char *const slices[] = {"tiny-2", "v3-8", "v5e-4"};

    for (size_t i = 0; i < 3 * COUNT_OF(slices); i++)
        check_run(&(struct run){.name = "exchange", .text = exchange, .slice = slices[i / 3],
                                .simd = "c", .count = 4, .seed = 7 + i,
                                .fault = i == 3 ? "race: vst writes" : NULL,
                                .options = {.mode = (enum run_mode)(i % 3), .trace = i == 0,
                                            .set = {"core.branch_delay_bundles=4",
                                                    "vmem.bytes=131072",
                                                    "dma.queue_depth=4"},
                                            .check_races = i == 3, .check_unwritten = i % 3 == 2,
                                            .cycle_limit = 1000000}});
}

TEST(faults_after_a_snapshot_are_the_same)
{
    static const char deadlock[] = "// cores: all\n{ vsyncadd [sflag:1], 2 }\n{ vdelay 40 }\n"
                                   "{ vwait.ge [sflag:1], 3 }\n{ shalt }\n";
    static const char range[] = "{ s1 = smov 5 }\n{ vdelay 30 }\n{ s2 = smov 99999 }\n{ vdelay 9 }\n"
                                "{ v1 = vld [vmem:s2] }\n{ shalt }\n";
    static const char below[] =         /* the message is from bundle 36 */
        "// cores: all\n{ s2 = sld [smem:8] }\n{ }\n{ }\n{ }\n{ }\n{ }\n{ }\n{ }\n{ }\n{ }\n{ }\n"
        "{ }\n{ }\n{ }\n{ }\n{ }\n{ }\n{ }\n{ }\n{ }\n{ }\n{ }\n{ }\n{ }\n{ }\n{ }\n{ }\n{ }\n{ }\n"
        "{ }\n{ }\n{ }\n{ }\n{ }\n{ }\n{ }\n{ vsyncadd.remote [sflag:3], -1, s2 }\n"
        "{ vwait.ne [sflag:3], 0 }\n{ shalt }\n";
    static const char limit[] = "loop: { sbr.rel target = loop }\n{ }\n";

    check_run(&(struct run){.name = "deadlock", .text = deadlock, .slice = "tiny-2", .simd = "c",
                            .count = 3, .seed = 1, .fault = "deadlock"});
    check_run(&(struct run){.name = "range", .text = range, .slice = "tiny-2", .simd = "c",
                            .count = 3, .seed = 2, .fault = "vmem address"});
    check_run(&(struct run){.name = "below", .text = below, .slice = "tiny-2", .simd = "c",
                            .count = 6, .seed = 4, .fault = "bundle 36 (line 38): flag underflow"});
    check_run(&(struct run){.name = "limit", .text = limit, .slice = "tiny-2", .simd = "c",
                            .count = 3, .seed = 3, .fault = "cycle limit of 1000",
                            .options = {.cycle_limit = 1000}});
}

/* pushes more than the FIFOs hold: those of a listing grow, and shrink when the past returns */
TEST(fifos_that_have_grown_go_back_to_what_they_were)
{
    static const char push[] = "{ v1 = vld [vmem:0x0] }\n{ s1 = smov 0 }\n"
        "up: { vrcp.f32 v1 ;; s1 = sadd.s32 s1, 1 }\n{ p0 = scmp.lt.s32.totalorder s1, 100 }\n"
        "{ sbr.rel (p0) target = up }\n{ }\n{ s2 = smov 0 }\n"
        "down: { v1 = vpop.eup ;; s2 = sadd.s32 s2, 1 }\n"
        "{ p0 = scmp.lt.s32.totalorder s2, 100 }\n{ sbr.rel (p0) target = down }\n{ }\n"
        "{ vst [vmem:0x0] v1 }\n{ shalt }\n";
    struct bytes early = {0}, late = {0}, again = {0}, end[2] = {{0}};
    struct err e;
    struct rig r;

    rig_open(&r, "tiny", NULL);
    assert_int_equal(machine_load_listing(r.m, 0, rig_assemble(&r, push), -1, &e), 0);
    machine_start(r.m);
    machine_advance(r.m, 10);
    machine_save(r.m, &early);
    machine_advance(r.m, 350);
    machine_save(r.m, &late);
    assert_true(late.size > early.size + 50 * 4096);
    assert_int_equal(machine_advance(r.m, CYCLE_NEVER), MACHINE_HALTED);
    machine_save(r.m, &end[0]);
    assert_int_equal(machine_restore(r.m, early.data, early.size, &e), 0);
    machine_save(r.m, &again);
    assert_int_equal(again.size, early.size);
    assert_int_equal(memcmp(again.data, early.data, early.size), 0);
    assert_int_equal(machine_restore(r.m, late.data, late.size, &e), 0);
    assert_int_equal(machine_advance(r.m, CYCLE_NEVER), MACHINE_HALTED);
    machine_save(r.m, &end[1]);
    assert_int_equal(end[0].size, end[1].size);
    assert_int_equal(memcmp(end[0].data, end[1].data, end[0].size), 0);
    mem_free(early.data);
    mem_free(late.data);
    mem_free(again.data);
    mem_free(end[0].data);
    mem_free(end[1].data);
    rig_close(&r);
}

static void expect_refusal(struct machine *m, const struct bytes *b, const char *part)
{
    struct bytes before = {0}, after = {0};
    struct err e;

    machine_save(m, &before);
    assert_int_equal(machine_restore(m, b->data, b->size, &e), -1);
    if (!strstr(e.msg, part))
        fail_msg("\"%s\" does not contain \"%s\"", e.msg, part);
    machine_save(m, &after);
    assert_int_equal(before.size, after.size);
    assert_int_equal(memcmp(before.data, after.data, before.size), 0);
    mem_free(before.data);
    mem_free(after.data);
}

TEST(other_machines_refuse_a_snapshot_and_name_what_differs)
{
    static const struct {
        const char *slice, *text, *part;
        struct rig_options options;
    } other[] = {
        {"tiny-4", "{ shalt }", "the snapshot is of a tiny; this machine is a tiny-4",
         {.mode = MODE_BOTH}},
        {"tiny", "{ shalt }", "a chip with mxu.latency_cycles 40; this machine has 77",
         {.set = {"mxu.latency_cycles=77"}}},
        {"tiny", "{ shalt }", "dma.core_gbps 6.4; this machine has 6.41",
         {.set = {"dma.core_gbps=6.41"}}},
        {"tiny", "{ shalt }", "taken in mode both; this machine is in mode timing",
         {.mode = MODE_TIMING}},
        {"tiny", "{ vdelay 2 }\n{ shalt }", "core 0 has another program", {.mode = MODE_BOTH}},
        {"tiny", NULL, "core 0 has no program, in the snapshot it has one",
         {.mode = MODE_BOTH}}};
    struct bytes b = {0};
    struct rig r;

    rig_open(&r, "tiny", NULL);
    rig_load(&r, 0, "{ shalt }");
    machine_start(r.m);
    machine_save(r.m, &b);
    rig_close(&r);
    for (size_t i = 0; i < COUNT_OF(other); i++) {
        rig_open(&r, other[i].slice, &other[i].options);
        if (other[i].text)
            rig_load(&r, 0, other[i].text);
        machine_start(r.m);
        expect_refusal(r.m, &b, other[i].part);
        rig_close(&r);
    }
    mem_free(b.data);
}

TEST(every_example_goes_on_from_a_snapshot)
{
    static const struct {
        const char *path, *simd;        /* "c" where it does not take too long */
        int count;
    } examples[] = {
        {"examples/01_vector_add.tasm", "c", 4}, {"examples/02_mxu_tile.tasm", "c", 4},
        {"examples/03_double_buffered_matmul.tasm", "avx2", 2},
        {"examples/04_pipelined_matmul_v3.tasm", "avx2", 2},
        {"examples/04_pipelined_matmul_v5e.tasm", "avx2", 2},
        {"examples/04_pipelined_matmul_v6e.tasm", "avx2", 2},
        {"examples/05_transpose.tasm", "c", 12},
        {"examples/06_cross_lane_softmax.tasm", "c", 12},
        {"examples/07_two_core_exchange.tasm", "c", 12},
        {"examples/08_branch_delay.tasm", "c", 4}};
    struct err e;

    for (size_t i = 0; i < COUNT_OF(examples); i++)
        check_example(examples[i].path,
                      simd_select(examples[i].simd, &e) ? examples[i].simd : "c",
                      examples[i].count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_between_chips_go_on_from_a_snapshot_in_every_mode),
        cmocka_unit_test(faults_after_a_snapshot_are_the_same),
        cmocka_unit_test(fifos_that_have_grown_go_back_to_what_they_were),
        cmocka_unit_test(other_machines_refuse_a_snapshot_and_name_what_differs),
        cmocka_unit_test(every_example_goes_on_from_a_snapshot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
