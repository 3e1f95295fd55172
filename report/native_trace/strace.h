/*
 * Reading a .strace (docs/strace.md). Exports, explanations, comparisons and
 * the viewer all look at a run through this.
 *
 * Times are core cycles since the first launch of the file began; launches
 * follow each other without a gap. A file of gigabytes opens at once: only its
 * index is read, the rest when it is asked for, and kept in a cache of bounded
 * size. One thread at a time.
 *
 * A file that is cut short, damaged or of a newer version opens as far as it
 * can be read: strace_note tells what is missing. Nothing in a file can make
 * the reader crash.
 *
 * What a call returns a pointer to belongs to the trace, until strace_refresh or
 * strace_close. Cores, chips and links count from 0; those beyond the counts of
 * strace_info, and cycles beyond the run, are there but empty. Intervals are
 * [from, end). What turns out damaged when it is read is left out and noted.
 */
#ifndef REPORT_STRACE_H
#define REPORT_STRACE_H
#include "report/native_trace/strace_writer.h"
#include "sim/observe/trace_expand.h"

struct strace;

/* NULL with *e set where there is nothing to show: no such file, not a .strace, no header. */
struct strace *strace_open(const char *path, struct err *e);
void strace_close(struct strace *t);
/* Reads on in a file that is still written: 1 when there is more now, 0 when not, -1 an error. */
int strace_refresh(struct strace *t, struct err *e);

struct strace_launch {
    cycle_t start, cycles;
    const char *name;                   /* "epoch 1 step 3", or "" */
    bool is_faulted;
    const char *fault;                  /* its message, or "" */
};

struct strace_info {
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
    const struct strace_launch *launch;
    const char *stats_json;             /* or "" */
};
const struct strace_info *strace_info(const struct strace *t);
bool strace_has_suffix(const char *path);       /* whether the name ends in .strace */
/* what could not be read, in sentences; count 0: everything could */
size_t strace_note_count(const struct strace *t);
const char *strace_note(const struct strace *t, size_t index);

/*
 * NULL for a core without a program. Its notes name source operations. Where the
 * core ran several programs, they stand one behind the other. The table has a row
 * for each operation of that program, in its order: unit, busy cycles.
 */
const struct isa_program *strace_program(const struct strace *t, int core);
const struct trace_op *strace_op_table(const struct strace *t, int core);
const char *strace_unit_name(const struct strace *t, int unit);
/* chips that directed link `link` joins */
void strace_link_ends(const struct strace *t, int link, int *from, int *to);

/* ---- sums ---- */

/*
 * Counts over an interval of cycles. Indices of a core's cell; those of a chip's
 * HBM and of a link below. Busy cycles count at most all cycles of the interval.
 */
enum { STRACE_CELL_ISSUE, STRACE_CELL_IDLE, STRACE_CELL_DMA_IN_FLIGHT, STRACE_CELL_DMA_BYTES,
       STRACE_CELL_STALL,                               /* + enum stall_reason */
       STRACE_CELL_UNIT = STRACE_CELL_STALL + STALL_COUNT,      /* + unit: busy cycles */
       STRACE_CELL_COUNT = STRACE_CELL_UNIT + MACHINE_UNIT_MAX };
enum { STRACE_HBM_READ_BYTES, STRACE_HBM_WRITE_BYTES, STRACE_HBM_BUSY_PS, STRACE_HBM_HITS,
       STRACE_HBM_CLOSED, STRACE_HBM_CONFLICTS, STRACE_HBM_REFRESHES,
       STRACE_HBM_CHANNEL_BUSY_PS,                      /* + channel */
       STRACE_HBM_COUNT = STRACE_HBM_CHANNEL_BUSY_PS + 128 };
enum { STRACE_LINK_PAYLOAD_BYTES, STRACE_LINK_WIRE_BYTES, STRACE_LINK_BUSY_PS,
       STRACE_LINK_COUNT };

enum strace_series { STRACE_CORE, STRACE_HBM, STRACE_LINK, STRACE_SERIES_COUNT };

/*
 * Sums of `count` intervals of `width_cycles` each, from `from` on, of core, chip
 * or link `index`: to[i * series' COUNT + member], which need not be set before.
 * Costs no more than the intervals, whatever their width. Exact up to 512 cycles,
 * where records are kept (HBM and links have it from cells where borders are
 * multiples of 64). Beyond, borders are as fine as an eighth of the width, inside a
 * repeat its period; between them the cell around is shared out, so that neighbours
 * still add up. strace_sum, one interval, is exact at any width where records are
 * kept.
 */
#define STRACE_CELL_CYCLES 64
void strace_cells(struct strace *t, enum strace_series series, int index, cycle_t from,
                  cycle_t width_cycles, size_t count, int64_t *to);
void strace_sum(struct strace *t, enum strace_series series, int index, cycle_t from,
                cycle_t end, int64_t *to);

/* cycles by source operation: note 0 is none, i + 1 is isa_program.note[i]; adds to to[note] */
void strace_note_cycles(struct strace *t, int core, cycle_t from, cycle_t end, int64_t *to);

/* ---- records, in the order of time; a callback returns false to end the walk ---- */

/*
 * Everything that overlaps [from, end): runs and stalls cut to it, operations
 * of units whole. Repeats are unrolled, so bound the interval or the count.
 * Launches are seamless: times are those of the file.
 */
typedef bool strace_event_fn(void *context, const struct trace_event *e);
void strace_walk_core(struct strace *t, int core, cycle_t from, cycle_t end, bool wants_bundles,
                      bool wants_ops, strace_event_fn *fn, void *context);
/* the same, not expanded to units; a repeat as itself */
typedef bool strace_record_fn(void *context, const struct trace_record *r,
                              const struct trace_repeat *repeat);      /* one of them is NULL */
void strace_walk_records(struct strace *t, int core, cycle_t from, cycle_t end,
                         strace_record_fn *fn, void *context);
/* maximal intervals with one source operation, op level and finer; note as in strace_note_cycles */
typedef bool strace_op_fn(void *context, cycle_t start, cycle_t end, uint32_t note);
void strace_walk_ops(struct strace *t, int core, cycle_t from, cycle_t end, strace_op_fn *fn,
                     void *context);
typedef bool strace_dma_fn(void *context, const struct trace_dma *d);
void strace_walk_dmas(struct strace *t, int core, cycle_t from, cycle_t end, strace_dma_fn *fn,
                      void *context);
/* times in picoseconds since the file's beginning */
typedef bool strace_hbm_fn(void *context, const struct trace_hbm *h);
void strace_walk_hbm(struct strace *t, int chip, cycle_t from, cycle_t end, strace_hbm_fn *fn,
                     void *context);
typedef bool strace_link_fn(void *context, const struct trace_link *l);
void strace_walk_links(struct strace *t, int link, cycle_t from, cycle_t end, strace_link_fn *fn,
                       void *context);
#endif
