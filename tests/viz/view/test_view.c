/*
 * The viewer's models against plain sums over the same run: columns, ranges, search;
 * zoom and pan. Keys and the pointer: tests/viz/app/test_app.c.
 */
#include "tests/test.h"
#include "tests/rigs/draw_rig.h"
#include "tests/rigs/view_rig.h"

#include <math.h>

#include "base/rng.h"
#include "viz/app/app.h"
#include "viz/models/columns.h"
#include "viz/models/model_range.h"
#include "viz/models/note_columns.h"
#include "viz/view/quantity.h"
#include "viz/models/spans.h"

static struct view_rig slice, loop;     /* eight cores; one core with memoised loops */

static int open_rigs(void **state)
{
    (void)state;
    view_rig_open(&slice, "v3-8", "examples/03_double_buffered_matmul.tasm", NULL);
    view_rig_open(&loop, "v5e", "examples/04_pipelined_matmul_v5e.tasm",
                  &(struct rig_options){.mode = MODE_TIMING});
    return 0;
}

static int close_rigs(void **state)
{
    (void)state;
    view_rig_close(&slice);
    view_rig_close(&loop);
    return 0;
}

/* ---- the view ---- */

TEST(zoom_leaves_the_cycle_under_the_pointer_where_it_is)
{
    struct view v;
    double all, around = 4000;
    int i;

    view_init(&v, slice.run);
    all = (double)ntrace_info(slice.run)->cycles;
    assert_true(v.from == 0 && v.end == all);
    for (i = 0; i < 12; i++) {
        double share = (around - v.from) / (v.end - v.from);

        view_zoom(&v, 0.7, around);
        assert_true(fabs((around - v.from) / (v.end - v.from) - share) < 1e-9);
    }
    for (i = 0; i < 40; i++)
        view_zoom(&v, 0.5, around);
    assert_true(fabs(v.end - v.from - 8) < 1e-6);
    for (i = 0; i < 40; i++)
        view_zoom(&v, 2, around);
    assert_true(v.from == 0 && v.end == all);
}

TEST(pan_there_and_back_is_where_it_was_and_ends_at_the_run)
{
    struct view v;

    view_init(&v, slice.run);
    view_show(&v, 2000, 3000);
    view_pan(&v, 0.3);
    assert_true(v.from == 2300 && v.end == 3300);
    view_pan(&v, -0.3);
    assert_true(v.from == 2000 && v.end == 3000);
    view_pan(&v, 1e9);
    assert_true(v.end == (double)ntrace_info(slice.run)->cycles && v.end - v.from == 1000);
    view_pan(&v, -1e9);
    assert_true(v.from == 0 && v.end == 1000);
    view_show(&v, 0.0 / 0.0, 0.0 / 0.0);        /* not a number */
    assert_true(v.from >= 0 && v.end > v.from);
}

TEST(what_a_panel_keeps_is_of_a_run_a_range_a_core_and_a_width)
{
    struct view v = slice.view, other = loop.view;
    struct view_shown s = {0};

    v.from = 100.5;
    v.end = 200.5;
    assert_true(view_shown_changes(&s, &v, 1, 300));
    assert_false(view_shown_changes(&s, &v, 1, 300));
    assert_true(s.run == v.run && s.from == 100 && s.end == 201);
    v.cursor = 150;
    assert_false(view_shown_changes(&s, &v, 1, 300));
    assert_true(view_shown_changes(&s, &v, 2, 300));
    assert_true(view_shown_changes(&s, &v, 2, 301));
    v.end = 201.5;
    assert_true(view_shown_changes(&s, &v, 2, 301));
    v.from = 99;
    assert_true(view_shown_changes(&s, &v, 2, 301));
    v.generation++;                     /* the run has grown, perhaps in this range */
    assert_true(view_shown_changes(&s, &v, 2, 301));
    assert_false(view_shown_changes(&s, &v, 2, 301));
    other.from = v.from;
    other.end = v.end;
    other.generation = v.generation;
    assert_true(view_shown_changes(&s, &other, 2, 301));
}

static uint64_t drawn(void *panel, const struct view *v)
{
    struct draw_list d;
    uint64_t hash;

    draw_init(&d, 100);
    panel_draw(PANEL_TIMELINE, panel, v, &d, (struct rect){0, 0, 900, 600});
    hash = draw_rig_hash(&d);
    draw_fini(&d);
    return hash;
}

TEST(run_that_is_still_written_is_followed)
{
    void *old = panel_create(PANEL_TIMELINE), *fresh = panel_create(PANEL_TIMELINE);
    struct view_rig r;
    struct ntrace_writer *w = view_rig_start(&r, "v3", "examples/03_double_buffered_matmul.tasm",
                                             NULL);
    cycle_t cycles;
    struct view v;
    struct err e;

    view_rig_launch(&r, w, "first");
    assert_int_equal(ntrace_writer_flush(w, &e), 0);
    r.run = ntrace_open(r.path, &e);
    assert_non_null(r.run);
    assert_false(ntrace_info(r.run)->is_complete);
    view_init(&v, r.run);
    cycles = ntrace_info(r.run)->cycles;
    drawn(old, &v);
    assert_false(view_follow(&v));

    view_rig_launch(&r, w, "second");
    machine_set_trace(r.rig.m, NULL);
    assert_int_equal(ntrace_writer_close(w, &e), 0);
    assert_true(view_follow(&v));
    assert_int_equal(ntrace_info(r.run)->cycles, 2 * cycles);
    assert_true(v.from == 0 && v.end == (double)(2 * cycles));
    assert_true(drawn(old, &v) == drawn(fresh, &v));
    assert_false(view_follow(&v));
    panel_destroy(PANEL_TIMELINE, old);
    panel_destroy(PANEL_TIMELINE, fresh);
    view_rig_close(&r);
}

/* ---- columns ---- */

static void check_columns(const struct view_rig *r, enum ntrace_series series, int index,
                          int member, int stride, double cycles_per_pixel)
{
    struct tiles *c = tiles_create(r->run, COLUMNS_TILES_MAX);
    int width = 300, members = columns_member_count(c, series), i;
    float *mean = mem_alloc(sizeof(*mean) * (size_t)(width * members));
    int64_t *sum = mem_alloc(sizeof(*sum) * (size_t)stride);

    columns_fill(c, series, index, 512, cycles_per_pixel, width, mean);
    for (i = 0; i < width; i += 7) {
        cycle_t from = 512 + (cycle_t)(i * cycles_per_pixel);

        ntrace_sum(r->run, series, index, from, from + (cycle_t)cycles_per_pixel, sum);
        assert_true(fabs(mean[i * members + member] * cycles_per_pixel - (double)sum[member])
                    <= 1e-3 + 1e-5 * (double)sum[member]);
    }
    mem_free(mean);
    mem_free(sum);
    tiles_destroy(c);
}

TEST(columns_are_the_sums_of_their_pixels)
{
    static const int widths[] = {64, 8, 512};
    size_t i;

    for (i = 0; i < COUNT_OF(widths); i++) {
        check_columns(&slice, NTRACE_CORE, 3, NTRACE_CELL_ISSUE, NTRACE_CELL_COUNT, widths[i]);
        check_columns(&slice, NTRACE_CORE, 0, NTRACE_CELL_STALL + STALL_HBM, NTRACE_CELL_COUNT,
                      widths[i]);
        check_columns(&loop, NTRACE_CORE, 0, NTRACE_CELL_ISSUE, NTRACE_CELL_COUNT, widths[i]);
    }
    check_columns(&slice, NTRACE_HBM, 2, NTRACE_HBM_READ_BYTES, NTRACE_HBM_COUNT, 64);
    check_columns(&slice, NTRACE_LINK, 1, NTRACE_LINK_BUSY_PS, NTRACE_LINK_COUNT, 64);
}

TEST(every_cycle_is_in_one_pixel_at_any_zoom)
{
    struct tiles *c = tiles_create(slice.run, COLUMNS_TILES_MAX);
    int width = 400, members = columns_member_count(c, NTRACE_CORE), i, k;
    float *mean = mem_alloc(sizeof(*mean) * (size_t)(width * members));
    int64_t sum[NTRACE_CELL_COUNT];
    double all = (double)ntrace_info(slice.run)->cycles, zoom = all / width, issue;

    ntrace_sum(slice.run, NTRACE_CORE, 5, 0, ntrace_info(slice.run)->cycles, sum);
    for (k = 0; k < 3; k++, zoom *= 1.13) {
        columns_fill(c, NTRACE_CORE, 5, 0, zoom, width, mean);
        for (i = 0, issue = 0; i < width; i++)
            issue += mean[i * members + NTRACE_CELL_ISSUE] * zoom;
        assert_true(fabs(issue - (double)sum[NTRACE_CELL_ISSUE])
                    < 0.1 * (double)sum[NTRACE_CELL_ISSUE]);
    }
    mem_free(mean);
    tiles_destroy(c);
}

TEST(panning_asks_only_for_what_comes_in)
{
    struct tiles *c = tiles_create(slice.run, COLUMNS_TILES_MAX);
    int members = columns_member_count(c, NTRACE_CORE), i;
    float *mean = mem_alloc(sizeof(*mean) * (size_t)(512 * members));
    int64_t before;

    columns_fill(c, NTRACE_CORE, 0, 1000, 4, 512, mean);
    before = c->made;
    for (i = 0; i < 20; i++)
        columns_fill(c, NTRACE_CORE, 0, 1000 + i, 4, 512, mean);
    assert_true(c->made <= before + 1);
    columns_fill(c, NTRACE_CORE, 0, 1000, 4, 512, mean);
    assert_true(c->made <= before + 1);
    mem_free(mean);
    tiles_destroy(c);
}

TEST(columns_of_operations_have_those_with_most_cycles)
{
    struct tiles *c = tiles_create(slice.run, NOTE_COLUMNS_TILES_MAX);
    uint32_t count = ntrace_program(slice.run, 4)->note_count;
    const struct note_column *column = note_columns_tile(c, 4, 9, 0);
    int64_t cycles[64], most;
    uint32_t note;
    int i;

    assert_true(count > 0 && count < COUNT_OF(cycles));
    for (i = 0; i < NOTE_TILE_COLUMNS; i++) {
        memset(cycles, 0, sizeof(cycles));
        ntrace_note_cycles(slice.run, 4, i * 512, (i + 1) * 512, cycles);
        for (note = 1, most = 0; note <= count; note++)
            most = cycles[note] > most ? cycles[note] : most;
        assert_true(fabs(column[i].share[0] * 512 - (double)most) < 0.01);
        assert_true(!column[i].note[0] || cycles[column[i].note[0]] == most);
        assert_true(column[i].share[0] >= column[i].share[1]
                    && column[i].share[1] >= column[i].share[2]);
    }
    assert_ptr_equal(note_columns_tile(c, 4, 9, 0), column);
    tiles_set_budget(c, 0, 0);
    assert_null(note_columns_tile(c, 4, 9, 1));
    assert_true(c->is_partial);
    tiles_destroy(c);
}

/* ---- spans ---- */

TEST(tiles_of_events_have_every_bundle_once)
{
    struct tiles *s = tiles_create(slice.run, SPANS_TILES_MAX);
    cycle_t all = ntrace_info(slice.run)->cycles;
    int64_t sum[NTRACE_CELL_COUNT], found = 0, tile;
    size_t count, i;

    for (tile = 0; tile * SPANS_TILE_CYCLES < all; tile++) {
        const struct trace_event *e = spans_tile(s, 2, tile, &count);

        for (i = 0; i < count; i++)
            found += e[i].track == TRACK_IS_BUNDLE && e[i].start >= tile * SPANS_TILE_CYCLES;
    }
    ntrace_sum(slice.run, NTRACE_CORE, 2, 0, all, sum);
    assert_int_equal(found, sum[NTRACE_CELL_ISSUE]);
    tiles_destroy(s);
}

/* ---- ranges ---- */

TEST(range_of_a_launch_has_the_machine_s_counters)
{
    cycle_t all = ntrace_info(slice.run)->cycles;
    struct range_sums r;
    int core, i;

    for (core = 0; core < 8; core++) {
        const struct core_counters *c = machine_counters(slice.rig.m, core);

        model_range_sum(slice.run, core, all / 2, all, &r); /* the second launch, as the first */
        assert_int_equal(r.issue, c->issue_cycles);
        assert_int_equal(r.idle, c->idle_cycles);
        for (i = 0; i < STALL_COUNT; i++)
            assert_int_equal(r.stall[i], c->stall_cycles[i]);
        assert_true(fabs(r.flops - (double)c->matmul_flops) <= 0.03 * (double)c->matmul_flops);
    }
    model_range_sum(slice.run, 0, all / 2, all, &r);
    assert_int_equal(r.hbm_read_bytes, machine_counters(slice.rig.m, 0)->hbm_read_bytes
                                           + machine_counters(slice.rig.m, 1)->hbm_read_bytes);
    model_range_sum(slice.run, 0, 100, 100, &r);
    assert_int_equal(r.issue, 0);
    model_range_sum(slice.run, 0, -50, all * 3, &r);
    assert_int_equal(r.end - r.from, all);
}

/* ---- search ---- */

struct issues {
    struct search *s;
    cycle_t at[400];
    int count;
    bool was_match;
};

static bool note_issue(void *context, const struct trace_event *e)
{
    struct issues *i = context;
    bool is_match = e->track == TRACK_IS_BUNDLE && search_has(i->s, e->bundle);

    if (e->track != TRACK_IS_BUNDLE)
        return true;
    if (is_match && !i->was_match)
        i->at[i->count++] = e->start;
    i->was_match = is_match;
    return i->count < (int)COUNT_OF(i->at);
}

static void check_search(const struct view_rig *r, const char *pattern)
{
    struct err e = {.line = 0};
    struct search *s = search_create(r->run, 0, pattern, &e);
    struct issues plain = {.s = s};
    cycle_t all = ntrace_info(r->run)->cycles, at = -1;
    struct search_hit hit;
    int i;

    assert_non_null(s);
    assert_true(search_bundle_count(s) > 0);
    ntrace_walk_core(r->run, 0, 0, all, true, false, note_issue, &plain);
    assert_true(plain.count > 3);
    for (i = 0; i < plain.count; i++) {
        assert_true(search_next(s, at, &hit));
        assert_int_equal(hit.at, plain.at[i]);
        at = hit.at;
    }
    for (i = plain.count - 1; i > plain.count - 6 && i > 0; i--) {
        assert_true(search_last(s, plain.at[i], &hit));
        assert_int_equal(hit.at, plain.at[i - 1]);
    }
    assert_false(search_last(s, plain.at[0], &hit));
    search_destroy(s);
}

TEST(search_finds_every_issue_in_order_and_back)
{
    check_search(&slice, "vmatmul");
    check_search(&slice, "^s[0-9]+ = sadd");
}

TEST(search_finds_what_repeats_added)
{
    check_search(&loop, "vmatmul");
    check_search(&loop, "vst ");
}

TEST(search_says_what_it_cannot)
{
    struct err e = {.line = 0};
    struct search *s;
    struct search_hit hit;

    assert_null(search_create(slice.run, 0, "a(b", &e));
    assert_non_null(strstr(e.msg, "\"a(b\" is no regular expression"));
    s = search_create(slice.run, 0, "nothing like this", &e);
    assert_int_equal(search_bundle_count(s), 0);
    assert_false(search_next(s, -1, &hit));
    assert_false(search_last(s, 1 << 20, &hit));
    search_destroy(s);
}

TEST(stalls_are_found_in_order_unless_hidden_or_short)
{
    struct trace_record r, before = {.at = -1};
    int64_t found = 0, sum[NTRACE_CELL_COUNT];
    cycle_t all = ntrace_info(slice.run)->cycles;

    while (search_next_stall(slice.run, 1, before.at, 1, ~(1u << STALL_HBM), &r)) {
        assert_int_equal(r.reason, STALL_HBM);
        assert_true(r.at > before.at);
        found += r.value;
        before = r;
    }
    ntrace_sum(slice.run, NTRACE_CORE, 1, 0, all, sum);
    assert_int_equal(found, sum[NTRACE_CELL_STALL + STALL_HBM]);
    assert_false(search_next_stall(slice.run, 1, -1, all, 0, &r));
    assert_true(search_last_stall(slice.run, 1, all, 1, ~(1u << STALL_HBM), &r));
    assert_int_equal(r.at, before.at);
}

/* ---- numbers ---- */

TEST(quantities_are_short_and_have_units)
{
    double first;

    assert_string_equal(quantity_seconds(1.234e-6).text, "1.23 µs");
    assert_string_equal(quantity_seconds(999.6e-9).text, "1.00 µs");
    assert_string_equal(quantity_bytes(1023).text, "1023 B");
    assert_string_equal(quantity_bytes(16.5 * 1048576).text, "16.5 MiB");
    assert_string_equal(quantity_rate(8.12e11).text, "812 GB/s");
    assert_string_equal(quantity_percent(0.0001).text, "<0.1 %");
    assert_string_equal(quantity_percent(0.634).text, "63 %");
    assert_string_equal(quantity_cycles(1).text, "1 cycle");
    assert_true(quantity_ticks(130, 1130, 10, &first) == 100 && first == 200);
    assert_true(quantity_ticks(0, 1, 3, &first) == 0.5 && first == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zoom_leaves_the_cycle_under_the_pointer_where_it_is),
        cmocka_unit_test(pan_there_and_back_is_where_it_was_and_ends_at_the_run),
        cmocka_unit_test(what_a_panel_keeps_is_of_a_run_a_range_a_core_and_a_width),
        cmocka_unit_test(run_that_is_still_written_is_followed),
        cmocka_unit_test(columns_are_the_sums_of_their_pixels),
        cmocka_unit_test(every_cycle_is_in_one_pixel_at_any_zoom),
        cmocka_unit_test(panning_asks_only_for_what_comes_in),
        cmocka_unit_test(columns_of_operations_have_those_with_most_cycles),
        cmocka_unit_test(tiles_of_events_have_every_bundle_once),
        cmocka_unit_test(range_of_a_launch_has_the_machine_s_counters),
        cmocka_unit_test(search_finds_every_issue_in_order_and_back),
        cmocka_unit_test(search_finds_what_repeats_added),
        cmocka_unit_test(search_says_what_it_cannot),
        cmocka_unit_test(stalls_are_found_in_order_unless_hidden_or_short),
        cmocka_unit_test(quantities_are_short_and_have_units),
    };

    return cmocka_run_group_tests(tests, open_rigs, close_rigs);
}
