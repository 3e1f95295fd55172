/* Tilings found by measurement: kept, found again, written and read. */
#include "stack/module/tuning.h"
#include "tests/test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct arena arena;
static struct chip chip;
static struct array array[2];
static const struct array *operand[1] = {&array[0]}, *result[1] = {&array[1]};

static struct kernel_job job_of(enum graph_op op, int64_t rows)
{
    struct shape s = shape_make(DTYPE_F32, 2, (int64_t[]){rows, 40});
    struct graph *g = arena_alloc(&arena, sizeof(*g));

    graph_init(g, &arena, "body");
    graph_output(g, graph_unary(g, op, graph_parameter(g, s, "x")), "out", -1);
    array_init(&array[0], "x", &s, NULL);
    array_init(&array[1], "out", &s, NULL);
    return (struct kernel_job){.chip = &chip, .body = g, .operand_count = 1, .result_count = 1,
                               .operand = operand, .result = result, .vmem_rows = 1000,
                               .core_count = 1};
}

static const struct tiling *find(const struct tuning *t, struct kernel_job job)
{
    const struct tiling *found = tuning_find(t, &job);

    graph_fini((struct graph *)(uintptr_t)job.body);
    return found;
}

static void add(struct tuning *t, struct kernel_job job, int64_t size, int64_t cycles)
{
    struct tiling tiling = {.count = 2, .size = {size, 7}};

    tuning_add(t, &job, &tiling, cycles);
    graph_fini((struct graph *)(uintptr_t)job.body);
}

static void open_chip(void)
{
    struct err e;

    arena_init(&arena);
    assert_int_equal(chip_load_builtin(&chip, "v5e", NULL, &arena, &e), 0);
}

TEST(the_fastest_tiling_is_kept_by_body_and_shape)
{
    struct tuning *t = tuning_create();

    open_chip();
    assert_null(find(NULL, job_of(HLO_TANH, 8)));
    add(t, job_of(HLO_TANH, 8), 1, 500);
    add(t, job_of(HLO_TANH, 8), 2, 300);
    add(t, job_of(HLO_TANH, 8), 3, 400);
    add(t, job_of(HLO_TANH, 16), 4, 900);
    assert_int_equal(find(t, job_of(HLO_TANH, 8))->size[0], 2);
    assert_int_equal(find(t, job_of(HLO_TANH, 16))->size[0], 4);
    assert_null(find(t, job_of(HLO_EXP, 8)));
    tuning_destroy(t);
    arena_fini(&arena);
}

TEST(addresses_do_not_count_but_spaces_do)
{
    struct tuning *t = tuning_create();
    struct kernel_job job;

    open_chip();
    add(t, job_of(HLO_TANH, 8), 1, 500);
    job = job_of(HLO_TANH, 8);
    array[0].address = 4096;
    assert_non_null(tuning_find(t, &job));
    array[0].space = SPACE_VMEM;
    assert_null(find(t, job));
    tuning_destroy(t);
    arena_fini(&arena);
}

TEST(files_give_back_what_was_written)
{
    struct tuning *t = tuning_create(), *back = tuning_create();
    char path[] = "/tmp/systole_tuning_XXXXXX";
    struct err e;
    int file = mkstemp(path);

    open_chip();
    assert_true(file >= 0);
    close(file);
    add(t, job_of(HLO_TANH, 16), 4, 900);
    add(t, job_of(HLO_TANH, 8), 1, 500);
    assert_int_equal(tuning_save(t, path, &e), 0);
    assert_int_equal(tuning_load(back, path, &e), 0);
    unlink(path);
    assert_int_equal(find(back, job_of(HLO_TANH, 16))->size[0], 4);
    assert_int_equal(find(back, job_of(HLO_TANH, 8))->count, 2);
    assert_int_equal(tuning_load(back, "/tmp/systole_no_such_file", &e), 0);
    tuning_destroy(t);
    tuning_destroy(back);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fastest_tiling_is_kept_by_body_and_shape),
        cmocka_unit_test(addresses_do_not_count_but_spaces_do),
        cmocka_unit_test(files_give_back_what_was_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
