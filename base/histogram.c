/*
 * A histogram with steps that double with the values, as HdrHistogram has them, so that each
 * quantile is found to within one step.
 */
#include "base/histogram.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>

#include "base/text.h"

enum { EXACT_BITS = 8, BAR = 40 };

/* how often the steps have doubled for values like this one */
static int doublings_of(int64_t value)
{
    return value < HISTOGRAM_EXACT ? 0 : 63 - __builtin_clzll((unsigned long long)value)
                                         - (EXACT_BITS - 1);
}

static int bin_of(int64_t value)
{
    int doublings = doublings_of(value);

    return doublings * HISTOGRAM_STEPS + (int)(value >> doublings);
}

int64_t histogram_bin_end(int bin)
{
    int doublings = bin < HISTOGRAM_EXACT ? 0 : bin / HISTOGRAM_STEPS - 1;
    uint64_t next = (uint64_t)(bin - doublings * HISTOGRAM_STEPS) + 1;

    return (int64_t)((next << doublings) - 1);
}

void histogram_add(struct histogram *h, int64_t value, int64_t times)
{
    assert(value >= 0 && times > 0);
    if (h->count == 0 || value < h->least)
        h->least = value;
    if (value > h->most)
        h->most = value;
    h->count += times;
    h->sum += value * times;
    h->bin[bin_of(value)] += times;
}

void histogram_add_steps(struct histogram *h, int64_t first, int64_t step, int64_t count)
{
    int64_t last = first + (count - 1) * step, value = first;
    int doublings = doublings_of(first);

    assert(first >= 0 && step >= 0 && count > 0);
    if (h->count == 0 || first < h->least)
        h->least = first;
    if (last > h->most)
        h->most = last;
    h->count += count;
    h->sum += first * count + step * (count * (count - 1) / 2);
    if (bin_of(first) == bin_of(last)) {
        h->bin[bin_of(first)] += count;
    } else if (doublings == doublings_of(last)) {
        int64_t *bin = h->bin + doublings * HISTOGRAM_STEPS;

        for (int64_t i = 0; i < count; i++, value += step)
            bin[value >> doublings]++;
    } else {
        for (int64_t i = 0; i < count; i++, value += step)
            h->bin[bin_of(value)]++;
    }
}

double histogram_mean(const struct histogram *h)
{
    return h->count ? (double)h->sum / (double)h->count : 0.0;
}

int64_t histogram_quantile(const struct histogram *h, double share)
{
    double wanted = share * (double)h->count - 1e-6;    /* 0.07 of 100 is a bit above 7 */
    int64_t below = 0;

    if (h->count == 0)
        return 0;
    for (int i = 0; i < HISTOGRAM_BINS; i++) {
        below += h->bin[i];
        if (below > 0 && (double)below >= wanted)
            return histogram_bin_end(i) < h->most ? histogram_bin_end(i) : h->most;
    }
    return h->most;
}

/* the least of 1, 2, 5, 10, 20, ... times `unit` by which `lines` lines reach over `range` */
static int64_t line_width(int64_t range, int lines, int64_t unit)
{
    int64_t width = unit;

    for (int i = 0; width < range / lines + 1 && width < INT64_MAX / 4; i++)
        width = i % 3 == 1 ? width / 2 * 5 : width * 2;
    return width;
}

/* a bin belongs to the line of its largest value */
static int64_t count_in(const struct histogram *h, int64_t first, int64_t end)
{
    int64_t count = 0;

    for (int i = 0; i < HISTOGRAM_BINS; i++)
        if (h->bin[i] && histogram_bin_end(i) >= first && histogram_bin_end(i) < end)
            count += h->bin[i];
    return count;
}

static void print_bar(int64_t count, int64_t most, FILE *to)
{
    int length = (int)((double)count / (double)most * (double)BAR + 0.5);

    fputs(length || count ? "  " : "", to);
    for (int i = 0; i < length; i++)
        fputc('#', to);
    fputs(count && !length ? ".\n" : "\n", to);
}

static void print_line(const struct histogram *h, int64_t from, int64_t to_value, bool is_last,
                       int64_t unit, int64_t count, int64_t most, FILE *to)
{
    fprintf(to, "  %10s %s %-10s %13s %5.1f %%", text_thousands(from / unit).text,
            is_last ? "to" : "..", text_thousands(to_value / unit).text, text_thousands(count).text,
            100.0 * (double)count / (double)h->count);
    print_bar(count, most, to);
}

void histogram_print(const struct histogram *h, int64_t unit, int lines, const char *unit_name,
                     const char *counted, FILE *to)
{
    int64_t width, first, end, most = 1;

    if (h->count == 0)
        return;
    end = histogram_quantile(h, 0.995) + 1;
    width = line_width(end - h->least, lines > 1 ? lines - 1 : 1, unit);
    first = h->least / width * width;
    for (int64_t at = first; at < end; at += width)
        if (count_in(h, at, at + width) > most)
            most = count_in(h, at, at + width);
    fprintf(to, "  %24s %13s\n", unit_name, counted);
    for (; first < end; first += width)
        print_line(h, first, first + width, false, unit, count_in(h, first, first + width), most,
                   to);
    if (first <= h->most && count_in(h, first, INT64_MAX) > 0)
        print_line(h, first, h->most + unit - 1, true, unit, count_in(h, first, INT64_MAX), most,
                   to);
}
