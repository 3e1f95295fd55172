/*
 * Counts of non-negative values by size, in fixed memory: values below 256 each by itself,
 * larger ones in steps of less than 1 / 128 of them. Quantiles are exact to a step, mean and
 * extremes exact; the sum of all values must stay below 2^63.
 */
#ifndef BASE_HISTOGRAM_H
#define BASE_HISTOGRAM_H
#include <stdint.h>
#include <stdio.h>

#define HISTOGRAM_EXACT 256             /* values below are told apart */
#define HISTOGRAM_STEPS (HISTOGRAM_EXACT / 2)   /* per doubling above */
#define HISTOGRAM_BINS (HISTOGRAM_EXACT + (63 - 8) * HISTOGRAM_STEPS)

struct histogram {
    int64_t bin[HISTOGRAM_BINS];
    int64_t count, sum, least, most;    /* least and most: 0 when count is 0 */
};

void histogram_add(struct histogram *h, int64_t value, int64_t times);
/* first, first + step, ...: `count` values; step not negative */
void histogram_add_steps(struct histogram *h, int64_t first, int64_t step, int64_t count);
int64_t histogram_bin_end(int bin);     /* the largest value that bin[bin] counts */
double histogram_mean(const struct histogram *h);       /* 0 when empty */
/*
 * The least value that at least `share` (0..1) of all values do not exceed, rounded up to the
 * end of its step but never above `most`; 0 when empty.
 */
int64_t histogram_quantile(const struct histogram *h, double share);

/*
 * Up to `lines` lines of equal width in values, a round number of `unit` values, with count,
 * share and a bar; what lies above the 99.5 % quantile shares the last one. Values are printed
 * in `unit`s, under the headings given. Nothing when empty.
 */
void histogram_print(const struct histogram *h, int64_t unit, int lines, const char *unit_name,
                     const char *counted, FILE *to);
#endif
