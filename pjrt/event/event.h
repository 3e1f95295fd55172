/*
 * Promises: that something will have happened, well or with an error. Work makes and keeps them,
 * buffers hold them, callers get handles of them (PJRT_Event), wait, and have functions called.
 *
 * A promise lives as long as somebody holds it, so functions that wait for it are called though its
 * handles are gone. Promises may be used from any thread.
 */
#ifndef PJRT_EVENT_H
#define PJRT_EVENT_H
#include "pjrt/event/error.h"

struct promise;

struct promise *promise_make(void);             /* not kept yet; held once */
struct promise *promise_made(struct PJRT_Error *error);         /* kept; takes the error, or NULL */
struct promise *promise_hold(struct promise *p);
void promise_drop(struct promise *p);           /* NULL is nothing */
void promise_keep(struct promise *p, struct PJRT_Error *error); /* takes the error, or NULL */
bool promise_is_kept(const struct promise *p);
struct PJRT_Error *promise_error(const struct promise *p);      /* of a kept one; a copy, or NULL */
struct PJRT_Error *promise_wait(struct promise *p);             /* likewise */
/* called once, with an error that it owns, or NULL: at once where the promise is kept already */
void promise_then(struct promise *p, PJRT_Event_OnReadyCallback callback, void *user_arg);

struct PJRT_Event *event_of(struct promise *p); /* a new handle, which holds it; the caller's */
#endif
