/*
 * Inside report/native_trace/ntrace_*.c: an open trace. ntrace_file.c reads its index and
 * its chunks, ntrace_describe.c what it says of the run, ntrace_walk.c the
 * records of cores, ntrace_streams.c those of copies, HBM and links,
 * ntrace_sums.c adds up.
 */
#ifndef REPORT_NTRACE_IMPL_H
#define REPORT_NTRACE_IMPL_H
#include "report/native_trace/ntrace_meta.h"
#include "report/native_trace/ntrace_records.h"
#include "report/native_trace/ntrace_tally.h"

struct ntrace_chunk {
    struct ntrace_chunk_head head;
    uint64_t offset;                    /* of its header */
    cycle_t last_so_far;                /* the largest `last` of its group up to here */
    bool is_bad;                        /* told already */
    struct ntrace_loaded *loaded;       /* NULL: not in memory */
};

/* A chunk's payload in memory; used ones are not thrown out. */
struct ntrace_loaded {
    struct ntrace_loaded *newer, *older;
    struct ntrace_chunk *chunk;
    int use_count;
    size_t bytes;                       /* that count against the bound */
    uint8_t *data;
    void *index;                        /* made of it by ntrace_cells.c, */
    void (*forget_index)(void *index);  /* which also frees it */
};

/* The chunks of one kind, level and stream, in the order of time. */
struct ntrace_group {
    uint8_t kind, level;
    uint32_t stream;
    struct ntrace_chunk **chunk;
    size_t count;
};

/* What a core runs: its programs one behind the other, as one. */
struct ntrace_merged_program {
    uint32_t *list;                     /* their numbers */
    size_t count;
    struct isa_program program;
    struct trace_op *op;
    struct ntrace_tally_program tally;
};

struct ntrace {
    int fd;
    int read_code;                      /* why a part could not be read; 0: all could */
    char *path;
    uint64_t file_bytes, indexed_to;    /* read up to here */
    struct arena arena;
    struct ntrace_meta meta;
    struct ntrace_totals_meta totals;
    struct ntrace_info info;
    bool has_meta, has_totals;
    char **note;
    size_t note_count, note_capacity;
    size_t open_note;                   /* says that the trace was not closed */
    struct ntrace_chunk **chunk;        /* sorted by kind, level, stream, first */
    size_t chunk_count, chunk_capacity;
    struct ntrace_group *group;
    size_t group_count, group_capacity;
    struct ntrace_loaded *newest, *oldest;
    size_t loaded_bytes;
    struct ntrace_merged_program **merged; /* distinct ones */
    size_t merged_count, merged_capacity;
    struct ntrace_merged_program **of_core; /* NULL: none */
    struct ntrace_core_limits limits;
};

/* ntrace_file.c */
void ntrace_add_note(struct ntrace *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const struct ntrace_group *ntrace_group(const struct ntrace *t, enum ntrace_chunk_kind kind,
                                        int level, int64_t stream); /* NULL: nothing */
/* the first chunk of the group that may reach behind `from`; count where there is none */
size_t ntrace_first_chunk(const struct ntrace_group *g, cycle_t from);
/* NULL for a damaged chunk, of which a note tells; else to be given back */
struct ntrace_loaded *ntrace_use(struct ntrace *t, struct ntrace_chunk *c);
void ntrace_unuse(struct ntrace *t, struct ntrace_loaded *l);
void ntrace_keep_index(struct ntrace *t, struct ntrace_loaded *l, void *index,
                       void (*forget_index)(void *index), size_t bytes);
void ntrace_tell_bad(struct ntrace *t, struct ntrace_chunk *c, const char *why);

/* ntrace_describe.c: after new chunks have come; -1: there is nothing to show */
int ntrace_describe(struct ntrace *t, struct err *e);

/* ntrace_walk.c: the records of a core, repeats unrolled, shifted to when they happened */
struct ntrace_replay {
    void *context;
    /* at the beginning of a chunk, of `at`: units are busy up to until[] (0: free) */
    void (*state)(void *context, cycle_t at, const cycle_t until[MACHINE_UNIT_MAX]);
    /* false ends the walk; `repeat` instead of `r` where they are not unrolled */
    bool (*record)(void *context, const struct trace_record *r,
                   const struct trace_repeat *repeat);
    /* iterations were left out: from `at` on everything is `by` later; NULL: never leaves out */
    void (*skip)(void *context, cycle_t at, cycle_t by);
    bool keeps_repeats;                 /* are told as themselves */
    bool from_chunk;                    /* from the beginning of a chunk on, for units' state */
};
void ntrace_replay(struct ntrace *t, int core, cycle_t from, cycle_t end,
                   const struct ntrace_replay *how);
#endif
