/*
 * Numbers with their units, as short as they can be read: for labels, cards and axes.
 * All return buf, which holds QUANTITY_MAX bytes.
 */
#ifndef VIZ_QUANTITY_H
#define VIZ_QUANTITY_H
#include "base/units.h"
#include "sim/chip/chip.h"

#define QUANTITY_MAX 48

char *quantity_cycles(double cycles, char *buf);                /* "12,345 cycles" */
char *quantity_seconds(double seconds, char *buf);              /* "1.23 µs" */
char *quantity_bytes(double bytes, char *buf);                  /* "16.5 MiB" */
char *quantity_rate(double bytes_per_second, char *buf);        /* "812 GB/s" */
char *quantity_flops(double flops, char *buf);                  /* "12.3 GFLOP" */
char *quantity_flop_rate(double flops_per_second, char *buf);   /* "45.1 TFLOP/s" */
char *quantity_percent(double share, char *buf);                /* 0.634: "63 %"; 0.004: "0.4 %" */

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
