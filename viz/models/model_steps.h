/* Divides launches into the parts of report/tables/breakdown.h, as one core saw them. */
#ifndef VIZ_MODEL_STEPS_H
#define VIZ_MODEL_STEPS_H
#include "report/tables/breakdown.h"
#include "report/native_trace/ntrace.h"

struct step_parts {
    cycle_t cycles, issue_cycles, stall_cycles[STALL_COUNT];
    struct breakdown parts;             /* those of the host are 0 */
};
/* of cycles from..end - 1; the parts add up to them whatever the trace holds */
void steps_model_range(struct ntrace *run, int core, cycle_t from, cycle_t end,
                       struct step_parts *to);
void steps_model_launch(struct ntrace *run, int core, size_t launch, struct step_parts *to);
/* the launch that the cycle lies in, the last one for a cycle behind all; 0 where there is none */
size_t steps_model_at(const struct ntrace_info *info, cycle_t cycle);
/* of the longest launch, at least 1 */
cycle_t steps_model_longest(const struct ntrace_info *info);
/* reasons with cycles, most first; returns their count */
int steps_model_reasons(const struct step_parts *s, enum stall_reason reason[STALL_COUNT]);
#endif
