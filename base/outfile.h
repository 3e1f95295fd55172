/*
 * Files that appear whole or not at all: written as "PATH.tmp", renamed when
 * complete. What exists and is no regular file (a device, a pipe) is written in
 * place and never removed. Messages name the path as the user gave it.
 */
#ifndef BASE_OUTFILE_H
#define BASE_OUTFILE_H
#include "base/err.h"

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
 * From now on the process writes only below `folder`, which must be there and outlive it: every
 * path elsewhere is refused, whatever names it.
 */
void outfile_confine(const char *folder);
/* Whoever makes a file or folder in another way than outfile_begin asks first. */
int outfile_allow(const char *path, struct err *e);

/* Before any work is done: whether outfile_begin would succeed. Leaves nothing behind. */
int outfile_check(const char *path, struct err *e);
#endif
