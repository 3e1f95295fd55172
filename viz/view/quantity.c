/*
 * Prints quantities with three significant digits and a prefix, and finds round steps for the
 * marks of an axis.
 */
#include "viz/view/quantity.h"

#include <math.h>
#include <stdio.h>

#include "base/text.h"

/* of three digits that matter */
static int decimals_of(double value)
{
    double size = fabs(value);

    return size >= 99.95 || size == 0 ? 0 : size >= 9.995 ? 1 : 2;
}

static struct short_text scaled(double value, double base, const char *const *units, int count)
{
    struct short_text to;
    int i = 0;

    while (i < count - 1 && fabs(value) >= base * 0.9995) {
        value /= base;
        i++;
    }
    snprintf(to.text, sizeof(to.text), "%.*f %s", decimals_of(value), value, units[i]);
    return to;
}

struct short_text quantity_cycles(double cycles)
{
    struct short_text to;

    snprintf(to.text, sizeof(to.text), "%.24s cycle%s", text_thousands(llround(cycles)).text,
             llround(cycles) == 1 ? "" : "s");
    return to;
}

struct short_text quantity_seconds(double seconds)
{
    static const char *const units[] = {"ps", "ns", "µs", "ms", "s"};

    return scaled(seconds * 1e12, 1000, units, (int)COUNT_OF(units));
}

struct short_text quantity_bytes(double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};

    struct short_text to;

    if (fabs(bytes) >= 1024)
        return scaled(bytes, 1024, units, (int)COUNT_OF(units));
    snprintf(to.text, sizeof(to.text), "%.0f B", bytes);
    return to;
}

struct short_text quantity_rate(double bytes_per_second)
{
    static const char *const units[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};

    return scaled(bytes_per_second, 1000, units, (int)COUNT_OF(units));
}

struct short_text quantity_flops(double flops)
{
    static const char *const units[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"};

    return scaled(flops, 1000, units, (int)COUNT_OF(units));
}

struct short_text quantity_flop_rate(double flops_per_second)
{
    static const char *const units[] = {"FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s",
                                        "PFLOP/s"};

    return scaled(flops_per_second, 1000, units, (int)COUNT_OF(units));
}

struct short_text quantity_percent(double share)
{
    double percent = 100 * share;
    struct short_text to = {"<0.1 %"};

    if (percent <= 0 || percent >= 0.05)
        snprintf(to.text, sizeof(to.text), "%.*f %%", percent > 0 && percent < 9.95 ? 1 : 0,
                 percent);
    return to;
}

double quantity_ticks(double from, double end, int most, double *first)
{
    double least = (end - from) / (most > 0 ? most : 1), step;

    if (!(least > 0)) {
        *first = from;
        return 1;
    }
    step = pow(10, floor(log10(least)));
    if (step < least * (1 - 1e-12))
        step *= step * 2 >= least ? 2 : step * 5 >= least ? 5 : 10;
    *first = ceil(from / step - 1e-9) * step;
    return step;
}
