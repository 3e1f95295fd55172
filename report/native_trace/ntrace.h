/*
 * Reading a .strace (docs/native_trace.md). Exports, explanations, comparisons and
 * the viewer all look at a run through this.
 *
 * Times are core cycles since the first launch of the file began; launches
 * follow each other without a gap. A file of gigabytes opens at once: only its
 * index is read, the rest when it is asked for, and kept in a cache of bounded
 * size. One thread at a time.
 *
 * A file that is cut short, damaged or of a newer version opens as far as it
 * can be read: ntrace_note tells what is missing. Nothing in a file can make
 * the reader crash.
 *
 * What a call returns a pointer to belongs to the trace, until ntrace_refresh or
 * ntrace_close. Cores, chips and links count from 0; those beyond the counts of
 * ntrace_info, and cycles beyond the run, are there but empty. Intervals are
 * [from, end). What turns out damaged when it is read is left out and noted.
 */
#ifndef REPORT_NTRACE_H
#define REPORT_NTRACE_H
#include "report/native_trace/ntrace_writer.h"
#include "sim/observe/trace_expand.h"

struct ntrace;

/* NULL with *e set where there is nothing to show: no such file, not a .strace, no header. */
struct ntrace *ntrace_open(const char *path, struct err *e);
void ntrace_close(struct ntrace *t);
/* Reads on in a file that is still written: 1 when there is more now, 0 when not, -1 an error. */
int ntrace_refresh(struct ntrace *t, struct err *e);

struct ntrace_launch {
    cycle_t start, cycles;
    const char *name;                   /* "epoch 1 step 3", or "" */
    bool is_faulted;
    const char *fault;                  /* its message, or "" */
};

struct ntrace_info {
    int version;
    enum trace_level level;
    bool is_complete;                   /* closed properly */
    const char *title, *command;        /* "" where not known */
    const struct chip *chip;
    const struct slice *slice;
    int core_count, chip_count, link_count, unit_count;
    int channel_count, bank_count;      /* HBM, per chip; banks per channel */
    cycle_t cycles;                     /* of all launches */
    cycle_t window_first, window_end;   /* in which records were kept; 0, cycles without one */
    int64_t record_count, left_out_count;
    size_t launch_count;
    const struct ntrace_launch *launch;
    const char *stats_json;             /* or "" */
    const struct ntrace_listing *listing;       /* of core 0's program; NULL: not told */
};
const struct ntrace_info *ntrace_info(const struct ntrace *t);
bool ntrace_has_suffix(const char *path);       /* whether the name ends in .strace */
/* what could not be read, in sentences; count 0: everything could */
size_t ntrace_note_count(const struct ntrace *t);
/* A disk that gives an error is no damaged trace: -1 for whoever must not go on without a part. */
int ntrace_check_reads(const struct ntrace *t, struct err *e);
const char *ntrace_note(const struct ntrace *t, size_t index);

/*
 * NULL for a core without a program. Its notes name source operations. Where the
 * core ran several programs, they stand one behind the other. The table has a row
 * for each operation of that program, in its order: unit, busy cycles.
 */
const struct isa_program *ntrace_program(const struct ntrace *t, int core);
const struct trace_op *ntrace_op_table(const struct ntrace *t, int core);
const char *ntrace_unit_name(const struct ntrace *t, int unit);
/* chips that directed link `link` joins */
void ntrace_link_ends(const struct ntrace *t, int link, int *from, int *to);

/* ---- sums ---- */

/*
 * Counts over an interval of cycles. Indices of a core's cell; those of a chip's
 * HBM and of a link below. Busy cycles count at most all cycles of the interval.
 */
enum { NTRACE_CELL_ISSUE, NTRACE_CELL_IDLE, NTRACE_CELL_DMA_IN_FLIGHT, NTRACE_CELL_DMA_BYTES,
       NTRACE_CELL_STALL,                               /* + enum stall_reason */
       NTRACE_CELL_UNIT = NTRACE_CELL_STALL + STALL_COUNT,      /* + unit: busy cycles */
       NTRACE_CELL_COUNT = NTRACE_CELL_UNIT + MACHINE_UNIT_MAX };
enum { NTRACE_HBM_READ_BYTES, NTRACE_HBM_WRITE_BYTES, NTRACE_HBM_BUSY_PS, NTRACE_HBM_HITS,
       NTRACE_HBM_CLOSED, NTRACE_HBM_CONFLICTS, NTRACE_HBM_REFRESHES,
       NTRACE_HBM_CHANNEL_BUSY_PS,                      /* + channel */
       NTRACE_HBM_COUNT = NTRACE_HBM_CHANNEL_BUSY_PS + 128 };
enum { NTRACE_LINK_PAYLOAD_BYTES, NTRACE_LINK_WIRE_BYTES, NTRACE_LINK_BUSY_PS,
       NTRACE_LINK_COUNT };

enum ntrace_series { NTRACE_CORE, NTRACE_HBM, NTRACE_LINK, NTRACE_SERIES_COUNT };

/*
 * Sums of `count` intervals of `width_cycles` each, from `from` on, of core, chip
 * or link `index`: to[i * series' COUNT + member], which need not be set before.
 * Costs no more than the intervals, whatever their width. Exact up to 512 cycles,
 * where records are kept (HBM and links have it from cells where borders are
 * multiples of 64). Beyond, borders are as fine as an eighth of the width, inside a
 * repeat its period; between them the cell around is shared out, so that neighbours
 * still add up. ntrace_sum, one interval, is exact at any width where records are
 * kept.
 */
#define NTRACE_CELL_CYCLES 64
void ntrace_cells(struct ntrace *t, enum ntrace_series series, int index, cycle_t from,
                  cycle_t width_cycles, size_t count, int64_t *to);
void ntrace_sum(struct ntrace *t, enum ntrace_series series, int index, cycle_t from,
                cycle_t end, int64_t *to);

/* cycles by source operation: note 0 is none, i + 1 is isa_program.note[i]; adds to to[note] */
void ntrace_note_cycles(struct ntrace *t, int core, cycle_t from, cycle_t end, int64_t *to);

/* ---- records, in the order of time; a callback returns false to end the walk ---- */

/*
 * Everything that overlaps [from, end): runs and stalls cut to it, operations
 * of units whole. Repeats are unrolled, so bound the interval or the count.
 * Launches are seamless: times are those of the file.
 */
typedef bool ntrace_event_fn(void *context, const struct trace_event *e);
void ntrace_walk_core(struct ntrace *t, int core, cycle_t from, cycle_t end, bool wants_bundles,
                      bool wants_ops, ntrace_event_fn *fn, void *context);
/* the same, not expanded to units; a repeat as itself */
typedef bool ntrace_record_fn(void *context, const struct trace_record *r,
                              const struct trace_repeat *repeat);      /* one of them is NULL */
void ntrace_walk_records(struct ntrace *t, int core, cycle_t from, cycle_t end,
                         ntrace_record_fn *fn, void *context);
/* maximal intervals with one source operation, op level and finer; note as in ntrace_note_cycles */
typedef bool ntrace_op_fn(void *context, cycle_t start, cycle_t end, uint32_t note);
void ntrace_walk_ops(struct ntrace *t, int core, cycle_t from, cycle_t end, ntrace_op_fn *fn,
                     void *context);
typedef bool ntrace_dma_fn(void *context, const struct trace_dma *d);
void ntrace_walk_dmas(struct ntrace *t, int core, cycle_t from, cycle_t end, ntrace_dma_fn *fn,
                      void *context);
/* times in picoseconds since the file's beginning */
typedef bool ntrace_hbm_fn(void *context, const struct trace_hbm *h);
void ntrace_walk_hbm(struct ntrace *t, int chip, cycle_t from, cycle_t end, ntrace_hbm_fn *fn,
                     void *context);
typedef bool ntrace_link_fn(void *context, const struct trace_link *l);
void ntrace_walk_links(struct ntrace *t, int link, cycle_t from, cycle_t end, ntrace_link_fn *fn,
                       void *context);
#endif
