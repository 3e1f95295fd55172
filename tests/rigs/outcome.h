/*
 * What a launch left, all of it in one piece of memory, so that two launches
 * that must be alike can be held against each other.
 */
#ifndef TESTS_OUTCOME_H
#define TESTS_OUTCOME_H
#include "sim/observe/inspect.h"
#include "tests/rigs/trace_log.h"

/* Parts of an outcome; what is taken or compared is a sum of them. */
enum outcome_part {
    OUTCOME_FAULT = 1,                  /* kind, core, cycle, bundle, message */
    OUTCOME_TIMES = 2,                  /* cycles, every counter, the HBM's and the network's */
    OUTCOME_COUNTS = 4,                 /* of them, what is the same without times: operations, bytes */
    OUTCOME_SCALARS = 8,                /* scalar registers, predicates, SMEM, sync flags */
    OUTCOME_VALUES = 16,                /* vector and mask registers, index registers, memories */
    OUTCOME_TRACE = 32                  /* events of every core, sorted; copies, HBM and links */
};
#define OUTCOME_ALL (OUTCOME_FAULT | OUTCOME_TIMES | OUTCOME_COUNTS | OUTCOME_SCALARS \
                     | OUTCOME_VALUES)  /* but for the trace, which has to be asked for */

/* bytes of a memory of every core that count */
struct outcome_range {
    enum memory memory;
    int64_t first, bytes;
};

struct outcome {
    char fault[400];                    /* "" if there was none */
    struct outcome_section *section;
    size_t section_count, section_capacity;
    unsigned char *data;
    size_t bytes, capacity;
};

/* fails the test when something cannot be read; `t` for OUTCOME_TRACE; release with outcome_free */
void outcome_take(struct outcome *o, struct machine *m, const struct trace_log *t, int parts,
                  const struct outcome_range *range, int range_count);
void outcome_free(struct outcome *o);

/* true if all of `parts` are the same; else the first difference in words: "core 3 s: [7] is …" */
bool outcome_same(const struct outcome *a, const struct outcome *b, int parts, char *what,
                  size_t what_bytes);
#endif
