/*
 * systole bench: a trace of a hundred million events in systole-view. A product
 * runs on all eight cores of a v3-8, launch after launch, every iteration simulated,
 * until the cores alone have told that many bundles, waits and operations of units;
 * HBM and copies come on top. systole-view then opens it and draws frames on a tour
 * through all zooms (viz/sdl/sdl_bench.c), in a process of its own for each panel.
 */
#include "cli/bench/bench.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/live/viewer.h"
#include "report/native_trace/ntrace.h"
#include "stack/module/op_bench.h"

#define EVENTS (100LL * 1000 * 1000)
#define ROOM_BYTES (1250LL * 1000 * 1000)
#define SIDE 512                        /* of each core's product */

static const char *const panels[] = {"timeline", "code", "wavefront", "hbm", "vmem", "steps",
                                     "cores", "torus", "roofline"};

struct product {
    struct arena arena;
    struct slice slice;
    struct chip chip;
    struct machine *m;
    struct isa_program program;
};

static int open_product(struct product *p, struct err *e)
{
    const struct machine_options options = {.mode = MODE_TIMING, .thread_count = 1,
                                            .no_memo = true};

    if (slice_parse(&p->slice, "v3-8", e)
        || chip_load_builtin(&p->chip, p->slice.chip_name, NULL, &p->arena, e))
        return -1;
    p->m = machine_create(&p->slice, &p->chip, &options, e);
    if (!p->m || op_bench_program(SIDE, SIDE, SIDE, &p->chip, &p->arena, &p->program, NULL, e))
        return -1;
    for (int core = 0; core < machine_core_count(p->m); core++)
        if (machine_load(p->m, core, &p->program, e))
            return -1;
    return 0;
}

static bool count_event(void *context, const struct trace_event *event)
{
    (void)event;
    ++*(int64_t *)context;
    return true;
}

/* what a walk over all cores tells, of a launch that is like all others */
static int count_events(const char *path, int64_t *count, struct err *e)
{
    struct ntrace *t = ntrace_open(path, e);

    if (!t)
        return -1;
    *count = 0;
    for (int core = 0; core < ntrace_info(t)->core_count; core++)
        ntrace_walk_core(t, core, 0, ntrace_info(t)->cycles, true, false, count_event, count);
    ntrace_close(t);
    return *count ? 0 : err_set(e, "%s has no events", path);
}

static int write_launches(struct product *p, const char *path, int64_t launches, struct err *e)
{
    const struct ntrace_options o = {.level = TRACE_BUNDLE, .title = "systole bench"};
    struct ntrace_writer *w = ntrace_writer_open(path, &o, e);
    int status = w ? 0 : -1;

    if (!w)
        return -1;
    machine_set_trace(p->m, ntrace_writer_sink(w));
    for (int64_t i = 0; i < launches && status == 0; i++)
        status = machine_run(p->m, e);
    machine_set_trace(p->m, NULL);
    if (ntrace_writer_close(w, e) != 0)
        status = -1;
    return status;
}

/* one launch says how many it takes; all of them are then counted */
static int write_trace(const char *path, struct bench_view *v, struct err *e)
{
    struct product p = {.m = NULL};
    int status;

    arena_init(&p.arena);
    status = open_product(&p, e);
    if (status == 0)
        status = write_launches(&p, path, 1, e);
    if (status == 0)
        status = count_events(path, &v->events, e);
    if (status == 0)
        status = write_launches(&p, path, EVENTS / v->events + 1, e);
    if (status == 0)
        status = count_events(path, &v->events, e);
    machine_destroy(p.m);
    arena_fini(&p.arena);
    if (status == 0 && v->events < EVENTS)
        return err_set(e, "the trace has only %lld events", (long long)v->events);
    return status;
}

static void exec_viewer(const char *viewer, const char *path, const char *panel, int out)
{
    dup2(out, STDOUT_FILENO);
    execl(viewer, "systole-view", path, "--bench", "--panel", panel, "--size", "1280x720",
          (char *)NULL);
    _exit(1);
}

static int read_times(FILE *from, struct bench_frames *f)
{
    double median, p99, worst;
    char line[256];
    int got = 0;

    while (fgets(line, sizeof(line), from)) {
        if (sscanf(line, "open %lf ms", &f->open_ms) == 1)
            got |= 1;
        if (sscanf(line, "frame, wall time median %lf ms 99th percentile %lf ms worst %lf", &median,
                   &p99, &f->worst_wall_ms) == 3)
            got |= 2;
        if (sscanf(line, "frame, processor time median %lf ms 99th percentile %lf ms worst %lf",
                   &median, &p99, &worst) == 3) {
            f->median_ms = median;
            f->p99_ms = p99;
            f->worst_ms = worst;
            got |= 4;
        }
    }
    return got == 7 ? 0 : -1;
}

static int run_viewer(const char *viewer, const char *path, const char *panel,
                      struct bench_frames *f, struct err *e)
{
    int ends[2], status, got = -1;
    FILE *from;
    pid_t child;

    if (pipe(ends) != 0)
        return err_set(e, "cannot make a pipe: %s", strerror(errno));
    fflush(stdout);
    child = fork();
    if (child == 0)
        exec_viewer(viewer, path, panel, ends[1]);
    close(ends[1]);
    from = fdopen(ends[0], "r");
    if (child > 0 && from)
        got = read_times(from, f);
    if (from)
        fclose(from);
    else
        close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0 || got != 0)
        return err_set(e, "systole-view --bench --panel %s failed", panel);
    printf("%-32s %-9s median %5.1f, 99th percentile %5.1f, worst %5.1f ms (%.1f by the clock)\n",
           "", panel, f->median_ms, f->p99_ms, f->worst_ms, f->worst_wall_ms);
    fflush(stdout);
    return 0;
}

static int measure_panels(const char *viewer, const char *path, struct bench_view *v,
                          struct err *e)
{
    struct bench_frames f;

    if (write_trace(path, v, e) != 0)
        return -1;
    printf("%-32s %12.4g events in bundles, waits and units\n", "", (double)v->events);
    for (size_t i = 0; i < COUNT_OF(panels); i++) {
        if (run_viewer(viewer, path, panels[i], &f, e) != 0)
            return -1;
        if (i == 0)
            v->timeline = f;
        else if (f.worst_ms > v->others_worst_ms)
            v->others_worst_ms = f.worst_ms;
    }
    return 0;
}

static int measure(struct bench_view *v, struct err *e)
{
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    char viewer[PATH_MAX], path[300];
    struct statvfs disk;
    int status, fd;

    if (viewer_path(viewer, sizeof(viewer)) != 0 || access(viewer, X_OK) != 0) {
        err_set(e, "systole-view is not built beside this program (make view)");
        return BENCH_LEFT_OUT;
    }
    if (statvfs(folder, &disk) != 0
        || (int64_t)disk.f_bavail < ROOM_BYTES / (int64_t)disk.f_frsize) {
        err_set(e, "needs 1.25 GB of room in %.200s (TMPDIR)", folder);
        return BENCH_LEFT_OUT;
    }
    snprintf(path, sizeof(path), "%.270s/systole_bench_XXXXXX", folder);
    fd = mkstemp(path);
    if (fd < 0)
        return err_set(e, "cannot write %s: %s", path, strerror(errno));
    close(fd);
    status = measure_panels(viewer, path, v, e);
    unlink(path);
    v->is_measured = status == 0;
    return status;
}

int bench_view(struct bench *b, int which, double *value, struct err *e)
{
    const struct bench_view *v = &b->view;
    int status = v->is_measured ? 0 : measure(&b->view, e);

    if (status != 0)
        return status;
    switch (which) {
    case BENCH_VIEW_OPEN: *value = v->timeline.open_ms * 1e-3; break;
    case BENCH_VIEW_MEDIAN: *value = v->timeline.median_ms; break;
    case BENCH_VIEW_P99: *value = v->timeline.p99_ms; break;
    case BENCH_VIEW_WORST: *value = v->timeline.worst_ms; break;
    default: *value = v->others_worst_ms; break;
    }
    return 0;
}
