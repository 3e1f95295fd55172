/*
 * How far something is, for whoever waits: step, rate, loss and time left of a training run; what
 * it is at, of anything else.
 *
 * Written to standard error. On a terminal it is a line that is written over, at most ten times a
 * second, and wiped before other lines are printed. Elsewhere, a file say, it is a line of its own
 * once in a minute.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool is_terminal, is_shown;
    int64_t total;                      /* steps of the whole run; 0: not known */
    int64_t first;                      /* steps that were done before it began */
    double began_s, shown_s;
    double interval_s;                  /* between lines, at least; */
    double silence_s;                   /* at most, with progress_watch */
    /* of the last progress_show, for the thread that says so again */
    int64_t step;
    int epoch;
    double loss, step_s;
    bool is_watched, is_over;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

double progress_seconds(void);          /* of a clock that never jumps */
void progress_begin(struct progress *p, int64_t total);
/*
 * From now on something is said at least every 10 s on a terminal, every minute elsewhere, also
 * where a step takes longer: by a thread, until progress_end. *p must stay where it is.
 */
void progress_watch(struct progress *p);
void progress_end(struct progress *p);  /* wipes; also of one that was not watched */
void progress_show(struct progress *p, int64_t step, int epoch, double loss);
void progress_say(struct progress *p, const char *what, int64_t done);
/* "collective: 42 %, 12 s left" */
void progress_fraction(struct progress *p, const char *what, double fraction);
void progress_wipe(struct progress *p);
#endif
