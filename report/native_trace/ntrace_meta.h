/*
 * Inside report/native_trace/ntrace_*.c: what a trace says about its run, as JSON. Strings
 * are the arena's.
 */
#ifndef REPORT_NTRACE_META_H
#define REPORT_NTRACE_META_H
#include "report/native_trace/ntrace_format.h"
#include "report/native_trace/ntrace_records.h"

struct ntrace_meta {
    enum trace_level level;
    cycle_t window_first, window_end;
    int64_t record_limit;
    const char *title, *command;
    struct slice slice;
    struct chip chip;
    int core_count, chip_count, link_count, unit_count;
    int channel_count, bank_count;
    const char *unit_name[MACHINE_UNIT_MAX];
    int8_t stall[64];                   /* as in struct ntrace_core_limits */
    int *link_ends;                     /* from, to of each link */
    bool has_other_opcodes;             /* written with another table of operations */
    const char *unknown;                /* what was not understood: "" or a sentence */
};
/* operations by number mean something only with the table that this stands for */
int64_t ntrace_opcode_crc(void);
/* both return text for mem_free, with its end in *size */
char *ntrace_meta_print(const struct machine *m, const struct ntrace_options *o, size_t *size);
int ntrace_meta_parse(const char *text, size_t size, struct arena *a, struct ntrace_meta *to,
                      struct err *e);

struct ntrace_launch_meta {
    int64_t number;
    cycle_t start, cycles;              /* cycles -1: still running */
    const char *name, *fault;           /* fault NULL: none */
};
char *ntrace_launch_print(const struct ntrace_launch_meta *l, size_t *size);
int ntrace_launch_parse(const char *text, size_t size, struct arena *a,
                        struct ntrace_launch_meta *to);

/* how many records are in the file, and left out of each kind of streams */
struct ntrace_totals_meta {
    int64_t kept, core, dma, hbm, link;
};
char *ntrace_totals_print(const struct ntrace_totals_meta *t, size_t *size);
int ntrace_totals_parse(const char *text, size_t size, struct ntrace_totals_meta *to);
#endif
