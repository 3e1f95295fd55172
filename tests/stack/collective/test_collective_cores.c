/*
 * Plans on simulated cores, on real data: every kind and algorithm, on chips of
 * all generations, meshes and tori, against double-precision sums.
 */
#include "base/units.h"
#include "stack/collective/collective_program.h"
#include "stack/collective/collective_verify.h"
#include "tests/rigs/rig.h"
#include "tests/test.h"

#include <math.h>

#define CYCLE_LIMIT 200000000

struct bench {
    struct arena arena;
    struct slice slice;
    struct chip chip;
    struct collective_request request;
    struct collective_plan *plan;
    struct machine *m;
    struct collective_program *program;
    struct err e;
};

static void open_bench(struct bench *b, const char *slice)
{
    *b = (struct bench){.m = NULL};
    arena_init(&b->arena);
    if (slice_parse(&b->slice, slice, &b->e)
        || chip_load_builtin(&b->chip, b->slice.chip_name, NULL, &b->arena, &b->e))
        fail_msg("%s", b->e.msg);
    b->request = (struct collective_request){.over_chips = true, .slice = &b->slice,
                                             .chip = &b->chip};
    for (int i = 0; i < b->slice.dims; i++)
        b->request.axis[i] = true;
}

static void close_bench(struct bench *b)
{
    machine_destroy(b->m);
    arena_fini(&b->arena);
}

static const char *name_of(const struct bench *b)
{
    static char text[200];

    snprintf(text, sizeof(text), "%s %s %s %s %s %lld bytes", b->slice.name,
             collective_algo_name(b->request.algo), collective_kind_name(b->request.kind),
             b->request.type == COLLECTIVE_F32 ? "f32" : "bf16",
             b->request.over_chips ? "over chips" : "over cores", (long long)b->request.bytes);
    return text;
}

static void load(struct bench *b, const struct machine_options *options)
{
    b->plan = collective_plan_create(&b->request, &b->arena, &b->e);
    if (!b->plan)
        fail_msg("%s: %s", name_of(b), b->e.msg);
    b->m = machine_create(&b->slice, &b->chip, options, &b->e);
    if (!b->m)
        fail_msg("%s: %s", name_of(b), b->e.msg);
    b->program = collective_program_create(b->plan, b->m, &b->arena, &b->e);
    if (!b->program)
        fail_msg("%s: %s", name_of(b), b->e.msg);
}

static void run(struct bench *b)
{
    if (collective_program_run(b->program, &b->e))
        fail_msg("%s: %s", name_of(b), b->e.msg);
}

/* the smallest size of at least `bytes` that the request can have */
static void set_bytes(struct bench *b, int64_t bytes)
{
    int64_t unit = collective_unit(&b->request);

    b->request.bytes = b->request.kind == COLLECTIVE_BARRIER ? 0
                                                             : div_up(bytes, unit) * unit;
}

static void check_values(struct bench *b)
{
    static const struct machine_options options = {
        .mode = MODE_BOTH, .thread_count = 1, .cycle_limit = CYCLE_LIMIT, .check_races = true,
        .check_unwritten = true};
    struct collective_verdict verdict;

    load(b, &options);
    if (collective_fill(b->plan, b->m, 5, &b->e))
        fail_msg("%s", b->e.msg);
    run(b);
    if (collective_verify(b->plan, b->m, 5, &verdict, &b->e))
        fail_msg("%s", b->e.msg);
    if (verdict.wrong > 0)
        fail_msg("%s: %lld of %lld elements are wrong; %s", name_of(b), (long long)verdict.wrong,
                 (long long)verdict.elements, verdict.first);
    assert_true(verdict.elements > 0 || b->request.kind == COLLECTIVE_BARRIER);
}

static const struct { enum collective_kind kind; enum collective_algo algo; } pairs[] = {
    {COLLECTIVE_ALL_REDUCE, COLLECTIVE_RING}, {COLLECTIVE_ALL_REDUCE, COLLECTIVE_BIRING},
    {COLLECTIVE_ALL_REDUCE, COLLECTIVE_TORUS}, {COLLECTIVE_ALL_REDUCE, COLLECTIVE_TREE},
    {COLLECTIVE_ALL_REDUCE, COLLECTIVE_EXCHANGE}, {COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_RING},
    {COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_BIRING}, {COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_TORUS},
    {COLLECTIVE_ALL_GATHER, COLLECTIVE_RING}, {COLLECTIVE_ALL_GATHER, COLLECTIVE_BIRING},
    {COLLECTIVE_ALL_GATHER, COLLECTIVE_TORUS}, {COLLECTIVE_ALL_TO_ALL, COLLECTIVE_DIRECT},
    {COLLECTIVE_BROADCAST, COLLECTIVE_TREE}, {COLLECTIVE_BROADCAST, COLLECTIVE_DIRECT},
    {COLLECTIVE_PERMUTE, COLLECTIVE_DIRECT}, {COLLECTIVE_BARRIER, COLLECTIVE_EXCHANGE}};

static void check_slice(const char *slice, int64_t bytes, int first)
{
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        struct bench b;

        open_bench(&b, slice);
        b.request.kind = pairs[i].kind;
        b.request.algo = pairs[i].algo;
        b.request.type = (i + (size_t)first) % 2 ? COLLECTIVE_BF16 : COLLECTIVE_F32;
        b.request.over_chips = (i / 2 + (size_t)first) % 2;
        b.request.shift = 1;
        b.request.root = 1;
        set_bytes(&b, bytes);
        check_values(&b);
        close_bench(&b);
    }
}

TEST(every_algorithm_is_right_on_slices_of_all_generations)
{
    static const char *const slices[] = {"v2-8", "v3-8", "v4-8", "v5e-8", "v6e-4", "v7x-8"};

    for (size_t i = 0; i < COUNT_OF(slices); i++) {
        check_slice(slices[i], 5000, (int)i % 2);
        check_slice(slices[i], 100000, (int)(i + 1) % 2);
    }
}

TEST(every_algorithm_is_right_on_tori_and_wider_meshes)
{
    check_slice("v4-128", 4000, 0);     /* 4x4x4, closed */
    check_slice("v3-32", 20000, 1);     /* 4x4 */
    check_slice("v5e-32", 20000, 0);    /* 4x8 */
}

/* cores of different chips and of one, pairs and larger groups, and some cores in none */
TEST(groups_that_are_lists_are_right)
{
    static const int32_t across[] = {0, 2, 4, 6, 1, 3, 5, 7}, mixed[] = {7, 0, 2, 5, 6, 1};
    static const struct { const int32_t *group; int count, size; } lists[] = {
        {across, 2, 4}, {across, 4, 2}, {mixed, 2, 3}};

    for (size_t i = 0; i < COUNT_OF(pairs) * COUNT_OF(lists); i++) {
        size_t pair = i / COUNT_OF(lists), list = i % COUNT_OF(lists);
        struct bench b;

        if (pairs[pair].algo == COLLECTIVE_TORUS || pairs[pair].algo == COLLECTIVE_TREE ||
            pairs[pair].kind == COLLECTIVE_BARRIER)
            continue;
        open_bench(&b, i % 2 ? "v3-8" : "v4-8");
        b.request.kind = pairs[pair].kind;
        b.request.algo = pairs[pair].algo;
        b.request.group = lists[list].group;
        b.request.group_count = lists[list].count;
        b.request.group_size = lists[list].size;
        b.request.shift = 1;
        b.request.root = 1;
        b.request.bytes = 3072 * lists[list].size;
        check_values(&b);
        close_bench(&b);
    }
}

TEST(groups_along_some_axes_are_right)
{
    for (int i = 1; i < 7; i++) {
        struct bench b;

        open_bench(&b, "v7x-16");
        b.request.kind = i % 2 ? COLLECTIVE_ALL_REDUCE : COLLECTIVE_ALL_GATHER;
        b.request.algo = COLLECTIVE_TORUS;
        for (int axis = 0; axis < 3; axis++)
            b.request.axis[axis] = i >> axis & 1;
        set_bytes(&b, 30000);
        check_values(&b);
        close_bench(&b);
    }
}

/* what streams through VMEM in chunks, and stays correct */
TEST(arrays_larger_than_vmem_are_right)
{
    static const enum collective_algo algos[] = {COLLECTIVE_RING, COLLECTIVE_TORUS,
                                                 COLLECTIVE_TREE};

    for (size_t i = 0; i < COUNT_OF(algos); i++) {
        struct bench b;

        open_bench(&b, "v5e-4");
        b.chip.vmem_bytes = 256 * KIB;
        b.request.kind = COLLECTIVE_ALL_REDUCE;
        b.request.algo = algos[i];
        b.request.type = COLLECTIVE_BF16;
        set_bytes(&b, 2 * MIB);
        check_values(&b);
        close_bench(&b);
    }
}

static cycle_t cycles_of(const char *slice, size_t pair, const struct machine_options *options)
{
    struct bench b;
    cycle_t cycles;

    open_bench(&b, slice);
    b.request.kind = pairs[pair].kind;
    b.request.algo = pairs[pair].algo;
    set_bytes(&b, 1200000);
    load(&b, options);
    if (collective_leave_unknown(b.plan, b.m, &b.e))
        fail_msg("%s", b.e.msg);
    run(&b);
    cycles = machine_cycles(b.m);
    close_bench(&b);
    return cycles;
}

TEST(cycles_are_the_same_in_all_modes_with_any_threads_with_and_without_memo)
{
    static const struct machine_options ways[] = {
        {.mode = MODE_BOTH, .thread_count = 1}, {.mode = MODE_BOTH, .thread_count = 2},
        {.mode = MODE_TIMING, .thread_count = 1}, {.mode = MODE_TIMING, .thread_count = 2},
        {.mode = MODE_TIMING, .thread_count = 1, .no_memo = true}};
    static const char *const slices[] = {"v3-8", "v7x-8"};

    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        const char *slice = slices[i % COUNT_OF(slices)];
        cycle_t first = cycles_of(slice, i, &ways[0]);

        for (size_t k = 1; k < COUNT_OF(ways); k++)
            assert_int_equal(cycles_of(slice, i, &ways[k]), first);
    }
}

/* ----- measured on hardware */

static double microseconds(struct bench *b)
{
    static const struct machine_options options = {.mode = MODE_TIMING, .thread_count = 1};

    load(b, &options);
    if (collective_leave_unknown(b->plan, b->m, &b->e))
        fail_msg("%s", b->e.msg);
    run(b);
    return (double)machine_cycles(b->m) / (double)b->chip.chip_clock_mhz;
}

static void assert_within_15_percent(const struct bench *b, double us, double measured)
{
    printf("%s: %.2f us, measured %.2f us, %+.1f %%\n", name_of(b), us, measured,
           100 * (us / measured - 1));
    assert_true(fabs(us / measured - 1) <= 0.15);
}

/* groups of 4 chips, both cores of each at once; "transferred" is 3/4 of the arrays of two cores */
static void check_gather(const char *slice, double transferred_bytes, double gbps)
{
    struct bench b;

    open_bench(&b, slice);
    b.request.kind = COLLECTIVE_ALL_GATHER;
    b.request.axis[2] = false;
    b.request.bytes = (int64_t)(transferred_bytes / 2 / 0.75);
    assert_within_15_percent(&b, microseconds(&b), transferred_bytes / gbps / 1000);
    close_bench(&b);
}

static int check_rows(FILE *f)
{
    char line[1000], value[11][200];
    int rows = 0;

    while (fgets(line, sizeof(line), f)) {
        const char *at = line;
        int i;

        for (i = 0; i < 11 && at; i++) {
            snprintf(value[i], sizeof(value[i]), "%.*s", (int)strcspn(at, ","), at);
            at = strchr(at, ',');
            at = at ? at + 1 : NULL;
        }
        if (i < 11 || strcmp(value[3], "all_gather") != 0)
            continue;
        check_gather(strstr(value[2], "2x2x2") ? "v7x-8" : "v7x-4", strtod(value[8], NULL),
                     strtod(value[10], NULL));
        rows++;
    }
    return rows;
}

TEST(measured_all_gathers_come_within_15_percent)
{
    const char *shared = getenv("SYSTOLE_SHARED");
    char path[512];
    FILE *f;

    snprintf(path, sizeof(path), "%s/reference/hardware/tpu_recipes_microbench.csv",
             shared ? shared : "../shared");
    f = fopen(path, "r");
    if (!f)
        SKIP("no %s", path);
    assert_int_equal(check_rows(f), 6);
    fclose(f);
}

/* a few KB to the next chip, software included: the middle of what has been measured */
TEST(measured_permutes_come_within_15_percent)
{
    static const struct { const char *slice; double us; } rows[] = {{"v5p-8", 5}, {"v6e-4", 5.75}};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct bench b;

        open_bench(&b, rows[i].slice);
        b.request.kind = COLLECTIVE_PERMUTE;
        b.request.algo = COLLECTIVE_DIRECT;
        b.request.shift = 1;
        b.request.bytes = 4096;
        assert_within_15_percent(&b, microseconds(&b), rows[i].us);
        close_bench(&b);
    }
}

/* a wrong element must be found: bytes changed behind the program's back, one bit each */
TEST(verification_finds_a_single_wrong_bit)
{
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        struct machine_options options = {.mode = MODE_FUNCTIONAL, .thread_count = 1};
        struct collective_verdict verdict;
        struct collective_arrays arrays;
        unsigned char byte;
        struct bench b;

        if (pairs[i].kind == COLLECTIVE_BARRIER)
            continue;
        open_bench(&b, "v3-8");
        b.request.kind = pairs[i].kind;
        b.request.algo = pairs[i].algo;
        b.request.shift = 2;
        set_bytes(&b, 3000);
        load(&b, &options);
        if (collective_fill(b.plan, b.m, 9, &b.e))
            fail_msg("%s", b.e.msg);
        run(&b);
        arrays = collective_arrays_of(b.plan);
        machine_hbm_read(b.m, 5, arrays.out + 103, &byte, 1, &b.e);
        byte ^= 0x40;                   /* of the exponent of element 25 */
        machine_hbm_write(b.m, 5, arrays.out + 103, &byte, 1, &b.e);
        assert_int_equal(collective_verify(b.plan, b.m, 9, &verdict, &b.e), 0);
        assert_int_equal(verdict.wrong, 1);
        assert_non_null(strstr(verdict.first, "core 5, element 25: "));
        close_bench(&b);
    }
}

TEST(timing_mode_has_nothing_to_verify)
{
    struct machine_options options = {.mode = MODE_TIMING, .thread_count = 1};
    struct collective_verdict verdict;
    struct bench b;

    open_bench(&b, "v3-8");
    b.request.algo = COLLECTIVE_RING;
    set_bytes(&b, 3000);
    load(&b, &options);
    run(&b);
    assert_int_equal(collective_verify(b.plan, b.m, 9, &verdict, &b.e), -1);
    assert_non_null(strstr(b.e.msg, "timing mode does not work out"));
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_is_right_on_slices_of_all_generations),
        cmocka_unit_test(every_algorithm_is_right_on_tori_and_wider_meshes),
        cmocka_unit_test(groups_that_are_lists_are_right),
        cmocka_unit_test(groups_along_some_axes_are_right),
        cmocka_unit_test(arrays_larger_than_vmem_are_right),
        cmocka_unit_test(cycles_are_the_same_in_all_modes_with_any_threads_with_and_without_memo),
        cmocka_unit_test(measured_all_gathers_come_within_15_percent),
        cmocka_unit_test(measured_permutes_come_within_15_percent),
        cmocka_unit_test(verification_finds_a_single_wrong_bit),
        cmocka_unit_test(timing_mode_has_nothing_to_verify),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
