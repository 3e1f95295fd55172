/*
 * Serves a debugger on a Unix socket: reads commands line by line, answers with text and the
 * machine's state as JSON.
 */
#include "cli/live/live.h"

#include "base/arena.h"
#include "base/outfile.h"
#include "base/text.h"
#include "cli/live/live_wire.h"
#include "base/progress.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PROTOCOL_VERSION 1
#define WAIT_MS 500                     /* between looks whether the viewer will come at all */
#define PROGRESS_S 0.1

struct live_server {
    int listening;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    const struct live_session *session; /* while one is served */
    struct live_wire *wire;
    double told_s;                      /* when the client was last told of the state */
    struct err trace_error;
    bool has_failed;                    /* the trace could not be written */
};

static int listen_at(struct live_server *s, struct err *e)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    s->listening = -1;
    if (outfile_allow(s->path, e))
        return -1;
    strcpy(at.sun_path, s->path);
    s->listening = socket(AF_UNIX, SOCK_STREAM, 0);
    if (s->listening < 0)
        return err_set(e, "cannot make a socket: %s", strerror(errno));
    if (bind(s->listening, (struct sockaddr *)&at, sizeof(at)) != 0)
        return err_set(e, "cannot listen on %s: %s", s->path, strerror(errno));
    if (listen(s->listening, 1) == 0)
        return 0;
    err_set(e, "cannot listen on %s: %s", s->path, strerror(errno));
    unlink(s->path);
    return -1;
}

struct live_server *live_open(const char *path, struct err *e)
{
    struct live_server *s;

    if (strlen(path) >= sizeof(s->path)) {
        err_set(e, "the path of a socket has at most %zu characters, %s has %zu",
                sizeof(s->path) - 1, path, strlen(path));
        return NULL;
    }
    s = mem_alloc(sizeof(*s));
    strcpy(s->path, path);
    if (listen_at(s, e) == 0)
        return s;
    if (s->listening >= 0)
        close(s->listening);
    mem_free(s);
    return NULL;
}

void live_close(struct live_server *s)
{
    if (!s)
        return;
    close(s->listening);
    unlink(s->path);
    mem_free(s);
}

/* ---- the state, as one line ---- */

static const char *activity_name(enum core_activity a)
{
    static const char *const name[] = {
        [CORE_HAS_NO_PROGRAM] = "none", [CORE_IS_READY] = "ready", [CORE_WAITS] = "waits",
        [CORE_HAS_HALTED] = "halted", [CORE_HAS_FAULTED] = "faulted"};

    return name[a];
}

static json_t *core_state(const struct machine *m, int core)
{
    struct core_view v;
    json_t *o;

    machine_core(m, core, &v);
    o = json_pack("{s:I, s:I, s:s, s:I}", "bundle", (json_int_t)v.bundle, "line",
                  (json_int_t)v.line, "activity", activity_name(v.activity), "issued",
                  (json_int_t)v.issued);
    if (v.reason != STALL_COUNT)
        json_object_set_new(o, "reason", json_string(stall_name(v.reason)));
    return o;
}

static const char *state_name(const struct debugger *d, bool is_running)
{
    if (d->status == MACHINE_PAUSED)
        return is_running ? "running" : "paused";
    return d->status == MACHINE_HALTED ? "ended" : "faulted";
}

static void send_json(struct live_server *s, const char *prefix, json_t *o)
{
    char *text = json_dumps(o, JSON_COMPACT);

    if (!text)
        mem_exhausted(0);
    live_wire_send(s->wire, prefix, text);
    free(text);
    json_decref(o);
}

static void flush_trace(struct live_server *s)
{
    if (!s->has_failed && ntrace_writer_flush(s->session->trace, &s->trace_error))
        s->has_failed = true;
}

/* the trace first, so that whoever has the line finds all of it there */
static void send_state(struct live_server *s, const char *prefix, bool is_running)
{
    const struct debugger *d = s->session->d;
    json_t *cores = json_array();

    flush_trace(s);
    for (int i = 0; i < d->core_count; i++)
        json_array_append_new(cores, core_state(d->m, i));
    send_json(s, prefix, json_pack("{s:s, s:I, s:i, s:o}", "state", state_name(d, is_running),
                                   "cycle", (json_int_t)d->cycle, "core", d->core, "cores",
                                   cores));
    s->told_s = progress_seconds();
}

void live_progress(void *server, struct debugger *d)
{
    struct live_server *s = server;

    if (s->wire && !debug_has_ended(d) && progress_seconds() - s->told_s >= PROGRESS_S)
        send_state(s, "~ ", true);
}

/* ---- a session ---- */

static bool wait_for_client(struct live_server *s, bool (*is_waited_for)(void *context),
                            void *context, int *fd)
{
    struct pollfd p = {.fd = s->listening, .events = POLLIN};

    do {
        if (poll(&p, 1, WAIT_MS) > 0) {
            *fd = accept(s->listening, NULL, NULL);
            if (*fd >= 0)
                return true;
        }
    } while (is_waited_for(context));
    return false;
}

/* what the debugger says goes into a text of its own, for the time of a command */
static void answer(struct live_server *s, const char *line)
{
    struct debugger *d = s->session->d;
    FILE *out = d->out;
    char *said;
    size_t bytes;
    struct err e;
    int status = 0;

    s->told_s = progress_seconds();
    d->out = text_memory(&said, &bytes);
    if (strcmp(line, "state") != 0)
        status = debug_execute(d, line, &e);
    text_memory_end(d->out, &said);
    d->out = out;
    live_wire_send(s->wire, "| ", said);
    free(said);
    if (status != 0)
        live_wire_send(s->wire, "! ", e.msg);
    send_state(s, "= ", false);
}

static void converse(struct live_server *s)
{
    const struct live_session *session = s->session;
    char line[LIVE_LINE_MAX];

    flush_trace(s);                     /* it can be opened from now on */
    send_json(s, "", json_pack("{s:s, s:i, s:s, s:s}", "format", "systole-live", "version",
                               PROTOCOL_VERSION, "title", session->title, "trace",
                               session->trace_path));
    while (!session->d->quits && !s->has_failed && live_wire_next(s->wire, line))
        answer(s, line);
}

int live_serve(struct live_server *s, const struct live_session *session,
               bool (*is_waited_for)(void *context), void *context, struct err *e)
{
    int fd = -1;

    if (!wait_for_client(s, is_waited_for, context, &fd))
        return 0;
    s->session = session;
    s->wire = live_wire_open(fd);
    converse(s);
    live_wire_close(s->wire);
    s->wire = NULL;
    if (s->has_failed)
        *e = s->trace_error;
    return s->has_failed ? -1 : 0;
}
