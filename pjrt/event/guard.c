/*
 * The guards of each thread, and what a failed assertion calls: the library is linked so that its
 * own __assert_fail takes the place of the C library's (pjrt/api/exports.map hides it from others).
 */
#include "pjrt/event/guard.h"

#include "base/arena.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static _Thread_local struct guard *innermost;

void guard_push(struct guard *g)
{
    g->outer = innermost;
    innermost = g;
}

void guard_leave(struct guard *g)
{
    innermost = g->outer;
}

struct PJRT_Error *guard_error(struct guard *g)
{
    innermost = g->outer;
    return pjrt_error(g->code, "%s", g->message);
}

/* back to the guard, or, where the thread has none, nowhere: this thread has nothing left to do */
static void __attribute__((noreturn)) give_up(enum PJRT_Error_Code code, const char *message)
{
    if (innermost) {
        innermost->code = code;
        snprintf(innermost->message, sizeof(innermost->message), "%s", message);
        longjmp(innermost->back, 1);
    }
    fprintf(stderr, "systole: %s\n", message);
    for (;;)
        pause();
}

void __assert_fail(const char *condition, const char *file, unsigned line, const char *function)
    __attribute__((noreturn));

void __assert_fail(const char *condition, const char *file, unsigned line, const char *function)
{
    char message[512];

    snprintf(message, sizeof(message), "systole has a mistake: %s:%u: %s: (%s) does not hold; "
             "please report it with the program", file, line, function, condition);
    give_up(PJRT_Error_Code_INTERNAL, message);
}

void guard_memory_exhausted(size_t bytes)
{
    char message[128];

    snprintf(message, sizeof(message), "out of host memory (%zu bytes asked)", bytes);
    give_up(PJRT_Error_Code_RESOURCE_EXHAUSTED, message);
}

/* ----- other threads */

static pthread_mutex_t broken_lock = PTHREAD_MUTEX_INITIALIZER;
static struct { enum PJRT_Error_Code code; char message[512]; } broken;

bool guard_call(void (*fn)(void *context, int item), void *context, int item)
{
    struct guard g;

    if (GUARD_ENTER(&g)) {
        innermost = g.outer;
        pthread_mutex_lock(&broken_lock);
        broken.code = g.code;
        memcpy(broken.message, g.message, sizeof(broken.message));
        pthread_mutex_unlock(&broken_lock);
        return false;
    }
    fn(context, item);
    guard_leave(&g);
    return true;
}

void guard_raise(void)
{
    char message[sizeof(broken.message)];
    enum PJRT_Error_Code code;

    pthread_mutex_lock(&broken_lock);
    code = broken.code;
    memcpy(message, broken.message, sizeof(message));
    pthread_mutex_unlock(&broken_lock);
    give_up(code, message);
}
