/*
 * Opens trace and socket for `systole run --view`, starts the viewer, and serves it until it goes.
 */
#include "cli/live/run_view.h"

#include "base/arena.h"
#include "cli/live/live.h"
#include "cli/debug/trace_gate.h"
#include "cli/common/trace_options.h"
#include "cli/live/viewer.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct run_view {
    struct arena arena;
    struct machine *m;
    const char *title, *folder, *trace_path, *socket_path;
    bool is_temporary;                  /* the folder */
    bool starts_viewer, has_ended;      /* the viewer that was started */
    pid_t viewer;
    struct ntrace_writer *trace;
    struct trace_gate gate;
    struct live_server *server;
    struct debugger d;
};

static int make_folder(struct run_view *v, const char *folder, struct err *e)
{
    const char *parent = getenv("TMPDIR");
    char *path;

    v->folder = folder;
    if (folder)
        return 0;
    path = arena_printf(&v->arena, "%s/systole-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(path))
        return err_set(e, "cannot make a folder for the trace, %s: %s", path, strerror(errno));
    v->folder = path;
    v->is_temporary = true;
    return 0;
}

static int open_trace(struct run_view *v, struct err *e)
{
    const struct ntrace_options o = {.level = TRACE_SLOT, .title = v->title};

    v->trace_path = arena_printf(&v->arena, "%s/trace.strace", v->folder);
    v->trace = ntrace_writer_open(v->trace_path, &o, e);
    if (!v->trace)
        return -1;
    trace_gate_init(&v->gate, ntrace_writer_sink(v->trace));
    machine_set_trace(v->m, &v->gate.sink);
    return 0;
}

static int open_all(struct run_view *v, const char *folder, const char *socket, struct err *e)
{
    if (make_folder(v, folder, e) || open_trace(v, e))
        return -1;
    v->starts_viewer = !socket;
    v->socket_path = socket ? socket : arena_printf(&v->arena, "%s/live.socket", v->folder);
    v->server = live_open(v->socket_path, e);
    return v->server ? 0 : -1;
}

struct run_view *run_view_open(struct machine *m, const char *folder, const char *socket,
                               const char *title, struct err *e)
{
    struct run_view *v = mem_alloc(sizeof(*v));
    struct err ignored;

    arena_init(&v->arena);
    v->m = m;
    v->title = title;
    if (open_all(v, folder, socket, e) == 0)
        return v;
    machine_set_trace(m, NULL);
    run_view_close(v, NULL, &ignored);
    return NULL;
}

static int start_viewer(struct run_view *v, struct err *e)
{
    char path[PATH_MAX];
    char *argv[4];
    int status;

    if (viewer_path(path, sizeof(path)) != 0)
        strcpy(path, "systole-view");
    argv[0] = arena_printf(&v->arena, "%s", path);
    argv[1] = arena_printf(&v->arena, "--live");
    argv[2] = arena_printf(&v->arena, "%s", v->socket_path);
    argv[3] = NULL;
    status = posix_spawn(&v->viewer, path, NULL, NULL, argv, environ);
    if (status == 0)
        return 0;
    v->viewer = 0;
    return err_set(e, "cannot start %s: %s; make view builds it, and --view=SOCKET waits for one "
                   "that is started by hand", path, strerror(status));
}

static bool is_viewer_alive(void *context)
{
    struct run_view *v = context;

    if (v->starts_viewer && !v->has_ended && waitpid(v->viewer, NULL, WNOHANG) == v->viewer)
        v->has_ended = true;
    return !v->has_ended;
}

static int serve(struct run_view *v, struct err *e)
{
    const struct live_session session = {.d = &v->d, .trace = v->trace, .title = v->title,
                                         .trace_path = v->trace_path};

    if (!v->starts_viewer) {
        printf("waiting for: systole-view --live %s\n", v->socket_path);
        fflush(stdout);
    } else if (start_viewer(v, e)) {
        return -1;
    }
    if (live_serve(v->server, &session, is_viewer_alive, v, e))
        return -1;
    if (v->has_ended)
        return err_set(e, "systole-view ended before it came to the run");
    return 0;
}

int run_view_drive(struct run_view *v, struct err *e)
{
    struct debug_options o = {.out = stdout, .title = v->title, .gate = &v->gate,
                              .progress = live_progress, .progress_context = v->server};
    int status;

    debug_open(&v->d, v->m, &o);
    status = serve(v, e);
    if (!debug_has_ended(&v->d))        /* what is missing, without a word */
        debug_settle(&v->d, CYCLE_NEVER);
    debug_close(&v->d);
    return status;
}

static void remove_temporary(struct run_view *v)
{
    if (!v->is_temporary)
        return;
    if (v->trace_path)
        unlink(v->trace_path);
    rmdir(v->folder);
}

int run_view_close(struct run_view *v, const struct report_step *step, struct err *e)
{
    int status = 0;

    if (!v)
        return 0;
    live_close(v->server);
    if (v->trace) {
        trace_put_stats(v->trace, step);
        status = ntrace_writer_close(v->trace, e);
    }
    if (v->viewer > 0 && !v->has_ended)
        waitpid(v->viewer, NULL, 0);
    remove_temporary(v);
    arena_fini(&v->arena);
    mem_free(v);
    return status;
}
