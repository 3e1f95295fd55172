/*
 * What fits into a pixel: sums of a core, a chip's HBM or a link, per pixel of
 * time, at any zoom.
 *
 * Sums are asked of the run in tiles of columns whose width is a power of two
 * cycles, and kept: moving the view asks only for the tiles that come in, and
 * zooming asks again at every factor of two. A pixel has the columns that begin
 * in it, so every cycle is in one pixel. Memory is bounded.
 */
#ifndef VIZ_COLUMNS_H
#define VIZ_COLUMNS_H
#include "report/native_trace/ntrace.h"

struct columns;

struct columns *columns_create(struct ntrace *run);             /* the run is borrowed */
void columns_destroy(struct columns *c);
void columns_forget(struct columns *c);                         /* the run has grown */

/*
 * For `width` pixels from cycle `from` on: to[i * count of members + member], means per
 * cycle: the share of the pixel's cycles that were issue, stalls, busy; bytes
 * per cycle; picoseconds per cycle. Pixels beyond the run are zero.
 */
int columns_member_count(const struct columns *c, enum ntrace_series series);
void columns_fill(struct columns *c, enum ntrace_series series, int index, double from,
                  double cycles_per_pixel, int width, float *to);
/*
 * From now on make at most `tiles` (-1: any number); in place of others, coarser
 * ones that are there are taken, or nothing. Whether that has happened since.
 */
void columns_set_budget(struct columns *c, int tiles);
/* and none from that time of the clock on (view.late_ns), after the first one; until the next
 * columns_set_budget */
void columns_set_late(struct columns *c, int64_t late_ns);
bool columns_is_partial(const struct columns *c);
/* tiles that were asked of the run since the beginning, for tests and benchmarks */
int64_t columns_tiles_made(const struct columns *c);
#endif
