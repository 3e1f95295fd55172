/*
 * What the host has left, held against what a run will take of it: said where it is much, refused
 * where there is not so much, before the host begins to swap or kills the process.
 */
#ifndef CLI_HOST_MEMORY_H
#define CLI_HOST_MEMORY_H
#include "base/err.h"

/* bytes that are free, or can be, to this process; very many where the host does not tell */
double host_memory_free(void);

/* `bytes`, about; `advice` is what would take less, as in "fewer cores, or a smaller --batch" */
int host_memory_check(double bytes, const char *advice, struct err *e);
#endif
