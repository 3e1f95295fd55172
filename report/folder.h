/*
 * Files that appear whole or not at all: written under a temporary name in the
 * same folder, renamed when complete.
 */
#ifndef REPORT_FOLDER_H
#define REPORT_FOLDER_H
#include "base/arena.h"
#include "base/err.h"

#include <stdio.h>

struct folder_file {
    FILE *to;
    char *path, *temp_path;             /* in the arena given to folder_begin */
};

/* "PATH.tmp" is where to write; after success call folder_rename, after failure folder_remove */
char *folder_temp_path(const char *path, struct arena *a);
int folder_rename(const char *temp_path, const char *path, struct err *e);
void folder_remove(const char *temp_path);

int folder_begin(struct folder_file *f, const char *path, struct arena *a, struct err *e);
/* Closes and renames; -1 (and nothing left behind) when something could not be written. */
int folder_commit(struct folder_file *f, struct err *e);
void folder_abandon(struct folder_file *f);             /* closes, leaves nothing behind */
#endif
