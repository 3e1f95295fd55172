/*
 * Single events of a core, for a view so near that they can be told apart: asked
 * of the run in tiles of SPANS_TILE_CYCLES cycles and kept, within bounds.
 */
#ifndef VIZ_SPANS_H
#define VIZ_SPANS_H
#include "report/native_trace/ntrace.h"

#define SPANS_TILE_CYCLES 1024

struct spans;

struct spans *spans_create(struct ntrace *run);
void spans_destroy(struct spans *s);
void spans_forget(struct spans *s);                             /* the run has grown */

/*
 * Everything that begins in tile `number` or, for those before, still goes on
 * there: bundles, stalls, markers, work of units (at most one a cycle for units
 * that are busy for the cycle of issue). Valid until the next call.
 */
const struct trace_event *spans_tile(struct spans *s, int core, int64_t number, size_t *count);
/* From now on make at most `tiles` (-1: any number); others are empty. Whether there were any. */
void spans_set_budget(struct spans *s, int tiles);
void spans_set_late(struct spans *s, int64_t late_ns);     /* as columns_set_late */
bool spans_is_partial(const struct spans *s);
#endif
