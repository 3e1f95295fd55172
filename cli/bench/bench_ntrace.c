/*
 * systole bench: a trace of a gigabyte. What a core tells in loops of 20 bundles
 * with three stalls is written until the file has that size, then the file is
 * opened: with its index, and again without, as an interrupted run leaves it.
 * The first picture of all of it counts to the opening.
 */
#include "cli/bench/bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "isa/asm.h"
#include "report/native_trace/ntrace.h"

#define FILE_BYTES (1000LL * 1000 * 1000)
#define ROOM_BYTES (FILE_BYTES + FILE_BYTES / 4)
#define BATCH 4096                      /* records that are told at once */
#define PIXELS 1280
#define BUNDLES 20

static double seconds(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct machine *make_machine(struct arena *a, struct err *e)
{
    static const char bundle[] =
        "{ v0 = vld [vmem:s0] ;; v1 = vadd.f32 v2, v3 ;; vst [vmem:s1] v1 ;; "
        "s2 = sadd.s32 s2, 1 }\n",
        matrix[] = "{ vmatmul.mubr.bf16.gmra.mxu0 v1 ;; v1 = vadd.f32 v2, v3 }\n";
    const struct machine_options options = {.mode = MODE_TIMING, .thread_count = 1};
    struct isa_program *p = arena_alloc(a, sizeof(*p));
    char text[BUNDLES * sizeof(bundle)] = "";
    struct isa_errors errors;
    struct slice slice;
    struct chip chip;
    struct machine *m;

    for (int i = 0; i < BUNDLES; i++)
        strcat(text, i % 5 == 2 ? matrix : bundle);
    strcat(text, "{ shalt }\n");
    if (isa_assemble(text, strlen(text), "bench", a, p, &errors) != 0) {
        err_set(e, "the program of the measurement does not assemble");
        return NULL;
    }
    if (slice_parse(&slice, "v6e", e) != 0
        || chip_load_builtin(&chip, slice.chip_name, NULL, a, e) != 0)
        return NULL;
    m = machine_create(&slice, &chip, &options, e);
    if (m && machine_load(m, 0, p, e) != 0) {
        machine_destroy(m);
        return NULL;
    }
    return m;
}

/* the loop once, from `at` on; returns when it ends */
static cycle_t tell_loop(struct trace_record *r, size_t *count, cycle_t at)
{
    static const struct {
        uint8_t bundles, stall_cycles, reason;
    } part[] = {{5, 1, STALL_OPERAND}, {6, 2, STALL_RESULT}, {5, 3, STALL_MXU}, {4, 0, 0}};
    uint32_t bundle = 0;

    for (size_t i = 0; i < COUNT_OF(part); i++) {
        r[(*count)++] = (struct trace_record){.at = at, .value = part[i].bundles,
                                              .bundle = bundle, .kind = TRACE_RUN};
        at += part[i].bundles;
        bundle += part[i].bundles;
        if (part[i].stall_cycles == 0)
            continue;
        r[(*count)++] = (struct trace_record){.at = at, .value = part[i].stall_cycles,
                                              .bundle = bundle, .kind = TRACE_STALL,
                                              .reason = part[i].reason};
        at += part[i].stall_cycles;
    }
    return at;
}

static bool is_full(const char *path)
{
    struct stat st;

    return stat(path, &st) != 0 || st.st_size >= FILE_BYTES;
}

static int write_trace(const char *path, struct bench_ntrace *b, struct err *e)
{
    const struct ntrace_options o = {.level = TRACE_BUNDLE, .title = "systole bench"};
    static struct trace_record r[BATCH + 8];
    const struct trace_sink *sink;
    struct ntrace_writer *w;
    double began;
    struct machine *m;
    struct stat st;
    struct arena a;
    size_t count;
    cycle_t at = 0;
    int status = -1;

    arena_init(&a);
    m = make_machine(&a, e);
    w = m ? ntrace_writer_open(path, &o, e) : NULL;
    if (w) {
        sink = ntrace_writer_sink(w);
        sink->begin(sink->context, &(struct trace_launch){.machine = m});
        began = seconds(CLOCK_THREAD_CPUTIME_ID);
        for (b->bundles = 0; !is_full(path);) {
            for (count = 0; count < BATCH; b->bundles += BUNDLES)
                at = tell_loop(r, &count, at);
            sink->core(sink->context, 0, r, count);
        }
        b->write_ns = (seconds(CLOCK_THREAD_CPUTIME_ID) - began) * 1e9 / (double)b->bundles;
        status = ntrace_writer_close(w, e);
    }
    b->file_bytes = status == 0 && stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
    b->cycles = at;
    machine_destroy(m);
    arena_fini(&a);
    return status;
}

/* opens, and asks for as many sums over all of it as a wide picture has columns */
static int open_trace(const char *path, const struct bench_ntrace *b, double *value,
                      struct err *e)
{
    static int64_t to[PIXELS * NTRACE_CELL_COUNT];
    double began = seconds(CLOCK_MONOTONIC);
    struct ntrace *t = ntrace_open(path, e);
    int64_t issued = 0;

    if (!t)
        return -1;
    ntrace_cells(t, NTRACE_CORE, 0, 0, b->cycles / PIXELS + 1, PIXELS, to);
    *value = seconds(CLOCK_MONOTONIC) - began;
    for (int i = 0; i < PIXELS; i++)
        issued += to[i * NTRACE_CELL_COUNT + NTRACE_CELL_ISSUE];
    ntrace_close(t);
    if (issued * 1000 < b->bundles * 999 || issued > b->bundles)
        return err_set(e, "%s has %lld bundles, %lld were written", path, (long long)issued,
                       (long long)b->bundles);
    return 0;
}

static int measure_file(const char *path, struct bench_ntrace *b, struct err *e)
{
    if (write_trace(path, b, e) != 0 || open_trace(path, b, &b->open_seconds, e) != 0)
        return -1;
    if (truncate(path, (off_t)(b->file_bytes - 1)) != 0)
        return err_set(e, "cannot cut %s: %s", path, strerror(errno));
    return open_trace(path, b, &b->scan_seconds, e);
}

static int measure(struct bench_ntrace *b, struct err *e)
{
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    struct statvfs disk;
    char path[300];
    int status, fd;

    snprintf(path, sizeof(path), "%.270s/systole_bench_XXXXXX", folder);
    if (statvfs(folder, &disk) != 0
        || (int64_t)disk.f_bavail < ROOM_BYTES / (int64_t)disk.f_frsize) {
        err_set(e, "needs 1.25 GB of room in %.200s (TMPDIR)", folder);
        return BENCH_LEFT_OUT;
    }
    fd = mkstemp(path);
    if (fd < 0)
        return err_set(e, "cannot write %s: %s", path, strerror(errno));
    close(fd);
    status = measure_file(path, b, e);
    unlink(path);
    b->is_measured = status == 0;
    return status;
}

int bench_ntrace(struct bench *b, int which, double *value, struct err *e)
{
    int status = b->ntrace.is_measured ? 0 : measure(&b->ntrace, e);

    if (status != 0)
        return status;
    switch (which) {
    case BENCH_NTRACE_OPEN: *value = b->ntrace.open_seconds; break;
    case BENCH_NTRACE_SCAN: *value = b->ntrace.scan_seconds; break;
    case BENCH_NTRACE_BYTES:
        *value = (double)b->ntrace.file_bytes / (double)b->ntrace.bundles;
        break;
    default: *value = b->ntrace.write_ns; break;
    }
    return 0;
}
