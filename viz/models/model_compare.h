/*
 * A launch of one run beside a launch of another: where the difference of their
 * times comes from, three ways: by part of the breakdown, by what was waited for,
 * by source operation. Each list adds up to the difference.
 *
 * As in report/diff/diff.h, cycles are compared where both clocks are alike; else
 * microseconds, a row's difference being in cycles of B, and what another clock
 * does to the cycles of A being a row of its own.
 */
#ifndef VIZ_MODEL_COMPARE_H
#define VIZ_MODEL_COMPARE_H
#include "viz/models/model_steps.h"

enum compare_list { COMPARE_PARTS, COMPARE_REASONS, COMPARE_OPS, COMPARE_LIST_COUNT };
enum compare_kind { COMPARE_PART, COMPARE_ISSUE, COMPARE_IDLE, COMPARE_STALL, COMPARE_OP,
                    COMPARE_CLOCK, COMPARE_REST };

struct compare_row {
    enum compare_kind kind;
    int index;                          /* enum breakdown_part, enum stall_reason */
    const char *name;                   /* the run's, or for ever */
    cycle_t cycles[2];                  /* of A and B; of COMPARE_CLOCK 0 */
    double difference;                  /* B - A, cycles or µs */
    uint32_t color;                     /* of an operation, for theme_op_color */
};

struct compare_side {
    struct ntrace *run;
    size_t launch;
    cycle_t start, cycles;              /* of it */
    double mhz;
    struct step_parts parts;
    uint32_t *color;                    /* by note: alike for operations of one name */
    uint32_t note_count;
};

struct compare_model {
    struct compare_side side[2];        /* A, B */
    int core;
    bool has_two_clocks;                /* differences are in µs */
    double difference;                  /* of the launches, B - A */
    struct compare_row *row[COMPARE_LIST_COUNT];        /* the largest difference first */
    size_t count[COMPARE_LIST_COUNT], capacity[COMPARE_LIST_COUNT];
};
/* all zero, a model is empty */
void compare_model_fini(struct compare_model *m);
/* launches and core in range; the same of both runs */
void compare_model_load(struct compare_model *m, struct ntrace *run, size_t launch,
                        struct ntrace *other, size_t other_launch, int core);
/* "A", "B"; a message why they cannot be compared, or NULL; from the arena */
const char *compare_model_refusal(struct ntrace *run, struct ntrace *other, int core,
                                  struct arena *a);
#endif
