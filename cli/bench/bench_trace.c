/*
 * systole bench: a traced launch writes a real file, in the folder for
 * temporary files; it has no name any more while it is written.
 */
#include "cli/bench/bench.h"

#include "sim/observe/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ntrace_writer *bench_trace_open(struct machine *m, struct err *e)
{
    const struct ntrace_options o = {.level = TRACE_BUNDLE, .title = "systole bench"};
    const char *folder = getenv("TMPDIR");
    struct ntrace_writer *w;
    char path[300];
    int fd;

    snprintf(path, sizeof(path), "%.270s/systole_bench.XXXXXX", folder ? folder : "/tmp");
    fd = mkstemp(path);
    if (fd < 0) {
        err_set(e, "cannot make %s: %s", path, strerror(errno));
        return NULL;
    }
    close(fd);
    w = ntrace_writer_open(path, &o, e);
    unlink(path);
    if (w)
        machine_set_trace(m, ntrace_writer_sink(w));
    return w;
}

int bench_trace_close(struct ntrace_writer *w, struct err *e)
{
    return w ? ntrace_writer_close(w, e) : 0;
}
