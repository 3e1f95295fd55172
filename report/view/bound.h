/*
 * What bounds a step: the resource in use for the largest share of its time,
 * or latency when none is used much.
 */
#ifndef REPORT_BOUND_H
#define REPORT_BOUND_H
#include "report/view/view.h"

enum bound_resource {
    BOUND_MXU, BOUND_PUSH, BOUND_VALU, BOUND_EUP, BOUND_XLU, BOUND_LOAD, BOUND_STORE,
    BOUND_HBM, BOUND_ICI,
    BOUND_RESOURCE_COUNT,
    BOUND_LATENCY = BOUND_RESOURCE_COUNT
};

#define BOUND_LATENCY_BELOW 0.30        /* no resource used more: nothing but waiting bounds it */

struct bound {
    double use[BOUND_RESOURCE_COUNT];   /* 0..1; of the busiest core, chip or link */
    enum bound_resource highest;        /* by use; the first on a tie */
    enum bound_resource by;             /* highest, or BOUND_LATENCY */
    char sentence[320];                 /* why, with numbers */
};

/* of a view with cycles, not of functional mode */
void bound_find(const struct report_view *v, struct bound *b);
const char *bound_name(enum bound_resource r);          /* "MXU", "MXU push", …, "latency" */
#endif
