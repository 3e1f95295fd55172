/* What the explanation of hand-made launches says: changes with predictions, rules, text, JSON. */
#include "tests/test.h"

#include "report/explain/explain_print.h"
#include "report/explain/explain_rules.h"
#include "tests/rigs/explain_rig.h"

#include <math.h>

static const struct explain_change *find(const struct explain_change *c, size_t count,
                                         const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(c[i].key, key) == 0)
            return &c[i];
    return NULL;
}

TEST(a_larger_batch_pays_exchanges_once_for_four_steps)
{
    struct explain_change change[EXPLAIN_CHANGE_MAX];
    const struct explain_change *c;
    struct explain_rig f;
    size_t count;

    explain_rig_quiet(&f);
    explain_rig_exchange(&f, 5, 8000000);
    f.in.command = EXPLAIN_TRAIN;
    f.in.batch = 512;
    explain_rig_explain(&f);
    count = explain_changes(&f.x, &f.a, change);
    c = find(change, count, "batch");
    assert_ptr_equal(c, &change[0]);
    assert_string_equal(explain_change_text(c, &f.a), "--batch 2048");
    assert_true(fabs(c->gain_cycles - 0.75 * 9000) < 1e-6);
    assert_ptr_equal(explain_change_for(change, count, CAUSE_ICI_BYTES), c);
    assert_non_null(find(change, count, "links"));
    assert_null(find(change, count, "eup"));    /* nothing waits for it */
    arena_fini(&f.a);
}

TEST(sizes_that_fill_the_units_do_more_work_in_the_same_cycles)
{
    static const struct explain_product narrow = {.m = 1000, .n = 1, .k = 128, .count = 1};
    struct explain_change change[EXPLAIN_CHANGE_MAX];
    struct explain_rig f;

    explain_rig_quiet(&f);
    explain_rig_multiply(&f, 10);
    f.in.command = EXPLAIN_GEMM;
    f.in.product = &narrow;
    f.in.product_count = 1;
    explain_rig_explain(&f);
    assert_true(explain_changes(&f.x, &f.a, change) > 0);
    assert_string_equal(explain_change_text(&change[0], &f.a), "2016x128x128");
    assert_true(fabs(change[0].work - 2016.0 * 128 / 2000) < 1e-9);
    assert_true(fabs(change[0].gain_cycles - 10000 * (1 - 1 / change[0].work)) < 1e-6);
    arena_fini(&f.a);
}

TEST(one_pass_instead_of_six_keeps_a_sixth_of_the_rows)
{
    struct explain_change change[EXPLAIN_CHANGE_MAX];
    const struct explain_change *c;
    struct explain_rig f;

    explain_rig_quiet(&f);
    explain_rig_multiply(&f, 16);
    f.in.command = EXPLAIN_TRAIN;
    f.in.passes = 6;
    explain_rig_explain(&f);
    c = find(change, explain_changes(&f.x, &f.a, change), "precision");
    assert_non_null(c);
    assert_string_equal(explain_change_text(c, &f.a), "--precision default");
    assert_int_equal(f.x.row[CAUSE_PASSES].cycles, 5000);
    /* 40 of 6,000 cycles are padding, 3,000 are a unit's that is waited for */
    assert_true(fabs(c->gain_cycles - (5000 + 5.0 / 6 * (40 + 3000))) < 1e-6);
    arena_fini(&f.a);
}

TEST(larger_products_move_half_the_bytes_for_the_same_work)
{
    static const struct explain_product full = {.m = 1024, .n = 128, .k = 128, .count = 1};
    struct explain_change change[EXPLAIN_CHANGE_MAX];
    const struct explain_change *c;
    struct explain_rig f;
    size_t count;

    explain_rig_quiet(&f);
    explain_rig_copy(&f, 8, 200000);
    f.in.command = EXPLAIN_GEMM;
    f.in.product = &full;
    f.in.product_count = 1;
    explain_rig_explain(&f);
    count = explain_changes(&f.x, &f.a, change);
    assert_null(find(change, count, "sizes"));  /* they are whole already */
    c = find(change, count, "larger");
    assert_non_null(c);
    assert_string_equal(explain_change_text(c, &f.a), "4096x256x256");
    assert_true(fabs(c->gain_cycles - (0.75 * 8993 + 0.875 * 7)) < 1e-6);
    arena_fini(&f.a);
}

TEST(parameters_that_are_as_wanted_are_not_set_again)
{
    struct explain_change change[EXPLAIN_CHANGE_MAX];
    const struct explain_change *c;
    struct explain_rig f;

    explain_rig_quiet(&f);
    explain_rig_copy(&f, 1, 50000);
    f.t.chip.dma_write_ns = 0;
    f.t.chip.dma_issue_cycles = 1;
    explain_rig_explain(&f);
    c = find(change, explain_changes(&f.x, &f.a, change), "copy-start");
    assert_non_null(c);
    assert_string_equal(explain_change_text(c, &f.a), "--set dma.read_ns=0");
    arena_fini(&f.a);
}

TEST(xprofs_rules_speak_at_its_thresholds)
{
    struct explain_rule rule[EXPLAIN_RULE_COUNT];
    struct explain_rig f;

    explain_rig_quiet(&f);
    explain_rig_exchange(&f, 5, 8000000);
    explain_rig_explain(&f);
    explain_rules(&f.x, rule);
    assert_true(fabs(rule[5].percent - 90.0) < 1e-9);
    assert_true(explain_rule_speaks(&rule[5]));
    assert_true(explain_rule_speaks(&rule[2]));         /* matrix units below 50 % */
    assert_false(explain_rule_speaks(&rule[6]));        /* no core idles */
    rule[0].percent = 99.0;
    assert_true(explain_rule_speaks(&rule[0]));         /* memory is below 50 % */
    rule[0].is_silent = true;
    assert_false(explain_rule_speaks(&rule[0]));
    rule[5].percent = 29.9;
    assert_false(explain_rule_speaks(&rule[5]));
    arena_fini(&f.a);
}

static char *print(const struct explain_text *t, bool is_json)
{
    char *text;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);

    if (is_json)
        assert_int_equal(explain_print_json(t, to), 0);
    else
        explain_print_text(t, to);
    fclose(to);
    return text;
}

TEST(the_first_three_lines_are_the_answer)
{
    struct explain_change change[EXPLAIN_CHANGE_MAX];
    struct explain_rig f;
    struct explain_text t = {.x = &f.x, .title = "toy", .change = change, .top = 3};
    char *text;

    explain_rig_quiet(&f);
    explain_rig_stall(&f, STALL_EUP, 9000);
    explain_rig_explain(&f);
    t.change_count = explain_changes(&f.x, &f.a, change);
    text = print(&t, false);
    assert_true(strstr(text, "90 % of the step goes to vector work, mostly waiting for the "
                                 "transcendental unit: 9,000 cycles.\n") == text);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 100);
    free(text);
    arena_fini(&f.a);
}

TEST(json_has_the_same_sums)
{
    struct explain_change change[EXPLAIN_CHANGE_MAX];
    struct explain_rig f;
    struct explain_text t = {.x = &f.x, .title = "toy", .change = change};
    json_t *root, *cause;
    json_int_t sum = 0;
    size_t i;
    char *text;

    explain_rig_quiet(&f);
    explain_rig_exchange(&f, 5, 8000000);
    explain_rig_explain(&f);
    t.change_count = explain_changes(&f.x, &f.a, change);
    text = print(&t, true);
    root = json_loads(text, 0, NULL);
    assert_non_null(root);
    json_array_foreach(json_object_get(root, "causes"), i, cause)
        if (strcmp(json_string_value(json_object_get(cause, "family")), "host") != 0)
            sum += toy_get_int(cause, "cycles");
    assert_int_equal(sum, toy_get_int(root, "step_cycles"));
    assert_int_equal(json_array_size(json_object_get(root, "changes")), t.change_count);
    json_decref(root);
    free(text);
    arena_fini(&f.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_larger_batch_pays_exchanges_once_for_four_steps),
        cmocka_unit_test(sizes_that_fill_the_units_do_more_work_in_the_same_cycles),
        cmocka_unit_test(one_pass_instead_of_six_keeps_a_sixth_of_the_rows),
        cmocka_unit_test(larger_products_move_half_the_bytes_for_the_same_work),
        cmocka_unit_test(parameters_that_are_as_wanted_are_not_set_again),
        cmocka_unit_test(xprofs_rules_speak_at_its_thresholds),
        cmocka_unit_test(the_first_three_lines_are_the_answer),
        cmocka_unit_test(json_has_the_same_sums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
