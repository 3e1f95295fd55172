#include "viz/model_hbm.h"

#include <math.h>
#include <string.h>

#define CELL_CHANNELS (STRACE_HBM_COUNT - STRACE_HBM_CHANNEL_BUSY_PS)

void hbm_model_init(struct hbm_model *m)
{
    memset(m, 0, sizeof(*m));
}

void hbm_model_fini(struct hbm_model *m)
{
    mem_free(m->column);
    mem_free(m->channel_busy_ps);
    mem_free(m->run);
    memset(m, 0, sizeof(*m));
}

static void reserve(struct hbm_model *m, const struct strace_info *info, size_t count)
{
    mem_free(m->column);
    mem_free(m->channel_busy_ps);
    m->channel_count = info->channel_count;
    m->bank_count = info->bank_count;
    m->count = count;
    m->column = mem_alloc((count + 1) * sizeof(*m->column));
    m->channel_busy_ps = mem_alloc((count * (size_t)m->channel_count + 1) *
                                   sizeof(*m->channel_busy_ps));
    m->run_count = 0;
    memset(&m->total, 0, sizeof(m->total));
}

/* ---- of cells ---- */

static void fill_from_cells(struct hbm_model *m, struct strace *run)
{
    int64_t *cell = mem_alloc((m->count * STRACE_HBM_COUNT + 1) * sizeof(*cell));
    size_t i;
    int j;

    strace_cells(run, STRACE_HBM, m->chip, m->from, m->width_cycles, m->count, cell);
    for (i = 0; i < m->count; i++) {
        const int64_t *c = &cell[i * STRACE_HBM_COUNT];

        m->column[i] = (struct hbm_column){
            .read_bytes = (double)c[STRACE_HBM_READ_BYTES],
            .write_bytes = (double)c[STRACE_HBM_WRITE_BYTES],
            .busy_ps = (double)c[STRACE_HBM_BUSY_PS],
            .hits = (double)c[STRACE_HBM_HITS], .closed = (double)c[STRACE_HBM_CLOSED],
            .conflicts = (double)c[STRACE_HBM_CONFLICTS],
            .refreshes = (double)c[STRACE_HBM_REFRESHES],
        };
        for (j = 0; j < m->channel_count && j < CELL_CHANNELS; j++)
            m->channel_busy_ps[i * (size_t)m->channel_count + (size_t)j] =
                (double)c[STRACE_HBM_CHANNEL_BUSY_PS + j];
    }
    mem_free(cell);
}

/* ---- of runs ---- */

static bool keep_run(void *context, const struct trace_hbm *h)
{
    struct hbm_model *m = context;

    if (m->run_count == HBM_RUN_MOST) {
        m->has_runs = false;
        return false;
    }
    m->run = mem_grow(m->run, &m->run_capacity, m->run_count + 1, sizeof(*m->run));
    m->run[m->run_count++] = *h;
    return true;
}

static void spread(struct hbm_model *m, const struct trace_hbm *h)
{
    const double width = (double)m->width_cycles * m->ps_per_cycle;
    const double begin = (double)m->from * m->ps_per_cycle, length = (double)(h->end_at - h->data_at);
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

static void add_up(struct hbm_model *m)
{
    size_t i;

    for (i = 0; i < m->count; i++) {
        const struct hbm_column *c = &m->column[i];

        m->total.read_bytes += c->read_bytes;
        m->total.write_bytes += c->write_bytes;
        m->total.busy_ps += c->busy_ps;
        m->total.hits += c->hits;
        m->total.closed += c->closed;
        m->total.conflicts += c->conflicts;
        m->total.refreshes += c->refreshes;
    }
}

void hbm_model_load(struct hbm_model *m, struct strace *run, int chip, cycle_t from, cycle_t end,
                    size_t columns)
{
    const struct strace_info *info = strace_info(run);
    const cycle_t cycles = end > from ? end - from : 1;
    size_t i;

    m->chip = chip;
    m->from = from;
    m->width_cycles = div_up(cycles, (int64_t)(columns > 0 ? columns : 1));
    m->ps_per_cycle = 1e6 / (double)info->chip->chip_clock_mhz;
    m->peak_bytes_per_second = chip_hbm_peak_bytes_per_second(info->chip);
    reserve(m, info, (size_t)div_up(cycles, m->width_cycles));
    m->has_runs = info->level >= TRACE_BUNDLE && cycles / HBM_RUN_MOST < 16;
    if (m->has_runs)
        strace_walk_hbm(run, chip, from, from + (cycle_t)m->count * m->width_cycles, keep_run, m);
    m->is_exact = m->has_runs && m->width_cycles < STRACE_CELL_CYCLES;
    if (!m->is_exact)
        fill_from_cells(m, run);
    for (i = 0; m->is_exact && i < m->run_count; i++) {
        spread(m, &m->run[i]);
        count_run(m, &m->run[i]);
    }
    add_up(m);
}

double hbm_model_rate(const struct hbm_model *m, double bytes, size_t columns)
{
    const double ps = (double)m->width_cycles * (double)columns * m->ps_per_cycle;

    return ps > 0 ? bytes / (ps * 1e-12) : 0;
}

double hbm_model_channel_share(const struct hbm_model *m, size_t column, int channel)
{
    const double share = m->channel_busy_ps[column * (size_t)m->channel_count + (size_t)channel] /
                         ((double)m->width_cycles * m->ps_per_cycle);

    return share > 1 ? 1 : share;
}

/* ---- refresh ---- */

double hbm_model_refresh_cycles(const struct strace_info *info)
{
    return (double)info->chip->hbm_trefi_ps * (double)info->chip->chip_clock_mhz / 1e6;
}

double hbm_model_refresh(const struct strace_info *info, double cycle)
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
