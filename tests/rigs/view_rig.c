#include "tests/rigs/view_rig.h"

#include <unistd.h>

#include "report/native_trace/ntrace_writer.h"
#include "tests/test.h"

static void load_all(struct view_rig *r, const char *program)
{
    static char text[65536];
    const struct isa_program *p;
    FILE *f = fopen(program, "r");
    struct err e;
    size_t length;
    int i;

    assert_non_null(f);
    length = fread(text, 1, sizeof(text) - 1, f);
    text[length] = '\0';
    fclose(f);
    p = rig_assemble(&r->rig, text);
    for (i = 0; i < machine_core_count(r->rig.m); i++)
        if (machine_load(r->rig.m, i, p, &e))
            fail_msg("%s", e.msg);
}

struct ntrace_writer *view_rig_start(struct view_rig *r, const char *slice, const char *program,
                                     const struct rig_options *options)
{
    struct ntrace_options o = {.level = TRACE_BUNDLE, .title = "a small run"};
    struct ntrace_writer *w;
    struct err e = {.line = 0};

    rig_open(&r->rig, slice, options);
    load_all(r, program);
    snprintf(r->path, sizeof(r->path), "/tmp/systole_view_%d_XXXXXX", (int)getpid());
    close(mkstemp(r->path));
    w = ntrace_writer_open(r->path, &o, &e);
    if (!w)
        fail_msg("%s", e.msg);
    machine_set_trace(r->rig.m, ntrace_writer_sink(w));
    return w;
}

void view_rig_launch(struct view_rig *r, struct ntrace_writer *w, const char *name)
{
    ntrace_writer_name_launch(w, name);
    assert_int_equal(rig_run(&r->rig), 0);
}

void view_rig_open(struct view_rig *r, const char *slice, const char *program,
                   const struct rig_options *options)
{
    struct ntrace_writer *w = view_rig_start(r, slice, program, options);
    struct err e = {.line = 0};

    view_rig_launch(r, w, "first");
    view_rig_launch(r, w, "second");
    machine_set_trace(r->rig.m, NULL);
    assert_int_equal(ntrace_writer_close(w, &e), 0);
    r->run = ntrace_open(r->path, &e);
    if (!r->run)
        fail_msg("%s", e.msg);
    view_init(&r->view, r->run);
    r->view.path = "run";
}

void view_rig_close(struct view_rig *r)
{
    ntrace_close(r->run);
    unlink(r->path);
    rig_close(&r->rig);
}
