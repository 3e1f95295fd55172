/*
 * Data for a collective on a machine, and whether what comes out is right:
 * sums against double precision, everything else bit for bit.
 */
#ifndef STACK_COLLECTIVE_VERIFY_H
#define STACK_COLLECTIVE_VERIFY_H
#include "sim/machine/machine.h"
#include "stack/collective/collective.h"

/* Random numbers of [-1, 1), the same for the same seed, into the arrays of all cores. */
int collective_fill(const struct collective_plan *p, struct machine *m, uint64_t seed,
                    struct err *e);

/* Timing mode: nobody will look at the arrays, so that they take no host memory. */
int collective_leave_unknown(const struct collective_plan *p, struct machine *m, struct err *e);

/*
 * A sum of n values is right within the bound of any order of n - 1 additions,
 * each rounded to the element type; of all-reduce all ranks must have the same
 * bits besides.
 */
struct collective_verdict {
    int64_t elements, wrong;            /* looked at; not as they should be */
    double worst;                       /* error of a sum by its bound, the largest */
    char first[160];                    /* "core 3, element 17: 0.5 instead of 0.25"; "" */
};
/* after a launch in mode both or functional that collective_fill has prepared */
int collective_verify(const struct collective_plan *p, struct machine *m, uint64_t seed,
                      struct collective_verdict *out, struct err *e);
#endif
