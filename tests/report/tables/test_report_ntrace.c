/* Tables out of a .strace: from its sums, or from the statistics kept in it. */
#include "tests/test.h"

#include "report/folder/report.h"
#include "report/tables/saved.h"
#include "report/native_trace/ntrace_writer.h"
#include "tests/rigs/rig.h"
#include "tests/rigs/toy.h"

#include <math.h>
#include <unistd.h>

static const char source[] =
    ".note copy\n"
    "{ dma.hbm_to_vmem 0, 256, 0, [sflag:0] }\n"
    "{ dma.done.wait [sflag:0], 256 }\n"
    "{ vsyncadd [sflag:0], -256 }\n"
    ".note add\n"
    "{ v0 = vld [vmem:0] }\n"
    "{ vmatpush.msra.mxu0 v0 }\n"
    "{ v1 = vadd.f32 v0, v0 }\n"
    "{ vst [vmem:0] v1 }\n"
    "{ dma.vmem_to_hbm 0, 128, 512, [sflag:1] }\n"
    "{ dma.done.wait [sflag:1], 128 }\n"
    "{ vsyncadd [sflag:1], -128 }\n"
    "{ shalt }\n";

struct traced {
    struct rig rig;
    char folder[200], path[300];
    struct arena arena;
    struct saved saved;
};

/* two launches of the program on core 0 of two chips, kept in a file */
static void start(struct traced *t, bool has_stats)
{
    struct ntrace_options o = {.level = TRACE_BUNDLE, .title = "add"};
    struct ntrace_writer *w;
    struct err e;

    arena_init(&t->arena);
    snprintf(t->path, sizeof(t->path), "%s/t.strace",
             toy_make_folder(t->folder, sizeof(t->folder)));
    rig_open(&t->rig, "tiny-4", &(struct rig_options){0});
    rig_load(&t->rig, 0, source);
    w = ntrace_writer_open(t->path, &o, &e);
    assert_non_null(w);
    machine_set_trace(t->rig.m, ntrace_writer_sink(w));
    for (int i = 0; i < 2; i++)
        assert_int_equal(machine_run(t->rig.m, &e), 0);
    if (has_stats) {
        struct report_run run = {
            .step = {.title = "kept", .machine = t->rig.m, .program = machine_program(t->rig.m, 0)}};
        char *json = report_stats_json(&run);

        assert_non_null(json);
        ntrace_writer_put_stats(w, json);
        free(json);
    }
    assert_int_equal(ntrace_writer_close(w, &e), 0);
    if (saved_open(&t->saved, t->path, &t->arena, &e))
        fail_msg("%s: %s", e.file, e.msg);
}

static void finish(struct traced *t)
{
    rig_close(&t->rig);
    assert_int_equal(toy_remove_folder(t->folder), 1);
    arena_fini(&t->arena);
}

TEST(sums_of_a_trace_are_what_the_machine_counted)
{
    const struct core_counters *c;
    const struct table *units, *stalls, *ops, *hbm, *breakdown;
    struct traced t;
    int64_t sum = 0;

    start(&t, false);
    c = machine_counters(t.rig.m, 0);
    units = &t.saved.table[TABLE_UNITS];
    stalls = &t.saved.table[TABLE_STALLS];
    ops = &t.saved.table[TABLE_OPS];
    hbm = &t.saved.table[TABLE_HBM];
    breakdown = &t.saved.table[TABLE_BREAKDOWN];
    assert_non_null(strstr(t.saved.heading, "add; tiny-4: "));
    assert_non_null(strstr(t.saved.heading, "2 launches"));
    assert_int_equal(units->row_count, c->unit_count);
    for (int u = 0; u < c->unit_count; u++) {
        assert_string_equal(table_text(units, (size_t)u, COL_UNITS_NAME), c->unit[u].name);
        assert_int_equal(table_int(units, (size_t)u, COL_UNITS_BUSY), 2 * c->unit[u].busy_cycles);
    }
    for (size_t i = 0; i < stalls->row_count; i++) {
        sum += table_int(stalls, i, COL_STALLS_CORE);
        if (strcmp(table_text(stalls, i, COL_STALLS_REASON), "hbm_wait") == 0)
            assert_int_equal(table_int(stalls, i, COL_STALLS_CORE),
                             2 * c->stall_cycles[STALL_HBM]);
    }
    assert_int_equal(stalls->row_count, STALL_COUNT + 2);
    assert_int_equal(sum, 2 * c->cycles);
    sum = 0;
    for (size_t i = 0; i < ops->row_count; i++)
        sum += table_int(ops, i, COL_OPS_CYCLES);
    assert_int_equal(sum, 2 * (c->cycles - c->idle_cycles));
    assert_int_equal(ops->row_count, 2);
    assert_true(table_int(ops, 0, COL_OPS_CYCLES) >= table_int(ops, 1, COL_OPS_CYCLES));
    assert_int_equal(hbm->row_count, 2);
    assert_int_equal(table_int(hbm, 0, COL_HBM_READ), 2 * c->hbm_read_bytes);
    assert_int_equal(table_int(hbm, 0, COL_HBM_WRITE), 2 * c->hbm_write_bytes);
    assert_int_equal(table_int(hbm, 1, COL_HBM_READ), 0);
    assert_true(t.saved.table[TABLE_LINKS].row_count > 0);
    sum = 0;
    for (size_t i = 0; i < breakdown->row_count; i++)
        sum += table_int(breakdown, i, COL_BREAKDOWN_CYCLES);
    assert_int_equal(sum, 2 * c->cycles);
    assert_int_equal(t.saved.table[TABLE_MEMORY].row_count, 0);
    finish(&t);
}

TEST(statistics_kept_in_a_trace_come_first)
{
    struct traced t;

    start(&t, true);
    assert_non_null(strstr(t.saved.heading, "kept; "));
    assert_true(t.saved.table[TABLE_COUNTERS].row_count > 0);   /* sums do not tell them */
    assert_int_equal(table_int(&t.saved.table[TABLE_OPS], 0, COL_OPS_BUNDLES)
                         + table_int(&t.saved.table[TABLE_OPS], 1, COL_OPS_BUNDLES), 11);
    finish(&t);
}

TEST(trace_that_is_cut_short_shows_what_could_be_read_and_says_so)
{
    struct traced t;
    struct saved again;
    struct err e;
    long size;
    FILE *f;

    start(&t, true);
    f = fopen(t.path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    size = ftell(f);
    fclose(f);
    assert_true(size > 100);
    for (long cut = size - 1; cut > 0; cut -= size / 17 + 1) {
        assert_int_equal(truncate(t.path, cut), 0);
        if (saved_open(&again, t.path, &t.arena, &e) == 0) {
            if (!*again.note)
                fail_msg("%ld of %ld bytes: no note", cut, size);
        } else {
            assert_true(*e.msg);
        }
    }
    finish(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_a_trace_are_what_the_machine_counted),
        cmocka_unit_test(statistics_kept_in_a_trace_come_first),
        cmocka_unit_test(trace_that_is_cut_short_shows_what_could_be_read_and_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
