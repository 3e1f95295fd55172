/* Tables and how they print, what must hold of a run, the command line in config.ini. */
#include "tests/test.h"

#include "report/tables/identities.h"
#include "report/tables/op_tree.h"
#include "report/folder/report.h"
#include "report/tables/saved.h"
#include "report/tables/tables.h"
#include "tests/rigs/toy.h"

#include <math.h>

static char *print_with(void (*print)(const struct table *, FILE *), const struct table *t)
{
    char *text;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);

    print(t, to);
    fclose(to);
    return text;
}

/* ---- printing ---- */

static void add_counter(struct table *t, const char *name, int64_t achieved, double percent)
{
    table_add_row(t);
    table_put_text(t, COL_COUNTERS_NAME, name);
    table_put_int(t, COL_COUNTERS_ACHIEVED, achieved);
    table_put_real(t, COL_COUNTERS_PERCENT, percent);
}

TEST(csv_quotes_what_it_must_and_leaves_empty_what_is_not_a_number)
{
    struct arena a;
    struct table t;
    char *text;

    arena_init(&a);
    table_init(&t, TABLE_COUNTERS, &a);
    add_counter(&t, "a, \"b\"", 9007199254740993LL, 0.1);
    add_counter(&t, "plain", -1, NAN);
    text = print_with(table_print_csv, &t);
    assert_string_equal(text, "counter,achieved,peak,unit,percent\n"
                              "\"a, \"\"b\"\"\",9007199254740993,,,0.1\n"
                              "plain,-1,,,\n");
    free(text);
    arena_fini(&a);
}

TEST(markdown_and_text_show_the_same_rows)
{
    struct arena a;
    struct table t;
    char *text;

    arena_init(&a);
    table_init(&t, TABLE_COUNTERS, &a);
    add_counter(&t, "a|b", 1234567, 12.34);
    text = print_with(table_print_markdown, &t);
    assert_string_equal(text, "**counters, all cores that ran**\n\n"
                              "| counter | achieved | peak | unit | percent |\n"
                              "|---|---:|---:|---|---:|\n"
                              "| a\\|b | 1,234,567 |  |  | 12.3 |\n\n");
    free(text);
    text = print_with(table_print_text, &t);
    assert_string_equal(text, "counters, all cores that ran\n"
                              "  counter   achieved  peak  unit  percent\n"
                              "  a|b      1,234,567                 12.3\n");
    free(text);
    table_truncate(&t, 0);
    text = print_with(table_print_text, &t);
    assert_string_equal(text, "counters, all cores that ran\n  (none)\n");
    free(text);
    arena_fini(&a);
}

TEST(order_is_largest_first_stable_and_empty_last)
{
    static const struct { int64_t achieved; double percent; } rows[] = {
        {3, 1.0}, {1, NAN}, {3, 2.0}, {7, 1.0}, {0, 5.0}, {3, 3.0}, {1, 4.0}};
    static const double wanted[] = {1.0, 1.0, 2.0, 3.0, 0.0, 4.0, 5.0};
    struct arena a;
    struct table t;

    arena_init(&a);
    table_init(&t, TABLE_COUNTERS, &a);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        add_counter(&t, "x", rows[i].achieved, rows[i].percent);
    table_sort(&t, COL_COUNTERS_ACHIEVED);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_true(table_real(&t, i, COL_COUNTERS_PERCENT) == wanted[i]);
    table_sort(&t, COL_COUNTERS_PERCENT);
    assert_int_equal(table_cell(&t, COUNT_OF(rows) - 1, COL_COUNTERS_PERCENT)->kind, CELL_EMPTY);
    assert_true(table_real(&t, 0, COL_COUNTERS_PERCENT) == 5.0);
    arena_fini(&a);
}

TEST(tables_go_to_json_and_back)
{
    struct arena a;
    struct table t, again;
    struct err e;
    json_t *json;
    char *one, *two;

    arena_init(&a);
    table_init(&t, TABLE_COUNTERS, &a);
    table_init(&again, TABLE_COUNTERS, &a);
    for (int i = 0; i < 40; i++)
        add_counter(&t, i % 2 ? "odd" : "even", (int64_t)1 << i, i / 7.0);
    json = table_make_json(&t);
    assert_int_equal(table_read_json(&again, json, &e), 0);
    one = print_with(table_print_csv, &t);
    two = print_with(table_print_csv, &again);
    assert_string_equal(one, two);
    free(one);
    free(two);
    json_object_set_new(json_array_get(json, 3), "achieved", json_string("many"));
    table_init(&again, TABLE_COUNTERS, &a);
    assert_int_equal(table_read_json(&again, json, &e), -1);
    assert_non_null(strstr(e.msg, "tables.counters: row 4 has a \"achieved\" of the wrong kind"));
    json_array_set_new(json, 0, json_integer(1));
    assert_int_equal(table_read_json(&again, json, &e), -1);
    assert_non_null(strstr(e.msg, "row 1 is no object"));
    json_decref(json);
    json = json_integer(1);
    assert_int_equal(table_read_json(&again, json, &e), -1);
    assert_non_null(strstr(e.msg, "tables.counters is not a list"));
    json_decref(json);
    arena_fini(&a);
}

TEST(every_column_belongs_to_its_table_and_has_a_name_of_its_own)
{
    for (int c = 0; c < COLUMN_COUNT; c++) {
        const struct table_field *info = column_info(c);

        assert_int_equal(table_find_column(column_table(c), info->name), c);
        if (c > 0)
            assert_true(column_table(c) >= column_table(c - 1));
    }
    assert_int_equal(table_find_column(TABLE_OPS, "percent"), -1);
}

TEST(operations_stand_below_their_category)
{
    struct toy t;
    struct arena a;
    struct table ops[TABLE_COUNT];
    struct report_run r = toy_run();
    size_t bytes;
    char *text;
    FILE *to;
    const char *category, *op;

    toy_init(&t);
    arena_init(&a);
    tables_fill(&r, &t.view, &a, ops);
    to = open_memstream(&text, &bytes);
    op_tree_print(&ops[TABLE_OPS], 1, to);
    fclose(to);
    category = strstr(text, "\n  convolution  ");
    op = strstr(text, "\n    dot.1  ");
    assert_true(category && op && category < op);
    assert_non_null(strstr(text, "\n  copy-done  ")); /* summed, though its row is not shown */
    assert_null(strstr(text, "add \"two\""));
    free(text);
    arena_fini(&a);
}

/* ---- memory ---- */

TEST(peak_of_a_memory_is_where_most_is_live)
{
    static const struct report_buffer buffers[] = {
        {MEMORY_VMEM, "a", NULL, 0, 100, 128, 0, 3},
        {MEMORY_VMEM, "b", NULL, 128, 256, 256, 2, 2},
        {MEMORY_VMEM, "part of b", "b", 128, 64, 64, 2, 2},
        {MEMORY_VMEM, "c", NULL, 128, 200, 200, 3, 3},
        {MEMORY_HBM, "d", NULL, 0, 1000, 1000, 0, 3}};
    struct arena a;
    struct table t;
    struct toy toy;

    toy_init(&toy);
    arena_init(&a);
    table_init(&t, TABLE_MEMORY, &a);
    toy.view.buffer = buffers;
    toy.view.buffer_count = COUNT_OF(buffers);
    table_fill_memory(&toy.view, &t);
    assert_int_equal(t.row_count, 5);
    assert_string_equal(table_text(&t, 0, COL_MEMORY_NAME), "d");
    assert_int_equal(table_int(&t, 0, COL_MEMORY_PEAK), 1000);
    assert_string_equal(table_text(&t, 1, COL_MEMORY_NAME), "a");
    assert_int_equal(table_int(&t, 1, COL_MEMORY_PADDING), 28);
    assert_true(fabs(table_real(&t, 1, COL_MEMORY_PADDING_PCT) - 2800.0 / 128.0) < 1e-9);
    for (size_t i = 1; i < 5; i++) {
        bool is_c = strcmp(table_text(&t, i, COL_MEMORY_NAME), "c") == 0;

        assert_int_equal(table_int(&t, i, COL_MEMORY_PEAK), 128 + 256);
        assert_string_equal(table_text(&t, i, COL_MEMORY_AT_PEAK), is_c ? "no" : "yes");
    }
    arena_fini(&a);
}

/* ---- identities ---- */

/* what is found broken, NULL for nothing */
static const char *broken(struct toy *t, struct report_run *r)
{
    static char buf[200];
    struct arena a;
    struct table tables[TABLE_COUNT];
    const char *what;

    arena_init(&a);
    tables_fill(r, &t->view, &a, tables);
    what = identities_broken(r, &t->view, tables, buf, sizeof(buf));
    arena_fini(&a);
    return what;
}

static void assert_broken(struct toy *t, struct report_run *r, const char *part)
{
    const char *what = broken(t, r);

    if (!what || !strstr(what, part))
        fail_msg("\"%s\" instead of \"%s\"", what ? what : "nothing", part);
    toy_init(t);
    *r = toy_run();
}

TEST(every_identity_is_missed_when_it_is_broken)
{
    struct report_run r = toy_run();
    struct report_step_row rows[2];
    struct report_epoch epochs[2];
    struct toy t;

    toy_init(&t);
    assert_null(broken(&t, &r));
    t.counters[1].issue_cycles++;
    assert_broken(&t, &r, "issue + stalls + idle against cycles, core 1: 10001 is not 10000");
    t.counters[1].cycles++;
    assert_broken(&t, &r, "cycles against the launch's, core 1");
    t.counters[0].unit[TRACK_LOAD].busy_cycles--;
    assert_broken(&t, &r, "load 0: 9999 is not 10000");
    t.counters[0].ici_sent_bytes++;
    assert_broken(&t, &r, "bytes sent against bytes received, cores 2: 81921 is not 81920");
    t.counters[0].ici_sent_bytes += 100000;
    t.counters[1].ici_received_bytes += 100000;
    assert_broken(&t, &r, "links carried 81920 B of 181920 B sent");
    t.wire[1].wire_bytes = 40000;
    assert_broken(&t, &r, "link 1 has less on the wire than payload");
    t.wire[1].busy_ps = 10000001;
    assert_broken(&t, &r, "ICI 0: used 1 of the time");
    t.memory[0].busy_ps = 50000000;
    assert_broken(&t, &r, "HBM 0: used 1.25 of the time");
    t.done[1].stall_cycles++;
    assert_broken(&t, &r, "cycles of source operations, core 0: 10001 is not 10000");
    t.executed[0]++;
    assert_broken(&t, &r, "FLOP of source operations, core 0");
    t.done[2].copies.stall_cycles++;
    assert_broken(&t, &r, "DMA stalls of source operations, core 0: 3001 is not 3000");
    t.view.issued_flops = 1;
    assert_broken(&t, &r, "FLOP of the products asked for, with padding, core 0");
    memcpy(rows, r.row, sizeof(rows));
    rows[1].launch_cycles++;
    r.row = rows;
    assert_broken(&t, &r, "cycles of all launches against those of epochs 2: 20001 is not 20000");
    rows[1].launch_cycles--;
    rows[1].step_count++;
    r.row = rows;
    assert_broken(&t, &r, "steps of launches against those of epochs 2: 3 is not 2");
    r.row_count = 1;
    assert_broken(&t, &r, "10000 is not 20000");
    memcpy(epochs, r.epoch, sizeof(epochs));
    epochs[0].step_cycles++;
    r.epoch = epochs;
    assert_broken(&t, &r, "cycles of a step of epoch 1: 10001 is not 10000");
}

/* a program may end before a copy that it has started */
TEST(copies_under_way_at_the_end_are_no_mistake)
{
    struct report_run r = toy_run();
    struct toy t;

    toy_init(&t);
    t.counters[0].ici_sent_bytes++;
    t.wire[1].busy_ps = 10000001;
    t.view.has_copies_left = true;
    assert_null(broken(&t, &r));
}

/* ---- command ---- */

static void write_config(const char *folder, const char *text)
{
    char path[400];
    FILE *f;

    snprintf(path, sizeof(path), "%s/config.ini", folder);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

TEST(command_line_comes_back_as_it_was)
{
    char longest[1000], name[] = "systole train", folder[200], *text;
    char *argv[] = {name, (char[]){"a b.json"}, (char[]){""}, (char[]){" x "}, longest,
                    (char[]){"50% ; off # \"q\" = 'z'"}, (char[]){"tab\there\nline"},
                    (char[]){"\xc3\xa9"}, NULL};
    int argc = (int)COUNT_OF(argv) - 1;
    struct command c, again;
    struct arena a;
    struct err e;
    size_t bytes;
    FILE *to;

    for (size_t i = 0; i < sizeof(longest) - 1; i++)
        longest[i] = i % 7 ? (char)('a' + i % 26) : ' ';
    longest[sizeof(longest) - 1] = '\0';
    arena_init(&a);
    c = command_of_argv(argc, argv, &a);
    to = open_memstream(&text, &bytes);
    fputs("; top\n\n[other]\nargument_1 = no\n", to);
    command_print(&c, to);
    fputs("\n[train]\nbatch = 3\n", to);
    fclose(to);
    for (char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") < 198);     /* inih's longest line */
    write_config(toy_make_folder(folder, sizeof(folder)), text);
    if (command_read(folder, &a, &again, &e))
        fail_msg("%s:%d: %s", e.file, e.line, e.msg);
    assert_string_equal(again.name, "train");
    assert_string_equal(again.directory, c.directory);
    assert_int_equal(again.argument_count, argc - 1);
    for (int i = 0; i < argc - 1; i++)
        assert_string_equal(again.argument[i], argv[i + 1]);
    free(text);
    toy_remove_folder(folder);
    arena_fini(&a);
}

TEST(command_line_that_is_damaged_is_an_error_with_its_line)
{
    static const struct { const char *text, *message; int line; } damaged[] = {
        {"[train]\nbatch = 3\n", "no command line in it", 0},
        {"[command]\nname = run\ndirectory = /\nargument_count = 2\nargument_1 = x\n",
         "or not all of it", 0},
        {"[command]\nargument_count = x\n", "not a line of a section [command]", 2},
        {"[command]\nargument_count = 1\nargument_2 = x\n", "not a line", 3},
        {"[command]\nname = %zz\n", "not a line", 2},
        {"[command]\nname = %00\n", "not a line", 2},
        {"[command]\nname = a\nname = b\n", "not a line", 3},
        {"[command]\nname+ = b\n", "not a line", 2},
        {"[command]\nnonsense\n", "not a line", 2},
    };
    char folder[200];
    struct command c;
    struct arena a;
    struct err e;

    arena_init(&a);
    toy_make_folder(folder, sizeof(folder));
    for (size_t i = 0; i < COUNT_OF(damaged); i++) {
        write_config(folder, damaged[i].text);
        assert_int_equal(command_read(folder, &a, &c, &e), -1);
        if (!strstr(e.msg, damaged[i].message) || e.line != damaged[i].line)
            fail_msg("case %zu: line %d: %s", i, e.line, e.msg);
    }
    toy_remove_folder(folder);
    assert_int_equal(command_read(folder, &a, &c, &e), -1);
    assert_non_null(strstr(e.msg, "No such file"));
    arena_fini(&a);
}

TEST(command_line_as_text_is_quoted_for_a_shell)
{
    char *argv[] = {(char[]){"systole run"}, (char[]){"a b"}, (char[]){"it's"}, (char[]){""},
                    (char[]){"--set"}, (char[]){"mxu.count=4"}, NULL};
    struct command c;
    struct arena a;

    arena_init(&a);
    c = command_of_argv(6, argv, &a);
    assert_string_equal(command_text(&c, &a),
                        "systole run 'a b' 'it'\\''s' '' --set mxu.count=4");
    arena_fini(&a);
}

TEST(command_line_as_text_is_read_back_word_by_word)
{
    static const char *const broken[] = {"", "systole", "other run x", "systole run 'x"};
    char *argv[] = {(char[]){"systole run"}, (char[]){"a b"}, (char[]){"it's"}, (char[]){""},
                    (char[]){"'"}, (char[]){"\\ \\'"}, (char[]){"$x \"y\"\n"}, (char[]){" "}, NULL};
    int argc = COUNT_OF(argv) - 1;
    struct command c;
    struct arena a;

    arena_init(&a);
    c = command_of_argv(argc, argv, &a);
    assert_true(command_parse(command_text(&c, &a), &a, &c));
    assert_string_equal(c.name, "run");
    assert_string_equal(c.directory, ".");
    assert_int_equal(c.argument_count, argc - 1);
    for (int i = 1; i < argc; i++)
        assert_string_equal(c.argument[i - 1], argv[i]);
    for (size_t i = 0; i < COUNT_OF(broken); i++)
        assert_false(command_parse(broken[i], &a, &c));
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_quotes_what_it_must_and_leaves_empty_what_is_not_a_number),
        cmocka_unit_test(markdown_and_text_show_the_same_rows),
        cmocka_unit_test(order_is_largest_first_stable_and_empty_last),
        cmocka_unit_test(tables_go_to_json_and_back),
        cmocka_unit_test(every_column_belongs_to_its_table_and_has_a_name_of_its_own),
        cmocka_unit_test(operations_stand_below_their_category),
        cmocka_unit_test(peak_of_a_memory_is_where_most_is_live),
        cmocka_unit_test(every_identity_is_missed_when_it_is_broken),
        cmocka_unit_test(copies_under_way_at_the_end_are_no_mistake),
        cmocka_unit_test(command_line_comes_back_as_it_was),
        cmocka_unit_test(command_line_that_is_damaged_is_an_error_with_its_line),
        cmocka_unit_test(command_line_as_text_is_quoted_for_a_shell),
        cmocka_unit_test(command_line_as_text_is_read_back_word_by_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
