/*
 * Prints quantities with three significant digits and a prefix, and finds round steps for the
 * marks of an axis.
 */
#include "viz/view/quantity.h"

#include <math.h>
#include <stdio.h>

#include "base/text.h"

/* three digits that matter, without a power of ten */
static void print_number(double value, char *buf)
{
    double size = fabs(value);

    snprintf(buf, QUANTITY_MAX, "%.*f", size >= 99.95 || size == 0 ? 0 : size >= 9.995 ? 1 : 2,
             value);
}

static char *scaled(double value, double base, const char *const *units, int count, char *buf)
{
    char number[QUANTITY_MAX];
    int i = 0;

    while (i < count - 1 && fabs(value) >= base * 0.9995) {
        value /= base;
        i++;
    }
    print_number(value, number);
    snprintf(buf, QUANTITY_MAX, "%.30s %s", number, units[i]);
    return buf;
}

char *quantity_cycles(double cycles, char *buf)
{
    char number[28];

    snprintf(buf, QUANTITY_MAX, "%s cycle%s", text_thousands((int64_t)llround(cycles), number,
                                                             sizeof(number)),
             llround(cycles) == 1 ? "" : "s");
    return buf;
}

char *quantity_seconds(double seconds, char *buf)
{
    static const char *const units[] = {"ps", "ns", "µs", "ms", "s"};

    return scaled(seconds * 1e12, 1000, units, (int)COUNT_OF(units), buf);
}

char *quantity_bytes(double bytes, char *buf)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};

    if (fabs(bytes) < 1024) {
        snprintf(buf, QUANTITY_MAX, "%.0f B", bytes);
        return buf;
    }
    return scaled(bytes, 1024, units, (int)COUNT_OF(units), buf);
}

char *quantity_rate(double bytes_per_second, char *buf)
{
    static const char *const units[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};

    return scaled(bytes_per_second, 1000, units, (int)COUNT_OF(units), buf);
}

char *quantity_flops(double flops, char *buf)
{
    static const char *const units[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"};

    return scaled(flops, 1000, units, (int)COUNT_OF(units), buf);
}

char *quantity_flop_rate(double flops_per_second, char *buf)
{
    static const char *const units[] = {"FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s",
                                        "PFLOP/s"};

    return scaled(flops_per_second, 1000, units, (int)COUNT_OF(units), buf);
}

char *quantity_percent(double share, char *buf)
{
    double percent = 100 * share;

    if (percent > 0 && percent < 0.05)
        snprintf(buf, QUANTITY_MAX, "<0.1 %%");
    else
        snprintf(buf, QUANTITY_MAX, "%.*f %%", percent > 0 && percent < 9.95 ? 1 : 0, percent);
    return buf;
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
