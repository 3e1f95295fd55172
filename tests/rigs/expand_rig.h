/*
 * A program as HLO or StableHLO text, evaluated on the host as it is, after its expansion, and as
 * the graph that it is lowered to, on the same random inputs: are the results the same? Of several
 * devices the graph is made, not evaluated.
 */
#ifndef TESTS_EXPAND_RIG_H
#define TESTS_EXPAND_RIG_H
#include <stdbool.h>
#include <stdint.h>

struct expand_rig {
    const char *text;
    double bound;                       /* of floats, relative to each element's size, */
    double floor;                       /* which counts at least as so much */
    double low, high;                   /* floats are drawn from here; 0, 0: -4 to 4 */
    bool has_specials;                  /* and of ten one is 0, infinite, NaN or subnormal */
    int64_t integer_bits;               /* integers have so many random bits; 0: 1 to all */
    bool has_subnormals;                /* results may be: the graph's are zeros and not compared */
    int replicas;                       /* at most 8, each with inputs of its own; 0: 1 */
};

/* integers and predicates must agree in every bit, NaN stands for NaN */
void expand_rig_check(const struct expand_rig *rig, uint64_t seed);
/* the expansion is refused, with this in its message */
void expand_rig_refused(const char *text, const char *message);
/* of the test, changed every day; SYSTOLE_SEED says another */
uint64_t expand_rig_seed(void);
#endif
