/*
 * Inside report/native_trace/ntrace_*.c: what records add to sums. Writer and reader share
 * this, so that cells and records agree to the byte.
 */
#ifndef REPORT_NTRACE_SUMS_H
#define REPORT_NTRACE_SUMS_H
#include "report/native_trace/ntrace_cell.h"
#include "report/native_trace/ntrace_impl.h"

/* Values that go evenly over cycles start.. end - 1: at most so many members at once. */
#define SPREAD_MOST 4
struct ntrace_spread {
    cycle_t start, end;
    int count;
    int member[SPREAD_MOST];
    int64_t value[SPREAD_MOST];
};
struct ntrace_spread ntrace_spread_of_flight(const struct trace_dma *d);
struct ntrace_spread ntrace_spread_of_bytes(const struct trace_dma *d);
struct ntrace_spread ntrace_spread_of_hbm(const struct trace_hbm *h, int64_t clock_mhz);
/* at the other's start */
struct ntrace_spread ntrace_spread_of_row(const struct trace_hbm *h, cycle_t start);
struct ntrace_spread ntrace_spread_of_link(const struct trace_link *l, int64_t clock_mhz);

/* the cycle that an instant lies in */
cycle_t ntrace_cycle_of_ps(int64_t clock_mhz, ps_t at);

/* One stream of cells, and where its members go (map NULL: each to itself; -1: nowhere). */
struct ntrace_cell_source {
    enum ntrace_chunk_kind kind;
    int64_t stream;
    int count;                          /* members of what is added to */
    int (*map)(const void *context, int member);
    const void *context;
};
/* Adds cells of from..end - 1 to `to`; borders inside a cell of level `finest` share it out. */
void ntrace_cells_sum(struct ntrace *t, const struct ntrace_cell_source *s, int finest,
                      cycle_t from, cycle_t end, int64_t *to);

/* members of a series; the cells of a core are those of its stream and of its copies */
int ntrace_series_count(enum ntrace_series series);

/* Intervals of one width, from `from` on; to[i * members + member]. */
struct ntrace_bins {
    cycle_t from, width;
    size_t count;
    int64_t *to;
};
/* ntrace_exact.c: adds what records say of each: of a core's stream, with repeats unrolled; of its
 * copies, HBM or a link */
void ntrace_exact_core(struct ntrace *t, int core, const struct ntrace_bins *b);
void ntrace_exact_other(struct ntrace *t, enum ntrace_series series, int index,
                        const struct ntrace_bins *b);
#endif
