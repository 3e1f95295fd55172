/*
 * Kernels that cores of a repeated launch take from each other, against a machine whose cores work
 * out all of theirs: nothing may differ in HBM, cycles or counters.
 */
#include "base/rng.h"
#include "base/units.h"
#include "tests/rigs/mlp.h"
#include "tests/rigs/outcome.h"
#include "tests/generate/random_program.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

#include <stdlib.h>

static void must(int status, const struct err *e)
{
    if (status)
        fail_msg("%s", e->msg);
}

/* ---- programs by hand: kernels k0.., each up to the label e0.. ---- */

#define TILE 4096
#define TILES 96                        /* of HBM that programs work on: six pages */
#define GRANULES "128"                  /* of a tile */
#define KERNELS_MAX 12
#define PEER 16                         /* word of SMEM: the core that this one sends to */

/* one program on all cores, of a machine with deduplication and of one without */
struct pair {
    struct rig rig[2];
    struct machine_kernel kernel[KERNELS_MAX];
    int kernels, cores;
};

static uint32_t bundle_of(const struct isa_program *p, char letter, int number)
{
    char name[16];

    snprintf(name, sizeof(name), "%c%d", letter, number);
    for (uint32_t i = 0; i < p->symbol_count; i++)
        if (strcmp(p->symbol[i].name, name) == 0)
            return p->symbol[i].bundle;
    return UINT32_MAX;
}

/* `tied`: bit per kernel that does not stand alone */
static void load(struct pair *t, struct rig *r, const char *text, uint32_t tied)
{
    const struct isa_program *p = rig_assemble(r, text);

    t->cores = machine_core_count(r->m);
    for (t->kernels = 0; bundle_of(p, 'k', t->kernels) != UINT32_MAX; t->kernels++)
        t->kernel[t->kernels] = (struct machine_kernel){
            bundle_of(p, 'k', t->kernels), bundle_of(p, 'e', t->kernels),
            !(tied >> t->kernels & 1u)};
    for (int core = 0; core < t->cores; core++) {
        int32_t peer = (core + 1) % t->cores;

        must(machine_load(r->m, core, p, &r->err), &r->err);
        must(machine_set_kernels(r->m, core, t->kernel, t->kernels, &r->err), &r->err);
        must(machine_smem_write(r->m, core, PEER, &peer, sizeof(peer), &r->err), &r->err);
    }
}

static void open_pair(struct pair *t, const char *slice, int threads, const char *text,
                      uint32_t tied)
{
    for (int i = 0; i < 2; i++) {
        const struct rig_options options = {.thread_count = i ? 1 : threads, .no_dedup = i == 1};

        rig_open(&t->rig[i], slice, &options);
        load(t, &t->rig[i], text, tied);
    }
}

static void close_pair(struct pair *t)
{
    rig_close(&t->rig[0]);
    rig_close(&t->rig[1]);
}

static void write_both(struct pair *t, int core, int64_t address, const void *from, int64_t bytes)
{
    for (int i = 0; i < 2; i++)
        must(machine_hbm_write(t->rig[i].m, core, address, from, bytes, &t->rig[i].err),
             &t->rig[i].err);
}

static void compare(const struct pair *t, const char *what)
{
    enum { PARTS = OUTCOME_FAULT | OUTCOME_TIMES | OUTCOME_COUNTS };
    static unsigned char one[TILES * TILE], other[TILES * TILE];
    struct outcome a = {.data = NULL}, b = {.data = NULL};
    char difference[200];
    struct err e;

    outcome_take(&a, t->rig[0].m, NULL, PARTS, NULL, 0);
    outcome_take(&b, t->rig[1].m, NULL, PARTS, NULL, 0);
    if (!outcome_same(&a, &b, PARTS, difference, sizeof(difference)))
        fail_msg("%s: %s", what, difference);
    outcome_free(&a);
    outcome_free(&b);
    for (int core = 0; core < t->cores; core++) {
        must(machine_hbm_read(t->rig[0].m, core, 0, one, sizeof(one), &e), &e);
        must(machine_hbm_read(t->rig[1].m, core, 0, other, sizeof(other), &e), &e);
        for (size_t i = 0; i < sizeof(one); i++)
            if (one[i] != other[i])
                fail_msg("%s: core %d: byte %zu of HBM is %d with deduplication and %d without",
                         what, core, i, one[i], other[i]);
    }
}

static void run_pair(struct pair *t, const char *what)
{
    for (int i = 0; i < 2; i++)
        if (rig_run(&t->rig[i]))
            fail_msg("%s: %s", what, t->rig[i].err.msg);
    compare(t, what);
}

static struct machine_memo_stats stats_of(const struct pair *t)
{
    return machine_memo_stats(t->rig[0].m);
}

#define WAIT(flag, granules) "{ dma.done.wait [sflag:" flag "], " granules " }\n" \
                             "{ vsyncadd [sflag:" flag "], -" granules " }\n"
/* tiles 0..23 doubled to tiles 40.. */
#define DOUBLE "{ vtrace 0 }\nk0:\n{ dma.hbm_to_vmem 0, 3072, 0, [sflag:0] }\n" WAIT("0", "3072") \
               "{ v0 = vld [vmem:0] }\n{ v0 = vadd.s32 v0, v0 }\n{ vst [vmem:0] v0 }\n" \
               "{ sfence }\n" \
               "{ dma.vmem_to_hbm 0, 3072, 5120, [sflag:0] }\n" WAIT("0", "3072") "e0:\n"

TEST(equal_cores_work_a_kernel_out_once)
{
    for (int threads = 1; threads <= 3; threads++) {
        struct pair t;

        open_pair(&t, "v3-8", threads, DOUBLE "{ shalt }\n", 0);
        for (int32_t launch = 0; launch < 5; launch++) {
            for (int core = 0; core < t.cores; core++)
                write_both(&t, core, 8, &launch, sizeof(launch));
            run_pair(&t, "doubling");
        }
        /* the first is simulated, the second takes samples, and one of eight cores leads */
        assert_int_equal(stats_of(&t).launches, 4);
        assert_int_equal(stats_of(&t).kernels, 3 * 7);
        assert_int_equal(machine_memo_stats(t.rig[1].m).kernels, 0);
        close_pair(&t);
    }
}

TEST(a_core_with_another_byte_works_its_kernel_out)
{
    const int32_t word = -77;
    struct pair t;

    open_pair(&t, "v3-8", 1, DOUBLE "{ shalt }\n", 0);
    for (int launch = 0; launch < 6; launch++) {
        if (launch == 3)
            write_both(&t, 5, 23 * TILE + 4000, &word, sizeof(word));
        run_pair(&t, "one core differs");
    }
    assert_int_equal(stats_of(&t).kernels, 7 + 3 * 6);
    close_pair(&t);
}

TEST(cores_that_all_differ_are_soon_left_alone)
{
    struct pair t;

    open_pair(&t, "v3-8", 1, DOUBLE "{ shalt }\n", 0);
    for (int launch = 0; launch < 6; launch++) {
        for (int32_t core = 0; core < t.cores && launch == 3; core++)
            write_both(&t, core, 512, &core, sizeof(core));
        run_pair(&t, "all differ");
    }
    assert_int_equal(stats_of(&t).kernels, 7);
    for (int32_t core = 0, word = 0; core < t.cores; core++)    /* too late */
        write_both(&t, core, 512, &word, sizeof(word));
    run_pair(&t, "equal again");
    assert_int_equal(stats_of(&t).kernels, 7);
    close_pair(&t);
}

/* What a kernel may not do, whatever the list says. */
TEST(a_kernel_that_does_not_stand_alone_is_found_out)
{
    static const struct { const char *what, *text; } cases[] = {
        {"random numbers", "{ vtrace 0 }\nk0:\n{ v1 = vrng }\n{ vst [vmem:0] v1 }\n{ sfence }\n"
         "{ dma.vmem_to_hbm 0, 3072, 5120, [sflag:0] }\n" WAIT("0", "3072") "e0:\n{ shalt }\n"},
        {"a copy that is not waited for", "{ vtrace 0 }\nk0:\n"
         "{ dma.hbm_to_vmem 0, 1024, 0, [sflag:1] }\n" WAIT("1", "1024")
         "{ dma.hbm_to_hbm 0, 3072, 5120, [sflag:0] }\ne0:\n" WAIT("0", "3072") "{ shalt }\n"},
        {"a copy from before that arrives in it",
         "{ dma.hbm_to_hbm 0x2000, 1024, 0, [sflag:1] }\n" DOUBLE WAIT("1", "1024") "{ shalt }\n"},
        {"a copy from before that reads what it writes",
         "{ dma.hbm_to_hbm 5120, 64, 0x2800, [sflag:1] }\n" DOUBLE WAIT("1", "64") "{ shalt }\n"},
        {"a way out", "{ s1 = smov 1 }\n{ vtrace 0 }\nk0:\n"
         "{ dma.hbm_to_hbm 0, 3072, 5120, [sflag:0] }\n" WAIT("0", "3072")
         "{ p0 = scmp.lt.s32.totalorder s1, 2 }\n{ sbr.rel (p0) target = out }\n{ }\ne0:\n"
         "{ v0 = vlaneseq }\nout:\n{ shalt }\n"},
        {"a copy to another core", "{ s1 = sld [smem:16] }\n{ vtrace 0 }\nk0:\n"
         "{ dma.hbm_to_hbm.remote 0, 3072, 5120, [sflag:0], [sflag:1], s1 }\n" WAIT("1", "3072")
         WAIT("0", "3072") "e0:\n{ shalt }\n"},
        {"host memory", "{ vtrace 0 }\nk0:\n{ dma.host_to_hbm 0, 3072, 5120, [sflag:0] }\n"
         WAIT("0", "3072") "e0:\n{ shalt }\n"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct pair t;

        open_pair(&t, "v3-8", 1, cases[i].text, 0);
        for (int launch = 0; launch < 4; launch++)
            run_pair(&t, cases[i].what);
        assert_int_equal(stats_of(&t).launches, 3);
        if (stats_of(&t).kernels != 0)
            fail_msg("%s: %lld kernels left out", cases[i].what, (long long)stats_of(&t).kernels);
        close_pair(&t);
    }
}

TEST(kernels_are_parts_of_a_program)
{
    const struct machine_kernel wrong[] = {{2, 1, true}, {0, 1000, true}};
    struct rig r;

    rig_open(&r, "v3-8", NULL);
    assert_int_equal(machine_set_kernels(r.m, 0, wrong, 0, &r.err), -1);
    assert_non_null(strstr(r.err.msg, "core 0 has no program"));
    rig_load(&r, 0, "{ v0 = vlaneseq }\n{ shalt }\n");
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_int_equal(machine_set_kernels(r.m, 0, &wrong[i], 1, &r.err), -1);
        assert_non_null(strstr(r.err.msg, "kernel 0: bundles"));
    }
    rig_close(&r);
}

/*
 * Core 0 starts later than the others and is still in the kernel when a copy arrives that core 7
 * sends behind it. So where core 0 is the first to come, the others wait for it and it for them.
 */
TEST(a_leader_may_need_a_core_that_waits_for_it)
{
    static const char text[] =
        "{ s1 = sld [smem:16] }\n{ p1 = scmp.eq.s32.totalorder s1, 1 }\n{ vdelay (p1) 40000 }\n"
        "{ vtrace 0 }\nk0:\n{ dma.hbm_to_vmem 0, 3072, 0, [sflag:0] }\n" WAIT("0", "3072")
        "{ s3 = smov 0 }\n{ v0 = vld [vmem:0] }\nloop:\n{ s3 = sadd.s32 s3, 1 }\n"
        "{ v0 = vadd.s32 v0, v0 }\n{ p0 = scmp.lt.s32.totalorder s3, 20000 }\n"
        "{ sbr.rel (p0) target = loop }\n{ }\n{ vst [vmem:0] v0 }\n{ sfence }\n"
        "{ dma.vmem_to_hbm 0, 3072, 5120, [sflag:0] }\n" WAIT("0", "3072") "e0:\n"
        "{ dma.hbm_to_hbm.remote 0x2800, 64, 0x2000, [sflag:1], [sflag:2], s1 }\n"
        WAIT("1", "64") WAIT("2", "64") "{ shalt }\n";

    for (int threads = 1; threads <= 3; threads++) {
        struct pair t;

        open_pair(&t, "v3-8", threads, text, 0);
        for (int launch = 0; launch < 6; launch++)
            run_pair(&t, "a ring");
        assert_int_equal(stats_of(&t).launches, 5);
        assert_true(stats_of(&t).kernels >= 4 * 6);
        close_pair(&t);
    }
}

/* ---- random programs ---- */

struct maker {
    struct rng rng;
    FILE *to;
    int kernels;
    uint32_t tied;
    bool is_sending;                    /* a copy to the peer is under way, on flags 1 and 2 */
    int sent;                           /* granules of it */
};

static int below(struct maker *m, int count)
{
    return (int)rng_below(&m->rng, (uint32_t)count);
}

static int granule(int tile)
{
    return tile * 128;
}

/* up to 30 tiles from two places, changed, to a third one, which may be one of them */
static void put_kernel(struct maker *m)
{
    int tiles = 4 + below(m, 27), from = below(m, TILES - tiles + 1);
    int to = below(m, 3) ? below(m, TILES - tiles + 1) : from, other = below(m, TILES);
    int n = m->kernels++, scalar = below(m, 4);

    fprintf(m->to, "{ vtrace %d }\nk%d:\n{ dma.hbm_to_vmem %d, %d, 0, [sflag:0] }\n", n, n,
            granule(from), granule(tiles));
    fprintf(m->to, "{ dma.hbm_to_vmem %d, 128, 0x2000, [sflag:0] }\n", granule(other));
    fprintf(m->to, "{ dma.done.wait [sflag:0], %d }\n{ vsyncadd [sflag:0], -%d }\n",
            granule(tiles) + 128, granule(tiles) + 128);
    fprintf(m->to, "{ s3 = smov %d }\n", scalar);
    if (scalar == 0)                    /* a scalar by way of SMEM */
        fprintf(m->to, "{ dma.hbm_to_smem %d, 1, 0x20, [sflag:3] }\n" WAIT("3", "1")
                "{ s3 = sld [smem:1024] }\n", granule(other));
    fprintf(m->to, "{ v2 = vstv s3 }\n{ v1 = vld [vmem:0x400] }\n{ v1 = vadd.s32 v1, v2 }\n");
    for (int i = 0; i < 3; i++) {
        int row = 8 * below(m, tiles);

        fprintf(m->to, "{ v0 = vld [vmem:%d] }\n{ v0 = vadd.s32 v0, v1 }\n{ vst [vmem:%d] v0 }\n",
                row, row);
    }
    fprintf(m->to, "{ sfence }\n{ dma.vmem_to_hbm 0, %d, %d, [sflag:0] }\n"
            "{ dma.done.wait [sflag:0], %d }\n{ vsyncadd [sflag:0], -%d }\ne%d:\n", granule(tiles),
            granule(to), granule(tiles), granule(tiles), n);
}

static void put_receive(struct maker *m)
{
    for (int flag = 1; flag <= 2 && m->is_sending; flag++)
        fprintf(m->to, "{ dma.done.wait [sflag:%d], %d }\n{ vsyncadd [sflag:%d], -%d }\n", flag,
                m->sent, flag, m->sent);
    m->is_sending = false;
}

/* to the peer, as another core sends here; kernels run beside it until the next one */
static void put_send(struct maker *m)
{
    int tiles = 1 + below(m, 40);

    put_receive(m);
    m->sent = granule(tiles);
    m->is_sending = true;
    fprintf(m->to, "{ vtrace %d }\nk%d:\n{ s1 = sld [smem:16] }\n"
            "{ dma.hbm_to_hbm.remote %d, %d, %d, [sflag:1], [sflag:2], s1 }\ne%d:\n", m->kernels,
            m->kernels, granule(below(m, TILES - tiles + 1)), m->sent,
            granule(below(m, TILES - tiles + 1)), m->kernels);
    m->tied |= (uint32_t)below(m, 2) << m->kernels++;   /* or the list lies */
}

/* cycles depend on what the launch has worked out */
static void put_count(struct maker *m)
{
    fprintf(m->to, "{ dma.hbm_to_smem %d, 1, 0x40, [sflag:3] }\n" WAIT("3", "1")
            "{ s2 = sld [smem:2048] }\n{ s2 = sand.u32 s2, 7 }\n{ vdelay s2 }\n",
            granule(below(m, TILES)));
}

static char *make_text(struct maker *m, uint64_t seed)
{
    char *text = NULL;
    size_t bytes;
    int parts = 3 + (int)(seed % 6), rounds = seed % 4 == 3 ? 3 : 1;
    bool counts = seed % 5 == 2;

    *m = (struct maker){.kernels = 0};
    rng_init(&m->rng, seed);
    m->to = open_memstream(&text, &bytes);
    assert_non_null(m->to);
    fprintf(m->to, "{ s1 = smov %d }\n{ sst [smem:512], s1 }\nround:\n", rounds);
    for (int i = 0; i < parts; i++) {
        if (below(m, 3) > 0)
            put_kernel(m);
        else if (counts && below(m, 2))
            put_count(m);
        else
            put_send(m);
    }
    put_receive(m);
    fprintf(m->to, "{ s1 = sld [smem:512] }\n{ s1 = sadd.s32 s1, -1 }\n{ sst [smem:512], s1 }\n"
            "{ p0 = scmp.gt.s32.totalorder s1, 0 }\n{ sbr.rel (p0) target = round }\n{ }\n"
            "{ shalt }\n");
    fclose(m->to);
    return text;
}

static void write_random(struct pair *t, struct rng *rng, bool on_all)
{
    int32_t word = (int32_t)rng_next(rng);
    int64_t address = 4 * rng_below(rng, TILES * TILE / 4);
    int core = (int)rng_below(rng, (uint32_t)t->cores);

    for (int i = 0; i < t->cores; i++)
        if (on_all || i == core)
            write_both(t, i, address, &word, sizeof(word));
}

static void fill(struct pair *t, struct rng *rng)
{
    static int32_t word[TILES * TILE / 4];

    for (size_t i = 0; i < COUNT_OF(word); i++)
        word[i] = (int32_t)rng_next(rng);
    for (int core = 0; core < t->cores; core++)
        write_both(t, core, 0, word, sizeof(word));
}

static struct machine_memo_stats run_seed(uint64_t seed)
{
    struct machine_memo_stats stats;
    struct maker m;
    struct pair t;
    char *text = make_text(&m, seed), what[80];

    open_pair(&t, seed % 2 ? "v3-8" : "v2-8", 1 + (int)(seed % 3), text, m.tied);
    fill(&t, &m.rng);
    for (int launch = 0; launch < 9; launch++) {
        snprintf(what, sizeof(what), "seed %llu, launch %d", (unsigned long long)seed, launch);
        run_pair(&t, what);
        if (launch % 3 == 2)
            write_random(&t, &m.rng, launch == 2);
        if (launch == 5 && seed % 2)
            fill(&t, &m.rng);
    }
    stats = stats_of(&t);
    close_pair(&t);
    free(text);
    return stats;
}

TEST(random_programs_leave_the_same_values_cycles_and_counters)
{
    uint64_t count = random_seed_count(60, 3000);
    int64_t kernels = 0, launches = 0;

    for (uint64_t i = 0; i < count; i++) {
        struct machine_memo_stats stats = run_seed(random_seed(i));

        kernels += stats.kernels;
        launches += stats.launches;
        random_progress(i, count);
    }
    assert_true((kernels > 0 && launches > 0) || count < 20);
}

/* ---- training ---- */

#define WIDTH 128
#define BATCH 64
#define STEPS 6
#define HBM_BYTES (4 * MIB)             /* that arrays may take */

struct trained {
    struct slice slice;
    struct chip chip;
    struct machine *machine;
    struct mlp m;
};

static void open_training(struct trained *t, int threads, bool no_dedup)
{
    const struct machine_options options = {.thread_count = threads, .no_dedup = no_dedup};
    struct err e;

    must(slice_parse(&t->slice, "v3-8", &e), &e);
    t->machine = NULL;
    mlp_init(&t->m, NULL, WIDTH, BATCH);
    must(chip_load_builtin(&t->chip, t->slice.chip_name, NULL, &t->m.arena, &e), &e);
    t->machine = machine_create(&t->slice, &t->chip, &options, &e);
    assert_non_null(t->machine);
    t->m.options.strategy.machine = t->machine;
    mlp_add(&t->m, "dense", 200, ACTIVATION_RELU);
    mlp_add(&t->m, "dense_1", 10, ACTIVATION_SOFTMAX);
    must(mlp_start(&t->m), &t->m.err);
}

static void close_training(struct trained *t)
{
    mlp_fini(&t->m);
    machine_destroy(t->machine);
}

static void compare_range(const struct trained *a, const struct trained *b, int64_t at,
                          int64_t bytes, int step)
{
    static unsigned char one[HBM_BYTES], other[HBM_BYTES];
    struct err e;

    assert_true(bytes <= HBM_BYTES);
    for (int core = 0; core < machine_core_count(a->machine); core++) {
        must(machine_hbm_read(a->machine, core, at, one, bytes, &e), &e);
        must(machine_hbm_read(b->machine, core, at, other, bytes, &e), &e);
        for (int64_t i = 0; i < bytes; i++)
            if (one[i] != other[i])
                fail_msg(
                    "step %d: core %d: byte %lld of HBM is %d with deduplication and %d without",
                    step, core, (long long)(at + i), one[i], other[i]);
    }
}

static const struct module *module_of(struct trained *t)
{
    return strategy_program_module(fit_program(t->m.fit, 1, &t->m.err));
}

/* all that the program works on: temporaries from the start of HBM, variables elsewhere */
static void compare_hbm(struct trained *a, struct trained *b, int step)
{
    const struct module *m = module_of(a);

    compare_range(a, b, 0, m->hbm_bytes, step);
    for (int i = 0; i < m->graph.parameter_count; i++)
        compare_range(a, b, m->parameter[i]->address, m->parameter[i]->bytes, step);
}

static void make_batch(struct rng *rng, float *x, int32_t *label)
{
    for (int i = 0; i < BATCH * WIDTH; i++)
        x[i] = (float)(int)rng_below(rng, 2001) / 1000.0f - 1;
    for (int i = 0; i < BATCH; i++)
        label[i] = (int32_t)rng_below(rng, 10);
}

/* the largest variable of one replica is not what it is on the others, in a word in its middle */
static void poke(struct trained *t)
{
    const struct module *m = module_of(t);
    const struct array *largest = m->parameter[0];
    const float weight = 0.75f;
    struct err e;

    for (int i = 1; i < m->graph.parameter_count; i++)
        if (m->parameter[i]->bytes > largest->bytes)
            largest = m->parameter[i];
    must(machine_hbm_write(t->machine, 3, largest->address + largest->bytes / 2, &weight,
                           sizeof(weight), &e), &e);
}

/* kernels that were left out */
static int64_t train(int threads, bool pokes)
{
    static float x[BATCH * WIDTH];
    static int32_t label[BATCH];
    struct trained with, without;
    struct rng rng;
    int64_t kernels;

    open_training(&with, threads, false);
    open_training(&without, 1, true);
    rng_init(&rng, 5);
    for (int step = 0; step < STEPS; step++) {
        double loss[2];

        make_batch(&rng, x, label);
        must(mlp_step(&with.m, x, label, &loss[0], NULL), &with.m.err);
        must(mlp_step(&without.m, x, label, &loss[1], NULL), &without.m.err);
        assert_true(loss[0] == loss[1]);
        compare_hbm(&with, &without, step);
        if (pokes && step == 3) {
            poke(&with);
            poke(&without);
        }
    }
    kernels = machine_memo_stats(with.machine).kernels;
    assert_int_equal(machine_memo_stats(without.machine).kernels, 0);
    assert_int_equal(machine_memo_stats(with.machine).launches, STEPS - 1);
    close_training(&with);
    close_training(&without);
    return kernels;
}

TEST(replicas_update_their_weights_once)
{
    int64_t kernels = train(1, false);

    assert_true(kernels >= 7 * (STEPS - 2));    /* dense/kernel's update at least */
    assert_true(train(3, false) >= 6 * (STEPS - 2));    /* leaders may change */
}

TEST(a_replica_that_has_drifted_stays_as_it_is)
{
    int64_t kernels = train(1, true);

    assert_true(kernels > 0 && kernels < train(1, false));
    train(2, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_cores_work_a_kernel_out_once),
        cmocka_unit_test(a_core_with_another_byte_works_its_kernel_out),
        cmocka_unit_test(cores_that_all_differ_are_soon_left_alone),
        cmocka_unit_test(a_kernel_that_does_not_stand_alone_is_found_out),
        cmocka_unit_test(kernels_are_parts_of_a_program),
        cmocka_unit_test(a_leader_may_need_a_core_that_waits_for_it),
        cmocka_unit_test(random_programs_leave_the_same_values_cycles_and_counters),
        cmocka_unit_test(replicas_update_their_weights_once),
        cmocka_unit_test(a_replica_that_has_drifted_stays_as_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
