/*
 * Does the engine compute what the reference machine computes, in the same
 * cycles, charged to the same reasons?
 */
#include "base/rng.h"
#include "base/units.h"
#include "isa/disasm.h"
#include "isa/file.h"
#include "sim/chip/limits.h"
#include "tests/generate/isa_samples.h"
#include "tests/generate/random_program.h"
#include "tests/reference/reference.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

static const char *const chips[] = {"tiny", "v2", "v3", "v4", "v5e", "v5p", "v6e", "v7x"};

/* One machine of each kind, with the same programs and data. */
struct pair {
    struct rig rig;
    struct ref_machine *reference;
};

static void pair_open(struct pair *p, const char *slice, const struct rig_options *options)
{
    rig_open(&p->rig, slice, options);
    p->reference = ref_create(&p->rig.slice, &p->rig.chip);
}

static void pair_close(struct pair *p)
{
    ref_destroy(p->reference);
    rig_close(&p->rig);
}

static void pair_write(struct pair *p, int core, enum memory memory, int64_t address,
                       const void *from, int64_t bytes)
{
    int (*const write[])(struct machine *, int, int64_t, const void *, int64_t, struct err *) = {
        machine_hbm_write, machine_vmem_write, machine_smem_write};
    struct err e;

    if (write[memory](p->rig.m, core, address, from, bytes, &e))
        fail_msg("%s", e.msg);
    ref_write(p->reference, core, memory, address, from, bytes);
}

static void pair_load(struct pair *p, int core, const struct isa_program *program)
{
    struct err e;

    if (machine_load(p->rig.m, core, program, &e))
        fail_msg("%s", e.msg);
    ref_load(p->reference, core, program);
}

/* launch both; `name` is for the message */
static void pair_run(struct pair *p, cycle_t limit, const char *name)
{
    struct ref_fault fault;
    char what[600];

    rig_run(&p->rig);
    ref_run(p->reference, limit, &fault);
    if (!reference_compare(p->rig.m, p->reference, what, sizeof(what)))
        fail_msg("%s: %s", name, what);
}

static void fill_random(struct pair *p, int core, enum memory memory, int64_t bytes,
                        struct rng *rng)
{
    float *x = arena_array(&p->rig.arena, (size_t)bytes / 4, sizeof(*x));

    for (int64_t i = 0; i < bytes / 4; i++)
        x[i] = rng_uniform(rng, -1, 1);
    pair_write(p, core, memory, 0, x, bytes);
}

static char *read_text(const char *path, struct arena *a)
{
    uint8_t *bytes;
    size_t size;
    struct err e;

    if (isa_file_read(path, a, &bytes, &size, &e))
        fail_msg("%s: %s", e.file, e.msg);
    return arena_printf(a, "%.*s", (int)size, (const char *)bytes);
}

/* as systole run would: a program on one core or on all, with random operands in HBM */
static void run_example(const char *path, const char *text, const char *chip)
{
    bool all = strstr(text, "\n// cores: all\n") != NULL;
    const struct isa_program *program;
    struct pair p;
    struct rng rng;
    int count;

    rng_init(&rng, 1);
    pair_open(&p, chip, NULL);
    program = rig_assemble(&p.rig, text);
    count = all ? machine_core_count(p.rig.m) : 1;
    for (int core = 0; core < count; core++) {
        const int32_t ring[4] = {core, count, (core + 1) % count, (core + count - 1) % count};

        pair_load(&p, core, program);
        pair_write(&p, core, MEMORY_SMEM, 0, ring, sizeof(ring));
        fill_random(&p, core, MEMORY_HBM, 4 * MIB, &rng);
    }
    pair_run(&p, 1000000, path);
    pair_close(&p);
}

TEST(examples_are_the_same)
{
    static const char *const names[] = {
        "01_vector_add", "02_mxu_tile", "03_double_buffered_matmul", "05_transpose",
        "06_cross_lane_softmax", "07_two_core_exchange", "08_branch_delay",
        "04_pipelined_matmul_v3", "04_pipelined_matmul_v5e", "04_pipelined_matmul_v6e"};
    static const char expect[] = "\n// expect: ";
    size_t slow_count = test_is_long() ? 0 : 3;         /* 10^9 products and more each */

    for (size_t i = 0; i < COUNT_OF(names) - slow_count; i++) {
        struct arena a;
        char path[64], *text, chip[16];

        arena_init(&a);
        snprintf(path, sizeof(path), "examples/%s.tasm", names[i]);
        text = read_text(path, &a);
        for (const char *at = text; (at = strstr(at, expect)) != NULL;) {
            at += strlen(expect);
            assert_int_equal(sscanf(at, "%15s", chip), 1);
            run_example(path, text, chip);
        }
        arena_fini(&a);
    }
}

/* all contents of a core's windows, in both machines */
static void load_random(struct pair *p, const struct random_programs *r)
{
    const enum memory memory[] = {MEMORY_HBM, MEMORY_VMEM, MEMORY_SMEM, MEMORY_HOST};
    const struct random_window *window[] = {&r->hbm, &r->vmem, &r->smem, &r->host};

    random_programs_load(r, p->rig.m);
    for (int core = 0; core < r->core_count; core++) {
        ref_load(p->reference, core, &r->program[core]);
        for (int i = 0; i < ISA_SREG_COUNT; i++)
            ref_set_scalar(p->reference, core, i, r->entry_s[core][i]);
        for (int i = 0; i < RANDOM_MEMORY_COUNT; i++) {
            unsigned char *bytes = mem_alloc((size_t)window[i]->bytes);

            random_contents(r, core, (enum random_memory)i, bytes);
            ref_write(p->reference, core, memory[i], window[i]->first, bytes, window[i]->bytes);
            mem_free(bytes);
        }
    }
}

/* whether both agree on what is left of random programs; else `what` says where they do not */
static bool is_same(const struct random_programs *r, char *what, size_t what_bytes, int kinds[])
{
    const struct machine_options options = {.thread_count = 1, .cycle_limit = 100000};
    struct pair p = {.reference = ref_create(&r->slice, &r->chip)};
    struct ref_fault fault;
    struct err e = {.line = 0};
    bool result;

    p.rig.m = machine_create(&r->slice, &r->chip, &options, &e);
    load_random(&p, r);
    machine_run(p.rig.m, &e);
    ref_run(p.reference, options.cycle_limit, &fault);
    kinds[fault.kind]++;
    result = reference_compare(p.rig.m, p.reference, what, what_bytes);
    ref_destroy(p.reference);
    machine_destroy(p.rig.m);
    return result;
}

static bool still_differs(const struct random_programs *r, void *context)
{
    int kinds[FAULT_UNKNOWN + 1];
    char what[600];

    (void)context;
    return !is_same(r, what, sizeof(what), kinds) && !strstr(what, "fault");
}

/* programs that fault are not made smaller: dropping operations makes other faults */
static void tell_difference(struct random_programs *r, const char *what)
{
    char name[120];

    if (!strstr(what, "fault"))
        random_programs_shrink(r, still_differs, NULL);
    random_programs_print(r, stdout);
    fail_msg("%s: %s", random_programs_name(r, name, sizeof(name)), what);
}

static void run_random(const char *chip, uint64_t seed)
{
    const struct random_options options = {.races = seed % 2 == 0, .bundles = 60};
    struct random_programs r;
    int kinds[FAULT_UNKNOWN + 1];
    char what[600];

    random_programs_make(&r, chip, seed, &options);
    if (!is_same(&r, what, sizeof(what), kinds))
        tell_difference(&r, what);
    random_programs_free(&r);
}

TEST(random_programs_are_the_same)
{
    uint64_t count = random_seed_count(16, 3200);       /* about four cores each */

    for (size_t i = 0; i < COUNT_OF(chips); i++)
        for (uint64_t seed = 0; seed < count; seed++)
            run_random(chips[i], random_seed(seed));
}

/* take an operation out of its bundle */
static void drop_op(struct isa_program *p, struct isa_bundle *b, uint32_t index)
{
    struct isa_op *op = &p->op[b->first_op + index];

    memmove(op, op + 1, (size_t)(b->op_count - index - 1) * sizeof(*op));
    b->op_count--;
}

static void change_operand(struct isa_op *op, struct rng *rng)
{
    static const int32_t edges[] = {0, 1, -1, INT32_MAX, INT32_MIN, 4096, 65535};
    struct isa_operand *o = &op->operand[rng_below(rng, op->operand_count)];

    if (o->kind == OPERAND_IMM && rng_below(rng, 2))
        o->value ^= (int32_t)(1u << rng_below(rng, 12));
    else if (o->kind == OPERAND_IMM)
        o->value = edges[rng_below(rng, COUNT_OF(edges))];
    else if (o->kind == OPERAND_REG)
        o->value = (int32_t)rng_below(rng, 16);
}

/* one thing made wrong somewhere in the first core's program */
static void break_program(struct isa_program *p, struct rng *rng)
{
    struct isa_bundle *b = &p->bundle[rng_below(rng, p->bundle_count)];
    uint32_t index = b->op_count > 0 ? rng_below(rng, b->op_count) : 0;
    struct isa_op *op = &p->op[b->first_op + index];

    if (b->op_count == 0)
        return;
    switch (rng_below(rng, 4)) {
    case 0: drop_op(p, b, index); break;
    case 1:
        op->pred = (uint8_t)rng_below(rng, ISA_PRED_COUNT);
        op->pred_is_negated = (uint8_t)rng_below(rng, 2);
        break;
    default:
        if (op->operand_count > 0)
            change_operand(op, rng);
        break;
    }
}

/* Programs that nobody would write: what they do, or how they fail, is the same all the same. */
static void run_broken(const char *chip, uint64_t seed, int kinds[])
{
    const struct random_options options = {.races = true, .bundles = 60};
    struct random_programs r;
    struct isa_limits limits;
    struct rng rng;
    char what[600];
    struct err e;

    random_programs_make(&r, chip, seed, &options);
    rng_init(&rng, seed ^ 0x62726f6b656eull);
    chip_isa_limits(&r.chip, &limits);
    for (uint32_t i = 0; i < 1 + rng_below(&rng, 3); i++)
        break_program(&r.program[rng_below(&rng, (uint32_t)r.busy_count)], &rng);
    for (int i = 0; i < r.core_count; i++)
        if (isa_check(&r.program[i], &limits, &e)) {
            random_programs_free(&r);
            return;
        }
    if (!is_same(&r, what, sizeof(what), kinds))
        tell_difference(&r, what);
    random_programs_free(&r);
}

TEST(broken_programs_fail_alike)
{
    uint64_t count = random_seed_count(24, 3200);
    int kinds[FAULT_UNKNOWN + 1] = {0};

    for (size_t i = 0; i < COUNT_OF(chips); i++)
        for (uint64_t seed = 0; seed < count; seed++)
            run_broken(chips[i], random_seed(seed), kinds);
    if (count < 24)
        return;
    assert_true(kinds[FAULT_NONE] > 0 && kinds[FAULT_ADDRESS] > 0 && kinds[FAULT_FIFO_EMPTY] > 0);
    assert_true(kinds[FAULT_DEADLOCK] > 0 && kinds[FAULT_FLAG] > 0 && kinds[FAULT_NO_HALT] > 0);
    assert_true(kinds[FAULT_OPERATION] > 0 && kinds[FAULT_UNDERFLOW] > 0);
}

/* one of the samples, where it is legal, between loads of its registers and a halt */
static struct {
    struct pair pair;
    struct isa_limits limits;
    struct isa_op op[8];
    struct isa_bundle bundle[8];
    struct isa_program program;
    int64_t run_count, sample_count;
    int sample_step, first_sample;      /* every so manieth of all samples, from which on */
} sampled;

static void add_sample_op(const struct isa_op *op)
{
    struct isa_program *p = &sampled.program;

    p->op[p->op_count] = *op;
    p->bundle[p->bundle_count++] = (struct isa_bundle){.first_op = p->op_count++, .op_count = 1};
}

static void sample_begin(const char *chip)
{
    const struct rig_options options = {.set = {"vmem.bytes=65536"}, .cycle_limit = 2000};
    struct rng rng;

    rng_init(&rng, 3);
    pair_open(&sampled.pair, chip, &options);
    chip_isa_limits(&sampled.pair.rig.chip, &sampled.limits);
    fill_random(&sampled.pair, 0, MEMORY_VMEM, 65536, &rng);
    for (int i = 1; i < ISA_SREG_COUNT; i++) {
        struct err e;

        machine_set_scalar(sampled.pair.rig.m, 0, i, 8 * i, &e);
        ref_set_scalar(sampled.pair.reference, 0, i, 8 * i);
    }
    sampled.run_count = sampled.sample_count = 0;
}

static void run_sample(const struct isa_op *sample)
{
    const struct isa_op halt = {.code = OP_SHALT, .pred = ISA_PRED_ALWAYS};
    const int vector[] = {0, 1, sampled.limits.vreg_count / 2, sampled.limits.vreg_count - 1};
    char text[300];
    struct err e;

    if (sampled.sample_count++ % sampled.sample_step != sampled.first_sample)
        return;
    sampled.program = (struct isa_program){.name = "sample", .op = sampled.op,
                                           .bundle = sampled.bundle};
    for (int i = 0; i < 4; i++)
        add_sample_op(&(struct isa_op){
            .code = OP_VLD, .pred = ISA_PRED_ALWAYS, .operand_count = 5,
            .operand = {{vector[i], OPERAND_REG, 0}, {0},
                        {8 * i, OPERAND_IMM, 0}, {1, OPERAND_IMM, 0}, {255, OPERAND_IMM, 0}}});
    add_sample_op(sample);
    add_sample_op(&halt);
    if (isa_check(&sampled.program, &sampled.limits, &e))
        return;
    pair_load(&sampled.pair, 0, &sampled.program);
    isa_print_op(&sampled.program, sample, text, sizeof(text));
    pair_run(&sampled.pair, 2000, text);
    sampled.run_count++;
}

/* on two chips, half of the samples on either; all on all of them in a long run */
TEST(every_operation_alone_is_the_same)
{
    sampled.sample_step = test_is_long() ? 1 : 2;
    for (size_t i = 0; i < COUNT_OF(chips); i++) {
        if (!test_is_long() && strcmp(chips[i], "v3") != 0 && strcmp(chips[i], "v7x") != 0)
            continue;
        sampled.first_sample = !test_is_long() && strcmp(chips[i], "v7x") == 0;
        sample_begin(chips[i]);
        isa_samples(run_sample);
        assert_true(sampled.run_count > 500);
        pair_close(&sampled.pair);
    }
}

/* `text` on core 0 of a chip with one parameter changed (or NULL) */
static void run_text(const char *slice, const char *set, const char *text)
{
    const struct rig_options options = {.set = {"vmem.bytes=262144", set}};
    struct pair p;
    struct rng rng;

    rng_init(&rng, 2);
    pair_open(&p, slice, &options);
    for (int core = 0; core < machine_core_count(p.rig.m); core++) {
        fill_random(&p, core, MEMORY_HBM, 65536, &rng);
        fill_random(&p, core, MEMORY_VMEM, 65536, &rng);
    }
    pair_load(&p, 0, rig_assemble(&p.rig, text));
    pair_run(&p, 1000000, text);
    pair_close(&p);
}

/* A word and a row are there at the same cycle or not: which of them is charged? */
TEST(ties_go_to_the_first_reason)
{
    char text[200];

    for (int delay = 30; delay < 50; delay++) {
        snprintf(text, sizeof(text), "{ vpush v0 }\n{ vdelay %d }\n{ vst [vmem:0] v1 }\n"
                 "{ s0 = spop ;; v2 = vld [vmem:0] }\n{ shalt }\n", delay);
        run_text("v3", NULL, text);
    }
}

/* what a bundle takes, it takes before it changes anything */
TEST(bundle_reads_before_it_writes)
{
    run_text("v3", NULL, "{ vst [vmem:0] v1 ;; dma.vmem_to_vmem.remote 0, 128, 256, [sflag:1],"
             " [sflag:2], 1 }\n{ vwait.ge [sflag:2], 128 }\n{ vsyncadd [sflag:2], -128 }\n"
             "{ vsyncadd.remote [sflag:1], -128, 1 }\n{ shalt }\n");
}

TEST(questions_are_put_in_the_order_written)
{
    run_text("v5e", "dma.queue_depth=1", "{ dma.hbm_to_vmem 0, 1024, 0, [sflag:0] }\n"
             "{ s1 = vsyncmov [sflag:0] ;; dma.hbm_to_vmem s1, 64, 2048, [sflag:1] }\n"
             "{ vwait.ge [sflag:1], 64 }\n{ vsyncset [sflag:0], 0 }\n{ vsyncset [sflag:1], 0 }\n"
             "{ shalt }\n");
    run_text("v5e", "dma.queue_depth=1", "{ dma.hbm_to_vmem 0, 1024, 0, [sflag:0] }\n"
             "{ dma.hbm_to_vmem s1, 64, 2048, [sflag:1] ;; s1 = vsyncmov [sflag:0] }\n"
             "{ vwait.ge [sflag:1], 64 }\n{ vsyncset [sflag:0], 0 }\n{ vsyncset [sflag:1], 0 }\n"
             "{ shalt }\n");
}

TEST(units_wait_for_what_a_guard_keeps_back)
{
    run_text("v3", NULL, "{ s1 = smul.u32 0, 3 }\n"
             "{ dma.hbm_to_vmem (p0) s1, 64, 0, [sflag:0] ;; v1 = vadd.f32 (p0) v2, v3 }\n"
             "{ shalt }\n");
}

/* the first core does not know yet that its queue is empty, the second issues at that cycle too */
TEST(asking_for_the_queue_does_not_delay_a_copy)
{
    const struct rig_options options = {.set = {"vmem.bytes=262144", "dma.queue_depth=1"}};
    const char *const text[] = {
        "{ dma.hbm_to_vmem 0, 64, 0, [sflag:0] }\n{ vdelay 2000 }\n"
        "{ dma.hbm_to_vmem 1024, 512, 0, [sflag:0] }\n{ vwait.ge [sflag:0], 576 }\n"
        "{ vsyncset [sflag:0], 0 }\n{ shalt }\n",
        "{ vdelay 2001 }\n{ dma.hbm_to_vmem 2048, 512, 0, [sflag:0] }\n"
        "{ vwait.ge [sflag:0], 512 }\n{ vsyncset [sflag:0], 0 }\n{ shalt }\n"};
    struct pair p;

    pair_open(&p, "v3", &options);
    pair_load(&p, 0, rig_assemble(&p.rig, text[0]));
    pair_load(&p, 1, rig_assemble(&p.rig, text[1]));
    pair_run(&p, 1000000, "two copies at one instant");
    pair_close(&p);
}

/* granules 0, 2, 3, 5: two runs touch, but not within their level */
TEST(runs_that_touch_are_one)
{
    char text[2000] = "";
    const int word[16] = {0x10, 0, 0, 1, 2, 2, 1, 2, 3, 2, 1, 0, 0, 0, 0, 0};

    for (int i = 0; i < 16; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "{ sst [smem:%d], %d }\n",
                 4 * i, word[i]);
    snprintf(text + strlen(text), sizeof(text) - strlen(text), "{ dma.general [smem:0] }\n"
             "{ dma.done.wait [sflag:0], 4 }\n{ vsyncset [sflag:0], 0 }\n{ shalt }\n");
    run_text("v3", NULL, text);
}

TEST(faults_have_the_cycle_of_their_question)
{
    run_text("v3", NULL, "{ s1 = smul.u32 999, 999 }\n{ vwait.ge [sflag:s1], 1 }\n{ shalt }\n");
    run_text("v3", NULL, "{ s1 = smul.u32 999, 999 }\n"
             "{ dma.hbm_to_vmem 0, 64, 0, [sflag:s1] }\n{ shalt }\n");
    run_text("v3", NULL, "{ s1 = smul.u32 999, 999 }\n{ s2 = spop ;; s3 = sadd.s32 s1, 1 }\n"
             "{ shalt }\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_are_the_same),
        cmocka_unit_test(random_programs_are_the_same),
        cmocka_unit_test(broken_programs_fail_alike),
        cmocka_unit_test(every_operation_alone_is_the_same),
        cmocka_unit_test(ties_go_to_the_first_reason),
        cmocka_unit_test(bundle_reads_before_it_writes),
        cmocka_unit_test(questions_are_put_in_the_order_written),
        cmocka_unit_test(units_wait_for_what_a_guard_keeps_back),
        cmocka_unit_test(asking_for_the_queue_does_not_delay_a_copy),
        cmocka_unit_test(runs_that_touch_are_one),
        cmocka_unit_test(faults_have_the_cycle_of_their_question),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
