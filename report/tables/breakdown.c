/*
 * Divides a core's cycles into parts by its counters, so that they add up to the step, and prints
 * them as bars.
 */
#include "report/tables/breakdown.h"

#include "base/text.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const struct breakdown_text texts[BREAKDOWN_PART_COUNT] = {
    [BREAKDOWN_COMPUTE] = {"compute", "compute", "a matrix unit is busy"},
    [BREAKDOWN_VECTOR] = {"exposed_vector", "exposed vector",
                          "none is: other units work or are waited for"},
    [BREAKDOWN_HBM] = {"exposed_hbm", "exposed HBM", "waits for copies to or from HBM"},
    [BREAKDOWN_ICI] = {"exposed_ici", "exposed ICI", "waits for another core or the network"},
    [BREAKDOWN_IDLE] = {"idle", "idle", "the core has halted, others have not"},
    [BREAKDOWN_INPUT] = {"input", "input (host)", "sent to the chips before the launch"},
    [BREAKDOWN_DISPATCH] = {"dispatch", "dispatch (host)", "to start the program"},
};

const struct breakdown_text *breakdown_text(enum breakdown_part p)
{
    assert(p < BREAKDOWN_PART_COUNT);
    return &texts[p];
}

void breakdown_of_counts(cycle_t cycles, cycle_t idle_cycles,
                         const cycle_t stall_cycles[STALL_COUNT], cycle_t mxu_busy_cycles,
                         struct breakdown *b)
{
    cycle_t own = cycles - idle_cycles;

    memset(b, 0, sizeof(*b));
    b->part[BREAKDOWN_IDLE] = idle_cycles;
    for (int r = 0; r < STALL_COUNT; r++) {
        enum view_group g = view_stall_group((enum stall_reason)r);

        if (g == GROUP_HBM)
            b->part[BREAKDOWN_HBM] += stall_cycles[r];
        else if (g == GROUP_ICI)
            b->part[BREAKDOWN_ICI] += stall_cycles[r];
    }
    own -= b->part[BREAKDOWN_HBM] + b->part[BREAKDOWN_ICI];
    assert(own >= 0);
    b->part[BREAKDOWN_COMPUTE] = mxu_busy_cycles < own ? mxu_busy_cycles : own;
    b->part[BREAKDOWN_VECTOR] = own - b->part[BREAKDOWN_COMPUTE];
}

/* "mxu0", not its port "mxu0.push" */
static bool is_mxu(const char *unit)
{
    return strncmp(unit, "mxu", 3) == 0 && !strchr(unit, '.');
}

cycle_t breakdown_mxu_busy_cycles(const struct core_counters *c)
{
    cycle_t most = 0;

    for (int i = 0; i < c->unit_count; i++)
        if (is_mxu(c->unit[i].name) && c->unit[i].busy_cycles > most)
            most = c->unit[i].busy_cycles;
    return most;
}

static cycle_t cycles_of_us(const struct report_view *v, double us)
{
    return (cycle_t)llround(us * (double)v->chip->chip_clock_mhz);
}

void breakdown_of_core(const struct report_view *v, int core, struct breakdown *b)
{
    const struct core_counters *c = v->core[core];
    double starts_us = (double)v->chip->host_dispatch_us + view_device_us(v)
                       - view_seconds(v) * 1e6;

    breakdown_of_counts(c->cycles, c->idle_cycles, c->stall_cycles, breakdown_mxu_busy_cycles(c),
                        b);
    b->part[BREAKDOWN_INPUT] = cycles_of_us(v, view_input_us(v));
    b->part[BREAKDOWN_DISPATCH] = cycles_of_us(v, starts_us);
}

void breakdown_of_launch(const struct report_view *v, struct breakdown *b)
{
    struct breakdown one;

    memset(b, 0, sizeof(*b));
    for (int i = 0; i < v->core_count; i++) {
        if (!view_is_active(v, i))
            continue;
        breakdown_of_core(v, i, &one);
        for (int p = 0; p < BREAKDOWN_PART_COUNT; p++)
            b->part[p] += one.part[p];
    }
}

cycle_t breakdown_core_cycles(const struct breakdown *b)
{
    cycle_t sum = 0;

    for (int p = 0; p <= BREAKDOWN_LAST_ON_CORE; p++)
        sum += b->part[p];
    return sum;
}

cycle_t breakdown_cycles(const struct breakdown *b)
{
    return breakdown_core_cycles(b) + b->part[BREAKDOWN_INPUT] + b->part[BREAKDOWN_DISPATCH];
}

static const char *bar(double share)
{
    static const char full[] = "####################";
    size_t chars = (size_t)(share * (double)(sizeof(full) - 1) + 0.5);

    return full + (sizeof(full) - 1 - chars);
}

void breakdown_print(const struct report_view *v, FILE *to)
{
    struct breakdown b;
    double all = (double)v->cycles * v->active_count;

    breakdown_of_launch(v, &b);
    fprintf(to, "step breakdown, mean of %d core%s\n", v->active_count,
            v->active_count == 1 ? "" : "s");
    for (int p = 0; p <= BREAKDOWN_LAST_ON_CORE; p++) {
        double cycles = (double)b.part[p];
        int64_t mean = v->active_count ? llround(cycles / v->active_count) : 0;

        fprintf(to, "  %-24s%14s %6.1f %%  %-20s  %s\n", texts[p].name,
                text_thousands(mean).text, view_percent(cycles, all),
                bar(all > 0.0 ? cycles / all : 0.0), texts[p].meaning);
    }
    fputc('\n', to);
}
