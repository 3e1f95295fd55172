/*
 * Inside report/strace_*.c: a writer and its streams.
 */
#ifndef REPORT_STRACE_WRITER_IMPL_H
#define REPORT_STRACE_WRITER_IMPL_H
#include "report/strace_meta.h"
#include "report/strace_out.h"
#include "report/strace_tally.h"

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

/* All of one core; its host thread alone touches it while a launch goes on. */
struct core_out {
    int number;
    const struct strace_writer *writer;
    struct written_program *program;    /* of this launch, NULL: none */
    uint32_t first_bundle;              /* of it, among all that this core has run */
    uint32_t *program_list;             /* numbers of all that it has run */
    size_t program_count, program_capacity;
    struct stream_out records;
    struct stream_quota quota;
    struct core_coder coder;
    bool is_after_live;
    struct trace_record live;           /* before its run; its value is wanted twice */
    bool has_live;
    cycle_t now;                        /* up to here the stream has told */
    struct trace_record note;           /* level op: the interval that goes on */
    struct tally tally;
};

struct other_out {                      /* copies, HBM, a link */
    struct stream_out records;
    struct stream_quota quota;
    union {
        struct trace_dma dma;
        struct trace_hbm hbm;
        struct trace_link link;
    } before;
};

struct strace_writer {
    struct strace_out out;
    struct strace_options options;
    struct arena arena;
    struct trace_sink sink;
    bool has_begun;
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

/* report/strace_programs.c: gives each core the program that it runs from now on */
void writer_take_programs(struct strace_writer *w, const struct machine *m);

/* report/strace_core_out.c */
void core_out_init(struct core_out *c, const struct strace_writer *w, int number);
void core_out_fini(struct core_out *c);
void core_out_begin(struct core_out *c, cycle_t at);
void core_out_record(struct core_out *c, struct strace_out *out, const struct trace_record *r);
void core_out_repeat(struct core_out *c, struct strace_out *out, const struct trace_repeat *r);
void core_out_end(struct core_out *c, struct strace_out *out, cycle_t end);
void core_out_flush(struct core_out *c, struct strace_out *out);

/* whether a record that begins at `at` is kept; counts it either way */
static inline bool quota_take(struct stream_quota *q, const struct strace_writer *w, cycle_t at)
{
    bool is_kept = (w->options.window_end == 0
                    || (at >= w->options.window_first && at < w->options.window_end))
                   && q->kept < w->stream_limit;

    *(is_kept ? &q->kept : &q->left_out) += 1;
    return is_kept;
}
#endif
