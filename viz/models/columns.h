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
#include "viz/models/tiles.h"

enum { COLUMNS_TILES_MAX = 768 };       /* for tiles_create */

/*
 * For `width` pixels from cycle `from` on: to[i * count of members + member], means per
 * cycle: the share of the pixel's cycles that were issue, stalls, busy; bytes
 * per cycle; picoseconds per cycle. Pixels beyond the run are zero. In place of tiles that may not be
 * made, coarser ones that are there are taken, or nothing.
 */
int columns_member_count(const struct tiles *c, enum ntrace_series series);
void columns_fill(struct tiles *c, enum ntrace_series series, int index, double from,
                  double cycles_per_pixel, int width, float *to);
#endif
