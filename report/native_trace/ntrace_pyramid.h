/*
 * Inside report/native_trace/ntrace_*.c: sums in ever coarser cells, on their way into the
 * file. A cell that is over is written and added to the one of the next level
 * that it lies in; nothing else is kept. A cell may be written in several
 * parts, which a reader adds up. What goes on evenly over many cells (a repeat,
 * a long stall) is written once per level, as a filling.
 */
#ifndef REPORT_NTRACE_PYRAMID_H
#define REPORT_NTRACE_PYRAMID_H
#include "report/native_trace/ntrace_cell.h"
#include "report/native_trace/ntrace_out.h"
#include "report/native_trace/ntrace_sums.h"

struct ntrace_pyramid_level {
    int64_t cell;                       /* that is open, -1: none */
    int64_t *value;                     /* its sums so far */
    struct ntrace_stream_out out;
    int64_t cell_before;                /* as written last in this chunk */
    uint64_t *mask_before;
    int64_t written;                    /* cells, ever */
};

struct ntrace_pyramid {
    int base;                           /* the finest level */
    int member_count;
    struct ntrace_pyramid_level level[NTRACE_LEVEL_MAX];
};
void ntrace_pyramid_init(struct ntrace_pyramid *p, enum ntrace_chunk_kind kind, uint32_t stream,
                         int base, int member_count);
void ntrace_pyramid_fini(struct ntrace_pyramid *p);
/* more members than before; the first keep their numbers */
void ntrace_pyramid_widen(struct ntrace_pyramid *p, struct ntrace_out *out, int member_count);
/* a cell of the finest level, or what has come to one since */
void ntrace_pyramid_cell(struct ntrace_pyramid *p, struct ntrace_out *out, int64_t cell,
                         const int64_t *value);

/* value[] per `period` cycles, evenly, from `at` on */
struct ntrace_filling {
    cycle_t at, period;
    const int64_t *value;
};
/* over cycles first..last - 1, both borders of cells of the finest level */
void ntrace_pyramid_fill(struct ntrace_pyramid *p, struct ntrace_out *out, cycle_t first,
                         cycle_t last, const struct ntrace_filling *f);
/* what is over is in the file; at the end of the run also what is not */
void ntrace_pyramid_flush(struct ntrace_pyramid *p, struct ntrace_out *out, bool is_end);

/* ---- streams that do not go with time: a window of open cells before the pyramid ---- */

struct ntrace_spread_out {
    struct ntrace_pyramid pyramid;
    int64_t first;                      /* of the open cells */
    int64_t *value;                     /* of each */
    bool *is_open;
};
void ntrace_spread_out_init(struct ntrace_spread_out *s, enum ntrace_chunk_kind kind,
                            uint32_t stream, int member_count);
void ntrace_spread_out_fini(struct ntrace_spread_out *s);
void ntrace_spread_out_add(struct ntrace_spread_out *s, struct ntrace_out *out,
                           const struct ntrace_spread *what);
void ntrace_spread_out_flush(struct ntrace_spread_out *s, struct ntrace_out *out, bool is_end);
#endif
