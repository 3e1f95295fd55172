/*
 * Searching a whole run: a regular expression over the operations of a core's
 * program as the disassembler writes them, the source operations they come
 * from, and "line 42" of the source. Only what has run is found.
 */
#ifndef VIZ_SEARCH_H
#define VIZ_SEARCH_H
#include "report/native_trace/ntrace.h"

struct search;

/* POSIX extended, case ignored. NULL with *e set when it is no regular expression. */
struct search *search_create(struct ntrace *run, int core, const char *pattern, struct err *e);
void search_destroy(struct search *s);
uint32_t search_bundle_count(const struct search *s);   /* that match, of the program */
bool search_has(const struct search *s, uint32_t bundle);

struct search_hit {
    cycle_t at, end;                    /* matching bundles issue one behind the other from at on */
    uint32_t bundle;                    /* the first */
    char text[160];                     /* what matched there */
};
/* the first hit that begins after cycle `after`; false: none */
bool search_next(struct search *s, cycle_t after, struct search_hit *hit);
/* the last that begins before */
bool search_last(struct search *s, cycle_t before, struct search_hit *hit);

/* stalls likewise, of reasons that are not in `hidden`, at least `least` cycles long */
bool search_next_stall(struct ntrace *t, int core, cycle_t after, cycle_t least, uint32_t hidden,
                       struct trace_record *hit);
bool search_last_stall(struct ntrace *t, int core, cycle_t before, cycle_t least, uint32_t hidden,
                       struct trace_record *hit);
#endif
