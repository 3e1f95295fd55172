/* Samples counters over time from the sums that every trace keeps. */
#include "report/export/export_walk.h"

#include <string.h>

#define SAMPLE_COUNT 1000               /* of a counter, at most */
#define BATCH 64

/* `sum` of `cycles` cycles */
typedef double value_fn(const struct export_run *r, const int64_t *sum, cycle_t cycles);

static double percent(int64_t part, cycle_t cycles)
{
    return 100.0 * (double)part / (double)cycles;
}

static double gb_per_second(const struct export_run *r, int64_t bytes, cycle_t cycles)
{
    return (double)bytes / (double)cycles * (double)r->info->chip->chip_clock_mhz * 1e-3;
}

static double issue(const struct export_run *r, const int64_t *sum, cycle_t cycles)
{
    (void)r;
    return percent(sum[NTRACE_CELL_ISSUE], cycles);
}

/* the mean of all units whose name starts so and has no dot */
static double mean_busy(const struct export_run *r, const int64_t *sum, cycle_t cycles,
                        const char *name)
{
    int64_t busy = 0, count = 0;

    for (int unit = 0; unit < r->info->unit_count; unit++) {
        const char *this = ntrace_unit_name(r->t, unit);

        if (strncmp(this, name, strlen(name)) != 0 || strchr(this, '.'))
            continue;
        busy += sum[NTRACE_CELL_UNIT + unit];
        count++;
    }
    return count ? percent(busy, cycles) / (double)count : 0.0;
}

static double mxu(const struct export_run *r, const int64_t *sum, cycle_t cycles)
{
    return mean_busy(r, sum, cycles, "mxu");
}

static double valu(const struct export_run *r, const int64_t *sum, cycle_t cycles)
{
    return mean_busy(r, sum, cycles, "valu");
}

static double in_flight(const struct export_run *r, const int64_t *sum, cycle_t cycles)
{
    (void)r;
    return (double)sum[NTRACE_CELL_DMA_IN_FLIGHT] / (double)cycles;
}

static double copied(const struct export_run *r, const int64_t *sum, cycle_t cycles)
{
    return gb_per_second(r, sum[NTRACE_CELL_DMA_BYTES], cycles);
}

static double hbm_read(const struct export_run *r, const int64_t *sum, cycle_t cycles)
{
    return gb_per_second(r, sum[NTRACE_HBM_READ_BYTES], cycles);
}

static double hbm_write(const struct export_run *r, const int64_t *sum, cycle_t cycles)
{
    return gb_per_second(r, sum[NTRACE_HBM_WRITE_BYTES], cycles);
}

static double wire(const struct export_run *r, const int64_t *sum, cycle_t cycles)
{
    return gb_per_second(r, sum[NTRACE_LINK_WIRE_BYTES], cycles);
}

#define COUNTER_MAX 5

/* of a link the row is made where its ends are known */
static const struct series {
    enum ntrace_series series;
    int members;
    struct {
        const char *name, *unit;
        value_fn *value;
    } counter[COUNTER_MAX];
} all_series[] = {
    [EXPORT_CORE] = {NTRACE_CORE, NTRACE_CELL_COUNT,
                     {{"MXU busy", "%", mxu}, {"VALU busy", "%", valu},
                      {"bundles issued", "% of cycles", issue},
                      {"copies in flight", "copies", in_flight}, {"copied", "GB/s", copied}}},
    [EXPORT_HBM] = {NTRACE_HBM, NTRACE_HBM_COUNT,
                    {{"HBM read", "GB/s", hbm_read}, {"HBM write", "GB/s", hbm_write}}},
    [EXPORT_ICI] = {NTRACE_LINK, NTRACE_LINK_COUNT, {{"on the wire", "GB/s", wire}}},
};

static int counter_count(const struct series *s)
{
    int count = 0;

    while (count < COUNTER_MAX && s->counter[count].name)
        count++;
    return count;
}

int export_counter_rows(const struct export_walker *w, struct export_row *row,
                        enum export_process_kind process)
{
    const struct series *s = &all_series[process];
    int count = counter_count(s);

    if (!export_shows(w->r, EXPORT_COUNTER))
        return 0;
    for (int i = 0; row && i < count; i++) {
        row[i].kind = EXPORT_COUNTER;
        row[i].index = i;
        row[i].name = s->counter[i].name;
        row[i].unit = s->counter[i].unit;
    }
    return count;
}

struct sampling {
    struct export_walker *w;
    const struct series *s;
    struct export_row *row;
    double last[COUNTER_MAX];
    bool has_last;
};

/* a sample where the value changes: it holds until the next */
static void put_samples(struct sampling *p, cycle_t at, cycle_t cycles, const int64_t *sum)
{
    for (int i = 0; i < counter_count(p->s); i++) {
        double value = cycles ? p->s->counter[i].value(p->w->r, sum, cycles) : 0.0;

        if (!p->has_last || value < p->last[i] || value > p->last[i])
            export_row_sample(p->w, &p->row[i], at, value);
        p->last[i] = value;
    }
    p->has_last = true;
}

/* a power of two of the cells that are kept, so that no sample cuts one */
static cycle_t sample_width(cycle_t cycles)
{
    cycle_t width = NTRACE_CELL_CYCLES;

    while (width * SAMPLE_COUNT < cycles)
        width *= 2;
    return width;
}

void export_counter_samples(struct export_walker *w, struct export_row *row,
                            enum export_process_kind process, int index)
{
    struct sampling p = {.w = w, .s = &all_series[process], .row = row};
    cycle_t first = w->r->options.first, end = w->r->end, cycles = w->r->info->cycles;
    cycle_t width = sample_width(end - first);
    int64_t *sums;

    if (!export_shows(w->r, EXPORT_COUNTER) || !w->sink->sample)
        return;
    sums = mem_alloc(sizeof(*sums) * (size_t)(BATCH * p.s->members));
    for (cycle_t at = first / width * width; at < end;) {
        int64_t left = div_up(end - at, width);
        size_t count = (size_t)(left < BATCH ? left : BATCH);

        ntrace_cells(w->r->t, p.s->series, index, at, width, count, sums);
        for (size_t i = 0; i < count; i++, at += width)
            put_samples(&p, later(at, first), at + width < cycles ? width : cycles - at,
                        &sums[i * (size_t)p.s->members]);
    }
    put_samples(&p, end, 0, sums);
    mem_free(sums);
}
