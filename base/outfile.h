/*
 * Files that appear whole or not at all: written under a name of their own beside
 * it, "PATH.0123456789abcdef01234567.tmp", that cannot be foreseen; brought to the disk,
 * renamed when complete, and the folder brought to the disk, too. What a killed writer of the
 * same file has left goes away when the next one begins. What exists and
 * is no regular file (a device, a pipe) is written in place and never removed.
 * Messages name the path as the user gave it.
 */
#ifndef BASE_OUTFILE_H
#define BASE_OUTFILE_H
#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>

struct outfile {
    FILE *to;
    char *path, *temp_path;             /* equal when written in place */
};

int outfile_begin(struct outfile *f, const char *path, struct err *e);
/* Closes and renames; -1 (and nothing left behind) when something could not be written. */
int outfile_commit(struct outfile *f, struct err *e);
void outfile_abandon(struct outfile *f);                /* closes, leaves nothing behind */

/*
 * The same for who writes without a FILE: an empty file beside `path`, its name for outfile_drop,
 * NULL on failure; and the rename of what is complete and on the disk. -1: it is gone.
 */
char *outfile_temporary(const char *path, struct err *e);
int outfile_publish(const char *temp, const char *path, struct err *e);
void outfile_drop(char *temp);          /* frees the name; what still has it is removed */

/*
 * For a process that must end now: removes what it has begun and not committed, and its locks, of
 * all threads; at most 256 of them are known. Takes no memory.
 */
void outfile_abandon_all(void);

/* Removes from a folder what killed processes of this host had not finished to write. */
void outfile_clean(const char *folder);

/*
 * What one process writes over a long time is its own until outfile_unlock or its end: while it is
 * held, PATH.lock lies beside it. -1: another process has it, whose number is told, or this one in
 * another place (outfile_is_mine). Devices are nobody's. One that is {0} is not held, and unlocking
 * it does nothing.
 */
struct outfile_lock {
    char *path;                         /* NULL: not held */
    int fd;
};
int outfile_lock(struct outfile_lock *l, const char *path, struct err *e);
/* the same where the user knows it by another name, which the message has */
int outfile_lock_named(struct outfile_lock *l, const char *path, const char *name, struct err *e);
void outfile_unlock(struct outfile_lock *l);
/* of a path whose lock was refused: whether this process has it */
bool outfile_is_mine(const char *path);

/* What keeps a stream from being written, also where nobody looked at errno in time; 0: nothing. */
int outfile_code(FILE *to);
/* A program that could not write its standard output says so as it ends, with status 1. */
void outfile_watch_stdout(const char *program);

/*
 * From now on the process writes only below `folder`, which must be there and outlive it: every
 * path elsewhere is refused, whatever names it.
 */
void outfile_confine(const char *folder);
/* Whoever makes a file or folder in another way than outfile_begin asks first. */
int outfile_allow(const char *path, struct err *e);

/* Before any work is done: whether outfile_begin would succeed. Leaves nothing behind. */
int outfile_check(const char *path, struct err *e);
#endif
