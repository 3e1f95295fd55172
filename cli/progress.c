#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define INTERVAL_S 0.1

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

void progress_show(struct progress *p, int64_t step, int epoch, double loss)
{
    double now, rate;

    if (!p->is_terminal)
        return;
    now = progress_seconds();
    if (now - p->shown_s < INTERVAL_S || now <= p->began_s)
        return;
    rate = (double)step / (now - p->began_s);
    fprintf(stderr, "\r\033[Kepoch %d, step %" PRId64 " of %" PRId64
            ", %.1f steps/s, loss %.4f, %.0f s left", epoch, step, p->total, rate, loss,
            (double)(p->total - step) / rate);
    fflush(stderr);
    p->shown_s = now;
    p->is_shown = true;
}

void progress_wipe(struct progress *p)
{
    if (!p->is_shown)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    p->is_shown = false;
}
