/*
 * systole-view: a window on a recorded run, or a picture of it without a display.
 */
#include <argp.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/outfile.h"
#include "report/view/run_folder.h"
#include "report/view/run_programs.h"
#include "viz/sdl/sdl_app.h"

static struct ntrace *open_run(const char *name, struct arena *a, struct err *e)
{
    const char *note = NULL, *path;
    struct ntrace *t;

    name = name ? run_programs_dearest(name, a, &note) : NULL;
    path = name ? view_trace_path(name, a, e) : NULL;
    t = path ? ntrace_open(path, e) : NULL;
    if (note)
        fprintf(stderr, "systole-view: %s\n", note);

    if (t && path != name && run_folder_check_trace(name, t, e)) {
        ntrace_close(t);
        return NULL;
    }
    for (size_t i = 0; t && i < ntrace_note_count(t); i++)
        fprintf(stderr, "systole-view: %s: %s\n", name, ntrace_note(t, i));
    return t;
}

static int show(const struct view_options *o, struct view *v, struct live *live, struct err *e)
{
    if (o->bench)
        return app_bench(o, v, e);
    return o->png ? app_picture(o, v, e) : app_window(o, v, live, e);
}

static int open_and_show(const struct view_options *o, struct live *live, struct arena *a,
                         struct err *e)
{
    const char *path = live ? live_trace_path(live) : o->path;
    struct view v;
    int status = -1;

    v.run = open_run(path, a, e);
    if (!v.run)
        return -1;
    view_init(&v, v.run);
    v.path = live ? live_title(live) : path;
    v.other = open_run(o->other, a, e);
    v.other_path = o->other ? o->other : "";
    if ((!o->other || v.other) && view_options_apply(o, &v, e) == 0)
        status = show(o, &v, live, e);
    ntrace_close(v.run);
    if (v.other)
        ntrace_close(v.other);
    return status;
}

int main(int argc, char **argv)
{
    struct view_options o;
    struct err e = {.line = 0};
    struct live *live = NULL;
    struct arena a;
    int status = -1;
    char text[1024];

    argp_err_exit_status = EXIT_FAILURE;
    outfile_watch_stdout("systole-view");
    json_set_alloc_funcs(mem_alloc_unset, mem_free);    /* as for our own memory: none is the end */
    arena_init(&a);
    if (view_options_parse(&o, argc, argv, &e) == 0
        && (!o.live || (live = live_connect(o.live, &e)) != NULL))
        status = open_and_show(&o, live, &a, &e);
    live_disconnect(live);
    arena_fini(&a);
    if (status)
        fprintf(stderr, "systole-view: %s\n", err_format(&e, text, sizeof(text)));
    return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
