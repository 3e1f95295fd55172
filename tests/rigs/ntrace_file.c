#include "tests/rigs/ntrace_file.h"

#include "base/arena.h"
#include "tests/test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

const char trace_file_program[] =
    "{ s0 = smov 0 ;; s1 = smov 0 }\n"
    "{ dma.hbm_to_vmem 0, 256, 0, [sflag:0] }\n"
    "{ dma.done.wait [sflag:0], 256 }\n{ vsyncadd [sflag:0], -256 }\n"
    "loop:\n{ v0 = vld [vmem:s1] ;; s0 = sadd.s32 s0, 1 }\n"
    "{ vadd.xlane.f32.xlu0 v0 ;; p0 = scmp.lt.s32.totalorder s0, 40 }\n"
    "{ v1 = vpop.xlane.xlu0 }\n{ vst [vmem:s1 + 8] v1 ;; sbr.rel (p0) target = loop }\n{ }\n"
    "{ vtrace 7 }\n{ shalt }\n";

void trace_file_open(struct trace_file *f, const struct ntrace_options *o)
{
    struct err e;
    int fd;

    rig_open(&f->rig, "tiny", &(struct rig_options){.thread_count = 2});
    rig_load(&f->rig, 0, trace_file_program);
    rig_load(&f->rig, 1, trace_file_program);
    snprintf(f->path, sizeof(f->path), "/tmp/systole_ntrace_XXXXXX");
    fd = mkstemp(f->path);
    assert_true(fd >= 0);
    close(fd);
    f->w = ntrace_writer_open(f->path, o, &e);
    assert_non_null(f->w);
    machine_set_trace(f->rig.m, ntrace_writer_sink(f->w));
}

void trace_file_finish(struct trace_file *f)
{
    struct err e;

    assert_int_equal(ntrace_writer_close(f->w, &e), 0);
}

void trace_file_remove(struct trace_file *f)
{
    rig_close(&f->rig);
    unlink(f->path);
}

struct ntrace *trace_file_read(const struct trace_file *f)
{
    struct ntrace *s;
    struct err e;

    s = ntrace_open(f->path, &e);
    if (!s)
        fail_msg("%s", e.msg);
    if (ntrace_note_count(s))
        fail_msg("%s", ntrace_note(s, 0));
    return s;
}

void trace_file_run(struct trace_file *f)
{
    struct err e;

    assert_int_equal(machine_run(f->rig.m, &e), 0);
}

struct trace_image trace_file_image(const struct trace_file *f)
{
    struct trace_image m;
    struct stat st;
    int fd = open(f->path, O_RDONLY);

    assert_int_equal(fstat(fd, &st), 0);
    m.size = (size_t)st.st_size;
    m.bytes = mem_alloc(m.size);
    assert_int_equal(read(fd, m.bytes, m.size), (ssize_t)m.size);
    close(fd);
    return m;
}

void trace_file_write(const struct trace_file *f, const uint8_t *bytes, size_t size)
{
    int fd = open(f->path, O_WRONLY | O_TRUNC);

    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    close(fd);
}

bool trace_keep(void *context, const struct trace_record *r, const struct trace_repeat *repeat)
{
    struct trace_kept *k = context;

    (void)repeat;
    k->runs += r->kind == TRACE_RUN;
    k->stalls += r->kind == TRACE_STALL;
    k->marks += r->kind == TRACE_MARK;
    k->halts += r->kind == TRACE_HALT;
    if (r->kind != TRACE_RUN && r->kind != TRACE_STALL)
        return true;
    k->first = k->runs + k->stalls == 1 ? r->at : k->first;
    k->last = r->at + r->value;
    return true;
}

bool trace_keep_dma(void *context, const struct trace_dma *d)
{
    struct trace_kept *k = context;

    k->dmas += d->bytes > 0;
    return true;
}
