/*
 * --trace and what belongs to it, the same for every command that runs a
 * machine: record launches, write the file, say what is in it.
 *
 * cli_trace_options are a part of the command's own, of its struct trace_options,
 * which is TRACE_OPTIONS_DEFAULT at first. Then, all of them doing nothing
 * where no trace is wanted: trace_options_check_mode, trace_options_for_folder,
 * report_check_outputs (before any work is done), trace_recording_begin, one or more launches,
 * trace_recording_end or _abandon.
 */
#ifndef CLI_TRACE_OPTIONS_H
#define CLI_TRACE_OPTIONS_H
#include "cli/common/options.h"
#include "report/export/export.h"
#include "report/folder/report.h"

#include <limits.h>

#define TRACE_FOLDER_RECORDS 10000000   /* of a trace that nobody asked for: some 100 MB at most */

struct trace_options {
    const char *path;                   /* NULL: no trace */
    bool is_unwanted;                   /* --no-trace */
    char folder_path[PATH_MAX];         /* of trace_options_for_folder */
    enum trace_level level;
    cycle_t first, end;                 /* --trace-window; 0, 0: everything */
    int64_t event_limit;                /* 0: none; -1: EXPORT_EVENT_LIMIT, none in a .strace */
    bool has_more;                      /* any option but --trace was given */
};
#define TRACE_OPTIONS_DEFAULT {.level = TRACE_BUNDLE, .event_limit = -1}

extern const struct cli_options cli_trace_options;

/* Cycles "A:B", "A:", ":B", numbers whole or with k, M or G behind them; `end` 0: to the end. */
int trace_parse_window(const char *option, const char *text, cycle_t *first, cycle_t *end,
                       struct err *e);
int trace_parse_limit(const char *option, const char *text, int64_t *limit, struct err *e);
/*
 * After parsing: a folder of results gets a trace where none was asked for, trace.strace in it,
 * with TRACE_FOLDER_RECORDS records unless told otherwise. Not with --no-trace, in functional mode
 * or without a folder (NULL); -1 where options of a trace were given then.
 */
int trace_options_for_folder(struct trace_options *o, const char *folder, enum run_mode mode,
                             struct err *e);
/* functional mode has no cycles to show */
int trace_options_check_mode(const struct trace_options *o, enum run_mode mode, struct err *e);

struct trace_recording {
    const struct trace_options *options;
    struct machine *machine;            /* NULL: nothing is recorded */
    struct ntrace_writer *writer;
    const struct export_format *format; /* NULL: the .strace itself is wanted */
    char *path;                         /* of the .strace */
    const char *folder;                 /* of the run's results; NULL: none */
    const char *made_folder;            /* before there was a result to put there; NULL */
};

/*
 * `folder`, of --out, is made first, for the trace may lie in it; NULL: none. `command` is kept in
 * the file, so that the run can be repeated. Recording is on.
 */
int trace_recording_begin(struct trace_recording *t, const struct trace_options *o,
                          const char *folder, struct machine *m, const char *title,
                          const struct command *command, struct err *e);
/* off and on again between launches; the next launch is called `name` unless it is NULL */
void trace_recording_pause(struct trace_recording *t);
void trace_recording_resume(struct trace_recording *t, const char *name);
/*
 * Takes away what another run left in the folder, writes the file and says so on `to`. `step`,
 * which may be NULL, gives the file its stats.json.
 */
int trace_recording_end(struct trace_recording *t, const struct report_step *step, FILE *to,
                        struct err *e);
void trace_recording_abandon(struct trace_recording *t);         /* leaves nothing behind */

/* the file gets the stats.json of `step`; NULL: none */
void trace_put_stats(struct ntrace_writer *w, const struct report_step *step);
/* "trace written to x.pftrace: 1.2 MiB, …" and what was left out */
void trace_print_export(const char *path, const struct export_format *f,
                        const struct export_options *o, const struct export_result *r, FILE *to);
#endif
