/*
 * The HBM panel: its columns against every run in memory and the machine's
 * counters, refreshes against the chip's period, and how it is drawn.
 */
#include <string.h>

#include "tests/rigs/draw_rig.h"
#include "viz/models/model_hbm.h"

#include <math.h>

#include "tests/rigs/panel_rig.h"
#include "tests/test.h"

static struct panel_rig r;
static struct hbm_model m;

static void open(const char *slice, unsigned cores, enum trace_level level)
{
    panel_rig_open(&r, slice, panel_program, cores, level);
    memset(&m, 0, sizeof(m));
}

static void close_all(void)
{
    hbm_model_fini(&m);
    panel_rig_close(&r);
}

TEST(columns_of_the_whole_run_add_up_to_the_counters)
{
    static const size_t columns[] = {1, 7, 100, 3000};

    open("v3-8", 0x3, TRACE_BUNDLE);
    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        const struct hbm_stats *h = machine_hbm_stats(r.rig.m, 0);

        hbm_model_load(&m, r.run, 0, 0, ntrace_info(r.run)->cycles, columns[i]);
        assert_true(m.count <= columns[i] + 1);
        assert_int_equal(m.is_exact, m.width_cycles < NTRACE_CELL_CYCLES);
        assert_int_equal(lround(m.total.read_bytes), h->read_bytes);
        assert_int_equal(lround(m.total.write_bytes), h->write_bytes);
        assert_int_equal(lround(m.total.hits), h->row_hits);
        assert_int_equal(lround(m.total.closed), h->row_closed);
        assert_int_equal(lround(m.total.conflicts), h->row_conflicts);
        assert_int_equal(lround(m.total.refreshes), h->refresh_waits);
        assert_true(fabs(m.total.busy_ps - (double)h->busy_ps) < 1000);
    }
    close_all();
}

/* bytes that the runs of the log move in the cycles of one column */
static double bytes_of_log(size_t column)
{
    const double from = (double)(m.from + (cycle_t)column * m.width_cycles) * m.ps_per_cycle;
    const double end = from + (double)m.width_cycles * m.ps_per_cycle;
    double bytes = 0;

    for (size_t i = 0; i < r.tee.log.hbm_count; i++) {
        const struct trace_hbm *h = &r.tee.log.hbm[i].h;
        const double a = fmax(from, (double)h->data_at), b = fmin(end, (double)h->end_at);

        if (r.tee.log.hbm[i].chip == 0 && b > a)
            bytes += (double)h->bytes * (b - a) / (double)(h->end_at - h->data_at);
    }
    return bytes;
}

TEST(columns_kept_from_before_are_those_that_would_be_asked_for)
{
    static const cycle_t moves[][2] = {{0, 6400}, {64, 6464}, {1024, 7424}, {512, 6912},
                                       {512, 3000}, {0, 6400}};
    struct hbm_model fresh;

    open("v3", 1, TRACE_OP);
    for (size_t i = 0; i < COUNT_OF(moves); i++) {
        memset(&fresh, 0, sizeof(fresh));
        hbm_model_load(&m, r.run, 0, moves[i][0], moves[i][1], 100);
        hbm_model_load(&fresh, r.run, 0, moves[i][0], moves[i][1], 100);
        assert_int_equal(m.count, fresh.count);
        assert_false(m.is_exact);
        assert_memory_equal(m.column, fresh.column, m.count * sizeof(*m.column));
        assert_memory_equal(m.channel_busy_ps, fresh.channel_busy_ps,
                            m.count * (size_t)m.channel_count * sizeof(double));
        hbm_model_fini(&fresh);
    }
    close_all();
}

TEST(near_columns_hold_what_the_runs_move_in_them)
{
    size_t i;

    open("v3", 1, TRACE_BUNDLE);
    hbm_model_load(&m, r.run, 0, 400, 1000, 100);
    assert_true(m.is_exact && m.has_runs);
    assert_int_equal(m.width_cycles, 8);
    for (i = 0; i < m.count; i++)
        assert_true(fabs(m.column[i].read_bytes + m.column[i].write_bytes - bytes_of_log(i))
                    < 0.01);
    assert_true(m.total.read_bytes > 1000);
    close_all();
}

TEST(shares_of_channels_and_rates_stay_below_the_peak)
{
    double sum = 0;
    size_t i;
    int c;

    open("v3", 1, TRACE_BUNDLE);
    hbm_model_load(&m, r.run, 0, 0, ntrace_info(r.run)->cycles, 200);
    for (i = 0; i < m.count; i++)
        for (c = 0; c < m.channel_count; c++) {
            const double share = hbm_model_channel_share(&m, i, c);

            assert_true(share >= 0 && share <= 1);
            sum += share;
        }
    assert_true(fabs(sum * (double)m.width_cycles * m.ps_per_cycle - m.total.busy_ps) <
                0.02 * m.total.busy_ps);
    assert_true(hbm_model_rate(&m, m.total.read_bytes, m.total_cycles) <
                m.peak_bytes_per_second);
    close_all();
}

TEST(refreshes_come_once_a_period_from_the_launch_on)
{
    double period;
    const struct ntrace_info *info;

    open("v3", 1, TRACE_BUNDLE);
    info = ntrace_info(r.run);
    period = (double)info->chip->hbm_trefi_ps * (double)info->chip->chip_clock_mhz / 1e6;
    assert_true(fabs(hbm_model_refresh(info, 0) - period) < 1e-6);
    assert_true(fabs(hbm_model_refresh(info, period + 1) - 2 * period) < 1e-6);
    close_all();
}

TEST(texts_never_overlap)
{
    struct view v;

    open("v3", 1, TRACE_BUNDLE);
    view_init(&v, r.run);
    v.cursor = 700;
    panel_check_drawing(PANEL_HBM, &v);
    view_show(&v, 500, 900);
    panel_check_drawing(PANEL_HBM, &v);
    close_all();
    open("v3", 1, TRACE_STEP);
    view_init(&v, r.run);
    panel_check_drawing(PANEL_HBM, &v);
    close_all();
}

TEST(a_click_chooses_the_channel_whose_banks_are_shown)
{
    const struct rect area = {0, 0, 1280, 700};
    void *panel = panel_create(PANEL_HBM);
    struct draw_list d;
    uint64_t before;
    struct view v;

    open("v3", 1, TRACE_BUNDLE);
    view_init(&v, r.run);
    view_show(&v, 500, 900);
    draw_init(&d, 100);
    panel_draw(PANEL_HBM, panel, &v, &d, area);
    before = draw_rig_hash(&d);
    assert_true(panel_input(PANEL_HBM, panel, &v, &(struct input){.kind = INPUT_PRESS, .x = 600,
                                                           .y = 400}, area));
    draw_clear(&d);
    panel_draw(PANEL_HBM, panel, &v, &d, area);
    assert_true(draw_rig_hash(&d) != before);
    draw_fini(&d);
    panel_destroy(PANEL_HBM, panel);
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_of_the_whole_run_add_up_to_the_counters),
        cmocka_unit_test(columns_kept_from_before_are_those_that_would_be_asked_for),
        cmocka_unit_test(near_columns_hold_what_the_runs_move_in_them),
        cmocka_unit_test(shares_of_channels_and_rates_stay_below_the_peak),
        cmocka_unit_test(refreshes_come_once_a_period_from_the_launch_on),
        cmocka_unit_test(texts_never_overlap),
        cmocka_unit_test(a_click_chooses_the_channel_whose_banks_are_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
