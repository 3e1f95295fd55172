/*
 * Why a step takes as long as it does: every cycle of every core that ran goes
 * to exactly one cause (report/explain/causes.def), and the causes are ranked. What the
 * host adds before the launch is told beside it.
 *
 * Works on counters alone, so where two causes overlap a stated rule decides
 * (docs/explain.md). Places, from a trace or a table by source operation, show
 * where; they change no sum but that of spills, which only they tell.
 */
#ifndef REPORT_EXPLAIN_H
#define REPORT_EXPLAIN_H
#include "report/view/bound.h"
#include "report/view/view.h"

enum cause {
#define CAUSE(id, key, family, name, meaning, change) CAUSE_##id,
#include "report/explain/causes.def"
    CAUSE_COUNT
};
enum cause_family {
    CAUSE_FAMILY_WORK, CAUSE_FAMILY_MATRIX, CAUSE_FAMILY_VECTOR, CAUSE_FAMILY_MEMORY,
    CAUSE_FAMILY_NETWORK, CAUSE_FAMILY_CONTROL, CAUSE_FAMILY_HOST,
    CAUSE_FAMILY_COUNT
};
struct cause_info {
    const char *key, *name, *meaning, *change;
    enum cause_family family;
};
const struct cause_info *cause_info(enum cause c);
/* what a core does in its cycles, "waits for other cores" */
const char *cause_family_text(enum cause_family f);
static inline bool cause_is_host(enum cause c)
{
    return cause_info(c)->family == CAUSE_FAMILY_HOST;
}

/* Behind the note of bundles that exist for spills alone: VCODE_SPILL_SUFFIX of stack/backend/vcode.h. */
#define EXPLAIN_SPILL_SUFFIX " (spills)"

/* Cycles of one core at one place; a place is a bundle or all bundles of a source operation. */
struct explain_place {
    const char *note;                   /* source operation, "" = none */
    bool is_bundle;                     /* else the next two mean nothing */
    uint32_t bundle, line;              /* line 0: not known */
    cycle_t issue_cycles, stall_cycles[STALL_COUNT];
    cycle_t other_stall_cycles;         /* of reasons that are not told, of the core itself */
};

/* A matrix product of the model: `count` times C[m][n] = A[m][k] x B[k][n] on each core. */
struct explain_product {
    int64_t m, n, k, count;
};

enum explain_command { EXPLAIN_RUN, EXPLAIN_TRAIN, EXPLAIN_GEMM };

struct explain_input {
    const struct report_view *view;     /* timed; at least one core ran, at least one cycle */
    enum explain_command command;
    int64_t batch;                      /* of train; 0 = not known */
    int passes;                         /* of the matrix units per product: 1, 3 or 6 */
    const struct explain_product *product;
    size_t product_count;
    const struct explain_place *place;  /* bundles and operations may both be there */
    size_t place_count;
    int place_core;
};

struct explain_row {
    enum cause cause;
    cycle_t core_cycles;                /* over all cores that ran; of the host: once */
    cycle_t cycles;                     /* of a mean core; rounded so that rows add up */
    double gain_cycles;                 /* predicted, when its cost is removed */
    enum bound_resource limit;          /* that keeps the gain below `cycles`; else latency */
    const char *why;                    /* sentences with numbers */
};

struct explain {
    const struct explain_input *input;
    cycle_t step_cycles;                /* = sum of rows but those of the host */
    cycle_t host_cycles;                /* = sum of its rows, before the step */
    struct explain_row row[CAUSE_COUNT];        /* by enum cause; cycles 0: takes no part */
    /* causes with cycles without CAUSE_USEFUL: those of the core, most first, then the host's */
    enum cause ranked[CAUSE_COUNT];
    size_t ranked_count, core_count;
    struct bound bound;
};

/* Texts live in `a`. The sums are asserted. */
void explain_make(const struct explain_input *in, struct arena *a, struct explain *x);

/* of the step; of the step as a host sees it that waits for every step: 0..1 */
double explain_share(const struct explain *x, enum cause c);
double explain_host_share(const struct explain *x, enum cause c);

/* cycles of the cause at a place: those of its stall reasons, or issue cycles */
cycle_t explain_place_cycles(const struct explain_place *p, enum cause c);
/* the `count` places that cost most, only bundles or only operations; returns how many */
size_t explain_top_places(const struct explain_input *in, enum cause c, bool bundles,
                          size_t index[], size_t count);
#endif
