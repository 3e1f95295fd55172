/*
 * A trace file of a small machine, and its bytes, for tests that look at files.
 */
#ifndef TESTS_NTRACE_FILE_H
#define TESTS_NTRACE_FILE_H
#include "report/native_trace/ntrace.h"
#include "tests/rigs/rig.h"

/* copies, a loop, a unit that is busy for long, a marker: 11 bundles, 5 of them 40 times */
extern const char trace_file_program[];

struct trace_file {
    struct rig rig;                     /* a tiny of two cores that both run the program */
    struct ntrace_writer *w;
    char path[64];
};
void trace_file_open(struct trace_file *f, const struct ntrace_options *o);
void trace_file_run(struct trace_file *f);
void trace_file_finish(struct trace_file *f);           /* closes the writer */
void trace_file_remove(struct trace_file *f);
struct ntrace *trace_file_read(const struct trace_file *f);     /* nothing may be left out */

struct trace_image {
    uint8_t *bytes;                     /* mem_free */
    size_t size;
};
struct trace_image trace_file_image(const struct trace_file *f);
void trace_file_write(const struct trace_file *f, const uint8_t *bytes, size_t size);

/* What a walk over records or copies has met. */
struct trace_kept {
    int64_t runs, stalls, marks, halts, dmas;
    cycle_t first, last;                /* of runs and stalls */
};
ntrace_record_fn trace_keep;            /* context: a struct trace_kept */
ntrace_dma_fn trace_keep_dma;
#endif
