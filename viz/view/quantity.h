/*
 * Numbers with their units, as short as they can be read: for labels, cards and axes.
 */
#ifndef VIZ_QUANTITY_H
#define VIZ_QUANTITY_H
#include "base/text.h"
#include "base/units.h"
#include "sim/chip/chip.h"

struct short_text quantity_cycles(double cycles);             /* "12,345 cycles" */
struct short_text quantity_seconds(double seconds);           /* "1.23 µs" */
struct short_text quantity_bytes(double bytes);               /* "16.5 MiB" */
struct short_text quantity_rate(double bytes_per_second);     /* "812 GB/s" */
struct short_text quantity_flops(double flops);               /* "12.3 GFLOP" */
struct short_text quantity_flop_rate(double flops_per_second); /* "45.1 TFLOP/s" */
struct short_text quantity_percent(double share);             /* 0.634: "63 %"; 0.004: "0.4 %" */

static inline double chip_cycle_seconds(const struct chip *c)
{
    return 1e-6 / (double)c->chip_clock_mhz;
}

/*
 * Marks of an axis from `from` to `end`: the step is 1, 2 or 5 times a power of
 * ten, so large that at most `most` of them fit in. *first is a multiple of it.
 */
double quantity_ticks(double from, double end, int most, double *first);
#endif
