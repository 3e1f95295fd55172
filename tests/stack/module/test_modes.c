/*
 * Modes: has timing mode the cycles and counters of mode both, has functional
 * mode its values, and do both say clearly what they leave out?
 */
#include "base/units.h"
#include "isa/file.h"
#include "stack/module/module_run.h"
#include "tests/rigs/mlp.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

#define HBM_BYTES (1 << 20)             /* of each core, given data and looked at */

static const struct rig_options timing = {.mode = MODE_TIMING};
static const struct rig_options functional = {.mode = MODE_FUNCTIONAL};

/* floats between 1 and 2, and places in a ring */
static void give_data(struct rig *r, int count)
{
    uint32_t *word = arena_alloc(&r->arena, HBM_BYTES);

    for (uint32_t i = 0; i < HBM_BYTES / 4; i++)
        word[i] = 0x3f800000u | (i * 2654435761u >> 9);
    for (int core = 0; core < count; core++) {
        const int32_t ring[4] = {core, count, (core + 1) % count, (core + count - 1) % count};

        assert_int_equal(machine_hbm_write(r->m, core, 0, word, HBM_BYTES, &r->err), 0);
        assert_int_equal(machine_smem_write(r->m, core, 0, ring, sizeof(ring), &r->err), 0);
    }
}

/* on the first `count` cores of a slice; the slots must fit, else false */
static bool run_on(struct rig *r, const char *slice, const struct rig_options *options,
                   const char *text, int count)
{
    const struct isa_program *p;

    rig_open(r, slice, options);
    p = rig_assemble(r, text);
    for (int core = 0; core < count; core++)
        if (machine_load(r->m, core, p, &r->err))
            return false;
    give_data(r, count);
    rig_run(r);
    return true;
}

static void assert_same_hbm(struct rig *a, struct rig *b, int core)
{
    unsigned char *bytes[2];
    struct rig *rig[2] = {a, b};

    for (int i = 0; i < 2; i++) {
        bytes[i] = arena_alloc(&rig[i]->arena, HBM_BYTES);
        assert_int_equal(machine_hbm_read(rig[i]->m, core, 0, bytes[i], HBM_BYTES,
                                          &rig[i]->err), 0);
    }
    assert_memory_equal(bytes[0], bytes[1], HBM_BYTES);
}

static void assert_same_operations(const struct machine *a, const struct machine *b, int core)
{
    const struct core_counters *k = machine_counters(a, core), *l = machine_counters(b, core);

    assert_int_equal(k->issue_cycles, l->issue_cycles);
    assert_memory_equal(k->op_count, l->op_count, sizeof(k->op_count));
    for (int i = 0; i < k->unit_count; i++)
        assert_int_equal(k->unit[i].op_count, l->unit[i].op_count);
    assert_int_equal(k->matmul_flops, l->matmul_flops);
    assert_int_equal(k->matmul_cycles, l->matmul_cycles);
    assert_int_equal(k->hbm_read_bytes, l->hbm_read_bytes);
    assert_int_equal(k->hbm_write_bytes, l->hbm_write_bytes);
    assert_int_equal(k->cmem_read_bytes, l->cmem_read_bytes);
    assert_int_equal(k->cmem_write_bytes, l->cmem_write_bytes);
    assert_int_equal(k->ici_sent_bytes, l->ici_sent_bytes);
    assert_int_equal(k->ici_received_bytes, l->ici_received_bytes);
    assert_int_equal(k->dma_count, l->dma_count);
}

/* timing: every counter; functional: every byte of HBM, operations and bytes; true if it ran */
static bool compare_modes(const char *text, const char *slice, int count)
{
    struct rig both, other;

    if (!run_on(&both, slice, NULL, text, count)) {
        rig_close(&both);
        return false;
    }
    run_on(&other, slice, &timing, text, count);
    assert_string_equal(both.err.msg, other.err.msg);
    assert_equal_counters(both.m, other.m);
    rig_close(&other);
    run_on(&other, slice, &functional, text, count);
    if (machine_fault(both.m)->kind == FAULT_NONE) {
        for (int core = 0; core < count; core++) {
            assert_same_operations(both.m, other.m, core);
            assert_same_hbm(&both, &other, core);
        }
    }
    if (machine_fault(both.m)->kind != FAULT_NO_HALT)   /* that is a matter of cycles */
        assert_int_equal(machine_fault(both.m)->kind, machine_fault(other.m)->kind);
    rig_close(&other);
    rig_close(&both);
    return true;
}

static const char *const examples[] = {
    "01_vector_add", "02_mxu_tile", "03_double_buffered_matmul", "04_pipelined_matmul_v3",
    "04_pipelined_matmul_v5e", "04_pipelined_matmul_v6e", "05_transpose",
    "06_cross_lane_softmax", "07_two_core_exchange", "08_branch_delay"};

TEST(examples_are_the_same_in_all_modes)
{
    static const char *const slices[] = {"v2", "v3-8", "v4", "v5e", "v6e"};
    struct arena a;
    struct err e;

    arena_init(&a);
    for (size_t i = 0; i < COUNT_OF(examples); i++) {
        int ran = 0;
        size_t size;
        uint8_t *bytes;
        char *text;

        if (isa_file_read(arena_printf(&a, "examples/%s.tasm", examples[i]), &a, &bytes, &size,
                          &e))
            fail_msg("%s", e.msg);
        text = arena_printf(&a, "%.*s", (int)size, (const char *)bytes);
        for (size_t j = 0; j < COUNT_OF(slices); j++)
            ran += compare_modes(text, slices[j], j == 1 ? 8 : 1);
        assert_true(ran > 0);
    }
    arena_fini(&a);
}

/* one program per unit; each leaves what it works out in HBM */
#define OUT "{ sfence }\n{ dma.vmem_to_hbm 0, 2048, 0x4000, [sflag:1] }\n" \
            "{ dma.done.wait [sflag:1], 2048 }\n{ vsyncadd [sflag:1], -2048 }\n{ shalt }\n"
#define IN "{ dma.hbm_to_vmem 0, 2048, 0, [sflag:0] }\n{ dma.done.wait [sflag:0], 2048 }\n" \
           "{ vsyncadd [sflag:0], -2048 ;; v0 = vlaneseq }\n{ v1 = vld [vmem:0x8] }\n"

static const struct unit_program {
    const char *slice, *text;
} units[] = {
    {"v3", IN "{ s0 = smov 5 ;; s1 = smov 0 }\n"
           "loop:\n{ s1 = sadd.s32 s1, s0 ;; sst [smem:64], s1 }\n{ s2 = sld [smem:64] }\n"
           "{ p1 = scmp.lt.s32.totalorder s2, 100 }\n{ sbr.rel (p1) target = loop }\n"
           "{ s4 = smul.u32 s1, s2 ;; p2 = por p1, p3 }\n{ s5 = scalar_select p2, s4, s1 }\n"
           "{ sdivrem.u32 s5, 7 }\n{ s6 = spop.drf }\n{ s7 = spop.drf }\n"
           "{ v2 = vstv s6 ;; vst [vmem:s7] v2 }\n{ vst [vmem:s7 + 8] v2 }\n" OUT},
    {"v3", IN "{ vpow2.f32 v1 }\n{ vrcp.f32 v1 }\n{ v2 = vpop.eup }\n{ v3 = vpop.eup }\n"
           "{ v4 = vadd.f32 v2, v3 }\n{ vst [vmem:0x10] v4 }\n{ v5 = vld [vmem:0x12] }\n"
           "{ vm1 = vcmp.lt.f32.partialorder v5, v4 }\n{ v6 = vsel vm1, v4, v5 }\n"
           "{ vst.msk [vmem:0x20] sm:$0x3f vm1, v6 }\n" OUT},
    {"v3", IN "{ vadd.xlane.f32.xlu0 v1 }\n{ vrot.lane.b32.xlu0 v1, 3 }\n"
           "{ v2 = vpop.xlane.xlu0 }\n{ v3 = vpop.permute.xlu0 }\n{ vst [vmem:0x10] v2 }\n"
           "{ vst [vmem:0x18] v3 }\n{ vxpose.xlu0.b32.start v1, 16 }\n"
           "{ vxpose.xlu0.b32.end v3, 16 }\n{ v4 = vpop.trf.xlu0 }\n{ v5 = vpop.trf.xlu0 }\n"
           "{ vst [vmem:0x20] v4 }\n{ vst [vmem:0x28] v5 }\n" OUT},
    {"v3", IN "{ vmatpush.msra.mxu0 v1 }\n{ vmatmul.f32.vlgmr.msra.gmra.mxu0 v1 }\n"
           "{ vmatmul.f32.gmra.mxu0 v1 }\n{ vmatpush.msra.mxu0 v0 }\n{ v2 = vpop.f32.mrf.mxu0 }\n"
           "{ v3 = vpop.f32.mrf.mxu0 }\n{ vst [vmem:0x10] v2 }\n{ vst [vmem:0x18] v3 }\n" OUT},
    {"v3", "{ s1 = smov 3 }\n{ s2 = smov (p1) 7 ;; p2 = scmp.eq.s32.totalorder s1, 3 }\n"
           "{ s3 = smov (p2) 9 ;; v1 = vlaneseq (!p2) }\n{ vdelay 20 }\n"
           "{ s1 = smov s3 ;; s3 = smov s1 }\n{ vsyncset [sflag:4], 6 }\n"
           "{ s5 = vsyncmov [sflag:4] }\n{ s6 = sadd.s32 s5, s1 }\n{ vsyncset [sflag:4], 0 }\n"
           "{ v2 = vstv s6 }\n{ vst [vmem:s6] v2 }\n" OUT},
    {"v4", IN "{ dma.vmem_to_cmem 0, 512, 0, [sflag:2] }\n{ dma.done.wait [sflag:2], 512 }\n"
           "{ vsyncadd [sflag:2], -512 }\n{ cld [cmem:0x4] }\n{ cld [cmem:0x8] }\n"
           "{ v2 = vpop.crf }\n{ v3 = vpop.crf }\n{ vst [vmem:0x10] v2 }\n"
           "{ vst [vmem:0x18] v3 }\n{ dma.cmem_to_hbm 0, 512, 0x6000, [sflag:2] }\n"
           "{ dma.done.wait [sflag:2], 512 }\n{ vsyncadd [sflag:2], -512 }\n" OUT},
    {"v3", IN "{ dma.hbm_to_smem 0x20, 8, 8, [sflag:2] }\n{ dma.done.wait [sflag:2], 8 }\n"
           "{ vsyncadd [sflag:2], -8 }\n{ s1 = sld [smem:0x104] }\n{ s2 = sshrl.u32 s1, 20 }\n"
           "{ s2 = sand.u32 s2, 0xf8 }\n{ v2 = vld [vmem:s2] }\n{ vst [vmem:0x40] v2 }\n"
           "{ sst [smem:0x100], s2 }\n{ sfence }\n"
           "{ dma.smem_to_hbm 8, 8, 0x3000, [sflag:2] }\n{ dma.done.wait [sflag:2], 8 }\n"
           "{ dma.hbm_to_hbm 0x3000, 8, 0x3100, [sflag:2] }\n{ dma.done.wait [sflag:2], 16 }\n"
           "{ dma.hbm_to_smem 0x3100, 8, 16, [sflag:2] }\n{ dma.done.wait [sflag:2], 24 }\n"
           "{ vsyncadd [sflag:2], -24 }\n{ s3 = sld [smem:0x200] }\n{ vst [vmem:s3] v0 }\n" OUT},
};

TEST(each_unit_is_the_same_in_all_modes)
{
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        struct rig r;

        rig_open(&r, units[i].slice, NULL);
        rig_load(&r, 0, units[i].text);
        if (rig_run(&r))
            fail_msg("program %d: %s", (int)i, r.err.msg);
        rig_close(&r);
        assert_true(compare_modes(units[i].text, units[i].slice, 1));
    }
}

/* a pause makes the issue loop finish what the stream of steps began */
TEST(pauses_at_every_cycle_change_nothing_in_timing_mode)
{
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        struct rig once, often;

        run_on(&once, units[i].slice, &timing, units[i].text, 1);
        rig_open(&often, units[i].slice, &timing);
        rig_load(&often, 0, units[i].text);
        give_data(&often, 1);
        machine_start(often.m);
        for (cycle_t at = 1; machine_advance(often.m, at) == MACHINE_PAUSED; at++)
            ;
        machine_finish(often.m);
        assert_equal_counters(once.m, often.m);
        rig_close(&often);
        rig_close(&once);
    }
}

/* results of several cycles wait on every way to a bundle, also around a loop and a branch */
TEST(results_are_waited_for_on_every_way)
{
    static const char *const texts[] = {
        "{ s0 = smov 3 ;; s4 = smov 1 }\n{ }\nloop:\n{ s1 = sadd.s32 s2, 1 }\n"
        "{ s4 = sadd.s32 s4, 1 }\n{ p1 = scmp.lt.s32.totalorder s4, 5 }\n"
        "{ sbr.rel (p1) target = loop }\n{ s2 = smul.u32 s4, s0 }\n{ s3 = sadd.s32 s2, 0 }\n"
        "{ shalt }",
        "{ s4 = smov 1 ;; p1 = scmp.lt.s32.totalorder s4, 5 }\n{ }\n{ }\n"
        "{ sbr.rel (p1) target = use }\n{ s2 = sld [smem:8] }\n{ }\n{ }\n{ }\n{ }\n{ }\n"
        "use:\n{ s3 = sadd.s32 s2, 1 }\n{ s2 = smov (p2) 4 }\n{ v1 = vstv s2 }\n"
        "{ v2 = vadd.f32 v1, v1 }\n{ v2 = vmov v1 }\n{ v3 = vadd.f32 v2, v2 }\n"
        "{ vst [vmem:s3] v3 }\n{ shalt }",
    };

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        assert_true(compare_modes(texts[i], "v3", 1));
        assert_true(compare_modes(texts[i], "v6e", 1));
    }
}

TEST(mistakes_are_told_alike_in_all_modes)
{
    static const char *const texts[] = {
        "{ s1 = smov 32761 }\n{ v1 = vld [vmem:s1] }\n{ shalt }",
        "{ v1 = vlaneseq }\n{ vst [vmem:32761] v1 }\n{ shalt }",
        "{ v1 = vlaneseq }\n{ vst [vmem:32762] sm:$0x7f v1 }\n{ shalt }",
        "{ vm1 = vmmov 1 }\n{ vst.msk [vmem:32764] ss:$0 vm1, v1 }\n"
        "{ vst.msk [vmem:32764] vm1, v1 }\n{ shalt }",
        "{ s1 = smov -5 }\n{ v1 = vld.sshfl [vmem:s1] sm:$0xe0 }\n{ vst.sshfl [vmem:s1] v1 }\n"
        "{ shalt }",
        "{ s1 = smov 32768 }\n{ v1 = vld.iar0 [vmem:s1] }\n{ shalt }",
        "{ s1 = smov -1 }\n{ vst.iar1 [vmem:s1] sm:$0x10 v1 }\n{ shalt }",
        "{ s1 = smov 2 }\n{ s1 = sld [smem:s1] }\n{ shalt }",
        "{ v1 = vpop.eup }\n{ shalt }",
        "{ vmatmul.f32.gmra.mxu0 v1 }\n{ shalt }",
        "loop:\n{ vpow2.f32 v1 ;; sbr.rel target = loop }\n{ }\n{ }\n{ }\n{ }\n{ shalt }",
        "{ vdelay 5 }\n{ shalt.err }",
        "{ vsyncadd [sflag:3], 4 }\n{ shalt }",
        "{ vwait.ge [sflag:3], 4 }\n{ shalt }",
        "{ dma.hbm_to_vmem 0, 8, 524287, [sflag:0] }\n{ shalt }",
    };

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct rig r;

        rig_open(&r, "v3", NULL);
        rig_load(&r, 0, texts[i]);
        if (rig_run(&r) == 0)
            fail_msg("program %d runs", (int)i);
        rig_close(&r);
        assert_true(compare_modes(texts[i], "v3", 1));
    }
}

TEST(a_lane_that_would_reach_the_scalar_side_is_a_fault_in_timing_mode)
{
    static const struct { const char *text, *part; } cases[] = {
        {"{ vpush v1 }\n{ s1 = spop }\n{ shalt }",
         "(line 2): spop needs an element of a vector, which timing mode does not work out; "
         "use --mode both"},
        {"{ vsetiar.raw.iar0 v1 }\n{ v2 = vld.iar1 [vmem:0] }\n{ v2 = vld.iar0 [vmem:0] }",
         "bundle 2 (line 3): vld.iar0 needs row offsets from a vector, which"},
        {"{ vsetiar.raw.iar1 v1 }\n{ vst.iar1 [vmem:0] v1 }",
         "vst.iar1 needs row offsets from a vector"},
        {"{ dma.vmem_to_smem 0, 8, 0, [sflag:0] }\n{ shalt }",
         "cycle 0 bundle 0 (line 1): dma.vmem_to_smem needs the contents of vmem, which"},
        {"{ dma.vmem_to_hbm 0, 8, 0x10, [sflag:0] }\n{ dma.done.wait [sflag:0], 8 }\n"
         "{ dma.hbm_to_hbm 0x12, 8, 0x50, [sflag:0] }\n{ dma.done.wait [sflag:0], 16 }\n"
         "{ dma.hbm_to_smem 0x40, 32, 8, [sflag:0] }\n{ dma.done.wait [sflag:0], 48 }\n{ shalt }",
         "bundle 4 (line 5): dma.hbm_to_smem needs hbm bytes 2560..2751, written from vectors"},
        {"{ dma.vmem_to_hbm 0, 8, 0x10, [sflag:0] }\n{ dma.done.wait [sflag:0], 8 }\n"
         "{ dma.hbm_to_smem 0x10, 8, 8, [sflag:0] }\n{ vdelay 100000 }\n"
         "{ vsyncset [sflag:0], 0 }\n{ shalt }",
         "bundle 2 (line 3): dma.hbm_to_smem needs hbm bytes 512..767"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_fault_in(MODE_TIMING, cases[i].text, FAULT_UNKNOWN, cases[i].part);
}

/* a listing may halt without waiting for its copies */
TEST(a_copy_of_the_unknown_that_nobody_waits_for_is_a_fault_too)
{
    struct rig r;

    rig_open(&r, "v3", &timing);
    assert_int_equal(machine_load_listing(r.m, 0, rig_assemble(&r,
        "{ dma.vmem_to_hbm 0, 8, 0x10, [sflag:0] }\n{ dma.done.wait [sflag:0], 8 }\n"
        "{ dma.hbm_to_smem 0x10, 8, 8, [sflag:1] }\n{ shalt }"), -1, &r.err), 0);
    assert_int_equal(rig_run(&r), -1);
    assert_int_equal(machine_fault(r.m)->kind, FAULT_UNKNOWN);
    assert_non_null(strstr(r.err.msg,
                           "bundle 2 (line 3): dma.hbm_to_smem needs hbm bytes 512..767"));
    rig_close(&r);
}

static void assert_hbm(struct rig *r, int core, int64_t address, int64_t bytes, bool is_known)
{
    char buffer[4096];
    struct err e = {.line = 0};
    int status = machine_hbm_read(r->m, core, address, buffer, bytes, &e);

    assert_int_equal(status, is_known ? 0 : -1);
    if (!is_known)
        assert_non_null(strstr(e.msg, "timing mode does not work out hbm bytes"));
}

TEST(hbm_written_from_vectors_cannot_be_read_after_timing_mode)
{
    struct rig r;
    int32_t word;

    rig_open(&r, "v3", &timing);
    rig_cycles(&r, "{ sst [smem:64], 77 }\n{ sfence }\n"
                   "{ dma.vmem_to_hbm 0, 16, 0x10, [sflag:0] }\n{ dma.done.wait [sflag:0], 16 }\n"
                   "{ dma.smem_to_hbm 2, 4, 0x14, [sflag:0] }\n{ dma.done.wait [sflag:0], 20 }\n"
                   "{ vsyncadd [sflag:0], -20 }\n{ shalt }");
    assert_hbm(&r, 0, 0, 512, true);
    assert_hbm(&r, 0, 511, 2, false);
    assert_hbm(&r, 0, 512, 128, false);
    assert_hbm(&r, 0, 640, 128, true);
    assert_hbm(&r, 0, 1023, 1, false);
    assert_hbm(&r, 0, 1024, 4096, true);
    assert_int_equal(machine_hbm_read(r.m, 0, 640, &word, 4, &r.err), 0);
    assert_int_equal(word, 77);
    assert_int_equal(machine_hbm_write(r.m, 0, 600, &word, 4, &r.err), 0);
    assert_hbm(&r, 0, 600, 4, true);
    assert_hbm(&r, 0, 604, 4, false);
    assert_int_equal(machine_vmem_read(r.m, 0, 0, &word, 4, &r.err), -1);
    assert_string_equal(r.err.msg, "core 0: timing mode does not work out vmem; use --mode both");
    rig_close(&r);
}

/* core 1 gets known bytes, then bytes of which the middle is unknown, then a tile of VMEM */
TEST(what_is_unknown_goes_along_to_other_cores)
{
    struct rig r;
    int32_t word[2] = {123, 0};

    rig_open(&r, "v3", &timing);
    assert_int_equal(machine_hbm_write(r.m, 0, 0, word, 4, &r.err), 0);
    rig_load(&r, 0, "{ dma.vmem_to_hbm 0, 2, 4, [sflag:0] }\n{ dma.done.wait [sflag:0], 2 }\n"
                    "{ dma.hbm_to_hbm.remote 0, 8, 0x100, [sflag:1], [sflag:2], 1 }\n"
                    "{ dma.vmem_to_hbm.remote 0, 8, 0x200, [sflag:1], [sflag:2], 1 }\n"
                    "{ dma.hbm_to_vmem.remote 0, 8, 0x200, [sflag:1], [sflag:2], 1 }\n"
                    "{ dma.done.wait [sflag:2], 24 }\n{ vsyncset [sflag:2], 0 }\n"
                    "{ vsyncset [sflag:0], 0 }\n{ shalt }");
    rig_load(&r, 1, "{ dma.done.wait [sflag:1], 24 }\n{ vsyncset [sflag:1], 0 }\n{ shalt }");
    if (rig_run(&r))
        fail_msg("%s", r.err.msg);
    assert_hbm(&r, 1, 0x2000, 128, true);
    assert_hbm(&r, 1, 0x2080, 1, false);
    assert_hbm(&r, 1, 0x20bf, 1, false);
    assert_hbm(&r, 1, 0x20c0, 64, true);
    assert_hbm(&r, 1, 0x4000, 256, false);
    assert_hbm(&r, 1, 0x4100, 256, true);
    assert_int_equal(machine_hbm_read(r.m, 1, 0x2000, &word[1], 4, &r.err), 0);
    assert_int_equal(word[1], 123);
    rig_close(&r);
}

static const char unknown_copies[] =
    "{ dma.hbm_to_hbm 0, 8, 0x300, [sflag:0] }\n"
    "{ dma.hbm_to_hbm.remote 0, 8, 0x100, [sflag:1], [sflag:2], 1 }\n"
    "{ dma.done.wait [sflag:2], 8 }\n{ vsyncset [sflag:2], 0 }\n"
    "{ dma.done.wait [sflag:0], 8 }\n{ vsyncset [sflag:0], 0 }\n{ shalt }";
static const char unknown_arrives[] =
    "{ dma.done.wait [sflag:1], 8 }\n{ vsyncset [sflag:1], 0 }\n{ shalt }";

/* of arrays that nobody looks at, copies move marks only, also while a snapshot is taken */
TEST(hbm_declared_unknown_is_unknown_wherever_it_is_copied)
{
    struct rig r;
    cycle_t cycles;

    rig_open(&r, "v3", &timing);
    rig_load(&r, 0, unknown_copies);
    rig_load(&r, 1, unknown_arrives);
    assert_int_equal(rig_run(&r), 0);
    cycles = machine_cycles(r.m);
    assert_hbm(&r, 1, 0x2000, 256, true);
    assert_int_equal(machine_hbm_set_unknown(r.m, 0, 0, 256, &r.err), 0);
    assert_hbm(&r, 0, 255, 1, false);
    assert_hbm(&r, 0, 256, 1, true);
    assert_int_equal(rig_run(&r), 0);
    assert_int_equal(machine_cycles(r.m), cycles);
    assert_hbm(&r, 0, 0x6000, 1, false);
    assert_hbm(&r, 0, 0x60ff, 1, false);
    assert_hbm(&r, 0, 0x6100, 1, true);
    assert_hbm(&r, 1, 0x2000, 1, false);
    assert_hbm(&r, 1, 0x20ff, 1, false);
    assert_hbm(&r, 1, 0x2100, 1, true);
    assert_int_equal(machine_hbm_set_unknown(r.m, 0, -1, 256, &r.err), -1);
    assert_non_null(strstr(r.err.msg, "core 0: hbm bytes -1..254 out of 0.."));
    rig_close(&r);
    rig_open(&r, "v3", NULL);           /* in other modes all is known */
    assert_int_equal(machine_hbm_set_unknown(r.m, 0, 0, 256, &r.err), 0);
    assert_hbm(&r, 0, 0, 256, true);
    rig_close(&r);
}

TEST(functional_mode_takes_a_cycle_per_bundle)
{
    struct rig r;

    for (size_t i = 1; i < COUNT_OF(units); i++) {
        const struct core_counters *k;
        cycle_t bundles = 0;

        for (const char *at = units[i].text; (at = strchr(at, '{')) != NULL; at++)
            bundles++;
        rig_open(&r, units[i].slice, &functional);
        assert_int_equal(rig_cycles(&r, units[i].text), bundles);
        k = machine_counters(r.m, 0);
        assert_int_equal(k->issue_cycles, k->cycles);
        for (int j = 0; j < k->unit_count; j++)
            assert_int_equal(k->unit[j].busy_cycles + k->unit[j].waiting_cycles, 0);
        rig_close(&r);
    }
    rig_open(&r, "v3", &functional);
    assert_int_equal(rig_cycles(&r, "{ vdelay 1000 }\n{ sdivrem.u32 7, 2 }\n"
                                    "{ s1 = spop.drf }\n{ s1 = spop.drf }\n{ shalt }"), 5);
    rig_close(&r);
}

/* losses are bit-identical step by step, and the step program has the same counters in timing */
TEST(a_training_step_is_the_same_in_all_modes)
{
    struct rig both, other;
    struct mlp a, b;
    float images[MLP_BATCH * MLP_INPUTS];
    int32_t labels[MLP_BATCH];
    const struct module *step;

    mlp_small_batch(images, labels);
    rig_open(&both, "v3-8", NULL);
    rig_open(&other, "v3-8", &functional);
    mlp_init_small(&a, both.m);
    mlp_init_small(&b, other.m);
    assert_int_equal(mlp_start(&a), 0);
    assert_int_equal(mlp_start(&b), 0);
    for (int i = 0; i < 3; i++) {
        struct strategy_run x, y;
        double loss[2];

        assert_int_equal(mlp_step(&a, images, labels, &loss[0], &x), 0);
        assert_int_equal(mlp_step(&b, images, labels, &loss[1], &y), 0);
        assert_memory_equal(&loss[0], &loss[1], sizeof(loss[0]));
        assert_true(x.cycles > 0 && y.cycles == 0);
    }
    assert_int_equal(strategy_check_replicas(fit_strategy(b.fit), &other.err), 0);
    for (int core = 0; core < 8; core++)
        assert_same_operations(both.m, other.m, core);
    mlp_fini(&b);
    rig_close(&other);
    rig_open(&other, "v3-8", &timing);
    step = strategy_program_module(fit_program(a.fit, 1, &a.err));
    for (int core = 0; core < 8; core++)
        assert_int_equal(module_load(step, other.m, core, &other.err), 0);
    if (rig_run(&other))
        fail_msg("%s", other.err.msg);
    assert_equal_counters(both.m, other.m);
    mlp_fini(&a);
    rig_close(&other);
    rig_close(&both);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_are_the_same_in_all_modes),
        cmocka_unit_test(each_unit_is_the_same_in_all_modes),
        cmocka_unit_test(pauses_at_every_cycle_change_nothing_in_timing_mode),
        cmocka_unit_test(results_are_waited_for_on_every_way),
        cmocka_unit_test(mistakes_are_told_alike_in_all_modes),
        cmocka_unit_test(a_lane_that_would_reach_the_scalar_side_is_a_fault_in_timing_mode),
        cmocka_unit_test(a_copy_of_the_unknown_that_nobody_waits_for_is_a_fault_too),
        cmocka_unit_test(hbm_written_from_vectors_cannot_be_read_after_timing_mode),
        cmocka_unit_test(what_is_unknown_goes_along_to_other_cores),
        cmocka_unit_test(hbm_declared_unknown_is_unknown_wherever_it_is_copied),
        cmocka_unit_test(functional_mode_takes_a_cycle_per_bundle),
        cmocka_unit_test(a_training_step_is_the_same_in_all_modes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
