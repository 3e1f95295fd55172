/*
 * Tables out of the sums of a .strace: units, stalls, HBM, links, parts of the
 * time, cycles by source operation, over all launches of the file. What sums do
 * not tell (FLOP, operations executed, memory) stays empty.
 */
#include "report/tables/breakdown.h"
#include "report/tables/saved.h"
#include "report/tables/tables.h"
#include "report/native_trace/ntrace.h"

#include <string.h>

static void core_of_trace(struct ntrace *t, int core, struct arena *a, struct core_counters *c)
{
    const struct ntrace_info *info = ntrace_info(t);
    int64_t sum[NTRACE_CELL_COUNT];

    ntrace_sum(t, NTRACE_CORE, core, 0, info->cycles, sum);
    *c = (struct core_counters){.cycles = info->cycles, .issue_cycles = sum[NTRACE_CELL_ISSUE],
                                .idle_cycles = sum[NTRACE_CELL_IDLE],
                                .unit_count = info->unit_count};
    memcpy(c->stall_cycles, &sum[NTRACE_CELL_STALL], sizeof(c->stall_cycles));
    for (int u = 0; u < info->unit_count; u++) {
        c->unit[u].name = arena_strdup(a, ntrace_unit_name(t, u));
        c->unit[u].busy_cycles = sum[NTRACE_CELL_UNIT + u];
    }
}

/* what the sums of the whole file tell of a launch; the rest is 0 */
static void view_of_trace(struct ntrace *t, struct arena *a, struct report_view *v)
{
    const struct ntrace_info *info = ntrace_info(t);
    struct core_counters *core = arena_array(a, (size_t)info->core_count + 1, sizeof(*core));
    struct hbm_stats *hbm = arena_array(a, (size_t)info->chip_count + 1, sizeof(*hbm));
    struct net_link_stats *link = arena_array(a, (size_t)info->link_count + 1, sizeof(*link));
    int64_t sum[NTRACE_HBM_COUNT + NTRACE_LINK_COUNT];

    *v = (struct report_view){
        .chip = info->chip, .slice = info->slice, .cycles = info->cycles, .ops_core = -1,
        .core_count = info->core_count, .chip_count = info->chip_count,
        .link_count = info->link_count,
        .core = arena_array(a, (size_t)info->core_count + 1, sizeof(*v->core)),
        .hbm = arena_array(a, (size_t)info->chip_count + 1, sizeof(*v->hbm)),
        .link = arena_array(a, (size_t)info->link_count + 1, sizeof(*v->link))};
    for (int i = 0; i < v->core_count; i++) {
        v->core[i] = &core[i];
        core_of_trace(t, i, a, &core[i]);
        v->active_count += view_is_active(v, i);
        v->ops_core = v->ops_core < 0 && view_is_active(v, i) ? i : v->ops_core;
    }
    for (int i = 0; i < v->chip_count; i++) {
        ntrace_sum(t, NTRACE_HBM, i, 0, v->cycles, sum);
        hbm[i] = (struct hbm_stats){
            .read_bytes = sum[NTRACE_HBM_READ_BYTES], .write_bytes = sum[NTRACE_HBM_WRITE_BYTES],
            .busy_ps = sum[NTRACE_HBM_BUSY_PS], .row_hits = sum[NTRACE_HBM_HITS],
            .row_closed = sum[NTRACE_HBM_CLOSED], .row_conflicts = sum[NTRACE_HBM_CONFLICTS],
            .refresh_waits = sum[NTRACE_HBM_REFRESHES],
            .run_count = sum[NTRACE_HBM_HITS] + sum[NTRACE_HBM_CLOSED]
                         + sum[NTRACE_HBM_CONFLICTS]};
        v->hbm[i] = &hbm[i];
    }
    for (int i = 0; i < v->link_count; i++) {
        ntrace_sum(t, NTRACE_LINK, i, 0, v->cycles, sum);
        link[i] = (struct net_link_stats){.payload_bytes = sum[NTRACE_LINK_PAYLOAD_BYTES],
                                          .wire_bytes = sum[NTRACE_LINK_WIRE_BYTES],
                                          .busy_ps = sum[NTRACE_LINK_BUSY_PS]};
        ntrace_link_ends(t, i, &link[i].from, &link[i].to);
        v->link[i] = &link[i];
    }
}

/* columns of which sums know nothing */
static void leave_empty(struct table *t, const int *column, size_t count)
{
    for (size_t row = 0; row < t->row_count; row++)
        for (size_t i = 0; i < count; i++)
            t->cell[row * (size_t)t->column_count + (size_t)(column[i] - t->first)] = cell_none();
}

static void fill_breakdown(const struct report_view *v, struct table *t)
{
    struct breakdown sum;

    breakdown_of_launch(v, &sum);
    for (int p = 0; p <= BREAKDOWN_LAST_ON_CORE; p++) {
        const struct breakdown_text *text = breakdown_text((enum breakdown_part)p);
        int64_t cycles = view_mean(v, (double)sum.part[p]);

        table_add_row(t);
        table_put_text(t, COL_BREAKDOWN_PART, text->key);
        table_put_int(t, COL_BREAKDOWN_CYCLES, cycles);
        table_put_real(t, COL_BREAKDOWN_US, (double)cycles / (double)v->chip->chip_clock_mhz);
        table_put_real(t, COL_BREAKDOWN_CORE_PCT,
                       view_percent((double)sum.part[p], (double)v->cycles * v->active_count));
        table_put_text(t, COL_BREAKDOWN_MEANING, text->meaning);
    }
}

static void fill_ops(const struct report_view *v, struct ntrace *trace, struct table *t)
{
    const struct isa_program *p = v->ops_core < 0 ? NULL : ntrace_program(trace, v->ops_core);
    int64_t *cycles;

    if (!p)
        return;
    cycles = arena_array(t->arena, (size_t)p->note_count + 1, sizeof(*cycles));
    ntrace_note_cycles(trace, v->ops_core, 0, v->cycles, cycles);
    for (uint32_t n = 0; n <= p->note_count; n++) {
        double us = (double)cycles[n] / (double)v->chip->chip_clock_mhz;

        if (cycles[n] == 0)
            continue;
        table_add_row(t);
        table_put_text(t, COL_OPS_FRAMEWORK,
                       n ? arena_strdup(t->arena, p->note[n - 1]) : "(none)");
        table_put_real(t, COL_OPS_TOTAL_US, us);
        table_put_real(t, COL_OPS_SELF_US, us);
        table_put_real(t, COL_OPS_SELF_PCT,
                       view_percent((double)cycles[n], (double)v->cycles));
        table_put_int(t, COL_OPS_CYCLES, cycles[n]);
    }
    table_sort(t, COL_OPS_CYCLES);
}

void saved_fill_from_ntrace(struct saved *s, struct ntrace *t, struct arena *a)
{
    static const int of_units[] = {COL_UNITS_WAITING, COL_UNITS_WAITING_PCT, COL_UNITS_IDLE,
                                   COL_UNITS_IDLE_PCT, COL_UNITS_OPS, COL_UNITS_PER_SLOT};
    static const int of_links[] = {COL_LINKS_FROM_X, COL_LINKS_FROM_Y, COL_LINKS_FROM_Z,
                                   COL_LINKS_TO_X, COL_LINKS_TO_Y, COL_LINKS_TO_Z};
    const struct ntrace_info *info = ntrace_info(t);
    struct report_view v;

    snprintf(s->heading, sizeof(s->heading), "%s%s%s, %s at %lld MHz: %zu launch%s", info->title,
             *info->title ? "; " : "", slice_print(info->slice).text, info->chip->chip_name,
             (long long)info->chip->chip_clock_mhz, info->launch_count,
             info->launch_count == 1 ? "" : "es");
    if (info->core_count == 0)
        return;
    view_of_trace(t, a, &v);
    tables_fill_sums(&v, s->table);
    leave_empty(&s->table[TABLE_UNITS], of_units, COUNT_OF(of_units));
    leave_empty(&s->table[TABLE_LINKS], of_links, COUNT_OF(of_links));
    fill_breakdown(&v, &s->table[TABLE_BREAKDOWN]);
    fill_ops(&v, t, &s->table[TABLE_OPS]);
}
