/*
 * Does the engine compute what the reference machine computes, in the same
 * cycles, charged to the same reasons?
 */
#include "base/rng.h"
#include "base/units.h"
#include "isa/file.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_are_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
