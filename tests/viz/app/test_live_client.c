/*
 * The viewer's side of a run that it drives, against a server that says what
 * the test wants: right things, wrong things, and half of them.
 */
#include "tests/rigs/live_rig.h"
#include "tests/test.h"

#include <string.h>
#include <unistd.h>

TEST(states_and_answers_are_understood)
{
    enum live_line_kind kind;
    struct live_rig s;
    struct live *l;

    live_rig_open(&s, LIVE_RIG_GREETING);
    l = live_rig_connect(&s);
    assert_non_null(l);
    assert_string_equal(live_title(l), "t");
    assert_string_equal(live_trace_path(l), "/x");
    assert_int_equal(live_send(l, "step", &s.e), 0);
    assert_true(live_is_waiting(l));
    live_rig_say(&s, "| core 0 @1: bundle 1\n! and a mistake\n"
                     "= {\"state\": \"paused\", \"cycle\": 17, "
            "\"core\": 0, \"cores\": [{\"bundle\": 3, \"line\": 9, \"activity\": \"waits\", "
            "\"reason\": \"eup\", \"issued\": 5}]}\n");
    while (live_is_waiting(l))
        assert_int_equal(live_rig_poll(l, &s.e), 1);
    assert_int_equal(live_state(l)->status, LIVE_PAUSED);
    assert_int_equal(live_state(l)->cycle, 17);
    assert_int_equal(live_state(l)->core_count, 1);
    assert_int_equal(live_state(l)->core[0].bundle, 3);
    assert_int_equal(live_state(l)->core[0].line, 9);
    assert_int_equal(live_state(l)->core[0].issued, 5);
    assert_string_equal(live_state(l)->core[0].reason, "eup");
    assert_int_equal(live_line_count(l), 3);
    assert_string_equal(live_line(l, 0, &kind), "step");
    assert_int_equal(kind, LIVE_COMMAND);
    assert_string_equal(live_line(l, 1, &kind), "core 0 @1: bundle 1");
    assert_int_equal(kind, LIVE_TEXT);
    assert_string_equal(live_line(l, 2, &kind), "and a mistake");
    assert_int_equal(kind, LIVE_MISTAKE);
    live_disconnect(l);
    live_rig_close(&s);
}

TEST(a_running_launch_changes_the_state_and_answers_later)
{
    struct live_rig s;
    struct live *l;

    live_rig_open(&s, LIVE_RIG_GREETING);
    l = live_rig_connect(&s);
    assert_int_equal(live_send(l, "continue", &s.e), 0);
    live_rig_say(&s, "~ {\"state\": \"running\", \"cycle\": 5, \"core\": 0, \"cores\": []}\n");
    assert_int_equal(live_rig_poll(l, &s.e), 1);
    assert_int_equal(live_state(l)->status, LIVE_RUNNING);
    assert_true(live_is_waiting(l));
    assert_int_equal(live_send(l, "pause", &s.e), 0);
    live_rig_say(&s, "= {\"state\": \"ended\", \"cycle\": 9, \"core\": 0, \"cores\": []}\n");
    assert_int_equal(live_rig_poll(l, &s.e), 1);
    assert_int_equal(live_state(l)->status, LIVE_ENDED);
    assert_false(live_is_waiting(l));
    live_disconnect(l);
    live_rig_close(&s);
}

/* the oldest lines go */
TEST(only_so_many_lines_are_kept)
{
    enum live_line_kind kind;
    struct live_rig s;
    struct live *l;
    char line[40];

    live_rig_open(&s, LIVE_RIG_GREETING);
    l = live_rig_connect(&s);
    for (int i = 0; i < 500; i++) {
        snprintf(line, sizeof(line), "| line %d\n", i);
        live_rig_say(&s, line);
        if (i % 50 == 0)                /* a socket holds only so much */
            assert_int_equal(live_rig_poll(l, &s.e), 1);
    }
    while (live_line_count(l) < LIVE_LINES
           || strcmp(live_line(l, LIVE_LINES - 1, &kind), "line 499") != 0)
        assert_int_equal(live_rig_poll(l, &s.e), 1);
    snprintf(line, sizeof(line), "line %d", 500 - LIVE_LINES);
    assert_string_equal(live_line(l, 0, &kind), line);
    live_disconnect(l);
    live_rig_close(&s);
}

TEST(a_run_that_goes_says_so_once_and_for_all)
{
    struct live_rig s;
    struct live *l;

    live_rig_open(&s, LIVE_RIG_GREETING);
    l = live_rig_connect(&s);
    close(s.fd);
    s.fd = -1;
    assert_int_equal(live_rig_poll(l, &s.e), -1);
    assert_string_equal(s.e.msg, "the run has gone: it has ended");
    assert_int_equal(live_send(l, "step", &s.e), -1);
    assert_string_equal(s.e.msg, "the run has gone: it has ended");
    assert_int_equal(live_send(l, "one\ntwo", &s.e), -1);
    assert_non_null(strstr(s.e.msg, "one line"));
    live_disconnect(l);
    live_rig_close(&s);
}

/* whatever else it says, the last state that was one stays */
TEST(nonsense_is_passed_over)
{
    static const char *const text[] = {
        "= \n", "= [1,2]\n", "= {\"state\": \"paused\"}\n", "= {\"cores\": 7}\n", "~ {{{\n",
        "= {\"state\": 5, \"cycle\": \"x\", \"cores\": [1, [], {\"bundle\": -4}]}\n", "\n", "|\n",
        "what?\n", ("= {\"cores\": [{\"bundle\": 99999999999, \"reason\": \"a reason that is much "
                    "longer than any that there is\"}]}\n")};
    struct live_rig s;
    struct live *l;

    live_rig_open(&s, LIVE_RIG_GREETING);
    l = live_rig_connect(&s);
    for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
        live_rig_say(&s, text[i]);
    live_rig_say(&s, "| last\n");
    while (live_line_count(l) == 0)
        assert_int_equal(live_rig_poll(l, &s.e), 1);
    assert_int_equal(live_state(l)->core_count, 1);
    assert_int_equal(live_state(l)->core[0].bundle, UINT32_MAX);
    live_disconnect(l);
    live_rig_close(&s);
}

static void assert_refused(const char *says, const char *part)
{
    struct live_rig s;

    live_rig_open(&s, says);
    assert_null(live_rig_connect(&s));
    if (!strstr(s.e.msg, part))
        fail_msg("\"%s\" is not in \"%s\"", part, s.e.msg);
    live_rig_close(&s);
}

TEST(whoever_is_no_run_is_refused)
{
    struct err e;
    char path[200];

    assert_refused("hello\n", "does not greet");
    assert_refused("{\"format\": \"other\"}\n", "does not greet");
    assert_refused("{\"format\": \"systole-live\", \"version\": 2}\n", "another version");
    assert_null(live_connect("/nowhere/socket", &e));
    assert_string_equal(e.msg, "no run waits at /nowhere/socket: No such file or directory");
    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    assert_null(live_connect(path, &e));
    assert_non_null(strstr(e.msg, "characters"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_and_answers_are_understood),
        cmocka_unit_test(a_running_launch_changes_the_state_and_answers_later),
        cmocka_unit_test(only_so_many_lines_are_kept),
        cmocka_unit_test(a_run_that_goes_says_so_once_and_for_all),
        cmocka_unit_test(nonsense_is_passed_over),
        cmocka_unit_test(whoever_is_no_run_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
