/*
 * Trace files that are cut short, damaged, newer, or no traces at all: what is
 * whole is shown, what is not is told, and nothing crashes.
 */
#include "base/arena.h"
#include "report/native_trace/ntrace_format.h"
#include "tests/rigs/ntrace_file.h"
#include "tests/rigs/ntrace_rig.h"
#include "tests/test.h"

#include <fcntl.h>
#include <unistd.h>

static bool ignore_event(void *context, const struct trace_event *e)
{
    (void)e;
    return ++*(int *)context < 100000;
}

/* everything that a reader can be asked; what there is must be tellable */
static void read_everything(struct ntrace *s)
{
    static int64_t to[NTRACE_HBM_COUNT * 8];
    int events = 0;
    struct trace_kept k = {.runs = 0};

    for (int core = 0; core < ntrace_info(s)->core_count; core++) {
        ntrace_walk_core(s, core, 0, 100000, true, true, ignore_event, &events);
        ntrace_walk_records(s, core, 0, 100000, trace_keep, &k);
        ntrace_walk_dmas(s, core, 0, 100000, trace_keep_dma, &k);
        ntrace_sum(s, NTRACE_CORE, core, 3, 777, to);
        ntrace_cells(s, NTRACE_CORE, core, 0, 1000, 4, to);
    }
    ntrace_sum(s, NTRACE_HBM, 0, 3, 777, to);
    ntrace_cells(s, NTRACE_HBM, 0, 0, 100, 8, to);
}

static void made(struct trace_file *f, struct trace_image *m)
{
    trace_file_open(f, &(struct ntrace_options){.level = TRACE_SLOT});
    trace_file_run(f);
    trace_file_finish(f);
    *m = trace_file_image(f);
}

TEST(a_file_cut_anywhere_shows_what_is_whole_or_says_why_not)
{
    size_t shown = 0, refused = 0;
    struct trace_image m;
    struct trace_file f;

    made(&f, &m);
    for (size_t size = 0; size < m.size; size += size < 100 || size + 80 > m.size ? 1 : 41) {
        struct err e = {.msg = ""};
        struct ntrace *s;

        trace_file_write(&f, m.bytes, size);
        s = ntrace_open(f.path, &e);
        if (!s) {
            assert_true(e.msg[0] != '\0');
            refused++;
            continue;
        }
        assert_true(ntrace_note_count(s) > 0 && !ntrace_info(s)->is_complete);
        read_everything(s);
        ntrace_close(s);
        shown++;
    }
    assert_true(shown > 20 && refused > 20);
    mem_free(m.bytes);
    trace_file_remove(&f);
}

TEST(a_flipped_bit_leaves_out_one_chunk_and_says_so)
{
    int told = 0;
    struct trace_image m;
    struct trace_file f;

    made(&f, &m);
    for (size_t at = 0; at < m.size; at += 3 + at % 17) {
        struct err e = {.msg = ""};
        struct ntrace *s;

        m.bytes[at] ^= 0x10;
        trace_file_write(&f, m.bytes, m.size);
        m.bytes[at] ^= 0x10;
        s = ntrace_open(f.path, &e);
        if (s) {
            read_everything(s);
            told += ntrace_note_count(s) > 0;
            ntrace_close(s);
        } else {
            assert_true(e.msg[0] != '\0');
            told++;
        }
    }
    assert_true(told > 200);
    mem_free(m.bytes);
    trace_file_remove(&f);
}

static void assert_refused(const char *path, const char *part)
{
    struct err e = {.msg = ""};

    assert_null(ntrace_open(path, &e));
    if (!strstr(e.msg, part))
        fail_msg("\"%s\" lacks \"%s\"", e.msg, part);
}

static void set_version(struct trace_image *m, uint32_t version, uint32_t needs)
{
    ntrace_put_le(m->bytes + 8, version, 4);
    ntrace_put_le(m->bytes + 12, needs, 4);
    ntrace_put_le(m->bytes + 16, ntrace_crc_of(m->bytes, 16), 4);
}

TEST(a_newer_version_shows_what_is_known_or_says_which_is_needed)
{
    struct ntrace *s;
    struct trace_image m;
    struct trace_file f;
    struct err e;

    made(&f, &m);
    set_version(&m, 3, 1);
    trace_file_write(&f, m.bytes, m.size);
    s = ntrace_open(f.path, &e);
    assert_non_null(s);
    assert_int_equal(ntrace_info(s)->version, 3);
    assert_string_equal(ntrace_note(s, 0), "the trace is of version 3, this program knows version "
                        "1: what is new is left out");
    assert_counters(s, f.rig.m, 0, ntrace_info(s)->cycles);
    ntrace_close(s);
    set_version(&m, 3, 2);
    trace_file_write(&f, m.bytes, m.size);
    assert_refused(f.path, "a trace of version 3, which a program must know version 2 to read; "
                   "this one knows version 1");
    mem_free(m.bytes);
    trace_file_remove(&f);
}

TEST(what_is_no_trace_is_refused_with_a_reason)
{
    struct trace_image m;
    struct trace_file f;

    made(&f, &m);
    assert_refused("/nowhere/x.strace", "cannot read: No such file");
    assert_refused("/tmp", "cannot read: not a regular file");
    trace_file_write(&f, m.bytes, 0);
    assert_refused(f.path, "the file is empty");
    trace_file_write(&f, (const uint8_t *)"SYSN and more of it, a snapshot", 31);
    assert_refused(f.path, "not a .strace: it does not begin with \"SYSTRACE\"");
    trace_file_write(&f, m.bytes, NTRACE_HEADER_BYTES);
    assert_refused(f.path, "nothing was recorded yet, or it was cut short");
    mem_free(m.bytes);
    trace_file_remove(&f);
}

TEST(a_part_of_a_kind_that_is_not_known_is_left_out)
{
    struct ntrace_chunk_head head = {.kind = 200, .bytes = 5};
    uint8_t chunk[NTRACE_CHUNK_BYTES + 5] = {0};
    struct ntrace *s;
    struct trace_image m;
    struct trace_file f;
    struct err e;
    int fd;

    made(&f, &m);
    head.crc = ntrace_crc_of(chunk + NTRACE_CHUNK_BYTES, 5);
    ntrace_chunk_pack(&head, chunk);
    trace_file_write(&f, m.bytes, NTRACE_HEADER_BYTES);
    fd = open(f.path, O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, chunk, sizeof(chunk)), (ssize_t)sizeof(chunk));
    assert_int_equal(write(fd, m.bytes + NTRACE_HEADER_BYTES, m.size - NTRACE_HEADER_BYTES),
                     (ssize_t)(m.size - NTRACE_HEADER_BYTES));
    close(fd);
    s = ntrace_open(f.path, &e);            /* its index points to the wrong places, too */
    assert_non_null(s);
    assert_counters(s, f.rig.m, 0, ntrace_info(s)->cycles);
    for (size_t i = 0, found = 0; !found; i++) {
        assert_true(i < ntrace_note_count(s));
        found = strstr(ntrace_note(s, i), "kind 200") != NULL;
    }
    ntrace_close(s);
    mem_free(m.bytes);
    trace_file_remove(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_cut_anywhere_shows_what_is_whole_or_says_why_not),
        cmocka_unit_test(a_flipped_bit_leaves_out_one_chunk_and_says_so),
        cmocka_unit_test(a_newer_version_shows_what_is_known_or_says_which_is_needed),
        cmocka_unit_test(what_is_no_trace_is_refused_with_a_reason),
        cmocka_unit_test(a_part_of_a_kind_that_is_not_known_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
