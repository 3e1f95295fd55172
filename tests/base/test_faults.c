/*
 * Every fault names core, cycle, bundle and line, in every mode, and leaves
 * counters, trace and the next launch as they should be. The table goes over
 * all kinds (docs/engine.md, "Faults"), all memories and all ways to get at them.
 */
#include "base/units.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

/* the second bundle of core 1 fails at cycle 1; s0 is -1, s1 is 2^31-1 */
static const struct {
    const char *bundle;
    enum fault_kind kind;
    const char *text;
} cases[] = {
    /* VMEM, in rows */
    {"v1 = vld [vmem:s0]", FAULT_ADDRESS, "vmem address -1 out of 0..32767 rows in vld"},
    {"v1 = vld [vmem:32761]", FAULT_ADDRESS, "vmem address 32768 out of 0..32767 rows in vld"},
    {"v1 = vld [vmem:0x7ff0] ss:4 sm:$0x81", FAULT_ADDRESS,
     "vmem address 32780 out of 0..32767 rows"},
    {"v1 = vld.sshfl [vmem:s0] sm:$0xff pattern:$0x1", FAULT_ADDRESS, "vmem address -1 out of"},
    {"v1 = vld.iar0 [vmem:32768]", FAULT_ADDRESS,
     "vmem address 32768 out of 0..32767 rows in sublane 0 of vld.iar0"},
    {"vst [vmem:s0 + -9] v0", FAULT_ADDRESS, "vmem address -10 out of 0..32767 rows in vst"},
    {"vst [vmem:s1 + 1] v0", FAULT_ADDRESS, "vmem address 2147483648 out of 0..32767 rows in vst"},
    {"vst.msk [vmem:32768] vm0, v0", FAULT_ADDRESS, "vmem address 32768 out of 0..32767 rows in "
     "vst.msk"},
    {"vst.iar1 [vmem:s0] v0", FAULT_ADDRESS,
     "vmem address -1 out of 0..32767 rows in sublane 0 of vst.iar1"},
    /* SMEM, in bytes, words only */
    {"s2 = sld [smem:s0]", FAULT_ADDRESS,
     "smem address -1 out of 0..16380, multiples of 4, in sld"},
    {"s2 = sld [smem:16384]", FAULT_ADDRESS, "smem address 16384 out of 0..16380"},
    {"s2 = sld [smem:s0 + 4]", FAULT_ADDRESS,
     "smem address 3 out of 0..16380, multiples of 4, in sld"},
    {"sst [smem:s0 + 8], s2", FAULT_ADDRESS,
     "smem address 7 out of 0..16380, multiples of 4, in sst"},
    {"sst [smem:s1], s2", FAULT_ADDRESS, "smem address 2147483647 out of 0..16380"},
    {"dma.general [smem:s0 + 4]", FAULT_ADDRESS,
     "smem address 3 of a descriptor out of 0..16320, multiples of 4, in dma.general"},
    {"dma.general [smem:16324]", FAULT_ADDRESS, "smem address 16324 of a descriptor out of"},
    {"dma.general [smem:s0]", FAULT_ADDRESS, "smem address -1 of a descriptor out of 0..16320"},
    /* CMEM, in rows */
    {"cld [cmem:131065]", FAULT_ADDRESS, "cmem address 131072 out of 0..131071 rows in cld"},
    {"cld [cmem:s0]", FAULT_ADDRESS, "cmem address -1 out of 0..131071 rows in cld"},
    /* copies, in granules */
    {"dma.hbm_to_vmem 0x1ffffff1, 16, 0, [sflag:0]", FAULT_ADDRESS,
     "hbm source granules 536870897..536870912 out of 0..536870911 in dma.hbm_to_vmem"},
    {"dma.hbm_to_vmem 0, 16, s0, [sflag:0]", FAULT_ADDRESS,
     "vmem destination granules -1..14 out of 0..524287 in dma.hbm_to_vmem"},
    {"dma.vmem_to_hbm 0x7fff1, 16, 0, [sflag:0]", FAULT_ADDRESS,
     "vmem source granules 524273..524288 out of 0..524287 in dma.vmem_to_hbm"},
    {"dma.vmem_to_hbm 0, 16, s0, [sflag:0]", FAULT_ADDRESS,
     "hbm destination granules 4294967295..4294967310 out of 0..536870911"},
    {"dma.smem_to_hbm 511, 2, 0, [sflag:0]", FAULT_ADDRESS,
     "smem source granules 511..512 out of 0..511 in dma.smem_to_hbm"},
    {"dma.vmem_to_smem 0, 2, 511, [sflag:0]", FAULT_ADDRESS,
     "smem destination granules 511..512 out of 0..511 in dma.vmem_to_smem"},
    {"dma.smem_to_vmem s0, 2, 511, [sflag:0]", FAULT_ADDRESS, "smem source granules -1..0 out of"},
    {"dma.cmem_to_vmem 2097151, 2, 0, [sflag:0]", FAULT_ADDRESS,
     "cmem source granules 2097151..2097152 out of 0..2097151 in dma.cmem_to_vmem"},
    {"dma.hbm_to_cmem 0, 2, s0, [sflag:0]", FAULT_ADDRESS,
     "cmem destination granules -1..0 out of 0..2097151 in dma.hbm_to_cmem"},
    {"dma.hbm_to_vmem s0, 1, 0, [sflag:0]", FAULT_ADDRESS,
     "hbm source granules 4294967295..4294967295 out of 0..536870911 in dma.hbm_to_vmem"},
    {"dma.hbm_to_vmem 0, 16, 0x7fff1, [sflag:0]", FAULT_ADDRESS,
     "vmem destination granules 524273..524288 out of 0..524287 in dma.hbm_to_vmem"},
    {"dma.vmem_to_hbm s0, 1, 0, [sflag:0]", FAULT_ADDRESS, "vmem source granules -1..-1 out of"},
    {"dma.vmem_to_hbm 0, 16, 0x1ffffff1, [sflag:0]", FAULT_ADDRESS,
     "hbm destination granules 536870897..536870912 out of 0..536870911 in dma.vmem_to_hbm"},
    {"dma.hbm_to_smem 0, 1, s0, [sflag:0]", FAULT_ADDRESS,
     "smem destination granules -1..-1 out of 0..511 in dma.hbm_to_smem"},
    {"dma.vmem_to_cmem 0, 2, 2097151, [sflag:0]", FAULT_ADDRESS,
     "cmem destination granules 2097151..2097152 out of 0..2097151 in dma.vmem_to_cmem"},
    {"dma.cmem_to_hbm s0, 1, 0, [sflag:0]", FAULT_ADDRESS, "cmem source granules -1..-1 out of"},
    {"dma.host_to_vmem 0x1fffffff, 2, 0, [sflag:0]", FAULT_ADDRESS,
     "host source granules 536870911..536870912 out of 0..536870911 in dma.host_to_vmem"},
    {"dma.hbm_to_host 0, 2, 0x1fffffff, [sflag:0]", FAULT_ADDRESS,
     "host destination granules 536870911..536870912 out of 0..536870911 in dma.hbm_to_host"},
    {"dma.hbm_to_hbm.remote 0x1fffffff, 2, 0, [sflag:0], [sflag:1], 0", FAULT_ADDRESS,
     "hbm source granules 536870911..536870912 out of 0..536870911 in dma.hbm_to_hbm.remote"},
    {"dma.vmem_to_hbm.remote 0, 2, 0x1fffffff, [sflag:0], [sflag:1], 0", FAULT_ADDRESS,
     "hbm destination granules 536870911..536870912 out of 0..536870911 in dma.vmem_to_hbm.remote"},
    {"dma.hbm_to_vmem.remote 0, 2, s0, [sflag:0], [sflag:1], 0", FAULT_ADDRESS,
     "vmem destination granules -1..0 out of 0..524287 in dma.hbm_to_vmem.remote"},
    /* the most granules that a size can be, and strides that leave a memory on either side */
    {"dma.hbm_to_vmem 0, s1, 0, [sflag:0]", FAULT_ADDRESS,
     "hbm source granules 0..2147483646 out of 0..536870911 in dma.hbm_to_vmem"},
    {"dma.hbm_to_vmem 0, 3, 0, [sflag:0], s1, 1, 1", FAULT_ADDRESS,
     "hbm source granules 0..4294967294 out of 0..536870911 in dma.hbm_to_vmem"},
    {"dma.hbm_to_vmem 0, 3, 1, [sflag:0], 1, s0, 1", FAULT_ADDRESS,
     "vmem destination granules -1..1 out of 0..524287 in dma.hbm_to_vmem"},
    {"dma.hbm_to_hbm 16, 16, 1, [sflag:0]", FAULT_ADDRESS,
     "hbm source granules 16..31 overlap the destination 1..16 in dma.hbm_to_hbm"},
    {"dma.hbm_to_hbm 0, 4, 8, [sflag:0], 4, 4, 1", FAULT_ADDRESS,
     "hbm source granules 0..12 overlap the destination 8..20 in dma.hbm_to_hbm"},
    {"dma.hbm_to_hbm.remote 0, 16, 15, [sflag:0], [sflag:1], 1", FAULT_ADDRESS,
     "hbm source granules 0..15 overlap the destination 15..30 in dma.hbm_to_hbm.remote"},
    {"dma.vmem_to_vmem 0, 16, 15, [sflag:0]", FAULT_ADDRESS,
     "vmem source granules 0..15 overlap the destination 15..30 in dma.vmem_to_vmem"},
    {"dma.vmem_to_vmem.remote 0, 16, 0x7fff1, [sflag:0], [sflag:1], 0", FAULT_ADDRESS,
     "vmem destination granules 524273..524288 out of 0..524287 in dma.vmem_to_vmem.remote"},
    {"dma.hbm_to_vmem 0, s0, 0, [sflag:0]", FAULT_OPERATION, "dma.hbm_to_vmem of -1 granules"},
    {"dma.vmem_to_hbm 0, s2, 0, [sflag:0]", FAULT_OPERATION,
     "dma.vmem_to_hbm of 0 granules in runs of 0; at least 1 is needed"},
    {"dma.vmem_to_vmem.remote 0, s2, 0, [sflag:0], [sflag:1], 0", FAULT_OPERATION,
     "dma.vmem_to_vmem.remote of 0 granules in runs of 0; at least 1 is needed"},
    {"dma.hbm_to_vmem 0, 2, 0, [sflag:0], 1, 1, s0", FAULT_OPERATION,
     "dma.hbm_to_vmem of 2 granules in runs of -1; at least 1 is needed"},
    {"dma.general [smem:0]", FAULT_OPERATION, "dma.general: the run is 0; at least 1 is needed"},
    /* flags and cores */
    {"vsyncadd [sflag:s0], 1", FAULT_ADDRESS, "sync flag -1 out of 0..1023 in vsyncadd"},
    {"vwait.ge [sflag:s1], 1", FAULT_ADDRESS, "sync flag 2147483647 out of 0..1023 in vwait.ge"},
    {"vsyncset [sflag:s0], 1", FAULT_ADDRESS, "sync flag -1 out of 0..1023 in vsyncset"},
    {"s2 = vsyncmov [sflag:s0]", FAULT_ADDRESS, "sync flag -1 out of 0..1023 in vsyncmov"},
    {"dma.hbm_to_vmem 0, 16, 0, [sflag:s0]", FAULT_ADDRESS, "sync flag -1 out of 0..1023 in dma"},
    {"dma.vmem_to_vmem.remote 0, 16, 0, [sflag:0], [sflag:s0], 0", FAULT_ADDRESS,
     "sync flag -1 out of 0..1023 in dma.vmem_to_vmem.remote"},
    {"dma.vmem_to_vmem.remote 0, 16, 0, [sflag:0], [sflag:1], 2", FAULT_ADDRESS,
     "core 2 out of 0..1 in dma.vmem_to_vmem.remote"},
    {"dma.hbm_to_vmem 0, 16, 0, [sflag:s1]", FAULT_ADDRESS, "sync flag 2147483647 out of 0..1023"},
    {"dma.hbm_to_hbm.remote 0, 1, 8, [sflag:0], [sflag:s1], 0", FAULT_ADDRESS,
     "sync flag 2147483647 out of 0..1023 in dma.hbm_to_hbm.remote"},
    {"dma.hbm_to_hbm.remote 0, 1, 8, [sflag:0], [sflag:1], s0", FAULT_ADDRESS,
     "core -1 out of 0..1 in dma.hbm_to_hbm.remote"},
    {"vsyncadd.remote [sflag:0], 1, s0", FAULT_ADDRESS, "core -1 out of 0..1 in vsyncadd.remote"},
    {"vsyncset.remote [sflag:0], 1, s1", FAULT_ADDRESS, "core 2147483647 out of 0..1 in vsyncset"},
    {"s2 = vsyncmov.remote [sflag:0], 2", FAULT_ADDRESS, "core 2 out of 0..1 in vsyncmov.remote"},
    /* FIFOs */
    {"v1 = vpop.eup", FAULT_FIFO_EMPTY, "vpop.eup with nothing pushed to its fifo"},
    {"v1 = vpop.f32.mrf.mxu1", FAULT_FIFO_EMPTY, "vpop.f32.mrf.mxu1 with nothing pushed"},
    {"v1 = vpop.xlane.xlu0", FAULT_FIFO_EMPTY, "vpop.xlane.xlu0 with nothing pushed"},
    {"v1 = vpop.crf", FAULT_FIFO_EMPTY, "vpop.crf with nothing pushed to its fifo"},
    {"s2 = spop", FAULT_FIFO_EMPTY, "spop with nothing pushed by vpush"},
    {"s2 = spop.drf", FAULT_FIFO_EMPTY, "spop.drf with nothing pushed by sdivrem"},
    /* the rest */
    {"vdelay s0", FAULT_OPERATION, "vdelay of -1 cycles; 0..2147483647 are possible"},
    {"vsyncadd [sflag:5], -2", FAULT_UNDERFLOW,
     "flag underflow: vsyncadd takes 2 from sync flag 5, which is 0"},
    {"vsyncadd [sflag:5], s0", FAULT_UNDERFLOW,
     "flag underflow: vsyncadd takes 1 from sync flag 5, which is 0"},
    {"shalt.err", FAULT_HALT_ERR, "shalt.err reached: the program stopped itself"},
    {"v1 = vld [vmem:8]", FAULT_UNWRITTEN,
     "vld reads vmem row 8 (granule 128), which nothing has written in this launch"},
    {"dma.vmem_to_hbm 0, 16, 0, [sflag:0]", FAULT_UNWRITTEN,
     "dma.vmem_to_hbm reads vmem row 0 (granule 0), which nothing has written in this launch"},
    {"s2 = sld [smem:0]", FAULT_UNWRITTEN, "sld reads smem address 0, which nothing has written"},
    {"dma.hbm_to_vmem 0, 16, 0, [sflag:0] ;; vst [vmem:0] v0", FAULT_RACE,
     "race: vst writes vmem bytes 0..4095 while dma.hbm_to_vmem of core 1 cycle 1 bundle 1 (line 2)"
     " writes 0..511: no wait for its flag 0 has covered it"},
    {"vwait.ge [sflag:5], 2", FAULT_DEADLOCK, "vwait.ge waits for flag 5 >= 2, which is 0"},
};

/* the chip that has what it takes */
static const char *chip_of(size_t i)
{
    return strstr(cases[i].bundle, "cmem") || strstr(cases[i].bundle, "crf") ? "v4" : "v3";
}

static void open_case(struct rig *r, size_t i, enum run_mode mode, int threads)
{
    struct rig_options o = {.mode = mode, .thread_count = threads,
                            .trace = mode != MODE_FUNCTIONAL,
                            .check_unwritten = cases[i].kind == FAULT_UNWRITTEN,
                            .check_races = cases[i].kind == FAULT_RACE};
    char text[300];

    snprintf(text, sizeof(text), "{ s0 = smov -1 ;; s1 = smov 0x7fffffff }\n{ %s }\n{ shalt }",
             cases[i].bundle);
    rig_open(r, chip_of(i), &o);
    rig_load(r, 0, "{ vdelay 40 }\n{ shalt }");
    rig_load(r, 1, text);
}

/* the place, then the text; a deadlock says its own name first */
static void check_message(const struct rig *r, size_t i)
{
    const struct fault *f = machine_fault(r->m);
    char wanted[400];

    snprintf(wanted, sizeof(wanted), "%score 1 cycle 1 bundle 1 (line 2): %s",
             f->kind == FAULT_DEADLOCK ? "deadlock: " : "", cases[i].text);
    if (strncmp(r->err.msg, wanted, strlen(wanted)) != 0)
        fail_msg("{ %s }: \"%s\" instead of \"%s\"", cases[i].bundle, r->err.msg, wanted);
    assert_int_equal(f->core, 1);
    assert_int_equal(f->cycle, 1);
    assert_int_equal(f->bundle, 1);
    assert_int_equal(f->line, 2);
}

TEST(every_fault_names_its_place_in_every_mode)
{
    static const enum run_mode modes[] = {MODE_BOTH, MODE_TIMING, MODE_FUNCTIONAL};

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t j = 0; j < COUNT_OF(modes); j++) {
            struct rig r;

            open_case(&r, i, modes[j], 1 + (int)j % 2);
            rig_fault(&r, cases[i].kind);
            check_message(&r, i);
            rig_close(&r);
        }
}

/* the bundle before the fault counts, that of the fault does not (a deadlock, underflow or race
 * that is found in the order of time comes when the core is beyond it) */
TEST(counters_and_trace_stay_readable)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct core_counters *k;
        const struct log_events *events;
        struct rig r;

        open_case(&r, i, MODE_BOTH, 1);
        rig_fault(&r, cases[i].kind);
        k = machine_counters(r.m, 1);
        assert_int_equal(k->op_count[OP_SMOV], 2);
        if (cases[i].kind != FAULT_UNDERFLOW)
            assert_int_equal(k->issue_cycles, 1);
        assert_int_equal(r.log.ended, 1);
        events = rig_events(&r, 1);
        assert_in_range(events->count, 1, 20);
        for (size_t j = 0; j < events->count; j++) {
            assert_in_range(events->event[j].bundle, 0, 2);
            assert_in_range(events->event[j].start, 0, events->event[j].end);
            assert_in_range(events->event[j].end, 0, machine_cycles(r.m));
        }
        rig_close(&r);
    }
}

TEST(next_launch_starts_clean)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rig r;

        open_case(&r, i, MODE_BOTH, 1);
        rig_fault(&r, cases[i].kind);
        rig_load(&r, 1, "{ shalt }");
        if (rig_run(&r) != 0)
            fail_msg("after { %s }: %s", cases[i].bundle, r.err.msg);
        assert_int_equal(machine_fault(r.m)->kind, FAULT_NONE);
        assert_int_equal(machine_cycles(r.m), 42);
        rig_close(&r);
    }
}

static void assert_overflow(const char *chip, const char *push, int64_t depth, const char *text)
{
    char program[400], wanted[100];
    struct rig r;

    rig_open(&r, chip, NULL);
    snprintf(program, sizeof(program), "{ s0 = smov 0 }\nagain:\n{ s0 = sadd.s32 s0, 1 ;; %s }\n"
             "{ p1 = scmp.le.s32.totalorder s0, %d }\n{ sbr.rel (p1) target = again }\n"
             "{}\n{}\n{}\n{}\n{ shalt }", push, (int)depth);
    rig_load(&r, 1, program);
    if (!strstr(rig_fault(&r, FAULT_FIFO_OVERFLOW), text))
        fail_msg("%s: %s", push, r.err.msg);
    snprintf(wanted, sizeof(wanted), "core 1 cycle %lld bundle 1 (line 3): ",
             (long long)machine_fault(r.m)->cycle);
    assert_int_equal(strncmp(r.err.msg, wanted, strlen(wanted)), 0);
    assert_int_equal(machine_counters(r.m, 1)->op_count[OP_SADD], depth);
    rig_close(&r);
}

TEST(every_fifo_overflows_at_its_depth)
{
    struct chip c3, c4;
    struct arena a;
    struct err e;

    arena_init(&a);
    if (chip_load_builtin(&c3, "v3", NULL, &a, &e) || chip_load_builtin(&c4, "v4", NULL, &a, &e))
        fail_msg("%s", e.msg);
    assert_overflow("v3", "vmatmul.f32.vlgmr.msra.gmra.mxu1 v0", c3.mxu_fifo_depth,
                    "vmatmul.f32.vlgmr.msra.gmra.mxu1 finds its result fifo full: 64 results");
    assert_overflow("v3", "vrcp.f32 v0", c3.eup_fifo_depth, "vrcp.f32 finds its result fifo full");
    assert_overflow("v3", "vadd.xlane.f32.xlu0 v0", c3.xlu_fifo_depth,
                    "vadd.xlane.f32.xlu0 finds its result fifo full");
    assert_overflow("v3", "vpush v0", c3.scalar_v2s_depth,
                    "vpush finds the fifo to the scalar unit full: 16 words");
    assert_overflow("v3", "sdivrem.u32 s0, 3", c3.scalar_div_depth,
                    "sdivrem finds its result fifo full");
    assert_overflow("v4", "cld [cmem:0]", c4.cmem_fifo_depth, "cld finds its result fifo full");
    arena_fini(&a);
}

TEST(what_is_left_at_the_end_names_the_halt)
{
    struct rig r;

    rig_open(&r, "v3", NULL);
    rig_load(&r, 1, "{ s0 = smov -1 }\n{ vsyncset [sflag:5], s0 }\n{ shalt }");
    assert_string_equal(rig_fault(&r, FAULT_FLAG), "core 1 cycle 2 bundle 2 (line 3): "
                        "sync flag 5 is -1 at halt; it must be 0");
    rig_close(&r);
}

TEST(endless_programs_name_the_bundle_they_are_in)
{
    static const struct rig_options small = {.cycle_limit = 40};
    struct rig r;

    rig_open(&r, "v3", &small);
    rig_load(&r, 1, "{}\n{ vdelay 100 }\n{ shalt }");
    assert_string_equal(rig_fault(&r, FAULT_NO_HALT), "core 1 cycle 102 bundle 2 (line 3): "
                        "still running at the cycle limit of 40");
    rig_load(&r, 1, "{}\n{ s0 = smov 1 }");
    assert_string_equal(rig_fault(&r, FAULT_NO_HALT), "core 1 cycle 1 bundle 2: "
                        "ran past the last bundle (1) without shalt");
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_names_its_place_in_every_mode),
        cmocka_unit_test(counters_and_trace_stay_readable),
        cmocka_unit_test(next_launch_starts_clean),
        cmocka_unit_test(every_fifo_overflows_at_its_depth),
        cmocka_unit_test(what_is_left_at_the_end_names_the_halt),
        cmocka_unit_test(endless_programs_name_the_bundle_they_are_in),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
