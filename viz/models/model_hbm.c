/*
 * Fills columns of an HBM's traffic from the file's cells or, close up, from single runs of
 * bursts.
 */
#include "viz/models/model_hbm.h"

#include <math.h>
#include <string.h>

#define CELL_CHANNELS (NTRACE_HBM_COUNT - NTRACE_HBM_CHANNEL_BUSY_PS)

void hbm_model_fini(struct hbm_model *m)
{
    mem_free(m->column);
    mem_free(m->channel_busy_ps);
    mem_free(m->run);
    memset(m, 0, sizeof(*m));
}

/* ---- of cells ---- */

static struct hbm_column column_of_sums(const int64_t *c)
{
    return (struct hbm_column){
        .read_bytes = (double)c[NTRACE_HBM_READ_BYTES],
        .write_bytes = (double)c[NTRACE_HBM_WRITE_BYTES],
        .busy_ps = (double)c[NTRACE_HBM_BUSY_PS],
        .hits = (double)c[NTRACE_HBM_HITS], .closed = (double)c[NTRACE_HBM_CLOSED],
        .conflicts = (double)c[NTRACE_HBM_CONFLICTS],
        .refreshes = (double)c[NTRACE_HBM_REFRESHES],
    };
}

/* columns first..end - 1 */
static void fill_from_cells(struct hbm_model *m, struct ntrace *run, size_t first, size_t end)
{
    int64_t *cell = mem_alloc(((end - first) * NTRACE_HBM_COUNT + 1) * sizeof(*cell));

    ntrace_cells(run, NTRACE_HBM, m->chip, m->from + (cycle_t)first * m->width_cycles,
                 m->width_cycles, end - first, cell);
    for (size_t i = first; i < end; i++) {
        const int64_t *c = &cell[(i - first) * NTRACE_HBM_COUNT];

        m->column[i] = column_of_sums(c);
        for (int j = 0; j < m->channel_count && j < CELL_CHANNELS; j++)
            m->channel_busy_ps[i * (size_t)m->channel_count + (size_t)j] =
                (double)c[NTRACE_HBM_CHANNEL_BUSY_PS + j];
    }
    mem_free(cell);
}

/* the columns that were there before are taken over; the others are asked for */
static void fill_or_keep(struct hbm_model *m, struct ntrace *run, const struct hbm_model *before)
{
    const cycle_t end = m->from + (cycle_t)m->count * m->width_cycles;
    const cycle_t known_end = before->from + (cycle_t)before->count * before->width_cycles;
    const cycle_t from = later(m->from, before->from), last = end < known_end ? end : known_end;
    const size_t channels = (size_t)m->channel_count;
    size_t first, count, old;

    if (before->is_exact || before->run_of != run || before->chip != m->chip ||
        before->width_cycles != m->width_cycles || last <= from) {
        fill_from_cells(m, run, 0, m->count);
        return;
    }
    first = (size_t)((from - m->from) / m->width_cycles);
    old = (size_t)((from - before->from) / m->width_cycles);
    count = (size_t)((last - from) / m->width_cycles);
    memcpy(&m->column[first], &before->column[old], count * sizeof(*m->column));
    memcpy(&m->channel_busy_ps[first * channels], &before->channel_busy_ps[old * channels],
           count * channels * sizeof(*m->channel_busy_ps));
    if (first > 0)
        fill_from_cells(m, run, 0, first);
    if (first + count < m->count)
        fill_from_cells(m, run, first + count, m->count);
}

/* ---- of runs ---- */

static bool keep_run(void *context, const struct trace_hbm *h)
{
    struct hbm_model *m = context;

    if (m->run_count == 2 * HBM_RUN_MOST) {
        m->has_runs = false;
        return false;
    }
    MEM_ADD(m->run, m->run_count, m->run_capacity) = *h;
    return true;
}

static void spread(struct hbm_model *m, const struct trace_hbm *h)
{
    const double width = (double)m->width_cycles * m->ps_per_cycle;
    const double begin = (double)m->from * m->ps_per_cycle;
    const double length = (double)(h->end_at - h->data_at);
    const double first = ((double)h->data_at - begin) / width;
    size_t i = first > 0 ? (size_t)first : 0;

    for (; i < m->count && length > 0; i++) {
        const double left = begin + (double)i * width, right = left + width;
        const double from = fmax(left, (double)h->data_at), end = fmin(right, (double)h->end_at);
        struct hbm_column *c = &m->column[i];

        if (left >= (double)h->end_at)
            return;
        if (end <= from)
            continue;
        *(h->is_write ? &c->write_bytes : &c->read_bytes) +=
            (double)h->bytes * (end - from) / length;
        c->busy_ps += end - from;
        if (h->channel >= 0 && h->channel < m->channel_count)
            m->channel_busy_ps[i * (size_t)m->channel_count + (size_t)h->channel] += end - from;
    }
}

static void count_run(struct hbm_model *m, const struct trace_hbm *h)
{
    const double at = ((double)h->data_at / m->ps_per_cycle - (double)m->from) /
                      (double)m->width_cycles;
    struct hbm_column *c;

    if (at < 0 || at >= (double)m->count)
        return;
    c = &m->column[(size_t)at];
    c->hits += h->row == TRACE_ROW_HIT;
    c->closed += h->row == TRACE_ROW_CLOSED;
    c->conflicts += h->row == TRACE_ROW_CONFLICT;
    c->refreshes += h->has_met_refresh;
}

static cycle_t column_width(cycle_t cycles, size_t columns)
{
    cycle_t width = 1;

    while (width * (cycle_t)(columns > 0 ? columns : 1) < cycles)
        width *= 2;
    return width;
}

static void add_up(struct hbm_model *m, struct ntrace *run, cycle_t from, cycle_t end)
{
    int64_t sum[NTRACE_HBM_COUNT];

    ntrace_sum(run, NTRACE_HBM, m->chip, from, end, sum);
    m->total = column_of_sums(sum);
    m->total_cycles = end - from;
}

void hbm_model_load(struct hbm_model *m, struct ntrace *run, int chip, cycle_t from, cycle_t end,
                    size_t columns)
{
    const struct ntrace_info *info = ntrace_info(run);
    struct hbm_model before = *m;

    end = end > from ? end : from + 1;
    m->run_of = run;
    m->chip = chip;
    m->channel_count = info->channel_count;
    m->bank_count = info->bank_count;
    m->width_cycles = column_width(end - from, columns);
    m->from = from - from % m->width_cycles;
    m->count = (size_t)div_up(end - m->from, m->width_cycles);
    m->ps_per_cycle = 1e6 / (double)info->chip->chip_clock_mhz;
    m->peak_bytes_per_second = chip_hbm_peak_bytes_per_second(info->chip);
    m->column = mem_alloc((m->count + 1) * sizeof(*m->column));
    m->channel_busy_ps = mem_alloc((m->count * (size_t)m->channel_count + 1) *
                                   sizeof(*m->channel_busy_ps));
    m->run_count = 0;
    add_up(m, run, from, end);
    m->has_runs = info->level >= TRACE_BUNDLE &&
                  m->total.hits + m->total.closed + m->total.conflicts < HBM_RUN_MOST;
    if (m->has_runs)
        ntrace_walk_hbm(run, chip, m->from, m->from + (cycle_t)m->count * m->width_cycles,
                        keep_run, m);
    m->is_exact = m->has_runs && m->width_cycles < NTRACE_CELL_CYCLES;
    if (!m->is_exact)
        fill_or_keep(m, run, &before);
    for (size_t i = 0; m->is_exact && i < m->run_count; i++) {
        spread(m, &m->run[i]);
        count_run(m, &m->run[i]);
    }
    mem_free(before.column);
    mem_free(before.channel_busy_ps);
}

double hbm_model_rate(const struct hbm_model *m, double bytes, cycle_t cycles)
{
    return cycles > 0 ? bytes / ((double)cycles * m->ps_per_cycle * 1e-12) : 0;
}

double hbm_model_channel_share(const struct hbm_model *m, size_t column, int channel)
{
    const double share = m->channel_busy_ps[column * (size_t)m->channel_count + (size_t)channel] /
                         ((double)m->width_cycles * m->ps_per_cycle);

    return share > 1 ? 1 : share;
}

/* ---- refresh ---- */

double hbm_model_refresh_cycles(const struct ntrace_info *info)
{
    return chip_refresh_period_ps(info->chip) * (double)info->chip->chip_clock_mhz / 1e6;
}

double hbm_model_refresh(const struct ntrace_info *info, double cycle)
{
    const double period = hbm_model_refresh_cycles(info);
    double start = 0, at;
    size_t i;

    for (i = 0; i < info->launch_count && (double)info->launch[i].start <= cycle; i++)
        start = (double)info->launch[i].start;
    at = start + fmax(1, ceil((cycle - start) / period)) * period;
    if (i < info->launch_count && at >= (double)info->launch[i].start)
        at = (double)info->launch[i].start + period;
    return at;
}
