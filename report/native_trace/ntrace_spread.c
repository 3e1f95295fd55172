/*
 * Says over which cycles a copy, an HBM access or a message spreads its bytes and its time in
 * sums.
 */
#include "report/native_trace/ntrace_sums.h"

#include "sim/time/clock.h"

#define CHANNELS_MOST (NTRACE_HBM_COUNT - NTRACE_HBM_CHANNEL_BUSY_PS)

cycle_t ntrace_cycle_of_ps(int64_t clock_mhz, ps_t at)
{
    cycle_t next = clock_cycle_at(clock_mhz, at);

    return clock_edge_ps(clock_mhz, next) <= at ? next : next - 1;
}

int ntrace_series_count(enum ntrace_series series)
{
    static const int count[NTRACE_SERIES_COUNT] = {NTRACE_CELL_COUNT, NTRACE_HBM_COUNT,
                                                   NTRACE_LINK_COUNT};

    return count[series];
}

struct ntrace_spread ntrace_spread_of_flight(const struct trace_dma *d)
{
    return (struct ntrace_spread){.start = d->issued_at, .end = d->done_at, .count = 1,
                                  .member = {NTRACE_CELL_DMA_IN_FLIGHT},
                                  .value = {d->done_at - d->issued_at}};
}

struct ntrace_spread ntrace_spread_of_bytes(const struct trace_dma *d)
{
    return (struct ntrace_spread){.start = d->started_at,
                                  .end = later(d->done_at, d->started_at + 1),
                                  .count = 1,
                                  .member = {NTRACE_CELL_DMA_BYTES},
                                  .value = {d->bytes}};
}

struct ntrace_spread ntrace_spread_of_hbm(const struct trace_hbm *h, int64_t clock_mhz)
{
    cycle_t start = ntrace_cycle_of_ps(clock_mhz, h->data_at);
    ps_t busy_ps = h->end_at - h->data_at;
    struct ntrace_spread s = {
        .start = start, .end = later(clock_cycle_at(clock_mhz, h->end_at), start + 1), .count = 2,
        .member = {h->is_write ? NTRACE_HBM_WRITE_BYTES : NTRACE_HBM_READ_BYTES,
                   NTRACE_HBM_BUSY_PS, NTRACE_HBM_CHANNEL_BUSY_PS + h->channel},
        .value = {h->bytes, busy_ps, busy_ps}};

    s.count += h->channel >= 0 && h->channel < CHANNELS_MOST;
    return s;
}

struct ntrace_spread ntrace_spread_of_row(const struct trace_hbm *h, cycle_t start)
{
    static const int member[] = {NTRACE_HBM_HITS, NTRACE_HBM_CLOSED, NTRACE_HBM_CONFLICTS};

    return (struct ntrace_spread){.start = start,
                                  .end = start + 1,
                                  .count = 1 + h->has_met_refresh,
                                  .member = {member[h->row], NTRACE_HBM_REFRESHES},
                                  .value = {1, 1}};
}

struct ntrace_spread ntrace_spread_of_link(const struct trace_link *l, int64_t clock_mhz)
{
    cycle_t start = ntrace_cycle_of_ps(clock_mhz, l->start);

    return (struct ntrace_spread){
        .start = start, .end = later(clock_cycle_at(clock_mhz, l->end), start + 1), .count = 3,
        .member = {NTRACE_LINK_PAYLOAD_BYTES, NTRACE_LINK_WIRE_BYTES, NTRACE_LINK_BUSY_PS},
        .value = {l->payload_bytes, l->wire_bytes, l->end - l->start}};
}
