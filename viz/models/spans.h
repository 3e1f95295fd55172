/*
 * Single events of a core, for a view so near that they can be told apart: asked
 * of the run in tiles of SPANS_TILE_CYCLES cycles and kept, within bounds.
 */
#ifndef VIZ_SPANS_H
#define VIZ_SPANS_H
#include "viz/models/tiles.h"

enum { SPANS_TILE_CYCLES = 1024, SPANS_TILES_MAX = 96 };        /* the latter for tiles_create */

/*
 * Everything that begins in tile `number` or, for those before, still goes on
 * there: bundles, stalls, markers, work of units (at most one a cycle for units
 * that are busy for the cycle of issue). Valid until the next call. NULL: the budget is used up.
 */
const struct trace_event *spans_tile(struct tiles *s, int core, int64_t number, size_t *count);
#endif
