/*
 * A trace kept in memory, with its repeats unrolled, and what must hold of it
 * whatever the program: it tells of every cycle once, and its sums are the
 * machine's counters.
 */
#ifndef TESTS_TRACE_LOG_H
#define TESTS_TRACE_LOG_H
#include "sim/observe/trace_expand.h"

struct log_repeat {
    struct trace_repeat told;
    size_t first, end;                  /* records of the window */
};

struct log_core {
    struct trace_record *record;        /* unrolled */
    size_t count, capacity;
    size_t told_count;                  /* before that */
    struct log_repeat *repeat;
    size_t repeat_count, repeat_capacity;
    struct trace_dma *dma;
    size_t dma_count, dma_capacity;
};

struct trace_log {
    struct trace_sink sink;
    int core_count;
    struct log_core *core;
    struct log_hbm {
        int chip;
        struct trace_hbm h;
    } *hbm;
    size_t hbm_count, hbm_capacity;
    struct log_link {
        int link;
        struct trace_link l;
    } *link;
    size_t link_count, link_capacity;
    int begun, ended;                   /* launches; of several, the last is kept */
    cycle_t resumed_at;
};

/* from the next launch of `m` on; release with trace_log_close, before or after the machine */
void trace_log_open(struct trace_log *t, struct machine *m);
void trace_log_close(struct trace_log *t);

struct log_events {
    struct trace_event *event;
    size_t count, capacity;
};
/* of one core, in the order of expansion, then its copies (op 0); release event with mem_free */
void trace_log_expand(const struct trace_log *t, const struct machine *m, int core, bool wants_ops,
                      struct log_events *to);
/* by what they tell, so that the same events of another order stand side by side */
void log_events_sort(struct log_events *e);
bool log_event_is_same(const struct trace_event *a, const struct trace_event *b);

/* the same events on every core; `what` is told where they differ */
void trace_log_assert_same(const struct trace_log *a, const struct trace_log *b,
                           const struct machine *m, const char *what);

/* `tail`, of the same launch taken up on its way, tells what `whole` tells from there on */
void trace_log_assert_tail(const struct trace_log *whole, const struct trace_log *tail,
                           const char *what);

/* Fails the test unless all that is said above holds; of a launch from its beginning. */
void trace_log_check(const struct trace_log *t, const struct machine *m);
#endif
