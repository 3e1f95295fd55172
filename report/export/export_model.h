/*
 * What the exporters share: a trace as processes with tracks, tracks with
 * slices, markers and samples of counters, told to a sink in this order:
 * process by process; within one the tracks in any order, of each track the
 * events in the order of time. Slices of a track do not overlap; where the sink
 * nests, two of the very same interval may lie on one.
 */
#ifndef REPORT_EXPORT_MODEL_H
#define REPORT_EXPORT_MODEL_H
#include "report/export/export.h"
#include "base/arena.h"

enum export_kind {
    EXPORT_STEPS,                       /* launches */
    EXPORT_MODULES,                     /* the program in each */
    EXPORT_OPS,                         /* source operations */
    EXPORT_COPIES,
    EXPORT_BUNDLES,
    EXPORT_STALLS,
    EXPORT_FLAGS,                       /* those stalls that wait for a sync flag, once more */
    EXPORT_UNIT,                        /* one of the core's units */
    EXPORT_MARKS,                       /* vtrace */
    EXPORT_CHANNEL,                     /* of HBM */
    EXPORT_LINK,
    EXPORT_COUNTER,                     /* samples only */
    EXPORT_KIND_COUNT
};

enum export_process_kind { EXPORT_CORE, EXPORT_HBM, EXPORT_ICI };

struct export_process {
    enum export_process_kind kind;
    int index;                          /* core, chip; 0 of the links */
    int id;                             /* from 1 */
    const char *name;                   /* "core 3 (chip 1)" */
};

struct export_track {
    const struct export_process *process;
    enum export_kind kind;
    int index;                          /* unit, channel, link, counter */
    int lane;                           /* from 0; beyond 0 where slices would overlap */
    int id;                             /* from 1 in the file */
    int rank;                           /* order of display within the process */
    const char *name, *unit;            /* unit: of a counter's samples, "GB/s" */
};

enum export_key {
#define KEY(id, name, xprof) KEY_##id,
#include "report/export/export_keys.def"
    KEY_COUNT
};
const char *export_key_name(enum export_key k);
const char *export_key_xprof(enum export_key k);

#define EXPORT_ARG_MAX 10
struct export_arg {
    enum export_key key;
    uint32_t text;                      /* a name; 0: it is a number */
    int64_t value;
};

struct export_slice {
    cycle_t start, end;                 /* equal: a marker */
    ps_t start_ps, end_ps;
    uint32_t name;
    int launch;                         /* index */
    uint32_t note;                      /* 0: none; else of its program, + 1 */
    uint32_t op;                        /* 0: none; else of its program, + 1 */
    int64_t bytes;
    uint64_t flow;                      /* 0: none */
    bool ends_flow;
    bool touches_hbm, is_write;         /* of a copy; is_write: into HBM */
    int arg_count;
    struct export_arg arg[EXPORT_ARG_MAX];
};

struct export_sink {
    void *context;
    bool nests, wants_flows;
    bool counts_only;                   /* slices need no name, arguments or order */
    /* NULL members are not called */
    void (*begin)(void *context, const struct export_process *p);
    void (*track)(void *context, const struct export_track *t);         /* before its events */
    void (*slice)(void *context, const struct export_track *t, const struct export_slice *s);
    void (*sample)(void *context, const struct export_track *t, cycle_t at, double value);
    void (*end)(void *context, const struct export_process *p);
};

/* A text once, with a number from 1 on; 0 is "". */
struct export_names;
uint32_t export_name(struct export_names *n, const char *text);
const char *export_text(const struct export_names *n, uint32_t name);

/* One export: the trace, what is wanted of it, and what came of it. */
struct export_run {
    struct ntrace *t;
    const struct ntrace_info *info;
    const struct export_format *format;
    const char *path;                   /* for messages */
    struct export_options options;      /* resolved: end is set */
    cycle_t end;                        /* cut by the limit, else options.end */
    uint32_t kinds;                     /* 1 << enum export_kind */
    struct export_names *names;
    struct export_programs *programs;   /* report/export/export_names.h */
    struct arena arena;
    struct export_result result;
};

/* all that the format shows within options.first..end */
void export_walk(struct export_run *r, const struct export_sink *sink);
/* where the limit cuts: sets r->end and what is left out */
void export_plan(struct export_run *r);
ps_t export_ps(const struct export_run *r, cycle_t at);

int export_write_perfetto(struct export_run *r, FILE *to, struct err *e);
int export_write_xspace(struct export_run *r, FILE *to, struct err *e);
int export_write_kanata(struct export_run *r, FILE *to, struct err *e);
#endif
