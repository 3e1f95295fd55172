/*
 * Writing a .strace: a struct trace_sink that streams launches into a file,
 * with sums of them in ever coarser cells, in memory that does not grow with
 * the length of the run. docs/native_trace.md is the format.
 */
#ifndef REPORT_NTRACE_WRITER_H
#define REPORT_NTRACE_WRITER_H
#include "base/err.h"
#include "report/native_trace/ntrace_listing.h"
#include "sim/observe/trace.h"

enum trace_level {
    TRACE_STEP,                         /* when launches begin and end, and what they count */
    TRACE_OP,                           /* and copies, source operations, sums in cells */
    TRACE_BUNDLE,                       /* and every bundle, stall, access of HBM, use of a link */
    TRACE_SLOT,                         /* and which rows of VMEM every load and store touches */
    TRACE_LEVEL_COUNT
};
const char *trace_level_name(enum trace_level level);
/* "step", "op"…; a name that is none of them is an error that tells the nearest */
int trace_level_parse(const char *name, enum trace_level *level, struct err *e);

struct ntrace_options {
    enum trace_level level;
    cycle_t window_first, window_end;   /* records of what begins outside are left out, and counted;
                                         * 0, 0: everything. Cells are for the whole run. */
    int64_t record_limit;               /* records beyond it likewise; 0: none */
    const char *title;                  /* "one step", "03_double_buffered_matmul.tasm" */
    const char *command;                /* as command_text of report/view/command.h; or NULL */
};

struct ntrace_writer;

/* NULL with *e set when the file cannot be made. The path is written in place and says that it is
 * not complete until ntrace_writer_close, so that a viewer may read along. */
struct ntrace_writer *ntrace_writer_open(const char *path, const struct ntrace_options *o,
                                         struct err *e);
/* for machine_set_trace, as long as the writer is open; several launches one behind the other */
const struct trace_sink *ntrace_writer_sink(struct ntrace_writer *w);
/* between launches: what the next launch is called, "epoch 1 step 3" */
void ntrace_writer_name_launch(struct ntrace_writer *w, const char *name);
/* everything so far is in the file, for a reader that follows a run; between rounds of a launch */
int ntrace_writer_flush(struct ntrace_writer *w, struct err *e);
/* stats.json of the run, kept in the file; before the close */
void ntrace_writer_put_stats(struct ntrace_writer *w, const char *json);
/* what the program was made of; likewise */
void ntrace_writer_put_listing(struct ntrace_writer *w, const struct ntrace_listing *l);
/* closes and frees; -1 with *e set when anything could not be written */
int ntrace_writer_close(struct ntrace_writer *w, struct err *e);
#endif
