/* Divides the cycles of a launch into the parts of the breakdown, from the trace's sums. */
#include "viz/models/model_steps.h"

#include <string.h>

/* "mxu0", not its port "mxu0.push": the busiest of them */
static cycle_t mxu_busy_cycles(struct ntrace *run, const int64_t sum[NTRACE_CELL_COUNT])
{
    const int count = ntrace_info(run)->unit_count;
    cycle_t most = 0;

    for (int i = 0; i < count; i++) {
        const char *name = ntrace_unit_name(run, i);

        if (strncmp(name, "mxu", 3) == 0 && !strchr(name, '.'))
            most = later(most, sum[NTRACE_CELL_UNIT + i]);
    }
    return most;
}

/* at most what is left of the cycles, so that a damaged trace adds up as well */
static cycle_t take(cycle_t *left, int64_t cycles)
{
    const cycle_t taken = cycles < 0 ? 0 : cycles < *left ? cycles : *left;

    *left -= taken;
    return taken;
}

void steps_model_range(struct ntrace *run, int core, cycle_t from, cycle_t end,
                       struct step_parts *to)
{
    int64_t sum[NTRACE_CELL_COUNT];
    cycle_t left, idle;

    memset(to, 0, sizeof(*to));
    ntrace_sum(run, NTRACE_CORE, core, from, end, sum);
    left = to->cycles = end > from ? end - from : 0;
    idle = take(&left, sum[NTRACE_CELL_IDLE]);
    for (int i = 0; i < STALL_COUNT; i++)
        to->stall_cycles[i] = take(&left, sum[NTRACE_CELL_STALL + i]);
    to->issue_cycles = take(&left, sum[NTRACE_CELL_ISSUE]);
    breakdown_of_counts(to->cycles, idle, to->stall_cycles, mxu_busy_cycles(run, sum),
                        &to->parts);
}

void steps_model_launch(struct ntrace *run, int core, size_t launch, struct step_parts *to)
{
    const struct ntrace_launch *l = &ntrace_info(run)->launch[launch];

    steps_model_range(run, core, l->start, l->start + l->cycles, to);
}

size_t steps_model_at(const struct ntrace_info *info, cycle_t cycle)
{
    size_t low = 0, high = info->launch_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (info->launch[middle].start <= cycle)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? low - 1 : 0;
}

cycle_t steps_model_longest(const struct ntrace_info *info)
{
    cycle_t most = 1;

    for (size_t i = 0; i < info->launch_count; i++)
        most = later(most, info->launch[i].cycles);
    return most;
}

int steps_model_reasons(const struct step_parts *s, enum stall_reason reason[STALL_COUNT])
{
    int count = 0, j;

    for (int i = 0; i < STALL_COUNT; i++) {
        if (s->stall_cycles[i] == 0)
            continue;
        for (j = count++; j > 0 && s->stall_cycles[reason[j - 1]] < s->stall_cycles[i]; j--)
            reason[j] = reason[j - 1];
        reason[j] = (enum stall_reason)i;
    }
    return count;
}
