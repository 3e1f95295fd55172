/* Writes stats.txt, every counter on a line of its own, as gem5 users know them. */
#include "report/folder/files.h"

#include "report/tables/breakdown.h"
#include "report/view/counters.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void put_int(FILE *to, const char *name, int64_t value, const char *what, const char *unit)
{
    fprintf(to, "%-44s %20" PRId64 "  # %s (%s)\n", name, value, what, unit);
}

static void put_real(FILE *to, const char *name, double value, const char *what, const char *unit)
{
    if (isfinite(value))
        fprintf(to, "%-44s %20.9g  # %s (%s)\n", name, value, what, unit);
}

/* "core3.unit.mxu0.busy": `part` and `member` may be "" */
struct name {
    char text[96];
};

static struct name name_of(const char *thing, int index, const char *part, const char *member)
{
    struct name n;

    snprintf(n.text, sizeof(n.text), "%s%d%s%s%s", thing, index, part, *member ? "." : "", member);
    return n;
}

static void put_counters(FILE *to, const char *thing, int index, const char *part,
                         enum counter_owner owner, const void *counters, bool is_timed)
{
    for (const struct counter *c = NULL; (c = counter_next(owner, c)) != NULL;)
        if (is_timed || !c->is_timed)
            put_int(to, name_of(thing, index, part, c->key).text, counter_value(c, counters),
                    c->meaning, c->unit);
}

static void print_units(const struct core_counters *c, int core, FILE *to)
{
    char part[48];

    for (int i = 0; i < c->unit_count; i++) {
        snprintf(part, sizeof(part), ".unit.%s", c->unit[i].name);
        put_counters(to, "core", core, part, COUNTER_UNIT, &c->unit[i], true);
    }
}

static void print_stalls(const struct core_counters *c, int core, FILE *to)
{
    static const char *const meanings[STALL_COUNT] = {
#define STALL(id, name, meaning) meaning,
#include "sim/results/stalls.def"
    };

    for (int r = 0; r < STALL_COUNT; r++)
        put_int(to, name_of("core", core, ".stall", stall_name((enum stall_reason)r)).text,
                c->stall_cycles[r], meanings[r], "Cycle");
}

static void print_breakdown(const struct report_view *v, int core, FILE *to)
{
    struct breakdown b;

    breakdown_of_core(v, core, &b);
    for (int p = 0; p < BREAKDOWN_PART_COUNT; p++) {
        const struct breakdown_text *text = breakdown_text((enum breakdown_part)p);

        put_int(to, name_of("core", core, ".breakdown", text->key).text, b.part[p], text->meaning,
                "Cycle");
    }
}

static void print_core(const struct report_view *v, int core, FILE *to)
{
    const struct core_counters *c = v->core[core];
    bool is_timed = v->mode != MODE_FUNCTIONAL;

    put_counters(to, "core", core, "", COUNTER_CORE, c, is_timed);
    if (is_timed) {
        print_stalls(c, core, to);
        print_breakdown(v, core, to);
        print_units(c, core, to);
    }
    put_counters(to, "core", core, "", COUNTER_TRAFFIC, c, is_timed);
}

static void print_hbm(const struct report_view *v, int chip, FILE *to)
{
    put_counters(to, "chip", chip, ".hbm", COUNTER_HBM, v->hbm[chip], true);
    put_real(to, name_of("chip", chip, ".hbm", "busy_share").text, view_hbm_use(v, chip),
             "of the time of all data buses", "Ratio");
}

static void print_link(const struct report_view *v, int link, FILE *to)
{
    const struct net_link_stats *l = v->link[link];

    put_int(to, name_of("link", link, "", "from_chip").text, l->from, "chip that sends", "Count");
    put_int(to, name_of("link", link, "", "to_chip").text, l->to, "chip that receives", "Count");
    put_counters(to, "link", link, "", COUNTER_LINK, l, true);
    put_real(to, name_of("link", link, "", "busy_share").text, view_link_use(v, link),
             "of the time of the step", "Ratio");
}

static void print_machine(const struct report_view *v, FILE *to)
{
    bool is_timed = v->mode != MODE_FUNCTIONAL;

    if (is_timed) {
        put_real(to, "sim_seconds", view_seconds(v), "simulated, of one step", "Second");
        put_int(to, "sim_ticks", view_ps(v->chip, v->cycles), "the same in picoseconds", "Tick");
        put_int(to, "sim_freq", 1000000000000, "ticks per simulated second",
                "(Tick/Second)");
        put_int(to, "sim_cycles", v->cycles, "core cycles of one step", "Cycle");
        put_int(to, "core_clock", v->chip->chip_clock_mhz * 1000000, "of the cores", "Hertz");
    }
    for (int i = 0; i < v->core_count; i++)
        print_core(v, i, to);
    for (int i = 0; is_timed && i < v->chip_count; i++)
        print_hbm(v, i, to);
    for (int i = 0; is_timed && i < v->link_count; i++)
        print_link(v, i, to);
}

void stats_txt_print(const struct report_run *r, const struct report_view *v, FILE *to)
{
    const struct report_epoch *last = r->epoch_count ? &r->epoch[r->epoch_count - 1] : NULL;

    fprintf(to, "\n---------- Begin Simulation Statistics ----------\n");
    if (v)
        print_machine(v, to);
    put_int(to, "train.steps", (int64_t)r->row_count, "training steps done", "Count");
    if (last) {
        put_real(to, "train.loss", last->loss, "mean of the last epoch", "Ratio");
        put_real(to, "train.test_accuracy", last->test_accuracy, "after the last epoch", "Ratio");
    }
    fprintf(to, "\n---------- Host: differs from run to run ----------\n");
    put_real(to, "host_seconds", r->host_seconds, "real time of the run", "Second");
    if (v && v->mode != MODE_FUNCTIONAL && r->host_seconds > 0.0 && r->row_count > 0)
        put_real(to, "host_cycle_rate", (double)v->cycles * (double)r->row_count / r->host_seconds,
                 "simulated cycles of training steps per second of the host", "(Cycle/Second)");
    fprintf(to, "\n---------- End Simulation Statistics   ----------\n");
}
