/*
 * Where a run's cycles went: from a trace by bundle and reason, or from the
 * table of source operations of a run folder, which knows waits for copies
 * but not the reasons of other stalls.
 */
#ifndef REPORT_EXPLAIN_PLACES_H
#define REPORT_EXPLAIN_PLACES_H
#include "report/explain/explain.h"
#include "report/native_trace/ntrace.h"

#include <jansson.h>

/* Sets the places of *in; they live in `a`. A table that is missing gives none. */
void explain_places_of_ops(const json_t *stats, struct arena *a, struct explain_input *in);

/*
 * Of in->place_core from `from` to `end`, bundles and source operations. False,
 * and *in as it was, where the trace has no bundles: of another level, of a
 * core without a program, or damaged.
 */
bool explain_places_of_trace(struct ntrace *t, cycle_t from, cycle_t end, struct arena *a,
                             struct explain_input *in);
#endif
