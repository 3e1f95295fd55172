/*
 * Records of an interval of a core's time for those who count: what lies in a
 * repeat is told once, with how many times it happened.
 */
#ifndef VIZ_TIMES_WALK_H
#define VIZ_TIMES_WALK_H
#include "report/native_trace/ntrace.h"

/* runs and stalls cut to the interval; `times` is at least 1 */
typedef void times_fn(void *context, const struct trace_record *r, int64_t times);
/* returns how many records were looked at, those of repeats counted once */
int64_t times_walk(struct ntrace *run, int core, cycle_t from, cycle_t end, times_fn *fn,
                   void *context);
#endif
