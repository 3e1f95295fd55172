/*
 * What goes wrong in the library itself does not end the host's process: a failed assertion, or
 * memory that the host does not have, comes back as an error of the call that it happened in.
 *
 *     struct guard g;
 *     if (GUARD_ENTER(&g))
 *         return guard_error(&g);
 *     ... what may fail ...
 *     guard_leave(&g);
 *
 * What the work held is lost then, and stays allocated. A thread that has no guard stops for good:
 * other threads of the process go on.
 */
#ifndef PJRT_GUARD_H
#define PJRT_GUARD_H
#include "pjrt/event/error.h"

#include <setjmp.h>
#include <stddef.h>

struct guard {
    jmp_buf back;
    struct guard *outer;                /* of the same thread */
    enum PJRT_Error_Code code;
    char message[512];
};

/* must be entered in the function that stays on the stack; not 0: something went wrong in it */
#define GUARD_ENTER(g) (guard_push(g), setjmp((g)->back))
void guard_push(struct guard *g);
void guard_leave(struct guard *g);
struct PJRT_Error *guard_error(struct guard *g);        /* ends it, too */

/* for mem_when_exhausted: no memory is an error of the call that asked for it */
void guard_memory_exhausted(size_t bytes) __attribute__((noreturn));

/*
 * The same of work on other threads (sim/machine/rounds.h): false when it was broken off, and then
 * guard_raise on the thread that waits for it goes back to that one's guard with what happened.
 */
bool guard_call(void (*fn)(void *context, int item), void *context, int item);
void guard_raise(void);
#endif
