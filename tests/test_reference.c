/*
 * Does the engine compute what the reference machine computes, in the same
 * cycles, charged to the same reasons?
 */
#include "base/rng.h"
#include "base/units.h"
#include "isa/file.h"
#include "tests/random_program.h"
#include "tests/reference.h"
#include "tests/rig.h"
#include "tests/test.h"

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
    const enum memory memory[] = {MEMORY_HBM, MEMORY_VMEM, MEMORY_SMEM};
    const struct random_window *window[] = {&r->hbm, &r->vmem, &r->smem};

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
static bool is_same(const struct random_programs *r, char *what, size_t what_bytes)
{
    const struct machine_options options = {.thread_count = 1, .cycle_limit = 1000000};
    struct pair p = {.reference = ref_create(&r->slice, &r->chip)};
    struct ref_fault fault;
    struct err e = {.line = 0};
    bool result;

    p.rig.m = machine_create(&r->slice, &r->chip, &options, &e);
    load_random(&p, r);
    machine_run(p.rig.m, &e);
    ref_run(p.reference, options.cycle_limit, &fault);
    result = reference_compare(p.rig.m, p.reference, what, what_bytes);
    ref_destroy(p.reference);
    machine_destroy(p.rig.m);
    return result;
}

static bool still_differs(const struct random_programs *r, void *context)
{
    char what[600];

    (void)context;
    return !is_same(r, what, sizeof(what)) && !strstr(what, "fault");
}

static void run_random(const char *chip, uint64_t seed)
{
    const struct random_options options = {.races = seed % 2 == 0, .bundles = 60};
    struct random_programs r;
    char name[120], what[600];

    random_programs_make(&r, chip, seed, &options);
    if (!is_same(&r, what, sizeof(what))) {
        printf("%s: %s\n", random_programs_name(&r, name, sizeof(name)), what);
        random_programs_shrink(&r, still_differs, NULL);
        random_programs_print(&r, stdout);
        is_same(&r, what, sizeof(what));
        fail_msg("%s: %s", name, what);
    }
    random_programs_free(&r);
}

TEST(random_programs_are_the_same)
{
    static const char *const chips[] = {"tiny", "v2", "v3", "v4", "v5e", "v5p", "v6e", "v7x"};
    uint64_t count = random_seed_count(16, 12500);

    for (size_t i = 0; i < COUNT_OF(chips); i++)
        for (uint64_t seed = 0; seed < count; seed++)
            run_random(chips[i], random_seed(seed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_are_the_same),
        cmocka_unit_test(random_programs_are_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
