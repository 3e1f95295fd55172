/*
 * Programs from bytes to launches: whether replicas exchange anything, which decides how they run;
 * kernels of Pallas that the cache on disk has.
 */
#include "base/cache/disk_cache.h"
#include "exec/executable.h"
#include "tests/rigs/program_files.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char all_sum[] =
    "HloModule m\n"
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
    "ENTRY e { p = f32[4] parameter(0) ROOT r = f32[4] all-reduce(p), replica_groups={}, "
    "to_apply=add }\n";
static const char twice[] = "HloModule m\nENTRY e { p = f32[4] parameter(0) "
                            "ROOT r = f32[4] add(p, p) }\n";

static const char told[] =
    "HloModule m\n"
    "ENTRY e { p = f32[4] parameter(0) t = token[] after-all() "
    "s = (f32[4], u32[], token[]) send(p, t), channel_id=1, is_host_transfer=true "
    "d = token[] send-done(s), channel_id=1, is_host_transfer=true ROOT r = f32[4] add(p, p) }\n";

static void make(struct executable *x, const char *text, struct slice *slice, struct chip *chip,
                 struct arena *a)
{
    struct executable_settings settings = {.slice = slice, .chip = chip, .is_host = true,
                                           .replicas = 2};
    enum executable_stage stage;
    struct err e = {0};

    if (slice_parse(slice, "v5e-4", &e) || chip_load_builtin(chip, "v5e", NULL, a, &e) ||
        slice_fit(slice, chip, &e) ||
        executable_make(x, &settings, text, strlen(text), "m", &stage, &e))
        fail_msg("%s", e.msg);
}

TEST(a_sum_that_names_no_groups_is_over_all_replicas)
{
    const float in[2][4] = {{1, 2, 3, 4}, {10, 20, 30, 40}};
    struct value from[2], to[2];
    struct value *argument[2][1] = {{&from[0]}, {&from[1]}}, *result[2][1] = {{&to[0]}, {&to[1]}};
    struct value *const *const arguments[] = {argument[0], argument[1]};
    struct value *const *const results[] = {result[0], result[1]};
    struct executable x;
    struct slice slice;
    struct chip chip;
    struct arena a;
    struct err e = {0};

    arena_init(&a);
    make(&x, all_sum, &slice, &chip, &a);
    assert_false(x.is_alone);
    for (int d = 0; d < 2; d++) {
        value_init(&from[d], sizeof(in[d]));
        value_init(&to[d], sizeof(in[d]));
        memcpy(value_room(&from[d]), in[d], sizeof(in[d]));
    }
    if (executable_launch(&x, NULL, arguments, results, &e))
        fail_msg("%s", e.msg);
    for (int d = 0; d < 2; d++) {
        for (int i = 0; i < 4; i++)
            assert_true(((const float *)value_data(&to[d]))[i] == in[0][i] + in[1][i]);
        value_fini(&from[d]);
        value_fini(&to[d]);
    }
    executable_fini(&x);
    arena_fini(&a);
}

TEST(replicas_that_exchange_nothing_run_one_by_one)
{
    struct executable x;
    struct slice slice;
    struct chip chip;
    struct arena a;

    arena_init(&a);
    make(&x, twice, &slice, &chip, &a);
    assert_true(x.is_alone);
    executable_fini(&x);
    arena_fini(&a);
}

/* the host is told which device has sent */
TEST(replicas_that_send_to_their_host_run_together)
{
    struct executable x;
    struct slice slice;
    struct chip chip;
    struct arena a;

    arena_init(&a);
    make(&x, told, &slice, &chip, &a);
    assert_false(x.is_alone);
    executable_fini(&x);
    arena_fini(&a);
}

/* one launch of a program of a kernel on cores, with the same words in all its arguments */
struct kernel_run { bool was_found; int64_t cycles; struct value result; };

static void run_kernel(struct kernel_run *run, const char *path, struct disk_cache *cache)
{
    struct executable_settings settings = {.cache = cache, .engine = {.thread_count = 1}};
    struct value in[4], *argument[1][4], *result[1][1] = {{&run->result}};
    struct value *const *const arguments[] = {argument[0]}, *const *const results[] = {result[0]};
    size_t size;
    char *bytes = program_file_read(path, &size);
    enum executable_stage stage;
    struct executable x;
    struct slice slice;
    struct chip chip;
    struct arena a;
    struct err e = {0};

    arena_init(&a);
    settings.slice = &slice;
    settings.chip = &chip;
    if (slice_parse(&slice, "v5e-1", &e) || chip_load_builtin(&chip, "v5e", NULL, &a, &e) ||
        slice_fit(&slice, &chip, &e) ||
        executable_make(&x, &settings, bytes, size, "m", &stage, &e))
        fail_msg("%s", e.msg);
    assert_true(x.parameter_count <= 4 && x.result_count == 1);
    for (int i = 0; i < x.parameter_count; i++) {
        size_t in_bytes = hlo_type_bytes(x.parameter[i]);

        argument[0][i] = &in[i];
        value_init(&in[i], in_bytes);
        for (size_t k = 0; k < in_bytes / sizeof(int32_t); k++)
            ((int32_t *)value_room(&in[i]))[k] = (int32_t)(k % 3);
    }
    value_init(&run->result, hlo_type_bytes(x.result[0]));
    if (executable_launch(&x, NULL, arguments, results, &e))
        fail_msg("%s", e.msg);
    run->was_found = x.loaded.was_found;
    run->cycles = x.cycles;
    for (int i = 0; i < x.parameter_count; i++)
        value_fini(&in[i]);
    executable_fini(&x);
    arena_fini(&a);
    free(bytes);
}

TEST(kernels_of_pallas_that_were_compiled_before_are_found)
{
    static const char *const names[] = {"matmul", "gather_blocks", "column_sums"};
    char folder[] = "/tmp/systole.XXXXXX";
    struct disk_cache_use removed;
    struct disk_cache cache;
    struct err e = {0};

    assert_non_null(mkdtemp(folder));
    assert_int_equal(disk_cache_open(&cache, folder, DISK_CACHE_BYTES_MAX, &e), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct kernel_run made, found;
        char path[100];

        snprintf(path, sizeof(path), "tests/import/data/pallas/%s.mlirbc", names[i]);
        run_kernel(&made, path, &cache);
        run_kernel(&found, path, &cache);
        assert_false(made.was_found);
        assert_true(found.was_found);
        assert_int_equal(made.cycles, found.cycles);
        assert_int_equal(made.result.bytes, found.result.bytes);
        assert_memory_equal(value_data(&made.result), value_data(&found.result),
                            made.result.bytes);
        value_fini(&made.result);
        value_fini(&found.result);
    }
    assert_int_equal(disk_cache_clear(&cache, &removed, &e), 0);
    disk_cache_close(&cache);
    rmdir(folder);
}

static const struct hlo_type *entry_type(const struct hlo_module *m, int parameter)
{
    const struct hlo_computation *c = &m->computation[m->entry];

    return c->instruction[parameter < 0 ? c->root : c->parameter[parameter]].type;
}

/* the optimised program of one in a file: valid, and with the boundary of the program itself */
static void check_optimized(const char *name, const char *tpu, struct disk_cache *cache)
{
    struct executable_settings settings = {.cache = cache, .engine = {.thread_count = 1}};
    char path[100];
    const struct hlo_module *m = NULL;
    enum executable_stage stage;
    struct executable x;
    struct slice slice;
    struct chip chip;
    struct arena a;
    struct err e = {0};
    size_t size;
    char *bytes;

    snprintf(path, sizeof(path), "tests/import/data/programs/%s.mlirbc", name);
    bytes = program_file_read(path, &size);
    arena_init(&a);
    settings.slice = &slice;
    settings.chip = &chip;
    if (slice_parse(&slice, tpu, &e) || chip_load_builtin(&chip, "v5e", NULL, &a, &e) ||
        slice_fit(&slice, &chip, &e) ||
        executable_make(&x, &settings, bytes, size, name, &stage, &e) ||
        !(m = executable_optimized(&x, &a, &e)) || hlo_verify(m, &e))
        fail_msg("%s: %s", name, e.msg);
    assert_int_equal(m->computation[m->entry].parameter_count,
                     x.graph.device->computation[x.graph.device->entry].parameter_count);
    for (int i = -1; i < m->computation[m->entry].parameter_count; i++)
        assert_true(hlo_type_equal(entry_type(m, i), entry_type(x.graph.device, i)));
    hlo_module_fini((struct hlo_module *)(uintptr_t)m);
    executable_fini(&x);
    arena_fini(&a);
    free(bytes);
}

/* in the cache, where there is no graph any more, as well */
TEST(the_optimised_program_is_one_with_the_same_boundary)
{
    static const char *const names[] = {"mlp_adam", "complex_matrices", "kalman_filter",
                                        "beam_search", "sort_statistics"};
    char folder[] = "/tmp/systole.XXXXXX";
    struct disk_cache_use removed;
    struct disk_cache cache;
    struct err e = {0};

    assert_non_null(mkdtemp(folder));
    assert_int_equal(disk_cache_open(&cache, folder, DISK_CACHE_BYTES_MAX, &e), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        check_optimized(names[i], "v5e-1", i == 0 ? &cache : NULL);
    check_optimized(names[0], "v5e-1", &cache);
    check_optimized("sharded_moe", "v5e-8", NULL);
    check_optimized("sharded_pipeline", "v5e-8", NULL);
    assert_int_equal(disk_cache_clear(&cache, &removed, &e), 0);
    disk_cache_close(&cache);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicas_that_send_to_their_host_run_together),
        cmocka_unit_test(a_sum_that_names_no_groups_is_over_all_replicas),
        cmocka_unit_test(replicas_that_exchange_nothing_run_one_by_one),
        cmocka_unit_test(the_optimised_program_is_one_with_the_same_boundary),
        cmocka_unit_test(kernels_of_pallas_that_were_compiled_before_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
