/* What is said about a long run: over a line on a terminal, now and then in a file. */
#define _DEFAULT_SOURCE
#include "tests/test.h"

#include <string.h>
#include <unistd.h>

#include "base/progress.h"

struct caught {
    FILE *file;
    int before;                         /* standard error as it was */
    char text[4096];
};

static void begin(struct caught *c)
{
    c->file = tmpfile();
    assert_non_null(c->file);
    fflush(stderr);
    c->before = dup(STDERR_FILENO);
    dup2(fileno(c->file), STDERR_FILENO);
}

static const char *so_far(struct caught *c)
{
    ssize_t got = pread(fileno(c->file), c->text, sizeof(c->text) - 1, 0);

    c->text[got > 0 ? got : 0] = '\0';
    return c->text;
}

static const char *end(struct caught *c)
{
    fflush(stderr);
    dup2(c->before, STDERR_FILENO);
    close(c->before);
    so_far(c);
    fclose(c->file);
    return c->text;
}

TEST(a_file_gets_a_line_a_minute)
{
    struct progress p;
    struct caught c;

    begin(&c);
    progress_begin(&p, 300);
    assert_false(p.is_terminal);
    p.first = 40;
    progress_show(&p, 41, 1, 2.0);      /* at once: nothing yet */
    p.began_s -= 100;
    p.shown_s -= 100;
    progress_show(&p, 50, 1, 0.5);      /* ten steps in 100 s: 250 are left */
    progress_show(&p, 51, 1, 0.4);
    progress_end(&p);
    assert_string_equal(end(&c), "epoch 1, step 50 of 300, 0.100 steps/s, loss 0.5000, 41 min 40 s "
                        "left\n");
}

TEST(a_terminal_has_one_line_that_is_wiped)
{
    struct progress p;
    struct caught c;

    begin(&c);
    progress_begin(&p, 0);
    p.is_terminal = true;
    p.interval_s = 0;
    p.shown_s = 0;
    p.began_s -= 10;
    progress_show(&p, 100, 2, 1.25);
    progress_wipe(&p);
    progress_wipe(&p);
    assert_string_equal(end(&c), "\r\033[Kepoch 2, step 100, 10.0 steps/s, loss 1.2500\r\033[K");
}

TEST(who_is_watched_is_never_silent_for_long)
{
    struct progress p;
    struct caught c;

    begin(&c);
    progress_begin(&p, 8);
    p.silence_s = 0.05;
    p.step_s -= 30;
    p.began_s -= 30;
    progress_watch(&p);
    while (!strstr(so_far(&c), "under way since 30 s\n"))
        usleep(1000);
    progress_show(&p, 2, 1, 0.75);
    while (!strstr(so_far(&c), "step 2 of 8"))
        usleep(1000);
    progress_end(&p);
    assert_non_null(strstr(end(&c), "loss 0.7500"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_gets_a_line_a_minute),
        cmocka_unit_test(a_terminal_has_one_line_that_is_wiped),
        cmocka_unit_test(who_is_watched_is_never_silent_for_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
