/*
 * A debugger that a viewer drives over a socket: the server's side of
 * docs/viewer.md.
 */
#ifndef CLI_LIVE_H
#define CLI_LIVE_H
#include "cli/debug/debug.h"
#include "report/native_trace/ntrace_writer.h"

struct live_server;

/* Listens on a Unix socket at `path`, which must not be there yet; NULL with *e set otherwise. */
struct live_server *live_open(const char *path, struct err *e);
/* the socket's file goes too */
void live_close(struct live_server *s);

struct live_session {
    struct debugger *d;
    struct ntrace_writer *trace;        /* of what d's machine does; the caller's */
    const char *title, *trace_path;
};
/*
 * Waits for a viewer and does what it says until it leaves; 0. -1 with *e set
 * when the trace cannot be written. `is_waited_for` is asked every half second
 * until one comes: false gives up (the viewer that was started has ended), 0.
 */
int live_serve(struct live_server *s, const struct live_session *session,
               bool (*is_waited_for)(void *context), void *context, struct err *e);

/* while a command runs the launch: for debug_options.progress, with the server as context */
void live_progress(void *server, struct debugger *d);
#endif
