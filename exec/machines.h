/*
 * The machines that executables keep between launches. A machine takes megabytes for each core, and
 * a process may hold thousands of programs: those that were launched last keep theirs, up to a sum
 * of bytes; others make another one when they are launched again, which changes no result.
 *
 * Executables may be launched by several threads, each by one at a time.
 */
#ifndef EXEC_MACHINES_H
#define EXEC_MACHINES_H
#include <stdbool.h>
#include <stddef.h>

struct executable;

struct machines_entry {                 /* in an executable, zero at first */
    struct executable *older, *newer;   /* by their last launches */
    size_t bytes;
    bool is_listed, is_busy;
};

/* around each launch; the machine of an executable is its own between them */
void machines_begin(struct executable *x);
void machines_end(struct executable *x);
/* before the executable goes */
void machines_forget(struct executable *x);
#endif
