/*
 * Draws the line that says how far a run is, and keeps a thread that says so when nothing has been
 * printed for a minute.
 */
#include "base/progress.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define TERMINAL_INTERVAL_S 0.1
#define TERMINAL_SILENCE_S 10.0
#define FILE_INTERVAL_S 60.0
#define LINE_CHARS 160

double progress_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_begin(struct progress *p, int64_t total)
{
    double now = progress_seconds();

    *p = (struct progress){.is_terminal = isatty(STDERR_FILENO), .total = total, .began_s = now,
                           .step_s = now, .interval_s = TERMINAL_INTERVAL_S,
                           .silence_s = TERMINAL_SILENCE_S};
    if (p->is_terminal)
        return;
    p->shown_s = now;                   /* what is over in a minute says nothing */
    p->interval_s = p->silence_s = FILE_INTERVAL_S;
}

/* "45 s", "12 min 05 s", "3 h 07 min" */
static struct short_text print_duration(double seconds)
{
    int64_t whole = (int64_t)(seconds + 0.5);
    struct short_text to;

    if (whole < 120)
        snprintf(to.text, sizeof(to.text), "%" PRId64 " s", whole);
    else if (whole < 2 * 3600)
        snprintf(to.text, sizeof(to.text), "%" PRId64 " min %02" PRId64 " s", whole / 60,
                 whole % 60);
    else
        snprintf(to.text, sizeof(to.text), "%" PRId64 " h %02" PRId64 " min", whole / 3600,
                 whole / 60 % 60);
    return to;
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
    return now - p->shown_s >= p->interval_s && now > p->began_s;
}

static void put(struct progress *p, const char *line, double now)
{
    if (p->is_terminal)
        fprintf(stderr, "\r\033[K%.*s", room(), line);
    else
        fprintf(stderr, "%s\n", line);
    fflush(stderr);
    p->shown_s = now;
    p->is_shown = p->is_terminal;
}

/* ----- a training run */

static void put_step(struct progress *p, double now)
{
    double rate = (double)(p->step - p->first) / (p->step_s - p->began_s), since = now - p->step_s;
    char line[LINE_CHARS];
    int length;

    if (p->step == p->first) {
        snprintf(line, sizeof(line), "the first step is under way since %s",
                 print_duration(since).text);
        put(p, line, now);
        return;
    }
    length = snprintf(line, sizeof(line), "epoch %d, step %" PRId64, p->epoch, p->step);
    if (p->total)
        length += snprintf(line + length, sizeof(line) - (size_t)length, " of %" PRId64, p->total);
    length += text_print(line + length, sizeof(line) - (size_t)length, ", %.*f steps/s, loss %.4f",
                         rate < 1 ? 3 : 1, rate, p->loss);
    if (p->total)
        length += snprintf(line + length, sizeof(line) - (size_t)length, ", %s left",
                           print_duration((double)(p->total - p->step) / rate).text);
    if (since >= TERMINAL_SILENCE_S)
        snprintf(line + length, sizeof(line) - (size_t)length, ", %s since that step",
                 print_duration(since).text);
    put(p, line, now);
}

static void lock(struct progress *p)
{
    if (p->is_watched)
        pthread_mutex_lock(&p->lock);
}

static void unlock(struct progress *p)
{
    if (p->is_watched)
        pthread_mutex_unlock(&p->lock);
}

void progress_show(struct progress *p, int64_t step, int epoch, double loss)
{
    double now = progress_seconds();

    lock(p);
    p->step = step;
    p->epoch = epoch;
    p->loss = loss;
    p->step_s = now;
    if (is_due(p, now))
        put_step(p, now);
    unlock(p);
}

/* to the next moment at which something must have been said, or until it is over */
static void wait_for_silence(struct progress *p)
{
    double left = p->shown_s + p->silence_s - progress_seconds();
    struct timespec until;

    left = left > 0.02 ? left : 0.02;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)((left - (double)(int64_t)left) * 1e9);
    until.tv_sec += (time_t)left + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&p->wake, &p->lock, &until);
}

static void *watch(void *context)
{
    struct progress *p = context;

    pthread_mutex_lock(&p->lock);
    while (!p->is_over) {
        double now = progress_seconds();

        if (now - p->shown_s >= p->silence_s)
            put_step(p, now);
        wait_for_silence(p);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

void progress_watch(struct progress *p)
{
    p->step = p->first;
    p->shown_s = progress_seconds();
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    p->is_watched = pthread_create(&p->thread, NULL, watch, p) == 0;
}

void progress_end(struct progress *p)
{
    progress_wipe(p);
    if (!p->is_watched)
        return;
    pthread_mutex_lock(&p->lock);
    p->is_over = true;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    p->is_watched = false;
    progress_wipe(p);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
}

/* ----- anything else */

void progress_say(struct progress *p, const char *what, int64_t done)
{
    char line[LINE_CHARS];
    double now = progress_seconds();

    if (!is_due(p, now))
        return;
    if (p->total)
        snprintf(line, sizeof(line), "%s, %" PRId64 " of %" PRId64, what, done, p->total);
    else
        snprintf(line, sizeof(line), "%s %" PRId64, what, done);
    put(p, line, now);
}

void progress_fraction(struct progress *p, const char *what, double fraction)
{
    char line[LINE_CHARS];
    double now = progress_seconds();

    if (!is_due(p, now) || fraction <= 0)
        return;
    text_print(line, sizeof(line), "%s: %.0f %%, %s left", what, 100 * fraction,
             print_duration((now - p->began_s) * (1 - fraction) / fraction).text);
    put(p, line, now);
}

void progress_wipe(struct progress *p)
{
    lock(p);
    if (p->is_shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    p->is_shown = false;
    unlock(p);
}
