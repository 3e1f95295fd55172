/*
 * Traces for other viewers: a .strace (report/native_trace/ntrace.h) written once more in a
 * format that they read. docs/traces.md says what each format holds.
 *
 * All of them show the same tracks, from one walk (report/export/export_model.h), but
 * Kanata, which has the instructions of one core. Memory does not grow with the
 * trace but by its copies and, for XSpace, one plane at a time.
 */
#ifndef REPORT_EXPORT_H
#define REPORT_EXPORT_H
#include "report/native_trace/ntrace.h"

#include <stdio.h>

struct export_options {
    enum trace_level level;             /* at most the trace's own */
    int core;                           /* with its chip's HBM and links; -1: all */
    cycle_t first, end;                 /* what overlaps these cycles; 0, 0: everything */
    int64_t event_limit;                /* slices and markers; 0: none */
};
#define EXPORT_EVENT_LIMIT 1000000      /* what the viewers still open */

struct export_result {
    int64_t event_count;                /* slices and markers written */
    int64_t sample_count;               /* of counters, beside them */
    cycle_t first, end;                 /* cycles that the file covers */
    cycle_t left_out_cycles;            /* from `end` on, where the limit cut */
    int64_t left_out_bundles;           /* issued in them */
    int core;                           /* of a format that shows one */
    int64_t bytes;                      /* of the file; -1 of a pipe or device */
};

struct export_run;                      /* report/export/export_model.h */

struct export_format {
    const char *suffix, *name, *viewer;
    uint32_t kinds;                     /* tracks it shows, 1 << enum export_kind */
    bool has_one_core;
    int (*write)(struct export_run *r, FILE *to, struct err *e);
};

/* whether --trace can make a file of this name, a .strace included; *e lists the suffixes */
int export_check_path(const char *path, struct err *e);
/* by the end of a path, or NULL; by name ("perfetto"), else an error that names the nearest */
const struct export_format *export_format_of_path(const char *path);
/* Says in *e what such a path must end in, `suffixes` first (".strace, " or ""); -1. */
int export_refuse_path(const char *path, const char *suffixes, struct err *e);
const struct export_format *export_format_named(const char *name, struct err *e);

/* Written whole or not at all. -1 with *e set; mistakes in *o are errors too. */
int export_write(struct ntrace *t, const struct export_format *f, const struct export_options *o,
                 const char *path, struct export_result *result, struct err *e);
#endif
