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

struct pyramid_level {
    int64_t cell;                       /* that is open, -1: none */
    int64_t *value;                     /* its sums so far */
    struct stream_out out;
    int64_t cell_before;                /* as written last in this chunk */
    uint64_t *mask_before;
    int64_t written;                    /* cells, ever */
};

struct pyramid {
    int base;                           /* the finest level */
    int member_count;
    struct pyramid_level level[NTRACE_LEVEL_MAX];
};
void pyramid_init(struct pyramid *p, enum chunk_kind kind, uint32_t stream, int base,
                  int member_count);
void pyramid_fini(struct pyramid *p);
/* more members than before; the first keep their numbers */
void pyramid_widen(struct pyramid *p, struct ntrace_out *out, int member_count);
/* a cell of the finest level, or what has come to one since */
void pyramid_cell(struct pyramid *p, struct ntrace_out *out, int64_t cell, const int64_t *value);

/* value[] per `period` cycles, evenly, from `at` on */
struct filling {
    cycle_t at, period;
    const int64_t *value;
};
/* over cycles first..last - 1, both borders of cells of the finest level */
void pyramid_fill(struct pyramid *p, struct ntrace_out *out, cycle_t first, cycle_t last,
                  const struct filling *f);
/* what is over is in the file; at the end of the run also what is not */
void pyramid_flush(struct pyramid *p, struct ntrace_out *out, bool is_end);

/* ---- streams that do not go with time: a window of open cells before the pyramid ---- */

struct spread_out {
    struct pyramid pyramid;
    int64_t first;                      /* of the open cells */
    int64_t *value;                     /* of each */
    bool *is_open;
};
void spread_out_init(struct spread_out *s, enum chunk_kind kind, uint32_t stream,
                     int member_count);
void spread_out_fini(struct spread_out *s);
void spread_out_add(struct spread_out *s, struct ntrace_out *out, const struct spread *what);
void spread_out_flush(struct spread_out *s, struct ntrace_out *out, bool is_end);
#endif
