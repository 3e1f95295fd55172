/*
 * Traces as files: several launches, levels, windows and limits; files that
 * grow; the same whatever the way to them.
 */
#include "base/archive.h"
#include "report/native_trace/ntrace_format.h"
#include "sim/snapshot/snapshot.h"
#include "tests/rigs/ntrace_file.h"
#include "tests/rigs/ntrace_rig.h"
#include "tests/test.h"

static const char other_program[] =
    "{ s0 = smov 3 }\n{ v0 = vld [vmem:0x0] }\n{ vadd.xlane.f32.xlu0 v0 }\n"
    "{ v1 = vpop.xlane.xlu0 }\n{ shalt }\n";

TEST(launches_follow_each_other_with_the_programs_that_they_ran)
{
    const struct ntrace_options o = {.level = TRACE_BUNDLE, .title = "two programs",
                                     .command = "systole x"};
    const struct isa_program *p;
    struct ntrace *s;
    struct trace_file f;
    cycle_t cycles, more;
    int64_t sum[NTRACE_CELL_COUNT];

    trace_file_open(&f, &o);
    ntrace_writer_name_launch(f.w, "epoch 1 step 1");
    trace_file_run(&f);
    cycles = machine_cycles(f.rig.m);
    rig_load(&f.rig, 0, other_program);
    rig_load(&f.rig, 1, other_program);
    trace_file_run(&f);
    more = machine_cycles(f.rig.m);
    ntrace_writer_put_stats(f.w, "{\"x\": 1}");
    trace_file_finish(&f);
    s = trace_file_read(&f);
    assert_string_equal(ntrace_info(s)->title, "two programs");
    assert_string_equal(ntrace_info(s)->command, "systole x");
    assert_string_equal(ntrace_info(s)->stats_json, "{\"x\": 1}");
    assert_string_equal(ntrace_info(s)->slice->name, "tiny");
    assert_int_equal(ntrace_info(s)->launch_count, 2);
    assert_string_equal(ntrace_info(s)->launch[0].name, "epoch 1 step 1");
    assert_int_equal(ntrace_info(s)->launch[1].start, cycles);
    assert_int_equal(ntrace_info(s)->launch[1].cycles, more);
    assert_int_equal(ntrace_info(s)->cycles, cycles + more);
    assert_int_equal(ntrace_info(s)->left_out_count, 0);
    p = ntrace_program(s, 0);
    assert_int_equal(p->bundle_count, 11 + 5);
    assert_int_equal(p->op[p->bundle[11].first_op].code, OP_SMOV);
    assert_counters(s, f.rig.m, cycles, cycles + more);
    ntrace_sum(s, NTRACE_CORE, 0, 0, cycles + more, sum);
    assert_int_equal(sum[NTRACE_CELL_ISSUE], 4 + 40 * 5 + 2 + 5);
    ntrace_close(s);
    trace_file_remove(&f);
}

static struct ntrace *traced(struct trace_file *f, const struct ntrace_options *o,
                             struct trace_kept *k)
{
    struct ntrace *s;

    trace_file_open(f, o);
    trace_file_run(f);
    trace_file_finish(f);
    s = trace_file_read(f);
    *k = (struct trace_kept){.runs = 0};
    ntrace_walk_records(s, 0, 0, INT64_MAX / 4, trace_keep, k);
    ntrace_walk_dmas(s, 0, 0, INT64_MAX / 4, trace_keep_dma, k);
    return s;
}

TEST(each_level_keeps_more_than_the_one_before)
{
    int64_t left_out[TRACE_LEVEL_COUNT], sum[NTRACE_CELL_COUNT];
    struct ntrace *s;
    struct trace_kept k;
    struct trace_file f;

    for (int level = TRACE_STEP; level < TRACE_LEVEL_COUNT; level++) {
        s = traced(&f, &(struct ntrace_options){.level = (enum trace_level)level}, &k);
        assert_int_equal(ntrace_info(s)->level, level);
        assert_int_equal(k.dmas, level >= TRACE_OP);
        assert_int_equal(k.marks, level >= TRACE_OP);
        if (k.halts != (level >= TRACE_OP))
            fail_msg("level %d: %d", level, (int)k.halts);
        assert_int_equal(k.runs > 0, level >= TRACE_BUNDLE);
        ntrace_sum(s, NTRACE_CORE, 0, 0, ntrace_info(s)->cycles, sum);
        assert_int_equal(sum[NTRACE_CELL_ISSUE], machine_counters(f.rig.m, 0)->issue_cycles);
        assert_counters(s, f.rig.m, 0, ntrace_info(s)->cycles);
        left_out[level] = ntrace_info(s)->left_out_count;
        ntrace_close(s);
        trace_file_remove(&f);
    }
    assert_true(left_out[TRACE_STEP] > left_out[TRACE_OP]);
    assert_true(left_out[TRACE_OP] > left_out[TRACE_BUNDLE]);
    assert_int_equal(left_out[TRACE_BUNDLE], 0);
    assert_int_equal(left_out[TRACE_SLOT], 0);
}

TEST(a_window_keeps_its_records_and_counts_the_others)
{
    const struct ntrace_options all = {.level = TRACE_BUNDLE};
    const struct ntrace_options part = {.level = TRACE_BUNDLE, .window_first = 450,
                                        .window_end = 701};
    struct ntrace *s;
    struct trace_kept k;
    struct trace_file f;
    int64_t count;

    s = traced(&f, &all, &k);
    assert_int_equal(k.first, 0);
    count = ntrace_info(s)->record_count;
    ntrace_close(s);
    trace_file_remove(&f);
    s = traced(&f, &part, &k);
    assert_int_equal(k.first, 450);
    assert_int_equal(k.last, 701);
    assert_int_equal(k.marks, 0);
    assert_int_equal(ntrace_info(s)->window_first, 450);
    assert_int_equal(ntrace_info(s)->window_end, 701);
    /* a record that the border cuts is two */
    assert_in_range(ntrace_info(s)->record_count + ntrace_info(s)->left_out_count, count,
                    count + 4);
    assert_true(ntrace_info(s)->left_out_count > 0);
    assert_counters(s, f.rig.m, 0, ntrace_info(s)->cycles);     /* cells are for all of it */
    ntrace_close(s);
    trace_file_remove(&f);
}

TEST(a_limit_is_kept_and_the_rest_is_counted)
{
    const struct ntrace_options all = {.level = TRACE_BUNDLE};
    const struct ntrace_options few = {.level = TRACE_BUNDLE, .record_limit = 50};
    struct ntrace *s;
    struct trace_kept k;
    struct trace_file f;
    int64_t count;

    s = traced(&f, &all, &k);
    count = ntrace_info(s)->record_count;
    ntrace_close(s);
    trace_file_remove(&f);
    s = traced(&f, &few, &k);
    assert_in_range(ntrace_info(s)->record_count, 10, 50);
    assert_int_equal(ntrace_info(s)->record_count + ntrace_info(s)->left_out_count, count);
    assert_counters(s, f.rig.m, 0, ntrace_info(s)->cycles);
    ntrace_close(s);
    trace_file_remove(&f);
}

TEST(a_reader_follows_a_file_that_grows)
{
    const struct ntrace_options o = {.level = TRACE_BUNDLE};
    struct ntrace *s;
    struct trace_file f;
    struct err e;

    trace_file_open(&f, &o);
    assert_null(ntrace_open(f.path, &e));
    assert_non_null(strstr(e.msg, "nothing was recorded yet"));
    trace_file_run(&f);
    assert_int_equal(ntrace_writer_flush(f.w, &e), 0);
    s = ntrace_open(f.path, &e);
    assert_non_null(s);
    assert_false(ntrace_info(s)->is_complete);
    assert_non_null(strstr(ntrace_note(s, 0), "was not closed"));
    assert_int_equal(ntrace_info(s)->cycles, machine_cycles(f.rig.m));
    assert_int_equal(ntrace_refresh(s, &e), 0);
    trace_file_run(&f);
    assert_int_equal(ntrace_writer_flush(f.w, &e), 0);
    assert_int_equal(ntrace_refresh(s, &e), 1);
    assert_int_equal(ntrace_info(s)->launch_count, 2);
    assert_int_equal(ntrace_info(s)->cycles, 2 * machine_cycles(f.rig.m));
    trace_file_finish(&f);
    assert_int_equal(ntrace_refresh(s, &e), 1);
    assert_true(ntrace_info(s)->is_complete);
    assert_int_equal(ntrace_note_count(s), 0);
    assert_counters(s, f.rig.m, machine_cycles(f.rig.m), 2 * machine_cycles(f.rig.m));
    ntrace_close(s);
    trace_file_remove(&f);
}

TEST(a_writer_says_what_it_cannot_write)
{
    struct err e;

    assert_null(ntrace_writer_open("/nowhere/x.strace", &(struct ntrace_options){0}, &e));
    assert_string_equal(e.msg, "cannot write /nowhere/x.strace: No such file or directory");
    assert_null(ntrace_writer_open("/dev/full", &(struct ntrace_options){0}, &e));
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
static size_t list_chunks(const struct trace_image *m, uint8_t *list[256])
{
    struct ntrace_chunk_head h;
    size_t count = 0, at = NTRACE_HEADER_BYTES;

    while (at + NTRACE_CHUNK_BYTES <= m->size && ntrace_chunk_unpack(m->bytes + at, &h)) {
        assert_true(count < 256);
        if (h.kind != CHUNK_INDEX)
            list[count++] = m->bytes + at;
        at += NTRACE_CHUNK_BYTES + h.bytes;
    }
    qsort(list, count, sizeof(*list), compare_chunks);
    return count;
}

TEST(the_contents_do_not_depend_on_the_number_of_threads)
{
    const struct ntrace_options o = {.level = TRACE_BUNDLE, .record_limit = 200};
    static uint8_t *list[2][256];
    struct trace_image m[2];
    size_t count[2];

    for (int i = 0; i < 2; i++) {
        struct trace_file f;

        trace_file_open(&f, &o);
        if (i) {
            struct machine_options options = {.thread_count = 1};
            struct err e;

            machine_destroy(f.rig.m);
            f.rig.m = machine_create(&f.rig.slice, &f.rig.chip, &options, &e);
            rig_load(&f.rig, 0, trace_file_program);
            rig_load(&f.rig, 1, trace_file_program);
            machine_set_trace(f.rig.m, ntrace_writer_sink(f.w));
        }
        trace_file_run(&f);
        trace_file_run(&f);
        trace_file_finish(&f);
        m[i] = trace_file_image(&f);
        count[i] = list_chunks(&m[i], list[i]);
        trace_file_remove(&f);
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
    const struct ntrace_options o = {.level = TRACE_BUNDLE};
    int64_t sum[2] = {0}, count[2];
    struct err e;

    for (int i = 0; i < 2; i++) {
        struct bytes saved = {0};
        struct ntrace *s;
        struct trace_file f;

        trace_file_open(&f, &o);
        machine_start(f.rig.m);
        if (i) {
            assert_int_equal(machine_advance(f.rig.m, 333), MACHINE_PAUSED);
            machine_save(f.rig.m, &saved);
            assert_int_equal(machine_advance(f.rig.m, 711), MACHINE_PAUSED);
            assert_int_equal(machine_restore(f.rig.m, saved.data, saved.size, &e), 0);
        }
        assert_int_equal(machine_advance(f.rig.m, CYCLE_NEVER), MACHINE_HALTED);
        machine_finish(f.rig.m);
        trace_file_finish(&f);
        s = trace_file_read(&f);
        assert_int_equal(ntrace_info(s)->launch_count, 1);
        assert_counters(s, f.rig.m, 0, machine_cycles(f.rig.m));
        for (int core = 0; core < 2; core++)
            ntrace_walk_core(s, core, 0, 100000, true, true, sum_events, &sum[i]);
        count[i] = ntrace_info(s)->record_count;
        ntrace_close(s);
        mem_free(saved.data);
        trace_file_remove(&f);
    }
    assert_int_equal(sum[0], sum[1]);
    assert_in_range(count[1], count[0], count[0] + 6);  /* pauses cut runs */
}

TEST(a_reader_sees_a_launch_that_is_still_going_on)
{
    const struct ntrace_options o = {.level = TRACE_BUNDLE};
    int64_t sum[NTRACE_CELL_COUNT];
    struct ntrace *s;
    struct trace_file f;
    struct err e;

    trace_file_open(&f, &o);
    machine_start(f.rig.m);
    assert_int_equal(machine_advance(f.rig.m, 640), MACHINE_PAUSED);
    assert_int_equal(ntrace_writer_flush(f.w, &e), 0);
    s = ntrace_open(f.path, &e);
    assert_non_null(s);
    assert_in_range(ntrace_info(s)->cycles, 600, 640);
    ntrace_sum(s, NTRACE_CORE, 0, 0, 576, sum);
    assert_int_equal(sum[NTRACE_CELL_IDLE], 0);
    assert_int_equal(machine_advance(f.rig.m, CYCLE_NEVER), MACHINE_HALTED);
    machine_finish(f.rig.m);
    trace_file_finish(&f);
    assert_int_equal(ntrace_refresh(s, &e), 1);
    assert_counters(s, f.rig.m, 0, machine_cycles(f.rig.m));
    ntrace_close(s);
    trace_file_remove(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_follow_each_other_with_the_programs_that_they_ran),
        cmocka_unit_test(each_level_keeps_more_than_the_one_before),
        cmocka_unit_test(a_window_keeps_its_records_and_counts_the_others),
        cmocka_unit_test(a_limit_is_kept_and_the_rest_is_counted),
        cmocka_unit_test(a_reader_follows_a_file_that_grows),
        cmocka_unit_test(a_writer_says_what_it_cannot_write),
        cmocka_unit_test(levels_have_names),
        cmocka_unit_test(the_contents_do_not_depend_on_the_number_of_threads),
        cmocka_unit_test(what_is_told_again_after_stepping_back_is_kept_once),
        cmocka_unit_test(a_reader_sees_a_launch_that_is_still_going_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
