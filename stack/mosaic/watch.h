/*
 * What a kernel does that it must not, found while the host carries it out (run.h).
 *
 * Races: memory that a copy under way writes is read or written, or memory that it reads is written,
 * before somebody has waited for the copy; and, with two cores, a block of a result that steps of
 * different indices of a parallel dimension write. A wait ends the copies that have raised its
 * semaphore, oldest first, as far as its amount goes.
 *
 * Unwritten: elements of scratch memory or of a result are read that nobody has written. A load that
 * nothing uses, and one that only selections use, is no read.
 *
 * An access that goes wrong in one way at one line is told once, with the first step of the grid. What
 * lies outside of an array ends the run, watched or not.
 */
#ifndef STACK_MOSAIC_WATCH_H
#define STACK_MOSAIC_WATCH_H
#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define MOSAIC_FINDINGS_MAX 50

enum mosaic_finding_kind { MOSAIC_RACE, MOSAIC_UNWRITTEN, MOSAIC_OUTSIDE };
struct mosaic_finding {
    enum mosaic_finding_kind kind;
    struct err what;                    /* kernel, line, step of the grid */
    int64_t times;
};

struct mosaic_watch {
    bool races, unwritten;              /* which are looked for */
    bool two_cores;                     /* that share parallel dimensions */
    int count;
    struct mosaic_finding finding[MOSAIC_FINDINGS_MAX];
    int kernels;                        /* that have run to their ends */
};
#endif
