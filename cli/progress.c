#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define INTERVAL_S 0.1
#define LINE_CHARS 128

double progress_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_begin(struct progress *p, int64_t total)
{
    *p = (struct progress){.is_terminal = isatty(STDERR_FILENO), .total = total,
                           .began_s = progress_seconds()};
}

/* "45 s", "12 min 05 s", "3 h 07 min" */
static char *print_duration(double seconds, char *buf, size_t buf_bytes)
{
    int64_t whole = (int64_t)(seconds + 0.5);

    if (whole < 120)
        snprintf(buf, buf_bytes, "%" PRId64 " s", whole);
    else if (whole < 2 * 3600)
        snprintf(buf, buf_bytes, "%" PRId64 " min %02" PRId64 " s", whole / 60, whole % 60);
    else
        snprintf(buf, buf_bytes, "%" PRId64 " h %02" PRId64 " min", whole / 3600,
                 whole / 60 % 60);
    return buf;
}

/* A line that wraps could not be wiped: one column less than the window has. */
static int room(void)
{
    struct winsize w;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_col < 2)
        return 79;
    return w.ws_col - 1;
}

/* Whether it is time for another line. */
static bool is_due(const struct progress *p, double now)
{
    return p->is_terminal && now - p->shown_s >= INTERVAL_S && now > p->began_s;
}

static void put(struct progress *p, const char *line, double now)
{
    fprintf(stderr, "\r\033[K%.*s", room(), line);
    fflush(stderr);
    p->shown_s = now;
    p->is_shown = true;
}

void progress_show(struct progress *p, int64_t step, int epoch, double loss)
{
    char line[LINE_CHARS], left[32];
    double now = progress_seconds(), rate;

    if (!is_due(p, now))
        return;
    rate = (double)step / (now - p->began_s);
    snprintf(line, sizeof(line), "epoch %d, step %" PRId64 " of %" PRId64
             ", %.1f steps/s, loss %.4f, %s left", epoch, step, p->total, rate, loss,
             print_duration((double)(p->total - step) / rate, left, sizeof(left)));
    put(p, line, now);
}

void progress_say(struct progress *p, const char *what, int64_t done)
{
    char line[LINE_CHARS];
    double now = progress_seconds();

    if (!is_due(p, now))
        return;
    snprintf(line, sizeof(line), "%s, %" PRId64 " of %" PRId64, what, done, p->total);
    put(p, line, now);
}

void progress_fraction(struct progress *p, const char *what, double fraction)
{
    char line[LINE_CHARS], left[32];
    double now = progress_seconds();

    if (!is_due(p, now) || fraction <= 0)
        return;
    snprintf(line, sizeof(line), "%s: %.0f %%, %s left", what, 100 * fraction,
             print_duration((now - p->began_s) * (1 - fraction) / fraction, left, sizeof(left)));
    put(p, line, now);
}

void progress_wipe(struct progress *p)
{
    if (!p->is_shown)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    p->is_shown = false;
}
