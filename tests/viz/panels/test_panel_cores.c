/*
 * The grid of cores: what a square says, against counters; and how it is drawn.
 */
#include "tests/rigs/draw_rig.h"
#include "tests/rigs/panel_rig.h"
#include "tests/test.h"
#include "viz/view/quantity.h"

static struct panel_rig r;

TEST(a_square_says_what_the_counters_say)
{
    const struct rect area = {0, 0, 1280, 700};
    void *panel = panel_create(PANEL_CORES);
    const struct core_counters *k;
    char expected[64];
    struct draw_list d;
    struct arena a;
    struct view v;
    const char *text;

    panel_rig_open(&r, "v3-8", panel_program, 0x5, TRACE_BUNDLE);
    view_init(&v, r.run);
    draw_init(&d, 100);
    arena_init(&a);
    panel_draw(PANEL_CORES, panel, &v, &d, area);
    k = machine_counters(r.rig.m, 0);
    text = panel_hover(PANEL_CORES, panel, &v, area, 40, 150, &a);
    assert_non_null(strstr(text, "core 0 of chip 0"));
    snprintf(expected, sizeof(expected), "issue: %s\n",
             quantity_percent((double)k->issue_cycles / (double)k->cycles).text);
    assert_non_null(strstr(text, expected));
    assert_string_equal(panel_hover(PANEL_CORES, panel, &v, area, 1270, 690, &a), "");
    arena_fini(&a);
    draw_fini(&d);
    panel_destroy(PANEL_CORES, panel);
    panel_rig_close(&r);
}

TEST(a_click_chooses_a_core_or_a_measure)
{
    const struct rect area = {0, 0, 1280, 700};
    void *panel = panel_create(PANEL_CORES);
    struct draw_list d;
    uint64_t before;
    struct view v;

    panel_rig_open(&r, "v3-8", panel_program, 0xff, TRACE_OP);
    view_init(&v, r.run);
    draw_init(&d, 100);
    panel_draw(PANEL_CORES, panel, &v, &d, area);
    before = draw_rig_hash(&d);
    assert_true(panel_input(PANEL_CORES, panel, &v,
                            &(struct input){.kind = INPUT_PRESS, .button = 1,
                                                             .x = 330, .y = 150}, area));
    assert_int_equal(v.core, 1);
    v.core = 0;
    assert_true(panel_input(PANEL_CORES, panel, &v,
                            &(struct input){.kind = INPUT_PRESS, .button = 1,
                                                             .x = 110, .y = 20}, area));
    draw_clear(&d);
    panel_draw(PANEL_CORES, panel, &v, &d, area);
    assert_true(draw_rig_hash(&d) != before);
    draw_fini(&d);
    panel_destroy(PANEL_CORES, panel);
    panel_rig_close(&r);
}

TEST(texts_never_overlap)
{
    static const char *const slices[] = {"v3", "v3-32", "v5e-16"};
    struct view v;

    for (size_t i = 0; i < COUNT_OF(slices); i++) {
        panel_rig_open(&r, slices[i], "{ vdelay 50 }\n{ shalt }\n", 0x7, TRACE_OP);
        view_init(&v, r.run);
        panel_check_drawing(PANEL_CORES, &v);
        panel_rig_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_square_says_what_the_counters_say),
        cmocka_unit_test(a_click_chooses_a_core_or_a_measure),
        cmocka_unit_test(texts_never_overlap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
