/*
 * What a cause's cycles would give back: all of them, or the part that a stated
 * remedy removes, but no more than leaves the next resource its time.
 */
#include "report/explain/explain_impl.h"

#include <math.h>

#define NONE BOUND_LATENCY

/* The resource that a cause waits for; it does not limit the gain from removing it. */
static const enum bound_resource own[CAUSE_COUNT] = {
    [CAUSE_USEFUL] = BOUND_MXU, [CAUSE_PASSES] = BOUND_MXU, [CAUSE_UNDERFILL] = BOUND_MXU,
    [CAUSE_PADDING] = BOUND_MXU, [CAUSE_WEIGHTS] = BOUND_PUSH, [CAUSE_RESULT] = NONE,
    [CAUSE_SPILLS] = NONE, [CAUSE_VECTOR] = BOUND_VALU, [CAUSE_ISSUE] = NONE,
    [CAUSE_OPERAND] = NONE, [CAUSE_XLU] = BOUND_XLU, [CAUSE_EUP] = BOUND_EUP,
    [CAUSE_HBM_BYTES] = BOUND_HBM, [CAUSE_HBM_ROWS] = BOUND_HBM, [CAUSE_SMALL_DMAS] = NONE,
    [CAUSE_HBM_START] = NONE, [CAUSE_CMEM] = NONE, [CAUSE_ICI_BYTES] = BOUND_ICI,
    [CAUSE_ICI_HOPS] = NONE, [CAUSE_ICI_CORES] = NONE, [CAUSE_RESUME] = NONE,
    [CAUSE_BRANCH] = NONE, [CAUSE_KERNELS] = NONE, [CAUSE_IDLE] = NONE,
    [CAUSE_INPUT] = NONE, [CAUSE_DISPATCH] = NONE, [CAUSE_LAUNCH] = NONE,
};

/* loads and stores share the vector side with the ALU: what relieves one relieves all */
static bool is_own(enum cause c, enum bound_resource r)
{
    return r == own[c] || (c == CAUSE_VECTOR && (r == BOUND_LOAD || r == BOUND_STORE));
}

static double mean_fill(const struct report_view *v)
{
    double sum = 0.0;
    const char *name;

    for (int i = 0; i < v->core_count; i++)
        if (view_is_active(v, i))
            sum += explain_fill(v->core[i], &name);
    return sum / v->active_count;
}

/* of its cycles, what the remedy removes */
static double removed_share(const struct explain *x, enum cause c)
{
    switch (c) {
    case CAUSE_USEFUL: return 0.0;
    case CAUSE_VECTOR: return 0.5;      /* half the work, or twice the slots */
    case CAUSE_RESUME: return 1.0 - 1.0 / (double)x->input->view->chip->sync_resume_cycles;
    case CAUSE_ISSUE: return 1.0 - mean_fill(x->input->view);       /* every fullest slot used */
    default: return 1.0;
    }
}

static void predict_on_core(struct explain *x, struct explain_row *row)
{
    double most = (double)row->cycles * removed_share(x, row->cause), floor_cycles = 0.0;

    row->limit = BOUND_LATENCY;
    for (int r = 0; r < BOUND_RESOURCE_COUNT; r++) {
        double use = x->bound.use[r] * (double)x->step_cycles;

        if (is_own(row->cause, (enum bound_resource)r) || use <= floor_cycles)
            continue;
        floor_cycles = use;
        if (most > (double)x->step_cycles - use)
            row->limit = (enum bound_resource)r;
    }
    row->gain_cycles = fmax(0.0, fmin(most, (double)x->step_cycles - floor_cycles));
}

void explain_predict(struct explain *x)
{
    for (int c = 0; c < CAUSE_COUNT; c++) {
        struct explain_row *row = &x->row[c];

        if (cause_is_host((enum cause)c)) {
            row->gain_cycles = (double)row->cycles;
            row->limit = BOUND_LATENCY;
        } else
            predict_on_core(x, row);
    }
}
