/* The window without a window: keys, the pointer, search, the palette, what they change. */
#include "tests/test.h"
#include "tests/rigs/view_rig.h"

#include <math.h>

#include "viz/app/app.h"

static struct view_rig slice;           /* eight cores */

static int open_rig(void **state)
{
    (void)state;
    view_rig_open(&slice, "v3-8", "examples/03_double_buffered_matmul.tasm", NULL);
    return 0;
}

static int close_rig(void **state)
{
    (void)state;
    view_rig_close(&slice);
    return 0;
}

/* ---- keys ---- */

TEST(no_key_has_two_actions_and_every_action_a_key)
{
    char seen[64][16], keys[32];
    int count = 0, i, k;
    char *one, *rest;

    for (i = 0; i < ACTION_COUNT; i++) {
        assert_true(strlen(action_name((enum action)i)) > 2);
        assert_true(strlen(action_help((enum action)i)) > 8);
        snprintf(keys, sizeof(keys), "%s", action_keys((enum action)i));
        for (one = strtok_r(keys, " ", &rest); one; one = strtok_r(NULL, " ", &rest)) {
            assert_int_equal(action_of_key(one), i);
            for (k = 0; k < count; k++)
                assert_string_not_equal(seen[k], one);
            snprintf(seen[count++], sizeof(seen[0]), "%s", one);
        }
    }
    assert_int_equal(action_of_key("Ctrl+z"), ACTION_COUNT);
    assert_int_equal(action_of_key(""), ACTION_COUNT);
}

static struct app app;
static struct view view;

static void open_app(void)
{
    view_init(&view, slice.run);
    app_init(&app, &view, PANEL_TIMELINE);
}

static bool press(uint32_t key)
{
    return app_input(&app, &(struct input){.kind = INPUT_KEY, .key = key});
}

static void type(const char *text)
{
    while (*text)
        press((uint32_t)*text++);
}

static void click(int x, int y, int to_x)
{
    struct input i = {.kind = INPUT_PRESS, .x = x, .y = y, .button = 1};

    app_input(&app, &i);
    i.kind = INPUT_DRAG;
    i.x = to_x;
    app_input(&app, &i);
    i.kind = INPUT_RELEASE;
    app_input(&app, &i);
}

TEST(keys_move_the_view_as_in_xprof)
{
    double width;

    open_app();
    width = view.end;
    press('w');
    assert_true(view.end - view.from < width);
    press('s');
    press('s');
    assert_true(view.end - view.from == width);
    view_show(&view, 1000, 2000);
    press('d');
    assert_true(view.from == 1125);
    app_input(&app, &(struct input){.kind = INPUT_KEY, .key = 'A', .has_shift = true});
    assert_true(view.from == 0);
    press(KEY_HOME);
    assert_true(view.from == 0 && view.end == width);
    press('3');
    assert_int_equal(view.tool, VIEW_ZOOM);
    app_fini(&app);
}

TEST(search_in_the_window_shows_what_it_finds)
{
    open_app();
    view_show(&view, 0, 200);
    type("/vmatmul");
    assert_int_equal(app.mode, APP_SEARCH);
    press(KEY_ENTER);
    assert_int_equal(app.mode, APP_PLAIN);
    assert_true(view.has_selection && view.from <= view.selection_from
                && view.selection_from < view.end);
    assert_non_null(strstr(app.message, "vmatmul"));
    type("/(");
    press(KEY_ENTER);
    assert_non_null(strstr(app.message, "no regular expression"));
    type("/qqq");
    press(KEY_ENTER);
    assert_non_null(strstr(app.message, "nowhere in the program"));
    app_fini(&app);
}

TEST(palette_runs_the_action_with_that_name)
{
    open_app();
    app_input(&app, &(struct input){.kind = INPUT_KEY, .key = 'p', .has_ctrl = true});
    assert_int_equal(app.mode, APP_PALETTE);
    type("dark or");
    press(KEY_ENTER);
    assert_int_equal(view.theme, THEME_LIGHT);
    press('?');
    assert_int_equal(app.mode, APP_HELP);
    press(KEY_ESCAPE);
    assert_int_equal(app.mode, APP_PLAIN);
    app_fini(&app);
}

TEST(bookmarks_are_set_with_ctrl_and_gone_to_with_shift)
{
    open_app();
    view_show(&view, 1000, 1100);
    view.cursor = 1040;
    app_input(&app, &(struct input){.kind = INPUT_KEY, .key = '7', .has_ctrl = true});
    press(KEY_HOME);
    view_show(&view, 5000, 5100);
    app_input(&app, &(struct input){.kind = INPUT_KEY, .key = '7', .has_shift = true});
    assert_true(view.from <= 1040 && 1040 < view.end && view.end - view.from == 100);
    app_input(&app, &(struct input){.kind = INPUT_KEY, .key = '5', .has_shift = true});
    assert_non_null(strstr(app.message, "bookmark 5 is not set"));
    app_fini(&app);
}

TEST(drag_in_the_timeline_selects_and_a_click_takes_that_away)
{
    open_app();
    click(500, 300, 800);
    assert_true(view.has_selection && view.selection_end - view.selection_from > 1000);
    click(600, 300, 600);
    assert_false(view.has_selection);
    press('3');
    click(500, 300, 800);
    assert_true(view.end - view.from < 4000);
    app_fini(&app);
}

TEST(click_in_the_legend_hides_a_stall_and_a_core_s_name_folds_it)
{
    struct draw_list d;
    size_t i, before, after;
    int x = -1, y = -1;

    open_app();
    draw_init(&d, 100);
    app_draw(&app, &d);
    before = d.count;
    for (i = 0; i < d.count; i++)
        if (strcmp(d.command[i].text, "hbm_wait") == 0) {
            x = d.command[i].r.x + 3;
            y = d.command[i].r.y + 3;
        }
    assert_true(x >= 0);
    click(x, y, x);
    assert_int_equal(view.hidden_stalls, 1u << STALL_HBM);
    app_draw(&app, &d);
    assert_true(d.count < before);
    press('x');
    assert_int_equal(view.hidden_stalls, 0);
    for (i = 0; i < d.count; i++)
        if (strcmp(d.command[i].text, "▾ core 0") == 0)
            y = d.command[i].r.y + 3;
    click(20, y, 20);
    app_draw(&app, &d);
    for (i = 0, after = 0; i < d.count; i++)
        after += strcmp(d.command[i].text, "operations") == 0;
    assert_int_equal(after, 0);
    draw_fini(&d);
    app_fini(&app);
}

static int texts(const char *text)
{
    struct draw_list d;
    int found = 0;
    size_t i;

    draw_init(&d, 100);
    app_draw(&app, &d);
    for (i = 0; i < d.count; i++)
        found += strcmp(d.command[i].text, text) == 0;
    draw_fini(&d);
    return found;
}

TEST(h_hides_the_lane_under_the_pointer_and_shift_h_brings_it_back)
{
    struct draw_list d;
    size_t i;
    int y = -1;

    open_app();
    draw_init(&d, 100);
    app_draw(&app, &d);
    for (i = 0; i < d.count; i++)
        if (strcmp(d.command[i].text, "stalls") == 0)
            y = d.command[i].r.y + 3;
    draw_fini(&d);
    assert_true(y > 0 && texts("operations") == 1);
    app_input(&app, &(struct input){.kind = INPUT_MOVE, .x = 700, .y = y});
    press('h');
    assert_true(texts("stalls") == 0 && texts("operations") == 1);
    assert_int_equal(texts("1 hidden: Shift+h"), 1);
    app_input(&app, &(struct input){.kind = INPUT_KEY, .key = 'H', .has_shift = true});
    assert_true(texts("stalls") == 1 && texts("1 hidden: Shift+h") == 0);
    app_input(&app, &(struct input){.kind = INPUT_KEY, .key = 'H', .has_shift = true});
    assert_string_equal(app.message, "no lane is hidden");
    app_input(&app, &(struct input){.kind = INPUT_MOVE, .x = 700, .y = 2});
    press('h');
    assert_string_equal(app.message, "point at a lane of the timeline to hide it");
    app_fini(&app);
}

TEST(each_panel_plays_at_a_speed_that_suits_it_until_one_is_chosen)
{
    open_app();
    view_show(&view, 0, 2000);
    assert_true(app_cycles_per_second(&app) == 100);    /* what is shown in 20 s */
    press('>');
    assert_true(app_cycles_per_second(&app) == 200);
    app.panel = PANEL_WAVEFRONT;
    assert_true(app_cycles_per_second(&app) == 4);
    press('<');
    assert_true(app_cycles_per_second(&app) == 2);
    press(' ');
    assert_non_null(strstr(app.message, "plays 2 cycles per second"));
    app.panel = PANEL_TIMELINE;
    assert_true(app_cycles_per_second(&app) == 200);
    app_fini(&app);
}

TEST(playing_moves_the_cursor_at_its_speed_and_the_view_with_it)
{
    open_app();
    view_show(&view, 0, 500);
    view.cursor = 490;
    app.cycles_per_second[app.panel] = 1000;
    press(' ');
    assert_true(app_tick(&app, 0.02));
    assert_true(fabs(view.cursor - 510) < 1e-6 && view.end > 510);
    press('.');
    assert_false(app_tick(&app, 0.02));
    assert_true(view.cursor == 511);
    app_fini(&app);
}

TEST(card_says_what_is_under_the_pointer)
{
    struct draw_list d;
    bool has_card = false;
    size_t i;
    int y = 0;

    open_app();
    view_show(&view, 0, 400);
    draw_init(&d, 100);
    app_draw(&app, &d);
    for (i = 0; i < d.count; i++)
        if (strcmp(d.command[i].text, "stalls") == 0)
            y = d.command[i].r.y;
    app_input(&app, &(struct input){.kind = INPUT_MOVE, .x = 700, .y = y});
    app_draw(&app, &d);
    for (i = 0; i < d.count; i++)
        has_card = has_card || strstr(d.command[i].text, "a sync flag waits for a DMA");
    assert_true(has_card);
    draw_fini(&d);
    app_fini(&app);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_key_has_two_actions_and_every_action_a_key),
        cmocka_unit_test(keys_move_the_view_as_in_xprof),
        cmocka_unit_test(search_in_the_window_shows_what_it_finds),
        cmocka_unit_test(palette_runs_the_action_with_that_name),
        cmocka_unit_test(bookmarks_are_set_with_ctrl_and_gone_to_with_shift),
        cmocka_unit_test(drag_in_the_timeline_selects_and_a_click_takes_that_away),
        cmocka_unit_test(click_in_the_legend_hides_a_stall_and_a_core_s_name_folds_it),
        cmocka_unit_test(h_hides_the_lane_under_the_pointer_and_shift_h_brings_it_back),
        cmocka_unit_test(each_panel_plays_at_a_speed_that_suits_it_until_one_is_chosen),
        cmocka_unit_test(playing_moves_the_cursor_at_its_speed_and_the_view_with_it),
        cmocka_unit_test(card_says_what_is_under_the_pointer),
    };

    return cmocka_run_group_tests(tests, open_rig, close_rig);
}
