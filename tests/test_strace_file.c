/*
 * Traces as files: several launches, levels, windows and limits; files that
 * grow, are cut short, damaged, newer, or no traces at all.
 */
#include "base/archive.h"
#include "report/strace_format.h"
#include "sim/snapshot.h"
#include "tests/rig.h"
#include "tests/strace_rig.h"
#include "tests/test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* copies, a loop, guards, units that are busy for long, a marker */
static const char program[] =
    "{ s0 = smov 0 ;; s1 = smov 0 }\n"
    "{ dma.hbm_to_vmem 0, 256, 0, [sflag:0] }\n"
    "{ dma.done.wait [sflag:0], 256 }\n{ vsyncadd [sflag:0], -256 }\n"
    "loop:\n{ v0 = vld [vmem:s1] ;; s0 = sadd.s32 s0, 1 }\n"
    "{ vadd.xlane.f32.xlu0 v0 ;; p0 = scmp.lt.s32.totalorder s0, 40 }\n"
    "{ v1 = vpop.xlane.xlu0 }\n{ vst [vmem:s1 + 8] v1 ;; sbr.rel (p0) target = loop }\n{ }\n"
    "{ vtrace 7 }\n{ shalt }\n";
static const char other_program[] =
    "{ s0 = smov 3 }\n{ v0 = vld [vmem:0x0] }\n{ vadd.xlane.f32.xlu0 v0 }\n"
    "{ v1 = vpop.xlane.xlu0 }\n{ shalt }\n";

struct file {
    struct rig rig;
    struct strace_writer *w;
    char path[64];
};

static void file_open(struct file *f, const struct strace_options *o)
{
    struct err e;
    int fd;

    rig_open(&f->rig, "tiny", &(struct rig_options){.thread_count = 2});
    rig_load(&f->rig, 0, program);
    rig_load(&f->rig, 1, program);
    snprintf(f->path, sizeof(f->path), "/tmp/systole_strace_XXXXXX");
    fd = mkstemp(f->path);
    assert_true(fd >= 0);
    close(fd);
    f->w = strace_writer_open(f->path, o, &e);
    assert_non_null(f->w);
    machine_set_trace(f->rig.m, strace_writer_sink(f->w));
}

static void file_finish(struct file *f)
{
    struct err e;

    assert_int_equal(strace_writer_close(f->w, &e), 0);
}

static void file_remove(struct file *f)
{
    rig_close(&f->rig);
    unlink(f->path);
}

static struct strace *open_whole(const char *path)
{
    struct strace *s;
    struct err e;

    s = strace_open(path, &e);
    if (!s)
        fail_msg("%s", e.msg);
    if (strace_note_count(s))
        fail_msg("%s", strace_note(s, 0));
    return s;
}

static void run(struct file *f)
{
    struct err e;

    assert_int_equal(machine_run(f->rig.m, &e), 0);
}

/* ---- what is in it ---- */

TEST(launches_follow_each_other_with_the_programs_that_they_ran)
{
    const struct strace_options o = {.level = TRACE_BUNDLE, .title = "two programs",
                                     .command = "systole x"};
    const struct isa_program *p;
    struct strace *s;
    struct file f;
    cycle_t cycles, more;
    int64_t sum[STRACE_CELL_COUNT];

    file_open(&f, &o);
    strace_writer_name_launch(f.w, "epoch 1 step 1");
    run(&f);
    cycles = machine_cycles(f.rig.m);
    rig_load(&f.rig, 0, other_program);
    rig_load(&f.rig, 1, other_program);
    run(&f);
    more = machine_cycles(f.rig.m);
    strace_writer_put_stats(f.w, "{\"x\": 1}");
    file_finish(&f);
    s = open_whole(f.path);
    assert_string_equal(strace_info(s)->title, "two programs");
    assert_string_equal(strace_info(s)->command, "systole x");
    assert_string_equal(strace_info(s)->stats_json, "{\"x\": 1}");
    assert_string_equal(strace_info(s)->slice->name, "tiny");
    assert_int_equal(strace_info(s)->launch_count, 2);
    assert_string_equal(strace_info(s)->launch[0].name, "epoch 1 step 1");
    assert_int_equal(strace_info(s)->launch[1].start, cycles);
    assert_int_equal(strace_info(s)->launch[1].cycles, more);
    assert_int_equal(strace_info(s)->cycles, cycles + more);
    assert_int_equal(strace_info(s)->left_out_count, 0);
    p = strace_program(s, 0);
    assert_int_equal(p->bundle_count, 11 + 5);
    assert_int_equal(p->op[p->bundle[11].first_op].code, OP_SMOV);
    assert_counters(s, f.rig.m, cycles, cycles + more);
    strace_sum(s, STRACE_CORE, 0, 0, cycles + more, sum);
    assert_int_equal(sum[STRACE_CELL_ISSUE], 4 + 40 * 5 + 2 + 5);
    strace_close(s);
    file_remove(&f);
}

struct kept {
    int64_t runs, stalls, marks, halts, dmas;
    cycle_t first, last;
};

static bool keep(void *context, const struct trace_record *r, const struct trace_repeat *repeat)
{
    struct kept *k = context;

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

static bool keep_dma(void *context, const struct trace_dma *d)
{
    struct kept *k = context;

    k->dmas += d->bytes > 0;
    return true;
}

static struct strace *traced(struct file *f, const struct strace_options *o, struct kept *k)
{
    struct strace *s;

    file_open(f, o);
    run(f);
    file_finish(f);
    s = open_whole(f->path);
    *k = (struct kept){.runs = 0};
    strace_walk_records(s, 0, 0, INT64_MAX / 4, keep, k);
    strace_walk_dmas(s, 0, 0, INT64_MAX / 4, keep_dma, k);
    return s;
}

TEST(each_level_keeps_more_than_the_one_before)
{
    int64_t left_out[TRACE_LEVEL_COUNT], sum[STRACE_CELL_COUNT];
    struct strace *s;
    struct kept k;
    struct file f;

    for (int level = TRACE_STEP; level < TRACE_LEVEL_COUNT; level++) {
        s = traced(&f, &(struct strace_options){.level = (enum trace_level)level}, &k);
        assert_int_equal(strace_info(s)->level, level);
        assert_int_equal(k.dmas, level >= TRACE_OP);
        assert_int_equal(k.marks, level >= TRACE_OP);
        if (k.halts != (level >= TRACE_OP))
            fail_msg("level %d: %d", level, (int)k.halts);
        assert_int_equal(k.runs > 0, level >= TRACE_BUNDLE);
        strace_sum(s, STRACE_CORE, 0, 0, strace_info(s)->cycles, sum);
        assert_int_equal(sum[STRACE_CELL_ISSUE], machine_counters(f.rig.m, 0)->issue_cycles);
        assert_counters(s, f.rig.m, 0, strace_info(s)->cycles);
        left_out[level] = strace_info(s)->left_out_count;
        strace_close(s);
        file_remove(&f);
    }
    assert_true(left_out[TRACE_STEP] > left_out[TRACE_OP]);
    assert_true(left_out[TRACE_OP] > left_out[TRACE_BUNDLE]);
    assert_int_equal(left_out[TRACE_BUNDLE], 0);
    assert_int_equal(left_out[TRACE_SLOT], 0);
}

TEST(a_window_keeps_its_records_and_counts_the_others)
{
    const struct strace_options all = {.level = TRACE_BUNDLE};
    const struct strace_options part = {.level = TRACE_BUNDLE, .window_first = 450,
                                        .window_end = 701};
    struct strace *s;
    struct kept k;
    struct file f;
    int64_t count;

    s = traced(&f, &all, &k);
    assert_int_equal(k.first, 0);
    count = strace_info(s)->record_count;
    strace_close(s);
    file_remove(&f);
    s = traced(&f, &part, &k);
    assert_int_equal(k.first, 450);
    assert_int_equal(k.last, 701);
    assert_int_equal(k.marks, 0);
    assert_int_equal(strace_info(s)->window_first, 450);
    assert_int_equal(strace_info(s)->window_end, 701);
    /* a record that the border cuts is two */
    assert_in_range(strace_info(s)->record_count + strace_info(s)->left_out_count, count,
                    count + 4);
    assert_true(strace_info(s)->left_out_count > 0);
    assert_counters(s, f.rig.m, 0, strace_info(s)->cycles);     /* cells are for all of it */
    strace_close(s);
    file_remove(&f);
}

TEST(a_limit_is_kept_and_the_rest_is_counted)
{
    const struct strace_options all = {.level = TRACE_BUNDLE};
    const struct strace_options few = {.level = TRACE_BUNDLE, .record_limit = 50};
    struct strace *s;
    struct kept k;
    struct file f;
    int64_t count;

    s = traced(&f, &all, &k);
    count = strace_info(s)->record_count;
    strace_close(s);
    file_remove(&f);
    s = traced(&f, &few, &k);
    assert_in_range(strace_info(s)->record_count, 10, 50);
    assert_int_equal(strace_info(s)->record_count + strace_info(s)->left_out_count, count);
    assert_counters(s, f.rig.m, 0, strace_info(s)->cycles);
    strace_close(s);
    file_remove(&f);
}

TEST(a_reader_follows_a_file_that_grows)
{
    const struct strace_options o = {.level = TRACE_BUNDLE};
    struct strace *s;
    struct file f;
    struct err e;

    file_open(&f, &o);
    assert_null(strace_open(f.path, &e));
    assert_non_null(strstr(e.msg, "nothing was recorded yet"));
    run(&f);
    assert_int_equal(strace_writer_flush(f.w, &e), 0);
    s = strace_open(f.path, &e);
    assert_non_null(s);
    assert_false(strace_info(s)->is_complete);
    assert_non_null(strstr(strace_note(s, 0), "was not closed"));
    assert_int_equal(strace_info(s)->cycles, machine_cycles(f.rig.m));
    assert_int_equal(strace_refresh(s, &e), 0);
    run(&f);
    assert_int_equal(strace_writer_flush(f.w, &e), 0);
    assert_int_equal(strace_refresh(s, &e), 1);
    assert_int_equal(strace_info(s)->launch_count, 2);
    assert_int_equal(strace_info(s)->cycles, 2 * machine_cycles(f.rig.m));
    file_finish(&f);
    assert_int_equal(strace_refresh(s, &e), 1);
    assert_true(strace_info(s)->is_complete);
    assert_int_equal(strace_note_count(s), 0);
    assert_counters(s, f.rig.m, machine_cycles(f.rig.m), 2 * machine_cycles(f.rig.m));
    strace_close(s);
    file_remove(&f);
}

/* ---- what is wrong with it ---- */

struct image {
    uint8_t *bytes;
    size_t size;
};

static struct image image_of(struct file *f)
{
    struct image m;
    struct stat st;
    int fd = open(f->path, O_RDONLY);

    assert_int_equal(fstat(fd, &st), 0);
    m.size = (size_t)st.st_size;
    m.bytes = mem_alloc(m.size);
    assert_int_equal(read(fd, m.bytes, m.size), (ssize_t)m.size);
    close(fd);
    return m;
}

static void write_image(const struct file *f, const uint8_t *bytes, size_t size)
{
    int fd = open(f->path, O_WRONLY | O_TRUNC);

    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    close(fd);
}

static bool ignore_event(void *context, const struct trace_event *e)
{
    (void)e;
    return ++*(int *)context < 100000;
}

/* everything that a reader can be asked; what there is must be tellable */
static void read_everything(struct strace *s)
{
    static int64_t to[STRACE_HBM_COUNT * 8];
    int events = 0;
    struct kept k = {.runs = 0};

    for (int core = 0; core < strace_info(s)->core_count; core++) {
        strace_walk_core(s, core, 0, 100000, true, true, ignore_event, &events);
        strace_walk_records(s, core, 0, 100000, keep, &k);
        strace_walk_dmas(s, core, 0, 100000, keep_dma, &k);
        strace_sum(s, STRACE_CORE, core, 3, 777, to);
        strace_cells(s, STRACE_CORE, core, 0, 1000, 4, to);
    }
    strace_sum(s, STRACE_HBM, 0, 3, 777, to);
    strace_cells(s, STRACE_HBM, 0, 0, 100, 8, to);
}

static void made(struct file *f, struct image *m)
{
    file_open(f, &(struct strace_options){.level = TRACE_SLOT});
    run(f);
    file_finish(f);
    *m = image_of(f);
}

TEST(a_file_cut_anywhere_shows_what_is_whole_or_says_why_not)
{
    size_t shown = 0, refused = 0;
    struct image m;
    struct file f;

    made(&f, &m);
    for (size_t size = 0; size < m.size; size += size < 100 || size + 80 > m.size ? 1 : 41) {
        struct err e = {.msg = ""};
        struct strace *s;

        write_image(&f, m.bytes, size);
        s = strace_open(f.path, &e);
        if (!s) {
            assert_true(e.msg[0] != '\0');
            refused++;
            continue;
        }
        assert_true(strace_note_count(s) > 0 && !strace_info(s)->is_complete);
        read_everything(s);
        strace_close(s);
        shown++;
    }
    assert_true(shown > 20 && refused > 20);
    mem_free(m.bytes);
    file_remove(&f);
}

TEST(a_flipped_bit_leaves_out_one_chunk_and_says_so)
{
    int told = 0;
    struct image m;
    struct file f;

    made(&f, &m);
    for (size_t at = 0; at < m.size; at += 3 + at % 17) {
        struct err e = {.msg = ""};
        struct strace *s;

        m.bytes[at] ^= 0x10;
        write_image(&f, m.bytes, m.size);
        m.bytes[at] ^= 0x10;
        s = strace_open(f.path, &e);
        if (s) {
            read_everything(s);
            told += strace_note_count(s) > 0;
            strace_close(s);
        } else {
            assert_true(e.msg[0] != '\0');
            told++;
        }
    }
    assert_true(told > 200);
    mem_free(m.bytes);
    file_remove(&f);
}

static void assert_refused(const char *path, const char *part)
{
    struct err e = {.msg = ""};

    assert_null(strace_open(path, &e));
    if (!strstr(e.msg, part))
        fail_msg("\"%s\" lacks \"%s\"", e.msg, part);
}

static void set_version(struct image *m, uint32_t version, uint32_t needs)
{
    put_le(m->bytes + 8, version, 4);
    put_le(m->bytes + 12, needs, 4);
    put_le(m->bytes + 16, crc_of(m->bytes, 16), 4);
}

TEST(a_newer_version_shows_what_is_known_or_says_which_is_needed)
{
    struct strace *s;
    struct image m;
    struct file f;
    struct err e;

    made(&f, &m);
    set_version(&m, 3, 1);
    write_image(&f, m.bytes, m.size);
    s = strace_open(f.path, &e);
    assert_non_null(s);
    assert_int_equal(strace_info(s)->version, 3);
    assert_string_equal(strace_note(s, 0), "the trace is of version 3, this program knows version "
                        "1: what is new is left out");
    assert_counters(s, f.rig.m, 0, strace_info(s)->cycles);
    strace_close(s);
    set_version(&m, 3, 2);
    write_image(&f, m.bytes, m.size);
    assert_refused(f.path, "a trace of version 3, which a program must know version 2 to read; "
                   "this one knows version 1");
    mem_free(m.bytes);
    file_remove(&f);
}

TEST(what_is_no_trace_is_refused_with_a_reason)
{
    struct image m;
    struct file f;

    made(&f, &m);
    assert_refused("/nowhere/x.strace", "cannot read: No such file");
    assert_refused("/tmp", "cannot read: not a regular file");
    write_image(&f, m.bytes, 0);
    assert_refused(f.path, "the file is empty");
    write_image(&f, (const uint8_t *)"SYSN and more of it, a snapshot", 31);
    assert_refused(f.path, "not a .strace: it does not begin with \"SYSTRACE\"");
    write_image(&f, m.bytes, STRACE_HEADER_BYTES);
    assert_refused(f.path, "nothing was recorded yet, or it was cut short");
    mem_free(m.bytes);
    file_remove(&f);
}

TEST(a_part_of_a_kind_that_is_not_known_is_left_out)
{
    struct chunk_head head = {.kind = 200, .bytes = 5};
    uint8_t chunk[STRACE_CHUNK_BYTES + 5] = {0};
    struct strace *s;
    struct image m;
    struct file f;
    struct err e;
    int fd;

    made(&f, &m);
    head.crc = crc_of(chunk + STRACE_CHUNK_BYTES, 5);
    chunk_pack(&head, chunk);
    write_image(&f, m.bytes, STRACE_HEADER_BYTES);
    fd = open(f.path, O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, chunk, sizeof(chunk)), (ssize_t)sizeof(chunk));
    assert_int_equal(write(fd, m.bytes + STRACE_HEADER_BYTES, m.size - STRACE_HEADER_BYTES),
                     (ssize_t)(m.size - STRACE_HEADER_BYTES));
    close(fd);
    s = strace_open(f.path, &e);            /* its index points to the wrong places, too */
    assert_non_null(s);
    assert_counters(s, f.rig.m, 0, strace_info(s)->cycles);
    for (size_t i = 0, found = 0; !found; i++) {
        assert_true(i < strace_note_count(s));
        found = strstr(strace_note(s, i), "kind 200") != NULL;
    }
    strace_close(s);
    mem_free(m.bytes);
    file_remove(&f);
}

TEST(a_writer_says_what_it_cannot_write)
{
    struct err e;

    assert_null(strace_writer_open("/nowhere/x.strace", &(struct strace_options){0}, &e));
    assert_string_equal(e.msg, "cannot write /nowhere/x.strace: No such file or directory");
    assert_null(strace_writer_open("/dev/full", &(struct strace_options){0}, &e));
    assert_string_equal(e.msg, "cannot write /dev/full: a .strace must be a regular file");
}

TEST(levels_have_names)
{
    enum trace_level level;
    struct err e;

    for (int i = 0; i < TRACE_LEVEL_COUNT; i++) {
        assert_int_equal(trace_level_parse(trace_level_name((enum trace_level)i), &level, &e), 0);
        assert_int_equal(level, i);
    }
    assert_int_equal(trace_level_parse("bundel", &level, &e), -1);
    assert_string_equal(e.msg, "no trace level \"bundel\" (did you mean \"bundle\"?); there are "
                        "step, op, bundle, slot");
}

/* ---- the same whatever the way to it ---- */

static int compare_chunks(const void *a, const void *b)
{
    return memcmp(*(const uint8_t *const *)a + 4, *(const uint8_t *const *)b + 4, 36);
}

/* chunks by kind, level and stream; times; checksums of what they hold */
static size_t list_chunks(const struct image *m, uint8_t *list[256])
{
    struct chunk_head h;
    size_t count = 0, at = STRACE_HEADER_BYTES;

    while (at + STRACE_CHUNK_BYTES <= m->size && chunk_unpack(m->bytes + at, &h)) {
        assert_true(count < 256);
        if (h.kind != CHUNK_INDEX)
            list[count++] = m->bytes + at;
        at += STRACE_CHUNK_BYTES + h.bytes;
    }
    qsort(list, count, sizeof(*list), compare_chunks);
    return count;
}

TEST(the_contents_do_not_depend_on_the_number_of_threads)
{
    const struct strace_options o = {.level = TRACE_BUNDLE, .record_limit = 200};
    static uint8_t *list[2][256];
    struct image m[2];
    size_t count[2];

    for (int i = 0; i < 2; i++) {
        struct file f;

        file_open(&f, &o);
        if (i) {
            struct machine_options options = {.thread_count = 1};
            struct err e;

            machine_destroy(f.rig.m);
            f.rig.m = machine_create(&f.rig.slice, &f.rig.chip, &options, &e);
            rig_load(&f.rig, 0, program);
            rig_load(&f.rig, 1, program);
            machine_set_trace(f.rig.m, strace_writer_sink(f.w));
        }
        run(&f);
        run(&f);
        file_finish(&f);
        m[i] = image_of(&f);
        count[i] = list_chunks(&m[i], list[i]);
        file_remove(&f);
    }
    assert_int_equal(count[0], count[1]);
    assert_true(count[0] > 20);
    for (size_t i = 0; i < count[0]; i++)
        assert_memory_equal(list[0][i], list[1][i], 40);
    mem_free(m[0].bytes);
    mem_free(m[1].bytes);
}

static bool sum_events(void *context, const struct trace_event *e)
{
    int64_t *sum = context;

    *sum += (e->start * 31 + e->end) * (e->track + 5) + e->bundle;
    return true;
}

TEST(what_is_told_again_after_stepping_back_is_kept_once)
{
    const struct strace_options o = {.level = TRACE_BUNDLE};
    int64_t sum[2] = {0}, count[2];
    struct err e;

    for (int i = 0; i < 2; i++) {
        struct bytes saved = {0};
        struct strace *s;
        struct file f;

        file_open(&f, &o);
        machine_start(f.rig.m);
        if (i) {
            assert_int_equal(machine_advance(f.rig.m, 333), MACHINE_PAUSED);
            machine_save(f.rig.m, &saved);
            assert_int_equal(machine_advance(f.rig.m, 711), MACHINE_PAUSED);
            assert_int_equal(machine_restore(f.rig.m, saved.data, saved.size, &e), 0);
        }
        assert_int_equal(machine_advance(f.rig.m, CYCLE_NEVER), MACHINE_HALTED);
        machine_finish(f.rig.m);
        file_finish(&f);
        s = open_whole(f.path);
        assert_int_equal(strace_info(s)->launch_count, 1);
        assert_counters(s, f.rig.m, 0, machine_cycles(f.rig.m));
        for (int core = 0; core < 2; core++)
            strace_walk_core(s, core, 0, 100000, true, true, sum_events, &sum[i]);
        count[i] = strace_info(s)->record_count;
        strace_close(s);
        mem_free(saved.data);
        file_remove(&f);
    }
    assert_int_equal(sum[0], sum[1]);
    assert_in_range(count[1], count[0], count[0] + 6);  /* pauses cut runs */
}

TEST(a_reader_sees_a_launch_that_is_still_going_on)
{
    const struct strace_options o = {.level = TRACE_BUNDLE};
    int64_t sum[STRACE_CELL_COUNT];
    struct strace *s;
    struct file f;
    struct err e;

    file_open(&f, &o);
    machine_start(f.rig.m);
    assert_int_equal(machine_advance(f.rig.m, 640), MACHINE_PAUSED);
    assert_int_equal(strace_writer_flush(f.w, &e), 0);
    s = strace_open(f.path, &e);
    assert_non_null(s);
    assert_in_range(strace_info(s)->cycles, 600, 640);
    strace_sum(s, STRACE_CORE, 0, 0, 576, sum);
    assert_int_equal(sum[STRACE_CELL_IDLE], 0);
    assert_int_equal(machine_advance(f.rig.m, CYCLE_NEVER), MACHINE_HALTED);
    machine_finish(f.rig.m);
    file_finish(&f);
    assert_int_equal(strace_refresh(s, &e), 1);
    assert_counters(s, f.rig.m, 0, machine_cycles(f.rig.m));
    strace_close(s);
    file_remove(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_follow_each_other_with_the_programs_that_they_ran),
        cmocka_unit_test(each_level_keeps_more_than_the_one_before),
        cmocka_unit_test(a_window_keeps_its_records_and_counts_the_others),
        cmocka_unit_test(a_limit_is_kept_and_the_rest_is_counted),
        cmocka_unit_test(a_reader_follows_a_file_that_grows),
        cmocka_unit_test(a_file_cut_anywhere_shows_what_is_whole_or_says_why_not),
        cmocka_unit_test(a_flipped_bit_leaves_out_one_chunk_and_says_so),
        cmocka_unit_test(a_newer_version_shows_what_is_known_or_says_which_is_needed),
        cmocka_unit_test(what_is_no_trace_is_refused_with_a_reason),
        cmocka_unit_test(a_part_of_a_kind_that_is_not_known_is_left_out),
        cmocka_unit_test(a_writer_says_what_it_cannot_write),
        cmocka_unit_test(the_contents_do_not_depend_on_the_number_of_threads),
        cmocka_unit_test(what_is_told_again_after_stepping_back_is_kept_once),
        cmocka_unit_test(a_reader_sees_a_launch_that_is_still_going_on),
        cmocka_unit_test(levels_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
