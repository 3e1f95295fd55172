/*
 * Launches repeated in mode both, where only values are worked out, against a machine that
 * simulates each: nothing may differ but the time it takes.
 */
#include "base/rng.h"
#include "base/units.h"
#include "tests/rigs/outcome.h"
#include "tests/generate/random_program.h"
#include "tests/rigs/host_memory.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

/* ---- random programs, launch by launch, with what a host may write in between ---- */

#define LAUNCHES 6

static const char *const chips[] = {"tiny", "v2", "v3", "v4", "v5e", "v6e"};

struct two {
    struct machine *memo, *plain;
};

static struct machine *open_one(const struct random_programs *r, bool no_memo, int threads)
{
    struct machine_options options = {.thread_count = threads, .cycle_limit = 1000000,
                                      .no_memo = no_memo};
    struct err e;
    struct machine *m = machine_create(&r->slice, &r->chip, &options, &e);

    if (!m)
        fail_msg("%s", e.msg);
    random_programs_load(r, m);
    return m;
}

static void must(int status, const struct err *e)
{
    if (status)
        fail_msg("%s", e->msg);
}

/* all contents as they were at first, or a word of one memory of one core */
static void write_all(const struct random_programs *r, struct machine *m)
{
    int64_t most = later(later(r->hbm.bytes, r->smem.bytes), later(r->vmem.bytes, r->host.bytes));
    unsigned char *bytes = mem_alloc((size_t)most);
    struct err e;

    for (int core = 0; core < r->core_count; core++) {
        random_contents(r, core, RANDOM_HBM, bytes);
        must(machine_hbm_write(m, core, r->hbm.first, bytes, r->hbm.bytes, &e), &e);
        random_contents(r, core, RANDOM_SMEM, bytes);
        must(machine_smem_write(m, core, r->smem.first, bytes, r->smem.bytes, &e), &e);
        random_contents(r, core, RANDOM_VMEM, bytes);
        must(machine_vmem_write(m, core, r->vmem.first, bytes, r->vmem.bytes, &e), &e);
        random_contents(r, core, RANDOM_HOST, bytes);
        host_memory_write(m, core, r->host.first, bytes, r->host.bytes);
    }
    mem_free(bytes);
}

static void write_word(const struct random_programs *r, struct machine *m, uint64_t seed)
{
    struct rng rng;
    int core;
    int64_t at;
    uint32_t word;
    struct err e;

    rng_init(&rng, seed);
    core = (int)rng_below(&rng, (uint32_t)r->core_count);
    word = (uint32_t)rng_next(&rng);
    if (seed % 2) {
        at = r->hbm.first + 4 * rng_below(&rng, (uint32_t)(r->hbm.bytes / 4));
        must(machine_hbm_write(m, core, at, &word, 4, &e), &e);
    } else {
        at = r->smem.first
             + 4 * rng_below(&rng, (uint32_t)((r->smem.bytes - RANDOM_DESCRIPTOR_BYTES) / 4));
        must(machine_smem_write(m, core, at, &word, 4, &e), &e);
    }
}

static void compare(const struct random_programs *r, const struct two *t, const char *name,
                    int launch)
{
    const struct outcome_range range[] = {
        {MEMORY_HBM, r->hbm.first, r->hbm.bytes}, {MEMORY_VMEM, r->vmem.first, r->vmem.bytes},
        {MEMORY_HOST, r->host.first, r->host.bytes},
        {MEMORY_CMEM, r->cmem.first, r->cmem.bytes}};
    struct outcome one = {.data = NULL}, other = {.data = NULL};
    int ranges = r->cmem.bytes > 0 ? 4 : 3;
    char what[200];

    outcome_take(&one, t->memo, NULL, OUTCOME_ALL, range, ranges);
    outcome_take(&other, t->plain, NULL, OUTCOME_ALL, range, ranges);
    if (!outcome_same(&one, &other, OUTCOME_ALL, what, sizeof(what)))
        fail_msg("%s: launch %d: %s", name, launch, what);
    outcome_free(&one);
    outcome_free(&other);
}

/* how many of the launches were repeated */
static int64_t run_seed(const char *chip, uint64_t seed)
{
    struct random_options options = {.races = seed % 3 == 1, .for_timing = seed % 3 != 0,
                                     .no_stand_ins = seed % 2 == 0, .bundles = 200};
    struct random_programs r;
    struct two t;
    struct err e;
    int64_t repeats;
    char name[120];

    random_programs_make(&r, chip, seed, &options);
    random_programs_name(&r, name, sizeof(name));
    t.memo = open_one(&r, false, seed % 2 ? 2 : 1);
    t.plain = open_one(&r, true, 1);
    for (int i = 0; i < LAUNCHES; i++) {
        int status = machine_run(t.memo, &e);

        assert_int_equal(machine_run(t.plain, &e), status);
        compare(&r, &t, name, i);
        if (i % 2 == 0) {
            write_all(&r, t.memo);
            write_all(&r, t.plain);
        }
        if (i % 3 == 1) {
            write_word(&r, t.memo, seed + (uint64_t)i);
            write_word(&r, t.plain, seed + (uint64_t)i);
        }
    }
    repeats = machine_memo_stats(t.memo).launches;
    machine_destroy(t.memo);
    machine_destroy(t.plain);
    random_programs_free(&r);
    return repeats;
}

TEST(random_programs_leave_the_same_values_cycles_and_counters)
{
    uint64_t count = random_seed_count(10, 1000);

    for (size_t i = 0; i < COUNT_OF(chips); i++) {
        int64_t repeats = 0;

        for (uint64_t seed = 0; seed < count; seed++)
            repeats += run_seed(chips[i], random_seed(seed));
        assert_true(repeats > 0 || count < 4);
    }
}

/* ---- which values cycles can depend on ---- */

#define INPUT 0x1000                    /* HBM bytes that FETCH brings to SMEM word 512 */
#define FETCH "{ dma.hbm_to_smem 0x80, 1, 0x10, [sflag:0] }\n" \
              "{ dma.done.wait [sflag:0], 1 }\n{ vsyncadd [sflag:0], -1 }\n"
#define TAIL "{ vst [vmem:0] v0 }\n{ sfence }\n{ dma.vmem_to_hbm 0, 128, 0x200, [sflag:0] }\n" \
             "{ dma.done.wait [sflag:0], 128 }\n{ vsyncadd [sflag:0], -128 }\n{ shalt }\n"
#define LOOP "{ s0 = smov 0 }\nloop:\n{ s0 = sadd.s32 s0, 1 ;; v0 = vadd.f32 v0, v0 }\n" \
             "{ p0 = scmp.lt.s32.totalorder s0, s1 }\n{ sbr.rel (p0) target = loop }\n{ }\n"

/* What changes between the second launch and the third. */
enum change { NOTHING, HBM_WORD, SMEM_WORD, ENTRY_REGISTER, PROGRAM, LAUNCH_IN_PARTS };

static const struct origin_case {
    const char *what, *text;
    enum change change;
    int64_t repeats[2];                 /* of the second launch, and of the third */
} origin_cases[] = {
    {"the same again", FETCH "{ s1 = sld [smem:512] }\n" LOOP TAIL, NOTHING, {1, 2}},
    {"hbm that a branch depends on", FETCH "{ s1 = sld [smem:512] }\n" LOOP TAIL, HBM_WORD,
     {1, 1}},
    {"hbm that is spread", FETCH "{ s1 = sld [smem:512] }\n{ v0 = vstv s1 }\n" TAIL, HBM_WORD,
     {1, 2}},
    {"hbm that seeds", FETCH "{ s1 = sld [smem:512] }\n{ setrngseed s1 }\n{ v0 = vrng }\n" TAIL,
     HBM_WORD, {1, 2}},
    {"hbm that is worked with, then spread", FETCH "{ s1 = sld [smem:512] }\n"
     "{ s2 = sadd.s32 s1, 7 }\n{ s3 = smul.u32 s2, s1 }\n{ v0 = vstv s3 }\n" TAIL, HBM_WORD,
     {1, 2}},
    {"hbm that goes through smem, then spread", FETCH "{ s1 = sld [smem:512] }\n"
     "{ sst [smem:64], s1 }\n{ s2 = sld [smem:64] }\n{ v0 = vstv s2 }\n" TAIL, HBM_WORD, {1, 2}},
    {"hbm that goes through smem to a branch", FETCH "{ s1 = sld [smem:512] }\n"
     "{ sst [smem:64], s1 }\n{ s1 = sld [smem:64] }\n" LOOP TAIL, HBM_WORD, {1, 1}},
    {"hbm that is added to what a branch depends on", FETCH "{ s1 = sld [smem:512] }\n"
     "{ s1 = sadd.s32 s1, 3 }\n" LOOP TAIL, HBM_WORD, {1, 1}},
    {"hbm that one of two branches has", FETCH "{ s2 = sld [smem:512] ;; s1 = smov 5 }\n"
     "{ p1 = scmp.lt.s32.totalorder s1, 6 }\n{ s1 = scalar_select p1, s1, s2 }\n" LOOP TAIL,
     HBM_WORD, {1, 1}},         /* although not taken: what counts is what might be */
    {"hbm that is an address", FETCH "{ s1 = sld [smem:512] }\n{ v0 = vld [vmem:s1] }\n" TAIL,
     HBM_WORD, {1, 1}},
    {"hbm that is a delay", FETCH "{ s1 = sld [smem:512] }\n{ vdelay s1 }\n" TAIL, HBM_WORD,
     {1, 1}},
    {"hbm that is divided", FETCH "{ s1 = sld [smem:512] }\n{ sdivrem.u32 s1, 3 }\n"
     "{ s2 = spop.drf }\n{ s1 = spop.drf }\n" LOOP TAIL, HBM_WORD, {1, 1}},
    {"hbm that is the size of a copy", FETCH "{ s1 = sld [smem:512] }\n"
     "{ dma.hbm_to_vmem 0x800, s1, 0x100, [sflag:1] }\n{ dma.done.wait [sflag:1], s1 }\n"
     "{ s2 = ssub.s32 0, s1 }\n{ vsyncadd [sflag:1], s2 }\n" TAIL, HBM_WORD, {1, 1}},
    {"smem that is spread", "{ s1 = sld [smem:512] }\n{ v0 = vstv s1 }\n" TAIL, SMEM_WORD, {1, 2}},
    {"smem that a branch depends on", "{ s1 = sld [smem:512] }\n" LOOP TAIL, SMEM_WORD, {1, 1}},
    {"smem that is written first", "{ s1 = smov 9 }\n{ sst [smem:512], s1 }\n"
     "{ s1 = sld [smem:512] }\n" LOOP TAIL, SMEM_WORD, {1, 2}},
    {"smem that says what to copy", "{ s0 = smov 0x10 ;; s1 = smov 1 }\n{ sst [smem:256], s0 }\n"
     "{ s0 = smov 0x80 }\n{ sst [smem:260], s0 }\n{ s0 = smov 0x40 }\n{ sst [smem:264], s0 }\n"
     "{ sst [smem:272], s1 }\n"
     "{ sst [smem:284], s1 }\n{ sst [smem:296], s1 }\n{ sst [smem:308], s1 }\n"
     "{ s1 = sld [smem:512] }\n{ sst [smem:268], s1 }\n{ sfence }\n"
     "{ dma.general [smem:256] }\n{ dma.done.wait [sflag:1], s1 }\n{ s1 = ssub.s32 0, s1 }\n"
     "{ vsyncadd [sflag:1], s1 }\n" TAIL, SMEM_WORD, {1, 1}},
    {"a lane that is spread", "{ v0 = vlaneseq }\n{ vpush v0 }\n{ s1 = spop }\n{ v0 = vstv s1 }\n"
     TAIL, NOTHING, {1, 2}},
    {"a lane that a branch depends on", "{ v0 = vlaneseq }\n{ vpush v0 }\n{ s1 = spop }\n" LOOP
     TAIL, NOTHING, {0, 0}},
    {"lanes that are rows", "{ v1 = vlaneseq }\n{ vsetiar.raw.iar0 v1 }\n" TAIL, NOTHING, {0, 0}},
    {"hbm that the launch has written", "{ v0 = vlaneseq }\n{ vst [vmem:0] v0 }\n{ sfence }\n"
     "{ dma.vmem_to_hbm 0, 128, 0x80, [sflag:1] }\n{ dma.done.wait [sflag:1], 128 }\n"
     "{ vsyncadd [sflag:1], -128 }\n" FETCH "{ s1 = sld [smem:512] }\n" LOOP TAIL, NOTHING,
     {1, 2}},
    {"what the launch makes of hbm", FETCH "{ s1 = sld [smem:512] }\n{ v0 = vstv s1 }\n"
     "{ v0 = vadd.s32 v0, 3 }\n{ vst [vmem:8] v0 }\n{ vst [vmem:0x80] v0 }\n{ sfence }\n"
     "{ dma.vmem_to_hbm 128, 128, 0x100, [sflag:1] }\n{ dma.done.wait [sflag:1], 128 }\n"
     "{ vsyncadd [sflag:1], -128 }\n{ dma.hbm_to_smem 0x100, 1, 0x12, [sflag:1] }\n"
     "{ dma.done.wait [sflag:1], 1 }\n{ vsyncadd [sflag:1], -1 }\n{ s1 = sld [smem:576] }\n"
     LOOP TAIL, HBM_WORD, {1, 1}},
    {"what is counted up in all memories first", FETCH
     "{ s1 = sld [smem:512] }\n{ s5 = sld [smem:128] }\n{ s5 = sadd.s32 s5, 1 }\n"
     "{ sst [smem:128], s5 ;; v1 = vld [vmem:0x40] }\n{ v1 = vadd.s32 v1, 1 }\n"
     "{ vst [vmem:0x40] v1 }\n"
     "{ dma.hbm_to_vmem 0x180, 128, 0x800, [sflag:1] }\n{ dma.done.wait [sflag:1], 128 }\n"
     "{ vsyncadd [sflag:1], -128 }\n{ v1 = vld [vmem:0x80] }\n{ v1 = vadd.s32 v1, 1 }\n"
     "{ vst [vmem:0x80] v1 }\n{ sfence }\n"
     "{ dma.vmem_to_hbm 0x800, 128, 0x180, [sflag:1] }\n{ dma.done.wait [sflag:1], 128 }\n"
     "{ vsyncadd [sflag:1], -128 }\n"
     "{ dma.vmem_to_host 0x800, 128, 0x40, [sflag:1] }\n{ dma.done.wait [sflag:1], 128 }\n"
     "{ vsyncadd [sflag:1], -128 }\n"
     "{ v0 = vstv s1 }\n{ vst [vmem:8] v0 }\n{ sfence }\n"
     "{ dma.vmem_to_smem 128, 1, 0x12, [sflag:1] }\n{ dma.done.wait [sflag:1], 1 }\n"
     "{ vsyncadd [sflag:1], -1 }\n{ s1 = sld [smem:576] }\n" LOOP TAIL, HBM_WORD, {1, 1}},
    {"vmem that a branch depends on", FETCH "{ s1 = sld [smem:512] }\n{ v0 = vstv s1 }\n"
     "{ vst [vmem:8] v0 }\n{ sfence }\n{ dma.vmem_to_smem 128, 1, 0x12, [sflag:1] }\n"
     "{ dma.done.wait [sflag:1], 1 }\n{ vsyncadd [sflag:1], -1 }\n{ s1 = sld [smem:576] }\n"
     LOOP TAIL, HBM_WORD, {1, 1}},
    {"vmem that is spread", FETCH "{ s1 = sld [smem:512] }\n{ v0 = vstv s1 }\n"
     "{ vst [vmem:8] v0 }\n{ sfence }\n{ dma.vmem_to_smem 128, 1, 0x12, [sflag:1] }\n"
     "{ dma.done.wait [sflag:1], 1 }\n{ vsyncadd [sflag:1], -1 }\n{ s1 = sld [smem:576] }\n"
     "{ v0 = vstv s1 }\n" TAIL, HBM_WORD, {1, 2}},
    {"hbm that the launch has written, spread", "{ v0 = vlaneseq }\n{ vst [vmem:0] v0 }\n"
     "{ sfence }\n{ dma.vmem_to_hbm 0, 128, 0x80, [sflag:1] }\n{ dma.done.wait [sflag:1], 128 }\n"
     "{ vsyncadd [sflag:1], -128 }\n" FETCH "{ s1 = sld [smem:512] }\n{ v0 = vstv s1 }\n" TAIL,
     HBM_WORD, {1, 2}},
    {"hbm that comes from the host", "{ dma.hbm_to_host 0x80, 1, 0, [sflag:0] }\n"
     "{ dma.done.wait [sflag:0], 1 }\n{ vsyncadd [sflag:0], -1 }\n" TAIL, HBM_WORD, {1, 2}},
    {"entry registers", "{ s1 = sadd.s32 s5, 2 }\n" LOOP TAIL, ENTRY_REGISTER, {1, 1}},
    {"a program loaded anew", "{ s1 = smov 4 }\n" LOOP TAIL, PROGRAM, {1, 1}},
    {"a launch in parts", "{ s1 = smov 4 }\n" LOOP TAIL, LAUNCH_IN_PARTS, {1, 1}},
};

static void write_input(struct rig *r, enum change change, int32_t word)
{
    if (change == HBM_WORD || change == NOTHING)
        must(machine_hbm_write(r->m, 0, INPUT, &word, 4, &r->err), &r->err);
    else
        must(machine_smem_write(r->m, 0, 512, &word, 4, &r->err), &r->err);
}

static void make_change(struct rig *r, const struct origin_case *k)
{
    switch (k->change) {
    case NOTHING: break;
    case HBM_WORD: case SMEM_WORD: write_input(r, k->change, 8); break;
    case ENTRY_REGISTER: must(machine_set_scalar(r->m, 0, 5, 6, &r->err), &r->err); break;
    case PROGRAM: rig_load(r, 0, k->text); break;
    case LAUNCH_IN_PARTS:
        machine_start(r->m);
        assert_int_equal(machine_advance(r->m, CYCLE_NEVER), MACHINE_HALTED);
        machine_finish(r->m);
        break;
    }
}

static void compare_rigs(const struct rig *memo, const struct rig *plain, const char *what)
{
    const struct outcome_range range[] = {{MEMORY_HBM, 0, 0x8000}, {MEMORY_VMEM, 0, 0x2000},
                                          {MEMORY_HOST, 0, 0x1000}};
    struct outcome one = {.data = NULL}, other = {.data = NULL};
    char difference[200];

    outcome_take(&one, memo->m, NULL, OUTCOME_ALL, range, COUNT_OF(range));
    outcome_take(&other, plain->m, NULL, OUTCOME_ALL, range, COUNT_OF(range));
    if (!outcome_same(&one, &other, OUTCOME_ALL, difference, sizeof(difference)))
        fail_msg("%s: %s", what, difference);
    outcome_free(&one);
    outcome_free(&other);
}

static void run_case(const struct origin_case *k)
{
    const struct rig_options without = {.no_memo = true};
    struct rig memo, plain, *const both[] = {&memo, &plain};
    const char *message;

    rig_open(&memo, "v3", NULL);
    rig_open(&plain, "v3", &without);
    for (int launch = 0; launch < 3; launch++) {
        for (int i = 0; i < 2; i++) {
            if (launch == 0)
                rig_load(both[i], 0, k->text);
            if (launch < 2)             /* programs may write over it */
                write_input(both[i], k->change, 4);
            else
                make_change(both[i], k);
            message = rig_run(both[i]) ? both[i]->err.msg : NULL;
            if (message)
                fail_msg("%s: %s", k->what, message);
        }
        compare_rigs(&memo, &plain, k->what);
        if (launch > 0 && machine_memo_stats(memo.m).launches != k->repeats[launch - 1])
            fail_msg("%s: launch %d: %lld launches repeated, not %lld", k->what, launch,
                     (long long)machine_memo_stats(memo.m).launches,
                     (long long)k->repeats[launch - 1]);
    }
    assert_int_equal(machine_memo_stats(plain.m).launches, 0);
    rig_close(&memo);
    rig_close(&plain);
}

TEST(a_launch_is_simulated_anew_where_cycles_could_depend_on_what_changed)
{
    for (size_t i = 0; i < COUNT_OF(origin_cases); i++)
        run_case(&origin_cases[i]);
}

TEST(launches_with_checks_or_a_trace_are_simulated)
{
    static const struct rig_options options[] = {
        {.check_races = true}, {.check_unwritten = true}, {.shared_hbm = true}, {.trace = true}};
    struct rig r;

    for (size_t i = 0; i < COUNT_OF(options); i++) {
        rig_open(&r, "v3", &options[i]);
        rig_load(&r, 0, "{ v0 = vlaneseq }\n" TAIL);
        for (int j = 0; j < 3; j++)
            assert_int_equal(rig_run(&r), 0);
        assert_int_equal(machine_memo_stats(r.m).launches, 0);
        rig_close(&r);
    }
}

/* ---- a sender that nothing holds up: more than copies under way may take along ---- */

#define PIECES 12                       /* of 8 MiB, to a core that runs behind */

static void run_ahead(struct rig *r, int threads)
{
    static const char send[] =
        "loop:\n{ dma.hbm_to_hbm.remote s2, 0x40000, s2, [sflag:0], [sflag:1], /*core=*/1 }\n"
        "{ dma.done.wait [sflag:1], 0x40000 }\n{ vsyncadd [sflag:1], -0x40000 }\n"
        "{ s2 = sadd.s32 s2, 0x40000 }\n{ s1 = sadd.s32 s1, 1 }\n"
        "{ p0 = scmp.lt.s32.totalorder s1, 12 }\n{ sbr.rel (p0) target = loop }\n{ }\n{ shalt }\n";
    static const char take[] =
        "loop:\n{ dma.done.wait [sflag:0], 0x40000 }\n{ vsyncadd [sflag:0], -0x40000 }\n"
        "{ s1 = sadd.s32 s1, 1 }\n"
        "{ p0 = scmp.lt.s32.totalorder s1, 12 }\n{ sbr.rel (p0) target = loop }\n{ }\n{ shalt }\n";
    const struct rig_options options = {.thread_count = threads};

    rig_open(r, "v3-8", &options);
    rig_load(r, 0, send);
    rig_load(r, 1, take);
}

TEST(senders_that_run_far_ahead_let_others_run)
{
    for (int threads = 1; threads <= 2; threads++) {
        struct rig r;

        run_ahead(&r, threads);
        for (int launch = 0; launch < 3; launch++) {
            for (int32_t i = 0; i < PIECES; i++) {
                int32_t word = 100 * launch + i;

                must(machine_hbm_write(r.m, 0, i * 8 * MIB + 4096, &word, 4, &r.err), &r.err);
            }
            must(rig_run(&r), &r.err);
            for (int32_t i = 0; i < PIECES; i++) {
                int32_t word;

                must(machine_hbm_read(r.m, 1, i * 8 * MIB + 4096, &word, 4, &r.err), &r.err);
                assert_int_equal(word, 100 * launch + i);
            }
        }
        assert_int_equal(machine_memo_stats(r.m).launches, 2);
        rig_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_leave_the_same_values_cycles_and_counters),
        cmocka_unit_test(a_launch_is_simulated_anew_where_cycles_could_depend_on_what_changed),
        cmocka_unit_test(launches_with_checks_or_a_trace_are_simulated),
        cmocka_unit_test(senders_that_run_far_ahead_let_others_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
