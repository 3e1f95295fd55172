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
struct ntrace_written_program {
    uint8_t *object;                    /* as an object file */
    size_t object_bytes;
    struct isa_program program;
    struct ntrace_tally_program tally;
    /* where it was last seen, so that a launch need not compare contents */
    const struct isa_program *seen;
    struct isa_program seen_copy;
    uint32_t seen_crc;
};

/* How much of a stream is kept. */
struct ntrace_stream_quota {
    int64_t kept, left_out;
};

/* Consecutive cycles of one source operation, or what a repeat adds of one. */
struct ntrace_note_run {
    cycle_t at, end;
    int64_t cycles;                     /* that count for it */
    uint32_t bundle;                    /* one of it */
};
#define NOTE_RUNS 1024                  /* that are remembered, for repeats */

/* All of one core; its host thread alone touches it while a launch goes on. */
struct ntrace_core_out {
    int number;
    const struct ntrace_writer *writer;
    struct ntrace_written_program *program; /* of this launch, NULL: none */
    uint32_t first_bundle, first_note;  /* of it, among all that this core has run */
    uint32_t *program_list;             /* numbers of all that it has run */
    size_t program_count, program_capacity;
    struct ntrace_stream_out records;
    struct ntrace_stream_quota quota;
    struct ntrace_core_coder coder;
    struct trace_record live;           /* before its run */
    bool has_live;
    cycle_t now;                        /* up to here the stream has told */
    cycle_t known_until;                /* what comes before is told again; 0: nothing is */
    struct ntrace_tally tally;          /* of the open cell, */
    int64_t cell;                       /* its number, */
    cycle_t cell_end;                   /* and its end */
    struct ntrace_pyramid cells;
    struct ntrace_note_run *note;       /* a ring; the last may grow */
    uint64_t note_count;                /* ever */
    bool has_open_note;                 /* of */
    uint32_t open_note;
    int64_t *note_value;                /* of the open cell of notes */
    int64_t note_cell;
    cycle_t note_cell_end;
    struct ntrace_pyramid notes;
};

#define COVERED_MOST 512
struct ntrace_other_out {               /* copies, HBM, a link */
    struct ntrace_stream_out records;
    struct ntrace_stream_quota quota;
    int64_t told_until;                 /* of the record that came last; what tells it orders it */
    union {
        struct trace_dma dma;
        struct trace_hbm hbm;
        struct trace_link link;
    } before;
    struct ntrace_spread_out cells;
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
    struct ntrace_core_out *core;
    struct ntrace_other_out *dma, *hbm, *link;
    struct ntrace_written_program **program;
    size_t program_count, program_capacity;
    int64_t launch_count;
    cycle_t launch_start;
    ps_t launch_start_ps;
    const char *next_name;
    char *stats;
};

/* report/native_trace/ntrace_programs.c: gives each core the program that it runs from now on */
void ntrace_writer_take_programs(struct ntrace_writer *w, const struct machine *m);

/* report/native_trace/ntrace_note_out.c: cycles by source operation */
void ntrace_note_out_init(struct ntrace_core_out *c);
void ntrace_note_out_fini(struct ntrace_core_out *c);
void ntrace_note_out_begin(struct ntrace_core_out *c, struct ntrace_out *out);
void ntrace_note_out_run(struct ntrace_core_out *c, struct ntrace_out *out,
                         const struct trace_record *r);
void ntrace_note_out_repeat(struct ntrace_core_out *c, struct ntrace_out *out,
                            const struct trace_repeat *r);
/* no interval goes on from here */
void ntrace_note_out_end(struct ntrace_core_out *c, struct ntrace_out *out);
void ntrace_note_out_flush(struct ntrace_core_out *c, struct ntrace_out *out, bool is_end);

/* report/native_trace/ntrace_other_out.c: everything but the streams of cores */
void ntrace_other_out_init(struct ntrace_other_out *o, enum ntrace_chunk_kind kind, int stream);
void ntrace_other_out_fini(struct ntrace_other_out *o);
void ntrace_other_out_dma(struct ntrace_writer *w, struct ntrace_other_out *o,
                          const struct trace_dma *d);
void ntrace_other_out_hbm(struct ntrace_writer *w, struct ntrace_other_out *o,
                          const struct trace_hbm *h);
void ntrace_other_out_link(struct ntrace_writer *w, struct ntrace_other_out *o,
                           const struct trace_link *l);
/* level step: what the counters of the launch that ends say of HBM and links */
void ntrace_other_out_launch(struct ntrace_writer *w, const struct machine *m);
void ntrace_other_out_flush(struct ntrace_other_out *o, struct ntrace_out *out, bool is_end);

/* report/native_trace/ntrace_core_out.c */
void ntrace_core_out_init(struct ntrace_core_out *c, const struct ntrace_writer *w, int number);
void ntrace_core_out_fini(struct ntrace_core_out *c);
void ntrace_core_out_begin(struct ntrace_core_out *c, struct ntrace_out *out, cycle_t at);
void ntrace_core_out_record(struct ntrace_core_out *c, struct ntrace_out *out,
                            const struct trace_record *r);
void ntrace_core_out_repeat(struct ntrace_core_out *c, struct ntrace_out *out,
                            const struct trace_repeat *r);
void ntrace_core_out_end(struct ntrace_core_out *c, struct ntrace_out *out, cycle_t end);
/* level step: the launch as a whole */
void ntrace_core_out_launch(struct ntrace_core_out *c, struct ntrace_out *out,
                            const struct core_counters *k);
void ntrace_core_out_flush(struct ntrace_core_out *c, struct ntrace_out *out, bool is_end);
/* level op and finer: a record, in a chunk that has room for it, where it is to be kept */
void ntrace_core_out_keep(struct ntrace_core_out *c, struct ntrace_out *out,
                          const struct trace_record *r, cycle_t end);

/* whether a record that begins at `at` is kept; counts it either way */
static inline bool ntrace_quota_take(struct ntrace_stream_quota *q, const struct ntrace_writer *w,
                                     cycle_t at)
{
    bool is_kept = (w->options.window_end == 0
                    || (at >= w->options.window_first && at < w->options.window_end))
                   && q->kept < w->stream_limit;

    *(is_kept ? &q->kept : &q->left_out) += 1;
    return is_kept;
}
#endif
