/* Programs that were compiled before come from the disk, and run the same. */
#include "base/cache/build_id.h"
#include "stack/hlo/graph_shape.h"
#include "stack/module/module_once.h"
#include "stack/module/module_run.h"
#include "tests/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct bench {
    struct arena arena;
    struct graph g;
    struct slice slice;
    struct chip chip;
    struct module_settings settings;
    struct disk_cache cache;
    char folder[64];
};

static void open_bench(struct bench *b)
{
    int64_t dim[] = {40, 50};
    struct err e;
    int x, y;

    memset(b, 0, sizeof(*b));
    arena_init(&b->arena);
    graph_init(&b->g, &b->arena, "small");
    x = graph_parameter(&b->g, shape_make(DTYPE_F32, 2, dim), "x");
    y = graph_unary(&b->g, HLO_TANH, graph_binary(&b->g, HLO_MULTIPLY, x, x));
    graph_output(&b->g, y, "y", -1);
    assert_int_equal(slice_parse(&b->slice, "v5e", &e), 0);
    assert_int_equal(chip_load_builtin(&b->chip, "v5e", NULL, &b->arena, &e), 0);
    b->settings = (struct module_settings){.chip = &b->chip, .replica_count = 1};
    snprintf(b->folder, sizeof(b->folder), "/tmp/systole_once_XXXXXX");
    assert_non_null(mkdtemp(b->folder));
    assert_int_equal(disk_cache_open(&b->cache, b->folder, 1 << 24, &e), 0);
}

static void close_bench(struct bench *b)
{
    char command[96];

    snprintf(command, sizeof(command), "rm -rf %s", b->folder);
    assert_int_equal(system(command), 0);
    disk_cache_close(&b->cache);
    graph_fini(&b->g);
    arena_fini(&b->arena);
}

/* compiles, or not; the cycles of a launch */
static int64_t run(struct bench *b, bool *was_found)
{
    struct machine_options options = {.thread_count = 1};
    static float x[40 * 50], y[40 * 50];
    struct module m;
    struct machine *machine;
    int64_t cycles;
    struct err e;

    for (int i = 0; i < 40 * 50; i++)
        x[i] = 0.001f * (float)i;
    assert_int_equal(module_compile_once(&b->g, &b->settings, &b->cache, &b->arena, &m, was_found,
                                         &e), 0);
    machine = machine_create(&b->slice, &b->chip, &options, &e);
    assert_non_null(machine);
    assert_int_equal(module_load(&m, machine, 0, &e), 0);
    assert_int_equal(module_write(&m, machine, 0, 0, x, &e), 0);
    assert_int_equal(machine_run(machine, &e), 0);
    assert_int_equal(module_read(&m, machine, 0, 0, y, &e), 0);
    assert_true(y[1999] > 0.99f && y[0] == 0 && y[500] > 0.24f && y[500] < 0.25f);
    cycles = machine_cycles(machine);
    machine_destroy(machine);
    return cycles;
}

TEST(the_second_time_is_found_and_runs_the_same)
{
    struct bench b;
    bool was_found;
    int64_t first;

    open_bench(&b);
    first = run(&b, &was_found);
    assert_false(was_found);
    assert_int_equal(run(&b, &was_found), first);
    assert_true(was_found);
    b.settings.keeps_roundings = true;
    run(&b, &was_found);
    assert_false(was_found);
    close_bench(&b);
}

TEST(a_damaged_entry_is_compiled_again)
{
    struct bench b;
    struct dirent *d;
    bool was_found;
    DIR *dir;

    open_bench(&b);
    run(&b, &was_found);
    dir = opendir(b.folder);
    while ((d = readdir(dir)) != NULL) {
        int fd = openat(dirfd(dir), d->d_name, O_WRONLY);

        if (fd >= 0) {
            assert_int_equal(pwrite(fd, "no", 2, 600), 2);
            close(fd);
        }
    }
    closedir(dir);
    run(&b, &was_found);
    assert_false(was_found);
    run(&b, &was_found);
    assert_true(was_found);
    close_bench(&b);
}

TEST(this_build_has_an_id)
{
    size_t bytes;

    assert_non_null(build_id(&bytes));
    assert_true(bytes >= 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_second_time_is_found_and_runs_the_same),
        cmocka_unit_test(a_damaged_entry_is_compiled_again),
        cmocka_unit_test(this_build_has_an_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
