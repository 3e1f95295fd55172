/*
 * Work in a process of its own, so that an abort, or more time than it may take, ends that one
 * alone. What it prints to standard error is kept: an abort's last line is its message.
 */
#ifndef CLI_APART_H
#define CLI_APART_H
#include "base/err.h"

#include <stddef.h>

enum apart_kind { APART_DONE, APART_SLOW, APART_ABORTED };

struct apart_end {
    enum apart_kind kind;
    char message[400];                  /* unless it is done */
};

/*
 * Runs work(user, shared), where `shared` has `bytes`, zeroed, which become *result whatever the
 * end. -1: there is no process for it.
 */
int apart_run(void (*work)(void *user, void *shared), void *user, void *result, size_t bytes,
              int seconds_max, struct apart_end *end, struct err *e);
#endif
