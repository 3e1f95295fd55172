/* Applies the thresholds of XProf's suggestions to the counters of a simulated step. */
#include "report/explain/explain_rules.h"

#include <math.h>
#include <string.h>

/* bytes per second, of the chips that work */
static double hbm_percent(const struct report_view *v)
{
    double peak = chip_hbm_peak_bytes_per_second(v->chip) * v->active_chip_count, bytes = 0.0;

    for (int i = 0; i < v->chip_count; i++)
        bytes += (double)(v->hbm[i]->read_bytes + v->hbm[i]->write_bytes);
    return view_percent(bytes / view_seconds(v), peak);
}

static double mxu_percent(const struct report_view *v)
{
    double cycles = 0.0;

    for (int i = 0; i < v->core_count; i++)
        cycles += (double)v->core[i]->matmul_cycles;
    return view_percent(cycles, (double)v->chip->mxu_count * (double)v->cycles * v->active_count);
}

static double stalls_percent(const struct report_view *v, enum view_group g)
{
    return view_percent((double)view_group_cycles(v, g), (double)v->cycles * v->active_count);
}

void explain_rules(const struct explain *x, struct explain_rule rule[EXPLAIN_RULE_COUNT])
{
    const struct report_view *v = x->input->view;
    double mxu = mxu_percent(v), hbm = hbm_percent(v), step = (double)x->step_cycles;
    double waits = step + (double)x->row[CAUSE_INPUT].cycles;
    const struct explain_rule rules[EXPLAIN_RULE_COUNT] = {
        {"compute-bound (memory below 50 %): matrix units", mxu, 70.0, false, hbm >= 50.0,
         "lower precision or fewer FLOPs"},
        {"memory-bound (matrix units below 50 %): memory", hbm, 70.0, false, mxu >= 50.0,
         "fuse operations, move fewer bytes"},
        {"matrix units in use", mxu, 50.0, true, false, "something else is waited for"},
        {"memory's rate in use", hbm, 50.0, true, false, "memory is no bottleneck"},
        {"waiting for input, of step and input",
         view_percent((double)x->row[CAUSE_INPUT].cycles, waits), 10.0, false, false,
         "overlap input and computing"},
        {"collectives (waiting for other cores)", stalls_percent(v, GROUP_ICI), 30.0, false, false,
         "larger batch, other sharding"},
        {"cores idle", view_percent((double)x->row[CAUSE_IDLE].cycles, step), 10.0, false, false,
         "balance the cores"},
        {"asynchronous copies waited for", stalls_percent(v, GROUP_HBM), 10.0, false, false,
         "start copies earlier"},
        {"barriers between cores", view_percent((double)x->row[CAUSE_ICI_CORES].cycles, step), 10.0,
         false, false, "balance the cores"},
    };

    memcpy(rule, rules, sizeof(rules));
}
