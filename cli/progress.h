/*
 * A progress line on a terminal: step, rate, loss and time left of a training
 * run; what it is at, of anything else.
 *
 * Written to standard error, at most ten times a second, and wiped before
 * other lines are printed. Where standard error is no terminal: nothing.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H
#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool is_terminal, is_shown;
    int64_t total;                      /* steps of the whole run */
    double began_s, shown_s;
};

double progress_seconds(void);          /* of a clock that never jumps */
void progress_begin(struct progress *p, int64_t total);
void progress_show(struct progress *p, int64_t step, int epoch, double loss);
void progress_say(struct progress *p, const char *what, int64_t done);
/* "collective: 42 %, 12 s left" */
void progress_fraction(struct progress *p, const char *what, double fraction);
void progress_wipe(struct progress *p);
#endif
