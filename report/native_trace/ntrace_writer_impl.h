/*
 * Inside report/native_trace/ntrace_*.c: a writer and its streams.
 */
#ifndef REPORT_NTRACE_WRITER_IMPL_H
#define REPORT_NTRACE_WRITER_IMPL_H
#include "report/native_trace/ntrace_meta.h"
#include "report/native_trace/ntrace_out.h"
#include "report/native_trace/ntrace_pyramid.h"
#include "report/native_trace/ntrace_tally.h"

/* A program that cores run, written once; the writer's own copy of it. */
struct written_program {
    uint8_t *object;                    /* as an object file */
    size_t object_bytes;
    struct isa_program program;
    struct tally_program tally;
    /* where it was last seen, so that a launch need not compare contents */
    const struct isa_program *seen;
    struct isa_program seen_copy;
    uint32_t seen_crc;
};

/* How much of a stream is kept. */
struct stream_quota {
    int64_t kept, left_out;
};

/* Consecutive cycles of one source operation, or what a repeat adds of one. */
struct note_run {
    cycle_t at, end;
    int64_t cycles;                     /* that count for it */
    uint32_t bundle;                    /* one of it */
};
#define NOTE_RUNS 1024                  /* that are remembered, for repeats */

/* All of one core; its host thread alone touches it while a launch goes on. */
struct core_out {
    int number;
    const struct ntrace_writer *writer;
    struct written_program *program;    /* of this launch, NULL: none */
    uint32_t first_bundle, first_note;  /* of it, among all that this core has run */
    uint32_t *program_list;             /* numbers of all that it has run */
    size_t program_count, program_capacity;
    struct stream_out records;
    struct stream_quota quota;
    struct core_coder coder;
    struct trace_record live;           /* before its run */
    bool has_live;
    cycle_t now;                        /* up to here the stream has told */
    cycle_t known_until;                /* what comes before is told again; 0: nothing is */
    struct tally tally;                 /* of the open cell, */
    int64_t cell;                       /* its number, */
    cycle_t cell_end;                   /* and its end */
    struct pyramid cells;
    struct note_run *note;              /* a ring; the last may grow */
    uint64_t note_count;                /* ever */
    bool has_open_note;                 /* of */
    uint32_t open_note;
    int64_t *note_value;                /* of the open cell of notes */
    int64_t note_cell;
    cycle_t note_cell_end;
    struct pyramid notes;
};

#define COVERED_MOST 512
struct other_out {                      /* copies, HBM, a link */
    struct stream_out records;
    struct stream_quota quota;
    int64_t told_until;                 /* of the record that came last; what tells it orders it */
    union {
        struct trace_dma dma;
        struct trace_hbm hbm;
        struct trace_link link;
    } before;
    struct spread_out cells;
    cycle_t (*covered)[2];              /* times with a copy under way, told so far; in order */
    size_t covered_count;
};

struct ntrace_writer {
    struct ntrace_out out;
    struct ntrace_options options;
    struct arena arena;
    struct trace_sink sink;
    bool has_begun, is_in_launch;
    bool is_told_again;                 /* a launch was taken up from a snapshot on its way */
    int64_t clock_mhz;
    int core_count, chip_count, link_count;
    int64_t stream_limit;               /* records per stream, INT64_MAX: no limit */
    struct core_out *core;
    struct other_out *dma, *hbm, *link;
    struct written_program **program;
    size_t program_count, program_capacity;
    int64_t launch_count;
    cycle_t launch_start;
    ps_t launch_start_ps;
    const char *next_name;
    char *stats;
};

/* report/native_trace/ntrace_programs.c: gives each core the program that it runs from now on */
void writer_take_programs(struct ntrace_writer *w, const struct machine *m);

/* report/native_trace/ntrace_note_out.c: cycles by source operation */
void note_out_init(struct core_out *c);
void note_out_fini(struct core_out *c);
void note_out_begin(struct core_out *c, struct ntrace_out *out);
void note_out_run(struct core_out *c, struct ntrace_out *out, const struct trace_record *r);
void note_out_repeat(struct core_out *c, struct ntrace_out *out, const struct trace_repeat *r);
/* no interval goes on from here */
void note_out_end(struct core_out *c, struct ntrace_out *out);
void note_out_flush(struct core_out *c, struct ntrace_out *out, bool is_end);

/* report/native_trace/ntrace_other_out.c: everything but the streams of cores */
void other_out_init(struct other_out *o, enum chunk_kind kind, int stream);
void other_out_fini(struct other_out *o);
void other_out_dma(struct ntrace_writer *w, struct other_out *o, const struct trace_dma *d);
void other_out_hbm(struct ntrace_writer *w, struct other_out *o, const struct trace_hbm *h);
void other_out_link(struct ntrace_writer *w, struct other_out *o, const struct trace_link *l);
/* level step: what the counters of the launch that ends say of HBM and links */
void other_out_launch(struct ntrace_writer *w, const struct machine *m);
void other_out_flush(struct other_out *o, struct ntrace_out *out, bool is_end);

/* report/native_trace/ntrace_core_out.c */
void core_out_init(struct core_out *c, const struct ntrace_writer *w, int number);
void core_out_fini(struct core_out *c);
void core_out_begin(struct core_out *c, struct ntrace_out *out, cycle_t at);
void core_out_record(struct core_out *c, struct ntrace_out *out, const struct trace_record *r);
void core_out_repeat(struct core_out *c, struct ntrace_out *out, const struct trace_repeat *r);
void core_out_end(struct core_out *c, struct ntrace_out *out, cycle_t end);
/* level step: the launch as a whole */
void core_out_launch(struct core_out *c, struct ntrace_out *out, const struct core_counters *k);
void core_out_flush(struct core_out *c, struct ntrace_out *out, bool is_end);
/* level op and finer: a record, in a chunk that has room for it, where it is to be kept */
void core_out_keep(struct core_out *c, struct ntrace_out *out, const struct trace_record *r,
                   cycle_t end);

/* whether a record that begins at `at` is kept; counts it either way */
static inline bool quota_take(struct stream_quota *q, const struct ntrace_writer *w, cycle_t at)
{
    bool is_kept = (w->options.window_end == 0
                    || (at >= w->options.window_first && at < w->options.window_end))
                   && q->kept < w->stream_limit;

    *(is_kept ? &q->kept : &q->left_out) += 1;
    return is_kept;
}
#endif
