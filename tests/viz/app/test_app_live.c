/*
 * A window that drives a run: which command each key sends, what the strip
 * says, and that its texts have room.
 */
#include "tests/rigs/draw_rig.h"
#include "tests/rigs/live_rig.h"
#include "tests/test.h"
#include "tests/rigs/view_rig.h"
#include "viz/app/app.h"

#include <string.h>
#include <sys/socket.h>

#define STATE(state, cycle) \
    "= {\"state\": \"" state "\", \"cycle\": " cycle ", \"core\": 0, \"cores\": [{\"bundle\": 7, " \
    "\"line\": 41, \"activity\": \"waits\", \"reason\": \"mxu_busy\", \"issued\": 12}, " \
    "{\"bundle\": 0, \"line\": 0, \"activity\": \"none\", \"issued\": 0}]}\n"

static struct view_rig run;
static struct live_rig server;
static struct live *live;
static struct app app;

static int setup(void **state)
{
    (void)state;
    view_rig_open(&run, "tiny", "examples/01_vector_add.tasm", NULL);
    live_rig_open(&server, LIVE_RIG_GREETING);
    live = live_rig_connect(&server);
    assert_non_null(live);
    app_init(&app, &run.view, PANEL_TIMELINE);
    app.live = live;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    app_fini(&app);
    live_disconnect(live);
    live_rig_close(&server);
    view_rig_close(&run);
    return 0;
}

static void press(uint32_t key, bool has_shift)
{
    assert_true(app_input(&app, &(struct input){.kind = INPUT_KEY, .key = key,
                                                .has_shift = has_shift}));
}

static void assert_sends(uint32_t key, bool has_shift, const char *command)
{
    press(key, has_shift);
    assert_string_equal(live_rig_hear(&server), command);
    assert_string_equal(live_rig_hear(&server), "");
}

static void tick_until(const char *text)
{
    enum live_line_kind kind;
    struct err e;

    for (int i = 0; i < 500 && !(text && live_line_count(live) > 0
                                 && strcmp(live_line(live, live_line_count(live) - 1, &kind), text)
                                    == 0); i++) {
        if (!app_tick(&app, 0.01))
            live_rig_poll(live, &e);
        if (!text && !app.live)
            return;
    }
}

TEST(keys_are_commands)
{
    assert_sends('o', false, "step 1");
    assert_sends('o', true, "step 10");
    assert_sends('u', false, "back 1");
    assert_sends('i', false, "op");
    assert_sends('e', false, "source");
    press('b', false);
    assert_string_equal(live_rig_hear(&server), "");
    assert_non_null(strstr(app.message, "choose a bundle"));
    run.view.has_bundle = true;
    run.view.bundle = 5;
    assert_sends('b', false, "break 5");
}

TEST(go_goes_on_or_pauses)
{
    assert_sends('g', false, "continue");
    assert_sends('g', false, "pause");
    live_rig_say(&server, STATE("paused", "20") "| done\n");
    tick_until("done");
    assert_sends('g', false, "continue");
}

TEST(any_command_can_be_typed)
{
    press(':', false);
    for (const char *at = "print s0"; *at; at++)
        press((uint32_t)*at, false);
    assert_sends(KEY_ENTER, false, "print s0");
    assert_int_equal(app.mode, APP_PLAIN);
    press(':', false);
    press('x', false);
    press(KEY_ESCAPE, false);
    assert_string_equal(live_rig_hear(&server), "");
    press(':', false);                  /* what was typed before is forgotten */
    press('c', false);
    assert_sends(KEY_ENTER, false, "c");
    press(':', false);
    press(KEY_ENTER, false);            /* nothing is no command */
    assert_string_equal(live_rig_hear(&server), "");
}

/* commands are for the core that is looked at */
TEST(the_core_shown_is_selected_first)
{
    live_rig_say(&server, STATE("paused", "20") "| done\n");
    tick_until("done");
    run.view.core = 1;
    press('o', false);
    assert_string_equal(live_rig_hear(&server), "core 1");
    assert_string_equal(live_rig_hear(&server), "step 1");
    assert_sends('o', false, "step 1");
}

static bool has_text(const struct draw_list *d, const char *part)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->command[i].kind == DRAW_TEXT && strstr(d->command[i].text, part))
            return true;
    return false;
}

TEST(the_strip_says_where_the_run_stands_and_what_it_answered)
{
    struct draw_list d;

    assert_sends('o', false, "step 1");
    live_rig_say(&server, "| core 0 @20: bundle 7\n! a mistake\n" STATE("paused", "20")
                          "| last\n");
    tick_until("last");
    assert_true(run.view.cursor == 20);
    assert_true(run.view.has_bundle);
    assert_int_equal(run.view.bundle, 7);
    draw_init(&d, 100);
    app_draw(&app, &d);
    assert_true(has_text(&d, "paused at 20 cycles   core 0: bundle 7, line 41, waits for mxu_busy, "
                             "12 bundles issued"));
    assert_true(has_text(&d, "> step 1"));
    assert_true(has_text(&d, "core 0 @20: bundle 7"));
    assert_true(has_text(&d, "a mistake"));
    draw_fini(&d);
}

TEST(texts_have_room_at_every_size)
{
    static const int size[][2] = {{640, 360}, {1000, 600}, {1280, 720}, {1920, 1080}};
    const struct draw_command *a, *b;
    char line[300];
    struct draw_list d;

    for (int i = 0; i < 30; i++) {
        snprintf(line, sizeof(line), "| line %d is so long that it fits no window: %0150d\n", i, i);
        live_rig_say(&server, line);
    }
    live_rig_say(&server, STATE("running", "30") "| last\n");
    tick_until("last");
    for (int scale = 100; scale <= 200; scale += 50)
        for (int i = 0; i < 4; i++)
            for (int tiled = 0; tiled < 2; tiled++) {
                run.view.scale_percent = scale;
                app.width = size[i][0];
                app.height = size[i][1];
                app.is_tiled = tiled != 0;
                draw_init(&d, scale);
                app_draw(&app, &d);
                if (draw_rig_find_overlap(&d, &a, &b))
                    fail_msg("%dx%d at %d %%: \"%s\" over \"%s\"", size[i][0], size[i][1], scale,
                             a->text, b->text);
                draw_fini(&d);
            }
}

TEST(a_run_that_has_gone_leaves_a_recorded_one)
{
    struct draw_list d;

    shutdown(server.fd, SHUT_RDWR);
    tick_until(NULL);
    assert_null(app.live);
    assert_non_null(strstr(app.message, "the run has gone"));
    press('o', false);
    assert_non_null(strstr(app.message, "systole run PROGRAM --view"));
    draw_init(&d, 100);
    app_draw(&app, &d);
    assert_false(has_text(&d, "bundles issued"));
    draw_fini(&d);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(keys_are_commands),
        CASE(go_goes_on_or_pauses),
        CASE(any_command_can_be_typed),
        CASE(the_core_shown_is_selected_first),
        CASE(the_strip_says_where_the_run_stands_and_what_it_answered),
        CASE(texts_have_room_at_every_size),
        CASE(a_run_that_has_gone_leaves_a_recorded_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
