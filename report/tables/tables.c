/* Fills each table of a run from the view of its last step. */
#include "report/tables/tables.h"

#include "report/tables/breakdown.h"
#include "report/tables/communication.h"
#include "report/tables/energy_table.h"
#include "report/tables/op_stats.h"

#include <math.h>

static void fill_epochs(const struct report_run *r, struct table *t)
{
    for (size_t i = 0; i < r->epoch_count; i++) {
        const struct report_epoch *p = &r->epoch[i];

        table_add_row(t);
        table_put_int(t, COL_EPOCHS_EPOCH, p->epoch);
        table_put_real(t, COL_EPOCHS_LOSS, p->loss);
        table_put_real(t, COL_EPOCHS_TRAIN, 100.0 * p->train_accuracy);
        table_put_real(t, COL_EPOCHS_TEST, 100.0 * p->test_accuracy);
        table_put_int(t, COL_EPOCHS_STEPS, p->steps);
        table_put_int(t, COL_EPOCHS_CYCLES, p->step_cycles);
        table_put_real(t, COL_EPOCHS_US, p->step_us);
        table_put_real(t, COL_EPOCHS_RATE, p->samples_per_second);
    }
}

static void add_unit(const struct report_view *v, int unit, struct table *t)
{
    double all = (double)v->cycles * v->active_count;
    struct unit_counters u;

    view_sum_unit(v, unit, &u);
    table_add_row(t);
    table_put_text(t, COL_UNITS_NAME, u.name);
    table_put_int(t, COL_UNITS_BUSY, view_mean(v, (double)u.busy_cycles));
    table_put_real(t, COL_UNITS_BUSY_PCT, view_percent((double)u.busy_cycles, all));
    table_put_int(t, COL_UNITS_WAITING, view_mean(v, (double)u.waiting_cycles));
    table_put_real(t, COL_UNITS_WAITING_PCT, view_percent((double)u.waiting_cycles, all));
    table_put_int(t, COL_UNITS_IDLE, view_mean(v, (double)u.idle_cycles));
    table_put_real(t, COL_UNITS_IDLE_PCT, view_percent((double)u.idle_cycles, all));
    table_put_int(t, COL_UNITS_OPS, view_mean(v, (double)u.op_count));
    table_put_real(t, COL_UNITS_PER_SLOT,
                   u.slot_cycles ? (double)u.op_count / (double)u.slot_cycles : 0.0);
}

static void fill_units(const struct report_view *v, struct table *t)
{
    for (int i = 0; i < v->core[0]->unit_count; i++)
        add_unit(v, i, t);
}

static void add_cycles(const struct report_view *v, const char *group, const char *reason,
                       cycle_t core0, cycle_t sum, struct table *t)
{
    table_add_row(t);
    table_put_text(t, COL_STALLS_GROUP, group);
    table_put_text(t, COL_STALLS_REASON, reason);
    table_put_int(t, COL_STALLS_CORE, core0);
    table_put_real(t, COL_STALLS_CORE_PCT, view_percent((double)core0, (double)v->cycles));
    table_put_int(t, COL_STALLS_MEAN, view_mean(v, (double)sum));
    table_put_real(t, COL_STALLS_MEAN_PCT,
                   view_percent((double)sum, (double)v->cycles * v->active_count));
}

static void fill_stalls(const struct report_view *v, struct table *t)
{
    cycle_t issue = 0, idle = 0;

    for (int i = 0; i < v->core_count; i++)
        if (view_is_active(v, i)) {
            issue += v->core[i]->issue_cycles;
            idle += v->core[i]->idle_cycles;
        }
    add_cycles(v, "issue", "issue", v->core[0]->issue_cycles, issue, t);
    for (int g = GROUP_NONE + 1; g < GROUP_COUNT; g++)
        for (int r = 0; r < STALL_COUNT; r++)
            if (view_stall_group((enum stall_reason)r) == (enum view_group)g)
                add_cycles(v, view_group_name((enum view_group)g),
                           stall_name((enum stall_reason)r), v->core[0]->stall_cycles[r],
                           view_stall_cycles(v, (enum stall_reason)r), t);
    add_cycles(v, "idle", "idle", v->core[0]->idle_cycles, idle, t);
}

static void fill_hbm(const struct report_view *v, struct table *t)
{
    double seconds = view_seconds(v), peak = chip_hbm_peak_bytes_per_second(v->chip);

    for (int i = 0; i < v->chip_count; i++) {
        const struct hbm_stats *h = v->hbm[i];
        double rate = seconds > 0.0 ? (double)(h->read_bytes + h->write_bytes) / seconds : 0.0;

        table_add_row(t);
        table_put_int(t, COL_HBM_CHIP, i);
        table_put_int(t, COL_HBM_READ, h->read_bytes);
        table_put_int(t, COL_HBM_WRITE, h->write_bytes);
        table_put_real(t, COL_HBM_RATE, rate / 1e9);
        table_put_real(t, COL_HBM_RATE_PCT, view_percent(rate, peak));
        table_put_real(t, COL_HBM_BUSY_PCT, 100.0 * view_hbm_use(v, i));
        table_put_int(t, COL_HBM_RUNS, h->run_count);
        table_put_int(t, COL_HBM_HITS, h->row_hits);
        table_put_real(t, COL_HBM_HIT_PCT, view_percent((double)h->row_hits,
                                                        (double)h->run_count));
        table_put_int(t, COL_HBM_CLOSED, h->row_closed);
        table_put_int(t, COL_HBM_CONFLICTS, h->row_conflicts);
        table_put_int(t, COL_HBM_REFRESH, h->refresh_waits);
    }
}

static void put_place(const struct slice *s, int chip, int x, struct table *t)
{
    table_put_int(t, x, chip % s->dim[0]);
    table_put_int(t, x + 1, chip / s->dim[0] % s->dim[1]);
    table_put_int(t, x + 2, chip / s->dim[0] / s->dim[1]);
}

static void fill_links(const struct report_view *v, struct table *t)
{
    double seconds = view_seconds(v);

    for (int i = 0; i < v->link_count; i++) {
        const struct net_link_stats *l = v->link[i];

        table_add_row(t);
        table_put_int(t, COL_LINKS_LINK, i);
        table_put_int(t, COL_LINKS_FROM, l->from);
        put_place(v->slice, l->from, COL_LINKS_FROM_X, t);
        table_put_int(t, COL_LINKS_TO, l->to);
        put_place(v->slice, l->to, COL_LINKS_TO_X, t);
        table_put_int(t, COL_LINKS_PAYLOAD, l->payload_bytes);
        table_put_int(t, COL_LINKS_WIRE, l->wire_bytes);
        table_put_int(t, COL_LINKS_BUSY, l->busy_ps);
        table_put_real(t, COL_LINKS_USE, 100.0 * view_link_use(v, i));
        table_put_real(t, COL_LINKS_RATE,
                       seconds > 0.0 ? (double)l->wire_bytes / seconds / 1e9 : 0.0);
    }
}

static void fill_breakdown(const struct report_view *v, struct table *t)
{
    struct breakdown b;
    double all, core;

    breakdown_of_launch(v, &b);
    all = (double)breakdown_cycles(&b);
    core = (double)breakdown_core_cycles(&b);
    for (int p = 0; p < BREAKDOWN_PART_COUNT; p++) {
        const struct breakdown_text *text = breakdown_text((enum breakdown_part)p);
        double cycles = (double)b.part[p];

        table_add_row(t);
        table_put_text(t, COL_BREAKDOWN_PART, text->key);
        table_put_int(t, COL_BREAKDOWN_CYCLES, view_mean(v, cycles));
        if (v->active_count)
            table_put_real(t, COL_BREAKDOWN_US,
                           cycles / v->active_count / (double)v->chip->chip_clock_mhz);
        if (p <= BREAKDOWN_LAST_ON_CORE)
            table_put_real(t, COL_BREAKDOWN_CORE_PCT, view_percent(cycles, core));
        table_put_real(t, COL_BREAKDOWN_STEP_PCT, view_percent(cycles, all));
        table_put_text(t, COL_BREAKDOWN_MEANING, text->meaning);
    }
}

void tables_fill_sums(const struct report_view *v, struct table t[TABLE_COUNT])
{
    fill_units(v, &t[TABLE_UNITS]);
    fill_stalls(v, &t[TABLE_STALLS]);
    fill_hbm(v, &t[TABLE_HBM]);
    fill_links(v, &t[TABLE_LINKS]);
}

void tables_fill(const struct report_run *r, const struct report_view *v, struct arena *a,
                 struct table t[TABLE_COUNT])
{
    for (int i = 0; i < TABLE_COUNT; i++)
        table_init(&t[i], (enum table_id)i, a);
    fill_epochs(r, &t[TABLE_EPOCHS]);
    if (!v)
        return;
    table_fill_memory(v, &t[TABLE_MEMORY]);
    if (v->mode == MODE_FUNCTIONAL)
        return;
    op_stats_fill_table(v, &t[TABLE_OPS]);
    communication_fill_table(v, &t[TABLE_COLLECTIVES]);
    op_stats_fill_layers(v, &t[TABLE_LAYERS]);
    tables_fill_sums(v, t);
    table_fill_counters(v, &t[TABLE_COUNTERS]);
    fill_breakdown(v, &t[TABLE_BREAKDOWN]);
    energy_fill_table(v, &t[TABLE_ENERGY]);
    energy_fill_ops(v, &t[TABLE_ENERGY_OPS]);
}
