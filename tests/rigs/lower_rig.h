/*
 * A program's text, lowered and run, against the host evaluator on the program as it was read.
 */
#ifndef TESTS_LOWER_RIG_H
#define TESTS_LOWER_RIG_H
#include "import/lower/lower_values.h"

struct lower_trial {
    const char *text;
    double tolerance;                   /* relative to the largest element; 0: 1e-5 */
    double low, high;                   /* of random inputs; both 0: -2 .. 2, integers -4 .. 4 */
    const char *slice;                  /* also on a simulated core: "v5e"; NULL: not */
    bool has_nan;                       /* a few of the floats are NaN, infinite, -0 */
    uint64_t seed;
};

/* fails the test where anything is refused or differs */
void lower_try(const struct lower_trial *t);

/* the program's refusals, "line instruction: reason" one a line, in the arena */
char *lower_refused(const char *text, struct arena *a);

/* the text, read, with its arena; fails the test */
struct hlo_module *lower_read(const char *text, struct arena *a);

/* changes every hour; printed by failures: SYSTOLE_SEED sets it */
uint64_t lower_seed(void);
#endif
