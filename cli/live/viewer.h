/*
 * Finds systole-view, which stands beside the program that runs, for they are built into one
 * folder.
 */
#ifndef CLI_VIEWER_H
#define CLI_VIEWER_H
#include <stddef.h>

/* The path it would have; -1 where that does not fit or the program's own is not known. */
int viewer_path(char *path, size_t path_bytes);
#endif
