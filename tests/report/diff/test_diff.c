/* Two runs side by side: folders made by hand, and numbers that can be added up by eye. */
#include "tests/test.h"

#include "report/diff/diff.h"
#include "tests/rigs/toy.h"

#include <math.h>
#include <sys/stat.h>

struct made {                           /* two folders, opened */
    char folder[2][200];
    struct run_folder run[2];
    struct arena arena;
};

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[300];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* one core whose cycles are the sum of what is given */
static const char *stats(char *text, size_t bytes, int mhz, int issue, int hbm_wait, int xlu,
                         const char *more)
{
    int cycles = issue + hbm_wait + xlu;

    snprintf(text, bytes,
             "{\"format\": \"systole-stats\", \"version\": 1, \"step_cycles\": %d,"
             " \"step_us\": %.6f, \"host_seconds\": %d.5, \"host\": {\"seconds\": %d},"
             " \"chip\": {\"name\": \"Toy\", \"clock_mhz\": %d},"
             " \"bound\": {\"by\": \"HBM\", \"use\": {\"HBM\": 0.5}},"
             " \"cores\": [{\"core\": 0, \"cycles\": %d, \"issue\": %d, \"idle\": 0,"
             " \"stalls\": {\"hbm_wait\": %d, \"xlu\": %d},"
             " \"units\": {\"valu\": {\"busy\": %d}}, \"ops\": {\"vld\": %d%s}}],"
             " \"hbm\": [{\"read_bytes\": %d}, {\"read_bytes\": 64}]}",
             cycles, (double)cycles / mhz, issue, issue, mhz, cycles, issue, hbm_wait, xlu,
             issue / 2, issue, more, 32 * issue);
    return text;
}

static const char config_a[] =
    "[data]\nbatch = 8 ; default\n[output]\nout = a ; command line\n\n[chip]\nclock_mhz = 1000 "
    "; x\n[mxu]\ncount = 2 ; x\n";
static const char config_b[] =
    "[data]\nbatch = 16 ; command line\n[output]\nout = b ; command line\n\n[chip]\nclock_mhz = "
    "1000 ; x\n[mxu]\ncount = 4 ; --set\n";

static void begin(struct made *m)
{
    memset(m, 0, sizeof(*m));
    arena_init(&m->arena);
    for (int i = 0; i < 2; i++)
        toy_make_folder(m->folder[i], sizeof(m->folder[i]));
}

static void fill(struct made *m, int run, const char *stats_text, const char *config)
{
    struct err e;

    write_text(m->folder[run], "stats.json", stats_text);
    if (config)
        write_text(m->folder[run], "config.ini", config);
    if (run_folder_open(&m->run[run], m->folder[run], &m->arena, &e))
        fail_msg("%s: %s", e.file, e.msg);
}

static void end(struct made *m)
{
    for (int i = 0; i < 2; i++) {
        run_folder_close(&m->run[i]);
        toy_remove_folder(m->folder[i]);
    }
    arena_fini(&m->arena);
}

static const struct diff_row *row_of(const struct diff *d, enum diff_section s, const char *name)
{
    for (size_t i = 0; i < d->row_count; i++)
        if (d->row[i].section == s && strcmp(d->row[i].name, name) == 0)
            return &d->row[i];
    fail_msg("no row %s", name);
    return NULL;
}

TEST(cycles_are_ranked_and_add_up_to_the_difference_of_the_steps)
{
    static const char *const order[] = {"hbm_wait", "xlu", "issue", "idle"};
    struct made m;
    struct diff d;
    struct err e;
    char text[2000];
    double sum = 0.0;
    size_t seen = 0;

    begin(&m);
    fill(&m, 0, stats(text, sizeof(text), 1000, 100, 500, 40, ""), NULL);
    fill(&m, 1, stats(text, sizeof(text), 1000, 90, 200, 60, ""), NULL);
    assert_int_equal(diff_make(&d, &m.run[0], &m.run[1], 0, &m.arena, &e), 0);
    for (size_t i = 0; i < d.row_count; i++) {
        if (d.row[i].section != DIFF_CYCLES)
            continue;
        assert_string_equal(d.row[i].name, order[seen++]);
        sum += d.row[i].b - d.row[i].a;
    }
    assert_int_equal(seen, 4);
    assert_true(sum == -290.0);
    assert_true(diff_step_cycles(&d) == -290.0);
    assert_true(diff_clock_us(&d) == 0.0);
    assert_true(fabs(diff_step_us(&d) - -0.29) < 1e-12);
    diff_fini(&d);
    end(&m);
}

TEST(another_clock_is_a_part_of_the_difference_by_itself)
{
    struct made m;
    struct diff d;
    struct err e;
    char text[2000];
    double sum_us;

    begin(&m);
    fill(&m, 0, stats(text, sizeof(text), 500, 100, 300, 0, ""), NULL);
    fill(&m, 1, stats(text, sizeof(text), 1000, 100, 400, 0, ""), NULL);
    assert_int_equal(diff_make(&d, &m.run[0], &m.run[1], 0, &m.arena, &e), 0);
    /* 0.8 us became 0.5: the clock takes 0.4 away, 100 more cycles add 0.1 */
    assert_true(fabs(diff_clock_us(&d) - -0.4) < 1e-12);
    sum_us = diff_clock_us(&d) + diff_step_cycles(&d) / 1000.0;
    assert_true(fabs(sum_us - -0.3) < 1e-12);
    assert_true(fabs(diff_step_us(&d) - -0.3) < 1e-12);
    diff_fini(&d);
    end(&m);
}

TEST(settings_that_differ_are_listed_but_not_what_changes_no_number)
{
    struct made m;
    struct diff d;
    struct err e;
    char text[2000];

    begin(&m);
    stats(text, sizeof(text), 1000, 100, 500, 40, "");
    fill(&m, 0, text, config_a);
    fill(&m, 1, text, config_b);
    assert_int_equal(diff_make(&d, &m.run[0], &m.run[1], 0, &m.arena, &e), 0);
    assert_int_equal(d.setting_count, 2);
    assert_string_equal(d.setting[0].name, "data.batch");
    assert_string_equal(d.setting[0].a, "8");
    assert_string_equal(d.setting[0].b, "16");
    assert_false(d.setting[0].is_chip);
    assert_string_equal(d.setting[1].name, "mxu.count");
    assert_true(d.setting[1].is_chip);
    assert_int_equal(d.number_differs, 0);
    assert_false(diff_is_equal(&d));
    diff_fini(&d);
    end(&m);
}

TEST(runs_that_differ_in_host_times_alone_are_equal)
{
    struct made m;
    struct diff d;
    struct err e;
    char text[2000], *host;

    begin(&m);
    stats(text, sizeof(text), 1000, 100, 500, 40, "");
    fill(&m, 0, text, config_a);
    host = strstr(text, "\"host_seconds\": 100.5");
    assert_non_null(host);
    host[strlen("\"host_seconds\": ")] = '7';
    fill(&m, 1, text, config_a);
    assert_int_equal(diff_make(&d, &m.run[0], &m.run[1], 0, &m.arena, &e), 0);
    assert_true(diff_is_equal(&d));
    assert_true(d.number_count > 10);
    diff_fini(&d);
    end(&m);
}

TEST(counts_are_summed_over_chips_and_operations_of_one_run_are_marked)
{
    struct made m;
    struct diff d;
    struct err e;
    char text[2000];
    const struct diff_row *r;

    begin(&m);
    fill(&m, 0, stats(text, sizeof(text), 1000, 100, 500, 40, ", \"vst\": 7"), NULL);
    fill(&m, 1, stats(text, sizeof(text), 1000, 50, 500, 40, ", \"vpow2\": 3"), NULL);
    assert_int_equal(diff_make(&d, &m.run[0], &m.run[1], 0, &m.arena, &e), 0);
    r = row_of(&d, DIFF_WORK, "HBM read");
    assert_true(r->a == 3200.0 + 64.0 && r->b == 1600.0 + 64.0);
    r = row_of(&d, DIFF_OPS, "vst");
    assert_true(r->in_a && !r->in_b && r->a == 7.0 && r->b == 0.0);
    r = row_of(&d, DIFF_OPS, "vpow2");
    assert_true(!r->in_a && r->in_b && r->b == 3.0);
    r = row_of(&d, DIFF_UNITS, "valu");
    assert_true(r->a == 50.0 && r->b == 25.0);
    diff_fini(&d);
    end(&m);
}

TEST(json_holds_every_row_and_the_verdict)
{
    struct made m;
    struct diff d;
    struct err e;
    char text[2000], *printed;
    size_t bytes, i;
    FILE *to = open_memstream(&printed, &bytes);
    json_t *root, *row;
    json_int_t sum = 0;

    begin(&m);
    fill(&m, 0, stats(text, sizeof(text), 1000, 100, 500, 40, ""), config_a);
    fill(&m, 1, stats(text, sizeof(text), 1000, 90, 200, 60, ""), config_b);
    assert_int_equal(diff_make(&d, &m.run[0], &m.run[1], 0, &m.arena, &e), 0);
    assert_int_equal(diff_print_json(&d, to), 0);
    fclose(to);
    root = json_loads(printed, 0, NULL);
    assert_non_null(root);
    assert_true(json_is_false(json_object_get(root, "is_equal")));
    assert_int_equal(json_array_size(json_object_get(root, "settings")), 2);
    assert_int_equal(json_array_size(json_object_get(root, "rows")), d.row_count);
    json_array_foreach(json_object_get(root, "rows"), i, row)
        if (strcmp(run_text(row, "section"), "cycles") == 0)
            sum += toy_get_int(row, "difference");
    assert_int_equal(sum, -290);
    json_decref(root);
    free(printed);
    diff_fini(&d);
    end(&m);
}

static void expect_error(struct made *m, int core, const char *what)
{
    struct diff d;
    struct err e;

    assert_int_equal(diff_make(&d, &m->run[0], &m->run[1], core, &m->arena, &e), -1);
    if (!strstr(e.msg, what))
        fail_msg("\"%s\" says nothing of \"%s\"", e.msg, what);
    diff_fini(&d);
}

TEST(a_core_that_is_not_there_and_sums_that_break_are_errors)
{
    struct made m;
    char text[2000], *cycles;

    begin(&m);
    stats(text, sizeof(text), 1000, 100, 500, 40, "");
    fill(&m, 0, text, NULL);
    cycles = strstr(text, "\"issue\": 100");
    assert_non_null(cycles);
    cycles[strlen("\"issue\": ")] = '3';
    fill(&m, 1, text, NULL);
    expect_error(&m, 1, "no core 1 to compare: the run has 1 core");
    expect_error(&m, 0, "add up to 840 cycles, the step has 640");
    end(&m);
}

TEST(folders_that_hold_no_run_are_errors_with_their_path)
{
    static const struct { const char *text, *message; } bad[] = {
        {NULL, "it has no stats.json"},
        {"{", "'}'"},
        {"[1, 2]", "no systole-stats file"},
        {"{\"format\": 3}", "no systole-stats file"},
        {"{\"format\": \"systole-stats\", \"version\": 99}", "newer systole: version 99"},
    };
    char folder[200];
    struct run_folder r;
    struct arena a;
    struct err e;

    arena_init(&a);
    toy_make_folder(folder, sizeof(folder));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (bad[i].text)
            write_text(folder, "stats.json", bad[i].text);
        assert_int_equal(run_folder_open(&r, folder, &a, &e), -1);
        assert_non_null(strstr(e.file, folder));
        if (!strstr(e.msg, bad[i].message))
            fail_msg("\"%s\" says nothing of \"%s\"", e.msg, bad[i].message);
    }
    assert_int_equal(run_folder_open(&r, "/nowhere/run", &a, &e), -1);
    assert_non_null(strstr(e.msg, "No such file"));
    toy_remove_folder(folder);
    arena_fini(&a);
}

TEST(values_of_the_wrong_kind_read_as_nothing)
{
    static const char odd[] =
        "{\"format\": \"systole-stats\", \"version\": 1, \"step_cycles\": \"many\", \"cores\": 7,"
        " \"hbm\": {\"read_bytes\": []}, \"epochs\": [null], \"bound\": [], \"chip\": []}";
    struct made m;
    struct diff d;
    struct err e;
    FILE *to = fopen("/dev/null", "w");

    begin(&m);
    fill(&m, 0, odd, NULL);
    fill(&m, 1, "{\"format\": \"systole-stats\"}", "[data\nbatch\n= 3\n");
    assert_int_equal(diff_make(&d, &m.run[0], &m.run[1], 0, &m.arena, &e), 0);
    assert_false(d.is_timed);
    assert_false(diff_is_equal(&d));
    diff_print_text(&d, to);
    diff_print_csv(&d, to);
    assert_int_equal(diff_print_json(&d, to), 0);
    fclose(to);
    diff_fini(&d);
    end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cycles_are_ranked_and_add_up_to_the_difference_of_the_steps),
        cmocka_unit_test(another_clock_is_a_part_of_the_difference_by_itself),
        cmocka_unit_test(settings_that_differ_are_listed_but_not_what_changes_no_number),
        cmocka_unit_test(runs_that_differ_in_host_times_alone_are_equal),
        cmocka_unit_test(counts_are_summed_over_chips_and_operations_of_one_run_are_marked),
        cmocka_unit_test(json_holds_every_row_and_the_verdict),
        cmocka_unit_test(a_core_that_is_not_there_and_sums_that_break_are_errors),
        cmocka_unit_test(folders_that_hold_no_run_are_errors_with_their_path),
        cmocka_unit_test(values_of_the_wrong_kind_read_as_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
