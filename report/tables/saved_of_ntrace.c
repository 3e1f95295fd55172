/*
 * Tables out of the sums of a .strace: units, stalls, HBM, links, parts of the
 * time, cycles by source operation, over all launches of the file. What sums do
 * not tell (FLOP, operations executed, memory) stays empty.
 */
#include "report/tables/breakdown.h"
#include "report/tables/saved.h"
#include "report/native_trace/ntrace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sums {
    struct ntrace *trace;
    const struct ntrace_info *info;
    int64_t (*core)[NTRACE_CELL_COUNT]; /* by core, over the whole file */
    int active_count, first_active;     /* cores that issued something; the first, or -1 */
};

static void gather(struct sums *s, struct ntrace *t, struct arena *a)
{
    const struct ntrace_info *info = ntrace_info(t);

    *s = (struct sums){.trace = t, .info = info, .first_active = -1};
    s->core = arena_array(a, (size_t)info->core_count + 1, sizeof(*s->core));
    for (int i = 0; i < info->core_count; i++) {
        ntrace_sum(t, NTRACE_CORE, i, 0, info->cycles, s->core[i]);
        if (s->core[i][NTRACE_CELL_ISSUE] == 0)
            continue;
        s->active_count++;
        s->first_active = s->first_active < 0 ? i : s->first_active;
    }
}

/* of cell `member`, over the cores that ran */
static double total(const struct sums *s, int member)
{
    double sum = 0.0;

    for (int i = 0; i < s->info->core_count; i++)
        if (s->core[i][NTRACE_CELL_ISSUE] > 0)
            sum += (double)s->core[i][member];
    return sum;
}

static double all_cycles(const struct sums *s)
{
    return (double)s->info->cycles * s->active_count;
}

static int64_t mean(const struct sums *s, double sum)
{
    return s->active_count ? llround(sum / s->active_count) : 0;
}

static void fill_units(const struct sums *s, struct table *t)
{
    for (int u = 0; u < s->info->unit_count; u++) {
        double busy = total(s, NTRACE_CELL_UNIT + u);

        table_add_row(t);
        table_put_text(t, COL_UNITS_NAME, arena_strdup(t->arena, ntrace_unit_name(s->trace, u)));
        table_put_int(t, COL_UNITS_BUSY, mean(s, busy));
        table_put_real(t, COL_UNITS_BUSY_PCT, view_percent(busy, all_cycles(s)));
    }
}

static void add_stall(const struct sums *s, const char *group, const char *reason, int member,
                      struct table *t)
{
    double core0 = (double)s->core[0][member], sum = total(s, member);

    table_add_row(t);
    table_put_text(t, COL_STALLS_GROUP, group);
    table_put_text(t, COL_STALLS_REASON, reason);
    table_put_int(t, COL_STALLS_CORE, s->core[0][member]);
    table_put_real(t, COL_STALLS_CORE_PCT, view_percent(core0, (double)s->info->cycles));
    table_put_int(t, COL_STALLS_MEAN, mean(s, sum));
    table_put_real(t, COL_STALLS_MEAN_PCT, view_percent(sum, all_cycles(s)));
}

static void fill_stalls(const struct sums *s, struct table *t)
{
    add_stall(s, "issue", "issue", NTRACE_CELL_ISSUE, t);
    for (int g = GROUP_NONE + 1; g < GROUP_COUNT; g++)
        for (int r = 0; r < STALL_COUNT; r++)
            if (view_stall_group((enum stall_reason)r) == (enum view_group)g)
                add_stall(s, view_group_name((enum view_group)g),
                          stall_name((enum stall_reason)r), NTRACE_CELL_STALL + r, t);
    add_stall(s, "idle", "idle", NTRACE_CELL_IDLE, t);
}

static double seconds_of(const struct sums *s)
{
    return (double)s->info->cycles / ((double)s->info->chip->chip_clock_mhz * 1e6);
}

static void fill_hbm(const struct sums *s, struct table *t)
{
    const struct chip *chip = s->info->chip;
    double seconds = seconds_of(s), peak = chip_hbm_peak_bytes_per_second(chip) * seconds;
    int64_t h[NTRACE_HBM_COUNT], runs;

    for (int i = 0; i < s->info->chip_count; i++) {
        double bytes;

        ntrace_sum(s->trace, NTRACE_HBM, i, 0, s->info->cycles, h);
        bytes = (double)(h[NTRACE_HBM_READ_BYTES] + h[NTRACE_HBM_WRITE_BYTES]);
        runs = h[NTRACE_HBM_HITS] + h[NTRACE_HBM_CLOSED] + h[NTRACE_HBM_CONFLICTS];
        table_add_row(t);
        table_put_int(t, COL_HBM_CHIP, i);
        table_put_int(t, COL_HBM_READ, h[NTRACE_HBM_READ_BYTES]);
        table_put_int(t, COL_HBM_WRITE, h[NTRACE_HBM_WRITE_BYTES]);
        table_put_real(t, COL_HBM_RATE, seconds > 0.0 ? bytes / seconds / 1e9 : 0.0);
        table_put_real(t, COL_HBM_RATE_PCT, view_percent(bytes, peak));
        table_put_real(t, COL_HBM_BUSY_PCT,
                       view_percent((double)h[NTRACE_HBM_BUSY_PS],
                                    seconds * 1e12 * (double)chip->hbm_channels));
        table_put_int(t, COL_HBM_RUNS, runs);
        table_put_int(t, COL_HBM_HITS, h[NTRACE_HBM_HITS]);
        table_put_real(t, COL_HBM_HIT_PCT,
                       view_percent((double)h[NTRACE_HBM_HITS], (double)runs));
        table_put_int(t, COL_HBM_CLOSED, h[NTRACE_HBM_CLOSED]);
        table_put_int(t, COL_HBM_CONFLICTS, h[NTRACE_HBM_CONFLICTS]);
        table_put_int(t, COL_HBM_REFRESH, h[NTRACE_HBM_REFRESHES]);
    }
}

static void fill_links(const struct sums *s, struct table *t)
{
    double seconds = seconds_of(s);
    int64_t l[NTRACE_LINK_COUNT];
    int from, to;

    for (int i = 0; i < s->info->link_count; i++) {
        ntrace_sum(s->trace, NTRACE_LINK, i, 0, s->info->cycles, l);
        ntrace_link_ends(s->trace, i, &from, &to);
        table_add_row(t);
        table_put_int(t, COL_LINKS_LINK, i);
        table_put_int(t, COL_LINKS_FROM, from);
        table_put_int(t, COL_LINKS_TO, to);
        table_put_int(t, COL_LINKS_PAYLOAD, l[NTRACE_LINK_PAYLOAD_BYTES]);
        table_put_int(t, COL_LINKS_WIRE, l[NTRACE_LINK_WIRE_BYTES]);
        table_put_int(t, COL_LINKS_BUSY, l[NTRACE_LINK_BUSY_PS]);
        table_put_real(t, COL_LINKS_USE,
                       view_percent((double)l[NTRACE_LINK_BUSY_PS], seconds * 1e12));
        table_put_real(t, COL_LINKS_RATE, seconds > 0.0
                                              ? (double)l[NTRACE_LINK_WIRE_BYTES] / seconds / 1e9
                                              : 0.0);
    }
}

static cycle_t mxu_busy(const struct sums *s, int core)
{
    cycle_t most = 0;

    for (int u = 0; u < s->info->unit_count; u++) {
        const char *name = ntrace_unit_name(s->trace, u);

        if (strncmp(name, "mxu", 3) == 0 && !strchr(name, '.')
            && s->core[core][NTRACE_CELL_UNIT + u] > most)
            most = s->core[core][NTRACE_CELL_UNIT + u];
    }
    return most;
}

static void fill_breakdown(const struct sums *s, struct table *t)
{
    struct breakdown sum = {{0}}, one;

    for (int i = 0; i < s->info->core_count; i++) {
        if (s->core[i][NTRACE_CELL_ISSUE] == 0)
            continue;
        breakdown_of_counts(s->info->cycles, s->core[i][NTRACE_CELL_IDLE],
                            &s->core[i][NTRACE_CELL_STALL], mxu_busy(s, i), &one);
        for (int p = 0; p <= BREAKDOWN_LAST_ON_CORE; p++)
            sum.part[p] += one.part[p];
    }
    for (int p = 0; p <= BREAKDOWN_LAST_ON_CORE; p++) {
        const struct breakdown_text *text = breakdown_text((enum breakdown_part)p);
        int64_t cycles = mean(s, (double)sum.part[p]);

        table_add_row(t);
        table_put_text(t, COL_BREAKDOWN_PART, text->key);
        table_put_int(t, COL_BREAKDOWN_CYCLES, cycles);
        table_put_real(t, COL_BREAKDOWN_US,
                       (double)cycles / (double)s->info->chip->chip_clock_mhz);
        table_put_real(t, COL_BREAKDOWN_CORE_PCT,
                       view_percent((double)sum.part[p], all_cycles(s)));
        table_put_text(t, COL_BREAKDOWN_MEANING, text->meaning);
    }
}

static void fill_ops(const struct sums *s, struct table *t)
{
    const struct isa_program *p =
        s->first_active < 0 ? NULL : ntrace_program(s->trace, s->first_active);
    int64_t *cycles;

    if (!p)
        return;
    cycles = arena_array(t->arena, (size_t)p->note_count + 1, sizeof(*cycles));
    ntrace_note_cycles(s->trace, s->first_active, 0, s->info->cycles, cycles);
    for (uint32_t n = 0; n <= p->note_count; n++) {
        double us = (double)cycles[n] / (double)s->info->chip->chip_clock_mhz;

        if (cycles[n] == 0)
            continue;
        table_add_row(t);
        table_put_text(t, COL_OPS_FRAMEWORK,
                       n ? arena_strdup(t->arena, p->note[n - 1]) : "(none)");
        table_put_real(t, COL_OPS_TOTAL_US, us);
        table_put_real(t, COL_OPS_SELF_US, us);
        table_put_real(t, COL_OPS_SELF_PCT,
                       view_percent((double)cycles[n], (double)s->info->cycles));
        table_put_int(t, COL_OPS_CYCLES, cycles[n]);
    }
    table_sort(t, COL_OPS_CYCLES);
}

void saved_fill_from_ntrace(struct saved *s, struct ntrace *t, struct arena *a)
{
    struct sums sums;

    gather(&sums, t, a);
    snprintf(s->heading, sizeof(s->heading), "%s%s%s, %s at %lld MHz: %zu launch%s",
             sums.info->title, *sums.info->title ? "; " : "",
             slice_print(sums.info->slice).text, sums.info->chip->chip_name,
             (long long)sums.info->chip->chip_clock_mhz, sums.info->launch_count,
             sums.info->launch_count == 1 ? "" : "es");
    if (sums.info->core_count == 0)
        return;
    fill_units(&sums, &s->table[TABLE_UNITS]);
    fill_stalls(&sums, &s->table[TABLE_STALLS]);
    fill_hbm(&sums, &s->table[TABLE_HBM]);
    fill_links(&sums, &s->table[TABLE_LINKS]);
    fill_breakdown(&sums, &s->table[TABLE_BREAKDOWN]);
    fill_ops(&sums, &s->table[TABLE_OPS]);
}
