/* The files of a run folder, and how they appear. */
#include "tests/test.h"

#include "report/folder/files.h"
#include "report/folder/report.h"
#include "report/tables/tables.h"
#include "tests/rigs/chip_set.h"
#include "tests/rigs/toy.h"

#include <math.h>
#include <sys/stat.h>

static json_t *print_json(const struct report_run *r, const struct report_view *v)
{
    char *text;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    struct table table[TABLE_COUNT];
    json_error_t where;
    struct arena a;
    json_t *root;

    arena_init(&a);
    tables_fill(r, v, &a, table);
    assert_int_equal(json_print_stats(r, v, table, to), 0);
    arena_fini(&a);
    fclose(to);
    root = json_loads(text, JSON_REJECT_DUPLICATES, &where);
    if (!root)
        fail_msg("line %d: %s", where.line, where.text);
    free(text);
    return root;
}

TEST(stats_of_a_run_parse_back)
{
    struct toy t;
    struct report_run r = toy_run();
    json_t *root, *host;

    toy_init(&t);
    root = print_json(&r, &t.view);
    host = json_object_get(root, "host");
    assert_string_equal(json_string_value(json_object_get(root, "format")), "systole-stats");
    assert_int_equal(toy_get_int(root, "version"), 1);
    assert_true(toy_get_real(root, "test_accuracy") == 0.9375);
    assert_int_equal(toy_get_int(root, "step_cycles"), 10000);
    assert_true(toy_get_real(root, "step_us") == 10.0);
    assert_true(toy_get_real(root, "device_us") == 12.0);
    assert_true(toy_get_real(root, "host_us") == 114.0);
    assert_true(toy_get_real(root, "host_seconds") == 0.75);
    assert_true(toy_get_real(host, "seconds") == 0.75);
    assert_int_equal(json_array_size(json_object_get(host, "epoch_seconds")), 2);
    assert_int_equal(json_array_size(json_object_get(root, "epochs")), 2);
    assert_int_equal(json_array_size(json_object_get(root, "cores")), 2);
    assert_int_equal(json_array_size(json_object_get(root, "hbm")), 2);
    assert_int_equal(json_array_size(json_object_get(root, "links")), 2);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(root, "bound"), "by")), "MXU");
    assert_int_equal(toy_get_int(json_object_get(root, "breakdown"), "exposed_hbm"), 6000);
    assert_int_equal(toy_get_int(json_object_get(root, "breakdown"), "dispatch"), 204000);
    json_decref(root);
}

TEST(stats_of_cores_and_units_keep_their_identities)
{
    struct toy t;
    struct report_run r = toy_run();
    json_t *root, *core, *unit, *cycles;
    const char *name;
    size_t i;

    toy_init(&t);
    root = print_json(&r, &t.view);
    json_array_foreach(json_object_get(root, "cores"), i, core) {
        json_int_t sum = toy_get_int(core, "issue") + toy_get_int(core, "idle");

        assert_int_equal(toy_get_int(core, "core"), i);
        json_object_foreach(json_object_get(core, "stalls"), name, cycles)
            sum += json_integer_value(cycles);
        assert_int_equal(json_object_size(json_object_get(core, "stalls")), STALL_COUNT);
        assert_int_equal(sum, toy_get_int(core, "cycles"));
        assert_int_equal(json_object_size(json_object_get(core, "units")), TRACK_COUNT);
        json_object_foreach(json_object_get(core, "units"), name, unit)
            assert_int_equal(toy_get_int(unit, "busy") + toy_get_int(unit, "waiting") +
                             toy_get_int(unit, "idle"), toy_get_int(core, "cycles"));
        assert_int_equal(json_object_size(json_object_get(core, "ops")), 2);
        assert_int_equal(toy_get_int(json_object_get(core, "ops"), "vld"), 1000);
    }
    json_decref(root);
}

TEST(stats_keep_integers_exact_and_have_no_nan)
{
    struct toy t;
    struct report_run r = toy_run();
    struct report_epoch bad = r.epoch[0];
    json_t *root;

    toy_init(&t);
    t.memory[0].read_bytes = 9007199254740993LL;        /* 2^53 + 1 is no double */
    bad.loss = NAN;
    r.epoch = &bad;
    r.epoch_count = 1;
    root = print_json(&r, &t.view);
    assert_true(toy_get_int(json_array_get(json_object_get(root, "hbm"), 0), "read_bytes") ==
                9007199254740993LL);
    assert_true(json_is_null(json_object_get(
        json_array_get(json_object_get(root, "epochs"), 0), "loss")));
    json_decref(root);
}

TEST(stats_differ_only_under_host_keys_when_only_host_times_differ)
{
    struct toy t;
    struct report_run r = toy_run();
    struct report_epoch slower[2] = {r.epoch[0], r.epoch[1]};
    json_t *one, *two;

    toy_init(&t);
    one = print_json(&r, &t.view);
    slower[0].host_seconds = 9.0;
    r.epoch = slower;
    r.host_seconds = 10.0;
    two = print_json(&r, &t.view);
    assert_false(json_equal(one, two));
    for (int i = 0; i < 2; i++) {
        json_object_del(i ? one : two, "host");
        json_object_del(i ? one : two, "host_seconds");
    }
    assert_true(json_equal(one, two));
    json_decref(one);
    json_decref(two);
}

static char *print_with(void (*print)(const struct report_run *, FILE *),
                        const struct report_run *r)
{
    char *text;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);

    print(r, to);
    fclose(to);
    return text;
}

TEST(steps_have_one_line_each_and_no_trailing_comma)
{
    struct report_run r = toy_run();
    char *text = print_with(csv_print_steps, &r);

    assert_string_equal(text, "step,epoch,loss,accuracy,step_cycles\n"
                              "1,1,2.30258509,0.125,10000\n"
                              "2,1,1.5,0.5,10000\n");
    free(text);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

TEST(configuration_reads_back_as_a_chip_file)
{
    struct toy t;
    struct report_run r = toy_run();
    struct chip chip, again;
    struct chip_origin *origins;
    struct arena a;
    struct err e;
    char folder[200], path[300], *text, *start;
    size_t bytes;
    FILE *to;

    arena_init(&a);
    toy_init(&t);
    origins = arena_array(&a, chip_param_count, sizeof(*origins));
    memset(&chip, 0, sizeof(chip));
    memset(&again, 0, sizeof(again));
    assert_int_equal(chip_load_builtin(&chip, "v3", origins, &a, &e), 0);
    assert_int_equal(chip_set(&chip, "mxu.count=4", origins, &a, &e), 0);
    r.chip_origins = origins;
    t.view.chip = &chip;
    to = open_memstream(&text, &bytes);
    config_print(&r, &t.view, to);
    fclose(to);
    assert_non_null(strstr(text, "[train]\nbatch = 512 ; command line\nseed = 1 ; default\n"));
    assert_non_null(strstr(text, "path = a b.json ; command line\n"));
    assert_non_null(strstr(text, "\ncount = 4 ; --set"));
    start = strstr(text, "[chip]");
    assert_non_null(start);
    for (char *line = start; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") < 198); /* inih's longest line */
    snprintf(path, sizeof(path), "%s/chip.ini", toy_make_folder(folder, sizeof(folder)));
    write_text(path, start);
    if (chip_load_file(&again, path, NULL, &a, &e) != 0)
        fail_msg("%s:%d: %s", e.file, e.line, e.msg);
    assert_memory_equal(&chip, &again, sizeof(chip));
    toy_remove_folder(folder);
    free(text);
    arena_fini(&a);
}

TEST(folder_of_a_host_run_holds_all_files_and_nothing_else)
{
    static const char *const names[] = {
        "config.ini", "report.txt", "steps.csv", "stats.json", "stats.txt", "ops.csv",
        "collectives.csv", "layers.csv", "links.csv", "memory.csv", "counters.csv",
        "energy.csv", "energy_ops.csv"};
    struct report_run r = toy_run();
    struct err e;
    struct stat st;
    char folder[200], path[300];

    toy_make_folder(folder, sizeof(folder));
    assert_int_equal(report_make_folder(folder, &e), 0);
    for (int twice = 0; twice < 2; twice++)
        assert_int_equal(report_write_folder(&r, folder, &e), 0);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_true(st.st_size > 0);
    }
    assert_int_equal(toy_remove_folder(folder), COUNT_OF(names));
}

TEST(outputs_are_checked_without_a_trace_of_it)
{
    struct err e;
    char folder[200], path[300], trace[400];

    snprintf(path, sizeof(path), "%s/out", toy_make_folder(folder, sizeof(folder)));
    snprintf(trace, sizeof(trace), "%s/t.pftrace", path);
    assert_int_equal(report_check_outputs(path, trace, &e), 0);
    assert_int_equal(report_check_outputs(NULL, NULL, &e), 0);
    assert_int_equal(report_check_outputs(NULL, trace, &e), -1);   /* nobody makes the folder */
    assert_non_null(strstr(e.msg, trace));
    assert_int_equal(report_check_outputs(path, path, &e), -1);
    assert_non_null(strstr(e.msg, "must end in .strace, .pftrace"));
    assert_int_equal(toy_remove_folder(folder), 0);
}

TEST(folder_that_cannot_be_written_is_an_error_with_its_path)
{
    struct report_run r = toy_run();
    struct err e;
    char folder[200], file[300], below[400];

    toy_make_folder(folder, sizeof(folder));
    snprintf(file, sizeof(file), "%s/file", folder);
    snprintf(below, sizeof(below), "%s/below", file);
    write_text(file, "x");
    assert_int_equal(report_check_outputs(file, NULL, &e), -1);
    assert_non_null(strstr(e.msg, file));
    assert_non_null(strstr(e.msg, "is a file"));
    assert_int_equal(report_check_outputs(below, NULL, &e), -1);
    assert_non_null(strstr(e.msg, below));
    assert_non_null(strstr(e.msg, "Not a directory"));
    assert_int_equal(report_write_folder(&r, below, &e), -1);
    assert_non_null(strstr(e.msg, "below/config.ini"));
    snprintf(below, sizeof(below), "%s/missing/out", folder);
    assert_int_equal(report_check_outputs(below, NULL, &e), -1);
    assert_non_null(strstr(e.msg, "No such file or directory"));
    assert_int_equal(toy_remove_folder(folder), 1);
}

TEST(file_that_cannot_be_renamed_leaves_nothing_behind)
{
    struct report_run r = toy_run();
    struct err e;
    char folder[200], path[300];

    toy_make_folder(folder, sizeof(folder));
    snprintf(path, sizeof(path), "%s/config.ini", folder);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(report_write_folder(&r, folder, &e), -1);
    assert_non_null(strstr(e.msg, path));
    assert_int_equal(toy_remove_folder(folder), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stats_of_a_run_parse_back),
        cmocka_unit_test(stats_of_cores_and_units_keep_their_identities),
        cmocka_unit_test(stats_keep_integers_exact_and_have_no_nan),
        cmocka_unit_test(stats_differ_only_under_host_keys_when_only_host_times_differ),
        cmocka_unit_test(steps_have_one_line_each_and_no_trailing_comma),
        cmocka_unit_test(configuration_reads_back_as_a_chip_file),
        cmocka_unit_test(folder_of_a_host_run_holds_all_files_and_nothing_else),
        cmocka_unit_test(outputs_are_checked_without_a_trace_of_it),
        cmocka_unit_test(folder_that_cannot_be_written_is_an_error_with_its_path),
        cmocka_unit_test(file_that_cannot_be_renamed_leaves_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
