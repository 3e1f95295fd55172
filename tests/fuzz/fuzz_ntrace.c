/*
 * Any trace file opens as far as it can be read or gives an error, and
 * whatever it is asked then is answered: nothing crashes, hangs or takes memory
 * without bound.
 *
 * An input is assembly text, a NUL, and changes to the trace of its run on chip
 * tiny: u24 place, u8 new byte each, after which all checksums are mended, so
 * that the changes reach what they are for. An input that begins with the magic
 * of traces is one itself, mended likewise.
 */
#include "base/archive.h"
#include "isa/asm.h"
#include "report/native_trace/ntrace_format.h"
#include "report/native_trace/ntrace.h"
#include "tests/rigs/round_trip.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[32];

static void make_path(void)
{
    int fd;

    if (path[0])
        return;
    strcpy(path, "/tmp/systole_fuzz_XXXXXX");
    fd = mkstemp(path);
    if (fd < 0)
        fuzz_fail("no file in /tmp", path);
    close(fd);
}

/* checksums of header, chunks and trailer; a chunk that goes beyond the end is left as it is */
static void mend(uint8_t *bytes, size_t size)
{
    size_t at = NTRACE_HEADER_BYTES;

    if (size < NTRACE_HEADER_BYTES)
        return;
    ntrace_put_le(bytes + 16, ntrace_crc_of(bytes, 16), 4);
    while (size - at >= NTRACE_CHUNK_BYTES) {
        uint8_t *head = bytes + at;
        uint64_t payload = ntrace_get_le(head + 16, 4);

        if (payload > size - at - NTRACE_CHUNK_BYTES)
            return;
        memcpy(head, NTRACE_CHUNK_MAGIC, 4);
        ntrace_put_le(head + 36, ntrace_crc_of(head + NTRACE_CHUNK_BYTES, payload), 4);
        ntrace_put_le(head + 40, ntrace_crc_of(head, 40), 4);
        at += NTRACE_CHUNK_BYTES + payload;
    }
}

static bool tell_event(void *context, const struct trace_event *e)
{
    if (e->end < e->start || e->start < 0)
        fuzz_fail("an event that ends before it begins", "");
    return ++*(int *)context < 10000;
}

static bool tell_op(void *context, cycle_t start, cycle_t end, uint32_t note)
{
    (void)note;
    if (end <= start)
        fuzz_fail("an interval without cycles", "");
    return ++*(int *)context < 10000;
}

static bool tell_dma(void *context, const struct trace_dma *d)
{
    if (d->done_at < d->issued_at || d->code >= OP_COUNT)
        fuzz_fail("a copy that cannot be", "");
    return ++*(int *)context < 10000;
}

static bool tell_hbm(void *context, const struct trace_hbm *h)
{
    (void)h;
    return ++*(int *)context < 10000;
}

static void ask_core(struct ntrace *s, int core)
{
    const struct isa_program *p = ntrace_program(s, core);
    static int64_t to[16 * NTRACE_CELL_COUNT];
    int64_t *notes = mem_alloc(((p ? p->note_count : 0) + 1u) * sizeof(*notes));
    int count[3] = {0};

    ntrace_walk_core(s, core, 5, 100000, true, true, tell_event, &count[0]);
    ntrace_walk_ops(s, core, 0, INT64_MAX, tell_op, &count[1]);
    ntrace_walk_dmas(s, core, 0, INT64_MAX, tell_dma, &count[2]);
    ntrace_sum(s, NTRACE_CORE, core, 7, 777, to);
    ntrace_cells(s, NTRACE_CORE, core, 0, 100, 16, to);
    ntrace_cells(s, NTRACE_CORE, core, 0, INT64_MAX / 64, 16, to);
    ntrace_note_cycles(s, core, 7, 777, notes);
    mem_free(notes);
}

static void check_trace(const uint8_t *bytes, size_t size)
{
    static int64_t to[16 * NTRACE_HBM_COUNT];
    struct err e = {.msg = ""};
    struct ntrace *s;
    FILE *f = fopen(path, "wb");
    int count = 0;

    if (!f || fwrite(bytes, 1, size, f) != size || fclose(f) != 0)
        fuzz_fail("cannot write", path);
    s = ntrace_open(path, &e);
    if (!s) {
        if (e.msg[0] == '\0')
            fuzz_fail("a trace is refused without a message", "");
        return;
    }
    for (int core = 0; core < ntrace_info(s)->core_count && core < 4; core++)
        ask_core(s, core);
    ntrace_walk_hbm(s, 0, 0, INT64_MAX, tell_hbm, &count);
    ntrace_sum(s, NTRACE_HBM, 0, 7, 777, to);
    ntrace_cells(s, NTRACE_HBM, 0, 3, 100, 16, to);
    ntrace_close(s);
}

/* the trace of the text, in `path`; false when the text is no program */
static bool record(const char *text, size_t length, struct arena *a)
{
    static struct isa_errors errors;
    const struct machine_options options = {.mode = MODE_TIMING, .thread_count = 1, .simd = "c",
                                            .cycle_limit = 20000};
    struct isa_program *p = arena_alloc(a, sizeof(*p));
    struct ntrace_writer *w;
    struct machine *m;
    struct slice slice;
    struct chip chip;
    struct err e;

    if (isa_assemble(text, length, "input", a, p, &errors)
        || slice_parse(&slice, "tiny", &e) || chip_load_builtin(&chip, "tiny", NULL, a, &e))
        return false;
    m = machine_create(&slice, &chip, &options, &e);
    w = ntrace_writer_open(path, &(struct ntrace_options){.level = TRACE_BUNDLE}, &e);
    if (!m || !w)
        fuzz_fail("no machine or no file", e.msg);
    machine_set_trace(m, ntrace_writer_sink(w));
    for (int i = 0; i < machine_core_count(m); i++)
        if (machine_load(m, i, p, &e))
            break;
    machine_run(m, &e);
    machine_destroy(m);
    return ntrace_writer_close(w, &e) == 0;
}

static void read_path(struct bytes *b)
{
    unsigned char block[4096];
    FILE *f = fopen(path, "rb");
    size_t n;

    while (f && (n = fread(block, 1, sizeof(block), f)) > 0)
        bytes_append(b, block, n);
    if (f)
        fclose(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t length = 0;
    struct bytes b = {0};
    struct arena a;

    make_path();
    check_trace(data, size);
    while (length < size && data[length] != '\0')
        length++;
    arena_init(&a);
    if (size >= 8 && memcmp(data, NTRACE_MAGIC, 8) == 0) {
        bytes_append(&b, data, size);
        length = size;
    } else if (length < size && record((const char *)data, length, &a)) {
        read_path(&b);
    }
    for (length++; b.size && length + 4 <= size; length += 4)
        b.data[(data[length] | (size_t)data[length + 1] << 8 | (size_t)data[length + 2] << 16)
               % b.size] = data[length + 3];
    if (b.size) {
        mend(b.data, b.size);
        check_trace(b.data, b.size);
    }
    mem_free(b.data);
    arena_fini(&a);
    unlink(path);
    path[0] = '\0';
    return 0;
}
