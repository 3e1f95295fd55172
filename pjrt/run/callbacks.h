/*
 * The caller's functions behind a program's sends and receives: what a launch copies of its options,
 * for it runs when the call has come back, and the host's end that it makes of them.
 */
#ifndef PJRT_CALLBACKS_H
#define PJRT_CALLBACKS_H
#include "exec/executable.h"
#include "pjrt/event/error.h"

struct callbacks {
    struct executable_host host;        /* first: its user is this */
    int devices, sends, receives;
    struct PJRT_SendCallbackInfo *send;         /* [device][n] */
    struct PJRT_RecvCallbackInfo *receive;
    struct PJRT_Error *error;           /* what a function has answered; the launch's */
};

/* NULL: the program has none. `options` are the caller's, and end where it says. */
struct callbacks *callbacks_copy(const struct executable *x,
                                 const struct PJRT_ExecuteOptions *options, int devices);
void callbacks_free(struct callbacks *c);       /* NULL is nothing */
#endif
